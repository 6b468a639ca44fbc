//! The module database: what was declared, and what has been made of it so far.
//!
//! Nothing is elaborated until it is asked for. Every module expression that is met becomes one
//! unit under Maude's name for it, and is shared from then on. Redefining a module or a view
//! forgets what was made from it; dependents are made anew when they are next needed.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Module;
use super::declare::expr_span;
use super::unit::{Unit, View};
use crate::base::{Diagnostic, Name, NameMap, Severity, Span, nearest};
use crate::syntax::TokenOrder;
use crate::syntax::library::{Deferred, Part};
use crate::syntax::tree::{
    Decl, ImportMode, ModuleDecl, ModuleExpr, ModuleKind, ParamDecl, Token, ViewDecl, ViewExpr,
};

/// All modules and views of a session.
///
/// Messages about user mistakes gather inside; fetch them with [`Modules::take_diagnostics`]
/// after each call that may elaborate something.
#[derive(Debug, Default)]
pub struct Modules {
    pub(super) modules: NameMap<ModuleEntry>,
    pub(super) views: NameMap<ViewEntry>,
    pub(super) auto: Vec<(ImportMode, Name)>,
    /// Evaluated module expressions, by key. Named modules are among them.
    pub(super) units: NameMap<Arc<Unit>>,
    pub(super) evaluated_views: NameMap<Arc<View>>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Modules and views (`true`) that are being elaborated, to notice cycles.
    pub(super) in_progress: Vec<(bool, Name)>,
    /// Those that failed, so that the reason is told once.
    pub(super) broken: FxHashSet<(bool, Name)>,
    /// Names that were looked up in vain: if one appears, what was broken may be mended.
    pub(super) missing: FxHashSet<(bool, Name)>,
    /// When the name of each module and module expression was first seen, by key. Expressions
    /// that only elaboration meets come after all of those in the text.
    pub(super) numbers: FxHashMap<Name, u32>,
    /// Numbers of names in libraries, whose modules are not read until they are needed.
    library: TokenOrder,
    pub(super) made: u32,
}

/// A declared module.
#[derive(Clone, Debug)]
pub(super) struct ModuleEntry {
    pub name: Token,
    pub kind: ModuleKind,
    pub decl: Deferred<ModuleDecl>,
    /// What was imported automatically at the time of the declaration.
    pub auto: Vec<(ImportMode, Name)>,
}

/// A declared view.
#[derive(Clone, Debug)]
pub(super) struct ViewEntry {
    pub name: Token,
    pub decl: Deferred<ViewDecl>,
}

/// The expression denotes no usable module; the reasons are among the diagnostics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broken;

impl Modules {
    pub fn new() -> Modules {
        Modules::default()
    }

    /// Enters a module. If one of that name exists it is replaced, with an advisory.
    ///
    /// The names of module expressions count as tokens of the text, as in Maude.
    pub fn insert(&mut self, decl: ModuleDecl, order: &mut TokenOrder) -> Name {
        let (name, kind) = (decl.name, decl.kind);
        self.make_place(name);
        self.numbers.insert(name.name, order.of(name.name));
        for item in &decl.decls {
            if let Decl::Import { module, .. } = item {
                self.note_expr(module, &decl.params, order);
            }
        }
        self.enter_module(name, kind, Deferred::now(decl))
    }

    /// Enters a view. If one of that name exists it is replaced, with an advisory.
    pub fn insert_view(&mut self, decl: ViewDecl, order: &mut TokenOrder) -> Name {
        let name = decl.name;
        self.make_place_for_view(name);
        self.numbers.insert(name.name, order.of(name.name));
        self.note_expr(&decl.to, &decl.params, order);
        self.views.insert(name.name, ViewEntry { name, decl: Deferred::now(decl) });
        name.name
    }

    /// Enters the modules and views of a library, which are read when they are first needed.
    /// Its names must be numbered already.
    pub fn insert_part(&mut self, part: Part) -> Option<Name> {
        match part {
            Part::Module { kind, name, decl } => {
                self.make_place(name);
                Some(self.enter_module(name, kind, decl))
            }
            Part::View { name, decl } => {
                self.make_place_for_view(name);
                self.views.insert(name.name, ViewEntry { name, decl });
                None
            }
            Part::Rest { .. } => None,
        }
    }

    /// Takes over the numbers of the names in libraries.
    pub fn set_library_order(&mut self, order: &TokenOrder) {
        self.library = order.clone();
    }

    fn enter_module(&mut self, name: Token, kind: ModuleKind, decl: Deferred<ModuleDecl>) -> Name {
        let auto = if kind.is_theory() { Vec::new() } else { self.auto.clone() };
        self.modules.insert(name.name, ModuleEntry { name, kind, decl, auto });
        name.name
    }

