//! `rwl job run`.

use std::path::Path;

use super::fail;
use super::files::{Job, JobResult, Search};
use super::packed::Files;
use crate::base::{Diagnostic, Severity, SourceMap};
use crate::check::layers::apart::Outcome;
use crate::interp::{CheckRequest, Host, Interpreter, Searched};
use crate::report::{JobReport, Verdict};

/// Tells what a job came to if it has been done before, with an answer. A result that cannot be taken
/// for one will be replaced.
pub fn is_done(interpreter: &mut Interpreter, host: &mut dyn Host, path: &Path, job: &Job) -> bool {
    match JobResult::read(path, &job.digest) {
        Ok(Some(mut result)) if result.verdict() != Verdict::Unknown => {
            if let JobResult::Searched { report, .. } = &mut result {
                report.is_old = true;
            }
            tell(interpreter, host, &result);
            true
        }
        Ok(_) => false,
        Err(error) => {
            let message = format!("{error}; it will be replaced");
            let warning = Diagnostic::new(Severity::Warning, "bad-result", message, None);
            host.diagnostic(&warning, &SourceMap::default());
            false
        }
    }
}

/// Searches a piece of a layered check whose specification has been loaded, and writes the result.
pub fn search(interpreter: &mut Interpreter, host: &mut dyn Host, path: &Path, job: &Job, search: &Search) {
    let request = search.question.request();
    let Some(searched) = interpreter.search_piece(host, &request, &search.system, &search.piece) else {
        return;
    };
    let Searched { outcome, reason, states, rewrites, time } = searched;
    let (verdict, is_met, run) = match outcome {
        Outcome::Clean { is_met } => (Verdict::Holds, is_met, None),
        Outcome::Violated(run) => (Verdict::Violated, true, Some(run)),
        Outcome::Unknown(_) => (Verdict::Unknown, true, None),
    };
    let report = JobReport {
        number: job.number,
        count: job.count,
        formula: search.question.formula.clone(),
        verdict,
        is_met,
        reason,
        roots: search.states as u64,
        states,
        rewrites,
        time,
        peak_memory: host.peak_memory(),
        threads: interpreter.threads(),
        is_old: false,
    };
    save(interpreter, host, path, job, &JobResult::Searched { report, run });
}

/// Checks a claim of a batch, and writes the result.
pub fn check(
    interpreter: &mut Interpreter,
    host: &mut Files,
    path: &Path,
    job: &Job,
    request: &CheckRequest,
) {
    interpreter.check_once(host, request);
    if let Some(report) = host.heard.take() {
        let (json, text) = (report.json(), report.text(false));
        save(interpreter, host, path, job, &JobResult::Checked { verdict: report.verdict, json, text });
    }
}

fn save(interpreter: &mut Interpreter, host: &mut dyn Host, path: &Path, job: &Job, result: &JobResult) {
    match result.write(path, &job.digest) {
        Ok(()) => tell(interpreter, host, result),
        Err(error) => {
            fail(interpreter, host, &error);
            // The answer is lost, so nothing is known.
            interpreter.status.stopped = true;
            interpreter.status.violated = false;
        }
    }
}

fn tell(interpreter: &mut Interpreter, host: &mut dyn Host, result: &JobResult) {
    interpreter.status.violated |= result.verdict() == Verdict::Violated;
    interpreter.status.stopped |= result.verdict() == Verdict::Unknown;
    host.answer(&result.answer());
}
