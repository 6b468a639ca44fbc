//! What a thread found out lately, by exact keys, in little memory.
//!
//! A table of cache lines with four entries each. A key has one line; a new entry takes the place of
//! the oldest one there. If entries are lost so, the table grows, as far as it is allowed to. Keys are one
//! or two words; those with the same first word are in neighbouring lines, which can be asked for at once.

use super::sync::{Cell, in_large_pages, prefetch};

/// See the head of this file.
pub struct Recent {
    lines: Box<[Line]>,
    /// Entries that were lost since the table last grew.
    lost: usize,
}

/// The newest entry comes first.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([Entry; ENTRIES]);

impl Cell for Line {
    fn zeros(len: usize) -> Box<[Line]> {
        // SAFETY: entries are integers, for which all bytes 0 are valid.
        in_large_pages(unsafe { Box::new_zeroed_slice(len).assume_init() })
    }
}

/// A key, with the kind of it in the upper byte of the value. No entry has kind 0.
#[derive(Clone, Copy)]
struct Entry(u64, u64);

const ENTRIES: usize = 4;
/// Lines for the same first word.
const BLOCK: usize = 4;
/// Few in tests, so that entries get lost there.
const LINES_MIN: usize = if cfg!(debug_assertions) { 1 << 4 } else { 1 << 9 };
/// Values must be less.
pub const VALUE_MAX: u64 = 1 << 56;

impl Recent {
    /// The value of a key of some kind, from 1 to 255.
    #[inline]
    pub fn get(&self, kind: u8, key: u64) -> Option<u64> {
        let line = &self.lines[place(kind, key, self.lines.len())].0;
        let is_it = |entry: &&Entry| entry.0 == key && (entry.1 >> 56) as u8 == kind;
        line.iter().find(is_it).map(|entry| entry.1 & (VALUE_MAX - 1))
    }

    /// Asks for the memory of all keys with a first word.
    #[inline]
    pub fn prefetch(&self, first: u32) {
        let start = block(first, self.lines.len());
        self.lines[start..start + BLOCK].iter().for_each(prefetch);
    }

    /// Notes a value. The table may take so many bytes.
    pub fn put(&mut self, kind: u8, key: u64, value: u64, bytes_max: usize) {
        debug_assert!(kind > 0 && value < VALUE_MAX);
        self.lost += usize::from(self.add(Entry(key, value | u64::from(kind) << 56)));
        if self.lost > self.lines.len() / 4 && self.bytes() * 2 <= bytes_max {
            self.grow();
        }
    }

    /// Adds an entry; says whether one was lost.
    fn add(&mut self, entry: Entry) -> bool {
        let at = place((entry.1 >> 56) as u8, entry.0, self.lines.len());
        let line = &mut self.lines[at].0;
        let last = line[ENTRIES - 1];
        line.copy_within(..ENTRIES - 1, 1);
        line[0] = entry;
        last.1 != 0
    }

    #[cold]
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.lines);
        self.lines = Line::zeros(old.len() * 2);
        self.lost = 0;
        for entry in old.iter().flat_map(|line| line.0.into_iter().rev()).filter(|entry| entry.1 != 0) {
            self.add(entry);
        }
    }

    pub fn bytes(&self) -> usize {
        self.lines.len() * size_of::<Line>()
    }
}

impl Default for Recent {
    fn default() -> Recent {
        Recent { lines: Line::zeros(LINES_MIN), lost: 0 }
    }
}

/// A key of one word, or of two.
#[inline(always)]
pub fn key(first: u32, second: u32) -> u64 {
    u64::from(first) | u64::from(second) << 32
}

/// The first line for keys with a first word.
#[inline(always)]
fn block(first: u32, lines: usize) -> usize {
    let hash = u64::from(first).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = (hash ^ hash >> 32).wrapping_mul(0x2545_f491_4f6c_dd1d);
    ((u128::from(hash) * (lines / BLOCK) as u128) >> 64) as usize * BLOCK
}

/// The line of a key.
#[inline(always)]
fn place(kind: u8, key: u64, lines: usize) -> usize {
    let rest = (key >> 32 << 8 | u64::from(kind)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    block(key as u32, lines) + (rest >> 62) as usize % BLOCK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_what_was_put() {
        let mut recent = Recent::default();
        let value_of = |kind: u8, key: u64| (key * 31 + u64::from(kind)) % VALUE_MAX;
        let mut found = 0;
        for i in 0..100_000u64 {
            let (kind, key) = (1 + (i % 3) as u8, key((i * i % 5_003) as u32, i as u32 % 2));
            match recent.get(kind, key) {
                Some(value) => {
                    assert_eq!(value, value_of(kind, key));
                    found += 1;
                }
                None => recent.put(kind, key, value_of(kind, key), 1 << 19),
            }
            assert_eq!(recent.get(kind, key), Some(value_of(kind, key)));
        }
        assert!(found > 50_000, "{found}");
    }

    #[test]
    fn no_more_memory_than_allowed() {
        let mut recent = Recent::default();
        for first in 0..1 << 18 {
            recent.put(1, key(first, 0), first.into(), 1 << 17);
        }
        assert_eq!(recent.bytes(), 1 << 17);
        let last = key((1 << 18) - 1, 0);
        assert_eq!(recent.get(1, last), Some(last));
        assert_eq!(recent.get(2, last), None);
    }
}
