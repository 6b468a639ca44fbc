//! States that are one operator over a soup: `{ (locked: false) (pc[p1]: ss) ... }`.

use crate::base::{Diagnostic, Name, Span, nearest};
use crate::module::Module;
use crate::sorts::{Node, SortId, Tree};
use crate::syntax::tree::Token;
use crate::term::{Symbols, sort_of_tree};

/// The sorts of the components of a state and of their soups, and the places where they are named.
pub struct Soup {
    pub element: (SortId, Span),
    pub soup: (SortId, Span),
}

/// From the first to the last token.
pub fn span(tokens: &[Token]) -> Span {
    tokens[0].span.to(tokens[tokens.len() - 1].span)
}

/// The sort that the tokens name.
pub fn sort(module: &Module, tokens: &[Token]) -> Result<(SortId, Span), Diagnostic> {
    let text: String = tokens.iter().map(|token| token.name.as_str()).collect();
    let sorts = &module.signature.sorts;
    sorts.find(Name::new(&text)).map(|sort| (sort, span(tokens))).ok_or_else(|| {
        let message = format!("module {} has no sort {text}", module.name);
        let unknown = Diagnostic::error("unknown-sort", message, span(tokens));
        let names = sorts.declared().map(|sort| sorts.name(sort).as_str());
        match nearest(&text, names) {
            Some(near) => unknown.hint(format!("did you mean {near}?")),
            None => unknown,
        }
    })
}

impl Soup {
    /// Whether these are soups, and a state in normal form is one operator over a soup.
    pub fn check(&self, module: &Module, state: &Tree, place: Span) -> Result<(), Diagnostic> {
        let sig = &module.signature;
        let sorts = &sig.sorts;
        let Soup { element: (element, element_span), soup: (soup, soup_span) } = *self;
        let is_union = |op: &crate::sorts::Operator| {
            op.axioms.assoc && op.axioms.comm && op.decls.iter().any(|decl| decl.range == soup)
        };
        if !sig.ops().any(|(_, op)| is_union(op)) {
            let message = format!("{} is no sort of soups", sorts.name(soup));
            let label = "no associative and commutative operator makes it";
            return Err(Diagnostic::error("not-a-soup", message, soup_span).label(label));
        }
        if !sorts.leq(element, soup) {
            let message = format!("components of sort {} are no soups", sorts.name(element));
            let label = format!("it is not below {}", sorts.name(soup));
            return Err(Diagnostic::error("not-a-soup", message, element_span).label(label));
        }
        let is_soup = |at: usize| {
            let sort = sort_of_tree(sig, &Symbols::new(sig), &state.subtree(at));
            sorts.leq(sort, soup)
        };
        match (state.node(state.root()), &state.args(state.root())[..]) {
            (Node::App { .. }, &[inside]) if is_soup(inside) => Ok(()),
            _ => {
                let message = format!("the soup of sort {} is not at the top of the state", sorts.name(soup));
                let hint = "states look like {soup}; `initialize[M, init, F]` takes those of any form";
                Err(Diagnostic::error("not-a-soup", message, place)
                    .label("not one operator over a soup")
                    .hint(hint))
            }
        }
    }
}
