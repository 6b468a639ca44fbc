//! Linear temporal logic, and automata that read what a formula says.
//!
//! Formulas are numbers in a table ([`Formulas`]), their atoms are propositions ([`PropId`]) that
//! someone else evaluates, so nothing here knows of terms or states. The way of a formula:
//! negation normal form, [`simplify`], [`translate`], an [`Automaton`], which [`hoa`] and [`dot`]
//! print. [`word`] is the definition of truth that everything else is tested against.
//!
//! ```
//! use rwl::logic::{Formulas, SizeLimits, text, translate};
//! let mut formulas = Formulas::default();
//! let formula = text::parse(&mut formulas, "[] <> p0").unwrap();
//! let automaton = translate(&mut formulas, formula, SizeLimits::default()).unwrap();
//! assert_eq!(automaton.edges.len(), 1);
//! ```

mod automaton;
pub mod dot;
mod formula;
pub mod hoa;
mod imitate;
mod property;
#[cfg(test)]
pub(crate) mod random;
mod reduce;
mod simplify;
#[cfg(test)]
mod tests;
pub mod text;
mod translate;
mod witness;
pub mod word;

pub use automaton::{Automaton, Cube, Edge, PROPS_MAX};
pub use formula::{Formula, Formulas, Node, PropId};
pub use imitate::{Buchi, Letters, imitate};
pub use property::{Property, premise};
pub use reduce::{Simulation, degeneralize, reduce};
pub use simplify::{Simplified, simplify};
pub use translate::{SizeLimits, TranslateError, translate, translate_plain};
pub use witness::{Model, satisfy, witness};
