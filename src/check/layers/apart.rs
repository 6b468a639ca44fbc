//! The final layer apart from the others: its sub-state spaces are searched by other processes, on
//! other machines if need be.
//!
//! [`divide`] goes through all layers but the last and gives the states of the last boundary in
//! pieces. [`search`] says of one piece whether an accepted run starts from one of its pairs; a piece
//! says all that this needs, so its answer is about its own pairs and nothing else. The formula holds
//! exactly if all pieces are clean. If one is not, [`conclude`] connects the run that was found there
//! to the initial state and replays it, as if it had been found here.
//!
//! Pieces share no table of verified pairs: what several of them reach is searched by each of them.

use super::boundary::Boundary;
use super::checkpoint::{Cursor, Stored, load, put_bytes, store};
use super::part::Suffix;
use super::post::Census;
use super::queue::{Halted, Task, Violation};
use super::{Answer, Check, Error, Found, Options, Reason, Site, Verdict, judge, tracer};
use crate::base::Interrupt;
use crate::graph::{Region, Regions, RuleId, Seed, Stop};
use crate::logic::{Formula, Formulas};
use rayon::ThreadPool;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How many pieces to make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pieces {
    /// So many, if there are so many states.
    Count(usize),
    /// So many pairs for each; those of one state stay together.
    Pairs(usize),
}

/// What the first layers leave to be searched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frontier {
    /// All boundaries from the initial state on, which counterexamples need.
    pub boundaries: Vec<Vec<u8>>,
    pub pieces: Vec<Piece>,
}

/// Some states of the last boundary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// The place of its first state in the boundary.
    pub first: usize,
    pub states: usize,
    pub pairs: usize,
    pub bytes: Vec<u8>,
}

/// What the search of a piece came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// No accepted run starts there. Has the premise of a leads-to been true, here or before?
    Clean {
        is_met: bool,
    },
    Violated(Detached),
    Unknown(Reason),
}

/// An accepted run from a state of a boundary on, for another process with the same system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Detached {
    /// The place of the state.
    pub place: usize,
    /// The automaton state there.
    pub at: u32,
    pub states: Vec<Vec<u8>>,
    /// By which rule each state is left, if that is known.
    pub rules: Vec<Option<u32>>,
    /// Where it goes on after its end; without, any way to go on will do.
    pub back: Option<usize>,
}

/// Goes through all layers but the last. There is no frontier if the answer is known by then, or can
/// no longer be known; with one, the answer is unknown as yet.
pub fn divide<G: Regions>(
    regions: &G,
    pool: Option<&ThreadPool>,
    formulas: &mut Formulas,
    formula: Formula,
    options: Options,
    pieces: Pieces,
) -> Result<(Answer, Option<Frontier>), Error> {
    let site = Site::new(regions, pool, formulas, formula, &options)?;
    if site.is_trivial() {
        return Ok((site.answer(Verdict::Holds, Vec::new(), 0), None));
    }
    let mut check = site.check(regions, pool, &options.limits);
    let found = match check.divide(&options.layers) {
        Ok(None) => match frontier(&mut check, pieces) {
            Ok(frontier) if frontier.pieces.is_empty() => Ok((None, None)),
            Ok(frontier) => {
                let reason = Reason::Elsewhere("the final layer has not been searched".to_owned());
                return Ok((site.answer(Verdict::Unknown(reason), check.layers(), 0), Some(frontier)));
            }
            Err(stop) => Err(stop),
        },
        Ok(violation) => Ok((violation, None)),
        Err(stop) => Err(stop),
    };
    let verdict = judge(regions, &mut check, formulas, formula, &options, found)?;
    Ok((site.answer(verdict, check.layers(), 0), None))
}

/// Searches a piece. The answer has its numbers; its layers are not those of the whole check.
pub fn search<G: Regions>(
    regions: &G,
    pool: Option<&ThreadPool>,
    formulas: &mut Formulas,
    formula: Formula,
    options: Options,
    piece: &[u8],
) -> Result<(Outcome, Answer), Error> {
    let site = Site::new(regions, pool, formulas, formula, &options)?;
    let mut check = site.check(regions, pool, &options.limits);
    let mut splits = 0;
    let found = open(&mut check, &[piece])?.and_then(|_| check.conquer(&site.cache, &mut splits));
    if let Ok((Some(_), _)) = found {
        // The run is searched for with all the memory there is.
        regions.forget();
        site.cache.clear();
        site.budget.settle();
    }
    let outcome = detach(regions, &mut check, &options, found)
        .unwrap_or_else(|stop| Outcome::Unknown(Reason::Stopped(stop)));
    let unsaid = Verdict::Unknown(Reason::Elsewhere("this is a part of a check".to_owned()));
    Ok((outcome, site.answer(unsaid, Vec::new(), splits)))
}

