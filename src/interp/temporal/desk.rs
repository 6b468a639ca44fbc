//! Several formulas on one state space: each gets its part of the time, and the answer that it would get alone
//! where that is possible.
//!
//! A formula whose part of the time is over waits until the others have had theirs, and then goes on with what is
//! left; what has been explored is there for all. When nothing more may be explored, the others are looked for in
//! what is known: a violation in it is one, and some formulas need no more than that.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use super::alarm::Alarm;
use super::layered::labels;
use super::request::{Claim, Unread};
use super::run::Describer;
use super::vocabulary::undecided;
use crate::base::{Cancel, Exceeded, Interrupt};
use crate::check::{self, Answer, CheckError, Checker, Fairness, Verdict};
use crate::graph::{Model, ModelSetup, Stop, System};
use crate::interp::command::since;
use crate::interp::pace::Pace;
use crate::interp::{Host, Interpreter, LineSink};
use crate::logic::{Formula, Formulas};
use crate::module::Module;
use crate::report::{self, Answer as Said, CheckReport, Time, check_progress};
use crate::sorts::Tree;

/// Shorter parts of the time are not worth it.
const PART_MIN: Duration = Duration::from_millis(20);
/// So long what is known is looked at when the time is up, or a tenth of what was taken before if that is more.
const LOOK_MIN: Duration = Duration::from_secs(1);

/// Why nothing else could be said.
const NO_MEMORY: &str = "the system had no more memory for rwl";

/// The first part of the time for a formula whose propositions have to be computed, where there is no limit; the next
/// is twice as long.
const TURN: Duration = Duration::from_secs(1);

/// Where the report on a formula will be.
enum Slot {
    /// What is said while there is nothing better.
    Open(Box<CheckReport>),
    Done(Option<Box<CheckReport>>),
}

/// Where reports wait for those that come before them.
pub(super) struct Desk<'m> {
    module: &'m Module,
    fairness: Fairness,
    /// What is the same in all.
    blank: CheckReport,
    /// Those that are done, and what is said of them, if anything is.
    slots: Vec<Slot>,
    shown: usize,
    /// The one that is worked on.
    current: Option<usize>,
}

impl<'m> Desk<'m> {
    pub fn new(
        session: &Interpreter,
        module: &'m Module,
        setup: &ModelSetup,
        fairness: &Fairness,
        (claims, unread): (&[Claim], &[Unread]),
    ) -> Self {
        let blank = CheckReport {
            module: module.name.to_string(),
            init: session.print(module, &setup.initial),
            fair_weak: labels(module, &fairness.weak),
            fair_strong: labels(module, &fairness.strong),
            threads: session.setup.threads,
            ..CheckReport::default()
        };
        let claims = claims.iter().map(|claim| (claim.place, &claim.name, &claim.text));
        let unread = unread.iter().map(|unread| (unread.place, &unread.name, &unread.text));
        let mut all: Vec<_> = claims.chain(unread).collect();
        all.sort_by_key(|(place, ..)| *place);
        let open = |(_, name, text): (usize, &Option<String>, &String)| {
            let (name, formula, reason) = (name.clone(), text.clone(), Some(NO_MEMORY.to_owned()));
            Slot::Open(Box::new(CheckReport { name, formula, reason, ..blank.clone() }))
        };
        let slots = all.into_iter().map(open).collect();
        Desk { module, fairness: fairness.clone(), blank, slots, shown: 0, current: None }
    }

    /// Takes a report, and shows those that have waited for it.
    pub fn put(&mut self, host: &mut dyn Host, place: usize, report: Option<CheckReport>) {
        self.current = None;
        self.slots[place] = Slot::Done(report.map(Box::new));
        while let Some(Slot::Done(report)) = self.slots.get_mut(self.shown) {
            if let Some(report) = report.take() {
                host.answer(&Said::Check(report));
            }
            self.shown += 1;
        }
        self.prepare(host);
    }

