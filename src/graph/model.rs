//! A rewrite theory as a transition system: states are terms in a shared store, transitions are
//! rule applications, propositions are terms that equations evaluate in a state.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Once};

use super::codec::Root;
use super::explorer::Explorer;
use super::graft::Graft;
use super::layout::{self, Layout};
use super::pairs::Full;
use super::shared::{Reader, Shared};
use super::store::{StateId, Store};
use super::system::{RuleId, State, Stop, System, Worker, deadlock};
use crate::base::{Cancel, Interrupt};
use crate::builtin::BuiltinState;
use crate::rewrite::Machine;
use crate::sorts::{OpId, Signature, Tree};
use crate::term::Symbols;
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
    /// Those that compute nothing.
    pub light: u64,
    pub cancel: Cancel,
    pub random_seed: u32,
    /// Bytes for the store and the threads' heaps.
    pub memory_max: Option<usize>,
    /// States that may be found; see [`Model::is_outgrown`].
    pub states_max: Option<u32>,
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
    pub value: CaseValue,
}

/// Whether a proposition holds.
#[derive(Clone, Copy, Debug)]
pub enum CaseValue {
    Known(bool),
    /// It does if a query matches the state. What its condition asks of the whole state is remembered
    /// for other propositions, and for the rules.
    Computed(usize),
}

/// A thread tells how much memory of its own it has after so many jobs; smaller changes are not worth it.
const TELL_EVERY: u32 = if cfg!(debug_assertions) { 1 } else { 16 };
const BYTES_STEP: usize = 1 << 12;

/// See the head of this file.
pub struct Model {
    setup: ModelSetup,
    /// Threads read; whoever finds it full waits for the others and enlarges it.
    store: Shared<Store>,
    /// States that stay when the store is forgotten.
    kept: Shared<Store>,
    /// How often it was, or its layout chosen. What threads know of the store is of no use in the next epoch.
    epoch: AtomicU64,
    /// May the layout not be chosen any more? Roots of states must stay what they are once they are known
    /// outside.
    is_arranged: AtomicBool,
    scouting: Once,
    /// Propositions that are evaluated.
    asked: AtomicU64,
    /// Bytes of the threads' own memory.
    worker_bytes: AtomicUsize,
    /// Bytes that all of it may take, if that is less than what the setup allows.
    bytes_max: AtomicUsize,
}

impl Model {
    pub fn new(setup: ModelSetup) -> Model {
        Model {
            setup,
            store: Shared::new(Store::new()),
            kept: Shared::new(Store::new()),
            epoch: AtomicU64::new(0),
            is_arranged: AtomicBool::new(false),
            scouting: Once::new(),
            asked: AtomicU64::new(u64::MAX),
            worker_bytes: AtomicUsize::new(0),
            bytes_max: AtomicUsize::new(usize::MAX),
        }
    }

    /// Rewrites made so far.
    pub fn rewrites(&self) -> u64 {
        self.store.counted()
    }

    /// Whether more states were found than the setup allows, so that somebody had to stop.
    pub fn is_outgrown(&self) -> bool {
        self.setup.states_max.is_some_and(|max| self.store.peek(Store::len) > max)
    }

    /// From now on only these propositions are evaluated.
    pub fn ask(&self, props: u64) {
        self.asked.store(props, Ordering::Relaxed);
    }

    /// Bytes of the states and of the threads' own memory.
    pub fn bytes(&self) -> usize {
        let kept = self.kept.peek(Store::bytes);
        self.store.peek(Store::bytes) + kept + self.worker_bytes.load(Ordering::Relaxed)
    }

