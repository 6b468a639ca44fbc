//! Flattened lists of associative operators.
//!
//! Up to [`FLAT_MAX`] elements a list is one flat node. Longer lists are views (buffer, offset,
//! length) of an append-once buffer with room at both ends: appending to a view that ends at
//! the buffer's fill mark, or prepending to one that starts there, writes in place; everything
//! else copies once with doubling. Old views stay valid, since filled slots never change.
//! So taking heads and tails and growing at either end cost O(1).

use super::heap::{BUFFER_HEAD, Heap, Layout, Term, header};
use super::symbols::Symbols;
use crate::sorts::SortIx;

/// Lists up to this length are flat nodes.
pub(super) const FLAT_MAX: usize = 8;

impl Heap {
    /// The elements of `t` seen as a list of `sym`: its arguments, or `t` alone.
    #[inline]
    pub fn elements<'a>(&'a self, sy: &Symbols, sym: u32, t: &'a Term) -> &'a [Term] {
        if t.is_node() && self.sym(sy, *t) == sym { self.args(*t) } else { std::slice::from_ref(t) }
    }

    /// The list of all `args`, from first to last, in normal form.
    pub fn concat_all(&mut self, sy: &Symbols, sym: u32, args: &[Term]) -> Term {
        match sy.info[sym as usize].identity {
            Some(identity) if identity.left != identity.right => self.concat_one_sided(sy, sym, args),
            _ => args[1..].iter().fold(args[0], |list, &arg| self.concat(sy, sym, list, arg)),
        }
    }

    /// The list `a` followed by `b`. Neither is flattened further; identities are removed.
    pub fn concat(&mut self, sy: &Symbols, sym: u32, a: Term, b: Term) -> Term {
        if let Some(identity) = sy.info[sym as usize].identity {
            if identity.left != identity.right {
                return self.concat_one_sided(sy, sym, &[a, b]);
            }
            let e = self.consts[identity.constant];
            if self.equal(sy, a, e) {
                return b;
            }
            if self.equal(sy, b, e) {
                return a;
            }
        }
        self.append(sy, sym, a, b)
    }

    /// As in Maude, an argument that is the identity vanishes (on the left, unless it is the last one;
    /// on the right, unless it is the first one), but an identity inside an argument stays.
    fn concat_one_sided(&mut self, sy: &Symbols, sym: u32, args: &[Term]) -> Term {
        let identity = sy.info[sym as usize].identity.expect("asked for its identity");
        let e = self.consts[identity.constant];
        let kept = if identity.left { args.len() - 1 } else { 0 };
        let mut list = Term::NONE;
        for (i, &arg) in args.iter().enumerate() {
            if i != kept && self.equal(sy, arg, e) {
                continue;
            }
            list = if list.is_none() { arg } else { self.append(sy, sym, list, arg) };
        }
        list
    }

    /// The list `a` followed by `b`, as they stand.
    pub fn append(&mut self, sy: &Symbols, sym: u32, a: Term, b: Term) -> Term {
        let info = &sy.info[sym as usize];
        let sort = info.diagram.binary(self.sort(sy, a), self.sort(sy, b));
        let (n, m) = (self.elements(sy, sym, &a).len(), self.elements(sy, sym, &b).len());
        if n + m <= FLAT_MAX {
            let at = self.words.len();
            self.words.push(Term(header(sym, Layout::Flat as u32, sort)));
            self.words.push(Term((n + m) as u32));
            self.push_elements(sy, sym, a);
            self.push_elements(sy, sym, b);
            return Term::node(at);
        }
        if let Some((buffer, offset)) = self.view(sy, sym, a)
            && let (capacity, hi) = (self.word(buffer + 1).0 as usize, self.word(buffer + 3).0 as usize)
            && offset + n == hi
            && hi + m <= capacity
        {
            self.fill(sy, sym, buffer, hi, b);
            self.words[buffer + 3] = Term((hi + m) as u32);
            return self.new_view(sym, sort, buffer, offset, n + m);
        }
        if let Some((buffer, offset)) = self.view(sy, sym, b)
            && self.word(buffer + 2).0 as usize == offset
            && n <= offset
        {
            self.fill(sy, sym, buffer, offset - n, a);
            self.words[buffer + 2] = Term((offset - n) as u32);
            return self.new_view(sym, sort, buffer, offset - n, n + m);
        }
        // Leave more room where it grows.
        let total = n + m;
        let (mut front, mut back) = if m <= n { (total / 8, total) } else { (total, total / 8) };
        if !self.fits(front + total + back) {
            (front, back) = if m <= n { (0, total / 8) } else { (total / 8, 0) };
        }
        let capacity = front + total + back;
        self.demand(capacity);
        let buffer = self.words.len();
        self.words.extend([
            Term(header(sym, Layout::Buffer as u32, 0)),
            Term(capacity as u32),
            Term(front as u32),
            Term((front + total) as u32),
            Term(0),
            Term(0),
        ]);
        self.words.resize(buffer + BUFFER_HEAD + capacity, Term(0));
        self.fill(sy, sym, buffer, front, a);
        self.fill(sy, sym, buffer, front + n, b);
        self.new_view(sym, sort, buffer, front, total)
    }

