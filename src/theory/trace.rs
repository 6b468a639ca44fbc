//! Tracing code: what the machine reports to those who watch. Other code has none of it.

use crate::module::Fragment;
use crate::sorts::{OpId, Tree, Var};
use crate::term::normalize;

use super::code::{Op, Reg, inst};
use super::compile::Compiler;
use super::leaf::{Leaf, condition_vars};
use super::rows::Statements;
use super::{TraceKind, TracePoint, TraceStep};

impl Compiler<'_> {
    pub(super) fn trace_redex(&mut self, op: OpId, args: usize) {
        if self.trace {
            self.asm.emit(inst(Op::TraceRedex, args, 0, op.0));
        }
    }

    pub(super) fn trace_result(&mut self, reg: Reg) {
        if self.trace {
            self.asm.emit(inst(Op::TraceResult, 0, reg, 0));
        }
    }

    /// Tracing code for a step of a statement.
    pub(super) fn trace_step(&mut self, statements: Statements, index: usize, step: TraceStep, leaf: &Leaf) {
        if !self.trace {
            return;
        }
        let kind = match statements {
            Statements::Equations => TraceKind::Equation,
            Statements::Memberships(_) => TraceKind::Membership,
            Statements::Rules { .. } if index >= self.module.rules.len() => return,
            Statements::Rules { .. } => TraceKind::Rule,
        };
        let mut vars = leaf.vars.clone();
        let condition = self.condition(statements, index);
        for var in condition_vars(condition) {
            if !vars.iter().any(|(v, _)| *v == var) {
                vars.push((var, TracePoint::UNBOUND));
            }
        }
        // As Maude numbers them: in the order of the patterns when these are in normal form.
        let patterns = condition.iter().filter_map(|fragment| match fragment {
            Fragment::Match(pattern, _) | Fragment::Rewrite(_, pattern) => Some(pattern),
            Fragment::Equal(..) | Fragment::Sort(..) => None,
        });
        let normal = |tree: &Tree| normalize(self.sy, self.names, tree);
        let order: Vec<Var> = std::iter::once(self.lhs(statements, index))
            .chain(patterns)
            .flat_map(|tree| normal(tree).vars())
            .collect();
        vars.sort_by_key(|(var, _)| order.iter().position(|v| v == var).unwrap_or(order.len()));
        let old_sort = self.old_sort;
        let rest = leaf.traced_rest;
        self.traces.push(TracePoint { kind, index, vars, step, old_sort, rest });
        self.asm.emit(inst(Op::Trace, leaf.path.args, leaf.path.top, self.traces.len() as u32 - 1));
    }
}
