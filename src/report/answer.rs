//! What commands answer, as plain data, and as text in Maude's wording.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::checked::CheckReport;
use super::job::JobReport;
use super::layers::{Analysis, Initialized, layers_counterexample, layers_verdict};
use super::search::{Found, SearchReport};
use crate::base::{Diagnostic, Severity, SourceMap};

/// The line before the echo of a command that does not come from the prompt.
const RULE: &str = "==========================================\n";

/// One piece of an answer. A command gives one or more, in the order of saying.
#[derive(Clone, Debug)]
pub enum Answer {
    /// `reduce in M : t .`; said before the work begins.
    Echo {
        text: String,
        /// Maude separates commands of files, but not those typed at the prompt.
        separated: bool,
    },
    /// What a reduction came to.
    Result {
        command: &'static str,
        module: String,
        input: String,
        sort: String,
        term: String,
        effort: Effort,
    },
    /// `parse`: the sort and the term as understood.
    Parsed {
        module: String,
        sort: String,
        term: String,
    },
    /// `Decision time: ...`: said when the first matcher has been found, or that there is none.
    Decided {
        time: Time,
        found: bool,
        timing: bool,
    },
    Matcher(Matcher),
    /// The end of a list of matchers.
    Matched {
        command: &'static str,
        module: String,
        count: u64,
    },
    /// A solution of a search.
    Found(Found),
    /// The end of a search.
    Searched {
        count: u64,
        /// Has the search had solutions, here or before it was continued?
        any: bool,
        effort: Effort,
        is_reported: bool,
    },
    /// How far a search came that was stopped.
    Reached {
        effort: Effort,
        depth: u64,
        reason: &'static str,
        is_reported: bool,
    },
    SearchReport(Box<SearchReport>),
    /// What `rwl check` found out about a formula.
    Check(Box<CheckReport>),
    /// `initialize` of the layered checker.
    Initialized(Initialized),
    /// Where its layers end.
    Analyzed(Analysis),
    /// What it found out, and where its layers end.
    LayersChecked(Analysis, Box<CheckReport>),
    /// The run that violates its formula, once more.
    LayersCounterexample(Box<CheckReport>),
    /// What a part of a check came to.
    Job(Box<JobReport>),
    /// What was told before, or is put together by others.
    Saved {
        text: String,
        json: Value,
    },
    /// How far a command came that was stopped: the sort and the term reached, if it is known.
    Partial {
        command: &'static str,
        module: String,
        effort: Effort,
        reason: &'static str,
        term: Option<(String, String)>,
    },
    /// Text of `show`, `pwd`, tracing ...
    Text(String),
    /// The command was interrupted. Does an answer follow that says how far it came?
    Interrupted {
        is_followed: bool,
    },
}

/// One solution of a matching problem.
#[derive(Clone, Debug)]
pub struct Matcher {
    pub number: u64,
    /// With extension: the part that was matched; `None` inside if it is the whole.
    pub portion: Option<Option<String>>,
    pub substitution: Vec<(String, String)>,
}

/// Processor time and time on the wall.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Time {
    pub cpu: Duration,
    pub real: Duration,
}

/// What a computation took, and which lines say so.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub rewrites: u64,
    pub memberships: u64,
    /// Rewrites by rules.
    pub rules: u64,
    /// For a search: how many states.
    pub states: Option<u64>,
    pub time: Time,
    pub show_stats: bool,
    pub show_timing: bool,
    pub show_breakdown: bool,
}

impl Time {
    fn text(self) -> String {
        format!("{}ms cpu ({}ms real)", self.cpu.as_millis(), self.real.as_millis())
    }
}