/// The answer for the whole, given what the pieces together came to. The place of a violation is one
/// in the last boundary.
pub fn conclude<G: Regions>(
    regions: &G,
    pool: Option<&ThreadPool>,
    formulas: &mut Formulas,
    formula: Formula,
    options: Options,
    boundaries: &[Vec<u8>],
    outcome: Outcome,
) -> Result<Answer, Error> {
    let site = Site::new(regions, pool, formulas, formula, &options)?;
    let mut check = site.check(regions, pool, &options.limits);
    let boundaries: Vec<&[u8]> = boundaries.iter().map(Vec::as_slice).collect();
    let last = open(&mut check, &boundaries)?;
    let verdict = match (outcome, last) {
        (Outcome::Clean { is_met }, _) => {
            if is_met {
                site.meter.set_met();
            }
            Verdict::Holds
        }
        (Outcome::Unknown(reason), _) => Verdict::Unknown(reason),
        (Outcome::Violated(_), Err(stop)) => Verdict::Unknown(Reason::Stopped(stop)),
        (Outcome::Violated(run), Ok(last)) => {
            let found = attach(&mut check, last, run).transpose().ok_or(Error::Foreign)?;
            let found = found.map(|violation| (Some(violation), None));
            judge(regions, &mut check, formulas, formula, &options, found)?
        }
    };
    Ok(site.answer(verdict, check.layers(), 0))
}

/// Bytes that become text for a file are there so many times.
const COPIES: usize = 4;

/// The boundaries of a check, and the last one in pieces.
fn frontier<R: Region + Send>(check: &mut Check<R>, pieces: Pieces) -> Result<Frontier, Stop> {
    let automaton = format!("{:?}", check.reader.automaton);
    let (is_met, forget, budget) = (check.meter.is_met(), check.forget, check.crew.budget);
    let region = &mut check.crew.regions[0];
    let mut seal = |boundary: &Boundary, census: Census, copies: usize| {
        // Whoever writes a file of it needs more for a moment.
        let room = budget.room() / copies;
        let (mut out, mut fits) = (Vec::new(), true);
        let mut put = |bytes: &[u8]| {
            fits &= out.len() + bytes.len() <= room;
            if fits {
                out.extend_from_slice(bytes);
            }
        };
        put_bytes(automaton.as_bytes(), &mut put);
        store(boundary, census, is_met, region, forget, &mut put)?;
        if !fits {
            return Err(Stop::Interrupted(Interrupt::Memory));
        }
        out.shrink_to_fit();
        budget.held.fetch_add(copies * out.len(), Ordering::Relaxed);
        budget.settle();
        Ok(out)
    };
    let boundaries = check.boundaries.iter().map(|(boundary, census)| seal(boundary, *census, COPIES));
    let boundaries = boundaries.collect::<Result<_, Stop>>()?;
    let (last, _) = check.boundaries.last().expect("there is a boundary");
    let piece = |states: Range<usize>| {
        let (first, count) = (states.start, states.len());
        let level = last.level.piece(states);
        let pairs = level.entries.len();
        let boundary = Boundary { level, depth: last.depth, before: None };
        Ok(Piece { first, states: count, pairs, bytes: seal(&boundary, Census::default(), 1)? })
    };
    let pieces = ranges(&last.level.ends, pieces).into_iter().map(piece).collect::<Result<_, Stop>>()?;
    Ok(Frontier { boundaries, pieces })
}

/// States that go together: neighbours, since they have the most in common. `ends` says where the
/// pairs of each state end.
fn ranges(ends: &[u32], pieces: Pieces) -> Vec<Range<usize>> {
    let all = ends.last().copied().unwrap_or(0) as usize;
    let count = match pieces {
        Pieces::Count(count) => count.min(ends.len()).max(1),
        Pieces::Pairs(pairs) => all.div_ceil(pairs.max(1)).max(1),
    };
    let mut ranges = Vec::new();
    let mut start = 0;
    for piece in 0..count {
        // Every piece has a state, and leaves one for each piece to come.
        let share = all * (piece + 1) / count;
        let end = ends.partition_point(|&end| end as usize <= share);
        let last = ends.len().saturating_sub(count - piece - 1);
        let end = if piece + 1 == count { ends.len() } else { end.max(start + 1).min(last.max(start)) };
        if start < end {
            ranges.push(start..end);
        }
        start = end.max(start);
    }
    ranges
}

