//! Large multisets: persistent weight-balanced trees whose leaves are ascending arrays of
//! (element, multiplicity).
//!
//! Adding or taking an element copies one leaf and the path to it. Leaves hold many elements, so
//! that the upper part of the tree stays small and in the caches, and a leaf is read in one go.
//! Inner nodes and leaves keep the sort of what is below, the number of distinct elements, the
//! largest multiplicity and the number of all elements at the same places. An inner node also
//! has a bound: elements to its right are not below it, elements to its left are.

use std::cmp::Ordering;

use super::heap::{Heap, Layout, Term, header, header_sort};
use super::symbols::Symbols;

/// So many distinct elements fit into a leaf.
const LEAF_MAX: usize = 48;
/// So many are put into a new one.
const LEAF_NEW: usize = 36;
/// Fields before a leaf's pairs.
const HEAD: usize = 4;

/// What to add to a tree.
#[derive(Clone, Copy)]
pub(super) struct Change<'a> {
    pub sy: &'a Symbols,
    pub sym: u32,
    pub element: Term,
    pub count: u32,
}

impl Heap {
    #[inline(always)]
    fn is_leaf(&self, node: Term) -> bool {
        self.layout(node) == Layout::Leaf as u32
    }
    #[inline(always)]
    pub(super) fn tree_distinct(&self, node: Term) -> usize {
        self.word(node.at() + 1).0 as usize
    }
    #[inline(always)]
    fn max_multiplicity(&self, node: Term) -> u32 {
        self.word(node.at() + 2).0
    }
    #[inline(always)]
    pub(super) fn tree_total(&self, node: Term) -> u64 {
        u64::from(self.word(node.at() + 3).0)
    }
    #[inline(always)]
    fn left(&self, node: Term) -> Term {
        self.word(node.at() + 4)
    }
    #[inline(always)]
    fn right(&self, node: Term) -> Term {
        self.word(node.at() + 5)
    }
    #[inline(always)]
    fn bound(&self, node: Term) -> Term {
        self.word(node.at() + 6)
    }
    /// How many leaves a tree has: its weight.
    #[inline(always)]
    fn leaves(&self, node: Term) -> u32 {
        if self.is_leaf(node) { 1 } else { self.word(node.at() + 7).0 }
    }

    /// Appends the elements with their multiplicities, ascending.
    pub(super) fn tree_pairs(&self, root: Term, out: &mut Vec<(Term, u32)>) {
        let mut rest = vec![root];
        while let Some(mut node) = rest.pop() {
            while !self.is_leaf(node) {
                rest.push(self.right(node));
                node = self.left(node);
            }
            let pairs = node.at() + HEAD;
            let n = self.tree_distinct(node);
            out.extend((0..n).map(|i| (self.word(pairs + 2 * i), self.word(pairs + 2 * i + 1).0)));
        }
    }

    /// The element with the given number, and its multiplicity.
    pub(super) fn tree_nth(&self, root: Term, mut n: usize) -> (Term, u32) {
        let mut node = root;
        while !self.is_leaf(node) {
            let left = self.left(node);
            let before = self.tree_distinct(left);
            if n < before {
                node = left;
            } else {
                n -= before;
                node = self.right(node);
            }
        }
        let pair = node.at() + HEAD + 2 * n;
        (self.word(pair), self.word(pair + 1).0)
    }

    /// The least element.
    pub(super) fn tree_first(&self, root: Term) -> Term {
        let mut node = root;
        while !self.is_leaf(node) {
            node = self.left(node);
        }
        self.word(node.at() + HEAD)
    }

