//! The search of sub-state spaces in one region: does an accepted run start from a pair?
//!
//! The product of states and automaton is walked depth-first; states are expanded when they are
//! first needed. The region is kept from one sub-state space to the next as long as it fits, since
//! what was searched without finding anything need not be searched again; and each component that
//! closes is put into the table that all threads share.

use super::cache::Cache;
use super::crew::Budget;
use super::meter::Meter;
use super::reader::Reader;
use crate::base::Interrupt;
use crate::check::Limits;
use crate::check::emptiness::{Accepting, Local};
use crate::check::lasso::{shortest_in, shortest_path};
use crate::check::product::Numbers;
use crate::check::scc::{Arc, Component, Graph, Marks, Walk};
use crate::graph::{Region, RuleId, Seed, State, Stop};

/// What all threads share during the search.
#[derive(Clone, Copy)]
pub struct Shared<'a> {
    pub reader: &'a Reader,
    pub cache: &'a Cache,
    pub meter: &'a Meter<'a>,
    pub budget: &'a Budget<'a>,
    pub limits: &'a Limits,
}

/// The end of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// No accepted run starts there.
    Clean,
    Violated(Suffix),
    /// It takes too much memory, even alone.
    Overflow,
    /// The caller lost interest.
    Moot,
    Stopped(Stop),
}

/// An accepted run from a pair on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suffix {
    /// The automaton state at its start.
    pub at: u32,
    pub seeds: Vec<Seed>,
    /// Where it goes on after its end; without, any way to go on will do.
    pub back: Option<usize>,
}

/// Why a walk ends early.
enum Halt {
    Overflow,
    Moot,
    Stop(Stop),
    /// At a pair from which everything is accepted.
    End(u32),
}

/// One thread's region and what it knows of the product there.
pub struct Part<'a, R> {
    region: R,
    shared: Shared<'a>,
    /// Propositions by state, and where its successors are; `NEW` if it was not expanded.
    states: Vec<(u64, u64)>,
    targets: Vec<State>,
    /// State and automaton state by number, with `VERIFIED` if it need not be searched.
    pairs: Vec<(State, u32)>,
    numbers: Numbers,
    walk: Walk,
    /// Pairs in closed components.
    closed: usize,
    halt: Option<Halt>,
    /// States are not expanded any more.
    frozen: bool,
    transitions: Vec<(RuleId, State)>,
    /// Bytes that may be used.
    share: usize,
    /// Since the meter was last told.
    expanded: usize,
    hits: usize,
}

const NEW: u64 = u64::MAX;
const LENGTH_BITS: u32 = 20;
const VERIFIED: u32 = 1 << 31;
/// After so many expansions time, interest and what others use are looked at.
const LOOK: usize = 128;
/// What an open pair takes on the stacks of the walk.
const OPEN_BYTES: usize = 96;

impl<'a, R: Region> Part<'a, R> {
    pub fn new(mut region: R, shared: Shared<'a>) -> Self {
        region.clear();
        Part {
            region,
            shared,
            states: Vec::new(),
            targets: Vec::new(),
            pairs: Vec::new(),
            numbers: Numbers::new(shared.reader.automaton.edges.len()),
            walk: Walk::default(),
            closed: 0,
            halt: None,
            frozen: false,
            transitions: Vec::new(),
            share: usize::MAX,
            expanded: 0,
            hits: 0,
        }
    }

    /// The region, for other work between two searches that starts from nothing.
    pub fn region(&mut self) -> &mut R {
        self.clear();
        &mut self.region
    }

    fn clear(&mut self) {
        self.region.clear();
        self.states = Vec::new();
        self.targets = Vec::new();
        self.pairs = Vec::new();
        self.numbers = Numbers::new(self.shared.reader.automaton.edges.len());
        self.walk = Walk::default();
        (self.closed, self.halt, self.frozen) = (0, None, false);
    }

    fn bytes(&self) -> usize {
        let own = 16 * self.states.capacity() + 4 * self.targets.capacity() + 8 * self.pairs.capacity();
        let open = OPEN_BYTES * (self.pairs.len() - self.closed);
        self.region.own_bytes() + own + open + self.numbers.bytes() + self.walk.bytes()
    }

