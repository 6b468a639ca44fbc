//! A module as a node of the import graph, before flattening.
//!
//! Every module expression that was met is one unit, shared by all who import it: a module as
//! written, the copy `X :: T` of a parameter's theory, an instance, a renaming, a sum. A unit
//! holds its own sorts and operators by name; what it inherits is reached through `imports`.
//! Derived units know their base and the [`Morphism`] from it, through which the base's
//! parsed statements are translated.

use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Equation, Membership, Module, Rule};
use crate::base::{Name, NameMap, Span};
use crate::sorts::{Gather, Hooks, Identity, IdentitySide, OpId, Signature, SortId, Special, Tree};
use crate::syntax::tree::{Bubble, Hook, ImportMode, ModuleDecl, ModuleKind, ViewDecl};

/// A sort, or the kind of a sort, by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Type {
    Sort(Name),
    Kind(Name),
    /// The pseudo-sort `Universal` of polymorphic operators.
    Universal,
}

impl Type {
    pub fn map(self, f: impl FnOnce(Name) -> Name) -> Type {
        match self {
            Type::Sort(name) => Type::Sort(f(name)),
            Type::Kind(name) => Type::Kind(f(name)),
            Type::Universal => Type::Universal,
        }
    }
}

/// The attributes of one operator declaration, but for identity and hooks.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Attrs {
    pub assoc: bool,
    pub comm: bool,
    pub idem: bool,
    pub iter: bool,
    pub ctor: bool,
    pub memo: bool,
    pub ditto: bool,
    pub prec: Option<u32>,
    pub gather: Option<Vec<Gather>>,
    pub format: Option<Vec<Name>>,
    pub strat: Option<Vec<u32>>,
    /// Positions from 0.
    pub frozen: Vec<u32>,
    /// Positions from 1, 0 for the range; empty unless polymorphic.
    pub poly: Vec<u32>,
    pub metadata: Option<String>,
    pub hooks: Hooks,
}

/// One operator declaration of a unit.
#[derive(Clone, Debug)]
pub(super) struct OwnOp {
    pub name: Name,
    pub domain: Vec<Type>,
    pub range: Type,
    pub attrs: Attrs,
    /// Which side has an identity; the term itself is in `written`, or comes from the base.
    pub identity: Option<IdentitySide>,
    /// The bubbles of a declaration as written; absent in derived units.
    pub written: Option<Arc<Written>>,
    pub span: Span,
}

#[derive(Debug, Default)]
pub(super) struct Written {
    pub identity: Option<Bubble>,
    pub special: Vec<Hook>,
}

#[derive(Clone, Debug)]
pub(super) struct Param {
    pub name: Name,
    /// The theory itself.
    pub theory: Arc<Unit>,
    /// Its copy `X :: T`.
    pub copy: Arc<Unit>,
}

#[derive(Clone, Debug)]
pub(super) struct Import {
    pub unit: Arc<Unit>,
    pub mode: ImportMode,
    /// Is it the copy of the theory of one of this unit's own parameters?
    pub param: bool,
}

/// An argument of an instantiation.
#[derive(Clone, Debug)]
pub(super) enum Arg {
    View(Arc<View>),
    /// A parameter of the module in which the instantiation stands.
    Param(Param),
}

impl Arg {
    /// As in the name of a module: `Nat`, `[X]`.
    pub fn key(&self) -> String {
        match self {
            Arg::View(view) => view.key.as_str().to_owned(),
            Arg::Param(param) => format!("[{}]", param.name),
        }
    }

    /// As in the name of a sort: `Nat`, `X`.
    pub fn name(&self) -> Name {
        match self {
            Arg::View(view) => view.name,
            Arg::Param(param) => param.name,
        }
    }

    /// The parameters of the enclosing module that it mentions.
    pub fn bound(&self) -> Vec<Name> {
        match self {
            Arg::View(view) => view.bound.clone(),
            Arg::Param(param) => vec![param.name],
        }
    }
}

/// What an operator becomes under a morphism.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Op {
        name: Name,
        syntax: Syntax,
    },
    /// A term over the flat signature of `unit`, with the arguments' variables by name.
    Term {
        unit: Arc<Unit>,
        vars: Vec<Name>,
        tree: Tree,
    },
}

/// New syntactic attributes of a renamed operator; those not given are reset.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Syntax {
    pub prec: Option<u32>,
    pub gather: Option<Vec<Gather>>,
    pub format: Option<Vec<Name>>,
}

/// A map from one unit's names to another's. What is not listed stays.
#[derive(Clone, Debug, Default)]
pub(super) struct Morphism {
    pub sorts: FxHashMap<Name, Name>,
    /// By the operators of the base's flat signature.
    pub ops: FxHashMap<OpId, Target>,
    /// Polymorphic templates, by name.
    pub polys: FxHashMap<Name, Target>,
    pub labels: FxHashMap<Name, Name>,
    /// In the copy `X :: T` every label gets the prefix `X$`.
    pub label_prefix: Option<Name>,
}

impl Morphism {
    pub fn sort(&self, name: Name) -> Name {
        self.sorts.get(&name).copied().unwrap_or(name)
    }

