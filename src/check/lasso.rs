//! Short counterexamples: breadth-first to an accepting part of the product, then the shortest cycle
//! there that collects all required marks.
//!
//! Entry points are tried in order of their distance until none can give a shorter lasso, or until
//! the work for that passes a bound; the answer does not depend on time.

use super::emptiness::{Accepting, Local};
use super::limits::enlarged;
use super::product::{Expanded, Product};
use super::scc::{Graph, Marks};
use super::space::{Node, Space};
use crate::graph::{RuleId, State, Stop};
use rustc_hash::FxHashMap;

/// A state, and the rule by which the run leaves it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    pub state: State,
    pub rule: RuleId,
}

/// A run that violates a formula.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lasso {
    /// From the initial state on.
    pub steps: Vec<Step>,
    /// After the last step the run is at this step again. Without it, the steps alone violate the
    /// formula, however the run goes on; the last rule is then [`RuleId::END`].
    pub back: Option<usize>,
}

impl Lasso {
    /// The steps before the cycle.
    pub fn prefix(&self) -> &[Step] {
        &self.steps[..self.back.unwrap_or(self.steps.len())]
    }

    /// The steps that repeat for ever.
    pub fn cycle(&self) -> &[Step] {
        &self.steps[self.back.unwrap_or(self.steps.len())..]
    }

    /// The same run with the shortest prefix and cycle.
    pub(super) fn folded(mut self) -> Lasso {
        self.back = self.back.map(|back| fold(&mut self.steps, back));
        self
    }
}

/// Shortens a sequence that goes back to `back` after its end to the shortest with the same
/// unfolding; returns where that goes back.
fn fold<T: PartialEq>(steps: &mut Vec<T>, mut back: usize) -> usize {
    let cycle = &steps[back..];
    let length = cycle.len();
    let repeats =
        |&part: &usize| length.is_multiple_of(part) && (part..length).all(|i| cycle[i] == cycle[i - part]);
    let period = (1..=length).find(repeats).expect("the whole repeats");
    steps.truncate(back + period);
    while back > 0 && steps[back - 1] == steps[steps.len() - 1] {
        steps.pop();
        back -= 1;
    }
    back
}

/// Work spent on shorter lassos once there is one, in edges.
const WORK_MAX: usize = 1 << 22;
/// The largest table of (node, collected marks) for exact shortest cycles.
const TABLE_MAX: usize = 1 << 22;

/// A path in the product: pairs, each with the place of the transition that leaves it.
pub type Path = Vec<(u32, u32)>;

/// The shortest lasso into one of the accepting parts; there is at least one.
pub fn shortest(
    product: &mut Product,
    starts: Vec<u32>,
    space: &mut Space,
    parts: &[Accepting],
) -> Result<Lasso, Stop> {
    let mut graph = Expanded { product, space };
    let found = shortest_in(&mut graph, starts, parts, |graph, number| graph.product.pair(number).0);
    let (nodes, back) = found.expect("an accepting part is reachable and has a cycle");
    Ok(Lasso { steps: steps(space, &nodes)?, back: Some(back) }.folded())
}

/// The same in any graph: states, each with the place of the edge that leaves it, and where the run
/// goes back to. `state` is the state of a pair. There is none where the graph ends before all of it was seen.
pub fn shortest_in<G: Graph>(
    graph: &mut G,
    starts: impl IntoIterator<Item = u32>,
    parts: &[Accepting],
    state: impl Fn(&G, u32) -> u32,
) -> Option<(Vec<(u32, u32)>, usize)> {
    let mut place: FxHashMap<u32, (usize, u32)> = FxHashMap::default();
    for (index, part) in parts.iter().enumerate() {
        for (at, &number) in part.local.nodes.iter().enumerate() {
            place.insert(number, (index, at as u32));
        }
    }
    let mut search = Search::new(starts);
    struct Best {
        nodes: Vec<(u32, u32)>,
        back: usize,
        /// In the product.
        length: usize,
    }
    let mut best: Option<Best> = None;
    let mut work = 0;
    while let Some((number, distance)) = search.next(graph) {
        let length_max = best.as_ref().map_or(usize::MAX, |best| best.length);
        if best.is_some() && (distance >= length_max || work > WORK_MAX) {
            break;
        }
        let Some(&(part, at)) = place.get(&number) else { continue };
        // The automaton may go in circles where the system does not, so among runs of the same
        // length in the product some are shorter without it.
        let Some(cycle) = fair_cycle(&parts[part], at, length_max - distance, &mut work) else { continue };
        let path = search.path_to(number);
        let length = path.len() + cycle.len();
        let node = |&(number, at): &(u32, u32)| (state(graph, number), at);
        let mut nodes: Vec<(u32, u32)> = path.iter().chain(&cycle).map(node).collect();
        let back = fold(&mut nodes, path.len());
        if best.as_ref().is_none_or(|best| nodes.len() < best.nodes.len()) {
            best = Some(Best { nodes, back, length });
        }
    }
    best.map(|Best { nodes, back, .. }| (nodes, back))
}

