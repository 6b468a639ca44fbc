//! Smaller automata for the same language.
//!
//! * States that reach no accepting component are dropped; marks outside of components and
//!   acceptance sets that others imply are dropped.
//! * Parallel edges are joined where their labels form one cube.
//! * Bisimilar states are merged, by refining a partition.
//! * Direct simulation: q simulates p if it can answer each edge of p by one that reads at least the
//!   same letters, has at least the same marks, and leads to a state that simulates the other's.
//!   States that simulate each other are merged, and edges are dropped beside a better one
//!   (Etessami and Holzmann, CONCUR 2000; on transitions as in Babiak and others, SPIN 2013).

use super::automaton::{Automaton, Cube, Edge};
use rustc_hash::FxHashMap;

/// Work that simulation may do per round, in comparisons of edges; larger automata go without.
const SIMULATION_WORK_MAX: usize = 20_000_000;

/// An automaton for the same words, usually smaller.
pub fn reduce(automaton: &Automaton) -> Automaton {
    let mut current = prune(automaton);
    loop {
        let mut next = merge_bisimilar(&join_edges(&current));
        if let Some(simulation) = Simulation::new(&next) {
            next = simulation.apply(&next);
        }
        next = prune(&join_edges(&next));
        // Every step keeps or lowers the size, so this ends.
        if next.size() >= current.size() {
            return current;
        }
        current = next;
    }
}

/// Keeps states on some accepted run, numbered from the initial ones, and the marks that matter.
fn prune(automaton: &Automaton) -> Automaton {
    let (component, count) = automaton.components();
    let accepting = automaton.accepting(&component, count);
    // Components are numbered after what they reach.
    let mut useful = accepting.clone();
    let mut by_component: Vec<Vec<u32>> = vec![Vec::new(); count];
    for (state, &c) in component.iter().enumerate() {
        by_component[c as usize].push(state as u32);
    }
    for c in 0..count {
        let reaches = |&state: &u32| {
            automaton.edges[state as usize].iter().any(|edge| useful[component[edge.to as usize] as usize])
        };
        if !useful[c] && by_component[c].iter().any(reaches) {
            useful[c] = true;
        }
    }
    let is_useful = |state: u32| useful[component[state as usize] as usize];

    const NONE: u32 = u32::MAX;
    let mut number = vec![NONE; automaton.edges.len()];
    let mut order: Vec<u32> = Vec::new();
    let mut visit = |state: u32, order: &mut Vec<u32>| {
        if number[state as usize] == NONE {
            number[state as usize] = order.len() as u32;
            order.push(state);
        }
        number[state as usize]
    };
    let mut initial: Vec<u32> = Vec::new();
    for &state in automaton.initial.iter().filter(|&&state| is_useful(state)) {
        let new = visit(state, &mut order);
        if !initial.contains(&new) {
            initial.push(new);
        }
    }
    let mut edges: Vec<Vec<Edge>> = Vec::new();
    while edges.len() < order.len() {
        let state = order[edges.len()];
        let own = component[state as usize];
        let mut out = Vec::new();
        for edge in automaton.edges[state as usize].iter().filter(|edge| is_useful(edge.to)) {
            let stays = component[edge.to as usize] == own && accepting[own as usize];
            let marks = if stays { edge.marks } else { 0 };
            out.push(Edge { to: visit(edge.to, &mut order), marks, ..*edge });
        }
        edges.push(out);
    }
    drop_implied_sets(Automaton { initial, edges, sets: automaton.sets })
}

