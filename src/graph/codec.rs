//! Between the terms of one thread and the states of the shared store.
//!
//! A state is stored as the vector `[shape, words...]`. The shape says what the root of the term
//! looks like: its head, and for each argument whether its word follows, or, for a multiset or a
//! list, its head and length, and then its elements' words follow (multiplicities, if not all 1,
//! after them). So `{ soup }`, a bare soup and a tuple of soups cost one root pair each, and a
//! rewrite that changes two elements changes two words. Shapes are nodes of the store themselves.
//!
//! The terms of elements are kept from one state to the next in the lower part of the heap, below
//! a mark. [`Codec::decode`] cuts the heap back to the mark: all that was made since the last
//! call is dead by contract. It adds elements that are missing, raises the mark, and makes the
//! root above it. For nodes below the mark the word is known, so that encoding a successor costs
//! one look for each element that did not change. Folding a successor reuses the inner nodes of
//! the decoded state where the words below are the same.

use super::decode::{Decoder, collection};
use super::delta::Ascending;
use super::encode::{ELEMENT_WORDS, Encoder, is_list};
use super::node::{self, Head, Kind};
use super::pairs::{Full, TooMany};
use super::shape::{Part, Parts, Shape, Shapes};
use super::store::{Inserted, Spares, StateId, Store};
use super::vector;
use crate::term::{Heap, Layout, Symbols, Term};

/// As a rule; a state may need more.
const KEPT_MAX: usize = 1 << 18;

/// One thread's way to the store. The heap must be the same in all calls.
pub struct Codec {
    spares: Spares,
    encoder: Encoder,
    decoder: Decoder,
    shapes: Shapes,
    /// The end of what is always there: the machine's constants.
    base: usize,
    /// The end of what is kept between states.
    mark: usize,
    /// The heap's count of collections when the heap was last made ready.
    collections: u64,
    /// The same when places on the heap were last known to be valid.
    valid: u64,
    /// May the heap be cut back?
    cuts: bool,
    /// The elements kept between states may take so many words of the heap.
    pub(super) kept_max: usize,
    /// The decoded state: its shape, its words and inner nodes, the terms of its words.
    shape: usize,
    values: Vec<u32>,
    terms: Vec<Term>,
    is_changed: Vec<bool>,
    /// How much of it has been made since the heap was last cut back.
    readiness: Readiness,
    /// Are the terms still the terms of those words? Not if they may be evaluated in place.
    is_stable: bool,
    /// What its root looks like if it is of the most frequent kind.
    plain: Option<Plain>,
    /// The same for a state on its way to the store.
    next: Vec<u32>,
    form: Vec<u32>,
    /// The steps of folding it that are not those of the decoded state.
    todo: u64,
    pub(super) ascending: Ascending,
}

/// How much of a state is on the heap: nothing, the terms of its words, or its own term.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Readiness {
    Read,
    Parts,
    Whole,
}

/// A decoded root that is a flat set, or that has one as its only argument: headers on the heap.
#[derive(Clone, Copy)]
struct Plain {
    top: Option<u32>,
    set: u32,
    n: usize,
}

/// The root pair of a vector: what there is in the store of a state, beside shared parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Root(pub(super) u32, pub(super) u32);

impl Root {
    /// Both words in one.
    pub fn to_word(self) -> u64 {
        u64::from(self.0) << 32 | u64::from(self.1)
    }

    /// The root with these words.
    pub fn from_word(word: u64) -> Root {
        Root((word >> 32) as u32, word as u32)
    }

    /// Asks for the memory where this will be looked for.
    #[inline]
    pub fn prefetch_place(self, store: &Store) {
        store.prefetch_state((self.0, self.1));
    }

    /// Asks for the pair that this will be compared with. A few may be asked for before the first
    /// of them is put.
    #[inline]
    pub fn prefetch(self, store: &Store) {
        store.prefetch_root((self.0, self.1));
    }
}

impl From<(u32, u32)> for Root {
    fn from((left, right): (u32, u32)) -> Root {
        Root(left, right)
    }
}

const NO_SHAPE: usize = usize::MAX;

