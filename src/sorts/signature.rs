//! The signature of a flat module: its sorts and its operators.
//!
//! An operator is a name with the kinds of its arguments and result; its declarations
//! (subsort overloading) share axioms and syntax. Operators are numbered in Maude's order of
//! creation, which together with the arity gives the order on terms.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use super::{KindId, SortDiagram, SortId, SortPoset, Tree};
use crate::base::{Name, Span};

crate::index_type!(
    /// An operator of one flat module.
    OpId
);

/// One declaration of an operator; domain and range are sorts, or error sorts for kinds.
#[derive(Clone, Debug)]
pub struct OpDecl {
    pub domain: Vec<SortId>,
    pub range: SortId,
    pub ctor: bool,
    pub metadata: Option<String>,
    pub span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdentitySide {
    Left,
    Right,
    Both,
}

#[derive(Clone, Debug)]
pub struct Identity {
    pub side: IdentitySide,
    pub term: Tree,
}

#[derive(Clone, Debug, Default)]
pub struct Axioms {
    pub assoc: bool,
    pub comm: bool,
    pub idem: bool,
    pub iter: bool,
    pub identity: Option<Box<Identity>>,
}

/// How an argument position gathers: `E` (<= prec), `e` (< prec), `&` (any).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gather {
    Loose,
    Strict,
    Any,
}

impl Gather {
    /// The positions of an operator as written: `e E &`.
    pub fn text(positions: &[Gather]) -> String {
        let word = |position: &Gather| match position {
            Gather::Loose => "E",
            Gather::Strict => "e",
            Gather::Any => "&",
        };
        positions.iter().map(word).collect::<Vec<_>>().join(" ")
    }
}

/// The `special` attribute, resolved.
#[derive(Clone, Debug)]
pub struct Special {
    /// The `id-hook` that names the built-in, such as `ACU_NumberOpSymbol`, with its data.
    pub hook: Name,
    pub data: Vec<Name>,
    /// Further id-hooks (name, data).
    pub more: Vec<(Name, Vec<Name>)>,
    pub ops: Vec<(Name, OpId)>,
    pub terms: Vec<(Name, Tree)>,
}

/// How `poly` operators were made: the instance of `template` at `kind`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Poly {
    pub template: u32,
    pub kind: KindId,
}

/// Flags that only some built-in modules use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Hooks {
    pub config: bool,
    pub object: bool,
    pub msg: bool,
}

#[derive(Clone, Debug)]
pub struct Operator {
    pub name: Name,
    pub domain: Vec<KindId>,
    pub range: KindId,
    /// In order of declaration, imported ones first; never empty.
    pub decls: Vec<OpDecl>,
    pub axioms: Axioms,
    /// As declared; the defaults depend on the syntax and are the grammar's business.
    pub prec: Option<u32>,
    pub gather: Option<Vec<Gather>>,
    pub format: Option<Vec<Name>>,
    /// As declared: argument numbers from 1, and 0 for the top. `None` = all arguments, then the top.
    pub strat: Option<Vec<u32>>,
    pub memo: bool,
    /// Frozen argument positions, from 0.
    pub frozen: Vec<u32>,
    /// Shared by the instances of a polymorphic operator.
    pub special: Option<Arc<Special>>,
    pub poly: Option<Poly>,
    pub hooks: Hooks,
    /// Was it declared in this module first (and not imported)?
    pub own: bool,
}

impl Operator {
    pub fn arity(&self) -> usize {
        self.domain.len()
    }
}

/// The sorts and operators of a flat module.
#[derive(Clone, Debug, Default)]
pub struct Signature {
    pub sorts: SortPoset,
    ops: Vec<Operator>,
    by_name: FxHashMap<Name, Vec<OpId>>,
    diagrams: Vec<OnceLock<SortDiagram>>,
}

impl Signature {
    pub fn new(sorts: SortPoset) -> Signature {
        Signature { sorts, ..Signature::default() }
    }

    /// Adds an operator that is not there yet.
    pub fn add(&mut self, op: Operator) -> OpId {
        let id = OpId::from_index(self.ops.len());
        self.by_name.entry(op.name).or_default().push(id);
        self.ops.push(op);
        self.diagrams.push(OnceLock::new());
        id
    }

    /// Gives back memory, when all operators are there.
    pub fn shrink(&mut self) {
        for op in &mut self.ops {
            op.decls.shrink_to_fit();
        }
        self.ops.shrink_to_fit();
        self.diagrams.shrink_to_fit();
    }

    pub fn op(&self, id: OpId) -> &Operator {
        &self.ops[id.index()]
    }

    /// For elaboration only; forgets the sort diagram.
    pub fn op_mut(&mut self, id: OpId) -> &mut Operator {
        self.diagrams[id.index()] = OnceLock::new();
        &mut self.ops[id.index()]
    }

    /// All operators in order of creation.
    pub fn ops(&self) -> impl Iterator<Item = (OpId, &Operator)> {
        self.ops.iter().enumerate().map(|(i, op)| (OpId::from_index(i), op))
    }

    pub fn len(&self) -> usize {
        self.ops.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// The operators with a name, in order of creation.
    pub fn named(&self, name: Name) -> &[OpId] {
        self.by_name.get(&name).map_or(&[], Vec::as_slice)
    }

    pub fn find(&self, name: Name, domain: &[KindId], range: KindId) -> Option<OpId> {
        self.named(name).iter().copied().find(|&id| {
            let op = self.op(id);
            op.range == range && op.domain == domain
        })
    }

    /// The operator with a special hook of this name, if the module has one.
    pub fn with_hook(&self, hook: &str) -> Option<OpId> {
        self.ops()
            .find(|(_, op)| op.special.as_ref().is_some_and(|s| s.hook.as_str() == hook))
            .map(|(id, _)| id)
    }

    /// The order on operators: by arity, then by creation.
    pub fn order_key(&self, id: OpId) -> (usize, OpId) {
        (self.op(id).arity(), id)
    }

    /// How the operator computes least sorts.
    pub fn diagram(&self, id: OpId) -> &SortDiagram {
        self.diagrams[id.index()].get_or_init(|| SortDiagram::new(&self.sorts, self.op(id)))
    }
}
