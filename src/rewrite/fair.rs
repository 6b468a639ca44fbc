//! Fair rewriting: what `frewrite` does.
//!
//! A traversal visits every position, arguments before the operator above them, and gives each at
//! most `gas` steps; what has changed is rebuilt and reduced on the way up. Traversals go on until
//! one makes no step. A traversal can stop anywhere (at a limit) and go on from there.

use super::machine::Machine;
use super::rules::Turns;
use super::trace::TraceEvent;
use crate::base::Interrupt;
use crate::term::{Class, Layout, Term};

/// Fair rewriting of one term on one machine, whose `kept` terms it uses: of each level the term
/// and then its arguments; between traversals the whole term alone.
#[derive(Clone, Debug)]
pub struct Fair {
    gas: u64,
    levels: Vec<Level>,
    /// Has this traversal made a step? True before the first.
    moved: bool,
}

/// A position that is being visited.
#[derive(Clone, Debug)]
struct Level {
    /// Where its term is among the kept ones.
    at: usize,
    /// The argument that is visited next, or whose level is the next one.
    next: usize,
    /// Do the arguments differ from those of the term?
    is_stale: bool,
    /// Has a step been made here or below?
    moved: bool,
    steps: u64,
    /// Does the strategy of an operator above leave it alone?
    is_left: bool,
}

impl Fair {
    /// Starts with a reduced term.
    pub fn new(machine: &mut Machine, term: Term, gas: u64) -> Fair {
        machine.kept.clear();
        machine.kept.push(term);
        Fair { gas: gas.max(1), levels: Vec::new(), moved: true }
    }

    /// Makes at most `limit` steps. Is there nothing left to do?
    pub fn run(
        &mut self,
        machine: &mut Machine,
        turns: &mut Turns,
        limit: Option<u64>,
    ) -> Result<bool, Interrupt> {
        let mut left = limit.unwrap_or(u64::MAX);
        loop {
            if machine.cancel().is_raised() {
                return Err(Interrupt::Cancelled);
            }
            let Some(level) = self.levels.last_mut() else {
                if !std::mem::take(&mut self.moved) {
                    return Ok(true);
                }
                machine.trace_state(machine.kept[0], false);
                self.visit(machine, 0, false);
                continue;
            };
            let place = level.at + 1 + level.next;
            if place < machine.kept.len() {
                let child = machine.heap.deref(machine.kept[place]);
                let sym = machine.heap.head(machine.symbols(), child);
                let may = machine.theory.rules.may_rewrite.get(sym).is_some_and(|may| *may);
                if may && !machine.is_frozen(level.at, level.next) {
                    let is_left = level.is_left || !machine.is_evaluated(level.at, level.next);
                    machine.kept.push(child);
                    self.visit(machine, machine.kept.len() - 1, is_left);
                } else {
                    level.next += 1;
                }
                continue;
            }
            let (at, is_left) = (level.at, level.is_left);
            if std::mem::take(&mut level.is_stale) {
                machine.kept[at] = machine.rebuild_kept(at, is_left)?;
            }
            machine.kept.truncate(at + 1);
            level.next = 0;
            if machine.tracer.is_some() {
                let above = self.levels.len() - 1;
                let path: Vec<usize> = self.levels[..above].iter().map(|level| level.next).collect();
                machine.tell(&TraceEvent::Place(&path));
            }
            let level = self.levels.last_mut().expect("a level is visited");
            while level.steps < self.gas {
                let subject = machine.kept[at];
                let Some(value) = machine.rewrite_fairly(subject, turns, is_left)? else { break };
                machine.kept[at] = value;
                level.steps += 1;
                (level.moved, self.moved) = (true, true);
                left -= 1;
                if left == 0 {
                    // Maude stops here even if nothing is left to do; at the top it ends the traversal.
                    if self.levels.len() == 1 {
                        self.leave(machine);
                    }
                    return Ok(false);
                }
            }
            self.leave(machine);
        }
    }

    /// Forgets what an interrupted traversal did below the top: the first kept term stays.
    pub fn restart(&mut self, machine: &mut Machine) {
        machine.kept.truncate(1);
        self.levels.clear();
        self.moved = true;
    }

    /// Begins with the kept term at a place, the last one.
    fn visit(&mut self, machine: &mut Machine, at: usize, is_left: bool) {
        debug_assert_eq!(at + 1, machine.kept.len());
        self.levels.push(Level { at, next: 0, is_stale: false, moved: false, steps: 0, is_left });
        machine.keep_arguments(at);
    }

