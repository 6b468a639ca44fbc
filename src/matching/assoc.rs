//! Associative operators without comm, with or without identities: lists.
//!
//! Without extension both ends are eaten first as long as what stands there takes a known
//! number of elements. What is left is split into *blocks*, which take a known number of
//! elements (subpatterns, variables of element sorts, bound variables), and *groups* of
//! variables between them. Every block has the places where it fits; for every choice of
//! places the gaps are divided among the variables of the groups. With extension the first
//! group begins with the left rest, and the last one ends with the right rest.

use super::Rest;
use super::pattern::{Arg, Assoc, Collapse, CollapseArg, Node, NodeId, TopVar};
use super::run::{Alternative, Later, Run, Sub};
use crate::term::Term;

/// What the match phase of a list left to solve.
#[derive(Debug)]
pub(super) struct AssocSub {
    node: NodeId,
    extension: bool,
    subject: Term,
    layout: Layout,
    /// Where each block fits.
    places: Vec<Places>,
    /// How each gap is divided.
    partitions: Vec<Partition>,
    /// Does the matched part also have a one-sided identity that vanishes beside the rest?
    with_identity: bool,
    mark: usize,
}

#[derive(Debug, Default)]
struct Places {
    options: Vec<(usize, Alternative)>,
    current: usize,
    mark: usize,
}

/// Blocks and groups of a part of a pattern, for one set of bound variables.
#[derive(Debug, Default)]
struct Layout {
    /// The elements of the subject that this part gets.
    lo: usize,
    hi: usize,
    blocks: Vec<Block>,
    /// One more than blocks.
    groups: Vec<Group>,
}

#[derive(Debug, Default)]
struct Block {
    /// Arguments of the pattern, from and to.
    from: usize,
    to: usize,
    len: usize,
}

#[derive(Debug, Default)]
struct Group {
    parts: Vec<Part>,
    min: usize,
    max: usize,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    /// An argument of the pattern, or a side of the extension.
    arg: usize,
    min: usize,
    max: usize,
}

const LEFT: usize = usize::MAX;
const RIGHT: usize = usize::MAX - 1;
const UNBOUNDED: usize = usize::MAX / 4;

impl AssocSub {
    pub fn roots(&mut self, f: &mut dyn FnMut(&mut Term)) {
        f(&mut self.subject);
        for places in &mut self.places {
            places.options.iter_mut().for_each(|(_, option)| option.roots(f));
        }
    }
}

/// What happened at one end of a list.
enum End {
    Fail,
    Ate { alien: bool },
    Stalled,
}

impl Run<'_, '_> {
    pub fn match_assoc(
        &mut self,
        id: NodeId,
        assoc: &Assoc,
        subject: Term,
        extension: bool,
        out: &mut Vec<Sub>,
    ) -> bool {
        let heap = &*self.cx.heap;
        if !(subject.is_node() && heap.sym(self.cx.sy, subject) == assoc.sym) {
            return match &assoc.collapse {
                Some(collapse) => self.collapse_assoc(assoc, collapse, subject, extension, out),
                None => false,
            };
        }
        let len = heap.args(subject).len();
        if len < assoc.total_min || !extension && assoc.total_max.is_some_and(|max| len > max) {
            return false;
        }
        let (mut lo, mut hi) = (0, len);
        let (mut from, mut to) = (0, assoc.args.len());
        if !extension {
            for &left in &assoc.rigid {
                let place = if left { from } else { to - 1 };
                if !matches!(self.eat(assoc, place, subject, left, (&mut lo, &mut hi), out), End::Ate { .. })
                {
                    return false;
                }
                if left {
                    from += 1;
                } else {
                    to -= 1;
                }
            }
            if !self.eat_ends(assoc, subject, (&mut lo, &mut hi), (&mut from, &mut to), out) {
                return false;
            }
            if from == to {
                return lo == hi;
            }
            if from + 1 == to && assoc.left_id == assoc.right_id {
                let Arg::Var(var) = &assoc.args[from] else { unreachable!("only variables stall") };
                return self.lone_in_list(assoc, var, subject, lo, hi, out);
            }
        }
        let Some(layout) = self.layout(assoc, from, to, lo, hi, extension) else { return false };
        if assoc.greedy {
            match self.greedy_assoc(assoc, &layout, subject, extension) {
                Some(found) => return found,
                None => self.state.rest = Rest::Whole,
            }
        }
        let Some(places) = self.find_places(assoc, &layout, subject) else { return false };
        let partitions = layout.groups.iter().map(|_| Partition::default()).collect();
        let vars: Vec<usize> =
            layout.groups.iter().flat_map(|g| &g.parts).map(|p| p.arg).filter(|&a| a < RIGHT).collect();
        let with_identity = false;
        let sub =
            AssocSub { node: id, extension, subject, layout, places, partitions, with_identity, mark: 0 };
        out.push(Sub::Assoc(Box::new(sub)));
        for arg in vars {
            if let Arg::Var(TopVar { var, stands_for: Some(node), .. }) = &assoc.args[arg] {
                out.push(Sub::Later(Box::new(Later::new(*node, var.slot))));
            }
        }
        true
    }

