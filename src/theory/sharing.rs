//! What is evaluated once, and what a call must keep.
//!
//! Subterms that occur several times are evaluated once, as Maude does (its rewrite counts show
//! it): before the term in which they occur, each into a register of its own. A call's mask says
//! which registers are still used after it.

use crate::module::Fragment;
use crate::sorts::{Node, OpId, Tree};
use crate::term::Term;

use super::code::{Op, Reg, inst};
use super::compile::Compiler;
use super::known::Known;
use super::leaf::Leaf;
use super::path::Frame;

impl Compiler<'_> {
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
        trees.extend((rhs.len() > 0).then_some(rhs));
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
        let eager = self.eager_places(tree, root);
        for &at in &eager {
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
    pub(super) fn eager_places(&self, tree: &Tree, root: usize) -> Vec<usize> {
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

    pub(super) fn is_eager(&self, op: OpId) -> bool {
        self.plans[op.index()].strategy.is_standard(self.sig.op(op).arity())
    }

    /// One place of each subterm that occurs several times in the term at `root`, inner ones first;
    /// among the places of `eager` and among the others.
    pub(super) fn repeated_inside(&self, tree: &Tree, root: usize, eager: &[usize]) -> Vec<usize> {
        let range = tree.range(root);
        if range.len() > 2000 {
            return Vec::new();
        }
        let same = |a: usize, b: usize| {
            tree.nodes()[tree.range(a)] == tree.nodes()[tree.range(b)]
                && eager.contains(&a) == eager.contains(&b)
        };
        let mut repeated: Vec<usize> = Vec::new();
        for at in range.clone().filter(|&at| tree.node(at).arity() > 0) {
            let occurs_before = (range.start..at).any(|before| same(before, at));
            if occurs_before && !repeated.iter().any(|&place| same(place, at)) {
                repeated.push(at);
            }
        }
        repeated
    }

    /// Makes room for the values of variables whose terms may not be reduced.
    pub(super) fn make_room(&mut self, tree: &Tree, leaf: &mut Leaf, frame: &mut Frame) {
        if !self.has_lazy && leaf.towers.is_empty() {
            return;
        }
        for var in tree.vars() {
            let Some(&(_, term)) = leaf.vars.iter().find(|(v, _)| *v == var) else { continue };
            let is_tower = leaf.towers.iter().any(|&(tower, _, is_whole)| is_whole && tower == var);
            let may_have_work = is_tower || self.has_lazy && leaf.path.lazy[term as usize];
            if may_have_work && !leaf.values.iter().any(|(v, _)| *v == var) {
                let slot = leaf.path.take(1);
                frame.note(leaf.path.top);
                self.asm.emit(inst(Op::LoadImm, 0, slot, Term::small(0).0));
                leaf.path.set(slot, Known::ANY);
                leaf.values.push((var, slot));
            }
        }
    }

    /// Evaluates shared subterms first, each into a register of its own.
    pub(super) fn hoist(&mut self, tree: &Tree, root: usize, leaf: &mut Leaf, frame: &mut Frame) {
        self.make_room(tree, leaf, frame);
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

    /// Subterms that occur several times inside a branch are evaluated once in it.
    pub(super) fn share_branch(&mut self, tree: &Tree, at: usize, leaf: &mut Leaf, frame: &mut Frame) {
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

    /// What a branch makes available is not available after it.
    pub(super) fn in_branch(&mut self, leaf: &mut Leaf, body: impl FnOnce(&mut Self, &mut Leaf)) {
        let (path, available, shared) = (leaf.path.clone(), leaf.available.len(), leaf.shared.clone());
        let (uses, values) = (leaf.last_use.clone(), leaf.values.len());
        body(self, leaf);
        leaf.path = path;
        leaf.available.truncate(available);
        leaf.values.truncate(values);
        leaf.shared = shared;
        leaf.last_use = uses;
    }

    /// Notes where each register is used last, so that calls keep only what is needed.
    pub(super) fn start_uses(&self, rhs: &Tree, leaf: &mut Leaf) {
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
        for (at, &above) in parent.iter().enumerate() {
            match rhs.node(at) {
                Node::Var(var) => {
                    for (_, reg) in leaf.vars.iter().chain(&leaf.values).filter(|(v, _)| v == var) {
                        note(*reg, above);
                    }
                }
                _ => {
                    let nodes = &rhs.nodes()[rhs.range(at)];
                    for (_, reg) in leaf.available.iter().filter(|(key, _)| key == nodes) {
                        note(*reg, above);
                    }
                }
            }
        }
        leaf.last_use = Some(uses);
    }

    /// The registers that must survive a call made for the node at `at`.
    pub(super) fn mask(&self, at: usize, leaf: &Leaf) -> u64 {
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
}
