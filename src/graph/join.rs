//! Which elements of a soup rules match: a join of what is known of single elements.
//!
//! For each element pattern there is the set of positions where it matches, and for each variable
//! that patterns share a column of its values by position, as words. Both follow from state to state
//! what changes. The elements that a rule matches are then found by loops over sets of positions, in
//! the order in which the rule itself would find them.

use super::elements::{Elements, Info, NO_FACE};
use super::recent::Recent;
use super::tuples::{Key, Row, Tuples, is_early, mix, none};
use super::vector::inner as inner_word;
use crate::sorts::SortIx;
use crate::theory::{Join, JoinQuery, JoinRule};

/// Soups may have so many elements: as many as a set of bits.
pub const POSITIONS: usize = 64;
/// Rules may match so many elements at once.
pub const PLACES: usize = 8;

/// The soup of the state that is being explored.
#[derive(Default)]
pub struct Soup {
    words: Vec<u32>,
    infos: Vec<Info>,
    /// The elements' numbers, by position.
    numbers: Numbers,
    /// By pattern: where it matches, and where in several ways.
    matches: Vec<u64>,
    many: Vec<u64>,
    /// The values of shared variables, by column and position.
    values: Vec<u32>,
    /// The patterns that match somewhere.
    present: u64,
    /// Where rules may be tried inside an element.
    restless: u64,
    /// As long as this is the same, so is the face of each element.
    faces: u64,
}

#[derive(Clone, Copy)]
struct Numbers([u32; POSITIONS]);

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers([0; POSITIONS])
    }
}

impl Soup {
    pub fn new(join: &Join) -> Soup {
        let patterns = join.patterns.len();
        Soup {
            matches: vec![0; patterns],
            many: vec![0; patterns],
            values: vec![0; join.columns * POSITIONS],
            ..Soup::default()
        }
    }

    pub fn words(&self) -> &[u32] {
        &self.words
    }

    pub fn sort(&self, position: usize) -> SortIx {
        self.infos[position].class.sort
    }

    /// Have the elements on both sides of one other operators than it has?
    pub fn is_apart(&self, position: usize) -> bool {
        let sym = |i: usize| self.infos.get(i).map(|info| info.class.sym);
        sym(position.wrapping_sub(1)) != sym(position) && sym(position + 1) != sym(position)
    }

    /// Becomes the soup with these words, from one position on, up to an element of which nothing is known;
    /// returns its position.
    #[inline]
    pub fn follow(
        &mut self,
        join: &Join,
        elements: &Elements,
        recent: &Recent,
        words: &[u32],
        from: usize,
    ) -> Option<usize> {
        let mut position = from;
        while position < words.len() {
            let word = words[position];
            if self.words.get(position) != Some(&word) {
                let Some(info) = elements.get(recent, word) else { return Some(position) };
                self.set(join, elements, position, word, info);
            }
            position += 1;
        }
        None
    }

    /// Forgets the positions from one on.
    pub fn truncate(&mut self, len: usize) {
        for position in len..self.words.len() {
            self.clear(position);
        }
        if len < self.words.len() {
            self.words.truncate(len);
            self.infos.truncate(len);
            self.faces += 1;
        }
    }

    fn clear(&mut self, position: usize) {
        self.restless &= !(1 << position);
        let class = &self.infos[position].class;
        if class.many != 0 {
            self.many.iter_mut().for_each(|set| *set &= !(1 << position));
        }
        let mut patterns = class.patterns;
        while patterns != 0 {
            let pattern = patterns.trailing_zeros() as usize;
            patterns &= patterns - 1;
            self.matches[pattern] &= !(1 << position);
        }
    }

    /// Puts an element at a position, at most the one after the last.
    pub fn set(&mut self, join: &Join, elements: &Elements, position: usize, word: u32, info: Info) {
        if position < self.words.len() {
            self.clear(position);
            let is_alike = self.infos[position].face == info.face && info.face != NO_FACE;
            self.faces += u64::from(!is_alike);
            self.words[position] = word;
            self.infos[position] = info;
        } else {
            self.words.push(word);
            self.infos.push(info);
            self.faces += 1;
        }
        self.numbers.0[position] = info.number;
        self.restless |= u64::from(info.class.is_restless) << position;
        let mut values = elements.values(&info).iter();
        let mut patterns = info.class.patterns;
        while patterns != 0 {
            let pattern = patterns.trailing_zeros() as usize;
            patterns &= patterns - 1;
            self.matches[pattern] |= 1 << position;
            self.many[pattern] |= (info.class.many >> pattern & 1) << position;
            for (&(_, column), &value) in join.patterns[pattern].columns.iter().zip(&mut values) {
                self.values[column * POSITIONS + position] = value;
            }
        }
    }

