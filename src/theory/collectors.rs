//! What a multiset pattern leaves: collectors and extensions.
//!
//! The collector is built only when all conditions that do not use it hold, and where a right-hand
//! side puts matched elements back (`X S`), they are not taken out in the first place. A rule's
//! result is the old multiset with some elements replaced, in one step.

use crate::base::{Name, Span};
use crate::sorts::{Node, OpId, Tree, Var};
use crate::term::Class;

use super::code::{Op, Reg, inst};
use super::compile::Compiler;
use super::known::Known;
use super::leaf::Leaf;
use super::path::Frame;
use super::plan::flatten;

/// A collector that has not been built yet: the subject without the chosen elements.
#[derive(Clone)]
pub(super) struct LazyBag {
    pub op: OpId,
    pub subject: Reg,
    /// The counter of the first loop.
    pub first: Reg,
    pub chosen: Vec<Chosen>,
    /// The variable, or `None` for what an extension leaves.
    pub var: Option<Var>,
}

impl LazyBag {
    /// Is it what an extension leaves, rather than a variable's value?
    pub(super) fn is_extension(&self) -> bool {
        self.var.is_none()
    }
}

/// An element that a loop has chosen: how many copies, and its pattern.
#[derive(Clone)]
pub(super) struct Chosen {
    pub copies: u32,
    pub nodes: Vec<Node>,
}

