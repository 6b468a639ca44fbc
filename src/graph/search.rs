//! Breadth-first search, one solution at a time, in Maude's order and with Maude's numbers.
//!
//! Small levels are explored by one thread, step by step, and a solution is given as soon as its
//! state is found. Large levels are explored by all threads at once. If there was a solution
//! among them the level is gone through again by one thread: its states are known by then, and
//! their numbers are those that one thread would have given, so that solutions, counts of states
//! and of rewrites come out the same on any number of threads.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{self, AtomicBool, AtomicU32, AtomicUsize};
use std::sync::{Arc, Mutex};

use super::codec::Root;
use super::explorer::{Explorer, Step};
use super::layout;
use super::level::key;
use super::pairs::Full;
use super::store::{Inserted, StateId, Store};
use crate::base::{Cancel, Interrupt, by_own_threads, pool};
use crate::rewrite::{Machine, Tried};
use crate::sorts::{SortId, Tree, Var};
use crate::term::Term;
use crate::theory::Theory;

/// Which states a search reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrow {
    /// `=>1`: after exactly one step.
    One,
    /// `=>+`: after at least one step.
    Plus,
    /// `=>*`: all.
    Star,
    /// `=>!`: those that no rule applies to.
    Final,
}

/// What a search may use.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    pub cancel: Cancel,
    /// Threads for large levels.
    pub threads: usize,
    /// Bytes for the states and the threads' heaps.
    pub memory_max: Option<usize>,
}

/// How far a search is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub states: u32,
    /// Those whose successors are known.
    pub explored: u32,
    pub depth: u64,
}

/// Someone who hears now and then how far a search is.
pub type Watcher = Box<dyn FnMut(&Progress) + Send>;

/// A state that matches the pattern, with the values of its variables.
#[derive(Clone, Debug)]
pub struct Solution {
    pub state: u32,
    pub bindings: Vec<(Var, Tree)>,
}

/// Levels with fewer states are explored by one thread.
const PARALLEL_MIN: u32 = 1 << 11;
/// Threads take up so many states of a level together at most. What they have found in such a part has its
/// final numbers only at its end, so this is what an interrupt loses, and a solution waits for.
const PART_MAX: u32 = if cfg!(debug_assertions) { PARALLEL_MIN } else { 1 << 15 };
/// So many states are taken by a thread at once.
const CHUNK: (u32, u32) = (32, 512);
/// So many states may be on their way to the store.
const PENDING_MAX: usize = 16;
/// After so many states memory and progress are looked at.
const CHECK_EVERY: u32 = 1 << 10;

/// A search in progress.
pub struct Search {
    theory: Arc<Theory>,
    limits: Limits,
    store: Store,
    worker: Explorer,
    /// Further threads, if there are.
    team: Option<Team>,
    /// A worker for replays.
    replayer: Option<Explorer>,
    arrow: Arrow,
    depth_max: u64,
    /// The state being rewritten (if `is_open`) or to be rewritten next, and in how many ways it
    /// has been so far.
    current: u32,
    is_open: bool,
    successors: u64,
    /// Where steps lead to that are not in the store yet, with the states that they start from.
    pending: Pending<StateId>,
    /// States found so far. The store may have more if a part is gone through again.
    found: u32,
    /// How deep `current` is, the first state of that level, and the first that is deeper.
    depth: u64,
    level_first: u32,
    level_end: u32,
    /// The part of the level where `current` is.
    part_first: u32,
    part_end: u32,
    /// The state that is being matched, and how many of its matchers have been given.
    matching: Option<u32>,
    given: u64,
    /// Was the current state being rewritten when the last interrupt came?
    is_cut: bool,
    /// After an interrupt: is matching begun anew?
    retries: bool,
    /// Was a part interrupted that several threads explored? Its states have no final numbers yet.
    is_part_open: bool,
    pub watcher: Option<Watcher>,
    /// Has the initial state been reached (by a step, except with `=>*`)?
    is_initial_reached: bool,
    /// Rewrites made by other threads.
    rewrites: u64,
    team_rules: u64,
    fired: Vec<u64>,
    finals: u64,
    /// What rules tried in vain inside states, on all threads.
    tried: Arc<Tried>,
    /// Has the layout of states been chosen?
    is_arranged: bool,
    /// From this state on only one step was made from each, to see whether it is final.
    probed_from: u32,
}

