//! Equations to code: one decision tree per operator, rows in order, `owise` rows last.
//!
//! The free part of all left-hand sides of an operator is tested by one tree of switches (rows
//! stay in order; a row that fails later falls through to those after it). Parts that need
//! matching modulo axioms, sort checks, equalities and conditions come at the leaves.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::base::Name;
use crate::builtin::{Builtin, Special};
use crate::matching::{Needed, Pattern, PatternSpec, Shapes};
use crate::module::{Fragment, Module};
use crate::sorts::{Node, OpId, Signature, SortId, Tree, Var};
use crate::term::{Class, Heap, SMALL_MAX, Symbols, Term};
use num_traits::ToPrimitive;

use super::code::{Assembler, Label, Op, Reg, inst, inst3, op, switch_key};
use super::collections::{LazyBag, reduce_parts};
use super::known::Known;
use super::plan::{self, SymbolPlan};
use super::{Function, NO_CODE, NameOrder, Options, Stubs, Theory, TraceKind, TracePoint, TraceStep};

pub(super) struct Compiler<'a> {
    pub module: &'a Module,
    pub sig: &'a Signature,
    pub sy: &'a Symbols,
    pub plans: &'a [SymbolPlan],
    pub asm: Assembler,
    /// Entries of each operator: with sort checks on the arguments, and without.
    pub checked: Vec<Label>,
    pub fast: Vec<Label>,
    pub mb_entry: Vec<Label>,
    pub patterns: Vec<Pattern>,
    pub builtins: Vec<Builtin>,
    pub constants: Vec<Tree>,
    pub constant_numbers: FxHashMap<Vec<Node>, u32>,
    pub sets: Vec<Vec<u64>>,
    pub traces: Vec<TracePoint>,
    pub names: &'a NameOrder,
    pub has_lazy: bool,
    /// The memberships that apply to a constant, with the sorts that they improve.
    pub constant_memberships: FxHashMap<OpId, Vec<(usize, u32)>>,
    /// Is there an operator with axioms whose arguments are never evaluated?
    pub has_lazy_joined: bool,
    pub trace: bool,
    /// Operators that return only terms of their declared range; see `ranges`.
    pub keeps_range: Vec<bool>,
    /// Where functions start.
    enters: Vec<u32>,
    /// The operator that is being compiled.
    current: OpId,
    pub shapes: Shapes,
}

/// What is known along one path of the decision tree.
#[derive(Clone)]
pub(super) struct Path {
    /// Sorts that each register can have.
    pub known: Vec<Known>,
    /// Which registers have been written; only those may be marked as alive.
    pub ready: Vec<bool>,
    /// Which registers may hold terms that are not reduced (in theories that have such terms).
    pub lazy: Vec<bool>,
    /// The next free register.
    pub top: Reg,
    /// How many registers are arguments.
    pub args: usize,
}

impl Path {
    fn new(known: Vec<Known>) -> Path {
        let args = known.len();
        Path { known, ready: vec![true; args], lazy: vec![true; args], top: args as Reg, args }
    }

    /// Takes `count` registers.
    pub fn take(&mut self, count: usize) -> Reg {
        let first = self.top;
        self.top += count as Reg;
        self.known.resize(self.top as usize, Known::ANY);
        self.ready.resize(self.top as usize, false);
        self.lazy.resize(self.top as usize, true);
        first
    }

    pub fn set(&mut self, reg: Reg, known: Known) {
        self.known[reg as usize] = known;
        self.ready[reg as usize] = true;
    }

    /// As `set`, for a term that is reduced.
    pub fn set_reduced(&mut self, reg: Reg, known: Known) {
        self.set(reg, known);
        self.lazy[reg as usize] = false;
    }
}

/// The registers that a function's frame needs.
pub(super) struct Frame {
    pub size: u32,
}

impl Frame {
    pub fn note(&mut self, top: Reg) {
        self.size = self.size.max(u32::from(top) + 1);
    }
}

/// The end of one row: what is bound, and where to go on failure.
pub(super) struct Leaf {
    pub path: Path,
    pub vars: Vec<(Var, Reg)>,
    /// Subterms whose values stand in registers.
    pub available: Vec<(Vec<Node>, Reg)>,
    /// Where a failure goes: the last matcher that may have another solution, or the next row.
    pub fail: Label,
    pub can_fail: bool,
    /// Registers that hold matchers in progress, oldest first.
    pub choices: Vec<Reg>,
    deferred: Vec<Retry>,
    /// Where the left-over parts of an extension are: choice register.
    pub rest_of: Option<Reg>,
    /// An extension matched by loops: what is left is built when the equation applies.
    pub has_rest: bool,
    /// Subterms to evaluate once, since they occur several times.
    pub shared: Vec<Vec<Node>>,
    /// Variables with parts of the collection being rewritten, and its operator.
    pub parts: Option<(OpId, Vec<Var>)>,
    /// Registers with arguments of calls that are being prepared.
    pub pending: Vec<Reg>,
    /// The variables of the condition while the left-hand side is matched (others may be bound
    /// greedily); `None` in `:=` conditions, where all solutions count.
    pub needed: Option<Vec<Var>>,
    /// A collector that is built only when it is needed.
    pub lazy: Option<LazyBag>,
    /// The last place of the right-hand side where each register is used; `None` in conditions.
    pub last_use: Option<Vec<(Reg, usize)>>,
}

/// Code that asks a matcher for its next solution.
struct Retry {
    here: Label,
    choice: Reg,
    pattern: u32,
    fail: Label,
    go_on: Label,
}

/// A left-hand side that still may match.
#[derive(Clone)]
struct Row {
    /// Which equation (or membership).
    index: usize,
    /// Subpatterns to test: register, place in the left-hand side.
    pending: Vec<(Reg, usize)>,
    vars: Vec<(Var, Reg)>,
    checks: Vec<Check>,
    /// Left-hand side subterms that stand in registers.
    available: Vec<(usize, Reg)>,
    whole: Whole,
}

/// How the left-hand side as a whole is matched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whole {
    /// Argument by argument.
    No,
    /// By the general matcher against the node in register 0, with or without extension.
    Joined { extension: bool },
    /// By the general matcher against a node of the current free operator: it may collapse.
    Collapsed,
}

#[derive(Clone)]
enum Check {
    Sort(Reg, SortId),
    Equal(Reg, Reg),
    Alien(Reg, usize),
}

