//! Warnings about operators whose declarations give a term no least sort, or an associative one
//! sorts that depend on the grouping.

use std::sync::Arc;

use super::flatten::Flattening;
use super::unit::Unit;
use crate::base::Diagnostic;
use crate::sorts::{Disagreement, KindId, OpId, Operator, Signature};

impl Flattening<'_> {
    /// Warns of what is wrong in this module, and was not in one that it imports.
    pub(super) fn check_sorts(&mut self, donors: &[Arc<Unit>]) {
        let overloaded = |op: &Operator| op.poly.is_none() && (op.decls.len() > 1 || op.axioms.assoc);
        let ops: Vec<OpId> =
            self.signature.ops().filter(|(_, op)| overloaded(op)).map(|(id, _)| id).collect();
        for id in ops {
            if let Some(found) = self.signature.irregular(id)
                && !is_imported(&self.signature, donors, id, Signature::irregular)
            {
                self.diagnostics.push(irregular(&self.signature, id, &found));
            }
            if let Some(found) = self.signature.not_associative(id)
                && !is_imported(&self.signature, donors, id, Signature::not_associative)
            {
                self.diagnostics.push(not_associative(&self.signature, id, &found));
            }
        }
    }
}

/// Has an imported module this operator with the same fault?
fn is_imported(
    sig: &Signature,
    donors: &[Arc<Unit>],
    id: OpId,
    fault: impl Fn(&Signature, OpId) -> Option<Disagreement>,
) -> bool {
    let span = sig.op(id).decls[0].span;
    donors.iter().filter_map(|donor| donor.flat.get()).any(|flat| {
        let theirs = &flat.signature;
        let same = |&&other: &&OpId| theirs.op(other).decls.iter().any(|decl| decl.span == span);
        let other = theirs.named(sig.op(id).name).iter().find(same);
        other.is_some_and(|&other| fault(theirs, other).is_some())
    })
}

fn names(sig: &Signature, kinds: &[KindId], sorts: &[u32]) -> Vec<String> {
    kinds
        .iter()
        .zip(sorts)
        .map(|(&kind, &sort)| sig.sorts.name(sig.sorts.at(kind, sort)).to_string())
        .collect()
}

fn irregular(sig: &Signature, id: OpId, found: &Disagreement) -> Diagnostic {
    let op = sig.op(id);
    let arguments = names(sig, &op.domain, &found.first);
    let results = names(sig, &vec![op.range; found.results.len()], &found.results).join(" and ");
    let taken = sig.sorts.name(sig.sorts.at(op.range, sig.diagram(id).sort(found.first.iter().copied())));
    let span = op.decls[op.decls.len() - 1].span;
    let (message, label, hint) = match arguments.is_empty() {
        true => (
            format!("constant {} has no least sort", op.name),
            format!("{results} fit, and neither is below the other"),
            format!("declare it once, with a sort below {results}"),
        ),
        false => (
            format!(
                "operator {} has no least sort on {} of {} tuples of argument sorts",
                op.name, found.count, found.total
            ),
            format!("for ({}) {results} fit, and none is the least", arguments.join(", ")),
            format!("add a declaration for ({}) with a sort below {results}", arguments.join(", ")),
        ),
    };
    Diagnostic::warning("no-least-sort", message, span)
        .label(label)
        .note(None, format!("such terms get sort {taken}"))
        .hint(hint)
}

fn not_associative(sig: &Signature, id: OpId, found: &Disagreement) -> Diagnostic {
    let op = sig.op(id);
    let arguments = names(sig, &[op.range; 3], &found.first).join(", ");
    let results = names(sig, &[op.range; 2], &found.results);
    let message = format!(
        "sort declarations of associative operator {} depend on the grouping for {} of {} triples of sorts",
        op.name, found.count, found.total
    );
    Diagnostic::warning("sorts-not-associative", message, op.decls[op.decls.len() - 1].span)
        .label(format!(
            "({arguments}) has sort {} if grouped from the left, {} from the right",
            results[0], results[1]
        ))
        .hint("give it declarations whose arguments and result are of one sort each")
}
