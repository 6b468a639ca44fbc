//! Compiled patterns: a tree of nodes, one kind per theory.

use crate::term::{Heap, Int, Term};

/// A pattern, compiled for one mode and one set of variables that are bound beforehand.
#[derive(Debug)]
pub struct Pattern {
    pub(super) nodes: Vec<Node>,
    pub(super) root: NodeId,
    pub(super) extension: bool,
}

pub(super) type NodeId = u32;

const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Pattern>();
};

#[derive(Debug)]
pub(super) enum Node {
    Var(VarRef),
    /// A variable that may match part of its subject.
    TopVar(Box<VarParts>),
    Ground(Fixed),
    Free(Box<Free>),
    Iter(Box<Iter>),
    Cui(Box<Cui>),
    Ac(Box<Ac>),
    Assoc(Box<Assoc>),
}

/// A set of sort indices of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SortSet {
    low: u64,
    high: Box<[u64]>,
}

impl SortSet {
    pub fn new(words: &[u64]) -> SortSet {
        SortSet { low: words.first().copied().unwrap_or(0), high: words.get(1..).unwrap_or(&[]).into() }
    }

    #[inline]
    pub fn contains(&self, sort: u32) -> bool {
        if sort < 64 {
            return self.low >> sort & 1 != 0;
        }
        self.high.get((sort / 64 - 1) as usize).is_some_and(|word| word >> (sort % 64) & 1 != 0)
    }

    pub fn is_subset(&self, other: &SortSet) -> bool {
        self.low & !other.low == 0 && self.high.iter().zip(&other.high).all(|(a, b)| a & !b == 0)
    }
}

/// A variable: its slot and the sorts it takes.
#[derive(Clone, Debug)]
pub(super) struct VarRef {
    pub slot: u16,
    pub sorts: SortSet,
    /// Does nobody read its value?
    pub idle: bool,
}

/// A variable as a pattern with extension: for every operator with extension a pattern with
/// that operator and this one argument.
#[derive(Debug)]
pub(super) struct VarParts {
    pub var: VarRef,
    pub by_sym: Vec<(u32, NodeId)>,
}

/// A ground term: an immediate, or one of the heap's constants.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fixed {
    Immediate(Term),
    Constant(u32),
}

impl Fixed {
    #[inline]
    pub fn term(self, heap: &Heap) -> Term {
        match self {
            Fixed::Immediate(t) => t,
            Fixed::Constant(i) => heap.consts[i as usize],
        }
    }
}

/// Free operators: the skeleton as steps over registers, then the other subpatterns.
#[derive(Debug)]
pub(super) struct Free {
    pub steps: Vec<Step>,
    /// (register, subpattern), in the sequence that propagates bindings best.
    pub aliens: Vec<(u32, NodeId)>,
}

/// Register 0 is the subject; `Open` appends the arguments as new registers.
#[derive(Debug)]
pub(super) enum Step {
    Open { register: u32, sym: u32 },
    Var { register: u32, var: VarRef },
    Ground { register: u32, term: Fixed },
}

/// `f^count(inner)`; a count of 0 is for extensions only, and at least one application is matched.
#[derive(Debug)]
pub(super) struct Iter {
    pub sym: u32,
    pub count: Int,
    pub inner: NodeId,
    /// Has the operator membership axioms?
    pub resort: bool,
}

/// A binary operator that is not associative: comm, idem, identity.
#[derive(Debug)]
pub(super) struct Cui {
    pub sym: u32,
    /// In the order in which they are matched.
    pub args: [NodeId; 2],
    /// The subject's argument that `args[0]` gets first.
    pub first: usize,
    /// Try the other assignment too?
    pub comm: bool,
    /// If one assignment passes the match phase, the other cannot succeed.
    pub unique: bool,
    /// One solution without subproblems is as good as all.
    pub greedy: bool,
    /// The identity's place in the constants, if some argument may match it.
    pub identity: Option<usize>,
    /// (argument that becomes the identity, the other one as a pattern for the whole subject).
    pub collapses: Vec<(NodeId, NodeId)>,
    /// Both arguments as patterns for the whole subject; the first with extension, if any.
    pub idem: Option<[NodeId; 2]>,
}

