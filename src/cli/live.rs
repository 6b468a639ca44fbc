//! What is seen of a batch while it runs. The one user of `indicatif`.
//!
//! On a terminal: a line for each claim that is done, below them those that run, last the whole. Elsewhere
//! just the lines.

use std::collections::HashMap;
use std::io::{self, Write};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::batch::{Claim, Event};

/// How a batch is shown.
pub enum View<'a> {
    Nothing,
    Lines { color: bool, done: usize, all: usize },
    Table(Box<Table<'a>>),
}

/// Lines that are drawn again and again.
pub struct Table<'a> {
    claims: &'a [Claim],
    color: bool,
    lines: MultiProgress,
    total: ProgressBar,
    running: HashMap<usize, ProgressBar>,
}

const PERIOD: Duration = Duration::from_millis(250);

impl<'a> View<'a> {
    pub fn table(claims: &'a [Claim], color: bool) -> View<'a> {
        let lines = MultiProgress::new();
        let total = lines.add(
            ProgressBar::new(claims.len() as u64)
                .with_style(style("{bar:24} {pos} of {len} claims, {elapsed}")),
        );
        total.enable_steady_tick(PERIOD);
        View::Table(Box::new(Table { claims, color, lines, total, running: HashMap::new() }))
    }

    pub fn show(&mut self, event: &Event) {
        match self {
            View::Nothing => {}
            View::Lines { color, done, all } => {
                if let Event::Done(_, report) = event {
                    *done += 1;
                    // Nobody is left to tell if this fails.
                    let _ = writeln!(io::stderr(), "[{done}/{all}] {}", report.line(*color));
                }
            }
            View::Table(table) => table.show(event),
        }
    }

    /// Writes something else meanwhile.
    pub fn suspend(&self, write: impl FnOnce()) {
        match self {
            View::Table(table) => table.lines.suspend(write),
            _ => write(),
        }
    }

    /// Takes away what is not to stay.
    pub fn end(&self) {
        if let View::Table(table) = self {
            table.total.finish_and_clear();
            let _ = table.lines.clear();
        }
    }
}

impl Table<'_> {
    fn show(&mut self, event: &Event) {
        match *event {
            Event::Started(place) => {
                let line = ProgressBar::new_spinner()
                    .with_style(style("{spinner} {elapsed:>4} {prefix}  {wide_msg}"));
                let line = self.lines.insert_before(&self.total, line);
                line.set_prefix(self.claims[place].name.clone());
                line.enable_steady_tick(PERIOD);
                self.running.insert(place, line);
            }
            Event::Progress(place, text) => {
                if let Some(line) = self.running.get(&place) {
                    line.set_message(text.to_owned());
                }
            }
            Event::Done(place, report) => {
                if let Some(line) = self.running.remove(&place) {
                    line.finish_and_clear();
                    self.lines.remove(&line);
                }
                let _ = self.lines.println(report.line(self.color));
                self.total.inc(1);
            }
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is our own").progress_chars("##-")
}
