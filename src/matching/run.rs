//! What all theories share: binding variables with a trail, dispatch over patterns, and the
//! backtracking over subproblems.

use super::ac::AcSub;
use super::assoc::AssocSub;
use super::iter::IterSub;
use super::pattern::{Fixed, Node, NodeId, Pattern, VarRef};
use super::{Context, Rest};
use crate::term::{Int, Term};

/// What a [`super::Match`] keeps between calls, besides its subproblems.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Slots bound so far, in order.
    pub trail: Vec<u16>,
    /// Registers of free skeletons in progress.
    pub registers: Vec<Term>,
    pub rest: Rest,
    /// Empty subproblems, kept for their buffers; boxed as in [`Sub`], to move in and out.
    #[allow(clippy::vec_box)]
    pub ac_pool: Vec<Box<AcSub>>,
    pub pair_pool: Vec<Vec<(Term, u32)>>,
}

impl State {
    pub fn reset(&mut self) {
        self.trail.clear();
        self.registers.clear();
        self.rest = Rest::Whole;
    }

    /// Drops subproblems and keeps the buffers of those that are frequent.
    pub fn recycle(&mut self, subs: &mut Vec<Sub>) {
        for sub in subs.drain(..) {
            if let Sub::Ac(mut sub) = sub {
                sub.clear(self);
                self.ac_pool.push(sub);
            }
        }
    }

    pub fn roots(&mut self, f: &mut dyn FnMut(&mut Term)) {
        debug_assert!(self.registers.is_empty());
        self.rest.roots(f);
    }
}

/// A problem in the course of one call.
pub(super) struct Run<'r, 'c> {
    pub cx: &'r mut Context<'c>,
    pub pattern: &'r Pattern,
    pub slots: &'r mut [Term],
    pub state: &'r mut State,
}

/// Bindings that an alternative makes.
pub(super) type Bindings = Vec<(u16, Term)>;

/// Something left to solve after the match phase.
#[derive(Debug)]
pub(super) enum Sub {
    Ac(Box<AcSub>),
    Assoc(Box<AssocSub>),
    Iter(Box<IterSub>),
    Choice(Box<Choice>),
    Later(Box<Later>),
    Portion(Box<Portion>),
}

/// Alternatives, tried in order.
#[derive(Debug, Default)]
pub(super) struct Choice {
    pub options: Vec<Alternative>,
    current: usize,
    mark: usize,
}

#[derive(Debug, Default)]
pub(super) struct Alternative {
    pub bindings: Bindings,
    pub subs: Vec<Sub>,
    /// Set if this decides what an extension leaves.
    pub rest: Option<Rest>,
}

/// A subpattern to be matched with what a variable got.
#[derive(Debug)]
pub(super) struct Later {
    pub node: NodeId,
    pub slot: u16,
    subs: Vec<Sub>,
    mark: usize,
}

/// A subpattern to be matched with the part of a subject that an extension did not leave.
#[derive(Debug)]
pub(super) struct Portion {
    node: NodeId,
    subject: Term,
    subs: Vec<Sub>,
    mark: usize,
}

impl Portion {
    pub fn new(node: NodeId, subject: Term) -> Portion {
        Portion { node, subject, subs: Vec::new(), mark: 0 }
    }
}

impl Later {
    pub fn new(node: NodeId, slot: u16) -> Later {
        Later { node, slot, subs: Vec::new(), mark: 0 }
    }
}

impl Sub {
    pub fn roots(&mut self, f: &mut dyn FnMut(&mut Term)) {
        match self {
            Sub::Ac(sub) => sub.roots(f),
            Sub::Assoc(sub) => sub.roots(f),
            Sub::Iter(sub) => sub.roots(f),
            Sub::Choice(choice) => choice.options.iter_mut().for_each(|option| option.roots(f)),
            Sub::Later(later) => later.subs.iter_mut().for_each(|sub| sub.roots(f)),
            Sub::Portion(portion) => {
                f(&mut portion.subject);
                portion.subs.iter_mut().for_each(|sub| sub.roots(f));
            }
        }
    }
}

impl Alternative {
    pub fn roots(&mut self, f: &mut dyn FnMut(&mut Term)) {
        self.bindings.iter_mut().for_each(|(_, t)| f(t));
        self.subs.iter_mut().for_each(|sub| sub.roots(f));
        self.rest.iter_mut().for_each(|rest| rest.roots(f));
    }
}

impl Run<'_, '_> {
    #[inline]
    pub fn bind(&mut self, slot: u16, t: Term) {
        debug_assert!(self.slots[slot as usize].is_none());
        self.slots[slot as usize] = t;
        self.state.trail.push(slot);
    }

