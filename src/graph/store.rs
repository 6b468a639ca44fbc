//! The states found so far, compressed without loss, shared by all threads.
//!
//! A state is a vector of words (see `codec.rs`). The vector is folded to a balanced binary tree
//! of pairs; its inner nodes are in one table ([`Store::put_part`]), shared by all states and by
//! the terms inside them, and its root pair in another one, where its place is the state's
//! number (Laarman, van de Pol, Weber: Parallel recursive state compression for free). So a
//! state that differs from a known one in few places costs little more than its root: 8 bytes,
//! about 6 in the index, and 4 for the parent. The tree may depend on the states ([`Layout`]).
//!
//! Tables do not grow under the hands of threads: operations say [`Full`], and then somebody who
//! has the store for himself calls [`Store::grow`] and the operation is tried again.

use super::layout::Layout;
use super::level::Renumbering;
use super::pairs::{Full, HOLE, Pairs, Spare, TooMany, hash, join};
use super::segments::Segments;
use super::sync::{AtomicU32, AtomicU64, Ordering};
use crate::base::share_out;

/// The number of a state; the initial one is 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StateId(pub u32);

impl StateId {
    /// The parent of the initial state.
    pub const NONE: StateId = StateId(u32::MAX);
}

/// The answer to an insertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inserted {
    /// Final, except in a keyed level, where it is provisional until the level ends.
    pub number: StateId,
    pub is_new: bool,
}

/// References to parts have 30 bits, and the last one is not used.
const PARTS_MAX: u32 = (1 << 30) - 2;
const STATES_MAX: u32 = u32::MAX - 1;

/// Tables of so many pairs get their new index from all threads.
const PARALLEL_MIN: u32 = 1 << 15;

/// See the head of this file.
pub struct Store {
    /// How the vectors of states are folded.
    pub(super) layout: Layout,
    parts: Pairs,
    pub(super) states: Pairs,
    parents: Segments<AtomicU32>,
    /// In a keyed level: the complement of the least key of each new state, 0 if none is known.
    pub(super) keys: Segments<AtomicU64>,
    /// In a keyed level: the first number that is provisional.
    pub(super) level: Option<u32>,
    /// How many keyed levels have ended.
    pub(super) epoch: u32,
    /// The length of the longest keyed level.
    pub(super) keys_max: u32,
    pub(super) renumbering: Renumbering,
}

/// What a thread holds between operations: numbers that it took and did not use, and the parts
/// that it lately found.
#[derive(Debug)]
pub struct Spares {
    parts: Spare,
    states: Spare,
    epoch: u32,
    /// A pair and its number, at a place that its hash says.
    recent: Box<[(u64, u32); RECENT]>,
}

/// Few enough to stay in the cache next to the core.
const RECENT: usize = 1 << 12;

impl Spares {
    /// For one of several threads at work.
    pub fn of_many() -> Spares {
        Spares { parts: Spare::of_many(), states: Spare::of_many(), ..Spares::default() }
    }

    /// For another store.
    pub fn renew(&mut self) {
        self.parts.forget();
        self.states.forget();
        self.epoch = 0;
        self.recent.fill((HOLE, 0));
    }
}

impl Default for Spares {
    fn default() -> Spares {
        // The pair that marks holes does have the number 0.
        let recent = vec![(HOLE, 0); RECENT].into_boxed_slice().try_into().expect("as long");
        Spares { parts: Spare::default(), states: Spare::default(), epoch: 0, recent }
    }
}

/// Where the memory is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usage {
    pub states: u32,
    pub parts: u32,
    /// Bytes of root pairs and their index.
    pub state_bytes: usize,
    /// Bytes of parts and their index.
    pub part_bytes: usize,
    pub parent_bytes: usize,
    /// Bytes of the keys of the largest keyed level so far, and of room for its end.
    pub key_bytes: usize,
}

impl Usage {
    pub fn bytes(&self) -> usize {
        self.state_bytes + self.part_bytes + self.parent_bytes + self.key_bytes
    }
}

impl Store {
    pub fn new() -> Store {
        Store::with_layout(Layout::default())
    }

    pub fn with_layout(layout: Layout) -> Store {
        let mut store = Store {
            layout,
            parts: Pairs::new(PARTS_MAX),
            states: Pairs::new(STATES_MAX),
            parents: Segments::new(),
            keys: Segments::new(),
            level: None,
            epoch: 0,
            keys_max: 0,
            renumbering: Renumbering::default(),
        };
        // Number 0 is no node, so that 0 is no reference; its pair is the one that marks holes.
        let first = store.parts.find_or_put(&mut Spare::default(), HOLE as u32, (HOLE >> 32) as u32);
        debug_assert!(first == Ok((0, true)));
        store.reserve();
        store
    }

