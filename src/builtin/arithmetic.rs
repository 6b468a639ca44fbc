//! Sums, products, quotients and tests of two integers where they lie: in machine words, or as
//! digits on the heap. What is not done here is left to [`super::integer`].

use std::cmp::Ordering;

use super::Cx;
use super::number::{NumberOp, RESULT_BITS_MAX, WORK};
use crate::term::large;
use crate::term::limbs::{self, SCHOOLBOOK_WORDS};
use crate::term::{Heap, Layout, Magnitude, NO_SYM, Symbols, Term, header_layout, header_sym};

use Magnitude::{Long, Word};

/// An integer as a sign and a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    /// Never for 0.
    pub negative: bool,
    pub magnitude: Magnitude,
}

impl Number {
    /// The integer that a term is; negative ones only if `signed`.
    #[inline]
    pub fn read(heap: &Heap, sy: &Symbols, t: Term, signed: bool) -> Option<Number> {
        if t.is_small() {
            return Some(Number { negative: false, magnitude: Word(t.payload().into()) });
        }
        if !t.is_node() {
            return None;
        }
        let head = heap.header(t);
        if header_sym(head) == sy.numbers.succ && header_layout(head) == Layout::Raw as u32 {
            return Some(Number { negative: false, magnitude: heap.magnitude(sy, t)? });
        }
        if !signed || sy.numbers.minus == NO_SYM || header_sym(head) != sy.numbers.minus {
            return None;
        }
        // `- 0` and `- - 5` are not integers, only terms that wait to be reduced.
        match heap.magnitude(sy, heap.arg(t, 0))? {
            Word(0) => None,
            magnitude => Some(Number { negative: true, magnitude }),
        }
    }

    fn opposite(self) -> Number {
        Number { negative: !self.negative && !matches!(self.magnitude, Word(0)), ..self }
    }
}

pub(super) fn compare(heap: &Heap, a: Number, b: Number) -> Ordering {
    match (a.negative, b.negative) {
        (false, true) => Ordering::Greater,
        (true, false) => Ordering::Less,
        (false, false) => heap.compare_magnitudes(a.magnitude, b.magnitude),
        (true, true) => heap.compare_magnitudes(b.magnitude, a.magnitude),
    }
}

