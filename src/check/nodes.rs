//! What is kept for each node: few bytes, since there are many.
//!
//! On one thread a system usually numbers its states in the order in which they are met; as long as
//! it does, nodes are states and there is no table between them. Propositions take a byte until
//! one beyond the eighth is true somewhere.

use super::limits::{enlarged, map_bytes};
use super::space::Node;
use crate::graph::{State, Stop};
use rustc_hash::FxHashMap;

/// Nothing is known of the node but its state.
const MET: u32 = u32::MAX;
/// Its propositions are known as well.
const KNOWN: u32 = u32::MAX - 1;
const NONE: u32 = u32::MAX;

/// The nodes met so far.
#[derive(Default)]
pub struct Nodes {
    tables: Option<Tables>,
    /// Where a node's edges start; or `MET` or `KNOWN`.
    starts: Vec<u32>,
    /// How many there are; `u8::MAX` for those in `long`.
    lengths: Vec<u8>,
    long: FxHashMap<Node, u32>,
    props: Props,
    known: Known,
}

/// Which propositions of nodes are known.
struct Known {
    /// Those that are needed, and those that are found out where one of them is missing.
    needed: u64,
    asked: u64,
    /// Sets of propositions that are known of some nodes.
    sets: Vec<u64>,
    /// The set of each node, if there are several.
    places: Vec<u32>,
    /// Are those that are needed in all sets?
    is_enough: bool,
}

impl Default for Known {
    fn default() -> Self {
        Known { needed: u64::MAX, asked: u64::MAX, sets: Vec::new(), places: Vec::new(), is_enough: true }
    }
}

/// Numbers of states and nodes where they differ.
struct Tables {
    /// The node of each state, or `NONE`.
    nodes: Vec<Node>,
    states: Vec<State>,
}

enum Props {
    Narrow(Vec<u8>),
    Wide(Vec<u64>),
}

impl Default for Props {
    fn default() -> Self {
        Props::Narrow(Vec::new())
    }
}

impl Nodes {
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Bytes of the tables. What they have in reserve takes no memory until it is written to.
    pub fn memory(&self) -> usize {
        let tables = self.tables.as_ref().map_or(0, |t| 4 * (t.nodes.len() + t.states.len()));
        let props = match &self.props {
            Props::Narrow(props) => props.len(),
            Props::Wide(props) => 8 * props.len(),
        };
        let long = map_bytes::<(Node, u32)>(self.long.len(), self.long.capacity());
        tables + 4 * self.starts.len() + self.lengths.len() + long + props + 4 * self.known.places.len()
    }

    /// The system's number of a node.
    #[inline]
    pub fn state(&self, node: Node) -> State {
        self.tables.as_ref().map_or(node, |tables| tables.states[node as usize])
    }

    /// The node of a state that was met.
    #[inline]
    pub fn node(&self, state: State) -> Option<Node> {
        match &self.tables {
            None => Some(state).filter(|&state| (state as usize) < self.starts.len()),
            Some(tables) => tables.nodes.get(state as usize).copied().filter(|&node| node != NONE),
        }
    }

    /// The node of a state, a new one if it was not met before.
    #[inline]
    pub fn meet(&mut self, state: State) -> Result<Node, Stop> {
        match self.node(state) {
            Some(node) => Ok(node),
            None => self.add(state),
        }
    }

    fn add(&mut self, state: State) -> Result<Node, Stop> {
        let node = self.starts.len() as u32;
        if node >= KNOWN {
            return Err(Stop::States(u64::from(KNOWN)));
        }
        if state != node && self.tables.is_none() {
            self.tables = Some(Tables { nodes: (0..node).collect(), states: (0..node).collect() });
        }
        if let Some(Tables { nodes, states }) = &mut self.tables {
            let at = state as usize;
            if at >= nodes.len() {
                nodes.resize((at + 1).max(enlarged(nodes.len())), NONE);
            }
            nodes[at] = node;
            states.push(state);
        }
        self.starts.push(MET);
        self.lengths.push(0);
        if !self.known.places.is_empty() {
            self.known.places.push(0);
        }
        match &mut self.props {
            Props::Narrow(props) => props.push(0),
            Props::Wide(props) => props.push(0),
        }
        Ok(node)
    }

    /// Says which propositions are needed from now on, and which are found out together with them.
    pub fn ask(&mut self, needed: u64, asked: u64) {
        (self.known.needed, self.known.asked) = (needed, asked | needed);
        self.known.is_enough = self.known.sets.iter().all(|set| needed & !set == 0);
    }

    /// The propositions of a node, if those that are needed are known.
    #[inline]
    pub fn props(&self, node: Node) -> Option<u64> {
        let is_known = self.starts[node as usize] != MET && (self.known.is_enough || self.known.has(node));
        is_known.then(|| self.value(node))
    }

    fn value(&self, node: Node) -> u64 {
        match &self.props {
            Props::Narrow(props) => props[node as usize].into(),
            Props::Wide(props) => props[node as usize],
        }
    }

