//! The sub-state spaces of the final layer that are to be searched: one for each state of the last
//! boundary, and those into which too large ones are split.
//!
//! They are handed out in order of their places, and the children of a split come before what
//! follows it. If a violation is found, everything at earlier places is still searched, so that the
//! violation with the least place in the boundary is reported whatever the threads did.

use super::boundary::Boundary;
use super::part::{Interest, Suffix};
use crate::graph::Stop;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A sub-state space.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its place in the last boundary, then among the children of each split.
    pub path: Vec<u32>,
    /// The state is at the last position of the path in this boundary.
    pub boundary: Arc<Boundary>,
}

impl Task {
    /// Its place in the last boundary.
    pub fn top(&self) -> u32 {
        self.path[0]
    }

    /// The last boundary.
    pub fn last_boundary(&self) -> Arc<Boundary> {
        let mut boundary = &self.boundary;
        for _ in 1..self.path.len() {
            boundary = boundary.before.as_ref().expect("a split has a boundary before it");
        }
        boundary.clone()
    }

    /// Its place in its own boundary.
    pub fn state(&self) -> usize {
        *self.path.last().expect("a path has a place") as usize
    }
}

/// A violation and where it was found.
#[derive(Clone, Debug)]
pub struct Violation {
    pub task: Task,
    pub suffix: Suffix,
}

/// See the head of this file.
pub struct Queue {
    boundary: Arc<Boundary>,
    inner: Mutex<Inner>,
    changed: Condvar,
    /// The least place with a violation.
    violated: AtomicU32,
    /// Somebody ran out of memory: everything is to be forgotten.
    is_forgetting: AtomicBool,
}

struct Inner {
    /// The next place of the boundary to hand out.
    next: u32,
    /// Places of the boundary that are done.
    done: Vec<bool>,
    /// Children of splits.
    split: BTreeMap<Vec<u32>, Arc<Boundary>>,
    /// For each place that was split, how many of its tasks are not done.
    open: FxHashMap<u32, usize>,
    running: usize,
    violation: Option<Violation>,
    stop: Option<Halted>,
    /// Tasks that were finished since everything was forgotten.
    finished: usize,
    /// Only one task may run, since several did not fit.
    is_alone: bool,
}

/// Why the search ended without an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Halted {
    Stop(Stop),
    /// Splitting does not make the sub-state space of this many bytes smaller.
    Component,
}

const NONE: u32 = u32::MAX;

impl Queue {
    /// With the places that are done already.
    pub fn new(boundary: Arc<Boundary>, done: Vec<bool>) -> Self {
        let inner = Inner {
            next: 0,
            done,
            split: BTreeMap::new(),
            open: FxHashMap::default(),
            running: 0,
            violation: None,
            stop: None,
            finished: 0,
            is_alone: false,
        };
        Queue {
            boundary,
            inner: Mutex::new(inner),
            changed: Condvar::new(),
            violated: AtomicU32::new(NONE),
            is_forgetting: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next task; waits while others may still split theirs. None when all is done. If everything
    /// is to be forgotten, this is done when nothing runs.
    pub fn take(&self, forget: &dyn Fn()) -> Option<Task> {
        let mut inner = self.lock();
        loop {
            if inner.stop.is_some() {
                return None;
            }
            let is_forgetting = self.is_forgetting.load(Ordering::Relaxed);
            if is_forgetting && inner.running == 0 {
                forget();
                self.is_forgetting.store(false, Ordering::Relaxed);
                inner.is_alone = inner.finished == 0;
                inner.finished = 0;
                self.changed.notify_all();
            }
            if inner.running > 0 && (is_forgetting || inner.is_alone) {
                inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let limit = self.violated.load(Ordering::Relaxed);
            while inner.done.get(inner.next as usize) == Some(&true) {
                inner.next += 1;
            }
            let task = match inner.split.pop_first() {
                Some((path, boundary)) => Some(Task { path, boundary }),
                None if (inner.next as usize) < inner.done.len() => {
                    inner.next += 1;
                    Some(Task { path: vec![inner.next - 1], boundary: self.boundary.clone() })
                }
                None => None,
            };
            match task {
                Some(task) if task.top() < limit => {
                    inner.running += 1;
                    return Some(task);
                }
                // Later places do not matter any more.
                Some(_) => inner.next = inner.done.len() as u32,
                None if inner.running == 0 => return None,
                None => inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Whether a task is still to be searched.
    pub fn interest(&self, task: &Task) -> Interest {
        if task.top() > self.violated.load(Ordering::Relaxed) {
            Interest::Moot
        } else if self.is_forgetting.load(Ordering::Relaxed) {
            Interest::GiveUp
        } else {
            Interest::Search
        }
    }

    /// A task ran out of memory, and will be searched again when everything is forgotten. False if it
    /// was the only one, even then; it still runs.
    pub fn give_back(&self, task: &Task) -> bool {
        let mut inner = self.lock();
        if inner.is_alone {
            return false;
        }
        inner.running -= 1;
        inner.split.insert(task.path.clone(), task.boundary.clone());
        self.is_forgetting.store(true, Ordering::Relaxed);
        self.changed.notify_all();
        true
    }

    /// A task was searched, or split into these children. Says whether its place is done.
    pub fn finish(&self, task: &Task, children: Option<Arc<Boundary>>) -> bool {
        let mut inner = self.lock();
        inner.running -= 1;
        inner.finished += 1;
        inner.is_alone = false;
        let count = children.as_ref().map_or(0, |boundary| boundary.level.len());
        let open = inner.open.get(&task.top()).copied().unwrap_or(1) + count - 1;
        inner.open.insert(task.top(), open);
        if let Some(boundary) = children {
            for state in 0..count as u32 {
                let path = task.path.iter().copied().chain([state]).collect();
                inner.split.insert(path, boundary.clone());
            }
        }
        if open == 0 {
            inner.open.remove(&task.top());
            inner.done[task.top() as usize] = true;
        }
        self.changed.notify_all();
        open == 0
    }

    /// A task contains a violation.
    pub fn violate(&self, violation: Violation) {
        let mut inner = self.lock();
        inner.running -= 1;
        let path = &violation.task.path;
        if inner.violation.as_ref().is_none_or(|known| *path < known.task.path) {
            self.violated.fetch_min(violation.task.top(), Ordering::Relaxed);
            inner.violation = Some(violation);
        }
        self.changed.notify_all();
    }

    /// A task was given up because it is moot.
    pub fn drop_moot(&self) {
        self.lock().running -= 1;
        self.changed.notify_all();
    }

    /// A task cannot be searched, so everything ends.
    pub fn stop(&self, halted: Halted) {
        self.lock().running -= 1;
        self.halt(halted);
    }

    /// Everything is to end.
    pub fn halt(&self, halted: Halted) {
        self.lock().stop.get_or_insert(halted);
        self.changed.notify_all();
    }

    /// The places that are done.
    pub fn done(&self) -> Vec<bool> {
        self.lock().done.clone()
    }

    /// How it ended.
    pub fn into_result(self) -> (Option<Violation>, Option<Halted>) {
        let inner = self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        (inner.violation, inner.stop)
    }
}
