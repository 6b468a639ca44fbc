//! `rwl check --layers`: formulas checked in layers, each on its own, with checkpoints.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::request::Claim;
use super::run::{Describer, Planted};
use crate::base::{Diagnostic, Severity};
use crate::check;
use crate::check::layers::{self, Layers, Options, Progress, Reason, Saving, Verdict};
use crate::graph::{Model, ModelSetup, Regions};
use crate::interp::command::since;
use crate::interp::pace::Pace;
use crate::interp::{Host, Interpreter, LineSink};
use crate::logic::Formulas;
use crate::module::Module;
use crate::report::{self, Answer, CheckReport, layers_progress, show};
use crate::sorts::Tree;

/// How to divide, and where to save what is done.
#[derive(Clone, Debug, Default)]
pub struct LayersRequest {
    pub layers: Layers,
    pub checkpoint: Option<PathBuf>,
    pub resume: bool,
}

/// Time between two writes of a checkpoint in the final layer.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);

impl Interpreter {
    pub(super) fn check_in_layers(
        &mut self,
        host: &mut dyn Host,
        module: &Arc<Module>,
        setup: ModelSetup,
        request: &LayersRequest,
        claims: &[Claim],
        formulas: &mut Formulas,
    ) {
        let init = self.print(module, &setup.initial);
        let props: Vec<String> = setup.props.iter().map(|prop| self.print(module, prop)).collect();
        let temporal = self.temporal.clone();
        if let Some(directory) = request.checkpoint.as_ref().filter(|_| request.resume)
            && !host.is_directory(directory)
        {
            let message = format!("{}: there is no checkpoint", directory.display());
            return self.say(host, &Diagnostic::new(Severity::Error, "checkpoint", message, None));
        }
        for (number, claim) in claims.iter().enumerate() {
            let start = host.time();
            // What one formula has stored is of no use for the next.
            let model = Model::new(setup.clone());
            let watcher = host.progress_channel().map(watcher);
            let watcher = watcher.as_ref().map(|watcher| watcher as layers::Watcher);
            let limits = check::Limits {
                cancel: self.setup.cancel.clone(),
                memory_max: self.setup.memory_max.map(|bytes| bytes as u64),
                ..check::Limits::default()
            };
            let saving = request.checkpoint.as_ref().map(|directory| Saving {
                directory: match claims {
                    [_] => directory.clone(),
                    _ => directory.join(format!("claim-{}", number + 1)),
                },
                resume: request.resume,
                identity: format!("{}\n{init}\n{}", show::show_all(module, &self.order), claim.text)
                    .into_bytes(),
                interval: SAVE_INTERVAL,
            });
            let options =
                Options { layers: request.layers.clone(), limits, saving, watcher, ..Options::default() };
            let answer = match layers::check(&model, temporal.pool(), formulas, claim.formula, options) {
                Ok(answer) => answer,
                Err(layers::Error::Check(error)) => {
                    self.check_failed(host, &error);
                    continue;
                }
                Err(layers::Error::Checkpoint(error)) => {
                    self.say(host, &Diagnostic::new(Severity::Error, "checkpoint", error.to_string(), None));
                    continue;
                }
            };
            let mut report = CheckReport {
                name: claim.name.clone(),
                module: module.name.to_string(),
                init: init.clone(),
                formula: claim.text.clone(),
                layers: depths(&answer.layers),
                states: answer.states,
                rewrites: claim.rewrites + model.rewrites(),
                time: since(start, host.time()),
                peak_memory: host.peak_memory(),
                threads: self.setup.threads,
                ..CheckReport::default()
            };
            match answer.verdict {
                Verdict::Holds => report.verdict = report::Verdict::Holds,
                Verdict::Violated(run) => {
                    report.verdict = report::Verdict::Violated;
                    self.status.violated = true;
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
                    report.reason = Some(match reason {
                        Reason::Stopped(stop) => self.unknown(&stop),
                        Reason::Component => "states that all reach each other do not fit into the memory; \
                            no layers help, only more memory"
                            .to_owned(),
                    });
                }
            }
            host.answer(&Answer::Check(Box::new(report)));
        }
        self.setup.cancel.clear();
    }
}

fn depths(layers: &[layers::Layer]) -> Vec<report::Layer> {
    let mut depth = 0;
    let layer = |layer: &layers::Layer| {
        depth += u64::from(layer.steps);
        report::Layer {
            depth,
            spaces: layer.spaces as u64,
            states: layer.end.states as u64,
            counterexample_states: layer.end.counterexample_states as u64,
        }
    };
    layers.iter().map(layer).collect()
}

/// Writes a line about the check now and then.
fn watcher(show: LineSink) -> impl Fn(&Progress) + Sync {
    let state = Mutex::new((show, Pace::new()));
    move |progress: &Progress| {
        let Ok(mut state) = state.try_lock() else { return };
        let (show, pace) = &mut *state;
        if let Some(time) = pace.beat() {
            let Progress { layer, depth, done, spaces, states, hits } = *progress;
            show(&layers_progress(layer, depth, (done, spaces), states, hits, time));
        }
    }
}
