//! Floating-point numbers: the operators with hook `FloatOpSymbol`.
//!
//! Elementary functions are those of the C library, as in Maude. There is no not-a-number: where
//! one would come out, the term stays as it is, and so it does for zero divisors.

use super::{Cx, Hooks, Truth, rational};
use crate::term::Term;

#[derive(Clone, Copy, Debug)]
pub(super) enum FloatOp {
    Unary(fn(f64) -> f64),
    Binary(fn(f64, f64) -> f64),
    Relation(fn(&f64, &f64) -> bool, Truth),
    /// `float : Rat -> Float`
    FromRat {
        division: u32,
    },
    /// `rat : FiniteFloat -> Rat`
    ToRat {
        division: u32,
    },
}

use FloatOp::{Binary, Relation, Unary};

impl FloatOp {
    pub fn new(hooks: &Hooks, data: &str, arity: usize) -> Option<FloatOp> {
        hooks.symbol("floatSymbol")?;
        let division = || hooks.symbol("divisionSymbol").map(|op| op.0);
        Some(match (arity, data) {
            (1, "-") => Unary(|x| -x),
            (1, "abs") => Unary(f64::abs),
            (1, "floor") => Unary(f64::floor),
            (1, "ceiling") => Unary(f64::ceil),
            (1, "sqrt") => Unary(f64::sqrt),
            (1, "exp") => Unary(f64::exp),
            (1, "log") => Unary(f64::ln),
            (1, "sin") => Unary(f64::sin),
            (1, "cos") => Unary(f64::cos),
            (1, "tan") => Unary(f64::tan),
            (1, "asin") => Unary(f64::asin),
            (1, "acos") => Unary(f64::acos),
            (1, "atan") => Unary(f64::atan),
            (1, "float") => FloatOp::FromRat { division: division()? },
            (1, "rat") => FloatOp::ToRat { division: division()? },
            (2, "+") => Binary(|x, y| x + y),
            (2, "-") => Binary(|x, y| x - y),
            (2, "*") => Binary(|x, y| x * y),
            (2, "/") => Binary(|x, y| if y == 0.0 { f64::NAN } else { x / y }),
            (2, "rem") => Binary(|x, y| if y == 0.0 { f64::NAN } else { x % y }),
            (2, "^") => Binary(|x, y| power(x, y).unwrap_or(f64::NAN)),
            (2, "atan") => Binary(f64::atan2),
            (2, "min") => Binary(f64::min),
            (2, "max") => Binary(f64::max),
            (2, "<") => Relation(f64::lt, hooks.truth()?),
            (2, "<=") => Relation(f64::le, hooks.truth()?),
            (2, ">") => Relation(f64::gt, hooks.truth()?),
            (2, ">=") => Relation(f64::ge, hooks.truth()?),
            _ => return None,
        })
    }

    pub fn eval(self, cx: &mut Cx, args: &[Term]) -> Option<Term> {
        let value = match (self, args) {
            (Unary(f), &[x]) => f(read(cx, x)?),
            (Binary(f), &[x, y]) => f(read(cx, x)?, read(cx, y)?),
            (Relation(f, truth), &[x, y]) => return Some(truth.of(f(&read(cx, x)?, &read(cx, y)?))),
            (FloatOp::FromRat { division }, &[x]) => {
                let (numerator, denominator) = rational::read(cx, division, x)?;
                rational::to_float(&numerator, &denominator)
            }
            (FloatOp::ToRat { division }, &[x]) => {
                let value = read(cx, x).filter(|x| x.is_finite())?;
                let (numerator, denominator) = rational::from_float(value);
                return rational::make(cx, division, &numerator, &denominator);
            }
            _ => return None,
        };
        (!value.is_nan()).then(|| cx.heap.float(cx.sy, value))
    }
}

/// The float that a term is.
pub(super) fn read(cx: &Cx, t: Term) -> Option<f64> {
    (t.is_node() && cx.heap.sym(cx.sy, t) == cx.sy.float).then(|| cx.heap.float_value(t))
}

/// `x ^ y`. A negative base takes the power of its magnitude and a sign by the exponent's
/// parity; where there is no parity, only a power that vanishes is defined.
fn power(x: f64, y: f64) -> Option<f64> {
    if x == 0.0 && y < 0.0 {
        return None;
    }
    let magnitude = x.abs().powf(y);
    if x >= 0.0 {
        return Some(magnitude);
    }
    if magnitude == 0.0 && (x.is_infinite() || y == y.floor()) {
        return Some(0.0);
    }
    parity(y).map(|odd| if odd { -magnitude } else { magnitude })
}

/// Is it odd? `None` if it is no integer, or too large for its last digit to mean anything.
fn parity(y: f64) -> Option<bool> {
    const INTEGERS_MAX: f64 = 9_007_199_254_740_992.0;
    (y == y.floor() && y.abs() <= INTEGERS_MAX).then(|| y.abs() as u64 & 1 != 0)
}
