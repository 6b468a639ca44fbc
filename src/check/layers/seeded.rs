//! Regions as an ordinary system: the state with number n is the n-th seed that was met. For
//! counterexamples, which are looked at state by state.

use crate::graph::{Region, Regions, RuleId, Seed, State, Stop, System, Worker};
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A system that starts from a given state.
pub struct Seeded<'r, G> {
    regions: &'r G,
    root: Seed,
    table: Mutex<IndexSet<Seed, FxBuildHasher>>,
}

/// Bytes at which a worker's region is cleared.
const REGION_MAX: usize = 1 << 22;

impl<'r, G: Regions> Seeded<'r, G> {
    pub fn new(regions: &'r G, root: Seed) -> Self {
        Seeded { regions, root, table: Mutex::default() }
    }

    fn table(&self) -> MutexGuard<'_, IndexSet<Seed, FxBuildHasher>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a state.
    pub fn number(&self, seed: Seed) -> State {
        self.table().insert_full(seed).0 as State
    }

    /// The state with a number.
    pub fn seed(&self, state: State) -> Seed {
        self.table()[state as usize]
    }

    /// All states by number.
    pub fn seeds(&self) -> Vec<Seed> {
        self.table().iter().copied().collect()
    }
}

impl<'r, G: Regions> System for Seeded<'r, G> {
    type Worker<'a>
        = SeededWorker<'a, 'r, G>
    where
        Self: 'a;

    fn worker(&self) -> SeededWorker<'_, 'r, G> {
        SeededWorker { system: self, region: self.regions.region() }
    }
}

/// A worker with a region that it clears from time to time.
pub struct SeededWorker<'a, 'r, G: Regions> {
    system: &'a Seeded<'r, G>,
    region: G::Region<'r>,
}

impl<G: Regions> SeededWorker<'_, '_, G> {
    fn enter(&mut self, state: State) -> Result<State, Stop> {
        if self.region.own_bytes() > REGION_MAX {
            self.region.clear();
        }
        self.region.enter(self.system.seed(state))
    }
}

impl<G: Regions> Worker for SeededWorker<'_, '_, G> {
    fn initial(&mut self) -> Result<State, Stop> {
        Ok(self.system.number(self.system.root))
    }

    fn successors(&mut self, state: State, out: &mut Vec<(RuleId, State)>) -> Result<(), Stop> {
        let here = self.enter(state)?;
        let mut found = Vec::new();
        self.region.successors(here, &mut found)?;
        for (rule, target) in found {
            out.push((rule, self.system.number(self.region.seed(target)?)));
        }
        Ok(())
    }

    fn props(&mut self, state: State) -> Result<u64, Stop> {
        let here = self.enter(state)?;
        self.region.props(here)
    }
}
