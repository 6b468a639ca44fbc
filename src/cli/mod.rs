//! The command line: arguments, standard streams, signals, exit codes.

mod activity;
mod args;
mod batch;
mod exit;
mod jobs;
mod live;
mod mapped;
mod memory;
mod output;
mod run;
mod small;
mod stdin;

pub use activity::{Activity, Doing};
pub use exit::ExitCode;
pub use memory::Allocator;
pub use output::Output;
pub use run::run;
