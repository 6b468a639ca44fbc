//! `rwl plan`, `rwl job run` and `rwl plan collect`: the first layers here, the final one elsewhere.
//!
//! Each formula is on its own from the beginning: the numbers of propositions and automaton states,
//! which pieces of the final layer contain, then depend on nothing else.

use std::fmt::Write as _;
use std::sync::Arc;

use super::layered::{LayeredWork, layered_model};
use super::request::{CheckRequest, Claim, Prepared};
use crate::base::{Diagnostic, Severity, digest};
use crate::check::Fairness;
use crate::check::layers::apart::{self, Frontier, Outcome, Pieces};
use crate::check::layers::{Layers, Options};
use crate::graph::ModelSetup;
use crate::interp::command::since;
use crate::interp::{Host, Interpreter};
use crate::module::Module;
use crate::report::{Answer, CheckReport, Time};

/// A formula after the first layers.
pub enum Planned {
    /// More need not be searched, or cannot be.
    Answered(Box<CheckReport>),
    Open(Box<Open>),
}

/// A formula whose final layer is to be searched.
pub struct Open {
    /// As `--formula` takes it.
    pub formula: String,
    /// Tells the system and the formula from others.
    pub system: String,
    pub frontier: Frontier,
    /// What it took so far; its verdict is unknown.
    pub report: CheckReport,
}

/// A piece that was searched.
pub struct Searched {
    pub outcome: Outcome,
    /// Why the outcome is unknown.
    pub reason: Option<String>,
    /// States expanded, and rewrites.
    pub states: u64,
    pub rewrites: u64,
    pub time: Time,
}

/// What was done elsewhere.
pub struct Elsewhere {
    pub outcome: Outcome,
    pub states: u64,
    pub rewrites: u64,
    pub time: Time,
    pub peak_memory: u64,
}

impl Interpreter {
    /// Goes through the first layers for each formula, and reports on those that are decided there.
    pub fn plan_once(
        &mut self,
        host: &mut dyn Host,
        request: &CheckRequest,
        layers: &Layers,
        pieces: Pieces,
    ) -> Option<Vec<Planned>> {
        let module = self.checked_module(host, request)?;
        let mut formulas = request.formulas.clone();
        if formulas.is_empty() {
            formulas =
                self.prepare(host, request, &module)?.claims.into_iter().filter_map(|c| c.name).collect();
        }
        let mut planned = Vec::new();
        for formula in formulas {
            let alone = CheckRequest { formulas: vec![formula.clone()], ..request.clone() };
            let Prepared { setup, fairness, claims, mut formulas, .. } =
                self.prepare(host, &alone, &module)?;
            let (setup, claim) = (&setup, &claims[0]);
            let system = self.system(&module, setup, claim);
            let (model, start) = (layered_model(setup), host.time());
            let work =
                LayeredWork { module: &module, setup, fairness: &fairness, claim, model: &model, start };
            let formulas = &mut formulas;
            let (answer, frontier) =
                self.in_layers(host, &work, formulas, |model, pool, formulas, options| {
                    let options = Options { layers: layers.clone(), ..options };
                    apart::divide(model, pool, formulas, claim.formula, options, pieces)
                })?;
            let stopped = self.status.stopped;
            let report = self.layered_report(host, &work, formulas, answer);
            planned.push(match frontier {
                Some(frontier) => {
                    // It is not known yet, but nothing has been stopped.
                    self.status.stopped = stopped;
                    Planned::Open(Box::new(Open { formula, system, frontier, report }))
                }
                None => {
                    host.answer(&Answer::Check(Box::new(report.clone())));
                    Planned::Answered(Box::new(report))
                }
            });
        }
        Some(planned)
    }

    /// Searches a piece of the final layer.
    pub fn search_piece(
        &mut self,
        host: &mut dyn Host,
        request: &CheckRequest,
        system: &str,
        piece: &[u8],
    ) -> Option<Searched> {
        let module = self.checked_module(host, request)?;
        let Prepared { setup, fairness, claims, mut formulas, .. } = self.prepare(host, request, &module)?;
        let (setup, claim) = (&setup, &claims[0]);
        self.expect_system(host, &module, setup, claim, system)?;
        let (model, start) = (layered_model(setup), host.time());
        let work = LayeredWork { module: &module, setup, fairness: &fairness, claim, model: &model, start };
        let formulas = &mut formulas;
        let (outcome, answer) = self.in_layers(host, &work, formulas, |model, pool, formulas, options| {
            apart::search(model, pool, formulas, claim.formula, options, piece)
        })?;
        let reason = match &outcome {
            Outcome::Unknown(reason) => Some(self.no_verdict(reason)),
            _ => None,
        };
        let rewrites = claim.rewrites + work.model.rewrites();
        let time = since(work.start, host.time());
        Some(Searched { outcome, reason, states: answer.states, rewrites, time })
    }

    /// What follows from all that was done elsewhere.
    pub fn conclude_once(
        &mut self,
        host: &mut dyn Host,
        request: &CheckRequest,
        system: &str,
        boundaries: &[Vec<u8>],
        elsewhere: Elsewhere,
    ) -> Option<CheckReport> {
        let module = self.checked_module(host, request)?;
        let Prepared { setup, fairness, claims, mut formulas, .. } = self.prepare(host, request, &module)?;
        let (setup, claim) = (&setup, &claims[0]);
        self.expect_system(host, &module, setup, claim, system)?;
        let (model, start) = (layered_model(setup), host.time());
        let work = LayeredWork { module: &module, setup, fairness: &fairness, claim, model: &model, start };
        let Elsewhere { outcome, states, rewrites, time, peak_memory } = elsewhere;
        let formulas = &mut formulas;
        let answer = self.in_layers(host, &work, formulas, |model, pool, formulas, options| {
            apart::conclude(model, pool, formulas, claim.formula, options, boundaries, outcome)
        })?;
        let mut report = self.layered_report(host, &work, formulas, answer);
        report.states += states;
        report.rewrites += rewrites;
        report.time = Time { cpu: report.time.cpu + time.cpu, real: report.time.real + time.real };
        report.peak_memory = report.peak_memory.max(peak_memory);
        Some(report)
    }

    fn checked_module(&mut self, host: &mut dyn Host, request: &CheckRequest) -> Option<Arc<Module>> {
        self.declares_only = false;
        self.module_argument(host, request.module.as_deref())
    }

    /// A digest of all that the meaning of a piece depends on. States are written with the numbers of
    /// operators, so those belong to it.
    fn system(&self, module: &Module, setup: &ModelSetup, claim: &Claim) -> String {
        let mut text = format!(
            "rwl {}\n{}\n",
            env!("CARGO_PKG_VERSION"),
            self.identity(module, setup, &Fairness::default(), claim)
        );
        for (id, op) in module.signature.ops() {
            let _ = writeln!(text, "{id:?} {} {:?}", op.name, op.domain);
        }
        for prop in &setup.props {
            let _ = writeln!(text, "{}", self.print(module, prop));
        }
        digest(text.as_bytes())
    }

    fn expect_system(
        &mut self,
        host: &mut dyn Host,
        module: &Module,
        setup: &ModelSetup,
        claim: &Claim,
        expected: &str,
    ) -> Option<()> {
        if self.system(module, setup, claim) == expected {
            return Some(());
        }
        let message = format!("module {} is not what it was when the plan was made", module.name);
        let hint = "run plan, jobs and collect with the same rwl";
        self.say(host, &Diagnostic::new(Severity::Error, "foreign-job", message, None).hint(hint));
        None
    }
}
