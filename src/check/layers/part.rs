//! The search of sub-state spaces by one thread: does an accepted run start from a pair?
//!
//! The product of states and automaton is walked depth-first. Only pairs of components that are still
//! open are remembered here, so this takes little memory unless components are large. A component that
//! closes without an accepted run goes to the table of verified pairs, which all threads share and
//! which is the only memory of what was searched; a sub-state space that is too large for the table
//! would be searched again and again, so it is given up.

use super::cache::{Cache, Group, Table};
use super::crew::Budget;
use super::meter::Meter;
use super::reader::Reader;
use super::turn::Turn;
use crate::base::Interrupt;
use crate::check::Limits;
use crate::check::emptiness::{Accepting, Local, fair_parts};
use crate::check::lasso::{shortest_in, shortest_path};
use crate::check::scc::{Arc, Graph, Marks, Walk};
use crate::graph::{Region, RuleId, Seed, Sprout, Stop};
use hashbrown::HashTable;
use rustc_hash::FxHashMap;
use std::sync::RwLockReadGuard;

/// What all threads share during the search.
#[derive(Clone, Copy)]
pub struct Shared<'a> {
    pub reader: &'a Reader,
    pub cache: &'a Cache,
    pub meter: &'a Meter<'a>,
    pub budget: &'a Budget<'a>,
    pub limits: &'a Limits,
    pub turn: &'a Turn,
}

/// The end of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// No accepted run starts there.
    Clean,
    Violated(Suffix),
    /// It takes too much memory, even alone.
    Overflow,
    /// There is no memory left for anybody, or others need it.
    Exhausted,
    /// The caller lost interest.
    Moot,
    Stopped(Stop),
}

/// What the caller thinks of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interest {
    Search,
    Moot,
    /// Everything is to be forgotten.
    GiveUp,
}

/// An accepted run from a pair on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suffix {
    /// The automaton state at its start.
    pub at: u32,
    pub seeds: Vec<Seed>,
    /// By which rule each state is left, if that is known and matters.
    pub rules: Vec<Option<RuleId>>,
    /// Where it goes on after its end; without, any way to go on will do.
    pub back: Option<usize>,
}

impl Suffix {
    /// A state from which everything is accepted.
    pub fn end(seed: Seed, at: u32) -> Self {
        Suffix { at, seeds: vec![seed], rules: vec![Some(RuleId::END)], back: None }
    }
}

/// Why a walk ends early.
enum Halt {
    Overflow,
    Exhausted,
    Moot,
    Stop(Stop),
    /// At a pair from which everything is accepted.
    End(u32),
    /// A component that contains an accepted run.
    Accepted(Vec<Accepting>),
}

/// One thread's region and what it knows of the product there.
pub struct Part<'a, R> {
    region: R,
    shared: Shared<'a>,
    /// Which of the threads this is. Each begins with other transitions of a state, or threads that meet
    /// would go on together and do everything twice.
    thread: usize,
    /// While it searches.
    table: Option<RwLockReadGuard<'a, Table>>,
    /// Open pairs by number; the numbers of closed ones are free.
    pairs: Vec<Pair>,
    free: Vec<u32>,
    numbers: HashTable<u32>,
    /// The transitions of the pairs on the way to the present one.
    transitions: Vec<(RuleId, Sprout)>,
    /// The fairness conditions that open pairs enable; empty if there are none.
    enabled: Vec<Marks>,
    walk: Walk,
    halt: Option<Halt>,
    /// What is verified with a pair of an automaton state, in a state with some propositions.
    covered: FxHashMap<(u32, u64), Box<[Group]>>,
    /// Pairs closed in this sub-state space.
    closed: usize,
    /// How many of them there were at the last look, how many looks there were since much was verified, and
    /// whether it has told others of that.
    closed_before: usize,
    barren: usize,
    is_known_barren: bool,
    /// Since others were last told.
    recent: Recent,
}

#[derive(Default)]
struct Recent {
    expanded: usize,
    transitions: usize,
    hits: usize,
    made: usize,
    filled: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    state: Sprout,
    at: u32,
    /// Where its transitions are, as long as it is on the way to the present one.
    start: u32,
    props: u64,
}

/// After so many expansions time, interest and what others use are looked at.
const LOOK: usize = 128;
/// After so many looks at which next to nothing had been verified, others may be in the same component.
const BARREN: usize = 32;
/// What an open pair takes, with its number and on the stacks of the walk.
const OPEN_BYTES: usize = 128;
/// What a closed one takes in the table.
const CLOSED_BYTES: usize = 11;
const COVERED_MAX: usize = 1 << 12;
/// Room for open pairs that is kept from one search to the next.
const PAIRS_KEPT: usize = 1 << 14;

