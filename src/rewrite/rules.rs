//! Applying rules: what a term rewrites to in one step, and the explorations of `=>` conditions.
//!
//! [`Steps`] enumerates one-step rewrites in Maude's order: positions breadth first, at each
//! position the rules in order, for each rule its matchers and the solutions of its condition. A
//! rule's code runs as a coroutine: it yields a result and waits on the machine's stack; while
//! it waits, the machine may reduce other terms above it.

use std::sync::Arc;

use hashbrown::HashTable;
use rustc_hash::FxHashMap;

use super::machine::{Frame, Machine};
use super::objects::Rules as Configuration;
use super::trace::TraceEvent;
use crate::base::Interrupt;
use crate::builtin::Cx;
use crate::term::{Class, Int, Layout, Term};
use crate::theory::{NO_CODE, Query};

/// `=>` conditions may be nested so deep.
const DEPTH_MAX: usize = 10_000;

/// A result of rewriting once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Index into the module's rules.
    pub rule: u32,
    /// The whole term after the step, reduced.
    pub term: Term,
}

/// Where a subterm is: argument `arg` of the term at position `parent`.
#[derive(Clone, Copy, Debug)]
struct Position {
    parent: u32,
    arg: u32,
    /// Does the strategy of an operator above leave it alone? Then it is not reduced after a step.
    is_left: bool,
}

const ROOT: Position = Position { parent: u32::MAX, arg: 0, is_left: false };

/// How rules choose their matchers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// All of them: `search`, `=>` conditions.
    #[default]
    All,
    /// One is enough: `rewrite`, `frewrite`.
    First,
}

/// The one-step rewrites of one term, on one machine. The terms at its positions are the
/// machine's `roots`.
#[derive(Debug, Default)]
pub struct Steps {
    positions: Vec<Position>,
    /// The position and the rule (by number under its operator) that are being tried.
    at: usize,
    rule: usize,
    is_running: bool,
    /// Has a rule been applied at this position?
    is_redex: bool,
    /// The machine's rewrites before the position was tried.
    before: u64,
}

/// A `=>` condition that has met so many terms may be one without end.
const LENGTHY: usize = 1000;

impl Steps {
    /// Starts with a reduced term.
    pub fn begin(&mut self, machine: &mut Machine, term: Term) {
        self.end(machine);
        let term = machine.as_state(term);
        machine.recent.clear();
        machine.roots.clear();
        machine.roots.push(term);
        machine.trace_state(term, true);
        self.positions.clear();
        self.positions.push(ROOT);
        (self.at, self.rule, self.is_redex) = (0, 0, false);
    }

    /// The next result.
    pub fn next(&mut self, machine: &mut Machine) -> Result<Option<Step>, Interrupt> {
        let theory = machine.theory_now();
        while self.at < self.positions.len() {
            let subject = machine.roots[self.at];
            let sym = machine.heap.head(&theory.symbols, subject);
            let entries = theory.rules.entries.get(sym).map_or(&[][..], |entries| entries);
            // Nothing is tried in vain twice; but whole terms are not met again.
            let is_conditional = theory.rules.is_conditional.get(sym).is_some_and(|is| *is);
            let may_be_stuck = is_conditional && self.at > 0;
            if self.rule == 0 && !self.is_running {
                self.before = machine.rewrites;
            }
            if is_conditional && !machine.vain.terms.is_empty() && self.rule == 0 && !self.is_running {
                self.is_redex = machine.vain.contains(&machine.heap, &theory.symbols, subject);
                self.rule = if self.is_redex { entries.len() } else { 0 };
            }
            while let Some(entry) = entries.get(self.rule) {
                let yielded = if self.is_running {
                    machine.resume_rule()?
                } else {
                    self.trace_place(machine);
                    let is_left = self.positions[self.at].is_left;
                    let code = if is_left { entry.all_unreduced } else { entry.all };
                    machine.start_rule(code, machine.roots[self.at])?
                };
                self.is_running = yielded.is_some();
                let Some(value) = yielded else {
                    self.rule += 1;
                    continue;
                };
                self.is_redex = true;
                machine.rewrites += 1;
                machine.rule_rewrites += 1;
                let term = self.rebuild(machine, self.at, value)?;
                let term = machine.as_state(term);
                return Ok(Some(Step { rule: entry.rule, term }));
            }
            if may_be_stuck && !self.is_redex && machine.keeps_terms {
                let Machine { heap, roots, vain, rewrites, .. } = machine;
                vain.insert(heap, &theory.symbols, roots[self.at]);
                if let Some(tried) = &vain.tried {
                    tried.note(heap, &theory.symbols, roots[self.at], *rewrites - self.before);
                    *rewrites = self.before;
                }
            }
            self.open(machine, self.at);
            (self.at, self.rule, self.is_redex) = (self.at + 1, 0, false);
        }
        Ok(None)
    }

