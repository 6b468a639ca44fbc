//! Which elements of a soup rules match: a join of what is known of single elements.
//!
//! For each element pattern there is the set of positions where it matches, and for each variable
//! that patterns share a column of its values by position, as words. Both follow from state to state
//! what changes. The elements that a rule matches are then found by loops over sets of positions, in
//! the order in which the rule itself would find them.

use super::elements::{Elements, Info};
use super::tuples::mix;
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
    /// By pattern: where it matches, and where in several ways.
    matches: Vec<u64>,
    many: Vec<u64>,
    /// The values of shared variables, by column and position.
    values: Vec<u32>,
    /// The patterns that match somewhere.
    present: u64,
    /// Where rules may be tried inside an element.
    restless: u64,
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
        self.infos[position].sort
    }

    /// The first position, from one on, where the soup differs from another.
    #[inline]
    pub fn next_change(&self, words: &[u32], from: usize) -> Option<usize> {
        (from..words.len()).find(|&i| self.words.get(i) != Some(&words[i]))
    }

    /// Forgets the positions from one on.
    pub fn truncate(&mut self, len: usize) {
        for position in len..self.words.len() {
            self.clear(position);
        }
        self.words.truncate(len);
        self.infos.truncate(len);
    }

    fn clear(&mut self, position: usize) {
        self.restless &= !(1 << position);
        let mut patterns = self.infos[position].patterns;
        while patterns != 0 {
            let pattern = patterns.trailing_zeros() as usize;
            patterns &= patterns - 1;
            self.matches[pattern] &= !(1 << position);
            self.many[pattern] &= !(1 << position);
        }
    }

    /// Puts an element at a position, at most the one after the last.
    pub fn set(&mut self, join: &Join, elements: &Elements, position: usize, word: u32, info: Info) {
        if position < self.words.len() {
            self.clear(position);
            self.words[position] = word;
            self.infos[position] = info;
        } else {
            self.words.push(word);
            self.infos.push(info);
        }
        self.restless |= u64::from(info.is_restless) << position;
        let mut values = elements.values(&info).iter();
        let mut patterns = info.patterns;
        while patterns != 0 {
            let pattern = patterns.trailing_zeros() as usize;
            patterns &= patterns - 1;
            self.matches[pattern] |= 1 << position;
            self.many[pattern] |= (info.many >> pattern & 1) << position;
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
    pub fn begin(&mut self, soup: &Soup, rule: &JoinRule) {
        let mut n = 0;
        for is_single in [true, false] {
            for (number, place) in rule.places.iter().enumerate() {
                let positions = soup.matches[place.pattern];
                if (positions & positions.wrapping_sub(1) == 0) == is_single {
                    self.order[n] = number as u8;
                    n += 1;
                }
            }
        }
        self.depth = 0;
        self.rest[0] = soup.matches[rule.places[self.order[0] as usize].pattern];
    }

    /// The next way.
    #[inline]
    pub fn next(&mut self, soup: &Soup, rule: &JoinRule) -> bool {
        let last = rule.places.len() - 1;
        let mut depth = self.depth;
        loop {
            let rest = self.rest[depth];
            if rest == 0 {
                if depth == 0 {
                    return false;
                }
                depth -= 1;
                continue;
            }
            let position = rest.trailing_zeros() as usize;
            self.rest[depth] = rest & (rest - 1);
            let number = self.order[depth] as usize;
            let value = |column: usize, position: usize| soup.values[column * POSITIONS + position];
            let is_equal = |&(own, place, other): &(usize, usize, usize)| {
                self.placed[depth] >> place & 1 == 0
                    || value(own, position) == value(other, self.chosen[place] as usize)
            };
            if !rule.places[number].checks.iter().all(is_equal) {
                continue;
            }
            let word = soup.words[position];
            self.chosen[number] = position as u8;
            self.words[number] = word;
            self.sums[depth + 1] = self.sums[depth].wrapping_add(mix(number, word));
            if depth == last {
                self.depth = depth;
                return true;
            }
            self.used[depth + 1] = self.used[depth] | 1 << position;
            self.placed[depth + 1] = self.placed[depth] | 1 << number;
            depth += 1;
            let place = &rule.places[self.order[depth] as usize];
            self.rest[depth] = soup.matches[place.pattern] & !self.used[depth];
        }
    }

    /// The positions that were found, by place.
    #[inline]
    pub fn chosen(&self) -> &[u8] {
        &self.chosen[..=self.depth]
    }

    /// Their words.
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
