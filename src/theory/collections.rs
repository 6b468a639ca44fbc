//! List and multiset patterns that need no general matching.
//!
//! A list pattern with at most one sequence variable has at most one solution, found by counting
//! from both ends. A multiset pattern of elements and at most one collector is a nest of loops
//! over the subject's elements, with the loop counters in registers: no choice point is stored
//! and nothing is allocated per attempt. The collector is built only when all conditions that do
//! not use it hold, and where a right-hand side puts matched elements back (`X S`), they are not
//! taken out in the first place.
//!
//! Loops go over elements in ascending order, non-variable elements outermost, then variables by
//! multiplicity and sort: the order in which Maude finds its matchers.

use crate::base::{Name, Span};
use crate::sorts::{Node, OpId, SortId, Tree, Var};
use crate::term::{Class, Heap, Term};

use super::code::{Op, Reg, inst};
use super::compile::{Compiler, Frame, Leaf};
use super::known::Known;
use super::plan::{flatten, ground_sort};

/// At most so many elements are matched by loops.
const LOOPS_MAX: usize = 5;

/// A collector that has not been built yet: the subject without the chosen elements.
#[derive(Clone)]
pub(super) struct LazyBag {
    op: OpId,
    subject: Reg,
    chosen: Vec<Chosen>,
    /// The variable, or `None` for what an extension leaves.
    var: Option<Var>,
}

impl LazyBag {
    /// Is it what an extension leaves, rather than a variable's value?
    pub(super) fn is_extension(&self) -> bool {
        self.var.is_none()
    }
}

/// An element that a loop has chosen: its counter, how many copies, and the variable it is.
#[derive(Clone)]
struct Chosen {
    counter: Reg,
    copies: u32,
    var: Option<Var>,
}

/// What a multiset pattern consists of, in the order of matching.
struct BagPlan {
    elements: Vec<Element>,
    collector: Option<Var>,
    copies: u32,
}