    /// There is none of this one.
    pub fn give_up(&mut self, host: &mut dyn Host, place: usize, why: &str) {
        if let Slot::Open(report) = &self.slots[place] {
            let (reason, peak_memory) = (Some(why.to_owned()), host.peak_memory());
            let report = CheckReport { reason, peak_memory, ..(**report).clone() };
            self.put(host, place, Some(report));
        }
    }

    fn is_open(&self, place: usize) -> bool {
        matches!(self.slots[place], Slot::Open(_))
    }

    /// Has all that is not shown yet said if there is no more memory.
    pub fn prepare(&self, host: &mut dyn Host) {
        let report = |slot: &Slot| match slot {
            Slot::Open(report) | Slot::Done(Some(report)) => Some(Said::Check(report.clone())),
            Slot::Done(None) => None,
        };
        host.last_words(&self.slots[self.shown..].iter().filter_map(report).collect::<Vec<_>>());
    }

    /// Shows what is there.
    pub fn finish(self, host: &mut dyn Host) {
        for slot in self.slots.into_iter().skip(self.shown) {
            if let Slot::Done(Some(report)) = slot {
                host.answer(&Said::Check(report));
            }
        }
        host.last_words(&[]);
    }
}

/// A claim that is not decided yet, and what it took so far.
struct Task {
    claim: Claim,
    /// Must something be computed in each state that may have no end?
    is_heavy: bool,
    /// How often its part of the time was over.
    turns: u32,
    rewrites: u64,
    time: Time,
}

impl Interpreter {
    /// An alarm when the first of so many parts of the time that is left is over.
    pub(super) fn alarm(&self, parts: usize) -> Option<Alarm> {
        let left = self.setup.deadline?.saturating_duration_since(Instant::now());
        let part = left / u32::try_from(parts).unwrap_or(u32::MAX);
        if part < PART_MIN { None } else { Alarm::after(part, &self.setup.cancel) }
    }

    /// Switches an alarm off. Has it rung, and is there time left?
    pub(super) fn rang(&self, alarm: Option<Alarm>) -> bool {
        let has_more = !self.setup.time_is_up.is_raised() && !self.setup.memory_is_up.is_raised();
        let rang = alarm.is_some_and(Alarm::stop) && has_more;
        if rang {
            self.setup.cancel.clear();
            self.setup.cancel.note_lengthy(None);
        }
        rang
    }

    /// What is said of a formula that was not read to its end.
    pub(super) fn unread(
        &mut self,
        host: &mut dyn Host,
        desk: &Desk,
        unread: &Unread,
    ) -> Option<CheckReport> {
        self.status.stopped = true;
        let Unread { name, text, why, .. } = unread;
        let (name, formula) = (name.clone(), text.clone());
        let reason = Some(format!("{}, while equations were applied to the formula", self.unknown(why)));
        let peak_memory = host.peak_memory();
        Some(CheckReport { name, formula, reason, peak_memory, ..desk.blank.clone() })
    }

    /// Checks the claims on the whole state space. If they may be divided, it ends when the memory is not enough
    /// and returns those that are not decided. One that leads to what cannot be represented leaves the others to a
    /// model that has never seen it.
    pub(super) fn check_claims(
        &mut self,
        host: &mut dyn Host,
        desk: &mut Desk,
        setup: &ModelSetup,
        mut claims: Vec<Claim>,
        formulas: &mut Formulas,
        may_divide: bool,
    ) -> Vec<Claim> {
        while !claims.is_empty() {
            let own = claims.clone();
            let check = || self.check_on_one_model(host, desk, setup.clone(), own, formulas, may_divide);
            match unless_exceeded(check) {
                Ok(rest) => return rest,
                Err(what) => {
                    self.status.stopped = true;
                    let current = desk.current;
                    let is_lost = |claim: &&Claim| current.is_none_or(|place| claim.place == place);
                    claims.iter().filter(is_lost).for_each(|claim| desk.give_up(host, claim.place, what));
                    claims.retain(|claim| desk.is_open(claim.place));
                }
            }
        }
        Vec::new()
    }

