//! Rebuilding nodes whose sorts are known, and cutting the heap back: what a store of terms
//! outside the heap needs.

use super::heap::{Heap, Layout, Term, header, header_form};
use super::symbols::Symbols;
use super::{bag, sequence};
use crate::sorts::SortIx;

impl Heap {
    /// Drops everything that was allocated since the heap had `len` words. Nothing that stays may
    /// refer to it.
    pub fn truncate(&mut self, len: usize) {
        debug_assert!(len >= 1);
        self.words.truncate(len);
        self.last_division = None;
        self.tower_sorts.clear();
    }

    /// The elements of a flat multiset, each followed by its multiplicity as a plain word.
    #[inline(always)]
    pub fn flat_bag(&self, t: Term) -> Option<&[Term]> {
        if self.layout(t) != Layout::Bag as u32 {
            return None;
        }
        let start = t.at() + 2;
        Some(&self.words[start..start + 2 * self.word(start - 1).0 as usize])
    }

    /// The element of a multiset with some operator, if it is a flat one and has so many.
    #[inline(always)]
    pub fn flat_bag_element(&self, t: Term, sym: u32, number: u32) -> Option<Term> {
        let is_it = t.is_node() && header_form(self.header(t)) == header(sym, Layout::Bag as u32, 0);
        let at = t.at() + 1;
        (is_it && number < self.word(at).0).then(|| self.word(at + 1 + 2 * number as usize))
    }

    /// A list of given sort. A long one has no room to grow in place, so that later lists do not
    /// write to it.
    pub fn restore_list(&mut self, sy: &Symbols, sym: u32, sort: SortIx, elements: &[Term]) -> Term {
        if elements.len() <= sequence::FLAT_MAX {
            let head = [Term(header(sym, Layout::Flat as u32, sort)), Term(elements.len() as u32)];
            let at = self.push_words(head);
            self.words.extend_from_slice(elements);
            return Term::node(at);
        }
        let list = self.list(sy, sym, elements);
        self.set_sort(list, sort);
        list
    }

    /// A multiset of given sort from ascending distinct elements, and their multiplicities if
    /// they are not all 1.
    pub fn restore_bag(
        &mut self,
        sy: &Symbols,
        sym: u32,
        sort: SortIx,
        elements: &[Term],
        multiplicities: Option<&[u32]>,
    ) -> Term {
        if elements.len() <= bag::FLAT_MAX {
            let at = self.words.len();
            self.words.resize(at + 2 + 2 * elements.len(), Term(1));
            let node = &mut self.words[at..];
            node[0] = Term(header(sym, Layout::Bag as u32, sort));
            node[1] = Term(elements.len() as u32);
            for (pair, &element) in node[2..].chunks_exact_mut(2).zip(elements) {
                pair[0] = element;
            }
            if let Some(counts) = multiplicities {
                for (pair, &count) in node[2..].chunks_exact_mut(2).zip(counts) {
                    pair[1] = Term(count);
                }
            }
            return Term::node(at);
        }
        let count = |i: usize| multiplicities.map_or(1, |counts| counts[i]);
        let pairs: Vec<(Term, u32)> = elements.iter().enumerate().map(|(i, &e)| (e, count(i))).collect();
        let bag = self.bag(sy, sym, &pairs);
        self.set_sort(bag, sort);
        bag
    }
}
