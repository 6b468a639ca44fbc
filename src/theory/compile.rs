//! A module to a theory: everything that is compiled, in order, and the tables that code refers to.
//!
//! Each operator's equations become one decision tree (`operators`, `rows`), whose ends (`leaf`)
//! match what is not free, test conditions, and go on to the right-hand side (`rhs`). Here are what
//! all of them share, the [`Compiler`], and the order of the work: patterns in normal form,
//! constants' sorts, operators one by one, and rules.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::base::Name;
use crate::builtin::{Builtin, Special};
use crate::matching::{Pattern, Shapes};
use crate::module::{Module, Rule};
use crate::sorts::{Node, OpId, Operator, Signature, SortId, Tree, Var};
use crate::term::{Class, Symbols};

use super::code::{Assembler, Label, Op, Reg, inst};
use super::collapse::{collapse_patterns, collapse_rules};
use super::memberships::{ConstantStep, constant_sort};
use super::plan::{self, SymbolPlan};
use super::rules::Rules;
use super::{Function, NO_CODE, NameOrder, Options, Stubs, Theory, TracePoint};

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
    pub patterns: Vec<Arc<Pattern>>,
    pub builtins: Vec<Builtin>,
    pub constants: Vec<Tree>,
    pub constant_numbers: FxHashMap<Vec<Node>, u32>,
    pub sets: Vec<Vec<u64>>,
    pub traces: Vec<TracePoint>,
    pub names: &'a NameOrder,
    pub has_lazy: bool,
    /// The memberships that are tried on a constant.
    pub constant_memberships: FxHashMap<OpId, Vec<ConstantStep>>,
    /// The sort that a membership of a constant improves, while its code is made.
    pub old_sort: Option<u32>,
    pub trace: bool,
    /// Operators that return only terms of their declared range; see `ranges`.
    pub keeps_range: Vec<bool>,
    /// Where functions start.
    pub enters: Vec<u32>,
    /// Where the function being compiled yields.
    pub yield_places: Vec<usize>,
    /// Where a statement goes whose elements may not be matched by loops in the best order; `None` if
    /// it is being compiled in Maude's order.
    pub slow: Option<Label>,
    /// Has that label been used?
    pub is_slow_used: bool,
    /// Is the result of the rule being compiled not to be reduced?
    pub is_result_left: bool,
    /// The variables of the query that was compiled last.
    pub query_vars: Vec<(Var, Reg)>,
    /// Does the rule being compiled yield so many elements of a soup, one by one in registers? Then its
    /// code says which is the first.
    pub yields: Option<(usize, Reg)>,
    /// The module's rules, and after them the queries.
    pub rules: Vec<Rule>,
    /// The operator that is being compiled.
    pub current: OpId,
    pub shapes: Shapes,
}

