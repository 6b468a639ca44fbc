//! How far a check is, for those who watch.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    /// Pairs that another sub-state space had verified.
    pub hits: u64,
}

/// Is told about progress; often, so it should be quick.
pub type Watcher<'a> = &'a (dyn Fn(&Progress) + Sync);

/// Counters that all threads use.
pub struct Meter<'a> {
    watcher: Option<Watcher<'a>>,
    place: Mutex<(usize, u32, usize)>,
    done: AtomicUsize,
    states: AtomicUsize,
    hits: AtomicUsize,
}

impl<'a> Meter<'a> {
    pub fn new(watcher: Option<Watcher<'a>>) -> Self {
        let zero = || AtomicUsize::new(0);
        Meter { watcher, place: Mutex::default(), done: zero(), states: zero(), hits: zero() }
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

    /// So many states more were expanded, and so many pairs more were known.
    pub fn add(&self, states: usize, hits: usize) {
        self.states.fetch_add(states, Ordering::Relaxed);
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
            hits: self.hits.load(Ordering::Relaxed) as u64,
        }
    }

    fn tell(&self) {
        if let Some(watcher) = self.watcher {
            watcher(&self.progress());
        }
    }
}
