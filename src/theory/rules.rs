//! Rules to code, one function per rule and way of matching.
//!
//! A rule's function takes the term at a position and yields what the rule makes of it, matcher
//! by matcher, until it returns: `Yield` stops the machine with one result, and resuming it asks
//! for the next. Left-hand sides, conditions and right-hand sides are compiled as those of
//! equations are. A query (the pattern of a search with its condition) is a rule whose results
//! are its variables' values, left in registers.

use super::TraceStep;
use super::code::{Assembler, Label, Op, Reg, inst, inst3};
use super::compile::{Compiler, is_joined};
use super::join::Join;
use super::known::Known;
use super::leaf::Leaf;
use super::path::{Frame, Path};
use super::places::{Fit, Places};
use super::plan;
use super::rows::{Row, Statements, Whole};
use crate::builtin::{Builtin, Special};
use crate::module::Module;
use crate::sorts::{Node, OpId, Operator, Tree, Var};
use crate::term::{Class, Symbols, Term};

/// The rules of a theory, by the operator at the top of the terms that they may rewrite.
#[derive(Debug, Default)]
pub struct Rules {
    /// By operator, in the order of the module.
    pub entries: Vec<Vec<RuleEntry>>,
    pub queries: Vec<Query>,
    /// Operators whose terms may be rewritten, at the top or further down.
    pub may_rewrite: Vec<bool>,
    /// Operators with such an operator among their arguments' kinds.
    pub may_rewrite_below: Vec<bool>,
    /// The same among their arguments' sorts: what counts for terms that have a sort.
    pub may_rewrite_sorted: Vec<bool>,
    /// Operators with a conditional rule.
    pub is_conditional: Vec<bool>,
    /// May conditional rules be tried below the top of a state?
    pub has_inner_conditions: bool,
    /// Argument positions that rules may not touch, by operator (a bit per argument; the last
    /// bit stands for all further ones).
    pub frozen: Vec<u64>,
    /// The operator that counts its own rewrites, if there is one.
    pub counter: Option<(u32, Builtin)>,
    /// For states that are soups.
    pub join: Option<Join>,
}

/// Code of one rule under one operator. Both take the term in register 0.
#[derive(Clone, Copy, Debug)]
pub struct RuleEntry {
    /// Index into the module's rules.
    pub rule: u32,
    /// Yields results in the order of `rewrite`.
    pub first: u32,
    /// Yields all results, in the order of `search`.
    pub all: u32,
    /// The same two for a position that a strategy leaves alone: results are not reduced.
    pub first_unreduced: u32,
    pub all_unreduced: u32,
}

/// A compiled query: after each yield its variables are in registers of the yielding frame.
#[derive(Clone, Debug)]
pub struct Query {
    pub code: u32,
    pub vars: Vec<(Var, Reg)>,
}

/// What a rule's code is given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// A term with the pattern's operator at its top, of which it may match a part.
    Own,
    /// A term with another operator, of which it may match a part as well.
    Parts(OpId),
    /// A term with any operator, to be matched as a whole.
    Whole,
}

/// Rules whose places are not known yet.
pub(super) struct RuleLabels {
    entries: Vec<Vec<(u32, [Label; 4])>>,
    queries: Vec<(Label, Vec<(Var, Reg)>)>,
    join: Option<Join>,
}

