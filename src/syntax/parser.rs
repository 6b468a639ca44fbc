//! One item after the other: modules, views and commands, with recovery from mistakes.
//!
//! `cut` finds where each declaration ends, `build` reads it with the pest grammar. A mistake
//! therefore costs no more than its own declaration.

use super::build::build;
use super::cut::{Cut, Stop, Stream};
use super::lexer::{Lexer, TokenOrder};
use super::quick;
use super::skeleton::Rule;
use super::tree::*;
use super::words::{
    CommandWord, DECL_WORDS, DeclWord, LayeredWord, TOP_WORDS, VIEW_WORDS, command_word, decl_word,
    end_word_of, ends_statement, is_end_word, is_unsupported_command, is_unsupported_decl, layered_word,
};
use crate::base::{Diagnostic, FileId, Name, Severity, Span, nearest};

/// Reads the items of one text, each when it is asked for, so that whoever executes them can
/// stop at `quit` or `eof` and the rest is never looked at.
///
/// ```
/// use rwl::base::FileId;
/// use rwl::syntax::{Parser, TokenOrder, tree::Item};
///
/// let mut order = TokenOrder::default();
/// let mut parser = Parser::new("fmod A is sort S . endfm\nred in A : a .", FileId(0));
/// assert!(matches!(parser.next_item(&mut order).unwrap().item, Some(Item::Module(_))));
/// assert!(matches!(parser.next_item(&mut order).unwrap().item, Some(Item::Command(_))));
/// assert!(parser.next_item(&mut order).is_none());
/// ```
pub struct Parser<'t> {
    stream: Stream<'t>,
    /// The next token to read.
    at: usize,
    /// Where the text read so far ends.
    offset: usize,
    diagnostics: Vec<Diagnostic>,
}

/// What came of one item: the item, unless a mistake spoilt it, and what there is to say.
#[derive(Debug)]
pub struct Parsed {
    pub item: Option<Item>,
    pub diagnostics: Vec<Diagnostic>,
}

impl<'t> Parser<'t> {
    pub fn new(text: &'t str, file: FileId) -> Self {
        Parser { stream: Stream::new(Lexer::new(text, file)), at: 0, offset: 0, diagnostics: Vec::new() }
    }

    /// Begins at a place in the text.
    pub fn starting_at(text: &'t str, file: FileId, place: usize) -> Self {
        let mut parser = Parser::new(text, file);
        parser.stream.lexer.reset(place);
        parser
    }

    /// Where the item read last ends in the text.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Did the last item want more text than there is?
    pub(super) fn starved(&self) -> bool {
        self.stream.starved
    }

    /// Did the text end within a comment?
    pub(super) fn in_comment(&self) -> bool {
        self.stream.lexer.open_comment
    }

    /// The next item, or `None` when nothing but comments is left.
    /// Its tokens are numbered in the order of the text.
    pub fn next_item(&mut self, order: &mut TokenOrder) -> Option<Parsed> {
        let start = self.at;
        if self.stream.get(start).is_none() {
            self.diagnostics.append(&mut self.stream.lexer.diagnostics);
            if self.diagnostics.is_empty() {
                return None;
            }
            self.offset = self.stream.lexer.text().len();
            self.stream.starved = false;
            return Some(Parsed { item: None, diagnostics: std::mem::take(&mut self.diagnostics) });
        }
        self.stream.starved = false;
        let item = self.item();
        debug_assert!(self.at > start, "an item has at least one token");
        order.note_all((start..self.at).map(|at| self.stream.token(at).name));
        self.offset = self.offset.max(self.stream.token(self.at - 1).span.end as usize);
        // The lexer is ahead by a few tokens; what it says about them can wait.
        let lexer = &mut self.stream.lexer.diagnostics;
        let offset = self.offset;
        let (now, later) =
            lexer.drain(..).partition(|d| d.span.is_none_or(|span| (span.start as usize) < offset));
        *lexer = later;
        let mut diagnostics: Vec<Diagnostic> = now;
        diagnostics.append(&mut self.diagnostics);
        diagnostics.sort_by_key(|d| d.span.map_or(0, |span| span.start));
        Some(Parsed { item, diagnostics })
    }

