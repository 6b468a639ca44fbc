//! Arithmetic on magnitudes as the heap stores them: 32-bit words, least significant first, no
//! leading zeros. The loops work on pairs of words, 64 bits at a time.
//!
//! These are the linear operations, schoolbook multiplication of short numbers, Lehmer's
//! greatest common divisor (Knuth 4.5.2, Algorithm L) and Montgomery exponentiation
//! ("Modular multiplication without trial division", 1985). Long products and quotients are
//! left to [`super::large`].

use std::cmp::Ordering;

use num_bigint::BigUint;

use super::large;
use crate::base::Cancel;

#[inline(always)]
fn pair(words: &[u32]) -> u64 {
    u64::from(words[0]) | u64::from(words[1]) << 32
}

#[inline(always)]
fn set_pair(words: &mut [u32], value: u64) {
    words[0] = value as u32;
    words[1] = (value >> 32) as u32;
}

/// Compares two numbers without leading zeros.
pub fn compare(a: &[u32], b: &[u32]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.iter().rev().cmp(b.iter().rev()))
}

/// `out = a + b`, where `a` is not shorter than `b` and `out` has one word more than `a`.
pub fn add(a: &[u32], b: &[u32], out: &mut [u32]) {
    debug_assert!(a.len() >= b.len() && out.len() == a.len() + 1);
    let even = b.len() & !1;
    let mut carry = false;
    for ((x, y), z) in
        a[..even].chunks_exact(2).zip(b[..even].chunks_exact(2)).zip(out[..even].chunks_exact_mut(2))
    {
        let (sum, first) = pair(x).overflowing_add(pair(y));
        let (sum, second) = sum.overflowing_add(u64::from(carry));
        carry = first | second;
        set_pair(z, sum);
    }
    let mut carry = u32::from(carry);
    let mut place = even;
    if even < b.len() {
        let sum = u64::from(a[even]) + u64::from(b[even]) + u64::from(carry);
        out[even] = sum as u32;
        carry = (sum >> 32) as u32;
        place += 1;
    }
    while carry != 0 && place < a.len() {
        let (sum, over) = a[place].overflowing_add(carry);
        out[place] = sum;
        carry = u32::from(over);
        place += 1;
    }
    out[place..a.len()].copy_from_slice(&a[place..]);
    out[a.len()] = carry;
}

/// `out = a - b`, where `a >= b` and `out` is as long as `a`.
pub fn subtract(a: &[u32], b: &[u32], out: &mut [u32]) {
    debug_assert!(a.len() >= b.len() && out.len() == a.len());
    let even = b.len() & !1;
    let mut borrow = false;
    for ((x, y), z) in
        a[..even].chunks_exact(2).zip(b[..even].chunks_exact(2)).zip(out[..even].chunks_exact_mut(2))
    {
        let (difference, first) = pair(x).overflowing_sub(pair(y));
        let (difference, second) = difference.overflowing_sub(u64::from(borrow));
        borrow = first | second;
        set_pair(z, difference);
    }
    let mut borrow = u32::from(borrow);
    let mut place = even;
    if even < b.len() {
        let (difference, first) = a[even].overflowing_sub(b[even]);
        let (difference, second) = difference.overflowing_sub(borrow);
        out[even] = difference;
        borrow = u32::from(first | second);
        place += 1;
    }
    while borrow != 0 && place < a.len() {
        let (difference, under) = a[place].overflowing_sub(borrow);
        out[place] = difference;
        borrow = u32::from(under);
        place += 1;
    }
    debug_assert_eq!(borrow, 0);
    out[place..].copy_from_slice(&a[place..]);
}

/// `out = a * by`, where `out` has two words more than `a`.
pub fn multiply_word(a: &[u32], by: u64, out: &mut [u32]) {
    debug_assert!(out.len() == a.len() + 2);
    let even = a.len() & !1;
    let mut carry = 0u64;
    for (x, z) in a[..even].chunks_exact(2).zip(out[..even].chunks_exact_mut(2)) {
        let product = u128::from(pair(x)) * u128::from(by) + u128::from(carry);
        set_pair(z, product as u64);
        carry = (product >> 64) as u64;
    }
    if even < a.len() {
        let product = u128::from(a[even]) * u128::from(by) + u128::from(carry);
        out[even] = product as u32;
        set_pair(&mut out[even + 1..], (product >> 32) as u64);
    } else {
        set_pair(&mut out[even..], carry);
    }
}

