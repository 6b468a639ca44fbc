//! What changes along a run, from the texts of its states' components alone.
//!
//! A component that goes and one that comes in the same step are taken for one that changed if they
//! begin alike (`pc[p1]: rs` and `pc[p1]: ws`): the pairs that share most first. What belongs together
//! over the whole run is a row: a label, and a value at each step.

/// One difference between two states: what went, what came. One of them is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change<'a> {
    pub old: Option<&'a str>,
    pub new: Option<&'a str>,
}

impl Change<'_> {
    /// `pc[p1]: rs -> ws`, `+ msg(1)`, `- msg(1)`
    pub fn text(&self) -> String {
        match (self.old, self.new) {
            (Some(old), Some(new)) => {
                let cut = label_length(&[old, new]);
                format!("{old} -> {}", &new[cut..])
            }
            (Some(old), None) => format!("- {old}"),
            (None, Some(new)) => format!("+ {new}"),
            (None, None) => String::new(),
        }
    }
}

/// The differences between two multisets of components.
pub fn changes<'a>(before: &'a [String], after: &'a [String]) -> Vec<Change<'a>> {
    let mut gone: Vec<&str> = Vec::new();
    let mut come: Vec<&str> = after.iter().map(String::as_str).collect();
    for component in before {
        match come.iter().position(|other| other == component) {
            Some(at) => drop(come.remove(at)),
            None => gone.push(component),
        }
    }
    let mut partner: Vec<Option<&str>> = vec![None; gone.len()];
    loop {
        let open = gone.iter().enumerate().filter(|&(at, _)| partner[at].is_none());
        let pairs = open
            .flat_map(|(at, old)| come.iter().enumerate().map(move |(to, new)| (likeness(old, new), at, to)));
        // Of equal ones the first.
        let best = pairs.max_by_key(|&(score, at, to)| (score, usize::MAX - at, usize::MAX - to));
        // Where the state is one component, it has changed.
        let alone = before.len() == 1 && after.len() == 1;
        match best {
            Some((score, at, to)) if score > 0 || alone => partner[at] = Some(come.remove(to)),
            _ => break,
        }
    }
    let changed = gone.into_iter().zip(partner).map(|(old, new)| Change { old: Some(old), new });
    changed.chain(come.into_iter().map(|new| Change { old: None, new: Some(new) })).collect()
}

/// A component over time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// How all its values begin.
    pub label: String,
    /// The rest, at each step; nothing where it is not there.
    pub values: Vec<Option<String>>,
}

/// The components of a run's states as rows.
pub fn rows<'a>(states: impl IntoIterator<Item = &'a [String]>) -> Vec<Row> {
    let mut before: &[String] = &[];
    let mut rows: Vec<Vec<Option<&str>>> = Vec::new();
    for (step, state) in states.into_iter().enumerate() {
        for row in &mut rows {
            row.push(row.last().copied().flatten());
        }
        for Change { old, new } in changes(before, state) {
            // A row that holds the old value and has not changed yet in this step.
            let holds =
                |row: &&mut Vec<Option<&str>>| old.is_some() && row[step] == old && row[step - 1] == old;
            if let Some(row) = rows.iter_mut().find(holds) {
                row[step] = new;
                continue;
            }
            let Some(new) = new else { continue };
            // What comes may have been there before.
            let is_free = |row: &Vec<Option<&str>>| row[step].is_none() && row[step - 1].is_none();
            let score = |row: &Vec<Option<&str>>| {
                row.iter().rev().flatten().next().map_or(0, |value| likeness(value, new))
            };
            let free = rows.iter_mut().filter(|row| is_free(row)).max_by_key(|row| score(row));
            match free {
                Some(row) if score(row) > 0 => row[step] = Some(new),
                _ => {
                    let mut row = vec![None; step];
                    row.push(Some(new));
                    rows.push(row);
                }
            }
        }
        before = state;
    }
    rows.into_iter().map(named).collect()
}

fn named(values: Vec<Option<&str>>) -> Row {
    let mut distinct: Vec<&str> = values.iter().copied().flatten().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let cut = label_length(&distinct);
    let label = distinct.first().map_or("", |value| &value[..cut]).trim_end();
    let rest = |value: Option<&str>| value.map(|value| value[cut..].to_owned());
    Row { label: label.to_owned(), values: values.into_iter().map(rest).collect() }
}

/// How much two components begin alike: bytes of whole words and signs, of which one must be a word.
fn likeness(one: &str, other: &str) -> usize {
    if one == other {
        return usize::MAX;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_' || c == '\'';
    let mut same = common_length(one, other);
    let next = |text: &str| text[same..].chars().next().is_some_and(is_word);
    if next(one) || next(other) {
        same = one[..same].trim_end_matches(is_word).len();
    }
    if one[..same].contains(char::is_alphanumeric) { same } else { 0 }
}

/// How long `#2: ` is, the place of an argument.
fn place_length(text: &str) -> usize {
    let digits = text.strip_prefix('#').and_then(|rest| rest.split_once(": ")).map(|(digits, _)| digits);
    let digits = digits.filter(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()));
    digits.map_or(0, |digits| digits.len() + "#: ".len())
}

