//! Multisets of associative-commutative operators.
//!
//! Up to [`FLAT_MAX`] distinct elements a multiset is an ascending array of (element,
//! multiplicity); above, a persistent weight-balanced search tree, so that adding to and taking
//! from a multiset of n elements costs O(log n). Every tree node caches the sort of its subtree,
//! the number of distinct elements and the largest multiplicity.

use std::cmp::Ordering;

use super::heap::{Heap, Layout, Term, header, header_sort};
use super::symbols::Symbols;
use crate::sorts::SortIx;

/// Multisets with more distinct elements than this are trees.
const FLAT_MAX: usize = 96;

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
        let mut path = Vec::new();
        let mut node = self.word(at + 1);
        loop {
            while !node.is_none() {
                path.push(node);
                node = self.left(node);
            }
            let Some(top) = path.pop() else { return };
            out.push((self.element(top), self.multiplicity(top)));
            node = self.right(top);
        }
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
            self.distinct(self.word(t.at() + 1)) as usize
        }
    }

    /// How many elements a multiset node has, counted with multiplicity.
    pub fn bag_total(&self, t: Term) -> u64 {
        if self.layout(t) == Layout::Bag as u32 {
            let at = t.at();
            (0..self.bag_distinct(t)).map(|i| u64::from(self.word(at + 3 + 2 * i).0)).sum()
        } else {
            u64::from(self.word(self.word(t.at() + 1).at() + 7).0)
        }
    }

    /// The element with the given number in ascending order, and its multiplicity.
    #[inline]
    pub fn bag_nth(&self, t: Term, mut n: usize) -> (Term, u32) {
        let at = t.at();
        if self.layout(t) == Layout::Bag as u32 {
            return (self.word(at + 2 + 2 * n), self.word(at + 3 + 2 * n).0);
        }
        let mut node = self.word(at + 1);
        loop {
            let left = self.left(node);
            let before = self.distinct(left) as usize;
            match n.cmp(&before) {
                Ordering::Less => node = left,
                Ordering::Equal => return (self.element(node), self.multiplicity(node)),
                Ordering::Greater => {
                    n -= before + 1;
                    node = self.right(node);
                }
            }
        }
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

    fn tree_first_multiple(&self, node: Term, from: usize, k: u32) -> Option<usize> {
        if node.is_none() || self.max_multiplicity(node) < k {
            return None;
        }
        let before = self.distinct(self.left(node)) as usize;
        if from < before
            && let Some(found) = self.tree_first_multiple(self.left(node), from, k)
        {
            return Some(found);
        }
        if from <= before && self.multiplicity(node) >= k {
            return Some(before);
        }
        let rest = from.saturating_sub(before + 1);
        self.tree_first_multiple(self.right(node), rest, k).map(|i| i + before + 1)
    }

    /// The number and the multiplicity of an element, if it is there.
    pub fn bag_find(&self, sy: &Symbols, t: Term, element: Term) -> Option<(usize, u32)> {
        let (place, found) = self.bag_search(t, |here| self.compare(sy, here, element));
        found.map(|multiplicity| (place, multiplicity))
    }

    /// The number of the first element that is not `Less`, and the multiplicity of one that is
    /// `Equal` (which ends the search, so that it should be the only one).
    #[inline]
    fn bag_search(&self, t: Term, order: impl Fn(Term) -> Ordering) -> (usize, Option<u32>) {
        let at = t.at();
        if self.layout(t) == Layout::Bag as u32 {
            let (mut lo, mut hi) = (0, self.word(at + 1).0 as usize);
            while lo < hi {
                let mid = (lo + hi) / 2;
                match order(self.word(at + 2 + 2 * mid)) {
                    Ordering::Equal => return (mid, Some(self.word(at + 3 + 2 * mid).0)),
                    Ordering::Greater => hi = mid,
                    Ordering::Less => lo = mid + 1,
                }
            }
            return (lo, None);
        }
        let mut node = self.word(at + 1);
        let mut before = 0;
        while !node.is_none() {
            match order(self.element(node)) {
                Ordering::Equal => {
                    return (before + self.distinct(self.left(node)) as usize, Some(self.multiplicity(node)));
                }
                Ordering::Greater => node = self.left(node),
                Ordering::Less => {
                    before += self.distinct(self.left(node)) as usize + 1;
                    node = self.right(node);
                }
            }
        }
        (before, None)
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
                kept.1 += next.1;
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
                root = self.tree_insert(sy, sym, root, element, multiplicity);
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
                    merged.push((xs[i].0, xs[i].1 + ys[j].1));
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
                    self.words.extend([x, Term(m + n)]);
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
        let (mut lo, mut hi) = (0, n);
        let mut found = false;
        while lo < hi {
            let mid = (lo + hi) / 2;
            match self.compare(sy, element, self.bag_nth(bag, mid).0) {
                Ordering::Equal => {
                    (lo, found) = (mid, true);
                    break;
                }
                Ordering::Less => hi = mid,
                Ordering::Greater => lo = mid + 1,
            }
        }
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
            self.words.extend([element, Term(old + multiplicity)]);
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
            if self.distinct(root) as usize > FLAT_MAX / 2 {
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
        let sort = self.flat_sort(sy, sym, at);
        self.words[at] = Term(header(sym, Layout::Bag as u32, sort));
        result
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

    /// The sort of the flat multiset at a place whose header is not there yet.
    fn flat_sort(&self, sy: &Symbols, sym: u32, at: usize) -> SortIx {
        let diagram = &sy.info[sym as usize].diagram;
        let n = self.word(at + 1).0 as usize;
        let mut total = None;
        for i in 0..n {
            let sort = self.sort(sy, self.word(at + 2 + 2 * i));
            for _ in 0..self.word(at + 3 + 2 * i).0 {
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

    #[inline(always)]
    fn left(&self, node: Term) -> Term {
        self.word(node.at() + 1)
    }
    #[inline(always)]
    fn right(&self, node: Term) -> Term {
        self.word(node.at() + 2)
    }
    #[inline(always)]
    fn element(&self, node: Term) -> Term {
        self.word(node.at() + 3)
    }
    #[inline(always)]
    fn multiplicity(&self, node: Term) -> u32 {
        self.word(node.at() + 4).0
    }
    #[inline(always)]
    fn distinct(&self, node: Term) -> u32 {
        if node.is_none() { 0 } else { self.word(node.at() + 5).0 }
    }
    fn max_multiplicity(&self, node: Term) -> u32 {
        if node.is_none() { 0 } else { self.word(node.at() + 6).0 }
    }
    fn total(&self, node: Term) -> u32 {
        if node.is_none() { 0 } else { self.word(node.at() + 7).0 }
    }

    fn tree_node(
        &mut self,
        sy: &Symbols,
        sym: u32,
        (left, right): (Term, Term),
        element: Term,
        multiplicity: u32,
    ) -> Term {
        let diagram = &sy.info[sym as usize].diagram;
        let mut sort = (!left.is_none()).then(|| header_sort(self.header(left)));
        let own = self.sort(sy, element);
        for _ in 0..multiplicity {
            let next = sort.map_or(own, |sort| diagram.binary(sort, own));
            if sort == Some(next) {
                break;
            }
            sort = Some(next);
        }
        let mut sort = sort.expect("multiplicities are positive");
        if !right.is_none() {
            sort = diagram.binary(sort, header_sort(self.header(right)));
        }
        let distinct = self.distinct(left) + 1 + self.distinct(right);
        let largest = multiplicity.max(self.max_multiplicity(left)).max(self.max_multiplicity(right));
        let total = self.total(left) + multiplicity + self.total(right);
        let at = self.push_words([
            Term(header(sym, Layout::TreeNode as u32, sort)),
            left,
            right,
            element,
            Term(multiplicity),
            Term(distinct),
            Term(largest),
            Term(total),
        ]);
        Term::node(at)
    }

    fn tree_build(&mut self, sy: &Symbols, sym: u32, pairs: &[(Term, u32)]) -> Term {
        if pairs.is_empty() {
            return Term::NONE;
        }
        let mid = pairs.len() / 2;
        let left = self.tree_build(sy, sym, &pairs[..mid]);
        let right = self.tree_build(sy, sym, &pairs[mid + 1..]);
        self.tree_node(sy, sym, (left, right), pairs[mid].0, pairs[mid].1)
    }

    fn tree_insert(&mut self, sy: &Symbols, sym: u32, node: Term, element: Term, count: u32) -> Term {
        if node.is_none() {
            return self.tree_node(sy, sym, (Term::NONE, Term::NONE), element, count);
        }
        let (left, right) = (self.left(node), self.right(node));
        let (here, multiplicity) = (self.element(node), self.multiplicity(node));
        match self.compare(sy, element, here) {
            Ordering::Equal => self.tree_node(sy, sym, (left, right), here, multiplicity + count),
            Ordering::Less => {
                let left = self.tree_insert(sy, sym, left, element, count);
                self.balance(sy, sym, (left, right), here, multiplicity)
            }
            Ordering::Greater => {
                let right = self.tree_insert(sy, sym, right, element, count);
                self.balance(sy, sym, (left, right), here, multiplicity)
            }
        }
    }

    fn tree_remove(&mut self, sy: &Symbols, sym: u32, node: Term, n: usize, count: u32) -> Term {
        let (left, right) = (self.left(node), self.right(node));
        let (here, multiplicity) = (self.element(node), self.multiplicity(node));
        let before = self.distinct(left) as usize;
        match n.cmp(&before) {
            Ordering::Less => {
                let left = self.tree_remove(sy, sym, left, n, count);
                self.balance(sy, sym, (left, right), here, multiplicity)
            }
            Ordering::Greater => {
                let right = self.tree_remove(sy, sym, right, n - before - 1, count);
                self.balance(sy, sym, (left, right), here, multiplicity)
            }
            Ordering::Equal if multiplicity > count => {
                self.tree_node(sy, sym, (left, right), here, multiplicity - count)
            }
            Ordering::Equal if left.is_none() => right,
            Ordering::Equal if right.is_none() => left,
            Ordering::Equal => {
                let mut first = right;
                while !self.left(first).is_none() {
                    first = self.left(first);
                }
                let (element, multiplicity) = (self.element(first), self.multiplicity(first));
                let right = self.tree_remove(sy, sym, right, 0, multiplicity);
                self.balance(sy, sym, (left, right), element, multiplicity)
            }
        }
    }

    /// Rebuilds a node whose subtrees differ from balance by at most one insertion or removal
    /// (weight-balanced trees with parameters 3 and 2).
    fn balance(
        &mut self,
        sy: &Symbols,
        sym: u32,
        (left, right): (Term, Term),
        element: Term,
        multiplicity: u32,
    ) -> Term {
        let weight = |heap: &Heap, t: Term| heap.distinct(t) + 1;
        let (wl, wr) = (weight(self, left), weight(self, right));
        let is_heavy = |heavy: u32, light: u32| heavy > 3 * light;
        if is_heavy(wr, wl) {
            let (rl, rr) = (self.left(right), self.right(right));
            let (re, rm) = (self.element(right), self.multiplicity(right));
            if weight(self, rl) < 2 * weight(self, rr) {
                let inner = self.tree_node(sy, sym, (left, rl), element, multiplicity);
                return self.tree_node(sy, sym, (inner, rr), re, rm);
            }
            let (a, b) = (self.left(rl), self.right(rl));
            let (e, m) = (self.element(rl), self.multiplicity(rl));
            let first = self.tree_node(sy, sym, (left, a), element, multiplicity);
            let second = self.tree_node(sy, sym, (b, rr), re, rm);
            return self.tree_node(sy, sym, (first, second), e, m);
        }
        if is_heavy(wl, wr) {
            let (ll, lr) = (self.left(left), self.right(left));
            let (le, lm) = (self.element(left), self.multiplicity(left));
            if weight(self, lr) < 2 * weight(self, ll) {
                let inner = self.tree_node(sy, sym, (lr, right), element, multiplicity);
                return self.tree_node(sy, sym, (ll, inner), le, lm);
            }
            let (a, b) = (self.left(lr), self.right(lr));
            let (e, m) = (self.element(lr), self.multiplicity(lr));
            let first = self.tree_node(sy, sym, (ll, a), le, lm);
            let second = self.tree_node(sy, sym, (b, right), element, multiplicity);
            return self.tree_node(sy, sym, (first, second), e, m);
        }
        self.tree_node(sy, sym, (left, right), element, multiplicity)
    }
}
