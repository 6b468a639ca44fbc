//! `rwl plan collect`.

use std::path::Path;

use super::files::{Claim, Entry, JobResult, Plan, Question, RESULT, Spent, job_path};
use super::{JobsError, fail};
use crate::check::layers::Reason;
use crate::check::layers::apart::{Detached, Outcome};
use crate::interp::{Elsewhere, Host, Interpreter};
use crate::report::{Answer, ClaimReport, Verdict};

/// Tells what follows from the results of a plan's jobs, as `rwl check` would tell it. The specification
/// has been loaded.
pub fn collect(interpreter: &mut Interpreter, host: &mut dyn Host, directory: &Path, plan: &Plan) {
    // Nothing is said before all that is there has turned out to be in order.
    let mut gathered = Vec::new();
    for claim in 0..plan.claims.len() {
        match gather(directory, plan, claim) {
            Ok(found) => gathered.push(found),
            Err(error) => return fail(interpreter, host, &error),
        }
    }
    for (claim, (outcome, spent)) in plan.claims.iter().zip(gathered) {
        match claim {
            Claim::Answered { verdict, json, text } => {
                interpreter.status.violated |= *verdict == Verdict::Violated;
                interpreter.status.stopped |= *verdict == Verdict::Unknown;
                host.answer(&Answer::Saved { text: text.clone(), json: json.clone() });
            }
            // Batches are told as batches are.
            Claim::Batch(_) => {}
            Claim::Layered { question, system, boundaries, spent: before } => {
                let spent = before.and(spent);
                conclude(interpreter, host, question, system, boundaries, outcome, spent);
            }
        }
    }
}

/// What became of the claims of a batch.
pub fn batch(directory: &Path, plan: &Plan) -> Result<Vec<ClaimReport>, JobsError> {
    let mut reports = Vec::new();
    for (number, entry) in (1..).zip(&plan.jobs) {
        let Claim::Batch(report) = &plan.claims[entry.claim] else { continue };
        let mut report = ClaimReport::clone(report);
        let path = job_path(directory, number);
        match JobResult::read(&path, &entry.digest)? {
            Some(JobResult::Checked { verdict, json, .. }) => {
                (report.verdict, report.answer) = (verdict, json)
            }
            Some(JobResult::Searched { .. }) => return Err(JobsError::Damaged(path.with_extension(RESULT))),
            None => report.answer["reason"] = format!("job {number} has no result").into(),
        }
        reports.push(report);
    }
    Ok(reports)
}

fn conclude(
    interpreter: &mut Interpreter,
    host: &mut dyn Host,
    question: &Question,
    system: &str,
    boundaries: &[Vec<u8>],
    outcome: Outcome,
    spent: Spent,
) {
    let Spent { states, rewrites, time, peak_memory } = spent;
    let elsewhere = Elsewhere { outcome, states, rewrites, time, peak_memory };
    if let Some(report) = interpreter.conclude_once(host, &question.request(), system, boundaries, elsewhere)
    {
        host.answer(&Answer::Check(Box::new(report)));
    }
}

/// What the jobs of a claim came to. One violation is enough; without, all must be clean.
fn gather(directory: &Path, plan: &Plan, claim: usize) -> Result<(Outcome, Spent), JobsError> {
    let (mut spent, mut violated, mut unknown, mut missing) =
        (Spent::default(), None, Vec::new(), Vec::new());
    let mut is_met = false;
    let own = |(_, entry): &(usize, &Entry)| entry.claim == claim;
    let jobs = (1..).zip(&plan.jobs).filter(own);
    let count = jobs.clone().count();
    for (number, entry) in jobs {
        let path = job_path(directory, number);
        let (report, run) = match JobResult::read(&path, &entry.digest)? {
            Some(JobResult::Searched { report, run }) => (report, run),
            Some(JobResult::Checked { .. }) => return Err(JobsError::Damaged(path.with_extension(RESULT))),
            None => {
                missing.push(number);
                continue;
            }
        };
        let (states, rewrites) = (report.states, report.rewrites);
        spent = spent.and(Spent { states, rewrites, time: report.time, peak_memory: report.peak_memory });
        is_met |= report.is_met;
        match (report.verdict, run) {
            (Verdict::Holds, _) => {}
            (Verdict::Violated, Some(run)) => {
                let place = entry.first.saturating_add(run.place);
                violated.get_or_insert(Detached { place, ..run });
            }
            (Verdict::Violated, None) => return Err(JobsError::Damaged(path.with_extension(RESULT))),
            (Verdict::Unknown, _) => {
                unknown.push(format!("job {number}: {}", report.reason.unwrap_or_default()));
            }
        }
    }
    let outcome = match violated {
        Some(run) => Outcome::Violated(run),
        None if missing.is_empty() && unknown.is_empty() => Outcome::Clean { is_met },
        None => {
            let mut reasons = Vec::new();
            if !missing.is_empty() {
                reasons.push(format!("{} of {count} jobs have no result: {}", missing.len(), some(&missing)));
            }
            const SHOWN_MAX: usize = 3;
            let hidden = unknown.len().saturating_sub(SHOWN_MAX);
            unknown.truncate(SHOWN_MAX);
            reasons.append(&mut unknown);
            if hidden > 0 {
                reasons.push(format!("{hidden} more jobs without an answer"));
            }
            Outcome::Unknown(Reason::Elsewhere(reasons.join("; ")))
        }
    };
    Ok((outcome, spent))
}

/// Numbers, of many only the first.
fn some(numbers: &[usize]) -> String {
    const SHOWN_MAX: usize = 8;
    let mut shown: Vec<String> = numbers.iter().take(SHOWN_MAX).map(usize::to_string).collect();
    if numbers.len() > SHOWN_MAX {
        shown.push("...".to_owned());
    }
    shown.join(", ")
}
