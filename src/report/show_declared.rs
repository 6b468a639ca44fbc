//! `show module` and `show view`: declarations as they were written, in Maude's layout.

use std::fmt::Write as _;

use super::show::{end_keyword, keyword, quoted};
use crate::base::Name;
use crate::syntax::tree::{
    Bubble, Decl, Hook, ModuleDecl, ModuleExpr, OpAttr, OpDecl, ParamDecl, RenameItem, SortExpr,
    StatementKind, Token, TypeExpr, ViewDecl, ViewExpr, ViewMap,
};

/// `show module`
pub fn show_module(decl: &ModuleDecl) -> String {
    let mut out = format!("{} {}{} is\n", keyword(decl.kind), decl.name.name, params(&decl.params));
    for item in &decl.decls {
        if let Decl::Import { mode, module, .. } = item {
            let _ = writeln!(out, "  {} {} .", mode.word(), expr(module));
        }
    }
    for item in &decl.decls {
        if let Decl::Sorts(sorts) = item {
            let _ = writeln!(out, "  sorts {} .", words(sorts.iter().map(sort)));
        }
    }
    for item in &decl.decls {
        if let Decl::Subsorts(groups) = item {
            let groups: Vec<String> = groups.iter().map(|g| words(g.iter().map(sort))).collect();
            let _ = writeln!(out, "  subsorts {} .", groups.join(" < "));
        }
    }
    for (at, item) in decl.decls.iter().enumerate() {
        match item {
            Decl::Op(op) => {
                // The operators of one `ops` have the same place.
                let same = |d: &&Decl| matches!(d, Decl::Op(o) if o.span == op.span);
                if at > 0 && same(&&decl.decls[at - 1]) {
                    continue;
                }
                let names = decl.decls[at..].iter().take_while(same).filter_map(|d| match d {
                    Decl::Op(op) => Some(op.name.name.as_str().to_owned()),
                    _ => None,
                });
                op_line(&mut out, op, &names.collect::<Vec<_>>());
            }
            Decl::Vars { names, ty } => {
                let plural = if names.len() > 1 { "s" } else { "" };
                let names = words(names.iter().map(|t| t.name.as_str().to_owned()));
                let _ = writeln!(out, "  var{plural} {names} : {} .", type_text(ty));
            }
            _ => {}
        }
    }
    for item in &decl.decls {
        if let Decl::Statement(statement) = item {
            let keyword = match statement.kind {
                StatementKind::Eq => "eq",
                StatementKind::Ceq => "ceq",
                StatementKind::Mb => "mb",
                StatementKind::Cmb => "cmb",
                StatementKind::Rl => "rl",
                StatementKind::Crl => "crl",
            };
            let _ = writeln!(out, "  {keyword} {} .", bubble(&statement.body));
        }
    }
    let _ = writeln!(out, "{}", end_keyword(decl.kind));
    out
}

/// `show view`; `term` prints what an operator becomes.
pub fn show_view(decl: &ViewDecl, term: &dyn Fn(&Bubble) -> Option<String>) -> String {
    let mut out = format!(
        "view {}{} from {} to {} is\n",
        decl.name.name,
        params(&decl.params),
        expr(&decl.from),
        expr(&decl.to)
    );
    let mut section = |pick: &dyn Fn(&ViewMap) -> Option<String>| {
        for line in decl.maps.iter().filter_map(pick) {
            let _ = writeln!(out, "  {line} .");
        }
    };
    section(&|map| match map {
        ViewMap::Sort { from, to } => Some(format!("sort {} to {}", sort(from), sort(to))),
        _ => None,
    });
    section(&|map| match map {
        ViewMap::Op { from, types, to } => Some(format!("op {}{} to {}", from.name, kinds(types), to.name)),
        ViewMap::Label { from, to } => Some(format!("label {} to {}", from.name, to.name)),
        _ => None,
    });
    section(&|map| match map {
        ViewMap::Vars { names, ty } => {
            let plural = if names.len() > 1 { "s" } else { "" };
            let names = words(names.iter().map(|t| t.name.as_str().to_owned()));
            Some(format!("var{plural} {names} : {}", type_text(ty)))
        }
        _ => None,
    });
    section(&|map| match map {
        ViewMap::OpToTerm { from, to, .. } => {
            let to = term(to).unwrap_or_else(|| bubble(to));
            Some(format!("op {} to term {to}", application(from)))
        }
        _ => None,
    });
    out.push_str("endv\n");
    out
}

fn words(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(" ")
}

fn params(params: &[ParamDecl]) -> String {
    if params.is_empty() {
        return String::new();
    }
    let list: Vec<String> =
        params.iter().map(|p| format!("{} :: {}", p.name.name, expr(&p.theory))).collect();
    format!("{{{}}}", list.join(", "))
}

