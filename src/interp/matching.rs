//! `match` and `xmatch`: all solutions of one matching problem.

use std::collections::VecDeque;
use std::sync::Arc;

use super::command::since;
use super::condition::{Conditions, substitute};
use super::{Host, Interpreter, Last};
use crate::base::{Cancel, Interrupt};
use crate::matching::{Context, Match, Needed, Pattern, PatternSpec, Rest, Shapes};
use crate::mixfix::{Grammar, Matching, print_condition};
use crate::module::{Fragment, Module, unbound_in_query};
use crate::report::{Answer, Matcher, Time};
use crate::rewrite::Machine;
use crate::sorts::{Node, SortIx, Tree, Var};
use crate::syntax::tree::{Command, ModuleExpr, Token};
use crate::term::{self, Class, Heap, Term, normalize_levels};
use crate::theory::{NO_CODE, Theory};

/// What a variable stands for.
pub type Binding = (Var, Tree);

/// A matching problem on a heap of its own, so that reductions between two solutions do not
/// disturb it.
pub struct Problem {
    theory: Arc<Theory>,
    heap: Heap,
    pattern: Pattern,
    subject: Term,
    slots: Vec<Term>,
    /// The pattern's variables; variable `i` is in slot `i`.
    vars: Vec<Var>,
    matching: Match,
    begun: bool,
    /// Applies memberships to the subject and to what matching builds.
    sorter: Option<Machine>,
}

/// A matching command, which can be continued.
pub struct Solving {
    module: Arc<Module>,
    theory: Arc<Theory>,
    shapes: Shapes,
    problem: Problem,
    pattern: Tree,
    condition: Vec<Fragment>,
    /// Solutions that have been found and not been shown.
    pending: VecDeque<(Vec<Binding>, Part)>,
    /// How many have been shown.
    count: u64,
    /// Is the part of the subject that is matched shown?
    has_portion: bool,
    /// `match` or `xmatch`.
    word: &'static str,
}

/// One solution.
pub struct Solution {
    pub bindings: Vec<Binding>,
    pub part: Part,
}

/// The part of the subject that a solution matches.
#[derive(Clone)]
pub enum Part {
    Whole,
    /// What the pattern is with values for its variables.
    Instance,
    /// Of a list with a one-sided identity, which may vanish.
    Portion(Tree),
}

impl Problem {
    pub fn new(
        theory: &Arc<Theory>,
        shapes: &Shapes,
        pattern: &Tree,
        subject: &Tree,
        extension: bool,
    ) -> Self {
        let (sig, sy) = (&theory.module.signature, &theory.symbols);
        let mut heap = Heap::new();
        for constant in sy.identities.iter().chain(&theory.constants) {
            let term = heap.build(sy, &*theory.names, constant);
            heap.consts.push(term);
        }
        let has_memberships = theory.memberships.iter().any(|&code| code != NO_CODE);
        let mut sorter = has_memberships.then(|| Machine::new(theory.clone(), Cancel::default()));
        heap.number_sorts = sorter.as_ref().and_then(|sorter| sorter.heap.number_sorts.clone());
        let vars = pattern.vars();
        let mut slots = vec![Term::NONE; vars.len()];
        let place = |var: Var| vars.iter().position(|v| *v == var).expect("a variable of the pattern") as u16;
        let compiled = Pattern::compile(&mut PatternSpec {
            sig,
            sy,
            shapes,
            tree: pattern,
            vars: &*theory.names,
            slot: &place,
            bound: &[],
            needed: Needed::Everything,
            read: None,
            extension,
            fresh: &mut || {
                slots.push(Term::NONE);
                slots.len() as u16 - 1
            },
            constant: &mut |tree| {
                let term = heap.build(sy, &*theory.names, tree);
                heap.consts.push(term);
                heap.consts.len() as u32 - 1
            },
        });
        let subject = heap.build_with(sy, &*theory.names, subject, &mut |heap, term| {
            if let Some(sorter) = &mut sorter {
                sorter.resort(heap, term);
            }
        });
        Problem {
            theory: theory.clone(),
            heap,
            pattern: compiled,
            subject,
            slots,
            vars,
            matching: Match::new(),
            begun: false,
            sorter,
        }
    }

