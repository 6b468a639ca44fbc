//! A rewrite theory in regions: a state is the root pair of its tree of words. The words inside and
//! the pairs between are in the model's store, which stays; the roots are in tables of the regions,
//! which are forgotten.

use hashbrown::HashTable;

use super::codec::Root;
use super::model::{Model, ModelWorker};
use super::regions::{Region, Regions, Seed};
use super::saved;
use super::system::{RuleId, State, Stop, System, Worker};
use crate::sorts::Tree;

impl Regions for Model {
    type Region<'a> = ModelRegion<'a>;

    fn region(&self) -> ModelRegion<'_> {
        ModelRegion { worker: self.worker(), roots: Roots::default() }
    }

    fn bytes(&self) -> usize {
        Model::bytes(self)
    }
}

/// One thread's states since it was last cleared.
pub struct ModelRegion<'a> {
    worker: ModelWorker<'a>,
    roots: Roots,
}

impl ModelRegion<'_> {
    /// The term of a state.
    pub fn term(&mut self, seed: Seed) -> Result<Tree, Stop> {
        self.worker.work(|ready, _, store| {
            let term = ready.explorer.load_root(store, Root::from_word(seed));
            Ok(Ok(ready.explorer.machine.to_tree(term)))
        })
    }

    /// The seed of a term, which will be reduced.
    fn plant(&mut self, tree: &Tree) -> Result<Seed, Stop> {
        let root = self.worker.work(|ready, _, store| {
            let term = ready.explorer.reduce(tree)?;
            Ok(ready.explorer.term_root(store, term))
        })?;
        Ok(root.to_word())
    }
}

impl Worker for ModelRegion<'_> {
    fn initial(&mut self) -> Result<State, Stop> {
        let initial = self.worker.initial_tree();
        let seed = self.plant(&initial)?;
        self.enter(seed)
    }

    fn successors(&mut self, state: State, out: &mut Vec<(RuleId, State)>) -> Result<(), Stop> {
        let root = Root::from_word(self.roots.seed(state));
        let found = self.worker.work(|ready, _, store| {
            let explorer = &mut ready.explorer;
            let mut found = Vec::new();
            explorer.open_root(store, root);
            while let Some(step) = explorer.step(store)? {
                match explorer.root(store, step) {
                    Ok(root) => found.push((RuleId(step.rule), root.to_word())),
                    Err(full) => return Ok(Err(full)),
                }
            }
            Ok(Ok(found))
        })?;
        for (rule, seed) in found {
            out.push((rule, self.enter(seed)?));
        }
        Ok(())
    }

    fn props(&mut self, state: State) -> Result<u64, Stop> {
        let root = Root::from_word(self.roots.seed(state));
        self.worker.work(|ready, setup, store| {
            ready.props(setup, store, |explorer| explorer.open_root(store, root)).map(Ok)
        })
    }

    fn bytes(&self) -> usize {
        self.worker.bytes() + self.own_bytes()
    }
}

impl Region for ModelRegion<'_> {
    fn clear(&mut self) {
        self.roots.clear();
    }

    fn enter(&mut self, seed: Seed) -> Result<State, Stop> {
        self.roots.number(seed).ok_or(Stop::States(u64::from(State::MAX)))
    }

    fn seed(&mut self, state: State) -> Result<Seed, Stop> {
        Ok(self.roots.seed(state))
    }

    fn own_bytes(&self) -> usize {
        self.roots.bytes()
    }

    fn write(&mut self, seed: Seed, out: &mut Vec<u8>) -> Result<(), Stop> {
        saved::write(&self.term(seed)?, out);
        Ok(())
    }

    fn read(&mut self, bytes: &[u8]) -> Result<Seed, Stop> {
        let ops = self.worker.signature_len();
        let tree =
            saved::read(bytes, ops).ok_or_else(|| Stop::Failed("not a term of this module".to_owned()))?;
        self.plant(&tree)
    }
}

/// Root pairs by number, and their numbers.
#[derive(Default)]
struct Roots {
    seeds: Vec<Seed>,
    index: HashTable<State>,
}

impl Roots {
    fn seed(&self, state: State) -> Seed {
        self.seeds[state as usize]
    }

    /// None if there is no number left.
    fn number(&mut self, seed: Seed) -> Option<State> {
        let Roots { seeds, index } = self;
        if let Some(&number) = index.find(hash(seed), |&number| seeds[number as usize] == seed) {
            return Some(number);
        }
        let number = State::try_from(seeds.len()).ok().filter(|&number| number < State::MAX)?;
        seeds.push(seed);
        index.insert_unique(hash(seed), number, |&number| hash(seeds[number as usize]));
        Some(number)
    }

    fn bytes(&self) -> usize {
        // Tables are seldom more than half empty.
        (8 + 10) * self.seeds.len()
    }

    fn clear(&mut self) {
        self.seeds.clear();
        self.index.clear();
    }
}

#[inline]
fn hash(seed: Seed) -> u64 {
    let mixed = (seed ^ seed >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ mixed >> 32
}
