//! What a batch of claims came to: one table per group, what others say beside it, and JSON.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::checked::Verdict;
use super::run::Paint;

/// What became of one claim.
#[derive(Clone, Debug)]
pub struct ClaimReport {
    pub name: String,
    /// The heading that it belongs to.
    pub group: Option<String>,
    pub verdict: Verdict,
    pub expected: Option<Verdict>,
    pub ended: Ended,
    /// The layers that were asked for, as `--layers` takes them.
    pub layers: Option<String>,
    /// Columns with what others say about it.
    pub reference: Vec<(String, String)>,
    /// What checks this claim alone.
    pub command: String,
    /// What `rwl check` says about it in JSON.
    pub answer: Value,
}

/// How the check of a claim ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// With a verdict, or at a limit.
    Checked,
    /// The input has errors.
    Refused,
    /// By a mistake of ours.
    Broken,
}

impl ClaimReport {
    /// Does the verdict contradict what the plan expects? Unknown contradicts nothing.
    pub fn differs(&self) -> bool {
        match self.expected {
            Some(Verdict::Unknown) => self.verdict != Verdict::Unknown,
            Some(expected) => self.verdict != Verdict::Unknown && self.verdict != expected,
            None => false,
        }
    }

    pub fn is_as_expected(&self) -> bool {
        self.ended == Ended::Checked && self.expected == Some(self.verdict)
    }

    /// Why there is no verdict.
    pub fn reason(&self) -> Option<&str> {
        self.answer["reason"].as_str()
    }

    /// What has to be known beside the verdict: the fairness that it needs, and why it may say little.
    pub(super) fn remarks(&self) -> Vec<String> {
        let list = |key: &str| {
            let words = self.answer[key].as_array().into_iter().flatten().filter_map(Value::as_str);
            words.collect::<Vec<_>>().join(", ")
        };
        let mut out = Vec::new();
        for (kind, key) in [("weak", "fair_weak"), ("strong", "fair_strong")] {
            let labels = list(key);
            if !labels.is_empty() {
                out.push(format!("assuming {kind} fairness: {labels}"));
            }
        }
        out.extend(self.answer["vacuity"].as_str().map(|why| format!("vacuous: {why}")));
        let absent = list("never_true");
        if !absent.is_empty() {
            out.push(format!("never true in any reachable state: {absent}"));
        }
        out
    }

    /// The object of `rwl check`, under the claim's name, and what the plan adds to it.
    pub fn json(&self) -> Value {
        let mut object = self.answer.clone();
        object["name"] = json!(self.name);
        object["group"] = json!(self.group);
        object["expect"] = json!(self.expected.map(Verdict::text));
        object["as_expected"] = json!(self.expected.map(|_| self.is_as_expected()));
        object["reference"] = self.reference.iter().cloned().map(|(k, v)| (k, Value::String(v))).collect();
        object
    }

    /// All of it, to be read again.
    pub fn saved(&self) -> Value {
        let mut object = self.json();
        object["expect"] = json!(self.expected.map(Verdict::text));
        object["asked_layers"] = json!(self.layers);
        object["check"] = json!(self.command);
        object
    }

    /// What was saved so, of a claim that has been checked.
    pub fn from_saved(value: &Value) -> Option<ClaimReport> {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let verdict = |key: &str| value[key].as_str().and_then(Verdict::from_text);
        let column = |(name, said): (&String, &Value)| Some((name.clone(), said.as_str()?.to_owned()));
        Some(ClaimReport {
            name: text("name")?,
            group: text("group"),
            verdict: verdict("verdict")?,
            expected: verdict("expect"),
            ended: Ended::Checked,
            layers: text("asked_layers"),
            reference: value["reference"].as_object()?.iter().map(column).collect::<Option<_>>()?,
            command: text("check")?,
            answer: value.clone(),
        })
    }

