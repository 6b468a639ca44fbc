//! A claim's process: how it is started, what it says, and what its end means.
//!
//! It is a group of its own, so that Ctrl-C at the terminal reaches the batch alone, which passes it on
//! once. If the batch is killed, the system kills its processes.

use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use serde_json::Value;

use super::Claim;
use crate::report::{CheckReport, ClaimReport, Ended, Verdict};

/// What a process says.
pub(super) enum Said {
    /// A line about progress.
    Progress(String),
    /// All of its standard output, at its end.
    Answer(String),
    /// All else of its standard error, at its end.
    Messages(String),
}

/// Starts it; its words come through `said`, last of all its answer and its messages.
///
/// The calling thread must live as long as the process: that thread's end is its end.
pub(super) fn start(
    command: &mut Command,
    said: impl Fn(Said) + Clone + Send + 'static,
) -> io::Result<Child> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    #[cfg(target_os = "linux")]
    // SAFETY: between fork and exec only this one call is made, which touches no memory.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
    let mut child = command.spawn()?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let say = said.clone();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before an error is all there is.
        let _ = out.map(|mut out| out.read_to_end(&mut bytes));
        say(Said::Answer(String::from_utf8_lossy(&bytes).into_owned()));
    });
    std::thread::spawn(move || {
        let messages = err.map(|err| listen(err, &said)).unwrap_or_default();
        said(Said::Messages(messages));
    });
    Ok(child)
}

/// Reads standard error: a line about progress begins with a carriage return and ends by clearing the
/// rest of the line; everything else is for the end.
fn listen(mut err: impl Read, said: &impl Fn(Said)) -> String {
    const CLEAR: &[u8] = b"\x1b[K";
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (mut messages, mut pending, mut chunk) = (String::new(), Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = err.read(&mut chunk) {
        pending.extend_from_slice(&chunk[..count]);
        while let Some(end) = pending.windows(CLEAR.len()).position(|window| window == CLEAR) {
            let line = text(&pending[..end]);
            pending.drain(..end + CLEAR.len());
            let (before, progress) = line.rsplit_once('\r').unwrap_or((&line, ""));
            messages.push_str(before);
            if !progress.is_empty() {
                said(Said::Progress(progress.to_owned()));
            }
        }
    }
    messages + &text(&pending)
}

/// Asks it to stop and to say what it knows.
pub(super) fn interrupt(child: &Child) {
    // SAFETY: the child has not been waited for, so that the number is still its own.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
}

/// The command that checks a claim, without limits.
pub(super) fn command(program: &Path, args: Vec<std::ffi::OsString>) -> Command {
    let mut command = Command::new(program);
    command.args(args).args(["--format", "json", "--color", "never", "-q"]);
    command
}

/// What the end of a process means for the claim.
pub(super) fn report(claim: &Claim, status: ExitStatus, answer: &str, messages: &str) -> ClaimReport {
    let object = answer.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
    let verdict = object.as_ref().and_then(|object| object["verdict"].as_str()).and_then(Verdict::from_text);
    // A verdict counts if the process ended as one with this verdict ends.
    match (verdict, status.code(), object) {
        (Some(Verdict::Holds), Some(0), Some(object)) => checked(claim, Verdict::Holds, object),
        (Some(Verdict::Violated), Some(1), Some(object)) => checked(claim, Verdict::Violated, object),
        (Some(Verdict::Unknown), Some(3), Some(object)) => checked(claim, Verdict::Unknown, object),
        (_, Some(3), _) => failed(claim, Ended::Checked, &said(messages, "a limit was reached")),
        (_, Some(2), _) => failed(claim, Ended::Refused, &said(messages, "it could not be checked")),
        (_, None, _) if status.signal() == Some(libc::SIGINT) => failed(claim, Ended::Checked, "interrupted"),
        (_, None, _) => {
            let signal = status.signal().unwrap_or_default();
            let reason = format!("its process was killed by signal {signal}");
            failed(claim, if signal == libc::SIGKILL { Ended::Checked } else { Ended::Broken }, &reason)
        }
        (_, Some(code), _) => {
            failed(claim, Ended::Broken, &said(messages, &format!("its process ended with exit code {code}")))
        }
    }
}

fn checked(claim: &Claim, verdict: Verdict, answer: Value) -> ClaimReport {
    ClaimReport {
        name: claim.name.clone(),
        group: claim.group.clone(),
        verdict,
        expected: claim.expect,
        ended: Ended::Checked,
        layers: claim.layers.clone(),
        reference: claim.reference.clone(),
        command: claim.command(),
        answer,
    }
}

/// A claim without an answer.
pub fn failed(claim: &Claim, ended: Ended, reason: &str) -> ClaimReport {
    let answer = CheckReport {
        module: claim.module.clone().unwrap_or_default(),
        init: claim.init.clone(),
        formula: claim.formula.clone(),
        fair_weak: claim.fair_weak.clone(),
        fair_strong: claim.fair_strong.clone(),
        reason: Some(reason.to_owned()),
        ..CheckReport::default()
    };
    ClaimReport { ended, ..checked(claim, Verdict::Unknown, answer.json()) }
}

/// The first error among messages in JSON, with its place, or the first message if none is an error;
/// otherwise the first line, or else the other text.
fn said(messages: &str, otherwise: &str) -> String {
    let objects = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let objects: Vec<Value> = objects.filter(|object| object["message"].is_string()).collect();
    let error = objects.iter().find(|object| object["severity"] == "error");
    let Some(error) = error.or(objects.first()) else {
        let first = messages.lines().map(str::trim).find(|line| !line.is_empty());
        return first.unwrap_or(otherwise).trim_start_matches("error: ").to_owned();
    };
    let message = error["message"].as_str().unwrap_or(otherwise);
    match (error["file"].as_str(), error["line"].as_u64(), error["column"].as_u64()) {
        (Some(file), Some(line), Some(column)) => format!("{file}:{line}:{column}: {message}"),
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn progress_is_told_apart_from_messages() {
        let lines = RefCell::new(Vec::new());
        let said = |said| {
            if let Said::Progress(line) = said {
                lines.borrow_mut().push(line);
            }
        };
        let text = "{\"a\": 1}\n\rlayer 1\x1b[K\rlayer 2\x1b[K\r\x1b[K{\"b\": 2}\nrest";
        assert_eq!(listen(text.as_bytes(), &said), "{\"a\": 1}\n{\"b\": 2}\nrest");
        assert_eq!(lines.into_inner(), ["layer 1", "layer 2"]);
    }

    #[test]
    fn reasons_come_from_messages() {
        let error = r#"{"severity": "warning", "message": "w"}
{"severity": "error", "message": "no sort", "file": "a.rwl", "line": 3, "column": 7}"#;
        assert_eq!(said(error, "x"), "a.rwl:3:7: no sort");
        assert_eq!(said(r#"{"severity": "warning", "message": "no time", "file": null}"#, "x"), "no time");
        assert_eq!(said("\nerror: no memory\nmore\n", "x"), "no memory");
        assert_eq!(said("", "x"), "x");
    }
}
