//! What is made of a module when commands need it, and kept: its grammar, its compiled theories
//! and the machines that run them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::condition::Conditions;
use super::matching::{Binding, shapes};
use crate::base::{Cancel, Name, Span};
use crate::builtin::BuiltinState;
use crate::mixfix::Grammar;
use crate::module::{Fragment, Module, Rule};
use crate::rewrite::{Machine, Turns};
use crate::sorts::{Node, OpId, Tree};
use crate::syntax::TokenOrder;
use crate::theory::{Foreign, Options, Theory, VariableOrder};

/// A module at work.
pub struct Compiled {
    pub module: Arc<Module>,
    pub grammar: Grammar,
    variables: VariableOrder,
    plain: Option<Machine>,
    traced: Option<Machine>,
    /// Conditional memberships that hold for constants.
    facts: Vec<(usize, OpId)>,
    /// How often the variables' order has changed.
    age: u64,
    /// Whose turn it is, if rules are not cleared between commands.
    pub turns: Turns,
    /// What the counter would give next, likewise.
    pub counter: u64,
}

/// What machines are made with.
pub struct Making<'a> {
    pub order: &'a TokenOrder,
    pub cancel: &'a Cancel,
    pub random_seed: u32,
    pub memory_max: Option<usize>,
    pub foreign: Arc<dyn Foreign>,
}

impl Compiled {
    pub fn new(module: Arc<Module>, order: &TokenOrder) -> Compiled {
        let grammar = Grammar::new(&module.signature);
        let variables = VariableOrder::new(&module, order);
        Compiled {
            module,
            grammar,
            variables,
            plain: None,
            traced: None,
            facts: Vec::new(),
            age: 0,
            turns: Turns::default(),
            counter: 0,
        }
    }

    /// A machine that knows the order of the variables of these terms.
    pub fn machine(&mut self, trace: bool, trees: &[&Tree], making: &Making) -> &mut Machine {
        self.machine_or(trace, trees, making, &mut Vec::new())
    }

    /// The same. If it is made now, its theory takes these queries.
    fn machine_or(
        &mut self,
        trace: bool,
        trees: &[&Tree],
        making: &Making,
        queries: &mut Vec<Rule>,
    ) -> &mut Machine {
        let mut is_new = false;
        for tree in trees {
            is_new |= self.variables.note(&self.module.signature, tree, making.order);
        }
        // A theory numbers variables once for all; new ones in a command ask for a new theory.
        if is_new {
            (self.plain, self.traced) = (None, None);
            self.age += 1;
        }
        let place = if trace { &mut self.traced } else { &mut self.plain };
        place.get_or_insert_with(|| {
            let make = |queries, facts: Vec<(usize, OpId)>, deciding: Option<Cancel>| {
                let sort_order = self.variables.sorts.clone();
                let options = Options {
                    trace: trace && deciding.is_none(),
                    sort_order,
                    queries,
                    facts,
                    deciding: deciding.is_some(),
                    foreign: Some(making.foreign.clone()),
                };
                let theory = Theory::new(self.module.clone(), self.variables.names.clone(), &options);
                let cancel = deciding.unwrap_or_else(|| making.cancel.clone());
                let mut machine = Machine::new(Arc::new(theory), cancel);
                machine.state = BuiltinState::new(making.random_seed);
                if let Some(bytes) = making.memory_max {
                    machine.confine(bytes / 4);
                }
                machine
            };
            let decide = |facts, stop| make(Vec::new(), facts, Some(stop));
            self.facts = conditional_facts(&self.module, making.cancel, &decide);
            make(std::mem::take(queries), self.facts.clone(), None)
        })
    }

    /// A machine to be away for longer; it may come back.
    pub fn take_machine(&mut self, trace: bool, making: &Making) -> (Machine, u64) {
        self.machine(trace, &[], making);
        let place = if trace { &mut self.traced } else { &mut self.plain };
        (place.take().expect("made above"), self.age)
    }

    pub fn give_back(&mut self, machine: Machine, trace: bool, age: u64) {
        let place = if trace { &mut self.traced } else { &mut self.plain };
        if age == self.age && place.is_none() {
            *place = Some(machine);
        }
    }

    /// The module's theory with a query in it, as a search needs it.
    pub fn with_query(&mut self, query: Rule, trace: bool, trees: &[&Tree], making: &Making) -> Arc<Theory> {
        let mut queries = vec![query];
        // The machine may have to be made first; then it is compiled at once.
        let theory = self.machine_or(trace, trees, making, &mut queries).theory.clone();
        if queries.is_empty() { theory } else { Arc::new(theory.with_queries(&queries)) }
    }

    /// How to make theories of modules that differ only in equations, which have no variables.
    pub fn variants(&mut self, making: &Making) -> Variants {
        self.machine(false, &[], making);
        let options = self.theory_options(Vec::new(), false, making);
        Variants { names: self.variables.names.clone(), options }
    }

