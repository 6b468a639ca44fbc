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

mod boundary;
mod cache;
mod checkpoint;
mod crew;
mod divide;
mod last;
mod meter;
mod part;
mod post;
mod queue;
mod reader;
mod seeded;
#[cfg(test)]
mod tests;
mod trace;

pub use checkpoint::{CheckpointError, Saving};
pub use meter::{Progress, Watcher};
pub use post::Census;
pub use trace::Run;

use super::{CheckError, Failure, Limits};
use crate::graph::{Regions, Stop};
use crate::logic::{Formula, Formulas, PROPS_MAX, SizeLimits, TranslateError, simplify};
use cache::Cache;
use crew::{Budget, Crew};
use divide::Check;
use meter::Meter;
use queue::Halted;
use rayon::ThreadPool;
use reader::Reader;
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
    /// Bytes for verified pairs; by default a quarter of the memory.
    pub cache_bytes: Option<usize>,
    /// Bytes for one sub-state space; by default what the memory allows.
    pub space_bytes: Option<usize>,
    /// Give every counterexample a cycle, even if its prefix alone violates the formula.
    pub close: bool,
    /// States that may be explored once more to make a counterexample short.
    pub short_states_max: u64,
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
            close: false,
            short_states_max: 1 << 18,
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
}

/// A layer but the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layer {
    /// Steps from its beginning to its end.
    pub steps: u32,
    /// Sub-state spaces: one for each pair at its beginning.
    pub spaces: usize,
    /// What is at its end.
    pub end: Census,
}

/// A verdict and what it took.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    pub verdict: Verdict,
    /// All layers but the last.
    pub layers: Vec<Layer>,
    /// Sub-state spaces of the final layer that were split since they did not fit.
    pub splits: usize,
    /// States of the automaton.
    pub automaton: usize,
    /// States expanded, in all layers; one state may be expanded several times.
    pub states: u64,
    /// Pairs that need not be searched since another sub-state space had verified them.
    pub hits: u64,
}

/// Why there is no answer at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    Check(CheckError),
    Checkpoint(CheckpointError),
}

/// Without a memory limit, verified pairs take at most so much.
const CACHE_BYTES: usize = 1 << 28;

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
    let translate = |error| Error::Check(CheckError::Translate(error));
    let normal = formulas.normal(formula);
    if formulas.props(normal).iter().any(|prop| prop.0 >= PROPS_MAX) {
        return Err(translate(TranslateError::TooManyPropositions));
    }
    let negated = formulas.negated(formula);
    let automaton = simplify(formulas, negated, SizeLimits::default()).map_err(translate)?.automaton;
    let mut answer = Answer {
        verdict: Verdict::Holds,
        layers: Vec::new(),
        splits: 0,
        automaton: automaton.edges.len(),
        states: 0,
        hits: 0,
    };
    if automaton.edges.is_empty() {
        // No run of any system violates it.
        return Ok(answer);
    }
    let (reader, meter) = (Reader::new(automaton), Meter::new(options.watcher));
    let threads = pool.map_or(1, ThreadPool::current_num_threads);
    let memory = options.limits.memory_max.map(|bytes| bytes as usize);
    let cache_bytes = options.cache_bytes.unwrap_or(memory.map_or(CACHE_BYTES, |all| all / 4));
    let budget = Budget {
        bytes_max: memory.map(|all| all.saturating_sub(cache_bytes)),
        part_max: options.space_bytes,
        threads,
        shared: &|| regions.bytes(),
        held: AtomicUsize::new(0),
    };
    let crew = Crew {
        regions: (0..threads).map(|_| regions.region()).collect(),
        pool,
        budget: &budget,
        limits: &options.limits,
    };
    let mut check = Check::new(crew, &reader, &meter);
    if let Some(mut saving) = options.saving {
        saving.identity.extend_from_slice(format!("\n{:?}\n", options.layers).as_bytes());
        check.open(saving).map_err(Error::Checkpoint)?;
    }
    let found = check.divide(&options.layers).and_then(|violation| match violation {
        Some(violation) => Ok((Some(violation), None)),
        None => check.conquer(&Cache::new(cache_bytes), &mut answer.splits),
    });
    let verdict = found.map_err(Failure::Stop).and_then(|found| match found {
        (Some(violation), _) => {
            let Check { crew, reader, meter, .. } = &mut check;
            let (close, states_max) = (options.close, options.short_states_max);
            let mut tracer = Tracer { regions, crew, reader, meter, close, states_max };
            tracer.run(formulas, formula, violation).map(Verdict::Violated)
        }
        (None, Some(Halted::Component)) => Ok(Verdict::Unknown(Reason::Component)),
        (None, Some(Halted::Stop(stop))) => Err(Failure::Stop(stop)),
        (None, None) => Ok(Verdict::Holds),
    });
    answer.verdict = match verdict {
        Ok(verdict) => verdict,
        Err(Failure::Stop(stop)) => Verdict::Unknown(Reason::Stopped(stop)),
        Err(Failure::Check(error)) => return Err(Error::Check(error)),
    };
    answer.layers = check.layers();
    let progress = meter.progress();
    (answer.states, answer.hits) = (progress.states, progress.hits);
    Ok(answer)
}
