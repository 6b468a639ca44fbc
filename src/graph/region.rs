//! A rewrite theory in regions: a state is the root pair of its tree of words, in the model's store
//! until that is forgotten; seeds are roots in another store, which stays.

use super::codec::Root;
use super::meta::meta_key;
use super::model::{Model, ModelWorker};
use super::regions::{Region, Regions, Seed, Sprout};
use super::saved;
use super::system::{RuleId, Stop, System};
use crate::sorts::Tree;

impl Regions for Model {
    type Region<'a> = ModelRegion<'a>;

    fn region(&self) -> ModelRegion<'_> {
        self.scout();
        ModelRegion { worker: self.worker() }
    }

    fn bytes(&self) -> usize {
        Model::bytes(self)
    }

    fn confine(&self, bytes_max: usize) {
        Model::confine(self, bytes_max);
    }

    fn forget(&self) {
        Model::forget(self);
    }
}

/// One thread's view of the model.
pub struct ModelRegion<'a> {
    worker: ModelWorker<'a>,
}

impl ModelRegion<'_> {
    /// The term of a state.
    pub fn term(&mut self, seed: Seed) -> Result<Tree, Stop> {
        let root = self.worker.recall(Root::from_word(seed))?;
        self.worker.work(|ready, _, store| {
            let term = ready.explorer.load_root(store, root);
            Ok(Ok(ready.explorer.machine.to_tree(term)))
        })
    }

    /// A term as a state; it will be reduced.
    fn enter(&mut self, tree: &Tree) -> Result<Sprout, Stop> {
        let root = self.worker.work(|ready, _, store| {
            let term = ready.explorer.reduce(tree)?;
            Ok(ready.explorer.term_root(store, term))
        })?;
        Ok(Sprout(root.to_word()))
    }
}

impl Region for ModelRegion<'_> {
    fn initial(&mut self) -> Result<Sprout, Stop> {
        let initial = self.worker.initial_tree();
        self.enter(&initial)
    }

    fn visit(
        &mut self,
        state: Sprout,
        reads: &dyn Fn(u64) -> bool,
        out: &mut Vec<(RuleId, Sprout)>,
    ) -> Result<u64, Stop> {
        let (root, start) = (Root::from_word(state.0), out.len());
        let asked = self.worker.asked();
        self.worker.work(|ready, setup, store| {
            out.truncate(start);
            ready.explorer.open_root(store, root);
            let (props, is_open) = ready.props(setup, store, asked)?;
            if !reads(props) {
                return Ok(Ok(props));
            }
            let explorer = &mut ready.explorer;
            if !is_open {
                explorer.open_root(store, root);
            }
            while let Some(step) = explorer.step(store)? {
                match explorer.root(store, step) {
                    Ok(root) => out.push((RuleId(step.rule), Sprout(root.to_word()))),
                    Err(full) => return Ok(Err(full)),
                }
            }
            Ok(Ok(props))
        })
    }

    fn plant(&mut self, seed: Seed) -> Result<Sprout, Stop> {
        Ok(Sprout(self.worker.recall(Root::from_word(seed))?.to_word()))
    }

    fn seed(&mut self, state: Sprout) -> Result<Seed, Stop> {
        Ok(self.worker.keep(Root::from_word(state.0))?.to_word())
    }

    fn key(&mut self, seed: Seed, out: &mut Vec<u8>) -> Result<(), Stop> {
        let term = self.term(seed)?;
        meta_key(self.worker.signature(), &term, out);
        Ok(())
    }

    fn write(&mut self, seed: Seed, out: &mut Vec<u8>) -> Result<(), Stop> {
        saved::write(&self.term(seed)?, out);
        Ok(())
    }

    fn read(&mut self, bytes: &[u8]) -> Result<Seed, Stop> {
        let ops = self.worker.signature().ops().count();
        let tree =
            saved::read(bytes, ops).ok_or_else(|| Stop::Failed("not a term of this module".to_owned()))?;
        let state = self.enter(&tree)?;
        self.seed(state)
    }
}
