//! One-step rewrites of states that are soups, found by a join on their words.
//!
//! A state is not decoded for this. What a rule makes of the elements that it matches is remembered
//! by their words ([`Tuples`]), and is found out by the rule's function on those elements alone.
//! Rules of other forms, and those that look at the rest of the soup, are applied to the term of the
//! state, in between: all results come in the order in which [`Steps`] gives them.

mod results;

use std::sync::Arc;

use super::changes::Change;
use super::codec::{Codec, Readiness};
use super::delta::Around;
use super::elements::{Class, Elements, Info};
use super::explorer::{Step, Target};
use super::join::{Loops, POSITIONS, RowPlaces, Sight, Soup, VainPairs};
use super::node;
use super::pairs::Full;
use super::recent::{Recent, key};
use super::store::Store;
use super::tuples::{Cell, Key, Outcome, Replacement, Tuples, Value};
use super::vector::inner as inner_word;
use crate::base::Interrupt;
use crate::rewrite::{Machine, Steps};
use crate::sorts::SortIx;
use crate::term::{self, Heap, Symbols, Term};
use crate::theory::{Join, JoinPart, Theory};

/// See the head of this file.
pub struct Joiner {
    /// The theory's, for this thread alone.
    join: Box<Join>,
    /// The rules' numbers in the module.
    numbers: Box<[u32]>,
    soup: Soup,
    elements: Elements,
    tuples: Tuples,
    /// By rule, where rows of tuples were found.
    rows: Box<[RowPlaces]>,
    vain: Box<[VainPairs]>,
    /// What is known of single elements, and what becomes of them by rules where tuples are not worth
    /// remembering; and the kind of the first part of each rule.
    recent: Recent,
    first_parts: Box<[u8]>,
    /// What is around the soup of the open state.
    around: Around,
    /// Have its elements been looked at?
    is_settled: bool,
    /// The rule being tried, by number under its operator, and what is being done for it.
    rule: usize,
    stage: Stage,
    /// The elements that it matches.
    loops: Loops,
    /// What is known of the guards of rules in the open state.
    guards: Box<[Guard]>,
    /// The result that was given last.
    given: Given,
    /// What takes the place of old elements in it, once it has been encoded.
    new: Vec<u32>,
    /// Do these have the sorts of the old ones?
    is_alike: bool,
    /// Rewrites for each result for the chosen elements, and those after the last one. The machine
    /// keeps what replaces old elements, result after result.
    fresh: Vec<u64>,
    /// For each part of a rule the new element; or, if it has no word yet, the rewrites that it took and
    /// its place among the terms that the machine keeps, after the chosen elements.
    made: Vec<Result<Change, (u64, usize)>>,
    /// Those words under construction.
    value: Value,
    terms: Vec<Term>,
    pairs: Vec<(Term, u32)>,
    values: Vec<u32>,
}

/// What is being done for a rule.
#[derive(Clone, Copy)]
enum Stage {
    /// Nothing yet.
    Begin,
    /// Its loops are at work.
    Match,
    /// Results for the chosen elements are given one by one: known ones, or those of `fresh`.
    Known(Outcome),
    Fresh(usize),
    /// Its function is running on the chosen elements and the state, or its code on the state.
    State,
    Whole,
}

/// Whether the part of a rule's condition holds that depends on the whole state alone.
#[derive(Clone, Copy)]
enum Guard {
    Unknown,
    Fails,
    /// After so many rewrites.
    Holds(u64),
}

#[derive(Clone, Copy)]
enum Given {
    Known(Replacement),
    Fresh(usize),
    /// Element by element.
    Made,
    /// The running function has it in its registers.
    Yielded,
    /// It is in `new`.
    Encoded,
}

const RECENT_FEW: usize = 1 << 20;
const RECENT_MANY: usize = 1 << 26;

/// Bytes for what is remembered of single elements: twice as many as the elements themselves take, or four times
/// where these are all that the store has, since states are forgotten; but where there are very many, as many, and
/// never more than a sixteenth of the memory that may be used (of which the machine knows the number of words).
fn recent_max(store: &Store, machine: &Machine) -> usize {
    let (bytes, times) = (store.part_bytes(), if store.is_empty() { 4 } else { 2 });
    let wanted = (times * bytes).min(RECENT_MANY).max(bytes);
    wanted.min(machine.memory_max / 4).max(RECENT_FEW)
}

