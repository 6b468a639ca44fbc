//! The order of matchers against Maude: soup patterns with elements that match in several ways, because
//! they hold a soup, a list or a commutative operator themselves.
//!
//! Each theory has one equation or rule whose result shows the matcher.

use std::fmt::Write;

use crate::random::Random;
use crate::random_against_maude::compare_with_maude;

const SIGNATURE: &str =
    "  sorts Low El Lows Soup List St . subsorts Low < El < Soup List . subsorts Low < Lows < Soup .
  ops a b : -> Low . ops c d : -> El .
  op f : El -> El . op g : El El -> El . op k : El El -> El [comm] . op h : El El -> El .
  op hold : Soup -> El . op bag : Soup El -> El . op row : List -> El .
  ops v w : Soup -> El . op u : List -> El .
  op none : -> Lows . op __ : Soup Soup -> Soup [assoc comm id: none] . op __ : Lows Lows -> Lows [ditto] .
  op _+_ : Soup Soup -> Soup [assoc comm] . op _+_ : Lows Lows -> Lows [ditto] .
  op nil : -> List . op _;_ : List List -> List [assoc id: nil] .
  op {_} : Soup -> St . op <_> : List -> St .
  vars X Y Z U V W E F G : El . vars P Q R S : Soup . vars C D : Lows . vars L M N O : List .
  op no : El El -> Bool . eq no(X, X) = true . eq no(X, Y) = false [owise] .
";

/// An element without variables.
fn ground(random: &mut Random) -> String {
    let one = |random: &mut Random| random.pick(&["a", "b", "c", "d", "a", "b"]);
    let many = |random: &mut Random, op: &str| {
        let parts: Vec<&str> = (0..2 + random.below(2)).map(|_| one(random)).collect();
        parts.join(op)
    };
    match random.below(10) {
        0 => format!("f({})", one(random)),
        1 | 2 => format!("g({}, {})", one(random), one(random)),
        3 | 4 => format!("k({}, {})", one(random), one(random)),
        5 => format!("h({}, k({}, {}))", one(random), one(random), one(random)),
        6 => format!("hold({})", many(random, " ")),
        7 => format!("bag({}, {})", many(random, " "), one(random)),
        8 => format!("row({})", many(random, " ; ")),
        _ => one(random).to_owned(),
    }
}

/// An element pattern with the variables of a place, or now and then those of another.
fn pattern(random: &mut Random, place: usize) -> String {
    let [x, y, s, l] = [["X", "U", "E"], ["Y", "V", "F"], ["P", "Q", "R"], ["L", "M", "N"]].map(|names| {
        let other = random.below(12) == 0;
        names[if other { random.below(3) } else { place }]
    });
    let s = if random.below(6) == 0 { "C" } else { s };
    match random.below(12) {
        0 => format!("f({x})"),
        1 => format!("g({x}, {y})"),
        2 => format!("g({}, {y})", random.pick(&["a", "b"])),
        3 => format!("k({x}, {y})"),
        4 => format!("h({x}, k({y}, {}))", ["Z", "W", "G"][place]),
        5 => format!("hold({x} {s})"),
        6 => format!("hold({x} {y} {s})"),
        7 => format!("bag({x} {s}, {y})"),
        8 => format!("row({l} ; {x} ; O)"),
        9 => format!("row({x} ; {l})"),
        10 => format!("hold({s})"),
        _ => x.to_owned(),
    }
}

/// The variables of a pattern that show the matcher, as elements of a list.
fn shown(lhs: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for name in lhs.split(|c: char| !c.is_ascii_uppercase()).filter(|name| name.len() == 1) {
        let part = match name {
            "P" | "Q" | "R" | "S" | "C" | "D" => format!("v({name})"),
            "L" | "M" | "N" | "O" => format!("u({name})"),
            _ => format!("w({name})"),
        };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts.join(" ; ")
}

fn theory(seed: u64) -> String {
    let mut random = Random(seed ^ 0x0DDE_0000);
    let random = &mut random;
    let mut text = format!("set show timing off .\nmod R{seed} is\n{SIGNATURE}");
    let count = 2 + random.below(2);
    let mut parts: Vec<String> = (0..count).map(|place| pattern(random, place)).collect();
    let op = if random.below(4) == 0 { " + " } else { " " };
    let patterns = parts.clone();
    if random.below(4) > 0 {
        parts.push(random.pick(&["S", "S", "S", "D"]).to_owned());
    }
    let lhs = format!("{{{}}}", parts.join(op));
    let elements: Vec<&str> =
        ["X", "Y", "U", "V", "E", "F"].into_iter().filter(|var| lhs.contains(*var)).collect();
    let condition = match (random.below(3), elements.len()) {
        (0, 2..) => {
            let mut pick = || elements[random.below(elements.len())];
            format!(" if no({}, {}) = false", pick(), pick())
        }
        (1, 1..) => {
            let var = elements[random.below(elements.len())];
            format!(" if no({var}, {}) = false", random.pick(&["a", "b", "c"]))
        }
        _ => String::new(),
    };
    let is_rule = random.below(2) == 0;
    let word = match (is_rule, condition.is_empty()) {
        (true, true) => "rl",
        (true, false) => "crl",
        (false, true) => "eq",
        (false, false) => "ceq",
    };
    let arrow = if is_rule { "=>" } else { "=" };
    let _ = writeln!(text, "  {word} {lhs} {arrow} < {} >{condition} .\nendm", shown(&lhs));
    for _ in 0..4 {
        let mut parts: Vec<String> = (0..3 + random.below(4)).map(|_| ground(random)).collect();
        // Something for each element of the pattern.
        for pattern in patterns.iter().filter(|pattern| pattern.len() > 1) {
            let instance = pattern.chars().map(|c| match c {
                'P' | 'Q' | 'R' => random.pick(&["a b", "none", "c", "b c"]).to_owned(),
                'C' => random.pick(&["a b", "b", "a a"]).to_owned(),
                'L' | 'M' | 'N' | 'O' => random.pick(&["a ; b", "nil", "c", "b"]).to_owned(),
                c if c.is_ascii_uppercase() => random.pick(&["a", "b", "c", "d"]).to_owned(),
                c => c.to_string(),
            });
            parts.push(instance.collect());
        }
        let soup = parts.join(op);
        if is_rule {
            let _ =
                writeln!(text, "search {{{soup}}} =>1 T:St .\nrew [1] {{{soup}}} .\nfrew [1] {{{soup}}} .");
        } else {
            let _ = writeln!(text, "red {{{soup}}} .");
        }
    }
    text
}

#[test]
fn matchers_come_in_the_order_of_maude() {
    compare_with_maude("order", 40, theory);
}
