//! Greedy ways to match multisets, for statements that need only one solution.
//!
//! They answer `None` where they cannot decide; then the full algorithm runs.

use super::Rest;
use super::ac::AcSub;
use super::pattern::{Ac, Alien, Special, Stripper, Structure, TopVar};
use super::run::{Run, Sub};
use crate::term::Term;

/// No variable, no element.
const NOBODY: usize = usize::MAX;

impl Run<'_, '_> {
    pub fn match_special(
        &mut self,
        ac: &Ac,
        special: &Special,
        subject: Term,
        extension: bool,
    ) -> Option<bool> {
        match special {
            Special::NonLinear => self.match_non_linear(ac, subject),
            Special::Collector { stripper, collector } => {
                let collector = &ac.vars[*collector];
                if !self.slots[collector.var.slot as usize].is_none() {
                    return None;
                }
                let mark = self.mark();
                let found = self.strip(ac, stripper, subject);
                let Some(Some(place)) = found else {
                    self.undo(mark);
                    return found.map(|_| false);
                };
                let rest = self.cx.heap.bag_remove(self.cx.sy, subject, place, 1);
                self.give_rest(collector, rest, extension, mark)
            }
        }
    }

    /// The number of the first element that the stripper matches.
    fn strip(&mut self, ac: &Ac, stripper: &Stripper, subject: Term) -> Option<Option<usize>> {
        let sy = self.cx.sy;
        match stripper {
            Stripper::Ground => {
                let element = ac.ground[0].0.term(self.cx.heap);
                Some(self.cx.heap.bag_find(sy, subject, element).map(|(i, _)| i))
            }
            Stripper::Var(v) => {
                let var = &ac.vars[*v];
                let value = self.slots[var.var.slot as usize];
                if !value.is_none() {
                    // A bound variable of an element sort holds an element.
                    return var.is_unit().then(|| self.cx.heap.bag_find(sy, subject, value).map(|(i, _)| i));
                }
                for i in 0..self.cx.heap.bag_distinct(subject) {
                    let (element, _) = self.cx.heap.bag_nth(subject, i);
                    if self.match_var(&var.var, element) {
                        return Some(Some(i));
                    }
                }
                var.is_unit().then_some(None)
            }
            Stripper::Alien(alien) => {
                let mut subs = Vec::new();
                let found = self.find_alien(alien, subject, &mut subs);
                subs.is_empty().then_some(found)
            }
        }
    }

    /// The number of the first element that an alien matches; its bindings are made.
    fn find_alien(&mut self, alien: &Alien, bag: Term, subs: &mut Vec<Sub>) -> Option<usize> {
        let from = alien.top.map_or(0, |top| self.first_with_top(bag, top));
        for i in from..self.cx.heap.bag_distinct(bag) {
            let (element, multiplicity) = self.cx.heap.bag_nth(bag, i);
            if alien.top.is_some_and(|top| self.cx.heap.sym(self.cx.sy, element) != top) {
                return None;
            }
            if multiplicity < alien.multiplicity {
                continue;
            }
            let mark = self.mark();
            if self.match_node(alien.node, element, false, subs) {
                return Some(i);
            }
            self.undo(mark);
            subs.clear();
        }
        None
    }

    /// For a large multiset, a few elements and at most one collector: what is matched is
    /// removed from the tree, so that most of it is shared and never looked at.
    pub fn greedy_large(
        &mut self,
        ac: &Ac,
        subject: Term,
        extension: bool,
        independent: usize,
    ) -> Option<bool> {
        let mut unbound = ac.vars.iter().filter(|var| self.slots[var.var.slot as usize].is_none());
        let (collector, other) = (unbound.next(), unbound.next());
        let is_simple = match collector {
            Some(var) => var.multiplicity == 1 && var.bound.is_none() && var.structure == Structure::Pure,
            None => extension,
        };
        if other.is_some() || !is_simple || ac.resort || ac.total_min > 32 {
            return None;
        }
        let mark = self.mark();
        let answer = self.remove_all(ac, subject, independent);
        let rest = match answer {
            Ok(rest) => rest,
            Err(answer) => {
                self.undo(mark);
                return answer;
            }
        };
        let Some(collector) = collector else {
            if self.cx.heap.bag_total(subject) - self.cx.heap.bag_total(rest) < 2 {
                return Some(false);
            }
            self.state.rest = Rest::Bag(rest);
            return Some(true);
        };
        self.give_rest(collector, rest, extension, mark)
    }

    /// The collector takes all that is left, and nothing remains for the extension.
    fn give_rest(&mut self, collector: &TopVar, rest: Term, extension: bool, mark: usize) -> Option<bool> {
        if !self.match_var(&collector.var, rest) {
            self.undo(mark);
            return None;
        }
        if extension {
            self.state.rest = Rest::Whole;
        }
        Some(true)
    }

