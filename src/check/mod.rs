//! Does a system satisfy a formula? Holds, violated with a run that shows it, or unknown with the
//! reason.
//!
//! A [`Checker`] keeps the explored part of a system, so that several formulas share it. Formulas of
//! simple classes are checked on the state graph ([`direct`]); all others, and all under fairness,
//! in the product with the automaton of the negated formula ([`search`], [`emptiness`]). Workers
//! compute successors and propositions in parallel; everything else works on numbers, in an order
//! that does not depend on them, so answers are the same for any number of threads. Every
//! counterexample is replayed ([`replay`]).
//!
//! ```
//! use rwl::check::{Checker, Options, Verdict};
//! use rwl::graph::{Explicit, RuleId};
//! use rwl::logic::{Formulas, text};
//! // A light that may stay red for ever.
//! let (wait, go) = (RuleId(0), RuleId(1));
//! let light = Explicit { initial: 0, edges: vec![vec![(wait, 0), (go, 1)], vec![(go, 0)]], props: vec![1, 2] };
//! let mut formulas = Formulas::default();
//! let green = text::parse(&mut formulas, "[] <> p1").unwrap();
//! let mut checker = Checker::new(&light, None, Options::default()).unwrap();
//! let answer = checker.check(&mut formulas, green).unwrap();
//! let Verdict::Violated(run) = answer.verdict else { panic!("it may stay red") };
//! assert_eq!(run.cycle().len(), 1);
//! ```

mod classify;
mod direct;
mod emptiness;
mod fairness;
mod lasso;
pub mod layers;
mod limits;
mod maude;
mod nodes;
mod plan;
mod product;
mod reached;
mod replay;
mod scc;
mod search;
mod shorten;
mod space;
mod targets;
#[cfg(test)]
mod tests;

pub use classify::Predicate;
pub use fairness::Fairness;
pub use lasso::{Lasso, Step};
pub use limits::Limits;
pub use plan::Plans;
pub use replay::{ReplayError, replay};
pub use space::{Progress, Watcher};

use crate::graph::{Stop, System, Worker};
use crate::logic::word::is_bad_prefix;
use crate::logic::{
    Automaton, Cube, Edge, Formula, Formulas, PropId, SizeLimits, TranslateError, imitate, satisfy,
};
use classify::Class;
use direct::Finding;
use fairness::FairTable;
use plan::Plan;
use rayon::ThreadPool;
use search::{Extent, Target};
use space::{Node, Space};
use std::sync::Arc;

/// What the caller decides.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub limits: Limits,
    pub fairness: Fairness,
    /// Give every counterexample a cycle, even if its prefix alone violates the formula. Where no
    /// cycle is found within the limits it stays without.
    pub close: bool,
    /// Use the automaton even where a direct algorithm would do.
    pub automaton_only: bool,
    pub counterexample: Counterexample,
    /// What is known of formulas, perhaps from other checks.
    pub plans: Arc<Plans>,
}

/// Which run shows a violation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Counterexample {
    /// A short one.
    #[default]
    Short,
    /// The one that Maude finds, if it is found (see [`crate::logic::imitate`]) and there is no
    /// fairness; a short one otherwise.
    Maude,
}

/// Whether the formula holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// `vacuous`: a leads-to (or another promise) whose premise is never true, or a formula that every system satisfies.
    Holds { vacuous: bool },
    /// The run violates the formula; it has been replayed.
    Violated(Lasso),
    /// The check ended before its answer.
    Unknown(Stop),
}

/// How an answer was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Method {
    /// The formula alone tells: it holds in every system.
    Formula,
    /// On the state graph.
    Direct,
    /// In the product with an automaton of so many states.
    Automaton(usize),
}

/// A verdict and what it took.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    pub verdict: Verdict,
    pub method: Method,
    /// Where the run of a violation comes from.
    pub counterexample: Counterexample,
    /// States met so far, by this and earlier formulas.
    pub states: usize,
    /// Transitions found so far; those with equal ends count once.
    pub transitions: usize,
    /// Propositions of the formula that no reachable state satisfies, if all are known, and if that is not what
    /// the formula says.
    pub absent: Vec<PropId>,
}

