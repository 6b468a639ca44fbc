//! States that are soups in an operator: exploration by joining encoded elements, by rules on terms,
//! and Maude's.
//!
//! `RWL_PLAIN=1` turns the first off (in debug builds). Rules have one to three elements, with and
//! without a collector that they look at, with patterns that match in several ways, elements that
//! vanish, multiply or have other sorts, and rules inside of them. `SEED=n` repeats one theory,
//! `CASES=n` tries more.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::random::Random;
use crate::support::*;

const SIGNATURE: &str = "  sorts P L List E F Soup Sys . subsorts P < List . subsorts E F < Soup .
  ops p q r : -> P [ctor] . ops x y z : -> L [ctor] . op nil : -> List [ctor] . op none : -> Soup [ctor] .
  op _,_ : List List -> List [ctor assoc id: nil] .
  op __ : Soup Soup -> Soup [ctor assoc comm id: none] .
  op a : P L -> E [ctor] . op b : P P -> E [ctor] . op c : L -> E [ctor] . op d : List -> F [ctor] .
  op h : Nat -> F [ctor] . op t : -> F [ctor] . op m : Soup -> F [ctor] .
  op {_} : Soup -> Sys [ctor] .
  vars I J K : P . vars X Y Z : L . vars U V : List . vars A B : E . var G : F . vars R S : Soup . var N : Nat .
  op next : L -> L . eq next(x) = y . eq next(y) = z . eq next(z) = x .
  op deq : List -> List . eq deq(nil) = nil . eq deq((I, U)) = U .
  op size : Soup -> Nat . eq size(none) = 0 . eq size(A R) = s size(R) . eq size(G R) = s size(R) .
  op has : P Soup -> Bool . eq has(I, a(I, X) R) = true . eq has(I, R) = false [owise] .
";

fn element(random: &mut Random) -> String {
    let (p, l) = (random.pick(&["p", "q", "r"]), random.pick(&["x", "y", "z"]));
    match random.below(12) {
        0..4 => format!("a({p}, {l})"),
        4 | 5 => format!("b({p}, {})", random.pick(&["p", "q", "r"])),
        6 => format!("c({l})"),
        7 | 8 => format!("d({})", random.pick(&["nil", "p", "p, q", "q, r, p", "p, p"])),
        9 => format!("h({})", random.below(3)),
        10 => "t".to_owned(),
        _ => format!("m({})", random.pick(&["none", "a(p, x)", "t c(x)"])),
    }
}

/// An element pattern.
fn pattern(random: &mut Random) -> String {
    let p = random.pick(&["I", "I", "J", "p"]);
    let l = random.pick(&["X", "X", "Y", "x", "y"]);
    match random.below(14) {
        0..5 => format!("a({p}, {l})"),
        5 | 6 => format!("b({p}, {})", random.pick(&["I", "J", "K", "q"])),
        7 => format!("c({l})"),
        8 => format!("d({})", random.pick(&["U", "(I, U)", "nil", "(U, I)"])),
        9 => format!("d({})", random.pick(&["(U, I, V)", "(I, J)", "(p, U)"])),
        10 => format!("h({})", random.pick(&["N", "0", "s N"])),
        11 => random.pick(&["t", "A", "G"]).to_owned(),
        12 => format!("m({})", random.pick(&["S", "A S", "none", "t S"])),
        _ => format!("a({p}, {l})"),
    }
}

/// What becomes of an element.
fn changed(random: &mut Random, pattern: &str) -> String {
    let of = |from: &str, to: &str| pattern.replacen(from, to, 1);
    match random.below(9) {
        0 | 1 if pattern.contains('X') => of("X", "next(X)"),
        2 if pattern.contains('U') => of("U", "deq(U)"),
        3 if pattern.contains('I') => of("I", "q"),
        4 if pattern.contains('N') => of("N", "(N rem 2)"),
        5 => String::new(),
        6 => element(random),
        7 => "t".to_owned(),
        _ => pattern.to_owned(),
    }
}

