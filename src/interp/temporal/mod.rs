//! Temporal logic over the terms of a module: `modelCheck` and `satSolve` as functions inside
//! equations, `rwl check`, and the commands of the layered checker.

mod alarm;
mod apart;
mod desk;
mod formula;
mod function;
mod initialize;
mod layered;
mod readings;
mod request;
mod revise;
mod run;
mod solver;
mod soup;
mod vocabulary;

pub(super) use desk::unless_exceeded;

pub use apart::{Elsewhere, Open, Planned, Searched};
pub use function::{Note, Temporal};
pub use layered::{LayersRequest, Method};
pub use request::{AutomatonFormat, CheckRequest};
pub use solver::{SOLVER_HELP, SOLVER_WORDS, Session};
