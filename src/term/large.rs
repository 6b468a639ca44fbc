//! Arithmetic on numbers so long that one operation may take a while: it goes in parts, with a look at
//! a flag before each of them.
//!
//! Whoever raises the flag ends the work by [`Exceeded::CANCELLED`], which the machine makes an interrupt of.

use num_bigint::BigUint;
use num_integer::Integer as _;
use num_traits::{One, Zero};

use crate::base::{Cancel, Exceeded};

/// Factors up to this length are multiplied in one go.
const FACTOR_BITS: u64 = 1 << 22;

/// Divisions of fewer bits (those of the divisor times those of the quotient) are done in one go.
const DIVISION_BITS: u64 = 1 << 36;

/// Divisors that are not cut any further.
const DIVISOR_BITS: u64 = 1 << 13;

pub(super) fn look(cancel: &Cancel) {
    if cancel.is_raised() {
        Exceeded::CANCELLED.unwind();
    }
}

/// What is above the lowest `words` words of 32 bits, and what is below.
fn cut(n: &BigUint, words: usize) -> (BigUint, BigUint) {
    let digits = n.to_u32_digits();
    match digits.get(words..) {
        Some(high) => (BigUint::from_slice(high), BigUint::from_slice(&digits[..words])),
        None => (BigUint::ZERO, n.clone()),
    }
}

/// The product: Karatsuba's method as far as there are long factors.
pub fn multiply(a: &BigUint, b: &BigUint, cancel: &Cancel) -> BigUint {
    let (short, long) = if a.bits() < b.bits() { (a, b) } else { (b, a) };
    if long.bits() <= FACTOR_BITS {
        return short * long;
    }
    look(cancel);
    let words = (long.bits() / 64) as usize;
    let shift = 32 * words;
    let (high, low) = cut(long, words);
    if short.bits() <= shift as u64 {
        return (multiply(&high, short, cancel) << shift) + multiply(&low, short, cancel);
    }
    let (short_high, short_low) = cut(short, words);
    let top = multiply(&high, &short_high, cancel);
    let bottom = multiply(&low, &short_low, cancel);
    let middle = multiply(&(high + low), &(short_high + short_low), cancel) - &top - &bottom;
    (top << (2 * shift)) + (middle << shift) + bottom
}

/// `base ^ exponent`.
pub fn power(base: &BigUint, exponent: u32, cancel: &Cancel) -> BigUint {
    if base.bits() * u64::from(exponent) <= FACTOR_BITS {
        return base.pow(exponent);
    }
    let half = power(base, exponent / 2, cancel);
    let square = multiply(&half, &half, cancel);
    if exponent.is_multiple_of(2) { square } else { multiply(&square, base, cancel) }
}

/// Quotient and remainder, by the method of Burnikel and Ziegler. The divisor is not 0.
pub fn divide(a: &BigUint, b: &BigUint, cancel: &Cancel) -> (BigUint, BigUint) {
    let quotient_bits = a.bits().saturating_sub(b.bits());
    if quotient_bits.saturating_mul(b.bits()) <= DIVISION_BITS {
        return a.div_rem(b);
    }
    // The divisor gets so many bits that it can be halved down to the shortest ones, the first of them set.
    let parts = b.bits().div_ceil(DIVISOR_BITS).next_power_of_two();
    let bits = b.bits().div_ceil(32 * parts) * 32 * parts;
    let shift = bits - b.bits();
    let (a, b) = (a << shift, b << shift);
    let words = (bits / 32) as usize;
    let digits = a.to_u32_digits();
    let mut quotient = vec![0; digits.len().next_multiple_of(words)];
    let mut rest = BigUint::ZERO;
    for (block, place) in digits.chunks(words).zip(quotient.chunks_mut(words)).rev() {
        let dividend = (rest << bits) + BigUint::from_slice(block);
        let (part, left) = divide_two_by_one(&dividend, &b, words, cancel);
        part.iter_u32_digits().zip(place).for_each(|(digit, place)| *place = digit);
        rest = left;
    }
    (BigUint::new(quotient), rest >> shift)
}

/// A number of `2 * words` words by one of `words`, whose first bit is set; the quotient has `words`.
fn divide_two_by_one(a: &BigUint, b: &BigUint, words: usize, cancel: &Cancel) -> (BigUint, BigUint) {
    if words as u64 * 32 <= DIVISOR_BITS || a.bits() < b.bits() {
        return a.div_rem(b);
    }
    look(cancel);
    let half = words / 2;
    let (high, low) = cut(a, half);
    let (first, rest) = divide_three_by_two(&high, b, half, cancel);
    let (second, rest) = divide_three_by_two(&((rest << (32 * half)) + low), b, half, cancel);
    ((first << (32 * half)) + second, rest)
}

