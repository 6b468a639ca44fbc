//! Changing a few elements of a small multiset: what rules over soups do.

use std::cmp::Ordering;

use super::bag::FLAT_MAX;
use super::heap::{Heap, Layout, Term, header, header_layout, header_sort, header_sym};
use super::symbols::{Class, Symbols};

/// At most so many elements are added by an edit.
const EDIT_MAX: usize = 12;

/// And replaced in place.
const REPLACE_MAX: usize = 4;

/// The operator and the layout in a header.
const HEAD_MASK: u32 = (1 << 22) - 1;

/// Multisets up to this many elements are searched one by one.
const SCAN_MAX: usize = 32;

impl Heap {
    /// A flat multiset without some elements (numbers and how many copies) and with others, in
    /// one copy. Gives up where something is out of the ordinary; then nothing has changed but
    /// the order of the arguments.
    pub fn bag_edit(
        &mut self,
        sy: &Symbols,
        sym: u32,
        bag: Term,
        taken: &mut [(u32, u32)],
        new: &mut [Term],
    ) -> Option<Term> {
        if !bag.is_node() || self.header(bag) & HEAD_MASK != header(sym, Layout::Bag as u32, 0) {
            return None;
        }
        let (from, n) = (bag.at() + 2, self.word(bag.at() + 1).0 as usize);
        let distinct = (n + new.len()).checked_sub(taken.len())?;
        if n + new.len() > FLAT_MAX || distinct < 2 || new.len() > EDIT_MAX {
            return None;
        }
        for i in 1..taken.len() {
            let mut at = i;
            while at > 0 && taken[at - 1].0 > taken[at].0 {
                taken.swap(at - 1, at);
                at -= 1;
            }
        }
        for (i, &(number, copies)) in taken.iter().enumerate() {
            let is_repeated = i > 0 && taken[i - 1].0 == number;
            if is_repeated || self.word(from + 2 * number as usize + 1).0 != copies {
                return None;
            }
        }
        if taken.len() == new.len()
            && new.len() <= REPLACE_MAX
            && taken.iter().all(|t| t.1 == 1)
            && let Some(t) = self.bag_replace(sy, sym, bag, taken, new)
        {
            return Some(t);
        }
        let mut sort = None;
        let mut is_uniform = taken.len() == new.len();
        for &(number, copies) in taken.iter() {
            let own = self.sort(sy, self.word(from + 2 * number as usize));
            is_uniform &= copies == 1 && *sort.get_or_insert(own) == own;
        }
        // Where each new element goes: before which old one.
        let mut places = [0u32; EDIT_MAX];
        let identity = sy.info[sym as usize].identity.map(|id| self.consts[id.constant]);
        for i in 0..new.len() {
            let element = new[i];
            is_uniform &= sort == Some(self.sort(sy, element));
            if self.is_top(sy, element, sym) || identity.is_some_and(|id| self.equal(sy, id, element)) {
                return None;
            }
            let place = self.edit_place(sy, from, n, taken, element)?;
            // Insert among the new ones before it.
            let mut at = i;
            while at > 0 && places[at - 1] >= place {
                if places[at - 1] == place {
                    match self.compare(sy, new[at - 1], element) {
                        Ordering::Less => break,
                        Ordering::Equal => return None,
                        Ordering::Greater => {}
                    }
                }
                (places[at], new[at]) = (places[at - 1], new[at - 1]);
                at -= 1;
            }
            (places[at], new[at]) = (place, element);
        }
        let at = self.words.len();
        self.words.reserve(2 + 2 * distinct);
        self.words.extend([Term(0), Term(distinct as u32)]);
        // Both lists are ascending; a new element stands before the old one at its place.
        let (mut old, mut t, mut i) = (0, 0, 0);
        while t < taken.len() || i < new.len() {
            let next_taken = taken.get(t).map_or(usize::MAX, |t| t.0 as usize);
            let next_new = if i < new.len() { places[i] as usize } else { usize::MAX };
            let end = next_taken.min(next_new);
            if old < end {
                self.words.extend_from_within(from + 2 * old..from + 2 * end);
                old = end;
            }
            if next_new <= next_taken {
                self.words.extend([new[i], Term(1)]);
                i += 1;
            } else {
                old += 1;
                t += 1;
            }
        }
        self.words.extend_from_within(from + 2 * old..from + 2 * n);
        // With as many elements of the same sort as before its own sort is what it was.
        let sort = if is_uniform {
            header_sort(self.header(bag))
        } else {
            self.pairs_sort(sy, sym, at + 2, distinct)
        };
        self.words[at] = Term(header(sym, Layout::Bag as u32, sort));
        Some(Term::node(at))
    }