    /// The next solution.
    pub fn next(&mut self) -> Option<Solution> {
        let sy = &self.theory.symbols;
        let sorter = &mut self.sorter;
        let mut resort = |heap: &mut Heap, term: Term| {
            if let Some(sorter) = sorter {
                sorter.resort(heap, term);
            }
        };
        let mut cx = Context { heap: &mut self.heap, sy, resort: &mut resort };
        let found = if self.begun {
            self.matching.next(&mut cx, &self.pattern, &mut self.slots)
        } else {
            self.begun = true;
            self.matching.first(&mut cx, &self.pattern, self.subject, &mut self.slots)
        };
        if !found {
            return None;
        }
        let value = |slot: usize| self.heap.to_tree(sy, self.slots[slot]);
        let bindings = self.vars.iter().enumerate().map(|(slot, &var)| (var, value(slot))).collect();
        let part = match *self.matching.rest() {
            Rest::Whole => Part::Whole,
            Rest::List { left, right, identity } => self.list_part(left, right, identity),
            _ => Part::Instance,
        };
        Some(Solution { bindings, part })
    }

    fn list_part(&mut self, left: Option<Term>, right: Option<Term>, identity: bool) -> Part {
        let sy = &self.theory.symbols;
        let sym = self.heap.sym(sy, self.subject);
        let Some(one_sided) = sy.info[sym as usize].identity.filter(|e| e.left != e.right) else {
            return Part::Instance;
        };
        let len = |t: Option<Term>| t.map_or(0, |t| self.heap.elements(sy, sym, &t).len());
        let elements = self.heap.args(self.subject);
        let mut part = elements[len(left)..elements.len() - len(right)].to_vec();
        if identity {
            let place = if one_sided.left { part.len() } else { 0 };
            part.insert(place, self.heap.consts[one_sided.constant]);
        }
        let list = self.heap.list(sy, sym, &part);
        Part::Portion(self.heap.to_tree(sy, list))
    }
}

/// Sort shapes of a module, with what its memberships give.
pub fn shapes(module: &Module) -> Shapes {
    let sig = &module.signature;
    let given = module.memberships.iter().filter_map(|mb| {
        let index: SortIx = sig.sorts.get(mb.sort).index;
        mb.term.node(mb.term.root()).op().map(|op| (op, index))
    });
    Shapes::new(sig, given)
}

/// The term flattened and sorted modulo axioms.
pub fn normalize(theory: &Theory, tree: &Tree) -> Tree {
    term::normalize(&theory.symbols, &*theory.names, tree)
}

/// The same for a condition: patterns are flattened and sorted, other terms level by level.
pub fn normalize_condition(theory: &Theory, condition: &mut [Fragment]) {
    let pattern = |tree: &mut Tree| *tree = normalize(theory, tree);
    let term = |tree: &mut Tree| *tree = normalize_levels(&theory.symbols, &*theory.names, tree);
    for fragment in condition {
        match fragment {
            Fragment::Equal(a, b) => [a, b].into_iter().for_each(term),
            Fragment::Match(to, from) | Fragment::Rewrite(from, to) => {
                pattern(to);
                term(from);
            }
            Fragment::Sort(a, _) => term(a),
        }
    }
}

/// A copy of a theory's module whose statements are as Maude keeps them: patterns flattened and
/// sorted modulo axioms, other terms only made normal level by level.
pub fn normal_statements(theory: &Theory) -> Module {
    let mut module = Module::clone(&theory.module);
    let pattern = |tree: &mut Tree| *tree = normalize(theory, tree);
    let term = |tree: &mut Tree| *tree = normalize_levels(&theory.symbols, &*theory.names, tree);
    let condition = |fragments: &mut [Fragment]| normalize_condition(theory, fragments);
    for mb in &mut module.memberships {
        pattern(&mut mb.term);
        condition(&mut mb.condition);
    }
    for eq in &mut module.equations {
        pattern(&mut eq.lhs);
        term(&mut eq.rhs);
        condition(&mut eq.condition);
    }
    for rule in &mut module.rules {
        pattern(&mut rule.lhs);
        term(&mut rule.rhs);
        condition(&mut rule.condition);
    }
    module
}

