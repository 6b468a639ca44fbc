//! The product of the state graph and an automaton: pairs of a state and where the automaton is
//! before it reads the state.
//!
//! Pairs are numbered in the order in which they are met. Only states that the automaton can read
//! from some pair are expanded.

use super::fairness::FairTable;
use super::limits::Limits;
use super::scc::{Arc, Graph, Marks};
use super::space::{Node, Space, Wanted};
use crate::base::Interrupt;
use crate::graph::Stop;
use crate::logic::Automaton;
use rustc_hash::FxHashMap;

/// Pairs taken in one step of exploration.
const BATCH: usize = 1 << 13;
/// Entries of the direct table from pairs to numbers; larger products use a hash table.
const TABLE_MAX: usize = 1 << 30;
/// Automaton states up to which there is a table; most of its entries are empty beyond.
const WIDTH_MAX: usize = 8;

/// The product, and how far it has been explored breadth-first.
pub struct Product<'a> {
    automaton: &'a Automaton,
    fair: &'a FairTable,
    /// (state, automaton state) by number.
    pairs: Vec<(Node, u32)>,
    numbers: Numbers,
    /// How many of the first pairs were expanded.
    done: usize,
    /// How many pairs have at most the current distance from the start.
    level_end: usize,
}

impl<'a> Product<'a> {
    /// The product from the given state on.
    pub fn new(root: Node, automaton: &'a Automaton, fair: &'a FairTable) -> Self {
        let numbers = Numbers::new(automaton.edges.len());
        let mut product = Product { automaton, fair, pairs: Vec::new(), numbers, done: 0, level_end: 0 };
        for &start in &automaton.initial {
            product.number(root, start);
        }
        product.level_end = product.pairs.len();
        product
    }

    /// How many pairs were met.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Bytes that the tables take, and that a search for components would take.
    fn memory(&self) -> usize {
        self.numbers.bytes() + (8 + 4) * self.pairs.capacity()
    }

    /// The pairs where runs start: the first ones.
    pub fn starts(&self) -> std::ops::Range<u32> {
        0..self.automaton.initial.len() as u32
    }

    /// State and automaton state of a pair.
    pub fn pair(&self, number: u32) -> (Node, u32) {
        self.pairs[number as usize]
    }

    /// Whether everything reachable has been explored.
    pub fn is_complete(&self) -> bool {
        self.done == self.pairs.len()
    }

    /// Marks that every accepted fair run meets infinitely often.
    pub fn required(&self) -> Marks {
        Marks::from(self.automaton.all_marks()) | self.fair.weak()
    }

    /// The strong fairness conditions that a pair's state enables.
    pub fn enabled_strong(&self, space: &Space, number: u32) -> Marks {
        self.fair.enabled(space.edge_rules(self.pair(number).0)) & self.fair.strong()
    }

    /// Strong fairness conditions.
    pub fn strong(&self) -> Marks {
        self.fair.strong()
    }

    /// Explores the next pairs. Unless it may grow, states of the space stay as they are.
    pub fn advance(&mut self, space: &mut Space, limits: &Limits, grow: bool) -> Result<(), Stop> {
        let end = self.level_end.min(self.done + BATCH);
        if grow {
            self.expand_states(end, space, limits)?;
        }
        for number in self.done as u32..end as u32 {
            let mut cursor = <(u32, u32)>::default();
            while self.next(space, number, &mut cursor).is_some() {}
        }
        if self.pairs.len() >= u32::MAX as usize / 2 {
            return Err(Stop::Interrupted(Interrupt::Memory));
        }
        limits.check_memory(space.memory() + self.memory())?;
        self.done = end;
        if self.done == self.level_end {
            self.level_end = self.pairs.len();
        }
        Ok(())
    }

    /// Whether a pair's state is still to be expanded.
    pub fn needs_expansion(&self, space: &Space, number: u32) -> bool {
        !space.is_expanded(self.pair(number).0)
    }

    /// Expands the state of one pair, if the automaton can read it.
    pub fn expand_one(&self, space: &mut Space, number: u32, limits: &Limits) -> Result<(), Stop> {
        let (node, at) = self.pair(number);
        let automaton = self.automaton;
        let reads = |_, props: u64| automaton.edges[at as usize].iter().any(|edge| edge.label.allows(props));
        space.expand(&[Wanted { node, tag: 0 }], &reads, limits)
    }

    /// Declares everything met so far explored.
    pub fn close(&mut self) {
        self.done = self.pairs.len();
        self.level_end = self.done;
    }

