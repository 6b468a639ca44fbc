//! What is made of a module when commands need it, and kept: its grammar, its compiled theories
//! and the machines that run them.

use std::sync::Arc;

use super::condition::Conditions;
use super::matching::shapes;
use crate::base::Cancel;
use crate::builtin::BuiltinState;
use crate::mixfix::Grammar;
use crate::module::{Membership, Module};
use crate::rewrite::Machine;
use crate::sorts::Tree;
use crate::syntax::TokenOrder;
use crate::theory::{Options, Theory, VariableOrder};

/// A module at work.
pub struct Compiled {
    pub module: Arc<Module>,
    pub grammar: Grammar,
    variables: VariableOrder,
    plain: Option<Machine>,
    traced: Option<Machine>,
}

/// What machines are made with.
pub struct Making<'a> {
    pub order: &'a TokenOrder,
    pub cancel: &'a Cancel,
    pub random_seed: u32,
    pub memory_max: Option<usize>,
}

impl Compiled {
    pub fn new(module: Arc<Module>, order: &TokenOrder) -> Compiled {
        let grammar = Grammar::new(&module.signature);
        let variables = VariableOrder::new(&module, order);
        Compiled { module, grammar, variables, plain: None, traced: None }
    }

    /// A machine that knows the order of the variables of these terms.
    pub fn machine(&mut self, trace: bool, trees: &[&Tree], making: &Making) -> &mut Machine {
        let mut is_new = false;
        for tree in trees {
            is_new |= self.variables.note(&self.module.signature, tree, making.order);
        }
        // A theory numbers variables once for all; new ones in a command ask for a new theory.
        if is_new {
            (self.plain, self.traced) = (None, None);
        }
        let place = if trace { &mut self.traced } else { &mut self.plain };
        place.get_or_insert_with(|| {
            let options = Options { trace, sort_order: self.variables.sorts.clone() };
            let make = |module: Arc<Module>| {
                let theory = Theory::new(module, self.variables.names.clone(), &options);
                let mut machine = Machine::new(Arc::new(theory), making.cancel.clone());
                machine.state = BuiltinState::new(making.random_seed);
                if let Some(bytes) = making.memory_max {
                    machine.memory_max = (bytes / 4).min(machine.memory_max);
                }
                machine
            };
            let mut module = self.module.clone();
            while let Some(index) = conditional_fact(&module, &mut || make(module.clone())) {
                Arc::make_mut(&mut module).memberships[index].condition.clear();
            }
            make(module)
        })
    }

    pub fn clear_memo(&mut self) {
        for machine in self.plain.iter_mut().chain(&mut self.traced) {
            machine.clear_memo();
        }
    }
}

/// A conditional membership of a constant whose condition holds. Constants have no place for a
/// sort of their own, so such memberships are decided before the theory is used, and stated as
/// facts.
fn conditional_fact(module: &Arc<Module>, make: &mut dyn FnMut() -> Machine) -> Option<usize> {
    let is_open = |mb: &Membership| {
        !mb.attrs.nonexec && !mb.condition.is_empty() && mb.term.len() == 1 && mb.term.vars().is_empty()
    };
    if !module.memberships.iter().any(is_open) {
        return None;
    }
    let (mut machine, shapes) = (make(), shapes(module));
    module.memberships.iter().position(|mb| {
        let mut found = Vec::new();
        let mut conditions = Conditions { machine: &mut machine, shapes: &shapes };
        is_open(mb) && conditions.solve(&mb.condition, Vec::new(), &mut found).is_ok() && !found.is_empty()
    })
}
