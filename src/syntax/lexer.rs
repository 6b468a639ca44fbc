//! Text to tokens, as Maude's lexer cuts it.
//!
//! A token is one of the characters `( ) [ ] { } ,`, or the longest run of other characters
//! between white space, in which a backquote joins the next character to the token (at the
//! token's beginning only a special one) and a closed string belongs to it as a whole, blanks included (`f"a b"x` is one token).
//! Numbers, floats and quoted identifiers need no rules of their own.
//! `***` and `---` begin a comment only where a token would begin. If the next character that
//! is no blank is `(`, the comment runs to the matching `)` over several lines.
//!
//! Where a statement ends is not decided here; a [`Lexeme`] only says how its token lies in
//! the line, since Maude's rules for the final period look at that.

use std::borrow::Cow;

use super::tree::Token;
use crate::base::{Diagnostic, FileId, Name, Span};

/// Gives each token's name the number of its first occurrence in the run.
/// Variables of one sort are ordered by it.
#[derive(Clone, Debug, Default)]
pub struct TokenOrder {
    /// By name; 0 stands for "not seen", so that numbers begin with 1.
    numbers: Vec<u32>,
    count: u32,
}

impl TokenOrder {
    /// Numbers the name, unless it has a number already.
    pub fn note(&mut self, name: Name) {
        let index = name.index();
        if index >= self.numbers.len() {
            self.numbers.resize(index + 1, 0);
        }
        if self.numbers[index] == 0 {
            self.count += 1;
            self.numbers[index] = self.count;
        }
    }

    /// Numbers the tokens of one item. Maude takes variables like `X:Nat` apart when it has read
    /// all of it, so their parts come last.
    pub fn note_all(&mut self, names: impl Iterator<Item = Name> + Clone) {
        for name in names.clone() {
            self.note(name);
        }
        for name in names {
            let text = name.as_str();
            if let Some(colon) = text.bytes().rposition(|byte| byte == b':') {
                let (name, sort) = (&text[..colon], &text[colon + 1..]);
                if !name.is_empty() && !sort.is_empty() && !sort.contains('_') {
                    self.note(Name::new(name));
                    self.note(Name::new(sort));
                }
            }
        }
    }

    /// Numbers the names of a list, one in each line.
    pub fn note_lines(&mut self, names: &str) {
        for name in names.lines() {
            self.note(Name::new(name));
        }
    }

    /// How many names have a number.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// The names with numbers above this one, in order.
    pub fn names_from(&self, count: usize) -> Vec<&'static str> {
        let mut names: Vec<(u32, u32)> = (0..).zip(&self.numbers).map(|(i, &n)| (n, i)).collect();
        names.retain(|(number, _)| *number as usize > count);
        names.sort_unstable();
        names.into_iter().map(|(_, index)| Name::from_index(index).as_str()).collect()
    }

    /// The name's number; names never noted come last.
    pub fn of(&self, name: Name) -> u32 {
        match self.numbers.get(name.index()) {
            Some(&number) if number > 0 => number,
            _ => u32::MAX,
        }
    }
}

/// A token and how it lies in its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lexeme {
    pub token: Token,
    /// Only white space and comments before it in its line.
    pub first: bool,
    /// In the line's first column.
    pub margin: bool,
    /// Only blanks, a comment or the end of the text after it in its line.
    pub last: bool,
}

/// Is this one of the characters that are tokens of their own?
pub(super) fn is_special(byte: u8) -> bool {
    matches!(byte, b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',')
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// Can this stand inside an identifier without a backquote? Bytes of non-ASCII characters can.
fn is_normal(byte: u8) -> bool {
    !byte.is_ascii_control() && byte != b' ' && byte != b'"' && byte != b'`' && !is_special(byte)
}

/// Cuts one text, token by token.
pub(super) struct Lexer<'t> {
    text: &'t str,
    file: FileId,
    at: usize,
    /// Only blanks and comments since the last line end.
    fresh: bool,
    /// The text ended within a comment.
    pub open_comment: bool,
    pub diagnostics: Vec<Diagnostic>,
}

impl<'t> Lexer<'t> {
    pub fn new(text: &'t str, file: FileId) -> Self {
        // Spans count in 32 bits; a longer text is a mistake of the caller, and only its head is read.
        let mut end = text.len().min(u32::MAX as usize);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Lexer { text: &text[..end], file, at: 0, fresh: true, open_comment: false, diagnostics: Vec::new() }
    }