    /// Notes the rule whose `=>` condition kept the machine busy when it was stopped, if one did.
    #[cold]
    pub fn note_lengthy(&self, machine: &Machine) {
        let met = machine.explorations.last().map_or(0, |exploration| exploration.machine.kept.len());
        if met >= LENGTHY
            && let Some(rule) = self.rule(machine)
        {
            let span = machine.theory.module.rules[rule as usize].attrs.span;
            machine.cancel.note_lengthy(Some((span, met)));
        }
    }

    /// The rule that is being tried.
    fn rule(&self, machine: &Machine) -> Option<u32> {
        let (theory, &subject) = (&machine.theory, machine.roots.get(self.at)?);
        let sym = machine.heap.head(&theory.symbols, subject);
        Some(theory.rules.entries.get(sym)?.get(self.rule)?.rule)
    }

    /// The next result of one rule (by number under its operator) at the top of the term, which must
    /// have a free operator there.
    pub fn next_of(&mut self, machine: &mut Machine, number: usize) -> Result<Option<Term>, Interrupt> {
        let theory = machine.theory_now();
        let subject = machine.roots[0];
        let sym = machine.heap.sym(&theory.symbols, subject) as usize;
        let yielded = match self.is_running {
            true => machine.resume_rule()?,
            false => machine.start_rule(theory.rules.entries[sym][number].all, subject)?,
        };
        self.is_running = yielded.is_some();
        Ok(yielded)
    }

    /// May a rule be tried at some position of a term?
    pub fn may_apply(machine: &mut Machine, term: Term) -> bool {
        let theory = machine.theory_now();
        let mut steps = Steps::default();
        steps.begin(machine, term);
        while steps.at < steps.positions.len() {
            let sym = machine.heap.head(&theory.symbols, machine.roots[steps.at]);
            if theory.rules.entries.get(sym).is_none_or(|entries| !entries.is_empty()) {
                return true;
            }
            steps.open(machine, steps.at);
            steps.at += 1;
        }
        false
    }

    /// Gives up.
    pub fn end(&mut self, machine: &mut Machine) {
        machine.recent.clear();
        if std::mem::take(&mut self.is_running) {
            machine.abandon_rule();
        }
    }

    /// The term that is being rewritten.
    pub fn term(&self, machine: &Machine) -> Term {
        machine.roots[0]
    }

    /// Tells which position it is at, if someone watches.
    fn trace_place(&self, machine: &mut Machine) {
        if machine.tracer.is_none() {
            return;
        }
        let mut path = Vec::new();
        let mut position = self.positions[self.at];
        while position.parent != u32::MAX {
            let Machine { heap, theory, roots, .. } = &*machine;
            let parent = heap.deref(roots[position.parent as usize]);
            let mut arg = position.arg as usize;
            if theory.symbols.class(heap.sym(&theory.symbols, parent)) == Class::AssocComm {
                let mut pairs = Vec::new();
                heap.bag_pairs(parent, &mut pairs);
                arg = pairs[..arg].iter().map(|&(_, copies)| copies as usize).sum();
            }
            path.push(arg);
            position = self.positions[position.parent as usize];
        }
        path.reverse();
        machine.tell(&TraceEvent::Place(&path));
    }

