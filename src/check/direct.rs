//! Simple classes of formulas on the state graph itself, without an automaton.
//!
//! | formula | violated by |
//! |---|---|
//! | `[] p` | a reachable state without p |
//! | `p U q` | through p without q: a state with neither, or a cycle |
//! | `p \|-> q` | from a reachable state with p: a cycle that never meets q |
//! | `p \|-> [] q` | after a reachable state with p: a cycle with a state without q |
//!
//! The graph is explored breadth-first, only where the formula needs it, and looked at for cycles
//! whenever it has doubled, so that violations are found before everything is explored. For
//! `p |-> q` the cycles are searched in their own depth-first search over states without q. (One
//! search over states with and without a pending request that accepts only pending parts of its
//! stack would be wrong: a pending state first met from one that is not can hide a cycle.)

use super::classify::Class;
use super::limits::Limits;
use super::reached::reserve;
use super::scc::{Arc, Graph, components};
use super::space::{Node, Space, Wanted};
use crate::base::Interrupt;
use crate::graph::Stop;
use std::collections::VecDeque;

/// What a direct check found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    Holds,
    /// The path through these nodes violates it, however it goes on: each node before the last with
    /// the place of the edge that leaves it.
    Path(Vec<(Node, u32)>, Node),
    /// Some run through explored states violates it.
    Run,
}

/// States taken in one step of exploration.
const BATCH: usize = 1 << 13;
/// The search for cycles asks for the memory of so many more nodes on its path.
const PATH_STEP: usize = 1 << 14;

/// Checks a formula of a simple class. The explored part is first searched for cycles when it has
/// `first_look` states.
pub fn check(space: &mut Space, class: &Class, limits: &Limits, first_look: usize) -> Result<Finding, Stop> {
    let root = space.initial()?;
    let needed = |props: u64| match class {
        Class::Always(p) => p.holds(props),
        Class::Until(p, q) => p.holds(props) && !q.holds(props),
        Class::LeadsTo(..) | Class::LeadsToAlways(..) => true,
    };
    let is_bad = |props: u64| match class {
        Class::Always(p) => !p.holds(props),
        Class::Until(p, q) => !p.holds(props) && !q.holds(props),
        Class::LeadsTo(..) | Class::LeadsToAlways(..) => false,
    };
    let mut walk = Walk::new(root);
    let mut next_look = first_look;
    loop {
        let result = limits.check_states(walk.count).and_then(|()| walk.advance(space, &needed, limits));
        let bad = walk.taken.iter().copied().find(|&node| space.props(node).is_some_and(is_bad));
        if let Some(node) = bad {
            let (path, last) = path_to(space, root, node, &needed);
            return Ok(Finding::Path(path, last));
        }
        let complete = result.is_ok() && walk.is_complete();
        if result == Err(Stop::Interrupted(Interrupt::Cancelled)) {
            return result.map(|()| Finding::Run);
        }
        if complete || result.is_err() || walk.count >= next_look {
            space.beside = walk.memory();
            match has_bad_cycle(space, root, class, &needed, limits) {
                Ok(true) => return Ok(Finding::Run),
                Err(stop) if complete => return Err(stop),
                // If there is no room for a look at so much, a violation may show in other ways.
                Ok(false) | Err(_) => {}
            }
            next_look = walk.count * 2;
        }
        result?;
        if complete {
            space.gap(|node, props| walk.has(node) && props.is_none_or(&needed))?;
            return Ok(Finding::Holds);
        }
    }
}

/// Whether the explored part has a cycle that violates the formula. Every node of the space is
/// reachable.
fn has_bad_cycle(
    space: &Space,
    root: Node,
    class: &Class,
    needed: &dyn Fn(u64) -> bool,
    limits: &Limits,
) -> Result<bool, Stop> {
    match class {
        Class::Always(_) => Ok(false),
        Class::Until(..) => has_cycle(space, [root], needed, &|_| false, limits),
        Class::LeadsTo(p, q) => {
            let starts = (0..space.len() as Node)
                .filter(|&node| space.props(node).is_some_and(|props| p.holds(props) && !q.holds(props)));
            has_cycle(space, starts, &|props| !q.holds(props), &|_| false, limits)
        }
        Class::LeadsToAlways(p, q) => {
            let is_start = |node: &Node| space.props(*node).is_some_and(|props| p.holds(props));
            let starts = (0..space.len() as Node).filter(is_start);
            // Often all that goes round is a good state by itself.
            let is_good = |props| q.holds(props);
            if !has_cycle(space, starts.clone(), &|_| true, &is_good, limits)? {
                return Ok(false);
            }
            let mut graph = Marked { space, limits, marked: |props| !q.holds(props) };
            Ok(!components(&mut graph, starts, |marks| marks == 1)?.is_empty())
        }
    }
}

/// The explored graph; edges from states that satisfy the test have mark 1.
struct Marked<'p, 's, F> {
    space: &'p Space<'s>,
    limits: &'p Limits,
    marked: F,
}

impl<F: Fn(u64) -> bool> Graph for Marked<'_, '_, F> {
    type Cursor = usize;

