//! `_.=._`: equality in the initial model, of terms that may have variables inside.
//!
//! Equal terms are equal; ground ones that differ are not. Otherwise the tops are compared, as far
//! as they are stable, that is, as far as no instance of the terms can have another. Under a common
//! stable top the question becomes one of the arguments.

use std::cmp::Ordering;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Cx, Truth};
use crate::sorts::OpId;
use crate::term::{Class, Int, Term, VAR_SYM};

/// For each stable operator, by number, the operators that compare its arguments.
pub type Parts = Arc<[Option<Box<[u32]>>]>;

#[derive(Clone, Debug)]
pub struct InitialEquality {
    truth: Truth,
    and: u32,
    or: u32,
    pub(super) parts: Parts,
}

impl InitialEquality {
    pub fn new(truth: Truth, and: OpId, or: OpId) -> InitialEquality {
        InitialEquality { truth, and: and.0, or: or.0, parts: Arc::new([]) }
    }

    /// `sym` is the operator itself.
    pub fn eval(&self, cx: &mut Cx, sym: u32, args: &[Term]) -> Option<Term> {
        let [a, b] = [cx.heap.deref(args[0]), cx.heap.deref(args[1])];
        if cx.heap.equal(cx.sy, a, b) {
            return Some(self.truth.yes);
        }
        let mut question = Question { equality: self, cx, sym };
        match question.compare(a, b) {
            Tops::Differ => Some(self.truth.no),
            Tops::Agree => question.decompose(a, b),
            Tops::Open if question.is_inside(a, b) || question.is_inside(b, a) => Some(self.truth.no),
            Tops::Open => None,
        }
    }
}

/// An element of a multiset, and how often it is there.
type Pair = (Term, u32);

fn size(pairs: &[Pair]) -> u64 {
    pairs.iter().map(|pair| u64::from(pair.1)).sum()
}

/// What the tops of two different terms say about their equality.
enum Tops {
    /// The terms have no equal instances.
    Differ,
    /// The same stable operator.
    Agree,
    /// Nothing.
    Open,
}

struct Question<'a, 'b> {
    equality: &'a InitialEquality,
    cx: &'a mut Cx<'b>,
    sym: u32,
}

