//! Algorithms 1 and 2 of the thesis, by model checks of the revised module: from each state at the
//! beginning of a layer, the states at its end and the counterexample states among them. In the final
//! layer the module itself is checked from each state of the last boundary.
//!
//! Where a run comes to an end before the bound, its last state repeats for ever and is carried over
//! like those at the bound. Threads take states of a boundary; what they find is put together in order.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::ThreadPool;
use rayon::prelude::*;
use rustc_hash::{FxBuildHasher, FxHashSet};

use super::plan::{self, Plan};
use super::revised::Revised;
use super::space::{End, Space};
use crate::check::layers::Meter;
use crate::check::{self, CheckError};
use crate::graph::{Model, ModelSetup, Stop, System, meta_key};
use crate::interp::compiled::Variants;
use crate::logic::{Formulas, PropId, Property};
use crate::sorts::{Node, Tree};

/// A run of the module as written: its states, and where it goes back to after the last of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trail {
    pub states: Vec<Tree>,
    pub back: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Holds,
    Violated(Trail),
    Unknown(Stop),
}

/// A layer but the last. (For conditional stable properties the authors' numberOfStates leaves out the
/// counterexample states.)
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layer {
    /// The depth of its end.
    pub depth: u32,
    pub node_sets: usize,
    /// At its end, without the depth, the counterexample states among them.
    pub states: Vec<Tree>,
    pub counterexample_states: Vec<Tree>,
}

/// A verdict and what it took.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    pub verdict: Verdict,
    pub layers: Vec<Layer>,
    /// Whether the premise of a leads-to was true somewhere, or there is none.
    pub is_met: bool,
    /// States explored in all checks together.
    pub explored: u64,
    pub rewrites: u64,
}

impl Outcome {
    /// Of a check that was stopped before it began.
    pub fn stopped(stop: Stop) -> Outcome {
        let verdict = Verdict::Unknown(stop);
        Outcome { verdict, layers: Vec::new(), is_met: false, explored: 0, rewrites: 0 }
    }
}

/// Why a check does not go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    Stop(Stop),
    Check(CheckError),
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Failure {
        Failure::Stop(stop)
    }
}

impl From<CheckError> for Failure {
    fn from(error: CheckError) -> Failure {
        Failure::Check(error)
    }
}

/// What is checked, and with what.
pub struct Scene<'a> {
    pub revised: &'a Revised,
    pub variants: Variants,
    /// The module as written.
    pub original: &'a ModelSetup,
    pub property: Property,
    pub limits: check::Limits,
    pub meter: Meter<'a>,
    pub pool: Option<&'a ThreadPool>,
}

/// A check in progress.
pub struct Driver<'a> {
    pub scene: &'a Scene<'a>,
    pub formulas: &'a mut Formulas,
    explored: u64,
    rewrites: u64,
}

/// A state at a boundary.
#[derive(Clone, Debug)]
struct Place {
    state: Tree,
    /// The place at the boundary before that it was first reached from, and the states on the way,
    /// from the first step to this state.
    origin: usize,
    is_from_counterexample: bool,
    way: Vec<Tree>,
}

/// States at a boundary in the order in which they were found.
type Places = indexmap::IndexMap<Vec<Node>, Place, FxBuildHasher>;

/// What is between two layers.
#[derive(Clone, Debug, Default)]
struct Boundary {
    plain: Places,
    counterexample: Places,
}

impl Boundary {
    fn places(&self, is_counterexample: bool) -> &Places {
        if is_counterexample { &self.counterexample } else { &self.plain }
    }
}

/// Where a sub-state space begins.
#[derive(Clone, Copy)]
struct Start {
    is_counterexample: bool,
    origin: usize,
}

/// What is found in a sub-state space.
enum Found {
    /// Nothing in the final layer.
    Ends(Vec<End>),
    /// A run, the first state left out, and where it goes back to.
    Violation(Vec<Tree>, Option<usize>),
}

/// So many sub-state spaces for each thread are searched before what they found is put together.
const PORTION: usize = 16;

