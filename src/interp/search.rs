//! `search`, `continue` after it, and what `show` says about it.

use std::sync::Arc;

use super::command::since;
use super::matching::{normal_statements, normalize, normalize_condition};
use super::pace::Pace;
use super::rewriting::bounds;
use super::{Host, Interpreter, Last, LineSink, temporal};
use crate::base::{Diagnostic, Exceeded, Interrupt, Name, Severity, Span};
use crate::builtin::BuiltinState;
use crate::graph::{Arrow, Limits, Progress, Search, Watcher};
use crate::mixfix::{self, Grammar, print_condition, print_rule};
use crate::module::{Fragment, Module, Rule, StatementAttrs, unbound_in_query};
use crate::report::{self, Answer, Coverage, Found, SearchReport, Time, progress_text};
use crate::rewrite::Machine;
use crate::sorts::{Node, Tree, Var};
use crate::syntax::tree::{Command, ModuleExpr, Token};
use crate::term::{Symbols, normalize_levels, sort_of_tree};

/// What `rwl search` looks for.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// The current one if there is none.
    pub module: Option<String>,
    pub init: String,
    /// Anything if there is none.
    pub pattern: Option<String>,
    pub condition: Option<String>,
    pub arrow: String,
    pub solutions: Option<u64>,
    pub depth: Option<u64>,
}

/// A search that can go on.
pub(super) struct Searching {
    module: Arc<Module>,
    search: Search,
    arrow: Arrow,
    /// Solutions given so far.
    count: u64,
    is_over: bool,
    /// The query's variables as substitutions list them.
    vars: Vec<Var>,
    /// The module's rules as they are shown.
    rules: Vec<Rule>,
    /// For `rwl search`: what the report begins with.
    report: Option<SearchReport>,
}

/// Why a search ended early.
#[derive(Clone, Copy)]
enum Stop {
    Interrupted(Interrupt),
    TooLarge(&'static str),
}

impl Stop {
    fn unless<T>(work: impl FnOnce() -> Result<T, Interrupt>) -> Result<T, Stop> {
        let too_large = |what| match Exceeded(what) {
            Exceeded::ROOM => Stop::Interrupted(Interrupt::Memory),
            Exceeded::CANCELLED => Stop::Interrupted(Interrupt::Cancelled),
            Exceeded(what) => Stop::TooLarge(what),
        };
        temporal::unless_exceeded(work).map_err(too_large)?.map_err(Stop::Interrupted)
    }
}

impl Interpreter {
    /// One search, with a report at its end.
    pub fn search_once(&mut self, host: &mut dyn Host, request: &SearchRequest) {
        // One answer needs no line to separate it.
        (self.declares_only, self.prompt) = (false, true);
        let Some((module, search)) = self.requested(host, request) else { return };
        let bounds = (request.solutions, request.depth);
        self.unless_too_large(host, |me, host| {
            me.start_search(host, None, module, search, bounds, true);
            Some(())
        });
    }

    /// Reads the request's texts.
    fn requested(
        &mut self,
        host: &mut dyn Host,
        request: &SearchRequest,
    ) -> Option<(Arc<Module>, mixfix::Search)> {
        let module = self.module_argument(host, request.module.as_deref())?;
        let subject = self.term_argument(host, &module, ("--init", &request.init), &[])?;
        let sorts = &module.signature.sorts;
        let kind = sorts.kind_of(sort_of_tree(&module.signature, &Symbols::new(&module.signature), &subject));
        let pattern = match &request.pattern {
            Some(pattern) => self.term_argument(host, &module, ("--pattern", pattern), &[kind])?,
            None => {
                let any = Var { name: Name::new("State"), sort: sorts.at(kind, 0) };
                Tree::leaf(Node::Var(any), Span::default())
            }
        };
        let condition = match &request.condition {
            Some(condition) => self.condition_argument(host, &module, ("--condition", condition))?,
            None => Vec::new(),
        };
        let unbound = unbound_in_query("search", &pattern, &condition, Span::default());
        if !unbound.is_empty() {
            self.say_all(host, unbound);
            return None;
        }
        let arrow = mixfix::Arrow::read(&request.arrow)?;
        Some((module, mixfix::Search { subject, arrow, pattern, condition }))
    }

    pub(super) fn search(
        &mut self,
        host: &mut dyn Host,
        command: &Command,
        limit: Option<u64>,
        depth: Option<u64>,
        expr: Option<&ModuleExpr>,
        body: &[Token],
    ) {
        let parse = |g: &Grammar, m: &Module| g.search(&m.signature, &m.vars, body);
        let Some((module, search)) = self.parsed(host, command, expr, parse) else { return };
        let unbound = unbound_in_query("search", &search.pattern, &search.condition, command.span);
        if !unbound.is_empty() {
            return self.say_all(host, unbound);
        }
        self.start_search(host, Some(command.span), module, search, (limit, depth), false);
    }

