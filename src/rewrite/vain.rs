//! Where rules were tried in vain.
//!
//! Maude keeps equal subterms of all states once and marks those that no rule applies to; so
//! conditions that fail there count once in a whole search. [`Vain`] is what one machine remembers;
//! [`Tried`] is what all threads of a search have counted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashTable;
use rustc_hash::FxHashMap;

use crate::term::{Heap, Symbols, Term};

/// Subterms where conditional rules were tried in vain, on one machine's heap.
#[derive(Debug, Default)]
pub(super) struct Vain {
    pub terms: Vec<Term>,
    table: HashTable<u32>,
    /// In a search: where the rewrites are counted that this took.
    pub tried: Option<Arc<Tried>>,
}

/// So many are remembered.
const VAIN_MAX: usize = 1 << 16;

impl Vain {
    pub fn contains(&self, heap: &Heap, sy: &Symbols, term: Term) -> bool {
        let hash = heap.hash(sy, term);
        self.table.find(hash, |&i| heap.equal(sy, self.terms[i as usize], term)).is_some()
    }

    pub fn insert(&mut self, heap: &Heap, sy: &Symbols, term: Term) {
        if self.terms.len() < VAIN_MAX {
            let Vain { terms, table, .. } = self;
            terms.push(term);
            let rehash = |&i: &u32| heap.hash(sy, terms[i as usize]);
            table.insert_unique(heap.hash(sy, term), terms.len() as u32 - 1, rehash);
        }
    }
}

/// The rewrites made in vain in a search, each subterm once, whichever thread met it. Subterms are
/// known by a fingerprint: nothing but this number depends on it.
#[derive(Debug, Default)]
pub struct Tried(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    /// The level at which each was met first.
    known: FxHashMap<(u64, u64), u64>,
    level: u64,
    rewrites: u64,
    /// Those of them that are of this level.
    level_rewrites: u64,
    /// Is the level gone through again? Then what it met first is counted when it is met again.
    is_again: bool,
}

/// Of no level: counted for good.
const DONE: u64 = u64::MAX;
/// So many are known; beyond that some count more than once.
const KNOWN_MAX: usize = 1 << 22;

impl Tried {
    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rules were tried at a subterm in vain, which took some rewrites.
    pub(super) fn note(&self, heap: &Heap, sy: &Symbols, term: Term, rewrites: u64) {
        if rewrites == 0 {
            return;
        }
        let key = (heap.hash(sy, term), heap.hash_from(sy, term, 0x9E37_79B9_7F4A_7C15));
        let mut counted = self.counted();
        let counted = &mut *counted;
        match counted.known.get_mut(&key) {
            Some(level) if counted.is_again && *level == counted.level => *level = DONE,
            Some(_) => return,
            None => {
                if counted.known.len() < KNOWN_MAX {
                    counted.known.insert(key, if counted.is_again { DONE } else { counted.level });
                }
                counted.level_rewrites += rewrites;
            }
        }
        counted.rewrites = counted.rewrites.wrapping_add(rewrites);
    }

    /// The next level begins.
    pub fn begin_level(&self) {
        let mut counted = self.counted();
        counted.level += 1;
        (counted.level_rewrites, counted.is_again) = (0, false);
    }

    /// The same level once more, by one thread.
    pub fn begin_again(&self) {
        let mut counted = self.counted();
        counted.is_again = true;
        counted.rewrites = counted.rewrites.wrapping_sub(std::mem::take(&mut counted.level_rewrites));
    }

    pub fn rewrites(&self) -> u64 {
        self.counted().rewrites
    }

    /// Counts from 0 again; what was counted stays so.
    pub fn restart(&self) {
        self.counted().rewrites = 0;
    }
}
