//! The revised module of layered divide & conquer model checking (Phyo, Do, Ogata): states
//! `{ soup }` get a component `depth: D`, every rule counts it up while `D < Bound`, and what has
//! reached the bound stutters. So all runs of so many steps can be searched and model checked.
//!
//! Modules without rules are imported as before. A module cannot be imported without its rules, so
//! those that have some, and those that import them, are written out. What is written in them stays
//! as it is, but for rules and for equations of `|=` that would see the new component.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::translate::Translator;
use super::unit::{Origin, OwnStatements, Unit};
use super::{Equation, Fragment, Module, Modules, Rule, StatementAttrs};
use crate::base::{FileId, Name, Span};
use crate::mixfix::{
    PrintOptions, Vars, print, print_attributes, print_condition, print_equation, print_membership,
    print_rule,
};
use crate::sorts::{Node, OpId, Signature, SortId, Tree, Var};
use crate::syntax::tree::{Bubble, Decl, Item, ModuleDecl, ModuleExpr, ModuleKind, StatementKind, Token};
use crate::syntax::{TokenOrder, parse, tokens};

/// What states look like, over the signature of one flat module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// `{_}`
    pub state: OpId,
    /// What its soups are made by.
    pub soup: OpId,
    /// The sort of components, and that of soups.
    pub element: SortId,
    pub soups: SortId,
}

impl Shape {
    /// Where the components of the state at a place are; nothing if it is no state.
    pub fn components(&self, tree: &Tree, at: usize) -> Option<Vec<usize>> {
        let args = tree.args(at);
        match (tree.node(at), &args[..]) {
            (Node::App { op, .. }, &[soup]) if *op == self.state => Some(self.members(tree, soup)),
            _ => None,
        }
    }

    /// Where the components of the soup at a place are.
    fn members(&self, tree: &Tree, at: usize) -> Vec<usize> {
        match tree.node(at) {
            Node::App { op, .. } if *op == self.soup => {
                tree.args(at).into_iter().flat_map(|arg| self.members(tree, arg)).collect()
            }
            _ => vec![at],
        }
    }

    /// The state with one more component, which stands before a final variable.
    pub fn with(&self, tree: &Tree, component: &Tree) -> Option<Tree> {
        let mut places = self.components(tree, tree.root())?;
        let last = places.pop()?;
        let mut parts: Vec<Tree> = places.into_iter().map(|at| tree.subtree(at)).collect();
        match tree.node(last) {
            Node::Var(_) => parts.extend([component.clone(), tree.subtree(last)]),
            _ => parts.extend([tree.subtree(last), component.clone()]),
        }
        let mut out = Tree::default();
        parts.iter().for_each(|part| out.append(part));
        out.push(Node::App { op: self.soup, arity: parts.len() as u32 }, Span::default());
        out.push(Node::App { op: self.state, arity: 1 }, Span::default());
        Some(out)
    }

