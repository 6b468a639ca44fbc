//! The product of the state graph and an automaton: pairs of a state and where the automaton is
//! before it reads the state.
//!
//! Pairs get numbers when they are met, so whoever walks through few of them pays for few. What can be
//! reached at all is found out by [`super::reached`], without numbers.

use super::fairness::FairTable;
use super::limits::{Limits, enlarged, map_bytes};
use super::reached::Reached;
use super::scc::{Arc, Graph, Marks};
use super::space::{Node, Space, Wanted};
use crate::graph::Stop;
use crate::logic::Automaton;
use rustc_hash::FxHashMap;

/// Entries of the direct table from pairs to numbers; larger products use a hash table.
const TABLE_MAX: usize = 1 << 30;
/// Automaton states up to which there is a table; most of its entries are empty beyond.
const WIDTH_MAX: usize = 8;

/// An automaton, and which runs count.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    pub automaton: &'a Automaton,
    pub fair: &'a FairTable,
}

impl Question<'_> {
    /// Marks that every accepted fair run meets infinitely often.
    pub fn required(&self) -> Marks {
        Marks::from(self.automaton.all_marks()) | self.fair.weak()
    }

    /// The strong fairness conditions that a state enables.
    pub fn enabled_strong(&self, space: &Space, node: Node) -> Marks {
        self.fair.enabled(space.edge_rules(node)) & self.fair.strong()
    }

    /// Whether the automaton can read these propositions.
    pub fn reads(&self, at: u32, props: u64) -> bool {
        self.automaton.edges[at as usize].iter().any(|edge| edge.label.allows(props))
    }
}

/// Pairs with numbers.
pub struct Product<'a> {
    question: Question<'a>,
    /// (state, automaton state) by number, unless that can be told from the number.
    pairs: Vec<(Node, u32)>,
    numbers: Numbers,
    /// The automaton states of its pairs, each with its place among them.
    columns: Vec<Option<u32>>,
}

impl<'a> Product<'a> {
    /// With all automaton states.
    pub fn new(question: Question<'a>) -> Self {
        Product::with(question, |_| true)
    }

    /// With some automaton states.
    pub fn with(question: Question<'a>, test: impl Fn(usize) -> bool) -> Self {
        let mut count = 0..;
        let column = |at| if test(at) { count.next() } else { None };
        let columns: Vec<Option<u32>> = (0..question.automaton.edges.len()).map(column).collect();
        let width = columns.iter().flatten().count();
        Product { question, pairs: Vec::new(), numbers: Numbers::new(width), columns }
    }

    /// With some automaton states, for pairs of states below a number most of which will be met: these have
    /// the same numbers in any order, and take no memory, if there are not too many.
    fn dense(question: Question<'a>, nodes: usize, test: impl Fn(usize) -> bool) -> Self {
        let states: Vec<u32> =
            (0..question.automaton.edges.len()).filter(|&at| test(at)).map(|at| at as u32).collect();
        let is_dense = (1..=WIDTH_MAX).contains(&states.len()) && nodes * states.len() < u32::MAX as usize;
        let product = Product::with(question, test);
        if is_dense { Product { numbers: Numbers::Dense(states), ..product } } else { product }
    }

    /// How many pairs were met, if they are counted.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Bytes of the tables.
    pub fn memory(&self) -> usize {
        let numbers = match &self.numbers {
            Numbers::Dense(_) => 0,
            Numbers::Table { table, .. } => size_of_val(&table[..]),
            Numbers::Map(map) => map_bytes::<((Node, u32), u32)>(map.len(), map.capacity()),
        };
        size_of_val(&self.pairs[..]) + numbers
    }

    /// The pairs where runs from a state start.
    pub fn starts(&mut self, root: Node) -> Vec<u32> {
        let initial = &self.question.automaton.initial;
        initial.iter().map(|&start| self.number(root, start)).collect()
    }

    /// State and automaton state of a pair.
    #[inline]
    pub fn pair(&self, number: u32) -> (Node, u32) {
        match &self.numbers {
            Numbers::Dense(states) => {
                let width = states.len() as u32;
                (number / width, states[(number % width) as usize])
            }
            _ => self.pairs[number as usize],
        }
    }

    /// The number of a pair with one of its automaton states.
    pub fn number(&mut self, node: Node, at: u32) -> u32 {
        let fresh = self.pairs.len() as u32;
        let column = self.columns[at as usize].expect("one of its states");
        if let Numbers::Dense(states) = &self.numbers {
            return node * states.len() as u32 + column;
        }
        let number = self.numbers.get_or_insert(node, column, fresh);
        if number == fresh {
            self.pairs.push((node, at));
        }
        number
    }

    /// Whether a pair's state is still to be expanded.
    pub fn needs_expansion(&self, space: &Space, number: u32) -> bool {
        let node = self.pair(number).0;
        !space.is_expanded(node) || space.props(node).is_none()
    }

    /// Expands the state of one pair, if the automaton can read it.
    pub fn expand_one(&self, space: &mut Space, number: u32, limits: &Limits) -> Result<(), Stop> {
        let (node, at) = self.pair(number);
        let question = self.question;
        space.expand(&[Wanted { node, tag: 0 }], &|_, props| question.reads(at, props), limits)
    }