/// What there is of a theory when its operators are compiled, and rules and queries are still to come:
/// how far the code and its tables go, and where operators' functions are.
#[derive(Clone, Debug, Default)]
pub struct Operators {
    words: usize,
    patterns: usize,
    builtins: usize,
    constants: usize,
    sets: usize,
    traces: usize,
    enters: usize,
    /// The places of the first labels: `checked`, `fast` and `mb_entry`, one after the other.
    places: Vec<u32>,
    keeps_range: Vec<bool>,
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
    let module = collapse_patterns(&module, &symbols, &names).map_or(module, Arc::new);
    let sig = &module.signature;
    let plans = plan::plans(&module, &symbols);
    let decides = |sym: u32| plans.get(sym as usize).is_some_and(|plan| !plan.memberships.is_empty());
    symbols.numbers.decided = decides(symbols.numbers.zero) || decides(symbols.numbers.succ);
    let has_rows = |sym: u32| plans.get(sym as usize).is_some_and(|plan| !plan.rows.is_empty());
    symbols.numbers.zero_computed = has_rows(symbols.numbers.zero);
    symbols.numbers.computed = symbols.numbers.zero_computed || has_rows(symbols.numbers.succ);
    let mut constant_memberships = FxHashMap::default();
    for (index, plan) in plans.iter().enumerate() {
        if symbols.info.get(index).is_some_and(|info| info.arity == 0) {
            let op = OpId::from_index(index);
            let (sort, steps) = constant_sort(&module, &symbols, op, plan, options);
            symbols.info[index].constant_sort = sort;
            if !steps.is_empty() {
                constant_memberships.insert(op, steps);
            }
        }
    }
    let arity = |i: usize| symbols.info.get(i).map_or(0, |info| info.arity);
    let has_lazy = plans.iter().enumerate().any(|(i, plan)| {
        let arity = arity(i);
        !plan.strategy.is_standard(arity) && !matches!(plan.special, Some(Special::Branch { .. }))
    });
    let mut compiler = Compiler::new(&module, &symbols, &names, &plans, has_lazy, options.trace);
    compiler.constant_memberships = constant_memberships;
    let stubs = compiler.stubs();
    compiler.find_ranges();
    for index in 0..plans.len() {
        compiler.operator(OpId::from_index(index));
    }
    let operators = Arc::new(compiler.operators());
    let left_alone: Vec<Vec<u32>> = (0..plans.len())
        .map(|i| {
            let is_branch = matches!(plans[i].special, Some(Special::Branch { .. }));
            let arity = if is_branch { 0 } else { arity(i) };
            (0..arity as u32).filter(|&arg| compiler.is_left_alone(i as u32, arg as usize)).collect()
        })
        .collect();
    let place = |label: &Label| operators.places[label.0 as usize];
    let functions = plans
        .iter()
        .enumerate()
        .map(|(i, plan)| {
            let arity = arity(i);
            let eager = plan.strategy.segments.first().cloned().unwrap_or_default();
            Function {
                code: if plan.is_constructor { NO_CODE } else { place(&compiler.checked[i]) },
                joined: is_joined(&symbols, i as u32) || is_leaf(&symbols, i as u32),
                is_lazy: arity > 0 && plan.strategy.is_lazy(),
                is_eager: (0..arity as u32).all(|a| eager.contains(&a)),
                eager,
                is_branch: matches!(plan.special, Some(Special::Branch { .. })),
                left_alone: left_alone[i].clone(),
            }
        })
        .collect();
    let memberships = plans.iter().zip(&compiler.mb_entry);
    let memberships = memberships
        .map(|(plan, entry)| if plan.memberships.is_empty() { NO_CODE } else { place(entry) })
        .collect();
    let holds_left = holds_left(sig, &left_alone);
    let code = compiler.rules_and(&options.queries);
    drop(plans);
    Theory {
        rules: code.rules,
        code: code.words,
        patterns: code.patterns,
        builtins: code.builtins,
        constants: code.constants,
        sets: code.sets,
        traces: code.traces,
        enters: code.enters,
        symbols: Arc::new(symbols),
        functions,
        stubs,
        names: Arc::new(names),
        memberships,
        has_lazy,
        holds_left: holds_left.into(),
        is_traced: options.trace,
        foreign: options.foreign.clone(),
        operators,
        module,
    }
}

/// The same theory with other queries. The code of its operators is taken over.
pub(super) fn with_queries(theory: &Theory, queries: &[Rule]) -> Theory {
    let Theory { module, symbols, names, has_lazy, is_traced, .. } = theory;
    let plans = plan::plans(module, symbols);
    let mut compiler = Compiler::new(module, symbols, names, &plans, *has_lazy, *is_traced);
    compiler.go_on(theory);
    let code = compiler.rules_and(queries);
    Theory {
        rules: code.rules,
        code: code.words,
        patterns: code.patterns,
        builtins: code.builtins,
        constants: code.constants,
        sets: code.sets,
        traces: code.traces,
        enters: code.enters,
        module: module.clone(),
        symbols: symbols.clone(),
        functions: theory.functions.clone(),
        stubs: theory.stubs,
        names: names.clone(),
        memberships: theory.memberships.clone(),
        has_lazy: *has_lazy,
        holds_left: theory.holds_left.clone(),
        is_traced: *is_traced,
        foreign: theory.foreign.clone(),
        operators: theory.operators.clone(),
    }
}

/// Code with all that it refers to.
struct Code {
    words: Vec<u64>,
    patterns: Vec<Arc<Pattern>>,
    builtins: Vec<Builtin>,
    constants: Vec<Tree>,
    sets: Vec<Vec<u64>>,
    traces: Vec<TracePoint>,
    enters: Vec<u32>,
    rules: Rules,
}

/// Operators that leave arguments alone, or whose arguments may have such an operator inside.
fn holds_left(sig: &Signature, left_alone: &[Vec<u32>]) -> Vec<bool> {
    let mut holds: Vec<bool> = left_alone.iter().map(|args| !args.is_empty()).collect();
    loop {
        let kinds: Vec<_> = sig.ops().filter(|(id, _)| holds[id.index()]).map(|(_, op)| op.range).collect();
        let found = |(id, op): &(OpId, &Operator)| {
            !holds[id.index()] && op.domain.iter().any(|kind| kinds.contains(kind))
        };
        let more: Vec<OpId> = sig.ops().filter(found).map(|(id, _)| id).collect();
        if more.is_empty() {
            return holds;
        }
        more.iter().for_each(|id| holds[id.index()] = true);
    }
}

