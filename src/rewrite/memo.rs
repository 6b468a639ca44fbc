//! Results of operators declared `memo`, kept from one call to the next.

use hashbrown::HashTable;

use crate::term::{Heap, Symbols, Term};

struct Entry {
    hash: u64,
    sym: u32,
    /// Where the arguments are, the value after them.
    start: u32,
}

/// Known results by operator and arguments. Its terms are roots of the heap.
#[derive(Default)]
pub struct Memo {
    entries: HashTable<Entry>,
    terms: Vec<Term>,
}

impl Memo {
    pub fn clear(&mut self) {
        self.entries.clear();
        self.terms.clear();
    }

    pub fn hash(heap: &Heap, sy: &Symbols, sym: u32, args: &[Term]) -> u64 {
        args.iter().fold(u64::from(sym), |hash, &arg| {
            (hash.rotate_left(29) ^ heap.hash(sy, arg)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        })
    }

    pub fn get(&self, heap: &Heap, sy: &Symbols, hash: u64, sym: u32, args: &[Term]) -> Option<Term> {
        let same = |entry: &Entry| {
            let known = &self.terms[entry.start as usize..];
            entry.hash == hash
                && entry.sym == sym
                && known.iter().zip(args).all(|(&a, &b)| heap.equal(sy, a, b))
        };
        self.entries.find(hash, same).map(|entry| self.terms[entry.start as usize + args.len()])
    }

    pub fn insert(&mut self, hash: u64, sym: u32, args: &[Term], value: Term) {
        let start = u32::try_from(self.terms.len()).expect("fewer terms than the heap has words");
        self.terms.extend_from_slice(args);
        self.terms.push(value);
        self.entries.insert_unique(hash, Entry { hash, sym, start }, |e| e.hash);
    }

    pub fn roots(&mut self, f: &mut dyn FnMut(&mut Term)) {
        self.terms.iter_mut().for_each(f);
    }
}
