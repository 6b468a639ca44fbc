//! What rules make of certain elements, remembered by one thread.
//!
//! The key is the number of a rule and the words of the elements that it matches. The value is the list
//! of its results: the words of the elements that replace those, and the rewrites that it took to find
//! them. When there are too many, all are forgotten, unless it pays to remember more; and for rules
//! where it does not pay at all, nothing is remembered from then on.

/// So many words are remembered at first: they stay in a cache of the core.
const WORDS_MIN: usize = 1 << 15;
/// And at most.
const WORDS_MAX: usize = 1 << 20;
const SLOTS_MIN: usize = 256;
/// It pays if most are found: so many for each that is not.
const HITS_MIN: u64 = 8;

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
pub struct Value(Vec<u32>);

/// As the number of results: that depends on the rest of the state.
const OPEN: u32 = u32::MAX;
const ALIKE: u32 = 1 << 31;

impl Tuples {
    pub fn new(rules: usize) -> Tuples {
        Tuples {
            slots: vec![0; SLOTS_MIN],
            count: 0,
            data: Vec::new(),
            words_max: WORDS_MIN,
            counts: vec![(0, 0); rules],
            skipped: vec![false; rules],
        }
    }

    /// Is nothing remembered for a rule?
    #[inline]
    pub fn is_skipped(&self, rule: usize) -> bool {
        self.skipped[rule]
    }

    /// The value of a key; `sum` is that of [`mix`] over the words.
    #[inline]
    pub fn find(&mut self, rule: usize, words: &[u32], sum: u64) -> Option<Outcome> {
        self.counts[rule].0 += 1;
        let rule = rule as u32;
        let hash = hash(rule, sum);
        let mask = self.slots.len() - 1;
        let mut slot = (hash >> 32) as usize & mask;
        loop {
            let found = self.slots[slot];
            let at = (found as u32 as usize).checked_sub(1)?;
            if (found ^ hash) >> 32 == 0 {
                let end = at + 1 + words.len();
                let key = &self.data[at..end];
                if key[0] == rule && key[1..].iter().zip(words).all(|(a, b)| a == b) {
                    return Some(Outcome { left: self.data[end], at: end + 1 });
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Notes the value of a key that is not there.
    pub fn put(&mut self, rule: usize, words: &[u32], sum: u64, value: &Value) -> Outcome {
        if self.data.len() + words.len() + value.0.len() > self.words_max {
            self.make_room();
        }
        if (self.count + 1) * 2 > self.slots.len() {
            let old = std::mem::take(&mut self.slots);
            self.slots = vec![0; old.len() * 2];
            old.into_iter().filter(|&slot| slot != 0).for_each(|slot| self.fill(slot));
        }
        let at = self.data.len();
        self.count += 1;
        self.counts[rule].1 += 1;
        self.data.push(rule as u32);
        self.data.extend_from_slice(words);
        self.data.extend_from_slice(&value.0);
        self.fill(hash(rule as u32, sum) >> 32 << 32 | (at as u64 + 1));
        Outcome { left: value.0[0], at: at + 2 + words.len() }
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
        self.0.clear();
        self.0.push(0);
    }

    /// Another result, after so many rewrites since the last one.
    pub fn add(&mut self, rewrites: u64, words: &[u32], is_alike: bool) {
        self.0[0] += 1;
        self.end(rewrites);
        self.0.push(words.len() as u32 | if is_alike { ALIKE } else { 0 });
        self.0.extend_from_slice(words);
    }

    /// There are no more, after so many rewrites.
    pub fn end(&mut self, rewrites: u64) {
        self.0.extend([rewrites as u32, (rewrites >> 32) as u32]);
    }

    /// It depends on the rest of the state.
    pub fn open(&mut self) {
        self.0.clear();
        self.0.push(OPEN);
    }
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
        let key = |i: u32| ((i % 3) as usize, vec![4 * (i / 7), i % 7, 8 * i][..1 + i as usize % 3].to_vec());
        for i in 0..40_000 {
            let (rule, words) = key(i);
            if tuples.find(rule, &words, sum(&words)).is_none() {
                value.begin();
                value.add(u64::from(i) << 30, &[i, rule as u32], i % 2 == 0);
                value.end(7);
                tuples.put(rule, &words, sum(&words), &value);
            }
            let found = tuples.find(rule, &words, sum(&words)).expect("it was put");
            let (results, rewrites) = read(&tuples, found);
            assert_eq!((results.len(), rewrites), (1, 7));
            let (before, ref found) = results[0];
            let first = found[0];
            assert_eq!((key(first), before, found[1]), ((rule, words), u64::from(first) << 30, rule as u32));
        }
        assert!(tuples.data.len() <= WORDS_MAX);
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
                if tuples.find(rule, &words, sum(&words)).is_none() {
                    tuples.put(rule, &words, sum(&words), &value);
                }
            }
        }
        assert!(tuples.is_skipped(1) && !tuples.is_skipped(0));
        assert!(tuples.data.len() <= WORDS_MIN);
    }
}
