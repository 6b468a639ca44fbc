//! Algorithms 1 and 2 of the thesis, by model checks of the revised module: from each state at the
//! beginning of a layer, the states at its end and the counterexample states among them. In the final
//! layer the module itself is checked from each state of the last boundary.
//!
//! A counterexample state `s` of a layer is found by a model check, then `s |= q = true` is added to
//! the module so that the next check finds another one, until there is none. Where a run comes to an
//! end before the bound, its last state repeats for ever and is carried over like those at the bound.

use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::order::meta_order;
use super::plan::{self, Plan, Split};
use super::revised::Revised;
use crate::check::{self, CheckError, Checker, Lasso, Predicate, Verdict as Checked};
use crate::graph::{Model, ModelSetup, ModelWorker, State, Stop, System, Worker};
use crate::interp::compiled::{Compiled, Making};
use crate::logic::{Formula, Formulas, PropId, Property};
use crate::module::Equation;
use crate::rewrite::Machine;
use crate::sorts::{Node, Tree};
use crate::theory::Theory;

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
    pub property: Property,
    pub verdict: Verdict,
    pub layers: Vec<Layer>,
    /// States explored in all checks together.
    pub explored: u64,
    pub rewrites: u64,
}

/// Why there is no outcome.
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
pub struct Driver<'a> {
    pub revised: &'a Revised,
    pub compiled: &'a mut Compiled,
    pub making: &'a Making<'a>,
    /// The module as written.
    pub original: &'a ModelSetup,
    pub property: Property,
    pub formulas: &'a mut Formulas,
    pub limits: check::Limits,
    /// Reduces states as written.
    pub machine: Machine,
    pub explored: u64,
    pub rewrites: u64,
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

/// A state where a run of a layer ends, and the way there.
struct End {
    state: Tree,
    is_counterexample: bool,
    way: Vec<Tree>,
}

