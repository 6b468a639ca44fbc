//! Natural numbers and integers: the operators with hooks `ACU_NumberOpSymbol`,
//! `CUI_NumberOpSymbol`, `NumberOpSymbol` and `MinusSymbol`.
//!
//! Operators that only know naturals (no hook to the minus operator) do not evaluate on negative
//! numbers. Division truncates, right shifts and bit operations work on two's complement.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_integer::Integer as _;
use num_traits::Signed;

use super::arithmetic::{self, Number};
use super::integer::Integer;
use super::{Cx, Truth};
use crate::term::{Term, large, limbs};

/// Larger exponents and left shifts are not evaluated.
const EXPONENT_MAX: u64 = 1_000_000;

/// Results with more bits than this would not fit on the heap (Maude dies of them), so the term
/// stays as it is.
pub(super) const RESULT_BITS_MAX: u64 = 1 << 32;

/// While a number is computed there are about so many of its size.
pub(super) const WORK: usize = 3;

/// Longer exponents, for longer moduli, take long: their bits and twice the bits of the modulus, as powers of two.
const POWER_MODULO_BITS: u64 = 42;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NumberOp {
    // Associative and commutative.
    Add,
    Mul,
    Gcd,
    Lcm,
    Min,
    Max,
    Xor,
    And,
    Or,
    // Of one argument.
    Neg,
    Not,
    Abs,
    // Of two.
    Sub,
    Quo,
    Rem,
    Pow,
    Shl,
    Shr,
    // Of three.
    ModExp,
    // Tests of two.
    Lt,
    Le,
    Gt,
    Ge,
    Divides,
}

use NumberOp::*;

impl NumberOp {
    /// The operation of an `ACU_NumberOpSymbol`.
    pub fn fold(data: &str) -> Option<NumberOp> {
        Some(match data {
            "+" => Add,
            "*" => Mul,
            "gcd" => Gcd,
            "lcm" => Lcm,
            "min" => Min,
            "max" => Max,
            "xor" => Xor,
            "&" => And,
            "|" => Or,
            _ => return None,
        })
    }

    /// The operation of a `NumberOpSymbol`.
    pub fn free(data: &str, arity: usize) -> Option<NumberOp> {
        Some(match (arity, data) {
            (1, "-") => Neg,
            (1, "~") => Not,
            (1, "abs") => Abs,
            (2, "-") => Sub,
            (2, "quo") => Quo,
            (2, "rem") => Rem,
            (2, "^") => Pow,
            (2, "<<") => Shl,
            (2, ">>") => Shr,
            (2, "<") => Lt,
            (2, "<=") => Le,
            (2, ">") => Gt,
            (2, ">=") => Ge,
            (2, "divides") => Divides,
            (3, "modExp") => ModExp,
            (2, _) => return NumberOp::fold(data),
            _ => return None,
        })
    }

    pub fn is_relation(self) -> bool {
        matches!(self, Lt | Le | Gt | Ge | Divides)
    }
}

/// An operation on two small naturals that compiled code does itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fast {
    Add,
    Mul,
    SymmetricDifference,
    /// Only where the module has negative numbers, see [`Fast::number`].
    Sub,
    Quo,
    Rem,
    Gcd,
    Lcm,
    Min,
    Max,
    Xor,
    And,
    Or,
    Shr,
    Lt,
    Le,
    Gt,
    Ge,
    Divides,
}

impl Fast {
    pub(super) fn of(op: NumberOp) -> Option<Fast> {
        Some(match op {
            Add => Fast::Add,
            Mul => Fast::Mul,
            Gcd => Fast::Gcd,
            Lcm => Fast::Lcm,
            Min => Fast::Min,
            Max => Fast::Max,
            Xor => Fast::Xor,
            And => Fast::And,
            Or => Fast::Or,
            Sub => Fast::Sub,
            Quo => Fast::Quo,
            Rem => Fast::Rem,
            Shr => Fast::Shr,
            Lt => Fast::Lt,
            Le => Fast::Le,
            Gt => Fast::Gt,
            Ge => Fast::Ge,
            Divides => Fast::Divides,
            Neg | Not | Abs | Pow | Shl | ModExp => return None,
        })
    }

