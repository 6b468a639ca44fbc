//! A check in progress: boundary after boundary, then the final layer.

use super::boundary::{Boundary, Entry, Level};
use super::cache::Cache;
use super::checkpoint::{Checkpoint, CheckpointError, Saved, Saving};
use super::crew::Crew;
use super::last;
use super::meter::Meter;
use super::nodes::{LeadsTo, Nodes};
use super::part::{Shared, Suffix};
use super::post::{Census, post, read};
use super::queue::{Halted, Queue, Task, Violation};
use super::reader::Reader;
use super::rounds::Rounds;
use super::turn::Turn;
use super::{Layer, Layers};
use crate::base::Interrupt;
use crate::graph::{Region, Sprout, Stop};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A check in progress.
pub struct Check<'c, R> {
    pub crew: Crew<'c, R>,
    pub reader: &'c Reader,
    pub meter: &'c Meter<'c>,
    /// The formula, if its sub-state spaces are counted as the authors' tool does.
    leads_to: Option<&'c LeadsTo>,
    /// Makes the regions forget.
    pub forget: &'c (dyn Fn() + Sync),
    checkpoint: Option<Checkpoint>,
    /// From the initial state on.
    pub boundaries: Vec<(Arc<Boundary>, Census)>,
    /// Places of the last boundary that have been searched.
    pub done: Option<Vec<bool>>,
}

/// States at a boundary for each thread, and the depth that is enough whatever is there.
const AUTO_STATES: usize = 64;
const AUTO_DEPTH_MAX: u32 = 64;

impl<'c, R: Region + Send> Check<'c, R> {
    pub fn new(
        crew: Crew<'c, R>,
        reader: &'c Reader,
        meter: &'c Meter<'c>,
        leads_to: Option<&'c LeadsTo>,
        forget: &'c (dyn Fn() + Sync),
    ) -> Self {
        Check { crew, reader, meter, leads_to, forget, checkpoint: None, boundaries: Vec::new(), done: None }
    }

    /// Saves from now on, and goes on with what is there if it is to and there is room for it.
    pub fn open(&mut self, saving: Saving) -> Result<Result<(), Stop>, CheckpointError> {
        let opened = Checkpoint::open(saving, &mut self.crew.regions[0], self.forget)?;
        let (checkpoint, saved) = match opened {
            Ok(opened) => opened,
            Err(stop) => return Ok(Err(stop)),
        };
        let Saved { boundaries, done, is_met } = saved;
        if is_met {
            self.meter.set_met();
        }
        self.checkpoint = Some(checkpoint);
        if !boundaries.is_empty() {
            // Only the last one is of use now, and the store has all of them.
            (self.forget)();
        }
        self.resume(boundaries, done);
        Ok(Ok(()))
    }

    /// Goes on with what has been done elsewhere.
    pub fn resume(&mut self, boundaries: Vec<(Arc<Boundary>, Census)>, done: Option<Vec<bool>>) {
        let bytes: usize = boundaries.iter().map(|(boundary, _)| boundary.level.bytes()).sum();
        self.crew.budget.held.fetch_add(bytes, Ordering::Relaxed);
        self.crew.budget.settle();
        (self.boundaries, self.done) = (boundaries, done);
    }

