//! Text in, text out: the program as users meet it.

mod batch;
mod check;
mod cli;
mod conformance;
mod errors;
mod hyperqueue;
mod jobs;
mod join;
mod layered;
mod layers;
mod random;
mod random_against_maude;
mod random_initial;
mod random_lazy;
mod random_ltl;
mod random_order;
mod random_rules;
mod random_systems;
mod repl;
mod revise;
mod robustness;
mod search;
mod sessions;
mod support;
mod twins;
