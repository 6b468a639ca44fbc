//! Saying why a bubble does not parse, or parses in two ways.

use super::build::Builder;
use super::chart::{Chart, NONE};
use super::grammar::{Cache, Extra, Grammar, Meaning, Nt, Symbol, Vars};
use super::hint::{is_like_variable, slip};
use super::leaf::Leaves;
use crate::base::{Diagnostic, Name, Span, nearest};
use crate::sorts::{KindId, OpId, Signature};
use crate::syntax::tree::Token;
use crate::term::{Symbols, sort_of_tree};

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
    if let Some((at, label)) = unbalanced(sig, tokens) {
        return Diagnostic::error("no-parse", format!("no parse for this {what}"), tokens[at].span)
            .label(label);
    }
    let leaves = Leaves::new(grammar, sig, vars, tokens);
    if let Some(unknown) = unknown_token(grammar, sig, &leaves, tokens) {
        return unknown_diagnostic(grammar, sig, vars, tokens, unknown, what);
    }
    if let Some(other) = other_kind(grammar, cache, sig, vars, tokens, goals) {
        return other;
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
    if let Some(note) = misplaced_note(&mut chart, at) {
        diagnostic = diagnostic.note(None, note);
    } else if (at as usize) < tokens.len()
        && let Some(note) = kinds_note(grammar, cache, sig, vars, tokens, at as usize, &here)
    {
        diagnostic = diagnostic.note(None, note);
    }
    if let Some(note) = arity_note(grammar, sig, tokens.get(at as usize), &here) {
        diagnostic = diagnostic.note(None, note);
    }
    if let Some(hint) = slip(what, tokens, at as usize) {
        diagnostic = diagnostic.hint(hint);
    }
    diagnostic
}

/// A parenthesis without its partner, unless parentheses are part of some operator.
fn unbalanced(sig: &Signature, tokens: &[Token]) -> Option<(usize, &'static str)> {
    if sig.ops().any(|(_, op)| op.name.as_str().contains(['(', ')'])) {
        return None;
    }
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.name.as_str() {
            "(" => open.push(at),
            ")" if open.pop().is_none() => return Some((at, "this `)` closes nothing")),
            _ => {}
        }
    }
    open.pop().map(|at| (at, "this `(` is never closed"))
}

/// If all is well but for the kind.
fn other_kind(
    grammar: &Grammar,
    cache: &mut Cache,
    sig: &Signature,
    vars: &Vars,
    tokens: &[Token],
    goals: &[Nt],
) -> Option<Diagnostic> {
    let &[wanted] = goals else { return None };
    if wanted >= grammar.kinds {
        return None;
    }
    let others: Vec<Nt> = (0..grammar.kinds).filter(|&kind| kind != wanted).collect();
    let mut chart = Chart::new(grammar, sig, Leaves::new(grammar, sig, vars, tokens), tokens);
    let root = chart.run(cache, &others)?;
    let tree = Builder::new(&mut chart, None).goal(root);
    let found = sig.sorts.name(sort_of_tree(sig, &Symbols::new(sig), &tree));
    let message = format!("a term of kind {} is needed here", sig.sorts.kind(KindId(wanted)).name);
    let span = tokens[0].span.to(tokens[tokens.len() - 1].span);
    Some(Diagnostic::error("wrong-kind", message, span).label(format!("this has sort {found}")))
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
    tokens: &[Token],
    at: usize,
    what: &str,
) -> Diagnostic {
    let token = tokens[at];
    let text = token.name.as_str();
    let mut diagnostic = Diagnostic::error("bad-token", format!("no parse for this {what}"), token.span)
        .label(format!("nothing is called `{text}` here"));
    let sorts = || sig.sorts.declared().map(|s| sig.sorts.name(s).as_str());
    if at > 0 && matches!(tokens[at - 1].name.as_str(), ":" | "::") {
        diagnostic.label = format!("there is no sort `{text}`");
        if let Some(near) = nearest(text, sorts()) {
            diagnostic = diagnostic.hint(format!("did you mean `{near}`?"));
        }
        return diagnostic;
    }
    if let Some((name, sort)) = text.rsplit_once(':')
        && !name.is_empty()
        && !sort.is_empty()
    {
        diagnostic.label = format!("there is no sort `{sort}` for the variable `{name}`");
        if let Some(near) = nearest(sort, sorts()) {
            diagnostic = diagnostic.hint(format!("did you mean `{name}:{near}`?"));
        }
        return diagnostic;
    }
    let mut known: Vec<&str> =
        grammar.tokens.keys().chain(vars.keys()).map(|n| n.as_str()).filter(|t| !t.contains('_')).collect();
    known.sort_unstable();
    if let Some(hint) = slip(what, tokens, at) {
        diagnostic.hint(hint)
    } else if text == "." && at + 1 == tokens.len() {
        diagnostic.hint("leave out the period")
    } else if text == "." {
        diagnostic.hint("a period ends a command only at the end of a line and outside parentheses")
    } else if let Some(near) = nearest(text, known) {
        diagnostic.hint(format!("did you mean `{near}`?"))
    } else if is_like_variable(text) {
        diagnostic.hint(format!("a variable is declared by `var {text} : Sort .`, or written `{text}:Sort`"))
    } else {
        diagnostic
    }
}