impl Search {
    /// Starts from a term; query 0 of the machine's theory is what is looked for.
    pub fn new(
        mut machine: Machine,
        limits: Limits,
        initial: &Tree,
        arrow: Arrow,
        depth_max: Option<u64>,
    ) -> Result<Search, Interrupt> {
        let one = if arrow == Arrow::One { 1 } else { u64::MAX };
        let theory = machine.theory.clone();
        let tried = Arc::<Tried>::default();
        machine.share_trials(&tried);
        let mut search = Search {
            tried,
            worker: Explorer::with(machine),
            store: Store::new(),
            team: None,
            replayer: None,
            arrow,
            depth_max: depth_max.unwrap_or(u64::MAX).min(one),
            current: 0,
            is_open: false,
            successors: 0,
            pending: Pending::default(),
            found: 0,
            depth: 0,
            level_first: 0,
            level_end: 1,
            part_first: 0,
            part_end: 1,
            matching: None,
            given: 0,
            is_cut: false,
            retries: false,
            is_part_open: false,
            watcher: None,
            is_initial_reached: false,
            rewrites: 0,
            team_rules: 0,
            fired: vec![0; theory.module.rules.len()],
            finals: 0,
            is_arranged: false,
            probed_from: u32::MAX,
            theory,
            limits,
        };
        let term = search.worker.reduce(initial)?;
        search.insert(StateId::NONE, |worker, store, parent| worker.insert_term(store, term, parent))?;
        Ok(search)
    }

    /// The next solution. After an interrupt it can be asked for again.
    pub fn next(&mut self) -> Result<Option<Solution>, Interrupt> {
        let found = self.advance();
        if found.is_err() {
            // What was under way is begun anew; successors that are known are not reported again.
            self.worker.reset();
            self.pending.retract(StateId(self.current));
            (self.is_cut, self.is_open) = (self.is_open, false);
            self.retries = true;
        }
        let Some(state) = found? else { return Ok(None) };
        self.given += 1;
        let (query, machine) = (&self.theory.rules.queries[0], &self.worker.machine);
        let values = machine.query_values(query);
        let bind = |(&(var, _), value): (&(Var, u16), Term)| (var, machine.to_tree(value));
        let bindings = query.vars.iter().zip(values).map(bind).collect();
        Ok(Some(Solution { state, bindings }))
    }

    /// The state of the next solution, whose matcher is on the machine.
    fn advance(&mut self) -> Result<Option<u32>, Interrupt> {
        let retries = std::mem::take(&mut self.retries);
        let is_first = !self.is_initial_reached && self.arrow == Arrow::Star;
        let found = match self.matching {
            Some(state) if retries => {
                let given = self.given;
                let term = self.worker.load(&self.store, StateId(state));
                let mut found = self.candidate(state, term)?;
                for _ in 0..given {
                    found = self.worker.machine.resume_rule()?.map(|_| state);
                }
                self.given = given;
                found
            }
            Some(state) => self.worker.machine.resume_rule()?.map(|_| state),
            None if is_first => {
                self.is_initial_reached = true;
                let term = self.worker.load(&self.store, StateId(0));
                self.candidate(0, term)?
            }
            None => None,
        };
        if found.is_some() {
            return Ok(found);
        }
        self.matching = None;
        self.explore()
    }

