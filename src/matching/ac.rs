//! Associative-commutative operators, with or without identity.
//!
//! The match phase subtracts what can only be matched in one way: ground elements, bound
//! variables, subpatterns that fit one element only. Every other subpattern and every variable
//! of an element sort becomes a *place* with the elements that fit it (a bipartite graph);
//! what places leave is distributed among the remaining variables and the extension by
//! solving a system of equations over naturals.

use std::cmp::Ordering;
use std::ops::Range;

use super::Rest;
use super::diophantine::{Diophantine, Row};
use super::pattern::{Ac, Alien, Collapse, CollapseArg, Node, NodeId, Strategy, TopVar};
use super::run::{Alternative, Bindings, Later, Run, State, Sub};
use crate::term::Term;

/// Multisets with more distinct elements are trees, which share what does not change.
const LARGE: usize = 96;

/// The row of the extension.
const EXTENSION: u32 = u32::MAX;

/// What the match phase of a multiset left to solve.
#[derive(Debug, Default)]
pub(super) struct AcSub {
    node: NodeId,
    pub(super) extension: bool,
    /// Elements of the whole subject.
    pub(super) total: u64,
    /// Distinct elements with the multiplicities that the match phase left.
    pub pairs: Vec<(Term, u32)>,
    pub(super) subject: Term,
    /// Multiplicities in the subject, if it is large.
    whole: Vec<u32>,
    places: Vec<Place>,
    /// The edges of all places, and the bindings of all edges.
    edges: Vec<Edge>,
    bindings: Bindings,
    /// Top variables that were unbound and are not places.
    vars: Vec<u32>,
    /// Multiplicities that the chosen edges leave.
    left: Vec<u32>,
    /// The same without what bound variables take.
    free: Vec<u32>,
    /// The pair of each column of the system.
    columns: Vec<u32>,
    system: Diophantine,
    has_system: bool,
    mark: usize,
    vars_mark: usize,
}

/// A subpattern or variable that takes one element, out of several.
#[derive(Debug)]
struct Place {
    multiplicity: u32,
    /// Its edges, from and to, and the present one.
    from: usize,
    to: usize,
    current: usize,
    mark: usize,
}

/// An element that fits a place.
#[derive(Debug)]
struct Edge {
    pair: u32,
    /// What the subpattern binds, from and to.
    from: u32,
    to: u32,
    subs: Vec<Sub>,
}

impl AcSub {
    pub fn clear(&mut self, state: &mut State) {
        self.pairs.clear();
        self.places.clear();
        self.bindings.clear();
        self.vars.clear();
        self.has_system = false;
        self.subject = Term::NONE;
        for edge in &mut self.edges {
            state.recycle(&mut edge.subs);
        }
        self.edges.clear();
    }

    pub fn roots(&mut self, f: &mut dyn FnMut(&mut Term)) {
        f(&mut self.subject);
        self.pairs.iter_mut().for_each(|(t, _)| f(t));
        self.bindings.iter_mut().for_each(|(_, t)| f(t));
        self.edges.iter_mut().flat_map(|edge| &mut edge.subs).for_each(|sub| sub.roots(f));
    }

    /// Makes a place of the edges from `from` on.
    fn add_place(&mut self, multiplicity: u32, from: usize) {
        let to = self.edges.len();
        self.places.push(Place { multiplicity, from, to, current: from, mark: 0 });
    }
}

/// How the match phase ended.
pub(super) enum Outcome {
    Fail,
    Done,
    Solve,
}

impl From<bool> for Outcome {
    fn from(found: bool) -> Outcome {
        if found { Outcome::Done } else { Outcome::Fail }
    }
}

