//! Decision trees: rows in order, `owise` rows last.
//!
//! The free part of all left-hand sides of an operator is tested by one tree of switches (rows
//! stay in order; a row that fails later falls through to those after it). Parts that need
//! matching modulo axioms, sort checks, equalities and conditions come at the leaves (`leaf`).

use crate::module::Fragment;
use crate::sorts::{Node, OpId, SortId, Tree, Var};
use crate::term::{Class, SMALL_MAX, Term};
use num_traits::ToPrimitive;

use super::code::{Label, Op, Reg, inst, inst3, switch_key};
use super::compile::Compiler;
use super::known::Known;
use super::path::{Frame, Path};

/// A left-hand side that still may match.
#[derive(Clone)]
pub(super) struct Row {
    /// Which equation (or membership, or rule).
    pub index: usize,
    /// Subpatterns to test: register, place in the left-hand side.
    pub pending: Vec<(Reg, usize)>,
    pub vars: Vec<(Var, Reg)>,
    pub checks: Vec<Check>,
    /// Left-hand side subterms that stand in registers.
    pub available: Vec<(usize, Reg)>,
    pub whole: Whole,
}

impl Row {
    pub fn new(index: usize, whole: Whole) -> Row {
        let (pending, vars, checks, available) = Default::default();
        Row { index, pending, vars, checks, available, whole }
    }
}

/// How the left-hand side as a whole is matched.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    /// Argument by argument.
    No,
    /// By the general matcher against the node in register 0, with or without extension.
    Joined { extension: bool },
    /// One variable several times, in the well-sorted multiset in register 0, with extension.
    Repeated,
    /// By the general matcher against the node in register 0 or a part of it, though the pattern has
    /// another operator at its top, or none.
    Portion,
    /// By the general matcher against a node of the current free operator: it may collapse.
    Collapsed,
    /// By the general matcher against the literal or variable in register 0.
    Leaf,
}

#[derive(Clone)]
pub(super) enum Check {
    Sort(Reg, SortId),
    Equal(Reg, Reg),
    Alien(Reg, usize),
}

/// What one node of a free pattern asks of the subject.
pub(super) enum Test {
    /// A constant or a free operator.
    Sym(u32),
    /// A small natural.
    Nat(u32),
    /// So many successors over the argument.
    Pred(u32, usize),
    /// Matching modulo axioms, or a literal.
    Alien,
}

/// Which list of statements rows refer to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Statements {
    Equations,
    /// Memberships of an operator: the node is in register 0.
    Memberships(Label),
    /// Rules: the subject is in register 0, and results are yielded one by one. `all`: every
    /// matcher counts, as in search; else the first ones may be chosen greedily, as in `rewrite`.
    Rules {
        all: bool,
    },
}

