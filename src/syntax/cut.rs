//! Where a declaration or command ends: Maude's rules for the final period.
//!
//! Found by experiment with Maude 3.2:
//! - A statement (`eq`, `rl`, ...) has its bubbles separated by `=`, `=>`, `:` or `if`, all
//!   but the first of at least one token. The last one ends at a period outside parentheses that is followed
//!   by a word that can begin a declaration or end a module; a period elsewhere is part of a
//!   bubble. So `eq a . b = c .` and even `eq a . eq = b .` are whole statements.
//! - A command with a term ends at a period outside parentheses that is last in its line.
//! - Other declarations and commands end at the first period outside brackets; the name of an
//!   operator, before the colon, may contain one.
//! - A token that ends with a period where a period alone would end the statement is
//!   taken apart, with a warning.
//! - Only `(` and `)` count in bubbles; a `)` too many does not.
//!
//! Maude swallows the rest of the file after an unclosed parenthesis or a missing period.
//! Here the cut goes back to the first plausible end instead; the heuristics for a missing
//! period fire only where a correct text is very unlikely.

use rustc_hash::FxHashSet;

use super::build::fits;
use super::lexer::{Lexeme, Lexer};
use super::skeleton::Rule;
use super::tree::Token;
use super::words::{
    CommandWord, DECL_WORDS, DeclWord, command_word, decl_word, end_word_of, ends_statement, is_end_word,
};
use crate::base::{Name, Span, nearest};

/// How a declaration ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// At its period, the token `end`.
    Period,
    /// The last token has the period glued to it.
    Glued,
    /// Without a period: the token `end` belongs to something else, or the text is over.
    Missing,
    /// At the period `end`, but the bracket opened at this token is still open.
    Unclosed(usize),
}

/// The tokens before `end` are the declaration's, without its period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cut {
    pub end: usize,
    pub stop: Stop,
}

/// The tokens of a text, cut as they are needed.
pub(super) struct Stream<'t> {
    pub lexer: Lexer<'t>,
    lexemes: Vec<Lexeme>,
    /// Something was looked for beyond the end of the text.
    pub starved: bool,
    /// Parentheses that are known never to be closed.
    unmatched: FxHashSet<usize>,
    /// The words in names of operators declared so far: not to be taken for keywords.
    op_words: FxHashSet<Name>,
}

impl<'t> Stream<'t> {
    pub fn new(lexer: Lexer<'t>) -> Self {
        Stream {
            lexer,
            lexemes: Vec::new(),
            starved: false,
            unmatched: FxHashSet::default(),
            op_words: FxHashSet::default(),
        }
    }

    pub fn get(&mut self, at: usize) -> Option<Lexeme> {
        while self.lexemes.len() <= at {
            match self.lexer.next() {
                Some(lexeme) => self.lexemes.push(lexeme),
                None => {
                    self.starved = true;
                    return None;
                }
            }
        }
        Some(self.lexemes[at])
    }

