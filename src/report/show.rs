//! The `show` commands about modules: flat modules, their parts, and modules as written.
//!
//! Lines are not wrapped here; that is done where text is written out.

use std::fmt::Write as _;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::base::Name;
use crate::mixfix::{PrintOptions, print, print_equation, print_membership, print_rule};
use crate::module::{Fragment, Module, Modules, OwnSorts};
use crate::sorts::{Gather, IdentitySide, Node, OpId, Operator, Signature, SortId, Special, Tree};
use crate::syntax::TokenOrder;
use crate::syntax::tree::ModuleKind;

use super::normal::Normal;
pub use super::show_declared::{show_module, show_view};

/// `show modules`
pub fn show_modules(modules: &Modules) -> String {
    let mut out = String::new();
    for (kind, name) in modules.list() {
        let _ = writeln!(out, "{} {name}", keyword(kind));
    }
    out
}

/// `show views`
pub fn show_views(modules: &Modules) -> String {
    let mut out = String::new();
    for name in modules.list_views() {
        let _ = writeln!(out, "view {name}");
    }
    out
}

pub(super) fn keyword(kind: ModuleKind) -> &'static str {
    match kind {
        ModuleKind::Fmod => "fmod",
        ModuleKind::Mod => "mod",
        ModuleKind::Fth => "fth",
        ModuleKind::Th => "th",
    }
}

pub(super) fn end_keyword(kind: ModuleKind) -> &'static str {
    match kind {
        ModuleKind::Fmod => "endfm",
        ModuleKind::Mod => "endm",
        ModuleKind::Fth => "endfth",
        ModuleKind::Th => "endth",
    }
}

/// `show all`: the flat module.
pub fn show_all(module: &Module, order: &TokenOrder, mixfix: bool) -> String {
    let sorts = &module.signature.sorts;
    let below = sorts.declared().map(|sort| (sort, sorts.subsorts(sort).to_vec())).collect();
    let all = OwnSorts { sorts: sorts.declared().collect(), subsorts: below };
    let normal = Normal::new(module, order);
    let parts = [
        ops(module),
        vars(module, order),
        mbs(module, &normal, mixfix),
        eqs(module, &normal, mixfix),
        rls(module, &normal, mixfix),
    ];
    module_text(module, Vec::new(), &all, parts)
}

/// `show desugared`: what a module imports and what it adds, as Maude understood it.
pub fn show_desugared(module: &Module, own: &OwnSorts, order: &TokenOrder, mixfix: bool) -> String {
    let imports = module.imports.iter().map(|(mode, name)| format!("{} {name} .", mode.word())).collect();
    let normal = Normal::new(module, order);
    let mut own_module = module.clone();
    own_module.polys.retain(|poly| poly.model.own);
    let (mut mbs, mut eqs, mut rls) =
        (mbs(module, &normal, mixfix), eqs(module, &normal, mixfix), rls(module, &normal, mixfix));
    mbs.truncate(module.own.0);
    eqs.truncate(module.own.1);
    rls.truncate(module.own.2);
    let parts = [ops_of(&own_module, |op| op.own), vars(module, order), mbs, eqs, rls];
    module_text(module, imports, own, parts)
}

fn module_text(module: &Module, imports: Vec<String>, sorts: &OwnSorts, parts: [Vec<String>; 5]) -> String {
    let name = |sort: &SortId| module.signature.sorts.name(*sort).as_str();
    let params: Vec<String> =
        module.params.iter().map(|(name, theory)| format!("{name} :: {theory}")).collect();
    let params = if params.is_empty() { String::new() } else { format!("{{{}}}", params.join(", ")) };
    let mut out = format!("{} {}{params} is\n", keyword(module.kind), module.name);
    for import in imports {
        let _ = writeln!(out, "  {import}");
    }
    let names: Vec<&str> = sorts.sorts.iter().map(name).collect();
    match names.as_slice() {
        [] => {}
        [one] => out.push_str(&format!("  sort {one} .\n")),
        _ => out.push_str(&format!("  sorts {} .\n", names.join(" "))),
    }
    for (sort, below) in &sorts.subsorts {
        let plural = match below.len() {
            0 => continue,
            1 => "",
            _ => "s",
        };
        let below: Vec<&str> = below.iter().map(name).collect();
        let _ = writeln!(out, "  subsort{plural} {} < {} .", below.join(" "), name(sort));
    }
    for item in parts.iter().flatten() {
        let _ = writeln!(out, "  {item}");
    }
    let _ = writeln!(out, "{}", end_keyword(module.kind));
    out
}

