//! Least sorts: the declarations of one operator compiled to a table that reads the
//! arguments' sort indices from left to right.

use rustc_hash::FxHashMap;

use super::{Kind, Operator, SortId, SortPoset};

/// A sort index inside a kind; 0 is the kind itself.
pub type SortIx = u32;

/// A decision table: one state per set of declarations that still fit.
#[derive(Clone, Debug)]
pub struct SortDiagram {
    /// `levels[i]` has one row per state before argument `i`: `row * width + sort -> state`.
    levels: Vec<Level>,
    /// The result sort of each state after the last argument.
    results: Vec<SortIx>,
    /// The states in which several results fit and none is the least.
    disputed: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Level {
    /// Number of sorts in the argument's kind.
    width: u32,
    next: Vec<u32>,
}

impl SortDiagram {
    pub fn new(sorts: &SortPoset, op: &Operator) -> SortDiagram {
        // A commutative operator has each declaration with its arguments swapped, too.
        let mut decls: Vec<(Vec<SortId>, SortId)> =
            op.decls.iter().map(|decl| (decl.domain.clone(), decl.range)).collect();
        if op.axioms.comm {
            let swapped =
                op.decls.iter().map(|decl| (decl.domain.iter().rev().copied().collect(), decl.range));
            decls.extend(swapped);
        }
        let mut states: Vec<Vec<u32>> = vec![(0..decls.len() as u32).collect()];
        let mut levels = Vec::with_capacity(op.arity());
        for (position, &kind) in op.domain.iter().enumerate() {
            let kind = sorts.kind(kind);
            let width = kind.sorts.len() as u32;
            let mut next = Vec::with_capacity(states.len() * width as usize);
            let mut numbers: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
            let mut new_states = Vec::new();
            for state in &states {
                for sort in 0..width {
                    let fits = |&decl: &u32| {
                        let bound = decls[decl as usize].0[position];
                        kind.leq(sort, sorts.get(bound).index)
                    };
                    let set: Vec<u32> = state.iter().copied().filter(fits).collect();
                    let number = *numbers.entry(set).or_insert_with_key(|set| {
                        new_states.push(set.clone());
                        new_states.len() as u32 - 1
                    });
                    next.push(number);
                }
            }
            levels.push(Level { width, next });
            states = new_states;
        }
        let range = |&decl: &u32| sorts.get(decls[decl as usize].1).index;
        let kind = sorts.kind(op.range);
        let mut disputed = Vec::new();
        let results = (0..)
            .zip(&states)
            .map(|(number, state)| {
                let least = state.iter().map(range).max().unwrap_or(0);
                if state.iter().all(|decl| kind.leq(least, range(decl))) {
                    return least;
                }
                disputed.push(number);
                first_least(kind, state.iter().map(range))
            })
            .collect();
        SortDiagram { levels, results, disputed }
    }

    /// The sort of the operator over arguments with these sorts.
    #[inline]
    pub fn sort(&self, args: impl IntoIterator<Item = SortIx>) -> SortIx {
        let mut state = 0;
        for (level, arg) in self.levels.iter().zip(args) {
            state = level.next[(state * level.width + arg) as usize];
        }
        self.results[state as usize]
    }

    /// The sort of a binary operator, for folding over flattened arguments.
    #[inline]
    pub fn binary(&self, a: SortIx, b: SortIx) -> SortIx {
        let state = self.levels[0].next[a as usize];
        let second = &self.levels[1];
        self.results[second.next[(state * second.width + b) as usize] as usize]
    }

    /// How many combinations of argument sorts there are.
    pub(super) fn tuple_count(&self) -> u64 {
        self.levels.iter().map(|level| u64::from(level.width)).fold(1, u64::saturating_mul)
    }

    /// How many combinations of argument sorts have several results and none is the least.
    pub(super) fn disputed_count(&self) -> u64 {
        if self.disputed.is_empty() {
            return 0;
        }
        let mut counts = vec![1u64];
        for level in &self.levels {
            let states = level.next.iter().max().map_or(0, |&state| state as usize + 1);
            let mut next = vec![0u64; states];
            for (slot, &state) in level.next.iter().enumerate() {
                let count = &mut next[state as usize];
                *count = count.saturating_add(counts[slot / level.width as usize]);
            }
            counts = next;
        }
        self.disputed.iter().fold(0, |sum, &state| sum.saturating_add(counts[state as usize]))
    }

    /// The first combination of argument sorts with several results of which none is the least.
    pub(super) fn first_disputed(&self) -> Option<Vec<SortIx>> {
        // Backwards: from which states can a disputed one be reached?
        let mut bad: Vec<Vec<bool>> = Vec::with_capacity(self.levels.len() + 1);
        let last = (0..self.results.len() as u32).map(|state| self.disputed.contains(&state)).collect();
        bad.push(last);
        for level in self.levels.iter().rev() {
            let after = &bad[bad.len() - 1];
            let rows = level.next.chunks(level.width as usize);
            let row_bad = rows.map(|row| row.iter().any(|&state| after[state as usize])).collect();
            bad.push(row_bad);
        }
        let mut state = 0usize;
        if !bad.pop()?[state] {
            return None;
        }
        let mut first = Vec::with_capacity(self.levels.len());
        for level in &self.levels {
            let after = bad.pop()?;
            let row = &level.next[state * level.width as usize..][..level.width as usize];
            let sort = row.iter().position(|&next| after[next as usize])?;
            first.push(sort as SortIx);
            state = row[sort] as usize;
        }
        Some(first)
    }
}

/// Maude's choice among result sorts none of which is the least: the last one that had nothing
/// below it which was not below all those before it.
fn first_least(kind: &Kind, ranges: impl Iterator<Item = SortIx>) -> SortIx {
    let mut below: Vec<SortIx> = (0..kind.sorts.len() as SortIx).collect();
    let mut least = 0;
    for range in ranges {
        let count = (0..kind.sorts.len() as SortIx).filter(|&sort| kind.leq(sort, range)).count();
        below.retain(|&sort| kind.leq(sort, range));
        if below.len() == count {
            least = range;
        }
    }
    least
}
