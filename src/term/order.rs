//! Equality and Maude's total order on terms. Both use explicit stacks, so depth is no limit.

use std::cmp::Ordering;

use rustc_hash::FxHashSet;

use super::heap::{Heap, Layout, Term, VAR_SYM, header_layout, header_sym};
use super::symbols::{Class, RawKind, Symbols};

/// So many levels are compared by native recursion.
const SHALLOW: u32 = 12;

impl Heap {
    /// Are two normal forms equal (modulo the axioms)?
    #[inline]
    pub fn equal(&self, sy: &Symbols, a: Term, b: Term) -> bool {
        if a == b {
            return true;
        }
        let (a, b) = (self.deref(a), self.deref(b));
        if !a.is_node() || !b.is_node() {
            // A constant or number that is not reduced is a node.
            let may_be_equal = a.is_node() || b.is_node();
            return may_be_equal
                && self.sym(sy, a) == self.sym(sy, b)
                && self.compare(sy, a, b) == Ordering::Equal;
        }
        if (self.header(a) ^ self.header(b)) & 0xFFFF != 0 {
            return false;
        }
        if self.layout(a) == Layout::Raw as u32
            && self.layout(b) == Layout::Raw as u32
            && self.float_free(sy, a)
        {
            return self.raw(a) == self.raw(b);
        }
        self.compare(sy, a, b) == Ordering::Equal
    }

    /// Is raw data equal if and only if its words are?
    #[inline(always)]
    fn float_free(&self, sy: &Symbols, t: Term) -> bool {
        let sym = self.sym(sy, t);
        sym == sy.string || sym == sy.qid || sym == sy.numbers.succ
    }

    /// Maude's order: operators by arity and creation, then by class.
    #[inline]
    pub fn compare(&self, sy: &Symbols, a: Term, b: Term) -> Ordering {
        match () {
            _ if a == b => Ordering::Equal,
            _ if a.is_small() && b.is_small() => a.payload().cmp(&b.payload()),
            _ => self.compare_shallow(sy, a, b, SHALLOW),
        }
    }

    /// Compares the upper levels by native recursion, which needs no memory; the rest, and what
    /// is rare, with a stack.
    fn compare_shallow(&self, sy: &Symbols, a: Term, b: Term, levels: u32) -> Ordering {
        if !a.is_node() || !b.is_node() {
            if a.is_small() && b.is_small() {
                return a.payload().cmp(&b.payload());
            }
            let (fa, fb) = (self.sym(sy, a), self.sym(sy, b));
            return if fa == fb { self.compare_deep(sy, a, b) } else { sy.rank(fa).cmp(&sy.rank(fb)) };
        }
        let (head, other) = (self.header(a), self.header(b));
        let fa = header_sym(head);
        if fa != header_sym(other) {
            return sy.rank(fa).cmp(&sy.rank(header_sym(other)));
        }
        let layout = header_layout(head);
        if levels == 0 || layout != header_layout(other) || fa == VAR_SYM {
            return self.compare_deep(sy, a, b);
        }
        let pair = |x: Term, y: Term| match () {
            _ if x == y => Ordering::Equal,
            _ if x.is_small() && y.is_small() => x.payload().cmp(&y.payload()),
            _ => self.compare_shallow(sy, x, y, levels - 1),
        };
        if layout <= Layout::Fixed as u32 {
            if matches!(sy.info[fa as usize].class, Class::Free | Class::Cui) {
                for i in 0..layout as usize {
                    let order = pair(self.arg(a, i), self.arg(b, i));
                    if order != Ordering::Equal {
                        return order;
                    }
                }
                return Ordering::Equal;
            }
        } else if layout == Layout::Bag as u32 {
            let (x, y) = (a.at(), b.at());
            let n = self.word(x + 1).0;
            let mut order = n.cmp(&self.word(y + 1).0);
            let mut i = 2;
            while order == Ordering::Equal && i < 2 + 2 * n as usize {
                order = self.word(x + i + 1).0.cmp(&self.word(y + i + 1).0);
                if order == Ordering::Equal {
                    order = pair(self.word(x + i), self.word(y + i));
                }
                i += 2;
            }
            return order;
        }
        self.compare_deep(sy, a, b)
    }

    fn compare_deep(&self, sy: &Symbols, a: Term, b: Term) -> Ordering {
        let mut work = Vec::new();
        let first = self.compare_tops(sy, a, b, &mut work);
        if first != Ordering::Equal {
            return first;
        }
        while let Some((a, b)) = work.pop() {
            if a == b {
                continue;
            }
            let top = self.compare_tops(sy, a, b, &mut work);
            if top != Ordering::Equal {
                return top;
            }
        }
        Ordering::Equal
    }

