//! Runs as text: what happens rule by rule, and where the cycle is.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::counted;
use super::timeline::{Change, changes};

/// A run that violates a formula.
#[derive(Clone, Debug)]
pub struct Run {
    /// At least one.
    pub steps: Vec<Step>,
    /// After the last step the run is at this step again. Without it the steps alone violate the
    /// formula, however the run goes on.
    pub back: Option<usize>,
}

/// A state of a run, and how the run leaves it.
#[derive(Clone, Debug)]
pub struct Step {
    pub state: String,
    /// The elements of the state's soup, or its arguments with their numbers, or the whole state.
    pub components: Vec<String>,
    /// A label, `unlabeled` or `deadlock`; nothing at the end of a run that need not go on.
    pub rule: Option<String>,
    /// The formula's propositions that are true here.
    pub props: Vec<String>,
}

impl Run {
    /// After each step the one that follows it.
    pub fn next(&self, step: usize) -> Option<usize> {
        if step + 1 < self.steps.len() { Some(step + 1) } else { self.back }
    }

    /// What the step changes.
    pub fn changes(&self, step: usize) -> Vec<Change<'_>> {
        let after = self.next(step).unwrap_or(step);
        changes(&self.steps[step].components, &self.steps[after].components)
    }

    /// How it goes, in words.
    pub fn summary(&self) -> String {
        let count = |n: usize| counted(n as u64, "step");
        match self.back {
            None if self.steps.len() == 1 => "The first state violates it:".to_owned(),
            None => format!("A run of {} violates it, however it goes on:", count(self.steps.len() - 1)),
            Some(back) => {
                let cycle = self.steps.len() - back;
                let stuck = cycle == 1 && self.steps[back].rule.as_deref() == Some(DEADLOCK);
                let end = if stuck {
                    "a state where no rule applies:".to_owned()
                } else {
                    format!("a cycle of {} that repeats for ever:", count(cycle))
                };
                match back {
                    0 => format!("The run is {end}"),
                    _ => format!("A run of {} into {end}", count(back)),
                }
            }
        }
    }

    /// Do they go through the same states by the same rules?
    pub fn is_same(&self, other: &Run) -> bool {
        let steps = |run: &Run| run.steps.len();
        let mut both = self.steps.iter().zip(&other.steps);
        self.back == other.back
            && steps(self) == steps(other)
            && both.all(|(one, other)| one.state == other.state && one.rule == other.rule)
    }

    /// Is the line of a step left out, unless all are to be seen? The first and the last lines of a long part are not.
    fn is_left_out(&self, at: usize) -> bool {
        // The last state of a run without a cycle is left by no step.
        let back = self.back.unwrap_or(self.steps.len() - 1);
        let (start, end) = if at < back { (0, back) } else { (back, self.steps.len()) };
        end - start > PART_MAX && (start + ENDS..end - ENDS).contains(&at)
    }

    /// One line per step where it fits: number, rule, changes, and the propositions if others are true. The middle of
    /// a long run is left out unless all of it is to be seen.
    pub(super) fn text(&self, paint: &Paint, is_full: bool) -> String {
        let labels = self.steps.iter().filter_map(|step| step.rule.as_deref());
        let widths = labels.map(|label| label.chars().count()).filter(|&width| width <= LABEL_MAX);
        let digits = self.steps.len().to_string().len();
        let mut lines = Lines { paint, digits, label_width: widths.max().unwrap_or(0), out: String::new() };
        let mark = |at: usize| match self.back {
            Some(back) if at == back => "+>",
            Some(back) if at > back => "| ",
            _ => "  ",
        };
        let first = &self.steps[0];
        let mut parts: Vec<(String, &str)> = first.components.iter().map(|part| (part.clone(), "")).collect();
        if parts.is_empty() {
            parts.push((first.state.clone(), ""));
        }
        lines.put((mark(0), 0, ""), parts, Some(&first.props[..]).filter(|props| !props.is_empty()));
        let mut left_out = 0;
        for (at, step) in self.steps.iter().enumerate() {
            let Some(next) = self.next(at) else { break };
            if !is_full && self.is_left_out(at) {
                left_out += 1;
                continue;
            }
            let mut parts: Vec<(String, &str)> =
                self.changes(at).iter().map(|c| (c.text(), colour(c))).collect();
            if parts.is_empty() {
                // What changes may be how components are put together.
                let is_same = self.steps[next].state == step.state;
                let text = if is_same { "nothing changes" } else { &self.steps[next].state };
                parts.push((text.to_owned(), "2"));
            }
            let is_after_gap = left_out > 0;
            if is_after_gap {
                let bar = if mark(at) == "| " { "|" } else { " " };
                let are = if left_out == 1 { "is" } else { "are" };
                let note =
                    format!("... {} {are} left out; --full shows all", counted(left_out as u64, "step"));
                let _ = writeln!(lines.out, " {}  {}", paint.put("36", bar), paint.put("2", &note));
                left_out = 0;
                // What was before is not on the screen.
                let now = &self.steps[next];
                parts = now.components.iter().map(|part| (part.clone(), "")).collect();
                if parts.is_empty() {
                    parts.push((now.state.clone(), ""));
                }
            }
            let mark = if next > at { mark(next) } else { "+-" };
            let props = Some(&self.steps[next].props[..])
                .filter(|&props| is_after_gap && !props.is_empty() || props != step.props);
            lines.put((mark, next, step.rule.as_deref().unwrap_or("")), parts, props);
        }
        lines.out
    }

    pub(super) fn json(&self) -> Value {
        let steps: Vec<Value> = self
            .steps
            .iter()
            .map(|step| json!({"state": step.state, "rule": step.rule, "propositions": step.props}))
            .collect();
        let (prefix, cycle) = steps.split_at(self.back.unwrap_or(steps.len()));
        json!({"prefix": prefix, "cycle": cycle})
    }
}