    /// Goes back to the level above.
    fn leave(&mut self, machine: &mut Machine) {
        let level = self.levels.pop().expect("a level is left");
        if let Some(parent) = self.levels.last_mut() {
            let value = machine.kept.pop().expect("the level's term");
            if level.moved {
                machine.kept[parent.at + 1 + parent.next] = value;
                (parent.is_stale, parent.moved) = (true, true);
            }
            parent.next += 1;
        }
    }

    /// The whole term as it is now, reduced; the rewrites that this takes are not counted.
    pub fn term(&self, machine: &mut Machine) -> Result<Term, Interrupt> {
        let (rewrites, state) = (machine.rewrites, machine.state.clone());
        // On a copy of the kept terms, so that the traversal can go on.
        let size = machine.kept.len();
        machine.kept.extend_from_within(..);
        let mut copy = self.clone();
        copy.levels.iter_mut().for_each(|level| level.at += size);
        let folded = copy.fold(machine);
        let term = machine.kept[size];
        machine.kept.truncate(size);
        (machine.rewrites, machine.state) = (rewrites, state);
        folded.map(|()| term)
    }

    /// Leaves all levels.
    fn fold(&mut self, machine: &mut Machine) -> Result<(), Interrupt> {
        while let Some(level) = self.levels.last() {
            let at = level.at;
            if level.is_stale {
                machine.kept[at] = machine.rebuild_kept(at, level.is_left)?;
            }
            machine.kept.truncate(at + 1);
            self.leave(machine);
        }
        Ok(())
    }
}

impl Machine {
    /// Keeps the arguments of the kept term at `at`, every copy, after it; none if rules may touch
    /// none of them.
    fn keep_arguments(&mut self, at: usize) {
        let Machine { heap, theory, kept, .. } = self;
        let sy = &theory.symbols;
        let term = heap.deref(kept[at]);
        let sym = heap.sym(sy, term) as usize;
        let Some(info) = sy.info.get(sym) else { return };
        let frozen = theory.rules.frozen[sym];
        if info.arity == 0 {
            return;
        }
        match info.class {
            // One argument of an associative operator frozen means both.
            Class::Assoc | Class::AssocComm | Class::Iter if frozen != 0 => {}
            Class::Iter => kept.push(heap.iter_parts(term).1),
            _ if !term.is_node() || heap.layout(term) == Layout::Raw as u32 => {}
            Class::AssocComm => {
                let mut pairs = Vec::new();
                heap.bag_pairs(term, &mut pairs);
                for (element, copies) in pairs {
                    kept.extend(std::iter::repeat_n(element, copies as usize));
                }
            }
            _ => kept.extend_from_slice(heap.args(term)),
        }
    }

    /// The kept term at `at` with the arguments that are kept after it, reduced unless it `is_left`
    /// as it is.
    fn rebuild_kept(&mut self, at: usize, is_left: bool) -> Result<Term, Interrupt> {
        let sy = self.symbols();
        let term = self.heap.deref(self.kept[at]);
        let sym = self.heap.sym(sy, term);
        if sy.class(sym) == Class::Iter {
            let (count, _) = self.heap.iter_parts(term);
            return self.iterate(sym, &count, self.kept[at + 1], is_left);
        }
        let args = self.kept[at + 1..].to_vec();
        if is_left { Ok(self.leave_alone(sym, &args)) } else { self.apply(sym, &args) }
    }

    fn rewrite_fairly(
        &mut self,
        subject: Term,
        turns: &mut Turns,
        is_left: bool,
    ) -> Result<Option<Term>, Interrupt> {
        if !is_left && self.is_configuration(self.heap.sym(self.symbols(), subject)) {
            return self.round(subject, turns);
        }
        Ok(self.rewrite_here(subject, turns, is_left)?.map(|(_, value)| value))
    }

    /// Is an argument of the kept term at `at` evaluated before the term is?
    fn is_evaluated(&self, at: usize, arg: usize) -> bool {
        let sym = self.heap.sym(self.symbols(), self.heap.deref(self.kept[at]));
        self.theory.functions[sym as usize].is_evaluated(arg)
    }

    /// Is an argument of the kept term at `at` one that rules may not touch?
    fn is_frozen(&self, at: usize, arg: usize) -> bool {
        let sy = self.symbols();
        let sym = self.heap.sym(sy, self.heap.deref(self.kept[at]));
        sy.class(sym) != Class::Assoc && self.theory.rules.frozen[sym as usize] >> arg.min(63) & 1 != 0
    }
}
