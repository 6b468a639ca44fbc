//! A state's successor that differs from it in a few elements of its soup, without a term.
//!
//! The words of a soup stand in the order of their terms. New words mostly belong where the old ones
//! stood; that they do is known from earlier comparisons, or found out by comparing terms.

use super::codec::{Codec, Root};
use super::node::{self, Head, Kind};
use super::pairs::Full;
use super::store::Store;
use crate::term::{Heap, Symbols};

/// Pairs of words of which the first is known to be less.
pub struct Ascending(Box<[u64; RECENT]>);

const RECENT: usize = 1 << 12;

impl Default for Ascending {
    fn default() -> Ascending {
        Ascending(vec![0; RECENT].into_boxed_slice().try_into().expect("as long"))
    }
}

/// What surrounds the soup of a state, if it is a set of elements in an operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Around {
    pub top: Head,
    pub soup: Head,
    pub len: usize,
}

impl Codec {
    /// The form of the state that was read last, if it is a soup in an operator, without
    /// multiplicities.
    pub fn around(&self) -> Option<Around> {
        match *self.form() {
            [top, soup, len] if soup != 0 && Head(soup).kind() == Kind::Bag => {
                Some(Around { top: Head(top), soup: Head(soup), len: len as usize })
            }
            _ => None,
        }
    }

    /// The root pair of the state that was read last (see [`Codec::around`]) with the elements at
    /// some positions replaced by others, which probably stand where the old ones stood. The sort of the
    /// soup must not change. New elements at the positions of the set `apart` do stand there.
    /// `None` if the result is no soup of that kind.
    #[allow(clippy::too_many_arguments)]
    pub fn fold_changed(
        &mut self,
        store: &Store,
        heap: &mut Heap,
        sy: &Symbols,
        around: Around,
        old: &[u8],
        new: &[u32],
        apart: u64,
    ) -> Result<Option<Root>, Full> {
        if old.len() == new.len()
            && let Some(root) = self.fold_replaced(store, heap, sy, around.len, old, new, apart)?
        {
            return Ok(Some(root));
        }
        let words = self.words();
        let is_old = |i: usize| old.iter().any(|&position| position as usize == i);
        let mut next: Vec<u32> = (0..around.len).filter(|&i| !is_old(i)).map(|i| words[i]).collect();
        for &word in new {
            let (mut start, mut end) = (0, next.len());
            while start < end {
                let middle = (start + end) / 2;
                if next[middle] == word {
                    return Ok(None);
                }
                if self.is_less(store, heap, sy, next[middle], word) {
                    start = middle + 1;
                } else {
                    end = middle;
                }
            }
            next.insert(start, word);
        }
        if next.len() < 2 {
            return Ok(None);
        }
        let form = [around.top.0, around.soup.0, next.len() as u32];
        next.insert(0, 0);
        self.fold_vector(store, &form, next).map(Some)
    }

    /// The same if each new element stands where an old one stood; `None` if not.
    fn fold_replaced(
        &mut self,
        store: &Store,
        heap: &mut Heap,
        sy: &Symbols,
        len: usize,
        old: &[u8],
        new: &[u32],
        apart: u64,
    ) -> Result<Option<Root>, Full> {
        let Some(mut changed) = self.change(old, new) else { return Ok(None) };
        changed &= !apart;
        while changed != 0 {
            let i = changed.trailing_zeros() as usize;
            changed &= changed - 1;
            let next = self.next_words();
            let word = next[i];
            let (before, after) =
                (i.checked_sub(1).map(|i| next[i]), next.get(i + 1).copied().filter(|_| i + 1 < len));
            if before.is_some_and(|before| !self.is_less(store, heap, sy, before, word))
                || after.is_some_and(|after| !self.is_less(store, heap, sy, word, after))
            {
                return Ok(None);
            }
        }
        self.fold_next(store).map(|(left, right)| Some(Root(left, right)))
    }

    /// Brings words in the order of their terms.
    pub fn sort_words(&mut self, store: &Store, heap: &mut Heap, sy: &Symbols, words: &mut [u32]) {
        for end in 1..words.len() {
            let mut at = end;
            while at > 0 && self.is_less(store, heap, sy, words[at], words[at - 1]) {
                words.swap(at, at - 1);
                at -= 1;
            }
        }
    }

    /// Does an element come before another in a soup?
    #[inline]
    fn is_less(&mut self, store: &Store, heap: &mut Heap, sy: &Symbols, a: u32, b: u32) -> bool {
        let pair = u64::from(a) << 32 | u64::from(b);
        let place = (pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize % RECENT;
        if self.ascending.0[place] == pair {
            return true;
        }
        let is_less = a != b && self.is_less_anew(store, heap, sy, a, b);
        if is_less {
            self.ascending.0[place] = pair;
        }
        is_less
    }

    fn is_less_anew(&mut self, store: &Store, heap: &mut Heap, sy: &Symbols, a: u32, b: u32) -> bool {
        if a & 3 == 0 && b & 3 == 0 {
            let (x, y) = (node::head(store, a).sym(), node::head(store, b).sym());
            if x != y {
                return sy.rank(x) < sy.rank(y);
            }
        }
        let (a, b) = (self.term(store, heap, sy, a), self.term(store, heap, sy, b));
        heap.compare(sy, a, b).is_lt()
    }
}
