//! From a filled chart to trees: one reading is chosen, and another is kept if there is one.

use num_bigint::BigUint;

use super::chart::{Chart, How, Item, NONE, Phrase};
use super::grammar::{Meaning, Nt};
use super::leaf::sort_at;
use crate::base::Span;
use crate::sorts::{Node, Tree};

/// Where two readings part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fork {
    Phrase(u32),
    Item(u32),
}

/// A place with another reading, and the number of that reading.
pub(super) type Choice = (Fork, usize);

/// A phrase with its production and parts.
pub(super) struct Parts {
    pub meaning: Meaning,
    pub phrases: Vec<u32>,
}

/// Reads results out of a chart. `forced` is taken where it occurs, elsewhere the first reading.
pub(super) struct Builder<'c, 'a> {
    pub chart: &'c mut Chart<'a>,
    pub forced: Option<Choice>,
    /// Places passed that have further readings.
    pub forks: Vec<Choice>,
}

const FORKS_MAX: usize = 8;

enum Task {
    Phrase(u32),
    Finish { meaning: Meaning, args: u32, span: Span, last: u32 },
}

impl<'c, 'a> Builder<'c, 'a> {
    pub fn new(chart: &'c mut Chart<'a>, forced: Option<Choice>) -> Self {
        Builder { chart, forced, forks: Vec::new() }
    }

    pub fn span(&self, phrase: u32) -> Span {
        let Phrase { start, end, .. } = self.chart.phrases[phrase as usize];
        self.chart.tokens[start as usize].span.to(self.chart.tokens[end as usize - 1].span)
    }

    /// The tree of the term that a command wanted.
    pub fn goal(&mut self, root: u32) -> Tree {
        let term = self.parts(root).phrases[0];
        self.tree(term)
    }

    /// The tree of a phrase that is a term.
    pub fn tree(&mut self, root: u32) -> Tree {
        let mut tree = Tree::default();
        let mut tasks = vec![Task::Phrase(root)];
        while let Some(task) = tasks.pop() {
            match task {
                Task::Phrase(phrase) => match self.way(phrase) {
                    How::Leaf(leaf) => {
                        let span = self.span(phrase);
                        self.chart.leaves.list[leaf as usize].emit(self.chart.sig, span, &mut tree);
                    }
                    How::Paren(inner) => tasks.push(Task::Phrase(inner)),
                    How::Item(item) => {
                        let parts = self.parts_of(item);
                        let last = parts.phrases.last().copied().unwrap_or(NONE);
                        let args = parts.phrases.len() as u32;
                        let span = self.span(phrase);
                        tasks.push(Task::Finish { meaning: parts.meaning, args, span, last });
                        tasks.extend(parts.phrases.iter().rev().map(|&p| Task::Phrase(p)));
                    }
                    How::Chain(_) => unreachable!("chains are unrolled"),
                },
                Task::Finish { meaning, args, span, last } => {
                    self.finish(meaning, args, span, last, &mut tree)
                }
            }
        }
        tree
    }

    fn finish(&self, meaning: Meaning, args: u32, span: Span, last: u32, tree: &mut Tree) {
        let node = match meaning {
            Meaning::Op(op) if args == 1 && self.chart.sig.op(op).axioms.iter => {
                Node::Iter { op, count: BigUint::from(1u32) }
            }
            Meaning::Op(op) => Node::App { op, arity: args },
            Meaning::Iter(op) => {
                // The count stands in the token before the parenthesis.
                let argument = &self.chart.phrases[last as usize];
                let text = self.chart.tokens[argument.start as usize - 2].name.as_str();
                let digits = text.rsplit('^').next().unwrap_or("1");
                Node::Iter { op, count: digits.parse().unwrap_or_else(|_| BigUint::from(1u32)) }
            }
            Meaning::SortTest => {
                let position = self.chart.phrases[last as usize].end as usize + 1;
                let sort =
                    sort_at(self.chart.sig, self.chart.tokens, position).expect("the chart read this sort").0;
                let op = self.chart.grammar.sort_tests[&sort];
                Node::App { op, arity: 1 }
            }
            _ => unreachable!("statements are not terms"),
        };
        tree.push(node, span);
    }