    /// Undoes bindings down to a former length of the trail.
    #[inline]
    pub fn undo(&mut self, mark: usize) {
        while self.state.trail.len() > mark {
            let slot = self.state.trail.pop().expect("longer than the mark");
            self.slots[slot as usize] = Term::NONE;
        }
    }

    #[inline]
    pub fn mark(&self) -> usize {
        self.state.trail.len()
    }

    /// The bindings made since a mark; they are undone.
    pub fn take_bindings(&mut self, mark: usize) -> Bindings {
        let bindings =
            self.state.trail[mark..].iter().map(|&slot| (slot, self.slots[slot as usize])).collect();
        self.undo(mark);
        bindings
    }

    /// Makes bindings; `false` if one contradicts a binding already there. The caller undoes.
    pub fn assert(&mut self, bindings: &[(u16, Term)]) -> bool {
        for &(slot, t) in bindings {
            let present = self.slots[slot as usize];
            if present.is_none() {
                self.bind(slot, t);
            } else if !self.cx.heap.equal(self.cx.sy, present, t) {
                return false;
            }
        }
        true
    }

    #[inline]
    /// Is the declared sort of a value that matching has built enough, whatever memberships say?
    pub fn is_settled(&self, var: &VarRef, value: Term) -> bool {
        var.idle && var.sorts.contains(self.cx.heap.sort(self.cx.sy, value))
    }

    pub fn match_var(&mut self, var: &VarRef, subject: Term) -> bool {
        let present = self.slots[var.slot as usize];
        if !present.is_none() {
            return self.cx.heap.equal(self.cx.sy, present, subject);
        }
        if !var.sorts.contains(self.cx.heap.sort(self.cx.sy, subject)) {
            return false;
        }
        self.bind(var.slot, subject);
        true
    }

    #[inline]
    pub fn is_fixed(&self, fixed: Fixed, subject: Term) -> bool {
        self.cx.heap.equal(self.cx.sy, fixed.term(self.cx.heap), subject)
    }

    /// The match phase: binds what is forced and appends what is left to solve. After `false`
    /// the caller undoes bindings and drops what was appended.
    pub fn match_node(&mut self, id: NodeId, subject: Term, extension: bool, out: &mut Vec<Sub>) -> bool {
        let pattern = self.pattern;
        match &pattern.nodes[id as usize] {
            Node::Var(var) => self.match_var(var, subject),
            Node::TopVar(parts) => {
                let sym = self.cx.heap.sym(self.cx.sy, subject);
                match parts.by_sym.iter().find(|(s, _)| extension && *s == sym && !subject.is_constant()) {
                    Some(&(_, node)) => self.match_node(node, subject, true, out),
                    None => self.match_var(&parts.var, subject),
                }
            }
            Node::Ground(fixed) => self.is_fixed(*fixed, subject),
            Node::Free(free) => self.match_free(free, subject, out),
            Node::Iter(iter) => self.match_iter(iter, subject, extension, out),
            Node::Cui(cui) => self.match_cui(cui, subject, extension, out),
            Node::Ac(ac) => self.match_ac(id, ac, subject, extension, out),
            Node::Assoc(assoc) => self.match_assoc(id, assoc, subject, extension, out),
        }
    }

    /// Matches subpatterns on trial: their bindings are taken back and returned. At most one
    /// of them has an extension.
    pub fn attempt(
        &mut self,
        extension: bool,
        matching: impl FnOnce(&mut Self, &mut Vec<Sub>) -> bool,
    ) -> Option<Alternative> {
        let mark = self.mark();
        let mut subs = Vec::new();
        let saved = extension.then(|| std::mem::take(&mut self.state.rest));
        let found = matching(self, &mut subs);
        let rest = saved.map(|saved| std::mem::replace(&mut self.state.rest, saved));
        let bindings = self.take_bindings(mark);
        found.then_some(Alternative { bindings, subs, rest })
    }

    /// Appends alternatives as one subproblem; a single one is committed to at once.
    pub fn choose(&mut self, mut options: Vec<Alternative>, out: &mut Vec<Sub>) -> bool {
        // Equal alternatives arise where an identity can come from either side.
        for i in (1..options.len()).rev() {
            let same = |other: &Alternative| {
                other.subs.is_empty()
                    && other.rest == options[i].rest
                    && other.bindings.len() == options[i].bindings.len()
                    && other.bindings.iter().all(|&(slot, value)| {
                        let find = options[i].bindings.iter().find(|b| b.0 == slot);
                        find.is_some_and(|b| self.cx.heap.equal(self.cx.sy, b.1, value))
                    })
            };
            if options[i].subs.is_empty() && options[..i].iter().any(same) {
                options.remove(i);
            }
        }
        if options.len() > 1 {
            out.push(Sub::Choice(Box::new(Choice { options, ..Choice::default() })));
            return true;
        }
        let Some(option) = options.pop() else { return false };
        out.extend(option.subs);
        if let Some(rest) = option.rest {
            self.state.rest = rest;
        }
        self.assert(&option.bindings)
    }

