//! The classes of formulas that people write most, recognised in negation normal form.

use super::{Formula, Formulas, Node};

/// A formula of a simple form; p and q have no temporal operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Property {
    /// `q`, now
    State(Formula),
    /// `[] q`
    Always(Formula),
    /// `<> q`
    Eventual(Formula),
    /// `p U q`
    Until(Formula, Formula),
    /// `p U [] q`
    UntilStable(Formula, Formula),
    /// `p |-> q`; with p `True` it is `[] <> q`.
    LeadsTo(Formula, Formula),
    /// `p |-> [] q`; with p `True` it is `<> [] q`.
    ConditionalStable(Formula, Formula),
}

impl Property {
    /// The class of a formula in negation normal form.
    pub fn of(formulas: &mut Formulas, normal: Formula) -> Option<Property> {
        if formulas.is_boolean(normal) {
            return Some(Property::State(normal));
        }
        if let Some(q) = stable(formulas, normal) {
            return Some(Property::ConditionalStable(formulas.constant(true), q));
        }
        match formulas.node(normal) {
            Node::Until(p, q) if formulas.is_boolean(p) => match always(formulas, q) {
                Some(q) if formulas.is_boolean(q) => Some(Property::UntilStable(p, q)),
                _ if !formulas.is_boolean(q) => None,
                _ if formulas.node(p) == Node::True => Some(Property::Eventual(q)),
                _ => Some(Property::Until(p, q)),
            },
            Node::Release(..) => {
                let body = always(formulas, normal)?;
                if formulas.is_boolean(body) {
                    return Some(Property::Always(body));
                }
                response(formulas, body)
            }
            _ => None,
        }
    }
}

/// The p of `p |-> f` and `[] (p -> f)`, with any temporal f: if p is never true, the formula holds whatever
/// f is. The formula is in negation normal form.
pub fn premise(formulas: &mut Formulas, normal: Formula) -> Option<Formula> {
    let mut work = vec![always(formulas, normal)?];
    let mut now: Option<Formula> = None;
    let mut is_temporal = false;
    while let Some(part) = work.pop() {
        match formulas.node(part) {
            _ if formulas.is_boolean(part) => {
                now = Some(now.map_or(part, |now| formulas.or(now, part)));
            }
            Node::Or(f, g) => work.extend([g, f]),
            _ => is_temporal = true,
        }
    }
    now.filter(|_| is_temporal).map(|now| formulas.negated(now))
}

/// The f of `[] f`.
fn always(formulas: &Formulas, formula: Formula) -> Option<Formula> {
    match formulas.node(formula) {
        Node::Release(never, f) if formulas.node(never) == Node::False => Some(f),
        _ => None,
    }
}

/// The q of `<> [] q`.
fn stable(formulas: &Formulas, formula: Formula) -> Option<Formula> {
    let Node::Until(t, g) = formulas.node(formula) else { return None };
    let q = always(formulas, g)?;
    (formulas.node(t) == Node::True && formulas.is_boolean(q)).then_some(q)
}

/// What `[] body` is, where the body is a disjunction of state formulas and `<> q`, or of state
/// formulas and one `<> [] q`.
fn response(formulas: &mut Formulas, body: Formula) -> Option<Property> {
    let (mut now, mut later) = (formulas.constant(false), formulas.constant(false));
    let mut settled = None;
    let mut work = vec![body];
    while let Some(part) = work.pop() {
        if formulas.is_boolean(part) {
            now = formulas.or(now, part);
            continue;
        }
        match formulas.node(part) {
            Node::Or(f, g) => work.extend([g, f]),
            Node::Until(t, q) if formulas.node(t) == Node::True && formulas.is_boolean(q) => {
                later = formulas.or(later, q);
            }
            _ if settled.is_none() => settled = Some(stable(formulas, part)?),
            _ => return None,
        }
    }
    let trigger = formulas.negated(now);
    match settled {
        None => Some(Property::LeadsTo(trigger, later)),
        Some(q) if formulas.node(later) == Node::False => Some(Property::ConditionalStable(trigger, q)),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::text::{parse, print};

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut formulas = Formulas::default();
        let formula = parse(&mut formulas, text).expect("well-formed");
        let normal = formulas.normal(formula);
        let property = Property::of(&mut formulas, normal);
        let show = |f: Formula| print(&formulas, f);
        let found = match property {
            None => "none".to_owned(),
            Some(Property::State(q)) => format!("state {}", show(q)),
            Some(Property::Always(q)) => format!("always {}", show(q)),
            Some(Property::Eventual(q)) => format!("eventual {}", show(q)),
            Some(Property::Until(p, q)) => format!("{} until {}", show(p), show(q)),
            Some(Property::UntilStable(p, q)) => format!("{} until stable {}", show(p), show(q)),
            Some(Property::LeadsTo(p, q)) => format!("{} leads to {}", show(p), show(q)),
            Some(Property::ConditionalStable(p, q)) => format!("{} then stable {}", show(p), show(q)),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn classes() {
        check("p0 /\\ p1", "state p0 /\\ p1");
        check("[] (p0 -> ~ p1)", "always ~ p0 \\/ ~ p1");
        check("<> p0", "eventual p0");
        check("(p0 /\\ p1) U p2", "p0 /\\ p1 until p2");
        check("p0 U [] p1", "p0 until stable p1");
        check("p0 |-> p1", "p0 leads to p1");
        check("p0 /\\ p1 |-> p2 \\/ p3", "p0 /\\ p1 leads to p2 \\/ p3");
        check("[] <> p0", "True leads to p0");
        check("[] (p0 -> <> p1 \\/ <> p2)", "p0 leads to p1 \\/ p2");
        check("p0 |-> [] p1", "p0 then stable p1");
        check("<> [] p0", "True then stable p0");
        for other in ["[] (p0 -> O p1)", "p0 |-> O p1", "[] (p0 -> <> p1 \\/ <> [] p2)", "O p0"] {
            check(other, "none");
        }
        for other in ["p0 U <> [] p1", "p0 R p1", "(<> p0) U p1", "(<> p0) U [] p1", "p0 U [] <> p1"] {
            check(other, "none");
        }
    }

    #[test]
    fn premises() {
        for (text, expected) in [
            ("p0 |-> p1", Some("p0")),
            ("p0 /\\ ~ p1 |-> [] p2", Some("p0 /\\ ~ p1")),
            ("~ p0 |-> p1", Some("~ p0")),
            ("[] (p0 -> O p1)", Some("p0")),
            ("p0 |-> (p1 |-> p2)", Some("p0")),
            ("[] (p0 -> p1 U p2)", Some("p0")),
            // Which part would be the premise?
            ("[] (p0 -> p1)", None),
            ("[] O p0", None),
            ("O p0 |-> p1", None),
            ("p0 -> <> p1", None),
        ] {
            let mut formulas = Formulas::default();
            let formula = parse(&mut formulas, text).expect("well-formed");
            let normal = formulas.normal(formula);
            let found = premise(&mut formulas, normal).map(|premise| print(&formulas, premise));
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
