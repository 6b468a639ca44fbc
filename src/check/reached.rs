//! Which pairs of a state and an automaton state can be reached: for each state a set of automaton
//! states, found breadth-first. One look at a transition moves the whole set along it.
//!
//! Only states that the automaton can read from some pair are expanded.

use super::limits::{Limits, enlarged, map_bytes};
use super::product::{Core, Question};
use super::space::{Node, Space, Wanted};
use crate::graph::Stop;
use crate::logic::Automaton;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// Entries taken in one step of exploration.
const BATCH: usize = 1 << 13;
/// The least by which a queue becomes longer.
const QUEUE_MIN: usize = 64;

/// See the head of this file.
pub struct Reached {
    sets: Sets,
    /// Pairs that have been reached and not been followed yet, in order of their distance.
    waiting: VecDeque<Entry>,
    /// How many pairs have been reached.
    count: usize,
    /// Bytes for each state that the search for cycles takes at least.
    ahead: usize,
}

/// Automaton states `64 * block + bit` of a state, for each bit of the set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    node: Node,
    block: u32,
    set: u64,
}

impl Entry {
    fn states(self) -> impl Iterator<Item = u32> {
        let Entry { block, mut set, .. } = self;
        std::iter::from_fn(move || {
            let bit = (set != 0).then(|| set.trailing_zeros())?;
            set &= set - 1;
            Some(64 * block + bit)
        })
    }
}

impl Reached {
    /// Where runs from a state start.
    pub fn new(root: Node, automaton: &Automaton) -> Self {
        let ahead = Core::bytes_of_state(automaton);
        let sets = Sets::new(automaton.edges.len());
        let mut reached = Reached { sets, waiting: VecDeque::new(), count: 0, ahead };
        for &start in &automaton.initial {
            reached.add(Entry { node: root, block: start / 64, set: 1 << (start % 64) });
        }
        reached
    }

    /// How many pairs there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is such a pair.
    #[inline]
    pub fn has(&self, node: Node, at: u32) -> bool {
        self.sets.get(node, at / 64) >> (at % 64) & 1 == 1
    }

    /// All pairs, always in the same order.
    pub fn each(&self, mut see: impl FnMut(Node, u32)) {
        self.sets.each(|entry| entry.states().for_each(|at| see(entry.node, at)));
    }

    /// Whether there are pairs with one of these automaton states among those not followed yet.
    pub fn is_near(&self, states: &[bool]) -> bool {
        states.contains(&true)
            && self.waiting.iter().any(|entry| entry.states().any(|at| states[at as usize]))
    }

    /// Whether there is a pair with this state such that the automaton can read these propositions.
    pub fn reads(&self, question: Question, node: Node, props: u64) -> bool {
        let states = 0..question.automaton.edges.len() as u32;
        states.into_iter().any(|at| self.has(node, at) && question.reads(at, props))
    }

    /// Whether there is a pair with this state.
    pub fn meets(&self, question: Question, node: Node) -> bool {
        (0..question.automaton.edges.len() as u32).any(|at| self.has(node, at))
    }

