//! Sorts of small naturals that membership axioms decide.
//!
//! A small natural is one word without a place for a sort. Where memberships apply to naturals, its
//! sort is decided when it is first asked for, and remembered. While that is under way, it has the
//! sort found so far, as in Maude.

use std::fmt;
use std::sync::{Mutex, OnceLock};

use rustc_hash::FxHashMap;

use crate::sorts::SortIx;

type Decide = Box<dyn Fn(u32) + Send + Sync>;

/// The sorts of small naturals known so far, and how to find out others.
#[derive(Default)]
pub struct NumberSorts {
    known: Mutex<FxHashMap<u32, SortIx>>,
    /// Tries the memberships on a number; what they say is noted by [`NumberSorts::set`].
    decide: OnceLock<Decide>,
}

impl fmt::Debug for NumberSorts {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("NumberSorts").finish_non_exhaustive()
    }
}

impl NumberSorts {
    /// Says how sorts are decided; once.
    pub fn decide_by(&self, decide: Decide) {
        let _ = self.decide.set(decide);
    }

    pub fn is_known(&self, n: u32) -> bool {
        self.known().contains_key(&n)
    }

    pub fn set(&self, n: u32, sort: SortIx) {
        self.known().insert(n, sort);
    }

    /// Forgets what was decided.
    pub fn clear(&self) {
        self.known().clear();
    }

    /// The sort of a number whose declared sort is given.
    pub fn sort(&self, n: u32, declared: SortIx) -> SortIx {
        let known = self.known().get(&n).copied();
        known.unwrap_or_else(|| {
            self.set(n, declared);
            if let Some(decide) = self.decide.get() {
                decide(n);
            }
            self.known().get(&n).copied().unwrap_or(declared)
        })
    }

    fn known(&self) -> std::sync::MutexGuard<'_, FxHashMap<u32, SortIx>> {
        self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