    fn check_on_one_model(
        &mut self,
        host: &mut dyn Host,
        desk: &mut Desk,
        mut setup: ModelSetup,
        claims: Vec<Claim>,
        formulas: &mut Formulas,
        may_divide: bool,
    ) -> Vec<Claim> {
        if may_divide {
            // Tables that grow take more for a moment; that should not end what comes after.
            setup.memory_max = setup.memory_max.map(|all| all - all / 8);
        }
        let module = desk.module;
        let heavy = !setup.light;
        let props: Vec<String> = setup.props.iter().map(|prop| self.print(module, prop)).collect();
        let memory_max = setup.memory_max.map(|bytes| bytes as u64);
        let model = Model::new(setup);
        let temporal = self.temporal.clone();
        let options = temporal.options(&self.setup.cancel);
        let limits = check::Limits { memory_max, ..options.limits.clone() };
        let (fairness, counterexample) = (desk.fairness.clone(), self.setup.counterexample);
        let options = check::Options { fairness, counterexample, limits, ..options };
        let mut checker = match Checker::new(&model, temporal.pool(), options) {
            Ok(checker) => checker,
            Err(error) => {
                self.check_failed(host, &error);
                return Vec::new();
            }
        };
        let mut describer = Describer { module, states: model.witness(), props: &props };
        let new = |claim: Claim| {
            let is_heavy = formulas.props(claim.formula).iter().any(|prop| heavy >> prop.0 & 1 == 1);
            Task { claim, is_heavy, turns: 0, rewrites: 0, time: Time::default() }
        };
        let mut open: VecDeque<Task> = claims.into_iter().map(new).collect();
        // What may have no end comes last.
        open.make_contiguous().sort_by_key(|task| task.is_heavy);
        let began = Instant::now();
        let mut closed: Option<Closed> = None;
        while let Some(mut task) = open.pop_front() {
            let (start, before) = (host.time(), model.rewrites());
            desk.current = Some(task.claim.place);
            if let Some(show) = host.progress_channel() {
                checker.watch(watcher(show));
            }
            let formula = task.claim.formula;
            let mut why = closed.as_ref().map(|closed| closed.why);
            let mut answer = Ok(checker.unknown(Stop::Interrupted(Interrupt::Cancelled)));
            if why.is_none() {
                // Whoever is the last has all that is left.
                let alarm = match self.setup.deadline {
                    _ if open.is_empty() => None,
                    Some(_) => self.alarm(open.len() + 1),
                    None if task.is_heavy => {
                        Alarm::after(TURN.saturating_mul(1 << task.turns.min(30)), &self.setup.cancel)
                    }
                    None => None,
                };
                answer = checker.check(formulas, formula);
                let rang = self.rang(alarm);
                why = stopped(&answer).map(|interrupt| self.reason(interrupt));
                if rang && why == Some(Interrupt::Cancelled) {
                    task.turns += 1;
                    task.took(model.rewrites() - before, since(start, host.time()));
                    open.push_back(task);
                    continue;
                }
            }
            if why == Some(Interrupt::Memory) && may_divide {
                let mut rest: Vec<Claim> = std::iter::once(task).chain(open).map(|task| task.claim).collect();
                rest.sort_by_key(|claim| claim.place);
                return rest;
            }
            if let Some(why) = why {
                let is_over = closed.is_some() || why != Interrupt::Memory || self.setup.cancel.is_raised();
                let mut own = Closed { why, left: LOOK_MIN.max(began.elapsed() / 10) };
                let closing = if is_over { closed.get_or_insert(own) } else { &mut own };
                answer = closing.look(&mut checker, formulas, formula, &self.setup.cancel);
            }
            let answer = match answer {
                Ok(answer) => answer,
                // A limit like others: the next claim may be simpler.
                Err(CheckError::Translate(error)) => checker.unknown(Stop::Failed(undecided(&error))),
                Err(error) => {
                    self.check_failed(host, &error);
                    desk.put(host, task.claim.place, None);
                    continue;
                }
            };
            task.took(model.rewrites() - before, since(start, host.time()));
            let Task { claim, rewrites, time, .. } = task;
            let mut report = CheckReport {
                name: claim.name,
                formula: claim.text,
                states: answer.states as u64,
                transitions: Some(answer.transitions as u64),
                rewrites: claim.rewrites + rewrites,
                time,
                peak_memory: host.peak_memory(),
                idle: claim.idle,
                absent: answer.absent.iter().map(|prop| props[prop.index()].clone()).collect(),
                ..desk.blank.clone()
            };
            match answer.verdict {
                Verdict::Holds { vacuous } => {
                    report.verdict = report::Verdict::Holds;
                    report.is_vacuous = vacuous;
                    report.is_valid = answer.method == check::Method::Formula;
                }
                Verdict::Violated(lasso) => {
                    report.verdict = report::Verdict::Violated;
                    self.status.violated = true;
                    let print = |tree: &Tree| self.print(module, tree);
                    match describer.run(formulas, formula, &lasso, &print) {
                        Ok(run) => report.counterexample = Some(run),
                        Err(stop) => report.reason = Some(self.unknown(&stop)),
                    }
                    if answer.counterexample != counterexample && desk.fairness == Fairness::default() {
                        let why =
                            "Maude's counterexample was not found within the limits; this is a short one";
                        report.reason.get_or_insert_with(|| why.to_owned());
                    }
                }
                Verdict::Unknown(stop) => {
                    report.verdict = report::Verdict::Unknown;
                    report.reason = Some(self.unknown(&stop));
                    self.status.stopped = true;
                }
            }
            desk.put(host, claim.place, Some(report));
        }
        self.setup.cancel.clear();
        Vec::new()
    }
}