/// What a thread has besides.
pub struct Hands<'a> {
    pub machine: &'a mut Machine,
    pub codec: &'a mut Codec,
    pub steps: &'a mut Steps,
}

impl Joiner {
    /// If the theory has rules for it.
    pub fn new(theory: &Arc<Theory>) -> Option<Joiner> {
        let join = theory.rules.join.as_ref()?;
        let is_numbered = join.rules.iter().flatten().any(|rule| !rule.is_certain);
        let has_faces = join.rules.iter().flatten().any(|rule| rule.early.is_some());
        Some(Joiner {
            soup: Soup::new(join),
            elements: Elements::new(is_numbered, has_faces),
            recent: Recent::default(),
            first_parts: first_parts(join),
            made: Vec::new(),
            tuples: Tuples::new(join.rules.len()),
            rows: vec![RowPlaces::default(); join.rules.len()].into(),
            vain: vec![VainPairs::default(); join.rules.len()].into(),
            around: Around::default(),
            is_settled: false,
            rule: 0,
            stage: Stage::Begin,
            loops: Loops::default(),
            guards: vec![Guard::Unknown; join.rules.len()].into(),
            given: Given::Encoded,
            new: Vec::new(),
            is_alike: false,
            fresh: Vec::new(),
            value: Value::default(),
            terms: Vec::new(),
            pairs: Vec::new(),
            values: Vec::new(),
            numbers: theory.rules.entries[join.top as usize].iter().map(|entry| entry.rule).collect(),
            join: Box::new(join.clone()),
        })
    }

    /// Asks for what is known of an element that will soon be met.
    #[inline]
    pub fn prefetch(&self, word: u32) {
        self.recent.prefetch(word);
    }

    /// Begins with the state that the codec has read. Returns false if it is not of the right form.
    pub fn begin(&mut self, codec: &Codec) -> bool {
        let Some(around) = codec.around() else { return false };
        let join = &self.join;
        let (top, soup) = (around.top, around.soup);
        let is_sorted = soup.sort() < 64 && join.sorted >> soup.sort() & 1 != 0;
        if top.sym() != join.top || soup.sym() != join.soup || around.len > POSITIONS || !is_sorted {
            return false;
        }
        self.around = around;
        self.is_settled = false;
        (self.rule, self.stage) = (0, Stage::Begin);
        self.guards.fill(Guard::Unknown);
        true
    }

    /// Gives up.
    pub fn end(&mut self, machine: &mut Machine) {
        if let Stage::State = self.stage {
            machine.abandon_rule();
        }
        self.stage = Stage::Begin;
    }

    /// Looks at the elements of the open state, if that has not been done. Returns false if rules may be
    /// tried inside of them; then the others may not be joined.
    #[inline(always)]
    pub fn settle(&mut self, store: &Store, hands: &mut Hands) -> Result<bool, Interrupt> {
        if !self.is_settled {
            self.look_at_all(store, hands)?;
        }
        Ok(!self.soup.is_restless())
    }

    /// Looks at those elements that are not the last state's.
    #[inline(never)]
    fn look_at_all(&mut self, store: &Store, hands: &mut Hands) -> Result<(), Interrupt> {
        let len = self.around.len;
        self.soup.truncate(len);
        let mut from = 0;
        loop {
            let words = &hands.codec.words()[..len];
            let Some(position) = self.soup.follow(&self.join, &self.elements, &self.recent, words, from)
            else {
                break;
            };
            let (word, epoch) = (words[position], self.elements.epoch());
            let info = self.look(store, position, word, hands)?;
            if self.elements.epoch() == epoch {
                self.soup.set(&self.join, &self.elements, position, word, info);
                from = position + 1;
            } else {
                // The numbers of all others have changed.
                self.soup.truncate(0);
                from = 0;
            }
        }
        self.soup.settle();
        self.is_settled = true;
        Ok(())
    }

