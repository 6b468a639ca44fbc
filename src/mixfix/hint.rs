//! Slips that people make often in statements and commands, and what would mend them.

use crate::base::nearest;
use crate::syntax::tree::Token;

/// Attributes of statements.
const ATTRIBUTES: &[&str] = &["owise", "otherwise", "nonexec", "label", "metadata", "print", "variant"];

/// What may help if the token `at` of a `what` (an equation, a search ...) is unknown or does not fit.
pub(super) fn slip(what: &str, tokens: &[Token], at: usize) -> Option<String> {
    let word = |at: usize| tokens.get(at).map(|token| token.name.as_str());
    let here = word(at);
    let kind = what.strip_prefix("conditional ").unwrap_or(what);
    let keyword = match what {
        "equation" => "ceq",
        "membership" => "cmb",
        "rule" => "crl",
        _ => "",
    };
    let count = |wanted: &str| tokens[..at].iter().filter(|token| token.name.as_str() == wanted).count();
    if here == Some("if") && !keyword.is_empty() && count("if") == count("fi") {
        return Some(format!("{} with a condition begins with `{keyword}`", with_article(what)));
    }
    if here.is_none() && what != kind && !tokens.iter().any(|token| token.name.as_str() == "if") {
        return Some(format!("a {what} needs `if` and a condition"));
    }
    if here.is_none() && kind == "equation" && count("=") == 0 && count("==") > 0 {
        return Some("an equation is written `t = t'`".to_owned());
    }
    if word(0) == Some("[") && at <= 4 {
        if matches!(kind, "equation" | "membership" | "rule") {
            return Some("a label is written `[name] :`, with the colon".to_owned());
        }
        if kind != "term" || word(1).is_some_and(|word| word.parse::<u64>().is_ok()) {
            return Some("bounds are numbers from 1 on, as in `[5]` or `[5, 10]`".to_owned());
        }
    }
    if word(0) == Some("in") && at == 0 {
        return Some("a module is named as in `red in NAT : 1 + 1 .`".to_owned());
    }
    match (kind, here?) {
        ("rule", "=" | "->" | ":" | "-->") => Some("a rule is written `t => t'`".to_owned()),
        ("equation", "=>" | "->" | ":=" | ":" | "-->") => Some("an equation is written `t = t'`".to_owned()),
        ("membership", "=" | ":=" | "=>" | "::" | "->") => {
            Some("a membership is written `t : Sort`".to_owned())
        }
        ("search", "=>" | "->" | "=" | "-->" | "=>?") => {
            Some("the arrow of a search is one of `=>1`, `=>+`, `=>*` and `=>!`".to_owned())
        }
        ("equation" | "membership" | "rule", here) if is_in_last_brackets(tokens, at) => {
            nearest(here, ATTRIBUTES.iter().copied()).map(|near| format!("did you mean `{near}`?"))
        }
        _ => None,
    }
}

fn with_article(what: &str) -> String {
    let article = if what.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {what}")
}

/// Is the token inside `[...]` at the end, where attributes stand?
fn is_in_last_brackets(tokens: &[Token], at: usize) -> bool {
    tokens.last().is_some_and(|token| token.name.as_str() == "]")
        && tokens.iter().rposition(|token| token.name.as_str() == "[").is_some_and(|open| open < at)
}

/// Does the word look like a variable that was not declared?
pub(super) fn is_like_variable(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '\'' | '-'))
}