    fn say(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    fn span(&self, start: usize, end: usize) -> Span {
        self.stream.token(start).span.to(self.stream.token(end.max(start + 1) - 1).span)
    }

    fn item(&mut self) -> Option<Item> {
        let start = self.at;
        let word = self.stream.word(start);
        let span = self.stream.token(start).span;
        if let Some(kind) = module_kind(word) {
            return Some(self.module(kind));
        }
        match word {
            "view" => return self.view(),
            "(" => return self.loop_input(),
            _ => {}
        }
        if end_word_of(word).is_some() {
            self.skip_unsupported_module();
            return None;
        }
        if let Some(kind) = layered_word(word).filter(|_| !self.is_maude_check(start)) {
            return self.layered_command(kind);
        }
        if let Some(kind) = command_word(word) {
            return self.command(kind).map(Item::Command);
        }
        self.at += 1;
        if word == "." {
            self.say(Diagnostic::warning("stray-period", "this period ends nothing", span));
        } else if is_end_word(word) {
            self.say(
                Diagnostic::error("stray-end", format!("`{word}` ends nothing here"), span)
                    .label("no module or view is open")
                    .hint("the module may have ended earlier, at another end keyword or at a mistake"),
            );
        } else if decl_word(word).is_some() {
            self.skip_unknown_command(start);
            self.say(
                Diagnostic::error("outside-module", format!("`{word}` can only stand inside a module"), span)
                    .hint("the module may have ended earlier, at its end keyword or at a mistake"),
            );
        } else {
            let mut error =
                Diagnostic::error("unknown-command", format!("`{word}` begins no command or module"), span)
                    .label("skipped to the end of this command");
            let near = nearest(word, TOP_WORDS.iter().copied());
            if let Some(near) = near {
                error = error.hint(format!("did you mean `{near}`?"));
            }
            // A module with a misspelt keyword is read all the same.
            if let Some(kind) = near.and_then(module_kind).filter(|_| self.header_follows(start)) {
                error.label = "read as a module".into();
                self.say(error);
                self.at = start;
                return Some(self.module(kind));
            }
            self.say(error);
            self.skip_unknown_command(start);
        }
        None
    }

    /// Does `NAME is` or `NAME{...} is` follow in this line?
    fn header_follows(&mut self, start: usize) -> bool {
        let starved = self.stream.starved;
        let mut at = start + 1;
        while self.stream.get(at).is_some_and(|lexeme| !lexeme.first && lexeme.token.name.as_str() != "is") {
            at += 1;
        }
        let follows = at > start + 1 && self.stream.get(at).is_some_and(|lexeme| !lexeme.first);
        self.stream.starved = starved;
        follows
    }

    /// Skips to a period at the end of a line, or to a line that begins with a known word.
    fn skip_unknown_command(&mut self, start: usize) {
        // What is there is a mistake already: no need to wait for more text.
        let starved = self.stream.starved;
        self.at = start + 1;
        let mut last = self.stream.lexeme(start);
        while let Some(lexeme) = self.stream.get(self.at) {
            let word = lexeme.token.name.as_str();
            let ended = last.last && last.token.name.as_str().ends_with('.');
            let begins = command_word(word).is_some() || end_word_of(word).is_some();
            if ended || lexeme.first && (begins || self.layered_begins(self.at)) {
                break;
            }
            last = lexeme;
            self.at += 1;
        }
        self.stream.starved = starved;
    }

    // ---- modules

    fn module(&mut self, kind: ModuleKind) -> Item {
        let start = self.at;
        let keyword = match kind {
            ModuleKind::Fmod => "fmod",
            ModuleKind::Mod => "mod",
            ModuleKind::Fth => "fth",
            ModuleKind::Th => "th",
        };
        let end_word = end_word_of(keyword).expect("a module keyword");
        let mut tokens = self.header();
        tokens[0].name = Name::new(keyword);
        // What can be saved of a broken header.
        let name = tokens[1.min(tokens.len() - 1)];
        let header = build(Rule::module_header, tokens, &mut self.diagnostics, |b, p| b.module_header(p));
        let (name, params) = header.unwrap_or((name, Vec::new()));
        let mut decls = Vec::new();
        while !self.module_is_over(start, name, end_word) {
            self.declaration(&mut decls);
        }
        Item::Module(ModuleDecl { kind, name, params, decls, span: self.span(start, self.at) })
    }

    /// The tokens from a module's or view's keyword to its `is`, which is supplied if missing.
    fn header(&mut self) -> Vec<Token> {
        let start = self.at;
        self.at += 1;
        let mut depth = 0usize;
        while let Some(lexeme) = self.stream.get(self.at) {
            let word = lexeme.token.name.as_str();
            match word {
                "(" | "{" => depth += 1,
                ")" | "}" => depth = depth.saturating_sub(1),
                "is" if self.at > start + 1 => {
                    self.at += 1;
                    return self.stream.tokens(start, self.at);
                }
                "." => break,
                _ if is_end_word(word) => break,
                _ if depth == 0 && self.at > start + 1 && ends_statement(word) => break,
                _ if self.at > start + 1 && lexeme.first && (ends_statement(word) || word == "label") => {
                    break;
                }
                _ => {}
            }
            self.at += 1;
        }
        let mut tokens = self.stream.tokens(start, self.at);
        let place = tokens[tokens.len() - 1].span.after();
        if tokens.len() > 1 {
            self.say(
                Diagnostic::error(
                    "missing-is",
                    format!("missing `is` after this `{}`", tokens[0].name),
                    place,
                )
                .label("expected `is`")
                .hint(format!("write `{} {} is`", tokens[0].name, tokens[1].name)),
            );
            tokens.push(Token { name: Name::new("is"), span: place });
        }
        tokens
    }

    /// Is the module or view at its end? Takes the end keyword if it is there.
    fn module_is_over(&mut self, start: usize, name: Token, end_word: &'static str) -> bool {
        let at = self.at;
        let keyword = self.stream.token(start);
        let word = self.stream.word(at);
        if is_end_word(word) {
            self.at += 1;
            if word != end_word {
                let span = self.stream.token(at).span;
                self.say(
                    Diagnostic::warning(
                        "wrong-end",
                        format!("`{} {}` ends with `{word}`", keyword.name, name.name),
                        span,
                    )
                    .label(format!("expected `{end_word}`"))
                    .note(Some(keyword.span), "it begins here"),
                );
            }
            return true;
        }
        let in_view = end_word == "endv";
        let begins_other = match self.stream.get(at) {
            None => true,
            Some(_) if end_word_of(word).is_some() => true,
            // In a view, `class` and the like are mappings; no command shares a word with either.
            Some(_) => {
                command_word(word).is_some()
                    && decl_word(word).is_none()
                    && !(in_view && VIEW_WORDS.contains(&word))
                    && self.stream.lexeme(at).first
            }
        };
        if begins_other {
            let place = self.stream.token(at - 1).span.after();
            // A keyword alone stands for the name that is missing.
            let is_named = name.span != keyword.span;
            let own = if is_named { format!(" {}", name.name) } else { String::new() };
            let message = format!("`{}{own}` has no `{end_word}`", keyword.name);
            let mut error = Diagnostic::error("missing-end", message, place)
                .label(format!("expected `{end_word}`"))
                .note(Some(keyword.span.to(name.span)), "it begins here");
            if !is_named {
                let over = if in_view { " from A to B" } else { "" };
                error = error.hint(format!("write `{} NAME{over} is ... {end_word}`", keyword.name));
            }
            self.say(error);
        }
        begins_other
    }

    fn skip_unsupported_module(&mut self) {
        let start = self.at;
        let keyword = self.stream.token(start);
        let end_word = end_word_of(keyword.name.as_str()).expect("a module keyword");
        self.at += 1;
        while let Some(lexeme) = self.stream.get(self.at) {
            if lexeme.margin && self.stream.module_begins(self.at) {
                break;
            }
            self.at += 1;
            if lexeme.token.name.as_str() == end_word {
                break;
            }
        }
        let what = match keyword.name.as_str() {
            "omod" | "oth" => "object-oriented modules",
            _ => "strategy modules",
        };
        self.say(
            Diagnostic::error("not-supported", format!("{what} are not supported yet"), keyword.span)
                .label("skipped to its end"),
        );
    }

    fn cut_declaration(&mut self, start: usize, kind: DeclWord) -> Cut {
        match kind {
            DeclWord::Plain => self.stream.cut_plain(start, false),
            DeclWord::Op => self.stream.cut_plain(start, true),
            DeclWord::Bubble(separators) => self.stream.cut_statement(start, separators),
        }
    }

    fn declaration(&mut self, decls: &mut Vec<Decl>) {
        let start = self.at;
        let token = self.stream.token(start);
        let word = token.name.as_str();
        let Some(kind) = decl_word(word) else {
            self.unknown_declaration(DECL_WORDS);
            return;
        };
        let cut = self.cut_declaration(start, kind);
        let tokens = self.finish(cut);
        if is_unsupported_decl(word) {
            self.say(
                Diagnostic::error(
                    "not-supported",
                    format!("`{word}` declarations are not supported yet"),
                    token.span,
                )
                .label("skipped to its period"),
            );
            return;
        }
        if let Stop::Unclosed(_) = cut.stop {
            return;
        }
        let built = quick::declaration(&tokens)
            .or_else(|| build(Rule::declaration, tokens, &mut self.diagnostics, |b, p| b.declaration(p)));
        for decl in built.unwrap_or_default() {
            if let Decl::Op(op) = &decl {
                self.stream.note_op(op.name.name);
            }
            decls.push(decl);
        }
    }

    /// Takes what was cut off and gives its tokens with a final period, supplied if missing.
    fn finish(&mut self, cut: Cut) -> Vec<Token> {
        let start = self.at;
        let keyword = self.stream.word(start);
        match cut.stop {
            Stop::Period => self.at = cut.end + 1,
            Stop::Glued => {
                let token = self.stream.token(cut.end - 1);
                self.stream.unglue(cut.end - 1);
                self.at = cut.end + 1;
                let head = self.stream.token(cut.end - 1).name;
                self.say(
                    Diagnostic::warning(
                        "missing-space",
                        format!("missing blank between `{head}` and the period"),
                        token.span,
                    )
                    .hint(format!("write `{head} .`")),
                );
            }
            Stop::Missing => {
                self.at = cut.end.max(start + 1);
                let place = self.stream.token(self.at - 1).span.after();
                self.say(missing_period(keyword, place));
                let mut tokens = self.stream.tokens(start, self.at);
                tokens.push(Token { name: Name::new("."), span: place });
                return tokens;
            }
            Stop::Unclosed(open) => {
                let open = self.stream.token(open);
                self.at = match self.stream.word(cut.end) {
                    "." => cut.end + 1,
                    _ => cut.end.max(start + 1),
                };
                self.say(
                    Diagnostic::error(
                        "unclosed-bracket",
                        format!("this `{}` is never closed", open.name),
                        open.span,
                    )
                    .label(format!("opened in this `{keyword}`, which is skipped")),
                );
            }
        }
        self.stream.tokens(start, self.at)
    }

    /// Skips something that begins with no known keyword.
    fn unknown_declaration(&mut self, words: &'static [&'static str]) {
        let start = self.at;
        let token = self.stream.token(start);
        let word = token.name.as_str();
        self.at += 1;
        if word == "." {
            self.say(
                Diagnostic::warning("stray-period", "this period ends nothing", token.span)
                    .hint("the declaration before it ended already at a period"),
            );
            return;
        }
        while let Some(lexeme) = self.stream.get(self.at) {
            let word = lexeme.token.name.as_str();
            let before = self.stream.lexeme(self.at - 1);
            let ended = before.token.name.as_str().ends_with('.') && (before.last || ends_statement(word));
            let begins = lexeme.first
                && (ends_statement(word) || words.contains(&word) || self.stream.module_begins(self.at));
            if ended || begins || is_end_word(word) {
                break;
            }
            self.at += 1;
        }
        let mut error =
            Diagnostic::error("unknown-keyword", format!("`{word}` begins no declaration"), token.span)
                .label("skipped to its period");
        if let Some(near) = nearest(word, words.iter().copied()) {
            error = error.hint(format!("did you mean `{near}`?"));
        } else if start > 0 && self.stream.word(start - 1) == "." {
            error = error
                .hint("the statement before it ends at its period; every declaration begins with a keyword");
        }
        self.say(error);
    }