    /// The natural that comes out, if one does: not for tests, zero divisors, negative differences,
    /// and what is no word. It may be too large for an immediate term.
    #[inline(always)]
    pub fn number(self, x: u64, y: u64) -> Option<u64> {
        Some(match self {
            Fast::Add => return x.checked_add(y),
            Fast::Mul => return x.checked_mul(y),
            Fast::SymmetricDifference => x.abs_diff(y),
            Fast::Sub => return x.checked_sub(y),
            Fast::Quo => return x.checked_div(y),
            Fast::Rem => return x.checked_rem(y),
            Fast::Gcd => x.gcd(&y),
            Fast::Lcm if y == 0 => 0,
            Fast::Lcm => return (x / x.gcd(&y)).checked_mul(y),
            Fast::Min => x.min(y),
            Fast::Max => x.max(y),
            Fast::Xor => x ^ y,
            Fast::And => x & y,
            Fast::Or => x | y,
            Fast::Shr => u32::try_from(y).ok().and_then(|y| x.checked_shr(y)).unwrap_or(0),
            Fast::Lt | Fast::Le | Fast::Gt | Fast::Ge | Fast::Divides => return None,
        })
    }

    /// The answer of a test; `None` for other operations and for `0 divides b`.
    #[inline(always)]
    pub fn test(self, a: u32, b: u32) -> Option<bool> {
        match self {
            Fast::Lt => Some(a < b),
            Fast::Le => Some(a <= b),
            Fast::Gt => Some(a > b),
            Fast::Ge => Some(a >= b),
            Fast::Divides => b.checked_rem(a).map(|rest| rest == 0),
            _ => None,
        }
    }
}

/// The operation on two numbers, where it is a common one.
#[inline]
pub(super) fn pair(cx: &mut Cx, op: NumberOp, signed: bool, a: Term, b: Term) -> Option<Term> {
    if op == Sub && !signed {
        return None;
    }
    if let Some(x) = cx.heap.nat_word(cx.sy, a)
        && let Some(y) = cx.heap.nat_word(cx.sy, b)
        && let Some(result) = Fast::of(op).and_then(|op| op.number(x, y))
    {
        return Some(cx.heap.nat_u64(cx.sy, result));
    }
    let a = Number::read(cx.heap, cx.sy, a, signed)?;
    let b = Number::read(cx.heap, cx.sy, b, signed)?;
    arithmetic::binary(cx, op, a, b)
}

/// An associative-commutative operator over arguments that may be multisets themselves.
pub(super) fn fold_args(cx: &mut Cx, sym: u32, op: NumberOp, signed: bool, args: &[Term]) -> Option<Term> {
    if let [a, b] = *args
        && a.is_small()
        && b.is_small()
    {
        let result = Fast::of(op)?.number(a.payload().into(), b.payload().into())?;
        return Some(cx.heap.nat_u64(cx.sy, result));
    }
    if let [a, b] = *args
        && let Some(result) = pair(cx, op, signed, a, b)
    {
        return Some(result);
    }
    let mut pairs = Vec::with_capacity(args.len());
    for &arg in args {
        cx.heap.pairs(cx.sy, sym, arg, &mut pairs);
    }
    // The order does not matter for the numbers, and `fold` sorts the rest.
    fold(cx, sym, op, signed, &pairs)
}

/// Makes one number of the numbers among the arguments, if there are at least two (counted with
/// multiplicity), and keeps the other arguments.
pub(super) fn fold(cx: &mut Cx, sym: u32, op: NumberOp, signed: bool, pairs: &[(Term, u32)]) -> Option<Term> {
    let two = match *pairs {
        [(a, 1), (b, 1)] => Some((a, b)),
        [(a, 2)] => Some((a, a)),
        _ => None,
    };
    if let Some((a, b)) = two
        && let Some(result) = pair(cx, op, signed, a, b)
    {
        return Some(result);
    }
    let is_number = |t: Term| Integer::is_integer(cx.heap, cx.sy, t, signed);
    let count: u64 = pairs.iter().filter(|p| is_number(p.0)).map(|p| u64::from(p.1)).sum();
    if count < 2 {
        return None;
    }
    let mut total: Option<Integer> = None;
    let mut rest = Vec::new();
    for &(term, multiplicity) in pairs {
        let Some(n) = Integer::read(cx.heap, cx.sy, term, signed) else {
            rest.push((term, multiplicity));
            continue;
        };
        let repeated = repeat(cx, op, &n, multiplicity)?;
        total = Some(match total {
            None => repeated,
            Some(total) => binary(cx, op, &total, &repeated)?,
        });
    }
    let number = total?.write(cx.heap, cx.sy)?;
    if rest.is_empty() {
        return Some(number);
    }
    let identity = cx.sy.info[sym as usize].identity.map(|identity| cx.heap.consts[identity.constant]);
    if !identity.is_some_and(|e| cx.heap.equal(cx.sy, e, number)) {
        rest.push((number, 1));
    }
    cx.heap.normalize_pairs(cx.sy, &mut rest);
    Some(cx.heap.bag(cx.sy, sym, &rest))
}

