//! `rwl check --layers '2 2' --method revise`.

use std::sync::Arc;

use super::{Layer, Outcome, Refused, Subject, Verdict, walk};
use crate::base::{Diagnostic, Severity};
use crate::check::layers::{self, Layers};
use crate::check::{CheckError, Fairness, replay};
use crate::graph::{Model, ModelSetup, Stop, System};
use crate::interp::command::since;
use crate::interp::temporal::layered::{LayersRequest, Method, watcher};
use crate::interp::temporal::request::Claim;
use crate::interp::temporal::run::Describer;
use crate::interp::{Host, Interpreter};
use crate::logic::{Formulas, SizeLimits, satisfy};
use crate::module::{Module, revised_name};
use crate::report::show::show_module;
use crate::report::{self, Answer, CheckReport};
use crate::sorts::{Node, Tree};
use rustc_hash::FxHashSet;

fn refuse(message: &str) -> Diagnostic {
    Diagnostic::new(Severity::Error, "revise", message.to_owned(), None)
}

impl Interpreter {
    /// Is there no condition of fairness? Otherwise it is told that the method cannot take it.
    pub(in crate::interp::temporal) fn knows_no_fairness(
        &mut self,
        host: &mut dyn Host,
        fairness: &Fairness,
    ) -> bool {
        if !fairness.is_none() {
            let error = refuse("the method revise knows no fairness");
            self.say(host, &error.hint("leave out --method, or --fair-weak and --fair-strong"));
        }
        fairness.is_none()
    }

    /// Can all claims be checked so? Those that cannot are told.
    pub(in crate::interp::temporal) fn can_be_revised(
        &mut self,
        host: &mut dyn Host,
        module: &Arc<Module>,
        setup: &ModelSetup,
        fairness: &Fairness,
        claims: &[Claim],
        formulas: &mut Formulas,
    ) -> bool {
        let mut can = self.knows_no_fairness(host, fairness);
        for claim in claims {
            let subject = Subject { module, setup, formula: claim.formula, element: None };
            match self.revise(&subject, formulas, (1, &[])) {
                Ok(_) | Err(Refused::Stopped(_)) => {}
                Err(refused) => {
                    self.say_refused(host, module, claim, &refused);
                    can = false;
                }
            }
        }
        can
    }

    fn say_refused(&mut self, host: &mut dyn Host, module: &Module, claim: &Claim, refused: &Refused) {
        let name = claim.name.as_ref().map_or_else(String::new, |name| format!("{name} = "));
        let what = format!("cannot check {name}{} in {} by revising it", claim.text, module.name);
        let error = refuse(&format!("{what}: {refused}"));
        self.say(host, &error.hint("the method native has no such limits"));
    }

    pub(in crate::interp::temporal) fn check_revised(
        &mut self,
        host: &mut dyn Host,
        module: &Arc<Module>,
        setup: ModelSetup,
        request: &LayersRequest,
        claims: &[Claim],
        formulas: &mut Formulas,
    ) {
        if request.checkpoint.is_some() {
            let error = refuse("the method revise saves nothing").hint("leave out --checkpoint, or --method");
            return self.say(host, &error);
        }
        let Layers::Depths(depths) = &request.layers else {
            let error = refuse("the method revise finds no depths by itself");
            return self.say(host, &error.hint("give some, such as --layers '2 2'"));
        };
        let init = self.print(module, &setup.initial);
        let props: Vec<String> = setup.props.iter().map(|prop| self.print(module, prop)).collect();
        for claim in claims {
            let start = host.time();
            let subject = Subject { module, setup: &setup, formula: claim.formula, element: None };
            let watcher = host.progress_channel().map(watcher);
            let watcher = watcher.as_ref().map(|watcher| watcher as layers::Watcher);
            let checked = self.check_by_revising(&subject, formulas, depths, watcher);
            let is_revised = checked.is_ok();
            let outcome = match checked {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(error)) => {
                    self.check_failed(host, &error);
                    continue;
                }
                Err(Refused::Stopped(interrupt)) => Outcome::stopped(Stop::Interrupted(interrupt)),
                Err(refused) => {
                    self.say_refused(host, module, claim, &refused);
                    continue;
                }
            };
            let revised = is_revised.then(|| self.modules.declaration(revised_name(module.name))).flatten();
            let mut report = CheckReport {
                name: claim.name.clone(),
                module: module.name.to_string(),
                init: init.clone(),
                formula: claim.text.clone(),
                method: Some(Method::Revise.text()),
                revised: revised.map(|decl| show_module(decl)),
                layers: outcome.layers.iter().map(layer).collect(),
                states: outcome.explored,
                rewrites: claim.rewrites + outcome.rewrites,
                threads: self.setup.threads,
                ..CheckReport::default()
            };
            if self.is_verbose {
                report.ends = outcome.layers.iter().map(|layer| self.ends_of(module, layer)).collect();
            }
            match outcome.verdict {
                Verdict::Holds => {
                    report.verdict = report::Verdict::Holds;
                    let negated = formulas.negated(claim.formula);
                    let violation = satisfy(formulas, negated, SizeLimits::default());
                    report.is_valid = violation == Ok(None);
                    report.is_vacuous = report.is_valid || !outcome.is_met;
                }
                Verdict::Violated(trail) => {
                    report.verdict = report::Verdict::Violated;
                    self.status.violated = true;
                    let model = Model::new(setup.clone());
                    let mut worker = model.worker();
                    let print = |tree: &Tree| self.print(module, tree);
                    let run = walk(&mut worker, &trail).and_then(|lasso| {
                        let fair = Fairness::default();
                        if let Err(error) = replay(&mut worker, formulas, claim.formula, &fair, &lasso) {
                            return Ok(Err(error));
                        }
                        let mut describer = Describer { module, states: worker, props: &props };
                        describer.run(formulas, claim.formula, &lasso, &print).map(Ok)
                    });
                    match run {
                        Ok(Ok(run)) => report.counterexample = Some(run),
                        Ok(Err(error)) => {
                            self.check_failed(host, &CheckError::ReplayFailed(error));
                            continue;
                        }
                        Err(stop) => report.reason = Some(self.unknown(&stop)),
                    }
                }
                Verdict::Unknown(stop) => {
                    report.verdict = report::Verdict::Unknown;
                    report.reason = Some(self.unknown(&stop));
                    self.status.stopped = true;
                }
            }
            report.time = since(start, host.time());
            report.peak_memory = host.peak_memory();
            host.answer(&Answer::Check(Box::new(report)));
        }
        self.setup.cancel.clear();
    }

    fn ends_of(&self, module: &Module, layer: &Layer) -> Vec<report::End> {
        let begun: FxHashSet<&[Node]> = layer.counterexample_states.iter().map(Tree::nodes).collect();
        let end = |state: &Tree| report::End {
            state: self.print(module, state),
            is_counterexample: begun.contains(state.nodes()),
        };
        layer.states.iter().map(end).collect()
    }
}

fn layer(layer: &Layer) -> report::Layer {
    let Layer { depth, node_sets, states, counterexample_states } = layer;
    report::Layer {
        depth: u64::from(*depth),
        spaces: *node_sets as u64,
        states: states.len() as u64,
        counterexample_states: counterexample_states.len() as u64,
        pairs: None,
    }
}
