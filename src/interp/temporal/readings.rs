//! Propositions that can be read off the elements of a state: those whose equations look like
//! `eq { (pc[p1]: ws) R } |= waiting(p1) = true .` Those that compute something of the whole state, like
//! `eq { R } |= busy = size(R) > 5 .`, become queries with that as their condition.

use std::sync::Arc;

use crate::graph::{Case, CaseValue, Reading};
use crate::module::{Equation, Fragment, Module, Rule, StatementAttrs};
use crate::sorts::{Node, OpId, Tree, Var};
use crate::term::{Class, Symbols, sort_of_tree};
use crate::theory::Theory;

/// A theory with queries for the patterns of these propositions' equations, and for each proposition
/// how to use them, if its equations are of that form.
pub fn readings(
    theory: &Arc<Theory>,
    satisfies: OpId,
    truth: &Tree,
    props: &[Tree],
) -> (Arc<Theory>, Vec<Option<Reading>>) {
    let mut reader =
        Reader { module: &theory.module, symbols: &theory.symbols, satisfies, truth, queries: Vec::new() };
    if theory.rules.join.is_none() {
        return (theory.clone(), vec![None; props.len()]);
    }
    let readings: Vec<Option<Reading>> = props.iter().map(|prop| reader.reading(prop)).collect();
    match reader.queries.is_empty() {
        true => (theory.clone(), readings),
        false => (Arc::new(theory.with_queries(&reader.queries)), readings),
    }
}

/// Propositions whose equations only match: they take little, and their evaluation ends.
pub fn light(module: &Module, satisfies: OpId, props: &[Tree]) -> u64 {
    let op = |tree: &Tree, at: usize| tree.node(at).op();
    let is_light = |prop: &Tree| {
        module.equations.iter().filter(|eq| op(&eq.lhs, eq.lhs.root()) == Some(satisfies)).all(|eq| {
            let about = eq.lhs.args(eq.lhs.root()).get(1).and_then(|&about| op(&eq.lhs, about));
            let is_another = about.is_some() && about != op(prop, prop.root());
            is_another || eq.condition.is_empty() && is_constant(module, &eq.rhs)
        })
    };
    let places = props.iter().enumerate().filter(|(_, prop)| is_light(prop));
    places.fold(0, |light, (place, _)| light | 1u64.checked_shl(place as u32).unwrap_or(0))
}

/// Is it a constant that no equation is about?
fn is_constant(module: &Module, tree: &Tree) -> bool {
    let Node::App { op, arity: 0 } = tree.node(tree.root()) else { return false };
    !module.equations.iter().any(|eq| eq.lhs.node(eq.lhs.root()).op() == Some(*op))
}

struct Reader<'a> {
    module: &'a Module,
    symbols: &'a Symbols,
    satisfies: OpId,
    truth: &'a Tree,
    queries: Vec<Rule>,
}

impl Reader<'_> {
    fn reading(&mut self, prop: &Tree) -> Option<Reading> {
        let known = self.queries.len();
        let reading = self.cases(prop);
        if reading.is_none() {
            self.queries.truncate(known);
        }
        reading
    }

    /// The equations in the order in which they are tried.
    fn cases(&mut self, prop: &Tree) -> Option<Reading> {
        let module = self.module;
        let is_about =
            |eq: &&Equation| !eq.attrs.nonexec && eq.lhs.node(eq.lhs.root()).op() == Some(self.satisfies);
        let all = module.equations.iter().filter(is_about);
        let (last, first): (Vec<&Equation>, Vec<&Equation>) = all.partition(|eq| eq.attrs.owise);
        let mut cases = Vec::new();
        for equation in first.into_iter().chain(last) {
            let [state, about] = equation.lhs.args(equation.lhs.root())[..] else { return None };
            let about = equation.lhs.subtree(about);
            let bindings = match self.matches(&about, prop)? {
                Some(bindings) => bindings,
                None => continue,
            };
            if !equation.condition.is_empty() {
                return None;
            }
            let pattern = replaced(&equation.lhs.subtree(state), &bindings);
            let Some(value) = self.value(&equation.rhs) else {
                // One matcher decides, so there must be no choice.
                let is_whole = matches!(pattern.nodes(), [Node::Var(_), Node::App { arity: 1, .. }]);
                if !is_whole {
                    return None;
                }
                let rhs = replaced(&equation.rhs, &bindings);
                let query = self.add_query(pattern.clone(), Vec::new());
                let computed = self.add_query(pattern, vec![Fragment::Equal(rhs, self.truth.clone())]);
                cases.push(Case { query, value: CaseValue::Computed(computed) });
                continue;
            };
            if let Node::Var(var) = pattern.node(pattern.root()) {
                // It matches every state that has a sort.
                let is_any =
                    module.signature.op(self.satisfies).decls.iter().any(|decl| decl.domain[0] == var.sort);
                return is_any.then_some(Reading { cases, otherwise: Some(value) });
            }
            let query = self.add_query(pattern, Vec::new());
            cases.push(Case { query, value: CaseValue::Known(value) });
        }
        // No equation applies: the term stays as it is, and is not true.
        Some(Reading { cases, otherwise: None })
    }

    fn add_query(&mut self, lhs: Tree, condition: Vec<Fragment>) -> usize {
        self.queries.push(Rule { lhs, rhs: Tree::default(), condition, attrs: StatementAttrs::default() });
        self.queries.len() - 1
    }

    /// Whether a right-hand side says that the proposition holds. `None` if that must be computed.
    fn value(&self, rhs: &Tree) -> Option<bool> {
        is_constant(self.module, rhs).then(|| rhs == self.truth)
    }

    /// How a pattern of plain constructors matches a proposition. The outer `None`: hard to say.
    fn matches(&self, pattern: &Tree, prop: &Tree) -> Option<Option<Vec<(Var, Tree)>>> {
        let mut bindings: Vec<(Var, Tree)> = Vec::new();
        let mut work = vec![(pattern.root(), prop.root())];
        while let Some((at, place)) = work.pop() {
            match (pattern.node(at), prop.node(place)) {
                (Node::Var(var), _) => {
                    let value = prop.subtree(place);
                    let sort = sort_of_tree(&self.module.signature, self.symbols, &value);
                    if !self.module.signature.sorts.leq(sort, var.sort) {
                        return Some(None);
                    }
                    match bindings.iter().find(|(known, _)| known == var) {
                        Some((_, known)) if *known != value => return Some(None),
                        Some(_) => {}
                        None => bindings.push((*var, value)),
                    }
                }
                (one, other) if pattern.same(at, prop, place) && one == other => {}
                (Node::App { op, arity }, Node::App { op: other, arity: count }) => {
                    if self.symbols.class(op.0) != Class::Free || self.symbols.class(other.0) != Class::Free {
                        return None;
                    }
                    if op != other || arity != count {
                        return Some(None);
                    }
                    work.extend(pattern.args(at).into_iter().zip(prop.args(place)));
                }
                (Node::Iter { .. }, _) => return None,
                _ => return Some(None),
            }
        }
        Some(Some(bindings))
    }
}

/// A pattern with values for some of its variables.
fn replaced(pattern: &Tree, bindings: &[(Var, Tree)]) -> Tree {
    let mut tree = Tree::default();
    for (at, node) in pattern.nodes().iter().enumerate() {
        let value = match node {
            Node::Var(var) => bindings.iter().find(|(known, _)| known == var).map(|(_, value)| value),
            _ => None,
        };
        match value {
            Some(value) => tree.append(value),
            None => tree.push(node.clone(), pattern.span(at)),
        }
    }
    tree
}
