//! From a module as written to a unit: parameters, imports, and own declarations by name.
//!
//! An unknown sort is reported and then declared, as Maude does, so that one slip does not
//! spoil every statement that comes after it.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashSet;

use super::database::{Broken, ModuleEntry, Modules};
use super::sort_name::sort_name;
use super::unit::{Attrs, Import, Morphism, Origin, OwnOp, Param, Type, Unit, Written};
use crate::base::{Diagnostic, Name, NameMap, Span, nearest};
use crate::mixfix::name_pieces;
use crate::sorts::{Gather, IdentitySide};
use crate::syntax::tree::{
    Decl, ImportMode, ModuleDecl, ModuleExpr, ModuleKind, OpAttr, OpDecl, ParamDecl, SortExpr, Token,
    TypeExpr,
};

/// A type as written; `kind` makes a sort stand for its kind (after `~>`).
pub(super) fn type_of(ty: &TypeExpr, kind: bool) -> Type {
    match ty {
        TypeExpr::Sort(sort) if kind => Type::Kind(sort_name(sort)),
        TypeExpr::Sort(sort) => Type::Sort(sort_name(sort)),
        TypeExpr::Kind { sorts, .. } => sorts.first().map_or(Type::Universal, |s| Type::Kind(sort_name(s))),
    }
}

/// The import that would bring a sort, if some module declares it.
fn import_of(modules: &NameMap<ModuleEntry>, sort: &SortExpr) -> Option<String> {
    let is_it = |s: &SortExpr| s.name.name == sort.name.name && s.args.len() == sort.args.len();
    let declares = |item: &Decl| matches!(item, Decl::Sorts(sorts) if sorts.iter().any(is_it));
    let (module, _) = modules.iter().find(|(_, entry)| {
        let decl = entry.decl.get();
        !entry.kind.is_theory() && decl.params.len() == sort.args.len() && decl.decls.iter().any(declares)
    })?;
    let name = sort_name(sort);
    Some(format!("protecting {module}{} .", &name.as_str()[sort.name.name.as_str().len()..]))
}

impl Modules {
    /// Elaborates a declared module up to its names.
    pub(super) fn declare(
        &mut self,
        decl: &Arc<ModuleDecl>,
        auto: &[(ImportMode, Name)],
    ) -> Result<Arc<Unit>, Broken> {
        let params = self.params(&decl.params);
        let imports = self.imports(decl, auto, params.as_deref().unwrap_or(&[]));
        let (params, imports) = (params?, imports?);
        let mut unit = Unit {
            key: decl.name.name,
            number: self.number(decl.name.name),
            kind: decl.kind,
            params,
            imports,
            origin: Origin::Named(decl.clone()),
            base: None,
            bound: Vec::new(),
            mentions: FxHashSet::default(),
            sorts: Vec::new(),
            subsorts: Vec::new(),
            ops: Vec::new(),
            span: decl.span,
            flawed: false,
            unusable: false,
            flat: OnceLock::new(),
            statements: OnceLock::new(),
            module: OnceLock::new(),
        };
        unit.mentions.insert((false, unit.key));
        for import in &unit.imports {
            unit.mentions.extend(import.unit.mentions.iter().copied());
        }
        Declaring::new(&mut unit, &self.modules, &mut self.diagnostics).run(decl);
        Ok(self.enter(unit))
    }

    /// Enters a finished unit under its key.
    pub(super) fn enter(&mut self, unit: Unit) -> Arc<Unit> {
        let unit = Arc::new(unit);
        self.units.insert(unit.key, unit.clone());
        unit
    }

