//! What a module calls the things that model checking is about.

use super::formula::{Connectives, apply, hook_op, hook_term};
use crate::base::{Interrupt, Span};
use crate::graph::{RuleId, Stop};
use crate::logic::TranslateError;
use crate::module::Module;
use crate::rewrite::Machine;
use crate::sorts::{Node, OpId, SortId, Tree};

/// The operators that the hook of `modelCheck` names.
pub struct Vocabulary {
    pub connectives: Connectives,
    /// `_|=_`
    pub satisfies: OpId,
    /// What it gives where a proposition holds, and what `modelCheck` gives where a formula does.
    pub truth: Tree,
    qid: OpId,
    unlabeled: OpId,
    deadlock: OpId,
    transition: OpId,
    transitions: OpId,
    nil: OpId,
    counterexample: OpId,
}

impl Vocabulary {
    /// For a module with the operator `modelCheck`.
    pub fn of(module: &Module, op: OpId) -> Option<Vocabulary> {
        let special = module.signature.op(op).special.as_ref()?;
        let op = |name| hook_op(special, name);
        Some(Vocabulary {
            connectives: Connectives::of(special)?,
            satisfies: op("satisfiesSymbol")?,
            truth: hook_term(special, "trueTerm")?.clone(),
            qid: op("qidSymbol")?,
            unlabeled: op("unlabeledSymbol")?,
            deadlock: op("deadlockSymbol")?,
            transition: op("transitionSymbol")?,
            transitions: op("transitionListSymbol")?,
            nil: op("nilTransitionListSymbol")?,
            counterexample: op("counterexampleSymbol")?,
        })
    }

    /// The propositions in a formula as it is written, each once.
    pub fn props_in(&self, module: &Module, tree: &Tree) -> Vec<Tree> {
        let (sig, mut props) = (&module.signature, Vec::new());
        let Some(&sort) = sig.op(self.satisfies).decls.first().and_then(|decl| decl.domain.get(1)) else {
            return props;
        };
        let mut work = vec![tree.root()];
        while let Some(at) = work.pop() {
            let op = tree.node(at).op().map(|op| sig.op(op));
            if op.is_some_and(|op| op.decls.iter().all(|decl| sig.sorts.leq(decl.range, sort))) {
                let prop = tree.subtree(at);
                if !props.contains(&prop) {
                    props.push(prop);
                }
            } else {
                work.extend(tree.args(at).into_iter().rev());
            }
        }
        props
    }

    /// The sort of formulas.
    pub fn formula_sort(&self, module: &Module) -> SortId {
        module.signature.op(self.connectives.until).decls[0].range
    }

    /// Is what a formula was read to be made of a formula? Terms that only have a kind are not, and equations on
    /// formulas do not see them.
    pub fn is_formula(&self, machine: &mut Machine, prop: &Tree) -> Result<bool, Interrupt> {
        let term = machine.reduce(prop)?;
        let (sort, module) = (machine.sort_of(term), &machine.theory.module);
        Ok(module.signature.sorts.leq(sort, self.formula_sort(module)))
    }

    /// `counterexample(prefix, cycle)` for steps of states and rules.
    pub fn counterexample(
        &self,
        module: &Module,
        prefix: &[(Tree, RuleId)],
        cycle: &[(Tree, RuleId)],
    ) -> Tree {
        apply(self.counterexample, &[self.path(module, prefix), self.path(module, cycle)])
    }

    fn path(&self, module: &Module, steps: &[(Tree, RuleId)]) -> Tree {
        let transition = |(state, rule): &(Tree, RuleId)| {
            apply(self.transition, &[state.clone(), self.rule(module, *rule)])
        };
        match steps {
            [] => apply(self.nil, &[]),
            [one] => transition(one),
            _ => {
                let steps: Vec<Tree> = steps.iter().map(transition).collect();
                apply(self.transitions, &steps)
            }
        }
    }

    /// The name of a rule.
    fn rule(&self, module: &Module, rule: RuleId) -> Tree {
        let constant = |op| apply(op, &[]);
        if rule == RuleId::DEADLOCK {
            return constant(self.deadlock);
        }
        match module.rules.get(rule.index()).and_then(|rule| rule.attrs.label) {
            Some(name) => Tree::leaf(Node::Qid { op: self.qid, name }, Span::default()),
            None => constant(self.unlabeled),
        }
    }
}

/// Why there is no verdict, for people.
pub fn reason(stop: &Stop) -> String {
    match stop {
        Stop::Interrupted(Interrupt::Cancelled) => "interrupted".to_owned(),
        Stop::Interrupted(Interrupt::Time) => "the time limit was reached".to_owned(),
        Stop::Interrupted(Interrupt::Memory) => {
            "the memory limit was reached; give it more with --memory".to_owned()
        }
        Stop::Interrupted(Interrupt::Depth) => "`=>` conditions are nested too deeply".to_owned(),
        Stop::States(limit) => format!("more than {limit} states"),
        Stop::Failed(why) => why.clone(),
    }
}

/// Why a formula without an automaton that fits is not decided.
pub fn undecided(error: &TranslateError) -> String {
    let hint = match error {
        TranslateError::TooLarge => {
            "; premises about fairness take less as --fair-strong or --fair-weak of `rwl check`"
        }
        TranslateError::TooManyPropositions => "",
    };
    format!("{error}{hint}")
}
