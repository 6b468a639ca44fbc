//! Which word of a state's vector stands next to the root of its tree.
//!
//! In a balanced tree a word that nearly each state has for itself, like a queue in a soup of small
//! components, makes all nodes above it new: three or four for each state. As a child of the root it
//! makes none, and the tree of all other words is shared by many states. Whether there is such a word
//! is found out from the first states.

use super::graft::Graft;
use super::pairs::TooMany;
use super::shape::{Shape, Shapes};
use super::store::{Spares, StateId, Store};
use super::tuples::mix;
use super::vector;
use crate::term::Symbols;

/// See the head of this file. Vectors of other lengths have the word at the same distance from the start
/// or from the end, whichever is nearer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Layout(Option<Single>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Single {
    FromStart(usize),
    FromEnd(usize),
}

/// It takes so many states to choose one; few in tests, so that they get there.
pub const STATES_MIN: u32 = if cfg!(debug_assertions) { 1 << 5 } else { 1 << 11 };
/// Who explores some for that alone explores so many.
pub const SCOUTED: u32 = STATES_MIN / 4;
/// The shorter vectors have all words in a few pairs anyway.
const LEN_MIN: usize = 5;

impl Layout {
    /// The place of the word next to the root in vectors of some length.
    pub fn single(self, len: usize) -> Option<usize> {
        let place = match self.0? {
            Single::FromStart(place) => place,
            Single::FromEnd(place) => len.checked_sub(place)?,
        };
        (len >= LEN_MIN && (1..len).contains(&place)).then_some(place)
    }

    /// Is there one?
    #[inline]
    pub fn has_single(self) -> bool {
        self.0.is_some()
    }

    /// The best one for states like the first ones of a store; the last of these are looked at.
    pub fn of(store: &Store) -> Layout {
        let mut shapes = Shapes::default();
        let first = store.len().min(STATES_MIN);
        let states = first.saturating_sub(SCOUTED)..first;
        let shape_of = |shapes: &mut Shapes, state: u32| {
            shapes.of_word(store, vector::start(store, store.root(StateId(state))).0)
        };
        // The most frequent length counts.
        let mut lengths: Vec<usize> = states
            .clone()
            .map(|state| {
                let shape = shape_of(&mut shapes, state);
                shapes.get(shape).len
            })
            .collect();
        let all = lengths.clone();
        lengths.sort_unstable();
        let longest = lengths.chunk_by(|a, b| a == b).max_by_key(|same| same.len());
        let Some(len) = longest.map(|same| same[0]).filter(|&len| len >= LEN_MIN) else {
            return Layout::default();
        };
        // What stands in the two halves of vectors, in whole ones, and at each place.
        let mut halves: [Vec<u64>; 2] = Default::default();
        let (mut wholes, mut marks) = (Vec::new(), Vec::with_capacity(states.len() * len));
        for (state, _) in states.zip(all).filter(|&(_, own)| own == len) {
            let shape = shape_of(&mut shapes, state);
            let Shape { plan, .. } = shapes.get(shape);
            let words = plan.unfold(store, store.root(StateId(state)), len);
            let start = marks.len();
            marks.extend(words.iter().enumerate().map(|(i, &word)| mix(i, word)));
            let sum = |marks: &[u64]| marks.iter().fold(0u64, |sum, mark| sum.wrapping_add(*mark));
            let (left, right) = marks[start..].split_at(len.div_ceil(2));
            let sums = [sum(left), sum(right)];
            wholes.push(sums[0].wrapping_add(sums[1]));
            halves.iter_mut().zip(sums).for_each(|(half, sum)| half.push(sum));
        }
        let mut counter = Counter::new(wholes.len());
        let balanced: usize = halves.iter().map(|half| counter.different(half.iter().copied())).sum();
        // Vectors without one of their words.
        let mut without = |i: usize| {
            let own = marks[i..].iter().step_by(len);
            counter.different(wholes.iter().zip(own).map(|(whole, mark)| whole.wrapping_sub(*mark)))
        };
        let (single, fewest) =
            (1..len).map(|i| (i, without(i))).min_by_key(|&(_, count)| count).expect("there are words");
        Layout((fewest * 2 < balanced).then_some(if single <= len / 2 {
            Single::FromStart(single)
        } else {
            Single::FromEnd(len - single)
        }))
    }
}

/// Counts how many of some values are different.
struct Counter(Vec<u64>);

impl Counter {
    /// For at most so many values.
    fn new(max: usize) -> Counter {
        Counter(vec![0; (2 * max + 1).next_power_of_two()])
    }

    /// The values' low bits must be as good as random. (0 counts as 1.)
    fn different(&mut self, values: impl Iterator<Item = u64>) -> usize {
        let (table, mut count) = (&mut self.0, 0);
        table.fill(0);
        for value in values.map(|value| value.max(1)) {
            let mut at = value as usize % table.len();
            while table[at] != 0 && table[at] != value {
                at = (at + 1) % table.len();
            }
            count += usize::from(table[at] == 0);
            table[at] = value;
        }
        count
    }
}

impl Store {
    /// A store with the same states and the best layout for them, if it is another.
    pub fn rearranged(&self, sy: &Symbols) -> Result<Option<Store>, TooMany> {
        let layout = Layout::of(self);
        if layout == self.layout {
            return Ok(None);
        }
        let mut store = Store::with_layout(layout);
        let (mut graft, mut spares) = (Graft::default(), Spares::default());
        for state in (0..self.len()).map(StateId) {
            loop {
                let copied = graft
                    .copy(self, &store, sy, self.root(state).into())
                    .and_then(|root| store.put_state(&mut spares, (root.0, root.1), self.parent(state)));
                match copied {
                    Ok(inserted) => break debug_assert!(inserted.number == state && inserted.is_new),
                    Err(_) => store.grow()?,
                }
            }
        }
        Ok(Some(store))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_values_are_counted() {
        let mut counter = Counter::new(1000);
        for max in [1, 7, 300, 1000] {
            let values = (0..1000u64).map(|i| mix(0, (i % max) as u32));
            assert_eq!(counter.different(values), max as usize);
        }
        assert_eq!(Counter::new(0).different(std::iter::empty()), 0);
    }
}