/// What could have come, most telling first: tokens, then kinds.
fn list_expected(
    grammar: &Grammar,
    sig: &Signature,
    here: &[(u32, Symbol)],
    at_start: bool,
    goals: &[Nt],
) -> String {
    const SHOWN_MAX: usize = 8;
    let names: rustc_hash::FxHashMap<u32, Name> =
        grammar.tokens.iter().map(|(&name, &number)| (number, name)).collect();
    let mut words: Vec<String> = Vec::new();
    let mut add = |word: String| {
        if !words.contains(&word) {
            words.push(word);
        }
    };
    // What ends a statement comes before what goes on with a term.
    let is_statement =
        |production: u32| grammar.productions.get(production as usize).is_some_and(|p| p.nt >= grammar.kinds);
    let (mut here, terms): (Vec<_>, Vec<_>) =
        here.iter().partition(|(production, _)| is_statement(*production));
    here.extend(terms);
    for (production, symbol) in &here {
        if let Symbol::Token(number) = symbol {
            match names.get(number) {
                Some(name) => add(format!("`{name}`")),
                None if *production == NONE => add("`)`".into()),
                None => {}
            }
        }
    }
    for (_, symbol) in &here {
        match *symbol {
            Symbol::Phrase { nt, .. } if nt < grammar.kinds => {
                add(format!("a term of kind {}", sig.sorts.kind(KindId(nt)).name))
            }
            // Its words are listed.
            Symbol::Phrase { nt, .. } if nt == grammar.extra(Extra::Arrow) => {}
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
        text.push_str(&format!(" or {more} other{}", if more == 1 { "" } else { "s" }));
    }
    text
}

/// If a term that ends here stands where only terms of other kinds were awaited.
fn misplaced_note(chart: &mut Chart, at: u32) -> Option<String> {
    let grammar = chart.grammar;
    let found = chart.ending_at(at as usize).find(|&p| {
        let phrase = &chart.phrases[p as usize];
        // Before the first token anything may stand that begins what is wanted.
        let waiters = if phrase.start == 0 { &[][..] } else { &chart.waiters[phrase.start as usize] };
        phrase.nt < grammar.kinds && !waiters.is_empty() && waiters.iter().all(|w| w.nt != phrase.nt)
    })?;
    let start = chart.phrases[found as usize].start;
    let waiter = chart.waiters[start as usize].iter().rev().find(|w| w.nt < grammar.kinds)?;
    let (production, wanted) = (chart.items[waiter.item as usize].production, waiter.nt);
    Some(kinds_text(chart, found, production, wanted))
}

/// If a term of another kind stands where one was awaited: which sort it has, and who wants what.
fn kinds_note(
    grammar: &Grammar,
    cache: &mut Cache,
    sig: &Signature,
    vars: &Vars,
    tokens: &[Token],
    at: usize,
    here: &[(u32, Symbol)],
) -> Option<String> {
    let (production, wanted, bound) = here.iter().find_map(|&(production, symbol)| match symbol {
        Symbol::Phrase { nt, bound } if nt < grammar.kinds => Some((production, nt, bound)),
        _ => None,
    })?;
    let rest = &tokens[at..];
    let leaves = Leaves::new(grammar, sig, vars, rest);
    let mut chart = Chart::new(grammar, sig, leaves, rest);
    let goals: Vec<Nt> = (0..grammar.kinds).collect();
    // So no phrase is jumped over.
    chart.expected = Some(Vec::new());
    chart.run(cache, &goals);
    let phrases = (0..).zip(&chart.phrases);
    let (longest, _) =
        phrases.filter(|(_, p)| p.start == 0 && p.nt < grammar.kinds).max_by_key(|(_, p)| p.end)?;
    let phrase = &chart.phrases[longest as usize];
    if phrase.nt == wanted && phrase.prec > bound {
        return Some(precedence_text(&chart, longest, production, bound));
    }
    Some(kinds_text(&mut chart, longest, production, wanted))
}

/// A term of the right kind that binds too weakly to stand here without parentheses.
fn precedence_text(chart: &Chart, found: u32, production: u32, bound: u8) -> String {
    let text = phrase_text(chart, found);
    let prec = chart.phrases[found as usize].prec;
    let taker = match chart.grammar.productions.get(production as usize).map(|p| p.meaning) {
        Some(Meaning::Op(op) | Meaning::Iter(op)) => declared(chart.sig, op),
        _ => "this place".into(),
    };
    format!("`{text}` has precedence {prec}, where {taker} takes at most {bound}: put it in parentheses")
}

/// The first tokens of a phrase.
fn phrase_text(chart: &Chart, phrase: u32) -> String {
    const SHOWN_MAX: usize = 12;
    let phrase = &chart.phrases[phrase as usize];
    let tokens = &chart.tokens[phrase.start as usize..phrase.end as usize];
    let text: Vec<&str> = tokens.iter().take(SHOWN_MAX).map(|t| t.name.as_str()).collect();
    let dots = if tokens.len() > SHOWN_MAX { " ..." } else { "" };
    format!("{}{dots}", text.join(" "))
}

fn kinds_text(chart: &mut Chart, found: u32, production: u32, wanted: Nt) -> String {
    let (grammar, sig) = (chart.grammar, chart.sig);
    let tree = Builder::new(chart, None).tree(found);
    let sort = sig.sorts.name(sort_of_tree(sig, &Symbols::new(sig), &tree));
    let mut note = format!("`{}` has sort {sort}", phrase_text(chart, found));
    let wanted = sig.sorts.kind(KindId(wanted)).name;
    match grammar.productions.get(production as usize).map(|p| p.meaning) {
        Some(Meaning::Op(op) | Meaning::Iter(op)) => {
            note.push_str(&format!(", where {} wants kind {wanted}", declared(sig, op)));
        }
        _ => note.push_str(&format!(", where kind {wanted} is wanted")),
    }
    note
}

/// If an operator is given too few arguments, or too many.
fn arity_note(
    grammar: &Grammar,
    sig: &Signature,
    found: Option<&Token>,
    here: &[(u32, Symbol)],
) -> Option<String> {
    let number = |word: &str| grammar.tokens.get(&Name::new(word)).copied();
    let wanted = match found?.name.as_str() {
        ")" => number(",")?,
        "," => number(")")?,
        _ => return None,
    };
    here.iter().find_map(|&(production, symbol)| {
        let Meaning::Op(op) = grammar.productions.get(production as usize)?.meaning else { return None };
        let is_prefix = !sig.op(op).name.as_str().contains('_');
        (symbol == Symbol::Token(wanted) && is_prefix).then(|| match sig.op(op).domain.len() {
            1 => format!("{} takes one argument", declared(sig, op)),
            count => format!("{} takes {count} arguments", declared(sig, op)),
        })
    })
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