    /// Finds out which patterns an element matches.
    fn look(
        &mut self,
        store: &Store,
        position: usize,
        word: u32,
        hands: &mut Hands,
    ) -> Result<Info, Interrupt> {
        self.restore_parts(store, hands);
        let machine = &mut *hands.machine;
        let term = hands.codec.terms()[position];
        machine.kept.clear();
        machine.kept.push(term);
        let before = machine.rewrites;
        let sy = &machine.theory.symbols;
        let (sym, sort) = (machine.heap.sym(sy, term), machine.heap.sort(sy, term));
        let rules = &machine.theory.rules;
        let has_sort = !machine.theory.has_lazy && sort != 0;
        let below = if has_sort { &rules.may_rewrite_sorted } else { &rules.may_rewrite_below };
        let may_rewrite = |&below: &bool| below || !rules.entries[sym as usize].is_empty();
        let is_open = rules.may_rewrite_below[self.join.top as usize];
        let may_be_restless = is_open && below.get(sym as usize).is_none_or(may_rewrite);
        let is_restless = may_be_restless && Steps::may_apply(machine, term);
        let mut class = Class { sym, sort, is_restless, ..Class::default() };
        self.values.clear();
        let mut is_partial = false;
        for (number, pattern) in self.join.patterns.iter().enumerate() {
            if pattern.sym.is_some_and(|other| other != sym) {
                continue;
            }
            if pattern.is_certain {
                class.patterns |= 1 << number;
                continue;
            }
            if machine.start_rule(pattern.code, machine.kept[0])?.is_none() {
                continue;
            }
            class.patterns |= 1 << number;
            for &(reg, _) in &pattern.columns {
                let value = machine.query_value(reg);
                match hands.codec.encode(store, &machine.heap, &machine.theory.symbols, value) {
                    Ok(word) => self.values.push(word),
                    Err(Full) => {
                        self.values.push(0);
                        class.many |= 1 << number;
                        is_partial = true;
                    }
                }
            }
            if pattern.is_unique {
                machine.abandon_rule();
            } else if machine.resume_rule()?.is_some() {
                class.many |= 1 << number;
                machine.abandon_rule();
            }
        }
        machine.rewrites = before;
        let first = if self.elements.has_faces() { self.first_word(store, term, hands) } else { None };
        let machine = &*hands.machine;
        let (info, known) = self.elements.add(class, first, &self.values);
        if !is_partial {
            self.elements.note(&mut self.recent, word, known, recent_max(store, machine));
        }
        Ok(info)
    }

    /// The word of an element's first argument; one that no term has if there is none, nothing if it is not known.
    fn first_word(&mut self, store: &Store, element: Term, hands: &mut Hands) -> Option<u32> {
        let Machine { heap, theory, .. } = &mut *hands.machine;
        let sy = &theory.symbols;
        let sym = heap.sym(sy, element);
        if sy.class(sym) != term::Class::Free || sy.info[sym as usize].arity == 0 {
            return Some(inner_word(0));
        }
        hands.codec.encode(store, heap, sy, heap.arg(element, 0)).ok()
    }

    /// The next result.
    pub fn next(&mut self, store: &Store, hands: &mut Hands) -> Result<Option<Step>, Interrupt> {
        loop {
            let found = match self.stage {
                Stage::Begin => {
                    match self.join.rules.get(self.rule) {
                        None => return Ok(None),
                        Some(Some(rule)) if !self.soup.may_match(rule) => self.rule += 1,
                        Some(Some(rule)) if !self.soup.is_ambiguous(rule) => {
                            self.loops.begin(&self.soup, &self.join, rule);
                            self.stage = Stage::Match;
                        }
                        Some(_) => {
                            self.restore(store, hands);
                            self.stage = Stage::Whole;
                        }
                    }
                    None
                }
                Stage::Match => self.choose(store, hands)?,
                _ => self.resume(hands)?,
            };
            if let Some(to) = found {
                hands.machine.rewrites += 1;
                hands.machine.rule_rewrites += 1;
                return Ok(Some(Step { rule: self.numbers[self.rule], to }));
            }
        }
    }