impl Codec {
    /// For a heap that has nothing on it but what stays: the machine's constants, and terms that
    /// the caller keeps.
    ///
    /// If `cuts` is false, the heap is never cut back or collected here: for machines that
    /// remember terms between states (memo tables). Then the owner collects whenever
    /// [`Heap::is_full`], before decoding the next state.
    pub fn new(heap: &Heap, cuts: bool) -> Codec {
        Codec {
            spares: Spares::default(),
            encoder: Encoder::default(),
            decoder: Decoder::default(),
            shapes: Shapes::default(),
            base: heap.len(),
            mark: heap.len(),
            collections: heap.collections,
            valid: heap.collections,
            cuts,
            kept_max: KEPT_MAX,
            shape: NO_SHAPE,
            values: Vec::new(),
            terms: Vec::new(),
            is_changed: Vec::new(),
            readiness: Readiness::Read,
            is_stable: false,
            plain: None,
            next: Vec::new(),
            form: Vec::new(),
            todo: 0,
            ascending: Ascending::default(),
        }
    }

    /// From now on several threads are at work.
    pub fn share(&mut self) {
        self.spares = Spares::of_many();
    }

    /// Forgets all about the store; another one will be used. Everything on the heap must be dead but what
    /// was there from the start.
    pub fn renew(&mut self, heap: &mut Heap) {
        self.clear_heap(heap, &mut []);
        if self.cuts {
            heap.truncate(self.base);
            self.mark = self.base;
        }
        self.forget_terms(heap);
        self.spares.renew();
        self.shapes = Shapes::default();
        self.shape = NO_SHAPE;
        self.ascending = Ascending::default();
    }

    /// Bytes of this thread's tables, and of the kept part of the heap.
    pub fn bytes(&self) -> usize {
        self.encoder.bytes() + self.decoder.bytes() + self.mark.saturating_sub(self.base) * 4
    }

    /// The term of a state. Everything that was allocated since the last call must be dead,
    /// except `kept`, terms from before the codec was made, which are updated if they move.
    /// The new term is valid until the next call.
    pub fn decode(
        &mut self,
        store: &Store,
        heap: &mut Heap,
        sy: &Symbols,
        state: StateId,
        kept: &mut [Term],
    ) -> Term {
        self.go_to(store, state);
        self.restore(store, heap, sy, kept)
    }

    /// Reads a state, whose term may be asked for by [`Codec::restore`].
    pub fn go_to(&mut self, store: &Store, state: StateId) {
        store.prefetch_next(state);
        let (left, right) = store.root(state);
        self.go_to_root(store, Root(left, right));
    }

    /// The same for a state that need not be in the store.
    pub fn go_to_root(&mut self, store: &Store, root: Root) {
        self.unfold(store, (root.0, root.1));
        self.is_stable = false;
        self.plain = None;
        self.readiness = Readiness::Read;
    }

    /// How much of the state that was read last is on the heap?
    #[inline]
    pub fn readiness(&self, heap: &Heap) -> Readiness {
        if heap.collections == self.collections { self.readiness } else { Readiness::Read }
    }

    /// The term of the state that was read last; see [`Codec::decode`].
    pub fn restore(&mut self, store: &Store, heap: &mut Heap, sy: &Symbols, kept: &mut [Term]) -> Term {
        if self.readiness(heap) == Readiness::Read {
            self.restore_parts(store, heap, sy, kept);
        }
        self.readiness = Readiness::Whole;
        let root = self.build(heap, sy);
        self.plain = if self.is_stable { self.plain_form(heap, root) } else { None };
        root
    }

    /// The terms of the words of the state that was read last. The heap is cut back first.
    pub fn restore_parts(&mut self, store: &Store, heap: &mut Heap, sy: &Symbols, kept: &mut [Term]) {
        self.clear_heap(heap, kept);
        self.readiness = Readiness::Parts;
        // Elements in which something is not reduced are made above the mark.
        let mut fleeting = false;
        let words = self.shapes.get(self.shape).len;
        for i in 1..words {
            if self.is_changed[i] {
                let word = self.values[i];
                self.terms[i] = match self.decoder.known(word) {
                    Some(term) => term,
                    // No term; nothing on a heap is equal to this.
                    None if self.is_count(i) => Term(0),
                    None if node::head(store, word).is_lazy() => {
                        fleeting = true;
                        continue;
                    }
                    None => self.decoder.term(store, heap, sy, &mut self.encoder, word, false),
                };
                self.is_changed[i] = false;
            }
        }
        self.mark = heap.len();
        self.is_stable = !fleeting;
        if fleeting {
            for i in 1..words {
                if self.is_changed[i] {
                    let word = self.values[i];
                    self.terms[i] = self.decoder.term(store, heap, sy, &mut self.encoder, word, true);
                    // It stays marked as changed, to be made again next time.
                }
            }
        }
    }