    /// The state without the component that this operator makes, and that component.
    pub fn without(&self, sig: &Signature, tree: &Tree, op: OpId) -> Option<(Tree, Tree)> {
        let places = self.components(tree, tree.root())?;
        let (gone, kept): (Vec<usize>, Vec<usize>) =
            places.into_iter().partition(|&at| tree.node(at).op() == Some(op));
        let mut out = Tree::default();
        kept.iter().for_each(|&at| out.append(&tree.subtree(at)));
        match kept.len() {
            0 => out = sig.op(self.soup).axioms.identity.as_ref()?.term.clone(),
            1 => {}
            arity => out.push(Node::App { op: self.soup, arity: arity as u32 }, Span::default()),
        }
        out.push(Node::App { op: self.state, arity: 1 }, Span::default());
        Some((out, tree.subtree(*gone.first()?)))
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Revision<'a> {
    pub module: &'a Arc<Module>,
    pub shape: Shape,
    /// In normal form; if a constant stands for it, that is given a depth.
    pub initial: &'a Tree,
    pub constant: Option<OpId>,
    pub satisfies: OpId,
    /// The sort of propositions, if one is needed that no state has.
    pub proposition: Option<SortId>,
    pub bound: u32,
    /// Equations that come before all others, as written.
    pub equations: &'a [String],
    /// Print with all parentheses?
    pub parens: bool,
}

/// What is new in a revised module.
#[derive(Clone, Debug)]
pub struct RevisedDecl {
    pub decl: ModuleDecl,
    /// `depth:_` and `Bound`, or what they had to be called.
    pub depth: Name,
    pub bound: Name,
    /// The proposition that no state has.
    pub proposition: Option<Name>,
}

/// Why a module cannot be revised.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    Flawed,
    /// An instance or a renaming of a module with rules.
    Derived(Name),
    Rule(String),
    RewriteCondition(String),
    Equation(String),
    /// The module has numbers of its own.
    Nat,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Refusal::Flawed => write!(f, "there are errors in it"),
            Refusal::Derived(name) => write!(f, "{name} has rules, but they are not written there"),
            Refusal::Rule(rule) => {
                write!(f, "this rule does not rewrite a whole state, {{ soup }}, to one: {rule}")
            }
            Refusal::RewriteCondition(rule) => write!(f, "this rule has a condition with =>: {rule}"),
            Refusal::Equation(equation) => {
                write!(f, "one more component of a state would change what this says: {equation}")
            }
            Refusal::Nat => write!(f, "its sort Nat is not that of NAT"),
        }
    }
}

/// A tree over one signature, over another one; nothing if some operator is not there.
pub fn translated(from: &Signature, to: &Signature, tree: &Tree) -> Option<Tree> {
    Translator::new(from, to, None).tree(tree)
}

/// What the revised module of a module is called.
pub fn revised_name(module: Name) -> Name {
    Name::new(&format!("{module}-REVISE"))
}

/// The operator of another signature that an operator is there.
pub fn image(from: &Signature, to: &Signature, op: OpId) -> Option<OpId> {
    Translator::new(from, to, None).op(op)
}

/// Stands for the new component in terms that are about to be printed. No text contains it.
const MARK: &str = "\u{1}";

impl Modules {
    /// The declaration of a revised module.
    pub fn revise(&mut self, revision: &Revision) -> Result<RevisedDecl, Refusal> {
        let module = revision.module;
        if module.flawed {
            return Err(Refusal::Flawed);
        }
        let sig = &module.signature;
        let own_numbers = sig.with_hook("SuccSymbol").map(|op| sig.sorts.kind_of(sig.op(op).decls[0].range));
        let is_nat = |sort: SortId| Some(sig.sorts.kind_of(sort)) == own_numbers;
        if sig.sorts.find(Name::new("Nat")).is_some_and(|sort| !is_nat(sort)) {
            return Err(Refusal::Nat);
        }
        let eyes = Eyes { sig, shape: revision.shape };
        eyes.check(module)?;
        let token = Token { name: module.name, span: Span::default() };
        let unit = self.named(token).map_err(|_| Refusal::Flawed)?;
        let mut writer = Writer {
            revision,
            eyes,
            names: Names::fresh(module),
            marked: FxHashSet::default(),
            done: FxHashSet::default(),
            out: Vec::new(),
            vars: Vec::new(),
        };
        writer.mark(self, &unit);
        writer.marked.insert(unit.key);
        writer.begin();
        writer.unit(self, &unit)?;
        Ok(writer.finish())
    }
}

/// What a revision looks at in terms.
#[derive(Clone, Copy)]
struct Eyes<'a> {
    sig: &'a Signature,
    shape: Shape,
}