    /// The parameters `X :: T` of a module or view.
    pub(super) fn params(&mut self, decls: &[ParamDecl]) -> Result<Vec<Param>, Broken> {
        let mut params: Vec<Param> = Vec::new();
        let mut broken = false;
        for decl in decls {
            let name = decl.name.name;
            if params.iter().any(|p| p.name == name) {
                let message = format!("parameter {name} is declared twice");
                self.error(Diagnostic::error("duplicate-parameter", message, decl.name.span));
                continue;
            }
            // As in Maude, the module has no such parameter then.
            let Ok(theory) = self.evaluate(&decl.theory, &[]) else { continue };
            if !theory.kind.is_theory() {
                let message = format!("parameter {name} needs a theory, but {} is a module", theory.key);
                let span = expr_span(&decl.theory);
                self.error(
                    Diagnostic::error("parameter-not-theory", message, span)
                        .hint("parameters are declared by theories (fth or th), such as TRIV"),
                );
                broken = true;
                continue;
            }
            let copy = self.copy(name, &theory);
            params.push(Param { name, theory, copy });
        }
        if broken { Err(Broken) } else { Ok(params) }
    }

    fn imports(
        &mut self,
        decl: &ModuleDecl,
        auto: &[(ImportMode, Name)],
        params: &[Param],
    ) -> Result<Vec<Import>, Broken> {
        let mut imports: Vec<Import> = params
            .iter()
            .map(|p| Import { unit: p.copy.clone(), mode: ImportMode::Protecting, param: true })
            .collect();
        let mut broken = false;
        for &(mode, name) in auto {
            // A module that the automatic import itself needs must not import it.
            if self.in_progress.contains(&(false, name)) && self.in_progress.last() != Some(&(false, name)) {
                continue;
            }
            match self.named(Token { name, span: decl.name.span }) {
                Ok(unit) => imports.push(Import { unit, mode, param: false }),
                Err(Broken) => broken = true,
            }
        }
        for item in &decl.decls {
            let Decl::Import { mode, module, span } = item else { continue };
            match self.evaluate(module, params) {
                Ok(unit) if !unit.params.is_empty() => {
                    let names: Vec<String> =
                        unit.params.iter().map(|p| format!("{} :: {}", p.name, p.theory.key)).collect();
                    let message =
                        format!("{} has parameters and must be instantiated to be imported", unit.key);
                    self.error(
                        Diagnostic::error("uninstantiated-import", message, *span)
                            .label(format!("needs {}", names.join(", ")))
                            .hint(format!("give a view for each parameter, as in {}{{...}}", unit.key)),
                    );
                    broken = true;
                }
                Ok(unit) if unit.kind.is_theory() && !decl.kind.is_theory() => {
                    let message = format!("module {} cannot import theory {}", decl.name.name, unit.key);
                    self.error(
                        Diagnostic::warning("theory-import", message, *span)
                            .label("this import is ignored")
                            .hint("theories are imported by theories, or used as parameters of modules"),
                    );
                }
                Ok(unit) if unit.kind.has_rules() && !decl.kind.has_rules() => {
                    let (is, should) = if decl.kind.is_theory() {
                        ("functional theory", "th ... endth")
                    } else {
                        ("functional module", "mod ... endm")
                    };
                    let message = format!("{is} {} cannot import {}", decl.name.name, unit.key);
                    self.error(
                        Diagnostic::warning("rules-import", message, *span)
                            .label("it may have rules; this import is ignored")
                            .hint(format!("use {should}")),
                    );
                }
                Ok(unit) => imports.push(Import { unit, mode: *mode, param: false }),
                Err(Broken) => broken = true,
            }
        }
        if broken { Err(Broken) } else { Ok(imports) }
    }

    /// The copy `X :: T` of a theory: its sorts, and those of the theories it includes, get the
    /// prefix `X$`; modules that it imports are shared.
    pub(super) fn copy(&mut self, param: Name, theory: &Arc<Unit>) -> Arc<Unit> {
        let key = Name::new(&format!("{param} :: {}", theory.key));
        if let Some(unit) = self.units.get(&key) {
            return unit.clone();
        }
        let mut morphism = Morphism { label_prefix: Some(param), ..Morphism::default() };
        for unit in theory.donors().iter().chain([theory]).filter(|u| u.kind.is_theory()) {
            for &(sort, _) in &unit.sorts {
                morphism.sorts.insert(sort, Name::new(&format!("{param}${sort}")));
            }
        }
        let number = self.number(key);
        let imports = theory
            .imports
            .iter()
            .map(|import| {
                let unit = if import.unit.kind.is_theory() {
                    self.copy(param, &import.unit)
                } else {
                    import.unit.clone()
                };
                Import { unit, ..*import }
            })
            .collect();
        let origin = Origin::Copy { param };
        let mut unit = self.derived(key, theory, morphism, origin);
        unit.number = number;
        unit.imports = imports;
        unit.bound = vec![param];
        self.enter(unit)
    }

