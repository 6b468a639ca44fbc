//! Runs random rewrite theories in rwl and in Maude and compares the answers.
//!
//! `SEED=n` repeats one theory, `CASES=n` tries more (from `FIRST=n` on), `ALL=1` shows all that differ,
//! `KEEP=1` leaves the theories in the temporary directory. Without Maude there is nothing to compare with, and only an answer is
//! required.

use std::process::Command;
use std::time::Duration;

use crate::support::*;

/// Compares what rwl and Maude answer to random theories, each made from its seed.
pub fn compare_with_maude(name: &str, cases: u64, theory: fn(u64) -> String) {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let first = number("FIRST").unwrap_or(1);
    let seeds: Vec<u64> = match number("SEED") {
        Some(seed) => vec![seed],
        None => (first..first + number("CASES").unwrap_or(cases)).collect(),
    };
    let maude = std::env::var("MAUDE").unwrap_or_else(|_| "/usr/bin/maude".to_owned());
    let has_maude = std::path::Path::new(&maude).exists();
    assert!(has_maude || !switch("RWL_MAUDE"), "RWL_MAUDE=1 needs Maude");
    let flags = ["-no-banner", "-no-advise", "-no-wrap", "-batch"];
    let (mut failures, mut seen) = (Vec::new(), 0);
    for seed in seeds {
        let text = theory(seed);
        let path = std::env::temp_dir().join(format!("rwl-{name}-{}-{seed}.maude", std::process::id()));
        std::fs::write(&path, &text).expect("the temporary directory is writable");
        let answer = |program: &str, seconds: u64| {
            let mut command = Command::new(program);
            command.args(flags).arg(&path);
            run(&mut command, "", Duration::from_secs(seconds))
                .map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
        };
        // A condition may lead on for ever (or until Maude crashes); then there is nothing to learn.
        let theirs = if has_maude { answer(&maude, 2) } else { Some(String::new()) };
        if let Some(theirs) = theirs.filter(|said| !has_maude || said.ends_with("Bye.\n")) {
            seen += 1;
            match answer(crate::support::RWL, 60) {
                None => failures.push(format!("SEED={seed} takes rwl too long\n{text}")),
                Some(ours) if has_maude => {
                    let [mut expected, mut said] = [&theirs, &ours].map(|text| without_stops(text, &theirs));
                    if !has_equal_counts(&text) {
                        [expected, said] = [expected, said].map(|text| without_counts(&text));
                    }
                    let differs = difference(&expected, &said);
                    if !differs.is_empty() {
                        failures.push(format!("SEED={seed}\n{text}\n{differs}"));
                    }
                }
                Some(_) => {}
            }
        }
        if !switch("KEEP") {
            let _ = std::fs::remove_file(&path);
        }
    }
    let shown = if switch("ALL") { failures.len() } else { failures.len().min(9) };
    assert!(seen > 0);
    assert!(
        failures.is_empty(),
        "{} of {seen} theories differ\n{}",
        failures.len(),
        failures[..shown].join("\n")
    );
}

/// Where Maude stops inside a traversal it prints a term that is not in normal form; rwl does.
fn without_stops(text: &str, theirs: &str) -> String {
    let lines = text.lines().zip(theirs.lines());
    let keep = |(line, other): (&str, &str)| {
        // Which rule of several comes first depends on addresses in Maude.
        if line.starts_with("===[") {
            return "===[\n".to_owned();
        }
        if let Some((arc, rules)) = line.split_once(" (").filter(|_| line.starts_with("arc ")) {
            let mut rules: Vec<&str> = rules.trim_end_matches(')').split(" .) (").collect();
            rules.sort_unstable();
            return format!("{arc} {rules:?}\n").replace(" .\"", "\"");
        }
        // Constants are one and the same for rwl, wherever they come from: where no rule applies to
        // one, it is not tried again.
        let count = |line: &str| line.strip_prefix("rewrites: ").and_then(|n| n.parse::<u64>().ok());
        if let (Some(ours), Some(theirs)) = (count(line), count(other))
            && ours <= theirs
        {
            return format!("{other}\n");
        }
        let stopped = other.starts_with("result (sort not calculated)") && line.starts_with("result ");
        if stopped { "result ...\n".to_owned() } else { format!("{line}\n") }
    };
    let same: String = lines.map(keep).collect();
    let rest: Vec<&str> = text.lines().skip(theirs.lines().count()).collect();
    same + &rest.join("\n")
}

/// Maude remembers inside of `=>` conditions where no rule applies, rwl does not; rwl remembers the
/// sorts of stored terms, where Maude applies memberships again.
fn has_equal_counts(theory: &str) -> bool {
    let has_rewrites =
        |line: &str, word: &str| line.split_once(word).is_some_and(|(_, c)| c.contains(" => "));
    let is_uneven = |line: &str| {
        line.starts_with("  mb ") || has_rewrites(line, " if ") || has_rewrites(line, " such that ")
    };
    !theory.lines().any(is_uneven)
}

fn without_counts(text: &str) -> String {
    text.lines().map(|line| line.split("rewrites: ").next().unwrap_or("").to_owned() + "\n").collect()
}