struct Element {
    place: usize,
    copies: u32,
    kind: ElementKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ElementKind {
    /// A ground term: looked up.
    Ground,
    /// Some other non-variable pattern: tried on every element with its operator.
    Rigid(u32),
    /// A variable for one element.
    Unit(Var),
}

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
        if self.has_lazy || self.trace {
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
    fn bind(&mut self, var: Var, reg: Reg, leaf: &mut Leaf) {
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
    fn is_unit(&self, op: OpId, sort: SortId) -> bool {
        let entry = self.sig.sorts.get(sort);
        if entry.kind != self.sig.op(op).range || !self.plans[op.index()].memberships.is_empty() {
            return false;
        }
        let kind = self.sig.sorts.kind(entry.kind);
        let count = kind.sorts.len() as u32;
        if count > 64 {
            return false;
        }
        if let Some(identity) = self.sy.info[op.index()].identity
            && kind.leq(ground_sort(self.sig, &self.sy.identities[identity.constant]), entry.index)
        {
            return false;
        }
        let diagram = self.sig.diagram(op);
        (0..count).all(|a| (0..count).all(|b| !kind.leq(diagram.binary(a, b), entry.index)))
    }

    /// Is the top of a non-variable pattern the top of all its instances, and not `op`?
    fn is_stable(&self, tree: &Tree, place: usize, op: OpId) -> bool {
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

    fn bag_plan(&self, tree: &Tree, place: usize, op: OpId, extension: bool, leaf: &Leaf) -> Option<BagPlan> {
        if leaf.lazy.is_some() || !self.plans[op.index()].memberships.is_empty() {
            return None;
        }
        let mut grouped: Vec<(usize, u32)> = Vec::new();
        for element in flatten(tree, place, op, Class::AssocComm) {
            match grouped.iter_mut().find(|(other, _)| tree.same(*other, tree, element)) {
                Some((_, copies)) => *copies += 1,
                None => grouped.push((element, 1)),
            }
        }
        let occurrences = |var: &Var| tree.nodes().iter().filter(|n| **n == Node::Var(*var)).count();
        let is_bound = |var: &Var| leaf.vars.iter().any(|(v, _)| v == var);
        let mut collector = None;
        let mut elements = Vec::new();
        for (place, copies) in grouped {
            let kind = match tree.node(place) {
                Node::Var(var) if self.is_unit(op, var.sort) => ElementKind::Unit(*var),
                Node::Var(var) => {
                    if collector.is_some() || copies > 1 || is_bound(var) || occurrences(var) > 1 {
                        return None;
                    }
                    // With an extension the collector must be able to take everything.
                    if extension && !self.is_largest(var.sort) {
                        return None;
                    }
                    collector = Some(*var);
                    continue;
                }
                _ if !self.is_stable(tree, place, op) || copies > 1 => return None,
                _ if self.is_ground_value(tree, place) => ElementKind::Ground,
                node => ElementKind::Rigid(node.op()?.0),
            };
            if copies > 255 {
                return None;
            }
            elements.push(Element { place, copies, kind });
        }
        if elements.is_empty() || elements.len() > LOOPS_MAX {
            return None;
        }
        let rigid: Vec<usize> =
            elements.iter().filter(|e| matches!(e.kind, ElementKind::Rigid(_))).map(|e| e.place).collect();
        // Variables shared by several non-variable elements make Maude reorder them.
        for (i, &a) in rigid.iter().enumerate() {
            for var in tree.subtree(a).vars() {
                let in_other = |&b: &usize| tree.subtree(b).vars().contains(&var);
                if !is_bound(&var) && rigid[i + 1..].iter().any(in_other) {
                    return None;
                }
            }
        }
        self.order_elements(tree, &mut elements);
        let copies = elements.iter().map(|e| e.copies).sum();
        Some(BagPlan { elements, collector, copies })
    }

    /// Is every sort of the kind below this one?
    fn is_largest(&self, sort: SortId) -> bool {
        let kind = self.sig.sorts.kind(self.sig.sorts.kind_of(sort));
        kind.maximal == 1 && kind.sorts[1] == sort
    }

    /// Ground elements, then other patterns in term order, then variables: more copies first,
    /// smaller sorts first, then term order.
    fn order_elements(&self, tree: &Tree, elements: &mut [Element]) {
        let mut heap = Heap::new();
        for identity in &self.sy.identities {
            let term = heap.build(self.sy, self.names, identity);
            heap.consts.push(term);
        }
        let terms: Vec<(usize, Term)> = elements
            .iter()
            .map(|e| (e.place, heap.build(self.sy, self.names, &tree.subtree(e.place))))
            .collect();
        let term = |e: &Element| terms.iter().find(|t| t.0 == e.place).expect("built above").1;
        let class = |e: &Element| match e.kind {
            ElementKind::Ground => 0,
            ElementKind::Rigid(_) => 1,
            ElementKind::Unit(_) => 2,
        };
        elements.sort_by(|a, b| {
            let variables = match (a.kind, b.kind) {
                (ElementKind::Unit(x), ElementKind::Unit(y)) => {
                    let index = |v: Var| self.sig.sorts.get(v.sort).index;
                    b.copies.cmp(&a.copies).then(index(y).cmp(&index(x)))
                }
                _ => std::cmp::Ordering::Equal,
            };
            class(a).cmp(&class(b)).then(variables).then_with(|| heap.compare(self.sy, term(a), term(b)))
        });
    }

    #[allow(clippy::too_many_arguments)]
    fn bag(
        &mut self,
        tree: &Tree,
        op: OpId,
        reg: Reg,
        extension: bool,
        plan: BagPlan,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) {
        let has_identity = self.sy.info[op.index()].identity.is_some();
        let exact = plan.collector.is_none() && !extension;
        let least = plan.copies + u32::from(plan.collector.is_some() && !has_identity);
        leaf.can_fail = true;
        self.asm.emit_to(Op::BagCheck, 0, reg, leaf.fail);
        self.asm.emit(u64::from(op.0) | u64::from(least) << 32 | u64::from(exact) << 56);
        let mut chosen: Vec<Chosen> = Vec::new();
        for element in plan.elements {
            let counter = leaf.path.take(2);
            let slot = counter + 1;
            leaf.path.set(counter, Known::ANY);
            frame.note(leaf.path.top);
            let bound = match element.kind {
                ElementKind::Unit(var) => leaf.vars.iter().find(|(v, _)| *v == var).map(|v| v.1),
                _ => None,
            };
            let known_value = match element.kind {
                ElementKind::Ground => {
                    let constant = self.constant(&tree.subtree(element.place));
                    self.asm.emit(inst(Op::LoadConst, 0, slot, constant));
                    leaf.path.set(slot, Known::ANY);
                    Some(slot)
                }
                _ => bound,
            };
            let (earlier, copies) = pack(&chosen);
            let copies = copies | u64::from(op.0) << 48;
            let count = (chosen.len() as u64) << 40;
            if let Some(value) = known_value {
                self.asm.emit_to(Op::BagFind, 0, counter, leaf.fail);
                self.asm
                    .emit(u64::from(reg) | u64::from(value) << 16 | u64::from(element.copies) << 32 | count);
                self.asm.emit(earlier);
                self.asm.emit(copies);
            } else {
                let (filter, value) = match element.kind {
                    ElementKind::Rigid(sym) => match self.key(tree, element.place, sym, leaf, frame) {
                        Some(key) => (3, u64::from(sym) | u64::from(key) << 32),
                        None => (1u64, u64::from(sym)),
                    },
                    ElementKind::Unit(var) => match Known::below(self.sig, var.sort) {
                        Some(set) => (2, set.0),
                        None => (0, 0),
                    },
                    ElementKind::Ground => unreachable!("ground elements are known"),
                };
                self.asm.emit(inst(Op::LoadImm, 0, counter, Term::small(0).0));
                let again = self.asm.here();
                self.asm.emit_to(Op::BagNext, 0, counter, leaf.fail);
                self.asm.emit(
                    u64::from(reg)
                        | u64::from(slot) << 16
                        | u64::from(element.copies) << 32
                        | count
                        | filter << 48,
                );
                self.asm.emit(value);
                self.asm.emit(earlier);
                self.asm.emit(copies);
                leaf.fail = again;
                leaf.path.set(slot, Known::ANY);
                match element.kind {
                    ElementKind::Unit(var) => {
                        if let Some(set) = Known::below(self.sig, var.sort) {
                            leaf.path.set(slot, set);
                        }
                        self.bind(var, slot, leaf);
                    }
                    _ => self.inline_match(tree, element.place, slot, leaf, frame),
                }
            }
            let var = if let ElementKind::Unit(var) = element.kind { Some(var) } else { None };
            chosen.push(Chosen { counter, copies: element.copies, var });
        }
        if plan.collector.is_some() || extension {
            leaf.lazy = Some(LazyBag { op, subject: reg, chosen, var: plan.collector });
        }
    }

    /// A register with the first argument of a free pattern, if it is known before the loop:
    /// elements with that argument stand together.
    fn key(
        &mut self,
        tree: &Tree,
        place: usize,
        sym: u32,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> Option<Reg> {
        if self.sy.class(sym) != Class::Free {
            return None;
        }
        let first = *tree.args(place).first()?;
        if let Node::Var(var) = tree.node(first) {
            return leaf.vars.iter().find(|(v, _)| v == var).map(|v| v.1);
        }
        if !self.is_ground_value(tree, first) {
            return None;
        }
        let slot = leaf.path.take(1);
        frame.note(leaf.path.top);
        let constant = self.constant(&tree.subtree(first));
        self.asm.emit(inst(Op::LoadConst, 0, slot, constant));
        leaf.path.set(slot, Known::ANY);
        Some(slot)
    }

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
        let path = leaf.path.clone();
        self.build_collector(leaf, frame);
        leaf.path = path;
        self.asm.place(done);
    }

    /// What an extension leaves of a multiset, into `slot` (nothing if nothing is left).
    /// Returns false if the left-hand side was not matched by loops with an extension.
    pub(super) fn extension_rest(&mut self, slot: Reg, leaf: &mut Leaf) -> bool {
        let Some(lazy) = leaf.lazy.take_if(|lazy| lazy.var.is_none()) else { return false };
        self.bag_rest(&lazy, &[], slot, true);
        true
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

    fn bag_rest(&mut self, lazy: &LazyBag, kept: &[(Var, u32)], slot: Reg, may_be_none: bool) {
        let chosen: Vec<Chosen> = lazy
            .chosen
            .iter()
            .map(|c| {
                let keep = kept.iter().find(|(var, _)| c.var == Some(*var)).map_or(0, |k| k.1);
                Chosen { copies: c.copies - keep, ..c.clone() }
            })
            .filter(|c| c.copies > 0)
            .collect();
        let (counters, copies) = pack(&chosen);
        self.asm.emit(inst(Op::BagRest, chosen.len(), slot, u32::from(may_be_none)));
        self.asm.emit(u64::from(lazy.subject) | u64::from(lazy.op.0) << 32);
        self.asm.emit(counters);
        self.asm.emit(copies | chosen.get(4).map_or(0, |c| u64::from(c.counter)) << 48);
    }

    /// Where the right-hand side puts the collector and matched elements together again, they
    /// are taken as one: returns the right-hand side with a variable in their place.
    pub(super) fn reuse_collector(&mut self, rhs: &Tree, leaf: &mut Leaf, frame: &mut Frame) -> Option<Tree> {
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
        let mut kept: Vec<(Var, u32)> = Vec::new();
        let mut others = Vec::new();
        for &element in elements.iter().filter(|&&e| e != only) {
            let chosen = match rhs.node(element) {
                Node::Var(v) => lazy.chosen.iter().find(|c| c.var == Some(*v)).map(|c| (*v, c.copies)),
                _ => None,
            };
            match chosen {
                Some((v, copies)) => match kept.iter_mut().find(|(k, _)| *k == v) {
                    Some((_, count)) if *count < copies => *count += 1,
                    Some(_) => others.push(element),
                    None => kept.push((v, 1)),
                },
                None => others.push(element),
            }
        }
        if kept.is_empty() {
            return None;
        }
        leaf.lazy = None;
        if !leaf.path.known[lazy.subject as usize].is_subset(well_sorted) {
            self.asm.emit_to(Op::Sort, 0, lazy.subject, leaf.fail);
            self.asm.emit(well_sorted.0);
        }
        let slot = leaf.path.take(1);
        frame.note(leaf.path.top);
        self.bag_rest(&lazy, &kept, slot, false);
        leaf.path.set(slot, Known::ANY);
        let rest = Var { name: Name::new("%rest"), sort: var.sort };
        leaf.vars.push((rest, slot));
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

/// Counters and copies of chosen elements, packed into two words.
fn pack(chosen: &[Chosen]) -> (u64, u64) {
    let (mut counters, mut copies) = (0u64, 0u64);
    for (i, c) in chosen.iter().enumerate() {
        if i < 4 {
            counters |= u64::from(c.counter) << (16 * i);
        }
        copies |= u64::from(c.copies) << (8 * i);
    }
    (counters, copies)
}
