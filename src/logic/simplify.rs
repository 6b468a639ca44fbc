//! Simpler formulas by equality saturation: all forms that LTL's identities give a formula, held at
//! once in an e-graph, and from them the one with the smallest automaton.
//!
//! The identities are those of Etessami and Holzmann (CONCUR 2000), of Somenzi and Bloem (CAV 2000),
//! and the usual laws. An analysis notes which classes of equal formulas are pure eventualities
//! (stay true when letters are put in front) and pure universalities (stay true on every suffix).
//! Limits count nodes and rounds, never time, so that the same formula always gives the same result.
//! This is the only place that knows egg.

use super::automaton::Automaton;
use super::formula::{Formula, Formulas, Node, PropId};
use super::translate::{SizeLimits, TranslateError, translate};
use egg::{
    Analysis, CostFunction, DidMerge, EGraph, Extractor, Id, Language, RecExpr, Rewrite, Runner, Subst,
};
use std::sync::OnceLock;
use std::time::Duration;

/// A formula and its automaton.
#[derive(Clone, Debug)]
pub struct Simplified {
    /// In negation normal form.
    pub formula: Formula,
    pub automaton: Automaton,
}

/// Nodes of the e-graph at which rewriting stops.
const NODES_MAX: usize = 2_000;
/// Rounds of rewriting.
const ROUNDS_MAX: usize = 8;
/// Formulas with more parts are translated as they are.
const PARTS_MAX: usize = 150;

/// The equivalent formula with the smallest automaton among several candidates; among those the one
/// with the fewest parts, then the first, the given formula being the first of all.
pub fn simplify(
    formulas: &mut Formulas,
    formula: Formula,
    limits: SizeLimits,
) -> Result<Simplified, TranslateError> {
    let normal = formulas.normal(formula);
    let mut best =
        translate(formulas, normal, limits).map(|automaton| Simplified { formula: normal, automaton });
    for candidate in candidates(formulas, normal) {
        // A candidate that grows far beyond the best so far is not worth its reduction.
        let bounds = match &best {
            Ok(best) => limits.near(best.automaton.size()),
            Err(_) => limits,
        };
        let Ok(automaton) = translate(formulas, candidate, bounds) else { continue };
        let size = |formula, automaton: &Automaton| (automaton.size(), formulas.parts(formula).len());
        let better = match &best {
            Ok(best) => size(candidate, &automaton) < size(best.formula, &best.automaton),
            Err(_) => true,
        };
        if better {
            best = Ok(Simplified { formula: candidate, automaton });
        }
    }
    best
}

/// Formulas equal to the given one (in negation normal form), each the cheapest in some respect.
pub(super) fn candidates(formulas: &mut Formulas, normal: Formula) -> Vec<Formula> {
    if formulas.parts(normal).len() > PARTS_MAX {
        return Vec::new();
    }
    let mut rules = rules().to_vec();
    for prop in formulas.props(normal) {
        // `p /\ ~ p` and `p \/ ~ p`, for the propositions at hand.
        for (operator, result) in [("&", "false"), ("|", "true")] {
            let pattern: egg::Pattern<Ltl> =
                format!("({operator} +{0} -{0})", prop.0).parse().expect("a pattern");
            let result: egg::Pattern<Ltl> = result.parse().expect("a pattern");
            let name = format!("literals {operator} {}", prop.0);
            rules.push(Rewrite::new(name, pattern, result).expect("no variables"));
        }
    }
    let runner = Runner::<Ltl, Purity>::default()
        .with_expr(&to_egg(formulas, normal))
        .with_node_limit(NODES_MAX)
        .with_iter_limit(ROUNDS_MAX)
        .with_time_limit(Duration::from_secs(u64::from(u32::MAX)))
        .run(&rules);
    let mut found = Vec::new();
    for cost in COSTS {
        let (_, best) = Extractor::new(&runner.egraph, *cost).find_best(runner.roots[0]);
        let candidate = from_egg(formulas, &best);
        if candidate != normal && !found.contains(&candidate) {
            found.push(candidate);
        }
    }
    found
}

egg::define_language! {
    enum Ltl {
        "true" = True,
        "false" = False,
        "&" = And([Id; 2]),
        "|" = Or([Id; 2]),
        "X" = Next([Id; 1]),
        "U" = Until([Id; 2]),
        "R" = Release([Id; 2]),
        Literal(Literal),
    }
}

/// `+3` or `-3`: proposition 3 or its negation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Literal {
    prop: u32,
    holds: bool,
}

