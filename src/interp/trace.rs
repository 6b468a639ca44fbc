//! Tracing: what `set trace on` and `set print attribute on` say while a term is rewritten.

use std::sync::{Arc, PoisonError};

use num_bigint::BigUint;
use rustc_hash::FxHashMap;

use super::condition::substitute;
use super::matching::{Binding, normalize, normalize_condition};
use super::{Host, Interpreter, Options};
use crate::mixfix::{print, print_condition, print_equation, print_membership, print_rule};
use crate::module::{Module, PrintItem, StatementAttrs};
use crate::report::substitution_text;
use crate::rewrite::{BuiltinEvent, StatementEvent, TraceEvent, Tracer};
use crate::sorts::{Node, OpId, Tree, Var};
use crate::term::{Class, Term, normalize_levels};
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
                        trials.trace(&options, event, &mut out);
                    }
                }
                TraceEvent::Builtin(event) if traced && !trials.hides(&options) => {
                    trace_builtin(&options, event, &mut out);
                }
                TraceEvent::Builtin(_) | TraceEvent::Memo(_) | TraceEvent::Counter(_) => {}
            }
            if !out.is_empty() {
                say(&out);
            }
        }))
    }
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
    waiting: FxHashMap<(usize, usize), Option<u32>>,
    count: u32,
}

impl Trials {
    /// Is what happens now inside a condition, and not to be shown?
    fn hides(&self, options: &Options) -> bool {
        !options.trace.condition && !self.open.is_empty()
    }

    fn trace(&mut self, options: &Options, event: &StatementEvent, out: &mut String) {
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
            TraceStep::Apply if shown => return trace(options, event, out),
            TraceStep::Apply => return,
            TraceStep::Trial => {
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
                if !fails && event.point.kind == TraceKind::Rule {
                    self.waiting.insert(event.place, number);
                }
                if let Some(number) = number {
                    let word = if fails { "failure" } else { "success" };
                    out.push_str(&format!("*********** {word} #{number}\n"));
                }
                return;
            }
            TraceStep::TrialGoesOn => {
                self.open.push(self.waiting.remove(&event.place).flatten());
                return;
            }
            TraceStep::Solve(number) => ("solving", number),
            TraceStep::SolveAgain(number) => ("re-solving", number),
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

fn trace_builtin(options: &Options, event: &BuiltinEvent, out: &mut String) {
    let module = &event.theory.module;
    let (sig, printing) = (&module.signature, options.printing(&module.vars));
    let redex = event.heap.to_tree(&event.theory.symbols, event.redex);
    let Some(op) = redex.node(redex.root()).op() else { return };
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
    out.push_str(&format!("(built-in equation for symbol {name})\n"));
    if options.trace.rewrite {
        let result = event.heap.to_tree(&event.theory.symbols, event.result);
        let (redex, result) = (print(sig, &redex, &printing), print(sig, &result, &printing));
        out.push_str(&format!("{redex}\n--->\n{result}\n"));
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
            eq.rhs = normalize_levels(&event.theory.symbols, &event.theory.names, &eq.rhs);
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
            rule.rhs = normalize_levels(&event.theory.symbols, &event.theory.names, &rule.rhs);
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

/// A statement is applied.
fn trace(options: &Options, event: &StatementEvent, out: &mut String) {
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
    if options.trace.rewrite {
        let redex = event.heap.to_tree(&event.theory.symbols, event.redex);
        let redex = print(sig, &redex, &printing);
        match event.point.kind {
            TraceKind::Equation | TraceKind::Rule => {
                // The instance of the right-hand side as it stands, not reduced.
                let rhs = match event.point.kind {
                    TraceKind::Equation => &module.equations[event.point.index].rhs,
                    _ => &module.rules[event.point.index].rhs,
                };
                let rhs = normalize_levels(&event.theory.symbols, &event.theory.names, rhs);
                let bound = |&(var, _): &(Var, u16)| Some((var, value(event, var)?));
                let bindings: Vec<Binding> = event.point.vars.iter().filter_map(bound).collect();
                let contractum = with_rest(event, substitute(&rhs, &bindings));
                let contractum = print(sig, &contractum, &printing);
                out.push_str(&format!("{redex}\n--->\n{contractum}\n"));
            }
            TraceKind::Membership => {
                let mb = &module.memberships[event.point.index];
                let (sy, kind) = (&event.theory.symbols, sig.sorts.kind_of(mb.sort));
                let old = event.point.old_sort.unwrap_or_else(|| event.heap.sort(sy, event.redex));
                let old = sig.sorts.name(sig.sorts.at(kind, old));
                out.push_str(&format!("{old}: {redex} becomes {}\n", sig.sorts.name(mb.sort)));
            }
        }
    }
}

/// The contractum with what an extension left around it, as it stands.
fn with_rest(event: &StatementEvent, contractum: Tree) -> Tree {
    let Some(register) = event.point.rest else { return contractum };
    let (sy, heap) = (&event.theory.symbols, event.heap);
    let [left, right] = [0, 1].map(|i| event.registers[register as usize + i]);
    let sym = heap.sym(sy, event.redex);
    let op = OpId(sym);
    let mut tree = Tree::default();
    let mut arity = 1;
    let mut add = |tree: &mut Tree, t: Term| {
        // Lists are one list; what is left of a multiset is a term of its own.
        let elements = match sy.class(sym) {
            Class::Assoc if !t.is_none() => heap.elements(sy, sym, &t),
            _ if t.is_none() => &[],
            _ => std::slice::from_ref(&t),
        };
        elements.iter().for_each(|&element| tree.append(&heap.to_tree(sy, element)));
        arity += elements.len() as u32;
    };
    if sy.class(sym) == Class::Iter {
        tree.append(&contractum);
        if right.is_none() {
            return tree;
        }
        let count = match right.is_small() {
            true => right.payload().into(),
            false => BigUint::new(heap.raw(right).iter().map(|word| word.0).collect()),
        };
        tree.push(Node::Iter { op, count }, attrs(event).span);
        return tree;
    }
    add(&mut tree, left);
    tree.append(&contractum);
    add(&mut tree, right);
    if arity > 1 {
        tree.push(Node::App { op, arity }, attrs(event).span);
    }
    tree
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
