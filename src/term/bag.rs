//! Multisets of associative-commutative operators.
//!
//! Up to [`FLAT_MAX`] distinct elements a multiset is an ascending array of (element,
//! multiplicity); above, a persistent tree over such arrays (`bag_tree`), so that adding to and
//! taking from a multiset of n elements costs O(log n).

use std::cmp::Ordering;

use super::bag_tree::Change;
use super::heap::{Heap, Layout, Term, header, header_sort};
use super::symbols::Symbols;
use crate::base::Exceeded;
use crate::sorts::SortIx;

/// Multisets with more distinct elements than this are trees.
pub(super) const FLAT_MAX: usize = 96;

/// The sum of two multiplicities.
#[inline]
pub(super) fn copies(one: u32, other: u32) -> u32 {
    let Some(sum) = one.checked_add(other) else {
        Exceeded("an element can be at most 4,294,967,295 times in a multiset").unwind()
    };
    sum
}

impl Heap {
    /// Appends the elements of a multiset node with their multiplicities, ascending.
    pub fn bag_pairs(&self, t: Term, out: &mut Vec<(Term, u32)>) {
        let t = self.deref(t);
        let at = t.at();
        if self.layout(t) == Layout::Bag as u32 {
            let n = self.word(at + 1).0 as usize;
            out.extend((0..n).map(|i| (self.word(at + 2 + 2 * i), self.word(at + 3 + 2 * i).0)));
            return;
        }
        self.tree_pairs(self.word(at + 1), out);
    }

    /// The pairs of `t` seen as a multiset of `sym`: its elements, or `t` alone once.
    pub fn pairs(&self, sy: &Symbols, sym: u32, t: Term, out: &mut Vec<(Term, u32)>) {
        if t.is_node() && self.sym(sy, t) == sym { self.bag_pairs(t, out) } else { out.push((t, 1)) }
    }

    /// How many distinct elements a multiset node has.
    pub fn bag_distinct(&self, t: Term) -> usize {
        if self.layout(t) == Layout::Bag as u32 {
            self.word(t.at() + 1).0 as usize
        } else {
            self.tree_distinct(self.word(t.at() + 1))
        }
    }

    /// How many elements a multiset node has, counted with multiplicity.
    pub fn bag_total(&self, t: Term) -> u64 {
        if self.layout(t) == Layout::Bag as u32 {
            let at = t.at();
            (0..self.bag_distinct(t)).map(|i| u64::from(self.word(at + 3 + 2 * i).0)).sum()
        } else {
            self.tree_total(self.word(t.at() + 1))
        }
    }

    /// The element with the given number in ascending order, and its multiplicity.
    #[inline]
    pub fn bag_nth(&self, t: Term, n: usize) -> (Term, u32) {
        let at = t.at();
        if self.layout(t) == Layout::Bag as u32 {
            return (self.word(at + 2 + 2 * n), self.word(at + 3 + 2 * n).0);
        }
        self.tree_nth(self.word(at + 1), n)
    }

    /// The number of the first element from number `from` on whose multiplicity is at least `k`.
    pub fn bag_first_multiple(&self, t: Term, from: usize, k: u32) -> Option<usize> {
        let at = t.at();
        if self.layout(t) == Layout::Bag as u32 {
            let n = self.word(at + 1).0 as usize;
            return (from..n).find(|&i| self.word(at + 3 + 2 * i).0 >= k);
        }
        self.tree_first_multiple(self.word(at + 1), from, k)
    }

    /// The number and the multiplicity of an element, if it is there.
    pub fn bag_find(&self, sy: &Symbols, t: Term, element: Term) -> Option<(usize, u32)> {
        if element.is_constant() {
            // Constants come first: most often a glance at the first element tells.
            let first = match self.layout(t) == Layout::Bag as u32 {
                true => self.word(t.at() + 2),
                false => self.tree_first(self.word(t.at() + 1)),
            };
            if first != element && sy.rank(self.sym(sy, first)) > sy.rank(element.payload()) {
                return None;
            }
        }
        let (place, found) = self.bag_search(t, |here| self.compare(sy, here, element));
        found.map(|multiplicity| (place, multiplicity))
    }

