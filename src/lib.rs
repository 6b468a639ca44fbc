//! rwl: a rewriting-logic engine that reads Maude's language.
//!
//! Data flows one way, each layer reads the one before and never a later one:
//! text ([`syntax`]) -> signature ([`sorts`]) -> parsed terms ([`mixfix`]) -> elaborated
//! module ([`module`]) -> values -> compiled theory -> rewriting -> reports -> screen.

pub mod base;
pub mod batch;
pub mod builtin;
pub mod check;
pub mod cli;
pub mod graph;
pub mod interp;
pub mod jobs;
pub mod logic;
pub mod matching;
pub mod mixfix;
pub mod module;
pub mod repl;
pub mod report;
pub mod rewrite;
pub mod sorts;
pub mod syntax;
pub mod term;
pub mod theory;
