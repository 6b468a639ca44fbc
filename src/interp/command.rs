//! What each command does.

use std::sync::Arc;

use super::compiled::{Compiled, Making};
use super::{Flow, Host, Interpreter, Last, SOLVER_HELP};
use crate::base::{Diagnostic, Name, Span};
use crate::mixfix::{Grammar, PrintOptions, print};
use crate::module::Module;
use crate::report::{Answer, Effort, Time, graph};
use crate::sorts::Tree;
use crate::syntax::tree::{Command, CommandKind, ModuleExpr, Token};
use crate::term::{Symbols, normalize_levels, sort_of_tree};

impl Interpreter {
    pub(super) fn command(&mut self, host: &mut dyn Host, command: Command) -> Flow {
        if self.declares_only && !declares(&command.kind) {
            return Flow::Next;
        }
        self.make_room(&command.kind);
        match &command.kind {
            CommandKind::Quit => return Flow::Quit,
            CommandKind::Eof => return Flow::End,
            CommandKind::Reduce { module, term } => self.reduce(host, &command, module.as_ref(), term),
            CommandKind::Parse { module, term } => self.parse(host, &command, module.as_ref(), term),
            CommandKind::Match { extension, limit, module, body } => {
                self.matching(host, &command, *extension, *limit, module.as_ref(), body);
            }
            // Library modules are made only when they are needed.
            CommandKind::Select(ModuleExpr::Name(token)) if !self.check => self.make_current(token.name),
            CommandKind::Select(module) => {
                self.select(host, Some(module), command.span);
            }
            CommandKind::Show(words) => self.show(host, &command, words),
            CommandKind::Set(words) => self.set(host, &command, words),
            CommandKind::Trace(_) => self.trace_command(host, &command),
            CommandKind::Do(words) => self.do_command(host, &command, words),
            CommandKind::Load { path, path_span, once, .. } => {
                return self.load(host, path, *path_span, *once);
            }
            CommandKind::Cd(path) => self.cd(host, path, command.span),
            CommandKind::Pushd(path) => self.pushd(host, path, command.span),
            CommandKind::Popd => self.popd(host, command.span),
            CommandKind::Pwd => {
                let text = format!("{}\n", self.directory().display());
                host.answer(&Answer::Text(text));
            }
            CommandKind::Ls(arguments) => self.ls(host, arguments, command.span),
            CommandKind::Help => host.answer(&Answer::Text(format!("{HELP}{SOLVER_HELP}{KEYS}"))),
            CommandKind::Continue(limit) => self.continue_last(host, &command, *limit),
            CommandKind::Rewrite { limit, module, term } => {
                self.rewrite(host, &command, *limit, None, module.as_ref(), term);
            }
            CommandKind::Frewrite { limit, gas, module, term } => {
                self.rewrite(host, &command, *limit, Some(*gas), module.as_ref(), term);
            }
            CommandKind::Search { limit, depth, module, body } => {
                self.search(host, &command, *limit, *depth, module.as_ref(), body);
            }
            CommandKind::Other(_) if self.solver_command(host, &command) => {}
            CommandKind::Other(words) => {
                let word = words.first().map_or("(", |token| token.name.as_str());
                self.unsupported(host, word, command.span);
            }
        }
        Flow::Next
    }

    fn unsupported(&mut self, host: &mut dyn Host, word: &str, span: Span) {
        let message = format!("the command `{word}` is not supported yet");
        self.say(host, &Diagnostic::error("not-supported", message, span).label("skipped"));
    }

    /// What commands are about from now on. As in Maude, the last command can be continued only while this stays
    /// the same.
    fn make_current(&mut self, name: Name) {
        if self.current.replace(name) != Some(name) {
            self.forget_last();
        }
    }

    /// Makes a module current; without one, the current module is meant. `None` after an error.
    pub(super) fn select(
        &mut self,
        host: &mut dyn Host,
        expr: Option<&ModuleExpr>,
        span: Span,
    ) -> Option<Arc<Module>> {
        let resolved = match expr {
            Some(ModuleExpr::Name(token)) => {
                let resolved = self.modules.resolve_name(token.name, token.span);
                if self.modules.contains(token.name) {
                    self.make_current(token.name);
                }
                resolved
            }
            Some(expr) => {
                let resolved = self.modules.resolve(expr);
                if let Ok(module) = &resolved {
                    let name = module.name;
                    self.make_current(name);
                }
                resolved
            }
            None => match self.current {
                Some(name) => self.modules.resolve_name(name, span),
                None => {
                    let hint = "enter a module first, or name one: `red in NAT : 1 + 1 .`";
                    let none = Diagnostic::error("no-module", "there is no current module", span).hint(hint);
                    self.say(host, &none);
                    return None;
                }
            },
        };
        self.say_modules(host);
        resolved.ok()
    }

