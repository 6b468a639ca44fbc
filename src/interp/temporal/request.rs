//! `rwl check`: the formulas of one module, checked on one state space.

use std::sync::Arc;

use indexmap::IndexSet;

use super::formula::apply;
use super::layered::{LayersRequest, Method, labels};
use super::run::Describer;
use super::vocabulary::{Vocabulary, reason, undecided};
use crate::base::{Diagnostic, Interrupt, Severity, Span};
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
    /// Divide the state space, always or if it does not fit.
    pub layers: Option<LayersRequest>,
    /// Bytes that may be used if nobody has said.
    pub memory: Option<usize>,
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

/// A module with what is asked about it.
pub(super) struct Prepared {
    pub setup: ModelSetup,
    pub fairness: Fairness,
    pub claims: Vec<Claim>,
    pub formulas: Formulas,
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
        let Prepared { setup, fairness, claims, mut formulas } = self.prepare(host, request, module)?;
        if let Some(format) = request.automaton {
            if request.layers.as_ref().is_some_and(|layers| layers.method == Method::Revise)
                && !self.can_be_revised(host, module, &setup, &fairness, &claims, &mut formulas)
            {
                return None;
            }
            self.show_automata(host, module, format, &claims, &mut formulas, &setup.props);
            return Some(());
        }
        if let Some(layers) = request.layers.as_ref().filter(|layers| layers.method == Method::Revise) {
            if self.knows_no_fairness(host, &fairness) {
                self.check_revised(host, module, setup, layers, &claims, &mut formulas);
            }
            return Some(());
        }
        let mut rest = &claims[..];
        if request.layers.as_ref().is_none_or(LayersRequest::is_whole_first) {
            let may_divide = request.layers.is_some();
            let setup = setup.clone();
            let done = self.check_claims(host, module, setup, &fairness, rest, &mut formulas, may_divide);
            rest = &claims[done..];
            if !rest.is_empty() {
                // The whole does not fit.
                host.give_back_memory();
                self.setup.memory_is_up.clear();
                self.setup.cancel.clear();
            }
        }
        if let Some(layers) = &request.layers {
            self.check_in_layers(host, module, setup, layers, &fairness, rest, &mut formulas);
        }
        Some(())
    }

    /// What a check needs to know of the module and of what is asked.
    pub(super) fn prepare(
        &mut self,
        host: &mut dyn Host,
        request: &CheckRequest,
        module: &Arc<Module>,
    ) -> Option<Prepared> {
        let (op, vocabulary) = self.vocabulary(host, module, None)?;
        let state_kind = module.signature.op(op).domain[0];
        let initial = self.term_argument(host, module, ("--init", &request.init), &[state_kind])?;
        self.ground(host, ("--init", &request.init), &initial)?;
        let fairness = self.fairness(host, module, request)?;
        let trees = self.claimed(host, module, request, op, &vocabulary)?;
        let (mut setup, claims, formulas) = self.modelled(host, module, &vocabulary, &initial, trees)?;
        setup.memory_max = setup.memory_max.or(request.memory);
        Some(Prepared { setup, fairness, claims, formulas })
    }

    /// Refuses a term with variables: what is said of it would be said of no state or formula.
    fn ground(&mut self, host: &mut dyn Host, (option, text): (&str, &str), tree: &Tree) -> Option<()> {
        let vars = tree.vars();
        let Some(var) = vars.first() else { return Some(()) };
        let message = format!("{option} `{text}` has a variable, {}", var.name);
        let hint = "give a term without variables";
        self.say(host, &Diagnostic::new(Severity::Error, "open-subject", message, None).hint(hint));
        None
    }

    /// What the module calls things, if it is about formulas; `place` is where it was named.
    pub(super) fn vocabulary(
        &mut self,
        host: &mut dyn Host,
        module: &Module,
        place: Option<Span>,
    ) -> Option<(OpId, Vocabulary)> {
        let Some(op) = module.signature.with_hook("ModelCheckerSymbol") else {
            let message = format!("module {} has no formulas to check", module.name);
            let hint = "import MODEL-CHECKER (after `load model-checker`) and define propositions by `|=`";
            self.say(host, &Diagnostic::new(Severity::Error, "no-model-checker", message, place).hint(hint));
            return None;
        };
        Some((op, Vocabulary::of(module, op)?))
    }

    /// The model from an initial state, and the claims that these formulas are, those that are
    /// constants with their names.
    pub(super) fn modelled(
        &mut self,
        host: &mut dyn Host,
        module: &Arc<Module>,
        vocabulary: &Vocabulary,
        initial: &Tree,
        trees: Vec<(Option<String>, Tree)>,
    ) -> Option<(ModelSetup, Vec<Claim>, Formulas)> {
        let (compiled, making) = self.at_work(module);
        let mut all: Vec<&Tree> = trees.iter().map(|(_, tree)| tree).collect();
        all.push(initial);
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
            let known = props.len();
            let negated = vocabulary.connectives.read(&negated, &mut formulas, &mut props);
            let formula = formulas.negated(negated);
            let text = self.print(module, self.definition(module, &tree).unwrap_or(&tree));
            claims.push(Claim { name, text, formula, rewrites: machine.rewrites });
            for prop in &props[known..] {
                match vocabulary.is_formula(&mut machine, prop) {
                    Ok(true) => self.warn_of_undefined(host, module, vocabulary, prop),
                    Ok(false) => {
                        let message =
                            format!("{} is neither a proposition nor a formula", self.print(module, prop));
                        let sort = module.signature.sorts.name(vocabulary.formula_sort(module));
                        let note = format!("it is not of sort {sort}, so nothing can be said of it");
                        let error = Diagnostic::new(Severity::Error, "not-a-proposition", message, None);
                        self.say(host, &error.note(None, note));
                        return None;
                    }
                    Err(interrupt) => {
                        self.stopped_at(host, None, interrupt);
                        return None;
                    }
                }
            }
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
        let setup = self.temporal.setup(&theory, vocabulary, initial, props, &self.setup.cancel);
        Some((setup, claims, formulas))
    }

    /// A proposition of which no equation says where it holds is probably a mistake.
    fn warn_of_undefined(
        &mut self,
        host: &mut dyn Host,
        module: &Module,
        vocabulary: &Vocabulary,
        prop: &Tree,
    ) {
        let op = prop.node(prop.root()).op();
        let is_defined = module.equations.iter().any(|eq| {
            let args = eq.lhs.args(eq.lhs.root());
            let about = args.get(1).map(|&at| eq.lhs.node(at).op());
            eq.lhs.node(eq.lhs.root()).op() == Some(vocabulary.satisfies)
                && about.is_some_and(|about| about == op || about.is_none() && !eq.attrs.owise)
        });
        if !is_defined {
            let text = self.print(module, prop);
            let message = format!("no equation says where {text} holds, so it holds nowhere");
            let warning = Diagnostic::new(Severity::Warning, "undefined-proposition", message, None);
            self.say(host, &warning.hint(format!("eq ... |= {text} = true .")));
        }
    }

    /// Checks the claims on the whole state space and says how many were. If they may be divided, it
    /// ends before the first for which the memory is not enough.
    #[expect(clippy::too_many_arguments, reason = "all of it is the one request")]
    fn check_claims(
        &mut self,
        host: &mut dyn Host,
        module: &Arc<Module>,
        mut setup: ModelSetup,
        fairness: &Fairness,
        claims: &[Claim],
        formulas: &mut Formulas,
        may_divide: bool,
    ) -> usize {
        if may_divide {
            // Tables that grow take more for a moment; that should not end what comes after.
            setup.memory_max = setup.memory_max.map(|all| all - all / 8);
        }
        let init = self.print(module, &setup.initial);
        let props: Vec<String> = setup.props.iter().map(|prop| self.print(module, prop)).collect();
        let memory_max = setup.memory_max.map(|bytes| bytes as u64);
        let model = Model::new(setup);
        let temporal = self.temporal.clone();
        let options = temporal.options(&self.setup.cancel);
        let limits = check::Limits { memory_max, ..options.limits.clone() };
        let Fairness { weak, strong } = fairness.clone();
        let (fairness, counterexample) = (fairness.clone(), self.setup.counterexample);
        let options = check::Options { fairness, counterexample, limits, ..options };
        let mut checker = match Checker::new(&model, temporal.pool(), options) {
            Ok(checker) => checker,
            Err(error) => {
                self.check_failed(host, &error);
                return claims.len();
            }
        };
        let mut describer = Describer { module, states: model.witness(), props: &props };
        for (number, claim) in claims.iter().enumerate() {
            let (start, before) = (host.time(), model.rewrites());
            if let Some(show) = host.progress_channel() {
                checker.watch(watcher(show));
            }
            let answer = match checker.check(formulas, claim.formula) {
                Ok(answer) => answer,
                // A limit like others: the next claim may be simpler.
                Err(CheckError::Translate(error)) => check::Answer {
                    verdict: Verdict::Unknown(Stop::Failed(undecided(&error))),
                    method: check::Method::Formula,
                    counterexample,
                    states: 0,
                    transitions: 0,
                },
                Err(error) => {
                    self.check_failed(host, &error);
                    continue;
                }
            };
            if let Verdict::Unknown(Stop::Interrupted(interrupt)) = answer.verdict
                && may_divide
                && self.reason(interrupt) == Interrupt::Memory
            {
                return number;
            }
            let mut report = CheckReport {
                name: claim.name.clone(),
                module: module.name.to_string(),
                init: init.clone(),
                formula: claim.text.clone(),
                states: answer.states as u64,
                transitions: Some(answer.transitions as u64),
                fair_weak: labels(module, &weak),
                fair_strong: labels(module, &strong),
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
                    report.is_valid = answer.method == check::Method::Formula;
                }
                Verdict::Violated(lasso) => {
                    report.verdict = report::Verdict::Violated;
                    self.status.violated = true;
                    let print = |tree: &Tree| self.print(module, tree);
                    match describer.run(formulas, claim.formula, &lasso, &print) {
                        Ok(run) => report.counterexample = Some(run),
                        Err(stop) => report.reason = Some(self.unknown(&stop)),
                    }
                    if answer.counterexample != counterexample && weak.is_empty() && strong.is_empty() {
                        let why =
                            "Maude's counterexample was not found within the limits; this is a short one";
                        report.reason.get_or_insert_with(|| why.to_owned());
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
        claims.len()
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
            let own = module.rules.iter().filter_map(|rule| rule.attrs.label);
            let labels: IndexSet<&str> = own.map(|label| label.as_str()).collect();
            let message = format!("no rule of {} has the label {label}", module.name);
            let hint = match labels.is_empty() {
                true => "it has no rules with labels".to_owned(),
                false => format!("there are {}", labels.into_iter().collect::<Vec<_>>().join(", ")),
            };
            self.say(host, &Diagnostic::new(Severity::Error, "unknown-label", message, None).hint(hint));
            return None;
        }
        Some(Fairness {
            weak: request.fair_weak.iter().map(rules).collect(),
            strong: request.fair_strong.iter().map(rules).collect(),
        })
    }

    /// The formulas that are asked for, those that are constants with their names.
    pub(super) fn claimed(
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
                self.ground(host, ("--formula", text), &tree)?;
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
                } else {
                    let message = format!("formula {} has no equation, so it is left out", op.name);
                    let warning = Diagnostic::new(Severity::Warning, "no-formula", message, None);
                    self.say(host, &warning.hint(format!("eq {} = ... .", op.name)));
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
    pub(super) fn definition<'m>(&self, module: &'m Module, tree: &Tree) -> Option<&'m Tree> {
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