impl<'a> Driver<'a> {
    pub fn new(scene: &'a Scene<'a>, formulas: &'a mut Formulas) -> Driver<'a> {
        Driver { scene, formulas, explored: 0, rewrites: 0 }
    }

    /// Checks with layers of these depths.
    pub fn run(&mut self, depths: &[u32]) -> Result<Outcome, CheckError> {
        let mut boundaries = Vec::new();
        let mut layers = Vec::new();
        let verdict = match self.layers(depths, &mut boundaries, &mut layers) {
            Ok(Some(trail)) => Verdict::Violated(trail),
            Ok(None) => Verdict::Holds,
            Err(Failure::Stop(stop)) => Verdict::Unknown(stop),
            Err(Failure::Check(error)) => return Err(error),
        };
        let Driver { explored, rewrites, .. } = *self;
        Ok(Outcome { verdict, layers, is_met: self.scene.meter.is_met(), explored, rewrites })
    }

    fn layers(
        &mut self,
        depths: &[u32],
        boundaries: &mut Vec<Boundary>,
        layers: &mut Vec<Layer>,
    ) -> Result<Option<Trail>, Failure> {
        boundaries.push(self.start()?);
        let mut depth = 0;
        for &steps in depths {
            let found = self.layer(boundaries, layers, depth, depth + steps)?;
            if found.is_some() {
                return Ok(found);
            }
            depth += steps;
        }
        self.last(boundaries, depth)
    }

    fn start(&self) -> Result<Boundary, Failure> {
        let state = Space::new(self.scene, self.formulas).normal(&self.scene.original.initial)?;
        let place = Place {
            state: state.clone(),
            origin: 0,
            is_from_counterexample: false,
            way: vec![state.clone()],
        };
        let places = Places::from_iter([(state.nodes().to_vec(), place)]);
        Ok(match plan::owes(self.scene.property) {
            true => Boundary { counterexample: places, ..Boundary::default() },
            false => Boundary { plain: places, ..Boundary::default() },
        })
    }

    /// One layer but the last: from the last boundary to a new one.
    fn layer(
        &mut self,
        boundaries: &mut Vec<Boundary>,
        layers: &mut Vec<Layer>,
        depth: u32,
        bound: u32,
    ) -> Result<Option<Trail>, Failure> {
        let Scene { revised, variants, original, property, meter, .. } = self.scene;
        let before = boundaries.last().expect("there is a first one");
        let theory = variants.theory(revised.with(bound, &[]));
        let signature = &original.theory.module.signature;
        let mut starts = Vec::new();
        for is_counterexample in [false, true] {
            let places = before.places(is_counterexample);
            let mut order: Vec<usize> = (0..places.len()).collect();
            order.sort_by_cached_key(|&place| {
                let mut key = Vec::new();
                meta_key(signature, &places[place].state, &mut key);
                key
            });
            starts.extend(order.into_iter().map(|origin| Start { is_counterexample, origin }));
        }
        let plans = [false, true].map(|is_counterexample| self.plan(is_counterexample, revised.found));
        let (mut next, mut node_sets) = (Boundary::default(), 0);
        // Nodes from which a plain state found nothing new: a counterexample state that finds nothing
        // either is the same node.
        let mut barren: FxHashSet<&Vec<Node>> = FxHashSet::default();
        meter.begin(boundaries.len(), depth, starts.len(), 0);
        let search = |space: &mut Space, start: Start| {
            let plan = &plans[usize::from(start.is_counterexample)];
            let place = &before.places(start.is_counterexample)[start.origin];
            let lifted = revised.lift(&place.state, depth).map_err(Stop::Failed)?;
            if let Some(formula) = plan.fatal
                && let Some(way) = space.fatal(&theory, &lifted, formula)?
            {
                return Ok(Found::Violation(way, None));
            }
            space.ends(bound, &theory, &lifted, plan).map(Found::Ends)
        };
        let violation = self.each(&starts, search, |start, ends| {
            let Start { is_counterexample, origin } = start;
            let mut found = 0;
            for End { state, is_counterexample: is_end_counterexample, way } in ends {
                let places = match is_end_counterexample {
                    true => &mut next.counterexample,
                    false => &mut next.plain,
                };
                if let indexmap::map::Entry::Vacant(entry) = places.entry(state.nodes().to_vec()) {
                    found += 1;
                    entry.insert(Place { state, origin, is_from_counterexample: is_counterexample, way });
                }
            }
            let (key, _) = before.places(is_counterexample).get_index(origin).expect("a position");
            node_sets += usize::from(found > 0 || !is_counterexample || !barren.contains(key));
            if found == 0 && !is_counterexample {
                barren.insert(key);
            }
        })?;
        if let Some((start, way, back)) = violation {
            return Ok(Some(trail(boundaries, start, way, back)));
        }
        if !plan::keeps_both(*property) {
            let Boundary { plain, counterexample } = &mut next;
            plain.retain(|key, _| !counterexample.contains_key(key));
        }
        let trees = |places: &Places| places.values().map(|place| place.state.clone()).collect::<Vec<Tree>>();
        let others = next.counterexample.iter().filter(|(key, _)| !next.plain.contains_key(*key));
        let others: Vec<Tree> = others.map(|(_, place)| place.state.clone()).collect();
        layers.push(Layer {
            depth: bound,
            node_sets,
            states: [trees(&next.plain), others].concat(),
            counterexample_states: trees(&next.counterexample),
        });
        boundaries.push(next);
        Ok(None)
    }

    /// The final layer.
    fn last(&mut self, boundaries: &[Boundary], depth: u32) -> Result<Option<Trail>, Failure> {
        let Scene { original, meter, .. } = self.scene;
        let boundary = boundaries.last().expect("there is a first one");
        let plans = [false, true].map(|is_counterexample| self.plan(is_counterexample, None));
        let mut starts = Vec::new();
        for is_counterexample in [false, true] {
            let origins = 0..boundary.places(is_counterexample).len();
            starts.extend(origins.map(|origin| Start { is_counterexample, origin }));
        }
        meter.begin(boundaries.len(), depth, starts.len(), 0);
        let search = |space: &mut Space, start: Start| {
            let place = &boundary.places(start.is_counterexample)[start.origin];
            let model = Model::new(ModelSetup { initial: place.state.clone(), ..(*original).clone() });
            let formula = plans[usize::from(start.is_counterexample)].last;
            let Some(lasso) = space.check(&model, formula, true)? else { return Ok(Found::Ends(Vec::new())) };
            let mut worker = model.worker();
            let states = lasso.steps[1..].iter().map(|step| worker.term(step.state));
            Ok(Found::Violation(states.collect::<Result<_, Stop>>()?, lasso.back))
        };
        let violation = self.each(&starts, search, |_, _| {})?;
        Ok(violation.map(|(start, way, back)| trail(boundaries, start, way, back)))
    }

    /// Searches sub-state spaces on all threads, and has what is found taken in order, up to the first
    /// violation.
    fn each(
        &mut self,
        starts: &[Start],
        search: impl Fn(&mut Space, Start) -> Result<Found, Failure> + Sync,
        mut take: impl FnMut(Start, Vec<End>),
    ) -> Result<Option<(Start, Vec<Tree>, Option<usize>)>, Failure> {
        let Scene { pool, meter, .. } = self.scene;
        // What comes after this is of no interest.
        let first = AtomicUsize::new(usize::MAX);
        let one = |at: usize| {
            if first.load(Ordering::Relaxed) < at {
                return None;
            }
            let mut space = Space::new(self.scene, self.formulas);
            let found = search(&mut space, starts[at]);
            if !matches!(found, Ok(Found::Ends(_))) {
                first.fetch_min(at, Ordering::Relaxed);
            }
            meter.add(space.explored as usize, 0, 0);
            meter.finish(1);
            Some((found, space.explored, space.rewrites))
        };
        let portion = PORTION * pool.map_or(1, ThreadPool::current_num_threads);
        let (mut explored, mut rewrites) = (0, 0);
        let mut outcome = Ok(None);
        'all: for begin in (0..starts.len()).step_by(portion) {
            let places = begin..starts.len().min(begin + portion);
            let found: Vec<_> = match pool {
                Some(pool) => {
                    pool.install(|| places.clone().into_par_iter().with_max_len(1).map(one).collect())
                }
                None => places.clone().map(one).collect(),
            };
            for (at, found) in places.zip(found) {
                let Some((found, own_explored, own_rewrites)) = found else { break };
                (explored, rewrites) = (explored + own_explored, rewrites + own_rewrites);
                match found {
                    Ok(Found::Ends(ends)) => take(starts[at], ends),
                    Ok(Found::Violation(way, back)) => outcome = Ok(Some((starts[at], way, back))),
                    Err(failure) => outcome = Err(failure),
                }
                if !matches!(outcome, Ok(None)) {
                    break 'all;
                }
            }
        }
        (self.explored, self.rewrites) = (self.explored + explored, self.rewrites + rewrites);
        outcome
    }

    fn plan(&mut self, is_counterexample: bool, found: Option<PropId>) -> Plan {
        let plan = plan::plan(self.scene.property, self.formulas, is_counterexample, found);
        plan.expect("only such properties are revised for")
    }
}

/// The run from the initial state to where a sub-state space begins, and on from there.
fn trail(boundaries: &[Boundary], start: Start, way: Vec<Tree>, back: Option<usize>) -> Trail {
    let Start { mut origin, mut is_counterexample } = start;
    let mut ways = Vec::new();
    for boundary in boundaries.iter().rev() {
        let place = &boundary.places(is_counterexample)[origin];
        ways.push(&place.way);
        (origin, is_counterexample) = (place.origin, place.is_from_counterexample);
    }
    let mut states: Vec<Tree> = ways.into_iter().rev().flatten().cloned().collect();
    let begin = states.len() - 1;
    states.extend(way);
    Trail { states, back: back.map(|back| begin + back) }
}
