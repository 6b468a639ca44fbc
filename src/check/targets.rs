//! The ends of all edges, in few bytes: three each, until there are nodes that need four.

use super::space::Node;
use std::ops::Range;

/// Nodes from here on need four bytes.
const NARROW_MAX: Node = 1 << 24;

/// The rows before the first that needs four bytes, and all from there on. Those that are there stay where they
/// are, since to copy so many would take as much memory again.
#[derive(Debug, Default)]
pub struct Targets {
    narrow: Vec<[u8; 3]>,
    wide: Vec<Node>,
}

impl Targets {
    pub fn len(&self) -> usize {
        self.narrow.len() + self.wide.len()
    }

    /// Bytes of the tables.
    pub fn memory(&self) -> usize {
        size_of_val(&self.narrow[..]) + size_of_val(&self.wide[..])
    }

    /// Adds one to the row that starts at `start`.
    #[inline]
    pub fn push(&mut self, start: usize, target: Node) {
        if self.wide.is_empty() && target < NARROW_MAX {
            let [low, middle, high, _] = target.to_le_bytes();
            return self.narrow.push([low, middle, high]);
        }
        if start < self.narrow.len() {
            self.wide.extend(self.narrow.drain(start..).map(|end| wide(&end)));
        }
        self.wide.push(target);
    }

    /// A part of a row.
    #[inline]
    pub fn row(&self, range: Range<usize>) -> Row<'_> {
        match range.start.checked_sub(self.narrow.len()) {
            Some(start) => Row::Wide(&self.wide[start..start + range.len()]),
            None => Row::Narrow(&self.narrow[range]),
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
        let (mut targets, mut start) = (Targets::default(), 0);
        let rows: [&[Node]; 6] =
            [&[0, 255], &[256, NARROW_MAX - 1], &[], &[7, NARROW_MAX, 3], &[], &[Node::MAX, 1, 0]];
        for row in rows {
            for (at, &target) in row.iter().enumerate() {
                targets.push(start, target);
                let known = targets.row(start..targets.len());
                assert_eq!(known.iter().collect::<Vec<_>>(), row[..=at]);
            }
            start = targets.len();
        }
        let mut start = 0;
        for row in rows {
            let known = targets.row(start..start + row.len());
            assert_eq!(known.iter().collect::<Vec<_>>(), row);
            assert_eq!((known.get(1), known.get(3)), (row.get(1).copied(), None));
            start += row.len();
        }
        assert_eq!((targets.len(), targets.memory()), (10, 4 * 3 + 6 * 4));
    }
}
