//! Between parsed trees and terms: building normal forms modulo axioms (no equations), and
//! reading terms back for printing.

use std::cmp::Ordering;

use super::heap::{Heap, Layout, SMALL_MAX, Term, VAR_SYM};
use super::number::Int;
use super::symbols::{Class, RawKind, Symbols};
use crate::base::{Name, Span};
use crate::sorts::{Node, OpId, SortId, Tree, Var};

/// How variables inside terms are ordered: by sort symbol, then by name.
pub trait VarOrder {
    fn sort_order(&self, sort: SortId) -> u32;
    fn name_order(&self, name: Name) -> u32;
    fn sort_index(&self, sort: SortId) -> u32;
}

impl Heap {
    /// An application of `sym` to terms in normal form, normalized modulo the axioms of `sym`.
    pub fn apply(&mut self, sy: &Symbols, sym: u32, args: &[Term]) -> Term {
        let info = &sy.info[sym as usize];
        match info.class {
            Class::Free if args.is_empty() => Term::constant(sym),
            Class::Free => {
                let sort = info.diagram.sort(args.iter().map(|&a| self.sort(sy, a)));
                self.alloc(sym, sort, args)
            }
            Class::Iter => self.iterate(sy, sym, &Int::Small(1), args[0]),
            Class::Assoc => self.concat_all(sy, sym, args),
            Class::AssocComm if args.len() == 1 => args[0],
            Class::AssocComm if args.len() == 2 => self.union(sy, sym, args[0], args[1]),
            Class::AssocComm => self.bag_of(sy, sym, args.iter().copied()),
            Class::Cui => self.apply_cui(sy, sym, args[0], args[1]),
        }
    }

    /// An application of `sym` that is not reduced, nor normalized. An iterated operator has its
    /// count before its argument; an associative one may have any number of arguments.
    pub(crate) fn alloc_unreduced(&mut self, sy: &Symbols, sym: u32, args: &[Term]) -> Term {
        let info = &sy.info[sym as usize];
        let sort = match info.class {
            Class::Iter => info.diagram.sort([self.sort(sy, args[1])]),
            _ if args.len() > info.arity => {
                let mut sorts = args.iter().map(|&arg| self.sort(sy, arg));
                let first = sorts.next().expect("more than two arguments");
                sorts.fold(first, |sort, next| info.diagram.binary(sort, next))
            }
            _ => info.diagram.sort(args.iter().map(|&arg| self.sort(sy, arg))),
        };
        let term = self.alloc(sym, sort, args);
        self.mark_unreduced(term);
        term
    }

    fn apply_cui(&mut self, sy: &Symbols, sym: u32, mut a: Term, mut b: Term) -> Term {
        let info = &sy.info[sym as usize];
        if let Some(identity) = info.identity {
            let e = self.consts[identity.constant];
            if identity.left && self.equal(sy, a, e) {
                return b;
            }
            if identity.right && self.equal(sy, b, e) {
                return a;
            }
        }
        if info.comm || info.idem {
            match self.compare(sy, a, b) {
                Ordering::Equal if info.idem => return a,
                Ordering::Greater if info.comm => std::mem::swap(&mut a, &mut b),
                _ => {}
            }
        }
        let sort = info.diagram.sort([self.sort(sy, a), self.sort(sy, b)]);
        self.alloc(sym, sort, &[a, b])
    }

    /// Builds a literal or a constant; `None` for a node that needs arguments.
    pub fn leaf(&mut self, sy: &Symbols, vars: &dyn VarOrder, node: &Node) -> Option<Term> {
        Some(match node {
            Node::Var(var) => {
                let (sort, name) = (vars.sort_order(var.sort), vars.name_order(var.name));
                self.variable(sort, name, *var, vars.sort_index(var.sort))
            }
            Node::App { op, arity: 0 } => sy.constant(op.0),
            Node::Str { text, .. } => self.string(sy, text),
            Node::Qid { name, .. } => self.qid(sy, *name),
            Node::Float { bits, .. } => self.float(sy, f64::from_bits(*bits)),
            Node::App { .. } | Node::Iter { .. } => return None,
        })
    }