/// Drops acceptance sets that contain another one, or every edge of a cycle.
fn drop_implied_sets(mut automaton: Automaton) -> Automaton {
    let (component, _) = automaton.components();
    let mut inner: Vec<u64> = Vec::new();
    for (state, edges) in automaton.edges.iter().enumerate() {
        let stays = |edge: &&Edge| component[edge.to as usize] == component[state];
        inner.extend(edges.iter().filter(stays).map(|edge| edge.marks));
    }
    inner.sort_unstable();
    inner.dedup();
    let mut kept: Vec<u32> = (0..automaton.sets).collect();
    for set in 0..automaton.sets {
        let bit = |marks: u64, set: u32| marks >> set & 1 == 1;
        let everywhere = inner.iter().all(|&marks| bit(marks, set));
        let mut others = kept.iter().filter(|&&other| other != set);
        let implied = others.any(|&other| inner.iter().all(|&marks| !bit(marks, other) || bit(marks, set)));
        if everywhere || implied {
            kept.retain(|&other| other != set);
        }
    }
    for edge in automaton.edges.iter_mut().flatten() {
        let marks = kept.iter().enumerate().map(|(new, &old)| (edge.marks >> old & 1) << new);
        edge.marks = marks.fold(0, |all, bit| all | bit);
    }
    automaton.sets = kept.len() as u32;
    automaton
}

/// Drops edges that a parallel edge covers, and joins labels that differ in one literal.
fn join_edges(automaton: &Automaton) -> Automaton {
    let join = |edges: &Vec<Edge>| {
        let mut kept: Vec<Edge> = Vec::new();
        let mut work: Vec<Edge> = edges.iter().rev().copied().collect();
        while let Some(edge) = work.pop() {
            let covers =
                |a: &Edge, b: &Edge| a.to == b.to && b.marks & !a.marks == 0 && a.label.covers(b.label);
            if kept.iter().any(|other| covers(other, &edge)) {
                continue;
            }
            let partner = kept.iter().position(|other| {
                other.to == edge.to && other.marks == edge.marks && joined(other.label, edge.label).is_some()
            });
            match partner {
                Some(at) => {
                    let other = kept.remove(at);
                    let label = joined(other.label, edge.label).expect("just seen");
                    work.push(Edge { label, ..edge });
                }
                None => {
                    kept.retain(|other| !covers(&edge, other));
                    kept.push(edge);
                }
            }
        }
        kept
    };
    Automaton { edges: automaton.edges.iter().map(join).collect(), ..automaton.clone() }
}

/// `x a` or `x (not a)` is `x`.
fn joined(a: Cube, b: Cube) -> Option<Cube> {
    let flipped = a.pos ^ b.pos;
    let same_props = (a.pos | a.neg) == (b.pos | b.neg);
    (same_props && flipped.count_ones() == 1).then_some(Cube { pos: a.pos & !flipped, neg: a.neg & !flipped })
}

/// Merges states with equal behaviour, label by label.
fn merge_bisimilar(automaton: &Automaton) -> Automaton {
    let mut class = vec![0u32; automaton.edges.len()];
    let mut count = usize::from(!class.is_empty());
    loop {
        let mut numbers: FxHashMap<(u32, Vec<Edge>), u32> = FxHashMap::default();
        let mut next = Vec::with_capacity(class.len());
        for (state, edges) in automaton.edges.iter().enumerate() {
            let mut out: Vec<Edge> =
                edges.iter().map(|edge| Edge { to: class[edge.to as usize], ..*edge }).collect();
            out.sort_unstable();
            out.dedup();
            let fresh = numbers.len() as u32;
            next.push(*numbers.entry((class[state], out)).or_insert(fresh));
        }
        class = next;
        if numbers.len() == count {
            break;
        }
        count = numbers.len();
    }
    let mut representative: Vec<Option<usize>> = vec![None; count];
    for (state, &c) in class.iter().enumerate() {
        representative[c as usize].get_or_insert(state);
    }
    quotient(automaton, &class, &representative.into_iter().flatten().collect::<Vec<_>>())
}

/// The automaton on classes; each class has the edges of its representative.
fn quotient(automaton: &Automaton, class: &[u32], representative: &[usize]) -> Automaton {
    let edges = representative
        .iter()
        .map(|&state| {
            let mut out: Vec<Edge> = Vec::new();
            for edge in &automaton.edges[state] {
                let edge = Edge { to: class[edge.to as usize], ..*edge };
                if !out.contains(&edge) {
                    out.push(edge);
                }
            }
            out
        })
        .collect();
    let mut initial: Vec<u32> = Vec::new();
    for &state in &automaton.initial {
        if !initial.contains(&class[state as usize]) {
            initial.push(class[state as usize]);
        }
    }
    Automaton { initial, edges, sets: automaton.sets }
}