    /// Compares what the top nodes decide, and pushes the pairs that are left, first pair last.
    /// Numbers that must be compared in between are pushed as small naturals.
    fn compare_tops(&self, sy: &Symbols, a: Term, b: Term, work: &mut Vec<(Term, Term)>) -> Ordering {
        let (a, b) = (self.deref(a), self.deref(b));
        if a.is_small() && b.is_small() {
            return a.payload().cmp(&b.payload());
        }
        let (fa, fb) = (self.sym(sy, a), self.sym(sy, b));
        if fa != fb {
            return sy.rank(fa).cmp(&sy.rank(fb));
        }
        if a.is_constant() || b.is_constant() {
            return Ordering::Equal;
        }
        if fa == VAR_SYM {
            let (a, b) = (self.raw(a), self.raw(b));
            // [sort symbol order, name order, ...]: see `Heap::variable`.
            return (a[0].0, a[1].0).cmp(&(b[0].0, b[1].0));
        }
        if fa == sy.numbers.succ {
            if let (Some(x), Some(y)) = (self.magnitude(sy, a), self.magnitude(sy, b)) {
                return self.compare_magnitudes(x, y);
            }
            let ((ca, ta), (cb, tb)) = (self.iter_parts(a), self.iter_parts(b));
            return ca.cmp(&cb).then_with(|| {
                work.push((ta, tb));
                Ordering::Equal
            });
        }
        let info = &sy.info[fa as usize];
        if let Some(raw) = info.raw {
            return match raw {
                RawKind::Str => {
                    // C's signed characters: bytes from 128 on come before ASCII.
                    let signed = |byte: &u8| byte.cast_signed();
                    self.bytes(a).iter().map(signed).cmp(self.bytes(b).iter().map(signed))
                }
                RawKind::Qid => self.compare_qids(a, b),
                RawKind::Float => {
                    let (x, y) = (self.float_value(a), self.float_value(b));
                    x.partial_cmp(&y).unwrap_or(Ordering::Equal)
                }
            };
        }
        match info.class {
            Class::AssocComm => {
                let (mut xs, mut ys) = (Vec::new(), Vec::new());
                self.bag_pairs(a, &mut xs);
                self.bag_pairs(b, &mut ys);
                if xs.len() != ys.len() {
                    return xs.len().cmp(&ys.len());
                }
                for (&(x, m), &(y, n)) in xs.iter().zip(&ys).rev() {
                    work.push((x, y));
                    work.push((Term::small(m), Term::small(n)));
                }
                Ordering::Equal
            }
            Class::Iter => {
                let ((ca, ta), (cb, tb)) = (self.iter_parts(a), self.iter_parts(b));
                ca.cmp(&cb).then_with(|| {
                    work.push((ta, tb));
                    Ordering::Equal
                })
            }
            _ => {
                let (xs, ys) = (self.args(a), self.args(b));
                if xs.len() != ys.len() {
                    return xs.len().cmp(&ys.len());
                }
                work.extend(xs.iter().copied().zip(ys.iter().copied()).rev());
                Ordering::Equal
            }
        }
    }

    /// Has it no variables inside?
    pub fn is_ground(&self, sy: &Symbols, t: Term) -> bool {
        let mut seen = FxHashSet::default();
        let mut work = vec![t];
        while let Some(t) = work.pop() {
            let t = self.deref(t);
            if !t.is_node() || !seen.insert(t) {
                continue;
            }
            let sym = self.sym(sy, t);
            match self.layout(t) {
                _ if sym == VAR_SYM => return false,
                _ if sym == sy.string => {}
                n if n == Layout::Raw as u32 => {}
                n if n == Layout::Bag as u32 || n == Layout::Tree as u32 => {
                    let mut pairs = Vec::new();
                    self.bag_pairs(t, &mut pairs);
                    work.extend(pairs.iter().map(|pair| pair.0));
                }
                _ => work.extend_from_slice(self.args(t)),
            }
        }
        true
    }

    /// A hash that respects equality modulo the axioms.
    pub fn hash(&self, sy: &Symbols, t: Term) -> u64 {
        self.hash_from(sy, t, 0xcbf2_9ce4_8422_2325)
    }

    /// The same, another for each seed.
    pub fn hash_from(&self, sy: &Symbols, t: Term, seed: u64) -> u64 {
        // Commutative sums are not needed: normal forms of equal terms list equal arguments in
        // the same order; only the layout may differ.
        let mut hash = seed;
        let mut mix = |x: u64| {
            hash = (hash.rotate_left(5) ^ x).wrapping_mul(0x517c_c1b7_2722_0a95);
        };
        if !t.is_node() {
            mix(u64::from(t.0));
            return hash;
        }
        let mut work = vec![t];
        while let Some(t) = work.pop() {
            let t = self.deref(t);
            if !t.is_node() {
                mix(u64::from(t.0));
                continue;
            }
            let sym = self.sym(sy, t);
            if self.layout(t) == Layout::Flat as u32 && self.args(t).is_empty() {
                // A constant that is not reduced.
                mix(u64::from(Term::constant(sym).0));
                continue;
            }
            mix(u64::from(sym) << 8 | 7);
            match self.layout(t) {
                _ if sym == sy.string => {
                    let text = self.bytes(t);
                    mix(text.len() as u64);
                    text.chunks(8).for_each(|chunk| {
                        mix(chunk.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)));
                    });
                }
                n if n == Layout::Raw as u32 => {
                    let raw = self.raw(t);
                    mix(raw.len() as u64);
                    raw.iter().for_each(|w| mix(u64::from(w.0)));
                }
                n if n == Layout::Bag as u32 || n == Layout::Tree as u32 => {
                    let mut pairs = Vec::new();
                    self.bag_pairs(t, &mut pairs);
                    mix(pairs.len() as u64);
                    for (element, multiplicity) in pairs {
                        mix(u64::from(multiplicity));
                        work.push(element);
                    }
                }
                _ => {
                    let args = self.args(t);
                    mix(args.len() as u64);
                    work.extend_from_slice(args);
                }
            }
        }
        hash
    }
}
