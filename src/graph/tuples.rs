//! What rules make of certain elements, remembered by one thread.
//!
//! The key is the number of a rule and the words of the elements that it matches. The value is the list
//! of its results: the words of the elements that replace those, and the rewrites that it took to find
//! them. When there are too many, all are forgotten, unless it pays to remember more; and for rules
//! where it does not pay at all, nothing is remembered from then on.
//!
//! Where one of the elements is tried after the other while those before it stay, its values are in a
//! row: an array that is found once, by the words of the others, with a cell for each element by its
//! number. Mostly there is no result, and the cell says so itself.

/// So many words are remembered at first: they stay in a cache of the core.
const WORDS_MIN: usize = 1 << 15;
/// And at most.
const WORDS_MAX: usize = 1 << 20;
const SLOTS_MIN: usize = 256;
/// It pays if most are found: so many for each that is not.
const HITS_MIN: u64 = 8;
/// Elements with larger numbers have no cells.
const CELLS_MAX: u32 = 1 << 9;

/// See the head of this file.
pub struct Tuples {
    /// The upper half of a hash, by which it is found, and a place in `data` plus one; or 0.
    slots: Vec<u64>,
    count: usize,
    /// Keys, each followed by its value.
    data: Vec<u32>,
    words_max: usize,
    /// For each rule, how many were asked for and put since all were forgotten.
    counts: Vec<(u64, u64)>,
    /// Is nothing remembered for it?
    skipped: Vec<bool>,
    /// Changes whenever all is forgotten.
    generation: u64,
}

/// A rule and the words of the elements that it matches.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    pub rule: usize,
    pub words: &'a [u32],
    /// That of [`mix`] over the words.
    pub sum: u64,
}

/// Where the cells of a row are.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Row {
    pub at: u32,
    pub cells: u32,
}

/// A cell's place in a row. In the row's key the word of the element is one that no term has.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    pub row: Key<'a>,
    /// The element's number.
    pub number: u32,
}

impl Cell<'_> {
    /// Has the element a cell?
    #[inline]
    pub fn exists(number: u32) -> bool {
        number < CELLS_MAX
    }
}

/// The value of a key, to be gone through.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Results that are left.
    left: u32,
    at: usize,
}

/// One result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replacement {
    at: usize,
    len: usize,
    /// Do the new elements have the sorts of the old ones?
    pub is_alike: bool,
}

/// A value under construction.
#[derive(Debug, Default)]
pub struct Value {
    words: Vec<u32>,
    /// If there are no results: do the faces of the elements tell?
    is_early: bool,
}

/// As the number of results: that depends on the rest of the state.
const OPEN: u32 = u32::MAX;
const ALIKE: u32 = 1 << 31;
/// In a cell: there is no result, after the number of rewrites that the other bits say, but for one: what
/// tells that are the faces of the elements alone. Otherwise it has a place in `data` plus one, or 0 if nothing
/// is known.
const NONE: u32 = 1 << 31;
const EARLY: u32 = 1 << 30;

impl Tuples {
    pub fn new(rules: usize) -> Tuples {
        Tuples {
            slots: vec![0; SLOTS_MIN],
            count: 0,
            data: Vec::new(),
            words_max: WORDS_MIN,
            counts: vec![(0, 0); rules],
            skipped: vec![false; rules],
            generation: 0,
        }
    }

    /// Is nothing remembered for a rule?
    #[inline]
    pub fn is_skipped(&self, rule: usize) -> bool {
        self.skipped[rule]
    }

    /// The value of a key.
    #[inline]
    pub fn find(&mut self, key: Key) -> Option<Outcome> {
        self.counts[key.rule].0 += 1;
        let at = self.value_at(self.slot_of(key)?, key);
        Some(Outcome { left: self.data[at], at: at + 1 })
    }