/// The largest direct simulation.
#[derive(Debug)]
pub struct Simulation {
    count: usize,
    /// Entry `p * count + q`: q simulates p.
    simulated: Vec<bool>,
}

impl Simulation {
    /// None if the automaton is too large.
    pub fn new(automaton: &Automaton) -> Option<Self> {
        Simulation::between(automaton, automaton)
    }

    /// How the states of an automaton are simulated by those of another one with as many. None if they
    /// are too large.
    pub fn between(automaton: &Automaton, other: &Automaton) -> Option<Self> {
        let edges = automaton.edge_count();
        if edges.saturating_mul(edges) > SIMULATION_WORK_MAX {
            return None;
        }
        let count = automaton.edges.len();
        let mut simulation = Simulation { count, simulated: vec![true; count * count] };
        let mut changed = true;
        while changed {
            changed = false;
            for p in 0..count {
                for q in 0..count {
                    if !simulation.simulated[p * count + q] {
                        continue;
                    }
                    let answers =
                        |edge: &Edge| other.edges[q].iter().any(|answer| simulation.better(answer, edge));
                    if !automaton.edges[p].iter().all(answers) {
                        simulation.simulated[p * count + q] = false;
                        changed = true;
                    }
                }
            }
        }
        Some(simulation)
    }

    /// Whether q accepts all that p does, step by step.
    pub fn simulates(&self, q: u32, p: u32) -> bool {
        self.simulated[p as usize * self.count + q as usize]
    }

    fn better(&self, a: &Edge, b: &Edge) -> bool {
        b.marks & !a.marks == 0 && a.label.covers(b.label) && self.simulates(a.to, b.to)
    }

    /// Merges states that simulate each other, then drops edges beside better ones.
    fn apply(&self, automaton: &Automaton) -> Automaton {
        let mut class = Vec::with_capacity(self.count);
        let mut representative: Vec<usize> = Vec::new();
        for state in 0..self.count {
            let equal = |&other: &usize| {
                self.simulates(state as u32, other as u32) && self.simulates(other as u32, state as u32)
            };
            let known = representative.iter().position(equal).unwrap_or_else(|| {
                representative.push(state);
                representative.len() - 1
            });
            class.push(known as u32);
        }
        let mut merged = quotient(automaton, &class, &representative);
        let original = |class: u32| representative[class as usize] as u32;
        for edges in &mut merged.edges {
            // Different edges cannot both be better than the other: their targets would be merged.
            let all = edges.clone();
            let better = |a: &Edge, b: &Edge| {
                let there = |edge: &Edge| Edge { to: original(edge.to), ..*edge };
                a != b && self.better(&there(a), &there(b))
            };
            edges.retain(|edge| !all.iter().any(|other| better(other, edge)));
        }
        let starts = merged.initial.clone();
        merged
            .initial
            .retain(|&p| !starts.iter().any(|&q| q != p && self.simulates(original(q), original(p))));
        merged
    }
}

/// An automaton with at most one acceptance set for the same words: a counter waits for the sets one
/// after the other.
pub fn degeneralize(automaton: &Automaton) -> Automaton {
    if automaton.sets <= 1 {
        return automaton.clone();
    }
    let sets = automaton.sets;
    let mut edges = Vec::with_capacity(automaton.edges.len() * sets as usize);
    for out in &automaton.edges {
        for waiting in 0..sets {
            let step = |edge: &Edge| {
                let mut level = waiting;
                while level < sets && edge.marks >> level & 1 == 1 {
                    level += 1;
                }
                let full = level == sets;
                if full {
                    level = 0;
                    while level < waiting && edge.marks >> level & 1 == 1 {
                        level += 1;
                    }
                }
                Edge { to: edge.to * sets + level, label: edge.label, marks: u64::from(full) }
            };
            edges.push(out.iter().map(step).collect());
        }
    }
    prune(&Automaton { initial: automaton.initial.iter().map(|&s| s * sets).collect(), edges, sets: 1 })
}
