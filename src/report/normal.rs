//! Statements as Maude keeps and shows them: their terms in normal form modulo the axioms.
//!
//! Patterns are flattened, other terms are made normal level by level.

use crate::module::{Equation, Fragment, Membership, Module, Rule};
use crate::sorts::Tree;
use crate::syntax::TokenOrder;
use crate::term::{Symbols, normalize, normalize_levels};
use crate::theory::VariableOrder;

/// Makes the statements of a module normal.
pub struct Normal {
    symbols: Symbols,
    variables: VariableOrder,
}

impl Normal {
    pub fn new(module: &Module, order: &TokenOrder) -> Normal {
        Normal { symbols: Symbols::new(&module.signature), variables: VariableOrder::new(module, order) }
    }

    fn pattern(&self, tree: &Tree) -> Tree {
        normalize(&self.symbols, &self.variables, tree)
    }

    fn term(&self, tree: &Tree) -> Tree {
        normalize_levels(&self.symbols, &self.variables, tree)
    }

    pub fn equation(&self, eq: &Equation) -> Equation {
        Equation {
            lhs: self.pattern(&eq.lhs),
            rhs: self.term(&eq.rhs),
            condition: self.condition(&eq.condition),
            attrs: eq.attrs.clone(),
        }
    }

    pub fn membership(&self, mb: &Membership) -> Membership {
        Membership {
            term: self.pattern(&mb.term),
            sort: mb.sort,
            condition: self.condition(&mb.condition),
            attrs: mb.attrs.clone(),
        }
    }

    pub fn rule(&self, rule: &Rule) -> Rule {
        Rule {
            lhs: self.pattern(&rule.lhs),
            rhs: self.term(&rule.rhs),
            condition: self.condition(&rule.condition),
            attrs: rule.attrs.clone(),
        }
    }

    fn condition(&self, fragments: &[Fragment]) -> Vec<Fragment> {
        let one = |fragment: &Fragment| match fragment {
            Fragment::Equal(a, b) => Fragment::Equal(self.term(a), self.term(b)),
            Fragment::Sort(t, sort) => Fragment::Sort(self.term(t), *sort),
            Fragment::Match(p, t) => Fragment::Match(self.pattern(p), self.term(t)),
            Fragment::Rewrite(t, p) => Fragment::Rewrite(self.term(t), self.pattern(p)),
        };
        fragments.iter().map(one).collect()
    }
}
