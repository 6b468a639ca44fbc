//! Files and directories: where `load` looks, and what `cd` and its kin change.
//!
//! The process's own directory is never changed. A file is found relative to the file that loads
//! it, then in the library directories; the library that is part of the program comes last.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Component, Path, PathBuf};

use super::{Flow, Host, Interpreter, Text};
use crate::base::{Diagnostic, Severity, Span, nearest};
use crate::report::Answer;
use crate::syntax::Parser;
use crate::syntax::library::{self, Part};

/// The library that is part of the program.
const LIBRARY: &[(&str, &str)] = &[
    ("prelude", include_str!("../../stdlib/prelude.rwl")),
    ("model-checker", include_str!("../../stdlib/model-checker.rwl")),
];

/// The names in each library: first those that Maude's own library uses, in its order of first
/// use, since variables are ordered by it; then the others in the order of our text.
const NAME_ORDER: &[(&str, &str)] = &[
    ("prelude", include_str!("../../stdlib/name-order.txt")),
    ("model-checker", include_str!("../../stdlib/name-order-model-checker.txt")),
];

const EXTENSIONS: &[&str] = &["", ".maude", ".rwl", ".fm", ".obj"];

/// How deep files may load each other.
const DEPTH_MAX: usize = 200;

impl Interpreter {
    /// Reads the standard prelude.
    pub fn load_prelude(&mut self, host: &mut dyn Host) {
        self.check = false;
        self.load_library(host, "prelude");
        self.check = true;
    }

    /// Loads a file named on the command line.
    pub fn run_file(&mut self, host: &mut dyn Host, path: &str) -> Flow {
        match self.find(host, path) {
            Some(Found::File(file)) => self.load_file(host, file, None, false),
            Some(Found::Library(name)) => self.load_library(host, name),
            None => {
                self.say_missing(host, path, None);
                Flow::Next
            }
        }
    }

    pub(super) fn load(&mut self, host: &mut dyn Host, path: &str, span: Span, once: bool) -> Flow {
        let flow = match self.find(host, path) {
            Some(Found::File(file)) => self.load_file(host, file, Some(span), once),
            Some(Found::Library(name)) => {
                let key = PathBuf::from(name);
                if once && self.loaded.contains_key(&key) {
                    return Flow::Next;
                }
                self.loaded.insert(key, 0);
                self.load_library(host, name)
            }
            None => {
                self.say_missing(host, path, Some(span));
                Flow::Next
            }
        };
        if flow == Flow::Quit { Flow::Quit } else { Flow::Next }
    }

    /// There is no such file.
    fn say_missing(&mut self, host: &mut dyn Host, path: &str, span: Option<Span>) {
        let is_directory = host.is_directory(&tidy(&self.directory().join(expand(path))));
        let message = match is_directory {
            true => format!("{path} is a directory"),
            false => format!("there is no file {path}"),
        };
        let mut missing = Diagnostic::new(Severity::Error, "missing-file", message, span);
        if !is_directory && let Some(near) = self.near_file(host, path) {
            missing = missing.hint(format!("did you mean {near}?"));
        }
        self.say(host, &missing);
    }

