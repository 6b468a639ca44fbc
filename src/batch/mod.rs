//! Many claims in one run: a plan in TOML, and a process for each claim.
//!
//! Each claim is checked by a `rwl check` of its own, so that its memory is limited and measured
//! apart from the others', and a claim that fails takes nothing with it.

mod claim;
mod plan;
mod process;
mod schedule;

pub use claim::Claim;
pub use plan::read_plan;
pub use process::failed;
pub use schedule::{Event, Setup, rehearse, run};