    /// To be called when all elements are there.
    pub fn settle(&mut self) {
        let is_present = |(i, set): (usize, &u64)| u64::from(*set != 0) << i;
        self.present = self.matches.iter().enumerate().map(is_present).sum();
    }

    /// Does the query match? `None` if that is not known from its patterns alone.
    #[inline]
    pub fn has_match(&self, query: &JoinQuery) -> Option<bool> {
        if query.is_impossible || query.patterns & !self.present != 0 {
            Some(false)
        } else {
            query.is_exact.then_some(true)
        }
    }

    /// May rules be tried inside elements?
    pub fn is_restless(&self) -> bool {
        self.restless != 0
    }

    /// May the rule match?
    #[inline]
    pub fn may_match(&self, rule: &JoinRule) -> bool {
        self.has_all(rule.patterns)
    }

    /// Do these patterns match somewhere?
    #[inline]
    pub fn has_all(&self, patterns: u64) -> bool {
        patterns & !self.present == 0
    }

    /// Does some element match a pattern of the rule in several ways?
    #[inline]
    pub fn is_ambiguous(&self, rule: &JoinRule) -> bool {
        rule.places.iter().any(|place| self.many[place.pattern] != 0)
    }

    /// Does a pattern match at one of these positions?
    #[inline]
    pub fn matches_among(&self, pattern: usize, positions: u64) -> bool {
        self.matches[pattern] & positions != 0
    }
}

/// What the loops of a pair look at.
pub struct Sight<'a> {
    pub tuples: &'a Tuples,
    pub rows: &'a mut RowPlaces,
    pub vain: &'a mut VainPairs,
    /// The rule's number.
    pub rule: usize,
    /// That of the elements.
    pub epoch: u32,
}

/// Where the rows of a rule are, by the number of the outer element of a pair.
#[derive(Clone, Debug, Default)]
pub struct RowPlaces {
    /// What tells whether all this is out of date: stamps, and the words at the rule's other places.
    stamp: (u64, u32),
    others: [u32; PLACES],
    /// An empty row if there is none; `UNKNOWN` if it has not been looked for.
    rows: Vec<Row>,
}

const UNKNOWN: Row = Row { at: u32::MAX, cells: 0 };

impl RowPlaces {
    #[inline]
    fn begin(&mut self, stamp: (u64, u32), others: [u32; PLACES]) {
        if self.stamp != stamp || self.others != others {
            (self.stamp, self.others) = (stamp, others);
            self.rows.clear();
        }
    }

    #[inline(always)]
    fn get(&mut self, number: u32, find: impl FnOnce() -> Row) -> Row {
        match self.rows.get(number as usize) {
            Some(&row) if row != UNKNOWN => row,
            _ => self.put(number as usize, find()),
        }
    }

    /// Cells have been put in the row of this element.
    pub fn forget(&mut self, number: u32) {
        if let Some(row) = self.rows.get_mut(number as usize) {
            *row = UNKNOWN;
        }
    }

    #[inline(never)]
    fn put(&mut self, number: usize, row: Row) -> Row {
        if number < ROWS_MAX {
            if number >= self.rows.len() {
                self.rows.resize(number + 1, UNKNOWN);
            }
            self.rows[number] = row;
        }
        row
    }
}

/// Pairs of positions where a rule has no result as long as all elements have the same faces.
#[derive(Clone, Debug, Default)]
pub struct VainPairs {
    /// [`Soup::faces`] when this was found out, and how often that has come again.
    faces: u64,
    age: u32,
    /// By outer position the inner ones, and how many rewrites it takes there, by position and in all.
    rows: Vec<VainRow>,
}

#[derive(Clone, Debug)]
struct VainRow {
    positions: u64,
    rewrites: [u32; POSITIONS],
    sum: u64,
}

impl VainPairs {
    #[inline]
    fn begin(&mut self, soup: &Soup) {
        self.age = self.age.saturating_add(1);
        if self.faces != soup.faces {
            (self.faces, self.age) = (soup.faces, 0);
            self.rows.clear();
        }
    }

