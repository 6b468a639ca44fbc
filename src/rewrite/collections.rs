//! The machine's instructions on lists and multisets: counting from both ends, loops over
//! elements, and what is left of a multiset.

use std::cmp::Ordering;

use super::machine::Machine;
use crate::term::{Layout, Symbols, Term, header_layout, header_sym};
use crate::theory::code;

/// Multisets up to this many words (two per element) are gone through one by one.
const SCAN_MAX: usize = 48;
/// From so many words on it pays to look for the first one that fits.
const SEARCH_MIN: usize = 8;

impl Machine {
    /// `ListSplit`: see [`code::Op::ListSplit`].
    #[inline]
    pub(super) fn list_split(&mut self, sy: &Symbols, w: u64, spec: u64, base: usize) -> bool {
        let (sym, left) = (spec as u32, code::n(w));
        let right = (spec >> 32 & 0xFF) as usize;
        let mode = spec >> 40 & 0xFF;
        let first = base + (spec >> 48) as usize;
        let subject = self.stack[base + code::a(w)];
        let is_list = subject.is_node() && self.heap.sym(sy, subject) == sym;
        let is_identity = !is_list
            && sy.info[sym as usize]
                .identity
                .is_some_and(|identity| self.heap.equal(sy, self.heap.consts[identity.constant], subject));
        let len = match () {
            _ if is_list => self.heap.args(subject).len(),
            _ => usize::from(!is_identity),
        };
        let fits = match mode {
            0 => len == left + right,
            1 => len > left + right,
            _ => len >= left + right,
        };
        if !fits {
            return false;
        }
        let elements: &[Term] =
            if is_list { self.heap.args(subject) } else { std::slice::from_ref(&subject) };
        self.stack[first..first + left].copy_from_slice(&elements[..left]);
        for i in 0..right {
            self.stack[first + left + i] = elements[len - right + i];
        }
        if mode != 0 {
            let middle = if left + right == 0 {
                subject
            } else if len == 0 {
                self.heap.consts[sy.info[sym as usize].identity.expect("an empty list").constant]
            } else {
                self.heap
                    .slice(sy, sym, subject, left, len - left - right)
                    .expect("an empty middle has an identity")
            };
            self.stack[first + left + right] = middle;
        }
        true
    }

    /// `Join`: how many words of the call that follows are skipped, because there is nothing new to
    /// evaluate.
    #[inline(never)]
    pub(super) fn join(&mut self, sy: &Symbols, w: u64, spec: u64, base: usize) -> usize {
        let (n, call) = (spec as u32 as usize, (spec >> 32) as usize);
        let operands = &mut self.stack[base + code::a(w)..][..n];
        let t = self.heap.apply(sy, code::imm(w), operands);
        let is_old = call > 0 && operands.contains(&t);
        operands[0] = t;
        if is_old { call } else { 0 }
    }

    /// How many copies of the element with number `index` earlier loops have taken.
    #[inline(always)]
    fn taken(&self, index: u32, count: usize, first: u64, copies: u64, base: usize) -> u32 {
        let first = base + (first & 0xFFFF) as usize;
        let mut taken = 0;
        for i in 0..count {
            if self.stack[first + 2 * i].payload() == index + 1 {
                taken += (copies >> (8 * i) & 0xFF) as u32;
            }
        }
        taken
    }

    /// The elements that loops took: number and copies of each.
    #[inline(always)]
    fn chosen(&self, first: u64, copies: u64, base: usize) -> ([(u32, u32); 8], usize) {
        let first = base + first as usize;
        let (mut chosen, mut n) = ([(0, 0); 8], 0);
        for (i, copies) in copies.to_le_bytes().into_iter().enumerate() {
            if copies > 0 {
                chosen[n] = (self.stack[first + 2 * i].payload() - 1, u32::from(copies));
                n += 1;
            }
        }
        (chosen, n)
    }

    /// Is the subject a multiset of this operator (and not a single element of one)?
    #[inline(always)]
    fn is_bag(&self, subject: Term, sym: u32) -> bool {
        subject.is_node() && header_sym(self.heap.header(subject)) == sym
    }

