//! Carrying parsed terms and statements from one flat signature into another.
//!
//! Bubbles are parsed once, where they were written. Importing, renaming and instantiating
//! modules translate the trees node by node: sorts by name, operators by name and kinds, after
//! a [`Morphism`] if there is one. A view may map an operator to a term; then the arguments
//! are put in place of its variables.

use rustc_hash::FxHashMap;

use super::flatten::{SORT_TEST, sort_test_name};
use super::unit::{Morphism, Target};
use super::{Equation, Fragment, Membership, PrintItem, Rule, StatementAttrs};
use crate::base::Name;
use crate::sorts::{KindId, Node, OpId, Signature, SortId, Tree, Var};

/// From one flat signature to another. Operators are looked up when first met.
pub(super) struct Translator<'a> {
    from: &'a Signature,
    to: &'a Signature,
    morphism: Option<&'a Morphism>,
    sorts: Vec<Option<SortId>>,
    kinds: Vec<Option<KindId>>,
    ops: Vec<Option<Option<Image>>>,
    /// Operators that become terms, already over `to`.
    terms: FxHashMap<OpId, (Vec<Name>, Tree)>,
}

#[derive(Clone, Copy)]
enum Image {
    Op(OpId),
    Term,
}

impl<'a> Translator<'a> {
    pub fn new(from: &'a Signature, to: &'a Signature, morphism: Option<&'a Morphism>) -> Translator<'a> {
        let kind_count = from.sorts.kinds().count();
        let mut sorts = vec![None; from.sorts.declared().count() + kind_count];
        let mut kinds = vec![None; kind_count];
        for id in from.sorts.declared() {
            let name = from.sorts.name(id);
            let image = to.sorts.find(morphism.map_or(name, |m| m.sort(name)));
            sorts[id.index()] = image;
            if let Some(image) = image {
                kinds[from.sorts.kind_of(id).index()].get_or_insert(to.sorts.kind_of(image));
            }
        }
        for (id, kind) in from.sorts.kinds() {
            sorts[kind.error().index()] = kinds[id.index()].map(|k| to.sorts.kind(k).error());
        }
        let mut terms = FxHashMap::default();
        for (&id, target) in morphism.iter().flat_map(|m| &m.ops) {
            if let Target::Term { unit, vars, tree } = target
                && let Some(flat) = unit.flat.get()
                && let Some(tree) = Translator::new(&flat.signature, to, None).tree(tree)
            {
                terms.insert(id, (vars.clone(), tree));
            }
        }
        Translator { from, to, morphism, sorts, kinds, ops: vec![None; from.len()], terms }
    }

    pub fn sort(&self, id: SortId) -> Option<SortId> {
        self.sorts[id.index()]
    }

    pub fn kind(&self, id: KindId) -> Option<KindId> {
        self.kinds[id.index()]
    }

    fn image(&mut self, id: OpId) -> Option<Image> {
        if let Some(known) = self.ops[id.index()] {
            return known;
        }
        let image = self.find(id);
        self.ops[id.index()] = Some(image);
        image
    }

    fn find(&self, id: OpId) -> Option<Image> {
        if self.terms.contains_key(&id) {
            return Some(Image::Term);
        }
        let op = self.from.op(id);
        let test = op.special.as_ref().filter(|s| s.hook.as_str() == SORT_TEST).and_then(|s| s.data.first());
        let name = match self.morphism.and_then(|m| m.ops.get(&id)) {
            Some(Target::Op { name, .. }) => *name,
            _ => match test {
                Some(&sort) => sort_test_name(self.morphism.map_or(sort, |m| m.sort(sort))),
                None => op.name,
            },
        };
        let domain: Option<Vec<KindId>> = op.domain.iter().map(|&k| self.kind(k)).collect();
        self.to.find(name, &domain?, self.kind(op.range)?).map(Image::Op)
    }

    /// The operator's image, unless that is a term.
    pub fn op(&mut self, id: OpId) -> Option<OpId> {
        match self.image(id)? {
            Image::Op(op) => Some(op),
            Image::Term => None,
        }
    }

    fn var(&self, var: Var) -> Option<Var> {
        Some(Var { name: var.name, sort: self.sort(var.sort)? })
    }

    fn node(&mut self, node: &Node) -> Option<Node> {
        Some(match node {
            Node::Var(var) => Node::Var(self.var(*var)?),
            Node::App { op, arity } => Node::App { op: self.op(*op)?, arity: *arity },
            Node::Iter { op, count } => Node::Iter { op: self.op(*op)?, count: count.clone() },
            Node::Str { op, text } => Node::Str { op: self.op(*op)?, text: text.clone() },
            Node::Qid { op, name } => Node::Qid { op: self.op(*op)?, name: *name },
            Node::Float { op, bits } => Node::Float { op: self.op(*op)?, bits: *bits },
        })
    }

    /// The term, or nothing if some sort or operator has no image.
    pub fn tree(&mut self, tree: &Tree) -> Option<Tree> {
        if !self.terms.is_empty() && tree.nodes().iter().any(|n| self.is_term(n)) {
            return self.tree_with_terms(tree);
        }
        let mut out = Tree::with_capacity(tree.len());
        for (at, node) in tree.nodes().iter().enumerate() {
            out.push(self.node(node)?, tree.span(at));
        }
        Some(out)
    }

    fn is_term(&self, node: &Node) -> bool {
        node.op().is_some_and(|op| self.terms.contains_key(&op))
    }

    fn tree_with_terms(&mut self, tree: &Tree) -> Option<Tree> {
        let mut stack: Vec<Tree> = Vec::new();
        for (at, node) in tree.nodes().iter().enumerate() {
            let args = stack.split_off(stack.len().checked_sub(node.arity())?);
            let mut out = Tree::default();
            match node.op().and_then(|op| self.terms.get(&op)) {
                Some((vars, body)) => {
                    // An associative operator may stand over more than two arguments; fold them.
                    let mut args = args;
                    while args.len() > vars.len() && vars.len() == 2 {
                        let last = args.pop()?;
                        let before = args.pop()?;
                        args.push(substitute(body, vars, &[before, last], tree.span(at)));
                    }
                    out = substitute(body, vars, &args, tree.span(at));
                }
                None => {
                    args.iter().for_each(|arg| out.append(arg));
                    out.push(self.node(node)?, tree.span(at));
                }
            }
            stack.push(out);
        }
        stack.pop()
    }

    fn condition(&mut self, condition: &[Fragment]) -> Option<Vec<Fragment>> {
        let mut fragment = |f: &Fragment| {
            Some(match f {
                Fragment::Equal(a, b) => Fragment::Equal(self.tree(a)?, self.tree(b)?),
                Fragment::Sort(t, s) => Fragment::Sort(self.tree(t)?, self.sort(*s)?),
                Fragment::Match(a, b) => Fragment::Match(self.tree(a)?, self.tree(b)?),
                Fragment::Rewrite(a, b) => Fragment::Rewrite(self.tree(a)?, self.tree(b)?),
            })
        };
        condition.iter().map(&mut fragment).collect()
    }

    fn attrs(&self, attrs: &StatementAttrs) -> StatementAttrs {
        let mut out = attrs.clone();
        if let Some(morphism) = self.morphism {
            out.label = attrs.label.map(|label| morphism.label(label));
        }
        for item in out.print.iter_mut().flatten() {
            if let PrintItem::Var(var) = item
                && let Some(image) = self.var(*var)
            {
                *var = image;
            }
        }
        out
    }

    pub fn equation(&mut self, eq: &Equation) -> Option<Equation> {
        Some(Equation {
            lhs: self.tree(&eq.lhs)?,
            rhs: self.tree(&eq.rhs)?,
            condition: self.condition(&eq.condition)?,
            attrs: self.attrs(&eq.attrs),
        })
    }

    pub fn membership(&mut self, mb: &Membership) -> Option<Membership> {
        Some(Membership {
            term: self.tree(&mb.term)?,
            sort: self.sort(mb.sort)?,
            condition: self.condition(&mb.condition)?,
            attrs: self.attrs(&mb.attrs),
        })
    }

    pub fn rule(&mut self, rule: &Rule) -> Option<Rule> {
        Some(Rule {
            lhs: self.tree(&rule.lhs)?,
            rhs: self.tree(&rule.rhs)?,
            condition: self.condition(&rule.condition)?,
            attrs: self.attrs(&rule.attrs),
        })
    }
}

/// The body with its variables replaced by the arguments of the same position.
fn substitute(body: &Tree, vars: &[Name], args: &[Tree], span: crate::base::Span) -> Tree {
    let mut out = Tree::default();
    for node in body.nodes() {
        match node {
            Node::Var(var) => match vars.iter().position(|&v| v == var.name).and_then(|i| args.get(i)) {
                Some(arg) => out.append(arg),
                None => out.push(node.clone(), span),
            },
            _ => out.push(node.clone(), span),
        }
    }
    out
}
