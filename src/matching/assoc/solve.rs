//! All solutions: a place for each block, then the gaps divided among the variables.

use super::{AssocSub, LEFT, RIGHT};
use crate::matching::pattern::{Arg, Assoc, Node, TopVar};
use crate::matching::run::Run;
use crate::term::Term;

impl Run<'_, '_> {
    pub fn solve_assoc(&mut self, sub: &mut AssocSub, first: bool) -> bool {
        let pattern = self.pattern;
        let Node::Assoc(assoc) = &pattern.nodes[sub.node as usize] else {
            unreachable!("made by match_assoc")
        };
        let (blocks, levels) = (sub.places.len(), sub.places.len() + sub.partitions.len());
        let (mut level, mut fresh) = if first { (0, true) } else { (levels - 1, false) };
        if first {
            sub.mark = self.mark();
        }
        loop {
            let found = if level < blocks {
                self.choose_place(sub, level, fresh)
            } else {
                self.divide(assoc, sub, level - blocks, fresh)
            };
            if !found {
                if level == 0 {
                    self.undo(sub.mark);
                    return false;
                }
                (level, fresh) = (level - 1, false);
            } else if level + 1 < levels {
                (level, fresh) = (level + 1, true);
            } else if self.set_list_rest(assoc, sub) {
                return true;
            } else {
                fresh = false;
            }
        }
    }

    fn choose_place(&mut self, sub: &mut AssocSub, level: usize, first: bool) -> bool {
        let start = sub.gap_start(level);
        let group = &sub.layout.groups[level];
        let places = &mut sub.places[level];
        if first {
            places.mark = self.mark();
            places.current = 0;
        } else {
            let option = &mut places.options[places.current].1;
            if !option.subs.is_empty() && self.solve_all(&mut option.subs, false) {
                return true;
            }
            places.current += 1;
        }
        while let Some((at, option)) = places.options.get_mut(places.current) {
            self.undo(places.mark);
            if *at >= start + group.min {
                if *at > start.saturating_add(group.max) {
                    break;
                }
                if self.assert(&option.bindings) && self.solve_all(&mut option.subs, true) {
                    return true;
                }
            }
            places.current += 1;
        }
        self.undo(places.mark);
        false
    }

