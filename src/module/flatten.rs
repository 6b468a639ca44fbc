//! From a unit of the import graph to its flat signature.
//!
//! Sorts, then subsorts, then operators are donated by the imports in depth-first post-order,
//! each unit once, and the unit's own come last: this is Maude's order of creation, which the
//! order on terms depends on. Polymorphic operators follow, one instance per kind.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Modules;
use super::unit::{Flat, OwnOp, PolyTemplate, Type, Unit};
use crate::base::{Diagnostic, Name, Span};
use crate::sorts::{
    Axioms, KindId, Node, OpDecl, OpId, Operator, Poly, Signature, SortId, SortPoset, Special, Tree,
};

impl Modules {
    /// The flat signature of a unit, computed once.
    pub(super) fn flat(&mut self, unit: &Arc<Unit>) -> Arc<Flat> {
        if let Some(flat) = unit.flat.get() {
            return flat.clone();
        }
        let donors = unit.donors();
        for donor in &donors {
            self.flat(donor);
        }
        if let Some((base, _)) = &unit.base {
            self.flat(base);
        }
        let flat = Arc::new(Flattening::new(unit, donors, &mut self.diagnostics).run());
        unit.flat.get_or_init(|| flat).clone()
    }
}

pub(super) struct Flattening<'a> {
    pub unit: &'a Unit,
    donors: Vec<Arc<Unit>>,
    pub signature: Signature,
    /// The first declaration of each operator, for messages about later ones.
    first: Vec<OwnOp>,
    pub polys: Vec<PolyTemplate>,
    pub own_poly_count: usize,
    pub diagnostics: &'a mut Vec<Diagnostic>,
    pub flawed: bool,
    pub unusable: bool,
}

impl<'a> Flattening<'a> {
    fn new(unit: &'a Unit, donors: Vec<Arc<Unit>>, diagnostics: &'a mut Vec<Diagnostic>) -> Self {
        let flawed = unit.flawed || donors.iter().any(|d| d.flat.get().is_some_and(|f| f.flawed));
        let bad = |d: &Arc<Unit>| d.flat.get().is_some_and(|f| f.unusable);
        let base = unit.base.iter().map(|(base, _)| base);
        let unusable = unit.unusable || donors.iter().chain(base).any(bad);
        let signature = Signature::default();
        let (first, polys) = (Vec::new(), Vec::new());
        Flattening { unit, donors, signature, first, polys, own_poly_count: 0, diagnostics, flawed, unusable }
    }

    fn run(mut self) -> Flat {
        let sorts = self.sorts();
        self.signature = Signature::new(sorts);
        let donors = std::mem::take(&mut self.donors);
        for donor in &donors {
            for op in &donor.ops {
                self.declare(op, false);
            }
        }
        let imported_polys = self.polys.len();
        let unit = self.unit;
        let own_ops: Vec<Option<OpId>> = unit.ops.iter().map(|op| self.declare(op, true)).collect();
        self.own_poly_count = self.polys.len() - imported_polys;
        let mut flat = Flat {
            signature: Arc::default(),
            donors: Vec::new(),
            own_ops,
            own_identities: Vec::new(),
            own_specials: Vec::new(),
            polys: Vec::new(),
            own_polys: Vec::new(),
            flawed: false,
            unusable: false,
        };
        self.instantiate_polys();
        // Hooks and identities of donors may name operators that came after them only in the
        // donor itself, so by now all of them exist.
        for donor in &donors {
            self.merge_late(donor);
        }
        match &unit.base {
            Some(_) => self.derive_own(&mut flat),
            None => self.parse_own(&mut flat),
        }
        self.fill_polys();
        self.sort_tests();
        if unit.base.is_none() {
            self.check_sorts(&donors);
        }
        flat.own_polys = self.polys[imported_polys..].to_vec();
        flat.polys = self.polys;
        self.signature.shrink();
        flat.signature = Arc::new(self.signature);
        flat.donors = donors;
        (flat.flawed, flat.unusable) = (self.flawed, self.unusable);
        flat
    }

    // ---- sorts ----

    fn sorts(&mut self) -> SortPoset {
        let edges = |poset: &mut SortPoset, unit: &Unit| {
            for &(sub, sup, _) in &unit.subsorts {
                if let (Some(sub), Some(sup)) = (poset.find(sub), poset.find(sup)) {
                    poset.declare_subsort(sub, sup);
                }
            }
        };
        let mut poset = self.declared_sorts();
        self.donors.iter().for_each(|d| edges(&mut poset, d));
        edges(&mut poset, self.unit);
        match poset.close() {
            Ok(()) => poset,
            Err(_) => self.acyclic_sorts(),
        }
    }