    /// `place`: the command, if there is one; `bounds`: how many solutions, and how deep.
    fn start_search(
        &mut self,
        host: &mut dyn Host,
        place: Option<Span>,
        module: Arc<Module>,
        search: mixfix::Search,
        (limit, depth): (Option<u64>, Option<u64>),
        has_report: bool,
    ) {
        let mixfix::Search { subject, arrow, pattern, condition } = search;
        if let Some(var) = subject.vars().first() {
            let message = format!("the search starts from a term with variables such as {}", var.name);
            let span = (0..subject.len())
                .find(|&at| *subject.node(at) == Node::Var(*var))
                .map(|at| subject.span(at));
            let warning = Diagnostic::new(Severity::Warning, "open-subject", message, span)
                .label("rules treat it as a constant that they know nothing of");
            self.say(host, &warning);
        }
        self.forget_last();
        self.begin_profile(&module);
        let trace = self.tracer(host, &module);
        let query = Rule {
            lhs: pattern.clone(),
            rhs: Tree::default(),
            condition: condition.clone(),
            attrs: StatementAttrs::default(),
        };
        let (compiled, making) = self.at_work(&module);
        let mut trees = vec![&subject, &pattern];
        trees.extend(condition.iter().flat_map(Fragment::trees));
        let theory = compiled.with_query(query, trace.is_some(), &trees, &making);
        let mut machine = Machine::new(theory.clone(), making.cancel.clone());
        machine.state = BuiltinState::new(making.random_seed);
        machine.tracer = trace;
        if let Some(bytes) = making.memory_max {
            machine.confine(bytes / 4);
        }
        let subject = normalize_levels(&theory.symbols, &*theory.names, &subject);
        let pattern = normalize(&theory, &pattern);
        let (init, goal) = (self.print_subject(&module, &subject), self.print(&module, &pattern));
        let mut echo =
            format!("search {}in {} : {init} {} {goal}", bounds(limit, depth), module.name, arrow.text());
        let printing = self.options.printing(&module.vars);
        // As Maude shows them: patterns flattened and sorted.
        let mut shown = condition.clone();
        normalize_condition(&theory, &mut shown);
        let such_that = print_condition(&module.signature, &shown, &printing);
        if !condition.is_empty() {
            echo.push_str(&format!(" such that {such_that}"));
        }
        self.echo(host, format!("{echo} ."));
        let report = has_report.then(|| SearchReport {
            module: module.name.to_string(),
            init,
            arrow: arrow.text(),
            pattern: goal,
            condition: (!condition.is_empty()).then_some(such_that),
            depth_max: depth,
            is_brief: self.is_quiet,
            ..SearchReport::default()
        });
        let arrow = match arrow {
            mixfix::Arrow::One => Arrow::One,
            mixfix::Arrow::Plus => Arrow::Plus,
            mixfix::Arrow::Star => Arrow::Star,
            mixfix::Arrow::Bang => Arrow::Final,
        };
        let start = host.time();
        let limits = self.search_limits(&module, machine.tracer.is_some());
        let begin = || Search::new(machine, limits, &subject, arrow, depth);
        let search = match Stop::unless(begin) {
            Ok(search) => search,
            Err(stop) => {
                let reason = Some(self.say_search_stopped(host, place, stop, report.is_some()));
                if let Some(report) = report {
                    let (threads, peak_memory) = (self.setup.threads, host.peak_memory());
                    let time = since(start, host.time());
                    let report =
                        SearchReport { is_brief: true, reason, threads, peak_memory, time, ..report };
                    host.answer(&Answer::SearchReport(Box::new(report)));
                }
                return;
            }
        };
        let rules = normal_statements(&theory).rules;
        let mut vars = pattern.vars();
        for fragment in &shown {
            if let Fragment::Match(pattern, _) | Fragment::Rewrite(_, pattern) = fragment {
                vars.extend(pattern.vars());
            }
        }
        let (count, is_over) = (0, false);
        let searching = Searching { module, search, arrow, count, is_over, vars, rules, report };
        self.search_on(host, place, Box::new(searching), limit, start);
    }

