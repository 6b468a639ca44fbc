//! Ground terms as bytes, for another process with the same module.

use num_bigint::BigUint;

use crate::base::{Name, Span, put_number, take_number};
use crate::sorts::{Node, OpId, Tree};

const APP: u8 = 0;
const ITER: u8 = 1;
const STR: u8 = 2;
const QID: u8 = 3;
const FLOAT: u8 = 4;

/// Appends the nodes in post-order: what it is, the operator, its arity or how many bytes it has, and these.
pub fn write(tree: &Tree, out: &mut Vec<u8>) {
    for node in tree.nodes() {
        let (tag, op, count, bytes) = match node {
            Node::Var(_) => unreachable!("states are ground"),
            Node::App { op, arity } => (APP, op, Some(*arity), Vec::new()),
            Node::Iter { op, count } => (ITER, op, None, count.to_bytes_le()),
            Node::Str { op, text } => (STR, op, None, text.to_vec()),
            Node::Qid { op, name } => (QID, op, None, name.as_str().as_bytes().to_vec()),
            Node::Float { op, bits } => (FLOAT, op, None, bits.to_le_bytes().to_vec()),
        };
        out.push(tag);
        for number in [op.0.into(), count.map_or(bytes.len() as u64, u64::from)] {
            put_number(number, &mut |more| out.extend_from_slice(more));
        }
        out.extend_from_slice(&bytes);
    }
}

/// The term that was written so, if operators below `ops` can make one of it.
pub fn read(mut rest: &[u8], ops: usize) -> Option<Tree> {
    let mut tree = Tree::default();
    let mut subtrees = 0;
    while let Some((&tag, after)) = rest.split_first() {
        rest = after;
        let op = OpId(take_number(&mut rest)?.try_into().ok()?);
        let count = u32::try_from(take_number(&mut rest)?).ok()?;
        let length = if tag == APP { 0 } else { count as usize };
        let (bytes, after) = rest.split_at_checked(length)?;
        rest = after;
        if op.0 as usize >= ops {
            return None;
        }
        let node = match tag {
            APP => Node::App { op, arity: count },
            ITER => Node::Iter { op, count: BigUint::from_bytes_le(bytes) },
            STR => Node::Str { op, text: bytes.into() },
            QID => Node::Qid { op, name: Name::new(std::str::from_utf8(bytes).ok()?) },
            FLOAT => Node::Float { op, bits: u64::from_le_bytes(bytes.try_into().ok()?) },
            _ => return None,
        };
        if node.arity() > subtrees {
            return None;
        }
        subtrees = subtrees - node.arity() + 1;
        tree.push(node, Span::default());
    }
    (subtrees == 1).then_some(tree)
}
