//! The part of the state graph that has been explored, shared by all formulas of a run.
//!
//! Nodes are numbered in the order in which the checkers meet them, which is the same for any number
//! of threads: workers compute successors and propositions of a batch in parallel, and one thread
//! then takes their results in the order of the batch. That part only moves numbers, so it is cheap
//! beside rewriting. Each state is expanded at most once and its propositions are evaluated at most
//! once, and only if somebody asks. Deadlocks get an edge to themselves.

use super::limits::Limits;
use crate::graph::{RuleId, State, Stop, System, Worker};
use rayon::ThreadPool;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of a state in order of discovery.
pub type Node = u32;

/// States that a worker takes at a time.
const CHUNK: usize = 64;
/// Nothing is known of the node but its state.
const MET: u64 = u64::MAX;
/// Its propositions are known as well.
const KNOWN: u64 = u64::MAX - 1;
/// Bits of a span that hold its length.
const LENGTH_BITS: u32 = 20;
const NONE: u32 = u32::MAX;

/// The explored part of a system.
pub struct Space<'s> {
    workers: Vec<Box<dyn Worker + Send + 's>>,
    pool: Option<&'s ThreadPool>,
    /// The node of each state, or `NONE`.
    nodes: Vec<u32>,
    states: Vec<State>,
    props: Vec<u64>,
    /// Where a node's edges are: start and length; or `MET` or `KNOWN`.
    spans: Vec<u64>,
    targets: Vec<Node>,
    /// The rules of the edges, if somebody needs them.
    rules: Option<Vec<RuleId>>,
}

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
    stop: Option<Stop>,
}

impl<'s> Space<'s> {
    /// Nothing explored yet. With a pool, every thread of it works. `keep_rules` stores the rule of
    /// each edge and keeps edges apart that differ only in it.
    pub fn new<S: System>(system: &'s S, pool: Option<&'s ThreadPool>, keep_rules: bool) -> Self {
        let count = pool.map_or(1, ThreadPool::current_num_threads);
        let boxed = |_| Box::new(system.worker()) as Box<dyn Worker + Send + 's>;
        Space {
            workers: (0..count).map(boxed).collect(),
            pool,
            nodes: Vec::new(),
            states: Vec::new(),
            props: Vec::new(),
            spans: Vec::new(),
            targets: Vec::new(),
            rules: keep_rules.then(Vec::new),
        }
    }

    /// The node of the initial state.
    pub fn initial(&mut self) -> Result<Node, Stop> {
        let state = self.workers[0].initial()?;
        self.meet(state)
    }

    /// How many states were met.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// How many transitions were found, of which those with equal ends count once.
    pub fn edge_count(&self) -> usize {
        self.targets.len()
    }

    /// Bytes that the tables take.
    pub fn memory(&self) -> usize {
        let per_node = 4 * (self.nodes.capacity() + self.states.capacity())
            + 8 * (self.props.capacity() + self.spans.capacity());
        let rules = self.rules.as_ref().map_or(0, Vec::capacity);
        per_node + 4 * (self.targets.capacity() + rules)
    }

    /// The system's number of a node.
    pub fn state(&self, node: Node) -> State {
        self.states[node as usize]
    }

    /// The node of a state that was met.
    pub fn node(&self, state: State) -> Option<Node> {
        self.nodes.get(state as usize).copied().filter(|&node| node != NONE)
    }

    /// The propositions of a node, if known.
    #[inline]
    pub fn props(&self, node: Node) -> Option<u64> {
        (self.spans[node as usize] != MET).then(|| self.props[node as usize])
    }

    /// The successors of a node; none if it was not expanded.
    #[inline]
    pub fn targets(&self, node: Node) -> &[Node] {
        let span = self.spans[node as usize];
        if span >= KNOWN {
            return &[];
        }
        let start = (span >> LENGTH_BITS) as usize;
        &self.targets[start..start + (span & ((1 << LENGTH_BITS) - 1)) as usize]
    }

    /// Whether the successors of a node are known.
    pub fn is_expanded(&self, node: Node) -> bool {
        self.spans[node as usize] < KNOWN
    }

    /// The rules of a node's edges, beside [`Space::targets`]; empty if rules are not kept.
    pub fn edge_rules(&self, node: Node) -> &[RuleId] {
        let span = self.spans[node as usize];
        match &self.rules {
            Some(rules) if span < KNOWN => {
                let start = (span >> LENGTH_BITS) as usize;
                &rules[start..start + (span & ((1 << LENGTH_BITS) - 1)) as usize]
            }
            _ => &[],
        }
    }

    /// The first rule that leads from one node to the other, asked of the system again.
    pub fn rule_between(&mut self, from: Node, to: Node) -> Result<RuleId, Stop> {
        let mut out = Vec::new();
        self.workers[0].successors(self.states[from as usize], &mut out)?;
        let target = self.states[to as usize];
        let found = out.iter().find(|(_, state)| *state == target);
        Ok(found.map_or(RuleId::DEADLOCK, |&(rule, _)| rule))
    }

    fn meet(&mut self, state: State) -> Result<Node, Stop> {
        let at = state as usize;
        if at >= self.nodes.len() {
            self.nodes.resize((at + 1).max(self.nodes.len() * 3 / 2), NONE);
        }
        if self.nodes[at] == NONE {
            if self.states.len() >= (NONE - 1) as usize {
                return Err(Stop::States(u64::from(NONE - 1)));
            }
            self.nodes[at] = self.states.len() as u32;
            self.states.push(state);
            self.props.push(0);
            self.spans.push(MET);
        }
        Ok(self.nodes[at])
    }