    /// Does the state match the pattern?
    fn candidate(&mut self, state: u32, term: Term) -> Result<Option<u32>, Interrupt> {
        (self.matching, self.given) = (Some(state), 0);
        let code = self.theory.rules.queries[0].code;
        let found = self.worker.machine.start_rule(code, term)?.map(|_| state);
        if found.is_none() {
            self.matching = None;
        }
        Ok(found)
    }

    /// The number of a state, and whether it is new.
    fn insert(
        &mut self,
        parent: StateId,
        insert: impl Fn(&mut Explorer, &Store, StateId) -> Result<Inserted, Full>,
    ) -> Result<(u32, bool), Interrupt> {
        loop {
            match insert(&mut self.worker, &self.store, parent) {
                Ok(inserted) => {
                    let number = inserted.number.0;
                    let is_new = number >= self.found;
                    self.found += u32::from(is_new);
                    return Ok((number, is_new));
                }
                Err(Full) => self.grow(1, 0)?,
            }
        }
    }

    /// Nobody may be at work. A team that is not at its place has so many bytes.
    fn grow(&mut self, threads: usize, team: usize) -> Result<(), Interrupt> {
        self.check_memory(self.store.growth() + team)?;
        self.store.grow_on(threads).map_err(|_| Interrupt::Memory)
    }

    fn check_memory(&self, more: usize) -> Result<(), Interrupt> {
        match self.limits.memory_max {
            Some(limit) if self.bytes() + more > limit => Err(Interrupt::Memory),
            _ => Ok(()),
        }
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.store.bytes() + self.worker.bytes() + self.team.as_ref().map_or(0, Team::bytes)
    }

    /// Says how far it is.
    fn tell(&mut self) {
        let progress = Progress { states: self.found, explored: self.current, depth: self.depth };
        if let Some(watcher) = &mut self.watcher {
            watcher(&progress);
        }
    }

    /// Puts what is pending.
    fn flush(&mut self) -> Result<(), Interrupt> {
        self.pending.prefetch(&self.store);
        while let Some((root, parent)) = self.pending.first() {
            self.insert(parent, |worker, store, parent| worker.insert_root(store, root, parent))?;
            self.pending.advance();
        }
        Ok(())
    }

    /// Leaves the last step for later, if nothing else depends on where it leads to.
    fn postpone(&mut self, step: Step, parent: StateId) -> Result<bool, Interrupt> {
        if self.arrow == Arrow::Final {
            return Ok(false);
        }
        let root = loop {
            match self.worker.root(&self.store, step) {
                Ok(root) => break root,
                Err(Full) => self.grow(1, 0)?,
            }
        };
        let is_initial = !self.is_initial_reached && root == self.store.root(StateId(0)).into();
        if is_initial || self.worker.may_match(&self.store, step, 0) {
            return Ok(false);
        }
        self.pending.push(&self.store, root, parent);
        if self.pending.is_full() {
            self.flush()?;
        }
        Ok(true)
    }

    /// Goes on until a state matches.
    fn explore(&mut self) -> Result<Option<u32>, Interrupt> {
        loop {
            if !self.is_open && !self.open()? {
                return Ok(None);
            }
            let Some(step) = self.worker.step(&self.store)? else {
                self.is_open = false;
                self.current += 1;
                if self.successors == 0 {
                    self.finals += 1;
                    if self.arrow == Arrow::Final && self.worker.has_match(&self.store, 0)? != Some(false) {
                        let term = self.worker.term(&self.store);
                        if let Some(state) = self.candidate(self.current - 1, term)? {
                            return Ok(Some(state));
                        }
                    }
                }
                continue;
            };
            self.successors += 1;
            self.fired[step.rule as usize] += 1;
            let parent = StateId(self.current);
            if self.postpone(step, parent)? {
                continue;
            }
            self.flush()?;
            let (state, mut is_new) =
                self.insert(parent, |worker, store, parent| worker.insert(store, step, parent))?;
            if self.is_probe() {
                self.worker.close();
                self.is_open = false;
                self.current += 1;
            }
            if state == 0 && !self.is_initial_reached {
                self.is_initial_reached = true;
                is_new = true;
            }
            if is_new && self.arrow != Arrow::Final && self.worker.may_match(&self.store, step, 0) {
                let term = self.worker.step_term(&self.store, step);
                if let Some(state) = self.candidate(state, term)? {
                    return Ok(Some(state));
                }
            }
        }
    }

