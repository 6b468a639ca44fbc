//! Tracing: what `set trace on` and `set print attribute on` say while a term is rewritten.

use std::sync::{Arc, PoisonError};

use num_bigint::BigUint;
use rustc_hash::FxHashMap;

use super::matching::{normalize, normalize_condition};
use super::whole::{Change, Contractum, Rest, Trial, Value, Whole};
use super::{Host, Interpreter, Options};
use crate::mixfix::{print, print_condition, print_equation, print_membership, print_rule};
use crate::module::{Module, PrintItem, StatementAttrs};
use crate::report::substitution_text;
use crate::rewrite::{BuiltinEvent, StatementEvent, TraceEvent, Tracer};
use crate::sorts::{Node, Tree, Var};
use crate::term::{Class, normalize_levels};
use crate::theory::{TraceKind, TraceStep};

impl Interpreter {
    /// The watcher for the next command, if the options ask for one.
    pub(super) fn tracer(&mut self, host: &mut dyn Host, module: &Arc<Module>) -> Option<Tracer> {
        let options = &self.options;
        let traced = options.trace.on && !options.trace.excluded.contains(&module.name);
        if !traced && !options.print.attribute && !options.profile {
            return None;
        }
        let mut say = host.side_channel();
        let profile = options.profile.then(|| self.profile(module));
        let options = self.options.clone();
        let mut trials = Trials::default();
        let mut whole = Whole::default();
        Some(Box::new(move |event: &TraceEvent| {
            if let Some(profile) = &profile {
                profile.lock().unwrap_or_else(PoisonError::into_inner).note(event);
            }
            let mut out = String::new();
            match event {
                TraceEvent::Statement(event) => {
                    if options.print.attribute && event.point.step == TraceStep::Apply {
                        print_attribute(&options, event, &mut out);
                    }
                    if traced {
                        trials.trace(&options, event, &mut whole, &mut out);
                    }
                }
                TraceEvent::Builtin(event) if traced => {
                    let change = computed(&mut whole, event);
                    if !trials.hides(&options) {
                        trace_builtin(&options, event, "built-in equation", &change, &mut out);
                    }
                }
                TraceEvent::Memo(event) if traced => {
                    let change = computed(&mut whole, event);
                    if !trials.hides(&options) {
                        trace_builtin(&options, event, "memo table lookup", &change, &mut out);
                    }
                }
                TraceEvent::Start(theory, tree) if traced => whole.start(theory, tree),
                TraceEvent::Explore { heap, theory, term, each_alone } if traced => {
                    whole.explore(heap.to_tree(&theory.symbols, *term), *each_alone);
                }
                TraceEvent::Place(path) if traced => whole.visit(path),
                _ => {}
            }
            if !out.is_empty() {
                say(&out);
            }
        }))
    }
}

fn computed(whole: &mut Whole, event: &BuiltinEvent) -> Change {
    let [redex, result] =
        [event.redex, event.result].map(|term| event.heap.to_tree(&event.theory.symbols, term));
    whole.reduce(event.theory, &redex, &Contractum::Value(&result))
}

fn attrs<'a>(event: &StatementEvent<'a>) -> &'a StatementAttrs {
    let module = &event.theory.module;
    match event.point.kind {
        TraceKind::Equation => &module.equations[event.point.index].attrs,
        TraceKind::Membership => &module.memberships[event.point.index].attrs,
        TraceKind::Rule => &module.rules[event.point.index].attrs,
    }
}

fn value(event: &StatementEvent, var: Var) -> Option<Tree> {
    let (_, register) = event.point.vars.iter().find(|(v, _)| *v == var)?;
    let term = *event.registers.get(*register as usize)?;
    (!term.is_none()).then(|| event.heap.to_tree(&event.theory.symbols, term))
}