/// How many elements of an operator a sort admits, if there is a bound.
pub(super) type Bound = Option<u32>;

/// How a sort behaves under an associative operator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Structure {
    Unstructured,
    /// Closed under the operator.
    Limit,
    /// Closed, and so are its complements: a list is in it iff all its elements are.
    Pure,
}

/// A variable below an associative operator.
#[derive(Clone, Debug)]
pub(super) struct TopVar {
    pub var: VarRef,
    pub multiplicity: u32,
    pub bound: Bound,
    pub take_identity: bool,
    /// Could it take the identity at another place (of an operator with a one-sided identity)?
    pub awkward: bool,
    pub structure: Structure,
    /// Must each element it takes have a sort that it admits?
    pub elementwise: bool,
    /// Stands for a subpattern that may collapse, to be matched afterwards.
    pub stands_for: Option<NodeId>,
    /// The variable itself as a pattern with extension, for when all else collapses.
    pub whole: Option<NodeId>,
}

impl TopVar {
    /// Does it take exactly one element?
    #[inline]
    pub fn is_unit(&self) -> bool {
        self.bound == Some(1) && !self.take_identity
    }
}

#[derive(Debug)]
pub(super) struct Alien {
    pub node: NodeId,
    pub multiplicity: u32,
    /// The top operator of every instance, if that is certain.
    pub top: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Strategy {
    /// Only aliens are unbound; the first so many are forced.
    AliensOnly(usize),
    /// First try greedily; the first so many aliens do not compete.
    Greedy(usize),
    Full,
}

/// Fast ways for common shapes, tried before everything else; they may give up.
#[derive(Debug)]
pub(super) enum Special {
    /// One variable, several times, at the top.
    NonLinear,
    /// One element (the stripper) and a variable that takes all the rest.
    Collector { stripper: Stripper, collector: usize },
}

#[derive(Debug)]
pub(super) enum Stripper {
    Ground,
    /// A top variable.
    Var(usize),
    Alien(Alien),
}

/// An associative-commutative operator.
#[derive(Debug)]
pub(super) struct Ac {
    pub sym: u32,
    pub identity: Option<usize>,
    /// Has the operator membership axioms?
    pub resort: bool,
    /// By multiplicity, then by sort index, both descending.
    pub vars: Vec<TopVar>,
    pub ground: Vec<(Fixed, u32)>,
    /// Aliens whose variables are all bound.
    pub grounded: Vec<Alien>,
    pub aliens: Vec<Alien>,
    pub aliens_total: u64,
    pub strategy: Strategy,
    pub special: Option<Special>,
    /// The fewest elements that an instance has.
    pub total_min: u64,
    /// The largest multiplicity that the subject must have.
    pub multiplicity_max: u32,
    pub collapse: Option<Collapse>,
}

/// What an associative pattern is if its subject has another operator on top.
#[derive(Debug)]
pub(super) enum Collapse {
    /// All arguments but this one take the identity.
    Unique { node: NodeId, arg: CollapseArg },
    /// Any one of them may take the subject.
    Any,
}

/// An argument of an associative pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CollapseArg {
    /// A top variable (for lists: the argument at this place).
    Var(usize),
    Other,
}

/// An associative operator that is not commutative.
#[derive(Debug)]
pub(super) struct Assoc {
    pub sym: u32,
    pub identity: Option<usize>,
    pub left_id: bool,
    pub right_id: bool,
    pub resort: bool,
    pub args: Vec<Arg>,
    /// Which ends are eaten first, by one place each: `true` is the left one.
    pub rigid: Vec<bool>,
    pub greedy: bool,
    /// Fewest and most elements of an instance.
    pub total_min: usize,
    pub total_max: Option<usize>,
    pub collapse: Option<Collapse>,
}

#[derive(Debug)]
pub(super) enum Arg {
    Var(TopVar),
    Ground(Fixed),
    Alien(NodeId),
}
