//! Saying why a bubble does not parse, or parses in two ways.

use super::chart::{Chart, NONE};
use super::grammar::{Cache, Grammar, Meaning, Nt, Symbol, Vars};
use super::leaf::Leaves;
use crate::base::{Diagnostic, Name, Span, nearest};
use crate::sorts::{KindId, OpId, Signature};
use crate::syntax::tree::Token;

/// Two readings of one text.
pub(super) fn ambiguity(what: &str, span: Span, chosen: &str, other: &str) -> Diagnostic {
    Diagnostic::warning("ambiguous", format!("this {what} can be read in two ways"), span)
        .note(None, format!("taken as: {chosen}"))
        .note(None, format!("but also: {other}"))
        .hint("parentheses, or a sort as in `(t).Sort`, say which one is meant")
}

/// Why there is no parse: an unknown token, or the first place where nothing fits.
pub(super) fn failure(
    grammar: &Grammar,
    cache: &mut Cache,
    sig: &Signature,
    vars: &Vars,
    tokens: &[Token],
    goals: &[Nt],
    what: &str,
) -> Diagnostic {
    let Some(last) = tokens.last() else {
        return Diagnostic::new(crate::base::Severity::Error, "no-parse", format!("empty {what}"), None);
    };
    let leaves = Leaves::new(grammar, sig, vars, tokens);
    if let Some(unknown) = unknown_token(grammar, sig, &leaves, tokens) {
        return unknown_diagnostic(grammar, sig, vars, tokens[unknown], what);
    }
    let mut chart = Chart::new(grammar, sig, leaves, tokens);
    chart.expected = Some(Vec::new());
    chart.run(cache, goals);
    let at = chart.reached;
    let expected = chart.expected.take().unwrap_or_default();
    let here: Vec<(u32, Symbol)> = expected
        .into_iter()
        .filter(|e| e.0 == at)
        .map(|(_, production, symbol)| (production, symbol))
        .collect();
    let message = format!("no parse for this {what}");
    let listing = list_expected(grammar, sig, &here, at == 0, goals);
    let mut diagnostic = if at as usize == tokens.len() {
        let mut d = Diagnostic::error("no-parse", message, last.span.after());
        d.label = "something is missing here".into();
        d
    } else {
        let token = tokens[at as usize];
        Diagnostic::error("no-parse", message, token.span)
            .label(format!("`{}` does not fit here", token.name))
    };
    if !listing.is_empty() {
        diagnostic = diagnostic.note(None, format!("expected {listing}"));
    }
    if let Some(note) = misplaced_note(&chart, at) {
        diagnostic = diagnostic.note(None, note);
    } else if (at as usize) < tokens.len()
        && let Some(note) = kinds_note(grammar, cache, sig, vars, tokens, at as usize, &here)
    {
        diagnostic = diagnostic.note(None, note);
    }
    if let Some(hint) = keyword_hint(what, tokens, at as usize) {
        diagnostic = diagnostic.hint(hint);
    }
    diagnostic
}

/// The first token that is in no operator's syntax and is no variable, literal or sort.
fn unknown_token(grammar: &Grammar, sig: &Signature, leaves: &Leaves, tokens: &[Token]) -> Option<usize> {
    let mut covered = 0;
    for (i, token) in tokens.iter().enumerate() {
        if let Some(len) = leaves.at(i).iter().map(|l| l.2).max() {
            covered = covered.max(i + len as usize);
        }
        let text = token.name.as_str();
        let special = text.len() == 1 && text.starts_with(super::form::is_special);
        let qualifier = text.starts_with('.') && i > 0 && leaves.qualifier(sig, tokens, i).is_some();
        let known = i < covered
            || special
            || qualifier
            || grammar.tokens.contains_key(&token.name)
            || sig.sorts.find(token.name).is_some()
            || super::leaf::sort_at(sig, tokens, i).is_some();
        if !known {
            return Some(i);
        }
    }
    None
}

fn unknown_diagnostic(
    grammar: &Grammar,
    sig: &Signature,
    vars: &Vars,
    token: Token,
    what: &str,
) -> Diagnostic {
    let text = token.name.as_str();
    let mut diagnostic = Diagnostic::error("bad-token", format!("no parse for this {what}"), token.span)
        .label(format!("nothing is called `{text}` here"));
    if let Some((name, sort)) = text.rsplit_once(':')
        && !name.is_empty()
        && !sort.is_empty()
    {
        let sorts: Vec<&str> = sig.sorts.declared().map(|s| sig.sorts.name(s).as_str()).collect();
        diagnostic.label = format!("there is no sort `{sort}` for the variable `{name}`");
        if let Some(near) = nearest(sort, sorts) {
            diagnostic = diagnostic.hint(format!("did you mean `{name}:{near}`?"));
        }
        return diagnostic;
    }
    let mut known: Vec<&str> =
        grammar.tokens.keys().chain(vars.keys()).map(|n| n.as_str()).filter(|t| !t.contains('_')).collect();
    known.sort_unstable();
    if let Some(near) = nearest(text, known) {
        diagnostic = diagnostic.hint(format!("did you mean `{near}`?"));
    }
    diagnostic
}