    /// What a search may use.
    fn search_limits(&self, module: &Module, is_traced: bool) -> Limits {
        // Each thread has memo tables of its own, and what they save depends on who came first.
        let has_memo = module.signature.ops().any(|(_, op)| op.memo);
        let threads = if is_traced || has_memo { 1 } else { self.setup.threads };
        let memory_max = self.setup.memory_max;
        Limits { cancel: self.setup.cancel.clone(), threads, memory_max }
    }

    /// `continue` after a search.
    pub(super) fn continue_search(
        &mut self,
        host: &mut dyn Host,
        command: &Command,
        mut searching: Box<Searching>,
        limit: Option<u64>,
    ) {
        let start = host.time();
        searching.search.restart_counts();
        self.search_on(host, Some(command.span), searching, limit, start);
    }

    fn search_on(
        &mut self,
        host: &mut dyn Host,
        place: Option<Span>,
        mut searching: Box<Searching>,
        limit: Option<u64>,
        start: Time,
    ) {
        let end = limit.map(|limit| searching.count + limit);
        self.setup.cancel.note_lengthy(None);
        searching.search.watcher = host.progress_channel().map(|show| watcher(show, searching.search.len()));
        let mut stopped = None;
        let foresee = |host: &mut dyn Host, report: &Option<SearchReport>| {
            let reason = Some("the system had no more memory for rwl");
            let report =
                report.as_ref().map(|report| SearchReport { is_brief: true, reason, ..report.clone() });
            host.last_words(report.map(|report| Answer::SearchReport(Box::new(report))).as_slice());
        };
        foresee(host, &searching.report);
        while end.is_none_or(|end| searching.count < end) {
            match Stop::unless(|| searching.search.next()) {
                Ok(Some(mut solution)) => {
                    searching.count += 1;
                    let place = |var| searching.vars.iter().position(|v| *v == var).unwrap_or(usize::MAX);
                    solution.bindings.sort_by_key(|(var, _)| place(*var));
                    let name =
                        |var| self.print(&searching.module, &Tree::leaf(Node::Var(var), Span::default()));
                    let print = |tree: &Tree| self.print(&searching.module, tree);
                    let bindings = solution.bindings.iter();
                    let found = Found {
                        number: searching.count,
                        state: u64::from(solution.state),
                        substitution: bindings.map(|(var, tree)| (name(*var), print(tree))).collect(),
                        effort: self.search_effort(&searching, since(start, host.time())),
                        is_reported: searching.report.is_some(),
                    };
                    let answer = Answer::Found(found.clone());
                    if let Some(report) = &mut searching.report {
                        report.solutions.push(found);
                    }
                    host.answer(&answer);
                    // Often at first, then rarely, or many solutions would take long.
                    if searching.report.is_some() && searching.count.is_power_of_two() {
                        foresee(host, &searching.report);
                    }
                }
                Ok(None) => {
                    searching.is_over = true;
                    break;
                }
                Err(stop) => {
                    let can_resume = match stop {
                        Stop::Interrupted(why) => {
                            matches!(self.reason(why), Interrupt::Cancelled | Interrupt::Time)
                        }
                        Stop::TooLarge(_) => false,
                    };
                    searching.is_over = !can_resume;
                    stopped = Some(stop);
                    break;
                }
            }
        }
        searching.search.watcher = None;
        let effort = self.search_effort(&searching, since(start, host.time()));
        let mut reason = None;
        if let Some(stop) = stopped {
            let why = self.say_search_stopped(host, place, stop, true);
            reason = Some(why);
            let (depth, is_reported) = (searching.search.depth(), searching.report.is_some());
            host.answer(&Answer::Reached { effort, depth, reason: why, is_reported });
        } else if searching.is_over {
            let (any, is_reported) = (searching.count > 0, searching.report.is_some());
            host.answer(&Answer::Searched { count: searching.count, any, effort, is_reported });
        }
        self.report_search(host, &mut searching, reason, effort.time);
        host.last_words(&[]);
        // What was given up in the middle of a step cannot be asked about.
        let is_usable = !matches!(stopped, Some(Stop::TooLarge(_)));
        self.last = if is_usable { Last::Searching(searching) } else { Last::Nothing };
    }

    /// Tells that a search was stopped; returns why.
    fn say_search_stopped(
        &mut self,
        host: &mut dyn Host,
        place: Option<Span>,
        stop: Stop,
        is_followed: bool,
    ) -> &'static str {
        match stop {
            Stop::Interrupted(interrupt) => self.say_stopped(host, place, interrupt, is_followed),
            Stop::TooLarge(what) => {
                self.say_too_large(host, place, what);
                what
            }
        }
    }

