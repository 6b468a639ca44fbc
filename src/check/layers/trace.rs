//! A counterexample across layers, step by step from the initial state.
//!
//! Every pair of a boundary knows the pair of the boundary before from which it was reached. The
//! way between two such pairs is found again by halving: what lies in the middle is found like a
//! boundary, so that no more than a level is kept at a time.

use super::boundary::{Boundary, Level};
use super::crew::Crew;
use super::meter::Meter;
use super::post::post;
use super::queue::Violation;
use super::reader::Reader;
use super::seeded::Seeded;
use crate::base::Interrupt;
use crate::check::lasso::{Lasso, Step};
use crate::check::search::{Extent, Target};
use crate::check::space::Space;
use crate::check::{CheckError, Failure, Fairness, Limits, ReplayError, anything, replay};
use crate::graph::{Region, Regions, RuleId, Seed, Sprout, Stop, System, Worker};
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
    pub fairness: &'t Fairness,
    /// Give every run a cycle.
    pub close: bool,
    /// States that may be explored to find a short run.
    pub states_max: u64,
}

/// A pair.
type Pair = (Sprout, u32);

/// States of a run, each with the rule by which it is left if that is known.
pub type Way = Vec<(Sprout, Option<RuleId>)>;

/// A run from a pair on.
struct Rest {
    at: u32,
    way: Way,
    /// Where it goes on after its end.
    back: Option<usize>,
}

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
        let mut found = None;
        for (boundary, state) in [(first, 0), (last, violation.task.top() as usize)] {
            if let Some(rest) = self.shortest(&boundary, state)? {
                found = Some((boundary, state, rest));
                break;
            }
        }
        let (boundary, state, rest) = match found {
            Some(found) => found,
            None => {
                let suffix = violation.suffix;
                let steps = suffix.seeds.iter().zip(&suffix.rules);
                let step = |(&seed, &rule): (&Seed, &Option<RuleId>)| Ok((self.plant(seed)?, rule));
                let way = steps.map(step).collect::<Result<Way, Stop>>()?;
                let rest = Rest { at: suffix.at, way, back: suffix.back };
                (violation.task.boundary.clone(), violation.task.state(), rest)
            }
        };
        let (mut way, _) = self.way_to(boundary, state, rest.at)?;
        let back = rest.back.map(|back| way.len() + back);
        way.extend(rest.way);
        if back.is_none() && way.len() > 1 {
            // The automaton has not read the last state.
            way.pop();
        }
        self.finish(formulas, formula, way, back)
    }

    fn plant(&mut self, seed: Seed) -> Result<Sprout, Stop> {
        self.crew.regions[0].plant(seed)
    }

    /// A short run from a state of a boundary, from which one starts; none if that takes too much.
    fn shortest(&mut self, boundary: &Boundary, state: usize) -> Result<Option<Rest>, Failure> {
        let root = self.plant(boundary.level.seeds[state])?;
        let limits = self.bounded();
        for entry in boundary.level.entries(state) {
            let at = entry.at;
            if self.reader.accepts_all[at as usize] && !self.close {
                return Ok(Some(Rest { at, way: vec![(root, None)], back: None }));
            }
            let automaton = Automaton { initial: vec![at], ..self.reader.automaton.clone() };
            match self.explore(root, &automaton, !self.close, &limits) {
                Ok(None) => {}
                Ok(Some((way, back))) => return Ok(Some(Rest { at, way, back })),
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
        root: Sprout,
        automaton: &Automaton,
        may_end: bool,
        limits: &Limits,
    ) -> Result<Option<(Way, Option<usize>)>, Stop> {
        let fair = &self.reader.fair;
        let target = if may_end { Target::new(automaton, fair) } else { Target::with_cycle(automaton, fair) };
        let system = Seeded::new(self.regions, root);
        let mut space = Space::new(&system, None, !fair.is_none());
        let start = space.initial()?;
        let found = target.explore(&mut space, start, limits, Extent::All { first_look: 1000 })?;
        Ok(found.map(|lasso| {
            let step = |step: &Step| (system.sprout(step.state), Some(step.rule));
            let mut way: Way = lasso.steps.iter().map(step).collect();
            if lasso.back.is_none() {
                // As in other runs, a state follows that is not read.
                way.extend(way.last().copied());
            }
            (way, lasso.back)
        }))
    }

    /// The states before a pair of a boundary, from the first boundary on, and where the automaton is
    /// there.
    pub fn way_to(&mut self, mut boundary: Arc<Boundary>, state: usize, at: u32) -> Result<(Way, u32), Stop> {
        let entries = boundary.level.range(state);
        let is_it = |&pair: &usize| boundary.level.entries[pair].at == at;
        let mut pair = entries.clone().find(is_it).expect("the run starts from a pair of the boundary");
        let mut ways = Vec::new();
        while let Some(before) = boundary.before.clone() {
            let origin = boundary.level.entries[pair].origin as usize;
            let (from, to) = (self.pair(&before, origin)?, self.pair(&boundary, pair)?);
            ways.push(self.way(from, to, boundary.steps())?);
            (boundary, pair) = (before, origin);
        }
        Ok((ways.into_iter().rev().flatten().collect(), boundary.level.entries[pair].at))
    }

    fn pair(&mut self, boundary: &Boundary, pair: usize) -> Result<Pair, Stop> {
        let level = &boundary.level;
        Ok((self.plant(level.seeds[level.state_of(pair)])?, level.entries[pair].at))
    }

    /// The states of a shortest way of at most so many steps, without its end. Layers may be much
    /// deeper than there are pairs: rounds that runs make there are of no use.
    fn way(&mut self, from: Pair, to: Pair, steps_max: u32) -> Result<Way, Stop> {
        let mut level = Level::single(from.0, [from.1]);
        let mut steps = 0;
        while find(&level, to).is_none() {
            if steps == steps_max {
                return Err(lost());
            }
            level = self.after(level, 1)?;
            steps += 1;
        }
        self.halve(from, to, steps)
    }

    /// The states of a way of exactly so many steps, without its end.
    fn halve(&mut self, from: Pair, to: Pair, steps: u32) -> Result<Way, Stop> {
        if steps <= 1 {
            return Ok(vec![(from.0, None); steps as usize]);
        }
        let middle = self.after(Level::single(from.0, [from.1]), steps / 2)?.restarted(None);
        let end = self.after(middle.clone(), steps - steps / 2)?;
        let pair = find(&end, to).ok_or_else(lost)?;
        let origin = end.entries[pair].origin as usize;
        let half = (middle.seeds[middle.state_of(origin)], middle.entries[origin].at);
        let mut way = self.halve(from, half, steps / 2)?;
        way.extend(self.halve(half, to, steps - steps / 2)?);
        Ok(way)
    }

    fn after(&mut self, mut level: Level<Sprout>, steps: u32) -> Result<Level<Sprout>, Stop> {
        for _ in 0..steps {
            level = post(&level, self.crew, self.reader, self.meter, false, None)?.level;
        }
        Ok(level)
    }

    /// Gives a run without a cycle one, if it is asked for or needed to see the violation; adds the
    /// rules and replays it.
    fn finish(
        &mut self,
        formulas: &mut Formulas,
        formula: Formula,
        mut way: Way,
        mut back: Option<usize>,
    ) -> Result<Run, Failure> {
        let system = Seeded::new(self.regions, way[0].0);
        let mut judge = system.worker();
        judge.initial()?;
        if back.is_none() {
            let normal = formulas.normal(formula);
            let letters: Result<Vec<u64>, Stop> =
                way.iter().map(|&(state, _)| judge.props(system.number(state))).collect();
            let letters = letters?;
            let needed = !is_bad_prefix(formulas, normal, &letters);
            // The automaton may see it later than it can be seen.
            while way.len() > 1 && is_bad_prefix(formulas, normal, &letters[..way.len() - 1]) {
                way.pop();
            }
            if needed || self.close {
                let last = way.len() - 1;
                let bounded = self.bounded();
                let limits = if needed { self.crew.limits } else { &bounded };
                match self.explore(way[last].0, &anything(), false, limits) {
                    Ok(Some((rest, Some(rest_back)))) => {
                        way.truncate(last);
                        way.extend(rest);
                        back = Some(last + rest_back);
                    }
                    Err(stop) if needed => return Err(stop.into()),
                    _ => {}
                }
            }
        }
        let mut steps = Vec::with_capacity(way.len());
        for (place, &(here, rule)) in way.iter().enumerate() {
            let state = system.number(here);
            let next = if place + 1 < way.len() { Some(place + 1) } else { back };
            let rule = match (next, rule) {
                (None, _) => RuleId::END,
                (Some(_), Some(rule)) if rule != RuleId::END => rule,
                (Some(next), _) => {
                    let (mut out, next) = (Vec::new(), system.number(way[next].0));
                    judge.successors(state, &mut out)?;
                    out.iter().find(|(_, to)| *to == next).map_or(RuleId::DEADLOCK, |&(rule, _)| rule)
                }
            };
            steps.push(Step { state, rule });
        }
        let lasso = Lasso { steps, back }.folded();
        replay(&mut judge, formulas, formula, self.fairness, &lasso).map_err(|error| match error {
            ReplayError::Stopped(stop) => Failure::Stop(stop),
            error => Failure::Check(CheckError::ReplayFailed(error)),
        })?;
        let region = &mut self.crew.regions[0];
        let seeds =
            system.sprouts().into_iter().map(|state| region.seed(state)).collect::<Result<_, Stop>>()?;
        Ok(Run { lasso, seeds })
    }
}

/// The position of a pair in a level.
fn find(level: &Level<Sprout>, (seed, at): Pair) -> Option<usize> {
    let state = level.seeds.iter().position(|&known| known == seed)?;
    level.range(state).find(|&pair| level.entries[pair].at == at)
}

fn lost() -> Stop {
    Stop::Failed("a step between two layers is lost".to_owned())
}