/// What one node of a free pattern asks of the subject.
enum Test {
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
enum Statements {
    Equations,
    /// Memberships of an operator: the node is in register 0.
    Memberships(Label),
}

pub(super) fn compile(module: Arc<Module>, name_order: FxHashMap<Name, u32>, options: &Options) -> Theory {
    let sig = &module.signature;
    let mut symbols = Symbols::new(sig);
    let mut sort_ids: Vec<SortId> = sig.sorts.declared().collect();
    sort_ids.extend(sig.sorts.kinds().map(|(_, kind)| kind.error()));
    let mut sort_indices = vec![0; sort_ids.len()];
    for sort in sort_ids {
        sort_indices[sort.index()] = sig.sorts.get(sort).index;
    }
    let names = NameOrder { names: name_order, sort_indices, sort_order: options.sort_order.clone() };
    let collapsed = collapse_patterns(&module, &symbols, &names);
    let module = collapsed.map_or(module, Arc::new);
    let sig = &module.signature;
    let plans = plan::plans(&module, &symbols);
    let mut constant_memberships = FxHashMap::default();
    for (index, plan) in plans.iter().enumerate() {
        if symbols.info[index].arity == 0 {
            let (sort, applications) = constant_sort(&module, &symbols, OpId::from_index(index), plan);
            symbols.info[index].constant_sort = sort;
            if !applications.is_empty() {
                constant_memberships.insert(OpId::from_index(index), applications);
            }
        }
    }
    let has_lazy = plans.iter().enumerate().any(|(i, plan)| {
        let arity = sig.op(OpId::from_index(i)).arity();
        !plan.strategy.is_standard(arity) && !matches!(plan.special, Some(Special::Branch { .. }))
    });
    let has_lazy_joined =
        plans.iter().enumerate().any(|(i, plan)| is_joined(&symbols, i as u32) && plan.strategy.is_lazy());
    let given = plans.iter().enumerate().flat_map(|(i, plan)| {
        let sort = |&index: &usize| sig.sorts.get(module.memberships[index].sort).index;
        plan.memberships.iter().map(move |index| (OpId::from_index(i), sort(index)))
    });
    let shapes = Shapes::new(sig, given);
    let mut asm = Assembler::default();
    let count = plans.len();
    let checked: Vec<Label> = (0..count).map(|_| asm.label()).collect();
    let fast: Vec<Label> = (0..count).map(|_| asm.label()).collect();
    let mb_entry: Vec<Label> = (0..count).map(|_| asm.label()).collect();
    let mut compiler = Compiler {
        module: &module,
        sig,
        sy: &symbols,
        plans: &plans,
        asm,
        checked,
        fast,
        mb_entry,
        patterns: Vec::new(),
        builtins: Vec::new(),
        constants: Vec::new(),
        constant_numbers: FxHashMap::default(),
        sets: Vec::new(),
        traces: Vec::new(),
        names: &names,
        has_lazy,
        constant_memberships,
        has_lazy_joined,
        trace: options.trace,
        keeps_range: Vec::new(),
        enters: Vec::new(),
        current: OpId(0),
        shapes,
    };
    let stubs = compiler.stubs();
    compiler.find_ranges();
    for index in 0..count {
        compiler.operator(OpId::from_index(index));
    }
    let Compiler { asm, checked, mb_entry, patterns, builtins, constants, sets, traces, enters, .. } =
        compiler;
    let (code, places) = asm.finish();
    let functions = plans
        .iter()
        .enumerate()
        .map(|(i, plan)| {
            let arity = sig.op(OpId::from_index(i)).arity();
            let eager = plan.strategy.segments.first().cloned().unwrap_or_default();
            Function {
                code: if plan.is_constructor { NO_CODE } else { Assembler::resolve(&places, checked[i]) },
                joined: is_joined(&symbols, i as u32),
                is_lazy: arity > 0 && plan.strategy.is_lazy(),
                is_eager: (0..arity as u32).all(|a| eager.contains(&a)),
                eager,
            }
        })
        .collect();
    let memberships = plans
        .iter()
        .enumerate()
        .map(
            |(i, plan)| {
                if plan.memberships.is_empty() { NO_CODE } else { Assembler::resolve(&places, mb_entry[i]) }
            },
        )
        .collect();
    drop(plans);
    Theory {
        symbols,
        code,
        functions,
        patterns,
        builtins,
        constants,
        sets,
        traces,
        stubs,
        names,
        memberships,
        has_lazy,
        enters,
        module,
    }
}

/// A left-hand side is what it is modulo the axioms: with an identity `e`, `f(X, e)` is `X`.
/// Gives the module with such patterns in normal form, if there are any.
fn collapse_patterns(module: &Module, sy: &Symbols, names: &NameOrder) -> Option<Module> {
    let may_collapse = |tree: &Tree| {
        tree.nodes().iter().filter_map(Node::op).any(|op| {
            let info = &sy.info[op.index()];
            info.identity.is_some() || info.idem
        })
    };
    let mut heap = Heap::new();
    for identity in &sy.identities {
        let term = heap.build(sy, names, identity);
        heap.consts.push(term);
    }
    let leaves = |tree: &Tree| tree.nodes().iter().filter(|node| node.arity() == 0).count();
    let mut normal = |tree: &Tree| {
        let term = may_collapse(tree).then(|| heap.build(sy, names, tree))?;
        let normal = heap.to_tree(sy, term);
        (leaves(&normal) < leaves(tree)).then_some(normal)
    };
    let equations: Vec<_> = module.equations.iter().map(|eq| normal(&eq.lhs)).collect();
    let memberships: Vec<_> = module.memberships.iter().map(|mb| normal(&mb.term)).collect();
    if equations.iter().chain(&memberships).all(Option::is_none) {
        return None;
    }
    let mut module = module.clone();
    for (equation, lhs) in module.equations.iter_mut().zip(equations) {
        equation.lhs = lhs.unwrap_or_else(|| equation.lhs.clone());
    }
    for (membership, term) in module.memberships.iter_mut().zip(memberships) {
        membership.term = term.unwrap_or_else(|| membership.term.clone());
    }
    Some(module)
}

/// The sort of a constant by its declarations and unconditional memberships, and those that
/// apply with the sorts that they improve.
fn constant_sort(module: &Module, sy: &Symbols, op: OpId, plan: &SymbolPlan) -> (u32, Vec<(usize, u32)>) {
    let sorts = &module.signature.sorts;
    let kind = sorts.kind(module.signature.op(op).range);
    let mut sort = sy.info[op.index()].constant_sort;
    let mut applications = Vec::new();
    loop {
        let applies = |&&index: &&usize| {
            let membership = &module.memberships[index];
            let target = sorts.get(membership.sort).index;
            let matches = match membership.term.node(membership.term.root()) {
                Node::Var(var) => kind.leq(sort, sorts.get(var.sort).index),
                node => node.op() == Some(op),
            };
            membership.condition.is_empty() && matches && target != sort && kind.leq(target, sort)
        };
        match plan.memberships.iter().find(applies) {
            Some(&index) => {
                applications.push((index, sort));
                sort = sorts.get(module.memberships[index].sort).index;
            }
            None => return (sort, applications),
        }
    }
}

/// Does the operator's code take one joined node instead of separate arguments?
pub(super) fn is_joined(sy: &Symbols, sym: u32) -> bool {
    !matches!(sy.class(sym), Class::Free)
}

impl Compiler<'_> {
    fn stubs(&mut self) -> Stubs {
        let mut stub = |op: Op, n: usize, mask: u64| {
            self.asm.emit(mask);
            let at = self.asm.words.len() as u32;
            self.asm.emit(inst(op, n, 0, 0));
            at
        };
        let fill_first = stub(Op::FillLast, 0, 0b111);
        for hole in 1..3 {
            stub(Op::FillLast, hole, 0b111);
        }
        Stubs {
            fill_first,
            halt: stub(Op::Halt, 0, u64::MAX),
            fill_hole: stub(Op::FillHole, 0, 0b111),
            memo_return: stub(Op::MemoReturn, 0, u64::MAX),
            walk: stub(Op::Walk, 0, u64::MAX),
            update: stub(Op::Update, 0, 1),
        }
    }

