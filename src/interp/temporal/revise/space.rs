//! The sub-state space of one state in one layer, by model checks of the revised module: where its
//! runs end, and which of the ends are counterexample states.
//!
//! A counterexample state `s` is found by a model check, then `s |= q = true` is added to the module
//! so that the next check finds another one, until there is none.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::driver::{Failure, Scene};
use super::plan::{Plan, Split};
use crate::check::{self, Checker, Lasso, Predicate, Verdict as Checked};
use crate::graph::{Model, ModelSetup, ModelWorker, State, Stop, System, Worker};
use crate::logic::{Formula, Formulas};
use crate::module::Equation;
use crate::rewrite::Machine;
use crate::sorts::Tree;
use crate::theory::Theory;

/// A sub-state space, and what was done in it so far.
pub struct Space<'a> {
    scene: &'a Scene<'a>,
    formulas: Formulas,
    /// Reduces states as written.
    machine: Machine,
    pub explored: u64,
    pub rewrites: u64,
}

/// A state where a run of a layer ends, and the way there.
pub struct End {
    pub state: Tree,
    pub is_counterexample: bool,
    pub way: Vec<Tree>,
}

impl<'a> Space<'a> {
    pub fn new(scene: &'a Scene<'a>, formulas: &Formulas) -> Space<'a> {
        let ModelSetup { theory, cancel, .. } = scene.original;
        let machine = Machine::new(theory.clone(), cancel.clone());
        Space { scene, formulas: formulas.clone(), machine, explored: 0, rewrites: 0 }
    }

    /// A run that violates the formula, if there is one.
    pub fn check(&mut self, model: &Model, formula: Formula, close: bool) -> Result<Option<Lasso>, Failure> {
        let options =
            check::Options { limits: self.scene.limits.clone(), close, ..check::Options::default() };
        let answer = Checker::new(model, None, options)?.check(&mut self.formulas, formula)?;
        self.explored += answer.states as u64;
        self.rewrites += model.rewrites();
        match answer.verdict {
            Checked::Holds { vacuous } => {
                // What is checked of counterexample states has no premise, but there was one before.
                if !vacuous {
                    self.scene.meter.set_met();
                }
                Ok(None)
            }
            Checked::Violated(lasso) => Ok(Some(lasso)),
            Checked::Unknown(stop) => Err(Failure::Stop(stop)),
        }
    }

    fn model(&self, theory: &Arc<Theory>, start: &Tree) -> Model {
        Model::new(ModelSetup {
            theory: theory.clone(),
            initial: start.clone(),
            satisfies: self.scene.revised.satisfies,
            truth: self.scene.revised.truth.clone(),
            props: self.scene.revised.props.clone(),
            readings: vec![None; self.scene.revised.props.len()],
            light: u64::MAX,
            ..self.scene.original.clone()
        })
    }

    /// The states of a run of the layer that violates the formula, the first one left out.
    pub fn fatal(
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
        let state = self.scene.revised.lower(state).map_err(Stop::Failed)?;
        self.normal(&state)
    }

    pub fn normal(&mut self, state: &Tree) -> Result<Tree, Failure> {
        let term = self.machine.reduce(state).map_err(Stop::Interrupted)?;
        Ok(self.machine.to_tree(term))
    }

    /// The ends of a layer that begins in one state.
    pub fn ends(
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
                let predicate = Predicate::new(&self.formulas, predicate).expect("no temporal operators");
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
            let equation = self.scene.revised.equation(&state).expect("the property has a goal");
            if equations.iter().any(|known: &Equation| known.lhs == equation.lhs) {
                let why = "an equation of the module says that a counterexample state found is none";
                return Err(Stop::Failed(why.to_owned()).into());
            }
            equations.push(equation);
            let way = self.way(&mut worker, &lasso)?;
            ends.push(End { state: self.lower(&state)?, is_counterexample: true, way });
            theory = self.scene.variants.theory(self.scene.revised.with(bound, &equations));
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
        let meter = &self.scene.meter;
        let met = |worker: &mut ModelWorker, state: State, before: bool| match through {
            Some(predicate) if !before => {
                let props = worker.props(state)?;
                meter.meet(props);
                Ok::<bool, Stop>(predicate.holds(props))
            }
            _ => Ok(before),
        };
        let initial = worker.initial()?;
        let first = (initial, met(&mut worker, initial, false)?);
        // Breadth first; each with the one before it.
        let mut queue = vec![(first, usize::MAX)];
        let mut known: FxHashMap<(State, bool), usize> = FxHashMap::from_iter([(first, 0)]);
        let (mut ends, mut at, mut out) = (Vec::new(), 0, Vec::new());
        while at < queue.len() {
            self.scene.limits.check()?;
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
