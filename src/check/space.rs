//! The part of the state graph that has been explored, shared by all formulas of a run.
//!
//! Nodes are numbered in the order in which the checkers meet them, which is the same for any number
//! of threads: workers compute successors and propositions of a batch in parallel, and one thread
//! then takes their results in the order of the batch. That part only moves numbers, so it is cheap
//! beside rewriting. Each state is expanded at most once and its propositions are evaluated at most
//! once, and only if somebody asks. Deadlocks get an edge to themselves.

use super::limits::Limits;
use super::nodes::Nodes;
use super::targets::{Row, Targets};
use crate::base::{Interrupt, by_own_threads};
use crate::graph::{RuleId, State, Stop, System, Worker};
use rayon::ThreadPool;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of a state in order of discovery.
pub type Node = u32;

/// States that a worker takes at a time.
const CHUNK: usize = 64;
/// States whose successors cannot be computed, before no more are tried.
const GAPS_MAX: usize = 16;

/// The explored part of a system.
pub struct Space<'s> {
    workers: Vec<Box<dyn Worker + Send + 's>>,
    /// For what was seen before.
    witness: Box<dyn Worker + Send + 's>,
    pool: Option<&'s ThreadPool>,
    nodes: Nodes,
    targets: Targets,
    /// The rules of the edges, if somebody needs them.
    rules: Option<Vec<RuleId>>,
    /// Hears about every batch.
    pub watcher: Option<Watcher>,
    /// Nodes of which perhaps not all edges are known, and why that is.
    gaps: Vec<(Node, Stop)>,
    /// Where runs start, once that is known.
    root: Option<Node>,
    /// Nothing more is explored, and why.
    pub closed: Option<Stop>,
    /// Room for what a single thread finds.
    found: Found,
    /// Bytes of the tables of whoever explores.
    pub beside: usize,
}

/// How far exploration is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub states: usize,
    pub transitions: usize,
}

/// Someone who hears now and then how far a check is.
pub type Watcher = Box<dyn FnMut(&Progress) + Send>;

/// A state to expand, and a mark that the caller's test understands.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub node: Node,
    pub tag: u64,
}

/// What a worker found out about a chunk.
#[derive(Default)]
struct Found {
    /// Propositions, and the number of transitions if the state was expanded.
    rows: Vec<(u64, Option<u32>)>,
    transitions: Vec<(RuleId, State)>,
    /// Rows of states that may have more transitions.
    gaps: Vec<(usize, Stop)>,
    /// Why it ended early.
    stop: Option<Stop>,
}

impl<'s> Space<'s> {
    /// Nothing explored yet. With a pool, every thread of it works. `keep_rules` stores the rule of
    /// each edge and keeps edges apart that differ only in it.
    pub fn new<S: System>(system: &'s S, pool: Option<&'s ThreadPool>, keep_rules: bool) -> Self {
        let boxed = || Box::new(system.worker()) as Box<dyn Worker + Send + 's>;
        Space {
            // Each thread makes its own, in memory of its own.
            workers: pool.map_or_else(|| vec![boxed()], |pool| pool.broadcast(|_| boxed())),
            witness: Box::new(system.witness()),
            pool,
            nodes: Nodes::default(),
            targets: Targets::default(),
            rules: keep_rules.then(Vec::new),
            watcher: None,
            gaps: Vec::new(),
            root: None,
            closed: None,
            found: Found::default(),
            beside: 0,
        }
    }

    /// The node of the initial state.
    pub fn initial(&mut self) -> Result<Node, Stop> {
        if let Some(root) = self.root {
            return Ok(root);
        }
        if let Some(why) = &self.closed {
            return Err(why.clone());
        }
        let state = self.workers[0].initial()?;
        let root = self.nodes.meet(state)?;
        self.root = Some(root);
        Ok(root)
    }

    /// From now on only the propositions of these that are not known yet are evaluated, and those that take little.
    pub fn ask(&mut self, needed: u64) {
        let asked = needed | self.workers[0].light();
        self.nodes.ask(needed, asked);
        self.workers[0].ask(asked);
    }

    /// How many states were met.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// How many transitions were found, of which those with equal ends count once.
    pub fn edge_count(&self) -> usize {
        self.targets.len()
    }

    /// Bytes that the tables, those beside them and the system take.
    pub fn memory(&self) -> usize {
        self.tables() + self.workers[0].bytes()
    }