    /// The list of `elements` (none of them a list of `sym` or its identity, at least one).
    pub fn list(&mut self, sy: &Symbols, sym: u32, elements: &[Term]) -> Term {
        if elements.len() == 1 {
            return elements[0];
        }
        let sort = self.list_sort(sy, sym, elements);
        if elements.len() <= FLAT_MAX {
            let at = self.words.len();
            self.words.push(Term(header(sym, Layout::Flat as u32, sort)));
            self.words.push(Term(elements.len() as u32));
            self.words.extend_from_slice(elements);
            return Term::node(at);
        }
        let n = elements.len();
        self.demand(n);
        let buffer = self.words.len();
        self.words.extend([
            Term(header(sym, Layout::Buffer as u32, 0)),
            Term(n as u32),
            Term(0),
            Term(n as u32),
            Term(0),
            Term(0),
        ]);
        self.words.extend_from_slice(elements);
        for &element in elements {
            self.note_sort(sy, buffer, element);
        }
        self.new_view(sym, sort, buffer, 0, n)
    }

    /// The part of a list from `start`, `len` elements; the identity if there are none.
    /// `None` if there are none and the operator has no identity.
    pub fn slice(&mut self, sy: &Symbols, sym: u32, t: Term, start: usize, len: usize) -> Option<Term> {
        let elements = self.elements(sy, sym, &t);
        if len == elements.len() {
            return Some(t);
        }
        match len {
            0 => sy.info[sym as usize].identity.map(|identity| self.consts[identity.constant]),
            1 => Some(elements[start]),
            _ if len <= FLAT_MAX => {
                let elements: [Term; FLAT_MAX] =
                    std::array::from_fn(|i| if i < len { elements[start + i] } else { Term(0) });
                Some(self.list(sy, sym, &elements[..len]))
            }
            _ => {
                let (buffer, offset) = self.view(sy, sym, t).expect("long lists are views");
                let sort = self.view_sort(sy, sym, buffer, offset + start, len);
                Some(self.new_view(sym, sort, buffer, offset + start, len))
            }
        }
    }

    fn view(&self, sy: &Symbols, sym: u32, t: Term) -> Option<(usize, usize)> {
        (t.is_node() && self.sym(sy, t) == sym && self.layout(t) == Layout::View as u32)
            .then(|| (self.word(t.at() + 1).at(), self.word(t.at() + 2).0 as usize))
    }

    fn new_view(&mut self, sym: u32, sort: SortIx, buffer: usize, offset: usize, len: usize) -> Term {
        let at = self.push_words([
            Term(header(sym, Layout::View as u32, sort)),
            Term::node(buffer),
            Term(offset as u32),
            Term(len as u32),
        ]);
        Term::node(at)
    }

    fn push_elements(&mut self, sy: &Symbols, sym: u32, t: Term) {
        if t.is_node() && self.sym(sy, t) == sym {
            for i in 0..self.args(t).len() {
                let element = self.args(t)[i];
                self.words.push(element);
            }
        } else {
            self.words.push(t);
        }
    }

    /// Writes the elements of `t` to slots of a buffer and notes their sorts.
    fn fill(&mut self, sy: &Symbols, sym: u32, buffer: usize, slot: usize, t: Term) {
        let slots = buffer + BUFFER_HEAD + slot;
        if !(t.is_node() && self.sym(sy, t) == sym) {
            self.words[slots] = t;
            return self.note_sort(sy, buffer, t);
        }
        if let Some((source, offset)) = self.view(sy, sym, t) {
            let from = source + BUFFER_HEAD + offset;
            let len = self.args(t).len();
            self.words.copy_within(from..from + len, slots);
            self.words[buffer + 4].0 |= self.words[source + 4].0;
            self.words[buffer + 5].0 |= self.words[source + 5].0;
            return;
        }
        for i in 0..self.args(t).len() {
            let element = self.args(t)[i];
            self.words[slots + i] = element;
            self.note_sort(sy, buffer, element);
        }
    }

    /// Adds an element's sort to the buffer's set (bit 63: some sort beyond the set's range).
    #[inline]
    fn note_sort(&mut self, sy: &Symbols, buffer: usize, element: Term) {
        let bit = self.sort(sy, element).min(63);
        self.words[buffer + 4 + (bit / 32) as usize].0 |= 1 << (bit % 32);
    }

    fn list_sort(&self, sy: &Symbols, sym: u32, elements: &[Term]) -> SortIx {
        let diagram = &sy.info[sym as usize].diagram;
        let mut sorts = elements.iter().map(|&e| self.sort(sy, e));
        let first = sorts.next().expect("lists are not empty");
        sorts.fold(first, |sort, next| diagram.binary(sort, next))
    }

    /// The sort of part of a buffer: O(1) if every list over the element sorts in the buffer has
    /// the same sort, as for homogeneous lists; a fold otherwise.
    fn view_sort(&mut self, sy: &Symbols, sym: u32, buffer: usize, slot: usize, len: usize) -> SortIx {
        let set = u64::from(self.words[buffer + 4].0) | u64::from(self.words[buffer + 5].0) << 32;
        let diagram = &sy.info[sym as usize].diagram;
        let common = *self.sort_memo.entry((sym, set)).or_insert_with(|| {
            if set >> 63 != 0 {
                return None;
            }
            let elements: Vec<SortIx> = (0..63).filter(|i| set >> i & 1 != 0).collect();
            let mut results: Vec<SortIx> = Vec::new();
            let mut open = elements.clone();
            while let Some(sort) = open.pop() {
                for &element in &elements {
                    let result = diagram.binary(sort, element);
                    if !results.contains(&result) {
                        results.push(result);
                        open.push(result);
                    }
                }
                if results.len() > 1 {
                    return None;
                }
            }
            results.first().copied()
        });
        common.unwrap_or_else(|| {
            let start = buffer + BUFFER_HEAD + slot;
            self.list_sort(sy, sym, &self.words[start..start + len])
        })
    }
}
