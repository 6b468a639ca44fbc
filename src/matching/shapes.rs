//! How sorts behave under associative operators: how many elements a sort admits, and whether
//! it is closed under the operator. Computed on demand, once per operator.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use super::pattern::{Bound, Structure};
use crate::sorts::{OpId, Signature, SortIx};

/// Sort shapes of all associative operators of a module.
#[derive(Debug)]
pub struct Shapes {
    ops: Vec<OnceLock<Shape>>,
    memberships: FxHashMap<OpId, Vec<SortIx>>,
}

/// For one operator, by sort index.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub bounds: Vec<Bound>,
    pub structures: Vec<Structure>,
    /// Is a list in the sort only if all its elements are, whatever the elements?
    pub elementwise: Vec<bool>,
}

impl Shapes {
    /// `memberships`: for each operator with membership axioms, the sorts these give.
    pub fn new(sig: &Signature, memberships: impl IntoIterator<Item = (OpId, SortIx)>) -> Shapes {
        let mut by_op: FxHashMap<OpId, Vec<SortIx>> = FxHashMap::default();
        for (op, sort) in memberships {
            by_op.entry(op).or_default().push(sort);
        }
        Shapes { ops: (0..sig.len()).map(|_| OnceLock::new()).collect(), memberships: by_op }
    }

    pub(super) fn has_memberships(&self, op: OpId) -> bool {
        self.memberships.contains_key(&op)
    }

    /// Has every term of elements with the sort the sort, too?
    pub fn is_closed(&self, sig: &Signature, op: OpId, sort: SortIx) -> bool {
        self.get(sig, op).structures[sort as usize] != Structure::Unstructured
    }

    /// Do all parts of a term with this operator at its top have the sort, if the term has it?
    pub fn is_inherited(&self, sig: &Signature, op: OpId, sort: SortIx) -> bool {
        self.get(sig, op).elementwise[sort as usize]
    }

    pub(super) fn get(&self, sig: &Signature, op: OpId) -> &Shape {
        let given = self.memberships.get(&op).map_or(&[][..], Vec::as_slice);
        self.ops[op.index()].get_or_init(|| Shape::new(sig, op, given))
    }
}

impl Shape {
    fn new(sig: &Signature, op: OpId, memberships: &[SortIx]) -> Shape {
        let diagram = sig.diagram(op);
        let kind = sig.sorts.kind(sig.op(op).range);
        let n = kind.sorts.len() as u32;
        let above = |sort: SortIx| (1..n).filter(move |&s| kind.leq(sort, s));

        // A sort has bound b if no term of more than b elements can have it. Bounds are found
        // in ascending order; a bound of b is only possible up to twice the last one found.
        let mut bounds: Vec<Bound> = vec![None; n as usize];
        let (mut bound, mut bound_max) = (1, 1);
        while bound <= bound_max {
            let mut is_larger = vec![false; n as usize];
            for &sort in memberships {
                above(sort).for_each(|s| is_larger[s as usize] = true);
            }
            for a in 1..n {
                for b in 1..n {
                    let fits = match (bounds[a as usize], bounds[b as usize]) {
                        (Some(x), Some(y)) => x + y <= bound,
                        _ => false,
                    };
                    if !fits {
                        let result = diagram.binary(a, b);
                        if result != 0 && !is_larger[result as usize] {
                            above(result).for_each(|s| is_larger[s as usize] = true);
                        }
                    }
                }
            }
            for sort in 1..n as usize {
                if !is_larger[sort] && bounds[sort].is_none() {
                    bounds[sort] = Some(bound);
                    bound_max = 2 * bound;
                }
            }
            bound += 1;
        }

        let structure = |sort: SortIx| {
            if sort == 0 {
                return Structure::Pure;
            }
            let below = |s: SortIx| kind.leq(s, sort);
            let pairs = || (1..n).flat_map(|a| (1..n).map(move |b| (a, b)));
            if pairs().any(|(a, b)| below(a) && below(b) && !below(diagram.binary(a, b))) {
                return Structure::Unstructured;
            }
            let spoiled = sort > kind.maximal && memberships.iter().any(|&s| below(s));
            if spoiled || pairs().any(|(a, b)| !(below(a) && below(b)) && below(diagram.binary(a, b))) {
                return Structure::Limit;
            }
            Structure::Pure
        };
        let structures: Vec<Structure> = (0..n).map(structure).collect();
        let elementwise = |sort: SortIx| {
            let escapes =
                |s: SortIx| kind.leq(diagram.binary(0, s), sort) || kind.leq(diagram.binary(s, 0), sort);
            sort != 0
                && memberships.is_empty()
                && (bounds[sort as usize] == Some(1)
                    || structures[sort as usize] == Structure::Pure && !(0..n).any(escapes))
        };
        Shape { elementwise: (0..n).map(elementwise).collect(), structures, bounds }
    }
}
