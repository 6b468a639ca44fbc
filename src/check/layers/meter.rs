//! How far a check is, for those who watch.

use crate::check::classify::Predicate;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A look at a running check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// The layer that is being worked on, from 1.
    pub layer: usize,
    /// Steps from the initial state to where the layer begins.
    pub depth: u32,
    /// Sub-state spaces of the layer that are done, and how many there are.
    pub done: usize,
    pub spaces: usize,
    /// States expanded so far, in all layers.
    pub states: u64,
    /// Transitions that were found when these were expanded.
    pub transitions: u64,
    /// Pairs that another sub-state space had verified.
    pub hits: u64,
}

/// Is told about progress; often, so it should be quick.
pub type Watcher<'a> = &'a (dyn Fn(&Progress) + Sync);

/// Counters that all threads use.
pub struct Meter<'a> {
    watcher: Option<Watcher<'a>>,
    /// What must be true somewhere, or the formula holds for want of it.
    premise: Option<Predicate>,
    is_met: AtomicBool,
    place: Mutex<(usize, u32, usize)>,
    done: AtomicUsize,
    states: AtomicUsize,
    transitions: AtomicUsize,
    hits: AtomicUsize,
}

impl<'a> Meter<'a> {
    pub fn new(watcher: Option<Watcher<'a>>, premise: Option<Predicate>) -> Self {
        let zero = || AtomicUsize::new(0);
        let is_met = AtomicBool::new(premise.is_none());
        Meter {
            watcher,
            premise,
            is_met,
            place: Mutex::default(),
            done: zero(),
            states: zero(),
            transitions: zero(),
            hits: zero(),
        }
    }

    /// There is a state with these propositions.
    #[inline]
    pub fn meet(&self, props: u64) {
        if !self.is_met() && self.premise.as_ref().is_some_and(|premise| premise.holds(props)) {
            self.set_met();
        }
    }

    /// The premise is known to be true somewhere.
    pub fn set_met(&self) {
        self.is_met.store(true, Ordering::Relaxed);
    }

    /// Whether the premise was true somewhere, or there is none.
    #[inline]
    pub fn is_met(&self) -> bool {
        self.is_met.load(Ordering::Relaxed)
    }

    /// A layer begins, with so many sub-state spaces, some of which may be done.
    pub fn begin(&self, layer: usize, depth: u32, spaces: usize, done: usize) {
        if let Ok(mut place) = self.place.lock() {
            *place = (layer, depth, spaces);
        }
        self.done.store(done, Ordering::Relaxed);
        self.tell();
    }

    /// So many sub-state spaces more are done.
    pub fn finish(&self, spaces: usize) {
        self.done.fetch_add(spaces, Ordering::Relaxed);
        self.tell();
    }

    /// So many states more were expanded, with so many transitions, and so many pairs more were known.
    pub fn add(&self, states: usize, transitions: usize, hits: usize) {
        self.states.fetch_add(states, Ordering::Relaxed);
        self.transitions.fetch_add(transitions, Ordering::Relaxed);
        self.hits.fetch_add(hits, Ordering::Relaxed);
        self.tell();
    }

    /// How it stands.
    pub fn progress(&self) -> Progress {
        let (layer, depth, spaces) = self.place.lock().map_or((0, 0, 0), |place| *place);
        Progress {
            layer,
            depth,
            done: self.done.load(Ordering::Relaxed).min(spaces),
            spaces,
            states: self.states.load(Ordering::Relaxed) as u64,
            transitions: self.transitions.load(Ordering::Relaxed) as u64,
            hits: self.hits.load(Ordering::Relaxed) as u64,
        }
    }

    fn tell(&self) {
        if let Some(watcher) = self.watcher {
            watcher(&self.progress());
        }
    }
}