    /// What it came to, on a line of its own.
    pub fn line(&self, color: bool) -> String {
        let verdict = Paint(color).put(self.verdict.colour(), &format!("{:8}", self.verdict.text()));
        let mut out = format!("{verdict}  {}", self.name);
        if self.has_numbers() {
            let [_, states, time, _, memory] = self.numbers();
            let thing = if states == "1" { "state" } else { "states" };
            let _ = write!(out, ": {states} {thing}, {time}, {memory}");
        }
        if let Some(expected) = self.expected.filter(|expected| *expected != self.verdict) {
            let _ = write!(out, ", expected: {}", expected.text());
        }
        if let Some(reason) = self.reason() {
            let _ = write!(out, " ({reason})");
        }
        for remark in self.remarks() {
            let _ = write!(out, ", {remark}");
        }
        out
    }

    /// Has anything been explored?
    fn has_numbers(&self) -> bool {
        self.answer["peak_memory_bytes"].as_u64().is_some_and(|bytes| bytes > 0)
    }

    /// Verdict, states, time, that of the processors, and memory.
    pub(super) fn numbers(&self) -> [String; 5] {
        let verdict = match self.expected {
            Some(expected) if expected != self.verdict => {
                format!("{}, expected {}", self.verdict.text(), expected.text())
            }
            _ => self.verdict.text().to_owned(),
        };
        if !self.has_numbers() {
            return [verdict, String::new(), String::new(), String::new(), String::new()];
        }
        let number = |key: &str| self.answer[key].as_u64().unwrap_or_default();
        let time = |key: &str| {
            let seconds = self.answer[key].as_f64().unwrap_or_default();
            duration(Duration::try_from_secs_f64(seconds).unwrap_or_default())
        };
        let memory = format!("{} MB", number("peak_memory_bytes") >> 20);
        [verdict, grouped(number("states")), time("seconds"), time("cpu_seconds"), memory]
    }

    /// The depths of its layers, and how many states begin a sub-state space before the final layer, as the
    /// authors count them.
    pub(super) fn layers(&self) -> [String; 2] {
        let asked = self.layers.as_deref();
        let [layers @ .., _] = self.divided() else {
            return [asked.unwrap_or_default().to_owned(), String::new()];
        };
        let mut before = 0;
        let steps = self.divided().iter().map(|layer| {
            let depth = layer["depth"].as_u64().unwrap_or_default();
            depth.saturating_sub(std::mem::replace(&mut before, depth)).to_string()
        });
        let steps = steps.collect::<Vec<_>>().join(" ");
        let spaces: u64 = layers.iter().map(|layer| layer["states"].as_u64().unwrap_or_default()).sum();
        let steps =
            if asked == Some(&steps) { steps } else { format!("{}: {steps}", asked.unwrap_or("auto")) };
        [steps, grouped(spaces + 1)]
    }

    /// The layers that it was checked in.
    fn divided(&self) -> &[Value] {
        self.answer["layers"].as_array().map_or(&[], Vec::as_slice)
    }
}

/// What all claims came to.
pub struct BatchReport<'a> {
    pub claims: &'a [ClaimReport],
    pub time: Duration,
}

/// Claims under one heading, with the columns of their table.
pub(super) struct Group<'a> {
    pub heading: Option<&'a str>,
    pub claims: Vec<&'a ClaimReport>,
    /// Titles; the first is that of the names.
    pub own: Vec<&'static str>,
    pub reference: Vec<&'a str>,
}

