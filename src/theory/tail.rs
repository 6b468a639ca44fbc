//! The last action of an equation: a jump.
//!
//! A call in this place takes over the frame. `c(t, f(u))` with a constructor `c` allocates its
//! node first and fills the hole when `f` returns, so that list functions need no stack.

use crate::builtin::Special;
use crate::sorts::{Node, OpId, Tree};
use crate::term::{Class, header};

use super::code::{Op, PACKED_MAX, Reg, inst, inst3, pack};
use super::compile::{Compiler, is_joined};
use super::known::Known;
use super::leaf::Leaf;
use super::path::Frame;

impl Compiler<'_> {
    /// Evaluates a subterm as the last action of an equation.
    pub(super) fn tail(&mut self, tree: &Tree, at: usize, leaf: &mut Leaf, frame: &mut Frame) {
        if let Some(imm) = self.immediate(tree, at) {
            self.asm.emit(inst(Op::ReturnImm, 0, 0, imm.0));
            return;
        }
        let slot = leaf.path.top;
        let available = leaf.available.iter().any(|(key, _)| key == &tree.nodes()[tree.range(at)]);
        let op = match tree.node(at) {
            Node::App { op, .. } if !available && !self.is_ground_value(tree, at) => *op,
            _ => {
                let (reg, _) = self.operand(tree, at, slot, leaf, frame);
                frame.note(slot + 1);
                self.asm.emit(inst(Op::ReturnRw, 0, reg, 0));
                return;
            }
        };
        let plan = &self.plans[op.index()];
        if let Some(Special::Branch { tests }) = &plan.special
            && plan.rows.is_empty()
            && !self.trace
        {
            return self.branch(tree, at, &tests.clone(), slot, leaf, frame, true);
        }
        let args = tree.args(at);
        if let Some(selector) = self.selector(tree, at, op) {
            return self.select(tree, at, &selector, slot, leaf, frame, true);
        }
        let has_inline = matches!(plan.special, Some(Special::Equality { .. }))
            || matches!(&plan.special, Some(Special::Function(b)) if b.fast().is_some() && args.len() == 2);
        if has_inline && !self.trace {
            self.value(tree, at, slot, leaf, frame);
            self.asm.emit(inst(Op::ReturnRw, 0, slot, 0));
            return;
        }
        if is_joined(self.sy, op.0) {
            self.arguments(&args, tree, op, slot, leaf, frame);
            self.emit_join(op, args.len(), slot, 2);
            if self.may_uncover(op) {
                self.call_joined(op, slot, at, leaf);
            } else if !self.plans[op.index()].is_plain() {
                let code = self.checked[op.index()];
                self.asm.emit_to(Op::TailTop, 1, slot, code);
                self.asm.emit(u64::from(op.0));
            }
            self.asm.emit(inst(Op::ReturnRw, 0, slot, 0));
            return;
        }
        if self.only_builds(tree, at, op, leaf) {
            if self.tail_build(tree, at, op, leaf, frame) {
                return;
            }
            if args.len() <= 3 && self.is_eager(op) {
                self.small_node(tree, at, op, slot, leaf, frame, true);
                return;
            }
            self.value(tree, at, slot, leaf, frame);
            self.asm.emit(inst(Op::ReturnRw, 0, slot, 0));
            return;
        }
        if !args.is_empty() && args.len() <= PACKED_MAX && self.is_eager(op) {
            let (regs, knowns) = self.operands(&args, tree, slot, leaf, frame);
            let code = self.entry(op, &knowns);
            let which = [Op::TailCall1, Op::TailCall2, Op::TailCall3, Op::TailCall4][args.len() - 1];
            self.asm.emit_to(which, args.len(), 0, code);
            self.asm.emit(pack(&regs));
            return;
        }
        let knowns = self.arguments(&args, tree, op, slot, leaf, frame);
        let code = self.entry(op, &knowns);
        self.asm.emit_to(Op::TailCall, args.len().min(255), slot, code);
    }

    /// `c(t, f(u))` where `c` only builds: allocate, then jump to `f` with the hole as its
    /// destination. The node's sort is computed as if `f` returned its declared sort; the
    /// machine corrects it in the rare case that it did not.
    fn tail_build(&mut self, tree: &Tree, at: usize, op: OpId, leaf: &mut Leaf, frame: &mut Frame) -> bool {
        if self.trace || !self.is_eager(op) {
            return false;
        }
        let args = tree.args(at);
        if args.is_empty() || args.len() > 47 {
            return false;
        }
        let callee = |this: &Self, arg: usize| match tree.node(arg) {
            Node::App { op, arity } if *arity > 0 => {
                let plan = &this.plans[op.index()];
                let is_call = !this.only_builds(tree, arg, *op, leaf)
                    && this.sy.class(op.0) == Class::Free
                    && this.is_eager(*op)
                    && plan.special.is_none()
                    && !leaf.available.iter().any(|(key, _)| key == &tree.nodes()[tree.range(arg)]);
                is_call.then_some(*op)
            }
            _ => None,
        };
        let Some(hole) = (0..args.len()).rev().find(|&i| callee(self, args[i]).is_some()) else {
            return false;
        };
        let function = callee(self, args[hole]).expect("found above");
        let inner = tree.args(args[hole]);
        let slot = leaf.path.top;
        if args.len() <= 3 && inner.len() <= PACKED_MAX {
            return self.tail_build_small(tree, at, op, function, hole, leaf, frame);
        }
        // The node's other arguments come after those of the callee, but are evaluated first.
        let others = slot + inner.len() as Reg;
        let mut knowns = Vec::with_capacity(args.len());
        let mut held = 0;
        for (i, &arg) in args.iter().enumerate() {
            if i == hole {
                let Some(range) = self.assumed_range(function) else { return false };
                knowns.push(Known::exactly(range));
                continue;
            }
            let target = others + held as Reg;
            knowns.push(self.value(tree, arg, target, leaf, frame));
            leaf.pending.push(target);
            held += 1;
        }
        let sort = self.static_sort(op, &knowns);
        let range = knowns[hole].0.trailing_zeros();
        let free = others + held as Reg;
        // Evaluate the callee's arguments above, then move them down.
        let arg_knowns = self.arguments(&inner, tree, function, free, leaf, frame);
        leaf.pending.truncate(leaf.pending.len() - held);
        for i in 0..inner.len() as Reg {
            self.asm.emit(inst3(Op::Move, 0, slot + i, free + i, 0));
        }
        frame.note(free + inner.len() as Reg);
        let code = self.entry(function, &arg_knowns);
        self.asm.emit_to(Op::TailBuild, inner.len().min(255), slot, code);
        let head = header(op.0, args.len() as u32, sort.unwrap_or(0));
        let dynamic = u64::from(sort.is_none()) << 40 | u64::from(range) << 48;
        self.asm.emit(u64::from(head) | (hole as u64) << 32 | dynamic);
        true
    }

    /// The usual case of [`Compiler::tail_build`]: few arguments, taken from where they are.
    #[allow(clippy::too_many_arguments)]
    fn tail_build_small(
        &mut self,
        tree: &Tree,
        at: usize,
        op: OpId,
        function: OpId,
        hole: usize,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> bool {
        let args = tree.args(at);
        let Some(range) = self.assumed_range(function) else { return false };
        let slot = leaf.path.top;
        let mut others = args.clone();
        others.remove(hole);
        let (mut regs, mut knowns) = self.operands(&others, tree, slot, leaf, frame);
        let held: Vec<Reg> = regs.iter().copied().filter(|&reg| reg >= slot).collect();
        leaf.pending.extend(&held);
        knowns.insert(hole, Known::exactly(range));
        regs.insert(hole, 0);
        let sort = self.static_sort(op, &knowns);
        let free = slot + held.len() as Reg;
        let (inner, inner_knowns) = self.operands(&tree.args(args[hole]), tree, free, leaf, frame);
        leaf.pending.truncate(leaf.pending.len() - held.len());
        // Room for the frame of the hole and the callee's arguments.
        frame.note(3 + PACKED_MAX as Reg);
        let code = self.entry(function, &inner_knowns);
        let head = header(op.0, args.len() as u32, sort.unwrap_or(0));
        let is_simple = sort.is_some() && inner.len() <= 2 && hole + 1 == args.len() && hole < 2;
        let which = match args.len() {
            1 if is_simple => Op::TailBuild1,
            2 if is_simple => Op::TailBuild2,
            _ => Op::TailBuild3,
        };
        self.asm.emit_to(which, inner.len(), regs[0], code);
        let dynamic = u64::from(sort.is_none()) << 40;
        self.asm.emit(u64::from(head) | (hole as u64) << 32 | dynamic | u64::from(range) << 48);
        self.asm.emit(pack(&inner));
        if which == Op::TailBuild3 {
            self.asm.emit(pack(&regs));
        }
        true
    }

    /// The least sort that an operator is declared to return.
    fn assumed_range(&self, op: OpId) -> Option<u32> {
        let ranges = self.sig.op(op).decls.iter();
        let range = ranges.map(|d| self.sig.sorts.get(d.range).index).min().unwrap_or(0);
        (range < 64).then_some(range)
    }
}