    /// A unit with the base's own declarations under a morphism; imports are left to the caller.
    pub(super) fn derived(
        &mut self,
        key: Name,
        base: &Arc<Unit>,
        morphism: Morphism,
        origin: Origin,
    ) -> Unit {
        use super::unit::Target;
        let own_ids = if morphism.ops.is_empty() { Vec::new() } else { self.flat(base).own_ops.clone() };
        let mut ops = Vec::with_capacity(base.ops.len());
        for (i, op) in base.ops.iter().enumerate() {
            let target = match own_ids.get(i).copied().flatten() {
                Some(id) => morphism.ops.get(&id),
                None => morphism.polys.get(&op.name),
            };
            let mut op = op.clone();
            match target {
                Some(Target::Op { name, syntax }) => {
                    op.name = *name;
                    op.attrs.prec = syntax.prec;
                    op.attrs.gather = syntax.gather.clone();
                    op.attrs.format = syntax.format.clone();
                }
                Some(Target::Term { .. }) => continue,
                None => {}
            }
            op.domain = op.domain.iter().map(|t| t.map(|s| morphism.sort(s))).collect();
            op.range = op.range.map(|s| morphism.sort(s));
            op.written = None;
            ops.push(op);
        }
        Unit {
            key,
            number: 0,
            kind: base.kind,
            params: Vec::new(),
            imports: Vec::new(),
            origin,
            bound: Vec::new(),
            mentions: base.mentions.clone(),
            sorts: base.sorts.iter().map(|&(s, span)| (morphism.sort(s), span)).collect(),
            subsorts: base
                .subsorts
                .iter()
                .map(|&(a, b, span)| (morphism.sort(a), morphism.sort(b), span))
                .collect(),
            ops,
            base: Some((base.clone(), morphism)),
            span: base.span,
            flawed: base.flawed,
            unusable: base.unusable,
            flat: OnceLock::new(),
            statements: OnceLock::new(),
            module: OnceLock::new(),
        }
    }
}

/// The place of a module expression.
pub(super) fn expr_span(expr: &ModuleExpr) -> Span {
    match expr {
        ModuleExpr::Name(token) => token.span,
        ModuleExpr::Instance { span, .. } | ModuleExpr::Rename { span, .. } => *span,
        ModuleExpr::Sum(items) => {
            let spans = items.iter().map(expr_span);
            spans.reduce(Span::to).unwrap_or_default()
        }
    }
}

