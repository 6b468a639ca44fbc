//! Is a formula satisfiable? A word that satisfies it, or the knowledge that there is none.

use super::automaton::{Automaton, Cube};
use super::formula::{Formula, Formulas};
use super::simplify::simplify;
use super::translate::{SizeLimits, TranslateError};
use std::collections::VecDeque;

/// Words of one shape: what each letter must satisfy, first once, then for ever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model {
    pub prefix: Vec<Cube>,
    /// At least one letter.
    pub cycle: Vec<Cube>,
}

/// A model of the formula, short, or none if it is not satisfiable.
pub fn satisfy(
    formulas: &mut Formulas,
    formula: Formula,
    limits: SizeLimits,
) -> Result<Option<Model>, TranslateError> {
    Ok(witness(&simplify(formulas, formula, limits)?.automaton))
}

/// A word that the automaton accepts.
pub fn witness(automaton: &Automaton) -> Option<Model> {
    let (component, count) = automaton.components();
    let accepting = automaton.accepting(&component, count);
    let inside = |state: u32| component[state as usize];
    let entry = |state: u32| accepting[inside(state) as usize];
    let (prefix, start) = path(automaton, &automaton.initial, |_| true, entry)?;
    let mut cycle = Vec::new();
    let own = inside(start);
    let stays = |state: u32| inside(state) == own;
    let (mut here, mut missing) = (start, automaton.all_marks());
    while missing != 0 || here != start || cycle.is_empty() {
        let (labels, marks, end) = leg(automaton, here, stays, missing, start)?;
        cycle.extend(labels);
        missing &= !marks;
        here = end;
    }
    Some(Model { prefix, cycle }.folded())
}

impl Model {
    /// The same with a shorter prefix, where the cycle may begin earlier.
    fn folded(mut self) -> Model {
        let includes = |a: Cube, b: Cube| a.pos & !b.pos == 0 && a.neg & !b.neg == 0;
        while let (Some(&before), Some(&last)) = (self.prefix.last(), self.cycle.last())
            && includes(before, last)
        {
            self.prefix.pop();
            self.cycle.rotate_right(1);
        }
        self
    }
}

/// The labels of a shortest path from one of the starts to a state that satisfies the goal.
fn path(
    automaton: &Automaton,
    starts: &[u32],
    allowed: impl Fn(u32) -> bool,
    goal: impl Fn(u32) -> bool,
) -> Option<(Vec<Cube>, u32)> {
    let mut from: Vec<Option<(u32, Cube)>> = vec![None; automaton.edges.len()];
    let mut seen = vec![false; automaton.edges.len()];
    let mut queue: VecDeque<u32> = starts.iter().copied().collect();
    starts.iter().for_each(|&state| seen[state as usize] = true);
    while let Some(state) = queue.pop_front() {
        if goal(state) {
            let (mut labels, mut here) = (Vec::new(), state);
            while let Some((before, label)) = from[here as usize] {
                labels.push(label);
                here = before;
            }
            labels.reverse();
            return Some((labels, state));
        }
        for edge in automaton.edges[state as usize].iter().filter(|edge| allowed(edge.to)) {
            if !std::mem::replace(&mut seen[edge.to as usize], true) {
                from[edge.to as usize] = Some((state, edge.label));
                queue.push_back(edge.to);
            }
        }
    }
    None
}

/// From a state to the nearest edge with a missing mark, or back to the start if none is missing:
/// labels, marks of the last edge, and where it leads.
fn leg(
    automaton: &Automaton,
    here: u32,
    stays: impl Fn(u32) -> bool,
    missing: u64,
    start: u32,
) -> Option<(Vec<Cube>, u64, u32)> {
    let last = |state: u32| {
        automaton.edges[state as usize]
            .iter()
            .filter(|edge| stays(edge.to))
            .find(|edge| if missing == 0 { edge.to == start } else { edge.marks & missing != 0 })
    };
    let (mut labels, state) = path(automaton, &[here], &stays, |state| last(state).is_some())?;
    let edge = last(state)?;
    labels.push(edge.label);
    Some((labels, edge.marks, edge.to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::random::{Random, random_formula};
    use crate::logic::text::{parse, print};
    use crate::logic::word::{Word, holds};

    #[track_caller]
    fn check(text: &str, expected: bool) {
        let mut formulas = Formulas::default();
        let formula = parse(&mut formulas, text).expect("well-formed");
        check_model(&mut formulas, formula, Some(expected));
    }

    fn check_model(formulas: &mut Formulas, formula: Formula, expected: Option<bool>) -> bool {
        let model = satisfy(formulas, formula, SizeLimits::default()).expect("small");
        let text = print(formulas, formula);
        if let Some(model) = &model {
            let letters = model.prefix.iter().chain(&model.cycle).map(|cube| cube.pos).collect();
            let word = Word { letters, back: model.prefix.len() };
            assert!(holds(formulas, formula, &word), "{text}: {model:?}");
        }
        assert!(expected.is_none_or(|expected| expected == model.is_some()), "{text}: {model:?}");
        model.is_some()
    }

    #[test]
    fn satisfiable_or_not() {
        check("True", true);
        check("False", false);
        check("p0 /\\ O ~ p0", true);
        check("[] <> p0 /\\ [] <> ~ p0 /\\ [] <> p1", true);
        check("[] <> p0 /\\ <> [] ~ p0", false);
        check("(p0 U p1) /\\ [] ~ p1", false);
    }

    #[test]
    fn a_formula_or_its_negation_has_a_model() {
        let mut random = Random::new(7);
        for _ in 0..300 {
            let mut formulas = Formulas::default();
            let formula = random_formula(&mut random, &mut formulas, 6, 2);
            let negated = formulas.negated(formula);
            let yes = check_model(&mut formulas, formula, None);
            let no = check_model(&mut formulas, negated, None);
            assert!(yes || no);
        }
    }
}