    /// Goes on with the loops of the rule, to the next result.
    fn choose(&mut self, store: &Store, hands: &mut Hands) -> Result<Option<Target>, Interrupt> {
        let rule = self.join.rules[self.rule].as_ref().expect("its loops are at work");
        let is_worth = !rule.on_state || rule.test.is_some() || rule.guarded.is_some();
        let is_known = is_worth && !self.tuples.is_skipped(self.rule);
        let is_row = is_known && self.loops.is_row();
        let mut early = None;
        let found = loop {
            if !self.loops.descend(&self.soup, rule) {
                (self.rule, self.stage) = (self.rule + 1, Stage::Begin);
                return Ok(None);
            }
            if is_row {
                let mut passed = (0, 0);
                let found = if self.loops.is_pair() {
                    let (number, epoch) = (self.rule, self.elements.epoch());
                    let (rows, vain) = (&mut self.rows[number], &mut self.vain[number]);
                    let sight = Sight { tuples: &self.tuples, rows, vain, rule: number, epoch };
                    self.loops.next_in_pair(&self.soup, rule, sight, &mut passed)
                } else {
                    let row = self.loops.row.unwrap_or_else(|| {
                        let (words, sum) = self.loops.row_key(self.elements.epoch());
                        self.tuples.row(Key { rule: self.rule, words: &words[..rule.places.len()], sum })
                    });
                    self.loops.row = Some(row);
                    self.loops.next_in_row(&self.soup, rule, self.tuples.cells(row), &mut passed)
                };
                hands.machine.rewrites += passed.1;
                self.tuples.count(self.rule, passed.0 + u64::from(found.is_some()));
                match found {
                    None => continue,
                    Some((number, cell)) if Cell::exists(number) => {
                        let found = self.tuples.outcome(cell);
                        early = rule.early.filter(|_| found.is_none() && self.loops.is_pair());
                        break found;
                    }
                    Some(_) => {}
                }
            } else if !self.loops.next(&self.soup, rule) {
                continue;
            }
            if !is_known {
                break None;
            }
            let (words, sum) = (self.loops.words(), self.loops.sum());
            match self.tuples.find(Key { rule: self.rule, words, sum }) {
                // Mostly the rest of the condition fails.
                Some(outcome) if outcome.is_empty() => {
                    hands.machine.rewrites += self.tuples.next(&mut { outcome }).0;
                }
                found => break found,
            }
        };
        let (test, code, on_state) = (rule.test, rule.code, rule.on_state);
        let guarded = rule.guarded.as_ref().map(|guarded| (guarded.guard, guarded.code));
        if let Some(early) = early
            && !self.test(store, early, true, hands)?
        {
            return Ok(None);
        }
        if let Some((guard, part)) = guarded {
            // In the order of the condition: what comes first may be what makes the rest come to an end.
            if let (None, Some(test)) = (found, test)
                && !self.test(store, test, false, hands)?
            {
                return Ok(None);
            }
            let Guard::Holds(rewrites) = self.guard(store, guard, hands)? else {
                return self.start(store, code, hands);
            };
            hands.machine.rewrites += rewrites;
            match found {
                Some(outcome) => self.stage = Stage::Known(outcome),
                None => self.find_out(store, part, hands)?,
            }
            return self.resume(hands);
        }
        match found {
            Some(outcome) if outcome.is_open() => return self.start(store, code, hands),
            Some(outcome) => self.stage = Stage::Known(outcome),
            None if on_state => {
                let is_open = match test {
                    Some(test) => self.test(store, test, false, hands)?,
                    None => true,
                };
                return if is_open { self.start(store, code, hands) } else { Ok(None) };
            }
            None if self.makes_parts() => {
                return if self.recall(hands) {
                    Ok(Some(Target::Replaced))
                } else {
                    self.make(store, hands).map(Some)
                };
            }
            None => self.find_out(store, code, hands)?,
        }
        self.resume(hands)
    }

    /// Whether the guard of the rule at work holds in the open state.
    fn guard(&mut self, store: &Store, code: u32, hands: &mut Hands) -> Result<Guard, Interrupt> {
        if let Guard::Unknown = self.guards[self.rule] {
            self.restore(store, hands);
            let state = hands.steps.term(hands.machine);
            let elements = hands.codec.terms();
            self.terms.clear();
            self.terms.extend(self.loops.chosen().iter().map(|&i| elements[i as usize]));
            // It does not look at the collector.
            self.terms.extend([state, state, hands.machine.heap.arg(state, 0)]);
            let before = hands.machine.rewrites;
            let holds = hands.machine.start_rule_on(code, &self.terms)?.is_some();
            if holds {
                hands.machine.abandon_rule();
            }
            let spent = std::mem::replace(&mut hands.machine.rewrites, before) - before;
            self.guards[self.rule] = if holds { Guard::Holds(spent) } else { Guard::Fails };
        }
        Ok(self.guards[self.rule])
    }

    /// Are the new elements of the rule at work made one by one?
    fn makes_parts(&self) -> bool {
        // In tests also where tuples would be remembered.
        let is_test = cfg!(debug_assertions) && self.rule % 2 == 0;
        self.first_parts[self.rule] != NO_PARTS && (is_test || self.tuples.is_skipped(self.rule))
    }

