//! Numbers as terms: naturals below 2^30 are immediate, larger ones raw nodes of the successor
//! operator; a negative integer is the minus operator over a natural, as in Maude.
//! Also the other literals: strings, floats, quoted identifiers, variables.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{ToPrimitive, Zero};

use super::heap::{Heap, Layout, SMALL_MAX, Term, VAR_SYM, header};
use super::limbs;
use super::symbols::{NO_SYM, Symbols};
use crate::base::Name;
use crate::sorts::{SortIx, Var};

/// A natural number: a machine word, or a big one above it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Int {
    Small(u32),
    Big(BigUint),
}

impl Int {
    pub fn to_big(&self) -> BigUint {
        match self {
            Int::Small(n) => BigUint::from(*n),
            Int::Big(n) => n.clone(),
        }
    }

    /// The canonical form: big only from `SMALL_MAX` on.
    pub fn from_big(n: BigUint) -> Int {
        match n.to_u32() {
            Some(small) if small < SMALL_MAX => Int::Small(small),
            _ => Int::Big(n),
        }
    }
}

impl Ord for Int {
    fn cmp(&self, other: &Int) -> Ordering {
        match (self, other) {
            (Int::Small(a), Int::Small(b)) => a.cmp(b),
            (Int::Small(_), Int::Big(_)) => Ordering::Less,
            (Int::Big(_), Int::Small(_)) => Ordering::Greater,
            (Int::Big(a), Int::Big(b)) => a.cmp(b),
        }
    }
}

impl PartialOrd for Int {
    fn partial_cmp(&self, other: &Int) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Where a natural is: in a machine word, or on the heap if it needs more than 64 bits.
#[derive(Clone, Copy, Debug)]
pub enum Magnitude {
    Word(u64),
    /// The term that is this number; more than two words.
    Long(Term),
}

/// Strings from this length on may share a buffer with others that begin alike.
const LONG_STRING: usize = 128;

impl Heap {
    /// A natural number of a module that has numbers.
    pub fn nat(&mut self, sy: &Symbols, n: &BigUint) -> Term {
        if let Some(word) = n.to_u64() {
            return self.nat_u64(sy, word);
        }
        let digits = n.iter_u64_digits();
        let room = 2 * digits.len();
        self.nat_filled(sy, room, |_, new| {
            for (pair, digit) in new.chunks_exact_mut(2).zip(digits) {
                pair[0] = digit as u32;
                pair[1] = (digit >> 32) as u32;
            }
        })
    }

    #[inline]
    pub fn nat_u64(&mut self, sy: &Symbols, n: u64) -> Term {
        if n < u64::from(SMALL_MAX) { Term::small(n as u32) } else { self.nat_u128(sy, n.into()) }
    }

    pub fn nat_u128(&mut self, sy: &Symbols, n: u128) -> Term {
        if n < u128::from(SMALL_MAX) {
            return Term::small(n as u32);
        }
        let digits = [n as u32, (n >> 32) as u32, (n >> 64) as u32, (n >> 96) as u32];
        let len = (128 - n.leading_zeros() as usize).div_ceil(32);
        let sort = sy.numbers.sort_of_digits(&digits[..len]);
        self.alloc_raw(sy.numbers.succ, sort, digits.into_iter().take(len))
    }

    /// The natural that `fill` writes into at most `room` words (all 0 at first), in its
    /// canonical form. Words of older nodes are the first argument of `fill`.
    pub fn nat_filled(&mut self, sy: &Symbols, room: usize, fill: impl FnOnce(&[u32], &mut [u32])) -> Term {
        let t = self.alloc_filled(sy.numbers.succ, 0, room, fill);
        let digits = self.digits(t);
        let len = digits.iter().rposition(|&digit| digit != 0).map_or(0, |last| last + 1);
        let low = digits.first().copied().unwrap_or(0);
        if len == 0 || len == 1 && low < SMALL_MAX {
            self.drop_last(t);
            return Term::small(if len == 0 { 0 } else { low });
        }
        let sort = sy.numbers.sort_of_digits(&digits[..len]);
        self.shorten_last(t, len);
        self.set_sort(t, sort);
        t
    }

    /// The natural that a term is, if it is one below 2^64.
    #[inline]
    pub fn nat_word(&self, sy: &Symbols, t: Term) -> Option<u64> {
        if t.is_small() {
            return Some(t.payload().into());
        }
        if !self.is_big_nat(sy, t) {
            return None;
        }
        match *self.digits(t) {
            [low] => Some(low.into()),
            [low, high] => Some(u64::from(low) | u64::from(high) << 32),
            _ => None,
        }
    }

