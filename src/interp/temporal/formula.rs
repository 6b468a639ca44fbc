//! Formulas between the terms of a module and the tables of `logic`.

use crate::base::{Name, Span};
use crate::logic::{Cube, Formula, Formulas, Node as Logic, PropId};
use crate::sorts::{Node, OpId, Special, Tree};

/// The operators that formulas are made of, as a hook names them.
pub struct Connectives {
    truth: OpId,
    falsity: OpId,
    not: OpId,
    next: OpId,
    and: OpId,
    or: OpId,
    pub until: OpId,
    release: OpId,
}

/// The operator that a hook names.
pub fn hook_op(special: &Special, name: &str) -> Option<OpId> {
    let name = Name::new(name);
    special.ops.iter().find(|(hook, _)| *hook == name).map(|(_, op)| *op)
}

/// The term that a hook names.
pub fn hook_term<'a>(special: &'a Special, name: &str) -> Option<&'a Tree> {
    let name = Name::new(name);
    special.terms.iter().find(|(hook, _)| *hook == name).map(|(_, term)| term)
}

/// An operator over arguments; an associative one may have any number of them.
pub fn apply(op: OpId, args: &[Tree]) -> Tree {
    let mut tree = Tree::default();
    args.iter().for_each(|arg| tree.append(arg));
    tree.push(Node::App { op, arity: args.len() as u32 }, Span::default());
    tree
}

impl Connectives {
    pub fn of(special: &Special) -> Option<Connectives> {
        let op = |name| hook_op(special, name);
        Some(Connectives {
            truth: op("trueSymbol")?,
            falsity: op("falseSymbol")?,
            not: op("notSymbol")?,
            next: op("nextSymbol")?,
            and: op("andSymbol")?,
            or: op("orSymbol")?,
            until: op("untilSymbol")?,
            release: op("releaseSymbol")?,
        })
    }

    /// The negation of a formula, not reduced.
    pub fn negated(&self, formula: &Tree) -> Tree {
        apply(self.not, std::slice::from_ref(formula))
    }

    pub fn is_constant(&self, op: OpId) -> bool {
        op == self.truth || op == self.falsity
    }

    /// Reads a reduced formula. Whatever is not made by these operators is a proposition; new ones
    /// are added.
    pub fn read(&self, tree: &Tree, formulas: &mut Formulas, props: &mut Vec<Tree>) -> Formula {
        // Post-order with an explicit stack: places to visit, and places whose arguments are done.
        let mut done: Vec<Formula> = Vec::new();
        let mut work = vec![(tree.root(), false)];
        while let Some((at, is_ready)) = work.pop() {
            let op = tree.node(at).op().filter(|&op| self.arity(op) == Some(tree.node(at).arity()));
            let Some(op) = op else {
                let subtree = tree.subtree(at);
                let place = props.iter().position(|prop| *prop == subtree).unwrap_or_else(|| {
                    props.push(subtree);
                    props.len() - 1
                });
                done.push(formulas.prop(PropId::from_index(place)));
                continue;
            };
            if !is_ready {
                work.push((at, true));
                work.extend(tree.args(at).into_iter().rev().map(|arg| (arg, false)));
                continue;
            }
            let args = done.split_off(done.len() - tree.node(at).arity());
            done.push(formulas.add(self.node(op, &args)));
        }
        done.pop().expect("a tree has a root")
    }

    fn arity(&self, op: OpId) -> Option<usize> {
        if self.is_constant(op) {
            Some(0)
        } else if op == self.not || op == self.next {
            Some(1)
        } else {
            [self.and, self.or, self.until, self.release].contains(&op).then_some(2)
        }
    }

    fn node(&self, op: OpId, args: &[Formula]) -> Logic {
        match *args {
            [f] if op == self.not => Logic::Not(f),
            [f] => Logic::Next(f),
            [f, g] if op == self.and => Logic::And(f, g),
            [f, g] if op == self.or => Logic::Or(f, g),
            [f, g] if op == self.until => Logic::Until(f, g),
            [f, g] => Logic::Release(f, g),
            _ if op == self.truth => Logic::True,
            _ => Logic::False,
        }
    }

    /// What a letter of a word must satisfy, as a formula.
    pub fn letter(&self, cube: Cube, props: &[Tree]) -> Tree {
        let literals = props.iter().enumerate().filter_map(|(bit, prop)| {
            if cube.pos >> bit & 1 == 1 {
                Some(prop.clone())
            } else if cube.neg >> bit & 1 == 1 {
                Some(self.negated(prop))
            } else {
                None
            }
        });
        literals
            .reduce(|all, literal| apply(self.and, &[all, literal]))
            .unwrap_or_else(|| apply(self.truth, &[]))
    }
}