    /// The number of the first element from number `from` on whose multiplicity is at least `k`.
    pub(super) fn tree_first_multiple(&self, node: Term, from: usize, k: u32) -> Option<usize> {
        if self.max_multiplicity(node) < k {
            return None;
        }
        if self.is_leaf(node) {
            let multiplicities = node.at() + HEAD + 1;
            return (from..self.tree_distinct(node)).find(|&i| self.word(multiplicities + 2 * i).0 >= k);
        }
        let before = self.tree_distinct(self.left(node));
        if from < before
            && let Some(found) = self.tree_first_multiple(self.left(node), from, k)
        {
            return Some(found);
        }
        let rest = from.saturating_sub(before);
        self.tree_first_multiple(self.right(node), rest, k).map(|i| i + before)
    }

    /// The leaf to search: how many elements are before it, where its pairs are, how many.
    #[inline]
    pub(super) fn tree_leaf(&self, root: Term, order: &impl Fn(Term) -> Ordering) -> (usize, usize, usize) {
        let (mut node, mut before) = (root, 0);
        while !self.is_leaf(node) {
            if order(self.bound(node)) == Ordering::Greater {
                node = self.left(node);
            } else {
                before += self.tree_distinct(self.left(node));
                node = self.right(node);
            }
        }
        (before, node.at() + HEAD, self.tree_distinct(node))
    }

    /// A leaf with all that it caches.
    fn new_leaf(&mut self, sy: &Symbols, sym: u32, pairs: &[(Term, u32)]) -> Term {
        let largest = pairs.iter().map(|p| p.1).max().unwrap_or(0);
        let total = pairs.iter().map(|p| p.1).sum();
        let sort = self.bag_sort(sy, sym, pairs);
        let head = header(sym, Layout::Leaf as u32, sort);
        let at = self.push_words([Term(head), Term(pairs.len() as u32), Term(largest), Term(total)]);
        self.words.extend(pairs.iter().flat_map(|&(element, m)| [element, Term(m)]));
        Term::node(at)
    }

    fn inner(&mut self, sy: &Symbols, sym: u32, left: Term, right: Term, bound: Term) -> Term {
        let diagram = &sy.info[sym as usize].diagram;
        let sort = diagram.binary(header_sort(self.header(left)), header_sort(self.header(right)));
        let word = |heap: &Heap, node: Term, i: usize| heap.word(node.at() + i).0;
        let distinct = word(self, left, 1) + word(self, right, 1);
        let largest = word(self, left, 2).max(word(self, right, 2));
        let total = word(self, left, 3) + word(self, right, 3);
        let leaves = self.leaves(left) + self.leaves(right);
        self.alloc_words([
            Term(header(sym, Layout::TreeNode as u32, sort)),
            Term(distinct),
            Term(largest),
            Term(total),
            left,
            right,
            bound,
            Term(leaves),
        ])
    }

    /// A tree of ascending distinct pairs.
    pub(super) fn tree_build(&mut self, sy: &Symbols, sym: u32, pairs: &[(Term, u32)]) -> Term {
        if pairs.len() <= LEAF_MAX {
            return self.new_leaf(sy, sym, pairs);
        }
        // Whole leaves on both sides, so that the tree is balanced.
        let leaves = pairs.len().div_ceil(LEAF_NEW);
        let mid = pairs.len() * (leaves / 2) / leaves;
        let left = self.tree_build(sy, sym, &pairs[..mid]);
        let right = self.tree_build(sy, sym, &pairs[mid..]);
        self.inner(sy, sym, left, right, pairs[mid].0)
    }

    pub(super) fn tree_insert(&mut self, change: &Change, node: Term) -> Term {
        let &Change { sy, sym, element, .. } = change;
        if self.is_leaf(node) {
            return self.leaf_insert(change, node);
        }
        let is_left = self.compare(sy, element, self.bound(node)) == Ordering::Less;
        let child = if is_left { self.left(node) } else { self.right(node) };
        let new = self.tree_insert(change, child);
        self.replace_child(sy, sym, node, is_left, new)
    }