    /// The headers of a root that is a flat set, or that has one as its only argument.
    fn plain_form(&self, heap: &Heap, root: Term) -> Option<Plain> {
        let shape = self.shapes.get(self.shape);
        let (top, set) = match *shape.form {
            [_, head, n] if head != 0 => (Some(heap.header(root)), (Head(head), n, heap.arg(root, 0))),
            [head, n] if n != 0 => (None, (Head(head), n, root)),
            _ => return None,
        };
        let (head, n, bag) = set;
        let is_plain = head.kind() == Kind::Bag && !shape.plan.paths.is_empty();
        (is_plain && heap.flat_bag(bag).is_some()).then(|| Plain {
            top,
            set: heap.header(bag),
            n: n as usize,
        })
    }

    /// Makes the heap ready for the next state.
    fn clear_heap(&mut self, heap: &mut Heap, kept: &mut [Term]) {
        self.readiness = Readiness::Read;
        self.decoder.forget_fleeting();
        let is_moved = heap.collections != self.collections;
        if is_moved {
            if self.cuts {
                heap.collect(|visit| kept.iter_mut().for_each(visit));
                self.base = heap.len();
            }
            self.collections = heap.collections;
        } else if self.cuts {
            heap.truncate(self.mark);
            self.encoder.truncate(self.mark);
            if self.mark - self.base <= self.kept_max {
                return;
            }
            heap.truncate(self.base);
        } else {
            return;
        }
        self.mark = heap.len();
        self.forget_terms(heap);
    }

    /// Forgets where on the heap terms are.
    fn forget_terms(&mut self, heap: &Heap) {
        self.valid = heap.collections;
        self.encoder.truncate(0);
        self.decoder.clear();
        self.is_changed.fill(true);
        self.is_stable = false;
        self.plain = None;
    }

    /// Reads the vector of a state over that of the last one, where they differ.
    fn unfold(&mut self, store: &Store, root: (u32, u32)) {
        let is_same = self.has_last_shape(store, root);
        if !is_same {
            self.shape = self.shapes.of_word(store, vector::start(store, root).0);
        }
        let Shape { len, plan, .. } = self.shapes.get(self.shape);
        let steps = &plan.steps;
        if !is_same {
            self.values.clear();
            self.values.resize(len + steps.len(), 0);
            self.terms.resize(*len, Term(0));
            self.is_changed.clear();
            self.is_changed.resize(len + steps.len(), true);
        }
        let (values, is_changed) = (&mut self.values, &mut self.is_changed);
        let top = len + steps.len() - 1;
        is_changed[top] = true;
        for (i, &(a, b)) in steps.iter().enumerate().rev() {
            let place = len + i;
            if !is_changed[place] {
                continue;
            }
            is_changed[place] = false;
            let (left, right) = if place == top { root } else { store.part(values[place] >> 2) };
            for (child, value) in [(a as usize, left), (b as usize, right)] {
                if values[child] != value {
                    values[child] = value;
                    is_changed[child] = true;
                }
            }
        }
    }

    /// Has the vector of a state the same first word as that of the last one? It is looked for as far down
    /// as they differ.
    #[inline]
    fn has_last_shape(&self, store: &Store, root: (u32, u32)) -> bool {
        if self.shape == NO_SHAPE {
            return false;
        }
        let Shape { len, plan, .. } = self.shapes.get(self.shape);
        let (mut left, mut step) = (root.0, plan.steps.len() - 1);
        loop {
            let place = plan.steps[step].0 as usize;
            if self.values[place] == left {
                return true;
            }
            if place < *len || !vector::is_inner(left) {
                return false;
            }
            (left, step) = (store.part(left >> 2).0, place - len);
        }
    }

    /// Is this place of the decoded vector a multiplicity?
    fn is_count(&self, place: usize) -> bool {
        let shape = self.shapes.get(self.shape);
        let mut at = 1;
        for part in Parts::new(&shape.form) {
            if let Part::Collection(head, n) = part
                && head.kind() == Kind::Multi
                && (at + n..at + 2 * n).contains(&place)
            {
                return true;
            }
            at += part.len();
        }
        false
    }

