//! Identities and `special` hooks of operators: parsed where they are written, translated into
//! the signatures that import, rename or instantiate them.

use std::sync::Arc;

use super::flatten::Flattening;
use super::translate::Translator;
use super::unit::{Flat, OwnOp, Target, Unit};
use crate::base::{Diagnostic, Name};
use crate::mixfix::{Grammar, Vars};
use crate::sorts::{Identity, KindId, Node, OpId, SortId, Special, Tree};
use crate::syntax::tree::{Bubble, Hook, TypeExpr};

impl Flattening<'_> {
    pub(super) fn merge_late(&mut self, donor: &Unit) {
        let Some(flat) = donor.flat.get() else { return };
        if flat.own_identities.is_empty() && flat.own_specials.is_empty() && flat.own_polys.is_empty() {
            return;
        }
        let mut identities = Vec::new();
        let mut specials = Vec::new();
        let mut polys = Vec::new();
        {
            let mut translator = Translator::new(&flat.signature, &self.signature, None);
            for (id, identity) in &flat.own_identities {
                if let (Some(id), Some(term)) = (translator.op(*id), translator.tree(&identity.term)) {
                    identities.push((id, Identity { side: identity.side, term }));
                }
            }
            for (id, special) in &flat.own_specials {
                if let Some(id) = translator.op(*id) {
                    specials.push((id, translate_special(&mut translator, special)));
                }
            }
            for poly in &flat.own_polys {
                let domain: Vec<Option<SortId>> =
                    poly.domain.iter().map(|s| s.and_then(|s| translator.sort(s))).collect();
                let special = poly.special.as_ref().map(|s| translate_special(&mut translator, s));
                polys.push((poly.name, domain, special));
            }
        }
        for (id, identity) in identities {
            self.signature.op_mut(id).axioms.identity.get_or_insert_with(|| Box::new(identity));
        }
        for (id, special) in specials {
            merge_special(&mut self.signature.op_mut(id).special, special);
        }
        for (name, domain, special) in polys {
            if let Some(poly) = self.polys.iter_mut().find(|p| p.name == name && p.domain == domain)
                && poly.special.is_none()
            {
                poly.special = special;
            }
        }
    }

    /// Own identities and hooks of a derived unit come from its base.
    pub(super) fn derive_own(&mut self, flat: &mut Flat) {
        let unit = self.unit;
        let Some((base, morphism)) = &unit.base else { return };
        let Some(base_flat) = base.flat.get() else { return };
        let mut polys = Vec::new();
        {
            let mut translator = Translator::new(&base_flat.signature, &self.signature, Some(morphism));
            for (id, identity) in &base_flat.own_identities {
                if let (Some(id), Some(term)) = (translator.op(*id), translator.tree(&identity.term)) {
                    flat.own_identities.push((id, Identity { side: identity.side, term }));
                }
            }
            for (id, special) in &base_flat.own_specials {
                if let Some(id) = translator.op(*id) {
                    flat.own_specials.push((id, translate_special(&mut translator, special)));
                }
            }
            for poly in &base_flat.own_polys {
                let name = match morphism.polys.get(&poly.name) {
                    Some(Target::Op { name, .. }) => *name,
                    _ => poly.name,
                };
                let special = poly.special.as_ref().map(|s| translate_special(&mut translator, s));
                polys.push((name, special));
            }
        }
        for (name, special) in polys {
            let own = self.polys.len() - self.own_poly_count;
            if let Some(poly) = self.polys[own..].iter_mut().find(|p| p.name == name) {
                poly.special = special;
            }
        }
        self.install_own(flat);
    }

    fn install_own(&mut self, flat: &Flat) {
        for (id, identity) in &flat.own_identities {
            self.signature.op_mut(*id).axioms.identity.get_or_insert_with(|| Box::new(identity.clone()));
        }
        for (id, special) in &flat.own_specials {
            merge_special(&mut self.signature.op_mut(*id).special, special.clone());
        }
    }

    /// Own identities and hooks as written. Operators of hooks are looked up at once, so that
    /// the grammar sees which built-ins there are; then terms are parsed.
    pub(super) fn parse_own(&mut self, flat: &mut Flat) {
        let unit = self.unit;
        let mut pending: Vec<(Place, Name, &Bubble, Vec<KindId>)> = Vec::new();
        let mut next_poly = self.polys.len() - self.own_poly_count;
        for (own, &id) in unit.ops.iter().zip(&flat.own_ops) {
            let poly = if own.attrs.poly.is_empty() {
                None
            } else {
                let place = self.polys[next_poly..].iter().position(|p| p.name == own.name);
                place.map(|at| {
                    next_poly += at;
                    next_poly
                })
            };
            let Some(written) = &own.written else { continue };
            if !written.special.is_empty()
                && let Some(mut special) = self.resolve_hooks(own, &written.special)
            {
                special.terms.clear();
                let special = Arc::new(special);
                let place = match (id, poly) {
                    (Some(id), _) => {
                        merge_special(&mut self.signature.op_mut(id).special, special.clone());
                        flat.own_specials.push((id, special));
                        Place::Special(flat.own_specials.len() - 1)
                    }
                    (None, Some(poly)) => {
                        self.polys[poly].special = Some(special);
                        Place::Poly(poly)
                    }
                    (None, None) => continue,
                };
                for hook in &written.special {
                    if let Hook::Term { name, term } = hook {
                        pending.push((place, name.name, term, Vec::new()));
                    }
                }
            }
            if let (Some(bubble), Some(id)) = (&written.identity, id) {
                let op = self.signature.op(id);
                let kinds =
                    if op.arity() == 2 && op.domain[0] == op.domain[1] { vec![op.domain[0]] } else { vec![] };
                pending.push((Place::Identity(id), own.name, bubble, kinds));
            }
        }
        let mut grammar: Option<Grammar> = None;
        for (place, name, bubble, kinds) in pending {
            let Some(tree) = self.parse_constant(bubble, &kinds).or_else(|| {
                let grammar = grammar.get_or_insert_with(|| Grammar::new(&self.signature));
                let (tree, diagnostics) = grammar.term(&self.signature, &Vars::default(), bubble, &kinds);
                self.diagnostics.extend(diagnostics);
                tree
            }) else {
                self.flawed = true;
                self.unusable |= matches!(place, Place::Identity(_));
                continue;
            };
            match place {
                Place::Identity(id) => {
                    let own = unit
                        .ops
                        .iter()
                        .zip(&flat.own_ops)
                        .find(|(o, i)| **i == Some(id) && o.identity.is_some());
                    if let Some(side) = own.and_then(|(o, _)| o.identity)
                        && !flat.own_identities.iter().any(|(i, _)| *i == id)
                    {
                        flat.own_identities.push((id, Identity { side, term: tree }));
                    }
                }
                Place::Special(at) => Arc::make_mut(&mut flat.own_specials[at].1).terms.push((name, tree)),
                Place::Poly(at) => {
                    if let Some(special) = &mut self.polys[at].special {
                        Arc::make_mut(special).terms.push((name, tree));
                    }
                }
            }
        }
        self.install_own(flat);
    }

    /// Most identities and hook terms are constants; these need no grammar.
    fn parse_constant(&self, bubble: &Bubble, kinds: &[KindId]) -> Option<Tree> {
        let [token] = bubble.as_slice() else { return None };
        let fits = |&&id: &&OpId| {
            let op = self.signature.op(id);
            op.arity() == 0 && (kinds.is_empty() || kinds.contains(&op.range))
        };
        let mut found = self.signature.named(token.name).iter().filter(fits);
        let &op = found.next()?;
        found.next().is_none().then(|| Tree::leaf(Node::App { op, arity: 0 }, token.span))
    }

    fn resolve_hooks(&mut self, own: &OwnOp, hooks: &[Hook]) -> Option<Special> {
        let mut special: Option<Special> = None;
        let mut ops = Vec::new();
        for hook in hooks {
            match hook {
                Hook::Id { name, data } => {
                    let data: Vec<Name> = data.iter().map(|t| t.name).collect();
                    match &mut special {
                        None => {
                            let (hook, more) = (name.name, Vec::new());
                            special = Some(Special { hook, data, more, ops: Vec::new(), terms: Vec::new() });
                        }
                        Some(special) => special.more.push((name.name, data)),
                    }
                }
                Hook::Op { name, op, domain, range } => {
                    let kind = |t: &TypeExpr| {
                        let sort = self.sort_of(super::declare::type_of(t, true))?;
                        Some(self.signature.sorts.kind_of(sort))
                    };
                    let kinds: Option<Vec<KindId>> = domain.iter().map(kind).collect();
                    let found = kinds
                        .zip(kind(range))
                        .and_then(|(domain, range)| self.signature.find(op.name, &domain, range));
                    match found {
                        Some(id) => ops.push((name.name, id)),
                        None => {
                            let message = format!(
                                "hook {} of {} names an operator that does not exist",
                                name.name, own.name
                            );
                            let span = op.span;
                            self.diagnostics.push(Diagnostic::error("unknown-hook-operator", message, span));
                            self.flawed = true;
                        }
                    }
                }
                Hook::Term { .. } => {}
            }
        }
        // Later declarations of a built-in may only add operators to what an earlier one said.
        let mut special = special.unwrap_or(Special {
            hook: Name::new(""),
            data: Vec::new(),
            more: Vec::new(),
            ops: Vec::new(),
            terms: Vec::new(),
        });
        special.ops = ops;
        Some(special)
    }
}