    /// The production and the parts of a phrase that is not a leaf, through parentheses.
    pub fn parts(&mut self, phrase: u32) -> Parts {
        match self.way(phrase) {
            How::Item(item) => self.parts_of(item),
            _ => unreachable!("statement phrases are made by productions"),
        }
    }

    fn parts_of(&mut self, item: u32) -> Parts {
        let production = self.chart.items[item as usize].production;
        let meaning = self.chart.grammar.productions[production as usize].meaning;
        let mut phrases = Vec::new();
        let mut at = item;
        loop {
            let (previous, child) = self.link(at);
            if child != NONE {
                phrases.push(child);
            }
            if previous == NONE {
                break;
            }
            at = previous;
        }
        phrases.reverse();
        Parts { meaning, phrases }
    }

    fn pick(&mut self, fork: Fork, count: usize) -> usize {
        match self.forced {
            Some((at, index)) if at == fork => index.min(count - 1),
            _ => {
                if count > 1 && self.forks.len() < FORKS_MAX && !self.forks.iter().any(|f| f.0 == fork) {
                    self.forks.push((fork, 1));
                }
                0
            }
        }
    }

    fn way(&mut self, phrase: u32) -> How {
        let Phrase { how, other, .. } = self.chart.phrases[phrase as usize];
        let mut chosen = how;
        if other != NONE {
            let mut ways = vec![];
            let mut next = other;
            while next != NONE {
                let (way, rest) = self.chart.other_ways[next as usize];
                ways.push(way);
                next = rest;
            }
            ways.push(how);
            ways.reverse();
            // Of the readings of a condition, these are the ones that Maude takes.
            if let Some(at) = ways.iter().position(|&way| self.is_preferred(way)) {
                ways.swap(0, at);
            }
            chosen = ways[self.pick(Fork::Phrase(phrase), ways.len())];
        }
        match chosen {
            How::Chain(base) => How::Item(self.unroll(base, phrase)),
            other => other,
        }
    }

    /// Where a fragment `t = t'` is also a term of kind Bool, the term; where `c /\ d` is also
    /// one fragment, the two.
    fn is_preferred(&self, way: How) -> bool {
        let How::Item(item) = way else { return false };
        let production = self.chart.items[item as usize].production;
        let production = &self.chart.grammar.productions[production as usize];
        match production.meaning {
            Meaning::Bool => true,
            Meaning::Fragments => production.len > 1,
            _ => false,
        }
    }

    fn link(&mut self, item: u32) -> (u32, u32) {
        let Item { previous, child, other, .. } = self.chart.items[item as usize];
        if other == NONE {
            return (previous, child);
        }
        let mut links = vec![];
        let mut next = other;
        while next != NONE {
            let (previous, child, rest) = self.chart.other_links[next as usize];
            links.push((previous, child));
            next = rest;
        }
        links.push((previous, child));
        links.reverse();
        links[self.pick(Fork::Item(item), links.len())]
    }

    /// Makes the items and phrases that were jumped over between `base` and `top`; gives the
    /// item that makes `top`.
    fn unroll(&mut self, base: u32, top: u32) -> u32 {
        let Phrase { nt, prec, start, end, .. } = self.chart.phrases[top as usize];
        let goal: (u32, Nt, u8) = (start, nt, prec);
        let mut below = base;
        loop {
            let Phrase { nt, prec, start, .. } = self.chart.phrases[below as usize];
            let (waiter, made) =
                self.chart.only_waiter(start, nt, prec).expect("chains follow single waiters");
            let Item { production, origin, .. } = self.chart.items[waiter.item as usize];
            let item = self.chart.items.len() as u32;
            self.chart.items.push(Item {
                production,
                origin,
                previous: waiter.item,
                child: below,
                other: NONE,
            });
            if made == goal {
                return item;
            }
            below = self.chart.phrases.len() as u32;
            let (start, nt, prec) = made;
            self.chart.phrases.push(Phrase { nt, prec, start, end, how: How::Item(item), other: NONE });
        }
    }
}