impl Compiler<'_> {
    /// Builds a collector that has been put off, if a term with these variables needs it.
    pub(super) fn need_vars(&mut self, vars: &[Var], leaf: &mut Leaf, frame: &mut Frame) {
        if let Some(LazyBag { var: Some(var), .. }) = &leaf.lazy
            && vars.contains(var)
        {
            self.build_collector(leaf, frame);
        }
    }

    /// Builds a collector that has been put off.
    pub(super) fn build_collector(&mut self, leaf: &mut Leaf, frame: &mut Frame) {
        if leaf.lazy.as_ref().is_none_or(|lazy| lazy.var.is_none()) {
            return;
        }
        let lazy = leaf.lazy.take().expect("checked above");
        let slot = leaf.path.take(1);
        frame.note(leaf.path.top);
        self.bag_rest(&lazy, &[], slot, false);
        leaf.path.set(slot, Known::ANY);
        self.bind(lazy.var.expect("checked above"), slot, leaf);
    }

    /// A collector below another one: built if its value is used.
    pub(super) fn settle_collector(&mut self, leaf: &mut Leaf, frame: &mut Frame) {
        let var = leaf.lazy.as_ref().and_then(|lazy| lazy.var);
        let is_used = leaf.used.as_ref().is_none_or(|used| var.is_none_or(|var| used.contains(&var)));
        if is_used {
            self.build_collector(leaf, frame);
        } else {
            self.check_collector(leaf, frame);
            leaf.lazy = None;
        }
    }

    /// A collector that nobody uses must still have its sort. It has if the whole multiset is
    /// well-sorted and the collector's sort is the largest; else it is built to see.
    pub(super) fn check_collector(&mut self, leaf: &mut Leaf, frame: &mut Frame) {
        let Some(LazyBag { var: Some(var), subject, .. }) = leaf.lazy else { return };
        let sorted = Known::below(self.sig, var.sort).filter(|_| self.is_largest(var.sort));
        let done = self.asm.label();
        if let Some(sorted) = sorted {
            if leaf.path.known[subject as usize].is_subset(sorted) {
                leaf.lazy = None;
                return;
            }
            let build = self.asm.label();
            self.asm.emit_to(Op::Sort, 0, subject, build);
            self.asm.emit(sorted.0);
            self.asm.emit_to(Op::Jump, 0, 0, done);
            self.asm.place(build);
        }
        // Its register is used again: the variable has no value afterwards.
        let (path, vars) = (leaf.path.clone(), leaf.vars.len());
        self.build_collector(leaf, frame);
        leaf.path = path;
        leaf.vars.truncate(vars);
        self.asm.place(done);
    }

    /// A collector that has been put off must have its sort already now. Where a whole has the sort only
    /// if its parts have it, so do parts of such a whole, and nothing need be built to see it.
    pub(super) fn assure_collector(&mut self, leaf: &mut Leaf, frame: &mut Frame) {
        let Some(LazyBag { var: Some(var), op, subject, .. }) = leaf.lazy else { return };
        if self.sig.sorts.is_error(var.sort) {
            return;
        }
        let is_inherited = self.shapes.is_inherited(self.sig, op, self.sig.sorts.get(var.sort).index);
        let Some(below) = Known::below(self.sig, var.sort).filter(|_| is_inherited) else {
            return self.build_collector(leaf, frame);
        };
        if leaf.path.known[subject as usize].is_subset(below) {
            return;
        }
        let (build, done) = (self.asm.label(), self.asm.label());
        self.asm.emit_to(Op::Sort, 0, subject, build);
        self.asm.emit(below.0);
        self.asm.emit_to(Op::Jump, 0, 0, done);
        self.asm.place(build);
        let slot = leaf.path.top;
        frame.note(slot + 1);
        let lazy = leaf.lazy.clone().expect("seen above");
        self.bag_rest(&lazy, &[], slot, false);
        self.emit_sort_check(slot, var.sort, Known::ANY, leaf.fail);
        self.asm.place(done);
    }

    /// What an extension leaves of a multiset, into `slot` (nothing if nothing is left).
    /// Returns false if the left-hand side was not matched by loops with an extension.
    pub(super) fn extension_rest(&mut self, slot: Reg, leaf: &mut Leaf) -> bool {
        let Some(lazy) = leaf.lazy.take_if(|lazy| lazy.var.is_none()) else { return false };
        self.bag_rest(&lazy, &[], slot, true);
        true
    }

    fn bag_rest(&mut self, lazy: &LazyBag, kept: &[(usize, u32)], slot: Reg, may_be_none: bool) {
        let chosen = without(&lazy.chosen, kept);
        self.asm.emit(inst(Op::BagRest, 0, slot, u32::from(may_be_none)));
        self.emit_chosen(lazy, &chosen);
    }

    fn emit_chosen(&mut self, lazy: &LazyBag, chosen: &[Chosen]) {
        self.asm.emit(u64::from(lazy.subject) | u64::from(lazy.op.0) << 32);
        self.asm.emit(u64::from(lazy.first));
        self.asm.emit(pack(chosen));
    }

    /// The variables of a right-hand side, except for those in elements of multisets that stand
    /// like that on the left, which are taken from there (unless they are evaluated once more, or left alone).
    pub(super) fn vars_of_changed(&self, lhs: &Tree, rhs: &Tree) -> Vec<Var> {
        let is_bag = |tree: &Tree, at: usize| {
            tree.node(at).op().is_some_and(|op| self.sy.class(op.0) == Class::AssocComm)
        };
        let elements: Vec<usize> =
            (0..lhs.len()).filter(|&at| is_bag(lhs, at)).flat_map(|at| lhs.args(at)).collect();
        let mut vars = Vec::new();
        let mut work = vec![rhs.root()];
        while let Some(at) = work.pop() {
            let is_kept = rhs.node(at).arity() > 0
                && elements.iter().any(|&e| lhs.same(e, rhs, at))
                && !self.is_result_left
                && !self.counts_again(&rhs.nodes()[rhs.range(at)]);
            match rhs.node(at) {
                Node::Var(var) => vars.push(*var),
                _ if is_kept && !is_bag(rhs, at) => {}
                _ => work.extend(rhs.args(at)),
            }
        }
        vars
    }

    /// The multiset of an edit (see [`Leaf::edit`]) at its place in the right-hand side.
    pub(super) fn edit(
        &mut self,
        tree: &Tree,
        args: &[usize],
        op: OpId,
        slot: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> bool {
        let Some((lazy, rest)) = leaf.edit.clone() else { return false };
        let Some((last, others)) = args.split_last() else { return false };
        if lazy.op != op || *tree.node(*last) != Node::Var(rest) {
            return false;
        }
        self.arguments(others, tree, op, slot, leaf, frame);
        self.asm.emit(inst(Op::BagEdit, others.len(), slot, 0));
        self.emit_chosen(&lazy, &lazy.chosen);
        true
    }

    /// Where the right-hand side puts the collector and matched elements together again, they
    /// are taken as one: returns the right-hand side with a variable in their place.
    ///
    /// With `edit` nothing is built: [`Compiler::edit`] then makes the new multiset at once.
    pub(super) fn reuse_collector(
        &mut self,
        rhs: &Tree,
        leaf: &mut Leaf,
        frame: &mut Frame,
        edit: bool,
    ) -> Option<Tree> {
        let lazy = leaf.lazy.clone()?;
        let var = lazy.var?;
        // Any part of a well-sorted multiset must have the collector's sort.
        let well_sorted = Known::below(self.sig, var.sort)?;
        if !self.is_largest(var.sort) {
            return None;
        }
        let mut places = (0..rhs.len()).filter(|&at| *rhs.node(at) == Node::Var(var));
        let (only, None) = (places.next()?, places.next()) else { return None };
        // The topmost application of the operator around the collector.
        let around = (0..rhs.len())
            .filter(|&at| rhs.node(at).op() == Some(lazy.op) && rhs.range(at).contains(&only))
            .find(|&at| flatten(rhs, at, lazy.op, Class::AssocComm).contains(&only))
            .map(|at| {
                let mut top = at;
                while let Some(parent) = (top + 1..rhs.len())
                    .find(|&p| rhs.node(p).op() == Some(lazy.op) && rhs.args(p).contains(&top))
                {
                    top = parent;
                }
                top
            })?;
        let elements = flatten(rhs, around, lazy.op, Class::AssocComm);
        let is_plain = self.plans[lazy.op.index()].is_plain();
        if !is_plain && elements.len() != 2 {
            return None;
        }
        let mut kept: Vec<(usize, u32)> = Vec::new();
        let mut others = Vec::new();
        for &element in elements.iter().filter(|&&e| e != only) {
            let nodes = &rhs.nodes()[rhs.range(element)];
            let chosen = lazy.chosen.iter().position(|c| c.nodes == nodes);
            match chosen {
                Some(c) => match kept.iter_mut().find(|(k, _)| *k == c) {
                    Some((_, count)) if *count < lazy.chosen[c].copies => *count += 1,
                    Some(_) => others.push(element),
                    None => kept.push((c, 1)),
                },
                None => others.push(element),
            }
        }
        let edit = edit && is_plain && others.len() < 200;
        if kept.is_empty() && !edit {
            return None;
        }
        leaf.lazy = None;
        if !leaf.path.known[lazy.subject as usize].is_subset(well_sorted) {
            self.asm.emit_to(Op::Sort, 0, lazy.subject, leaf.fail);
            self.asm.emit(well_sorted.0);
        }
        let rest = Var { name: Name::new("%rest"), sort: var.sort };
        if edit {
            let chosen = without(&lazy.chosen, &kept);
            leaf.edit = Some((LazyBag { chosen, ..lazy.clone() }, rest));
        } else {
            let slot = leaf.path.take(1);
            frame.note(leaf.path.top);
            self.bag_rest(&lazy, &kept, slot, false);
            leaf.path.set(slot, Known::ANY);
            leaf.vars.push((rest, slot));
        }
        let mut tree = Tree::default();
        let copy = |from: std::ops::Range<usize>, tree: &mut Tree| {
            for at in from {
                tree.push(rhs.node(at).clone(), rhs.span(at));
            }
        };
        let range = rhs.range(around);
        copy(0..range.start, &mut tree);
        for &other in &others {
            tree.append(&rhs.subtree(other));
        }
        tree.push(Node::Var(rest), Span::default());
        tree.push(Node::App { op: lazy.op, arity: others.len() as u32 + 1 }, rhs.span(around));
        copy(range.end..rhs.len(), &mut tree);
        Some(tree)
    }
}

/// What is left of the chosen elements if some copies of them stay.
fn without(chosen: &[Chosen], kept: &[(usize, u32)]) -> Vec<Chosen> {
    let left = |(i, c): (usize, &Chosen)| {
        let keep = kept.iter().find(|k| k.0 == i).map_or(0, |k| k.1);
        Chosen { copies: c.copies - keep, ..c.clone() }
    };
    chosen.iter().enumerate().map(left).collect()
}

/// The copies of chosen elements, a byte each.
pub(super) fn pack(chosen: &[Chosen]) -> u64 {
    chosen.iter().rev().fold(0, |copies, c| copies << 8 | u64::from(c.copies))
}