    /// A module with its grammar and machines.
    pub(super) fn compiled(&mut self, module: &Arc<Module>) -> &mut Compiled {
        let fresh = |compiled: &Compiled| Arc::ptr_eq(&compiled.module, module);
        if !self.compiled.get(&module.name).is_some_and(fresh) {
            self.compiled.insert(module.name, Compiled::new(module.clone(), &self.order));
        }
        self.compiled.get_mut(&module.name).expect("made above")
    }

    /// The module of a command, and what parsing gave.
    pub(super) fn parsed<T>(
        &mut self,
        host: &mut dyn Host,
        command: &Command,
        expr: Option<&ModuleExpr>,
        parse: impl FnOnce(&Grammar, &Module) -> (Option<T>, Vec<Diagnostic>),
    ) -> Option<(Arc<Module>, T)> {
        let module = self.select(host, expr, command.span)?;
        let compiled = self.compiled(&module);
        let (parsed, diagnostics) = parse(&compiled.grammar, &module);
        self.say_all(host, diagnostics);
        Some((module, parsed?))
    }

    /// Splits off what machines are made with.
    pub(super) fn at_work(&mut self, module: &Arc<Module>) -> (&mut Compiled, Making<'_>) {
        self.compiled(module);
        let making = Making {
            order: &self.order,
            cancel: &self.setup.cancel,
            random_seed: self.setup.random_seed,
            memory_max: self.setup.memory_max,
            foreign: self.temporal.clone(),
        };
        (self.compiled.get_mut(&module.name).expect("made above"), making)
    }

    pub(super) fn print(&self, module: &Module, tree: &Tree) -> String {
        self.print_as(module, tree, false)
    }

    /// A subject as Maude shows it before a command is carried out.
    pub(super) fn print_subject(&self, module: &Module, tree: &Tree) -> String {
        self.print_as(module, tree, true)
    }

    fn print_as(&self, module: &Module, tree: &Tree, declared_sorts: bool) -> String {
        let options = PrintOptions { declared_sorts, ..self.options.printing(&module.vars) };
        if self.options.print.graph {
            return graph(&module.signature, tree, &options);
        }
        print(&module.signature, tree, &options)
    }

    /// Says what is being done, unless `set show command off`.
    pub(super) fn echo(&mut self, host: &mut dyn Host, text: String) {
        if self.options.show.command {
            host.answer(&Answer::Echo { text, separated: !self.prompt });
        }
    }

    fn parse(&mut self, host: &mut dyn Host, command: &Command, expr: Option<&ModuleExpr>, term: &[Token]) {
        let parse = |g: &Grammar, m: &Module| g.term(&m.signature, &m.vars, term, &[]);
        let Some((module, tree)) = self.parsed(host, command, expr, parse) else { return };
        let sig = &module.signature;
        let sort = sort_of_tree(sig, &Symbols::new(sig), &tree);
        let sort = sig.sorts.name(sort).to_string();
        let term = self.print(&module, &tree);
        host.answer(&Answer::Parsed { module: module.name.to_string(), sort, term });
    }

