//! Temporal logic over the terms of a module: `modelCheck` and `satSolve` as functions inside
//! equations, and `rwl check`.

mod formula;
mod function;
mod layered;
mod readings;
mod request;
mod run;
mod vocabulary;

pub use function::{Note, Temporal};
pub use layered::LayersRequest;
pub use request::{AutomatonFormat, CheckRequest};
