//! Which word of a state's vector stands next to the root of its tree.
//!
//! In a balanced tree a word that nearly each state has for itself, like a queue in a soup of small
//! components, makes all nodes above it new: three or four for each state. As a child of the root it
//! makes none, and the tree of all other words is shared by many states. Whether there is such a word
//! is found out from the first states.

use rustc_hash::FxHashSet;

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

    /// The best one for states like the first ones of a store.
    pub fn of(store: &Store) -> Layout {
        let mut shapes = Shapes::default();
        let states = store.len().min(STATES_MIN);
        let shape_of = |shapes: &mut Shapes, state: u32| {
            shapes.of_word(store, vector::start(store, store.root(StateId(state))).0)
        };
        // The most frequent length counts.
        let mut lengths: Vec<usize> = (0..states)
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
        // Different halves of vectors, and vectors without one of their words.
        let mut halves: [FxHashSet<u64>; 2] = Default::default();
        let mut others: Vec<FxHashSet<u64>> = vec![FxHashSet::default(); len];
        for state in (0..states).filter(|&state| all[state as usize] == len) {
            let shape = shape_of(&mut shapes, state);
            let Shape { plan, .. } = shapes.get(shape);
            let words = plan.unfold(store, store.root(StateId(state)), len);
            let marks: Vec<u64> = words.iter().enumerate().map(|(i, &word)| mix(i, word)).collect();
            let sum = |marks: &[u64]| marks.iter().fold(0u64, |sum, mark| sum.wrapping_add(*mark));
            let (left, right) = marks.split_at(len.div_ceil(2));
            halves[0].insert(sum(left));
            halves[1].insert(sum(right));
            let whole = sum(&marks);
            others.iter_mut().zip(&marks).for_each(|(set, mark)| {
                set.insert(whole.wrapping_sub(*mark));
            });
        }
        let balanced = halves[0].len() + halves[1].len();
        let (single, fewest) =
            (1..len).map(|i| (i, others[i].len())).min_by_key(|&(_, count)| count).expect("there are words");
        Layout((fewest * 2 < balanced).then_some(if single <= len / 2 {
            Single::FromStart(single)
        } else {
            Single::FromEnd(len - single)
        }))
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