    /// Is it worth noting pairs? Where faces change from state to state it is not.
    #[inline(always)]
    fn is_open(&self) -> bool {
        self.age >= AGE_MIN
    }

    /// The row of an outer position; it may be missing.
    #[inline(always)]
    fn row(&self, outer: usize) -> Option<&VainRow> {
        self.rows.get(outer).filter(|row| row.positions != 0)
    }

    #[cold]
    fn put(&mut self, outer: usize, inner: usize, rewrites: u32) {
        if self.rows.len() <= outer {
            let row = VainRow { positions: 0, rewrites: [0; POSITIONS], sum: 0 };
            self.rows.resize(outer + 1, row);
        }
        let row = &mut self.rows[outer];
        row.positions |= 1 << inner;
        row.rewrites[inner] = rewrites;
        row.sum += u64::from(rewrites);
    }
}

/// So often must the faces have been the same; sooner in tests, so that it matters there.
const AGE_MIN: u32 = if cfg!(debug_assertions) { 2 } else { 64 };

impl VainRow {
    /// How many rewrites it takes at some of the positions.
    fn rewrites(&self, mut positions: u64) -> u64 {
        let mut sum = 0;
        while positions != 0 {
            sum += u64::from(self.rewrites[positions.trailing_zeros() as usize]);
            positions &= positions - 1;
        }
        sum
    }
}

/// The rows of elements with larger numbers are looked for each time.
const ROWS_MAX: usize = 1 << 12;

/// The ways in which a rule matches, one by one.
///
/// Where only one position is left for a place it is chosen first: that does not change the order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loops {
    /// The places in the order of the loops.
    order: [u8; PLACES],
    /// How many are chosen.
    depth: usize,
    /// By place: the position and its word.
    chosen: [u8; PLACES],
    words: [u32; PLACES],
    /// Is the last loop over several positions, whose elements have one operator, and may there be no
    /// result?
    is_row: bool,
    /// Is there but one loop over several positions around that one, over elements that have one operator as
    /// well, and nothing to compare in both?
    is_pair: bool,
    /// Is the rule's [`RowPlaces`] for the places around the pair as they are?
    is_prepared: bool,
    /// The row for the other places, if it is known.
    pub row: Option<Row>,
    /// The rewrites at those positions of a [`VainRow`] that have not been passed; nothing at its beginning.
    vain: Option<u64>,
    /// By depth: the positions not tried, those in use, the places that have one, and the sum of
    /// [`mix`] of their words.
    rest: [u64; PLACES],
    used: [u64; PLACES],
    placed: [u64; PLACES],
    sums: [u64; PLACES + 1],
}

impl Loops {
    /// Starts with a rule.
    #[inline]
    pub fn begin(&mut self, soup: &Soup, join: &Join, rule: &JoinRule) {
        // Those with one position come first.
        let (mut singles, mut others) = (0, 0);
        let mut later = [0; PLACES];
        for (number, place) in rule.places.iter().enumerate() {
            let positions = soup.matches[place.pattern];
            if positions & positions.wrapping_sub(1) == 0 {
                self.order[singles] = number as u8;
                singles += 1;
            } else {
                later[others] = number as u8;
                others += 1;
            }
        }
        let n = singles + others;
        self.order[singles..n].iter_mut().zip(later).for_each(|(place, number)| *place = number);
        let last = rule.places[self.order[n - 1] as usize].pattern;
        let positions = soup.matches[last];
        // Without a condition there is a result each time.
        let is_row = !rule.is_certain && join.patterns[last].sym.is_some();
        self.is_row = is_row && positions & positions.wrapping_sub(1) != 0;
        let is_free = |&place: &u8| {
            let place = &rule.places[place as usize];
            place.checks.is_empty() && join.patterns[place.pattern].sym.is_some()
        };
        self.is_pair = self.is_row && n == singles + 2 && self.order[singles..n].iter().all(is_free);
        (self.depth, self.row, self.vain, self.is_prepared) = (0, None, None, false);
        self.rest[0] = soup.matches[rule.places[self.order[0] as usize].pattern];
    }

