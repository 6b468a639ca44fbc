//! What `_.=._` makes of random terms with variables is true of their instances.
//!
//! `SEED=n` repeats one run, `CASES=n` tries more equalities.

use crate::random::Random;
use crate::support::*;

const MODULE: &str = "fmod TERMS is
  protecting INITIAL-EQUALITY-PREDICATE .
  sort S .
  ops a b c : -> S .
  ops f n : S -> S .
  op it : S -> S [iter] .
  op g : S S -> S .
  op cm : S S -> S [comm] .
  op as : S S -> S [assoc] .
  op ac : S S -> S [assoc comm] .
  op acu : S S -> S [assoc comm id: a] .
  op id : S S -> S [idem] .
  op ci : S S -> S [comm idem] .
  op ne : S S -> S [assoc comm] .
  vars X Y Z : S .
  eq n(a) = b .
  eq ne(a, b) = c .
endfm
";

const VARIABLES: &[&str] = &["X", "Y", "Z"];
const BINARY: &[&str] = &["g", "cm", "as", "as", "ac", "ac", "acu", "id", "ci", "ne"];
const LEAVES: &[&str] = &["a", "b", "c", "X", "X", "Y", "Y", "Z", "f(X)", "f(Y)", "f(a)", "n(X)", "g(X, Y)"];

/// A term with `?` for its leaves.
fn shape(random: &mut Random, depth: usize) -> String {
    match random.below(8) {
        _ if depth == 0 => "?".to_owned(),
        0 => "?".to_owned(),
        1 => format!("{}({})", random.pick(&["f", "n", "it"]), shape(random, depth - 1)),
        _ => {
            let op = random.pick(BINARY);
            let arity = if op.starts_with('a') || op == "ne" { 2 + random.below(3) } else { 2 };
            let args: Vec<String> = (0..arity).map(|_| shape(random, depth - 1)).collect();
            format!("{op}({})", args.join(", "))
        }
    }
}

fn filled(random: &mut Random, shape: &str, leaves: &[&str]) -> String {
    let mut parts = shape.split('?');
    let mut term = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        term += random.pick(leaves);
        term += part;
    }
    term
}

/// The values of terms, one after the other.
fn values(terms: &[String]) -> Vec<String> {
    let commands: String = terms.iter().map(|term| format!("red {term} .\n")).collect();
    let output = rwl(&["-batch", "-no-banner", "-no-wrap"], &format!("{MODULE}{commands}"));
    assert_eq!(text(&output.stderr), "");
    let said = text(&output.stdout);
    let values: Vec<String> =
        said.lines().filter_map(|line| line.strip_prefix("result Bool: ")).map(str::to_owned).collect();
    assert_eq!(values.len(), terms.len());
    values
}

#[test]
fn initial_equalities_hold_of_instances() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (seed, count) = (number("SEED").unwrap_or(1), number("CASES").unwrap_or(2000));
    let mut random = Random(seed);
    let sides: Vec<[String; 2]> = (0..count)
        .map(|_| {
            let one = shape(&mut random, 2);
            let other = if random.below(3) == 0 { shape(&mut random, 2) } else { one.clone() };
            [one, other].map(|shape| filled(&mut random, &shape, LEAVES))
        })
        .collect();
    let equalities: Vec<String> = sides.iter().map(|[t, u]| format!("{t} .=. {u}")).collect();
    let answers = values(&equalities);
    let mut instances = Vec::new();
    for ([t, u], answer) in sides.iter().zip(&answers) {
        for _ in 0..6 {
            let mut instance = format!("({answer}) == ({t} == {u})");
            for variable in VARIABLES {
                let depth = random.below(3) / 2;
                let value = shape(&mut random, depth);
                instance = instance.replace(variable, &filled(&mut random, &value, &["a", "b", "c", "f(a)"]));
            }
            instances.push(instance);
        }
    }
    for (instance, value) in instances.iter().zip(values(&instances)) {
        assert_eq!(value, "true", "SEED={seed}: {instance}");
    }
    let decided = |word: &str| answers.iter().filter(|answer| *answer == word).count();
    assert!(decided("true") > 0 && decided("false") > 0, "there is something to look at");
}
