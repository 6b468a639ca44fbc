//! Strongly connected components of graphs whose edges carry marks, without recursion.
//!
//! Couvreur's variant of Tarjan's algorithm (FM 1999): a stack of roots carries the union of the
//! marks seen in each component that is still open, so a component is known with all its marks when
//! it closes.

use super::limits::enlarged;
use crate::graph::Stop;

/// Bits that edges carry: acceptance sets and fairness conditions.
pub type Marks = u128;

/// So many nodes are visited between two looks at the memory.
const VISITS: u32 = 1 << 12;

/// An edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arc {
    pub to: u32,
    pub marks: Marks,
    /// Which of the source's edges it is, as the graph counts.
    pub at: u32,
}

/// A graph that gives its edges one by one. Nodes may appear while it is walked.
pub trait Graph {
    /// Where in a node's edges one is.
    type Cursor: Default;

    /// The numbers of all nodes are less than this, if that is known.
    fn bound(&self) -> usize {
        0
    }

    /// The next edge of the node.
    fn arc(&mut self, node: u32, cursor: &mut Self::Cursor) -> Option<Arc>;

    /// These nodes are a component, all of whose edges have been seen; with the marks of those inside,
    /// and whether there are any. Says whether the nodes are forgotten: then their numbers may be
    /// given to others.
    fn close(&mut self, _nodes: &[u32], _marks: Marks, _is_cyclic: bool) -> bool {
        false
    }

    /// Whether the tables of a walk may take so many bytes.
    fn room(&mut self, _bytes: usize) -> Result<(), Stop> {
        Ok(())
    }
}

/// A component that has an edge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Component {
    pub nodes: Vec<u32>,
    /// Of all edges inside.
    pub marks: Marks,
}

/// Not met, or else in a finished component; other numbers are those of visits.
const NEW: u32 = 0;
const CLOSED: u32 = u32::MAX;

/// The components with a cycle that are reachable from the roots and satisfy the test (of their
/// marks), in the order in which they close.
pub fn components<G: Graph>(
    graph: &mut G,
    roots: impl IntoIterator<Item = u32>,
    wanted: impl Fn(Marks) -> bool,
) -> Result<Vec<Component>, Stop> {
    graph.room(size_of::<u32>() * graph.bound())?;
    let mut walk = Walk { number: vec![NEW; graph.bound()], ..Walk::default() };
    let mut found = Vec::new();
    for root in roots {
        walk.visit(graph, root, &wanted, Some(&mut found))?;
    }
    Ok(found)
}

/// The first component that satisfies the test, as far as it is known at that moment.
pub fn first_component<G: Graph>(
    graph: &mut G,
    roots: impl IntoIterator<Item = u32>,
    wanted: impl Fn(Marks) -> bool,
) -> Result<Option<Component>, Stop> {
    let mut walk = Walk::default();
    let mut visit = |root| walk.visit(graph, root, &wanted, None).transpose();
    roots.into_iter().find_map(&mut visit).transpose()
}

/// A depth-first walk that may be continued from other roots.
#[derive(Debug, Default)]
pub struct Walk {
    /// `NEW`, `CLOSED`, or the place in the order of visits, by node.
    number: Vec<u32>,
    last: u32,
    /// Nodes of components that are not finished.
    open: Vec<u32>,
}

impl Walk {
    fn number(&self, node: u32) -> u32 {
        self.number.get(node as usize).copied().unwrap_or(NEW)
    }