    /// Adds the positions below one where rules may apply.
    fn open(&mut self, machine: &mut Machine, at: usize) {
        let Machine { heap, theory, roots, .. } = machine;
        let (sy, rules) = (&theory.symbols, &theory.rules);
        let term = heap.deref(roots[at]);
        let sym = heap.head(sy, term);
        let has_sort = !theory.has_lazy && heap.sort(sy, term) != 0;
        let may_rewrite = if has_sort { &rules.may_rewrite_sorted } else { &rules.may_rewrite_below };
        if !may_rewrite.get(sym).is_some_and(|may| *may) {
            return;
        }
        let info = &sy.info[sym];
        let frozen = rules.frozen[sym];
        let function = &theory.functions[sym];
        let is_left = self.positions[at].is_left;
        let positions = &mut self.positions;
        let mut add = |heap: &crate::term::Heap, arg: usize, child: Term, roots: &mut Vec<Term>| {
            let child = heap.deref(child);
            let may = rules.may_rewrite.get(heap.head(sy, child)).is_some_and(|may| *may);
            if may {
                let is_left = is_left || !function.is_evaluated(arg);
                positions.push(Position { parent: at as u32, arg: arg as u32, is_left });
                roots.push(child);
            }
        };
        let is_joined = matches!(info.class, Class::Assoc | Class::AssocComm);
        match info.class {
            // One argument of an associative operator frozen means both.
            _ if is_joined && frozen != 0 => {}
            Class::Iter if frozen != 0 => {}
            Class::Iter => {
                let base = heap.iter_parts(term).1;
                add(heap, 0, base, roots);
            }
            _ if !term.is_node() || heap.layout(term) == Layout::Raw as u32 => {}
            Class::AssocComm => {
                let mut pairs = Vec::new();
                heap.bag_pairs(term, &mut pairs);
                for (i, (element, _)) in pairs.into_iter().enumerate() {
                    add(heap, i, element, roots);
                }
            }
            _ => {
                for (i, &arg) in heap.args(term).iter().enumerate() {
                    if is_joined || frozen >> i.min(63) & 1 == 0 {
                        add(heap, i, arg, roots);
                    }
                }
            }
        }
    }

    /// The whole term with the subterm at a position replaced, reduced from there up.
    pub(super) fn rebuild(
        &self,
        machine: &mut Machine,
        at: usize,
        mut value: Term,
    ) -> Result<Term, Interrupt> {
        let mut position = self.positions[at];
        while position.parent != u32::MAX {
            let parent = machine.roots[position.parent as usize];
            let is_left = self.positions[position.parent as usize].is_left;
            value = machine.replace_argument(parent, position.arg as usize, value, is_left)?;
            position = self.positions[position.parent as usize];
        }
        Ok(value)
    }

    /// One step as `rewrite` makes it: at the first position where one can be made, rules in
    /// turn. `turns` says which rule of each operator is next.
    pub fn first(
        &mut self,
        machine: &mut Machine,
        term: Term,
        turns: &mut Turns,
    ) -> Result<Option<Step>, Interrupt> {
        if machine.cancel().is_raised() {
            return Err(Interrupt::Cancelled);
        }
        self.begin(machine, term);
        while self.at < self.positions.len() {
            self.trace_place(machine);
            let is_left = self.positions[self.at].is_left;
            if let Some((rule, value)) = machine.rewrite_here(machine.roots[self.at], turns, is_left)? {
                let term = self.rebuild(machine, self.at, value)?;
                return Ok(Some(Step { rule, term }));
            }
            self.open(machine, self.at);
            self.at += 1;
        }
        Ok(None)
    }
}

/// Whose turn it is: the next rule of each operator.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    rules: Vec<u32>,
    /// On configurations: by its operator and the message's.
    pub(super) letters: FxHashMap<(u32, u32), u32>,
    /// Their rules, sorted out once.
    pub(super) configurations: FxHashMap<u32, Arc<Configuration>>,
}