    // ---- views

    fn view(&mut self) -> Option<Item> {
        let start = self.at;
        let tokens = self.header();
        let name = tokens[1.min(tokens.len() - 1)];
        let header = build(Rule::view_header, tokens, &mut self.diagnostics, |b, p| b.view_header(p));
        let mut maps = Vec::new();
        while !self.module_is_over(start, name, "endv") {
            self.view_map(&mut maps);
        }
        let span = self.span(start, self.at);
        header.map(|header| Item::View(ViewDecl { maps, span, ..header }))
    }

    fn view_map(&mut self, maps: &mut Vec<ViewMap>) {
        let start = self.at;
        let token = self.stream.token(start);
        let cut = match token.name.as_str() {
            "op" | "msg" => self.stream.cut_view_op(start),
            "sort" | "label" | "var" | "vars" => self.stream.cut_plain(start, false),
            word @ ("strat" | "class" | "attr") => {
                let cut = self.stream.cut_plain(start, false);
                self.finish(cut);
                self.say(
                    Diagnostic::error(
                        "not-supported",
                        format!("`{word}` mappings are not supported yet"),
                        token.span,
                    )
                    .label("skipped to its period"),
                );
                return;
            }
            _ => return self.unknown_declaration(VIEW_WORDS),
        };
        let tokens = self.finish(cut);
        if let Stop::Unclosed(_) = cut.stop {
            return;
        }
        maps.extend(build(Rule::view_map, tokens, &mut self.diagnostics, |b, p| b.view_map(p)));
    }