    /// Opens the next state to be explored, after parts that are left to the team. Is there one?
    fn open(&mut self) -> Result<bool, Interrupt> {
        loop {
            if self.current == self.found || self.current == self.part_end {
                self.flush()?;
            }
            if self.current == self.found {
                return Ok(false);
            }
            if self.current == self.level_end {
                self.depth += 1;
                (self.level_first, self.level_end) = (self.level_end, self.found);
            }
            if self.current == self.part_end {
                self.part_first = self.current;
                self.part_end = self.level_end.min(self.current.saturating_add(PART_MAX));
                self.tried.begin_level();
            }
            let is_probe = self.is_probe();
            if self.depth >= self.depth_max && !is_probe {
                return Ok(false);
            }
            if is_probe {
                self.probed_from = self.probed_from.min(self.current);
            }
            if self.current == self.level_first
                && !self.is_arranged
                && self.found >= layout::STATES_MIN
                && self.found == self.store.len()
            {
                self.arrange()?;
            }
            let is_start = self.current == self.part_first;
            let is_large = !is_probe && self.part_end - self.part_first >= PARALLEL_MIN;
            let is_known = self.store.len() > self.found && !self.is_part_open;
            if is_start && is_large && !is_known && self.limits.threads > 1 && self.explore_part()? {
                continue;
            }
            if self.current % CHECK_EVERY == 0 {
                self.check_memory(0)?;
                self.tell();
                if self.limits.cancel.is_raised() {
                    return Err(Interrupt::Cancelled);
                }
            }
            self.worker.open(&self.store, StateId(self.current));
            (self.is_open, self.is_cut) = (true, false);
            self.successors = 0;
            return Ok(true);
        }
    }

    /// Chooses the layout of states by those that have been found.
    fn arrange(&mut self) -> Result<(), Interrupt> {
        self.is_arranged = true;
        let rearranged = self.store.rearranged(&self.theory.symbols).map_err(|_| Interrupt::Memory)?;
        if let Some(store) = rearranged {
            self.store = store;
            self.worker.renew();
            let members = self.team.iter_mut().flat_map(|team| &mut team.members);
            let inside = members.flat_map(|member| member.worker.machine.rules_inside.drain());
            self.worker.machine.rules_inside.extend(inside);
            (self.team, self.replayer) = (None, None);
        }
        Ok(())
    }

    /// Is it only asked whether the current state is final? One step answers that.
    fn is_probe(&self) -> bool {
        self.arrow == Arrow::Final && self.depth == self.depth_max
    }