    fn search_effort(&self, searching: &Searching, time: Time) -> crate::report::Effort {
        let mut effort = self.effort(searching.search.rewrites(), time);
        effort.rules = searching.search.rule_rewrites();
        effort.states = Some(u64::from(searching.search.len()));
        effort
    }

    /// What `rwl search` adds: how often each rule was applied, and what that means.
    fn report_search(
        &mut self,
        host: &mut dyn Host,
        searching: &mut Searching,
        reason: Option<&'static str>,
        time: Time,
    ) {
        let report = searching.report.take();
        if report.is_none() && !self.is_verbose {
            return;
        }
        let search = &searching.search;
        let module = &searching.module;
        let is_exhaustive = searching.is_over && reason.is_none() && search.is_complete();
        let warnings = if is_exhaustive { unused_rules(module, search) } else { Vec::new() };
        let Some(mut report) = report else {
            if is_exhaustive && searching.arrow == Arrow::Final && search.finals() == 0 {
                let states = report::all(search.len().into());
                let message = format!("a rule applies to {states}: none is final");
                self.say(host, &Diagnostic::new(Severity::Advisory, "no-final-states", message, None));
            }
            for mut warning in warnings {
                warning.severity = Severity::Advisory;
                self.say(host, &warning);
            }
            return;
        };
        for (number, (rule, &fired)) in (0..).zip(module.rules.iter().zip(search.fired())) {
            if rule.attrs.nonexec {
                continue;
            }
            let printing = self.options.printing(&module.vars);
            let own = rule.attrs.label;
            let is_shared = module.rules.iter().filter(|other| other.attrs.label == own).count() > 1;
            let line = self.sources.line_column(rule.attrs.span.file, rule.attrs.span.start).0;
            let text = match own {
                Some(label) if is_shared => format!("{label} (line {line})"),
                Some(label) => label.to_string(),
                None => print_rule(&module.signature, rule, &printing),
            };
            report.coverage.push(Coverage { rule: text, fired, is_inside: search.is_applied_inside(number) });
        }
        report.states = u64::from(search.len());
        report.rewrites = search.rewrites();
        report.time = time;
        report.depth = search.depth();
        report.finals = (searching.arrow == Arrow::Final).then_some(search.finals());
        report.transitions = search.fired().iter().sum();
        report.is_partial = !searching.is_over;
        report.is_exhaustive = is_exhaustive;
        report.threads = self.setup.threads;
        report.peak_memory = host.peak_memory();
        report.reason = reason;
        host.answer(&Answer::SearchReport(Box::new(report)));
        self.say_all(host, warnings);
    }

    /// `show path N`, `show path labels N`, `show path states N`.
    pub(super) fn show_path(&mut self, host: &mut dyn Host, command: &Command, words: &[Token]) {
        let texts: Vec<&str> = words.iter().map(|token| token.name.as_str()).collect();
        let (what, number) = match texts.as_slice() {
            ["labels" | "label", number] => ("labels", number),
            ["states" | "state", number] => ("states", number),
            [number] => ("all", number),
            _ => ("all", &""),
        };
        // A number that is too long is not that of a state either.
        let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
        let parsed = number.parse::<u64>().ok().or(is_number.then_some(u64::MAX));
        let Some(state) = parsed else {
            let bad = Diagnostic::error("bad-show", "`show path` needs the number of a state", command.span);
            return self
                .say(host, &bad.hint("`show path 5 .`, `show path labels 5 .` or `show path states 5 .`"));
        };
        let Some(mut searching) = self.take_search(host, command) else { return };
        let Searching { module, search, rules, .. } = &mut *searching;
        if state >= u64::from(search.len()) {
            let message = format!("there is no state {number}");
            let bad = Diagnostic::error("no-state", message, command.span);
            let bad = bad.hint(format!("the last state that the search has found is {}", search.len() - 1));
            self.last = Last::Searching(searching);
            return self.say(host, &bad);
        }
        let path = search.path(state as u32);
        let mut out = String::new();
        let mut outcome = Ok(());
        for (i, &state) in path.iter().enumerate() {
            if what != "labels" {
                out.push_str(&self.state_line(module, search, state));
            }
            let Some(&child) = path.get(i + 1) else { break };
            if what == "states" {
                continue;
            }
            let arcs = match search.arcs(state) {
                Ok(arcs) => arcs,
                Err(interrupt) => {
                    outcome = Err(interrupt);
                    break;
                }
            };
            let rule = arcs.iter().find(|(target, _)| *target == child).and_then(|(_, rules)| rules.first());
            let rule = &rules[*rule.expect("a step leads to each state") as usize];
            let printing = self.options.printing(&module.vars);
            let text = print_rule(&module.signature, rule, &printing);
            match rule.attrs.label {
                _ if what == "all" => out.push_str(&format!("===[ {text} ]===>\n")),
                Some(label) => out.push_str(&format!("{label}\n")),
                None => out.push_str("(unlabeled rule)\n"),
            }
        }
        if what == "labels" && path.len() == 1 {
            out.push_str("Empty path.\n");
        }
        host.answer(&Answer::Text(out));
        self.last = Last::Searching(searching);
        if let Err(interrupt) = outcome {
            self.stopped(host, command, interrupt);
        }
    }

