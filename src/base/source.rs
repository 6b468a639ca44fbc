//! Source texts and places in them.

use std::sync::{Arc, OnceLock};

crate::index_type!(
    /// A source text: a file, or a piece of input typed at the prompt.
    FileId
);

/// A byte range of one source text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The empty place right after this span.
    pub fn after(self) -> Span {
        Span { start: self.end, ..self }
    }
}

/// One source text.
#[derive(Debug)]
pub struct Source {
    pub name: String,
    pub text: Arc<str>,
    /// Found when a place is first asked for.
    line_starts: OnceLock<Vec<u32>>,
    /// The number of the first line; not 1 for a further piece of a longer text.
    first_line: usize,
}

/// All texts read so far.
#[derive(Debug, Default)]
pub struct SourceMap {
    sources: Vec<Source>,
}

impl SourceMap {
    /// Adds a text under the name that messages show.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> FileId {
        self.add_from(name, text, 1)
    }

    /// Adds a piece of a longer text whose first line has this number.
    pub fn add_from(
        &mut self,
        name: impl Into<String>,
        text: impl Into<Arc<str>>,
        first_line: usize,
    ) -> FileId {
        let source =
            Source { name: name.into(), text: text.into(), line_starts: OnceLock::new(), first_line };
        self.sources.push(source);
        FileId::from_index(self.sources.len() - 1)
    }

    pub fn name(&self, file: FileId) -> &str {
        &self.sources[file.index()].name
    }

    pub fn text(&self, file: FileId) -> &Arc<str> {
        &self.sources[file.index()].text
    }

    /// The text that a span covers.
    pub fn slice(&self, span: Span) -> &str {
        &self.sources[span.file.index()].text[span.start as usize..span.end as usize]
    }

    /// Line and column of a place, both from 1; columns count characters.
    pub fn line_column(&self, file: FileId, offset: u32) -> (usize, usize) {
        let source = &self.sources[file.index()];
        let line_starts = source.line_starts.get_or_init(|| {
            let ends = source.text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
            std::iter::once(0).chain(ends.map(|(i, _)| i as u32 + 1)).collect()
        });
        let line = line_starts.partition_point(|&start| start <= offset) - 1;
        let start = line_starts[line] as usize;
        let end = (offset as usize).min(source.text.len());
        let column = source.text.get(start..end).map_or(0, |s| s.chars().count());
        (line + source.first_line, column + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one() {
        let mut map = SourceMap::default();
        let file = map.add("a", "ab\ncd\n");
        assert_eq!(map.line_column(file, 0), (1, 1));
        assert_eq!(map.line_column(file, 4), (2, 2));
        assert_eq!(map.line_column(file, 6), (3, 1));
    }
}