    /// Explores a part of the level with all threads. Returns false if there is a solution: then one
    /// thread must go through the part again. It must also after an interrupt, since states that
    /// are known already are not looked at.
    fn explore_part(&mut self) -> Result<bool, Interrupt> {
        let mut team = match self.team.take() {
            Some(team) => team,
            None => Team::new(&self.theory, &self.limits, &self.tried)?,
        };
        let shared = Shared {
            next: AtomicU32::new(self.current),
            end: self.part_end,
            chunk: ((self.part_end - self.current) / (16 * self.limits.threads as u32))
                .clamp(CHUNK.0, CHUNK.1),
            left: Mutex::default(),
            is_full: AtomicBool::new(false),
            is_found: AtomicBool::new(false),
            is_initial_reached: AtomicBool::new(self.is_initial_reached),
            interrupt: Mutex::default(),
            watcher: Mutex::new(self.watcher.take()),
            team_bytes: AtomicUsize::new(team.bytes()),
            team_max: self.limits.memory_max.map(|all| all.saturating_sub(self.worker.bytes())),
            depth: self.depth,
        };
        let resumes = std::mem::take(&mut self.is_part_open);
        if !resumes {
            self.store.begin_level();
        }
        let outcome = loop {
            team.run(&self.store, &shared, self.arrow);
            if let Some(interrupt) = shared.interrupt.lock().expect("nobody panicked").take() {
                break Err(interrupt);
            }
            if !shared.is_full.swap(false, atomic::Ordering::Relaxed) {
                break Ok(());
            }
            if let Err(interrupt) = self.grow(self.limits.threads, team.bytes()) {
                break Err(interrupt);
            }
        };
        let is_found = shared.is_found.into_inner();
        self.watcher = shared.watcher.into_inner().expect("nobody panicked");
        let tallies: Vec<Tally> =
            team.members.iter_mut().map(|member| std::mem::take(&mut member.tally)).collect();
        if outcome.is_ok() {
            let parents = self.current..self.part_end;
            team.pool.install(|| self.store.end_level(self.limits.threads, parents));
        }
        self.team = Some(team);
        self.is_part_open = outcome.is_err();
        outcome?;
        if is_found || resumes {
            self.tried.begin_again();
            return Ok(false);
        }
        for tally in tallies {
            self.rewrites += tally.rewrites;
            self.finals += tally.finals;
            self.team_rules += tally.fired.iter().sum::<u64>();
            self.fired.iter_mut().zip(tally.fired).for_each(|(all, own)| *all += own);
        }
        self.is_initial_reached = shared.is_initial_reached.into_inner();
        self.current = self.part_end;
        self.found = self.store.len();
        Ok(true)
    }

    /// How many states have been found.
    pub fn len(&self) -> u32 {
        self.found
    }

    pub fn is_empty(&self) -> bool {
        self.found == 0
    }

    /// How deep the search is.
    pub fn depth(&self) -> u64 {
        self.depth
    }

    /// Have the successors of all states been found?
    pub fn is_complete(&self) -> bool {
        self.current == self.found && self.probed_from == u32::MAX
    }

    /// How many rewrites it took, those in conditions included.
    pub fn rewrites(&self) -> u64 {
        self.rewrites + self.worker.machine.rewrites + self.tried.rewrites()
    }

    /// How often each rule was applied.
    pub fn fired(&self) -> &[u64] {
        &self.fired
    }

    /// Was a rule applied inside a `=>` condition?
    pub fn is_applied_inside(&self, rule: u32) -> bool {
        let members = self.team.iter().flat_map(|team| &team.members).map(|member| &member.worker);
        members.chain([&self.worker]).any(|worker| worker.machine.rules_inside.contains(&rule))
    }

    /// How many of the states that were explored no rule applies to.
    pub fn finals(&self) -> u64 {
        self.finals
    }

    /// How many of the rewrites are rule applications to states.
    pub fn rule_rewrites(&self) -> u64 {
        self.worker.machine.rule_rewrites + self.team_rules
    }

    /// Counts rewrites from 0 again.
    pub fn restart_counts(&mut self) {
        (self.rewrites, self.team_rules) = (0, 0);
        (self.worker.machine.rewrites, self.worker.machine.rule_rewrites) = (0, 0);
        self.tried.restart();
    }

    /// The states on the way from the initial one to `state`.
    pub fn path(&self, state: u32) -> Vec<u32> {
        let parent = |state: &StateId| Some(self.store.parent(*state)).filter(|p| *p != StateId::NONE);
        let mut path: Vec<u32> =
            std::iter::successors(Some(StateId(state)), parent).map(|state| state.0).collect();
        path.reverse();
        path
    }

    fn replayer(&mut self) -> Explorer {
        let make = || Explorer::new(self.theory.clone(), self.limits.cancel.clone());
        self.replayer.take().unwrap_or_else(make)
    }