/// `show sorts`: each sort with all its subsorts and supersorts.
pub fn show_sorts(module: &Module) -> String {
    let sorts = &module.signature.sorts;
    let mut out = String::new();
    for id in sorts.declared() {
        let sort = sorts.get(id);
        let kind = sorts.kind(sort.kind);
        let proper = || (1..kind.sorts.len() as u32).rev().filter(|&i| i != sort.index);
        let name = |i: u32| sorts.name(kind.sorts[i as usize]).as_str();
        let below: Vec<&str> = proper().filter(|&i| kind.leq(i, sort.index)).map(name).collect();
        let above: Vec<&str> = proper().filter(|&i| kind.leq(sort.index, i)).map(name).collect();
        let _ = write!(out, "sort {} .", sort.name);
        if !below.is_empty() || !above.is_empty() {
            let plural = if below.len() + above.len() > 1 { "s" } else { "" };
            let _ = write!(out, "\tsubsort{plural} ");
            if !below.is_empty() {
                let _ = write!(out, "{} < ", below.join(" "));
            }
            let _ = write!(out, "{}", sort.name);
            if !above.is_empty() {
                let _ = write!(out, " < {}", above.join(" "));
            }
            out.push_str(" .");
        }
        out.push('\n');
    }
    out
}

/// `show kinds`
pub fn show_kinds(module: &Module) -> String {
    let sorts = &module.signature.sorts;
    let free = error_free(module);
    let mut blocks = Vec::new();
    for (id, kind) in sorts.kinds() {
        let mut block = format!("{}{}:\n", kind.name, if free[id.index()] { " (error free)" } else { "" });
        for (index, &sort) in kind.sorts.iter().enumerate().skip(1) {
            let _ = writeln!(block, "\t{index}\t{}", sorts.name(sort));
        }
        blocks.push(block);
    }
    blocks.join("\n")
}

/// Kinds all of whose terms have a sort: the greatest set such that no operator leads out of it.
/// A kind that has variables in statements has terms without a sort.
fn error_free(module: &Module) -> Vec<bool> {
    let sig = &module.signature;
    let mut free = vec![true; sig.sorts.kinds().count()];
    for sort in made_on_demand(module).0 {
        if sig.sorts.is_error(sort) {
            free[sig.sorts.kind_of(sort).index()] = false;
        }
    }
    loop {
        let mut changed = false;
        for (id, op) in sig.ops().filter(|(_, op)| is_declared(op)) {
            if free[op.range.index()] && may_err(sig, id, op, &free) {
                free[op.range.index()] = false;
                changed = true;
            }
        }
        if !changed {
            return free;
        }
    }
}

/// Has some application the error sort? Least sorts are monotone, so the largest arguments tell.
fn may_err(sig: &Signature, id: OpId, op: &Operator, free: &[bool]) -> bool {
    let choices = |&kind: &crate::sorts::KindId| {
        if free[kind.index()] { 1..=sig.sorts.kind(kind).maximal } else { 0..=0 }
    };
    let ranges: Vec<std::ops::RangeInclusive<u32>> = op.domain.iter().map(choices).collect();
    let mut args: Vec<u32> = ranges.iter().map(|r| *r.start()).collect();
    loop {
        if sig.diagram(id).sort(args.iter().copied()) == 0 {
            return true;
        }
        let Some(at) = (0..args.len()).rev().find(|&i| args[i] < *ranges[i].end()) else { return false };
        args[at] += 1;
        for i in at + 1..args.len() {
            args[i] = *ranges[i].start();
        }
    }
}

/// Was the operator declared, and not made for a kind or a sort?
fn is_declared(op: &Operator) -> bool {
    op.poly.is_none() && op.special.as_ref().is_none_or(|s| s.hook.as_str() != "SortTestSymbol")
}

