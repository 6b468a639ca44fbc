//! One pattern against one register: free parts test by test, the rest by the general matcher.
//!
//! That is how `:=` conditions are matched, and the elements of lists and multisets. Patterns modulo
//! axioms that need no general matcher are found first: collections, and commutative operators over
//! a variable that has a value.

use std::sync::Arc;

use crate::matching::{Needed, Pattern, PatternSpec};
use crate::sorts::{Node, OpId, Tree, Var};
use crate::term::{Class, Term};

use super::code::{Label, Op, Reg, inst, inst3, switch_key};
use super::compile::{Compiler, intern_constant};
use super::known::Known;
use super::leaf::Leaf;
use super::path::Frame;
use super::rows::Test;

/// Code that asks a matcher for its next solution.
pub(super) struct Retry {
    pub here: Label,
    pub choice: Reg,
    pub pattern: u32,
    pub fail: Label,
    pub go_on: Label,
}

/// What has been found out of the top of a free term.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Top {
    Open,
    /// It has the operator of the pattern.
    Known,
    /// And its first argument is the one of the pattern.
    Keyed,
}

impl Compiler<'_> {
    /// A free pattern against a register, test by test; aliens inside by the general matcher.
    pub(super) fn inline_match(
        &mut self,
        tree: &Tree,
        place: usize,
        reg: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) {
        self.inline_rest(tree, place, reg, Top::Open, leaf, frame);
    }

    /// The same for what is not known of the top yet.
    pub(super) fn inline_rest(
        &mut self,
        tree: &Tree,
        place: usize,
        reg: Reg,
        top: Top,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) {
        let mut aliens = Vec::new();
        let root = place;
        let mut work = vec![(place, reg)];
        while let Some((place, reg)) = work.pop() {
            if let Node::Var(var) = tree.node(place) {
                if let Some(&(_, first)) = leaf.vars.iter().find(|(v, _)| v == var) {
                    self.asm.emit_to(Op::Equal, 0, reg, leaf.fail);
                    self.asm.emit(u64::from(first));
                    leaf.can_fail = true;
                    continue;
                }
                leaf.vars.push((*var, reg));
                let known = leaf.path.known[reg as usize];
                if self.emit_sort_check(reg, var.sort, known, leaf.fail) {
                    leaf.can_fail = true;
                    if let Some(below) = Known::below(self.sig, var.sort) {
                        leaf.path.known[reg as usize] = Known(known.0 & below.0);
                    }
                }
                continue;
            }
            leaf.can_fail = true;
            match self.test(tree, place) {
                Test::Alien => aliens.push((place, reg)),
                Test::Nat(n) => {
                    self.asm.emit_to(Op::TestImm, 0, reg, leaf.fail);
                    self.asm.emit(u64::from(Term::small(n).0));
                }
                Test::Pred(count, base) => {
                    let pred = leaf.path.take(1);
                    let known = leaf.path.known[reg as usize];
                    leaf.path.set(pred, self.known_argument(self.sy.numbers.succ, 0, known));
                    leaf.path.lazy[pred as usize] = leaf.path.lazy[reg as usize];
                    self.asm.emit_to(Op::Pred, 0, pred, leaf.fail);
                    self.asm.emit(u64::from(reg) | u64::from(count) << 32);
                    work.push((base, pred));
                }
                Test::Sym(sym) => {
                    let args = tree.args(place);
                    if self.may_be_unreduced_constant(sym, leaf.path.lazy[reg as usize]) {
                        let go_on = self.asm.label();
                        let mut keys = [Term::constant(sym).0, switch_key(sym)];
                        keys.sort_unstable();
                        self.asm.emit(inst(Op::Switch, 0, reg, keys.len() as u32));
                        for key in keys {
                            self.asm.emit_case(key, go_on);
                        }
                        self.asm.emit_case(0, leaf.fail);
                        self.asm.place(go_on);
                        continue;
                    }
                    if args.is_empty() {
                        self.asm.emit_to(Op::TestImm, 0, reg, leaf.fail);
                        self.asm.emit(u64::from(Term::constant(sym).0));
                        continue;
                    }
                    let top = if place == root { top } else { Top::Open };
                    if top == Top::Open {
                        self.asm.emit_to(Op::TestSym, 0, reg, leaf.fail);
                        self.asm.emit(u64::from(sym));
                    }
                    let done = usize::from(top == Top::Keyed);
                    let known = leaf.path.known[reg as usize];
                    let first = leaf.path.take(args.len());
                    let parent = leaf.path.lazy[reg as usize];
                    let lazy: Vec<bool> =
                        (0..args.len()).map(|i| parent || self.is_left_alone(sym, i)).collect();
                    let used: Vec<bool> = (0..args.len()).map(|i| i >= done).collect();
                    self.load_arguments(first, reg, &used, &lazy);
                    for (i, arg) in args.into_iter().enumerate().skip(done) {
                        let target = first + i as Reg;
                        leaf.path.lazy[target as usize] = lazy[i];
                        leaf.path.set(target, self.known_argument(sym, i, known));
                        work.push((arg, target));
                    }
                }
            }
            frame.note(leaf.path.top);
        }
        for (place, reg) in aliens {
            self.alien(tree, place, reg, false, leaf, frame);
        }
    }

    /// A part of a pattern that needs matching modulo axioms. `is_last`: its collector may be put off.
    pub(super) fn alien(
        &mut self,
        tree: &Tree,
        place: usize,
        reg: Reg,
        is_last: bool,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) {
        let (fail, choices) = (leaf.fail, leaf.choices.len());
        if self.collection(tree, place, reg, false, leaf, frame) {
            // Only one collector can be put off at a time, and an outer one may follow.
            if !is_last {
                self.settle_collector(leaf, frame);
            }
            if one_is_enough(tree, place, leaf.needed.as_deref()) {
                self.assure_collector(leaf, frame);
                self.commit(fail, choices, leaf);
            }
            return;
        }
        if self.comm_alien(tree, place, reg, leaf, frame) {
            return;
        }
        let sub = tree.subtree(place);
        // Variables shared with the rest of the pattern are needed as well.
        let needed = leaf.needed.clone().map(|mut needed| {
            needed.extend(vars_outside(tree, place));
            needed
        });
        self.match_pattern(&sub, reg, needed.as_deref(), false, leaf, frame);
    }

    /// Forgets the matchers that are left of what was matched last: failures go where they went before.
    fn commit(&mut self, fail: Label, choices: usize, leaf: &mut Leaf) {
        if let Some(&first) = leaf.choices.get(choices) {
            self.asm.emit(inst(Op::Release, 0, first, 0));
            leaf.choices.truncate(choices);
        }
        leaf.fail = fail;
    }

    /// Matches a commutative pattern one of whose arguments is a variable with a value: that
    /// decides which argument is which.
    pub(super) fn comm_alien(
        &mut self,
        tree: &Tree,
        place: usize,
        reg: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> bool {
        let Some(op) = tree.node(place).op() else { return false };
        let info = &self.sy.info[op.index()];
        if info.class != Class::Cui || !info.comm || info.identity.is_some() || info.idem || self.has_lazy {
            return false;
        }
        let &[x, y] = &tree.args(place)[..] else { return false };
        let value = |place: usize| match tree.node(place) {
            Node::Var(var) => leaf.vars.iter().find(|(v, _)| v == var).map(|v| v.1),
            _ => None,
        };
        let (value, other) = match (value(x), value(y)) {
            (Some(value), _) => (value, y),
            (_, Some(value)) => (value, x),
            _ => return false,
        };
        leaf.can_fail = true;
        self.asm.emit_to(Op::TestSym, 0, reg, leaf.fail);
        self.asm.emit(u64::from(op.0));
        let first = leaf.path.take(3);
        let slot = first + 2;
        for reg in first..=slot {
            leaf.path.set(reg, Known::ANY);
        }
        frame.note(leaf.path.top);
        self.load_arguments(first, reg, &[true, true], &[false, false]);
        let (swapped, done) = (self.asm.label(), self.asm.label());
        self.asm.emit_to(Op::Equal, 0, first, swapped);
        self.asm.emit(u64::from(value));
        self.asm.emit(inst3(Op::Move, 0, slot, first + 1, 0));
        self.asm.emit_to(Op::Jump, 0, 0, done);
        self.asm.place(swapped);
        self.asm.emit_to(Op::Equal, 0, first + 1, leaf.fail);
        self.asm.emit(u64::from(value));
        self.asm.emit(inst3(Op::Move, 0, slot, first, 0));
        self.asm.place(done);
        self.inline_match(tree, other, slot, leaf, frame);
        true
    }

    /// Matches a register modulo axioms; further solutions are tried when something later fails.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn match_pattern(
        &mut self,
        tree: &Tree,
        reg: Reg,
        needed: Option<&[Var]>,
        extension: bool,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) {
        let bound: Vec<Reg> = leaf.vars.iter().map(|v| v.1).collect();
        let leaves = |op: OpId| (0..self.sig.op(op).arity()).any(|i| self.is_left_alone(op.0, i));
        let is_lazy = leaf.path.lazy[reg as usize] || tree.nodes().iter().filter_map(Node::op).any(leaves);
        for var in tree.vars() {
            if !leaf.vars.iter().any(|(v, _)| *v == var) {
                let slot = leaf.path.take(1);
                self.asm.emit(inst(Op::LoadImm, 0, slot, Term::NONE.0));
                leaf.path.set(slot, Known::below(self.sig, var.sort).unwrap_or(Known::ANY));
                leaf.path.lazy[slot as usize] = is_lazy;
                leaf.vars.push((var, slot));
            }
        }
        let vars = &leaf.vars;
        let slot_of = |var: Var| vars.iter().find(|(v, _)| *v == var).expect("all have slots").1;
        let needed_slots: Vec<Reg> = needed
            .unwrap_or(&[])
            .iter()
            .filter_map(|var| vars.iter().find(|(v, _)| v == var).map(|v| v.1))
            .collect();
        let slots = |read: &Vec<Var>| {
            read.iter().filter_map(|var| vars.iter().find(|(v, _)| v == var).map(|v| v.1)).collect()
        };
        let read: Option<Vec<Reg>> = leaf.read.as_ref().map(slots);
        let mut fresh = Vec::new();
        let top = leaf.path.top;
        let (constants, numbers, offset) =
            (&mut self.constants, &mut self.constant_numbers, self.sy.identities.len() as u32);
        let pattern = Pattern::compile(&mut PatternSpec {
            sig: self.sig,
            sy: self.sy,
            shapes: &self.shapes,
            tree,
            vars: self.names,
            slot: &slot_of,
            bound: &bound,
            needed: match needed {
                None => Needed::Everything,
                Some(_) => Needed::Only(&needed_slots),
            },
            read: read.as_deref(),
            extension,
            fresh: &mut || {
                fresh.push(top + fresh.len() as Reg);
                fresh[fresh.len() - 1]
            },
            constant: &mut |tree| intern_constant(constants, numbers, offset, tree),
        });
        for slot in fresh {
            let taken = leaf.path.take(1);
            debug_assert_eq!(slot, taken);
            self.asm.emit(inst(Op::LoadImm, 0, slot, Term::NONE.0));
            leaf.path.set(slot, Known::ANY);
        }
        self.patterns.push(Arc::new(pattern));
        let number = self.patterns.len() as u32 - 1;
        let choice = leaf.path.take(1);
        leaf.path.set(choice, Known::ANY);
        frame.note(leaf.path.top);
        self.asm.emit_to(Op::Match, 0, reg, leaf.fail);
        self.asm.emit(u64::from(number) | u64::from(choice) << 32);
        leaf.can_fail = true;
        let here = self.asm.label();
        let go_on = self.asm.here();
        leaf.deferred.push(Retry { here, choice, pattern: number, fail: leaf.fail, go_on });
        leaf.fail = here;
        leaf.choices.push(choice);
        if extension {
            leaf.rest_of = Some(choice);
        }
    }
}

/// Where the first matcher counts and only some variables are needed, does it make no difference which
/// matcher of this part is taken? Then Maude takes one.
pub(super) fn one_is_enough(lhs: &Tree, place: usize, needed: Option<&[Var]>) -> bool {
    let Some(needed) = needed else { return false };
    let outside = vars_outside(lhs, place);
    lhs.subtree(place).vars().iter().all(|var| !needed.contains(var) && !outside.contains(var))
}

/// The variables of a left-hand side outside the subtree at `place`.
pub(super) fn vars_outside(lhs: &Tree, place: usize) -> Vec<Var> {
    let inside = lhs.range(place);
    let nodes = lhs.nodes().iter().enumerate().filter(|(i, _)| !inside.contains(i));
    nodes.filter_map(|(_, node)| if let Node::Var(var) = node { Some(*var) } else { None }).collect()
}
