//! Renamings `M * (...)`: pushed through the imports, each of which is left alone if there is
//! nothing to rename in it.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::database::Modules;
use super::declare::{gather, type_of};
use super::express::mention_imports;
use super::sort_name::sort_name;
use super::translate::Translator;
use super::unit::{Import, Morphism, Origin, Renaming, Syntax, Target, Type, Unit};
use crate::base::{Diagnostic, Name, Severity, Span};
use crate::sorts::{Gather, KindId, OpId, Signature};
use crate::syntax::tree::{Decl, OpAttr, RenameItem};

impl Modules {
    /// `M * (...)`, or `M` itself if there is nothing to rename in it.
    pub(super) fn rename(&mut self, base: &Arc<Unit>, items: &[Renaming]) -> Arc<Unit> {
        let flat = self.flat(base);
        let sig = &flat.signature;
        let mut ops = FxHashMap::default();
        for (i, item) in items.iter().enumerate() {
            let Renaming::Op { from, types, .. } = item else { continue };
            for &id in sig.named(*from) {
                if types.as_ref().is_none_or(|types| has_types(sig, id, types)) {
                    ops.entry(id).or_insert(i);
                }
            }
        }
        self.rename_with(base, items, ops)
    }

    /// Renames with it known which item each operator falls under.
    fn rename_with(
        &mut self,
        base: &Arc<Unit>,
        items: &[Renaming],
        ops: FxHashMap<OpId, usize>,
    ) -> Arc<Unit> {
        let flat = self.flat(base);
        let mut morphism = Morphism::default();
        let mut used: FxHashSet<usize> = FxHashSet::default();
        for (i, item) in items.iter().enumerate() {
            match item {
                Renaming::Sort { from, to } if flat.signature.sorts.find(*from).is_some() && from != to => {
                    morphism.sorts.insert(*from, *to);
                    used.insert(i);
                }
                Renaming::Label { from, to } if has_label(base, *from) => {
                    morphism.labels.insert(*from, *to);
                    used.insert(i);
                }
                Renaming::Op { from, types: None, to, syntax }
                    if flat.polys.iter().any(|p| p.name == *from) =>
                {
                    morphism.polys.insert(*from, Target::Op { name: *to, syntax: syntax.clone() });
                    used.insert(i);
                }
                _ => {}
            }
        }
        for (&id, &i) in &ops {
            if let Renaming::Op { to, syntax, .. } = &items[i] {
                morphism.ops.insert(id, Target::Op { name: *to, syntax: syntax.clone() });
                used.insert(i);
            }
        }
        if morphism.is_empty() {
            return base.clone();
        }
        let applied: Vec<Renaming> = items
            .iter()
            .enumerate()
            .filter(|(i, _)| used.contains(i))
            .map(|(_, item)| item.clone())
            .collect();
        let texts: Vec<String> = applied.iter().map(item_text).collect();
        let key = match base.origin {
            Origin::Sum(_) => format!("({}) * ({})", base.key, texts.join(", ")),
            _ => format!("{} * ({})", base.key, texts.join(", ")),
        };
        let key = Name::new(&key);
        if let Some(unit) = self.units.get(&key) {
            return unit.clone();
        }
        let number = self.number(key);
        let mut imports = Vec::with_capacity(base.imports.len());
        for import in &base.imports {
            let unit = match import.unit.origin {
                Origin::Copy { .. } => import.unit.clone(),
                _ => self.rename_import(&import.unit, &flat.signature, items, &ops),
            };
            imports.push(Import { unit, ..*import });
        }
        let origin = Origin::Rename { base: base.clone(), items: applied };
        let mut unit = self.derived(key, base, morphism, origin);
        unit.number = number;
        unit.params = base.params.clone();
        unit.bound = base.bound.clone();
        unit.imports = imports;
        mention_imports(&mut unit);
        self.enter(unit)
    }

    fn rename_import(
        &mut self,
        import: &Arc<Unit>,
        base: &Signature,
        items: &[Renaming],
        ops: &FxHashMap<OpId, usize>,
    ) -> Arc<Unit> {
        let flat = self.flat(import);
        let names: FxHashSet<Name> = items
            .iter()
            .filter_map(|item| match item {
                Renaming::Op { from, .. } => Some(*from),
                _ => None,
            })
            .collect();
        let mut inclusion = Translator::new(&flat.signature, base, None);
        let mut restricted = FxHashMap::default();
        for (id, op) in flat.signature.ops() {
            if names.contains(&op.name)
                && let Some(item) = inclusion.op(id).and_then(|id| ops.get(&id))
            {
                restricted.insert(id, *item);
            }
        }
        self.rename_with(import, items, restricted)
    }