impl Run<'_, '_> {
    pub fn match_ac(
        &mut self,
        id: NodeId,
        ac: &Ac,
        subject: Term,
        extension: bool,
        out: &mut Vec<Sub>,
    ) -> bool {
        let heap = &*self.cx.heap;
        if !(subject.is_node() && heap.sym(self.cx.sy, subject) == ac.sym) {
            return match &ac.collapse {
                Some(collapse) => self.collapse_ac(ac, collapse, subject, extension, out),
                None => false,
            };
        }
        let total = heap.bag_total(subject);
        if total < ac.total_min
            || ac.multiplicity_max > 1 && heap.bag_first_multiple(subject, 0, ac.multiplicity_max).is_none()
        {
            return false;
        }
        if let Some(special) = &ac.special
            && let Some(found) = self.match_special(ac, special, subject, extension)
        {
            return found;
        }
        if let Strategy::Greedy(independent) = ac.strategy
            && self.cx.heap.bag_distinct(subject) > LARGE
            && let Some(found) = self.greedy_large(ac, subject, extension, independent)
        {
            return found;
        }
        let mut sub = self.state.ac_pool.pop().unwrap_or_default();
        sub.node = id;
        sub.subject = subject;
        sub.extension = extension;
        sub.total = total;
        self.cx.heap.bag_pairs(subject, &mut sub.pairs);
        if sub.pairs.len() > LARGE {
            sub.whole.clear();
            sub.whole.extend(sub.pairs.iter().map(|p| p.1));
        }
        match self.match_pairs(ac, &mut sub, subject, out) {
            Outcome::Solve => {
                let later: Vec<u32> =
                    sub.vars.iter().copied().filter(|&v| ac.vars[v as usize].stands_for.is_some()).collect();
                out.push(Sub::Ac(sub));
                for v in later {
                    self.push_later(&ac.vars[v as usize], out);
                }
                true
            }
            outcome => {
                sub.clear(self.state);
                self.state.ac_pool.push(sub);
                matches!(outcome, Outcome::Done)
            }
        }
    }

    fn push_later(&mut self, var: &TopVar, out: &mut Vec<Sub>) {
        if let Some(node) = var.stands_for {
            out.push(Sub::Later(Box::new(Later::new(node, var.var.slot))));
        }
    }

    fn match_pairs(&mut self, ac: &Ac, sub: &mut AcSub, subject: Term, out: &mut Vec<Sub>) -> Outcome {
        if ac.aliens.iter().any(|alien| self.candidates(&sub.pairs, alien.top).is_empty()) {
            return Outcome::Fail;
        }
        for &(fixed, count) in &ac.ground {
            let element = fixed.term(self.cx.heap);
            if !self.subtract(&mut sub.pairs, element, count) {
                return Outcome::Fail;
            }
        }
        let (mut unbound, mut last) = (0, 0);
        for (v, var) in ac.vars.iter().enumerate() {
            let value = self.slots[var.var.slot as usize];
            if value.is_none() {
                (unbound, last) = (unbound + 1, v);
            } else if !self.subtract_value(ac, &mut sub.pairs, value, var.multiplicity) {
                return Outcome::Fail;
            }
        }
        for alien in &ac.grounded {
            match self.first_match(&sub.pairs, alien, 0, out) {
                Some(i) if sub.pairs[i].1 >= alien.multiplicity => sub.pairs[i].1 -= alien.multiplicity,
                _ => return Outcome::Fail,
            }
        }
        if !sub.extension {
            let left = sum(&sub.pairs);
            if unbound == 0 {
                if left != ac.aliens_total {
                    return Outcome::Fail;
                }
                if ac.aliens_total == 0 {
                    return Outcome::Done;
                }
                if let Strategy::AliensOnly(forced) = ac.strategy {
                    return self.aliens_only(ac, sub, forced, out);
                }
            } else if unbound == 1 {
                let var = &ac.vars[last];
                if ac.aliens.is_empty() {
                    return self.lone_variable(ac, var, sub, subject, out).into();
                }
                let need = if var.take_identity { 0 } else { u64::from(var.multiplicity) };
                if left < ac.aliens_total + need {
                    return Outcome::Fail;
                }
            }
        }
        if let Strategy::Greedy(independent) = ac.strategy
            && let Some(found) = self.greedy_ac(ac, sub, independent)
        {
            return found.into();
        }
        self.full(ac, sub, subject, out)
    }

