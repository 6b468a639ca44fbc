//! Random systems against Maude, searched deeper than `random_rules`: conditional rules on a soup next to
//! rules inside its elements, soups in soups, lists, rules below free constructors.
//!
//! Rules move, exchange and renumber elements but never make new ones, so that there are few states.

use std::fmt::Write;

use crate::random::Random;
use crate::random_against_maude::compare_with_maude;

const SIGNATURE: &str = "  protecting NAT . sorts Low El Soup List St . subsorts Low < El < Soup List .
  ops n q : Nat -> El [ctor] . op box : Soup -> El [ctor] . op row : List -> El [ctor] .
  op pair : El El -> El [ctor] . op w : El -> El [ctor] . op ice : El -> El [ctor frozen (1)] .
  op none : -> Soup . op __ : Soup Soup -> Soup [ctor assoc comm id: none] .
  op nil : -> List . op _;_ : List List -> List [ctor assoc id: nil] .
  op {_} : Soup -> St [ctor] . op <_> : List -> St [ctor] .
  vars I J K : Nat . vars E F G : El . vars S T R : Soup . vars L M H : List .
  op turn : El -> El . eq turn(n(I)) = n((I + 1) rem 3) . eq turn(q(I)) = q(sd(I, 1)) . eq turn(E) = E [owise] .
  op total : Soup -> Nat . eq total(none) = 0 . eq total(n(I) S) = I + total(S) . eq total(E S) = total(S) [owise] .
";

const MEMBERSHIPS: &str = "  mb n(0) : Low . cmb q(I) : Low if I < 2 . mb box(n(0) S) : Low .\n";

/// An element without variables.
fn element(random: &mut Random, depth: usize) -> String {
    let number = random.below(4);
    match random.below(if depth == 0 { 4 } else { 10 }) {
        0 | 1 => format!("n({number})"),
        2 | 3 => format!("q({number})"),
        4 | 5 => format!("box({})", several(random, depth - 1, " ", "none")),
        6 | 7 => format!("row({})", several(random, depth - 1, " ; ", "nil")),
        8 => format!("pair({}, {})", element(random, depth - 1), element(random, depth - 1)),
        _ => format!("{}({})", random.pick(&["w", "w", "ice"]), element(random, depth - 1)),
    }
}

fn several(random: &mut Random, depth: usize, op: &str, empty: &str) -> String {
    let parts: Vec<String> = (0..random.below(4)).map(|_| element(random, depth)).collect();
    if parts.is_empty() { empty.to_owned() } else { parts.join(op) }
}

/// A state that most rules find something in.
fn start(random: &mut Random) -> String {
    let mut parts: Vec<String> = (0..1 + random.below(3)).map(|_| element(random, 2)).collect();
    let mut number = || random.below(3);
    parts.push(format!("n({})", number()));
    parts.push(format!("box(n({}) q({}) n({}))", number(), number(), number()));
    parts.push(match number() {
        0 => format!("row(n({}) ; q({}))", number(), number()),
        1 => format!("pair(n({}), box(n({})))", number(), number()),
        _ => format!("w(n({}))", number()),
    });
    match (random.below(3), random.below(3)) {
        (0, 0) => parts.join(" ; "),
        (0, _) => format!("< {} >", parts.join(" ; ")),
        (_, 0) => parts.join(" "),
        _ => format!("{{{}}}", parts.join(" ")),
    }
}

/// An element pattern with variables of its own.
fn pattern(random: &mut Random, is_second: bool) -> &'static str {
    let first = ["n(I)", "n(I)", "n(I)", "n(1)", "q(I)", "q(0)", "E", "E", "E", "w(E)", "box(R)", "row(H)"];
    let second =
        ["n(J)", "n(J)", "n(J)", "n(2)", "q(J)", "q(0)", "F", "F", "F", "w(F)", "pair(F, G)", "n(I)"];
    random.pick(if is_second { &second } else { &first })
}

/// Left- and right-hand sides around two elements, `@` and `#`; the right ones may exchange them.
const PLACES: &[(&str, &str)] = &[
    ("@ #", "# @"),
    ("@ # S", "@ # S"),
    ("{@ # S}", "{@ # S}"),
    ("{box(@ S) # T}", "{box(# S) @ T}"),
    ("box(@ S) #", "box(# S) @"),
    ("box(@ S) #", "box(@ # S)"),
    ("box(@ S) #", "# box(@ S)"),
    ("box(@ S) # box(T)", "box(T) box(@ S) #"),
    ("box(@ # S)", "@ box(# S)"),
    ("box(@ S) box(# T)", "box(S) box(@ # T)"),
    ("box(@ S)", "box(S) @"),
    ("box(@ S)", "box(@ S)"),
    ("pair(@, #)", "pair(#, @)"),
    ("pair(box(@ S), #)", "pair(box(# S), @)"),
    ("w(@)", "w(@)"),
    ("w(@) #", "w(#) @"),
    ("@ ; #", "# ; @"),
    ("@ ; L ; #", "# ; L ; @"),
    ("< @ ; L >", "< L ; @ >"),
    ("row(L ; @ ; # ; M)", "row(L ; # ; @ ; M)"),
    ("row(@ ; L) #", "row(L ; #) @"),
    ("row(L ; @) row(# ; M)", "row(L) row(@ ; # ; M)"),
    ("row(@ ; L)", "row(L ; @)"),
    ("box(row(@ ; L) S)", "box(row(L) @ S)"),
    ("@", "@"),
];