/// Why there is no answer at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CheckError {
    /// The formula has no automaton that fits.
    Translate(TranslateError),
    /// More than 32 weak or strong fairness conditions.
    TooManyConditions,
    /// A counterexample did not survive its replay: a mistake in rwl.
    ReplayFailed(ReplayError),
    /// The direct check saw a violation that the automaton does not show: a mistake in rwl.
    Disagreement,
}

/// Checks formulas on one system.
pub struct Checker<'s> {
    space: Space<'s>,
    judge: Box<dyn Worker + Send + 's>,
    options: Options,
    fair: FairTable,
}

impl<'s> Checker<'s> {
    /// With a pool, all its threads explore.
    pub fn new<S: System>(
        system: &'s S,
        pool: Option<&'s ThreadPool>,
        options: Options,
    ) -> Result<Self, CheckError> {
        let fair = FairTable::new(&options.fairness).ok_or(CheckError::TooManyConditions)?;
        let space = Space::new(system, pool, !fair.is_none());
        Ok(Checker { space, judge: Box::new(system.witness()), options, fair })
    }

    /// From now on someone hears how far checks are.
    pub fn watch(&mut self, watcher: Watcher) {
        self.space.watcher = Some(watcher);
    }

    /// Other limits for the formulas to come.
    pub fn set_limits(&mut self, limits: Limits) {
        self.options.limits = limits;
    }

    /// Checks that every fair run from the initial state satisfies the formula.
    pub fn check(&mut self, formulas: &mut Formulas, formula: Formula) -> Result<Answer, CheckError> {
        let normal = formulas.normal(formula);
        let props = formulas.props(formula);
        if props.iter().any(|prop| prop.0 >= crate::logic::PROPS_MAX) {
            return Err(CheckError::Translate(TranslateError::TooManyPropositions));
        }
        self.space.ask(props.iter().fold(0, |needed, prop| needed | 1 << prop.0));
        let use_class = self.fair.is_none() && !self.options.automaton_only;
        let plan = self.options.plans.get(formulas, normal, use_class);
        let claim = Claim { normal, plan: &plan };
        let method = match (&plan.class, &plan.automaton) {
            (_, Ok(automaton)) if automaton.edges.is_empty() => Method::Formula,
            (None, Ok(automaton)) => Method::Automaton(automaton.edges.len()),
            (None, Err(error)) => return Err(CheckError::Translate(error.clone())),
            (Some(_), _) => Method::Direct,
        };
        let mut verdict = match self.decide(formulas, &claim) {
            Ok(verdict) => verdict,
            Err(Failure::Stop(stop)) => Verdict::Unknown(stop),
            Err(Failure::Check(error)) => return Err(error),
        };
        if let Verdict::Violated(lasso) = &mut verdict
            && let Ok(automaton) = &plan.automaton
            && self.fair.is_none()
        {
            self.space.beside = 0;
            if let Ok(Some(shorter)) =
                shorten::shorter(&mut self.space, automaton, lasso, &self.options.limits)
            {
                *lasso = shorter;
            }
        }
        if let Verdict::Violated(lasso) = &verdict {
            // The tables of the search are no more, so the system may have their memory; if that is not
            // enough, replaying will say so.
            self.space.beside = 0;
            let _ = self.space.confine(&self.options.limits);
            match replay(&mut *self.judge, formulas, formula, &self.options.fairness, lasso) {
                Ok(()) => {}
                // A successor of some state on the way cannot be computed.
                Err(ReplayError::Stopped(stop)) => verdict = Verdict::Unknown(stop),
                Err(error) => return Err(CheckError::ReplayFailed(error)),
            }
        }
        let is_violated = matches!(verdict, Verdict::Violated(_));
        let imitated = if is_violated { self.maudes_run(formulas, formula) } else { None };
        let (verdict, counterexample) = match imitated {
            Some(lasso) => (Verdict::Violated(lasso), Counterexample::Maude),
            None => (verdict, Counterexample::Short),
        };
        let (states, transitions) = (self.space.len(), self.space.edge_count());
        let absent = match verdict {
            Verdict::Holds { .. } | Verdict::Violated(_) if method != Method::Formula => {
                self.absent(formulas, formula, &props)
            }
            _ => Vec::new(),
        };
        Ok(Answer { verdict, method, counterexample, states, transitions, absent })
    }

