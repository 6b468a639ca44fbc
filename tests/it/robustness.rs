//! Mutilated input never makes the program panic or hang. `SEED=n` repeats a run.

use std::process::Command;
use std::time::Duration;

use crate::support::*;

/// A small generator: the same numbers everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }
}

/// Some words of a text left out, doubled, exchanged, or replaced.
fn mutilate(text: &str, random: &mut Random) -> String {
    const NOISE: &[&str] = &[
        "(", ")", "[", "]", "{", "}", ",", ".", "=", ":", "\"", "`", "\\", "***", "***(", "is", "endfm",
        "if", "_", "ü", "\0", "-1", "\n", "to", "0.0e", "'",
    ];
    let mut words: Vec<String> = text.split_inclusive(char::is_whitespace).map(str::to_owned).collect();
    for _ in 0..1 + random.below(6) {
        let at = random.below(words.len());
        match random.below(5) {
            0 => drop(words.remove(at)),
            1 => words.insert(at, words[at].clone()),
            2 => {
                let other = random.below(words.len());
                words.swap(at, other);
            }
            3 => words.insert(at, format!("{} ", NOISE[random.below(NOISE.len())])),
            _ => {
                let noise = NOISE[random.below(NOISE.len())];
                words[at].push_str(noise);
            }
        }
        if words.is_empty() {
            break;
        }
    }
    words.concat()
}

/// Runs a text; the answer says what went wrong.
fn problem(text: &str) -> Option<String> {
    let mut command = Command::new(RWL);
    command.args(["--time", "2", "--memory", "256M", "-no-advise"]).current_dir(data().join("lang"));
    let Some(output) = run(&mut command, text, Duration::from_secs(20)) else {
        return Some("no end".to_owned());
    };
    match output.status.code() {
        Some(0 | 2 | 3) => None,
        code => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said =
                said.lines().find(|line| line.contains("internal error")).unwrap_or("crash").to_owned();
            Some(format!("exit code {code:?}: {said}"))
        }
    }
}

#[test]
fn mutilated_text_does_no_harm() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (seed, rounds) = (number("SEED").unwrap_or(1), number("ROUNDS").unwrap_or(150));
    let mut random = Random(seed);
    let texts: Vec<String> = cases(&data())
        .iter()
        .filter_map(|case| std::fs::read_to_string(case).ok())
        .filter(|text| text.len() < 8000)
        .collect();
    let mut failures = Vec::new();
    for round in 0..rounds {
        let text = &texts[random.below(texts.len())];
        // Few commands suffice; most of what can go wrong is in declarations.
        let text: String = text.lines().take(60).collect::<Vec<_>>().join("\n");
        let text = mutilate(&text, &mut random);
        if let Some(problem) = problem(&text) {
            failures.push(format!("SEED={seed}, round {round}: {problem}\n{text}\n"));
        }
    }
    let kinds: Vec<&str> = failures.iter().filter_map(|failure| failure.lines().next()).collect();
    assert!(
        failures.is_empty(),
        "{} failures, the first:\n{}\n{}",
        failures.len(),
        failures[0],
        kinds.join("\n")
    );
}

/// Maude does not come to an end on these: there every number in a condition is tried again.
#[test]
fn memberships_of_numbers_may_calculate() {
    let results = |input: &str| -> Vec<String> {
        let said = text(&rwl(&["-no-banner", "-no-wrap"], input).stdout);
        said.lines().filter_map(|line| line.strip_prefix("result ").map(str::to_owned)).collect()
    };
    let prime = "fmod PRIME is
  pr NAT .
  sort Prime . subsort Prime < NzNat .
  vars N M : NzNat . var P : Prime .
  op noDiv : NzNat NzNat -> Bool .
  ceq noDiv(N, M) = true if M * M > N .
  ceq noDiv(N, M) = false if N rem M = 0 .
  eq noDiv(N, M) = noDiv(N, s M) [owise] .
  cmb N : Prime if N > 1 /\\ noDiv(N, 2) .
  sort PList . subsort Prime < PList .
  op nil : -> PList .
  op _;_ : PList PList -> PList [assoc id: nil] .
  op _;_ : [PList] [PList] -> [PList] [assoc id: nil] .
  op fac : NzNat -> [PList] .
  op fac : NzNat NzNat -> [PList] .
  eq fac(N) = fac(N, 2) .
  eq fac(1, M) = nil .
  eq fac(P, M) = P .
  ceq fac(N, M) = M ; fac(N quo M, M) if N rem M = 0 .
  eq fac(N, M) = fac(N, s M) [owise] .
endfm
";
    let input = format!("{prime}red 7 .\nred 91 .\nred fac(360) .\nred fac(97) .\nred fac(600851475143) .\n");
    assert_eq!(
        results(&input),
        [
            "Prime: 7",
            "NzNat: 91",
            "PList: 2 ; 2 ; 2 ; 3 ; 3 ; 5",
            "Prime: 97",
            "PList: 71 ; 839 ; 1471 ; 6857"
        ]
    );
    let even = "fmod EV is
  pr NAT .
  sort Even NzEven . subsort NzEven < NzNat Even . subsort Even < Nat .
  vars N M : NzNat . var E : Even . 
  cmb N : NzEven if N rem 2 = 0 .
  op f : Nat -> Bool .
  eq f(E) = true .
  eq f(N) = false [owise] .
endfm
";
    let input =
        format!("{even}red 7 .\nred 16 .\nred f(16) .\nred f(17) .\nred f(7 + 7) .\nred f(2 ^ 100 + 1) .\n");
    assert_eq!(
        results(&input),
        ["NzNat: 7", "NzEven: 16", "Bool: true", "Bool: false", "Bool: true", "Bool: false"]
    );
}

