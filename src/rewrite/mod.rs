//! Running a compiled theory on terms.

mod collections;
mod hot;
mod machine;
mod memo;
mod walk;

pub use machine::{BuiltinEvent, Machine, StatementEvent, TraceEvent, Tracer};