/// How Maude calls the step of a state that no rule applies to.
const DEADLOCK: &str = "deadlock";
/// Parts of a run with more lines than this are not shown whole, but for so many lines at both ends.
const PART_MAX: usize = 30;
const ENDS: usize = 10;
/// Columns of a line.
pub(super) const WIDTH: usize = 79;
/// Labels up to this length are in a column of their own.
const LABEL_MAX: usize = 16;

/// Signs that switch colours on and off, or nothing.
pub(super) struct Paint(pub bool);

impl Paint {
    pub fn put(&self, code: &str, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The lines of a run so far.
struct Lines<'a> {
    paint: &'a Paint,
    digits: usize,
    label_width: usize,
    out: String,
}

impl Lines<'_> {
    /// Adds a line, or more if it is too long: mark, number and rule, what has changed (each with its
    /// colour), and the propositions that are true now.
    fn put(&mut self, head: (&str, usize, &str), parts: Vec<(String, &str)>, props: Option<&[String]>) {
        let Lines { paint, digits, label_width, out } = self;
        let (mark, number, label) = head;
        let label_length = label.chars().count();
        let pad = " ".repeat(label_width.saturating_sub(label_length));
        let digits = *digits;
        let _ = write!(out, " {} {number:>digits$}  {}{pad}", paint.put("36", mark), paint.put("1", label));
        let indent = 6 + digits + *label_width;
        let mut column = 6 + digits + label_length.max(*label_width);
        let last = parts.len().saturating_sub(1);
        let listed = parts.into_iter().enumerate();
        let listed = listed.map(|(at, (text, code))| (if at < last { text + "," } else { text }, code));
        let true_now = props.map(|props| {
            let all = if props.is_empty() { "nothing".to_owned() } else { props.join(", ") };
            (format!("|= {all}"), "35")
        });
        let mut gap = "  ";
        // What is longer than a line is broken at blanks.
        let room = WIDTH.saturating_sub(indent + gap.len());
        let pieces = listed.chain(true_now).flat_map(|(text, code)| {
            let is_long = text.chars().count() > room;
            let pieces = if is_long { text.split(' ').map(str::to_owned).collect() } else { vec![text] };
            pieces.into_iter().map(move |piece| (piece, code))
        });
        for (at, (text, code)) in pieces.enumerate() {
            let width = text.chars().count();
            if at > 0 && column + gap.len() + width > WIDTH {
                // The cycle's bar goes on beside further lines, but not below its last one.
                let bar = if matches!(mark, "+>" | "| ") { "|" } else { " " };
                let _ = write!(out, "\n {}{}", paint.put("36", bar), " ".repeat(indent - 2));
                (column, gap) = (indent, "  ");
            }
            let _ = write!(out, "{gap}{}", paint.put(code, &text));
            column += gap.len() + width;
            gap = " ";
        }
        out.push('\n');
    }
}

fn colour(change: &Change) -> &'static str {
    match (change.old, change.new) {
        (Some(_), None) => "31",
        (None, Some(_)) => "32",
        _ => "33",
    }
}
