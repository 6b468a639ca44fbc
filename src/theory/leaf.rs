//! The end of a row: checks, parts that are not free, conditions, and then the right-hand side.
//!
//! A failure goes back to the last matcher that may have another solution, and from the first one
//! to the next row. [`Leaf`] is what the code of a statement has found so far.

use crate::module::Fragment;
use crate::sorts::{Node, OpId, SortId, Tree, Var};
use crate::term::{Class, Symbols};

use super::TraceStep;
use super::code::{Label, Op, Reg, inst, inst3};
use super::collections::reduce_parts;
use super::collectors::LazyBag;
use super::compile::Compiler;
use super::inline::Retry;
use super::known::Known;
use super::path::{Frame, Path};
use super::plan;
use super::rows::{Check, Row, Statements, Whole};

/// The end of one row: what is bound, and where to go on failure.
pub(super) struct Leaf {
    /// Is it one of a rule?
    pub is_rule: bool,
    pub path: Path,
    pub vars: Vec<(Var, Reg)>,
    /// Where the values of variables go whose terms may not be reduced: the terms themselves stay as
    /// they are, for who uses them unreduced.
    pub values: Vec<(Var, Reg)>,
    /// Variables right below an iterated operator, with it: what such a variable is bound to may be an
    /// application of the operator to which none of its equations has been applied yet. It may if this is
    /// the whole left-hand side of an equation (true) or if strategies leave it alone.
    pub towers: Vec<(Var, OpId, bool)>,
    /// Subterms whose values stand in registers.
    pub available: Vec<(Vec<Node>, Reg)>,
    /// Patterns that have matched terms in normal form: their instances are built, not evaluated.
    pub normal: Vec<Vec<Node>>,
    /// Where a failure goes: the last matcher that may have another solution, or the next row.
    pub fail: Label,
    /// Where it went at first.
    pub start: Label,
    pub can_fail: bool,
    /// Registers that hold matchers in progress, oldest first.
    pub choices: Vec<Reg>,
    pub deferred: Vec<Retry>,
    /// Where the left-over parts of an extension are: choice register.
    pub rest_of: Option<Reg>,
    /// Where they are, if they are there already.
    pub rest: Option<Reg>,
    /// An extension matched by loops: what is left is built when the equation applies.
    pub has_rest: bool,
    /// Where what is left stands, for tracing.
    pub traced_rest: Option<Reg>,
    /// Subterms to evaluate once, since they occur several times.
    pub shared: Vec<Vec<Node>>,
    /// Variables with parts of the collection being rewritten, and its operator.
    pub parts: Option<(OpId, Vec<Var>)>,
    /// In the condition of a rule: its collectors, variables for the rest of a multiset.
    pub collectors: Vec<Var>,
    /// The variables whose values are used, if that is known.
    pub used: Option<Vec<Var>>,
    /// Registers with arguments of calls that are being prepared.
    pub pending: Vec<Reg>,
    /// The variables of the condition while the left-hand side is matched (others may be bound
    /// greedily); `None` in `:=` conditions, where all solutions count.
    pub needed: Option<Vec<Var>>,
    /// The variables of a membership that its condition reads, while its term is matched.
    pub read: Option<Vec<Var>>,
    /// A collector that is built only when it is needed.
    pub lazy: Option<LazyBag>,
    /// A multiset that is the subject's with some elements changed: how, and the variable that
    /// stands for the unchanged ones.
    pub edit: Option<(LazyBag, Var)>,
    /// The last place of the right-hand side where each register is used; `None` in conditions.
    pub last_use: Option<Vec<(Reg, usize)>>,
}

impl Leaf {
    /// Does an extension leave something around the result?
    pub fn has_extension(&self) -> bool {
        self.rest_of.is_some() || self.rest.is_some() || self.has_rest
    }

    /// Notes the subpatterns at some places of a pattern that has matched.
    fn note_normal(&mut self, tree: &Tree, places: std::ops::Range<usize>) {
        for at in places.filter(|&at| tree.node(at).arity() > 0) {
            let nodes = &tree.nodes()[tree.range(at)];
            if has_var(nodes) {
                self.normal.push(nodes.to_vec());
            }
        }
    }
}

