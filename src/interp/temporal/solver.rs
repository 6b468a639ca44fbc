//! The commands of the authors' tool for checking in layers: `initialize[...]`, `check`, `layerCheck`,
//! `lastCheck`, `analyze`, `showCx`, `clear`, `set-cores` and `solver-help`, with parentheses around
//! them or without.
//!
//! What [`initialize`](super::initialize) has set up is a [`Session`]: it keeps the boundaries that
//! have been reached, so that the next command goes on from there.

use std::sync::Arc;

use super::function::Temporal;
use super::layered::{LayeredWork, depths, layered_model};
use super::request::Claim;
use super::revise::Subject;
use crate::base::{Diagnostic, Span, THREADS_MAX, nearest};
use crate::check::Fairness;
use crate::check::layers::{self, Division, Layers, Options, Reason, Verdict};
use crate::graph::{Model, ModelSetup, Regions};
use crate::interp::{Host, Interpreter};
use crate::logic::Formulas;
use crate::module::Module;
use crate::report::{self, Analysis, Answer, CheckReport};
use crate::sorts::{SortId, Tree};
use crate::syntax::tree::{Command, Token};

/// What is being checked in layers, and how far that has come.
pub struct Session {
    pub(super) module: Arc<Module>,
    pub(super) setup: ModelSetup,
    pub(super) claim: Claim,
    pub(super) formulas: Formulas,
    /// Its store has the states of the boundaries.
    pub(super) model: Model,
    /// The sort of components, if there is a revised module.
    pub(super) element: Option<SortId>,
    pub(super) progress: Progress,
}

/// How far it has come.
#[derive(Default)]
pub(super) struct Progress {
    division: Division,
    layers: Vec<report::Layer>,
    /// The depths of these layers.
    depths: Vec<u32>,
    /// What the last check said.
    report: Option<CheckReport>,
}

/// The words that begin these commands.
pub const SOLVER_WORDS: &[&str] = &[
    "analyze",
    "check",
    "clear",
    "initialize[",
    "lastCheck",
    "layerCheck",
    "set-cores",
    "showCx",
    "solver-help",
];

/// So many counterexample states get equations in the revised module that a session shows.
const EQUATIONS_MAX: u64 = 1000;

impl Session {
    /// Back to the initial state; what was stored is forgotten.
    pub fn restart(&mut self) {
        self.model = layered_model(&self.setup);
        self.progress = Progress::default();
    }

    fn analysis(&self) -> Analysis {
        Analysis::new(self.progress.depths.clone(), &self.progress.layers)
    }
}

impl Interpreter {
    /// Is this a command of the layered checker? Then it is executed.
    pub(in crate::interp) fn solver_command(&mut self, host: &mut dyn Host, command: &Command) -> bool {
        let mut words = &command.text[..];
        while let [open, inner @ .., close] = words
            && (open.name.as_str(), close.name.as_str()) == ("(", ")")
        {
            words = inner;
        }
        if let [inner @ .., last] = words
            && last.name.as_str() == "."
        {
            words = inner;
        }
        let Some((first, arguments)) = words.split_first() else { return false };
        match first.name.as_str() {
            "initialize" => {
                // What is asked next must not be answered for something that was asked before.
                self.solver = None;
                if let Some((session, initialized)) = self.initialize(host, *first, arguments) {
                    self.solver = Some(Box::new(session));
                    host.answer(&Answer::Initialized(initialized));
                }
            }
            "check" => {
                if let Some(layers) = self.depths(host, *first, arguments, true) {
                    self.with_session(host, command.span, |this, host, session| {
                        session.restart();
                        this.proceed(host, session, layers, true);
                    });
                }
            }
            "layerCheck" => {
                if let Some(layers) = self.depths(host, *first, arguments, false) {
                    self.with_session(host, command.span, |this, host, session| {
                        this.proceed(host, session, layers, false);
                    });
                }
            }
            "set-cores" => self.set_cores(host, *first, arguments),
            word @ ("lastCheck" | "analyze" | "showCx" | "clear" | "solver-help") => {
                if let [argument, ..] = arguments {
                    let message = format!("`{word}` takes no arguments");
                    self.error(host, "bad-argument", message, argument.span);
                    return true;
                }
                match word {
                    "lastCheck" => self.with_session(host, command.span, |this, host, session| {
                        this.proceed(host, session, Layers::Depths(Vec::new()), true);
                    }),
                    "analyze" => self.with_session(host, command.span, |_, host, session| {
                        host.answer(&Answer::Analyzed(session.analysis()));
                    }),
                    "showCx" => self.with_session(host, command.span, Interpreter::show_counterexample),
                    "clear" => {
                        self.solver = None;
                        host.answer(&Answer::Text("Cleared.\n".to_owned()));
                    }
                    _ => host.answer(&Answer::Text(SOLVER_HELP.to_owned())),
                }
            }
            word => {
                let words = SOLVER_WORDS.iter().map(|word| word.trim_end_matches('['));
                let Some(near) = nearest(word, words) else { return false };
                let message = format!("`{word}` is no command");
                let unknown = Diagnostic::error("unknown-command", message, first.span);
                self.say(host, &unknown.label("skipped").hint(format!("did you mean `{near}`?")));
            }
        }
        true
    }