impl<'a, R: Region> Part<'a, R> {
    pub fn new(region: R, shared: Shared<'a>, thread: usize) -> Self {
        Part {
            region,
            shared,
            thread,
            table: None,
            pairs: Vec::new(),
            free: Vec::new(),
            numbers: HashTable::new(),
            transitions: Vec::new(),
            enabled: Vec::new(),
            walk: Walk::default(),
            halt: None,
            covered: FxHashMap::default(),
            closed: 0,
            closed_before: 0,
            barren: 0,
            is_known_barren: false,
            recent: Recent::default(),
        }
    }

    /// The region, for other work between two searches.
    pub fn region(&mut self) -> &mut R {
        &mut self.region
    }

    fn clear(&mut self) {
        (self.pairs, self.free, self.numbers) = (Vec::new(), Vec::new(), HashTable::new());
        (self.transitions, self.enabled, self.walk) = (Vec::new(), Vec::new(), Walk::default());
        self.halt = None;
    }

    fn bytes(&self) -> usize {
        OPEN_BYTES * (self.pairs.len() - self.free.len()) + 16 * self.transitions.len()
    }

    /// Searches for an accepted run from the state with one of these automaton states. `interest`
    /// says whether anybody still cares.
    pub fn search(&mut self, seed: Seed, ats: &[u32], interest: &dyn Fn() -> Interest) -> Outcome {
        (self.closed, self.closed_before, self.barren) = (0, 0, 0);
        let outcome = match self.region.plant(seed) {
            Ok(state) => self.search_from(state, ats, interest),
            Err(stop) => self.stopped(stop),
        };
        self.tell();
        self.table = None;
        self.end_turn();
        if outcome != Outcome::Clean || self.pairs.len() > PAIRS_KEPT {
            self.clear();
        }
        outcome
    }

    fn stopped(&self, stop: Stop) -> Outcome {
        match stop {
            Stop::Interrupted(Interrupt::Memory) => Outcome::Exhausted,
            stop => Outcome::Stopped(stop),
        }
    }

    fn search_from(&mut self, state: Sprout, ats: &[u32], interest: &dyn Fn() -> Interest) -> Outcome {
        let Shared { reader, .. } = self.shared;
        // Strong fairness is decided when a component is complete.
        let is_wanted =
            |marks: Marks| marks & reader.required == reader.required && reader.fair.strong() == 0;
        for &at in ats {
            let Some(number) = self.number(state, at) else { continue };
            if reader.accepts_all[at as usize] {
                self.halt = Some(Halt::End(number));
            }
            let mut walk = std::mem::take(&mut self.walk);
            let found = walk.visit(&mut Watched { part: self, interest }, number, is_wanted, None);
            self.walk = walk;
            let found = match found {
                Ok(found) => found,
                Err(stop) => return self.stopped(stop),
            };
            let suffix = match (found, self.halt.take()) {
                (Some(component), _) => {
                    let mut known = Known::new(self);
                    let local = Local::new(&mut known, component.nodes);
                    let accepting = Accepting { local, required: reader.required, enabled: Vec::new() };
                    known.cyclic(number, &[accepting])
                }
                (None, None) => continue,
                (None, Some(Halt::Accepted(parts))) => Known::new(self).cyclic(number, &parts),
                (None, Some(Halt::End(end))) => Known::new(self).open(number, end),
                (None, Some(Halt::Overflow)) => return Outcome::Overflow,
                (None, Some(Halt::Exhausted)) => return Outcome::Exhausted,
                (None, Some(Halt::Moot)) => return Outcome::Moot,
                (None, Some(Halt::Stop(stop))) => return self.stopped(stop),
            };
            return suffix.map_or_else(Outcome::Stopped, Outcome::Violated);
        }
        Outcome::Clean
    }

    fn table(&mut self) -> &Table {
        self.table.get_or_insert_with(|| self.shared.cache.table())
    }

    fn find(&self, state: Sprout, at: u32) -> Option<u32> {
        let is_it = |&number: &u32| {
            let pair = &self.pairs[number as usize];
            pair.state == state && pair.at == at
        };
        self.numbers.find(hash(state, at), is_it).copied()
    }

