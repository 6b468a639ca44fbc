//! Who goes through a large component, where several threads are in it.
//!
//! What another thread is still searching must not be skipped, so each of them would go through all of it.
//! Therefore one of the threads that have verified hardly anything for long has the turn. The others ask it
//! about pairs they come to; if such a pair is open there, too, all that follows it will be verified, and who asked
//! waits until the turn ends. Who has the turn does not wait, so somebody always goes on. To wait changes
//! no search but only when it goes on.

use crate::graph::Sprout;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// See the head of this file.
#[derive(Default)]
pub struct Turn {
    inner: Mutex<Inner>,
    ended: Condvar,
}

#[derive(Default)]
struct Inner {
    /// Which thread has it.
    owner: Option<usize>,
    /// The last questions of others, and who was told to wait.
    asked: Vec<(usize, Sprout, u32)>,
    waiting: Vec<usize>,
}

/// Somebody who waits looks around so often.
const PAUSE: Duration = Duration::from_millis(20);

impl Turn {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread that verifies hardly anything is at this pair. It gets the turn if nobody has it; if it has
    /// it, it answers others by the pairs it has open. Says whether it is to wait.
    pub fn ask(
        &self,
        thread: usize,
        (state, at): (Sprout, u32),
        is_open: impl Fn(Sprout, u32) -> bool,
    ) -> bool {
        let mut inner = self.lock();
        let Inner { owner, asked, waiting } = &mut *inner;
        if *owner.get_or_insert(thread) == thread {
            let common = asked.drain(..).filter(|&(_, state, at)| is_open(state, at));
            waiting.extend(common.map(|(other, ..)| other));
            return false;
        }
        let is_to_wait = waiting.contains(&thread);
        if !is_to_wait {
            asked.retain(|&(other, ..)| other != thread);
            asked.push((thread, state, at));
        }
        is_to_wait
    }

    /// Waits for some time. Says whether it is to go on waiting.
    pub fn wait(&self, thread: usize) -> bool {
        let inner = self.lock();
        if !inner.waiting.contains(&thread) {
            return false;
        }
        let (inner, _) = self.ended.wait_timeout(inner, PAUSE).unwrap_or_else(PoisonError::into_inner);
        inner.waiting.contains(&thread)
    }

    /// A thread has verified what it had open, or given it up.
    pub fn end(&self, thread: usize) {
        let mut inner = self.lock();
        if inner.owner == Some(thread) {
            *inner = Inner::default();
            self.ended.notify_all();
        } else {
            inner.asked.retain(|&(other, ..)| other != thread);
            inner.waiting.retain(|&other| other != thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_in_the_same_component_waits() {
        let turn = Turn::default();
        let none = |_, _| false;
        assert!(!turn.ask(0, (Sprout(1), 0), none), "it is free");
        for thread in [1, 2, 1] {
            assert!(!turn.ask(thread, (Sprout(thread as u64), 0), none), "nobody has answered");
        }
        assert!(!turn.ask(0, (Sprout(3), 0), |state, _| state == Sprout(1)), "who has it never waits");
        assert!(turn.ask(1, (Sprout(4), 0), none) && turn.wait(1));
        assert!(!turn.ask(2, (Sprout(4), 0), none) && !turn.wait(2));
        turn.end(0);
        assert!(!turn.wait(1) && !turn.ask(1, (Sprout(4), 0), none), "it is free again");
        assert!(!turn.ask(0, (Sprout(4), 0), none));
        assert!(!turn.ask(1, (Sprout(4), 0), |_, _| true));
        assert!(turn.ask(0, (Sprout(4), 0), none));
    }
}
