//! Which components of the product contain an accepted fair run.
//!
//! A component that meets all acceptance sets and weak fairness conditions, and takes every strong
//! condition that it enables, contains one. If it enables a strong condition without taking it, a
//! fair run must leave the states that enable it: they are removed and the rest is looked at again
//! (Emerson and Lei 1987, for Streett conditions).

use super::product::{Core, Question};
use super::scc::{Arc, Component, Graph, Marks, components};
use crate::graph::Stop;

/// A part of the product through all of whose nodes an accepted fair run can pass for ever.
#[derive(Debug)]
pub struct Accepting {
    pub local: Local,
    /// Marks that every accepted fair cycle has.
    pub required: Marks,
    /// Strong fairness conditions that each place enables; empty if there are none. A cycle that
    /// has their marks as well is fair.
    pub enabled: Vec<Marks>,
}

/// A strongly connected part of a graph with its own numbers.
#[derive(Debug, Default)]
pub struct Local {
    /// The numbers outside, by place, ascending.
    pub nodes: Vec<u32>,
    /// Edges inside, by place; ends are places.
    pub arcs: Vec<Vec<Arc>>,
}

impl Local {
    pub fn new<G: Graph>(graph: &mut G, mut nodes: Vec<u32>) -> Self {
        nodes.sort_unstable();
        let mut arcs = Vec::with_capacity(nodes.len());
        for &node in &nodes {
            let (mut out, mut cursor) = (Vec::new(), G::Cursor::default());
            while let Some(arc) = graph.arc(node, &mut cursor) {
                if let Ok(place) = nodes.binary_search(&arc.to) {
                    out.push(Arc { to: place as u32, ..arc });
                }
            }
            arcs.push(out);
        }
        Local { nodes, arcs }
    }

    /// The part of it that has these places.
    fn restrict(&mut self, places: Vec<u32>) -> Local {
        let mut part = Local::new(self, places);
        for node in &mut part.nodes {
            *node = self.nodes[*node as usize];
        }
        part
    }
}

impl Graph for Local {
    type Cursor = usize;

    fn arc(&mut self, node: u32, cursor: &mut usize) -> Option<Arc> {
        let arc = self.arcs[node as usize].get(*cursor).copied();
        *cursor += 1;
        arc
    }
}

/// All of them.
pub fn accepting(question: Question, core: &mut Core) -> Result<Vec<Accepting>, Stop> {
    let (required, strong) = (question.required(), question.fair.strong());
    let pairs = core.pairs();
    let found = components(core, pairs, |marks| marks & required == required)?;
    let mut result = Vec::new();
    for Component { nodes, marks } in found {
        let local = Local::new(core, nodes);
        let enabled = |number: u32| question.enabled_strong(core.space, core.product.pair(number).0);
        result.extend(fair_parts(local, marks, required, strong, enabled)?);
    }
    Ok(result)
}

/// The accepting parts of a component that has the required marks. `enabled` says which of the strong
/// fairness conditions a node enables.
pub fn fair_parts(
    local: Local,
    marks: Marks,
    required: Marks,
    strong: Marks,
    enabled: impl Fn(u32) -> Marks,
) -> Result<Vec<Accepting>, Stop> {
    if strong == 0 {
        return Ok(vec![Accepting { local, required, enabled: Vec::new() }]);
    }
    let (mut result, mut work) = (Vec::new(), vec![(local, marks)]);
    while let Some((mut local, marks)) = work.pop() {
        let all = local.nodes.iter().fold(0, |all, &number| all | enabled(number));
        let missed = all & !marks;
        if missed == 0 {
            let enabled = local.nodes.iter().map(|&number| enabled(number)).collect();
            result.push(Accepting { local, required, enabled });
            continue;
        }
        let kept = (0..local.nodes.len() as u32)
            .filter(|&place| enabled(local.nodes[place as usize]) & missed == 0)
            .collect();
        let mut rest = local.restrict(kept);
        let places = 0..rest.nodes.len() as u32;
        for part in components(&mut rest, places, |marks| marks & required == required)? {
            work.push((rest.restrict(part.nodes), part.marks));
        }
    }
    Ok(result)
}