    fn tables(&self) -> usize {
        let rules = 4 * self.rules.as_ref().map_or(0, Vec::len);
        self.nodes.memory() + self.targets.memory() + rules + self.beside
    }

    /// Checks the memory, and tells the system how much there is for it: it also grows between two checks.
    pub fn confine(&self, limits: &Limits) -> Result<(), Stop> {
        let tables = self.tables();
        let left = |all: u64| usize::try_from(all).unwrap_or(usize::MAX).saturating_sub(tables);
        self.workers[0].confine(limits.memory_max.map_or(usize::MAX, left));
        limits.check_memory(tables + self.workers[0].bytes())
    }

    /// The system's number of a node.
    pub fn state(&self, node: Node) -> State {
        self.nodes.state(node)
    }

    /// The node of a state that was met.
    pub fn node(&self, state: State) -> Option<Node> {
        self.nodes.node(state)
    }

    /// The propositions of a node, if known.
    #[inline]
    pub fn props(&self, node: Node) -> Option<u64> {
        self.nodes.props(node)
    }

    /// The successors of a node; none if it was not expanded.
    #[inline]
    pub fn targets(&self, node: Node) -> Row<'_> {
        self.targets.row(self.nodes.edges(node))
    }

    /// Whether the successors of a node are known.
    pub fn is_expanded(&self, node: Node) -> bool {
        self.nodes.is_expanded(node)
    }

    /// The rules of a node's edges, beside [`Space::targets`]; empty if rules are not kept.
    pub fn edge_rules(&self, node: Node) -> &[RuleId] {
        self.rules.as_ref().map_or(&[], |rules| &rules[self.nodes.edges(node)])
    }

    /// The first rule that leads from one node to the other, asked of the system again.
    pub fn rule_between(&mut self, from: Node, to: Node) -> Result<RuleId, Stop> {
        let found = self.witness.step_between(self.nodes.state(from), None, self.nodes.state(to))?;
        // Whoever replays the run will see it if there is none.
        Ok(found.unwrap_or(RuleId::DEADLOCK))
    }

    /// Finds out the propositions of the given nodes, and the successors of those of which `test`
    /// (tag, propositions) says that they are needed. Each node should be given once. If nothing more is explored,
    /// they stay as they are.
    pub fn expand(
        &mut self,
        wanted: &[Wanted],
        test: &(dyn Fn(u64, u64) -> bool + Sync),
        limits: &Limits,
    ) -> Result<(), Stop> {
        if self.closed.is_some() {
            return Ok(());
        }
        let progress = Progress { states: self.nodes.len(), transitions: self.targets.len() };
        if let Some(watcher) = &mut self.watcher {
            watcher(&progress);
        }
        let Some(pool) = self.pool.filter(|_| wanted.len() > CHUNK) else {
            for chunk in wanted.chunks(CHUNK) {
                limits.check()?;
                self.confine(limits)?;
                let mut found = std::mem::take(&mut self.found);
                look(&mut *self.workers[0], chunk, &self.nodes, test, &mut found);
                let taken = self.take(chunk, &found);
                self.found = found;
                taken?;
            }
            return Ok(());
        };
        self.confine(limits)?;
        let chunks: Vec<&[Wanted]> = wanted.chunks(CHUNK).collect();
        // Chunks are claimed in order, so when one has to stop, all before it are claimed too.
        let next = AtomicUsize::new(0);
        let stopped = AtomicUsize::new(usize::MAX);
        let nodes = &self.nodes;
        let mut results: Vec<Option<Found>> = Vec::new();
        let per_worker = by_own_threads(pool, &mut self.workers, |_, worker| {
            let mut mine = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= chunks.len() || index > stopped.load(Ordering::Relaxed) {
                    return mine;
                }
                let mut found = Found::default();
                match limits.check() {
                    Ok(()) => look(&mut **worker, chunks[index], nodes, test, &mut found),
                    Err(stop) => found.stop = Some(stop),
                }
                if found.stop.is_some() {
                    stopped.fetch_min(index, Ordering::Relaxed);
                }
                mine.push((index, found));
            }
        });
        results.resize_with(chunks.len(), || None);
        for (index, found) in per_worker.into_iter().flatten() {
            results[index] = Some(found);
        }
        for (chunk, found) in chunks.into_iter().zip(results) {
            self.take(chunk, &found.expect("chunks before a stop are done"))?;
            self.confine(limits)?;
        }
        Ok(())
    }

    fn take(&mut self, chunk: &[Wanted], found: &Found) -> Result<(), Stop> {
        let mut transitions = &found.transitions[..];
        let mut gaps = found.gaps.iter().peekable();
        for (at, (one, &(props, count))) in chunk.iter().zip(&found.rows).enumerate() {
            self.nodes.set_props(one.node, props);
            let Some(count) = count else { continue };
            let (own, rest) = transitions.split_at(count as usize);
            transitions = rest;
            let gap = gaps.next_if(|(row, _)| *row == at);
            let deadlock = [(RuleId::DEADLOCK, self.nodes.state(one.node))];
            self.add_edges(one.node, if own.is_empty() && gap.is_none() { &deadlock } else { own })?;
            if let Some((_, why)) = gap {
                self.gaps.push((one.node, why.clone()));
                if self.gaps.len() > GAPS_MAX {
                    return Err(why.clone());
                }
            }
        }
        found.stop.clone().map_or(Ok(()), Err)
    }

    /// Why a node that satisfies the test has perhaps more edges than are known. It is asked about nodes without
    /// known propositions, too.
    pub fn gap(&self, test: impl Fn(Node, Option<u64>) -> bool) -> Result<(), Stop> {
        let has_gap = |(node, _): &&(Node, Stop)| {
            let props = self.props(*node);
            props.is_some() && test(*node, props)
        };
        if let Some((_, why)) = self.gaps.iter().find(has_gap) {
            return Err(why.clone());
        }
        let is_open = |node: Node| {
            let props = self.props(node);
            (props.is_none() || !self.is_expanded(node)) && test(node, props)
        };
        match &self.closed {
            Some(why) if (0..self.len() as Node).any(is_open) => Err(why.clone()),
            _ => Ok(()),
        }
    }

    fn add_edges(&mut self, node: Node, transitions: &[(RuleId, State)]) -> Result<(), Stop> {
        let start = self.targets.len();
        for &(rule, state) in transitions {
            let target = self.nodes.meet(state)?;
            // Equal edges are dropped where that is cheap.
            let known = self.targets.row(start..self.targets.len());
            let equal = |(at, other): (usize, Node)| {
                other == target && self.rules.as_ref().is_none_or(|rules| rules[start + at] == rule)
            };
            if known.len() <= 32 && known.iter().enumerate().any(equal) {
                continue;
            }
            self.targets.push(start, target);
            if let Some(rules) = &mut self.rules {
                rules.push(rule);
            }
        }
        self.nodes.set_edges(node, start..self.targets.len())
    }
}