impl Driver<'_> {
    /// Checks with layers of these depths.
    pub fn run(&mut self, depths: &[u32]) -> Result<Outcome, Failure> {
        let mut boundaries = Vec::new();
        let mut layers = Vec::new();
        let verdict = match self.layers(depths, &mut boundaries, &mut layers) {
            Ok(Some(trail)) => Verdict::Violated(trail),
            Ok(None) => Verdict::Holds,
            Err(Failure::Stop(stop)) => Verdict::Unknown(stop),
            Err(error) => return Err(error),
        };
        let Driver { property, explored, rewrites, .. } = *self;
        Ok(Outcome { property, verdict, layers, explored, rewrites })
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
        self.last(boundaries)
    }

    fn start(&mut self) -> Result<Boundary, Failure> {
        let state = self.normal(&self.original.initial.clone())?;
        let place = Place {
            state: state.clone(),
            origin: 0,
            is_from_counterexample: false,
            way: vec![state.clone()],
        };
        let places = Places::from_iter([(state.nodes().to_vec(), place)]);
        Ok(match plan::owes(self.property) {
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
        let before = boundaries.last().expect("there is a first one").clone();
        let theory = self.compiled.variant(Arc::new(self.revised.with(bound, &[])), self.making);
        let (mut next, mut node_sets) = (Boundary::default(), 0);
        // Nodes from which a plain state found nothing new: a counterexample state that finds nothing
        // either is the same node.
        let mut barren: Vec<&Vec<Node>> = Vec::new();
        for is_counterexample in [false, true] {
            let plan = self.plan(is_counterexample, self.revised.found);
            let places = before.places(is_counterexample);
            let signature = &self.original.theory.module.signature;
            let mut order: Vec<usize> = (0..places.len()).collect();
            order.sort_by(|&a, &b| meta_order(signature, &places[a].state, &places[b].state));
            for origin in order {
                let (key, place) = places.get_index(origin).expect("a position");
                let start = self.revised.lift(&place.state, depth).map_err(Stop::Failed)?;
                if let Some(formula) = plan.fatal
                    && let Some(way) = self.fatal(&theory, &start, formula)?
                {
                    let mut states = trail(boundaries, origin, is_counterexample);
                    states.extend(way);
                    return Ok(Some(Trail { states, back: None }));
                }
                let ends = self.ends(bound, &theory, &start, &plan)?;
                let mut found = 0;
                for End { state, is_counterexample: is_end_counterexample, way } in ends {
                    let places = match is_end_counterexample {
                        true => &mut next.counterexample,
                        false => &mut next.plain,
                    };
                    let entry = places.entry(state.nodes().to_vec());
                    if let indexmap::map::Entry::Vacant(entry) = entry {
                        found += 1;
                        entry.insert(Place { state, origin, is_from_counterexample: is_counterexample, way });
                    }
                }
                node_sets += usize::from(found > 0 || !is_counterexample || !barren.contains(&key));
                if found == 0 && !is_counterexample {
                    barren.push(key);
                }
            }
        }
        if !plan::keeps_both(self.property) {
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
    fn last(&mut self, boundaries: &[Boundary]) -> Result<Option<Trail>, Failure> {
        let boundary = boundaries.last().expect("there is a first one");
        for is_counterexample in [false, true] {
            let plan = self.plan(is_counterexample, None);
            for (origin, place) in boundary.places(is_counterexample).values().enumerate() {
                let model = Model::new(ModelSetup { initial: place.state.clone(), ..self.original.clone() });
                let Some(lasso) = self.check(&model, plan.last, true)? else { continue };
                let mut states = trail(boundaries, origin, is_counterexample);
                let start = states.len() - 1;
                let mut worker = model.worker();
                for step in &lasso.steps[1..] {
                    states.push(worker.term(step.state)?);
                }
                return Ok(Some(Trail { states, back: lasso.back.map(|back| start + back) }));
            }
        }
        Ok(None)
    }

    fn plan(&mut self, is_counterexample: bool, found: Option<PropId>) -> Plan {
        let plan = plan::plan(self.property, self.formulas, is_counterexample, found);
        plan.expect("only such properties are revised for")
    }

    /// A run that violates the formula, if there is one.
    fn check(&mut self, model: &Model, formula: Formula, close: bool) -> Result<Option<Lasso>, Failure> {
        let options = check::Options { limits: self.limits.clone(), close, ..check::Options::default() };
        let answer = Checker::new(model, None, options)?.check(self.formulas, formula)?;
        self.explored += answer.states as u64;
        self.rewrites += model.rewrites();
        match answer.verdict {
            Checked::Holds { .. } => Ok(None),
            Checked::Violated(lasso) => Ok(Some(lasso)),
            Checked::Unknown(stop) => Err(Failure::Stop(stop)),
        }
    }

    fn model(&self, theory: &Arc<Theory>, start: &Tree) -> Model {
        Model::new(ModelSetup {
            theory: theory.clone(),
            initial: start.clone(),
            satisfies: self.revised.satisfies,
            truth: self.revised.truth.clone(),
            props: self.revised.props.clone(),
            readings: vec![None; self.revised.props.len()],
            ..self.original.clone()
        })
    }

    /// The states of a run of the layer that violates the formula, the first one left out.
    fn fatal(
        &mut self,
        theory: &Arc<Theory>,
        start: &Tree,
        formula: Formula,
    ) -> Result<Option<Vec<Tree>>, Failure> {
        let model = self.model(theory, start);
        let Some(lasso) = self.check(&model, formula, false)? else { return Ok(None) };
        self.way(&mut model.worker(), &lasso).map(Some)
    }

    /// The states of a run of the layer, the first one left out.
    fn way(&mut self, worker: &mut ModelWorker, lasso: &Lasso) -> Result<Vec<Tree>, Failure> {
        let mut way = Vec::new();
        for step in &lasso.steps[1..] {
            way.push(self.lower(&worker.term(step.state)?)?);
        }
        Ok(way)
    }

    /// A state without its depth.
    fn lower(&mut self, state: &Tree) -> Result<Tree, Failure> {
        let state = self.revised.lower(state).map_err(Stop::Failed)?;
        self.normal(&state)
    }

    fn normal(&mut self, state: &Tree) -> Result<Tree, Failure> {
        let term = self.machine.reduce(state).map_err(Stop::Interrupted)?;
        Ok(self.machine.to_tree(term))
    }

    /// The ends of a layer that begins in one state.
    fn ends(
        &mut self,
        bound: u32,
        theory: &Arc<Theory>,
        start: &Tree,
        plan: &Plan,
    ) -> Result<Vec<End>, Failure> {
        match plan.split {
            Split::Violating { formula, pass } => {
                let mut ends = if pass { self.reached(theory, start, None)? } else { Vec::new() };
                ends.extend(self.violating(bound, theory, start, formula)?);
                Ok(ends)
            }
            Split::Through(predicate) => {
                let predicate = Predicate::new(self.formulas, predicate).expect("no temporal operators");
                self.reached(theory, start, Some(&predicate))
            }
            Split::All => {
                let ends = self.reached(theory, start, None)?;
                Ok(ends.into_iter().map(|end| End { is_counterexample: true, ..end }).collect())
            }
        }
    }

    /// All counterexample states, one check for each.
    fn violating(
        &mut self,
        bound: u32,
        theory: &Arc<Theory>,
        start: &Tree,
        formula: Formula,
    ) -> Result<Vec<End>, Failure> {
        let (mut ends, mut equations) = (Vec::new(), Vec::new());
        let mut theory = theory.clone();
        loop {
            let model = self.model(&theory, start);
            let Some(lasso) = self.check(&model, formula, true)? else { return Ok(ends) };
            let mut worker = model.worker();
            let last = lasso.steps.last().expect("a run has a state").state;
            let state = worker.term(last)?;
            let equation = self.revised.equation(&state).expect("the property has a goal");
            if equations.iter().any(|known: &Equation| known.lhs == equation.lhs) {
                let why = "an equation of the module says that a counterexample state found is none";
                return Err(Stop::Failed(why.to_owned()).into());
            }
            equations.push(equation);
            let way = self.way(&mut worker, &lasso)?;
            ends.push(End { state: self.lower(&state)?, is_counterexample: true, way });
            let module = self.revised.with(bound, &equations);
            theory = self.compiled.variant(Arc::new(module), self.making);
        }
    }

    /// All ends that can be reached. With a predicate, counterexample states are those reached through
    /// a state where it holds; a state that is reached in both ways is one only.
    fn reached(
        &mut self,
        theory: &Arc<Theory>,
        start: &Tree,
        through: Option<&Predicate>,
    ) -> Result<Vec<End>, Failure> {
        let model = self.model(theory, start);
        let mut worker = model.worker();
        let met = |worker: &mut ModelWorker, state: State, before: bool| match through {
            Some(predicate) if !before => Ok::<bool, Stop>(predicate.holds(worker.props(state)?)),
            _ => Ok(before),
        };
        let initial = worker.initial()?;
        let first = (initial, met(&mut worker, initial, false)?);
        // Breadth first; each with the one before it.
        let mut queue = vec![(first, usize::MAX)];
        let mut known: FxHashMap<(State, bool), usize> = FxHashMap::from_iter([(first, 0)]);
        let (mut ends, mut at, mut out) = (Vec::new(), 0, Vec::new());
        while at < queue.len() {
            self.limits.check()?;
            let ((state, is_met), _) = queue[at];
            out.clear();
            worker.successors(state, &mut out)?;
            if out.iter().all(|&(_, target)| target == state) {
                ends.push((at, is_met));
            } else {
                for &(_, target) in &out {
                    let next = (target, met(&mut worker, target, is_met)?);
                    known.entry(next).or_insert_with(|| {
                        queue.push((next, at));
                        queue.len() - 1
                    });
                }
            }
            at += 1;
        }
        self.explored += queue.len() as u64;
        self.rewrites += model.rewrites();
        let mut found = Vec::new();
        for (end, is_counterexample) in ends {
            let ((state, _), mut place) = queue[end];
            if through.is_some() && !is_counterexample && known.contains_key(&(state, true)) {
                continue;
            }
            let end = self.lower(&worker.term(state)?)?;
            let mut way = Vec::new();
            if place != usize::MAX {
                way.push(end.clone());
                while queue[place].1 != usize::MAX {
                    way.push(self.lower(&worker.term(queue[place].0.0)?)?);
                    place = queue[place].1;
                }
                way.reverse();
            }
            found.push(End { state: end, is_counterexample, way });
        }
        Ok(found)
    }
}

/// The states from the initial one to a place at the last boundary.
fn trail(boundaries: &[Boundary], origin: usize, is_counterexample: bool) -> Vec<Tree> {
    let (mut origin, mut is_counterexample) = (origin, is_counterexample);
    let mut ways = Vec::new();
    for boundary in boundaries.iter().rev() {
        let place = &boundary.places(is_counterexample)[origin];
        ways.push(&place.way);
        (origin, is_counterexample) = (place.origin, place.is_from_counterexample);
    }
    ways.into_iter().rev().flatten().cloned().collect()
}
