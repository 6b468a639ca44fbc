//! The files of a plan: what they are called and what they say.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::JobsError;
use super::packed::Spec;
use super::sealed::{self, hex, unhex};
use crate::check::layers::apart::Detached;
use crate::interp::CheckRequest;
use crate::report::{Answer, ClaimReport, JobReport, Time, Verdict};

/// The plan inside its directory. Jobs are beside it, `1.job` and so on, and their results, if those
/// are final, as `1.result`.
pub const PLAN: &str = "plan.json";
pub const JOB: &str = "job";
pub const RESULT: &str = "result";
/// What ended without an answer is called otherwise, so that it can never replace an answer.
pub const UNKNOWN: &str = "unknown";

/// The name of a job's file.
pub fn job_path(directory: &Path, number: usize) -> PathBuf {
    directory.join(number.to_string()).with_extension(JOB)
}

/// What is asked about one formula.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    pub module: Option<String>,
    pub init: String,
    pub formula: String,
}

impl Question {
    pub fn request(&self) -> CheckRequest {
        let Question { module, init, formula } = self.clone();
        CheckRequest { module, init, formulas: vec![formula], ..CheckRequest::default() }
    }

    fn json(&self) -> Value {
        json!({"module": self.module, "init": self.init, "formula": self.formula})
    }

    fn from_json(value: &Value) -> Option<Question> {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        Some(Question { module: text("module"), init: text("init")?, formula: text("formula")? })
    }
}

/// What something took.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Spent {
    pub states: u64,
    pub rewrites: u64,
    pub time: Time,
    pub peak_memory: u64,
}

impl Spent {
    pub fn json(&self) -> Map<String, Value> {
        let object = json!({"states": self.states, "rewrites": self.rewrites,
            "seconds": self.time.real.as_secs_f64(), "cpu_seconds": self.time.cpu.as_secs_f64(),
            "peak_memory_bytes": self.peak_memory});
        let Value::Object(object) = object else { unreachable!("it is written as one") };
        object
    }

    fn from_json(value: &Value) -> Option<Spent> {
        let seconds = |key: &str| Duration::try_from_secs_f64(value[key].as_f64()?).ok();
        Some(Spent {
            states: value["states"].as_u64()?,
            rewrites: value["rewrites"].as_u64()?,
            time: Time { cpu: seconds("cpu_seconds")?, real: seconds("seconds")? },
            peak_memory: value["peak_memory_bytes"].as_u64()?,
        })
    }

    /// Both together; they need not have been at the same time.
    pub fn and(self, other: Spent) -> Spent {
        Spent {
            states: self.states + other.states,
            rewrites: self.rewrites + other.rewrites,
            time: Time { cpu: self.time.cpu + other.time.cpu, real: self.time.real + other.time.real },
            peak_memory: self.peak_memory.max(other.peak_memory),
        }
    }
}

/// A plan: its claims, and where the jobs of each are.
#[derive(Clone, Debug)]
pub struct Plan {
    pub spec: Spec,
    pub claims: Vec<Claim>,
    /// The first has the number 1.
    pub jobs: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub enum Claim {
    /// What was found out while the plan was made, as it is told.
    Answered { verdict: Verdict, json: Value, text: String },
    /// The final layer has to be searched.
    Layered { question: Question, system: String, boundaries: Vec<Vec<u8>>, spent: Spent },
    /// A claim of a batch, which is one job; what the report says about it without an answer.
    Batch(Box<ClaimReport>),
}

/// A job as its plan knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Of the job's file.
    pub digest: String,
    /// The number of the claim, from 0.
    pub claim: usize,
    /// The place of its first state in the last boundary.
    pub first: usize,
}

/// A job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    pub number: usize,
    /// How many jobs there are in the plan.
    pub count: usize,
    pub spec: Spec,
    pub task: Task,
    /// Of its file.
    pub digest: String,
}

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Task {
    Search(Search),
    /// The arguments of `rwl` that check a claim: `check`, the file, and so on.
    Claim(Vec<String>),
}

/// Some states of the last boundary of a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Search {
    pub question: Question,
    pub system: String,
    pub states: usize,
    pub pairs: usize,
    pub piece: Vec<u8>,
}

/// What a job came to.
#[derive(Clone, Debug)]
pub enum JobResult {
    /// The run, if one was found, goes from a state of the job on.
    Searched { report: JobReport, run: Option<Detached> },
    /// What was told about a claim.
    Checked { verdict: Verdict, json: Value, text: String },
}

