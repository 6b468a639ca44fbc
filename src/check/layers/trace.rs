//! A counterexample across layers, step by step from the initial state.
//!
//! Every pair of a boundary knows the pair of the boundary before from which it was reached. The
//! way between two such pairs is found again by halving: what lies in the middle is found like a
//! boundary, so that no more than a level is kept at a time.

use super::boundary::{Boundary, Level};
use super::crew::Crew;
use super::meter::Meter;
use super::part::Suffix;
use super::post::post;
use super::queue::Violation;
use super::reader::Reader;
use super::seeded::Seeded;
use crate::base::Interrupt;
use crate::check::fairness::FairTable;
use crate::check::lasso::{Lasso, Step};
use crate::check::search::{Extent, Target};
use crate::check::space::Space;
use crate::check::{CheckError, Failure, Fairness, Limits, ReplayError, anything, replay};
use crate::graph::{Regions, RuleId, Seed, Stop, System, Worker};
use crate::logic::word::is_bad_prefix;
use crate::logic::{Automaton, Formula, Formulas};
use std::sync::Arc;

/// A run of the system; the states of the lasso are positions in `seeds`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    pub lasso: Lasso,
    pub seeds: Vec<Seed>,
}

/// What the search for a trace works with.
pub struct Tracer<'t, 'a, G: Regions> {
    pub regions: &'a G,
    pub crew: &'t mut Crew<'a, G::Region<'a>>,
    pub reader: &'t Reader,
    pub meter: &'t Meter<'a>,
    /// Give every run a cycle.
    pub close: bool,
    /// States that may be explored to find a short run.
    pub states_max: u64,
}

/// A pair.
type Pair = (Seed, u32);