    /// Where the natural is that a term is, if it is one.
    #[inline]
    pub fn magnitude(&self, sy: &Symbols, t: Term) -> Option<Magnitude> {
        match self.nat_word(sy, t) {
            Some(word) => Some(Magnitude::Word(word)),
            None => self.is_big_nat(sy, t).then_some(Magnitude::Long(t)),
        }
    }

    #[inline]
    pub fn compare_magnitudes(&self, a: Magnitude, b: Magnitude) -> Ordering {
        match (a, b) {
            (Magnitude::Word(a), Magnitude::Word(b)) => a.cmp(&b),
            (Magnitude::Word(_), Magnitude::Long(_)) => Ordering::Less,
            (Magnitude::Long(_), Magnitude::Word(_)) => Ordering::Greater,
            (Magnitude::Long(a), Magnitude::Long(b)) => limbs::compare(self.digits(a), self.digits(b)),
        }
    }

    /// Minus a natural that is not 0; `None` if the module has no minus operator.
    #[inline]
    pub fn negated(&mut self, sy: &Symbols, magnitude: Term) -> Option<Term> {
        (sy.numbers.minus != NO_SYM).then(|| {
            let sort = sy.info[sy.numbers.minus as usize].diagram.sort([self.sort(sy, magnitude)]);
            self.alloc(sy.numbers.minus, sort, &[magnitude])
        })
    }

    /// An integer; `None` if it is negative and the module has no minus operator.
    pub fn int(&mut self, sy: &Symbols, n: &BigInt) -> Option<Term> {
        let magnitude = self.nat(sy, n.magnitude());
        if n.sign() != Sign::Minus {
            return Some(magnitude);
        }
        self.negated(sy, magnitude)
    }

    /// The natural that a term is, if it is one.
    pub fn to_nat(&self, sy: &Symbols, t: Term) -> Option<Int> {
        if t.is_small() {
            return Some(Int::Small(t.payload()));
        }
        self.is_big_nat(sy, t).then(|| Int::Big(self.big(t)))
    }

    #[inline]
    pub fn is_big_nat(&self, sy: &Symbols, t: Term) -> bool {
        t.is_node() && self.layout(t) == Layout::Raw as u32 && self.sym(sy, t) == sy.numbers.succ
    }

    /// The number that raw digits are.
    pub fn big(&self, t: Term) -> BigUint {
        BigUint::from_slice(self.digits(t))
    }

    /// The integer that a term is, if it is one.
    pub fn to_int(&self, sy: &Symbols, t: Term) -> Option<BigInt> {
        if let Some(n) = self.to_nat(sy, t) {
            return Some(n.to_big().into());
        }
        if t.is_node() && self.sym(sy, t) == sy.numbers.minus {
            let n = self.to_nat(sy, self.arg(t, 0))?.to_big();
            return (!n.is_zero()).then(|| BigInt::from_biguint(Sign::Minus, n));
        }
        None
    }

    /// Count and base of an iterated application: `s_^5(X)`, or a number (base 0).
    pub fn iter_parts(&self, t: Term) -> (Int, Term) {
        let t = self.deref(t);
        if t.is_small() {
            return (Int::Small(t.payload()), Term::small(0));
        }
        if self.layout(t) == Layout::Raw as u32 {
            return (Int::Big(self.big(t)), Term::small(0));
        }
        let count = self.arg(t, 0);
        let count = if count.is_small() { Int::Small(count.payload()) } else { Int::Big(self.big(count)) };
        (count, self.arg(t, 1))
    }

    /// `f^count(base)` in normal form: counts of the same operator add up, numbers absorb it.
    pub fn iterate(&mut self, sy: &Symbols, sym: u32, count: &Int, base: Term) -> Term {
        let is_number = base.is_small() || self.is_big_nat(sy, base);
        if sym == sy.numbers.succ && is_number {
            if let (Int::Small(c), true) = (count, base.is_small()) {
                return self.nat_u64(sy, u64::from(*c) + u64::from(base.payload()));
            }
            let sum = count.to_big() + self.to_nat(sy, base).expect("checked above").to_big();
            return self.nat(sy, &sum);
        }
        self.tower(sy, sym, count, base)
    }

    /// The same where it is not reduced: then numbers are nodes like others.
    pub(crate) fn iterate_unreduced(&mut self, sy: &Symbols, sym: u32, count: &Int, base: Term) -> Term {
        let term = self.tower(sy, sym, count, base);
        if *count != Int::Small(0) {
            self.mark_unreduced(term);
        }
        term
    }