    /// All code of one operator.
    fn operator(&mut self, op: OpId) {
        let sym = op.index();
        self.current = op;
        self.membership_code(op);
        let plan = &self.plans[sym];
        if plan.is_constructor {
            let (checked, fast) = (self.checked[sym], self.fast[sym]);
            self.asm.place(checked);
            self.asm.place(fast);
            return;
        }
        if is_joined(self.sy, op.0) {
            let checked = self.checked[sym];
            self.asm.place(checked);
            let fast = self.fast[sym];
            self.asm.place(fast);
            return self.joined_operator(op);
        }
        let arity = self.sig.op(op).arity();
        let assumed = plan.assumed.clone();
        let checked = self.checked[sym];
        let fast = self.fast[sym];
        let worth = !plan.rows.is_empty()
            && !plan.memo
            && plan.strategy.is_standard(arity)
            && assumed.iter().any(|k| *k != Known::ANY)
            && self.kinds_are_small(op);
        if !worth {
            self.asm.place(checked);
            self.asm.place(fast);
            return self.free_operator(op, vec![Known::ANY; arity]);
        }
        let slow = self.asm.label();
        self.asm.place(checked);
        for (i, known) in assumed.iter().enumerate() {
            if *known != Known::ANY {
                self.asm.emit_to(Op::Sort, 0, i as Reg, slow);
                self.asm.emit(known.0);
            }
        }
        self.asm.place(fast);
        self.free_operator(op, assumed);
        self.asm.place(slow);
        self.free_operator(op, vec![Known::ANY; arity]);
    }

    fn kinds_are_small(&self, op: OpId) -> bool {
        self.sig.op(op).domain.iter().all(|&kind| self.sig.sorts.kind(kind).sorts.len() <= 64)
    }

    /// A free operator: its arguments are in the first registers.
    fn free_operator(&mut self, op: OpId, known: Vec<Known>) {
        let arity = known.len();
        let plan = &self.plans[op.index()];
        let enter = self.asm.words.len();
        self.asm.emit(inst(Op::Enter, arity, 0, 0));
        if plan.memo {
            self.asm.emit(inst(Op::Memo, arity, 0, op.0));
        }
        let mut frame = Frame { size: arity as u32 + 1 };
        let mut path = Path::new(known);
        for &arg in plan.strategy.segments.first().into_iter().flatten() {
            path.lazy[arg as usize] = false;
        }
        self.special_code(op, &path, &mut frame);
        let segments = plan.strategy.segments.clone();
        let branch = matches!(plan.special, Some(Special::Branch { .. }));
        for (number, segment) in segments.iter().enumerate() {
            if number > 0 {
                self.eval_args(segment, arity);
            }
            let rows = self.free_rows(op);
            let no_match = self.asm.label();
            self.rows(rows, path.clone(), Statements::Equations, no_match, &mut frame);
            self.asm.place(no_match);
        }
        let trailing = plan.strategy.trailing.clone();
        if !branch {
            self.eval_args(&trailing, arity);
        }
        self.build_and_return(op, &path, &mut frame);
        self.patch_frame(enter, arity, &frame);
    }

    fn patch_frame(&mut self, enter: usize, arity: usize, frame: &Frame) {
        let size = Reg::try_from(frame.size).expect("frames stay below 65,536 registers");
        let next = self.asm.words.get(enter + 1).map(|&word| op(word));
        let which = match next {
            _ if size > 63 => Op::EnterBig,
            Some(Op::Switch) => Op::EnterSwitch,
            _ => Op::Enter,
        };
        self.asm.words[enter] = inst(which, arity, size, 0);
        self.enters.push(enter as u32);
    }

    fn eval_args(&mut self, args: &[u32], arity: usize) {
        for &arg in args {
            self.asm.emit(inst(Op::Eval, 0, arg as Reg, 0));
            self.asm.emit(((1u64 << arity.min(63)) - 1) | if arity >= 63 { 1 << 63 } else { 0 });
        }
    }

    /// No equation applies: the node itself is the result.
    fn build_and_return(&mut self, op: OpId, path: &Path, frame: &mut Frame) {
        let arity = path.args;
        if arity == 0 {
            self.asm.emit(inst(Op::LoadImm, 0, 0, Term::constant(op.0).0));
            if let Some(applications) = self.constant_memberships.get(&op).cloned() {
                self.asm.emit(inst(Op::Count, 0, 0, applications.len() as u32));
                for (index, old_sort) in applications.into_iter().filter(|_| self.trace) {
                    let (kind, step) = (TraceKind::Membership, TraceStep::Apply);
                    let point = TracePoint { kind, index, vars: Vec::new(), step, old_sort: Some(old_sort) };
                    self.traces.push(point);
                    self.asm.emit(inst(Op::Trace, 0, 0, self.traces.len() as u32 - 1));
                }
            }
        } else {
            let sorts = path.known[..arity].to_vec();
            self.emit_build(op, 0, arity, &sorts);
        }
        if !self.plans[op.index()].memberships.is_empty() && arity > 0 {
            self.call_memberships(op, 0, 0);
        }
        frame.size = frame.size.max(arity as u32 + 1);
        self.asm.emit(inst(Op::Return, 0, 0, 0));
    }