/// Shorter factors are multiplied by the schoolbook method, in quadratic time.
pub const SCHOOLBOOK_WORDS: usize = 64;

/// `out = a * b` by the schoolbook method, where `b` has at most [`SCHOOLBOOK_WORDS`] words, and
/// `out` has as many as both and is zero.
pub fn multiply(a: &[u32], b: &[u32], out: &mut [u32]) {
    debug_assert!(b.len() <= SCHOOLBOOK_WORDS && out.len() == a.len() + b.len());
    let even = a.len() & !1;
    let mut start = 0;
    while start < b.len() {
        let wide = start + 1 < b.len();
        let by = if wide { pair(&b[start..]) } else { u64::from(b[start]) };
        let row = &mut out[start..];
        let mut carry = 0u64;
        for (x, z) in a[..even].chunks_exact(2).zip(row[..even].chunks_exact_mut(2)) {
            let sum = u128::from(pair(x)) * u128::from(by) + u128::from(pair(z)) + u128::from(carry);
            set_pair(z, sum as u64);
            carry = (sum >> 64) as u64;
        }
        let mut carry = u128::from(carry);
        if even < a.len() {
            carry += u128::from(a[even]) * u128::from(by);
        }
        for z in &mut row[even..] {
            if carry == 0 {
                break;
            }
            carry += u128::from(*z);
            *z = carry as u32;
            carry >>= 32;
        }
        start += 2;
    }
}

/// A divisor with its reciprocal: Möller and Granlund, "Improved division by invariant
/// integers", 2011.
struct Divisor {
    /// Shifted so that the highest bit is 1.
    value: u64,
    shift: u32,
    reciprocal: u64,
}

impl Divisor {
    fn new(by: u64) -> Divisor {
        let shift = by.leading_zeros();
        let value = by << shift;
        let reciprocal = (u128::MAX / u128::from(value) - (1 << 64)) as u64;
        Divisor { value, shift, reciprocal }
    }

    /// The quotient and the remainder of `high * 2^64 + low`, where `high` is below the divisor.
    #[inline(always)]
    fn divide(&self, high: u64, low: u64) -> (u64, u64) {
        let estimate =
            u128::from(self.reciprocal) * u128::from(high) + (u128::from(high) << 64 | u128::from(low));
        let mut quotient = ((estimate >> 64) as u64).wrapping_add(1);
        let mut rest = low.wrapping_sub(quotient.wrapping_mul(self.value));
        // Either may be, so without a branch.
        let over = u64::from(rest > estimate as u64).wrapping_neg();
        quotient = quotient.wrapping_add(over);
        rest = rest.wrapping_add(over & self.value);
        if rest >= self.value {
            (quotient, rest) = rare(quotient, rest, self.value);
        }
        (quotient, rest)
    }
}

/// `x * 2^shift` as two words; `shift` is below 64.
#[inline(always)]
fn shifted(x: u64, shift: u32) -> (u64, u64) {
    (x >> 1 >> (63 - shift), x << shift)
}

#[cold]
fn rare(quotient: u64, rest: u64, value: u64) -> (u64, u64) {
    (quotient.wrapping_add(1), rest - value)
}

/// From this length on, a division is done in [`CHAINS`] parts at once: each step of a division
/// waits for the one before, and the processor has time for several.
const LONG_WORDS: usize = 512;
const CHAINS: usize = 4;