    /// `BagCheck`: see [`code::Op::BagCheck`].
    #[inline(always)]
    pub(super) fn bag_check(&self, subject: Term, spec: u64) -> bool {
        let is_flat = spec >> 56 == 0
            && self.is_bag(subject, spec as u32)
            && self.heap.layout(subject) == Layout::Bag as u32;
        is_flat && self.heap.bag_distinct(subject) >= (spec >> 32 & 0xFF_FFFF) as usize
            || self.bag_check_closely(subject, spec)
    }

    #[inline(never)]
    fn bag_check_closely(&self, subject: Term, spec: u64) -> bool {
        let sy = &self.theory.symbols;
        let sym = spec as u32;
        let least = (spec >> 32 & 0xFF_FFFF) as usize;
        let exact = spec >> 56 != 0;
        if !self.is_bag(subject, sym) {
            // A single element, or the identity.
            let is_empty = sy.info[sym as usize]
                .identity
                .is_some_and(|identity| self.heap.equal(sy, self.heap.consts[identity.constant], subject));
            return !is_empty && least <= 1;
        }
        if !exact && self.heap.bag_distinct(subject) >= least {
            return true;
        }
        let total = self.heap.bag_total(subject) as usize;
        if exact { total == least } else { total >= least }
    }

    /// `BagKeys`.
    #[inline(never)]
    pub(super) fn bag_keys(&self, subject: Term, checks: &[u64]) -> bool {
        let sy = &self.theory.symbols;
        let Some(pairs) = subject.is_node().then(|| self.heap.flat_bag(subject)).flatten() else {
            return false;
        };
        let mut last = Term::NONE;
        for pair in pairs.chunks_exact(2) {
            let element = pair[0];
            if !last.is_none() && last.is_node() && element.is_node() {
                let sym = header_sym(self.heap.header(element));
                // Elements with the same operator and first argument stand side by side.
                let is_same = || {
                    let (x, y) = (self.heap.arg(last, 0), self.heap.arg(element, 0));
                    x == y || x.is_node() && y.is_node() && self.heap.equal(sy, x, y)
                };
                if header_sym(self.heap.header(last)) == sym
                    && checks.iter().any(|&check| check as u32 == sym && (check >> 32 != 0 || is_same()))
                {
                    return false;
                }
            }
            last = element;
        }
        true
    }

