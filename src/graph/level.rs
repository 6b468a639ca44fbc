//! The same numbers on many threads as on one.
//!
//! A breadth-first search by one thread numbers the states of a level in the order in which they
//! are first reached: by the number of the state they are reached from, then by the number of
//! the arc. On many threads a new state gets a provisional number, and beside it the least such
//! key by which anybody reached it. When all threads are done with the level, its new states are
//! sorted by their keys (first into a place for each parent) and get their final numbers, in place.

use rayon::prelude::*;
use std::ops::Range;

use super::store::Store;
use super::sync::Ordering;

/// By which arc of which state something is reached; earlier is less.
pub fn key(parent: u32, arc: u32) -> u64 {
    u64::from(parent) << 32 | u64::from(arc)
}

/// Below this many states a level is renumbered by one thread.
const PARALLEL_MIN: usize = 1 << 13;
/// The place of the state that comes so much later is asked for.
const AHEAD: usize = 16;

/// Room for the work at the end of a level, kept for the next one.
#[derive(Default)]
pub(super) struct Renumbering {
    /// Keys and provisional numbers, in their order, and by parent where its own end.
    order: Vec<(u64, u32)>,
    ends: Vec<u32>,
    /// By final number: where the state's slot is, and its root pair.
    places: Vec<(usize, (u32, u32))>,
}

impl Renumbering {
    fn bytes(&self) -> usize {
        (self.order.capacity() + self.places.capacity()) * 16 + self.ends.capacity() * 4
    }
}

/// Sorts keys, which have some parents, with what goes with them. Few have the same parent.
fn sort(
    keys: impl Iterator<Item = (u64, u32)> + Clone,
    parents: Range<u32>,
    order: &mut Vec<(u64, u32)>,
    ends: &mut Vec<u32>,
) {
    let of = |key: u64| ((key >> 32) as u32 - parents.start) as usize;
    ends.clear();
    ends.resize(parents.len(), 0);
    keys.clone().for_each(|(key, _)| ends[of(key)] += 1);
    // For now these are where those of each parent begin.
    let mut count = 0;
    for end in &mut *ends {
        count += std::mem::replace(end, count);
    }
    order.clear();
    order.resize(count as usize, (0, 0));
    for (key, number) in keys {
        let place = &mut ends[of(key)];
        order[*place as usize] = (key, number);
        *place += 1;
    }
    let mut start = 0;
    for &end in &*ends {
        let own = &mut order[start..end as usize];
        if own.len() > 1 {
            own.sort_unstable();
        }
        start = end as usize;
    }
}

impl Store {
    /// From now on new states are put with keys.
    pub fn begin_level(&mut self) {
        debug_assert!(self.level.is_none());
        self.level = Some(self.states.count());
        self.reserve();
    }

    /// Gives the states that were put since the beginning of the level, all from some parents, their final
    /// numbers and parents, with the help of the current thread pool if `threads` is more than one. Returns
    /// how many there are. (The store may have grown in between.)
    pub fn end_level(&mut self, threads: usize, parents: Range<u32>) -> u32 {
        let first = self.level.take().expect("a level has begun");
        let count = self.states.count();
        let Renumbering { mut order, mut ends, mut places } = std::mem::take(&mut self.renumbering);
        let store = &*self;
        let key = |number: u32| !store.keys.get(number - first).load(Ordering::Relaxed);
        // Numbers that nobody used, lost in a race, have no key.
        let keys = (first..count).map(|number| (key(number), number)).filter(|&(key, _)| key != u64::MAX);
        sort(keys, parents, &mut order, &mut ends);
        let is_parallel = threads > 1 && order.len() >= PARALLEL_MIN;
        // All places are looked up before any slot changes: in between, slots could be mistaken.
        let found = &order[..];
        let look = |i: usize| {
            if let Some(&(_, number)) = found.get(i + AHEAD) {
                store.states.prefetch_place(number);
            }
            let number = found[i].1;
            (store.states.place(number), store.states.get(number))
        };
        let write = |(i, &(place, pair)): (usize, &(usize, (u32, u32)))| {
            let number = first + i as u32;
            store.states.renumber(place, pair, number);
            store.set_parent(number, (found[i].0 >> 32) as u32);
        };
        let clear = |number: u32| store.keys.get(number - first).store(0, Ordering::Relaxed);
        if is_parallel {
            (0..found.len()).into_par_iter().map(look).collect_into_vec(&mut places);
            places.par_iter().enumerate().for_each(write);
            (first..count).into_par_iter().for_each(clear);
        } else {
            places.clear();
            places.extend((0..found.len()).map(look));
            places.iter().enumerate().for_each(write);
            (first..count).for_each(clear);
        }
        let new = order.len() as u32;
        self.renumbering = Renumbering { order, ends, places };
        self.states.cut(first + new);
        self.epoch += 1;
        self.keys_max = self.keys_max.max(count - first);
        new
    }

    pub(super) fn keys_bytes(&self) -> usize {
        self.keys_max as usize * 8 + self.renumbering.bytes()
    }
}