impl std::fmt::Display for Literal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}{}", if self.holds { '+' } else { '-' }, self.prop)
    }
}

impl std::str::FromStr for Literal {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let (holds, number) = match text.split_at_checked(1) {
            Some(("+", number)) => (true, number),
            Some(("-", number)) => (false, number),
            _ => return Err(()),
        };
        Ok(Literal { prop: number.parse().map_err(|_| ())?, holds })
    }
}

fn to_egg(formulas: &Formulas, normal: Formula) -> RecExpr<Ltl> {
    let parts = formulas.parts(normal);
    let mut expression = RecExpr::default();
    let mut ids = vec![Id::from(0); normal.index() + 1];
    for &part in &parts {
        let at = |f: Formula| ids[f.index()];
        let node = match formulas.node(part) {
            Node::True => Ltl::True,
            Node::False => Ltl::False,
            Node::Prop(p) => Ltl::Literal(Literal { prop: p.0, holds: true }),
            Node::Not(f) => match formulas.node(f) {
                Node::Prop(p) => Ltl::Literal(Literal { prop: p.0, holds: false }),
                _ => unreachable!("negations stand before propositions"),
            },
            Node::And(f, g) => Ltl::And([at(f), at(g)]),
            Node::Or(f, g) => Ltl::Or([at(f), at(g)]),
            Node::Next(f) => Ltl::Next([at(f)]),
            Node::Until(f, g) => Ltl::Until([at(f), at(g)]),
            Node::Release(f, g) => Ltl::Release([at(f), at(g)]),
        };
        ids[part.index()] = expression.add(node);
    }
    expression
}

fn from_egg(formulas: &mut Formulas, expression: &RecExpr<Ltl>) -> Formula {
    let mut made: Vec<Formula> = Vec::new();
    for node in expression.as_ref() {
        let at = |id: &Id| made[usize::from(*id)];
        let formula = match node {
            Ltl::True => formulas.constant(true),
            Ltl::False => formulas.constant(false),
            Ltl::Literal(Literal { prop, holds }) => {
                let prop = formulas.prop(PropId(*prop));
                if *holds { prop } else { formulas.not(prop) }
            }
            Ltl::And([f, g]) => formulas.and(at(f), at(g)),
            Ltl::Or([f, g]) => formulas.or(at(f), at(g)),
            Ltl::Next([f]) => formulas.next(at(f)),
            Ltl::Until([f, g]) => formulas.until(at(f), at(g)),
            Ltl::Release([f, g]) => formulas.release(at(f), at(g)),
        };
        made.push(formula);
    }
    *made.last().expect("an expression has a root")
}

/// What is known of all formulas of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Pure {
    is_true: bool,
    is_false: bool,
    eventual: bool,
    universal: bool,
}

#[derive(Clone, Copy, Default, Debug)]
struct Purity;

impl Analysis<Ltl> for Purity {
    type Data = Pure;

    fn make(egraph: &mut EGraph<Ltl, Self>, node: &Ltl, _: Id) -> Pure {
        let of = |id: &Id| egraph[*id].data;
        match node {
            Ltl::True => Pure { is_true: true, is_false: false, eventual: true, universal: true },
            Ltl::False => Pure { is_true: false, is_false: true, eventual: true, universal: true },
            Ltl::Literal(_) => Pure::default(),
            Ltl::Next([f]) => Pure { is_true: false, is_false: false, ..of(f) },
            Ltl::And([f, g]) | Ltl::Or([f, g]) | Ltl::Until([f, g]) | Ltl::Release([f, g]) => {
                let (f, g) = (of(f), of(g));
                let finally = matches!(node, Ltl::Until(_)) && f.is_true;
                let globally = matches!(node, Ltl::Release(_)) && f.is_false;
                Pure {
                    is_true: false,
                    is_false: false,
                    eventual: finally || (f.eventual && g.eventual),
                    universal: globally || (f.universal && g.universal),
                }
            }
        }
    }

    fn merge(&mut self, a: &mut Pure, b: Pure) -> DidMerge {
        let all = Pure {
            is_true: a.is_true | b.is_true,
            is_false: a.is_false | b.is_false,
            eventual: a.eventual | b.eventual,
            universal: a.universal | b.universal,
        };
        let changed = DidMerge(all != *a, all != b);
        *a = all;
        changed
    }
}

type Rule = Rewrite<Ltl, Purity>;