    /// Whether everything has been followed.
    pub fn is_complete(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Bytes of the tables.
    fn memory(&self) -> usize {
        self.sets.bytes() + size_of::<Entry>() * self.waiting.capacity()
    }

    /// Follows the next pairs. Unless it may grow, states of the space stay as they are.
    pub fn advance(
        &mut self,
        question: Question,
        space: &mut Space,
        limits: &Limits,
        grow: bool,
    ) -> Result<(), Stop> {
        let count = self.waiting.len().min(BATCH);
        // What has been explored will be looked at, so that must fit as well.
        space.beside = self.memory() + if grow { self.ahead * space.len() } else { 0 };
        if grow {
            let batch: Vec<Entry> = self.waiting.range(..count).copied().collect();
            expand(&batch, question, space, limits)?;
        }
        let mut moves: Vec<(u32, u64)> = Vec::new();
        for _ in 0..count {
            let entry = self.waiting.pop_front().expect("there are so many");
            let Some(props) = space.props(entry.node) else { continue };
            moves.clear();
            for edge in entry.states().flat_map(|at| &question.automaton.edges[at as usize]) {
                if edge.label.allows(props) {
                    let (block, bit) = (edge.to / 64, 1 << (edge.to % 64));
                    match moves.iter_mut().find(|(known, _)| *known == block) {
                        Some((_, set)) => *set |= bit,
                        None => moves.push((block, bit)),
                    }
                }
            }
            for &(block, set) in &moves {
                for node in space.targets(entry.node).iter() {
                    self.add(Entry { node, block, set });
                }
            }
        }
        self.settle(space);
        limits.check_memory(space.memory())
    }

    /// Tells the space how much there is beside it.
    pub fn settle(&self, space: &mut Space) {
        space.beside = self.memory();
    }

    #[inline]
    fn add(&mut self, mut entry: Entry) {
        entry.set = self.sets.add(entry);
        if entry.set != 0 {
            self.count += entry.set.count_ones() as usize;
            reserve(&mut self.waiting);
            self.waiting.push_back(entry);
        }
    }
}

/// Makes room for one more in a queue, all of whose memory will be in use: it becomes longer by a quarter only.
pub fn reserve<T>(queue: &mut VecDeque<T>) {
    if queue.len() == queue.capacity() {
        queue.reserve_exact(QUEUE_MIN.max(queue.len() / 4));
    }
}

/// Expands the states of the entries where the automaton can read them.
fn expand(batch: &[Entry], question: Question, space: &mut Space, limits: &Limits) -> Result<(), Stop> {
    let reads = |tag: u64, props: u64| batch[tag as usize].states().any(|at| question.reads(at, props));
    let (mut wanted, mut again) = (Vec::new(), Vec::new());
    let mut seen = FxHashSet::default();
    let mut tags: Vec<u64> = (0..batch.len() as u64).collect();
    // A state may be there several times with different sets.
    while !tags.is_empty() {
        for tag in tags.drain(..) {
            let node = batch[tag as usize].node;
            if space.is_expanded(node) && space.props(node).is_some() {
                continue;
            }
            if seen.insert(node) {
                wanted.push(Wanted { node, tag });
            } else {
                again.push(tag);
            }
        }
        space.expand(&wanted, &reads, limits)?;
        wanted.clear();
        seen.clear();
        std::mem::swap(&mut tags, &mut again);
    }
    Ok(())
}

/// Sets of automaton states by state.
#[derive(Debug)]
enum Sets {
    /// For automata of up to 8, 64, or more states.
    Narrow(Vec<u8>),
    Wide(Vec<u64>),
    Many(FxHashMap<(Node, u32), u64>),
}

impl Sets {
    fn new(width: usize) -> Self {
        match width {
            0..=8 => Sets::Narrow(Vec::new()),
            9..=64 => Sets::Wide(Vec::new()),
            _ => Sets::Many(FxHashMap::default()),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Sets::Narrow(sets) => sets.len(),
            Sets::Wide(sets) => 8 * sets.len(),
            Sets::Many(sets) => map_bytes::<((Node, u32), u64)>(sets.len(), sets.capacity()),
        }
    }

    #[inline]
    fn get(&self, node: Node, block: u32) -> u64 {
        match self {
            Sets::Narrow(sets) => sets.get(node as usize).copied().unwrap_or(0).into(),
            Sets::Wide(sets) => sets.get(node as usize).copied().unwrap_or(0),
            Sets::Many(sets) => sets.get(&(node, block)).copied().unwrap_or(0),
        }
    }

    /// Adds states and returns those that are new.
    #[inline]
    fn add(&mut self, Entry { node, block, set }: Entry) -> u64 {
        fn place<T: Clone + Default>(sets: &mut Vec<T>, node: Node) -> &mut T {
            let at = node as usize;
            if at >= sets.len() {
                sets.resize((at + 1).max(enlarged(sets.len())), T::default());
            }
            &mut sets[at]
        }
        match self {
            Sets::Narrow(sets) => {
                let own = place(sets, node);
                let new = set & !u64::from(*own);
                *own |= new as u8;
                new
            }
            Sets::Wide(sets) => {
                let own = place(sets, node);
                let new = set & !*own;
                *own |= new;
                new
            }
            Sets::Many(sets) => {
                let own = sets.entry((node, block)).or_default();
                let new = set & !*own;
                *own |= new;
                new
            }
        }
    }

    fn each(&self, mut see: impl FnMut(Entry)) {
        let mut one = |node: usize, set: u64| see(Entry { node: node as Node, block: 0, set });
        match self {
            Sets::Narrow(sets) => sets.iter().enumerate().for_each(|(node, &set)| one(node, set.into())),
            Sets::Wide(sets) => sets.iter().enumerate().for_each(|(node, &set)| one(node, set)),
            Sets::Many(sets) => {
                let mut entries: Vec<Entry> =
                    sets.iter().map(|(&(node, block), &set)| Entry { node, block, set }).collect();
                entries.sort_unstable_by_key(|entry| (entry.node, entry.block));
                entries.into_iter().for_each(see);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_all_widths() {
        for width in [8, 64, 200] {
            let mut sets = Sets::new(width);
            let entry = |node, at: usize| Entry { node, block: at as u32 / 64, set: 1 << (at % 64) };
            for node in [7, 0, 900, 7] {
                let new = [0, width - 1].map(|at| sets.add(entry(node, at)) != 0);
                assert_eq!(new[0], new[1]);
            }
            assert_eq!(sets.add(entry(7, 0)), 0);
            assert_ne!(sets.get(900, (width as u32 - 1) / 64) >> ((width - 1) % 64) & 1, 0);
            let mut all = Vec::new();
            sets.each(|entry| all.extend(entry.states().map(|at| (entry.node, at as usize))));
            assert_eq!(all, [0, 7, 900].map(|node| [(node, 0), (node, width - 1)]).concat(), "{width}");
        }
    }
}
