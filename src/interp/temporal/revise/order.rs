//! The order in which the authors' tool takes up states: that of their meta-representations, where
//! every constant and operator is a quoted identifier and these go by their letters. How many node
//! sets there are depends on it.

use std::cmp::Ordering;

use crate::sorts::{Node, Signature, Tree};

/// Compares two terms in normal form as meta-terms.
pub fn meta_order(sig: &Signature, a: &Tree, b: &Tree) -> Ordering {
    let mut work = vec![(a.root(), b.root())];
    while let Some((left, right)) = work.pop() {
        let (left_args, right_args) = (a.args(left), b.args(right));
        // A constant comes before an application.
        let order = left_args.is_empty().cmp(&right_args.is_empty()).reverse();
        let order = order.then_with(|| name(sig, a.node(left)).cmp(&name(sig, b.node(right))));
        let order = order.then_with(|| left_args.len().cmp(&right_args.len()));
        if order != Ordering::Equal {
            return order;
        }
        work.extend(left_args.into_iter().zip(right_args).rev());
    }
    Ordering::Equal
}

/// The quoted identifier of an operator, without its sort.
fn name(sig: &Signature, node: &Node) -> String {
    match node {
        Node::Var(var) => var.name.to_string(),
        Node::App { op, .. } => sig.op(*op).name.to_string(),
        Node::Iter { op, count } => match count.iter_u32_digits().collect::<Vec<u32>>()[..] {
            [1] => sig.op(*op).name.to_string(),
            _ => format!("{}^{count}", sig.op(*op).name),
        },
        Node::Str { text, .. } => String::from_utf8_lossy(text).into_owned(),
        Node::Qid { name, .. } => name.to_string(),
        Node::Float { bits, .. } => f64::from_bits(*bits).to_string(),
    }
}
