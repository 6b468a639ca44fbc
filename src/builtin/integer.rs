//! Integers of any size while a built-in computes with them: a machine word where it fits, a big
//! integer beyond. Arithmetic on words is done in 128 bits, so that it cannot overflow.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer as _;
use num_traits::{One, Signed, ToPrimitive};

use crate::base::Cancel;
use crate::term::{Heap, NO_SYM, Symbols, Term, large};

/// An integer. `Small` is never `i64::MIN`, and `Big` only holds what `Small` cannot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Integer {
    Small(i64),
    Big(BigInt),
}

use Integer::{Big, Small};

impl From<i128> for Integer {
    #[inline]
    fn from(n: i128) -> Integer {
        match i64::try_from(n) {
            Ok(small) if small != i64::MIN => Small(small),
            _ => Big(n.into()),
        }
    }
}

impl From<BigInt> for Integer {
    fn from(n: BigInt) -> Integer {
        match n.to_i64() {
            Some(small) if small != i64::MIN => Small(small),
            _ => Big(n),
        }
    }
}

impl Integer {
    /// The integer that a term is; negative ones only if `signed`.
    #[inline]
    pub fn read(heap: &Heap, sy: &Symbols, t: Term, signed: bool) -> Option<Integer> {
        if let Some(n) = Integer::natural(heap, sy, t) {
            return Some(n);
        }
        if !(signed && is_negated(heap, sy, t)) {
            return None;
        }
        // `- 0` and `- - 5` are not integers, only terms that wait to be reduced.
        let magnitude = Integer::natural(heap, sy, heap.arg(t, 0))?;
        (!magnitude.is_zero()).then(|| magnitude.negate())
    }

    /// Would [`Integer::read`] give a number?
    #[inline]
    pub fn is_integer(heap: &Heap, sy: &Symbols, t: Term, signed: bool) -> bool {
        let is_natural = |t: Term| t.is_small() || heap.is_big_nat(sy, t);
        is_natural(t)
            || signed
                && is_negated(heap, sy, t)
                && is_natural(heap.arg(t, 0))
                && heap.arg(t, 0) != Term::small(0)
    }

    /// The natural number that a term is.
    #[inline]
    pub fn natural(heap: &Heap, sy: &Symbols, t: Term) -> Option<Integer> {
        if t.is_small() {
            return Some(Small(t.payload().into()));
        }
        if !heap.is_big_nat(sy, t) {
            return None;
        }
        Some(match heap.raw(t) {
            [low] => Small(low.0.into()),
            [low, high] if high.0 >> 31 == 0 => Small((u64::from(low.0) | u64::from(high.0) << 32) as i64),
            digits => Big(BigInt::from_biguint(
                Sign::Plus,
                BigUint::new(digits.iter().map(|digit| digit.0).collect()),
            )),
        })
    }

    /// The term; `None` for a negative integer in a module without a minus operator.
    #[inline]
    pub fn write(&self, heap: &mut Heap, sy: &Symbols) -> Option<Term> {
        match self {
            Small(n) if *n >= 0 => Some(heap.nat_u64(sy, *n as u64)),
            Small(n) => {
                if sy.numbers.minus == NO_SYM {
                    return None;
                }
                let magnitude = heap.nat_u64(sy, n.unsigned_abs());
                Some(heap.apply(sy, sy.numbers.minus, &[magnitude]))
            }
            Big(n) => heap.int(sy, n),
        }
    }

    pub fn to_big(&self) -> BigInt {
        match self {
            Small(n) => BigInt::from(*n),
            Big(n) => n.clone(),
        }
    }

    pub fn is_zero(&self) -> bool {
        *self == Small(0)
    }

    pub fn is_negative(&self) -> bool {
        match self {
            Small(n) => *n < 0,
            Big(n) => n.is_negative(),
        }
    }

    pub fn is_odd(&self) -> bool {
        match self {
            Small(n) => n & 1 != 0,
            Big(n) => n.is_odd(),
        }
    }

    /// How many bits its magnitude has.
    pub fn bits(&self) -> u64 {
        match self {
            Small(n) => u64::from(u64::BITS - n.unsigned_abs().leading_zeros()),
            Big(n) => n.bits(),
        }
    }

    /// Itself, if it is a natural that fits.
    pub fn to_u64(&self) -> Option<u64> {
        match self {
            Small(n) => u64::try_from(*n).ok(),
            Big(n) => n.to_u64(),
        }
    }

    pub fn negate(&self) -> Integer {
        match self {
            Small(n) => Small(-n),
            Big(n) => Integer::from(-n),
        }
    }

    pub fn compare(&self, other: &Integer) -> Ordering {
        match (self, other) {
            (Small(a), Small(b)) => a.cmp(b),
            _ => self.to_big().cmp(&other.to_big()),
        }
    }

    /// The operation on words, or the one on big integers where a word does not fit.
    #[inline]
    pub fn combine(
        &self,
        other: &Integer,
        words: impl FnOnce(i128, i128) -> i128,
        bigs: impl FnOnce(&BigInt, &BigInt) -> BigInt,
    ) -> Integer {
        match (self, other) {
            (Small(a), Small(b)) => Integer::from(words((*a).into(), (*b).into())),
            (Big(a), Big(b)) => Integer::from(bigs(a, b)),
            (Small(a), Big(b)) => Integer::from(bigs(&BigInt::from(*a), b)),
            (Big(a), Small(b)) => Integer::from(bigs(a, &BigInt::from(*b))),
        }
    }

    /// `self ^ exponent`, whatever that costs.
    pub fn power(&self, exponent: u32, cancel: &Cancel) -> Integer {
        if let Small(base) = self
            && let Some(power) = base.checked_pow(exponent)
        {
            return Integer::from(i128::from(power));
        }
        let base = self.to_big();
        let (sign, magnitude) = base.into_parts();
        // Shifting is much faster than multiplying, and powers of two are the common case.
        let zeros = magnitude.trailing_zeros().unwrap_or(0);
        let odd = magnitude >> zeros;
        let power = if odd.is_one() { odd } else { large::power(&odd, exponent, cancel) };
        let sign = if exponent.is_multiple_of(2) { Sign::Plus } else { sign };
        Integer::from(BigInt::from_biguint(sign, power << (zeros * u64::from(exponent))))
    }
}

fn is_negated(heap: &Heap, sy: &Symbols, t: Term) -> bool {
    sy.numbers.minus != NO_SYM && t.is_node() && heap.sym(sy, t) == sy.numbers.minus
}