/// Identities, from left to right.
const IDENTITIES: &[(&str, &str)] = &[
    // Conjunction and disjunction.
    ("(& ?a ?b)", "(& ?b ?a)"),
    ("(| ?a ?b)", "(| ?b ?a)"),
    ("(& ?a (& ?b ?c))", "(& (& ?a ?b) ?c)"),
    ("(| ?a (| ?b ?c))", "(| (| ?a ?b) ?c)"),
    ("(& ?a ?a)", "?a"),
    ("(| ?a ?a)", "?a"),
    ("(& ?a true)", "?a"),
    ("(& ?a false)", "false"),
    ("(| ?a false)", "?a"),
    ("(| ?a true)", "true"),
    ("(& ?a (| ?a ?b))", "?a"),
    ("(| ?a (& ?a ?b))", "?a"),
    ("(| (& ?a ?b) (& ?a ?c))", "(& ?a (| ?b ?c))"),
    ("(& (| ?a ?b) (| ?a ?c))", "(| ?a (& ?b ?c))"),
    // Next moves outwards.
    ("(X true)", "true"),
    ("(X false)", "false"),
    ("(& (X ?a) (X ?b))", "(X (& ?a ?b))"),
    ("(| (X ?a) (X ?b))", "(X (| ?a ?b))"),
    ("(U (X ?a) (X ?b))", "(X (U ?a ?b))"),
    ("(R (X ?a) (X ?b))", "(X (R ?a ?b))"),
    ("(U true (X ?a))", "(X (U true ?a))"),
    ("(R false (X ?a))", "(X (R false ?a))"),
    // Constants in until and release.
    ("(U ?a true)", "true"),
    ("(U ?a false)", "false"),
    ("(U false ?a)", "?a"),
    ("(R ?a true)", "true"),
    ("(R ?a false)", "false"),
    ("(R true ?a)", "?a"),
    ("(U ?a ?a)", "?a"),
    ("(R ?a ?a)", "?a"),
    // Until and release absorb each other's parts.
    ("(U ?a (U ?a ?b))", "(U ?a ?b)"),
    ("(R ?a (R ?a ?b))", "(R ?a ?b)"),
    ("(U (U ?a ?b) ?b)", "(U ?a ?b)"),
    ("(R (R ?a ?b) ?b)", "(R ?a ?b)"),
    ("(U true (U ?a ?b))", "(U true ?b)"),
    ("(R false (R ?a ?b))", "(R false ?b)"),
    ("(| ?b (U ?a ?b))", "(U ?a ?b)"),
    ("(& ?b (R ?a ?b))", "(R ?a ?b)"),
    ("(& ?b (U ?a ?b))", "?b"),
    ("(| ?b (R ?a ?b))", "?b"),
    ("(U (| ?a ?b) ?b)", "(U ?a ?b)"),
    ("(R (& ?a ?b) ?b)", "(R ?a ?b)"),
    ("(U ?a (& ?a ?b))", "(& (U ?a (& ?a ?b)) ?a)"),
    ("(R ?b (| ?a ?b))", "(| (U ?a ?b) (R false ?a))"),
    ("(| (U ?a ?b) (R false ?a))", "(R ?b (| ?a ?b))"),
    ("(& (R ?a ?b) (U true ?a))", "(U ?b (& ?a ?b))"),
    // Unfolded forms fold.
    ("(| ?b (& ?a (X (U ?a ?b))))", "(U ?a ?b)"),
    ("(& ?b (| ?a (X (R ?a ?b))))", "(R ?a ?b)"),
    // Common parts.
    ("(& (U ?a ?c) (U ?b ?c))", "(U (& ?a ?b) ?c)"),
    ("(| (R ?a ?c) (R ?b ?c))", "(R (| ?a ?b) ?c)"),
    ("(| (U ?a ?b) (U ?a ?c))", "(U ?a (| ?b ?c))"),
    ("(& (R ?a ?b) (R ?a ?c))", "(R ?a (& ?b ?c))"),
    // Infinitely often, almost always.
    ("(R false (U true (R false ?a)))", "(U true (R false ?a))"),
    ("(U true (R false (U true ?a)))", "(R false (U true ?a))"),
    ("(| (R false (U true ?a)) (R false (U true ?b)))", "(R false (U true (| ?a ?b)))"),
    ("(& (U true (R false ?a)) (U true (R false ?b)))", "(U true (R false (& ?a ?b)))"),
    ("(R false (U true (& ?a (U true ?b))))", "(& (R false (U true ?a)) (R false (U true ?b)))"),
    ("(R false (U ?a ?b))", "(& (R false (| ?a ?b)) (R false (U true ?b)))"),
    ("(U true (R ?a ?b))", "(| (U true (& ?a ?b)) (U true (R false ?b)))"),
];