    /// The number of a pair; none if it is verified.
    fn number(&mut self, state: Sprout, at: u32) -> Option<u32> {
        if let Some(number) = self.find(state, at) {
            return Some(number);
        }
        if self.table().is_verified(state, at) {
            self.recent.hits += 1;
            return None;
        }
        let pair = Pair { state, at, ..Pair::default() };
        let number = match self.free.pop() {
            Some(number) => {
                self.pairs[number as usize] = pair;
                number
            }
            None => {
                self.pairs.push(pair);
                self.pairs.len() as u32 - 1
            }
        };
        let Part { numbers, pairs, .. } = self;
        let rehash = |&number: &u32| hash(pairs[number as usize].state, pairs[number as usize].at);
        numbers.insert_unique(hash(state, at), number, rehash);
        Some(number)
    }

    /// Finds the transitions of a pair's state, as far as the automaton needs them.
    fn expand(&mut self, number: u32, interest: &dyn Fn() -> Interest) -> Result<(), Halt> {
        if self.recent.expanded.is_multiple_of(LOOK) {
            self.look(number, interest)?;
        }
        let own = self.bytes() + CLOSED_BYTES * self.closed;
        if self.shared.budget.part_max.is_some_and(|max| own > max) {
            return Err(Halt::Overflow);
        }
        self.recent.expanded += 1;
        let reader = self.shared.reader;
        let Pair { state, at, .. } = self.pairs[number as usize];
        let start = self.transitions.len();
        let reads = |props| reader.reads(at, props);
        let props = self.region.visit(state, &reads, &mut self.transitions)?;
        self.shared.meter.meet(props);
        self.recent.transitions += self.transitions.len() - start;
        if self.transitions.len() == start && reads(props) {
            self.transitions.push((RuleId::DEADLOCK, state));
        }
        if !reader.fair.is_none() {
            let rules = self.transitions[start..].iter().map(|&(rule, _)| rule);
            let enabled = reader.fair.enabled_by(rules);
            if self.enabled.len() <= number as usize {
                self.enabled.resize(self.pairs.len(), 0);
            }
            self.enabled[number as usize] = enabled;
        }
        self.table();
        let table = self.table.as_ref().expect("just taken");
        self.transitions[start..].iter().for_each(|&(_, target)| table.prefetch(target));
        let pair = &mut self.pairs[number as usize];
        (pair.props, pair.start) = (props, start as u32);
        Ok(())
    }

    /// Tells others what was done since the last time.
    fn tell(&mut self) {
        let Recent { expanded, transitions, hits, made, filled } = std::mem::take(&mut self.recent);
        self.shared.meter.add(expanded, transitions, hits);
        let room = || self.shared.budget.room().saturating_sub(self.bytes());
        if let Some(table) = &self.table
            && self.shared.cache.note(table, made, filled, room)
        {
            self.table = None;
            self.shared.cache.grow(self.shared.budget.threads);
            self.shared.budget.settle();
        }
    }

    fn look(&mut self, number: u32, interest: &dyn Fn() -> Interest) -> Result<(), Halt> {
        let Shared { meter, limits, budget, cache, turn, .. } = self.shared;
        self.tell();
        let mut is_waiting = self.is_to_wait(number);
        loop {
            limits.check()?;
            limits.check_states(meter.progress().states as usize)?;
            match interest() {
                Interest::Search => {}
                Interest::Moot => return Err(Halt::Moot),
                Interest::GiveUp => return Err(Halt::Exhausted),
            }
            if !is_waiting {
                break;
            }
            // Nobody waits for who waits.
            self.table = None;
            is_waiting = turn.wait(self.thread);
        }
        if budget.is_exhausted() {
            return Err(Halt::Exhausted);
        }
        if self.bytes() > budget.share() {
            // It may be others that leave too little.
            return Err(if budget.is_crowded() { Halt::Exhausted } else { Halt::Overflow });
        }
        // Up to three quarters the table forgets hardly anything of a search.
        let capacity = cache.capacity(self.table(), budget.room()) / 4 * 3;
        if self.closed > capacity / budget.threads || self.transitions.len() > u32::MAX as usize / 2 {
            return Err(Halt::Overflow);
        }
        Ok(())
    }

    /// Whether another thread, in the same component as this one at the pair, is to go on alone.
    fn is_to_wait(&mut self, number: u32) -> bool {
        let verified = self.closed - std::mem::replace(&mut self.closed_before, self.closed);
        if verified > LOOK / 8 {
            self.barren = 0;
            self.end_turn();
        }
        self.barren += 1;
        if self.barren <= BARREN || self.shared.budget.threads == 1 {
            return false;
        }
        self.is_known_barren = true;
        let Pair { state, at, .. } = self.pairs[number as usize];
        let is_open = |state, at| self.find(state, at).is_some();
        self.shared.turn.ask(self.thread, (state, at), is_open)
    }

