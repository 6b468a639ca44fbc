//! Where the history is kept. Nothing here may fail the session.

use std::path::{Path, PathBuf};

use rustyline::Editor;
use rustyline::history::DefaultHistory;

use super::helper::Helper;

/// `$XDG_STATE_HOME/rwl/history`, or under `~/.local/state`.
pub fn path() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".local/state"));
    Some(state.or_else(home)?.join("rwl").join("history"))
}

/// Adds what is new to the file.
pub fn append(editor: &mut Editor<Helper, DefaultHistory>, path: Option<&Path>) {
    let Some(path) = path else { return };
    if let Some(directory) = path.parent() {
        let _ = std::fs::create_dir_all(directory);
    }
    let _ = editor.append_history(path);
}