    /// Does something with what `initialize` has set up, unless its module has changed since.
    fn with_session(
        &mut self,
        host: &mut dyn Host,
        span: Span,
        task: impl FnOnce(&mut Interpreter, &mut dyn Host, &mut Session),
    ) {
        // If something panics, the session is gone.
        let Some(mut session) = self.solver.take() else {
            let hint = "`initialize[M, init, F]` first: the module, the initial state, the formula";
            let none = Diagnostic::error("not-initialized", "there is nothing to check yet", span);
            return self.say(host, &none.hint(hint));
        };
        let module = self.modules.resolve_name(session.module.name, span);
        self.say_modules(host);
        match module {
            Ok(module) if Arc::ptr_eq(&module, &session.module) => task(self, host, &mut session),
            _ => {
                let message = format!("module {} has changed since `initialize`", session.module.name);
                let changed = Diagnostic::error("not-initialized", message, span);
                self.say(host, &changed.hint("`initialize[...]` again"));
            }
        }
        self.solver = Some(session);
    }

    /// More layers, then the final one if it is wanted; says what came out.
    fn proceed(&mut self, host: &mut dyn Host, session: &mut Session, more: Layers, conquer: bool) {
        let Session { module, setup, claim, formulas, model, element, progress } = session;
        let layers = match more {
            Layers::Auto => Layers::Auto,
            Layers::Depths(more) => Layers::Depths([&progress.depths[..], &more[..]].concat()),
        };
        progress.report = None;
        let fairness = &Fairness::default();
        let work = LayeredWork { module, setup, fairness, claim, model, start: host.time() };
        // This decides by which method layers are checked.
        let answer = self.in_layers(host, &work, formulas, |model, pool, formulas, options| {
            let options = Options { layers, conquer, close: true, ..options };
            layers::go_on(model, pool, formulas, claim.formula, &mut progress.division, options)
        });
        let Some(answer) = answer else { return };
        progress.depths = answer.layers.iter().map(|layer| layer.steps).collect();
        progress.layers = depths(&answer.layers);
        let analysis = Analysis::new(progress.depths.clone(), &progress.layers);
        if let Verdict::Unknown(Reason::Divided) = answer.verdict {
            host.answer(&Answer::Analyzed(analysis));
        } else {
            let report = self.layered_report(host, &work, formulas, answer);
            self.setup.cancel.clear();
            host.answer(&Answer::LayersChecked(analysis, Box::new(report.clone())));
            progress.report = Some(report);
        }
        if let Some(element) = *element {
            let states = self.counterexample_states(&work, formulas, progress);
            let subject = Subject { module, setup, formula: claim.formula, element: Some(element) };
            let depth = progress.depths.iter().sum::<u32>().max(1);
            // It is there to be looked at: what cannot be said of it changes no answer.
            let _ = self.revise(&subject, formulas, (depth, &states));
        }
    }

    /// The counterexample states where the last layer ends; none if there are so many that nobody would
    /// read their equations.
    fn counterexample_states(
        &self,
        work: &LayeredWork,
        formulas: &mut Formulas,
        progress: &Progress,
    ) -> Vec<Tree> {
        if progress.layers.last().is_none_or(|last| last.counterexample_states > EQUATIONS_MAX) {
            return Vec::new();
        }
        let mut region = work.model.region();
        let layers = progress.division.ends(&mut region, formulas, work.claim.formula);
        let ends = layers.unwrap_or_default().into_iter().next_back().unwrap_or_default();
        let ends = ends.into_iter().filter(|end| end.is_counterexample);
        ends.filter_map(|end| region.term(end.seed).ok()).collect()
    }