    /// Takes what has been found out of those that were asked for.
    pub fn set_props(&mut self, node: Node, value: u64) {
        let before = (self.starts[node as usize] != MET).then(|| (self.known.of(node), self.value(node)));
        let kept = self.known.put(node, before.map(|(set, _)| set), self.starts.len());
        let value = before.map_or(0, |(_, value)| value & kept) | value & self.known.asked;
        if let (Props::Narrow(narrow), true) = (&self.props, value > u8::MAX.into()) {
            self.props = Props::Wide(narrow.iter().map(|&value| value.into()).collect());
        }
        match &mut self.props {
            Props::Narrow(props) => props[node as usize] = value as u8,
            Props::Wide(props) => props[node as usize] = value,
        }
        if self.starts[node as usize] == MET {
            self.starts[node as usize] = KNOWN;
        }
    }

    /// Whether the edges of a node are known.
    #[inline]
    pub fn is_expanded(&self, node: Node) -> bool {
        self.starts[node as usize] < KNOWN
    }

    /// Where a node's edges are; nowhere if they are not known.
    #[inline]
    pub fn edges(&self, node: Node) -> std::ops::Range<usize> {
        let start = self.starts[node as usize];
        if start >= KNOWN {
            return 0..0;
        }
        let length = match self.lengths[node as usize] {
            u8::MAX => self.long[&node] as usize,
            length => length.into(),
        };
        start as usize..start as usize + length
    }

    pub fn set_edges(&mut self, node: Node, edges: std::ops::Range<usize>) -> Result<(), Stop> {
        if edges.end >= KNOWN as usize {
            return Err(Stop::Failed(format!("there are more than {KNOWN} transitions")));
        }
        self.starts[node as usize] = edges.start as u32;
        self.lengths[node as usize] = edges.len().min(u8::MAX.into()) as u8;
        if edges.len() >= u8::MAX.into() {
            self.long.insert(node, edges.len() as u32);
        }
        Ok(())
    }
}

impl Known {
    /// The propositions that are known of a node, if any are.
    fn of(&self, node: Node) -> u64 {
        let place = self.places.get(node as usize).copied().unwrap_or(0);
        self.sets.get(place as usize).copied().unwrap_or(0)
    }

    #[cold]
    fn has(&self, node: Node) -> bool {
        self.needed & !self.of(node) == 0
    }

    /// Adds those that were asked for to what was known of a node among so many. Returns what of that stays.
    #[inline]
    fn put(&mut self, node: Node, before: Option<u64>, nodes: usize) -> u64 {
        if self.sets[..] == [self.asked] { 0 } else { self.put_apart(node, before.unwrap_or(0), nodes) }
    }

    #[cold]
    fn put_apart(&mut self, node: Node, before: u64, nodes: usize) -> u64 {
        let all = before | self.asked;
        let place = self.sets.iter().position(|&set| set == all).unwrap_or_else(|| {
            self.sets.push(all);
            self.sets.len() - 1
        });
        if self.sets.len() > 1 {
            self.places.resize(nodes, 0);
            self.places[node as usize] = place as u32;
        }
        before & !self.asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_learn_propositions_one_after_the_other() {
        let mut nodes = Nodes::default();
        (0..3).for_each(|state| assert_eq!(nodes.meet(state), Ok(state)));
        nodes.ask(1, 3);
        nodes.set_props(0, 3);
        nodes.set_props(1, 1);
        nodes.ask(4, 6);
        assert_eq!([0, 1, 2].map(|node| nodes.props(node)), [None; 3]);
        nodes.set_props(0, 4);
        nodes.set_props(2, 6);
        assert_eq!(nodes.meet(7), Ok(3));
        // The second was asked for again and is no longer true of the first node.
        assert_eq!([0, 1, 2, 3].map(|node| nodes.props(node)), [Some(5), None, Some(6), None]);
        nodes.ask(1, 1);
        assert_eq!([0, 1, 2, 3].map(|node| nodes.props(node)), [Some(5), Some(1), None, None]);
        nodes.ask(0, 0);
        assert_eq!(nodes.props(2), Some(6));
    }

    #[test]
    fn states_may_come_in_any_order() {
        let mut nodes = Nodes::default();
        for (state, node) in [(0, 0), (1, 1), (0, 0), (5, 2), (2, 3), (5, 2), (1, 1), (9, 4)] {
            assert_eq!(nodes.meet(state), Ok(node));
            assert_eq!((nodes.state(node), nodes.node(state)), (state, Some(node)));
        }
        assert_eq!((nodes.len(), nodes.node(3), nodes.node(100)), (5, None, None));
    }

    #[test]
    fn propositions_and_edges_of_all_sizes() {
        let mut nodes = Nodes::default();
        (0..3).for_each(|state| assert_eq!(nodes.meet(state), Ok(state)));
        nodes.set_props(0, 255);
        assert_eq!((nodes.props(0), nodes.props(1), nodes.is_expanded(0)), (Some(255), None, false));
        nodes.set_props(1, 1 << 63);
        assert_eq!((nodes.props(0), nodes.props(1)), (Some(255), Some(1 << 63)));
        assert_eq!(nodes.edges(1), 0..0);
        for (node, edges) in [(0, 0..254), (1, 254..509), (2, 509..2000)] {
            nodes.set_props(node, 1);
            nodes.set_edges(node, edges.clone()).expect("few");
            assert_eq!((nodes.edges(node), nodes.is_expanded(node)), (edges, true));
        }
        assert!(nodes.set_edges(0, 0..u32::MAX as usize).is_err());
    }
}
