//! A counterexample as people read it: states as text, with their components and what is true there.

use crate::check::Lasso;
use crate::graph::{ModelRegion, ModelWorker, Region, RuleId, Seed, State, Stop, Worker};
use crate::logic::{Formula, Formulas};
use crate::module::Module;
use crate::report::{Run, Step};
use crate::sorts::{Operator, Signature, Tree};

/// Where the states of a run are found.
pub trait States {
    /// The term of a state, and which propositions hold there.
    fn look(&mut self, state: State) -> Result<(Tree, u64), Stop>;
}

impl States for ModelWorker<'_> {
    fn look(&mut self, state: State) -> Result<(Tree, u64), Stop> {
        Ok((self.term(state)?, self.props(state)?))
    }
}

/// States by their positions among seeds.
pub struct Planted<'a> {
    pub region: ModelRegion<'a>,
    pub seeds: Vec<Seed>,
}

impl States for Planted<'_> {
    fn look(&mut self, state: State) -> Result<(Tree, u64), Stop> {
        let seed = self.seeds[state as usize];
        let here = self.region.plant(seed)?;
        Ok((self.region.term(seed)?, self.region.visit(here, &|_| false, &mut Vec::new())?))
    }
}

/// Describes runs of a model.
pub struct Describer<'a, S> {
    pub module: &'a Module,
    pub states: S,
    pub props: &'a [String],
}

impl<S: States> Describer<'_, S> {
    pub fn run(
        &mut self,
        formulas: &Formulas,
        formula: Formula,
        lasso: &Lasso,
        print: &dyn Fn(&Tree) -> String,
    ) -> Result<Run, Stop> {
        let shown = formulas.props(formula);
        let mut steps = Vec::new();
        for step in &lasso.steps {
            let (tree, truth) = self.states.look(step.state)?;
            let holds = shown.iter().filter(|prop| truth >> prop.index() & 1 == 1);
            steps.push(Step {
                state: print(&tree),
                components: Parts { sig: &self.module.signature, tree: &tree, print, out: Vec::new() }.all(),
                rule: self.rule(step.rule),
                props: holds.map(|prop| self.props[prop.index()].clone()).collect(),
            });
        }
        Ok(Run { steps, back: lasso.back })
    }

    fn rule(&self, rule: RuleId) -> Option<String> {
        if rule == RuleId::END {
            return None;
        }
        if rule == RuleId::DEADLOCK {
            return Some("deadlock".to_owned());
        }
        let label = self.module.rules.get(rule.index()).and_then(|rule| rule.attrs.label);
        Some(label.map_or_else(|| "unlabeled".to_owned(), |label| label.to_string()))
    }
}

/// The components of a state: the elements of its soup, which may be wrapped, or its arguments, or all
/// of it. Elements of soups inside, and attributes of objects, are components of their own: `net: m(1)`, `'a.count: 3`.
struct Parts<'a> {
    sig: &'a Signature,
    tree: &'a Tree,
    print: &'a dyn Fn(&Tree) -> String,
    out: Vec<String>,
}

impl Parts<'_> {
    fn all(mut self) -> Vec<String> {
        let root = self.tree.root();
        let args = self.tree.args(root);
        match args[..] {
            _ if self.is_soup(root) => self.collect(root, ""),
            [one] if self.may_be_soup(root, 0) => self.collect(one, ""),
            [] | [_] => self.collect(root, ""),
            // A tuple, perhaps of soups. What is in the only soup needs no place.
            _ => {
                let places: Vec<bool> = (0..args.len()).map(|place| self.may_be_soup(root, place)).collect();
                let has_one_soup = places.iter().filter(|&&may| may).count() == 1;
                for (place, (&arg, &may_be_soup)) in args.iter().zip(&places).enumerate() {
                    let label = format!("#{}: ", place + 1);
                    self.collect(arg, if has_one_soup && may_be_soup { "" } else { &label });
                }
            }
        }
        self.out
    }

    fn text(&self, at: usize) -> String {
        (self.print)(&self.tree.subtree(at))
    }

    fn is_soup(&self, at: usize) -> bool {
        self.tree.node(at).op().is_some_and(|op| is_soup(self.sig.op(op)))
    }

    /// Can an argument be a soup? (In other states it may be one where it is a single element here.)
    fn may_be_soup(&self, at: usize, place: usize) -> bool {
        let Some(op) = self.tree.node(at).op() else { return false };
        let Some(&kind) = self.sig.op(op).domain.get(place) else { return false };
        // `_and_` and `_+_` make no collections.
        let collects = |op: &Operator| op.axioms.identity.is_some() || op.decls.iter().any(|decl| decl.ctor);
        self.is_soup(self.tree.args(at)[place])
            || self.sig.ops().any(|(_, op)| op.range == kind && is_soup(op) && collects(op))
    }

    /// Adds what is at a place, below a label.
    fn collect(&mut self, at: usize, label: &str) {
        let args = self.tree.args(at);
        if self.is_soup(at) {
            args.into_iter().for_each(|arg| self.collect(arg, label));
            return;
        }
        let op = self.tree.node(at).op().map(|op| self.sig.op(op));
        if let (Some(op), [name, class, attributes]) = (op, &args[..])
            && op.hooks.object
        {
            let name = format!("{label}{}", self.text(*name));
            self.out.push(format!("{name} : {}", self.text(*class)));
            let has_attributes = !self.tree.args(*attributes).is_empty();
            if has_attributes {
                self.collect(*attributes, &format!("{name}."));
            }
            return;
        }
        let text = self.text(at);
        // What stands before the last argument tells which component it is.
        if let Some(&last) = args.last()
            && self.is_soup(last)
        {
            let value = self.text(last);
            let before = [format!("({value})"), value].iter().find_map(|end| text.strip_suffix(end.as_str()));
            if let Some(before) = before.filter(|before| before.contains(char::is_alphanumeric)) {
                self.collect(last, &format!("{label}{before}"));
                return;
            }
        }
        self.out.push(format!("{label}{text}"));
    }
}

fn is_soup(op: &Operator) -> bool {
    op.axioms.assoc && op.axioms.comm
}