    /// Makes the new elements for the chosen ones, part by part, if all are remembered.
    #[inline]
    fn recall(&mut self, hands: &mut Hands) -> bool {
        let Joiner { join, loops, recent, new, .. } = self;
        let rule = join.rules[self.rule].as_ref().expect("its loops are at work");
        let kind = self.first_parts[self.rule];
        new.clear();
        let (mut rewrites, mut is_alike) = (0, true);
        for (i, part) in rule.parts.iter().enumerate() {
            let Some(change) = Change::get(recent, kind + i as u8, sources(part, loops)) else {
                return false;
            };
            rewrites += change.rewrites;
            is_alike &= change.is_alike;
            new.push(change.word);
        }
        hands.machine.rewrites += rewrites;
        (self.is_alike, self.given) = (is_alike, Given::Encoded);
        true
    }

    /// Makes the new elements for the chosen ones, part by part.
    fn make(&mut self, store: &Store, hands: &mut Hands) -> Result<Target, Interrupt> {
        let first = self.first_parts[self.rule];
        self.made.clear();
        hands.machine.kept.clear();
        let mut rewrites = 0;
        for i in 0..self.parts().len() {
            let part = &self.parts()[i];
            let (code, result) = (part.code, part.result);
            let known = Change::get(&self.recent, first + i as u8, sources(part, &self.loops));
            if let Some(change) = known {
                rewrites += change.rewrites;
                self.made.push(Ok(change));
                continue;
            }
            if hands.machine.kept.is_empty() {
                self.restore_parts(store, hands);
                let terms = hands.codec.terms();
                hands.machine.kept.extend(self.loops.chosen().iter().map(|&i| terms[i as usize]));
            }
            let machine = &mut *hands.machine;
            let mut terms = [Term(0); 2];
            let places = &self.parts()[i].places;
            places.iter().zip(&mut terms).for_each(|(&place, term)| *term = machine.kept[place]);
            let before = machine.rewrites;
            let yielded = machine.start_rule_on(code, &terms[..places.len()])?;
            debug_assert!(yielded.is_some(), "the elements match");
            let element = machine.query_value(result);
            machine.kept.push(element);
            machine.abandon_rule();
            let spent = machine.rewrites - before;
            machine.rewrites = before;
            rewrites += spent;
            self.made.push(Err((spent, machine.kept.len() - 1)));
        }
        hands.machine.rewrites += rewrites;
        self.given = Given::Made;
        Ok(Target::Replaced)
    }

    /// The parts of the rule at work.
    #[inline]
    fn parts(&self) -> &[JoinPart] {
        &self.join.rules[self.rule].as_ref().expect("its loops are at work").parts
    }

    /// The next result of what is being done; `None` at its end.
    #[inline]
    fn resume(&mut self, hands: &mut Hands) -> Result<Option<Target>, Interrupt> {
        match &mut self.stage {
            Stage::Known(outcome) => {
                let (rewrites, found) = self.tuples.next(outcome);
                hands.machine.rewrites += rewrites;
                if let Some(found) = found {
                    self.given = Given::Known(found);
                    return Ok(Some(Target::Replaced));
                }
                self.stage = Stage::Match;
            }
            Stage::Fresh(i) => {
                hands.machine.rewrites += self.fresh[*i];
                if *i + 1 < self.fresh.len() {
                    self.given = Given::Fresh(*i);
                    *i += 1;
                    return Ok(Some(Target::Replaced));
                }
                self.stage = Stage::Match;
            }
            Stage::State => {
                let yielded = hands.machine.resume_rule()?;
                return Ok(self.yielded(yielded));
            }
            Stage::Whole => match hands.steps.next_of(hands.machine, self.rule)? {
                Some(term) => return Ok(Some(Target::Term(term))),
                None => (self.rule, self.stage) = (self.rule + 1, Stage::Begin),
            },
            Stage::Begin | Stage::Match => unreachable!("nothing is being done"),
        }
        Ok(None)
    }

    /// Runs a rule on the chosen elements and the state.
    fn start(&mut self, store: &Store, code: u32, hands: &mut Hands) -> Result<Option<Target>, Interrupt> {
        self.restore(store, hands);
        let Machine { heap, theory, .. } = &mut *hands.machine;
        let (elements, chosen) = (hands.codec.terms(), self.loops.chosen());
        let used = set(chosen);
        self.pairs.clear();
        self.pairs.extend(bits(!used & below(elements.len())).map(|i| (elements[i], 1)));
        let rest = heap.bag(&theory.symbols, self.around.soup.sym(), &self.pairs);
        self.terms.clear();
        self.terms.extend(chosen.iter().map(|&i| elements[i as usize]));
        let state = hands.steps.term(hands.machine);
        self.terms.extend([rest, state, hands.machine.heap.arg(state, 0)]);
        let yielded = hands.machine.start_rule_on(code, &self.terms)?;
        Ok(self.yielded(yielded))
    }

