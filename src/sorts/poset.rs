//! The sort poset of a flat module, closed into kinds (its connected components).
//!
//! Inside a kind each sort has an index that respects the order: index 0 is the kind
//! itself (its error sort), a sort's index is larger than those of all its supersorts.
//! The numbering is Maude's, because the order of solutions depends on it.

use crate::base::{Name, NameMap};

crate::index_type!(
    /// A sort of a module, or the error sort of one of its kinds.
    SortId
);
crate::index_type!(
    /// A connected component of the sort poset.
    KindId
);

#[derive(Clone, Debug)]
pub struct Sort {
    pub name: Name,
    pub kind: KindId,
    /// The number inside the kind; 0 is the kind's error sort.
    pub index: u32,
}

#[derive(Clone, Debug)]
pub struct Kind {
    /// `sorts[i]` has index `i`; `sorts[0]` is the error sort.
    pub sorts: Vec<SortId>,
    /// How many maximal sorts there are: indices `1..=maximal`.
    pub maximal: u32,
    /// Printed form `[A,B]`: the maximal sorts.
    pub name: Name,
    /// Row `i` is a bit set over indices: the sorts `j` with `j <= i`.
    below: Vec<Vec<u64>>,
}

impl Kind {
    /// Is the sort with index `a` a subsort of (or equal to) that with index `b`?
    #[inline]
    pub fn leq(&self, a: u32, b: u32) -> bool {
        self.below[b as usize][(a / 64) as usize] >> (a % 64) & 1 != 0
    }

    /// The indices `<= b` as a bit set.
    pub fn below(&self, b: u32) -> &[u64] {
        &self.below[b as usize]
    }

    /// The error sort.
    pub fn error(&self) -> SortId {
        self.sorts[0]
    }
}

/// All sorts of a module. Built from declarations, then closed once.
#[derive(Clone, Debug, Default)]
pub struct SortPoset {
    sorts: Vec<Sort>,
    by_name: NameMap<SortId>,
    subsorts: Vec<Vec<SortId>>,
    supersorts: Vec<Vec<SortId>>,
    kinds: Vec<Kind>,
}

/// The sorts of a cycle in the declared subsort relation.
#[derive(Clone, Debug, PartialEq)]
pub struct SortCycle(pub Vec<SortId>);

impl SortPoset {
    /// Declares a sort; declaring it again gives the same one.
    pub fn declare(&mut self, name: Name) -> SortId {
        if let Some(&id) = self.by_name.get(&name) {
            return id;
        }
        let id = SortId::from_index(self.sorts.len());
        self.sorts.push(Sort { name, kind: KindId(0), index: 0 });
        self.subsorts.push(Vec::new());
        self.supersorts.push(Vec::new());
        self.by_name.insert(name, id);
        id
    }

    /// Declares `sub < sup`. `A < A` is ignored (it is a cycle that the caller reports). A
    /// repetition is kept, because in Maude it delays the numbering of `sub`.
    pub fn declare_subsort(&mut self, sub: SortId, sup: SortId) {
        if sub != sup {
            self.subsorts[sup.index()].push(sub);
            self.supersorts[sub.index()].push(sup);
        }
    }

    /// Finds the kinds, numbers the sorts, and computes the order. Call once after all declarations.
    pub fn close(&mut self) -> Result<(), SortCycle> {
        let user = self.sorts.len();
        let mut seen = vec![false; user];
        for first in 0..user {
            if seen[first] {
                continue;
            }
            let mut maximal = Vec::new();
            let mut members = 0;
            self.walk(SortId::from_index(first), &mut seen, &mut maximal, &mut members);
            self.close_kind(maximal, members)?;
        }
        Ok(())
    }

    /// Depth first over subsorts, then supersorts, in declaration order; collects maximal sorts as
    /// they are left (in post-order).
    fn walk(&self, start: SortId, seen: &mut [bool], maximal: &mut Vec<SortId>, members: &mut usize) {
        // An explicit stack of (sort, next neighbour): sort hierarchies may be deep chains.
        let mut stack = vec![(start, 0usize)];
        seen[start.index()] = true;
        *members += 1;
        while let Some(top) = stack.last_mut() {
            let (sort, next) = (top.0.index(), top.1);
            top.1 += 1;
            let below = self.subsorts[sort].len();
            let neighbour = if next < below {
                self.subsorts[sort][next]
            } else if let Some(&sup) = self.supersorts[sort].get(next - below) {
                sup
            } else {
                if self.supersorts[sort].is_empty() {
                    maximal.push(SortId::from_index(sort));
                }
                stack.pop();
                continue;
            };
            if !seen[neighbour.index()] {
                seen[neighbour.index()] = true;
                *members += 1;
                stack.push((neighbour, 0));
            }
        }
    }