    /// `BagNext`.
    #[inline(never)]
    pub(super) fn bag_next(&mut self, counter: usize, specs: [u64; 4], base: usize) -> bool {
        let [spec, filter, counters, taken] = specs;
        let subject = self.stack[base + (spec & 0xFFFF) as usize];
        let slot = base + (spec >> 16 & 0xFFFF) as usize;
        let copies = (spec >> 32 & 0xFF) as u32;
        let earlier = (spec >> 40 & 0xFF) as usize;
        let kind = spec >> 48;
        let mut index = self.stack[base + counter].payload();
        if !self.is_bag(subject, (counters >> 32) as u32) {
            if index > 0 || copies > 1 || !self.passes(subject, kind, filter) {
                return false;
            }
            let key = (kind == 3).then(|| self.stack[base + (filter >> 32) as usize]);
            if kind == 3 && !self.is_keyed(subject, operator(kind, filter), key) {
                return false;
            }
            self.stack[base + counter] = Term::small(1);
            self.stack[slot] = subject;
            return self.taken(0, earlier, counters, taken, base) == 0;
        }
        if kind & 1 != 0
            && copies == 1
            && let Some(pairs) = self.heap.flat_bag(subject).filter(|pairs| pairs.len() <= SCAN_MAX)
        {
            // A few elements, most of them of other operators: one look at each.
            let (sym, sy) = (operator(kind, filter), &self.theory.symbols);
            if kind == 3 && index == 0 && earlier == 0 {
                let key = self.stack[base + (filter >> 32) as usize];
                if !key.is_node() {
                    let Some(found) = self.find_keyed(pairs, sym, key) else { return false };
                    self.stack[base + counter] = Term::small(found as u32 + 1);
                    self.stack[slot] = pairs[2 * found];
                    self.near = (found as u32).wrapping_sub(key.payload());
                    return true;
                }
            }
            let mut is_inside = index > 0;
            let mut is_sought = false;
            if index == 0 && pairs.len() > SEARCH_MIN {
                if kind == 3 {
                    let key = self.stack[base + (filter >> 32) as usize];
                    index = self.first_keyed(pairs, sym, key);
                    is_sought = true;
                } else if sy.rank(self.heap.sym(sy, pairs[pairs.len() - 2])) < sy.rank(sym) {
                    return false;
                }
            }
            for pair in pairs[2 * index as usize..].chunks_exact(2) {
                let element = pair[0];
                let top = if element.is_node() {
                    header_sym(self.heap.header(element))
                } else {
                    self.heap.sym(sy, element)
                };
                index += 1;
                if top != sym {
                    // Elements with one operator stand together.
                    if is_inside {
                        return false;
                    }
                    continue;
                }
                is_inside = true;
                if kind == 5 {
                    let argument = (filter >> 16 & 0xFFFF) as usize;
                    if self.heap.arg(element, argument).0 != (filter >> 32) as u32 {
                        continue;
                    }
                } else if kind == 3 {
                    let key = self.stack[base + (filter >> 32) as usize];
                    let own = self.first_argument(element);
                    if key != own && (!key.is_node() || !own.is_node() || !self.heap.equal(sy, key, own)) {
                        if is_sought {
                            return false;
                        }
                        continue;
                    }
                }
                if earlier == 0 || pair[1].0 > self.taken(index - 1, earlier, counters, taken, base) {
                    self.stack[base + counter] = Term::small(index);
                    self.stack[slot] = element;
                    return true;
                }
            }
            return false;
        }
        let distinct = self.heap.bag_distinct(subject) as u32;
        let key = (kind == 3).then(|| self.stack[base + (filter >> 32) as usize]);
        if index == 0 && kind & 1 != 0 && distinct > 4 {
            index = self.first_with(subject, operator(kind, filter), key);
        }
        while index < distinct {
            if copies > 1 {
                match self.heap.bag_first_multiple(subject, index as usize, copies) {
                    Some(found) => index = found as u32,
                    None => return false,
                }
            }
            let (element, multiplicity) = self.heap.bag_nth(subject, index as usize);
            if kind & 1 != 0 && !self.is_keyed(element, operator(kind, filter), key) {
                // Elements with the same operator and first argument stand together.
                if self.is_past(element, operator(kind, filter), key) {
                    return false;
                }
            } else if self.passes(element, kind, filter) {
                let used = if earlier == 0 { 0 } else { self.taken(index, earlier, counters, taken, base) };
                if multiplicity >= used + copies {
                    self.stack[base + counter] = Term::small(index + 1);
                    self.stack[slot] = element;
                    return true;
                }
            }
            index += 1;
        }
        false
    }

    /// The first element with an operator and a small natural as its first argument, with its position, if
    /// that is as far from where one was found before as the numbers are apart.
    #[inline(always)]
    pub(super) fn find_near(&mut self, subject: Term, bag: u32, sym: u32, key: Term) -> Option<(Term, u32)> {
        if !key.is_small() {
            return None;
        }
        let place = self.near.wrapping_add(key.payload());
        let element = self.heap.flat_bag_element(subject, bag, place)?;
        let key_of = |element: Term| {
            let head = self.heap.header(element);
            let is_fixed = header_layout(head) <= Layout::Fixed as u32;
            (header_sym(head) == sym).then(|| is_fixed.then(|| self.heap.arg(element, 0)))
        };
        if !element.is_node() || key_of(element) != Some(Some(key)) {
            return None;
        }
        // Elements with the same operator and first argument stand side by side.
        if place > 0 {
            let before = self.heap.flat_bag_element(subject, bag, place - 1)?;
            let is_other = |own: Option<Term>| own.is_some_and(|own| own != key);
            if before.is_node() && !key_of(before).is_none_or(is_other) {
                return None;
            }
        }
        Some((element, place))
    }