impl BatchReport<'_> {
    /// `3 hold, 1 violated, 0 unknown, 1 not as expected; 2m 05s`
    pub fn summary(&self) -> String {
        let count = |verdict| self.claims.iter().filter(|claim| claim.verdict == verdict).count();
        let mut out = format!(
            "{} hold, {} violated, {} unknown",
            count(Verdict::Holds),
            count(Verdict::Violated),
            count(Verdict::Unknown)
        );
        let expected = self.claims.iter().filter(|claim| claim.expected.is_some());
        let (met, all) = (expected.clone().filter(|claim| claim.is_as_expected()).count(), expected.count());
        match all - met {
            0 if all == 0 => {}
            0 if all == self.claims.len() => out.push_str(", all as expected"),
            0 => drop(write!(out, ", {met} as expected")),
            count => drop(write!(out, ", {count} not as expected")),
        }
        let _ = write!(out, "; {}", duration(self.time));
        out
    }

    /// A table for each group, and the summary.
    pub fn text(&self, color: bool) -> String {
        let paint = Paint(color);
        let mut out = String::new();
        for group in self.groups() {
            if let Some(heading) = group.heading {
                let _ = writeln!(out, "{}", paint.put("1", heading));
            }
            table(&mut out, &group, &paint);
            out.push('\n');
        }
        let _ = writeln!(out, "{}", self.summary());
        out
    }

    /// In the order in which the groups first appear.
    pub(super) fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group> = Vec::new();
        for claim in self.claims {
            let heading = claim.group.as_deref();
            let at = groups.iter().position(|group| group.heading == heading).unwrap_or_else(|| {
                let own = vec!["claim", "verdict", "states", "time", "cpu", "memory"];
                groups.push(Group { heading, claims: Vec::new(), own, reference: Vec::new() });
                groups.len() - 1
            });
            let group = &mut groups[at];
            group.claims.push(claim);
            let may_have_layers = claim.layers.as_ref().is_some_and(|layers| layers != "none");
            if (may_have_layers || !claim.divided().is_empty()) && !group.own.contains(&"layers") {
                group.own.extend(["layers", "spaces"]);
            }
            for (column, _) in &claim.reference {
                if !group.reference.contains(&column.as_str()) {
                    group.reference.push(column);
                }
            }
        }
        groups
    }
}

impl Group<'_> {
    /// The cells of a claim: our own, then what others say.
    pub fn cells(&self, claim: &ClaimReport) -> (Vec<String>, Vec<String>) {
        let mut own = vec![claim.name.clone()];
        own.extend(claim.numbers());
        if self.own.contains(&"layers") {
            own.extend(claim.layers());
        }
        let value = |column: &&str| {
            let found = claim.reference.iter().find(|(key, _)| key == column);
            found.map_or_else(String::new, |(_, value)| value.clone())
        };
        (own, self.reference.iter().map(value).collect())
    }
}

fn table(out: &mut String, group: &Group, paint: &Paint) {
    let titles: Vec<String> =
        group.own.iter().chain(&group.reference).map(|title| (*title).to_owned()).collect();
    let mut rows = vec![titles];
    for claim in &group.claims {
        let (own, reference) = group.cells(claim);
        rows.push(own.into_iter().chain(reference).collect());
    }
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    for (number, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            let pad = " ".repeat(width - cell.chars().count());
            let is_left = matches!(group.own.get(column), Some(&"claim" | &"verdict" | &"layers"));
            line.push_str(match column {
                0 => "",
                _ if column == group.own.len() => "  |  ",
                _ => "  ",
            });
            let cell = match (number, group.own.get(column)) {
                (0, _) => paint.put("2", cell),
                (_, Some(&"verdict")) => paint.put(group.claims[number - 1].verdict.colour(), cell),
                _ => cell.clone(),
            };
            line.push_str(&if is_left { cell + &pad } else { pad + &cell });
        }
        let _ = writeln!(out, "{}", line.trim_end());
        if let Some(claim) = number.checked_sub(1).map(|place| group.claims[place]) {
            notes(out, claim);
        }
    }
}

