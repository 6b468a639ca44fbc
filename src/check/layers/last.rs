//! The final layer: from every state of the last boundary on, without a bound on depth.
//!
//! A sub-state space that does not fit is split: by the same argument that separates layers, it
//! violates the formula exactly if one of the pairs some steps later does. If splitting again and
//! again, ever deeper, does not help, there is a strongly connected component that is too large.
//!
//! If the memory is full of what earlier sub-state spaces have left, all of it is forgotten, verified
//! pairs included, and the present ones are searched again, the first of them alone if need be.

use super::boundary::{Boundary, Level};
use super::crew::Crew;
use super::part::{Outcome, Part, Shared, Suffix};
use super::post::post;
use super::queue::{Halted, Queue, Task, Violation};
use crate::base::{Interrupt, by_own_threads};
use crate::graph::{Region, Stop};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How the final layer ended.
pub struct Last {
    pub violation: Option<Violation>,
    pub halted: Option<Halted>,
    /// How many sub-state spaces were split.
    pub splits: usize,
    /// The places that are done.
    pub done: Vec<bool>,
}

/// Splits of splits; each goes four times as deep as the one before.
const NESTING_MAX: usize = 6;
/// Children that a split should have, and steps it takes at most to get them.
const CHILDREN: usize = 16;
const CHILDREN_MAX: usize = 1 << 12;
const STEPS_MAX: u32 = 32;

/// Searches the sub-state space of each state of the boundary that is not done. `saved` is called
/// after each that ends.
pub fn search<R: Region + Send>(
    crew: &mut Crew<R>,
    forget: &(dyn Fn() + Sync),
    shared: Shared,
    boundary: Arc<Boundary>,
    done: Vec<bool>,
    saved: &(dyn Fn(&Queue) -> Result<(), Stop> + Sync),
) -> Last {
    let queue = Queue::new(boundary, done);
    let splits = AtomicUsize::new(0);
    let forget = || {
        shared.cache.clear();
        shared.budget.settle();
        forget();
    };
    let work = |thread: usize, region: &mut R| {
        let _alarm = Alarm(&queue);
        let mut part = Part::new(region, shared, thread);
        while let Some(task) = queue.take(&forget) {
            let level = &task.boundary.level;
            let ats: Vec<u32> = level.entries(task.state()).iter().map(|entry| entry.at).collect();
            let mut outcome = part.search(level.seeds[task.state()], &ats, &|| queue.interest(&task));
            if outcome == Outcome::Exhausted && !queue.give_back(&task) {
                // Nothing else runs.
                forget();
                outcome = Outcome::Overflow;
            }
            match outcome {
                Outcome::Clean => end(&queue, shared, &task, None, saved),
                Outcome::Violated(suffix) => queue.violate(Violation { task, suffix }),
                Outcome::Moot => queue.drop_moot(),
                Outcome::Exhausted => {}
                Outcome::Stopped(stop) => queue.stop(Halted::Stop(stop)),
                Outcome::Overflow => match split(part.region(), shared, &task) {
                    Ok(Split::Children(children)) => {
                        splits.fetch_add(1, Ordering::Relaxed);
                        end(&queue, shared, &task, Some(children), saved);
                    }
                    Ok(Split::Violated(violation)) => queue.violate(violation),
                    Err(Halted::Stop(Stop::Interrupted(Interrupt::Memory))) if queue.give_back(&task) => {}
                    Err(halted) => queue.stop(halted),
                },
            }
        }
    };
    match crew.pool {
        Some(pool) => _ = by_own_threads(pool, &mut crew.regions, work),
        None => work(0, &mut crew.regions[0]),
    }
    let done = queue.done();
    let (violation, halted) = queue.into_result();
    Last { violation, halted, splits: splits.into_inner(), done }
}

/// Nobody waits for a thread that panics.
struct Alarm<'q>(&'q Queue);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.halt(Halted::Stop(Stop::Failed("a thread panicked".to_owned())));
        }
    }
}

fn end(
    queue: &Queue,
    shared: Shared,
    task: &Task,
    children: Option<Arc<Boundary>>,
    saved: &(dyn Fn(&Queue) -> Result<(), Stop> + Sync),
) {
    if queue.finish(task, children) {
        shared.meter.finish(1);
        if let Err(stop) = saved(queue) {
            queue.halt(Halted::Stop(stop));
        }
    }
}

enum Split {
    Children(Arc<Boundary>),
    Violated(Violation),
}

/// The pairs some steps later.
fn split<R: Region + Send>(region: &mut R, shared: Shared, task: &Task) -> Result<Split, Halted> {
    let nesting = task.path.len() - 1;
    if nesting >= NESTING_MAX {
        return Err(Halted::Component);
    }
    let steps_min = 1 << (2 * nesting);
    let steps_max = STEPS_MAX.max(2 * steps_min);
    let mut crew =
        Crew { regions: vec![&mut *region], pool: None, budget: shared.budget, limits: shared.limits };
    let level = task.boundary.level.restarted(Some(task.state()));
    let mut level = level.map(|seed| crew.regions[0].plant(seed)).map_err(Halted::Stop)?;
    let mut depth = task.boundary.depth;
    let boundary =
        |level: Level, depth: u32| Arc::new(Boundary { level, depth, before: Some(task.boundary.clone()) });
    for steps in 1..=steps_max {
        let next = post(&level, &mut crew, shared.reader, shared.meter, true, None).map_err(Halted::Stop)?;
        (level, depth) = (next.level, depth + 1);
        if let Some((state, entry)) = next.end {
            let seed = crew.regions[0].seed(state).map_err(Halted::Stop)?;
            let single = Level { seeds: vec![seed], ends: vec![1], entries: vec![entry] };
            let path = task.path.iter().copied().chain([0]).collect();
            let task = Task { path, boundary: boundary(single, depth) };
            let suffix = Suffix::end(seed, entry.at);
            return Ok(Split::Violated(Violation { task, suffix }));
        }
        let enough = steps >= steps_min && level.len() >= CHILDREN;
        if enough || level.is_empty() || level.len() >= CHILDREN_MAX {
            break;
        }
    }
    let level = level.map(|state| crew.regions[0].seed(state)).map_err(Halted::Stop)?;
    Ok(Split::Children(boundary(level, depth)))
}
