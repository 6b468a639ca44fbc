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

    /// A view for someone who looks at what is known already. What that takes is not counted.
    fn witness(&self) -> Self::Worker<'_> {
        self.worker()
    }
}

/// One thread's view of a system.
pub trait Worker {
    /// Where runs start.
    fn initial(&mut self) -> Result<State, Stop>;

    /// Adds the transitions from a state to `out`, always in the same order. A deadlock has none.
    /// If it has to stop, those found by then may be there.
    fn successors(&mut self, state: State, out: &mut Vec<(RuleId, State)>) -> Result<(), Stop>;

    /// Bit i says whether proposition i holds.
    fn props(&mut self, state: State) -> Result<u64, Stop>;

    /// The propositions of a state, unless they are known; if they pass the test, its transitions are
    /// added to `out` as well. Returns the propositions and whether they passed.
    fn look(
        &mut self,
        state: State,
        known: Option<u64>,
        test: &dyn Fn(u64) -> bool,
        out: &mut Vec<(RuleId, State)>,
    ) -> Result<(u64, bool), Stop> {
        let props = known.map_or_else(|| self.props(state), Ok)?;
        let is_needed = test(props);
        if is_needed {
            self.successors(state, out)?;
        }
        Ok((props, is_needed))
    }

    /// The rule of the first transition from one state to the other, among all or among those by one
    /// rule; [`RuleId::DEADLOCK`] if there are no transitions at all and the states are equal.
    /// Transitions after that one need not be computed.
    fn step_between(&mut self, from: State, rule: Option<RuleId>, to: State) -> Result<Option<RuleId>, Stop> {
        let mut out = Vec::new();
        let done = self.successors(from, &mut out);
        let is_it = |&&(own, state): &&(RuleId, State)| state == to && rule.is_none_or(|rule| rule == own);
        match out.iter().find(is_it) {
            Some(&(rule, _)) => Ok(Some(rule)),
            None => done.map(|()| if out.is_empty() { deadlock(from, rule, to) } else { None }),
        }
    }

    /// From now on only these propositions are asked for, by all workers; others may be said to be false.
    fn ask(&self, _props: u64) {}

    /// Propositions that take so little that they are asked for before somebody needs them, and that end.
    fn light(&self) -> u64 {
        u64::MAX
    }

    /// Bytes that the whole system takes, all threads together.
    fn bytes(&self) -> usize {
        0
    }

    /// From now on the whole system may take at most so many; what it has it keeps.
    fn confine(&self, _bytes_max: usize) {}
}

/// The step of a state without transitions, if it is the one that is asked for.
pub(super) fn deadlock(from: State, rule: Option<RuleId>, to: State) -> Option<RuleId> {
    let is_asked = from == to && rule.is_none_or(|rule| rule == RuleId::DEADLOCK);
    is_asked.then_some(RuleId::DEADLOCK)
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
