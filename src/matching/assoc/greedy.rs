//! One solution without search, where that is enough.

use super::{Group, Layout, RIGHT};
use crate::matching::pattern::{Arg, Assoc, TopVar};
use crate::matching::run::Run;
use crate::term::Term;

impl Run<'_, '_> {
    /// One solution, if it can be found without search: each block takes its leftmost place,
    /// each variable one element, the last variable of a gap the spare ones.
    pub(super) fn greedy_assoc(
        &mut self,
        assoc: &Assoc,
        layout: &Layout,
        subject: Term,
        extension: bool,
    ) -> Option<bool> {
        let mark = self.mark();
        let mut gaps = Gaps { taken: Vec::new(), first: layout.lo, last: layout.hi };
        let found = self.greedy_blocks(assoc, layout, subject, extension, &mut gaps);
        if found != Some(true) {
            self.undo(mark);
            return found;
        }
        for (arg, at, len) in gaps.taken {
            let Arg::Var(var) = &assoc.args[arg] else { unreachable!("groups have variables") };
            let Some(value) = self.part(assoc, var, subject, at, len) else {
                self.undo(mark);
                return None;
            };
            self.bind(var.var.slot, value);
        }
        if extension {
            if gaps.last - gaps.first < 2 {
                self.undo(mark);
                return None;
            }
            self.state.rest = self.list_rest(assoc, subject, gaps.first, gaps.last, false);
        }
        Some(true)
    }

    fn greedy_blocks(
        &mut self,
        assoc: &Assoc,
        layout: &Layout,
        subject: Term,
        extension: bool,
        gaps: &mut Gaps,
    ) -> Option<bool> {
        let used: usize = layout.blocks.iter().map(|b| b.len).sum::<usize>()
            + layout.groups.iter().map(|g| g.min).sum::<usize>();
        let mut spare = layout.hi - layout.lo - used;
        let mut next = layout.lo;
        let mut subs = Vec::new();
        for (number, block) in layout.blocks.iter().enumerate() {
            let min = next + layout.groups[number].min;
            let found = (min..=min + spare).find(|&at| {
                let mark = self.mark();
                let found = self.match_block(assoc, block, subject, at, extension, &mut subs);
                if !found {
                    self.undo(mark);
                    subs.clear();
                }
                found
            });
            let Some(at) = found else { return Some(false) };
            if !subs.is_empty() {
                return None;
            }
            let surplus = at - min;
            let sides = (extension && number == 0, false);
            if !self.greedy_gap(assoc, &layout.groups[number], subject, (next, at), surplus, sides, gaps) {
                return None;
            }
            spare -= surplus;
            next = at + block.len;
        }
        let group = layout.groups.last().expect("at least one");
        let surplus = layout.hi - next - group.min;
        let sides = (extension && layout.blocks.is_empty(), extension);
        self.greedy_gap(assoc, group, subject, (next, layout.hi), surplus, sides, gaps).then_some(true)
    }

    #[allow(clippy::too_many_arguments)]
    fn greedy_gap(
        &mut self,
        assoc: &Assoc,
        group: &Group,
        subject: Term,
        (start, end): (usize, usize),
        mut spare: usize,
        (mut extends_left, extends_right): (bool, bool),
        gaps: &mut Gaps,
    ) -> bool {
        let vars: Vec<(usize, &TopVar)> = group
            .parts
            .iter()
            .filter(|part| part.arg < RIGHT)
            .map(|part| match &assoc.args[part.arg] {
                Arg::Var(var) => (part.arg, var),
                _ => unreachable!("groups have variables"),
            })
            .collect();
        if start == end {
            if vars.iter().any(|(_, var)| !var.take_identity) {
                return false;
            }
            gaps.taken.extend(vars.iter().map(|&(arg, _)| (arg, start, 0)));
            if extends_left {
                gaps.first = 0;
            } else if extends_right {
                gaps.last = self.cx.heap.args(subject).len();
            }
            return true;
        }
        let fits = |run: &Self, at: usize, var: &TopVar| {
            var.var.sorts.contains(run.cx.heap.sort(run.cx.sy, run.element(subject, at)))
        };
        let mut at = start;
        for (i, &(arg, var)) in vars.iter().enumerate() {
            if var.take_identity {
                if spare == 0 || !fits(self, at, var) {
                    gaps.taken.push((arg, at, 0));
                    continue;
                }
                spare -= 1;
            } else {
                while !fits(self, at, var) {
                    // Somebody else must take this element.
                    if spare == 0 {
                        return false;
                    }
                    if !extends_left {
                        if i == 0 || !fits(self, at, vars[i - 1].1) {
                            return false;
                        }
                        gaps.taken.last_mut().expect("has one before").2 += 1;
                    }
                    (at, spare) = (at + 1, spare - 1);
                }
            }
            if extends_left {
                gaps.first = at;
                extends_left = false;
            }
            gaps.taken.push((arg, at, 1));
            at += 1;
        }
        if extends_left {
            gaps.first = end;
            return true;
        }
        if let Some(&(_, last)) = vars.last() {
            while spare > 0 {
                if !fits(self, at, last) {
                    if extends_right {
                        break;
                    }
                    return false;
                }
                (at, spare) = (at + 1, spare - 1);
                gaps.taken.last_mut().expect("has one").2 += 1;
            }
        }
        if extends_right {
            gaps.last = at;
        }
        true
    }
}

/// What greedy matching gave to variables: (argument, start, length); and the matched part.
struct Gaps {
    taken: Vec<(usize, usize, usize)>,
    first: usize,
    last: usize,
}
