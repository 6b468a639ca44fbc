//! The order on variables, which decides how patterns are sorted.

use rustc_hash::FxHashMap;

use crate::base::Name;
use crate::module::{Fragment, Module};
use crate::sorts::{Node, Signature, SortId, Tree};
use crate::syntax::TokenOrder;
use crate::term::VarOrder;

/// The order on variables: by the sort that was first used for one, then by the name that was
/// first read.
#[derive(Clone, Debug, Default)]
pub struct VariableOrder {
    pub names: FxHashMap<Name, u32>,
    pub sorts: FxHashMap<SortId, u32>,
}

impl VariableOrder {
    /// Those of a module: its own statements in the order of the text come first.
    pub fn new(module: &Module, order: &TokenOrder) -> VariableOrder {
        let mut variables = VariableOrder::default();
        let (mbs, eqs, rls) = module.own;
        // Own statements with their places, and imported ones in order.
        let mut own: Vec<(u32, Vec<&Tree>)> = Vec::new();
        let mut imported: Vec<(u32, Vec<&Tree>)> = Vec::new();
        for (i, mb) in module.memberships.iter().enumerate() {
            let list = if i < mbs { &mut own } else { &mut imported };
            list.push((mb.attrs.span.start, all_trees(&[&mb.term], &mb.condition)));
        }
        for (i, eq) in module.equations.iter().enumerate() {
            let list = if i < eqs { &mut own } else { &mut imported };
            list.push((eq.attrs.span.start, all_trees(&[&eq.lhs, &eq.rhs], &eq.condition)));
        }
        for (i, rule) in module.rules.iter().enumerate() {
            let list = if i < rls { &mut own } else { &mut imported };
            list.push((rule.attrs.span.start, all_trees(&[&rule.lhs, &rule.rhs], &rule.condition)));
        }
        own.sort_by_key(|(start, _)| *start);
        for (_, trees) in own.iter().chain(&imported) {
            for tree in trees {
                variables.note(&module.signature, tree, order);
            }
        }
        variables
    }

    /// Numbers the variables of a term. Was any new?
    ///
    /// Maude makes arguments from left to right, but those of an associative operator in
    /// prefix form from right to left.
    pub fn note(&mut self, sig: &Signature, tree: &Tree, order: &TokenOrder) -> bool {
        let before = (self.names.len(), self.sorts.len());
        let mut work = vec![tree.root()];
        while let Some(at) = work.pop() {
            match tree.node(at) {
                Node::Var(var) => {
                    self.names.entry(var.name).or_insert_with(|| order.of(var.name));
                    let next = self.sorts.len() as u32;
                    self.sorts.entry(var.sort).or_insert(next);
                }
                Node::App { op, arity } => {
                    let op = sig.op(*op);
                    let prefix = *arity > 2 || !op.name.as_str().contains('_');
                    let args = tree.args(at);
                    if op.axioms.assoc && prefix {
                        work.extend(args);
                    } else {
                        work.extend(args.into_iter().rev());
                    }
                }
                _ => work.extend(tree.args(at)),
            }
        }
        before != (self.names.len(), self.sorts.len())
    }
}

/// The terms of a statement in the order in which Maude makes them: the condition comes first.
fn all_trees<'a>(sides: &[&'a Tree], condition: &'a [Fragment]) -> Vec<&'a Tree> {
    let mut trees = Vec::new();
    for fragment in condition {
        match fragment {
            Fragment::Equal(a, b) | Fragment::Match(a, b) | Fragment::Rewrite(a, b) => trees.extend([a, b]),
            Fragment::Sort(a, _) => trees.push(a),
        }
    }
    trees.extend(sides);
    trees
}

impl VarOrder for VariableOrder {
    fn sort_order(&self, sort: SortId) -> u32 {
        self.sorts.get(&sort).copied().unwrap_or(1 << 31 | sort.0)
    }
    fn name_order(&self, name: Name) -> u32 {
        self.names.get(&name).copied().unwrap_or(1 << 31 | name.index() as u32)
    }
    fn sort_index(&self, sort: SortId) -> u32 {
        sort.0
    }
}
