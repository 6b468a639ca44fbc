//! `initialize[...]` of the layered checker: which module, from where, which formula, and whether it
//! is of the class that was promised.

use std::sync::Arc;

use super::layered::layered_model;
use super::request::Claim;
use super::revise::{Refused, Subject};
use super::solver::{Progress, Session};
use super::soup::{self, Soup};
use super::vocabulary::Vocabulary;
use crate::base::{Diagnostic, Severity, Span};
use crate::graph::ModelSetup;
use crate::interp::{Host, Interpreter};
use crate::logic::{Formula, Formulas, Node, Property};
use crate::mixfix::Grammar;
use crate::module::{Module, revised_name};
use crate::report::Initialized;
use crate::rewrite::Machine;
use crate::sorts::{KindId, Tree};
use crate::syntax::module_expression;
use crate::syntax::tree::{ModuleExpr, Token};
use crate::term::{Symbols, sort_of_tree};

/// The arguments of `initialize`.
struct Arguments<'a> {
    module: &'a [Token],
    init: &'a [Token],
    form: Form,
    formulas: Vec<&'a [Token]>,
    /// The sorts of components and of soups.
    sorts: Option<[&'a [Token]; 2]>,
}

/// Which formulas are given, and so what kind of property is promised.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Any,
    StableOrUntil,
    /// Two formulas.
    LeadsTo,
    /// `null` and a formula.
    Eventual,
}

/// A formula with where it is written.
struct Written {
    claim: Claim,
    span: Span,
    /// As it is written.
    text: String,
    property: Option<Property>,
}

