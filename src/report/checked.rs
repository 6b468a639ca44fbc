//! What model checking answers: verdict, numbers, and the run that violates the formula.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::answer::Time;
use super::counted;
use super::run::{Paint, Run, WIDTH};

/// What the check of one formula says.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// What the claim is called, if it has a name.
    pub name: Option<String>,
    pub module: String,
    pub init: String,
    pub formula: String,
    pub verdict: Verdict,
    /// Does it hold only because its premise is never true, or because no system violates it?
    pub is_vacuous: bool,
    /// The latter.
    pub is_valid: bool,
    /// Propositions that are never true, if the formula does not say that they never are.
    pub absent: Vec<String>,
    /// Propositions of the formula that it means the same without; runs do not show where they are true.
    pub idle: Vec<String>,
    /// Why it is unknown.
    pub reason: Option<String>,
    /// Which runs count: labels of rules that they are fair to.
    pub fair_weak: Vec<String>,
    pub fair_strong: Vec<String>,
    pub states: u64,
    /// Not known of all methods.
    pub transitions: Option<u64>,
    pub rewrites: u64,
    pub time: Time,
    pub peak_memory: u64,
    pub threads: usize,
    /// How it was checked in layers.
    pub method: Option<&'static str>,
    /// The revised module, if that was the method.
    pub revised: Option<String>,
    pub layers: Vec<Layer>,
    /// The states where each of them ends, if someone wants to know.
    pub ends: Vec<Vec<End>>,
    /// There if the formula is violated.
    pub counterexample: Option<Run>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Verdict {
    Holds,
    Violated,
    #[default]
    Unknown,
}

impl Verdict {
    pub fn text(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Violated => "violated",
            Verdict::Unknown => "unknown",
        }
    }

    pub fn from_text(text: &str) -> Option<Verdict> {
        [Verdict::Holds, Verdict::Violated, Verdict::Unknown]
            .into_iter()
            .find(|verdict| verdict.text() == text)
    }

    /// Its colour on a terminal.
    pub(super) fn colour(self) -> &'static str {
        match self {
            Verdict::Holds => "1;32",
            Verdict::Violated => "1;31",
            Verdict::Unknown => "1;33",
        }
    }
}

/// A layer of a check that divides the state space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layer {
    /// Steps from the initial state to its end.
    pub depth: u64,
    /// Sub-state spaces that begin at its start.
    pub spaces: u64,
    /// States at its end, and those where a violation may have begun.
    pub states: u64,
    pub counterexample_states: u64,
    /// States with where the automaton may be there, if the method has an automaton.
    pub pairs: Option<u64>,
}

/// A state where a layer ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    pub state: String,
    /// May a violation have begun there?
    pub is_counterexample: bool,
}

impl CheckReport {
    /// `violated: safety = [] ~ wrong`, the numbers, and the run with what changes at each step.
    pub fn text(&self, color: bool) -> String {
        self.text_after(&[], color, false)
    }

    /// The same after others: a run that was shown with one of them is not shown again. Long ones are abbreviated
    /// unless all of them is to be seen.
    pub fn text_after(&self, others: &[CheckReport], color: bool, is_full: bool) -> String {
        let paint = Paint(color);
        let name = self.name.as_ref().map_or_else(String::new, |name| format!("{name} = "));
        let mut out =
            format!("{}: {name}{}\n", paint.put(self.verdict.colour(), self.verdict.text()), self.formula);
        for (kind, labels) in self.fairness() {
            let _ = writeln!(out, "assuming {kind} fairness: {labels}");
        }
        if let Some(why) = self.vacuity() {
            let _ = writeln!(out, "vacuous: {why}");
        }
        for note in self.notes() {
            let _ = writeln!(out, "note: {note}");
        }
        if let Some(reason) = &self.reason {
            let _ = writeln!(out, "reason: {reason}");
        }
        for line in folded(&self.numbers()) {
            let _ = writeln!(out, "{}", paint.put("2", &line));
        }
        if self.revised.is_some() {
            out.push_str("method: revise\n");
        }
        out.push_str(&self.layers_text());
        if let Some(run) = &self.counterexample {
            let is_same =
                |other: &&CheckReport| other.counterexample.as_ref().is_some_and(|o| o.is_same(run));
            match others.iter().find(is_same) {
                Some(other) => {
                    let _ = writeln!(out, "\nThe run is the same as for {}.", other.label());
                }
                None => drop(write!(out, "\n{}\n{}", run.summary(), run.text(&paint, is_full))),
            }
        }
        out
    }

