//! Multiset patterns as loops.
//!
//! A multiset pattern of elements and at most one collector is a nest of loops over the subject's
//! elements, with the loop counters in registers: no choice point is stored and nothing is
//! allocated per attempt.
//!
//! Loops go over elements in ascending order, non-variable elements outermost, then variables by
//! multiplicity and sort: the order in which Maude finds its matchers.

use crate::sorts::{Node, OpId, Tree, Var};
use crate::term::{Class, Heap, Layout, Term, sort_of_tree};

use super::code::{Label, Op, Reg, inst};
use super::collectors::{Chosen, LazyBag, pack};
use super::compile::Compiler;
use super::inline::{Top, one_is_enough};
use super::known::Known;
use super::leaf::{Leaf, has_var};
use super::path::Frame;
use super::plan::flatten;

/// At most so many elements are matched by loops.
const LOOPS_MAX: usize = 8;

/// What a multiset pattern consists of, in the order of matching.
pub(super) struct BagPlan {
    elements: Vec<Element>,
    collector: Option<Var>,
    copies: u32,
    /// Operators of elements that must be one element each, or Maude's order of matchers is another:
    /// an element that matches in several ways comes after them, and if it can be one element only
    /// Maude varies what is inside it first.
    once: Vec<u32>,
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
    pub(super) fn bag_plan(
        &self,
        tree: &Tree,
        place: usize,
        op: OpId,
        extension: bool,
        leaf: &Leaf,
    ) -> Option<BagPlan> {
        if leaf.lazy.is_some() {
            return None;
        }
        let plan = self.plan_elements(tree, place, op, extension, &leaf.vars, leaf.needed.as_deref())?;
        let is_always_good = plan.once.is_empty() && !(extension && plan.collector.is_some());
        (is_always_good || self.other_code(leaf).is_some()).then_some(plan)
    }

    /// Where the code goes that does without these loops, as long as nothing has been matched.
    fn other_code(&self, leaf: &Leaf) -> Option<Label> {
        self.slow.filter(|_| leaf.fail == leaf.start && leaf.choices.is_empty())
    }

    /// In which order the elements of a multiset in the left-hand side of a rule are matched, and the
    /// collector, if it is matched by loops and every element once.
    pub(super) fn bag_order(&self, tree: &Tree, place: usize, op: OpId) -> Option<(Vec<usize>, Var)> {
        let plan = self.plan_elements(tree, place, op, false, &[], None)?;
        let is_single = plan.elements.iter().all(|element| element.copies == 1);
        is_single.then_some((plan.elements.iter().map(|element| element.place).collect(), plan.collector?))
    }