    pub fn label(&self, label: Name) -> Name {
        match (self.labels.get(&label), self.label_prefix) {
            (Some(&to), _) => to,
            (None, Some(prefix)) => Name::new(&format!("{prefix}${label}")),
            (None, None) => label,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.sorts.is_empty() && self.ops.is_empty() && self.polys.is_empty() && self.labels.is_empty()
    }
}

/// One item of a renaming, by names.
#[derive(Clone, Debug)]
pub(super) enum Renaming {
    Sort { from: Name, to: Name },
    Op { from: Name, types: Option<(Vec<Type>, Type)>, to: Name, syntax: Syntax },
    Label { from: Name, to: Name },
}

/// Where a unit comes from.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    Named(Arc<ModuleDecl>),
    /// `X :: T`
    Copy {
        param: Name,
    },
    Instance {
        base: Arc<Unit>,
        args: Vec<Arg>,
    },
    Rename {
        base: Arc<Unit>,
        items: Vec<Renaming>,
    },
    Sum(Vec<Arc<Unit>>),
}

/// A node of the import graph.
#[derive(Debug)]
pub(super) struct Unit {
    /// Maude's name of the module expression, such as `LIST{[X]} * (sort List{X} to L)`.
    pub key: Name,
    /// The place in the order in which names of modules were first seen.
    pub number: u32,
    pub kind: ModuleKind,
    pub params: Vec<Param>,
    /// Parameter copies first, then automatic imports, then the others in order of the text.
    pub imports: Vec<Import>,
    pub origin: Origin,
    /// Base and morphism of a derived unit.
    pub base: Option<(Arc<Unit>, Morphism)>,
    /// The parameters of an enclosing module that the expression mentions.
    pub bound: Vec<Name>,
    /// All modules and views (`true`) it was made from, for redefinitions.
    pub mentions: FxHashSet<(bool, Name)>,
    pub sorts: Vec<(Name, Span)>,
    pub subsorts: Vec<(Name, Name, Span)>,
    pub ops: Vec<OwnOp>,
    pub span: Span,
    /// Had its own declarations errors?
    pub flawed: bool,
    /// Is it, for Maude, no module at all because of them?
    pub unusable: bool,
    pub flat: OnceLock<Arc<Flat>>,
    pub statements: OnceLock<Arc<OwnStatements>>,
    pub module: OnceLock<Arc<Module>>,
}

impl Unit {
    /// All that it imports, each once, in Maude's order of donation; itself excluded.
    pub fn donors(&self) -> Vec<Arc<Unit>> {
        let mut seen = FxHashSet::default();
        let mut order = Vec::new();
        for import in &self.imports {
            visit(&import.unit, &mut seen, &mut order);
        }
        order
    }
}

// Import chains are as deep as people write them; a few frames each.
fn visit(unit: &Arc<Unit>, seen: &mut FxHashSet<Name>, order: &mut Vec<Arc<Unit>>) {
    if seen.insert(unit.key) {
        for import in &unit.imports {
            visit(&import.unit, seen, order);
        }
        order.push(unit.clone());
    }
}

/// The flat signature of a unit, and what others need to translate from it.
#[derive(Debug)]
pub(super) struct Flat {
    pub signature: Arc<Signature>,
    pub donors: Vec<Arc<Unit>>,
    /// For each of the unit's own declarations, its operator (none for polymorphic templates).
    pub own_ops: Vec<Option<OpId>>,
    /// Identities and hooks that the unit's own declarations give.
    pub own_identities: Vec<(OpId, Identity)>,
    pub own_specials: Vec<(OpId, Arc<Special>)>,
    /// Polymorphic templates with the unit's own last.
    pub polys: Vec<PolyTemplate>,
    pub own_polys: Vec<PolyTemplate>,
    pub flawed: bool,
    /// No commands run in it, nor in modules that import it.
    pub unusable: bool,
}

/// A polymorphic operator before it is instantiated for the kinds.
#[derive(Clone, Debug)]
pub struct PolyTemplate {
    pub name: Name,
    /// `None` stands for `Universal`.
    pub domain: Vec<Option<SortId>>,
    pub range: Option<SortId>,
    /// As written: positions from 1, and 0 for the range.
    pub poly: Vec<u32>,
    /// The attributes, as in an operator (`decls` is empty, kinds are not meaningful).
    pub model: crate::sorts::Operator,
    /// The special attribute; hooks to instances of the template itself do not occur.
    pub special: Option<Arc<Special>>,
}

/// The unit's own statements, over its flat signature.
#[derive(Debug, Default)]
pub(super) struct OwnStatements {
    pub memberships: Vec<Membership>,
    pub equations: Vec<Equation>,
    pub rules: Vec<Rule>,
    pub vars: NameMap<SortId>,
    pub flawed: bool,
}

/// A view, evaluated.
#[derive(Debug)]
pub(super) struct View {
    /// As in names of modules: `List{[X]}`.
    pub key: Name,
    /// As in names of sorts: `List{X}`.
    pub name: Name,
    pub params: Vec<Param>,
    pub from: Arc<Unit>,
    pub to: Arc<Unit>,
    /// From the theory to the target; lists every sort and operator of the theory.
    pub map: Morphism,
    pub bound: Vec<Name>,
    pub mentions: FxHashSet<(bool, Name)>,
    /// The view it is an instance of, with the arguments.
    pub instance: Option<(Arc<View>, Vec<Arg>)>,
    pub decl: Arc<ViewDecl>,
}
