//! What a thread found out lately, by exact keys, in little memory.
//!
//! A table of cache lines with four entries each. A key has one line; a new entry takes the place of
//! the oldest one there. If entries are lost so, the table grows, as far as it is allowed to.

/// See the head of this file.
pub struct Recent {
    lines: Vec<Line>,
    /// Entries that were lost since the table last grew.
    lost: usize,
}

/// The newest entry comes first.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Line([Entry; ENTRIES]);

/// A key, with the kind of it in the upper byte of the value. No entry has kind 0.
#[derive(Clone, Copy, Default)]
struct Entry(u64, u64);

const ENTRIES: usize = 4;
/// Few in tests, so that entries get lost there.
const LINES_MIN: usize = if cfg!(debug_assertions) { 1 << 4 } else { 1 << 8 };
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

    /// Notes a value. The table may take so many bytes.
    pub fn put(&mut self, kind: u8, key: u64, value: u64, bytes_max: usize) {
        debug_assert!(kind > 0 && value < VALUE_MAX);
        self.lost += usize::from(self.add(Entry(key, value | u64::from(kind) << 56)));
        if self.lost > self.lines.len() && self.bytes() * 2 <= bytes_max {
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
        self.lines = vec![Line::default(); old.len() * 2];
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
        Recent { lines: vec![Line::default(); LINES_MIN], lost: 0 }
    }
}

/// The line of a key.
#[inline(always)]
fn place(kind: u8, key: u64, lines: usize) -> usize {
    let hash = (key ^ u64::from(kind) << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = hash ^ hash >> 32;
    ((u128::from(hash.wrapping_mul(0x2545_f491_4f6c_dd1d)) * lines as u128) >> 64) as usize
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
            let (kind, key) = (1 + (i % 3) as u8, i * i % 5_003 << 20);
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
        for key in 0..1 << 18 {
            recent.put(1, key, key, 1 << 17);
        }
        assert_eq!(recent.bytes(), 1 << 17);
        let last = (1 << 18) - 1;
        assert_eq!(recent.get(1, last), Some(last));
        assert_eq!(recent.get(2, last), None);
    }
}