    fn plan_elements(
        &self,
        tree: &Tree,
        place: usize,
        op: OpId,
        extension: bool,
        bound: &[(Var, Reg)],
        needed: Option<&[Var]>,
    ) -> Option<BagPlan> {
        let all = needed.is_none();
        if !self.plans[op.index()].memberships.is_empty() {
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
        let is_bound = |var: &Var| bound.iter().any(|(v, _)| v == var);
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
                    if extension && !self.takes_all(op, var.sort) {
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
        let mut shared: Vec<Var> = Vec::new();
        for (i, &a) in rigid.iter().enumerate() {
            for var in tree.subtree(a).vars() {
                let in_other = |&b: &usize| tree.subtree(b).vars().contains(&var);
                if !is_bound(&var) && rigid[i + 1..].iter().any(in_other) {
                    shared.push(var);
                }
            }
        }
        if all && extension && collector.is_some() || !all && !shared.is_empty() {
            return None;
        }
        if all
            && !extension
            && collector.is_none()
            && !elements.iter().any(|e| matches!(e.kind, ElementKind::Unit(_)))
        {
            // Maude goes its own way with several elements that compete for the same place.
            let top = |&place: &usize| tree.node(place).op();
            if (1..rigid.len()).any(|i| rigid[..i].iter().any(|other| top(other) == top(&rigid[i]))) {
                return None;
            }
        }
        self.order_elements(tree, &mut elements);
        if !all {
            // Where an element is more general than a later one, Maude tries the later one first, and
            // of several it takes a longest chain of ever more general ones before the others.
            let is_rigid = |e: &&Element| matches!(e.kind, ElementKind::Rigid(_));
            let rigid: Vec<usize> = elements.iter().filter(is_rigid).map(|e| e.place).collect();
            let subsumes = |a: usize, b: usize| self.subsumes(tree, a, b, bound);
            let is_general = |a: usize, b: usize| subsumes(a, b) && !subsumes(b, a);
            let is_chain = rigid.len() == 2;
            let is_other = |a: usize, b: usize| is_general(a, b) || !is_chain && is_general(b, a);
            if (0..rigid.len()).any(|i| rigid[i + 1..].iter().any(|&later| is_other(rigid[i], later))) {
                return None;
            }
        }
        weak_order(tree, &mut elements, &shared);
        let copies = elements.iter().map(|e| e.copies).sum();
        let once = self.before_branching(tree, &elements, needed);
        Some(BagPlan { elements, collector, copies, once })
    }

    /// The operators of the non-variable elements before the last one that matches in several ways.
    fn before_branching(&self, tree: &Tree, elements: &[Element], needed: Option<&[Var]>) -> Vec<u32> {
        let is_branching = |e: &Element| self.is_branching(tree, e.place, needed);
        let last = elements.iter().rposition(is_branching).unwrap_or(0);
        let sym = |e: &Element| if let ElementKind::Rigid(sym) = e.kind { Some(sym) } else { None };
        elements[..last].iter().filter_map(sym).collect()
    }

    /// May a pattern match in several ways that count? Free operators match in one, and so do lists with
    /// one variable for several elements.
    pub(super) fn is_branching(&self, tree: &Tree, at: usize, needed: Option<&[Var]>) -> bool {
        let Node::App { op, .. } = *tree.node(at) else { return !matches!(tree.node(at), Node::Var(_)) };
        let class = self.sy.class(op.0);
        if tree.subtree(at).vars().is_empty() || class != Class::Free && one_is_enough(tree, at, needed) {
            return false;
        }
        let parts = match class {
            Class::Free => tree.args(at),
            Class::Assoc => flatten(tree, at, op, Class::Assoc),
            _ => return true,
        };
        let is_open = |&&part: &&usize| match tree.node(part) {
            Node::Var(var) => !self.is_unit(op, var.sort),
            _ => !self.is_stable(tree, part, op),
        };
        class == Class::Assoc && parts.iter().filter(is_open).count() > 1
            || parts.iter().any(|&part| self.is_branching(tree, part, needed))
    }

    /// Is every instance of the subpattern `b` one of `a`, as far as free operators show?
    fn subsumes(&self, tree: &Tree, a: usize, b: usize, bound: &[(Var, Reg)]) -> bool {
        match (tree.node(a), tree.node(b)) {
            (Node::Var(x), other) => {
                let is_linear = tree.nodes().iter().filter(|node| **node == Node::Var(*x)).count() == 1
                    && !bound.iter().any(|(var, _)| var == x);
                let sort = sort_of_tree(self.sig, self.sy, &tree.subtree(b));
                *other == Node::Var(*x) || is_linear && self.sig.sorts.leq(sort, x.sort)
            }
            (Node::App { op, .. }, other) if other == tree.node(a) => {
                let (xs, ys) = (tree.args(a), tree.args(b));
                xs.is_empty()
                    || self.sy.class(op.0) == Class::Free
                        && xs.iter().zip(&ys).all(|(&x, &y)| self.subsumes(tree, x, y, bound))
            }
            _ => false,
        }
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
    pub(super) fn bag(
        &mut self,
        tree: &Tree,
        op: OpId,
        reg: Reg,
        extension: bool,
        plan: BagPlan,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) {
        let exact = plan.collector.is_none() && !extension;
        let takes_some = |var: Var| !self.takes_identity(op, var.sort);
        let least = plan.copies + u32::from(plan.collector.is_some_and(takes_some));
        leaf.can_fail = true;
        // The search for an element with an operator of its own fails on what has none.
        let is_rigid = plan.elements.first().is_some_and(|e| matches!(e.kind, ElementKind::Rigid(_)));
        if exact || least > 1 || !is_rigid {
            self.asm.emit_to(Op::BagCheck, 0, reg, leaf.fail);
            self.asm.emit(u64::from(op.0) | u64::from(least) << 32 | u64::from(exact) << 56);
        }
        let mut elements = plan.elements;
        if let Some(slow) = self.other_code(leaf) {
            if let Some(var) = plan.collector.filter(|_| extension) {
                // It may have to leave out an element that has no sort.
                self.is_slow_used = true;
                let sorted = Known::below(self.sig, var.sort).expect("a collector that takes all");
                self.asm.emit_to(Op::Sort, 0, reg, slow);
                self.asm.emit(sorted.0);
            }
            let mut checks: Vec<u64> = plan.once.into_iter().map(once).collect();
            if leaf.is_rule && leaf.needed.is_none() {
                let (ordered, keys) = self.best_order(tree, elements, leaf);
                elements = ordered;
                checks.extend(keys);
            }
            checks.sort_unstable();
            checks.dedup();
            if !checks.is_empty() {
                self.is_slow_used = true;
                self.asm.emit_to(Op::BagKeys, checks.len(), reg, slow);
                checks.into_iter().for_each(|check| self.asm.emit(check));
            }
        }
        let mut chosen: Vec<Chosen> = Vec::new();
        let first = leaf.path.take(2 * elements.len());
        frame.note(leaf.path.top);
        for (number, element) in elements.into_iter().enumerate() {
            let counter = first + 2 * number as Reg;
            let slot = counter + 1;
            leaf.path.set(counter, Known::ANY);
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
            let earlier = u64::from(first) | u64::from(op.0) << 32;
            let copies = pack(&chosen);
            let count = (number as u64) << 40;
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
                        None => match self.constant_argument(tree, element.place, sym) {
                            Some((i, imm)) => (5, u64::from(sym) | i << 16 | u64::from(imm.0) << 32),
                            None => (1, u64::from(sym)),
                        },
                    },
                    ElementKind::Unit(var) => match Known::below(self.sig, var.sort) {
                        Some(set) => (2, set.0),
                        None => (0, 0),
                    },
                    ElementKind::Ground => unreachable!("ground elements are known"),
                };
                match filter == 3 && element.copies == 1 && number == 0 {
                    true => self.asm.emit(inst(Op::BagFirst, 0, counter, 0)),
                    false => self.asm.emit(inst(Op::LoadImm, 0, counter, Term::small(0).0)),
                }
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
                leaf.path.set(slot, self.known_element(op, leaf.path.known[reg as usize]));
                match element.kind {
                    ElementKind::Unit(var) => {
                        if let Some(set) = Known::below(self.sig, var.sort) {
                            leaf.path.set(slot, set);
                        }
                        self.bind(var, slot, leaf);
                    }
                    _ => {
                        let top = if filter == 3 { Top::Keyed } else { Top::Known };
                        self.inline_rest(tree, element.place, slot, top, leaf, frame);
                    }
                }
            }
            let nodes = tree.nodes()[tree.range(element.place)].to_vec();
            // What was matched is not evaluated again, except if it is ground, as in Maude.
            let is_again = leaf.is_rule && self.counts_again(&nodes);
            if matches!(element.kind, ElementKind::Rigid(_)) && has_var(&nodes) && !is_again {
                leaf.available.push((nodes.clone(), slot));
            }
            chosen.push(Chosen { copies: element.copies, nodes });
        }
        if plan.collector.is_some() || extension {
            leaf.lazy = Some(LazyBag { op, subject: reg, first, chosen, var: plan.collector });
        }
    }

