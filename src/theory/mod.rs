//! An elaborated module compiled for rewriting: frozen, shared by all threads.

mod arithmetic;
mod bags;
mod branch;
pub mod code;
mod collapse;
mod collections;
mod collectors;
mod compile;
mod foreign;
mod inline;
mod join;
mod known;
mod leaf;
mod memberships;
mod operators;
mod path;
mod places;
mod plan;
mod ranges;
mod rhs;
mod rows;
mod rules;
mod sharing;
mod tail;
mod trace;
mod variables;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::base::Name;
use crate::builtin::Builtin;
use crate::matching::Pattern;
use crate::module::{Module, Rule};
use crate::sorts::{OpId, SortId, Tree, Var};
use crate::term::{Symbols, VarOrder};

pub use foreign::{Call, Foreign, Reply};
pub use join::{ElementPattern, Join, JoinPart, JoinPlace, JoinQuery, JoinRule, Replaced};
pub use plan::{Strategy, SymbolPlan};
pub use rules::{Query, RuleEntry, Rules};
pub use variables::VariableOrder;

/// No code: the operator only builds.
pub const NO_CODE: u32 = u32::MAX;

/// How an operator is applied to arguments.
#[derive(Clone, Debug)]
pub struct Function {
    /// Code that takes the arguments (free operators) or the joined node (others); `NO_CODE` if
    /// the operator is a plain constructor.
    pub code: u32,
    /// Takes one joined node instead of the arguments.
    pub joined: bool,
    /// Arguments evaluated before the operator's code runs, from 0, in order.
    pub eager: Vec<u32>,
    /// Arguments are never evaluated.
    pub is_lazy: bool,
    /// Are all arguments in `eager`?
    pub is_eager: bool,
    /// Does it choose among its arguments, as `if_then_else_fi` does?
    pub is_branch: bool,
    /// Arguments that a normal form may have unreduced, from 0.
    pub left_alone: Vec<u32>,
}

impl Function {
    /// Is argument `i` evaluated before the operator's equations are tried?
    pub fn is_evaluated(&self, i: usize) -> bool {
        if self.joined { !self.is_lazy } else { self.eager.contains(&(i as u32)) }
    }
}

/// What tracing shows of a statement: which one, and where its variables are.
#[derive(Clone, Debug)]
pub struct TracePoint {
    pub kind: TraceKind,
    /// Index into the module's list of that kind.
    pub index: usize,
    /// Variables with their registers; [`TracePoint::UNBOUND`] if there is none yet.
    pub vars: Vec<(Var, u16)>,
    pub step: TraceStep,
    /// The sort that a membership improves, if the subject no longer shows it.
    pub old_sort: Option<u32>,
    /// The register (and the next one) with what an extension left; see [`code::Op::LoadRest`].
    pub rest: Option<u16>,
}

impl TracePoint {
    pub const UNBOUND: u16 = u16::MAX;
}

/// What happens to a statement; fragments of its condition are numbered from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceStep {
    Apply,
    Trial,
    TrialSucceeds,
    /// After a success more solutions are asked for.
    TrialGoesOn,
    TrialFails,
    Solve(usize),
    SolveAgain(usize),
    Succeeds(usize),
    Fails(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceKind {
    Equation,
    Membership,
    Rule,
}

/// A module compiled for rewriting.
pub struct Theory {
    pub module: Arc<Module>,
    pub symbols: Arc<Symbols>,
    pub code: Vec<u64>,
    pub functions: Arc<[Function]>,
    pub patterns: Vec<Arc<Pattern>>,
    pub builtins: Vec<Builtin>,
    /// Ground terms that code refers to, after the identities.
    pub constants: Vec<Tree>,
    /// Sort sets of kinds with more than 64 sorts.
    pub sets: Vec<Vec<u64>>,
    pub traces: Vec<TracePoint>,
    /// Fixed places of the code that the machine jumps to by itself.
    pub stubs: Stubs,
    pub names: Arc<NameOrder>,
    /// Operators with membership axioms that may apply (by operator): code, or `NO_CODE`.
    pub memberships: Arc<[u32]>,
    pub has_lazy: bool,
    /// Has it trace points?
    pub is_traced: bool,
    /// By operator: may terms have something inside that a strategy leaves alone?
    pub holds_left: Arc<[bool]>,
    /// Where the code of each function starts, ascending.
    pub enters: Vec<u32>,
    pub rules: Rules,
    /// How far the code of operators goes.
    operators: Arc<compile::Operators>,
    pub foreign: Option<Arc<dyn Foreign>>,
}

/// Code that the machine pushes as return addresses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stubs {
    pub halt: u32,
    pub fill_hole: u32,
    /// See [`Stubs::fill_last`].
    pub fill_first: u32,
    pub memo_return: u32,
    pub walk: u32,
    pub update: u32,
}

