//! The shortest run of the explored part that an automaton accepts, looked for once there is some run.
//!
//! The product may need a longer cycle than the system does, so here the cycle is one of the system:
//! going round it once relates automaton states (with the marks met between them), and the run is
//! accepted if these steps, repeated, are. Prefixes are followed with the set of automaton states they
//! lead to. Of runs of the same length the one with the shortest prefix is taken. Some states are expanded
//! for this where the check did not need them. Work is bounded; what has been found by then is used.

use super::lasso::{Lasso, steps};
use super::limits::Limits;
use super::space::{Node, Space, Wanted};
use crate::graph::Stop;
use crate::logic::Automaton;
use rustc_hash::{FxHashMap, FxHashSet};

/// A larger automaton's state sets do not fit into a word.
const STATES_MAX: usize = 64;
/// Steps of relations that are looked at, some in any case and more for each edge of the system.
const WORK_MIN: usize = 1 << 15;
const WORK_MAX: usize = 1 << 22;
const WORK_PER_EDGE: usize = 2;
/// States that may be expanded: at most so many, and of those that are known already an eighth and some more.
const EXPANSIONS: usize = 1000;
const EXPANSIONS_MIN: usize = 100;

/// A run that is shorter than `known`, or as long with a shorter prefix.
pub fn shorter(
    space: &mut Space,
    automaton: &Automaton,
    known: &Lasso,
    limits: &Limits,
) -> Result<Option<Lasso>, Stop> {
    if automaton.edges.len() > STATES_MAX || known.steps.len() <= 1 {
        return Ok(None);
    }
    let root = space.initial()?;
    let work = (WORK_MIN + WORK_PER_EDGE * space.edge_count()).min(WORK_MAX);
    let best = (known.steps.len(), known.back.unwrap_or(0));
    // A run that needs no cycle is as short as one that has been looked for everywhere.
    let expansions = (space.len() / 8 + EXPANSIONS_MIN).min(EXPANSIONS);
    let expansions = if known.back.is_some() { expansions } else { 0 };
    let mut search = Search { space, automaton, limits, expansions, best, work, run: None };
    search.look(root);
    let run = search.run;
    let Some((nodes, back)) = run else { return Ok(None) };
    Ok(Some(Lasso { steps: steps(space, &nodes)?, back: Some(back) }))
}

struct Search<'a, 's> {
    space: &'a mut Space<'s>,
    automaton: &'a Automaton,
    limits: &'a Limits,
    /// States that may still be expanded.
    expansions: usize,
    /// Length and prefix of the best run so far.
    best: (usize, usize),
    work: usize,
    run: Option<(Vec<(Node, u32)>, usize)>,
}

/// A way to a node: the automaton states it may lead to, and where it comes from.
struct Way {
    node: Node,
    states: u64,
    length: usize,
    from: Option<(usize, u32)>,
}

/// From an automaton state to another, with the marks met.
type Pair = (u8, u8, u64);

/// A way round: the node, what it relates, and where it comes from.
struct Turn {
    node: Node,
    relation: Vec<Pair>,
    from: Option<(usize, u32)>,
}

impl Search<'_, '_> {
    fn look(&mut self, root: Node) {
        let ways = self.ways(root);
        let mut heads: Vec<Node> = Vec::new();
        let mut own: FxHashMap<Node, Vec<usize>> = FxHashMap::default();
        for (at, way) in ways.iter().enumerate() {
            let known = own.entry(way.node).or_default();
            if known.is_empty() {
                heads.push(way.node);
            }
            known.push(at);
        }
        for head in heads {
            self.rounds(head, &ways, &own[&head]);
        }
    }

    /// Breadth-first through prefixes.
    fn ways(&mut self, root: Node) -> Vec<Way> {
        let initial = self.automaton.initial.iter().fold(0, |all, at| all | 1 << at);
        let mut ways = vec![Way { node: root, states: initial, length: 0, from: None }];
        let mut known: FxHashMap<Node, Vec<u64>> = FxHashMap::default();
        known.insert(root, vec![initial]);
        let (mut next, mut level_end) = (0, 0);
        // Half of the work is left for the ways round.
        let reserve = self.work / 2;
        while next < ways.len() && self.work > reserve {
            if next == level_end {
                level_end = ways.len();
                self.expand(&ways[next..]);
            }
            let Way { node, states, length, .. } = ways[next];
            if length + 1 >= self.best.0 {
                break;
            }
            let after = self.space.props(node).map_or(0, |props| self.read(states, props));
            if after != 0 {
                for (at, target) in self.space.targets(node).iter().enumerate() {
                    self.work = self.work.saturating_sub(1);
                    let others = known.entry(target).or_default();
                    if others.iter().all(|other| after & !other != 0) {
                        others.push(after);
                        let from = Some((next, at as u32));
                        ways.push(Way { node: target, states: after, length: length + 1, from });
                    }
                }
            }
            next += 1;
        }
        ways
    }

