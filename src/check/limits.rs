//! When a check gives up.

use crate::base::{Cancel, Interrupt};
use crate::graph::Stop;
use std::time::Instant;

/// The most by which a table is enlarged at once, in entries.
const STEP: usize = 1 << 18;

/// How long a table of so many entries should be next, if all of the new ones are written to at once: longer
/// by half, but not by much memory that nobody has been asked for. (Moving a large table takes no time, and
/// what it has in reserve, untouched, no memory.)
pub fn enlarged(len: usize) -> usize {
    len + (len / 2).min(STEP)
}

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

/// Bytes of a hash table with so many entries of a type, of which it has room for `capacity`. Where it is
/// nearly full, with those of the one that will take its place, since both are there for a moment.
pub fn map_bytes<T>(len: usize, capacity: usize) -> usize {
    let times = if len > capacity / 16 * 15 { 3 } else { 1 };
    // An eighth of the places stays free, and each has a byte that tells.
    times * capacity / 7 * 8 * (size_of::<T>() + 1)
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
