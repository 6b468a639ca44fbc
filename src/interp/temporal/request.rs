//! `rwl check`: the formulas of one module, checked on one state space.

use std::sync::Arc;

use super::formula::apply;
use super::layered::LayersRequest;
use super::readings::readings;
use super::run::Describer;
use super::vocabulary::{Vocabulary, reason};
use crate::base::{Diagnostic, Severity};
use crate::check::{self, CheckError, Checker, Fairness, Verdict};
use crate::graph::{Model, ModelSetup, RuleId, Stop, System};
use crate::interp::command::since;
use crate::interp::pace::Pace;
use crate::interp::{Host, Interpreter, LineSink};
use crate::logic::{Formula, Formulas, PROPS_MAX, PropId, SizeLimits, dot, hoa, simplify};
use crate::module::Module;
use crate::report::{self, Answer, CheckReport, check_progress};
use crate::rewrite::Machine;
use crate::sorts::{Node, OpId, Tree};

/// What `rwl check` is asked.
#[derive(Clone, Debug, Default)]
pub struct CheckRequest {
    /// The last one of the file if there is none.
    pub module: Option<String>,
    pub init: String,
    /// All constants of sort Formula if there are none.
    pub formulas: Vec<String>,
    /// Labels of rules.
    pub fair_weak: Vec<String>,
    pub fair_strong: Vec<String>,
    /// Show automata instead of checking.
    pub automaton: Option<AutomatonFormat>,
    /// Divide the state space.
    pub layers: Option<LayersRequest>,
}

/// How to show an automaton.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AutomatonFormat {
    Hoa,
    Dot,
}

/// A formula to check.
pub(super) struct Claim {
    /// The constant that stands for it.
    pub name: Option<String>,
    pub text: String,
    pub formula: Formula,
    /// How many rewrites its normal form took.
    pub rewrites: u64,
}

impl Interpreter {
    /// Checks formulas and reports on each.
    pub fn check_once(&mut self, host: &mut dyn Host, request: &CheckRequest) {
        self.declares_only = false;
        if let Some(module) = self.module_argument(host, request.module.as_deref()) {
            // Interrupts have been told, errors as well.
            let _ = self.check_module(host, request, &module);
        }
    }

    fn check_module(
        &mut self,
        host: &mut dyn Host,
        request: &CheckRequest,
        module: &Arc<Module>,
    ) -> Option<()> {
        let sig = &module.signature;
        let Some(op) = sig.with_hook("ModelCheckerSymbol") else {
            let message = format!("module {} has no formulas to check", module.name);
            let hint = "import MODEL-CHECKER (after `load model-checker`) and define propositions by `|=`";
            self.say(host, &Diagnostic::new(Severity::Error, "no-model-checker", message, None).hint(hint));
            return None;
        };
        let vocabulary = Vocabulary::of(module, op)?;
        let state_kind = sig.op(op).domain[0];
        let initial = self.term_argument(host, module, ("--init", &request.init), &[state_kind])?;
        let fairness = self.fairness(host, module, request)?;
        let trees = self.claimed(host, module, request, op, &vocabulary)?;
        let (compiled, making) = self.at_work(module);
        let mut all: Vec<&Tree> = trees.iter().map(|(_, tree)| tree).collect();
        all.push(&initial);
        let theory = compiled.machine(false, &all, &making).theory.clone();
        let mut machine = Machine::new(theory.clone(), self.setup.cancel.clone());
        let (mut formulas, mut props, mut claims) = (Formulas::default(), Vec::new(), Vec::new());
        for (name, tree) in trees {
            machine.rewrites = 0;
            let negated = match machine.reduce(&vocabulary.connectives.negated(&tree)) {
                Ok(negated) => machine.to_tree(negated),
                Err(interrupt) => {
                    self.stopped_at(host, None, interrupt);
                    return None;
                }
            };
            let negated = vocabulary.connectives.read(&negated, &mut formulas, &mut props);
            let formula = formulas.negated(negated);
            let text = self.print(module, self.definition(module, &tree).unwrap_or(&tree));
            claims.push(Claim { name, text, formula, rewrites: machine.rewrites });
        }
        if props.len() > PROPS_MAX as usize {
            let message = format!("the formulas have {} propositions; at most {PROPS_MAX} fit", props.len());
            let hint = "give some of the formulas with --formula";
            self.say(
                host,
                &Diagnostic::new(Severity::Error, "too-many-propositions", message, None).hint(hint),
            );
            return None;
        }
        if let Some(format) = request.automaton {
            self.show_automata(host, module, format, &claims, &mut formulas, &props);
            return Some(());
        }
        let (theory, readings) = readings(&theory, vocabulary.satisfies, &vocabulary.truth, &props);
        let setup = ModelSetup {
            theory,
            initial: initial.clone(),
            satisfies: vocabulary.satisfies,
            truth: vocabulary.truth.clone(),
            props,
            readings,
            cancel: self.setup.cancel.clone(),
            random_seed: self.setup.random_seed,
            memory_max: self.setup.memory_max,
        };
        match &request.layers {
            Some(layers) if fairness.is_none() => {
                self.check_in_layers(host, module, setup, layers, &claims, &mut formulas);
            }
            Some(_) => {
                let message = "checking in layers knows no fairness".to_owned();
                let hint = "leave out --layers, or --fair-weak and --fair-strong";
                let error = Diagnostic::new(Severity::Error, "layers-and-fairness", message, None);
                self.say(host, &error.hint(hint));
            }
            None => self.check_claims(host, module, setup, fairness, &claims, &mut formulas),
        }
        Some(())
    }

