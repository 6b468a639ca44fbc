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
                self.matches(pattern, &value, rest, &bindings, found)?;
            }
            Fragment::Rewrite(term, pattern) => {
                let value = self.machine.reduce(&substitute(term, &bindings))?;
                let exploration = self.machine.explore(value) as usize;
                while let Some(state) = self.machine.next_state(exploration)? {
                    let state = self.machine.to_tree(state);
                    self.matches(pattern, &state, rest, &bindings, found)?;
                }
            }
        }
        Ok(())
    }

    /// Goes on with each matcher of a value.
    fn matches(
        &mut self,
        pattern: &Tree,
        value: &Tree,
        rest: &[Fragment],
        bindings: &[Binding],
        found: &mut Vec<Vec<Binding>>,
    ) -> Result<(), Interrupt> {
        let theory = self.machine.theory.clone();
        let pattern = normalize(&theory, &substitute(pattern, bindings));
        let mut problem = Problem::new(&theory, self.shapes, &pattern, value, false);
        while let Some(solution) = problem.next() {
            let mut longer = bindings.to_vec();
            longer.extend(solution.bindings);
            self.solve(rest, longer, found)?;
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
