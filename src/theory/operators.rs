//! The functions of one operator: what comes before its equations and after them.
//!
//! A free operator takes its arguments in registers and has two entries, one of which checks their
//! sorts; the code behind both is made for the sorts that are then known. An operator with axioms
//! takes its joined node. Built-in behaviour comes first, then the equations (`rows`), segment by
//! segment of the strategy; if none applies, the node itself is the result.

use crate::builtin::Special;
use crate::sorts::{Node, OpId, Tree};
use crate::term::{Class, Heap};

use super::code::{Op, Reg, inst, inst3, op};
use super::compile::{Compiler, is_joined, is_leaf};
use super::known::Known;
use super::path::{Frame, Path};
use super::rows::{Row, Statements, Whole};

impl Compiler<'_> {
    /// All code of one operator.
    pub(super) fn operator(&mut self, op: OpId) {
        let sym = op.index();
        self.current = op;
        self.membership_code(op);
        let plan = &self.plans[sym];
        if plan.is_constructor {
            let (checked, fast) = (self.checked[sym], self.fast[sym]);
            self.asm.place(checked);
            self.asm.place(fast);
            return;
        }
        if is_leaf(self.sy, op.0) {
            let (checked, fast) = (self.checked[sym], self.fast[sym]);
            self.asm.place(checked);
            self.asm.place(fast);
            return self.leaf_operator(op);
        }
        if is_joined(self.sy, op.0) {
            let checked = self.checked[sym];
            self.asm.place(checked);
            let fast = self.fast[sym];
            self.asm.place(fast);
            return self.joined_operator(op);
        }
        let arity = self.sig.op(op).arity();
        let assumed = plan.assumed.clone();
        let checked = self.checked[sym];
        let fast = self.fast[sym];
        let worth = !plan.rows.is_empty()
            && !plan.memo
            && plan.strategy.is_standard(arity)
            && assumed.iter().any(|k| *k != Known::ANY)
            && self.kinds_are_small(op);
        if !worth {
            self.asm.place(checked);
            self.asm.place(fast);
            return self.free_operator(op, vec![Known::ANY; arity], false);
        }
        let slow = self.asm.label();
        self.asm.place(checked);
        for (i, known) in assumed.iter().enumerate() {
            if *known != Known::ANY {
                self.asm.emit_to(Op::Sort, 0, i as Reg, slow);
                self.asm.emit(known.0);
            }
        }
        self.asm.place(fast);
        self.free_operator(op, assumed, false);
        // Terms without a sort are rare.
        self.asm.place(slow);
        self.free_operator(op, vec![Known::ANY; arity], true);
    }

    fn kinds_are_small(&self, op: OpId) -> bool {
        self.sig.op(op).domain.iter().all(|&kind| self.sig.sorts.kind(kind).sorts.len() <= 64)
    }

    /// A free operator: its arguments are in the first registers. What is rare need not be fast.
    fn free_operator(&mut self, op: OpId, known: Vec<Known>, is_rare: bool) {
        let arity = known.len();
        let plan = &self.plans[op.index()];
        let enter = self.asm.words.len();
        self.asm.emit(inst(Op::Enter, arity, 0, 0));
        if plan.memo {
            self.asm.emit(inst(Op::Memo, arity, 0, op.0));
        }
        let mut frame = Frame { size: arity as u32 + 1 };
        let mut path = Path::new(known);
        for &arg in plan.strategy.segments.first().into_iter().flatten() {
            path.lazy[arg as usize] = false;
        }
        self.special_code(op, &path, &mut frame);
        let segments = plan.strategy.segments.clone();
        let branch = matches!(plan.special, Some(Special::Branch { .. }));
        for (number, segment) in segments.iter().enumerate() {
            if number > 0 {
                self.eval_args(segment, arity);
            }
            let mut rows = self.free_rows(op);
            if number + 1 < segments.len() {
                // As in Maude, `owise` equations wait for the last try.
                rows.retain(|row| !self.module.equations[row.index].attrs.owise);
            }
            let no_match = self.asm.label();
            let path = path.clone().with_room(if is_rare { rows.len() } else { 4 * rows.len() + 32 });
            self.rows(rows, path, Statements::Equations, no_match, &mut frame);
            self.asm.place(no_match);
        }
        let trailing = plan.strategy.trailing.clone();
        if !branch {
            self.eval_args(&trailing, arity);
        }
        self.build_and_return(op, &path, &mut frame);
        self.patch_frame(enter, arity, &frame);
    }

    /// Literals and variables, for which patterns stand that collapse, or that are the literal itself. The term is
    /// in register 0.
    fn leaf_operator(&mut self, op: OpId) {
        let enter = self.asm.words.len();
        self.asm.emit(inst(Op::Enter, 1, 0, 0));
        let mut frame = Frame { size: 2 };
        let equations = self.plans[op.index()].rows.iter().map(|row| row.equation);
        let rows = equations.map(|equation| Row::new(equation, Whole::Leaf)).collect();
        let mut path = Path::new(vec![Known::ANY]);
        path.lazy[0] = false;
        let no_match = self.asm.label();
        self.rows(rows, path, Statements::Equations, no_match, &mut frame);
        self.asm.place(no_match);
        if !self.plans[op.index()].memberships.is_empty() {
            let entry = self.mb_entry[op.index()];
            self.asm.emit_to(Op::Call, 1, 0, entry);
            self.asm.emit(0);
        }
        self.asm.emit(inst(Op::Return, 0, 0, 0));
        self.patch_frame(enter, 1, &frame);
    }

    /// An operator with axioms: its joined node is in register 0.
    fn joined_operator(&mut self, op: OpId) {
        let plan = &self.plans[op.index()];
        let enter = self.asm.words.len();
        self.asm.emit(inst(Op::Enter, 1, 0, 0));
        if plan.memo {
            self.asm.emit(inst(Op::Memo, 1, 0, op.0));
        }
        let mut frame = Frame { size: 2 };
        if let Some(Special::Function(builtin)) = &plan.special {
            self.builtins.push(builtin.clone());
            let number = self.builtins.len() as u32 - 1;
            let which = match self.sy.class(op.0) {
                Class::AssocComm => [Op::BuiltinBag, Op::TraceBuiltinBag],
                _ => [Op::Builtin, Op::TraceBuiltin],
            };
            self.emit_builtin(which, 1, op, number);
        }
        if let Some(Special::Equality { equal, not_equal }) = &plan.special {
            self.trace_redex(op, 1);
            self.asm.emit(inst(Op::Arg, 0, 1, 1 << 16));
            self.asm.emit(inst(Op::Arg, 0, 0, 0));
            self.asm.emit(inst3(Op::Equality, 0, 0, 0, 1));
            self.asm.emit(u64::from(equal.0) | u64::from(not_equal.0) << 32);
            self.trace_result(0);
            self.asm.emit(inst(Op::Return, 0, 0, 0));
            frame.size = 3;
        }
        let mut path = Path::new(vec![Known::ANY]);
        path.lazy[0] = plan.strategy.is_lazy();
        let info = &self.sy.info[op.index()];
        let by_arguments = info.class == Class::Cui
            && info.comm
            && info.identity.is_none()
            && !info.idem
            && !self.has_lazy
            && plan.rows.iter().all(|row| !row.collapsed);
        let mut rows: Vec<Row> = Vec::new();
        for row in &plan.rows {
            let equation = &self.module.equations[row.equation];
            let mut new = Row {
                index: row.equation,
                pending: Vec::new(),
                vars: Vec::new(),
                checks: Vec::new(),
                available: Vec::new(),
                whole: if row.collapsed { Whole::Portion } else { Whole::Joined { extension: true } },
            };
            if !by_arguments || !equation.condition.is_empty() {
                rows.push(new);
                continue;
            }
            // Both orders of the arguments, one after the other.
            new.whole = Whole::No;
            let lhs = &equation.lhs;
            let [first, second] = self.comm_order(lhs, lhs.root());
            for (x, y) in [(1, 2), (2, 1)] {
                let mut ordered = new.clone();
                self.add_pattern(&mut ordered, lhs, x, first);
                self.add_pattern(&mut ordered, lhs, y, second);
                rows.push(ordered);
                if lhs.same(first, lhs, second) {
                    break;
                }
            }
        }
        if rows.iter().any(|row| row.whole == Whole::No) {
            let first = path.take(2);
            path.set(first, Known::ANY);
            path.set(first + 1, Known::ANY);
            frame.note(path.top);
            self.load_arguments(first, 0, &[true, true], &[false, false]);
        }
        let no_match = self.asm.label();
        path.room = 4 * rows.len() + 32;
        self.rows(rows, path, Statements::Equations, no_match, &mut frame);
        self.asm.place(no_match);
        if !self.plans[op.index()].memberships.is_empty() {
            self.call_memberships(op, 0, 0);
        }
        self.asm.emit(inst(Op::Return, 0, 0, 0));
        self.patch_frame(enter, 1, &frame);
    }

    /// The places of the arguments of a commutative pattern in the order of matching.
    fn comm_order(&self, lhs: &Tree, place: usize) -> [usize; 2] {
        let args = lhs.args(place);
        let mut heap = Heap::new();
        for identity in &self.sy.identities {
            let term = heap.build(self.sy, self.names, identity);
            heap.consts.push(term);
        }
        let [x, y] = [0, 1].map(|i| heap.build(self.sy, self.names, &lhs.subtree(args[i])));
        let [first, second] =
            if heap.compare(self.sy, x, y).is_le() { [args[0], args[1]] } else { [args[1], args[0]] };
        let is_var = |place: usize| matches!(lhs.node(place), Node::Var(_));
        if is_var(first) && !is_var(second) { [second, first] } else { [first, second] }
    }

    /// Built-in behaviour comes before the user's equations.
    fn special_code(&mut self, op: OpId, path: &Path, frame: &mut Frame) {
        match &self.plans[op.index()].special {
            None | Some(Special::Counter(_) | Special::Constructor | Special::Other(_)) => {}
            Some(Special::Function(builtin)) => {
                self.builtins.push(builtin.clone());
                let number = self.builtins.len() as u32 - 1;
                self.emit_builtin([Op::Builtin, Op::TraceBuiltin], path.args, op, number);
            }
            Some(Special::Foreign) => self.asm.emit(inst(Op::Foreign, path.args, 0, op.0)),
            Some(Special::Equality { equal, not_equal }) => {
                self.trace_redex(op, path.args);
                self.asm.emit(inst3(Op::Equality, 0, 0, 0, 1));
                self.asm.emit(u64::from(equal.0) | u64::from(not_equal.0) << 32);
                self.trace_result(0);
                self.asm.emit(inst(Op::Return, 0, 0, 0));
            }
            Some(Special::SortTest { sort, yes, no }) => {
                let set = self.big_set(*sort);
                // Maude tries once more before it says no.
                self.asm.emit(inst3(Op::Resort, 0, 1, 0, set));
                self.asm.emit(1);
                self.trace_redex(op, path.args);
                self.asm.emit(inst3(Op::SortTest, 0, 0, 0, set));
                self.asm.emit(u64::from(yes.0) | u64::from(no.0) << 32);
                self.trace_result(0);
                self.asm.emit(inst(Op::Return, 0, 0, 0));
            }
            Some(Special::Branch { tests }) => {
                let tests = tests.clone();
                for (i, test) in tests.iter().enumerate() {
                    let next = self.asm.label();
                    self.asm.emit_to(Op::TestImm, 0, 0, next);
                    self.asm.emit(u64::from(test.0));
                    let chosen = i as Reg + 1;
                    self.trace_redex(op, path.args);
                    self.trace_result(chosen);
                    self.eval_args(&[u32::from(chosen)], path.args);
                    self.asm.emit(inst(Op::ReturnRw, 0, chosen, 0));
                    self.asm.place(next);
                }
                let others: Vec<u32> = (1..path.args as u32).collect();
                self.eval_args(&others, path.args);
            }
        }
        frame.size = frame.size.max(path.args as u32 + 2);
    }

    /// A built-in function; traced by the second of the operations.
    fn emit_builtin(&mut self, ops: [Op; 2], args: usize, op: OpId, number: u32) {
        if self.trace {
            self.asm.emit(inst(ops[1], args, 0, op.0));
            self.asm.emit(u64::from(number));
        } else {
            self.asm.emit(inst(ops[0], args, 0, number));
        }
    }

    fn eval_args(&mut self, args: &[u32], arity: usize) {
        for &arg in args {
            self.asm.emit(inst3(Op::Fresh, 0, arg as Reg, arg as Reg, 0));
            self.asm.emit(inst(Op::Eval, 0, arg as Reg, 0));
            self.asm.emit(((1u64 << arity.min(63)) - 1) | if arity >= 63 { 1 << 63 } else { 0 });
        }
    }

    /// No equation applies: the node itself is the result.
    fn build_and_return(&mut self, op: OpId, path: &Path, frame: &mut Frame) {
        let arity = path.args;
        if arity == 0 {
            self.asm.emit(inst(Op::LoadImm, 0, 0, self.sy.constant(op.0).0));
            let steps = self.constant_memberships.get(&op).cloned().unwrap_or_default();
            if !steps.is_empty() {
                // Not again inside their own conditions: Maude would not come to an end there.
                let end = self.asm.label();
                self.asm.emit_to(Op::TrialStart, 0, 0, end);
                self.asm.emit(u64::from(op.0));
                for step in steps {
                    self.constant_step(step, frame);
                }
                self.asm.emit(inst(Op::TrialEnd, 0, 0, 0));
                self.asm.place(end);
            }
        } else {
            let sorts = path.known[..arity].to_vec();
            self.emit_build(op, 0, arity, &sorts);
        }
        if !self.plans[op.index()].memberships.is_empty() && arity > 0 {
            self.call_memberships(op, 0, 0);
        }
        frame.size = frame.size.max(arity as u32 + 1);
        self.asm.emit(inst(Op::Return, 0, 0, 0));
    }

    pub(super) fn patch_frame(&mut self, enter: usize, arity: usize, frame: &Frame) {
        let size = Reg::try_from(frame.size).expect("frames stay below 65,536 registers");
        let next = self.asm.words.get(enter + 1).map(|&word| op(word));
        let which = match next {
            _ if size > 63 => Op::EnterBig,
            Some(Op::Switch) => Op::EnterSwitch,
            _ => Op::Enter,
        };
        self.asm.words[enter] = inst(which, arity, size, 0);
        for at in std::mem::take(&mut self.yield_places) {
            self.asm.words[at] |= u64::from(size) << 32;
        }
        self.enters.push(enter as u32);
    }

    /// `a <- op(a..a+n)` with the sort known if it can be.
    pub(super) fn emit_build(&mut self, op: OpId, a: Reg, n: usize, sorts: &[Known]) {
        match self.static_sort(op, sorts) {
            Some(sort) if n <= 47 => {
                self.asm.emit(inst(Op::Build, n, a, crate::term::header(op.0, n as u32, sort)));
            }
            _ => self.asm.emit(inst(Op::BuildSort, n, a, op.0)),
        }
    }

    /// The sort of `op` over arguments with known sorts, if it is always the same.
    pub(super) fn static_sort(&self, op: OpId, sorts: &[Known]) -> Option<u32> {
        let domain = &self.sig.op(op).domain;
        let sets: Vec<Vec<u32>> =
            sorts.iter().zip(domain).map(|(known, &kind)| known.indices(self.sig, kind)).collect();
        if sets.iter().any(Vec::is_empty) {
            // What follows a check that always fails is never run.
            return None;
        }
        if sets.iter().map(Vec::len).try_fold(1usize, |p, n| p.checked_mul(n)).is_none_or(|p| p > 256) {
            return None;
        }
        let diagram = self.sig.diagram(op);
        let mut choice = vec![0; sets.len()];
        let mut result = None;
        loop {
            let sort = diagram.sort(choice.iter().zip(&sets).map(|(&i, set)| set[i]));
            if result.is_some_and(|r| r != sort) {
                return None;
            }
            result = Some(sort);
            let Some(place) = (0..sets.len()).find(|&i| choice[i] + 1 < sets[i].len()) else {
                return result;
            };
            choice[..place].fill(0);
            choice[place] += 1;
        }
    }
}
