//! Random rewrite theories against Maude: soups, lists, soups inside soups and free terms, with
//! conditions of every kind.
//!
//! Each rule makes terms no larger than they were (up to a factor), so there are few states.

use std::fmt::Write;

use crate::random::Random;
use crate::random_against_maude::compare_with_maude;

/// `A` and `B` are elements; `soup`, `list` and `nest` hold them. `[_]` puts a soup into an
/// element.
const SIGNATURE: &str =
    "  sorts A B E Soup List Net S . subsorts A B < E < Soup List . subsorts Soup List < S .
  ops a b c : -> A . ops p q : -> B . op none : -> Soup . op nil : -> List .
  op f : E -> E . op g : E E -> E . op [_] : Soup -> E . op <_> : List -> E .
  op k : E E -> E [comm] . op z : E -> E [frozen (1)] .
  op _;_ : Soup Soup -> Soup [assoc comm id: none] .
  op __ : List List -> List [assoc id: nil] .
  op _+_ : Soup Soup -> Soup [assoc comm] . op _._ : List List -> List [assoc] .
  vars X Y : A . vars P Q : B . vars U V W : E . vars M N : Soup . vars K L : List .
  op small : E -> Bool . eq small(a) = true . eq small(p) = true . eq small(U) = false [owise] .
  op next : E -> E . eq next(a) = b . eq next(b) = c . eq next(c) = a . eq next(p) = q . eq next(q) = p .
  eq next(f(U)) = U . eq next(U) = U [owise] .
";

const ELEMENTS: &[&str] = &["X", "Y", "P", "Q", "U", "V", "W"];
const CONSTANTS: &[&str] = &["a", "b", "c", "p", "q"];

fn element(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.below(3) == 0 {
        return random.pick(CONSTANTS).to_owned();
    }
    match random.below(9) {
        0 => format!("f({})", element(random, depth - 1)),
        1 => format!("g({}, {})", element(random, depth - 1), element(random, depth - 1)),
        2 => format!("k({}, {})", element(random, depth - 1), element(random, depth - 1)),
        3 => format!("z({})", element(random, depth - 1)),
        4 | 6 => format!("[{}]", soup(random, depth - 1)),
        5 | 7 => format!("< {} >", list(random, depth - 1)),
        _ => random.pick(CONSTANTS).to_owned(),
    }
}

fn joined(random: &mut Random, depth: usize, op: &str) -> String {
    let parts: Vec<String> = (0..2 + random.below(4)).map(|_| element(random, depth)).collect();
    parts.join(op)
}

fn soup(random: &mut Random, depth: usize) -> String {
    if random.below(3) == 0 { joined(random, depth, " + ") } else { joined(random, depth, " ; ") }
}

fn list(random: &mut Random, depth: usize) -> String {
    if random.below(3) == 0 { joined(random, depth, " . ") } else { joined(random, depth, " ") }
}

/// A ground term of some shape.
fn ground(random: &mut Random) -> String {
    match random.below(3) {
        0 => soup(random, 2),
        1 => list(random, 2),
        _ => element(random, 3),
    }
}

/// An element pattern.
fn part(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.below(2) == 0 {
        return match random.below(6) {
            0 => random.pick(CONSTANTS).to_owned(),
            1 | 2 => random.pick(&["U", "V", "W"]).to_owned(),
            _ => random.pick(ELEMENTS).to_owned(),
        };
    }
    match random.below(6) {
        0 => format!("f({})", part(random, depth - 1)),
        1 => format!("g({}, {})", part(random, depth - 1), part(random, depth - 1)),
        2 => format!("k({}, {})", part(random, depth - 1), part(random, depth - 1)),
        3 => format!("[{}]", many(random, depth - 1, &["M", "N"], " ; ")),
        4 => format!("< {} >", many(random, depth - 1, &["K", "L"], " ")),
        _ => format!("[{}]", many(random, depth - 1, &["M", "N"], " + ")),
    }
}

