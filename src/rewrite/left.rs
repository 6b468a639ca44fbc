//! What evaluation strategies leave alone: terms below such an operator, where rules apply and
//! nothing is reduced.

use rustc_hash::FxHashMap;

use super::machine::Machine;
use crate::term::{Class, Int, Layout, Term};
use crate::theory::NO_CODE;

impl Machine {
    /// An operator over arguments where a strategy leaves everything alone: in normal form modulo
    /// axioms, and not reduced unless there is nothing to do.
    pub(super) fn leave_alone(&mut self, sym: u32, args: &[Term]) -> Term {
        let theory = self.theory_now();
        let is_reduced = args.iter().all(|&t| !self.heap.is_unreduced(self.heap.deref(t)));
        let before = self.heap.len();
        let term = self.heap.apply(&theory.symbols, sym, args);
        if !is_reduced || theory.functions[sym as usize].code != NO_CODE {
            // It may have collapsed to an argument, which is as it was.
            if term.is_node() && term.at() >= before {
                self.heap.mark_unreduced(term);
                self.settle(term);
            }
        }
        term
    }

    /// The same for `f^n(t)`.
    pub(super) fn leave_iterated(&mut self, sym: u32, count: &Int, arg: Term) -> Term {
        let theory = self.theory_now();
        let is_reduced = !self.heap.is_unreduced(self.heap.deref(arg));
        let numbers = &theory.symbols.numbers;
        let is_number = sym == numbers.succ && (arg.is_small() || self.heap.is_big_nat(&theory.symbols, arg));
        let is_plain = theory.functions[sym as usize].code == NO_CODE || is_number && !numbers.computed;
        if is_reduced && is_plain {
            return self.heap.iterate(&theory.symbols, sym, count, arg);
        }
        let term = self.heap.iterate_unreduced(&theory.symbols, sym, count, arg);
        self.settle(term);
        term
    }

    /// A reduced term as a state has it. What is left alone inside it may have been evaluated by
    /// chance (the same term once came from a place where it was); then it is marked as all equal
    /// terms in such a place are. Equal ones become one, as in Maude's states.
    pub fn as_state(&mut self, term: Term) -> Term {
        let theory = self.theory_now();
        let holds = |this: &Machine, t: Term| {
            t.is_node() && theory.holds_left.get(this.heap.sym(&theory.symbols, t) as usize) == Some(&true)
        };
        if !theory.has_lazy || !holds(self, term) {
            return term;
        }
        let mut done: FxHashMap<(Term, bool), Term> = FxHashMap::default();
        let mut shared: FxHashMap<(usize, Int, Vec<Term>), Term> = FxHashMap::default();
        let mut work = vec![(term, false)];
        while let Some(&(t, is_left)) = work.last() {
            if !is_left && !holds(self, t) {
                done.insert((t, is_left), t);
            }
            if done.contains_key(&(t, is_left)) {
                work.pop();
                continue;
            }
            let sym = self.heap.sym(&theory.symbols, t) as usize;
            if is_left && theory.symbols.numbers.computed && sym as u32 == theory.symbols.numbers.succ {
                let (count, base) = self.heap.iter_parts(t);
                if base == Term::small(0) {
                    let key = (sym, count.clone(), vec![base]);
                    let number = match shared.get(&key) {
                        Some(&number) => number,
                        None => self.unreduced_number(t),
                    };
                    shared.insert(key, number);
                    done.insert((t, is_left), number);
                    continue;
                }
            }
            let is_literal = t.is_node() && self.heap.layout(t) == Layout::Raw as u32;
            if is_literal && is_left && !self.heap.is_unreduced(t) {
                let head = self.heap.head(&theory.symbols, t);
                if theory.functions[head].code != NO_CODE {
                    let left = self.heap.copy_node(t);
                    self.heap.mark_unreduced(left);
                    done.insert((t, is_left), left);
                    continue;
                }
            }
            let Some(function) = theory.functions.get(sym).filter(|_| !is_literal && !t.is_small()) else {
                done.insert((t, is_left), t);
                continue;
            };
            let args = if t.is_node() { self.arguments_of(t) } else { Vec::new() };
            let below = |i: usize| {
                let at = if function.joined { 0 } else { i as u32 };
                is_left || function.left_alone.contains(&at)
            };
            let keys: Vec<(Term, bool)> =
                args.iter().enumerate().map(|(i, &arg)| (self.heap.deref(arg), below(i))).collect();
            let size = work.len();
            work.extend(keys.iter().filter(|key| !done.contains_key(key)));
            if work.len() == size {
                let settled: Vec<Term> = keys.iter().map(|key| done[key]).collect();
                let same = settled.iter().zip(&keys).all(|(new, key)| *new == key.0);
                let mut value = self.settled(t, is_left, &settled, same);
                if is_left {
                    let count = self.iterations(t);
                    value = *shared.entry((sym, count, settled)).or_insert(value);
                }
                done.insert((t, is_left), value);
            }
        }
        done[&(term, false)]
    }

    /// A natural as the node of one that is not reduced.
    pub(super) fn unreduced_number(&mut self, t: Term) -> Term {
        if self.heap.is_unreduced(t) {
            return t;
        }
        let theory = self.theory_now();
        let numbers = &theory.symbols.numbers;
        let zero = match numbers.zero_computed {
            true => {
                let sort = self.heap.sort(&theory.symbols, Term::small(0));
                self.heap.alloc_unreduced_constant(numbers.zero, sort)
            }
            false => Term::small(0),
        };
        if t == Term::small(0) {
            return zero;
        }
        let (count, base) = self.heap.iter_parts(t);
        let base = if base == Term::small(0) { zero } else { base };
        self.heap.iterate_unreduced(&theory.symbols, theory.symbols.numbers.succ, &count, base)
    }

    /// How often the top operator stands over its argument: 1 unless it is an iterated one.
    fn iterations(&self, t: Term) -> Int {
        match self.theory.symbols.class(self.heap.sym(&self.theory.symbols, t)) {
            Class::Iter if t.is_node() => self.heap.iter_parts(t).0,
            _ => Int::Small(1),
        }
    }

    /// A term over arguments as they are stored; `same`: they are its own.
    fn settled(&mut self, t: Term, is_left: bool, args: &[Term], same: bool) -> Term {
        let theory = self.theory_now();
        let sy = &theory.symbols;
        let (sym, sort) = (self.heap.sym(sy, t), self.heap.sort(sy, t));
        let has_work = theory.functions[sym as usize].code != NO_CODE
            || args.iter().any(|&arg| self.heap.is_unreduced(arg));
        let is_marked = is_left && has_work;
        if same && self.heap.is_unreduced(t) == is_marked {
            return t;
        }
        if args.is_empty() {
            let constant = Term::constant(sym);
            return if is_marked { self.heap.alloc_unreduced_constant(sym, sort) } else { constant };
        }
        let term = match sy.class(sym) {
            Class::Iter => {
                let (count, _) = self.heap.iter_parts(t);
                self.heap.iterate(sy, sym, &count, args[0])
            }
            Class::Assoc | Class::AssocComm => self.heap.apply(sy, sym, args),
            _ => self.heap.alloc(sym, sort, args),
        };
        if term.is_node() {
            self.heap.set_sort(term, sort);
            if is_marked {
                self.heap.mark_unreduced(term);
            }
        }
        term
    }
}
