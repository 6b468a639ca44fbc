//! What is said about mistakes: `tests/data/errors/*.stderr` and `tests/mistakes/*.stderr`.
//! `RWL_BLESS_ERRORS=1` rewrites them; the difference is reviewed like code.

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::*;

#[test]
fn mistakes_are_explained() {
    explains(&data().join("errors"), |_| true);
}

/// Each program ends with a module without mistakes, which must not suffer from them.
#[test]
fn mistakes_spoil_nothing_else() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes");
    explains(&directory, |output| text(&output.stdout).ends_with("result NzNat: 42\n"));
}

/// Compares what is said about the cases of a directory; the exit code must fit it.
fn explains(directory: &Path, is_right: impl Fn(&Output) -> bool) {
    let mut failures = Vec::new();
    for case in cases(directory) {
        if let Err(failure) = explain(&case, &is_right) {
            failures.push(format!("{}\n{failure}", case_name(&case)));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn explain(case: &PathBuf, is_right: &impl Fn(&Output) -> bool) -> Result<(), String> {
    let file = case.file_name().and_then(|name| name.to_str()).expect("a file");
    let output = rwl_in(case.parent().expect("a directory"), &["run", "-no-advise", file], "");
    let (said, golden) = (text(&output.stderr), case.with_extension("stderr"));
    let has_error = said.lines().any(|line| line.starts_with("error"));
    let code = output.status.code();
    if said.contains("internal error") || code != Some(if has_error { 2 } else { 0 }) {
        return Err(format!("exit code {code:?}: {said}"));
    }
    if !is_right(&output) {
        return Err(format!("other answers are lost:\n{}{said}", text(&output.stdout)));
    }
    if switch("RWL_BLESS_ERRORS") {
        std::fs::write(&golden, &said).expect("expectations are writable");
    }
    match difference(&std::fs::read_to_string(&golden).unwrap_or_default(), &said) {
        same if same.is_empty() => Ok(()),
        differs => Err(differs),
    }
}