    /// That there is no answer, and why.
    pub fn unknown(&self, why: Stop) -> Answer {
        Answer {
            verdict: Verdict::Unknown(why),
            method: Method::Direct,
            counterexample: Counterexample::Short,
            states: self.space.len(),
            transitions: self.space.edge_count(),
            absent: Vec::new(),
        }
    }

    /// The same in what has been explored so far, without exploring more. What would need more is unknown, and this
    /// is why.
    pub fn check_known(
        &mut self,
        formulas: &mut Formulas,
        formula: Formula,
        why: Stop,
    ) -> Result<Answer, CheckError> {
        self.space.closed = Some(why);
        let answer = self.check(formulas, formula);
        self.space.closed = None;
        answer
    }

    /// See [`Answer::absent`].
    fn absent(&self, formulas: &mut Formulas, formula: Formula, props: &[PropId]) -> Vec<PropId> {
        let nodes = 0..self.space.len() as Node;
        let known = |node| self.space.props(node).filter(|_| self.space.is_expanded(node));
        let Some(met) = nodes.map(known).try_fold(0, |all, props| Some(all | props?)) else {
            return Vec::new();
        };
        let is_missed = |prop: &PropId| {
            let happens = formulas.prop(*prop);
            let happens = formulas.eventually(happens);
            let both = formulas.and(formula, happens);
            // If it is hard to say, nothing is.
            matches!(satisfy(formulas, both, SizeLimits::default()), Ok(Some(_)))
        };
        props.iter().copied().filter(|prop| met >> prop.0 & 1 == 0).filter(is_missed).collect()
    }

    /// Maude's counterexample, if it is asked for and comes out.
    fn maudes_run(&mut self, formulas: &mut Formulas, formula: Formula) -> Option<Lasso> {
        if self.options.counterexample != Counterexample::Maude
            || !self.fair.is_none()
            || self.space.closed.is_some()
        {
            return None;
        }
        let negated = formulas.negated(formula);
        let automaton = imitate(formulas, negated)?;
        // Depth-first search may go on for ever where there are infinitely many states.
        let limits = self.bounded(64 * self.space.len() as u64 + IMITATED_PAIRS);
        let lasso = maude::first_run(&mut self.space, &automaton, &limits).ok()??;
        replay(&mut *self.judge, formulas, formula, &self.options.fairness, &lasso).ok()?;
        Some(lasso)
    }