impl Stubs {
    /// Where a callee returns to that fills argument `hole` of a node; the stubs stand in a row.
    #[inline(always)]
    pub fn fill_last(&self, hole: usize) -> u32 {
        self.fill_first + 2 * hole as u32
    }
}

/// The order of variable names (first occurrence in the texts read) and of sorts.
#[derive(Clone, Debug, Default)]
pub struct NameOrder {
    pub names: FxHashMap<Name, u32>,
    pub sort_indices: Vec<u32>,
    /// Variables of different sorts are ordered by when their sorts were first used for one.
    pub sort_order: FxHashMap<SortId, u32>,
}

impl VarOrder for NameOrder {
    fn sort_order(&self, sort: SortId) -> u32 {
        self.sort_order.get(&sort).copied().unwrap_or(1 << 31 | sort.0)
    }
    fn name_order(&self, name: Name) -> u32 {
        // Names that no text has shown yet come last, but never tie.
        self.names.get(&name).copied().unwrap_or(1 << 31 | name.index() as u32)
    }
    fn sort_index(&self, sort: SortId) -> u32 {
        self.sort_indices[sort.index()]
    }
}

/// How to compile.
#[derive(Clone, Default)]
pub struct Options {
    /// Emit trace points, and no code that reorders work.
    pub trace: bool,
    /// For [`NameOrder::sort_order`].
    pub sort_order: FxHashMap<SortId, u32>,
    /// Patterns with conditions to look for in terms (right-hand sides are not used); see
    /// [`Rules::queries`].
    pub queries: Vec<Rule>,
    /// Conditional memberships and constants for which they hold.
    pub facts: Vec<(usize, OpId)>,
    /// These are still to be found out: others are not tried on constants.
    pub deciding: bool,
    /// Who computes what the engine itself cannot.
    pub foreign: Option<Arc<dyn Foreign>>,
}

impl Theory {
    /// Compiles a module. `name_order` numbers the tokens by first occurrence.
    pub fn new(module: Arc<Module>, name_order: FxHashMap<Name, u32>, options: &Options) -> Theory {
        compile::compile(module, name_order, options)
    }

    /// Which subterms are evaluated before an operator above them is: Maude shares equal subterms
    /// among these, and among the others. The branches of a choice count as evaluated.
    pub fn eager_places(&self, tree: &Tree) -> Vec<bool> {
        let mut eager = vec![true; tree.len()];
        for at in (0..tree.len()).rev() {
            let Some(op) = tree.node(at).op() else { continue };
            let function = &self.functions[op.index()];
            let all = if function.joined { !function.is_lazy } else { function.is_eager };
            let all = all || function.is_branch;
            if eager[at] && all {
                continue;
            }
            for (i, arg) in tree.args(at).into_iter().enumerate() {
                eager[arg] = eager[at] && (all || function.eager.contains(&(i as u32)));
            }
        }
        eager
    }

    /// The same theory with other queries.
    pub fn with_queries(&self, queries: &[Rule]) -> Theory {
        compile::with_queries(self, queries)
    }

    /// The number of constants before the code's own.
    pub fn identities(&self) -> usize {
        self.symbols.identities.len()
    }
}
