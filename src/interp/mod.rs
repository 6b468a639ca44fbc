//! Commands to reports: the module database, the options, and what each command does.
//!
//! The interpreter reads, prints and exits nowhere. Whoever runs it gives a [`Host`], which
//! fetches files and takes answers and messages as they come.

mod argument;
mod command;
mod compiled;
mod completion;
mod condition;
mod load;
mod matching;
mod options;
mod pace;
mod profile;
mod rewriting;
mod search;
mod set;
mod show;
mod temporal;
mod trace;
mod whole;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rustc_hash::FxHashMap;

use crate::base::{Cancel, Diagnostic, Exceeded, FileId, Interrupt, Name, Severity, SourceMap, Span};
use crate::check::Counterexample;
use crate::module::Modules;
use crate::report::{self, Answer, Time};
use crate::syntax::tree::{Command, CommandKind, Item};
use crate::syntax::{Parser, Progress, TokenOrder, next_item};

pub use argument::STANDARD_INPUT;
use compiled::Compiled;
pub use completion::{COMMAND_WORDS, Words};
pub use options::{Options, SET_WORDS};
use profile::Profile;
pub use search::SearchRequest;
pub use temporal::{
    AutomatonFormat, CheckRequest, Elsewhere, LayersRequest, Method, Open, Planned, Searched,
};
use temporal::{Note, SOLVER_HELP, SOLVER_WORDS, Session, Temporal};

/// Takes text while a command runs.
pub type LineSink = Box<dyn FnMut(&str) + Send>;

/// What the interpreter needs from outside.
pub trait Host {
    /// Takes one piece of an answer.
    fn answer(&mut self, answer: &Answer);
    /// Takes a message.
    fn diagnostic(&mut self, diagnostic: &Diagnostic, sources: &SourceMap);
    /// A way to say something while a command runs, from inside the engine.
    fn side_channel(&mut self) -> LineSink;
    /// A way to show how far a long command is, if someone wants to see that: each line replaces
    /// the one before.
    fn progress_channel(&mut self) -> Option<LineSink>;
    /// Is there nobody left to take answers?
    fn is_closed(&self) -> bool;
    /// The time used so far.
    fn time(&mut self) -> Time;
    /// The most bytes of memory that the process has had at once.
    fn peak_memory(&mut self) -> u64;
    /// Gives memory that is free back to the system.
    fn give_back_memory(&mut self) {}
    /// What is to be answered should the system have no more memory from here on, when nothing can be prepared.
    fn last_words(&mut self, _answers: &[Answer]) {}
    /// The contents of a file.
    fn read(&mut self, path: &Path) -> io::Result<Vec<u8>>;
    fn is_file(&mut self, path: &Path) -> bool;
    fn is_directory(&mut self, path: &Path) -> bool;
    /// A listing of a directory, with arguments as for the command `ls`.
    fn list(&mut self, directory: &Path, arguments: &str) -> io::Result<String>;
}

/// What is said of a `=>` condition that was being tried when the work stopped.
fn lengthy(met: usize) -> String {
    let met = report::counted(met as u64, "term");
    format!("has met {met} by `=>` in one state and was not at its end; it may have none")
}

/// What follows from an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Go on with the next one.
    Next,
    /// This text is over (`eof`).
    End,
    /// The session is over (`quit`).
    Quit,
}

/// What went wrong so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Status {
    pub errors: u64,
    pub warnings: u64,
    /// A formula is violated.
    pub violated: bool,
    /// A command was interrupted or reached a limit.
    pub stopped: bool,
    /// Likewise, but what follows it need not suffer.
    pub gave_up: bool,
    /// That the rest of a text is not executed has been told.
    pub skipped: bool,
    /// The last text ended in the middle of an item.
    pub unfinished: bool,
    /// We have a bug: something panicked.
    pub internal: bool,
}

/// A text to execute.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// As messages show it.
    pub name: &'a str,
    pub text: &'a str,
    /// The number of its first line.
    pub first_line: usize,
    /// Was it typed at the prompt? Then answers are not separated by lines.
    pub prompt: bool,
}

