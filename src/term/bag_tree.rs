//! Large multisets: persistent B-trees whose leaves are ascending arrays of elements.
//!
//! Adding or taking an element copies one leaf and the few nodes above it. All leaves are equally
//! deep, and nodes are wide, so that all but the leaves stays in the caches: a search waits for
//! memory once, and what is copied is copied in one go. Multiplicities are stored only in leaves
//! where one is greater than 1; most multisets have none.
//!
//! Inner nodes and leaves keep the sort of what is below, the number of distinct elements, the
//! largest multiplicity and the number of all elements (or [`MANY`]) at the same places. An inner node also
//! has a bound for each child but its first: elements of that child are not below it, elements
//! of earlier children are.

use std::cmp::Ordering;

use super::bag::copies;
use super::heap::{Heap, Layout, TREE_HEAD, Term, header, header_sort};
use super::symbols::Symbols;
use crate::sorts::SortIx;

/// So many distinct elements fit into a leaf.
const LEAF_MAX: usize = 64;
/// So many are put into a new one.
const LEAF_NEW: usize = 48;
/// Fields before a leaf's elements.
const HEAD: usize = 4;
/// So many children fit into an inner node. One bit for each must fit beside their number.
const FAN_MAX: usize = 12;
/// So many are put into a new one.
const FAN_NEW: usize = 9;
/// The bits that hold the number of children.
const FAN_BITS: u32 = 8;

/// So many elements or more, counted with multiplicity: how many is not kept.
const MANY: u32 = u32::MAX;

/// A search among no more elements than this asks for all of them at once.
const NEAR: usize = 8;

const _: () = assert!(FAN_MAX + FAN_BITS as usize <= 32);

/// What to add to a tree.
#[derive(Clone, Copy)]
pub(super) struct Change<'a> {
    pub sy: &'a Symbols,
    pub sym: u32,
    pub element: Term,
    pub count: u32,
}

/// A subtree, and what the elements before it are below.
type Child = (Term, Term);