impl Eyes<'_> {
    fn root(&self, tree: &Tree) -> Option<OpId> {
        tree.node(tree.root()).op()
    }

    /// The variable at a place, if the new component could be part of its value.
    fn taker(&self, tree: &Tree, at: usize) -> Option<Var> {
        match tree.node(at) {
            Node::Var(var) if self.sig.sorts.leq(self.shape.element, var.sort) => Some(*var),
            _ => None,
        }
    }

    /// Do all equations and memberships at the top of states and soups leave the new component alone?
    fn check(&self, module: &Module) -> Result<(), Refusal> {
        for eq in module.equations.iter().filter(|eq| !eq.attrs.nonexec) {
            if !self.passes(&eq.lhs, Some(&eq.rhs), &eq.condition) {
                return Err(Refusal::Equation(print_equation(self.sig, eq, &PrintOptions::default())));
            }
        }
        for mb in module.memberships.iter().filter(|mb| !mb.attrs.nonexec) {
            if !self.passes(&mb.term, None, &mb.condition) {
                return Err(Refusal::Equation(print_membership(self.sig, mb, &PrintOptions::default())));
            }
        }
        Ok(())
    }

    /// Every variable that could take the new component must hand it on as it is.
    fn passes(&self, lhs: &Tree, rhs: Option<&Tree>, condition: &[Fragment]) -> bool {
        let Some(op) = self.root(lhs) else { return true };
        let places = match self.shape.components(lhs, lhs.root()) {
            Some(places) => places,
            None if op == self.shape.soup => self.shape.members(lhs, lhs.root()),
            None => return true,
        };
        let kept: Vec<Var> = rhs.map_or_else(Vec::new, |rhs| {
            let places =
                self.shape.components(rhs, rhs.root()).unwrap_or_else(|| self.shape.members(rhs, rhs.root()));
            places.into_iter().filter_map(|at| self.taker(rhs, at)).collect()
        });
        let takers: Vec<Var> = places.into_iter().filter_map(|at| self.taker(lhs, at)).collect();
        let is_alone = |var: &Var| takers.iter().filter(|taker| *taker == var).count() == 1;
        let hands_on = |var: &Var| {
            let kept = kept.iter().filter(|other| *other == var).count();
            count(lhs, *var) == 1
                && rhs.is_none_or(|rhs| kept == 1 && count(rhs, *var) == 1)
                && condition.iter().flat_map(Fragment::trees).all(|tree| count(tree, *var) == 0)
        };
        // A variable that stands there twice cannot take what is there once.
        let all = takers.iter().filter(|var| is_alone(var)).all(hands_on);
        // Without a rest, an equation at the top of states would no longer apply.
        all && (op != self.shape.state || takers.iter().any(|var| is_alone(var) && self.is_rest(*var)))
    }

    fn is_rest(&self, var: Var) -> bool {
        self.sig.sorts.leq(self.shape.soups, var.sort)
    }
}

fn count(tree: &Tree, var: Var) -> usize {
    tree.nodes().iter().filter(|node| matches!(node, Node::Var(other) if *other == var)).count()
}

/// Names that the module does not use yet.
struct Names {
    depth: String,
    bound: String,
    proposition: String,
    /// Variables for the depth and for the rest of a soup.
    count: String,
    rest: String,
}

impl Names {
    fn fresh(module: &Module) -> Names {
        let sig = &module.signature;
        let mut variables: FxHashSet<Name> = module.vars.keys().copied().collect();
        let trees = module.rules.iter().flat_map(|rule| [&rule.lhs, &rule.rhs]);
        let trees = trees.chain(module.equations.iter().flat_map(|eq| [&eq.lhs, &eq.rhs]));
        variables.extend(trees.flat_map(Tree::vars).map(|var| var.name));
        let fresh = |prefix: &str, suffix: &str| {
            let mut word = prefix.to_owned();
            loop {
                let name = Name::new(&format!("{word}{suffix}"));
                if sig.named(name).is_empty() && !variables.contains(&name) {
                    return name.to_string();
                }
                word.push('\'');
            }
        };
        Names {
            depth: fresh("depth", ":_"),
            bound: fresh("Bound", ""),
            proposition: fresh("cx", ""),
            count: fresh("D", ""),
            rest: fresh("Rest", ""),
        }
    }

