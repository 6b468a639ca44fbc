//! The ends of all edges, in few bytes: three each, until there are nodes that need four.

use super::space::Node;
use std::ops::Range;

/// Nodes from here on need four bytes.
const NARROW_MAX: Node = 1 << 24;

/// See the head of this file.
#[derive(Debug)]
pub enum Targets {
    Narrow(Vec<[u8; 3]>),
    Wide(Vec<Node>),
}

impl Default for Targets {
    fn default() -> Self {
        Targets::Narrow(Vec::new())
    }
}

impl Targets {
    pub fn len(&self) -> usize {
        match self {
            Targets::Narrow(ends) => ends.len(),
            Targets::Wide(ends) => ends.len(),
        }
    }

    /// Bytes of the table.
    pub fn memory(&self) -> usize {
        match self {
            Targets::Narrow(ends) => 3 * ends.capacity(),
            Targets::Wide(ends) => 4 * ends.capacity(),
        }
    }

    pub fn push(&mut self, target: Node) {
        if let (Targets::Narrow(ends), true) = (&*self, target >= NARROW_MAX) {
            *self = Targets::Wide(ends.iter().map(wide).collect());
        }
        match self {
            Targets::Narrow(ends) => {
                let [low, middle, high, _] = target.to_le_bytes();
                ends.push([low, middle, high]);
            }
            Targets::Wide(ends) => ends.push(target),
        }
    }

    /// A part of them.
    #[inline]
    pub fn row(&self, range: Range<usize>) -> Row<'_> {
        match self {
            Targets::Narrow(ends) => Row::Narrow(&ends[range]),
            Targets::Wide(ends) => Row::Wide(&ends[range]),
        }
    }
}

/// The ends of a node's edges.
#[derive(Clone, Copy, Debug)]
pub enum Row<'a> {
    Narrow(&'a [[u8; 3]]),
    Wide(&'a [Node]),
}

impl<'a> Row<'a> {
    #[inline]
    pub fn len(self) -> usize {
        match self {
            Row::Narrow(ends) => ends.len(),
            Row::Wide(ends) => ends.len(),
        }
    }

    #[inline]
    pub fn get(self, at: usize) -> Option<Node> {
        match self {
            Row::Narrow(ends) => ends.get(at).map(wide),
            Row::Wide(ends) => ends.get(at).copied(),
        }
    }

    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Node> + 'a {
        (0..self.len()).filter_map(move |at| self.get(at))
    }
}

#[inline]
fn wide(&[low, middle, high]: &[u8; 3]) -> Node {
    Node::from_le_bytes([low, middle, high, 0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_come_back_when_they_need_more_bytes() {
        let (mut targets, mut expected) = (Targets::default(), Vec::new());
        for target in [0, 255, 256, NARROW_MAX - 1, 7, NARROW_MAX, 3, Node::MAX] {
            targets.push(target);
            expected.push(target);
            assert_eq!(targets.row(0..targets.len()).iter().collect::<Vec<_>>(), expected);
        }
        assert_eq!((targets.row(2..4).get(1), targets.row(2..4).get(2)), (Some(NARROW_MAX - 1), None));
    }
}
