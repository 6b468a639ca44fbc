//! The ends of a list: what stands there and takes a known number of elements is matched first.

use super::End;
use crate::matching::pattern::{Arg, Assoc, TopVar};
use crate::matching::run::{Run, Sub};
use crate::term::Term;

impl Run<'_, '_> {
    #[inline]
    pub(super) fn element(&self, subject: Term, i: usize) -> Term {
        self.cx.heap.args(subject)[i]
    }

    /// The elements of a bound variable's value that do not vanish at a place: how many to
    /// skip, and how many there are. `beside`: is there something beside the pattern?
    pub(super) fn value_range(
        &self,
        assoc: &Assoc,
        place: usize,
        beside: bool,
        value: Term,
    ) -> (usize, usize) {
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
    pub(super) fn is_value_at(
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
    pub(super) fn eat(
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
    pub(super) fn eat_ends(
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
    pub(super) fn part(
        &mut self,
        assoc: &Assoc,
        var: &TopVar,
        subject: Term,
        at: usize,
        len: usize,
    ) -> Option<Term> {
        if len == 0 {
            return assoc.identity.map(|identity| self.cx.heap.consts[identity]);
        }
        if len == self.cx.heap.args(subject).len() {
            // Its sort may be what is asked for.
            return self.fitting(var, subject, false);
        }
        let value = self.cx.heap.slice(self.cx.sy, assoc.sym, subject, at, len)?;
        self.fitting(var, value, assoc.resort && len > 1)
    }

    /// A list as the value of a variable, if its sort fits; `resort`: it may be lower than declared.
    pub(super) fn fitting(&mut self, var: &TopVar, value: Term, resort: bool) -> Option<Term> {
        if resort && !self.is_settled(&var.var, value) {
            (self.cx.resort)(self.cx.heap, value);
        }
        let sort = self.cx.heap.sort(self.cx.sy, value);
        (var.stands_for.is_some() || var.var.sorts.contains(sort)).then_some(value)
    }

    pub(super) fn lone_in_list(
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
}