    /// The first or the next solution of a list of subproblems; the last varies fastest.
    /// After `false` all bindings made for it are undone.
    pub fn solve_all(&mut self, subs: &mut [Sub], first: bool) -> bool {
        if subs.is_empty() {
            return first;
        }
        let (mut i, mut fresh) = if first { (0, true) } else { (subs.len() - 1, false) };
        loop {
            if self.solve(&mut subs[i], fresh) {
                i += 1;
                if i == subs.len() {
                    return true;
                }
                fresh = true;
            } else {
                if i == 0 {
                    return false;
                }
                i -= 1;
                fresh = false;
            }
        }
    }

    fn solve(&mut self, sub: &mut Sub, first: bool) -> bool {
        match sub {
            Sub::Ac(sub) => self.solve_ac(sub, first),
            Sub::Assoc(sub) => self.solve_assoc(sub, first),
            Sub::Iter(sub) => self.solve_iter(sub, first),
            Sub::Choice(choice) => self.solve_choice(choice, first),
            Sub::Later(later) => self.solve_later(later, first),
            Sub::Portion(portion) => self.solve_portion(portion, first),
        }
    }

    fn solve_choice(&mut self, choice: &mut Choice, first: bool) -> bool {
        let mut fresh = first;
        if first {
            choice.mark = self.mark();
            choice.current = 0;
        }
        while let Some(option) = choice.options.get_mut(choice.current) {
            if fresh {
                self.undo(choice.mark);
                if !self.assert(&option.bindings) {
                    choice.current += 1;
                    continue;
                }
                if let Some(rest) = &option.rest {
                    self.state.rest = rest.clone();
                }
            }
            if self.solve_all(&mut option.subs, fresh) {
                return true;
            }
            choice.current += 1;
            fresh = true;
        }
        self.undo(choice.mark);
        false
    }

    fn solve_portion(&mut self, portion: &mut Portion, first: bool) -> bool {
        if first {
            portion.mark = self.mark();
            portion.subs.clear();
            let subject = self.portion(portion.subject);
            if !self.match_node(portion.node, subject, false, &mut portion.subs) {
                self.undo(portion.mark);
                return false;
            }
        }
        if self.solve_all(&mut portion.subs, first) {
            return true;
        }
        self.undo(portion.mark);
        false
    }

    /// The part of a subject that the extension did not leave.
    fn portion(&mut self, subject: Term) -> Term {
        let (heap, sy) = (&mut *self.cx.heap, self.cx.sy);
        let sym = heap.sym(sy, subject);
        match &self.state.rest {
            Rest::Whole => subject,
            Rest::Bag(rest) => {
                let (mut pairs, mut gone) = (Vec::new(), Vec::new());
                heap.bag_pairs(subject, &mut pairs);
                heap.pairs(sy, sym, *rest, &mut gone);
                for (t, m) in gone {
                    let at = pairs.binary_search_by(|p| heap.compare(sy, p.0, t)).expect("part of it");
                    pairs[at].1 -= m;
                }
                pairs.retain(|p| p.1 > 0);
                heap.bag(sy, sym, &pairs)
            }
            Rest::List { left, right, .. } => {
                let len = |t: &Option<Term>| t.map_or(0, |t| heap.elements(sy, sym, &t).len());
                let (before, after) = (len(left), len(right));
                let all = heap.args(subject).len();
                heap.slice(sy, sym, subject, before, all - before - after).expect("not empty")
            }
            Rest::Iter(over) => {
                let (count, base) = heap.iter_parts(subject);
                let count = Int::from_big(count.to_big() - over.to_big());
                heap.iterate(sy, sym, &count, base)
            }
        }
    }

    fn solve_later(&mut self, later: &mut Later, first: bool) -> bool {
        if first {
            later.mark = self.mark();
            later.subs.clear();
            let subject = self.slots[later.slot as usize];
            if !self.match_node(later.node, subject, false, &mut later.subs) {
                self.undo(later.mark);
                return false;
            }
        }
        if self.solve_all(&mut later.subs, first) {
            return true;
        }
        self.undo(later.mark);
        false
    }
}
