//! What the compiler must know of a pattern: which variables a subpattern certainly binds, in
//! which sequence subpatterns propagate bindings best, and what a subpattern may collapse to.
//!
//! A pattern is analysed as a term on a scratch heap, variables included: so it is in normal
//! form modulo the axioms, its arguments flattened and sorted by Maude's order.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::pattern::Node;
use super::shapes::Shape;
use super::{Needed, PatternSpec};
use crate::base::Name;
use crate::sorts::{KindId, OpId, SortId, SortIx, Var};
use crate::term::{Class, Heap, Int, Term, VAR_SYM};

/// A set of slots.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Slots(Vec<u64>);

impl Slots {
    pub fn of(slots: &[u16]) -> Slots {
        let mut set = Slots::default();
        slots.iter().for_each(|&slot| set.insert(slot));
        set
    }

    pub fn insert(&mut self, slot: u16) {
        let word = slot as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (slot % 64);
    }

    pub fn contains(&self, slot: u16) -> bool {
        self.0.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 != 0)
    }

    pub fn add(&mut self, other: &Slots) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    pub fn minus(&self, other: &Slots) -> Slots {
        let word = |i: usize| other.0.get(i).copied().unwrap_or(0);
        Slots(self.0.iter().enumerate().map(|(i, a)| a & !word(i)).collect())
    }

    pub fn and(&self, other: &Slots) -> Slots {
        Slots(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect())
    }

    pub fn is_subset(&self, other: &Slots) -> bool {
        self.minus(other).is_empty()
    }

    pub fn is_disjoint(&self, other: &Slots) -> bool {
        self.and(other).is_empty()
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

/// What may stand at the top of an instance that has collapsed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Top {
    Op(u32),
    Var(SortIx),
}

#[derive(Debug, Default)]
pub(super) struct Info {
    vars: Slots,
    /// Some subpattern inside is matched later, by way of a variable that stands for it.
    abstracts: bool,
}

/// The compiler and its analyses.
pub(super) struct Compiler<'a, 's> {
    pub spec: &'a mut PatternSpec<'s>,
    pub heap: Heap,
    pub nodes: Vec<Node>,
    /// Of all subterms that are not ground.
    info: FxHashMap<Term, Info>,
    /// In how many places each variable occurs.
    occurrences: FxHashMap<u16, u32>,
    pub needed: Slots,
    tops: FxHashMap<Term, Rc<[Top]>>,
}

impl<'a, 's> Compiler<'a, 's> {
    /// The compiler with the pattern as a term.
    pub fn new(spec: &'a mut PatternSpec<'s>) -> (Compiler<'a, 's>, Term) {
        let mut heap = Heap::new();
        heap.consts = vec![Term::NONE; spec.sy.identities.len()];
        for (i, identity) in spec.sy.identities.iter().enumerate() {
            heap.consts[i] = heap.build(spec.sy, spec.vars, identity);
        }
        let term = heap.build(spec.sy, spec.vars, spec.tree);
        let mut compiler = Compiler {
            spec,
            heap,
            nodes: Vec::new(),
            info: FxHashMap::default(),
            occurrences: FxHashMap::default(),
            needed: Slots::default(),
            tops: FxHashMap::default(),
        };
        compiler.collect_info(term);
        match compiler.spec.needed {
            Needed::Everything => compiler.needed = compiler.vars(term),
            Needed::Only(slots) => compiler.needed = Slots::of(slots),
        }
        (compiler, term)
    }

    pub fn sym(&self, t: Term) -> u32 {
        self.heap.sym(self.spec.sy, t)
    }

    pub fn class(&self, t: Term) -> Class {
        self.spec.sy.class(self.sym(t))
    }