    /// All layers but the last.
    pub fn divide(&mut self, layers: &Layers) -> Result<Option<Violation>, Stop> {
        if self.boundaries.is_empty() {
            let initial = self.crew.regions[0].initial()?;
            let starts = self.reader.automaton.initial.iter().copied();
            if let Some(at) = starts.clone().find(|&at| self.reader.accepts_all[at as usize]) {
                return Ok(Some(self.end(initial, Entry { at, origin: 0 }, 0)?));
            }
            self.add(Level::single(initial, starts), 0, 0, None)?;
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
        let mut level = before.level.restarted(None).map(|seed| self.crew.regions[0].plant(seed))?;
        let (reader, meter) = (self.reader, self.meter);
        let (spaces, mut nodes) = self.spaces(&before, &level, census)?;
        let enough = AUTO_STATES * self.crew.budget.threads;
        let mut taken = 0;
        let mut rounds = Rounds::default();
        while !level.is_empty()
            && steps.map_or(level.len() < enough && taken < AUTO_DEPTH_MAX, |steps| taken < steps)
        {
            let step = |level: &Level<Sprout>, crew: &mut Crew<R>| {
                post(level, crew, reader, meter, true, nodes.as_ref())
            };
            let next = match step(&level, &mut self.crew) {
                Err(Stop::Interrupted(Interrupt::Memory)) => {
                    // The levels before are of no use any more.
                    rounds.settle(&mut level);
                    self.forget_all_but(&mut level)?;
                    step(&level, &mut self.crew)?
                }
                next => next?,
            };
            taken += 1;
            if let Some((state, entry)) = next.end {
                let mut end = Level { seeds: vec![state], ends: vec![1], entries: vec![entry] };
                rounds.settle(&mut end);
                return Ok(Some(self.end(state, end.entries[0], before.depth + taken)?));
            }
            level = next.level;
            if let Some(nodes) = &mut nodes {
                nodes.firsts = next.firsts;
            }
            if let Some(later) = steps.and_then(|steps| rounds.skip(&mut level, taken, steps)) {
                // Who was first is not known any more.
                (taken, nodes) = (later, None);
            }
        }
        rounds.settle(&mut level);
        self.meter.finish(census.pairs);
        // Where all runs end early, the layer keeps the depth that was asked for.
        self.add(level, before.depth.saturating_add(steps.unwrap_or(taken)), spaces, nodes)?;
        Ok(None)
    }

    /// How many sub-state spaces a layer has that begins with a boundary, and if some of them may be one,
    /// what tells. The first layer has one, that of the initial state.
    fn spaces(
        &mut self,
        before: &Boundary,
        level: &Level<Sprout>,
        census: Census,
    ) -> Result<(usize, Option<Nodes<'c>>), Stop> {
        Ok(match self.leads_to {
            _ if before.before.is_none() => (1, None),
            None => (census.pairs, None),
            Some(leads_to) => {
                let nodes = Nodes::new(leads_to, level, &before.level.seeds, &mut self.crew, self.reader)?;
                (census.states + census.counterexample_states, nodes)
            }
        })
    }

    /// Makes the regions forget everything but a level.
    fn forget_all_but(&mut self, level: &mut Level<Sprout>) -> Result<(), Stop> {
        let region = &mut self.crew.regions[0];
        let seeds = level.map(|state| region.seed(state))?;
        (self.forget)();
        *level = seeds.map(|seed| region.plant(seed))?;
        Ok(())
    }

    /// A pair from which everything is accepted, as a violation.
    fn end(&mut self, state: Sprout, entry: Entry, depth: u32) -> Result<Violation, Stop> {
        let seed = self.crew.regions[0].seed(state)?;
        let before = self.boundaries.last().map(|(boundary, _)| boundary.clone());
        let level = Level { seeds: vec![seed], ends: vec![1], entries: vec![entry] };
        let boundary = Arc::new(Boundary { level, depth, before });
        let suffix = Suffix::end(seed, entry.at);
        Ok(Violation { task: Task { path: vec![0], boundary }, suffix })
    }

    /// The next boundary, after a layer with so many sub-state spaces or what the nodes say.
    fn add(
        &mut self,
        mut level: Level<Sprout>,
        depth: u32,
        spaces: usize,
        mut nodes: Option<Nodes>,
    ) -> Result<(), Stop> {
        let census = read(&mut level, &mut self.crew, self.reader, |place, props| {
            nodes.iter_mut().for_each(|nodes| nodes.end(place, props));
        })?;
        let census = Census { spaces: nodes.map_or(spaces, |nodes| nodes.count()), ..census };
        let level = level.map(|state| self.crew.regions[0].seed(state))?;
        let before = self.boundaries.last().map(|(boundary, _)| boundary.clone());
        self.crew.budget.held.fetch_add(level.bytes(), Ordering::Relaxed);
        self.crew.budget.settle();
        let boundary = Arc::new(Boundary { level, depth, before });
        if let Some(checkpoint) = &self.checkpoint {
            let is_met = self.meter.is_met();
            let region = &mut self.crew.regions[0];
            let number = self.boundaries.len();
            checkpoint.save_boundary(number, &boundary, census, is_met, region, self.forget)?;
        }
        self.boundaries.push((boundary, census));
        self.done = None;
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
        let Check { crew, reader, meter, checkpoint, forget, done: searched, .. } = self;
        let checkpoint = &*checkpoint;
        let turn = &Turn::default();
        let shared = Shared { reader, cache, meter, budget: crew.budget, limits: crew.limits, turn };
        let save = |queue: &Queue| match checkpoint {
            Some(checkpoint) => checkpoint.save_done(boundaries, || queue.done(), meter.is_met()),
            None => Ok(()),
        };
        let last = last::search(crew, forget, shared, boundary, done, &save);
        if let Some(checkpoint) = checkpoint {
            // What is known is known, even if it cannot be saved.
            let _ = checkpoint.write_done(boundaries, &last.done, meter.is_met());
        }
        (*splits, *searched) = (last.splits, Some(last.done));
        Ok((last.violation, last.halted))
    }

    pub fn layers(&self) -> Vec<Layer> {
        let layer = |pair: &[(Arc<Boundary>, Census)]| {
            let ((start, _), (end, census)) = (&pair[0], &pair[1]);
            Layer { steps: end.depth - start.depth, end: *census }
        };
        self.boundaries.windows(2).map(layer).collect()
    }
}
