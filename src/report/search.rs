//! What searches answer.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::answer::{Effort, Time, substitution_text};
use super::counted;

/// A state that matches the pattern.
#[derive(Clone, Debug)]
pub struct Found {
    pub number: u64,
    pub state: u64,
    pub substitution: Vec<(String, String)>,
    /// What it took so far.
    pub effort: Effort,
    /// Will a [`SearchReport`] list it?
    pub is_reported: bool,
}

impl Found {
    /// As Maude says it.
    pub fn text(&self) -> String {
        format!(
            "\nSolution {} (state {})\n{}{}",
            self.number,
            self.state,
            self.effort.text(),
            substitution_text(&self.substitution)
        )
    }

    pub fn json(&self) -> Value {
        let pairs = self.substitution.iter().map(|(x, t)| (x.clone(), Value::from(t.as_str())));
        json!({
            "number": self.number, "state": self.state,
            "substitution": Value::Object(pairs.collect::<Map<String, Value>>()),
        })
    }
}

/// The line that shows how far a search is.
pub fn progress_text(states: u64, rate: u64, explored: u64, depth: u64) -> String {
    format!("{}, {rate}/s, {} to explore, depth {depth}", counted(states, "state"), states - explored)
}

/// The same for a check of formulas.
pub fn check_progress(states: u64, transitions: u64, time: Duration) -> String {
    let rate = (states as f64 / time.as_secs_f64().max(0.001)) as u64;
    let states = counted(states, "state");
    format!("{states}, {}, {rate} states/s", counted(transitions, "transition"))
}

/// The same for a check in layers: so many sub-state spaces of all are done.
pub fn layers_progress(
    layer: usize,
    depth: u32,
    (done, spaces): (usize, usize),
    states: u64,
    hits: u64,
    time: Duration,
    rest: Option<Duration>,
) -> String {
    let rate = (states as f64 / time.as_secs_f64().max(0.001)) as u64;
    let rest =
        rest.map_or_else(String::new, |rest| format!(", about {:.0}s to go in it", rest.as_secs_f64()));
    let hits = if hits == 0 { String::new() } else { format!(", {hits} verified before") };
    format!(
        "layer {layer} from depth {depth}: {done} of {}, {}, {rate} states/s{hits}{rest}",
        counted(spaces as u64, "sub-state space"),
        counted(states, "state")
    )
}

/// All states, by their number.
pub fn all(states: u64) -> String {
    if states == 1 { "the only state".to_owned() } else { format!("each of the {states} states") }
}

/// How often a rule was applied.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// Its label, or the whole rule if it has none.
    pub rule: String,
    pub fired: u64,
    /// Was it applied inside `=>` conditions?
    pub is_inside: bool,
}

/// What `rwl search` says at the end.
#[derive(Clone, Debug, Default)]
pub struct SearchReport {
    pub module: String,
    pub init: String,
    pub arrow: &'static str,
    pub pattern: String,
    pub condition: Option<String>,
    pub depth_max: Option<u64>,
    pub solutions: Vec<Found>,
    pub states: u64,
    /// One-step rewrites of states.
    pub transitions: u64,
    pub rewrites: u64,
    /// The depth that was reached.
    pub depth: u64,
    pub time: Time,
    pub peak_memory: u64,
    pub threads: usize,
    /// For `=>!`: how many states no rule applies to.
    pub finals: Option<u64>,
    pub coverage: Vec<Coverage>,
    /// Did it end with the last solution that was asked for?
    pub is_partial: bool,
    /// Have all reachable states been seen?
    pub is_exhaustive: bool,
    /// Should the text leave out how often rules were applied?
    pub is_brief: bool,
    /// Why it stopped early.
    pub reason: Option<&'static str>,
}

impl SearchReport {
    /// What comes after the solutions.
    pub fn text(&self) -> String {
        let mut out = String::new();
        if self.finals == Some(0) && self.is_exhaustive {
            let _ = writeln!(out, "\nNo final states: a rule applies to {}.", all(self.states));
        }
        if let (true, Some(max)) = (self.is_cut(), self.depth_max) {
            let steps = counted(max, "step");
            let _ = writeln!(out, "\nStates that take more than {steps} have not been explored.");
        }
        if self.is_brief {
            return out;
        }
        out.push_str("\nRules applied:\n");
        for Coverage { rule, fired, is_inside } in &self.coverage {
            let inside = if *is_inside && *fired == 0 { " (in conditions only)" } else { "" };
            let _ = writeln!(out, "{fired:>12}  {rule}{inside}");
        }
        out
    }

    /// Was the limit on the depth in the way? One step is all that `=>1` asks for.
    fn is_cut(&self) -> bool {
        let is_bounded = self.depth_max.is_some_and(|max| max == 0 || self.arrow != "=>1");
        is_bounded && !self.is_exhaustive && self.reason.is_none() && !self.is_partial
    }

    /// The verdict is on the claim that no reachable state matches. `reason` says why not all of
    /// them were explored.
    pub fn json(&self) -> Value {
        let is_cut = self.is_cut();
        let reason = match self.reason {
            None if is_cut && self.solutions.is_empty() => Some("there are states beyond the depth limit"),
            reason => reason,
        };
        let verdict = match reason {
            _ if !self.solutions.is_empty() => "violated",
            None => "holds",
            Some(_) => "unknown",
        };
        let rule = |c: &Coverage| json!({"rule": c.rule, "fired": c.fired, "in_conditions": c.is_inside});
        let coverage: Vec<Value> = self.coverage.iter().map(rule).collect();
        json!({
            "rwl": 1, "command": "search", "name": null, "module": self.module, "init": self.init, "arrow": self.arrow,
            "pattern": self.pattern, "condition": self.condition, "depth_max": self.depth_max,
            "verdict": verdict, "reason": reason, "exhaustive": self.is_exhaustive,
            "solutions": self.solutions.iter().map(Found::json).collect::<Vec<Value>>(),
            "states": self.states, "transitions": self.transitions, "rewrites": self.rewrites, "depth": self.depth,
            "final_states": self.finals, "seconds": self.time.real.as_secs_f64(),
            "peak_memory_bytes": self.peak_memory, "threads": self.threads, "rules": coverage,
        })
    }
}
