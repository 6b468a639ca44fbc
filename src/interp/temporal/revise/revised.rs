//! A revised module at work: states with a depth and without, the bound, equations for
//! counterexample states.

use std::sync::Arc;

use crate::base::{Name, Span};
use crate::interp::temporal::formula::{apply, hook_term};
use crate::interp::temporal::vocabulary::Vocabulary;
use crate::logic::PropId;
use crate::mixfix::{PrintOptions, print_equation};
use crate::module::{Equation, Module, RevisedDecl, Shape, StatementAttrs, image, translated};
use crate::sorts::{Node, OpId, Signature, SortId, Tree};
use crate::term::{Symbols, sort_of_tree};

/// See the head of this file.
pub struct Revised {
    pub module: Arc<Module>,
    /// The module as written.
    original: Arc<Module>,
    /// What states look like in the revised module, and in the one as written.
    shape: Shape,
    original_shape: Shape,
    depth: OpId,
    bound: OpId,
    zero: Tree,
    successor: OpId,
    pub satisfies: OpId,
    pub truth: Tree,
    pub props: Vec<Tree>,
    /// The proposition of counterexample states, if the goal is none itself.
    pub found: Option<PropId>,
    /// The proposition that equations are about.
    goal: Option<Tree>,
}

/// What the property is about.
pub struct About<'a> {
    pub props: &'a [Tree],
    /// The proposition that counterexample states are given, unless they need one of their own.
    pub goal: Option<PropId>,
}

impl Revised {
    /// Finds what is needed in the elaborated module. `None` if something is not there.
    pub fn new(
        original: &Arc<Module>,
        original_shape: Shape,
        module: Arc<Module>,
        decl: &RevisedDecl,
        about: &About,
    ) -> Option<Revised> {
        let (from, sig) = (&original.signature, &module.signature);
        let vocabulary = Vocabulary::of(&module, sig.with_hook("ModelCheckerSymbol")?)?;
        let sort = |sort: SortId| sig.sorts.find(from.sorts.name(sort));
        let shape = Shape {
            state: image(from, sig, original_shape.state)?,
            soup: image(from, sig, original_shape.soup)?,
            element: sort(original_shape.element)?,
            soups: sort(original_shape.soups)?,
        };
        let named = |name: Name, arity: usize| {
            sig.named(name).iter().copied().find(|&op| sig.op(op).arity() == arity)
        };
        let successor = sig.with_hook("SuccSymbol")?;
        let zero = hook_term(sig.op(successor).special.as_ref()?, "zeroTerm")?.clone();
        let props = about.props.iter().map(|prop| translated(from, sig, prop));
        let mut props = props.collect::<Option<Vec<Tree>>>()?;
        let mut goal = about.goal.map(|prop| props[prop.index()].clone());
        let mut found = None;
        if let Some(name) = decl.proposition {
            let prop = apply(named(name, 0)?, &[]);
            found = Some(PropId::from_index(props.len()));
            props.push(prop.clone());
            goal = Some(prop);
        }
        Some(Revised {
            shape,
            original_shape,
            depth: named(decl.depth, 1)?,
            bound: named(decl.bound, 0)?,
            zero,
            successor,
            satisfies: vocabulary.satisfies,
            truth: vocabulary.truth,
            props,
            found,
            goal,
            original: original.clone(),
            module,
        })
    }

    fn number(&self, number: u32) -> Tree {
        let mut tree = self.zero.clone();
        if number > 0 {
            tree.push(Node::Iter { op: self.successor, count: number.into() }, Span::default());
        }
        tree
    }

    /// A state as written, with a depth.
    pub fn lift(&self, state: &Tree, depth: u32) -> Result<Tree, String> {
        let is_state = |node: &&Node| node.op() == Some(self.original_shape.state);
        if state.nodes().iter().filter(is_state).count() != 1 {
            return Err("there is a state inside a state, or outside of its soup".to_owned());
        }
        let component = apply(self.depth, &[self.number(depth)]);
        let state = translated(&self.original.signature, &self.module.signature, state);
        let state = state.and_then(|state| self.shape.with(&state, &component));
        state.ok_or_else(|| "a state is no soup".to_owned())
    }

