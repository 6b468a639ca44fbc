//! `modelCheck` and `satSolve` as functions that equations and commands may use.

use std::sync::{Arc, Mutex, OnceLock};

use rayon::ThreadPool;

use super::formula::{Connectives, apply, hook_op, hook_term};
use super::readings::readings;
use super::vocabulary::{Vocabulary, reason};
use crate::base::Interrupt;
use crate::check::{self, CheckError, Checker, Counterexample, Verdict};
use crate::graph::{Model, ModelSetup, Reading, RuleId, Stop, System};
use crate::interp::Setup;
use crate::logic::{Formulas, SizeLimits, TranslateError, satisfy};
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
        let make = || {
            rayon::ThreadPoolBuilder::new()
                .num_threads(self.threads)
                .thread_name(|i| format!("check-{i}"))
                .stack_size(64 << 20)
                .build()
                .ok()
        };
        self.pool.get_or_init(make).as_ref()
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
        let (theory, readings) = self.prepared(call.theory, &vocabulary, &props);
        let model = Model::new(ModelSetup {
            theory,
            initial: initial.clone(),
            satisfies: vocabulary.satisfies,
            truth: vocabulary.truth.clone(),
            props,
            readings,
            cancel: call.cancel.clone(),
            random_seed: self.random_seed,
            memory_max: self.memory_max,
        });
        let limits = check::Limits {
            cancel: call.cancel.clone(),
            memory_max: self.memory_max.map(|bytes| bytes as u64),
            ..check::Limits::default()
        };
        let counterexample = self.counterexample;
        let options = check::Options { limits, close: true, counterexample, ..check::Options::default() };
        let answer = Checker::new(&model, self.pool(), options)
            .and_then(|mut checker| checker.check(&mut formulas, formula));
        let verdict = match answer {
            Ok(answer) => answer.verdict,
            Err(CheckError::Translate(error)) => {
                self.note(Note::Stuck(error.to_string()));
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
                let mut worker = model.worker();
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
        Ok(Some(Reply { result, rewrites: machine.rewrites + model.rewrites() }))
    }

    /// See [`readings`].
    fn prepared(
        &self,
        from: &Arc<Theory>,
        vocabulary: &Vocabulary,
        props: &[Tree],
    ) -> (Arc<Theory>, Vec<Option<Reading>>) {
        let mut last = self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(known) = &*last
            && Arc::ptr_eq(&known.from, from)
            && known.props == props
        {
            return (known.theory.clone(), known.readings.clone());
        }
        let (theory, readings) = readings(from, vocabulary.satisfies, &vocabulary.truth, props);
        let prepared = Prepared {
            from: from.clone(),
            props: props.to_vec(),
            theory: theory.clone(),
            readings: readings.clone(),
        };
        *last = Some(prepared);
        (theory, readings)
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
