//! Pairs from which no accepted run starts, shared by all threads in bounded memory.
//!
//! Such a pair may be left out of any search: a run through it would be accepted from it. So every
//! subset of them will do, and the table forgets at will; but what it says must be true. Keys are
//! compared in full, a pair is put in only when its proof is complete (everything it reaches has
//! been searched, or was in the table), and a bucket that another thread holds counts as empty.

use crate::graph::Seed;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

/// A bucket: up to four states with the automaton states that are verified for each.
#[derive(Debug, Default)]
struct Bucket {
    seeds: [Seed; WAYS],
    /// Bit i: automaton state `32 * group + i`. An entry without bits is free.
    masks: [u32; WAYS],
    groups: [u8; WAYS],
    /// Which entry is replaced next.
    next: u8,
}

const WAYS: usize = 4;
/// A lock, a bucket and padding.
const BUCKET_BYTES: usize = size_of::<Mutex<Bucket>>();
const _: () = assert!(BUCKET_BYTES == 64);
/// Buckets of the first table, and how much larger each table is than the one before, in bits.
const FIRST_BITS: u32 = 10;
const GROWTH_BITS: u32 = 3;

/// See the head of this file. There is a row of tables, each larger than the one before. The next one
/// is made when the last one is almost full; what is in the one before it can still be found.
#[derive(Debug)]
pub struct Cache {
    tables: Vec<Table>,
    /// The table into which pairs are put.
    current: AtomicUsize,
}

#[derive(Debug)]
struct Table {
    buckets: OnceLock<Box<[Mutex<Bucket>]>>,
    /// The number of buckets is a power of two.
    bits: u32,
    /// Entries in use.
    used: AtomicUsize,
}

impl Cache {
    /// Of at most so many bytes, which are taken as they are needed.
    pub fn new(bytes_max: usize) -> Self {
        // The last table has all but an eighth of the memory.
        let last = (bytes_max - bytes_max / 8) / BUCKET_BYTES;
        let mut sizes = vec![last.max(1).ilog2()];
        while let Some(bits) = sizes.last().and_then(|bits| bits.checked_sub(GROWTH_BITS)) {
            if bits < FIRST_BITS {
                break;
            }
            sizes.push(bits);
        }
        let table = |&bits: &u32| Table { buckets: OnceLock::new(), bits, used: AtomicUsize::new(0) };
        Cache { tables: sizes.iter().rev().map(table).collect(), current: AtomicUsize::new(0) }
    }

    /// Whether no accepted run starts from the pair. "No" means that it is not known.
    pub fn is_verified(&self, seed: Seed, at: u32) -> bool {
        let Ok(group) = u8::try_from(at / 32) else { return false };
        let (hash, bit) = (hash(seed, group), 1 << (at % 32));
        let current = self.current.load(Ordering::Relaxed);
        let tables = &self.tables[current.saturating_sub(1)..=current];
        tables.iter().any(|table| table.mask(hash, seed, group) & bit != 0)
    }

    /// Remembers, for some time, that no accepted run starts from the pair.
    pub fn insert(&self, seed: Seed, at: u32) {
        let Ok(group) = u8::try_from(at / 32) else { return };
        let current = self.current.load(Ordering::Relaxed);
        let is_almost_full = self.tables[current].insert(hash(seed, group), seed, group, 1 << (at % 32));
        if is_almost_full && current + 1 < self.tables.len() {
            self.current.fetch_max(current + 1, Ordering::Relaxed);
        }
    }
}

fn hash(seed: Seed, group: u8) -> u64 {
    let hash = (seed ^ Seed::from(group) << 56).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (hash ^ hash >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

impl Table {
    fn place(&self, hash: u64) -> usize {
        hash.checked_shr(64 - self.bits).unwrap_or(0) as usize
    }

    /// The automaton states of a group that are verified for a state.
    fn mask(&self, hash: u64, seed: Seed, group: u8) -> u32 {
        let Some(buckets) = self.buckets.get() else { return 0 };
        let Ok(bucket) = buckets[self.place(hash)].try_lock() else { return 0 };
        let is_it = |&i: &usize| bucket.seeds[i] == seed && bucket.groups[i] == group;
        (0..WAYS).filter(is_it).fold(0, |mask, i| mask | bucket.masks[i])
    }

    /// Says whether it should be replaced by a larger one.
    fn insert(&self, hash: u64, seed: Seed, group: u8, mask: u32) -> bool {
        let count = 1 << self.bits;
        let buckets = self.buckets.get_or_init(|| (0..count).map(|_| Mutex::default()).collect());
        let Ok(mut bucket) = buckets[self.place(hash)].try_lock() else { return false };
        let bucket = &mut *bucket;
        let is_it = |&i: &usize| bucket.masks[i] != 0 && bucket.seeds[i] == seed && bucket.groups[i] == group;
        if let Some(place) = (0..WAYS).find(is_it) {
            bucket.masks[place] |= mask;
            return false;
        }
        let free = (0..WAYS).find(|&i| bucket.masks[i] == 0);
        let used = self.used.fetch_add(usize::from(free.is_some()), Ordering::Relaxed);
        let place = free.unwrap_or_else(|| {
            bucket.next = (bucket.next + 1) % WAYS as u8;
            bucket.next as usize
        });
        (bucket.seeds[place], bucket.groups[place], bucket.masks[place]) = (seed, group, mask);
        used >= count * WAYS / 4 * 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Cache {
        fn bytes(&self) -> usize {
            self.tables
                .iter()
                .filter_map(|table| table.buckets.get())
                .map(|all| all.len() * BUCKET_BYTES)
                .sum()
        }
    }

    #[test]
    fn tables_grow() {
        let cache = Cache::new(1 << 22);
        for seed in 0..1000 {
            cache.insert(seed, 0);
        }
        assert!(cache.bytes() <= 1 << 18);
        for seed in 0..100_000 {
            cache.insert(seed, 0);
            assert!(seed % 128 != 0 || cache.is_verified(seed, 0), "what was just put is there");
        }
        assert!((1 << 21..=1 << 22).contains(&cache.bytes()));
        let found = (0..100_000).filter(|&seed| cache.is_verified(seed, 0)).count();
        assert!(found > 80_000, "{found}");
    }

    #[test]
    fn keys_are_exact_whatever_is_forgotten() {
        for bytes in [0, 64, 1 << 12, 1 << 20, 1 << 24] {
            let cache = Cache::new(bytes);
            let pair = |i: u64| (i.wrapping_mul(0x1234_5678_9abc_def1) >> 7, (i % 300) as u32);
            let put = |i: u64| i % 3 != 0;
            for i in (0..3000).filter(|&i| put(i)) {
                cache.insert(pair(i).0, pair(i).1);
            }
            let found = (0..3000).filter(|&i| cache.is_verified(pair(i).0, pair(i).1)).collect::<Vec<_>>();
            assert!(found.iter().all(|&i| put(i)));
            assert!(found.len() <= bytes.max(64) / 16, "{} in {bytes} bytes", found.len());
            assert!(bytes < 1 << 20 || found.len() > 1800, "{}", found.len());
            assert!(cache.bytes() <= bytes.max(64));
            assert!(!found.is_empty());
        }
    }

    #[test]
    fn automaton_states_are_kept_apart() {
        let cache = Cache::new(1 << 12);
        cache.insert(0, 0);
        cache.insert(0, 33);
        let known: Vec<u32> = (0..10_000).filter(|&at| cache.is_verified(0, at)).collect();
        assert_eq!(known, [0, 33]);
        cache.insert(7, 9000);
        assert!(!cache.is_verified(7, 9000), "large automata are not remembered");
    }
}
