//! From formulas to automata: a very weak alternating automaton, then a transition-based
//! generalized Büchi automaton (Gastin and Oddoux, CAV 2001).
//!
//! A state of the alternating automaton is a subformula; a state of the result is a set of them,
//! all of which must hold. A transition of the result belongs to the acceptance set of an until
//! `f U g` if the until is not owed afterwards, or could have been paid now. `[] <> f` gets one
//! state with an own acceptance set ("f starts now"), instead of two that multiply (as the
//! suspension of Babiak and others, TACAS 2012); it does not change along a run, so other formulas
//! lead to it without looking at its first letter.
//!
//! The result is then made smaller by [`super::reduce`].

use super::automaton::{Automaton, Cube, Edge, PROPS_MAX, SETS_MAX};
use super::formula::{Formula, Formulas, Node};
use super::reduce::reduce;
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

/// Why there is no automaton.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TranslateError {
    /// The formula has a proposition numbered 64 or above.
    TooManyPropositions,
    /// The automaton passed the limit of states, transitions or acceptance sets.
    TooLarge,
}

impl std::fmt::Display for TranslateError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TranslateError::TooManyPropositions => {
                write!(out, "the formulas have more than {PROPS_MAX} different propositions")
            }
            TranslateError::TooLarge => {
                let SizeLimits { states_max, edges_max, .. } = SizeLimits::default();
                write!(
                    out,
                    "the formula's automaton is too large (at most {states_max} states, {edges_max} \
                     transitions and {SETS_MAX} acceptance sets are possible)"
                )
            }
        }
    }
}

/// How large an automaton may become before its reduction.
#[derive(Clone, Copy, Debug)]
pub struct SizeLimits {
    pub states_max: usize,
    pub edges_max: usize,
    /// Transitions from one state, before dominated ones are dropped.
    pub moves_max: usize,
}

impl Default for SizeLimits {
    fn default() -> Self {
        SizeLimits { states_max: 200_000, edges_max: 1_000_000, moves_max: 1 << 14 }
    }
}

impl SizeLimits {
    /// Limits for something that should not be much larger than an automaton of this size.
    pub(super) fn near(self, (states, edges, _): (usize, usize, u32)) -> Self {
        SizeLimits {
            states_max: self.states_max.min(4 * states + 16),
            edges_max: self.edges_max.min(4 * edges + 64),
            moves_max: self.moves_max.min(4 * edges + 64),
        }
    }
}

/// The reduced automaton that accepts the words on which the formula holds.
pub fn translate(
    formulas: &mut Formulas,
    formula: Formula,
    limits: SizeLimits,
) -> Result<Automaton, TranslateError> {
    let normal = formulas.normal(formula);
    Ok(reduce(&translate_plain(formulas, normal, limits)?))
}

/// The automaton as constructed, without reduction. `normal` is in negation normal form.
pub fn translate_plain(
    formulas: &Formulas,
    normal: Formula,
    limits: SizeLimits,
) -> Result<Automaton, TranslateError> {
    if formulas.props(normal).iter().any(|prop| prop.0 >= PROPS_MAX) {
        return Err(TranslateError::TooManyPropositions);
    }
    let alternating = Alternating::new(formulas, normal, limits)?;
    let mut states: IndexSet<Owed, FxBuildHasher> = alternating.initial.iter().cloned().collect();
    let initial = (0..states.len() as u32).collect();
    let (mut edges, mut edge_count): (Vec<Vec<Edge>>, usize) = (Vec::new(), 0);
    while edges.len() < states.len() {
        let owed = states[edges.len()].clone();
        let moves = alternating.moves(&owed)?;
        edge_count += moves.len();
        edges.push(
            moves
                .into_iter()
                .map(|(step, marks)| Edge {
                    to: states.insert_full(step.owed).0 as u32,
                    label: step.label,
                    marks,
                })
                .collect(),
        );
        if states.len() > limits.states_max || edge_count > limits.edges_max {
            return Err(TranslateError::TooLarge);
        }
    }
    Ok(Automaton { initial, edges, sets: alternating.payments.len() as u32 })
}

/// A set of states of the alternating automaton, as bits. All sets of one translation have the
/// same number of words.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Owed(Box<[u64]>);