/// How a session is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    pub cancel: Cancel,
    /// Where relative file names start.
    pub directory: PathBuf,
    /// Directories that `load` looks into after that.
    pub library: Vec<PathBuf>,
    pub random_seed: u32,
    /// Threads that a search may use.
    pub threads: usize,
    /// Heap bytes that a command may use.
    pub memory_max: Option<usize>,
    /// Which runs show violations of formulas.
    pub counterexample: Counterexample,
    /// Raised together with `cancel` when the time is up, which is then.
    pub time_is_up: Cancel,
    pub deadline: Option<Instant>,
    /// Raised together with `cancel` when the process has too much memory; cleared when a command
    /// begins.
    pub memory_is_up: Cancel,
    /// Does the session go on after an interrupt?
    pub resumes: bool,
}

/// A session.
pub struct Interpreter {
    modules: Modules,
    sources: SourceMap,
    order: TokenOrder,
    pub options: Options,
    /// `-always-advise`.
    pub advise_always: bool,
    pub status: Status,
    setup: Setup,
    current: Option<Name>,
    compiled: FxHashMap<Name, Compiled>,
    /// How often statements were used, by module.
    profiles: FxHashMap<Name, Arc<Mutex<Profile>>>,
    /// The directories that relative names start from; the last one counts.
    directories: Vec<PathBuf>,
    /// Those saved by `pushd`.
    pushed: Vec<PathBuf>,
    /// Contents of the files loaded so far, for `sload`.
    loaded: FxHashMap<PathBuf, u64>,
    loading: Vec<PathBuf>,
    /// How many messages there were about the file being loaded.
    messages: usize,
    /// Do commands come from the prompt?
    prompt: bool,
    /// Are modules checked as soon as they are entered?
    check: bool,
    /// Computes `modelCheck` and its like.
    temporal: Arc<Temporal>,
    /// What `continue` and `show path` refer to.
    last: Last,
    /// What is being checked in layers.
    solver: Option<Box<Session>>,
    /// Are commands that compute or show something passed over?
    pub declares_only: bool,
    /// `-q`: reports are short.
    pub is_quiet: bool,
    /// `-v`: more is said about searches.
    pub is_verbose: bool,
}

/// So many messages about one file are shown: nobody reads more, and a file that is no program may
/// give thousands.
const MESSAGES_MAX: usize = 200;

/// The last command that can be continued or looked into.
#[derive(Default)]
enum Last {
    #[default]
    Nothing,
    Rewriting(Box<rewriting::Rewriting>),
    Searching(Box<search::Searching>),
    Solving(Box<matching::Solving>),
    /// It was stopped where it cannot go on.
    Broken,
}

impl Interpreter {
    pub fn new(setup: Setup) -> Interpreter {
        let directories = vec![setup.directory.clone()];
        let temporal = Temporal::new(&setup);
        Interpreter {
            modules: Modules::new(),
            sources: SourceMap::default(),
            order: TokenOrder::default(),
            options: Options::default(),
            advise_always: false,
            status: Status::default(),
            setup,
            current: None,
            compiled: FxHashMap::default(),
            profiles: FxHashMap::default(),
            directories,
            pushed: Vec::new(),
            loaded: FxHashMap::default(),
            loading: Vec::new(),
            messages: 0,
            prompt: false,
            check: true,
            temporal: Arc::new(temporal),
            last: Last::Nothing,
            solver: None,
            declares_only: false,
            is_quiet: false,
            is_verbose: false,
        }
    }

    /// Threads that a command may use.
    pub fn threads(&self) -> usize {
        self.setup.threads
    }

    /// The texts read so far, for rendering messages.
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// Reads and executes a text.
    pub fn run_text(&mut self, host: &mut dyn Host, text: Text) -> Flow {
        let was = std::mem::replace(&mut self.prompt, text.prompt);
        let file = self.sources.add_from(text.name, text.text, text.first_line);
        let flow = self.run_source(host, file);
        self.prompt = was;
        flow
    }

