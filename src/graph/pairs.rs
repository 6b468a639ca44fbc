//! A table of pairs of words that threads share without locks: pairs are found or put, and never
//! leave. The number of a pair is where it stands in a dense array.
//!
//! The index is an open hash table of 32-bit slots in cache lines. A slot holds the pair's number
//! plus one and, in the bits that numbers do not need yet, some bits of its hash, so that a probe
//! hardly ever reads a wrong pair. Searching starts somewhere in a line, goes round the line and
//! on to the next one. Pairs are compared in full.
//!
//! To put a pair, a thread takes a number (one of many threads: a batch of them), writes the pair, and
//! then publishes the number by one compare-and-swap of an empty slot (release; readers acquire). Who
//! loses keeps the number for the next time. As slots are filled once and in the order of the search, no pair has two
//! numbers.
//!
//! Nothing grows while threads are at work: [`Pairs::find_or_put`] says [`Full`], and whoever has
//! the table for himself calls [`Pairs::grow`]. The index is then made anew from the array, in
//! its old memory and some more.

use std::ops::Range;

use super::segments::Segments;
use super::sync::{AtomicU32, AtomicU64, LINE, Line, Ordering, prefetch};

/// The table must grow before it takes another pair; then try again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// There are as many pairs as numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMany;

/// Numbers that a thread has taken and not used.
#[derive(Debug)]
pub struct Spare {
    next: u32,
    end: u32,
    /// So many are taken at a time.
    batch: u32,
}

impl Spare {
    /// For one of several threads at work: numbers are taken many at a time, so that threads neither
    /// meet at the counter nor write to the same cache lines.
    pub fn of_many() -> Spare {
        Spare { batch: BATCH, ..Spare::default() }
    }

    /// Gives the numbers up; they stay holes.
    pub fn forget(&mut self) {
        self.next = self.end;
    }
}

impl Default for Spare {
    /// For one thread: all numbers are used, in order.
    fn default() -> Spare {
        Spare { next: 0, end: 0, batch: 1 }
    }
}

/// Eight cache lines of pairs.
const BATCH: u32 = 64;
/// While the index is made, so many pairs ahead are asked for.
const AHEAD: usize = 16;

/// What stands at numbers that are not in use. As a pair it may only have the number 0.
pub const HOLE: u64 = u64::MAX;

/// The index is made larger when more than this part of its slots is in use.
const LOAD: (u64, u64) = (13, 16);
const LINES_MIN: usize = 2;
/// An index with fewer lines grows faster: time counts more than memory there.
const SMALL: usize = 1 << 12;

/// See the head of this file.
pub struct Pairs {
    entries: Segments<AtomicU64>,
    index: Segments<Line>,
    /// Lines of the index that are in use.
    lines: usize,
    /// Numbers taken so far.
    count: AtomicU32,
    /// Numbers that may be taken before the table must grow.
    limit: u32,
    /// Low bits of a slot that hold a number plus one.
    bits: u32,
    /// Never more pairs than this.
    max: u32,
}

impl Pairs {
    /// A table for at most `max` pairs (below `u32::MAX`).
    pub fn new(max: u32) -> Pairs {
        let mut table = Pairs {
            entries: Segments::new(),
            index: Segments::new(),
            lines: 0,
            count: AtomicU32::new(0),
            limit: 0,
            bits: 0,
            max,
        };
        table.resize(LINES_MIN);
        table
    }

    /// Numbers taken so far, holes included.
    #[inline]
    pub fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    pub fn is_full(&self) -> bool {
        self.count() >= self.limit
    }

    /// Numbers that may be taken before the table must grow.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// The pair with a number.
    #[inline(always)]
    pub fn get(&self, number: u32) -> (u32, u32) {
        let pair = self.entries.get(number).load(Ordering::Relaxed);
        (pair as u32, (pair >> 32) as u32)
    }

    /// The number of a pair, and whether it is new.
    #[inline]
    pub fn find_or_put(&self, spare: &mut Spare, left: u32, right: u32) -> Result<(u32, bool), Full> {
        let pair = join(left, right);
        self.find_or_put_hashed(spare, pair, hash(pair))
    }

    /// The same for a pair as one word, with its hash.
    pub fn find_or_put_hashed(&self, spare: &mut Spare, pair: u64, hash: u64) -> Result<(u32, bool), Full> {
        let (mask, tag) = self.marks(hash);
        let mut probe = Probe::new(hash, self.lines);
        loop {
            let line = &self.line(probe.line).0;
            for step in 0..LINE {
                let slot = &line[(probe.start + step) % LINE];
                let mut found = slot.load(Ordering::Acquire);
                if found == 0 {
                    match self.publish(spare, pair, tag, slot)? {
                        Ok(number) => return Ok((number, true)),
                        Err(other) => found = other,
                    }
                }
                if found & !mask == tag {
                    let number = (found & mask) - 1;
                    if self.entries.get(number).load(Ordering::Relaxed) == pair {
                        return Ok((number, false));
                    }
                }
            }
            probe.advance();
        }
    }