    fn expand_states(&self, end: usize, space: &mut Space, limits: &Limits) -> Result<(), Stop> {
        let mut wanted: Vec<Wanted> = Vec::new();
        let mut place: FxHashMap<Node, usize> = FxHashMap::default();
        for &(node, at) in &self.pairs[self.done..end] {
            if space.is_expanded(node) {
                continue;
            }
            let tag = 1 << at.min(63);
            match place.entry(node) {
                std::collections::hash_map::Entry::Occupied(known) => wanted[*known.get()].tag |= tag,
                std::collections::hash_map::Entry::Vacant(free) => {
                    free.insert(wanted.len());
                    wanted.push(Wanted { node, tag });
                }
            }
        }
        let automaton = self.automaton;
        let reads = |at: usize, props: u64| automaton.edges[at].iter().any(|edge| edge.label.allows(props));
        // Tag 63 stands for all states from 63 on.
        let test = |tag: u64, props: u64| {
            (0..automaton.edges.len()).any(|at| tag >> at.min(63) & 1 == 1 && reads(at, props))
        };
        space.expand(&wanted, &test, limits)
    }

    fn number(&mut self, node: Node, at: u32) -> u32 {
        let fresh = self.pairs.len() as u32;
        let number = self.numbers.get_or_insert(node, at, fresh);
        if number == fresh {
            self.pairs.push((node, at));
        }
        number
    }

    fn next(&mut self, space: &Space, number: u32, cursor: &mut (u32, u32)) -> Option<Arc> {
        let (node, at) = self.pairs[number as usize];
        let props = space.props(node)?;
        let targets = space.targets(node);
        loop {
            let edge = self.automaton.edges[at as usize].get(cursor.0 as usize)?;
            if edge.label.allows(props)
                && let Some(&target) = targets.get(cursor.1 as usize)
            {
                let mut marks = Marks::from(edge.marks);
                if !self.fair.is_none() {
                    let rules = space.edge_rules(node);
                    marks |= self.fair.marks(rules[cursor.1 as usize], self.fair.enabled(rules));
                }
                cursor.1 += 1;
                return Some(Arc { to: self.number(target, edge.to), marks, at: cursor.1 - 1 });
            }
            *cursor = (cursor.0 + 1, 0);
        }
    }
}

/// The product as a graph, as far as it is explored. `at` of an arc is the place of the transition
/// among those of the state.
pub struct Explored<'p, 'a, 's> {
    pub product: &'p mut Product<'a>,
    pub space: &'p Space<'s>,
}

impl Explored<'_, '_, '_> {
    /// The next edge of any pair whose state is expanded.
    pub fn arc_anywhere(&mut self, node: u32, cursor: &mut (u32, u32)) -> Option<Arc> {
        self.product.next(self.space, node, cursor)
    }
}

impl Graph for Explored<'_, '_, '_> {
    type Cursor = (u32, u32);

    fn arc(&mut self, node: u32, cursor: &mut (u32, u32)) -> Option<Arc> {
        // What lies beyond belongs to a later look.
        if node as usize >= self.product.done {
            return None;
        }
        self.product.next(self.space, node, cursor)
    }
}

/// Numbers of pairs.
#[derive(Debug)]
pub enum Numbers {
    /// Entry `node * width + at` is the number plus one.
    Table {
        width: usize,
        table: Vec<u32>,
    },
    Map(FxHashMap<(Node, u32), u32>),
}

impl Numbers {
    /// For automata of so many states.
    pub fn new(width: usize) -> Self {
        match width {
            0..=WIDTH_MAX => Numbers::Table { width, table: Vec::new() },
            _ => Numbers::Map(FxHashMap::default()),
        }
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        match self {
            Numbers::Table { table, .. } => 4 * table.capacity(),
            Numbers::Map(map) => 16 * map.capacity(),
        }
    }

    /// The number of a pair; a pair that has none gets `fresh`.
    pub fn get_or_insert(&mut self, node: Node, at: u32, fresh: u32) -> u32 {
        if let Numbers::Table { width, table } = self {
            let place = node as usize * *width + at as usize;
            if place >= TABLE_MAX {
                let mut map = FxHashMap::default();
                for (place, &number) in table.iter().enumerate().filter(|(_, number)| **number != 0) {
                    map.insert(((place / *width) as u32, (place % *width) as u32), number - 1);
                }
                *self = Numbers::Map(map);
            } else {
                if place >= table.len() {
                    table.resize((place + 1).max(table.len() * 3 / 2), 0);
                }
                if table[place] == 0 {
                    table[place] = fresh + 1;
                }
                return table[place] - 1;
            }
        }
        match self {
            Numbers::Map(map) => *map.entry((node, at)).or_insert(fresh),
            Numbers::Table { .. } => unreachable!("replaced above"),
        }
    }
}
