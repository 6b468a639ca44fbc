//! The method `revise`: layered divide & conquer model checking as its authors do it, by a module
//! that counts steps. It covers the classes of [`plan`] for states that are soups in one operator, and
//! is there to be compared with: `check::layers` covers every formula and shares work.

mod answer;
mod driver;
mod plan;
mod revised;
mod space;

use std::fmt;
use std::sync::Arc;

pub use driver::{Layer, Outcome, Trail, Verdict};
pub use revised::Revised;

use driver::{Driver, Scene};
use revised::{About, shape_of};

use crate::base::{Interrupt, Name, Severity, Span};
use crate::check::layers::{self, Meter};
use crate::check::{self, CheckError, Lasso, Predicate, Step};
use crate::graph::{ModelSetup, ModelWorker, RuleId, Stop, Worker};
use crate::interp::Interpreter;
use crate::interp::compiled::{Compiled, Making};
use crate::logic::{Formula, Formulas, Node as Logic, Property};
use crate::module::{Module, Refusal, RevisedDecl, Revision};
use crate::report::show;
use crate::rewrite::Machine;
use crate::sorts::{Node, SortId, Tree};
use crate::syntax::parse;
use crate::syntax::tree::Item;

/// A module, a state and a property of the runs from there.
pub struct Subject<'a> {
    pub module: &'a Arc<Module>,
    /// How to explore the module as written. Propositions of the formula are positions there.
    pub setup: &'a ModelSetup,
    pub formula: Formula,
    /// The sort of components, if it was given.
    pub element: Option<SortId>,
}

/// Why a module cannot be revised for a property.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The formula is of none of the classes.
    Formula,
    /// The initial state is no soup in one operator.
    State(String),
    Module(Refusal),
    /// The revised module has an error.
    Unreadable(String),
    Stopped(Interrupt),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Refused::Formula => write!(
                f,
                "the formula, simplified, is none of <> q, p |-> q, p |-> [] q, p U q, p U [] q with p and q about single \
                 states"
            ),
            Refused::State(why) => write!(f, "the initial state is not a soup at its top: {why}"),
            Refused::Module(refusal) => refusal.fmt(f),
            Refused::Unreadable(message) => write!(f, "the revised module cannot be read: {message}"),
            Refused::Stopped(_) => write!(f, "interrupted"),
        }
    }
}

impl Interpreter {
    /// Makes the revised module for a property and enters it as `M-REVISE`, with this bound. The states
    /// of a boundary, all of that depth, get equations as counterexample states.
    pub(in crate::interp) fn revise(
        &mut self,
        subject: &Subject,
        formulas: &mut Formulas,
        (bound, counterexample_states): (u32, &[Tree]),
    ) -> Result<(Property, Revised), Refused> {
        let Subject { module, setup, .. } = *subject;
        let normal = formulas.normal(subject.formula);
        let property = match Property::of(formulas, normal) {
            // Such as `q U q`.
            Some(Property::State(q)) => Property::Until(formulas.constant(false), q),
            Some(property) if plan::is_covered(property) => property,
            _ => return Err(Refused::Formula),
        };
        let mut machine = Machine::new(setup.theory.clone(), setup.cancel.clone());
        let initial = machine.reduce(&setup.initial).map_err(Refused::Stopped)?;
        let initial = machine.to_tree(initial);
        let sig = &module.signature;
        let shape =
            shape_of(sig, &setup.theory.symbols, &initial, subject.element).map_err(Refused::State)?;
        let constant = match setup.initial.node(setup.initial.root()) {
            &Node::App { op, arity: 0 } if setup.initial != initial => Some(op),
            _ => None,
        };
        let goal = plan::goal(property).map(|goal| match formulas.node(goal) {
            Logic::Prop(prop) => Some(prop),
            _ => None,
        });
        let proposition = match goal {
            Some(None) => Some(sig.op(setup.satisfies).decls[0].domain[1]),
            _ => None,
        };
        let about = About { props: &setup.props, goal: goal.flatten() };
        let mut problem = String::new();
        // Terms print as Maude prints them, which cannot always be read again.
        for parens in [false, true] {
            let revision = Revision {
                module,
                shape,
                initial: &initial,
                constant,
                satisfies: setup.satisfies,
                proposition,
                bound,
                equations: &[],
                parens,
            };
            let mut decl = self.modules.revise(&revision).map_err(Refused::Module)?;
            let mut entered = self.enter_revised(&decl);
            if let Ok(made) = &entered
                && !counterexample_states.is_empty()
                && let Some(made) = Revised::new(module, shape, made.clone(), &decl, &about)
            {
                let text = |state: &Tree| made.equation_text(state, bound);
                let texts: Vec<String> = counterexample_states.iter().filter_map(text).collect();
                let revision = Revision { equations: &texts, ..revision };
                decl = self.modules.revise(&revision).map_err(Refused::Module)?;
                entered = self.enter_revised(&decl);
            }
            match entered {
                Ok(made) => {
                    let revised = Revised::new(module, shape, made, &decl, &about);
                    let missing = || Refused::Unreadable("something is missing in it".to_owned());
                    return revised.map(|revised| (property, revised)).ok_or_else(missing);
                }
                Err(message) => problem = message,
            }
        }
        Err(Refused::Unreadable(problem))
    }