/// The values of a statement's variables that have one.
fn values(event: &StatementEvent) -> Vec<Value> {
    let pair = |&(var, register): &(Var, u16)| {
        let term = *event.registers.get(register as usize)?;
        Some((var, value(event, var)?, !event.heap.is_unreduced(term)))
    };
    event.point.vars.iter().filter_map(pair).collect()
}

/// The items of a statement's `print` attribute.
fn print_attribute(options: &Options, event: &StatementEvent, out: &mut String) {
    let Some(items) = &attrs(event).print else { return };
    let module = &event.theory.module;
    let printing = options.printing(&module.vars);
    for item in items {
        match item {
            PrintItem::Text(text) => out.push_str(text),
            PrintItem::Var(var) => match value(event, *var) {
                Some(tree) => out.push_str(&print(&module.signature, &tree, &printing)),
                None => out.push_str("(unbound)"),
            },
        }
    }
    if options.print.attribute_newline {
        out.push('\n');
    }
}

/// The trials of conditional statements that are under way, inner ones last: their numbers, or
/// nothing for those that are not shown.
#[derive(Default)]
struct Trials {
    open: Vec<Option<u32>>,
    /// Rules that have succeeded and may be asked for more, by place.
    waiting: FxHashMap<(usize, usize), (Option<u32>, Trial)>,
    count: u32,
}

impl Trials {
    /// Is what happens now inside a condition, and not to be shown?
    fn hides(&self, options: &Options) -> bool {
        !options.trace.condition && !self.open.is_empty()
    }

    fn trace(&mut self, options: &Options, event: &StatementEvent, whole: &mut Whole, out: &mut String) {
        let module = &event.theory.module;
        let wanted = match event.point.kind {
            TraceKind::Equation => options.trace.eq,
            TraceKind::Membership => options.trace.mb,
            TraceKind::Rule => options.trace.rl,
        };
        let shown = wanted && (!options.trace.select || is_selected(options, event)) && !self.hides(options);
        let condition = match event.point.kind {
            TraceKind::Equation => &module.equations[event.point.index].condition,
            TraceKind::Membership => &module.memberships[event.point.index].condition,
            TraceKind::Rule => &module.rules[event.point.index].condition,
        };
        let (title, number) = match event.point.step {
            TraceStep::Apply => {
                let change = apply(event, !condition.is_empty(), whole);
                if shown {
                    trace(options, event, change, whole, out);
                }
                return;
            }
            TraceStep::Trial => {
                whole.try_condition(Trial::default());
                self.count += u32::from(shown);
                self.open.push(shown.then_some(self.count));
                if shown {
                    let text = statement_text(options, event);
                    out.push_str(&format!("*********** trial #{}\n{text}\n", self.count));
                    substitution(options, event, out);
                }
                return;
            }
            TraceStep::TrialSucceeds | TraceStep::TrialFails => {
                let fails = event.point.step == TraceStep::TrialFails;
                let number = self.open.pop().flatten();
                let trial = whole.end_trial();
                if !fails && event.point.kind == TraceKind::Rule {
                    self.waiting.insert(event.place, (number, trial));
                }
                if let Some(number) = number {
                    let word = if fails { "failure" } else { "success" };
                    out.push_str(&format!("*********** {word} #{number}\n"));
                }
                return;
            }
            TraceStep::TrialGoesOn => {
                let (number, trial) = self.waiting.remove(&event.place).unwrap_or_default();
                self.open.push(number);
                whole.try_condition(trial);
                return;
            }
            TraceStep::Solve(number) => {
                whole.solve(event.theory, number, &condition[number], &values(event));
                ("solving", number)
            }
            TraceStep::SolveAgain(number) => {
                whole.solve_again(number);
                ("re-solving", number)
            }
            TraceStep::Succeeds(number) => ("success for", number),
            TraceStep::Fails(number) => ("failure for", number),
        };
        if self.open.last().is_some_and(Option::is_some) {
            let mut fragment = [condition[number].clone()];
            normalize_condition(event.theory, &mut fragment);
            let text = print_condition(&module.signature, &fragment, &options.printing(&module.vars));
            out.push_str(&format!("*********** {title} condition fragment\n{text}\n"));
            if matches!(event.point.step, TraceStep::Succeeds(_)) {
                substitution(options, event, out);
            }
        }
    }
}

