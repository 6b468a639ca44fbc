//! Iterated operators: `f^k(t)` matches `f^n(u)` if `t` matches `f^(n-k)(u)`.
//! With extension, outer applications may be left over, fewest first.

use num_bigint::BigUint;

use super::Rest;
use super::pattern::{Iter, Node, NodeId};
use super::run::{Run, Sub};
use crate::term::{Int, Term};

/// An iterated subject whose outer applications may be left over.
#[derive(Debug)]
pub(super) struct IterSub {
    sym: u32,
    resort: bool,
    inner: NodeId,
    base: Term,
    /// Applications that the inner pattern gets plus those left over.
    spare: Int,
    over_max: Int,
    /// How many are left over now.
    over: Int,
    subs: Vec<Sub>,
    mark: usize,
}

impl IterSub {
    pub fn roots(&mut self, f: &mut dyn FnMut(&mut Term)) {
        f(&mut self.base);
        self.subs.iter_mut().for_each(|sub| sub.roots(f));
    }
}

fn minus(a: &Int, b: &Int) -> Int {
    match (a, b) {
        (Int::Small(a), Int::Small(b)) => Int::Small(a - b),
        _ => Int::from_big(a.to_big() - b.to_big()),
    }
}

impl Run<'_, '_> {
    pub fn match_iter(&mut self, iter: &Iter, subject: Term, extension: bool, out: &mut Vec<Sub>) -> bool {
        if subject.is_constant() || self.cx.heap.sym(self.cx.sy, subject) != iter.sym {
            return false;
        }
        let (count, base) = self.cx.heap.iter_parts(subject);
        if count < iter.count {
            return false;
        }
        let spare = minus(&count, &iter.count);
        if spare != Int::Small(0) {
            let has_own_top = match &self.pattern.nodes[iter.inner as usize] {
                Node::Ground(_) | Node::Free(_) | Node::Iter(_) => true,
                Node::Cui(cui) => cui.collapses.is_empty() && cui.idem.is_none(),
                Node::Ac(ac) => ac.collapse.is_none(),
                Node::Assoc(assoc) => assoc.collapse.is_none(),
                Node::Var(_) | Node::TopVar(_) => false,
            };
            if has_own_top {
                // An inner pattern with another operator on top matches the base or nothing.
                if !extension {
                    return false;
                }
                self.state.rest = Rest::Iter(spare);
                return self.match_node(iter.inner, base, false, out);
            }
        }
        if extension && spare != Int::Small(0) {
            let over = Int::Small(0);
            let least = if iter.count == over { Int::Small(1) } else { Int::Small(0) };
            let over_max = minus(&spare, &least);
            let (sym, inner) = (iter.sym, iter.inner);
            out.push(Sub::Iter(Box::new(IterSub {
                sym,
                resort: iter.resort,
                inner,
                base,
                spare,
                over_max,
                over,
                subs: Vec::new(),
                mark: 0,
            })));
            return true;
        }
        let resort = iter.resort && iter.count != Int::Small(0);
        let inner = self.iterated(iter.sym, &spare, base, iter.inner, resort);
        self.match_node(iter.inner, inner, false, out)
    }

    /// The subject of an inner pattern.
    fn iterated(&mut self, sym: u32, count: &Int, base: Term, inner: NodeId, resort: bool) -> Term {
        if *count == Int::Small(0) {
            return base;
        }
        let term = self.cx.heap.iterate(self.cx.sy, sym, count, base);
        let is_settled = match &self.pattern.nodes[inner as usize] {
            Node::Var(var) => self.is_settled(var, term),
            _ => false,
        };
        if resort && term.is_node() && !is_settled {
            (self.cx.resort)(self.cx.heap, term);
        }
        term
    }

    pub fn solve_iter(&mut self, sub: &mut IterSub, first: bool) -> bool {
        if first {
            sub.mark = self.mark();
            sub.over = Int::Small(0);
        } else if self.solve_all(&mut sub.subs, false) {
            return true;
        } else {
            sub.over = Int::from_big(sub.over.to_big() + BigUint::from(1u32));
        }
        while sub.over <= sub.over_max {
            self.undo(sub.mark);
            sub.subs.clear();
            let count = minus(&sub.spare, &sub.over);
            let inner = self.iterated(sub.sym, &count, sub.base, sub.inner, sub.resort);
            if self.match_node(sub.inner, inner, false, &mut sub.subs) && self.solve_all(&mut sub.subs, true)
            {
                self.state.rest = match &sub.over {
                    Int::Small(0) => Rest::Whole,
                    over => Rest::Iter(over.clone()),
                };
                return true;
            }
            sub.over = Int::from_big(sub.over.to_big() + BigUint::from(1u32));
        }
        self.undo(sub.mark);
        false
    }
}