    /// The term of a state, with its least sort.
    pub fn term(&mut self, state: u32) -> (Tree, SortId) {
        let mut replayer = self.replayer();
        let term = replayer.load(&self.store, StateId(state));
        let result = (replayer.machine.to_tree(term), replayer.machine.sort_of(term));
        self.replayer = Some(replayer);
        result
    }

    /// Where a state leads, as far as it was explored: states ascending, each with the rules that
    /// lead there, ascending. Rewrites made for this are not counted.
    pub fn arcs(&mut self, state: u32) -> Result<Vec<(u32, Vec<u32>)>, Interrupt> {
        let limit = match state.cmp(&self.current) {
            Ordering::Less if state >= self.probed_from => 1,
            Ordering::Less => u64::MAX,
            Ordering::Equal if self.is_open => self.successors,
            // Up to a step to a state that had not been found.
            Ordering::Equal if self.is_cut => u64::MAX,
            _ => 0,
        };
        let mut arcs: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        let mut replayer = self.replayer();
        replayer.open(&self.store, StateId(state));
        for _ in 0..limit {
            let step = match replayer.step(&self.store) {
                Ok(Some(step)) => step,
                Ok(None) => break,
                // It is where the search was interrupted, too.
                Err(_) if self.is_cut && state == self.current => {
                    replayer.reset();
                    break;
                }
                Err(interrupt) => return Err(interrupt),
            };
            let target = loop {
                match replayer.insert(&self.store, step, StateId(state)) {
                    Ok(inserted) => break inserted.number.0,
                    Err(Full) => self.store.grow().map_err(|_| Interrupt::Memory)?,
                }
            };
            if target >= self.found {
                break;
            }
            arcs.entry(target).or_default().insert(step.rule);
        }
        self.replayer = Some(replayer);
        Ok(arcs.into_iter().map(|(state, rules)| (state, rules.into_iter().collect())).collect())
    }
}

/// Roots of states on their way to the store, in their order. The memory where they belong is asked for
/// meanwhile.
struct Pending<T> {
    roots: Vec<(Root, T)>,
    /// So many have been put.
    done: usize,
}

impl<T: Copy + PartialEq> Pending<T> {
    fn push(&mut self, store: &Store, root: Root, with: T) {
        root.prefetch_place(store);
        self.roots.push((root, with));
    }

    fn is_full(&self) -> bool {
        self.roots.len() >= PENDING_MAX
    }

    /// Asks for the states that will be compared.
    fn prefetch(&self, store: &Store) {
        self.roots[self.done..].iter().for_each(|(root, _)| root.prefetch(store));
    }

    /// The first that is left.
    fn first(&self) -> Option<(Root, T)> {
        self.roots.get(self.done).copied()
    }

    /// It has been put.
    fn advance(&mut self) {
        self.done += 1;
        if self.done == self.roots.len() {
            self.clear();
        }
    }

    /// Forgets the last ones that go with this.
    fn retract(&mut self, with: T) {
        while self.roots.len() > self.done && self.roots.last().is_some_and(|last| last.1 == with) {
            self.roots.pop();
        }
    }

    fn clear(&mut self) {
        self.roots.clear();
        self.done = 0;
    }
}

impl<T> Default for Pending<T> {
    fn default() -> Pending<T> {
        Pending { roots: Vec::with_capacity(PENDING_MAX), done: 0 }
    }
}

/// All threads, for large levels.
struct Team {
    pool: rayon::ThreadPool,
    members: Vec<Box<Member>>,
}

/// One of them. Nothing of it is near to what others write to: cores would wait for each other's cache
/// lines.
#[repr(align(128))]
struct Member {
    worker: Explorer,
    /// What it has counted in this level.
    tally: Tally,
    /// Where steps lead to that are not in the store yet, with their keys.
    pending: Pending<u64>,
}

#[derive(Default)]
struct Tally {
    rewrites: u64,
    finals: u64,
    fired: Vec<u64>,
}

