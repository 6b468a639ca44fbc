//! From terms on a heap to stored words.

use rustc_hash::FxHashSet;

use super::node::{self, Head, Kind};
use super::pairs::Full;
use super::store::{Spares, Store};
use crate::term::{Class, Heap, Layout, Symbols, Term};

/// Knows the words of terms at certain places of the heap.
#[derive(Default)]
pub struct Encoder {
    /// The word of the node that starts at a place of the heap; 0 if it is not known.
    words: Vec<u32>,
    /// Words of nodes in which something is not reduced; those come from here alone.
    lazy: FxHashSet<u32>,
    /// Places of such nodes: evaluation may change them, so their words are soon forgotten.
    unstable: Vec<usize>,
    work: Vec<Task>,
    out: Vec<u32>,
    vector: Vec<u32>,
}

/// So many levels are encoded by native recursion.
const SHALLOW: u32 = 12;

#[derive(Clone, Copy)]
enum Task {
    Enter(Term),
    /// The words of so many fields are there.
    Leave(Term, u32),
}

/// About half the words that an element of a long list takes while the list is encoded (twice as many are asked for).
pub const ELEMENT_WORDS: usize = 8;

impl Encoder {
    /// Forgets the words of nodes from a place on.
    pub fn truncate(&mut self, len: usize) {
        self.words.truncate(len);
    }

    /// Notes the word of a node.
    #[inline]
    pub fn note(&mut self, t: Term, word: u32) {
        if t.at() >= self.words.len() {
            self.words.resize(t.at() + 1, 0);
        }
        self.words[t.at()] = word;
    }

    pub fn bytes(&self) -> usize {
        self.words.capacity() * 4
    }

    #[inline(always)]
    fn known(&self, t: Term) -> u32 {
        if t.is_node() { self.words.get(t.at()).copied().unwrap_or(0) } else { t.0 }
    }

    /// The word of a term.
    #[inline]
    pub fn word(
        &mut self,
        store: &Store,
        spares: &mut Spares,
        heap: &Heap,
        sy: &Symbols,
        t: Term,
    ) -> Result<u32, Full> {
        match self.known(t) {
            0 => self.unknown(store, spares, heap, sy, t),
            word => Ok(word),
        }
    }

    fn unknown(
        &mut self,
        store: &Store,
        spares: &mut Spares,
        heap: &Heap,
        sy: &Symbols,
        t: Term,
    ) -> Result<u32, Full> {
        if self.lazy.is_empty()
            && let Some(word) = self.shallow(store, spares, heap, sy, t, SHALLOW).transpose()
        {
            return word;
        }
        let result = self.deep(store, spares, heap, sy, t);
        for at in self.unstable.drain(..) {
            self.words[at] = 0;
        }
        result
    }

    /// A term of few levels with few arguments each, by native recursion; `None` for others.
    fn shallow(
        &mut self,
        store: &Store,
        spares: &mut Spares,
        heap: &Heap,
        sy: &Symbols,
        t: Term,
        levels: u32,
    ) -> Result<Option<u32>, Full> {
        const MAX: usize = 7;
        let n = heap.layout(t) as usize;
        let sym = heap.sym(sy, t);
        if sy.class(sym) == Class::Assoc && n != Layout::Raw as usize && !heap.is_unreduced(t) {
            return self.short_list(store, spares, heap, sy, t);
        }
        if n > MAX || heap.is_unreduced(t) || n != node::arity(sy, sym) || is_list(sy, sym) {
            return Ok(None);
        }
        let mut vector = [0; MAX + 1];
        vector[0] = Head::new(Kind::Args, sym, heap.sort(sy, t)).0;
        for i in 0..n {
            let arg = heap.arg(t, i);
            let mut word = self.known(arg);
            if word == 0 {
                if levels == 0 {
                    return Ok(None);
                }
                match self.shallow(store, spares, heap, sy, arg, levels - 1)? {
                    Some(found) => word = found,
                    None => return Ok(None),
                }
                // It may have several parents. The top is not noted: it would hardly cost less
                // the next time, and noting takes room for all places before it.
                self.note(arg, word);
            }
            vector[i + 1] = word;
        }
        node::put(store, spares, &vector[..=n]).map(Some)
    }

