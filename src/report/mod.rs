//! Data to text, in Maude's own wording where Maude has one, and to JSON.

mod answer;
mod batch;
mod batch_html;
mod checked;
mod graph;
mod html;
mod job;
mod layers;
mod message;
mod normal;
mod run;
mod search;
pub mod show;
mod show_declared;
mod timeline;
mod wrap;

pub use answer::{Answer, Effort, Matcher, Time, diagnostic_json, substitution_text};
pub use batch::{BatchReport, ClaimReport, Ended};
pub use checked::{CheckReport, End, Layer, Verdict, overall};
pub use graph::graph;
pub use html::page as html_page;
pub use job::JobReport;
pub use layers::{Analysis, Initialized};
pub use message::render_diagnostic;
pub use run::{Run, Step};
pub use search::{Coverage, Found, SearchReport, all, check_progress, layers_progress, progress_text};
pub use wrap::Wrapper;

/// So many things, in words: `1 state`, `2 states`.
pub fn counted(n: u64, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}
