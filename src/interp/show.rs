//! `show`: which text of which module.

use std::sync::Arc;

use super::matching::normal_statements;
use super::{Host, Interpreter};
use crate::base::{Diagnostic, Name, nearest};
use crate::mixfix::{Grammar, Vars, print};
use crate::module::{Module, sort_name};
use crate::report::{Answer, show};
use crate::syntax::TokenOrder;
use crate::syntax::tree::{Command, SortExpr, Token, TypeExpr, ViewDecl, ViewMap};

/// What can be shown, for completion and hints.
pub const SHOW_WORDS: &[&str] = &[
    "module",
    "modules",
    "all",
    "desugared",
    "sorts",
    "kinds",
    "ops",
    "vars",
    "mbs",
    "eqs",
    "rls",
    "path",
    "search graph",
    "summary",
    "profile",
    "view",
    "views",
    "strats",
    "sds",
];

impl Interpreter {
    pub(super) fn show(&mut self, host: &mut dyn Host, command: &Command, tokens: &[Token]) {
        let Some((what, rest)) = tokens.split_first() else {
            return self.error(host, "bad-show", "what should be shown?", command.span);
        };
        let flat: fn(&Module, &TokenOrder, bool) -> String = match what.name.as_str() {
            "modules" => {
                let text = show::show_modules(&self.modules);
                return host.answer(&Answer::Text(text));
            }
            "views" => {
                let text = show::show_views(&self.modules);
                return host.answer(&Answer::Text(text));
            }
            "view" => return self.show_view(host, command, rest),
            "module" | "mod" => return self.show_module(host, command, rest),
            "desugared" => {
                let Some((name, module)) = self.named(host, rest, command.span) else { return };
                let own = self.modules.own_sorts(name);
                let text = show::show_desugared(
                    &self.with_normal_statements(&module),
                    &own,
                    &self.order,
                    self.options.print.mixfix,
                );
                return host.answer(&Answer::Text(text));
            }
            "all" => show::show_all,
            "sorts" => |module, _, _| show::show_sorts(module),
            "kinds" | "components" => |module, _, _| show::show_kinds(module),
            "ops" | "op" => |module, _, _| show::show_ops(module),
            "vars" => |module, order, _| show::show_vars(module, order),
            "mbs" => show::show_mbs,
            "eqs" => show::show_eqs,
            "rls" | "rules" => show::show_rls,
            "summary" => |module, _, _| show::show_summary(module),
            "strats" | "sds" => |_, _, _| String::new(),
            "path" => return self.show_path(host, command, rest),
            "search" if rest.first().is_some_and(|word| word.name.as_str() == "graph") => {
                return self.show_graph(host, command);
            }
            "profile" => {
                let Some((_, module)) = self.named(host, rest, command.span) else { return };
                let shown = self.with_normal_statements(&module);
                let text = self.profile_text(&module, &shown);
                return host.answer(&Answer::Text(text));
            }
            "search" => {
                let message = format!("there is no {} to show", what.name);
                return self.error(host, "nothing-to-show", message, command.span);
            }
            word => {
                let mut bad = Diagnostic::error("bad-show", format!("`{word}` cannot be shown"), what.span);
                if let Some(near) = nearest(word, SHOW_WORDS.iter().copied()) {
                    bad = bad.hint(format!("did you mean `show {near}`?"));
                }
                return self.say(host, &bad);
            }
        };
        let Some((_, module)) = self.named(host, rest, command.span) else { return };
        let mixfix = self.options.print.mixfix;
        let has_statements = matches!(what.name.as_str(), "all" | "mbs" | "eqs" | "rls" | "rules");
        let text = if has_statements {
            flat(&self.with_normal_statements(&module), &self.order, mixfix)
        } else {
            flat(&module, &self.order, mixfix)
        };
        host.answer(&Answer::Text(text));
    }

    /// The module with its statements normalized modulo axioms, as Maude shows them.
    fn with_normal_statements(&mut self, module: &Arc<Module>) -> Module {
        let (compiled, making) = self.at_work(module);
        let theory = compiled.machine(false, &[], &making).theory.clone();
        let mut shown = normal_statements(&theory);
        if !self.options.print.with_aliases {
            shown.vars.clear();
        }
        shown
    }

    fn show_module(&mut self, host: &mut dyn Host, command: &Command, rest: &[Token]) {
        if let Some((name, module)) = self.named(host, rest, command.span) {
            let text = match self.modules.declaration(name) {
                Some(decl) => show::show_module(decl),
                None => show::show_all(
                    &self.with_normal_statements(&module),
                    &self.order,
                    self.options.print.mixfix,
                ),
            };
            host.answer(&Answer::Text(text));
        }
    }

    fn show_view(&mut self, host: &mut dyn Host, command: &Command, rest: &[Token]) {
        let text: String = rest.iter().map(|token| token.name.as_str()).collect();
        let name = match rest {
            [] => self.modules.last_view(),
            _ => Some(Name::new(&text)),
        };
        match name.and_then(|name| self.modules.view_declaration(name)) {
            Some(decl) => {
                let decl = decl.clone();
                let span = rest.first().map_or(command.span, |token| token.span);
                // Maude shows nothing of a view with errors.
                if self.modules.check_view(decl.name.name, span).is_ok() {
                    let text = self.view_text(&decl);
                    host.answer(&Answer::Text(text));
                }
                self.say_modules(host);
            }
            None => {
                let span = rest.first().map_or(command.span, |token| token.span);
                let views = self.modules.list_views();
                let mut bad = Diagnostic::error("unknown-view", format!("there is no view {text}"), span);
                if let Some(near) = nearest(&text, views.iter().map(|name| name.as_str())) {
                    bad = bad.hint(format!("did you mean {near}?"));
                }
                self.say(host, &bad);
            }
        }
    }

    /// The view, the terms in it parsed and printed again as Maude does.
    fn view_text(&mut self, decl: &ViewDecl) -> String {
        let has_terms = decl.maps.iter().any(|map| matches!(map, ViewMap::OpToTerm { .. }));
        let module = has_terms.then(|| self.modules.resolve(&decl.to).ok()).flatten();
        let Some(module) = module else { return show::show_view(decl, &|_| None) };
        let sig = &module.signature;
        let image = |sort: &SortExpr| {
            decl.maps.iter().find_map(|map| match map {
                ViewMap::Sort { from, to } if sort_name(from) == sort_name(sort) => Some(sort_name(to)),
                _ => None,
            })
        };
        let mut vars = Vars::default();
        for map in &decl.maps {
            let ViewMap::Vars { names, ty: TypeExpr::Sort(sort) } = map else { continue };
            if let Some(sort) = sig.sorts.find(image(sort).unwrap_or_else(|| sort_name(sort))) {
                vars.extend(names.iter().map(|token| (token.name, sort)));
            }
        }
        let options = self.options.printing(&vars);
        let grammar = Grammar::new(sig);
        show::show_view(decl, &|bubble| {
            let tree = grammar.term(sig, &vars, bubble, &[]).0?;
            Some(print(sig, &tree, &options))
        })
    }
}