    // ---- commands

    fn command(&mut self, kind: CommandWord) -> Option<Command> {
        let start = self.at;
        let token = self.stream.token(start);
        let word = token.name.as_str();
        match kind {
            CommandWord::Line => return self.line_command(),
            CommandWord::Bare => {
                self.at += 1;
                // Maude complains about a period here; nothing is gained by that.
                if !self.stream.lexeme(start).last && self.stream.word(self.at) == "." {
                    self.at += 1;
                }
                let kind = match word {
                    "pwd" => CommandKind::Pwd,
                    "popd" => CommandKind::Popd,
                    "eof" => CommandKind::Eof,
                    "help" => CommandKind::Help,
                    _ => CommandKind::Quit,
                };
                return Some(Command { kind, span: token.span, text: vec![token] });
            }
            CommandWord::Bubble | CommandWord::Plain => {}
        }
        let cut = self.stream.cut_command(start, kind);
        let errors = self.diagnostics.len();
        let tokens = self.finish(cut);
        let span = tokens[0].span.to(tokens[tokens.len() - 1].span);
        let actual = if word == "debug" { tokens[1].name.as_str() } else { word };
        if is_unsupported_command(actual) {
            self.say(
                Diagnostic::error("not-supported", format!("`{actual}` is not supported yet"), token.span)
                    .label("skipped to its period"),
            );
            return None;
        }
        // A command that was not finished is not executed.
        if self.diagnostics[errors..].iter().any(|d| d.severity == Severity::Error) {
            return None;
        }
        let text = tokens[..tokens.len() - 1].to_vec();
        let kind = build(Rule::command, tokens, &mut self.diagnostics, |b, p| b.command(p))?;
        Some(Command { kind, span, text })
    }