impl Compiler<'_> {
    pub(super) fn free_rows(&self, op: OpId) -> Vec<Row> {
        let mut rows = Vec::new();
        for row in &self.plans[op.index()].rows {
            let lhs = &self.module.equations[row.equation].lhs;
            let mut new = Row {
                index: row.equation,
                pending: Vec::new(),
                vars: Vec::new(),
                checks: Vec::new(),
                available: Vec::new(),
                whole: if row.collapsed { Whole::Collapsed } else { Whole::No },
            };
            if !row.collapsed {
                for (i, place) in lhs.args(lhs.root()).into_iter().enumerate() {
                    self.add_pattern(&mut new, lhs, i as Reg, place);
                }
            }
            rows.push(new);
        }
        rows
    }

    pub(super) fn lhs(&self, statements: Statements, index: usize) -> &Tree {
        match statements {
            Statements::Equations => &self.module.equations[index].lhs,
            Statements::Memberships(_) => &self.module.memberships[index].term,
            Statements::Rules { .. } => &self.rules[index].lhs,
        }
    }

    pub(super) fn condition(&self, statements: Statements, index: usize) -> &[Fragment] {
        match statements {
            Statements::Equations => &self.module.equations[index].condition,
            Statements::Memberships(_) => &self.module.memberships[index].condition,
            Statements::Rules { .. } => &self.rules[index].condition,
        }
    }

    /// The subpattern at `place` must match register `reg`.
    pub(super) fn add_pattern(&self, row: &mut Row, lhs: &Tree, reg: Reg, place: usize) {
        match lhs.node(place) {
            Node::Var(var) => match row.vars.iter().find(|(v, _)| v == var) {
                Some(&(_, first)) => row.checks.push(Check::Equal(reg, first)),
                None => {
                    row.vars.push((*var, reg));
                    row.checks.push(Check::Sort(reg, var.sort));
                }
            },
            _ => match self.test(lhs, place) {
                Test::Alien => row.checks.push(Check::Alien(reg, place)),
                _ => row.pending.push((reg, place)),
            },
        }
    }

    pub(super) fn test(&self, lhs: &Tree, place: usize) -> Test {
        match lhs.node(place) {
            Node::App { op, arity: 0 } if op.0 == self.sy.numbers.zero => Test::Nat(0),
            Node::App { op, .. } if op.0 == self.sy.numbers.succ => Test::Pred(1, lhs.args(place)[0]),
            Node::App { op, .. } if self.sy.class(op.0) == Class::Free => Test::Sym(op.0),
            Node::Iter { op, count } if op.0 == self.sy.numbers.succ => {
                let base = lhs.args(place)[0];
                let is_zero = lhs.node(base).op().is_some_and(|op| op.0 == self.sy.numbers.zero);
                // With equations of the successor there are numbers that are not reduced.
                let is_one_word = is_zero && !self.sy.numbers.computed;
                match count.to_u32() {
                    Some(count) if count < SMALL_MAX && is_one_word => Test::Nat(count),
                    Some(count) if count < SMALL_MAX => Test::Pred(count, base),
                    _ => Test::Alien,
                }
            }
            _ => Test::Alien,
        }
    }

    /// Code for rows in order; falls to `no_match` if none applies.
    pub(super) fn rows(
        &mut self,
        mut rows: Vec<Row>,
        path: Path,
        statements: Statements,
        no_match: Label,
        frame: &mut Frame,
    ) {
        let Some(first) = rows.first() else {
            self.asm.emit_to(Op::Jump, 0, 0, no_match);
            return;
        };
        let Some(&(reg, place)) = first.pending.first() else {
            let row = rows.remove(0);
            let rest = self.asm.label();
            self.repeated_row(&row, &path, statements, rest, frame);
            if self.leaf_in_order(row, &path, statements, rest, frame) {
                self.asm.place(rest);
                let room = path.room.saturating_sub(1);
                self.rows(rows, path.with_room(room), statements, no_match, frame);
            } else {
                self.asm.place(rest);
            }
            return;
        };
        let lhs = self.lhs(statements, first.index);
        match self.test(lhs, place) {
            Test::Sym(_) => self.switch(rows, reg, path, statements, no_match, frame),
            Test::Nat(_) | Test::Pred(..) if 2 * rows.len() > path.room && rows.len() > 1 => {
                self.first_rows(1, rows, path, statements, no_match, frame);
            }
            Test::Nat(n) => {
                let fail = self.asm.label();
                self.asm.emit_to(Op::TestImm, 0, reg, fail);
                self.asm.emit(u64::from(Term::small(n).0));
                let (mut yes, mut no) = (Vec::new(), Vec::new());
                for row in rows {
                    match self.pending_test(&row, reg, statements) {
                        None => {
                            yes.push(row.clone());
                            no.push(row);
                        }
                        Some(Test::Nat(m)) if m == n => {
                            let mut row = row;
                            row.pending.retain(|p| p.0 != reg);
                            yes.push(row);
                        }
                        Some(Test::Pred(count, _)) if count <= n => {
                            yes.push(row.clone());
                            no.push(row);
                        }
                        Some(_) => no.push(row),
                    }
                }
                let rooms = path.rooms(&[yes.len(), no.len()]);
                self.rows(yes, path.clone().with_room(rooms[0]), statements, no_match, frame);
                self.asm.place(fail);
                self.rows(no, path.with_room(rooms[1]), statements, no_match, frame);
            }
            Test::Pred(count, _) => {
                let fail = self.asm.label();
                let mut inner = path.clone();
                let pred = inner.take(1);
                inner.set(pred, self.known_argument(self.sy.numbers.succ, 0, path.known[reg as usize]));
                inner.lazy[pred as usize] = path.lazy[reg as usize];
                frame.note(inner.top);
                self.asm.emit_to(Op::Pred, 0, pred, fail);
                self.asm.emit(u64::from(reg) | u64::from(count) << 32);
                let (mut yes, mut no) = (Vec::new(), Vec::new());
                for row in rows {
                    match self.pending_test(&row, reg, statements) {
                        Some(Test::Pred(same, base)) if same == count => {
                            let mut row = row;
                            row.pending.retain(|p| p.0 != reg);
                            let lhs = self.lhs(statements, row.index).clone();
                            self.add_pattern(&mut row, &lhs, pred, base);
                            yes.push(row);
                        }
                        Some(Test::Sym(_)) => no.push(row),
                        _ => {
                            yes.push(row.clone());
                            no.push(row);
                        }
                    }
                }
                let rooms = path.rooms(&[yes.len(), no.len()]);
                self.rows(yes, inner.with_room(rooms[0]), statements, no_match, frame);
                self.asm.place(fail);
                self.rows(no, path.with_room(rooms[1]), statements, no_match, frame);
            }
            Test::Alien => unreachable!("aliens are not pending"),
        }
    }

    /// A tree for so many rows, and another one for those after them.
    fn first_rows(
        &mut self,
        count: usize,
        mut rows: Vec<Row>,
        path: Path,
        statements: Statements,
        no_match: Label,
        frame: &mut Frame,
    ) {
        let others = rows.split_off(count);
        let rooms = path.rooms(&[rows.len(), others.len()]);
        let next = self.asm.label();
        self.rows(rows, path.clone().with_room(rooms[0]), statements, next, frame);
        self.asm.place(next);
        self.rows(others, path.with_room(rooms[1]), statements, no_match, frame);
    }

    /// The end of a row. Loops over the elements of a multiset may find matchers in another order than
    /// Maude, which depends on the multiset: for those where it would there is a second copy of the code.
    fn leaf_in_order(
        &mut self,
        row: Row,
        path: &Path,
        statements: Statements,
        rest: Label,
        frame: &mut Frame,
    ) -> bool {
        // Queries and functions of elements leave their results in registers that are known.
        let is_query = matches!(statements, Statements::Rules { .. }) && self.rules[row.index].rhs.is_empty();
        if is_query || self.yields.is_some() {
            return self.leaf(row, path.clone(), statements, rest, frame);
        }
        let slow = self.asm.label();
        (self.slow, self.is_slow_used) = (Some(slow), false);
        let can_fail = self.leaf(row.clone(), path.clone(), statements, rest, frame);
        self.slow = None;
        self.asm.place(slow);
        if self.is_slow_used {
            self.leaf(row, path.clone(), statements, rest, frame);
        }
        can_fail
    }

    /// A left-hand side that is one variable several times needs no matcher as long as the
    /// multiset is well-sorted. The usual code follows for all others.
    fn repeated_row(
        &mut self,
        row: &Row,
        path: &Path,
        statements: Statements,
        rest: Label,
        frame: &mut Frame,
    ) {
        if row.whole != (Whole::Joined { extension: true })
            || statements != Statements::Equations
            || !self.module.equations[row.index].condition.is_empty()
        {
            return;
        }
        let Some((var, _)) = self.repeated(self.lhs(statements, row.index)) else { return };
        let Some(sorted) = Known::below(self.sig, var.sort) else { return };
        let others = self.asm.label();
        self.asm.emit_to(Op::Sort, 0, 0, others);
        self.asm.emit(sorted.0);
        let fast = Row { whole: Whole::Repeated, ..row.clone() };
        self.leaf(fast, path.clone(), statements, rest, frame);
        self.asm.place(others);
    }

    fn pending_test(&self, row: &Row, reg: Reg, statements: Statements) -> Option<Test> {
        let &(_, place) = row.pending.iter().find(|p| p.0 == reg)?;
        Some(self.test(self.lhs(statements, row.index), place))
    }

    /// One switch on the operator in a register.
    fn switch(
        &mut self,
        rows: Vec<Row>,
        reg: Reg,
        path: Path,
        statements: Statements,
        no_match: Label,
        frame: &mut Frame,
    ) {
        let mut syms: Vec<u32> = Vec::new();
        for row in &rows {
            if let Some(Test::Sym(sym)) = self.pending_test(row, reg, statements)
                && !syms.contains(&sym)
            {
                syms.push(sym);
            }
        }
        // Rows without a test here go to every branch. Without room for that the rows before them come first.
        let goes = |row: &Row, sym: Option<u32>| match self.pending_test(row, reg, statements) {
            Some(Test::Sym(own)) => sym.map_or(!syms.contains(&own), |sym| sym == own),
            tested => tested.is_none() || sym.is_none(),
        };
        let ways = syms.iter().map(|&sym| Some(sym)).chain([None]);
        let sizes: Vec<usize> = ways.map(|sym| rows.iter().filter(|row| goes(row, sym)).count()).collect();
        if sizes.iter().sum::<usize>() > path.room.max(rows.len()) {
            let is_tested =
                |row: &&Row| matches!(self.pending_test(row, reg, statements), Some(Test::Sym(_)));
            let first = rows.iter().take_while(is_tested).count();
            return self.first_rows(first, rows, path, statements, no_match, frame);
        }
        let rooms = path.rooms(&sizes);
        let others: Vec<Row> = rows.iter().filter(|row| goes(row, None)).cloned().collect();
        let default = self.asm.label();
        let mut cases: Vec<(u32, Label)> = syms.iter().map(|&sym| (sym, self.asm.label())).collect();
        if let [(sym, label)] = cases[..]
            && !self.may_be_unreduced_constant(sym, path.lazy[reg as usize])
        {
            if self.sig.op(OpId(sym)).arity() == 0 {
                self.asm.emit_to(Op::TestImm, 0, reg, default);
                self.asm.emit(u64::from(Term::constant(sym).0));
            } else {
                self.asm.emit_to(Op::TestSym, 0, reg, default);
                self.asm.emit(u64::from(sym));
            }
            self.asm.place(label);
            let label = self.asm.label();
            cases = vec![(sym, label)];
        } else {
            let mut keys: Vec<(u32, Label)> = Vec::new();
            for &(sym, label) in &cases {
                let is_constant = self.sig.op(OpId(sym)).arity() == 0;
                if is_constant {
                    keys.push((Term::constant(sym).0, label));
                }
                // Constants that are not reduced are nodes.
                if !is_constant || self.has_lazy {
                    keys.push((switch_key(sym), label));
                }
            }
            keys.sort_by_key(|&(key, _)| key);
            debug_assert!(keys.len() >= 2);
            self.asm.emit(inst(Op::Switch, 0, reg, keys.len() as u32));
            for &(key, label) in &keys {
                self.asm.emit_case(key, label);
            }
            self.asm.emit_case(0, default);
        }
        for (&(sym, label), &room) in cases.iter().zip(&rooms) {
            self.asm.place(label);
            let arity = self.sig.op(OpId(sym)).arity();
            let mut inner = path.clone();
            let first = inner.take(arity);
            frame.note(inner.top);
            let mut chosen: Vec<Row> = Vec::new();
            for row in &rows {
                match self.pending_test(row, reg, statements) {
                    None => chosen.push(row.clone()),
                    Some(Test::Sym(other)) if other == sym => {
                        let mut row = row.clone();
                        let at = row.pending.iter().position(|p| p.0 == reg).expect("it has a test here");
                        let (_, place) = row.pending.remove(at);
                        let lhs = self.lhs(statements, row.index).clone();
                        row.available.push((place, reg));
                        for (i, arg) in lhs.args(place).into_iter().enumerate() {
                            self.add_pattern(&mut row, &lhs, first + i as Reg, arg);
                        }
                        chosen.push(row);
                    }
                    Some(_) => {}
                }
            }
            // Load only the arguments that some row looks at.
            let mut used = vec![false; arity];
            for (i, used) in used.iter_mut().enumerate() {
                let target = first + i as Reg;
                inner.known[target as usize] = self.known_argument(sym, i, path.known[reg as usize]);
                *used = chosen.iter().any(|row| uses(row, target));
                inner.ready[target as usize] = *used;
                inner.lazy[target as usize] = path.lazy[reg as usize] || self.is_left_alone(sym, i);
            }
            let lazy = inner.lazy[first as usize..].to_vec();
            self.load_arguments(first, reg, &used, &lazy);
            self.rows(chosen, inner.with_room(room), statements, no_match, frame);
        }
        self.asm.place(default);
        self.rows(others, path.with_room(rooms[cases.len()]), statements, no_match, frame);
    }

    /// May a register hold the constant as a node that is not reduced?
    pub(super) fn may_be_unreduced_constant(&self, sym: u32, lazy: bool) -> bool {
        self.has_lazy && lazy && self.sig.op(OpId(sym)).arity() == 0 && !self.plans[sym as usize].is_plain()
    }

    /// Loads the arguments of the node in `reg` that are used into registers from `first` on.
    pub(super) fn load_arguments(&mut self, first: Reg, reg: Reg, used: &[bool], lazy: &[bool]) {
        if *used == [true, true] && (!self.has_lazy || *lazy == [false, false]) {
            self.asm.emit(inst3(Op::Arg2, 0, first, reg, 0));
            return;
        }
        let wanted = used.iter().filter(|used| **used).count();
        if used.len() == 3 && wanted >= 2 && (!self.has_lazy || *lazy == [false; 3]) {
            self.asm.emit(inst3(Op::Arg3, 0, first, reg, 0));
            return;
        }
        for (i, _) in used.iter().enumerate().filter(|u| *u.1) {
            let which = if self.has_lazy && lazy[i] { Op::Arg } else { Op::Arg1 };
            self.asm.emit(inst3(which, 0, first + i as Reg, reg, i as u16));
        }
    }

    /// Does the strategy of an operator never evaluate argument `i`?
    pub(super) fn is_left_alone(&self, sym: u32, i: usize) -> bool {
        let strategy = &self.plans[sym as usize].strategy;
        !strategy.segments.iter().flatten().chain(&strategy.trailing).any(|&arg| arg as usize == i)
    }

    /// What is known of argument `i` of a node of `sym` whose own sorts are known.
    pub(super) fn known_argument(&self, sym: u32, i: usize, node: Known) -> Known {
        let plan = &self.plans[sym as usize];
        if node.may_be_error() || !plan.memberships.is_empty() { Known::ANY } else { plan.assumed[i] }
    }
}

/// Does a row look at a freshly loaded register?
fn uses(row: &Row, reg: Reg) -> bool {
    row.pending.iter().any(|p| p.0 == reg)
        || row.vars.iter().any(|v| v.1 == reg)
        || row.checks.iter().any(|check| match check {
            Check::Sort(r, _) | Check::Alien(r, _) => *r == reg,
            Check::Equal(a, b) => *a == reg || *b == reg,
        })
}
