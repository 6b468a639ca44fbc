//! `modelCheck` and `satSolve` as functions that equations and commands may use.

use std::sync::{Arc, Mutex, OnceLock};

use rayon::ThreadPool;

use super::formula::{Connectives, apply, hook_op, hook_term};
use super::readings::{light, readings};
use super::vocabulary::{Vocabulary, reason, undecided};
use crate::base::{Cancel, Interrupt, pool};
use crate::check::{self, CheckError, Checker, Counterexample, Plans, Verdict};
use crate::graph::{Model, ModelSetup, Reading, RuleId, Stop, System};
use crate::interp::Setup;
use crate::logic::{Formulas, SizeLimits, TranslateError, satisfy};
use crate::mixfix::{PrintOptions, print};
use crate::rewrite::Machine;
use crate::sorts::{Special, Tree};
use crate::theory::{Call, Foreign, Reply, Theory};

/// Who computes these functions; see [`Foreign`].
pub struct Temporal {
    pub threads: usize,
    pub memory_max: Option<usize>,
    pub random_seed: u32,
    pub counterexample: Counterexample,
    /// Made when it is first needed.
    pool: OnceLock<Option<ThreadPool>>,
    notes: Mutex<Vec<Note>>,
    /// The last theory that was made for propositions: equations may ask about the same ones often.
    last: Mutex<Option<Prepared>>,
    plans: Arc<Plans>,
}

struct Prepared {
    from: Arc<Theory>,
    props: Vec<Tree>,
    theory: Arc<Theory>,
    readings: Vec<Option<Reading>>,
}

/// Something to tell when the command is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// Why a call was left as it is.
    Stuck(String),
    /// A mistake in rwl.
    Internal(String),
}

/// A check that finds no more states than this is over before its propositions could be prepared.
const SMALL: u32 = 256;

impl Temporal {
    pub fn new(setup: &Setup) -> Temporal {
        let Setup { threads, memory_max, random_seed, counterexample, .. } = *setup;
        Temporal {
            threads,
            memory_max,
            random_seed,
            counterexample,
            pool: OnceLock::new(),
            notes: Mutex::default(),
            last: Mutex::default(),
            plans: Arc::default(),
        }
    }

