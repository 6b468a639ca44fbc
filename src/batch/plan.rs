//! Plans: TOML to claims. The one user of `toml`.
//!
//! A plan is a list of `[[claim]]`; keys before the first one are defaults for all. Mistakes are
//! collected, each with its place, so that one look at a plan tells them all.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Claim;
use crate::base::{Code, Diagnostic, FileId, SourceMap, Span, bytes, nearest};
use crate::report::Verdict;

/// The claims of a plan; those without mistakes.
pub fn read_plan(sources: &SourceMap, file: FileId, diagnostics: &mut Vec<Diagnostic>) -> Vec<Claim> {
    let (document, errors) = DeTable::parse_recoverable(sources.text(file));
    let directory = Path::new(sources.name(file)).parent().unwrap_or(Path::new("")).to_owned();
    let mut reader = Reader { file, directory, diagnostics: Vec::new() };
    // A slip in the syntax makes the rest look wrong as well.
    let claims = if errors.is_empty() { reader.document(document.get_ref()) } else { Vec::new() };
    for error in &errors {
        let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
        reader.mistake("plan-syntax", message, error.span().unwrap_or_default());
    }
    reader.diagnostics.sort_by_key(|mistake| mistake.span.map(|span| span.start));
    diagnostics.append(&mut reader.diagnostics);
    claims
}

/// Words of keys, for hints.
const KEYS: &[&str] = &[
    "name",
    "group",
    "spec",
    "module",
    "init",
    "formula",
    "layers",
    "method",
    "fair-weak",
    "fair-strong",
    "memory",
    "threads",
    "time",
    "expect",
    "reference",
];

/// Keys that a claim has, if it does not have them by default; what to write.
const NEEDED: &[(&str, &str)] = &[
    ("name", "a claim is called by its name in the report: name = \"Qlock, 8 processes\""),
    ("spec", "the file with the specification, as seen from the plan: spec = \"qlock.rwl\""),
    ("formula", "a formula, or a constant that stands for one: formula = \"inWs1 |-> inCs1\""),
];

/// What has been read of a claim, or of the defaults.
#[derive(Clone, Default)]
struct Keys {
    name: Option<(String, Span)>,
    group: Option<String>,
    spec: Option<PathBuf>,
    module: Option<String>,
    init: Option<String>,
    formula: Option<String>,
    layers: Option<String>,
    method: Option<(String, Range<usize>)>,
    fair_weak: Vec<String>,
    fair_strong: Vec<String>,
    memory: Option<usize>,
    threads: Option<usize>,
    time: Option<Duration>,
    expect: Option<Verdict>,
    reference: Vec<(String, String)>,
    /// Keys that others are probably slips of.
    meant: Vec<&'static str>,
    /// Was something wrong that has been told?
    is_spoilt: bool,
}

struct Reader {
    file: FileId,
    /// Where the plan is.
    directory: PathBuf,
    diagnostics: Vec<Diagnostic>,
}

type Value<'i> = Spanned<DeValue<'i>>;

impl Reader {
    fn span(&self, range: Range<usize>) -> Span {
        Span { file: self.file, start: range.start as u32, end: range.end as u32 }
    }

    fn mistake(&mut self, code: Code, message: impl Into<String>, place: Range<usize>) -> &mut Diagnostic {
        let span = self.span(place);
        self.diagnostics.push(Diagnostic::error(code, message, span));
        self.diagnostics.last_mut().expect("it was just put there")
    }