impl Effort {
    /// The `rewrites:` lines.
    pub(super) fn text(&self) -> String {
        if !self.show_stats {
            return String::new();
        }
        let states = self.states.map_or_else(String::new, |states| format!("states: {states}  "));
        let mut out = format!("{states}rewrites: {}", self.rewrites);
        if self.show_timing {
            let micros = self.time.cpu.as_micros();
            let rate = match (u128::from(self.rewrites) * 1_000_000).checked_div(micros) {
                Some(rate) => rate.to_string(),
                None => "~".to_owned(),
            };
            let _ = write!(out, " in {} ({rate} rewrites/second)", self.time.text());
        }
        out.push('\n');
        if self.show_breakdown {
            let _ = writeln!(
                out,
                "mb applications: {}  equational rewrites: {}  rule rewrites: {}  \
                 variant narrowing steps: 0  narrowing steps: 0",
                self.memberships,
                self.rewrites - self.memberships - self.rules,
                self.rules
            );
        }
        out
    }
}

/// `X --> a`, one line each.
pub fn substitution_text(substitution: &[(String, String)]) -> String {
    if substitution.is_empty() {
        return "empty substitution\n".to_owned();
    }
    substitution.iter().map(|(var, value)| format!("{var} --> {value}\n")).collect()
}

impl Answer {
    /// As Maude says it, with final newline.
    pub fn text(&self, color: bool) -> String {
        match self {
            Answer::Echo { text, separated } => {
                format!("{}{text}\n", if *separated { RULE } else { "" })
            }
            Answer::Result { sort, term, effort, .. } => {
                format!("{}result {sort}: {term}\n", effort.text())
            }
            Answer::Parsed { sort, term, .. } => format!("{sort}: {term}\n"),
            Answer::Decided { time, found, timing } => {
                let time = if *timing { format!("Decision time: {}\n", time.text()) } else { String::new() };
                time + if *found { "" } else { "No match.\n" }
            }
            Answer::Matcher(matcher) => {
                let mut out = format!("\nMatcher {}\n", matcher.number);
                if let Some(portion) = &matcher.portion {
                    let _ = writeln!(out, "Matched portion = {}", portion.as_deref().unwrap_or("(whole)"));
                }
                out.push_str(&substitution_text(&matcher.substitution));
                out
            }
            Answer::Matched { .. } => String::new(),
            Answer::Found(found) => found.text(),
            Answer::Searched { any, effort, .. } => {
                format!("\n{}\n{}", if *any { "No more solutions." } else { "No solution." }, effort.text())
            }
            Answer::Reached { effort, depth, .. } => format!("{}depth: {depth}\n", effort.text()),
            Answer::SearchReport(report) => report.text(),
            Answer::Check(report) => report.text(color),
            Answer::Initialized(initialized) => initialized.text(),
            Answer::Analyzed(analysis) => analysis.text(),
            Answer::LayersChecked(analysis, report) => {
                format!("{}\n{}", analysis.text(), layers_verdict(report))
            }
            Answer::LayersCounterexample(report) => layers_counterexample(report, color),
            Answer::Job(report) => report.text(color),
            Answer::Saved { text, .. } => text.clone(),
            Answer::Partial { effort, term, .. } => {
                let reached = term.as_ref().map(|(sort, term)| format!("reached {sort}: {term}\n"));
                effort.text() + &reached.unwrap_or_default()
            }
            Answer::Text(text) => text.clone(),
            Answer::Interrupted { .. } => "Interrupted.\n".to_owned(),
        }
    }