    /// The next edge of a pair whose state is expanded, if it leads to a pair that passes the test.
    /// `at` of an arc is the place of the transition among those of the state.
    #[inline]
    pub fn next(
        &mut self,
        space: &Space,
        number: u32,
        cursor: &mut (u32, u32),
        test: impl Fn(Node, u32) -> bool,
    ) -> Option<Arc> {
        let Question { automaton, fair } = self.question;
        let (node, at) = self.pair(number);
        let props = space.props(node)?;
        let targets = space.targets(node);
        loop {
            let edge = automaton.edges[at as usize].get(cursor.0 as usize)?;
            if !edge.label.allows(props) {
                *cursor = (cursor.0 + 1, 0);
                continue;
            }
            let Some(target) = targets.get(cursor.1 as usize) else {
                *cursor = (cursor.0 + 1, 0);
                continue;
            };
            cursor.1 += 1;
            if !test(target, edge.to) {
                continue;
            }
            let mut marks = Marks::from(edge.marks);
            if !fair.is_none() {
                let rules = space.edge_rules(node);
                marks |= fair.marks(rules[cursor.1 as usize - 1], fair.enabled(rules));
            }
            return Some(Arc { to: self.number(target, edge.to), marks, at: cursor.1 - 1 });
        }
    }
}

/// The product as a graph, as far as states have been expanded.
pub struct Expanded<'p, 'a, 's> {
    pub product: &'p mut Product<'a>,
    pub space: &'p Space<'s>,
}

impl Graph for Expanded<'_, '_, '_> {
    type Cursor = (u32, u32);

    fn arc(&mut self, node: u32, cursor: &mut (u32, u32)) -> Option<Arc> {
        self.product.next(self.space, node, cursor, |_, _| true)
    }
}

/// What has been reached of the automaton's accepting components, without ways between them: all
/// accepted runs end there.
pub struct Core<'p, 'a, 's> {
    pub product: Product<'a>,
    pub space: &'p Space<'s>,
    reached: &'p Reached,
    components: Vec<u32>,
    limits: &'p Limits,
}

impl<'p, 'a, 's> Core<'p, 'a, 's> {
    pub fn new(
        question: Question<'a>,
        reached: &'p Reached,
        space: &'p Space<'s>,
        limits: &'p Limits,
    ) -> Self {
        let (components, count) = question.automaton.components();
        let accepting = question.automaton.accepting(&components, count);
        let product = Product::dense(question, space.len(), |at| accepting[components[at] as usize]);
        Core { product, space, reached, components, limits }
    }

    /// Bytes of a walk's numbers for each state, if the pairs have theirs without a table.
    pub fn bytes_of_state(automaton: &Automaton) -> usize {
        let (components, count) = automaton.components();
        let accepting = automaton.accepting(&components, count);
        let width = components.iter().filter(|&&component| accepting[component as usize]).count();
        if width <= WIDTH_MAX { size_of::<u32>() * width } else { 0 }
    }

    /// All pairs.
    pub fn pairs(&mut self) -> Box<dyn Iterator<Item = u32> + 'p> {
        let Core { product, reached, space, .. } = self;
        let reached = *reached;
        if let Numbers::Dense(states) = &product.numbers {
            let (states, width) = (states.clone(), states.len() as u32);
            let is_reached =
                move |number: &u32| reached.has(number / width, states[(number % width) as usize]);
            return Box::new((0..space.len() as u32 * width).filter(is_reached));
        }
        let mut numbers = Vec::new();
        reached.each(|node, at| {
            if product.columns[at as usize].is_some() {
                numbers.push(product.number(node, at));
            }
        });
        Box::new(numbers.into_iter())
    }
}

impl Graph for Core<'_, '_, '_> {
    type Cursor = (u32, u32);

    fn bound(&self) -> usize {
        match &self.product.numbers {
            Numbers::Dense(states) => self.space.len() * states.len(),
            _ => 0,
        }
    }

    fn arc(&mut self, node: u32, cursor: &mut (u32, u32)) -> Option<Arc> {
        let Core { product, space, reached, components, .. } = self;
        let component = components[product.pair(node).1 as usize];
        let inside = |node, at: u32| components[at as usize] == component && reached.has(node, at);
        product.next(space, node, cursor, inside)
    }

    fn room(&mut self, bytes: usize) -> Result<(), Stop> {
        self.limits.check_memory(self.space.memory() + self.product.memory() + bytes)
    }
}

/// Numbers of pairs.
#[derive(Debug)]
enum Numbers {
    /// The number is that of the state, times the number of these automaton states, plus the place of one.
    Dense(Vec<u32>),
    /// Entry `node * width + at` is the number plus one.
    Table {
        width: usize,
        table: Vec<u32>,
    },
    Map(FxHashMap<(Node, u32), u32>),
}

impl Numbers {
    /// For automata of so many states.
    fn new(width: usize) -> Self {
        match width {
            0..=WIDTH_MAX => Numbers::Table { width, table: Vec::new() },
            _ => Numbers::Map(FxHashMap::default()),
        }
    }

    /// The number of a pair; a pair that has none gets `fresh`.
    fn get_or_insert(&mut self, node: Node, at: u32, fresh: u32) -> u32 {
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
                    table.resize((place + 1).max(enlarged(table.len())), 0);
                }
                if table[place] == 0 {
                    table[place] = fresh + 1;
                }
                return table[place] - 1;
            }
        }
        match self {
            Numbers::Map(map) => *map.entry((node, at)).or_insert(fresh),
            _ => unreachable!("replaced above, or never asked"),
        }
    }
}