    fn end_turn(&mut self) {
        if std::mem::take(&mut self.is_known_barren) {
            self.shared.turn.end(self.thread);
        }
    }

    /// The next arc of a pair that is expanded.
    fn next(&mut self, number: u32, cursor: &mut (u32, u32)) -> Option<Arc> {
        let reader = self.shared.reader;
        let Pair { at, start, props, .. } = self.pairs[number as usize];
        let edges = &reader.automaton.edges[at as usize];
        // Its transitions are the last ones as long as the walk is here.
        let count = self.transitions.len() - start as usize;
        let first = if self.thread == 0 { 0 } else { count * self.thread / self.shared.budget.threads };
        while (cursor.0 as usize) < count {
            let place = first + cursor.0 as usize;
            let place = if place < count { place } else { place - count };
            let (rule, target) = self.transitions[start as usize + place];
            while let Some(edge) = edges.get(cursor.1 as usize) {
                cursor.1 += 1;
                if edge.label.allows(props)
                    && let Some(to) = self.number(target, edge.to)
                {
                    let mut marks = Marks::from(edge.marks);
                    if !reader.fair.is_none() {
                        marks |= reader.fair.marks(rule, self.enabled[number as usize]);
                    }
                    return Some(Arc { to, marks, at: place as u32 });
                }
            }
            *cursor = (cursor.0 + 1, 0);
        }
        None
    }

    /// Everything that these pairs reach has been searched.
    fn verify(&mut self, nodes: &[u32]) {
        for some in nodes.chunks(LOOK) {
            self.record(some);
            // Whoever goes back a long way expands nothing, but the table must grow.
            if self.recent.made >= LOOK {
                self.tell();
            }
        }
        self.free.extend_from_slice(nodes);
        self.closed += nodes.len();
    }

    fn record(&mut self, nodes: &[u32]) {
        self.table();
        let reader = self.shared.reader;
        let Part { table, pairs, numbers, covered, recent, .. } = self;
        let table = table.as_ref().expect("just taken");
        for &node in nodes {
            let Pair { state, at, props, .. } = pairs[node as usize];
            if covered.len() > COVERED_MAX {
                covered.clear();
            }
            let groups = covered.entry((at, props)).or_insert_with(|| reader.covered(at, props).into());
            for &group in &**groups {
                recent.made += 1;
                recent.filled += usize::from(table.insert(state, group));
            }
            if let Ok(entry) = numbers.find_entry(hash(state, at), |&number| number == node) {
                entry.remove();
            }
        }
    }
}

impl<R> Drop for Part<'_, R> {
    fn drop(&mut self) {
        // Nobody waits for a thread that panics.
        self.shared.turn.end(self.thread);
    }
}

