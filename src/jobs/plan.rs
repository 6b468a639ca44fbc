//! `rwl plan`.

use std::path::Path;

use serde_json::json;

use super::files::{Claim, Entry, Job, PLAN, Plan, Question, Search, Spent, Task, job_path};
use super::packed::Spec;
use super::{JobsError, fail};
use crate::check::layers::Layers;
use crate::check::layers::apart::Pieces;
use crate::interp::{CheckRequest, Host, Interpreter, Open, Planned};
use crate::report::{Answer, CheckReport, ClaimReport, counted};

/// Makes the directory of a plan, or says why it cannot be used.
pub fn claim_directory(directory: &Path) -> Result<(), JobsError> {
    std::fs::create_dir_all(directory)
        .map_err(|error| JobsError::Io(directory.to_owned(), error.to_string()))?;
    if directory.join(PLAN).exists() {
        return Err(JobsError::Exists(directory.to_owned()));
    }
    Ok(())
}

/// What is to be planned.
pub struct Order<'a> {
    pub request: &'a CheckRequest,
    pub layers: &'a Layers,
    pub pieces: Pieces,
    pub directory: &'a Path,
}

/// Goes through the first layers and writes the jobs, then the plan: without it there are no jobs
/// that anyone waits for.
pub fn make(interpreter: &mut Interpreter, host: &mut dyn Host, order: &Order, spec: Spec) {
    let Some(mut planned) = interpreter.plan_once(host, order.request, order.layers, order.pieces) else {
        return;
    };
    let plan = match write(order, spec, &mut planned) {
        Ok(plan) => plan,
        Err(error) => return fail(interpreter, host, &error),
    };
    for claim in &planned {
        if let Planned::Open(open) = claim {
            host.answer(&summary(open));
        }
    }
    host.answer(&next(order.directory, plan.jobs.len()));
}

fn write(order: &Order, spec: Spec, planned: &mut [Planned]) -> Result<Plan, JobsError> {
    let count = planned.iter().map(|claim| match claim {
        Planned::Open(open) => open.frontier.pieces.len(),
        Planned::Answered(_) => 0,
    });
    let count = count.sum();
    let mut plan = Plan { spec, claims: Vec::new(), jobs: Vec::new() };
    for (number, claim) in planned.iter_mut().enumerate() {
        let open = match claim {
            Planned::Answered(report) => {
                let (json, text) = (report.json(), report.text(false));
                plan.claims.push(Claim::Answered { verdict: report.verdict, json, text });
                continue;
            }
            Planned::Open(open) => open,
        };
        let CheckRequest { module, init, .. } = order.request.clone();
        let question = Question { module, init, formula: open.formula.clone() };
        for piece in &mut open.frontier.pieces {
            let job = Job {
                number: plan.jobs.len() + 1,
                count,
                spec: plan.spec.clone(),
                task: Task::Search(Search {
                    question: question.clone(),
                    system: open.system.clone(),
                    states: piece.states,
                    pairs: piece.pairs,
                    piece: std::mem::take(&mut piece.bytes),
                }),
                digest: String::new(),
            };
            let digest = job.write(order.directory)?;
            plan.jobs.push(Entry { digest, claim: number, first: piece.first });
        }
        let CheckReport { states, rewrites, time, peak_memory, .. } = open.report;
        plan.claims.push(Claim::Layered {
            question,
            system: open.system.clone(),
            boundaries: std::mem::take(&mut open.frontier.boundaries),
            spent: Spent { states, rewrites, time, peak_memory },
        });
    }
    plan.write(order.directory)?;
    Ok(plan)
}

/// What is planned for one formula.
fn summary(open: &Open) -> Answer {
    let report = &open.report;
    let pieces = &open.frontier.pieces;
    let pairs: usize = pieces.iter().map(|piece| piece.pairs).sum();
    let name = report.name.as_ref().map_or_else(String::new, |name| format!("{name} = "));
    let mut text = format!("planned: {name}{}\n{}\n", report.formula, report.numbers());
    text.push_str(&report.layers_text());
    let (jobs, pairs_text) = (counted(pieces.len() as u64, "job"), counted(pairs as u64, "pair"));
    text.push_str(&format!("{jobs} for the {pairs_text} of the last boundary\n"));
    let mut json = report.json();
    for (key, value) in [("command", json!("plan")), ("jobs", json!(pieces.len())), ("pairs", json!(pairs))] {
        json[key] = value;
    }
    Answer::Saved { text, json }
}

/// Writes a job for each claim of a batch, with its specification and the arguments that check it, then
/// the plan.
pub fn batch(
    host: &mut dyn Host,
    directory: &Path,
    claims: Vec<(ClaimReport, Spec, Vec<String>)>,
) -> Result<(), JobsError> {
    let count = claims.len();
    let mut plan = Plan { spec: Spec::default(), claims: Vec::new(), jobs: Vec::new() };
    for (place, (report, spec, arguments)) in claims.into_iter().enumerate() {
        let task = Task::Claim(arguments);
        let digest = Job { number: place + 1, count, spec, task, digest: String::new() }.write(directory)?;
        plan.jobs.push(Entry { digest, claim: place, first: 0 });
        plan.claims.push(Claim::Batch(Box::new(report)));
    }
    plan.write(directory)?;
    host.answer(&next(directory, count));
    Ok(())
}

/// What was written, and what to do now.
fn next(directory: &Path, jobs: usize) -> Answer {
    let (place, first) = (directory.display(), job_path(directory, 1));
    let run = match jobs {
        0 => String::new(),
        1 => format!("rwl job run {}\n", first.display()),
        _ => format!("rwl job run {}   # and so on to {jobs}.job, anywhere, in any order\n", first.display()),
    };
    let text = format!("\n{run}rwl plan collect {place}\n");
    let json = json!({"rwl": 1, "command": "plan", "directory": place.to_string(), "jobs": jobs});
    Answer::Saved { text, json }
}