    /// Makes the root of the decoded state.
    fn build(&self, heap: &mut Heap, sy: &Symbols) -> Term {
        let form = &self.shapes.get(self.shape).form;
        let Some(&first) = form.first() else { return self.terms[1] };
        let root = Head(first);
        let mut at = 1;
        let mut part = |heap: &mut Heap, part: Part| {
            let here = at;
            at += part.len();
            match part {
                Part::Word => self.terms[here],
                Part::Collection(head, n) if head.kind() == Kind::Multi => {
                    let counts = &self.values[here + n..here + 2 * n];
                    heap.restore_bag(sy, head.sym(), head.sort(), &self.terms[here..here + n], Some(counts))
                }
                Part::Collection(head, n) => collection(heap, sy, head, &self.terms[here..here + n]),
            }
        };
        if root.kind() != Kind::Args {
            return part(heap, Part::Collection(root, form[1] as usize));
        }
        let mut few = [Term(0); 4];
        let mut n = 0;
        let mut many = Vec::new();
        for next in Parts::new(form) {
            let term = part(heap, next);
            if n < few.len() {
                few[n] = term;
            } else {
                many.extend_from_slice(if n == few.len() { &few } else { &[] });
                many.push(term);
            }
            n += 1;
        }
        heap.alloc(root.sym(), root.sort(), if n <= few.len() { &few[..n] } else { &many })
    }

    /// The word of a term, which may be any.
    pub fn encode(&mut self, store: &Store, heap: &Heap, sy: &Symbols, term: Term) -> Result<u32, Full> {
        self.check_heap(heap);
        self.encoder.word(store, &mut self.spares, heap, sy, term)
    }

    /// The term of a word. It is valid as long as a decoded state is.
    pub fn term(&mut self, store: &Store, heap: &mut Heap, sy: &Symbols, word: u32) -> Term {
        self.check_heap(heap);
        let term = self.decoder.term(store, heap, sy, &mut self.encoder, word, true);
        self.decoder.forget_fleeting();
        term
    }

    /// The root pair of a term that is to be a state, for [`Codec::put`] or
    /// [`Codec::put_keyed`] a little later, when the memory they need has arrived.
    pub fn root(&mut self, store: &Store, heap: &Heap, sy: &Symbols, term: Term) -> Result<Root, Full> {
        let root = self.fold(store, heap, sy, term)?;
        store.prefetch_state(root);
        Ok(Root(root.0, root.1))
    }

    /// Finds or puts a state by its root pair. For one thread at a time.
    #[inline]
    pub fn put(&mut self, store: &Store, root: Root, parent: StateId) -> Result<Inserted, Full> {
        store.put_state(&mut self.spares, (root.0, root.1), parent)
    }

    /// Finds or puts a state by its root pair in a keyed level.
    #[inline]
    pub fn put_keyed(&mut self, store: &Store, root: Root, key: u64) -> Result<Inserted, Full> {
        store.put_state_keyed(&mut self.spares, (root.0, root.1), key)
    }

    /// What the root of the state that was read last looks like.
    pub(super) fn form(&self) -> &[u32] {
        &self.shapes.get(self.shape).form
    }

    /// The words of the state that was read last, after its shape.
    #[inline]
    pub(super) fn words(&self) -> &[u32] {
        &self.values[1..self.shapes.get(self.shape).len]
    }

    /// The terms of those words, if they have been made.
    pub(super) fn terms(&self) -> &[Term] {
        &self.terms[1..self.shapes.get(self.shape).len]
    }

    /// The root pair of a vector with some form; its first word is the shape's and is set here.
    pub(super) fn fold_vector(
        &mut self,
        store: &Store,
        form: &[u32],
        mut words: Vec<u32>,
    ) -> Result<Root, Full> {
        let shape = self.shapes.of_form(store, &mut self.spares, form)?;
        let Shape { word, plan, .. } = self.shapes.get(shape);
        words[0] = *word;
        let (left, right) = plan.fold(store, &mut self.spares, &words)?;
        Ok(Root(left, right))
    }

    /// Makes a copy of the vector that was read last, to be folded, with other words at some positions.
    /// Returns the set of those that change; `None` if vectors of this length are folded otherwise.
    #[inline]
    pub(super) fn change(&mut self, positions: &[u8], words: &[u32]) -> Option<u64> {
        let paths = &self.shapes.get(self.shape).plan.paths[..];
        if paths.is_empty() {
            return None;
        }
        self.next.clear();
        self.next.extend_from_slice(&self.values);
        let next = &mut self.next[1..paths.len()];
        let (mut todo, mut changed) = (0, 0);
        for (&position, &word) in positions.iter().zip(words) {
            let place = &mut next[position as usize];
            if *place != word {
                *place = word;
                todo |= paths[position as usize + 1];
                changed |= 1 << position;
            }
        }
        self.todo = todo;
        Some(changed)
    }

