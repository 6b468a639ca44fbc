//! Functions in the conditions of rules, remembered while one state is rewritten.
//!
//! Conditions often ask the same of the whole state for each matcher of a rule, and for each rule.
//! What a value took in rewrites is remembered with it, so that the counts are those of evaluating
//! it each time.

use crate::term::{Heap, Symbols, Term};

/// So many values are remembered.
const MAX: usize = 16;

/// Values of functions by their arguments. Its terms are roots of the heap.
#[derive(Debug, Default)]
pub struct Recent(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    sym: u32,
    args: [Term; 4],
    /// No term while it is being computed.
    value: Term,
    /// What it took; while it is being computed, the count at its start.
    rewrites: u64,
}

impl Recent {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// A value and what it took. If it is not known, [`Recent::remember`] follows when it is.
    pub fn recall(
        &mut self,
        heap: &Heap,
        sy: &Symbols,
        sym: u32,
        args: [Term; 4],
        rewrites: u64,
    ) -> Option<(Term, u64)> {
        let same = |(&x, &y): (&Term, &Term)| x == y || heap.equal(sy, x, y);
        let is_it = |e: &&Entry| e.sym == sym && !e.value.is_none() && e.args.iter().zip(&args).all(same);
        if let Some(entry) = self.0.iter().find(is_it) {
            return Some((entry.value, entry.rewrites));
        }
        if self.0.len() == MAX {
            self.0.clear();
        }
        self.0.push(Entry { sym, args, value: Term::NONE, rewrites });
        None
    }

    /// The value that was asked for last.
    pub fn remember(&mut self, value: Term, rewrites: u64) {
        if let Some(entry) = self.0.last_mut() {
            entry.value = value;
            entry.rewrites = rewrites - entry.rewrites;
        }
    }

    pub fn roots(&mut self, visit: &mut dyn FnMut(&mut Term)) {
        for entry in &mut self.0 {
            entry.args.iter_mut().chain([&mut entry.value]).for_each(&mut *visit);
        }
    }
}