    /// `a <- op(a..a+n)` with the sort known if it can be.
    pub(super) fn emit_build(&mut self, op: OpId, a: Reg, n: usize, sorts: &[Known]) {
        match self.static_sort(op, sorts) {
            Some(sort) if n <= 47 => {
                self.asm.emit(inst(Op::Build, n, a, crate::term::header(op.0, n as u32, sort)));
            }
            _ => self.asm.emit(inst(Op::BuildSort, n, a, op.0)),
        }
    }

    /// The sort of `op` over arguments with known sorts, if it is always the same.
    pub(super) fn static_sort(&self, op: OpId, sorts: &[Known]) -> Option<u32> {
        let domain = &self.sig.op(op).domain;
        let sets: Vec<Vec<u32>> =
            sorts.iter().zip(domain).map(|(known, &kind)| known.indices(self.sig, kind)).collect();
        if sets.iter().map(Vec::len).try_fold(1usize, |p, n| p.checked_mul(n)).is_none_or(|p| p > 256) {
            return None;
        }
        let diagram = self.sig.diagram(op);
        let mut choice = vec![0; sets.len()];
        let mut result = None;
        loop {
            let sort = diagram.sort(choice.iter().zip(&sets).map(|(&i, set)| set[i]));
            if result.is_some_and(|r| r != sort) {
                return None;
            }
            result = Some(sort);
            let Some(place) = (0..sets.len()).find(|&i| choice[i] + 1 < sets[i].len()) else {
                return result;
            };
            choice[..place].fill(0);
            choice[place] += 1;
        }
    }

    /// Built-in behaviour comes before the user's equations.
    fn special_code(&mut self, op: OpId, path: &Path, frame: &mut Frame) {
        match &self.plans[op.index()].special {
            None | Some(Special::Counter(_) | Special::Constructor | Special::Other(_)) => {}
            Some(Special::Function(builtin)) => {
                self.builtins.push(builtin.clone());
                let number = self.builtins.len() as u32 - 1;
                self.emit_builtin([Op::Builtin, Op::TraceBuiltin], path.args, op, number);
            }
            Some(Special::Equality { equal, not_equal }) => {
                self.trace_redex(op, path.args);
                self.asm.emit(inst3(Op::Equality, 0, 0, 0, 1));
                self.asm.emit(u64::from(equal.0) | u64::from(not_equal.0) << 32);
                self.trace_result(0);
                self.asm.emit(inst(Op::Return, 0, 0, 0));
            }
            Some(Special::SortTest { sort, yes, no }) => {
                let set = self.big_set(*sort);
                self.trace_redex(op, path.args);
                self.asm.emit(inst3(Op::SortTest, 0, 0, 0, set));
                self.asm.emit(u64::from(yes.0) | u64::from(no.0) << 32);
                self.trace_result(0);
                self.asm.emit(inst(Op::Return, 0, 0, 0));
            }
            Some(Special::Branch { tests }) => {
                let tests = tests.clone();
                for (i, test) in tests.iter().enumerate() {
                    let next = self.asm.label();
                    self.asm.emit_to(Op::TestImm, 0, 0, next);
                    self.asm.emit(u64::from(test.0));
                    let chosen = i as Reg + 1;
                    self.trace_redex(op, path.args);
                    self.trace_result(chosen);
                    self.asm.emit(inst(Op::Eval, 0, chosen, 0));
                    self.asm.emit((1 << path.args) - 1);
                    self.asm.emit(inst(Op::ReturnRw, 0, chosen, 0));
                    self.asm.place(next);
                }
                for arg in 1..path.args {
                    self.asm.emit(inst(Op::Eval, 0, arg as Reg, 0));
                    self.asm.emit((1 << path.args) - 1);
                }
            }
        }
        frame.size = frame.size.max(path.args as u32 + 2);
    }

    /// A built-in function; traced by the second of the operations.
    fn emit_builtin(&mut self, ops: [Op; 2], args: usize, op: OpId, number: u32) {
        if self.trace {
            self.asm.emit(inst(ops[1], args, 0, op.0));
            self.asm.emit(u64::from(number));
        } else {
            self.asm.emit(inst(ops[0], args, 0, number));
        }
    }

    fn trace_redex(&mut self, op: OpId, args: usize) {
        if self.trace {
            self.asm.emit(inst(Op::TraceRedex, args, 0, op.0));
        }
    }

    fn trace_result(&mut self, reg: Reg) {
        if self.trace {
            self.asm.emit(inst(Op::TraceResult, 0, reg, 0));
        }
    }

    /// Tracing code for a step of a statement.
    fn trace_step(&mut self, statements: Statements, index: usize, step: TraceStep, leaf: &Leaf) {
        if !self.trace {
            return;
        }
        let kind = match statements {
            Statements::Equations => TraceKind::Equation,
            Statements::Memberships(_) => TraceKind::Membership,
        };
        let mut vars = leaf.vars.clone();
        let unbound = condition_vars(self.condition(statements, index));
        for var in unbound {
            if !vars.iter().any(|(v, _)| *v == var) {
                vars.push((var, TracePoint::UNBOUND));
            }
        }
        self.traces.push(TracePoint { kind, index, vars, step, old_sort: None });
        self.asm.emit(inst(Op::Trace, leaf.path.args, leaf.path.top, self.traces.len() as u32 - 1));
    }

    /// The sorts strictly above `sort`: those that a membership can improve.
    fn above_set(&mut self, sort: SortId) -> u16 {
        let entry = self.sig.sorts.get(sort);
        let kind = self.sig.sorts.kind(entry.kind);
        let mut set = vec![0u64; kind.sorts.len().div_ceil(64)];
        for index in 0..kind.sorts.len() as u32 {
            if index != entry.index && kind.leq(entry.index, index) {
                set[index as usize / 64] |= 1 << (index % 64);
            }
        }
        self.set_number(set)
    }

    pub(super) fn big_set(&mut self, sort: SortId) -> u16 {
        let entry = self.sig.sorts.get(sort);
        let set = self.sig.sorts.kind(entry.kind).below(entry.index).to_vec();
        self.set_number(set)
    }

