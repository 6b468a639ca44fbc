//! Module expressions: instances and sums, evaluated to shared units (renamings: [`super::rename`]).
//!
//! An instance `P{V}` imports the views' targets and then what `P` imports, instantiated in turn,
//! so that `LIST{X}` inside a module that is instantiated by `Nat` is the same `LIST{Nat}` that
//! everybody else imports. A renaming is pushed through the imports likewise, and leaves alone
//! those that have nothing to rename.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::database::{Broken, Modules};
use super::declare::expr_span;
use super::rename::renaming;
use super::sort_name::{self, SortArg, SortArgs};
use super::translate::Translator;
use super::unit::{Arg, Import, Morphism, Origin, Param, Renaming, Target, Unit};
use crate::base::{Diagnostic, Name, Span};
use crate::syntax::tree::{ImportMode, ModuleExpr, ModuleKind, ViewDecl, ViewExpr};

/// What the parameters of a module are replaced by.
pub(super) type Subst = Vec<(Param, Arg)>;

impl Modules {
    /// Evaluates an expression; `params` are those of the module in which it stands.
    pub(super) fn evaluate(&mut self, expr: &ModuleExpr, params: &[Param]) -> Result<Arc<Unit>, Broken> {
        match expr {
            ModuleExpr::Name(token) => self.named(*token),
            ModuleExpr::Instance { module, args, span } => {
                let base = self.evaluate(module, params);
                let args: Vec<Result<Arg, Broken>> = args.iter().map(|a| self.argument(a, params)).collect();
                let base = base?;
                let args = args.into_iter().collect::<Result<Vec<Arg>, Broken>>()?;
                self.check_arguments(&format!("module {}", base.key), &base.params, &args, *span)?;
                self.instance(&base, args)
            }
            ModuleExpr::Rename { module, items, span } => {
                let base = self.evaluate(module, params)?;
                let items: Vec<Renaming> = items.iter().map(renaming).collect();
                self.check_renaming(&base, &items, *span);
                Ok(self.rename(&base, &items))
            }
            ModuleExpr::Sum(items) => {
                let units: Vec<_> = items.iter().map(|item| self.evaluate(item, params)).collect();
                let units = units.into_iter().collect::<Result<Vec<_>, _>>()?;
                for (unit, item) in units.iter().zip(items) {
                    if !unit.params.is_empty() {
                        let message = format!("{} has parameters and cannot be summed", unit.key);
                        let span = expr_span(item);
                        return Err(self.error(Diagnostic::error("uninstantiated-import", message, span)));
                    }
                }
                Ok(self.sum(units))
            }
        }
    }

    /// An argument: a parameter of the enclosing module, or else a view.
    pub(super) fn argument(&mut self, expr: &ViewExpr, params: &[Param]) -> Result<Arg, Broken> {
        match expr {
            ViewExpr::Name(token) => match params.iter().find(|p| p.name == token.name) {
                Some(param) => Ok(Arg::Param(param.clone())),
                None => Ok(Arg::View(self.view(*token)?)),
            },
            ViewExpr::Instance { view, args, span } => {
                let base = self.view(*view);
                let args: Vec<Result<Arg, Broken>> = args.iter().map(|a| self.argument(a, params)).collect();
                let base = base?;
                let args = args.into_iter().collect::<Result<Vec<Arg>, Broken>>()?;
                self.check_arguments(&format!("view {}", base.key), &base.params, &args, *span)?;
                Ok(Arg::View(self.view_instance(&base, args)?))
            }
        }
    }