type Test = fn(Pure) -> bool;

/// Identities that need to know what a class of formulas is like.
const CONDITIONAL: &[(&str, &str, &str, Test)] = &[
    ("(U ?a ?e)", "?e", "?e", |e| e.eventual),
    ("(R ?a ?e)", "?e", "?e", |e| e.universal),
    ("(X ?e)", "?e", "?e", |e| e.eventual && e.universal),
    ("(U ?a (& ?b ?e))", "(& (U ?a ?b) ?e)", "?e", |e| e.eventual && e.universal),
    ("(U ?a (| ?b ?e))", "(| (U ?a ?b) ?e)", "?e", |e| e.eventual),
    ("(R ?a (| ?b ?e))", "(| (R ?a ?b) ?e)", "?e", |e| e.eventual && e.universal),
    ("(R ?a (& ?b ?e))", "(& (R ?a ?b) ?e)", "?e", |e| e.universal),
    ("(X (& ?a ?e))", "(& (X ?a) ?e)", "?e", |e| e.eventual && e.universal),
    ("(X (| ?a ?e))", "(| (X ?a) ?e)", "?e", |e| e.eventual && e.universal),
    ("(U ?e ?b)", "(| ?b (& ?e (U true ?b)))", "?e", |e| e.universal),
    ("(R ?e ?b)", "(& ?b (| ?e (R false ?b)))", "?e", |e| e.eventual),
];

fn rules() -> &'static [Rule] {
    static RULES: OnceLock<Vec<Rule>> = OnceLock::new();
    RULES.get_or_init(|| {
        let pattern = |text: &str| text.parse::<egg::Pattern<Ltl>>().expect("a pattern");
        let plain = IDENTITIES.iter().map(|(left, right)| {
            Rewrite::new(format!("{left} = {right}"), pattern(left), pattern(right)).expect("bound variables")
        });
        let conditional = CONDITIONAL.iter().map(|(left, right, variable, test)| {
            let variable: egg::Var = variable.parse().expect("a variable");
            let condition = move |egraph: &mut EGraph<Ltl, Purity>, _: Id, subst: &Subst| {
                test(egraph[subst[variable]].data)
            };
            let applier = egg::ConditionalApplier { condition, applier: pattern(right) };
            Rewrite::new(format!("{left} = {right} if {variable}"), pattern(left), applier)
                .expect("bound variables")
        });
        plain.chain(conditional).collect()
    })
}

/// What the parts of a formula cost: `/\` and `\/`, `O`, `U`, `R`.
#[derive(Clone, Copy, Debug)]
struct Cost {
    boolean: u64,
    next: u64,
    until: u64,
    release: u64,
}

/// Each finds another candidate.
const COSTS: &[Cost] = &[
    Cost { boolean: 1, next: 1, until: 1, release: 1 },
    Cost { boolean: 1, next: 3, until: 20, release: 10 },
    Cost { boolean: 1, next: 20, until: 3, release: 3 },
    Cost { boolean: 1, next: 2, until: 5, release: 30 },
];

impl CostFunction<Ltl> for Cost {
    type Cost = u64;

    fn cost<C: FnMut(Id) -> u64>(&mut self, node: &Ltl, mut costs: C) -> u64 {
        let own = match node {
            Ltl::True | Ltl::False | Ltl::Literal(_) => 1,
            Ltl::And(_) | Ltl::Or(_) => self.boolean,
            Ltl::Next(_) => self.next,
            Ltl::Until(_) => self.until,
            Ltl::Release(_) => self.release,
        };
        node.fold(own, |sum, id| sum.saturating_add(costs(id)))
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
        let best = simplify(&mut formulas, formula, SizeLimits::default()).expect("small");
        assert_eq!(print(&formulas, best.formula), expected, "{:?}", best.automaton.size());
    }

    #[test]
    fn identities() {
        check("<> <> p0", "<> p0");
        check("[] <> <> p0", "[] <> p0");
        check("p0 /\\ p1 /\\ p0 \\/ p0", "p0");
        check("<> (p0 U p1)", "<> p1");
        check("[] <> [] <> p0", "[] <> p0");
        check("O [] <> p0", "[] <> p0");
        check("p0 \\/ ~ p0", "True");
    }
}