/// What the threads share during a level.
struct Shared {
    /// The next state to explore, and where the level ends.
    next: AtomicU32,
    end: u32,
    /// So many are taken at a time.
    chunk: u32,
    /// States that were taken and not explored, since the store was full.
    left: Mutex<Vec<(u32, u32)>>,
    is_full: AtomicBool,
    is_found: AtomicBool,
    is_initial_reached: AtomicBool,
    interrupt: Mutex<Option<Interrupt>>,
    watcher: Mutex<Option<Watcher>>,
    /// Bytes of the threads' own memory, and how many they may have together with the store.
    team_bytes: AtomicUsize,
    team_max: Option<usize>,
    depth: u64,
}

impl Shared {
    /// Takes some states.
    fn take(&self) -> Option<(u32, u32)> {
        if let Some(left) = self.left.lock().expect("nobody panicked").pop() {
            return Some(left);
        }
        let first = self.next.fetch_add(self.chunk, atomic::Ordering::Relaxed);
        (first < self.end).then(|| (first, (first + self.chunk).min(self.end)))
    }

    /// Says how far it is, unless someone else is doing so.
    fn tell(&self, states: u32) {
        if let Ok(mut watcher) = self.watcher.try_lock()
            && let Some(watcher) = &mut *watcher
        {
            let explored = self.next.load(atomic::Ordering::Relaxed).min(self.end);
            watcher(&Progress { states, explored, depth: self.depth });
        }
    }

    /// Takes note of how much memory a thread has now, and had when it said so last.
    fn check_memory(&self, store: &Store, now: usize, before: usize) -> Result<(), Interrupt> {
        let Some(limit) = self.team_max else { return Ok(()) };
        let more = now.wrapping_sub(before);
        let all = self.team_bytes.fetch_add(more, atomic::Ordering::Relaxed).wrapping_add(more);
        if all + store.bytes() > limit { Err(Interrupt::Memory) } else { Ok(()) }
    }

    fn stop(&self, interrupt: Interrupt) {
        self.interrupt.lock().expect("nobody panicked").get_or_insert(interrupt);
        self.is_full.store(true, atomic::Ordering::Relaxed);
    }
}

impl Team {
    fn new(theory: &Arc<Theory>, limits: &Limits, tried: &Arc<Tried>) -> Result<Team, Interrupt> {
        let pool = pool(limits.threads, "search").ok_or(Interrupt::Memory)?;
        let member = || {
            let mut machine = Machine::new(theory.clone(), limits.cancel.clone());
            if let Some(bytes) = limits.memory_max {
                machine.confine(bytes / 4 / limits.threads);
            }
            let mut worker = Explorer::with(machine);
            worker.machine.share_trials(tried);
            worker.share();
            Box::new(Member { worker, tally: Tally::default(), pending: Pending::default() })
        };
        // Each thread makes one: what it allocates is apart from what others do.
        let members = pool.broadcast(|_| member());
        Ok(Team { pool, members })
    }

    fn bytes(&self) -> usize {
        self.members.iter().map(|member| member.worker.bytes()).sum()
    }

    /// Explores until the level is done, the store is full, or someone is interrupted.
    fn run(&mut self, store: &Store, shared: &Shared, arrow: Arrow) {
        by_own_threads(&self.pool, &mut self.members, |_, member| {
            let Member { worker, tally, pending } = &mut **member;
            if let Err(interrupt) = worker.explore(store, shared, arrow, tally, pending) {
                worker.reset();
                // The level will be gone through again.
                pending.clear();
                shared.stop(interrupt);
            }
        });
    }
}