    /// What it is called for short.
    pub fn label(&self) -> &str {
        self.name.as_ref().unwrap_or(&self.formula)
    }

    /// The depth of each layer, as one gives them.
    fn depths(&self) -> String {
        let starts = std::iter::once(0).chain(self.layers.iter().map(|layer| layer.depth));
        let depths = self.layers.iter().zip(starts).map(|(layer, start)| (layer.depth - start).to_string());
        depths.collect::<Vec<String>>().join(" ")
    }

    /// Why it says nothing that it holds.
    pub fn vacuity(&self) -> Option<&'static str> {
        match (self.is_vacuous, self.is_valid) {
            (false, _) => None,
            (true, false) => Some("what has to be followed by something never happens"),
            (true, true) => Some("no system can violate it"),
        }
    }

    /// Which runs count: `weak` or `strong`, and labels.
    pub fn fairness(&self) -> impl Iterator<Item = (&'static str, String)> {
        let all = [("weak", &self.fair_weak), ("strong", &self.fair_strong)];
        all.into_iter()
            .filter(|(_, labels)| !labels.is_empty())
            .map(|(kind, labels)| (kind, labels.join(", ")))
    }

    /// What is said of propositions that are never true, or do not matter.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let said = |props: &[String], one: &str, several: &str| {
            let what = if props.len() == 1 { one } else { several };
            (!props.is_empty()).then(|| format!("{} {what}", props.join(", ")))
        };
        let absent = said(
            &self.absent,
            "is never true in any reachable state",
            "are never true in any reachable state",
        );
        let idle = said(
            &self.idle,
            "does not matter: the formula means the same without it",
            "do not matter: the formula means the same without them",
        );
        absent.into_iter().chain(idle)
    }

    /// A line for each layer, and one for each state where it ends; those where a violation may have
    /// begun have a mark.
    pub fn layers_text(&self) -> String {
        let mut out = String::new();
        for (at, layer) in self.layers.iter().enumerate() {
            let Layer { depth, spaces, states, counterexample_states, .. } = layer;
            let _ = writeln!(
                out,
                "layer: depth {depth}, {}, {}, {}",
                counted(*spaces, "sub-state space"),
                counted(*states, "state"),
                counted(*counterexample_states, "counterexample state")
            );
            for End { state, is_counterexample } in self.ends.get(at).into_iter().flatten() {
                let _ = writeln!(out, "  {} {state}", if *is_counterexample { "*" } else { " " });
            }
        }
        out
    }

    /// Where it was checked and what it took.
    pub fn numbers(&self) -> String {
        let states = match self.layers[..] {
            [] => {
                let transitions = counted(self.transitions.unwrap_or_default(), "transition");
                format!("{}, {transitions}", counted(self.states, "state"))
            }
            // One state may be expanded in several sub-state spaces.
            _ => format!("{} expanded in layers '{}'", counted(self.states, "state"), self.depths()),
        };
        format!(
            "in {} from {}: {states}, {}, {:.2}s, {} MB",
            self.module,
            self.init,
            counted(self.rewrites, "rewrite"),
            self.time.real.as_secs_f64(),
            self.peak_memory >> 20
        )
    }

    /// One object per claim.
    pub fn json(&self) -> Value {
        let end = |end: &End| json!({"state": end.state, "counterexample": end.is_counterexample});
        let layer = |(at, layer): (usize, &Layer)| {
            let Layer { depth, spaces, states, counterexample_states, pairs } = layer;
            let mut object = json!({"depth": depth, "pairs": pairs, "states": states, "spaces": spaces,
                "counterexample_states": counterexample_states});
            if let Some(ends) = self.ends.get(at) {
                object["ends"] = ends.iter().map(end).collect();
            }
            object
        };
        json!({
            "rwl": 1, "command": "check", "name": self.name, "module": self.module, "init": self.init,
            "formula": self.formula, "verdict": self.verdict.text(), "vacuous": self.is_vacuous, "vacuity": self.vacuity(),
            "never_true": self.absent, "irrelevant": self.idle,
            "reason": self.reason, "fair_weak": self.fair_weak, "fair_strong": self.fair_strong,
            "states": self.states, "transitions": self.transitions,
            "rewrites": self.rewrites, "seconds": self.time.real.as_secs_f64(),
            "cpu_seconds": self.time.cpu.as_secs_f64(), "peak_memory_bytes": self.peak_memory,
            "threads": self.threads, "method": self.method,
            "layers": self.layers.iter().enumerate().map(layer).collect::<Vec<Value>>(), "revised": self.revised,
            "counterexample": self.counterexample.as_ref().map(Run::json),
        })
    }
}