    /// What is known of the elements of a multiset whose own sorts are known.
    fn known_element(&self, op: OpId, bag: Known) -> Known {
        let kind = self.sig.op(op).range;
        let count = self.sig.sorts.kind(kind).sorts.len() as u32;
        let is_own = self.sig.op(op).domain.iter().all(|&domain| domain == kind);
        let has_memberships = !self.plans[op.index()].memberships.is_empty();
        if bag.may_be_error() || has_memberships || !is_own || count > 64 {
            return Known::ANY;
        }
        let diagram = self.sig.diagram(op);
        let is_strict = (0..count).all(|sort| diagram.binary(0, sort) == 0 && diagram.binary(sort, 0) == 0);
        if is_strict { Known::SORTED } else { Known::ANY }
    }

    /// Is it a free operator whose arguments stand right behind the header?
    fn is_small(&self, sym: u32) -> bool {
        self.sy.class(sym) == Class::Free && self.sy.info[sym as usize].arity <= Layout::Fixed as usize
    }

    /// Puts elements early that can be only one element of the subject, given what is bound before
    /// them: those with a known first argument, if no two elements have the same operator and
    /// first argument, and those with an operator that occurs once. The results come in the same
    /// order, since it is decided by the other elements, which keep theirs. Whether the subject is
    /// of that kind is asked first; if not, the rule's other code takes over. An element that matches
    /// in several ways comes before none that varies.
    fn best_order(&self, tree: &Tree, elements: Vec<Element>, leaf: &Leaf) -> (Vec<Element>, Vec<u64>) {
        let mut bound: Vec<Var> = leaf.vars.iter().map(|v| v.0).collect();
        let before: Vec<usize> = elements.iter().map(|e| e.place).collect();
        let of_sym = |sym: u32| move |e: &&Element| e.kind == ElementKind::Rigid(sym);
        let counts: Vec<usize> = elements
            .iter()
            .map(|e| match e.kind {
                ElementKind::Rigid(sym) => elements.iter().filter(of_sym(sym)).count(),
                _ => 0,
            })
            .collect();
        let mut left: Vec<(Element, usize)> = elements.into_iter().zip(counts).collect();
        let mut ordered: Vec<Element> = Vec::new();
        let mut checks: Vec<u64> = Vec::new();
        while !left.is_empty() {
            // The best of those that are determined: the smaller, the better.
            let mut best: Option<(u32, usize, u64)> = None;
            let mut has_varying = false;
            for (i, (element, count)) in left.iter().enumerate() {
                let determined = self.determined(tree, element, *count, &bound);
                let is_branching = self.is_branching(tree, element.place, None);
                if let Some((rank, check)) = determined
                    && !(is_branching && has_varying)
                    && best.is_none_or(|b| rank < b.0)
                {
                    best = Some((rank, i, check));
                }
                has_varying |= is_branching || determined.is_none();
            }
            let chosen = best.map_or(0, |b| b.1);
            if let Some((1.., _, check)) = best {
                checks.push(check);
            }
            let (element, _) = left.remove(chosen);
            bound.extend(tree.subtree(element.place).vars());
            ordered.push(element);
        }
        if ordered.iter().map(|e| e.place).eq(before) {
            checks.clear();
        }
        (ordered, checks)
    }

