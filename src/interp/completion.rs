//! Words that may stand where the user is typing.

use super::show::SHOW_WORDS;
use super::{Interpreter, SET_WORDS, SOLVER_WORDS};

/// Words by what they are, each list sorted.
#[derive(Clone, Debug, Default)]
pub struct Words {
    pub modules: Vec<String>,
    pub views: Vec<String>,
    /// Sorts and variables, operator names and the words of mixfix operators of the current module.
    pub terms: Vec<String>,
}

/// The words that begin a command or a declaration.
pub const COMMAND_WORDS: &[&str] = &[
    "cd",
    "continue",
    "do clear memo .",
    "eof",
    "fmod",
    "frewrite",
    "fth",
    "help",
    "in",
    "load",
    "ls",
    "match",
    "mod",
    "parse",
    "popd",
    "pushd",
    "pwd",
    "quit",
    "red",
    "reduce",
    "rewrite",
    "search",
    "select",
    "set",
    "show",
    "sload",
    "th",
    "trace",
    "view",
    "xmatch",
];

impl Interpreter {
    /// What can be named at present.
    pub fn words(&mut self) -> Words {
        let sorted = |mut words: Vec<String>| {
            words.sort();
            words.dedup();
            words
        };
        let modules = self.modules.list().iter().map(|(_, name)| name.to_string()).collect();
        let views = self.modules.list_views().iter().map(|name| name.to_string()).collect();
        let mut terms = Vec::new();
        let current = self.current.and_then(|name| self.compiled.get(&name)).map(|c| c.module.clone());
        if let Some(module) = current {
            let sig = &module.signature;
            terms.extend(sig.sorts.declared().map(|sort| sig.sorts.name(sort).to_string()));
            terms.extend(module.vars.keys().map(|name| name.to_string()));
            for (_, op) in sig.ops() {
                let name = op.name.as_str();
                if !name.contains('`') {
                    terms.extend(name.split('_').filter(|part| !part.is_empty()).map(str::to_owned));
                }
            }
        }
        Words { modules: sorted(modules), views: sorted(views), terms: sorted(terms) }
    }
}

impl Words {
    /// What `word` may become, given the words before it in the same item.
    pub fn complete(&self, before: &[&str], word: &str) -> Vec<String> {
        let list = |words: &[&str]| -> Vec<String> {
            words.iter().filter(|w| w.starts_with(word)).map(|w| (*w).to_owned()).collect()
        };
        let owned = |words: &[String]| -> Vec<String> {
            words.iter().filter(|w| w.starts_with(word)).cloned().collect()
        };
        match before {
            [] => [list(COMMAND_WORDS), list(SOLVER_WORDS)].concat(),
            ["("] => list(SOLVER_WORDS),
            [word] if word.trim_start_matches('(') == "initialize[" => owned(&self.modules),
            ["show"] => list(SHOW_WORDS),
            ["show", "view"] => owned(&self.views),
            ["show", _] | ["select"] => owned(&self.modules),
            ["set", rest @ ..] => {
                let mut next: Vec<String> = SET_WORDS
                    .iter()
                    .filter_map(|words| {
                        let words: Vec<&str> = words.split(' ').collect();
                        match words.strip_prefix(rest)? {
                            [] => None,
                            [next, ..] => Some((*next).to_owned()),
                        }
                    })
                    .filter(|next| next.starts_with(word))
                    .collect();
                if matches!(rest, ["include" | "protect" | "extend"]) {
                    next.extend(owned(&self.modules));
                } else if SET_WORDS.contains(&rest.join(" ").as_str())
                    || matches!(rest, ["include" | "protect" | "extend", _])
                {
                    next.extend(list(&["on .", "off ."]));
                }
                next.sort();
                next.dedup();
                next
            }
            [.., "in" | "protecting" | "pr" | "including" | "inc" | "extending" | "ex"] => {
                owned(&self.modules)
            }
            _ if word.is_empty() => Vec::new(),
            _ => owned(&self.terms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completes_by_place() {
        let words = Words {
            modules: vec!["NAT".into(), "NAT-LIST".into(), "RAT".into()],
            views: vec!["Nat".into()],
            terms: vec!["NzNat".into(), "gcd".into()],
        };
        let check = |before: &str, word: &str, expected: &[&str]| {
            let before: Vec<&str> = before.split_whitespace().collect();
            assert_eq!(words.complete(&before, word), expected, "{before:?} {word}");
        };
        check("", "re", &["red", "reduce", "rewrite"]);
        check("", "la", &["lastCheck", "layerCheck"]);
        check("(", "init", &["initialize["]);
        check("(initialize[", "R", &["RAT"]);
        check("select", "NA", &["NAT", "NAT-LIST"]);
        check("red in", "R", &["RAT"]);
        check("red 1 +", "g", &["gcd"]);
        check("set trace", "wh", &["whole"]);
        check("set print with", "", &["aliases", "parentheses"]);
        check("set trace whole", "", &["off .", "on ."]);
        check("set include NAT", "of", &["off ."]);
        check("show view", "", &["Nat"]);
    }
}
