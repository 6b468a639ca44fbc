//! Conditions of commands (`such that`): solved fragment by fragment over substitutions.

use super::matching::{Binding, Problem, normalize};
use crate::base::Interrupt;
use crate::matching::Shapes;
use crate::module::Fragment;
use crate::rewrite::Machine;
use crate::sorts::{Node, Tree};

/// Solves conditions with a machine.
pub struct Conditions<'a> {
    pub machine: &'a mut Machine,
    pub shapes: &'a Shapes,
}

impl Conditions<'_> {
    /// Adds every extension of the bindings that satisfies the fragments, in order.
    pub fn solve(
        &mut self,
        fragments: &[Fragment],
        bindings: Vec<Binding>,
        found: &mut Vec<Vec<Binding>>,
    ) -> Result<(), Interrupt> {
        let Some((first, rest)) = fragments.split_first() else {
            found.push(bindings);
            return Ok(());
        };
        match first {
            Fragment::Equal(left, right) => {
                let (left, _) = self.reduce(left, &bindings)?;
                let (right, _) = self.reduce(right, &bindings)?;
                if left == right {
                    self.solve(rest, bindings, found)?;
                }
            }
            Fragment::Sort(term, sort) => {
                let (_, has) = self.reduce(term, &bindings)?;
                if self.machine.theory.module.signature.sorts.leq(has, *sort) {
                    self.solve(rest, bindings, found)?;
                }
            }
            Fragment::Match(pattern, term) => {
                let (value, _) = self.reduce(term, &bindings)?;
                let theory = self.machine.theory.clone();
                let pattern = normalize(&theory, &substitute(pattern, &bindings));
                let mut problem = Problem::new(&theory, self.shapes, &pattern, &value, false);
                while let Some(solution) = problem.next() {
                    let mut longer = bindings.clone();
                    longer.extend(solution.bindings);
                    self.solve(rest, longer, found)?;
                }
            }
            // Rules are not run yet.
            Fragment::Rewrite(..) => {}
        }
        Ok(())
    }

    fn reduce(
        &mut self,
        term: &Tree,
        bindings: &[Binding],
    ) -> Result<(Tree, crate::sorts::SortId), Interrupt> {
        let value = self.machine.reduce(&substitute(term, bindings))?;
        Ok((self.machine.to_tree(value), self.machine.sort_of(value)))
    }
}

/// The term with its variables replaced.
pub fn substitute(tree: &Tree, bindings: &[Binding]) -> Tree {
    let mut out = Tree::default();
    for (at, node) in tree.nodes().iter().enumerate() {
        let value = match node {
            Node::Var(var) => bindings.iter().find(|(v, _)| v == var),
            _ => None,
        };
        match value {
            Some((_, value)) => out.append(value),
            None => out.push(node.clone(), tree.span(at)),
        }
    }
    out
}