    #[inline]
    fn element(&self, subject: Term, i: usize) -> Term {
        self.cx.heap.args(subject)[i]
    }

    /// The elements of a bound variable's value that do not vanish at a place: how many to
    /// skip, and how many there are. `beside`: is there something beside the pattern?
    fn value_range(&self, assoc: &Assoc, place: usize, beside: bool, value: Term) -> (usize, usize) {
        let heap = &*self.cx.heap;
        let vanishes = beside || assoc.is_identity_possible(place);
        if self.is_identity(assoc, value) {
            return (0, usize::from(!vanishes));
        }
        let elements = heap.elements(self.cx.sy, assoc.sym, &value);
        if assoc.left_id != assoc.right_id && vanishes {
            // `a e` before something is `a`, if `e` is a left identity.
            if assoc.left_id && self.is_identity(assoc, elements[elements.len() - 1]) {
                return (0, elements.len() - 1);
            }
            if assoc.right_id && self.is_identity(assoc, elements[0]) {
                return (1, elements.len() - 1);
            }
        }
        (0, elements.len())
    }

    /// Are the elements from `at` on those of a value?
    fn is_value_at(
        &self,
        assoc: &Assoc,
        subject: Term,
        at: usize,
        value: Term,
        (skip, len): (usize, usize),
    ) -> bool {
        let (heap, sy) = (&*self.cx.heap, self.cx.sy);
        let elements = heap.args(subject);
        if len == 0 {
            return true;
        }
        if at + len > elements.len() {
            return false;
        }
        let values = heap.elements(sy, assoc.sym, &value);
        values[skip..].iter().zip(&elements[at..at + len]).all(|(&a, &b)| heap.equal(sy, a, b))
    }

    /// Matches the argument at an end of the pattern with the same end of the list.
    fn eat(
        &mut self,
        assoc: &Assoc,
        place: usize,
        subject: Term,
        left: bool,
        (lo, hi): (&mut usize, &mut usize),
        out: &mut Vec<Sub>,
    ) -> End {
        let (mut skip, mut len) = (0, 1);
        let mut value = Term::NONE;
        if let Arg::Var(var) = &assoc.args[place] {
            value = self.slots[var.var.slot as usize];
            if !value.is_none() {
                (skip, len) = self.value_range(assoc, place, false, value);
            } else if !var.is_unit() {
                return End::Stalled;
            }
        }
        if *hi - *lo < len {
            return End::Fail;
        }
        let at = if left { *lo } else { *hi - len };
        let (found, alien) = match &assoc.args[place] {
            Arg::Var(_) if !value.is_none() => {
                (self.is_value_at(assoc, subject, at, value, (skip, len)), false)
            }
            Arg::Var(var) => (self.match_var(&var.var, self.element(subject, at)), false),
            Arg::Ground(fixed) => (self.is_fixed(*fixed, self.element(subject, at)), false),
            Arg::Alien(node) => (self.match_node(*node, self.element(subject, at), false, out), true),
        };
        if !found {
            return End::Fail;
        }
        if left {
            *lo += len;
        } else {
            *hi -= len;
        }
        End::Ate { alien }
    }

