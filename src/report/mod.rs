//! Data to text, in Maude's own wording where Maude has one, and to JSON.

mod answer;
mod graph;
mod message;
mod normal;
mod search;
pub mod show;
mod show_declared;
mod wrap;

pub use answer::{Answer, Effort, Matcher, Time, diagnostic_json, substitution_text};
pub use graph::graph;
pub use message::render_diagnostic;
pub use search::{Coverage, Found, SearchReport, progress_text};
pub use wrap::Wrapper;