    /// `show search graph`.
    pub(super) fn show_graph(&mut self, host: &mut dyn Host, command: &Command) {
        let Some(mut searching) = self.take_search(host, command) else { return };
        let Searching { module, search, rules, .. } = &mut *searching;
        let mut outcome = Ok(());
        for state in 0..search.len() {
            let mut out = if state == 0 { String::new() } else { "\n".to_owned() };
            out.push_str(&self.state_line(module, search, state));
            let arcs = match search.arcs(state) {
                Ok(arcs) => arcs,
                Err(interrupt) => {
                    outcome = Err(interrupt);
                    break;
                }
            };
            for (i, (target, by)) in arcs.iter().enumerate() {
                let printing = self.options.printing(&module.vars);
                let text = |&rule: &u32| {
                    format!(" ({})", print_rule(&module.signature, &rules[rule as usize], &printing))
                };
                let texts: String = by.iter().map(text).collect();
                out.push_str(&format!("arc {i} ===> state {target}{texts}\n"));
            }
            host.answer(&Answer::Text(out));
        }
        self.last = Last::Searching(searching);
        if let Err(interrupt) = outcome {
            self.stopped(host, command, interrupt);
        }
    }

    fn state_line(&self, module: &Module, search: &mut Search, state: u32) -> String {
        let (tree, sort) = search.term(state);
        format!("state {state}, {}: {}\n", module.signature.sorts.name(sort), self.print(module, &tree))
    }

    fn take_search(&mut self, host: &mut dyn Host, command: &Command) -> Option<Box<Searching>> {
        match std::mem::take(&mut self.last) {
            Last::Searching(searching) => Some(searching),
            other => {
                self.last = other;
                let none = Diagnostic::error("no-search", "there is no search to show", command.span);
                self.say(host, &none.hint("`search` first; any other command that computes forgets it"));
                None
            }
        }
    }

    /// `continue`.
    pub(super) fn continue_last(&mut self, host: &mut dyn Host, command: &Command, limit: Option<u64>) {
        match std::mem::take(&mut self.last) {
            Last::Rewriting(rewriting) => self.continue_rewriting(host, command, rewriting, limit),
            Last::Solving(solving) => {
                let start = host.time();
                self.solve(host, command, solving, limit, start);
            }
            Last::Searching(searching) if !searching.is_over => {
                self.continue_search(host, command, searching, limit);
            }
            other => {
                let bad = Diagnostic::error("cannot-continue", "there is nothing to continue", command.span);
                let hint = match &other {
                    Last::Nothing => {
                        "`rewrite`, `frewrite`, `search` or `match` first, with a bound such as `search [1]`"
                    }
                    Last::Broken => "the last command was stopped in the middle of a step",
                    _ => "the last search has come to its end",
                };
                self.last = other;
                self.say(host, &bad.hint(hint));
            }
        }
    }
}

/// Writes a line about the search now and then. `known`: the states that were there before.
fn watcher(mut show: LineSink, known: u32) -> Watcher {
    let mut pace = Pace::new();
    Box::new(move |progress| {
        if let Some(time) = pace.beat() {
            let Progress { states, explored, depth } = *progress;
            let rate = (f64::from(states - known) / time.as_secs_f64()) as u64;
            show(&progress_text(u64::from(states), rate, u64::from(explored), depth));
        }
    })
}

/// A warning for each rule that could be applied but never was.
fn unused_rules(module: &Module, search: &Search) -> Vec<Diagnostic> {
    let unused = |(number, rule): (u32, &Rule)| {
        let is_applied = search.fired()[number as usize] > 0 || search.is_applied_inside(number);
        if is_applied || rule.attrs.nonexec {
            return None;
        }
        let name = rule.attrs.label.map_or_else(|| "a rule".to_owned(), |label| format!("rule {label}"));
        let message = format!("{name} is never applied");
        Some(Diagnostic::warning("unused-rule", message, rule.attrs.span).label("not in any reachable state"))
    };
    (0..).zip(&module.rules).filter_map(unused).collect()
}
