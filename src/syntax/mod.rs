//! Text to surface tree: Maude's tokens, modules, views and commands.
//!
//! Statements and terms stay bubbles of tokens here, because their grammar depends on the
//! operators that are in scope; `module` parses them.
//!
//! [`lexer`] cuts the text into tokens, [`cut`] says where each declaration and command ends,
//! [`build`] reads it by the pest grammar in `maude.pest` ([`quick`] the usual ones faster), and [`Parser`] yields items one by
//! one. No text makes parsing fail as a whole: a mistake costs its own declaration and leaves
//! a diagnostic.

mod build;
mod cut;
mod explain;
mod lexer;
pub mod library;
mod parser;
mod quick;
mod skeleton;
#[cfg(test)]
mod tests;
pub mod tree;
mod words;

pub use lexer::TokenOrder;
pub use parser::{Parsed, Parser};

use crate::base::{Diagnostic, FileId, Severity};
use tree::Item;

/// All items of a text at once, up to and including an `eof` or `quit`.
pub fn parse(text: &str, file: FileId, order: &mut TokenOrder) -> (Vec<Item>, Vec<Diagnostic>) {
    let mut parser = Parser::new(text, file);
    let (mut items, mut diagnostics) = (Vec::new(), Vec::new());
    while let Some(parsed) = parser.next_item(order) {
        diagnostics.extend(parsed.diagnostics);
        if let Some(item) = parsed.item {
            let over = matches!(
                &item,
                Item::Command(tree::Command { kind: tree::CommandKind::Eof | tree::CommandKind::Quit, .. })
            );
            items.push(item);
            if over {
                break;
            }
        }
    }
    (items, diagnostics)
}

/// The tokens of a text that stands alone, such as a term given on the command line.
pub fn tokens(text: &str, file: FileId, order: &mut TokenOrder) -> (tree::Bubble, Vec<Diagnostic>) {
    let mut lexer = lexer::Lexer::new(text, file);
    let mut bubble = Vec::new();
    while let Some(lexeme) = lexer.next() {
        bubble.push(lexeme.token);
    }
    order.note_all(bubble.iter().map(|token| token.name));
    (bubble, lexer.diagnostics)
}

/// Reads a module expression that stands alone.
pub fn module_expression(tokens: tree::Bubble) -> (Option<tree::ModuleExpr>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    if tokens.is_empty() {
        let empty = Diagnostic::new(Severity::Error, "syntax-error", "expected the name of a module", None);
        return (None, vec![empty]);
    }
    let expression = build::build(skeleton::Rule::module_alone, tokens, &mut diagnostics, |b, p| {
        b.module_expr(p.into_inner().next().expect("it begins with the expression"))
    });
    for diagnostic in &mut diagnostics {
        diagnostic.message = "this is no module expression".into();
    }
    (expression, diagnostics)
}

/// How far a text that is still growing has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The first so many bytes are an item, or a mistake to be reported.
    Complete(usize),
    /// An item has begun and needs more text.
    Incomplete,
    /// Nothing but blanks and comments.
    Blank,
}

/// Is there a whole item at the beginning of the text? The text should end with a whole
/// line, as the end of a line can be the end of a command. Asking costs as much as reading
/// the item, so input that is not typed by hand is better added in large pieces.
pub fn next_item(text: &str) -> Progress {
    let mut parser = Parser::new(text, FileId(0));
    let parsed = parser.next_item(&mut TokenOrder::default());
    if parser.in_comment() && (parsed.is_none() || parser.offset() == text.len()) {
        return Progress::Incomplete;
    }
    match parsed {
        None => Progress::Blank,
        Some(_) if parser.starved() => Progress::Incomplete,
        Some(_) => Progress::Complete(parser.offset()),
    }
}
