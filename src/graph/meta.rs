//! The order in which the authors' tool takes up states: that of their meta-representations, where
//! every constant and operator is a quoted identifier and these go by their letters. How many node
//! sets there are depends on it.

use std::borrow::Cow;

use crate::sorts::{Node, Signature, Tree};

/// Appends bytes of a term in normal form that are in the order of meta-terms.
pub fn meta_key(sig: &Signature, tree: &Tree, out: &mut Vec<u8>) {
    let mut work = vec![tree.root()];
    while let Some(at) = work.pop() {
        let args = tree.args(at);
        // A constant comes before an application.
        out.push(u8::from(!args.is_empty()));
        out.extend_from_slice(name(sig, tree.node(at)).as_bytes());
        out.push(0);
        if !args.is_empty() {
            out.extend_from_slice(&(args.len() as u32).to_be_bytes());
        }
        work.extend(args.into_iter().rev());
    }
}

/// The quoted identifier of an operator, without its sort.
fn name<'a>(sig: &'a Signature, node: &'a Node) -> Cow<'a, str> {
    match node {
        Node::Var(var) => var.name.as_str().into(),
        Node::App { op, .. } => sig.op(*op).name.as_str().into(),
        Node::Iter { op, count } => match count.iter_u32_digits().collect::<Vec<u32>>()[..] {
            [1] => sig.op(*op).name.as_str().into(),
            _ => format!("{}^{count}", sig.op(*op).name).into(),
        },
        Node::Str { text, .. } => String::from_utf8_lossy(text),
        Node::Qid { name, .. } => name.as_str().into(),
        Node::Float { bits, .. } => f64::from_bits(*bits).to_string().into(),
    }
}