impl Explorer {
    fn explore(
        &mut self,
        store: &Store,
        shared: &Shared,
        arrow: Arrow,
        tally: &mut Tally,
        pending: &mut Pending<u64>,
    ) -> Result<(), Interrupt> {
        let is_full = || shared.is_full.load(atomic::Ordering::Relaxed);
        let mut fired: Vec<u32> = Vec::new();
        let mut bytes = self.bytes();
        tally.fired.resize(self.machine.theory.module.rules.len(), 0);
        while !is_full() && self.flush(store, shared, pending) {
            let Some((first, end)) = shared.take() else { break };
            for parent in first..end {
                fired.clear();
                self.machine.rewrites = 0;
                if is_full()
                    || !self.explore_state(store, shared, arrow, parent, tally, pending, &mut fired)?
                {
                    shared.left.lock().expect("nobody panicked").push((parent, end));
                    break;
                }
                tally.rewrites += self.machine.rewrites;
                tally.finals += u64::from(fired.is_empty());
                fired.iter().for_each(|&rule| tally.fired[rule as usize] += 1);
            }
            shared.tell(store.len());
            let before = std::mem::replace(&mut bytes, self.bytes());
            shared.check_memory(store, bytes, before)?;
            if self.machine.cancel().is_raised() {
                return Err(Interrupt::Cancelled);
            }
        }
        Ok(())
    }

    /// Puts what is pending; says whether there was room.
    fn flush(&mut self, store: &Store, shared: &Shared, pending: &mut Pending<u64>) -> bool {
        pending.prefetch(store);
        while let Some((root, key)) = pending.first() {
            if self.insert_root_keyed(store, root, key).is_err() {
                shared.is_full.store(true, atomic::Ordering::Relaxed);
                return false;
            }
            pending.advance();
        }
        true
    }

    /// Takes all steps from a state. Returns false if the store is full; then nothing counts, and
    /// the state is explored again later.
    #[allow(clippy::too_many_arguments)]
    fn explore_state(
        &mut self,
        store: &Store,
        shared: &Shared,
        arrow: Arrow,
        parent: u32,
        tally: &mut Tally,
        pending: &mut Pending<u64>,
        fired: &mut Vec<u32>,
    ) -> Result<bool, Interrupt> {
        self.open(store, StateId(parent));
        let relaxed = atomic::Ordering::Relaxed;
        let mut arc = 0;
        while let Some(step) = self.step(store)? {
            let Ok(root) = self.root(store, step) else {
                shared.is_full.store(true, relaxed);
                return Ok(false);
            };
            let key = key(parent, arc);
            arc += 1;
            fired.push(step.rule);
            let is_initial =
                !shared.is_initial_reached.load(relaxed) && root == store.root(StateId(0)).into();
            if !is_initial && (arrow == Arrow::Final || !self.may_match(store, step, 0)) {
                pending.push(store, root, key);
                if pending.is_full() && !self.flush(store, shared, pending) {
                    return Ok(false);
                }
                continue;
            }
            let Ok(inserted) = self.insert_root_keyed(store, root, key) else {
                shared.is_full.store(true, relaxed);
                return Ok(false);
            };
            let is_first = inserted.number.0 == 0 && !shared.is_initial_reached.swap(true, relaxed);
            let is_wanted = (inserted.is_new || is_first) && arrow != Arrow::Final;
            if is_wanted && self.may_match(store, step, 0) {
                let term = self.step_term(store, step);
                self.look(term, shared, tally)?;
            }
        }
        if arc == 0 && arrow == Arrow::Final && self.has_match(store, 0)? != Some(false) {
            let term = self.term(store);
            self.look(term, shared, tally)?;
        }
        Ok(true)
    }

    /// Notes whether a state is a solution.
    fn look(&mut self, term: Term, shared: &Shared, tally: &mut Tally) -> Result<(), Interrupt> {
        let before = self.machine.rewrites;
        let code = self.machine.theory.rules.queries[0].code;
        if self.machine.start_rule(code, term)?.is_some() {
            self.machine.abandon_rule();
            shared.is_found.store(true, atomic::Ordering::Relaxed);
        }
        // A state is looked at once, even if the one it was reached from is explored again.
        tally.rewrites += self.machine.rewrites - before;
        self.machine.rewrites = before;
        Ok(())
    }
}