    /// An inner node with another child, one insertion or removal away from the old one. The
    /// other child is looked at only if it must be: it is seldom in the caches.
    fn replace_child(&mut self, sy: &Symbols, sym: u32, node: Term, is_left: bool, new: Term) -> Term {
        let (left, right, bound) = (self.left(node), self.right(node), self.bound(node));
        let (old, other) = if is_left { (left, right) } else { (right, left) };
        let (left, right) = if is_left { (new, right) } else { (left, new) };
        let word = |node: Term, i: usize| self.word(node.at() + i).0;
        let (weight, other_weight) = (self.leaves(new), word(node, 7) - self.leaves(old));
        if weight > 3 * other_weight || other_weight > 3 * weight {
            return self.balance(sy, sym, left, right, bound);
        }
        let sort_of = |node: Term| header_sort(self.header(node));
        let sort = match sort_of(new) == sort_of(old) {
            true => sort_of(node),
            false => sy.info[sym as usize].diagram.binary(sort_of(left), sort_of(right)),
        };
        let largest = match word(old, 2) < word(node, 2) {
            true => word(node, 2).max(word(new, 2)),
            false if word(new, 2) >= word(node, 2) => word(new, 2),
            false => word(new, 2).max(word(other, 2)),
        };
        let fields = [
            Term(header(sym, Layout::TreeNode as u32, sort)),
            Term(word(node, 1) - word(old, 1) + word(new, 1)),
            Term(largest),
            Term(word(node, 3) - word(old, 3) + word(new, 3)),
            left,
            right,
            bound,
            Term(weight + other_weight),
        ];
        self.alloc_words(fields)
    }

    fn leaf_insert(&mut self, change: &Change, leaf: Term) -> Term {
        let &Change { sy, sym, element, count } = change;
        let n = self.tree_distinct(leaf);
        let from = leaf.at() + HEAD;
        let (place, found) = self.search_pairs(from, n, |here| self.compare(sy, here, element));
        if found.is_none() && n == LEAF_MAX {
            let mut pairs = Vec::with_capacity(n + 1);
            self.tree_pairs(leaf, &mut pairs);
            pairs.insert(place, (element, count));
            // Elements often come in ascending or descending order: leave the one side full.
            let mid = match place {
                0 => n / 4,
                _ if place == n => n - n / 4,
                _ => n / 2,
            };
            let left = self.new_leaf(sy, sym, &pairs[..mid]);
            let right = self.new_leaf(sy, sym, &pairs[mid..]);
            return self.inner(sy, sym, left, right, pairs[mid].0);
        }
        let diagram = &sy.info[sym as usize].diagram;
        let own = self.sort(sy, element);
        let mut sort = header_sort(self.header(leaf));
        for _ in 0..count {
            let next = diagram.binary(sort, own);
            if next == sort {
                break;
            }
            sort = next;
        }
        let multiplicity = found.unwrap_or(0) + count;
        let element = if found.is_some() { self.word(from + 2 * place) } else { element };
        let at = self.words.len();
        self.words.reserve(HEAD + 2 * n + 2);
        self.words.extend([
            Term(header(sym, Layout::Leaf as u32, sort)),
            Term((n + usize::from(found.is_none())) as u32),
            Term(self.max_multiplicity(leaf).max(multiplicity)),
            Term(self.word(leaf.at() + 3).0 + count),
        ]);
        self.words.extend_from_within(from..from + 2 * place);
        self.words.extend([element, Term(multiplicity)]);
        self.words.extend_from_within(from + 2 * (place + usize::from(found.is_some()))..from + 2 * n);
        Term::node(at)
    }

