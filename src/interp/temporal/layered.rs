//! `rwl check --layers`: formulas checked in layers, each on its own, with checkpoints.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::desk::{Desk, unless_exceeded};
use super::request::Claim;
use super::run::{Describer, Planted};
use super::vocabulary::undecided;
use crate::base::{Diagnostic, Severity};
use crate::check::layers::{
    self, CheckpointError, Division, Layers, Options, Progress, Reason, Saving, Verdict,
};
use crate::check::{self, CheckError, Fairness};
use crate::graph::{Model, ModelSetup, Regions, RuleId, Stop};
use crate::interp::command::since;
use crate::interp::pace::Pace;
use crate::interp::{Host, Interpreter, LineSink};
use crate::logic::Formulas;
use crate::module::Module;
use crate::report::{self, CheckReport, End, Time, layers_progress, show};
use crate::sorts::Tree;
use rayon::ThreadPool;

/// How to check in layers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Method {
    /// Pairs of states and automaton states pass from layer to layer; for every formula.
    #[default]
    Native,
    /// The authors' own: a revised module that counts steps; for some classes of formulas.
    Revise,
}

impl Method {
    pub fn text(self) -> &'static str {
        match self {
            Method::Native => "native",
            Method::Revise => "revise",
        }
    }
}

/// How to divide, and where to save what is done.
#[derive(Clone, Debug, Default)]
pub struct LayersRequest {
    pub layers: Layers,
    pub method: Method,
    pub checkpoint: Option<PathBuf>,
    pub resume: bool,
}

impl LayersRequest {
    /// Whether the state space is divided only if it does not fit into memory. What is to be saved is
    /// divided, since only so it can be gone on with.
    pub fn is_whole_first(&self) -> bool {
        self.layers == Layers::Auto && self.checkpoint.is_none() && self.method == Method::Native
    }
}

/// Time between two writes of a checkpoint in the final layer.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);

impl Interpreter {
    #[expect(clippy::too_many_arguments, reason = "all of it is the one request")]
    pub(super) fn check_in_layers(
        &mut self,
        host: &mut dyn Host,
        desk: &mut Desk,
        module: &Arc<Module>,
        setup: ModelSetup,
        request: &LayersRequest,
        fairness: &Fairness,
        claims: &[Claim],
        formulas: &mut Formulas,
    ) {
        if let Some(directory) = request.checkpoint.as_ref().filter(|_| request.resume)
            && !host.is_directory(directory)
        {
            // Whoever starts it again after a crash need not know whether something had been saved.
            let message =
                format!("{}: there is no checkpoint yet, so this is the start", directory.display());
            self.say(host, &Diagnostic::new(Severity::Advisory, "checkpoint", message, None));
        }
        let mut savings = Vec::new();
        for (number, claim) in claims.iter().enumerate() {
            let Some(all) = &request.checkpoint else { break };
            let identity = self.identity(module, &setup, fairness, claim).into_bytes();
            let saving = saving(host, request, all, identity, (claims.len() > 1).then_some(number + 1));
            // Each formula needs its place, so without one nothing is begun.
            if let Err(error) = saving.prepare() {
                return self.checkpoint_failed(host, &error);
            }
            savings.push(saving);
        }
        let mut savings = savings.into_iter();
        for claim in claims {
            let saving = savings.next();
            let model = layered_model(&setup);
            ask(&model, formulas, claim);
            let work =
                LayeredWork { module, setup: &setup, fairness, claim, model: &model, start: host.time() };
            let layers = request.layers.clone();
            match unless_exceeded(|| self.check_layered(host, &work, layers, saving, formulas)) {
                Ok(report) => desk.put(host, claim.place, report),
                Err(what) => {
                    self.status.stopped = true;
                    desk.give_up(host, claim.place, what);
                }
            }
        }
        self.setup.cancel.clear();
    }

    fn check_layered(
        &mut self,
        host: &mut dyn Host,
        work: &LayeredWork,
        layers: Layers,
        saving: Option<Saving>,
        formulas: &mut Formulas,
    ) -> Option<CheckReport> {
        let mut division = Division::default();
        let answer = self.in_layers(host, work, formulas, |model, pool, formulas, options| {
            let options = Options { layers, saving, ..options };
            match layers::go_on(model, pool, formulas, work.claim.formula, &mut division, options) {
                Err(layers::Error::Check(CheckError::Translate(error))) => Ok(layers::Answer {
                    verdict: Verdict::Unknown(Reason::Stopped(Stop::Failed(undecided(&error)))),
                    is_vacuous: false,
                    layers: Vec::new(),
                    splits: 0,
                    automaton: 0,
                    states: 0,
                    transitions: 0,
                    hits: 0,
                }),
                result => result,
            }
        })?;
        let mut report = self.layered_report(host, work, formulas, answer);
        if self.is_verbose {
            report.ends = self.ends(work, formulas, &division);
        }
        Some(report)
    }

