//! Numbers as bytes, small ones as one: seven bits in each, as long as there are more.

use std::io::Read;

pub fn put_number(mut number: u64, put: &mut dyn FnMut(&[u8])) {
    while number >= 0x80 {
        put(&[number as u8 | 0x80]);
        number >>= 7;
    }
    put(&[number as u8]);
}

/// The number that was put there; none if there is none.
pub fn take_number(from: &mut dyn Read) -> Option<u64> {
    let (mut number, mut byte) = (0, [0]);
    for shift in (0..u64::BITS).step_by(7) {
        from.read_exact(&mut byte).ok()?;
        number |= u64::from(byte[0] & 0x7F) << shift;
        if byte[0] < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for number in [0, 1, 127, 128, 300, 1 << 32, u64::MAX >> 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_number(number, &mut |more| bytes.extend_from_slice(more));
            assert_eq!(take_number(&mut &bytes[..]), Some(number));
            assert_eq!(take_number(&mut &bytes[1..]).is_some(), bytes.len() > 1);
            assert_eq!(take_number(&mut &bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(take_number(&mut &[0xFF; 20][..]), None);
    }
}
