//! The prompt: editing, history, completion, and input over several lines.
//!
//! The one user of `rustyline`.

mod helper;
mod history;

use std::io::Write as _;

use rustyline::error::ReadlineError;
use rustyline::{Config, Editor};

use crate::cli::{Activity, Doing, Output};
use crate::interp::{Flow, Host, Interpreter, Text};
use crate::syntax::{Progress, next_item};
use helper::Helper;

const PROMPT: &str = "rwl> ";
/// While an item is not complete.
const MORE: &str = "...> ";

/// What is said at the beginning.
pub fn banner() -> String {
    format!(
        "rwl {}: rewriting logic in Maude's language (`help`; Ctrl-D leaves)\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// Shows the prompt again, after an interrupt while a line is read.
pub fn prompt_anew() {
    let mut out = std::io::stdout();
    // Nobody is left to tell if this fails.
    let _ = out.write_all(format!("\n{PROMPT}").as_bytes()).and_then(|()| out.flush());
}

/// Reads and executes input until its end or `quit`.
pub fn run(interpreter: &mut Interpreter, output: &mut Output, activity: &Activity) {
    let config = Config::builder().auto_add_history(false).max_history_size(10_000);
    let config =
        config.map(|c| c.completion_type(rustyline::CompletionType::List).build()).unwrap_or_default();
    let editor = Editor::<Helper, _>::with_config(config);
    let mut editor = match editor {
        Ok(editor) => editor,
        Err(error) => {
            output.message(&format!("error: cannot edit lines here: {error}\n"));
            return;
        }
    };
    let history = history::path();
    if let Some(path) = &history {
        // A first run has no history yet.
        let _ = editor.load_history(path);
    }
    let mut lines = 0;
    let mut pending = String::new();
    loop {
        editor.set_helper(Some(Helper { words: interpreter.words(), before: pending.clone() }));
        activity.set(Doing::Prompt);
        output.flush();
        let read = editor.readline(if pending.is_empty() { PROMPT } else { MORE });
        if activity.set(Doing::Prompt) == Doing::Drop {
            pending.clear();
        }
        match read {
            Ok(line) => {
                lines += 1;
                pending.push_str(&line);
                pending.push('\n');
            }
            Err(ReadlineError::Interrupted) => {
                pending.clear();
                continue;
            }
            Err(ReadlineError::Eof) if !pending.is_empty() => {
                // Leaves the unfinished item first, the session the next time.
                pending.clear();
                continue;
            }
            Err(_) => break,
        }
        let mut done = 0;
        loop {
            match next_item(&pending[done..]) {
                Progress::Complete(length) => done += length,
                Progress::Blank => {
                    done = pending.len();
                    break;
                }
                Progress::Incomplete => break,
            }
        }
        if done == 0 {
            continue;
        }
        let rest = pending.split_off(done);
        let entry = pending.trim();
        if !entry.is_empty() {
            let _ = editor.add_history_entry(entry);
            history::append(&mut editor, history.as_deref());
        }
        activity.set(Doing::Work);
        let first_line = lines + 1 - pending.matches('\n').count().max(1);
        let text = Text { name: "<prompt>", text: &pending, first_line, prompt: true };
        let flow = interpreter.run_text(output, text);
        if flow == Flow::Quit || output.is_closed() {
            break;
        }
        interpreter.status.stopped = false;
        pending = rest;
        if pending.trim().is_empty() {
            pending.clear();
        }
    }
    // Mistakes made at the prompt are no failure of the session.
    interpreter.status =
        crate::interp::Status { internal: interpreter.status.internal, ..Default::default() };
}
