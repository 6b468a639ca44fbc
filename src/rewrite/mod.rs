//! Running a compiled theory on terms.

mod collections;
mod decide;
mod fair;
mod holes;
mod hot;
mod left;
mod machine;
mod memo;
mod objects;
mod recent;
mod resort;
mod rules;
mod run;
mod trace;
mod vain;
mod walk;

pub use fair::Fair;
pub use machine::Machine;
pub use rules::{COUNTER_RULE, Mode, Step, Steps, Turns};
pub use trace::{BuiltinEvent, StatementEvent, TraceEvent, Tracer};
pub use vain::Tried;