    fn reduce(&mut self, host: &mut dyn Host, command: &Command, expr: Option<&ModuleExpr>, term: &[Token]) {
        let parse = |g: &Grammar, m: &Module| g.term(&m.signature, &m.vars, term, &[]);
        let Some((module, tree)) = self.parsed(host, command, expr, parse) else { return };
        self.forget_last();
        self.begin_profile(&module);
        let trace = self.tracer(host, &module);
        let clear_memo = self.options.clear_memo;
        let (compiled, making) = self.at_work(&module);
        if clear_memo {
            compiled.clear_memo();
        }
        let theory = compiled.machine(trace.is_some(), &[&tree], &making).theory.clone();
        let tree = normalize_levels(&theory.symbols, &*theory.names, &tree);
        let input = self.print_subject(&module, &tree);
        self.echo(host, format!("reduce in {} : {input} .", module.name));
        let start = host.time();
        let (compiled, making) = self.at_work(&module);
        let machine = compiled.machine(trace.is_some(), &[&tree], &making);
        machine.rewrites = 0;
        machine.tracer = trace;
        let outcome = machine.reduce(&tree);
        machine.tracer = None;
        let time = since(start, host.time());
        match outcome {
            Ok(value) => {
                let (result, sort) = (machine.to_tree(value), machine.sort_of(value));
                let rewrites = machine.rewrites;
                let sort = module.signature.sorts.name(sort).to_string();
                let term = self.print(&module, &result);
                let effort = self.effort(rewrites, time);
                let module = module.name.to_string();
                host.answer(&Answer::Result { command: "reduce", module, input, sort, term, effort });
            }
            Err(interrupt) => {
                let rewrites = machine.rewrites;
                // What is on the heap of an interrupted machine is of no use to anyone.
                self.compiled.remove(&module.name);
                self.last = Last::Broken;
                let reason = self.say_stopped(host, Some(command.span), interrupt, true);
                let (module, effort) = (module.name.to_string(), self.effort(rewrites, time));
                host.answer(&Answer::Partial { command: "reduce", module, effort, reason, term: None });
            }
        }
    }

    pub(super) fn effort(&self, rewrites: u64, time: Time) -> Effort {
        let show = &self.options.show;
        Effort {
            rewrites,
            memberships: 0,
            rules: 0,
            states: None,
            time,
            show_stats: show.stats,
            show_timing: show.timing,
            show_breakdown: show.breakdown,
        }
    }

    /// The module that the words after `show ...` name; without words, the current one.
    pub(super) fn named(
        &mut self,
        host: &mut dyn Host,
        words: &[Token],
        span: Span,
    ) -> Option<(Name, Arc<Module>)> {
        let module = match words {
            [] => self.select(host, None, span)?,
            [first, .., last] => {
                let text: String = words.iter().map(|token| token.name.as_str()).collect();
                let resolved = self.modules.resolve_name(Name::new(&text), first.span.to(last.span));
                self.say_modules(host);
                resolved.ok()?
            }
            [one] => {
                let resolved = self.modules.resolve_name(one.name, one.span);
                self.say_modules(host);
                resolved.ok()?
            }
        };
        // As in Maude, what is shown is what the next commands are about.
        self.make_current(module.name);
        Some((module.name, module))
    }
}

/// Does the command only prepare others?
fn declares(kind: &CommandKind) -> bool {
    use CommandKind::*;
    matches!(kind, Quit | Eof | Select(_) | Set(_) | Load { .. } | Cd(_) | Pushd(_) | Popd)
}

pub(super) fn since(start: Time, end: Time) -> Time {
    Time { cpu: end.cpu.saturating_sub(start.cpu), real: end.real.saturating_sub(start.real) }
}

/// What `help` says.
const HELP: &str = "\
Declarations
  fmod M is ... endfm      a functional module (mod, fth, th, view: likewise)
Commands (end with a period)
  red [in M :] t .         the normal form of a term
  rew [[n]] [in M :] t .   rewrites with rules, at most n times; frew: fairly
  search [[n, d]] [in M :] t =>* p [such that c] .
                           reachable states that match (=>1 =>+ =>* =>!)
  continue [n] .           more steps or solutions of the last command
  show path N .            how a search came to a state; show path labels N .
                           show path states N .  show search graph .
  set profile on .  show profile .
  parse [in M :] t .       how a term is read, and its sort
  match p <=? t [such that c] .
                           all matchers; xmatch: also of parts
  select M .               makes a module the current one
  show module|all|sorts|kinds|ops|vars|mbs|eqs|rls|summary [M] .
  show modules .  show views .  show view V .
  set print|show|trace|include|protect ... on|off .
  do clear memo .          forgets memoized results
Files and the session (no period)
  load FILE  sload FILE  cd DIR  pwd  ls  pushd DIR  popd  eof  quit
";

/// The end of it.
const KEYS: &str = "\
Keys
  Tab completes   Ctrl-C stops a command or drops the input   Ctrl-D leaves
";
