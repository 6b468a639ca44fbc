//! Folding a vector of words to a balanced binary tree of pairs, and unfolding it again.
//!
//! The left half is never the shorter one, and the shape depends on the length only. So the two
//! first words always stand in one pair at the end of the left spine; they say how long the
//! vector is, since references to inner nodes (tag 3) cannot be mistaken for a first word.

use std::sync::Arc;

use super::pairs::Full;
use super::store::{Spares, Store};

/// A reference to an inner node.
#[inline(always)]
pub fn inner(number: u32) -> u32 {
    number << 2 | 3
}

#[inline(always)]
pub fn is_inner(word: u32) -> bool {
    word & 3 == 3
}

/// The root pair of a vector of at least two words.
pub fn fold(store: &Store, spares: &mut Spares, words: &[u32]) -> Result<(u32, u32), Full> {
    let (left, right) = words.split_at(words.len().div_ceil(2));
    Ok((fold_half(store, spares, left)?, fold_half(store, spares, right)?))
}

fn fold_half(store: &Store, spares: &mut Spares, words: &[u32]) -> Result<u32, Full> {
    match *words {
        [word] => Ok(word),
        [left, right] => store.put_part(spares, left, right).map(inner),
        _ => {
            let (left, right) = fold(store, spares, words)?;
            store.put_part(spares, left, right).map(inner)
        }
    }
}

/// The two first words of a vector.
#[inline]
pub fn start(store: &Store, root: (u32, u32)) -> (u32, u32) {
    let mut pair = root;
    while is_inner(pair.0) {
        pair = store.part(pair.0 >> 2);
    }
    pair
}

/// Appends the `len` words (at least two) of a vector.
pub fn unfold(store: &Store, (left, right): (u32, u32), len: usize, out: &mut Vec<u32>) {
    unfold_half(store, left, len.div_ceil(2), out);
    unfold_half(store, right, len / 2, out);
}

fn unfold_half(store: &Store, word: u32, len: usize, out: &mut Vec<u32>) {
    if len == 1 {
        out.push(word);
    } else {
        unfold(store, store.part(word >> 2), len, out);
    }
}

/// How a vector of some length is folded, as data.
pub struct Plan {
    /// Pairs of places, children first, the root last. Places below the length are words, the
    /// others inner nodes in this order.
    pub steps: Box<[(u32, u32)]>,
    /// For each word the steps on its way to the root, without the root, as a set of bits; empty
    /// if there are too many.
    pub paths: Box<[u64]>,
}

impl Plan {
    /// For at least two words. One of them, if it is said, is a child of the root, and the others are
    /// below the other one.
    pub fn new(len: usize, single: Option<usize>) -> Arc<Plan> {
        let mut steps = Vec::with_capacity(len - 1);
        let places: Vec<u32> = (0..len).filter(|&place| single != Some(place)).map(|i| i as u32).collect();
        let top = add_steps(&places, len, &mut steps);
        if let Some(single) = single {
            steps.push((top, single as u32));
        }
        let mut paths = Vec::new();
        if steps.len() <= 64 {
            // From the root down, which has no bit itself.
            paths = vec![0; len + steps.len()];
            for (i, &(left, right)) in steps.iter().enumerate().rev() {
                let is_root = i == steps.len() - 1;
                let path = paths[len + i] | if is_root { 0 } else { 1 << i };
                (paths[left as usize], paths[right as usize]) = (path, path);
            }
            paths.truncate(len);
        }
        Arc::new(Plan { steps: steps.into(), paths: paths.into() })
    }

    /// The root pair of a vector.
    pub fn fold(&self, store: &Store, spares: &mut Spares, words: &[u32]) -> Result<(u32, u32), Full> {
        let mut values = Vec::with_capacity(words.len() + self.steps.len());
        values.extend_from_slice(words);
        let (&(left, right), steps) = self.steps.split_last().expect("vectors have two words at least");
        for &(a, b) in steps {
            values.push(inner(store.put_part(spares, values[a as usize], values[b as usize])?));
        }
        Ok((values[left as usize], values[right as usize]))
    }

    /// The words of a vector, `len` of them.
    pub fn unfold(&self, store: &Store, root: (u32, u32), len: usize) -> Vec<u32> {
        let mut values = vec![0; len + self.steps.len()];
        let top = values.len() - 1;
        for (i, &(a, b)) in self.steps.iter().enumerate().rev() {
            let place = len + i;
            let (left, right) = if place == top { root } else { store.part(values[place] >> 2) };
            (values[a as usize], values[b as usize]) = (left, right);
        }
        values.truncate(len);
        values
    }
}

/// Adds the steps for some places of a vector of `words` words; returns the place of their top.
fn add_steps(places: &[u32], words: usize, steps: &mut Vec<(u32, u32)>) -> u32 {
    if let [only] = *places {
        return only;
    }
    let (left, right) = places.split_at(places.len().div_ceil(2));
    let pair = (add_steps(left, words, steps), add_steps(right, words, steps));
    steps.push(pair);
    (words + steps.len() - 1) as u32
}