    /// Takes turns between looking ahead along single paths and exploring breadth-first, each with
    /// growing bounds. What one has explored the other need not, so little is lost, and a violation
    /// that is deep but easy to run into is found without everything above it.
    fn decide(&mut self, formulas: &Formulas, claim: &Claim) -> Result<Verdict, Failure> {
        if claim.plan.automaton.as_ref().is_ok_and(|automaton| automaton.edges.is_empty()) {
            // No run of any system violates it.
            return Ok(Verdict::Holds { vacuous: true });
        }
        let own_max = self.options.limits.states_max;
        let root = self.space.initial()?;
        let (mut ahead, mut first_look) = (AHEAD_FIRST, FIRST_LOOK);
        loop {
            let seen = match claim.automaton() {
                Ok(automaton) if self.space.closed.is_none() => {
                    let target = Target::new(automaton, &self.fair);
                    target.probe(&mut self.space, root, &self.options.limits, ahead)?
                }
                _ => None,
            };
            // With a violation at hand, breadth-first search is there to find a shorter one.
            let bound = match &seen {
                Some(run) => effort(16 * ahead, run),
                None => 32 * ahead as u64,
            };
            let limits = self.bounded(bound);
            let result = match &claim.plan.class {
                Some(class) => self.check_class(formulas, claim, class, &limits, first_look),
                None => self.check_automaton(formulas, claim, &limits, first_look),
            };
            let Some(seen) = seen else {
                match result {
                    Err(Failure::Stop(Stop::States(limit)))
                        if limit == bound && own_max.is_none_or(|own| own > bound) =>
                    {
                        // The next round meets the same states first; they have been looked at.
                        (ahead, first_look) = (4 * ahead, 2 * bound as usize);
                        continue;
                    }
                    result => return result,
                }
            };
            let seen = self.finish(formulas, claim, seen);
            return match (result, seen) {
                (Ok(Verdict::Violated(one)), Ok(other)) if other.steps.len() < one.steps.len() => {
                    Ok(Verdict::Violated(other))
                }
                (Ok(Verdict::Violated(one)), _) => Ok(Verdict::Violated(one)),
                (Ok(_), _) => Err(Failure::Check(CheckError::Disagreement)),
                (Err(Failure::Check(error)), _) => Err(Failure::Check(error)),
                (Err(Failure::Stop(_)), seen) => Ok(Verdict::Violated(seen?)),
            };
        }
    }

    /// The caller's limits with a bound on states.
    fn bounded(&self, bound: u64) -> Limits {
        let limits = self.options.limits.clone();
        Limits { states_max: Some(limits.states_max.map_or(bound, |own| own.min(bound))), ..limits }
    }

    fn check_class(
        &mut self,
        formulas: &Formulas,
        claim: &Claim,
        class: &Class,
        limits: &Limits,
        first_look: usize,
    ) -> Result<Verdict, Failure> {
        match direct::check(&mut self.space, class, limits, first_look)? {
            Finding::Holds => Ok(self.holds(claim)),
            Finding::Path(path, last) => {
                let open = lasso::open_path(&mut self.space, &path, last)?;
                // Where the class knows cycles as well, a shorter one may have been closed before.
                let known = match claim.automaton() {
                    Ok(automaton) if matches!(class, Class::Until(..)) && path.len() > 1 => {
                        let root = self.space.initial()?;
                        Target::new(automaton, &self.fair).explore(
                            &mut self.space,
                            root,
                            limits,
                            Extent::Known,
                        )?
                    }
                    _ => None,
                };
                let is_shorter = |known: &Lasso| known.steps.len() < open.steps.len();
                let lasso = known.filter(is_shorter).unwrap_or(open);
                Ok(Verdict::Violated(self.finish(formulas, claim, lasso)?))
            }
            Finding::Run => {
                // The run is somewhere in what has been explored. A shorter one may be near the
                // start, if not too much must be explored to see it.
                let root = self.space.initial()?;
                let target = Target::with_cycle(claim.automaton()?, &self.fair);
                let known = target.explore(&mut self.space, root, limits, Extent::Known)?;
                let known = known.ok_or(Failure::Check(CheckError::Disagreement))?;
                let limits = self.bounded(effort(4 * self.space.len(), &known));
                let extent = Extent::All { first_look: FIRST_LOOK };
                let near = target.explore(&mut self.space, root, &limits, extent).ok().flatten();
                let is_shorter = |near: &Lasso| near.steps.len() < known.steps.len();
                Ok(Verdict::Violated(near.filter(is_shorter).unwrap_or(known)))
            }
        }
    }

    fn check_automaton(
        &mut self,
        formulas: &Formulas,
        claim: &Claim,
        limits: &Limits,
        first_look: usize,
    ) -> Result<Verdict, Failure> {
        let root = self.space.initial()?;
        let target = Target::new(claim.automaton()?, &self.fair);
        match target.explore(&mut self.space, root, limits, Extent::All { first_look })? {
            None => Ok(self.holds(claim)),
            Some(lasso) => Ok(Verdict::Violated(self.finish(formulas, claim, lasso)?)),
        }
    }

