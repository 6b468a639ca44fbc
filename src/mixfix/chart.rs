//! The chart parser: left-corner Earley parsing over token positions.
//!
//! Earley's algorithm (CACM 1970) with three changes. Productions are entered by their first
//! token, or by a finished phrase and the token after it, so nothing is predicted that the next
//! token rules out. Whether a production is wanted at its place is a table look-up (its kind and
//! precedence against the closure of what is awaited there). And right recursion is linear
//! by Leo's method (TCS 1991): where exactly one item awaits a phrase, as its last symbol, the
//! chain of phrases that finish together is jumped over and only rebuilt if it is in the result.
//!
//! Nothing here recurses on the depth of terms.

use rustc_hash::FxHashMap;

use super::grammar::{Cache, Extra, Grammar, Meaning, Nt, Symbol};
use super::leaf::{Leaf, Leaves, is_open, sort_at};
use crate::sorts::Signature;
use crate::syntax::tree::Token;

pub(super) const NONE: u32 = u32::MAX;

/// A phrase that was found: `tokens[start..end]` is a `nt`, by a production of this precedence.
#[derive(Clone, Debug)]
pub(super) struct Phrase {
    pub nt: Nt,
    pub prec: u8,
    pub start: u32,
    pub end: u32,
    pub how: How,
    /// The next other way to get the same phrase, an index into `Chart::other_ways`.
    pub other: u32,
}

/// How a phrase came about.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum How {
    /// A leaf by its number in `Chart::leaves`.
    Leaf(u32),
    /// The last item of a production.
    Item(u32),
    /// Another phrase in parentheses.
    Paren(u32),
    /// The chain that begins with the item that awaited this phrase.
    Chain(u32),
}

/// A production up to and with its last finished phrase.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub production: u32,
    pub origin: u32,
    /// The item before the last phrase, or `NONE`.
    pub previous: u32,
    /// The last phrase, or `NONE` in an item that has only seen tokens.
    pub child: u32,
    /// Other ways to get the same item, an index into `Chart::other_links`.
    pub other: u32,
}

/// An item that awaits a phrase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    pub nt: Nt,
    pub bound: u8,
    pub item: u32,
    /// Symbols done; the awaited phrase is the next one.
    pub dot: u32,
}

/// What arrives at a later position.
#[derive(Clone, Copy, Debug)]
enum Arrival {
    /// An item of which so many symbols are done.
    Item {
        item: u32,
        dot: u32,
    },
    Leaf {
        nt: Nt,
        leaf: u32,
        start: u32,
    },
    Paren {
        inner: u32,
        start: u32,
    },
}

/// Where the chain of phrases that finish together ends.
#[derive(Clone, Copy, Debug)]
struct Top {
    start: u32,
    nt: Nt,
    prec: u8,
    /// The set of `(nt, prec)` jumped over, an index into `Chart::skipped_sets`.
    skipped: u32,
    /// Could a phrase on the way have begun a production?
    is_late: bool,
    /// How many phrases are jumped over, the first one included.
    steps: u32,
}

impl Top {
    fn new((start, nt, prec): (u32, Nt, u8), is_late: bool) -> Top {
        Top { start, nt, prec, skipped: 0, is_late, steps: 1 }
    }
}

pub(super) struct Chart<'a> {
    pub grammar: &'a Grammar,
    pub sig: &'a Signature,
    pub tokens: &'a [Token],
    /// Token numbers in the grammar, `NONE` for those not in it.
    numbers: Vec<u32>,
    pub leaves: Leaves,
    /// Can a term begin here?
    begins: Vec<bool>,
    pub phrases: Vec<Phrase>,
    pub other_ways: Vec<(How, u32)>,
    pub items: Vec<Item>,
    pub other_links: Vec<(u32, u32, u32)>,
    pub waiters: Vec<Vec<Waiter>>,
    /// Was the token before this position a parenthesis that may enclose a term?
    parens: Vec<bool>,
    /// Where the parentheses begin that stand between a position and what is awaited.
    outer: Vec<u32>,
    /// The set of wanted nonterminals at each position, `NONE` where nothing is.
    wanted: Vec<u32>,
    arrivals: Vec<Vec<Arrival>>,
    /// The phrases that end at each position: the first one's number.
    ends: Vec<u32>,
    tops: FxHashMap<(u32, Nt, u8), Option<Top>>,
    skipped_sets: Vec<Vec<(Nt, u8)>>,
    /// Ends of chains that are found after all other phrases of the position, with how.
    late: Vec<(Top, How)>,
    /// Items and phrases made at the current position, to find them again.
    item_marks: Marks<(u32, u32, u32)>,
    phrase_marks: Marks<(Nt, u8, u32)>,
    /// The last position that anything reached.
    pub reached: u32,
    /// In a second run after a failure: tokens that could come at a position.
    pub expected: Option<Vec<(u32, u32, Symbol)>>,
}