    /// Eats from both ends by turns until both are stalled.
    fn eat_ends(
        &mut self,
        assoc: &Assoc,
        subject: Term,
        (lo, hi): (&mut usize, &mut usize),
        (from, to): (&mut usize, &mut usize),
        out: &mut Vec<Sub>,
    ) -> bool {
        let mut stalled = [false; 2];
        let mut left = true;
        while from != to {
            let place = if left { *from } else { *to - 1 };
            match self.eat(assoc, place, subject, left, (lo, hi), out) {
                End::Fail => return false,
                End::Ate { alien } => {
                    if left {
                        *from += 1;
                    } else {
                        *to -= 1;
                    }
                    if alien {
                        // It may have bound the variable at the other end.
                        stalled[usize::from(left)] = false;
                    }
                }
                End::Stalled if stalled[usize::from(left)] => return true,
                End::Stalled => stalled[usize::from(!left)] = true,
            }
            left = !left;
        }
        true
    }

    /// Part of the subject as the value of a variable, if its sort fits.
    fn part(&mut self, assoc: &Assoc, var: &TopVar, subject: Term, at: usize, len: usize) -> Option<Term> {
        if len == 0 {
            return assoc.identity.map(|identity| self.cx.heap.consts[identity]);
        }
        let value = self.cx.heap.slice(self.cx.sy, assoc.sym, subject, at, len)?;
        if assoc.resort && len > 1 {
            (self.cx.resort)(self.cx.heap, value);
        }
        let sort = self.cx.heap.sort(self.cx.sy, value);
        (var.stands_for.is_some() || var.var.sorts.contains(sort)).then_some(value)
    }

    fn lone_in_list(
        &mut self,
        assoc: &Assoc,
        var: &TopVar,
        subject: Term,
        lo: usize,
        hi: usize,
        out: &mut Vec<Sub>,
    ) -> bool {
        if lo == hi && !var.take_identity {
            return false;
        }
        let Some(value) = self.part(assoc, var, subject, lo, hi - lo) else { return false };
        self.bind(var.var.slot, value);
        var.stands_for.is_none_or(|node| self.match_node(node, value, false, out))
    }