fn expr(module: &ModuleExpr) -> String {
    match module {
        ModuleExpr::Name(token) => token.name.as_str().to_owned(),
        ModuleExpr::Instance { module, args, .. } => {
            let args: Vec<String> = args.iter().map(view_expr).collect();
            let module = match **module {
                ModuleExpr::Rename { .. } => format!("({})", expr(module)),
                _ => inner(module),
            };
            format!("{module}{{{}}}", args.join(", "))
        }
        ModuleExpr::Rename { module, items, .. } => {
            // Maude has sorts first, then operators, then labels.
            let mut items: Vec<&RenameItem> = items.iter().collect();
            items.sort_by_key(|item| match item {
                RenameItem::Sort { .. } => 0,
                RenameItem::Op { .. } => 1,
                RenameItem::Label { .. } => 2,
            });
            let items: Vec<String> = items.into_iter().map(rename_item).collect();
            format!("{} * ({})", inner(module), items.join(", "))
        }
        ModuleExpr::Sum(items) => items.iter().map(expr).collect::<Vec<_>>().join(" + "),
    }
}

fn inner(module: &ModuleExpr) -> String {
    match module {
        ModuleExpr::Sum(_) => format!("({})", expr(module)),
        _ => expr(module),
    }
}

fn view_expr(view: &ViewExpr) -> String {
    match view {
        ViewExpr::Name(token) => token.name.as_str().to_owned(),
        ViewExpr::Instance { view, args, .. } => {
            let args: Vec<String> = args.iter().map(view_expr).collect();
            format!("{}{{{}}}", view.name, args.join(", "))
        }
    }
}

fn rename_item(item: &RenameItem) -> String {
    match item {
        RenameItem::Sort { from, to } => format!("sort {} to {}", sort(from), sort(to)),
        RenameItem::Label { from, to } => format!("label {} to {}", from.name, to.name),
        RenameItem::Op { from, types, to, attrs } => {
            let attrs: Vec<String> = attrs.iter().map(attribute).collect();
            let attrs = if attrs.is_empty() { String::new() } else { format!(" [{}]", attrs.join(" ")) };
            format!("op {}{} to {}{attrs}", from.name, kinds(types), to.name)
        }
    }
}

/// Types in renamings and views stand for kinds.
fn kinds(types: &Option<(Vec<TypeExpr>, TypeExpr)>) -> String {
    let Some((domain, range)) = types else { return String::new() };
    let kind = |ty: &TypeExpr| match ty {
        TypeExpr::Sort(s) => format!("[{}]", sort(s)),
        TypeExpr::Kind { .. } => type_text(ty),
    };
    let domain = if domain.is_empty() { String::new() } else { words(domain.iter().map(kind)) + " " };
    format!(" : {domain}-> {}", kind(range))
}

fn sort(sort: &SortExpr) -> String {
    if sort.args.is_empty() {
        return sort.name.name.as_str().to_owned();
    }
    let args: Vec<String> = sort.args.iter().map(self::sort).collect();
    format!("{}{{{}}}", sort.name.name, args.join(","))
}

fn type_text(ty: &TypeExpr) -> String {
    match ty {
        TypeExpr::Sort(s) => sort(s),
        TypeExpr::Kind { sorts, .. } => format!("[{}]", sorts.iter().map(sort).collect::<Vec<_>>().join(",")),
    }
}

fn op_line(out: &mut String, op: &OpDecl, names: &[String]) {
    let ty = |ty: &TypeExpr| match ty {
        TypeExpr::Sort(s) if op.partial => format!("[{}]", sort(s)),
        _ => type_text(ty),
    };
    let domain = if op.domain.is_empty() { String::new() } else { words(op.domain.iter().map(ty)) + " " };
    // Maude has an order of its own for attributes.
    let mut attrs: Vec<(usize, String)> = op.attrs.iter().map(|a| (rank(a), attribute(a))).collect();
    if op.msg {
        attrs.push((rank(&OpAttr::Msg), "msg".to_owned()));
    }
    if let Some(OpAttr::Frozen(list)) = op.attrs.iter().find(|a| matches!(a, OpAttr::Frozen(_))) {
        let mut list: Vec<i64> =
            if list.is_empty() { (1..=op.domain.len() as i64).collect() } else { list.clone() };
        list.sort_unstable();
        list.dedup();
        let text = words(list.iter().map(i64::to_string));
        attrs.retain(|(r, _)| *r != rank(&OpAttr::Frozen(Vec::new())));
        attrs.push((rank(&OpAttr::Frozen(Vec::new())), format!("frozen ({text})")));
    }
    attrs.sort_by_key(|(rank, _)| *rank);
    let attrs: Vec<String> = attrs.into_iter().map(|(_, text)| text).collect();
    let attrs = if attrs.is_empty() { String::new() } else { format!(" [{}]", attrs.join(" ")) };
    let plural = if names.len() > 1 { "s" } else { "" };
    let _ = writeln!(out, "  op{plural} {} : {domain}-> {}{attrs} .", names.join(" "), ty(&op.range));
}