/// The result of an operation on two integers; `None` also for operations that are not done here.
#[inline]
pub(super) fn binary(cx: &mut Cx, op: NumberOp, a: Number, b: Number) -> Option<Term> {
    let natural = !a.negative && !b.negative;
    match op {
        NumberOp::Add => add(cx, a, b),
        NumberOp::Sub => add(cx, a, b.opposite()),
        NumberOp::Mul => {
            let product = multiply(cx, a.magnitude, b.magnitude)?;
            signed(cx, a.negative != b.negative, product)
        }
        NumberOp::Quo => {
            let quotient = quotient(cx, a.magnitude, b.magnitude)?;
            signed(cx, a.negative != b.negative, quotient)
        }
        NumberOp::Rem => {
            let rest = remainder(cx, a.magnitude, b.magnitude)?;
            signed(cx, a.negative, rest)
        }
        NumberOp::Gcd => gcd(cx, a.magnitude, b.magnitude),
        NumberOp::Min | NumberOp::Max => {
            let first = (compare(cx.heap, a, b) == Ordering::Less) == (op == NumberOp::Min);
            let Number { negative, magnitude } = if first { a } else { b };
            let magnitude = term(cx, magnitude);
            signed(cx, negative, magnitude)
        }
        NumberOp::Lcm => match (a.magnitude, b.magnitude) {
            (Word(0), Word(_)) | (Word(_), Word(0)) => Some(Term::small(0)),
            (Word(x), Word(y)) => {
                let multiple = u128::from(x / limbs::gcd_words(x, y)) * u128::from(y);
                Some(cx.heap.nat_u128(cx.sy, multiple))
            }
            _ => None,
        },
        NumberOp::And | NumberOp::Or | NumberOp::Xor if natural => match (a.magnitude, b.magnitude) {
            (Word(x), Word(y)) => {
                let bits = match op {
                    NumberOp::And => x & y,
                    NumberOp::Or => x | y,
                    _ => x ^ y,
                };
                Some(cx.heap.nat_u64(cx.sy, bits))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The magnitude of the difference.
pub(super) fn difference(cx: &mut Cx, a: Magnitude, b: Magnitude) -> Term {
    match cx.heap.compare_magnitudes(a, b) {
        Ordering::Equal => Term::small(0),
        Ordering::Greater => subtract(cx, a, b),
        Ordering::Less => subtract(cx, b, a),
    }
}

/// The term for a magnitude.
pub(super) fn term(cx: &mut Cx, magnitude: Magnitude) -> Term {
    match magnitude {
        Word(n) => cx.heap.nat_u64(cx.sy, n),
        Long(t) => t,
    }
}

#[inline]
fn signed(cx: &mut Cx, negative: bool, magnitude: Term) -> Option<Term> {
    if negative && magnitude != Term::small(0) { cx.heap.negated(cx.sy, magnitude) } else { Some(magnitude) }
}

#[inline]
fn add(cx: &mut Cx, a: Number, b: Number) -> Option<Term> {
    let (x, y) = (a.magnitude, b.magnitude);
    if a.negative == b.negative {
        let sum = add_magnitudes(cx, x, y);
        return signed(cx, a.negative, sum);
    }
    let negative = if cx.heap.compare_magnitudes(x, y) == Ordering::Less { b.negative } else { a.negative };
    let difference = difference(cx, x, y);
    signed(cx, negative, difference)
}

/// The digits of a word, without leading zeros, for operations that take digits.
struct Digits {
    word: [u32; 2],
    place: std::ops::Range<usize>,
    on_heap: bool,
}

impl Digits {
    fn of(heap: &Heap, magnitude: Magnitude) -> Digits {
        match magnitude {
            Word(n) => {
                let len = usize::from(n != 0) + usize::from(n >> 32 != 0);
                Digits { word: [n as u32, (n >> 32) as u32], place: 0..len, on_heap: false }
            }
            Long(t) => Digits { word: [0; 2], place: heap.digits_place(t), on_heap: true },
        }
    }

    fn len(&self) -> usize {
        self.place.len()
    }

    /// In what `Heap::nat_filled` gives.
    fn get<'a>(&'a self, words: &'a [u32]) -> &'a [u32] {
        if self.on_heap { &words[self.place.clone()] } else { &self.word[self.place.clone()] }
    }
}

#[inline]
fn add_magnitudes(cx: &mut Cx, a: Magnitude, b: Magnitude) -> Term {
    if let (Word(x), Word(y)) = (a, b) {
        return cx.heap.nat_u128(cx.sy, u128::from(x) + u128::from(y));
    }
    let (x, y) = (Digits::of(cx.heap, a), Digits::of(cx.heap, b));
    let (x, y) = if x.len() < y.len() { (y, x) } else { (x, y) };
    cx.heap.nat_filled(cx.sy, x.len() + 1, |words, out| limbs::add(x.get(words), y.get(words), out))
}

/// `a - b`, where `a >= b`.
fn subtract(cx: &mut Cx, a: Magnitude, b: Magnitude) -> Term {
    if let (Word(x), Word(y)) = (a, b) {
        return cx.heap.nat_u64(cx.sy, x - y);
    }
    let (x, y) = (Digits::of(cx.heap, a), Digits::of(cx.heap, b));
    cx.heap.nat_filled(cx.sy, x.len(), |words, out| limbs::subtract(x.get(words), y.get(words), out))
}

fn multiply(cx: &mut Cx, a: Magnitude, b: Magnitude) -> Option<Term> {
    match (a, b) {
        (Word(x), Word(y)) => return Some(cx.heap.nat_u128(cx.sy, u128::from(x) * u128::from(y))),
        (Word(0), _) | (_, Word(0)) => return Some(Term::small(0)),
        _ => {}
    }
    let (x, y) = (Digits::of(cx.heap, a), Digits::of(cx.heap, b));
    let (x, y) = if x.len() < y.len() { (y, x) } else { (x, y) };
    if (x.len() + y.len()) as u64 * 32 > RESULT_BITS_MAX {
        return None;
    }
    if let Word(by) = if matches!(a, Word(_)) { a } else { b } {
        return Some(cx.heap.nat_filled(cx.sy, x.len() + 2, |words, out| {
            limbs::multiply_word(x.get(words), by, out);
        }));
    }
    if y.len() <= SCHOOLBOOK_WORDS {
        return Some(cx.heap.nat_filled(cx.sy, x.len() + y.len(), |words, out| {
            limbs::multiply(x.get(words), y.get(words), out);
        }));
    }
    cx.heap.demand(WORK * (x.len() + y.len()));
    let (Long(x), Long(y)) = (a, b) else { return None };
    let product = large::multiply(&cx.heap.big(x), &cx.heap.big(y), cx.cancel);
    Some(cx.heap.nat(cx.sy, &product))
}

fn quotient(cx: &mut Cx, a: Magnitude, b: Magnitude) -> Option<Term> {
    match (a, b) {
        (_, Word(0)) => None,
        (Word(x), Word(y)) => Some(cx.heap.nat_u64(cx.sy, x / y)),
        (Word(_), Long(_)) => Some(Term::small(0)),
        (Long(t), Word(by)) => {
            let digits = Digits::of(cx.heap, a);
            let mut rest = 0;
            let quotient = cx.heap.nat_filled(cx.sy, digits.len(), |words, out| {
                rest = limbs::divide_word(digits.get(words), by, out);
            });
            cx.heap.last_division = Some((t, by, rest));
            Some(quotient)
        }
        (Long(x), Long(y)) => {
            if cx.heap.compare_magnitudes(a, b) == Ordering::Less {
                return Some(Term::small(0));
            }
            let (quotient, _) = large::divide(&cx.heap.big(x), &cx.heap.big(y), cx.cancel);
            Some(cx.heap.nat(cx.sy, &quotient))
        }
    }
}

fn remainder(cx: &mut Cx, a: Magnitude, b: Magnitude) -> Option<Term> {
    match (a, b) {
        (_, Word(0)) => None,
        (Word(x), Word(y)) => Some(cx.heap.nat_u64(cx.sy, x % y)),
        (Word(x), Long(_)) => Some(cx.heap.nat_u64(cx.sy, x)),
        (Long(t), Word(by)) => {
            let rest = match cx.heap.last_division {
                Some((dividend, divisor, rest)) if dividend == t && divisor == by => rest,
                _ => limbs::remainder_word(cx.heap.digits(t), by),
            };
            Some(cx.heap.nat_u64(cx.sy, rest))
        }
        (Long(x), Long(y)) => {
            if cx.heap.compare_magnitudes(a, b) == Ordering::Less {
                return Some(x);
            }
            let (_, rest) = large::divide(&cx.heap.big(x), &cx.heap.big(y), cx.cancel);
            Some(cx.heap.nat(cx.sy, &rest))
        }
    }
}

fn gcd(cx: &mut Cx, a: Magnitude, b: Magnitude) -> Option<Term> {
    Some(match (a, b) {
        (Word(x), Word(y)) => cx.heap.nat_u64(cx.sy, limbs::gcd_words(x, y)),
        (Word(0), Long(t)) | (Long(t), Word(0)) => t,
        (Word(x), Long(t)) | (Long(t), Word(x)) => {
            let rest = limbs::remainder_word(cx.heap.digits(t), x);
            cx.heap.nat_u64(cx.sy, limbs::gcd_words(x, rest))
        }
        (Long(x), Long(y)) => {
            let common = limbs::gcd(&cx.heap.big(x), &cx.heap.big(y), cx.cancel);
            cx.heap.nat(cx.sy, &common)
        }
    })
}

/// Divides out the greatest common divisor of two magnitudes that are not 0; `None` if it is 1.
pub(super) fn lowest_terms(cx: &mut Cx, a: Magnitude, b: Magnitude) -> Option<(Term, Term)> {
    if let (Word(x), Word(y)) = (a, b) {
        let common = limbs::gcd_words(x, y);
        return (common != 1)
            .then(|| (cx.heap.nat_u64(cx.sy, x / common), cx.heap.nat_u64(cx.sy, y / common)));
    }
    let common = gcd(cx, a, b)?;
    if common == Term::small(1) {
        return None;
    }
    let common = cx.heap.magnitude(cx.sy, common)?;
    Some((quotient(cx, a, common)?, quotient(cx, b, common)?))
}