    /// A tree as a term, normalized modulo axioms; no equation is applied.
    pub fn build(&mut self, sy: &Symbols, vars: &dyn VarOrder, tree: &Tree) -> Term {
        self.build_with(sy, vars, tree, &mut |_, _| {})
    }

    /// The same, with something done to each node that is built.
    pub fn build_with(
        &mut self,
        sy: &Symbols,
        vars: &dyn VarOrder,
        tree: &Tree,
        finish: &mut dyn FnMut(&mut Heap, Term),
    ) -> Term {
        let mut stack: Vec<Term> = Vec::new();
        for node in tree.nodes() {
            let term = match node {
                Node::App { op, arity } if *arity > 0 => {
                    let start = stack.len() - *arity as usize;
                    let term = self.apply(sy, op.0, &stack[start..]);
                    stack.truncate(start);
                    finish(self, term);
                    term
                }
                Node::Iter { op, count } => {
                    let base = stack.pop().expect("post-order");
                    let term = self.iterate(sy, op.0, &Int::from_big(count.clone()), base);
                    finish(self, term);
                    term
                }
                leaf => self.leaf(sy, vars, leaf).expect("no arguments"),
            };
            stack.push(term);
        }
        stack.pop().expect("a tree has a root")
    }

    /// A term as a tree, with flattened arguments for associative operators.
    pub fn to_tree(&self, sy: &Symbols, t: Term) -> Tree {
        enum Work {
            Visit(Term),
            Emit(Node),
        }
        let mut tree = Tree::default();
        let mut work = vec![Work::Visit(t)];
        while let Some(item) = work.pop() {
            let t = match item {
                Work::Emit(node) => {
                    tree.push(node, Span::default());
                    continue;
                }
                Work::Visit(t) => self.deref(t),
            };
            let span = Span::default();
            if t.is_small() && t.payload() == 0 {
                tree.push(Node::App { op: OpId(sy.numbers.zero), arity: 0 }, span);
            } else if t.is_small() || self.is_big_nat(sy, t) {
                tree.push(Node::App { op: OpId(sy.numbers.zero), arity: 0 }, span);
                let count = self.to_nat(sy, t).expect("a natural").to_big();
                tree.push(Node::Iter { op: OpId(sy.numbers.succ), count }, span);
            } else if t.is_constant() {
                tree.push(Node::App { op: OpId(t.payload()), arity: 0 }, span);
            } else if self.layout(t) == Layout::Raw as u32 || self.sym(sy, t) == sy.string {
                tree.push(self.raw_node(sy, t), span);
            } else {
                let sym = self.sym(sy, t);
                let op = OpId(sym);
                match sy.class(sym) {
                    Class::Iter => {
                        let (count, base) = self.iter_parts(t);
                        work.push(Work::Emit(Node::Iter { op, count: count.to_big() }));
                        work.push(Work::Visit(base));
                    }
                    Class::AssocComm if self.layout(t) >= Layout::Bag as u32 => {
                        let mut pairs = Vec::new();
                        self.bag_pairs(t, &mut pairs);
                        let arity = pairs.iter().map(|p| p.1).sum();
                        work.push(Work::Emit(Node::App { op, arity }));
                        for (element, multiplicity) in pairs.into_iter().rev() {
                            work.extend((0..multiplicity).map(|_| Work::Visit(element)));
                        }
                    }
                    _ => {
                        let args = self.args(t);
                        work.push(Work::Emit(Node::App { op, arity: args.len() as u32 }));
                        work.extend(args.iter().rev().map(|&a| Work::Visit(a)));
                    }
                }
            }
        }
        tree
    }

    fn raw_node(&self, sy: &Symbols, t: Term) -> Node {
        let sym = self.sym(sy, t);
        if sym == VAR_SYM {
            let raw = self.raw(t);
            let var = Var { name: Name::from_index(raw[2].0), sort: SortId(raw[3].0) };
            return Node::Var(var);
        }
        let op = OpId(sym);
        match sy.info[sym as usize].raw.expect("raw nodes have a kind") {
            RawKind::Str => Node::Str { op, text: self.bytes(t).into() },
            RawKind::Qid => Node::Qid { op, name: self.qid_name(t) },
            RawKind::Float => Node::Float { op, bits: self.float_value(t).to_bits() },
        }
    }
}

const _: () = assert!(SMALL_MAX == 1 << 30);