    /// What ground elements, bound variables and aliens leave of a large multiset.
    fn remove_all(&mut self, ac: &Ac, subject: Term, independent: usize) -> Result<Term, Option<bool>> {
        let sy = self.cx.sy;
        let mut rest = subject;
        let bound = ac.vars.iter().filter(|var| !self.slots[var.var.slot as usize].is_none());
        let fixed = ac.ground.iter().map(|&(fixed, m)| (fixed.term(self.cx.heap), m));
        let elements: Vec<(Term, u32)> =
            fixed.chain(bound.map(|var| (self.slots[var.var.slot as usize], var.multiplicity))).collect();
        for (element, multiplicity) in elements {
            if ac.identity.is_some_and(|e| self.cx.heap.equal(sy, self.cx.heap.consts[e], element)) {
                continue;
            }
            if element.is_node() && self.cx.heap.sym(sy, element) == ac.sym {
                return Err(None);
            }
            match self.cx.heap.bag_find(sy, rest, element) {
                Some((i, m)) if m >= multiplicity => {
                    rest = self.cx.heap.bag_remove(sy, rest, i, multiplicity)
                }
                _ => return Err(Some(false)),
            }
        }
        let mut subs = Vec::new();
        for (number, alien) in ac.grounded.iter().chain(&ac.aliens).enumerate() {
            let found = self.find_alien(alien, rest, &mut subs);
            if !subs.is_empty() {
                return Err(None);
            }
            let Some(i) = found else {
                let is_certain = number < ac.grounded.len() + independent;
                return Err(is_certain.then_some(false));
            };
            rest = self.cx.heap.bag_remove(sy, rest, i, alien.multiplicity);
        }
        Ok(rest)
    }

    /// The number of the first element whose operator is not before `top`.
    fn first_with_top(&self, subject: Term, top: u32) -> usize {
        let (heap, sy) = (&*self.cx.heap, self.cx.sy);
        let rank = sy.rank(top);
        let (mut lo, mut hi) = (0, heap.bag_distinct(subject));
        while lo < hi {
            let mid = (lo + hi) / 2;
            if sy.rank(heap.sym(sy, heap.bag_nth(subject, mid).0)) < rank {
                lo = mid + 1;
            } else {
                hi = mid;
            }
        }
        lo
    }

    /// One variable `k` times, with extension: it takes one element, or all it can.
    fn match_non_linear(&mut self, ac: &Ac, subject: Term) -> Option<bool> {
        let var = &ac.vars[0];
        if !self.slots[var.var.slot as usize].is_none() {
            return None;
        }
        let k = var.multiplicity;
        let (sy, mut from) = (self.cx.sy, 0);
        let fits = |run: &Self, t: Term| var.var.sorts.contains(run.cx.heap.sort(sy, t));
        if var.bound == Some(1) {
            while let Some(i) = self.cx.heap.bag_first_multiple(subject, from, k) {
                let (element, m) = self.cx.heap.bag_nth(subject, i);
                if fits(self, element) {
                    self.bind(var.var.slot, element);
                    let is_all = self.cx.heap.bag_distinct(subject) == 1 && m == k;
                    self.state.rest = if is_all {
                        Rest::Whole
                    } else {
                        Rest::Bag(self.cx.heap.bag_remove(sy, subject, i, k))
                    };
                    return Some(true);
                }
                from = i + 1;
            }
            return Some(false);
        }
        let heap = &mut *self.cx.heap;
        let first = heap.bag_first_multiple(subject, 0, k)?;
        if !ac.resort && heap.bag_first_multiple(subject, first + 1, k).is_none() {
            // Only one element: nothing else is looked at.
            let (element, m) = heap.bag_nth(subject, first);
            if fits(self, element) {
                let heap = &mut *self.cx.heap;
                let is_all = heap.bag_distinct(subject) == 1 && m.is_multiple_of(k);
                let rest = (!is_all).then(|| heap.bag_remove(sy, subject, first, m - m % k));
                let value = if m / k == 1 { element } else { heap.bag(sy, ac.sym, &[(element, m / k)]) };
                if !fits(self, value) {
                    return None;
                }
                self.bind(var.var.slot, value);
                self.state.rest = rest.map_or(Rest::Whole, Rest::Bag);
                return Some(true);
            }
        }
        let mut pairs = Vec::new();
        self.cx.heap.bag_pairs(subject, &mut pairs);
        let mut taken = Vec::new();
        for pair in &mut pairs {
            if pair.1 >= k && fits(self, pair.0) {
                taken.push((pair.0, pair.1 / k));
                pair.1 %= k;
            }
        }
        if taken.is_empty() {
            return (var.structure == Structure::Pure).then_some(false);
        }
        let value = self.build(ac, subject, taken.into_iter(), var)?;
        self.bind(var.var.slot, value);
        self.state.rest = self.bag_rest(ac, &pairs);
        Some(true)
    }

