//! Messages to the user as data: what is wrong, where, and what may help.
//!
//! Layers collect these and go on; only `report` turns them into text.

use super::Span;

/// How bad it is. An error makes the exit code 2; a warning or advisory does not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    Advisory,
    Warning,
    Error,
}

/// A stable short name of the kind of mistake, such as `unknown-sort`.
pub type Code = &'static str;

/// One message.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnostic {
    pub severity: Severity,
    pub code: Code,
    /// What is wrong, in one sentence without a final period.
    pub message: String,
    /// The place; absent for mistakes that have none (a missing file on the command line).
    pub span: Option<Span>,
    /// What to write under the marked place (may be empty).
    pub label: String,
    /// Further places or remarks.
    pub notes: Vec<(Option<Span>, String)>,
    /// What would mend it, if that can be said.
    pub hint: Option<String>,
}

impl Diagnostic {
    pub fn new(severity: Severity, code: Code, message: impl Into<String>, span: Option<Span>) -> Self {
        Diagnostic {
            severity,
            code,
            message: message.into(),
            span,
            label: String::new(),
            notes: Vec::new(),
            hint: None,
        }
    }

    pub fn error(code: Code, message: impl Into<String>, span: Span) -> Self {
        Self::new(Severity::Error, code, message, Some(span))
    }

    pub fn warning(code: Code, message: impl Into<String>, span: Span) -> Self {
        Self::new(Severity::Warning, code, message, Some(span))
    }

    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    pub fn note(mut self, span: Option<Span>, note: impl Into<String>) -> Self {
        self.notes.push((span, note.into()));
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The candidate nearest to `word` by edit distance, if it is near enough to be a likely slip.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (edit_distance(word, candidate), candidate))
        .filter(|&(distance, _)| distance > 0 && distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let cost = if ca == cb { diagonal } else { 1 + diagonal.min(row[j]).min(row[j + 1]) };
            diagonal = row[j + 1];
            row[j + 1] = cost;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_slips_and_nothing_far() {
        assert_eq!(nearest("Natt", ["Int", "Nat", "Bool"]), Some("Nat"));
        assert_eq!(nearest("Foo", ["Nat", "Bool"]), None);
        assert_eq!(nearest("Nat", ["Nat"]), None);
    }
}