    fn theory_options(&self, queries: Vec<Rule>, trace: bool, making: &Making) -> Options {
        let sort_order = self.variables.sorts.clone();
        let facts = self.facts.clone();
        let foreign = Some(making.foreign.clone());
        Options { trace, sort_order, queries, facts, deciding: false, foreign }
    }

    pub fn clear_memo(&mut self) {
        for machine in self.plain.iter_mut().chain(&mut self.traced) {
            machine.clear_memo();
        }
    }
}

/// Makes theories of variants of a module.
pub struct Variants {
    names: FxHashMap<Name, u32>,
    options: Options,
}

impl Variants {
    pub fn theory(&self, module: Module) -> Arc<Theory> {
        Arc::new(Theory::new(Arc::new(module), self.names.clone(), &self.options))
    }
}

/// The longest that memberships of constants may take to be decided, and the heap for it.
const DECIDING_MAX: Duration = Duration::from_secs(2);
const DECIDING_WORDS: usize = 1 << 24;

/// The memberships that hold for constants where their declaration does not tell: those with a condition and
/// those with a pattern that may collapse. Constants have no place for a sort of their own, so this is found out
/// before the theory is used.
fn conditional_facts(
    module: &Module,
    cancel: &Cancel,
    make: &dyn Fn(Vec<(usize, OpId)>, Cancel) -> Machine,
) -> Vec<(usize, OpId)> {
    let sig = &module.signature;
    let top = |tree: &Tree| tree.node(tree.root()).op();
    let is_value = |id: OpId| module.equations.iter().all(|eq| eq.attrs.nonexec || top(&eq.lhs) != Some(id));
    let may_collapse = |op: OpId| sig.op(op).axioms.identity.is_some() || sig.op(op).axioms.idem;
    let mut open: Vec<(usize, OpId)> = Vec::new();
    for (index, mb) in module.memberships.iter().enumerate() {
        let is_leaf = mb.term.len() == 1;
        if mb.attrs.nonexec || is_leaf && mb.condition.is_empty() {
            continue;
        }
        match top(&mb.term) {
            Some(op) if is_leaf => open.extend(is_value(op).then_some((index, op))),
            Some(op) if !may_collapse(op) => {}
            _ => {
                let kind = sig.sorts.kind_of(mb.sort);
                let constants =
                    sig.ops().filter(|(_, op)| op.arity() == 0 && op.range == kind && op.special.is_none());
                open.extend(constants.map(|(id, _)| (index, id)).filter(|&(_, id)| is_value(id)));
            }
        }
    }
    if open.is_empty() {
        return Vec::new();
    }
    // A condition may go on for ever on a constant that nobody asks for.
    let (stop, done) = (Cancel::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let start = Instant::now();
            while !done.load(Ordering::Relaxed) {
                if cancel.is_raised() || start.elapsed() > DECIDING_MAX {
                    stop.raise();
                    break;
                }
                std::thread::park_timeout(Duration::from_millis(20));
            }
        });
        let facts = decide(module, open, &|facts| make(facts, stop.clone()));
        done.store(true, Ordering::Relaxed);
        watch.thread().unpark();
        facts
    })
}

/// Those of the memberships and constants that hold.
fn decide(
    module: &Module,
    mut open: Vec<(usize, OpId)>,
    make: &dyn Fn(Vec<(usize, OpId)>) -> Machine,
) -> Vec<(usize, OpId)> {
    let sig = &module.signature;
    let mut facts: Vec<(usize, OpId)> = Vec::new();
    while !open.is_empty() {
        let (mut machine, shapes) = (make(facts.clone()), shapes(module));
        machine.confine(DECIDING_WORDS);
        let count = facts.len();
        open.retain(|&(index, op)| {
            let mb = &module.memberships[index];
            let constant = Tree::leaf(Node::App { op, arity: 0 }, Span::default());
            let mut condition = mb.condition.clone();
            let mut bindings: Vec<Binding> = Vec::new();
            match mb.term.node(mb.term.root()) {
                Node::Var(var) => {
                    let sort = machine.theory.symbols.info[op.index()].constant_sort;
                    if !sig.sorts.leq(sig.sorts.at(sig.op(op).range, sort), var.sort) {
                        return true;
                    }
                    bindings.push((*var, constant));
                }
                _ if mb.term.len() > 1 => condition.insert(0, Fragment::Match(mb.term.clone(), constant)),
                _ => {}
            }
            let mut found = Vec::new();
            let mut conditions = Conditions { machine: &mut machine, shapes: &shapes };
            let holds = conditions.solve(&condition, bindings, &mut found).is_ok() && !found.is_empty();
            if holds {
                facts.push((index, op));
            }
            !holds
        });
        if facts.len() == count {
            break;
        }
    }
    facts
}