    /// The number of the first element that is not `Less`, and the multiplicity of one that is
    /// `Equal` (which ends the search, so that it should be the only one).
    #[inline]
    fn bag_search(&self, t: Term, order: impl Fn(Term) -> Ordering) -> (usize, Option<u32>) {
        let at = t.at();
        if self.layout(t) == Layout::Bag as u32 {
            return self.search_pairs(at + 2, self.word(at + 1).0 as usize, order);
        }
        self.tree_search(self.word(at + 1), order)
    }

    /// Binary search in `n` pairs from a place on; see [`Heap::bag_search`].
    #[inline]
    fn search_pairs(&self, pairs: usize, n: usize, order: impl Fn(Term) -> Ordering) -> (usize, Option<u32>) {
        let (mut lo, mut hi) = (0, n);
        while lo < hi {
            let mid = (lo + hi) / 2;
            match order(self.word(pairs + 2 * mid)) {
                Ordering::Equal => return (mid, Some(self.word(pairs + 2 * mid + 1).0)),
                Ordering::Greater => hi = mid,
                Ordering::Less => lo = mid + 1,
            }
        }
        (lo, None)
    }

    /// The number of the first element that is not below something, which `is_below` says.
    #[inline]
    pub fn bag_first(&self, t: Term, is_below: impl Fn(Term) -> bool) -> usize {
        self.bag_search(t, |here| if is_below(here) { Ordering::Less } else { Ordering::Greater }).0
    }

    /// A multiset from ascending distinct pairs; the element itself if it is one, the identity
    /// if it is none (the operator must have one then).
    pub fn bag(&mut self, sy: &Symbols, sym: u32, pairs: &[(Term, u32)]) -> Term {
        match pairs {
            [] => {
                let identity = sy.info[sym as usize].identity.expect("an empty multiset needs an identity");
                self.consts[identity.constant]
            }
            [(element, 1)] => *element,
            _ if pairs.len() <= FLAT_MAX => {
                let sort = self.bag_sort(sy, sym, pairs);
                let at =
                    self.push_words([Term(header(sym, Layout::Bag as u32, sort)), Term(pairs.len() as u32)]);
                self.words.extend(pairs.iter().flat_map(|&(element, m)| [element, Term(m)]));
                Term::node(at)
            }
            _ => {
                let root = self.tree_build(sy, sym, pairs);
                self.new_tree(sym, root)
            }
        }
    }

    /// A multiset from any elements, some of which may be multisets of `sym` or its identity.
    pub fn bag_of(&mut self, sy: &Symbols, sym: u32, elements: impl IntoIterator<Item = Term>) -> Term {
        let identity = sy.info[sym as usize].identity.map(|identity| self.consts[identity.constant]);
        let mut pairs = Vec::new();
        for element in elements {
            if !identity.is_some_and(|e| self.equal(sy, e, element)) {
                self.pairs(sy, sym, element, &mut pairs);
            }
        }
        self.normalize_pairs(sy, &mut pairs);
        self.bag(sy, sym, &pairs)
    }

    /// Sorts pairs and adds up the multiplicities of equal elements.
    pub fn normalize_pairs(&self, sy: &Symbols, pairs: &mut Vec<(Term, u32)>) {
        pairs.sort_by(|a, b| self.compare(sy, a.0, b.0));
        pairs.dedup_by(|next, kept| {
            let same = self.equal(sy, next.0, kept.0);
            if same {
                kept.1 = copies(kept.1, next.1);
            }
            same
        });
    }