    fn show_counterexample(&mut self, host: &mut dyn Host, session: &mut Session) {
        host.answer(&match &session.progress.report {
            Some(report) if report.verdict == report::Verdict::Violated => {
                Answer::LayersCounterexample(Box::new(report.clone()))
            }
            Some(report) if report.verdict == report::Verdict::Holds => {
                Answer::Text("No counterexample: the check was a success.\n".to_owned())
            }
            _ => Answer::Text("No counterexample: the final layer has not been checked.\n".to_owned()),
        });
    }

    /// The depths that `check` and `layerCheck` take.
    fn depths(
        &mut self,
        host: &mut dyn Host,
        word: Token,
        arguments: &[Token],
        whole: bool,
    ) -> Option<Layers> {
        if let [argument] = arguments
            && argument.name.as_str() == "auto"
            && whole
        {
            return Some(Layers::Auto);
        }
        if arguments.is_empty() {
            let missing = Diagnostic::error("bad-depth", format!("`{}` needs depths", word.name), word.span);
            let hint = format!("`{} 2 2`: two layers of two steps each, before the final one", word.name);
            self.say(host, &missing.hint(hint));
            return None;
        }
        let mut depths = Vec::new();
        // Steps from the initial state have to fit as well.
        let mut left =
            u32::MAX - self.solver.as_ref().filter(|_| !whole).map_or(0, |session| session.depth());
        for argument in arguments {
            let depth = match argument.name.as_str() {
                word if word.bytes().all(|byte| byte.is_ascii_digit()) => word.parse().ok(),
                _ => Some(0),
            };
            let Some(depth) = depth.filter(|&depth| depth > 0 && depth <= left) else {
                let message = format!("`{}` is no depth of a layer", argument.name);
                let label = match depth {
                    Some(0) => "a number of steps from 1 on is needed",
                    Some(_) => "together with those before it, these are too many steps",
                    None => "these are too many steps",
                };
                self.say(host, &Diagnostic::error("bad-depth", message, argument.span).label(label));
                return None;
            };
            left -= depth;
            depths.push(depth);
        }
        Some(Layers::Depths(depths))
    }

    /// `set-cores N`: as `--threads N`.
    fn set_cores(&mut self, host: &mut dyn Host, word: Token, arguments: &[Token]) {
        let number = |token: &Token| token.name.as_str().parse().ok();
        let cores = match arguments {
            [argument] => number(argument).filter(|cores| (1..=THREADS_MAX).contains(cores)),
            _ => None,
        };
        let Some(cores) = cores else {
            let span = arguments.first().map_or(word.span, |argument| argument.span);
            let message = "`set-cores` needs one number of threads";
            let bad = Diagnostic::error("bad-argument", message, span);
            return self.say(host, &bad.label(format!("from 1 to {THREADS_MAX}")));
        };
        self.setup.threads = cores;
        // Machines know who computes `modelCheck`, and with how many threads.
        self.forget_last();
        self.compiled.clear();
        self.temporal = Arc::new(Temporal::new(&self.setup));
        host.answer(&Answer::Text(format!("Cores: {cores}\n")));
    }
}

impl Session {
    /// Steps from the initial state to where the layers end.
    fn depth(&self) -> u32 {
        self.progress.depths.iter().sum()
    }
}

/// What `solver-help` says.
pub const SOLVER_HELP: &str = "\
Checking in layers (with or without parentheses; no period is needed)
  initialize[M, init, F]                  any formula F of module M, from init
  initialize[M, init, F, Elt, Soup]       conditional stable p |-> [] q,
                                          until p U q, until stable p U [] q
  initialize[M, init, F, E, Elt, Soup]    leads-to: F is p |-> q, E is <> q
                                          (or just p and q)
  initialize[M, init, null, E, Elt, Soup] eventual: E is <> q
                           Elt and Soup: the sorts of the components of a state
                           and of their soups
  check 2 2                two layers of two steps each, then the final one;
                           check auto: as deep as is good
  layerCheck 2 2           layers only; the next one goes on from there
  lastCheck                the final layer
  analyze                  how deep the layers are, and what is there
  showCx                   the counterexample
  set-cores N              how many threads work
  clear                    forgets all this
";
