//! Pairs from which no accepted run starts, shared by all threads in bounded memory.
//!
//! Such a pair may be left out of any search: a run through it would be accepted from it. So every
//! subset of them will do, and the table forgets what is oldest where there is no room; but what it
//! says must be true. Keys are compared in full, and a pair is put in only when its proof is complete:
//! everything it reaches has been searched, or was in the table.
//!
//! A bucket is two cache lines of twelve states, each with the automaton states that are verified for
//! it. Readers do not write: a bucket's version, odd while somebody changes it, tells them whether
//! what they read was there at one time (a seqlock; the version has 64 bits and never repeats).

use crate::base::share_out;
use crate::graph::{Cell, Sprout, prefetch};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

/// See the head of this file. The table starts small; while it grows it is locked.
pub struct Cache {
    table: RwLock<Table>,
    buckets_max: usize,
    /// The table is almost full and may be larger.
    is_short: AtomicBool,
    /// For who makes it larger.
    growing: Mutex<()>,
    bytes: AtomicUsize,
}

/// The table between two times of growing.
pub struct Table {
    /// Sixteen words for each bucket, and some, since buckets begin where a pair of lines does.
    words: Box<[AtomicU64]>,
    skipped: usize,
    buckets: usize,
    /// Automaton states are in groups of eight; each group has its part of the buckets, so many.
    groups: usize,
    share: usize,
    /// While so many entries are made, time goes on by one.
    tick: usize,
    /// Entries in use, and entries that were made, as far as the threads have said.
    used: AtomicUsize,
    made: AtomicUsize,
}

/// Words 0 to 11 are states. Bytes of 12 and of the lower half of 13 are the automaton states of each;
/// without any an entry is free. Bytes of 14 and of the upper half of 13 say when each was made. The
/// last word is the version.
#[derive(Clone, Copy)]
struct Bucket<'t>(&'t [AtomicU64; WORDS]);

const WAYS: usize = 12;
const VERSION: usize = 15;
const WORDS: usize = 16;
const BUCKET_BYTES: usize = 8 * WORDS;
/// Buckets of the first table, and how much larger each table is than the one before.
const BUCKETS_MIN: usize = 1 << 7;
const GROWTH: usize = 2;
/// Tables of so many buckets are moved by all threads.
const PARALLEL_MIN: usize = 1 << 12;
/// After so many attempts a bucket that others change is left alone.
const ATTEMPTS: usize = 1 << 12;
/// While as many entries are made as there is room for, time goes on so far.
const TIMES: usize = 64;

/// Automaton states that are verified for one state: a group and a bit for each of its eight.
pub type Group = (u32, u8);

impl Cache {
    /// Of about so many bytes at most, which are taken as they are needed, for an automaton of so many
    /// states.
    pub fn new(bytes_max: usize, automaton: usize) -> Self {
        let groups = automaton.div_ceil(8).max(1);
        let least = BUCKETS_MIN.max(groups);
        Cache {
            table: RwLock::new(Table::new(least, groups)),
            buckets_max: least.max(bytes_max / BUCKET_BYTES),
            is_short: AtomicBool::new(false),
            growing: Mutex::new(()),
            bytes: AtomicUsize::new(least * BUCKET_BYTES),
        }
    }