    /// Items of a renaming that rename nothing are probably slips.
    pub(super) fn check_renaming(&mut self, base: &Arc<Unit>, items: &[Renaming], span: Span) {
        let flat = self.flat(base);
        let sig = &flat.signature;
        for item in items {
            let missing = match item {
                Renaming::Sort { from, .. } => {
                    sig.sorts.find(*from).is_none().then(|| format!("sort {from}"))
                }
                Renaming::Op { from, types, .. } => {
                    let mut named = sig.named(*from).iter();
                    let found = named.any(|&id| types.as_ref().is_none_or(|types| has_types(sig, id, types)));
                    let typed = if types.is_some() && !sig.named(*from).is_empty() {
                        " with these types"
                    } else {
                        ""
                    };
                    (!found && !flat.polys.iter().any(|p| p.name == *from))
                        .then(|| format!("operator {from}{typed}"))
                }
                Renaming::Label { from, .. } => (!has_label(base, *from)).then(|| format!("label {from}")),
            };
            if let Some(what) = missing {
                let message = format!("{} has no {what} to rename", base.key);
                self.diagnostics.push(Diagnostic::new(
                    Severity::Advisory,
                    "useless-renaming",
                    message,
                    Some(span),
                ));
            }
        }
    }
}

/// Has the operator argument and result kinds of these types?
pub(super) fn has_types(sig: &Signature, id: OpId, (domain, range): &(Vec<Type>, Type)) -> bool {
    let kind = |ty: &Type| -> Option<KindId> {
        match ty {
            Type::Sort(name) | Type::Kind(name) => sig.sorts.find(*name).map(|s| sig.sorts.kind_of(s)),
            Type::Universal => None,
        }
    };
    let op = sig.op(id);
    op.arity() == domain.len()
        && kind(range) == Some(op.range)
        && domain.iter().zip(&op.domain).all(|(ty, k)| kind(ty) == Some(*k))
}

/// Does a statement of the unit, or of what it imports, have the label? Looks at the text, since
/// statements may not have been parsed yet.
fn has_label(unit: &Arc<Unit>, label: Name) -> bool {
    let own = |unit: &Arc<Unit>| -> bool {
        let mut at = unit.clone();
        let mut label = label;
        while let Some((base, morphism)) = &at.base {
            if let Some((&from, _)) = morphism.labels.iter().find(|(_, to)| **to == label) {
                label = from;
            } else if morphism.labels.contains_key(&label) {
                return false;
            }
            let base = base.clone();
            at = base;
        }
        let Origin::Named(decl) = &at.origin else { return false };
        decl.decls.iter().any(|d| match d {
            Decl::Statement(s) => {
                s.body.windows(2).any(|w| w[1].name == label && matches!(w[0].name.as_str(), "[" | "label"))
            }
            _ => false,
        })
    };
    own(unit) || unit.donors().iter().any(own)
}

/// A renaming's item by names.
pub(super) fn renaming(item: &RenameItem) -> Renaming {
    match item {
        RenameItem::Sort { from, to } => Renaming::Sort { from: sort_name(from), to: sort_name(to) },
        RenameItem::Label { from, to } => Renaming::Label { from: from.name, to: to.name },
        RenameItem::Op { from, types, to, attrs } => {
            let mut syntax = Syntax::default();
            for attr in attrs {
                match attr {
                    OpAttr::Prec(prec) => syntax.prec = Some(*prec),
                    OpAttr::Gather(tokens) => syntax.gather = gather(tokens),
                    OpAttr::Format(words) => syntax.format = Some(words.iter().map(|t| t.name).collect()),
                    _ => {}
                }
            }
            let types = types.as_ref().map(|(domain, range)| {
                (domain.iter().map(|t| type_of(t, false)).collect(), type_of(range, false))
            });
            Renaming::Op { from: from.name, types, to: to.name, syntax }
        }
    }
}

fn type_text(ty: &Type) -> String {
    match ty {
        Type::Sort(name) => name.as_str().to_owned(),
        Type::Kind(name) => format!("[{name}]"),
        Type::Universal => "Universal".to_owned(),
    }
}

fn item_text(item: &Renaming) -> String {
    match item {
        Renaming::Sort { from, to } => format!("sort {from} to {to}"),
        Renaming::Label { from, to } => format!("label {from} to {to}"),
        Renaming::Op { from, types, to, syntax } => {
            let types = types.as_ref().map_or(String::new(), |(domain, range)| {
                let domain: Vec<String> = domain.iter().map(type_text).collect();
                let domain = if domain.is_empty() { String::new() } else { domain.join(" ") + " " };
                format!(" : {domain}-> {}", type_text(range))
            });
            let mut attrs = Vec::new();
            if let Some(prec) = syntax.prec {
                attrs.push(format!("prec {prec}"));
            }
            if let Some(gather) = &syntax.gather {
                attrs.push(format!("gather ({})", Gather::text(gather)));
            }
            if let Some(format) = &syntax.format {
                let words: Vec<&str> = format.iter().map(|n| n.as_str()).collect();
                attrs.push(format!("format ({})", words.join(" ")));
            }
            let attrs = if attrs.is_empty() { String::new() } else { format!(" [{}]", attrs.join(" ")) };
            format!("op {from}{types} to {to}{attrs}")
        }
    }
}
