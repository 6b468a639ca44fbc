//! Terms that are not reduced: loading parsed terms, and evaluating arguments that an operator's
//! strategy left alone.
//!
//! Such a term is a node with the unreduced mark. Evaluating it goes through its arguments in the
//! order of the strategy, each in a frame `[node, step, count, arguments...]` on the value stack,
//! and then applies the operator. The node is then replaced by its value for all who share it, so
//! equal subterms of an input are reduced once, as in Maude.

use rustc_hash::FxHashMap;

use super::machine::{Frame, Machine};
use crate::sorts::{Node, Tree};
use crate::term::{Class, Int, Layout, Term};
use crate::theory::NO_CODE;

/// Slots of a walking frame before the arguments.
const HEAD: usize = 3;

impl Machine {
    /// A parsed term on the heap: reduced where nothing is to be done, equal subterms shared.
    pub fn load(&mut self, tree: &Tree) -> Term {
        let theory = self.theory.clone();
        let sy = &theory.symbols;
        let mut stack: Vec<Term> = Vec::new();
        let mut shared: FxHashMap<(Node, Vec<Term>, bool), Term> = FxHashMap::default();
        let eager = self.eager_places(tree);
        for (at, node) in tree.nodes().iter().enumerate() {
            let start = stack.len() - node.arity();
            let args: Vec<Term> = stack.drain(start..).collect();
            let key = (node.clone(), args, eager[at]);
            if let Some(&term) = shared.get(&key) {
                stack.push(term);
                continue;
            }
            let args = &key.1;
            let is_reduced = args.iter().all(|&t| !self.heap.is_unreduced(t));
            let term = match node {
                Node::App { op, arity: 0 } if op.0 != sy.numbers.zero => {
                    if theory.functions[op.index()].code == NO_CODE {
                        Term::constant(op.0)
                    } else {
                        self.heap.alloc_unreduced_constant(op.0, sy.info[op.index()].constant_sort)
                    }
                }
                Node::App { op, arity } if *arity > 0 => {
                    let function = &theory.functions[op.index()];
                    if is_reduced && function.code == NO_CODE {
                        self.heap.apply(sy, op.0, args)
                    } else if sy.class(op.0) == Class::Iter {
                        self.unreduced(op.0, &[Term::small(1), args[0]])
                    } else {
                        self.unreduced(op.0, args)
                    }
                }
                Node::Iter { op, count } => {
                    let count = Int::from_big(count.clone());
                    if is_reduced && theory.functions[op.index()].code == NO_CODE {
                        self.heap.iterate(sy, op.0, &count, args[0])
                    } else {
                        let count = match &count {
                            Int::Small(n) => Term::small(*n),
                            Int::Big(n) => self.heap.alloc_raw(op.0, 0, n.to_u32_digits()),
                        };
                        self.unreduced(op.0, &[count, args[0]])
                    }
                }
                leaf => {
                    let term = self.heap.leaf(sy, &theory.names, leaf).expect("no arguments");
                    self.settle(term);
                    term
                }
            };
            shared.insert(key, term);
            stack.push(term);
        }
        stack.pop().expect("a tree has a root")
    }

    /// Applies memberships to a literal.
    fn settle(&mut self, t: Term) {
        let sym = self.heap.sym(&self.theory.symbols, t) as usize;
        if !t.is_node() || self.theory.memberships.get(sym).is_none_or(|&code| code == NO_CODE) {
            return;
        }
        let (before, stress) = (self.rewrites, self.stress);
        let mut heap = std::mem::take(&mut self.heap);
        let rewrites = self.resort(&mut heap, t);
        self.heap = heap;
        (self.rewrites, self.stress) = (before + rewrites, stress);
    }

    /// Which subterms are evaluated before an operator above them is: Maude shares equal subterms
    /// among these, and among the others.
    fn eager_places(&self, tree: &Tree) -> Vec<bool> {
        let mut eager = vec![true; tree.len()];
        for at in (0..tree.len()).rev() {
            let Some(op) = tree.node(at).op() else { continue };
            let function = &self.theory.functions[op.index()];
            let all = if function.joined { !function.is_lazy } else { function.is_eager };
            if eager[at] && all {
                continue;
            }
            for (i, arg) in tree.args(at).into_iter().enumerate() {
                eager[arg] = eager[at] && (all || function.eager.contains(&(i as u32)));
            }
        }
        eager
    }

    fn unreduced(&mut self, sym: u32, args: &[Term]) -> Term {
        let sy = &self.theory.symbols;
        let info = &sy.info[sym as usize];
        let sort = match info.class {
            Class::Iter => info.diagram.sort([self.heap.sort(sy, args[1])]),
            _ if args.len() > info.arity => {
                let mut sorts = args.iter().map(|&arg| self.heap.sort(sy, arg));
                let first = sorts.next().expect("more than two arguments");
                sorts.fold(first, |sort, next| info.diagram.binary(sort, next))
            }
            _ => info.diagram.sort(args.iter().map(|&arg| self.heap.sort(sy, arg))),
        };
        let term = self.heap.alloc(sym, sort, args);
        self.heap.mark_unreduced(term);
        term
    }

