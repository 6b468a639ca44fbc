//! Checking in layers: divide the runs by depth, check what begins at the boundary between two
//! layers on its own, and forget it. What does not fit into memory as a whole can be checked so.
//!
//! After the divide & conquer approach to leads-to and conditional stable model checking (Phyo, Do,
//! Ogata), for every formula: what passes a boundary are pairs of a state and a state of the
//! automaton of the negated formula ([`boundary`]). All layers but the last have a depth; there
//! nothing is searched, all runs are just followed for so many steps ([`divide`], [`post`]). In the final layer
//! each state of the last boundary is the root of a sub-state space ([`last`]), in which an accepted
//! run is searched ([`part`]). Sub-state spaces overlap; what one has verified the others need not
//! search again ([`cache`]).
//!
//! ```
//! use rwl::check::layers::{Layers, Options, Verdict, check};
//! use rwl::graph::{Explicit, RuleId};
//! use rwl::logic::{Formulas, text};
//! let step = RuleId(0);
//! let ring = Explicit { initial: 0, edges: vec![vec![(step, 1)], vec![(step, 0)]], props: vec![0, 1] };
//! let mut formulas = Formulas::default();
//! let often = text::parse(&mut formulas, "[] <> p0").unwrap();
//! let options = Options { layers: Layers::Depths(vec![2, 2]), ..Options::default() };
//! let answer = check(&ring, None, &mut formulas, often, options).unwrap();
//! assert_eq!(answer.verdict, Verdict::Holds);
//! assert_eq!(answer.layers.len(), 2);
//! ```

pub mod apart;
mod boundary;
mod cache;
mod checkpoint;
mod crew;
mod divide;
mod last;
mod meter;
mod nodes;
mod part;
mod post;
mod queue;
mod reader;
mod rounds;
mod seeded;
#[cfg(test)]
mod tests;
mod trace;
mod turn;

pub use checkpoint::{CheckpointError, Saving};
pub use meter::{Meter, Progress, Watcher};
pub use post::Census;
pub use trace::Run;

use super::classify::{Class, Predicate, classify};
use super::fairness::FairTable;
use super::{CheckError, Failure, Fairness, Limits};
use crate::graph::{Region, Regions, Seed, Stop};
use crate::logic::{Formula, Formulas, PROPS_MAX, Property, SizeLimits, TranslateError, premise, simplify};
use boundary::{Boundary, Entry};
use cache::Cache;
use crew::{Budget, Crew};
use divide::Check;
use nodes::LeadsTo;
use queue::{Halted, Violation};
use rayon::ThreadPool;
use reader::Reader;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use trace::Tracer;

/// Where the boundaries are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Layers {
    /// One boundary, at the depth where there is enough to do for all threads.
    #[default]
    Auto,
    /// The depths of all layers but the last.
    Depths(Vec<u32>),
}

/// What the caller decides.
#[derive(Clone)]
pub struct Options<'a> {
    pub layers: Layers,
    /// `memory_max` is for everything: boundaries, regions, what they share, and verified pairs.
    pub limits: Limits,
    /// Bytes for verified pairs; by default half of the memory, if there is room.
    pub cache_bytes: Option<usize>,
    /// Bytes for one sub-state space; by default what the memory allows.
    pub space_bytes: Option<usize>,
    /// Which runs count.
    pub fairness: Fairness,
    /// Give every counterexample a cycle, even if its prefix alone violates the formula.
    pub close: bool,
    /// States that may be explored once more to make a counterexample short.
    pub short_states_max: u64,
    /// Check the final layer as well.
    pub conquer: bool,
    pub saving: Option<Saving>,
    pub watcher: Option<Watcher<'a>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            layers: Layers::Auto,
            limits: Limits::default(),
            cache_bytes: None,
            space_bytes: None,
            fairness: Fairness::default(),
            close: false,
            short_states_max: 1 << 18,
            conquer: true,
            saving: None,
            watcher: None,
        }
    }
}

/// Whether the formula holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Holds,
    /// The run violates the formula; it has been replayed.
    Violated(Run),
    Unknown(Reason),
}

/// Why there is no verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    Stopped(Stop),
    /// A sub-state space does not fit into memory however it is divided, so it has a strongly
    /// connected component that does not fit. Only more memory helps, or a smaller system.
    Component,
    /// The final layer was not asked for.
    Divided,
    /// Not all that is searched elsewhere has an answer; the text says more.
    Elsewhere(String),
}

/// A layer but the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layer {
    /// Steps from its beginning to its end.
    pub steps: u32,
    /// What is at its end, and how many sub-state spaces it took.
    pub end: Census,
}

/// How far a check has come, so that a later one of the same formula in the same regions can go on.
#[derive(Debug, Default)]
pub struct Division {
    boundaries: Vec<(Arc<Boundary>, Census)>,
    /// Places of the last boundary whose sub-state spaces have been searched and are clean.
    done: Option<Vec<bool>>,
    /// Has the premise of a leads-to been true?
    is_met: bool,
}