/// Each membership of a tower looks at a smaller tower.
#[test]
fn memberships_of_long_towers_do_not_overflow_the_stack() {
    let tower =
        "fmod E2 is sorts N Even Odd . subsorts Even Odd < N . op 0 : -> Even . op s_ : N -> N [iter] .
        mb s E:Even : Odd . mb s O:Odd : Even . endfm red s_^100000(0) .";
    let number = "fmod EO is pr NAT . sorts Even Odd . subsorts Even Odd < NzNat .
        mb 1 : Odd . mb s E:Even : Odd . mb s O:Odd : Even . endfm red 100001 .";
    let output = rwl(&["-no-banner"], &format!("{tower}\n{number}\n"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("result Even: s_^100000(0)") && said.contains("result Odd: 100001"), "{said}");
}

/// The condition ends for one constant and not for the other, which nobody asks for.
#[test]
fn memberships_of_constants_are_decided_in_bounded_time() {
    let module = "fmod A is sorts A B . subsort B < A . ops a b : -> A . op p : A -> A . var X : A .
        cmb X : B if p(X) = a . eq p(a) = a . endfm\n";
    let said = text(&rwl(&["-no-banner"], &format!("{module}red a .\n")).stdout);
    assert!(said.contains("result B: a"), "{said}");
}

/// Runs a text followed by one without mistakes; gives what was said about it.
fn said_about(bytes: &[u8]) -> String {
    let file = std::env::temp_dir().join(format!("rwl-odd-{}-{}.maude", std::process::id(), bytes.len()));
    let after = b"\nfmod NEXT is protecting NAT . op nx : -> Nat . eq nx = 42 . endfm\nred nx .\n";
    std::fs::write(&file, [bytes, after].concat()).expect("writable");
    let output = rwl(&["run", file.to_str().expect("a name in ASCII")], "");
    let _ = std::fs::remove_file(&file);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stdout).ends_with("result NzNat: 42\n"), "{}", text(&output.stdout));
    text(&output.stderr)
}

#[test]
fn odd_texts_are_explained_briefly() {
    let bytes: Vec<u8> = (0..=255).cycle().take(768).collect();
    let said = said_about(&bytes);
    assert!(said.len() < 20_000, "{} bytes are too much to read", said.len());
    let wrong: String = (0..500).map(|i| format!("  eq f({i}) = g{i} .\n")).collect();
    let said = said_about(format!("fmod A is protecting NAT . op f : Nat -> Nat .\n{wrong}endfm").as_bytes());
    assert_eq!(said.matches("error[bad-token]").count(), 200);
    assert!(said.contains("300 more messages about"), "{}", &said[said.len() - 500..]);
    let sum = vec!["1"; 20_000].join(" + ");
    let said = said_about(
        format!("fmod A is protecting NAT . op a : -> Nat . eq a = {sum} + oops + {sum} . endfm").as_bytes(),
    );
    assert!(said.contains("nothing is called `oops` here") && said.len() < 1_000, "{said}");
    let (open, close) = ("f(".repeat(3_000), ")".repeat(2_999));
    let said = said_about(
        format!("fmod A is sort S . op a : -> S . op f : S -> S . endfm\nred {open}a{close} .").as_bytes(),
    );
    assert!(said.contains("this `(` is never closed") && said.len() < 1_000, "{said}");
    let (open, close) = ("(".repeat(300), ")".repeat(300));
    let said = said_about(format!("fmod A is protecting {open}NAT{close} . endfm").as_bytes());
    assert!(said.contains("brackets nest deeper than") && said.len() < 1_000, "{said}");
}

/// Each equation looks at an argument of its own and may fail: a tree that tried all ways through them would have
/// 2^40 leaves.
#[test]
fn the_size_of_the_code_does_not_double_with_each_equation() {
    const COLUMNS: usize = 40;
    let arguments = |at: usize, there: &str, other: &dyn Fn(usize) -> String| {
        let one = |i: usize| if i == at { there.to_owned() } else { other(i) };
        (0..COLUMNS).map(one).collect::<Vec<_>>().join(", ")
    };
    let var = |i: usize| format!("V{i}:S");
    let equation = |i: usize| {
        let next = var((i + 1) % COLUMNS);
        format!("ceq f({}) = {next} if p({next}) .\n", arguments(i, "a", &var))
    };
    let equations: String = (0..COLUMNS).map(equation).collect();
    let a = |_| "a".to_owned();
    let text = format!(
        "fmod COLUMNS is\nsort S .\nops a b : -> S .\nop p : S -> Bool .\neq p(a) = false .\neq p(b) = true .\n\
         op f : {} -> S .\n{equations}endfm\nred f({}) .\n",
        "S ".repeat(COLUMNS),
        arguments(COLUMNS - 1, "b", &a),
    );
    let output = run(&mut Command::new(RWL), &text, Duration::from_secs(20)).expect("it ends");
    let said = self::text(&output.stdout);
    assert!(said.contains("rewrites: 40 ") && said.contains("result S: b"), "{said}");
}