/// `out = a / by`, rounded down; gives the remainder. `out` is as long as `a`.
pub fn divide_word(a: &[u32], by: u64, out: &mut [u32]) -> u64 {
    debug_assert!(out.len() == a.len() && by != 0);
    let divisor = Divisor::new(by);
    let Ok(small) = u32::try_from(by) else { return divisor.divide_all(0, a, out) };
    if a.len() < LONG_WORDS {
        return divisor.divide_all(0, a, out);
    }
    // The parts, lowest first, have the same even length; the rest on top is divided first.
    let size = a.len() / (2 * CHAINS) * 2;
    let (top, top_out) = (&a[CHAINS * size..], &mut out[CHAINS * size..]);
    let mut above = divisor.divide_all(0, top, top_out);
    let powers = Powers::new(small);
    let scale = powers.power(size);
    // What the parts above leave as remainder comes into each part.
    let mut rests = [0; CHAINS];
    for i in (0..CHAINS).rev() {
        rests[i] = above;
        if i > 0 {
            let part = powers.remainder(&a[i * size..(i + 1) * size]);
            above = (above * scale + part) % by;
        }
    }
    let shift = divisor.shift;
    let [mut p, mut q, mut r, mut s] = rests.map(|rest| rest << shift);
    let parts: [&[u32]; CHAINS] = std::array::from_fn(|i| &a[i * size..(i + 1) * size]);
    let (low, high) = out[..CHAINS * size].split_at_mut(2 * size);
    let ((w, x), (y, z)) = (low.split_at_mut(size), high.split_at_mut(size));
    let mut place = size;
    while place >= 2 {
        place -= 2;
        let step = |rest: u64, i: usize| {
            let (high, low) = shifted(pair(&parts[i][place..place + 2]), shift);
            divisor.divide(rest | high, low)
        };
        let quotients;
        (quotients, [p, q, r, s]) = {
            let (a, b, c, d) = (step(p, 0), step(q, 1), step(r, 2), step(s, 3));
            ([a.0, b.0, c.0, d.0], [a.1, b.1, c.1, d.1])
        };
        set_pair(&mut w[place..place + 2], quotients[0]);
        set_pair(&mut x[place..place + 2], quotients[1]);
        set_pair(&mut y[place..place + 2], quotients[2]);
        set_pair(&mut z[place..place + 2], quotients[3]);
    }
    p >> shift
}

/// `a` modulo `by`.
pub fn remainder_word(a: &[u32], by: u64) -> u64 {
    match u32::try_from(by) {
        Ok(small) if a.len() >= LONG_WORDS => Powers::new(small).remainder(a),
        _ => Divisor::new(by).remainder(a),
    }
}

impl Divisor {
    /// Divides `above * 2^(32 n) + a`, where `n` is the length of `a` and `above` is below the
    /// divisor; gives the remainder.
    fn divide_all(&self, above: u64, a: &[u32], out: &mut [u32]) -> u64 {
        let shift = self.shift;
        // The dividend is shifted like the divisor, word by word, and so is the remainder.
        let mut rest = above << shift;
        let even = a.len() & !1;
        if even < a.len() {
            debug_assert_eq!(above, 0);
            let (high, low) = shifted(a[even].into(), shift);
            let (quotient, r) = self.divide(high, low);
            out[even] = quotient as u32;
            rest = r;
        }
        for (x, z) in a[..even].chunks_exact(2).rev().zip(out[..even].chunks_exact_mut(2).rev()) {
            let (high, low) = shifted(pair(x), shift);
            let (quotient, r) = self.divide(rest | high, low);
            set_pair(z, quotient);
            rest = r;
        }
        rest >> shift
    }

    fn remainder(&self, a: &[u32]) -> u64 {
        let shift = self.shift;
        let mut rest = 0u64;
        let even = a.len() & !1;
        if even < a.len() {
            let (high, low) = shifted(a[even].into(), shift);
            rest = self.divide(high, low).1;
        }
        for x in a[..even].chunks_exact(2).rev() {
            let (high, low) = shifted(pair(x), shift);
            rest = self.divide(rest | high, low).1;
        }
        rest >> shift
    }
}

/// The powers `2^(32 i)` modulo a small number: the remainder of a block of words is a sum of
/// products that do not wait for each other.
struct Powers {
    by: u64,
    powers: [u32; Powers::BLOCK],
    /// `2^(32 BLOCK)`
    block: u64,
}

impl Powers {
    const BLOCK: usize = 32;

    fn new(by: u32) -> Powers {
        let by = u64::from(by);
        let mut powers = [0; Powers::BLOCK];
        let mut power = 1 % by;
        for place in &mut powers {
            *place = power as u32;
            power = (power << 32) % by;
        }
        Powers { by, powers, block: power }
    }

    /// `2^(32 exponent)`
    fn power(&self, exponent: usize) -> u64 {
        let mut power = u64::from(self.powers[exponent % Powers::BLOCK]);
        let (mut square, mut e) = (self.block, exponent / Powers::BLOCK);
        while e > 0 {
            if e & 1 != 0 {
                power = power * square % self.by;
            }
            square = square * square % self.by;
            e >>= 1;
        }
        power
    }

    fn remainder(&self, a: &[u32]) -> u64 {
        let (blocks, top) = a.split_at(a.len() - a.len() % Powers::BLOCK);
        let mut rest = self.sum(top, 0);
        for block in blocks.chunks_exact(Powers::BLOCK).rev() {
            rest = self.sum(block, rest * self.block);
        }
        rest
    }