    /// Can a pattern be only one element of the subject, if these variables are bound and its operator
    /// occurs so often among the patterns? Then how good it is to begin with (the less, the better), and
    /// what must be asked of the subject.
    fn determined(&self, tree: &Tree, element: &Element, count: usize, bound: &[Var]) -> Option<(u32, u64)> {
        let sym = match element.kind {
            ElementKind::Ground => return Some((0, 0)),
            ElementKind::Rigid(sym) if self.is_small(sym) => sym,
            _ => return None,
        };
        let is_known = |&arg: &usize| match tree.node(arg) {
            Node::Var(var) => bound.contains(var),
            _ => self.is_ground_value(tree, arg),
        };
        let arity = tree.args(element.place).len();
        let has_constant = self.constant_argument(tree, element.place, sym).is_some();
        let is_keyed = tree.args(element.place).first().is_some_and(is_known);
        let rank = match () {
            _ if is_keyed && has_constant => 1,
            _ if is_keyed => 2,
            // Components without a key: with more arguments there are usually several.
            _ if count == 1 && arity == 1 && has_constant => 3,
            _ if count == 1 && arity == 1 => 4,
            _ => return None,
        };
        Some((rank, if is_keyed { u64::from(sym) } else { once(sym) }))
    }

    /// An argument of a free pattern that is a constant, and which one: it tells most elements
    /// apart before they are looked at in full.
    fn constant_argument(&self, tree: &Tree, place: usize, sym: u32) -> Option<(u64, Term)> {
        if !self.is_small(sym) || self.has_lazy {
            return None;
        }
        let constant = |(i, arg)| Some((i as u64, self.immediate(tree, arg)?));
        tree.args(place).into_iter().enumerate().find_map(constant)
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
}

/// What `BagKeys` asks for an operator that may occur once only.
fn once(sym: u32) -> u64 {
    u64::from(sym) | 1 << 32
}

/// Elements that bind many of the shared variables come early.
fn weak_order(tree: &Tree, elements: &mut [Element], shared: &[Var]) {
    let is_rigid = |e: &Element| matches!(e.kind, ElementKind::Rigid(_));
    let first = elements.iter().position(is_rigid).unwrap_or(0);
    let end = elements.iter().rposition(is_rigid).map_or(0, |last| last + 1);
    let mut open: Vec<Var> = Vec::new();
    shared.iter().for_each(|var| {
        if !open.contains(var) {
            open.push(*var)
        }
    });
    for place in first..end {
        let binds = |e: &Element| {
            let vars = tree.subtree(e.place).vars();
            open.iter().filter(|var| vars.contains(var)).count()
        };
        let (mut best, mut most) = (place, 0);
        for (i, element) in elements.iter().enumerate().take(end).skip(place) {
            if binds(element) > most {
                (best, most) = (i, binds(element));
            }
        }
        if most == 0 {
            break;
        }
        elements.swap(place, best);
        let bound = tree.subtree(elements[place].place).vars();
        open.retain(|var| !bound.contains(var));
    }
}
