//! The search for a run that an automaton accepts, in the product with the state graph.
//!
//! Breadth-first ([`Target::explore`]): complete, in parallel, with short runs. What has been reached
//! is searched whenever it has doubled. Depth-first ([`Target::probe`]): a bounded look ahead on one thread, which
//! finds violations that are deep but lie on many paths.

use super::emptiness;
use super::fairness::FairTable;
use super::lasso::{self, Lasso};
use super::limits::Limits;
use super::product::{Core, Product, Question};
use super::reached::Reached;
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
    question: Question<'a>,
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
        Target { question: Question { automaton, fair }, accepts_all }
    }

    /// Accepted fair runs that end in a cycle.
    pub fn with_cycle(automaton: &'a Automaton, fair: &'a FairTable) -> Self {
        let question = Question { automaton, fair };
        Target { question, accepts_all: vec![false; automaton.edges.len()] }
    }

    /// A run from the root, if there is one.
    pub fn explore(
        &self,
        space: &mut Space,
        root: Node,
        limits: &Limits,
        extent: Extent,
    ) -> Result<Option<Lasso>, Stop> {
        let mut reached = Reached::new(root, self.question.automaton);
        let (grow, mut next_look) = match extent {
            Extent::Known => (false, usize::MAX),
            Extent::All { first_look } => (true, first_look),
        };
        // What is known has been seen to have such a run, which is worth more than the limit.
        let unlimited = Limits::default();
        let look_limits = if grow { limits } else { &unlimited };
        let mut is_near = reached.is_near(&self.accepts_all);
        loop {
            if is_near {
                let mut product = Product::new(self.question);
                let starts = product.starts(root);
                let test = |at: u32| self.accepts_all[at as usize];
                let open = lasso::shortest_open(&mut product, starts, space, test)?;
                // A cycle may have been closed before.
                return match open {
                    Some(open) if open.steps.len() > 1 => {
                        reached.settle(space);
                        // If there is no room for that, the other one will do.
                        let cyclic = self.cyclic_run(&reached, root, space, look_limits).ok().flatten();
                        let is_shorter = |run: &Lasso| run.steps.len() < open.steps.len();
                        Ok(Some(cyclic.filter(is_shorter).unwrap_or(open)))
                    }
                    open => Ok(open),
                };
            }
            let allowed = if grow { limits.check_states(reached.len()) } else { Ok(()) };
            let result = allowed.and_then(|()| reached.advance(self.question, space, limits, grow));
            if result == Err(Stop::Interrupted(Interrupt::Cancelled)) {
                return result.map(|()| None);
            }
            is_near = reached.is_near(&self.accepts_all);
            if is_near {
                continue;
            }
            let complete = result.is_ok() && reached.is_complete();
            if complete || result.is_err() || reached.len() >= next_look {
                reached.settle(space);
                match self.cyclic_run(&reached, root, space, look_limits) {
                    Ok(Some(run)) => return Ok(Some(run)),
                    // No room for a look at so much; a violation may show in other ways.
                    Err(Stop::Interrupted(Interrupt::Memory)) if !complete => {}
                    looked => looked.map(|_| ())?,
                }
                next_look = reached.len() * 2;
            }
            result?;
            if complete {
                space.gap(|node, props| match props {
                    Some(props) => grow && reached.reads(self.question, node, props),
                    None => grow && reached.meets(self.question, node),
                })?;
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
        // The tables of earlier searches are no more.
        space.beside = 0;
        let mut product = Product::new(self.question);
        let starts = product.starts(root);
        let required = self.question.required();
        let mut ahead = Ahead {
            product,
            space,
            limits,
            accepts_all: &self.accepts_all,
            expansions_left: states_max,
            pairs_max: 4 * states_max,
            reached_end: false,
            stop: None,
        };
        let found = first_component(&mut ahead, starts, |marks| marks & required == required);
        // Other reasons to stop will be met again by the search that follows, if it needs as much memory.
        if ahead.stop == Some(Stop::Interrupted(Interrupt::Cancelled)) {
            return Err(Stop::Interrupted(Interrupt::Cancelled));
        }
        let reached_end = ahead.reached_end;
        drop(ahead);
        if reached_end || matches!(found, Ok(Some(_))) {
            self.explore(space, root, limits, Extent::Known)
        } else {
            Ok(None)
        }
    }

    fn cyclic_run(
        &self,
        reached: &Reached,
        root: Node,
        space: &mut Space,
        limits: &Limits,
    ) -> Result<Option<Lasso>, Stop> {
        let mut core = Core::new(self.question, reached, space, limits);
        let mut parts = emptiness::accepting(self.question, &mut core)?;
        if parts.is_empty() {
            return Ok(None);
        }
        let core = core.product;
        let mut product = Product::new(self.question);
        // Numbers are new, so their order stays.
        for number in parts.iter_mut().flat_map(|part| &mut part.local.nodes) {
            let (node, at) = core.pair(*number);
            *number = product.number(node, at);
        }
        let starts = product.starts(root);
        lasso::shortest(&mut product, starts, space, &parts).map(Some)
    }
}

/// The product as a graph that expands states as they are reached, up to a bound.
struct Ahead<'p, 'a, 's> {
    product: Product<'a>,
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
        let arc = self.product.next(self.space, node, place, |_, _| true)?;
        self.reached_end = self.accepts_all[self.product.pair(arc.to).1 as usize];
        Some(arc)
    }

    fn room(&mut self, bytes: usize) -> Result<(), Stop> {
        self.space.beside = self.product.memory() + bytes;
        self.limits.check_memory(self.space.memory())
    }
}