/// `n op n op ... op n`, `times` times.
fn repeat(cx: &Cx, op: NumberOp, n: &Integer, times: u32) -> Option<Integer> {
    match op {
        _ if times == 1 => Some(n.clone()),
        Add => binary(cx, Mul, n, &Integer::Small(times.into())),
        Mul => has_room(cx, n.bits().saturating_mul(times.into())).then(|| n.power(times, cx.cancel)),
        Xor if times.is_multiple_of(2) => Some(Integer::Small(0)),
        Gcd | Lcm => binary(cx, op, n, n),
        _ => Some(n.clone()),
    }
}

/// `sd`: of two naturals.
pub(super) fn difference(cx: &mut Cx, args: &[Term]) -> Option<Term> {
    let [a, b] = *args else { return None };
    if a.is_small() && b.is_small() {
        return Some(Term::small(a.payload().abs_diff(b.payload())));
    }
    let a = cx.heap.magnitude(cx.sy, a)?;
    let b = cx.heap.magnitude(cx.sy, b)?;
    Some(arithmetic::difference(cx, a, b))
}

/// A number from numbers.
pub(super) fn compute(cx: &mut Cx, op: NumberOp, signed: bool, args: &[Term]) -> Option<Term> {
    if let [a, b] = *args
        && a.is_small()
        && b.is_small()
        && let Some(fast) = Fast::of(op)
        && (op != Sub || signed)
        && let Some(result) = fast.number(a.payload().into(), b.payload().into())
    {
        return Some(cx.heap.nat_u64(cx.sy, result));
    }
    if let [a, b] = *args
        && let Some(result) = pair(cx, op, signed, a, b)
    {
        return Some(result);
    }
    if let ([a], Neg | Abs) = (args, op) {
        // `- 5` is a normal form; negative numbers and 0 are not.
        let n = Number::read(cx.heap, cx.sy, *a, signed)?;
        return match n.negative {
            true => Some(cx.heap.arg(*a, 0)),
            false => (op == Abs || *a == Term::small(0)).then_some(*a),
        };
    }
    let read = |t: Term| Integer::read(cx.heap, cx.sy, t, signed);
    let result = match *args {
        [a] => unary(cx, op, &read(a)?, signed)?,
        [a, b] => {
            let (a, b) = (read(a)?, read(b)?);
            if op == Sub && !signed {
                return None;
            }
            binary(cx, op, &a, &b)?
        }
        [a, b, c] if op == ModExp => mod_exp(cx, &read(a)?, &read(b)?, &read(c)?)?,
        _ => return None,
    };
    result.write(cx.heap, cx.sy)
}

/// A truth value from two numbers.
pub(super) fn relate(cx: &mut Cx, op: NumberOp, signed: bool, truth: Truth, args: &[Term]) -> Option<Term> {
    let [a, b] = *args else { return None };
    if a.is_small() && b.is_small() {
        return Fast::of(op)?.test(a.payload(), b.payload()).map(|holds| truth.of(holds));
    }
    if op == Divides {
        let rest = pair(cx, Rem, signed, b, a)?;
        return Some(truth.of(rest == Term::small(0)));
    }
    let a = Number::read(cx.heap, cx.sy, a, signed)?;
    let b = Number::read(cx.heap, cx.sy, b, signed)?;
    let order = || arithmetic::compare(cx.heap, a, b);
    Some(truth.of(match op {
        Lt => order() == Ordering::Less,
        Le => order() != Ordering::Greater,
        Gt => order() == Ordering::Greater,
        Ge => order() != Ordering::Less,
        _ => return None,
    }))
}

fn unary(cx: &Cx, op: NumberOp, a: &Integer, signed: bool) -> Option<Integer> {
    match op {
        Not => signed.then(|| binary(cx, Sub, &a.negate(), &Integer::Small(1)))?,
        _ => None,
    }
}

/// Can a number of so many bits be computed? Ends the work if there is no memory for it.
fn has_room(cx: &Cx, bits: u64) -> bool {
    if bits > RESULT_BITS_MAX {
        return false;
    }
    cx.heap.demand(WORK * (bits / 32) as usize);
    true
}