    /// The union of two terms under an associative-commutative operator.
    pub fn union(&mut self, sy: &Symbols, sym: u32, a: Term, b: Term) -> Term {
        if let Some(identity) = sy.info[sym as usize].identity {
            let e = self.consts[identity.constant];
            if self.equal(sy, a, e) {
                return b;
            }
            if self.equal(sy, b, e) {
                return a;
            }
        }
        let is_bag = |heap: &Heap, t: Term| t.is_node() && heap.sym(sy, t) == sym;
        let (big, small) = match (is_bag(self, a), is_bag(self, b)) {
            (true, true) if self.bag_distinct(a) < self.bag_distinct(b) => (b, a),
            (true, _) => (a, b),
            (false, true) => (b, a),
            (false, false) => {
                let pairs: &[(Term, u32)] = match self.compare(sy, a, b) {
                    Ordering::Less => &[(a, 1), (b, 1)],
                    Ordering::Equal => &[(a, 2)],
                    Ordering::Greater => &[(b, 1), (a, 1)],
                };
                return self.bag(sy, sym, pairs);
            }
        };
        let few = if is_bag(self, small) { self.bag_distinct(small) } else { 1 };
        if self.layout(big) == Layout::Tree as u32 && few * 8 <= self.bag_distinct(big) {
            let mut root = self.word(big.at() + 1);
            let mut pairs = Vec::with_capacity(few);
            self.pairs(sy, sym, small, &mut pairs);
            for (element, multiplicity) in pairs {
                root = self.tree_insert(&Change { sy, sym, element, count: multiplicity }, root);
            }
            return self.new_tree(sym, root);
        }
        if few == 1 && self.layout(big) == Layout::Bag as u32 {
            let (element, multiplicity) =
                if is_bag(self, small) { self.bag_nth(small, 0) } else { (small, 1) };
            return self.bag_insert(sy, sym, big, element, multiplicity);
        }
        let many = self.bag_distinct(big);
        if many + few <= FLAT_MAX && [big, small].iter().all(|&t| self.layout(t) == Layout::Bag as u32) {
            return self.merge_flat(sy, sym, big, small);
        }
        let (mut xs, mut ys) = (Vec::with_capacity(many), Vec::with_capacity(few));
        self.bag_pairs(big, &mut xs);
        self.pairs(sy, sym, small, &mut ys);
        let merged = self.merge(sy, &xs, &ys);
        self.bag(sy, sym, &merged)
    }

    fn merge(&self, sy: &Symbols, xs: &[(Term, u32)], ys: &[(Term, u32)]) -> Vec<(Term, u32)> {
        let mut merged = Vec::with_capacity(xs.len() + ys.len());
        let (mut i, mut j) = (0, 0);
        while i < xs.len() && j < ys.len() {
            match self.compare(sy, xs[i].0, ys[j].0) {
                Ordering::Less => {
                    merged.push(xs[i]);
                    i += 1;
                }
                Ordering::Greater => {
                    merged.push(ys[j]);
                    j += 1;
                }
                Ordering::Equal => {
                    merged.push((xs[i].0, copies(xs[i].1, ys[j].1)));
                    (i, j) = (i + 1, j + 1);
                }
            }
        }
        merged.extend_from_slice(&xs[i..]);
        merged.extend_from_slice(&ys[j..]);
        merged
    }

    /// The union of two flat multisets that is flat as well.
    fn merge_flat(&mut self, sy: &Symbols, sym: u32, a: Term, b: Term) -> Term {
        let diagram = &sy.info[sym as usize].diagram;
        let sort = diagram.binary(header_sort(self.header(a)), header_sort(self.header(b)));
        let (mut i, mut j) = (a.at() + 2, b.at() + 2);
        let (i_end, j_end) = (i + 2 * self.bag_distinct(a), j + 2 * self.bag_distinct(b));
        let at = self.words.len();
        self.words.reserve(2 + (i_end - i) + (j_end - j));
        self.words.extend([Term(header(sym, Layout::Bag as u32, sort)), Term(0)]);
        while i < i_end && j < j_end {
            let (x, y) = (self.word(i), self.word(j));
            let (m, n) = (self.word(i + 1).0, self.word(j + 1).0);
            match self.compare(sy, x, y) {
                Ordering::Less => {
                    self.words.extend([x, Term(m)]);
                    i += 2;
                }
                Ordering::Greater => {
                    self.words.extend([y, Term(n)]);
                    j += 2;
                }
                Ordering::Equal => {
                    self.words.extend([x, Term(copies(m, n))]);
                    (i, j) = (i + 2, j + 2);
                }
            }
        }
        self.words.extend_from_within(i..i_end);
        self.words.extend_from_within(j..j_end);
        self.words[at + 1] = Term(((self.words.len() - at - 2) / 2) as u32);
        Term::node(at)
    }

