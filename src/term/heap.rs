//! The scratch heap: 32-bit words, bump allocation, a copying collector.
//!
//! A [`Term`] is one word. Its two low bits say what it is: a reference to a node on the heap,
//! a small natural number, or a constant operator. Only normal forms (modulo axioms) live here.
//!
//! A node is a header word and its fields. The header holds the operator (16 bits), the layout
//! (6 bits), the index of the least sort in its kind (9 bits) and a bit for terms that are not
//! reduced yet (arguments that an evaluation strategy left alone).
//!
//! Nothing here collects by itself: allocation always succeeds by growing, and the owner calls
//! [`Heap::collect`] at points where it knows all roots. So code between two such points may
//! hold terms in local variables without care.

use super::symbols::Symbols;
use crate::base::Exceeded;
use crate::sorts::{SortId, SortIx};

/// A term: an immediate (small natural, constant) or a reference to a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Term(pub u32);

/// What an immediate or a node looks like in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Layout {
    /// Codes up to this one: that many argument words follow the header.
    Fixed = 47,
    /// `[hdr, n, args...]`: free operators of large arity, and short flattened lists.
    Flat = 48,
    /// `[hdr, buffer, offset, length]`: a longer flattened list; or a long string, whose buffer is
    /// raw: `[hdr, n, filled bytes, bytes...]`.
    View = 49,
    /// `[hdr, capacity, lo, hi, sorts, sorts, slots...]`: storage shared by views.
    Buffer = 50,
    /// `[hdr, n, (element, multiplicity)...]`: a multiset, elements ascending.
    Bag = 51,
    /// `[hdr, root]`: a large multiset.
    Tree = 52,
    /// `[hdr, distinct, max multiplicity, total, n and which are multiple, children..., bounds...,
    /// their distinct...]`: its inner nodes.
    TreeNode = 53,
    /// `[hdr, n, words...]`: raw data (big numbers, strings, floats, quoted identifiers, variables).
    Raw = 54,
    /// `[hdr, value]`: a term that was not reduced, after its reduction.
    Indirect = 55,
    /// `[hdr, distinct, max multiplicity, total, elements..., multiplicities...]`: part of a large
    /// multiset. There are multiplicities only if one is greater than 1.
    Leaf = 56,
}

pub(crate) const SYM_BITS: u32 = 16;
const LAYOUT_SHIFT: u32 = SYM_BITS;
const SORT_SHIFT: u32 = LAYOUT_SHIFT + 6;
/// Kinds with more sorts than this cannot be represented.
pub const SORTS_MAX: u32 = 1 << 9;
/// Operators beyond this number cannot have arguments.
pub const SYMS_MAX: u32 = (1 << SYM_BITS) - 2;
/// The pseudo operator of variables.
pub const VAR_SYM: u32 = (1 << SYM_BITS) - 1;
const UNREDUCED: u32 = 1 << 31;
const FORWARD: u32 = u32::MAX;

/// Fields of a buffer before its slots.
pub(super) const BUFFER_HEAD: usize = 6;
/// Fields of a large multiset's inner node before its children.
pub(super) const TREE_HEAD: usize = 5;
/// Naturals below this are immediate.
pub const SMALL_MAX: u32 = 1 << 30;

impl Term {
    /// No term: an unbound variable, an empty tree.
    pub const NONE: Term = Term(u32::MAX);

    #[inline(always)]
    pub const fn constant(sym: u32) -> Term {
        Term(sym << 2 | 2)
    }
    /// A small natural; `n < SMALL_MAX`.
    #[inline(always)]
    pub const fn small(n: u32) -> Term {
        Term(n << 2 | 1)
    }
    #[inline(always)]
    pub const fn is_node(self) -> bool {
        self.0 & 3 == 0
    }
    #[inline(always)]
    pub const fn is_small(self) -> bool {
        self.0 & 3 == 1
    }
    #[inline(always)]
    pub const fn is_constant(self) -> bool {
        self.0 & 3 == 2
    }
    #[inline(always)]
    pub const fn is_none(self) -> bool {
        self.0 == u32::MAX
    }
    /// The natural of a small immediate, or the operator of a constant.
    #[inline(always)]
    pub const fn payload(self) -> u32 {
        self.0 >> 2
    }
    #[inline(always)]
    pub(crate) const fn at(self) -> usize {
        (self.0 >> 2) as usize
    }
    #[inline(always)]
    pub(crate) fn node(at: usize) -> Term {
        debug_assert!(at < 1 << 30);
        Term((at as u32) << 2)
    }
}