    /// The words of the copy, and more.
    #[inline]
    pub(super) fn next_words(&self) -> &[u32] {
        &self.next[1..]
    }

    /// The root pair of the copy: what is above a changed word is folded anew.
    #[inline]
    pub(super) fn fold_next(&mut self, store: &Store) -> Result<(u32, u32), Full> {
        let Shape { len, plan, .. } = self.shapes.get(self.shape);
        let next = &mut self.next[..];
        let mut todo = self.todo;
        while todo != 0 {
            let i = todo.trailing_zeros() as usize;
            todo &= todo - 1;
            let (a, b) = plan.steps[i];
            let part = store.put_part(&mut self.spares, next[a as usize], next[b as usize])?;
            next[len + i] = vector::inner(part);
        }
        let (left, right) = plan.steps[plan.steps.len() - 1];
        Ok((next[left as usize], next[right as usize]))
    }

    /// Finds or puts a state; `parent` is its parent if it is new. For one thread at a time.
    pub fn insert(
        &mut self,
        store: &Store,
        heap: &Heap,
        sy: &Symbols,
        term: Term,
        parent: StateId,
    ) -> Result<Inserted, Full> {
        let root = self.fold(store, heap, sy, term)?;
        store.put_state(&mut self.spares, root, parent)
    }

    /// The same for who has the store for himself: it grows as needed.
    pub fn insert_alone(
        &mut self,
        store: &mut Store,
        heap: &Heap,
        sy: &Symbols,
        term: Term,
        parent: StateId,
    ) -> Result<Inserted, TooMany> {
        loop {
            match self.insert(store, heap, sy, term, parent) {
                Ok(inserted) => return Ok(inserted),
                Err(Full) => store.grow()?,
            }
        }
    }

    /// Finds or puts a state in a keyed level; see [`super::key`].
    pub fn insert_keyed(
        &mut self,
        store: &Store,
        heap: &Heap,
        sy: &Symbols,
        term: Term,
        key: u64,
    ) -> Result<Inserted, Full> {
        let root = self.fold(store, heap, sy, term)?;
        store.put_state_keyed(&mut self.spares, root, key)
    }

    fn check_heap(&mut self, heap: &Heap) {
        if heap.collections != self.valid {
            self.forget_terms(heap);
        }
    }

    /// The root pair of a term that is to be a state.
    fn fold(&mut self, store: &Store, heap: &Heap, sy: &Symbols, term: Term) -> Result<(u32, u32), Full> {
        self.check_heap(heap);
        if let Some(root) = self.fold_plain(store, heap, sy, term)? {
            return Ok(root);
        }
        self.flatten(store, heap, sy, heap.deref(term))?;
        let is_same = self.shape != NO_SHAPE && *self.shapes.get(self.shape).form == *self.form;
        let shape =
            if is_same { self.shape } else { self.shapes.of_form(store, &mut self.spares, &self.form)? };
        let Shape { word, len, plan, .. } = self.shapes.get(shape);
        debug_assert!(self.next.len() == *len);
        self.next[0] = *word;
        self.next.resize(len + plan.steps.len(), 0);
        let (next, values) = (&mut self.next[..], &self.values[..]);
        let (&(left, right), steps) = plan.steps.split_last().expect("vectors have two words at least");
        for (i, &(a, b)) in steps.iter().enumerate() {
            let (a, b) = (a as usize, b as usize);
            let (left, right) = (next[a], next[b]);
            next[len + i] = if is_same && left == values[a] && right == values[b] {
                values[len + i]
            } else {
                vector::inner(store.put_part(&mut self.spares, left, right)?)
            };
        }
        Ok((next[left as usize], next[right as usize]))
    }