    fn run_source(&mut self, host: &mut dyn Host, file: FileId) -> Flow {
        let text = self.sources.text(file).clone();
        let mut parser = Parser::new(&text, file);
        let mut start = 0;
        self.status.unfinished = false;
        while let Some(parsed) = parser.next_item(&mut self.order) {
            let spoiled = parsed.diagnostics.iter().any(|d| d.severity != Severity::Advisory);
            self.say_all(host, parsed.diagnostics);
            if parser.offset() == text.len() || spoiled && text[parser.offset()..].trim().is_empty() {
                self.status.unfinished = spoiled && next_item(&text[start..]) == Progress::Incomplete;
                if self.status.unfinished {
                    break;
                }
            }
            start = parser.offset();
            if host.is_closed() {
                return Flow::Quit;
            }
            if let Some(item) = parsed.item {
                match self.guarded(host, item) {
                    Flow::Next => {}
                    Flow::End => break,
                    Flow::Quit => {
                        if self.status.stopped {
                            self.say_skipped(host, file, start);
                        }
                        return Flow::Quit;
                    }
                }
            }
        }
        Flow::Next
    }

    /// Tells that a text is not executed, unless it says nothing.
    pub fn skip_text(&mut self, host: &mut dyn Host, text: Text) {
        let file = self.sources.add_from(text.name, text.text, text.first_line);
        self.say_skipped(host, file, 0);
    }

    /// Tells that a text is not read any further.
    fn say_skipped(&mut self, host: &mut dyn Host, file: FileId, start: usize) {
        let text = self.sources.text(file).clone();
        let rest = text[start..].trim_start();
        if next_item(rest) == Progress::Blank {
            return;
        }
        let place = text.len() - rest.len();
        let line = rest.lines().next().unwrap_or_default().trim_end();
        let span = Span { file, start: place as u32, end: (place + line.len()) as u32 };
        self.status.skipped = true;
        let message = "a command was stopped, so what follows it is not executed";
        self.say(host, &Diagnostic::warning("rest-skipped", message, span).label("skipped from here on"));
    }

    /// Executes one item; a panic, or what cannot be represented, costs only this item.
    fn guarded(&mut self, host: &mut dyn Host, item: Item) -> Flow {
        let place = if let Item::Command(command) = &item { Some(command.span) } else { None };
        let run = AssertUnwindSafe(|| self.execute(host, item));
        match catch_unwind(run) {
            Ok(Flow::Next) if self.status.stopped && !self.setup.resumes => Flow::Quit,
            Ok(flow) => flow,
            Err(payload) => {
                self.last = Last::Nothing;
                self.compiled.clear();
                match payload.downcast_ref() {
                    Some(&Exceeded(what)) => self.say_too_large(host, place, what),
                    None => self.status.internal = true,
                }
                Flow::Next
            }
        }
    }

    /// Does what is asked for by arguments; what cannot be represented ends it, and is told.
    fn unless_too_large(
        &mut self,
        host: &mut dyn Host,
        work: impl FnOnce(&mut Self, &mut dyn Host) -> Option<()>,
    ) -> Option<()> {
        let done = temporal::unless_exceeded(|| work(self, host));
        done.unwrap_or_else(|what| {
            self.say_too_large(host, None, what);
            None
        })
    }

    fn say_too_large(&mut self, host: &mut dyn Host, place: Option<Span>, what: &'static str) {
        self.status.gave_up = true;
        let stopped = Diagnostic::new(Severity::Warning, "too-large", what, place);
        self.say(host, &stopped.label("stopped"));
    }

    /// Executes one item.
    fn execute(&mut self, host: &mut dyn Host, item: Item) -> Flow {
        match item {
            Item::Module(decl) => {
                self.forget_last();
                let span = decl.name.span;
                let name = self.modules.insert(decl, &mut self.order);
                self.current = Some(name);
                if self.check {
                    let _ = self.modules.resolve_name(name, span);
                }
                self.say_modules(host);
                Flow::Next
            }
            Item::View(decl) => {
                let span = decl.name.span;
                let name = self.modules.insert_view(decl, &mut self.order);
                if self.check {
                    let _ = self.modules.check_view(name, span);
                }
                self.say_modules(host);
                Flow::Next
            }
            Item::Command(command) => {
                let span = command.span;
                let flow = self.command(host, command);
                self.say_notes(host, span);
                flow
            }
        }
    }