    fn make_place(&mut self, name: Token) {
        if let Some(old) = self.modules.get(&name.name) {
            let (message, old) = (format!("redefining module {}", name.name), old.name.span);
            self.advise("redefined-module", message, name.span, Some((old, "it was defined here before")));
        }
        self.forget((false, name.name));
    }

    fn make_place_for_view(&mut self, name: Token) {
        if let Some(old) = self.views.get(&name.name) {
            let (message, old) = (format!("redefining view {}", name.name), old.name.span);
            self.advise("redefined-view", message, name.span, Some((old, "it was defined here before")));
        }
        self.forget((true, name.name));
    }

    /// `set include M on`, `set protect M off` ...: what modules declared from now on import by
    /// themselves. A module is imported automatically in one mode only.
    pub fn set_auto_import(&mut self, mode: ImportMode, module: Name, on: bool) {
        self.auto.retain(|&(m, name)| name != module || (!on && m != mode));
        if on {
            self.auto.push((mode, module));
        }
    }

    /// The elaborated module that an expression denotes.
    pub fn resolve(&mut self, expr: &ModuleExpr) -> Result<Arc<Module>, Broken> {
        let unit = self.evaluate(expr, &[])?;
        let is_new = unit.flat.get().is_none();
        if !self.flat(&unit).unusable {
            return Ok(self.module(&unit));
        }
        if is_new {
            // There may be more to say about it.
            self.module(&unit);
        } else {
            let message = format!("module {} cannot be used because of the errors in it", unit.key);
            self.error(Diagnostic::error("broken-module", message, expr_span(expr)));
        }
        Err(Broken)
    }

    /// The elaborated module of a name.
    pub fn resolve_name(&mut self, name: Name, span: Span) -> Result<Arc<Module>, Broken> {
        self.resolve(&ModuleExpr::Name(Token { name, span }))
    }

    /// Evaluates a view and checks it, as Maude does when it is entered.
    pub fn check_view(&mut self, name: Name, span: Span) -> Result<(), Broken> {
        self.view(Token { name, span }).map(|_| ())
    }

