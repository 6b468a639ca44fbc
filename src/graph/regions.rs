//! Systems whose states need not all be kept: threads explore a part of them in [`Region`]s, then all
//! of it is forgotten, and they start anew elsewhere. What outlives that is a [`Seed`].

use super::system::{Explicit, RuleId, State, Stop};

/// A state for good: it means the same state as long as the regions live, whatever they forget. The
/// same state may have several seeds.
pub type Seed = u64;

/// A state until the regions forget. Till then equal states have equal sprouts and different ones
/// different sprouts. Which number that is may depend on which thread met the state first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Sprout(pub u64);

/// A system that is explored in regions.
pub trait Regions: Sync {
    type Region<'a>: Region + Send
    where
        Self: 'a;

    /// A view for one thread.
    fn region(&self) -> Self::Region<'_>;

    /// Bytes that all regions take together.
    fn bytes(&self) -> usize;

    /// From now on they should take at most so many together.
    fn confine(&self, _bytes_max: usize) {}

    /// Forgets all states but the seeds. No region may be at work meanwhile, and no sprout from before
    /// may be used afterwards.
    fn forget(&self);
}

/// One thread's view of a system.
pub trait Region {
    /// Where runs start.
    fn initial(&mut self) -> Result<Sprout, Stop>;

    /// The propositions of a state (bit i says whether proposition i holds), and if `reads` says of
    /// them that they are of interest, its transitions: these are put into `out`, after what is there,
    /// always in the same order. A deadlock has none.
    fn visit(
        &mut self,
        state: Sprout,
        reads: &dyn Fn(u64) -> bool,
        out: &mut Vec<(RuleId, Sprout)>,
    ) -> Result<u64, Stop>;

    /// The state of a seed.
    fn plant(&mut self, seed: Seed) -> Result<Sprout, Stop>;

    /// A seed for a state.
    fn seed(&mut self, state: Sprout) -> Result<Seed, Stop>;

    /// Appends bytes whose order is the one in which states are taken up where that matters.
    fn key(&mut self, seed: Seed, out: &mut Vec<u8>) -> Result<(), Stop>;

    /// Appends bytes that mean the same state to every process that has the same system.
    fn write(&mut self, seed: Seed, out: &mut Vec<u8>) -> Result<(), Stop>;

    /// The seed that was written so.
    fn read(&mut self, bytes: &[u8]) -> Result<Seed, Stop>;
}

impl<R: Region + ?Sized> Region for &mut R {
    fn initial(&mut self) -> Result<Sprout, Stop> {
        (**self).initial()
    }

    fn visit(
        &mut self,
        state: Sprout,
        reads: &dyn Fn(u64) -> bool,
        out: &mut Vec<(RuleId, Sprout)>,
    ) -> Result<u64, Stop> {
        (**self).visit(state, reads, out)
    }

    fn plant(&mut self, seed: Seed) -> Result<Sprout, Stop> {
        (**self).plant(seed)
    }

    fn seed(&mut self, state: Sprout) -> Result<Seed, Stop> {
        (**self).seed(state)
    }

    fn key(&mut self, seed: Seed, out: &mut Vec<u8>) -> Result<(), Stop> {
        (**self).key(seed, out)
    }

    fn write(&mut self, seed: Seed, out: &mut Vec<u8>) -> Result<(), Stop> {
        (**self).write(seed, out)
    }

    fn read(&mut self, bytes: &[u8]) -> Result<Seed, Stop> {
        (**self).read(bytes)
    }
}

/// Has nothing to forget: states, seeds and sprouts are the same numbers.
impl Regions for Explicit {
    type Region<'a> = &'a Explicit;

    fn region(&self) -> &Explicit {
        self
    }

    fn bytes(&self) -> usize {
        0
    }

    fn forget(&self) {}
}

impl Region for &Explicit {
    fn initial(&mut self) -> Result<Sprout, Stop> {
        Ok(Sprout(self.initial.into()))
    }

    fn visit(
        &mut self,
        state: Sprout,
        reads: &dyn Fn(u64) -> bool,
        out: &mut Vec<(RuleId, Sprout)>,
    ) -> Result<u64, Stop> {
        let state = state.0 as usize;
        let props = self.props[state];
        if reads(props) {
            out.extend(self.edges[state].iter().map(|&(rule, to)| (rule, Sprout(to.into()))));
        }
        Ok(props)
    }

    fn plant(&mut self, seed: Seed) -> Result<Sprout, Stop> {
        Ok(Sprout(seed))
    }

    fn seed(&mut self, state: Sprout) -> Result<Seed, Stop> {
        Ok(state.0)
    }

    fn key(&mut self, seed: Seed, out: &mut Vec<u8>) -> Result<(), Stop> {
        out.extend_from_slice(&seed.to_be_bytes());
        Ok(())
    }

    fn write(&mut self, seed: Seed, out: &mut Vec<u8>) -> Result<(), Stop> {
        out.extend_from_slice(&(seed as State).to_le_bytes());
        Ok(())
    }

    fn read(&mut self, bytes: &[u8]) -> Result<Seed, Stop> {
        let known = |state: &State| (*state as usize) < self.edges.len();
        let state = bytes.try_into().ok().map(State::from_le_bytes).filter(known);
        state.map(Seed::from).ok_or_else(|| Stop::Failed("not a state of this system".to_owned()))
    }
}