fn variables(text: &str) -> Vec<char> {
    let mut found: Vec<char> = Vec::new();
    for c in text.chars().filter(|c| "IJEFGSTRLMH".contains(*c)) {
        if !found.contains(&c) {
            found.push(c);
        }
    }
    found
}

/// One fragment on the variables, and what it binds.
fn fragment(random: &mut Random, vars: &[char]) -> Option<(String, Option<char>)> {
    let choose = |random: &mut Random, among: &str| {
        let fit: Vec<char> = vars.iter().copied().filter(|c| among.contains(*c)).collect();
        (!fit.is_empty()).then(|| fit[random.below(fit.len())])
    };
    Some(match random.below(13) {
        0 => ("q(7) = q(8)".to_owned(), None),
        1 => (format!("{} > 0", choose(random, "IJ")?), None),
        2 => (format!("{} < 2", choose(random, "IJ")?), None),
        3 if vars.contains(&'I') && vars.contains(&'J') => ("I < J".to_owned(), None),
        4 => (format!("{} : Low", choose(random, "EFG")?), None),
        5 => (format!("{} =/= n(1)", choose(random, "EFG")?), None),
        6 => (format!("X:El Y:Soup := {}", choose(random, "STR")?), Some('X')),
        7 => (format!("Z:List ; X:El ; Y:List := {}", choose(random, "LMH")?), Some('X')),
        8 => (format!("X:El := turn({})", choose(random, "EFG")?), Some('X')),
        9 => (format!("{} => X:El", choose(random, "EFG")?), Some('X')),
        10 => (format!("box({}) => box(X:El Y:Soup)", choose(random, "STR")?), Some('X')),
        11 => (format!("total({}) > 1", choose(random, "STR")?), None),
        12 => (
            format!("pair({0}, n(2)) => pair(X:El, Y:El) /\\ X:El =/= {0}", choose(random, "EFG")?),
            Some('X'),
        ),
        _ => ("1 < 2".to_owned(), None),
    })
}

/// The same variables with other contents.
fn changed(random: &mut Random, element: &str) -> String {
    match random.below(4) {
        0 => format!("turn({element})"),
        1 if element.starts_with("n(") => element.replacen('n', "q", 1),
        2 if element == "n(I)" => "n(sd(I, 1))".to_owned(),
        _ => element.to_owned(),
    }
}

fn rule(random: &mut Random, number: usize) -> String {
    let &(before, after) = &PLACES[random.below(PLACES.len())];
    let (one, two) = (pattern(random, false), pattern(random, true));
    let lhs = before.replace('@', one).replace('#', two);
    // A rule for every element says nothing.
    let lhs = if lhs == "E" { "n(I)".to_owned() } else { lhs };
    let after = if random.below(3) == 0 { before } else { after };
    let (new_one, new_two) = (changed(random, one), changed(random, two));
    let mut rhs = after.replace('@', &new_one).replace('#', &new_two);
    if before == "@" {
        rhs = if lhs == "n(I)" { "n((I + 1) rem 3)".to_owned() } else { rhs };
    }
    let vars = variables(&lhs);
    let mut conditions = Vec::new();
    for _ in 0..random.below(3) {
        let Some((text, binds)) = fragment(random, &vars) else { continue };
        // One that binds stands alone, since names are used once.
        if binds.is_some() && !conditions.is_empty() {
            continue;
        }
        conditions.push(text);
        if binds.is_some() {
            // The bound element takes the place of one that was there.
            if let Some(&var) = vars.iter().find(|var| "EFG".contains(**var) && rhs.contains(**var)) {
                rhs = rhs.replacen(var, "X:El", 1);
            }
            break;
        }
    }
    let (word, condition) = if conditions.is_empty() {
        ("rl", String::new())
    } else {
        ("crl", format!(" if {}", conditions.join(" /\\ ")))
    };
    format!("  {word} [r{number}] : {lhs} => {rhs}{condition} .\n")
}

fn theory(seed: u64) -> String {
    let random = &mut Random(seed ^ 0x0B0C_5EED);
    let mut text = format!("set show timing off .\nmod R{seed} is\n{SIGNATURE}");
    if random.below(3) == 0 {
        text += MEMBERSHIPS;
    }
    for i in 0..2 + random.below(3) {
        text += &rule(random, i);
    }
    text += "endm\n";
    for _ in 0..3 {
        let term = start(random);
        let arrow = random.pick(&["=>+", "=>*", "=>*", "=>!"]);
        let goal =
            random.pick(&["Any:[St]", "Any:[St]", "{E S}", "{box(n(I) S) T}", "< L ; n(I) ; M >", "E S"]);
        // A pattern of another kind than the term is a mistake.
        let is_state = term.starts_with(['{', '<']);
        let goal = match (goal, is_state) {
            ("Any:[St]", false) => "Any:[El]",
            ("E S", true) => "Any:[St]",
            ("{E S}" | "{box(n(I) S) T}" | "< L ; n(I) ; M >", false) => "box(E S) T",
            (goal, _) => goal,
        };
        let _ = writeln!(text, "search [15, {}] {term} {arrow} {goal} .", 6 + random.below(5));
        let _ = writeln!(text, "show path labels 3 .\ncont 5 .");
        let _ =
            writeln!(text, "search [, {}] {term} =>* {goal} such that q(7) = q(8) .", 6 + random.below(3));
        let _ = writeln!(text, "rew [{}] {term} .\ncont 4 .", 3 + random.below(9));
        let _ = writeln!(text, "frew [{}, {}] {term} .", 3 + random.below(9), 1 + random.below(2));
    }
    text
}

#[test]
fn random_systems_behave_as_in_maude() {
    compare_with_maude("systems", 30, theory);
}