impl RuleLabels {
    pub fn resolve(self, places: &[u32], module: &Module, sy: &Symbols, has_lazy: bool) -> Rules {
        let at = |label| Assembler::resolve(places, label);
        let entry = |&(rule, labels): &(u32, [Label; 4])| {
            let [first, all, first_unreduced, all_unreduced] = labels.map(at);
            RuleEntry { rule, first, all, first_unreduced, all_unreduced }
        };
        let all_entries = |rules: &Vec<(u32, [Label; 4])>| rules.iter().map(entry).collect();
        let entries: Vec<Vec<RuleEntry>> = self.entries.iter().map(all_entries).collect();
        let queries = self.queries.into_iter().map(|(label, vars)| Query { code: at(label), vars }).collect();
        let sig = &module.signature;
        // Arguments that commute are frozen together.
        let frozen = |op: &Operator| match &op.frozen[..] {
            [_, ..] if op.axioms.comm && !op.axioms.assoc => u64::MAX,
            frozen => frozen.iter().fold(0, |mask, &arg| mask | 1 << arg.min(63)),
        };
        // Variables have no arguments.
        let mut frozen: Vec<u64> = sig.ops().map(|(_, op)| frozen(op)).collect();
        frozen.resize(entries.len(), 0);
        let counter = sig.ops().find_map(|(id, _)| match Special::of(sig, sy, id) {
            Some(Special::Counter(builtin)) => Some((id.0, builtin)),
            _ => None,
        });
        // Equality and sort tests are decided where they are reduced, so nothing is ever below them.
        let is_test = |op| {
            let special = Special::of(sig, sy, op);
            !has_lazy && matches!(special, Some(Special::Equality { .. } | Special::SortTest { .. }))
        };
        let tests: Vec<bool> = sig.ops().map(|(id, _)| is_test(id)).collect();
        let places = Places {
            module,
            has_rules: (0..entries.len())
                .map(|i| {
                    !entries[i].is_empty() || counter.as_ref().is_some_and(|(sym, _)| *sym as usize == i)
                })
                .collect(),
            frozen: &frozen,
            tests: &tests,
        };
        let (may_rewrite, may_rewrite_below) = places.may_rewrite(Fit::Kind);
        let (_, may_rewrite_sorted) = places.may_rewrite(Fit::Sort);
        let has_condition = |entry: &RuleEntry| !module.rules[entry.rule as usize].condition.is_empty();
        let is_conditional: Vec<bool> = entries.iter().map(|rules| rules.iter().any(has_condition)).collect();
        // Functions are rarely left in a state (and if one is, nothing is remembered below it).
        let is_function = |id: OpId| {
            matches!(Special::of(sig, sy, id), Some(Special::Branch { .. }))
                || module.equations.iter().any(|eq| eq.lhs.node(eq.lhs.root()).op() == Some(id))
        };
        let has_inner_conditions = places.has_inside(&is_conditional, &is_function);
        let join = self.join.map(|join| join.resolve(at));
        Rules {
            entries,
            queries,
            may_rewrite,
            may_rewrite_below,
            may_rewrite_sorted,
            is_conditional,
            has_inner_conditions,
            frozen,
            counter,
            join,
        }
    }
}

