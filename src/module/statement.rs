//! The elaborated flat module: what the rest of the engine reads.

use std::sync::Arc;

use crate::base::{Name, NameMap, Span};
use crate::sorts::{Signature, SortId, Tree, Var};
use crate::syntax::tree::{ImportMode, ModuleKind};

/// One fragment of a condition.
#[derive(Clone, Debug)]
pub enum Fragment {
    /// `t = t'`; a boolean `t` is `t = true`.
    Equal(Tree, Tree),
    /// `t : S`
    Sort(Tree, SortId),
    /// `p := t`
    Match(Tree, Tree),
    /// `t => p`
    Rewrite(Tree, Tree),
}

impl Fragment {
    /// The terms that it is made of, as they are written.
    pub fn trees(&self) -> Vec<&Tree> {
        match self {
            Fragment::Equal(a, b) | Fragment::Match(a, b) | Fragment::Rewrite(a, b) => vec![a, b],
            Fragment::Sort(a, _) => vec![a],
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum PrintItem {
    Text(String),
    Var(Var),
}

/// What all statements have.
#[derive(Clone, Debug, Default)]
pub struct StatementAttrs {
    pub label: Option<Name>,
    pub nonexec: bool,
    /// Is it not executable only because of unbound variables? The text does not say `nonexec` then.
    pub unbound: bool,
    pub owise: bool,
    pub variant: bool,
    pub narrowing: bool,
    pub dnt: bool,
    pub metadata: Option<String>,
    pub print: Option<Vec<PrintItem>>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Equation {
    pub lhs: Tree,
    pub rhs: Tree,
    pub condition: Vec<Fragment>,
    pub attrs: StatementAttrs,
}

#[derive(Clone, Debug)]
pub struct Membership {
    pub term: Tree,
    pub sort: SortId,
    pub condition: Vec<Fragment>,
    pub attrs: StatementAttrs,
}

#[derive(Clone, Debug)]
pub struct Rule {
    pub lhs: Tree,
    pub rhs: Tree,
    pub condition: Vec<Fragment>,
    pub attrs: StatementAttrs,
}

/// The sorts that a module declares itself.
#[derive(Clone, Debug, Default)]
pub struct OwnSorts {
    pub sorts: Vec<SortId>,
    /// Sorts with subsorts that no import puts below them.
    pub subsorts: Vec<(SortId, Vec<SortId>)>,
}

/// A module with everything it imports, flattened.
///
/// Statements come in Maude's order: the module's own in the order of the text, then those of
/// the parameter theories, then those of the imports, depth first. Statements that cannot be
/// used (a left-hand side that did not parse) are left out after a diagnostic.
#[derive(Clone, Debug)]
pub struct Module {
    pub name: Name,
    pub kind: ModuleKind,
    /// Parameters of a parameterized module with their theories.
    pub params: Vec<(Name, Name)>,
    /// Direct imports, automatic ones first.
    pub imports: Vec<(ImportMode, Name)>,
    pub signature: Arc<Signature>,
    pub memberships: Vec<Membership>,
    pub equations: Vec<Equation>,
    pub rules: Vec<Rule>,
    /// How many of each list are the module's own.
    pub own: (usize, usize, usize),
    /// The module's own variable declarations.
    pub vars: NameMap<SortId>,
    /// Polymorphic operators as declared; the signature has their instances.
    pub polys: Vec<super::PolyTemplate>,
    /// Had it errors? Commands may still run in it.
    pub flawed: bool,
}