/// The shortest path to a pair that satisfies the test; the run may go on in any way.
pub fn shortest_open(
    product: &mut Product,
    starts: Vec<u32>,
    space: &mut Space,
    test: impl Fn(u32) -> bool,
) -> Result<Option<Lasso>, Stop> {
    let mut graph = Expanded { product, space };
    let Some((path, number)) = shortest_path(&mut graph, starts, |graph, n| test(graph.product.pair(n).1))
    else {
        return Ok(None);
    };
    // The automaton has not read the last state, so that state is not needed.
    let mut nodes: Vec<(Node, u32)> = path.iter().map(|&(n, at)| (product.pair(n).0, at)).collect();
    let last = nodes.pop().map_or(product.pair(number).0, |(node, _)| node);
    open_path(space, &nodes, last).map(Some)
}

/// The shortest path to a node that satisfies the test, and that node.
pub fn shortest_path<G: Graph>(
    graph: &mut G,
    starts: impl IntoIterator<Item = u32>,
    test: impl Fn(&G, u32) -> bool,
) -> Option<(Path, u32)> {
    let mut search = Search::new(starts);
    while let Some((number, _)) = search.next(graph) {
        if test(graph, number) {
            return Some((search.path_to(number), number));
        }
    }
    None
}

/// The path through the given nodes that ends with `last`.
pub fn open_path(space: &mut Space, nodes: &[(Node, u32)], last: Node) -> Result<Lasso, Stop> {
    let mut steps = steps(space, nodes)?;
    steps.push(Step { state: space.state(last), rule: RuleId::END });
    Ok(Lasso { steps, back: None })
}

/// Nodes, each with the place of the edge that leaves it, as steps.
pub(super) fn steps(space: &mut Space, nodes: &[(Node, u32)]) -> Result<Vec<Step>, Stop> {
    let mut steps = Vec::with_capacity(nodes.len());
    for &(node, at) in nodes {
        let rule = match space.edge_rules(node).get(at as usize) {
            Some(&rule) => rule,
            None => {
                let target = space.targets(node).get(at as usize).expect("the edge that was followed");
                space.rule_between(node, target)?
            }
        };
        steps.push(Step { state: space.state(node), rule });
    }
    Ok(steps)
}

/// Breadth-first search of a graph.
struct Search {
    /// Nodes in the order in which they were met.
    order: Vec<u32>,
    /// For each node met: its predecessor, the place of the transition, the distance.
    from: Vec<(u32, u32, u32)>,
    next: usize,
}

const START: u32 = u32::MAX - 1;
const NONE: u32 = u32::MAX;

impl Search {
    fn new(starts: impl IntoIterator<Item = u32>) -> Self {
        let mut search = Search { order: Vec::new(), from: Vec::new(), next: 0 };
        for start in starts {
            search.meet(start, (START, 0, 0));
        }
        search
    }

    fn meet(&mut self, number: u32, from: (u32, u32, u32)) {
        if number as usize >= self.from.len() {
            self.from.resize((number as usize + 1).max(enlarged(self.from.len())), (NONE, 0, 0));
        }
        let entry = &mut self.from[number as usize];
        if entry.0 == NONE {
            *entry = from;
            self.order.push(number);
        }
    }

    /// The next node and its distance.
    fn next<G: Graph>(&mut self, graph: &mut G) -> Option<(u32, usize)> {
        let number = *self.order.get(self.next)?;
        self.next += 1;
        let distance = self.from[number as usize].2;
        let mut cursor = G::Cursor::default();
        while let Some(arc) = graph.arc(number, &mut cursor) {
            self.meet(arc.to, (number, arc.at, distance + 1));
        }
        Some((number, distance as usize))
    }

    /// The path to a pair that was met, without the pair itself.
    fn path_to(&self, mut number: u32) -> Path {
        let mut path = Vec::new();
        while let (before, at, 1..) = self.from[number as usize] {
            path.push((before, at));
            number = before;
        }
        path.reverse();
        path
    }
}