    pub fn shape(&self, sym: u32) -> &'s Shape {
        self.spec.shapes.get(self.spec.sig, OpId(sym))
    }

    /// The variable that a term is.
    pub fn var(&self, t: Term) -> Option<Var> {
        (t.is_node() && self.sym(t) == VAR_SYM).then(|| {
            let raw = self.heap.raw(t);
            Var { name: Name::from_index(raw[2].0), sort: SortId(raw[3].0) }
        })
    }

    pub fn slot(&self, t: Term) -> Option<u16> {
        self.var(t).map(|var| (self.spec.slot)(var))
    }

    pub fn sort_of(&self, var: Var) -> (KindId, SortIx) {
        let sort = self.spec.sig.sorts.get(var.sort);
        (sort.kind, sort.index)
    }

    pub fn is_ground(&self, t: Term) -> bool {
        !self.info.contains_key(&t)
    }

    pub fn vars(&self, t: Term) -> Slots {
        self.info.get(&t).map_or_else(Slots::default, |info| info.vars.clone())
    }

    /// The arguments, distinct ones of a multiset.
    pub fn children(&self, t: Term) -> Vec<Term> {
        if !t.is_node() {
            return Vec::new();
        }
        let sym = self.sym(t);
        if sym == VAR_SYM || self.heap.is_big_nat(self.spec.sy, t) {
            return Vec::new();
        }
        if self.spec.sy.info[sym as usize].raw.is_some() {
            return Vec::new();
        }
        match self.spec.sy.class(sym) {
            Class::Iter => vec![self.heap.iter_parts(t).1],
            Class::AssocComm => self.pairs(t).into_iter().map(|p| p.0).collect(),
            _ => self.heap.args(t).to_vec(),
        }
    }

    pub fn pairs(&self, t: Term) -> Vec<(Term, u32)> {
        let mut pairs = Vec::new();
        self.heap.bag_pairs(t, &mut pairs);
        pairs
    }

    fn collect_info(&mut self, root: Term) {
        let mut stack = vec![(root, false)];
        while let Some((t, done)) = stack.pop() {
            if !t.is_node() {
                continue;
            }
            if let Some(slot) = self.slot(t) {
                *self.occurrences.entry(slot).or_default() += 1;
                self.info.insert(t, Info { vars: Slots::of(&[slot]), abstracts: false });
                continue;
            }
            let children = self.children(t);
            if !done {
                stack.push((t, true));
                stack.extend(children.into_iter().rev().map(|child| (child, false)));
                continue;
            }
            let mut info = Info::default();
            for child in &children {
                if let Some(inner) = self.info.get(child) {
                    info.vars.add(&inner.vars);
                    info.abstracts |= inner.abstracts;
                }
            }
            if !info.vars.is_empty() {
                self.info.insert(t, info);
                if matches!(self.class(t), Class::Assoc | Class::AssocComm) {
                    let sym = self.sym(t);
                    let abstracts = children.iter().any(|&child| self.must_abstract(sym, child));
                    self.info.get_mut(&t).expect("just inserted").abstracts |= abstracts;
                }
            }
        }
    }

    /// Will matching find out at once whether an element is an instance, all variables being
    /// bound?
    pub fn grounds_out(&self, t: Term, bound: &Slots) -> bool {
        self.info.get(&t).is_none_or(|info| !info.abstracts && info.vars.is_subset(bound))
    }

    /// The variables of `t` that also occur outside it.
    pub fn shared(&self, t: Term) -> Slots {
        let mut inside: FxHashMap<u16, u32> = FxHashMap::default();
        let mut stack = vec![t];
        while let Some(t) = stack.pop() {
            if let Some(slot) = self.slot(t) {
                *inside.entry(slot).or_default() += 1;
            } else if !self.is_ground(t) {
                stack.extend(self.children(t));
            }
        }
        let mut shared = Slots::default();
        for (slot, count) in inside {
            if count < self.occurrences[&slot] {
                shared.insert(slot);
            }
        }
        shared
    }

    /// Is it enough to find one way to match `t`?
    pub fn is_greedy_safe(&self, t: Term, bound: &Slots) -> bool {
        let mut bad = self.needed.clone();
        bad.add(&self.shared(t));
        bad.and(&self.vars(t)).is_subset(bound)
    }

    fn leq(&self, kind: KindId, a: SortIx, b: SortIx) -> bool {
        self.spec.sig.sorts.kind(kind).leq(a, b)
    }

    pub fn identity(&self, sym: u32) -> Option<Term> {
        self.spec.sy.info[sym as usize].identity.map(|identity| self.heap.consts[identity.constant])
    }

    /// May an instance of `t` be the identity of `sym`?
    pub fn may_be_identity(&mut self, sym: u32, t: Term) -> bool {
        let Some(identity) = self.identity(sym) else { return false };
        let sy = self.spec.sy;
        if self.is_ground(t) {
            return self.heap.equal(sy, t, identity);
        }
        // As in Maude, memberships do not count for the identity that vanishes.
        let sort = match identity.is_constant() {
            true => sy.info[identity.payload() as usize].diagram.sort([]),
            false => self.heap.sort(sy, identity),
        };
        let kind = sy.info[sym as usize].kind;
        if let Some(var) = self.var(t) {
            return self.leq(kind, sort, self.sort_of(var).1);
        }
        let top = self.sym(identity);
        if self.sym(t) == top {
            return true;
        }
        self.tops(t).iter().any(|&other| match other {
            Top::Op(other) => other == top,
            Top::Var(above) => self.leq(kind, sort, above),
        })
    }

    /// May an instance of `t` collapse to a term with `sym` on top?
    pub fn may_collapse_to(&mut self, sym: u32, t: Term) -> bool {
        if self.var(t).is_some() {
            return false;
        }
        let shape = self.shape(sym);
        self.tops(t).iter().any(|&top| match top {
            Top::Op(top) => top == sym,
            Top::Var(sort) => shape.bounds[sort as usize] != Some(1),
        })
    }

    /// Must a variable stand for `t` below the associative operator `sym`?
    pub fn must_abstract(&mut self, sym: u32, t: Term) -> bool {
        !self.is_ground(t)
            && self.var(t).is_none()
            && (self.may_collapse_to(sym, t) || self.may_be_identity(sym, t))
    }

    fn top(&self, t: Term) -> Top {
        match self.var(t) {
            Some(var) => Top::Var(self.sort_of(var).1),
            None => Top::Op(self.sym(t)),
        }
    }

    /// What may stand at the top of an instance of `t` that has collapsed.
    pub fn tops(&mut self, t: Term) -> Rc<[Top]> {
        if self.is_ground(t) || self.var(t).is_some() {
            return Rc::new([]);
        }
        if let Some(tops) = self.tops.get(&t) {
            return tops.clone();
        }
        let sym = self.sym(t);
        let info = &self.spec.sy.info[sym as usize];
        let (idem, identity) = (info.idem, info.identity);
        let (mut kept, mut common): (Vec<Term>, Vec<Top>) = Default::default();
        match self.class(t) {
            Class::AssocComm if identity.is_some() => {
                let pairs = self.pairs(t);
                let solid: Vec<&(Term, u32)> =
                    pairs.iter().filter(|&&(child, _)| !self.may_be_identity(sym, child)).collect();
                match solid[..] {
                    [] if pairs.iter().all(|p| p.1 > 1) => {
                        common.extend(self.identity(sym).map(|identity| self.top(identity)));
                    }
                    [] => kept.extend(pairs.iter().filter(|p| p.1 == 1).map(|p| p.0)),
                    [&(child, 1)] => kept.push(child),
                    _ => {}
                }
            }
            Class::Assoc => {
                if let Some(identity) = identity {
                    let args = self.heap.args(t).to_vec();
                    let vanishes: Vec<bool> =
                        args.iter().map(|&arg| self.may_be_identity(sym, arg)).collect();
                    for i in 0..args.len() {
                        let before = i == 0 || identity.left && vanishes[..i].iter().all(|&v| v);
                        let after =
                            i + 1 == args.len() || identity.right && vanishes[i + 1..].iter().all(|&v| v);
                        if before && after {
                            kept.push(args[i]);
                        }
                    }
                }
            }
            Class::Cui => {
                let args = [self.heap.arg(t, 0), self.heap.arg(t, 1)];
                if identity.is_some_and(|e| e.left) && self.may_be_identity(sym, args[0]) {
                    kept.push(args[1]);
                }
                if identity.is_some_and(|e| e.right) && self.may_be_identity(sym, args[1]) {
                    kept.push(args[0]);
                }
                if idem {
                    common = self.common_tops(args[0], args[1]);
                }
            }
            _ => {}
        }
        let mut tops: Vec<Top> = common;
        for child in kept {
            let inner = self.tops(child);
            for top in std::iter::once(self.top(child)).chain(inner.iter().copied()) {
                if !tops.contains(&top) {
                    tops.push(top);
                }
            }
        }
        let tops: Rc<[Top]> = tops.into();
        self.tops.insert(t, tops.clone());
        tops
    }

    /// What may stand at the top of a common instance of two patterns.
    pub fn common_tops(&mut self, a: Term, b: Term) -> Vec<Top> {
        if self.are_independent(a, b) {
            return Vec::new();
        }
        let mut common = Vec::new();
        for (t, other) in [(a, b), (b, a)] {
            let others: Vec<Top> =
                std::iter::once(self.top(other)).chain(self.tops(other).iter().copied()).collect();
            let kind = self.spec.sy.info.get(self.sym(t) as usize).map(|info| info.kind);
            let kind = self.var(t).map(|var| self.sort_of(var).0).or(kind);
            let own: Vec<Top> = std::iter::once(self.top(t)).chain(self.tops(t).iter().copied()).collect();
            for top in own {
                let fits = others.iter().any(|&other| match (top, other) {
                    (Top::Op(f), Top::Op(g)) => f == g,
                    (Top::Op(_), Top::Var(_)) => true,
                    (Top::Var(_), Top::Op(_)) => false,
                    (Top::Var(s), Top::Var(u)) => s == u || !kind.is_some_and(|kind| self.leq(kind, u, s)),
                });
                if fits && !common.contains(&top) {
                    common.push(top);
                }
            }
        }
        common
    }

    /// Does every instance have the same operator on top?
    pub fn is_stable(&mut self, t: Term) -> bool {
        self.var(t).is_none() && self.tops(t).is_empty()
    }

    /// Is it clear from the operators that `t` matches no instance of `other`?
    fn fails_early(&mut self, t: Term, other: Term) -> bool {
        let sy = self.spec.sy;
        let mut work = vec![(t, other)];
        while let Some((a, b)) = work.pop() {
            if self.var(a).is_some() || a == b {
                continue;
            }
            let (fa, fb) = (self.sym(a), self.sym(b));
            let free = matches!(sy.class(fa), Class::Free | Class::Iter);
            if fa != fb {
                if self.is_stable(b) && (free || self.is_stable(a)) {
                    return true;
                }
                continue;
            }
            if a.is_constant() {
                continue;
            }
            if a.is_small() || b.is_small() || self.heap.is_big_nat(sy, a) || self.heap.is_big_nat(sy, b) {
                let ((m, x), (n, y)) = (self.heap.iter_parts(a), self.heap.iter_parts(b));
                if self.iterated_fails_early((&m, x), (&n, y), &mut work) {
                    return true;
                }
                continue;
            }
            if sy.info[fa as usize].raw.is_some() {
                if !self.heap.equal(sy, a, b) {
                    return true;
                }
                continue;
            }
            match sy.class(fa) {
                Class::Free => {
                    let (xs, ys) = (self.heap.args(a), self.heap.args(b));
                    work.extend(xs.iter().copied().zip(ys.iter().copied()));
                }
                Class::Iter => {
                    let ((m, x), (n, y)) = (self.heap.iter_parts(a), self.heap.iter_parts(b));
                    if self.iterated_fails_early((&m, x), (&n, y), &mut work) {
                        return true;
                    }
                }
                _ => {}
            }
        }
        false
    }

    fn iterated_fails_early(
        &mut self,
        (m, x): (&Int, Term),
        (n, y): (&Int, Term),
        work: &mut Vec<(Term, Term)>,
    ) -> bool {
        match m.cmp(n) {
            std::cmp::Ordering::Equal => {
                work.push((x, y));
                false
            }
            std::cmp::Ordering::Less => self.is_stable(x),
            std::cmp::Ordering::Greater => self.is_stable(y),
        }
    }

    /// Can no subject be matched by both?
    pub fn are_independent(&mut self, a: Term, b: Term) -> bool {
        self.fails_early(a, b) || self.fails_early(b, a)
    }

    /// Is it clear that every instance of `other` is one of `t`, whose variables are free to take it? Only free
    /// operators are seen through.
    pub fn subsumes(&self, t: Term, other: Term) -> bool {
        let sy = self.spec.sy;
        let mut work = vec![(t, other)];
        while let Some((a, b)) = work.pop() {
            if let Some(var) = self.var(a) {
                let (kind, sort) = self.sort_of(var);
                let same = self.var(b) == Some(var);
                let is_free = |slot| self.occurrences[&slot] == 1 && !self.spec.bound.contains(&slot);
                let linear = self.slot(a).is_some_and(is_free);
                if !(same || linear && self.leq(kind, self.heap.sort(sy, b), sort)) {
                    return false;
                }
                continue;
            }
            if !a.is_node() && a == b {
                continue;
            }
            if !a.is_node() || !b.is_node() || self.sym(a) != self.sym(b) {
                return false;
            }
            match self.class(a) {
                Class::Free if sy.info[self.sym(a) as usize].raw.is_some() => {
                    if !self.heap.equal(sy, a, b) {
                        return false;
                    }
                }
                Class::Free => {
                    let (xs, ys) = (self.heap.args(a), self.heap.args(b));
                    work.extend(xs.iter().copied().zip(ys.iter().copied()));
                }
                _ => return false,
            }
        }
        true
    }

    /// The variables and the other subpatterns directly below a free skeleton.
    pub fn skeleton(&self, t: Term) -> (Slots, Vec<Term>) {
        let (mut vars, mut aliens) = (Slots::default(), Vec::new());
        let mut stack = vec![t];
        while let Some(t) = stack.pop() {
            for &arg in self.heap.args(t).iter().rev() {
                if let Some(slot) = self.slot(arg) {
                    vars.insert(slot);
                } else if !self.is_ground(arg) {
                    stack.push(arg);
                }
            }
            while let Some(&next) = stack.last()
                && self.class(next) != Class::Free
            {
                aliens.push(next);
                stack.pop();
            }
        }
        (vars, aliens)
    }

    /// Adds the variables that matching `t` certainly binds.
    pub fn analyse(&mut self, t: Term, bound: &mut Slots) {
        if self.is_ground(t) {
            return;
        }
        if let Some(slot) = self.slot(t) {
            bound.insert(slot);
            return;
        }
        match self.class(t) {
            Class::Free => {
                let (vars, aliens) = self.skeleton(t);
                bound.add(&vars);
                *bound = self.free_sequence(aliens, bound).1;
            }
            Class::Iter => {
                let (_, base) = self.heap.iter_parts(t);
                self.analyse(base, bound);
            }
            Class::AssocComm => self.analyse_ac(t, bound),
            Class::Assoc => {
                let sequence = self.rigid_sequence(t, bound);
                *bound = sequence.bound;
                let args = self.heap.args(t).to_vec();
                let info = &self.spec.sy.info[self.sym(t) as usize];
                if sequence.ends.len() + 1 == args.len()
                    && info.identity.is_none_or(|identity| identity.left == identity.right)
                {
                    self.analyse(args[sequence.first_flex], bound);
                }
            }
            Class::Cui => {
                let args = [self.heap.arg(t, 0), self.heap.arg(t, 1)];
                if let Some((order, _)) = self.cui_branch(t, args, bound) {
                    order.iter().for_each(|&i| self.analyse(args[i], bound));
                }
            }
        }
    }

    fn analyse_ac(&mut self, t: Term, bound: &mut Slots) {
        let sym = self.sym(t);
        let (mut var, mut aliens) = (None, Vec::new());
        for (child, _) in self.pairs(t) {
            if self.must_abstract(sym, child) {
                return;
            }
            if self.grounds_out(child, bound) {
                continue;
            }
            if let Some(slot) = self.slot(child) {
                if var.is_some() || !aliens.is_empty() {
                    return;
                }
                var = Some(slot);
            } else {
                if var.is_some() {
                    return;
                }
                aliens.push(child);
            }
        }
        if let Some(slot) = var {
            bound.insert(slot);
        } else if !aliens.is_empty() {
            *bound = self.forced_sequence(&aliens, bound).2;
        }
    }

    /// In which order the arguments of a binary operator are matched if at most one way can
    /// succeed, and which argument of the subject the first one gets first.
    pub fn cui_branch(&mut self, t: Term, args: [Term; 2], bound: &Slots) -> Option<([usize; 2], usize)> {
        if !self.tops(t).is_empty() {
            return None;
        }
        let info = &self.spec.sy.info[self.sym(t) as usize];
        if !info.comm || self.grounds_out(args[0], bound) || self.heap.equal(self.spec.sy, args[0], args[1]) {
            return Some(([0, 1], 0));
        }
        if self.grounds_out(args[1], bound) {
            return Some(([1, 0], 0));
        }
        if self.are_independent(args[0], args[1]) {
            let (mut forward, mut backward) = (bound.clone(), bound.clone());
            [0, 1].iter().for_each(|&i: &usize| self.analyse(args[i], &mut forward));
            [1, 0].iter().for_each(|&i: &usize| self.analyse(args[i], &mut backward));
            let order = if backward.len() > forward.len() { [1, 0] } else { [0, 1] };
            return Some((order, 0));
        }
        None
    }

    /// The order in which subpatterns below a free skeleton are matched, and what is bound
    /// afterwards.
    pub fn free_sequence(&mut self, aliens: Vec<Term>, bound: &Slots) -> (Vec<Term>, Slots) {
        let mut best: Option<(Vec<Term>, Slots)> = None;
        self.grow_free(aliens, 0, bound.clone(), &mut best);
        best.expect("every search has a leaf")
    }

    fn grow_free(
        &mut self,
        mut sequence: Vec<Term>,
        mut step: usize,
        mut bound: Slots,
        best: &mut Option<(Vec<Term>, Slots)>,
    ) {
        let n = sequence.len();
        loop {
            step = self.pull_grounded(&mut sequence, step, &bound);
            let rest = &sequence[step..];
            let alone = (0..rest.len()).find(|&i| {
                let unbound = self.vars(rest[i]).minus(&bound);
                (0..rest.len()).all(|j| j == i || unbound.is_disjoint(&self.vars(rest[j])))
            });
            let Some(i) = alone else { break };
            sequence.swap(step, step + i);
            self.analyse(sequence[step], &mut bound);
            step += 1;
        }
        let mut grown = false;
        if n - step <= 8 {
            for i in step..n {
                let mut more = bound.clone();
                self.analyse(sequence[i], &mut more);
                let new = more.minus(&bound);
                if (step..n).any(|j| j != i && !new.is_disjoint(&self.vars(sequence[j]))) {
                    grown = true;
                    let mut next = sequence.clone();
                    next.swap(step, i);
                    self.grow_free(next, step + 1, more, best);
                }
            }
        }
        if !grown && best.as_ref().is_none_or(|(_, most)| bound.len() > most.len()) {
            *best = Some((sequence, bound));
        }
    }

    /// Swaps what grounds out to the front, from place `step` on; gives the place after them.
    fn pull_grounded(&self, sequence: &mut [Term], mut step: usize, bound: &Slots) -> usize {
        let mut i = step;
        while i < sequence.len() {
            if self.grounds_out(sequence[i], bound) {
                sequence.swap(step, i);
                step += 1;
            }
            i += 1;
        }
        step
    }

    /// For aliens that share a multiset with nothing else: an order, how many of them can be
    /// committed to the first element that fits, and what these bind.
    pub fn forced_sequence(&mut self, aliens: &[Term], bound: &Slots) -> (Vec<Term>, usize, Slots) {
        let mut best = None;
        self.grow_forced(aliens.to_vec(), 0, bound.clone(), &mut best);
        best.expect("every search has a leaf")
    }

    fn grow_forced(
        &mut self,
        sequence: Vec<Term>,
        step: usize,
        bound: Slots,
        best: &mut Option<(Vec<Term>, usize, Slots)>,
    ) {
        let n = sequence.len();
        let mut grown = false;
        for i in step..n {
            if (step..n).any(|j| j != i && !self.are_independent(sequence[i], sequence[j])) {
                continue;
            }
            let mut more = bound.clone();
            self.analyse(sequence[i], &mut more);
            if more == bound {
                continue;
            }
            let unbound = self.vars(sequence[i]).minus(&bound);
            let commits = (step..n).all(|j| j == i || unbound.is_disjoint(&self.vars(sequence[j])));
            let mut next = sequence.clone();
            next.swap(step, i);
            let next_step = self.pull_grounded(&mut next, step + 1, &more);
            self.grow_forced(next, next_step, more, best);
            grown = true;
            if commits {
                break;
            }
        }
        let better =
            |(_, length, most): &(Vec<Term>, usize, Slots)| (bound.len(), step) > (most.len(), *length);
        if !grown && best.as_ref().is_none_or(better) {
            *best = Some((sequence, step, bound));
        }
    }

    /// Puts aliens that bind many shared variables early.
    pub fn weak_order(&self, sequence: &mut [Term], step: usize, bound: &Slots) {
        let mut bound = bound.clone();
        sequence[..step].iter().for_each(|&t| bound.add(&self.vars(t)));
        let (mut shared, mut seen) = (Slots::default(), Slots::default());
        for &t in &sequence[step..] {
            let vars = self.vars(t);
            shared.add(&seen.and(&vars));
            seen.add(&vars);
        }
        if shared.is_empty() {
            return;
        }
        for i in step..sequence.len().saturating_sub(1) {
            let (mut best, mut most) = (None, 0);
            for (j, &t) in sequence.iter().enumerate().skip(i) {
                let binds = self.vars(t).and(&shared).minus(&bound).len();
                if binds > most {
                    (best, most) = (Some(j), binds);
                }
            }
            let Some(j) = best else { break };
            sequence.swap(i, j);
            bound.add(&self.vars(sequence[i]));
        }
    }

    /// Which ends of a list pattern can be matched first, and what that binds.
    pub fn rigid_sequence(&mut self, t: Term, bound: &Slots) -> Rigid {
        let sym = self.sym(t);
        let args: Vec<ListArg> = {
            let terms = self.heap.args(t).to_vec();
            let last = terms.len() - 1;
            terms.iter().enumerate().map(|(i, &term)| self.list_arg(sym, term, i, last)).collect()
        };
        let mut best = None;
        self.grow_rigid(&args, Vec::new(), bound.clone(), 0, args.len(), &mut best);
        best.expect("every search has a leaf")
    }

    fn grow_rigid(
        &mut self,
        args: &[ListArg],
        mut ends: Vec<bool>,
        mut bound: Slots,
        mut from: usize,
        mut to: usize,
        best: &mut Option<Rigid>,
    ) {
        let mut grown = false;
        while from < to {
            let (left, right) = (&args[from], &args[to - 1]);
            let more = to - from > 1;
            let end = if !left.flexible && self.vars(left.term).is_subset(&bound) {
                Some(true)
            } else if more && !right.flexible && self.vars(right.term).is_subset(&bound) {
                Some(false)
            } else if left.unit {
                Some(true)
            } else if more && right.unit {
                Some(false)
            } else {
                None
            };
            if let Some(is_left) = end {
                // What it is, it grounds out or is a variable.
                let slot = self.slot(if is_left { left.term } else { right.term });
                slot.into_iter().for_each(|slot| bound.insert(slot));
                ends.push(is_left);
                (from, to) = if is_left { (from + 1, to) } else { (from, to - 1) };
            } else {
                let is_alien = |run: &Self, arg: &ListArg| !arg.flexible && run.var(arg.term).is_none();
                if is_alien(self, left) {
                    let (mut binds, mut next) = (bound.clone(), ends.clone());
                    self.analyse(left.term, &mut binds);
                    next.push(true);
                    self.grow_rigid(args, next, binds, from + 1, to, best);
                    grown = true;
                }
                // A left end that shares nothing with the rest may as well go first.
                let unbound = self.vars(left.term).minus(&bound);
                let shares = args[from + 1..to].iter().any(|a| !unbound.is_disjoint(&self.vars(a.term)));
                if more && (!grown || shares) && is_alien(self, right) {
                    let (mut binds, mut next) = (bound.clone(), ends.clone());
                    self.analyse(right.term, &mut binds);
                    next.push(false);
                    self.grow_rigid(args, next, binds, from, to - 1, best);
                    grown = true;
                }
                break;
            }
        }
        let better = |other: &Rigid| (bound.len(), ends.len()) > (other.bound.len(), other.ends.len());
        if !grown && best.as_ref().is_none_or(better) {
            *best = Some(Rigid { ends, bound, first_flex: from });
        }
    }

    /// Facts about an argument of a list pattern at a place.
    pub fn list_arg(&mut self, sym: u32, term: Term, place: usize, last: usize) -> ListArg {
        let identity = self.spec.sy.info[sym as usize].identity;
        let vanishes = identity.is_some_and(|e| e.left && (e.right || place < last) || e.right && place > 0);
        let may_be_identity = self.may_be_identity(sym, term);
        if let Some(var) = self.var(term) {
            let unit = self.shape(sym).bounds[self.sort_of(var).1 as usize] == Some(1);
            let unit = unit && !(vanishes && may_be_identity);
            // A bound variable takes a known number of elements whatever its sort.
            return ListArg { term, flexible: false, unit, may_be_identity, vanishes };
        }
        let flexible =
            self.must_abstract(sym, term) && (self.may_collapse_to(sym, term) || may_be_identity && vanishes);
        ListArg { term, flexible, unit: false, may_be_identity, vanishes }
    }
}

/// An argument of a list pattern.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListArg {
    pub term: Term,
    /// A subpattern that may take any number of elements.
    pub flexible: bool,
    /// A variable that takes exactly one element.
    pub unit: bool,
    pub may_be_identity: bool,
    /// Does the identity disappear at this place?
    pub vanishes: bool,
}

/// Ends of a list pattern that are matched first.
#[derive(Debug)]
pub(super) struct Rigid {
    /// `true`: the left end.
    pub ends: Vec<bool>,
    pub bound: Slots,
    /// The leftmost argument that is not among them.
    pub first_flex: usize,
}
