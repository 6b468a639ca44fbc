//! Binary operators without assoc: comm, idem, and identities.

use super::pattern::{Cui, NodeId};
use super::run::{Alternative, Portion, Run, Sub};
use crate::term::Term;

impl Run<'_, '_> {
    pub fn match_cui(&mut self, cui: &Cui, subject: Term, extension: bool, out: &mut Vec<Sub>) -> bool {
        let mut options: Vec<Alternative> = Vec::new();
        let heap = &*self.cx.heap;
        if subject.is_node() && heap.sym(self.cx.sy, subject) == cui.sym {
            let args = [heap.arg(subject, 0), heap.arg(subject, 1)];
            let pair = [args[cui.first], args[1 - cui.first]];
            let both = cui.comm && !heap.equal(self.cx.sy, args[0], args[1]);
            if !both && cui.collapses.is_empty() && cui.idem.is_none() {
                return self.match_node(cui.args[0], pair[0], false, out)
                    && self.match_node(cui.args[1], pair[1], false, out);
            }
            for reverse in 0..=usize::from(both) {
                if let Some(option) = self.try_pair(cui.args, [pair[reverse], pair[1 - reverse]], false) {
                    if cui.unique || cui.greedy && option.subs.is_empty() {
                        return self.choose(vec![option], out);
                    }
                    options.push(option);
                }
            }
        }
        if let Some(identity) = cui.identity {
            let identity = self.cx.heap.consts[identity];
            for &(gone, kept) in &cui.collapses {
                if let Some(option) = self.try_pair([gone, kept], [identity, subject], extension) {
                    if cui.greedy && option.subs.is_empty() {
                        return self.choose(vec![option], out);
                    }
                    options.push(option);
                }
            }
        }
        if let Some([one, other]) = cui.idem {
            let option = self.attempt(extension, |run, out| {
                if !run.match_node(one, subject, extension, out) {
                    return false;
                }
                if extension {
                    out.push(Sub::Portion(Box::new(Portion::new(other, subject))));
                    return true;
                }
                run.match_node(other, subject, false, out)
            });
            if cui.greedy && option.as_ref().is_some_and(|option| option.subs.is_empty()) {
                options.clear();
            }
            options.extend(option);
        }
        self.choose(options, out)
    }

    fn try_pair(&mut self, nodes: [NodeId; 2], subjects: [Term; 2], extension: bool) -> Option<Alternative> {
        self.attempt(extension, |run, out| {
            run.match_node(nodes[0], subjects[0], false, out)
                && run.match_node(nodes[1], subjects[1], extension, out)
        })
    }
}
