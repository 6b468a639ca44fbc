//! Ground terms as bytes, for another process with the same module.

use num_bigint::BigUint;

use crate::base::{Name, Span};
use crate::sorts::{Node, OpId, Tree};

const APP: u8 = 0;
const ITER: u8 = 1;
const STR: u8 = 2;
const QID: u8 = 3;
const FLOAT: u8 = 4;

/// Appends the nodes in post-order: what it is, the operator, and its arity or its bytes.
pub fn write(tree: &Tree, out: &mut Vec<u8>) {
    for node in tree.nodes() {
        let (tag, op, bytes) = match node {
            Node::Var(_) => unreachable!("states are ground"),
            Node::App { op, arity } => (APP, op, arity.to_le_bytes().to_vec()),
            Node::Iter { op, count } => (ITER, op, count.to_bytes_le()),
            Node::Str { op, text } => (STR, op, text.to_vec()),
            Node::Qid { op, name } => (QID, op, name.as_str().as_bytes().to_vec()),
            Node::Float { op, bits } => (FLOAT, op, bits.to_le_bytes().to_vec()),
        };
        out.push(tag);
        out.extend_from_slice(&op.0.to_le_bytes());
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(&bytes);
    }
}

/// The term that was written so, if operators below `ops` can make one of it.
pub fn read(mut rest: &[u8], ops: usize) -> Option<Tree> {
    let mut tree = Tree::default();
    let mut subtrees = 0;
    while let Some((&tag, after)) = rest.split_first() {
        let (op, after) = after.split_first_chunk::<4>()?;
        let (length, after) = after.split_first_chunk::<4>()?;
        let (bytes, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        rest = after;
        let op = OpId(u32::from_le_bytes(*op));
        if op.0 as usize >= ops {
            return None;
        }
        let node = match tag {
            APP => Node::App { op, arity: u32::from_le_bytes(bytes.try_into().ok()?) },
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