    /// How many states there are.
    #[inline]
    pub fn len(&self) -> u32 {
        self.states.count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The state from which a state was first reached; [`StateId::NONE`] for the initial one.
    pub fn parent(&self, state: StateId) -> StateId {
        StateId(self.parents.get(state.0).load(Ordering::Relaxed).wrapping_sub(1))
    }

    pub(super) fn set_parent(&self, state: u32, parent: u32) {
        // As zero, no parent at all takes no memory where nobody asks for parents.
        if parent != StateId::NONE.0 {
            self.parents.get(state).store(parent + 1, Ordering::Relaxed);
        }
    }

    /// The root pair of a state.
    #[inline]
    pub fn root(&self, state: StateId) -> (u32, u32) {
        self.states.get(state.0)
    }

    #[inline(always)]
    pub fn part(&self, number: u32) -> (u32, u32) {
        self.parts.get(number)
    }

    /// The number of a part, which is new or known.
    #[inline(always)]
    pub fn put_part(&self, spares: &mut Spares, left: u32, right: u32) -> Result<u32, Full> {
        let pair = join(left, right);
        let hash = hash(pair);
        let recent = &spares.recent[(hash >> 32) as usize % RECENT];
        if recent.0 == pair { Ok(recent.1) } else { self.put_other_part(spares, pair, hash) }
    }

    /// The same for a part that was not found lately.
    #[inline(never)]
    fn put_other_part(&self, spares: &mut Spares, pair: u64, hash: u64) -> Result<u32, Full> {
        let number = self.parts.find_or_put_hashed(&mut spares.parts, pair, hash)?.0;
        spares.recent[(hash >> 32) as usize % RECENT] = (pair, number);
        Ok(number)
    }

    /// Asks for parts of the states after one, which will probably be decoded next: the upper
    /// ones of a state a little further on, then those below them.
    #[inline]
    pub fn prefetch_next(&self, state: StateId) {
        if u64::from(state.0) + 4 >= u64::from(self.len()) {
            return;
        }
        // A number that somebody took but has not used yet may have anything as its pair.
        let is_part = |word: u32| word & 3 == 3 && word >> 2 < self.parts.count();
        let prefetch = |(left, right): (u32, u32)| {
            for word in [left, right] {
                if is_part(word) {
                    self.parts.prefetch_number(word >> 2);
                }
            }
        };
        prefetch(self.states.get(state.0 + 4));
        let (left, right) = self.states.get(state.0 + 2);
        for word in [left, right] {
            if is_part(word) {
                prefetch(self.parts.get(word >> 2));
            }
        }
    }

    /// The word next to the root of a state a little further on, if such words are most of its identity.
    #[inline]
    pub fn single_ahead(&self, state: StateId) -> Option<u32> {
        let ahead = u64::from(state.0) + 3;
        (self.layout.has_single() && ahead < u64::from(self.len())).then(|| self.states.get(ahead as u32).1)
    }

    /// Asks for the memory where a state will be looked for.
    #[inline]
    pub fn prefetch_state(&self, (left, right): (u32, u32)) {
        self.states.prefetch(left, right);
    }

    /// Asks for the pair that will be compared, once that memory is there.
    #[inline]
    pub fn prefetch_root(&self, (left, right): (u32, u32)) {
        self.states.prefetch_entry(left, right);
    }

    /// Finds or puts a state; its parent is noted if it is new. Numbers are given in the order of
    /// the calls, so this is for one thread at a time.
    #[inline]
    pub fn put_state(
        &self,
        spares: &mut Spares,
        (left, right): (u32, u32),
        parent: StateId,
    ) -> Result<Inserted, Full> {
        self.refresh(spares);
        let (number, is_new) = self.states.find_or_put(&mut spares.states, left, right)?;
        if is_new {
            self.set_parent(number, parent.0);
        }
        Ok(Inserted { number: StateId(number), is_new })
    }

    /// Finds or puts a state in a keyed level (see `level.rs`).
    #[inline]
    pub fn put_state_keyed(
        &self,
        spares: &mut Spares,
        (left, right): (u32, u32),
        key: u64,
    ) -> Result<Inserted, Full> {
        let first = self.level.expect("a level has begun");
        self.refresh(spares);
        let (number, is_new) = self.states.find_or_put(&mut spares.states, left, right)?;
        if number >= first {
            let least = self.keys.get(number - first);
            if least.load(Ordering::Relaxed) < !key {
                least.fetch_max(!key, Ordering::Relaxed);
            }
        }
        Ok(Inserted { number: StateId(number), is_new })
    }

    /// Forgets spare numbers from before the end of a keyed level: others have them now.
    #[inline(always)]
    fn refresh(&self, spares: &mut Spares) {
        if spares.epoch != self.epoch {
            spares.states.forget();
            spares.epoch = self.epoch;
        }
    }

    /// Must the store grow before anything more is put?
    pub fn is_full(&self) -> bool {
        self.parts.is_full() || self.states.is_full()
    }

    /// Enlarges what is full.
    pub fn grow(&mut self) -> Result<(), TooMany> {
        self.grow_on(1)
    }

    /// The same on so many threads.
    pub fn grow_on(&mut self, threads: usize) -> Result<(), TooMany> {
        for table in [&mut self.parts, &mut self.states] {
            if !table.is_full() {
                continue;
            }
            if threads == 1 || table.count() < PARALLEL_MIN {
                table.grow()?;
                continue;
            }
            table.enlarge()?;
            let table = &*table;
            share_out(threads, table.lines(), |lines| table.index(lines));
        }
        self.reserve();
        Ok(())
    }

    /// Bytes that [`Store::grow`] is going to take on top of those in use.
    pub fn growth(&self) -> usize {
        let parts = if self.parts.is_full() { self.parts.growth() } else { 0 };
        let states = if self.states.is_full() { self.states.growth() + self.len() as usize * 2 } else { 0 };
        parts + states
    }

    pub(super) fn reserve(&mut self) {
        let limit = self.states.limit();
        self.parents.reserve(limit.into());
        if let Some(first) = self.level {
            self.keys.reserve(u64::from(limit - first));
        }
    }

    pub fn usage(&self) -> Usage {
        Usage {
            states: self.states.count(),
            parts: self.parts.count(),
            state_bytes: self.states.bytes(),
            part_bytes: self.parts.bytes(),
            parent_bytes: self.states.count() as usize * 4,
            key_bytes: self.keys_bytes(),
        }
    }

    /// Bytes of parts and their index.
    pub fn part_bytes(&self) -> usize {
        self.parts.bytes()
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.usage().bytes()
    }
}

impl Default for Store {
    fn default() -> Store {
        Store::new()
    }
}