    /// Visits everything that can be reached from the root and was not visited before. Components
    /// with a cycle that satisfy the test go into `found`; without it, the walk ends with the first
    /// such component, as far as it is known at that moment, and cannot be continued; nor can a walk for
    /// which there was no room.
    pub fn visit<G: Graph>(
        &mut self,
        graph: &mut G,
        root: u32,
        wanted: impl Fn(Marks) -> bool,
        mut found: Option<&mut Vec<Component>>,
    ) -> Result<Option<Component>, Stop> {
        struct Root {
            number: u32,
            marks: Marks,
            /// Of the edge that leads here from the component below.
            entry: Marks,
            cyclic: bool,
        }
        if self.number(root) != NEW {
            return Ok(None);
        }
        if self.open.is_empty() {
            self.last = 0;
        }
        let mut stack: Vec<Root> = Vec::new();
        let mut path: Vec<(u32, G::Cursor)> = Vec::new();
        let mut enter = Some((root, 0));
        loop {
            if let Some((node, entry)) = enter.take() {
                self.last += 1;
                if node as usize >= self.number.len() {
                    self.number.resize((node as usize + 1).max(enlarged(self.number.len())), NEW);
                }
                self.number[node as usize] = self.last;
                self.open.push(node);
                stack.push(Root { number: self.last, marks: 0, entry, cyclic: false });
                path.push((node, G::Cursor::default()));
                if self.last.is_multiple_of(VISITS) {
                    let own = size_of::<u32>() * (self.number.len() + self.open.len());
                    graph.room(own + size_of_val(&stack[..]) + size_of_val(&path[..]))?;
                }
            }
            let Some((node, cursor)) = path.last_mut() else { return Ok(None) };
            let node = *node;
            if let Some(arc) = graph.arc(node, cursor) {
                match self.number(arc.to) {
                    NEW => enter = Some((arc.to, arc.marks)),
                    CLOSED => {}
                    target => {
                        let mut marks = arc.marks;
                        let mut top = stack.pop().expect("the path has a root");
                        while top.number > target {
                            marks |= top.marks | top.entry;
                            top = stack.pop().expect("an open node has a root");
                        }
                        let marks = top.marks | marks;
                        if found.is_none() && wanted(marks) {
                            let start = self.open.partition_point(|&n| self.number(n) < top.number);
                            return Ok(Some(Component { nodes: self.open.split_off(start), marks }));
                        }
                        stack.push(Root { marks, cyclic: true, ..top });
                    }
                }
                continue;
            }
            path.pop();
            if stack.last().is_some_and(|top| top.number == self.number(node)) {
                let top = stack.pop().expect("just seen");
                let start =
                    self.open.iter().rposition(|&other| other == node).expect("open until its root closes");
                let is_forgotten = graph.close(&self.open[start..], top.marks, top.cyclic);
                for &other in &self.open[start..] {
                    self.number[other as usize] = if is_forgotten { NEW } else { CLOSED };
                }
                match &mut found {
                    Some(found) if top.cyclic && wanted(top.marks) => {
                        found.push(Component { nodes: self.open.split_off(start), marks: top.marks });
                    }
                    _ => self.open.truncate(start),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Interrupt;

    struct List(Vec<Vec<(u32, Marks)>>);

    impl Graph for List {
        type Cursor = usize;
        fn arc(&mut self, node: u32, cursor: &mut usize) -> Option<Arc> {
            let &(to, marks) = self.0[node as usize].get(*cursor)?;
            *cursor += 1;
            Some(Arc { to, marks, at: *cursor as u32 - 1 })
        }
    }

    #[track_caller]
    fn check(edges: &[&[(u32, Marks)]], expected: &[(&[u32], Marks)]) {
        let mut list = List(edges.iter().map(|out| out.to_vec()).collect());
        let mut found = components(&mut list, [0], |_| true).expect("there is room");
        for component in &mut found {
            component.nodes.sort_unstable();
        }
        let expected: Vec<Component> =
            expected.iter().map(|&(nodes, marks)| Component { nodes: nodes.to_vec(), marks }).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn marks_are_gathered() {
        check(&[&[(0, 1)]], &[(&[0], 1)]);
        check(&[&[(1, 1)], &[]], &[]);
        // The tree edge into the component is not inside; the one within it is.
        check(&[&[(1, 8)], &[(2, 1)], &[(1, 2)]], &[(&[1, 2], 3)]);
        check(&[&[(1, 1)], &[(2, 2)], &[(0, 4), (1, 8)]], &[(&[0, 1, 2], 15)]);
        // A cross edge between open nodes.
        check(&[&[(1, 1), (2, 2)], &[(0, 4)], &[(1, 8)]], &[(&[0, 1, 2], 15)]);
    }

    #[test]
    fn long_paths_need_no_native_stack() {
        let count = 300_000;
        let edges = (0..count).map(|i| vec![((i + 1) % count, 0)]).collect();
        assert_eq!(components(&mut List(edges), [0], |_| true).map(|found| found.len()), Ok(1));
    }

    /// A way without end, and how many bytes a walk along it may take.
    struct Endless(usize);

    impl Graph for Endless {
        type Cursor = bool;
        fn arc(&mut self, node: u32, cursor: &mut bool) -> Option<Arc> {
            let is_first = !std::mem::replace(cursor, true);
            is_first.then_some(Arc { to: node + 1, marks: 0, at: 0 })
        }
        fn room(&mut self, bytes: usize) -> Result<(), Stop> {
            if bytes <= self.0 { Ok(()) } else { Err(Stop::Interrupted(Interrupt::Memory)) }
        }
    }

    #[test]
    fn a_walk_ends_where_there_is_no_more_room() {
        assert_eq!(
            first_component(&mut Endless(1 << 20), [0], |_| true),
            Err(Stop::Interrupted(Interrupt::Memory))
        );
    }
}