    pub fn text(&self) -> &'t str {
        self.text
    }

    pub fn span(&self, start: usize, end: usize) -> Span {
        Span { file: self.file, start: start as u32, end: end as u32 }
    }

    /// Goes on at another place, which has to be a character's beginning.
    pub fn reset(&mut self, at: usize) {
        self.at = at;
        self.fresh = true;
        self.open_comment = false;
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// The next token.
    pub fn next(&mut self) -> Option<Lexeme> {
        loop {
            self.skip_blanks();
            let start = self.at;
            let byte = self.byte(start)?;
            let end = if is_special(byte) { start + 1 } else { self.identifier_end(start) };
            if end == start {
                self.skip_character();
                continue;
            }
            let first = self.fresh;
            let margin = start == 0 || self.byte(start - 1) == Some(b'\n');
            self.at = end;
            self.fresh = false;
            let token = Token { name: Name::new(&self.spelling(start, end)), span: self.span(start, end) };
            return Some(Lexeme { token, first, margin, last: self.line_ends_here() });
        }
    }

    /// The token's text; a string's line continuations are taken out and its tabs are blanks.
    fn spelling(&mut self, start: usize, end: usize) -> Cow<'t, str> {
        let text = &self.text[start..end];
        if !text.contains(['\n', '\t']) {
            return Cow::Borrowed(text);
        }
        if text.contains('\t') {
            let warning = Diagnostic::warning(
                "tab-in-string",
                "tab character in a string, read as a blank",
                self.span(start, end),
            )
            .hint("write \\t for a tab");
            self.diagnostics.push(warning);
        }
        Cow::Owned(text.replace("\\\r\n", "").replace("\\\n", "").replace('\t', " "))
    }

    fn skip_blanks(&mut self) {
        while let Some(byte) = self.byte(self.at) {
            if byte == b'\n' {
                self.fresh = true;
                self.at += 1;
            } else if is_blank(byte) {
                self.at += 1;
            } else if self.comment_begins(self.at) {
                self.skip_comment();
            } else {
                break;
            }
        }
    }

    fn comment_begins(&self, at: usize) -> bool {
        matches!(self.text.as_bytes().get(at..at + 3), Some(b"***" | b"---"))
    }

    fn skip_comment(&mut self) {
        let start = self.at;
        let rest = &self.text.as_bytes()[start + 3..];
        let blanks = rest.iter().take_while(|&&b| b == b' ' || b == b'\t').count();
        if rest.get(blanks) != Some(&b'(') {
            let length = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
            self.at = start + 3 + length;
            return;
        }
        let mut depth = 0usize;
        let mut escaped = false;
        for (i, &byte) in rest.iter().enumerate().skip(blanks) {
            match byte {
                b'(' if !escaped => depth += 1,
                b')' if !escaped => depth -= 1,
                _ => {}
            }
            escaped = byte == b'`' && !escaped;
            if depth == 0 {
                self.at = start + 3 + i + 1;
                return;
            }
        }
        self.at = self.text.len();
        self.open_comment = true;
        let error = Diagnostic::error(
            "unclosed-comment",
            "this comment is never closed",
            self.span(start, start + 3 + blanks + 1),
        )
        .label("begins here and runs to the end of the text")
        .hint("a comment that begins with `***(` or `---(`, even with blanks before the `(`, ends at the matching `)`");
        self.diagnostics.push(error);
    }

    /// Where the identifier that begins here ends; here, if none begins.
    fn identifier_end(&self, start: usize) -> usize {
        let mut at = start;
        while let Some(byte) = self.byte(at) {
            let next = match byte {
                b'"' => self.string_end(at),
                b'`' => match self.byte(at + 1) {
                    Some(b'"') => self.string_end(at + 1),
                    Some(b) if is_special(b) => Some(at + 2),
                    // Not next to a place for an argument.
                    Some(b) if is_normal(b) && at > start && b != b'_' && self.byte(at - 1) != Some(b'_') => {
                        Some(at + 2)
                    }
                    _ => None,
                },
                _ if is_normal(byte) => Some(at + 1),
                _ => None,
            };
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        // A backquote may have joined only the first byte of a longer character.
        while !self.text.is_char_boundary(at) {
            at += 1;
        }
        at
    }

    /// Where the string that begins here ends, if it is closed in its line.
    /// A backslash before the line end continues it on the next line.
    fn string_end(&self, start: usize) -> Option<usize> {
        let mut at = start + 1;
        loop {
            match self.byte(at)? {
                b'"' => return Some(at + 1),
                b'\\' => match (self.byte(at + 1)?, self.byte(at + 2)) {
                    (b'\r', Some(b'\n')) => at += 3,
                    (b'\n', _) => at += 2,
                    (byte, _) if byte.is_ascii_control() => return None,
                    _ => at += 2,
                },
                b'\t' => at += 1,
                byte if byte.is_ascii_control() => return None,
                _ => at += 1,
            }
        }
    }

    /// Skips a character that no token can begin with, or all control characters in a row.
    fn skip_character(&mut self) {
        let start = self.at;
        let character = self.text[start..].chars().next().expect("the caller saw a byte here");
        self.at += character.len_utf8();
        if character.is_ascii_control() {
            let is_skipped = |&byte: &u8| byte.is_ascii_control() && !is_blank(byte);
            self.at += self.text.as_bytes()[self.at..].iter().take_while(|byte| is_skipped(byte)).count();
        }
        let span = self.span(start, self.at);
        let warning = match character {
            '"' => Diagnostic::warning(
                "unclosed-string",
                "this string is not closed in its line; quote skipped",
                span,
            )
            .hint("close it with `\"`, or end the line with `\\` to go on in the next line"),
            '`' => Diagnostic::warning("stray-backquote", "stray backquote skipped", span)
                .hint("a backquote stands before the character that it joins to a name, as in `[_`]"),
            _ => {
                let what = if self.at == start + 1 { "control character" } else { "control characters from" };
                let message = format!("{what} {:#04x} skipped", character as u32);
                Diagnostic::warning("control-character", message, span)
            }
        };
        self.diagnostics.push(warning);
    }

    /// Nothing but blanks or a comment follows in this line.
    fn line_ends_here(&self) -> bool {
        let mut at = self.at;
        while let Some(byte) = self.byte(at) {
            if byte == b'\n' {
                return true;
            }
            if !is_blank(byte) {
                return self.comment_begins(at);
            }
            at += 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&'static str> {
        let mut lexer = Lexer::new(text, FileId(0));
        std::iter::from_fn(|| lexer.next()).map(|lexeme| lexeme.token.name.as_str()).collect()
    }

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(words(text), expected, "in {text:?}");
    }

    fn check_codes(text: &str, expected: &[&str]) {
        let mut lexer = Lexer::new(text, FileId(0));
        while lexer.next().is_some() {}
        let codes: Vec<_> = lexer.diagnostics.iter().map(|d| d.code).collect();
        assert_eq!(codes, expected, "in {text:?}");
    }

    #[test]
    fn special_characters_and_blanks_split() {
        check("f(a,b)[c]{d} e", &["f", "(", "a", ",", "b", ")", "[", "c", "]", "{", "d", "}", "e"]);
        check("a\tb\r\nc\x0cd", &["a", "b", "c", "d"]);
        check("X:Nat. 0.5 'q -> _+_ .", &["X:Nat.", "0.5", "'q", "->", "_+_", "."]);
        check("héé ∀x", &["héé", "∀x"]);
        check("", &[]);
    }

    #[test]
    fn backquotes_join() {
        check("`[_`] a`(b`,c x`y", &["`[_`]", "a`(b`,c", "x`y"]);
        check("a``b c` d", &["a", "b", "c", "d"]);
        check("x`é a`\"b c\"d `y", &["x`é", "a`\"b c\"d", "y"]);
        check_codes("a``b", &["stray-backquote", "stray-backquote"]);
    }

    #[test]
    fn strings_are_one_token_even_inside_identifiers() {
        check(r#""a b" "c\"d" x"y z"w ("(")"#, &["\"a b\"", r#""c\"d""#, "x\"y z\"w", "(", "\"(\"", ")"]);
        check("\"ab\\\ncd\"", &["\"abcd\""]);
        check("\"ab\\\r\ncd\"", &["\"abcd\""]);
        check("\"ab\ncd", &["ab", "cd"]);
        check("\"a\tb\"", &["\"a b\""]);
        check_codes("\"ab\ncd\"\n\"x\ty\"", &["unclosed-string", "unclosed-string", "tab-in-string"]);
    }

    #[test]
    fn comments() {
        check("a *** b (\n c --- d\n e", &["a", "c", "e"]);
        check("a ***( b\n ( c ) `) d ) e", &["a", "e"]);
        check("a ***  ( b\n ) e", &["a", "e"]);
        check("a ****( b\n e", &["a", "e"]);
        check("a***b ***c\n.***x (***y\n)", &["a***b", ".***x", "(", ")"]);
        check_codes("a ***( b", &["unclosed-comment"]);
    }

    #[test]
    fn control_characters_are_skipped() {
        check("x\u{1}y", &["x", "y"]);
        check_codes("x\u{1}y\u{7f}\u{1}", &["control-character", "control-character"]);
    }

    #[test]
    fn places_in_the_line() {
        let mut lexer = Lexer::new("a b . *** c\n d", FileId(0));
        let flags: Vec<_> = std::iter::from_fn(|| lexer.next())
            .map(|l| (l.first, l.margin, l.last, l.token.span.start))
            .collect();
        assert_eq!(
            flags,
            [
                (true, true, false, 0),
                (false, false, false, 2),
                (false, false, true, 4),
                (true, false, true, 13)
            ]
        );
    }

    #[test]
    fn order_is_first_occurrence() {
        let mut order = TokenOrder::default();
        let (a, b, c) = (Name::new("order-a"), Name::new("order-b"), Name::new("order-c"));
        for name in [b, a, b] {
            order.note(name);
        }
        assert!(order.of(b) < order.of(a) && order.of(a) < order.of(c));
    }
}