impl Interpreter {
    pub(super) fn matching(
        &mut self,
        host: &mut dyn Host,
        command: &Command,
        extension: bool,
        limit: Option<u64>,
        expr: Option<&ModuleExpr>,
        body: &[Token],
    ) {
        let parse = |g: &Grammar, m: &Module| g.matching(&m.signature, &m.vars, body);
        let Some((module, matching)) = self.parsed(host, command, expr, parse) else { return };
        let Matching { pattern, subject, condition } = matching;
        let unbound =
            unbound_in_query(if extension { "xmatch" } else { "match" }, &pattern, &condition, command.span);
        if !unbound.is_empty() {
            return self.say_all(host, unbound);
        }
        self.forget_last();
        let (compiled, making) = self.at_work(&module);
        let mut trees = vec![&pattern, &subject];
        trees.extend(condition.iter().flat_map(Fragment::trees));
        let theory = compiled.machine(false, &trees, &making).theory.clone();
        let pattern = normalize(&theory, &pattern);
        let subject = normalize_levels(&theory.symbols, &*theory.names, &subject);
        let sig = &module.signature;
        let word = if extension { "xmatch" } else { "match" };
        let bound = limit.map_or_else(String::new, |n| format!(" [{n}]"));
        let mut echo = format!(
            "{word}{bound} in {} : {} <=? {}",
            module.name,
            self.print(&module, &pattern),
            self.print_subject(&module, &subject)
        );
        if !condition.is_empty() {
            let mut shown = condition.clone();
            normalize_condition(&theory, &mut shown);
            let text = print_condition(sig, &shown, &self.options.printing(&module.vars));
            echo.push_str(&format!(" such that {text}"));
        }
        self.echo(host, format!("{echo} ."));

        let start = host.time();
        let shapes = shapes(&module);
        let flat = normalize(&theory, &subject);
        let top = flat.node(flat.root()).op().map_or(Class::Free, |op| theory.symbols.class(op.0));
        let has_portion = extension && matches!(top, Class::Assoc | Class::AssocComm | Class::Iter);
        let problem = Problem::new(&theory, &shapes, &pattern, &subject, extension);
        let solving = Solving {
            module,
            theory,
            shapes,
            problem,
            pattern,
            condition,
            pending: VecDeque::new(),
            count: 0,
            has_portion,
            word,
        };
        self.solve(host, command, Box::new(solving), limit, start);
    }

    /// Shows so many solutions more.
    pub(super) fn solve(
        &mut self,
        host: &mut dyn Host,
        command: &Command,
        mut solving: Box<Solving>,
        limit: Option<u64>,
        start: Time,
    ) {
        let Solving {
            module, theory, shapes, problem, pattern, condition, pending, count, has_portion, ..
        } = &mut *solving;
        let end = limit.map(|limit| count.saturating_add(limit));
        let mut is_over = false;
        while !is_over && end.is_none_or(|end| *count < end) {
            let mut outcome: Result<(), Interrupt> = Ok(());
            if self.setup.cancel.is_raised() {
                outcome = Err(Interrupt::Cancelled);
            }
            while pending.is_empty() && outcome.is_ok() {
                let Some(solution) = problem.next() else { break };
                if condition.is_empty() {
                    pending.push_back((solution.bindings, solution.part));
                    continue;
                }
                let (compiled, making) = self.at_work(module);
                let machine = compiled.machine(false, &[pattern], &making);
                let mut found = Vec::new();
                outcome = Conditions { machine, shapes }.solve(condition, solution.bindings, &mut found);
                pending.extend(found.into_iter().map(|bindings| (bindings, solution.part.clone())));
            }
            if let Err(interrupt) = outcome {
                self.compiled.remove(&module.name);
                return self.stopped(host, command, interrupt);
            }
            let next = pending.pop_front();
            if *count == 0 {
                let (time, timing) =
                    (since(start, host.time()), self.options.show.timing && self.options.show.stats);
                host.answer(&Answer::Decided { time, found: next.is_some(), timing });
            }
            let Some((bindings, part)) = next else {
                is_over = true;
                continue;
            };
            *count += 1;
            let portion = has_portion.then(|| {
                let part = match &part {
                    Part::Whole => return None,
                    Part::Instance => normalize(theory, &substitute(pattern, &bindings)),
                    Part::Portion(tree) => tree.clone(),
                };
                Some(self.print(module, &part))
            });
            let name = |var: Var| self.print(module, &Tree::leaf(Node::Var(var), command.span));
            let substitution =
                bindings.iter().map(|(var, value)| (name(*var), self.print(module, value))).collect();
            host.answer(&Answer::Matcher(Matcher { number: *count, portion, substitution }));
        }
        let (name, count) = (module.name.to_string(), *count);
        host.answer(&Answer::Matched { command: solving.word, module: name, count });
        if !is_over {
            self.last = Last::Solving(solving);
        }
    }
}