impl Owed {
    fn contains(&self, state: usize) -> bool {
        self.0[state / 64] >> (state % 64) & 1 == 1
    }

    fn with(mut self, state: usize) -> Owed {
        self.0[state / 64] |= 1 << (state % 64);
        self
    }

    fn union(&self, other: &Owed) -> Owed {
        Owed(self.0.iter().zip(&other.0).map(|(a, b)| a | b).collect())
    }

    fn is_within(&self, other: &Owed) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & !b == 0)
    }

    fn states(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.0.len() * 64).filter(|&state| self.contains(state))
    }
}

/// One way to go on: read a letter of the label, then owe the states.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Step {
    label: Cube,
    owed: Owed,
}

impl Step {
    /// Both at once, if that is possible.
    fn and(&self, other: &Step, rivals: &Rivals) -> Option<Step> {
        let step = Step { label: self.label.and(other.label)?, owed: self.owed.union(&other.owed) };
        rivals.allow(&step.owed).then_some(step)
    }

    /// Whether this step can replace the other: it asks for less.
    fn covers(&self, other: &Step) -> bool {
        self.label.covers(other.label) && self.owed.is_within(&other.owed)
    }
}

/// Pairs of states of which one is the negation of the other; who owes both cannot pay.
#[derive(Default)]
struct Rivals(Vec<(usize, usize)>);

impl Rivals {
    fn new(formulas: &Formulas, parts: &[Formula]) -> Rivals {
        let places: FxHashMap<Node, usize> = parts.iter().map(|&part| formulas.node(part)).zip(0..).collect();
        // Parts come after those that they consist of.
        let mut negations: Vec<Option<Formula>> = Vec::with_capacity(parts.len());
        let mut pairs = Vec::new();
        for (at, &part) in parts.iter().enumerate() {
            let negated = |f: Formula| negations[parts.binary_search(&f).expect("a part")];
            let both = |f, g| Some((negated(f)?, negated(g)?));
            let find = |node: Node| places.get(&node).copied();
            let other = match formulas.node(part) {
                Node::True => find(Node::False),
                Node::False => find(Node::True),
                Node::Prop(_) => find(Node::Not(part)),
                Node::Not(f) => find(formulas.node(f)),
                Node::And(f, g) => {
                    both(f, g).and_then(|(f, g)| find(Node::Or(f, g)).or_else(|| find(Node::Or(g, f))))
                }
                Node::Or(f, g) => {
                    both(f, g).and_then(|(f, g)| find(Node::And(f, g)).or_else(|| find(Node::And(g, f))))
                }
                Node::Next(f) => negated(f).and_then(|f| find(Node::Next(f))),
                Node::Until(f, g) => both(f, g).and_then(|(f, g)| find(Node::Release(f, g))),
                Node::Release(f, g) => both(f, g).and_then(|(f, g)| find(Node::Until(f, g))),
            };
            pairs.extend(other.filter(|&other| other < at).map(|other| (other, at)));
            negations.push(other.map(|other| parts[other]));
        }
        Rivals(pairs)
    }

    fn allow(&self, owed: &Owed) -> bool {
        !self.0.iter().any(|&(a, b)| owed.contains(a) && owed.contains(b))
    }
}

/// A disjunction of steps, none covered by another.
type Steps = Vec<Step>;

fn either(mut a: Steps, b: &Steps) -> Steps {
    for step in b {
        if !a.iter().any(|other| other.covers(step)) {
            a.retain(|other| !step.covers(other));
            a.push(step.clone());
        }
    }
    a
}

fn both(a: &Steps, b: &Steps, rivals: &Rivals, moves_max: usize) -> Result<Steps, TranslateError> {
    if a.len().saturating_mul(b.len()) > moves_max {
        return Err(TranslateError::TooLarge);
    }
    let mut all = Vec::new();
    for x in a {
        all = either(all, &b.iter().filter_map(|y| x.and(y, rivals)).collect());
    }
    Ok(all)
}

/// An until (or `[] <>`) and the steps that pay it.
struct Payment {
    state: usize,
    steps: Steps,
}

/// The very weak alternating automaton of a formula.
struct Alternating {
    initial: Vec<Owed>,
    /// Steps of each state; those of `[] <> f` also have the step that pays f.
    steps: Vec<Steps>,
    payments: Vec<Payment>,
    rivals: Rivals,
    limits: SizeLimits,
}