    /// Inserts into a flat multiset: one search, one copy.
    fn bag_insert(&mut self, sy: &Symbols, sym: u32, bag: Term, element: Term, multiplicity: u32) -> Term {
        let n = self.bag_distinct(bag);
        let (lo, found) = self.search_pairs(bag.at() + 2, n, |here| self.compare(sy, here, element));
        let found = found.is_some();
        let from = bag.at() + 2;
        if !found && n == FLAT_MAX {
            let mut pairs = Vec::with_capacity(n + 1);
            self.bag_pairs(bag, &mut pairs);
            pairs.insert(lo, (element, multiplicity));
            return self.bag(sy, sym, &pairs);
        }
        let diagram = &sy.info[sym as usize].diagram;
        let sort = self.sort(sy, element);
        let mut total = header_sort(self.header(bag));
        // The multiset's sort folded with the new element's: the order does not matter for an
        // operator whose sorts are associative and commutative.
        for _ in 0..multiplicity {
            let next = diagram.binary(total, sort);
            if next == total {
                break;
            }
            total = next;
        }
        let at = self.words.len();
        self.words.push(Term(header(sym, Layout::Bag as u32, total)));
        self.words.push(Term((n + usize::from(!found)) as u32));
        self.words.extend_from_within(from..from + 2 * lo);
        if found {
            let old = self.words[from + 2 * lo + 1].0;
            self.words.extend([element, Term(copies(old, multiplicity))]);
            self.words.extend_from_within(from + 2 * lo + 2..from + 2 * n);
        } else {
            self.words.extend([element, Term(multiplicity)]);
            self.words.extend_from_within(from + 2 * lo..from + 2 * n);
        }
        Term::node(at)
    }

    /// A multiset without `count` copies of the element with number `n`.
    pub fn bag_remove(&mut self, sy: &Symbols, t: Term, n: usize, count: u32) -> Term {
        let sym = self.sym(sy, t);
        if self.layout(t) == Layout::Tree as u32 {
            let root = self.tree_remove(sy, sym, self.word(t.at() + 1), n, count);
            if self.tree_distinct(root) > FLAT_MAX / 2 {
                return self.new_tree(sym, root);
            }
            let small = self.new_tree(sym, root);
            let mut pairs = Vec::new();
            self.bag_pairs(small, &mut pairs);
            return self.bag(sy, sym, &pairs);
        }
        let distinct = self.bag_distinct(t);
        let left = self.bag_nth(t, n).1 - count;
        let from = t.at() + 2;
        if distinct <= 2 {
            let pairs: [(Term, u32); 2] = std::array::from_fn(|i| {
                if i < distinct {
                    (self.bag_nth(t, i).0, if i == n { left } else { self.bag_nth(t, i).1 })
                } else {
                    (Term::NONE, 0)
                }
            });
            return match pairs {
                [(_, 0), (_, 0)] => self.bag(sy, sym, &[]),
                [(_, 0), _] => self.bag(sy, sym, &pairs[1..]),
                [_, (_, 0)] => self.bag(sy, sym, &pairs[..1]),
                _ => self.bag(sy, sym, &pairs),
            };
        }
        let at = self.words.len();
        self.words.push(Term(0));
        self.words.push(Term((distinct - usize::from(left == 0)) as u32));
        self.words.extend_from_within(from..from + 2 * n);
        if left > 0 {
            self.words.extend([self.words[from + 2 * n], Term(left)]);
        }
        self.words.extend_from_within(from + 2 * n + 2..from + 2 * distinct);
        let result = Term::node(at);
        let sort = match self.kept_sort(sy, sym, at + 2, n, (self.words[from + 2 * n], left)) {
            true => header_sort(self.header(t)),
            false => self.pairs_sort(sy, sym, at + 2, self.bag_count(at)),
        };
        self.words[at] = Term(header(sym, Layout::Bag as u32, sort));
        result
    }

