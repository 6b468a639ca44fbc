//! Parsed terms: what a bubble means once its operators are known.
//!
//! A tree is a list of nodes in post-order (arguments before their operator, the root last),
//! so that copying, translating and evaluating are loops and no depth overflows a stack.

use std::ops::Range;
use std::sync::Arc;

use num_bigint::BigUint;

use super::{OpId, SortId};
use crate::base::{Name, Span};

/// A variable: its name and its sort (an error sort for a variable of a kind).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Var {
    pub name: Name,
    pub sort: SortId,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    Var(Var),
    /// An operator over the preceding `arity` subtrees. An assoc operator may have more than two.
    App {
        op: OpId,
        arity: u32,
    },
    /// `count >= 1` applications of an iter operator to the preceding subtree. `5` is `s_^5(0)`.
    Iter {
        op: OpId,
        count: BigUint,
    },
    /// A literal of the operator with hook `StringSymbol`; the text is unescaped bytes.
    Str {
        op: OpId,
        text: Arc<[u8]>,
    },
    /// A literal of the operator with hook `QuotedIdentifierSymbol`; without the quote.
    Qid {
        op: OpId,
        name: Name,
    },
    /// A literal of the operator with hook `FloatSymbol`.
    Float {
        op: OpId,
        bits: u64,
    },
}

impl Node {
    pub fn arity(&self) -> usize {
        match self {
            Node::App { arity, .. } => *arity as usize,
            Node::Iter { .. } => 1,
            _ => 0,
        }
    }

    /// The operator, unless this is a variable.
    pub fn op(&self) -> Option<OpId> {
        match self {
            Node::Var(_) => None,
            Node::App { op, .. }
            | Node::Iter { op, .. }
            | Node::Str { op, .. }
            | Node::Qid { op, .. }
            | Node::Float { op, .. } => Some(*op),
        }
    }
}

/// A term as a list of nodes in post-order.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    /// How many nodes the subtree ending at each place has.
    sizes: Vec<u32>,
    spans: Vec<Span>,
}

impl PartialEq for Tree {
    fn eq(&self, other: &Tree) -> bool {
        self.nodes == other.nodes
    }
}
impl Eq for Tree {}

impl Tree {
    /// An empty tree with room for this many nodes.
    pub fn with_capacity(len: usize) -> Tree {
        Tree {
            nodes: Vec::with_capacity(len),
            sizes: Vec::with_capacity(len),
            spans: Vec::with_capacity(len),
        }
    }

    /// Appends a node over the last `node.arity()` subtrees.
    pub fn push(&mut self, node: Node, span: Span) {
        let mut size = 1;
        for _ in 0..node.arity() {
            let child = self.sizes.len() - size as usize;
            size += self.sizes[child];
        }
        self.nodes.push(node);
        self.sizes.push(size);
        self.spans.push(span);
    }

    /// Appends a whole tree as the next subtree.
    pub fn append(&mut self, other: &Tree) {
        self.nodes.extend_from_slice(&other.nodes);
        self.sizes.extend_from_slice(&other.sizes);
        self.spans.extend_from_slice(&other.spans);
    }

    /// A tree of one node.
    pub fn leaf(node: Node, span: Span) -> Tree {
        let mut tree = Tree::with_capacity(1);
        tree.push(node, span);
        tree
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn root(&self) -> usize {
        self.nodes.len() - 1
    }

    pub fn node(&self, at: usize) -> &Node {
        &self.nodes[at]
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub fn span(&self, at: usize) -> Span {
        self.spans[at]
    }

    /// The places of the arguments of the node at `at`, left to right.
    pub fn args(&self, at: usize) -> Vec<usize> {
        let mut args = Vec::with_capacity(self.nodes[at].arity());
        let mut end = at;
        for _ in 0..self.nodes[at].arity() {
            args.push(end - 1);
            end -= self.sizes[end - 1] as usize;
        }
        args.reverse();
        args
    }

    /// The places that the subtree with root `at` covers.
    pub fn range(&self, at: usize) -> Range<usize> {
        at + 1 - self.sizes[at] as usize..at + 1
    }

    /// A copy of the subtree with root `at`.
    pub fn subtree(&self, at: usize) -> Tree {
        let range = self.range(at);
        Tree {
            nodes: self.nodes[range.clone()].to_vec(),
            sizes: self.sizes[range.clone()].to_vec(),
            spans: self.spans[range].to_vec(),
        }
    }

    /// Are the subtrees at two places equal?
    pub fn same(&self, a: usize, other: &Tree, b: usize) -> bool {
        self.nodes[self.range(a)] == other.nodes[other.range(b)]
    }

    /// The variables in order of first occurrence (left to right).
    pub fn vars(&self) -> Vec<Var> {
        let mut vars = Vec::new();
        for node in &self.nodes {
            if let Node::Var(var) = node
                && !vars.contains(var)
            {
                vars.push(*var);
            }
        }
        vars
    }
}
