//! Formulas of linear temporal logic as data: a table of shared nodes.
//!
//! A [`Formula`] is a number in a [`Formulas`] table. Equal formulas have equal numbers, and a
//! formula's number is larger than those of its parts, so every algorithm here is one loop over
//! [`Formulas::parts`] instead of a recursion. The core operators are those that Maude's LTL module
//! leaves in a normal form; the others are functions that build them.

use crate::index_type;
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

index_type! {
    /// An atomic proposition; what it means is known to whoever evaluates it.
    PropId
}
index_type! {
    /// A formula of one [`Formulas`] table.
    Formula
}

/// The top of a formula.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    True,
    False,
    Prop(PropId),
    Not(Formula),
    And(Formula, Formula),
    Or(Formula, Formula),
    /// `O f`: in the next state.
    Next(Formula),
    /// `f U g`: g at some time, f until then.
    Until(Formula, Formula),
    /// `f R g`: g up to and including the moment of f, or for ever.
    Release(Formula, Formula),
}

impl Node {
    /// The parts, left to right.
    pub fn children(self) -> impl Iterator<Item = Formula> {
        let (a, b) = match self {
            Node::True | Node::False | Node::Prop(_) => (None, None),
            Node::Not(f) | Node::Next(f) => (Some(f), None),
            Node::And(f, g) | Node::Or(f, g) | Node::Until(f, g) | Node::Release(f, g) => (Some(f), Some(g)),
        };
        a.into_iter().chain(b)
    }
}

/// A table of formulas.
#[derive(Clone, Default, Debug)]
pub struct Formulas {
    /// Parts stand before what is made of them.
    nodes: IndexSet<Node, FxBuildHasher>,
}

impl Formulas {
    /// The formula with this top, exactly as given.
    pub fn add(&mut self, node: Node) -> Formula {
        debug_assert!(node.children().all(|f| f.index() < self.nodes.len()));
        Formula::from_index(self.nodes.insert_full(node).0)
    }

    /// The top of a formula.
    pub fn node(&self, formula: Formula) -> Node {
        self.nodes[formula.index()]
    }

    /// The formula and everything it is made of, each once, parts first.
    pub fn parts(&self, formula: Formula) -> Vec<Formula> {
        let mut wanted = vec![false; formula.index() + 1];
        wanted[formula.index()] = true;
        for index in (0..=formula.index()).rev() {
            if wanted[index] {
                for child in self.nodes[index].children() {
                    wanted[child.index()] = true;
                }
            }
        }
        (0..=formula.index()).filter(|&index| wanted[index]).map(Formula::from_index).collect()
    }

    /// The parts in order, which refer to each other by their places in it: equal formulas have equal
    /// outlines, whatever else there is.
    pub fn outline(&self, formula: Formula) -> Vec<Node> {
        let parts = self.parts(formula);
        let place = |f: Formula| Formula::from_index(parts.binary_search(&f).expect("a part"));
        let outlined = |&part: &Formula| match self.node(part) {
            Node::Not(f) => Node::Not(place(f)),
            Node::And(f, g) => Node::And(place(f), place(g)),
            Node::Or(f, g) => Node::Or(place(f), place(g)),
            Node::Next(f) => Node::Next(place(f)),
            Node::Until(f, g) => Node::Until(place(f), place(g)),
            Node::Release(f, g) => Node::Release(place(f), place(g)),
            leaf @ (Node::True | Node::False | Node::Prop(_)) => leaf,
        };
        parts.iter().map(outlined).collect()
    }

    /// The propositions of a formula in ascending order.
    pub fn props(&self, formula: Formula) -> Vec<PropId> {
        let mut props: Vec<PropId> = self
            .parts(formula)
            .into_iter()
            .filter_map(|f| if let Node::Prop(p) = self.node(f) { Some(p) } else { None })
            .collect();
        props.sort_unstable();
        props
    }

    /// Whether the formula has no temporal operator.
    pub fn is_boolean(&self, formula: Formula) -> bool {
        let temporal = |f| matches!(self.node(f), Node::Next(_) | Node::Until(..) | Node::Release(..));
        !self.parts(formula).into_iter().any(temporal)
    }

    /// Negation normal form: negations stand only before propositions. Constants are folded.
    pub fn normal(&mut self, formula: Formula) -> Formula {
        self.normal_of(formula, true)
    }

    /// The negation in negation normal form.
    pub fn negated(&mut self, formula: Formula) -> Formula {
        self.normal_of(formula, false)
    }

    fn normal_of(&mut self, formula: Formula, positive: bool) -> Formula {
        // Both polarities of every part; the unused ones cost little.
        let parts = self.parts(formula);
        let mut forms = vec![(Formula(0), Formula(0)); formula.index() + 1];
        for part in parts {
            let at = |f: Formula| forms[f.index()];
            let pair = match self.node(part) {
                Node::True => (self.constant(true), self.constant(false)),
                Node::False => (self.constant(false), self.constant(true)),
                Node::Prop(_) => (part, self.add(Node::Not(part))),
                Node::Not(f) => (at(f).1, at(f).0),
                Node::And(f, g) => (self.and(at(f).0, at(g).0), self.or(at(f).1, at(g).1)),
                Node::Or(f, g) => (self.or(at(f).0, at(g).0), self.and(at(f).1, at(g).1)),
                Node::Next(f) => (self.next(at(f).0), self.next(at(f).1)),
                Node::Until(f, g) => (self.until(at(f).0, at(g).0), self.release(at(f).1, at(g).1)),
                Node::Release(f, g) => (self.release(at(f).0, at(g).0), self.until(at(f).1, at(g).1)),
            };
            forms[part.index()] = pair;
        }
        let (yes, no) = forms[formula.index()];
        if positive { yes } else { no }
    }
}