/// A state where a layer ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    pub seed: Seed,
    /// Whether the automaton may have begun the accepted part of a run with it.
    pub is_counterexample: bool,
}

impl Division {
    /// The states at the end of each layer of a check of this formula, if they can be made again.
    pub fn ends<R: Region>(
        &self,
        region: &mut R,
        formulas: &mut Formulas,
        formula: Formula,
    ) -> Option<Vec<Vec<End>>> {
        let reader = reader(formulas, formula, &Fairness::default()).ok()?;
        let mut layers = Vec::new();
        for (boundary, _) in self.boundaries.iter().skip(1) {
            let mut ends = Vec::new();
            for (index, &seed) in boundary.level.seeds.iter().enumerate() {
                let state = region.plant(seed).ok()?;
                let props = region.visit(state, &|_| false, &mut Vec::new()).ok()?;
                let is_begun = |entry: &Entry| reader.after(entry.at, props).any(|at| reader.is_begun(at));
                let is_counterexample = boundary.level.entries(index).iter().any(is_begun);
                ends.push(End { seed, is_counterexample });
            }
            layers.push(ends);
        }
        Some(layers)
    }
}

/// A verdict and what it took.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    pub verdict: Verdict,
    /// A leads-to that holds since its premise is never true, or a formula that every system satisfies.
    pub is_vacuous: bool,
    /// All layers but the last.
    pub layers: Vec<Layer>,
    /// Sub-state spaces of the final layer that were split since they did not fit.
    pub splits: usize,
    /// States of the automaton.
    pub automaton: usize,
    /// States expanded, in all layers; one state may be expanded several times.
    pub states: u64,
    /// The transitions that were found then.
    pub transitions: u64,
    /// Pairs that need not be searched since another sub-state space had verified them.
    pub hits: u64,
}

/// Why there is no answer at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    Check(CheckError),
    Checkpoint(CheckpointError),
    /// What was given belongs to another system or formula, or is nothing that was stored.
    Foreign,
}

/// Without a memory limit, verified pairs take at most so much.
const CACHE_BYTES: usize = 1 << 30;

/// Checks that every run from the initial state satisfies the formula. With a pool, all its threads
/// work; the verdict does not depend on their number, nor does the counterexample if it is among
/// the first `short_states_max` states of the system or of its sub-state space.
pub fn check<G: Regions>(
    regions: &G,
    pool: Option<&ThreadPool>,
    formulas: &mut Formulas,
    formula: Formula,
    options: Options,
) -> Result<Answer, Error> {
    go_on(regions, pool, formulas, formula, &mut Division::default(), options)
}

/// The same from where an earlier check has stopped. The layers of the options are all layers, those
/// that are done included.
pub fn go_on<G: Regions>(
    regions: &G,
    pool: Option<&ThreadPool>,
    formulas: &mut Formulas,
    formula: Formula,
    division: &mut Division,
    options: Options,
) -> Result<Answer, Error> {
    let site = Site::new(regions, pool, formulas, formula, &options)?;
    if site.is_trivial() {
        return Ok(site.answer(Verdict::Holds, Vec::new(), 0));
    }
    let mut check = site.check(regions, pool, &options.limits);
    let Division { boundaries, done, is_met } = std::mem::take(division);
    check.resume(boundaries, done);
    if is_met {
        site.meter.set_met();
    }
    let opened = match options.saving.clone() {
        Some(saving) => check.open(saving.with(&options.layers)).map_err(Error::Checkpoint)?,
        None => Ok(()),
    };
    let mut splits = 0;
    let found = opened.and_then(|()| check.divide(&options.layers)).and_then(|violation| match violation {
        Some(violation) => Ok((Some(violation), None)),
        None if !options.conquer => Ok((None, None)),
        None => check.conquer(&site.cache, &mut splits),
    });
    if let Ok((Some(_), _)) = found {
        // The run is searched for with all the memory there is.
        regions.forget();
        site.cache.clear();
        site.budget.settle();
    }
    let is_met = site.meter.is_met();
    *division = Division { boundaries: check.boundaries.clone(), done: check.done.take(), is_met };
    let verdict = judge(regions, &mut check, formulas, formula, &options, found)?;
    Ok(site.answer(verdict, check.layers(), splits))
}

/// What the search for violations came to.
type Found = Result<(Option<Violation>, Option<Halted>), Stop>;

/// The verdict that follows, a violation with the run that shows it.
fn judge<'a, G: Regions>(
    regions: &'a G,
    check: &mut Check<'a, G::Region<'a>>,
    formulas: &mut Formulas,
    formula: Formula,
    options: &Options,
    found: Found,
) -> Result<Verdict, Error> {
    let verdict = found.map_err(Failure::Stop).and_then(|found| match found {
        (Some(violation), _) => {
            let mut tracer = tracer(regions, check, options);
            tracer.run(formulas, formula, violation).map(Verdict::Violated)
        }
        (None, Some(Halted::Component)) => Ok(Verdict::Unknown(Reason::Component)),
        (None, Some(Halted::Stop(stop))) => Err(Failure::Stop(stop)),
        (None, None) if !options.conquer => Ok(Verdict::Unknown(Reason::Divided)),
        (None, None) => Ok(Verdict::Holds),
    });
    match verdict {
        Ok(verdict) => Ok(verdict),
        Err(Failure::Stop(stop)) => Ok(Verdict::Unknown(Reason::Stopped(stop))),
        Err(Failure::Check(error)) => Err(Error::Check(error)),
    }
}

