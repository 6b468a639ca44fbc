//! Rationals: `_/_` in lowest terms, and fractions as terms.
//!
//! A fraction is `_/_` over a non-zero integer and a positive natural. Signs in the denominator
//! and fractions of fractions are the business of the module's equations.

use num_bigint::BigInt;

use super::Cx;
use super::arithmetic::{self, Number};
use super::integer::Integer;
use crate::term::{Heap, Magnitude, Symbols, Term};

/// Brings `args[0] / args[1]` to lowest terms; `None` if it is there already, or no fraction.
pub(super) fn lowest_terms(cx: &mut Cx, division: u32, args: &[Term]) -> Option<Term> {
    let &[top, bottom] = args else { return None };
    let numerator = Number::read(cx.heap, cx.sy, top, true)?;
    let denominator = cx.heap.magnitude(cx.sy, bottom)?;
    match (numerator.magnitude, denominator) {
        (Magnitude::Word(0), _) | (_, Magnitude::Word(0)) => return None,
        (_, Magnitude::Word(1)) => return Some(top),
        _ => {}
    }
    let (mut top, bottom) = arithmetic::lowest_terms(cx, numerator.magnitude, denominator)?;
    if numerator.negative {
        top = cx.heap.negated(cx.sy, top)?;
    }
    if bottom == Term::small(1) {
        return Some(top);
    }
    Some(cx.heap.apply(cx.sy, division, &[top, bottom]))
}

/// The integers of a fraction's arguments.
fn fraction(heap: &Heap, sy: &Symbols, top: Term, bottom: Term) -> Option<(Integer, Integer)> {
    let denominator = Integer::natural(heap, sy, bottom).filter(|n| !n.is_zero())?;
    let numerator = Integer::read(heap, sy, top, true).filter(|n| !n.is_zero())?;
    Some((numerator, denominator))
}

/// The numerator and the denominator of an integer or a fraction.
pub(super) fn read(cx: &Cx, division: u32, t: Term) -> Option<(Integer, Integer)> {
    if let Some(n) = Integer::read(cx.heap, cx.sy, t, true) {
        return Some((n, Integer::Small(1)));
    }
    if !t.is_node() || cx.heap.sym(cx.sy, t) != division {
        return None;
    }
    fraction(cx.heap, cx.sy, cx.heap.arg(t, 0), cx.heap.arg(t, 1))
}

/// The term for a fraction, as it is; the numerator alone if the denominator is 1.
pub(super) fn make(cx: &mut Cx, division: u32, numerator: &Integer, denominator: &Integer) -> Option<Term> {
    let top = numerator.write(cx.heap, cx.sy)?;
    if *denominator == Integer::Small(1) {
        return Some(top);
    }
    let bottom = denominator.write(cx.heap, cx.sy)?;
    Some(cx.heap.apply(cx.sy, division, &[top, bottom]))
}

/// The nearest float towards zero, as GMP converts.
pub(super) fn to_float(numerator: &Integer, denominator: &Integer) -> f64 {
    let (n, d) = (numerator.to_big(), denominator.to_big());
    let (sign, n) = n.into_parts();
    let (_, d) = d.into_parts();
    // The quotient is in [2^(scale - 1), 2^(scale + 1)).
    let scale = n.bits() as i64 - d.bits() as i64;
    // Enough bits for 53 significant ones; fewer for numbers that are not normalized.
    let shift = (54 - scale).min(1074);
    let quotient = if shift >= 0 { (n << shift) / d } else { n / (d << -shift) };
    let excess = (quotient.bits() as i64 - 53).max(0);
    let mantissa = BigInt::from(quotient >> excess);
    let magnitude = scale_float(u64::try_from(mantissa).expect("53 bits"), excess - shift);
    if sign == num_bigint::Sign::Minus { -magnitude } else { magnitude }
}

/// `mantissa * 2^exponent`, exact: the mantissa has at most 53 bits, and the exponent is at
/// least -1074.
fn scale_float(mantissa: u64, exponent: i64) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let bits = i64::from(u64::BITS - mantissa.leading_zeros());
    if bits + exponent > 1024 {
        return f64::INFINITY;
    }
    let power = |e: i64| f64::from_bits(((e + 1023) as u64) << 52);
    // In steps that are normalized powers of two.
    let mut value = mantissa as f64;
    let mut left = exponent;
    while left < -1022 {
        value *= power(-52);
        left += 52;
    }
    value * power(left)
}

/// The exact fraction that a finite float is, in lowest terms.
pub(super) fn from_float(value: f64) -> (Integer, Integer) {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i64;
    let fraction = bits & ((1 << 52) - 1);
    let (mantissa, exponent) =
        if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
    if mantissa == 0 {
        return (Integer::Small(0), Integer::Small(1));
    }
    let zeros = i64::from(mantissa.trailing_zeros());
    let (odd, exponent) = ((mantissa >> zeros) as i64, exponent + zeros);
    let odd = BigInt::from(if value < 0.0 { -odd } else { odd });
    if exponent >= 0 {
        (Integer::from(odd << exponent), Integer::Small(1))
    } else {
        (Integer::from(odd), Integer::from(BigInt::from(1) << -exponent))
    }
}