impl<'a, G: Regions> Tracer<'_, 'a, G> {
    /// The run that shows a violation, replayed.
    pub fn run(
        &mut self,
        formulas: &mut Formulas,
        formula: Formula,
        violation: Violation,
    ) -> Result<Run, Failure> {
        let last = violation.task.last_boundary();
        let mut first = last.clone();
        while let Some(before) = first.before.clone() {
            first = before;
        }
        // The best run is short and does not depend on what the threads did. The next best starts so
        // from the last boundary.
        let mut found = (violation.task.boundary.clone(), violation.task.state(), violation.suffix);
        for (boundary, state) in [(first, 0), (last, violation.task.top() as usize)] {
            if let Some(suffix) = self.shortest(&boundary, state)? {
                found = (boundary, state, suffix);
                break;
            }
        }
        let (boundary, state, suffix) = found;
        let mut seeds = self.way_to(boundary, state, suffix.at)?;
        let back = suffix.back.map(|back| seeds.len() + back);
        seeds.extend(suffix.seeds);
        if back.is_none() && seeds.len() > 1 {
            // The automaton has not read the last state.
            seeds.pop();
        }
        self.finish(formulas, formula, seeds, back)
    }

    /// A short run from a state of a boundary, from which one starts; none if that takes too much.
    fn shortest(&self, boundary: &Boundary, state: usize) -> Result<Option<Suffix>, Failure> {
        let seed = boundary.level.seeds[state];
        let limits = self.bounded();
        for entry in boundary.level.entries(state) {
            let at = entry.at;
            if self.reader.accepts_all[at as usize] && !self.close {
                return Ok(Some(Suffix { at, seeds: vec![seed], back: None }));
            }
            let automaton = Automaton { initial: vec![at], ..self.reader.automaton.clone() };
            match self.explore(seed, &automaton, !self.close, &limits) {
                Ok(None) => {}
                Ok(Some((seeds, back))) => return Ok(Some(Suffix { at, seeds, back })),
                Err(stop) => {
                    let cancelled = stop == Stop::Interrupted(Interrupt::Cancelled);
                    return if cancelled { Err(stop.into()) } else { Ok(None) };
                }
            }
        }
        Err(Failure::Check(CheckError::Disagreement))
    }

    fn bounded(&self) -> Limits {
        let memory_max = self.crew.budget.bytes_max.map(|all| all as u64 / 4);
        Limits { states_max: Some(self.states_max), memory_max, ..self.crew.limits.clone() }
    }

    /// A short accepted run from a state. If it may be open, its last state is one that the
    /// automaton has read.
    fn explore(
        &self,
        root: Seed,
        automaton: &Automaton,
        may_end: bool,
        limits: &Limits,
    ) -> Result<Option<(Vec<Seed>, Option<usize>)>, Stop> {
        let fair = FairTable::default();
        let target =
            if may_end { Target::new(automaton, &fair) } else { Target::with_cycle(automaton, &fair) };
        let system = Seeded::new(self.regions, root);
        let mut space = Space::new(&system, None, false);
        let start = space.initial()?;
        let found = target.explore(&mut space, start, limits, Extent::All { first_look: 1000 })?;
        Ok(found.map(|lasso| {
            let mut seeds: Vec<Seed> = lasso.steps.iter().map(|step| system.seed(step.state)).collect();
            if lasso.back.is_none() {
                // As in other suffixes, a state follows that is not read.
                seeds.extend(seeds.last().copied());
            }
            (seeds, lasso.back)
        }))
    }

    /// The states before a pair of a boundary.
    fn way_to(&mut self, mut boundary: Arc<Boundary>, state: usize, at: u32) -> Result<Vec<Seed>, Stop> {
        let entries = boundary.level.range(state);
        let is_it = |&pair: &usize| boundary.level.entries[pair].at == at;
        let mut pair = entries.clone().find(is_it).expect("the run starts from a pair of the boundary");
        let of = |boundary: &Boundary, pair: usize| {
            let level = &boundary.level;
            (level.seeds[level.state_of(pair)], level.entries[pair].at)
        };
        let mut ways = Vec::new();
        while let Some(before) = boundary.before.clone() {
            let origin = boundary.level.entries[pair].origin as usize;
            let (from, to) = (of(&before, origin), of(&boundary, pair));
            ways.push(self.way(from, to, boundary.steps())?);
            (boundary, pair) = (before, origin);
        }
        Ok(ways.into_iter().rev().flatten().collect())
    }

    /// The states of a way of exactly so many steps, without its end.
    fn way(&mut self, from: Pair, to: Pair, steps: u32) -> Result<Vec<Seed>, Stop> {
        if steps <= 1 {
            return Ok(vec![from.0; steps as usize]);
        }
        let middle = self.after(Level::single(from.0, [from.1]), steps / 2)?.restarted(None);
        let end = self.after(middle.clone(), steps - steps / 2)?;
        let is_end = |&pair: &usize| end.entries[pair].at == to.1 && end.seeds[end.state_of(pair)] == to.0;
        let Some(pair) = (0..end.entries.len()).find(is_end) else {
            return Err(Stop::Failed("a step between two layers is lost".to_owned()));
        };
        let origin = end.entries[pair].origin as usize;
        let half = (middle.seeds[middle.state_of(origin)], middle.entries[origin].at);
        let mut way = self.way(from, half, steps / 2)?;
        way.extend(self.way(half, to, steps - steps / 2)?);
        Ok(way)
    }

    fn after(&mut self, mut level: Level, steps: u32) -> Result<Level, Stop> {
        for _ in 0..steps {
            level = post(&level, self.crew, self.reader, self.meter, false)?.level;
        }
        Ok(level)
    }

    /// Gives a run without a cycle one, if it is asked for or needed to see the violation; adds the
    /// rules and replays it.
    fn finish(
        &mut self,
        formulas: &mut Formulas,
        formula: Formula,
        mut seeds: Vec<Seed>,
        mut back: Option<usize>,
    ) -> Result<Run, Failure> {
        let system = Seeded::new(self.regions, seeds[0]);
        let mut judge = system.worker();
        judge.initial()?;
        if back.is_none() {
            let normal = formulas.normal(formula);
            let letters: Result<Vec<u64>, Stop> =
                seeds.iter().map(|&seed| judge.props(system.number(seed))).collect();
            let needed = !is_bad_prefix(formulas, normal, &letters?);
            if needed || self.close {
                let last = seeds.len() - 1;
                let bounded = self.bounded();
                let limits = if needed { self.crew.limits } else { &bounded };
                match self.explore(seeds[last], &anything(), false, limits) {
                    Ok(Some((rest, Some(rest_back)))) => {
                        seeds.truncate(last);
                        seeds.extend(rest);
                        back = Some(last + rest_back);
                    }
                    Err(stop) if needed => return Err(stop.into()),
                    _ => {}
                }
            }
        }
        let mut steps = Vec::with_capacity(seeds.len());
        for (place, &seed) in seeds.iter().enumerate() {
            let state = system.number(seed);
            let next = if place + 1 < seeds.len() { Some(place + 1) } else { back };
            let rule = match next {
                None => RuleId::END,
                Some(next) => {
                    let (mut out, next) = (Vec::new(), system.number(seeds[next]));
                    judge.successors(state, &mut out)?;
                    out.iter().find(|(_, to)| *to == next).map_or(RuleId::DEADLOCK, |&(rule, _)| rule)
                }
            };
            steps.push(Step { state, rule });
        }
        let lasso = Lasso { steps, back }.folded();
        replay(&mut judge, formulas, formula, &Fairness::default(), &lasso).map_err(|error| match error {
            ReplayError::Stopped(stop) => Failure::Stop(stop),
            error => Failure::Check(CheckError::ReplayFailed(error)),
        })?;
        let seeds = system.seeds();
        Ok(Run { lasso, seeds })
    }
}
