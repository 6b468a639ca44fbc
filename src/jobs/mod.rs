//! Checks beyond one machine: a plan with its jobs, as files that any engine for batch jobs can hand
//! around.
//!
//! `rwl plan` writes a directory: a file for each job and, last of all, the plan. A job is all that
//! `rwl job run` needs besides the program; its result is a file beside it. `rwl plan collect` takes the
//! plan and the results. Who runs which job, how often and where, does not matter: a result is tied to
//! its job by the job's digest, and only a plan all of whose jobs have clean results holds.

pub mod collect;
mod files;
mod packed;
pub mod plan;
pub mod run;
mod sealed;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::base::{Diagnostic, Severity, SourceMap};
use crate::interp::{Host, Interpreter};

pub use files::{Job, Plan, Task};
pub use packed::{Files, Source, Spec};

/// What is wrong with the files of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JobsError {
    /// A file could not be read or written; the text is the system's.
    Io(PathBuf, String),
    /// There is no such file.
    Missing(PathBuf),
    /// There is a plan already.
    Exists(PathBuf),
    /// The file is nothing that rwl wrote for this purpose.
    Unsealed(PathBuf),
    /// The file is not what was written.
    Damaged(PathBuf),
    /// It is something else than is asked for; the text says what.
    Foreign(PathBuf, String),
}

impl JobsError {
    /// What could help.
    pub fn hint(&self) -> Option<String> {
        let is_result =
            |path: &Path| path.extension().is_some_and(|e| e == files::RESULT || e == files::UNKNOWN);
        match self {
            JobsError::Damaged(path) | JobsError::Foreign(path, _) | JobsError::Unsealed(path)
                if is_result(path) =>
            {
                Some(format!("remove it and run `rwl job run {}`", path.with_extension("job").display()))
            }
            JobsError::Damaged(_) => Some("copy it again, or make the plan anew".to_owned()),
            JobsError::Exists(_) => Some("use another directory, or collect what is there".to_owned()),
            _ => None,
        }
    }
}

impl fmt::Display for JobsError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            JobsError::Io(path, text) => write!(f, "{}: {text}", path.display()),
            JobsError::Missing(path) => write!(f, "there is no file {}", path.display()),
            JobsError::Exists(path) => write!(f, "{}: there is a plan already", path.display()),
            JobsError::Unsealed(path) => write!(f, "{} is no file of a plan", path.display()),
            JobsError::Damaged(path) => write!(f, "{} is damaged", path.display()),
            JobsError::Foreign(path, text) => write!(f, "{}: {text}", path.display()),
        }
    }
}

/// Tells an error, and that there was one.
fn fail(interpreter: &mut Interpreter, host: &mut dyn Host, error: &JobsError) {
    interpreter.status.errors += 1;
    say(host, error);
}

/// Tells an error.
pub fn say(host: &mut dyn Host, error: &JobsError) {
    let mut message = Diagnostic::new(Severity::Error, "jobs", error.to_string(), None);
    if let Some(hint) = error.hint() {
        message = message.hint(hint);
    }
    host.diagnostic(&message, &SourceMap::default());
}