fn tracer<'t, 'a, G: Regions>(
    regions: &'a G,
    check: &'t mut Check<'a, G::Region<'a>>,
    options: &'t Options,
) -> Tracer<'t, 'a, G> {
    let Check { crew, reader, meter, .. } = check;
    let Options { fairness, close, short_states_max: states_max, .. } = options;
    Tracer { regions, crew, reader, meter, fairness, close: *close, states_max: *states_max }
}

/// The automaton of a formula's negation.
fn reader(formulas: &mut Formulas, formula: Formula, fairness: &Fairness) -> Result<Reader, CheckError> {
    let normal = formulas.normal(formula);
    if formulas.props(normal).iter().any(|prop| prop.0 >= PROPS_MAX) {
        return Err(CheckError::Translate(TranslateError::TooManyPropositions));
    }
    let negated = formulas.negated(formula);
    let automaton =
        simplify(formulas, negated, SizeLimits::default()).map_err(CheckError::Translate)?.automaton;
    let fair = FairTable::new(fairness).ok_or(CheckError::TooManyConditions)?;
    let reader = Reader::new(automaton, fair);
    Ok(match Property::of(formulas, normal) {
        // A run violates `p U [] q` also if p holds for ever. What begins is that p has failed, from where
        // on only q matters, as it does after the p of other classes.
        Some(Property::UntilStable(..)) => reader.begun_late(),
        _ => reader,
    })
}

/// What a check works with.
struct Site<'a> {
    reader: Reader,
    meter: Meter<'a>,
    leads_to: Option<LeadsTo>,
    budget: Budget<'a>,
    cache: Arc<Cache>,
    /// Makes the regions forget.
    forget: Box<dyn Fn() + Sync + 'a>,
}

impl<'a> Site<'a> {
    fn new<G: Regions>(
        regions: &'a G,
        pool: Option<&ThreadPool>,
        formulas: &mut Formulas,
        formula: Formula,
        options: &Options<'a>,
    ) -> Result<Self, Error> {
        let reader = reader(formulas, formula, &options.fairness).map_err(Error::Check)?;
        let normal = formulas.normal(formula);
        let (premise, leads_to) = match classify(formulas, normal) {
            Some(Class::LeadsTo(premise, goal)) => (Some(premise.clone()), Some(LeadsTo { premise, goal })),
            Some(Class::LeadsToAlways(premise, _)) => (Some(premise), None),
            _ => (premise(formulas, normal).and_then(|p| Predicate::new(formulas, p)), None),
        };
        let meter = Meter::new(options.watcher, premise);
        let memory = options.limits.memory_max.map(|bytes| bytes as usize);
        let cache_bytes = options.cache_bytes.unwrap_or(memory.map_or(CACHE_BYTES, |all| all / 2));
        let cache = Arc::new(Cache::new(cache_bytes, reader.automaton.edges.len()));
        let verified = cache.clone();
        let budget = Budget {
            bytes_max: memory,
            part_max: options.space_bytes,
            threads: pool.map_or(1, ThreadPool::current_num_threads),
            regions: Box::new(|| regions.bytes()),
            confine: Box::new(|bytes| regions.confine(bytes)),
            verified: Box::new(move || verified.bytes()),
            held: AtomicUsize::new(0),
        };
        let forget = Box::new(|| regions.forget());
        Ok(Site { reader, meter, leads_to, budget, cache, forget })
    }

    /// Whether no run of any system violates the formula.
    fn is_trivial(&self) -> bool {
        self.reader.automaton.edges.is_empty()
    }

    fn check<'s, G: Regions>(
        &'s self,
        regions: &'s G,
        pool: Option<&'s ThreadPool>,
        limits: &'s Limits,
    ) -> Check<'s, G::Region<'s>> {
        // Each thread makes its own, in memory of its own.
        let own = |_| regions.region();
        let regions = pool.map_or_else(|| vec![own(())], |pool| pool.broadcast(|_| own(())));
        let crew = Crew { regions, pool, budget: &self.budget, limits };
        Check::new(crew, &self.reader, &self.meter, self.leads_to.as_ref(), &*self.forget)
    }

    fn answer(&self, verdict: Verdict, layers: Vec<Layer>, splits: usize) -> Answer {
        let Progress { states, transitions, hits, .. } = self.meter.progress();
        let is_vacuous = verdict == Verdict::Holds && (self.is_trivial() || !self.meter.is_met());
        let automaton = self.reader.automaton.edges.len();
        Answer { verdict, is_vacuous, layers, splits, automaton, states, transitions, hits }
    }
}
