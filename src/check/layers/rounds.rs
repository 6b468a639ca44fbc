//! Layers of any depth come to an end: where a level has the same pairs as an earlier one, so have
//! those that follow, and whole rounds of steps need not be made.
//!
//! What must still come out right are the origins of pairs. While rounds are looked for, each pair of
//! the earlier level is its own origin, so a round is a function from pairs to pairs, and many rounds
//! are a power of it. The order in which pairs were found can go around much later than the pairs
//! themselves; it does not count, since the rounds that are skipped all begin in one order.

use super::boundary::{Entry, Level};
use crate::graph::Sprout;
use rustc_hash::FxHashMap;

/// Steps after which rounds are looked for.
const ROUNDS_FROM: u32 = 64;

/// The level where a round may have begun, if one was chosen.
#[derive(Debug, Default)]
pub struct Rounds {
    start: Option<Start>,
}

#[derive(Debug)]
struct Start {
    taken: u32,
    level: Level<Sprout>,
    /// Positions among the pairs of the level.
    pairs: FxHashMap<(Sprout, u32), u32>,
}

impl Rounds {
    /// Looks at the level after so many of the steps of a layer. If a round has come to its end, says how
    /// many steps are made with the level as it is then: a multiple of whole rounds later, its states in
    /// another order. A level is chosen as the start of a round now and then, after twice as many steps
    /// each time.
    pub fn skip(&mut self, level: &mut Level<Sprout>, taken: u32, steps: u32) -> Option<u32> {
        if let Some(round) = self.start.as_ref().and_then(|start| start.round(level)) {
            let start = self.start.take().expect("a round has a start");
            let length = taken - start.taken;
            let more = (steps - taken) / length;
            let origins = power(&round, more + 1);
            *level = start.level;
            let before = level.entries.clone();
            for (entry, origin) in level.entries.iter_mut().zip(origins) {
                entry.origin = before[origin as usize].origin;
            }
            return Some(taken + more * length);
        }
        if taken >= ROUNDS_FROM && taken.is_power_of_two() {
            self.settle(level);
            self.start = Some(Start::new(level, taken));
        }
        None
    }

    /// Gives the pairs of a level their origins at the start of the layer. No rounds are known then.
    pub fn settle(&mut self, level: &mut Level<Sprout>) {
        if let Some(start) = self.start.take() {
            for entry in &mut level.entries {
                entry.origin = start.level.entries[entry.origin as usize].origin;
            }
        }
    }
}

impl Start {
    /// Keeps a level, and makes each of its pairs its own origin.
    fn new(level: &mut Level<Sprout>, taken: u32) -> Start {
        let own = level.restarted(None);
        let kept = std::mem::replace(level, own);
        let mut pairs = FxHashMap::default();
        for (state, &seed) in kept.seeds.iter().enumerate() {
            for pair in kept.range(state) {
                pairs.insert((seed, kept.entries[pair].at), pair as u32);
            }
        }
        Start { taken, level: kept, pairs }
    }

    /// By pair of this level: its origin in this level, if the other has the same pairs.
    fn round(&self, level: &Level<Sprout>) -> Option<Vec<u32>> {
        if level.len() != self.level.len() || level.entries.len() != self.level.entries.len() {
            return None;
        }
        let mut round = vec![0; level.entries.len()];
        for (state, &seed) in level.seeds.iter().enumerate() {
            for &Entry { at, origin } in level.entries(state) {
                round[*self.pairs.get(&(seed, at))? as usize] = origin;
            }
        }
        Some(round)
    }
}

/// A function applied so many times.
fn power(function: &[u32], mut times: u32) -> Vec<u32> {
    let after = |first: &[u32], then: &[u32]| first.iter().map(|&at| then[at as usize]).collect::<Vec<u32>>();
    let mut result: Vec<u32> = (0..function.len() as u32).collect();
    let mut square = function.to_vec();
    while times > 0 {
        if times & 1 == 1 {
            result = after(&result, &square);
        }
        square = after(&square, &square);
        times >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers() {
        let function = [1, 2, 0, 0, 4];
        let mut plain: Vec<u32> = (0..5).collect();
        for times in 0..20 {
            assert_eq!(power(&function, times), plain, "{times}");
            plain = plain.iter().map(|&at| function[at as usize]).collect();
        }
    }
}