    fn arc(&mut self, node: u32, cursor: &mut usize) -> Option<Arc> {
        let to = self.space.targets(node).get(*cursor)?;
        *cursor += 1;
        let marked = self.space.props(node).is_some_and(&self.marked);
        Some(Arc { to, marks: marked.into(), at: *cursor as u32 - 1 })
    }

    fn bound(&self) -> usize {
        self.space.len()
    }

    fn room(&mut self, bytes: usize) -> Result<(), Stop> {
        self.limits.check_memory(self.space.memory() + bytes)
    }
}

/// Whether a cycle of states that satisfy the test can be reached from the starts through such
/// states. A step of some states to themselves is none.
fn has_cycle(
    space: &Space,
    starts: impl IntoIterator<Item = Node>,
    test: &dyn Fn(u64) -> bool,
    may_stay: &dyn Fn(u64) -> bool,
    limits: &Limits,
) -> Result<bool, Stop> {
    const ON_PATH: u8 = 1;
    const DONE: u8 = 2;
    // A path has at most so many nodes before the memory is looked at again.
    let mut path_max = 0;
    let mut colour = vec![0u8; space.len()];
    let mut path: Vec<(Node, u32)> = Vec::new();
    let inside = |node: Node| space.props(node).is_some_and(test);
    for start in starts {
        if colour[start as usize] != 0 || !inside(start) {
            continue;
        }
        colour[start as usize] = ON_PATH;
        path.push((start, 0));
        while let Some((node, at)) = path.last_mut() {
            let Some(target) = space.targets(*node).get(*at as usize) else {
                colour[*node as usize] = DONE;
                path.pop();
                continue;
            };
            *at += 1;
            match colour[target as usize] {
                ON_PATH if target == *node && space.props(*node).is_some_and(may_stay) => {}
                ON_PATH => return Ok(true),
                0 if inside(target) => {
                    if path.len() >= path_max {
                        path_max = path.len() + PATH_STEP;
                        let own = colour.len() + size_of::<(Node, u32)>() * path_max;
                        limits.check_memory(space.memory() + own)?;
                    }
                    colour[target as usize] = ON_PATH;
                    path.push((target, 0));
                }
                _ => {}
            }
        }
    }
    Ok(false)
}

/// The shortest path from the root to a node through nodes that satisfy the test.
fn path_to(space: &Space, root: Node, goal: Node, test: &dyn Fn(u64) -> bool) -> (Vec<(Node, u32)>, Node) {
    const NONE: u32 = u32::MAX;
    let mut from = vec![(NONE, 0); space.len()];
    let mut order = vec![root];
    let mut next = 0;
    while next < order.len() && order[next] != goal {
        let node = order[next];
        next += 1;
        if !space.props(node).is_some_and(test) {
            continue;
        }
        for (at, target) in space.targets(node).iter().enumerate() {
            if target != root && from[target as usize].0 == NONE {
                from[target as usize] = (node, at as u32);
                order.push(target);
            }
        }
    }
    let (mut path, mut here) = (Vec::new(), goal);
    while here != root {
        let (before, at) = from[here as usize];
        path.push((before, at));
        here = before;
    }
    path.reverse();
    (path, goal)
}

/// Breadth-first exploration of states.
struct Walk {
    /// Bit per node: met.
    seen: Vec<u64>,
    /// How many were met.
    count: usize,
    /// Those that no step has taken yet.
    waiting: VecDeque<Node>,
    /// Those that the last step took, in order.
    taken: Vec<Node>,
}

impl Walk {
    fn new(root: Node) -> Self {
        let mut walk = Walk { seen: Vec::new(), count: 0, waiting: VecDeque::new(), taken: Vec::new() };
        walk.meet(root);
        walk
    }

    fn meet(&mut self, node: Node) {
        let word = node as usize / 64;
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        let bit = 1 << (node % 64);
        if self.seen[word] & bit == 0 {
            self.seen[word] |= bit;
            self.count += 1;
            reserve(&mut self.waiting);
            self.waiting.push_back(node);
        }
    }

    fn has(&self, node: Node) -> bool {
        self.seen.get(node as usize / 64).is_some_and(|word| word >> (node % 64) & 1 == 1)
    }

    /// Bytes of the tables.
    fn memory(&self) -> usize {
        8 * self.seen.len() + 4 * (self.waiting.capacity() + self.taken.capacity())
    }

    fn is_complete(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Expands the next nodes where needed.
    fn advance(
        &mut self,
        space: &mut Space,
        needed: &(dyn Fn(u64) -> bool + Sync),
        limits: &Limits,
    ) -> Result<(), Stop> {
        let step = self.waiting.len().min(BATCH);
        self.taken.clear();
        self.taken.extend(self.waiting.drain(..step));
        let wanted: Vec<Wanted> = self.taken.iter().map(|&node| Wanted { node, tag: 0 }).collect();
        // What has been explored will be looked at, which takes a byte for each state and more.
        space.beside = self.memory() + space.len();
        space.expand(&wanted, &|_, props| needed(props), limits)?;
        for index in 0..step {
            let node = self.taken[index];
            if space.props(node).is_some_and(needed) {
                for target in space.targets(node).iter() {
                    self.meet(target);
                }
            }
        }
        Ok(())
    }
}
