//! What the commands of the layered checker answer, in the words of its authors' tool.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::checked::{CheckReport, Layer, Verdict};
use super::run::{Paint, Run};

/// What `initialize` has set up: fields with their values.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Initialized {
    pub fields: Vec<(&'static str, String)>,
}

impl Initialized {
    pub fn text(&self) -> String {
        let mut out = "Initialization: success\n".to_owned();
        for (name, value) in &self.fields {
            let _ = writeln!(out, "  {name}: {value}");
        }
        out
    }

    pub fn json(&self) -> Value {
        let fields = self.fields.iter().map(|(name, value)| (name.to_string(), Value::from(value.as_str())));
        let mut object =
            Map::from_iter([("rwl".to_owned(), json!(1)), ("command".to_owned(), json!("initialize"))]);
        object.extend(fields);
        Value::Object(object)
    }
}

/// Where the layers that are done end, and what is there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Analysis {
    pub depths: Vec<u32>,
    /// Sub-state spaces of the last of these layers.
    pub spaces: u64,
    pub states: u64,
    pub counterexample_states: u64,
}

impl Analysis {
    /// For layers of these depths.
    pub fn new(depths: Vec<u32>, layers: &[Layer]) -> Analysis {
        match layers.last() {
            // There is nothing but the initial state.
            None => Analysis { depths, spaces: 1, states: 1, counterexample_states: 0 },
            Some(last) => Analysis {
                depths,
                spaces: last.spaces,
                states: last.states,
                counterexample_states: last.counterexample_states,
            },
        }
    }

    fn depth(&self) -> u64 {
        self.depths.iter().map(|&depth| u64::from(depth)).sum()
    }

    pub fn text(&self) -> String {
        let depths: Vec<String> = self.depths.iter().map(u32::to_string).collect();
        format!(
            "Analyzer:\n  currentDepth: {}\n  depthList: {}\n  numberOfNodeSet: {}\n  numberOfStates: {}\n  \
             numberOfCxStates: {}\n",
            self.depth(),
            if depths.is_empty() { "nil".to_owned() } else { depths.join(" ") },
            self.spaces,
            self.states,
            self.counterexample_states
        )
    }

    pub fn json(&self) -> Value {
        json!({
            "rwl": 1, "command": "analyze", "currentDepth": self.depth(), "depthList": self.depths,
            "numberOfNodeSet": self.spaces, "numberOfStates": self.states,
            "numberOfCxStates": self.counterexample_states,
        })
    }
}

/// `Check: success`, or why not.
pub fn layers_verdict(report: &CheckReport) -> String {
    match report.verdict {
        Verdict::Holds => {
            let vacuous = report.vacuity().map_or_else(String::new, |why| format!("Vacuous: {why}\n"));
            format!("Check: success\n{vacuous}")
        }
        Verdict::Violated => format!("Check: failure\n{}", counterexample(report)),
        Verdict::Unknown => {
            format!("Check: unknown\nReason: {}\n", report.reason.as_deref().unwrap_or("not known"))
        }
    }
}

/// The formula that is violated and the run, as a term; readable once more if that is asked for.
pub fn layers_counterexample(report: &CheckReport, color: bool) -> String {
    let run = report.counterexample.as_ref();
    let run = run.map(|run| format!("\n{}\n{}", run.summary(), run.text(&Paint(color), false)));
    counterexample(report) + &run.unwrap_or_default()
}

fn counterexample(report: &CheckReport) -> String {
    let formula = match &report.name {
        Some(name) => format!("{name}.Formula"),
        None => report.formula.clone(),
    };
    let run = match (&report.counterexample, &report.reason) {
        (Some(run), _) => format!("Cx: {}\n", term(run)),
        (None, Some(reason)) => format!("Reason: the run cannot be shown: {reason}\n"),
        (None, None) => String::new(),
    };
    format!("Formula: {formula}\n{run}")
}

/// The run as a term, each transition in a line.
fn term(run: &Run) -> String {
    let transition = |step: &super::Step| {
        let rule = match step.rule.as_deref() {
            None | Some("deadlock") => "deadlock".to_owned(),
            Some("unlabeled") => "unlabeled".to_owned(),
            Some(label) => format!("'{label}"),
        };
        format!("\n  {{{},{rule}}}", step.state)
    };
    let list = |steps: &[super::Step]| match steps {
        [] => "nil".to_owned(),
        steps => steps.iter().map(transition).collect(),
    };
    let (prefix, cycle) = run.steps.split_at(run.back.unwrap_or(run.steps.len()));
    format!("counterexample({},{})", list(prefix), list(cycle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::checked::tests::{holding, violated};

    #[test]
    fn in_the_words_of_the_tool() {
        let fields = vec![("originModule", "TAS-CHECK".to_owned()), ("initialState", "init".to_owned())];
        let expected = "Initialization: success\n  originModule: TAS-CHECK\n  initialState: init\n";
        let initialized = Initialized { fields };
        assert_eq!(initialized.text(), expected);
        assert_eq!(initialized.json()["originModule"], "TAS-CHECK");
        let layer = Layer { depth: 4, spaces: 4, states: 2, counterexample_states: 1, pairs: None };
        let analysis = Analysis::new(vec![2, 2], &[layer]);
        let expected = "\
Analyzer:
  currentDepth: 4
  depthList: 2 2
  numberOfNodeSet: 4
  numberOfStates: 2
  numberOfCxStates: 1
";
        assert_eq!(analysis.text(), expected);
        assert_eq!(analysis.json()["depthList"], json!([2, 2]));
        assert!(Analysis::new(Vec::new(), &[]).text().contains("currentDepth: 0\n  depthList: nil\n"));
    }

    #[test]
    fn verdicts() {
        assert_eq!(layers_verdict(&holding()), "Check: success\n");
        let failure = CheckReport { name: Some("l2-prop".to_owned()), ..violated() };
        let expected = "\
Check: failure
Formula: l2-prop.Formula
Cx: counterexample(
  {{locked: false & pc[p1]: rs & pc[p2]: rs},'want},
  {{locked: false & pc[p1]: ws & pc[p2]: rs},'want}
  {{locked: false & pc[p1]: ws & pc[p2]: ws},'try}
  {{locked: true & pc[p1]: ws & pc[p2]: cs},'exit})
";
        assert_eq!(layers_verdict(&failure), expected);
        let shown = layers_counterexample(&violated(), false);
        assert!(shown.starts_with("Formula: inWs1 |-> inCs1\nCx: counterexample("), "{shown}");
        assert!(shown.contains("A run of 1 step into a cycle of 3 steps"), "{shown}");
        let reason = Some("interrupted".to_owned());
        let unknown = CheckReport { verdict: Verdict::Unknown, reason, ..holding() };
        assert_eq!(layers_verdict(&unknown), "Check: unknown\nReason: interrupted\n");
    }
}
