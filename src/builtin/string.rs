//! Strings: the operators with hook `StringOpSymbol`, conversions included.
//!
//! Strings are bytes, positions count bytes, and the order is that of C's signed characters:
//! bytes from 128 on come before ASCII.

use std::cmp::Ordering;

use num_bigint::BigInt;

use super::integer::Integer;
use super::{Cx, Hooks, Truth, float, rational};
use crate::base::literal;
use crate::term::Term;

#[derive(Clone, Copy, Debug)]
pub(super) enum StringOp {
    Ascii,
    Char,
    Concat,
    Length,
    Substr,
    Find {
        not_found: Term,
    },
    ReverseFind {
        not_found: Term,
    },
    Upper,
    Lower,
    Relation(fn(Ordering) -> bool, Truth),
    /// `string : Rat NzNat ~> String`
    FromRat {
        division: u32,
    },
    /// `rat : String NzNat ~> Rat`
    ToRat {
        division: u32,
    },
    /// `string : Float -> String`
    FromFloat,
    /// `float : String ~> Float`
    ToFloat,
    /// `decFloat : Float Nat -> DecFloat`
    DecFloat {
        constructor: u32,
    },
}

/// `decFloat` gives no more digits than this.
const FLOAT_DIGITS_MAX: u64 = 1074;

impl StringOp {
    pub fn new(hooks: &Hooks, data: &str, arity: usize) -> Option<StringOp> {
        hooks.symbol("stringSymbol")?;
        let relation = |f: fn(Ordering) -> bool| Some(StringOp::Relation(f, hooks.truth()?));
        let division = || hooks.symbol("divisionSymbol").map(|op| op.0);
        Some(match (arity, data) {
            (1, "ascii") => StringOp::Ascii,
            (1, "char") => StringOp::Char,
            (1, "length") => StringOp::Length,
            (1, "upperCase") => StringOp::Upper,
            (1, "lowerCase") => StringOp::Lower,
            (1, "string") => StringOp::FromFloat,
            (1, "float") => StringOp::ToFloat,
            (2, "+") => StringOp::Concat,
            (2, "<") => relation(Ordering::is_lt)?,
            (2, "<=") => relation(Ordering::is_le)?,
            (2, ">") => relation(Ordering::is_gt)?,
            (2, ">=") => relation(Ordering::is_ge)?,
            (2, "string") => StringOp::FromRat { division: division()? },
            (2, "rat") => StringOp::ToRat { division: division()? },
            (2, "decFloat") => StringOp::DecFloat { constructor: hooks.symbol("decFloatSymbol")?.0 },
            (3, "substr") => StringOp::Substr,
            (3, "find") => StringOp::Find { not_found: hooks.term("notFoundTerm")? },
            (3, "rfind") => StringOp::ReverseFind { not_found: hooks.term("notFoundTerm")? },
            _ => return None,
        })
    }

