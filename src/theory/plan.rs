//! What is known of each operator before code is made: its equations, memberships, strategy.

use rustc_hash::FxHashMap;

use crate::base::Name;
use crate::builtin::{Parts, Special};
use crate::module::{Equation, Membership, Module};
use crate::sorts::{KindId, Node, OpId, Signature, Tree, Var};
use crate::term::{Class, Symbols, sort_of_tree};

use super::known::Known;

/// An evaluation strategy: arguments (from 0) to evaluate before each try at the top.
#[derive(Clone, Debug, PartialEq)]
pub struct Strategy {
    /// `segments[i]` are evaluated, then the equations are tried.
    pub segments: Vec<Vec<u32>>,
    /// Evaluated after the last try, which then does not happen again.
    pub trailing: Vec<u32>,
}

impl Strategy {
    /// All arguments, then the top.
    pub fn standard(arity: usize) -> Strategy {
        Strategy { segments: vec![(0..arity as u32).collect()], trailing: Vec::new() }
    }

    fn of(declared: &[u32], arity: usize) -> Strategy {
        let mut segments = Vec::new();
        let mut current = Vec::new();
        for &step in declared {
            if step == 0 {
                segments.push(std::mem::take(&mut current));
            } else if (step as usize) <= arity {
                current.push(step - 1);
            }
        }
        Strategy { segments, trailing: current }
    }

    /// No argument is ever evaluated.
    pub fn is_lazy(&self) -> bool {
        self.segments.iter().all(Vec::is_empty) && self.trailing.is_empty()
    }

    pub fn is_standard(&self, arity: usize) -> bool {
        self.segments.len() == 1
            && self.trailing.is_empty()
            && (0..arity as u32).all(|i| self.segments[0].contains(&i))
    }
}

/// An equation under an operator, and how its left-hand side gets there.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Row {
    pub equation: usize,
    /// The left-hand side has another operator at its top, which may collapse to this one.
    pub collapsed: bool,
}

/// One operator.
pub struct SymbolPlan {
    pub rows: Vec<Row>,
    /// Memberships that may apply, smaller sorts first.
    pub memberships: Vec<usize>,
    pub special: Option<Special>,
    pub strategy: Strategy,
    pub memo: bool,
    /// Builds only: no equation, membership, built-in or strategy.
    pub is_constructor: bool,
    /// What well-sorted arguments have; for the unchecked entry.
    pub assumed: Vec<Known>,
}

impl SymbolPlan {
    fn new(strategy: Strategy) -> SymbolPlan {
        SymbolPlan {
            rows: Vec::new(),
            memberships: Vec::new(),
            special: None,
            strategy,
            memo: false,
            is_constructor: true,
            assumed: Vec::new(),
        }
    }

    /// Builds only: its code need not be called.
    pub fn is_plain(&self) -> bool {
        self.is_constructor
    }
}

/// Does a special operator do more than build?
fn computes(special: &Special) -> bool {
    match special {
        Special::Equality { .. } | Special::Branch { .. } | Special::SortTest { .. } => true,
        Special::Function(_) | Special::Foreign => true,
        Special::Counter(_) | Special::Constructor | Special::Other(_) => false,
    }
}

/// Makes the plans of all operators, and of the variables of each kind; see [`Symbols::variables`].
pub fn plans(module: &Module, sy: &Symbols) -> Vec<SymbolPlan> {
    let sig = &module.signature;
    let mut plans: Vec<SymbolPlan> = sig
        .ops()
        .map(|(id, op)| {
            let special = Special::of(sig, sy, id);
            let strategy = match (&op.strat, &special) {
                (Some(declared), _) => Strategy::of(declared, op.arity()),
                (None, Some(Special::Branch { .. })) => Strategy::of(&[1, 0], op.arity()),
                (None, _) => Strategy::standard(op.arity()),
            };
            let assumed = (0..op.arity())
                .map(|i| {
                    op.decls.iter().fold(Known(0), |known, decl| {
                        known.union(Known::below(sig, decl.domain[i]).unwrap_or(Known::ANY))
                    })
                })
                .collect();
            SymbolPlan { special, memo: op.memo, assumed, ..SymbolPlan::new(strategy) }
        })
        .chain(sig.sorts.kinds().map(|_| SymbolPlan::new(Strategy::standard(0))))
        .collect();
    let usable = |index: &usize| !module.equations[*index].attrs.nonexec;
    let owise = |index: usize| module.equations[index].attrs.owise;
    let ordinary = (0..module.equations.len()).filter(|&i| !owise(i));
    let order: Vec<usize> =
        ordinary.chain((0..module.equations.len()).filter(|&i| owise(i))).filter(usable).collect();
    for index in order {
        let Equation { lhs, .. } = &module.equations[index];
        for (sym, collapsed) in tops(sig, sy, lhs, lhs.root(), false) {
            plans[sym as usize].rows.push(Row { equation: index, collapsed });
        }
    }
    let mut memberships: Vec<usize> =
        (0..module.memberships.len()).filter(|&i| !module.memberships[i].attrs.nonexec).collect();
    memberships.sort_by_key(|&i| std::cmp::Reverse(sig.sorts.get(module.memberships[i].sort).index));
    for index in memberships {
        let Membership { term, .. } = &module.memberships[index];
        for (sym, _) in tops(sig, sy, term, term.root(), false) {
            plans[sym as usize].memberships.push(index);
        }
    }
    for (index, plan) in plans.iter_mut().enumerate() {
        let arity = sy.info.get(index).map_or(0, |info| info.arity);
        plan.is_constructor = plan.rows.is_empty()
            && plan.memberships.is_empty()
            && !plan.special.as_ref().is_some_and(computes)
            && !plan.memo
            && plan.strategy.is_standard(arity);
    }
    tell_stable(sig, sy, &mut plans);
    plans
}

