//! Literals as text: strings with their escapes, floating-point numbers in Maude's notation.
//!
//! The parser reads with [`unescape`] and [`parse_float`], the printer writes with [`escape`] and
//! [`print_float`], and the conversion built-ins use the same functions, so that all of them
//! agree. Strings are bytes: Maude knows no encoding and escapes what is not printable ASCII.

/// The string literal for these bytes, quotes included.
pub fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 2);
    text.push('"');
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(byte)]),
            b' '..=b'~' => text.push(char::from(byte)),
            0x07 => text.push_str("\\a"),
            0x08 => text.push_str("\\b"),
            0x0c => text.push_str("\\f"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            0x0b => text.push_str("\\v"),
            _ => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    text.push('"');
    text
}

/// The bytes of a string literal with its quotes; `None` if it is not one whole literal.
///
/// A backslash before a line end joins the lines; `\8` and other unknown escapes stand for the
/// character itself; octal escapes have one to three digits, and only their low byte counts.
pub fn unescape(literal: &[u8]) -> Option<Vec<u8>> {
    let joined;
    let literal = if literal.contains(&b'\n') {
        joined = join_lines(literal);
        &joined[..]
    } else {
        literal
    };
    let body = literal.strip_prefix(b"\"")?;
    let mut bytes = Vec::with_capacity(body.len());
    let mut at = 0;
    loop {
        let byte = *body.get(at)?;
        at += 1;
        match byte {
            b'"' => return (at == body.len()).then_some(bytes),
            b'\\' => {
                let escaped = *body.get(at)?;
                at += 1;
                bytes.push(match escaped {
                    b'a' => 0x07,
                    b'b' => 0x08,
                    b'f' => 0x0c,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'v' => 0x0b,
                    b'0'..=b'7' => {
                        let mut code = u32::from(escaped - b'0');
                        for _ in 0..2 {
                            let Some(digit @ b'0'..=b'7') = body.get(at) else { break };
                            code = code * 8 + u32::from(digit - b'0');
                            at += 1;
                        }
                        code as u8
                    }
                    other => other,
                });
            }
            _ => bytes.push(byte),
        }
    }
}

fn join_lines(literal: &[u8]) -> Vec<u8> {
    let mut joined = Vec::with_capacity(literal.len());
    let mut rest = literal;
    while let [byte, tail @ ..] = rest {
        if *byte == b'\\' && tail.first() == Some(&b'\n') {
            rest = &tail[1..];
        } else {
            joined.push(*byte);
            rest = tail;
        }
    }
    joined
}

/// A floating-point number as Maude prints it: 17 significant digits without trailing zeros,
/// one digit before the point, an exponent unless it is 0.
pub fn print_float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if value == 0.0 {
        return "0.0".to_owned();
    }
    let text = format!("{value:.16e}");
    let (mantissa, exponent) = text.split_once('e').expect("the `e` format has an exponent");
    let mantissa = mantissa.trim_end_matches('0');
    let zero = if mantissa.ends_with('.') { "0" } else { "" };
    match exponent.strip_prefix('-') {
        _ if exponent == "0" => format!("{mantissa}{zero}"),
        Some(_) => format!("{mantissa}{zero}e{exponent}"),
        None => format!("{mantissa}{zero}e+{exponent}"),
    }
}

/// Reads what Maude takes for a floating-point number: `1.5`, `.5`, `5.`, `1e5`, `-2.0e-3`,
/// `Infinity`, each with an optional sign. A number without point and exponent is not one.
pub fn parse_float(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let unsigned = bytes.strip_prefix(b"-").or_else(|| bytes.strip_prefix(b"+")).unwrap_or(bytes);
    if unsigned == b"Infinity" {
        return Some(if bytes[0] == b'-' { f64::NEG_INFINITY } else { f64::INFINITY });
    }
    let digits = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
    let before = digits(unsigned);
    let mut rest = &unsigned[before..];
    let mut after = 0;
    let mut is_float = false;
    if let [b'.', tail @ ..] = rest {
        is_float = true;
        after = digits(tail);
        rest = &tail[after..];
    }
    if before + after == 0 {
        return None;
    }
    if let [b'e' | b'E', tail @ ..] = rest {
        is_float = true;
        let tail = tail.strip_prefix(b"-").or_else(|| tail.strip_prefix(b"+")).unwrap_or(tail);
        let count = digits(tail);
        if count == 0 {
            return None;
        }
        rest = &tail[count..];
    }
    if !is_float || !rest.is_empty() {
        return None;
    }
    // There is no negative zero.
    text.parse().ok().map(|value: f64| if value == 0.0 { 0.0 } else { value })
}

