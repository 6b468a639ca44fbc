//! Automata as pictures, in the language of Graphviz.

use super::automaton::{Automaton, Cube};
use super::formula::PropId;
use super::hoa::{quoted, used_props};
use std::fmt::Write;

/// The automaton as a DOT graph; numbers in braces are acceptance sets.
pub fn print(automaton: &Automaton, name: &str, prop: impl Fn(PropId) -> String) -> String {
    let props = used_props(automaton);
    let mut out = format!("digraph {} {{\n  rankdir=LR\n  node [shape=circle]\n", quoted(name));
    for (index, state) in automaton.initial.iter().enumerate() {
        let _ = writeln!(out, "  start{index} [shape=point, label=\"\"]\n  start{index} -> {state}");
    }
    for (state, edges) in automaton.edges.iter().enumerate() {
        let _ = writeln!(out, "  {state}");
        for edge in edges {
            let mut text = label(edge.label, &props, &prop);
            if edge.marks != 0 {
                let sets: Vec<String> =
                    (0..64).filter(|set| edge.marks >> set & 1 == 1).map(|set| set.to_string()).collect();
                let _ = write!(text, " {{{}}}", sets.join(","));
            }
            let _ = writeln!(out, "  {state} -> {} [label={}]", edge.to, quoted(&text));
        }
    }
    out.push_str("}\n");
    out
}

fn label(cube: Cube, props: &[u32], prop: impl Fn(PropId) -> String) -> String {
    let literal = |&p: &u32| match (cube.pos >> p & 1, cube.neg >> p & 1) {
        (1, _) => Some(prop(PropId(p))),
        (_, 1) => Some(format!("~ {}", prop(PropId(p)))),
        _ => None,
    };
    let literals: Vec<String> = props.iter().filter_map(literal).collect();
    if literals.is_empty() { "True".to_owned() } else { literals.join(" /\\ ") }
}

#[cfg(test)]
mod tests {
    use crate::logic::{Formulas, SizeLimits, text, translate};

    #[test]
    fn infinitely_often() {
        let mut formulas = Formulas::default();
        let formula = text::parse(&mut formulas, "[] <> p0").expect("well-formed");
        let automaton = translate(&mut formulas, formula, SizeLimits::default()).expect("small");
        let expected = "digraph \"GF\" {\n  rankdir=LR\n  node [shape=circle]\n  \
            start0 [shape=point, label=\"\"]\n  start0 -> 0\n  0\n  \
            0 -> 0 [label=\"True\"]\n  0 -> 0 [label=\"inCs {0}\"]\n}\n";
        assert_eq!(super::print(&automaton, "GF", |_| "inCs".to_owned()), expected);
    }
}