    /// Forgets all states but those that are kept. Nobody may be at work.
    pub(super) fn forget(&self) {
        self.store.write(|store, _| *store = Store::with_layout(store.layout));
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// Chooses the layout of states, unless that has been done, by exploring a few of them.
    pub(super) fn scout(&self) {
        // One who failed has left the layout as it was.
        self.scouting.call_once_force(|_| {
            if !self.is_arranged.swap(true, Ordering::Relaxed) {
                self.choose_layout();
            }
        });
    }

    fn choose_layout(&self) {
        let scout = Model::new(self.setup.clone());
        let (mut worker, mut out) = (scout.witness(), Vec::new());
        let initial = worker.initial();
        let mut next = initial.unwrap_or(State::MAX);
        // Whatever goes wrong here will go wrong again when it matters.
        while next < scout.store.peek(Store::len).min(layout::SCOUTED)
            && worker.successors(next, &mut out).is_ok()
        {
            next += 1;
            out.clear();
        }
        let layout = scout.store.peek(Layout::of);
        for store in [&self.store, &self.kept] {
            store.write(|store, _| *store = Store::with_layout(layout));
        }
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// From now on it may take at most so many bytes; what it has it keeps.
    pub(super) fn confine(&self, bytes_max: usize) {
        self.bytes_max.store(bytes_max, Ordering::Relaxed);
    }

    /// Enlarges one of the stores, if it is full.
    fn grow(&self, full: &Shared<Store>) -> Result<(), Interrupt> {
        full.write(|store, readers| self.grow_alone(store, readers))
    }

    /// The same for who has it for himself, while so many threads wait.
    fn grow_alone(&self, store: &mut Store, threads: usize) -> Result<(), Interrupt> {
        if !store.is_full() {
            return Ok(());
        }
        if store.len() >= layout::STATES_MIN && !self.is_arranged.swap(true, Ordering::Relaxed) {
            let rearranged = store.rearranged(&self.setup.theory.symbols).map_err(|_| Interrupt::Memory)?;
            if let Some(rearranged) = rearranged {
                *store = rearranged;
                self.epoch.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
        }
        let after = store.bytes() + store.growth() + self.worker_bytes.load(Ordering::Relaxed);
        let limit = self.bytes_max.load(Ordering::Relaxed);
        if after > self.setup.memory_max.unwrap_or(usize::MAX).min(limit) {
            return Err(Interrupt::Memory);
        }
        store.grow_on(threads).map_err(|_| Interrupt::Memory)
    }
}

impl System for Model {
    type Worker<'a> = ModelWorker<'a>;

    fn worker(&self) -> ModelWorker<'_> {
        ModelWorker {
            model: self,
            store: self.store.reader(),
            kept: self.kept.reader(),
            ready: None,
            bytes: 0,
            jobs: 0,
            epoch: 0,
            is_counted: true,
        }
    }

    fn witness(&self) -> ModelWorker<'_> {
        ModelWorker { is_counted: false, ..self.worker() }
    }
}

/// One thread's view of a model.
pub struct ModelWorker<'a> {
    model: &'a Model,
    store: Reader<'a, Store>,
    kept: Reader<'a, Store>,
    /// Made when there is something to do.
    ready: Option<Ready>,
    /// What it last said about its memory, and how much it has done.
    bytes: usize,
    jobs: u32,
    /// The model's epoch when it was made.
    epoch: u64,
    /// Do its rewrites count?
    is_counted: bool,
}

pub(super) struct Ready {
    pub(super) explorer: Explorer,
    /// From the store to what is kept, and back.
    keeping: Option<Box<Graft>>,
    recalling: Option<Box<Graft>>,
    /// Places of the propositions among the heap's constants.
    props: std::ops::Range<usize>,
    truth: usize,
}

impl Ready {
    fn new(setup: &ModelSetup) -> Result<Ready, Interrupt> {
        let mut machine = Machine::new(setup.theory.clone(), setup.cancel.clone());
        machine.state = BuiltinState::new(setup.random_seed);
        if let Some(bytes) = setup.memory_max {
            machine.confine(bytes / 4);
        }
        let first = machine.heap.consts.len();
        for tree in setup.props.iter().chain([&setup.truth]) {
            let term = machine.reduce(tree)?;
            machine.heap.consts.push(term);
        }
        machine.rewrites = 0;
        let truth = first + setup.props.len();
        Ok(Ready {
            explorer: Explorer::with(machine),
            keeping: None,
            recalling: None,
            props: first..truth,
            truth,
        })
    }

