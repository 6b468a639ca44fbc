//! Errors of the pest grammar in the user's words.

use pest::error::{Error, ErrorVariant, InputLocation};

use super::lexer::is_special;
use super::skeleton::{Rule, Skeleton};
use super::tree::Token;
use crate::base::{Diagnostic, Span};

/// An error of the grammar in words.
pub(super) fn explain(error: &Error<Rule>, skeleton: &Skeleton) -> Diagnostic {
    let place = match error.location {
        InputLocation::Pos(place) | InputLocation::Span((place, _)) => place,
    };
    let tokens = skeleton.tokens();
    let at = skeleton.token_at(place);
    let mut expected: Vec<&str> = Vec::new();
    if let ErrorVariant::ParsingError { positives, .. } = &error.variant {
        for text in positives.iter().filter_map(|&rule| describe(rule)) {
            if !expected.contains(&text) {
                expected.push(text);
            }
        }
    }
    let wanted = match expected.as_slice() {
        [] => String::new(),
        [one] => format!("expected {one}"),
        [most @ .., last] => format!("expected {} or {last}", most.join(", ")),
    };
    let keyword = tokens.first().map_or("", |token| token.name.as_str());
    // A name takes all tokens up to a colon, so a missing colon shows only at the end.
    let arrow = tokens.iter().skip(1).find(|token| matches!(token.name.as_str(), "->" | "~>"));
    if let (true, true, Some(arrow)) = (expected.contains(&"`:`"), keyword.starts_with("op"), arrow)
        && at + 1 >= tokens.len()
    {
        return Diagnostic::error("missing-colon", format!("missing `:` in this `{keyword}`"), arrow.span)
            .label("expected `:` and the argument sorts before this")
            .hint("an operator is declared as `op name : Sort1 Sort2 -> Sort .`");
    }
    let (span, found) = match tokens.get(at) {
        Some(token) => (token.span, format!("unexpected `{}`", token.name)),
        None => {
            (tokens.last().map_or(Span::default(), |token| token.span.after()), "unexpected end".to_string())
        }
    };
    let mut diagnostic =
        Diagnostic::error("syntax-error", format!("{found} after `{keyword}`"), span).label(wanted.clone());
    if at > 1 {
        let owner = match keyword {
            "(" => "this input".to_string(),
            word => format!("this `{word}`"),
        };
        diagnostic.message = format!("{found} in {owner}");
    }
    if let Some(hint) = hint(keyword, &expected, tokens, at) {
        diagnostic = diagnostic.hint(hint);
    }
    diagnostic
}

/// What may help, for mistakes that people make often.
fn hint(keyword: &str, expected: &[&str], tokens: &[Token], at: usize) -> Option<String> {
    let found = tokens.get(at).map_or("", |token| token.name.as_str());
    let wants = |text: &str| expected.contains(&text);
    match keyword {
        "op" | "ops" | "msg" | "msgs" if wants("`->`") && found == ":" => Some(
            "if the colon belongs to the operator's name, put the name in parentheses: `op (_ : _) : ...`"
                .into(),
        ),
        "op" | "msg" if wants("`->`") => {
            Some("an operator is declared as `op name : Sort1 Sort2 -> Sort .`".into())
        }
        "ops" | "msgs" if found.len() == 1 && is_special(found.as_bytes()[0]) => {
            Some(format!("put a name that contains `{found}` in parentheses: `ops (f[_]) (g[_]) : ...`"))
        }
        "op" | "ops" | "msg" | "msgs" if wants("`:`") => {
            Some("between an operator's name and its sorts stands a `:` with blanks around it".into())
        }
        "var" | "vars" => Some("variables are declared as `vars X Y : Sort .`".into()),
        "subsort" | "subsorts" => Some("subsorts are declared as `subsorts A B < C .`".into()),
        "view" => Some("a view begins with `view NAME from THEORY to MODULE is`".into()),
        _ => None,
    }
}

/// A grammar rule in the user's words.
fn describe(rule: Rule) -> Option<&'static str> {
    Some(match rule {
        Rule::period => "`.`",
        Rule::colon => "`:`",
        Rule::double_colon => "`::`",
        Rule::arrow | Rule::op_types => "`->`",
        Rule::less => "`<`",
        Rule::to => "`to`",
        Rule::from => "`from`",
        Rule::is => "`is`",
        Rule::comma => "`,`",
        Rule::open_paren => "`(`",
        Rule::close_paren => "`)`",
        Rule::close_bracket => "`]`",
        Rule::close_brace => "`}`",
        Rule::sort | Rule::sort_name | Rule::r#type | Rule::types | Rule::sort_group => "a sort",
        Rule::kind => "a kind",
        Rule::own_name => "a name",
        Rule::module_expr | Rule::module_term | Rule::module_name => "a module",
        Rule::view_expr => "a view",
        Rule::param => "a parameter",
        Rule::renaming => "`* (renaming)`",
        Rule::rename_item | Rule::rename_sort | Rule::rename_op | Rule::rename_label => {
            "`sort`, `op` or `label`"
        }
        Rule::attrs => "`[attributes]`",
        Rule::attr | Rule::flag | Rule::unknown_attr | Rule::identity => "an attribute",
        Rule::identity_term | Rule::hook_term => "a term",
        Rule::natural | Rule::integer | Rule::number => "a number",
        Rule::string => "a string",
        Rule::hook | Rule::id_hook | Rule::op_hook | Rule::term_hook => "`id-hook`, `op-hook` or `term-hook`",
        Rule::word => "a name",
        Rule::var_name => "a variable",
        Rule::op_name | Rule::ops_name | Rule::from_name | Rule::to_name | Rule::rename_to => {
            "an operator name"
        }
        Rule::bubble | Rule::from_term => "a term",
        Rule::EOI => "nothing more",
        _ => return None,
    })
}