fn rank(attr: &OpAttr) -> usize {
    match attr {
        OpAttr::Poly(_) => 0,
        OpAttr::Assoc => 1,
        OpAttr::Comm => 2,
        OpAttr::Config => 3,
        OpAttr::Object => 4,
        OpAttr::Msg => 5,
        OpAttr::Id { .. } => 6,
        OpAttr::Idem => 7,
        OpAttr::Iter => 8,
        OpAttr::Strat(_) => 9,
        OpAttr::Memo => 10,
        OpAttr::Frozen(_) => 11,
        OpAttr::Ctor => 12,
        OpAttr::Prec(_) => 13,
        OpAttr::Gather(_) => 14,
        OpAttr::Format(_) => 15,
        OpAttr::LatexMacro(_) => 16,
        OpAttr::Metadata(_) => 17,
        OpAttr::Ditto => 18,
        OpAttr::PortalOrOther(_) => 19,
        OpAttr::Special(_) => 20,
    }
}

fn attribute(attr: &OpAttr) -> String {
    let numbers = |list: &[i64]| words(list.iter().map(i64::to_string));
    let names = |list: &[Token]| words(list.iter().map(|t| t.name.as_str().to_owned()));
    match attr {
        OpAttr::Assoc => "assoc".into(),
        OpAttr::Comm => "comm".into(),
        OpAttr::Idem => "idem".into(),
        OpAttr::Iter => "iter".into(),
        OpAttr::Ctor => "ctor".into(),
        OpAttr::Memo => "memo".into(),
        OpAttr::Ditto => "ditto".into(),
        OpAttr::Config => "config".into(),
        OpAttr::Object => "obj".into(),
        OpAttr::Msg => "msg".into(),
        OpAttr::Id { left, right, term } => {
            let side = match (left, right) {
                (true, false) => "left ",
                (false, true) => "right ",
                _ => "",
            };
            format!("{side}id: {}", bubble(term))
        }
        OpAttr::Prec(prec) => format!("prec {prec}"),
        OpAttr::Gather(list) => format!("gather ({})", names(list)),
        OpAttr::Format(list) => format!("format ({})", names(list)),
        OpAttr::Strat(list) => format!("strat ({})", numbers(list)),
        OpAttr::Frozen(list) => format!("frozen ({})", numbers(list)),
        OpAttr::Poly(list) => format!("poly ({})", numbers(list)),
        OpAttr::Metadata(text) => format!("metadata {}", quoted(text)),
        OpAttr::LatexMacro(text) => format!("latex {}", quoted(text)),
        OpAttr::PortalOrOther(token) => token.name.as_str().to_owned(),
        OpAttr::Special(hooks) => special(hooks),
    }
}

fn special(hooks: &[Hook]) -> String {
    let mut out = "special (".to_owned();
    for hook in hooks {
        if let Hook::Id { name, data } = hook {
            let _ = write!(out, "\n    id-hook {}", name.name);
            if !data.is_empty() {
                let _ = write!(out, " ({})", words(data.iter().map(|t| t.name.as_str().to_owned())));
            }
        }
    }
    for hook in hooks {
        if let Hook::Op { name, op, domain, range } = hook {
            let domain =
                if domain.is_empty() { String::new() } else { words(domain.iter().map(type_text)) + " " };
            let _ =
                write!(out, "\n    op-hook {} ({} : {domain}~> {})", name.name, op.name, type_text(range));
        }
    }
    for hook in hooks {
        if let Hook::Term { name, term } = hook {
            let _ = write!(out, "\n    term-hook {} ({})", name.name, bubble(term));
        }
    }
    out.push(')');
    out
}

/// `f(X, Y)`: as `bubble`, but the first token may be applied.
fn application(tokens: &Bubble) -> String {
    match tokens.split_first() {
        Some((first, rest)) if rest.first().is_some_and(|t| t.name.as_str() == "(") => {
            format!("{}{}", first.name, bubble(&rest.to_vec()))
        }
        _ => bubble(tokens),
    }
}

/// Tokens with blanks between them, except inside brackets and before commas.
fn bubble(tokens: &Bubble) -> String {
    let mut out = String::new();
    let opens = |name: Name| matches!(name.as_str(), "(" | "[" | "{");
    let closes = |name: Name| matches!(name.as_str(), ")" | "]" | "}" | ",");
    let mut before: Option<Name> = None;
    for token in tokens {
        if before.is_some_and(|b| !opens(b)) && !closes(token.name) {
            out.push(' ');
        }
        out.push_str(token.name.as_str());
        before = Some(token.name);
    }
    out
}