/// One worker's part of a batch.
fn look(
    worker: &mut dyn Worker,
    chunk: &[Wanted],
    nodes: &Nodes,
    test: &(dyn Fn(u64, u64) -> bool + Sync),
    found: &mut Found,
) {
    found.rows.clear();
    found.transitions.clear();
    found.gaps.clear();
    found.stop = None;
    for one in chunk {
        let (state, known) = (nodes.state(one.node), nodes.props(one.node));
        if let (Some(props), true) = (known, nodes.is_expanded(one.node)) {
            found.rows.push((props, None));
            continue;
        }
        if nodes.is_expanded(one.node) {
            match worker.props(state) {
                Ok(props) => found.rows.push((props, None)),
                Err(stop) => {
                    found.stop = Some(stop);
                    return;
                }
            }
            continue;
        }
        let before = found.transitions.len();
        let needed = |props| test(one.tag, props);
        let looked = worker.look(state, known, &needed, &mut found.transitions);
        let count = (found.transitions.len() - before) as u32;
        match looked {
            Ok((props, is_expanded)) => found.rows.push((props, is_expanded.then_some(count))),
            Err(stop) => {
                // What was found, here and elsewhere, may be enough for a violation.
                let is_local = matches!(stop, Stop::Failed(_) | Stop::Interrupted(Interrupt::Depth));
                match known.map_or_else(|| worker.props(state), Ok) {
                    Ok(props) if is_local => {
                        found.gaps.push((found.rows.len(), stop));
                        found.rows.push((props, Some(count)));
                    }
                    _ => {
                        found.stop = Some(stop);
                        return;
                    }
                }
            }
        }
    }
}
