//! Standard streams as the interpreter's host.
//!
//! Answers are written in whole, flushed before any message goes to standard error, so that the
//! two streams come in order where they end up in one place. A reader that goes away (`| head`)
//! ends the program quietly.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::base::{Cancel, Diagnostic, Severity, SourceMap};
use crate::interp::{Host, LineSink};
use crate::report::{
    Answer, CheckReport, Time, Verdict, Wrapper, diagnostic_json, html_page, overall, render_diagnostic,
};

use super::ExitCode;
use super::args::{Format, When, usage_json};
use super::memory::{self, LastWords};

/// Where answers and messages go.
pub struct Output {
    shared: Arc<Mutex<Sink>>,
    format: Format,
    /// Are messages coloured, and answers?
    color: bool,
    paints: bool,
    progress: bool,
    started: Instant,
    /// Are long runs shown whole?
    pub shows_all: bool,
    /// What was said about formulas, for a page.
    checks: Vec<CheckReport>,
}

struct Sink {
    out: Box<dyn Write + Send>,
    wrapper: Option<Wrapper>,
    cancel: Cancel,
    /// The reader has gone, or nothing can be written any more.
    closed: bool,
    /// Why, if it is not the reader.
    failure: Option<io::Error>,
    /// The file that answers go to, and whether it has some.
    path: Option<PathBuf>,
    has_written: bool,
    /// `-print-to-stderr`
    side_to_stderr: bool,
    /// Is a line about progress on the screen?
    has_progress: bool,
}

/// A file that is begun anew only when there is something to write: what it had may be better than nothing.
struct Late {
    path: PathBuf,
    file: Option<File>,
}

impl Late {
    fn new(path: &Path) -> io::Result<Late> {
        let file = if path.is_file() {
            appendable(path)?;
            None
        } else {
            Some(File::create(path)?)
        };
        Ok(Late { path: path.to_owned(), file })
    }
}

impl Write for Late {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(File::create(&self.path)?),
        };
        file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), File::flush)
    }
}

/// Can the file be written? What it has stays as it is.
pub(super) fn appendable(path: &Path) -> io::Result<()> {
    let is_there = path.exists();
    std::fs::OpenOptions::new().append(true).create(true).open(path)?;
    if is_there { Ok(()) } else { std::fs::remove_file(path) }
}

pub(super) fn cannot_write(path: &Path, error: &io::Error) -> Diagnostic {
    let message = format!("cannot write {}: {error}", path.display());
    Diagnostic::new(Severity::Error, "output", message, None)
}

/// Tells of a file that an argument names and that cannot be written, before anything is done.
pub(super) fn unwritable(command: &str, format: Format, path: &Path, error: &io::Error) -> ExitCode {
    let message = cannot_write(path, error).message;
    // Nobody is left to tell if this fails.
    let _ = match format {
        Format::Text => writeln!(io::stderr(), "error: {message}"),
        Format::Json => writeln!(io::stdout(), "{}", usage_json(Some(command), &message, "")),
    };
    ExitCode::BadInput
}

/// How to write.
pub struct Style {
    pub format: Format,
    pub wrap: bool,
    pub color: When,
    pub side_to_stderr: bool,
    pub progress: When,
}

impl Output {
    pub fn new(file: Option<&Path>, style: &Style, cancel: Cancel) -> io::Result<Output> {
        let out: Box<dyn Write + Send> = match file {
            Some(path) => Box::new(BufWriter::new(Late::new(path)?)),
            None => Box::new(BufWriter::new(io::stdout())),
        };
        let color = match style.color {
            When::Always => true,
            When::Never => false,
            When::Auto => is_capable() && std::env::var_os("NO_COLOR").is_none(),
        };
        let paints = match style.color {
            When::Auto => color && file.is_none() && io::stdout().is_terminal(),
            _ => color,
        };
        let wrapper = (style.wrap && style.format == Format::Text).then(Wrapper::default);
        let sink = Sink {
            out,
            wrapper,
            cancel,
            closed: false,
            failure: None,
            path: file.map(Path::to_owned),
            has_written: false,
            side_to_stderr: style.side_to_stderr,
            has_progress: false,
        };
        let shared = Arc::new(Mutex::new(sink));
        let progress = match style.progress {
            When::Always => true,
            When::Never => false,
            When::Auto => is_capable() && style.format == Format::Text,
        };
        let mut output = Output {
            progress,
            shared,
            format: style.format,
            color,
            paints,
            started: Instant::now(),
            shows_all: false,
            checks: Vec::new(),
        };
        output.last_words(&[]);
        Ok(output)
    }

