//! Sizes of memory as people write them.

/// The shortest text for exactly so many bytes.
pub fn size_text(bytes: usize) -> String {
    let units = [(1 << 30, "G"), (1 << 20, "M"), (1 << 10, "k"), (1, "")];
    let (unit, name) = units.into_iter().find(|(unit, _)| bytes % unit == 0).expect("one divides all");
    format!("{}{name}", bytes / unit)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_written() {
        for size in [1, 1000, 1024, 5 << 20, (5 << 20) + 1, 2 << 30, 1536 << 20] {
            assert_eq!(bytes(&size_text(size)), Some(size));
        }
        assert_eq!([2 << 30, 1536 << 20].map(size_text), ["2G", "1536M"]);
    }
}
