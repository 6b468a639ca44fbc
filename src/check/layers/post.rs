//! One step of all runs at once: from the pairs at one depth to those at the next.

use super::boundary::{Entry, Gather, Level};
use super::crew::Crew;
use super::meter::Meter;
use super::nodes::{First, Nodes};
use super::reader::Reader;
use crate::graph::{Region, Sprout, Stop};
use std::ops::Range;

/// What a step leads to.
#[derive(Debug)]
pub struct Post {
    pub level: Level<Sprout>,
    /// The first pair from which the automaton accepts whatever follows.
    pub end: Option<(Sprout, Entry)>,
    /// What is known of the states of the level, if sub-state spaces are counted.
    pub firsts: Vec<First>,
}

/// The successors of some states.
#[derive(Default)]
struct Found {
    /// Propositions and the number of successors, by state.
    rows: Vec<(u64, u32)>,
    targets: Vec<Sprout>,
}

/// The pairs one step later. Each keeps the origin of the first pair that leads to it. With `thin`,
/// pairs that others make superfluous are dropped. With `nodes`, these are taken along.
pub fn post<R: Region + Send>(
    level: &Level<Sprout>,
    crew: &mut Crew<R>,
    reader: &Reader,
    meter: &Meter,
    thin: bool,
    nodes: Option<&Nodes>,
) -> Result<Post, Stop> {
    let expand = |region: &mut R, chunk: Range<usize>| {
        let mut found = Found::default();
        let (mut out, mut transitions) = (Vec::new(), 0);
        for index in chunk {
            let start = found.targets.len();
            let reads = |props| level.entries(index).iter().any(|entry| reader.reads(entry.at, props));
            out.clear();
            let props = region.visit(level.seeds[index], &reads, &mut out)?;
            meter.meet(props);
            transitions += out.len();
            if out.is_empty() && reads(props) {
                found.targets.push(level.seeds[index]);
            }
            for &(_, target) in &out {
                let own = &found.targets[start..];
                if own.len() > 32 || !own.contains(&target) {
                    found.targets.push(target);
                }
            }
            found.rows.push((props, (found.targets.len() - start) as u32));
        }
        meter.add(found.rows.len(), transitions, 0);
        Ok(found)
    };
    let mut gather = Gather::default();
    let (mut end, mut firsts) = (None, Vec::new());
    crew.in_order(level.len(), expand, |budget, chunk, found| {
        let mut targets = &found.targets[..];
        for (index, (props, count)) in chunk.zip(found.rows) {
            let (own, rest) = targets.split_at(count as usize);
            targets = rest;
            for entry in level.entries(index) {
                for at in reader.after(entry.at, props) {
                    let entry = Entry { at, origin: entry.origin };
                    for &seed in own {
                        gather.add(seed, entry);
                    }
                    if reader.accepts_all[at as usize] && end.is_none() {
                        end = own.first().map(|&seed| (seed, entry));
                    }
                }
            }
            if let Some(nodes) = nodes {
                let first = nodes.after(index, props);
                firsts.resize(gather.len(), First::default());
                for place in own.iter().filter_map(|&seed| gather.place(seed)) {
                    firsts[place] = firsts[place].min(first);
                }
            }
        }
        budget.check(level.bytes() + gather.bytes() + firsts.len() * size_of::<First>())
    })?;
    Ok(Post { level: gather.finish(thin.then_some(reader)), end, firsts })
}

/// What is to be said of a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Census {
    pub states: usize,
    /// States with which the automaton may have begun the accepted part of a run.
    pub counterexample_states: usize,
    /// Pairs of a state and where the automaton may be after reading it.
    pub pairs: usize,
    /// Sub-state spaces of the layer that ends there.
    pub spaces: usize,
}

/// Counts a level, and drops the states that the automaton cannot read. `seen` is told the place and the
/// propositions of each.
pub fn read<R: Region + Send>(
    level: &mut Level<Sprout>,
    crew: &mut Crew<R>,
    reader: &Reader,
    mut seen: impl FnMut(usize, u64),
) -> Result<Census, Stop> {
    let (mut census, mut kept) = (Census::default(), Level::default());
    let props = |region: &mut R, chunk: Range<usize>| {
        let of = |&state: &Sprout| region.visit(state, &|_| false, &mut Vec::new());
        level.seeds[chunk].iter().map(of).collect::<Result<Vec<u64>, Stop>>()
    };
    crew.in_order(level.len(), props, |_, chunk, found| {
        for (index, props) in chunk.zip(found) {
            seen(index, props);
            let mut after: Vec<Entry> = Vec::new();
            for entry in level.entries(index) {
                for at in reader.after(entry.at, props) {
                    if !after.iter().any(|known| known.at == at) {
                        after.push(Entry { at, ..*entry });
                    }
                }
                if reader.reads(entry.at, props) {
                    kept.entries.push(*entry);
                }
            }
            if after.is_empty() {
                continue;
            }
            kept.seeds.push(level.seeds[index]);
            kept.ends.push(kept.entries.len() as u32);
            census.states += 1;
            census.counterexample_states += usize::from(after.iter().any(|entry| reader.is_begun(entry.at)));
            reader.thin(&mut after);
            census.pairs += after.len();
        }
        Ok(())
    })?;
    *level = kept;
    Ok(census)
}
