//! The states that rules lead to: the words of new elements, and the root pair of what they make of a soup.

use super::{Given, Hands, Joiner, Stage, below, bits, recent_max, sources, word_sort};
use crate::graph::changes::Change;
use crate::graph::codec::Root;
use crate::graph::join::PLACES;
use crate::graph::pairs::Full;
use crate::graph::store::Store;
use crate::rewrite::Machine;
use crate::sorts::SortIx;
use crate::term::Term;

impl Joiner {
    /// The root pair of the state that was given last as [`Target::Replaced`].
    pub fn root(&mut self, store: &Store, hands: &mut Hands) -> Result<Root, Full> {
        self.encode(store, hands)?;
        if self.is_alike || self.is_sort_kept(store, hands) {
            let (old, is_paired) = self.old();
            let mut sorted = [0; PLACES];
            let sorted = &mut sorted[..old.len()];
            old.zip(&mut *sorted).for_each(|(position, place)| *place = position);
            if !is_paired {
                sorted.sort_unstable();
            }
            // Elements between others with other operators cannot be anywhere else.
            let apart = if self.is_operator_kept() {
                sorted.iter().filter(|&&i| self.soup.is_apart(i.into())).fold(0, |set, i| set | 1 << i)
            } else {
                0
            };
            let Machine { heap, theory, .. } = &mut *hands.machine;
            let (sy, codec) = (&theory.symbols, &mut *hands.codec);
            if let Some(root) = codec.fold_changed(store, heap, sy, self.around, sorted, &self.new, apart)? {
                return Ok(root);
            }
        }
        let term = self.term(store, hands);
        let Machine { heap, theory, .. } = &*hands.machine;
        hands.codec.root(store, heap, &theory.symbols, term)
    }

    /// The positions of the elements that are replaced; and does each new element probably stand
    /// where the old one with its number stood?
    #[inline]
    fn old(&self) -> (impl ExactSizeIterator<Item = u8>, bool) {
        let rule = self.join.rules[self.rule].as_ref().expect("it has been applied");
        let replaced = rule.yields.as_ref().expect("it has replaced elements");
        (replaced.old.iter().map(|&place| self.loops.chosen()[place]), replaced.is_paired)
    }

    /// Has each new element the operator of the old one with its number?
    #[inline]
    fn is_operator_kept(&self) -> bool {
        let rule = self.join.rules[self.rule].as_ref().expect("it has been applied");
        rule.yields.as_ref().is_some_and(|replaced| replaced.is_alike)
    }

    /// The positions of all others, as a set.
    pub(super) fn left(&self) -> u64 {
        below(self.around.len) & !self.old().0.fold(0, |set, position| set | 1 << position)
    }

    /// Does the soup keep its sort?
    fn is_sort_kept(&self, store: &Store, hands: &Hands) -> bool {
        let sy = &hands.machine.theory.symbols;
        let diagram = &sy.info[self.around.soup.sym() as usize].diagram;
        let old = bits(self.left()).map(|i| self.soup.sort(i));
        let new = self.new.iter().map(|&word| word_sort(store, &hands.machine.heap, sy, word));
        old.chain(new).reduce(|sum, sort| diagram.binary(sum, sort)) == Some(self.around.soup.sort())
    }

    /// Finds the words of the new elements in the result that was given last.
    #[inline]
    fn encode(&mut self, store: &Store, hands: &mut Hands) -> Result<(), Full> {
        match self.given {
            Given::Encoded => return Ok(()),
            Given::Known(found) => {
                self.new.clear();
                self.new.extend_from_slice(self.tuples.words(found));
                self.is_alike = found.is_alike;
            }
            Given::Fresh(i) => self.encode_fresh(store, i, hands)?,
            Given::Made => self.encode_made(store, hands)?,
            Given::Yielded => {
                let rule = self.join.rules[self.rule].as_ref().expect("it has been applied");
                let yields = rule.yields.as_ref().expect("it yields elements");
                let value = |i: usize| hands.machine.query_value(yields.first + i as u16);
                self.terms.clear();
                self.terms.extend((0..yields.count).map(value));
                self.encode_elements(store, hands)?;
            }
        }
        self.given = Given::Encoded;
        Ok(())
    }