    fn full(&mut self, ac: &Ac, sub: &mut AcSub, subject: Term, out: &mut Vec<Sub>) -> Outcome {
        if !self.add_places(ac, sub, 0, out) {
            return Outcome::Fail;
        }
        if sub.places.is_empty() {
            let mut unbound = ac.vars.iter().filter(|v| self.slots[v.var.slot as usize].is_none());
            let (first, second) = (unbound.next(), unbound.next());
            match (first, second, sub.extension) {
                (None, _, false) => return (sum(&sub.pairs) == 0).into(),
                (Some(var), None, false) => return self.lone_variable(ac, var, sub, subject, out).into(),
                (None, _, true) => {
                    if sum(&sub.pairs) > sub.total - 2 {
                        return Outcome::Fail;
                    }
                    self.state.rest = self.bag_rest(ac, &sub.pairs);
                    return Outcome::Done;
                }
                (Some(var), None, true) if sub.total == 2 || !var.take_identity && sum(&sub.pairs) <= 1 => {
                    self.state.rest = Rest::Whole;
                    return self.lone_variable(ac, var, sub, subject, out).into();
                }
                _ => {}
            }
        }
        for (v, var) in ac.vars.iter().enumerate() {
            if !self.slots[var.var.slot as usize].is_none() {
                continue;
            }
            if !var.is_unit() {
                sub.vars.push(v as u32);
                continue;
            }
            let (heap, sy) = (&*self.cx.heap, self.cx.sy);
            let fits = |&(t, m): &(Term, u32)| {
                m >= var.multiplicity
                    && (var.stands_for.is_some() || var.var.sorts.contains(heap.sort(sy, t)))
            };
            let from = sub.edges.len();
            for i in 0..sub.pairs.len() {
                if fits(&sub.pairs[i]) {
                    let at = sub.bindings.len() as u32;
                    sub.bindings.push((var.var.slot, sub.pairs[i].0));
                    sub.edges.push(Edge { pair: i as u32, from: at, to: at + 1, subs: Vec::new() });
                }
            }
            if sub.edges.len() == from {
                return Outcome::Fail;
            }
            sub.add_place(var.multiplicity, from);
        }
        Outcome::Solve
    }

    /// Finds the elements that fit each alien from number `from` on. An alien that fits one
    /// element only is committed to it.
    fn add_places(&mut self, ac: &Ac, sub: &mut AcSub, from: usize, out: &mut Vec<Sub>) -> bool {
        for alien in &ac.aliens[from..] {
            let first = sub.edges.len();
            for i in self.candidates(&sub.pairs, alien.top) {
                let (element, multiplicity) = sub.pairs[i];
                if multiplicity < alien.multiplicity {
                    continue;
                }
                let mark = self.mark();
                let mut subs = Vec::new();
                if self.match_node(alien.node, element, false, &mut subs) {
                    let from = sub.bindings.len() as u32;
                    let bound = &self.state.trail[mark..];
                    sub.bindings.extend(bound.iter().map(|&slot| (slot, self.slots[slot as usize])));
                    sub.edges.push(Edge { pair: i as u32, from, to: sub.bindings.len() as u32, subs });
                }
                self.undo(mark);
            }
            if sub.edges.len() - first > 1 {
                sub.add_place(alien.multiplicity, first);
                continue;
            }
            let Some(edge) = sub.edges.drain(first..).next() else { return false };
            sub.pairs[edge.pair as usize].1 -= alien.multiplicity;
            out.extend(edge.subs);
            for i in edge.from..edge.to {
                let (slot, value) = sub.bindings[i as usize];
                self.bind(slot, value);
                for var in ac.vars.iter().filter(|var| var.var.slot == slot) {
                    if !self.subtract_value(ac, &mut sub.pairs, value, var.multiplicity) {
                        return false;
                    }
                }
            }
        }
        true
    }

    fn aliens_only(&mut self, ac: &Ac, sub: &mut AcSub, forced: usize, out: &mut Vec<Sub>) -> Outcome {
        for alien in &ac.aliens[..forced] {
            match self.first_match(&sub.pairs, alien, alien.multiplicity, out) {
                Some(i) => sub.pairs[i].1 -= alien.multiplicity,
                None => return Outcome::Fail,
            }
        }
        if !self.add_places(ac, sub, forced, out) {
            return Outcome::Fail;
        }
        if sub.places.is_empty() { Outcome::Done } else { Outcome::Solve }
    }

