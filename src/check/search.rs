//! The search for a run that an automaton accepts, in the product with the state graph.
//!
//! Breadth-first ([`Target::explore`]): complete, in parallel, with short runs. The product is searched
//! whenever it has doubled. Depth-first ([`Target::probe`]): a bounded look ahead on one thread, which
//! finds violations that are deep but lie on many paths.

use super::emptiness;
use super::fairness::FairTable;
use super::lasso::{self, Lasso};
use super::limits::Limits;
use super::product::{Explored, Product};
use super::scc::{Arc, Graph, first_component};
use super::space::{Node, Space};
use crate::base::Interrupt;
use crate::graph::Stop;
use crate::logic::{Automaton, Cube};

/// Where to look.
#[derive(Clone, Copy, Debug)]
pub enum Extent {
    /// Only where states have been expanded.
    Known,
    /// Everywhere; first when the product has so many pairs, then whenever it has doubled.
    All { first_look: usize },
}

/// What to look for.
pub struct Target<'a> {
    automaton: &'a Automaton,
    fair: &'a FairTable,
    /// Automaton states that accept whatever follows; a run may end there.
    accepts_all: Vec<bool>,
}

impl<'a> Target<'a> {
    /// Accepted fair runs; those that are accepted however they go on may end.
    pub fn new(automaton: &'a Automaton, fair: &'a FairTable) -> Self {
        let all = automaton.all_marks();
        let accepts_all = (0u32..)
            .zip(&automaton.edges)
            .map(|(at, out)| out.iter().any(|e| e.to == at && e.label == Cube::ANY && e.marks == all))
            .collect();
        Target { automaton, fair, accepts_all }
    }

    /// Accepted fair runs that end in a cycle.
    pub fn with_cycle(automaton: &'a Automaton, fair: &'a FairTable) -> Self {
        Target { automaton, fair, accepts_all: vec![false; automaton.edges.len()] }
    }

    /// A run from the root, if there is one.
    pub fn explore(
        &self,
        space: &mut Space,
        root: Node,
        limits: &Limits,
        extent: Extent,
    ) -> Result<Option<Lasso>, Stop> {
        let mut product = Product::new(root, self.automaton, self.fair);
        let (grow, mut next_look) = match extent {
            Extent::Known => (false, usize::MAX),
            Extent::All { first_look } => (true, first_look),
        };
        let mut seen = 0;
        loop {
            let allowed = if grow { limits.check_states(product.len()) } else { Ok(()) };
            let result = allowed.and_then(|()| product.advance(space, limits, grow));
            if result == Err(Stop::Interrupted(Interrupt::Cancelled)) {
                return result.map(|()| None);
            }
            let is_end = |number: usize| self.accepts_all[product.pair(number as u32).1 as usize];
            if (seen..product.len()).any(is_end) {
                return self.open_run(&mut product, space);
            }
            seen = product.len();
            let complete = result.is_ok() && product.is_complete();
            if complete || result.is_err() || product.len() >= next_look {
                if let Some(run) = cyclic_run(&mut product, space)? {
                    return Ok(Some(run));
                }
                next_look = product.len() * 2;
            }
            result?;
            if complete {
                return Ok(None);
            }
        }
    }

    /// A run from the root, if depth-first search comes across one before it has expanded so many
    /// new states.
    pub fn probe(
        &self,
        space: &mut Space,
        root: Node,
        limits: &Limits,
        states_max: usize,
    ) -> Result<Option<Lasso>, Stop> {
        let mut product = Product::new(root, self.automaton, self.fair);
        let required = product.required();
        let starts = product.starts();
        let mut ahead = Ahead {
            product: &mut product,
            space,
            limits,
            accepts_all: &self.accepts_all,
            expansions_left: states_max,
            pairs_max: 4 * states_max,
            reached_end: false,
            stop: None,
        };
        let found = first_component(&mut ahead, starts, |marks| marks & required == required);
        let (reached_end, stop) = (ahead.reached_end, ahead.stop);
        if stop == Some(Stop::Interrupted(Interrupt::Cancelled)) {
            return Err(Stop::Interrupted(Interrupt::Cancelled));
        }
        // Other reasons to stop will be met again by the search that follows.
        product.close();
        if reached_end {
            self.open_run(&mut product, space)
        } else if found.is_some() {
            cyclic_run(&mut product, space)
        } else {
            Ok(None)
        }
    }

    fn open_run(&self, product: &mut Product, space: &mut Space) -> Result<Option<Lasso>, Stop> {
        lasso::shortest_open(product, space, |at| self.accepts_all[at as usize])
    }
}

fn cyclic_run(product: &mut Product, space: &mut Space) -> Result<Option<Lasso>, Stop> {
    let parts = emptiness::accepting(product, space);
    if parts.is_empty() { Ok(None) } else { lasso::shortest(product, space, &parts).map(Some) }
}

/// The product as a graph that expands states as they are reached, up to a bound.
struct Ahead<'p, 'a, 's> {
    product: &'p mut Product<'a>,
    space: &'p mut Space<'s>,
    limits: &'p Limits,
    accepts_all: &'p [bool],
    expansions_left: usize,
    /// Pairs, expanded or not, that may be visited.
    pairs_max: usize,
    reached_end: bool,
    stop: Option<Stop>,
}

impl Graph for Ahead<'_, '_, '_> {
    type Cursor = Option<(u32, u32)>;

    fn arc(&mut self, node: u32, cursor: &mut Self::Cursor) -> Option<Arc> {
        if self.reached_end || self.stop.is_some() || self.product.len() > self.pairs_max {
            return None;
        }
        let place = match cursor {
            Some(place) => place,
            None => {
                if self.product.needs_expansion(self.space, node) {
                    if self.expansions_left == 0 {
                        return None;
                    }
                    self.expansions_left -= 1;
                    if let Err(stop) = self.product.expand_one(self.space, node, self.limits) {
                        self.stop = Some(stop);
                        return None;
                    }
                }
                cursor.insert((0, 0))
            }
        };
        let arc = Explored { product: self.product, space: self.space }.arc_anywhere(node, place)?;
        self.reached_end = self.accepts_all[self.product.pair(arc.to).1 as usize];
        Some(arc)
    }
}
