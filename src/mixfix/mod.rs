//! Mixfix syntax: parsing bubbles with the operators in scope, and printing terms.

mod build;
mod chart;
mod explain;
mod form;
mod grammar;
mod hint;
mod leaf;
mod parse;
mod print;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use form::name_pieces;
pub use grammar::{Grammar, Vars};
pub use parse::{Arrow, Matching, Parsed, Search, StatementBody};
pub use print::{
    PrintOptions, print, print_attributes, print_condition, print_equation, print_membership, print_rule,
};