/// `1 holds, 2 violated (f1, f3), 1 unknown (f2)`
pub fn overall(reports: &[CheckReport]) -> String {
    let part = |verdict: Verdict, word: &str| {
        let labels: Vec<&str> =
            reports.iter().filter(|report| report.verdict == verdict).map(CheckReport::label).collect();
        match (labels.len(), verdict) {
            (0, _) => None,
            (count, Verdict::Holds) => Some(format!("{count} {word}")),
            (count, _) if count > LABELS_MAX => Some(format!("{count} {word}")),
            (count, _) => Some(format!("{count} {word} ({})", labels.join(", "))),
        }
    };
    let hold = if reports.iter().filter(|report| report.verdict == Verdict::Holds).count() == 1 {
        "holds"
    } else {
        "hold"
    };
    let parts =
        [part(Verdict::Holds, hold), part(Verdict::Violated, "violated"), part(Verdict::Unknown, "unknown")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// More are only counted.
const LABELS_MAX: usize = 12;

/// Lines that fit on a screen, broken after commas.
fn folded(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (at, part) in text.split(", ").enumerate() {
        let line = lines.last_mut().expect("there is one");
        if at > 0 && line.chars().count() + part.chars().count() + ", ,".len() > WIDTH {
            line.push(',');
            lines.push(format!("    {part}"));
        } else {
            line.push_str(if at > 0 { ", " } else { "" });
            line.push_str(part);
        }
    }
    lines
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::report::Step;

    fn step(components: &str, rule: &str, props: &str) -> Step {
        let list = |text: &str| text.split(" & ").filter(|t| !t.is_empty()).map(str::to_owned).collect();
        let rule = (!rule.is_empty()).then(|| rule.to_owned());
        Step { state: format!("{{{components}}}"), components: list(components), rule, props: list(props) }
    }

    pub fn holding() -> CheckReport {
        CheckReport {
            module: "TAS-CHECK".to_owned(),
            init: "init".to_owned(),
            formula: "inWs1 |-> inCs1".to_owned(),
            verdict: Verdict::Holds,
            states: 15,
            transitions: Some(20),
            rewrites: 73,
            time: Time { cpu: Duration::from_millis(20), real: Duration::from_millis(10) },
            peak_memory: 9_000_000,
            threads: 2,
            ..CheckReport::default()
        }
    }

    pub fn violated() -> CheckReport {
        let steps = vec![
            step("locked: false & pc[p1]: rs & pc[p2]: rs", "want", ""),
            step("locked: false & pc[p1]: ws & pc[p2]: rs", "want", "inWs1"),
            step("locked: false & pc[p1]: ws & pc[p2]: ws", "try", "inWs1"),
            step("locked: true & pc[p1]: ws & pc[p2]: cs", "exit", "inWs1"),
        ];
        let counterexample = Some(Run { steps, back: Some(1) });
        CheckReport { verdict: Verdict::Violated, counterexample, ..holding() }
    }

    fn run_text(steps: Vec<Step>, back: Option<usize>) -> String {
        let run = Run { steps, back };
        format!("{}\n{}", run.summary(), run.text(&Paint(false), false))
    }

    #[test]
    fn one_screen_says_what_went_wrong() {
        let expected = "\
violated: inWs1 |-> inCs1
in TAS-CHECK from init: 15 states, 20 transitions, 73 rewrites, 0.01s, 8 MB

A run of 1 step into a cycle of 3 steps that repeats for ever:
    0        locked: false, pc[p1]: rs, pc[p2]: rs
 +> 1  want  pc[p1]: rs -> ws |= inWs1
 |  2  want  pc[p2]: rs -> ws
 |  3  try   locked: false -> true, pc[p2]: ws -> cs
 +- 1  exit  locked: true -> false, pc[p2]: cs -> rs
";
        assert_eq!(violated().text(false), expected);
    }

    #[test]
    fn runs_are_shown_once() {
        let first = CheckReport { name: Some("f1".to_owned()), ..violated() };
        let text = violated().text_after(std::slice::from_ref(&first), false, false);
        assert!(text.ends_with("0.01s, 8 MB\n\nThe run is the same as for f1.\n"), "{text}");
        let other =
            CheckReport { counterexample: Some(Run { steps: vec![step("a", "", "")], back: None }), ..first };
        assert_eq!(violated().text_after(&[other], false, false), violated().text(false));
    }

    #[test]
    fn long_runs_fit_on_a_screen() {
        let steps: Vec<Step> = (0..200).map(|i| step(&format!("n: {i} & k: 0"), "inc", "p")).collect();
        let run = Run { steps, back: Some(150) };
        let text = run.text(&Paint(false), false);
        assert_eq!(text.lines().count(), 1 + 2 * (10 + 1 + 10));
        let expected = "      10  inc  n: 9 -> 10
     ... 130 steps are left out; --full shows all
      141  inc  n: 141, k: 0 |= p
";
        let shape = |text: &str| text.replace(' ', "");
        assert!(shape(&text).contains(&shape(expected)), "{text}");
        assert!(shape(&text).ends_with("|199incn:198->199\n+-150incn:199->150\n"), "{text}");
        assert_eq!(run.text(&Paint(false), true).lines().count(), 201);
    }

    #[test]
    fn all_verdicts_in_a_line() {
        let named = |name: &str, report: CheckReport| CheckReport { name: Some(name.to_owned()), ..report };
        let unknown = CheckReport { verdict: Verdict::Unknown, ..holding() };
        let all = [named("f1", violated()), named("f2", unknown), violated(), holding()];
        assert_eq!(overall(&all), "1 holds, 2 violated (f1, inWs1 |-> inCs1), 1 unknown (f2)");
        assert_eq!(overall(&[holding(), holding()]), "2 hold");
    }

    #[test]
    fn numbers_stay_with_their_units() {
        let long = CheckReport { module: "A-MODULE-WITH-A-LONG-NAME".to_owned(), ..holding() };
        let expected = "\
holds: inWs1 |-> inCs1
in A-MODULE-WITH-A-LONG-NAME from init: 15 states, 20 transitions, 73 rewrites,
    0.01s, 8 MB
";
        assert_eq!(long.text(false), expected);
    }

    #[test]
    fn verdicts() {
        let valid = CheckReport { is_vacuous: true, is_valid: true, ..holding() };
        assert!(valid.text(false).contains("\nvacuous: no system can violate it\n"));
        let vacuous = CheckReport { is_vacuous: true, name: Some("lockout".to_owned()), ..holding() };
        let expected = "\
holds: lockout = inWs1 |-> inCs1
vacuous: what has to be followed by something never happens
in TAS-CHECK from init: 15 states, 20 transitions, 73 rewrites, 0.01s, 8 MB
";
        assert_eq!(vacuous.text(false), expected);
        let layers = vec![Layer { depth: 2, spaces: 3, states: 6, counterexample_states: 1, pairs: Some(7) }];
        let reason = Some("out of memory".to_owned());
        let unknown = CheckReport { verdict: Verdict::Unknown, reason, threads: 1, layers, ..holding() };
        let expected = "\
unknown: inWs1 |-> inCs1
reason: out of memory
in TAS-CHECK from init: 15 states expanded in layers '2', 73 rewrites, 0.01s,
    8 MB
layer: depth 2, 3 sub-state spaces, 6 states, 1 counterexample state
";
        assert_eq!(unknown.text(false), expected);
    }

    #[test]
    fn runs_of_all_kinds() {
        let deadlock = vec![step("red", "stop", "p"), step("green", "deadlock", "")];
        let expected = "\
A run of 1 step into a state where no rule applies:
    0            red |= p
 +> 1  stop      red -> green |= nothing
 +- 1  deadlock  nothing changes
";
        assert_eq!(run_text(deadlock, Some(1)), expected);
        let path =
            vec![step("c & c", "eat", ""), step("c", "a-label-that-is-very-long", ""), step("", "", "p & q")];
        let expected = "\
A run of 2 steps violates it, however it goes on:
    0       c, c
    1  eat  - c
    2  a-label-that-is-very-long  - c |= p, q
";
        assert_eq!(run_text(path, None), expected);
        assert_eq!(run_text(vec![step("c", "", "")], None), "The first state violates it:\n    0    c\n");
        let wide = |i: usize| (0..9).map(|p| format!("pc[p{p}]: {i}")).collect::<Vec<_>>().join(" & ");
        let expected = "\
The run is a cycle of 2 steps that repeats for ever:
 +> 0       pc[p0]: 1, pc[p1]: 1, pc[p2]: 1, pc[p3]: 1, pc[p4]: 1, pc[p5]: 1,
 |          pc[p6]: 1, pc[p7]: 1, pc[p8]: 1
 |  1  all  pc[p0]: 1 -> 2, pc[p1]: 1 -> 2, pc[p2]: 1 -> 2, pc[p3]: 1 -> 2,
 |          pc[p4]: 1 -> 2, pc[p5]: 1 -> 2, pc[p6]: 1 -> 2, pc[p7]: 1 -> 2,
 |          pc[p8]: 1 -> 2
 +- 0  all  pc[p0]: 2 -> 1, pc[p1]: 2 -> 1, pc[p2]: 2 -> 1, pc[p3]: 2 -> 1,
            pc[p4]: 2 -> 1, pc[p5]: 2 -> 1, pc[p6]: 2 -> 1, pc[p7]: 2 -> 1,
            pc[p8]: 2 -> 1
";
        assert_eq!(run_text(vec![step(&wide(1), "all", ""), step(&wide(2), "all", "")], Some(0)), expected);
        let long = (0..30).map(|i| format!("(p{i}: ws)")).collect::<Vec<_>>().join(" ");
        let text = run_text(vec![step(&long, "", "")], None);
        assert!(text.lines().count() > 3 && text.lines().all(|line| line.chars().count() <= 79), "{text}");
    }

    #[test]
    fn colours_are_all_that_differs() {
        let painted = violated().text(true);
        assert!(painted.starts_with("\x1b[1;31mviolated\x1b[0m"));
        let mut plain = String::new();
        for (at, part) in painted.split('\x1b').enumerate() {
            plain.push_str(if at == 0 { part } else { part.split_once('m').unwrap().1 });
        }
        assert_eq!(plain, violated().text(false));
    }

    #[test]
    fn json_as_scripts_expect_it() {
        let report = violated().json();
        assert_eq!(report["rwl"], 1);
        assert_eq!(report["command"], "check");
        assert_eq!(report["verdict"], "violated");
        assert_eq!((&report["name"], &report["reason"]), (&Value::Null, &Value::Null));
        assert_eq!((&report["states"], &report["seconds"]), (&json!(15), &json!(0.01)));
        let run = &report["counterexample"];
        assert_eq!(run["prefix"].as_array().unwrap().len(), 1);
        let first = json!({
            "state": "{locked: false & pc[p1]: ws & pc[p2]: rs}", "rule": "want", "propositions": ["inWs1"],
        });
        assert_eq!(run["cycle"][0], first);
        assert_eq!(run["cycle"][2]["rule"], "exit");
        assert_eq!(holding().json()["counterexample"], Value::Null);
    }
}
