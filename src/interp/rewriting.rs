//! `rewrite`, `frewrite`, and `continue` after them.

use std::sync::Arc;

use super::command::since;
use super::{Host, Interpreter};
use crate::base::Interrupt;
use crate::mixfix::Grammar;
use crate::module::Module;
use crate::report::{Answer, Time};
use crate::rewrite::{Fair, Machine, Steps, Turns};
use crate::syntax::tree::{Command, ModuleExpr, Token};
use crate::term::{Term, normalize_levels};

/// Rewriting that can go on: its terms are the machine's `kept` terms.
pub(super) struct Rewriting {
    module: Arc<Module>,
    machine: Machine,
    /// The machine comes from the module's and goes back there.
    age: u64,
    is_traced: bool,
    turns: Turns,
    way: Way,
    input: String,
}

enum Way {
    /// Rules at the first position that has one, the whole term kept first.
    Plain,
    Fair(Fair),
}

impl Way {
    fn word(&self) -> &'static str {
        match self {
            Way::Plain => "rewrite",
            Way::Fair(_) => "frewrite",
        }
    }
}

impl Rewriting {
    /// Makes at most so many steps.
    fn run(&mut self, limit: Option<u64>) -> Result<Term, Interrupt> {
        let Rewriting { machine, turns, .. } = self;
        match &mut self.way {
            Way::Plain => {
                let mut steps = Steps::default();
                let mut left = limit.unwrap_or(u64::MAX);
                while left > 0
                    && let Some(step) = steps.first(machine, machine.kept[0], turns)?
                {
                    machine.kept[0] = step.term;
                    left -= 1;
                }
                Ok(machine.kept[0])
            }
            Way::Fair(fair) => {
                fair.run(machine, turns, limit)?;
                fair.term(machine)
            }
        }
    }
}

impl Interpreter {
    /// `gas`: as for `frewrite`; `None` for `rewrite`.
    pub(super) fn rewrite(
        &mut self,
        host: &mut dyn Host,
        command: &Command,
        limit: Option<u64>,
        gas: Option<Option<u64>>,
        expr: Option<&ModuleExpr>,
        term: &[Token],
    ) {
        let parse = |g: &Grammar, m: &Module| g.term(&m.signature, &m.vars, term, &[]);
        let Some((module, tree)) = self.parsed(host, command, expr, parse) else { return };
        self.forget_last();
        self.begin_profile(&module);
        let trace = self.tracer(host, &module);
        let (clear_memo, clear_rules) = (self.options.clear_memo, self.options.clear_rules);
        let (compiled, making) = self.at_work(&module);
        if clear_memo {
            compiled.clear_memo();
        }
        let theory = compiled.machine(trace.is_some(), &[&tree], &making).theory.clone();
        let tree = normalize_levels(&theory.symbols, &*theory.names, &tree);
        let input = self.print_subject(&module, &tree);
        let word = if gas.is_some() { "frewrite" } else { "rewrite" };
        let bounds = bounds(limit, gas.flatten());
        self.echo(host, format!("{word} {bounds}in {} : {input} .", module.name));
        let start = host.time();
        let (compiled, making) = self.at_work(&module);
        let (mut machine, age) = compiled.take_machine(trace.is_some(), &making);
        let turns = std::mem::take(&mut compiled.turns);
        machine.state.counter = compiled.counter;
        machine.reset();
        machine.kept.clear();
        (machine.rewrites, machine.rule_rewrites) = (0, 0);
        let is_traced = trace.is_some();
        machine.tracer = trace;
        let mut rewriting = Rewriting { module, machine, age, is_traced, turns, way: Way::Plain, input };
        if clear_rules {
            rewriting.turns = Turns::default();
            rewriting.machine.state.counter = 0;
        }
        let term = match rewriting.machine.reduce(&tree) {
            Ok(term) => term,
            Err(interrupt) => {
                self.last = super::Last::Broken;
                return self.stopped(host, command, interrupt);
            }
        };
        match gas {
            Some(gas) => rewriting.way = Way::Fair(Fair::new(&mut rewriting.machine, term, gas.unwrap_or(1))),
            None => rewriting.machine.kept.push(term),
        }
        self.go_on(host, command, Box::new(rewriting), limit, start);
    }