/// The first `count` significant decimal digits of a finite number's magnitude, rounded half to
/// even, and the place of the decimal point before or after them; 0 asks for all digits.
pub fn float_digits(value: f64, count: usize) -> (String, i32) {
    if value == 0.0 {
        return ("0".repeat(count), 0);
    }
    // No double has more significant digits than this.
    const ALL: usize = 780;
    let wanted = if count == 0 { ALL } else { count };
    let text = format!("{:.*e}", wanted - 1, value.abs());
    let (mantissa, exponent) = text.split_once('e').expect("the `e` format has an exponent");
    let mut digits: String = mantissa.chars().filter(|&c| c != '.').collect();
    if count == 0 {
        digits.truncate(digits.trim_end_matches('0').len());
    }
    (digits, exponent.parse::<i32>().expect("an exponent is a number") + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_escape_and_unescape() {
        let check = |bytes: &[u8], literal: &str| {
            assert_eq!(escape(bytes), literal);
            assert_eq!(unescape(literal.as_bytes()).as_deref(), Some(bytes), "{literal}");
        };
        check(b"", r#""""#);
        check(b"abc", r#""abc""#);
        check(b"a\"b\\c", r#""a\"b\\c""#);
        check(b"\x07\x08\x0c\n\r\t\x0b", r#""\a\b\f\n\r\t\v""#);
        check(b"\0\x1b\x7f\xc3\xa9", r#""\000\033\177\303\251""#);
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unescape(escape(&all).as_bytes()), Some(all));
    }

    #[test]
    fn odd_literals_are_read_as_maude_does() {
        let check = |literal: &str, bytes: Option<&[u8]>| {
            assert_eq!(unescape(literal.as_bytes()).as_deref(), bytes, "{literal}");
        };
        check(r#""\8\q\'""#, Some(b"8q'"));
        check(r#""\1\12\123\1234""#, Some(b"\x01\x0a\x53\x534"));
        check(r#""\777""#, Some(b"\xff"));
        check("\"a\\\nb\"", Some(b"ab"));
        check("\"é\"", Some(b"\xc3\xa9"));
        check(r#""abc"#, None);
        check(r#""abc\""#, None);
        check(r#""abc" "#, None);
        check("abc", None);
    }

    #[test]
    fn floats_print_with_17_digits() {
        let check = |value: f64, text: &str| assert_eq!(print_float(value), text);
        check(0.0, "0.0");
        check(-0.0, "0.0");
        check(1.0, "1.0");
        check(-1.5e10, "-1.5e+10");
        check(0.1, "1.0000000000000001e-1");
        check(100.0, "1.0e+2");
        check(5e-324, "4.9406564584124654e-324");
        check(f64::MAX, "1.7976931348623157e+308");
        check(f64::INFINITY, "Infinity");
        check(f64::NEG_INFINITY, "-Infinity");
    }

    #[test]
    fn floats_are_read() {
        let check = |text: &str, value: Option<f64>| assert_eq!(parse_float(text), value, "{text}");
        check("1.0", Some(1.0));
        check("1e5", Some(1e5));
        check("1E5", Some(1e5));
        check("1.e5", Some(1e5));
        check(".5", Some(0.5));
        check("5.", Some(5.0));
        check("+1.0", Some(1.0));
        check("-.5e-3", Some(-0.5e-3));
        check("00001.0e0005", Some(1e5));
        check("1e400", Some(f64::INFINITY));
        check("1.0e5000000000000", Some(f64::INFINITY));
        check("1.0e-400", Some(0.0));
        check("Infinity", Some(f64::INFINITY));
        check("-Infinity", Some(f64::NEG_INFINITY));
        check("+Infinity", Some(f64::INFINITY));
        for text in
            "1 -1 e5 . - + .e5 1.5.2 1e5.0 1e 1e+ 1.0f --1.0 +-1.0 inf Inf infinity nan NaN 0x10 1_0.0"
                .split(' ')
        {
            check(text, None);
        }
        check("", None);
        check(" 1.0", None);
        check("1.0 ", None);
        assert!(parse_float("-0.0").unwrap().is_sign_positive());
    }

    #[test]
    fn digits_round_half_to_even() {
        let check = |value: f64, count: usize, digits: &str, point: i32| {
            assert_eq!(float_digits(value, count), (digits.to_owned(), point));
        };
        check(1.5, 0, "15", 1);
        check(0.1, 0, "1000000000000000055511151231257827021181583404541015625", 0);
        check(0.125, 2, "12", 0);
        check(0.375, 2, "38", 0);
        check(0.25, 1, "2", 0);
        check(98.5, 2, "98", 2);
        check(99.5, 2, "10", 3);
        check(9.99, 2, "10", 2);
        check(1.0, 20, "10000000000000000000", 1);
        check(0.0, 3, "000", 0);
        check(0.0, 0, "", 0);
        assert_eq!(float_digits(5e-324, 0).0.len(), 751);
        assert_eq!(float_digits(5e-324, 0).1, -323);
        assert_eq!(float_digits(5e-324, 1074).0.len(), 1074);
    }
}