    /// Searches for an accepted run from the state with one of these automaton states. `is_moot`
    /// says when nobody cares any more.
    pub fn search(&mut self, seed: Seed, ats: &[u32], is_moot: &dyn Fn() -> bool) -> Outcome {
        let open: Vec<u32> =
            ats.iter().copied().filter(|&at| !self.shared.cache.is_verified(seed, at)).collect();
        self.hits += ats.len() - open.len();
        if open.is_empty() {
            return Outcome::Clean;
        }
        loop {
            let was_empty = self.pairs.is_empty();
            let outcome = self.try_search(seed, &open, is_moot);
            self.shared.meter.add(std::mem::take(&mut self.expanded), std::mem::take(&mut self.hits));
            if outcome != Outcome::Clean {
                self.clear();
            }
            if outcome != Outcome::Overflow || was_empty {
                return outcome;
            }
        }
    }

    fn try_search(&mut self, seed: Seed, ats: &[u32], is_moot: &dyn Fn() -> bool) -> Outcome {
        let required = self.shared.reader.required;
        let root = match self.region.enter(seed) {
            Ok(root) => root,
            Err(stop) => return Outcome::Stopped(stop),
        };
        for &at in ats {
            let number = self.number(root, at);
            if self.pairs[number as usize].1 & VERIFIED != 0 {
                continue;
            }
            if self.shared.reader.accepts_all[at as usize] {
                self.halt = Some(Halt::End(number));
            }
            let mut walk = std::mem::take(&mut self.walk);
            let mut graph = Watched { part: self, is_moot };
            let found = walk.visit(&mut graph, number, |marks: Marks| marks & required == required, None);
            self.walk = walk;
            let suffix = match (found, self.halt.take()) {
                (Some(component), _) => self.cyclic(number, component),
                (None, None) => continue,
                (None, Some(Halt::End(end))) => self.open(number, end),
                (None, Some(Halt::Overflow)) => return Outcome::Overflow,
                (None, Some(Halt::Moot)) => return Outcome::Moot,
                (None, Some(Halt::Stop(stop))) => return Outcome::Stopped(stop),
            };
            return suffix.map_or_else(Outcome::Stopped, Outcome::Violated);
        }
        Outcome::Clean
    }

    /// The run from a pair into a component and around there.
    fn cyclic(&mut self, start: u32, component: Component) -> Result<Suffix, Stop> {
        self.frozen = true;
        let local = Local::new(self, component.nodes);
        let accepting = Accepting { local, required: self.shared.reader.required, enabled: Vec::new() };
        let (nodes, back) = shortest_in(self, [start], &[accepting], |part, n| part.pairs[n as usize].0);
        let seeds = nodes.iter().map(|&(state, _)| self.region.seed(state)).collect::<Result<_, Stop>>()?;
        Ok(Suffix { at: self.pairs[start as usize].1, seeds, back: Some(back) })
    }

    /// The run from a pair to one from which everything is accepted.
    fn open(&mut self, start: u32, end: u32) -> Result<Suffix, Stop> {
        self.frozen = true;
        let (path, _) = shortest_path(self, [start], |_, number| number == end)
            .expect("the walk came there by expanded states");
        let states: Vec<State> =
            path.iter().map(|&(n, _)| n).chain([end]).map(|n| self.pairs[n as usize].0).collect();
        let seeds = states.iter().map(|&state| self.region.seed(state)).collect::<Result<_, Stop>>()?;
        Ok(Suffix { at: self.pairs[start as usize].1, seeds, back: None })
    }

    fn number(&mut self, state: State, at: u32) -> u32 {
        let fresh = self.pairs.len() as u32;
        let number = self.numbers.get_or_insert(state, at, fresh);
        if number == fresh {
            self.pairs.push((state, at));
        }
        number
    }

    /// Expands a state as far as the automaton needs it.
    fn expand(&mut self, state: State, at: u32, is_moot: &dyn Fn() -> bool) -> Result<(), Halt> {
        let index = state as usize;
        if index >= self.states.len() {
            self.states.resize((index + 1).max(self.states.len() * 3 / 2), (0, NEW));
        }
        if self.states[index].1 != NEW {
            return Ok(());
        }
        if self.expanded.is_multiple_of(LOOK) {
            self.look(is_moot)?;
        }
        if self.bytes() > self.share || self.pairs.len() >= (VERIFIED - 1) as usize {
            return Err(Halt::Overflow);
        }
        self.expanded += 1;
        let props = self.region.props(state)?;
        self.states[index].0 = props;
        if !self.shared.reader.reads(at, props) {
            return Ok(());
        }
        self.transitions.clear();
        self.region.successors(state, &mut self.transitions)?;
        let start = self.targets.len();
        if self.transitions.is_empty() {
            self.targets.push(state);
        }
        for &(_, target) in &self.transitions {
            let own = &self.targets[start..];
            if own.len() > 32 || !own.contains(&target) {
                self.targets.push(target);
            }
        }
        let length = self.targets.len() - start;
        if length >> LENGTH_BITS != 0 {
            let text = format!("a state has more than {} successors", 1 << LENGTH_BITS);
            return Err(Halt::Stop(Stop::Failed(text)));
        }
        self.states[index].1 = (start as u64) << LENGTH_BITS | length as u64;
        Ok(())
    }

