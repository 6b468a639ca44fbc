//! How many sub-state spaces ("node sets") the authors' tool counts in a layer for `p |-> q`.
//!
//! It takes up all states of a boundary in the order of their terms, then once more those where q is
//! owed. The second time does not count if neither sub-state space of the state had an end that was
//! new: a state, or the same as a counterexample state. Nothing is searched for each state by itself:
//! with the states of each level goes from which state of the boundary they are reached first.

use super::boundary::Level;
use super::crew::Crew;
use super::reader::Reader;
use crate::base::Interrupt;
use crate::check::classify::Predicate;
use crate::graph::{Region, Seed, Sprout, Stop};
use std::ops::Range;

/// `p |-> q`.
#[derive(Clone, Debug)]
pub struct LeadsTo {
    pub premise: Predicate,
    pub goal: Predicate,
}

/// From which state of the boundary a state is reached first. What counts are their ranks; where
/// there is none, it is the greatest number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct First {
    any: u32,
    /// By a run that owes q, for the sake of a state of its own.
    owing: u32,
    /// By a run that owes q all the way, from a state where it is owed.
    still: u32,
}

const NONE: u32 = u32::MAX;

impl Default for First {
    fn default() -> First {
        First { any: NONE, owing: NONE, still: NONE }
    }
}

impl First {
    /// Of two ways, the first for each.
    pub fn min(self, other: First) -> First {
        First {
            any: self.any.min(other.any),
            owing: self.owing.min(other.owing),
            still: self.still.min(other.still),
        }
    }
}

/// The sub-state spaces of a layer.
pub struct Nodes<'c> {
    leads_to: &'c LeadsTo,
    /// By rank of the state where it begins: is q owed there, and was something new found?
    starts: Vec<(bool, bool)>,
    /// For the states of the present level, before they are read.
    pub firsts: Vec<First>,
}

/// For larger boundaries all sub-state spaces are counted: to sort their terms would take longer than to
/// go on with them.
pub const STARTS_MAX: usize = 1 << 13;

impl<'c> Nodes<'c> {
    /// The sub-state spaces of the states of a level, which are given as seeds, too; nothing if there is
    /// no room for it.
    pub fn new<R: Region + Send>(
        leads_to: &'c LeadsTo,
        level: &Level<Sprout>,
        seeds: &[Seed],
        crew: &mut Crew<R>,
        reader: &Reader,
    ) -> Result<Option<Nodes<'c>>, Stop> {
        if seeds.len() > STARTS_MAX {
            return Ok(None);
        }
        let look = |region: &mut R, chunk: Range<usize>| {
            let (mut found, mut key) = (Vec::new(), Vec::new());
            for place in chunk {
                key.clear();
                region.key(seeds[place], &mut key)?;
                let props = region.visit(level.seeds[place], &|_| false, &mut Vec::new())?;
                let mut after = level.entries(place).iter().flat_map(|entry| reader.after(entry.at, props));
                found.push((Box::<[u8]>::from(&key[..]), place, after.any(|at| reader.is_begun(at))));
            }
            Ok(found)
        };
        let (mut order, mut bytes) = (Vec::new(), 0);
        let all = crew.in_order(level.len(), look, |budget, _, found| {
            bytes += found.iter().map(|found| size_of_val(found) + found.0.len()).sum::<usize>();
            order.extend(found);
            budget.check(bytes)
        });
        match all {
            Err(Stop::Interrupted(Interrupt::Memory)) => return Ok(None),
            all => all?,
        }
        order.sort_unstable();
        let mut firsts = vec![First::default(); level.len()];
        for (rank, &(_, place, is_owed)) in (0..).zip(&order) {
            firsts[place] = First { any: rank, owing: NONE, still: if is_owed { rank } else { NONE } };
        }
        let starts = order.into_iter().map(|(_, _, is_owed)| (is_owed, false)).collect();
        Ok(Some(Nodes { leads_to, starts, firsts }))
    }

    /// What is known after a state of the level with these propositions has been read.
    pub fn after(&self, place: usize, props: u64) -> First {
        let First { any, owing, still } = self.firsts[place];
        let LeadsTo { premise, goal } = self.leads_to;
        if goal.holds(props) {
            return First { any, ..First::default() };
        }
        First { any, owing: if premise.holds(props) { owing.min(any) } else { owing }, still }
    }

    /// The layer ends with a state of the level.
    pub fn end(&mut self, place: usize, props: u64) {
        let First { any, owing, still } = self.after(place, props);
        // Counterexample states are taken up after all others.
        let counterexample = if owing == NONE { still } else { owing };
        for rank in [any, counterexample] {
            if let Some((_, has_found)) = self.starts.get_mut(rank as usize) {
                *has_found = true;
            }
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.starts.len() + self.starts.iter().filter(|&&start| start == (true, true)).count()
    }
}