    /// The same for the most frequent case: the decoded state was a flat set, perhaps with an
    /// operator around it, and this one has the same sorts and size. Only what is above a
    /// changed element is folded.
    fn fold_plain(
        &mut self,
        store: &Store,
        heap: &Heap,
        sy: &Symbols,
        term: Term,
    ) -> Result<Option<(u32, u32)>, Full> {
        let Some(Plain { top, set, n }) = self.plain else { return Ok(None) };
        let bag = match top {
            Some(top) if term.is_node() && heap.header(term) == top => heap.arg(term, 0),
            None => term,
            Some(_) => return Ok(None),
        };
        if !bag.is_node() || heap.header(bag) != set {
            return Ok(None);
        }
        let Some(pairs) = heap.flat_bag(bag).filter(|pairs| pairs.len() == 2 * n) else { return Ok(None) };
        let plan = &self.shapes.get(self.shape).plan;
        self.next.clear();
        self.next.extend_from_slice(&self.values);
        self.todo = 0;
        for (i, (pair, &old)) in pairs.chunks_exact(2).zip(&self.terms[1..=n]).enumerate() {
            if pair[1].0 != 1 {
                return Ok(None);
            }
            if pair[0] != old {
                let word = self.encoder.word(store, &mut self.spares, heap, sy, pair[0])?;
                if word != self.next[i + 1] {
                    self.next[i + 1] = word;
                    self.todo |= plan.paths[i + 1];
                }
            }
        }
        self.fold_next(store).map(Some)
    }

    /// Writes the words of a state to `next`, after a place for its shape, and its form.
    fn flatten(&mut self, store: &Store, heap: &Heap, sy: &Symbols, t: Term) -> Result<(), Full> {
        self.next.clear();
        self.next.push(0);
        self.form.clear();
        if !t.is_node() || heap.is_unreduced(t) || heap.layout(t) == Layout::Raw as u32 {
            let word = self.encoder.word(store, &mut self.spares, heap, sy, t)?;
            self.next.push(word);
            return Ok(());
        }
        if self.flatten_collection(store, heap, sy, t)? {
            return Ok(());
        }
        self.form.push(Head::new(Kind::Args, heap.sym(sy, t), heap.sort(sy, t)).0);
        for i in 0..heap.args(t).len() {
            let arg = heap.deref(heap.args(t)[i]);
            if !self.flatten_collection(store, heap, sy, arg)? {
                self.form.push(0);
                let word = self.encoder.word(store, &mut self.spares, heap, sy, arg)?;
                self.next.push(word);
            }
        }
        Ok(())
    }

    /// The same for a multiset or a list, if it is one.
    fn flatten_collection(
        &mut self,
        store: &Store,
        heap: &Heap,
        sy: &Symbols,
        t: Term,
    ) -> Result<bool, Full> {
        if !t.is_node() || heap.is_unreduced(t) {
            return Ok(false);
        }
        let (sym, sort) = (heap.sym(sy, t), heap.sort(sy, t));
        if let Some(pairs) = heap.flat_bag(t) {
            // Nearly all elements are those of the decoded state, in the same places.
            let from = self.next.len();
            let (terms, words) =
                if self.is_stable { (&self.terms[..], &self.values[..]) } else { (&[][..], &[][..]) };
            let (terms, words) = (terms.get(from..).unwrap_or(&[]), words.get(from..).unwrap_or(&[]));
            self.next.resize(from + pairs.len() / 2, 0);
            let mut is_set = true;
            for (i, (slot, pair)) in self.next[from..].iter_mut().zip(pairs.chunks_exact(2)).enumerate() {
                *slot = match terms.get(i) {
                    Some(&term) if term == pair[0] => words[i],
                    _ => self.encoder.word(store, &mut self.spares, heap, sy, pair[0])?,
                };
                is_set &= pair[1].0 == 1;
            }
            let kind = if is_set { Kind::Bag } else { Kind::Multi };
            self.form.extend([Head::new(kind, sym, sort).0, pairs.len() as u32 / 2]);
            if !is_set {
                self.next.extend(pairs.chunks_exact(2).map(|pair| pair[1].0));
            }
        } else if heap.layout(t) == Layout::Tree as u32 {
            let mut pairs = Vec::new();
            heap.bag_pairs(t, &mut pairs);
            for &(element, _) in &pairs {
                let word = self.encoder.word(store, &mut self.spares, heap, sy, element)?;
                self.next.push(word);
            }
            let is_set = pairs.iter().all(|&(_, count)| count == 1);
            let kind = if is_set { Kind::Bag } else { Kind::Multi };
            self.form.extend([Head::new(kind, sym, sort).0, pairs.len() as u32]);
            if !is_set {
                self.next.extend(pairs.iter().map(|&(_, count)| count));
            }
        } else if heap.layout(t) != Layout::Raw as u32 && is_list(sy, sym) {
            let elements = heap.args(t);
            heap.demand(ELEMENT_WORDS * elements.len());
            for &element in elements {
                let word = self.encoder.word(store, &mut self.spares, heap, sy, element)?;
                self.next.push(word);
            }
            self.form.extend([Head::new(Kind::List, sym, sort).0, elements.len() as u32]);
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}