    /// One block, and `more` on top of it.
    #[inline(always)]
    fn sum(&self, words: &[u32], more: u64) -> u64 {
        let (mut low, mut high) = (0u64, 0u64);
        for (&word, &power) in words.iter().zip(&self.powers) {
            let product = u64::from(word) * u64::from(power);
            low += product & 0xFFFF_FFFF;
            high += product >> 32;
        }
        // Both sums are below 2^37, and `more` is below 2^64.
        let high = ((high % self.by) << 32) % self.by;
        (more % self.by + low + high) % self.by
    }
}

/// The greatest common divisor of two words.
pub fn gcd_words(mut a: u64, mut b: u64) -> u64 {
    if a == 0 || b == 0 {
        return a | b;
    }
    let shift = (a | b).trailing_zeros();
    a >>= a.trailing_zeros();
    loop {
        b >>= b.trailing_zeros();
        if a > b {
            std::mem::swap(&mut a, &mut b);
        }
        b -= a;
        if b == 0 {
            return a << shift;
        }
    }
}

/// The greatest common divisor, by Lehmer's algorithm: quotients are guessed from the leading
/// 64 bits, and the guesses of many steps are applied to the whole numbers at once.
pub fn gcd(a: &BigUint, b: &BigUint, cancel: &Cancel) -> BigUint {
    let (mut a, mut b) =
        if a >= b { (a.to_u64_digits(), b.to_u64_digits()) } else { (b.to_u64_digits(), a.to_u64_digits()) };
    while b.len() > 1 {
        large::look(cancel);
        if a.len() - b.len() > 1 {
            (a, b) = divide_step(a, b, cancel);
            continue;
        }
        let (s, t, u, v) = lehmer_steps(&a, &b);
        if t == 0 {
            (a, b) = divide_step(a, b, cancel);
            continue;
        }
        apply(&mut a, &mut b, [s, t, u, v]);
    }
    let result = match (a.as_slice(), b.first()) {
        (_, None) => return from_u64(&a),
        (long, Some(&word)) => {
            let rest =
                long.iter().rev().fold(0u128, |rest, &x| (rest << 64 | u128::from(x)) % u128::from(word));
            gcd_words(word, rest as u64)
        }
    };
    BigUint::from(result)
}

fn from_u64(words: &[u64]) -> BigUint {
    BigUint::new(words.iter().flat_map(|&w| [w as u32, (w >> 32) as u32]).collect())
}

fn divide_step(a: Vec<u64>, b: Vec<u64>, cancel: &Cancel) -> (Vec<u64>, Vec<u64>) {
    let (_, rest) = large::divide(&from_u64(&a), &from_u64(&b), cancel);
    (b, rest.to_u64_digits())
}

/// The matrix of as many Euclidean steps as the leading bits decide, for `a >= b`: the new
/// numbers are `|s a - t b|` and `|v b - u a|`; `t` is 0 if no step is certain.
fn lehmer_steps(a: &[u64], b: &[u64]) -> (u64, u64, u64, u64) {
    let n = a.len();
    let shift = a[n - 1].leading_zeros();
    let leading = |x: &[u64]| {
        let at = |i: usize| x.get(i).copied().unwrap_or(0);
        if shift == 0 { at(n - 1) } else { at(n - 1) << shift | at(n - 2) >> (64 - shift) }
    };
    // One bit of room for the additions below.
    let (mut x, mut y) = (leading(a) >> 1, leading(b) >> 1);
    // Cofactors of alternating sign; Collins' condition keeps the quotients certain.
    let (mut s, mut t, mut u, mut v) = (1u64, 0u64, 0u64, 1u64);
    let mut even = true;
    const BOUND: u64 = 1 << 31;
    loop {
        if y == 0 {
            break;
        }
        let q = x / y;
        if q >= BOUND {
            break;
        }
        let r = x - q * y;
        // The next row of cofactors.
        let (nu, nv) = (q * u + s, q * v + t);
        if nu >= BOUND || nv >= BOUND {
            break;
        }
        let certain = if even { r >= nv && y - r >= nu + u } else { r >= nu && y - r >= nv + v };
        if !certain {
            break;
        }
        (x, y) = (y, r);
        (s, t, u, v) = (u, v, nu, nv);
        even = !even;
    }
    (s, t, u, v)
}

