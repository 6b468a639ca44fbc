//! Sorts, kinds and operators of one flat module, parsed terms over them, and least sorts.

mod diagram;
mod poset;
mod regular;
mod signature;
mod tree;

pub use diagram::{SortDiagram, SortIx};
pub use poset::{Kind, KindId, Sort, SortCycle, SortId, SortPoset};
pub use regular::Disagreement;
pub use signature::{
    Axioms, Gather, Hooks, Identity, IdentitySide, OpDecl, OpId, Operator, Poly, Signature, Special,
};
pub use tree::{Node, Tree, Var};