impl<'a> Compiler<'a> {
    fn new(
        module: &'a Module,
        symbols: &'a Symbols,
        names: &'a NameOrder,
        plans: &'a [SymbolPlan],
        has_lazy: bool,
        trace: bool,
    ) -> Compiler<'a> {
        let sig = &module.signature;
        let given = plans.iter().enumerate().flat_map(|(i, plan)| {
            let sort = |&index: &usize| sig.sorts.get(module.memberships[index].sort).index;
            plan.memberships.iter().map(move |index| (OpId::from_index(i), sort(index)))
        });
        let shapes = Shapes::new(sig, given);
        let mut asm = Assembler::default();
        let mut labels = || plans.iter().map(|_| asm.label()).collect::<Vec<Label>>();
        let [checked, fast, mb_entry] = [labels(), labels(), labels()];
        Compiler {
            module,
            sig,
            sy: symbols,
            plans,
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
            names,
            has_lazy,
            constant_memberships: FxHashMap::default(),
            old_sort: None,
            trace,
            keeps_range: Vec::new(),
            enters: Vec::new(),
            yield_places: Vec::new(),
            slow: None,
            is_slow_used: false,
            is_result_left: false,
            query_vars: Vec::new(),
            yields: None,
            rules: Vec::new(),
            current: OpId(0),
            shapes,
        }
    }

    /// What there is once all operators are compiled.
    fn operators(&self) -> Operators {
        Operators {
            words: self.asm.words.len(),
            patterns: self.patterns.len(),
            builtins: self.builtins.len(),
            constants: self.constants.len(),
            sets: self.sets.len(),
            traces: self.traces.len(),
            enters: self.enters.len(),
            places: self.asm.first_places(3 * self.plans.len()).to_vec(),
            keeps_range: self.keeps_range.clone(),
        }
    }

    /// Takes over the operators of a theory.
    fn go_on(&mut self, theory: &Theory) {
        let operators = &*theory.operators;
        self.asm.go_on(&theory.code[..operators.words], &operators.places);
        self.patterns = theory.patterns[..operators.patterns].to_vec();
        self.builtins = theory.builtins[..operators.builtins].to_vec();
        self.sets = theory.sets[..operators.sets].to_vec();
        self.traces = theory.traces[..operators.traces].to_vec();
        self.enters = theory.enters[..operators.enters].to_vec();
        for tree in &theory.constants[..operators.constants] {
            self.constant(tree);
        }
        self.keeps_range = operators.keeps_range.clone();
    }

    /// Compiles the module's rules and some queries; that is all.
    fn rules_and(mut self, queries: &[Rule]) -> Code {
        self.rules = self.module.rules.iter().chain(queries).cloned().collect();
        collapse_rules(&mut self.rules, self.module, self.sy, self.names);
        let labels = self.rule_code(self.module.rules.len());
        let Compiler {
            module, sy, asm, patterns, builtins, constants, sets, traces, enters, has_lazy, ..
        } = self;
        let (words, places) = asm.finish();
        let rules = labels.resolve(&places, module, sy, has_lazy);
        Code { words, patterns, builtins, constants, sets, traces, enters, rules }
    }

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

    pub(super) fn big_set(&mut self, sort: SortId) -> u16 {
        let entry = self.sig.sorts.get(sort);
        let set = self.sig.sorts.kind(entry.kind).below(entry.index).to_vec();
        self.set_number(set)
    }

    pub(super) fn set_number(&mut self, set: Vec<u64>) -> u16 {
        let number = self.sets.iter().position(|s| *s == set).unwrap_or_else(|| {
            self.sets.push(set);
            self.sets.len() - 1
        });
        u16::try_from(number).expect("few sort sets")
    }

    /// The number of a ground constant.
    pub(super) fn constant(&mut self, tree: &Tree) -> u32 {
        let offset = self.sy.identities.len() as u32;
        intern_constant(&mut self.constants, &mut self.constant_numbers, offset, tree)
    }
}

/// Does the operator's code take one joined node instead of separate arguments?
pub(super) fn is_joined(sy: &Symbols, sym: u32) -> bool {
    !matches!(sy.class(sym), Class::Free)
}

/// Is it not an operator that is applied, but one of literals, or variables?
pub(super) fn is_leaf(sy: &Symbols, sym: u32) -> bool {
    sy.info.get(sym as usize).is_none_or(|info| info.raw.is_some())
}

pub(super) fn intern_constant(
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
