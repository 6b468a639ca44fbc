//! What a run answered: results, and rewrite counts apart from them.

/// Standard output without its timings.
#[derive(PartialEq)]
pub struct Answer {
    /// The lines, those with a count cut before it.
    lines: Vec<String>,
    /// The counts, in order.
    counts: Vec<u64>,
}

/// The label before a rewrite count, at the start of a line or within it (`states: 9  rewrites: 8`).
const LABEL: &str = "rewrites: ";

impl Answer {
    pub fn read(stdout: &str) -> Answer {
        let mut answer = Answer { lines: Vec::new(), counts: Vec::new() };
        for line in stdout.lines() {
            let line = match line.split_once(LABEL) {
                Some((before, after)) if count(after).is_some() => {
                    answer.counts.extend(count(after));
                    format!("{before}{LABEL}")
                }
                _ => line.to_string(),
            };
            answer.lines.push(line);
        }
        answer
    }

    /// All rewrites together.
    pub fn rewrites(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The first line that differs, told for a reader; `self` is Maude's answer.
    pub fn results_differ(&self, rwl: &Answer) -> Option<String> {
        let end = "(nothing)".to_string();
        let longest = self.lines.len().max(rwl.lines.len());
        (0..longest).find_map(|at| {
            let ours = rwl.lines.get(at).unwrap_or(&end);
            let theirs = self.lines.get(at).unwrap_or(&end);
            (ours != theirs).then(|| {
                let (ours, theirs) = (short(ours), short(theirs));
                format!("  line {}\n  Maude: {theirs}\n  rwl:   {ours}", at + 1)
            })
        })
    }

    /// The counts that differ, told for a reader.
    pub fn counts_differ(&self, rwl: &Answer) -> Option<String> {
        let pairs = self.counts.iter().zip(&rwl.counts).enumerate();
        let told: Vec<String> = pairs
            .filter(|(_, (theirs, ours))| theirs != ours)
            .map(|(at, (theirs, ours))| format!("command {}: Maude {theirs}, rwl {ours}", at + 1))
            .collect();
        (!told.is_empty()).then(|| told.join("; "))
    }
}

/// The number that opens a text, if the text is a count with or without a timing after it.
fn count(text: &str) -> Option<u64> {
    let end = text.find(' ').unwrap_or(text.len());
    let (number, tail) = text.split_at(end);
    let timing = tail.is_empty() || tail.starts_with(" in ");
    number.parse().ok().filter(|_| timing)
}

/// A line cut to what a terminal can show.
fn short(line: &str) -> String {
    const MOST: usize = 300;
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line.to_string(),
    }
}