    /// Finds out the propositions of the given nodes, and the successors of those of which `test`
    /// (tag, propositions) says that they are needed. Each node should be given once.
    pub fn expand(
        &mut self,
        wanted: &[Wanted],
        test: &(dyn Fn(u64, u64) -> bool + Sync),
        limits: &Limits,
    ) -> Result<(), Stop> {
        let open: Vec<Wanted> =
            wanted.iter().copied().filter(|one| self.spans[one.node as usize] >= KNOWN).collect();
        limits.check_memory(self.memory())?;
        let chunks: Vec<&[Wanted]> = open.chunks(CHUNK).collect();
        let Some(pool) = self.pool.filter(|_| chunks.len() > 1) else {
            for chunk in chunks {
                limits.check()?;
                let found = look(&mut *self.workers[0], chunk, &self.states, &self.spans, &self.props, test);
                self.take(chunk, found)?;
            }
            return Ok(());
        };
        // Chunks are claimed in order, so when one has to stop, all before it are claimed too.
        let next = AtomicUsize::new(0);
        let stopped = AtomicUsize::new(usize::MAX);
        let (states, spans, props) = (&self.states, &self.spans, &self.props);
        let mut results: Vec<Option<Found>> = Vec::new();
        let per_worker: Vec<Vec<(usize, Found)>> = pool.install(|| {
            use rayon::prelude::*;
            let work = |worker: &mut Box<dyn Worker + Send + 's>| {
                let mut mine = Vec::new();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= chunks.len() || index > stopped.load(Ordering::Relaxed) {
                        return mine;
                    }
                    let found = match limits.check() {
                        Ok(()) => look(&mut **worker, chunks[index], states, spans, props, test),
                        Err(stop) => Found { stop: Some(stop), ..Found::default() },
                    };
                    if found.stop.is_some() {
                        stopped.fetch_min(index, Ordering::Relaxed);
                    }
                    mine.push((index, found));
                }
            };
            self.workers.par_iter_mut().with_max_len(1).map(work).collect()
        });
        results.resize_with(chunks.len(), || None);
        for (index, found) in per_worker.into_iter().flatten() {
            results[index] = Some(found);
        }
        for (chunk, found) in chunks.into_iter().zip(results) {
            self.take(chunk, found.expect("chunks before a stop are done"))?;
        }
        Ok(())
    }

    fn take(&mut self, chunk: &[Wanted], found: Found) -> Result<(), Stop> {
        let mut transitions = &found.transitions[..];
        for (one, &(props, count)) in chunk.iter().zip(&found.rows) {
            let node = one.node as usize;
            self.props[node] = props;
            if self.spans[node] == MET {
                self.spans[node] = KNOWN;
            }
            let Some(count) = count else { continue };
            let (own, rest) = transitions.split_at(count as usize);
            transitions = rest;
            self.add_edges(one.node, own)?;
        }
        found.stop.map_or(Ok(()), Err)
    }

    fn add_edges(&mut self, node: Node, transitions: &[(RuleId, State)]) -> Result<(), Stop> {
        let start = self.targets.len();
        let deadlock = [(RuleId::DEADLOCK, self.states[node as usize])];
        let transitions = if transitions.is_empty() { &deadlock } else { transitions };
        for &(rule, state) in transitions {
            let target = self.meet(state)?;
            // Equal edges are dropped where that is cheap.
            let known = &self.targets[start..];
            let equal = |&(at, &other): &(usize, &Node)| {
                other == target && self.rules.as_ref().is_none_or(|rules| rules[start + at] == rule)
            };
            if known.len() <= 32 && known.iter().enumerate().any(|edge| equal(&edge)) {
                continue;
            }
            self.targets.push(target);
            if let Some(rules) = &mut self.rules {
                rules.push(rule);
            }
        }
        let length = self.targets.len() - start;
        if length >> LENGTH_BITS != 0 {
            return Err(Stop::Failed(format!("a state has more than {} successors", 1 << LENGTH_BITS)));
        }
        self.spans[node as usize] = (start as u64) << LENGTH_BITS | length as u64;
        Ok(())
    }
}

/// One worker's part of a batch.
fn look(
    worker: &mut dyn Worker,
    chunk: &[Wanted],
    states: &[State],
    spans: &[u64],
    props: &[u64],
    test: &(dyn Fn(u64, u64) -> bool + Sync),
) -> Found {
    let mut found = Found::default();
    let mut out = Vec::new();
    for one in chunk {
        let (node, state) = (one.node as usize, states[one.node as usize]);
        let row = (|| {
            let props = if spans[node] == MET { worker.props(state)? } else { props[node] };
            if !test(one.tag, props) {
                return Ok((props, None));
            }
            out.clear();
            worker.successors(state, &mut out)?;
            Ok((props, Some(out.len() as u32)))
        })();
        match row {
            Ok(row) => {
                if row.1.is_some() {
                    found.transitions.extend_from_slice(&out);
                }
                found.rows.push(row);
            }
            Err(stop) => {
                found.stop = Some(stop);
                break;
            }
        }
    }
    found
}
