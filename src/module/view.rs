//! Views: from a theory to a module or theory, checked when they are first needed.
//!
//! A view's morphism lists an image for every operator of the theory whose name changes or that
//! becomes a term, and for every sort of the theory whose name changes.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::database::{Broken, Modules};
use super::declare::type_of;
use super::express::{Subst, instantiate_names, theory_sorts};
use super::rename::has_types;
use super::sort_name::sort_name;
use super::translate::Translator;
use super::unit::{Arg, Flat, Morphism, Syntax, Target, Type, Unit, View};
use crate::base::{Diagnostic, Name, Severity, Span, nearest};
use crate::mixfix::{Grammar, Vars};
use crate::sorts::{Node, OpId, Signature};
use crate::syntax::tree::{Bubble, Token, ViewDecl, ViewMap};

impl Modules {
    /// The view of a name.
    pub(super) fn view(&mut self, token: Token) -> Result<Arc<View>, Broken> {
        let name = token.name;
        if let Some(view) = self.evaluated_views.get(&name) {
            return Ok(view.clone());
        }
        let Some(decl) = self.views.get(&name).map(|entry| entry.decl.get().clone()) else {
            self.missing.insert((true, name));
            let names: Vec<Name> = self.views.keys().copied().collect();
            let mut diagnostic = Self::unknown("unknown-view", "view", token, names);
            if self.modules.contains_key(&name) && diagnostic.hint.is_none() {
                diagnostic =
                    diagnostic.hint(format!("{name} is a module; an argument is a view or a parameter"));
            }
            return Err(self.error(diagnostic));
        };
        if self.broken.contains(&(true, name)) {
            let message = format!("view {name} cannot be used because of the errors in it");
            return Err(self.error(Diagnostic::error("broken-view", message, token.span)));
        }
        self.guard((true, name), token, |this| this.make_view(&decl))
    }

    fn make_view(&mut self, decl: &Arc<ViewDecl>) -> Result<Arc<View>, Broken> {
        let params = self.params(&decl.params)?;
        let from = self.evaluate(&decl.from, &[]);
        let to = self.evaluate(&decl.to, &params);
        let (from, to) = (from?, to?);
        let name = decl.name.name;
        if !from.kind.is_theory() {
            let message = format!("view {name} must be from a theory, but {} is a module", from.key);
            return Err(self.error(Diagnostic::error("view-from-module", message, decl.span)));
        }
        let from_flat = self.flat(&from);
        let to_flat = self.flat(&to);
        let mut mapping = Mapping {
            decl,
            from: &from,
            to: &to,
            from_flat: &from_flat,
            to_flat: &to_flat,
            map: Morphism::default(),
            diagnostics: Vec::new(),
        };
        mapping.sorts();
        if !mapping.diagnostics.iter().any(is_error) {
            mapping.ops();
        }
        let (map, diagnostics) = (mapping.map, mapping.diagnostics);
        let broken = diagnostics.iter().any(is_error);
        self.diagnostics.extend(diagnostics);
        if broken {
            return Err(Broken);
        }
        let mut mentions: FxHashSet<(bool, Name)> = from.mentions.union(&to.mentions).copied().collect();
        mentions.insert((true, name));
        for param in &params {
            mentions.extend(param.copy.mentions.iter().copied());
        }
        let view = View {
            key: name,
            name,
            params,
            from,
            to,
            map,
            bound: Vec::new(),
            mentions,
            instance: None,
            decl: decl.clone(),
        };
        let view = Arc::new(view);
        self.evaluated_views.insert(name, view.clone());
        Ok(view)
    }

