//! Own statements of units, and the flat module that the engine reads.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::declare::type_of;
use super::translate::Translator;
use super::unit::Type;
use super::unit::{Flat, Origin, OwnStatements, Unit};
use super::{Module, Modules, OwnSorts, check};
use crate::base::{Diagnostic, Name, Span};
use crate::mixfix::{Grammar, StatementBody, Vars};
use crate::sorts::{Signature, SortId};
use crate::syntax::tree::{Decl, ModuleDecl, ModuleExpr, Token};

impl Modules {
    /// The flat module of a unit, assembled once.
    pub(super) fn module(&mut self, unit: &Arc<Unit>) -> Arc<Module> {
        if let Some(module) = unit.module.get() {
            return module.clone();
        }
        let flat = self.flat(unit);
        let own = self.statements(unit);
        let mut module = Module {
            name: unit.key,
            kind: unit.kind,
            params: unit.params.iter().map(|p| (p.name, p.theory.key)).collect(),
            imports: unit.imports.iter().filter(|i| !i.param).map(|i| (i.mode, i.unit.key)).collect(),
            signature: flat.signature.clone(),
            memberships: own.memberships.clone(),
            equations: own.equations.clone(),
            rules: own.rules.clone(),
            own: (own.memberships.len(), own.equations.len(), own.rules.len()),
            vars: own.vars.clone(),
            polys: flat.polys.clone(),
            flawed: flat.flawed || own.flawed,
        };
        for donor in &flat.donors {
            let statements = self.statements(donor);
            module.flawed |= statements.flawed;
            if statements.memberships.is_empty()
                && statements.equations.is_empty()
                && statements.rules.is_empty()
            {
                continue;
            }
            let donor_flat = self.flat(donor);
            let mut translator = Translator::new(&donor_flat.signature, &flat.signature, None);
            module.memberships.extend(statements.memberships.iter().filter_map(|s| translator.membership(s)));
            module.equations.extend(statements.equations.iter().filter_map(|s| translator.equation(s)));
            module.rules.extend(statements.rules.iter().filter_map(|s| translator.rule(s)));
        }
        unit.module.get_or_init(|| Arc::new(module)).clone()
    }

    /// The sorts, and the order among them, that no import of a module brings.
    pub fn own_sorts(&mut self, name: Name) -> OwnSorts {
        let expr = ModuleExpr::Name(Token { name, span: Span::default() });
        let Ok(unit) = self.evaluate(&expr, &[]) else { return OwnSorts::default() };
        let (mut known, mut below) = (FxHashSet::default(), FxHashSet::default());
        for import in &unit.imports {
            let imported = self.flat(&import.unit).signature.clone();
            let sorts = &imported.sorts;
            for sort in sorts.declared() {
                known.insert(sorts.name(sort));
                below.extend(sorts.subsorts(sort).iter().map(|&sub| (sorts.name(sub), sorts.name(sort))));
            }
        }
        let flat = self.flat(&unit);
        let sorts = &flat.signature.sorts;
        let added = |sort: SortId| {
            let mut subsorts = sorts.subsorts(sort).to_vec();
            subsorts.retain(|&sub| !below.contains(&(sorts.name(sub), sorts.name(sort))));
            (sort, subsorts)
        };
        OwnSorts {
            sorts: sorts.declared().filter(|&sort| !known.contains(&sorts.name(sort))).collect(),
            subsorts: sorts.declared().map(added).collect(),
        }
    }

    /// The unit's own statements over its own flat signature: parsed if they were written in
    /// it, translated from the base if it is derived.
    pub(super) fn statements(&mut self, unit: &Arc<Unit>) -> Arc<OwnStatements> {
        if let Some(own) = unit.statements.get() {
            return own.clone();
        }
        let own = match (&unit.base, &unit.origin) {
            (Some((base, morphism)), _) => {
                let from = self.flat(base);
                let to = self.flat(unit);
                let statements = self.statements(base);
                let mut translator = Translator::new(&from.signature, &to.signature, Some(morphism));
                OwnStatements {
                    memberships: statements
                        .memberships
                        .iter()
                        .filter_map(|s| translator.membership(s))
                        .collect(),
                    equations: statements.equations.iter().filter_map(|s| translator.equation(s)).collect(),
                    rules: statements.rules.iter().filter_map(|s| translator.rule(s)).collect(),
                    vars: Default::default(),
                    flawed: statements.flawed,
                }
            }
            (None, Origin::Named(decl)) => {
                let flat = self.flat(unit);
                parse(decl, &flat, &mut self.diagnostics)
            }
            (None, _) => OwnStatements::default(),
        };
        unit.statements.get_or_init(|| Arc::new(own)).clone()
    }
}

/// Parses what was written; a statement that does not parse is left out.
fn parse(decl: &ModuleDecl, flat: &Flat, diagnostics: &mut Vec<Diagnostic>) -> OwnStatements {
    let sig = &flat.signature;
    let mut own = OwnStatements { vars: variables(decl, sig, diagnostics), ..OwnStatements::default() };
    let mut grammar = None;
    for item in &decl.decls {
        let Decl::Statement(statement) = item else { continue };
        let grammar = grammar.get_or_insert_with(|| Grammar::new(sig));
        let (body, messages) =
            grammar.statement(sig, &own.vars, statement.kind, &statement.body, statement.span);
        diagnostics.extend(messages);
        let before = diagnostics.len();
        match body {
            Some(StatementBody::Equation(mut eq)) => {
                check::equation(&mut eq, diagnostics);
                own.equations.push(eq);
            }
            Some(StatementBody::Membership(mut mb)) => {
                check::membership(&mut mb, diagnostics);
                own.memberships.push(mb);
            }
            Some(StatementBody::Rule(mut rule)) => {
                check::rule(&mut rule, diagnostics);
                own.rules.push(rule);
            }
            None => own.flawed = true,
        }
        own.flawed |= diagnostics.len() > before;
    }
    own
}

/// The module's own variable declarations; a name declared twice keeps its first sort.
fn variables(decl: &ModuleDecl, sig: &Signature, diagnostics: &mut Vec<Diagnostic>) -> Vars {
    let mut vars = Vars::default();
    for item in &decl.decls {
        let Decl::Vars { names, ty } = item else { continue };
        let Some(sort) = find_type(sig, type_of(ty, false)) else { continue };
        for token in names {
            match vars.get(&token.name) {
                None => {
                    vars.insert(token.name, sort);
                }
                Some(&old) if old != sort => {
                    let message = format!("variable {} is declared twice", token.name);
                    diagnostics.push(
                        Diagnostic::warning("duplicate-variable", message, token.span)
                            .label(format!("it has sort {} already, which is kept", sig.sorts.name(old))),
                    );
                }
                Some(_) => {}
            }
        }
    }
    vars
}

fn find_type(sig: &Signature, ty: Type) -> Option<SortId> {
    match ty {
        Type::Sort(name) => sig.sorts.find(name),
        Type::Kind(name) => sig.sorts.find(name).map(|s| sig.sorts.kind(sig.sorts.kind_of(s)).error()),
        Type::Universal => None,
    }
}
