//! What a thread knows of the elements of soups: which patterns each matches.
//!
//! Many elements are alike in all that matters here, so what is known is kept by classes, and by
//! element the number of its class.

use rustc_hash::FxHashMap;

use super::recent::{Recent, VALUE_MAX, key};
use crate::sorts::SortIx;

/// So many classes are remembered: few enough to stay in a cache of the core.
const CLASSES_MAX: usize = 1 << 12;
/// If elements need numbers, so many elements.
const NUMBERED_MAX: usize = 1 << 12;

/// Elements by their words.
#[derive(Default)]
pub struct Elements {
    classes: Vec<Class>,
    /// Where the values of all columns of a class's patterns are.
    values: Vec<u32>,
    by_content: FxHashMap<Box<[u32]>, u32>,
    content: Vec<u32>,
    /// How many elements were added with each operator, and in all.
    counts: FxHashMap<u32, u32>,
    added: usize,
    /// Faces by patterns and first arguments.
    faces: FxHashMap<(u64, u32), u32>,
    /// Do elements need numbers, and faces?
    is_numbered: bool,
    has_faces: bool,
    /// How often all were forgotten.
    epoch: u32,
}

/// What is known of a class of elements.
#[derive(Clone, Copy, Debug, Default)]
pub struct Class {
    /// The patterns that they match.
    pub patterns: u64,
    /// Those that they match in several ways, or in ways that are not known.
    pub many: u64,
    pub sym: u32,
    pub sort: SortIx,
    /// May rules be tried inside them?
    pub is_restless: bool,
    /// Where the words of the variables are: for each pattern, in order, those of its columns.
    pub values: u32,
}

/// What is known of one element.
#[derive(Clone, Copy, Debug, Default)]
pub struct Info {
    pub class: Class,
    /// Its number among the elements with its operator, until all are forgotten.
    pub number: u32,
    /// Elements with the same face match the same patterns and have the same first argument.
    pub face: u32,
}

/// What is to be remembered of it.
pub struct Known(u64);

/// The kind of keys of a word and the epoch. The value is the class, the face and the number above it.
const ELEMENT: u8 = 1;
const CLASS_BITS: u32 = CLASSES_MAX.trailing_zeros();
const NUMBER_BITS: u32 = 24;
const FACE_BITS: u32 = VALUE_MAX.trailing_zeros() - CLASS_BITS - NUMBER_BITS;
/// Numbers of elements without one.
const NUMBER_MAX: u32 = (1 << NUMBER_BITS) - 1;
/// Faces of elements of which that is not known.
pub const NO_FACE: u32 = (1 << FACE_BITS) - 1;

impl Elements {
    pub fn new(is_numbered: bool, has_faces: bool) -> Elements {
        Elements { is_numbered, has_faces, ..Elements::default() }
    }

    /// Do elements need faces?
    #[inline]
    pub fn has_faces(&self) -> bool {
        self.has_faces
    }

    #[inline]
    pub fn get(&self, recent: &Recent, word: u32) -> Option<Info> {
        let found = recent.get(ELEMENT, key(word, self.epoch))?;
        Some(self.info(found))
    }

    /// How often all elements were forgotten.
    #[inline]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    #[inline]
    fn info(&self, known: u64) -> Info {
        let part = |from: u32, bits: u32| (known >> from) as u32 & ((1 << bits) - 1);
        Info {
            class: self.classes[part(0, CLASS_BITS) as usize],
            face: part(CLASS_BITS, FACE_BITS),
            number: part(CLASS_BITS + FACE_BITS, NUMBER_BITS),
        }
    }

    /// Adds an element with its first argument, if that is known, and the values of all its columns.
    pub fn add(&mut self, class: Class, first: Option<u32>, values: &[u32]) -> (Info, Known) {
        self.added += 1;
        if self.classes.len() >= CLASSES_MAX || self.is_numbered && self.added > NUMBERED_MAX {
            self.forget();
        }
        let count = self.counts.entry(class.sym).or_default();
        let number = (*count).min(NUMBER_MAX);
        *count += 1;
        let face = first.map_or(NO_FACE, |first| {
            let next = self.faces.len() as u32;
            *self.faces.entry((class.patterns, first)).or_insert(next)
        });
        debug_assert!(face <= NO_FACE);
        let known = u64::from(self.class(class, values));
        let known = known | u64::from(face) << CLASS_BITS | u64::from(number) << (CLASS_BITS + FACE_BITS);
        (self.info(known), Known(known))
    }

    /// Remembers an element, in so many bytes.
    pub fn note(&self, recent: &mut Recent, word: u32, known: Known, bytes_max: usize) {
        recent.put(ELEMENT, key(word, self.epoch), known.0, bytes_max);
    }

    /// The number of a class.
    fn class(&mut self, class: Class, values: &[u32]) -> u32 {
        let halves = |set: u64| [set as u32, (set >> 32) as u32];
        self.content.clear();
        self.content.extend(halves(class.patterns));
        self.content.extend(halves(class.many));
        self.content.extend([class.sym, class.sort, u32::from(class.is_restless)]);
        self.content.extend_from_slice(values);
        if let Some(&known) = self.by_content.get(&self.content[..]) {
            return known;
        }
        let number = self.classes.len() as u32;
        self.classes.push(Class { values: self.values.len() as u32, ..class });
        self.values.extend_from_slice(values);
        self.by_content.insert(self.content[..].into(), number);
        number
    }

    fn forget(&mut self) {
        self.classes.clear();
        self.values.clear();
        self.by_content.clear();
        self.counts.clear();
        self.faces.clear();
        self.added = 0;
        self.epoch += 1;
    }

    /// The values of all columns of the patterns that an element matches.
    #[inline]
    pub fn values(&self, info: &Info) -> &[u32] {
        &self.values[info.class.values as usize..]
    }

    pub fn bytes(&self) -> usize {
        let content = self.values.len() * 8 + self.classes.len() * 64;
        self.classes.capacity() * size_of::<Class>() + content
    }
}
