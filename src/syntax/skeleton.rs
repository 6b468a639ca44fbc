//! What the pest grammar reads: the tokens of one declaration, each followed by one blank.
//!
//! Comments, line ends and the blanks inside strings are gone, so the grammar needs neither
//! lexical rules nor skipping, and a place in the skeleton leads back to its token.

use std::ops::Range;

use pest::iterators::Pair;
use pest_derive::Parser;

use super::tree::{Bubble, Token};
use crate::base::Span;

#[derive(Parser)]
#[grammar = "syntax/maude.pest"]
pub(super) struct Grammar;

/// How deep brackets may nest where the grammar recurses. (Bubbles nest without limit.)
pub(super) const DEPTH_MAX: usize = 200;

pub(super) struct Skeleton {
    text: String,
    /// Where each token begins in `text`.
    starts: Vec<usize>,
    tokens: Vec<Token>,
}

impl Skeleton {
    pub fn new(tokens: Vec<Token>) -> Self {
        let mut text = String::with_capacity(tokens.len() * 6);
        let mut starts = Vec::with_capacity(tokens.len());
        for token in &tokens {
            starts.push(text.len());
            let name = token.name.as_str();
            if name.contains(' ') {
                text.extend(name.chars().map(|c| if c == ' ' { '\t' } else { c }));
            } else {
                text.push_str(name);
            }
            text.push(' ');
        }
        Skeleton { text, starts, tokens }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The number of the token at a place, or the number of tokens at the end.
    pub fn token_at(&self, place: usize) -> usize {
        if place >= self.text.len() {
            return self.tokens.len();
        }
        self.starts.partition_point(|&start| start <= place).saturating_sub(1)
    }

    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    fn range(&self, pair: &Pair<'_, Rule>) -> Range<usize> {
        let span = pair.as_span();
        let start = self.token_at(span.start());
        start..self.token_at(span.end()).max(start)
    }

    /// The tokens that a rule matched.
    pub fn bubble(&self, pair: &Pair<'_, Rule>) -> Bubble {
        self.tokens[self.range(pair)].to_vec()
    }

    /// The first token that a rule matched.
    pub fn token(&self, pair: &Pair<'_, Rule>) -> Token {
        self.tokens[self.range(pair).start]
    }

    /// The place that a rule matched.
    pub fn span(&self, pair: &Pair<'_, Rule>) -> Span {
        let range = self.range(pair);
        match (self.tokens.get(range.start), self.tokens.get(range.end.wrapping_sub(1))) {
            (Some(first), Some(last)) if !range.is_empty() => first.span.to(last.span),
            (Some(first), _) => Span { end: first.span.start, ..first.span },
            _ => Span::default(),
        }
    }
}