    pub fn eval(self, cx: &mut Cx, args: &[Term]) -> Option<Term> {
        match (self, args) {
            (StringOp::Ascii, &[t]) => match *read(cx, t)? {
                [byte] => Some(Term::small(byte.into())),
                _ => None,
            },
            (StringOp::Char, &[t]) => {
                let code = u8::try_from(natural(cx, t)?.to_u64()?).ok()?;
                Some(cx.heap.string(cx.sy, &[code]))
            }
            (StringOp::Length, &[t]) => {
                let length = read(cx, t)?.len();
                Some(cx.heap.nat_u64(cx.sy, length as u64))
            }
            (StringOp::Upper, &[t]) => {
                let text = read(cx, t)?.to_ascii_uppercase();
                Some(cx.heap.string(cx.sy, &text))
            }
            (StringOp::Lower, &[t]) => {
                let text = read(cx, t)?.to_ascii_lowercase();
                Some(cx.heap.string(cx.sy, &text))
            }
            (StringOp::Concat, &[t, u]) => {
                read(cx, t)?;
                read(cx, u)?;
                Some(cx.heap.string_concat(cx.sy, t, u))
            }
            (StringOp::Relation(holds, truth), &[t, u]) => {
                Some(truth.of(holds(compare(read(cx, t)?, read(cx, u)?))))
            }
            (StringOp::Substr, &[t, start, length]) => {
                let size = read(cx, t)?.len();
                let start = position(cx, start)?.min(size);
                let length = position(cx, length)?.min(size - start);
                if length == size {
                    return Some(t);
                }
                Some(cx.heap.string_of_parts(cx.sy, &[(t, start..start + length)]))
            }
            (StringOp::Find { not_found }, &[t, pattern, start]) => {
                let (text, pattern) = (read(cx, t)?, read(cx, pattern)?);
                let found = find(text, pattern, position(cx, start)?);
                Some(found.map_or(not_found, |at| cx.heap.nat_u64(cx.sy, at as u64)))
            }
            (StringOp::ReverseFind { not_found }, &[t, pattern, start]) => {
                let (text, pattern) = (read(cx, t)?, read(cx, pattern)?);
                let found = reverse_find(text, pattern, position(cx, start)?);
                Some(found.map_or(not_found, |at| cx.heap.nat_u64(cx.sy, at as u64)))
            }
            (StringOp::FromRat { division }, &[t, base]) => {
                let base = radix(cx, base)?;
                if base == 10 && t.is_small() {
                    let (digits, from) = decimal(t.payload());
                    return Some(cx.heap.string(cx.sy, &digits[from..]));
                }
                let (numerator, denominator) = rational::read(cx, division, t)?;
                let mut text = numerator.to_big().to_str_radix(base);
                if denominator != Integer::Small(1) {
                    text.push('/');
                    text.push_str(&denominator.to_big().to_str_radix(base));
                }
                Some(cx.heap.string(cx.sy, text.as_bytes()))
            }
            (StringOp::ToRat { division }, &[t, base]) => {
                let base = radix(cx, base)?;
                let (numerator, denominator) = parse_rational(read(cx, t)?, base)?;
                rational::make(cx, division, &numerator, &denominator)
            }
            (StringOp::FromFloat, &[t]) => {
                let text = literal::print_float(float::read(cx, t)?);
                Some(cx.heap.string(cx.sy, text.as_bytes()))
            }
            (StringOp::ToFloat, &[t]) => {
                // As for C, the text ends at the first zero byte.
                let text = read(cx, t)?;
                let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
                let value = literal::parse_float(std::str::from_utf8(&text[..end]).ok()?)?;
                Some(cx.heap.float(cx.sy, value))
            }
            (StringOp::DecFloat { constructor }, &[t, count]) => {
                let value = float::read(cx, t)?;
                let count = natural(cx, count)?.to_u64().unwrap_or(u64::MAX).min(FLOAT_DIGITS_MAX);
                let (digits, point) = if value.is_infinite() {
                    ("Infinity".to_owned(), 0)
                } else {
                    literal::float_digits(value, count as usize)
                };
                let sign = if value == 0.0 { 0 } else { value.signum() as i64 };
                let sign = Integer::Small(sign).write(cx.heap, cx.sy)?;
                let digits = cx.heap.string(cx.sy, digits.as_bytes());
                let point = Integer::Small(point.into()).write(cx.heap, cx.sy)?;
                Some(cx.heap.apply(cx.sy, constructor, &[sign, digits, point]))
            }
            _ => None,
        }
    }
}

/// The bytes of the string that a term is.
fn read<'a>(cx: &'a Cx, t: Term) -> Option<&'a [u8]> {
    (t.is_node() && cx.heap.sym(cx.sy, t) == cx.sy.string).then(|| cx.heap.bytes(t))
}

/// The decimal digits of a word: the last ones, from a place on.
fn decimal(mut n: u32) -> ([u8; 10], usize) {
    let mut digits = [b'0'; 10];
    let mut place = 9;
    while n >= 10 {
        digits[place] = b'0' + (n % 10) as u8;
        n /= 10;
        place -= 1;
    }
    digits[place] = b'0' + n as u8;
    (digits, place)
}

fn natural(cx: &Cx, t: Term) -> Option<Integer> {
    Integer::natural(cx.heap, cx.sy, t)
}

