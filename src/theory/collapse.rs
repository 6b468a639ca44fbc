//! Left-hand sides in normal form, before anything is compiled.

use crate::module::{Fragment, Module, Rule};
use crate::sorts::{Node, Tree};
use crate::term::{Class, SymbolInfo, Symbols, normalize, normalize_levels};

use super::NameOrder;

/// The left-hand sides of rules in normal form: with an identity `e`, `f(X, e)` is `X`. Their other
/// terms, too, where identities that are written there would be evaluated.
pub(super) fn collapse_rules(rules: &mut [Rule], module: &Module, sy: &Symbols, names: &NameOrder) {
    let has_levels = has_evaluated_identity(module, sy);
    for rule in rules {
        if let Some(lhs) = collapsed(&rule.lhs, sy, names) {
            rule.lhs = lhs;
        }
        if has_levels && !rule.rhs.is_empty() {
            rule.rhs = normalize_levels(sy, names, &rule.rhs);
            level_condition(&mut rule.condition, sy, names);
        }
    }
}

/// Is there an identity with equations? It vanishes where it is written in a statement, not what it is
/// evaluated to.
fn has_evaluated_identity(module: &Module, sy: &Symbols) -> bool {
    let tops: Vec<_> = module.equations.iter().filter_map(|eq| eq.lhs.node(eq.lhs.root()).op()).collect();
    sy.identities.iter().flat_map(Tree::nodes).filter_map(Node::op).any(|op| tops.contains(&op))
}

/// The terms of a condition made normal node by node, its patterns as a whole.
fn level_condition(condition: &mut [Fragment], sy: &Symbols, names: &NameOrder) {
    let level = |tree: &mut Tree| *tree = normalize_levels(sy, names, tree);
    for fragment in condition {
        match fragment {
            Fragment::Equal(a, b) => [a, b].into_iter().for_each(level),
            Fragment::Sort(t, _) => level(t),
            Fragment::Match(pattern, t) | Fragment::Rewrite(t, pattern) => {
                *pattern = normalize(sy, names, pattern);
                level(t);
            }
        }
    }
}

/// The normal form of a pattern, if that is shorter.
fn collapsed(tree: &Tree, sy: &Symbols, names: &NameOrder) -> Option<Tree> {
    let may_collapse = tree.nodes().iter().filter_map(Node::op).any(|op| {
        let info = &sy.info[op.index()];
        info.identity.is_some() || info.idem
    });
    let leaves = |tree: &Tree| tree.nodes().iter().filter(|node| node.arity() == 0).count();
    let normal = may_collapse.then(|| normalize(sy, names, tree))?;
    (leaves(&normal) < leaves(tree)).then_some(normal)
}

/// The module with its equations' and memberships' patterns in normal form, if that makes a difference.
pub(super) fn collapse_patterns(module: &Module, sy: &Symbols, names: &NameOrder) -> Option<Module> {
    let normal = |tree: &Tree| collapsed(tree, sy, names);
    let equations: Vec<_> = module.equations.iter().map(|eq| normal(&eq.lhs)).collect();
    let memberships: Vec<_> = module.memberships.iter().map(|mb| normal(&mb.term)).collect();
    let is_one_sided = |info: &SymbolInfo| {
        info.class == Class::Assoc && info.identity.is_some_and(|identity| identity.left != identity.right)
    };
    // Identities that are written inside a list, or would be evaluated.
    let has_levels = sy.info.iter().any(is_one_sided) || has_evaluated_identity(module, sy);
    if equations.iter().chain(&memberships).all(Option::is_none) && !has_levels {
        return None;
    }
    let mut module = module.clone();
    if has_levels {
        for equation in &mut module.equations {
            equation.rhs = normalize_levels(sy, names, &equation.rhs);
            level_condition(&mut equation.condition, sy, names);
        }
        for membership in &mut module.memberships {
            level_condition(&mut membership.condition, sy, names);
        }
    }
    for (equation, lhs) in module.equations.iter_mut().zip(equations) {
        equation.lhs = lhs.unwrap_or_else(|| equation.lhs.clone());
    }
    for (membership, term) in module.memberships.iter_mut().zip(memberships) {
        membership.term = term.unwrap_or_else(|| membership.term.clone());
    }
    Some(module)
}
