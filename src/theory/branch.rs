//! Operators that evaluate one argument and then choose: `if_then_else_fi`, `_and-then_` and their
//! like. What is not chosen is not evaluated, and no term is made for it unless the choice fails.

use crate::sorts::{Node, OpId, Tree};
use crate::term::{Class, Term};

use super::code::{Label, Op, Reg, inst, inst3};
use super::compile::Compiler;
use super::leaf::Leaf;
use super::path::Frame;

/// What is chosen for some value of a test.
#[derive(Clone, Copy)]
pub(super) enum Choice {
    /// The value of an argument, by its place.
    Argument(usize),
    Constant(Term),
}

impl Compiler<'_> {
    /// `if_then_else_fi` and its like: tests, then one branch. The value goes to `slot`, or is returned
    /// as the last action.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn branch(
        &mut self,
        tree: &Tree,
        at: usize,
        tests: &[Term],
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
        is_last: bool,
    ) {
        let args = tree.args(at);
        let branches = args[1..].iter().map(|&arg| Choice::Argument(arg));
        let choices: Vec<(Term, Choice)> = tests.iter().copied().zip(branches).collect();
        let (test, end) = self.choose(tree, args[0], &choices, slot, leaf, frame, is_last);
        self.stuck_branch(tree, at, test, slot, leaf, frame);
        if is_last {
            self.asm.emit(inst(Op::ReturnRw, 0, slot, 0));
        }
        self.asm.place(end);
    }

    /// Evaluates a test, and for each of some values of it what is chosen. Code that follows is for all
    /// other values, which stand in the register; what was chosen goes on at the label.
    #[allow(clippy::too_many_arguments)]
    fn choose(
        &mut self,
        tree: &Tree,
        test: usize,
        choices: &[(Term, Choice)],
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
        is_last: bool,
    ) -> (Reg, Label) {
        let end = self.asm.label();
        let tests: Vec<Term> = choices.iter().map(|choice| choice.0).collect();
        let (test, goals) = self.branch_test(tree, test, &tests, slot, leaf, frame);
        frame.note(slot + 2);
        for (i, &(term, choice)) in choices.iter().enumerate() {
            let next = self.asm.label();
            self.asm.emit_to(Op::TestCount, 0, test, next);
            self.asm.emit(u64::from(term.0));
            if let Some(goals) = goals {
                self.asm.place(goals[i]);
            }
            self.in_branch(leaf, |this, leaf| match choice {
                Choice::Constant(result) if is_last => this.asm.emit(inst(Op::ReturnImm, 0, 0, result.0)),
                Choice::Constant(result) => this.asm.emit(inst(Op::LoadImm, 0, slot, result.0)),
                Choice::Argument(arg) => {
                    this.share_branch(tree, arg, leaf, frame);
                    if is_last {
                        return this.tail(tree, arg, leaf, frame);
                    }
                    let target = leaf.path.top.max(slot);
                    this.value(tree, arg, target, leaf, frame);
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
        (test, end)
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
    /// constants the result is the second argument or another constant.
    pub(super) fn selector(&self, tree: &Tree, at: usize, op: OpId) -> Option<Vec<(Term, Choice)>> {
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
        let second = tree.args(at)[1];
        let sort = super::plan::ground_sort(self.sig, self.sy, &tree.subtree(second));
        let kind = self.sig.sorts.kind(self.sig.op(op).domain[1]);
        let mut cases: Vec<(Term, Choice)> = Vec::new();
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
                Node::Var(same) if same == var => Choice::Argument(second),
                _ => Choice::Constant(self.immediate(rhs, rhs.root())?),
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
        choices: &[(Term, Choice)],
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
        is_last: bool,
    ) {
        let args = tree.args(at);
        let (test, end) = self.choose(tree, args[0], choices, slot, leaf, frame, is_last);
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