/// Takes boundaries that were stored; gives the last one, if there is room for them.
fn open<R: Region + Send>(
    check: &mut Check<R>,
    stored: &[&[u8]],
) -> Result<Result<Arc<Boundary>, Stop>, Error> {
    let automaton = format!("{:?}", check.reader.automaton);
    let states = check.reader.automaton.edges.len();
    let mut boundaries: Vec<(Arc<Boundary>, Census)> = Vec::new();
    for &(mut bytes) in stored {
        if Cursor(&mut bytes).bytes().as_deref() != Some(automaton.as_bytes()) {
            return Err(Error::Foreign);
        }
        let before = boundaries.last().map(|(boundary, _)| boundary.clone());
        let loaded = load(&mut bytes, &mut check.crew.regions[0], check.forget, before);
        let Stored { boundary, census, is_met } = match loaded {
            Ok(loaded) => loaded.ok_or(Error::Foreign)?,
            Err(stop) => return Ok(Err(stop)),
        };
        if boundary.level.entries.iter().any(|entry| entry.at as usize >= states) {
            return Err(Error::Foreign);
        }
        boundaries.push((boundary, census));
        if is_met {
            check.meter.set_met();
        }
    }
    let last = boundaries.last().map(|(boundary, _)| boundary.clone()).ok_or(Error::Foreign)?;
    check.resume(boundaries, None);
    Ok(Ok(last))
}

/// What a search came to, for others.
fn detach<'a, G: Regions>(
    regions: &'a G,
    check: &mut Check<'a, G::Region<'a>>,
    options: &Options,
    found: Found,
) -> Result<Outcome, Stop> {
    let Violation { task, suffix } = match found? {
        (Some(violation), _) => violation,
        (None, Some(Halted::Component)) => return Ok(Outcome::Unknown(Reason::Component)),
        (None, Some(Halted::Stop(stop))) => return Err(stop),
        (None, None) => return Ok(Outcome::Clean { is_met: check.meter.is_met() }),
    };
    let (place, state) = (task.top() as usize, task.state());
    let (way, at) = tracer(regions, check, options).way_to(task.boundary, state, suffix.at)?;
    let back = suffix.back.map(|back| way.len() + back);
    let region = &mut check.crew.regions[0];
    let mut seeds = way.iter().map(|&(state, _)| region.seed(state)).collect::<Result<Vec<Seed>, Stop>>()?;
    seeds.extend(suffix.seeds);
    let rules = way.iter().map(|&(_, rule)| rule).chain(suffix.rules);
    let rules = rules.map(|rule| rule.map(|rule| rule.0)).collect();
    let bytes = |&seed: &Seed| {
        let mut bytes = Vec::new();
        region.write(seed, &mut bytes).map(|()| bytes)
    };
    let states = seeds.iter().map(bytes).collect::<Result<_, Stop>>()?;
    Ok(Outcome::Violated(Detached { place, at, states, rules, back }))
}

/// A run that was found elsewhere, if it starts from a pair of the boundary.
fn attach<R: Region>(
    check: &mut Check<R>,
    last: Arc<Boundary>,
    run: Detached,
) -> Result<Option<Violation>, Stop> {
    let Detached { place, at, states, rules, back } = run;
    let region = &mut check.crew.regions[0];
    let seeds: Vec<Seed> = match states.iter().map(|bytes| region.read(bytes)).collect() {
        Ok(seeds) => seeds,
        Err(Stop::Failed(_)) => return Ok(None),
        Err(stop) => return Err(stop),
    };
    let starts = place < last.level.len()
        && seeds.first() == Some(&last.level.seeds[place])
        && last.level.entries(place).iter().any(|entry| entry.at == at);
    let fits = starts && rules.len() == seeds.len() && back.is_none_or(|back| back < seeds.len());
    let violation = |place: u32| {
        let task = Task { path: vec![place], boundary: last };
        let rules = rules.into_iter().map(|rule| rule.map(RuleId)).collect();
        Violation { task, suffix: Suffix { at, seeds, rules, back } }
    };
    Ok(u32::try_from(place).ok().filter(|_| fits).map(violation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_everything_once() {
        let pairs: [&[u32]; 5] =
            [&[1], &[1, 1, 1, 1, 1, 1, 1], &[9, 1, 1], &[1, 1, 9], &[2, 3, 1, 4, 1, 1, 2]];
        for sizes in pairs {
            let mut sum = 0;
            let ends: Vec<u32> = sizes.iter().map(|size| (sum += size, sum).1).collect();
            for count in 1..10 {
                let found = ranges(&ends, Pieces::Count(count));
                assert_eq!(found.len(), count.min(sizes.len()), "{sizes:?} in {count}");
                let states: Vec<usize> = found.into_iter().flatten().collect();
                assert_eq!(states, (0..sizes.len()).collect::<Vec<usize>>());
                let found = ranges(&ends, Pieces::Pairs(count));
                let states: Vec<usize> = found.into_iter().flatten().collect();
                assert_eq!(states, (0..sizes.len()).collect::<Vec<usize>>());
            }
        }
        assert_eq!(ranges(&[1, 2, 3, 4], Pieces::Pairs(2)), [0..2, 2..4]);
        assert!(ranges(&[], Pieces::Count(3)).is_empty());
    }
}
