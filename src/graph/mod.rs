//! State graphs: states as numbers in a compressed store that threads share, the codec between
//! terms on a thread's heap and stored words, and search.

mod changes;
mod codec;
mod decode;
mod delta;
mod elements;
mod encode;
mod explorer;
mod graft;
mod join;
mod joiner;
mod layout;
mod level;
mod meta;
mod model;
mod node;
mod pairs;
mod recent;
mod region;
mod regions;
mod saved;
mod search;
mod segments;
mod shape;
mod shared;
mod store;
mod sync;
mod system;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tuples;
mod vector;

pub use codec::{Codec, Root};
pub use level::key;
pub use meta::meta_key;
pub use model::{Case, CaseValue, Model, ModelSetup, ModelWorker, Reading};
pub use pairs::{Full, TooMany};
pub use region::ModelRegion;
pub use regions::{Region, Regions, Seed, Sprout};
pub use search::{Arrow, Limits, Progress, Search, Solution, Watcher};
pub use store::{Inserted, Spares, StateId, Store, Usage};
pub use sync::{Cell, prefetch};
pub use system::{Explicit, RuleId, State, Stop, System, Worker};