    fn check_claims(
        &mut self,
        host: &mut dyn Host,
        module: &Arc<Module>,
        setup: ModelSetup,
        fairness: Fairness,
        claims: &[Claim],
        formulas: &mut Formulas,
    ) {
        let init = self.print(module, &setup.initial);
        let props: Vec<String> = setup.props.iter().map(|prop| self.print(module, prop)).collect();
        let model = Model::new(setup);
        let limits = check::Limits {
            cancel: self.setup.cancel.clone(),
            memory_max: self.setup.memory_max.map(|bytes| bytes as u64),
            ..check::Limits::default()
        };
        let counterexample = self.setup.counterexample;
        let options = check::Options { limits, fairness, counterexample, ..check::Options::default() };
        let temporal = self.temporal.clone();
        let mut checker = match Checker::new(&model, temporal.pool(), options) {
            Ok(checker) => checker,
            Err(error) => return self.check_failed(host, &error),
        };
        let mut describer = Describer { module, states: model.worker(), props: &props };
        for claim in claims {
            let (start, before) = (host.time(), model.rewrites());
            if let Some(show) = host.progress_channel() {
                checker.watch(watcher(show));
            }
            let answer = match checker.check(formulas, claim.formula) {
                Ok(answer) => answer,
                Err(error) => {
                    self.check_failed(host, &error);
                    continue;
                }
            };
            let mut report = CheckReport {
                name: claim.name.clone(),
                module: module.name.to_string(),
                init: init.clone(),
                formula: claim.text.clone(),
                states: answer.states as u64,
                transitions: answer.transitions as u64,
                rewrites: claim.rewrites + model.rewrites() - before,
                time: since(start, host.time()),
                peak_memory: host.peak_memory(),
                threads: self.setup.threads,
                ..CheckReport::default()
            };
            match answer.verdict {
                Verdict::Holds { vacuous } => {
                    report.verdict = report::Verdict::Holds;
                    report.is_vacuous = vacuous;
                }
                Verdict::Violated(lasso) => {
                    report.verdict = report::Verdict::Violated;
                    self.status.violated = true;
                    let print = |tree: &Tree| self.print(module, tree);
                    match describer.run(formulas, claim.formula, &lasso, &print) {
                        Ok(run) => report.counterexample = Some(run),
                        Err(stop) => report.reason = Some(self.unknown(&stop)),
                    }
                }
                Verdict::Unknown(stop) => {
                    report.verdict = report::Verdict::Unknown;
                    report.reason = Some(self.unknown(&stop));
                    self.status.stopped = true;
                }
            }
            host.answer(&Answer::Check(Box::new(report)));
        }
        self.setup.cancel.clear();
    }

    /// Why there is no verdict.
    pub(super) fn unknown(&self, stop: &Stop) -> String {
        match stop {
            Stop::Interrupted(interrupt) => reason(&Stop::Interrupted(self.reason(*interrupt))),
            stop => reason(stop),
        }
    }

    pub(super) fn check_failed(&mut self, host: &mut dyn Host, error: &CheckError) {
        let (code, message) = match error {
            CheckError::Translate(error) => ("formula-too-large", error.to_string()),
            CheckError::TooManyConditions => (
                "too-many-conditions",
                "at most 32 weak and 32 strong fairness conditions are possible".to_owned(),
            ),
            CheckError::ReplayFailed(_) | CheckError::Disagreement => {
                self.status.internal = true;
                ("internal-error", format!("a counterexample did not survive its replay: {error:?}"))
            }
        };
        self.say(host, &Diagnostic::new(Severity::Error, code, message, None));
    }