    /// What there is to tell since the last call.
    pub fn take_notes(&self) -> Vec<Note> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    fn note(&self, note: Note) {
        let mut notes = self.notes.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// The threads to check with; none inside a check that uses them already.
    pub fn pool(&self) -> Option<&ThreadPool> {
        if self.threads < 2 || rayon::current_thread_index().is_some() {
            return None;
        }
        self.pool.get_or_init(|| pool(self.threads, "check")).as_ref()
    }

    fn model_check(&self, call: &Call) -> Result<Option<Reply>, Interrupt> {
        let module = &call.theory.module;
        let Some(vocabulary) = Vocabulary::of(module, call.op) else { return Ok(None) };
        let [initial, formula] = &call.args[..] else { return Ok(None) };
        let mut machine = Machine::new(call.theory.clone(), call.cancel.clone());
        let negated = machine.reduce(&vocabulary.connectives.negated(formula))?;
        let negated = machine.to_tree(negated);
        let (mut formulas, mut props) = (Formulas::default(), Vec::new());
        let negated = vocabulary.connectives.read(&negated, &mut formulas, &mut props);
        let formula = formulas.negated(negated);
        if props.len() > crate::logic::PROPS_MAX as usize {
            self.note(Note::Stuck(TranslateError::TooManyPropositions.to_string()));
            return Ok(None);
        }
        let rewrites = machine.rewrites;
        for prop in &props {
            if !vocabulary.is_formula(&mut machine, prop)? {
                let text = print(&module.signature, prop, &PrintOptions::default());
                self.note(Note::Stuck(format!("{text} is neither a proposition nor a formula")));
                return Ok(None);
            }
        }
        let mut setup = self.plain_setup(call.theory, &vocabulary, initial, props, &call.cancel);
        if setup.theory.rules.join.is_some() && !self.prepare(&mut setup) {
            setup.states_max = Some(SMALL);
        }
        let options = self.options(&call.cancel);
        let options = check::Options { close: true, counterexample: self.counterexample, ..options };
        let mut check = |model: &Model| {
            Checker::new(model, self.pool(), options.clone())
                .and_then(|mut checker| checker.check(&mut formulas, formula))
        };
        let mut model = Model::new(setup.clone());
        let mut answer = check(&model);
        if model.is_outgrown() {
            // It is worth some preparation.
            setup.states_max = None;
            self.read_elements(&mut setup);
            model = Model::new(setup);
            answer = check(&model);
        }
        let verdict = match answer {
            Ok(answer) => answer.verdict,
            Err(CheckError::Translate(error)) => {
                self.note(Note::Stuck(undecided(&error)));
                return Ok(None);
            }
            Err(error) => {
                self.note(Note::Internal(format!("the check of a formula failed: {error:?}")));
                return Ok(None);
            }
        };
        let result = match verdict {
            Verdict::Holds { .. } => vocabulary.truth.clone(),
            Verdict::Violated(lasso) => {
                let mut worker = model.witness();
                let mut steps: Vec<(Tree, RuleId)> = Vec::new();
                for step in &lasso.steps {
                    match worker.term(step.state) {
                        Ok(term) => steps.push((term, step.rule)),
                        Err(stop) => return self.stop(stop),
                    }
                }
                let (prefix, cycle) = steps.split_at(lasso.prefix().len());
                vocabulary.counterexample(module, prefix, cycle)
            }
            Verdict::Unknown(stop) => return self.stop(stop),
        };
        Ok(Some(Reply { result, rewrites: rewrites + model.rewrites() }))
    }

    /// What a model is made of, where propositions are evaluated by their equations.
    fn plain_setup(
        &self,
        theory: &Arc<Theory>,
        vocabulary: &Vocabulary,
        initial: &Tree,
        props: Vec<Tree>,
        cancel: &Cancel,
    ) -> ModelSetup {
        ModelSetup {
            theory: theory.clone(),
            initial: initial.clone(),
            satisfies: vocabulary.satisfies,
            truth: vocabulary.truth.clone(),
            readings: vec![None; props.len()],
            light: light(&theory.module, vocabulary.satisfies, &props),
            props,
            cancel: cancel.clone(),
            random_seed: self.random_seed,
            memory_max: self.memory_max,
            states_max: None,
        }
    }

    /// The same, with propositions that are read off the elements of states where that is possible.
    pub fn setup(
        &self,
        theory: &Arc<Theory>,
        vocabulary: &Vocabulary,
        initial: &Tree,
        props: Vec<Tree>,
        cancel: &Cancel,
    ) -> ModelSetup {
        let mut setup = self.plain_setup(theory, vocabulary, initial, props, cancel);
        self.read_elements(&mut setup);
        setup
    }

    /// How to check, without limits of its own.
    pub fn options(&self, cancel: &Cancel) -> check::Options {
        let limits = check::Limits {
            cancel: cancel.clone(),
            memory_max: self.memory_max.map(|bytes| bytes as u64),
            ..check::Limits::default()
        };
        check::Options { limits, plans: self.plans.clone(), ..check::Options::default() }
    }

    /// Reads propositions off elements if it is known how; see [`readings`].
    fn prepare(&self, setup: &mut ModelSetup) -> bool {
        let last = self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let known = last.as_ref();
        let known =
            known.filter(|known| Arc::ptr_eq(&known.from, &setup.theory) && known.props == setup.props);
        if let Some(known) = known {
            (setup.theory, setup.readings) = (known.theory.clone(), known.readings.clone());
        }
        known.is_some()
    }

    /// The same, after it has been found out.
    fn read_elements(&self, setup: &mut ModelSetup) {
        if self.prepare(setup) {
            return;
        }
        let ModelSetup { theory: from, satisfies, truth, props, .. } = &*setup;
        let (theory, readings) = readings(from, *satisfies, truth, props);
        let prepared = Prepared { from: from.clone(), props: props.clone(), theory, readings };
        *self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(prepared);
        self.prepare(setup);
    }

    /// A check that ended before its answer.
    fn stop(&self, stop: Stop) -> Result<Option<Reply>, Interrupt> {
        match stop {
            Stop::Interrupted(interrupt) => Err(interrupt),
            stop => {
                self.note(Note::Stuck(reason(&stop)));
                Ok(None)
            }
        }
    }

    fn sat_solve(&self, call: &Call, special: &Special) -> Option<Reply> {
        let connectives = Connectives::of(special)?;
        let op = |name| hook_op(special, name);
        let (list, nil, model) = (op("formulaListSymbol")?, op("nilFormulaListSymbol")?, op("modelSymbol")?);
        let falsity = hook_term(special, "falseTerm")?;
        let (mut formulas, mut props) = (Formulas::default(), Vec::new());
        let formula = connectives.read(call.args.first()?, &mut formulas, &mut props);
        let found = match satisfy(&mut formulas, formula, SizeLimits::default()) {
            Ok(found) => found,
            Err(error) => {
                self.note(Note::Stuck(error.to_string()));
                return None;
            }
        };
        let letters = |cubes: &[_]| {
            let letters: Vec<Tree> = cubes.iter().map(|&cube| connectives.letter(cube, &props)).collect();
            match &letters[..] {
                [] => apply(nil, &[]),
                [one] => one.clone(),
                _ => apply(list, &letters),
            }
        };
        let result = match found {
            None => falsity.clone(),
            Some(word) => apply(model, &[letters(&word.prefix), letters(&word.cycle)]),
        };
        Some(Reply { result, rewrites: 0 })
    }
}

impl Foreign for Temporal {
    fn apply(&self, call: &Call) -> Result<Option<Reply>, Interrupt> {
        let special = call.theory.module.signature.op(call.op).special.as_ref();
        match special {
            Some(special) if special.hook.as_str() == "SatSolverSymbol" => Ok(self.sat_solve(call, special)),
            _ => self.model_check(call),
        }
    }
}