    /// The case of [`Heap::bag_edit`] where each new element takes the place of an old one: one
    /// copy of the whole, and a few words changed in it.
    #[inline]
    fn bag_replace(
        &mut self,
        sy: &Symbols,
        sym: u32,
        bag: Term,
        taken: &[(u32, u32)],
        new: &[Term],
    ) -> Option<Term> {
        let (from, n) = (bag.at() + 2, self.word(bag.at() + 1).0 as usize);
        // Which new element takes the place of each old one.
        let mut by_place = [Term::NONE; REPLACE_MAX];
        let mut is_uniform = true;
        'elements: for &element in new {
            for (place, &(number, _)) in by_place.iter_mut().zip(taken) {
                let number = number as usize;
                let old = self.word(from + 2 * number);
                if !place.is_none() || !self.is_alike(sy, old, element) {
                    continue;
                }
                let apart = |i: usize| self.is_apart(old, element, self.word(from + 2 * i));
                if (number == 0 || apart(number - 1)) && (number + 1 == n || apart(number + 1)) {
                    is_uniform &= self.header(old) == self.header(element);
                    *place = element;
                    continue 'elements;
                }
            }
            return None;
        }
        // Neighbours that both are replaced must still be in order.
        for i in 1..taken.len() {
            if taken[i - 1].0 + 1 == taken[i].0
                && self.compare(sy, by_place[i - 1], by_place[i]) != Ordering::Less
            {
                return None;
            }
        }
        let at = self.words.len();
        self.words.extend_from_within(bag.at()..from + 2 * n);
        for (&element, &(number, _)) in by_place.iter().zip(taken) {
            self.set_word(at + 2 + 2 * number as usize, element);
        }
        if !is_uniform {
            let sort = self.pairs_sort(sy, sym, at + 2, n);
            self.words[at] = Term(header(sym, Layout::Bag as u32, sort));
        }
        Some(Term::node(at))
    }

    /// The number of the first old element above a new one; `None` if it is there already.
    #[inline]
    fn edit_place(
        &self,
        sy: &Symbols,
        from: usize,
        n: usize,
        taken: &[(u32, u32)],
        element: Term,
    ) -> Option<u32> {
        // It often takes the place of one that goes, where its operator and perhaps its first
        // argument decide the order already.
        for &(number, _) in taken {
            let number = number as usize;
            let old = self.word(from + 2 * number);
            if !self.is_alike(sy, old, element) {
                continue;
            }
            let apart = |i: usize| self.is_apart(old, element, self.word(from + 2 * i));
            if (number == 0 || apart(number - 1)) && (number + 1 == n || apart(number + 1)) {
                return Some(number as u32);
            }
        }
        let (mut lo, mut hi) = (0, n);
        while lo < hi {
            let mid = (lo + hi) / 2;
            match self.compare(sy, element, self.word(from + 2 * mid)) {
                // It may be one that goes.
                Ordering::Equal if taken.iter().any(|t| t.0 as usize == mid) => return Some(mid as u32),
                Ordering::Equal => return None,
                Ordering::Less => hi = mid,
                Ordering::Greater => lo = mid + 1,
            }
        }
        Some(lo as u32)
    }

    /// Are both applications of the same free operator to at least one argument?
    #[inline(always)]
    fn is_alike(&self, sy: &Symbols, x: Term, y: Term) -> bool {
        x.is_node() && y.is_node() && {
            let head = self.header(x);
            (head ^ self.header(y)) & HEAD_MASK == 0
                && (1..=Layout::Fixed as u32).contains(&header_layout(head))
                && sy.class(header_sym(head)) == Class::Free
        }
    }

    /// Does a third element compare with two that are alike in the same way, since it has another
    /// operator, or another first argument than the one that they share?
    #[inline(always)]
    fn is_apart(&self, x: Term, y: Term, third: Term) -> bool {
        if !third.is_node() || (self.header(third) ^ self.header(x)) & HEAD_MASK != 0 {
            return true;
        }
        let (key, other) = (self.arg(x, 0), self.arg(third, 0));
        key == self.arg(y, 0) && key != other && !(key.is_node() && other.is_node())
    }

    /// Where an element is in a small multiset, with its multiplicity: one look at each. `None`
    /// if the multiset is not small.
    #[inline]
    pub fn bag_scan(&self, sy: &Symbols, bag: Term, element: Term) -> Option<Option<(usize, u32)>> {
        let pairs = self.flat_bag(bag).filter(|pairs| pairs.len() <= 2 * SCAN_MAX)?;
        if !element.is_node() {
            // Constants come first, and literals, which are nodes, among them.
            let rank = if element.is_constant() { sy.rank(element.payload()) } else { u32::MAX };
            let may_follow =
                |pair: &&[Term]| !pair[0].is_node() || sy.rank(header_sym(self.header(pair[0]))) < rank;
            let found = pairs.chunks_exact(2).take_while(may_follow).position(|pair| pair[0] == element);
            return Some(found.map(|i| (i, pairs[2 * i + 1].0)));
        }
        let head = self.header(element) & HEAD_MASK;
        // A first argument that is one word tells most elements apart.
        let is_short = (1..=Layout::Fixed as u32).contains(&header_layout(head));
        let key = if is_short { self.arg(element, 0) } else { element };
        let same = |pair: &[Term]| {
            let t = pair[0];
            t == element
                || t.is_node()
                    && self.header(t) & HEAD_MASK == head
                    && (key.is_node() || self.arg(t, 0) == key)
                    && self.equal(sy, t, element)
        };
        Some(pairs.chunks_exact(2).position(same).map(|i| (i, pairs[2 * i + 1].0)))
    }
}