/// A sealed object begins like this.
fn head(kind: &str) -> Map<String, Value> {
    let mut head = Map::new();
    for (key, value) in [("rwl", json!(1)), ("kind", json!(kind)), ("version", json!(VERSION))] {
        head.insert(key.to_owned(), value);
    }
    head
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Writes an object of a kind; gives the digest of the file.
fn write(path: &Path, kind: &str, fields: Value) -> Result<String, JobsError> {
    let mut object = head(kind);
    if let Value::Object(fields) = fields {
        object.extend(fields);
    }
    sealed::write(path, Value::Object(object))
}

/// Reads an object of a kind, as this version of the program writes it.
fn read(path: &Path, kind: &str) -> Result<Option<(Value, String)>, JobsError> {
    let Some((value, digest)) = sealed::read(path)? else { return Ok(None) };
    let foreign = |text: String| Err(JobsError::Foreign(path.to_owned(), text));
    match (value["kind"].as_str(), value["version"].as_str()) {
        (Some(found), _) if found != kind => foreign(format!("this is a {found}, not a {kind}")),
        (_, Some(found)) if found != VERSION => {
            foreign(format!("it was written by rwl {found}, this is rwl {VERSION}"))
        }
        (Some(_), Some(_)) => Ok(Some((value, digest))),
        _ => Err(JobsError::Unsealed(path.to_owned())),
    }
}

fn bytes(value: &Value) -> Option<Vec<u8>> {
    unhex(value.as_str()?)
}

fn number(value: &Value) -> Option<usize> {
    value.as_u64()?.try_into().ok()
}

/// The number of a rule, or nothing.
fn rule(value: &Value) -> Option<Option<u32>> {
    match value {
        Value::Null => Some(None),
        value => value.as_u64()?.try_into().ok().map(Some),
    }
}

fn list<T>(value: &Value, item: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    value.as_array()?.iter().map(item).collect()
}

impl Plan {
    /// Boundaries may take much memory, so they are gone after this.
    pub fn write(&mut self, directory: &Path) -> Result<(), JobsError> {
        let claim = |claim: &mut Claim| match claim {
            Claim::Answered { verdict, json, text } => {
                json!({"verdict": verdict.text(), "json": json, "text": text})
            }
            Claim::Batch(report) => json!({"batch": report.saved()}),
            Claim::Layered { question, system, boundaries, spent } => {
                let mut object =
                    json!({"question": question.json(), "system": system, "spent": spent.json()});
                // The macro would copy them.
                let texts = std::mem::take(boundaries).into_iter().map(|bytes| hex(&bytes));
                object["boundaries"] = texts.map(Value::from).collect();
                object
            }
        };
        let entry = |Entry { digest, claim, first }: &Entry| json!({"digest": digest, "claim": claim, "first": first});
        let mut fields = json!({
            "spec": self.spec.json(),
            "jobs": self.jobs.iter().map(entry).collect::<Vec<Value>>(),
        });
        fields["claims"] = self.claims.iter_mut().map(claim).collect();
        write(&directory.join(PLAN), "plan", fields).map(|_| ())
    }

    pub fn read(directory: &Path) -> Result<Plan, JobsError> {
        let path = directory.join(PLAN);
        let Some((value, _)) = read(&path, "plan")? else { return Err(JobsError::Missing(path)) };
        Plan::from_json(&value).ok_or(JobsError::Damaged(path))
    }

    /// Is it made of the claims of a batch?
    pub fn is_batch(&self) -> bool {
        self.claims.iter().any(|claim| matches!(claim, Claim::Batch(_)))
    }

    fn from_json(value: &Value) -> Option<Plan> {
        let claim = |value: &Value| match value["verdict"].as_str() {
            None if value["batch"].is_object() => {
                Some(Claim::Batch(Box::new(ClaimReport::from_saved(&value["batch"])?)))
            }
            Some(verdict) => Some(Claim::Answered {
                verdict: Verdict::from_text(verdict)?,
                json: value["json"].clone(),
                text: value["text"].as_str()?.to_owned(),
            }),
            None => Some(Claim::Layered {
                question: Question::from_json(&value["question"])?,
                system: value["system"].as_str()?.to_owned(),
                boundaries: list(&value["boundaries"], bytes)?,
                spent: Spent::from_json(&value["spent"])?,
            }),
        };
        let claims = list(&value["claims"], claim)?;
        let entry = |value: &Value| {
            let digest = value["digest"].as_str()?.to_owned();
            let claim = number(&value["claim"]).filter(|&claim| claim < claims.len())?;
            Some(Entry { digest, claim, first: number(&value["first"])? })
        };
        Some(Plan { spec: Spec::from_json(&value["spec"])?, jobs: list(&value["jobs"], entry)?, claims })
    }
}

impl Job {
    /// Writes the job into the directory of its plan; gives the digest of the file.
    pub fn write(&self, directory: &Path) -> Result<String, JobsError> {
        let mut fields = json!({"number": self.number, "of": self.count, "spec": self.spec.json()});
        match &self.task {
            Task::Claim(arguments) => fields["arguments"] = json!(arguments),
            Task::Search(Search { question, system, states, pairs, piece }) => {
                fields["search"] = json!({"question": question.json(), "system": system, "states": states,
                    "pairs": pairs, "piece": hex(piece)});
            }
        }
        write(&job_path(directory, self.number), "job", fields)
    }

    pub fn read(path: &Path) -> Result<Job, JobsError> {
        let Some((value, digest)) = read(path, "job")? else {
            return Err(JobsError::Missing(path.to_owned()));
        };
        Job::from_json(&value, digest).ok_or_else(|| JobsError::Damaged(path.to_owned()))
    }

    fn from_json(value: &Value, digest: String) -> Option<Job> {
        let task = match (&value["search"], &value["arguments"]) {
            (Value::Null, arguments) => {
                Task::Claim(list(arguments, |word| word.as_str().map(str::to_owned))?)
            }
            (search, _) => Task::Search(Search {
                question: Question::from_json(&search["question"])?,
                system: search["system"].as_str()?.to_owned(),
                states: number(&search["states"])?,
                pairs: number(&search["pairs"])?,
                piece: bytes(&search["piece"])?,
            }),
        };
        Some(Job {
            number: number(&value["number"])?,
            count: number(&value["of"])?,
            spec: Spec::from_json(&value["spec"])?,
            task,
            digest,
        })
    }
}

impl JobResult {
    pub fn verdict(&self) -> Verdict {
        match self {
            JobResult::Searched { report, .. } => report.verdict,
            JobResult::Checked { verdict, .. } => *verdict,
        }
    }

    /// As it is told.
    pub fn answer(&self) -> Answer {
        match self {
            JobResult::Searched { report, .. } => Answer::Job(Box::new(report.clone())),
            JobResult::Checked { json, text, .. } => Answer::Saved { text: text.clone(), json: json.clone() },
        }
    }

    /// Writes what a job came to beside the job.
    pub fn write(&self, job_path: &Path, digest: &str) -> Result<(), JobsError> {
        let mut fields = match self {
            JobResult::Checked { verdict, json, text } => {
                json!({"verdict": verdict.text(), "claim": json, "text": text})
            }
            JobResult::Searched { report, run } => {
                let run = run.as_ref().map(|run| {
                    let states: Vec<String> = run.states.iter().map(|bytes| hex(bytes)).collect();
                    json!({"place": run.place, "at": run.at, "states": states, "rules": run.rules, "back": run.back})
                });
                let mut fields = report.json();
                fields["run"] = json!(run);
                fields
            }
        };
        fields["of_job"] = json!(digest);
        let unknown = job_path.with_extension(UNKNOWN);
        if self.verdict() == Verdict::Unknown {
            return write(&unknown, "result", fields).map(|_| ());
        }
        write(&job_path.with_extension(RESULT), "result", fields)?;
        // If it stays, nobody minds.
        let _ = std::fs::remove_file(unknown);
        Ok(())
    }

    /// What the job with this digest came to, if someone has run it: an answer if there is one, else
    /// why there is none.
    pub fn read(job_path: &Path, digest: &str) -> Result<Option<JobResult>, JobsError> {
        for extension in [RESULT, UNKNOWN] {
            let path = job_path.with_extension(extension);
            if let Some((value, _)) = read(&path, "result")? {
                if value["of_job"].as_str() != Some(digest) {
                    return Err(JobsError::Foreign(path, "it is the result of another job".to_owned()));
                }
                let result = JobResult::from_json(&value).filter(|result| {
                    // A name cannot be wrong by accident, but it costs nothing to look.
                    (result.verdict() == Verdict::Unknown) == (extension == UNKNOWN)
                });
                return result.map(Some).ok_or(JobsError::Damaged(path));
            }
        }
        Ok(None)
    }

    fn from_json(value: &Value) -> Option<JobResult> {
        if value["claim"].is_object() {
            return Some(JobResult::Checked {
                verdict: Verdict::from_text(value["verdict"].as_str()?)?,
                json: value["claim"].clone(),
                text: value["text"].as_str()?.to_owned(),
            });
        }
        let report = JobReport::from_json(value)?;
        let run = match &value["run"] {
            Value::Null => None,
            run => Some(Detached {
                place: number(&run["place"])?,
                at: run["at"].as_u64()?.try_into().ok()?,
                states: list(&run["states"], bytes)?,
                rules: list(&run["rules"], rule)?,
                back: if run["back"].is_null() { None } else { Some(number(&run["back"])?) },
            }),
        };
        // A violation without a run is none, nor the other way round.
        (run.is_some() == (report.verdict == Verdict::Violated))
            .then_some(JobResult::Searched { report, run })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn another_version_and_another_kind_are_refused() {
        let directory = std::env::temp_dir().join(format!("rwl-files-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let refused = |object: Value| {
            let path = job_path(&directory, 1);
            sealed::write(&path, object).unwrap();
            Job::read(&path).unwrap_err().to_string().split_once(": ").map(|(_, why)| why.to_owned())
        };
        let said = refused(json!({"kind": "job", "version": "0.0.1"})).unwrap();
        assert_eq!(said, format!("it was written by rwl 0.0.1, this is rwl {VERSION}"));
        let said = refused(json!({"kind": "plan", "version": VERSION})).unwrap();
        assert_eq!(said, "this is a plan, not a job");
        // What is missing is seen as well.
        assert_eq!(refused(json!({"kind": "job", "version": VERSION})), None);
        assert_eq!(refused(json!({"something": "else"})), None);
        fs::remove_dir_all(&directory).unwrap();
    }
}
