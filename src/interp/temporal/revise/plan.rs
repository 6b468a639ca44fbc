//! What is checked in each layer for the classes of properties that can be checked by revising a
//! module: eventual, leads-to and conditional stable properties as in the thesis, until and until
//! stable ones in the same way.

use crate::logic::{Formula, Formulas, PropId, Property};

/// What is checked for a state at the beginning of a layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// A run of the layer that violates this violates the whole, however it goes on.
    pub fatal: Option<Formula>,
    pub split: Split,
    /// What is checked from here on in the final layer.
    pub last: Formula,
}

/// Which states at the end of the layer are counterexample states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Split {
    /// Those where a run ends that violates the formula. If `pass`, all ends go on as plain states, too.
    Violating { formula: Formula, pass: bool },
    /// Those that are reached through a state with this predicate; all others go on as plain states.
    Through(Formula),
    /// All.
    All,
}

/// Is it a property that can be checked so?
pub fn is_covered(property: Property) -> bool {
    !matches!(property, Property::State(_) | Property::Always(_))
}

/// The q that equations make true in counterexample states, one by one, if that is how they are found.
pub fn goal(property: Property) -> Option<Formula> {
    match property {
        Property::Eventual(q) | Property::LeadsTo(_, q) | Property::Until(_, q) => Some(q),
        _ => None,
    }
}

/// The p without which the property says nothing.
pub fn premise(property: Property) -> Option<Formula> {
    match property {
        Property::LeadsTo(p, _) | Property::ConditionalStable(p, _) => Some(p),
        _ => None,
    }
}

/// Is the initial state a counterexample state, since q is owed from the beginning?
pub fn owes(property: Property) -> bool {
    matches!(property, Property::Eventual(_) | Property::Until(..))
}

/// Does a state that is both plain and a counterexample state go on as both? Otherwise what is
/// checked of the latter is enough.
pub fn keeps_both(property: Property) -> bool {
    matches!(property, Property::LeadsTo(..))
}

/// What is checked for a plain or a counterexample state; nothing if the property is not covered.
/// Where equations cannot say that the goal holds, since it is no proposition, they say so of a
/// proposition `found`.
pub fn plan(
    property: Property,
    formulas: &mut Formulas,
    is_counterexample: bool,
    found: Option<PropId>,
) -> Option<Plan> {
    let goal = |formulas: &mut Formulas, q: Formula| match found {
        Some(prop) => {
            let prop = formulas.prop(prop);
            formulas.or(q, prop)
        }
        None => q,
    };
    Some(match property {
        Property::State(_) | Property::Always(_) => return None,
        Property::LeadsTo(p, q) if !is_counterexample => {
            let layer = goal(formulas, q);
            let formula = formulas.leads_to(p, layer);
            let split = Split::Violating { formula, pass: true };
            Plan { fatal: None, split, last: formulas.leads_to(p, q) }
        }
        Property::Eventual(q) | Property::LeadsTo(_, q) => {
            let layer = goal(formulas, q);
            let formula = formulas.eventually(layer);
            let split = Split::Violating { formula, pass: false };
            Plan { fatal: None, split, last: formulas.eventually(q) }
        }
        Property::Until(p, q) => {
            let layer = goal(formulas, q);
            let formula = formulas.until(p, layer);
            let split = Split::Violating { formula, pass: false };
            Plan { fatal: Some(formulas.weak_until(p, q)), split, last: formulas.until(p, q) }
        }
        Property::ConditionalStable(p, q) => {
            let stable = formulas.always(q);
            match is_counterexample {
                true => Plan { fatal: None, split: Split::All, last: formulas.eventually(stable) },
                false => Plan { fatal: None, split: Split::Through(p), last: formulas.leads_to(p, stable) },
            }
        }
        Property::UntilStable(p, q) => {
            let stable = formulas.always(q);
            match is_counterexample {
                // Once p has failed, q must hold for ever.
                true => Plan { fatal: Some(stable), split: Split::All, last: stable },
                false => {
                    let failed = formulas.negated(p);
                    let fatal = Some(formulas.weak_until(p, stable));
                    Plan { fatal, split: Split::Through(failed), last: formulas.until(p, stable) }
                }
            }
        }
    })
}