impl Alternating {
    fn new(formulas: &Formulas, normal: Formula, limits: SizeLimits) -> Result<Self, TranslateError> {
        let parts = formulas.parts(normal);
        let rivals = Rivals::new(formulas, &parts);
        // Every part may become a state; literals too, as arguments of `O`.
        let words = parts.len().div_ceil(64);
        let nothing = Owed(vec![0; words].into());
        let place = |f: Formula| parts.binary_search(&f).expect("a part");
        let now = |label: Cube| vec![Step { label, owed: nothing.clone() }];
        let later = |f: usize| vec![Step { label: Cube::ANY, owed: nothing.clone().with(f) }];

        // For each part: what it asks of this letter and of the rest (delta), and of the rest
        // alone (sets of owed states, as steps without labels).
        let mut delta: Vec<Steps> = Vec::with_capacity(parts.len());
        let mut rest: Vec<Steps> = Vec::with_capacity(parts.len());
        let mut steps: Vec<Steps> = Vec::with_capacity(parts.len());
        let mut payments = Vec::new();
        for (own, &part) in parts.iter().enumerate() {
            let node = formulas.node(part);
            let mut own_steps = None;
            let here = match node {
                Node::True => now(Cube::ANY),
                Node::False => Vec::new(),
                Node::Prop(p) => now(Cube { pos: 1 << p.0, neg: 0 }),
                Node::Not(f) => match formulas.node(f) {
                    Node::Prop(p) => now(Cube { pos: 0, neg: 1 << p.0 }),
                    _ => unreachable!("negations stand before propositions"),
                },
                Node::And(f, g) => both(&delta[place(f)], &delta[place(g)], &rivals, limits.moves_max)?,
                Node::Or(f, g) => either(delta[place(f)].clone(), &delta[place(g)]),
                Node::Next(f) => rest[place(f)].clone(),
                Node::Until(f, g) => {
                    let pay = delta[place(g)].clone();
                    let wait = both(&delta[place(f)], &later(own), &rivals, limits.moves_max)?;
                    let all = either(pay.clone(), &wait);
                    // What pays is what remains of the final automaton's own steps.
                    let steps = all.iter().filter(|step| !step.owed.contains(own)).cloned().collect();
                    payments.push(Payment { state: own, steps });
                    all
                }
                Node::Release(f, g) => match (formulas.node(f), formulas.node(g)) {
                    (Node::False, Node::Until(t, inner)) if formulas.node(t) == Node::True => {
                        let steps = delta[place(inner)].clone();
                        let mut all = later(own);
                        all.extend(
                            steps
                                .iter()
                                .map(|step| Step { label: step.label, owed: step.owed.clone().with(own) }),
                        );
                        payments.push(Payment { state: own, steps });
                        own_steps = Some(all);
                        later(own)
                    }
                    _ => {
                        let wait = either(delta[place(f)].clone(), &later(own));
                        both(&delta[place(g)], &wait, &rivals, limits.moves_max)?
                    }
                },
            };
            rest.push(match node {
                Node::True => now(Cube::ANY),
                Node::False => Vec::new(),
                Node::And(f, g) => both(&rest[place(f)], &rest[place(g)], &rivals, limits.moves_max)?,
                Node::Or(f, g) => either(rest[place(f)].clone(), &rest[place(g)]),
                _ => later(own),
            });
            steps.push(own_steps.unwrap_or_else(|| here.clone()));
            delta.push(here);
        }
        let initial: Vec<Owed> = rest[place(normal)].iter().map(|step| step.owed.clone()).collect();
        let mut alternating = Alternating { initial, steps, payments, rivals, limits };
        alternating.keep_reachable_payments();
        if alternating.payments.len() > SETS_MAX as usize {
            return Err(TranslateError::TooLarge);
        }
        Ok(alternating)
    }

    /// Untils that are never owed need no acceptance set.
    fn keep_reachable_payments(&mut self) {
        let mut reached = vec![false; self.steps.len()];
        let mut work: Vec<usize> = self.initial.iter().flat_map(Owed::states).collect();
        while let Some(state) = work.pop() {
            if !std::mem::replace(&mut reached[state], true) {
                work.extend(self.steps[state].iter().flat_map(|step| step.owed.states()));
            }
        }
        self.payments.retain(|payment| reached[payment.state]);
    }