/// `show vars`: the module's own, in the order in which their names were first seen.
pub fn show_vars(module: &Module, order: &TokenOrder) -> String {
    lines(vars(module, order))
}

fn vars(module: &Module, order: &TokenOrder) -> Vec<String> {
    let mut vars: Vec<(&Name, &SortId)> = module.vars.iter().collect();
    vars.sort_by_key(|(name, _)| order.of(**name));
    let one =
        |(name, &sort): (&Name, &SortId)| format!("var {name} : {} .", module.signature.sorts.name(sort));
    vars.into_iter().map(one).collect()
}

fn lines(items: Vec<String>) -> String {
    items.into_iter().map(|item| item + "\n").collect()
}

fn options(module: &Module, mixfix: bool) -> PrintOptions<'_> {
    PrintOptions { mixfix, aliases: Some(&module.vars), ..PrintOptions::default() }
}

/// `show mbs`
pub fn show_mbs(module: &Module, order: &TokenOrder, mixfix: bool) -> String {
    lines(mbs(module, &Normal::new(module, order), mixfix))
}

fn mbs(module: &Module, normal: &Normal, mixfix: bool) -> Vec<String> {
    let one = |mb| print_membership(&module.signature, &normal.membership(mb), &options(module, mixfix));
    module.memberships.iter().map(one).collect()
}

/// `show eqs`
pub fn show_eqs(module: &Module, order: &TokenOrder, mixfix: bool) -> String {
    lines(eqs(module, &Normal::new(module, order), mixfix))
}

fn eqs(module: &Module, normal: &Normal, mixfix: bool) -> Vec<String> {
    let one = |eq| print_equation(&module.signature, &normal.equation(eq), &options(module, mixfix));
    module.equations.iter().map(one).collect()
}

/// `show rls`
pub fn show_rls(module: &Module, order: &TokenOrder, mixfix: bool) -> String {
    lines(rls(module, &Normal::new(module, order), mixfix))
}

fn rls(module: &Module, normal: &Normal, mixfix: bool) -> Vec<String> {
    let one = |rule| print_rule(&module.signature, &normal.rule(rule), &options(module, mixfix));
    module.rules.iter().map(one).collect()
}

/// `show ops`: polymorphic operators, then the others in order of creation with all declarations.
pub fn show_ops(module: &Module) -> String {
    lines(ops(module))
}

fn ops(module: &Module) -> Vec<String> {
    ops_of(module, |_| true)
}

fn ops_of(module: &Module, is_shown: impl Fn(&Operator) -> bool) -> Vec<String> {
    let sig = &module.signature;
    let sort = |s: &Option<SortId>| s.map_or("Universal", |s| sig.sorts.name(s).as_str());
    let mut out = Vec::new();
    for poly in &module.polys {
        let domain: Vec<&str> = poly.domain.iter().map(sort).collect();
        let numbers: Vec<String> = poly.poly.iter().map(u32::to_string).collect();
        let mut op = poly.model.clone();
        op.special = poly.special.clone();
        let first = vec![format!("poly ({})", numbers.join(" "))];
        let attrs = attributes(sig, &op, poly.domain.len(), first, None);
        out.push(line(poly.name, &domain, sort(&poly.range), &attrs));
    }
    for (_, op) in sig.ops().filter(|(_, op)| is_declared(op) && is_shown(op)) {
        for (number, decl) in op.decls.iter().enumerate() {
            let domain: Vec<&str> = decl.domain.iter().map(|&s| sig.sorts.name(s).as_str()).collect();
            let first = if decl.ctor { vec!["ctor".to_owned()] } else { Vec::new() };
            let attrs = match declaration_hook(op, number) {
                Some(special) => {
                    let mut op = op.clone();
                    op.special = Some(Arc::new(special));
                    attributes(sig, &op, op.arity(), first, decl.metadata.as_deref())
                }
                None => attributes(sig, op, op.arity(), first, decl.metadata.as_deref()),
            };
            out.push(line(op.name, &domain, sig.sorts.name(decl.range).as_str(), &attrs));
        }
    }
    out
}