    fn yielded(&mut self, yielded: Option<Term>) -> Option<Target> {
        self.stage = if yielded.is_some() { Stage::State } else { Stage::Match };
        let term = yielded?;
        let rule = self.join.rules[self.rule].as_ref().expect("it is running");
        if rule.yields.is_none() {
            return Some(Target::Term(term));
        }
        self.given = Given::Yielded;
        Some(Target::Replaced)
    }

    /// The term of the open state.
    pub fn state(&mut self, store: &Store, hands: &mut Hands) -> Term {
        self.restore(store, hands);
        hands.steps.term(hands.machine)
    }

    /// Makes the term of the state, unless it is there.
    fn restore(&mut self, store: &Store, hands: &mut Hands) {
        if hands.codec.readiness(&hands.machine.heap) < Readiness::Whole {
            self.restore_parts(store, hands);
            let Machine { heap, theory, .. } = &mut *hands.machine;
            let term = hands.codec.restore(store, heap, &theory.symbols, &mut []);
            hands.steps.begin(hands.machine, term);
        }
    }

    /// Makes the terms of the elements, unless they are there.
    #[inline]
    fn restore_parts(&mut self, store: &Store, hands: &mut Hands) {
        if hands.codec.readiness(&hands.machine.heap) < Readiness::Parts {
            hands.machine.forget_terms();
            hands.machine.tidy();
            let Machine { heap, theory, .. } = &mut *hands.machine;
            hands.codec.restore_parts(store, heap, &theory.symbols, &mut []);
        }
    }

    /// Starts code on the chosen elements.
    fn start_on_elements(
        &mut self,
        store: &Store,
        code: u32,
        hands: &mut Hands,
    ) -> Result<Option<Term>, Interrupt> {
        self.restore_parts(store, hands);
        hands.machine.kept.clear();
        self.terms.clear();
        self.terms.extend(self.loops.chosen().iter().map(|&i| hands.codec.terms()[i as usize]));
        hands.machine.start_rule_on(code, &self.terms)
    }

    /// Runs a rule on the chosen elements.
    fn find_out(&mut self, store: &Store, code: u32, hands: &mut Hands) -> Result<(), Interrupt> {
        let before = hands.machine.rewrites;
        let mut last = before;
        self.fresh.clear();
        let mut yielded = self.start_on_elements(store, code, hands)?;
        let machine = &mut *hands.machine;
        let rule = self.join.rules[self.rule].as_ref().expect("its loops are at work");
        let yields = rule.yields.as_ref().expect("it is a function of elements");
        let first = rule.guarded.as_ref().map_or(yields.first, |guarded| guarded.first);
        while yielded.is_some() {
            self.fresh.push(machine.rewrites - last);
            last = machine.rewrites;
            for i in 0..yields.count {
                let element = machine.query_value(first + i as u16);
                machine.kept.push(element);
            }
            if rule.is_certain {
                machine.abandon_rule();
                break;
            }
            yielded = machine.resume_rule()?;
        }
        self.fresh.push(machine.rewrites - last);
        machine.rewrites = before;
        self.stage = Stage::Fresh(0);
        if self.fresh.len() == 1 && !self.tuples.is_skipped(self.rule) {
            self.value.fail(self.fresh[0], false);
            self.put();
        }
        Ok(())
    }

    /// Notes the value for the chosen elements. It is returned if there are results.
    fn put(&mut self) -> Option<Outcome> {
        let number = self.loops.last_number(&self.soup);
        self.loops.row = None;
        if self.loops.is_row() && Cell::exists(number) {
            let (words, sum) = self.loops.row_key(self.elements.epoch());
            let row = Key { rule: self.rule, words: &words[..self.loops.words().len()], sum };
            if let Some(outer) = self.loops.outer_number(&self.soup) {
                self.rows[self.rule].forget(outer);
            }
            return self.tuples.put_cell(Cell { row, number }, &self.value);
        }
        let key = Key { rule: self.rule, words: self.loops.words(), sum: self.loops.sum() };
        Some(self.tuples.put(key, &self.value))
    }

