//! Memberships to code: tried on a node when it has been made, smaller sorts first.
//!
//! Constants have no place for a sort, so theirs is known before the theory is used
//! ([`constant_sort`]).

use crate::module::Module;
use crate::sorts::{Node, OpId, SortId};
use crate::term::Symbols;

use super::Options;
use super::code::{Op, Reg, inst};
use super::compile::Compiler;
use super::known::Known;
use super::path::{Frame, Path};
use super::plan::SymbolPlan;
use super::rows::{Row, Statements, Whole};

/// A membership that is tried on a constant. Which ones hold is known beforehand; their conditions
/// are evaluated nevertheless, for the rewrites in them.
#[derive(Clone, Copy)]
pub(super) struct ConstantStep {
    pub index: usize,
    pub old_sort: u32,
}

/// The sort of a constant by its declarations and memberships, and those that are tried on it.
pub(super) fn constant_sort(
    module: &Module,
    sy: &Symbols,
    op: OpId,
    plan: &SymbolPlan,
    options: &Options,
) -> (u32, Vec<ConstantStep>) {
    let sorts = &module.signature.sorts;
    let kind = sorts.kind(module.signature.op(op).range);
    let mut sort = sy.info[op.index()].constant_sort;
    let mut steps = Vec::new();
    'again: loop {
        for &index in &plan.memberships {
            let membership = &module.memberships[index];
            let target = sorts.get(membership.sort).index;
            let is_leaf = membership.term.len() == 1;
            let may_match = match membership.term.node(membership.term.root()) {
                Node::Var(var) => kind.leq(sort, sorts.get(var.sort).index),
                // Others may collapse to the constant.
                node => node.op() == Some(op) || !is_leaf,
            };
            if !may_match || target == sort || !kind.leq(target, sort) {
                continue;
            }
            let is_decided = is_leaf && membership.condition.is_empty();
            let holds = is_decided || options.facts.contains(&(index, op));
            if holds || !options.deciding {
                steps.push(ConstantStep { index, old_sort: sort });
            }
            if holds {
                sort = target;
                continue 'again;
            }
        }
        return (sort, steps);
    }
}

impl Compiler<'_> {
    /// Memberships: smaller sorts first, from the start again after each success.
    pub(super) fn membership_code(&mut self, op: OpId) {
        let entry = self.mb_entry[op.index()];
        self.asm.place(entry);
        let memberships = self.plans[op.index()].memberships.clone();
        if memberships.is_empty() {
            return;
        }
        let enter = self.asm.words.len();
        self.asm.emit(inst(Op::Enter, 1, 0, 0));
        let mut frame = Frame { size: 2 };
        let start = self.asm.here();
        for index in memberships {
            let next = self.asm.label();
            let sort = self.module.memberships[index].sort;
            let set = self.above_set(sort);
            self.asm.emit_to(Op::SortBig, 0, 0, next);
            self.asm.emit(u64::from(set));
            let row = Row::new(index, Whole::Joined { extension: false });
            let path = Path::new(vec![Known::ANY]);
            self.rows(vec![row], path, Statements::Memberships(start), next, &mut frame);
            self.asm.place(next);
        }
        self.asm.emit(inst(Op::Return, 0, 0, 0));
        self.patch_frame(enter, 1, &frame);
    }

    pub(super) fn call_memberships(&mut self, op: OpId, at: Reg, mask: u64) {
        let entry = self.mb_entry[op.index()];
        self.asm.emit_to(Op::CallTop, 1, at, entry);
        self.asm.emit(u64::from(op.0));
        self.asm.emit(mask);
    }

    /// The sorts strictly above `sort`: those that a membership can improve.
    fn above_set(&mut self, sort: SortId) -> u16 {
        let entry = self.sig.sorts.get(sort);
        let kind = self.sig.sorts.kind(entry.kind);
        let mut set = vec![0u64; kind.sorts.len().div_ceil(64)];
        for index in 0..kind.sorts.len() as u32 {
            if index != entry.index && kind.leq(entry.index, index) {
                set[index as usize / 64] |= 1 << (index % 64);
            }
        }
        self.set_number(set)
    }

    /// A membership is tried on the constant in register 0.
    pub(super) fn constant_step(&mut self, step: ConstantStep, frame: &mut Frame) {
        let lhs = &self.module.memberships[step.index].term;
        let mut row = Row::new(step.index, Whole::Joined { extension: false });
        if lhs.len() == 1 {
            row.vars = lhs.vars().into_iter().map(|var| (var, 0)).collect();
            row.whole = Whole::No;
        }
        let next = self.asm.label();
        self.old_sort = Some(step.old_sort);
        let path = Path::new(vec![Known::ANY]);
        self.rows(vec![row], path, Statements::Memberships(next), next, frame);
        self.old_sort = None;
        self.asm.place(next);
    }
}
