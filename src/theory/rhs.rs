//! Terms to code: right-hand sides and the terms inside conditions.
//!
//! Arguments are evaluated left to right into consecutive registers, so no redex is ever built.
//! What occurs several times is evaluated once (`sharing`), numbers are calculated with in place
//! (`arithmetic`), of the arguments of `if_then_else_fi` only one is evaluated (`branch`), and the
//! last action of an equation is a jump (`tail`).

use crate::builtin::Special;
use crate::sorts::{Node, OpId, Tree, Var};
use crate::term::{Class, SMALL_MAX, Term, header};
use num_bigint::BigUint;
use num_traits::ToPrimitive;

use super::TraceStep;
use super::code::{Label, Op, PACKED_MAX, Reg, inst, inst3, pack};
use super::collections::reduce_parts;
use super::compile::{Compiler, is_joined};
use super::known::Known;
use super::leaf::Leaf;
use super::path::Frame;
use super::rows::Statements;

impl Compiler<'_> {
    /// Commits to an equation and evaluates its right-hand side as the last action.
    pub(super) fn right_hand_side(&mut self, index: usize, leaf: &mut Leaf, frame: &mut Frame) {
        let mut rhs = self.module.equations[index].rhs.clone();
        if let Some(shorter) = self.reuse_collector(&rhs, leaf, frame, false) {
            rhs = shorter;
        }
        if let Some((op, vars)) = &leaf.parts {
            rhs = reduce_parts(&rhs, *op, vars);
        }
        self.need_vars(&rhs.vars(), leaf, frame);
        self.check_collector(leaf, frame);
        let root = rhs.root();
        if leaf.has_extension() {
            // What an extension left goes around the result.
            let rest = leaf.path.take(2);
            if let Some(choice) = leaf.rest_of {
                self.asm.emit(inst3(Op::LoadRest, 0, rest, choice, 0));
            } else if let Some(found) = leaf.rest {
                self.asm.emit(inst3(Op::Move, 0, rest, found, 0));
                self.asm.emit(inst(Op::LoadImm, 0, rest + 1, Term::NONE.0));
            } else {
                self.extension_rest(rest, leaf);
                self.asm.emit(inst(Op::LoadImm, 0, rest + 1, Term::NONE.0));
            }
            leaf.path.set(rest, Known::ANY);
            leaf.path.set(rest + 1, Known::ANY);
            frame.note(leaf.path.top);
            leaf.traced_rest = Some(rest);
            self.trace_step(Statements::Equations, index, TraceStep::Apply, leaf);
            self.release(leaf);
            let whole = self.asm.label();
            self.asm.emit_to(Op::IfWhole, 0, rest, whole);
            let sym = self.current;
            let is_lazy = self.plans[sym.index()].strategy.is_lazy();
            if self.sy.class(sym.0) == Class::AssocComm && !is_lazy {
                // As in Maude, what is left of a multiset is a term of its own, and reduced first.
                self.call_joined(sym, rest, 0, leaf);
                self.asm.emit(inst(Op::LoadImm, 0, rest + 1, Term::NONE.0));
            }
            let (pending, available) = (leaf.pending.clone(), leaf.available.len());
            let values = leaf.values.len();
            let saved = leaf.path.clone();
            leaf.pending.extend([rest, rest + 1]);
            let slot = if is_lazy {
                // The result is an argument now, and left alone as such.
                let slot = leaf.path.top;
                self.thunk(&rhs, root, slot, leaf, frame);
                slot
            } else {
                self.make_room(&rhs, leaf, frame);
                self.start_uses(&rhs, leaf);
                self.hoist(&rhs, root, leaf, frame);
                let slot = leaf.path.top;
                self.value(&rhs, root, slot, leaf, frame);
                slot
            };
            self.asm.emit(inst3(Op::WithRest, 0, slot, rest, 0));
            self.asm.emit(u64::from(sym.0));
            if self.may_uncover(sym) {
                self.call_joined(sym, slot, root, leaf);
                self.asm.emit(inst(Op::ReturnRw, 0, slot, 0));
            } else {
                let code = self.checked[sym.index()];
                self.asm.emit_to(Op::TailTop, 1, slot, code);
                self.asm.emit(u64::from(sym.0));
            }
            frame.note(slot + 1);
            leaf.pending = pending;
            leaf.available.truncate(available);
            leaf.values.truncate(values);
            leaf.path = saved;
            self.asm.place(whole);
        } else {
            self.release(leaf);
        }
        self.make_room(&rhs, leaf, frame);
        self.start_uses(&rhs, leaf);
        self.hoist(&rhs, root, leaf, frame);
        self.tail(&rhs, root, leaf, frame);
    }

    fn release(&mut self, leaf: &Leaf) {
        if let Some(&choice) = leaf.choices.first() {
            self.asm.emit(inst(Op::Release, 0, choice, 0));
        }
    }

    /// Code that leaves the value of a subterm in register `slot`; registers from `slot` on are
    /// free.
    pub(super) fn value(
        &mut self,
        tree: &Tree,
        at: usize,
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> Known {
        frame.note(slot + 1);
        if let Some(imm) = self.immediate(tree, at) {
            self.asm.emit(inst(Op::LoadImm, 0, slot, imm.0));
            return if imm.is_small() {
                self.known_number(imm)
            } else {
                Known::exactly(self.sy.info[imm.payload() as usize].constant_sort)
            };
        }
        if !matches!(tree.node(at), Node::Var(_)) && self.is_ground_value(tree, at) {
            let constant = self.constant(&tree.subtree(at));
            self.asm.emit(inst(Op::LoadConst, 0, slot, constant));
            return Known::ANY;
        }
        if let Node::Str { op, .. } | Node::Qid { op, .. } | Node::Float { op, .. } = *tree.node(at) {
            let constant = self.constant(&tree.subtree(at));
            self.asm.emit(inst(Op::LoadCopy, 0, slot, constant));
            if self.plans[op.index()].rows.is_empty() {
                let mask = self.mask(at, leaf);
                self.call_memberships(op, slot, mask);
            } else {
                self.call_joined(op, slot, at, leaf);
            }
            return Known::ANY;
        }
        let is_known = matches!(tree.node(at), Node::Var(_))
            || leaf.available.iter().any(|(key, _)| key == &tree.nodes()[tree.range(at)]);
        if is_known {
            let (reg, known) = self.operand(tree, at, slot, leaf, frame);
            if reg != slot {
                self.asm.emit(inst3(Op::Move, 0, slot, reg, 0));
            }
            return known;
        }
        match tree.node(at).clone() {
            Node::App { op, .. } => self.application(tree, at, op, slot, leaf, frame),
            Node::Iter { op, .. } => self.iterate(tree, at, op, slot, leaf, frame),
            _ => unreachable!("literals and variables are done"),
        }
    }

    /// The register that will hold the value: a variable's own, or `slot` after code that
    /// evaluates the term into it.
    pub(super) fn operand(
        &mut self,
        tree: &Tree,
        at: usize,
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> (Reg, Known) {
        match tree.node(at) {
            Node::Var(var) => {
                let mut reg = leaf.vars.iter().find(|(v, _)| v == var).expect("bound").1;
                let is_lazy = self.has_lazy && leaf.path.lazy[reg as usize];
                let is_tower = |t: &&(Var, OpId, bool)| t.0 == *var && (t.2 || is_lazy);
                let tower = leaf.towers.iter().find(is_tower).copied();
                if is_lazy || tower.is_some() {
                    let mut term = reg;
                    reg = leaf.values.iter().find(|(v, _)| v == var).expect("made room for").1;
                    let has_value = !std::mem::replace(&mut leaf.path.lazy[reg as usize], false);
                    if is_lazy && !has_value {
                        self.asm.emit(inst3(Op::Fresh, 0, reg, term, 0));
                        self.asm.emit(inst(Op::Eval, 0, reg, 0));
                        let mask = self.mask(at, leaf);
                        self.asm.emit(mask | if reg < 63 { 1 << reg } else { 0 });
                        term = reg;
                    }
                    if let Some((_, op, _)) = tower.filter(|_| !has_value) {
                        frame.note(slot + 1);
                        self.asm.emit(inst3(Op::Move, 0, slot, term, 0));
                        self.call_joined(op, slot, at, leaf);
                        self.asm.emit(inst3(Op::Move, 0, reg, slot, 0));
                    }
                }
                (reg, leaf.path.known[reg as usize])
            }
            _ => {
                let nodes = &tree.nodes()[tree.range(at)];
                if let Some(&(_, reg)) = leaf.available.iter().find(|(key, _)| key == nodes) {
                    return (reg, leaf.path.known[reg as usize]);
                }
                let known = self.value(tree, at, slot, leaf, frame);
                (slot, known)
            }
        }
    }

    /// A term that is one word and needs no evaluation.
    pub(super) fn immediate(&self, tree: &Tree, at: usize) -> Option<Term> {
        match tree.node(at) {
            Node::App { op, arity: 0 } if op.0 == self.sy.numbers.zero => {
                self.plans[op.index()].rows.is_empty().then_some(Term::small(0))
            }
            Node::App { op, arity: 0 } if self.plans[op.index()].is_plain() => Some(Term::constant(op.0)),
            // Equations of the successor apply to literals, too.
            Node::Iter { op, count } if op.0 == self.sy.numbers.succ && !self.sy.numbers.computed => {
                let base = tree.args(at)[0];
                let is_zero = tree.node(base).op().is_some_and(|op| op.0 == self.sy.numbers.zero);
                let count = count.to_u32().filter(|&count| count < SMALL_MAX && is_zero)?;
                Some(Term::small(count))
            }
            _ => None,
        }
    }

    /// What is known of the sort of a small natural.
    pub(super) fn known_number(&self, number: Term) -> Known {
        let numbers = &self.sy.numbers;
        if numbers.decided { Known::ANY } else { Known::exactly(numbers.sort_of(number.payload())) }
    }

    /// Is the subterm ground and made of constructors only? Then it can be built beforehand.
    pub(super) fn is_ground_value(&self, tree: &Tree, at: usize) -> bool {
        tree.nodes()[tree.range(at)].iter().all(|node| match node {
            Node::Var(_) => false,
            Node::App { op, .. }
            | Node::Iter { op, .. }
            | Node::Str { op, .. }
            | Node::Qid { op, .. }
            | Node::Float { op, .. } => self.plans[op.index()].is_plain(),
        })
    }

    fn application(
        &mut self,
        tree: &Tree,
        at: usize,
        op: OpId,
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> Known {
        let args = tree.args(at);
        if let Some(Special::Branch { tests }) = &self.plans[op.index()].special
            && self.plans[op.index()].rows.is_empty()
            && !self.trace
        {
            let tests = tests.clone();
            self.branch(tree, at, &tests, slot, leaf, frame, false);
            return Known::ANY;
        }
        if let Some(selector) = self.selector(tree, at, op) {
            self.select(tree, at, &selector, slot, leaf, frame, false);
            return Known::ANY;
        }
        if args.is_empty() {
            let mask = self.mask(at, leaf);
            let code = self.checked[op.index()];
            self.asm.emit_to(Op::Call, 0, slot, code);
            self.asm.emit(mask);
            return Known::ANY;
        }
        if let Some(known) = self.inline_special(tree, at, op, slot, leaf, frame) {
            return known;
        }
        let joined = is_joined(self.sy, op.0);
        let plain = self.only_builds(tree, at, op, leaf);
        if !joined && plain && args.len() <= 3 && self.is_eager(op) {
            return self.small_node(tree, at, op, slot, leaf, frame, false);
        }
        if op.0 == self.sy.numbers.succ && self.plans[op.index()].is_plain() {
            return self.successors(tree, at, 1, slot, leaf, frame);
        }
        if !joined && !plain && args.len() <= PACKED_MAX && self.is_eager(op) {
            let (regs, knowns) = self.operands(&args, tree, slot, leaf, frame);
            let mask = self.mask(at, leaf);
            let code = self.entry(op, &knowns);
            let done = self.is_remembered(tree, at, op, leaf).then(|| self.asm.label());
            if let Some(done) = done {
                self.asm.emit_to(Op::Recall, args.len(), slot, done);
                self.asm.emit(pack(&regs));
                self.asm.emit(u64::from(op.0));
            }
            let which = [Op::Call1, Op::Call2, Op::Call3, Op::Call4][args.len() - 1];
            self.asm.emit_to(which, args.len(), slot, code);
            self.asm.emit(pack(&regs));
            self.asm.emit(mask);
            if let Some(done) = done {
                self.asm.emit(inst(Op::Remember, 0, slot, 0));
                self.asm.place(done);
            }
            return self.result_known(op, &knowns);
        }
        if joined && self.edit(tree, &args, op, slot, leaf, frame) {
            return Known::ANY;
        }
        let knowns = self.arguments(&args, tree, op, slot, leaf, frame);
        if joined {
            self.emit_join(op, args.len(), slot, 3);
            self.call_joined(op, slot, at, leaf);
            return Known::ANY;
        }
        if plain {
            self.emit_build(op, slot, args.len(), &knowns);
            return self.static_sort(op, &knowns).map_or(Known::ANY, Known::exactly);
        }
        let mask = self.mask(at, leaf);
        let code = self.entry(op, &knowns);
        self.asm.emit_to(Op::Call, args.len().min(255), slot, code);
        self.asm.emit(mask);
        Known::ANY
    }

    /// Is the application at `at` in normal form once its arguments are? Because of its operator, or
    /// because a pattern has matched it.
    pub(super) fn only_builds(&self, tree: &Tree, at: usize, op: OpId, leaf: &Leaf) -> bool {
        let plan = &self.plans[op.index()];
        plan.is_plain()
            || !self.has_lazy
                && self.sy.class(op.0) == Class::Free
                && plan.memberships.is_empty()
                && plan.special.is_none()
                && leaf.normal.iter().any(|pattern| pattern == &tree.nodes()[tree.range(at)])
    }

    /// Evaluates arguments, each where it is or into the next register from `slot` on.
    pub(super) fn operands(
        &mut self,
        args: &[usize],
        tree: &Tree,
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> (Vec<Reg>, Vec<Known>) {
        let (mut regs, mut knowns, mut held) = (Vec::new(), Vec::new(), 0);
        for &arg in args {
            let target = slot + held as Reg;
            let (reg, known) = self.operand(tree, arg, target, leaf, frame);
            regs.push(reg);
            knowns.push(known);
            if reg == target {
                leaf.pending.push(reg);
                held += 1;
            }
        }
        leaf.pending.truncate(leaf.pending.len() - held);
        frame.note(slot + PACKED_MAX.max(held) as Reg);
        (regs, knowns)
    }

    /// The entry for arguments with known sorts.
    pub(super) fn entry(&self, op: OpId, knowns: &[Known]) -> Label {
        let assumed = &self.plans[op.index()].assumed;
        let fits = knowns.iter().zip(assumed).all(|(known, assumed)| known.is_subset(*assumed));
        if fits { self.fast[op.index()] } else { self.checked[op.index()] }
    }

    /// Evaluates arguments into consecutive registers from `slot` on; arguments that the
    /// operator's strategy leaves alone become terms that are not reduced.
    pub(super) fn arguments(
        &mut self,
        args: &[usize],
        tree: &Tree,
        op: OpId,
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> Vec<Known> {
        let eager = self.plans[op.index()].strategy.segments.first().cloned().unwrap_or_default();
        let is_lazy = self.plans[op.index()].strategy.is_lazy();
        // What has been evaluated is not evaluated again in a branch.
        let is_branch = matches!(self.plans[op.index()].special, Some(Special::Branch { .. }));
        let all = self.is_eager(op) || is_joined(self.sy, op.0) && !is_lazy;
        let mut knowns = Vec::with_capacity(args.len());
        for (i, &arg) in args.iter().enumerate() {
            let target = slot + i as Reg;
            let known = if all || eager.contains(&(i as u32)) {
                self.value(tree, arg, target, leaf, frame)
            } else {
                let nodes = &tree.nodes()[tree.range(arg)];
                match leaf.available.iter().find(|(key, _)| is_branch && key == nodes) {
                    Some(&(_, reg)) => self.asm.emit(inst3(Op::Move, 0, target, reg, 0)),
                    None => self.thunk(tree, arg, target, leaf, frame),
                }
                Known::ANY
            };
            knowns.push(known);
            leaf.pending.push(target);
        }
        leaf.pending.truncate(leaf.pending.len() - args.len());
        knowns
    }

    /// A constructor over up to three arguments, taken from where they are.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn small_node(
        &mut self,
        tree: &Tree,
        at: usize,
        op: OpId,
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
        is_last: bool,
    ) -> Known {
        let args = tree.args(at);
        let (mut regs, knowns) = self.operands(&args, tree, slot, leaf, frame);
        if let [_, _, _] = regs[..] {
            let sort = self.static_sort(op, &knowns);
            let which = if sort.is_some() { Op::Build3 } else { Op::BuildSort3 };
            self.asm.emit(inst(which, 0, slot, 0));
            self.asm.emit(u64::from(sort.map_or(op.0, |sort| header(op.0, 3, sort))));
            self.asm.emit(pack(&regs));
            if is_last {
                self.asm.emit(inst(Op::ReturnRw, 0, slot, 0));
            }
            return sort.map_or(Known::ANY, Known::exactly);
        }
        regs.resize(2, 0);
        let Some(sort) = self.static_sort(op, &knowns) else {
            self.asm.emit(inst3(
                if args.len() == 1 { Op::BuildSort1 } else { Op::BuildSort2 },
                0,
                slot,
                regs[0],
                regs[1],
            ));
            self.asm.emit(u64::from(op.0));
            if is_last {
                self.asm.emit(inst(Op::ReturnRw, 0, slot, 0));
            }
            return Known::ANY;
        };
        let head = header(op.0, args.len() as u32, sort);
        let which = match (args.len(), is_last) {
            (1, false) => Op::Build1,
            (1, true) => Op::ReturnBuild1,
            (_, false) => Op::Build2,
            (_, true) => Op::ReturnBuild2,
        };
        self.asm.emit(inst3(which, 0, slot, regs[0], regs[1]));
        self.asm.emit(u64::from(head));
        Known::exactly(sort)
    }

    /// Joins values under an operator with axioms. If the others vanish the result is one of them, which
    /// is reduced: then the call that follows, of so many words, is skipped. (Part of a list is a new
    /// term for Maude, which it reduces again.)
    pub(super) fn emit_join(&mut self, op: OpId, count: usize, slot: Reg, call: u64) {
        let is_list = self.sy.class(op.0) == Class::Assoc;
        let has_call = !self.plans[op.index()].is_plain() && count > 1 && !is_list && !self.has_lazy;
        self.asm.emit(inst(Op::Join, count.min(255), slot, op.0));
        self.asm.emit(count as u64 | (call * u64::from(has_call)) << 32);
    }

    /// After joining: equations at the top of an operator with axioms.
    pub(super) fn call_joined(&mut self, op: OpId, slot: Reg, at: usize, leaf: &Leaf) {
        if self.plans[op.index()].is_plain() {
            return;
        }
        let mask = self.mask(at, leaf);
        let code = self.checked[op.index()];
        let collapsed = self.may_uncover(op).then(|| self.asm.label());
        if let Some(collapsed) = collapsed {
            self.asm.emit_to(Op::TestSym, 0, slot, collapsed);
            self.asm.emit(u64::from(op.0));
        }
        self.asm.emit_to(Op::CallTop, 1, slot, code);
        self.asm.emit(u64::from(op.0));
        self.asm.emit(mask);
        if let Some(collapsed) = collapsed {
            let done = self.asm.label();
            self.asm.emit_to(Op::Jump, 0, 0, done);
            self.asm.place(collapsed);
            self.asm.emit(inst3(Op::Fresh, 0, slot, slot, 0));
            self.asm.emit(inst(Op::Eval, 0, slot, 0));
            self.asm.emit(mask | if slot < 63 { 1 << slot } else { 0 });
            self.asm.place(done);
        }
    }

    /// Does the operator leave its arguments alone, of which one may be all that is left after joining?
    /// That one is then evaluated.
    pub(super) fn may_uncover(&self, op: OpId) -> bool {
        let info = &self.sy.info[op.index()];
        self.plans[op.index()].strategy.is_lazy() && (info.identity.is_some() || info.idem)
    }

    /// `f^n(t)` for n > 1: the count as a constant, then the machine's own normalization.
    fn iterate(
        &mut self,
        tree: &Tree,
        at: usize,
        op: OpId,
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> Known {
        let Node::Iter { count, .. } = tree.node(at) else { unreachable!("called for iterations") };
        if op.0 == self.sy.numbers.succ
            && self.plans[op.index()].is_plain()
            && let Some(count) = count.to_u16()
        {
            return self.successors(tree, at, count, slot, leaf, frame);
        }
        let arg = tree.args(at)[0];
        if self.plans[op.index()].strategy.is_lazy() {
            self.thunk(tree, arg, slot, leaf, frame);
        } else {
            self.value(tree, arg, slot, leaf, frame);
        }
        self.emit_iterate(op, count, slot, false);
        self.call_joined(op, slot, at, leaf);
        Known::ANY
    }

    /// Counts in programs are small; of a larger one the digits follow.
    fn emit_iterate(&mut self, op: OpId, count: &BigUint, slot: Reg, is_left: bool) {
        self.asm.emit(inst(Op::Iterate, usize::from(is_left), slot, op.0));
        if let Some(count) = count.to_u32().filter(|&count| count < SMALL_MAX) {
            self.asm.emit(u64::from(count));
            return;
        }
        let digits = count.to_u32_digits();
        self.asm.emit((digits.len() as u64) << 32);
        digits.into_iter().for_each(|digit| self.asm.emit(u64::from(digit)));
    }

    /// `s^count(t)` where the successor only builds.
    fn successors(
        &mut self,
        tree: &Tree,
        at: usize,
        count: u16,
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> Known {
        let op = tree.node(at).op().expect("a successor");
        let (reg, known) = self.operand(tree, tree.args(at)[0], slot, leaf, frame);
        let after = self.asm.label();
        self.asm.emit(inst3(Op::Succ, 0, slot, reg, count));
        self.asm.emit_case(0, after);
        if reg != slot {
            self.asm.emit(inst3(Op::Move, 0, slot, reg, 0));
        }
        self.asm.emit(inst(Op::Iterate, 0, slot, op.0));
        self.asm.emit(u64::from(count));
        self.asm.place(after);
        self.declared(op, &[known])
    }

    /// What is known of the result of an operator that keeps to its declarations.
    pub(super) fn declared(&self, op: OpId, args: &[Known]) -> Known {
        let sig = self.sig;
        let domain = &sig.op(op).domain;
        let kind = sig.sorts.kind(sig.op(op).range);
        if kind.sorts.len() > 64 {
            return Known::ANY;
        }
        let sets: Vec<Vec<u32>> = args.iter().zip(domain).map(|(k, &kind)| k.indices(sig, kind)).collect();
        // What follows a check that always fails is never run.
        if !(1..=256).contains(&sets.iter().map(Vec::len).product::<usize>()) {
            return Known::ANY;
        }
        let diagram = sig.diagram(op);
        let mut result = Known(0);
        let mut choice = vec![0; sets.len()];
        loop {
            let sort = diagram.sort(choice.iter().zip(&sets).map(|(&i, set)| set[i]));
            result = if sort == 0 { Known::ANY } else { result.union(Known(kind.below(sort)[0])) };
            if result == Known::ANY {
                return result;
            }
            let Some(place) = (0..sets.len()).find(|&i| choice[i] + 1 < sets[i].len()) else {
                return result;
            };
            choice[..place].fill(0);
            choice[place] += 1;
        }
    }

    /// A term that is built but not evaluated. Its equal subterms are one, as in Maude: each is
    /// evaluated once when the whole is.
    pub(super) fn thunk(&mut self, tree: &Tree, at: usize, slot: Reg, leaf: &mut Leaf, frame: &mut Frame) {
        self.build_unreduced(tree, at, false, slot, leaf, frame);
    }

    /// The same for a right-hand side that is left as it is: where it would be evaluated, it takes
    /// what a condition has evaluated.
    pub(super) fn unreduced_result(&mut self, tree: &Tree, slot: Reg, leaf: &mut Leaf, frame: &mut Frame) {
        self.build_unreduced(tree, tree.root(), true, slot, leaf, frame);
    }

    fn build_unreduced(
        &mut self,
        tree: &Tree,
        at: usize,
        is_eager: bool,
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) {
        let eager = if is_eager { self.eager_places(tree, at) } else { Vec::new() };
        let mut built: Vec<Built> = Vec::new();
        for (number, place) in self.repeated_inside(tree, at, &eager).into_iter().enumerate() {
            let target = slot + number as Reg;
            self.build_over(tree, place, target, &eager, &built, leaf, frame);
            let is_eager = eager.contains(&place);
            built.push(Built { nodes: tree.nodes()[tree.range(place)].to_vec(), is_eager, reg: target });
        }
        let target = slot + built.len() as Reg;
        self.build_over(tree, at, target, &eager, &built, leaf, frame);
        if target != slot {
            self.asm.emit(inst3(Op::Move, 0, slot, target, 0));
        }
    }

    /// The unreduced term at `at`, of which some subterms are built.
    #[allow(clippy::too_many_arguments)]
    fn build_over(
        &mut self,
        tree: &Tree,
        at: usize,
        slot: Reg,
        eager: &[usize],
        built: &[Built],
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) {
        frame.note(slot + 1);
        let is_eager = eager.contains(&at);
        let nodes = &tree.nodes()[tree.range(at)];
        if let Node::Var(var) = tree.node(at) {
            let has_value = |(v, reg): &&(Var, Reg)| v == var && !leaf.path.lazy[*reg as usize];
            let value = leaf.values.iter().find(has_value).filter(|_| is_eager);
            let (_, reg) = value.or(leaf.vars.iter().find(|(v, _)| v == var)).expect("bound");
            self.asm.emit(inst3(Op::Move, 0, slot, *reg, 0));
            return;
        }
        let is_literal = matches!(tree.node(at), Node::Str { .. } | Node::Qid { .. } | Node::Float { .. });
        if let Some(op) =
            tree.node(at).op().filter(|op| is_literal && !self.plans[op.index()].rows.is_empty())
        {
            let constant = self.constant(&tree.subtree(at));
            self.asm.emit(inst(Op::LoadCopy, 0, slot, constant));
            self.asm.emit(inst(Op::Thunk, 0, slot, op.0));
            self.asm.emit(0);
            return;
        }
        if is_literal || self.immediate(tree, at).is_some() || self.is_ground_value(tree, at) {
            self.value(tree, at, slot, leaf, frame);
            return;
        }
        let value = leaf.available.iter().find(|(key, _)| is_eager && key == nodes).map(|a| a.1);
        let same = built.iter().find(|b| b.is_eager == is_eager && b.nodes == nodes).map(|b| b.reg);
        if let Some(reg) = value.or(same) {
            self.asm.emit(inst3(Op::Move, 0, slot, reg, 0));
            return;
        }
        let args = tree.args(at);
        for (i, &arg) in args.iter().enumerate() {
            self.build_over(tree, arg, slot + i as Reg, eager, built, leaf, frame);
        }
        match tree.node(at).clone() {
            Node::Iter { op, count } => self.emit_iterate(op, &count, slot, true),
            Node::App { op, .. } => {
                self.asm.emit(inst(Op::Thunk, args.len().min(255), slot, op.0));
                self.asm.emit(args.len() as u64);
            }
            _ => unreachable!("literals are ground values"),
        }
    }
}

/// A subterm that is built once.
struct Built {
    nodes: Vec<Node>,
    /// Where it would be evaluated, or where it is left alone? Both are apart, as in Maude.
    is_eager: bool,
    reg: Reg,
}