    /// The rules that the labels of `--fair-weak` and `--fair-strong` name.
    fn fairness(&mut self, host: &mut dyn Host, module: &Module, request: &CheckRequest) -> Option<Fairness> {
        let rules = |label: &String| -> Vec<RuleId> {
            let has_label =
                |rule: &crate::module::Rule| rule.attrs.label.is_some_and(|own| own.as_str() == label);
            let places = module.rules.iter().enumerate().filter(|(_, rule)| has_label(rule));
            places.map(|(place, _)| RuleId::from_index(place)).collect()
        };
        let unknown =
            request.fair_weak.iter().chain(&request.fair_strong).find(|label| rules(label).is_empty());
        if let Some(label) = unknown {
            let mut labels: Vec<&str> =
                module.rules.iter().filter_map(|rule| rule.attrs.label).map(|label| label.as_str()).collect();
            labels.dedup();
            let message = format!("no rule of {} has the label {label}", module.name);
            let hint = format!("there are {}", labels.join(", "));
            self.say(host, &Diagnostic::new(Severity::Error, "unknown-label", message, None).hint(hint));
            return None;
        }
        Some(Fairness {
            weak: request.fair_weak.iter().map(rules).collect(),
            strong: request.fair_strong.iter().map(rules).collect(),
        })
    }

    /// The formulas that are asked for, those that are constants with their names.
    fn claimed(
        &mut self,
        host: &mut dyn Host,
        module: &Arc<Module>,
        request: &CheckRequest,
        op: OpId,
        vocabulary: &Vocabulary,
    ) -> Option<Vec<(Option<String>, Tree)>> {
        let sig = &module.signature;
        if !request.formulas.is_empty() {
            let kind = sig.op(op).domain[1];
            let mut trees = Vec::new();
            for text in &request.formulas {
                let tree = self.term_argument(host, module, ("--formula", text), &[kind])?;
                let name = self.definition(module, &tree).map(|_| self.print(module, &tree));
                trees.push((name, tree));
            }
            return Some(trees);
        }
        let sort = vocabulary.formula_sort(module);
        let mut trees = Vec::new();
        for (id, op) in sig.ops() {
            let is_formula = op.arity() == 0 && op.decls.iter().any(|decl| decl.range == sort);
            if is_formula && !vocabulary.connectives.is_constant(id) {
                let tree = apply(id, &[]);
                if self.definition(module, &tree).is_some() {
                    trees.push((Some(op.name.to_string()), tree));
                }
            }
        }
        if trees.is_empty() {
            let message = format!("module {} defines no constant of sort Formula", module.name);
            let hint =
                "give a formula with --formula, or define one: op safe : -> Formula . eq safe = [] ~ bad .";
            self.say(host, &Diagnostic::new(Severity::Error, "no-formula", message, None).hint(hint));
            return None;
        }
        Some(trees)
    }

    /// What an equation says that a constant stands for.
    fn definition<'m>(&self, module: &'m Module, tree: &Tree) -> Option<&'m Tree> {
        let Node::App { arity: 0, .. } = tree.node(tree.root()) else { return None };
        module.equations.iter().find(|eq| eq.lhs == *tree && eq.condition.is_empty()).map(|eq| &eq.rhs)
    }

    fn show_automata(
        &mut self,
        host: &mut dyn Host,
        module: &Module,
        format: AutomatonFormat,
        claims: &[Claim],
        formulas: &mut Formulas,
        props: &[Tree],
    ) {
        for claim in claims {
            let negated = formulas.negated(claim.formula);
            let simple = match simplify(formulas, negated, SizeLimits::default()) {
                Ok(simple) => simple,
                Err(error) => {
                    self.check_failed(host, &CheckError::Translate(error));
                    continue;
                }
            };
            let name = format!("~ ({})", claim.text);
            let prop = |prop: PropId| self.print(module, &props[prop.index()]);
            host.answer(&Answer::Text(match format {
                AutomatonFormat::Hoa => hoa::print(&simple.automaton, &name, prop),
                AutomatonFormat::Dot => dot::print(&simple.automaton, &name, prop),
            }));
        }
    }
}

/// Writes a line about the check now and then.
fn watcher(mut show: LineSink) -> check::Watcher {
    let mut pace = Pace::new();
    Box::new(move |progress| {
        if let Some(time) = pace.beat() {
            show(&check_progress(progress.states as u64, progress.transitions as u64, time));
        }
    })
}
