//! A rewrite theory as a transition system: states are terms in a shared store, transitions are
//! rule applications, propositions are terms that equations evaluate in a state.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard};

use super::explorer::Explorer;
use super::pairs::Full;
use super::store::{StateId, Store};
use super::system::{RuleId, State, Stop, System, Worker};
use crate::base::{Cancel, Interrupt};
use crate::builtin::BuiltinState;
use crate::rewrite::Machine;
use crate::sorts::{OpId, Tree};
use crate::theory::Theory;

/// What a model is made of.
#[derive(Clone)]
pub struct ModelSetup {
    pub theory: Arc<Theory>,
    /// Where runs start; it will be reduced.
    pub initial: Tree,
    /// The operator that says whether a proposition holds in a state, and what it then gives.
    pub satisfies: OpId,
    pub truth: Tree,
    /// At most 64.
    pub props: Vec<Tree>,
    /// For each of them, if there is a way.
    pub readings: Vec<Option<Reading>>,
    pub cancel: Cancel,
    pub random_seed: u32,
    /// Bytes for the store and the threads' heaps.
    pub memory_max: Option<usize>,
}

/// How to tell from the elements of a state whether a proposition holds.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The first case whose pattern matches decides.
    pub cases: Vec<Case>,
    /// If none does; nothing if no equation applies then, which takes no rewrite.
    pub otherwise: Option<bool>,
}

/// A pattern, which is a query of the theory, and whether the proposition holds where it matches.
#[derive(Clone, Debug)]
pub struct Case {
    pub query: usize,
    pub value: bool,
}

/// See the head of this file.
pub struct Model {
    setup: ModelSetup,
    /// Threads read; whoever finds it full waits for the others and enlarges it.
    store: RwLock<Store>,
    rewrites: AtomicU64,
    /// Bytes of the threads' own memory.
    worker_bytes: AtomicUsize,
}

impl Model {
    pub fn new(setup: ModelSetup) -> Model {
        Model {
            setup,
            store: RwLock::new(Store::new()),
            rewrites: AtomicU64::new(0),
            worker_bytes: AtomicUsize::new(0),
        }
    }

    /// Rewrites made so far.
    pub fn rewrites(&self) -> u64 {
        self.rewrites.load(Ordering::Relaxed)
    }

    /// Bytes of the states and of the threads' own memory.
    pub fn bytes(&self) -> usize {
        self.read().bytes() + self.worker_bytes.load(Ordering::Relaxed)
    }

    fn read(&self) -> RwLockReadGuard<'_, Store> {
        // A thread that panicked has changed nothing that others rely on.
        self.store.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn grow(&self) -> Result<(), Interrupt> {
        let mut store = self.store.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        if !store.is_full() {
            return Ok(());
        }
        let after = store.bytes() + store.growth() + self.worker_bytes.load(Ordering::Relaxed);
        if self.setup.memory_max.is_some_and(|limit| after > limit) {
            return Err(Interrupt::Memory);
        }
        store.grow().map_err(|_| Interrupt::Memory)
    }
}

impl System for Model {
    type Worker<'a> = ModelWorker<'a>;

    fn worker(&self) -> ModelWorker<'_> {
        ModelWorker { model: self, ready: None, bytes: 0 }
    }
}

/// One thread's view of a model.
pub struct ModelWorker<'a> {
    model: &'a Model,
    /// Made when there is something to do.
    ready: Option<Ready>,
    /// What it last said about its memory.
    bytes: usize,
}

pub(super) struct Ready {
    pub(super) explorer: Explorer,
    /// Places of the propositions among the heap's constants.
    props: std::ops::Range<usize>,
    truth: usize,
}

impl Ready {
    fn new(setup: &ModelSetup) -> Result<Ready, Interrupt> {
        let mut machine = Machine::new(setup.theory.clone(), setup.cancel.clone());
        machine.state = BuiltinState::new(setup.random_seed);
        if let Some(bytes) = setup.memory_max {
            machine.memory_max = (bytes / 4).min(machine.memory_max);
        }
        let first = machine.heap.consts.len();
        for tree in setup.props.iter().chain([&setup.truth]) {
            let term = machine.reduce(tree)?;
            machine.heap.consts.push(term);
        }
        machine.rewrites = 0;
        let truth = first + setup.props.len();
        Ok(Ready { explorer: Explorer::with(machine), props: first..truth, truth })
    }

    /// Whether a proposition holds in the open state, if its elements tell.
    fn read(&mut self, store: &Store, reading: &Reading) -> Result<Option<bool>, Interrupt> {
        let mut value = reading.otherwise;
        for case in &reading.cases {
            match self.explorer.has_match(store, case.query)? {
                Some(true) => {
                    value = Some(case.value);
                    break;
                }
                Some(false) => {}
                None => return Ok(None),
            }
        }
        self.explorer.machine.rewrites += u64::from(value.is_some());
        Ok(Some(value == Some(true)))
    }

