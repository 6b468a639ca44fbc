//! A number that tells contents apart.

/// FNV-1a with 128 bits, in hexadecimal. Each step is a bijection, so texts that differ in one byte
/// have different digests; that others have is not to be expected. It is no protection against people
/// who want two texts with the same digest.
pub fn digest(bytes: &[u8]) -> String {
    const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let sum = bytes.iter().fold(START, |sum, &byte| (sum ^ u128::from(byte)).wrapping_mul(PRIME));
    format!("{sum:032x}")
}

/// Characters of a digest.
pub const DIGEST_LEN: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests() {
        assert_eq!(digest(b""), "6c62272e07bb014262b821756295c58d");
        assert_eq!(digest(b"a"), "d228cb696f1a8caf78912b704e4a8964");
        assert_eq!(digest(b"foobar").len(), DIGEST_LEN);
    }
}