    /// A state without its depth, as written.
    pub fn lower(&self, state: &Tree) -> Result<Tree, String> {
        let sig = &self.module.signature;
        let state = self.shape.without(sig, state, self.depth).map(|(state, _)| state);
        let state = state.and_then(|state| translated(sig, &self.original.signature, &state));
        state.ok_or_else(|| "a state lost its depth".to_owned())
    }

    /// The module with another bound and more equations, which come first.
    pub fn with(&self, bound: u32, equations: &[Equation]) -> Module {
        let mut module = Module::clone(&self.module);
        for eq in &mut module.equations {
            if eq.lhs.node(eq.lhs.root()).op() == Some(self.bound) {
                eq.rhs = self.number(bound);
            }
        }
        module.equations.splice(0..0, equations.iter().cloned());
        module
    }

    /// `s |= q = true` for a state of the revised module.
    pub fn equation(&self, state: &Tree) -> Option<Equation> {
        let lhs = apply(self.satisfies, &[state.clone(), self.goal.clone()?]);
        let rhs = self.truth.clone();
        Some(Equation { lhs, rhs, condition: Vec::new(), attrs: StatementAttrs::default() })
    }

    /// The same as text, for a state as written.
    pub fn equation_text(&self, state: &Tree, depth: u32) -> Option<String> {
        let equation = self.equation(&self.lift(state, depth).ok()?)?;
        let options = PrintOptions { format: false, ..PrintOptions::default() };
        Some(print_equation(&self.module.signature, &equation, &options))
    }
}

/// What states look like if this one, in normal form, is typical; a message if it is no soup in one
/// operator. The sort of components may be given.
pub fn shape_of(
    sig: &Signature,
    symbols: &Symbols,
    state: &Tree,
    element: Option<SortId>,
) -> Result<Shape, String> {
    let root = state.root();
    let args = state.args(root);
    let (&Node::App { op: top, .. }, &[inner]) = (state.node(root), &args[..]) else {
        return Err("it has no operator with one argument at its top, as `{_}` in {a b c}".to_owned());
    };
    // Sums of numbers are no soups.
    let is_soup = |op: OpId| {
        let op = sig.op(op);
        op.axioms.assoc && op.axioms.comm && op.special.is_none()
    };
    let kind = sig.op(top).domain[0];
    let soup = match state.node(inner) {
        Node::App { op, .. } if is_soup(*op) => Some(*op),
        _ => sig.ops().find(|(id, op)| is_soup(*id) && op.range == kind).map(|(id, _)| id),
    };
    let Some(soup) = soup else {
        let name = sig.op(top).name;
        return Err(format!("what is inside {name} is no soup (made by an operator with assoc and comm)"));
    };
    let soups = sig.op(top).decls[0].domain[0];
    let members = match state.node(inner).op() == Some(soup) {
        true => state.args(inner),
        false => vec![inner],
    };
    let identity = sig.op(soup).axioms.identity.as_ref().map(|identity| &identity.term);
    let members = members.into_iter().map(|at| state.subtree(at)).filter(|part| Some(part) != identity);
    let sorts: Vec<SortId> = members.map(|part| sort_of_tree(sig, symbols, &part)).collect();
    let fits = |sort: SortId| sig.sorts.leq(sort, soups) && sorts.iter().all(|&own| sig.sorts.leq(own, sort));
    // The largest sort below that of soups, as a new component may come anywhere.
    let below = sig.sorts.declared().filter(|&sort| {
        sort != soups && sig.sorts.kind_of(sort) == kind && !sig.sorts.is_error(sort) && fits(sort)
    });
    let below: Vec<SortId> = below.collect();
    let largest = below.iter().copied().find(|&a| below.iter().all(|&b| b == a || !sig.sorts.leq(a, b)));
    let element = element.or(largest).unwrap_or(soups);
    match fits(element) {
        true => Ok(Shape { state: top, soup, element, soups }),
        false => Err(format!("its components are not all of sort {}", sig.sorts.name(element))),
    }
}