    /// A list of few elements whose words are known.
    fn short_list(
        &mut self,
        store: &Store,
        spares: &mut Spares,
        heap: &Heap,
        sy: &Symbols,
        t: Term,
    ) -> Result<Option<u32>, Full> {
        const MAX: usize = 14;
        let elements = heap.args(t);
        if elements.len() > MAX {
            return Ok(None);
        }
        let mut vector = [0; MAX + 2];
        vector[0] = Head::new(Kind::List, heap.sym(sy, t), heap.sort(sy, t)).0;
        vector[1] = elements.len() as u32;
        for (slot, &element) in vector[2..].iter_mut().zip(elements) {
            match self.known(element) {
                0 => return Ok(None),
                word => *slot = word,
            }
        }
        node::put(store, spares, &vector[..elements.len() + 2]).map(Some)
    }

    fn deep(
        &mut self,
        store: &Store,
        spares: &mut Spares,
        heap: &Heap,
        sy: &Symbols,
        t: Term,
    ) -> Result<u32, Full> {
        self.work.clear();
        self.out.clear();
        self.work.push(Task::Enter(t));
        while let Some(task) = self.work.pop() {
            match task {
                Task::Enter(t) => {
                    let t = heap.deref(t);
                    match self.known(t) {
                        0 => self.enter(heap, sy, t),
                        word => self.out.push(word),
                    }
                }
                Task::Leave(t, n) => {
                    let word = self.leave(store, spares, heap, sy, t, n as usize)?;
                    self.out.push(word);
                }
            }
        }
        Ok(self.out.pop().expect("the term's word"))
    }

    /// Pushes what must be done for a node: its fields, and then itself.
    fn enter(&mut self, heap: &Heap, sy: &Symbols, t: Term) {
        let leave = self.work.len();
        self.work.push(Task::Leave(t, 0));
        match heap.layout(t) {
            layout if layout == Layout::Raw as u32 => {}
            layout if layout == Layout::Bag as u32 || layout == Layout::Tree as u32 => {
                let mut pairs = Vec::new();
                heap.bag_pairs(t, &mut pairs);
                self.work.extend(pairs.iter().rev().map(|&(element, _)| Task::Enter(element)));
            }
            _ => {
                debug_assert!(heap.sym(sy, t) < u32::MAX);
                let args = heap.args(t);
                heap.demand(ELEMENT_WORDS * args.len());
                self.work.extend(args.iter().rev().map(|&arg| Task::Enter(arg)));
            }
        }
        let n = self.work.len() - leave - 1;
        self.work[leave] = Task::Leave(t, n as u32);
    }

    /// The word of a node whose fields' words were put out.
    fn leave(
        &mut self,
        store: &Store,
        spares: &mut Spares,
        heap: &Heap,
        sy: &Symbols,
        t: Term,
        n: usize,
    ) -> Result<u32, Full> {
        let (sym, sort) = (heap.sym(sy, t), heap.sort(sy, t));
        let fields = self.out.len() - n;
        let is_unreduced = heap.is_unreduced(t);
        let is_lazy = is_unreduced
            || !self.lazy.is_empty() && self.out[fields..].iter().any(|word| self.lazy.contains(word));
        let head = |kind: Kind| {
            let head = Head::new(kind, sym, sort);
            if is_lazy { head.lazy(is_unreduced).0 } else { head.0 }
        };
        self.vector.clear();
        match heap.layout(t) {
            layout if layout == Layout::Raw as u32 => {
                let raw = heap.digits(t);
                self.vector.extend([head(Kind::Raw), raw.len() as u32]);
                self.vector.extend_from_slice(raw);
            }
            layout if layout == Layout::Bag as u32 || layout == Layout::Tree as u32 => {
                let mut pairs = Vec::with_capacity(n);
                heap.bag_pairs(t, &mut pairs);
                let is_set = pairs.iter().all(|&(_, count)| count == 1);
                self.vector.extend([head(if is_set { Kind::Bag } else { Kind::Multi }), n as u32]);
                self.vector.extend_from_slice(&self.out[fields..]);
                if !is_set {
                    self.vector.extend(pairs.iter().map(|&(_, count)| count));
                }
            }
            _ if is_list(sy, sym) || n != node::arity(sy, sym) => {
                self.vector.extend([head(Kind::List), n as u32]);
                self.vector.extend_from_slice(&self.out[fields..]);
            }
            _ => {
                self.vector.push(head(Kind::Args));
                self.vector.extend_from_slice(&self.out[fields..]);
            }
        }
        let word = node::put(store, spares, &self.vector)?;
        self.out.truncate(fields);
        self.note(t, word);
        if is_lazy {
            self.lazy.insert(word);
            self.unstable.push(t.at());
        }
        Ok(word)
    }
}

/// Is the operator one whose arguments are flattened?
#[inline(always)]
pub fn is_list(sy: &Symbols, sym: u32) -> bool {
    matches!(sy.class(sym), Class::Assoc | Class::AssocComm)
}
