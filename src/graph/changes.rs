//! What becomes of single elements, remembered by one thread: new elements of rules by the words of
//! the one or two elements that they depend on.

use super::recent::{Recent, VALUE_MAX};

/// See the head of this file.
#[derive(Default)]
pub struct Changes(Recent);

/// A new element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    pub word: u32,
    /// Has it the sort of the old one?
    pub is_alike: bool,
    /// What it took to find it.
    pub rewrites: u64,
}

impl Changes {
    /// What is remembered under a number, from 1 to 255.
    #[inline]
    pub fn get(&self, number: u8, from: u64) -> Option<Change> {
        let value = self.0.get(number, from)?;
        Some(Change { word: value as u32, is_alike: value >> 32 & 1 != 0, rewrites: value >> 33 })
    }

    /// Remembers a change, if it is not too long, in so many bytes.
    pub fn put(&mut self, number: u8, from: u64, change: Change, bytes_max: usize) {
        let Change { word, is_alike, rewrites } = change;
        if rewrites < VALUE_MAX >> 33 {
            let value = u64::from(word) | u64::from(is_alike) << 32 | rewrites << 33;
            self.0.put(number, from, value, bytes_max);
        }
    }

    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }
}
