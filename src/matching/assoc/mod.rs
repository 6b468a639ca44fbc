//! Associative operators without comm, with or without identities: lists.
//!
//! Without extension both ends are eaten first as long as what stands there takes a known
//! number of elements. What is left is split into *blocks*, which take a known number of
//! elements (subpatterns, variables of element sorts, bound variables), and *groups* of
//! variables between them. Every block has the places where it fits; for every choice of
//! places the gaps are divided among the variables of the groups. With extension the first
//! group begins with the left rest, and the last one ends with the right rest.

mod ends;
mod greedy;
mod layout;
mod partition;
mod solve;

use partition::Partition;

use super::Rest;
use super::pattern::{Arg, Assoc, Collapse, CollapseArg, NodeId, TopVar};
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
