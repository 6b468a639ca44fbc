//! Surface tree to elaborated module: imports, parameters, views, renaming; parsed statements.

mod assemble;
mod check;
mod database;
mod declare;
mod express;
mod flatten;
mod hooks;
mod regular;
mod rename;
mod revise;
mod sort_name;
mod statement;
#[cfg(test)]
mod tests;
mod translate;
mod unit;
mod view;

pub use check::unbound_in_query;
pub use database::{Broken, Modules};
pub use revise::{Refusal, RevisedDecl, Revision, Shape, image, revised_name, translated};
pub(crate) use sort_name::sort_name;
pub use statement::{Equation, Fragment, Membership, Module, OwnSorts, PrintItem, Rule, StatementAttrs};
pub use unit::PolyTemplate;
