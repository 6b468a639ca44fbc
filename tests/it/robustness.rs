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