    /// Tells what model checking inside a command had to say.
    fn say_notes(&mut self, host: &mut dyn Host, span: Span) {
        for note in self.temporal.take_notes() {
            let (code, message) = match note {
                Note::Stuck(why) => {
                    self.status.gave_up = true;
                    ("unchecked-formula", why)
                }
                Note::Internal(what) => {
                    self.status.internal = true;
                    ("internal-error", what)
                }
            };
            self.say(host, &Diagnostic::warning(code, message, span));
        }
    }

    /// Takes what the module database has to say. Are there errors among it?
    fn say_modules(&mut self, host: &mut dyn Host) {
        let diagnostics = self.modules.take_diagnostics();
        self.say_all(host, diagnostics);
    }

    fn say_all(&mut self, host: &mut dyn Host, diagnostics: Vec<Diagnostic>) {
        for diagnostic in diagnostics {
            self.say(host, &diagnostic);
        }
    }

    fn say(&mut self, host: &mut dyn Host, diagnostic: &Diagnostic) {
        match diagnostic.severity {
            Severity::Error => self.status.errors += 1,
            Severity::Warning => self.status.warnings += 1,
            Severity::Advisory if !(self.options.show.advisories || self.advise_always) => return,
            Severity::Advisory => {}
        }
        self.messages += 1;
        if self.loading.is_empty() || self.messages <= MESSAGES_MAX {
            host.diagnostic(diagnostic, &self.sources);
        }
    }

    fn error(&mut self, host: &mut dyn Host, code: &'static str, message: impl Into<String>, span: Span) {
        self.say(host, &Diagnostic::error(code, message, span));
    }

    /// Why a command was cancelled, if a limit did it.
    fn reason(&self, interrupt: Interrupt) -> Interrupt {
        match interrupt {
            Interrupt::Cancelled if self.setup.memory_is_up.is_raised() => Interrupt::Memory,
            Interrupt::Cancelled if self.setup.time_is_up.is_raised() => Interrupt::Time,
            other => other,
        }
    }

    /// Forgets what took too much memory before a command that needs some. (What was found can be
    /// shown until then.)
    fn make_room(&mut self, kind: &CommandKind) {
        if self.setup.memory_is_up.is_raised() && !matches!(kind, CommandKind::Show(_)) {
            self.last = Last::Nothing;
            self.compiled.clear();
            if let Some(session) = &mut self.solver {
                session.restart();
            }
            self.setup.memory_is_up.clear();
            self.setup.cancel.clear();
        }
    }

    /// Tells that a command was stopped.
    fn stopped(&mut self, host: &mut dyn Host, command: &Command, interrupt: Interrupt) {
        self.stopped_at(host, Some(command.span), interrupt);
    }

    /// The same, for what no command asked for.
    fn stopped_at(&mut self, host: &mut dyn Host, place: Option<Span>, interrupt: Interrupt) {
        self.say_stopped(host, place, interrupt, false);
    }

    /// The same; an answer may follow that says how far it came. Returns why it was.
    fn say_stopped(
        &mut self,
        host: &mut dyn Host,
        place: Option<Span>,
        interrupt: Interrupt,
        is_followed: bool,
    ) -> &'static str {
        let interrupt = self.reason(interrupt);
        match interrupt {
            Interrupt::Depth => self.status.gave_up = true,
            _ => self.status.stopped = true,
        }
        self.setup.cancel.clear();
        let (word, message) = match interrupt {
            Interrupt::Cancelled => {
                host.answer(&Answer::Interrupted { is_followed });
                return interrupt.text();
            }
            Interrupt::Depth => ("nested-too-deeply", "`=>` conditions are nested too deeply"),
            Interrupt::Memory => ("memory-limit", "the command used up the memory it may use"),
            Interrupt::Time => ("time-limit", "the command used up the time it may use"),
        };
        let mut warning = Diagnostic::new(Severity::Warning, word, message, place).label("stopped");
        if let (Interrupt::Depth, Some(rule)) = (interrupt, self.setup.cancel.blamed()) {
            warning = warning.note(Some(rule), "the condition of this rule needs itself again and again");
        }
        if interrupt != Interrupt::Depth
            && let Some((rule, met)) = self.setup.cancel.lengthy()
        {
            warning = warning.note(Some(rule), format!("the condition of this rule {}", lengthy(met)));
            self.setup.cancel.note_lengthy(None);
        }
        self.say(host, &warning);
        interrupt.text()
    }
}
