//! Formulas that need no automaton.

use crate::logic::{Formula, Formulas, Node, Property};

/// A formula of a simple form over predicates of single states.
#[derive(Clone, Debug)]
pub enum Class {
    /// `[] p`
    Always(Predicate),
    /// `p U q`; with p `True` it is `<> q`, with p `False` it is `q` now.
    Until(Predicate, Predicate),
    /// `p |-> q`; with p `True` it is `[] <> q`.
    LeadsTo(Predicate, Predicate),
    /// `p |-> [] q`; with p `True` it is `<> [] q`.
    LeadsToAlways(Predicate, Predicate),
}

/// A boolean combination of propositions.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// Each refers to earlier ones by position.
    operations: Vec<Operation>,
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Constant(bool),
    Prop(u32),
    Not(u32),
    And(u32, u32),
    Or(u32, u32),
}

impl Predicate {
    /// None if the formula is temporal.
    pub fn new(formulas: &Formulas, formula: Formula) -> Option<Predicate> {
        let parts = formulas.parts(formula);
        let place = |f: Formula| parts.binary_search(&f).expect("a part") as u32;
        let operation = |&part: &Formula| {
            Some(match formulas.node(part) {
                Node::True => Operation::Constant(true),
                Node::False => Operation::Constant(false),
                Node::Prop(prop) => Operation::Prop(prop.0),
                Node::Not(f) => Operation::Not(place(f)),
                Node::And(f, g) => Operation::And(place(f), place(g)),
                Node::Or(f, g) => Operation::Or(place(f), place(g)),
                Node::Next(_) | Node::Until(..) | Node::Release(..) => return None,
            })
        };
        Some(Predicate { operations: parts.iter().map(operation).collect::<Option<Vec<_>>>()? })
    }

    /// Whether it holds of a state with these propositions.
    #[inline]
    pub fn holds(&self, props: u64) -> bool {
        if self.operations.len() > 64 {
            return self.holds_slowly(props);
        }
        let (mut values, mut last) = (0u64, false);
        for (index, operation) in self.operations.iter().enumerate() {
            last = operation.value(props, |f| values >> f & 1 == 1);
            values |= u64::from(last) << index;
        }
        last
    }

    #[cold]
    fn holds_slowly(&self, props: u64) -> bool {
        let mut values: Vec<bool> = Vec::with_capacity(self.operations.len());
        for operation in &self.operations {
            values.push(operation.value(props, |f| values[f as usize]));
        }
        values.last().copied().unwrap_or(false)
    }
}

impl Operation {
    #[inline]
    fn value(self, props: u64, earlier: impl Fn(u32) -> bool) -> bool {
        match self {
            Operation::Constant(value) => value,
            Operation::Prop(prop) => props >> prop & 1 == 1,
            Operation::Not(f) => !earlier(f),
            Operation::And(f, g) => earlier(f) && earlier(g),
            Operation::Or(f, g) => earlier(f) || earlier(g),
        }
    }
}

/// The class of a formula in negation normal form whose propositions are below 64.
pub fn classify(formulas: &mut Formulas, normal: Formula) -> Option<Class> {
    let (yes, no) = (formulas.constant(true), formulas.constant(false));
    let property = Property::of(formulas, normal)?;
    let predicate = |f: Formula| Predicate::new(formulas, f);
    Some(match property {
        Property::State(q) => Class::Until(predicate(no)?, predicate(q)?),
        Property::Always(q) => Class::Always(predicate(q)?),
        Property::Eventual(q) => Class::Until(predicate(yes)?, predicate(q)?),
        Property::Until(p, q) => Class::Until(predicate(p)?, predicate(q)?),
        Property::UntilStable(..) => return None,
        Property::LeadsTo(p, q) => Class::LeadsTo(predicate(p)?, predicate(q)?),
        Property::ConditionalStable(p, q) => Class::LeadsToAlways(predicate(p)?, predicate(q)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::text::parse;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut formulas = Formulas::default();
        let formula = parse(&mut formulas, text).expect("well-formed");
        let normal = formulas.normal(formula);
        let class = match classify(&mut formulas, normal) {
            None => "none",
            Some(Class::Always(_)) => "always",
            Some(Class::Until(..)) => "until",
            Some(Class::LeadsTo(..)) => "leads to",
            Some(Class::LeadsToAlways(..)) => "leads to always",
        };
        assert_eq!(class, expected, "{text}");
    }

    #[test]
    fn classes() {
        check("[] (p0 -> ~ p1)", "always");
        check("<> p0", "until");
        check("(p0 /\\ p1) U p2", "until");
        check("p0", "until");
        check("p0 |-> p1", "leads to");
        check("p0 /\\ p1 |-> p2 \\/ p3", "leads to");
        check("[] <> p0", "leads to");
        check("[] (p0 -> <> p1 \\/ <> p2)", "leads to");
        check("p0 |-> [] p1", "leads to always");
        check("<> [] p0", "leads to always");
        check("p0 U [] p1", "none");
        check("[] (p0 -> O p1)", "none");
        check("p0 |-> O p1", "none");
        check("[] (p0 -> <> p1 \\/ <> [] p2)", "none");
        check("O p0", "none");
    }

    #[test]
    fn predicates() {
        let mut formulas = Formulas::default();
        let formula = parse(&mut formulas, "(p0 /\\ ~ p1) \\/ p2").expect("well-formed");
        let predicate = Predicate::new(&formulas, formula).expect("boolean");
        let holds: Vec<bool> = (0..8).map(|props| predicate.holds(props)).collect();
        assert_eq!(holds, [false, true, false, false, true, true, true, true]);
    }
}