/// A node's header word.
#[inline(always)]
pub const fn header(sym: u32, layout: u32, sort: SortIx) -> u32 {
    sym | layout << LAYOUT_SHIFT | sort << SORT_SHIFT
}

#[inline(always)]
pub const fn header_sym(header: u32) -> u32 {
    header & ((1 << SYM_BITS) - 1)
}

/// The operator and the layout.
#[inline(always)]
pub const fn header_form(header: u32) -> u32 {
    header & ((1 << SORT_SHIFT) - 1)
}

#[inline(always)]
pub const fn header_layout(header: u32) -> u32 {
    header >> LAYOUT_SHIFT & 63
}

#[inline(always)]
pub const fn header_sort(header: u32) -> SortIx {
    header >> SORT_SHIFT & (SORTS_MAX - 1)
}

/// One thread's terms.
#[derive(Debug, Default)]
pub struct Heap {
    pub(super) words: Vec<Term>,
    /// Ground terms that compiled code refers to; always roots.
    pub consts: Vec<Term>,
    /// Collect when the heap has grown past this many words.
    pub limit: usize,
    /// Long nodes that do not fit into this many words are not made.
    pub max: usize,
    /// How often it was collected: terms held outside are valid as long as this does not change.
    pub collections: u64,
    /// A space that the next collection may copy to; its contents mean nothing.
    spare: Vec<Term>,
    /// The last division of a long number by a word: dividend, divisor, remainder. Who computes
    /// `N quo 10` nearly always asks for `N rem 10` next.
    pub(crate) last_division: Option<(Term, u64, u64)>,
    /// Room to take a multiset apart.
    pub(super) pair_buffers: [Vec<(Term, u32)>; 2],
    pub(super) sort_memo: rustc_hash::FxHashMap<(u32, u64), Option<SortIx>>,
    /// What memberships said of towers `f^n(t)`: (operator, `t`, n) to the sort and the rewrites that
    /// it took. Forgotten when terms move.
    pub tower_sorts: rustc_hash::FxHashMap<(u32, Term, u32), (SortIx, u64)>,
    /// Decides the sorts of small naturals where memberships apply to them.
    pub number_sorts: Option<std::sync::Arc<super::NumberSorts>>,
}

const LIMIT_MIN: usize = 1 << 20;
/// References have 30 bits; what is made between two looks is far less than the rest.
pub const WORDS_MAX: usize = (1 << 30) - (1 << 26);
/// Nodes from this many words on are long.
const LONG: usize = 1 << 16;
/// Words beyond the limit that are usually enough until the next chance to collect.
const ROOM: usize = 1 << 12;
/// Spaces up to this many words are kept for the next collection: new pages are not free.
const SPARE_MAX: usize = 1 << 25;

impl Heap {
    pub fn new() -> Heap {
        // Word 0 is never a node, so that `Term(0)` is never valid.
        Heap { words: vec![Term(0)], limit: LIMIT_MIN, max: WORDS_MAX, ..Heap::default() }
    }

    /// Words in use.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Words that it holds, used or not.
    pub fn capacity(&self) -> usize {
        self.words.capacity() + self.spare.capacity()
    }

    pub fn is_empty(&self) -> bool {
        self.words.len() <= 1
    }