fn condition(random: &mut Random, lhs: &str) -> String {
    let fragments: Vec<&str> = [
        ("X", "X =/= y"),
        ("X", "next(X) = y"),
        ("I", "I =/= q"),
        ("R", "size(R) > 1"),
        ("R", "has(p, R)"),
        ("R", "size(R) > 0 /\\ has(q, R)"),
        ("N", "N < 2"),
        ("U", "deq(U) = nil"),
        ("R", "A B S := R /\\ has(p, A)"),
        ("X", "Z := next(X) /\\ Z =/= x"),
    ]
    .into_iter()
    .filter(|(var, _)| lhs.contains(var))
    .map(|(_, fragment)| fragment)
    .collect();
    match random.below(2) {
        0 if !fragments.is_empty() => {
            let some: Vec<&str> =
                (0..1 + random.below(2)).map(|_| fragments[random.below(fragments.len())]).collect();
            format!(" if {}", some.join(" /\\ "))
        }
        _ => String::new(),
    }
}

fn rule(random: &mut Random) -> String {
    let patterns: Vec<String> = (0..1 + random.below(3)).map(|_| pattern(random)).collect();
    let rest = if random.below(8) == 0 { "" } else { "R" };
    let mut lhs = patterns.join(" ");
    if rest.is_empty() && patterns.len() == 1 {
        lhs += " R";
    } else {
        lhs = format!("{lhs} {rest}");
    }
    let mut rhs: Vec<String> = patterns.iter().map(|pattern| changed(random, pattern)).collect();
    if random.below(8) == 0 {
        rhs.push(element(random));
    }
    let rest = match random.below(14) {
        0 if lhs.contains('R') => "R m(R)",
        1 => "none",
        _ if lhs.contains('R') => "R",
        _ => "",
    };
    let condition = condition(random, &lhs);
    let word = if condition.is_empty() { "rl" } else { "crl" };
    format!("  {word} {{{lhs}}} => {{{} {rest} none}}{condition} .\n", rhs.join(" "))
}

fn theory(seed: u64) -> String {
    let mut random = Random(seed ^ 0x50_0B);
    let random = &mut random;
    let mut text = format!("set show timing off .\nmod J{seed} is\n  protecting NAT .\n{SIGNATURE}");
    if random.below(4) == 0 {
        text += "  sort Es . subsorts E < Es < Soup . op __ : Es Es -> Es [ditto] . op none : -> Es [ctor ditto] .\n";
    }
    for _ in 0..1 + random.below(5) {
        text += &rule(random);
    }
    text += random.pick(&["", "", "", "  crl {R} => {R t} if size(R) < 3 .\n", "  rl {R} => {R} .\n"]);
    text += random.pick(&[
        "",
        "",
        "",
        "",
        "  rl q => r .\n",
        "  crl z => x if next(y) = z .\n",
        "  rl t t => t .\n",
    ]);
    text += "endm\n";
    for _ in 0..3 {
        let soup: Vec<String> = (0..2 + random.below(6)).map(|_| element(random)).collect();
        let goal = match random.below(4) {
            0 => format!("{{{} S:Soup}}", pattern(random)),
            1 => format!("{{{} {} R}}", pattern(random), pattern(random)),
            2 => random
                .pick(&["{none}", "{t}", "{R} such that size(R) > 3", "{A R}", "{a(p, X) R}"])
                .to_owned(),
            _ => "T:Sys".to_owned(),
        };
        let arrow = random.pick(&["=>1", "=>+", "=>*", "=>*", "=>!"]);
        let depth = 1 + random.below(5);
        let _ = writeln!(text, "search [40, {depth}] {{{}}} {arrow} {goal} .", soup.join(" "));
        let _ = writeln!(text, "show path 1 .\nshow search graph .\ncont 2 .");
    }
    text
}

/// Which rule of several comes first depends on addresses in Maude.
fn sorted_rules(text: &str) -> String {
    let sorted = |line: &str| {
        if line.starts_with("===[") {
            return "===[\n".to_owned();
        }
        let Some((arc, rules)) = line.split_once(" (").filter(|_| line.starts_with("arc ")) else {
            return format!("{line}\n");
        };
        let mut rules: Vec<&str> = rules.trim_end_matches(" .)").split(" .) (").collect();
        rules.sort_unstable();
        format!("{arc} {rules:?}\n")
    };
    text.lines().map(sorted).collect()
}