    /// Starts evaluating a term; its value will be at `base` when the top frame is returned to.
    /// Gives code to run, or nothing if the value is there.
    pub(super) fn enter_term(&mut self, term: Term, mut base: usize) -> Option<(u32, usize)> {
        let mut term = self.heap.deref(term);
        loop {
            self.reserve(base + HEAD + 1);
            if !self.heap.is_unreduced(term) {
                self.stack[base] = term;
                return None;
            }
            let sy = &self.theory.symbols;
            let class = sy.class(self.heap.sym(sy, term));
            let layout = self.heap.layout(term);
            let count = if layout <= Layout::Fixed as u32 && class != Class::Iter {
                let count = layout as usize;
                self.reserve(base + HEAD + count + 2);
                self.stack[base + HEAD..base + HEAD + count].copy_from_slice(self.heap.args(term));
                count
            } else {
                let args: Vec<Term> = match class {
                    Class::Iter => vec![self.heap.arg(term, 1)],
                    Class::AssocComm if layout >= Layout::Bag as u32 => {
                        let mut pairs = Vec::new();
                        self.heap.bag_pairs(term, &mut pairs);
                        pairs.iter().flat_map(|&(t, m)| std::iter::repeat_n(t, m as usize)).collect()
                    }
                    _ => self.heap.args(term).to_vec(),
                };
                self.reserve(base + HEAD + args.len() + 2);
                self.stack[base + HEAD..base + HEAD + args.len()].copy_from_slice(&args);
                args.len()
            };
            self.stack[base] = term;
            self.stack[base + 1] = Term::small(0);
            self.stack[base + 2] = Term::small(count as u32);
            match self.next_argument(base) {
                Some((inner, inner_base)) => (term, base) = (inner, inner_base),
                None => return self.apply_walked(base),
            }
        }
    }

    /// An argument has been evaluated: go on with the frame at `base`.
    pub(super) fn resume_walk(&mut self, base: usize) -> Option<(u32, usize)> {
        let (step, count) = (self.stack[base + 1].payload(), self.stack[base + 2].payload() as usize);
        let value = self.stack[base + HEAD + count];
        let argument = self.strategy_step(base, step as usize - 1).expect("it was a step");
        self.stack[base + HEAD + argument] = value;
        match self.next_argument(base) {
            Some((term, inner)) => self.enter_term(term, inner),
            None => self.apply_walked(base),
        }
    }

    /// The next argument that is not reduced, with a frame pushed for it.
    fn next_argument(&mut self, base: usize) -> Option<(Term, usize)> {
        let count = self.stack[base + 2].payload() as usize;
        let mut step = self.stack[base + 1].payload() as usize;
        while let Some(argument) = self.strategy_step(base, step) {
            step += 1;
            let term = self.heap.deref(self.stack[base + HEAD + argument]);
            self.stack[base + HEAD + argument] = term;
            if self.heap.is_unreduced(term) {
                self.stack[base + 1] = Term::small(step as u32);
                self.frames.push(Frame { ret: self.theory.stubs.walk, base: base as u32 });
                return Some((term, base + HEAD + count));
            }
        }
        None
    }

    /// Which argument a step of the strategy evaluates.
    fn strategy_step(&self, base: usize, step: usize) -> Option<usize> {
        let sy = &self.theory.symbols;
        let function = &self.theory.functions[self.heap.sym(sy, self.stack[base]) as usize];
        let count = self.stack[base + 2].payload() as usize;
        if function.joined {
            return (step < count && !function.is_lazy).then_some(step);
        }
        function.eager.get(step).map(|&argument| argument as usize)
    }

    /// All arguments are evaluated: applies the operator.
    fn apply_walked(&mut self, base: usize) -> Option<(u32, usize)> {
        let node = self.stack[base];
        let sym = self.heap.sym(&self.theory.symbols, node);
        let count = self.stack[base + 2].payload() as usize;
        let args = base + HEAD..base + HEAD + count;
        let function = &self.theory.functions[sym as usize];
        if !function.joined && function.code != NO_CODE {
            let (code, ret) = (function.code, self.theory.stubs.update);
            self.stack.copy_within(args, base + 1);
            self.frames.push(Frame { ret, base: base as u32 });
            return Some((code, base + 1));
        }
        let theory = self.theory.clone();
        let sy = &theory.symbols;
        let function = &theory.functions[sym as usize];
        let value = if sy.class(sym) == Class::Iter {
            let (times, _) = self.heap.iter_parts(node);
            self.heap.iterate(sy, sym, &times, self.stack[args.start])
        } else if function.is_lazy && matches!(sy.class(sym), Class::Assoc | Class::AssocComm) {
            let mut elements = Vec::new();
            let mut work: Vec<Term> = self.stack[args].iter().rev().copied().collect();
            while let Some(t) = work.pop() {
                let t = self.heap.deref(t);
                if self.heap.is_unreduced(t) && self.heap.sym(sy, t) == sym && self.heap.layout(t) < 48 {
                    work.extend(self.heap.args(t).iter().rev());
                } else {
                    elements.push(t);
                }
            }
            self.heap.apply(sy, sym, &elements)
        } else {
            self.heap.apply(sy, sym, &self.stack[args])
        };
        if function.code != NO_CODE && self.heap.is_top(sy, value, sym) {
            self.stack[base + 1] = value;
            self.frames.push(Frame { ret: theory.stubs.update, base: base as u32 });
            return Some((function.code, base + 1));
        }
        self.heap.resolve(sy, node, value);
        self.stack[base] = value;
        None
    }
}
