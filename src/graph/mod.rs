//! State graphs: states as numbers in a compressed store that threads share, the codec between
//! terms on a thread's heap and stored words, and search.

mod codec;
mod decode;
mod encode;
mod explorer;
mod level;
mod node;
mod pairs;
mod search;
mod segments;
mod shape;
mod store;
mod sync;
mod system;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod vector;

pub use codec::{Codec, Root};
pub use level::key;
pub use pairs::{Full, TooMany};
pub use search::{Arrow, Limits, Progress, Search, Solution, Watcher};
pub use store::{Inserted, Spares, StateId, Store, Usage};
pub use system::{Explicit, RuleId, State, Stop, System, Worker};