    /// Takes the messages that have gathered.
    pub fn take_diagnostics(&mut self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.diagnostics)
    }

    pub fn contains(&self, name: Name) -> bool {
        self.modules.contains_key(&name)
    }

    /// The declaration of a module, as written.
    pub fn declaration(&self, name: Name) -> Option<&Arc<ModuleDecl>> {
        self.modules.get(&name).map(|entry| entry.decl.get())
    }

    /// The declaration of a view, as written.
    pub fn view_declaration(&self, name: Name) -> Option<&Arc<ViewDecl>> {
        self.views.get(&name).map(|entry| entry.decl.get())
    }

    /// The names of declared modules, oldest first.
    pub fn declared(&self) -> impl Iterator<Item = Token> {
        self.modules.values().map(|entry| entry.name)
    }

    /// Declared modules in the order of their names, then the expressions evaluated so far, with
    /// their kinds.
    pub fn list(&self) -> Vec<(ModuleKind, Name)> {
        let mut list: Vec<(ModuleKind, Name)> = self.modules.iter().map(|(&n, e)| (e.kind, n)).collect();
        list.sort_by_key(|(_, name)| self.place(*name));
        let made = self.units.values().filter(|u| !self.modules.contains_key(&u.key));
        list.extend(made.map(|u| (u.kind, u.key)));
        list
    }

    /// Views in the order of their names, then the instances made so far.
    pub fn list_views(&self) -> Vec<Name> {
        let mut list: Vec<Name> = self.views.keys().copied().collect();
        list.sort_by_key(|name| self.place(*name));
        let made = self.evaluated_views.iter().filter(|(_, view)| view.instance.is_some());
        list.extend(made.map(|(&key, _)| key));
        list
    }

    /// The view declared last.
    pub fn last_view(&self) -> Option<Name> {
        self.views.keys().last().copied()
    }

    /// When the name was first seen in a text.
    fn place(&self, name: Name) -> u32 {
        self.numbers.get(&name).copied().unwrap_or(self.library.of(name))
    }

    // ---- for elaboration ----

    /// The place of a module in the order in which names were first seen.
    pub(super) fn number(&mut self, key: Name) -> u32 {
        *self.numbers.entry(key).or_insert_with(|| match self.library.of(key) {
            u32::MAX => {
                self.made += 1;
                u32::MAX / 2 + self.made
            }
            number => number,
        })
    }

    /// Numbers the instances in an expression without evaluating them, since Maude would
    /// evaluate them now. The order of summands depends on it.
    fn note_expr(&mut self, expr: &ModuleExpr, params: &[ParamDecl], order: &mut TokenOrder) -> String {
        match expr {
            ModuleExpr::Name(token) => token.name.as_str().to_owned(),
            ModuleExpr::Instance { module, args, .. } => {
                let base = self.note_expr(module, params, order);
                let args: Vec<String> = args.iter().map(|a| view_key(a, params)).collect();
                let key = format!("{base}{{{}}}", args.join(", "));
                let name = Name::new(&key);
                order.note(name);
                self.numbers.entry(name).or_insert(order.of(name));
                key
            }
            ModuleExpr::Rename { module, .. } => self.note_expr(module, params, order),
            ModuleExpr::Sum(items) => {
                let keys: Vec<String> =
                    items.iter().map(|item| self.note_expr(item, params, order)).collect();
                keys.join(" + ")
            }
        }
    }

    pub(super) fn error(&mut self, diagnostic: Diagnostic) -> Broken {
        self.diagnostics.push(diagnostic);
        Broken
    }

    pub(super) fn advise(
        &mut self,
        code: &'static str,
        message: String,
        span: Span,
        note: Option<(Span, &'static str)>,
    ) {
        let mut diagnostic = Diagnostic::new(Severity::Advisory, code, message, Some(span));
        if let Some((span, text)) = note {
            diagnostic = diagnostic.note(Some(span), text);
        }
        self.diagnostics.push(diagnostic);
    }

    /// A message about a name that is not there, with the nearest one that is.
    pub(super) fn unknown(
        code: &'static str,
        what: &str,
        token: Token,
        candidates: impl IntoIterator<Item = Name>,
    ) -> Diagnostic {
        let word = token.name.as_str();
        let diagnostic = Diagnostic::error(code, format!("there is no {what} {word}"), token.span);
        match nearest(word, candidates.into_iter().map(Name::as_str)) {
            Some(near) => diagnostic.hint(format!("did you mean {near}?")),
            None => diagnostic,
        }
    }

    /// The unit of a declared module.
    pub(super) fn named(&mut self, token: Token) -> Result<Arc<Unit>, Broken> {
        let name = token.name;
        if let Some(unit) = self.units.get(&name) {
            return Ok(unit.clone());
        }
        let Some(entry) = self.modules.get(&name) else {
            self.missing.insert((false, name));
            let names: Vec<Name> = self.modules.keys().copied().collect();
            return Err(self.error(Self::unknown("unknown-module", "module", token, names)));
        };
        if self.broken.contains(&(false, name)) {
            let message = format!("module {name} cannot be used because of the errors in it");
            return Err(self.error(Diagnostic::error("broken-module", message, token.span)));
        }
        let (decl, auto) = (entry.decl.get().clone(), entry.auto.clone());
        self.guard((false, name), token, |this| this.declare(&decl, &auto))
    }

    /// Runs an elaboration, watching for modules that need themselves.
    pub(super) fn guard<T>(
        &mut self,
        what: (bool, Name),
        token: Token,
        work: impl FnOnce(&mut Self) -> Result<T, Broken>,
    ) -> Result<T, Broken> {
        if let Some(at) = self.in_progress.iter().position(|&w| w == what) {
            let mut names: Vec<&str> = self.in_progress[at..].iter().map(|w| w.1.as_str()).collect();
            names.push(what.1.as_str());
            let message = format!("{} imports itself: {}", what.1, names.join(" imports "));
            return Err(self.error(Diagnostic::error("cyclic-import", message, token.span)));
        }
        self.in_progress.push(what);
        let result = work(self);
        self.in_progress.pop();
        if result.is_err() {
            self.broken.insert(what);
        }
        result
    }

    /// Forgets everything that was made from a module or view, or failed for want of it.
    fn forget(&mut self, what: (bool, Name)) {
        let known =
            if what.0 { self.views.contains_key(&what.1) } else { self.modules.contains_key(&what.1) };
        if known || self.missing.remove(&what) {
            self.broken.clear();
        }
        if !known {
            return;
        }
        self.units.retain(|_, unit| !unit.mentions.contains(&what));
        self.evaluated_views.retain(|_, view| !view.mentions.contains(&what));
    }
}

/// A view in the name of a module: parameters of the enclosing module stand in brackets.
fn view_key(view: &ViewExpr, params: &[ParamDecl]) -> String {
    match view {
        ViewExpr::Name(token) if params.iter().any(|p| p.name.name == token.name) => {
            format!("[{}]", token.name)
        }
        ViewExpr::Name(token) => token.name.as_str().to_owned(),
        ViewExpr::Instance { view, args, .. } => {
            let args: Vec<String> = args.iter().map(|a| view_key(a, params)).collect();
            format!("{}{{{}}}", view.name, args.join(", "))
        }
    }
}