impl Compiler<'_> {
    /// Variables right below iterated operators, and whether nothing else is around them.
    fn towers(&self, lhs: &Tree, is_equation: bool) -> Vec<(Var, OpId, bool)> {
        let mut towers = Vec::new();
        for at in 1..lhs.len() {
            if let (&Node::Var(var), Some(op)) = (lhs.node(at - 1), lhs.node(at).op())
                && self.sy.class(op.0) == Class::Iter
            {
                let is_whole = (at..lhs.len()).all(|above| lhs.node(above).op() == Some(op));
                towers.push((var, op, is_whole && is_equation));
            }
        }
        towers
    }

    /// The end of a row: checks, aliens, conditions, then the right-hand side. Returns whether it
    /// can fail; then `rest` is where it goes.
    pub(super) fn leaf(
        &mut self,
        row: Row,
        path: Path,
        statements: Statements,
        rest: Label,
        frame: &mut Frame,
    ) -> bool {
        let mut leaf = Leaf {
            is_rule: matches!(statements, Statements::Rules { .. }),
            path,
            vars: row.vars,
            values: Vec::new(),
            towers: Vec::new(),
            available: Vec::new(),
            normal: Vec::new(),
            fail: rest,
            start: rest,
            can_fail: false,
            choices: Vec::new(),
            deferred: Vec::new(),
            rest_of: None,
            rest: None,
            has_rest: false,
            traced_rest: None,
            shared: Vec::new(),
            parts: None,
            collectors: Vec::new(),
            used: None,
            pending: Vec::new(),
            needed: None,
            read: None,
            lazy: None,
            edit: None,
            last_use: None,
        };
        let lhs = self.lhs(statements, row.index).clone();
        leaf.towers = self.towers(&lhs, statements == Statements::Equations);
        let mut condition = self.condition(statements, row.index).to_vec();
        if statements == Statements::Equations {
            leaf.parts = self.parts(&lhs);
        }
        if let Some((op, vars)) = &leaf.parts {
            let reduce = |tree: &mut Tree| *tree = reduce_parts(tree, *op, vars);
            for fragment in &mut condition {
                match fragment {
                    Fragment::Equal(a, b) => [a, b].into_iter().for_each(reduce),
                    Fragment::Match(_, t) | Fragment::Sort(t, _) | Fragment::Rewrite(t, _) => reduce(t),
                }
            }
        }
        // Ground terms are evaluated again, as in Maude; for rules so is everything that counts.
        let is_rule = leaf.is_rule;
        for (place, reg) in row.available {
            let nodes = lhs.subtree(place).nodes().to_vec();
            let is_reduced = !(self.has_lazy && leaf.path.lazy[reg as usize]);
            if has_var(&nodes) && is_reduced && !(is_rule && self.counts_again(&nodes)) {
                leaf.available.push((nodes, reg));
            }
        }
        leaf.note_normal(&lhs, 0..lhs.root());
        leaf.normal.retain(|nodes| !(is_rule && self.counts_again(nodes)));
        for check in &row.checks {
            match *check {
                Check::Sort(reg, sort) => {
                    let known = leaf.path.known[reg as usize];
                    if self.emit_sort_check(reg, sort, known, leaf.fail) {
                        leaf.can_fail = true;
                        if let Some(below) = Known::below(self.sig, sort) {
                            leaf.path.known[reg as usize] = Known(known.0 & below.0);
                        }
                    }
                }
                Check::Equal(a, b) => {
                    self.asm.emit_to(Op::Equal, 0, a, leaf.fail);
                    self.asm.emit(u64::from(b));
                    leaf.can_fail = true;
                }
                Check::Alien(..) => {}
            }
        }
        let rhs = match statements {
            Statements::Equations => Some(&self.module.equations[row.index].rhs),
            Statements::Rules { .. } => Some(&self.rules[row.index].rhs),
            Statements::Memberships(_) => None,
        };
        // That of queries is empty; parts of rules may have none left.
        if let Some(rhs) = rhs {
            leaf.shared = match &leaf.parts {
                Some((op, vars)) => self.shared_subterms(&condition, &reduce_parts(rhs, *op, vars)),
                None => self.shared_subterms(&condition, rhs),
            };
        }
        if let (Statements::Rules { .. }, Some(rhs)) = (statements, rhs.filter(|rhs| rhs.len() > 0)) {
            let mut used = condition_vars(&condition);
            used.extend(self.vars_of_changed(&lhs, rhs));
            leaf.used = Some(used);
        }
        let needed = if self.trace { lhs.vars() } else { condition_vars(&condition) };
        let needed = (statements != Statements::Rules { all: true }).then_some(needed);
        leaf.needed = needed.clone();
        leaf.read = matches!(statements, Statements::Memberships(_)).then(|| condition_vars(&condition));
        match row.whole {
            Whole::No => {}
            Whole::Joined { extension } => {
                // With a condition and a collector, Maude also tries smaller collectors.
                let simple = !extension || condition.is_empty() || !has_collector(self.sy, &lhs);
                let is_loop = simple
                    && rhs.is_some()
                    && self.collection(&lhs, lhs.root(), 0, extension, &mut leaf, frame);
                if is_loop {
                    leaf.has_rest = extension && leaf.lazy.as_ref().is_some_and(LazyBag::is_extension);
                } else {
                    self.match_pattern(&lhs, 0, needed.as_deref(), extension, &mut leaf, frame);
                }
            }
            Whole::Repeated => {
                let pattern = self.repeated(&lhs).expect("rows like this are made for such patterns");
                leaf.rest = Some(self.match_repeated(pattern, &mut leaf, frame)[1]);
            }
            Whole::Leaf => self.match_pattern(&lhs, 0, needed.as_deref(), false, &mut leaf, frame),
            Whole::Portion => self.match_pattern(&lhs, 0, needed.as_deref(), true, &mut leaf, frame),
            Whole::Collapsed => {
                let reg = self.subject_node(&mut leaf, frame);
                self.match_pattern(&lhs, reg, needed.as_deref(), false, &mut leaf, frame);
            }
        }
        for check in &row.checks {
            if let Check::Alien(reg, place) = *check {
                self.alien(&lhs, place, reg, true, &mut leaf, frame);
            }
        }
        // Maude does not try a condition if the collector cannot take what is left.
        if !condition.is_empty() {
            self.assure_collector(&mut leaf, frame);
        }
        (leaf.needed, leaf.read) = (None, None);
        if self.trace && !condition.is_empty() {
            self.trace_step(statements, row.index, TraceStep::Trial, &leaf);
        }
        if let Statements::Rules { .. } = statements
            && !self.trace
        {
            leaf.collectors = self.collectors(&lhs);
        }
        // Where fragments go when they fail (tracing code only).
        let mut failures: Vec<(Label, Label)> = Vec::new();
        for (number, fragment) in condition.iter().enumerate() {
            if self.trace {
                self.trace_step(statements, row.index, TraceStep::Solve(number), &leaf);
                let fails = self.asm.label();
                failures.push((fails, leaf.fail));
                leaf.fail = fails;
            }
            self.need_vars(&condition_vars(std::slice::from_ref(fragment)), &mut leaf, frame);
            self.fragment(fragment, &mut leaf, frame);
            self.trace_step(statements, row.index, TraceStep::Succeeds(number), &leaf);
        }
        if self.trace {
            if !condition.is_empty() {
                self.trace_step(statements, row.index, TraceStep::TrialSucceeds, &leaf);
            }
            // With an extension, what is left is loaded first.
            if matches!(statements, Statements::Memberships(_)) || !leaf.has_extension() {
                self.trace_step(statements, row.index, TraceStep::Apply, &leaf);
            }
        }
        match statements {
            Statements::Equations => self.right_hand_side(row.index, &mut leaf, frame),
            Statements::Rules { .. } => {
                leaf.collectors.clear();
                self.yield_result(row.index, &mut leaf, frame);
            }
            Statements::Memberships(start) => {
                if let Some(&choice) = leaf.choices.first() {
                    self.asm.emit(inst(Op::Release, 0, choice, 0));
                }
                let sort = self.sig.sorts.get(self.module.memberships[row.index].sort).index;
                self.asm.emit(inst(Op::SetSort, 0, 0, sort));
                self.asm.emit_to(Op::Jump, 0, 0, start);
            }
        }
        frame.note(leaf.path.top);
        for (number, (fails, outer)) in failures.into_iter().enumerate() {
            self.asm.place(fails);
            self.trace_step(statements, row.index, TraceStep::Fails(number), &leaf);
            let next = number.checked_sub(1).map_or(TraceStep::TrialFails, TraceStep::SolveAgain);
            self.trace_step(statements, row.index, next, &leaf);
            self.asm.emit_to(Op::Jump, 0, 0, outer);
        }
        for retry in std::mem::take(&mut leaf.deferred) {
            self.asm.place(retry.here);
            self.asm.emit_to(Op::Next, 0, retry.choice, retry.fail);
            self.asm.emit(u64::from(retry.pattern));
            self.asm.emit_to(Op::Jump, 0, 0, retry.go_on);
        }
        leaf.can_fail
    }

    /// Does the evaluation of a term that is in normal form take rewrites: conditions that fail,
    /// memberships?
    pub(super) fn counts_again(&self, nodes: &[Node]) -> bool {
        let counts = |op: OpId| {
            let plan = &self.plans[op.index()];
            let is_conditional = |row: &plan::Row| !self.module.equations[row.equation].condition.is_empty();
            plan.memo || !plan.memberships.is_empty() || plan.rows.iter().any(is_conditional)
        };
        nodes.iter().filter_map(Node::op).any(counts)
    }

    fn fragment(&mut self, fragment: &Fragment, leaf: &mut Leaf, frame: &mut Frame) {
        match fragment {
            Fragment::Equal(left, right) => {
                self.hoist(left, left.root(), leaf, frame);
                self.hoist(right, right.root(), leaf, frame);
                leaf.can_fail = true;
                let top = leaf.path.top;
                if let Some(imm) = self.immediate(right, right.root()) {
                    let fail = leaf.fail;
                    if self.test_condition(left, imm, fail, leaf, frame) {
                        return;
                    }
                    let (reg, _) = self.operand(left, left.root(), top, leaf, frame);
                    self.asm.emit_to(Op::TestImm, 0, reg, leaf.fail);
                    self.asm.emit(u64::from(imm.0));
                    return;
                }
                let (a, _) = self.operand(left, left.root(), top, leaf, frame);
                let second = if a == top { top + 1 } else { top };
                if a == top {
                    leaf.pending.push(a);
                }
                let (b, _) = self.operand(right, right.root(), second, leaf, frame);
                if a == top {
                    leaf.pending.pop();
                }
                self.asm.emit_to(Op::Equal, 0, a, leaf.fail);
                self.asm.emit(u64::from(b));
            }
            Fragment::Sort(tree, sort) => {
                self.hoist(tree, tree.root(), leaf, frame);
                let top = leaf.path.top;
                let (reg, known) = self.operand(tree, tree.root(), top, leaf, frame);
                if self.emit_sort_check(reg, *sort, known, leaf.fail) {
                    leaf.can_fail = true;
                }
            }
            Fragment::Match(pattern, tree) => {
                self.hoist(tree, tree.root(), leaf, frame);
                let slot = leaf.path.take(1);
                let known = self.value(tree, tree.root(), slot, leaf, frame);
                leaf.path.set_reduced(slot, known);
                self.inline_match(pattern, pattern.root(), slot, leaf, frame);
                leaf.note_normal(pattern, 0..pattern.root() + 1);
            }
            Fragment::Rewrite(tree, pattern) => {
                self.hoist(tree, tree.root(), leaf, frame);
                let search = leaf.path.take(2);
                let state = search + 1;
                self.value(tree, tree.root(), search, leaf, frame);
                leaf.path.set(search, Known::ANY);
                frame.note(leaf.path.top);
                self.asm.emit(inst(Op::Explore, 0, search, 0));
                let again = self.asm.here();
                let mask = self.mask(0, leaf);
                self.asm.emit_to(Op::NextState, 0, search, leaf.fail);
                self.asm.emit(mask);
                leaf.can_fail = true;
                leaf.fail = again;
                leaf.path.set_reduced(state, Known::ANY);
                self.inline_match(pattern, pattern.root(), state, leaf, frame);
            }
        }
    }

    /// Emits a sort check unless it is implied.
    pub(super) fn emit_sort_check(&mut self, reg: Reg, sort: SortId, known: Known, fail: Label) -> bool {
        if known.implies(self.sig, sort) {
            return false;
        }
        match Known::below(self.sig, sort) {
            Some(set) => {
                self.asm.emit_to(Op::Sort, 0, reg, fail);
                self.asm.emit(set.0);
            }
            None => {
                let set = self.big_set(sort);
                self.asm.emit_to(Op::SortBig, 0, reg, fail);
                self.asm.emit(u64::from(set));
            }
        }
        true
    }

    /// Builds the node of the current operator over its argument registers, for the matcher.
    fn subject_node(&mut self, leaf: &mut Leaf, frame: &mut Frame) -> Reg {
        let arity = leaf.path.args;
        let op = self.current;
        let slot = leaf.path.take(arity.max(1));
        frame.note(leaf.path.top);
        if arity == 0 {
            self.asm.emit(inst(Op::LoadImm, 0, slot, self.sy.constant(op.0).0));
        } else {
            for i in 0..arity {
                self.asm.emit(inst3(Op::Move, 0, slot + i as Reg, i as Reg, 0));
            }
            let sorts = leaf.path.known[..arity].to_vec();
            self.emit_build(op, slot, arity, &sorts);
        }
        leaf.path.set(slot, Known::ANY);
        slot
    }
}

pub(super) fn has_var(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| matches!(node, Node::Var(_)))
}

/// Is some argument of an associative-commutative left-hand side a variable that may take
/// several elements? (Any variable counts; this only decides who matches it.)
fn has_collector(sy: &Symbols, lhs: &Tree) -> bool {
    let Some(op) = lhs.node(lhs.root()).op() else { return false };
    let elements = plan::flatten(lhs, lhs.root(), op, sy.class(op.0));
    elements.into_iter().any(|e| matches!(lhs.node(e), Node::Var(_)))
}

/// The variables of a condition.
pub(super) fn condition_vars(condition: &[Fragment]) -> Vec<Var> {
    let mut vars = Vec::new();
    for fragment in condition {
        for var in fragment.trees().into_iter().flat_map(Tree::vars) {
            if !vars.contains(&var) {
                vars.push(var);
            }
        }
    }
    vars
}