    /// The only unbound variable takes everything.
    fn lone_variable(
        &mut self,
        ac: &Ac,
        var: &TopVar,
        sub: &AcSub,
        subject: Term,
        out: &mut Vec<Sub>,
    ) -> bool {
        let left = sum(&sub.pairs);
        let value = if left == 0 {
            if !var.take_identity {
                return false;
            }
            self.cx.heap.consts[ac.identity.expect("takes the identity")]
        } else if left == sub.total && var.multiplicity == 1 {
            subject
        } else {
            let m = var.multiplicity;
            if sub.pairs.iter().any(|p| p.1 % m != 0) {
                return false;
            }
            let pairs = sub.pairs.iter().filter(|p| p.1 > 0).map(|&(t, n)| (t, n / m));
            match self.build(ac, subject, pairs, var) {
                Some(value) => value,
                None => return false,
            }
        };
        if let Some(node) = var.stands_for {
            self.bind(var.var.slot, value);
            return self.match_node(node, value, false, out);
        }
        self.match_var(&var.var, value)
    }

    /// Elements of the subject as the value of a variable; `None` if their sort does not fit.
    pub fn build(
        &mut self,
        ac: &Ac,
        subject: Term,
        pairs: impl Iterator<Item = (Term, u32)>,
        var: &TopVar,
    ) -> Option<Term> {
        let mut buffer = self.state.pair_pool.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend(pairs);
        // All of them are the subject, whose sort may be what is asked for.
        if ac.resort && sum(&buffer) == self.cx.heap.bag_total(subject) {
            self.state.pair_pool.push(buffer);
            let sort = self.cx.heap.sort(self.cx.sy, subject);
            return (var.stands_for.is_some() || var.var.sorts.contains(sort)).then_some(subject);
        }
        let fits = ac.resort || var.stands_for.is_some() || {
            let (heap, sy) = (&*self.cx.heap, self.cx.sy);
            let diagram = &sy.info[ac.sym as usize].diagram;
            let mut total = None;
            for &(t, m) in &buffer {
                let sort = heap.sort(sy, t);
                for _ in 0..m {
                    let next = total.map_or(sort, |total| diagram.binary(total, sort));
                    if total == Some(next) {
                        break;
                    }
                    total = Some(next);
                }
            }
            total.is_none_or(|sort| var.var.sorts.contains(sort))
        };
        let value = fits.then(|| self.cx.heap.bag(self.cx.sy, ac.sym, &buffer));
        let built = buffer.len() > 1 || buffer.first().is_some_and(|p| p.1 > 1);
        self.state.pair_pool.push(buffer);
        let value = value?;
        if ac.resort && built && !self.is_settled(&var.var, value) {
            (self.cx.resort)(self.cx.heap, value);
        }
        let sorts = &var.var.sorts;
        let fits = var.stands_for.is_some() || sorts.contains(self.cx.heap.sort(self.cx.sy, value));
        fits.then_some(value)
    }

    /// What is left for the extension.
    pub fn bag_rest(&mut self, ac: &Ac, pairs: &[(Term, u32)]) -> Rest {
        let mut buffer = self.state.pair_pool.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend(pairs.iter().filter(|p| p.1 > 0));
        let rest = if buffer.is_empty() {
            Rest::Whole
        } else {
            let built = buffer.len() > 1 || buffer[0].1 > 1;
            let rest = self.cx.heap.bag(self.cx.sy, ac.sym, &buffer);
            if ac.resort && built {
                (self.cx.resort)(self.cx.heap, rest);
            }
            Rest::Bag(rest)
        };
        self.state.pair_pool.push(buffer);
        rest
    }

    /// The places of elements that may fit a pattern with this top operator: those with the
    /// same operator stand together, since operators come first in the term order.
    pub fn candidates(&self, pairs: &[(Term, u32)], top: Option<u32>) -> Range<usize> {
        let Some(top) = top else { return 0..pairs.len() };
        let (heap, sy) = (&*self.cx.heap, self.cx.sy);
        let rank = sy.rank(top);
        let start = pairs.partition_point(|p| sy.rank(heap.sym(sy, p.0)) < rank);
        let len = pairs[start..].partition_point(|p| sy.rank(heap.sym(sy, p.0)) == rank);
        start..start + len
    }