    /// What has been explored is enough to see that no run violates the claim. Every state of it is
    /// reachable, also by the start of a fair run.
    fn holds(&self, claim: &Claim) -> Verdict {
        let occurs = |p: &Predicate| {
            let mut known = (0..self.space.len() as Node).filter_map(|node| self.space.props(node));
            known.any(|props| p.holds(props))
        };
        Verdict::Holds { vacuous: claim.plan.premise.as_ref().is_some_and(|premise| !occurs(premise)) }
    }

    /// Whether the steps of a run are enough to see that it violates the formula.
    fn is_bad(&self, formulas: &Formulas, normal: Formula, lasso: &Lasso) -> bool {
        let props = |step: &Step| self.space.props(self.space.node(step.state)?);
        let letters: Option<Vec<u64>> = lasso.steps.iter().map(props).collect();
        // Where nothing more is explored, some may not have been read.
        letters.is_some_and(|letters| is_bad_prefix(formulas, normal, &letters))
    }

    /// Gives a run without a cycle one, if it is asked for or needed to see the violation.
    fn finish(&mut self, formulas: &Formulas, claim: &Claim, lasso: Lasso) -> Result<Lasso, Stop> {
        if lasso.back.is_some() {
            return Ok(lasso);
        }
        let needed = !self.is_bad(formulas, claim.normal, &lasso);
        if !needed && !self.options.close {
            return Ok(lasso);
        }
        let limits = self.bounded(2 * self.space.len() as u64 + CLOSING_STATES);
        let Checker { space, fair, .. } = self;
        let anything = anything();
        let last = lasso.steps.last().and_then(|step| space.node(step.state)).expect("a run has a state");
        let closed = match Target::with_cycle(&anything, fair).explore(
            space,
            last,
            &limits,
            Extent::All { first_look: FIRST_LOOK },
        ) {
            Ok(Some(rest)) => {
                let mut steps = lasso.steps;
                steps.pop();
                let back = rest.back.map(|back| back + steps.len());
                steps.extend(rest.steps);
                Lasso { steps, back }.folded()
            }
            Ok(None) => return Err(Stop::Failed("no fair run goes on from here".to_owned())),
            Err(_) if !needed => return Ok(lasso),
            Err(stop) => return Err(stop),
        };
        // A longer prefix may have a shorter cycle.
        let root = space.initial()?;
        let Ok(automaton) = claim.automaton() else { return Ok(closed) };
        match Target::with_cycle(automaton, fair).explore(space, root, &limits, Extent::Known)? {
            Some(other) if other.steps.len() < closed.steps.len() => Ok(other),
            _ => Ok(closed),
        }
    }
}

/// The automaton that accepts all runs.
fn anything() -> Automaton {
    Automaton { initial: vec![0], edges: vec![vec![Edge { to: 0, label: Cube::ANY, marks: 0 }]], sets: 0 }
}

/// Size at which an explored part is first searched for cycles.
const FIRST_LOOK: usize = 1000;
/// States that the first look ahead may expand.
const AHEAD_FIRST: usize = 1000;
/// States that may be explored, beyond twice those known, to find a cycle for a finite run.
const CLOSING_STATES: u64 = 100_000;
/// Pairs that may be visited, beyond those for each state known, to find Maude's counterexample.
const IMITATED_PAIRS: u64 = 10_000_000;

/// A formula in the forms that the checkers need.
struct Claim<'a> {
    normal: Formula,
    plan: &'a Plan,
}

/// How many states may be explored to find a shorter run than this one: some, and the longer it is the
/// more.
fn effort(some: usize, run: &Lasso) -> u64 {
    (some + 20_000 + 1_500 * run.steps.len()) as u64
}

impl Claim<'_> {
    fn automaton(&self) -> Result<&Automaton, Failure> {
        let Plan { automaton, .. } = self.plan;
        automaton.as_ref().map_err(|error| Failure::Check(CheckError::Translate(error.clone())))
    }
}

/// Why a verdict is missing, inside.
enum Failure {
    Stop(Stop),
    Check(CheckError),
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Failure::Stop(stop)
    }
}
