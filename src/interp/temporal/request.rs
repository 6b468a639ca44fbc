//! `rwl check`: the formulas of one module, checked on one state space.

use std::sync::Arc;

use indexmap::IndexSet;

use super::desk::Desk;
use super::formula::apply;
use super::layered::{LayersRequest, Method};
use super::vocabulary::{Vocabulary, reason};
use crate::base::{Diagnostic, Interrupt, Severity, Span};
use crate::check::{CheckError, Fairness};
use crate::graph::{ModelSetup, RuleId, Stop};
use crate::interp::{Host, Interpreter, lengthy};
use crate::logic::{Formula, Formulas, PROPS_MAX, PropId, SizeLimits, dot, hoa, simplify};
use crate::module::Module;
use crate::report::Answer;
use crate::rewrite::Machine;
use crate::sorts::{Node, OpId, Tree};
use crate::syntax::tree::Token;

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
#[derive(Clone)]
pub(super) struct Claim {
    /// The constant that stands for it.
    pub name: Option<String>,
    pub text: String,
    pub formula: Formula,
    /// How many rewrites its normal form took.
    pub rewrites: u64,
    /// Propositions that were written and are not needed to decide it.
    pub idle: Vec<String>,
    /// Which of all that are asked for.
    pub place: usize,
}

/// A formula that was not read to its end.
pub(super) struct Unread {
    pub name: Option<String>,
    pub text: String,
    pub why: Stop,
    pub place: usize,
}

/// A module with what is asked about it.
pub(super) struct Prepared {
    pub setup: ModelSetup,
    pub fairness: Fairness,
    pub claims: Vec<Claim>,
    pub unread: Vec<Unread>,
    pub formulas: Formulas,
}

impl Interpreter {
    /// Checks formulas and reports on each.
    pub fn check_once(&mut self, host: &mut dyn Host, request: &CheckRequest) {
        self.declares_only = false;
        self.setup.cancel.note_lengthy(None);
        if let Some(module) = self.module_argument(host, request.module.as_deref()) {
            // Interrupts have been told, errors as well.
            let _ = self.unless_too_large(host, |me, host| me.check_module(host, request, &module));
        }
    }

