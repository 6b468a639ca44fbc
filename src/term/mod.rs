//! Values: terms in normal form modulo the axioms, on a heap that one thread owns.

mod bag;
mod bag_tree;
mod convert;
mod decided;
mod edit;
mod heap;
pub mod large;
pub mod limbs;
mod normal;
mod number;
mod order;
mod restore;
mod sequence;
mod symbols;

pub use convert::VarOrder;
pub use decided::NumberSorts;
pub use heap::{
    Heap, Layout, SMALL_MAX, SORTS_MAX, SYMS_MAX, Term, VAR_SYM, WORDS_MAX, header, header_layout,
    header_sort, header_sym,
};
pub use normal::{normalize, normalize_levels, sort_of_tree};
pub use number::{Int, Magnitude};
pub use symbols::{Class, IdentityInfo, NO_SYM, Numbers, RawKind, SymbolInfo, Symbols};