    fn load_library(&mut self, host: &mut dyn Host, name: &'static str) -> Flow {
        let text = |table: &[(&str, &'static str)]| {
            table.iter().find(|(key, _)| *key == name).map_or("", |(_, text)| text)
        };
        self.order.note_lines(text(NAME_ORDER));
        self.modules.set_library_order(&self.order);
        let text = text(LIBRARY);
        let file = self.sources.add(format!("<{name}>"), text);
        for part in library::parts(text, file) {
            if let Part::Rest { start, end } = part {
                let mut parser = Parser::starting_at(&text[..end], file, start);
                while let Some(parsed) = parser.next_item(&mut self.order) {
                    if let Some(item) = parsed.item {
                        self.execute(host, item);
                    }
                }
            } else if let Some(module) = self.modules.insert_part(part) {
                self.current = Some(module);
            }
        }
        self.say_modules(host);
        Flow::Next
    }

    fn load_file(&mut self, host: &mut dyn Host, file: PathBuf, span: Option<Span>, once: bool) -> Flow {
        let fail = |message: String| match span {
            Some(span) => Diagnostic::error("unreadable-file", message, span),
            None => Diagnostic::new(Severity::Error, "unreadable-file", message, None),
        };
        let bytes = match host.read(&file) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.say(host, &fail(format!("cannot read {}: {error}", file.display())));
                return Flow::Next;
            }
        };
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let hash = hasher.finish();
        if self.loaded.insert(file.clone(), hash) == Some(hash) && once {
            return Flow::Next;
        }
        if self.loading.len() >= DEPTH_MAX || self.loading.iter().filter(|f| **f == file).count() > 1 {
            self.say(host, &fail(format!("{} loads itself", file.display())));
            return Flow::Next;
        }
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        let directory = file.parent().map_or_else(|| self.directory(), Path::to_path_buf);
        let name = self.display_name(&file);
        self.loading.push(file);
        self.directories.push(directory);
        let messages = std::mem::take(&mut self.messages);
        let flow = self.run_text(host, Text { name: &name, text: &text, first_line: 1, prompt: false });
        let hidden = std::mem::replace(&mut self.messages, messages).saturating_sub(super::MESSAGES_MAX);
        self.directories.pop();
        self.loading.pop();
        if hidden > 0 {
            let message = format!("{hidden} more messages about {name} are not shown");
            host.diagnostic(
                &Diagnostic::new(Severity::Warning, "more-messages", message, None),
                &self.sources,
            );
        }
        flow
    }

    /// The file's name as messages show it: relative to where the session started.
    fn display_name(&self, file: &Path) -> String {
        file.strip_prefix(&self.setup.directory).unwrap_or(file).display().to_string()
    }

    fn find(&mut self, host: &mut dyn Host, path: &str) -> Option<Found> {
        let mut bases = vec![self.directory()];
        if !Path::new(path).is_absolute() {
            bases.extend(self.setup.library.iter().cloned());
        }
        for base in bases {
            for extension in EXTENSIONS {
                let file = tidy(&base.join(expand(&format!("{path}{extension}"))));
                if host.is_file(&file) {
                    return Some(Found::File(file));
                }
            }
        }
        let stem = EXTENSIONS[1..].iter().find_map(|e| path.strip_suffix(e)).unwrap_or(path);
        LIBRARY.iter().find(|(name, _)| *name == stem).map(|(name, _)| Found::Library(name))
    }

    /// A file in the same directory with a similar name.
    fn near_file(&mut self, host: &mut dyn Host, path: &str) -> Option<String> {
        let full = tidy(&self.directory().join(expand(path)));
        let (directory, name) = (full.parent()?, full.file_name()?.to_str()?);
        let listing = host.list(directory, "").ok()?;
        let near = EXTENSIONS.iter().find_map(|e| nearest(&format!("{name}{e}"), listing.lines()))?;
        // In the directory that the user named.
        Some(Path::new(path).with_file_name(near).display().to_string())
    }

    pub(super) fn directory(&self) -> PathBuf {
        self.directories.last().expect("the first one stays").clone()
    }

    /// The directory of that name, unless there is none.
    fn target(&mut self, host: &mut dyn Host, path: &str, span: Span) -> Option<PathBuf> {
        let target = tidy(&self.directory().join(expand(path)));
        if host.is_directory(&target) {
            return Some(target);
        }
        self.error(host, "missing-directory", format!("there is no directory {path}"), span);
        None
    }

    fn go(&mut self, target: PathBuf) -> PathBuf {
        let place = self.directories.last_mut().expect("the first one stays");
        std::mem::replace(place, target)
    }

    pub(super) fn cd(&mut self, host: &mut dyn Host, path: &str, span: Span) {
        if let Some(target) = self.target(host, path, span) {
            self.go(target);
        }
    }

    pub(super) fn pushd(&mut self, host: &mut dyn Host, path: &str, span: Span) {
        if let Some(target) = self.target(host, path, span) {
            let left = self.go(target);
            self.pushed.push(left);
        }
    }

    pub(super) fn popd(&mut self, host: &mut dyn Host, span: Span) {
        match self.pushed.pop() {
            Some(target) => {
                host.answer(&Answer::Text(format!("{}\n", target.display())));
                self.go(target);
            }
            None => self.error(host, "empty-stack", "there is no directory to go back to", span),
        }
    }

    pub(super) fn ls(&mut self, host: &mut dyn Host, arguments: &str, span: Span) {
        match host.list(&self.directory(), arguments) {
            Ok(text) => host.answer(&Answer::Text(text)),
            Err(error) => self.error(host, "cannot-list", format!("cannot list files: {error}"), span),
        }
    }
}

enum Found {
    File(PathBuf),
    Library(&'static str),
}

/// `~` stands for the home directory.
fn expand(path: &str) -> PathBuf {
    match (path.strip_prefix('~'), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            Path::new(&home).join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(path),
    }
}

/// The path without `.` and, where it does no harm, without `..`.
fn tidy(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::FileId;
    use crate::module::Modules;
    use crate::syntax::{TokenOrder, tree::Item};

    /// Reading a library in one go gives what reading it in parts gives, and numbers no new names.
    #[test]
    fn libraries_can_be_read_in_parts() {
        let mut order = TokenOrder::default();
        let mut modules = Modules::new();
        for ((name, text), (_, names)) in LIBRARY.iter().zip(NAME_ORDER) {
            order.note_lines(names);
            let count = order.count();
            let mut parser = Parser::new(text, FileId(0));
            let parts = library::parts(text, FileId(0));
            let mut parts = parts.iter().filter(|part| !matches!(part, Part::Rest { .. }));
            while let Some(parsed) = parser.next_item(&mut order) {
                assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
                match parsed.item.expect("there are no mistakes") {
                    Item::Module(decl) => {
                        let Some(Part::Module { kind, name, decl: part }) = parts.next() else {
                            panic!("{} is no part", decl.name.name)
                        };
                        assert_eq!((*kind, *name), (decl.kind, decl.name));
                        assert_eq!(format!("{decl:?}"), format!("{:?}", part.get()));
                        modules.insert(decl, &mut order);
                    }
                    Item::View(decl) => {
                        let Some(Part::View { name, decl: part }) = parts.next() else {
                            panic!("{} is no part", decl.name.name)
                        };
                        assert_eq!(*name, decl.name);
                        assert_eq!(format!("{decl:?}"), format!("{:?}", part.get()));
                        modules.insert_view(decl, &mut order);
                    }
                    Item::Command(_) => {}
                }
            }
            assert!(parts.next().is_none());
            let new = order.names_from(count);
            assert!(new.is_empty(), "add to the names of {name}:\n{}", new.join("\n"));
        }
    }

    #[test]
    fn paths_lose_their_dots() {
        let check = |path: &str, expected: &str| assert_eq!(tidy(Path::new(path)), Path::new(expected));
        check("/a/./b/../c", "/a/c");
        check("/a/b/../../..", "/..");
        check("../x", "../x");
    }
}