    fn close_kind(&mut self, maximal: Vec<SortId>, members: usize) -> Result<(), SortCycle> {
        let kind = KindId::from_index(self.kinds.len());
        let text: Vec<&str> = maximal.iter().map(|&s| self.sorts[s.index()].name.as_str()).collect();
        let name = Name::new(&format!("[{}]", text.join(",")));
        let error = SortId::from_index(self.sorts.len());
        self.sorts.push(Sort { name, kind, index: 0 });
        self.subsorts.push(maximal.clone());
        self.supersorts.push(Vec::new());
        let mut order = vec![error];
        order.extend(&maximal);
        let mut open: rustc_hash::FxHashMap<SortId, usize> = rustc_hash::FxHashMap::default();
        let mut i = 1;
        while i < order.len() {
            for &sub in &self.subsorts[order[i].index()] {
                let left = open.entry(sub).or_insert(self.supersorts[sub.index()].len());
                *left -= 1;
                if *left == 0 {
                    order.push(sub);
                }
            }
            i += 1;
        }
        if order.len() != members + 1 {
            let placed: rustc_hash::FxHashSet<SortId> = order.iter().copied().collect();
            let cycle = open.keys().copied().filter(|s| !placed.contains(s));
            let mut cycle: Vec<SortId> = cycle.collect();
            if cycle.is_empty() {
                // No maximal sort at all: the whole component is cyclic.
                cycle = (0..error.index()).map(SortId::from_index).filter(|s| !placed.contains(s)).collect();
            }
            cycle.sort();
            return Err(SortCycle(cycle));
        }
        let words = order.len().div_ceil(64);
        let mut below = vec![vec![0u64; words]; order.len()];
        for (index, &sort) in order.iter().enumerate() {
            let entry = &mut self.sorts[sort.index()];
            entry.kind = kind;
            entry.index = index as u32;
        }
        for index in (0..order.len()).rev() {
            below[index][index / 64] |= 1 << (index % 64);
            for &sub in &self.subsorts[order[index].index()] {
                let row = below[self.sorts[sub.index()].index as usize].clone();
                for (word, more) in below[index].iter_mut().zip(row) {
                    *word |= more;
                }
            }
        }
        self.kinds.push(Kind { sorts: order, maximal: maximal.len() as u32, name, below });
        Ok(())
    }

    pub fn find(&self, name: Name) -> Option<SortId> {
        self.by_name.get(&name).copied()
    }

    pub fn get(&self, id: SortId) -> &Sort {
        &self.sorts[id.index()]
    }

    pub fn name(&self, id: SortId) -> Name {
        self.sorts[id.index()].name
    }

    pub fn kind(&self, id: KindId) -> &Kind {
        &self.kinds[id.index()]
    }

    pub fn kind_of(&self, id: SortId) -> KindId {
        self.sorts[id.index()].kind
    }

    pub fn kinds(&self) -> impl Iterator<Item = (KindId, &Kind)> {
        self.kinds.iter().enumerate().map(|(i, k)| (KindId::from_index(i), k))
    }

    /// The kinds of all sorts, in order of the sorts' numbers.
    pub fn kinds_of_sorts(&self) -> impl Iterator<Item = KindId> + '_ {
        self.sorts.iter().map(|sort| sort.kind)
    }

    /// Declared sorts in declaration order, without the error sorts.
    pub fn declared(&self) -> impl Iterator<Item = SortId> + '_ {
        self.by_name.values().copied()
    }

    /// Directly declared subsorts, in declaration order and as often as declared (of an error
    /// sort: the maximal sorts).
    pub fn subsorts(&self, id: SortId) -> &[SortId] {
        &self.subsorts[id.index()]
    }

    pub fn supersorts(&self, id: SortId) -> &[SortId] {
        &self.supersorts[id.index()]
    }

    /// The sort of a kind with the given index.
    pub fn at(&self, kind: KindId, index: u32) -> SortId {
        self.kinds[kind.index()].sorts[index as usize]
    }

    pub fn leq(&self, a: SortId, b: SortId) -> bool {
        let (a, b) = (self.get(a), self.get(b));
        a.kind == b.kind && self.kinds[a.kind.index()].leq(a.index, b.index)
    }

    pub fn is_error(&self, id: SortId) -> bool {
        self.get(id).index == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poset(sorts: &str, subsorts: &[(&str, &str)]) -> SortPoset {
        let mut poset = SortPoset::default();
        for sort in sorts.split_whitespace() {
            poset.declare(Name::new(sort));
        }
        for (a, b) in subsorts {
            let (a, b) = (poset.declare(Name::new(a)), poset.declare(Name::new(b)));
            poset.declare_subsort(a, b);
        }
        poset
    }

    #[test]
    fn kinds_are_components_and_order_is_transitive() {
        let mut p = poset("Zero NzNat Nat Bool", &[("Zero", "Nat"), ("NzNat", "Nat")]);
        p.close().unwrap();
        let at = |n: &str| p.find(Name::new(n)).unwrap();
        assert_eq!(p.kinds().count(), 2);
        assert!(p.leq(at("Zero"), at("Nat")));
        assert!(!p.leq(at("Nat"), at("Zero")));
        assert!(!p.leq(at("Bool"), at("Nat")));
        assert_eq!(p.get(at("Nat")).index, 1);
        assert_eq!(p.kind(p.kind_of(at("Nat"))).name.as_str(), "[Nat]");
        assert!(p.leq(at("Nat"), p.kind(p.kind_of(at("Nat"))).error()));
    }

    #[test]
    fn numbering_is_maudes() {
        let mut p = poset("T A B", &[("A", "T"), ("A", "B")]);
        p.close().unwrap();
        assert_eq!(p.kinds().next().unwrap().1.name.as_str(), "[B,T]");
        // The second declaration of A < D puts A after B.
        let mut p = poset("A B D", &[("A", "D"), ("B", "D"), ("A", "D")]);
        p.close().unwrap();
        let index = |n: &str| p.get(p.find(Name::new(n)).unwrap()).index;
        assert_eq!((index("D"), index("B"), index("A")), (1, 2, 3));
    }

    #[test]
    fn cycles_are_reported() {
        assert!(poset("A B", &[("A", "B"), ("B", "A")]).close().is_err());
        assert!(poset("A B C", &[("A", "B"), ("B", "A"), ("A", "C")]).close().is_err());
    }
}
