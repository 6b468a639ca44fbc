//! The profiler: how often each statement and each built-in operator was used, counted by watching
//! the machine as a trace does.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Interpreter, Options};
use crate::mixfix::{print_equation, print_membership, print_rule};
use crate::module::{Fragment, Module};
use crate::rewrite::{StatementEvent, TraceEvent};
use crate::theory::{TraceKind, TraceStep};

/// The counts of one module.
pub struct Profile {
    module: Arc<Module>,
    /// By operator.
    ops: Vec<Uses>,
    memberships: Vec<Count>,
    equations: Vec<Count>,
    rules: Vec<Count>,
}

/// Rewrites of an operator without statements.
#[derive(Clone, Default)]
struct Uses {
    builtin: u64,
    memo: u64,
    counter: u64,
}

/// What happened to a statement.
#[derive(Clone, Default)]
struct Count {
    matches: u64,
    rewrites: u64,
    fragments: Vec<Tries>,
}

#[derive(Clone, Default)]
struct Tries {
    initial: u64,
    again: u64,
    successes: u64,
    failures: u64,
}

impl Profile {
    fn new(module: Arc<Module>) -> Profile {
        let count = |condition: &Vec<Fragment>| Count {
            fragments: vec![Tries::default(); condition.len()],
            ..Count::default()
        };
        Profile {
            ops: vec![Uses::default(); module.signature.ops().count()],
            memberships: module.memberships.iter().map(|mb| count(&mb.condition)).collect(),
            equations: module.equations.iter().map(|eq| count(&eq.condition)).collect(),
            rules: module.rules.iter().map(|rule| count(&rule.condition)).collect(),
            module,
        }
    }

    /// Notes what the machine tells.
    pub fn note(&mut self, event: &TraceEvent) {
        match event {
            TraceEvent::Statement(event) => self.note_statement(event),
            TraceEvent::Builtin(event) => {
                let sym = event.heap.sym(&event.theory.symbols, event.redex);
                self.ops[sym as usize].builtin += 1;
            }
            TraceEvent::Memo(event) => {
                let sym = event.heap.sym(&event.theory.symbols, event.redex);
                self.ops[sym as usize].memo += 1;
            }
            TraceEvent::Start(..) | TraceEvent::Explore { .. } | TraceEvent::Place(_) => {}
            TraceEvent::Counter(sym) => self.ops[*sym as usize].counter += 1,
        }
    }

    fn note_statement(&mut self, event: &StatementEvent) {
        let counts = match event.point.kind {
            TraceKind::Membership => &mut self.memberships,
            TraceKind::Equation => &mut self.equations,
            TraceKind::Rule => &mut self.rules,
        };
        let count = &mut counts[event.point.index];
        match event.point.step {
            TraceStep::Apply => count.rewrites += 1,
            TraceStep::Trial => count.matches += 1,
            TraceStep::Solve(i) => count.fragments[i].initial += 1,
            TraceStep::SolveAgain(i) => count.fragments[i].again += 1,
            TraceStep::Succeeds(i) => count.fragments[i].successes += 1,
            TraceStep::Fails(i) => count.fragments[i].failures += 1,
            TraceStep::TrialSucceeds | TraceStep::TrialGoesOn | TraceStep::TrialFails => {}
        }
    }

    fn total(&self) -> u64 {
        let ops = self.ops.iter().map(|uses| uses.builtin + uses.memo + uses.counter);
        let statements = self.memberships.iter().chain(&self.equations).chain(&self.rules);
        ops.chain(statements.map(|count| count.rewrites)).sum()
    }

