//! Transition-based generalized Büchi automata: a run is accepted if it takes transitions of every
//! acceptance set infinitely often.
//!
//! An edge reads one letter (the propositions of a state) if its [`Cube`] allows it.

use super::word::Word;

/// The propositions that a translation may use: bits of a word.
pub const PROPS_MAX: u32 = 64;
/// The acceptance sets an automaton may have: bits of a word.
pub const SETS_MAX: u32 = 64;

/// A conjunction of literals: propositions that must hold and that must not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Cube {
    pub pos: u64,
    pub neg: u64,
}

impl Cube {
    /// The cube that allows every letter.
    pub const ANY: Cube = Cube { pos: 0, neg: 0 };

    /// Whether the letter is allowed.
    #[inline]
    pub fn allows(self, letter: u64) -> bool {
        letter & self.pos == self.pos && letter & self.neg == 0
    }

    /// Both at once; none if they contradict each other.
    pub fn and(self, other: Cube) -> Option<Cube> {
        let both = Cube { pos: self.pos | other.pos, neg: self.neg | other.neg };
        (both.pos & both.neg == 0).then_some(both)
    }

    /// Whether every letter that `other` allows is allowed.
    pub fn covers(self, other: Cube) -> bool {
        self.pos & !other.pos == 0 && self.neg & !other.neg == 0
    }
}

/// A transition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Edge {
    pub to: u32,
    pub label: Cube,
    /// Bit i: the transition is in acceptance set i.
    pub marks: u64,
}

/// An automaton; states are positions in `edges`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Automaton {
    /// Where runs start; empty for the empty language.
    pub initial: Vec<u32>,
    pub edges: Vec<Vec<Edge>>,
    /// The number of acceptance sets; with none every infinite run is accepted.
    pub sets: u32,
}

impl Automaton {
    /// Bits of all acceptance sets.
    pub fn all_marks(&self) -> u64 {
        if self.sets == 64 { u64::MAX } else { (1 << self.sets) - 1 }
    }

    /// The number of transitions.
    pub fn edge_count(&self) -> usize {
        self.edges.iter().map(Vec::len).sum()
    }

    /// Smaller is better: states, then transitions, then acceptance sets.
    pub fn size(&self) -> (usize, usize, u32) {
        (self.edges.len(), self.edge_count(), self.sets)
    }

    /// The strongly connected component of each state, numbered in reverse topological order
    /// (what a component reaches has smaller numbers), and how many there are.
    pub fn components(&self) -> (Vec<u32>, usize) {
        const NONE: u32 = u32::MAX;
        let count = self.edges.len();
        let (mut number, mut low, mut component) = (vec![NONE; count], vec![0; count], vec![NONE; count]);
        let (mut next, mut found) = (0, 0);
        let (mut open, mut path): (Vec<u32>, Vec<(u32, usize)>) = (Vec::new(), Vec::new());
        for root in 0..count as u32 {
            if number[root as usize] != NONE {
                continue;
            }
            path.push((root, 0));
            while let Some(&mut (state, ref mut at)) = path.last_mut() {
                let s = state as usize;
                if *at == 0 {
                    (number[s], low[s]) = (next, next);
                    next += 1;
                    open.push(state);
                }
                if let Some(edge) = self.edges[s].get(*at) {
                    *at += 1;
                    let t = edge.to as usize;
                    if number[t] == NONE {
                        path.push((edge.to, 0));
                    } else if component[t] == NONE {
                        low[s] = low[s].min(number[t]);
                    }
                    continue;
                }
                path.pop();
                if let Some(&(parent, _)) = path.last() {
                    low[parent as usize] = low[parent as usize].min(low[s]);
                }
                if low[s] == number[s] {
                    while let Some(top) = open.pop() {
                        component[top as usize] = found;
                        if top == state {
                            break;
                        }
                    }
                    found += 1;
                }
            }
        }
        (component, found as usize)
    }

    /// For each component whether a run can stay in it for ever and be accepted.
    pub fn accepting(&self, component: &[u32], count: usize) -> Vec<bool> {
        let mut marks = vec![None; count];
        for (state, edges) in self.edges.iter().enumerate() {
            for edge in edges.iter().filter(|edge| component[edge.to as usize] == component[state]) {
                let entry: &mut Option<u64> = &mut marks[component[state] as usize];
                *entry = Some(entry.unwrap_or(0) | edge.marks);
            }
        }
        marks.into_iter().map(|marks| marks == Some(self.all_marks())).collect()
    }

    /// Whether no word is accepted.
    pub fn is_empty(&self) -> bool {
        let (component, count) = self.components();
        let accepting = self.accepting(&component, count);
        let mut seen = vec![false; self.edges.len()];
        let mut work = self.initial.clone();
        while let Some(state) = work.pop() {
            if std::mem::replace(&mut seen[state as usize], true) {
                continue;
            }
            if accepting[component[state as usize] as usize] {
                return false;
            }
            work.extend(self.edges[state as usize].iter().map(|edge| edge.to));
        }
        true
    }

    /// The automaton whose states are (state, position in the word), restricted to the word.
    fn along(&self, word: &Word) -> Automaton {
        let length = word.letters.len();
        let pair = |state: u32, position: usize| state * length as u32 + position as u32;
        let mut edges = Vec::with_capacity(self.edges.len() * length);
        for out in &self.edges {
            for (position, &letter) in word.letters.iter().enumerate() {
                let after = if position + 1 < length { position + 1 } else { word.back };
                let allowed = out.iter().filter(|edge| edge.label.allows(letter));
                edges.push(allowed.map(|edge| Edge { to: pair(edge.to, after), ..*edge }).collect());
            }
        }
        Automaton { initial: self.initial.iter().map(|&s| pair(s, 0)).collect(), edges, sets: self.sets }
    }

    /// Whether the word is accepted.
    pub fn accepts(&self, word: &Word) -> bool {
        !self.along(word).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinitely_often() {
        let any = Edge { to: 0, label: Cube::ANY, marks: 0 };
        let seen = Edge { to: 0, label: Cube { pos: 1, neg: 0 }, marks: 1 };
        let automaton = Automaton { initial: vec![0], edges: vec![vec![any, seen]], sets: 1 };
        assert!(automaton.accepts(&Word { letters: vec![0, 1], back: 0 }));
        assert!(!automaton.accepts(&Word { letters: vec![1, 0], back: 1 }));
        assert!(!automaton.is_empty());
        assert!(Automaton::default().is_empty());
    }

    #[test]
    fn cubes() {
        let (p, not_p) = (Cube { pos: 1, neg: 0 }, Cube { pos: 0, neg: 1 });
        assert_eq!(p.and(not_p), None);
        assert!(Cube::ANY.covers(p) && !p.covers(Cube::ANY) && !p.covers(not_p));
        assert!(p.allows(3) && !not_p.allows(3));
    }
}