/// Tells each `_.=._` which operators are stable: terms with one at their top have it there whatever
/// their variables stand for. Operators with equations, built-ins, identities or idempotency are not.
fn tell_stable(sig: &Signature, sy: &Symbols, plans: &mut [SymbolPlan]) {
    let is_equality =
        |plan: &SymbolPlan| matches!(&plan.special, Some(Special::Function(b)) if b.is_initial_equality());
    let mut by_name: FxHashMap<Name, FxHashMap<KindId, u32>> = FxHashMap::default();
    for ((id, op), _) in sig.ops().zip(plans.iter()).filter(|(_, plan)| is_equality(plan)) {
        by_name.entry(op.name).or_default().insert(op.domain[0], id.0);
    }
    for equalities in by_name.values() {
        let parts = sig.ops().zip(plans.iter()).map(|((id, op), plan)| {
            let info = &sy.info[id.index()];
            let is_stable =
                plan.rows.is_empty() && plan.special.is_none() && info.identity.is_none() && !info.idem;
            let parts = || op.domain.iter().map(|kind| equalities.get(kind).copied()).collect();
            if is_stable { parts() } else { None }
        });
        let parts: Parts = parts.collect();
        for &id in equalities.values() {
            if let Some(Special::Function(builtin)) = &mut plans[id as usize].special {
                builtin.set_parts(parts.clone());
            }
        }
    }
}

/// The operators under which a pattern must be tried: its top, and those it may collapse to. A number beyond
/// those of the operators stands for variables; see [`Symbols::variables`].
pub fn tops(sig: &Signature, sy: &Symbols, tree: &Tree, at: usize, inner: bool) -> Vec<(u32, bool)> {
    let Some(op) = tree.node(at).op() else {
        let Node::Var(var) = tree.node(at) else { unreachable!("only variables have no operator") };
        return var_tops(sig, *var);
    };
    let mut result = vec![(op.0, inner)];
    let info = &sy.info[op.index()];
    if let (true, &[first, second]) = (info.idem, &tree.args(at)[..]) {
        // Both arguments may be the same term, which then is the whole.
        let other = tops(sig, sy, tree, second, true);
        for (sym, _) in tops(sig, sy, tree, first, true) {
            if other.iter().any(|&(o, _)| o == sym) && !result.iter().any(|&(r, _)| r == sym) {
                result.push((sym, true));
            }
        }
    }
    let Some(identity) = info.identity else { return result };
    let mut add = |sym: u32| {
        if !result.iter().any(|&(other, _)| other == sym) {
            result.push((sym, true));
        }
    };
    let identity = &sy.identities[identity.constant];
    let elements = flatten(tree, at, op, info.class);
    let vanishes: Vec<bool> = elements.iter().map(|&e| may_be(sig, sy, tree, e, op, identity)).collect();
    for (place, &element) in elements.iter().enumerate() {
        // One element may stand alone if all others can be the identity.
        let others_vanish = vanishes.iter().enumerate().all(|(i, vanishes)| i == place || *vanishes);
        let repeated = elements.iter().enumerate().any(|(i, &e)| i != place && tree.same(e, tree, element));
        if others_vanish && !repeated {
            tops(sig, sy, tree, element, true).into_iter().for_each(|(sym, _)| add(sym));
        }
    }
    if vanishes.into_iter().all(|vanishes| vanishes) {
        identity.node(identity.root()).op().into_iter().for_each(|op| add(op.0));
    }
    result
}

/// May an instance of a subpattern below `op` be its identity, as far as operators show?
fn may_be(sig: &Signature, sy: &Symbols, tree: &Tree, at: usize, op: OpId, identity: &Tree) -> bool {
    match tree.node(at) {
        Node::Var(var) => {
            let kind = sig.op(op).range;
            sig.sorts.kind_of(var.sort) == kind
                && sig.sorts.kind(kind).leq(ground_sort(sig, sy, identity), sig.sorts.get(var.sort).index)
        }
        _ => {
            let top = identity.node(identity.root()).op().map(|op| op.0);
            tops(sig, sy, tree, at, true).iter().any(|&(sym, _)| Some(sym) == top)
        }
    }
}

/// The least sort of a term, by declarations alone.
pub fn ground_sort(sig: &Signature, sy: &Symbols, tree: &Tree) -> u32 {
    sig.sorts.get(sort_of_tree(sig, sy, tree)).index
}

/// Places of the arguments of an associative operator, nested applications flattened.
pub fn flatten(tree: &Tree, at: usize, op: OpId, class: Class) -> Vec<usize> {
    let mut result = Vec::new();
    let mut work = vec![at];
    while let Some(place) = work.pop() {
        let is_same = tree.node(place).op() == Some(op)
            && tree.node(place).arity() >= 2
            && (place == at || matches!(class, Class::Assoc | Class::AssocComm));
        if is_same {
            work.extend(tree.args(place).into_iter().rev());
        } else {
            result.push(place);
        }
    }
    result
}

fn var_tops(sig: &Signature, var: Var) -> Vec<(u32, bool)> {
    let kind = sig.sorts.kind_of(var.sort);
    let variables = (sig.len() + kind.index()) as u32;
    let ops = sig.ops().filter(|(_, op)| op.range == kind).map(|(id, _)| id.0);
    ops.chain([variables]).map(|sym| (sym, true)).collect()
}