/// Each declaration of quoted identifiers has a hook of its own.
fn declaration_hook(op: &Operator, number: usize) -> Option<Special> {
    let special = op.special.as_ref().filter(|s| s.hook.as_str() == "QuotedIdentifierSymbol")?;
    let mut own = Special::clone(special);
    own.more.clear();
    if number > 0 {
        (own.hook, own.data) = special.more.get(number - 1)?.clone();
    }
    Some(own)
}

fn line(name: Name, domain: &[&str], range: &str, attrs: &str) -> String {
    let domain = if domain.is_empty() { String::new() } else { domain.join(" ") + " " };
    format!("op {name} : {domain}-> {range}{attrs} .")
}

/// ` [...]`, or nothing.
fn attributes(
    sig: &Signature,
    op: &Operator,
    arity: usize,
    first: Vec<String>,
    metadata: Option<&str>,
) -> String {
    let mut list = first;
    let axioms = &op.axioms;
    if axioms.assoc {
        list.push("assoc".into());
    }
    if axioms.comm {
        list.push("comm".into());
    }
    if let Some(identity) = &axioms.identity {
        let term = print(sig, &identity.term, &PrintOptions::default());
        let side = match identity.side {
            IdentitySide::Left => "left ",
            IdentitySide::Right => "right ",
            IdentitySide::Both => "",
        };
        list.push(format!("{side}id: {term}"));
    }
    if axioms.idem {
        list.push("idem".into());
    }
    if op.hooks.config {
        list.push("config".into());
    }
    if op.hooks.object {
        list.push("obj".into());
    }
    if op.hooks.msg {
        list.push("msg".into());
    }
    if axioms.iter {
        list.push("iter".into());
    }
    // A strategy that is the standard one leaves its brackets behind, unless `memo` needs it.
    let standard: Vec<u32> = (1..=arity as u32).chain([0]).collect();
    let strat = op.strat.as_ref().unwrap_or(&standard);
    if op.memo || *strat != standard {
        list.push(format!("strat ({})", numbers(strat.iter().copied())));
    }
    if op.memo {
        list.push("memo".into());
    }
    if !op.frozen.is_empty() {
        list.push(format!("frozen ({})", numbers(op.frozen.iter().map(|p| p + 1))));
    }
    if let Some((prec, gather)) = syntax(op, arity) {
        list.push(format!("prec {prec}"));
        list.push(format!("gather ({})", Gather::text(&gather)));
    }
    if let Some(format) = &op.format {
        let words: Vec<&str> = format.iter().map(|n| n.as_str()).collect();
        list.push(format!("format ({})", words.join(" ")));
    }
    if let Some(metadata) = metadata {
        list.push(format!("metadata {}", quoted(metadata)));
    }
    if let Some(special) = &op.special {
        list.push(hooks(sig, special));
    }
    if list.is_empty() && op.strat.is_none() { String::new() } else { format!(" [{}]", list.join(" ")) }
}

fn numbers(list: impl Iterator<Item = u32>) -> String {
    list.map(|n| n.to_string()).collect::<Vec<_>>().join(" ")
}

/// Metadata comes as it was written between its quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

/// Precedence and gathering of a mixfix operator, with Maude's defaults.
fn syntax(op: &Operator, arity: usize) -> Option<(u32, Vec<Gather>)> {
    // Pieces: holes and the words between them.
    let mut holes = Vec::new();
    let mut pieces = 0usize;
    let mut in_word = false;
    for c in op.name.as_str().chars() {
        match c {
            '_' => {
                holes.push(pieces);
                pieces += 1;
                in_word = false;
            }
            '`' => in_word = false,
            '(' | ')' | '[' | ']' | '{' | '}' | ',' => {
                pieces += 1;
                in_word = false;
            }
            _ if !in_word => {
                pieces += 1;
                in_word = true;
            }
            _ => {}
        }
    }
    let quoted = op.name.as_str().starts_with('\'');
    if holes.is_empty() || holes.len() != arity || quoted {
        return None;
    }
    let left = holes[0] == 0;
    let right = holes[holes.len() - 1] + 1 == pieces;
    let prec = op.prec.unwrap_or(match (left || right, arity) {
        (false, _) => 0,
        (true, 1) => 15,
        (true, _) => 41,
    });
    let gather = op.gather.clone().filter(|g| g.len() == arity).unwrap_or_else(|| {
        let open = |&at: &usize| {
            at == 0 || at + 1 == pieces || holes.contains(&(at + 1)) || at > 0 && holes.contains(&(at - 1))
        };
        let one = |at: &usize| if open(at) { Gather::Loose } else { Gather::Any };
        let mut gather: Vec<Gather> = holes.iter().map(one).collect();
        if op.axioms.assoc && left && right && arity == 2 {
            gather[0] = Gather::Strict;
        }
        gather
    });
    Some((prec, gather))
}