fn binary(cx: &Cx, op: NumberOp, a: &Integer, b: &Integer) -> Option<Integer> {
    let divide = |a: &BigInt, b: &BigInt| large::divide(a.magnitude(), b.magnitude(), cx.cancel);
    let multiply = |a: &BigInt, b: &BigInt| {
        let product = large::multiply(a.magnitude(), b.magnitude(), cx.cancel);
        BigInt::from_biguint(a.sign() * b.sign(), product)
    };
    let gcd = |a: &BigInt, b: &BigInt| limbs::gcd(a.magnitude(), b.magnitude(), cx.cancel).into();
    Some(match op {
        Add => a.combine(b, |a, b| a + b, |a, b| a + b),
        Sub => a.combine(b, |a, b| a - b, |a, b| a - b),
        Mul if !has_room(cx, a.bits() + b.bits()) => return None,
        Mul => a.combine(b, |a, b| a * b, multiply),
        Gcd => a.combine(b, |a, b| a.gcd(&b), gcd),
        Lcm if a.is_zero() || b.is_zero() => Integer::Small(0),
        Lcm => a.combine(
            b,
            |a, b| a.lcm(&b),
            |a, b| {
                let common: BigInt = gcd(a, b);
                multiply(&divide(a, &common).0.into(), &b.abs())
            },
        ),
        Min => if a.compare(b) == Ordering::Greater { b } else { a }.clone(),
        Max => if a.compare(b) == Ordering::Less { b } else { a }.clone(),
        Xor => a.combine(b, |a, b| a ^ b, |a, b| a ^ b),
        And => a.combine(b, |a, b| a & b, |a, b| a & b),
        Or => a.combine(b, |a, b| a | b, |a, b| a | b),
        Quo if !b.is_zero() => {
            let quotient = |a: &BigInt, b: &BigInt| BigInt::from_biguint(a.sign() * b.sign(), divide(a, b).0);
            a.combine(b, |a, b| a / b, quotient)
        }
        Rem if !b.is_zero() => {
            let rest = |a: &BigInt, b: &BigInt| BigInt::from_biguint(a.sign(), divide(a, b).1);
            a.combine(b, |a, b| a % b, rest)
        }
        Pow if !b.is_negative() => power(cx, a, b)?,
        Shl if !b.is_negative() => shift_left(cx, a, b)?,
        Shr if !b.is_negative() => shift_right(a, b),
        _ => return None,
    })
}

fn power(cx: &Cx, base: &Integer, exponent: &Integer) -> Option<Integer> {
    match exponent.to_u64() {
        Some(e @ 0..=EXPONENT_MAX) => has_room(cx, base.bits() * e).then(|| base.power(e as u32, cx.cancel)),
        // Only where the exponent's size makes no difference.
        _ => match base {
            Integer::Small(0 | 1) => Some(base.clone()),
            Integer::Small(-1) => Some(Integer::Small(if exponent.is_odd() { -1 } else { 1 })),
            _ => None,
        },
    }
}

fn shift_left(cx: &Cx, a: &Integer, by: &Integer) -> Option<Integer> {
    match by.to_u64() {
        Some(by @ 0..=EXPONENT_MAX) => Some(match a {
            Integer::Small(a) if by < 64 => Integer::from(i128::from(*a) << by),
            _ if !has_room(cx, a.bits() + by) => return None,
            _ => Integer::from(a.to_big() << by),
        }),
        _ => a.is_zero().then(|| a.clone()),
    }
}

fn shift_right(a: &Integer, by: &Integer) -> Integer {
    match by.to_u64() {
        Some(by) if by <= a.bits() => match a {
            Integer::Small(a) => Integer::Small(if by < 64 { a >> by } else { a >> 63 }),
            Integer::Big(a) => Integer::from(a >> by),
        },
        _ => Integer::Small(if a.is_negative() { -1 } else { 0 }),
    }
}

/// `base ^ exponent` modulo `modulus`, all natural. Maude dies of modulus 0; here the term stays.
fn mod_exp(cx: &Cx, base: &Integer, exponent: &Integer, modulus: &Integer) -> Option<Integer> {
    if base.is_negative() || exponent.is_negative() || modulus.is_negative() || modulus.is_zero() {
        return None;
    }
    if *modulus == Integer::Small(1) {
        return Some(Integer::Small(0));
    }
    if let (Integer::Small(m), Some(mut e)) = (modulus, exponent.to_u64()) {
        let reduced = binary(cx, Rem, base, modulus)?.to_u64().expect("below the modulus");
        let (m, mut square, mut result) = (*m as u64, reduced, 1);
        let times = |a: u64, b: u64| match m >> 32 {
            0 => a * b % m,
            _ => (u128::from(a) * u128::from(b) % u128::from(m)) as u64,
        };
        while e > 0 {
            if e & 1 != 0 {
                result = times(result, square);
            }
            square = times(square, square);
            e >>= 1;
        }
        return Some(Integer::Small(result as i64));
    }
    let (base, exponent, modulus) = (base.to_big(), exponent.to_big(), modulus.to_big());
    let log = |n: &BigInt| 64 - n.bits().leading_zeros() as u64;
    let is_long = log(&exponent) + 2 * log(&modulus) > POWER_MODULO_BITS;
    let (base, exponent, modulus) = (base.magnitude(), exponent.magnitude(), modulus.magnitude());
    let power = if is_long {
        large::power_modulo(base, exponent, modulus, cx.cancel)
    } else {
        limbs::power_modulo(base, exponent, modulus)
    };
    Some(Integer::from(BigInt::from(power)))
}