    /// Runs a test of a rule on the chosen elements, perhaps the early one. Does it hold?
    fn test(
        &mut self,
        store: &Store,
        code: u32,
        is_early: bool,
        hands: &mut Hands,
    ) -> Result<bool, Interrupt> {
        let before = hands.machine.rewrites;
        let is_open = self.start_on_elements(store, code, hands)?.is_some();
        if is_open {
            hands.machine.abandon_rule();
            // They are counted when the whole condition is tried.
            hands.machine.rewrites = before;
            self.value.open();
        } else {
            self.value.fail(hands.machine.rewrites - before, is_early);
        }
        // What is decided later will be noted then, as the results of rules with a guard are.
        let is_guarded = self.join.rules[self.rule].as_ref().is_some_and(|rule| rule.guarded.is_some());
        if !self.tuples.is_skipped(self.rule) && !(is_open && (is_early || is_guarded)) {
            self.put();
        }
        Ok(is_open)
    }

    /// Does a query match the open state? `None` if that is not known.
    pub fn has_match(
        &mut self,
        store: &Store,
        hands: &mut Hands,
        query: usize,
    ) -> Result<Option<bool>, Interrupt> {
        self.settle(store, hands)?;
        // What is said of queries holds for soups of at least two elements.
        let is_soup = self.around.len >= 2;
        Ok(if is_soup { self.soup.has_match(&self.join.queries[query]) } else { None })
    }

    /// May a query match the state that was given last as [`Target::Replaced`], after it was inserted?
    /// If not, it certainly does not.
    pub fn may_match(&self, store: &Store, machine: &Machine, query: usize) -> bool {
        let query = &self.join.queries[query];
        let left = self.left();
        if left.count_ones() as usize + self.new.len() < 2 {
            return true;
        }
        let is_found = |pattern: usize| {
            let of_word = |&word: &u32| match self.elements.get(&self.recent, word) {
                Some(info) => info.class.patterns >> pattern & 1 != 0,
                None => {
                    let sym = word_sym(store, &machine.heap, &machine.theory.symbols, word);
                    self.join.patterns[pattern].sym.is_none_or(|other| other == sym)
                }
            };
            self.soup.matches_among(pattern, left) || self.new.iter().any(of_word)
        };
        !query.is_impossible && bits(query.patterns).all(is_found)
    }

    pub fn bytes(&self) -> usize {
        self.elements.bytes() + self.tuples.bytes() + self.recent.bytes()
    }
}

/// As the kind of a rule's first part: it has none.
const NO_PARTS: u8 = 0;
/// The kind of the first part of all.
const FIRST_PART: usize = 2;

/// Gives the parts of all rules kinds, as far as there are.
fn first_parts(join: &Join) -> Box<[u8]> {
    let mut next = FIRST_PART;
    let mut number = |count: usize| {
        if count == 0 || next + count > u8::MAX.into() {
            return NO_PARTS;
        }
        next += count;
        (next - count) as u8
    };
    join.rules.iter().map(|rule| number(rule.as_ref().map_or(0, |rule| rule.parts.len()))).collect()
}

/// The words of the chosen elements that a part depends on.
#[inline]
fn sources(part: &JoinPart, loops: &Loops) -> u64 {
    match *part.places {
        [only] => key(loops.word(only), 0),
        [first, second, ..] => key(loops.word(first), loops.word(second)),
        [] => 0,
    }
}

/// The members of a set of bits.
#[inline]
fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros() as usize);
        set &= set.wrapping_sub(1);
        first
    })
}

/// The numbers below one (at most 64).
fn below(len: usize) -> u64 {
    if len == 64 { u64::MAX } else { (1 << len) - 1 }
}

fn set(positions: &[u8]) -> u64 {
    positions.iter().fold(0, |set, &position| set | 1 << position)
}

/// The sort of a word's term.
fn word_sort(store: &Store, heap: &Heap, sy: &Symbols, word: u32) -> SortIx {
    if word & 3 == 0 { node::head(store, word).sort() } else { heap.sort(sy, Term(word)) }
}

/// The operator of a word's term.
fn word_sym(store: &Store, heap: &Heap, sy: &Symbols, word: u32) -> u32 {
    if word & 3 == 0 { node::head(store, word).sym() } else { heap.sym(sy, Term(word)) }
}
