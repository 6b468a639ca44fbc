//! Regions as an ordinary system: the state with number n is the n-th that was met. For
//! counterexamples, which are looked at state by state.

use crate::graph::{Region, Regions, RuleId, Sprout, State, Stop, System, Worker};
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A system that starts from a given state.
pub struct Seeded<'r, G> {
    regions: &'r G,
    root: Sprout,
    table: Mutex<IndexSet<Sprout, FxBuildHasher>>,
}

impl<'r, G: Regions> Seeded<'r, G> {
    pub fn new(regions: &'r G, root: Sprout) -> Self {
        Seeded { regions, root, table: Mutex::default() }
    }

    fn table(&self) -> MutexGuard<'_, IndexSet<Sprout, FxBuildHasher>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a state.
    pub fn number(&self, sprout: Sprout) -> State {
        self.table().insert_full(sprout).0 as State
    }

    /// The state with a number.
    pub fn sprout(&self, state: State) -> Sprout {
        self.table()[state as usize]
    }

    /// All states by number.
    pub fn sprouts(&self) -> Vec<Sprout> {
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

/// A worker with a region.
pub struct SeededWorker<'a, 'r, G: Regions> {
    system: &'a Seeded<'r, G>,
    region: G::Region<'r>,
}

impl<G: Regions> Worker for SeededWorker<'_, '_, G> {
    fn initial(&mut self) -> Result<State, Stop> {
        Ok(self.system.number(self.system.root))
    }

    fn successors(&mut self, state: State, out: &mut Vec<(RuleId, State)>) -> Result<(), Stop> {
        let mut found = Vec::new();
        self.region.visit(self.system.sprout(state), &|_| true, &mut found)?;
        out.extend(found.into_iter().map(|(rule, target)| (rule, self.system.number(target))));
        Ok(())
    }

    fn props(&mut self, state: State) -> Result<u64, Stop> {
        self.region.visit(self.system.sprout(state), &|_| false, &mut Vec::new())
    }

    fn bytes(&self) -> usize {
        self.system.regions.bytes()
    }
}
