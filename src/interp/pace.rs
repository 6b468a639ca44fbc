//! Lines about long work: now and then, not each time something is to be said.

use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(250);

/// When something was last said, and when the work began.
pub(super) struct Pace {
    start: Instant,
    last: Instant,
}

impl Pace {
    pub fn new() -> Pace {
        let start = Instant::now();
        Pace { start, last: start }
    }

    /// How long the work has taken, if it is time to say so.
    pub fn beat(&mut self) -> Option<Duration> {
        let now = Instant::now();
        if now.duration_since(self.last) <= INTERVAL {
            return None;
        }
        self.last = now;
        Some(now.duration_since(self.start))
    }
}