    /// `List{Nat}` for a parameterized view `List`.
    pub(super) fn view_instance(&mut self, base: &Arc<View>, args: Vec<Arg>) -> Result<Arc<View>, Broken> {
        let keys: Vec<String> = args.iter().map(Arg::key).collect();
        let key = Name::new(&format!("{}{{{}}}", base.key, keys.join(", ")));
        if let Some(view) = self.evaluated_views.get(&key) {
            return Ok(view.clone());
        }
        let names: Vec<&str> = args.iter().map(|a| a.name().as_str()).collect();
        let name = Name::new(&format!("{}{{{}}}", base.name, names.join(",")));
        let subst: Subst = base.params.iter().cloned().zip(args.iter().cloned()).collect();
        let to = self.instantiate(&base.to, &subst)?;
        let mut map = base.map.clone();
        instantiate_names(&mut map.sorts, &subst);
        if map.ops.values().any(|t| matches!(t, Target::Term { .. })) {
            let old = self.flat(&base.to);
            let new = self.flat(&to);
            let morphism = self.instance_morphism(&base.to, &subst);
            let mut translator = Translator::new(&old.signature, &new.signature, Some(&morphism));
            for target in map.ops.values_mut() {
                if let Target::Term { unit, tree, .. } = target
                    && let Some(new_tree) = translator.tree(tree)
                {
                    *unit = to.clone();
                    *tree = new_tree;
                }
            }
        }
        let mut mentions = base.mentions.clone();
        mentions.extend(to.mentions.iter().copied());
        let mut bound = Vec::new();
        for arg in &args {
            bound.extend(arg.bound());
            if let Arg::View(view) = arg {
                mentions.extend(view.mentions.iter().copied());
            }
        }
        let view = Arc::new(View {
            key,
            name,
            params: Vec::new(),
            from: base.from.clone(),
            to,
            map,
            bound,
            mentions,
            instance: Some((base.clone(), args)),
            decl: base.decl.clone(),
        });
        self.evaluated_views.insert(key, view.clone());
        Ok(view)
    }
}

struct Mapping<'a> {
    decl: &'a ViewDecl,
    from: &'a Arc<Unit>,
    to: &'a Arc<Unit>,
    from_flat: &'a Flat,
    to_flat: &'a Flat,
    map: Morphism,
    diagnostics: Vec<Diagnostic>,
}

