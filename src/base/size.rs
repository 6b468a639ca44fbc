//! Sizes of memory as people write them.

/// `500M`, `2G`, `64k`, or bytes.
pub fn bytes(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "" => 1.0,
        "k" => f64::from(1 << 10),
        "m" => f64::from(1 << 20),
        "g" => f64::from(1 << 30),
        "t" => 1024.0 * f64::from(1 << 30),
        _ => f64::NAN,
    };
    let bytes = digits.parse::<f64>().unwrap_or(f64::NAN) * factor;
    (bytes >= 1.0 && bytes < usize::MAX as f64).then_some(bytes as usize)
}