/// A rule that has yielded: where the machine's stacks were when it started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Activation {
    frames: usize,
    base: usize,
    matchers: usize,
    explorations: usize,
}

/// The rule number of the step that counts: `counter` becomes a number.
pub const COUNTER_RULE: u32 = u32::MAX;

impl Machine {
    /// Starts a rule's code (or a query's) on a term; gives its first result.
    pub fn start_rule(&mut self, code: u32, subject: Term) -> Result<Option<Term>, Interrupt> {
        self.start_rule_on(code, &[subject])
    }

    /// The same for code that takes several terms.
    pub fn start_rule_on(&mut self, code: u32, subjects: &[Term]) -> Result<Option<Term>, Interrupt> {
        let base = self.floor;
        self.reserve(base + subjects.len() + 1);
        self.stack[base..base + subjects.len()].copy_from_slice(subjects);
        self.activations.push(Activation {
            frames: self.frames.len(),
            base,
            matchers: self.active,
            explorations: self.explorations.len(),
        });
        self.frames.push(Frame { ret: self.theory.stubs.halt, base: base as u32 });
        self.run_rule(code, base)
    }

    /// The next result of the rule that yielded last.
    pub fn resume_rule(&mut self) -> Result<Option<Term>, Interrupt> {
        let frame = self.frames.pop().expect("a rule has yielded");
        self.floor = frame.base as usize;
        self.run_rule(frame.ret, frame.base as usize)
    }

    fn run_rule(&mut self, code: u32, base: usize) -> Result<Option<Term>, Interrupt> {
        self.yielded = Term::NONE;
        self.run(code, base)?;
        self.count_decided();
        let yielded = std::mem::replace(&mut self.yielded, Term::NONE);
        if yielded.is_none() {
            self.activations.pop();
            return Ok(None);
        }
        Ok(Some(yielded))
    }

    /// Gives up the rule that yielded last.
    pub fn abandon_rule(&mut self) {
        let activation = self.activations.pop().expect("a rule has yielded");
        self.frames.truncate(activation.frames);
        self.floor = activation.base;
        self.release(activation.matchers);
        self.idle.extend(self.explorations.drain(activation.explorations..));
    }

    /// The values of a query's variables, after it has yielded.
    pub fn query_values(&self, query: &Query) -> Vec<Term> {
        let base = self.frames.last().expect("the query has yielded").base as usize;
        query.vars.iter().map(|&(_, reg)| self.stack[base + reg as usize]).collect()
    }

    /// The value in a register of a query that has yielded.
    pub fn query_value(&self, reg: u16) -> Term {
        let base = self.frames.last().expect("the query has yielded").base as usize;
        self.stack[base + reg as usize]
    }

    /// Have conditional rules been tried in vain inside states?
    pub fn has_vain(&self) -> bool {
        !self.vain.terms.is_empty()
    }

    /// Forgets the terms of the state that was rewritten, before the heap is cut back.
    pub fn forget_terms(&mut self) {
        self.recent.clear();
        self.roots.clear();
        self.kept.clear();
    }

    /// Tries the rules of a term's operator at its top, in turn. `is_left`: the result is not to be
    /// reduced.
    pub fn rewrite_here(
        &mut self,
        subject: Term,
        turns: &mut Turns,
        is_left: bool,
    ) -> Result<Option<(u32, Term)>, Interrupt> {
        let theory = self.theory_now();
        let sym = self.heap.head(&theory.symbols, subject);
        let Some(entries) = theory.rules.entries.get(sym) else { return Ok(None) };
        if let Some((counter, builtin)) = &theory.rules.counter
            && *counter == sym as u32
        {
            self.tell(&TraceEvent::Counter(sym as u32));
            let Machine { heap, state, cancel, .. } = self;
            self.rewrites += 1;
            self.rule_rewrites += 1;
            let mut cx = Cx { heap, sy: &theory.symbols, state, cancel };
            return Ok(Some((COUNTER_RULE, builtin.tick(&mut cx))));
        }
        if entries.is_empty() {
            return Ok(None);
        }
        let subject = self.heap.deref(subject);
        if self.stuck.contains(&subject.0) {
            return Ok(None);
        }
        if turns.rules.is_empty() {
            turns.rules.resize(theory.rules.entries.len(), 0);
        }
        let kept = self.kept.len();
        self.kept.push(subject);
        for i in 0..entries.len() {
            let number = (turns.rules[sym] as usize + i) % entries.len();
            let entry = &entries[number];
            let code = if is_left { entry.first_unreduced } else { entry.first };
            if let Some(value) = self.start_rule(code, self.kept[kept])? {
                self.abandon_rule();
                self.rewrites += 1;
                self.rule_rewrites += 1;
                turns.rules[sym] = ((number + 1) % entries.len()) as u32;
                self.kept.truncate(kept);
                return Ok(Some((entry.rule, value)));
            }
        }
        self.stuck.insert(self.kept[kept].0);
        self.kept.truncate(kept);
        Ok(None)
    }