impl Task {
    fn took(&mut self, rewrites: u64, Time { cpu, real }: Time) {
        self.rewrites += rewrites;
        self.time = Time { cpu: self.time.cpu + cpu, real: self.time.real + real };
    }
}

/// What the work gives, or what was met that cannot be represented.
pub fn unless_exceeded<T>(work: impl FnOnce() -> T) -> Result<T, &'static str> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast_ref() {
        Some(&Exceeded(what)) => what,
        None => resume_unwind(payload),
    })
}

/// Nothing more is explored.
struct Closed {
    why: Interrupt,
    /// For so long what is known may be looked at.
    left: Duration,
}

impl Closed {
    fn look(
        &mut self,
        checker: &mut Checker,
        formulas: &mut Formulas,
        formula: Formula,
        cancel: &Cancel,
    ) -> Result<Answer, CheckError> {
        let why = Stop::Interrupted(self.why);
        let start = Instant::now();
        cancel.clear();
        let alarm = if self.left < PART_MIN { None } else { Alarm::after(self.left, cancel) };
        let Some(alarm) = alarm else { return Ok(checker.unknown(why)) };
        let mut answer = checker.check_known(formulas, formula, why.clone());
        // Who asks twice means it.
        let is_over = alarm.stop() || cancel.is_raised();
        self.left = if is_over { Duration::ZERO } else { self.left.saturating_sub(start.elapsed()) };
        cancel.clear();
        if let Ok(Answer { verdict: verdict @ Verdict::Unknown(Stop::Interrupted(_)), .. }) = &mut answer {
            *verdict = Verdict::Unknown(why);
        }
        answer
    }
}

/// The interrupt that ended a check.
fn stopped(answer: &Result<Answer, CheckError>) -> Option<Interrupt> {
    match answer {
        Ok(Answer { verdict: Verdict::Unknown(Stop::Interrupted(interrupt)), .. }) => {
            Some(*interrupt).filter(|&interrupt| interrupt != Interrupt::Depth)
        }
        _ => None,
    }
}

/// Writes a line about the check now and then.
fn watcher(mut show: LineSink) -> check::Watcher {
    let mut pace = Pace::new();
    Box::new(move |progress| {
        if let Some(time) = pace.beat() {
            show(&check_progress(progress.states as u64, progress.transitions as u64, time));
        }
    })
}