    /// The component with a depth.
    fn component(&self, depth: &str) -> String {
        format!("({})", self.depth.replace('_', &format!(" {depth}")))
    }
}

/// Writes the declarations of modules one after the other.
struct Writer<'a> {
    revision: &'a Revision<'a>,
    eyes: Eyes<'a>,
    names: Names,
    /// Modules that must be written out, and those that are written or imported.
    marked: FxHashSet<Name>,
    done: FxHashSet<Name>,
    out: Vec<Decl>,
    /// Variables declared so far with the names of their sorts.
    vars: Vec<(Name, Name)>,
}

impl Writer<'_> {
    /// Must the module be written out? Then so must all that import it.
    fn mark(&mut self, modules: &mut Modules, unit: &Arc<Unit>) -> bool {
        if self.done.contains(&unit.key) {
            return self.marked.contains(&unit.key);
        }
        self.done.insert(unit.key);
        let marked = unit.imports.iter().filter(|import| self.mark(modules, &import.unit)).count();
        let own = self.own(modules, unit);
        let is_ours = |eq: &Equation| {
            let root = self.eyes.root(&eq.lhs);
            root == Some(self.revision.satisfies) || root.is_some() && root == self.revision.constant
        };
        let is_marked = marked > 0 || !own.rules.is_empty() || own.equations.iter().any(is_ours);
        if is_marked {
            self.marked.insert(unit.key);
        }
        is_marked
    }

    /// The module's own statements, over the signature of the whole.
    fn own(&self, modules: &mut Modules, unit: &Arc<Unit>) -> OwnStatements {
        let own = modules.statements(unit);
        let flat = modules.flat(unit);
        let mut translator = Translator::new(&flat.signature, self.eyes.sig, None);
        OwnStatements {
            memberships: own.memberships.iter().filter_map(|mb| translator.membership(mb)).collect(),
            equations: own.equations.iter().filter_map(|eq| translator.equation(eq)).collect(),
            rules: own.rules.iter().filter_map(|rule| translator.rule(rule)).collect(),
            vars: own.vars.iter().filter_map(|(&name, &sort)| Some((name, translator.sort(sort)?))).collect(),
            flawed: own.flawed,
        }
    }

    /// What all revised modules begin with.
    fn begin(&mut self) {
        self.done.clear();
        let Names { depth, bound, proposition, count, .. } = &self.names;
        let mut text = format!(
            "protecting NAT . op {depth} : Nat -> {} [ctor] . op {bound} : -> Nat . var {count} : Nat . eq {bound} = {} .",
            self.eyes.sig.sorts.name(self.eyes.shape.element),
            self.revision.bound
        );
        if let Some(sort) = self.revision.proposition {
            text.push_str(&format!(" op {proposition} : -> {} .", self.eyes.sig.sorts.name(sort)));
        }
        for equation in self.revision.equations {
            text.push_str(&format!(" {equation}"));
        }
        self.add(&text);
    }

    /// Adds declarations as written.
    fn add(&mut self, text: &str) {
        let text = format!("mod M is {text} endm");
        let (items, _) = parse(&text, FileId::default(), &mut TokenOrder::default());
        for item in items {
            if let Item::Module(module) = item {
                self.out.extend(module.decls);
            }
        }
    }

    /// Writes a module out, after those of its imports that must be.
    fn unit(&mut self, modules: &mut Modules, unit: &Arc<Unit>) -> Result<(), Refusal> {
        if !self.done.insert(unit.key) {
            return Ok(());
        }
        let Origin::Named(decl) = &unit.origin else { return Err(Refusal::Derived(unit.key)) };
        if !unit.params.is_empty() {
            return Err(Refusal::Derived(unit.key));
        }
        let own = self.own(modules, unit);
        let (hidden, vars) = self.variables(&own);
        let options = self.options(&vars);
        let (mut equations, mut memberships, mut rules) = (0, 0, 0);
        for item in &decl.decls {
            match item {
                Decl::Import { module, .. } => self.import(modules, item, module)?,
                Decl::Vars { .. } => {}
                Decl::Statement(statement) => {
                    let next = |place: &mut usize| std::mem::replace(place, *place + 1);
                    let text = match statement.kind {
                        StatementKind::Eq | StatementKind::Ceq => {
                            let eq = own.equations.get(next(&mut equations)).ok_or(Refusal::Flawed)?;
                            self.equation(eq, &options)?
                        }
                        StatementKind::Rl | StatementKind::Crl => {
                            let rule = own.rules.get(next(&mut rules)).ok_or(Refusal::Flawed)?;
                            if rule.attrs.nonexec { None } else { Some(self.rule(rule, &options)?) }
                        }
                        StatementKind::Mb | StatementKind::Cmb => {
                            own.memberships.get(next(&mut memberships)).ok_or(Refusal::Flawed)?;
                            None
                        }
                    };
                    match text {
                        Some(text) => self.add(&text),
                        None => {
                            let mut statement = statement.clone();
                            statement.body = spelt_out(&statement.body, &hidden, self.eyes.sig);
                            self.out.push(Decl::Statement(statement));
                        }
                    }
                }
                _ => self.out.push(item.clone()),
            }
        }
        Ok(())
    }

    /// Declares a module's variables. Those whose name means something else already, which must be
    /// written with their sorts, and those that need not.
    fn variables(&mut self, own: &OwnStatements) -> (Vec<(Name, SortId)>, Vars) {
        let (mut hidden, mut vars) = (Vec::new(), Vars::default());
        for (&name, &sort) in &own.vars {
            let sort_name = self.eyes.sig.sorts.name(sort);
            match self.vars.iter().find(|(known, _)| *known == name) {
                Some((_, known)) if *known != sort_name => {
                    hidden.push((name, sort));
                    continue;
                }
                Some(_) => {}
                None => {
                    self.vars.push((name, sort_name));
                    self.add(&format!("var {name} : {sort_name} ."));
                }
            }
            vars.insert(name, sort);
        }
        vars.insert(Name::new(MARK), self.eyes.shape.element);
        (hidden, vars)
    }

    /// Imports as before, or writes out.
    fn import(&mut self, modules: &mut Modules, item: &Decl, module: &ModuleExpr) -> Result<(), Refusal> {
        let Decl::Import { mode, span, .. } = item else { return Ok(()) };
        if let ModuleExpr::Sum(summands) = module {
            for summand in summands {
                let item = Decl::Import { mode: *mode, module: summand.clone(), span: *span };
                self.import(modules, &item, summand)?;
            }
            return Ok(());
        }
        let unit = modules.evaluate(module, &[]).map_err(|_| Refusal::Flawed)?;
        if self.marked.contains(&unit.key) {
            return self.unit(modules, &unit);
        }
        if self.done.insert(unit.key) {
            self.out.push(item.clone());
        }
        Ok(())
    }

    fn options<'v>(&self, vars: &'v Vars) -> PrintOptions<'v> {
        let with_parens = self.revision.parens;
        PrintOptions { aliases: Some(vars), format: false, with_parens, ..PrintOptions::default() }
    }

    /// A statement as it is printed, with this in the place of the mark.
    fn marked(text: &str, component: &str) -> String {
        text.replace(MARK, component)
    }

    fn mark_tree(&self) -> Tree {
        let var = Var { name: Name::new(MARK), sort: self.eyes.shape.element };
        Tree::leaf(Node::Var(var), Span::default())
    }

    fn rule(&self, rule: &Rule, options: &PrintOptions) -> Result<String, Refusal> {
        let sig = self.eyes.sig;
        let shown = || print_rule(sig, rule, &PrintOptions::default());
        if rule.condition.iter().any(|fragment| matches!(fragment, Fragment::Rewrite(..))) {
            return Err(Refusal::RewriteCondition(shown()));
        }
        let states =
            |tree: &Tree| tree.nodes().iter().filter(|n| n.op() == Some(self.eyes.shape.state)).count();
        let mark = self.mark_tree();
        let sides = [&rule.lhs, &rule.rhs]
            .map(|side| self.eyes.shape.with(side, &mark).filter(|_| states(side) == 1));
        let [Some(lhs), Some(rhs)] = sides else { return Err(Refusal::Rule(shown())) };
        let Names { bound, count, .. } = &self.names;
        let lhs = Self::marked(&print(sig, &lhs, options), &self.names.component(count));
        let rhs = Self::marked(&print(sig, &rhs, options), &self.names.component(&format!("({count} + 1)")));
        let label = rule.attrs.label.map_or_else(String::new, |label| format!("[{label}] : "));
        let attrs = StatementAttrs { label: None, ..rule.attrs.clone() };
        let attrs = print_attributes(sig, &attrs, options);
        let mut condition = print_condition(sig, &rule.condition, options);
        if !condition.is_empty() {
            condition.insert_str(0, " /\\ ");
        }
        Ok(format!("crl {label}{lhs} => {rhs} if {count} < {bound}{condition}{attrs} ."))
    }

    /// What becomes of an equation; nothing if it stays as it is.
    fn equation(&self, eq: &Equation, options: &PrintOptions) -> Result<Option<String>, Refusal> {
        let root = self.eyes.root(&eq.lhs);
        if root.is_some() && root == self.revision.constant {
            // There is a new one at the end.
            return Ok(Some(String::new()));
        }
        if root != Some(self.revision.satisfies) || eq.attrs.nonexec {
            return Ok(None);
        }
        let eq = self.without_state_variable(eq);
        let [state, prop] = eq.lhs.args(eq.lhs.root())[..] else { return Ok(None) };
        let Some(places) = self.eyes.shape.components(&eq.lhs, state) else {
            return match eq.lhs.node(state) {
                // It is not used, so it may be any state.
                Node::Var(_) => Ok(None),
                _ => Err(Refusal::Equation(print_equation(self.eyes.sig, &eq, &PrintOptions::default()))),
            };
        };
        let takers: Vec<Var> = places.into_iter().filter_map(|at| self.eyes.taker(&eq.lhs, at)).collect();
        if let [rest] = takers[..]
            && self.eyes.is_rest(rest)
            && uses(&eq, rest) == 1
        {
            return Ok(None);
        }
        let state = self.eyes.shape.with(&eq.lhs.subtree(state), &self.mark_tree()).ok_or(Refusal::Flawed)?;
        let mut lhs = state;
        lhs.append(&eq.lhs.subtree(prop));
        lhs.push(Node::App { op: self.revision.satisfies, arity: 2 }, Span::default());
        let text = print_equation(self.eyes.sig, &Equation { lhs, ..eq }, options);
        Ok(Some(Self::marked(&text, &self.names.component(&self.names.count))))
    }

    /// `S |= p = f(S)` as `{Rest} |= p = f({Rest})`.
    fn without_state_variable(&self, eq: &Equation) -> Equation {
        let state = eq.lhs.args(eq.lhs.root()).first().map(|&at| eq.lhs.node(at));
        let Some(&Node::Var(var)) = state else { return eq.clone() };
        if uses(eq, var) == 1 {
            return eq.clone();
        }
        let rest = Var { name: Name::new(&self.names.rest), sort: self.eyes.shape.soups };
        let replaced = |tree: &Tree| {
            let mut out = Tree::default();
            for (at, node) in tree.nodes().iter().enumerate() {
                match node {
                    Node::Var(other) if *other == var => {
                        out.push(Node::Var(rest), tree.span(at));
                        out.push(Node::App { op: self.eyes.shape.state, arity: 1 }, tree.span(at));
                    }
                    _ => out.push(node.clone(), tree.span(at)),
                }
            }
            out
        };
        let fragment = |fragment: &Fragment| match fragment {
            Fragment::Equal(a, b) => Fragment::Equal(replaced(a), replaced(b)),
            Fragment::Sort(a, sort) => Fragment::Sort(replaced(a), *sort),
            Fragment::Match(a, b) => Fragment::Match(replaced(a), replaced(b)),
            Fragment::Rewrite(a, b) => Fragment::Rewrite(replaced(a), replaced(b)),
        };
        Equation {
            lhs: replaced(&eq.lhs),
            rhs: replaced(&eq.rhs),
            condition: eq.condition.iter().map(fragment).collect(),
            attrs: eq.attrs.clone(),
        }
    }

    /// The initial state, the stutter rule, and all together.
    fn finish(mut self) -> RevisedDecl {
        let vars = Vars::from_iter([
            (Name::new(MARK), self.eyes.shape.element),
            (Name::new(&self.names.rest), self.eyes.shape.soups),
        ]);
        let options = self.options(&vars);
        let sig = self.eyes.sig;
        let (mark, mut text) = (self.mark_tree(), String::new());
        if let (Some(op), Some(state)) =
            (self.revision.constant, self.eyes.shape.with(self.revision.initial, &mark))
        {
            let state = Self::marked(&print(sig, &state, &options), &self.names.component("0"));
            let constant = Tree::leaf(Node::App { op, arity: 0 }, Span::default());
            text = format!("eq {} = {state} . ", print(sig, &constant, &options));
        }
        let Names { bound, count, rest, .. } = &self.names;
        let mut any = Tree::leaf(
            Node::Var(Var { name: Name::new(rest), sort: self.eyes.shape.soups }),
            Span::default(),
        );
        any.push(Node::App { op: self.eyes.shape.state, arity: 1 }, Span::default());
        let any =
            self.eyes.shape.with(&any, &mark).map_or_else(String::new, |any| print(sig, &any, &options));
        let any = Self::marked(&any, &self.names.component(count));
        text.push_str(&format!(
            "var {rest} : {} . crl [stutter] : {any} => {any} if {count} >= {bound} .",
            sig.sorts.name(self.eyes.shape.soups)
        ));
        self.add(&text);
        let name = revised_name(self.revision.module.name);
        let span = Span::default();
        RevisedDecl {
            decl: ModuleDecl {
                kind: ModuleKind::Mod,
                name: Token { name, span },
                params: Vec::new(),
                decls: self.out,
                span,
            },
            depth: Name::new(&self.names.depth),
            bound: Name::new(&self.names.bound),
            proposition: self.revision.proposition.map(|_| Name::new(&self.names.proposition)),
        }
    }
}

/// How often a variable stands in an equation.
fn uses(eq: &Equation, var: Var) -> usize {
    let conditions = eq.condition.iter().flat_map(Fragment::trees);
    [&eq.lhs, &eq.rhs].into_iter().chain(conditions).map(|tree| count(tree, var)).sum()
}

/// Tokens in which some variables have their sorts.
fn spelt_out(body: &Bubble, hidden: &[(Name, SortId)], sig: &Signature) -> Bubble {
    let spell = |token: &Token| match hidden.iter().find(|(name, _)| *name == token.name) {
        Some((name, sort)) => {
            let text = format!("{name}:{}", sig.sorts.name(*sort));
            tokens(&text, FileId::default(), &mut TokenOrder::default()).0
        }
        None => vec![*token],
    };
    body.iter().flat_map(spell).collect()
}