    fn declared_sorts(&self) -> SortPoset {
        let mut poset = SortPoset::default();
        for donor in &self.donors {
            for &(name, _) in &donor.sorts {
                poset.declare(name);
            }
        }
        for &(name, _) in &self.unit.sorts {
            poset.declare(name);
        }
        poset
    }

    /// The subsort relation has a cycle: leave out, and report, each declaration that closes one.
    fn acyclic_sorts(&mut self) -> SortPoset {
        (self.flawed, self.unusable) = (true, true);
        let mut poset = self.declared_sorts();
        let all = self.donors.iter().flat_map(|d| &d.subsorts).chain(&self.unit.subsorts);
        for &(sub, sup, span) in all {
            let (Some(a), Some(b)) = (poset.find(sub), poset.find(sup)) else { continue };
            match path_up(&poset, b, a) {
                None => poset.declare_subsort(a, b),
                Some(path) => {
                    let mut cycle: Vec<&str> = vec![sub.as_str()];
                    cycle.extend(path.iter().map(|&s| poset.name(s).as_str()));
                    let message = format!("the subsort relation has a cycle: {}", cycle.join(" < "));
                    let diagnostic = Diagnostic::error("subsort-cycle", message, span)
                        .label(format!("{sub} < {sup} closes the cycle"))
                        .hint("leave out one of these subsort declarations");
                    self.diagnostics.push(diagnostic);
                }
            }
        }
        poset.close().expect("no edge that closes a cycle was added");
        poset
    }

    // ---- operators ----

    pub(super) fn sort_of(&self, ty: Type) -> Option<SortId> {
        match ty {
            Type::Sort(name) => self.signature.sorts.find(name),
            Type::Kind(name) => {
                let sorts = &self.signature.sorts;
                sorts.find(name).map(|s| sorts.kind(sorts.kind_of(s)).error())
            }
            Type::Universal => None,
        }
    }

    fn declare(&mut self, own: &OwnOp, is_own: bool) -> Option<OpId> {
        if !own.attrs.poly.is_empty() {
            self.declare_poly(own, is_own);
            return None;
        }
        let domain: Option<Vec<SortId>> = own.domain.iter().map(|&t| self.sort_of(t)).collect();
        let (domain, range) = (domain?, self.sort_of(own.range)?);
        let sorts = &self.signature.sorts;
        let kinds: Vec<KindId> = domain.iter().map(|&s| sorts.kind_of(s)).collect();
        let range_kind = sorts.kind_of(range);
        let decl = OpDecl {
            domain,
            range,
            ctor: own.attrs.ctor,
            metadata: own.attrs.metadata.clone(),
            span: own.span,
        };
        if let Some(id) = self.signature.find(own.name, &kinds, range_kind) {
            self.check_same(id, own);
            let op = self.signature.op_mut(id);
            op.decls.push(decl);
            return Some(id);
        }
        if own.attrs.ditto {
            let message =
                format!("declaration of {} uses ditto, but there is none before it to refer to", own.name);
            self.diagnostics.push(
                Diagnostic::error("ditto-without-declaration", message, own.span).hint(
                    "write the attributes out, or declare the operator on sorts of the same kinds first",
                ),
            );
            self.flawed = true;
        }
        self.check_range_kind(own, &kinds, range_kind);
        let mut op = model(own, is_own);
        op.domain = kinds;
        op.range = range_kind;
        op.decls.push(decl);
        self.check_axiom_kinds(&mut op, own.span);
        self.first.push(own.clone());
        Some(self.signature.add(op))
    }

