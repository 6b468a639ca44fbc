//! Every case of `tests/data` answers as Maude 3.2 does, or a newer one where 3.2 lacks something.
//!
//! `RWL_MAUDE=1` also runs Maude itself and requires that the expectations are what it says;
//! `RWL_BLESS=1` rewrites the expectations from Maude. `RWL_CASE=text` picks cases by name.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::*;

const FLAGS: &[&str] = &["-no-banner", "-no-advise", "-no-wrap", "-batch"];

/// Cases that do not pass yet, one per line, with the reason after `#`. A case that passes must
/// leave the list.
const PENDING: &str = include_str!("pending.txt");

/// Cases that Maude 3.2 cannot run; it is not asked for them.
const NEWER: &str = include_str!("newer.txt");

/// The cases of a list, without the remarks.
fn listed(list: &str) -> Vec<&str> {
    list.lines()
        .filter_map(|line| line.split('#').next())
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect()
}

fn answer(program: &str, case: &Path, limit: Duration) -> Option<String> {
    let mut command = Command::new(program);
    command.args(FLAGS).arg(case.file_name().expect("a file"));
    command.current_dir(case.parent().expect("a directory"));
    // Maude looks for files relative to this variable.
    command.env("PWD", case.parent().expect("a directory"));
    let output = run(&mut command, "", limit)?;
    Some(without_times(&text(&output.stdout)))
}

/// Where `frewrite` stops inside a traversal Maude prints a term that is not in normal form, and no
/// sort. rwl prints the normal form; such lines are not compared.
fn as_if_stopped(expected: &str, said: &str) -> String {
    let mut theirs = expected.lines();
    let mut out = String::new();
    for line in said.split_inclusive('\n') {
        match theirs.next() {
            Some(other)
                if other.starts_with("result (sort not calculated): ") && line.starts_with("result ") =>
            {
                out.push_str(other);
                out.push('\n');
            }
            _ => out.push_str(line),
        }
    }
    out
}

/// Checking a formula takes other rewrites than Maude's, and finds other runs that violate it.
fn as_if_checked(name: &str, said: &str) -> String {
    if !name.starts_with("ltl/") {
        return said.to_owned();
    }
    let shown = said.lines().filter(|line| !line.starts_with("rewrites: "));
    let mut out = String::new();
    for line in shown {
        out.push_str(
            line.find("ModelCheckResult: counterexample(")
                .map_or(line, |at| &line[..at + "ModelCheckResult: counterexample(".len()]),
        );
        out.push('\n');
    }
    out
}

#[test]
fn cases_answer_as_maude_does() {
    let wanted = std::env::var("RWL_CASE").unwrap_or_default();
    let cases: Vec<_> = cases(&data()).into_iter().filter(|case| case_name(case).contains(&wanted)).collect();
    let maude = std::env::var("MAUDE").unwrap_or_else(|_| "/usr/bin/maude".to_owned());
    let (bless, with_maude) = (switch("RWL_BLESS"), switch("RWL_MAUDE"));
    let (pending, newer) = (listed(PENDING), listed(NEWER));

    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let name = case_name(case);
                    let expectation = case.with_extension("expected");
                    if (bless || with_maude) && !newer.contains(&name.as_str()) {
                        let said =
                            answer(&maude, case, Duration::from_secs(30)).expect("Maude answers in time");
                        if bless {
                            std::fs::write(&expectation, &said).expect("expectations are writable");
                        }
                        let expected = std::fs::read(&expectation).map(|b| text(&b)).unwrap_or_default();
                        let differs = difference(&expected, &said);
                        if !differs.is_empty() {
                            let report = format!("{name}: Maude itself answers otherwise\n{differs}");
                            failures.lock().expect("no panic").push(report);
                        }
                    }
                    let expected = std::fs::read(&expectation).map(|b| text(&b)).unwrap_or_default();
                    let differs = match answer(RWL, case, Duration::from_secs(30)) {
                        Some(said) => {
                            let (theirs, ours) =
                                (as_if_checked(&name, &expected), as_if_checked(&name, &said));
                            difference(&theirs, &as_if_stopped(&theirs, &ours))
                        }
                        None => "    no answer in time\n".to_owned(),
                    };
                    let report = match (differs.is_empty(), pending.contains(&name.as_str())) {
                        (false, false) => format!("{name}\n{differs}"),
                        (true, true) => format!("{name} passes: take it off tests/it/pending.txt\n"),
                        _ => continue,
                    };
                    failures.lock().expect("no panic").push(report);
                }
            });
        }
    });
    let mut failures = failures.into_inner().expect("no panic");
    failures.sort();
    assert!(failures.is_empty(), "{} of {} cases:\n{}", failures.len(), cases.len(), failures.join("\n"));
}