/// What is checked, and what kind of property that is.
type Promised = (Claim, &'static str);

impl Interpreter {
    /// Reads the arguments and sets up what is to be checked. `None` after an error.
    pub(super) fn initialize(
        &mut self,
        host: &mut dyn Host,
        word: Token,
        tokens: &[Token],
    ) -> Option<(Session, Initialized)> {
        let arguments = self.told(host, split(word, tokens))?;
        let module = self.module_named(host, arguments.module)?;
        let (op, vocabulary) = self.vocabulary(host, &module, Some(soup::span(arguments.module)))?;
        let [state_kind, formula_kind] = [0, 1].map(|place| module.signature.op(op).domain[place]);
        let initial = self.term_in(host, &module, arguments.init, state_kind)?;
        if !initial.vars().is_empty() {
            let message = "the initial state has variables";
            self.error(host, "bad-argument", message, soup::span(arguments.init));
            return None;
        }
        let mut trees = Vec::new();
        for tokens in &arguments.formulas {
            let tree = self.term_in(host, &module, tokens, formula_kind)?;
            let name = self.definition(&module, &tree).map(|_| self.print(&module, &tree));
            trees.push((name, tree));
        }
        let sorts = match arguments.sorts {
            None => None,
            Some([element, soup]) => Some(Soup {
                element: self.told(host, soup::sort(&module, element))?,
                soup: self.told(host, soup::sort(&module, soup))?,
            }),
        };
        let texts: Vec<String> = trees.iter().map(|(_, tree)| self.print(&module, tree)).collect();
        let (setup, claims, unread, mut formulas) =
            self.modelled(host, &module, &vocabulary, &initial, trees)?;
        if !self.read_all(host, &unread) {
            return None;
        }
        if let Some(sorts) = &sorts {
            let state = self.normal_state(host, &setup)?;
            self.told(host, sorts.check(&module, &state, soup::span(arguments.init)))?;
        }
        let spans = arguments.formulas.iter().map(|tokens| soup::span(tokens));
        let mut written = Vec::new();
        for ((claim, span), text) in claims.into_iter().zip(spans).zip(texts) {
            self.told(host, self.is_made_of_props(&module, &vocabulary, &setup, &formulas, &claim, span))?;
            let normal = formulas.normal(claim.formula);
            let property = Property::of(&mut formulas, normal);
            written.push(Written { claim, span, text, property });
        }
        let mut fields =
            vec![("originModule", module.name.to_string()), ("initialState", self.print(&module, &initial))];
        let names: &[&str] = match arguments.form {
            Form::Any | Form::StableOrUntil => &["formulaToCheck"],
            Form::LeadsTo => &["leadsToFormula", "eventuallyFormula"],
            Form::Eventual => {
                fields.push(("leadsToFormula", "null".to_owned()));
                &["eventuallyFormula"]
            }
        };
        fields.extend(names.iter().copied().zip(written.iter().map(|written| written.text.clone())));
        // Such as `p U True`, of which nothing is left to be classified.
        let constant = match written[0].property {
            Some(Property::State(formula)) if arguments.form != Form::Any => match formulas.node(formula) {
                Node::True => Some("true in every system"),
                Node::False => Some("false in every system"),
                _ => None,
            },
            _ => None,
        };
        let is_pair = matches!(written.get(1), Some(Written { property: Some(Property::State(_)), .. }));
        let mut written = written.into_iter();
        let mut next = || written.next().expect("the form says how many there are");
        let promised = match (arguments.form, constant) {
            (_, Some(class)) if !is_pair => Ok((next().claim, class)),
            (Form::Any, _) => Ok((next().claim, "any formula")),
            (Form::StableOrUntil, _) => stable_or_until(next()),
            (Form::LeadsTo, _) => leads_to(&mut formulas, next(), next()),
            (Form::Eventual, _) => eventual(&mut formulas, next()),
        };
        let (claim, class) = self.told(host, promised)?;
        let mut element = None;
        if let Some(sorts) = &sorts {
            let own = Some(sorts.element.0);
            let subject = Subject { module: &module, setup: &setup, formula: claim.formula, element: own };
            match self.revise(&subject, &mut formulas, (1, &[])) {
                Ok(_) => {
                    fields.insert(1, ("reviseModule", revised_name(module.name).to_string()));
                    element = own;
                }
                Err(Refused::Stopped(interrupt)) => {
                    self.stopped_at(host, None, interrupt);
                    return None;
                }
                Err(refused) => {
                    // Nothing here needs it.
                    let message = format!("there is no revised module: {refused}");
                    let place = Some(soup::span(arguments.module));
                    self.say(host, &Diagnostic::new(Severity::Advisory, "revise", message, place));
                }
            }
        }
        if let Some(sorts) = arguments.sorts {
            let name = |tokens: &[Token]| tokens.iter().map(|token| token.name.as_str()).collect();
            fields.extend([("eleSort", name(sorts[0])), ("soupSort", name(sorts[1]))]);
        }
        fields.push(("property", format!("{} ({class})", claim.text)));
        let model = layered_model(&setup);
        let progress = Progress::default();
        Some((Session { module, setup, claim, formulas, model, element, progress }, Initialized { fields }))
    }

    /// What came out, unless it is a message, which is told.
    fn told<T>(&mut self, host: &mut dyn Host, result: Result<T, Diagnostic>) -> Option<T> {
        result.map_err(|diagnostic| self.say(host, &diagnostic)).ok()
    }

    fn module_named(&mut self, host: &mut dyn Host, tokens: &[Token]) -> Option<Arc<Module>> {
        let (expression, diagnostics) = module_expression(tokens.to_vec());
        self.say_all(host, diagnostics);
        let expression = expression?;
        if let ModuleExpr::Name(token) = expression
            && !self.modules.contains(token.name)
        {
            self.say_unknown_module(host, token);
            return None;
        }
        self.select(host, Some(&expression), soup::span(tokens))
    }

    fn term_in(
        &mut self,
        host: &mut dyn Host,
        module: &Arc<Module>,
        tokens: &[Token],
        kind: KindId,
    ) -> Option<Tree> {
        let parse = |g: &Grammar| g.term(&module.signature, &module.vars, tokens, &[kind]);
        let (tree, diagnostics) = parse(&self.compiled(module).grammar);
        self.say_all(host, diagnostics);
        tree
    }

    /// The initial state in normal form.
    fn normal_state(&mut self, host: &mut dyn Host, setup: &ModelSetup) -> Option<Tree> {
        let mut machine = Machine::new(setup.theory.clone(), setup.cancel.clone());
        match machine.reduce(&setup.initial) {
            Ok(state) => Some(machine.to_tree(state)),
            Err(interrupt) => {
                self.stopped_at(host, None, interrupt);
                None
            }
        }
    }

    /// Whatever is no connective must be a proposition, and not a formula that no equation defines.
    fn is_made_of_props(
        &self,
        module: &Module,
        vocabulary: &Vocabulary,
        setup: &ModelSetup,
        formulas: &Formulas,
        claim: &Claim,
        span: Span,
    ) -> Result<(), Diagnostic> {
        let sig = &module.signature;
        let prop = sig.op(vocabulary.satisfies).decls[0].domain[1];
        let is_prop = |tree: &Tree| sig.sorts.leq(sort_of_tree(sig, &Symbols::new(sig), tree), prop);
        let own = formulas.props(claim.formula);
        match own.into_iter().map(|prop| &setup.props[prop.index()]).find(|tree| !is_prop(tree)) {
            None => Ok(()),
            Some(tree) => {
                let message = format!("{} is no proposition", self.print(module, tree));
                let note = format!("it is not of sort {}, and no equation defines it", sig.sorts.name(prop));
                Err(Diagnostic::error("not-a-proposition", message, span).note(None, note))
            }
        }
    }
}

fn is_null(tokens: &[Token]) -> bool {
    matches!(tokens, [token] if token.name.as_str() == "null")
}

/// The arguments between the brackets, separated by commas.
fn split(word: Token, tokens: &[Token]) -> Result<Arguments<'_>, Diagnostic> {
    let usage = "`initialize[M, init, F]`, `initialize[M, init, F, Elt, Soup]` or \
        `initialize[M, init, F, E, Elt, Soup]`; `solver-help` says more";
    let [open, inner @ .., close] = tokens else {
        return Err(Diagnostic::error("bad-argument", "`initialize` needs arguments", word.span).hint(usage));
    };
    if (open.name.as_str(), close.name.as_str()) != ("[", "]") {
        let message = "the arguments of `initialize` stand between brackets";
        return Err(Diagnostic::error("bad-argument", message, soup::span(tokens)).hint(usage));
    }
    let mut depth = 0usize;
    let mut arguments: Vec<&[Token]> = Vec::new();
    let mut start = 0;
    for (at, token) in inner.iter().enumerate() {
        match token.name.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            "," if depth == 0 => {
                arguments.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    arguments.push(&inner[start..]);
    if let Some(place) = arguments.iter().position(|argument| argument.is_empty()) {
        let message = format!("argument {} of `initialize` is empty", place + 1);
        return Err(Diagnostic::error("bad-argument", message, soup::span(tokens)).hint(usage));
    }
    let (form, formulas, sorts) = match arguments[..] {
        [_, _, f] => (Form::Any, vec![f], None),
        [_, _, f, element, soup] => (Form::StableOrUntil, vec![f], Some([element, soup])),
        [_, _, f, e, element, soup] if is_null(f) => (Form::Eventual, vec![e], Some([element, soup])),
        [_, _, f, e, element, soup] => (Form::LeadsTo, vec![f, e], Some([element, soup])),
        _ => {
            let message = format!("`initialize` takes 3, 5 or 6 arguments, not {}", arguments.len());
            return Err(Diagnostic::error("bad-argument", message, soup::span(tokens)).hint(usage));
        }
    };
    Ok(Arguments { module: arguments[0], init: arguments[1], form, formulas, sorts })
}

/// `<> q`, or just q.
fn eventual(formulas: &mut Formulas, written: Written) -> Result<Promised, Diagnostic> {
    const CLASS: &str = "eventual";
    match written.property {
        Some(Property::Eventual(_)) => Ok((written.claim, CLASS)),
        Some(Property::State(q)) => {
            let formula = formulas.eventually(q);
            Ok((made(&written, formula, format!("<> {}", part(&written.claim.text))), CLASS))
        }
        _ => Err(wrong_class(&written, "an eventual property, <> q")),
    }
}

/// `p |-> q` with `<> q`, or just p and q.
fn leads_to(formulas: &mut Formulas, first: Written, second: Written) -> Result<Promised, Diagnostic> {
    const CLASS: &str = "leads-to";
    match (first.property, second.property) {
        (Some(Property::State(p)), Some(Property::State(q))) => {
            let formula = formulas.leads_to(p, q);
            let text = format!("{} |-> {}", part(&first.claim.text), part(&second.claim.text));
            Ok((made(&first, formula, text), CLASS))
        }
        (Some(Property::LeadsTo(_, q)), Some(Property::Eventual(other) | Property::State(other)))
            if q == other =>
        {
            Ok((first.claim, CLASS))
        }
        (Some(Property::LeadsTo(..)), _) => {
            let error = wrong_class(&second, "<> q for the q of the leads-to property");
            Err(error.note(Some(first.span), format!("which is {}", first.claim.text)))
        }
        (Some(Property::State(_)), _) => {
            Err(wrong_class(&second, "a state proposition, as the argument before it"))
        }
        _ => Err(wrong_class(&first, "a leads-to property, p |-> q")),
    }
}

/// `p |-> [] q`, `p U q`, `p U [] q`.
fn stable_or_until(written: Written) -> Result<Promised, Diagnostic> {
    match written.property {
        Some(Property::ConditionalStable(..)) => Ok((written.claim, "conditional stable")),
        Some(Property::Until(..)) => Ok((written.claim, "until")),
        Some(Property::UntilStable(..)) => Ok((written.claim, "until stable")),
        _ => Err(wrong_class(&written, "conditional stable, p |-> [] q, nor until, p U q or p U [] q")),
    }
}

/// A claim made of what is written.
fn made(written: &Written, formula: Formula, text: String) -> Claim {
    Claim { name: None, text, formula, rewrites: written.claim.rewrites, idle: Vec::new(), place: 0 }
}

/// A part of a formula, in parentheses if it has parts itself.
fn part(text: &str) -> String {
    if text.contains(' ') { format!("({text})") } else { text.to_owned() }
}

fn wrong_class(written: &Written, expected: &str) -> Diagnostic {
    let not = if expected.contains(" nor ") { "neither" } else { "not" };
    let message = format!("this formula is {not} {expected}");
    let mut error = Diagnostic::error("wrong-class", message, written.span);
    if written.claim.text != written.text {
        error = error.label(format!("it is {}", written.claim.text));
    }
    let hint = "p and q have no temporal operators, and the formula cannot be simplified (`p U p` is p); \
        `initialize[M, init, F]` takes any formula F";
    error.hint(hint)
}