    /// The states where layers end; none if they cannot be made any more.
    fn ends(&self, work: &LayeredWork, formulas: &mut Formulas, division: &Division) -> Vec<Vec<End>> {
        work.model.forget();
        let mut region = work.model.region();
        let layers = division.ends(&mut region, formulas, work.claim.formula).unwrap_or_default();
        let mut end = |end: layers::End| {
            let state = self.print(work.module, &region.term(end.seed)?);
            Ok(End { state, is_counterexample: end.is_counterexample })
        };
        let ends = layers.into_iter().map(|layer| layer.into_iter().map(&mut end).collect());
        ends.collect::<Result<_, Stop>>().unwrap_or_default()
    }

    /// Whatever tells a check from others.
    pub(super) fn identity(
        &self,
        module: &Module,
        setup: &ModelSetup,
        fairness: &Fairness,
        claim: &Claim,
    ) -> String {
        let init = self.print(module, &setup.initial);
        format!("{}\n{init}\n{}\n{fairness:?}", show::show_all(module, &self.order, true), claim.text)
    }

    /// Has something done on a model within the limits; tells what goes wrong.
    pub(super) fn in_layers<T>(
        &mut self,
        host: &mut dyn Host,
        work: &LayeredWork,
        formulas: &mut Formulas,
        task: impl FnOnce(&Model, Option<&ThreadPool>, &mut Formulas, Options) -> Result<T, layers::Error>,
    ) -> Option<T> {
        let temporal = self.temporal.clone();
        let watcher = host.progress_channel().map(watcher);
        let watcher = watcher.as_ref().map(|watcher| watcher as layers::Watcher);
        let limits = check::Limits {
            cancel: self.setup.cancel.clone(),
            memory_max: work.setup.memory_max.map(|bytes| bytes as u64),
            ..check::Limits::default()
        };
        let fairness = work.fairness.clone();
        let options = Options { limits, fairness, watcher, ..Options::default() };
        match task(work.model, temporal.pool(), formulas, options) {
            Ok(result) => return Some(result),
            Err(layers::Error::Check(error)) => self.check_failed(host, &error),
            Err(layers::Error::Checkpoint(error)) => {
                self.checkpoint_failed(host, &error);
            }
            Err(layers::Error::Foreign) => {
                let message = "what is to be searched belongs to another module, formula or version of rwl";
                self.say(host, &Diagnostic::new(Severity::Error, "foreign-job", message, None));
            }
        }
        None
    }

    fn checkpoint_failed(&mut self, host: &mut dyn Host, error: &CheckpointError) {
        self.say(host, &Diagnostic::new(Severity::Error, "checkpoint", error.to_string(), None));
    }

    /// What there is to say about an answer.
    pub(super) fn layered_report(
        &mut self,
        host: &mut dyn Host,
        work: &LayeredWork,
        formulas: &mut Formulas,
        answer: layers::Answer,
    ) -> CheckReport {
        let LayeredWork { module, setup, fairness, claim, model, start } = work;
        let mut report = CheckReport {
            name: claim.name.clone(),
            module: module.name.to_string(),
            init: self.print(module, &setup.initial),
            formula: claim.text.clone(),
            idle: claim.idle.clone(),
            method: Some(Method::Native.text()),
            layers: depths(&answer.layers),
            states: answer.states,
            transitions: Some(answer.transitions),
            fair_weak: labels(module, &fairness.weak),
            fair_strong: labels(module, &fairness.strong),
            rewrites: claim.rewrites + model.rewrites(),
            time: since(*start, host.time()),
            peak_memory: host.peak_memory(),
            threads: self.setup.threads,
            ..CheckReport::default()
        };
        match answer.verdict {
            Verdict::Holds => {
                report.verdict = report::Verdict::Holds;
                report.is_vacuous = answer.is_vacuous;
                report.is_valid = answer.automaton == 0;
            }
            Verdict::Violated(run) => {
                report.verdict = report::Verdict::Violated;
                self.status.violated = true;
                let props: Vec<String> = setup.props.iter().map(|prop| self.print(module, prop)).collect();
                let states = Planted { region: model.region(), seeds: run.seeds };
                let mut describer = Describer { module, states, props: &props };
                let print = |tree: &Tree| self.print(module, tree);
                match describer.run(formulas, claim.formula, &run.lasso, &print) {
                    Ok(run) => report.counterexample = Some(run),
                    Err(stop) => report.reason = Some(self.unknown(&stop)),
                }
            }
            Verdict::Unknown(reason) => {
                report.verdict = report::Verdict::Unknown;
                self.status.stopped = true;
                report.reason = Some(self.no_verdict(&reason));
            }
        }
        report
    }