/// A small map that is emptied at each position.
struct Marks<K> {
    list: Vec<(K, u32)>,
    map: FxHashMap<K, u32>,
}

impl<K: Copy + Eq + std::hash::Hash> Marks<K> {
    const SMALL: usize = 24;

    fn new() -> Self {
        Marks { list: Vec::new(), map: FxHashMap::default() }
    }

    fn clear(&mut self) {
        if self.list.len() > Self::SMALL {
            self.map = FxHashMap::default();
        }
        self.list.clear();
    }

    fn get(&self, key: K) -> Option<u32> {
        if self.list.len() <= Self::SMALL {
            self.list.iter().find(|(k, _)| *k == key).map(|&(_, v)| v)
        } else {
            self.map.get(&key).copied()
        }
    }

    fn insert(&mut self, key: K, value: u32) {
        self.list.push((key, value));
        if self.list.len() == Self::SMALL + 1 {
            self.map.extend(self.list.iter().copied());
        } else if self.list.len() > Self::SMALL {
            self.map.insert(key, value);
        }
    }
}

impl<'a> Chart<'a> {
    pub fn new(grammar: &'a Grammar, sig: &'a Signature, leaves: Leaves, tokens: &'a [Token]) -> Chart<'a> {
        let n = tokens.len();
        let numbers: Vec<u32> =
            tokens.iter().map(|t| grammar.tokens.get(&t.name).copied().unwrap_or(NONE)).collect();
        let begins = (0..n)
            .map(|i| {
                is_open(tokens[i].name)
                    || !leaves.at(i).is_empty()
                    || numbers[i] != NONE && !grammar.first[numbers[i] as usize].is_empty()
            })
            .collect();
        Chart {
            grammar,
            sig,
            tokens,
            numbers,
            leaves,
            begins,
            phrases: Vec::new(),
            other_ways: Vec::new(),
            items: Vec::new(),
            other_links: Vec::new(),
            waiters: vec![Vec::new(); n + 1],
            parens: vec![false; n + 2],
            outer: (0..=n as u32).collect(),
            wanted: vec![NONE; n + 1],
            arrivals: vec![Vec::new(); n + 1],
            ends: vec![0; n + 2],
            tops: FxHashMap::default(),
            skipped_sets: vec![Vec::new()],
            late: Vec::new(),
            item_marks: Marks::new(),
            phrase_marks: Marks::new(),
            reached: 0,
            expected: None,
        }
    }

    /// Fills the chart; `goals` are what the whole is to be: kinds, or something else. Gives the phrase that
    /// covers all tokens, an [`Extra::Goal`] for kinds.
    pub fn run(&mut self, cache: &mut Cache, goals: &[Nt]) -> Option<u32> {
        let n = self.tokens.len();
        let mut goal = goals.first().copied()?;
        if goal < self.grammar.kinds {
            goal = self.grammar.extra(Extra::Goal);
            for &nt in goals {
                let item = self.new_item(self.grammar.goals + nt, 0);
                self.waiters[0].push(Waiter { nt, bound: super::form::ANY, item, dot: 0 });
            }
        }
        for position in 0..=n {
            self.item_marks.clear();
            self.phrase_marks.clear();
            self.ends[position] = self.phrases.len() as u32;
            let arrivals = std::mem::take(&mut self.arrivals[position]);
            if !arrivals.is_empty() {
                self.reached = position as u32;
            }
            for arrival in arrivals {
                match arrival {
                    Arrival::Item { item, dot } => self.step(item, dot, position),
                    Arrival::Leaf { nt, leaf, start } => {
                        self.found(nt, 0, start, position, How::Leaf(leaf));
                    }
                    Arrival::Paren { inner, start } => {
                        let nt = self.phrases[inner as usize].nt;
                        self.found(nt, 0, start, position, How::Paren(inner));
                    }
                }
            }
            // `found` appends to `phrases`; each is completed once, in order.
            let mut next = self.ends[position];
            loop {
                while (next as usize) < self.phrases.len() {
                    self.complete(cache, next, position);
                    next += 1;
                }
                if self.late.is_empty() {
                    break;
                }
                for (top, how) in std::mem::take(&mut self.late) {
                    self.found(top.nt, top.prec, top.start, position, how);
                }
            }
            self.scan(cache, position, if position == 0 { Some(goal) } else { None });
        }
        self.ends[n + 1] = self.phrases.len() as u32;
        self.ending_at(n).find(|&p| {
            let phrase = &self.phrases[p as usize];
            phrase.start == 0 && phrase.nt == goal
        })
    }

    /// The phrases that end at a position.
    pub fn ending_at(&self, position: usize) -> std::ops::Range<u32> {
        self.ends[position]..self.ends[position + 1]
    }

    fn allows(&self, cache: &Cache, position: u32, nt: Nt, prec: u8) -> bool {
        let set = self.wanted[position as usize];
        set != NONE && cache.wanted[set as usize][nt as usize] > prec
    }

    /// Goes on with an item after its first `dot` symbols.
    fn step(&mut self, item: u32, dot: u32, position: usize) {
        let Item { production, origin, .. } = self.items[item as usize];
        let rhs = self.grammar.rhs(production);
        let p = &self.grammar.productions[production as usize];
        let Some(&symbol) = rhs.get(dot as usize) else {
            self.found(p.nt, p.prec, origin, position, How::Item(item));
            return;
        };
        if let Some(expected) = &mut self.expected {
            expected.push((position as u32, production, symbol));
            if p.repeats && dot + 1 == p.len {
                expected.push((position as u32, production, rhs[3]));
            }
        }
        if position == self.tokens.len() {
            return;
        }
        match symbol {
            Symbol::Token(token) => {
                let number = self.numbers[position];
                if number == token {
                    self.arrivals[position + 1].push(Arrival::Item { item, dot: dot + 1 });
                } else if p.repeats && dot + 1 == p.len && Symbol::Token(number) == rhs[3] {
                    self.arrivals[position + 1].push(Arrival::Item { item, dot: dot - 1 });
                }
            }
            Symbol::Phrase { nt, bound } => {
                if self.begins[position] {
                    self.waiters[position].push(Waiter { nt, bound, item, dot });
                }
            }
            Symbol::Sort(kind) => {
                if let Some((sort, len)) = sort_at(self.sig, self.tokens, position)
                    && self.sig.sorts.kind_of(sort) == kind
                    && (p.meaning != Meaning::SortTest || self.grammar.sort_tests.contains_key(&sort))
                {
                    self.arrivals[position + len].push(Arrival::Item { item, dot: dot + 1 });
                }
            }
        }
    }

    /// Notes a phrase that ends here, or one more way to get it. Gives its number if it is new.
    fn found(&mut self, nt: Nt, prec: u8, start: u32, end: usize, how: How) {
        if let Some(old) = self.phrase_marks.get((nt, prec, start)) {
            let first = &self.phrases[old as usize];
            if first.how != how {
                self.other_ways.push((how, first.other));
                self.phrases[old as usize].other = self.other_ways.len() as u32 - 1;
            }
            return;
        }
        let number = self.phrases.len() as u32;
        self.phrase_marks.insert((nt, prec, start), number);
        self.phrases.push(Phrase { nt, prec, start, end: end as u32, how, other: NONE });
    }

    /// Makes the item, or notes another way to get it. Gives its number if it is new.
    fn item(&mut self, production: u32, dot: u32, origin: u32, previous: u32, child: u32) -> Option<u32> {
        if let Some(old) = self.item_marks.get((production, dot, origin)) {
            let first = &self.items[old as usize];
            if (first.previous, first.child) != (previous, child) {
                self.other_links.push((previous, child, first.other));
                self.items[old as usize].other = self.other_links.len() as u32 - 1;
            }
            return None;
        }
        let number = self.items.len() as u32;
        self.item_marks.insert((production, dot, origin), number);
        self.items.push(Item { production, origin, previous, child, other: NONE });
        Some(number)
    }

    /// A phrase ends here: who awaited it, and what may begin with it?
    fn complete(&mut self, cache: &mut Cache, phrase: u32, position: usize) {
        let Phrase { nt, prec, start, .. } = self.phrases[phrase as usize];
        let grammar = self.grammar;
        // Parentheses around it.
        let n = self.tokens.len();
        if self.parens[start as usize] && nt < grammar.kinds && self.allows(cache, start - 1, nt, 0) {
            if position < n && self.tokens[position].name == self.leaves.close {
                let paren = Arrival::Paren { inner: phrase, start: start - 1 };
                self.arrivals[position + 1].push(paren);
                if position + 1 < n
                    && let Some((sort, len)) = self.leaves.qualifier(self.sig, self.tokens, position + 1)
                    && self.sig.sorts.kind_of(sort).0 == nt
                {
                    self.arrivals[position + 1 + len].push(paren);
                }
            }
            if let Some(expected) = &mut self.expected {
                expected.push((position as u32, NONE, Symbol::Token(NONE)));
            }
        }
        // Items that await it. The list of an earlier position does not change any more.
        if let Some(top) = self.chain(cache, start, nt, prec, position) {
            // Of two readings the first one found is chosen.
            if top.is_late {
                self.late.push((top, How::Chain(phrase)));
            } else {
                self.found(top.nt, top.prec, top.start, position, How::Chain(phrase));
            }
        } else {
            // The latest comes first, or last if it is complete with this phrase: so it is in Maude, and it
            // decides which of several readings is chosen.
            let awaits = |waiter: &Waiter| waiter.nt == nt && waiter.bound >= prec;
            let waiters = &self.waiters[start as usize];
            if let Some(latest) = waiters.iter().rposition(awaits) {
                let comes_last = waiters[..latest].iter().any(awaits)
                    && self.is_last(&waiters[latest])
                    && !self.is_begun_before(start, nt);
                for i in (0..latest + usize::from(!comes_last)).rev() {
                    let waiter = self.waiters[start as usize][i];
                    if awaits(&waiter) {
                        self.advance(waiter, phrase, position);
                    }
                }
                if comes_last {
                    self.advance(self.waiters[start as usize][latest], phrase, position);
                }
            }
        }
        // Productions that begin with it.
        if position < n && self.numbers[position] != NONE && grammar.infix[self.numbers[position] as usize]
            || self.expected.is_some()
        {
            let number = self.numbers.get(position).copied().unwrap_or(NONE);
            let list = grammar.corner.get(&(nt, number)).map_or(&[][..], Vec::as_slice);
            self.enter_all(cache, list, phrase, position);
            if self.expected.is_some() {
                self.expect_corners(cache, nt, prec, start, position);
            }
        }
        if position < n && self.begins[position] {
            self.enter_all(cache, &grammar.adjacent[nt as usize], phrase, position);
        }
        for &production in &grammar.unit[nt as usize] {
            self.enter(cache, production, phrase, position);
        }
    }

    /// Begins productions with a phrase. Where several are wanted their results decide the order in which
    /// Maude comes to them; those that end with a phrase wait for it in that order, and the latest goes on first.
    fn enter_all(&mut self, cache: &Cache, productions: &[u32], phrase: u32, position: usize) {
        let start = self.phrases[phrase as usize].start;
        let result = |production: u32| self.grammar.productions[production as usize].nt;
        let is_wanted = |&production: &u32| self.allows(cache, start, result(production), 0);
        if productions.len() < 2 || productions.iter().filter(|&p| is_wanted(p)).nth(1).is_none() {
            for &production in productions {
                self.enter(cache, production, phrase, position);
            }
            return;
        }
        let order = self.call_order(start as usize);
        let is_open =
            |production: u32| matches!(self.grammar.rhs(production).last(), Some(Symbol::Phrase { .. }));
        let (mut sorted, closed): (Vec<u32>, Vec<u32>) = productions.iter().partition(|&&p| is_open(p));
        sorted.reverse();
        sorted.extend(closed);
        sorted.sort_by_key(|&p| order.iter().position(|&nt| nt == result(p)));
        for production in sorted {
            self.enter(cache, production, phrase, position);
        }
    }

    /// Begins a production with a phrase, if it is wanted at the phrase's start.
    fn enter(&mut self, cache: &Cache, production: u32, phrase: u32, position: usize) {
        let Phrase { prec, start, .. } = self.phrases[phrase as usize];
        let p = &self.grammar.productions[production as usize];
        let Symbol::Phrase { bound, .. } = self.grammar.rhs(production)[0] else {
            unreachable!("only productions that begin with a phrase are entered by one");
        };
        if bound >= prec
            && self.allows(cache, start, p.nt, p.prec)
            && let Some(item) = self.item(production, 1, start, NONE, phrase)
        {
            self.step(item, 1, position);
        }
    }

    fn expect_corners(&mut self, cache: &Cache, nt: Nt, prec: u8, start: u32, position: usize) {
        let grammar = self.grammar;
        let mut found: Vec<u32> = grammar
            .corner
            .iter()
            .filter(|((corner, _), _)| *corner == nt)
            .flat_map(|(_, l)| l)
            .copied()
            .collect();
        found.sort();
        for production in found {
            let p = &grammar.productions[production as usize];
            let rhs = grammar.rhs(production);
            if let Symbol::Phrase { bound, .. } = rhs[0]
                && bound >= prec
                && self.allows(cache, start, p.nt, p.prec)
                && let Some(expected) = &mut self.expected
            {
                expected.push((position as u32, production, rhs[1]));
            }
        }
        // The arrows of a search are phrases.
        for &production in &grammar.adjacent[nt as usize] {
            let p = &grammar.productions[production as usize];
            let Symbol::Phrase { nt: second, .. } = grammar.rhs(production)[1] else { continue };
            if second < grammar.kinds || !self.allows(cache, start, p.nt, p.prec) {
                continue;
            }
            let words = grammar.productions.iter().enumerate().filter(|(_, p)| p.nt == second);
            let words = words.map(|(i, _)| (position as u32, i as u32, grammar.rhs(i as u32)[0]));
            self.expected.iter_mut().for_each(|expected| expected.extend(words.clone()));
        }
    }

    /// If exactly one item awaits this phrase, as its last symbol, and so on upwards for at least
    /// two steps, and nothing on the way can begin a production: the end of that chain.
    ///
    /// Maude, too, jumps over phrases that only one item awaits; but for it those that begin with such a phrase
    /// are among these items, whatever token comes next. So here a chain ends at such a phrase, unless it is
    /// long. In statements such a phrase comes after all others that end with it.
    fn chain(&mut self, cache: &Cache, start: u32, nt: Nt, prec: u8, position: usize) -> Option<Top> {
        const LONG: u32 = 100;
        let (_, first) = self.only_waiter(start, nt, prec)?;
        if self.expected.is_some() {
            return None;
        }
        let is_statement = first.1 > self.grammar.extra(Extra::Goal);
        if is_statement && first.1 != self.grammar.extra(Extra::Match) {
            return self.may_begin(cache, start, nt, prec).then(|| Top::new(first, true));
        }
        let mut top = self.top(cache, first.0, first.1, first.2)?;
        let mut may_begin = self.may_begin(cache, start, nt, prec);
        top.is_late |= may_begin;
        if top.is_late && top.steps < LONG {
            let (mut at, mut steps) = ((start, nt, prec), 0);
            while !may_begin && let Some((_, next)) = self.only_waiter(at.0, at.1, at.2) {
                at = next;
                steps += 1;
                may_begin = self.may_begin(cache, at.0, at.1, at.2);
            }
            return (steps > 1).then(|| Top::new(at, false));
        }
        let begin = |&(nt, prec): &(Nt, u8)| self.is_corner(nt, prec, position);
        if self.skipped_sets[top.skipped as usize].iter().any(begin) {
            return None;
        }
        Some(top)
    }

    /// Can a phrase of this kind begin a production, given the next token?
    fn is_corner(&self, nt: Nt, prec: u8, position: usize) -> bool {
        let grammar = self.grammar;
        let fits = |&production: &u32| matches!(grammar.rhs(production)[0], Symbol::Phrase { bound, .. } if bound >= prec);
        if grammar.unit[nt as usize].iter().any(fits) {
            return true;
        }
        if position == self.tokens.len() {
            return false;
        }
        let number = self.numbers[position];
        // The arrows of a search are phrases, but no terms.
        let may_follow = |&production: &u32| match grammar.rhs(production)[1] {
            Symbol::Phrase { nt, .. } if nt >= grammar.kinds => {
                let is_arrow = |&first: &u32| grammar.productions[first as usize].nt == nt;
                number != NONE && grammar.first[number as usize].iter().any(is_arrow)
            }
            _ => true,
        };
        let is_adjacent = |production: &u32| fits(production) && may_follow(production);
        self.begins[position] && grammar.adjacent[nt as usize].iter().any(is_adjacent)
            || grammar.corner.get(&(nt, number)).is_some_and(|list| list.iter().any(fits))
    }

    /// The only item that awaits a phrase, if that is its last symbol, and the phrase it makes.
    pub fn only_waiter(&self, start: u32, nt: Nt, prec: u8) -> Option<(Waiter, (u32, Nt, u8))> {
        if self.parens[start as usize] && nt < self.grammar.kinds {
            return None;
        }
        let mut fitting = self.waiters[start as usize].iter().filter(|w| w.nt == nt && w.bound >= prec);
        let waiter = fitting.next()?;
        if fitting.next().is_some() {
            return None;
        }
        let item = &self.items[waiter.item as usize];
        let p = &self.grammar.productions[item.production as usize];
        (waiter.dot + 1 == p.len).then_some((*waiter, (item.origin, p.nt, p.prec)))
    }

    /// Does a production that begins with this kind come before those that await it, in Maude's order?
    fn is_begun_before(&self, start: u32, nt: Nt) -> bool {
        let waiters = &self.waiters[start as usize];
        let bound = |kind: Nt| waiters.iter().filter(|w| w.nt == kind).map(|w| w.bound).max();
        let first = waiters.iter().position(|w| w.nt == nt).unwrap_or(0);
        waiters[first..].iter().any(|w| {
            let is_new = w.nt != nt && waiters[..first].iter().all(|earlier| earlier.nt != w.nt);
            let begins = |&(prec, corner, _): &(u8, Nt, u8)| corner == nt && Some(prec) <= bound(w.nt);
            is_new && self.grammar.left[w.nt as usize].iter().any(begins)
        })
    }

    /// Does the item end with the phrase that it awaits?
    fn is_last(&self, waiter: &Waiter) -> bool {
        let item = &self.items[waiter.item as usize];
        waiter.dot + 1 == self.grammar.productions[item.production as usize].len
    }

    /// Goes on with an item that awaited a phrase.
    fn advance(&mut self, waiter: Waiter, phrase: u32, position: usize) {
        let Item { production, origin, .. } = self.items[waiter.item as usize];
        if let Some(item) = self.item(production, waiter.dot + 1, origin, waiter.item, phrase) {
            self.step(item, waiter.dot + 1, position);
        }
    }

    /// Could a phrase begin a production that is wanted at its place, whatever comes next?
    fn may_begin(&self, cache: &Cache, start: u32, nt: Nt, prec: u8) -> bool {
        let is_wanted =
            |&(made, own, bound): &(Nt, u8, u8)| bound >= prec && self.allows(cache, start, made, own);
        self.grammar.begun[nt as usize].iter().any(is_wanted)
    }

    /// The end of the chain above a phrase, if the chain has at least one step.
    fn top(&mut self, cache: &Cache, start: u32, nt: Nt, prec: u8) -> Option<Top> {
        let mut path = Vec::new();
        let mut at = (start, nt, prec);
        let mut end = loop {
            if let Some(&known) = self.tops.get(&at) {
                break known;
            }
            match self.only_waiter(at.0, at.1, at.2) {
                Some((_, next)) => {
                    path.push(at);
                    at = next;
                }
                None => {
                    self.tops.insert(at, None);
                    break None;
                }
            }
        };
        while let Some(below) = path.pop() {
            // `at` is the phrase above `below`; its own top, if any, is `end`.
            let (top, above) = match end {
                Some(top) => (top, top.skipped),
                None => (Top::new(at, false), 0),
            };
            let skipped = self.with_skipped(above, (below.1, below.2));
            let is_late = top.is_late || self.may_begin(cache, below.0, below.1, below.2);
            end = Some(Top { skipped, is_late, steps: top.steps + 1, ..top });
            self.tops.insert(below, end);
            at = below;
        }
        end
    }

    fn with_skipped(&mut self, set: u32, element: (Nt, u8)) -> u32 {
        if self.skipped_sets[set as usize].contains(&element) {
            return set;
        }
        let mut larger = self.skipped_sets[set as usize].clone();
        larger.push(element);
        larger.sort();
        let found = self.skipped_sets.iter().position(|s| *s == larger);
        found.unwrap_or_else(|| {
            self.skipped_sets.push(larger);
            self.skipped_sets.len() - 1
        }) as u32
    }

    /// Starts what can begin with the token here.
    fn scan(&mut self, cache: &mut Cache, position: usize, goal: Option<Nt>) {
        let n = self.tokens.len();
        let mut base: Vec<(u32, u8)> = goal.iter().map(|&nt| (nt, super::form::ANY)).collect();
        for waiter in &self.waiters[position] {
            match base.iter_mut().find(|(nt, _)| *nt == waiter.nt) {
                Some(entry) => entry.1 = entry.1.max(waiter.bound),
                None => base.push((waiter.nt, waiter.bound)),
            }
        }
        if self.parens[position] {
            if self.waiters[position].is_empty() {
                self.outer[position] = self.outer[position - 1];
            }
            base.push((NONE - self.wanted[position - 1], 0));
        }
        if base.is_empty() {
            return;
        }
        base.sort_unstable();
        self.wanted[position] = self.grammar.wanted(cache, &base);
        if position == n {
            return;
        }
        let grammar = self.grammar;
        let set = &cache.wanted[self.wanted[position] as usize];
        if is_open(self.tokens[position].name) && set[..grammar.kinds as usize].iter().any(|&b| b > 0) {
            self.parens[position + 1] = true;
            self.reached = self.reached.max(position as u32 + 1);
        }
        let start = position as u32;
        let mut made: Vec<(Nt, usize, Arrival)> = Vec::new();
        for i in 0..self.leaves.at(position).len() {
            let (nt, leaf, len) = self.leaves.at(position)[i];
            if set[nt as usize] == 0 {
                continue;
            }
            match &self.leaves.list[leaf as usize] {
                Leaf::Iter { production } => {
                    let production = *production;
                    if position + 1 < n && is_open(self.tokens[position + 1].name) {
                        let item = self.new_item(production, start);
                        made.push((nt, position + 2, Arrival::Item { item, dot: 2 }));
                    }
                }
                _ => made.push((nt, position + len as usize, Arrival::Leaf { nt, leaf, start })),
            }
        }
        let productions: &[u32] = match self.numbers[position] {
            NONE => &[],
            number => &grammar.first[number as usize],
        };
        // What was declared first is read first.
        for &production in productions.iter().rev() {
            let p = &grammar.productions[production as usize];
            if set[p.nt as usize] <= p.prec {
                continue;
            }
            let rhs = grammar.rhs(production);
            let mut dot = 1;
            while let Some(&Symbol::Token(token)) = rhs.get(dot) {
                if position + dot >= n || self.numbers[position + dot] != token {
                    break;
                }
                dot += 1;
            }
            if let Some(&symbol @ Symbol::Token(_)) = rhs.get(dot) {
                // Stopped at a token that is not there; the longest such attempt matters for messages.
                if position + dot <= n {
                    self.reached = self.reached.max((position + dot) as u32);
                    if let Some(expected) = &mut self.expected {
                        expected.push(((position + dot) as u32, production, symbol));
                    }
                }
                continue;
            }
            let item = self.new_item(production, start);
            made.push((p.nt, position + dot, Arrival::Item { item, dot: dot as u32 }));
        }
        if made.iter().any(|m| m.0 != made[0].0) {
            // Constants come before variables and literals that look the same.
            let order = self.call_order(position);
            let is_leaf = |arrival: &Arrival| matches!(arrival, Arrival::Leaf { .. });
            made.sort_by_key(|m| (is_leaf(&m.2), order.iter().position(|&nt| nt == m.0)));
        }
        for (_, end, arrival) in made {
            self.arrivals[end].push(arrival);
        }
    }

    /// The order in which kinds are tried at a position where several fit; Maude's, as far as
    /// experiments show: what came to be awaited last comes first, the rest from the last kind down,
    /// and each parenthesis turns the order round.
    fn call_order(&self, position: usize) -> Vec<Nt> {
        let at = self.outer[position] as usize;
        let mut order: Vec<Nt> = Vec::new();
        for waiter in &self.waiters[at] {
            if !order.contains(&waiter.nt) {
                order.push(waiter.nt);
            }
        }
        order.reverse();
        for kind in (0..self.grammar.kinds).rev() {
            if !order.contains(&kind) {
                order.push(kind);
            }
        }
        if (position - at) % 2 == 1 {
            order.reverse();
        }
        order
    }

    fn new_item(&mut self, production: u32, origin: u32) -> u32 {
        self.items.push(Item { production, origin, previous: NONE, child: NONE, other: NONE });
        self.items.len() as u32 - 1
    }
}
