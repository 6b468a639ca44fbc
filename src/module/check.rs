//! Checks on parsed statements: are variables bound before they are used?
//!
//! As in Maude, a statement that fails is kept but never executed.

use super::{Equation, Fragment, Membership, PrintItem, Rule, StatementAttrs};
use crate::base::{Diagnostic, Span};
use crate::sorts::{Tree, Var};

/// Reports unbound variables and makes the statement non-executable.
pub(super) fn equation(eq: &mut Equation, diagnostics: &mut Vec<Diagnostic>) {
    printed("equation", &eq.lhs, &eq.condition, &mut eq.attrs, diagnostics);
    if !eq.attrs.nonexec
        && !check("equation", &eq.lhs, &eq.condition, Some(&eq.rhs), eq.attrs.span, diagnostics)
    {
        (eq.attrs.nonexec, eq.attrs.unbound) = (true, true);
    }
}

/// Reports unbound variables and makes the statement non-executable.
pub(super) fn membership(mb: &mut Membership, diagnostics: &mut Vec<Diagnostic>) {
    printed("membership axiom", &mb.term, &mb.condition, &mut mb.attrs, diagnostics);
    if !mb.attrs.nonexec
        && !check("membership axiom", &mb.term, &mb.condition, None, mb.attrs.span, diagnostics)
    {
        (mb.attrs.nonexec, mb.attrs.unbound) = (true, true);
    }
}

/// Reports unbound variables and makes the statement non-executable.
pub(super) fn rule(rule: &mut Rule, diagnostics: &mut Vec<Diagnostic>) {
    let Rule { lhs, rhs, condition, attrs } = rule;
    printed("rule", lhs, condition, attrs, diagnostics);
    if std::mem::take(&mut attrs.owise) {
        let message = "rules cannot be owise: only equations can";
        diagnostics.push(
            Diagnostic::warning("bad-attribute", message, attrs.span)
                .note(None, "the attribute is ignored: the rule applies like any other"),
        );
    }
    if !attrs.nonexec && !check("rule", lhs, condition, Some(rhs), attrs.span, diagnostics) {
        // Unlike other statements such a rule is shown as [nonexec].
        attrs.nonexec = true;
    }
}

/// Reports variables of a command's condition that nothing has bound.
pub fn unbound_in_query(what: &str, pattern: &Tree, condition: &[Fragment], span: Span) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    check(what, pattern, condition, None, span, &mut diagnostics);
    for diagnostic in &mut diagnostics {
        diagnostic.severity = crate::base::Severity::Error;
        diagnostic.message = diagnostic.message.replace(&format!("in {what}"), "in the condition");
        diagnostic.label = "not bound by the pattern or an earlier condition".into();
        diagnostic.notes.clear();
        diagnostic.hint = Some("bind it by a := or => condition before".into());
    }
    diagnostics
}

/// Reports variables of a `print` attribute that have no value, and leaves them out.
fn printed(
    what: &str,
    lhs: &Tree,
    condition: &[Fragment],
    attrs: &mut StatementAttrs,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let Some(items) = &mut attrs.print else { return };
    let mut bound = lhs.vars();
    for fragment in condition {
        if let Fragment::Match(pattern, _) | Fragment::Rewrite(_, pattern) = fragment {
            bound.extend(pattern.vars());
        }
    }
    let span = attrs.span;
    items.retain(|item| match item {
        PrintItem::Var(var) if !bound.contains(var) => {
            let message = format!("variable {} of the attribute print is not bound in the {what}", var.name);
            diagnostics.push(
                Diagnostic::warning("unbound-variable", message, span)
                    .note(None, "it has no value to print, so it is left out"),
            );
            false
        }
        _ => true,
    });
}

fn check(
    what: &str,
    lhs: &Tree,
    condition: &[Fragment],
    rhs: Option<&Tree>,
    span: Span,
    diagnostics: &mut Vec<Diagnostic>,
) -> bool {
    let mut bound: Vec<Var> = lhs.vars();
    let mut unbound: Vec<(Var, Span)> = Vec::new();
    let mut need = |tree: &Tree, bound: &[Var]| {
        for at in 0..tree.len() {
            if let crate::sorts::Node::Var(var) = tree.node(at)
                && !bound.contains(var)
                && !unbound.iter().any(|(v, _)| v == var)
            {
                unbound.push((*var, tree.span(at)));
            }
        }
    };
    for fragment in condition {
        match fragment {
            Fragment::Equal(a, b) => {
                need(a, &bound);
                need(b, &bound);
            }
            Fragment::Sort(t, _) => need(t, &bound),
            Fragment::Match(pattern, t) | Fragment::Rewrite(t, pattern) => {
                need(t, &bound);
                bound.extend(pattern.vars());
            }
        }
    }
    if let Some(rhs) = rhs {
        need(rhs, &bound);
    }
    for (var, place) in &unbound {
        let message = format!("variable {} is used before it is bound in {what}", var.name);
        let place = if *place == Span::default() { span } else { *place };
        diagnostics.push(
            Diagnostic::warning("unbound-variable", message, place)
                .label("not bound by the left-hand side or an earlier condition")
                .note(None, format!("the {what} is never applied"))
                .hint("mark it [nonexec], or bind the variable by a := or => condition"),
        );
    }
    unbound.is_empty()
}