    /// Divides the gap of a group among its variables, in the first or the next way.
    fn divide(&mut self, assoc: &Assoc, sub: &mut AssocSub, number: usize, first: bool) -> bool {
        let start = sub.gap_start(number);
        let end = sub.gap_end(number);
        let parts = &sub.layout.groups[number].parts;
        let partition = &mut sub.partitions[number];
        let one_sided = assoc.left_id != assoc.right_id;
        // The part beside which a one-sided identity at the end of the pattern vanishes.
        let outer = match sub.extension && one_sided {
            true if assoc.left_id => parts.iter().position(|part| part.arg == RIGHT),
            true => parts.iter().position(|part| part.arg == LEFT),
            false => None,
        };
        let mut more = if first {
            partition.mark = self.mark();
            partition.first(parts, end - start)
        } else {
            partition.advance(parts)
        };
        while more {
            self.undo(partition.mark);
            let beside = outer.is_some_and(|side| partition.part(side).1 > 0);
            let vanishes = |arg: usize| beside || assoc.is_identity_possible(arg);
            if partition.variant == 0 {
                partition.variants = 1;
                if one_sided {
                    for (i, part) in parts.iter().enumerate() {
                        let (_, len) = partition.part(i);
                        let may_hide = part.arg < RIGHT && vanishes(part.arg);
                        if may_hide && len > 0 && len < part.max {
                            partition.variants = partition.variants.saturating_mul(2);
                        }
                    }
                }
            }
            // The bits of the variant, first variable first.
            let mut variants = partition.variants;
            let found = parts.iter().enumerate().filter(|(_, part)| part.arg < RIGHT).all(|(i, part)| {
                let (at, len) = partition.part(i);
                let mut hides = false;
                if partition.variants > 1 && vanishes(part.arg) && len > 0 && len < part.max {
                    variants /= 2;
                    hides = partition.variant / variants % 2 == 1;
                }
                if len == 0 && one_sided && !vanishes(part.arg) {
                    return false;
                }
                let var = match &assoc.args[part.arg] {
                    Arg::Var(var) => var,
                    Arg::Ground(fixed) => {
                        return len == 0 || self.is_fixed(*fixed, self.element(sub.subject, start + at));
                    }
                    Arg::Alien(_) => unreachable!("groups have no subpatterns"),
                };
                let value = self.slots[var.var.slot as usize];
                if !value.is_none() {
                    let range = self.value_range(assoc, part.arg, beside, value);
                    return !hides
                        && range.1 == len
                        && self.is_value_at(assoc, sub.subject, start + at, value, range);
                }
                let value = if hides {
                    self.part_with_identity(assoc, var, sub.subject, start + at, len)
                } else {
                    self.part(assoc, var, sub.subject, start + at, len)
                };
                match value {
                    Some(value) => {
                        self.bind(var.var.slot, value);
                        true
                    }
                    None => false,
                }
            });
            if found {
                if outer.is_some() {
                    let mut args = parts.iter().enumerate().filter(|(_, part)| part.arg < RIGHT);
                    let first = args.clone().next();
                    let last = if assoc.left_id { args.next_back() } else { first };
                    // Maude looks at the first variable here, also where the last one is meant.
                    sub.with_identity = beside
                        && first.zip(last).is_some_and(|((_, first), (last, _))| {
                            let taken = match &assoc.args[first.arg] {
                                Arg::Var(var) => {
                                    let value = self.slots[var.var.slot as usize];
                                    self.cx.heap.elements(self.cx.sy, assoc.sym, &value).len()
                                }
                                _ => 1,
                            };
                            taken > partition.part(last).1
                        });
                }
                return true;
            }
            more = partition.advance(parts);
        }
        self.undo(partition.mark);
        false
    }

    /// Part of the subject with an identity at the end where it vanishes: `a e` before
    /// something, if `e` is a left identity.
    fn part_with_identity(
        &mut self,
        assoc: &Assoc,
        var: &TopVar,
        subject: Term,
        at: usize,
        len: usize,
    ) -> Option<Term> {
        let value = self.cx.heap.slice(self.cx.sy, assoc.sym, subject, at, len)?;
        let identity = self.cx.heap.consts[assoc.identity?];
        let (a, b) = if assoc.left_id { (value, identity) } else { (identity, value) };
        let value = self.cx.heap.append(self.cx.sy, assoc.sym, a, b);
        self.fitting(var, value, assoc.resort)
    }

    /// Notes what the extension left; `false` if too little was matched.
    fn set_list_rest(&mut self, assoc: &Assoc, sub: &AssocSub) -> bool {
        if !sub.extension {
            return true;
        }
        let left = sub.partitions[0].part(0).1;
        let last = &sub.partitions[sub.partitions.len() - 1];
        let right = last.part(sub.layout.groups[sub.layout.groups.len() - 1].parts.len() - 1).1;
        let len = sub.layout.hi;
        if len - left - right + usize::from(sub.with_identity) < 2 {
            return false;
        }
        self.state.rest = self.list_rest(assoc, sub.subject, left, len - right, sub.with_identity);
        true
    }
}

impl AssocSub {
    fn gap_start(&self, group: usize) -> usize {
        match group.checked_sub(1) {
            None => self.layout.lo,
            Some(block) => {
                let places = &self.places[block];
                places.options[places.current].0 + self.layout.blocks[block].len
            }
        }
    }

    fn gap_end(&self, group: usize) -> usize {
        match self.places.get(group) {
            None => self.layout.hi,
            Some(places) => places.options[places.current].0,
        }
    }
}