    /// The token's text; empty after the end.
    pub fn word(&mut self, at: usize) -> &'static str {
        self.get(at).map_or("", |lexeme| lexeme.token.name.as_str())
    }

    /// A token known to be there.
    pub fn token(&self, at: usize) -> Token {
        self.lexemes[at].token
    }

    pub fn lexeme(&self, at: usize) -> Lexeme {
        self.lexemes[at]
    }

    pub fn tokens(&self, start: usize, end: usize) -> Vec<Token> {
        self.lexemes[start..end].iter().map(|lexeme| lexeme.token).collect()
    }

    /// Forgets the tokens from `at` on and goes on reading at a place in the text.
    pub fn restart(&mut self, at: usize, place: usize) {
        self.lexemes.truncate(at);
        self.unmatched.clear();
        let read = self.lexemes.last().map_or(0, |lexeme| lexeme.token.span.end);
        self.lexer.diagnostics.retain(|d| d.span.is_none_or(|span| span.start < read));
        self.lexer.reset(place);
    }

    /// Remembers the words of an operator's name.
    pub fn note_op(&mut self, name: Name) {
        for word in name.as_str().split(['_', '`']).filter(|word| !word.is_empty()) {
            self.op_words.insert(Name::new(word));
        }
    }

    fn is_op_word(&self, word: &str) -> bool {
        self.op_words.contains(&Name::new(word))
    }

    /// Takes the period off the token, which becomes two.
    pub fn unglue(&mut self, at: usize) {
        let lexeme = self.lexemes[at];
        let Token { name, span } = lexeme.token;
        let text = name.as_str();
        let middle = Span { start: span.end - 1, ..span };
        let head =
            Token { name: Name::new(&text[..text.len() - 1]), span: Span { end: middle.start, ..span } };
        self.lexemes[at] = Lexeme { token: head, last: false, ..lexeme };
        let period = Lexeme {
            token: Token { name: Name::new("."), span: middle },
            first: false,
            margin: false,
            last: lexeme.last,
        };
        self.lexemes.insert(at + 1, period);
        self.unmatched.clear();
    }

    /// Does a module or view begin here, for sure? (`mod` may be an operator.)
    pub fn module_begins(&mut self, at: usize) -> bool {
        let word = self.word(at);
        if end_word_of(word).is_none() || self.word(at + 1).is_empty() || self.word(at + 1).starts_with('\'')
        {
            return false;
        }
        let third = self.word(at + 2);
        match word {
            "view" => matches!(third, "from" | "{"),
            _ => matches!(third, "is" | "{"),
        }
    }

    /// The parenthesis that closes the one at `start`.
    pub fn closing(&mut self, start: usize) -> Option<usize> {
        if self.unmatched.contains(&start) {
            return None;
        }
        let mut opens: Vec<usize> = Vec::new();
        let mut at = start;
        while let Some(lexeme) = self.get(at) {
            match lexeme.token.name.as_str() {
                "(" => opens.push(at),
                ")" => {
                    opens.pop();
                }
                _ => {}
            }
            if opens.is_empty() {
                return Some(at);
            }
            at += 1;
        }
        self.unmatched.extend(opens);
        None
    }

    /// The end of a statement that begins with the keyword at `start`.
    pub fn cut_statement(&mut self, start: usize, separators: &[&str]) -> Cut {
        let mut opens: Vec<usize> = Vec::new();
        // The separators still to come, and where the present bubble begins.
        let mut separators = separators;
        let mut bubble = start + 1;
        // A term may contain a whole module at the metalevel, with its own keywords.
        let mut has_module = false;
        // The first period at a line end, in case nothing better comes.
        let mut fallback = None;
        let mut at = start + 1;
        while let Some(lexeme) = self.get(at) {
            let word = lexeme.token.name.as_str();
            match word {
                "(" if self.unmatched.contains(&at) => return self.cut_unclosed_statement(start),
                "(" => opens.push(at),
                ")" => {
                    opens.pop();
                }
                _ if !opens.is_empty() => {}
                _ if separators.first() == Some(&word) && (at > bubble || bubble == start + 1) => {
                    separators = &separators[1..];
                    bubble = at + 1;
                }
                "." if separators.is_empty() && at > bubble => {
                    let next = self.word(at + 1);
                    if next.is_empty() || ends_statement(next) || self.soft_end(at) {
                        return Cut { end: at, stop: Stop::Period };
                    }
                    if lexeme.last && fallback.is_none() {
                        fallback = Some(at);
                    }
                }
                // Maude reads on here; but then something is missing already.
                "." if lexeme.last && !self.is_op_word(".") && ends_statement(self.word(at + 1)) => {
                    return Cut { end: at, stop: Stop::Period };
                }
                _ if separators.is_empty() && is_glued(word) && ends_statement(self.word(at + 1)) => {
                    return Cut { end: at + 1, stop: Stop::Glued };
                }
                _ if end_word_of(word).is_some() && !(lexeme.margin && self.module_begins(at)) => {
                    has_module = true
                }
                _ if lexeme.first
                    && !has_module
                    && at > start + 1
                    && self.word(at - 1) != "."
                    && self.period_is_missing_before(start, at) =>
                {
                    return self.cut_before(at);
                }
                _ => {}
            }
            at += 1;
        }
        if !opens.is_empty() {
            self.unmatched.extend(opens);
            return self.cut_unclosed_statement(start);
        }
        match fallback {
            Some(end) => Cut { end, stop: Stop::Period },
            None => Cut { end: at, stop: Stop::Missing },
        }
    }

    /// The same without regard to parentheses, since one is never closed.
    fn cut_unclosed_statement(&mut self, start: usize) -> Cut {
        let mut at = start + 1;
        while let Some(lexeme) = self.get(at) {
            if at > start + 1 && lexeme.token.name.as_str() == "." {
                let next = self.word(at + 1);
                if next.is_empty() || ends_statement(next) || self.soft_end(at) {
                    break;
                }
            } else if lexeme.first && at > start + 1 && is_end_word(lexeme.token.name.as_str()) {
                break;
            }
            at += 1;
        }
        Cut { end: at, stop: Stop::Unclosed(self.open_bracket(start, at)) }
    }

    /// The bracket between the tokens that is not closed there, or closed by one that does
    /// not match.
    fn open_bracket(&self, start: usize, end: usize) -> usize {
        let mut opens: Vec<(usize, &str)> = Vec::new();
        for at in start..end {
            let word = self.token(at).name.as_str();
            match word {
                "(" | "[" | "{" => opens.push((at, word)),
                ")" | "]" | "}" => {
                    if let Some((open, bracket)) = opens.pop()
                        && !matches!((bracket, word), ("(", ")") | ("[", "]") | ("{", "}"))
                    {
                        return open;
                    }
                }
                _ => {}
            }
        }
        opens.first().map_or(start, |&(open, _)| open)
    }

    /// The end before the token at `at`, which belongs to something else.
    fn cut_before(&self, at: usize) -> Cut {
        let last = self.token(at - 1).name.as_str();
        let stop = if is_glued(last) { Stop::Glued } else { Stop::Missing };
        Cut { end: at, stop }
    }

    /// Does the period at `at`, last in its line, end the statement although no keyword
    /// follows? Yes, if the next line begins something else or with a misspelt keyword, and
    /// no operator with a period in its name is known.
    fn soft_end(&mut self, at: usize) -> bool {
        if !self.lexeme(at).last || self.is_op_word(".") {
            return false;
        }
        let Some(next) = self.get(at + 1) else { return true };
        let word = next.token.name.as_str();
        if !next.first || self.is_op_word(word) {
            return false;
        }
        if self.module_begins(at + 1) || next.margin && command_word(word).is_some() {
            return true;
        }
        nearest(word, DECL_WORDS.iter().copied()).is_some_and(|near| self.declaration_fits(at + 1, near))
    }

    /// Does the token, first in its line, begin something else, so that the statement that
    /// began at `start` must have lost its period?
    fn period_is_missing_before(&mut self, start: usize, at: usize) -> bool {
        let lexeme = self.lexeme(at);
        let word = lexeme.token.name.as_str();
        if self.is_op_word(word) {
            return false;
        }
        if is_end_word(word) {
            return lexeme.last || self.word(at + 1) != ".";
        }
        if lexeme.margin && self.module_begins(at) {
            return true;
        }
        decl_word(word).is_some()
            && self.separator(start, at).is_some_and(|place| place + 1 < at)
            && self.declaration_fits(at, word)
    }

    /// Would the tokens at `at` be a declaration if the first one were this keyword?
    fn declaration_fits(&mut self, at: usize, keyword: &str) -> bool {
        match decl_word(keyword) {
            Some(DeclWord::Bubble(_)) => {
                let mut end = at + 1;
                // Far enough for any statement that people write.
                while end < at + 400 && !matches!(self.word(end), "" | ".") {
                    end += 1;
                }
                self.separator(at, end).is_some()
            }
            Some(_) => {
                let cut = self.cut_plain(at, true);
                if cut.stop != Stop::Period {
                    return false;
                }
                let mut tokens = self.tokens(at, cut.end + 1);
                tokens[0].name = Name::new(keyword);
                fits(Rule::declaration, tokens)
            }
            None => false,
        }
    }

    /// The first `=`, `=>` or `:` between two tokens.
    fn separator(&mut self, start: usize, end: usize) -> Option<usize> {
        (start + 2..end).find(|&at| matches!(self.word(at), "=" | "=>" | ":"))
    }

    /// The end of a declaration that is no bubble. If `named`, a name stands before the first
    /// colon, and may contain a period.
    pub fn cut_plain(&mut self, start: usize, named: bool) -> Cut {
        let mut depth = 0usize;
        let mut after_name = !named;
        let mut at = start + 1;
        while let Some(lexeme) = self.get(at) {
            let word = lexeme.token.name.as_str();
            match word {
                // In a name only parentheses have to match.
                "(" => depth += 1,
                ")" => depth = depth.saturating_sub(1),
                "[" | "{" if after_name => depth += 1,
                "]" | "}" if after_name => depth = depth.saturating_sub(1),
                ":" if depth == 0 && at > start + 1 => after_name = true,
                "." if depth == 0 && (after_name || at > start + 1 && ends_statement(self.word(at + 1))) => {
                    return Cut { end: at, stop: Stop::Period };
                }
                // No declaration contains a period and then a new line with a keyword.
                "." if depth > 0 && ends_statement(self.word(at + 1)) && self.lexeme(at + 1).first => {
                    return Cut { end: at, stop: Stop::Unclosed(self.open_bracket(start, at)) };
                }
                _ if depth == 0 && at > start + 1 && is_glued(word) && ends_statement(self.word(at + 1)) => {
                    return Cut { end: at + 1, stop: Stop::Glued };
                }
                // In the middle of a line it may well be the name of a variable.
                _ if at > start + 1
                    && is_end_word(word)
                    && (lexeme.last || lexeme.first && !matches!(self.word(at + 1), "." | ":")) =>
                {
                    return self.cut_before(at);
                }
                _ if depth == 0 && at > start + 1 && lexeme.first && decl_word(word).is_some() => {
                    return self.cut_before(at);
                }
                _ if at > start + 1 && lexeme.margin && self.module_begins(at) => return self.cut_before(at),
                _ => {}
            }
            at += 1;
        }
        Cut { end: at, stop: Stop::Missing }
    }

    /// The end of an operator mapping in a view: a period after `to`; if a term follows, only
    /// before a word that begins another mapping or ends the view.
    pub fn cut_view_op(&mut self, start: usize) -> Cut {
        let mut to = None;
        let mut depth = 0usize;
        let mut at = start + 1;
        while let Some(lexeme) = self.get(at) {
            let word = lexeme.token.name.as_str();
            match word {
                "(" => depth += 1,
                ")" => depth = depth.saturating_sub(1),
                "to" if to.is_none() && depth == 0 && at > start + 1 => to = Some(at),
                "." => {
                    let next = self.word(at + 1);
                    let begins = next.is_empty() || ends_statement(next) || next == "label";
                    let plain = to.is_some_and(|to| at > to + 1 && self.word(to + 1) != "term");
                    if at > start + 1 && depth == 0 && (begins || plain) {
                        return Cut { end: at, stop: Stop::Period };
                    }
                    if begins && !next.is_empty() && self.lexeme(at + 1).first {
                        return Cut { end: at, stop: Stop::Unclosed(self.open_bracket(start, at)) };
                    }
                }
                _ if depth == 0 && to.is_some() && is_glued(word) && ends_statement(self.word(at + 1)) => {
                    return Cut { end: at + 1, stop: Stop::Glued };
                }
                _ if at > start + 1 && is_end_word(word) => return self.cut_before(at),
                _ if lexeme.first
                    && at > start + 1
                    && depth == 0
                    && matches!(word, "op" | "sort" | "var" | "vars") =>
                {
                    return Cut { end: at, stop: Stop::Missing };
                }
                _ => {}
            }
            at += 1;
        }
        Cut { end: at, stop: Stop::Missing }
    }

    /// The end of a command.
    pub fn cut_command(&mut self, start: usize, kind: CommandWord) -> Cut {
        let mut opens: Vec<usize> = Vec::new();
        let mut at = start + 1;
        while let Some(lexeme) = self.get(at) {
            let word = lexeme.token.name.as_str();
            let ends_here = lexeme.last || kind == CommandWord::Plain;
            match word {
                "(" if self.unmatched.contains(&at) => return self.cut_unclosed_command(start),
                "(" => opens.push(at),
                ")" => {
                    opens.pop();
                }
                _ if !opens.is_empty() => {}
                // For Maude a command with a term is never empty; here only if a period may be a term.
                "." if ends_here
                    && (at > start + 1 || kind == CommandWord::Plain || !self.is_op_word(".")) =>
                {
                    return Cut { end: at, stop: Stop::Period };
                }
                _ if is_glued(word) && lexeme.last => {
                    return Cut { end: at + 1, stop: Stop::Glued };
                }
                _ if lexeme.margin && self.command_is_cut_off(start, at) => {
                    return Cut { end: at, stop: Stop::Missing };
                }
                _ => {}
            }
            at += 1;
        }
        if opens.is_empty() {
            return Cut { end: at, stop: Stop::Missing };
        }
        self.unmatched.extend(opens);
        self.cut_unclosed_command(start)
    }

    fn cut_unclosed_command(&mut self, start: usize) -> Cut {
        let mut at = start + 1;
        while let Some(lexeme) = self.get(at) {
            if lexeme.last && lexeme.token.name.as_str() == "." {
                break;
            }
            at += 1;
        }
        Cut { end: at, stop: Stop::Unclosed(self.open_bracket(start, at)) }
    }

    /// Does a new command or module begin at this token in the first column, so that the
    /// command at `start` must have lost its period?
    fn command_is_cut_off(&mut self, start: usize, at: usize) -> bool {
        if self.module_begins(at) {
            return true;
        }
        let word = self.word(at);
        let before = self.word(at - 1);
        let complete =
            at > start + 1 && before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, ')' | ']' | '}'));
        command_word(word).is_some() && complete && self.lexeme(start).margin && !self.is_op_word(word)
    }
}

/// Does the token end with a period that may be meant to stand alone?
fn is_glued(word: &str) -> bool {
    word.len() > 1 && word.ends_with('.')
}
