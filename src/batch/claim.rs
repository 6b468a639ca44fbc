//! One claim of a plan, and the command that checks it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::base::{Span, size_text};
use crate::report::Verdict;

/// What is claimed, and how to check it.
#[derive(Clone, Debug)]
pub struct Claim {
    /// No other claim of the run has it.
    pub name: String,
    /// Where the name stands in the plan.
    pub span: Span,
    /// The heading of the report that it belongs to.
    pub group: Option<String>,
    pub spec: PathBuf,
    pub module: Option<String>,
    pub init: String,
    pub formula: String,
    /// As `--layers` takes it.
    pub layers: Option<String>,
    pub method: Option<String>,
    pub fair_weak: Vec<String>,
    pub fair_strong: Vec<String>,
    pub memory: Option<usize>,
    pub threads: Option<usize>,
    pub time: Option<Duration>,
    pub expect: Option<Verdict>,
    /// Columns of the report with what others say about it.
    pub reference: Vec<(String, String)>,
}

impl Claim {
    /// `check` with what it takes to state the claim.
    pub(super) fn statement(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec!["check".into(), self.spec.clone().into()];
        let mut put = |option: &str, value: &str| args.extend([option.into(), value.into()]);
        if let Some(module) = &self.module {
            put("--module", module);
        }
        put("--init", &self.init);
        put("--formula", &self.formula);
        for (option, labels) in [("--fair-weak", &self.fair_weak), ("--fair-strong", &self.fair_strong)] {
            if !labels.is_empty() {
                put(option, &labels.join(","));
            }
        }
        args
    }

    /// All that checks it; limits that depend on the other claims are left out.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut args = self.statement();
        if let Some(layers) = &self.layers {
            args.extend(["--layers".into(), layers.into()]);
            // There is one way only to check the state space as a whole.
            if let Some(method) = &self.method {
                args.extend(["--method".into(), method.into()]);
            }
        }
        args
    }

    /// All that checks it, with the limits that it has by itself.
    pub fn limited(&self) -> Vec<OsString> {
        let mut args = self.arguments();
        let limits = [
            ("--memory", self.memory.map(size_text)),
            ("--threads", self.threads.map(|count| count.to_string())),
            ("--time", self.time.map(|time| time.as_secs_f64().to_string())),
        ];
        for (option, value) in limits {
            args.extend(value.into_iter().flat_map(|value| [option.into(), value.into()]));
        }
        args
    }

    /// The command as one would type it.
    pub fn command(&self) -> String {
        let words = self.limited();
        let words = words.iter().map(|word| quoted(&word.to_string_lossy()));
        std::iter::once("rwl".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// A word that a shell leaves as it is.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
