//! Random rewrite theories with evaluation strategies against Maude: what a strategy leaves alone must
//! stay as it is in results and states, and take as many rewrites.
//!
//! Both sides of a statement are about as large, so there are few states. `SEED=n` repeats one theory,
//! `CASES=n` tries more, `FIRST=n` others. Without Maude the test only requires that rwl answers.

use std::fmt::Write;
use std::process::Command;
use std::time::Duration;

use crate::random::Random;
use crate::support::*;

const UNARY: &[&str] = &["f", "g", "h", "lz"];
const BINARY: &[&str] = &["p", "q", "l2"];
const CONSTANTS: &[&str] = &["a", "b", "c", "d"];
const VARIABLES: &[&str] = &["X", "Y", "Z"];

/// What stands for `p` and `q`; `lz` and `l2` leave everything alone.
const STRATEGIES: &[&str] = &["", "", "0", "1 0", "2 0", "2 0 1", "2 0 1 0", "1 0 2 0", "0 1 0", "-1 2 0"];

/// An operator over terms made by `part`, with `_;_` if there is one.
fn application(
    random: &mut Random,
    depth: usize,
    has_join: bool,
    part: &dyn Fn(&mut Random, usize) -> String,
) -> String {
    match random.below(7 + usize::from(has_join)) {
        k @ 0..4 => format!("{}({})", UNARY[k], part(random, depth - 1)),
        k @ 4..7 => format!("{}({}, {})", BINARY[k - 4], part(random, depth - 1), part(random, depth - 1)),
        _ => format!("({} ; {})", part(random, depth - 1), part(random, depth - 1)),
    }
}

fn ground(random: &mut Random, depth: usize, has_join: bool) -> String {
    if depth == 0 || random.below(5) == 0 {
        return random.pick(CONSTANTS).to_owned();
    }
    application(random, depth, has_join, &|random, depth| ground(random, depth, has_join))
}

fn pattern(random: &mut Random, depth: usize, has_join: bool) -> String {
    if depth == 0 || random.below(3) == 0 {
        let leaves = if random.below(5) < 3 { VARIABLES } else { CONSTANTS };
        return random.pick(leaves).to_owned();
    }
    application(random, depth, has_join, &|random, depth| pattern(random, depth, has_join))
}

fn right(random: &mut Random, depth: usize, has_join: bool, vars: &[&str]) -> String {
    if depth == 0 || random.below(3) == 0 {
        let leaves = if vars.is_empty() || random.below(4) == 0 { CONSTANTS } else { vars };
        return random.pick(leaves).to_owned();
    }
    application(random, depth, has_join, &|random, depth| right(random, depth, has_join, vars))
}

fn size(text: &str) -> usize {
    text.matches(['(', ';']).count()
}

/// Two sides; the right one repeats no variable and is no larger, or for equations smaller.
fn sides(random: &mut Random, has_join: bool, is_rule: bool) -> Option<(String, String)> {
    (0..50).find_map(|_| {
        let lhs = if is_rule && random.below(4) == 0 {
            random.pick(CONSTANTS).to_owned()
        } else {
            application(random, 2, has_join, &|random, depth| pattern(random, depth, has_join))
        };
        let vars: Vec<&str> = VARIABLES.iter().copied().filter(|var| lhs.contains(var)).collect();
        let rhs = right(random, 2, has_join, &vars);
        let is_linear = vars.iter().all(|var| rhs.matches(var).count() <= lhs.matches(var).count());
        let fits = size(&rhs) + usize::from(!is_rule) <= size(&lhs);
        (fits && (is_linear || random.below(5) == 0)).then_some((lhs, rhs))
    })
}

fn condition(random: &mut Random, lhs: &str, is_rule: bool) -> String {
    let Some(var) = VARIABLES.iter().find(|var| lhs.contains(*var)) else { return String::new() };
    let constant = random.pick(CONSTANTS);
    match random.below(if is_rule { 12 } else { 9 }) {
        0 => format!(" if {var} = {constant}"),
        1 => format!(" if {var} =/= {constant}"),
        2 => format!(" if b := {var}"),
        9 => format!(" if W:T := {}({var})", random.pick(UNARY)),
        10 => format!(" if f(W:T) := {var}"),
        _ => String::new(),
    }
}