impl Compiler<'_> {
    /// Code of all rules; those from number `own` on are queries.
    pub(super) fn rule_code(&mut self, own: usize) -> RuleLabels {
        let mut entries = vec![Vec::new(); self.plans.len()];
        for index in 0..own {
            let rule = &self.rules[index];
            if rule.attrs.nonexec {
                continue;
            }
            let tops = plan::tops(self.sig, self.sy, &rule.lhs, rule.lhs.root(), false);
            // Under operators without parts a pattern that collapses is matched by the same code.
            let mut collapsed_code = None;
            for (sym, collapsed) in tops {
                let subject = match collapsed {
                    false => Subject::Own,
                    true if self.takes_parts(index, OpId(sym)) => Subject::Parts(OpId(sym)),
                    true => Subject::Whole,
                };
                let labels = match collapsed_code.filter(|_| subject == Subject::Whole) {
                    Some(labels) => labels,
                    None => {
                        let [first, all] = [false, true].map(|all| self.rule(index, subject, all).0);
                        let mut labels = [first, all, first, all];
                        if self.has_lazy {
                            self.is_result_left = true;
                            labels[2] = self.rule(index, subject, false).0;
                            labels[3] = self.rule(index, subject, true).0;
                            self.is_result_left = false;
                        }
                        if subject == Subject::Whole {
                            collapsed_code = Some(labels);
                        }
                        labels
                    }
                };
                entries[sym as usize].push((index as u32, labels));
            }
        }
        let end = self.rules.len();
        let queries = (own..end).map(|index| self.rule(index, Subject::Whole, true)).collect();
        let numbers = |rules: &Vec<(u32, [Label; 4])>| rules.iter().map(|rule| rule.0).collect();
        let numbers: Vec<Vec<u32>> = entries.iter().map(numbers).collect();
        let join = self.join(&numbers, own..end);
        RuleLabels { entries, queries, join }
    }

    /// May a part of a rule's pattern stand for one of a term with this operator at its top?
    fn takes_parts(&self, index: usize, op: OpId) -> bool {
        if op.index() >= self.sig.len() {
            return false;
        }
        let (sorts, decls) = (&self.sig.sorts, &self.sig.op(op).decls);
        let is_lowered = !self.plans[op.index()].memberships.is_empty();
        let fits = |var: &Var| is_lowered || decls.iter().any(|decl| sorts.leq(decl.range, var.sort));
        let lhs = &self.rules[index].lhs;
        matches!(self.sy.class(op.0), Class::Iter | Class::Assoc | Class::AssocComm)
            && (lhs.vars().iter().any(fits) || lhs.nodes().iter().any(|node| node.op() == Some(op)))
    }

    /// The code of a rule or query.
    pub(super) fn rule(&mut self, index: usize, subject: Subject, all: bool) -> (Label, Vec<(Var, Reg)>) {
        let start = self.asm.here();
        let enter = self.asm.words.len();
        self.asm.emit(inst(Op::Enter, 1, 0, 0));
        let mut frame = Frame { size: 2 };
        let lhs = self.rules[index].lhs.clone();
        let root = lhs.root();
        let top = lhs.node(root).op();
        if let Some(op) = top {
            self.current = op;
        }
        let by_matcher =
            top.is_some_and(|op| is_joined(self.sy, op.0) || matches!(lhs.node(root), Node::Iter { .. }));
        let row = if let Subject::Parts(op) = subject {
            self.current = op;
            Row::new(index, Whole::Portion)
        } else if by_matcher {
            Row::new(index, Whole::Joined { extension: subject == Subject::Own })
        } else {
            let mut row = Row::new(index, Whole::No);
            self.add_pattern(&mut row, &lhs, 0, root);
            row
        };
        let none = self.asm.label();
        self.query_vars.clear();
        let mut path = Path::new(vec![Known::ANY]);
        // Where results are reduced, so is the term.
        path.lazy[0] = self.is_result_left;
        self.rows(vec![row], path, Statements::Rules { all }, none, &mut frame);
        self.asm.place(none);
        self.asm.emit(inst(Op::Return, 0, 0, 0));
        self.patch_frame(enter, 1, &frame);
        (start, std::mem::take(&mut self.query_vars))
    }

    /// The variables that stand for the rest of a multiset in a left-hand side, or for a whole one in
    /// the operator at the top.
    pub(super) fn collectors(&self, lhs: &Tree) -> Vec<Var> {
        let is_bag =
            |at: &usize| lhs.node(*at).op().is_some_and(|op| self.sy.class(op.0) == Class::AssocComm);
        let args = (0..lhs.len()).filter(is_bag).flat_map(|at| lhs.args(at));
        let var = |at: usize| if let Node::Var(var) = lhs.node(at) { Some(*var) } else { None };
        let is_soup = |var: &Var| {
            let kind = self.sig.sorts.kind_of(var.sort);
            self.sig.ops().any(|(id, op)| op.range == kind && self.sy.class(id.0) == Class::AssocComm)
        };
        let whole = lhs.args(lhs.root()).into_iter().filter_map(var).filter(is_soup);
        args.filter_map(var).chain(whole).collect()
    }

    /// Is a function of a rule's condition applied to the whole state, or nearly so? Then it is
    /// likely to be asked for again, by another matcher or another rule.
    pub(super) fn is_remembered(&self, tree: &Tree, at: usize, op: OpId, leaf: &Leaf) -> bool {
        let plan = &self.plans[op.index()];
        let is_collector = |node: &Node| matches!(node, Node::Var(var) if leaf.collectors.contains(var));
        !plan.rows.is_empty() && !plan.memo && tree.nodes()[tree.range(at)].iter().any(is_collector)
    }

    /// A rule's matcher has been found and its condition holds: gives the result, and goes on
    /// with the next matcher.
    pub(super) fn yield_result(&mut self, index: usize, leaf: &mut Leaf, frame: &mut Frame) {
        if self.rules[index].rhs.is_empty() {
            self.build_collector(leaf, frame);
            self.query_vars = leaf.vars.clone();
            self.emit_yield(0, leaf);
            return self.asm.emit_to(Op::Jump, 0, 0, leaf.fail);
        }
        let mut rhs = self.rules[index].rhs.clone();
        if let Some(shorter) = self.reuse_collector(&rhs, leaf, frame, true) {
            rhs = shorter;
        }
        self.need_vars(&rhs.vars(), leaf, frame);
        self.check_collector(leaf, frame);
        let root = rhs.root();
        let extended = leaf.has_extension().then_some(self.current);
        let rest = extended.map(|op| (op, leaf.path.take(2)));
        let is_lazy = extended.is_some_and(|op| self.plans[op.index()].strategy.is_lazy());
        if let Some((op, rest)) = rest {
            match leaf.rest_of {
                Some(choice) => self.asm.emit(inst3(Op::LoadRest, 0, rest, choice, 0)),
                None => {
                    self.extension_rest(rest, leaf);
                    self.asm.emit(inst(Op::LoadImm, 0, rest + 1, Term::NONE.0));
                }
            }
            leaf.path.set(rest, Known::ANY);
            leaf.path.set(rest + 1, Known::ANY);
            frame.note(leaf.path.top);
            leaf.traced_rest = Some(rest);
            self.trace_step(Statements::Rules { all: true }, index, TraceStep::Apply, leaf);
            if self.sy.class(op.0) == Class::AssocComm && !self.is_result_left && !is_lazy {
                // As in Maude, what is left of a multiset is a term of its own. Its call takes the
                // registers from its own on, so it comes before anything else is there.
                let whole = self.asm.label();
                self.asm.emit_to(Op::IfWhole, 0, rest, whole);
                self.call_joined(op, rest, 0, leaf);
                self.asm.emit(inst(Op::LoadImm, 0, rest + 1, Term::NONE.0));
                self.asm.place(whole);
            }
        }
        let yielded = self.asm.label();
        if let Some((op, rest)) = rest.filter(|_| is_lazy && !self.is_result_left && self.yields.is_none()) {
            // Where something is left, the result is an argument, and left alone as such.
            let whole = self.asm.label();
            self.asm.emit_to(Op::IfWhole, 0, rest, whole);
            let slot = leaf.path.top;
            self.thunk(&rhs, root, slot, leaf, frame);
            self.asm.emit(inst3(Op::WithRest, 0, slot, rest, 0));
            self.asm.emit(u64::from(op.0));
            self.call_joined(op, slot, 0, leaf);
            frame.note(slot + 1);
            self.emit_yield(slot, leaf);
            self.asm.emit_to(Op::Jump, 0, 0, yielded);
            self.asm.place(whole);
        }
        if !self.is_result_left {
            self.hoist(&rhs, root, leaf, frame);
        }
        let slot = leaf.path.take(1);
        frame.note(leaf.path.top);
        if let Some((count, _)) = self.yields {
            self.yields = Some((count, slot));
            let all = rhs.args(root);
            let elements = if count > 1 { &all[..] } else { &[root][..count] };
            if count == 0 {
                // Something must be yielded.
                self.asm.emit(inst(Op::LoadImm, 0, slot, Term::small(0).0));
            }
            self.arguments(elements, &rhs, self.current, slot, leaf, frame);
            frame.note(slot + count as Reg + 1);
            self.emit_yield(slot, leaf);
            return self.asm.emit_to(Op::Jump, 0, 0, leaf.fail);
        }
        if self.is_result_left {
            self.unreduced_result(&rhs, slot, leaf, frame);
        } else {
            self.value(&rhs, root, slot, leaf, frame);
        }
        leaf.path.set_reduced(slot, Known::ANY);
        if let Some((op, rest)) = rest {
            let whole = self.asm.label();
            self.asm.emit_to(Op::IfWhole, 0, rest, whole);
            self.asm.emit(inst3(Op::WithRest, usize::from(self.is_result_left), slot, rest, 0));
            self.asm.emit(u64::from(op.0));
            if !self.is_result_left {
                self.call_joined(op, slot, 0, leaf);
            }
            self.asm.place(whole);
        }
        frame.note(slot + 1);
        self.emit_yield(slot, leaf);
        self.asm.place(yielded);
        let fragments = self.rules[index].condition.len();
        if self.trace && fragments > 0 {
            let statements = Statements::Rules { all: true };
            self.trace_step(statements, index, TraceStep::TrialGoesOn, leaf);
            self.trace_step(statements, index, TraceStep::SolveAgain(fragments - 1), leaf);
        }
        self.asm.emit_to(Op::Jump, 0, 0, leaf.fail);
    }

    fn emit_yield(&mut self, slot: Reg, leaf: &Leaf) {
        let mask = self.mask(0, leaf);
        self.yield_places.push(self.asm.words.len());
        self.asm.emit(inst(Op::Yield, 0, slot, 0));
        self.asm.emit(mask);
    }
}
