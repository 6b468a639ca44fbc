//! Do the declarations of an operator give each term one least sort, however it is grouped?

use super::{OpId, Signature, SortIx};

/// Arguments on which the declarations of an operator disagree: how many of all combinations of
/// sorts, and the first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Disagreement {
    pub count: u64,
    pub total: u64,
    pub first: Vec<SortIx>,
    /// The result sorts of the first, no one below the others; or those of its two groupings.
    pub results: Vec<SortIx>,
}

impl Signature {
    /// Arguments for which the operator has several result sorts and none of them is the least.
    pub fn irregular(&self, id: OpId) -> Option<Disagreement> {
        let op = self.op(id);
        if op.decls.len() < 2 {
            return None;
        }
        let kind = self.sorts.kind(op.range);
        let ranges = |args: &[SortIx]| -> Vec<SortIx> {
            let fits = |domain: &mut dyn Iterator<Item = SortIx>| {
                args.iter().zip(&op.domain).zip(domain).all(|((&a, &k), d)| self.sorts.kind(k).leq(a, d))
            };
            let index = |&sort| self.sorts.get(sort).index;
            let decls = op.decls.iter().filter(|decl| {
                fits(&mut decl.domain.iter().map(index))
                    || op.axioms.comm && fits(&mut decl.domain.iter().rev().map(index))
            });
            let all: Vec<SortIx> = decls.map(|decl| index(&decl.range)).collect();
            minimal(&all, |a, b| kind.leq(a, b))
        };
        let diagram = self.diagram(id);
        if diagram.disputed_count() == 0 {
            return None;
        }
        let first = diagram.first_disputed()?;
        let results = ranges(&first);
        Some(Disagreement { count: diagram.disputed_count(), total: diagram.tuple_count(), first, results })
    }

    /// Sorts of three arguments for which an associative operator's result depends on the grouping.
    pub fn not_associative(&self, id: OpId) -> Option<Disagreement> {
        /// Beyond this many sorts in a kind, the cube of it takes longer than the check is worth.
        const SORTS_MAX: u32 = 200;
        let op = self.op(id);
        let width = self.sorts.kind(op.range).sorts.len() as SortIx;
        let is_uniform = op.decls.iter().all(|d| d.domain.iter().all(|&sort| sort == d.range));
        if !op.axioms.assoc || op.decls.len() == 1 && is_uniform || width > SORTS_MAX {
            return None;
        }
        let diagram = self.diagram(id);
        let mut found: Option<Disagreement> = None;
        for a in 0..width {
            for b in 0..width {
                let ab = diagram.binary(a, b);
                for c in 0..width {
                    let (left, right) = (diagram.binary(ab, c), diagram.binary(a, diagram.binary(b, c)));
                    if left != right {
                        let total = u64::from(width).pow(3);
                        let new = || Disagreement {
                            count: 0,
                            total,
                            first: vec![a, b, c],
                            results: vec![left, right],
                        };
                        found.get_or_insert_with(new).count += 1;
                    }
                }
            }
        }
        found
    }
}

fn minimal(sorts: &[SortIx], leq: impl Fn(SortIx, SortIx) -> bool) -> Vec<SortIx> {
    let mut least: Vec<SortIx> = Vec::new();
    for &sort in sorts {
        if !sorts.iter().any(|&other| other != sort && leq(other, sort)) && !least.contains(&sort) {
            least.push(sort);
        }
    }
    least
}
