//! Parsed terms made normal modulo the axioms, as Maude echoes, loads and shows them.
//!
//! There are two ways. In patterns ([`normalize`]) nested applications of an associative operator become one; in all
//! other terms ([`normalize_levels`]) they stay nested. At each node identities vanish, idempotent pairs collapse, arguments
//! of commutative operators are sorted, and iterated operators are merged. Equal subterms get equal numbers, so comparing for
//! equality is comparing numbers.

use std::cmp::Ordering;

use num_bigint::BigUint;
use rustc_hash::FxHashMap;

use crate::base::Span;
use crate::sorts::{Node, OpId, Signature, SortId, SortIx, Tree, Var};
use crate::term::{Class, Symbols, VarOrder};

/// The normal form of a pattern: left-hand sides, `p := t`, `t => p`, the pattern of `match`.
pub fn normalize(sy: &Symbols, vars: &dyn VarOrder, tree: &Tree) -> Tree {
    run(sy, vars, tree, true)
}

/// The term with each of its nodes made normal by itself: right-hand sides, other terms in
/// conditions, subjects of commands.
pub fn normalize_levels(sy: &Symbols, vars: &dyn VarOrder, tree: &Tree) -> Tree {
    run(sy, vars, tree, false)
}

fn run(sy: &Symbols, vars: &dyn VarOrder, tree: &Tree, flatten: bool) -> Tree {
    let mut levels = Levels { sy, vars, flatten, terms: Vec::new(), numbers: FxHashMap::default() };
    let root = levels.load(tree);
    levels.tree(root)
}

struct Levels<'a> {
    sy: &'a Symbols,
    vars: &'a dyn VarOrder,
    /// Do nested applications of an associative operator become one?
    flatten: bool,
    /// Every distinct subterm once, arguments before their operators.
    terms: Vec<(Node, Vec<u32>)>,
    numbers: FxHashMap<(Node, Vec<u32>), u32>,
}

impl Levels<'_> {
    fn load(&mut self, tree: &Tree) -> u32 {
        let mut stack: Vec<u32> = Vec::new();
        for node in tree.nodes() {
            let args = stack.split_off(stack.len() - node.arity());
            let number = match node {
                Node::App { op, arity } if *arity > 0 => self.apply(*op, args),
                Node::Iter { op, count } => self.iterate(*op, count, args[0]),
                leaf => self.intern(leaf.clone(), args),
            };
            stack.push(number);
        }
        stack.pop().expect("a tree has a root")
    }

    fn intern(&mut self, node: Node, args: Vec<u32>) -> u32 {
        let key = (node, args);
        if let Some(&number) = self.numbers.get(&key) {
            return number;
        }
        let number = self.terms.len() as u32;
        self.terms.push(key.clone());
        self.numbers.insert(key, number);
        number
    }

    fn apply(&mut self, op: OpId, mut args: Vec<u32>) -> u32 {
        let info = &self.sy.info[op.index()];
        if info.class == Class::Iter {
            return self.iterate(op, &BigUint::from(1u32), args[0]);
        }
        if self.flatten && matches!(info.class, Class::Assoc | Class::AssocComm) {
            let inner = |arg: &u32| match &self.terms[*arg as usize] {
                (Node::App { op: inner, .. }, args) if *inner == op => args.clone(),
                _ => vec![*arg],
            };
            args = args.iter().flat_map(inner).collect();
        }
        if let Some(identity) = info.identity {
            let unit = self.load(&self.sy.identities[identity.constant].clone());
            // As in Maude, an identity on the left vanishes wherever something follows, one on the
            // right wherever something goes before.
            let kept = match (identity.left, identity.right) {
                (true, true) => usize::MAX,
                (true, false) => args.len() - 1,
                _ => 0,
            };
            let mut place = 0..;
            args.retain(|&arg| place.next() == Some(kept) || arg != unit);
            match args.as_slice() {
                [] => return unit,
                [one] => return *one,
                _ => {}
            }
        }
        if info.comm {
            args.sort_by(|&a, &b| self.compare(a, b));
        }
        if info.idem && args.len() == 2 && args[0] == args[1] {
            return args[0];
        }
        let arity = args.len() as u32;
        self.intern(Node::App { op, arity }, args)
    }

    fn iterate(&mut self, op: OpId, count: &BigUint, base: u32) -> u32 {
        if let (Node::Iter { op: inner, count: more }, args) = &self.terms[base as usize]
            && *inner == op
        {
            let (count, args) = (count + more, args.clone());
            return self.intern(Node::Iter { op, count }, args);
        }
        self.intern(Node::Iter { op, count: count.clone() }, vec![base])
    }

    /// Maude's order on terms.
    fn compare(&self, a: u32, b: u32) -> Ordering {
        let mut work = vec![(a, b)];
        while let Some((a, b)) = work.pop() {
            if a == b {
                continue;
            }
            let order = self.compare_tops(a, b, &mut work);
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }

    /// Compares what the tops decide and pushes the pairs that are left, the first pair last.
    fn compare_tops(&self, a: u32, b: u32, work: &mut Vec<(u32, u32)>) -> Ordering {
        let ((x, xs), (y, ys)) = (&self.terms[a as usize], &self.terms[b as usize]);
        let rank = |node: &Node| self.sy.rank(node.op().map_or(u32::MAX, |op| op.0));
        let by_rank = rank(x).cmp(&rank(y));
        if by_rank != Ordering::Equal {
            return by_rank;
        }
        match (x, y) {
            (Node::Var(x), Node::Var(y)) => self.var_key(*x).cmp(&self.var_key(*y)),
            (Node::Str { text: x, .. }, Node::Str { text: y, .. }) => {
                // Bytes count as signed, as in Maude.
                x.iter().map(|&b| b as i8).cmp(y.iter().map(|&b| b as i8))
            }
            (Node::Qid { name: x, .. }, Node::Qid { name: y, .. }) => x.as_str().cmp(y.as_str()),
            (Node::Float { bits: x, .. }, Node::Float { bits: y, .. }) => {
                f64::from_bits(*x).partial_cmp(&f64::from_bits(*y)).unwrap_or(Ordering::Equal)
            }
            (Node::Iter { count: m, .. }, Node::Iter { count: n, .. }) if m != n => m.cmp(n),
            (Node::App { op, .. }, Node::App { .. }) if self.sy.class(op.0) == Class::AssocComm => {
                let (xs, ys) = (runs(xs), runs(ys));
                if xs.len() != ys.len() {
                    return xs.len().cmp(&ys.len());
                }
                for (&(x, m), &(y, n)) in xs.iter().zip(&ys) {
                    // Multiplicities come before the elements; elements before are equal by number.
                    if m != n {
                        return m.cmp(&n);
                    }
                    if x != y {
                        work.push((x, y));
                        break;
                    }
                }
                Ordering::Equal
            }
            _ if xs.len() != ys.len() => xs.len().cmp(&ys.len()),
            _ => {
                work.extend(xs.iter().copied().zip(ys.iter().copied()).find(|(x, y)| x != y));
                Ordering::Equal
            }
        }
    }

    fn var_key(&self, var: Var) -> (u32, u32) {
        (self.vars.sort_order(var.sort), self.vars.name_order(var.name))
    }

    fn tree(&self, root: u32) -> Tree {
        let mut tree = Tree::default();
        let mut work = vec![(root, false)];
        while let Some((number, done)) = work.pop() {
            let (node, args) = &self.terms[number as usize];
            if done || args.is_empty() {
                tree.push(node.clone(), Span::default());
            } else {
                work.push((number, true));
                work.extend(args.iter().rev().map(|&arg| (arg, false)));
            }
        }
        tree
    }
}

