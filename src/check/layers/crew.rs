//! The threads, each with its region, and the memory they share.

use crate::base::{Interrupt, by_own_threads};
use crate::check::Limits;
use crate::graph::{Region, Stop};
use rayon::ThreadPool;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One region per thread.
pub struct Crew<'a, R> {
    pub regions: Vec<R>,
    pub pool: Option<&'a ThreadPool>,
    pub budget: &'a Budget<'a>,
    pub limits: &'a Limits,
}

/// How much memory may be used, and for what.
pub struct Budget<'a> {
    /// All of it.
    pub bytes_max: Option<usize>,
    /// What a thread may use for one sub-state space, whatever there is.
    pub part_max: Option<usize>,
    pub threads: usize,
    /// Bytes that the regions take.
    pub regions: Box<dyn Fn() -> usize + Sync + 'a>,
    /// Tells the regions how much they may take.
    pub confine: Box<dyn Fn(usize) + Sync + 'a>,
    /// Bytes of verified pairs.
    pub verified: Box<dyn Fn() -> usize + Sync + 'a>,
    /// Bytes of the boundaries.
    pub held: AtomicUsize,
}

impl Budget<'_> {
    fn taken(&self) -> usize {
        (self.regions)() + (self.verified)() + self.held.load(Ordering::Relaxed)
    }

    /// What others have taken is no longer for the regions. To be called when that has changed.
    pub fn settle(&self) {
        if let Some(all) = self.bytes_max {
            let others = (self.verified)() + self.held.load(Ordering::Relaxed);
            // What was given back may still be in pieces.
            (self.confine)((all - all / 16).saturating_sub(others));
        }
    }

    /// Bytes that may be taken beside what is in use. Some are left, since tables that grow take more
    /// for a moment.
    pub fn room(&self) -> usize {
        self.bytes_max.map_or(usize::MAX, |all| (all - all / 8).saturating_sub(self.taken()))
    }

    /// Bytes that a thread may use now for open pairs.
    pub fn share(&self) -> usize {
        self.bytes_max.map_or(usize::MAX, |all| all.saturating_sub(self.taken()) / self.threads)
    }

    /// Whether nothing more should be taken.
    pub fn is_exhausted(&self) -> bool {
        self.room() == 0
    }

    /// Whether there would be clearly more if everything was forgotten.
    pub fn is_crowded(&self) -> bool {
        self.bytes_max.is_some_and(|all| (self.regions)() + (self.verified)() > all / 2)
    }

    /// Whether so many bytes may be used beside what is in use.
    pub fn check(&self, bytes: usize) -> Result<(), Stop> {
        match self.bytes_max {
            Some(all) if self.taken() + bytes > all => Err(Stop::Interrupted(Interrupt::Memory)),
            _ => Ok(()),
        }
    }
}

/// Items that a thread takes at a time.
const CHUNK: usize = 64;
/// Chunks whose results are waiting at the same time.
const BATCH: usize = 128;

impl<R: Region + Send> Crew<'_, R> {
    /// Works on chunks of `0..count` on all threads and takes the results in order.
    pub fn in_order<T: Send>(
        &mut self,
        count: usize,
        work: impl Fn(&mut R, Range<usize>) -> Result<T, Stop> + Sync,
        mut take: impl FnMut(&Budget, Range<usize>, T) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let chunks: Vec<Range<usize>> =
            (0..count).step_by(CHUNK).map(|start| start..(start + CHUNK).min(count)).collect();
        let (limits, budget) = (self.limits, self.budget);
        let work = |region: &mut R, chunk: Range<usize>| {
            limits.check()?;
            work(region, chunk)
        };
        for batch in chunks.chunks(BATCH) {
            let Some(pool) = self.pool.filter(|_| batch.len() > 1) else {
                for chunk in batch {
                    let result = work(&mut self.regions[0], chunk.clone())?;
                    take(budget, chunk.clone(), result)?;
                }
                continue;
            };
            // Chunks are claimed in order, so when one has to stop, all before it are done.
            let (next, stopped) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
            let claim = |region: &mut R| {
                let mut mine = Vec::new();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= batch.len() || index > stopped.load(Ordering::Relaxed) {
                        return mine;
                    }
                    let result = work(region, batch[index].clone());
                    if result.is_err() {
                        stopped.fetch_min(index, Ordering::Relaxed);
                    }
                    mine.push((index, result));
                }
            };
            let results = by_own_threads(pool, &mut self.regions, |_, region| claim(region));
            let mut results: Vec<(usize, Result<T, Stop>)> = results.into_iter().flatten().collect();
            results.sort_unstable_by_key(|(index, _)| *index);
            for (index, result) in results {
                take(budget, batch[index].clone(), result?)?;
            }
        }
        Ok(())
    }
}
