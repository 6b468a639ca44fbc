//! What becomes of single elements, remembered by one thread: new elements of rules by the words of
//! the one or two elements that they depend on.

use super::recent::{Recent, VALUE_MAX};

/// A new element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    pub word: u32,
    /// Has it the sort of the old one?
    pub is_alike: bool,
    /// What it took to find it.
    pub rewrites: u64,
}

impl Change {
    /// What is remembered as being of some kind.
    #[inline]
    pub fn get(recent: &Recent, kind: u8, from: u64) -> Option<Change> {
        let value = recent.get(kind, from)?;
        Some(Change { word: value as u32, is_alike: value >> 32 & 1 != 0, rewrites: value >> 33 })
    }

    /// Remembers it, if it is not too long, in so many bytes.
    pub fn put(self, recent: &mut Recent, kind: u8, from: u64, bytes_max: usize) {
        let Change { word, is_alike, rewrites } = self;
        if rewrites < VALUE_MAX >> 33 {
            let value = u64::from(word) | u64::from(is_alike) << 32 | rewrites << 33;
            recent.put(kind, from, value, bytes_max);
        }
    }
}