    /// Which propositions hold in a state, which `open` goes to.
    pub(super) fn props(
        &mut self,
        setup: &ModelSetup,
        store: &Store,
        open: impl Fn(&mut Explorer),
    ) -> Result<u64, Interrupt> {
        open(&mut self.explorer);
        let (mut holds, mut unread) = (0, Vec::new());
        for (bit, reading) in setup.readings.iter().enumerate() {
            let value = match reading {
                Some(reading) => self.read(store, reading)?,
                None => None,
            };
            match value {
                Some(value) => holds |= u64::from(value) << bit,
                None => unread.push(bit),
            }
        }
        if unread.is_empty() {
            return Ok(holds);
        }
        let term = self.explorer.term(store);
        let machine = &mut self.explorer.machine;
        machine.kept.push(term);
        let evaluated = unread.into_iter().try_fold(holds, |holds, prop| {
            let subject = *machine.kept.last().expect("pushed above");
            let args = [subject, machine.heap.consts[self.props.start + prop]];
            let value = machine.apply(setup.satisfies.0, &args)?;
            let truth = machine.heap.consts[self.truth];
            Ok(holds | u64::from(machine.heap.equal(&machine.theory.symbols, value, truth)) << prop)
        });
        machine.kept.pop();
        evaluated
    }
}

impl ModelWorker<'_> {
    /// Does something with the explorer and the store; what it rewrites is counted.
    pub(super) fn work<T>(
        &mut self,
        job: impl Fn(&mut Ready, &ModelSetup, &Store) -> Result<Result<T, Full>, Interrupt>,
    ) -> Result<T, Stop> {
        let model = self.model;
        if self.ready.is_none() {
            self.ready = Some(Ready::new(&model.setup).map_err(Stop::Interrupted)?);
        }
        let ready = self.ready.as_mut().expect("made above");
        loop {
            ready.explorer.machine.rewrites = 0;
            let outcome = job(ready, &model.setup, &model.read());
            let bytes = ready.explorer.bytes();
            model.worker_bytes.fetch_add(bytes.wrapping_sub(self.bytes), Ordering::Relaxed);
            self.bytes = bytes;
            match outcome {
                Ok(Ok(result)) => {
                    model.rewrites.fetch_add(ready.explorer.machine.rewrites, Ordering::Relaxed);
                    return Ok(result);
                }
                Ok(Err(Full)) => model.grow().map_err(Stop::Interrupted)?,
                Err(interrupt) => {
                    ready.explorer.reset();
                    return Err(Stop::Interrupted(interrupt));
                }
            }
        }
    }

    /// Where runs start, not reduced.
    pub(super) fn initial_tree(&self) -> Tree {
        self.model.setup.initial.clone()
    }

    /// How many operators the module has.
    pub(super) fn signature_len(&self) -> usize {
        self.model.setup.theory.module.signature.ops().count()
    }

    /// The term of a state.
    pub fn term(&mut self, state: State) -> Result<Tree, Stop> {
        self.work(|ready, _, store| {
            let term = ready.explorer.load(store, StateId(state));
            Ok(Ok(ready.explorer.machine.to_tree(term)))
        })
    }
}

impl Worker for ModelWorker<'_> {
    fn initial(&mut self) -> Result<State, Stop> {
        self.work(|ready, setup, store| {
            let explorer = &mut ready.explorer;
            let term = explorer.reduce(&setup.initial)?;
            Ok(explorer.insert_term(store, term, StateId::NONE).map(|inserted| inserted.number.0))
        })
    }

    fn successors(&mut self, state: State, out: &mut Vec<(RuleId, State)>) -> Result<(), Stop> {
        let found = self.work(|ready, _, store| {
            let explorer = &mut ready.explorer;
            let mut found = Vec::new();
            explorer.open(store, StateId(state));
            while let Some(step) = explorer.step(store)? {
                match explorer.insert(store, step, StateId(state)) {
                    Ok(inserted) => found.push((RuleId(step.rule), inserted.number.0)),
                    Err(full) => return Ok(Err(full)),
                }
            }
            Ok(Ok(found))
        })?;
        out.extend(found);
        Ok(())
    }

    fn props(&mut self, state: State) -> Result<u64, Stop> {
        self.work(|ready, setup, store| {
            ready.props(setup, store, |explorer| explorer.open(store, StateId(state))).map(Ok)
        })
    }

    fn bytes(&self) -> usize {
        self.model.bytes()
    }
}
