//! A specification with all the files it loads, so that it means the same on another machine.
//!
//! While a plan is made, a host notes the files that are read. Where a job runs, a host gives these
//! files and no others. Which file a `load` finds is then the same: those that were tried before it
//! did not exist then, so they do not exist now.

use std::io;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde_json::{Value, json};

use crate::base::{Diagnostic, SourceMap};
use crate::interp::{Host, LineSink};
use crate::report::{Answer, CheckReport, Time};

/// What is loaded, and what its meaning depends on besides.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Spec {
    /// The file that was named, as it was.
    pub file: String,
    /// Where relative names start.
    pub directory: PathBuf,
    /// Directories of libraries.
    pub library: Vec<PathBuf>,
    pub random_seed: u32,
    pub no_prelude: bool,
    /// All files that are read, with their texts.
    pub files: IndexMap<PathBuf, String>,
}

impl Spec {
    pub fn json(&self) -> Value {
        let files = self.files.iter().map(|(path, text)| (portable(path), Value::from(text.as_str())));
        json!({
            "file": self.file, "directory": portable(&self.directory),
            "library": self.library.iter().map(|path| portable(path)).collect::<Vec<String>>(),
            "random_seed": self.random_seed, "no_prelude": self.no_prelude,
            "files": files.collect::<serde_json::Map<String, Value>>(),
        })
    }

    pub fn from_json(value: &Value) -> Option<Spec> {
        let path = |value: &Value| value.as_str().map(local);
        let file = |(path, text): (&String, &Value)| Some((local(path), text.as_str()?.to_owned()));
        Some(Spec {
            file: value["file"].as_str()?.to_owned(),
            directory: path(&value["directory"])?,
            library: value["library"].as_array()?.iter().map(path).collect::<Option<_>>()?,
            random_seed: value["random_seed"].as_u64()?.try_into().ok()?,
            no_prelude: value["no_prelude"].as_bool()?,
            files: value["files"].as_object()?.iter().map(file).collect::<Option<_>>()?,
        })
    }
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute() && home.parent().is_some())
}

/// A path in which `~` stands for the home directory, which may be another one elsewhere.
fn portable(path: &Path) -> String {
    let below = home().and_then(|home| path.strip_prefix(home).ok().map(|rest| Path::new("~").join(rest)));
    below.as_deref().unwrap_or(path).to_string_lossy().into_owned()
}

fn local(text: &str) -> PathBuf {
    match (text.strip_prefix('~'), home()) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(text),
    }
}

/// Where files come from.
pub enum Source {
    /// The system; what is read is noted.
    Noted(IndexMap<PathBuf, String>),
    /// These and no others.
    Only(IndexMap<PathBuf, String>),
}

/// A host whose files come from a source; all else is another host's business.
pub struct Files<'h> {
    pub host: &'h mut dyn Host,
    pub source: Source,
    /// Are reports on formulas kept here, the last one, instead of being passed on?
    pub listens: bool,
    pub heard: Option<CheckReport>,
}

impl Files<'_> {
    /// The files of the source.
    pub fn files(&self) -> &IndexMap<PathBuf, String> {
        let (Source::Noted(files) | Source::Only(files)) = &self.source;
        files
    }
}

impl Host for Files<'_> {
    fn answer(&mut self, answer: &Answer) {
        match answer {
            Answer::Check(report) if self.listens => self.heard = Some((**report).clone()),
            answer => self.host.answer(answer),
        }
    }

    fn diagnostic(&mut self, diagnostic: &Diagnostic, sources: &SourceMap) {
        self.host.diagnostic(diagnostic, sources);
    }

    fn side_channel(&mut self) -> LineSink {
        self.host.side_channel()
    }

    fn progress_channel(&mut self) -> Option<LineSink> {
        self.host.progress_channel()
    }

    fn is_closed(&self) -> bool {
        self.host.is_closed()
    }

    fn time(&mut self) -> Time {
        self.host.time()
    }

    fn peak_memory(&mut self) -> u64 {
        self.host.peak_memory()
    }

    fn read(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        match &mut self.source {
            Source::Noted(files) => {
                let bytes = self.host.read(path)?;
                // What is no text is read as this by whoever loads it.
                files.insert(path.to_owned(), String::from_utf8_lossy(&bytes).into_owned());
                Ok(bytes)
            }
            Source::Only(files) => match files.get(path) {
                Some(text) => Ok(text.clone().into_bytes()),
                None => Err(io::ErrorKind::NotFound.into()),
            },
        }
    }

    fn is_file(&mut self, path: &Path) -> bool {
        match &self.source {
            Source::Noted(_) => self.host.is_file(path),
            Source::Only(files) => files.contains_key(path),
        }
    }

    fn is_directory(&mut self, path: &Path) -> bool {
        match &self.source {
            Source::Noted(_) => self.host.is_directory(path),
            Source::Only(files) => files.keys().any(|file| file != path && file.starts_with(path)),
        }
    }

    fn list(&mut self, directory: &Path, arguments: &str) -> io::Result<String> {
        self.host.list(directory, arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_survive_being_written() {
        let home = home().unwrap_or_else(|| PathBuf::from("/elsewhere"));
        let files =
            [(home.join("a/b.maude"), "fmod A is endfm\n".to_owned()), ("/x/y".into(), "é\"".to_owned())];
        let spec = Spec {
            file: "b".to_owned(),
            directory: home.join("a"),
            library: vec!["/lib".into()],
            random_seed: 7,
            no_prelude: true,
            files: files.into(),
        };
        let json: Value = serde_json::from_str(&spec.json().to_string()).unwrap();
        assert_eq!(Spec::from_json(&json), Some(spec));
        assert_eq!(Spec::from_json(&json["files"]), None);
    }
}
