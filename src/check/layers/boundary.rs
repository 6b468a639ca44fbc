//! What passes from one layer to the next: states, each with the automaton states that a run of
//! exactly so many steps can have there *before* the state is read.
//!
//! A run violates the formula exactly if its suffix after any number of steps is accepted from the
//! pair reached there, so these pairs are all that the next layer needs. Depth counts steps, not
//! distance: a state that was seen at a smaller depth must not be dropped, or runs that stay near
//! the start for ever would be lost.

use super::reader::Reader;
use crate::graph::{Seed, Sprout, Stop};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

/// Where the automaton is, and from which pair of the boundary before it got there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    pub at: u32,
    /// A position among all pairs of the boundary before.
    pub origin: u32,
}

/// States at one depth with their automaton states. They are sprouts while runs are followed, and
/// seeds where a layer ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Level<S = Seed> {
    pub seeds: Vec<S>,
    /// Where the entries of each state end.
    pub ends: Vec<u32>,
    pub entries: Vec<Entry>,
}

impl<S> Default for Level<S> {
    fn default() -> Self {
        Level { seeds: Vec::new(), ends: Vec::new(), entries: Vec::new() }
    }
}

impl<S: Copy> Level<S> {
    /// The same with other names for the states.
    pub fn map<T>(&self, names: impl FnMut(S) -> Result<T, Stop>) -> Result<Level<T>, Stop> {
        let seeds = self.seeds.iter().copied().map(names).collect::<Result<_, Stop>>()?;
        Ok(Level { seeds, ends: self.ends.clone(), entries: self.entries.clone() })
    }

    /// One state. Each entry is its own origin.
    pub fn single(seed: S, ats: impl IntoIterator<Item = u32>) -> Self {
        let entries: Vec<Entry> = (0..).zip(ats).map(|(origin, at)| Entry { at, origin }).collect();
        Level { seeds: vec![seed], ends: vec![entries.len() as u32], entries }
    }

    /// How many states.
    pub fn len(&self) -> usize {
        self.seeds.len()
    }

    pub fn is_empty(&self) -> bool {
        self.seeds.is_empty()
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        12 * self.seeds.len() + 8 * self.entries.len()
    }

    /// Where the entries of a state are.
    pub fn range(&self, state: usize) -> Range<usize> {
        let start = if state == 0 { 0 } else { self.ends[state - 1] };
        start as usize..self.ends[state] as usize
    }

    /// The entries of a state.
    pub fn entries(&self, state: usize) -> &[Entry] {
        &self.entries[self.range(state)]
    }

    /// The state of a pair.
    pub fn state_of(&self, pair: usize) -> usize {
        self.ends.partition_point(|&end| end as usize <= pair)
    }

    /// One state of the level, or all, each pair its own origin.
    pub fn restarted(&self, state: Option<usize>) -> Level<S> {
        self.piece(state.map_or(0..self.len(), |state| state..state + 1))
    }

    /// Some states of the level, each pair its own origin.
    pub fn piece(&self, states: Range<usize>) -> Level<S> {
        let start = |state: usize| if state == 0 { 0 } else { self.ends[state - 1] as usize };
        let pairs = start(states.start)..start(states.end);
        let own = |pair: usize| Entry { origin: pair as u32, ..self.entries[pair] };
        let first = pairs.start as u32;
        Level {
            seeds: self.seeds[states.clone()].to_vec(),
            ends: self.ends[states].iter().map(|end| end - first).collect(),
            entries: pairs.map(own).collect(),
        }
    }
}

/// A level where one layer ends and the next begins.
#[derive(Debug)]
pub struct Boundary {
    pub level: Level,
    /// Steps from the initial state.
    pub depth: u32,
    /// The boundary before this one, where the entries' origins are.
    pub before: Option<Arc<Boundary>>,
}

impl Boundary {
    /// Steps from the boundary before.
    pub fn steps(&self) -> u32 {
        self.depth - self.before.as_ref().map_or(0, |before| before.depth)
    }
}

/// A level that is being put together; states and entries keep the order in which they came.
#[derive(Debug, Default)]
pub struct Gather {
    numbers: FxHashMap<Sprout, u32>,
    seeds: Vec<Sprout>,
    /// The first and last of a state's entries in `cells`.
    chains: Vec<(u32, u32)>,
    /// Entries, each with the next one of the same state.
    cells: Vec<(Entry, u32)>,
}

const NONE: u32 = u32::MAX;

impl Gather {
    /// Adds a pair unless it is there.
    pub fn add(&mut self, seed: Sprout, entry: Entry) {
        let fresh = self.seeds.len() as u32;
        let number = *self.numbers.entry(seed).or_insert(fresh) as usize;
        let cell = self.cells.len() as u32;
        if number == self.seeds.len() {
            self.seeds.push(seed);
            self.chains.push((cell, cell));
        } else {
            let mut place = self.chains[number].0;
            while place != NONE {
                let (known, next) = self.cells[place as usize];
                if known.at == entry.at {
                    return;
                }
                place = next;
            }
            let last = std::mem::replace(&mut self.chains[number].1, cell);
            self.cells[last as usize].1 = cell;
        }
        self.cells.push((entry, NONE));
    }

    /// How many states.
    pub fn len(&self) -> usize {
        self.seeds.len()
    }

    /// The place of a state in the level.
    pub fn place(&self, seed: Sprout) -> Option<usize> {
        self.numbers.get(&seed).map(|&number| number as usize)
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        18 * self.numbers.capacity() + 16 * self.seeds.capacity() + 12 * self.cells.capacity()
    }

    /// The level. With a reader, pairs that others make superfluous are dropped.
    pub fn finish(self, reader: Option<&Reader>) -> Level<Sprout> {
        let mut level =
            Level { ends: Vec::with_capacity(self.seeds.len()), seeds: self.seeds, entries: Vec::new() };
        let mut own = Vec::new();
        for (first, _) in self.chains {
            let mut place = first;
            while place != NONE {
                let (entry, next) = self.cells[place as usize];
                own.push(entry);
                place = next;
            }
            if let Some(reader) = reader {
                reader.thin(&mut own);
            }
            level.entries.append(&mut own);
            level.ends.push(level.entries.len() as u32);
        }
        level
    }
}