/// A natural as a position; larger ones are all beyond every string.
fn position(cx: &Cx, t: Term) -> Option<usize> {
    Some(natural(cx, t)?.to_u64().map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX)))
}

fn radix(cx: &Cx, t: Term) -> Option<u32> {
    match natural(cx, t)?.to_u64()? {
        base @ 2..=36 => Some(base as u32),
        _ => None,
    }
}

fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let signed = |byte: &u8| byte.cast_signed();
    a.iter().map(signed).cmp(b.iter().map(signed))
}

fn find(text: &[u8], pattern: &[u8], start: usize) -> Option<usize> {
    let rest = text.get(start..)?;
    if pattern.is_empty() {
        return Some(start);
    }
    let last = rest.len().checked_sub(pattern.len())?;
    let mut from = 0;
    while from <= last {
        from += rest[from..=last].iter().position(|&byte| byte == pattern[0])?;
        if rest[from + 1..from + pattern.len()] == pattern[1..] {
            return Some(start + from);
        }
        from += 1;
    }
    None
}

/// The last occurrence that begins at `start` or before.
fn reverse_find(text: &[u8], pattern: &[u8], start: usize) -> Option<usize> {
    if pattern.is_empty() {
        return Some(start.min(text.len()));
    }
    let last = text.len().checked_sub(pattern.len())?.min(start);
    text[..last + pattern.len()].windows(pattern.len()).rposition(|part| part == pattern)
}

/// Reads `0`, `-12` or `7/24`: no plus sign, no leading zeros, no zero in a fraction.
fn parse_rational(text: &[u8], base: u32) -> Option<(Integer, Integer)> {
    if let [digit] = *text {
        let value = char::from(digit).to_digit(base)?;
        return Some((Integer::Small(value.into()), Integer::Small(1)));
    }
    let (negative, text) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let digits = |text: &[u8]| {
        let is_number =
            text.first().is_some_and(|&d| d != b'0') && text.iter().all(u8::is_ascii_alphanumeric);
        is_number.then(|| BigInt::parse_bytes(text, base).map(Integer::from))?
    };
    let (numerator, denominator) = match text.iter().position(|&byte| byte == b'/') {
        Some(slash) => (digits(&text[..slash])?, digits(&text[slash + 1..])?),
        None => (digits(text)?, Integer::Small(1)),
    };
    Some((if negative { numerator.negate() } else { numerator }, denominator))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searching_counts_from_the_start() {
        let check = |text: &str, pattern: &str, start: usize, forward, backward| {
            assert_eq!(find(text.as_bytes(), pattern.as_bytes(), start), forward);
            assert_eq!(reverse_find(text.as_bytes(), pattern.as_bytes(), start), backward);
        };
        check("abcabc", "c", 0, Some(2), None);
        check("abcabc", "c", 3, Some(5), Some(2));
        check("abcabc", "c", 6, None, Some(5));
        check("abcabc", "bc", usize::MAX, None, Some(4));
        check("abcabc", "", 6, Some(6), Some(6));
        check("abcabc", "", 7, None, Some(6));
        check("abc", "abcd", 0, None, None);
        check("", "", 0, Some(0), Some(0));
        check("", "a", 0, None, None);
    }

    #[test]
    fn numbers_are_read_strictly() {
        let check = |text: &str, base: u32, expected: Option<(i64, i64)>| {
            let expected = expected.map(|(n, d)| (Integer::Small(n), Integer::Small(d)));
            assert_eq!(parse_rational(text.as_bytes(), base), expected, "{text}");
        };
        check("0", 10, Some((0, 1)));
        check("-7", 10, Some((-7, 1)));
        check("4/6", 10, Some((4, 6)));
        check("-a0/F0", 16, Some((-160, 240)));
        check("z", 36, Some((35, 1)));
        check("6/1", 10, Some((6, 1)));
        for text in "00 007 -0 -07 0/6 -0/5 6/01 7/0 7/ /5 - -/5 +5 2x 7/8/9 5//6 4/-6 1_0".split(' ') {
            check(text, 10, None);
        }
        check("", 10, None);
        check(" 5", 10, None);
        check("2", 2, None);
        check("fg", 16, None);
    }
}