    /// As many arguments as parameters, each from the right theory.
    fn check_arguments(
        &mut self,
        what: &str,
        params: &[Param],
        args: &[Arg],
        span: Span,
    ) -> Result<(), Broken> {
        if params.len() != args.len() {
            let needed: Vec<String> =
                params.iter().map(|p| format!("{} :: {}", p.name, p.theory.key)).collect();
            let message =
                format!("{what} has {} parameters, but {} arguments are given", params.len(), args.len());
            let mut diagnostic = Diagnostic::error("wrong-argument-count", message, span);
            if !needed.is_empty() {
                diagnostic = diagnostic.label(format!("its parameters are {}", needed.join(", ")));
            }
            return Err(self.error(diagnostic));
        }
        let mut result = Ok(());
        for (param, arg) in params.iter().zip(args) {
            let (theory, message) = match arg {
                Arg::View(view) if !view.params.is_empty() => {
                    let message = format!("view {} has parameters and needs arguments itself", view.key);
                    result = Err(self.error(Diagnostic::error("uninstantiated-view", message, span)));
                    continue;
                }
                Arg::View(view) => {
                    (view.from.key, format!("view {} is from theory {}", view.key, view.from.key))
                }
                Arg::Param(p) => {
                    (p.theory.key, format!("parameter {} is of theory {}", p.name, p.theory.key))
                }
            };
            if theory != param.theory.key {
                let message = format!(
                    "{message}, but parameter {} of {what} needs theory {}",
                    param.name, param.theory.key
                );
                let mut diagnostic = Diagnostic::error("theory-mismatch", message, span);
                if let Arg::Param(_) = arg {
                    diagnostic = diagnostic.hint(format!(
                        "instantiate by a view from {} to {theory} first, then by {}",
                        param.theory.key,
                        arg.name()
                    ));
                } else {
                    let fits = |decl: &ViewDecl| matches!(&decl.from, ModuleExpr::Name(t) if t.name == param.theory.key);
                    let views: Vec<&str> = self
                        .views
                        .values()
                        .filter(|view| fits(view.decl.get()))
                        .map(|view| view.name.name.as_str())
                        .take(8)
                        .collect();
                    if !views.is_empty() {
                        diagnostic =
                            diagnostic.hint(format!("views from {}: {}", param.theory.key, views.join(", ")));
                    }
                }
                result = Err(self.error(diagnostic));
            }
        }
        result
    }

    // ---- instances ----

    /// `P{V1, V2}`; the arguments fit the parameters.
    pub(super) fn instance(&mut self, base: &Arc<Unit>, args: Vec<Arg>) -> Result<Arc<Unit>, Broken> {
        let names: Vec<String> = args.iter().map(Arg::key).collect();
        let key = Name::new(&format!("{}{{{}}}", base.key, names.join(", ")));
        if let Some(unit) = self.units.get(&key) {
            return Ok(unit.clone());
        }
        let number = self.number(key);
        let subst: Subst = base.params.iter().cloned().zip(args.iter().cloned()).collect();
        let mut params = Vec::new();
        let mut imports = Vec::new();
        for (param, arg) in &subst {
            let (unit, free) = match arg {
                Arg::Param(p) => (p.copy.clone(), false),
                Arg::View(view) if view.to.kind.is_theory() => {
                    let copy = self.copy(param.name, &view.to);
                    params.push(Param { name: param.name, theory: view.to.clone(), copy: copy.clone() });
                    (copy, true)
                }
                Arg::View(view) => (view.to.clone(), false),
            };
            imports.push(Import { unit, mode: ImportMode::Protecting, param: free });
        }
        for import in base.imports.iter().filter(|i| !i.param) {
            let unit = self.instantiate(&import.unit, &subst)?;
            imports.push(Import { unit, ..*import });
        }
        let morphism = self.instance_morphism(base, &subst);
        let origin = Origin::Instance { base: base.clone(), args: args.clone() };
        let mut unit = self.derived(key, base, morphism, origin);
        unit.number = number;
        unit.params = params;
        unit.bound = union(args.iter().map(Arg::bound));
        for arg in &args {
            if let Arg::View(view) = arg {
                unit.mentions.extend(view.mentions.iter().copied());
            }
        }
        unit.imports = imports;
        mention_imports(&mut unit);
        Ok(self.enter(unit))
    }