    /// The table, which does not grow as long as anybody has it.
    pub fn table(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Entries that there may be: those of the largest table, or of this one if there is no room for a
    /// larger one.
    pub fn capacity(&self, table: &Table, room: usize) -> usize {
        let may_grow = room >= self.buckets_next(table) * BUCKET_BYTES;
        if may_grow { self.buckets_max * WAYS } else { table.capacity() }
    }

    /// A thread has put so many entries more, and filled so many. Says whether the table is to grow;
    /// it may if there are bytes for a larger one beside it.
    pub fn note(&self, table: &Table, made: usize, filled: usize, room: impl Fn() -> usize) -> bool {
        table.made.fetch_add(made, Ordering::Relaxed);
        let used = table.used.fetch_add(filled, Ordering::Relaxed) + filled;
        let is_short = used > table.capacity() / 8 * 5 && table.buckets < self.buckets_max;
        if is_short && room() >= self.buckets_next(table) * BUCKET_BYTES {
            self.is_short.store(true, Ordering::Relaxed);
        }
        self.is_short.load(Ordering::Relaxed)
    }

    fn buckets_next(&self, table: &Table) -> usize {
        (table.buckets * GROWTH).min(self.buckets_max)
    }

    /// Makes the table larger if it is almost full, on so many threads. Waits until nobody has it.
    pub fn grow(&self, threads: usize) {
        // One at a time: who waited for the table in vain would wait until it is to grow again.
        let turn = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_short.load(Ordering::Relaxed) {
            let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
            *table = table.moved(self.buckets_next(&table), threads);
            self.bytes.store(table.buckets * BUCKET_BYTES, Ordering::Relaxed);
            self.is_short.store(false, Ordering::Relaxed);
        }
        drop(turn);
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Forgets everything. Waits until nobody has the table.
    pub fn clear(&self) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        *table = Table::new(BUCKETS_MIN.max(table.groups), table.groups);
        self.is_short.store(false, Ordering::Relaxed);
        self.bytes.store(table.buckets * BUCKET_BYTES, Ordering::Relaxed);
    }
}

impl Table {
    fn new(buckets: usize, groups: usize) -> Self {
        let zero = || AtomicUsize::new(0);
        let words = AtomicU64::zeros((buckets + 1) * WORDS);
        let skipped = words.as_ptr().align_offset(BUCKET_BYTES).min(WORDS);
        let tick = (buckets * WAYS / TIMES).max(1);
        Table { words, skipped, buckets, groups, share: buckets / groups, tick, used: zero(), made: zero() }
    }

    fn capacity(&self) -> usize {
        self.buckets * WAYS
    }

    #[inline]
    fn at(&self, place: usize) -> Bucket<'_> {
        let start = self.skipped + place * WORDS;
        Bucket(self.words[start..start + WORDS].try_into().expect("so many words"))
    }

    #[inline]
    fn bucket(&self, state: Sprout, group: u32) -> Bucket<'_> {
        let place = (u128::from(hash(state)) * self.share as u128) >> 64;
        self.at(group as usize * self.share + place as usize)
    }

    /// Asks for the memory where a state will be looked for.
    pub fn prefetch(&self, state: Sprout) {
        if self.groups == 1 {
            let bucket = self.bucket(state, 0);
            prefetch(&bucket.0[0]);
            prefetch(&bucket.0[VERSION]);
        }
    }

    /// Whether no accepted run starts from the pair. "No" means that it is not known.
    pub fn is_verified(&self, state: Sprout, at: u32) -> bool {
        self.bucket(state, at / 8).mask(state) >> (at % 8) & 1 == 1
    }

    /// Remembers, for some time, that no accepted run starts from the state with these automaton
    /// states. Says whether it took a free entry.
    pub fn insert(&self, state: Sprout, (group, mask): Group) -> bool {
        let now = self.made.load(Ordering::Relaxed) / self.tick;
        self.bucket(state, group).insert(state, mask, now as u8)
    }

    /// A larger table with the same entries.
    fn moved(&self, buckets: usize, threads: usize) -> Table {
        let mut table = Table::new(buckets, self.groups);
        let (count, larger) = (self.share, table.share);
        // What is in one bucket goes into several that get nothing from others, or else one thread must do it.
        let is_apart = larger.is_multiple_of(count) && self.buckets >= PARALLEL_MIN;
        let used = AtomicUsize::new(0);
        share_out(if is_apart { threads } else { 1 }, count * self.groups, |places| {
            let mut appended = 0;
            for place in places {
                let bucket = self.at(place);
                let (mut masks, _) = bucket.bytes();
                let group = (place / count) as u32;
                for word in &bucket.0[..WAYS] {
                    let (state, mask) = (Sprout(word.load(Ordering::Relaxed)), masks as u8);
                    masks >>= 8;
                    if mask != 0 {
                        appended += usize::from(table.bucket(state, group).append(state, mask));
                    }
                }
            }
            used.fetch_add(appended, Ordering::Relaxed);
        });
        table.used = used;
        table
    }
}