    fn set_number(&mut self, set: Vec<u64>) -> u16 {
        let number = self.sets.iter().position(|s| *s == set).unwrap_or_else(|| {
            self.sets.push(set);
            self.sets.len() - 1
        });
        u16::try_from(number).expect("few sort sets")
    }

    /// An operator with axioms: its joined node is in register 0.
    fn joined_operator(&mut self, op: OpId) {
        let plan = &self.plans[op.index()];
        let enter = self.asm.words.len();
        self.asm.emit(inst(Op::Enter, 1, 0, 0));
        if plan.memo {
            self.asm.emit(inst(Op::Memo, 1, 0, op.0));
        }
        let mut frame = Frame { size: 2 };
        if let Some(Special::Function(builtin)) = &plan.special {
            self.builtins.push(builtin.clone());
            let number = self.builtins.len() as u32 - 1;
            let which = match self.sy.class(op.0) {
                Class::AssocComm => [Op::BuiltinBag, Op::TraceBuiltinBag],
                _ => [Op::Builtin, Op::TraceBuiltin],
            };
            self.emit_builtin(which, 1, op, number);
        }
        if let Some(Special::Equality { equal, not_equal }) = &plan.special {
            self.trace_redex(op, 1);
            self.asm.emit(inst(Op::Arg, 0, 1, 1 << 16));
            self.asm.emit(inst(Op::Arg, 0, 0, 0));
            self.asm.emit(inst3(Op::Equality, 0, 0, 0, 1));
            self.asm.emit(u64::from(equal.0) | u64::from(not_equal.0) << 32);
            self.trace_result(0);
            self.asm.emit(inst(Op::Return, 0, 0, 0));
            frame.size = 3;
        }
        let mut path = Path::new(vec![Known::ANY]);
        let info = &self.sy.info[op.index()];
        let by_arguments = info.class == Class::Cui
            && info.comm
            && info.identity.is_none()
            && !info.idem
            && !self.has_lazy
            && plan.rows.iter().all(|row| !row.collapsed);
        let mut rows: Vec<Row> = Vec::new();
        for row in &plan.rows {
            let equation = &self.module.equations[row.equation];
            let mut new = Row {
                index: row.equation,
                pending: Vec::new(),
                vars: Vec::new(),
                checks: Vec::new(),
                available: Vec::new(),
                whole: Whole::Joined { extension: !row.collapsed },
            };
            if !by_arguments || !equation.condition.is_empty() {
                rows.push(new);
                continue;
            }
            // Both orders of the arguments, one after the other.
            new.whole = Whole::No;
            let lhs = &equation.lhs;
            let [first, second] = self.comm_order(lhs, lhs.root());
            for (x, y) in [(1, 2), (2, 1)] {
                let mut ordered = new.clone();
                self.add_pattern(&mut ordered, lhs, x, first);
                self.add_pattern(&mut ordered, lhs, y, second);
                rows.push(ordered);
                if lhs.same(first, lhs, second) {
                    break;
                }
            }
        }
        if rows.iter().any(|row| row.whole == Whole::No) {
            let first = path.take(2);
            path.set(first, Known::ANY);
            path.set(first + 1, Known::ANY);
            frame.note(path.top);
            self.load_arguments(first, 0, &[true, true], &[false, false]);
        }
        let no_match = self.asm.label();
        self.rows(rows, path, Statements::Equations, no_match, &mut frame);
        self.asm.place(no_match);
        if !self.plans[op.index()].memberships.is_empty() {
            self.call_memberships(op, 0, 0);
        }
        self.asm.emit(inst(Op::Return, 0, 0, 0));
        self.patch_frame(enter, 1, &frame);
    }

    /// The places of the arguments of a commutative pattern in the order of matching.
    fn comm_order(&self, lhs: &Tree, place: usize) -> [usize; 2] {
        let args = lhs.args(place);
        let mut heap = Heap::new();
        for identity in &self.sy.identities {
            let term = heap.build(self.sy, self.names, identity);
            heap.consts.push(term);
        }
        let [x, y] = [0, 1].map(|i| heap.build(self.sy, self.names, &lhs.subtree(args[i])));
        let [first, second] =
            if heap.compare(self.sy, x, y).is_le() { [args[0], args[1]] } else { [args[1], args[0]] };
        let is_var = |place: usize| matches!(lhs.node(place), Node::Var(_));
        if is_var(first) && !is_var(second) { [second, first] } else { [first, second] }
    }

    /// Matches a commutative pattern one of whose arguments is a variable with a value: that
    /// decides which argument is which.
    fn comm_alien(
        &mut self,
        tree: &Tree,
        place: usize,
        reg: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) -> bool {
        let Some(op) = tree.node(place).op() else { return false };
        let info = &self.sy.info[op.index()];
        if info.class != Class::Cui || !info.comm || info.identity.is_some() || info.idem || self.has_lazy {
            return false;
        }
        let &[x, y] = &tree.args(place)[..] else { return false };
        let value = |place: usize| match tree.node(place) {
            Node::Var(var) => leaf.vars.iter().find(|(v, _)| v == var).map(|v| v.1),
            _ => None,
        };
        let (value, other) = match (value(x), value(y)) {
            (Some(value), _) => (value, y),
            (_, Some(value)) => (value, x),
            _ => return false,
        };
        leaf.can_fail = true;
        self.asm.emit_to(Op::TestSym, 0, reg, leaf.fail);
        self.asm.emit(u64::from(op.0));
        let first = leaf.path.take(3);
        let slot = first + 2;
        for reg in first..=slot {
            leaf.path.set(reg, Known::ANY);
        }
        frame.note(leaf.path.top);
        self.load_arguments(first, reg, &[true, true], &[false, false]);
        let (swapped, done) = (self.asm.label(), self.asm.label());
        self.asm.emit_to(Op::Equal, 0, first, swapped);
        self.asm.emit(u64::from(value));
        self.asm.emit(inst3(Op::Move, 0, slot, first + 1, 0));
        self.asm.emit_to(Op::Jump, 0, 0, done);
        self.asm.place(swapped);
        self.asm.emit_to(Op::Equal, 0, first + 1, leaf.fail);
        self.asm.emit(u64::from(value));
        self.asm.emit(inst3(Op::Move, 0, slot, first, 0));
        self.asm.place(done);
        self.inline_match(tree, other, slot, leaf, frame);
        true
    }

    pub(super) fn call_memberships(&mut self, op: OpId, at: Reg, mask: u64) {
        let entry = self.mb_entry[op.index()];
        self.asm.emit_to(Op::CallTop, 1, at, entry);
        self.asm.emit(u64::from(op.0));
        self.asm.emit(mask);
    }