    fn document(&mut self, document: &DeTable) -> Vec<Claim> {
        let (mut defaults, mut tables) = (Keys::default(), None);
        for (key, value) in entries(document) {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("claim", DeValue::Array(items)) => tables = Some(items.iter().collect()),
                ("claim", _) => {
                    self.wrong(value, "claim", "a list: each claim begins with [[claim]]");
                    tables = Some(Vec::new());
                }
                ("name", _) => {
                    self.mistake("unknown-key", "`name` is no default: each claim has its own", key.span());
                }
                _ => self.key(key, value, &mut defaults),
            }
        }
        let Some(tables) = tables else {
            let mistake = self.mistake("no-claims", "the plan has no claims", 0..0);
            mistake.hint = Some("each claim begins with a line [[claim]]".to_owned());
            return Vec::new();
        };
        tables.into_iter().filter_map(|table| self.claim(table, defaults.clone())).collect()
    }

    fn claim(&mut self, table: &Value, mut keys: Keys) -> Option<Claim> {
        let DeValue::Table(content) = table.get_ref() else {
            self.wrong(table, "claim", "a list of tables: each claim begins with [[claim]]");
            return None;
        };
        for (key, value) in entries(content) {
            self.key(key, value, &mut keys);
        }
        for (key, hint) in NEEDED {
            let is_missing = match *key {
                "name" => keys.name.is_none(),
                "spec" => keys.spec.is_none(),
                _ => keys.formula.is_none(),
            };
            keys.is_spoilt |= is_missing;
            let is_told = keys.meant.contains(key) || content.keys().any(|written| written.get_ref() == key);
            if is_missing && !is_told {
                let message = format!("this claim has no `{key}`");
                self.mistake("missing-key", message, table.span()).hint = Some((*hint).to_owned());
            }
        }
        if let Some((method, place)) = keys.method.clone().filter(|(method, _)| method == "revise")
            && keys.layers.as_deref().is_none_or(|layers| layers == "auto" || layers == "none")
        {
            keys.is_spoilt = true;
            let message = format!("the method {method} needs depths of layers");
            self.mistake("method-without-layers", message, place).hint =
                Some("give depths such as layers = [2, 2]".to_owned());
        }
        if keys.is_spoilt {
            return None;
        }
        let (name, span) = keys.name?;
        Some(Claim {
            name,
            span,
            group: keys.group,
            spec: keys.spec?,
            module: keys.module,
            init: keys.init.unwrap_or_else(|| "init".to_owned()),
            formula: keys.formula?,
            layers: keys.layers,
            method: keys.method.map(|(text, _)| text),
            fair_weak: keys.fair_weak,
            fair_strong: keys.fair_strong,
            memory: keys.memory,
            threads: keys.threads,
            time: keys.time,
            expect: keys.expect,
            reference: keys.reference,
        })
    }

    /// Reads one key into its place.
    fn key(&mut self, key: &Spanned<Cow<str>>, value: &Value, keys: &mut Keys) {
        let span = self.span(value.span());
        let word = key.get_ref().as_ref();
        let is_read = match word {
            "name" => self.text(word, value).map(|text| keys.name = Some((text, span))),
            "group" => self.text(word, value).map(|text| keys.group = Some(text)),
            "spec" => self.spec(value).map(|path| keys.spec = Some(path)),
            "module" => self.text(word, value).map(|text| keys.module = Some(text)),
            "init" => self.text(word, value).map(|text| keys.init = Some(text)),
            "formula" => self.text(word, value).map(|text| keys.formula = Some(text)),
            "layers" => self.layers(value).map(|text| keys.layers = Some(text)),
            "method" => self
                .one_of(word, value, &["native", "revise"])
                .map(|text| keys.method = Some((text.to_owned(), value.span()))),
            "fair-weak" => self.labels(word, value).map(|labels| keys.fair_weak = labels),
            "fair-strong" => self.labels(word, value).map(|labels| keys.fair_strong = labels),
            "memory" => self.memory(value).map(|bytes| keys.memory = Some(bytes)),
            "threads" => self.threads(value).map(|threads| keys.threads = Some(threads)),
            "time" => self.time(value).map(|time| keys.time = Some(time)),
            "expect" => self.expect(value).map(|verdict| keys.expect = Some(verdict)),
            "reference" => self.reference(value).map(|columns| keys.reference = columns),
            _ => {
                let near = nearest(word, KEYS.iter().copied());
                keys.meant.extend(near);
                let mistake = self.mistake("unknown-key", format!("a claim has no key `{word}`"), key.span());
                mistake.hint = Some(match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are {}", KEYS.join(", ")),
                });
                None
            }
        };
        keys.is_spoilt |= is_read.is_none();
    }

    /// Says what was expected instead of the value.
    fn wrong(&mut self, value: &Value, key: &str, expected: &str) {
        self.mistake("wrong-value", format!("`{key}` should be {expected}"), value.span());
    }

    fn text(&mut self, key: &str, value: &Value) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) if text.trim().is_empty() => {
                self.mistake("wrong-value", format!("`{key}` is empty"), value.span());
                None
            }
            DeValue::String(text) => Some(text.to_string()),
            _ => {
                self.wrong(value, key, "a text in quotes");
                None
            }
        }
    }

    fn one_of<'w>(&mut self, key: &str, value: &Value, words: &[&'w str]) -> Option<&'w str> {
        let text = self.text(key, value)?;
        let found = words.iter().find(|word| **word == text);
        if found.is_none() {
            let message = format!("`{key}` should be {}", alternatives(words));
            let near = nearest(&text, words.iter().copied());
            self.mistake("wrong-value", message, value.span()).hint =
                near.map(|near| format!("did you mean \"{near}\"?"));
        }
        found.copied()
    }

    fn expect(&mut self, value: &Value) -> Option<Verdict> {
        let verdicts = [Verdict::Holds, Verdict::Violated, Verdict::Unknown];
        let word = self.one_of("expect", value, &verdicts.map(Verdict::text))?;
        verdicts.into_iter().find(|verdict| verdict.text() == word)
    }

    /// A file beside the plan.
    fn spec(&mut self, value: &Value) -> Option<PathBuf> {
        let text = self.text("spec", value)?;
        let path = self.directory.join(&text);
        if path.is_file() {
            return Some(path);
        }
        let (folder, name) = (path.parent()?, path.file_name()?.to_string_lossy().into_owned());
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> = names.map(|entry| entry.file_name().to_string_lossy().into()).collect();
        names.sort_unstable();
        let near = nearest(&name, names.iter().map(String::as_str)).map(|near| path.with_file_name(near));
        let mistake = self.mistake("no-file", format!("there is no file {}", path.display()), value.span());
        mistake.hint = near.map(|near| format!("there is {}", near.display()));
        None
    }

    /// As `--layers` takes them.
    fn layers(&mut self, value: &Value) -> Option<String> {
        const EXPECTED: &str = "depths from 1 on such as [2, 2], or \"auto\", or \"none\"";
        match value.get_ref() {
            DeValue::String(text) if text == "auto" || text == "none" => Some(text.to_string()),
            DeValue::Array(items) if !items.is_empty() => {
                let mut depths = Vec::new();
                for item in items.iter() {
                    match natural(item).filter(|&depth| u32::try_from(depth).is_ok() && depth > 0) {
                        Some(depth) => depths.push(depth.to_string()),
                        None => {
                            self.wrong(item, "layers", EXPECTED);
                            return None;
                        }
                    }
                }
                Some(depths.join(" "))
            }
            _ => {
                self.wrong(value, "layers", EXPECTED);
                None
            }
        }
    }

    fn labels(&mut self, key: &str, value: &Value) -> Option<Vec<String>> {
        let DeValue::Array(items) = value.get_ref() else {
            self.wrong(value, key, "labels of rules such as [\"start\", \"exit\"]");
            return None;
        };
        items.iter().map(|item| self.text(key, item)).collect()
    }

    fn memory(&mut self, value: &Value) -> Option<usize> {
        let size = match value.get_ref() {
            DeValue::String(text) => bytes(text),
            _ => natural(value).and_then(|bytes| usize::try_from(bytes).ok()).filter(|&bytes| bytes > 0),
        };
        if size.is_none() {
            self.wrong(value, "memory", "a size such as \"2G\" or \"500M\"");
        }
        size
    }

    fn threads(&mut self, value: &Value) -> Option<usize> {
        let count = natural(value).filter(|&count| count > 0).and_then(|count| count.try_into().ok());
        if count.is_none() {
            self.wrong(value, "threads", "a number from 1 on");
        }
        count
    }

    fn time(&mut self, value: &Value) -> Option<Duration> {
        let seconds = match value.get_ref() {
            DeValue::Float(float) => float.as_str().parse().ok(),
            _ => natural(value).map(|seconds| seconds as f64),
        };
        let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        if time.is_none() {
            self.wrong(value, "time", "a number of seconds such as 60 or 0.5");
        }
        time
    }

    /// Columns in the order of the text.
    fn reference(&mut self, value: &Value) -> Option<Vec<(String, String)>> {
        const EXPECTED: &str = "columns with texts or numbers such as { Maude = \"25s\" }";
        let DeValue::Table(table) = value.get_ref() else {
            self.wrong(value, "reference", EXPECTED);
            return None;
        };
        let mut columns = Vec::new();
        for (key, value) in entries(table) {
            let text = match value.get_ref() {
                DeValue::String(text) => text.to_string(),
                DeValue::Integer(number) => number.to_string(),
                DeValue::Float(number) => number.to_string(),
                _ => {
                    self.wrong(value, "reference", EXPECTED);
                    return None;
                }
            };
            columns.push((key.get_ref().to_string(), text));
        }
        Some(columns)
    }
}

/// The entries in the order of the text.
fn entries<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t Spanned<Cow<'i, str>>, &'t Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

fn natural(value: &Value) -> Option<u64> {
    match value.get_ref() {
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
        _ => None,
    }
}

/// `"a", "b" or "c"`
fn alternatives(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match &quoted[..] {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => quoted.concat(),
    }
}
