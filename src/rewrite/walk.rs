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
        let eager = theory.eager_places(tree);
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
                Node::App { op, arity: 0 } if op.0 != sy.numbers.zero || sy.numbers.zero_computed => {
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
                    } else if !eager[at] && matches!(sy.class(op.0), Class::Assoc | Class::AssocComm) {
                        // Rules may look at it, and states with it are compared.
                        self.leave_alone(op.0, args)
                    } else if sy.class(op.0) == Class::Iter {
                        self.unreduced(op.0, &[Term::small(1), args[0]], eager[at])
                    } else {
                        self.unreduced(op.0, args, eager[at])
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
                        self.unreduced(op.0, &[count, args[0]], eager[at])
                    }
                }
                leaf => {
                    let term = self.heap.leaf(sy, &*theory.names, leaf).expect("no arguments");
                    if theory.functions[self.heap.head(sy, term)].code != NO_CODE {
                        self.heap.mark_unreduced(term);
                    }
                    if !eager[at] {
                        self.settle(term);
                    }
                    term
                }
            };
            shared.insert(key, term);
            stack.push(term);
        }
        stack.pop().expect("a tree has a root")
    }

    fn unreduced(&mut self, sym: u32, args: &[Term], is_eager: bool) -> Term {
        let term = self.heap.alloc_unreduced(&self.theory.symbols, sym, args);
        if !is_eager {
            self.settle(term);
        }
        term
    }

    /// Is it a list, multiset or iterated application of something that is not reduced?
    fn has_unreduced(&self, t: Term) -> bool {
        let (heap, sy) = (&self.heap, &self.theory.symbols);
        let is_left = |element: Term| heap.is_unreduced(heap.deref(element));
        if !t.is_node() || heap.layout(t) == Layout::Raw as u32 {
            return false;
        }
        match sy.class(heap.sym(sy, t)) {
            Class::Assoc => heap.args(t).iter().any(|&element| is_left(element)),
            Class::Iter => is_left(heap.iter_parts(t).1),
            Class::AssocComm => {
                let mut pairs = Vec::new();
                heap.bag_pairs(t, &mut pairs);
                pairs.iter().any(|&(element, _)| is_left(element))
            }
            _ => false,
        }
    }

    /// A term to evaluate: evaluation replaces what is not reduced by its value, so others who share
    /// it get a copy. What the evaluation leaves alone is not copied.
    pub(super) fn fresh(&mut self, term: Term) -> Term {
        let theory = self.theory_now();
        let t = self.heap.deref(term);
        if !self.heap.is_unreduced(t) {
            if !self.has_unreduced(t) {
                return t;
            }
            // The matcher has made it of elements that are not reduced.
            self.heap.mark_unreduced(t);
        }
        if self.heap.layout(t) == Layout::Raw as u32 {
            return self.heap.copy_node(t);
        }
        // Copies are gone through in order, as a collector does. What is shared inside the term is
        // shared inside the copy.
        let start = self.heap.len();
        let mut copies = Copies::default();
        copies.insert(t, self.heap.copy_node(t));
        let mut at = start;
        while at < self.heap.len() {
            let node = Term::node(at);
            let function = &theory.functions[self.heap.head(&theory.symbols, node)];
            if function.joined || self.heap.layout(node) > Layout::Fixed as u32 {
                self.heap.truncate(start);
                return self.fresh_joined(t);
            }
            for &i in &function.eager {
                let arg = self.heap.deref(self.heap.arg(node, i as usize));
                if self.heap.is_unreduced(arg) {
                    let copy = copies.get(arg).unwrap_or_else(|| {
                        let copy = self.heap.copy_node(arg);
                        copies.insert(arg, copy);
                        copy
                    });
                    self.heap.set_arg(node, i as usize, copy);
                }
            }
            at += 1 + self.heap.layout(node) as usize;
        }
        Term::node(start)
    }

    /// The same for terms with lists, multisets and the like inside.
    fn fresh_joined(&mut self, term: Term) -> Term {
        let mut copies: FxHashMap<Term, Term> = FxHashMap::default();
        let mut work = vec![term];
        while let Some(&t) = work.last() {
            let mut args = self.arguments_of(t);
            let places = self.unreduced_arguments(t, &args);
            let size = work.len();
            work.extend(places.iter().map(|&i| self.heap.deref(args[i])).filter(|t| !copies.contains_key(t)));
            if work.len() > size {
                continue;
            }
            for i in places {
                args[i] = copies[&self.heap.deref(args[i])];
            }
            work.pop();
            if !copies.contains_key(&t) {
                copies.insert(t, self.rebuilt(t, &args));
            }
        }
        copies[&term]
    }

    /// Which arguments of a term are to be evaluated before it.
    fn unreduced_arguments(&self, t: Term, args: &[Term]) -> Vec<usize> {
        let function = &self.theory.functions[self.heap.head(self.symbols(), t)];
        let is_unreduced = |i: usize| self.heap.is_unreduced(self.heap.deref(args[i]));
        (0..args.len()).filter(|&i| function.is_evaluated(i) && is_unreduced(i)).collect()
    }

    /// The arguments of a term that is not reduced, each as often as it occurs.
    pub(super) fn arguments_of(&self, t: Term) -> Vec<Term> {
        let sy = &self.theory.symbols;
        match sy.class(self.heap.sym(sy, t)) {
            _ if self.heap.layout(t) == Layout::Raw as u32 => Vec::new(),
            Class::Iter => vec![self.heap.iter_parts(t).1],
            Class::AssocComm if self.heap.layout(t) >= Layout::Bag as u32 => {
                let mut pairs = Vec::new();
                self.heap.bag_pairs(t, &mut pairs);
                pairs.iter().flat_map(|&(t, m)| std::iter::repeat_n(t, m as usize)).collect()
            }
            _ => self.heap.args(t).to_vec(),
        }
    }

    /// A term that is not reduced, over other arguments.
    fn rebuilt(&mut self, t: Term, args: &[Term]) -> Term {
        let sy = &self.theory.symbols;
        let (sym, sort) = (self.heap.sym(sy, t), self.heap.sort(sy, t));
        if self.heap.layout(t) == Layout::Raw as u32 {
            return self.heap.copy_node(t);
        }
        let copy = match sy.class(sym) {
            _ if args.is_empty() => return self.heap.alloc_unreduced_constant(sym, sort),
            Class::Iter => {
                let count = self.heap.arg(t, 0);
                self.heap.alloc(sym, sort, &[count, args[0]])
            }
            Class::Assoc | Class::AssocComm if self.heap.layout(t) > Layout::Flat as u32 => {
                self.heap.apply(sy, sym, args)
            }
            _ => self.heap.alloc(sym, sort, args),
        };
        self.heap.mark_unreduced(copy);
        copy
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
            if self.heap.layout(term) == Layout::Raw as u32 {
                return Some(self.enter_leaf(term, base));
            }
            if let Some(step) = self.enter_ready(term, base) {
                return Some(step);
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

    /// Starts evaluating a literal or variable.
    #[cold]
    fn enter_leaf(&mut self, term: Term, base: usize) -> (u32, usize) {
        let theory = self.theory_now();
        self.heap.mark_reduced(term);
        self.stack[base] = term;
        self.stack[base + 1] = term;
        self.frames.push(Frame { ret: theory.stubs.update, base: base as u32 });
        (theory.functions[self.heap.head(&theory.symbols, term)].code, base + 1)
    }

    /// Applies the operator at once if all arguments that are to be evaluated are.
    fn enter_ready(&mut self, term: Term, base: usize) -> Option<(u32, usize)> {
        let theory = self.theory_now();
        let function = &theory.functions[self.heap.sym(&theory.symbols, term) as usize];
        let count = self.heap.layout(term) as usize;
        let is_reduced = |&i: &u32| !self.heap.is_unreduced(self.heap.deref(self.heap.arg(term, i as usize)));
        if function.joined
            || function.code == NO_CODE
            || count > Layout::Fixed as usize
            || !function.eager.iter().all(is_reduced)
        {
            return None;
        }
        self.reserve(base + 1 + count + 1);
        self.stack[base] = term;
        for i in 0..count {
            self.stack[base + 1 + i] = self.heap.deref(self.heap.arg(term, i));
        }
        self.frames.push(Frame { ret: theory.stubs.update, base: base as u32 });
        Some((function.code, base + 1))
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
        let mut value = value;
        if function.is_lazy && self.heap.is_unreduced(self.heap.deref(value)) {
            // It has collapsed to an argument that was left alone.
            let copy = self.fresh(value);
            self.frames.push(Frame { ret: theory.stubs.update, base: base as u32 });
            if let Some(step) = self.enter_term(copy, base + 1) {
                return Some(step);
            }
            self.frames.pop();
            value = self.stack[base + 1];
        }
        self.heap.resolve(sy, node, value);
        self.stack[base] = value;
        None
    }
}

/// Terms and their copies; mostly few.
#[derive(Default)]
struct Copies {
    few: [(Term, Term); 8],
    len: usize,
    many: FxHashMap<Term, Term>,
}

impl Copies {
    fn get(&self, t: Term) -> Option<Term> {
        let few = &self.few[..self.len.min(self.few.len())];
        few.iter().find(|pair| pair.0 == t).map(|pair| pair.1).or_else(|| self.many.get(&t).copied())
    }

    fn insert(&mut self, t: Term, copy: Term) {
        match self.few.get_mut(self.len) {
            Some(pair) => *pair = (t, copy),
            None => {
                self.many.insert(t, copy);
            }
        }
        self.len += 1;
    }
}