    /// A term with one argument replaced, reduced at its top unless it `is_left` as it is.
    pub(super) fn replace_argument(
        &mut self,
        parent: Term,
        arg: usize,
        value: Term,
        is_left: bool,
    ) -> Result<Term, Interrupt> {
        let theory = self.theory_now();
        let sy = &theory.symbols;
        let parent = self.heap.deref(parent);
        let sym = self.heap.sym(sy, parent);
        if sy.class(sym) == Class::Iter {
            let (count, _) = self.heap.iter_parts(parent);
            return self.iterate(sym, &count, value, is_left);
        }
        let mut args: Vec<Term> = Vec::new();
        if sy.class(sym) == Class::AssocComm {
            let mut pairs = Vec::new();
            self.heap.bag_pairs(parent, &mut pairs);
            pairs[arg].1 -= 1;
            for (element, copies) in pairs {
                args.extend(std::iter::repeat_n(element, copies as usize));
            }
            args.push(value);
        } else {
            args.extend_from_slice(self.heap.args(parent));
            args[arg] = value;
        }
        if is_left { Ok(self.leave_alone(sym, &args)) } else { self.apply(sym, &args) }
    }

    /// The value of `f^n(t)`, or the term itself if it `is_left` as it is.
    pub(super) fn iterate(
        &mut self,
        sym: u32,
        count: &Int,
        arg: Term,
        is_left: bool,
    ) -> Result<Term, Interrupt> {
        if is_left {
            return Ok(self.leave_iterated(sym, count, arg));
        }
        let theory = self.theory_now();
        let term = self.heap.iterate(&theory.symbols, sym, count, arg);
        self.call_joined(sym, term)
    }

    /// The value of an operator applied to reduced arguments.
    pub fn apply(&mut self, sym: u32, args: &[Term]) -> Result<Term, Interrupt> {
        let theory = self.theory_now();
        let function = &theory.functions[sym as usize];
        if function.joined || function.code == NO_CODE {
            let t = self.heap.apply(&theory.symbols, sym, args);
            return self.call_joined(sym, t);
        }
        let base = self.floor;
        self.reserve(base + args.len() + 1);
        self.stack[base..base + args.len()].copy_from_slice(args);
        self.call_code(function.code)
    }

    /// Equations of an operator with axioms, on a term that has it at its top.
    pub(super) fn call_joined(&mut self, sym: u32, t: Term) -> Result<Term, Interrupt> {
        let function = &self.theory.functions[sym as usize];
        let code = function.code;
        if function.is_lazy && self.heap.is_unreduced(self.heap.deref(t)) {
            // It has collapsed to an argument that was left alone.
            let copy = self.fresh(t);
            return self.reduce_term(copy);
        }
        if !function.joined || code == NO_CODE || !self.heap.is_top(&self.theory.symbols, t, sym) {
            return Ok(t);
        }
        let base = self.floor;
        self.reserve(base + 2);
        self.stack[base] = t;
        self.call_code(code)
    }