    /// Is it time to collect?
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.words.len() > self.limit
    }

    /// Is there room for a node of so many words, and for its copy when garbage is collected?
    pub(super) fn fits(&self, words: usize) -> bool {
        self.words.len().saturating_add(words.saturating_mul(2)) <= self.max
    }

    /// Ends the work if a long node does not fit. Those that are short are not asked: the next collection
    /// sees what they took.
    #[inline]
    pub fn demand(&self, words: usize) {
        if words > LONG && !self.fits(words) {
            Exceeded::ROOM.unwind();
        }
    }

    #[inline(always)]
    pub(crate) fn word(&self, at: usize) -> Term {
        debug_assert!(at < self.words.len());
        // SAFETY: node references are made only by this module from allocated places, and the
        // collector rewrites all of them; fields are within the node's size.
        unsafe { *self.words.get_unchecked(at) }
    }

    #[inline(always)]
    pub(crate) fn set_word(&mut self, at: usize, word: Term) {
        debug_assert!(at < self.words.len());
        // SAFETY: as for reading.
        unsafe { *self.words.get_unchecked_mut(at) = word }
    }

    /// Asks for the memory of a node that is going to be read, up to the size of a multiset's
    /// nodes, so that its parts do not arrive one after the other.
    #[inline(always)]
    pub(super) fn prefetch(&self, t: Term) {
        (0..4).for_each(|line| prefetch(&self.words, t.at() + 16 * line));
    }

    /// Asks for the start of a node.
    #[inline(always)]
    pub(super) fn prefetch_head(&self, t: Term) {
        prefetch(&self.words, t.at());
    }

    #[inline(always)]
    pub fn header(&self, t: Term) -> u32 {
        debug_assert!(t.is_node());
        self.word(t.at()).0
    }

    #[inline(always)]
    pub fn layout(&self, t: Term) -> u32 {
        header_layout(self.header(t))
    }

    /// Argument `i` of a node with fixed layout.
    #[inline(always)]
    pub fn arg(&self, t: Term, i: usize) -> Term {
        self.word(t.at() + 1 + i)
    }

    /// The top operator. Naturals belong to the successor operator, 0 to the zero constant.
    #[inline(always)]
    pub fn sym(&self, sy: &Symbols, t: Term) -> u32 {
        match t.0 & 3 {
            0 => header_sym(self.word(t.at()).0),
            1 if t.payload() == 0 => sy.numbers.zero,
            1 => sy.numbers.succ,
            _ => t.payload(),
        }
    }

    /// What a theory knows of the top of a term is found by this number: the operator's, and for variables one
    /// of their kind's.
    #[inline(always)]
    pub fn head(&self, sy: &Symbols, t: Term) -> usize {
        let sym = self.sym(sy, t);
        if sym == VAR_SYM { self.variable_head(sy, t) } else { sym as usize }
    }

    #[cold]
    fn variable_head(&self, sy: &Symbols, t: Term) -> usize {
        let sort = SortId(self.raw(t)[3].0);
        sy.variables(sort) as usize
    }

    /// The index of the least sort in the term's kind.
    #[inline(always)]
    pub fn sort(&self, sy: &Symbols, t: Term) -> SortIx {
        match t.0 & 3 {
            0 => header_sort(self.word(t.at()).0),
            1 if sy.numbers.decided => self.decided_sort(sy, t.payload()),
            1 => sy.numbers.sort_of(t.payload()),
            _ => sy.info[t.payload() as usize].constant_sort,
        }
    }

    #[cold]
    #[inline(never)]
    fn decided_sort(&self, sy: &Symbols, n: u32) -> SortIx {
        let declared = sy.numbers.sort_of(n);
        self.number_sorts.as_ref().map_or(declared, |sorts| sorts.sort(n, declared))
    }

    #[inline(always)]
    pub fn is_unreduced(&self, t: Term) -> bool {
        t.is_node() && self.word(t.at()).0 & UNREDUCED != 0
    }

    /// The term is to be taken as it is.
    pub(crate) fn mark_reduced(&mut self, t: Term) {
        self.words[t.at()].0 &= !UNREDUCED;
    }

    pub(crate) fn mark_unreduced(&mut self, t: Term) {
        if t.is_node() {
            self.words[t.at()].0 |= UNREDUCED;
        }
    }

    /// A constant that is not reduced: a node without arguments.
    pub(crate) fn alloc_unreduced_constant(&mut self, sym: u32, sort: SortIx) -> Term {
        let at = self.push_words([Term(header(sym, Layout::Flat as u32, sort) | UNREDUCED), Term(0)]);
        Term::node(at)
    }

    /// Replaces a term that was not reduced by its value, for all who share it. The node keeps
    /// the value's operator and sort, so that only who looks at its fields must follow it.
    pub(crate) fn resolve(&mut self, sy: &Symbols, t: Term, value: Term) {
        if t.is_node() && t != value {
            let head = header(self.sym(sy, value), Layout::Indirect as u32, self.sort(sy, value));
            self.words[t.at()] = Term(head);
            self.words[t.at() + 1] = value;
        }
    }

    /// The value behind indirections.
    #[inline(always)]
    pub(crate) fn deref(&self, mut t: Term) -> Term {
        while t.is_node() && self.layout(t) == Layout::Indirect as u32 {
            t = self.word(t.at() + 1);
        }
        t
    }

    pub(crate) fn set_sort(&mut self, t: Term, sort: SortIx) {
        let word = &mut self.words[t.at()].0;
        *word = *word & !((SORTS_MAX - 1) << SORT_SHIFT) | sort << SORT_SHIFT;
    }

    /// The flattened arguments of a node with layout Fixed, Flat or View.
    #[inline]
    pub fn args(&self, t: Term) -> &[Term] {
        let at = t.at();
        match self.layout(t) {
            n if n <= Layout::Fixed as u32 => &self.words[at + 1..at + 1 + n as usize],
            n if n == Layout::Flat as u32 => {
                let len = self.word(at + 1).0 as usize;
                &self.words[at + 2..at + 2 + len]
            }
            n if n == Layout::View as u32 => {
                let (buffer, offset, len) =
                    (self.word(at + 1), self.word(at + 2).0 as usize, self.word(at + 3).0 as usize);
                let start = buffer.at() + BUFFER_HEAD + offset;
                &self.words[start..start + len]
            }
            n if n == Layout::Indirect as u32 => match self.deref(t) {
                value if value.is_node() => self.args(value),
                _ => &[],
            },
            layout => unreachable!("layout {layout} has no argument slice"),
        }
    }

    /// A node over given arguments, without any normalization.
    #[inline]
    pub fn alloc(&mut self, sym: u32, sort: SortIx, args: &[Term]) -> Term {
        let at = self.words.len();
        if args.len() <= Layout::Fixed as usize {
            self.words.push(Term(header(sym, args.len() as u32, sort)));
        } else {
            self.words.push(Term(header(sym, Layout::Flat as u32, sort)));
            self.words.push(Term(args.len() as u32));
        }
        self.words.extend_from_slice(args);
        Term::node(at)
    }

    /// A node with a header made before.
    #[inline(always)]
    pub fn alloc_header(&mut self, header: u32, args: &[Term]) -> Term {
        let at = self.words.len();
        self.words.push(Term(header));
        self.words.extend_from_slice(args);
        Term::node(at)
    }

    #[inline(always)]
    pub fn alloc1(&mut self, header: u32, x: Term) -> Term {
        self.alloc_words([Term(header), x])
    }

    #[inline(always)]
    pub fn alloc2(&mut self, header: u32, x: Term, y: Term) -> Term {
        self.alloc_words([Term(header), x, y])
    }

    #[inline(always)]
    pub fn alloc3(&mut self, header: u32, x: Term, y: Term, z: Term) -> Term {
        self.alloc_words([Term(header), x, y, z])
    }

    /// A node of fixed size: one test, plain stores.
    #[inline(always)]
    pub(super) fn alloc_words<const N: usize>(&mut self, node: [Term; N]) -> Term {
        let at = self.words.len();
        if self.words.capacity() - at < N {
            self.grow();
        }
        // SAFETY: there is room for N words behind the length, checked or made just before.
        unsafe {
            self.words.as_mut_ptr().add(at).cast::<[Term; N]>().write(node);
            self.words.set_len(at + N);
        }
        Term::node(at)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.words.reserve(64);
    }

    /// A node whose argument `hole` will be written later; `others` are the rest.
    #[inline(always)]
    pub(crate) fn alloc_hole(&mut self, header: u32, others: &[Term], hole: usize) -> Term {
        let at = self.words.len();
        self.words.push(Term(header));
        self.words.extend_from_slice(&others[..hole]);
        self.words.push(Term::small(0));
        self.words.extend_from_slice(&others[hole..]);
        Term::node(at)
    }

    /// Is `sym` the top operator of a node?
    #[inline(always)]
    pub fn is_top(&self, sy: &Symbols, t: Term, sym: u32) -> bool {
        if t.is_node() { header_sym(self.word(t.at()).0) == sym } else { self.sym(sy, t) == sym }
    }

    /// A node with raw data.
    pub fn alloc_raw(&mut self, sym: u32, sort: SortIx, data: impl IntoIterator<Item = u32>) -> Term {
        let at = self.words.len();
        self.words.push(Term(header(sym, Layout::Raw as u32, sort)));
        self.words.push(Term(0));
        self.words.extend(data.into_iter().map(Term));
        self.words[at + 1] = Term((self.words.len() - at - 2) as u32);
        Term::node(at)
    }

    /// The raw words of a node with layout Raw.
    pub fn raw(&self, t: Term) -> &[Term] {
        let at = self.deref(t).at();
        let len = self.word(at + 1).0 as usize;
        &self.words[at + 2..at + 2 + len]
    }

    /// The raw words of a node with layout Raw, as numbers.
    #[inline]
    pub fn digits(&self, t: Term) -> &[u32] {
        plain(self.raw(t))
    }

    /// A copy of a node over the same arguments.
    pub(crate) fn copy_node(&mut self, t: Term) -> Term {
        let at = self.words.len();
        self.words.extend_from_within(t.at()..t.at() + node_size(&self.words, t.at()));
        Term::node(at)
    }

    /// Changes argument `i` of a node with fixed layout.
    pub(crate) fn set_arg(&mut self, t: Term, i: usize, arg: Term) {
        self.set_word(t.at() + 1 + i, arg);
    }

    /// A copy of a node with layout Raw.
    pub(crate) fn copy_raw(&mut self, t: Term) -> Term {
        let (from, size, at) = (t.at(), 2 + self.word(t.at() + 1).0 as usize, self.words.len());
        self.words.extend_from_within(from..from + size);
        Term::node(at)
    }

    /// Where [`Heap::digits`] are among the words that `fill` gets in [`Heap::nat_filled`].
    pub(crate) fn digits_place(&self, t: Term) -> std::ops::Range<usize> {
        t.at() + 2..t.at() + 2 + self.word(t.at() + 1).0 as usize
    }

    /// A node with `room` raw words, all 0 until `fill` writes them. `fill` also gets all words
    /// that were there before, so that it can read other nodes while it writes this one.
    #[inline]
    pub(super) fn alloc_filled(
        &mut self,
        sym: u32,
        sort: SortIx,
        room: usize,
        fill: impl FnOnce(&[u32], &mut [u32]),
    ) -> Term {
        self.demand(room);
        let at = self.words.len();
        self.words.resize(at + 2 + room, Term(0));
        let (old, new) = self.words.split_at_mut(at);
        new[0] = Term(header(sym, Layout::Raw as u32, sort));
        new[1] = Term(room as u32);
        fill(plain(old), plain_mut(&mut new[2..]));
        Term::node(at)
    }

    /// Shortens the node that was allocated last to `len` raw words.
    pub(super) fn shorten_last(&mut self, t: Term, len: usize) {
        debug_assert!(t.at() + 2 + self.raw(t).len() == self.words.len());
        self.words.truncate(t.at() + 2 + len);
        self.words[t.at() + 1] = Term(len as u32);
    }

    /// Drops the node that was allocated last.
    pub(super) fn drop_last(&mut self, t: Term) {
        self.words.truncate(t.at());
    }

    /// A string of bytes as raw data: its length, then four bytes to a word.
    pub fn alloc_bytes(&mut self, sym: u32, sort: SortIx, bytes: &[u8]) -> Term {
        self.alloc_filled(sym, sort, 1 + bytes.len().div_ceil(4), |_, new| {
            new[0] = bytes.len() as u32;
            bytes_mut(&mut new[1..])[..bytes.len()].copy_from_slice(bytes);
        })
    }

    /// Parts of other strings, one after the other, as one.
    pub(super) fn alloc_parts(
        &mut self,
        sym: u32,
        sort: SortIx,
        parts: &[(Term, std::ops::Range<usize>)],
    ) -> Term {
        let len = parts.iter().map(|(_, range)| range.len()).sum::<usize>();
        let places: Vec<usize> = parts.iter().map(|(part, _)| self.bytes_place(*part)).collect();
        self.alloc_filled(sym, sort, 1 + len.div_ceil(4), |old, new| {
            new[0] = len as u32;
            let mut rest = bytes_mut(&mut new[1..]);
            for ((_, range), place) in parts.iter().zip(places) {
                let text = &bytes(&old[place..])[range.clone()];
                let (target, left) = rest.split_at_mut(text.len());
                target.copy_from_slice(text);
                rest = left;
            }
        })
    }

    /// The bytes of a string.
    #[inline]
    pub fn bytes(&self, t: Term) -> &[u8] {
        let t = self.deref(t);
        if self.layout(t) == Layout::View as u32 {
            let raw = self.digits(self.word(t.at() + 1));
            return &bytes(&raw[1..])[..self.word(t.at() + 3).0 as usize];
        }
        let raw = self.digits(t);
        &bytes(&raw[1..])[..raw[0] as usize]
    }

    /// Where the bytes of a string start among the words.
    fn bytes_place(&self, t: Term) -> usize {
        let t = self.deref(t);
        let raw = if self.layout(t) == Layout::View as u32 { self.word(t.at() + 1) } else { t };
        raw.at() + 3
    }

    /// The long string `t` followed by `u`: in place if `t` ends where its buffer is filled to.
    pub(super) fn append_bytes(&mut self, sym: u32, sort: SortIx, t: Term, u: Term) -> Term {
        let t = self.deref(t);
        let (left, right) = (self.bytes(t).len(), self.bytes(u).len());
        let total = left + right;
        let mut buffer = Term::NONE;
        if self.layout(t) == Layout::View as u32 {
            let shared = self.word(t.at() + 1);
            let raw = self.digits(shared);
            if raw[0] as usize == left && total <= (raw.len() - 1) * 4 {
                buffer = shared;
            }
        }
        if buffer.is_none() {
            let place = self.bytes_place(t);
            buffer = self.alloc_filled(sym, sort, 1 + total.div_ceil(2), |old, new| {
                bytes_mut(&mut new[1..])[..left].copy_from_slice(&bytes(&old[place..])[..left]);
            });
        }
        let from = self.bytes_place(u) * 4;
        let to = (buffer.at() + 3) * 4 + left;
        self.words[buffer.at() + 2] = Term(total as u32);
        // SAFETY: terms are words, and words are made of bytes.
        let all = unsafe {
            std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast::<u8>(), self.words.len() * 4)
        };
        all.copy_within(from..from + right, to);
        let view = [Term(header(sym, Layout::View as u32, sort)), buffer, Term(0), Term(total as u32)];
        Term::node(self.push_words(view))
    }

    pub(super) fn push_words(&mut self, words: impl IntoIterator<Item = Term>) -> usize {
        let at = self.words.len();
        self.words.extend(words);
        at
    }

    /// Copies everything reachable to another space and back, and drops the rest. `roots` must call
    /// its argument on every place that holds a term; those places are updated.
    ///
    /// The way back is one copy in order, since terms are places relative to their space. So the
    /// other space is never larger than what is alive, and the one where terms are made stays in
    /// the same pages.
    pub fn collect(&mut self, roots: impl FnOnce(&mut dyn FnMut(&mut Term))) {
        let old = std::mem::take(&mut self.words);
        let mut new = std::mem::take(&mut self.spare);
        new.clear();
        if new.capacity() < old.len() {
            // No node is copied twice, so this is room enough; pages that are not used cost nothing.
            new = with_large_pages(2 * old.len());
        }
        let mut space = Space { new, old, scanned: 1 };
        space.new.push(Term(0));
        for constant in &mut self.consts {
            space.forward(constant);
        }
        space.scan();
        roots(&mut |t| space.forward(t));
        space.scan();
        let live = space.new.len();
        self.last_division = None;
        self.collections += 1;
        self.tower_sorts.clear();
        // Both spaces together are to fit, but if little is free it does not pay to collect ever again.
        let room = self.max.saturating_sub(live).max(live + live / 4);
        self.limit = (live * 5).min(SPARE_MAX).max(live * 3).min(room).max(LIMIT_MIN);
        self.words = space.old;
        self.words.clear();
        let needed = self.limit + ROOM;
        if !(needed..=(8 * needed).max(SPARE_MAX)).contains(&self.words.capacity()) {
            self.words = Vec::new();
            self.words = with_large_pages(2 * needed);
        }
        self.words.extend_from_slice(&space.new);
        if live <= SPARE_MAX {
            self.spare = space.new;
        }
    }
}