    /// Enters a revised module by its text, as if someone had typed what `show module` shows.
    fn enter_revised(&mut self, revised: &RevisedDecl) -> Result<Arc<Module>, String> {
        let name: Name = revised.decl.name.name;
        let text = show::show_module(&revised.decl);
        let file = self.sources.add(name.to_string(), text.clone());
        let (items, mut diagnostics) = parse(&text, file, &mut self.order);
        for item in items {
            if let Item::Module(decl) = item {
                self.modules.insert(decl, &mut self.order);
            }
        }
        let module = self.modules.resolve_name(name, Span::default());
        diagnostics.extend(self.modules.take_diagnostics());
        match (module, diagnostics.iter().find(|message| message.severity != Severity::Advisory)) {
            (Ok(module), None) => Ok(module),
            (_, Some(message)) => Err(message.message.to_string()),
            (Err(_), None) => Err("it has an error".to_owned()),
        }
    }

    /// Checks a property with layers of these depths. The revised module stays, with the last bound and
    /// the counterexample states there.
    pub(in crate::interp) fn check_by_revising(
        &mut self,
        subject: &Subject,
        formulas: &mut Formulas,
        depths: &[u32],
        watcher: Option<layers::Watcher>,
    ) -> Result<Result<Outcome, CheckError>, Refused> {
        let first = depths.first().copied().unwrap_or(1);
        let (property, revised) = self.revise(subject, formulas, (first, &[]))?;
        let mut compiled = Compiled::new(revised.module.clone(), &self.order);
        let making = Making {
            order: &self.order,
            cancel: &self.setup.cancel,
            random_seed: self.setup.random_seed,
            memory_max: self.setup.memory_max,
            foreign: self.temporal.clone(),
        };
        let temporal = self.temporal.clone();
        let scene = Scene {
            revised: &revised,
            variants: compiled.variants(&making),
            original: subject.setup,
            property,
            limits: check::Limits {
                cancel: self.setup.cancel.clone(),
                memory_max: self.setup.memory_max.map(|bytes| bytes as u64),
                ..check::Limits::default()
            },
            meter: Meter::new(watcher, plan::premise(property).and_then(|p| Predicate::new(formulas, p))),
            pool: temporal.pool(),
        };
        let outcome = Driver::new(&scene, formulas).run(depths);
        if let Ok(Outcome { layers, .. }) = &outcome
            && let Some(Layer { depth, counterexample_states, .. }) = layers.last()
        {
            match self.revise(subject, formulas, (*depth, counterexample_states)) {
                // Whatever stopped the check stops this, too; what was found is told all the same.
                Ok(_) | Err(Refused::Stopped(_)) => {}
                Err(refused) => return Err(refused),
            }
        }
        Ok(outcome)
    }
}

/// A run by its states as a run of the system.
pub fn walk(worker: &mut ModelWorker, trail: &Trail) -> Result<Lasso, Stop> {
    let lost = || Stop::Failed("a run through the layers is none of the module".to_owned());
    let mut steps = vec![Step { state: worker.initial()?, rule: RuleId::END }];
    let places = (1..trail.states.len()).chain(trail.back);
    let mut out = Vec::new();
    for place in places {
        let here = steps.last_mut().expect("starts with one");
        out.clear();
        worker.successors(here.state, &mut out)?;
        let mut next = out.is_empty().then_some((RuleId::DEADLOCK, here.state));
        for &(rule, target) in &out {
            if next.is_none() && worker.term(target)? == trail.states[place] {
                next = Some((rule, target));
            }
        }
        let (rule, target) = next.ok_or_else(lost)?;
        here.rule = rule;
        steps.push(Step { state: target, rule: RuleId::END });
    }
    if trail.back.is_some() {
        // It is where the cycle begins.
        steps.pop();
    }
    Ok(Lasso { steps, back: trail.back })
}
