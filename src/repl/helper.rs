//! Completion for the line editor.

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Result};

use crate::interp::Words;

/// What the editor asks while a line is typed.
pub struct Helper {
    pub words: Words,
    /// The lines of the item that came before.
    pub before: String,
}

impl rustyline::Helper for Helper {}
impl Hinter for Helper {
    type Hint = String;
}
impl Highlighter for Helper {}
impl Validator for Helper {}

/// Commands with a file name.
const FILE_COMMANDS: &[&str] = &["load", "sload", "in", "cd", "pushd", "ls"];

impl Completer for Helper {
    type Candidate = Pair;

    fn complete(&self, line: &str, position: usize, context: &Context<'_>) -> Result<(usize, Vec<Pair>)> {
        let typed = &line[..position];
        let is_break = |c: char| c.is_whitespace() || "()[]{},".contains(c);
        let start =
            typed.rfind(is_break).map_or(0, |i| i + typed[i..].chars().next().map_or(1, char::len_utf8));
        let before: Vec<&str> =
            self.before.split_whitespace().chain(typed[..start].split_whitespace()).collect();
        if let [command, ..] = before.as_slice()
            && FILE_COMMANDS.contains(command)
        {
            return FilenameCompleter::new().complete(line, position, context);
        }
        let words = self.words.complete(&before, &typed[start..]);
        // After the only possibility comes a blank, as the period needs one before it.
        let end = if words.len() == 1 { " " } else { "" };
        let pairs = words.into_iter().map(|word| Pair { replacement: format!("{word}{end}"), display: word });
        Ok((start, pairs.collect()))
    }
}