    /// `continue` after a rewriting command.
    pub(super) fn continue_rewriting(
        &mut self,
        host: &mut dyn Host,
        command: &Command,
        mut rewriting: Box<Rewriting>,
        limit: Option<u64>,
    ) {
        let trace = self.tracer(host, &rewriting.module);
        if trace.is_some() != rewriting.is_traced {
            // The terms move to a machine that can, or need not, be watched.
            let (was_traced, age) = (rewriting.is_traced, rewriting.age);
            let old = self.change_machine(&mut rewriting, trace.is_some());
            self.compiled(&rewriting.module).give_back(old, was_traced, age);
        }
        rewriting.machine.tracer = trace;
        (rewriting.machine.rewrites, rewriting.machine.rule_rewrites) = (0, 0);
        let start = host.time();
        self.go_on(host, command, rewriting, limit, start);
    }

    /// Moves the terms to another machine; gives the one that they were in.
    fn change_machine(&mut self, rewriting: &mut Rewriting, is_traced: bool) -> Machine {
        let (compiled, making) = self.at_work(&rewriting.module);
        let (mut machine, age) = compiled.take_machine(is_traced, &making);
        machine.reset();
        machine.kept.clear();
        let old = &rewriting.machine;
        for &term in &old.kept {
            let term = machine.heap.import(&old.heap, term);
            machine.kept.push(term);
        }
        machine.state = old.state.clone();
        (rewriting.is_traced, rewriting.age) = (is_traced, age);
        std::mem::replace(&mut rewriting.machine, machine)
    }

    fn go_on(
        &mut self,
        host: &mut dyn Host,
        command: &Command,
        mut rewriting: Box<Rewriting>,
        limit: Option<u64>,
        start: Time,
    ) {
        let outcome = rewriting.run(limit);
        rewriting.machine.tracer = None;
        let time = since(start, host.time());
        match outcome {
            Ok(value) => {
                let Rewriting { module, machine, .. } = &*rewriting;
                let (result, sort) = (machine.to_tree(value), machine.sort_of(value));
                let mut effort = self.effort(machine.rewrites, time);
                effort.rules = machine.rule_rewrites;
                let term = self.print(module, &result);
                let sort = module.signature.sorts.name(sort).to_string();
                let (module, input) = (module.name.to_string(), rewriting.input.clone());
                let command = rewriting.way.word();
                host.answer(&Answer::Result { command, module, input, sort, term, effort });
                self.last = super::Last::Rewriting(rewriting);
            }
            Err(interrupt) => {
                let reason = self.say_stopped(host, Some(command.span), interrupt, true);
                self.say_reached(host, rewriting, (interrupt, reason), time);
            }
        }
    }

    /// How far an interrupted command came: the term after the last whole step or, in fair rewriting,
    /// after the last whole traversal or step at the top.
    fn say_reached(
        &mut self,
        host: &mut dyn Host,
        mut rewriting: Box<Rewriting>,
        (interrupt, reason): (Interrupt, &'static str),
        time: Time,
    ) {
        if let Rewriting { machine, way: Way::Fair(fair), .. } = &mut *rewriting {
            fair.restart(machine);
        }
        let Rewriting { module, machine, way, .. } = &*rewriting;
        let mut effort = self.effort(machine.rewrites, time);
        effort.rules = machine.rule_rewrites;
        let (tree, sort) = (machine.to_tree(machine.kept[0]), machine.sort_of(machine.kept[0]));
        let term = Some((module.signature.sorts.name(sort).to_string(), self.print(module, &tree)));
        let (command, module) = (way.word(), module.name.to_string());
        host.answer(&Answer::Partial { command, module, effort, reason, term });
        if interrupt == Interrupt::Cancelled {
            // The machine stopped in the middle of its work.
            let is_traced = rewriting.is_traced;
            self.change_machine(&mut rewriting, is_traced);
            self.last = super::Last::Rewriting(rewriting);
        } else {
            self.last = super::Last::Broken;
        }
    }

    /// A new command makes the last one impossible to continue.
    pub(super) fn forget_last(&mut self) {
        if let super::Last::Rewriting(rewriting) = std::mem::take(&mut self.last) {
            let Rewriting { module, machine, age, is_traced, turns, .. } = *rewriting;
            let compiled = self.compiled(&module);
            compiled.counter = machine.state.counter;
            compiled.give_back(machine, is_traced, age);
            compiled.turns = turns;
        }
    }
}

/// `[n, m] `, as far as it was given.
pub(super) fn bounds(first: Option<u64>, second: Option<u64>) -> String {
    match (first, second) {
        (None, None) => String::new(),
        (Some(n), None) => format!("[{n}] "),
        (None, Some(m)) => format!("[, {m}] "),
        (Some(n), Some(m)) => format!("[{n}, {m}] "),
    }
}
