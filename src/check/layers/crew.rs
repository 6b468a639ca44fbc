//! The threads, each with its region, and the memory they share.

use crate::base::Interrupt;
use crate::check::Limits;
use crate::graph::{Region, Stop};
use rayon::ThreadPool;
use rayon::prelude::*;
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
    /// All of it, without the table of verified pairs.
    pub bytes_max: Option<usize>,
    /// What a thread may use for one sub-state space, whatever there is.
    pub part_max: Option<usize>,
    pub threads: usize,
    /// Bytes that the regions share.
    pub shared: &'a (dyn Fn() -> usize + Sync),
    /// Bytes of the boundaries.
    pub held: AtomicUsize,
}

impl Budget<'_> {
    /// Bytes that a thread may use now.
    pub fn share(&self) -> usize {
        let taken = (self.shared)() + self.held.load(Ordering::Relaxed);
        let share = self.bytes_max.map_or(usize::MAX, |all| all.saturating_sub(taken) / self.threads);
        self.part_max.map_or(share, |own| own.min(share))
    }

    /// Whether hardly anything is left for sub-state spaces, however small they are.
    pub fn is_exhausted(&self) -> bool {
        let taken = (self.shared)() + self.held.load(Ordering::Relaxed);
        self.bytes_max.is_some_and(|all| taken > all - all / 8)
    }

    /// Whether so many bytes may be used beside what all share and hold.
    pub fn check(&self, bytes: usize) -> Result<(), Stop> {
        let taken = (self.shared)() + self.held.load(Ordering::Relaxed) + bytes;
        match self.bytes_max {
            Some(all) if taken > all => Err(Stop::Interrupted(Interrupt::Memory)),
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
            if region.own_bytes() > budget.share() {
                region.clear();
            }
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
            let regions = &mut self.regions;
            let mut results: Vec<(usize, Result<T, Stop>)> =
                pool.install(|| regions.par_iter_mut().with_max_len(1).flat_map_iter(claim).collect());
            results.sort_unstable_by_key(|(index, _)| *index);
            for (index, result) in results {
                take(budget, batch[index].clone(), result?)?;
            }
        }
        Ok(())
    }
}