/// A step `by` something else than an equation.
fn trace_builtin(options: &Options, event: &BuiltinEvent, by: &str, change: &Change, out: &mut String) {
    let module = &event.theory.module;
    let sig = &module.signature;
    let Some(op) = change.redex.node(change.redex.root()).op() else { return };
    let name = sig.op(op).name;
    let selected = !options.trace.select || options.trace.selected.contains(&name);
    if !options.trace.eq || !options.trace.builtin || !selected {
        return;
    }
    if options.trace.body {
        out.push_str("*********** equation\n");
    }
    // Maude joins the name of a sort test from two tokens.
    let name = name.to_string().replacen("_::", "_::`", 1);
    out.push_str(&format!("({by} for symbol {name})\n"));
    show_change(options, module, change, out);
}

/// The redex and what takes its place, and the whole around them, as far as wanted.
fn show_change(options: &Options, module: &Module, change: &Change, out: &mut String) {
    let printing = options.printing(&module.vars);
    let show = |tree: &Tree| print(&module.signature, tree, &printing);
    if options.trace.whole {
        out.push_str(&format!("Old: {}\n", show(&change.old)));
    }
    if options.trace.rewrite {
        out.push_str(&format!("{}\n--->\n{}\n", show(&change.redex), show(&change.contractum)));
    }
    if options.trace.whole {
        out.push_str(&format!("New: {}\n", show(&change.new)));
    }
}

fn statement_text(options: &Options, event: &StatementEvent) -> String {
    let module = &event.theory.module;
    let (sig, printing) = (&module.signature, options.printing(&module.vars));
    // As Maude keeps them: patterns flattened, other terms normal level by level.
    match event.point.kind {
        TraceKind::Equation => {
            let mut eq = module.equations[event.point.index].clone();
            eq.lhs = normalize(event.theory, &eq.lhs);
            eq.rhs = normalize_levels(&event.theory.symbols, &*event.theory.names, &eq.rhs);
            normalize_condition(event.theory, &mut eq.condition);
            print_equation(sig, &eq, &printing)
        }
        TraceKind::Membership => {
            let mut mb = module.memberships[event.point.index].clone();
            mb.term = normalize(event.theory, &mb.term);
            normalize_condition(event.theory, &mut mb.condition);
            print_membership(sig, &mb, &printing)
        }
        TraceKind::Rule => {
            let mut rule = module.rules[event.point.index].clone();
            rule.lhs = normalize(event.theory, &rule.lhs);
            rule.rhs = normalize_levels(&event.theory.symbols, &*event.theory.names, &rule.rhs);
            normalize_condition(event.theory, &mut rule.condition);
            print_rule(sig, &rule, &printing)
        }
    }
}

/// The variables with their values, if wanted.
fn substitution(options: &Options, event: &StatementEvent, out: &mut String) {
    if !options.trace.substitution {
        return;
    }
    let module = &event.theory.module;
    let printing = options.printing(&module.vars);
    let show = |tree: &Tree| print(&module.signature, tree, &printing);
    let pair = |&(var, _): &(Var, u16)| {
        let name = show(&Tree::leaf(Node::Var(var), attrs(event).span));
        (name, value(event, var).map_or_else(|| "(unbound)".to_owned(), |tree| show(&tree)))
    };
    let substitution: Vec<(String, String)> = event.point.vars.iter().map(pair).collect();
    out.push_str(&substitution_text(&substitution));
}