    /// Memberships: smaller sorts first, from the start again after each success.
    fn membership_code(&mut self, op: OpId) {
        let entry = self.mb_entry[op.index()];
        self.asm.place(entry);
        let memberships = self.plans[op.index()].memberships.clone();
        if memberships.is_empty() {
            return;
        }
        let enter = self.asm.words.len();
        self.asm.emit(inst(Op::Enter, 1, 0, 0));
        let mut frame = Frame { size: 2 };
        let start = self.asm.here();
        for index in memberships {
            let next = self.asm.label();
            let sort = self.module.memberships[index].sort;
            let set = self.above_set(sort);
            self.asm.emit_to(Op::SortBig, 0, 0, next);
            self.asm.emit(u64::from(set));
            let row = Row {
                index,
                pending: Vec::new(),
                vars: Vec::new(),
                checks: Vec::new(),
                available: Vec::new(),
                whole: Whole::Joined { extension: false },
            };
            let path = Path::new(vec![Known::ANY]);
            self.rows(vec![row], path, Statements::Memberships(start), next, &mut frame);
            self.asm.place(next);
        }
        self.asm.emit(inst(Op::Return, 0, 0, 0));
        self.patch_frame(enter, 1, &frame);
    }

    fn free_rows(&self, op: OpId) -> Vec<Row> {
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

    fn lhs(&self, statements: Statements, index: usize) -> &Tree {
        match statements {
            Statements::Equations => &self.module.equations[index].lhs,
            Statements::Memberships(_) => &self.module.memberships[index].term,
        }
    }

    fn condition(&self, statements: Statements, index: usize) -> &[Fragment] {
        match statements {
            Statements::Equations => &self.module.equations[index].condition,
            Statements::Memberships(_) => &self.module.memberships[index].condition,
        }
    }

    /// The subpattern at `place` must match register `reg`.
    fn add_pattern(&self, row: &mut Row, lhs: &Tree, reg: Reg, place: usize) {
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

    fn test(&self, lhs: &Tree, place: usize) -> Test {
        match lhs.node(place) {
            Node::App { op, arity: 0 } if op.0 == self.sy.numbers.zero => Test::Nat(0),
            Node::App { op, .. } if op.0 == self.sy.numbers.succ => Test::Pred(1, lhs.args(place)[0]),
            Node::App { op, .. } if self.sy.class(op.0) == Class::Free => Test::Sym(op.0),
            Node::Iter { op, count } if op.0 == self.sy.numbers.succ => {
                let base = lhs.args(place)[0];
                let is_zero = lhs.node(base).op().is_some_and(|op| op.0 == self.sy.numbers.zero);
                match count.to_u32() {
                    Some(count) if count < SMALL_MAX && is_zero => Test::Nat(count),
                    Some(count) if count < SMALL_MAX && !is_zero => Test::Pred(count, base),
                    _ => Test::Alien,
                }
            }
            _ => Test::Alien,
        }
    }

    /// Code for rows in order; falls to `no_match` if none applies.
    fn rows(
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
            if self.leaf(row, path.clone(), statements, rest, frame) {
                self.asm.place(rest);
                self.rows(rows, path, statements, no_match, frame);
            } else {
                self.asm.place(rest);
            }
            return;
        };
        let lhs = self.lhs(statements, first.index);
        match self.test(lhs, place) {
            Test::Sym(_) => self.switch(rows, reg, path, statements, no_match, frame),
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
                self.rows(yes, path.clone(), statements, no_match, frame);
                self.asm.place(fail);
                self.rows(no, path, statements, no_match, frame);
            }
            Test::Pred(count, _) => {
                let fail = self.asm.label();
                let mut inner = path.clone();
                let pred = inner.take(1);
                inner.set(pred, Known::ANY);
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
                self.rows(yes, inner, statements, no_match, frame);
                self.asm.place(fail);
                self.rows(no, path, statements, no_match, frame);
            }
            Test::Alien => unreachable!("aliens are not pending"),
        }
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
        // Rows without a test here go to every branch: with many of them, testing one operator
        // at a time keeps the code small.
        let open = rows.iter().filter(|r| self.pending_test(r, reg, statements).is_none()).count();
        if open * syms.len() > 24 {
            let Some(Test::Sym(sym)) = self.pending_test(&rows[0], reg, statements) else {
                unreachable!("the first row asked for this switch")
            };
            syms = vec![sym];
        }
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
            self.asm.emit(inst(Op::Switch, 0, reg, keys.len() as u32));
            for &(key, label) in &keys {
                self.asm.emit_case(key, label);
            }
            self.asm.emit_case(0, default);
        }
        for &(sym, label) in &cases {
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
            self.rows(chosen, inner, statements, no_match, frame);
        }
        self.asm.place(default);
        let keep = |row: &Row| match self.pending_test(row, reg, statements) {
            Some(Test::Sym(sym)) => !syms.contains(&sym),
            _ => true,
        };
        let others: Vec<Row> = rows.iter().filter(|row| keep(row)).cloned().collect();
        self.rows(others, path, statements, no_match, frame);
    }

    /// May a register hold the constant as a node that is not reduced?
    fn may_be_unreduced_constant(&self, sym: u32, lazy: bool) -> bool {
        self.has_lazy && lazy && self.sig.op(OpId(sym)).arity() == 0 && !self.plans[sym as usize].is_plain()
    }

    /// Loads the arguments of the node in `reg` that are used into registers from `first` on.
    fn load_arguments(&mut self, first: Reg, reg: Reg, used: &[bool], lazy: &[bool]) {
        if *used == [true, true] && (!self.has_lazy || *lazy == [false, false]) {
            self.asm.emit(inst3(Op::Arg2, 0, first, reg, 0));
            return;
        }
        for (i, _) in used.iter().enumerate().filter(|u| *u.1) {
            let which = if self.has_lazy && lazy[i] { Op::Arg } else { Op::Arg1 };
            self.asm.emit(inst3(which, 0, first + i as Reg, reg, i as u16));
        }
    }

    /// Does the strategy of an operator never evaluate argument `i`?
    fn is_left_alone(&self, sym: u32, i: usize) -> bool {
        let strategy = &self.plans[sym as usize].strategy;
        !strategy.segments.iter().flatten().chain(&strategy.trailing).any(|&arg| arg as usize == i)
    }

    /// What is known of argument `i` of a node of `sym` whose own sorts are known.
    fn known_argument(&self, sym: u32, i: usize, node: Known) -> Known {
        let plan = &self.plans[sym as usize];
        if node.may_be_error() || !plan.memberships.is_empty() { Known::ANY } else { plan.assumed[i] }
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

    /// The end of a row: checks, aliens, conditions, then the right-hand side. Returns whether it
    /// can fail; then `rest` is where it goes.
    fn leaf(&mut self, row: Row, path: Path, statements: Statements, rest: Label, frame: &mut Frame) -> bool {
        let mut leaf = Leaf {
            path,
            vars: row.vars,
            available: Vec::new(),
            fail: rest,
            can_fail: false,
            choices: Vec::new(),
            deferred: Vec::new(),
            rest_of: None,
            has_rest: false,
            shared: Vec::new(),
            parts: None,
            pending: Vec::new(),
            needed: None,
            lazy: None,
            last_use: None,
        };
        let lhs = self.lhs(statements, row.index).clone();
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
        for (place, reg) in row.available {
            leaf.available.push((lhs.subtree(place).nodes().to_vec(), reg));
        }
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
        if statements == Statements::Equations {
            let rhs = &self.module.equations[row.index].rhs;
            leaf.shared = match &leaf.parts {
                Some((op, vars)) => self.shared_subterms(&condition, &reduce_parts(rhs, *op, vars)),
                None => self.shared_subterms(&condition, rhs),
            };
        }
        let needed = if self.trace { lhs.vars() } else { condition_vars(&condition) };
        leaf.needed = Some(needed.clone());
        match row.whole {
            Whole::No => {}
            Whole::Joined { extension } => {
                // With a condition and a collector, Maude also tries smaller collectors.
                let simple = !extension || condition.is_empty() || !has_collector(self.sy, &lhs);
                let is_loop = simple
                    && statements == Statements::Equations
                    && self.collection(&lhs, lhs.root(), 0, extension, &mut leaf, frame);
                if is_loop {
                    leaf.has_rest = extension && leaf.lazy.as_ref().is_some_and(LazyBag::is_extension);
                } else {
                    self.match_pattern(&lhs, 0, Some(&needed), extension, &mut leaf, frame);
                }
            }
            Whole::Collapsed => {
                let reg = self.subject_node(&mut leaf, frame);
                self.match_pattern(&lhs, reg, Some(&needed), false, &mut leaf, frame);
            }
        }
        for check in &row.checks {
            if let Check::Alien(reg, place) = *check {
                if self.collection(&lhs, place, reg, false, &mut leaf, frame)
                    || self.comm_alien(&lhs, place, reg, &mut leaf, frame)
                {
                    continue;
                }
                let sub = lhs.subtree(place);
                // Variables shared with the rest of the left-hand side are needed as well.
                let mut needed = needed.clone();
                needed.extend(vars_outside(&lhs, place));
                self.match_pattern(&sub, reg, Some(&needed), false, &mut leaf, frame);
            }
        }
        leaf.needed = None;
        if self.trace && !condition.is_empty() {
            self.trace_step(statements, row.index, TraceStep::Trial, &leaf);
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
            self.trace_step(statements, row.index, TraceStep::Apply, &leaf);
        }
        match statements {
            Statements::Equations => self.right_hand_side(row.index, &mut leaf, frame),
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

    /// Builds the node of the current operator over its argument registers, for the matcher.
    fn subject_node(&mut self, leaf: &mut Leaf, frame: &mut Frame) -> Reg {
        let arity = leaf.path.args;
        let op = self.current;
        let slot = leaf.path.take(arity.max(1));
        frame.note(leaf.path.top);
        if arity == 0 {
            self.asm.emit(inst(Op::LoadImm, 0, slot, Term::constant(op.0).0));
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

    /// Matches a register modulo axioms; further solutions are tried when something later fails.
    #[allow(clippy::too_many_arguments)]
    fn match_pattern(
        &mut self,
        tree: &Tree,
        reg: Reg,
        needed: Option<&[Var]>,
        extension: bool,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) {
        let bound: Vec<Reg> = leaf.vars.iter().map(|v| v.1).collect();
        for var in tree.vars() {
            if !leaf.vars.iter().any(|(v, _)| *v == var) {
                let slot = leaf.path.take(1);
                self.asm.emit(inst(Op::LoadImm, 0, slot, Term::NONE.0));
                leaf.path.set(slot, Known::below(self.sig, var.sort).unwrap_or(Known::ANY));
                leaf.path.lazy[slot as usize] |= self.has_lazy_joined;
                leaf.vars.push((var, slot));
            }
        }
        let vars = &leaf.vars;
        let slot_of = |var: Var| vars.iter().find(|(v, _)| *v == var).expect("all have slots").1;
        let needed_slots: Vec<Reg> = needed
            .unwrap_or(&[])
            .iter()
            .filter_map(|var| vars.iter().find(|(v, _)| v == var).map(|v| v.1))
            .collect();
        let mut fresh = Vec::new();
        let top = leaf.path.top;
        let (constants, numbers, offset) =
            (&mut self.constants, &mut self.constant_numbers, self.sy.identities.len() as u32);
        let pattern = Pattern::compile(&mut PatternSpec {
            sig: self.sig,
            sy: self.sy,
            shapes: &self.shapes,
            tree,
            vars: self.names,
            slot: &slot_of,
            bound: &bound,
            needed: match needed {
                None => Needed::Everything,
                Some(_) => Needed::Only(&needed_slots),
            },
            extension,
            fresh: &mut || {
                fresh.push(top + fresh.len() as Reg);
                fresh[fresh.len() - 1]
            },
            constant: &mut |tree| intern_constant(constants, numbers, offset, tree),
        });
        for slot in fresh {
            let taken = leaf.path.take(1);
            debug_assert_eq!(slot, taken);
            self.asm.emit(inst(Op::LoadImm, 0, slot, Term::NONE.0));
            leaf.path.set(slot, Known::ANY);
        }
        self.patterns.push(pattern);
        let number = self.patterns.len() as u32 - 1;
        let choice = leaf.path.take(1);
        leaf.path.set(choice, Known::ANY);
        frame.note(leaf.path.top);
        self.asm.emit_to(Op::Match, 0, reg, leaf.fail);
        self.asm.emit(u64::from(number) | u64::from(choice) << 32);
        leaf.can_fail = true;
        let here = self.asm.label();
        let go_on = self.asm.here();
        leaf.deferred.push(Retry { here, choice, pattern: number, fail: leaf.fail, go_on });
        leaf.fail = here;
        leaf.choices.push(choice);
        if extension {
            leaf.rest_of = Some(choice);
        }
    }

    /// A free pattern against a register, test by test; aliens inside by the general matcher.
    pub(super) fn inline_match(
        &mut self,
        tree: &Tree,
        place: usize,
        reg: Reg,
        leaf: &mut Leaf,
        frame: &mut Frame,
    ) {
        let mut aliens = Vec::new();
        let mut work = vec![(place, reg)];
        while let Some((place, reg)) = work.pop() {
            if let Node::Var(var) = tree.node(place) {
                if let Some(&(_, first)) = leaf.vars.iter().find(|(v, _)| v == var) {
                    self.asm.emit_to(Op::Equal, 0, reg, leaf.fail);
                    self.asm.emit(u64::from(first));
                    leaf.can_fail = true;
                    continue;
                }
                leaf.vars.push((*var, reg));
                let known = leaf.path.known[reg as usize];
                if self.emit_sort_check(reg, var.sort, known, leaf.fail) {
                    leaf.can_fail = true;
                    if let Some(below) = Known::below(self.sig, var.sort) {
                        leaf.path.known[reg as usize] = Known(known.0 & below.0);
                    }
                }
                continue;
            }
            leaf.can_fail = true;
            match self.test(tree, place) {
                Test::Alien => aliens.push((place, reg)),
                Test::Nat(n) => {
                    self.asm.emit_to(Op::TestImm, 0, reg, leaf.fail);
                    self.asm.emit(u64::from(Term::small(n).0));
                }
                Test::Pred(count, base) => {
                    let pred = leaf.path.take(1);
                    leaf.path.set(pred, Known::ANY);
                    leaf.path.lazy[pred as usize] = leaf.path.lazy[reg as usize];
                    self.asm.emit_to(Op::Pred, 0, pred, leaf.fail);
                    self.asm.emit(u64::from(reg) | u64::from(count) << 32);
                    work.push((base, pred));
                }
                Test::Sym(sym) => {
                    let args = tree.args(place);
                    if self.may_be_unreduced_constant(sym, leaf.path.lazy[reg as usize]) {
                        let go_on = self.asm.label();
                        let mut keys = [Term::constant(sym).0, switch_key(sym)];
                        keys.sort_unstable();
                        self.asm.emit(inst(Op::Switch, 0, reg, keys.len() as u32));
                        for key in keys {
                            self.asm.emit_case(key, go_on);
                        }
                        self.asm.emit_case(0, leaf.fail);
                        self.asm.place(go_on);
                        continue;
                    }
                    if args.is_empty() {
                        self.asm.emit_to(Op::TestImm, 0, reg, leaf.fail);
                        self.asm.emit(u64::from(Term::constant(sym).0));
                        continue;
                    }
                    self.asm.emit_to(Op::TestSym, 0, reg, leaf.fail);
                    self.asm.emit(u64::from(sym));
                    let known = leaf.path.known[reg as usize];
                    let first = leaf.path.take(args.len());
                    let parent = leaf.path.lazy[reg as usize];
                    let lazy: Vec<bool> =
                        (0..args.len()).map(|i| parent || self.is_left_alone(sym, i)).collect();
                    self.load_arguments(first, reg, &vec![true; args.len()], &lazy);
                    for (i, arg) in args.into_iter().enumerate() {
                        let target = first + i as Reg;
                        leaf.path.lazy[target as usize] = lazy[i];
                        leaf.path.set(target, self.known_argument(sym, i, known));
                        work.push((arg, target));
                    }
                }
            }
            frame.note(leaf.path.top);
        }
        for (place, reg) in aliens {
            if self.collection(tree, place, reg, false, leaf, frame) {
                // Only one collector can be put off at a time, and an outer one may follow.
                self.build_collector(leaf, frame);
                continue;
            }
            if self.comm_alien(tree, place, reg, leaf, frame) {
                continue;
            }
            let sub = tree.subtree(place);
            let needed = leaf.needed.clone().map(|mut needed| {
                needed.extend(vars_outside(tree, place));
                needed
            });
            self.match_pattern(&sub, reg, needed.as_deref(), false, leaf, frame);
        }
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
            }
            Fragment::Rewrite(..) => {
                // Elaboration does not let these into equations and memberships.
                leaf.can_fail = true;
                self.asm.emit_to(Op::Jump, 0, 0, leaf.fail);
            }
        }
    }

    /// The number of a ground constant.
    pub(super) fn constant(&mut self, tree: &Tree) -> u32 {
        let offset = self.sy.identities.len() as u32;
        intern_constant(&mut self.constants, &mut self.constant_numbers, offset, tree)
    }
}

fn intern_constant(
    constants: &mut Vec<Tree>,
    numbers: &mut FxHashMap<Vec<Node>, u32>,
    offset: u32,
    tree: &Tree,
) -> u32 {
    *numbers.entry(tree.nodes().to_vec()).or_insert_with(|| {
        constants.push(tree.clone());
        offset + constants.len() as u32 - 1
    })
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

/// Is some argument of an associative-commutative left-hand side a variable that may take
/// several elements? (Any variable counts; this only decides who matches it.)
fn has_collector(sy: &Symbols, lhs: &Tree) -> bool {
    let Some(op) = lhs.node(lhs.root()).op() else { return false };
    let elements = plan::flatten(lhs, lhs.root(), op, sy.class(op.0));
    elements.into_iter().any(|e| matches!(lhs.node(e), Node::Var(_)))
}

/// The variables of a condition.
fn condition_vars(condition: &[Fragment]) -> Vec<Var> {
    let mut vars = Vec::new();
    for fragment in condition {
        let trees: Vec<&Tree> = match fragment {
            Fragment::Equal(a, b) | Fragment::Match(a, b) | Fragment::Rewrite(a, b) => vec![a, b],
            Fragment::Sort(a, _) => vec![a],
        };
        for var in trees.into_iter().flat_map(Tree::vars) {
            if !vars.contains(&var) {
                vars.push(var);
            }
        }
    }
    vars
}

/// The variables of a left-hand side outside the subtree at `place`.
fn vars_outside(lhs: &Tree, place: usize) -> Vec<Var> {
    let inside = lhs.range(place);
    let nodes = lhs.nodes().iter().enumerate().filter(|(i, _)| !inside.contains(i));
    nodes.filter_map(|(_, node)| if let Node::Var(var) = node { Some(*var) } else { None }).collect()
}