    /// Splits arguments into blocks and groups. `None` if there are too few elements.
    fn layout(
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
    fn match_block(
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
    fn find_places(&mut self, assoc: &Assoc, layout: &Layout, subject: Term) -> Option<Vec<Places>> {
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
        if assoc.resort {
            (self.cx.resort)(self.cx.heap, value);
        }
        let sort = self.cx.heap.sort(self.cx.sy, value);
        (var.stands_for.is_some() || var.var.sorts.contains(sort)).then_some(value)
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

    fn is_identity(&self, assoc: &Assoc, t: Term) -> bool {
        let heap = &*self.cx.heap;
        assoc.identity.is_some_and(|identity| heap.equal(self.cx.sy, heap.consts[identity], t))
    }

    fn list_rest(&mut self, assoc: &Assoc, subject: Term, from: usize, to: usize, identity: bool) -> Rest {
        let len = self.cx.heap.args(subject).len();
        if from == 0 && to == len {
            return Rest::Whole;
        }
        let mut side = |at: usize, len: usize| {
            if len == 0 {
                return None;
            }
            let side = self.cx.heap.slice(self.cx.sy, assoc.sym, subject, at, len);
            if assoc.resort && len > 1 {
                side.into_iter().for_each(|side| (self.cx.resort)(self.cx.heap, side));
            }
            side
        };
        Rest::List { left: side(0, from), right: side(to, len - to), identity }
    }

    /// The subject has another operator on top: all arguments but one take the identity.
    fn collapse_assoc(
        &mut self,
        assoc: &Assoc,
        collapse: &Collapse,
        subject: Term,
        extension: bool,
        out: &mut Vec<Sub>,
    ) -> bool {
        let identity = self.cx.heap.consts[assoc.identity.expect("collapses need an identity")];
        let vars = || {
            assoc.args.iter().enumerate().filter_map(|(i, arg)| match arg {
                Arg::Var(var) => Some((i, var)),
                _ => None,
            })
        };
        if let Collapse::Unique { node, arg } = collapse {
            return vars()
                .all(|(i, var)| *arg == CollapseArg::Var(i) || self.take_identity(var, identity, out))
                && self.match_node(*node, subject, extension, out);
        }
        if assoc.left_id && assoc.right_id && self.cx.heap.equal(self.cx.sy, subject, identity) {
            return vars().all(|(_, var)| self.take_identity(var, identity, out));
        }
        let mut options = Vec::new();
        for (i, var) in vars() {
            let others = vars().filter(|&(j, _)| j != i).map(|(_, other)| other);
            options.extend(self.try_whole(var, others, subject, identity, extension));
        }
        self.choose(options, out)
    }

    /// One solution, if it can be found without search: each block takes its leftmost place,
    /// each variable one element, the last variable of a gap the spare ones.
    fn greedy_assoc(
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

impl Assoc {
    /// Does the identity disappear at this place of the pattern?
    pub fn is_identity_possible(&self, place: usize) -> bool {
        self.left_id && (self.right_id || place + 1 < self.args.len()) || self.right_id && place > 0
    }

    /// Could this variable take the identity if there is an extension beside it?
    fn is_awkward(&self, place: usize, var: &TopVar) -> bool {
        var.awkward && !self.is_identity_possible(place)
    }
}

impl Layout {
    fn is_extended(&self) -> bool {
        self.groups[0].parts.first().is_some_and(|part| part.arg == LEFT)
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

/// Ways to cut a gap into parts: the last part is longest first, the first cut moves fastest.
#[derive(Debug, Default)]
struct Partition {
    /// The start of each part, and the end.
    starts: Vec<usize>,
    /// For one-sided identities: which variables also take one that vanishes.
    variant: u64,
    variants: u64,
    mark: usize,
}

impl Partition {
    /// Start (relative to the gap) and length of a part.
    fn part(&self, i: usize) -> (usize, usize) {
        (self.starts[i], self.starts[i + 1] - self.starts[i])
    }

    /// The next variant, or the next way.
    fn advance(&mut self, parts: &[Part]) -> bool {
        self.variant += 1;
        if self.variant < self.variants {
            return true;
        }
        self.variant = 0;
        self.next(parts)
    }

    fn first(&mut self, parts: &[Part], len: usize) -> bool {
        self.variant = 0;
        self.starts.clear();
        self.starts.resize(parts.len() + 1, 0);
        self.starts[parts.len()] = len;
        if parts.is_empty() {
            return len == 0;
        }
        self.reset(parts, parts.len())
    }

    /// Moves the starts before part `end` as far left as the start of that part allows.
    fn reset(&mut self, parts: &[Part], end: usize) -> bool {
        for i in (0..end).rev() {
            let (low, high) = self.range(parts, i);
            if low > high {
                return false;
            }
            self.starts[i] = low;
        }
        true
    }

    /// Where part `i` may start, given where the next one starts.
    fn range(&self, parts: &[Part], i: usize) -> (usize, usize) {
        let min: usize = parts[..i].iter().map(|p| p.min).sum();
        let max = parts[..i].iter().fold(0, |sum, p| UNBOUNDED.min(sum + p.max));
        let next = self.starts[i + 1];
        let low = min.max(next.saturating_sub(parts[i].max));
        if next < parts[i].min {
            return (1, 0);
        }
        (low, max.min(next - parts[i].min))
    }

    fn next(&mut self, parts: &[Part]) -> bool {
        for i in 1..parts.len() {
            let (_, high) = self.range(parts, i);
            if self.starts[i] < high {
                self.starts[i] += 1;
                return self.reset(parts, i);
            }
        }
        false
    }
}