    /// The unit with the parameters that it mentions replaced.
    pub(super) fn instantiate(&mut self, unit: &Arc<Unit>, subst: &Subst) -> Result<Arc<Unit>, Broken> {
        if !unit.bound.iter().any(|b| subst.iter().any(|(p, _)| p.name == *b)) {
            return Ok(unit.clone());
        }
        match &unit.origin {
            Origin::Named(_) => Ok(unit.clone()),
            Origin::Copy { param } => match subst.iter().find(|(p, _)| p.name == *param) {
                Some((_, Arg::Param(p))) => Ok(p.copy.clone()),
                Some((p, Arg::View(view))) if view.to.kind.is_theory() => Ok(self.copy(p.name, &view.to)),
                Some((_, Arg::View(view))) => Ok(view.to.clone()),
                None => Ok(unit.clone()),
            },
            Origin::Instance { base, args } => {
                let mut rebound = Vec::new();
                let mut new_args = Vec::with_capacity(args.len());
                for arg in args {
                    let arg = self.instantiate_arg(arg, subst)?;
                    // `LIST{X}` with `X` replaced by a view to a theory is `LIST{V}{X}`.
                    if let Arg::View(view) = &arg
                        && view.to.kind.is_theory()
                        && let Some((p, _)) =
                            subst.iter().find(|(_, a)| matches!(a, Arg::View(v) if Arc::ptr_eq(v, view)))
                    {
                        let copy = self.copy(p.name, &view.to);
                        rebound.push(Arg::Param(Param { name: p.name, theory: view.to.clone(), copy }));
                    }
                    new_args.push(arg);
                }
                let instance = self.instance(base, new_args)?;
                if rebound.len() == instance.params.len() && !rebound.is_empty() {
                    return self.instance(&instance, rebound);
                }
                Ok(instance)
            }
            Origin::Rename { base, items } => {
                let base = self.instantiate(base, subst)?;
                let items = instantiate_items(items, subst);
                Ok(self.rename(&base, &items))
            }
            Origin::Sum(units) => {
                let units: Vec<_> =
                    units.iter().map(|u| self.instantiate(u, subst)).collect::<Result<_, _>>()?;
                Ok(self.sum(units))
            }
        }
    }

    pub(super) fn instantiate_arg(&mut self, arg: &Arg, subst: &Subst) -> Result<Arg, Broken> {
        match arg {
            Arg::Param(param) => {
                let found = subst.iter().find(|(p, _)| p.name == param.name);
                Ok(found.map_or_else(|| arg.clone(), |(_, new)| new.clone()))
            }
            Arg::View(view) => match &view.instance {
                Some((base, args)) if !view.bound.is_empty() => {
                    let args: Vec<Arg> =
                        args.iter().map(|a| self.instantiate_arg(a, subst)).collect::<Result<_, _>>()?;
                    Ok(Arg::View(self.view_instance(base, args)?))
                }
                _ => Ok(arg.clone()),
            },
        }
    }

    /// What instantiation does to the names of a unit that mentions the parameters.
    pub(super) fn instance_morphism(&mut self, unit: &Arc<Unit>, subst: &Subst) -> Morphism {
        let mut morphism = Morphism::default();
        let flat = self.flat(unit);
        for (param, arg) in subst {
            let theory = &param.theory;
            let theory_flat = self.flat(theory);
            let copy_flat = self.flat(&param.copy);
            for sort in theory_sorts(theory) {
                let from = Name::new(&format!("{}${sort}", param.name));
                let to = view_sort(param, arg, sort);
                if from != to {
                    morphism.sorts.insert(from, to);
                }
            }
            let Arg::View(view) = arg else { continue };
            if view.map.ops.is_empty() {
                continue;
            }
            let target_copy = view.to.kind.is_theory().then(|| self.copy(param.name, &view.to));
            let copy_morphism = param.copy.base.as_ref().map(|(_, m)| m);
            let mut to_copy = Translator::new(&theory_flat.signature, &copy_flat.signature, copy_morphism);
            let mut to_unit = Translator::new(&copy_flat.signature, &flat.signature, None);
            for (&op, target) in &view.map.ops {
                let Some(id) = to_copy.op(op).and_then(|op| to_unit.op(op)) else { continue };
                let target = match (target, &target_copy) {
                    (Target::Term { vars, tree, .. }, Some(copy)) => {
                        let to = self.flat(&view.to);
                        let copied = self.flat(copy);
                        let m = copy.base.as_ref().map(|(_, m)| m);
                        let Some(tree) = Translator::new(&to.signature, &copied.signature, m).tree(tree)
                        else {
                            continue;
                        };
                        Target::Term { unit: copy.clone(), vars: vars.clone(), tree }
                    }
                    _ => target.clone(),
                };
                morphism.ops.insert(id, target);
            }
        }
        let args = sort_args(subst);
        for id in flat.signature.sorts.declared() {
            let name = flat.signature.sorts.name(id);
            let to = sort_name::instantiate(name, &args);
            if name != to {
                morphism.sorts.entry(name).or_insert(to);
            }
        }
        morphism
    }

    // ---- sums ----

