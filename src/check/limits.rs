//! When a check gives up.

use crate::base::{Cancel, Interrupt};
use crate::graph::Stop;
use std::time::Instant;

/// What a check may use. The default is no limit.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Raised from outside to stop.
    pub cancel: Cancel,
    pub deadline: Option<Instant>,
    /// States that are explored for one formula before the answer is unknown; where there is an
    /// automaton, pairs with its states.
    pub states_max: Option<u64>,
    /// Bytes that the checker's tables and the system may take together.
    pub memory_max: Option<u64>,
}

impl Limits {
    /// Whether to go on.
    pub fn check(&self) -> Result<(), Stop> {
        if self.cancel.is_raised() {
            return Err(Stop::Interrupted(Interrupt::Cancelled));
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Stop::Interrupted(Interrupt::Time));
        }
        Ok(())
    }

    /// Whether tables of so many bytes are allowed.
    pub fn check_memory(&self, bytes: usize) -> Result<(), Stop> {
        match self.memory_max {
            Some(limit) if bytes as u64 > limit => Err(Stop::Interrupted(Interrupt::Memory)),
            _ => Ok(()),
        }
    }

    /// Whether so many states are allowed.
    pub fn check_states(&self, count: usize) -> Result<(), Stop> {
        match self.states_max {
            Some(limit) if count as u64 > limit => Err(Stop::States(limit)),
            _ => Ok(()),
        }
    }
}
