//! Random equational theories, with and without axioms, against Maude.
//!
//! Right-hand sides are smaller than left-hand sides and repeat no variable, so everything
//! terminates; nothing is confluent, so results show which equation was tried first and which
//! matcher came first. `SEED=n` repeats one theory, `CASES=n` tries more. Without Maude there is
//! nothing to compare with, and the test only requires that rwl answers.

use std::fmt::Write;
use std::process::Command;
use std::time::Duration;

use crate::support::*;

/// A small generator of pseudo-random numbers (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) % n as u64) as usize
    }

    pub fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len())]
    }
}

const BINARY: &[&str] = &["g", "cm", "as", "au", "ac", "acu", "al", "ar"];

const SIGNATURE: &str = "  sorts A B S . subsorts A B < S .
  ops a b c : -> A . ops p q : -> B . ops e n : -> S .
  op f : S -> S . op h : S -> A . op it : S -> S [iter] .
  op g : S S -> S . op cm : S S -> S [comm] .
  op as : S S -> S [assoc] . op au : S S -> S [assoc id: n] .
  op al : S S -> S [assoc left id: n] . op ar : S S -> S [assoc right id: n] .
  op ac : S S -> S [assoc comm] . op acu : S S -> S [assoc comm id: e] .
  vars X Y : A . vars P Q : B . vars U V W : S .
";

const VARIABLES: &[&str] = &["X", "Y", "P", "Q", "U", "V", "W"];

/// A ground term.
fn ground(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.below(4) == 0 {
        return random.pick(&["a", "b", "c", "p", "q", "e", "n", "a", "b", "p"]).to_owned();
    }
    match random.below(9) {
        0 => format!("f({})", ground(random, depth - 1)),
        1 => format!("h({})", ground(random, depth - 1)),
        2 => format!("it({})", ground(random, depth - 1)),
        _ => {
            let op = random.pick(BINARY);
            let arity = if op.starts_with('a') { 2 + random.below(3) } else { 2 };
            let args: Vec<String> = (0..arity).map(|_| ground(random, depth - 1)).collect();
            format!("{op}({})", args.join(", "))
        }
    }
}

/// A pattern: its text, its variables, its size.
fn pattern(random: &mut Random, depth: usize, vars: &mut Vec<&'static str>, size: &mut usize) -> String {
    *size += 1;
    if depth == 0 || random.below(3) == 0 {
        if random.below(3) == 0 {
            return random.pick(&["a", "b", "p", "q", "e"]).to_owned();
        }
        let var = random.pick(VARIABLES);
        vars.push(var);
        return var.to_owned();
    }
    match random.below(8) {
        0 => format!("f({})", pattern(random, depth - 1, vars, size)),
        1 => format!("it({})", pattern(random, depth - 1, vars, size)),
        _ => {
            let op = random.pick(BINARY);
            let arity = if op.starts_with('a') { 2 + random.below(2) } else { 2 };
            let args: Vec<String> = (0..arity).map(|_| pattern(random, depth - 1, vars, size)).collect();
            format!("{op}({})", args.join(", "))
        }
    }
}

fn equation(random: &mut Random) -> String {
    let (mut vars, mut size) = (Vec::new(), 0);
    // A left-hand side that cannot be a variable or vanish.
    let op = random.pick(&["f", "h", "g", "cm", "as", "ac", "g", "au", "acu", "al", "ar"]);
    let arity = match op {
        "f" | "h" => 1,
        "g" | "cm" => 2,
        _ => 2 + random.below(2),
    };
    let mut args: Vec<String> = (0..arity).map(|_| pattern(random, 2, &mut vars, &mut size)).collect();
    if matches!(op, "au" | "acu" | "al" | "ar") {
        // Two elements that are there: no collapse to a variable alone.
        args[0] = random.pick(&["a", "f(U)", "p"]).to_owned();
        args[1] = random.pick(&["b", "g(V, W)", "X", "q"]).to_owned();
        vars.retain(|v| args.iter().any(|arg| arg.contains(v)));
        for var in VARIABLES {
            if args[..2].iter().any(|arg| arg.contains(var)) && !vars.contains(var) {
                vars.push(var);
            }
        }
        vars.retain(|v| args.iter().any(|arg| arg.contains(v)));
    }
    let lhs = format!("{op}({})", args.join(", "));
    // One variable, or a constant: always smaller than the left-hand side.
    let rhs = if vars.is_empty() || random.below(3) == 0 {
        random.pick(&["a", "b", "c", "p", "q"])
    } else {
        vars[random.below(vars.len())]
    };
    let condition = match (random.below(4), vars.first()) {
        (0, Some(var)) => format!(" if {var} : {}", random.pick(&["A", "B"])),
        (1, Some(var)) => format!(" if {var} =/= {}", random.pick(&["a", "p", "b"])),
        _ => String::new(),
    };
    let owise = if random.below(6) == 0 { " [owise]" } else { "" };
    let word = if condition.is_empty() { "eq" } else { "ceq" };
    format!("  {word} {lhs} = {rhs}{condition}{owise} .\n")
}

fn theory(seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = format!("set show timing off .\nfmod R{seed} is\n{SIGNATURE}");
    for _ in 0..2 + random.below(5) {
        text += &equation(&mut random);
    }
    text += "endfm\n";
    for _ in 0..12 {
        let _ = writeln!(text, "red {} .", ground(&mut random, 3));
    }
    text
}

#[test]
fn random_theories_reduce_as_in_maude() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let seeds: Vec<u64> = match number("SEED") {
        Some(seed) => vec![seed],
        None => (1..=number("CASES").unwrap_or(60)).collect(),
    };
    let maude = std::env::var("MAUDE").unwrap_or_else(|_| "/usr/bin/maude".to_owned());
    let has_maude = std::path::Path::new(&maude).exists();
    assert!(has_maude || !switch("RWL_MAUDE"), "RWL_MAUDE=1 needs Maude");
    let flags = ["-no-banner", "-no-advise", "-no-wrap", "-batch"];
    let mut failures = Vec::new();
    for seed in seeds {
        let text = theory(seed);
        let path = std::env::temp_dir().join(format!("rwl-random-{}-{seed}.maude", std::process::id()));
        std::fs::write(&path, &text).expect("the temporary directory is writable");
        let answer = |program: &str| {
            let mut command = Command::new(program);
            command.args(flags).arg(&path);
            run(&mut command, "", Duration::from_secs(30))
                .map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
        };
        let ours = answer(RWL).unwrap_or_else(|| panic!("theory {seed} takes rwl too long:\n{text}"));
        assert_eq!(ours.matches("result ").count(), 12, "theory {seed}:\n{text}\n{ours}");
        if has_maude {
            let theirs = answer(&maude).expect("Maude answers in time");
            let differs = difference(&theirs, &ours);
            if !differs.is_empty() {
                failures.push(format!("SEED={seed}\n{text}\n{differs}"));
            }
        }
        let _ = std::fs::remove_file(&path);
    }
    assert!(
        failures.is_empty(),
        "{} theories differ\n{}",
        failures.len(),
        failures[..failures.len().min(9)].join("\n")
    );
}
