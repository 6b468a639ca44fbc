//! What `set ...` changes.

use rustc_hash::FxHashSet;

use crate::base::Name;
use crate::mixfix::{PrintOptions, Vars};

/// The switches of a session; the defaults are Maude's.
#[derive(Clone, Debug)]
pub struct Options {
    pub show: Show,
    pub print: Print,
    pub trace: Trace,
    /// `set clear memo on`: forget memoized results before each command.
    pub clear_memo: bool,
    /// `set clear rules on`: begin with the first rule, and with 0, at each command.
    pub clear_rules: bool,
    /// Count how often statements are used?
    pub profile: bool,
    /// Forget these counts when a command begins?
    pub clear_profile: bool,
}

/// `set show ...`
#[derive(Clone, Debug)]
pub struct Show {
    pub advisories: bool,
    pub command: bool,
    pub stats: bool,
    pub timing: bool,
    pub breakdown: bool,
}

/// `set print ...`
#[derive(Clone, Debug)]
pub struct Print {
    pub mixfix: bool,
    pub flat: bool,
    pub with_parens: bool,
    pub with_aliases: bool,
    pub number: bool,
    pub rat: bool,
    pub format: bool,
    pub color: bool,
    pub graph: bool,
    pub const_with_sorts: bool,
    pub conceal: bool,
    pub concealed: FxHashSet<Name>,
    pub attribute: bool,
    pub attribute_newline: bool,
}

/// `set trace ...`
#[derive(Clone, Debug)]
pub struct Trace {
    pub on: bool,
    pub condition: bool,
    pub whole: bool,
    pub substitution: bool,
    pub select: bool,
    pub mb: bool,
    pub eq: bool,
    pub rl: bool,
    pub rewrite: bool,
    pub body: bool,
    pub builtin: bool,
    /// Labels and operators named by `trace select`.
    pub selected: FxHashSet<Name>,
    /// Modules named by `trace exclude`.
    pub excluded: FxHashSet<Name>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            show: Show { advisories: true, command: true, stats: true, timing: true, breakdown: false },
            print: Print {
                mixfix: true,
                flat: true,
                with_parens: false,
                with_aliases: true,
                number: true,
                rat: true,
                format: true,
                color: false,
                graph: false,
                const_with_sorts: false,
                conceal: false,
                concealed: FxHashSet::default(),
                attribute: false,
                attribute_newline: true,
            },
            trace: Trace {
                on: false,
                condition: true,
                whole: false,
                substitution: true,
                select: false,
                mb: true,
                eq: true,
                rl: true,
                rewrite: true,
                body: true,
                builtin: true,
                selected: FxHashSet::default(),
                excluded: FxHashSet::default(),
            },
            clear_memo: false,
            clear_rules: true,
            profile: false,
            clear_profile: true,
        }
    }
}

impl Options {
    /// How terms are printed in a module with these variables.
    pub fn printing<'a>(&'a self, vars: &'a Vars) -> PrintOptions<'a> {
        let print = &self.print;
        PrintOptions {
            mixfix: print.mixfix,
            flat: print.flat,
            with_parens: print.with_parens,
            aliases: print.with_aliases.then_some(vars),
            number: print.number,
            rat: print.rat,
            format: print.format,
            color: print.color,
            const_with_sorts: print.const_with_sorts,
            declared_sorts: false,
            conceal: print.conceal.then_some(&print.concealed),
        }
    }

    /// The switch that `set` words name, without the final `on` or `off`.
    /// `None`: no such switch; `Some(None)`: one that changes nothing here.
    pub fn switch(&mut self, words: &[&str]) -> Option<Option<&mut bool>> {
        let (show, print, trace) = (&mut self.show, &mut self.print, &mut self.trace);
        Some(Some(match words {
            ["show", "advise" | "advisories"] => &mut show.advisories,
            ["show", "command"] => &mut show.command,
            ["show", "stats"] => &mut show.stats,
            ["show", "timing"] => &mut show.timing,
            ["show", "breakdown"] => &mut show.breakdown,
            ["show", "loop", "stats" | "timing"] | ["show", "gc" | "warnings"] => return Some(None),
            ["print", "mixfix"] => &mut print.mixfix,
            ["print", "flat"] => &mut print.flat,
            ["print", "with", "parentheses" | "parens"] => &mut print.with_parens,
            ["print", "with", "aliases"] => &mut print.with_aliases,
            ["print", "conceal"] => &mut print.conceal,
            ["print", "number"] => &mut print.number,
            ["print", "rat"] => &mut print.rat,
            // Maude colours operators by their role then, on terminals only.
            ["print", "color"] => return Some(None),
            ["print", "format"] => &mut print.format,
            ["print", "graph"] => &mut print.graph,
            ["print", "const" | "constants", "with", "sorts"] => &mut print.const_with_sorts,
            ["print", "attribute" | "attr"] => &mut print.attribute,
            ["print", "attribute" | "attr", "newline"] => &mut print.attribute_newline,
            ["trace"] => &mut trace.on,
            ["trace", "condition" | "conditions" | "cond"] => &mut trace.condition,
            ["trace", "whole"] => &mut trace.whole,
            ["trace", "substitution" | "substitutions"] => &mut trace.substitution,
            ["trace", "select"] => &mut trace.select,
            ["trace", "mb" | "mbs"] => &mut trace.mb,
            ["trace", "eq" | "eqs"] => &mut trace.eq,
            ["trace", "rl" | "rls"] => &mut trace.rl,
            ["trace", "rewrite" | "rewrites"] => &mut trace.rewrite,
            ["trace", "body"] => &mut trace.body,
            ["trace", "builtin"] => &mut trace.builtin,
            ["trace", "sd" | "sds"] => return Some(None),
            ["clear", "memo"] => &mut self.clear_memo,
            ["clear", "rules"] => &mut self.clear_rules,
            ["clear", "profile"] => &mut self.clear_profile,
            ["profile"] => &mut self.profile,
            ["verbose" | "break"] => return Some(None),
            _ => return None,
        }))
    }
}

/// The words that may follow `set`, for completion and hints.
pub const SET_WORDS: &[&str] = &[
    "show advise",
    "show command",
    "show stats",
    "show timing",
    "show breakdown",
    "show loop stats",
    "show loop timing",
    "show gc",
    "print mixfix",
    "print flat",
    "print with parentheses",
    "print with aliases",
    "print conceal",
    "print number",
    "print rat",
    "print color",
    "print format",
    "print graph",
    "print const with sorts",
    "print attribute",
    "print attribute newline",
    "trace",
    "trace condition",
    "trace whole",
    "trace substitution",
    "trace select",
    "trace mb",
    "trace eq",
    "trace rl",
    "trace rewrite",
    "trace body",
    "trace builtin",
    "clear memo",
    "clear rules",
    "clear profile",
    "include",
    "protect",
    "extend",
    "break",
    "verbose",
    "profile",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_switch_exists() {
        let mut options = Options::default();
        for words in SET_WORDS.iter().filter(|w| !["include", "protect", "extend"].contains(w)) {
            let words: Vec<&str> = words.split(' ').collect();
            assert!(options.switch(&words).is_some(), "{words:?}");
        }
        assert!(options.switch(&["nothing"]).is_none());
    }
}