/// Builders that fold constants and equal arguments.
impl Formulas {
    /// `True` or `False`.
    pub fn constant(&mut self, value: bool) -> Formula {
        self.add(if value { Node::True } else { Node::False })
    }

    /// A proposition.
    pub fn prop(&mut self, prop: PropId) -> Formula {
        self.add(Node::Prop(prop))
    }

    /// `~ f`
    pub fn not(&mut self, f: Formula) -> Formula {
        match self.node(f) {
            Node::True => self.constant(false),
            Node::False => self.constant(true),
            Node::Not(inner) => inner,
            _ => self.add(Node::Not(f)),
        }
    }

    /// `f /\ g`
    pub fn and(&mut self, f: Formula, g: Formula) -> Formula {
        match (self.node(f), self.node(g)) {
            (Node::False, _) | (_, Node::True) => f,
            (_, Node::False) | (Node::True, _) => g,
            _ if f == g => f,
            _ => self.add(Node::And(f, g)),
        }
    }

    /// `f \/ g`
    pub fn or(&mut self, f: Formula, g: Formula) -> Formula {
        match (self.node(f), self.node(g)) {
            (Node::True, _) | (_, Node::False) => f,
            (_, Node::True) | (Node::False, _) => g,
            _ if f == g => f,
            _ => self.add(Node::Or(f, g)),
        }
    }

    /// `O f`
    pub fn next(&mut self, f: Formula) -> Formula {
        match self.node(f) {
            Node::True | Node::False => f,
            _ => self.add(Node::Next(f)),
        }
    }

    /// `f U g`
    pub fn until(&mut self, f: Formula, g: Formula) -> Formula {
        match (self.node(f), self.node(g)) {
            (_, Node::True | Node::False) | (Node::False, _) => g,
            _ if f == g => g,
            _ => self.add(Node::Until(f, g)),
        }
    }

    /// `f R g`
    pub fn release(&mut self, f: Formula, g: Formula) -> Formula {
        match (self.node(f), self.node(g)) {
            (_, Node::True | Node::False) | (Node::True, _) => g,
            _ if f == g => g,
            _ => self.add(Node::Release(f, g)),
        }
    }

    /// `<> f`: at some time.
    pub fn eventually(&mut self, f: Formula) -> Formula {
        let always = self.constant(true);
        self.until(always, f)
    }

    /// `[] f`: at all times.
    pub fn always(&mut self, f: Formula) -> Formula {
        let never = self.constant(false);
        self.release(never, f)
    }

    /// `f -> g`
    pub fn implies(&mut self, f: Formula, g: Formula) -> Formula {
        let not = self.not(f);
        self.or(not, g)
    }

    /// `f <-> g`
    pub fn equivalent(&mut self, f: Formula, g: Formula) -> Formula {
        let (there, back) = (self.implies(f, g), self.implies(g, f));
        self.and(there, back)
    }

    /// `f W g`: `f U g`, or f for ever.
    pub fn weak_until(&mut self, f: Formula, g: Formula) -> Formula {
        let (until, always) = (self.until(f, g), self.always(f));
        self.or(until, always)
    }

    /// `f |-> g`: whenever f, then g at that time or later.
    pub fn leads_to(&mut self, f: Formula, g: Formula) -> Formula {
        let later = self.eventually(g);
        let step = self.implies(f, later);
        self.always(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::text::{parse, print};

    #[track_caller]
    fn check_negated(text: &str, expected: &str) {
        let mut formulas = Formulas::default();
        let formula = parse(&mut formulas, text).expect("well-formed");
        let negated = formulas.negated(formula);
        assert_eq!(print(&formulas, negated), expected);
    }

    #[test]
    fn negation_goes_down() {
        check_negated("p0", "~ p0");
        check_negated("[] p0", "<> ~ p0");
        check_negated("p0 U p1", "~ p0 R ~ p1");
        check_negated("O (p0 /\\ ~ p1)", "O (~ p0 \\/ p1)");
        check_negated("p0 |-> p1", "<> (p0 /\\ [] ~ p1)");
        check_negated("True", "False");
    }

    #[test]
    fn deep_formulas_need_no_native_stack() {
        let mut formulas = Formulas::default();
        let mut formula = formulas.prop(PropId(0));
        for _ in 0..200_000 {
            formula = formulas.add(Node::Next(formula));
        }
        let negated = formulas.negated(formula);
        assert_eq!(formulas.parts(negated).len(), 200_002);
        assert_eq!(formulas.props(negated), vec![PropId(0)]);
    }
}