impl Heap {
    /// A copy of a term of another heap.
    pub fn import(&mut self, from: &Heap, t: Term) -> Term {
        let mut copies: rustc_hash::FxHashMap<Term, Term> = rustc_hash::FxHashMap::default();
        let mut at = self.words.len();
        let mut copy = |words: &mut Vec<Term>, t: Term| {
            if !t.is_node() {
                return t;
            }
            *copies.entry(t).or_insert_with(|| {
                let to = words.len();
                words.extend_from_slice(&from.words[t.at()..t.at() + node_size(&from.words, t.at())]);
                Term::node(to)
            })
        };
        let result = copy(&mut self.words, t);
        while at < self.words.len() {
            let (terms, step) = fields(&self.words, at);
            for field in terms.step_by(step) {
                let t = self.words[field];
                self.words[field] = copy(&mut self.words, t);
            }
            at += node_size(&self.words, at);
        }
        result
    }
}

/// Spaces from this many words on are worth large pages.
const LARGE_PAGES_MIN: usize = 1 << 21;

/// An empty space. Terms in a large one are reached in no order: with pages of the usual size nearly
/// every access would miss the table of pages as well as the caches, and every new page is a fault.
/// Large pages are only asked for; nothing depends on them.
fn with_large_pages(capacity: usize) -> Vec<Term> {
    let space = Vec::with_capacity(capacity);
    #[cfg(target_os = "linux")]
    if space.capacity() >= LARGE_PAGES_MIN {
        const PAGE: usize = 4096;
        let start = (space.as_ptr() as usize).next_multiple_of(PAGE);
        let end = (space.as_ptr() as usize + space.capacity() * size_of::<Term>()) / PAGE * PAGE;
        // SAFETY: the range is inside the vector's memory, and the advice changes no contents.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
    }
    space
}