    /// Whether a proposition holds in the open state, if its elements tell.
    fn read(&mut self, store: &Store, reading: &Reading) -> Result<Option<bool>, Interrupt> {
        let mut value = reading.otherwise;
        for case in &reading.cases {
            match self.explorer.has_match(store, case.query)? {
                Some(true) => {
                    value = Some(match case.value {
                        CaseValue::Known(value) => value,
                        CaseValue::Computed(query) => self.compute(store, query)?,
                    });
                    break;
                }
                Some(false) => {}
                None => return Ok(None),
            }
        }
        self.explorer.machine.rewrites += u64::from(value.is_some());
        Ok(Some(value == Some(true)))
    }

    /// Does a query match the open state?
    fn compute(&mut self, store: &Store, query: usize) -> Result<bool, Interrupt> {
        let term = self.explorer.term(store);
        let machine = &mut self.explorer.machine;
        let code = machine.theory.rules.queries[query].code;
        let is_match = machine.start_rule(code, term)?.is_some();
        if is_match {
            machine.abandon_rule();
        }
        Ok(is_match)
    }

    /// Which of the propositions that are asked for hold in the state that was just opened, and whether it
    /// still is.
    pub(super) fn props(
        &mut self,
        setup: &ModelSetup,
        store: &Store,
        asked: u64,
    ) -> Result<(u64, bool), Interrupt> {
        let (mut holds, mut unread) = (0, Vec::new());
        for (bit, reading) in setup.readings.iter().enumerate() {
            if asked >> bit & 1 == 0 {
                continue;
            }
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
            return Ok((holds, true));
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
        self.explorer.touch();
        Ok((evaluated?, false))
    }
}

impl ModelWorker<'_> {
    /// Does something with the explorer and the store; what it rewrites is counted.
    pub(super) fn work<T>(
        &mut self,
        mut job: impl FnMut(&mut Ready, &ModelSetup, &Store) -> Result<Result<T, Full>, Interrupt>,
    ) -> Result<T, Stop> {
        self.work_on_both(|ready, setup, store, _| job(ready, setup, store))
    }

    /// The same with what is kept.
    fn work_on_both<T>(
        &mut self,
        mut job: impl FnMut(&mut Ready, &ModelSetup, &Store, &Reader<Store>) -> Result<Result<T, Full>, Interrupt>,
    ) -> Result<T, Stop> {
        let model = self.model;
        loop {
            let store = self.store.read();
            let epoch = model.epoch.load(Ordering::Relaxed);
            if self.ready.is_none() || self.epoch != epoch {
                self.ready = Some(Ready::new(&model.setup).map_err(Stop::Interrupted)?);
                self.epoch = epoch;
                // What was there before is free, and this is told after the job.
                self.jobs = TELL_EVERY - 1;
            }
            let ready = self.ready.as_mut().expect("made above");
            ready.explorer.machine.rewrites = 0;
            let outcome = job(ready, &model.setup, &store, &self.kept);
            drop(store);
            self.jobs = self.jobs.wrapping_add(1);
            if self.jobs % TELL_EVERY == 0 {
                let bytes = ready.explorer.bytes();
                if bytes.abs_diff(self.bytes) > BYTES_STEP {
                    model.worker_bytes.fetch_add(bytes.wrapping_sub(self.bytes), Ordering::Relaxed);
                    self.bytes = bytes;
                }
            }
            match outcome {
                Ok(Ok(result)) => {
                    if self.is_counted {
                        self.store.count(ready.explorer.machine.rewrites);
                    }
                    return Ok(result);
                }
                Ok(Err(Full)) => model.grow(&model.store).map_err(Stop::Interrupted)?,
                Err(interrupt) => {
                    ready.explorer.reset();
                    return Err(Stop::Interrupted(interrupt));
                }
            }
        }
    }

    /// The propositions that are evaluated.
    pub(super) fn asked(&self) -> u64 {
        self.model.asked.load(Ordering::Relaxed)
    }

    /// A state of the store in what is kept.
    pub(super) fn keep(&mut self, root: Root) -> Result<Root, Stop> {
        let copy = |ready: &mut Ready, store: &Store, kept: &Store, sy: &Symbols| {
            ready.keeping.get_or_insert_default().copy(store, kept, sy, root)
        };
        self.graft(copy, &self.model.kept)
    }

