//! Text in, text out: the program as users meet it.

mod cli;
mod conformance;
mod errors;
mod layers;
mod random;
mod random_rules;
mod repl;
mod robustness;
mod search;
mod support;
mod twins;