/// What is before the first child needs no bound.
const NO_BOUND: Term = Term::small(0);

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
        match self.word(node.at() + 3).0 {
            MANY => self.tree_count(node),
            total => total.into(),
        }
    }
    #[cold]
    fn tree_count(&self, node: Term) -> u64 {
        if self.is_leaf(node) {
            return (0..self.tree_distinct(node)).map(|i| u64::from(self.leaf_multiplicity(node, i))).sum();
        }
        (0..self.fan(node)).map(|i| self.tree_total(self.child(node, i))).sum()
    }
    /// How many children an inner node has.
    #[inline(always)]
    fn fan(&self, node: Term) -> usize {
        (self.word(node.at() + 4).0 & ((1 << FAN_BITS) - 1)) as usize
    }
    /// Which children have an element with a multiplicity greater than 1, as a set of bits.
    #[inline(always)]
    fn multiple(&self, node: Term) -> u32 {
        self.word(node.at() + 4).0 >> FAN_BITS
    }
    #[inline(always)]
    fn child(&self, node: Term, i: usize) -> Term {
        self.word(node.at() + TREE_HEAD + i)
    }
    #[inline(always)]
    fn bound(&self, node: Term, i: usize) -> Term {
        self.word(node.at() + TREE_HEAD + self.fan(node) + i)
    }
    /// How many distinct elements a child has; the child itself is seldom in the caches.
    #[inline(always)]
    fn child_distinct(&self, node: Term, i: usize) -> usize {
        self.word(node.at() + TREE_HEAD + 2 * self.fan(node) + i).0 as usize
    }
    #[inline(always)]
    fn leaf_element(&self, leaf: Term, i: usize) -> Term {
        self.word(leaf.at() + HEAD + i)
    }
    #[inline(always)]
    fn leaf_multiplicity(&self, leaf: Term, i: usize) -> u32 {
        match self.max_multiplicity(leaf) {
            1 => 1,
            _ => self.word(leaf.at() + HEAD + self.tree_distinct(leaf) + i).0,
        }
    }
    fn children(&self, node: Term, out: &mut Vec<Child>) {
        out.extend((0..self.fan(node)).map(|i| (self.child(node, i), self.bound(node, i))));
    }

    /// Appends the elements with their multiplicities, ascending.
    pub(super) fn tree_pairs(&self, node: Term, out: &mut Vec<(Term, u32)>) {
        if self.is_leaf(node) {
            let n = self.tree_distinct(node);
            out.extend((0..n).map(|i| (self.leaf_element(node, i), self.leaf_multiplicity(node, i))));
        } else {
            (0..self.fan(node)).for_each(|i| self.tree_pairs(self.child(node, i), out));
        }
    }

    /// The child of an inner node that has the element with the given number, which becomes the
    /// number in that child.
    #[inline(always)]
    fn child_with(&self, node: Term, n: &mut usize) -> usize {
        let mut i = 0;
        loop {
            let distinct = self.child_distinct(node, i);
            if *n < distinct {
                return i;
            }
            *n -= distinct;
            i += 1;
        }
    }

    /// The element with the given number, and its multiplicity.
    pub(super) fn tree_nth(&self, root: Term, mut n: usize) -> (Term, u32) {
        let mut node = root;
        while !self.is_leaf(node) {
            let i = self.child_with(node, &mut n);
            node = self.child(node, i);
        }
        (self.leaf_element(node, n), self.leaf_multiplicity(node, n))
    }

    /// The least element.
    pub(super) fn tree_first(&self, root: Term) -> Term {
        let mut node = root;
        while !self.is_leaf(node) {
            node = self.child(node, 0);
        }
        self.leaf_element(node, 0)
    }

    /// The number of the first element from number `from` on whose multiplicity is at least `k`.
    pub(super) fn tree_first_multiple(&self, node: Term, from: usize, k: u32) -> Option<usize> {
        if self.max_multiplicity(node) < k {
            return None;
        }
        if self.is_leaf(node) {
            return (from..self.tree_distinct(node)).find(|&i| self.leaf_multiplicity(node, i) >= k);
        }
        let (mut before, multiple) = (0, self.multiple(node));
        for i in 0..self.fan(node) {
            let distinct = self.child_distinct(node, i);
            if from < before + distinct && (k <= 1 || multiple >> i & 1 != 0) {
                let rest = from.saturating_sub(before);
                if let Some(found) = self.tree_first_multiple(self.child(node, i), rest, k) {
                    return Some(before + found);
                }
            }
            before += distinct;
        }
        None
    }

    /// The child to search: the last one whose bound is not `Greater`.
    #[inline(always)]
    fn child_for(&self, node: Term, order: &impl Fn(Term) -> Ordering) -> usize {
        let bounds = node.at() + TREE_HEAD + self.fan(node);
        let (mut lo, mut hi) = (0, self.fan(node) - 1);
        while lo < hi {
            let mid = (lo + hi).div_ceil(2);
            match order(self.word(bounds + mid)) {
                Ordering::Greater => hi = mid - 1,
                _ => lo = mid,
            }
        }
        self.prefetch(self.child(node, lo));
        lo
    }

    /// The number of the first element that is not `Less`, and the multiplicity of one that is
    /// `Equal`.
    #[inline]
    pub(super) fn tree_search(&self, root: Term, order: impl Fn(Term) -> Ordering) -> (usize, Option<u32>) {
        let (mut node, mut before) = (root, 0);
        while !self.is_leaf(node) {
            let i = self.child_for(node, &order);
            before += (0..i).map(|i| self.child_distinct(node, i)).sum::<usize>();
            node = self.child(node, i);
        }
        let (place, is_found) = self.leaf_search(node, order);
        (before + place, is_found.then(|| self.leaf_multiplicity(node, place)))
    }

    /// The place of the first element that is not `Less`, and whether it is `Equal`.
    #[inline]
    fn leaf_search(&self, leaf: Term, order: impl Fn(Term) -> Ordering) -> (usize, bool) {
        let (mut lo, mut hi) = (0, self.tree_distinct(leaf));
        // Elements that are nodes lie elsewhere. Those that the first steps may look at are asked
        // for together, and so are those that are left for the last ones.
        let mut is_far = hi > NEAR && self.leaf_element(leaf, hi / 2).is_node();
        if is_far {
            (1..NEAR).for_each(|k| self.prefetch_head(self.leaf_element(leaf, middle(hi, k))));
        }
        while lo < hi {
            if is_far && hi - lo <= NEAR {
                (lo..hi).for_each(|i| self.prefetch_head(self.leaf_element(leaf, i)));
                is_far = false;
            }
            let mid = (lo + hi) / 2;
            match order(self.leaf_element(leaf, mid)) {
                Ordering::Equal => return (mid, true),
                Ordering::Greater => hi = mid,
                Ordering::Less => lo = mid + 1,
            }
        }
        (lo, false)
    }

    /// A leaf with all that it caches.
    fn new_leaf(&mut self, sy: &Symbols, sym: u32, pairs: &[(Term, u32)]) -> Term {
        let largest = pairs.iter().map(|p| p.1).max().unwrap_or(0);
        let total = pairs.iter().map(|p| p.1).fold(0, u32::saturating_add);
        let sort = self.bag_sort(sy, sym, pairs);
        let head = header(sym, Layout::Leaf as u32, sort);
        let at = self.push_words([Term(head), Term(pairs.len() as u32), Term(largest), Term(total)]);
        self.words.extend(pairs.iter().map(|&(element, _)| element));
        if largest > 1 {
            self.words.extend(pairs.iter().map(|&(_, m)| Term(m)));
        }
        Term::node(at)
    }

    /// An inner node with all that it caches.
    fn new_inner(&mut self, sy: &Symbols, sym: u32, children: &[Child]) -> Term {
        let word = |node: Term, i: usize| self.word(node.at() + i).0;
        let sum = |i: usize| children.iter().map(|&(child, _)| word(child, i)).fold(0, u32::saturating_add);
        let largest = children.iter().map(|&(child, _)| word(child, 2)).max().unwrap_or(0);
        let multiple = children
            .iter()
            .enumerate()
            .fold(0, |bits, (i, &(child, _))| bits | u32::from(word(child, 2) > 1) << i);
        let sort = self.children_sort(sy, sym, children.iter().map(|&(child, _)| child));
        let head = [
            Term(header(sym, Layout::TreeNode as u32, sort)),
            Term(sum(1)),
            Term(largest),
            Term(sum(3)),
            Term(children.len() as u32 | multiple << FAN_BITS),
        ];
        let at = self.push_words(head);
        self.words.extend(children.iter().map(|&(child, _)| child));
        let bounds =
            children.iter().enumerate().map(|(i, &(_, bound))| if i == 0 { NO_BOUND } else { bound });
        self.words.extend(bounds);
        for &(child, _) in children {
            let distinct = self.word(child.at() + 1);
            self.words.push(distinct);
        }
        Term::node(at)
    }

    fn children_sort(&self, sy: &Symbols, sym: u32, children: impl Iterator<Item = Term>) -> SortIx {
        let diagram = &sy.info[sym as usize].diagram;
        let sorts = children.map(|child| header_sort(self.header(child)));
        sorts.reduce(|all, sort| diagram.binary(all, sort)).unwrap_or(0)
    }

    /// A tree of ascending distinct pairs.
    pub(super) fn tree_build(&mut self, sy: &Symbols, sym: u32, pairs: &[(Term, u32)]) -> Term {
        let parts = |len: usize, size: usize| {
            let parts = len.div_ceil(size);
            (0..parts).map(move |i| len * i / parts..len * (i + 1) / parts)
        };
        let mut level: Vec<Child> = parts(pairs.len(), LEAF_NEW)
            .map(|part| (self.new_leaf(sy, sym, &pairs[part.clone()]), pairs[part.start].0))
            .collect();
        while level.len() > 1 {
            level = parts(level.len(), FAN_NEW)
                .map(|part| (self.new_inner(sy, sym, &level[part.clone()]), level[part.start].1))
                .collect();
        }
        level[0].0
    }

    /// The tree with copies of an element added.
    pub(super) fn tree_insert(&mut self, change: &Change, root: Term) -> Term {
        match self.insert(change, root) {
            (new, None) => new,
            (left, Some(right)) => self.new_inner(change.sy, change.sym, &[(left, NO_BOUND), right]),
        }
    }

    /// A subtree with copies of an element added, and another to its right if it was full.
    fn insert(&mut self, change: &Change, node: Term) -> (Term, Option<Child>) {
        let &Change { sy, sym, element, .. } = change;
        if self.is_leaf(node) {
            return self.leaf_insert(change, node);
        }
        let i = self.child_for(node, &|bound| self.compare(sy, bound, element));
        let (new, right) = self.insert(change, self.child(node, i));
        let Some(right) = right else {
            return (self.replace_child(sy, sym, node, i, new), None);
        };
        let mut children = Vec::with_capacity(FAN_MAX + 1);
        self.children(node, &mut children);
        children[i].0 = new;
        children.insert(i + 1, right);
        if children.len() <= FAN_MAX {
            return (self.new_inner(sy, sym, &children), None);
        }
        let (left, right) = children.split_at(split_place(i + 1, FAN_MAX));
        let bound = right[0].1;
        let left = self.new_inner(sy, sym, left);
        (left, Some((self.new_inner(sy, sym, right), bound)))
    }

    /// An inner node with another child for the one with number `i`. Other children are looked
    /// at only if they must be: they are seldom in the caches.
    fn replace_child(&mut self, sy: &Symbols, sym: u32, node: Term, i: usize, new: Term) -> Term {
        let old = self.child(node, i);
        let fan = self.fan(node);
        let word = |node: Term, i: usize| self.word(node.at() + i).0;
        let sort_of = |node: Term| header_sort(self.header(node));
        let sort = match sort_of(new) == sort_of(old) {
            true => sort_of(node),
            false => {
                let children = (0..fan).map(|j| if j == i { new } else { self.child(node, j) });
                self.children_sort(sy, sym, children)
            }
        };
        let others = self.multiple(node) & !(1 << i);
        let largest = match word(old, 2) < word(node, 2) {
            true => word(node, 2).max(word(new, 2)),
            false if word(new, 2) >= word(node, 2) => word(new, 2),
            false => (0..fan)
                .filter(|j| others >> j & 1 != 0)
                .map(|j| self.max_multiplicity(self.child(node, j)))
                .fold(word(new, 2), u32::max),
        };
        let multiple = others | u32::from(word(new, 2) > 1) << i;
        let distinct = word(node, 1) - word(old, 1) + word(new, 1);
        let total = match word(node, 3) {
            MANY => (0..fan)
                .map(|j| if j == i { word(new, 3) } else { word(self.child(node, j), 3) })
                .fold(0, u32::saturating_add),
            total => (total - word(old, 3)).saturating_add(word(new, 3)),
        };
        let own = Term(word(new, 1));
        let at = self.words.len();
        self.words.extend_from_within(node.at()..node.at() + TREE_HEAD + 3 * fan);
        self.set_word(at, Term(header(sym, Layout::TreeNode as u32, sort)));
        self.set_word(at + 1, Term(distinct));
        self.set_word(at + 2, Term(largest));
        self.set_word(at + 3, Term(total));
        self.set_word(at + 4, Term(fan as u32 | multiple << FAN_BITS));
        self.set_word(at + TREE_HEAD + i, new);
        self.set_word(at + TREE_HEAD + 2 * fan + i, own);
        Term::node(at)
    }

    fn leaf_insert(&mut self, change: &Change, leaf: Term) -> (Term, Option<Child>) {
        let &Change { sy, sym, element, count } = change;
        let n = self.tree_distinct(leaf);
        let (place, is_found) = self.leaf_search(leaf, |here| self.compare(sy, here, element));
        if !is_found && n == LEAF_MAX {
            let mut pairs = Vec::with_capacity(n + 1);
            self.tree_pairs(leaf, &mut pairs);
            pairs.insert(place, (element, count));
            let (left, right) = pairs.split_at(split_place(place, n));
            let bound = right[0].0;
            let left = self.new_leaf(sy, sym, left);
            return (left, Some((self.new_leaf(sy, sym, right), bound)));
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
        let multiplicity = copies(if is_found { self.leaf_multiplicity(leaf, place) } else { 0 }, count);
        let before = self.max_multiplicity(leaf);
        let largest = before.max(multiplicity);
        let (at, from) = (self.words.len(), leaf.at() + HEAD);
        self.words.reserve(HEAD + 2 * n + 2);
        self.words.extend([
            Term(header(sym, Layout::Leaf as u32, sort)),
            Term((n + usize::from(!is_found)) as u32),
            Term(largest),
            Term(self.word(leaf.at() + 3).0.saturating_add(count)),
        ]);
        let rest = place + usize::from(is_found);
        if is_found {
            self.words.extend_from_within(from..from + n);
        } else {
            self.words.extend_from_within(from..from + place);
            self.words.push(element);
            self.words.extend_from_within(from + place..from + n);
        }
        if largest > 1 && before > 1 {
            let from = from + n;
            self.words.extend_from_within(from..from + place);
            self.words.push(Term(multiplicity));
            self.words.extend_from_within(from + rest..from + n);
        } else if largest > 1 {
            let ones = self.words.len();
            self.words.resize(at + HEAD + 2 * (ones - at - HEAD), Term(1));
            self.words[ones + place] = Term(multiplicity);
        }
        (Term::node(at), None)
    }

    /// Takes copies of the element with number `n`; `NONE` if nothing is left.
    pub(super) fn tree_remove(&mut self, sy: &Symbols, sym: u32, root: Term, n: usize, count: u32) -> Term {
        let mut root = self.remove(sy, sym, root, n, count);
        while !root.is_none() && !self.is_leaf(root) && self.fan(root) == 1 {
            root = self.child(root, 0);
        }
        root
    }

    fn remove(&mut self, sy: &Symbols, sym: u32, node: Term, mut n: usize, count: u32) -> Term {
        if self.is_leaf(node) {
            return self.leaf_remove(sy, sym, node, n, count);
        }
        let i = self.child_with(node, &mut n);
        let new = self.remove(sy, sym, self.child(node, i), n, count);
        let neighbour = if i > 0 { i - 1 } else { i + 1 };
        let is_last = self.fan(node) == 1;
        if new.is_none() {
            if is_last {
                return Term::NONE;
            }
            let mut children = Vec::with_capacity(FAN_MAX);
            self.children(node, &mut children);
            children.remove(i);
            return self.new_inner(sy, sym, &children);
        }
        if is_last || !self.may_join(new, node, neighbour) {
            return self.replace_child(sy, sym, node, i, new);
        }
        let mut children = Vec::with_capacity(FAN_MAX);
        self.children(node, &mut children);
        children[i].0 = new;
        let first = i.min(neighbour);
        children[first].0 = self.joined(sy, sym, children[first].0, children[first + 1]);
        children.remove(first + 1);
        self.new_inner(sy, sym, &children)
    }

    /// Is a child so small that it should be joined with a neighbour, which has room for it?
    #[inline]
    fn may_join(&self, child: Term, node: Term, neighbour: usize) -> bool {
        if self.is_leaf(child) {
            let n = self.tree_distinct(child);
            return n <= LEAF_MAX / 4 && n + self.child_distinct(node, neighbour) <= LEAF_MAX / 2;
        }
        let fan = self.fan(child);
        fan <= FAN_MAX / 4 && fan + self.fan(self.child(node, neighbour)) <= FAN_MAX / 2
    }

    /// Two neighbours as one.
    fn joined(&mut self, sy: &Symbols, sym: u32, left: Term, (right, bound): Child) -> Term {
        if self.is_leaf(left) {
            let mut pairs = Vec::with_capacity(LEAF_MAX);
            self.tree_pairs(left, &mut pairs);
            self.tree_pairs(right, &mut pairs);
            return self.new_leaf(sy, sym, &pairs);
        }
        let mut children = Vec::with_capacity(FAN_MAX);
        self.children(left, &mut children);
        let middle = children.len();
        self.children(right, &mut children);
        children[middle].1 = bound;
        self.new_inner(sy, sym, &children)
    }

    fn leaf_remove(&mut self, sy: &Symbols, sym: u32, leaf: Term, place: usize, count: u32) -> Term {
        let n = self.tree_distinct(leaf);
        let from = leaf.at() + HEAD;
        let (element, multiplicity) = (self.leaf_element(leaf, place), self.leaf_multiplicity(leaf, place));
        let left = multiplicity - count;
        if left == 0 && n == 1 {
            return Term::NONE;
        }
        let before = self.max_multiplicity(leaf);
        let largest = match multiplicity == before && before > 1 {
            true => (0..n)
                .map(|i| if i == place { left } else { self.leaf_multiplicity(leaf, i) })
                .fold(1, u32::max),
            false => before,
        };
        let total = match self.word(leaf.at() + 3).0 {
            MANY => (self.tree_count(leaf) - u64::from(count)).min(MANY.into()) as u32,
            total => total - count,
        };
        let at = self.words.len();
        self.words.reserve(HEAD + 2 * n);
        self.words.extend([
            Term(header(sym, Layout::Leaf as u32, 0)),
            Term((n - usize::from(left == 0)) as u32),
            Term(largest),
            Term(total),
        ]);
        if left > 0 {
            self.words.extend_from_within(from..from + n);
        } else {
            self.words.extend_from_within(from..from + place);
            self.words.extend_from_within(from + place + 1..from + n);
        }
        if largest > 1 {
            let from = from + n;
            self.words.extend_from_within(from..from + place);
            if left > 0 {
                self.words.push(Term(left));
            }
            self.words.extend_from_within(from + place + 1..from + n);
        }
        let result = Term::node(at);
        let sort = match self.leaf_keeps_sort(sy, sym, result, place, (element, left)) {
            true => header_sort(self.header(leaf)),
            false => self.leaf_sort(sy, sym, result),
        };
        self.words[at] = Term(header(sym, Layout::Leaf as u32, sort));
        result
    }

    /// Is a leaf's sort the same after an element at a place has gone or has become rarer? True
    /// only if that is easily seen: a neighbour has the same sort, and sorts are absorbed.
    fn leaf_keeps_sort(
        &self,
        sy: &Symbols,
        sym: u32,
        leaf: Term,
        place: usize,
        (element, left): (Term, u32),
    ) -> bool {
        let n = self.tree_distinct(leaf);
        let same = |i: usize| i < n && self.sort(sy, self.leaf_element(leaf, i)) == self.sort(sy, element);
        n > 1 && sy.info[sym as usize].absorbs && (left > 0 || same(place.wrapping_sub(1)) || same(place))
    }

    fn leaf_sort(&self, sy: &Symbols, sym: u32, leaf: Term) -> SortIx {
        let mut pairs = Vec::with_capacity(LEAF_MAX);
        self.tree_pairs(leaf, &mut pairs);
        self.bag_sort(sy, sym, &pairs)
    }
}

/// Where a binary search among `n` may look in its first steps. The places are numbered like
/// the nodes of a binary tree: 1 is where it starts, from k it goes on to 2k or 2k + 1.
#[inline(always)]
fn middle(n: usize, k: usize) -> usize {
    let (mut lo, mut hi) = (0, n);
    for step in (0..k.ilog2()).rev() {
        let mid = (lo + hi) / 2;
        if k >> step & 1 == 0 { hi = mid } else { lo = mid + 1 }
    }
    (lo + hi) / 2
}

/// Where to split what has become too long by something inserted at a place; `n` was its length.
/// Elements often come in ascending or descending order: then the one side is left full.
fn split_place(place: usize, n: usize) -> usize {
    match place {
        0 | 1 => n / 4,
        _ if place == n => n - n / 4,
        _ => n / 2,
    }
}