    /// The slot of a key.
    #[inline]
    fn slot_of(&self, Key { rule, words, sum }: Key) -> Option<usize> {
        let rule = rule as u32;
        let hash = hash(rule, sum);
        let mask = self.slots.len() - 1;
        let mut slot = (hash >> 32) as usize & mask;
        loop {
            let found = self.slots[slot];
            let at = (found as u32 as usize).checked_sub(1)?;
            if (found ^ hash) >> 32 == 0 {
                let key = &self.data[at..at + 1 + words.len()];
                if key[0] == rule && key[1..].iter().zip(words).all(|(a, b)| a == b) {
                    return Some(slot);
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Where the value of the key in a slot starts.
    #[inline]
    fn value_at(&self, slot: usize, key: Key) -> usize {
        self.slots[slot] as u32 as usize + key.words.len()
    }

    /// Where a row is, as long as nothing is put; an empty one if it is not there.
    #[inline]
    pub fn row(&self, key: Key) -> Row {
        let Some(slot) = self.slot_of(key) else { return Row::default() };
        let at = self.value_at(slot, key);
        Row { at: at as u32 + 1, cells: self.data[at] }
    }

    /// The cells of a row, from number 0 on.
    #[inline(always)]
    pub fn cells(&self, row: Row) -> &[u32] {
        &self.data[row.at as usize..][..row.cells as usize]
    }

    /// So many cells of a rule's rows have been looked at.
    #[inline]
    pub fn count(&mut self, rule: usize, cells: u64) {
        self.counts[rule].0 += cells;
    }

    /// The value in a cell.
    #[inline]
    pub fn outcome(&self, cell: u32) -> Option<Outcome> {
        debug_assert!(none(cell).is_none());
        let at = (cell as usize).checked_sub(1)?;
        Some(Outcome { left: self.data[at], at: at + 1 })
    }

    /// Notes the value of a key that is not there.
    pub fn put(&mut self, key: Key, value: &Value) -> Outcome {
        self.reserve(1 + key.words.len() + value.words.len());
        self.counts[key.rule].1 += 1;
        let at = self.add(key);
        self.data.extend_from_slice(&value.words);
        Outcome { left: value.words[0], at: at + 1 }
    }

    /// Notes the value of a cell that is not there. It is returned if there are results.
    pub fn put_cell(&mut self, cell: Cell, value: &Value) -> Option<Outcome> {
        let Cell { row, number } = cell;
        let cells = (number as usize + 1).next_power_of_two().max(8);
        self.reserve(2 + row.words.len() + cells + value.words.len());
        self.counts[row.rule].1 += 1;
        let at = match self.slot_of(row).map(|slot| (slot, self.value_at(slot, row))) {
            Some((_, at)) if self.data[at] > number => at,
            // The old row stays where it is, and is not found any more.
            Some((slot, old)) => {
                let at = self.data.len();
                self.slots[slot] = self.slots[slot] >> 32 << 32 | (at as u64 + 1);
                self.data.extend_from_within(old - 1 - row.words.len()..old);
                self.add_cells(cells, old + 1..old + 1 + self.data[old] as usize)
            }
            None => {
                self.add(row);
                self.add_cells(cells, 0..0)
            }
        };
        let end = self.data.len();
        let none = value.as_cell();
        self.data[at + 1 + number as usize] = none.unwrap_or(end as u32 + 1);
        if none.is_some() {
            return None;
        }
        self.data.extend_from_slice(&value.words);
        Some(Outcome { left: value.words[0], at: end + 1 })
    }

    /// Adds the cells of a row, of which the first are copied.
    fn add_cells(&mut self, cells: usize, from: std::ops::Range<usize>) -> usize {
        let at = self.data.len();
        self.data.push(cells as u32);
        self.data.extend_from_within(from);
        self.data.resize(at + 1 + cells, 0);
        at
    }

    /// As long as this is the same, rows are where they were, but for those in which cells have been put.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Makes room for so many words and one key more.
    fn reserve(&mut self, words: usize) {
        if self.data.len() + words > self.words_max {
            self.make_room();
        }
        if (self.count + 1) * 2 > self.slots.len() {
            let old = std::mem::take(&mut self.slots);
            self.slots = vec![0; old.len() * 2];
            old.into_iter().filter(|&slot| slot != 0).for_each(|slot| self.fill(slot));
        }
    }

    /// Adds a key; its value is to follow.
    fn add(&mut self, Key { rule, words, sum }: Key) -> usize {
        let at = self.data.len();
        self.count += 1;
        self.data.push(rule as u32);
        self.data.extend_from_slice(words);
        self.fill(hash(rule as u32, sum) >> 32 << 32 | (at as u64 + 1));
        self.data.len()
    }

    #[cold]
    fn make_room(&mut self) {
        let (asked, put) = self.counts.iter().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        if asked > HITS_MIN * put && self.words_max < WORDS_MAX {
            self.words_max *= 2;
            return;
        }
        for ((asked, put), skipped) in self.counts.iter().zip(&mut self.skipped) {
            *skipped |= *asked < 2 * put;
        }
        self.generation += 1;
        self.counts.fill((0, 0));
        self.data.clear();
        self.slots.fill(0);
        self.count = 0;
    }

    fn fill(&mut self, slot: u64) {
        let mask = self.slots.len() - 1;
        let mut at = (slot >> 32) as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }

    /// The next result, and the rewrites that it took; or those after the last one.
    #[inline]
    pub fn next(&self, outcome: &mut Outcome) -> (u64, Option<Replacement>) {
        let at = outcome.at;
        let rewrites = u64::from(self.data[at]) | u64::from(self.data[at + 1]) << 32;
        if outcome.left == 0 {
            return (rewrites, None);
        }
        let len = self.data[at + 2];
        let is_alike = len & ALIKE != 0;
        let found = Replacement { at: at + 3, len: (len & !ALIKE) as usize, is_alike };
        outcome.left -= 1;
        outcome.at = found.at + found.len;
        (rewrites, Some(found))
    }

    /// The words of a result.
    #[inline]
    pub fn words(&self, found: Replacement) -> &[u32] {
        &self.data[found.at..found.at + found.len]
    }

    pub fn bytes(&self) -> usize {
        self.slots.capacity() * 8 + self.data.capacity() * 4
    }
}

impl Outcome {
    /// Is there no result?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Does it depend on the rest of the state?
    #[inline]
    pub fn is_open(&self) -> bool {
        self.left == OPEN
    }
}

impl Value {
    pub fn begin(&mut self) {
        self.words.clear();
        self.words.push(0);
        self.is_early = false;
    }

    /// There is no result, after so many rewrites. Is it the faces of the elements alone that tell?
    pub fn fail(&mut self, rewrites: u64, is_early: bool) {
        self.begin();
        self.end(rewrites);
        self.is_early = is_early;
    }

    /// Another result, after so many rewrites since the last one.
    pub fn add(&mut self, rewrites: u64, words: &[u32], is_alike: bool) {
        self.words[0] += 1;
        self.end(rewrites);
        self.words.push(words.len() as u32 | if is_alike { ALIKE } else { 0 });
        self.words.extend_from_slice(words);
    }

    /// There are no more, after so many rewrites.
    pub fn end(&mut self, rewrites: u64) {
        self.words.extend([rewrites as u32, (rewrites >> 32) as u32]);
    }

    /// The cell that says it all, if there is no result.
    fn as_cell(&self) -> Option<u32> {
        match self.words[..] {
            [0, rewrites, 0] if rewrites < EARLY => {
                Some(NONE | rewrites | if self.is_early { EARLY } else { 0 })
            }
            _ => None,
        }
    }

    /// It depends on the rest of the state.
    pub fn open(&mut self) {
        self.words.clear();
        self.words.push(OPEN);
    }
}

/// The rewrites that it took if a cell says that there is no result.
#[inline(always)]
pub fn none(cell: u32) -> Option<u32> {
    (cell & NONE != 0).then_some(cell & !(NONE | EARLY))
}

/// Do the faces of the elements alone tell that there is none?
#[inline(always)]
pub fn is_early(cell: u32) -> bool {
    cell & (NONE | EARLY) == NONE | EARLY
}

/// What the word at a place adds to the sum of its key.
#[inline(always)]
pub fn mix(place: usize, word: u32) -> u64 {
    (u64::from(word) | (place as u64 + 1) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

#[inline(always)]
fn hash(rule: u32, sum: u64) -> u64 {
    let hash = (sum ^ u64::from(rule)).wrapping_mul(0x2545_f491_4f6c_dd1d);
    hash ^ hash << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results that are known for a key: words with the rewrites before them, and those at the end.
    fn read(tuples: &Tuples, mut outcome: Outcome) -> (Vec<(u64, Vec<u32>)>, u64) {
        let mut results = Vec::new();
        loop {
            match tuples.next(&mut outcome) {
                (rewrites, Some(found)) => results.push((rewrites, tuples.words(found).to_vec())),
                (rewrites, None) => return (results, rewrites),
            }
        }
    }

    fn sum(words: &[u32]) -> u64 {
        words.iter().enumerate().fold(0, |sum, (i, &word)| sum.wrapping_add(mix(i, word)))
    }

    #[test]
    fn what_is_found_is_what_was_put() {
        let mut tuples = Tuples::new(3);
        let mut value = Value::default();
        let key_of =
            |i: u32| ((i % 3) as usize, vec![4 * (i / 7), i % 7, 8 * i][..1 + i as usize % 3].to_vec());
        for i in 0..40_000 {
            let (rule, words) = key_of(i);
            let key = Key { rule, words: &words, sum: sum(&words) };
            if tuples.find(key).is_none() {
                value.begin();
                value.add(u64::from(i) << 30, &[i, rule as u32], i % 2 == 0);
                value.end(7);
                tuples.put(key, &value);
            }
            let found = tuples.find(key).expect("it was put");
            let (results, rewrites) = read(&tuples, found);
            assert_eq!((results.len(), rewrites), (1, 7));
            let (before, ref found) = results[0];
            let first = found[0];
            assert_eq!((before, found[1]), (u64::from(first) << 30, rule as u32));
            assert_eq!(key_of(first), (rule, words));
        }
        assert!(tuples.data.len() <= WORDS_MAX);
    }

    #[test]
    fn cells_hold_what_was_put() {
        let mut tuples = Tuples::new(2);
        let mut value = Value::default();
        let mut known = 0;
        for i in 0..60_000u32 {
            let (rule, words, number) = ((i % 2) as usize, [8 * (i / 2 % 13), 3], i * i % 97);
            let key = Key { rule, words: &words, sum: sum(&words) };
            // Some have results, and some have none after many rewrites.
            let rewrites = (words[0] + number) as u64 * if number % 5 == 0 { 1 << 26 } else { 1 };
            let has_results = number % 3 == 0;
            let cells = tuples.cells(tuples.row(key));
            match cells.get(number as usize).copied().unwrap_or(0) {
                0 => {
                    value.begin();
                    if has_results {
                        value.add(rewrites, &[number, words[0]], true);
                    }
                    value.end(rewrites);
                    let put = tuples.put_cell(Cell { row: key, number }, &value);
                    assert!(put.is_some() || !has_results);
                }
                cell => {
                    known += 1;
                    let (results, end) = match none(cell) {
                        Some(rewrites) => (Vec::new(), u64::from(rewrites)),
                        None => read(&tuples, tuples.outcome(cell).expect("it was put")),
                    };
                    let expected = has_results.then(|| (rewrites, vec![number, words[0]]));
                    assert_eq!((results, end), (Vec::from_iter(expected), rewrites));
                }
            }
            tuples.count(rule, 1);
        }
        assert!(known > 50_000, "{known}");
    }

    #[test]
    fn rules_that_never_repeat_are_skipped() {
        let mut tuples = Tuples::new(2);
        let mut value = Value::default();
        value.begin();
        value.end(0);
        for i in 0..20_000 {
            for words in [[1, 2], [i, 2]] {
                let rule = usize::from(words[0] == i);
                let key = Key { rule, words: &words, sum: sum(&words) };
                if tuples.find(key).is_none() {
                    tuples.put(key, &value);
                }
            }
        }
        assert!(tuples.is_skipped(1) && !tuples.is_skipped(0));
        assert!(tuples.data.len() <= WORDS_MIN);
    }
}