    /// The text of `show profile`; `shown` is the module with its statements as they are shown.
    fn text(&self, shown: &Module, options: &Options) -> String {
        let (sig, total) = (&shown.signature, self.total());
        let printing = options.printing(&shown.vars);
        let mut out = String::new();
        for ((_, op), uses) in sig.ops().zip(&self.ops) {
            let lines = [("built-in eq", uses.builtin), ("built-in rl", uses.counter), ("memo", uses.memo)];
            if lines.iter().all(|line| line.1 == 0) {
                continue;
            }
            let domain: String =
                op.domain.iter().map(|&kind| format!("{} ", sig.sorts.kind(kind).name)).collect();
            let _ = writeln!(out, "op {} : {domain}-> {} .", op.name, sig.sorts.kind(op.range).name);
            for (what, count) in lines.into_iter().filter(|line| line.1 > 0) {
                let _ = writeln!(out, "{what} rewrites: {count} ({}%)", percentage(count, total));
            }
            out.push('\n');
        }
        let mut statement = |count: &Count, text: &dyn Fn() -> String| {
            if count.matches > 0 || count.rewrites > 0 {
                let _ = write!(out, "{}\n{}\n", text(), count.text(total));
            }
        };
        for (count, mb) in self.memberships.iter().zip(&shown.memberships) {
            statement(count, &|| print_membership(sig, mb, &printing));
        }
        for (count, eq) in self.equations.iter().zip(&shown.equations) {
            statement(count, &|| print_equation(sig, eq, &printing));
        }
        for (count, rule) in self.rules.iter().zip(&shown.rules) {
            statement(count, &|| print_rule(sig, rule, &printing));
        }
        out
    }
}

impl Count {
    fn text(&self, total: u64) -> String {
        let mut out = String::new();
        if !self.fragments.is_empty() {
            let _ = write!(out, "lhs matches: {}\t", self.matches);
        }
        let _ = writeln!(out, "rewrites: {} ({}%)", self.rewrites, percentage(self.rewrites, total));
        if !self.fragments.is_empty() {
            out.push_str("Fragment\tInitial tries\tResolve tries\tSuccesses\tFailures\n");
        }
        for (number, tries) in self.fragments.iter().enumerate() {
            let Tries { initial, again, successes, failures } = tries;
            let _ = writeln!(out, "{}\t\t{initial}\t\t{again}\t\t{successes}\t\t{failures}", number + 1);
        }
        out
    }
}

/// With six significant digits, as C++ prints it.
fn percentage(count: u64, total: u64) -> String {
    if count == 0 {
        return "0".to_owned();
    }
    let value = 100.0 * count as f64 / total as f64;
    let digits = (5 - value.log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

impl Interpreter {
    /// A command begins: older counts are forgotten, unless the user wants to keep them.
    pub(super) fn begin_profile(&mut self, module: &Arc<Module>) {
        if self.options.clear_profile {
            self.profiles.remove(&module.name);
        }
    }

    /// Where the rewrites of a module are counted.
    pub(super) fn profile(&mut self, module: &Arc<Module>) -> Arc<Mutex<Profile>> {
        let is_same = |old: &Arc<Mutex<Profile>>| {
            Arc::ptr_eq(&old.lock().unwrap_or_else(PoisonError::into_inner).module, module)
        };
        if let Some(old) = self.profiles.get(&module.name).filter(|old| is_same(old)) {
            return old.clone();
        }
        let new = Arc::new(Mutex::new(Profile::new(module.clone())));
        self.profiles.insert(module.name, new.clone());
        new
    }

    /// What `show profile` shows of a module; `shown` has the statements as they are shown.
    pub(super) fn profile_text(&mut self, module: &Arc<Module>, shown: &Module) -> String {
        let profile = self.profile(module);
        let profile = profile.lock().unwrap_or_else(PoisonError::into_inner);
        profile.text(shown, &self.options)
    }
}

#[cfg(test)]
mod tests {
    use super::percentage;

    #[test]
    fn percentages_have_six_digits() {
        let check = |count, total, expected: &str| assert_eq!(percentage(count, total), expected);
        check(4, 30, "13.3333");
        check(1, 15, "6.66667");
        check(1, 4, "25");
        check(0, 4, "0");
        check(7, 7, "100");
        check(1, 3000, "0.0333333");
        check(1, 27, "3.7037");
    }
}