    /// `( ... )`, input for a loop or a tool.
    fn loop_input(&mut self) -> Option<Item> {
        let start = self.at;
        let Some(end) = self.stream.closing(start) else {
            self.skip_unknown_command(start);
            self.stream.starved = true;
            let span = self.stream.token(start).span;
            self.say(Diagnostic::error("unclosed-bracket", "this `(` is never closed", span));
            return None;
        };
        self.at = end + 1;
        let text = self.stream.tokens(start, self.at);
        let span = self.span(start, self.at);
        self.take_period();
        let kind = build(Rule::command, text.clone(), &mut self.diagnostics, |b, p| b.command(p))?;
        Some(Item::Command(Command { kind, span, text }))
    }

    /// Takes a period after a command that needs none, if it is in the same line.
    fn take_period(&mut self) {
        if !self.stream.lexeme(self.at - 1).last && self.stream.word(self.at) == "." {
            self.at += 1;
        }
    }

    /// `check in M : t .`, which is about something else.
    fn is_maude_check(&mut self, at: usize) -> bool {
        self.stream.word(at) == "check" && !self.stream.lexeme(at).last && self.stream.word(at + 1) == "in"
    }

    /// Does a command of the layered checker begin here?
    fn layered_begins(&mut self, at: usize) -> bool {
        let word = if self.stream.word(at) == "(" { self.stream.word(at + 1) } else { self.stream.word(at) };
        layered_word(word).is_some()
    }

