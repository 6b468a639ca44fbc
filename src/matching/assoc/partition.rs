//! Ways to cut a gap between blocks into parts.

use super::{Part, UNBOUNDED};

/// Ways to cut a gap into parts: the last part is longest first, the first cut moves fastest.
#[derive(Debug, Default)]
pub(super) struct Partition {
    /// The start of each part, and the end.
    starts: Vec<usize>,
    /// For one-sided identities: which variables also take one that vanishes.
    pub variant: u64,
    pub variants: u64,
    pub mark: usize,
}

impl Partition {
    /// Start (relative to the gap) and length of a part.
    pub(super) fn part(&self, i: usize) -> (usize, usize) {
        (self.starts[i], self.starts[i + 1] - self.starts[i])
    }

    /// The next variant, or the next way.
    pub(super) fn advance(&mut self, parts: &[Part]) -> bool {
        self.variant += 1;
        if self.variant < self.variants {
            return true;
        }
        self.variant = 0;
        self.next(parts)
    }

    pub(super) fn first(&mut self, parts: &[Part], len: usize) -> bool {
        self.variant = 0;
        self.starts.clear();
        self.starts.resize(parts.len() + 1, 0);
        self.starts[parts.len()] = len;
        if parts.is_empty() {
            return len == 0;
        }
        self.reset(parts, parts.len())
    }

    /// Moves the starts before part `end` as far left as the start of that part allows.
    fn reset(&mut self, parts: &[Part], end: usize) -> bool {
        for i in (0..end).rev() {
            let (low, high) = self.range(parts, i);
            if low > high {
                return false;
            }
            self.starts[i] = low;
        }
        true
    }

    /// Where part `i` may start, given where the next one starts.
    fn range(&self, parts: &[Part], i: usize) -> (usize, usize) {
        let min: usize = parts[..i].iter().map(|p| p.min).sum();
        let max = parts[..i].iter().fold(0, |sum, p| UNBOUNDED.min(sum + p.max));
        let next = self.starts[i + 1];
        let low = min.max(next.saturating_sub(parts[i].max));
        if next < parts[i].min {
            return (1, 0);
        }
        (low, max.min(next - parts[i].min))
    }

    fn next(&mut self, parts: &[Part]) -> bool {
        for i in 1..parts.len() {
            let (_, high) = self.range(parts, i);
            if self.starts[i] < high {
                self.starts[i] += 1;
                return self.reset(parts, i);
            }
        }
        false
    }
}