    /// Chooses positions for all places but the last, if there are none left to be tried for that one.
    #[inline]
    pub fn descend(&mut self, soup: &Soup, rule: &JoinRule) -> bool {
        let last = rule.places.len() - 1;
        let mut depth = self.depth;
        loop {
            if self.rest[depth] == 0 {
                if depth == 0 {
                    return false;
                }
                depth -= 1;
                continue;
            }
            if depth == last {
                self.depth = depth;
                return true;
            }
            let position = self.rest[depth].trailing_zeros() as usize;
            self.rest[depth] &= self.rest[depth] - 1;
            if !self.fits(soup, rule, depth, position) {
                continue;
            }
            let number = self.put(soup, depth, position);
            (self.row, self.vain) = (None, None);
            self.is_prepared &= depth + 1 == last;
            self.used[depth + 1] = self.used[depth] | 1 << position;
            self.placed[depth + 1] = self.placed[depth] | 1 << number;
            depth += 1;
            let place = &rule.places[self.order[depth] as usize];
            self.rest[depth] = soup.matches[place.pattern] & !self.used[depth];
        }
    }

    /// The next way, after [`Loops::descend`], with the same positions for all places but the last.
    #[inline]
    pub fn next(&mut self, soup: &Soup, rule: &JoinRule) -> bool {
        let depth = self.depth;
        while self.rest[depth] != 0 {
            let position = self.rest[depth].trailing_zeros() as usize;
            self.rest[depth] &= self.rest[depth] - 1;
            if self.fits(soup, rule, depth, position) {
                self.put(soup, depth, position);
                return true;
            }
        }
        false
    }

    /// The same, but ways without results are passed over: the cells of a row tell. Returns the number
    /// of the last element and its cell (0 if it has none), after adding to `passed` how many ways were
    /// passed over and the rewrites that they took.
    #[inline]
    pub fn next_in_row(
        &mut self,
        soup: &Soup,
        rule: &JoinRule,
        row: &[u32],
        passed: &mut (u64, u64),
    ) -> Option<(u32, u32)> {
        let depth = self.depth;
        let mut rest = self.rest[depth];
        while rest != 0 {
            let position = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            if !self.fits(soup, rule, depth, position) {
                continue;
            }
            let number = soup.numbers.0[position];
            let cell = row.get(number as usize).copied().unwrap_or(0);
            match none(cell) {
                Some(rewrites) => {
                    passed.0 += 1;
                    passed.1 += u64::from(rewrites);
                }
                None => {
                    self.rest[depth] = rest;
                    self.put(soup, depth, position);
                    return Some((number, cell));
                }
            }
        }
        self.rest[depth] = 0;
        None
    }

    /// The same for the last two loops together, if they are a pair.
    pub fn next_in_pair(
        &mut self,
        soup: &Soup,
        rule: &JoinRule,
        sight: Sight,
        passed: &mut (u64, u64),
    ) -> Option<(u32, u32)> {
        let Sight { tuples, rows, vain, rule: number, epoch } = sight;
        let depth = self.depth;
        let [outer_place, inner_place] = [self.order[depth - 1], self.order[depth]].map(usize::from);
        let inner = soup.matches[rule.places[inner_place].pattern] & !self.used[depth - 1];
        let stamp = (tuples.generation(), epoch);
        if !self.is_prepared || rows.stamp != stamp {
            let mut others = self.words;
            (others[outer_place], others[inner_place]) = (0, 0);
            others[rule.places.len()..].fill(0);
            rows.begin(stamp, others);
            self.is_prepared = true;
        }
        vain.begin(soup);
        let (mut rest_around, mut rest) = (self.rest[depth - 1], self.rest[depth]);
        let mut outer = usize::from(self.chosen[outer_place]) % POSITIONS;
        let found = loop {
            // Positions that are passed over unseen, and those to be looked at.
            let (unseen, mut left) = vain.row(outer).map_or((0, 0), |row| {
                debug_assert_eq!(row.positions & !inner, 0);
                (row.positions & rest, self.vain.unwrap_or(row.sum))
            });
            let mut open = rest & !unseen;
            let (mut count, mut rewrites) = (0, 0);
            let mut found = None;
            if open != 0 {
                let row = rows.get(soup.numbers.0[outer], || {
                    let (mut words, word) = (self.words, soup.words[outer]);
                    (words[outer_place], words[inner_place]) = (word, inner_word(epoch));
                    let sum = self.sums[depth - 1].wrapping_add(mix(outer_place, word));
                    let sum = sum.wrapping_add(mix(inner_place, words[inner_place]));
                    tuples.row(Key { rule: number, words: &words[..rule.places.len()], sum })
                });
                let cells = tuples.cells(row);
                while open != 0 {
                    let position = open.trailing_zeros() as usize;
                    let number = soup.numbers.0[position];
                    let cell = cells.get(number as usize).copied().unwrap_or(0);
                    let Some(some) = none(cell) else {
                        found = Some((position, number, cell));
                        break;
                    };
                    open &= open - 1;
                    count += 1;
                    rewrites += u64::from(some);
                    if is_early(cell) && vain.is_open() {
                        vain.put(outer, position, some);
                    }
                }
            }
            if let Some((position, ..)) = found {
                let below = (1 << position) - 1;
                let passed = if unseen & below == 0 { 0 } else { vain.rows[outer].rewrites(unseen & below) };
                (rewrites, left) = (rewrites + passed, left - passed);
                rest &= !below & !(1 << position);
                self.vain = Some(left);
            } else {
                rewrites += left;
                self.vain = None;
            }
            *passed = (passed.0 + count, passed.1 + rewrites);
            if found.is_some() || rest_around == 0 {
                rest = if found.is_some() { rest } else { 0 };
                break found;
            }
            outer = rest_around.trailing_zeros() as usize;
            rest_around &= rest_around - 1;
            rest = inner & !(1 << outer);
        };
        (self.rest[depth - 1], self.rest[depth]) = (rest_around, rest);
        let (position, number, cell) = found?;
        self.put(soup, depth - 1, outer);
        self.used[depth] = self.used[depth - 1] | 1 << outer;
        self.put(soup, depth, position);
        Some((number, cell))
    }

