//! An independent look at a counterexample before anyone sees it.
//!
//! This code shares nothing with the checkers but the system: it asks for each step
//! again, and judges the formula by the definition of truth on words. It is meant to be simple
//! enough to be believed.

use super::fairness::Fairness;
use super::lasso::Lasso;
use crate::graph::{RuleId, Stop, Worker};
use crate::logic::word::{Word, holds, is_bad_prefix};
use crate::logic::{Formula, Formulas};

/// What is wrong with a counterexample. Places are positions of steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReplayError {
    /// It has no steps, or goes back to a step that is not there.
    Malformed,
    /// It does not start in the initial state.
    Start,
    /// The rule does not lead from this step's state to the next one.
    NoTransition(usize),
    /// The run satisfies the formula.
    Satisfied,
    /// The run is not fair.
    Unfair,
    /// The system could not be asked.
    Stopped(Stop),
}

/// Checks that the lasso is a fair run of the system that violates the formula.
pub fn replay(
    system: &mut dyn Worker,
    formulas: &mut Formulas,
    formula: Formula,
    fairness: &Fairness,
    lasso: &Lasso,
) -> Result<(), ReplayError> {
    let steps = &lasso.steps;
    let count = steps.len();
    if count == 0 || lasso.back.is_some_and(|back| back >= count) {
        return Err(ReplayError::Malformed);
    }
    if system.initial().map_err(ReplayError::Stopped)? != steps[0].state {
        return Err(ReplayError::Start);
    }
    let mut letters = Vec::new();
    let mut enabled: Vec<Vec<RuleId>> = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        letters.push(system.props(step.state).map_err(ReplayError::Stopped)?);
        if !fairness.is_none() {
            let mut transitions = Vec::new();
            system.successors(step.state, &mut transitions).map_err(ReplayError::Stopped)?;
            enabled.push(transitions.iter().map(|(rule, _)| *rule).collect());
        }
        let next = if place + 1 < count { Some(place + 1) } else { lasso.back };
        let possible = match next {
            None => step.rule == RuleId::END,
            Some(next) => {
                let taken = system.step_between(step.state, Some(step.rule), steps[next].state);
                taken.map_err(ReplayError::Stopped)? == Some(step.rule)
            }
        };
        if !possible {
            return Err(ReplayError::NoTransition(place));
        }
    }
    let Some(back) = lasso.back else {
        let normal = formulas.normal(formula);
        return if is_bad_prefix(formulas, normal, &letters) { Ok(()) } else { Err(ReplayError::Satisfied) };
    };
    if holds(formulas, formula, &Word { letters, back }) {
        return Err(ReplayError::Satisfied);
    }
    let cycle = back..count;
    let taken = |rules: &[RuleId]| cycle.clone().any(|place| rules.contains(&steps[place].rule));
    let is_enabled = |rules: &[RuleId], place: usize| enabled[place].iter().any(|rule| rules.contains(rule));
    let weakly = |rules: &Vec<RuleId>| taken(rules) || !cycle.clone().all(|place| is_enabled(rules, place));
    let strongly = |rules: &Vec<RuleId>| taken(rules) || !cycle.clone().any(|place| is_enabled(rules, place));
    if fairness.weak.iter().all(weakly) && fairness.strong.iter().all(strongly) {
        Ok(())
    } else {
        Err(ReplayError::Unfair)
    }
}
