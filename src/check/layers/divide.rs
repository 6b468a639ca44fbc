//! A check in progress: boundary after boundary, then the final layer.

use super::boundary::{Boundary, Entry, Level};
use super::cache::Cache;
use super::checkpoint::{Checkpoint, CheckpointError, Saving};
use super::crew::Crew;
use super::last;
use super::meter::Meter;
use super::part::{Shared, Suffix};
use super::post::{Census, post, read};
use super::queue::{Halted, Queue, Task, Violation};
use super::reader::Reader;
use super::{Layer, Layers};
use crate::graph::{Region, Seed, Stop};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A check in progress.
pub struct Check<'c, R> {
    pub crew: Crew<'c, R>,
    pub reader: &'c Reader,
    pub meter: &'c Meter<'c>,
    checkpoint: Option<Checkpoint>,
    /// From the initial state on.
    boundaries: Vec<(Arc<Boundary>, Census)>,
    /// Places of the last boundary that an earlier run has searched.
    done: Option<Vec<bool>>,
}

/// States at a boundary for each thread, and the depth that is enough whatever is there.
const AUTO_STATES: usize = 64;
const AUTO_DEPTH_MAX: u32 = 64;

impl<'c, R: Region + Send> Check<'c, R> {
    pub fn new(crew: Crew<'c, R>, reader: &'c Reader, meter: &'c Meter<'c>) -> Self {
        Check { crew, reader, meter, checkpoint: None, boundaries: Vec::new(), done: None }
    }

    /// Saves from now on, and goes on with what is there if it is to.
    pub fn open(&mut self, saving: Saving) -> Result<(), CheckpointError> {
        let (checkpoint, (boundaries, done)) = Checkpoint::open(saving, &mut self.crew.regions[0])?;
        let bytes: usize = boundaries.iter().map(|(boundary, _)| boundary.level.bytes()).sum();
        self.crew.budget.held.fetch_add(bytes, Ordering::Relaxed);
        (self.checkpoint, self.boundaries, self.done) = (Some(checkpoint), boundaries, done);
        Ok(())
    }

    /// All layers but the last.
    pub fn divide(&mut self, layers: &Layers) -> Result<Option<Violation>, Stop> {
        if self.boundaries.is_empty() {
            let region = &mut self.crew.regions[0];
            let initial = region.initial()?;
            let seed = region.seed(initial)?;
            let starts = self.reader.automaton.initial.iter().copied();
            if let Some(at) = starts.clone().find(|&at| self.reader.accepts_all[at as usize]) {
                return Ok(Some(self.end(seed, Entry { at, origin: 0 }, 0)));
            }
            self.add(Level::single(seed, starts), 0)?;
        }
        let depths = match layers {
            Layers::Depths(depths) => depths.iter().map(|&depth| Some(depth)).collect(),
            Layers::Auto => vec![None],
        };
        for &depth in depths.iter().skip(self.boundaries.len() - 1) {
            let violation = self.layer(depth)?;
            if violation.is_some() {
                return Ok(violation);
            }
        }
        Ok(None)
    }

    /// One layer of so many steps, or as many as are needed to have enough states.
    fn layer(&mut self, steps: Option<u32>) -> Result<Option<Violation>, Stop> {
        let (before, census) = self.boundaries.last().cloned().expect("there is a boundary");
        self.meter.begin(self.boundaries.len(), before.depth, census.pairs, 0);
        let mut level = before.level.restarted(None);
        let enough = AUTO_STATES * self.crew.budget.threads;
        let mut taken = 0;
        while !level.is_empty()
            && steps.map_or(level.len() < enough && taken < AUTO_DEPTH_MAX, |steps| taken < steps)
        {
            let next = post(&level, &mut self.crew, self.reader, self.meter, true)?;
            taken += 1;
            if let Some((seed, entry)) = next.end {
                return Ok(Some(self.end(seed, entry, before.depth + taken)));
            }
            level = next.level;
        }
        self.meter.finish(census.pairs);
        // Where all runs end early, the layer keeps the depth that was asked for.
        self.add(level, before.depth + steps.unwrap_or(taken))?;
        Ok(None)
    }

    /// A pair from which everything is accepted, as a violation.
    fn end(&self, seed: Seed, entry: Entry, depth: u32) -> Violation {
        let before = self.boundaries.last().map(|(boundary, _)| boundary.clone());
        let level = Level { seeds: vec![seed], ends: vec![1], entries: vec![entry] };
        let boundary = Arc::new(Boundary { level, depth, before });
        let suffix = Suffix { at: entry.at, seeds: vec![seed], back: None };
        Violation { task: Task { path: vec![0], boundary }, suffix }
    }

    /// The next boundary.
    fn add(&mut self, mut level: Level, depth: u32) -> Result<(), Stop> {
        let census = read(&mut level, &mut self.crew, self.reader)?;
        let before = self.boundaries.last().map(|(boundary, _)| boundary.clone());
        self.crew.budget.held.fetch_add(level.bytes(), Ordering::Relaxed);
        let boundary = Arc::new(Boundary { level, depth, before });
        if let Some(checkpoint) = &self.checkpoint {
            checkpoint.save_boundary(self.boundaries.len(), &boundary, census, &mut self.crew.regions[0])?;
        }
        self.boundaries.push((boundary, census));
        Ok(())
    }

    /// The final layer.
    pub fn conquer(
        &mut self,
        cache: &Cache,
        splits: &mut usize,
    ) -> Result<(Option<Violation>, Option<Halted>), Stop> {
        let (boundary, _) = self.boundaries.last().cloned().expect("there is a boundary");
        let (count, boundaries) = (boundary.level.len(), self.boundaries.len());
        let done = self.done.take().unwrap_or_else(|| vec![false; count]);
        self.meter.begin(boundaries, boundary.depth, count, done.iter().filter(|&&done| done).count());
        let Check { crew, reader, meter, checkpoint, .. } = self;
        let checkpoint = &*checkpoint;
        let shared = Shared { reader, cache, meter, budget: crew.budget, limits: crew.limits };
        let save = |queue: &Queue| match checkpoint {
            Some(checkpoint) => checkpoint.save_done(boundaries, || queue.done(), false),
            None => Ok(()),
        };
        let last = last::search(crew, shared, boundary, done, &save);
        *splits = last.splits;
        Ok((last.violation, last.halted))
    }

    pub fn layers(&self) -> Vec<Layer> {
        let layer = |pair: &[(Arc<Boundary>, Census)]| {
            let ((start, before), (end, census)) = (&pair[0], &pair[1]);
            Layer { steps: end.depth - start.depth, spaces: before.pairs, end: *census }
        };
        self.boundaries.windows(2).map(layer).collect()
    }
}
