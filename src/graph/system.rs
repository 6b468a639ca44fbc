//! A transition system as checkers see it: numbers for states, rules and propositions, no terms.
//!
//! A [`System`] is shared by all threads; each has a [`Worker`] with its own scratch memory. State
//! numbers may depend on which thread met a state first; the *order* of a state's successors may
//! not, and checkers derive all their results from it.

use crate::base::Interrupt;
use crate::index_type;

/// The number of a state. Numbers should be dense: checkers keep tables over them.
pub type State = u32;

index_type! {
    /// A rule, or whatever labels a transition.
    RuleId
}

impl RuleId {
    /// The step of a state that has no successors: it stays where it is.
    pub const DEADLOCK: RuleId = RuleId(u32::MAX);
    /// No step: the end of a path that need not go on.
    pub const END: RuleId = RuleId(u32::MAX - 1);
}

/// Why work ended before its answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// Cancelled, or out of time or memory.
    Interrupted(Interrupt),
    /// More states than the caller allowed.
    States(u64),
    /// A successor or proposition could not be computed; the text says why.
    Failed(String),
}

/// A transition system.
pub trait System: Sync {
    type Worker<'a>: Worker + Send
    where
        Self: 'a;

    /// A view for one thread.
    fn worker(&self) -> Self::Worker<'_>;
}

/// One thread's view of a system.
pub trait Worker {
    /// Where runs start.
    fn initial(&mut self) -> Result<State, Stop>;

    /// Puts the transitions from a state into `out`, which is empty, always in the same order.
    /// A deadlock has none.
    fn successors(&mut self, state: State, out: &mut Vec<(RuleId, State)>) -> Result<(), Stop>;

    /// Bit i says whether proposition i holds.
    fn props(&mut self, state: State) -> Result<u64, Stop>;

    /// Bytes that the whole system takes, all threads together.
    fn bytes(&self) -> usize {
        0
    }
}

/// A system written down by hand.
#[derive(Clone, Debug, Default)]
pub struct Explicit {
    pub initial: State,
    /// Transitions by state.
    pub edges: Vec<Vec<(RuleId, State)>>,
    /// Propositions by state.
    pub props: Vec<u64>,
}

impl System for Explicit {
    type Worker<'a> = &'a Explicit;

    fn worker(&self) -> &Explicit {
        self
    }
}

impl Worker for &Explicit {
    fn initial(&mut self) -> Result<State, Stop> {
        Ok(self.initial)
    }

    fn successors(&mut self, state: State, out: &mut Vec<(RuleId, State)>) -> Result<(), Stop> {
        out.extend_from_slice(&self.edges[state as usize]);
        Ok(())
    }

    fn props(&mut self, state: State) -> Result<u64, Stop> {
        Ok(self.props[state as usize])
    }
}
