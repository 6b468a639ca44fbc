//! One thread's way through the states: its machine, its codec, and the state it is at.

use std::sync::Arc;

use super::codec::{Codec, Root};
use super::joiner::{Hands, Joiner};
use super::pairs::Full;
use super::store::{Inserted, StateId, Store};
use crate::base::{Cancel, Interrupt};
use crate::rewrite::{Machine, Steps};
use crate::sorts::Tree;
use crate::term::Term;
use crate::theory::Theory;

/// See the head of this file.
pub struct Explorer {
    pub machine: Machine,
    codec: Codec,
    steps: Steps,
    /// A faster way, for theories where states are soups; and is it taken from the open state?
    joiner: Option<Box<Joiner>>,
    is_joining: bool,
    /// The root of the open state, as long as no step has been taken from it.
    untouched: Option<Root>,
}

/// A result of rewriting the open state once. It is there until the next one is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Index into the module's rules.
    pub rule: u32,
    pub(super) to: Target,
}

/// Where a step leads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    Term(Term),
    /// The joiner knows which elements of the open state are replaced.
    Replaced,
}

impl Explorer {
    pub fn new(theory: Arc<Theory>, cancel: Cancel) -> Explorer {
        Explorer::with(Machine::new(theory, cancel))
    }

    /// With a machine that has nothing on its heap yet.
    pub fn with(mut machine: Machine) -> Explorer {
        // Memoized results stay on the heap from one state to the next, and so do subterms where
        // conditional rules were tried in vain.
        let has_memo = machine.theory.module.signature.ops().any(|(_, op)| op.memo);
        machine.keeps_terms = has_memo || machine.theory.rules.has_inner_conditions;
        let codec = Codec::new(&machine.heap, !machine.keeps_terms);
        // Tests compare both ways.
        let is_plain = cfg!(debug_assertions) && std::env::var_os("RWL_PLAIN").is_some();
        let joiner = Joiner::new(&machine.theory).filter(|_| !is_plain);
        let steps = Steps::default();
        let joiner = joiner.map(Box::new);
        Explorer { machine, codec, steps, joiner, is_joining: false, untouched: None }
    }

    /// From now on several threads are at work.
    pub fn share(&mut self) {
        self.codec.share();
    }

    /// Forgets all about the store; another one will be used.
    pub fn renew(&mut self) {
        self.close();
        self.machine.forget_terms();
        self.machine.tidy();
        self.codec.renew(&mut self.machine.heap);
        self.joiner = self.joiner.take().and_then(|_| Joiner::new(&self.machine.theory)).map(Box::new);
    }

    /// The term of a state, valid until the next call of this or [`Explorer::open`].
    pub fn load(&mut self, store: &Store, state: StateId) -> Term {
        self.close();
        self.codec.go_to(store, state);
        self.restore(store)
    }

    /// The same for a state that need not be in the store.
    pub fn load_root(&mut self, store: &Store, root: Root) -> Term {
        self.close();
        self.codec.go_to_root(store, root);
        self.restore(store)
    }

    /// The term of the state that was read last.
    fn restore(&mut self, store: &Store) -> Term {
        self.machine.tidy();
        let Machine { heap, theory, .. } = &mut self.machine;
        self.codec.restore(store, heap, &theory.symbols, &mut [])
    }

    /// Goes to a state, to take its steps one by one.
    pub fn open(&mut self, store: &Store, state: StateId) {
        let (left, right) = store.root(state);
        if self.untouched != Some(Root(left, right)) {
            self.close();
            if let (Some(joiner), Some(word)) = (&self.joiner, store.single_ahead(state)) {
                joiner.prefetch(word);
            }
            self.codec.go_to(store, state);
            self.begin(store);
            self.untouched = Some(Root(left, right));
        }
    }

    /// Asks for what will be needed when the state is opened.
    #[inline]
    pub fn prefetch(&self, store: &Store, root: Root) {
        if let Some(joiner) = self.joiner.as_ref().filter(|_| store.layout.has_single()) {
            joiner.prefetch(root.1);
        }
    }

    /// The same for a state that need not be in the store.
    pub fn open_root(&mut self, store: &Store, root: Root) {
        if self.untouched != Some(root) {
            self.close();
            self.prefetch(store, root);
            self.codec.go_to_root(store, root);
            self.begin(store);
            self.untouched = Some(root);
        }
    }

    fn begin(&mut self, store: &Store) {
        if let Some(joiner) = self.joiner.as_mut().filter(|_| !self.machine.has_vain()) {
            self.is_joining = joiner.begin(&self.codec);
            if self.is_joining {
                return;
            }
        }
        let term = self.restore(store);
        self.steps.begin(&mut self.machine, term);
    }

    /// The machine has been used for something else: the open state must be opened again.
    pub fn touch(&mut self) {
        self.untouched = None;
    }

    /// Takes no more steps from the state that is open.
    pub fn close(&mut self) {
        self.untouched = None;
        self.steps.end(&mut self.machine);
        if std::mem::take(&mut self.is_joining)
            && let Some(joiner) = &mut self.joiner
        {
            joiner.end(&mut self.machine);
        }
    }