    /// A command of the layered checker without parentheses.
    fn layered_command(&mut self, kind: LayeredWord) -> Option<Item> {
        let start = self.at;
        let is_alone = self.stream.lexeme(start).last;
        self.at += 1;
        match kind {
            LayeredWord::Bare => {}
            LayeredWord::Bracket if self.stream.word(self.at) == "[" => {
                let mut depth = 0;
                loop {
                    match self.stream.get(self.at).map(|lexeme| lexeme.token.name.as_str()) {
                        Some("[" | "(" | "{") => depth += 1,
                        Some("]" | ")" | "}") => depth -= 1,
                        Some(_) => {}
                        None => {
                            let span = self.stream.token(start + 1).span;
                            self.skip_unknown_command(start);
                            self.stream.starved = true;
                            self.say(Diagnostic::error("unclosed-bracket", "this `[` is never closed", span));
                            return None;
                        }
                    }
                    self.at += 1;
                    if depth == 0 {
                        break;
                    }
                }
            }
            LayeredWord::Line | LayeredWord::Bracket => {
                while !is_alone && !self.stream.lexeme(self.at - 1).last && self.stream.word(self.at) != "." {
                    self.at += 1;
                }
            }
        }
        let text = self.stream.tokens(start, self.at);
        let span = self.span(start, self.at);
        self.take_period();
        Some(Item::Command(Command { kind: CommandKind::Other(text.clone()), span, text }))
    }

    /// A command whose argument is the rest of the line.
    fn line_command(&mut self) -> Option<Command> {
        let start = self.at;
        let token = self.stream.token(start);
        let text = self.stream.lexer.text();
        let from = token.span.end as usize;
        let end = text[from..].find('\n').map_or(text.len(), |length| from + length);
        self.at = start + 1;
        self.offset = end;
        self.stream.restart(self.at, end);

        let line = &text[from..end];
        let argument = line.trim();
        let argument_start = from + (line.len() - line.trim_start().len());
        let word = token.name.as_str();
        let span = Span { end: (argument_start + argument.len()) as u32, ..token.span };
        let kind = match word {
            "ls" => CommandKind::Ls(argument.to_string()),
            _ => {
                let (path, length) = path(argument);
                if path.is_empty() && word != "cd" {
                    self.say(
                        Diagnostic::error(
                            "missing-file",
                            format!("`{word}` needs a file name"),
                            token.span.after(),
                        )
                        .label("expected in the same line"),
                    );
                    return None;
                }
                let rest = argument[length..].trim();
                let comment = rest.starts_with("***") || rest.starts_with("---");
                if !rest.is_empty() && rest != "." && !comment {
                    let place = argument_start + argument.len() - rest.len();
                    let span = self.stream.lexer.span(place, place + rest.len());
                    self.say(
                        Diagnostic::warning("ignored-text", "text after the file name is ignored", span)
                            .hint("put a file name with blanks between double quotes"),
                    );
                }
                let path_span = self.stream.lexer.span(argument_start, argument_start + length);
                match word {
                    "cd" => CommandKind::Cd(path),
                    "pushd" => CommandKind::Pushd(path),
                    _ => CommandKind::Load { path, path_span, silent: word != "in", once: word == "sload" },
                }
            }
        };
        Some(Command { kind, span, text: vec![token] })
    }
}

/// The kind of module that a keyword begins.
fn module_kind(word: &str) -> Option<ModuleKind> {
    Some(match word {
        "fmod" => ModuleKind::Fmod,
        "mod" => ModuleKind::Mod,
        "fth" => ModuleKind::Fth,
        "th" => ModuleKind::Th,
        _ => return None,
    })
}

fn missing_period(keyword: &str, place: Span) -> Diagnostic {
    Diagnostic::error("missing-period", format!("missing period after this `{keyword}`"), place)
        .label("expected `.`")
        .hint("write a period with a blank before it here")
}

/// The file name at the beginning of the text, and how long it is as written: between double
/// quotes, or up to a blank that has no backslash before it.
fn path(text: &str) -> (String, usize) {
    if let Some(rest) = text.strip_prefix('"')
        && let Some(length) = rest.find('"')
    {
        return (rest[..length].to_string(), length + 2);
    }
    let mut path = String::new();
    let mut escaped = false;
    for (i, c) in text.char_indices() {
        if c.is_whitespace() && !escaped {
            return (path, i);
        }
        if c == '\\' && !escaped && text[i + 1..].starts_with(' ') {
            escaped = true;
            continue;
        }
        escaped = false;
        path.push(c);
    }
    (path, text.len())
}
