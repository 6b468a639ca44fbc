//! Pest's pairs to the surface tree.

use pest::Parser as _;
use pest::iterators::{Pair, Pairs};

use super::explain::explain;
use super::lexer::is_special;
use super::skeleton::{DEPTH_MAX, Grammar, Rule, Skeleton};
use super::tree::*;
use super::words::{DeclWord, decl_word};
use crate::base::{Diagnostic, Name, Span, nearest};

type P<'i> = Pair<'i, Rule>;

/// Reads the tokens by one rule of the grammar, which has to take them all.
pub(super) fn build<T>(
    rule: Rule,
    tokens: Vec<Token>,
    diagnostics: &mut Vec<Diagnostic>,
    read: impl FnOnce(&mut Builder<'_>, P<'_>) -> T,
) -> Option<T> {
    let skeleton = Skeleton::new(tokens);
    if let Some(error) = too_deep(rule, &skeleton) {
        diagnostics.push(error);
        return None;
    }
    match Grammar::parse(rule, skeleton.text()) {
        Ok(mut pairs) => {
            let pair = pairs.next().expect("a rule that matched has its pair");
            Some(read(&mut Builder { skeleton: &skeleton, diagnostics }, pair))
        }
        Err(error) => {
            diagnostics.push(explain(&error, &skeleton));
            None
        }
    }
}

/// Would the rule take the tokens?
pub(super) fn fits(rule: Rule, tokens: Vec<Token>) -> bool {
    let skeleton = Skeleton::new(tokens);
    too_deep(rule, &skeleton).is_none() && Grammar::parse(rule, skeleton.text()).is_ok()
}

/// Bubbles are read without recursion; the rest of the grammar must not meet deep nesting.
fn too_deep(rule: Rule, skeleton: &Skeleton) -> Option<Diagnostic> {
    let tokens = skeleton.tokens();
    let first = tokens.first()?;
    let word = first.name.as_str();
    let depth = match rule {
        Rule::declaration if matches!(decl_word(word), Some(DeclWord::Bubble(_))) => 0,
        Rule::command if word == "select" => depth(tokens),
        // Only the module expression in `in M :` is read by recursion.
        Rule::command => match tokens.iter().take(8).position(|token| token.name.as_str() == "in") {
            Some(place) => depth(up_to_colon(&tokens[place..])),
            None => 0,
        },
        _ => depth(tokens),
    };
    (depth > DEPTH_MAX).then(|| {
        Diagnostic::error(
            "nested-too-deep",
            format!("brackets nest deeper than {DEPTH_MAX} here"),
            first.span,
        )
        .label("in this declaration")
    })
}

