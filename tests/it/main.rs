//! Text in, text out: the program as users meet it.

mod cli;
mod conformance;
mod errors;
mod layers;
mod random;
mod repl;
mod robustness;
mod support;
