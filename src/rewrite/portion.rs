//! Parts of a subject that a rule is tried on.
//!
//! A pattern with an associative operator at its top is matched with extension by its own code.
//! A pattern that is a variable, or that collapses to one, may also match a part of any list,
//! multiset or iterated term; the parts are gone through here, in Maude's order for a variable.

use super::machine::Machine;
use crate::base::Interrupt;
use crate::term::{Class, Int, Term};
use crate::theory::RuleEntry;

/// One part.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Portion {
    #[default]
    Whole,
    /// What is below so many levels of an iterated operator.
    Below(u32),
    /// Two or more neighbours of a list.
    List { start: usize, len: usize },
    /// A multiset without so many copies of each of its elements; two or more remain.
    Bag { without: Vec<u32> },
}

impl Machine {
    /// The part to begin with.
    pub(super) fn first_portion(&self, entry: &RuleEntry, subject: Term) -> Portion {
        let is_list = || self.symbols().class(self.heap.sym(self.symbols(), subject)) == Class::Assoc;
        if entry.on_portions && is_list() { Portion::List { start: 0, len: 2 } } else { Portion::Whole }
    }

    /// The part after one, if there is one.
    pub(super) fn next_portion(
        &self,
        entry: &RuleEntry,
        subject: Term,
        portion: &Portion,
    ) -> Option<Portion> {
        if !entry.on_portions {
            return None;
        }
        let sy = self.symbols();
        let subject = self.heap.deref(subject);
        match (sy.class(self.heap.sym(sy, subject)), portion) {
            (Class::Iter, portion) => {
                let next = if let Portion::Below(level) = portion { level + 1 } else { 1 };
                let has_level = match self.heap.iter_parts(subject).0 {
                    Int::Small(count) => next < count,
                    Int::Big(_) => next < u32::MAX,
                };
                has_level.then_some(Portion::Below(next))
            }
            (Class::Assoc, &Portion::List { start, len }) => {
                let size = self.heap.args(subject).len();
                let end = start + len;
                match () {
                    _ if len > 2 => Some(Portion::List { start: start + 1, len: len - 1 }),
                    _ if end < size => Some(Portion::List { start: 0, len: end + 1 }),
                    _ => None,
                }
            }
            (Class::Assoc, _) => Some(Portion::List { start: 0, len: 2 }),
            (Class::AssocComm, portion) => {
                let mut pairs = Vec::new();
                self.heap.bag_pairs(subject, &mut pairs);
                let sizes: Vec<u32> = pairs.iter().map(|pair| pair.1).collect();
                let none = vec![0; sizes.len()];
                let without = if let Portion::Bag { without } = portion { without } else { &none };
                Some(Portion::Bag { without: next_selection(&sizes, without)? })
            }
            _ => None,
        }
    }

    /// The part as a term.
    pub(super) fn portion(&mut self, subject: Term, portion: &Portion) -> Term {
        let theory = self.theory.clone();
        let sy = &theory.symbols;
        let sym = self.heap.sym(sy, subject);
        match portion {
            Portion::Whole => subject,
            Portion::Below(level) => {
                let (count, base) = self.heap.iter_parts(subject);
                let left = Int::from_big(count.to_big() - *level);
                self.heap.iterate(sy, sym, &left, base)
            }
            &Portion::List { start, len } => {
                let args = self.heap.args(self.heap.deref(subject)).to_vec();
                if len == args.len() { subject } else { self.heap.apply(sy, sym, &args[start..start + len]) }
            }
            Portion::Bag { without } => {
                let mut pairs = Vec::new();
                self.heap.bag_pairs(self.heap.deref(subject), &mut pairs);
                pairs.iter_mut().zip(without).for_each(|(pair, copies)| pair.1 -= copies);
                pairs.retain(|pair| pair.1 > 0);
                self.heap.bag(sy, sym, &pairs)
            }
        }
    }

    /// The subject with the part replaced, reduced at its top unless it `is_left` as it is.
    pub(super) fn with_portion(
        &mut self,
        subject: Term,
        portion: &Portion,
        value: Term,
        is_left: bool,
    ) -> Result<Term, Interrupt> {
        let theory = self.theory.clone();
        let sy = &theory.symbols;
        let sym = self.heap.sym(sy, subject);
        match portion {
            Portion::Whole => Ok(value),
            Portion::Below(level) => self.iterate(sym, &Int::Small(*level), value, is_left),
            &Portion::List { start, len } => {
                let mut args = self.heap.args(self.heap.deref(subject)).to_vec();
                args.splice(start..start + len, [value]);
                match args.len() {
                    1 => Ok(value),
                    _ if is_left => Ok(self.leave_alone(sym, &args)),
                    _ => self.apply(sym, &args),
                }
            }
            Portion::Bag { without } => {
                let mut pairs = Vec::new();
                self.heap.bag_pairs(self.heap.deref(subject), &mut pairs);
                let mut args = vec![value];
                for ((element, _), &copies) in pairs.iter().zip(without) {
                    args.extend(std::iter::repeat_n(*element, copies as usize));
                }
                if is_left { Ok(self.leave_alone(sym, &args)) } else { self.apply(sym, &args) }
            }
        }
    }
}

/// What to leave out after leaving out `chosen`: fewer first, then earlier elements first; at
/// least two must remain.
fn next_selection(sizes: &[u32], chosen: &[u32]) -> Option<Vec<u32>> {
    let mut next = chosen.to_vec();
    let mut units = 0;
    for j in 0..sizes.len() {
        if units > 0 && next[j] < sizes[j] {
            next[j] += 1;
            fill(&mut next[..j], sizes, units - 1);
            return Some(next);
        }
        units += next[j];
    }
    let total: u32 = sizes.iter().sum();
    if units + 3 > total {
        return None;
    }
    fill(&mut next, sizes, units + 1);
    Some(next)
}

fn fill(amounts: &mut [u32], sizes: &[u32], mut units: u32) {
    for (amount, &size) in amounts.iter_mut().zip(sizes) {
        *amount = units.min(size);
        units -= *amount;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_come_in_order() {
        let mut chosen = vec![0, 0, 0];
        let mut all = Vec::new();
        while let Some(next) = next_selection(&[2, 1, 1], &chosen) {
            all.push(next.iter().map(u32::to_string).collect::<String>());
            chosen = next;
        }
        assert_eq!(all.join(" "), "100 010 001 200 110 101 011");
        assert_eq!(next_selection(&[1, 1], &[0, 0]), None);
    }
}