/// Equal neighbours counted.
fn runs(args: &[u32]) -> Vec<(u32, usize)> {
    args.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect()
}

/// The least sort of a term as it stands.
pub fn sort_of_tree(sig: &Signature, sy: &Symbols, tree: &Tree) -> SortId {
    let mut stack: Vec<SortId> = Vec::new();
    for node in tree.nodes() {
        let args = stack.split_off(stack.len() - node.arity());
        let indices: Vec<SortIx> = args.iter().map(|&s| sig.sorts.get(s).index).collect();
        let (op, index) = match node {
            Node::Var(var) => {
                stack.push(var.sort);
                continue;
            }
            Node::App { op, arity } if *arity > 2 && sig.op(*op).arity() == 2 => {
                let fold = |a, b| sig.diagram(*op).binary(a, b);
                (*op, indices.into_iter().reduce(fold).expect("arguments"))
            }
            Node::App { op, .. } => (*op, sig.diagram(*op).sort(indices)),
            Node::Iter { op, count } => (*op, iterate_sort(sig, *op, indices[0], count)),
            Node::Str { op, text } => (*op, sy.literal_sort(op.0, text.len() == 1)),
            Node::Qid { op, .. } => (*op, sy.info[op.index()].constant_sort),
            Node::Float { op, bits } => (*op, sy.literal_sort(op.0, f64::from_bits(*bits).is_finite())),
        };
        stack.push(sig.sorts.at(sig.op(op).range, index));
    }
    stack.pop().expect("a tree has a root")
}

/// The sort after `count` applications: sorts repeat sooner or later.
fn iterate_sort(sig: &Signature, op: OpId, start: SortIx, count: &BigUint) -> SortIx {
    let mut seen = vec![start];
    let mut left = count.clone();
    while left > BigUint::ZERO {
        let next = sig.diagram(op).sort([*seen.last().expect("starts with one")]);
        left -= 1u32;
        if let Some(place) = seen.iter().position(|&s| s == next) {
            let period = BigUint::from(seen.len() - place);
            let rest = (left % period).iter_u32_digits().next().unwrap_or(0) as usize;
            return seen[place + rest];
        }
        seen.push(next);
    }
    *seen.last().expect("starts with one")
}