/// A short cycle through a place that is accepted and fair.
fn fair_cycle(part: &Accepting, start: u32, length_max: usize, work: &mut usize) -> Option<Path> {
    let cycle = cycle_through(&part.local, start, part.required, length_max, work)?;
    if part.enabled.is_empty() {
        return Some(cycle);
    }
    // Often the cycle takes what it enables. If not, it must take all that the part enables.
    let (mut enabled, mut taken) = (0, 0);
    for &(number, at) in &cycle {
        let place = part.local.nodes.binary_search(&number).expect("inside");
        enabled |= part.enabled[place];
        let arc = part.local.arcs[place].iter().find(|arc| arc.at == at).expect("an edge of the cycle");
        taken |= arc.marks;
    }
    if enabled & !taken == 0 {
        return Some(cycle);
    }
    let all = part.enabled.iter().fold(part.required, |all, marks| all | marks);
    cycle_through(&part.local, start, all, length_max, work)
}

/// The shortest cycle from a place back to it that collects the marks, if it is short enough.
fn cycle_through(
    local: &Local,
    start: u32,
    required: Marks,
    length_max: usize,
    work: &mut usize,
) -> Option<Path> {
    let bits: Vec<u32> = (0..Marks::BITS).filter(|bit| required >> bit & 1 == 1).collect();
    if bits.len() < 16 && local.nodes.len() << bits.len() <= TABLE_MAX {
        exact_cycle(local, start, &bits, length_max, work)
    } else {
        greedy_cycle(local, start, required, work).filter(|cycle| cycle.len() <= length_max)
    }
}

/// Breadth-first over (place, marks collected).
fn exact_cycle(local: &Local, start: u32, bits: &[u32], length_max: usize, work: &mut usize) -> Option<Path> {
    let full = (1u32 << bits.len()) - 1;
    let gathered = |marks: Marks| {
        bits.iter().enumerate().fold(0, |all, (i, bit)| all | ((marks >> bit & 1) as u32) << i)
    };
    let mut from: FxHashMap<(u32, u32), (u32, u32, u32)> = FxHashMap::default();
    let mut level = vec![(start, 0u32)];
    let mut distance = 0;
    while !level.is_empty() {
        distance += 1;
        if distance > length_max {
            return None;
        }
        let mut next = Vec::new();
        for &(place, have) in &level {
            for arc in &local.arcs[place as usize] {
                *work += 1;
                let all = have | gathered(arc.marks);
                if let std::collections::hash_map::Entry::Vacant(free) = from.entry((arc.to, all)) {
                    free.insert((place, have, arc.at));
                    next.push((arc.to, all));
                    if arc.to == start && all == full {
                        let mut path = Vec::new();
                        let mut here = (start, full);
                        loop {
                            let (place, have, at) = from[&here];
                            path.push((local.nodes[place as usize], at));
                            here = (place, have);
                            if path.len() == distance {
                                path.reverse();
                                return Some(path);
                            }
                        }
                    }
                }
            }
        }
        level = next;
    }
    None
}

/// From the start to the nearest edge with a missing mark, and so on, then back.
fn greedy_cycle(local: &Local, start: u32, required: Marks, work: &mut usize) -> Option<Path> {
    let (mut path, mut here, mut missing): (Path, u32, Marks) = (Vec::new(), start, required);
    loop {
        let mut from: FxHashMap<u32, (u32, u32)> = FxHashMap::default();
        let mut order = vec![here];
        let mut index = 0;
        let goal = 'search: loop {
            let place = *order.get(index)?;
            index += 1;
            for arc in &local.arcs[place as usize] {
                *work += 1;
                let reached = if missing == 0 { arc.to == start } else { arc.marks & missing != 0 };
                if reached {
                    break 'search (place, *arc);
                }
                if arc.to != here && !from.contains_key(&arc.to) {
                    from.insert(arc.to, (place, arc.at));
                    order.push(arc.to);
                }
            }
        };
        let mut part = vec![(local.nodes[goal.0 as usize], goal.1.at)];
        let mut place = goal.0;
        while place != here {
            let (before, at) = from[&place];
            part.push((local.nodes[before as usize], at));
            place = before;
        }
        path.extend(part.iter().rev());
        // Edges on the way there have no missing marks, or they would have been the goal.
        missing &= !goal.1.marks;
        here = goal.1.to;
        if missing == 0 && here == start {
            return Some(path);
        }
    }
}
