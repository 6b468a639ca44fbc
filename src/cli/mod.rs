//! The command line: arguments, standard streams, signals, exit codes.

mod args;
mod exit;
mod output;
mod run;
mod stdin;

pub use exit::ExitCode;
pub use output::Output;
pub use run::run;
