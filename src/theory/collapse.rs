//! Left-hand sides in normal form, before anything is compiled.

use crate::module::{Fragment, Module, Rule};
use crate::sorts::{Node, Tree};
use crate::term::{Class, SymbolInfo, Symbols, normalize, normalize_levels};

use super::NameOrder;

/// The left-hand sides of rules in normal form: with an identity `e`, `f(X, e)` is `X`.
pub(super) fn collapse_rules(rules: &mut [Rule], sy: &Symbols, names: &NameOrder) {
    for rule in rules {
        if let Some(lhs) = collapsed(&rule.lhs, sy, names) {
            rule.lhs = lhs;
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
    let one_sided = sy.info.iter().any(is_one_sided);
    if equations.iter().chain(&memberships).all(Option::is_none) && !one_sided {
        return None;
    }
    let mut module = module.clone();
    if one_sided {
        // Identities that are written inside a list.
        let level = |tree: &mut Tree| *tree = normalize_levels(sy, names, tree);
        for equation in &mut module.equations {
            level(&mut equation.rhs);
        }
        let conditions = module.equations.iter_mut().map(|eq| &mut eq.condition);
        let conditions = conditions.chain(module.memberships.iter_mut().map(|mb| &mut mb.condition));
        for fragment in conditions.flatten() {
            match fragment {
                Fragment::Equal(a, b) => [a, b].into_iter().for_each(level),
                Fragment::Sort(t, _) | Fragment::Rewrite(t, _) => level(t),
                Fragment::Match(pattern, t) => {
                    *pattern = normalize(sy, names, pattern);
                    level(t);
                }
            }
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