impl<'a> Question<'a, '_> {
    fn top(&self, t: Term) -> u32 {
        self.cx.heap.sym(self.cx.sy, t)
    }

    fn equal(&self, a: Term, b: Term) -> bool {
        self.cx.heap.equal(self.cx.sy, a, b)
    }

    fn is_ground(&self, t: Term) -> bool {
        self.cx.heap.is_ground(self.cx.sy, t)
    }

    /// The operators that compare the arguments of a term, if its top is a stable operator.
    fn parts(&self, t: Term) -> Option<&'a [u32]> {
        let top = self.top(t);
        let is_variable = t.is_node() && top == VAR_SYM;
        if is_variable { None } else { self.equality.parts.get(top as usize)?.as_deref() }
    }

    /// Does every instance have the operator that is at its top?
    fn is_fixed(&self, t: Term) -> bool {
        self.parts(t).is_some() || self.is_ground(t)
    }

    /// Looks at the tops of different terms.
    fn compare(&self, a: Term, b: Term) -> Tops {
        let is_same = self.top(a) == self.top(b);
        match () {
            _ if !is_same && self.is_fixed(a) && self.is_fixed(b) => Tops::Differ,
            _ if is_same && self.is_ground(a) && self.is_ground(b) => Tops::Differ,
            _ if is_same && self.parts(a).is_some() => Tops::Agree,
            _ => Tops::Open,
        }
    }

    /// The arguments, those of associative operators flattened, repeated ones once or more.
    fn arguments(&self, t: Term) -> Vec<Term> {
        let Cx { heap, sy, .. } = &*self.cx;
        let args = match sy.class(self.top(t)) {
            _ if !t.is_node() => Vec::new(),
            Class::Iter => vec![heap.iter_parts(t).1],
            Class::AssocComm => self.elements(t).iter().map(|pair| pair.0).collect(),
            _ => heap.args(t).to_vec(),
        };
        args.into_iter().map(|arg| heap.deref(arg)).collect()
    }

    /// The elements of a multiset.
    fn elements(&self, t: Term) -> Vec<Pair> {
        let mut pairs = Vec::new();
        self.cx.heap.bag_pairs(t, &mut pairs);
        pairs
    }

    /// Is `inner` an argument of the stable operator at the top of `outer`?
    fn is_inside(&self, inner: Term, outer: Term) -> bool {
        self.parts(outer).is_some() && self.arguments(outer).iter().any(|&arg| self.equal(arg, inner))
    }

    /// Different terms with the same stable operator at their tops.
    fn decompose(&mut self, a: Term, b: Term) -> Option<Term> {
        let no = Some(self.equality.truth.no);
        let parts = self.parts(a)?;
        match self.cx.sy.class(self.top(a)) {
            Class::AssocComm => self.bags(a, b),
            Class::Assoc => self.lists(a, b),
            Class::Iter => Some(self.towers(a, b)),
            // The other way round the arguments will tell.
            _ if self.is_inside(b, a) => no,
            Class::Cui => Some(self.commuting(parts[0], a, b)),
            Class::Free => {
                let pairs = self.arguments(a).into_iter().zip(self.arguments(b));
                let equalities = parts.iter().zip(pairs).map(|(&part, (x, y))| self.node(part, &[x, y]));
                let equalities = equalities.collect();
                Some(self.all(equalities))
            }
        }
    }

    /// `x * y .=. u * v` for a commutative operator.
    fn commuting(&mut self, part: u32, a: Term, b: Term) -> Term {
        let [xs, ys] = [self.arguments(a), self.arguments(b)];
        for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            if self.equal(xs[i], ys[j]) {
                return self.node(part, &[xs[1 - i], ys[1 - j]]);
            }
        }
        let cases = [(0, 1), (1, 0)].map(|(i, j)| {
            let both = [self.node(part, &[xs[0], ys[i]]), self.node(part, &[xs[1], ys[j]])];
            self.node(self.equality.and, &both)
        });
        self.node(self.equality.or, &cases)
    }

    /// `f^m(x) .=. f^n(y)`.
    fn towers(&mut self, a: Term, b: Term) -> Term {
        let op = self.top(a);
        let [(m, x), (n, y)] = [self.cx.heap.iter_parts(a), self.cx.heap.iter_parts(b)];
        let [m, n] = [m.to_big(), n.to_big()];
        let common = m.clone().min(n.clone());
        let sides = [(m, x), (n, y)].map(|(count, base)| {
            self.rest(|cx| cx.heap.iterate(cx.sy, op, &Int::from_big(count - &common), base))
        });
        self.node(self.sym, &sides)
    }

    /// Lists: elements are compared from both ends, as long as they are fixed or the same.
    fn lists(&mut self, a: Term, b: Term) -> Option<Term> {
        let no = self.equality.truth.no;
        let (op, lists) = (self.top(a), [self.arguments(a), self.arguments(b)]);
        let [mut xs, mut ys] = lists.each_ref().map(Vec::as_slice);
        let mut equalities = Vec::new();
        for from_left in [true, false] {
            let end = |list: &[Term]| if from_left { list.first().copied() } else { list.last().copied() };
            while let (Some(x), Some(y)) = (end(xs), end(ys)) {
                if !self.equal(x, y) {
                    match self.compare(x, y) {
                        Tops::Differ => return Some(no),
                        Tops::Agree => equalities.push(self.node(self.sym, &[x, y])),
                        Tops::Open => break,
                    }
                }
                [xs, ys] = [xs, ys].map(|list| if from_left { &list[1..] } else { &list[..list.len() - 1] });
            }
        }
        if xs.is_empty() && ys.is_empty() {
            return Some(self.all(equalities));
        }
        // Equal lists have the same elements, in whatever order.
        let bags = [xs, ys].map(|list| {
            let mut pairs: Vec<Pair> = list.iter().map(|&element| (element, 1)).collect();
            self.cx.heap.normalize_pairs(self.cx.sy, &mut pairs);
            pairs
        });
        if self.without_common(bags).is_none() {
            return Some(no);
        }
        if xs.len() == lists[0].len() {
            return None;
        }
        let sides = [xs, ys].map(|list| self.rest(|cx| cx.heap.list(cx.sy, op, list)));
        equalities.push(self.node(self.sym, &sides));
        Some(self.all(equalities))
    }

    /// Multisets: common elements are left out.
    fn bags(&mut self, a: Term, b: Term) -> Option<Term> {
        let op = self.top(a);
        let [xs, ys] = [self.elements(a), self.elements(b)];
        let before = size(&xs);
        let Some(rests) = self.without_common([xs, ys]) else { return Some(self.equality.truth.no) };
        (size(&rests[0]) < before).then(|| {
            let sides = rests.map(|pairs| self.rest(|cx| cx.heap.bag(cx.sy, op, &pairs)));
            self.node(self.sym, &sides)
        })
    }

    /// Two multisets without their common elements; `None` if they have no equal instances.
    fn without_common(&self, bags: [Vec<Pair>; 2]) -> Option<[Vec<Pair>; 2]> {
        let [mut xs, mut ys] = bags;
        let (mut i, mut j) = (0, 0);
        while i < xs.len() && j < ys.len() {
            match self.cx.heap.compare(self.cx.sy, xs[i].0, ys[j].0) {
                Ordering::Less => i += 1,
                Ordering::Greater => j += 1,
                Ordering::Equal => {
                    let common = xs[i].1.min(ys[j].1);
                    xs[i].1 -= common;
                    ys[j].1 -= common;
                    (i, j) = (i + 1, j + 1);
                }
            }
        }
        xs.retain(|pair| pair.1 > 0);
        ys.retain(|pair| pair.1 > 0);
        let is_vain = self.is_too_much(&xs, &ys) || self.is_too_much(&ys, &xs);
        (!is_vain).then_some([xs, ys])
    }

    /// If the elements of a multiset are fixed, can they not be all those of another one? There may be
    /// more of these, or more with some operator at their tops.
    fn is_too_much(&self, elements: &[Pair], fixed: &[Pair]) -> bool {
        if !fixed.iter().all(|pair| self.is_fixed(pair.0)) {
            return false;
        }
        let mut room: FxHashMap<u32, i64> = FxHashMap::default();
        for &(t, count) in fixed {
            *room.entry(self.top(t)).or_default() += i64::from(count);
        }
        for &(t, count) in elements.iter().filter(|pair| self.is_fixed(pair.0)) {
            *room.entry(self.top(t)).or_default() -= i64::from(count);
        }
        size(elements) > size(fixed) || room.values().any(|&room| room < 0)
    }

    /// What is left of a side: memberships may apply to it.
    fn rest(&mut self, make: impl FnOnce(&mut Cx) -> Term) -> Term {
        let before = self.cx.heap.len();
        let t = make(self.cx);
        if t.is_node() && t.at() >= before {
            self.cx.heap.mark_unreduced(t);
        }
        t
    }

    /// The conjunction of one or more equalities.
    fn all(&mut self, equalities: Vec<Term>) -> Term {
        if equalities.len() == 1 { equalities[0] } else { self.node(self.equality.and, &equalities) }
    }

    fn node(&mut self, sym: u32, args: &[Term]) -> Term {
        self.cx.heap.alloc_unreduced(self.cx.sy, sym, args)
    }
}