    fn look(&mut self, is_moot: &dyn Fn() -> bool) -> Result<(), Halt> {
        let Shared { meter, limits, budget, .. } = self.shared;
        meter.add(std::mem::take(&mut self.expanded), std::mem::take(&mut self.hits));
        limits.check()?;
        limits.check_states(meter.progress().states as usize)?;
        if is_moot() {
            return Err(Halt::Moot);
        }
        if budget.is_exhausted() {
            return Err(Halt::Stop(Stop::Interrupted(Interrupt::Memory)));
        }
        self.share = budget.share();
        Ok(())
    }

    fn next(&mut self, number: u32, cursor: &mut (u32, u32)) -> Option<Arc> {
        let (state, at) = self.pairs[number as usize];
        let &(props, span) = self.states.get(state as usize)?;
        if span == NEW {
            return None;
        }
        let (start, length) = ((span >> LENGTH_BITS) as usize, (span & ((1 << LENGTH_BITS) - 1)) as u32);
        let reader = self.shared.reader;
        loop {
            let edge = reader.automaton.edges[at as usize].get(cursor.0 as usize)?;
            if !edge.label.allows(props) || cursor.1 == length {
                *cursor = (cursor.0 + 1, 0);
                continue;
            }
            let place = cursor.1;
            cursor.1 += 1;
            let target = self.targets[start + place as usize];
            let fresh = self.pairs.len() as u32;
            let to = self.number(target, edge.to);
            if to == fresh && !self.frozen && self.is_verified(target, edge.to) {
                self.pairs[to as usize].1 |= VERIFIED;
                self.closed += 1;
                self.hits += 1;
            }
            if self.pairs[to as usize].1 & VERIFIED == 0 {
                return Some(Arc { to, marks: Marks::from(edge.marks), at: place });
            }
        }
    }

    fn is_verified(&mut self, state: State, at: u32) -> bool {
        self.region.seed(state).is_ok_and(|seed| self.shared.cache.is_verified(seed, at))
    }
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Self {
        Halt::Stop(stop)
    }
}

/// What has been explored.
impl<R: Region> Graph for Part<'_, R> {
    type Cursor = (u32, u32);

    fn arc(&mut self, node: u32, cursor: &mut (u32, u32)) -> Option<Arc> {
        self.next(node, cursor)
    }
}

/// The part as a graph that grows while it is walked.
struct Watched<'p, 'a, R> {
    part: &'p mut Part<'a, R>,
    is_moot: &'p dyn Fn() -> bool,
}

impl<R: Region> Graph for Watched<'_, '_, R> {
    type Cursor = Option<(u32, u32)>;

    fn arc(&mut self, node: u32, cursor: &mut Self::Cursor) -> Option<Arc> {
        let part = &mut *self.part;
        if part.halt.is_some() {
            return None;
        }
        let (state, at) = part.pairs[node as usize];
        if cursor.is_none()
            && let Err(halt) = part.expand(state, at, self.is_moot)
        {
            part.halt = Some(halt);
            return None;
        }
        let arc = part.next(node, cursor.get_or_insert_default())?;
        if part.shared.reader.accepts_all[part.pairs[arc.to as usize].1 as usize] {
            part.halt = Some(Halt::End(arc.to));
        }
        Some(arc)
    }

    /// Everything that these pairs reach has been searched.
    fn close(&mut self, nodes: &[u32]) {
        let part = &mut *self.part;
        if part.halt.is_some() {
            return;
        }
        part.closed += nodes.len();
        for &node in nodes {
            let (state, at) = part.pairs[node as usize];
            if let Ok(seed) = part.region.seed(state) {
                part.shared.cache.insert(seed, at);
            }
        }
    }
}
