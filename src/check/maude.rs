//! The counterexample that Maude's model checker finds.
//!
//! Nested depth-first search (Holzmann, Peled and Yannakakis 1996) on the fly: when the first search
//! leaves an accepting pair, a second one looks for a way back to the first one's path. Pairs are a
//! state and what the automaton has become by reading it. Successors come in the order of the rules,
//! for each in the order of the automaton's transitions.
//!
//! The verdict is not taken from here: see [`crate::logic::imitate`] for how far the automaton is
//! Maude's.

use super::lasso::{Lasso, steps};
use super::limits::Limits;
use super::space::{Node, Space, Wanted};
use crate::base::Interrupt;
use crate::graph::Stop;
use crate::logic::Buchi;
use rustc_hash::FxHashMap;

/// The run that the search meets first; none if its path becomes too long.
pub fn first_run(space: &mut Space, automaton: &Buchi, limits: &Limits) -> Result<Option<Lasso>, Stop> {
    let root = space.initial()?;
    let mut search = Search { space, automaton, limits, seen: FxHashMap::default() };
    let letter = search.letter(root)?;
    for &initial in &automaton.initial {
        for (to, letters) in &automaton.rows[initial as usize] {
            if letters.has(letter)
                && !search.seen.contains_key(&(root, *to))
                && let Some((path, back)) = search.from((root, *to))?
            {
                let nodes: Vec<(Node, u32)> = path.iter().map(|at| (at.pair.0, at.edge)).collect();
                return Ok(Some(Lasso { steps: steps(search.space, &nodes)?, back: Some(back) }));
            }
        }
    }
    Ok(None)
}

type Pair = (Node, u32);

/// A pair on a path, and where it goes from there.
#[derive(Clone, Copy)]
struct At {
    pair: Pair,
    /// The place of the edge that is being followed.
    edge: u32,
    /// The next transition of the automaton to try on it.
    arc: u32,
}

impl At {
    fn new(pair: Pair) -> At {
        At { pair, edge: 0, arc: 0 }
    }
}

/// Maude's own search is recursive; paths of less than half this length overflow its stack.
const PATH_MAX: usize = 200_000;

/// The first search has met the pair and has not left it.
const ON_PATH: u8 = 1;
/// The first search has left it.
const LEFT: u8 = 2;
/// The second search has met it.
const AGAIN: u8 = 4;

/// Bytes of a pair that has been seen, on the path and in the table, also while that grows.
const PAIR_BYTES: usize = 64;

struct Search<'a, 's> {
    space: &'a mut Space<'s>,
    automaton: &'a Buchi,
    limits: &'a Limits,
    seen: FxHashMap<Pair, u8>,
}

impl Search<'_, '_> {
    /// The first search from a pair; the path of a run, and where it goes back.
    fn from(&mut self, start: Pair) -> Result<Option<(Vec<At>, usize)>, Stop> {
        let mut path = vec![self.enter(start)?];
        while let Some(mut last) = path.pop() {
            if let Some(next) = self.next(&mut last)? {
                path.push(last);
                if !self.seen.contains_key(&next) {
                    if path.len() >= PATH_MAX {
                        return Ok(None);
                    }
                    path.push(self.enter(next)?);
                }
                continue;
            }
            if self.automaton.accepting[last.pair.1 as usize]
                && let Some((rest, goal)) = self.again(last.pair)?
            {
                path.extend(rest);
                let back = path.iter().position(|at| at.pair == goal).expect("the way back ends on the path");
                return Ok(Some((path, back)));
            }
            *self.seen.entry(last.pair).or_default() ^= ON_PATH | LEFT;
        }
        Ok(None)
    }

    /// The second search: a path from a pair to one on the first search's path.
    fn again(&mut self, seed: Pair) -> Result<Option<(Vec<At>, Pair)>, Stop> {
        let mut path = vec![At::new(seed)];
        while let Some(mut last) = path.pop() {
            let Some(next) = self.next(&mut last)? else { continue };
            path.push(last);
            // The first search has been everywhere that can be reached from here.
            let seen = self.seen.entry(next).or_insert(LEFT);
            if *seen & ON_PATH != 0 {
                return Ok(Some((path, next)));
            }
            if *seen & AGAIN == 0 {
                *seen |= AGAIN;
                path.push(At::new(next));
            }
        }
        Ok(None)
    }

    fn enter(&mut self, pair: Pair) -> Result<At, Stop> {
        self.limits.check_states(self.seen.len())?;
        self.space.beside = PAIR_BYTES * self.seen.len();
        self.limits.check_memory(self.space.memory())?;
        self.seen.insert(pair, ON_PATH);
        if !self.space.is_expanded(pair.0) {
            self.space.expand(&[Wanted { node: pair.0, tag: 0 }], &|_, _| true, self.limits)?;
        }
        Ok(At::new(pair))
    }

    fn letter(&mut self, node: Node) -> Result<usize, Stop> {
        if self.space.props(node).is_none() {
            self.space.expand(&[Wanted { node, tag: 0 }], &|_, _| false, self.limits)?;
        }
        let props = self.space.props(node);
        let unknown = || self.space.closed.clone().unwrap_or(Stop::Interrupted(Interrupt::Cancelled));
        Ok(self.automaton.letter(props.ok_or_else(unknown)?))
    }

    /// The next successor of a pair; `at.edge` is then its edge.
    fn next(&mut self, at: &mut At) -> Result<Option<Pair>, Stop> {
        let row = &self.automaton.rows[at.pair.1 as usize];
        while let Some(target) = self.space.targets(at.pair.0).get(at.edge as usize) {
            let letter = self.letter(target)?;
            while let Some((to, letters)) = row.get(at.arc as usize) {
                at.arc += 1;
                if letters.has(letter) {
                    return Ok(Some((target, *to)));
                }
            }
            (at.edge, at.arc) = (at.edge + 1, 0);
        }
        Ok(None)
    }
}
