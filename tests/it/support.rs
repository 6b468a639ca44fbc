//! What the tests share: running programs, reading cases, comparing texts.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The program under test.
pub const RWL: &str = env!("CARGO_BIN_EXE_rwl");

/// Where the cases are.
pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// Is a switch such as `RWL_BLESS=1` on?
pub fn switch(name: &str) -> bool {
    std::env::var(name).is_ok_and(|value| !value.is_empty() && value != "0")
}

/// The cases below a directory, sorted. Files below `inc` are only loaded by cases.
pub fn cases(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut work = vec![directory.to_path_buf()];
    while let Some(directory) = work.pop() {
        for entry in std::fs::read_dir(&directory).expect("test data is readable") {
            let path = entry.expect("test data is readable").path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != "inc") {
                    work.push(path);
                }
            } else if path.extension().is_some_and(|e| e == "maude" || e == "rwl") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A case's name: its path below `tests/data` without the extension.
pub fn case_name(case: &Path) -> String {
    case.strip_prefix(data()).unwrap_or(case).with_extension("").display().to_string()
}

/// Runs a program with text on its standard input; `None` if it takes too long.
pub fn run(command: &mut Command, input: &str, limit: Duration) -> Option<Output> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_owned();
    // The program may end before it has read everything.
    std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let pid = child.id();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || drop(sender.send(child.wait_with_output())));
    match receiver.recv_timeout(limit) {
        Ok(output) => Some(output.expect("the program's output is readable")),
        Err(_) => {
            // The child is ours and still waited for, so its number is not anyone else's.
            let _ = Command::new("kill").arg("-9").arg(pid.to_string()).status();
            None
        }
    }
}

/// Runs the program under test.
pub fn rwl(args: &[&str], input: &str) -> Output {
    rwl_in(&std::env::temp_dir(), args, input)
}

pub fn rwl_in(directory: &Path, args: &[&str], input: &str) -> Output {
    run(Command::new(RWL).args(args).current_dir(directory), input, Duration::from_secs(60))
        .unwrap_or_else(|| panic!("rwl {args:?} takes too long"))
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The text without times, which differ from run to run.
pub fn without_times(text: &str) -> String {
    text.split_inclusive('\n').map(line_without_times).collect()
}

fn line_without_times(line: &str) -> String {
    if let Some(rest) = line.strip_prefix("Decision time: ")
        && let Some(end) = times(rest)
    {
        return format!("Decision time:{}", &rest[end..]);
    }
    for (start, _) in line.match_indices(" in ") {
        let rest = &line[start + 4..];
        if let Some(end) = times(rest)
            && let Some(rate) = rest[end..].strip_prefix(" (")
            && let Some(close) = rate.find(')')
        {
            return format!("{}{}", &line[..start], line_without_times(&rate[close + 1..]));
        }
    }
    line.to_owned()
}

/// The length of `12ms cpu (34ms real)` at the beginning.
fn times(text: &str) -> Option<usize> {
    let mut rest = text;
    for unit in ["ms cpu (", "ms real)"] {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits == 0 {
            return None;
        }
        rest = rest[digits..].strip_prefix(unit)?;
    }
    Some(text.len() - rest.len())
}

#[test]
fn times_are_removed() {
    let check = |text: &str, expected: &str| assert_eq!(without_times(text), expected);
    check("rewrites: 5 in 0ms cpu (12ms real) (~ rewrites/second)\nx\n", "rewrites: 5\nx\n");
    check("Decision time: 0ms cpu (1ms real)\n", "Decision time:\n");
    check("reduce in A : b in c .\n", "reduce in A : b in c .\n");
}

/// The first lines that differ, each side marked; empty if the texts are equal.
pub fn difference(expected: &str, found: &str) -> String {
    if expected == found {
        return String::new();
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[same..].iter().rev().zip(new[same..].iter().rev()).take_while(|(a, b)| a == b).count();
    const SHOWN: usize = 12;
    let mut out = String::new();
    for line in &old[same.saturating_sub(3)..same] {
        out.push_str(&format!("      {line}\n"));
    }
    let mut side = |mark: char, lines: &[&str]| {
        for line in lines.iter().take(SHOWN) {
            out.push_str(&format!("    {mark} {line}\n"));
        }
        if lines.len() > SHOWN {
            out.push_str(&format!("    {mark} ... {} more lines\n", lines.len() - SHOWN));
        }
    };
    side('-', &old[same..old.len() - tail]);
    side('+', &new[same..new.len() - tail]);
    format!("    at line {}:\n{out}", same + 1)
}