    /// Takes copies of the element with number `n`; `NONE` if nothing is left.
    pub(super) fn tree_remove(&mut self, sy: &Symbols, sym: u32, node: Term, n: usize, count: u32) -> Term {
        if self.is_leaf(node) {
            return self.leaf_remove(sy, sym, node, n, count);
        }
        let (left, right) = (self.left(node), self.right(node));
        let before = self.tree_distinct(left);
        let is_left = n < before;
        let (child, other) = if is_left { (left, right) } else { (right, left) };
        let new = self.tree_remove(sy, sym, child, if is_left { n } else { n - before }, count);
        if new.is_none() {
            return other;
        }
        if self.is_leaf(new)
            && self.tree_distinct(new) <= LEAF_MAX / 4
            && self.is_leaf(other)
            && self.tree_distinct(new) + self.tree_distinct(other) <= LEAF_MAX / 2
        {
            let (first, second) = if is_left { (new, other) } else { (other, new) };
            let mut pairs = Vec::with_capacity(LEAF_MAX);
            self.tree_pairs(first, &mut pairs);
            self.tree_pairs(second, &mut pairs);
            return self.new_leaf(sy, sym, &pairs);
        }
        self.replace_child(sy, sym, node, is_left, new)
    }

    fn leaf_remove(&mut self, sy: &Symbols, sym: u32, leaf: Term, place: usize, count: u32) -> Term {
        let n = self.tree_distinct(leaf);
        let from = leaf.at() + HEAD;
        let (element, multiplicity) = (self.word(from + 2 * place), self.word(from + 2 * place + 1).0);
        let left = multiplicity - count;
        if left == 0 && n == 1 {
            return Term::NONE;
        }
        let at = self.words.len();
        self.words.reserve(HEAD + 2 * n);
        self.words.extend([
            Term(0),
            Term((n - usize::from(left == 0)) as u32),
            Term(self.max_multiplicity(leaf)),
            Term(self.word(leaf.at() + 3).0 - count),
        ]);
        self.words.extend_from_within(from..from + 2 * place);
        if left > 0 {
            self.words.extend([element, Term(left)]);
        }
        self.words.extend_from_within(from + 2 * place + 2..from + 2 * n);
        let (result, pairs) = (Term::node(at), at + HEAD);
        let n = self.tree_distinct(result);
        if multiplicity > 1 && multiplicity == self.max_multiplicity(leaf) {
            let largest = (0..n).map(|i| self.word(pairs + 2 * i + 1).0).max().unwrap_or(0);
            self.words[at + 2] = Term(largest);
        }
        let sort = match n > 1 && self.kept_sort(sy, sym, pairs, place, (element, left)) {
            true => header_sort(self.header(leaf)),
            false => self.pairs_sort(sy, sym, pairs, n),
        };
        self.words[at] = Term(header(sym, Layout::Leaf as u32, sort));
        result
    }

    /// An inner node over subtrees that differ from balance by at most one insertion or removal
    /// (weight-balanced trees with parameters 3 and 2).
    fn balance(&mut self, sy: &Symbols, sym: u32, left: Term, right: Term, bound: Term) -> Term {
        let (wl, wr) = (self.leaves(left), self.leaves(right));
        if wr > 3 * wl {
            let (rl, rr, rb) = (self.left(right), self.right(right), self.bound(right));
            if self.leaves(rl) < 2 * self.leaves(rr) {
                let inner = self.inner(sy, sym, left, rl, bound);
                return self.inner(sy, sym, inner, rr, rb);
            }
            let (a, b, middle) = (self.left(rl), self.right(rl), self.bound(rl));
            let first = self.inner(sy, sym, left, a, bound);
            let second = self.inner(sy, sym, b, rr, rb);
            return self.inner(sy, sym, first, second, middle);
        }
        if wl > 3 * wr {
            let (ll, lr, lb) = (self.left(left), self.right(left), self.bound(left));
            if self.leaves(lr) < 2 * self.leaves(ll) {
                let inner = self.inner(sy, sym, lr, right, bound);
                return self.inner(sy, sym, ll, inner, lb);
            }
            let (a, b, middle) = (self.left(lr), self.right(lr), self.bound(lr));
            let first = self.inner(sy, sym, ll, a, lb);
            let second = self.inner(sy, sym, b, right, bound);
            return self.inner(sy, sym, first, second, middle);
        }
        self.inner(sy, sym, left, right, bound)
    }
}