impl Mapping<'_> {
    fn error(&mut self, code: &'static str, message: String, span: Span) {
        self.diagnostics.push(Diagnostic::error(code, message, span));
    }

    fn sorts(&mut self) {
        let source = theory_sorts(self.from);
        for map in &self.decl.maps {
            let ViewMap::Sort { from, to } = map else { continue };
            let (from_name, to_name) = (sort_name(from), sort_name(to));
            if !source.contains(&from_name) {
                if self.from_flat.signature.sorts.find(from_name).is_none() {
                    // Maude says so and goes on.
                    let what = format!("theory {} has no sort {from_name}", self.from.key);
                    self.unknown_sort(Severity::Warning, what, from_name, from.span, &source);
                    continue;
                }
                let what = format!(
                    "sort {from_name} is not declared by theory {} itself, so it cannot be mapped",
                    self.from.key
                );
                self.unknown_sort(Severity::Error, what, from_name, from.span, &source);
            }
            if self.to_flat.signature.sorts.find(to_name).is_none() {
                let names: Vec<Name> = self.sort_names(&self.to_flat.signature);
                let what = format!("{} has no sort {to_name}", self.to.key);
                self.unknown_sort(Severity::Error, what, to_name, to.span, &names);
            }
            self.map.sorts.insert(from_name, to_name);
        }
        for sort in source {
            if !self.map.sorts.contains_key(&sort) && self.to_flat.signature.sorts.find(sort).is_none() {
                let message = format!(
                    "view {} does not say what sort {sort} becomes, and {} has no sort of that name",
                    self.decl.name.name, self.to.key
                );
                self.diagnostics.push(
                    Diagnostic::error("missing-sort-map", message, self.decl.name.span)
                        .hint(format!("add a line such as: sort {sort} to ... .")),
                );
            }
        }
    }

    fn sort_names(&self, sig: &Signature) -> Vec<Name> {
        sig.sorts.declared().map(|s| sig.sorts.name(s)).collect()
    }

    fn unknown_sort(
        &mut self,
        severity: Severity,
        message: String,
        name: Name,
        span: Span,
        candidates: &[Name],
    ) {
        let mut diagnostic = Diagnostic::new(severity, "unknown-sort", message, Some(span));
        if let Some(near) = nearest(name.as_str(), candidates.iter().map(|n| n.as_str())) {
            diagnostic = diagnostic.hint(format!("did you mean {near}?"));
        }
        self.diagnostics.push(diagnostic);
    }

    /// The theory's own operators (and those of the theories it includes).
    fn theory_ops(&self) -> Vec<OpId> {
        let sig = &self.from_flat.signature;
        let mut ops: Vec<OpId> = Vec::new();
        let donors = self.from_flat.donors.iter().filter(|d| d.kind.is_theory());
        for donor in donors {
            if let Some(flat) = donor.flat.get() {
                let mut inclusion = Translator::new(&flat.signature, sig, None);
                ops.extend(flat.own_ops.iter().flatten().filter_map(|&id| inclusion.op(id)));
            }
        }
        ops.extend(self.from_flat.own_ops.iter().flatten());
        ops.sort_unstable();
        ops.dedup();
        ops
    }

    fn ops(&mut self) {
        let ops = self.theory_ops();
        let sig = &self.from_flat.signature;
        let vars = self.vars();
        let mut generic = Vec::new();
        for map in &self.decl.maps {
            match map {
                ViewMap::Op { from, types, to } => {
                    let types: Option<(Vec<Type>, Type)> = types.as_ref().map(|(domain, range)| {
                        (domain.iter().map(|t| type_of(t, false)).collect(), type_of(range, false))
                    });
                    let fits = |id: &&OpId| {
                        sig.op(**id).name == from.name
                            && types.as_ref().is_none_or(|t| has_types(sig, **id, t))
                    };
                    let found: Vec<OpId> = ops.iter().filter(fits).copied().collect();
                    if found.is_empty() {
                        let names: Vec<&str> = ops.iter().map(|&id| sig.op(id).name.as_str()).collect();
                        // Maude says so and goes on.
                        let message = format!("theory {} has no operator {}", self.from.key, from.name);
                        let mut diagnostic = Diagnostic::warning("unknown-operator", message, from.span)
                            .label("this mapping has no effect");
                        if let Some(near) = nearest(from.name.as_str(), names) {
                            diagnostic = diagnostic.hint(format!("did you mean {near}?"));
                        }
                        self.diagnostics.push(diagnostic);
                    }
                    for id in found {
                        let target = Target::Op { name: to.name, syntax: Syntax::default() };
                        if types.is_some() {
                            self.map.ops.insert(id, target);
                        } else {
                            generic.push((id, target));
                        }
                    }
                }
                ViewMap::OpToTerm { from, to, span } => self.op_to_term(&ops, &vars, from, to, *span),
                ViewMap::Label { from, to } => {
                    self.map.labels.insert(from.name, to.name);
                }
                ViewMap::Sort { .. } | ViewMap::Vars { .. } => {}
            }
        }
        // Mappings with types win over those without.
        for (id, target) in generic {
            self.map.ops.entry(id).or_insert(target);
        }
        self.check_ops(&ops);
        let keep =
            |id: &OpId, t: &mut Target| !matches!(t, Target::Op { name, .. } if *name == sig.op(*id).name);
        self.map.ops.retain(keep);
    }

    /// Every operator of the theory needs an image of the right kinds.
    fn check_ops(&mut self, ops: &[OpId]) {
        let sig = &self.from_flat.signature;
        let to = &self.to_flat.signature;
        let mut missing = Vec::new();
        {
            let mut translator = Translator::new(sig, to, Some(&self.map));
            for &id in ops {
                if matches!(self.map.ops.get(&id), Some(Target::Term { .. })) {
                    continue;
                }
                if translator.op(id).is_none() {
                    missing.push(id);
                }
            }
        }
        for id in missing {
            let op = sig.op(id);
            let image = match self.map.ops.get(&id) {
                Some(Target::Op { name, .. }) => *name,
                _ => op.name,
            };
            let decl = &op.decls[0];
            let types: Vec<&str> =
                decl.domain.iter().map(|&s| self.map.sort(sig.sorts.name(s)).as_str()).collect();
            let types = if types.is_empty() { String::new() } else { types.join(" ") + " " };
            let range = self.map.sort(sig.sorts.name(decl.range));
            let message = format!(
                "view {} maps operator {} to {image} : {types}-> {range}, but {} has no such operator",
                self.decl.name.name, op.name, self.to.key
            );
            let mut diagnostic = Diagnostic::error("missing-operator", message, self.decl.name.span);
            if !to.named(image).is_empty() {
                diagnostic =
                    diagnostic.note(None, format!("there is an operator {image}, but on other kinds"));
            } else {
                diagnostic = diagnostic.hint(format!("add a line such as: op {} to ... .", op.name));
            }
            self.diagnostics.push(diagnostic);
        }
    }

    /// The view's variables, with their sorts in the theory.
    fn vars(&mut self) -> Vars {
        let mut vars = Vars::default();
        for map in &self.decl.maps {
            let ViewMap::Vars { names, ty } = map else { continue };
            let sorts = &self.from_flat.signature.sorts;
            let sort = match type_of(ty, false) {
                Type::Sort(name) => sorts.find(name),
                Type::Kind(name) => sorts.find(name).map(|s| sorts.kind(sorts.kind_of(s)).error()),
                Type::Universal => None,
            };
            match sort {
                Some(sort) => vars.extend(names.iter().map(|t| (t.name, sort))),
                None => {
                    let message = format!("theory {} has no such sort for a variable", self.from.key);
                    self.error("unknown-sort", message, names[0].span);
                }
            }
        }
        vars
    }

    fn op_to_term(&mut self, ops: &[OpId], vars: &Vars, from: &Bubble, to: &Bubble, span: Span) {
        let sig = &self.from_flat.signature;
        let (tree, diagnostics) = Grammar::new(sig).term(sig, vars, from, &[]);
        self.diagnostics.extend(diagnostics);
        let Some(tree) = tree else { return };
        let root = tree.root();
        let args: Vec<Option<Name>> = tree
            .args(root)
            .into_iter()
            .map(|at| match tree.node(at) {
                Node::Var(var) => Some(var.name),
                _ => None,
            })
            .collect();
        let args: Option<Vec<Name>> = args.into_iter().collect();
        let distinct = |args: &Vec<Name>| args.iter().collect::<FxHashSet<_>>().len() == args.len();
        let (Node::App { op, .. }, Some(args)) = (tree.node(root), args.filter(distinct)) else {
            self.error(
                "bad-operator-map",
                "the left side of an op-to-term mapping must be an operator over different variables"
                    .to_owned(),
                span,
            );
            return;
        };
        if !ops.contains(op) {
            let message =
                format!("operator {} is not declared by theory {} itself", sig.op(*op).name, self.from.key);
            self.error("unknown-operator", message, span);
            return;
        }
        // On the right, the variables have the images of their sorts.
        let target = &self.to_flat.signature;
        let mut images = Vars::default();
        {
            let translator = Translator::new(sig, target, Some(&self.map));
            let from_left = tree.vars();
            let declared = vars.iter().map(|(&name, &sort)| (name, sort));
            for (name, sort) in declared.chain(from_left.iter().map(|v| (v.name, v.sort))) {
                if let Some(sort) = translator.sort(sort) {
                    images.insert(name, sort);
                }
            }
        }
        let kind = self.image_kind(*op);
        let kinds: Vec<_> = kind.into_iter().collect();
        let (body, diagnostics) = Grammar::new(target).term(target, &images, to, &kinds);
        self.diagnostics.extend(diagnostics);
        let Some(body) = body else { return };
        if let Some(var) = body.vars().iter().find(|v| !args.contains(&v.name)) {
            let message = format!("variable {} does not occur on the left side of the mapping", var.name);
            self.error("unbound-variable", message, span);
            return;
        }
        self.map.ops.insert(*op, Target::Term { unit: self.to.clone(), vars: args, tree: body });
    }

    fn image_kind(&self, op: OpId) -> Option<crate::sorts::KindId> {
        let sig = &self.from_flat.signature;
        Translator::new(sig, &self.to_flat.signature, Some(&self.map)).kind(sig.op(op).range)
    }
}

fn is_error(diagnostic: &Diagnostic) -> bool {
    diagnostic.severity == Severity::Error
}
