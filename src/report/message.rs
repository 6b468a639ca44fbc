//! Diagnostics as text: the place, the line with the place marked, notes, and a hint.
//!
//! The one user of `annotate-snippets`.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::base::{Diagnostic, Severity, SourceMap, Span};

/// How many lines of a long span are shown.
const LINES_MAX: usize = 6;

/// A message for people, with a final newline.
pub fn render_diagnostic(diagnostic: &Diagnostic, sources: &SourceMap, color: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Advisory => Level::INFO.with_name("advisory"),
    };
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code);
    let mut group = Group::with_title(title);
    if let Some(span) = diagnostic.span {
        group = group.element(snippet(sources, span, &diagnostic.label, AnnotationKind::Primary));
    }
    let mut groups = Vec::new();
    for (span, note) in &diagnostic.notes {
        match span {
            Some(span) => {
                let title = Level::NOTE.secondary_title(note.as_str());
                let excerpt = snippet(sources, *span, "", AnnotationKind::Primary);
                groups.push(Group::with_title(title).element(excerpt));
            }
            None => group = group.element(Level::NOTE.message(note.as_str())),
        }
    }
    if let Some(hint) = &diagnostic.hint {
        let hint = Level::HELP.message(hint.as_str());
        match groups.pop() {
            Some(last) => groups.push(last.element(hint)),
            None => group = group.element(hint),
        }
    }
    groups.insert(0, group);
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&groups) + "\n"
}

/// The lines of a span. Only they are handed on, so that the cost does not grow with the file.
fn snippet<'a>(
    sources: &'a SourceMap,
    span: Span,
    label: &'a str,
    kind: AnnotationKind,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let text: &str = sources.text(span.file);
    let (start, end) = clamp(text, span);
    let first = text[..start].rfind('\n').map_or(0, |i| i + 1);
    let mut last = text[end..].find('\n').map_or(text.len(), |i| end + i);
    // Lines may end as on Windows.
    last -= usize::from(last > end && text[..last].ends_with('\r'));
    let cut = text[first..last].match_indices('\n').nth(LINES_MAX - 1).map(|(i, _)| first + i);
    let mut end = end;
    if let Some(cut) = cut {
        last = cut;
        end = end.min(cut);
    }
    let (line, _) = sources.line_column(span.file, start as u32);
    let mut annotation = kind.span(start - first..end.max(start) - first);
    if !label.is_empty() {
        annotation = annotation.label(label);
    }
    Snippet::source(&text[first..last])
        .line_start(line)
        .path(sources.name(span.file))
        .fold(false)
        .annotation(annotation)
}

/// A span's ends, moved to lie in the text and between characters.
fn clamp(text: &str, span: Span) -> (usize, usize) {
    let floor = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = floor(span.start as usize);
    (start, floor(span.end as usize).max(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_place_label_and_hint() {
        let mut sources = SourceMap::default();
        let file = sources.add("a.maude", "fmod A is\n  sort Natt .\nendfm\n");
        let span = Span { file, start: 17, end: 21 };
        let text = render_diagnostic(
            &Diagnostic::error("unknown-sort", "there is no sort Natt", span)
                .label("here")
                .hint("did you mean Nat?"),
            &sources,
            false,
        );
        let expected = "\
error[unknown-sort]: there is no sort Natt
 --> a.maude:2:8
  |
2 |   sort Natt .
  |        ^^^^ here
  |
  = help: did you mean Nat?
";
        assert_eq!(text, expected);
    }

    #[test]
    fn places_outside_the_text_do_no_harm() {
        let mut sources = SourceMap::default();
        let file = sources.add("a", "ü");
        for (start, end) in [(0, 1), (1, 1), (1, 9), (9, 9), (2, 0)] {
            let span = Span { file, start, end };
            render_diagnostic(&Diagnostic::error("x", "y", span).note(Some(span), "z"), &sources, false);
        }
    }
}