/// What could have come, most telling first: tokens, then kinds.
fn list_expected(
    grammar: &Grammar,
    sig: &Signature,
    here: &[(u32, Symbol)],
    at_start: bool,
    goals: &[Nt],
) -> String {
    const SHOWN_MAX: usize = 6;
    let names: rustc_hash::FxHashMap<u32, Name> =
        grammar.tokens.iter().map(|(&name, &number)| (number, name)).collect();
    let mut words: Vec<String> = Vec::new();
    let mut add = |word: String| {
        if !words.contains(&word) {
            words.push(word);
        }
    };
    for (production, symbol) in here {
        if let Symbol::Token(number) = symbol {
            match names.get(number) {
                Some(name) => add(format!("`{name}`")),
                None if *production == NONE => add("`)`".into()),
                None => {}
            }
        }
    }
    for (_, symbol) in here {
        match *symbol {
            Symbol::Phrase { nt, .. } if nt < grammar.kinds => {
                add(format!("a term of kind {}", sig.sorts.kind(KindId(nt)).name))
            }
            Symbol::Phrase { .. } => add("a condition".into()),
            Symbol::Sort(kind) => add(format!("a sort of kind {}", sig.sorts.kind(kind).name)),
            Symbol::Token(_) => {}
        }
    }
    if at_start {
        match goals {
            [kind] if *kind < grammar.kinds => {
                add(format!("a term of kind {}", sig.sorts.kind(KindId(*kind)).name))
            }
            _ => add("a term".into()),
        }
    }
    let more = words.len().saturating_sub(SHOWN_MAX);
    words.truncate(SHOWN_MAX);
    let mut text = words.join(" or ");
    if more > 0 {
        text.push_str(&format!(" or {more} others"));
    }
    text
}

/// If a term that ends here stands where only terms of other kinds were awaited.
fn misplaced_note(chart: &Chart, at: u32) -> Option<String> {
    let grammar = chart.grammar;
    let misplaced = chart.ending_at(at as usize).map(|p| &chart.phrases[p as usize]).find(|phrase| {
        let waiters = &chart.waiters[phrase.start as usize];
        phrase.nt < grammar.kinds && !waiters.is_empty() && waiters.iter().all(|w| w.nt != phrase.nt)
    })?;
    let waiter = chart.waiters[misplaced.start as usize].iter().find(|w| w.nt < grammar.kinds)?;
    let production = chart.items[waiter.item as usize].production;
    let text = &chart.tokens[misplaced.start as usize..misplaced.end as usize];
    Some(kinds_text(grammar, chart.sig, text, misplaced.nt, production, waiter.nt))
}

/// If a term of another kind stands where one was awaited: which kind it has, and who wants what.
fn kinds_note(
    grammar: &Grammar,
    cache: &mut Cache,
    sig: &Signature,
    vars: &Vars,
    tokens: &[Token],
    at: usize,
    here: &[(u32, Symbol)],
) -> Option<String> {
    let (production, wanted) = here.iter().find_map(|&(production, symbol)| match symbol {
        Symbol::Phrase { nt, .. } if nt < grammar.kinds => Some((production, nt)),
        _ => None,
    })?;
    let rest = &tokens[at..];
    let leaves = Leaves::new(grammar, sig, vars, rest);
    let mut chart = Chart::new(grammar, sig, leaves, rest);
    let goals: Vec<Nt> = (0..grammar.kinds).collect();
    chart.run(cache, &goals);
    let longest =
        chart.phrases.iter().filter(|p| p.start == 0 && p.nt < grammar.kinds).max_by_key(|p| p.end)?;
    let text = &rest[..longest.end as usize];
    Some(kinds_text(grammar, sig, text, longest.nt, production, wanted))
}

fn kinds_text(
    grammar: &Grammar,
    sig: &Signature,
    tokens: &[Token],
    found: Nt,
    production: u32,
    wanted: Nt,
) -> String {
    const SHOWN_MAX: usize = 12;
    let kind_name = |nt: Nt| sig.sorts.kind(KindId(nt)).name;
    let text: Vec<&str> = tokens.iter().take(SHOWN_MAX).map(|t| t.name.as_str()).collect();
    let dots = if tokens.len() > SHOWN_MAX { " ..." } else { "" };
    let mut note = format!("`{}{dots}` has kind {}", text.join(" "), kind_name(found));
    match grammar.productions.get(production as usize).map(|p| p.meaning) {
        Some(Meaning::Op(op) | Meaning::Iter(op)) => {
            note.push_str(&format!(", where {} wants kind {}", declared(sig, op), kind_name(wanted)));
        }
        _ => note.push_str(&format!(", where kind {} is wanted", kind_name(wanted))),
    }
    note
}

/// `f : A B -> C`, the operator's first declaration.
fn declared(sig: &Signature, op: OpId) -> String {
    let op = sig.op(op);
    let Some(decl) = op.decls.first() else { return format!("`{}`", op.name) };
    let mut domain: String = decl.domain.iter().map(|&s| format!("{} ", sig.sorts.name(s))).collect();
    if domain.is_empty() {
        domain.push(' ');
    }
    format!("`{} : {}-> {}`", op.name, domain, sig.sorts.name(decl.range))
}

/// Slips with the statement keywords.
fn keyword_hint(what: &str, tokens: &[Token], at: usize) -> Option<String> {
    let here = tokens.get(at).map(|t| t.name.as_str());
    let keyword = match what {
        "equation" => "ceq",
        "membership" => "cmb",
        "rule" => "crl",
        _ => "",
    };
    match here {
        Some("if") if !keyword.is_empty() => {
            Some(format!("a {what} with a condition begins with `{keyword}`"))
        }
        None if what.starts_with("conditional") && !tokens.iter().any(|t| t.name.as_str() == "if") => {
            Some(format!("a {what} needs `if` and a condition"))
        }
        _ => None,
    }
}