    fn sink(&self) -> MutexGuard<'_, Sink> {
        lock(&self.shared)
    }

    /// Writes text that is no answer (the banner, `Bye.`).
    pub fn text(&mut self, text: &str) {
        if self.format == Format::Text {
            self.sink().write(text);
        }
    }

    /// Writes text that is an answer already, and sends it on its way.
    pub fn put(&mut self, text: &str) {
        let mut sink = self.sink();
        sink.write(text);
        sink.flush();
    }

    /// Are messages coloured?
    pub fn colours_messages(&self) -> bool {
        self.color
    }

    /// Are answers coloured?
    pub fn colours_answers(&self) -> bool {
        self.paints
    }

    pub fn flush(&mut self) {
        self.sink().flush();
    }

    /// Why answers could not be written, unless the reader has gone.
    pub fn take_failure(&self) -> Option<io::Error> {
        self.sink().failure.take()
    }

    /// How many formulas hold, if several were checked.
    pub fn conclude(&mut self) {
        self.text(&conclusion(&self.checks));
    }

    fn rendered(&self, diagnostic: &Diagnostic, sources: &SourceMap) -> String {
        match self.format {
            Format::Text => render_diagnostic(diagnostic, sources, self.color),
            Format::Json => format!("{}\n", diagnostic_json(diagnostic, sources)),
        }
    }

    /// An answer after these checks.
    fn said(&self, answer: &Answer, checks: &[CheckReport]) -> String {
        match (self.format, answer) {
            (Format::Text, Answer::Check(report)) => {
                let has_run = |report: &CheckReport| report.counterexample.is_some();
                // A run would stick to what comes after it.
                let last = checks.last();
                let gap = last.is_some_and(|last| has_run(last) || has_run(report));
                let text = report.text_after(checks, self.paints, self.shows_all);
                if gap { format!("\n{text}") } else { text }
            }
            (Format::Text, _) => answer.text(self.paints),
            (Format::Json, _) => answer.json().map_or_else(String::new, |json| format!("{json}\n")),
        }
    }

    /// A page with all checks so far.
    pub fn page(&self) -> String {
        html_page(&self.checks)
    }

    /// Writes to standard error, after everything that was answered before.
    pub fn message(&mut self, text: &str) {
        self.flush();
        self.sink().end_progress();
        // Nobody is left to tell if this fails.
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// How many formulas hold, if there are several.
fn conclusion(checks: &[CheckReport]) -> String {
    if checks.len() > 1 { format!("\n{}\n", overall(checks)) } else { String::new() }
}

/// Is standard error a terminal that understands control sequences?
pub(super) fn is_capable() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

fn lock(sink: &Mutex<Sink>) -> MutexGuard<'_, Sink> {
    sink.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Sink {
    /// Replaces the line about progress.
    fn progress(&mut self, line: &str) {
        self.has_progress = true;
        // A line that goes to the edge would break, and the next one scroll.
        let room = columns().map_or(usize::MAX, |columns| columns.saturating_sub(1));
        let line: String = line.chars().take(room).collect();
        let _ = io::stderr().write_all(format!("\r{line}\x1b[K").as_bytes());
    }

    /// Takes it away.
    fn end_progress(&mut self) {
        if std::mem::take(&mut self.has_progress) {
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    }

    fn write(&mut self, text: &str) {
        match &mut self.wrapper {
            Some(wrapper) => {
                let wrapped = wrapper.wrap(text);
                self.write_as_it_is(&wrapped);
            }
            None => self.write_as_it_is(text),
        }
    }

    fn write_as_it_is(&mut self, text: &str) {
        self.end_progress();
        self.has_written |= !text.is_empty();
        let result = self.out.write_all(text.as_bytes());
        self.note(result);
    }

    fn flush(&mut self) {
        let result = self.out.flush();
        self.note(result);
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result
            && !self.closed
        {
            self.closed = true;
            self.cancel.raise();
            if error.kind() != io::ErrorKind::BrokenPipe {
                self.failure = Some(error);
            }
        }
    }
}

impl Host for Output {
    fn answer(&mut self, answer: &Answer) {
        let text = self.said(answer, &self.checks);
        if let Answer::Check(report) = answer {
            self.checks.push((**report).clone());
        }
        let mut sink = self.sink();
        match answer {
            // It breaks its lines itself.
            Answer::Check(_) => sink.write_as_it_is(&text),
            _ => sink.write(&text),
        }
        // What comes next may take long.
        sink.flush();
    }

    fn diagnostic(&mut self, diagnostic: &Diagnostic, sources: &SourceMap) {
        let text = self.rendered(diagnostic, sources);
        self.message(&text);
    }

    fn side_channel(&mut self) -> LineSink {
        let shared = self.shared.clone();
        Box::new(move |text| {
            let mut sink = lock(&shared);
            if sink.side_to_stderr {
                let _ = io::stderr().write_all(text.as_bytes());
            } else {
                sink.write(text);
            }
        })
    }

    fn progress_channel(&mut self) -> Option<LineSink> {
        if !self.progress {
            return None;
        }
        let shared = self.shared.clone();
        let peak = || peak_memory() >> 20;
        Some(Box::new(move |line| {
            lock(&shared).progress(&format!("{line}, {} MB", peak()));
        }))
    }

    fn is_closed(&self) -> bool {
        self.sink().closed
    }

    fn time(&mut self) -> Time {
        Time { cpu: cpu_time(), real: self.started.elapsed() }
    }

    fn peak_memory(&mut self) -> u64 {
        peak_memory()
    }

    fn give_back_memory(&mut self) {
        memory::give_back();
    }

    fn last_words(&mut self, answers: &[Answer]) {
        let (mut words, mut checks) = (String::new(), self.checks.clone());
        for answer in answers {
            words.push_str(&self.said(answer, &checks));
            if let Answer::Check(report) = answer {
                checks.push((**report).clone());
            }
        }
        if self.format == Format::Text && !answers.is_empty() {
            words.push_str(&conclusion(&checks));
        }
        let message = "the system has no more memory for rwl; the command was stopped";
        let error = Diagnostic::new(Severity::Error, "out-of-memory", message, None);
        let message = self.rendered(&error, &SourceMap::default());
        let is_violated = checks.iter().any(|check| check.verdict == Verdict::Violated);
        let code = if is_violated { ExitCode::Violated } else { ExitCode::Unknown } as u8;
        let sink = self.sink();
        let path = sink.path.as_ref().and_then(|path| CString::new(path.as_os_str().as_bytes()).ok());
        let file = path.map(|path| (path, !sink.has_written));
        memory::set_last_words(LastWords { answers: words, file, message, code });
    }

    fn read(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn is_file(&mut self, path: &Path) -> bool {
        // Pipes and devices can be read as well.
        path.exists() && !path.is_dir()
    }

    fn is_directory(&mut self, path: &Path) -> bool {
        path.is_dir()
    }

    fn list(&mut self, directory: &Path, arguments: &str) -> io::Result<String> {
        let arguments = arguments.split_whitespace();
        let output = std::process::Command::new("ls").args(arguments).current_dir(directory).output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}

/// How wide the terminal is, if standard error is one.
fn columns() -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the call only writes to the struct it is given.
    let result = unsafe { libc::ioctl(libc::STDERR_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    (result == 0 && size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Processor time of the process.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call only writes to the struct it is given.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    if result == 0 { Duration::new(time.tv_sec as u64, time.tv_nsec as u32) } else { Duration::ZERO }
}

/// The most bytes of memory that the process has had at once.
fn peak_memory() -> u64 {
    // What `getrusage` says is at least what whoever started the process had at that time.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    match line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()) {
        Some(units) => units * 1024,
        None => peak_usage(),
    }
}

/// The same where there is no such file.
fn peak_usage() -> u64 {
    // SAFETY: zero is a value of every field, and the call only writes to the struct it is given.
    let (result, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::getrusage(libc::RUSAGE_SELF, &raw mut usage), usage)
    };
    // Linux counts in units of 1024 bytes.
    if result == 0 { usage.ru_maxrss as u64 * 1024 } else { 0 }
}
