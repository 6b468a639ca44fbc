//! `set print graph on`: a term as the list of its distinct subterms.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;

use super::counted;
use crate::mixfix::{PrintOptions, print};
use crate::sorts::{Node, Signature, Tree};

/// The term as Maude shows it as a graph: nodes are numbered from the root, depth first.
pub fn graph(sig: &Signature, tree: &Tree, options: &PrintOptions) -> String {
    // Equal subterms have equal numbers.
    let mut numbers: FxHashMap<(&Node, Vec<u32>), u32> = FxHashMap::default();
    let mut number_at: Vec<u32> = Vec::with_capacity(tree.len());
    let mut place: Vec<usize> = Vec::new();
    for at in 0..tree.len() {
        let args = tree.args(at).iter().map(|&arg| number_at[arg]).collect();
        let next = numbers.len() as u32;
        let number = *numbers.entry((tree.node(at), args)).or_insert(next);
        if number == next {
            place.push(at);
        }
        number_at.push(number);
    }
    let mut shown: Vec<Option<usize>> = vec![None; place.len()];
    let mut order = Vec::new();
    let mut work = vec![number_at[tree.root()]];
    while let Some(number) = work.pop() {
        if shown[number as usize].is_none() {
            shown[number as usize] = Some(order.len());
            order.push(number);
            let args = tree.args(place[number as usize]);
            work.extend(args.iter().rev().map(|&arg| number_at[arg]));
        }
    }
    let (symbols, nodes) =
        (counted(tree.len() as u64, "operator symbol"), counted(order.len() as u64, "node"));
    let mut out = format!("Begin{{Graph Representation}}\n[Term has {symbols} while graph has {nodes}.]\n");
    for (index, &number) in order.iter().enumerate() {
        let at = place[number as usize];
        let name = |op| sig.op(op).name;
        let head = match tree.node(at) {
            Node::App { op, .. } => name(*op).to_string(),
            Node::Iter { op, count } if *count == 1u32.into() => name(*op).to_string(),
            Node::Iter { op, count } => format!("{}^{count}", name(*op)),
            leaf => print(sig, &Tree::leaf(leaf.clone(), tree.span(at)), options),
        };
        let args: Vec<String> = tree
            .args(at)
            .iter()
            .map(|&arg| format!("#{}", shown[number_at[arg] as usize].expect("visited")))
            .collect();
        let args = if args.is_empty() { String::new() } else { format!("({})", args.join(", ")) };
        let _ = writeln!(out, "#{index} = {head}{args}");
    }
    out.push_str("End{Graph Representation}");
    out
}