/// Elements and collectors.
fn many(random: &mut Random, depth: usize, collectors: &[&'static str], op: &str) -> String {
    let mut parts: Vec<String> = (0..1 + random.below(2)).map(|_| part(random, depth)).collect();
    for collector in collectors.iter().take(random.below(3)) {
        let place = random.below(parts.len() + 1);
        parts.insert(place, (*collector).to_owned());
    }
    parts.join(op)
}

/// Soups and lists inside a soup or a list.
fn nested(random: &mut Random) -> String {
    let inner = |random: &mut Random| match random.below(4) {
        0 => format!("[{}]", many(random, 0, &["M", "N"], " ; ")),
        1 => format!("[{}]", random.pick(&["M", "N", "U ; M", "X ; N", "N ; M"])),
        2 => format!("[{}]", random.pick(&["M", "N", "V ; M", "Y ; N", "N ; M"])),
        _ => format!("< {} >", many(random, 0, &["K", "L"], " ")),
    };
    let op = random.pick(&[" ; ", " ; ", " + ", " ", " . "]);
    let mut parts = vec![inner(random), inner(random)];
    if random.below(2) == 0 {
        let collector = if op == " ; " || op == " + " { "O" } else { "J" };
        let third = if random.below(2) == 0 { collector.to_owned() } else { part(random, 0) };
        parts.insert(random.below(3), third);
    }
    parts.join(op)
}

/// A term that has these.
fn nested_ground(random: &mut Random) -> String {
    let op = random.pick(&[" ; ", " ; ", " + ", " ", " . "]);
    let inner = |random: &mut Random| match random.below(4) {
        0 => element(random, 0),
        1 => format!("< {} >", joined(random, 0, " ")),
        2 => "[none]".to_owned(),
        _ => format!(
            "[{}]",
            (0..1 + random.below(3)).map(|_| element(random, 0)).collect::<Vec<_>>().join(" ; ")
        ),
    };
    (0..2 + random.below(3)).map(|_| inner(random)).collect::<Vec<_>>().join(op)
}

fn left(random: &mut Random) -> String {
    match random.below(7) {
        6 => nested(random),
        0 => many(random, 1, &["M", "N"], " ; "),
        1 => many(random, 1, &["M", "N"], " + "),
        2 => many(random, 1, &["K", "L"], " "),
        3 => many(random, 1, &["K", "L"], " . "),
        4 => format!("{}({})", random.pick(&["f", "f", "z"]), part(random, 1)),
        // Not a variable alone: it would match everywhere.
        _ => match part(random, 2) {
            part if part.len() == 1 => random.pick(CONSTANTS).to_owned(),
            part => part,
        },
    }
}

/// The variables of a pattern.
fn variables(text: &str) -> Vec<&'static str> {
    let all = ["X", "Y", "P", "Q", "U", "V", "W", "M", "N", "K", "L"];
    all.into_iter().filter(|var| text.contains(var)).collect()
}

/// One side of a rule made of the pattern's: the same with an element replaced, dropped or moved.
fn right(random: &mut Random, lhs: &str) -> String {
    let vars: Vec<&str> = variables(lhs).into_iter().filter(|v| ELEMENTS.contains(v)).collect();
    let value = match (random.below(5), vars.is_empty()) {
        (0 | 3, false) => format!("next({})", vars[random.below(vars.len())]),
        (1 | 2, false) => vars[random.below(vars.len())].to_owned(),
        _ => random.pick(CONSTANTS).to_owned(),
    };
    // Replace one occurrence of an element.
    let places: Vec<(usize, &str)> = ELEMENTS
        .iter()
        .chain(CONSTANTS)
        .flat_map(|word| lhs.match_indices(word))
        .filter(|(at, word)| {
            let around = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
            around(lhs[..*at].chars().next_back()) && around(lhs[at + word.len()..].chars().next())
        })
        .collect();
    if places.is_empty() {
        return lhs.to_owned();
    }
    let (at, word) = places[random.below(places.len())];
    format!("{}{value}{}", &lhs[..at], &lhs[at + word.len()..])
}

