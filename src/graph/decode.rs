//! From stored words to terms on a heap.

use rustc_hash::FxHashMap;

use super::encode::Encoder;
use super::node::{self, Head, Kind};
use super::store::Store;
use crate::term::{Heap, Symbols, Term};

/// Knows terms for certain words.
#[derive(Default)]
pub struct Decoder {
    terms: FxHashMap<u32, Term>,
    /// Terms of the present state that must not outlive it, as they may be evaluated in place.
    fleeting: FxHashMap<u32, Term>,
    work: Vec<Task>,
    out: Vec<Term>,
    fields: Vec<u32>,
    /// Multiplicities of the multisets that are being built.
    counts: Vec<u32>,
}

#[derive(Clone, Copy)]
enum Task {
    Enter(u32),
    /// So many arguments are there.
    Leave(u32, Head, u32),
}

impl Decoder {
    pub fn clear(&mut self) {
        self.terms.clear();
        self.fleeting.clear();
    }

    /// Forgets the terms of the last state that may have been evaluated in place.
    #[inline]
    pub fn forget_fleeting(&mut self) {
        if !self.fleeting.is_empty() {
            self.fleeting.clear();
        }
    }

    pub fn bytes(&self) -> usize {
        self.terms.capacity() * 9
    }

    /// The term of a word, unless it must be made, or made anew each time.
    #[inline]
    pub fn known(&self, word: u32) -> Option<Term> {
        if word & 3 != 0 { Some(Term(word)) } else { self.terms.get(&word).copied() }
    }

    /// The term of a word. New nodes are noted with the encoder, except those in which something
    /// is not reduced, if `is_fleeting`, and what is inside them.
    pub fn term(
        &mut self,
        store: &Store,
        heap: &mut Heap,
        sy: &Symbols,
        encoder: &mut Encoder,
        word: u32,
        is_fleeting: bool,
    ) -> Term {
        self.work.clear();
        self.out.clear();
        self.counts.clear();
        self.work.push(Task::Enter(word));
        while let Some(task) = self.work.pop() {
            match task {
                Task::Enter(word) => {
                    let known = self.known(word).or_else(|| self.fleeting.get(&word).copied());
                    match known {
                        Some(term) => self.out.push(term),
                        None => {
                            if let Some(term) = self.enter(store, heap, sy, word) {
                                self.out.push(term);
                                self.note(encoder, word, term, is_fleeting);
                            }
                        }
                    }
                }
                Task::Leave(word, head, n) => {
                    let term = self.leave(heap, sy, head, n as usize);
                    self.out.push(term);
                    self.note(encoder, word, term, is_fleeting);
                }
            }
        }
        self.out.pop().expect("the word's term")
    }

    fn note(&mut self, encoder: &mut Encoder, word: u32, term: Term, is_fleeting: bool) {
        if is_fleeting {
            self.fleeting.insert(word, term);
        } else {
            self.terms.insert(word, term);
            encoder.note(term, word);
        }
    }

    /// The node itself if it has no arguments; otherwise pushes what must be done for it.
    fn enter(&mut self, store: &Store, heap: &mut Heap, sy: &Symbols, word: u32) -> Option<Term> {
        let (head, n) = node::get(store, sy, word, &mut self.fields);
        if head.kind() == Kind::Raw {
            return Some(heap.alloc_raw(head.sym(), head.sort(), self.fields.iter().copied()));
        }
        self.work.push(Task::Leave(word, head, n as u32));
        self.work.extend(self.fields[..n].iter().rev().map(|&field| Task::Enter(field)));
        self.counts.extend_from_slice(&self.fields[n..]);
        None
    }

    fn leave(&mut self, heap: &mut Heap, sy: &Symbols, head: Head, n: usize) -> Term {
        let start = self.out.len() - n;
        let args = &self.out[start..];
        let term = match head.kind() {
            Kind::Args if n == 0 => heap.alloc_unreduced_constant(head.sym(), head.sort()),
            Kind::List if head.is_unreduced() => heap.alloc(head.sym(), head.sort(), args),
            Kind::Multi => {
                let counts = self.counts.len() - n;
                let bag = heap.restore_bag(sy, head.sym(), head.sort(), args, Some(&self.counts[counts..]));
                self.counts.truncate(counts);
                bag
            }
            _ => collection(heap, sy, head, args),
        };
        if head.is_unreduced() {
            heap.mark_unreduced(term);
        }
        self.out.truncate(start);
        term
    }
}

/// A node over given arguments; a multiset's multiplicities are all 1.
pub fn collection(heap: &mut Heap, sy: &Symbols, head: Head, args: &[Term]) -> Term {
    match head.kind() {
        Kind::List => heap.restore_list(sy, head.sym(), head.sort(), args),
        Kind::Bag => heap.restore_bag(sy, head.sym(), head.sort(), args, None),
        _ => heap.alloc(head.sym(), head.sort(), args),
    }
}