    /// Encodes a result of `fresh`, or all of them, to be remembered.
    fn encode_fresh(&mut self, store: &Store, i: usize, hands: &mut Hands) -> Result<(), Full> {
        let results = self.fresh.len() - 1;
        let count = hands.machine.kept.len() / results;
        let take = |joiner: &mut Joiner, i: usize, hands: &mut Hands| {
            joiner.terms.clear();
            joiner.terms.extend_from_slice(&hands.machine.kept[i * count..(i + 1) * count]);
            joiner.encode_elements(store, hands)
        };
        if self.tuples.is_skipped(self.rule) {
            return take(self, i, hands);
        }
        self.value.begin();
        for number in 0..results {
            take(self, number, hands)?;
            self.value.add(self.fresh[number], &self.new, self.is_alike);
        }
        self.value.end(self.fresh[results]);
        let mut outcome = self.put().expect("there are results");
        for _ in 0..=i {
            if let (_, Some(found)) = self.tuples.next(&mut outcome) {
                self.given = Given::Known(found);
            }
        }
        self.stage = Stage::Known(outcome);
        self.encode(store, hands)
    }

    /// Finds the words of elements that were made.
    fn encode_made(&mut self, store: &Store, hands: &mut Hands) -> Result<(), Full> {
        let first = self.first_parts[self.rule];
        for i in 0..self.made.len() {
            let Err((rewrites, at)) = self.made[i] else { continue };
            let Machine { heap, theory, kept, .. } = &*hands.machine;
            let word = hands.codec.encode(store, heap, &theory.symbols, kept[at])?;
            let position = self.old().0.nth(i).expect("one for each part");
            let is_alike = word_sort(store, heap, &theory.symbols, word) == self.soup.sort(position.into());
            let change = Change { word, is_alike, rewrites };
            let from = sources(&self.parts()[i], &self.loops);
            change.put(&mut self.recent, first + i as u8, from, recent_max(store, hands.machine));
            self.made[i] = Ok(change);
        }
        self.new.clear();
        self.is_alike = true;
        for change in self.made.iter().flatten() {
            self.new.push(change.word);
            self.is_alike &= change.is_alike;
        }
        Ok(())
    }

    /// Puts the words of the elements in `terms` into `new`.
    fn encode_elements(&mut self, store: &Store, hands: &mut Hands) -> Result<(), Full> {
        let Machine { heap, theory, .. } = &mut *hands.machine;
        let (sy, soup) = (&theory.symbols, self.around.soup.sym());
        let identity = sy.info[soup as usize].identity.map(|identity| heap.consts[identity.constant]);
        self.new.clear();
        for &term in &self.terms {
            self.pairs.clear();
            heap.pairs(sy, soup, term, &mut self.pairs);
            for &(element, copies) in &self.pairs {
                if identity.is_some_and(|identity| heap.equal(sy, identity, element)) {
                    continue;
                }
                let word = hands.codec.encode(store, heap, sy, element)?;
                self.new.extend(std::iter::repeat_n(word, copies as usize));
            }
        }
        let (old, is_paired) = self.old();
        // For each new element an old one of its sort, and none is left over.
        let mut old = old.fold(0, |set: u64, position| set | 1 << position);
        let mut takes = |sort: SortIx| {
            let same = bits(old).find(|&i| self.soup.sort(i) == sort);
            same.inspect(|&i| old &= !(1 << i)).is_some()
        };
        let is_alike = self.new.iter().all(|&word| takes(word_sort(store, heap, sy, word))) && old == 0;
        self.is_alike = is_alike;
        if !is_paired {
            hands.codec.sort_words(store, heap, sy, &mut self.new);
        }
        Ok(())
    }

    /// The term of the state that was given last as [`Target::Replaced`], after it was inserted.
    pub fn term(&mut self, store: &Store, hands: &mut Hands) -> Term {
        let Machine { heap, theory, .. } = &mut *hands.machine;
        let sy = &theory.symbols;
        let old = bits(self.left()).map(|i| self.soup.words()[i]);
        let terms: Vec<Term> =
            old.chain(self.new.iter().copied()).map(|word| hands.codec.term(store, heap, sy, word)).collect();
        let soup = heap.bag_of(sy, self.around.soup.sym(), terms);
        heap.apply(sy, self.around.top.sym(), &[soup])
    }
}