    /// Subsort-overloaded declarations share their attributes.
    fn check_same(&mut self, id: OpId, own: &OwnOp) {
        if own.attrs.ditto {
            return;
        }
        let earlier = &self.first[id.index()];
        if earlier.span == own.span {
            return; // The same declaration by another way, such as an instance beside its base.
        }
        let (a, first) = (&own.attrs, &earlier.attrs);
        // Unknown in units that are derived from others.
        let is_special = |op: &OwnOp| op.written.as_ref().map(|written| !written.special.is_empty());
        let mut different = Vec::new();
        let mut compare = |name: &'static str, same: bool| {
            if !same {
                different.push(name);
            }
        };
        compare("assoc", a.assoc == first.assoc);
        compare("comm", a.comm == first.comm);
        compare("idem", a.idem == first.idem);
        compare("iter", a.iter == first.iter);
        compare("id", own.identity == earlier.identity);
        compare("memo", a.memo == first.memo);
        compare("strat", a.strat == first.strat);
        compare("frozen", a.frozen == first.frozen);
        compare("prec", a.prec == first.prec);
        compare("gather", a.gather == first.gather);
        compare("format", a.format == first.format);
        compare("config, object or msg", a.hooks == first.hooks);
        if let (Some(this), Some(that)) = (is_special(own), is_special(earlier)) {
            compare("special", this == that);
        }
        if different.is_empty() {
            return;
        }
        let message = format!(
            "declaration of {} has other attributes than an earlier one on the same kinds ({})",
            own.name,
            different.join(", ")
        );
        let diagnostic = Diagnostic::error("different-attributes", message, own.span)
            .note(Some(earlier.span), "the earlier declaration is here; its attributes are used")
            .hint("give both the same attributes, or write [ditto] on the later one");
        self.diagnostics.push(diagnostic);
        (self.flawed, self.unusable) = (true, true);
    }

    /// Axioms make terms equal in which arguments, or an argument and the result, change places:
    /// they must have one kind. Those that do not fit are dropped.
    fn check_axiom_kinds(&mut self, op: &mut Operator, span: Span) {
        let same_arguments = op.domain.windows(2).all(|kinds| kinds[0] == kinds[1]);
        let same_result = op.domain.iter().all(|&kind| kind == op.range);
        let mut wrong = Vec::new();
        let mut check = |holds: &mut bool, fits: bool, name: &'static str, what: &'static str| {
            if *holds && !fits {
                *holds = false;
                wrong.push((name, what));
            }
        };
        check(&mut op.axioms.comm, same_arguments, "comm", "arguments");
        check(&mut op.axioms.assoc, same_result, "assoc", "arguments and result");
        check(&mut op.axioms.idem, same_result, "idem", "arguments and result");
        check(&mut op.axioms.iter, same_result, "iter", "argument and result");
        for (name, what) in wrong {
            let message =
                format!("operator {} has attribute {name}, which needs {what} of one kind", op.name);
            self.diagnostics
                .push(Diagnostic::error("bad-attribute", message, span).label("the attribute is ignored"));
            self.flawed = true;
        }
    }

    fn check_range_kind(&mut self, own: &OwnOp, kinds: &[KindId], range: KindId) {
        let other = self.signature.named(own.name).iter().find(|&&id| {
            let op = self.signature.op(id);
            op.domain == kinds && op.range != range && op.poly.is_none()
        });
        // Maude accepts this for constants only.
        if let Some(&other) = other
            && !kinds.is_empty()
        {
            let span = self.first[other.index()].span;
            let message = format!(
                "declaration of {} has the argument kinds of another, but a different result kind",
                own.name
            );
            self.diagnostics.push(
                Diagnostic::error("ambiguous-range", message, own.span)
                    .note(Some(span), "the other declaration is here"),
            );
            self.flawed = true;
        }
    }

    // ---- polymorphic operators ----

    fn declare_poly(&mut self, own: &OwnOp, is_own: bool) {
        let domain: Vec<Option<SortId>> = own.domain.iter().map(|&t| self.sort_of(t)).collect();
        let range = self.sort_of(own.range);
        if self.polys.iter().any(|p| p.name == own.name && p.domain == domain && p.range == range) {
            return;
        }
        let model = model(own, is_own);
        let poly = own.attrs.poly.clone();
        self.polys.push(PolyTemplate { name: own.name, domain, range, poly, model, special: None });
    }

    fn instantiate_polys(&mut self) {
        let kinds: Vec<(KindId, SortId)> =
            self.signature.sorts.kinds().map(|(id, k)| (id, k.error())).collect();
        for (template, poly) in self.polys.iter().enumerate() {
            for &(kind, error) in &kinds {
                let domain: Vec<SortId> = poly.domain.iter().map(|s| s.unwrap_or(error)).collect();
                let range = poly.range.unwrap_or(error);
                let sorts = &self.signature.sorts;
                let mut op = poly.model.clone();
                op.domain = domain.iter().map(|&s| sorts.kind_of(s)).collect();
                op.range = sorts.kind_of(range);
                if self.signature.find(op.name, &op.domain, op.range).is_some() {
                    continue;
                }
                op.poly = Some(Poly { template: template as u32, kind });
                let span = Span::default();
                op.decls.push(OpDecl { domain, range, ctor: false, metadata: None, span });
                self.signature.add(op);
            }
        }
    }

    /// Gives every instance the hooks of its template. A branching operator has a declaration
    /// for every sort of its kind: its sort is the least one above those of its branches.
    fn fill_polys(&mut self) {
        let instances: Vec<(OpId, Poly)> =
            self.signature.ops().filter_map(|(id, op)| Some((id, op.poly?))).collect();
        for (id, instance) in instances {
            let poly = &self.polys[instance.template as usize];
            let branches = poly.special.as_ref().is_some_and(|s| s.hook.as_str() == "BranchSymbol");
            let sorts: Vec<SortId> = match branches {
                true => self.signature.sorts.kind(instance.kind).sorts[1..].to_vec(),
                false => Vec::new(),
            };
            let op = self.signature.op_mut(id);
            op.special = poly.special.clone();
            op.decls.extend(sorts.into_iter().map(|sort| OpDecl {
                domain: poly.domain.iter().map(|s| s.unwrap_or(sort)).collect(),
                range: poly.range.unwrap_or(sort),
                ctor: false,
                metadata: None,
                span: Span::default(),
            }));
        }
    }

    /// `t :: S` for every sort, where there are truth values. The grammar knows these operators
    /// by their hook, which has the sort's name as data.
    fn sort_tests(&mut self) {
        let truth = |hook: &str| self.signature.with_hook(hook);
        let (Some(yes), Some(no)) = (truth("SystemTrue"), truth("SystemFalse")) else { return };
        let leaf = |op: OpId| Tree::leaf(Node::App { op, arity: 0 }, Span::default());
        let range = self.signature.op(yes).decls[0].range;
        let declared: Vec<SortId> = self.signature.sorts.declared().collect();
        for sort in declared {
            let sorts = &self.signature.sorts;
            let name = sorts.name(sort);
            let kind = sorts.kind_of(sort);
            let domain = vec![sorts.kind(kind).error()];
            let special = Special {
                hook: Name::new(SORT_TEST),
                data: vec![name],
                more: Vec::new(),
                ops: Vec::new(),
                terms: vec![(Name::new("trueTerm"), leaf(yes)), (Name::new("falseTerm"), leaf(no))],
            };
            self.signature.add(Operator {
                name: sort_test_name(name),
                domain: vec![kind],
                range: sorts.kind_of(range),
                decls: vec![OpDecl { domain, range, ctor: false, metadata: None, span: Span::default() }],
                axioms: Axioms::default(),
                prec: None,
                gather: None,
                format: None,
                strat: None,
                memo: false,
                frozen: Vec::new(),
                special: Some(Arc::new(special)),
                poly: None,
                hooks: Default::default(),
                own: false,
            });
        }
    }
}