    /// Do the values of shared variables at a position agree with those at the chosen ones?
    #[inline(always)]
    fn fits(&self, soup: &Soup, rule: &JoinRule, depth: usize, position: usize) -> bool {
        let value = |column: usize, position: usize| soup.values[column * POSITIONS + position];
        let is_equal = |&(own, place, other): &(usize, usize, usize)| {
            self.placed[depth] >> place & 1 == 0
                || value(own, position) == value(other, self.chosen[place] as usize)
        };
        rule.places[self.order[depth] as usize].checks.iter().all(is_equal)
    }

    /// Chooses a position for the place at some depth.
    #[inline(always)]
    fn put(&mut self, soup: &Soup, depth: usize, position: usize) -> usize {
        let number = self.order[depth] as usize;
        let word = soup.words[position];
        self.chosen[number] = position as u8;
        self.words[number] = word;
        self.sums[depth + 1] = self.sums[depth].wrapping_add(mix(number, word));
        number
    }

    /// What is known of the chosen elements is found in rows, if there are any for this rule, by the
    /// words of all places but the last.
    #[inline]
    pub fn is_row(&self) -> bool {
        self.is_row
    }

    /// Are the last two loops a pair?
    #[inline]
    pub fn is_pair(&self) -> bool {
        self.is_pair
    }

    /// The words of the row for the present choice, and the sum of [`mix`] of these.
    #[inline]
    pub fn row_key(&self, epoch: u32) -> ([u32; PLACES], u64) {
        let place = self.order[self.depth] as usize;
        let mut words = self.words;
        words[place] = inner_word(epoch);
        (words, self.sums[self.depth].wrapping_add(mix(place, words[place])))
    }

    /// The number of the last element that was chosen; and of the one before it in a pair.
    #[inline]
    pub fn last_number(&self, soup: &Soup) -> u32 {
        soup.numbers.0[self.chosen[self.order[self.depth] as usize] as usize]
    }

    pub fn outer_number(&self, soup: &Soup) -> Option<u32> {
        let outer = self.is_pair.then(|| self.order[self.depth - 1] as usize)?;
        Some(soup.numbers.0[self.chosen[outer] as usize])
    }

    /// The positions that were found, by place.
    #[inline]
    pub fn chosen(&self) -> &[u8] {
        &self.chosen[..=self.depth]
    }

    /// The word at a place.
    #[inline]
    pub fn word(&self, place: usize) -> u32 {
        self.words[place]
    }

    /// The words at all places.
    #[inline]
    pub fn words(&self) -> &[u32] {
        &self.words[..=self.depth]
    }

    /// The sum of [`mix`] of these.
    #[inline]
    pub fn sum(&self) -> u64 {
        self.sums[self.depth + 1]
    }
}
