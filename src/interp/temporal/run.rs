//! A counterexample as people read it: states as text, with their components and what is true there.

use crate::check::Lasso;
use crate::graph::{ModelRegion, ModelWorker, Region, RuleId, Seed, State, Stop, Worker};
use crate::logic::{Formula, Formulas};
use crate::module::Module;
use crate::report::{Run, Step};
use crate::sorts::{Node, Signature, Tree};

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
                components: components(&self.module.signature, &tree)
                    .into_iter()
                    .map(|Component { place, at }| {
                        let text = print(&tree.subtree(at));
                        place.map_or(text.clone(), |place| format!("#{place}: {text}"))
                    })
                    .collect(),
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

/// A part of a state.
struct Component {
    /// Which argument it is, or is in, if there are several where it could be.
    place: Option<usize>,
    at: usize,
}

/// The components of a state: the elements of its soup, which may be wrapped, or its arguments, or all
/// of it.
fn components(sig: &Signature, tree: &Tree) -> Vec<Component> {
    let is_soup = |at: usize| match tree.node(at) {
        Node::App { op, .. } => sig.op(*op).axioms.assoc && sig.op(*op).axioms.comm,
        _ => false,
    };
    let root = tree.root();
    let args = tree.args(root);
    let anywhere = |parts: Vec<usize>| parts.into_iter().map(|at| Component { place: None, at }).collect();
    match args[..] {
        _ if is_soup(root) => anywhere(args),
        [one] if is_soup(one) => anywhere(tree.args(one)),
        [] | [_] => anywhere(vec![root]),
        // A tuple, perhaps of soups. What is in the only soup needs no place.
        _ => {
            let has_one_soup = args.iter().filter(|&&arg| is_soup(arg)).count() == 1;
            let of_argument = |(number, arg): (usize, usize)| {
                let place = Some(number + 1).filter(|_| !(has_one_soup && is_soup(arg)));
                let parts = if is_soup(arg) { tree.args(arg) } else { vec![arg] };
                parts.into_iter().map(move |at| Component { place, at })
            };
            args.into_iter().enumerate().flat_map(of_argument).collect()
        }
    }
}