    /// As a JSON object; `None` for what is only said to people.
    pub fn json(&self) -> Option<Value> {
        Some(match self {
            Answer::Echo { .. } | Answer::Decided { .. } => return None,
            Answer::Result { command, module, input, sort, term, effort } => json!({
                "rwl": 1, "command": command, "module": module, "term": input, "sort": sort, "result": term,
                "rewrites": effort.rewrites, "seconds": effort.time.real.as_secs_f64(),
            }),
            Answer::Parsed { module, sort, term } => {
                json!({"rwl": 1, "command": "parse", "module": module, "sort": sort, "term": term})
            }
            Answer::Matcher(matcher) => {
                let pairs = matcher.substitution.iter().map(|(x, t)| (x.clone(), Value::from(t.as_str())));
                json!({
                    "rwl": 1, "matcher": matcher.number, "substitution": Value::Object(pairs.collect()),
                    "portion": matcher.portion.clone().flatten(),
                })
            }
            Answer::Matched { command, module, count } => {
                json!({"rwl": 1, "command": command, "module": module, "matchers": count})
            }
            Answer::Found(Found { is_reported: true, .. })
            | Answer::Searched { is_reported: true, .. }
            | Answer::Reached { is_reported: true, .. }
            | Answer::Interrupted { is_followed: true } => return None,
            Answer::Found(found) => json!({"rwl": 1, "solution": found.json()}),
            Answer::Searched { count, effort, .. } => json!({
                "rwl": 1, "command": "search", "solutions": count, "states": effort.states,
                "rewrites": effort.rewrites, "seconds": effort.time.real.as_secs_f64(),
            }),
            Answer::Reached { effort, depth, reason, .. } => json!({
                "rwl": 1, "command": "search", "stopped": reason, "states": effort.states, "depth": depth,
                "rewrites": effort.rewrites, "seconds": effort.time.real.as_secs_f64(),
            }),
            Answer::SearchReport(report) => report.json(),
            Answer::Check(report)
            | Answer::LayersChecked(_, report)
            | Answer::LayersCounterexample(report) => report.json(),
            Answer::Initialized(initialized) => initialized.json(),
            Answer::Analyzed(analysis) => analysis.json(),
            Answer::Job(report) => report.json(),
            Answer::Saved { json, .. } => json.clone(),
            Answer::Partial { command, module, effort, reason, term } => json!({
                "rwl": 1, "command": command, "module": module, "stopped": reason,
                "sort": term.as_ref().map(|(sort, _)| sort), "reached": term.as_ref().map(|(_, term)| term),
                "rewrites": effort.rewrites, "seconds": effort.time.real.as_secs_f64(),
            }),
            Answer::Text(text) => json!({"rwl": 1, "text": text}),
            Answer::Interrupted { is_followed: false } => json!({"rwl": 1, "stopped": "interrupted"}),
        })
    }
}

/// A diagnostic as a JSON object.
pub fn diagnostic_json(diagnostic: &Diagnostic, sources: &SourceMap) -> Value {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Advisory => "advisory",
    };
    let place = |span: Option<crate::base::Span>| {
        span.map(|span| {
            let (line, column) = sources.line_column(span.file, span.start);
            (sources.name(span.file).to_owned(), line, column)
        })
    };
    let at = place(diagnostic.span);
    let notes: Vec<Value> = diagnostic
        .notes
        .iter()
        .map(|(span, text)| {
            let at = place(*span);
            json!({
                "file": at.as_ref().map(|a| &a.0), "line": at.as_ref().map(|a| a.1),
                "column": at.as_ref().map(|a| a.2), "message": text,
            })
        })
        .collect();
    json!({
        "rwl": 1, "severity": severity, "code": diagnostic.code, "message": diagnostic.message,
        "file": at.as_ref().map(|a| &a.0), "line": at.as_ref().map(|a| a.1),
        "column": at.as_ref().map(|a| a.2), "label": diagnostic.label, "notes": notes,
        "hint": diagnostic.hint,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_read_as_maudes_do() {
        let mut effort = Effort {
            rewrites: 28,
            memberships: 3,
            rules: 0,
            states: None,
            time: Time { cpu: Duration::from_millis(4), real: Duration::from_millis(3) },
            show_stats: true,
            show_timing: true,
            show_breakdown: false,
        };
        let check = |effort: Effort, expected: &str| {
            let (sort, term) = ("Nat".to_owned(), "5".to_owned());
            let (module, input) = (String::new(), String::new());
            let answer = Answer::Result { command: "reduce", module, input, sort, term, effort };
            assert_eq!(answer.text(false), expected);
        };
        check(effort, "rewrites: 28 in 4ms cpu (3ms real) (7000 rewrites/second)\nresult Nat: 5\n");
        effort.show_timing = false;
        check(effort, "rewrites: 28\nresult Nat: 5\n");
        effort.show_breakdown = true;
        check(
            effort,
            "rewrites: 28\nmb applications: 3  equational rewrites: 25  rule rewrites: 0  \
             variant narrowing steps: 0  narrowing steps: 0\nresult Nat: 5\n",
        );
        effort.show_stats = false;
        check(effort, "result Nat: 5\n");
    }
}