    /// Runs code whose arguments stand at the floor.
    fn call_code(&mut self, code: u32) -> Result<Term, Interrupt> {
        let base = self.floor;
        self.frames.push(Frame { ret: self.theory.stubs.halt, base: base as u32 });
        self.run(code, base)?;
        Ok(self.stack[base])
    }

    /// Starts an exploration of what a term rewrites to; its number.
    pub fn explore(&mut self, term: Term) -> u32 {
        let mut exploration = self.idle.pop().unwrap_or_else(|| {
            let mut machine = Machine::new(self.theory.clone(), self.cancel.clone());
            machine.depth = self.depth + 1;
            machine.confine(self.memory_max);
            Box::new(Exploration {
                machine,
                steps: Steps::default(),
                states: HashTable::new(),
                given: 0,
                expanded: 0,
            })
        });
        exploration.begin(&self.heap, term);
        self.explorations.push(exploration);
        self.explorations.len() as u32 - 1
    }

    /// The next state of an exploration; one that is over is given up.
    pub fn next_state(&mut self, number: usize) -> Result<Option<Term>, Interrupt> {
        if self.depth > DEPTH_MAX {
            return Err(Interrupt::Depth);
        }
        // Explorations that came later have failed.
        self.idle.extend(self.explorations.drain(number + 1..));
        let exploration = &mut self.explorations[number];
        exploration.machine.rewrites = 0;
        exploration.machine.rule_rewrites = 0;
        exploration.machine.state = self.state.clone();
        exploration.machine.tracer = self.tracer.take();
        let next = exploration.next();
        if self.depth == DEPTH_MAX
            && next.is_err()
            && let Some(rule) = exploration.steps.rule(&exploration.machine)
        {
            self.cancel.blame(self.theory.module.rules[rule as usize].attrs.span);
        }
        self.tracer = exploration.machine.tracer.take();
        self.rewrites += exploration.machine.rewrites;
        self.rule_rewrites += exploration.machine.rule_rewrites;
        self.rules_inside.extend(exploration.machine.rules_inside.drain());
        match next? {
            Some(state) => Ok(Some(self.heap.import(&exploration.machine.heap, state))),
            None => {
                self.idle.extend(self.explorations.pop());
                Ok(None)
            }
        }
    }
}

/// The states reachable from a term, breadth first, each as soon as it is found. It has a
/// machine of its own, so that it can wait while the rule that asks goes on.
pub struct Exploration {
    /// Its `kept` terms are the states.
    machine: Machine,
    steps: Steps,
    states: HashTable<u32>,
    /// How many states have been given to the one who asks.
    given: usize,
    /// How many have been rewritten in all ways, or are being so.
    expanded: usize,
}

impl Exploration {
    fn begin(&mut self, heap: &crate::term::Heap, term: Term) {
        self.machine.reset();
        self.steps = Steps::default();
        self.machine.kept.clear();
        self.states.clear();
        (self.given, self.expanded) = (0, 0);
        let term = self.machine.heap.import(heap, term);
        let term = self.machine.as_state(term);
        self.add(term);
    }

    fn add(&mut self, term: Term) {
        let Machine { heap, theory, kept, .. } = &mut self.machine;
        let sy = &theory.symbols;
        let hash = heap.hash(sy, term);
        if self.states.find(hash, |&i| heap.equal(sy, kept[i as usize], term)).is_none() {
            let number = kept.len() as u32;
            kept.push(term);
            self.states.insert_unique(hash, number, |&i| heap.hash(sy, kept[i as usize]));
        }
    }

    fn next(&mut self) -> Result<Option<Term>, Interrupt> {
        while self.given == self.machine.kept.len() {
            match self.steps.next(&mut self.machine)? {
                Some(step) => {
                    self.machine.rules_inside.insert(step.rule);
                    self.add(step.term);
                }
                None if self.expanded < self.machine.kept.len() => {
                    let state = self.machine.kept[self.expanded];
                    self.steps.begin(&mut self.machine, state);
                    self.expanded += 1;
                }
                None => return Ok(None),
            }
        }
        self.given += 1;
        Ok(Some(self.machine.kept[self.given - 1]))
    }
}