/// Where a parsed term goes.
#[derive(Clone, Copy)]
enum Place {
    Identity(OpId),
    Special(usize),
    Poly(usize),
}

fn translate_special(translator: &mut Translator, special: &Special) -> Arc<Special> {
    let ops = special.ops.iter().filter_map(|&(name, id)| Some((name, translator.op(id)?))).collect();
    let terms = special.terms.iter().filter_map(|(name, t)| Some((*name, translator.tree(t)?))).collect();
    let (hook, data, more) = (special.hook, special.data.clone(), special.more.clone());
    Arc::new(Special { hook, data, more, ops, terms })
}

/// Adds the hooks of a later declaration to those of earlier ones.
fn merge_special(old: &mut Option<Arc<Special>>, new: Arc<Special>) {
    let Some(old) = old else {
        *old = Some(new);
        return;
    };
    let (old, new) = (Arc::make_mut(old), Arc::unwrap_or_clone(new));
    if old.hook.as_str().is_empty() {
        (old.hook, old.data) = (new.hook, new.data);
    } else if !new.hook.as_str().is_empty() && (new.hook, &new.data) != (old.hook, &old.data) {
        // A further declaration with other data, such as the special sets of quoted identifiers.
        let item = (new.hook, new.data);
        if !old.more.contains(&item) {
            old.more.push(item);
        }
    }
    for item in new.more {
        if !old.more.contains(&item) {
            old.more.push(item);
        }
    }
    for item in new.ops {
        if !old.ops.iter().any(|o| o.0 == item.0) {
            old.ops.push(item);
        }
    }
    for item in new.terms {
        if !old.terms.iter().any(|o| o.0 == item.0) {
            old.terms.push(item);
        }
    }
}
