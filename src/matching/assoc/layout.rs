//! What is left between the ends: blocks of known length and groups of variables between them, and
//! the places where each block fits.

use super::{Block, Group, LEFT, Layout, Part, Places, RIGHT, UNBOUNDED};
use crate::matching::pattern::{Arg, Assoc};
use crate::matching::run::{Alternative, Run, Sub};
use crate::term::Term;

impl Run<'_, '_> {
    /// Splits arguments into blocks and groups. `None` if there are too few elements.
    pub(super) fn layout(
        &self,
        assoc: &Assoc,
        from: usize,
        to: usize,
        lo: usize,
        hi: usize,
        extension: bool,
    ) -> Option<Layout> {
        let mut layout = Layout { lo, hi, ..Layout::default() };
        let mut group = Group::default();
        let mut block: Option<Block> = None;
        if extension {
            group.parts.push(Part { arg: LEFT, min: 0, max: UNBOUNDED });
        }
        for place in from..to {
            let mut len = 1;
            let flexible = match &assoc.args[place] {
                Arg::Var(var) => {
                    let value = self.slots[var.var.slot as usize];
                    let awkward = extension && assoc.is_awkward(place, var);
                    if !value.is_none() {
                        (_, len) = self.value_range(assoc, place, extension, value);
                    }
                    let min = usize::from(!(var.take_identity || awkward));
                    let max = var.bound.map_or(UNBOUNDED, |b| b as usize);
                    (value.is_none() && (!var.is_unit() || awkward)).then_some((min, max))
                }
                // An identity that only what is beside the pattern makes disappear.
                Arg::Ground(fixed) => (extension
                    && assoc.left_id != assoc.right_id
                    && !assoc.is_identity_possible(place)
                    && self.is_identity(assoc, fixed.term(self.cx.heap)))
                .then_some((0, 1)),
                Arg::Alien(_) => None,
            };
            if let Some((min, max)) = flexible {
                if let Some(mut done) = block.take() {
                    done.to = place;
                    layout.blocks.push(done);
                    layout.groups.push(std::mem::take(&mut group));
                }
                group.parts.push(Part { arg: place, min, max });
                continue;
            }
            block.get_or_insert(Block { from: place, ..Block::default() }).len += len;
        }
        if let Some(mut done) = block {
            done.to = to;
            layout.blocks.push(done);
            layout.groups.push(std::mem::take(&mut group));
        }
        if extension {
            group.parts.push(Part { arg: RIGHT, min: 0, max: UNBOUNDED });
        }
        layout.groups.push(group);
        for group in &mut layout.groups {
            group.min = group.parts.iter().map(|p| p.min).sum();
            group.max = group.parts.iter().fold(0, |sum, p| UNBOUNDED.min(sum + p.max));
        }
        let used: usize = layout.blocks.iter().map(|b| b.len).sum::<usize>()
            + layout.groups.iter().map(|g| g.min).sum::<usize>();
        (used <= hi - lo).then_some(layout)
    }

    /// Matches a block at a place. Runs of single elements are tested from right to left.
    pub(super) fn match_block(
        &mut self,
        assoc: &Assoc,
        block: &Block,
        subject: Term,
        mut at: usize,
        extension: bool,
        out: &mut Vec<Sub>,
    ) -> bool {
        let is_single = |arg: &Arg| !matches!(arg, Arg::Var(var) if !var.is_unit());
        let mut place = block.from;
        while place < block.to {
            let run = assoc.args[place..block.to].iter().take_while(|arg| is_single(arg)).count();
            for i in (0..run).rev() {
                let element = self.element(subject, at + i);
                let found = match &assoc.args[place + i] {
                    Arg::Var(var) => self.match_var(&var.var, element),
                    Arg::Ground(fixed) => self.is_fixed(*fixed, element),
                    Arg::Alien(node) => self.match_node(*node, element, false, out),
                };
                if !found {
                    return false;
                }
            }
            (place, at) = (place + run, at + run);
            if run == 0 {
                let Arg::Var(var) = &assoc.args[place] else { unreachable!("not a single element") };
                let value = self.slots[var.var.slot as usize];
                let range = self.value_range(assoc, place, extension, value);
                if !self.is_value_at(assoc, subject, at, value, range) {
                    return false;
                }
                (place, at) = (place + 1, at + range.1);
            }
        }
        true
    }

    fn try_block(
        &mut self,
        assoc: &Assoc,
        layout: &Layout,
        number: usize,
        subject: Term,
        at: usize,
    ) -> Option<Alternative> {
        let extension = layout.is_extended();
        self.attempt(false, |run, out| {
            run.match_block(assoc, &layout.blocks[number], subject, at, extension, out)
        })
    }

    /// All places where each block fits; `None` if some block has none.
    pub(super) fn find_places(
        &mut self,
        assoc: &Assoc,
        layout: &Layout,
        subject: Term,
    ) -> Option<Vec<Places>> {
        let mut all: Vec<Places> = Vec::with_capacity(layout.blocks.len());
        let mut after: usize = layout.blocks.iter().map(|b| b.len).sum::<usize>()
            + layout.groups[1..].iter().map(|g| g.min).sum::<usize>();
        let mut next = layout.lo;
        for number in 0..layout.blocks.len() {
            let min = next + layout.groups[number].min;
            let max = layout.hi - after;
            let first =
                (min..=max).find_map(|at| Some((at, self.try_block(assoc, layout, number, subject, at)?)))?;
            next = first.0 + layout.blocks[number].len;
            all.push(Places { options: vec![first], ..Places::default() });
            after -= layout.blocks[number].len + layout.groups[number + 1].min;
        }
        let mut end = layout.hi;
        for number in (0..layout.blocks.len()).rev() {
            let max = end - layout.groups[number + 1].min - layout.blocks[number].len;
            for at in all[number].options[0].0 + 1..=max {
                if let Some(option) = self.try_block(assoc, layout, number, subject, at) {
                    all[number].options.push((at, option));
                }
            }
            end = all[number].options.last().expect("has a first").0;
        }
        Some(all)
    }
}

impl Layout {
    fn is_extended(&self) -> bool {
        self.groups[0].parts.first().is_some_and(|part| part.arg == LEFT)
    }
}