    /// Expands the states of a level as far as that is allowed. If something is in the way, the runs
    /// known so far are good enough.
    fn expand(&mut self, level: &[Way]) {
        let mut wanted: Vec<Node> =
            level.iter().map(|way| way.node).filter(|&node| !self.space.is_expanded(node)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted.truncate(self.expansions);
        self.expansions -= wanted.len();
        let wanted: Vec<Wanted> = wanted.into_iter().map(|node| Wanted { node, tag: 0 }).collect();
        if !wanted.is_empty() && self.space.expand(&wanted, &|_, _| true, self.limits).is_err() {
            self.expansions = 0;
        }
    }

    /// Automaton states that can be reached from some of these.
    fn reached_from(&self, mut states: u64) -> u64 {
        loop {
            let edges = (self.automaton.edges.iter().enumerate()).filter(|(at, _)| states >> at & 1 == 1);
            let all = edges.flat_map(|(_, edges)| edges).fold(states, |all, edge| all | 1 << edge.to);
            if all == states {
                return all;
            }
            states = all;
        }
    }

    fn read(&self, states: u64, props: u64) -> u64 {
        let mut after = 0;
        for (at, edges) in self.automaton.edges.iter().enumerate() {
            if states >> at & 1 == 1 {
                after |= edges.iter().filter(|e| e.label.allows(props)).fold(0, |all, e| all | 1 << e.to);
            }
        }
        after
    }

    /// Breadth-first through the ways from a node back to it.
    fn rounds(&mut self, head: Node, ways: &[Way], own: &[usize]) {
        let first = ways[own[0]].length;
        // Where the automaton may be at the head, the first time and later.
        let later = self.reached_from(own.iter().fold(0, |all, &way| all | ways[way].states));
        let identity =
            (0..STATES_MAX as u8).filter(|at| later >> at & 1 == 1).map(|at| (at, at, 0)).collect();
        let mut turns = vec![Turn { node: head, relation: identity, from: None }];
        let mut seen: FxHashSet<(Node, Vec<Pair>)> = FxHashSet::default();
        let (mut next, mut level_end, mut length) = (0, 1, 1);
        while next < turns.len() {
            if next == level_end {
                (level_end, length) = (turns.len(), length + 1);
            }
            if self.work == 0 || (first + length, first) >= self.best {
                return;
            }
            let node = turns[next].node;
            let relation = match self.space.props(node) {
                Some(props) => self.follow(&turns[next].relation, props),
                None => Vec::new(),
            };
            if !relation.is_empty() {
                for at in 0.. {
                    let Some(target) = self.space.targets(node).get(at) else { break };
                    self.work = self.work.saturating_sub(relation.len());
                    if !seen.insert((target, relation.clone())) {
                        continue;
                    }
                    turns.push(Turn {
                        node: target,
                        relation: relation.clone(),
                        from: Some((next, at as u32)),
                    });
                    if target == head {
                        self.close(ways, own, &turns, length);
                    }
                }
            }
            next += 1;
        }
    }

    /// What a way relates after it has read one more letter; of two pairs with the same ends the one
    /// with more marks is enough.
    fn follow(&self, relation: &[Pair], props: u64) -> Vec<Pair> {
        let mut after: Vec<Pair> = Vec::new();
        for &(from, at, marks) in relation {
            for edge in self.automaton.edges[at as usize].iter().filter(|edge| edge.label.allows(props)) {
                let (to, marks) = (edge.to as u8, marks | edge.marks);
                let same = |other: &Pair| (other.0, other.1) == (from, to);
                if !after.iter().any(|other| same(other) && marks & !other.2 == 0) {
                    after.retain(|other| !(same(other) && other.2 & !marks == 0));
                    after.push((from, to, marks));
                }
            }
        }
        after.sort_unstable();
        after
    }

    /// Takes the last turn as a cycle if it makes a better run with one of the ways to its head.
    fn close(&mut self, ways: &[Way], own: &[usize], turns: &[Turn], length: usize) {
        let relation = &turns[turns.len() - 1].relation;
        let good = self.repeatable(relation);
        let is_better = |way: &&usize| {
            let prefix = ways[**way].length;
            ways[**way].states & good != 0 && (prefix + length, prefix) < self.best
        };
        let Some(&way) = own.iter().find(is_better) else { return };
        let prefix = ways[way].length;
        let (mut nodes, mut here, mut turn) = (Vec::new(), ways[way].from, turns[turns.len() - 1].from);
        while let Some((before, at)) = turn {
            nodes.push((turns[before].node, at));
            turn = turns[before].from;
        }
        while let Some((before, at)) = here {
            nodes.push((ways[before].node, at));
            here = ways[before].from;
        }
        nodes.reverse();
        self.best = (prefix + length, prefix);
        self.run = Some((nodes, prefix));
    }

    /// The automaton states from which a relation can be repeated for ever with all marks.
    fn repeatable(&self, relation: &[Pair]) -> u64 {
        let mut reach = [0u64; STATES_MAX];
        for &(from, to, _) in relation {
            reach[from as usize] |= 1 << to;
        }
        for middle in 0..STATES_MAX {
            let through = reach[middle];
            if through != 0 {
                for row in &mut reach {
                    if *row >> middle & 1 == 1 {
                        *row |= through;
                    }
                }
            }
        }
        let reaches = |from: usize, to: usize| reach[from] >> to & 1 == 1;
        let accepted = |at: usize| {
            let inside = |&&(from, to, _): &&Pair| reaches(at, from as usize) && reaches(to as usize, at);
            let marks = relation.iter().filter(inside).fold(0, |all, pair| all | pair.2);
            reaches(at, at) && marks == self.automaton.all_marks()
        };
        let cores = (0..STATES_MAX).filter(|&at| accepted(at)).fold(0u64, |all, at| all | 1 << at);
        (0..STATES_MAX).filter(|&at| reach[at] & cores != 0).fold(0, |all, at| all | 1 << at)
    }
}
