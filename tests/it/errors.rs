//! What is said about mistakes: `tests/data/errors/*.stderr`. `RWL_BLESS_ERRORS=1` rewrites them;
//! the difference is reviewed like code.

use crate::support::*;

#[test]
fn mistakes_are_explained() {
    let mut failures = Vec::new();
    for case in cases(&data().join("errors")) {
        let directory = case.parent().expect("a directory");
        let file = case.file_name().and_then(|name| name.to_str()).expect("a file");
        let output = rwl_in(directory, &["run", "-no-advise", file], "");
        let (said, golden) = (text(&output.stderr), case.with_extension("stderr"));
        assert!(!said.contains("internal error"), "{file}: {said}");
        let has_error = said.lines().any(|line| line.starts_with("error"));
        assert_eq!(output.status.code(), Some(if has_error { 2 } else { 0 }), "{file}");
        if switch("RWL_BLESS_ERRORS") {
            std::fs::write(&golden, &said).expect("expectations are writable");
        }
        let differs = difference(&std::fs::read_to_string(&golden).unwrap_or_default(), &said);
        if !differs.is_empty() {
            failures.push(format!("{}\n{differs}", case_name(&case)));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