    fn check_module(
        &mut self,
        host: &mut dyn Host,
        request: &CheckRequest,
        module: &Arc<Module>,
    ) -> Option<()> {
        let prepared = self.prepare_all(host, request, module)?;
        let Prepared { setup, fairness, mut claims, unread, mut formulas } = prepared;
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
            if self.knows_no_fairness(host, &fairness) && self.read_all(host, &unread) {
                self.check_revised(host, module, setup, layers, &claims, &mut formulas);
            }
            return Some(());
        }
        let mut desk = Desk::new(self, module, &setup, &fairness, (&claims, &unread));
        desk.prepare(host);
        for unread in &unread {
            let report = self.unread(host, &desk, unread);
            desk.put(host, unread.place, report);
        }
        if request.layers.as_ref().is_none_or(LayersRequest::is_whole_first) {
            let may_divide = request.layers.is_some();
            claims = self.check_claims(host, &mut desk, &setup, claims, &mut formulas, may_divide);
            if !claims.is_empty() {
                // The whole does not fit.
                host.give_back_memory();
                self.setup.memory_is_up.clear();
                self.setup.cancel.clear();
            }
        }
        if let Some(layers) = &request.layers {
            self.check_in_layers(host, &mut desk, module, setup, layers, &fairness, &claims, &mut formulas);
        }
        desk.finish(host);
        Some(())
    }

    /// What a check needs to know of the module and of what is asked. If a formula cannot be read, there is nothing.
    pub(super) fn prepare(
        &mut self,
        host: &mut dyn Host,
        request: &CheckRequest,
        module: &Arc<Module>,
    ) -> Option<Prepared> {
        let prepared = self.prepare_all(host, request, module)?;
        self.read_all(host, &prepared.unread).then_some(prepared)
    }

    /// Have all been read? Else the reason is told.
    pub(super) fn read_all(&mut self, host: &mut dyn Host, unread: &[Unread]) -> bool {
        match unread.first().map(|unread| &unread.why) {
            Some(Stop::Interrupted(interrupt)) => self.stopped_at(host, None, *interrupt),
            Some(_) | None => {}
        }
        unread.is_empty()
    }

    /// The same with the formulas that can be read.
    fn prepare_all(
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
        let (mut setup, claims, unread, formulas) =
            self.modelled(host, module, &vocabulary, &initial, trees)?;
        setup.memory_max = setup.memory_max.or(request.memory);
        Some(Prepared { setup, fairness, claims, unread, formulas })
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
            // In a command there are other ways to name one.
            let others = if place.is_none() { self.checkable() } else { Vec::new() };
            let hint = match &others[..] {
                [] => "import MODEL-CHECKER (after `load model-checker`) and define propositions by `|=`"
                    .to_owned(),
                _ => format!("name one that has, by --module: {}", others.join(", ")),
            };
            self.say(host, &Diagnostic::new(Severity::Error, "no-model-checker", message, place).hint(hint));
            return None;
        };
        Some((op, Vocabulary::of(module, op)?))
    }

    /// Modules of the user's files that formulas can be checked in.
    fn checkable(&mut self) -> Vec<String> {
        let own: Vec<Token> = self.modules.declared().filter(|token| self.is_own(token)).collect();
        let has_checker = |token: &Token| {
            let module = self.modules.resolve_name(token.name, token.span);
            module.is_ok_and(|module| module.signature.with_hook("ModelCheckerSymbol").is_some())
        };
        let names = own.into_iter().filter(has_checker).map(|token| token.name.to_string()).collect();
        // What is wrong with them is another matter.
        self.modules.take_diagnostics();
        names
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
    ) -> Option<(ModelSetup, Vec<Claim>, Vec<Unread>, Formulas)> {
        let (compiled, making) = self.at_work(module);
        let mut all: Vec<&Tree> = trees.iter().map(|(_, tree)| tree).collect();
        all.push(initial);
        let theory = compiled.machine(false, &all, &making).theory.clone();
        let mut machine = Machine::new(theory.clone(), self.setup.cancel.clone());
        let (mut formulas, mut props) = (Formulas::default(), Vec::new());
        let (mut claims, mut unread) = (Vec::new(), Vec::new());
        let count = trees.len();
        for (place, (name, tree)) in trees.into_iter().enumerate() {
            machine.rewrites = 0;
            let text = self.print(module, self.definition(module, &tree).unwrap_or(&tree));
            // Something is left for the check.
            let alarm = self.alarm(count - place + 1);
            let reduced = machine.reduce(&vocabulary.connectives.negated(&tree));
            let rang = self.rang(alarm);
            let negated = match reduced {
                Ok(negated) => machine.to_tree(negated),
                Err(interrupt) => {
                    machine = Machine::new(theory.clone(), self.setup.cancel.clone());
                    let why = if rang { Interrupt::Time } else { self.reason(interrupt) };
                    unread.push(Unread { name, text, why: Stop::Interrupted(why), place });
                    continue;
                }
            };
            let known = props.len();
            let negated = vocabulary.connectives.read(&negated, &mut formulas, &mut props);
            let formula = formulas.negated(negated);
            let (needed, rewrites) = (formulas.props(formula), machine.rewrites);
            let is_idle = |prop: &Tree, machine: &mut Machine| {
                // One that is written in another way, or stands for a formula, is none of these.
                let is_normal = machine.reduce(prop).is_ok_and(|term| machine.to_tree(term) == *prop);
                is_normal && needed.iter().all(|needed| props[needed.index()] != *prop)
            };
            let mut written = vocabulary.props_in(module, self.definition(module, &tree).unwrap_or(&tree));
            written.retain(|prop| is_idle(prop, &mut machine));
            let idle = written.iter().map(|prop| self.print(module, prop)).collect();
            claims.push(Claim { name, text, formula, rewrites, idle, place });
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
        Some((setup, claims, unread, formulas))
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

    /// Why there is no verdict.
    pub(super) fn unknown(&self, stop: &Stop) -> String {
        match stop {
            Stop::Interrupted(Interrupt::Depth) if let Some(rule) = self.setup.cancel.blamed() => {
                let (line, _) = self.sources.line_column(rule.file, rule.start);
                format!("{}, in the rule at {}:{line}", reason(stop), self.sources.name(rule.file))
            }
            Stop::Interrupted(interrupt) => {
                let interrupt = self.reason(*interrupt);
                match self.lengthy_condition() {
                    Some((place, text)) => {
                        format!("{}; the condition of the rule at {place} {text}", interrupt.text())
                    }
                    None => reason(&Stop::Interrupted(interrupt)),
                }
            }
            stop => reason(stop),
        }
    }

    /// Where the rule is of which a `=>` condition was being tried when the work stopped, and what to say of it.
    fn lengthy_condition(&self) -> Option<(String, String)> {
        let (rule, met) = self.setup.cancel.lengthy()?;
        let (line, _) = self.sources.line_column(rule.file, rule.start);
        Some((format!("{}:{line}", self.sources.name(rule.file)), lengthy(met)))
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