fn theory(seed: u64) -> String {
    let random = &mut Random(seed ^ 0x1A27);
    let mut text = format!("set show timing off .\nmod R{seed} is\n  sort T .\n  ops a b c d : -> T .\n");
    let attribute = |axioms: &str, strategy: &str| match (axioms, strategy) {
        ("", "") => String::new(),
        (_, "") => format!(" [{axioms}]"),
        _ => format!(" [{axioms} strat ({strategy})]"),
    };
    for op in UNARY {
        let strategy = if *op == "lz" { "0" } else { random.pick(&["", "", "0", "1 0"]) };
        let axioms = random.pick(&["", "", "iter"]);
        let _ = writeln!(text, "  op {op} : T -> T{} .", attribute(axioms, strategy));
    }
    for op in BINARY {
        let strategy = if *op == "l2" { "0" } else { random.pick(STRATEGIES) };
        let _ = writeln!(text, "  op {op} : T T -> T{} .", attribute("", strategy));
    }
    let has_join = random.below(3) == 0;
    if has_join {
        let axioms = random.pick(&["assoc", "assoc comm", "comm", "assoc id: d", "assoc comm id: d"]);
        let strategy = random.pick(&["", "", " strat (0)"]);
        let _ = writeln!(text, "  op _;_ : T T -> T [{axioms}{strategy}] .");
    }
    text += "  vars X Y Z : T .\n";
    for _ in 0..1 + random.below(5) {
        let Some((lhs, rhs)) = sides(random, has_join, false) else { continue };
        let condition = condition(random, &lhs, false);
        let word = if condition.is_empty() { "eq" } else { "ceq" };
        let owise = if random.below(7) == 0 { " [owise]" } else { "" };
        let _ = writeln!(text, "  {word} {lhs} = {rhs}{condition}{owise} .");
    }
    if random.below(2) == 0 {
        let _ = writeln!(text, "  eq {} = a .", random.pick(&["b", "c", "d"]));
    }
    for _ in 0..1 + random.below(4) {
        let Some((lhs, rhs)) = sides(random, has_join, true) else { continue };
        let condition = condition(random, &lhs, true);
        let word = if condition.is_empty() { "rl" } else { "crl" };
        let _ = writeln!(text, "  {word} {lhs} => {rhs}{condition} .");
    }
    text += "endm\n";
    for _ in 0..4 {
        let term = ground(random, 3, has_join);
        let arrow = random.pick(&["=>1", "=>*", "=>+", "=>!"]);
        let constant = random.pick(CONSTANTS);
        let goal = match random.below(4) {
            0 => pattern(random, 1, has_join),
            1 => format!("X such that X =/= {constant}"),
            2 => format!("lz(X) such that X = {constant}"),
            _ => "X".to_owned(),
        };
        let _ = writeln!(text, "red {term} .\nrew [20] {term} .\nsearch [20, 5] {term} {arrow} {goal} .");
    }
    text
}

#[test]
fn strategies_leave_terms_alone_as_in_maude() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let first = number("FIRST").unwrap_or(1);
    let seeds: Vec<u64> = match number("SEED") {
        Some(seed) => vec![seed],
        None => (first..first + number("CASES").unwrap_or(40)).collect(),
    };
    let maude = std::env::var("MAUDE").unwrap_or_else(|_| "/usr/bin/maude".to_owned());
    let has_maude = std::path::Path::new(&maude).exists();
    assert!(has_maude || !switch("RWL_MAUDE"), "RWL_MAUDE=1 needs Maude");
    let (mut failures, mut seen) = (Vec::new(), 0);
    for seed in seeds {
        let input = theory(seed);
        let answer = |program: &str, seconds: u64| {
            let mut command = Command::new(program);
            command.args(["-no-banner", "-no-advise", "-no-wrap", "-batch"]);
            run(&mut command, &input, Duration::from_secs(seconds)).map(|output| text(&output.stdout))
        };
        // Equations may go on for ever; then there is nothing to learn.
        let theirs = if has_maude { answer(&maude, 2) } else { Some(String::new()) };
        let Some(theirs) = theirs.filter(|said| !has_maude || said.ends_with("Bye.\n")) else { continue };
        seen += 1;
        match answer(RWL, 60) {
            None => failures.push(format!("SEED={seed} takes rwl too long\n{input}")),
            Some(ours) if has_maude && ours != theirs => {
                failures.push(format!("SEED={seed}\n{input}\n{}", difference(&theirs, &ours)));
            }
            Some(_) => {}
        }
    }
    assert!(seen > 0);
    let shown = failures[..failures.len().min(5)].join("\n");
    assert!(failures.is_empty(), "{} of {seen} theories differ\n{shown}", failures.len());
}
