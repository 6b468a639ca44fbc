//! The automaton of the negated formula, and what layers need to know of its states.

use super::boundary::Entry;
use super::cache::Group;
use crate::check::fairness::FairTable;
use crate::check::scc::Marks;
use crate::logic::{Automaton, Cube, Simulation};
use std::cmp::Reverse;

/// An automaton with facts about its states, and the runs that count.
#[derive(Debug)]
pub struct Reader {
    pub automaton: Automaton,
    pub fair: FairTable,
    /// Marks that every accepted fair cycle has.
    pub required: Marks,
    /// States that accept whatever follows.
    pub accepts_all: Vec<bool>,
    /// States where the automaton may have begun the accepted part of a run.
    begun: Vec<bool>,
    simulation: Option<Simulation>,
}

impl Reader {
    pub fn new(mut automaton: Automaton, fair: FairTable) -> Self {
        // States that accept much are searched first: then others are known as well ([`Reader::covered`]).
        let reach: Vec<usize> = (0..automaton.edges.len()).map(|at| reach(&automaton, at)).collect();
        for out in &mut automaton.edges {
            out.sort_by_key(|edge| Reverse(reach[edge.to as usize]));
        }
        let all = automaton.all_marks();
        let accepts_all = (0u32..)
            .zip(&automaton.edges)
            .map(|(at, out)| out.iter().any(|e| e.to == at && e.label == Cube::ANY && e.marks == all))
            .collect();
        let (component, count) = automaton.components();
        let mut marks: Vec<Option<u64>> = vec![None; count];
        for (state, out) in automaton.edges.iter().enumerate() {
            let own = component[state];
            for edge in out.iter().filter(|edge| component[edge.to as usize] == own) {
                *marks[own as usize].get_or_insert(0) |= edge.marks;
            }
        }
        let begun = component.iter().map(|&own| marks[own as usize] == Some(all)).collect();
        // Marks that are met once change nothing, but let states simulate others that they include.
        let mut generous = automaton.clone();
        for (&own, out) in component.iter().zip(&mut generous.edges) {
            for edge in out.iter_mut().filter(|edge| component[edge.to as usize] != own) {
                edge.marks = all;
            }
        }
        let simulation = Simulation::between(&automaton, &generous);
        let required = Marks::from(all) | fair.weak();
        Reader { required, automaton, fair, accepts_all, begun, simulation }
    }

    /// The automaton states from which nothing is accepted in a state with these propositions if
    /// nothing is from `at`: each of their steps is one of `at`, or leads to where less is accepted.
    pub fn covered(&self, at: u32, props: u64) -> Vec<Group> {
        let simulates =
            |one: u32, other: u32| self.simulation.as_ref().is_some_and(|it| it.simulates(one, other));
        let covers = |to: u32| self.after(at, props).any(|own| own == to || simulates(own, to));
        let mut groups: Vec<Group> = Vec::new();
        for other in 0..self.automaton.edges.len() as u32 {
            if other == at || self.after(other, props).all(covers) {
                let (group, bit) = (other / 8, 1 << (other % 8));
                match groups.last_mut() {
                    Some((last, mask)) if *last == group => *mask |= bit,
                    _ => groups.push((group, bit)),
                }
            }
        }
        groups
    }

    /// Whether there is a step that reads a state with these propositions.
    pub fn reads(&self, at: u32, props: u64) -> bool {
        self.automaton.edges[at as usize].iter().any(|edge| edge.label.allows(props))
    }

    /// Where the automaton may be after reading a state with these propositions.
    pub fn after(&self, at: u32, props: u64) -> impl Iterator<Item = u32> + '_ {
        let edges = self.automaton.edges[at as usize].iter();
        edges.filter(move |edge| edge.label.allows(props)).map(|edge| edge.to)
    }

    /// Lets the accepted part of a run begin where the automaton can no longer be where it started.
    pub fn begun_late(mut self) -> Self {
        let (component, _) = self.automaton.components();
        let is_start = |own: u32| self.automaton.initial.iter().any(|&at| component[at as usize] == own);
        self.begun = component.iter().map(|&own| !is_start(own)).collect();
        self
    }

    /// Whether the automaton may have begun the accepted part of a run there: usually, whether it is on
    /// an accepting cycle. For `p |-> q` this means that q is owed, for `p |-> [] q` that p was met.
    pub fn is_begun(&self, at: u32) -> bool {
        self.begun[at as usize]
    }

    /// Drops automaton states beside one that accepts all that they accept: for one system state
    /// the other one is enough.
    pub fn thin(&self, entries: &mut Vec<Entry>) {
        let Some(simulation) = &self.simulation else { return };
        let mut place = 0;
        while place < entries.len() {
            let (at, rest) = (entries[place].at, entries.iter().enumerate());
            let covers = |other: u32| simulation.simulates(other, at);
            // Of two that accept the same the first one stays.
            let is_covered = |(i, other): (usize, &Entry)| {
                i != place && covers(other.at) && (i < place || !simulation.simulates(at, other.at))
            };
            if rest.map(is_covered).any(|covered| covered) {
                entries.remove(place);
            } else {
                place += 1;
            }
        }
    }
}

/// How many states can be reached from a state.
fn reach(automaton: &Automaton, at: usize) -> usize {
    let mut seen = vec![false; automaton.edges.len()];
    let mut work = vec![at];
    seen[at] = true;
    while let Some(at) = work.pop() {
        for edge in &automaton.edges[at] {
            if !std::mem::replace(&mut seen[edge.to as usize], true) {
                work.push(edge.to as usize);
            }
        }
    }
    seen.into_iter().filter(|&seen| seen).count()
}
