//! Systems whose states need not all be kept: a thread explores a part of the states in a
//! [`Region`], forgets it, and starts anew elsewhere. What goes from one region to another is a
//! [`Seed`].

use super::system::{Explicit, RuleId, State, Stop, Worker};
use rustc_hash::FxHashMap;

/// A state apart from any region. As long as the regions live, equal states have equal seeds and
/// different ones different seeds. Which number a seed is may depend on which thread met the state
/// first.
pub type Seed = u64;

/// A system that is explored in regions.
pub trait Regions: Sync {
    type Region<'a>: Region + Send
    where
        Self: 'a;

    /// An empty region, for one thread.
    fn region(&self) -> Self::Region<'_>;

    /// Bytes that all regions share, which clearing them does not give back.
    fn bytes(&self) -> usize;
}

/// One thread's states since it was last cleared, numbered from 0.
pub trait Region: Worker {
    /// Forgets all states.
    fn clear(&mut self);

    /// The number of a state here.
    fn enter(&mut self, seed: Seed) -> Result<State, Stop>;

    /// A state of this region as a seed.
    fn seed(&mut self, state: State) -> Result<Seed, Stop>;

    /// Bytes that clearing gives back.
    fn own_bytes(&self) -> usize;

    /// Appends bytes that mean the same state to every process that has the same system.
    fn write(&mut self, seed: Seed, out: &mut Vec<u8>) -> Result<(), Stop>;

    /// The seed that was written so.
    fn read(&mut self, bytes: &[u8]) -> Result<Seed, Stop>;
}

impl<W: Worker + ?Sized> Worker for &mut W {
    fn initial(&mut self) -> Result<State, Stop> {
        (**self).initial()
    }

    fn successors(&mut self, state: State, out: &mut Vec<(RuleId, State)>) -> Result<(), Stop> {
        (**self).successors(state, out)
    }

    fn props(&mut self, state: State) -> Result<u64, Stop> {
        (**self).props(state)
    }

    fn bytes(&self) -> usize {
        (**self).bytes()
    }
}

impl<R: Region + ?Sized> Region for &mut R {
    fn clear(&mut self) {
        (**self).clear();
    }

    fn enter(&mut self, seed: Seed) -> Result<State, Stop> {
        (**self).enter(seed)
    }

    fn seed(&mut self, state: State) -> Result<Seed, Stop> {
        (**self).seed(state)
    }

    fn own_bytes(&self) -> usize {
        (**self).own_bytes()
    }

    fn write(&mut self, seed: Seed, out: &mut Vec<u8>) -> Result<(), Stop> {
        (**self).write(seed, out)
    }

    fn read(&mut self, bytes: &[u8]) -> Result<Seed, Stop> {
        (**self).read(bytes)
    }
}

impl Regions for Explicit {
    type Region<'a> = ExplicitRegion<'a>;

    fn region(&self) -> ExplicitRegion<'_> {
        ExplicitRegion { system: self, states: Vec::new(), numbers: FxHashMap::default() }
    }

    fn bytes(&self) -> usize {
        0
    }
}

/// Some states of a system written down by hand, with numbers of their own.
#[derive(Debug)]
pub struct ExplicitRegion<'a> {
    system: &'a Explicit,
    states: Vec<State>,
    numbers: FxHashMap<State, State>,
}

impl ExplicitRegion<'_> {
    fn number(&mut self, state: State) -> State {
        *self.numbers.entry(state).or_insert_with(|| {
            self.states.push(state);
            self.states.len() as State - 1
        })
    }
}

impl Worker for ExplicitRegion<'_> {
    fn initial(&mut self) -> Result<State, Stop> {
        Ok(self.number(self.system.initial))
    }

    fn successors(&mut self, state: State, out: &mut Vec<(RuleId, State)>) -> Result<(), Stop> {
        let system = self.system;
        let edges = &system.edges[self.states[state as usize] as usize];
        out.extend(edges.iter().map(|&(rule, to)| (rule, self.number(to))));
        Ok(())
    }

    fn props(&mut self, state: State) -> Result<u64, Stop> {
        Ok(self.system.props[self.states[state as usize] as usize])
    }
}

impl Region for ExplicitRegion<'_> {
    fn clear(&mut self) {
        self.states.clear();
        self.numbers.clear();
    }

    fn enter(&mut self, seed: Seed) -> Result<State, Stop> {
        Ok(self.number(seed as State))
    }

    fn seed(&mut self, state: State) -> Result<Seed, Stop> {
        Ok(Seed::from(self.states[state as usize]))
    }

    fn own_bytes(&self) -> usize {
        16 * self.states.len()
    }

    fn write(&mut self, seed: Seed, out: &mut Vec<u8>) -> Result<(), Stop> {
        out.extend_from_slice(&(seed as State).to_le_bytes());
        Ok(())
    }

    fn read(&mut self, bytes: &[u8]) -> Result<Seed, Stop> {
        let known = |state: &State| (*state as usize) < self.system.edges.len();
        let state = bytes.try_into().ok().map(State::from_le_bytes).filter(known);
        state.map(Seed::from).ok_or_else(|| Stop::Failed("not a state of this system".to_owned()))
    }
}