/// What an equation or rule that is applied does to the whole.
fn apply(event: &StatementEvent, is_conditional: bool, whole: &mut Whole) -> Option<Change> {
    let module = &event.theory.module;
    let rhs = match event.point.kind {
        TraceKind::Equation => &module.equations[event.point.index].rhs,
        TraceKind::Rule => &module.rules[event.point.index].rhs,
        TraceKind::Membership => return None,
    };
    let redex = event.heap.to_tree(&event.theory.symbols, event.redex);
    let contractum = Contractum::Instance { rhs, values: &values(event), rest: rest(event), is_conditional };
    Some(match event.point.kind {
        TraceKind::Rule => whole.rewrite(event.theory, &redex, &contractum),
        _ => whole.reduce(event.theory, &redex, &contractum),
    })
}

/// A statement is applied.
fn trace(
    options: &Options,
    event: &StatementEvent,
    change: Option<Change>,
    whole: &mut Whole,
    out: &mut String,
) {
    let module = &event.theory.module;
    let (sig, printing) = (&module.signature, options.printing(&module.vars));
    let title = match event.point.kind {
        TraceKind::Equation => "equation",
        TraceKind::Membership => "membership axiom",
        TraceKind::Rule => "rule",
    };
    if options.trace.body {
        let text = statement_text(options, event);
        out.push_str(&format!("*********** {title}\n{text}\n"));
        substitution(options, event, out);
    } else {
        let unlabeled = || format!("(unlabeled {title})\n");
        out.push_str(&attrs(event).label.map_or_else(unlabeled, |label| format!("{label}\n")));
    }
    if let Some(change) = change {
        return show_change(options, module, &change, out);
    }
    let redex = event.heap.to_tree(&event.theory.symbols, event.redex);
    if options.trace.whole {
        let whole = whole.now().unwrap_or_else(|| redex.clone());
        out.push_str(&format!("Whole: {}\n", print(sig, &whole, &printing)));
    }
    if options.trace.rewrite {
        let mb = &module.memberships[event.point.index];
        let (sy, kind) = (&event.theory.symbols, sig.sorts.kind_of(mb.sort));
        let old = event.point.old_sort.unwrap_or_else(|| event.heap.sort(sy, event.redex));
        let old = sig.sorts.name(sig.sorts.at(kind, old));
        let redex = print(sig, &redex, &printing);
        out.push_str(&format!("{old}: {redex} becomes {}\n", sig.sorts.name(mb.sort)));
    }
}

/// What an extension left before and after the contractum.
fn rest(event: &StatementEvent) -> Rest {
    let Some(register) = event.point.rest else { return Rest::Nothing };
    let (sy, heap) = (&event.theory.symbols, event.heap);
    let sym = heap.sym(sy, event.redex);
    let parts = [0, 1].map(|i| event.registers[register as usize + i]);
    if sy.class(sym) == Class::Iter {
        let [_, count] = parts;
        if count.is_none() {
            return Rest::Nothing;
        }
        return Rest::Times(match count.is_small() {
            true => count.payload().into(),
            false => BigUint::new(heap.raw(count).iter().map(|word| word.0).collect()),
        });
    }
    Rest::Around(parts.map(|part| {
        // Lists are one list; what is left of a multiset is a term of its own.
        let elements = match sy.class(sym) {
            _ if part.is_none() => &[],
            Class::Assoc => heap.elements(sy, sym, &part),
            _ => std::slice::from_ref(&part),
        };
        elements.iter().map(|&element| heap.to_tree(sy, element)).collect()
    }))
}

/// Is the statement's label or top operator among the selected names?
fn is_selected(options: &Options, event: &StatementEvent) -> bool {
    let module = &event.theory.module;
    let top = match event.point.kind {
        TraceKind::Equation => &module.equations[event.point.index].lhs,
        TraceKind::Membership => &module.memberships[event.point.index].term,
        TraceKind::Rule => &module.rules[event.point.index].lhs,
    };
    let op = top.node(top.root()).op().map(|op| module.signature.op(op).name);
    let names = [attrs(event).label, op];
    names.into_iter().flatten().any(|name| options.trace.selected.contains(&name))
}