    /// Why there is no verdict.
    pub(super) fn no_verdict(&self, reason: &Reason) -> String {
        match reason {
            Reason::Stopped(stop) => self.unknown(stop),
            Reason::Component => "the memory limit was reached: a part of the state space does not fit, \
                however it is divided; give it more with --memory"
                .to_owned(),
            Reason::Elsewhere(text) => text.clone(),
            Reason::Divided => "the final layer has not been checked".to_owned(),
        }
    }
}

/// Where what is done for a claim is saved, in a directory of its own if it has a number.
fn saving(
    host: &mut dyn Host,
    request: &LayersRequest,
    all: &Path,
    identity: Vec<u8>,
    number: Option<usize>,
) -> Saving {
    let resume = request.resume;
    let own = |number: usize| all.join(format!("claim-{number}"));
    let directory = number.map_or_else(|| all.to_owned(), own);
    let saving = Saving { directory, resume, identity, interval: SAVE_INTERVAL };
    // It may have been saved together with other formulas.
    let others = (1..).map(own).take_while(|directory| host.is_directory(directory));
    let mut places = [saving.directory.clone(), all.to_owned()].into_iter().chain(others);
    if let Some(directory) = places.find(|place| resume && saving.is_at(place, &request.layers)) {
        return Saving { directory, ..saving };
    }
    drop(places);
    // Its place may be another formula's.
    if resume && number.is_some() && host.is_directory(&saving.directory) {
        let free = (1..).map(own).find(|directory| !host.is_directory(directory));
        return Saving { directory: free.expect("there are fewer directories than numbers"), ..saving };
    }
    saving
}

/// A claim that is being checked.
pub(super) struct LayeredWork<'a> {
    pub module: &'a Module,
    pub setup: &'a ModelSetup,
    pub fairness: &'a Fairness,
    pub claim: &'a Claim,
    /// What one formula has stored is of no use for the next, so each has its own.
    pub model: &'a Model,
    pub start: Time,
}

/// A model that leaves room for what is verified.
pub(super) fn layered_model(setup: &ModelSetup) -> Model {
    let memory_max = setup.memory_max.map(|all| all / 4 * 3);
    Model::new(ModelSetup { memory_max, ..setup.clone() })
}

/// Has only those propositions evaluated that a claim has.
pub(super) fn ask(model: &Model, formulas: &Formulas, claim: &Claim) {
    model.ask(formulas.props(claim.formula).iter().fold(0, |all, prop| all | 1 << prop.0));
}

pub(super) fn depths(layers: &[layers::Layer]) -> Vec<report::Layer> {
    let mut depth = 0;
    let layer = |layer: &layers::Layer| {
        depth += u64::from(layer.steps);
        report::Layer {
            depth,
            spaces: layer.end.spaces as u64,
            states: layer.end.states as u64,
            counterexample_states: layer.end.counterexample_states as u64,
            pairs: Some(layer.end.pairs as u64),
        }
    };
    layers.iter().map(layer).collect()
}

/// Writes a line about the check now and then.
pub(super) fn watcher(show: LineSink) -> impl Fn(&Progress) + Sync {
    // The layer that is worked on, what of it had been done when that began, and when.
    let began = (0, 0, Instant::now());
    let state = Mutex::new((show, Pace::new(), began));
    move |progress: &Progress| {
        let Ok(mut state) = state.try_lock() else { return };
        let (show, pace, began) = &mut *state;
        let Progress { layer, depth, done, spaces, states, hits, .. } = *progress;
        if began.0 != layer {
            *began = (layer, done, Instant::now());
        }
        if let Some(time) = pace.beat() {
            let each = began.2.elapsed().checked_div(done.saturating_sub(began.1) as u32);
            let rest = each.map(|each| each * (spaces - done) as u32);
            show(&layers_progress(layer, depth, (done, spaces), states, hits, time, rest));
        }
    }
}

/// The labels of the rules that each condition of fairness is about.
pub(super) fn labels(module: &Module, conditions: &[Vec<RuleId>]) -> Vec<String> {
    let label = |rules: &Vec<RuleId>| {
        let rule = rules.first().and_then(|rule| module.rules.get(rule.index()));
        rule.and_then(|rule| rule.attrs.label).map(|label| label.to_string())
    };
    conditions.iter().filter_map(label).collect()
}
