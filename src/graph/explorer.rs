//! One thread's way through the states: its machine, its codec, and the state it is at.

use std::sync::Arc;

use super::codec::Codec;
use super::pairs::Full;
use super::store::{Inserted, StateId, Store};
use crate::base::{Cancel, Interrupt};
use crate::rewrite::{Machine, Step, Steps};
use crate::sorts::Tree;
use crate::term::Term;
use crate::theory::Theory;

/// See the head of this file.
pub struct Explorer {
    pub machine: Machine,
    codec: Codec,
    steps: Steps,
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
        Explorer { machine, codec, steps: Steps::default() }
    }

    /// The term of a state, valid until the next call of this or [`Explorer::open`].
    pub fn load(&mut self, store: &Store, state: StateId) -> Term {
        self.steps.end(&mut self.machine);
        self.machine.tidy();
        let Machine { heap, theory, .. } = &mut self.machine;
        self.codec.decode(store, heap, &theory.symbols, state, &mut [])
    }

    /// Goes to a state, to take its steps one by one.
    pub fn open(&mut self, store: &Store, state: StateId) {
        let term = self.load(store, state);
        self.steps.begin(&mut self.machine, term);
    }

    /// Takes no more steps from the state that is open.
    pub fn close(&mut self) {
        self.steps.end(&mut self.machine);
    }

    /// The next step from the state that is open.
    #[inline]
    pub fn step(&mut self) -> Result<Option<Step>, Interrupt> {
        self.steps.next(&mut self.machine)
    }

    /// The term of the state that is open.
    pub fn term(&self) -> Term {
        self.steps.term(&self.machine)
    }

    /// The number of a term as a state; for one thread at a time.
    pub fn insert(&mut self, store: &Store, term: Term, parent: StateId) -> Result<Inserted, Full> {
        let Machine { heap, theory, .. } = &self.machine;
        self.codec.insert(store, heap, &theory.symbols, term, parent)
    }

    /// The same in a keyed level.
    pub fn insert_keyed(&mut self, store: &Store, term: Term, key: u64) -> Result<Inserted, Full> {
        let Machine { heap, theory, .. } = &self.machine;
        self.codec.insert_keyed(store, heap, &theory.symbols, term, key)
    }

    /// The reduced form of a term.
    pub fn reduce(&mut self, tree: &Tree) -> Result<Term, Interrupt> {
        self.machine.reduce(tree)
    }

    /// Has a state been inserted in which something is not reduced? Rules would change it in place.
    pub fn has_unreduced(&self) -> bool {
        self.codec.has_lazy()
    }

    /// Forgets whatever was being done, after an interrupt.
    pub fn reset(&mut self) {
        self.steps = Steps::default();
        self.machine.reset();
    }

    /// Bytes of this thread's own memory.
    pub fn bytes(&self) -> usize {
        self.machine.heap.capacity() * 4 + self.codec.bytes()
    }
}
