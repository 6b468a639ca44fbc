//! Which functions always return terms of their declared range, given arguments of their declared
//! sorts. Nothing in the language forces it: `eq f(X) = t` may have a `t` of any sort of the kind.
//! Callers need not check the sorts of the results of those that do.

use crate::builtin::Special;
use crate::sorts::{Node, OpId, Tree};
use crate::term::Class;

use super::compile::Compiler;
use super::known::Known;

impl Compiler<'_> {
    /// Assumes the best of every operator, then removes those with an equation that contradicts,
    /// until nothing changes.
    pub(super) fn find_ranges(&mut self) {
        self.keeps_range = (0..self.sig.len()).map(|i| self.may_keep(OpId::from_index(i))).collect();
        loop {
            let mut changed = false;
            for index in 0..self.sig.len() {
                if self.keeps_range[index] && !self.equations_keep(OpId::from_index(index)) {
                    self.keeps_range[index] = false;
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Free operators with one range; or built-in arithmetic.
    fn may_keep(&self, op: OpId) -> bool {
        let plan = &self.plans[op.index()];
        let decls = &self.sig.op(op).decls;
        let is_arithmetic = matches!(&plan.special, Some(Special::Function(b)) if b.fast().is_some());
        let is_free = plan.special.is_none() && self.sy.class(op.0) == Class::Free;
        plan.memberships.is_empty()
            && (plan.is_plain()
                || is_arithmetic && plan.rows.is_empty() && !self.sy.numbers.computed
                || is_free && decls.iter().all(|d| d.range == decls[0].range))
    }

    fn equations_keep(&self, op: OpId) -> bool {
        let plan = &self.plans[op.index()];
        plan.rows.iter().all(|row| {
            let equation = &self.module.equations[row.equation];
            let range = self.sig.op(op).decls[0].range;
            self.term_known(&equation.rhs).implies(self.sig, range)
        })
    }

    /// What is known of the value of a term whose variables have their sorts.
    fn term_known(&self, tree: &Tree) -> Known {
        let mut stack: Vec<Known> = Vec::new();
        for node in tree.nodes() {
            let start = stack.len() - node.arity();
            let known = match node {
                Node::Var(var) => Known::below(self.sig, var.sort).unwrap_or(Known::ANY),
                Node::App { op, .. } => self.result_known(*op, &stack[start..]),
                Node::Iter { op, .. } if op.0 == self.sy.numbers.succ => {
                    self.result_known(*op, &stack[start..])
                }
                Node::Iter { .. } => Known::ANY,
                Node::Str { .. } | Node::Qid { .. } | Node::Float { .. } => Known::ANY,
            };
            stack.truncate(start);
            stack.push(known);
        }
        stack.pop().unwrap_or(Known::ANY)
    }

    /// What is known of the value of an operator applied to values.
    pub(super) fn result_known(&self, op: OpId, args: &[Known]) -> Known {
        if self.keeps_range[op.index()] && args.len() == self.sig.op(op).arity() {
            self.declared(op, args)
        } else {
            Known::ANY
        }
    }
}
