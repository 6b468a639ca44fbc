//! Matching modulo any combination of assoc, comm, identity, idem and iter, in Maude's order.
//!
//! A [`Pattern`] is compiled once per statement; a [`Match`] is one matching problem in
//! progress, which gives its solutions one by one. As in Maude, a problem is solved in two
//! phases: the *match* phase goes through the pattern once, binds what is forced, and leaves
//! a list of subproblems; the *solve* phase enumerates the solutions of that list by
//! backtracking, the last subproblem varying fastest. The order of solutions is the one that
//! Maude has, with one deliberate difference: a ground
//! associative pattern matches at every occurrence, not just the leftmost.
//!
//! There are two modes. If every variable is needed ([`Needed::Everything`]) all solutions are
//! enumerated. Otherwise variables outside the given set may be bound greedily, so that only
//! solutions that differ in a needed variable are certain to be enumerated.
//!
//! Files: [`pattern`] is the compiled form, `compile` makes it with the help of `analysis` and
//! `shapes`; `run` holds what all theories share; `free`, `iter`, `cui`, `ac`, `greedy` and
//! `assoc` are one theory each; `diophantine` distributes multisets; [`reference`] is the plain
//! twin that the tests compare with.

mod ac;
mod analysis;
mod assoc;
mod compile;
mod cui;
mod diophantine;
mod free;
mod greedy;
mod iter;
mod pattern;
pub mod reference;
mod run;
mod shapes;

use crate::sorts::{Signature, Tree, Var};
use crate::term::{Heap, Int, Symbols, Term, VarOrder};

pub use pattern::Pattern;
pub use shapes::Shapes;

use run::{Run, State, Sub};

/// Which variables must be enumerated in full.
#[derive(Clone, Copy, Debug)]
pub enum Needed<'a> {
    /// All of them: `search`, `match`, conditions with `:=` and `=>`.
    Everything,
    /// Those in these slots (the variables of the statement's condition): equations,
    /// memberships, `rewrite`.
    Only(&'a [u16]),
}

/// What a pattern is compiled from.
pub struct PatternSpec<'a> {
    pub sig: &'a Signature,
    pub sy: &'a Symbols,
    pub shapes: &'a Shapes,
    pub tree: &'a Tree,
    /// The order on variables inside terms, by which a pattern's arguments are sorted.
    pub vars: &'a dyn VarOrder,
    /// The place of each variable in the frame.
    pub slot: &'a dyn Fn(Var) -> u16,
    /// Slots that are certainly bound before matching starts.
    pub bound: &'a [u16],
    pub needed: Needed<'a>,
    /// The variables whose values are used, if that is not all of them. Nobody asks for the least sort of what
    /// others take.
    pub read: Option<&'a [u16]>,
    /// May an operator with assoc or iter at the top match part of the subject?
    pub extension: bool,
    /// Makes one more slot in the frame, for a subpattern that may collapse.
    pub fresh: &'a mut dyn FnMut() -> u16,
    /// The index in [`Heap::consts`] of a ground term (normalized modulo axioms only).
    pub constant: &'a mut dyn FnMut(&Tree) -> u32,
}

/// What matching works with.
pub struct Context<'a> {
    pub heap: &'a mut Heap,
    pub sy: &'a Symbols,
    /// Applies membership axioms to a list or multiset that matching has just built. Called
    /// only for operators that [`Shapes`] was told have memberships.
    pub resort: &'a mut dyn FnMut(&mut Heap, Term),
}

/// What an extension left of the subject.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Rest {
    /// Nothing: the whole subject was matched.
    #[default]
    Whole,
    /// The elements of the subject's multiset that were not matched.
    Bag(Term),
    /// What stands to the left and to the right of the matched part of a list; `identity` if the
    /// part also has a one-sided identity that vanishes beside what is left.
    List { left: Option<Term>, right: Option<Term>, identity: bool },
    /// How many applications of the subject's iter operator are left around the matched part.
    Iter(Int),
}

/// One matching problem in progress. The object is reusable and keeps its buffers.
#[derive(Debug, Default)]
pub struct Match {
    state: State,
    subs: Vec<Sub>,
    live: bool,
}

impl Match {
    pub fn new() -> Match {
        Match::default()
    }

    /// Starts a problem and binds its first solution. Slots hold [`Term::NONE`] if unbound.
    /// If there is no solution, slots are as before.
    pub fn first(&mut self, cx: &mut Context, pattern: &Pattern, subject: Term, slots: &mut [Term]) -> bool {
        self.state.reset();
        self.state.recycle(&mut self.subs);
        let mut subs = std::mem::take(&mut self.subs);
        let mut run = Run { cx, pattern, slots, state: &mut self.state };
        self.live = run.match_node(pattern.root, subject, pattern.extension, &mut subs)
            && run.solve_all(&mut subs, true);
        if !self.live {
            run.undo(0);
            self.state.recycle(&mut subs);
        }
        self.subs = subs;
        self.live
    }

    /// Undoes the bindings of the previous solution and binds the next one. After `false`
    /// the slots are as before [`Match::first`].
    pub fn next(&mut self, cx: &mut Context, pattern: &Pattern, slots: &mut [Term]) -> bool {
        if !self.live {
            return false;
        }
        let mut subs = std::mem::take(&mut self.subs);
        let mut run = Run { cx, pattern, slots, state: &mut self.state };
        self.live = run.solve_all(&mut subs, false);
        if !self.live {
            run.undo(0);
            self.state.recycle(&mut subs);
        }
        self.subs = subs;
        self.live
    }

    /// What the extension left, of the present solution.
    pub fn rest(&self) -> &Rest {
        &self.state.rest
    }

    /// Gives up the problem in progress without touching the slots, and drops all terms.
    pub fn abandon(&mut self) {
        self.state.reset();
        self.state.recycle(&mut self.subs);
        self.live = false;
    }

    /// Visits every term held between calls, for the garbage collector.
    pub fn roots(&mut self, f: &mut dyn FnMut(&mut Term)) {
        self.state.roots(f);
        for sub in &mut self.subs {
            sub.roots(f);
        }
    }
}

impl Rest {
    fn roots(&mut self, f: &mut dyn FnMut(&mut Term)) {
        match self {
            Rest::Bag(t) => f(t),
            Rest::List { left, right, .. } => {
                left.iter_mut().chain(right).for_each(f);
            }
            Rest::Whole | Rest::Iter(_) => {}
        }
    }
}