#[inline]
fn hash(state: Sprout) -> u64 {
    let hash = state.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (hash ^ hash >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// How many entries of a bucket are in use: they are added one behind the other, and none is ever free again.
#[inline]
fn used(masks: u128) -> usize {
    (u128::BITS - masks.leading_zeros()).div_ceil(8) as usize
}

impl Bucket<'_> {
    /// The automaton states and the times of the entries, a byte for each.
    #[inline]
    fn bytes(&self) -> (u128, u128) {
        let word = |i: usize| u128::from(self.0[i].load(Ordering::Relaxed));
        let both = word(13);
        (word(12) | (both & 0xFFFF_FFFF) << 64, word(14) | both >> 32 << 64)
    }

    fn set_bytes(&self, masks: u128, times: u128) {
        self.0[12].store(masks as u64, Ordering::Relaxed);
        self.0[13].store((masks >> 64) as u64 | (times >> 64 << 32) as u64, Ordering::Relaxed);
        self.0[14].store(times as u64, Ordering::Relaxed);
    }

    #[inline]
    fn find(&self, state: Sprout, masks: u128) -> Option<usize> {
        let is_it = |(i, word): (usize, &AtomicU64)| {
            word.load(Ordering::Relaxed) == state.0 && (masks >> (8 * i)) as u8 != 0
        };
        self.0[..used(masks).min(WAYS)].iter().enumerate().position(is_it)
    }

    /// The automaton states that are verified for a state.
    fn mask(&self, state: Sprout) -> u8 {
        for _ in 0..ATTEMPTS {
            let version = self.0[VERSION].load(Ordering::Acquire);
            if version & 1 == 0 {
                let (masks, _) = self.bytes();
                let mask = self.find(state, masks).map_or(0, |i| (masks >> (8 * i)) as u8);
                fence(Ordering::Acquire);
                if self.0[VERSION].load(Ordering::Relaxed) == version {
                    return mask;
                }
            }
            std::hint::spin_loop();
        }
        0
    }

    /// Says whether it took a free entry.
    fn insert(&self, state: Sprout, mask: u8, now: u8) -> bool {
        let Some(version) = self.lock() else { return false };
        let (mut masks, mut times) = self.bytes();
        let free = (0..WAYS).find(|i| (masks >> (8 * i)) as u8 == 0);
        let (place, is_known) = match (self.find(state, masks), free) {
            (Some(place), _) => (place, true),
            (None, Some(place)) => (place, false),
            // The oldest one goes.
            (None, None) => {
                let age = |i: &usize| now.wrapping_sub((times >> (8 * i)) as u8);
                ((0..WAYS).max_by_key(age).expect("there are entries"), false)
            }
        };
        if is_known {
            masks |= u128::from(mask) << (8 * place);
        } else {
            self.0[place].store(state.0, Ordering::Relaxed);
            let put = |all: u128, byte: u8| all & !(0xFF << (8 * place)) | u128::from(byte) << (8 * place);
            (masks, times) = (put(masks, mask), put(times, now));
        }
        self.set_bytes(masks, times);
        self.0[VERSION].store(version + 2, Ordering::Release);
        !is_known && free.is_some()
    }

    /// Adds a state that is not there, while nobody else has the table, at time 0. Says whether there was
    /// a free entry.
    fn append(&self, state: Sprout, mask: u8) -> bool {
        let (masks, times) = self.bytes();
        let place = used(masks);
        if place >= WAYS {
            return self.insert(state, mask, 0);
        }
        self.0[place].store(state.0, Ordering::Relaxed);
        self.set_bytes(masks | u128::from(mask) << (8 * place), times);
        true
    }

    /// The version, which is odd from now on.
    fn lock(&self) -> Option<u64> {
        for _ in 0..ATTEMPTS {
            let version = self.0[VERSION].load(Ordering::Relaxed) & !1;
            let locked = self.0[VERSION].compare_exchange_weak(
                version,
                version + 1,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            if locked.is_ok() {
                // What is written from now on is not seen with the version before.
                fence(Ordering::Release);
                return Some(version);
            }
            std::hint::spin_loop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(cache: &Cache, state: u64, at: u32) {
        let table = cache.table();
        let filled = table.insert(Sprout(state), (at / 8, 1 << (at % 8)));
        let is_short = cache.note(&table, 1, filled.into(), || usize::MAX);
        drop(table);
        if is_short {
            cache.grow(2);
        }
    }

    fn has(cache: &Cache, state: u64, at: u32) -> bool {
        cache.table().is_verified(Sprout(state), at)
    }

    #[test]
    fn tables_grow() {
        let cache = Cache::new(1 << 21, 2);
        for state in 0..1000 {
            put(&cache, state, 0);
        }
        assert!(cache.bytes() <= 1 << 16);
        for state in 0..100_000 {
            put(&cache, state, 0);
            assert!(state % 128 != 0 || has(&cache, state, 0), "what was just put is there");
        }
        assert_eq!(cache.bytes(), 1 << 21);
        let found = (0..100_000).filter(|&state| has(&cache, state, 0)).count();
        assert!(found > 98_500, "{found}");
        cache.clear();
        assert!((0..100_000).all(|state| !has(&cache, state, 0)));
    }

    #[test]
    fn there_must_be_room_to_grow() {
        let cache = Cache::new(1 << 21, 2);
        let table = cache.table();
        assert!(!cache.note(&table, 1000, 1000, || (1 << 15) - 1));
        assert!(cache.note(&table, 0, 0, || 1 << 15));
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let cache = Cache::new(1 << 16, 1);
        for state in 0..100_000 {
            put(&cache, state, 0);
        }
        let kept = (100_000 - 3000..100_000).filter(|&state| has(&cache, state, 0)).count();
        assert!(kept > 2950, "{kept}");
    }

    #[test]
    fn keys_are_exact_whatever_is_forgotten() {
        for bytes in [0, 64, 1 << 12, 1 << 20, 1 << 24] {
            let cache = Cache::new(bytes, 300);
            let pair = |i: u64| (i.wrapping_mul(0x1234_5678_9abc_def1) >> 7, (i % 300) as u32);
            let is_put = |i: u64| i % 3 != 0;
            for i in (0..3000).filter(|&i| is_put(i)) {
                put(&cache, pair(i).0, pair(i).1);
            }
            let found = (0..3000).filter(|&i| has(&cache, pair(i).0, pair(i).1)).collect::<Vec<_>>();
            assert!(found.iter().all(|&i| is_put(i)));
            assert!(bytes < 1 << 20 || found.len() > 1700, "{}", found.len());
            assert!(cache.bytes() <= bytes.max(1 << 14));
            assert!(!found.is_empty());
        }
    }

    #[test]
    fn automaton_states_are_kept_apart() {
        let cache = Cache::new(1 << 12, 10_000);
        put(&cache, 0, 0);
        put(&cache, 0, 33);
        put(&cache, 0, 9999);
        let known: Vec<u32> = (0..10_000).filter(|&at| has(&cache, 0, at)).collect();
        assert_eq!(known, [0, 33, 9999]);
    }

    #[test]
    fn threads_never_read_what_nobody_put() {
        // One bucket; even states have bit 0, odd ones bit 1.
        let cache = Cache::new(0, 1);
        let table = cache.table();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for thread in 0..2u64 {
                let (table, is_over) = (&table, &is_over);
                scope.spawn(move || {
                    for i in 0..20_000 {
                        let state = (i * 7 + thread) % 100;
                        table.at(0).insert(Sprout(state), 1 << (state % 2), (i / 50) as u8);
                    }
                    is_over.store(true, Ordering::Relaxed);
                });
            }
            while !is_over.load(Ordering::Relaxed) {
                for state in 0..100 {
                    let mask = table.at(0).mask(Sprout(state));
                    assert!(mask == 0 || mask == 1 << (state % 2), "{state}: {mask}");
                }
            }
        });
    }
}
