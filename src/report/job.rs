//! What a job says: a part of a check that is done on its own.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::answer::Time;
use super::checked::Verdict;
use super::counted;
use super::run::Paint;

/// What one job of a plan came to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct JobReport {
    pub number: usize,
    /// How many jobs the plan has.
    pub count: usize,
    pub formula: String,
    /// On the claim that no violation starts from its pairs.
    pub verdict: Verdict,
    /// Whether the premise of a leads-to was true here or in the layers before, if it holds.
    pub is_met: bool,
    /// Why it is unknown.
    pub reason: Option<String>,
    /// States from which it starts.
    pub roots: u64,
    pub states: u64,
    pub rewrites: u64,
    pub time: Time,
    pub peak_memory: u64,
    pub threads: usize,
    /// Was it done by an earlier run?
    pub is_old: bool,
}

impl JobReport {
    /// `holds: job 3 of 16 for [] ~ wrong`, and the numbers.
    pub fn text(&self, color: bool) -> String {
        let paint = Paint(color);
        let verdict = paint.put(self.verdict.colour(), self.verdict.text());
        let mut out = format!("{verdict}: job {} of {} for {}\n", self.number, self.count, self.formula);
        if let Some(reason) = &self.reason {
            let _ = writeln!(out, "reason: {reason}");
        }
        if self.verdict == Verdict::Violated {
            out.push_str("the run that violates it is shown by `rwl plan collect`\n");
        }
        let old = if self.is_old { "done before: " } else { "" };
        let numbers = format!(
            "{old}{} of the last boundary: {} expanded, {}, {:.2}s, {} MB",
            counted(self.roots, "state"),
            counted(self.states, "state"),
            counted(self.rewrites, "rewrite"),
            self.time.real.as_secs_f64(),
            self.peak_memory >> 20
        );
        let _ = writeln!(out, "{}", paint.put("2", &numbers));
        out
    }

    pub fn json(&self) -> Value {
        json!({
            "rwl": 1, "command": "job", "job": self.number, "of": self.count, "formula": self.formula,
            "verdict": self.verdict.text(), "premise_met": self.is_met, "reason": self.reason, "roots": self.roots,
            "states": self.states, "rewrites": self.rewrites, "seconds": self.time.real.as_secs_f64(),
            "cpu_seconds": self.time.cpu.as_secs_f64(), "peak_memory_bytes": self.peak_memory,
            "threads": self.threads, "done_before": self.is_old,
        })
    }

    /// What was written so.
    pub fn from_json(value: &Value) -> Option<JobReport> {
        let number = |key: &str| value[key].as_u64();
        let seconds = |key: &str| Duration::try_from_secs_f64(value[key].as_f64()?).ok();
        Some(JobReport {
            number: number("job")?.try_into().ok()?,
            count: number("of")?.try_into().ok()?,
            formula: value["formula"].as_str()?.to_owned(),
            verdict: Verdict::from_text(value["verdict"].as_str()?)?,
            is_met: value["premise_met"].as_bool()?,
            reason: value["reason"].as_str().map(str::to_owned),
            roots: number("roots")?,
            states: number("states")?,
            rewrites: number("rewrites")?,
            time: Time { cpu: seconds("cpu_seconds")?, real: seconds("seconds")? },
            peak_memory: number("peak_memory_bytes")?,
            threads: number("threads")?.try_into().ok()?,
            is_old: value["done_before"].as_bool()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let time = Time { cpu: Duration::from_millis(1250), real: Duration::from_millis(700) };
        let report = JobReport {
            number: 3,
            count: 16,
            formula: "[] ~ wrong".to_owned(),
            verdict: Verdict::Unknown,
            is_met: true,
            reason: Some("out of memory".to_owned()),
            roots: 130,
            states: 5000,
            rewrites: 60_000,
            time,
            peak_memory: 9_000_000,
            threads: 2,
            is_old: false,
        };
        assert_eq!(JobReport::from_json(&report.json()), Some(report.clone()));
        let expected = "\
unknown: job 3 of 16 for [] ~ wrong
reason: out of memory
130 states of the last boundary: 5000 states expanded, 60000 rewrites, 0.70s, 8 MB
";
        assert_eq!(report.text(false), expected);
    }
}