/// Collects a module's own sorts, subsorts and operators.
struct Declaring<'a> {
    unit: &'a mut Unit,
    /// Imported sorts, then own ones.
    known: FxHashSet<Name>,
    /// Where a missing sort may come from.
    modules: &'a NameMap<ModuleEntry>,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl<'a> Declaring<'a> {
    fn new(
        unit: &'a mut Unit,
        modules: &'a NameMap<ModuleEntry>,
        diagnostics: &'a mut Vec<Diagnostic>,
    ) -> Self {
        let known = unit.donors().iter().flat_map(|d| d.sorts.iter().map(|s| s.0)).collect();
        Declaring { unit, known, modules, diagnostics }
    }

    fn run(mut self, decl: &ModuleDecl) {
        for item in &decl.decls {
            if let Decl::Sorts(sorts) = item {
                for sort in sorts {
                    let name = sort_name(sort);
                    if self.known.insert(name) || !self.unit.sorts.iter().any(|s| s.0 == name) {
                        self.unit.sorts.push((name, sort.span));
                    }
                }
            }
        }
        for item in &decl.decls {
            if let Decl::Subsorts(groups) = item {
                self.subsorts(groups);
            }
        }
        for item in &decl.decls {
            match item {
                Decl::Op(op) => self.op(op),
                Decl::Vars { ty, .. } => self.check_type(ty),
                Decl::Statement(s) => self.check_kind(decl, s.kind, s.span),
                Decl::Import { .. } | Decl::Sorts(_) | Decl::Subsorts(_) => {}
            }
        }
    }

    /// Rules stand in system modules only; Maude complains and keeps them.
    fn check_kind(&mut self, decl: &ModuleDecl, kind: crate::syntax::tree::StatementKind, span: Span) {
        use crate::syntax::tree::StatementKind::{Crl, Rl};
        if !decl.kind.has_rules() && matches!(kind, Rl | Crl) {
            let (is, should) = match decl.kind {
                ModuleKind::Fth => ("functional theory", "th ... endth"),
                _ => ("functional module", "mod ... endm"),
            };
            let message = format!("a rule is not allowed in a {is}");
            self.diagnostics.push(
                Diagnostic::warning("rule-in-functional-module", message, span).hint(format!("use {should}")),
            );
        }
    }

    fn subsorts(&mut self, groups: &[Vec<SortExpr>]) {
        for group in groups {
            group.iter().for_each(|sort| self.check_sort(sort));
        }
        for pair in groups.windows(2) {
            for sub in &pair[0] {
                for sup in &pair[1] {
                    let (a, b) = (sort_name(sub), sort_name(sup));
                    let span = sub.span.to(sup.span);
                    if a == b {
                        let message = format!("sort {a} is declared a subsort of itself");
                        self.diagnostics.push(Diagnostic::error("subsort-cycle", message, span));
                        (self.unit.flawed, self.unit.unusable) = (true, true);
                    } else {
                        self.unit.subsorts.push((a, b, span));
                    }
                }
            }
        }
    }

    fn check_sort(&mut self, sort: &SortExpr) {
        let name = sort_name(sort);
        if self.known.contains(&name) {
            return;
        }
        let mut diagnostic =
            Diagnostic::error("unknown-sort", format!("sort {name} is not declared"), sort.span);
        // The nearest name, the same from run to run whatever the order of the set.
        let mut names: Vec<&str> = self.known.iter().map(|n| n.as_str()).collect();
        names.sort_unstable();
        if let Some(import) = import_of(self.modules, sort) {
            diagnostic = diagnostic.hint(format!("is `{import}` missing?"));
        } else if let Some(near) = nearest(name.as_str(), names) {
            diagnostic = diagnostic.hint(format!("did you mean {near}?"));
        }
        self.diagnostics.push(diagnostic);
        self.unit.flawed = true;
        self.known.insert(name);
        self.unit.sorts.push((name, sort.span));
    }

    fn check_type(&mut self, ty: &TypeExpr) {
        match ty {
            TypeExpr::Sort(sort) => self.check_sort(sort),
            TypeExpr::Kind { sorts, .. } => sorts.iter().for_each(|sort| self.check_sort(sort)),
        }
    }

    fn op(&mut self, decl: &OpDecl) {
        let mut attrs = Attrs {
            hooks: crate::sorts::Hooks { msg: decl.msg, ..Default::default() },
            ..Default::default()
        };
        let mut written = Written::default();
        let mut identity = None;
        let arity = decl.domain.len();
        for attr in &decl.attrs {
            match attr {
                OpAttr::Assoc => attrs.assoc = true,
                OpAttr::Comm => attrs.comm = true,
                OpAttr::Idem => attrs.idem = true,
                OpAttr::Iter => attrs.iter = true,
                OpAttr::Ctor => attrs.ctor = true,
                OpAttr::Memo => attrs.memo = true,
                OpAttr::Ditto => attrs.ditto = true,
                OpAttr::Config => attrs.hooks.config = true,
                OpAttr::Object => attrs.hooks.object = true,
                OpAttr::Msg => attrs.hooks.msg = true,
                OpAttr::Id { left, right, term } => {
                    identity = Some(match (left, right) {
                        (true, false) => IdentitySide::Left,
                        (false, true) => IdentitySide::Right,
                        _ => IdentitySide::Both,
                    });
                    written.identity = Some(term.clone());
                }
                OpAttr::Prec(prec) => attrs.prec = self.precedence(decl, *prec),
                OpAttr::Gather(tokens) => attrs.gather = self.gather(decl, tokens),
                OpAttr::Format(words) => attrs.format = self.format(decl, words),
                OpAttr::Strat(numbers) => {
                    attrs.strat = self.positions(decl, "strat", numbers);
                    // Maude always ends with the top.
                    if let Some(strat) = &mut attrs.strat
                        && strat.last() != Some(&0)
                    {
                        strat.push(0);
                    }
                }
                OpAttr::Frozen(_) if arity == 0 => {
                    let message = format!("{} has no arguments that could be frozen", decl.name.name);
                    self.diagnostics.push(Diagnostic::warning("bad-attribute", message, decl.span));
                }
                OpAttr::Frozen(numbers) if numbers.contains(&0) => {
                    let message = format!("frozen of {} names argument 0: the first is 1", decl.name.name);
                    self.diagnostics.push(
                        Diagnostic::warning("bad-attribute", message, decl.span)
                            .note(None, "the attribute is ignored"),
                    );
                }
                OpAttr::Frozen(numbers) if numbers.is_empty() => attrs.frozen = (0..arity as u32).collect(),
                OpAttr::Frozen(numbers) => {
                    let mut frozen: Vec<u32> =
                        self.positions(decl, "frozen", numbers).into_iter().flatten().collect();
                    frozen.iter_mut().for_each(|p| *p -= 1);
                    frozen.sort_unstable();
                    if let Some(twice) = frozen.windows(2).find(|pair| pair[0] == pair[1]) {
                        let (name, number) = (decl.name.name, twice[0] + 1);
                        let message = format!("frozen of {name} names argument {number} twice");
                        self.diagnostics.push(Diagnostic::warning("bad-attribute", message, decl.span));
                    }
                    frozen.dedup();
                    attrs.frozen = frozen;
                }
                OpAttr::Poly(numbers) => {
                    attrs.poly = self.positions(decl, "poly", numbers).unwrap_or_default();
                    // Arguments in order, then the range.
                    attrs.poly.sort_unstable_by_key(|p| p.wrapping_sub(1));
                    attrs.poly.dedup();
                }
                OpAttr::Metadata(text) => attrs.metadata = Some(text.clone()),
                OpAttr::LatexMacro(_) => {}
                OpAttr::PortalOrOther(token) => {
                    // `portal`, `pconst` and the like ask for nothing here.
                    let _ = token;
                }
                OpAttr::Special(hooks) => written.special.extend(hooks.iter().cloned()),
            }
        }
        self.check_axioms(decl, &mut attrs, &mut identity);
        let mut place = |i: usize, ty: &TypeExpr| {
            if attrs.poly.contains(&(i as u32)) {
                return Type::Universal;
            }
            self.check_type(ty);
            type_of(ty, decl.partial)
        };
        let domain = decl.domain.iter().enumerate().map(|(i, ty)| place(i + 1, ty)).collect();
        let range = place(0, &decl.range);
        self.unit.ops.push(OwnOp {
            name: decl.name.name,
            domain,
            range,
            identity,
            written: Some(Arc::new(written)),
            attrs,
            span: decl.span,
        });
    }

    fn check_axioms(&mut self, decl: &OpDecl, attrs: &mut Attrs, identity: &mut Option<IdentitySide>) {
        let arity = decl.domain.len();
        let mut wrong = Vec::new();
        if arity != 2 {
            let mut clear = |flag: &mut bool, name: &'static str| {
                if std::mem::take(flag) {
                    wrong.push(name);
                }
            };
            clear(&mut attrs.assoc, "assoc");
            clear(&mut attrs.comm, "comm");
            clear(&mut attrs.idem, "idem");
            if identity.take().is_some() {
                wrong.push("id");
            }
        }
        if attrs.iter && arity != 1 {
            attrs.iter = false;
            let message = format!(
                "operator {} has attribute iter, which needs one argument, not {arity}",
                decl.name.name
            );
            self.diagnostics.push(Diagnostic::error("bad-attribute", message, decl.span));
            self.unit.flawed = true;
        }
        if !wrong.is_empty() {
            let message = format!(
                "operator {} has attribute {}, which needs two arguments, not {arity}",
                decl.name.name,
                wrong.join(", ")
            );
            self.diagnostics.push(Diagnostic::error("bad-attribute", message, decl.span));
            self.unit.flawed = true;
        }
        if attrs.assoc && attrs.idem {
            attrs.idem = false;
            let message = format!("operator {} cannot be both assoc and idem", decl.name.name);
            self.diagnostics.push(Diagnostic::error("bad-attribute", message, decl.span));
            self.unit.flawed = true;
        }
    }

    fn gather(&mut self, decl: &OpDecl, tokens: &[Token]) -> Option<Vec<Gather>> {
        match gather(tokens) {
            Some(list)
                if list.len() == decl.name.name.as_str().matches('_').count().max(decl.domain.len()) =>
            {
                Some(list)
            }
            _ => {
                let message = format!(
                    "gather of {} needs one of e, E, & for each of its {} arguments",
                    decl.name.name,
                    decl.domain.len()
                );
                let span = tokens.first().map_or(decl.span, |t| t.span);
                self.diagnostics.push(Diagnostic::error("bad-gather", message, span));
                None
            }
        }
    }

    /// The words of a format: letters that are known, one word for each place around the pieces of
    /// the name.
    fn format(&mut self, decl: &OpDecl, words: &[Token]) -> Option<Vec<Name>> {
        const LETTERS: &str = "bcfghimnoprstuwxyBCGMPRWY!?+-";
        let is_good = |word: &str| word == "d" || word.chars().all(|c| LETTERS.contains(c));
        let bad = words.iter().find(|word| !is_good(word.name.as_str()));
        let (places, name) = (name_pieces(decl.name.name, decl.domain.len()) + 1, decl.name.name);
        let (message, span) = match bad {
            Some(word) => (format!("format of {name} has an unknown word {}", word.name), word.span),
            None if words.len() != places => {
                let message = format!("format of {name} has {} words, but {places} are needed", words.len());
                (message, words.first().map_or(decl.span, |word| word.span))
            }
            None => return Some(words.iter().map(|word| word.name).collect()),
        };
        let label = match bad {
            Some(_) => "d alone, or letters such as n, i, s, t, +, -, o and those of colours",
            None => "one for each piece of the name and one for the end",
        };
        let warning = Diagnostic::warning("bad-format", message, span).label(label);
        self.diagnostics.push(warning.note(None, "the format is ignored".to_owned()));
        None
    }

    /// Argument numbers between 0 and the arity.
    fn precedence(&mut self, decl: &OpDecl, prec: u32) -> Option<u32> {
        const PREC_MAX: u32 = 127;
        if prec > PREC_MAX {
            let message = format!("precedence of {} is {prec}, more than {PREC_MAX}", decl.name.name);
            let diagnostic = Diagnostic::warning("bad-attribute", message, decl.span);
            self.diagnostics.push(diagnostic.label("the attribute is ignored"));
            return None;
        }
        Some(prec)
    }

    fn positions(&mut self, decl: &OpDecl, what: &str, numbers: &[i64]) -> Option<Vec<u32>> {
        let arity = decl.domain.len() as i64;
        if let Some(bad) = numbers.iter().find(|n| n.abs() > arity) {
            let message =
                format!("{what} of {} names argument {bad}, but there are {arity} arguments", decl.name.name);
            self.diagnostics.push(Diagnostic::error("bad-attribute", message, decl.span));
            self.unit.flawed = true;
            return None;
        }
        // A negative number was once meant for evaluation on demand; to Maude it is the argument.
        Some(numbers.iter().map(|n| n.unsigned_abs() as u32).collect())
    }
}

/// The gathering pattern, if every word is `e`, `E` or `&`.
pub(super) fn gather(tokens: &[Token]) -> Option<Vec<Gather>> {
    let one = |token: &Token| match token.name.as_str() {
        "E" => Some(Gather::Loose),
        "e" => Some(Gather::Strict),
        "&" => Some(Gather::Any),
        _ => None,
    };
    tokens.iter().map(one).collect()
}
