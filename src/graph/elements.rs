//! What a thread knows of the elements of soups: which patterns each matches.

use rustc_hash::FxHashMap;

use crate::sorts::SortIx;

/// So many elements are remembered: few enough to stay in a cache of the core.
const MAX: usize = 1 << 12;

/// Elements by their words.
#[derive(Default)]
pub struct Elements {
    infos: FxHashMap<u32, Info>,
    values: Vec<u32>,
    /// How many there are with each operator.
    counts: FxHashMap<u32, u32>,
    /// How often all were forgotten.
    epoch: u32,
}

/// What is known of one element.
#[derive(Clone, Copy, Debug, Default)]
pub struct Info {
    /// The patterns that it matches.
    pub patterns: u64,
    /// Those that it matches in several ways, or in ways that are not known.
    pub many: u64,
    pub sort: SortIx,
    /// May rules be tried inside it?
    pub is_restless: bool,
    /// Its number among the elements with its operator, until all are forgotten.
    pub number: u32,
    /// Where the words of the variables are: for each pattern, in order, those of its columns.
    pub values: u32,
}

impl Elements {
    #[inline]
    pub fn get(&self, word: u32) -> Option<Info> {
        self.infos.get(&word).copied()
    }

    /// How often all elements were forgotten.
    #[inline]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Adds an element with the values of all its columns. It is found again, unless something of it is
    /// not known (`is_partial`).
    pub fn add(&mut self, word: u32, sym: u32, mut info: Info, values: &[u32], is_partial: bool) -> Info {
        if self.infos.len() >= MAX {
            self.infos.clear();
            self.values.clear();
            self.counts.clear();
            self.epoch += 1;
        }
        let count = self.counts.entry(sym).or_default();
        info.number = *count;
        *count += 1;
        info.values = self.values.len() as u32;
        self.values.extend_from_slice(values);
        if !is_partial {
            self.infos.insert(word, info);
        }
        info
    }

    /// The values of all columns of the patterns that an element matches.
    #[inline]
    pub fn values(&self, info: &Info) -> &[u32] {
        &self.values[info.values as usize..]
    }

    pub fn bytes(&self) -> usize {
        self.infos.capacity() * (size_of::<(u32, Info)>() + 1) + self.values.capacity() * 4
    }
}
