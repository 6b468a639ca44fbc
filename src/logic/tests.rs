//! Random formulas on random words: automata, simplification and reductions against the definition
//! of truth. `SEED=n` repeats a run, `CASES=n` tries more.

use super::formula::{Formula, Formulas, Node, PropId};
use super::simplify::candidates;
use super::text::print;
use super::word::{Word, holds, is_bad_prefix};
use super::{SizeLimits, degeneralize, reduce, simplify, translate, translate_plain};
use crate::logic::random::{Random, random_formula, random_word};

fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    println!("{name}={value}");
    value
}

fn formulas_and_words(cases: u64, mut check: impl FnMut(&mut Formulas, Formula, &[Word])) {
    let mut random = Random::new(setting("SEED", 1));
    for case in 0..setting("CASES", cases) {
        let mut formulas = Formulas::default();
        let size = 2 + random.below(11);
        let formula = random_formula(&mut random, &mut formulas, size as usize, 3);
        let words: Vec<Word> = (0..12).map(|_| random_word(&mut random, 3)).collect();
        println!("case {case}: {}", print(&formulas, formula));
        check(&mut formulas, formula, &words);
    }
}

#[test]
fn automata_accept_what_holds() {
    formulas_and_words(3_000, |formulas, formula, words| {
        let normal = formulas.normal(formula);
        let Ok(plain) = translate_plain(formulas, normal, SizeLimits::default()) else {
            panic!("small formulas have small automata")
        };
        let reduced = reduce(&plain);
        let single = degeneralize(&reduced);
        assert!(reduced.size() <= plain.size() && single.sets <= 1);
        for word in words {
            let expected = holds(formulas, formula, word);
            assert_eq!(plain.accepts(word), expected, "plain, {word:?}\n{plain:?}");
            assert_eq!(reduced.accepts(word), expected, "reduced, {word:?}\n{reduced:?}");
            assert_eq!(single.accepts(word), expected, "one acceptance set, {word:?}\n{single:?}");
        }
    });
}

#[test]
fn a_formula_and_its_negation_share_no_word() {
    formulas_and_words(1_000, |formulas, formula, _| {
        let negated = formulas.negated(formula);
        let both = formulas.and(formula, negated);
        let automaton = translate(formulas, both, SizeLimits { states_max: 100_000, ..Default::default() });
        if let Ok(automaton) = automaton {
            assert_eq!(automaton.size(), (0, 0, 0));
        }
    });
}

#[test]
fn simplified_formulas_mean_the_same() {
    formulas_and_words(400, |formulas, formula, words| {
        let normal = formulas.normal(formula);
        let all = candidates(formulas, normal);
        for word in words {
            let expected = holds(formulas, formula, word);
            assert_eq!(holds(formulas, normal, word), expected, "normal form, {word:?}");
            for &candidate in &all {
                assert_eq!(holds(formulas, candidate, word), expected, "{}", print(formulas, candidate));
            }
        }
        let best = simplify(formulas, formula, SizeLimits::default()).expect("small");
        let plain = translate(formulas, formula, SizeLimits::default()).expect("small");
        assert!(best.automaton.size() <= plain.size());
        for word in words {
            assert_eq!(best.automaton.accepts(word), holds(formulas, formula, word), "{word:?}");
        }
        let again = simplify(formulas, formula, SizeLimits::default()).expect("small");
        assert_eq!(best.automaton, again.automaton, "the same result every time");
    });
}

#[test]
fn bad_prefixes_cannot_be_mended() {
    formulas_and_words(1_000, |formulas, formula, words| {
        let normal = formulas.normal(formula);
        for word in words {
            for length in 0..=word.letters.len() {
                let bad = is_bad_prefix(formulas, normal, &word.letters[..length]);
                assert!(!(bad && holds(formulas, formula, word)), "{length} letters of {word:?}");
            }
        }
    });
}

#[test]
fn all_small_formulas() {
    // Every formula with up to two operators over two propositions, on every word of up to three
    // letters.
    let mut formulas = Formulas::default();
    let mut layers: Vec<Vec<Formula>> = Vec::new();
    let base = [Node::True, Node::False, Node::Prop(PropId(0)), Node::Prop(PropId(1))];
    layers.push(base.map(|node| formulas.add(node)).to_vec());
    for operators in 1..=2 {
        let mut layer = Vec::new();
        for &f in &layers[operators - 1] {
            layer.extend([Node::Not(f), Node::Next(f)]);
        }
        for left in 0..operators {
            for &f in &layers[left] {
                for &g in &layers[operators - 1 - left] {
                    layer.extend([Node::And(f, g), Node::Or(f, g), Node::Until(f, g), Node::Release(f, g)]);
                }
            }
        }
        let layer = layer.into_iter().map(|node| formulas.add(node)).collect();
        layers.push(layer);
    }
    let mut words = Vec::new();
    for length in 1..=3u32 {
        for code in 0..1u64 << (2 * length) {
            let letters: Vec<u64> = (0..length).map(|i| code >> (2 * i) & 3).collect();
            words.extend((0..length as usize).map(|back| Word { letters: letters.clone(), back }));
        }
    }
    for formula in layers.concat() {
        let automaton = translate(&mut formulas, formula, SizeLimits::default()).expect("small");
        for word in &words {
            let expected = holds(&formulas, formula, word);
            assert_eq!(automaton.accepts(word), expected, "{} on {word:?}", print(&formulas, formula));
        }
    }
}