    /// `A + B`: the summands in the order in which their names were first seen, each once.
    fn sum(&mut self, mut units: Vec<Arc<Unit>>) -> Arc<Unit> {
        units.sort_by_key(|u| u.number);
        units.dedup_by_key(|u| u.key);
        if let [unit] = units.as_slice() {
            return unit.clone();
        }
        let names: Vec<&str> = units.iter().map(|u| u.key.as_str()).collect();
        let key = Name::new(&names.join(" + "));
        if let Some(unit) = self.units.get(&key) {
            return unit.clone();
        }
        let rules = units.iter().any(|u| u.kind.has_rules());
        let theory = units.iter().any(|u| u.kind.is_theory());
        let mut unit = Unit {
            key,
            number: self.number(key),
            kind: match (rules, theory) {
                (false, false) => ModuleKind::Fmod,
                (true, false) => ModuleKind::Mod,
                (false, true) => ModuleKind::Fth,
                (true, true) => ModuleKind::Th,
            },
            params: Vec::new(),
            imports: units
                .iter()
                .map(|u| Import { unit: u.clone(), mode: ImportMode::Including, param: false })
                .collect(),
            bound: union(units.iter().map(|u| u.bound.clone())),
            span: units[0].span,
            origin: Origin::Sum(units),
            base: None,
            mentions: FxHashSet::default(),
            sorts: Vec::new(),
            subsorts: Vec::new(),
            ops: Vec::new(),
            flawed: false,
            unusable: false,
            flat: Default::default(),
            statements: Default::default(),
            module: Default::default(),
        };
        mention_imports(&mut unit);
        self.enter(unit)
    }
}

pub(super) fn mention_imports(unit: &mut Unit) {
    for import in &unit.imports {
        unit.mentions.extend(import.unit.mentions.iter().copied());
    }
}

fn union(lists: impl Iterator<Item = Vec<Name>>) -> Vec<Name> {
    let mut out = Vec::new();
    for name in lists.flatten() {
        if !out.contains(&name) {
            out.push(name);
        }
    }
    out
}

/// The sorts that a theory and the theories it includes declare.
pub(super) fn theory_sorts(theory: &Arc<Unit>) -> Vec<Name> {
    let units = theory.donors();
    let theories = units.iter().chain([theory]).filter(|u| u.kind.is_theory());
    theories.flat_map(|u| u.sorts.iter().map(|s| s.0)).collect()
}

/// What the theory's sort becomes where the parameter is replaced by the argument.
fn view_sort(param: &Param, arg: &Arg, sort: Name) -> Name {
    match arg {
        Arg::Param(new) => Name::new(&format!("{}${sort}", new.name)),
        Arg::View(view) => {
            let image = view.map.sort(sort);
            if view.to.kind.is_theory() && theory_sorts(&view.to).contains(&image) {
                Name::new(&format!("{}${image}", param.name))
            } else {
                image
            }
        }
    }
}

fn sort_args(subst: &Subst) -> SortArgs {
    let arg = |param: &Param, arg: &Arg| match arg {
        Arg::View(view) if view.to.kind.is_theory() => SortArg::Theory(view.name, param.name),
        _ => SortArg::Name(arg.name()),
    };
    subst.iter().map(|(p, a)| (p.name, arg(p, a))).collect()
}

/// A sort's name under a substitution of parameters.
pub(super) fn instantiate_sort(name: Name, subst: &Subst, args: &SortArgs) -> Name {
    if let Some((param, sort)) = name.as_str().split_once('$')
        && let Some((p, a)) = subst.iter().find(|(p, _)| p.name.as_str() == param)
        && theory_sorts(&p.theory).contains(&Name::new(sort))
    {
        return view_sort(p, a, Name::new(sort));
    }
    sort_name::instantiate(name, args)
}

/// A morphism's sort images under a substitution of parameters.
pub(super) fn instantiate_names(names: &mut FxHashMap<Name, Name>, subst: &Subst) {
    let args = sort_args(subst);
    names.values_mut().for_each(|name| *name = instantiate_sort(*name, subst, &args));
}

fn instantiate_items(items: &[Renaming], subst: &Subst) -> Vec<Renaming> {
    let args = sort_args(subst);
    let sort = |name: Name| instantiate_sort(name, subst, &args);
    let item = |item: &Renaming| match item.clone() {
        Renaming::Sort { from, to } => Renaming::Sort { from: sort(from), to: sort(to) },
        Renaming::Op { from, types, to, syntax } => {
            let types = types
                .map(|(domain, range)| (domain.into_iter().map(|t| t.map(sort)).collect(), range.map(sort)));
            Renaming::Op { from, types, to, syntax }
        }
        label => label,
    };
    items.iter().map(item).collect()
}