    fn tower(&mut self, sy: &Symbols, sym: u32, count: &Int, base: Term) -> Term {
        let (total, inner) = if !base.is_constant() && self.sym(sy, base) == sym {
            let (more, inner) = self.iter_parts(base);
            let total = match (count, &more) {
                (Int::Small(a), Int::Small(b)) if a + b < SMALL_MAX => Int::Small(a + b),
                _ => Int::from_big(count.to_big() + more.to_big()),
            };
            (total, inner)
        } else {
            (count.clone(), base)
        };
        if total == Int::Small(0) {
            return inner;
        }
        let sort = self.iterated_sort(sy, sym, &total, inner);
        let count = match &total {
            Int::Small(n) => Term::small(*n),
            Int::Big(n) => self.alloc_raw(sym, 0, n.to_u32_digits()),
        };
        self.alloc(sym, sort, &[count, inner])
    }

    /// The sort of `f^count(base)`: sorts repeat sooner or later, so few steps suffice.
    fn iterated_sort(&self, sy: &Symbols, sym: u32, count: &Int, base: Term) -> SortIx {
        let diagram = &sy.info[sym as usize].diagram;
        // Nearly always the sort stays the same from the first application on.
        let first = diagram.sort([self.sort(sy, base)]);
        if *count == Int::Small(1) || diagram.sort([first]) == first {
            return first;
        }
        let mut seen = vec![self.sort(sy, base)];
        loop {
            let steps = seen.len() - 1;
            if let Int::Small(n) = count
                && *n as usize == steps
            {
                return seen[steps];
            }
            let next = diagram.sort([seen[steps]]);
            if let Some(start) = seen.iter().position(|&s| s == next) {
                let period = BigUint::from(seen.len() - start);
                let rest = (count.to_big() - BigUint::from(start)) % period;
                return seen[start + rest.to_usize().expect("smaller than the period")];
            }
            seen.push(next);
        }
    }

    pub fn string(&mut self, sy: &Symbols, bytes: &[u8]) -> Term {
        let sort = sy.literal_sort(sy.string, bytes.len() == 1);
        self.alloc_bytes(sy.string, sort, bytes)
    }

    /// One string after the other. Appending to a long one again and again takes time in proportion
    /// to what is appended.
    pub fn string_concat(&mut self, sy: &Symbols, t: Term, u: Term) -> Term {
        let (left, right) = (self.bytes(t).len(), self.bytes(u).len());
        match (left, right) {
            (0, _) => u,
            (_, 0) => t,
            _ if left < LONG_STRING => self.string_of_parts(sy, &[(t, 0..left), (u, 0..right)]),
            _ => self.append_bytes(sy.string, sy.literal_sort(sy.string, false), t, u),
        }
    }

    /// The string that consists of parts of other strings.
    pub fn string_of_parts(&mut self, sy: &Symbols, parts: &[(Term, std::ops::Range<usize>)]) -> Term {
        let len = parts.iter().map(|(_, range)| range.len()).sum::<usize>();
        let sort = sy.literal_sort(sy.string, len == 1);
        self.alloc_parts(sy.string, sort, parts)
    }

    pub fn float(&mut self, sy: &Symbols, value: f64) -> Term {
        // Maude has no negative zero and one not-a-number.
        let value = if value == 0.0 { 0.0 } else { value };
        let bits = value.to_bits();
        let sort = sy.literal_sort(sy.float, value.is_finite());
        let head = header(sy.float, Layout::Raw as u32, sort);
        self.alloc_words([Term(head), Term(2), Term(bits as u32), Term((bits >> 32) as u32)])
    }

    /// A quoted identifier: its name, and the first bytes of its text, which mostly decide how
    /// it compares with another.
    pub fn qid(&mut self, sy: &Symbols, name: Name) -> Term {
        let sort = sy.literal_sort(sy.qid, false);
        let text = name.as_str().as_bytes();
        let byte = |i: usize| text.get(i).copied().unwrap_or(0);
        let prefix = u32::from_be_bytes([byte(0), byte(1), byte(2), byte(3)]);
        self.alloc_raw(sy.qid, sort, [name.index() as u32, prefix])
    }

    pub(super) fn compare_qids(&self, a: Term, b: Term) -> Ordering {
        let (x, y) = (self.digits(a), self.digits(b));
        if x[0] == y[0] {
            return Ordering::Equal;
        }
        x[1].cmp(&y[1])
            .then_with(|| self.qid_name(a).as_str().as_bytes().cmp(self.qid_name(b).as_str().as_bytes()))
    }

    pub fn qid_name(&self, t: Term) -> Name {
        Name::from_index(self.raw(t)[0].0)
    }

    #[inline]
    pub fn float_value(&self, t: Term) -> f64 {
        let at = self.deref(t).at();
        f64::from_bits(u64::from(self.word(at + 2).0) | u64::from(self.word(at + 3).0) << 32)
    }

    /// A variable inside a term: `sort_order` and `name_order` place it in the term order.
    pub fn variable(&mut self, sort_order: u32, name_order: u32, var: Var, sort: SortIx) -> Term {
        self.alloc_raw(VAR_SYM, sort, [sort_order, name_order, var.name.index() as u32, var.sort.0])
    }
}