/// A number of `3 * half` words by one of `2 * half`, likewise; the quotient has `half`.
fn divide_three_by_two(a: &BigUint, b: &BigUint, half: usize, cancel: &Cancel) -> (BigUint, BigUint) {
    let shift = 32 * half;
    let (above, low) = cut(a, half);
    let (b_high, b_low) = cut(b, half);
    let (mut quotient, rest) = if &above >> shift < b_high {
        divide_two_by_one(&above, &b_high, half, cancel)
    } else {
        // As large as it can be.
        let quotient = (BigUint::one() << shift) - 1u32;
        let rest = above + &b_high - (b_high << shift);
        (quotient, rest)
    };
    let mut rest = (rest << shift) + low;
    let product = multiply(&quotient, &b_low, cancel);
    // The guess is too large by two at most.
    while rest < product {
        rest += b;
        quotient -= 1u32;
    }
    (quotient, rest - product)
}

/// `base ^ exponent` modulo `modulus`, which is not 0.
pub fn power_modulo(base: &BigUint, exponent: &BigUint, modulus: &BigUint, cancel: &Cancel) -> BigUint {
    let mut result = BigUint::one() % modulus;
    let base = divide(base, modulus, cancel).1;
    for place in (0..exponent.bits()).rev() {
        look(cancel);
        result = divide(&multiply(&result, &result, cancel), modulus, cancel).1;
        if exponent.bit(place) {
            result = divide(&multiply(&result, &base, cancel), modulus, cancel).1;
        }
        if result.is_zero() {
            break;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// Some number of so many bits.
    fn number(bits: u64, seed: u64) -> BigUint {
        let mut state = seed | 1;
        let words = (0..bits.div_ceil(32)).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        });
        BigUint::new(words.collect()) % (BigUint::one() << bits) | BigUint::one() << (bits - 1)
    }

    #[test]
    fn long_products_agree_with_num_bigint() {
        let none = Cancel::default();
        for (a, b) in [(1, 9 << 20), (1 << 20, 9 << 20), (5 << 20, 5 << 20), (5 << 20, 8 << 20)] {
            let (a, b) = (number(a, 7), number(b, 8));
            assert_eq!(multiply(&a, &b, &none), &a * &b);
        }
        let base = number(3 << 10, 9);
        assert_eq!(power(&base, 2345, &none), base.pow(2345));
    }

    #[test]
    fn long_quotients_agree_with_num_bigint() {
        let none = Cancel::default();
        let ones = (BigUint::one() << (1u32 << 19)) - 1u32;
        let pairs = [
            (number(1 << 20, 3), number(1 << 19, 4)),
            (number(1_300_001, 3), number(300_007, 4)),
            (number(9_000_000, 5), number(20_000, 6)),
            (&ones * &ones - 1u32, ones.clone()),
            (&ones << (1u32 << 19), ones + 2u32),
        ];
        for (a, b) in pairs {
            let (quotient, rest) = divide(&a, &b, &none);
            assert_eq!((&quotient * &b + &rest, rest < b), (a.clone(), true));
            assert_eq!(quotient, a / b);
        }
    }

    #[test]
    fn powers_agree_with_num_bigint() {
        let (base, exponent, modulus) = (number(900, 1), number(300, 2), number(700, 3));
        let power = power_modulo(&base, &exponent, &modulus, &Cancel::default());
        assert_eq!(power, base.modpow(&exponent, &modulus));
    }

    #[test]
    fn a_raised_flag_ends_what_takes_long() {
        let cancel = Cancel::default();
        cancel.raise();
        let (a, b) = (number(9 << 20, 1), number(5 << 20, 2));
        let works: [&dyn Fn() -> BigUint; 4] = [
            &|| multiply(&a, &b, &cancel),
            &|| power(&b, 7, &cancel),
            &|| divide(&a, &b, &cancel).1,
            &|| power_modulo(&a, &a, &b, &cancel),
        ];
        for work in works {
            let payload = catch_unwind(AssertUnwindSafe(work)).expect_err("it was cancelled");
            assert_eq!(payload.downcast_ref(), Some(&Exceeded::CANCELLED));
        }
    }
}