/// How deep brackets nest.
fn depth(tokens: &[Token]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for token in tokens {
        match token.name.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// The tokens before the first colon outside brackets.
fn up_to_colon(tokens: &[Token]) -> &[Token] {
    let mut depth = 0usize;
    for (i, token) in tokens.iter().enumerate() {
        match token.name.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            ":" if depth == 0 => return &tokens[..i],
            _ => {}
        }
    }
    tokens
}

/// The canonical spelling of an operator's name: its tokens run together, with a backquote
/// before each special character and for a blank that cannot be dropped.
pub(super) fn canonical_name(tokens: &[Token]) -> Name {
    let joins = |byte: Option<&u8>| byte.is_none_or(|&byte| byte == b'_' || is_special(byte));
    let mut name = String::new();
    for token in tokens {
        let text = token.name.as_str();
        let special = text.len() == 1 && is_special(text.as_bytes()[0]);
        let apart = !joins(name.as_bytes().last()) && !joins(text.as_bytes().first());
        if special || apart {
            name.push('`');
        }
        name.push_str(text);
    }
    Name::new(&name)
}

/// Turns pairs into trees; each method takes a pair of the rule it is named after.
pub(super) struct Builder<'a> {
    skeleton: &'a Skeleton,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Builder<'_> {
    pub fn module_header(&mut self, pair: P<'_>) -> (Token, Vec<ParamDecl>) {
        let mut name = self.skeleton.token(&pair);
        let mut params = Vec::new();
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::own_name => name = self.skeleton.token(&inner),
                Rule::params => params = self.params(inner),
                _ => {}
            }
        }
        (name, params)
    }

    pub fn view_header(&mut self, pair: P<'_>) -> ViewDecl {
        let span = self.skeleton.span(&pair);
        let mut name = self.skeleton.token(&pair);
        let mut params = Vec::new();
        let mut modules = Vec::new();
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::own_name => name = self.skeleton.token(&inner),
                Rule::params => params = self.params(inner),
                Rule::module_expr => modules.push(self.module_expr(inner)),
                _ => {}
            }
        }
        let to = modules.pop().expect("the grammar has a target");
        let from = modules.pop().expect("the grammar has a source");
        ViewDecl { name, params, from, to, maps: Vec::new(), span }
    }

    fn params(&mut self, pair: P<'_>) -> Vec<ParamDecl> {
        let mut params = Vec::new();
        for param in pair.into_inner().filter(|p| p.as_rule() == Rule::param) {
            let mut inner = param.into_inner();
            let name = self.skeleton.token(&inner.next().expect("a parameter has a name"));
            let theory = inner.last().expect("a parameter has a theory");
            params.push(ParamDecl { name, theory: self.module_expr(theory) });
        }
        params
    }

    pub fn module_expr(&mut self, pair: P<'_>) -> ModuleExpr {
        let mut terms: Vec<ModuleExpr> = Vec::new();
        for term in pair.into_inner() {
            match self.module_term(term) {
                ModuleExpr::Sum(inner) => terms.extend(inner),
                term => terms.push(term),
            }
        }
        if terms.len() == 1 { terms.remove(0) } else { ModuleExpr::Sum(terms) }
    }

    fn module_term(&mut self, pair: P<'_>) -> ModuleExpr {
        let start = self.skeleton.span(&pair);
        let mut result = ModuleExpr::Name(self.skeleton.token(&pair));
        // Each postfix nests one deeper; the result is dropped and walked by recursion.
        let mut depth = 0;
        for inner in pair.into_inner() {
            let span = start.to(self.skeleton.span(&inner));
            let span = Span { end: self.skeleton.span(&inner).end, ..span };
            depth += 1;
            if depth == DEPTH_MAX {
                let span = self.skeleton.span(&inner);
                self.diagnostics.push(Diagnostic::error(
                    "nested-too-deep",
                    "this module expression is too long",
                    span,
                ));
                break;
            }
            match inner.as_rule() {
                Rule::module_name => result = ModuleExpr::Name(self.skeleton.token(&inner)),
                Rule::module_expr => result = self.module_expr(inner),
                Rule::view_args => {
                    let args = self.view_args(inner);
                    result = ModuleExpr::Instance { module: Box::new(result), args, span };
                }
                Rule::renaming => {
                    let items = inner
                        .into_inner()
                        .filter(|p| p.as_rule() == Rule::rename_item)
                        .filter_map(|p| p.into_inner().next())
                        .map(|p| self.rename_item(p))
                        .collect();
                    result = ModuleExpr::Rename { module: Box::new(result), items, span };
                }
                _ => {}
            }
        }
        result
    }

    fn view_args(&mut self, pair: P<'_>) -> Vec<ViewExpr> {
        let views = pair.into_inner().filter(|p| p.as_rule() == Rule::view_expr);
        views.map(|p| self.view_expr(p)).collect()
    }

    fn view_expr(&mut self, pair: P<'_>) -> ViewExpr {
        let span = self.skeleton.span(&pair);
        let view = self.skeleton.token(&pair);
        match pair.into_inner().find(|p| p.as_rule() == Rule::view_args) {
            Some(args) => ViewExpr::Instance { view, args: self.view_args(args), span },
            None => ViewExpr::Name(view),
        }
    }

    fn rename_item(&mut self, pair: P<'_>) -> RenameItem {
        let rule = pair.as_rule();
        match rule {
            Rule::rename_sort => {
                let (from, to) = self.sort_pair(pair);
                RenameItem::Sort { from, to }
            }
            Rule::rename_label => {
                let (from, to) = self.label_pair(pair);
                RenameItem::Label { from, to }
            }
            _ => {
                let mut types = None;
                let mut names = Vec::new();
                let mut attrs = Vec::new();
                for inner in pair.into_inner() {
                    match inner.as_rule() {
                        Rule::from_name | Rule::rename_to => names.push(self.op_name(&inner)),
                        Rule::op_types => types = Some(self.op_types(inner)),
                        Rule::attrs => attrs = self.attrs(inner),
                        _ => {}
                    }
                }
                let to = names.pop().expect("a renaming has a target");
                let from = names.pop().expect("a renaming has a source");
                RenameItem::Op { from, types: types.map(|(domain, range, _)| (domain, range)), to, attrs }
            }
        }
    }

    fn sort_pair(&mut self, pair: P<'_>) -> (SortExpr, SortExpr) {
        let mut sorts = pair.into_inner().filter(|p| p.as_rule() == Rule::sort);
        let from = self.sort(sorts.next().expect("a sort mapping has a source"));
        let to = self.sort(sorts.next().expect("a sort mapping has a target"));
        (from, to)
    }

    fn label_pair(&mut self, pair: P<'_>) -> (Token, Token) {
        let mut words = pair.into_inner().filter(|p| p.as_rule() == Rule::word);
        let from = self.skeleton.token(&words.next().expect("a label mapping has a source"));
        let to = self.skeleton.token(&words.next().expect("a label mapping has a target"));
        (from, to)
    }

    fn sort(&mut self, pair: P<'_>) -> SortExpr {
        let span = self.skeleton.span(&pair);
        let mut name = self.skeleton.token(&pair);
        let mut args = Vec::new();
        for group in pair.into_inner().filter(|p| p.as_rule() == Rule::sort_args) {
            let group_span = self.skeleton.span(&group);
            if !args.is_empty() {
                let base = SortExpr { name, args, span };
                name = Token { name: Name::new(&sort_text(&base)), span: name.span };
                name.span.end = group_span.start;
            }
            args = self.sort_list(group.into_inner());
        }
        SortExpr { name, args, span }
    }

    fn sort_list(&mut self, pairs: Pairs<'_, Rule>) -> Vec<SortExpr> {
        pairs.filter(|p| p.as_rule() == Rule::sort).map(|p| self.sort(p)).collect()
    }

    fn type_expr(&mut self, pair: P<'_>) -> TypeExpr {
        let inner = pair.into_inner().next().expect("a type is a sort or a kind");
        match inner.as_rule() {
            Rule::kind => {
                let span = self.skeleton.span(&inner);
                TypeExpr::Kind { sorts: self.sort_list(inner.into_inner()), span }
            }
            _ => TypeExpr::Sort(self.sort(inner)),
        }
    }

    /// Domain, range, and whether the arrow is `~>`.
    fn op_types(&mut self, pair: P<'_>) -> (Vec<TypeExpr>, TypeExpr, bool) {
        let mut domain = Vec::new();
        let mut range = None;
        let mut partial = false;
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::types => domain = inner.into_inner().map(|p| self.type_expr(p)).collect(),
                Rule::arrow => partial = inner.as_str() == "~> ",
                Rule::r#type => range = Some(self.type_expr(inner)),
                _ => {}
            }
        }
        (domain, range.expect("the grammar has a range"), partial)
    }

    /// A name; parentheses around all of it are not part of it.
    fn op_name(&mut self, pair: &P<'_>) -> OpName {
        let span = self.skeleton.span(pair);
        let mut tokens = self.skeleton.bubble(pair);
        if is_one_group(&tokens) {
            tokens.pop();
            tokens.remove(0);
        }
        OpName { name: canonical_name(&tokens), tokens, span }
    }

    pub fn declaration(&mut self, pair: P<'_>) -> Vec<Decl> {
        let inner = pair.into_inner().next().expect("a declaration has content");
        let span = self.skeleton.span(&inner);
        match inner.as_rule() {
            Rule::import => {
                let mode = match self.skeleton.token(&inner).name.as_str() {
                    "protecting" | "pr" => ImportMode::Protecting,
                    "extending" | "ex" => ImportMode::Extending,
                    "including" | "inc" => ImportMode::Including,
                    _ => ImportMode::GeneratedBy,
                };
                let module = inner.into_inner().find(|p| p.as_rule() == Rule::module_expr);
                let module = self.module_expr(module.expect("an import has a module"));
                vec![Decl::Import { mode, module, span }]
            }
            Rule::sorts => vec![Decl::Sorts(self.sort_list(inner.into_inner()))],
            Rule::subsorts => {
                let groups = inner.into_inner().filter(|p| p.as_rule() == Rule::sort_group);
                vec![Decl::Subsorts(groups.map(|p| self.sort_list(p.into_inner())).collect())]
            }
            Rule::op | Rule::ops => self.op(inner).into_iter().map(Decl::Op).collect(),
            Rule::vars => {
                let (names, ty) = self.vars(inner);
                vec![Decl::Vars { names, ty }]
            }
            _ => {
                let kind = match self.skeleton.token(&inner).name.as_str() {
                    "eq" => StatementKind::Eq,
                    "ceq" | "cq" => StatementKind::Ceq,
                    "mb" => StatementKind::Mb,
                    "cmb" => StatementKind::Cmb,
                    "rl" => StatementKind::Rl,
                    _ => StatementKind::Crl,
                };
                let body = self.find_bubble(inner, Rule::bubble);
                vec![Decl::Statement(Statement { kind, body, span })]
            }
        }
    }

    fn vars(&mut self, pair: P<'_>) -> (Vec<Token>, TypeExpr) {
        let mut names = Vec::new();
        let mut ty = None;
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::var_name => names.push(self.skeleton.token(&inner)),
                Rule::r#type => ty = Some(self.type_expr(inner)),
                _ => {}
            }
        }
        (names, ty.expect("variables have a type"))
    }

    fn op(&mut self, pair: P<'_>) -> Vec<OpDecl> {
        let span = self.skeleton.span(&pair);
        let msg = self.skeleton.token(&pair).name.as_str().starts_with("msg");
        let mut names = Vec::new();
        let mut types = None;
        let mut attrs = Vec::new();
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::op_name | Rule::ops_name => names.push(self.op_name(&inner)),
                Rule::op_types => types = Some(self.op_types(inner)),
                Rule::attrs => attrs = self.attrs(inner),
                _ => {}
            }
        }
        let (domain, range, partial) = types.expect("an operator has types");
        names
            .into_iter()
            .map(|name| OpDecl {
                name,
                domain: domain.clone(),
                range: range.clone(),
                partial,
                attrs: attrs.clone(),
                msg,
                span,
            })
            .collect()
    }

    fn attrs(&mut self, pair: P<'_>) -> Vec<OpAttr> {
        pair.into_inner()
            .filter(|p| p.as_rule() == Rule::attr)
            .filter_map(|p| p.into_inner().next())
            .filter_map(|p| self.attr(p))
            .collect()
    }

    fn attr(&mut self, pair: P<'_>) -> Option<OpAttr> {
        let token = self.skeleton.token(&pair);
        Some(match pair.as_rule() {
            Rule::flag => match token.name.as_str() {
                "assoc" | "associative" => OpAttr::Assoc,
                "comm" | "commutative" => OpAttr::Comm,
                "idem" | "idempotent" => OpAttr::Idem,
                "iter" | "iterated" => OpAttr::Iter,
                "ctor" | "constructor" => OpAttr::Ctor,
                "memo" => OpAttr::Memo,
                "ditto" => OpAttr::Ditto,
                "config" | "configuration" => OpAttr::Config,
                "object" | "obj" => OpAttr::Object,
                "msg" | "message" => OpAttr::Msg,
                _ => OpAttr::PortalOrOther(token),
            },
            Rule::identity => {
                let side = token.name.as_str();
                let term = self.find_bubble(pair, Rule::identity_term);
                OpAttr::Id { left: side != "right", right: side != "left", term }
            }
            Rule::prec => OpAttr::Prec(u32::try_from(*self.integers(pair).first()?).unwrap_or(u32::MAX)),
            Rule::gather => OpAttr::Gather(self.words(pair)),
            Rule::format => OpAttr::Format(self.words(pair)),
            Rule::strat => OpAttr::Strat(self.integers(pair)),
            Rule::frozen => OpAttr::Frozen(self.integers(pair)),
            Rule::poly => OpAttr::Poly(self.integers(pair)),
            Rule::metadata => OpAttr::Metadata(self.string(pair)),
            Rule::latex => OpAttr::LatexMacro(self.string(pair)),
            Rule::special_attr => {
                let hooks = pair.into_inner().filter(|p| p.as_rule() == Rule::hook);
                OpAttr::Special(hooks.filter_map(|p| p.into_inner().next()).map(|p| self.hook(p)).collect())
            }
            _ => {
                const ATTRS: &[&str] = &[
                    "assoc", "comm", "idem", "iter", "ctor", "memo", "ditto", "config", "object", "msg",
                    "left", "right", "id:", "prec", "gather", "format", "strat", "frozen", "poly",
                    "metadata", "special",
                ];
                let word = token.name.as_str();
                let mut error =
                    Diagnostic::error("unknown-attribute", format!("unknown attribute `{word}`"), token.span)
                        .label("not an attribute of operators");
                if let Some(near) = nearest(word, ATTRS.iter().copied()) {
                    error = error.hint(format!("did you mean `{near}`?"));
                } else if matches!(
                    word,
                    "label" | "nonexec" | "owise" | "otherwise" | "variant" | "narrowing" | "print"
                ) {
                    error =
                        error.hint(format!("`{word}` is an attribute of equations, memberships and rules"));
                } else if word == "id" {
                    error = error.hint("write `id:` without a blank before the colon");
                }
                self.diagnostics.push(error);
                return None;
            }
        })
    }

    fn hook(&mut self, pair: P<'_>) -> Hook {
        let rule = pair.as_rule();
        let mut name = self.skeleton.token(&pair);
        let (mut data, mut term, mut op, mut types) = (Vec::new(), Vec::new(), None, None);
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::word => name = self.skeleton.token(&inner),
                Rule::hook_data => data.push(self.skeleton.token(&inner)),
                Rule::hook_term => term = self.skeleton.bubble(&inner),
                Rule::op_name => op = Some(self.op_name(&inner)),
                Rule::op_types => types = Some(self.op_types(inner)),
                _ => {}
            }
        }
        match (rule, op, types) {
            (Rule::op_hook, Some(op), Some((domain, range, _))) => Hook::Op { name, op, domain, range },
            (Rule::term_hook, ..) => Hook::Term { name, term },
            _ => Hook::Id { name, data },
        }
    }

    pub fn view_map(&mut self, pair: P<'_>) -> ViewMap {
        let inner = pair.into_inner().next().expect("a mapping has content");
        let span = self.skeleton.span(&inner);
        match inner.as_rule() {
            Rule::view_sort => {
                let (from, to) = self.sort_pair(inner);
                ViewMap::Sort { from, to }
            }
            Rule::view_label => {
                let (from, to) = self.label_pair(inner);
                ViewMap::Label { from, to }
            }
            Rule::vars => {
                let (names, ty) = self.vars(inner);
                ViewMap::Vars { names, ty }
            }
            Rule::op_to_term => {
                let from = self.find_bubble(inner.clone(), Rule::from_term);
                let to = self.find_bubble(inner, Rule::bubble);
                ViewMap::OpToTerm { from, to, span }
            }
            _ => {
                let mut types = None;
                let mut names = Vec::new();
                for inner in inner.into_inner() {
                    match inner.as_rule() {
                        Rule::from_name | Rule::to_name => names.push(self.op_name(&inner)),
                        Rule::op_types => types = Some(self.op_types(inner)),
                        _ => {}
                    }
                }
                let to = names.pop().expect("a mapping has a target");
                let from = names.pop().expect("a mapping has a source");
                ViewMap::Op { from, types: types.map(|(domain, range, _)| (domain, range)), to }
            }
        }
    }

    pub fn command(&mut self, pair: P<'_>) -> CommandKind {
        let inner = pair.into_inner().next().expect("a command has content");
        let rule = inner.as_rule();
        let all = self.skeleton.bubble(&inner);
        let extension = all[0].name.as_str() == "xmatch";
        let (mut limit, mut second, mut module, mut bubble) = (None, None, None, Vec::new());
        for inner in inner.into_inner() {
            match inner.as_rule() {
                Rule::number => limit = Some(number(&inner)),
                Rule::limit | Rule::limits => {
                    for bound in inner.into_inner() {
                        match bound.as_rule() {
                            Rule::number => limit = Some(number(&bound)),
                            _ => second = bound.into_inner().next().map(|p| number(&p)),
                        }
                    }
                }
                Rule::in_module => module = inner.into_inner().next().map(|p| self.module_expr(p)),
                Rule::module_expr => module = Some(self.module_expr(inner)),
                Rule::bubble | Rule::rest => bubble = self.skeleton.bubble(&inner),
                _ => {}
            }
        }
        match rule {
            Rule::reduce => CommandKind::Reduce { module, term: bubble },
            Rule::parse => CommandKind::Parse { module, term: bubble },
            Rule::matching => CommandKind::Match { extension, limit, module, body: bubble },
            Rule::rewrite => CommandKind::Rewrite { limit, module, term: bubble },
            Rule::frewrite => CommandKind::Frewrite { limit, gas: second, module, term: bubble },
            Rule::search => CommandKind::Search { limit, depth: second, module, body: bubble },
            Rule::r#continue => CommandKind::Continue(limit),
            Rule::select => CommandKind::Select(module.expect("`select` has a module")),
            Rule::show => CommandKind::Show(bubble),
            Rule::set => CommandKind::Set(bubble),
            Rule::trace => CommandKind::Trace(bubble),
            Rule::r#do => CommandKind::Do(bubble),
            Rule::looping => CommandKind::Other(bubble),
            _ => CommandKind::Other(all),
        }
    }

    fn find_bubble(&self, pair: P<'_>, rule: Rule) -> Bubble {
        pair.into_inner().find(|p| p.as_rule() == rule).map_or(Vec::new(), |p| self.skeleton.bubble(&p))
    }

    fn words(&self, pair: P<'_>) -> Vec<Token> {
        pair.into_inner().filter(|p| p.as_rule() == Rule::word).map(|p| self.skeleton.token(&p)).collect()
    }

    /// The numbers in the pair; absurdly long ones are cut off at the type's bounds.
    fn integers(&self, pair: P<'_>) -> Vec<i64> {
        pair.into_inner()
            .filter(|p| matches!(p.as_rule(), Rule::natural | Rule::integer))
            .map(|p| p.as_str().trim_end().parse().unwrap_or(i64::MAX))
            .collect()
    }

    /// What stands between the quotes, escapes as written; or the tokens of `latex (...)`.
    fn string(&self, pair: P<'_>) -> String {
        let Some(inner) = pair.into_inner().next() else { return String::new() };
        let tokens = self.skeleton.bubble(&inner);
        if inner.as_rule() == Rule::string {
            let text = tokens[0].name.as_str();
            return text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text).to_string();
        }
        let inside = &tokens[1..tokens.len() - 1];
        inside.iter().map(|token| token.name.as_str()).collect::<Vec<_>>().join(" ")
    }
}

/// A sort's name as Maude spells it: `Map{Nat,Set{X}}`.
fn sort_text(sort: &SortExpr) -> String {
    if sort.args.is_empty() {
        return sort.name.name.to_string();
    }
    let args: Vec<String> = sort.args.iter().map(sort_text).collect();
    format!("{}{{{}}}", sort.name.name, args.join(","))
}

fn number(pair: &P<'_>) -> u64 {
    pair.as_str().trim_end().parse().unwrap_or(u64::MAX)
}

/// Is this one group in parentheses, as `( a b )` is and `( a ) b ( c )` is not?
fn is_one_group(tokens: &[Token]) -> bool {
    let mut depth = 0usize;
    for (i, token) in tokens.iter().enumerate() {
        match token.name.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return i > 1 && i + 1 == tokens.len();
        }
    }
    false
}