#[inline]
fn hash(state: Sprout, at: u32) -> u64 {
    let mixed = (state.0 ^ state.0 >> 32 ^ u64::from(at) << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ mixed >> 32
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Self {
        Halt::Stop(stop)
    }
}

/// The part as a graph that grows while it is walked.
struct Watched<'p, 'a, R> {
    part: &'p mut Part<'a, R>,
    interest: &'p dyn Fn() -> Interest,
}

impl<R: Region> Graph for Watched<'_, '_, R> {
    type Cursor = Option<(u32, u32)>;

    fn arc(&mut self, node: u32, cursor: &mut Self::Cursor) -> Option<Arc> {
        let part = &mut *self.part;
        if part.halt.is_some() {
            return None;
        }
        if cursor.is_none()
            && let Err(halt) = part.expand(node, self.interest)
        {
            part.halt = Some(halt);
            return None;
        }
        let Some(arc) = part.next(node, cursor.get_or_insert_default()) else {
            // The walk goes back.
            part.transitions.truncate(part.pairs[node as usize].start as usize);
            return None;
        };
        if part.shared.reader.accepts_all[part.pairs[arc.to as usize].at as usize] {
            part.halt = Some(Halt::End(arc.to));
        }
        Some(arc)
    }

    fn close(&mut self, nodes: &[u32], marks: Marks, is_cyclic: bool) -> bool {
        let part = &mut *self.part;
        if part.halt.is_some() {
            return false;
        }
        let Reader { fair, required, .. } = part.shared.reader;
        if is_cyclic && fair.strong() != 0 && marks & required == *required {
            match Known::new(part).fair_parts(nodes, marks) {
                Ok(parts) if parts.is_empty() => {}
                Ok(parts) => part.halt = Some(Halt::Accepted(parts)),
                Err(stop) => part.halt = Some(Halt::Stop(stop)),
            }
            if part.halt.is_some() {
                return false;
            }
        }
        part.verify(nodes);
        true
    }
}

/// The open pairs and the arcs between them, found once more.
struct Known<'p, 'a, R> {
    part: &'p mut Part<'a, R>,
    /// By number.
    states: FxHashMap<u32, (u64, Vec<(RuleId, Sprout)>)>,
    stop: Option<Stop>,
}

impl<'p, 'a, R: Region> Known<'p, 'a, R> {
    fn new(part: &'p mut Part<'a, R>) -> Self {
        Known { part, states: FxHashMap::default(), stop: None }
    }

    /// The accepting parts of a component under strong fairness.
    fn fair_parts(&mut self, nodes: &[u32], marks: Marks) -> Result<Vec<Accepting>, Stop> {
        let local = Local::new(self, nodes.to_vec());
        self.stop.take().map_or(Ok(()), Err)?;
        let Reader { fair, required, .. } = self.part.shared.reader;
        let enabled = |number: u32| self.part.enabled[number as usize] & fair.strong();
        fair_parts(local, marks, *required, fair.strong(), enabled)
    }

    /// The run from a pair into one of these and around there.
    fn cyclic(mut self, start: u32, parts: &[Accepting]) -> Result<Suffix, Stop> {
        self.stop.take().map_or(Ok(()), Err)?;
        let found = shortest_in(&mut self, [start], parts, |_, number| number);
        self.stop.take().map_or(Ok(()), Err)?;
        let (nodes, back) = found.expect("the walk came there");
        self.suffix(start, &nodes, Some(back))
    }

    /// The run from a pair to one from which everything is accepted.
    fn open(mut self, start: u32, end: u32) -> Result<Suffix, Stop> {
        let path = shortest_path(&mut self, [start], |_, number| number == end);
        self.stop.take().map_or(Ok(()), Err)?;
        let (mut path, _) = path.expect("the walk came there by open pairs");
        path.push((end, 0));
        self.suffix(start, &path, None)
    }

    /// Pairs, each with the place of the transition that leaves it, as a run.
    fn suffix(self, start: u32, nodes: &[(u32, u32)], back: Option<usize>) -> Result<Suffix, Stop> {
        let (mut seeds, mut rules) = (Vec::new(), Vec::new());
        for &(number, place) in nodes {
            seeds.push(self.part.region.seed(self.part.pairs[number as usize].state)?);
            let rule = self.states.get(&number).and_then(|(_, out)| out.get(place as usize));
            rules.push(Some(rule.map_or(RuleId::END, |&(rule, _)| rule)));
        }
        Ok(Suffix { at: self.part.pairs[start as usize].at, seeds, rules, back })
    }
}

impl<R: Region> Graph for Known<'_, '_, R> {
    type Cursor = (u32, u32);

    fn arc(&mut self, node: u32, cursor: &mut (u32, u32)) -> Option<Arc> {
        let Known { part, states, stop } = self;
        let reader = part.shared.reader;
        let Pair { state, at, .. } = part.pairs[node as usize];
        if stop.is_some() {
            return None;
        }
        let (props, out) = match states.entry(node) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(free) => {
                let mut out = Vec::new();
                match part.region.visit(state, &|props| reader.reads(at, props), &mut out) {
                    Ok(props) => {
                        if out.is_empty() && reader.reads(at, props) {
                            out.push((RuleId::DEADLOCK, state));
                        }
                        free.insert((props, out))
                    }
                    Err(error) => {
                        *stop = Some(error);
                        return None;
                    }
                }
            }
        };
        let edges = &reader.automaton.edges[at as usize];
        loop {
            let &(rule, target) = out.get(cursor.0 as usize)?;
            while let Some(edge) = edges.get(cursor.1 as usize) {
                cursor.1 += 1;
                if edge.label.allows(*props)
                    && let Some(to) = part.find(target, edge.to)
                {
                    let mut marks = Marks::from(edge.marks);
                    if !reader.fair.is_none() {
                        let enabled = reader.fair.enabled_by(out.iter().map(|&(rule, _)| rule));
                        marks |= reader.fair.marks(rule, enabled);
                    }
                    return Some(Arc { to, marks, at: cursor.0 });
                }
            }
            *cursor = (cursor.0 + 1, 0);
        }
    }
}