/// Replaces `a` by `|s a - t b|` and `b` by `|v b - u a|`.
fn apply(a: &mut Vec<u64>, b: &mut Vec<u64>, [s, t, u, v]: [u64; 4]) {
    b.resize(a.len(), 0);
    let (mut first, mut second) = (0i128, 0i128);
    // Cofactors are below 2^31 and words below 2^64, so differences fit in 96 bits.
    for (x, y) in a.iter_mut().zip(b.iter_mut()) {
        let (p, q) = (u128::from(*x), u128::from(*y));
        first += (p * u128::from(s)) as i128 - (q * u128::from(t)) as i128;
        second += (q * u128::from(v)) as i128 - (p * u128::from(u)) as i128;
        *x = first as u64;
        *y = second as u64;
        first >>= 64;
        second >>= 64;
    }
    for (number, carry) in [(a, first), (b, second)] {
        if carry < 0 {
            let mut one = true;
            for x in number.iter_mut() {
                let (negated, over) = (!*x).overflowing_add(u64::from(one));
                *x = negated;
                one = over;
            }
        }
        while number.last() == Some(&0) {
            number.pop();
        }
    }
}

/// `base ^ exponent` modulo `modulus`, which is more than 1.
pub fn power_modulo(base: &BigUint, exponent: &BigUint, modulus: &BigUint) -> BigUint {
    let zeros = modulus.trailing_zeros().expect("not 0");
    if zeros == 0 {
        return power_odd(base, exponent, modulus);
    }
    // modulus = odd * 2^zeros: the Chinese remainder theorem puts both parts together.
    let odd = modulus >> zeros;
    let low = power_two(base, exponent, zeros);
    if odd == BigUint::from(1u32) {
        return low;
    }
    let high = power_odd(base, exponent, &odd);
    // high + odd * ((low - high) / odd mod 2^zeros)
    let mask = (BigUint::from(1u32) << zeros) - 1u32;
    let inverse = inverse_modulo_two(&odd, zeros);
    let difference = ((&low + &mask + 1u32) - (&high & &mask)) & &mask;
    let factor = (difference * inverse) & &mask;
    high + odd * factor
}

/// `base ^ exponent` modulo `2^bits`.
fn power_two(base: &BigUint, exponent: &BigUint, bits: u64) -> BigUint {
    let one = BigUint::from(1u32);
    let mask = (&one << bits) - 1u32;
    let even = base.trailing_zeros().is_none_or(|zeros| zeros > 0);
    if even && *exponent >= BigUint::from(bits) {
        return BigUint::ZERO;
    }
    if bits <= 64 {
        // The order of an odd number divides 2^62, so the exponent's low bits decide.
        let mut e = exponent.iter_u64_digits().next().unwrap_or(0);
        let mut square = base.iter_u64_digits().next().unwrap_or(0);
        let mut result = 1u64;
        while e != 0 {
            if e & 1 != 0 {
                result = result.wrapping_mul(square);
            }
            square = square.wrapping_mul(square);
            e >>= 1;
        }
        return BigUint::from(result) & mask;
    }
    let mut result = one;
    for i in (0..exponent.bits()).rev() {
        result = (&result * &result) & &mask;
        if exponent.bit(i) {
            result = (result * base) & &mask;
        }
    }
    result
}

/// The inverse of an odd number modulo `2^bits`, by Newton's iteration.
fn inverse_modulo_two(odd: &BigUint, bits: u64) -> BigUint {
    let one = BigUint::from(1u32);
    let mut inverse = one.clone();
    let mut known = 1;
    while known < bits {
        known = (2 * known).min(bits);
        let mask = (&one << known) - 1u32;
        let product = ((odd & &mask) * &inverse) & &mask;
        // inverse * (2 - product)
        let two = (&mask + 3u32 - product) & &mask;
        inverse = (inverse * two) & &mask;
    }
    inverse
}