    /// The transitions from a set of states, each with its acceptance marks, none dominated.
    fn moves(&self, owed: &Owed) -> Result<Vec<(Step, u64)>, TranslateError> {
        let nothing = Owed(vec![0; owed.0.len()].into());
        let mut all = vec![Step { label: Cube::ANY, owed: nothing }];
        for state in owed.states() {
            // Equal steps only are dropped here: a covered step may carry more marks.
            let mut product: IndexSet<Step, FxBuildHasher> = IndexSet::default();
            for x in &all {
                product.extend(self.steps[state].iter().filter_map(|y| x.and(y, &self.rivals)));
                if product.len() > self.limits.moves_max {
                    return Err(TranslateError::TooLarge);
                }
            }
            all = product.into_iter().collect();
        }
        let marked: Vec<(Step, u64)> = all
            .into_iter()
            .map(|step| {
                let marks = self.marks(&step);
                (step, marks)
            })
            .collect();
        let dominates = |a: &(Step, u64), b: &(Step, u64)| b.1 & !a.1 == 0 && a.0.covers(&b.0);
        let mut kept: Vec<(Step, u64)> = Vec::new();
        for one in marked {
            if !kept.iter().any(|other| dominates(other, &one)) {
                kept.retain(|other| !dominates(&one, other));
                kept.push(one);
            }
        }
        Ok(kept)
    }

    /// The acceptance sets of a transition.
    fn marks(&self, step: &Step) -> u64 {
        let paid = |payment: &Payment| {
            !step.owed.contains(payment.state)
                || payment
                    .steps
                    .iter()
                    .any(|pay| pay.label.covers(step.label) && pay.owed.is_within(&step.owed))
        };
        self.payments.iter().enumerate().filter(|(_, p)| paid(p)).fold(0, |marks, (i, _)| marks | 1 << i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::text::parse;

    #[track_caller]
    fn check(text: &str, states: usize, edges: usize, sets: u32) {
        let mut formulas = Formulas::default();
        let formula = parse(&mut formulas, text).expect("well-formed");
        let automaton = translate(&mut formulas, formula, SizeLimits::default()).expect("small");
        assert_eq!(automaton.size(), (states, edges, sets), "{text}: {automaton:?}");
    }

    #[test]
    fn sizes() {
        check("True", 1, 1, 0);
        check("False", 0, 0, 0);
        check("[] p0", 1, 1, 0);
        check("<> p0", 2, 3, 1);
        check("[] <> p0", 1, 2, 1);
        check("<> [] p0", 2, 3, 1);
        check("[] <> p0 /\\ [] <> p1", 1, 4, 2);
        check("p0 /\\ ~ p0", 0, 0, 0);
        check("[] p0 /\\ <> ~ p0", 0, 0, 0);
        // The negation of a leads-to: wait, then never q again.
        check("<> (p0 /\\ [] ~ p1)", 2, 3, 1);
    }

    #[test]
    fn no_state_owes_a_formula_and_its_negation() {
        let mut formulas = Formulas::default();
        let text = format!("[] (p0 <-> {}p0)", "O ".repeat(12));
        let formula = parse(&mut formulas, &text).expect("well-formed");
        let automaton = translate(&mut formulas, formula, SizeLimits::default()).expect("it fits");
        // What was read in the last twelve steps, or in those since the start.
        assert_eq!(automaton.edges.len(), 8191);
    }

    #[test]
    fn limits() {
        let mut formulas = Formulas::default();
        let formula = parse(&mut formulas, "<> p64").expect("well-formed");
        let error = translate(&mut formulas, formula, SizeLimits::default()).expect_err("too many");
        assert_eq!(error, TranslateError::TooManyPropositions);
        let text: Vec<String> = (0..40).map(|i| format!("<> (p{i} /\\ O p{i})")).collect();
        let formula = parse(&mut formulas, &text.join(" /\\ ")).expect("well-formed");
        let error = translate(&mut formulas, formula, SizeLimits::default()).expect_err("too large");
        assert_eq!(error, TranslateError::TooLarge);
    }
}