    /// The first element that stands so often at least and matches.
    fn first_match(
        &mut self,
        pairs: &[(Term, u32)],
        alien: &Alien,
        count_min: u32,
        out: &mut Vec<Sub>,
    ) -> Option<usize> {
        self.candidates(pairs, alien.top).find(|&i| {
            let (mark, len) = (self.mark(), out.len());
            let found = pairs[i].1 >= count_min && self.match_node(alien.node, pairs[i].0, false, out);
            if !found {
                self.undo(mark);
                out.truncate(len);
            }
            found
        })
    }

    fn subtract(&self, pairs: &mut [(Term, u32)], element: Term, count: u32) -> bool {
        let (heap, sy) = (&*self.cx.heap, self.cx.sy);
        match pairs.binary_search_by(|p| heap.compare(sy, p.0, element)) {
            Ok(i) if pairs[i].1 >= count => {
                pairs[i].1 -= count;
                true
            }
            _ => false,
        }
    }

    /// Subtracts `count` copies of a variable's value: an element, a multiset or the identity.
    pub fn subtract_value(&self, ac: &Ac, pairs: &mut [(Term, u32)], value: Term, count: u32) -> bool {
        let (heap, sy) = (&*self.cx.heap, self.cx.sy);
        if ac.identity.is_some_and(|identity| heap.equal(sy, heap.consts[identity], value)) {
            return true;
        }
        if !(value.is_node() && heap.sym(sy, value) == ac.sym) {
            return self.subtract(pairs, value, count);
        }
        let mut parts = Vec::new();
        heap.bag_pairs(value, &mut parts);
        // Both are ascending: one pass.
        let mut i = 0;
        for (element, multiplicity) in parts {
            loop {
                let Some(pair) = pairs.get_mut(i) else { return false };
                match heap.compare(sy, pair.0, element) {
                    Ordering::Less => i += 1,
                    Ordering::Greater => return false,
                    Ordering::Equal => {
                        let Some(rest) = pair.1.checked_sub(multiplicity * count) else { return false };
                        pair.1 = rest;
                        break;
                    }
                }
            }
        }
        true
    }

    /// The subject has another operator on top: all arguments but one take the identity.
    fn collapse_ac(
        &mut self,
        ac: &Ac,
        collapse: &Collapse,
        subject: Term,
        extension: bool,
        out: &mut Vec<Sub>,
    ) -> bool {
        let identity = self.cx.heap.consts[ac.identity.expect("collapses need an identity")];
        if let Collapse::Unique { node, arg } = collapse {
            return ac
                .vars
                .iter()
                .enumerate()
                .all(|(v, var)| *arg == CollapseArg::Var(v) || self.take_identity(var, identity, out))
                && self.match_node(*node, subject, extension, out);
        }
        if self.cx.heap.equal(self.cx.sy, subject, identity) {
            return ac.vars.iter().all(|var| self.take_identity(var, identity, out));
        }
        let mut options = Vec::new();
        for (v, var) in ac.vars.iter().enumerate().filter(|(_, var)| var.multiplicity == 1) {
            let others = ac.vars.iter().enumerate().filter(|&(u, _)| u != v).map(|(_, u)| u);
            options.extend(self.try_whole(var, others, subject, identity, extension));
        }
        self.choose(options, out)
    }