    /// The first element with this operator and first argument, which is a number or a constant, among
    /// the pairs of a flat multiset.
    #[inline]
    fn find_keyed(&self, pairs: &[Term], sym: u32, key: Term) -> Option<usize> {
        pairs.chunks_exact(2).position(|pair| self.has_key(pair[0], sym, key))
    }

    /// Has an element this operator and first argument, which is a number or a constant?
    #[inline(always)]
    fn has_key(&self, element: Term, sym: u32, key: Term) -> bool {
        self.is_bag(element, sym) && self.first_argument(element) == key
    }

    /// The first argument of a node.
    #[inline(always)]
    fn first_argument(&self, node: Term) -> Term {
        let is_fixed = self.heap.layout(node) <= Layout::Fixed as u32;
        if is_fixed { self.heap.arg(node, 0) } else { self.heap.args(node)[0] }
    }

    /// The number of the first element with this operator and first argument or beyond, among the pairs
    /// of a flat multiset. Most first arguments are small naturals.
    #[inline]
    fn first_keyed(&self, pairs: &[Term], sym: u32, key: Term) -> u32 {
        let sy = &self.theory.symbols;
        let rank = sy.rank(sym);
        let (mut low, mut high) = (0, pairs.len() / 2);
        while low < high {
            let middle = (low + high) / 2;
            let element = pairs[2 * middle];
            let is_below = if !self.is_bag(element, sym) {
                sy.rank(self.heap.sym(sy, element)) < rank
            } else {
                let own = self.first_argument(element);
                match own.is_small() && key.is_small() {
                    true => own.payload() < key.payload(),
                    false => self.heap.compare(sy, own, key) == Ordering::Less,
                }
            };
            if is_below { low = middle + 1 } else { high = middle }
        }
        low as u32
    }

    /// The number of the first element with this operator (and first argument) or beyond.
    fn first_with(&self, subject: Term, sym: u32, key: Option<Term>) -> u32 {
        self.heap.bag_first(subject, |element| self.order_of(element, sym, key) == Ordering::Less) as u32
    }

    /// How an element compares with those that have this operator (and first argument).
    fn order_of(&self, element: Term, sym: u32, key: Option<Term>) -> Ordering {
        let sy = &self.theory.symbols;
        let top = self.heap.sym(sy, element);
        sy.rank(top).cmp(&sy.rank(sym)).then_with(|| match key {
            Some(key) => self.heap.compare(sy, self.heap.args(element)[0], key),
            None => Ordering::Equal,
        })
    }

    #[inline(always)]
    fn is_keyed(&self, element: Term, sym: u32, key: Option<Term>) -> bool {
        let sy = &self.theory.symbols;
        self.heap.sym(sy, element) == sym
            && key.is_none_or(|key| self.heap.equal(sy, self.heap.args(element)[0], key))
    }

    fn is_past(&self, element: Term, sym: u32, key: Option<Term>) -> bool {
        self.order_of(element, sym, key) == Ordering::Greater
    }

    #[inline(always)]
    fn passes(&self, element: Term, kind: u64, filter: u64) -> bool {
        let sy = &self.theory.symbols;
        match kind {
            1 | 3 | 5 => self.heap.sym(sy, element) == operator(kind, filter),
            2 => filter >> self.heap.sort(sy, element) & 1 != 0,
            _ => true,
        }
    }