/// The hook of the operators behind `t :: S`.
pub(super) const SORT_TEST: &str = "SortTestSymbol";

/// The name of the operator behind `t :: S`.
pub(super) fn sort_test_name(sort: Name) -> Name {
    Name::new(&format!("_::{sort}"))
}

/// An operator with the attributes of a declaration; kinds and declarations are left empty.
fn model(own: &OwnOp, is_own: bool) -> Operator {
    let a = &own.attrs;
    Operator {
        name: own.name,
        domain: Vec::new(),
        range: KindId(0),
        decls: Vec::new(),
        axioms: Axioms { assoc: a.assoc, comm: a.comm, idem: a.idem, iter: a.iter, identity: None },
        prec: a.prec,
        gather: a.gather.clone(),
        format: a.format.clone(),
        strat: a.strat.clone(),
        memo: a.memo,
        frozen: a.frozen.clone(),
        special: None,
        poly: None,
        hooks: a.hooks,
        own: is_own,
    }
}

/// A way from `from` up to `to` in the declared relation, both ends included.
fn path_up(poset: &SortPoset, from: SortId, to: SortId) -> Option<Vec<SortId>> {
    let mut before: FxHashMap<SortId, SortId> = FxHashMap::default();
    let mut queue = std::collections::VecDeque::from([from]);
    before.insert(from, from);
    while let Some(sort) = queue.pop_front() {
        if sort == to {
            let mut path = vec![sort];
            let mut at = sort;
            while at != from {
                at = before[&at];
                path.push(at);
            }
            path.reverse();
            return Some(path);
        }
        for &sup in poset.supersorts(sort) {
            before.entry(sup).or_insert_with(|| {
                queue.push_back(sup);
                sort
            });
        }
    }
    None
}