/// A theory whose elements keep their first arguments, which conditions compare before they look at the rest.
fn keyed_theory(seed: u64) -> String {
    let mut random = Random(seed ^ 0x5E_ED);
    let random = &mut random;
    let mut text = format!("set show timing off .\nmod K{seed} is\n  protecting NAT .\n{SIGNATURE}");
    text += "  op k : Nat L -> E [ctor] . vars M O : Nat .\n";
    for _ in 0..1 + random.below(3) {
        let others = random.pick(&["", "h(O) ", "h(O) t ", "a(p, Z) "]);
        let mut early = vec!["N =/= M", "N == s M", "N == (M + 2) rem 4", "N < M", "M == 0", "N + M =/= 3"];
        if others.contains('O') {
            early.extend(["N == M + O", "O =/= N"]);
        }
        let late = ["X =/= Y", "next(X) == Y", "X == z", "size(R) > 2", "has(p, R)", "N =/= 1"];
        let mut condition: Vec<&str> =
            (0..random.below(3)).map(|_| early[random.below(early.len())]).collect();
        condition.extend((0..1 + random.below(2)).map(|_| late[random.below(late.len())]));
        let rhs = random.pick(&[
            "k(N, next(X)) k(M, Y)",
            "k(N, Y) k(M, Y)",
            "k(N, Y) k(M, X)",
            "k(N, next(Y)) k(N, Y)",
            "k(M, next(X))",
        ]);
        let new = match random.below(4) {
            0 => others.replace('O', "(s O rem 3)"),
            _ => others.to_owned(),
        };
        let _ = writeln!(
            text,
            "  crl {{k(N, X) k(M, Y) {others}R}} => {{{rhs} {new}R}} if {} .",
            condition.join(" /\\ ")
        );
    }
    text += random.pick(&["", "", "  rl h(N) => h(0) .\n", "  rl {k(0, x) R} => {k(4, y) R} .\n"]);
    text += "endm\n";
    for _ in 0..2 {
        let first = random.below(2);
        let mut soup: Vec<String> = (first..first + 3 + random.below(2))
            .map(|key| format!("k({key}, {})", random.pick(&["x", "y", "z"])))
            .collect();
        soup.extend(
            ["h(1)", "t", "a(p, x)", "k(1, y)"]
                .into_iter()
                .filter(|_| random.below(3) > 0)
                .map(str::to_owned),
        );
        let goal = random.pick(&["T:Sys", "{k(1, z) k(2, z) R}", "{none}"]);
        let depth = 2 + random.below(5);
        let _ = writeln!(text, "search [40, {depth}] {{{}}} =>* {goal} .", soup.join(" "));
        let _ = writeln!(text, "show path 3 .\ncont 20 .\nsearch {{{}}} =>! {{none}} .", soup.join(" "));
    }
    text
}

fn answer(program: &str, flags: &[&str], path: &Path, is_plain: bool) -> Option<String> {
    let mut command = Command::new(program);
    command.args(flags).args(["-no-banner", "-no-advise", "-no-wrap", "-batch"]).arg(path);
    if is_plain {
        command.env("RWL_PLAIN", "1");
    }
    run(&mut command, "", Duration::from_secs(60)).map(|output| text(&output.stdout))
}

#[test]
fn random_soups_are_explored_the_same_in_all_ways() {
    compare("plain", theory);
}

#[test]
fn pairs_that_their_keys_rule_out_are_counted_all_the_same() {
    compare("keyed", keyed_theory);
}

/// Compares what is explored by joining, by rules on terms, and by Maude.
fn compare(name: &str, theory: impl Fn(u64) -> String) {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let first = number("FIRST").unwrap_or(1);
    let seeds: Vec<u64> = match number("SEED") {
        Some(seed) => vec![seed],
        None => (first..first + number("CASES").unwrap_or(40)).collect(),
    };
    let maude = std::env::var("MAUDE").unwrap_or_else(|_| "/usr/bin/maude".to_owned());
    let has_maude = Path::new(&maude).exists();
    let mut failures = Vec::new();
    for &seed in &seeds {
        let text = theory(seed);
        let path = std::env::temp_dir().join(format!("rwl-join-{}-{name}-{seed}.maude", std::process::id()));
        std::fs::write(&path, &text).expect("the temporary directory is writable");
        let ours = answer(RWL, &[], &path, false).unwrap_or_else(|| panic!("SEED={seed} takes too long"));
        let plain = answer(RWL, &[], &path, true).unwrap_or_else(|| panic!("SEED={seed} takes too long"));
        assert!(ours.contains("states: "), "SEED={seed}\n{text}\n{ours}");
        let mut differs = difference(&plain, &ours);
        if has_maude && differs.is_empty() {
            let theirs = answer(&maude, &[], &path, false).expect("Maude answers in time");
            differs = difference(&sorted_rules(&theirs), &sorted_rules(&ours));
        }
        if !differs.is_empty() {
            failures.push(format!("SEED={seed}\n{text}\n{differs}"));
        }
        if !switch("KEEP") {
            let _ = std::fs::remove_file(&path);
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} theories differ\n{}",
        failures.len(),
        seeds.len(),
        failures[..failures.len().min(9)].join("\n")
    );
}