    /// Each alien takes the first element that fits; each variable one element; what is left
    /// goes to the last variable that can take it, or to the extension.
    pub fn greedy_ac(&mut self, ac: &Ac, sub: &AcSub, independent: usize) -> Option<bool> {
        let pairs = &sub.pairs[..];
        let mark = self.mark();
        let mut left: Vec<u32> = pairs.iter().map(|p| p.1).collect();
        let mut subs = Vec::new();
        for (number, alien) in ac.aliens.iter().enumerate() {
            let found = self.candidates(pairs, alien.top).find(|&i| {
                if left[i] < alien.multiplicity {
                    return false;
                }
                let mark = self.mark();
                let found = self.match_node(alien.node, pairs[i].0, false, &mut subs);
                if !found {
                    self.undo(mark);
                    subs.clear();
                }
                found
            });
            match found {
                Some(i) if subs.is_empty() => left[i] -= alien.multiplicity,
                _ => {
                    self.undo(mark);
                    return (found.is_none() && number < independent).then_some(false);
                }
            }
        }
        match self.greedy_vars(ac, sub, &mut left) {
            Some(true) => Some(true),
            answer => {
                self.undo(mark);
                // Another choice for the aliens might have left something better.
                if ac.aliens.is_empty() { answer } else { None }
            }
        }
    }

    fn greedy_vars(&mut self, ac: &Ac, sub: &AcSub, left: &mut [u32]) -> Option<bool> {
        let AcSub { subject, extension, total, .. } = *sub;
        let pairs = &sub.pairs[..];
        let sy = self.cx.sy;
        let vars: Vec<&TopVar> =
            ac.vars.iter().filter(|v| self.slots[v.var.slot as usize].is_none()).collect();
        let sorts: Vec<u32> = pairs.iter().map(|p| self.cx.heap.sort(sy, p.0)).collect();
        let mut firsts = Vec::with_capacity(vars.len());
        for (v, var) in vars.iter().enumerate() {
            let fits = |i: &usize| left[*i] >= var.multiplicity && var.var.sorts.contains(sorts[*i]);
            match (0..pairs.len()).find(fits) {
                Some(i) => {
                    left[i] -= var.multiplicity;
                    firsts.push(i);
                }
                None if var.take_identity => firsts.push(NOBODY),
                None => return hopeless_first(&vars[..=v]).then_some(false),
            }
        }
        let mut takers = vec![NOBODY; pairs.len()];
        let mut extended = 0;
        for i in 0..pairs.len() {
            if left[i] == 0 {
                continue;
            }
            let taker = vars.iter().rposition(|var| {
                var.structure >= Structure::Limit
                    && var.var.sorts.contains(sorts[i])
                    && left[i].is_multiple_of(var.multiplicity)
            });
            if let Some(v) = taker {
                takers[i] = v;
                continue;
            }
            extended += u64::from(left[i]);
            if !extension || extended > total - 2 {
                let hopeless =
                    vars.iter().all(|var| var.structure == Structure::Pure && var.multiplicity == 1);
                return hopeless.then_some(false);
            }
        }
        for (v, var) in vars.iter().enumerate() {
            let taken = (0..pairs.len()).filter_map(|i| {
                let more = if takers[i] == v { left[i] / var.multiplicity } else { 0 };
                let count = more + u32::from(firsts[v] == i);
                (count > 0).then_some((pairs[i].0, count))
            });
            let taken: Vec<(Term, u32)> = taken.collect();
            let value = self.build(ac, subject, taken.into_iter(), var)?;
            self.bind(var.var.slot, value);
        }
        if extension {
            let rest: Vec<(Term, u32)> =
                (0..pairs.len()).filter(|&i| takers[i] == NOBODY).map(|i| (pairs[i].0, left[i])).collect();
            self.state.rest = self.bag_rest(ac, &rest);
        }
        Some(true)
    }
}

/// The last of these variables found no element. Is it certain that no other choice for the
/// ones before would have left one?
fn hopeless_first(vars: &[&TopVar]) -> bool {
    let (last, before) = vars.split_last().expect("not empty");
    let is_plain = |var: &TopVar| var.structure == Structure::Pure || var.bound == Some(1);
    is_plain(last)
        && (last.multiplicity == 1 || before.is_empty())
        && before.iter().all(|var| is_plain(var))
        && vars.windows(2).all(|w| w[0].var.sorts.is_subset(&w[1].var.sorts))
}