    /// The next step from the state that is open.
    #[inline]
    pub fn step(&mut self, store: &Store) -> Result<Option<Step>, Interrupt> {
        self.untouched = None;
        if let Some((joiner, mut hands)) = self.joining() {
            if joiner.settle(store, &mut hands)? {
                return joiner.next(store, &mut hands);
            }
            joiner.state(store, &mut hands);
            self.is_joining = false;
        }
        let step =
            self.steps.next(&mut self.machine).inspect_err(|_| self.steps.note_lengthy(&self.machine))?;
        Ok(step.map(|step| Step { rule: step.rule, to: Target::Term(step.term) }))
    }

    #[inline]
    fn joining(&mut self) -> Option<(&mut Joiner, Hands<'_>)> {
        let Explorer { machine, codec, steps, joiner, is_joining, .. } = self;
        joiner.as_deref_mut().filter(|_| *is_joining).map(|joiner| (joiner, Hands { machine, codec, steps }))
    }

    /// The term of the state that is open, from which no more steps are taken.
    pub fn term(&mut self, store: &Store) -> Term {
        match self.joining() {
            Some((joiner, hands)) => joiner.state(store, &mut { hands }),
            None => self.steps.term(&self.machine),
        }
    }

    /// The term of the last step, which has been inserted. It is valid until the next step.
    pub fn step_term(&mut self, store: &Store, step: Step) -> Term {
        match (step.to, self.joining()) {
            (Target::Term(term), _) => term,
            (Target::Replaced, Some((joiner, hands))) => joiner.term(store, &mut { hands }),
            (Target::Replaced, None) => unreachable!("elements are replaced by joining"),
        }
    }

    /// May a query match where the last step, which has been inserted, leads to? It is asked before
    /// the term is made.
    pub fn may_match(&self, store: &Store, step: Step, query: usize) -> bool {
        match (step.to, &self.joiner) {
            (Target::Replaced, Some(joiner)) => joiner.may_match(store, &self.machine, query),
            _ => true,
        }
    }

    /// Does a query match the state that is open? `None` if only its term can tell.
    pub fn has_match(&mut self, store: &Store, query: usize) -> Result<Option<bool>, Interrupt> {
        match self.joining() {
            Some((joiner, mut hands)) => joiner.has_match(store, &mut hands, query),
            None => Ok(None),
        }
    }

    /// The root of the state where the last step leads to, which is not put into the store.
    pub fn root(&mut self, store: &Store, step: Step) -> Result<Root, Full> {
        match (step.to, self.joining()) {
            (Target::Replaced, Some((joiner, hands))) => joiner.root(store, &mut { hands }),
            (Target::Term(term), _) => self.term_root(store, term),
            (Target::Replaced, None) => unreachable!("elements are replaced by joining"),
        }
    }

    /// The root of a term as a state.
    pub fn term_root(&mut self, store: &Store, term: Term) -> Result<Root, Full> {
        let Machine { heap, theory, .. } = &self.machine;
        self.codec.root(store, heap, &theory.symbols, term)
    }

    /// The number of the state where the last step leads to; for one thread at a time.
    pub fn insert(&mut self, store: &Store, step: Step, parent: StateId) -> Result<Inserted, Full> {
        if let (Target::Replaced, Some((joiner, hands))) = (step.to, self.joining()) {
            let root = joiner.root(store, &mut { hands })?;
            return self.codec.put(store, root, parent);
        }
        let Target::Term(term) = step.to else { unreachable!("elements are replaced by joining") };
        self.insert_term(store, term, parent)
    }

    /// The number of a state with a root; for one thread at a time.
    #[inline]
    pub fn insert_root(&mut self, store: &Store, root: Root, parent: StateId) -> Result<Inserted, Full> {
        self.codec.put(store, root, parent)
    }

    /// The same in a keyed level.
    #[inline]
    pub fn insert_root_keyed(&mut self, store: &Store, root: Root, key: u64) -> Result<Inserted, Full> {
        self.codec.put_keyed(store, root, key)
    }

    /// The number of a term as a state; for one thread at a time.
    pub fn insert_term(&mut self, store: &Store, term: Term, parent: StateId) -> Result<Inserted, Full> {
        let Machine { heap, theory, .. } = &self.machine;
        self.codec.insert(store, heap, &theory.symbols, term, parent)
    }

    /// The reduced form of a term.
    pub fn reduce(&mut self, tree: &Tree) -> Result<Term, Interrupt> {
        self.close();
        // Terms without equations are made without a look at how full the heap is.
        self.machine.tidy();
        let term = self.machine.reduce(tree)?;
        Ok(self.machine.as_state(term))
    }

    /// Forgets whatever was being done, after an interrupt.
    pub fn reset(&mut self) {
        self.steps = Steps::default();
        self.is_joining = false;
        self.untouched = None;
        self.machine.reset();
    }

    /// Bytes of this thread's own memory.
    pub fn bytes(&self) -> usize {
        let joiner = self.joiner.as_ref().map_or(0, |joiner| joiner.bytes());
        self.machine.heap.capacity() * 4 + self.codec.bytes() + joiner
    }
}