    /// One variable takes the whole subject, the others the identity.
    pub fn try_whole<'v>(
        &mut self,
        var: &TopVar,
        mut others: impl Iterator<Item = &'v TopVar>,
        subject: Term,
        identity: Term,
        extension: bool,
    ) -> Option<Alternative> {
        self.attempt(extension, |run, out| {
            let found = others.all(|other| run.take_identity(other, identity, out))
                && match var.whole {
                    Some(node) => run.match_node(node, subject, extension, out),
                    None => run.match_var(&var.var, subject),
                };
            let Some(node) = var.stands_for.filter(|_| found) else { return found };
            let value = run.slots[var.var.slot as usize];
            if value.is_none() {
                // It takes part of the subject; which one is open.
                out.push(Sub::Later(Box::new(Later::new(node, var.var.slot))));
                return true;
            }
            run.match_node(node, value, false, out)
        })
    }

    pub fn take_identity(&mut self, var: &TopVar, identity: Term, out: &mut Vec<Sub>) -> bool {
        let value = self.slots[var.var.slot as usize];
        if !value.is_none() {
            return self.cx.heap.equal(self.cx.sy, value, identity);
        }
        if !var.take_identity {
            return false;
        }
        self.bind(var.var.slot, identity);
        var.stands_for.is_none_or(|node| self.match_node(node, identity, false, out))
    }

    pub fn solve_ac(&mut self, sub: &mut AcSub, first: bool) -> bool {
        let pattern = self.pattern;
        let Node::Ac(ac) = &pattern.nodes[sub.node as usize] else { unreachable!("made by match_ac") };
        let (mut level, mut fresh);
        if first {
            sub.mark = self.mark();
            sub.left.clear();
            sub.left.extend(sub.pairs.iter().map(|p| p.1));
            (level, fresh) = (0, true);
        } else {
            if self.next_vars(ac, sub) {
                return true;
            }
            (level, fresh) = (sub.places.len(), false);
        }
        loop {
            let found = if fresh && level == sub.places.len() {
                if self.first_vars(ac, sub) {
                    return true;
                }
                false
            } else if level == sub.places.len() {
                false
            } else {
                self.choose_edge(sub, level, fresh)
            };
            if found {
                (level, fresh) = (level + 1, true);
            } else if level == 0 {
                self.undo(sub.mark);
                return false;
            } else {
                (level, fresh) = (level - 1, false);
            }
        }
    }

    fn choose_edge(&mut self, sub: &mut AcSub, level: usize, first: bool) -> bool {
        let AcSub { places, edges, bindings, left, .. } = sub;
        let place = &mut places[level];
        if first {
            place.mark = self.mark();
            place.current = place.from;
        } else {
            let edge = &mut edges[place.current];
            if !edge.subs.is_empty() && self.solve_all(&mut edge.subs, false) {
                return true;
            }
            left[edge.pair as usize] += place.multiplicity;
            place.current += 1;
        }
        while place.current < place.to {
            self.undo(place.mark);
            let edge = &mut edges[place.current];
            let left = &mut left[edge.pair as usize];
            if *left >= place.multiplicity
                && self.assert(&bindings[edge.from as usize..edge.to as usize])
                && self.solve_all(&mut edge.subs, true)
            {
                *left -= place.multiplicity;
                return true;
            }
            place.current += 1;
        }
        self.undo(place.mark);
        false
    }

    fn first_vars(&mut self, ac: &Ac, sub: &mut AcSub) -> bool {
        sub.vars_mark = self.mark();
        sub.has_system = false;
        let mut pairs = self.state.pair_pool.pop().unwrap_or_default();
        pairs.clear();
        pairs.extend(sub.pairs.iter().zip(&sub.left).map(|(p, &left)| (p.0, left)));
        let fits = sub.vars.iter().all(|&v| {
            let var = &ac.vars[v as usize];
            let value = self.slots[var.var.slot as usize];
            value.is_none() || self.subtract_value(ac, &mut pairs, value, var.multiplicity)
        });
        sub.free.clear();
        sub.free.extend(pairs.iter().map(|p| p.1));
        self.state.pair_pool.push(pairs);
        if !fits {
            return false;
        }
        let left: u64 = sub.free.iter().map(|&m| u64::from(m)).sum();
        let is_unbound = |v: &&u32| self.slots[ac.vars[**v as usize].var.slot as usize].is_none();
        if !sub.vars.iter().any(|v| is_unbound(&v)) {
            if sub.extension {
                if left > sub.total - 2 {
                    return false;
                }
                let pairs: Vec<(Term, u32)> =
                    sub.pairs.iter().zip(&sub.free).map(|(p, &free)| (p.0, free)).collect();
                self.state.rest = self.bag_rest(ac, &pairs);
                return true;
            }
            return left == 0;
        }
        let mut unbound = sub.vars.iter().filter(is_unbound);
        if !sub.extension
            && let (Some(&v), None) = (unbound.next(), unbound.next())
        {
            return self.collect(ac, &ac.vars[v as usize], sub, left);
        }
        sub.system.clear();
        for v in sub.vars.iter().filter(is_unbound) {
            let var = &ac.vars[*v as usize];
            sub.system.add_row(Row {
                coefficient: var.multiplicity,
                min: u64::from(!var.take_identity),
                max: var.bound.map_or(u64::MAX, u64::from),
                name: *v,
            });
        }
        if sub.extension {
            sub.system.add_row(Row { coefficient: 1, min: 0, max: sub.total - 2, name: EXTENSION });
        }
        sub.columns.clear();
        for (i, &free) in sub.free.iter().enumerate() {
            if free > 0 {
                sub.columns.push(i as u32);
                sub.system.add_column(free);
            }
        }
        sub.has_system = true;
        let (heap, sy) = (&*self.cx.heap, self.cx.sy);
        let AcSub { system, columns, pairs, .. } = &mut *sub;
        let mut more = system.first(|name, c| {
            let Some(var) = ac.vars.get(name as usize) else { return true };
            !var.elementwise || var.var.sorts.contains(heap.sort(sy, pairs[columns[c] as usize].0))
        });
        while more {
            if self.assign(ac, sub) {
                return true;
            }
            more = sub.system.next();
        }
        sub.has_system = false;
        false
    }

    /// The only variable takes everything that is left.
    fn collect(&mut self, ac: &Ac, var: &TopVar, sub: &AcSub, left: u64) -> bool {
        let m = var.multiplicity;
        if left == 0 && !var.take_identity
            || m > 1 && sub.free.iter().any(|&free| free % m != 0)
            || var.bound.is_some_and(|bound| left > u64::from(bound) * u64::from(m))
        {
            return false;
        }
        if sub.pairs.len() > LARGE && m == 1 && sub.total - left <= 8 && !ac.resort {
            // A few elements out of many: share the rest.
            let mut value = sub.subject;
            for (i, (&free, &all)) in sub.free.iter().zip(&sub.whole).enumerate().rev() {
                if free < all {
                    value = self.cx.heap.bag_remove(self.cx.sy, value, i, all - free);
                }
            }
            return self.match_var(&var.var, value);
        }
        let pairs = sub.pairs.iter().zip(&sub.free).filter(|(_, free)| **free > 0);
        match self.build(ac, sub.subject, pairs.map(|(p, &free)| (p.0, free / m)), var) {
            Some(value) => {
                self.bind(var.var.slot, value);
                true
            }
            None => false,
        }
    }

    fn next_vars(&mut self, ac: &Ac, sub: &mut AcSub) -> bool {
        self.undo(sub.vars_mark);
        if !sub.has_system {
            return false;
        }
        while sub.system.next() {
            if self.assign(ac, sub) {
                return true;
            }
        }
        sub.has_system = false;
        false
    }

    /// Binds the variables as a solution of the system says; `false` if a sort does not fit.
    fn assign(&mut self, ac: &Ac, sub: &AcSub) -> bool {
        let pairs = |amounts: &'_ [u32]| {
            let pairs: Vec<(Term, u32)> = sub
                .columns
                .iter()
                .zip(amounts)
                .filter(|(_, m)| **m > 0)
                .map(|(&column, &m)| (sub.pairs[column as usize].0, m))
                .collect();
            pairs
        };
        for (row, amounts) in sub.system.solution().filter(|(row, _)| row.name != EXTENSION) {
            let var = &ac.vars[row.name as usize];
            let Some(value) = self.build(ac, sub.subject, pairs(amounts).into_iter(), var) else {
                self.undo(sub.vars_mark);
                return false;
            };
            self.bind(var.var.slot, value);
        }
        if let Some((_, amounts)) = sub.system.solution().find(|(row, _)| row.name == EXTENSION) {
            self.state.rest = self.bag_rest(ac, &pairs(amounts));
        }
        true
    }
}

fn sum(pairs: &[(Term, u32)]) -> u64 {
    pairs.iter().map(|p| u64::from(p.1)).sum()
}