fn power_odd(base: &BigUint, exponent: &BigUint, modulus: &BigUint) -> BigUint {
    let base = base % modulus;
    match modulus.bits().div_ceil(64) {
        1 => montgomery::<1>(&base, exponent, modulus),
        2 => montgomery::<2>(&base, exponent, modulus),
        3 => montgomery::<3>(&base, exponent, modulus),
        4 => montgomery::<4>(&base, exponent, modulus),
        5 => montgomery::<5>(&base, exponent, modulus),
        6 => montgomery::<6>(&base, exponent, modulus),
        7..=8 => montgomery::<8>(&base, exponent, modulus),
        9..=12 => montgomery::<12>(&base, exponent, modulus),
        13..=16 => montgomery::<16>(&base, exponent, modulus),
        17..=32 => montgomery::<32>(&base, exponent, modulus),
        33..=64 => montgomery::<64>(&base, exponent, modulus),
        _ => base.modpow(exponent, modulus),
    }
}

/// Exponentiation with numbers of a fixed size, by windows of the exponent.
fn montgomery<const N: usize>(base: &BigUint, exponent: &BigUint, modulus: &BigUint) -> BigUint {
    let words = |n: &BigUint| {
        let mut words = [0u64; N];
        for (place, digit) in words.iter_mut().zip(n.iter_u64_digits()) {
            *place = digit;
        }
        words
    };
    let m = words(modulus);
    // -1 / m modulo 2^64
    let mut inverse = m[0];
    for _ in 0..6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(m[0].wrapping_mul(inverse)));
    }
    let inverse = inverse.wrapping_neg();
    let shifted = |n: &BigUint| words(&((n << (64 * N)) % modulus));
    let bits = exponent.bits();
    let one = shifted(&BigUint::from(1u32));
    let result = if *base == BigUint::from(2u32) {
        // Doubling is cheaper than any table.
        let mut result = one;
        for i in (0..bits).rev() {
            result = montgomery_multiply(&result, &result, &m, inverse);
            if exponent.bit(i) {
                double(&mut result, &m);
            }
        }
        result
    } else {
        let window: u64 = if bits < 24 {
            1
        } else if bits < 80 {
            3
        } else {
            4
        };
        let mut powers = vec![one, shifted(base)];
        for i in 2..1 << window {
            powers.push(montgomery_multiply(&powers[i - 1], &powers[1], &m, inverse));
        }
        let mut result = one;
        for place in (0..bits.div_ceil(window)).rev() {
            for _ in 0..window {
                result = montgomery_multiply(&result, &result, &m, inverse);
            }
            let digit = (0..window).fold(0, |d, i| d | usize::from(exponent.bit(place * window + i)) << i);
            if digit != 0 {
                result = montgomery_multiply(&result, &powers[digit], &m, inverse);
            }
        }
        result
    };
    let mut plain = [0; N];
    plain[0] = 1;
    from_u64(&montgomery_multiply(&result, &plain, &m, inverse))
}

/// `a * b / 2^(64 N)` modulo `m`: one pass of multiplication and reduction for each word.
#[inline(always)]
fn montgomery_multiply<const N: usize>(a: &[u64; N], b: &[u64; N], m: &[u64; N], inverse: u64) -> [u64; N] {
    let mut sum = [0u64; N];
    let mut top = 0u64;
    for &x in a {
        let (mut low, mut high) = (0u64, 0u64);
        let first = u128::from(x) * u128::from(b[0]) + u128::from(sum[0]);
        let factor = (first as u64).wrapping_mul(inverse);
        let reduced = u128::from(factor) * u128::from(m[0]) + u128::from(first as u64);
        low += (first >> 64) as u64;
        high += (reduced >> 64) as u64;
        for i in 1..N {
            let product = u128::from(x) * u128::from(b[i]) + u128::from(sum[i]) + u128::from(low);
            low = (product >> 64) as u64;
            let reduced =
                u128::from(factor) * u128::from(m[i]) + u128::from(product as u64) + u128::from(high);
            sum[i - 1] = reduced as u64;
            high = (reduced >> 64) as u64;
        }
        let last = u128::from(top) + u128::from(low) + u128::from(high);
        sum[N - 1] = last as u64;
        top = (last >> 64) as u64;
    }
    reduce_once(&mut sum, top, m);
    sum
}

#[inline(always)]
fn double<const N: usize>(a: &mut [u64; N], m: &[u64; N]) {
    let mut top = 0;
    for x in a.iter_mut() {
        let next = *x >> 63;
        *x = *x << 1 | top;
        top = next;
    }
    reduce_once(a, top, m);
}

