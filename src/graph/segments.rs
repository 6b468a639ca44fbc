//! An array that grows without moving: each segment is twice as long as the one before.
//!
//! Memory that is not used yet is not touched, so the slack of the last segment costs addresses
//! only. Growing needs exclusive access; reading and writing cells does not.

use super::sync::{Cell, FIRST_BITS};

/// Enough for more than 2^32 cells.
const SEGMENTS_MAX: usize = 33 - FIRST_BITS as usize;

/// Cells numbered from 0.
pub struct Segments<T> {
    /// Segment `s` has `2^(FIRST_BITS + s)` cells; the first empty one ends the array.
    segments: [Box<[T]>; SEGMENTS_MAX],
}

impl<T: Cell> Segments<T> {
    pub fn new() -> Segments<T> {
        Segments { segments: std::array::from_fn(|_| Box::from([])) }
    }

    /// The cell with a number below the reserved one.
    #[inline(always)]
    pub fn get(&self, number: u32) -> &T {
        // Segment `s` starts at `2^(FIRST_BITS + s) - 2^FIRST_BITS`.
        let shifted = u64::from(number) + (1 << FIRST_BITS);
        let top = 63 - shifted.leading_zeros();
        &self.segments[(top - FIRST_BITS) as usize][(shifted ^ 1 << top) as usize]
    }

    /// Makes room for `cells` cells.
    pub fn reserve(&mut self, cells: u64) {
        for (s, segment) in self.segments.iter_mut().enumerate() {
            let start = (1u64 << (FIRST_BITS as usize + s)) - (1 << FIRST_BITS);
            if start >= cells {
                return;
            }
            if segment.is_empty() {
                *segment = T::zeros(1 << (FIRST_BITS as usize + s));
            }
        }
    }
}

impl<T: Cell> Default for Segments<T> {
    fn default() -> Segments<T> {
        Segments::new()
    }
}
