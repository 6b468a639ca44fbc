//! What the compiler knows of the sorts that a register can have: a set of sort indices.
//!
//! Sort checks that are implied by what is known are not emitted, and the sort of a node that is
//! the same for all possible arguments is computed once, at compile time.

use crate::sorts::{KindId, Signature, SortId};

/// A set of sort indices of one kind; all of them if the kind has more than 64 sorts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Known(pub u64);

impl Known {
    pub const ANY: Known = Known(u64::MAX);
    /// Some sort, not the kind alone, where the kind has at most 64.
    pub const SORTED: Known = Known(u64::MAX - 1);

    /// The sorts `<= sort`, or `None` if the kind is too large for a set.
    pub fn below(sig: &Signature, sort: SortId) -> Option<Known> {
        let entry = sig.sorts.get(sort);
        let kind = sig.sorts.kind(entry.kind);
        (kind.sorts.len() <= 64)
            .then(|| if entry.index == 0 { Known::ANY } else { Known(kind.below(entry.index)[0]) })
    }

    pub fn exactly(index: u32) -> Known {
        if index < 64 { Known(1 << index) } else { Known::ANY }
    }

    /// Is a check for `sort` superfluous?
    pub fn implies(self, sig: &Signature, sort: SortId) -> bool {
        if sig.sorts.is_error(sort) {
            return true;
        }
        Known::below(sig, sort).is_some_and(|below| self.0 & !below.0 == 0)
    }

    pub fn is_subset(self, other: Known) -> bool {
        self.0 & !other.0 == 0
    }

    /// Can the value be of the kind only?
    pub fn may_be_error(self) -> bool {
        self.0 & 1 != 0
    }

    pub fn union(self, other: Known) -> Known {
        Known(self.0 | other.0)
    }

    pub fn indices(self, sig: &Signature, kind: KindId) -> Vec<u32> {
        let count = sig.sorts.kind(kind).sorts.len() as u32;
        if count > 64 {
            return (0..count).collect();
        }
        (0..count).filter(|i| self.0 >> i & 1 != 0).collect()
    }
}
