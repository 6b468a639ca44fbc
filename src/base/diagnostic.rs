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

/// The candidate that `word` is most likely a slip or the beginning of, if there is one.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters: Vec<char> = word.chars().collect();
    // A slip in three characters; a single character has room for the wrong case only.
    let limit = match letters.len() {
        0 | 1 => CASE_COST,
        length => REPLACEMENT_COST * (length / 3).max(1),
    };
    let is_same_letter =
        |a: Option<char>, b: Option<char>| a.zip(b).is_some_and(|(a, b)| a.eq_ignore_ascii_case(&b));
    let rank = |candidate: &'a str| {
        let mut cost = distance(&letters, candidate);
        if letters.len() >= BEGINNING_MIN && candidate.starts_with(word) && cost > 0 {
            cost = cost.min(SLIP_COST);
        }
        let starts_otherwise = !is_same_letter(candidate.chars().next(), letters.first().copied());
        (cost, starts_otherwise, candidate.chars().count().abs_diff(letters.len()))
    };
    let near = candidates.into_iter().map(|candidate| (rank(candidate), candidate));
    near.filter(|((cost, ..), _)| (1..=limit).contains(cost))
        .min_by_key(|(rank, _)| *rank)
        .map(|(_, near)| near)
}

/// So long a beginning is enough to recognize a word by.
const BEGINNING_MIN: usize = 3;
/// A letter in the wrong case.
const CASE_COST: usize = 2;
/// A character too many, too few, or two in the wrong order.
const SLIP_COST: usize = 4;
/// A wrong character.
const REPLACEMENT_COST: usize = 5;

/// What it costs to make one text from the other: insertions, deletions, replacements and swaps of
/// neighbours, each character used once.
fn distance(a: &[char], b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    // In two characters a replacement leaves too little to recognize.
    let replacement = if a.len() <= 2 { 2 * REPLACEMENT_COST } else { REPLACEMENT_COST };
    let mut rows: [Vec<usize>; 3] = [Vec::new(), Vec::new(), (0..=b.len()).map(|j| j * SLIP_COST).collect()];
    for i in 0..a.len() {
        rows.rotate_left(1);
        let mut row = vec![(i + 1) * SLIP_COST];
        for j in 0..b.len() {
            let change = match () {
                _ if a[i] == b[j] => 0,
                _ if a[i].eq_ignore_ascii_case(&b[j]) => CASE_COST,
                _ => replacement,
            };
            let mut cost = (rows[1][j] + change).min(rows[1][j + 1] + SLIP_COST).min(row[j] + SLIP_COST);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] && a[i] != a[i - 1] {
                cost = cost.min(rows[0][j - 1] + SLIP_COST);
            }
            row.push(cost);
        }
        rows[2] = row;
    }
    rows[2][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_slips_and_nothing_far() {
        let check = |word: &str, candidates: &str, expected: Option<&str>| {
            assert_eq!(nearest(word, candidates.split(' ')), expected, "{word}");
        };
        check("Natt", "Int Nat Bool", Some("Nat"));
        check("nat", "Bool Nat", Some("Nat"));
        check("Natt", "Nat< Nat", Some("Nat"));
        check("opp", "ops op", Some("op"));
        check("inti3", "init2 init3", Some("init3"));
        check("init", "p1 init2", Some("init2"));
        check("protectign", "extending protecting", Some("protecting"));
        check("eqq", "ceq eq", Some("eq"));
        check("&&", "& |", Some("&"));
        check("n", "N M", Some("N"));
        check("fi", "if is", Some("if"));
        check("cond", "body condition", Some("condition"));
        check("pro", "including protecting", Some("protecting"));
        check("init", "initial init2", Some("init2"));
        check("hd", "id head", None);
        check("/", "& +", None);
        check("Foo", "Nat Bool", None);
        check("Nat", "Nat", None);
        check("", "a b", None);
    }
}
