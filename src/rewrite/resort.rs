//! Memberships on demand: the sort of a node that the matcher has just made, or that a strategy leaves
//! as it is.
//!
//! A machine of its own runs them on the heap of the one that matches, where nothing may move
//! meanwhile. Sorts of towers of an `iter` operator are remembered, since each asks for the sorts
//! of those below it.

use std::sync::Arc;

use super::machine::{Frame, Machine};
use crate::base::{Cancel, Exceeded, Interrupt};
use crate::term::{Class, Heap, Int, Layout, Term};
use crate::theory::{NO_CODE, Theory};

/// Memberships that may wait for one another, one term inside the other, until towers are begun from below;
/// and at most.
const LEVELS: usize = 64;
const LEVELS_MAX: usize = 2000;

const ENDLESS: &str = "a membership takes too much memory: does its condition ask for ever larger terms?";

/// Their rewrites can double with every level: no more than so many are counted.
pub(super) const REWRITES_MAX: u64 = 1 << 62;

/// The machine that runs memberships for one of this level.
pub(super) fn helper<'a>(
    sub: &'a mut Option<Box<Machine>>,
    theory: &Arc<Theory>,
    cancel: &Cancel,
    (level, memory_max): (usize, usize),
) -> &'a mut Machine {
    if level > LEVELS_MAX {
        Exceeded(ENDLESS).unwind();
    }
    let new =
        || Box::new(Machine { level: level + 1, memory_max, ..Machine::new(theory.clone(), cancel.clone()) });
    sub.get_or_insert_with(new)
}

impl Machine {
    /// Applies memberships to a term that is left as it is.
    pub(super) fn settle(&mut self, t: Term) {
        if !t.is_node() || self.theory.memberships[self.heap.head(self.symbols(), t)] == NO_CODE {
            return;
        }
        let Machine { heap, sub, rewrites, cancel, level, memory_max, theory, .. } = self;
        let machine = helper(sub, theory, cancel, (*level, *memory_max));
        *rewrites = rewrites.saturating_add(machine.resort(heap, t)).min(REWRITES_MAX);
    }

    /// Applies memberships to a node on another heap, which has the theory's constants; returns
    /// the rewrites it took.
    pub(crate) fn resort(&mut self, heap: &mut Heap, t: Term) -> u64 {
        let code = self.theory.memberships[heap.head(&self.theory.symbols, t)];
        if code == NO_CODE || !t.is_node() {
            return 0;
        }
        let tower = self.tower(heap, t);
        if let Some(&(sort, rewrites)) = tower.and_then(|tower| heap.tower_sorts.get(&tower)) {
            heap.set_sort(t, sort);
            return rewrites;
        }
        if let Some((sym, inner, count)) = tower.filter(|_| self.level > LEVELS) {
            // From below, so that no membership has to look far down.
            for smaller in 1..count {
                if !heap.tower_sorts.contains_key(&(sym, inner, smaller)) {
                    let t = heap.iterate(&self.theory.symbols, sym, &Int::Small(smaller), inner);
                    self.resort_by(code, heap, t);
                }
            }
        }
        self.resort_by(code, heap, t)
    }

    fn resort_by(&mut self, code: u32, heap: &mut Heap, t: Term) -> u64 {
        std::mem::swap(&mut self.heap, heap);
        let limit = std::mem::replace(&mut self.heap.limit, usize::MAX);
        // The matcher holds terms that this machine does not know: nothing may move.
        self.stress = false;
        self.rewrites = 0;
        self.frames.clear();
        self.frames.push(Frame { ret: self.theory.stubs.halt, base: 0 });
        self.stack[0] = t;
        let result = self.run(code, 0);
        self.frames.clear();
        self.active = 0;
        self.heap.limit = limit;
        std::mem::swap(&mut self.heap, heap);
        // Other interrupts show again at the caller's next call.
        if result == Err(Interrupt::Memory) {
            Exceeded(ENDLESS).unwind();
        }
        if let Some(tower) = self.tower(heap, t) {
            let sort = heap.sort(&self.theory.symbols, t);
            heap.tower_sorts.insert(tower, (sort, self.rewrites));
        }
        self.rewrites
    }

    /// The operator, the inner term and the height, if a term is a tower of an `iter` operator.
    fn tower(&self, heap: &Heap, t: Term) -> Option<(u32, Term, u32)> {
        let sy = &self.theory.symbols;
        let sym = heap.sym(sy, t);
        if sy.class(sym) != Class::Iter || heap.layout(t) == Layout::Raw as u32 {
            return None;
        }
        let (Int::Small(count), inner) = heap.iter_parts(t) else { return None };
        Some((sym, inner, count))
    }
}
