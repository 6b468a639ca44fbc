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
use super::collapse::collapse_patterns;
use super::memberships::{ConstantStep, constant_sort};
use super::plan::{self, SymbolPlan};
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
    pub patterns: Vec<Pattern>,
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
    let own_rules = module.rules.len();
    let mut rules: Vec<Rule> = module.rules.iter().chain(&options.queries).cloned().collect();
    let collapsed = collapse_patterns(&module, &mut rules, &symbols, &names);
    let module = collapsed.map_or(module, Arc::new);
    let sig = &module.signature;
    let plans = plan::plans(&module, &symbols);
    let decides = |sym: u32| plans.get(sym as usize).is_some_and(|plan| !plan.memberships.is_empty());
    symbols.numbers.decided = decides(symbols.numbers.zero) || decides(symbols.numbers.succ);
    let mut constant_memberships = FxHashMap::default();
    for (index, plan) in plans.iter().enumerate() {
        if symbols.info[index].arity == 0 {
            let op = OpId::from_index(index);
            let (sort, steps) = constant_sort(&module, &symbols, op, plan, options);
            symbols.info[index].constant_sort = sort;
            if !steps.is_empty() {
                constant_memberships.insert(op, steps);
            }
        }
    }
    let has_lazy = plans.iter().enumerate().any(|(i, plan)| {
        let arity = sig.op(OpId::from_index(i)).arity();
        !plan.strategy.is_standard(arity) && !matches!(plan.special, Some(Special::Branch { .. }))
    });
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
        old_sort: None,
        trace: options.trace,
        keeps_range: Vec::new(),
        enters: Vec::new(),
        yield_places: Vec::new(),
        slow: None,
        is_slow_used: false,
        is_result_left: false,
        query_vars: Vec::new(),
        yields: None,
        rules,
        current: OpId(0),
        shapes,
    };
    let stubs = compiler.stubs();
    compiler.find_ranges();
    for index in 0..count {
        compiler.operator(OpId::from_index(index));
    }
    let rule_labels = compiler.rule_code(own_rules);
    let left_alone: Vec<Vec<u32>> = (0..count)
        .map(|i| {
            let is_branch = matches!(plans[i].special, Some(Special::Branch { .. }));
            let arity = if is_branch { 0 } else { sig.op(OpId::from_index(i)).arity() };
            (0..arity as u32).filter(|&arg| compiler.is_left_alone(i as u32, arg as usize)).collect()
        })
        .collect();
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
                is_branch: matches!(plan.special, Some(Special::Branch { .. })),
                left_alone: left_alone[i].clone(),
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
    let holds_left = holds_left(sig, &left_alone);
    let rule_table = rule_labels.resolve(&places, &module, &symbols);
    drop(plans);
    Theory {
        rules: rule_table,
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
        holds_left,
        enters,
        foreign: options.foreign.clone(),
        module,
    }
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
