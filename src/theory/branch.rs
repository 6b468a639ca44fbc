//! Operators that evaluate one argument and then choose: `if_then_else_fi`, `_and-then_` and their
//! like. What is not chosen is not evaluated, and no term is made for it unless the choice fails.

use crate::sorts::{Node, OpId, Tree};
use crate::term::{Class, Term};

use super::code::{Label, Op, Reg, inst, inst3};
use super::compile::Compiler;
use super::leaf::Leaf;
use super::path::Frame;

impl Compiler<'_> {
    /// `if_then_else_fi` and its like: tests, then one branch.
    pub(super) fn branch(
        &mut self,
        tree: &Tree,
        at: usize,
        tests: &[Term],
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) {
        let args = tree.args(at);
        let end = self.asm.label();
        let (test, goals) = self.branch_test(tree, args[0], tests, slot, leaf, frame);
        for (i, term) in tests.iter().enumerate() {
            let next = self.asm.label();
            self.asm.emit_to(Op::TestCount, 0, test, next);
            self.asm.emit(u64::from(term.0));
            if let Some(goals) = goals {
                self.asm.place(goals[i]);
            }
            self.in_branch(leaf, |this, leaf| {
                this.share_branch(tree, args[i + 1], leaf, frame);
                let target = leaf.path.top.max(slot);
                this.value(tree, args[i + 1], target, leaf, frame);
                if target != slot {
                    this.asm.emit(inst3(Op::Move, 0, slot, target, 0));
                }
            });
            self.asm.emit_to(Op::Jump, 0, 0, end);
            self.asm.place(next);
        }
        self.stuck_branch(tree, at, test, slot, leaf, frame);
        self.asm.place(end);
    }

    pub(super) fn tail_branch(
        &mut self,
        tree: &Tree,
        at: usize,
        tests: &[Term],
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) {
        let args = tree.args(at);
        let slot = leaf.path.top;
        let (test, goals) = self.branch_test(tree, args[0], tests, slot, leaf, frame);
        frame.note(slot + 1);
        for (i, term) in tests.iter().enumerate() {
            let next = self.asm.label();
            self.asm.emit_to(Op::TestCount, 0, test, next);
            self.asm.emit(u64::from(term.0));
            if let Some(goals) = goals {
                self.asm.place(goals[i]);
            }
            self.in_branch(leaf, |this, leaf| {
                this.share_branch(tree, args[i + 1], leaf, frame);
                this.tail(tree, args[i + 1], leaf, frame);
            });
            self.asm.place(next);
        }
        self.stuck_branch(tree, at, test, slot, leaf, frame);
        self.asm.emit(inst(Op::ReturnRw, 0, slot, 0));
    }

    /// The test of a branch: the register with its value, and labels in front of the branches
    /// that code without a value goes to.
    fn branch_test(
        &mut self,
        tree: &Tree,
        at: usize,
        tests: &[Term],
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> (Reg, Option<[Label; 2]>) {
        if let &[first, second] = tests {
            let goals = [self.asm.label(), self.asm.label()];
            match self.decision(tree, at, [first, second], 1, goals, slot, leaf, frame) {
                Some(true) => return (slot, Some(goals)),
                Some(false) => {
                    // The code below is not reached; it keeps its shape.
                    self.asm.emit(inst(Op::LoadImm, 0, slot, first.0));
                    frame.note(slot + 1);
                    return (slot, Some(goals));
                }
                None => {}
            }
        }
        (self.operand(tree, at, slot, leaf, frame).0, None)
    }

    /// Neither test holds: all arguments are evaluated and the term stays.
    fn stuck_branch(
        &mut self,
        tree: &Tree,
        at: usize,
        test: Reg,
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) {
        let args = tree.args(at);
        let op = tree.node(at).op().expect("an application");
        if test != slot {
            self.asm.emit(inst3(Op::Move, 0, slot, test, 0));
        }
        let first = leaf.pending.len();
        leaf.pending.push(slot);
        for (i, &arg) in args.iter().enumerate().skip(1) {
            let target = slot + i as Reg;
            self.value(tree, arg, target, leaf, frame);
            leaf.pending.push(target);
        }
        leaf.pending.truncate(first);
        frame.note(slot + args.len() as Reg);
        self.asm.emit(inst(Op::BuildSort, args.len(), slot, op.0));
    }

    /// Operators like `_and-then_`: the first argument is evaluated, and for each of some
    /// constants the result is the second argument or another constant. For each constant, in
    /// order: the result, or `None` for the second argument.
    pub(super) fn selector(&self, tree: &Tree, at: usize, op: OpId) -> Option<Vec<(Term, Option<Term>)>> {
        let plan = &self.plans[op.index()];
        let simple = plan.special.is_none()
            && !plan.memo
            && !self.trace
            && plan.strategy.segments == [[0]]
            && self.sy.class(op.0) == Class::Free
            && self.sig.op(op).arity() == 2
            && !plan.rows.is_empty();
        if !simple {
            return None;
        }
        let second = tree.subtree(tree.args(at)[1]);
        let sort = super::plan::ground_sort(self.sig, &second);
        let kind = self.sig.sorts.kind(self.sig.op(op).domain[1]);
        let mut cases: Vec<(Term, Option<Term>)> = Vec::new();
        for row in &plan.rows {
            let equation = &self.module.equations[row.equation];
            let (lhs, rhs) = (&equation.lhs, &equation.rhs);
            let args = lhs.args(lhs.root());
            let test = self.immediate(lhs, args[0])?;
            let Node::Var(var) = lhs.node(args[1]) else { return None };
            let fits = kind.leq(sort, self.sig.sorts.get(var.sort).index);
            if row.collapsed || !equation.condition.is_empty() || !fits || cases.iter().any(|c| c.0 == test) {
                return None;
            }
            let result = match rhs.node(rhs.root()) {
                Node::Var(same) if same == var => None,
                _ => Some(self.immediate(rhs, rhs.root())?),
            };
            cases.push((test, result));
        }
        Some(cases)
    }

    /// An operator found by [`Compiler::selector`]: no term is made for its second argument
    /// unless no equation applies. The value goes to `slot`, or is returned as the last action.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn select(
        &mut self,
        tree: &Tree,
        at: usize,
        cases: &[(Term, Option<Term>)],
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
        is_last: bool,
    ) {
        let args = tree.args(at);
        let end = self.asm.label();
        let tests: Vec<Term> = cases.iter().map(|c| c.0).collect();
        let (test, goals) = self.branch_test(tree, args[0], &tests, slot, leaf, frame);
        frame.note(slot + 2);
        for (i, &(term, result)) in cases.iter().enumerate() {
            let next = self.asm.label();
            self.asm.emit_to(Op::TestCount, 0, test, next);
            self.asm.emit(u64::from(term.0));
            if let Some(goals) = goals {
                self.asm.place(goals[i]);
            }
            self.in_branch(leaf, |this, leaf| match result {
                Some(result) if is_last => this.asm.emit(inst(Op::ReturnImm, 0, 0, result.0)),
                None if is_last => {
                    this.share_branch(tree, args[1], leaf, frame);
                    this.tail(tree, args[1], leaf, frame);
                }
                Some(result) => this.asm.emit(inst(Op::LoadImm, 0, slot, result.0)),
                None => {
                    this.share_branch(tree, args[1], leaf, frame);
                    let target = leaf.path.top.max(slot);
                    this.value(tree, args[1], target, leaf, frame);
                    if target != slot {
                        this.asm.emit(inst3(Op::Move, 0, slot, target, 0));
                    }
                }
            });
            if !is_last {
                self.asm.emit_to(Op::Jump, 0, 0, end);
            }
            self.asm.place(next);
        }
        let op = tree.node(at).op().expect("an application");
        if test != slot {
            self.asm.emit(inst3(Op::Move, 0, slot, test, 0));
        }
        leaf.pending.push(slot);
        self.thunk(tree, args[1], slot + 1, leaf, frame);
        leaf.pending.pop();
        let code = self.checked[op.index()];
        if is_last {
            self.asm.emit_to(Op::TailCall, 2, slot, code);
        } else {
            let mask = self.mask(at, leaf);
            self.asm.emit_to(Op::Call, 2, slot, code);
            self.asm.emit(mask);
        }
        self.asm.place(end);
    }
}
