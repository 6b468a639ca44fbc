//! What is found out about a formula before any system is looked at, and remembered: equations may
//! ask about the same formula thousands of times, with other propositions at its leaves.

use super::classify::{Class, Predicate, classify};
use crate::logic::{
    Automaton, Formula, Formulas, Node, SizeLimits, TranslateError, premise, simplify, translate,
};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex};

/// How to check a formula.
#[derive(Debug)]
pub struct Plan {
    /// If it is simple, and simple algorithms may be used.
    pub class: Option<Class>,
    /// Of the negation.
    pub automaton: Result<Automaton, TranslateError>,
    /// If it is a leads-to or the like: what has to be followed by something.
    pub premise: Option<Predicate>,
}

/// Plans made so far.
#[derive(Debug, Default)]
pub struct Plans(Mutex<FxHashMap<Key, Arc<Plan>>>);

/// Whether classes are used, and the parts of a formula in order, which refer to each other by place.
type Key = (bool, Vec<Node>);

/// So many are kept.
const PLANS_MAX: usize = 256;

impl Plans {
    /// The plan for a formula in negation normal form.
    pub fn get(&self, formulas: &mut Formulas, normal: Formula, use_class: bool) -> Arc<Plan> {
        let key = (use_class, formulas.outline(normal));
        let lock = || self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(plan) = lock().get(&key) {
            return plan.clone();
        }
        let plan = Arc::new(Plan::new(formulas, normal, use_class));
        let mut plans = lock();
        if plans.len() >= PLANS_MAX {
            plans.clear();
        }
        plans.insert(key, plan.clone());
        plan
    }
}

impl Plan {
    fn new(formulas: &mut Formulas, normal: Formula, use_class: bool) -> Plan {
        let negated = formulas.negated(normal);
        let mut class = classify(formulas, normal);
        // Simplifying takes longer than the whole check of a small system, so it is left out where
        // the class is known. There the automaton helps to show violations, and may be missing.
        let automaton = if use_class && class.is_some() {
            translate(formulas, negated, SizeLimits::default())
        } else {
            simplify(formulas, negated, SizeLimits::default()).map(|simple| {
                if class.is_none() {
                    let again = formulas.negated(simple.formula);
                    class = classify(formulas, again);
                }
                simple.automaton
            })
        };
        let premise = match &class {
            Some(Class::LeadsTo(p, _) | Class::LeadsToAlways(p, _)) => Some(p.clone()),
            _ => premise(formulas, normal).and_then(|p| Predicate::new(formulas, p)),
        };
        Plan { class: class.filter(|_| use_class), automaton, premise }
    }
}