fn hooks(sig: &Signature, special: &Special) -> String {
    let mut out = "special (".to_owned();
    let mut id_hook = |name: Name, data: &[Name]| {
        let _ = write!(out, "\n    id-hook {name}");
        if !data.is_empty() {
            let data: Vec<&str> = data.iter().map(|n| n.as_str()).collect();
            let _ = write!(out, " ({})", data.join(" "));
        }
    };
    id_hook(special.hook, &special.data);
    for (name, data) in &special.more {
        id_hook(*name, data);
    }
    for &(name, id) in &special.ops {
        let op = sig.op(id);
        let decl = &op.decls[0];
        let domain: Vec<&str> = decl.domain.iter().map(|&s| sig.sorts.name(s).as_str()).collect();
        let domain = if domain.is_empty() { String::new() } else { domain.join(" ") + " " };
        let range = sig.sorts.name(decl.range);
        let _ = write!(out, "\n    op-hook {name} ({} : {domain}~> {range})", op.name);
    }
    for (name, term) in &special.terms {
        let _ = write!(out, "\n    term-hook {name} ({})", print(sig, term, &PrintOptions::default()));
    }
    out.push(')');
    out
}

/// `show summary`. The size of the grammar, which Maude prints too, says nothing here.
pub fn show_summary(module: &Module) -> String {
    let sig = &module.signature;
    let user = sig.ops().filter(|(_, op)| is_declared(op)).count();
    let mut out = String::from("Term rewriting system:\n");
    let mut row = |what: &str, count: usize| {
        let _ = writeln!(out, "\t{what}: {count}");
    };
    row("kinds", sig.sorts.kinds().count());
    row("sorts", sig.sorts.declared().count());
    row("user symbols", user);
    let (sorts, ops) = made_on_demand(module);
    row("total symbols", user + sorts.len() + ops.len());
    row("polymorphic operators", module.polys.len());
    row("membership axioms", module.memberships.len());
    row("equations", module.equations.len());
    row("rules", module.rules.len());
    row("strategies", 0);
    row("strategy definitions", 0);
    out
}

/// Variables are one symbol per sort; instances of polymorphic operators and sort tests count
/// when a statement uses them.
fn made_on_demand(module: &Module) -> (FxHashSet<SortId>, FxHashSet<OpId>) {
    let mut sorts: FxHashSet<SortId> = FxHashSet::default();
    let mut ops: FxHashSet<OpId> = FxHashSet::default();
    let mut visit = |tree: &Tree| {
        for node in tree.nodes() {
            match node {
                Node::Var(var) => drop(sorts.insert(var.sort)),
                node => {
                    if let Some(op) = node.op().filter(|&op| !is_declared(module.signature.op(op))) {
                        ops.insert(op);
                    }
                }
            }
        }
    };
    let condition = |fragments: &[Fragment], visit: &mut dyn FnMut(&Tree)| {
        for fragment in fragments {
            match fragment {
                Fragment::Equal(a, b) | Fragment::Match(a, b) | Fragment::Rewrite(a, b) => {
                    visit(a);
                    visit(b);
                }
                Fragment::Sort(t, _) => visit(t),
            }
        }
    };
    for mb in &module.memberships {
        visit(&mb.term);
        condition(&mb.condition, &mut visit);
    }
    for eq in &module.equations {
        visit(&eq.lhs);
        visit(&eq.rhs);
        condition(&eq.condition, &mut visit);
    }
    for rule in &module.rules {
        visit(&rule.lhs);
        visit(&rule.rhs);
        condition(&rule.condition, &mut visit);
    }
    (sorts, ops)
}
