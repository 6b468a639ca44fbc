//! What a formula means: its truth on words that end in a loop, and on beginnings of words.
//!
//! This is the definition, written down as plainly as possible. Automata are tested against it, and
//! counterexamples are judged by it.

use super::formula::{Formula, Formulas, Node, PropId};

/// The word `letters[0] letters[1] ...` that goes on with `letters[back]` after its last letter.
/// Bit i of a letter is proposition i.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Word {
    pub letters: Vec<u64>,
    /// Where the loop starts; below the number of letters.
    pub back: usize,
}

impl Word {
    fn after(&self, position: usize) -> usize {
        if position + 1 < self.letters.len() { position + 1 } else { self.back }
    }
}

fn prop_holds(letter: u64, prop: PropId) -> bool {
    prop.0 < 64 && letter >> prop.0 & 1 == 1
}

/// Whether the formula holds at the start of the word.
pub fn holds(formulas: &Formulas, formula: Formula, word: &Word) -> bool {
    let count = word.letters.len();
    assert!(word.back < count, "the loop has a letter");
    let mut values: Vec<Vec<bool>> = vec![Vec::new(); formula.index() + 1];
    for part in formulas.parts(formula) {
        let at = |f: Formula, i: usize| values[f.index()][i];
        let here: Vec<bool> = match formulas.node(part) {
            Node::True => vec![true; count],
            Node::False => vec![false; count],
            Node::Prop(p) => word.letters.iter().map(|&letter| prop_holds(letter, p)).collect(),
            Node::Not(f) => (0..count).map(|i| !at(f, i)).collect(),
            Node::And(f, g) => (0..count).map(|i| at(f, i) && at(g, i)).collect(),
            Node::Or(f, g) => (0..count).map(|i| at(f, i) || at(g, i)).collect(),
            Node::Next(f) => (0..count).map(|i| at(f, word.after(i))).collect(),
            // Least fixed point of `g or (f and next)`; greatest of `g and (f or next)`.
            // Two rounds backwards reach it: the second carries news across the loop.
            Node::Until(f, g) => fixed_point(word, false, |i, next| at(g, i) || (at(f, i) && next)),
            Node::Release(f, g) => fixed_point(word, true, |i, next| at(g, i) && (at(f, i) || next)),
        };
        values[part.index()] = here;
    }
    values[formula.index()][0]
}

fn fixed_point(word: &Word, start: bool, step: impl Fn(usize, bool) -> bool) -> Vec<bool> {
    let mut values = vec![start; word.letters.len()];
    for _ in 0..2 {
        for i in (0..values.len()).rev() {
            values[i] = step(i, values[word.after(i)]);
        }
    }
    values
}

/// Whether every word that begins with these letters violates the formula, as far as that can be
/// seen without looking at what the formula says beyond them (the weak semantics of truncated
/// paths, Eisner and others, CAV 2003). `normal` is in negation normal form.
pub fn is_bad_prefix(formulas: &Formulas, normal: Formula, letters: &[u64]) -> bool {
    let count = letters.len();
    // Position `count` stands for everything after the prefix, where all is hoped for.
    let mut values: Vec<Vec<bool>> = vec![Vec::new(); normal.index() + 1];
    for part in formulas.parts(normal) {
        let mut here = vec![true; count + 1];
        for i in (0..count).rev() {
            let at = |f: Formula, i: usize| values[f.index()][i];
            here[i] = match formulas.node(part) {
                Node::True => true,
                Node::False => false,
                Node::Prop(p) => prop_holds(letters[i], p),
                Node::Not(f) => match formulas.node(f) {
                    Node::Prop(p) => !prop_holds(letters[i], p),
                    _ => unreachable!("negations stand before propositions"),
                },
                Node::And(f, g) => at(f, i) && at(g, i),
                Node::Or(f, g) => at(f, i) || at(g, i),
                Node::Next(f) => at(f, i + 1),
                Node::Until(f, g) => at(g, i) || (at(f, i) && here[i + 1]),
                Node::Release(f, g) => at(g, i) && (at(f, i) || here[i + 1]),
            };
        }
        values[part.index()] = here;
    }
    !values[normal.index()][0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::text::parse;

    #[track_caller]
    fn check(text: &str, letters: &[u64], back: usize, expected: bool) {
        let mut formulas = Formulas::default();
        let formula = parse(&mut formulas, text).expect("well-formed");
        let word = Word { letters: letters.to_vec(), back };
        assert_eq!(holds(&formulas, formula, &word), expected, "{text} on {word:?}");
        let negated = formulas.negated(formula);
        assert_eq!(holds(&formulas, negated, &word), !expected, "not {text} on {word:?}");
    }

    #[test]
    fn loops() {
        check("<> p0", &[0, 0, 1], 0, true);
        check("<> p0", &[0, 0], 0, false);
        check("[] <> p0", &[1, 0], 1, false);
        check("[] <> p0", &[0, 1, 0], 1, true);
        check("<> [] p0", &[0, 1, 1], 2, true);
        check("<> [] p0", &[1, 1, 0], 1, false);
        check("p0 U p1", &[1, 1, 2], 0, true);
        check("p0 U p1", &[1], 0, false);
        check("p0 R p1", &[2], 0, true);
        check("p0 R p1", &[2, 3, 0], 2, true);
        check("p0 R p1", &[2, 0, 3], 2, false);
        check("O O p0", &[1, 0], 0, true);
        // The until at the last position looks around the loop, past its own start.
        check("[] (p0 U p1)", &[1, 2, 1], 0, true);
    }

    #[test]
    fn prefixes() {
        let bad = |text: &str, letters: &[u64]| {
            let mut formulas = Formulas::default();
            let formula = parse(&mut formulas, text).expect("well-formed");
            let normal = formulas.normal(formula);
            is_bad_prefix(&formulas, normal, letters)
        };
        assert!(bad("[] p0", &[1, 0]));
        assert!(!bad("[] p0", &[1, 1]));
        assert!(!bad("<> p0", &[0, 0]));
        assert!(bad("p0 U p1", &[1, 0]));
        assert!(!bad("p0 U p1", &[1, 1]));
        assert!(bad("O ~ p0", &[0, 1]));
        assert!(!bad("O ~ p0", &[0]));
        assert!(!bad("False", &[]) && bad("False", &[0]));
    }
}