fn condition(random: &mut Random, lhs: &str) -> (String, Option<&'static str>) {
    let vars: Vec<&str> = variables(lhs).into_iter().filter(|v| ELEMENTS.contains(v)).collect();
    if vars.is_empty() {
        return (String::new(), None);
    }
    let var = vars[random.below(vars.len())];
    match random.below(12) {
        8 => (format!(" if J T := {var} next({var}) a"), Some("T")),
        9 => (format!(" if J T H := {var} next({var}) a /\\ T =/= {var}"), Some("T")),
        10 => (format!(" if O ; T := {var} ; next({var}) ; p /\\ T => R /\\ small(R)"), Some("R")),
        0 => (format!(" if {var} : {}", random.pick(&["A", "B"])), None),
        1 => (format!(" if {var} =/= {}", random.pick(CONSTANTS)), None),
        2 => (format!(" if small({var})"), None),
        3 => (format!(" if T := next({var})"), Some("T")),
        4 => (format!(" if {var} => T"), Some("T")),
        5 => (format!(" if {var} => T /\\ T =/= {var}"), Some("T")),
        6 => (format!(" if T ; O := {var} ; a ; next({var})"), Some("T")),
        7 => (format!(" if [T ; O] := [{var} ; a ; next({var})] /\\ small(T) = false"), Some("T")),
        _ => (String::new(), None),
    }
}

fn rule(random: &mut Random, number: usize, left: fn(&mut Random) -> String) -> String {
    if random.below(15) == 0 {
        // Whole soups and lists, and parts of them.
        let rules =
            ["rl M => a", "rl K => nil", "crl M => none if M =/= a", "crl K => b if K =/= a b", "rl N => N"];
        return format!("  {} .\n", random.pick(&rules));
    }
    let lhs = left(random);
    let mut rhs = right(random, &lhs);
    let (condition, bound) =
        if random.below(2) == 0 { condition(random, &lhs) } else { (String::new(), None) };
    if let Some(bound) = bound
        && random.below(3) > 0
    {
        let vars: Vec<&str> = variables(&lhs).into_iter().filter(|v| ELEMENTS.contains(v)).collect();
        rhs = rhs.replace(vars[random.below(vars.len())], bound);
    }
    let word = if condition.is_empty() { "rl" } else { "crl" };
    let label = if random.below(2) == 0 { format!(" [r{number}] :") } else { String::new() };
    format!("  {word}{label} {lhs} => {rhs}{condition} .\n")
}

fn theory(seed: u64) -> String {
    let mut random = Random(seed ^ 0x5EED_0000);
    let random = &mut random;
    let mut text = format!(
        "set show timing off .\nmod R{seed} is\n{SIGNATURE}  vars T R : E . var O : Soup . vars J H : List .\n"
    );
    let is_nested = seed.is_multiple_of(3);
    let left: fn(&mut Random) -> String = if is_nested { nested } else { left };
    let term: fn(&mut Random) -> String = if is_nested { nested_ground } else { ground };
    for i in 0..1 + random.below(4) {
        text += &rule(random, i, left);
    }
    text += "endm\n";
    for _ in 0..3 {
        let term = term(random);
        let arrow = random.pick(&["=>1", "=>+", "=>*", "=>!"]);
        let depth = 1 + random.below(4);
        let goal = match random.below(4) {
            0 => left(random),
            1 => format!("M such that small({})", random.pick(CONSTANTS)),
            2 => "S:[S] such that S:[S] => S':[S]".to_owned(),
            _ => "S:[S]".to_owned(),
        };
        let _ = writeln!(text, "search [12, {depth}] {term} {arrow} {goal} .");
        let _ = writeln!(text, "show path 1 .\nshow search graph .\ncont 2 .");
        let _ = writeln!(text, "rew [{}] {term} .\ncont 3 .", 1 + random.below(5));
        let _ = writeln!(text, "frew [{}, {}] {term} .\ncont 3 .", 1 + random.below(6), 1 + random.below(2));
    }
    text
}

#[test]
fn random_rules_rewrite_as_in_maude() {
    compare_with_maude("rules", 40, theory);
}
