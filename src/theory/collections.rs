//! List and multiset patterns that need no general matching.
//!
//! A list pattern with at most one sequence variable has at most one solution, found by counting
//! from both ends. Multisets are matched by loops (`bags`), or at once if the pattern is one
//! variable several times.

use crate::sorts::{Node, OpId, SortId, Tree, Var};
use crate::term::Class;

use super::code::{Op, Reg, pack as pack_regs};
use super::compile::Compiler;
use super::known::Known;
use super::leaf::Leaf;
use super::path::Frame;
use super::plan::{flatten, ground_sort};

impl Compiler<'_> {
    /// Matches `reg` against the pattern at `place` by counting or loops, if it is of such a
    /// form. `extension`: part of the subject may be left over.
    pub(super) fn collection(
        &mut self,
        tree: &Tree,
        place: usize,
        reg: Reg,
        extension: bool,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> bool {
        let Node::App { op, .. } = *tree.node(place) else { return false };
        // An identity whose sort memberships lower does not vanish where it is of the lower sort only.
        let identity =
            self.sy.info[op.index()].identity.map(|identity| &self.sy.identities[identity.constant]);
        let top = identity.and_then(|identity| identity.node(identity.root()).op());
        let is_lowered = top.is_some_and(|op| !self.plans[op.index()].memberships.is_empty());
        if self.has_lazy || self.trace || is_lowered {
            return false;
        }
        match self.sy.class(op.0) {
            Class::Assoc if !extension => self.list(tree, place, op, reg, leaf, frame),
            Class::AssocComm => match self.bag_plan(tree, place, op, extension, leaf) {
                Some(plan) => {
                    self.bag(tree, op, reg, extension, plan, leaf, frame);
                    true
                }
                None => false,
            },
            _ => false,
        }
    }

    fn list(
        &mut self,
        tree: &Tree,
        place: usize,
        op: OpId,
        reg: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> bool {
        let identity = self.sy.info[op.index()].identity;
        if identity.is_some_and(|identity| !identity.left || !identity.right) {
            return false;
        }
        let elements = flatten(tree, place, op, Class::Assoc);
        let mut flex = None;
        for (i, &element) in elements.iter().enumerate() {
            match tree.node(element) {
                Node::Var(var) if !self.is_unit(op, var.sort) => {
                    let repeated = tree.nodes().iter().filter(|n| **n == Node::Var(*var)).count() > 1;
                    if flex.is_some() || repeated || leaf.vars.iter().any(|(v, _)| v == var) {
                        return false;
                    }
                    flex = Some((i, *var));
                }
                Node::Var(_) => {}
                _ if self.is_stable(tree, element, op) => {}
                _ => return false,
            }
        }
        let left = flex.map_or(elements.len(), |(i, _)| i);
        let right = elements.len() - left - usize::from(flex.is_some());
        if left > 200 || right > 200 {
            return false;
        }
        let first = leaf.path.take(left + right + 1);
        frame.note(leaf.path.top);
        let mode = match flex {
            None => 0,
            Some(_) if identity.is_some() => 2,
            Some(_) => 1,
        };
        self.asm.emit_to(Op::ListSplit, left, reg, leaf.fail);
        self.asm.emit(u64::from(op.0) | (right as u64) << 32 | mode << 40 | u64::from(first) << 48);
        leaf.can_fail = true;
        for i in 0..left + right {
            leaf.path.set(first + i as Reg, Known::ANY);
        }
        if let Some((_, var)) = flex {
            let rest = first + (left + right) as Reg;
            leaf.path.set(rest, Known::ANY);
            self.bind(var, rest, leaf);
        }
        // Variables before patterns that may need the general matcher.
        let places: Vec<(usize, Reg)> = (0..left + right)
            .map(|i| (elements[if i < left { i } else { i + 1 }], first + i as Reg))
            .collect();
        let is_var = |p: &&(usize, Reg)| matches!(tree.node(p.0), Node::Var(_));
        for &(element, slot) in places.iter().filter(is_var) {
            self.inline_match(tree, element, slot, leaf, frame);
        }
        for &(element, slot) in places.iter().filter(|p| !is_var(p)) {
            self.inline_match(tree, element, slot, leaf, frame);
        }
        true
    }

    /// Binds a new variable to a register, with its sort check.
    pub(super) fn bind(&mut self, var: Var, reg: Reg, leaf: &mut Leaf) {
        leaf.vars.push((var, reg));
        let known = leaf.path.known[reg as usize];
        if self.emit_sort_check(reg, var.sort, known, leaf.fail) {
            leaf.can_fail = true;
            if let Some(below) = Known::below(self.sig, var.sort) {
                leaf.path.known[reg as usize] = Known(known.0 & below.0);
            }
        }
    }

    /// Can a variable of this sort take only a single element of `op`?
    pub(super) fn is_unit(&self, op: OpId, sort: SortId) -> bool {
        let entry = self.sig.sorts.get(sort);
        if entry.kind != self.sig.op(op).range || !self.plans[op.index()].memberships.is_empty() {
            return false;
        }
        let kind = self.sig.sorts.kind(entry.kind);
        let count = kind.sorts.len() as u32;
        if count > 64 {
            return false;
        }
        if self.takes_identity(op, sort) {
            return false;
        }
        let diagram = self.sig.diagram(op);
        (0..count).all(|a| (0..count).all(|b| !kind.leq(diagram.binary(a, b), entry.index)))
    }

    /// Does the sort have the operator's identity?
    pub(super) fn takes_identity(&self, op: OpId, sort: SortId) -> bool {
        let sort = self.sig.sorts.get(sort);
        self.sy.info[op.index()].identity.is_some_and(|identity| {
            let identity = ground_sort(self.sig, self.sy, &self.sy.identities[identity.constant]);
            self.sig.sorts.kind(sort.kind).leq(identity, sort.index)
        })
    }

    /// Is the top of a non-variable pattern the top of all its instances, and not `op`?
    pub(super) fn is_stable(&self, tree: &Tree, place: usize, op: OpId) -> bool {
        let Some(top) = tree.node(place).op() else { return false };
        let info = &self.sy.info[top.index()];
        if top == op || info.identity.is_some() || info.idem {
            return false;
        }
        // The identity itself as an element is normalized away: leave that to the matcher.
        let identity = self.sy.info[op.index()].identity;
        !identity.is_some_and(|identity| {
            let e = &self.sy.identities[identity.constant];
            tree.same(place, e, e.root())
        })
    }

    /// Is every sort of the kind below this one?
    pub(super) fn is_largest(&self, sort: SortId) -> bool {
        let kind = self.sig.sorts.kind(self.sig.sorts.kind_of(sort));
        kind.maximal == 1 && kind.sorts[1] == sort
    }

    /// Does a variable of this sort take all that is left of a well-sorted multiset?
    pub(super) fn takes_all(&self, op: OpId, sort: SortId) -> bool {
        self.is_largest(sort)
            && self.shapes.is_closed(self.sig, op, self.sig.sorts.get(sort).index)
            && Known::below(self.sig, sort).is_some()
    }

    /// The variable and how often it occurs, if a multiset pattern at the top is nothing else
    /// (`F & F`), may leave elements over, and takes whatever is repeated in a well-sorted
    /// multiset.
    pub(super) fn repeated(&self, lhs: &Tree) -> Option<(Var, usize)> {
        let op = lhs.node(lhs.root()).op()?;
        let info = &self.sy.info[op.index()];
        if info.class != Class::AssocComm
            || info.identity.is_some()
            || info.idem
            || self.has_lazy
            || self.trace
            || self.sig.op(op).domain.iter().any(|&kind| kind != info.kind)
            || !self.plans[op.index()].memberships.is_empty()
        {
            return None;
        }
        let elements = flatten(lhs, lhs.root(), op, Class::AssocComm);
        let Node::Var(var) = *lhs.node(elements[0]) else { return None };
        let is_same = |&e: &usize| *lhs.node(e) == Node::Var(var);
        if !elements.iter().all(is_same) || elements.len() > 255 || self.is_unit(op, var.sort) {
            return None;
        }
        if !self.is_largest(var.sort) || Known::below(self.sig, var.sort).is_none() {
            return None;
        }
        // Sorted elements make sorted multisets, and no others do.
        let diagram = self.sig.diagram(op);
        let count = self.sig.sorts.kind(self.sig.op(op).range).sorts.len() as u32;
        let is_total =
            (0..count).all(|a| (0..count).all(|b| (diagram.binary(a, b) == 0) == (a == 0 || b == 0)));
        is_total.then_some((var, elements.len()))
    }

    /// Matches register 0 against a variable that is repeated; what is left goes to the second
    /// of the registers, which are returned.
    pub(super) fn match_repeated(
        &mut self,
        (var, copies): (Var, usize),
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> [Reg; 2] {
        let slot = leaf.path.take(2);
        frame.note(leaf.path.top);
        leaf.can_fail = true;
        self.asm.emit_to(Op::BagRepeated, copies, 0, leaf.fail);
        self.asm.emit(pack_regs(&[slot, slot + 1]));
        let known = Known::below(self.sig, var.sort).expect("checked before");
        leaf.path.set(slot, known);
        leaf.path.set(slot + 1, Known::ANY);
        leaf.vars.push((var, slot));
        [slot, slot + 1]
    }

    /// The variables of an equation that stand for parts of the collection being rewritten, with
    /// its operator: such a part has never been reduced by itself.
    pub(super) fn parts(&self, lhs: &Tree) -> Option<(OpId, Vec<Var>)> {
        let op = lhs.node(lhs.root()).op()?;
        let class = self.sy.class(op.0);
        if !matches!(class, Class::Assoc | Class::AssocComm) {
            return None;
        }
        let vars: Vec<Var> = flatten(lhs, lhs.root(), op, class)
            .into_iter()
            .filter_map(|at| match lhs.node(at) {
                Node::Var(var) if !self.is_unit(op, var.sort) => Some(*var),
                _ => None,
            })
            .collect();
        (!vars.is_empty()).then_some((op, vars))
    }
}

/// The term with the operator around these variables, so that their values are reduced.
pub(super) fn reduce_parts(tree: &Tree, op: OpId, vars: &[Var]) -> Tree {
    let mut result = Tree::default();
    for at in 0..tree.len() {
        result.push(tree.node(at).clone(), tree.span(at));
        if matches!(tree.node(at), Node::Var(var) if vars.contains(var)) {
            result.push(Node::App { op, arity: 1 }, tree.span(at));
        }
    }
    result
}