    /// The elements of a multiset that occur at least `k` times: the multiset that is `k` times
    /// in it, as large as possible, and what is left (`NONE` if nothing is).
    #[inline(never)]
    pub fn bag_repeated(&mut self, sy: &Symbols, t: Term, k: u32) -> Option<(Term, Term)> {
        let first = self.bag_first_multiple(t, 0, k)?;
        let sym = self.sym(sy, t);
        if self.bag_first_multiple(t, first + 1, k).is_none() {
            let (element, m) = self.bag_nth(t, first);
            let is_all = self.bag_distinct(t) == 1 && m.is_multiple_of(k);
            let rest = if is_all { Term::NONE } else { self.bag_remove(sy, t, first, m - m % k) };
            let value = if m / k == 1 { element } else { self.bag(sy, sym, &[(element, m / k)]) };
            return Some((value, rest));
        }
        let [mut pairs, mut taken] = std::mem::take(&mut self.pair_buffers);
        pairs.clear();
        taken.clear();
        self.bag_pairs(t, &mut pairs);
        pairs.retain_mut(|(element, m)| {
            if *m >= k {
                taken.push((*element, *m / k));
                *m %= k;
            }
            *m > 0
        });
        let value = self.bag(sy, sym, &taken);
        let rest = if pairs.is_empty() { Term::NONE } else { self.bag(sy, sym, &pairs) };
        self.pair_buffers = [pairs, taken];
        Some((value, rest))
    }

    pub(super) fn bag_sort(&self, sy: &Symbols, sym: u32, pairs: &[(Term, u32)]) -> SortIx {
        let diagram = &sy.info[sym as usize].diagram;
        let mut total = None;
        for &(element, multiplicity) in pairs {
            let sort = self.sort(sy, element);
            for _ in 0..multiplicity {
                let next = total.map_or(sort, |total| diagram.binary(total, sort));
                if total == Some(next) {
                    break;
                }
                total = Some(next);
            }
        }
        total.unwrap_or(0)
    }

    /// How many pairs a flat multiset at a place has.
    fn bag_count(&self, at: usize) -> usize {
        self.word(at + 1).0 as usize
    }

    /// Is the sort of several elements the same after one of them (the first of the pair) has
    /// gone or has become rarer? `n` is its former number among the pairs from a place on. True
    /// only if that is easily seen: a neighbour has the same sort, and sorts are absorbed.
    fn kept_sort(
        &self,
        sy: &Symbols,
        sym: u32,
        pairs: usize,
        n: usize,
        (element, left): (Term, u32),
    ) -> bool {
        if !sy.info[sym as usize].absorbs {
            return false;
        }
        let end = self.words.len();
        let same = |place: usize| {
            (pairs..end).contains(&place) && self.sort(sy, self.word(place)) == self.sort(sy, element)
        };
        left > 0 || same((pairs + 2 * n).wrapping_sub(2)) || same(pairs + 2 * n)
    }

    /// The sort of `n` pairs from a place on.
    pub(super) fn pairs_sort(&self, sy: &Symbols, sym: u32, pairs: usize, n: usize) -> SortIx {
        let diagram = &sy.info[sym as usize].diagram;
        let mut total = None;
        for i in 0..n {
            let sort = self.sort(sy, self.word(pairs + 2 * i));
            for _ in 0..self.word(pairs + 2 * i + 1).0 {
                let next = total.map_or(sort, |total| diagram.binary(total, sort));
                if total == Some(next) {
                    break;
                }
                total = Some(next);
            }
        }
        total.unwrap_or(0)
    }

    fn new_tree(&mut self, sym: u32, root: Term) -> Term {
        let sort = header_sort(self.header(root));
        let at = self.push_words([Term(header(sym, Layout::Tree as u32, sort)), root]);
        Term::node(at)
    }
}
