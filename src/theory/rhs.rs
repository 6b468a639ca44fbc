//! Terms to code: right-hand sides and the terms inside conditions.
//!
//! Arguments are evaluated left to right into consecutive registers, so no redex is ever built.
//! Subterms that occur several times are evaluated once, as Maude does (its rewrite counts show
//! it). The last action of an equation is a jump; `c(t, f(u))` with a constructor `c` allocates
//! its node first and fills the hole when `f` returns, so that list functions need no stack.

use crate::builtin::{Builtin, Fast, Special};
use crate::module::Fragment;
use crate::sorts::{Node, OpId, Tree};
use crate::term::{Class, NO_SYM, SMALL_MAX, Term, header};
use num_traits::ToPrimitive;

use super::code::{Label, Op, PACKED_MAX, Reg, inst, inst3, pack};
use super::collections::reduce_parts;
use super::compile::{Compiler, Frame, Leaf, is_joined};
use super::known::Known;

impl Compiler<'_> {
    /// Commits to an equation and evaluates its right-hand side as the last action.
    pub(super) fn right_hand_side(&mut self, index: usize, leaf: &mut Leaf, frame: &mut Frame) {
        let mut rhs = self.module.equations[index].rhs.clone();
        if let Some(shorter) = self.reuse_collector(&rhs, leaf, frame) {
            rhs = shorter;
        }
        if let Some((op, vars)) = &leaf.parts {
            rhs = reduce_parts(&rhs, *op, vars);
        }
        self.need_vars(&rhs.vars(), leaf, frame);
        self.check_collector(leaf, frame);
        let root = rhs.root();
        if leaf.rest_of.is_some() || leaf.has_rest {
            // What an extension left goes around the result.
            let rest = leaf.path.take(2);
            if let Some(choice) = leaf.rest_of {
                self.asm.emit(inst3(Op::LoadRest, 0, rest, choice, 0));
            } else {
                self.extension_rest(rest, leaf);
                self.asm.emit(inst(Op::LoadImm, 0, rest + 1, Term::NONE.0));
            }
            leaf.path.set(rest, Known::ANY);
            leaf.path.set(rest + 1, Known::ANY);
            frame.note(leaf.path.top);
            self.release(leaf);
            let whole = self.asm.label();
            self.asm.emit_to(Op::IfWhole, 0, rest, whole);
            let lhs = &self.module.equations[index].lhs;
            let sym = lhs.node(lhs.root()).op().expect("a pattern with extension has an operator");
            if self.sy.class(sym.0) == Class::AssocComm {
                // As in Maude, what is left of a multiset is a term of its own, and reduced first.
                self.call_joined(sym, rest, 0, leaf);
                self.asm.emit(inst(Op::LoadImm, 0, rest + 1, Term::NONE.0));
            }
            let (pending, available) = (leaf.pending.clone(), leaf.available.len());
            let saved = leaf.path.clone();
            leaf.pending.extend([rest, rest + 1]);
            self.start_uses(&rhs, leaf);
            self.hoist(&rhs, root, leaf, frame);
            let slot = leaf.path.top;
            self.value(&rhs, root, slot, leaf, frame);
            self.asm.emit(inst3(Op::WithRest, 0, slot, rest, 0));
            self.asm.emit(u64::from(sym.0));
            let code = self.checked[sym.index()];
            self.asm.emit_to(Op::TailTop, 1, slot, code);
            self.asm.emit(u64::from(sym.0));
            frame.note(slot + 1);
            leaf.pending = pending;
            leaf.available.truncate(available);
            leaf.path = saved;
            self.asm.place(whole);
        } else {
            self.release(leaf);
        }
        self.start_uses(&rhs, leaf);
        self.hoist(&rhs, root, leaf, frame);
        self.tail(&rhs, root, leaf, frame);
    }

    fn release(&mut self, leaf: &Leaf) {
        if let Some(&choice) = leaf.choices.first() {
            self.asm.emit(inst(Op::Release, 0, choice, 0));
        }
    }

    /// Notes where each register is used last, so that calls keep only what is needed.
    fn start_uses(&self, rhs: &Tree, leaf: &mut Leaf) {
        let mut parent = vec![usize::MAX; rhs.len()];
        for at in 0..rhs.len() {
            for arg in rhs.args(at) {
                parent[arg] = at;
            }
        }
        let mut uses: Vec<(Reg, usize)> = Vec::new();
        let mut note = |reg: Reg, at: usize| match uses.iter_mut().find(|u| u.0 == reg) {
            Some(u) => u.1 = u.1.max(at),
            None => uses.push((reg, at)),
        };
        for at in 0..rhs.len() {
            match rhs.node(at) {
                Node::Var(var) => {
                    if let Some(&(_, reg)) = leaf.vars.iter().find(|(v, _)| v == var) {
                        note(reg, parent[at]);
                    }
                }
                _ => {
                    let nodes = &rhs.nodes()[rhs.range(at)];
                    for (_, reg) in leaf.available.iter().filter(|(key, _)| key == nodes) {
                        note(*reg, parent[at]);
                    }
                }
            }
        }
        leaf.last_use = Some(uses);
    }

    /// The registers that must survive a call made for the node at `at`.
    fn mask(&self, at: usize, leaf: &Leaf) -> u64 {
        let mut mask = 1u64 << 63;
        let mut add = |reg: Reg| {
            if reg < 63 {
                mask |= 1 << reg;
            }
        };
        match &leaf.last_use {
            None => (0..leaf.path.top).filter(|&r| leaf.path.ready[r as usize]).for_each(&mut add),
            Some(uses) => uses.iter().filter(|u| u.1 > at).for_each(|u| add(u.0)),
        }
        leaf.pending.iter().for_each(|&r| add(r));
        mask
    }

    /// The subterms that occur more than once in eager positions of a condition and a right-hand
    /// side.
    pub(super) fn shared_subterms(&self, condition: &[Fragment], rhs: &Tree) -> Vec<Vec<Node>> {
        let mut trees: Vec<&Tree> = Vec::new();
        for fragment in condition {
            match fragment {
                Fragment::Equal(a, b) => trees.extend([a, b]),
                Fragment::Match(_, t) | Fragment::Sort(t, _) | Fragment::Rewrite(t, _) => trees.push(t),
            }
        }
        trees.push(rhs);
        let mut seen: Vec<&[Node]> = Vec::new();
        let mut shared: Vec<Vec<Node>> = Vec::new();
        for tree in trees {
            self.count_shared(tree, tree.root(), &mut seen, &mut shared);
        }
        shared
    }

    fn count_shared<'t>(
        &self,
        tree: &'t Tree,
        root: usize,
        seen: &mut Vec<&'t [Node]>,
        shared: &mut Vec<Vec<Node>>,
    ) {
        if tree.range(root).len() > 2000 {
            // Programs written as one huge term: sharing would be searched for in vain.
            return;
        }
        for at in self.eager_places(tree, root) {
            if tree.node(at).arity() == 0 {
                continue;
            }
            let nodes = &tree.nodes()[tree.range(at)];
            if !seen.contains(&nodes) {
                seen.push(nodes);
            } else if !shared.iter().any(|s| s == nodes) {
                shared.push(nodes.to_vec());
            }
        }
        // What is evaluated for certain is not evaluated again in a branch.
        let eager = self.eager_places(tree, root);
        for at in tree.range(root) {
            let nodes = &tree.nodes()[tree.range(at)];
            if tree.node(at).arity() > 0
                && eager.binary_search(&at).is_err()
                && seen.contains(&nodes)
                && !shared.iter().any(|s| s == nodes)
            {
                shared.push(nodes.to_vec());
            }
        }
    }

    /// Places that are evaluated for certain when the term is: inner ones first.
    fn eager_places(&self, tree: &Tree, root: usize) -> Vec<usize> {
        let mut places = Vec::new();
        let mut work = vec![root];
        while let Some(at) = work.pop() {
            places.push(at);
            let args = tree.args(at);
            match tree.node(at).op() {
                Some(op) if !self.is_eager(op) => {
                    let eager = self.plans[op.index()].strategy.segments.first();
                    work.extend(eager.into_iter().flatten().map(|&i| args[i as usize]));
                }
                _ => work.extend(args),
            }
        }
        places.sort_unstable();
        places
    }

    fn is_eager(&self, op: OpId) -> bool {
        self.plans[op.index()].strategy.is_standard(self.sig.op(op).arity())
    }

    /// Evaluates shared subterms first, each into a register of its own.
    pub(super) fn hoist(&mut self, tree: &Tree, root: usize, leaf: &mut Leaf, frame: &mut Frame) {
        if leaf.shared.is_empty() {
            return;
        }
        for at in self.eager_places(tree, root) {
            let nodes = &tree.nodes()[tree.range(at)];
            let is_shared = leaf.shared.iter().any(|s| s == nodes);
            if !is_shared || leaf.available.iter().any(|(key, _)| key == nodes) {
                continue;
            }
            let nodes = nodes.to_vec();
            let slot = leaf.path.take(1);
            frame.note(leaf.path.top);
            // Everything may still be used: sharing changes the order of evaluation.
            let uses = leaf.last_use.take();
            let known = self.value(tree, at, slot, leaf, frame);
            leaf.path.set_reduced(slot, known);
            leaf.available.push((nodes, slot));
            leaf.last_use = uses.map(|mut uses| {
                uses.push((slot, usize::MAX));
                uses
            });
        }
    }

    /// A term that is one word and needs no evaluation.
    pub(super) fn immediate(&self, tree: &Tree, at: usize) -> Option<Term> {
        match tree.node(at) {
            Node::App { op, arity: 0 } if op.0 == self.sy.numbers.zero => Some(Term::small(0)),
            Node::App { op, arity: 0 } if self.plans[op.index()].is_plain() => Some(Term::constant(op.0)),
            Node::Iter { op, count } if op.0 == self.sy.numbers.succ => {
                let base = tree.args(at)[0];
                let is_zero = tree.node(base).op().is_some_and(|op| op.0 == self.sy.numbers.zero);
                let count = count.to_u32().filter(|&count| count < SMALL_MAX && is_zero)?;
                self.plans[op.index()].memberships.is_empty().then(|| Term::small(count))
            }
            _ => None,
        }
    }

    /// Is the subterm ground and made of constructors only? Then it can be built beforehand.
    pub(super) fn is_ground_value(&self, tree: &Tree, at: usize) -> bool {
        tree.nodes()[tree.range(at)].iter().all(|node| match node {
            Node::Var(_) => false,
            Node::App { op, .. } | Node::Iter { op, .. } => self.plans[op.index()].is_plain(),
            Node::Str { .. } | Node::Qid { .. } | Node::Float { .. } => true,
        })
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
                let reg = leaf.vars.iter().find(|(v, _)| v == var).expect("bound").1;
                if self.has_lazy && leaf.path.lazy[reg as usize] {
                    leaf.path.lazy[reg as usize] = false;
                    self.asm.emit(inst(Op::Eval, 0, reg, 0));
                    let mask = self.mask(at, leaf);
                    self.asm.emit(mask | if reg < 63 { 1 << reg } else { 0 });
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
                Known::exactly(self.sy.numbers.sort_of(imm.payload()))
            } else {
                Known::exactly(self.sy.info[imm.payload() as usize].constant_sort)
            };
        }
        if !matches!(tree.node(at), Node::Var(_)) && self.is_ground_value(tree, at) {
            let constant = self.constant(&tree.subtree(at));
            self.asm.emit(inst(Op::LoadConst, 0, slot, constant));
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
            _ => unreachable!("literals are ground values"),
        }
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
        self.value(tree, tree.args(at)[0], slot, leaf, frame);
        // Counts in programs are small; larger ones go step by step in chunks.
        let mut left = count.clone();
        while left > num_bigint::BigUint::ZERO {
            let chunk = left.to_u32().unwrap_or(SMALL_MAX - 1).min(SMALL_MAX - 1);
            self.asm.emit(inst(Op::Iterate, 0, slot, op.0));
            self.asm.emit(u64::from(chunk));
            left -= chunk;
        }
        self.call_joined(op, slot, at, leaf);
        Known::ANY
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
        if sets.iter().map(Vec::len).product::<usize>() > 256 {
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

    /// After joining: equations at the top of an operator with axioms.
    fn call_joined(&mut self, op: OpId, slot: Reg, at: usize, leaf: &Leaf) {
        if self.plans[op.index()].is_plain() {
            return;
        }
        let mask = self.mask(at, leaf);
        let code = self.checked[op.index()];
        self.asm.emit_to(Op::CallTop, 1, slot, code);
        self.asm.emit(u64::from(op.0));
        self.asm.emit(mask);
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
            self.branch(tree, at, &tests, slot, leaf, frame);
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
        if !joined && self.plans[op.index()].is_plain() && args.len() <= 3 && self.is_eager(op) {
            return self.small_node(tree, at, op, slot, leaf, frame, false);
        }
        if op.0 == self.sy.numbers.succ && self.plans[op.index()].is_plain() {
            return self.successors(tree, at, 1, slot, leaf, frame);
        }
        if !joined && !self.plans[op.index()].is_plain() && args.len() <= PACKED_MAX && self.is_eager(op) {
            let (regs, knowns) = self.operands(&args, tree, slot, leaf, frame);
            let mask = self.mask(at, leaf);
            let code = self.entry(op, &knowns);
            let which = [Op::Call1, Op::Call2, Op::Call3, Op::Call4][args.len() - 1];
            self.asm.emit_to(which, args.len(), slot, code);
            self.asm.emit(pack(&regs));
            self.asm.emit(mask);
            return self.result_known(op, &knowns);
        }
        let knowns = self.arguments(&args, tree, op, slot, leaf, frame);
        if joined {
            self.asm.emit(inst(Op::Join, args.len().min(255), slot, op.0));
            self.asm.emit(args.len() as u64);
            self.call_joined(op, slot, at, leaf);
            return Known::ANY;
        }
        if self.plans[op.index()].is_plain() {
            self.emit_build(op, slot, args.len(), &knowns);
            return self.static_sort(op, &knowns).map_or(Known::ANY, Known::exactly);
        }
        let mask = self.mask(at, leaf);
        let code = self.entry(op, &knowns);
        self.asm.emit_to(Op::Call, args.len().min(255), slot, code);
        self.asm.emit(mask);
        Known::ANY
    }

    /// Evaluates arguments, each where it is or into the next register from `slot` on.
    fn operands(
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
    fn entry(&self, op: OpId, knowns: &[Known]) -> Label {
        let assumed = &self.plans[op.index()].assumed;
        let fits = knowns.iter().zip(assumed).all(|(known, assumed)| known.is_subset(*assumed));
        if fits { self.fast[op.index()] } else { self.checked[op.index()] }
    }

    /// Evaluates arguments into consecutive registers from `slot` on; arguments that the
    /// operator's strategy leaves alone become terms that are not reduced.
    fn arguments(
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
        let all = self.is_eager(op) || is_joined(self.sy, op.0) && !is_lazy;
        let mut knowns = Vec::with_capacity(args.len());
        for (i, &arg) in args.iter().enumerate() {
            let target = slot + i as Reg;
            let known = if all || eager.contains(&(i as u32)) {
                self.value(tree, arg, target, leaf, frame)
            } else {
                self.thunk(tree, arg, target, leaf, frame);
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
    fn small_node(
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

    /// Arithmetic on small naturals and equality, without a call where possible.
    fn inline_special(
        &mut self,
        tree: &Tree,
        at: usize,
        op: OpId,
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> Option<Known> {
        let args = tree.args(at);
        if args.len() != 2 || self.plans[op.index()].memo || self.trace {
            return None;
        }
        let fast = match self.plans[op.index()].special.as_ref()? {
            Special::Equality { equal, not_equal } if self.plans[op.index()].rows.is_empty() => {
                Err(u64::from(equal.0) | u64::from(not_equal.0) << 32)
            }
            Special::Function(builtin) => {
                let kind = builtin.fast()?;
                let truth = builtin.truth().map_or(0, |t| u64::from(t.yes.0) | u64::from(t.no.0) << 32);
                Ok((kind, truth, builtin.clone()))
            }
            _ => return None,
        };
        let (kind, truth, number) = match fast {
            Err(terms) => {
                let (regs, _) = self.operands(&args, tree, slot, leaf, frame);
                self.asm.emit(inst3(Op::Equality, 0, slot, regs[0], regs[1]));
                self.asm.emit(terms);
                return Some(Known::ANY);
            }
            Ok((kind, truth, builtin)) => (kind, truth, self.number_builtin(builtin)),
        };
        let pair = self.numbers(&args, tree, slot, leaf, frame);
        let knowns = [pair[0].1, pair[1].1];
        let after = self.asm.label();
        let ops = match kind {
            Fast::Add => Some((Op::Add, Op::AddImm)),
            Fast::Sub => Some((Op::Sub, Op::SubImm)),
            Fast::Mul => Some((Op::Mul, Op::MulImm)),
            Fast::Quo => Some((Op::Quo, Op::QuoImm)),
            Fast::Rem => Some((Op::Rem, Op::RemImm)),
            Fast::SymmetricDifference => Some((Op::Difference, Op::DifferenceImm)),
            _ => None,
        };
        let commutes = matches!(kind, Fast::Add | Fast::Mul | Fast::SymmetricDifference);
        match (ops, pair[0].0, pair[1].0) {
            (Some((_, op)), Place::Reg(x), Place::Number(n)) => {
                self.asm.emit(inst3(op, 0, slot, x, n));
                self.asm.emit_case(0, after);
            }
            (Some((_, op)), Place::Number(n), Place::Reg(x)) if commutes => {
                self.asm.emit(inst3(op, 0, slot, x, n));
                self.asm.emit_case(0, after);
            }
            (Some((op, _)), Place::Reg(x), Place::Reg(y)) => {
                self.asm.emit(inst3(op, 0, slot, x, y));
                self.asm.emit_case(0, after);
            }
            // Rare: the general code alone.
            _ => {}
        }
        let regs = self.consecutive(pair.map(|p| p.0), slot);
        self.asm.emit(inst3(Op::Fast, kind as usize, slot, regs[0], regs[1]));
        self.asm.emit_case(number, after);
        self.asm.emit(truth);
        self.general_call(op, pair.map(|p| p.0), slot, at, leaf);
        self.asm.place(after);
        Some(self.result_known(op, &knowns))
    }

    /// Two operands, with small literals left as they are.
    fn numbers(
        &mut self,
        args: &[usize],
        tree: &Tree,
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> [(Place, Known); 2] {
        let mut held = 0;
        let mut place = |this: &mut Self, leaf: &mut Leaf, arg: usize| {
            if let Some(imm) = this.immediate(tree, arg)
                && imm.is_small()
                && let Some(number) = imm.payload().to_u16()
            {
                return (Place::Number(number), Known::exactly(this.sy.numbers.sort_of(imm.payload())));
            }
            let target = slot + held as Reg;
            let (reg, known) = this.operand(tree, arg, target, leaf, frame);
            if reg == target {
                leaf.pending.push(reg);
                held += 1;
            }
            (Place::Reg(reg), known)
        };
        let pair = [place(self, leaf, args[0]), place(self, leaf, args[1])];
        leaf.pending.truncate(leaf.pending.len() - held);
        frame.note(slot + 2);
        pair
    }

    /// Puts two operands into consecutive registers, unless both are in registers already.
    fn consecutive(&mut self, pair: [Place; 2], slot: Reg) -> [Reg; 2] {
        if let [Place::Reg(x), Place::Reg(y)] = pair {
            return [x, y];
        }
        self.place_pair(pair, slot);
        [slot, slot + 1]
    }

    fn place_pair(&mut self, pair: [Place; 2], slot: Reg) {
        let [first, second] = pair;
        if second == Place::Reg(slot) {
            self.put(slot + 1, second);
            self.put(slot, first);
        } else {
            self.put(slot, first);
            self.put(slot + 1, second);
        }
    }

    /// The general case of a binary built-in: its arguments go to consecutive registers.
    fn general_call(&mut self, op: OpId, pair: [Place; 2], slot: Reg, at: usize, leaf: &Leaf) {
        self.place_pair(pair, slot);
        if is_joined(self.sy, op.0) {
            self.asm.emit(inst(Op::Join, 2, slot, op.0));
            self.asm.emit(2);
            self.call_joined(op, slot, at, leaf);
        } else {
            let mask = self.mask(at, leaf);
            let code = self.checked[op.index()];
            self.asm.emit_to(Op::Call, 2, slot, code);
            self.asm.emit(mask);
        }
    }

    fn put(&mut self, slot: Reg, place: Place) {
        match place {
            Place::Reg(reg) if reg == slot => {}
            Place::Reg(reg) => self.asm.emit(inst3(Op::Move, 0, slot, reg, 0)),
            Place::Number(n) => self.asm.emit(inst(Op::LoadImm, 0, slot, Term::small(u32::from(n)).0)),
        }
    }

    /// A test of numbers or terms whose outcome decides where to go, without making a truth
    /// value: goes to `yes` or `no`. Where that does not work, the value is left in `slot` and
    /// the code goes on. `extra` rewrites are counted for the decision. Emits nothing and gives
    /// `None` if the term is no such test; else whether the code can go on.
    #[allow(clippy::too_many_arguments)]
    fn decision(
        &mut self,
        tree: &Tree,
        at: usize,
        truth: [Term; 2],
        extra: usize,
        goals: [Label; 2],
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> Option<bool> {
        let args = tree.args(at);
        let op = tree.node(at).op()?;
        let plan = &self.plans[op.index()];
        let is_available = leaf.available.iter().any(|(key, _)| key == &tree.nodes()[tree.range(at)]);
        if args.len() != 2 || plan.memo || !plan.rows.is_empty() || is_available || self.trace {
            return None;
        }
        let [yes, no] = goals;
        let flip = |flipped: bool| if flipped { (no, yes) } else { (yes, no) };
        match plan.special.as_ref()? {
            Special::Equality { equal, not_equal } => {
                let (low, high) = flip(decides([*equal, *not_equal], truth)?);
                let pair = self.numbers(&args, tree, slot, leaf, frame);
                let word = match pair.map(|p| p.0) {
                    [Place::Reg(x), Place::Reg(y)] => inst3(Op::IfEq, extra, 0, x, y),
                    [Place::Reg(x), Place::Number(n)] | [Place::Number(n), Place::Reg(x)] => {
                        inst3(Op::IfEqImm, extra, 0, x, n)
                    }
                    [Place::Number(n), Place::Number(_)] => {
                        self.put(slot, Place::Number(n));
                        self.put(slot + 1, pair[1].0);
                        inst3(Op::IfEq, extra, 0, slot, slot + 1)
                    }
                };
                self.asm.emit(word);
                self.asm.emit_pair(low, high);
                Some(false)
            }
            Special::Function(builtin) => {
                let results = builtin.truth()?;
                let (low, high) = flip(decides([results.yes, results.no], truth)?);
                let kind = builtin.fast()?;
                if !matches!(kind, Fast::Lt | Fast::Le | Fast::Gt | Fast::Ge) {
                    return None;
                }
                let pair = self.numbers(&args, tree, slot, leaf, frame);
                let word = match pair.map(|p| p.0) {
                    [Place::Reg(x), Place::Reg(y)] => Some(match kind {
                        Fast::Lt => inst3(Op::IfLt, extra, 0, x, y),
                        Fast::Le => inst3(Op::IfLe, extra, 0, x, y),
                        Fast::Gt => inst3(Op::IfLt, extra, 0, y, x),
                        _ => inst3(Op::IfLe, extra, 0, y, x),
                    }),
                    [Place::Reg(x), Place::Number(n)] => Some(match kind {
                        Fast::Lt => inst3(Op::IfLtImm, extra, 0, x, n),
                        Fast::Le => inst3(Op::IfLeImm, extra, 0, x, n),
                        Fast::Gt => inst3(Op::IfGtImm, extra, 0, x, n),
                        _ => inst3(Op::IfGeImm, extra, 0, x, n),
                    }),
                    [Place::Number(n), Place::Reg(x)] => Some(match kind {
                        Fast::Lt => inst3(Op::IfGtImm, extra, 0, x, n),
                        Fast::Le => inst3(Op::IfGeImm, extra, 0, x, n),
                        Fast::Gt => inst3(Op::IfLtImm, extra, 0, x, n),
                        _ => inst3(Op::IfLeImm, extra, 0, x, n),
                    }),
                    [Place::Number(_), Place::Number(_)] => None,
                };
                if let Some(word) = word {
                    self.asm.emit(word);
                    self.asm.emit_pair(low, high);
                }
                self.general_call(op, pair.map(|p| p.0), slot, at, leaf);
                Some(true)
            }
            _ => None,
        }
    }

    /// The condition `term = expected` where `expected` is a truth value and the term a test.
    pub(super) fn test_condition(
        &mut self,
        term: &Tree,
        expected: Term,
        fail: Label,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> bool {
        let slot = leaf.path.top;
        let holds = self.asm.label();
        let expects = match term.node(term.root()).op().map(|op| &self.plans[op.index()].special) {
            Some(Some(Special::Equality { equal, not_equal })) => [*equal, *not_equal],
            Some(Some(Special::Function(builtin))) => match builtin.truth() {
                Some(truth) => [truth.yes, truth.no],
                None => return false,
            },
            _ => return false,
        };
        let other = match expects {
            [yes, no] if yes == expected => no,
            [yes, no] if no == expected => yes,
            _ => return false,
        };
        let goals = [holds, fail];
        let Some(goes_on) = self.decision(term, term.root(), [expected, other], 0, goals, slot, leaf, frame)
        else {
            return false;
        };
        if goes_on {
            self.asm.emit_to(Op::TestImm, 0, slot, fail);
            self.asm.emit(u64::from(expected.0));
        }
        self.asm.place(holds);
        true
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

    /// The number from 1 of a number operator whose results on all numbers are final: no
    /// equation or membership looks at negative numbers. Otherwise 0.
    fn number_builtin(&mut self, builtin: Builtin) -> u32 {
        let minus = self.sy.numbers.minus;
        if minus != NO_SYM {
            let plan = &self.plans[minus as usize];
            if !plan.rows.is_empty() || !plan.memberships.is_empty() || plan.memo {
                return 0;
            }
        }
        self.builtins.push(builtin);
        self.builtins.len() as u32
    }

    /// `if_then_else_fi` and its like: tests, then one branch.
    fn branch(
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
    fn selector(&self, tree: &Tree, at: usize, op: OpId) -> Option<Vec<(Term, Option<Term>)>> {
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
    fn select(
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

    /// What a branch makes available is not available after it.
    fn in_branch(&mut self, leaf: &mut Leaf, body: impl FnOnce(&mut Self, &mut Leaf)) {
        let (path, available, shared) = (leaf.path.clone(), leaf.available.len(), leaf.shared.clone());
        let uses = leaf.last_use.clone();
        body(self, leaf);
        leaf.path = path;
        leaf.available.truncate(available);
        leaf.shared = shared;
        leaf.last_use = uses;
    }

    /// Subterms that occur several times inside a branch are evaluated once in it.
    fn share_branch(&mut self, tree: &Tree, at: usize, leaf: &mut Leaf, frame: &mut Frame) {
        let (mut seen, mut shared) = (Vec::new(), Vec::new());
        self.count_shared(tree, at, &mut seen, &mut shared);
        if shared.is_empty() {
            return;
        }
        // Registers that are in use as arguments lie below the frame's next free register.
        let top = leaf.pending.iter().map(|&r| r + 1).max().unwrap_or(0).max(leaf.path.top);
        let gap = (top - leaf.path.top) as usize;
        leaf.path.take(gap);
        leaf.shared.extend(shared);
        self.hoist(tree, at, leaf, frame);
    }

    /// A term that is built but not evaluated.
    fn thunk(&mut self, tree: &Tree, at: usize, slot: Reg, leaf: &mut Leaf, frame: &mut Frame) {
        frame.note(slot + 1);
        if let Node::Var(var) = tree.node(at) {
            let reg = leaf.vars.iter().find(|(v, _)| v == var).expect("bound").1;
            self.asm.emit(inst3(Op::Move, 0, slot, reg, 0));
            return;
        }
        if self.immediate(tree, at).is_some() || self.is_ground_value(tree, at) {
            self.value(tree, at, slot, leaf, frame);
            return;
        }
        let nodes = &tree.nodes()[tree.range(at)];
        if let Some(&(_, reg)) = leaf.available.iter().find(|(key, _)| key == nodes) {
            self.asm.emit(inst3(Op::Move, 0, slot, reg, 0));
            return;
        }
        let args = tree.args(at);
        for (i, &arg) in args.iter().enumerate() {
            self.thunk(tree, arg, slot + i as Reg, leaf, frame);
        }
        match tree.node(at).clone() {
            Node::Iter { op, count } => {
                self.asm.emit(inst(Op::Iterate, 1, slot, op.0));
                self.asm.emit(u64::from(count.to_u32().unwrap_or(SMALL_MAX - 1)));
            }
            Node::App { op, .. } => {
                self.asm.emit(inst(Op::Thunk, args.len().min(255), slot, op.0));
                self.asm.emit(args.len() as u64);
            }
            _ => unreachable!("literals are ground values"),
        }
    }

    /// Evaluates a subterm as the last action of an equation.
    fn tail(&mut self, tree: &Tree, at: usize, leaf: &mut Leaf, frame: &mut Frame) {
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
            return self.tail_branch(tree, at, &tests.clone(), leaf, frame);
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
            self.asm.emit(inst(Op::Join, args.len().min(255), slot, op.0));
            self.asm.emit(args.len() as u64);
            if self.plans[op.index()].is_plain() {
                self.asm.emit(inst(Op::ReturnRw, 0, slot, 0));
            } else {
                let code = self.checked[op.index()];
                self.asm.emit_to(Op::TailTop, 1, slot, code);
                self.asm.emit(u64::from(op.0));
            }
            return;
        }
        if self.plans[op.index()].is_plain() {
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

    fn tail_branch(&mut self, tree: &Tree, at: usize, tests: &[Term], leaf: &mut Leaf, frame: &mut Frame) {
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
                let is_call = !plan.is_plain()
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

/// Where an operand of arithmetic is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Reg(Reg),
    /// Not in a register: a literal.
    Number(u16),
}

/// Do the results of a test correspond to what is asked? Then whether in the opposite order.
fn decides(results: [Term; 2], asked: [Term; 2]) -> Option<bool> {
    let [yes, no] = results;
    if yes == no {
        None
    } else if asked == [yes, no] {
        Some(false)
    } else {
        (asked == [no, yes]).then_some(true)
    }
}