fn common_length(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum()
}

/// How long the label of these values is: `pc[p1]: ` or, without a colon, all words that they share.
fn label_length(values: &[&str]) -> usize {
    let place = values.first().map_or(0, |first| place_length(first));
    if place > 0 && values.iter().all(|value| value.starts_with(&values[0][..place])) {
        let rest: Vec<&str> = values.iter().map(|value| &value[place..]).collect();
        return place + label_length(&rest);
    }
    let Some((&first, others)) = values.split_first() else { return 0 };
    let same = others.iter().map(|other| common_length(first, other)).min();
    let (mut depth, mut last, mut previous) = (0i32, 0, ' ');
    for (at, c) in first[..same.unwrap_or(first.len())].char_indices() {
        match c {
            // As in `< 1 ; 2 >`, not as in `a |-> 1`.
            '<' | '>' if !matches!(previous, ' ' | '(' | '[' | '{') => {}
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth -= 1,
            ' ' if depth == 0 && previous == ':' => return at + 1,
            // One value alone does not tell where it may change.
            ' ' if depth == 0 && same.is_some() => last = at + 1,
            _ => {}
        }
        previous = c;
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str) -> Vec<String> {
        text.split(" & ").filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    #[track_caller]
    fn check(before: &str, after: &str, expected: &[&str]) {
        let (before, after) = (state(before), state(after));
        let found: Vec<String> = changes(&before, &after).iter().map(Change::text).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_in_brackets_is_shown_whole() {
        check("< 1 ; 0 >", "< 1 ; 1 >", &["< 1 ; 0 > -> < 1 ; 1 >"]);
        check("< 'a : C | n: 3 >", "< 'a : C | n: 5 >", &["< 'a : C | n: 3 > -> < 'a : C | n: 5 >"]);
    }

    #[test]
    fn components_that_begin_alike_change() {
        check("pc[p1]: rs & pc[p2]: rs", "pc[p2]: ws & pc[p1]: rs", &["pc[p2]: rs -> ws"]);
        check(
            "pc[p1]: rs & pc[p2]: rs",
            "pc[p1]: ws & pc[p2]: cs",
            &["pc[p1]: rs -> ws", "pc[p2]: rs -> cs"],
        );
        check(
            "got: 1, 2 & x: (a b)",
            "got: 1, 2, 3 & x: (a c)",
            &["got: 1, 2 -> 1, 2, 3", "x: (a b) -> (a c)"],
        );
        check("f(1)", "f(2)", &["f(1) -> f(2)"]);
        check("loc p1 at 3", "loc p1 at 4", &["loc p1 at 3 -> 4"]);
        check("p1 & q", "p12 & r", &["- p1", "- q", "+ p12", "+ r"]);
        check("ü: 1", "ü: 2", &["ü: 1 -> 2"]);
        check("'a |-> 3 & 'b |-> 3", "'a |-> 4 & 'b |-> 3", &["'a |-> 3 -> 4"]);
        check("#1: 3 & #2: 4", "#1: 4 & #2: 4", &["#1: 3 -> 4"]);
        check("#2: a |-> 3 & #2: b |-> 3", "#2: a |-> 4 & #2: b |-> 3", &["#2: a |-> 3 -> 4"]);
        check("#2: pc: 3, 4", "#2: pc: 4", &["#2: pc: 3, 4 -> 4"]);
    }

    #[test]
    fn multisets() {
        check("coin & coin & coin", "coin & cake", &["- coin", "- coin", "+ cake"]);
        check("coin & coin", "coin", &["- coin"]);
        check("", "coin", &["+ coin"]);
        check("red", "green", &["red -> green"]);
        check("red", "red", &[]);
    }

    #[test]
    fn rows_follow_components() {
        let states = ["pc[p1]: rs & k: 2 & m(1)", "k: 2 & pc[p1]: ws", "k: 2 & pc[p1]: cs & m(2)"].map(state);
        let found: Vec<String> = rows(states.iter().map(Vec::as_slice))
            .into_iter()
            .map(|row| {
                let values: Vec<String> = row.values.into_iter().map(|v| v.unwrap_or("-".into())).collect();
                format!("{}|{}", row.label, values.join("|"))
            })
            .collect();
        assert_eq!(found, ["pc[p1]:|rs|ws|cs", "k:|2|2|2", "|m(1)|-|m(2)"]);
    }
}