/// Subtracts `m` from a number below `2 m`, if it is not below `m`.
#[inline(always)]
fn reduce_once<const N: usize>(a: &mut [u64; N], top: u64, m: &[u64; N]) {
    let mut difference = [0; N];
    let mut borrow = false;
    for i in 0..N {
        let (d, first) = a[i].overflowing_sub(m[i]);
        let (d, second) = d.overflowing_sub(u64::from(borrow));
        difference[i] = d;
        borrow = first | second;
    }
    if top != 0 || !borrow {
        *a = difference;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_integer::Integer as _;

    /// Numbers of many lengths, among them the awkward ones.
    fn numbers() -> Vec<BigUint> {
        let mut state = 0x9E37_79B9_7F4A_7C15u64;
        let mut word = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            match state % 5 {
                0 => 0,
                1 => u32::MAX,
                _ => (state >> 32) as u32,
            }
        };
        (0..40).map(|n| BigUint::new((0..n * n / 16).map(|_| word()).collect())).collect()
    }

    fn big(words: &[u32]) -> BigUint {
        BigUint::new(words.to_vec())
    }

    #[test]
    fn agrees_with_num_bigint() {
        let numbers = numbers();
        for x in &numbers {
            let a = x.to_u32_digits();
            for by in [1, 2, 10, 0xFFFF_FFFF, 1 << 32, 0x1234_5678_9ABC_DEF1, 1 << 63, u64::MAX] {
                let mut out = vec![0; a.len() + 2];
                multiply_word(&a, by, &mut out);
                assert_eq!(big(&out), x * by);
                let mut out = vec![0; a.len()];
                let rest = divide_word(&a, by, &mut out);
                assert_eq!((big(&out), BigUint::from(rest)), x.div_rem(&by.into()));
                assert_eq!(remainder_word(&a, by), rest);
            }
            // Long enough for division in parts.
            let long = (x + 1u32) << (32 * (LONG_WORDS + a.len() % 11));
            let long = &long * &long / 7u32 + x;
            let digits = long.to_u32_digits();
            for by in [1, 2, 10, 0x7FFF_FFFF, 0xFFFF_FFFE, 0xFFFF_FFFF, 1 << 32] {
                let mut out = vec![0; digits.len()];
                let rest = divide_word(&digits, by, &mut out);
                assert_eq!((big(&out), BigUint::from(rest)), long.div_rem(&by.into()));
                assert_eq!(remainder_word(&digits, by), rest);
            }
            for y in &numbers {
                let b = y.to_u32_digits();
                assert_eq!(compare(&a, &b), x.cmp(y));
                assert_eq!(gcd(x, y, &Cancel::default()), x.gcd(y));
                if a.len() >= b.len() {
                    let mut out = vec![0; a.len() + 1];
                    add(&a, &b, &mut out);
                    assert_eq!(big(&out), x + y);
                    if b.len() <= SCHOOLBOOK_WORDS {
                        let mut out = vec![0; a.len() + b.len()];
                        multiply(&a, &b, &mut out);
                        assert_eq!(big(&out), x * y);
                    }
                }
                if x >= y {
                    let mut out = vec![0; a.len()];
                    subtract(&a, &b, &mut out);
                    assert_eq!(big(&out), x - y);
                }
            }
        }
    }

    #[test]
    fn powers_agree_with_num_bigint() {
        let numbers = numbers();
        let (two, three) = (BigUint::from(2u32), BigUint::from(3u32));
        for modulus in numbers.iter().filter(|m| **m > BigUint::from(1u32)) {
            let bits = modulus.bits();
            let mut moduli = vec![modulus.clone(), modulus | BigUint::from(1u32)];
            moduli.extend([3, 64, 70, 200].map(|shift| modulus << shift));
            moduli.push(BigUint::from(1u32) << bits);
            for m in moduli {
                for base in [&two, &three, &numbers[12], &numbers[20]] {
                    for exponent in [&numbers[0], &three, &numbers[9], &numbers[13]] {
                        assert_eq!(power_modulo(base, exponent, &m), base.modpow(exponent, &m));
                    }
                }
            }
        }
    }

    #[test]
    fn divisors_of_multiples() {
        let numbers = numbers();
        for triple in numbers.windows(3) {
            let (x, y) = (&triple[0] * &triple[2], &triple[1] * &triple[2]);
            assert_eq!(gcd(&x, &y, &Cancel::default()), x.gcd(&y));
        }
        for (a, b) in [(0, 0), (0, 5), (12, 18), (u64::MAX, 3), (1 << 63, 1 << 40)] {
            assert_eq!(gcd_words(a, b), a.gcd(&b));
        }
    }
}