    /// A state that is kept in the store.
    pub(super) fn recall(&mut self, root: Root) -> Result<Root, Stop> {
        let copy = |ready: &mut Ready, store: &Store, kept: &Store, sy: &Symbols| {
            ready.recalling.get_or_insert_default().copy(kept, store, sy, root)
        };
        self.graft(copy, &self.model.store)
    }

    /// Copies between the stores; the one that is copied to may be full.
    fn graft(
        &mut self,
        copy: impl Fn(&mut Ready, &Store, &Store, &Symbols) -> Result<Root, Full>,
        full: &Shared<Store>,
    ) -> Result<Root, Stop> {
        let model = self.model;
        loop {
            let copied = self.work_on_both(|ready, setup, store, kept| {
                Ok(Ok(copy(ready, store, &kept.read(), &setup.theory.symbols)))
            })?;
            match copied {
                Ok(root) => return Ok(root),
                Err(Full) => model.grow(full).map_err(Stop::Interrupted)?,
            }
        }
    }

    /// Takes the steps from a state if its propositions pass the test.
    fn take_steps(
        &mut self,
        state: State,
        (known, test): (Option<u64>, &dyn Fn(u64) -> bool),
        out: &mut Vec<(RuleId, State)>,
    ) -> Result<(u64, bool), Stop> {
        let (start, state) = (out.len(), StateId(state));
        let asked = self.asked();
        let done = self.work(|ready, setup, store| {
            out.truncate(start);
            ready.explorer.open(store, state);
            let props = match known {
                Some(props) => props,
                None => {
                    let (props, is_open) = ready.props(setup, store, asked)?;
                    if !is_open {
                        ready.explorer.open(store, state);
                    }
                    props
                }
            };
            if !test(props) {
                return Ok(Ok((props, false)));
            }
            while let Some(step) = ready.explorer.step(store)? {
                match ready.explorer.insert(store, step, StateId::NONE) {
                    Ok(inserted) => out.push((RuleId(step.rule), inserted.number.0)),
                    Err(full) => return Ok(Err(full)),
                }
            }
            Ok(Ok((props, true)))
        })?;
        match self.model.setup.states_max {
            Some(max) if self.model.is_outgrown() => Err(Stop::States(max.into())),
            _ => Ok(done),
        }
    }

    /// Where runs start, not reduced.
    pub(super) fn initial_tree(&self) -> Tree {
        self.model.setup.initial.clone()
    }

    /// How many operators the module has.
    pub(super) fn signature(&self) -> &Signature {
        &self.model.setup.theory.module.signature
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
        self.take_steps(state, (Some(0), &|_| true), out).map(|_| ())
    }

    fn props(&mut self, state: State) -> Result<u64, Stop> {
        let asked = self.asked();
        self.work(|ready, setup, store| {
            ready.explorer.open(store, StateId(state));
            ready.props(setup, store, asked).map(|(props, _)| Ok(props))
        })
    }

    fn look(
        &mut self,
        state: State,
        known: Option<u64>,
        test: &dyn Fn(u64) -> bool,
        out: &mut Vec<(RuleId, State)>,
    ) -> Result<(u64, bool), Stop> {
        self.take_steps(state, (known, test), out)
    }

    fn step_between(&mut self, from: State, rule: Option<RuleId>, to: State) -> Result<Option<RuleId>, Stop> {
        self.work(|ready, _, store| {
            let explorer = &mut ready.explorer;
            explorer.open(store, StateId(from));
            let mut has_steps = false;
            while let Some(step) = explorer.step(store)? {
                has_steps = true;
                let own = RuleId(step.rule);
                if rule.is_some_and(|rule| rule != own) {
                    continue;
                }
                match explorer.insert(store, step, StateId::NONE) {
                    Ok(inserted) if inserted.number.0 == to => return Ok(Ok(Some(own))),
                    Ok(_) => {}
                    Err(full) => return Ok(Err(full)),
                }
            }
            Ok(Ok(if has_steps { None } else { deadlock(from, rule, to) }))
        })
    }

    fn ask(&self, props: u64) {
        self.model.ask(props);
    }

    fn light(&self) -> u64 {
        self.model.setup.light
    }

    fn bytes(&self) -> usize {
        self.model.bytes()
    }

    fn confine(&self, bytes_max: usize) {
        self.model.confine(bytes_max);
    }
}