    /// Takes a number for a pair and writes it to an empty slot; otherwise what somebody else
    /// wrote there.
    #[inline(never)]
    fn publish(
        &self,
        spare: &mut Spare,
        pair: u64,
        tag: u32,
        slot: &AtomicU32,
    ) -> Result<Result<u32, u32>, Full> {
        let number = self.take(spare)?;
        self.entries.get(number).store(pair, Ordering::Relaxed);
        let put = slot.compare_exchange(0, tag | (number + 1), Ordering::Release, Ordering::Acquire);
        Ok(match put {
            Ok(_) => {
                spare.next += 1;
                Ok(number)
            }
            Err(other) => {
                self.entries.get(number).store(HOLE, Ordering::Relaxed);
                Err(other)
            }
        })
    }

    #[inline(always)]
    fn line(&self, line: usize) -> &Line {
        self.index.get(line as u32)
    }

    #[inline(always)]
    fn slot(&self, place: usize) -> &AtomicU32 {
        &self.line(place / LINE).0[place % LINE]
    }

    /// The first place on the way of a search whose slot has a certain value.
    fn place_with(&self, hash: u64, value: u32) -> usize {
        let mut probe = Probe::new(hash, self.lines);
        loop {
            for step in 0..LINE {
                let place = probe.line * LINE + (probe.start + step) % LINE;
                if self.slot(place).load(Ordering::Relaxed) == value {
                    return place;
                }
            }
            probe.advance();
        }
    }

    /// Asks for the memory of a pair.
    #[inline]
    pub fn prefetch_number(&self, number: u32) {
        prefetch(self.entries.get(number));
    }

    /// Asks for the memory where the search for a pair will start.
    #[inline]
    pub fn prefetch(&self, left: u32, right: u32) {
        prefetch(self.line(Probe::new(hash(join(left, right)), self.lines).line));
    }

    /// Asks for the pair that the search for a pair will probably find. The memory where it
    /// starts should be there already.
    #[inline]
    pub fn prefetch_entry(&self, left: u32, right: u32) {
        let hash = hash(join(left, right));
        let (mask, tag) = self.marks(hash);
        let probe = Probe::new(hash, self.lines);
        let line = &self.line(probe.line).0;
        for step in 0..LINE {
            let found = line[(probe.start + step) % LINE].load(Ordering::Relaxed);
            if found == 0 {
                return;
            }
            if found & !mask == tag {
                return prefetch(self.entries.get((found & mask) - 1));
            }
        }
    }

    /// The mask of a slot's number, and the other bits that a pair's slot has.
    #[inline(always)]
    fn marks(&self, hash: u64) -> (u32, u32) {
        let mask = ((1u64 << self.bits) - 1) as u32;
        (mask, (hash << self.bits) as u32)
    }

    /// A number that is not in use; it stays the next one of the thread until it is.
    #[inline]
    fn take(&self, spare: &mut Spare) -> Result<u32, Full> {
        if spare.next == spare.end {
            let mut count = self.count.load(Ordering::Relaxed);
            loop {
                let end = count.saturating_add(spare.batch).min(self.limit);
                if count >= end {
                    return Err(Full);
                }
                match self.count.compare_exchange_weak(count, end, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => {
                        (spare.next, spare.end) = (count, end);
                        break;
                    }
                    Err(now) => count = now,
                }
            }
            // A new index must not have those that are not in use.
            (spare.next..spare.end)
                .for_each(|number| self.entries.get(number).store(HOLE, Ordering::Relaxed));
        }
        Ok(spare.next)
    }

    /// Makes room for half as many pairs more, or for three times as many where there are few.
    pub fn grow(&mut self) -> Result<(), TooMany> {
        self.enlarge()?;
        self.index(0..self.lines);
        Ok(())
    }

    /// The same, with an empty index: [`Pairs::index`] must follow for all lines.
    pub fn enlarge(&mut self) -> Result<(), TooMany> {
        if self.limit >= self.max {
            return Err(TooMany);
        }
        self.resize(self.lines_next());
        Ok(())
    }

