//! `set`, `trace`, `print conceal`, `break` and `do`.

use super::{Host, Interpreter, SET_WORDS};
use crate::base::{Diagnostic, Name, nearest};
use crate::syntax::tree::{Command, ImportMode, Token};

impl Interpreter {
    pub(super) fn set(&mut self, host: &mut dyn Host, command: &Command, tokens: &[Token]) {
        let words: Vec<&str> = tokens.iter().map(|token| token.name.as_str()).collect();
        let Some((&last, words)) = words.split_last() else {
            return self.error(host, "bad-set", "`set` needs an option", command.span);
        };
        let on = match last {
            "on" => true,
            "off" => false,
            _ => {
                let span = tokens[tokens.len() - 1].span;
                let bad =
                    Diagnostic::error("bad-set", "`set` ends with on or off", span).label("expected here");
                return self.say(host, &bad);
            }
        };
        if matches!(words, ["oo", "include", _]) {
            // Object-oriented modules are not read yet.
            return;
        }
        let mode = match words {
            ["include", _, ..] => Some(ImportMode::Including),
            ["protect", _, ..] => Some(ImportMode::Protecting),
            ["extend", _, ..] => Some(ImportMode::Extending),
            _ => None,
        };
        if let Some(mode) = mode {
            let module = Name::new(&words[1..].concat());
            return self.modules.set_auto_import(mode, module, on);
        }
        match self.options.switch(words) {
            Some(Some(place)) => *place = on,
            Some(None) => {}
            None => {
                let span = tokens[0].span.to(tokens[tokens.len().saturating_sub(2)].span);
                let text = words.join(" ");
                let mut bad = Diagnostic::error("bad-set", format!("there is no option `{text}`"), span);
                if let ["include" | "protect" | "extend"] = words {
                    bad.message = format!("`set {text}` needs a module");
                    return self.say(host, &bad.hint(format!("`set {text} BOOL {last} .`")));
                }
                // The first word says more than the others: look among its options.
                let (group, rest) = text.split_once(' ').unwrap_or(("", &text));
                let of_group =
                    SET_WORDS.iter().filter_map(|words| words.strip_prefix(group)).map(str::trim_start);
                let near = nearest(rest, of_group).map(|near| format!("{group} {near}"));
                let near = near.or_else(|| nearest(&text, SET_WORDS.iter().copied()).map(str::to_owned));
                if let Some(near) = near {
                    bad = bad.hint(format!("did you mean `{}`?", near.trim_start()));
                }
                self.say(host, &bad);
            }
        }
    }

    pub(super) fn trace_command(&mut self, host: &mut dyn Host, command: &Command) {
        let words: Vec<&str> = command.text.iter().map(|token| token.name.as_str()).collect();
        let names = || command.text.iter().skip(2).map(|token| token.name);
        let trace = &mut self.options.trace;
        match words.as_slice() {
            ["trace", "select", _, ..] => trace.selected.extend(names()),
            ["trace", "deselect", _, ..] => names().for_each(|name| {
                trace.selected.remove(&name);
            }),
            ["trace", "exclude", _, ..] => trace.excluded.extend(names()),
            ["trace", "include", _, ..] => names().for_each(|name| {
                trace.excluded.remove(&name);
            }),
            ["print", "conceal", _, ..] => self.options.print.concealed.extend(names()),
            ["print", "reveal", _, ..] => names().for_each(|name| {
                self.options.print.concealed.remove(&name);
            }),
            // There is no debugger that a break could lead to.
            ["break", "select" | "deselect", _, ..] => {}
            [word, ..] => {
                let hint = match *word {
                    "print" => "`print conceal f .` or `print reveal f .`",
                    _ => "`trace select`, `deselect`, `include` or `exclude`, then names",
                };
                let message = format!("this is no `{word}` command");
                self.say(host, &Diagnostic::error("bad-command", message, command.span).hint(hint));
            }
            [] => {}
        }
    }

    pub(super) fn do_command(&mut self, host: &mut dyn Host, command: &Command, tokens: &[Token]) {
        let words: Vec<&str> = tokens.iter().map(|token| token.name.as_str()).collect();
        match words.as_slice() {
            ["clear", "memo", module @ ..] => {
                let module = (!module.is_empty()).then(|| Name::new(&module.concat()));
                for (name, compiled) in &mut self.compiled {
                    if module.is_none_or(|module| module == *name) {
                        compiled.clear_memo();
                    }
                }
            }
            _ => {
                let bad = Diagnostic::error("bad-command", "`do` can only clear memo", command.span);
                self.say(host, &bad.hint("write `do clear memo .`"));
            }
        }
    }
}