#[test]
fn specifications_are_explored_the_same_in_both_ways() {
    let cases = [
        ("tas", "TAS", "init5", "{(pc[p1]: cs) (pc[I]: ws) OCs}"),
        ("tas", "FTAS-CHECK", "init4", "{(cnt: 0) (pc[p2]: L:Loc) OCs}"),
        ("qlock", "QLOCK", "init4", "{(queue: (p2 | Q)) OCs}"),
        ("qlock", "FQLOCK-CHECK", "init3", "S:Sys"),
        ("anderson", "ANDERSON", "init3", "S:Sys"),
        ("anderson", "FANDERSON-CHECK", "init4", "{(pc[p1]: cs) (place[p1]: X) (array[X]: true) OCs}"),
        ("mcs", "MCS", "init2", "S:Sys"),
        ("mcs", "FMCS-CHECK", "init3", "{(pc[p1]: l6) (pc[p2]: l6) (glock: p3) OCs}"),
        ("km", "KM", "init6", "S:Sys"),
        ("km", "FKM-CHECK", "init7", "{(pc[0]: 3) (pc[1]: 3) OCs}"),
        ("ticket", "TICKET", "init3", "S:Sys"),
        ("intersection", "INTERSECTION", "init3", "S:Sys"),
        ("intersection", "INTERSECTION-CHECK", "init4", "{(v[v1]: (L:Lid, crossing, T:Nat)) R:Soup{OComp}}"),
        ("abp", "ABP", "init", "S:Sys"),
        ("leader", "LEADER", "init3", "S:Sys"),
        ("token-ring", "MENDED-RING", "init3", "S:Sys"),
        ("readers-writers", "READERS-WRITERS", "init3", "S:Sys"),
        ("peterson", "PETERSON", "init3", "S:Sys"),
        ("philosophers", "PHILOSOPHERS", "init4", "S:Sys"),
        ("ss-qlock", "SS-QLOCK", "init", "S:Sys"),
        ("nspk", "NSPK", "init0", "S:Sys"),
    ];
    // Large enough for levels that threads share.
    let large = [
        ("tas", "TAS", "init8", "{(locked: true) (cnt: 7) OCs} such that OCs =/= empty"),
        ("qlock", "QLOCK", "init6", "{(queue: (p6 | p5 | p4 | p3 | Q)) OCs}"),
    ];
    let specs = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs");
    let is_large = |case| large.contains(case);
    for case in cases.iter().chain(&large) {
        let (spec, module, init, goal) = case;
        let mut commands = format!(
            "set show timing off .\nload {}/{spec}.rwl\nsearch [90] in {module} : {init} =>* {goal} .\n",
            specs.display()
        );
        if !is_large(case) {
            commands += "show search graph .\ncont 2000 .\n";
        }
        let _ = writeln!(commands, "search [5, 9] in {module} : {init} =>! {goal} .");
        let path = std::env::temp_dir().join(format!("rwl-join-{}-{module}.maude", std::process::id()));
        std::fs::write(&path, &commands).expect("the temporary directory is writable");
        let said = |flags: &[&str], is_plain| {
            answer(RWL, flags, &path, is_plain).unwrap_or_else(|| panic!("{module} takes too long"))
        };
        let plain = said(&["--threads", "1"], true);
        assert!(plain.contains("states: "), "{module}: {plain}");
        for threads in ["1", "3"] {
            let differs = difference(&plain, &said(&["--threads", threads], false));
            assert!(differs.is_empty(), "{module}, {threads} threads\n{differs}");
        }
        let _ = std::fs::remove_file(&path);
    }
}
