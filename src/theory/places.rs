//! Where in terms rules can apply, as far as the signature tells.

use crate::module::Module;
use crate::sorts::{OpId, SortId};

/// What is known of a module's rules and operators.
pub(super) struct Places<'a> {
    pub module: &'a Module,
    /// By operator: is there a rule with it at its top?
    pub has_rules: Vec<bool>,
    /// By operator, a bit for each argument that rules may not change.
    pub frozen: &'a [u64],
    /// Operators that are never left in a term.
    pub tests: &'a [bool],
}

/// Which terms may be an argument: all of the right kind, or those of the right sort. The latter is
/// what terms look like that have a sort themselves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    Kind,
    Sort,
}

impl Places<'_> {
    /// Operators with rules or with such an operator below them, and the latter alone.
    pub fn may_rewrite(&self, fit: Fit) -> (Vec<bool>, Vec<bool>) {
        let sig = &self.module.signature;
        let mut may = self.has_rules.clone();
        let mut below = vec![false; may.len()];
        loop {
            let mut ranges: Vec<SortId> =
                sig.ops().filter(|(id, _)| may[id.index()]).flat_map(|(id, _)| self.ranges(id)).collect();
            ranges.sort_unstable();
            ranges.dedup();
            let mut changed = false;
            for (id, _) in sig.ops() {
                let is_open = |sort: SortId| ranges.iter().any(|&range| self.fits(range, sort, fit));
                if !below[id.index()] && !self.tests[id.index()] && self.arguments(id).any(is_open) {
                    below[id.index()] = true;
                    may[id.index()] = true;
                    changed = true;
                }
            }
            if !changed {
                return (may, below);
            }
        }
    }

    /// Can one of the operators stand inside a term of a kind that has rules, not below a function?
    pub fn has_inside(&self, wanted: &[bool], is_function: &dyn Fn(OpId) -> bool) -> bool {
        if !wanted.contains(&true) {
            return false;
        }
        let sig = &self.module.signature;
        let with_rules = sig.ops().filter(|(id, _)| self.has_rules[id.index()]);
        let kinds: Vec<_> = with_rules.map(|(_, op)| op.range).collect();
        let mut work: Vec<OpId> =
            sig.ops().filter(|(_, op)| kinds.contains(&op.range)).map(|(id, _)| id).collect();
        let mut is_known = vec![false; self.has_rules.len()];
        while let Some(id) = work.pop() {
            if std::mem::replace(&mut is_known[id.index()], true) || self.tests[id.index()] || is_function(id)
            {
                continue;
            }
            for sort in self.arguments(id) {
                for (inner, _) in sig.ops() {
                    if self.ranges(inner).any(|range| self.fits(range, sort, Fit::Sort)) {
                        if wanted[inner.index()] {
                            return true;
                        }
                        work.push(inner);
                    }
                }
            }
        }
        false
    }

    fn ranges(&self, id: OpId) -> impl Iterator<Item = SortId> {
        self.module.signature.op(id).decls.iter().map(|decl| decl.range)
    }

    /// The sorts of the arguments that rules may change.
    fn arguments(&self, id: OpId) -> impl Iterator<Item = SortId> {
        let frozen = self.frozen[id.index()];
        let is_open = move |i: usize| frozen >> i.min(63) & 1 == 0;
        let decls = self.module.signature.op(id).decls.iter();
        decls.flat_map(move |decl| {
            decl.domain.iter().enumerate().filter(move |(i, _)| is_open(*i)).map(|(_, &sort)| sort)
        })
    }

    fn fits(&self, range: SortId, sort: SortId, fit: Fit) -> bool {
        let sorts = &self.module.signature.sorts;
        // Memberships may give any sort of the kind.
        if fit == Fit::Kind || !self.module.memberships.is_empty() {
            sorts.kind_of(range) == sorts.kind_of(sort)
        } else {
            sorts.leq(range, sort)
        }
    }
}