    /// `BagFind`.
    #[inline(never)]
    pub(super) fn bag_find(&mut self, counter: usize, specs: [u64; 3], base: usize) -> bool {
        let [spec, counters, taken] = specs;
        let sy = &self.theory.symbols;
        let subject = self.stack[base + (spec & 0xFFFF) as usize];
        let value = self.stack[base + (spec >> 16 & 0xFFFF) as usize];
        let copies = (spec >> 32 & 0xFF) as u32;
        let earlier = (spec >> 40 & 0xFF) as usize;
        if value.is_constant() && self.is_bag(subject, (counters >> 32) as u32) {
            // Constants come first: a glance at the first element tells most often.
            let (first, _) = self.heap.bag_nth(subject, 0);
            if first != value && sy.rank(self.heap.sym(sy, first)) > sy.rank(value.payload()) {
                return false;
            }
        }
        let found = if self.is_bag(subject, (counters >> 32) as u32) {
            let scanned = self.heap.bag_scan(sy, subject, value);
            scanned.unwrap_or_else(|| self.heap.bag_find(sy, subject, value))
        } else {
            self.heap.equal(sy, subject, value).then_some((0, 1))
        };
        let Some((index, multiplicity)) = found else { return false };
        let used = self.taken(index as u32, earlier, counters, taken, base);
        self.stack[base + counter] = Term::small(index as u32 + 1);
        multiplicity >= used + copies
    }

    /// `BagRest`.
    #[inline(never)]
    pub(super) fn bag_rest(&mut self, sy: &Symbols, may_be_none: bool, specs: [u64; 3], base: usize) -> Term {
        let [spec, first, copies] = specs;
        let subject = self.stack[base + (spec & 0xFFFF) as usize];
        let sym = (spec >> 32) as u32;
        let (chosen, n) = self.chosen(first, copies, base);
        if !self.is_bag(subject, sym) {
            return match n {
                0 => subject,
                _ if may_be_none => Term::NONE,
                _ => self.heap.bag(sy, sym, &[]),
            };
        }
        if n == 0 {
            return subject;
        }
        if n == 1 && self.heap.bag_distinct(subject) > 2 {
            let (index, count) = chosen[0];
            return self.heap.bag_remove(sy, subject, index as usize, count);
        }
        if let Some(t) = self.heap.bag_edit(sy, sym, subject, &mut chosen.clone()[..n], &mut []) {
            return t;
        }
        let mut taken: Vec<(usize, u32)> = chosen[..n].iter().map(|c| (c.0 as usize, c.1)).collect();
        let total: u64 = taken.iter().map(|t| u64::from(t.1)).sum();
        if may_be_none && self.heap.bag_total(subject) == total {
            return Term::NONE;
        }
        if self.heap.layout(subject) == Layout::Tree as u32 && self.heap.bag_distinct(subject) > 64 + n {
            // From the back, so that numbers stay valid.
            taken.sort_by_key(|t| std::cmp::Reverse(t.0));
            taken.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    kept.1 += next.1;
                }
                same
            });
            return taken
                .into_iter()
                .fold(subject, |t, (index, count)| self.heap.bag_remove(sy, t, index, count));
        }
        let mut pairs = Vec::new();
        self.heap.bag_pairs(subject, &mut pairs);
        for (index, count) in taken {
            pairs[index].1 -= count;
        }
        pairs.retain(|p| p.1 > 0);
        self.heap.bag(sy, sym, &pairs)
    }

    /// `BagEdit`.
    #[inline(never)]
    pub(super) fn bag_edit(
        &mut self,
        sy: &Symbols,
        specs: [u64; 3],
        new: std::ops::Range<usize>,
        base: usize,
    ) -> Term {
        let [spec, first, copies] = specs;
        let subject = self.stack[base + (spec & 0xFFFF) as usize];
        let sym = (spec >> 32) as u32;
        let (mut taken, n) = self.chosen(first, copies, base);
        let Machine { heap, stack, .. } = self;
        if let Some(t) = heap.bag_edit(sy, sym, subject, &mut taken[..n], &mut stack[new.clone()]) {
            return t;
        }
        let rest = self.bag_rest(sy, true, specs, base);
        let elements = self.stack[new].iter().copied().chain((!rest.is_none()).then_some(rest));
        let elements: Vec<Term> = elements.collect();
        self.heap.bag_of(sy, sym, elements)
    }
}

/// The operator that a filter asks for.
#[inline(always)]
fn operator(kind: u64, filter: u64) -> u32 {
    if kind == 5 { filter as u32 & 0xFFFF } else { filter as u32 }
}