/// Asks for the memory around a word, which need not exist.
#[inline(always)]
fn prefetch(words: &[Term], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint that may be given any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(words.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (words, at);
}

/// The collector asks for nodes so many fields before it comes to them.
const AHEAD: usize = 16;

struct Space {
    old: Vec<Term>,
    new: Vec<Term>,
    /// Nodes of `new` before this place have had their fields forwarded.
    scanned: usize,
}

impl Space {
    #[inline]
    fn forward(&mut self, t: &mut Term) {
        // `Term(0)` fills registers that hold nothing.
        if !t.is_node() || *t == Term(0) {
            return;
        }
        let at = t.at();
        let head = self.old[at];
        if head.0 == FORWARD {
            *t = self.old[at + 1];
            return;
        }
        let to = self.new.len();
        let new = Term::node(to);
        let size = node_size(&self.old, at);
        if size <= 4 && self.new.capacity() - to >= 4 && at + 4 <= self.old.len() {
            // SAFETY: four words can be read there and written here, more than the node needs;
            // `Term` is plain data, and only the node's own words count afterwards.
            unsafe {
                let from = self.old.as_ptr().add(at).cast::<[Term; 4]>();
                self.new.as_mut_ptr().add(to).cast::<[Term; 4]>().write(from.read());
                self.new.set_len(to + size);
            }
        } else {
            self.new.extend_from_slice(&self.old[at..at + size]);
        }
        self.old[at].0 = FORWARD;
        self.old[at + 1] = new;
        *t = new;
    }

    /// Forwards the fields of all nodes copied so far, and of those that this copies. Buffers
    /// are copied whole, so that views of one buffer keep sharing it.
    fn scan(&mut self) {
        let mut at = self.scanned;
        while at < self.new.len() {
            let arity = header_layout(self.new[at].0) as usize;
            if arity <= Layout::Fixed as usize {
                for field in at + 1..at + 1 + arity {
                    self.forward_field(field);
                }
                at += 1 + arity;
                continue;
            }
            let (terms, step) = fields(&self.new, at);
            let size = node_size(&self.new, at);
            let is_far = terms.clone().next().is_some_and(|field| self.new[field].is_node());
            if !is_far && !has_nodes(&self.new[terms.clone()]) {
                at += size;
                continue;
            }
            for field in terms.step_by(step) {
                // What lies that far ahead may be no term: then the hint is useless.
                if is_far && let Some(&next) = self.new.get(field + AHEAD) {
                    prefetch(&self.old, next.at());
                }
                self.forward_field(field);
            }
            at += size;
        }
        self.scanned = at;
    }

    #[inline(always)]
    fn forward_field(&mut self, field: usize) {
        let mut t = self.new[field];
        if t.is_node() {
            self.forward(&mut t);
            self.new[field] = t;
        }
    }
}

#[inline(always)]
fn plain(words: &[Term]) -> &[u32] {
    // SAFETY: a term is a transparent `u32`.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}

#[inline(always)]
fn plain_mut(words: &mut [Term]) -> &mut [u32] {
    // SAFETY: a term is a transparent `u32`, and any `u32` is a term.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), words.len()) }
}

#[inline(always)]
fn bytes(words: &[u32]) -> &[u8] {
    // SAFETY: words are made of bytes, which need no alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len() * 4) }
}

#[inline(always)]
fn bytes_mut(words: &mut [u32]) -> &mut [u8] {
    // SAFETY: as above, and any bytes make a word.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), words.len() * 4) }
}

/// Is one of them a node? Or a multiplicity that looks like one. Without branches, so that many are
/// looked at in one go: most long lists and multisets have numbers only, or have none.
#[inline]
fn has_nodes(fields: &[Term]) -> bool {
    fields.iter().fold(false, |found, t| found | t.is_node())
}

/// The fields of a node that hold terms: from where to where, and every which one.
#[inline(always)]
fn fields(words: &[Term], at: usize) -> (std::ops::Range<usize>, usize) {
    let size = node_size(words, at);
    match header_layout(words[at].0) {
        n if n <= Layout::Fixed as u32 => (at + 1..at + 1 + n as usize, 1),
        n if n == Layout::Flat as u32 => (at + 2..at + size, 1),
        n if n == Layout::View as u32 => (at + 1..at + 2, 1),
        n if n == Layout::Buffer as u32 => {
            let (lo, hi) = (words[at + 2].0 as usize, words[at + 3].0 as usize);
            (at + BUFFER_HEAD + lo..at + BUFFER_HEAD + hi, 1)
        }
        n if n == Layout::Tree as u32 || n == Layout::Indirect as u32 => (at + 1..at + 2, 1),
        n if n == Layout::TreeNode as u32 => (at + TREE_HEAD..at + TREE_HEAD + (size - TREE_HEAD) / 3 * 2, 1),
        n if n == Layout::Bag as u32 => (at + 2..at + size, 2),
        n if n == Layout::Leaf as u32 => (at + 4..at + 4 + words[at + 1].0 as usize, 1),
        _ => (0..0, 1),
    }
}

#[inline(always)]
fn node_size(words: &[Term], at: usize) -> usize {
    let layout = header_layout(words[at].0);
    if layout <= Layout::Fixed as u32 { 1 + layout as usize } else { long_node_size(words, at) }
}

#[inline(never)]
fn long_node_size(words: &[Term], at: usize) -> usize {
    match header_layout(words[at].0) {
        n if n == Layout::Flat as u32 || n == Layout::Raw as u32 => 2 + words[at + 1].0 as usize,
        n if n == Layout::View as u32 => 4,
        n if n == Layout::Buffer as u32 => BUFFER_HEAD + words[at + 1].0 as usize,
        n if n == Layout::Bag as u32 => 2 + 2 * words[at + 1].0 as usize,
        n if n == Layout::Tree as u32 || n == Layout::Indirect as u32 => 2,
        n if n == Layout::TreeNode as u32 => TREE_HEAD + 3 * (words[at + 4].0 & 0xFF) as usize,
        n if n == Layout::Leaf as u32 => 4 + (words[at + 1].0 << u32::from(words[at + 2].0 > 1)) as usize,
        layout => unreachable!("no layout {layout}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of `n` nodes, with as much garbage.
    fn list(heap: &mut Heap, n: u32) -> Term {
        (0..n).fold(Term::small(0), |rest, i| {
            heap.alloc2(header(8, 2, 0), Term::small(i), Term::small(0));
            heap.alloc2(header(7, 2, 0), Term::small(i), rest)
        })
    }

    fn len(heap: &Heap, mut t: Term) -> u32 {
        let mut n = 0;
        while t.is_node() {
            (t, n) = (heap.arg(t, 1), n + 1);
        }
        n
    }

    #[test]
    fn terms_are_made_in_one_space() {
        let mut heap = Heap::new();
        let mut kept = list(&mut heap, 100_000);
        heap.collect(|visit| visit(&mut kept));
        let space = heap.words.as_ptr();
        for _ in 0..3 {
            list(&mut heap, 100_000);
            heap.collect(|visit| visit(&mut kept));
            assert_eq!((len(&heap, kept), heap.len(), heap.words.as_ptr()), (100_000, 300_001, space));
            assert_eq!(heap.spare.len(), 300_001);
        }
    }

    #[test]
    fn long_nodes_that_do_not_fit_are_not_made() {
        let mut heap = Heap { words: vec![Term(0)], max: 1 << 20, ..Heap::default() };
        let text = heap.alloc_bytes(7, 0, &[b'a'; 1 << 20]);
        assert_eq!(heap.bytes(text).len(), 1 << 20);
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            heap.alloc_bytes(7, 0, &[b'a'; 1 << 21]);
        }));
        let why = refused.expect_err("it and its copy would not fit");
        assert_eq!(why.downcast_ref(), Some(&Exceeded::ROOM));
    }

    /// What is made before the next collection, and what is alive then, are to fit together.
    #[test]
    fn garbage_is_collected_before_there_is_no_room() {
        let mut heap = Heap { words: vec![Term(0)], max: 8 << 20, ..Heap::default() };
        let mut kept = list(&mut heap, 1 << 20);
        heap.collect(|visit| visit(&mut kept));
        assert_eq!((heap.len(), heap.limit), ((3 << 20) + 1, (5 << 20) - 1));
    }

    #[test]
    fn a_large_space_is_given_back() {
        let mut heap = Heap::new();
        heap.words.reserve(10 * SPARE_MAX);
        let mut kept = list(&mut heap, 10);
        heap.collect(|visit| visit(&mut kept));
        assert_eq!((len(&heap, kept), heap.len()), (10, 31));
        assert!(heap.capacity() <= SPARE_MAX);
    }

    /// Numbers hide no nodes behind them.
    #[test]
    fn nodes_among_numbers_are_followed() {
        let mut heap = Heap::new();
        let mut node = list(&mut heap, 3);
        for place in 0..60 {
            let mut args = [Term::small(5); 60];
            args[place] = node;
            let mut flat = heap.alloc(9, 0, &args);
            heap.collect(|visit| {
                visit(&mut flat);
                visit(&mut node);
            });
            assert_eq!(len(&heap, heap.args(flat)[place]), 3);
        }
    }
}