/// What is to be said about a claim, above all where it did not come out as it should.
fn notes(out: &mut String, claim: &ClaimReport) {
    for remark in claim.remarks() {
        let _ = writeln!(out, "    {remark}");
    }
    if let Some(reason) = claim.reason() {
        let _ = writeln!(out, "    {reason}");
    }
    let is_fine = claim.is_as_expected() || claim.verdict == Verdict::Holds && !claim.differs();
    if !is_fine {
        let _ = writeln!(out, "    {}", claim.command);
    }
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1.51s`, `2m 05s`, `15h 36m`, `1d 04h`
pub(super) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{:.2}s", time.as_secs_f64()),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d {:02}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::report::checked::tests::{holding, violated};
    use crate::report::{CheckReport, Layer};

    fn claim(name: &str, verdict: Verdict, expected: Option<Verdict>, answer: &CheckReport) -> ClaimReport {
        ClaimReport {
            name: name.to_owned(),
            group: None,
            verdict,
            expected,
            ended: Ended::Checked,
            layers: None,
            reference: Vec::new(),
            command: "rwl check tas.rwl".to_owned(),
            answer: answer.json(),
        }
    }

    /// One claim that holds in layers, one that is violated, one without an answer.
    pub fn claims() -> Vec<ClaimReport> {
        let layers = [(3, 1, 35), (6, 45, 95)];
        let layers = layers.map(|(depth, spaces, states)| Layer {
            depth,
            spaces,
            states,
            counterexample_states: 0,
            pairs: None,
        });
        let layered = CheckReport { layers: layers.to_vec(), states: 1_234_567, ..holding() };
        let mut first = claim("TAS, 5", Verdict::Holds, Some(Verdict::Holds), &layered);
        first.layers = Some("3 3".to_owned());
        first.group = Some("Table <1>".to_owned());
        first.reference =
            vec![("Maude".to_owned(), "NA".to_owned()), ("tool".to_owned(), "6.14s".to_owned())];
        let mut second = claim("TAS, flawed", Verdict::Violated, Some(Verdict::Holds), &violated());
        second.group = first.group.clone();
        let reason = Some("interrupted".to_owned());
        let third = CheckReport { reason, ..CheckReport::default() };
        vec![first, second, claim("MCS", Verdict::Unknown, None, &third)]
    }

    #[test]
    fn a_table_for_each_group() {
        let claims = claims();
        let expected = "\
Table <1>
claim        verdict                      states   time    cpu  memory  layers  spaces  |  Maude   tool
TAS, 5       holds                     1,234,567  0.01s  0.02s    8 MB  3 3         36  |     NA  6.14s
TAS, flawed  violated, expected holds         15  0.01s  0.02s    8 MB                  |
    rwl check tas.rwl

claim  verdict  states  time  cpu  memory
MCS    unknown
    interrupted
    rwl check tas.rwl

1 hold, 1 violated, 1 unknown, 1 not as expected; 1m 05s
";
        let report = BatchReport { claims: &claims, time: Duration::from_secs(65) };
        assert_eq!(report.text(false), expected);
        assert!(report.text(true).contains("\x1b[1;31mviolated"));
    }

    #[test]
    fn lines_and_json() {
        let claims = claims();
        let lines: Vec<String> = claims.iter().map(|claim| claim.line(false)).collect();
        let expected = [
            "holds     TAS, 5: 1,234,567 states, 0.01s, 8 MB",
            "violated  TAS, flawed: 15 states, 0.01s, 8 MB, expected: holds",
            "unknown   MCS (interrupted)",
        ];
        assert_eq!(lines, expected);
        let object = claims[1].json();
        assert_eq!((&object["name"], &object["rwl"]), (&json!("TAS, flawed"), &json!(1)));
        assert_eq!((&object["expect"], &object["as_expected"]), (&json!("holds"), &json!(false)));
        assert_eq!(claims[0].json()["reference"], json!({"Maude": "NA", "tool": "6.14s"}));
        assert_eq!(claims[2].json()["as_expected"], Value::Null);
    }

    #[test]
    fn what_differs_from_the_plan() {
        use Verdict::*;
        let check = |verdict, expected, differs| {
            assert_eq!(
                claim("", verdict, expected, &holding()).differs(),
                differs,
                "{verdict:?} {expected:?}"
            );
        };
        check(Holds, Some(Holds), false);
        check(Violated, Some(Holds), true);
        check(Holds, Some(Violated), true);
        check(Unknown, Some(Holds), false);
        check(Unknown, Some(Unknown), false);
        check(Holds, Some(Unknown), true);
        check(Violated, None, false);
    }

    #[test]
    fn times_as_people_say_them() {
        let check = |seconds: f64, text: &str| assert_eq!(duration(Duration::from_secs_f64(seconds)), text);
        check(1.514, "1.51s");
        check(125.0, "2m 05s");
        check(56_171.0, "15h 36m");
        check(101_703.0, "1d 04h");
        assert_eq!([0, 999, 1000, 53_625_344].map(grouped), ["0", "999", "1,000", "53,625,344"]);
    }
}