    /// Lines of the index.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Puts the pairs whose search starts in some lines of the index there. (Threads that share out the lines
    /// hardly ever write to the same ones, as they would if they shared out the pairs.)
    pub fn index(&self, lines: Range<usize>) {
        // Those whose memory has been asked for: hashes and what to write.
        let mut waiting = [(0, 0); AHEAD];
        let mut count = 0;
        for number in 0..self.count() {
            let pair = self.entries.get(number).load(Ordering::Relaxed);
            let hash = hash(pair);
            let line = Probe::new(hash, self.lines).line;
            if !lines.contains(&line) || pair == HOLE && number != 0 {
                continue;
            }
            prefetch(self.line(line));
            let next = (hash, self.marks(hash).1 | (number + 1));
            let (hash, value) = std::mem::replace(&mut waiting[count % AHEAD], next);
            if count >= AHEAD {
                self.fill(hash, value);
            }
            count += 1;
        }
        for i in count.saturating_sub(AHEAD)..count {
            let (hash, value) = waiting[i % AHEAD];
            self.fill(hash, value);
        }
    }

    /// Writes to the first empty slot on the way of a search.
    fn fill(&self, hash: u64, value: u32) {
        let put = || {
            let slot = self.slot(self.place_with(hash, 0));
            slot.compare_exchange(0, value, Ordering::Relaxed, Ordering::Relaxed)
        };
        while put().is_err() {}
    }

    fn lines_next(&self) -> usize {
        let lines = self.lines;
        if lines < SMALL { 3 * lines } else { lines + lines.div_ceil(2) }
    }

    /// Bytes that [`Pairs::grow`] will take on top of what is taken now, at its peak.
    pub fn growth(&self) -> usize {
        let limit = limit(self.lines_next(), self.max);
        (self.lines_next() - self.lines) * LINE * 4 + (limit - self.limit.min(limit)) as usize * 8
    }

    /// Bytes in use: pairs and index.
    pub fn bytes(&self) -> usize {
        self.count() as usize * 8 + self.lines * LINE * 4
    }

    fn resize(&mut self, lines: usize) {
        // What is there already is used again, so that nothing is returned that may not be reused.
        for line in 0..self.lines {
            self.line(line).0.iter().for_each(|slot| slot.store(0, Ordering::Relaxed));
        }
        self.index.reserve(lines as u64);
        self.lines = lines;
        self.limit = limit(lines, self.max);
        self.bits = 32 - self.limit.leading_zeros();
        self.entries.reserve(self.limit.into());
    }

    /// The place of the slot of a pair that is in the table.
    pub fn place(&self, number: u32) -> usize {
        let hash = hash(self.entries.get(number).load(Ordering::Relaxed));
        self.place_with(hash, self.marks(hash).1 | (number + 1))
    }

    /// Asks for the memory where the slot of a pair that is in the table will be looked for.
    #[inline]
    pub fn prefetch_place(&self, number: u32) {
        let (left, right) = self.get(number);
        self.prefetch(left, right);
    }

    /// Gives the pair whose slot is at `place` another number. When this has been done for all
    /// pairs concerned, with places looked up before, [`Pairs::cut`] drops the numbers left over.
    pub fn renumber(&self, place: usize, (left, right): (u32, u32), number: u32) {
        let pair = join(left, right);
        self.entries.get(number).store(pair, Ordering::Relaxed);
        self.slot(place).store(self.marks(hash(pair)).1 | (number + 1), Ordering::Relaxed);
    }

    /// Forgets the numbers from `count` on; none of them may be in the index.
    pub fn cut(&mut self, count: u32) {
        self.count = AtomicU32::new(count);
    }
}

fn limit(lines: usize, max: u32) -> u32 {
    let slots = (lines * LINE) as u64;
    (slots * LOAD.0 / LOAD.1).min(max.into()) as u32
}

#[inline(always)]
pub fn join(left: u32, right: u32) -> u64 {
    u64::from(left) | u64::from(right) << 32
}

#[inline(always)]
pub fn hash(pair: u64) -> u64 {
    // One multiplication whose halves are folded: every bit of the result depends on every
    // bit of the pair.
    let product = u128::from(pair ^ 0x2d35_8dcc_aa6c_78a5) * 0x9e37_79b9_7f4a_7c15_u128;
    (product as u64) ^ (product >> 64) as u64
}

/// The lines that a search visits, each from the same place on and round.
struct Probe {
    line: usize,
    start: usize,
    lines: usize,
}

impl Probe {
    #[inline(always)]
    fn new(hash: u64, lines: usize) -> Probe {
        let line = ((u128::from(hash) * lines as u128) >> 64) as usize;
        Probe { line, start: (hash >> 28) as usize % LINE, lines }
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.line += 1;
        if self.line == self.lines {
            self.line = 0;
        }
    }
}
