//! Constructors around a last call: the node is allocated first, and its hole filled when the callee
//! returns.
//!
//! The frame of a hole is three registers: the outermost node, the one with the hole, and which
//! argument the hole is. A callee that does the same makes the chain longer and needs no frame of
//! its own. Sorts are those that the nodes have if the callee returns its declared sort, and are
//! corrected if it does not.

use super::machine::{Frame, Machine};
use crate::term::{Term, header, header_sort, header_sym};
use crate::theory::code;

impl Machine {
    /// Allocates the node with a hole and arranges for the callee's result to fill it.
    #[inline]
    pub(super) fn tail_build(&mut self, w: u64, spec: u64, base: usize) -> usize {
        let theory = &self.theory;
        let sy = &theory.symbols;
        let (a, n) = (code::a(w), code::n(w));
        let hole = (spec >> 32 & 0xFF) as usize;
        let mut head = spec as u32;
        let arity = crate::term::header_layout(head) as usize;
        let others = base + a + n;
        if spec >> 40 & 1 != 0 {
            let range = (spec >> 48) as u32;
            let sorts = (0..arity).map(|i| match i.cmp(&hole) {
                std::cmp::Ordering::Less => self.heap.sort(sy, self.stack[others + i]),
                std::cmp::Ordering::Equal => range,
                std::cmp::Ordering::Greater => self.heap.sort(sy, self.stack[others + i - 1]),
            });
            let sort = sy.info[header_sym(head) as usize].diagram.sort(sorts);
            head = header(header_sym(head), arity as u32, sort);
        }
        let node = self.heap.alloc_hole(head, &self.stack[others..others + arity - 1], hole);
        let top = *self.frames.last().expect("halt is below");
        let continues = top.ret == theory.stubs.fill_hole
            && top.base as usize + 3 == base
            && self.stack[base - 1] == Term::small(hole as u32);
        if continues {
            let last = self.stack[base - 2];
            self.heap.set_word(last.at() + 1 + hole, node);
            self.stack[base - 2] = node;
            for i in 0..n {
                self.stack[base + i] = self.stack[base + a + i];
            }
            return base;
        }
        self.frames.push(Frame { ret: theory.stubs.fill_hole, base: base as u32 });
        self.reserve(base + a + n + 4);
        if a >= 3 {
            for i in 0..n {
                self.stack[base + 3 + i] = self.stack[base + a + i];
            }
        } else {
            self.stack.copy_within(base + a..base + a + n, base + 3);
        }
        self.stack[base] = node;
        self.stack[base + 1] = node;
        self.stack[base + 2] = Term::small(hole as u32);
        base + 3
    }

    /// A callee has returned: puts its result into the hole, and corrects sorts if it has not the
    /// sort that was assumed.
    #[inline]
    pub(super) fn fill_hole(&mut self, base: usize) -> Term {
        let (head, last) = (self.stack[base], self.stack[base + 1]);
        let hole = self.stack[base + 2].payload() as usize;
        let value = self.stack[base + 3];
        self.heap.set_word(last.at() + 1 + hole, value);
        self.correct_sorts(head, last, hole);
        head
    }

    /// A hole was filled with a term whose sort may differ from the one that was assumed.
    #[inline(never)]
    pub(super) fn correct_sorts(&mut self, head: Term, last: Term, hole: usize) {
        if self.recompute_sort(last) && head != last {
            self.correct_chain(head, last, hole);
        }
    }

    fn recompute_sort(&mut self, node: Term) -> bool {
        let sy = &self.theory.symbols;
        let old = self.heap.header(node);
        let args = self.heap.args(node).iter().map(|&arg| self.heap.sort(sy, arg));
        let sort = sy.info[header_sym(old) as usize].diagram.sort(args);
        let changed = sort != header_sort(old);
        if changed {
            self.heap.set_sort(node, sort);
        }
        changed
    }

    #[cold]
    fn correct_chain(&mut self, head: Term, last: Term, hole: usize) {
        let mut chain = Vec::new();
        let mut node = head;
        while node != last {
            chain.push(node);
            node = self.heap.arg(node, hole);
        }
        while let Some(node) = chain.pop() {
            if !self.recompute_sort(node) {
                break;
            }
        }
    }
}
