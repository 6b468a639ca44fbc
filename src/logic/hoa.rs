//! Automata in the Hanoi Omega-Automata format, version 1 (<http://adl.github.io/hoaf/>).

use super::automaton::{Automaton, Cube, PROPS_MAX};
use super::formula::PropId;
use std::fmt::Write;

/// The automaton as HOA text; `name` names it (usually the formula), `prop` its propositions.
pub fn print(automaton: &Automaton, name: &str, prop: impl Fn(PropId) -> String) -> String {
    let props = used_props(automaton);
    let mut out = String::from("HOA: v1\n");
    let _ = writeln!(out, "name: {}", quoted(name));
    // Tools expect a state even where no word is accepted.
    let _ = writeln!(out, "States: {}", automaton.edges.len().max(1));
    for state in &automaton.initial {
        let _ = writeln!(out, "Start: {state}");
    }
    if automaton.initial.is_empty() {
        out.push_str("Start: 0\n");
    }
    let _ = write!(out, "AP: {}", props.len());
    for &p in &props {
        let _ = write!(out, " {}", quoted(&prop(PropId(p))));
    }
    let (kind, condition) = match automaton.sets {
        0 => ("all".to_owned(), "0 t".to_owned()),
        1 => ("Buchi".to_owned(), "1 Inf(0)".to_owned()),
        sets => {
            let all: Vec<String> = (0..sets).map(|set| format!("Inf({set})")).collect();
            (format!("generalized-Buchi {sets}"), format!("{sets} {}", all.join("&")))
        }
    };
    let _ = writeln!(out, "\nacc-name: {kind}\nAcceptance: {condition}");
    out.push_str("tool: \"rwl\"\nproperties: trans-labels explicit-labels trans-acc\n--BODY--\n");
    for (state, edges) in automaton.edges.iter().enumerate() {
        let _ = writeln!(out, "State: {state}");
        for edge in edges {
            let _ = write!(out, "[{}] {}", label(edge.label, &props), edge.to);
            if edge.marks != 0 {
                let sets: Vec<String> = bits(edge.marks).map(|set| set.to_string()).collect();
                let _ = write!(out, " {{{}}}", sets.join(" "));
            }
            out.push('\n');
        }
    }
    if automaton.edges.is_empty() {
        out.push_str("State: 0\n");
    }
    out.push_str("--END--\n");
    out
}

fn bits(word: u64) -> impl Iterator<Item = u32> {
    (0..64).filter(move |bit| word >> bit & 1 == 1)
}

/// The propositions that labels mention, ascending.
pub(super) fn used_props(automaton: &Automaton) -> Vec<u32> {
    let all = automaton.edges.iter().flatten().fold(0, |all, e| all | e.label.pos | e.label.neg);
    (0..PROPS_MAX).filter(|p| all >> p & 1 == 1).collect()
}

fn label(cube: Cube, props: &[u32]) -> String {
    let literal = |(index, &p): (usize, &u32)| match (cube.pos >> p & 1, cube.neg >> p & 1) {
        (1, _) => Some(index.to_string()),
        (_, 1) => Some(format!("!{index}")),
        _ => None,
    };
    let literals: Vec<String> = props.iter().enumerate().filter_map(literal).collect();
    if literals.is_empty() { "t".to_owned() } else { literals.join("&") }
}

pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use crate::logic::{Formulas, SizeLimits, text, translate};

    #[test]
    fn infinitely_often() {
        let mut formulas = Formulas::default();
        let formula = text::parse(&mut formulas, "[] <> (p3 /\\ ~ p5)").expect("well-formed");
        let automaton = translate(&mut formulas, formula, SizeLimits::default()).expect("small");
        let expected = "HOA: v1\nname: \"GF \\\"x\\\"\"\nStates: 1\nStart: 0\nAP: 2 \"p3\" \"p5\"\n\
            acc-name: Buchi\nAcceptance: 1 Inf(0)\ntool: \"rwl\"\n\
            properties: trans-labels explicit-labels trans-acc\n--BODY--\n\
            State: 0\n[t] 0\n[0&!1] 0 {0}\n--END--\n";
        assert_eq!(super::print(&automaton, "GF \"x\"", |p| format!("p{}", p.0)), expected);
    }
}
