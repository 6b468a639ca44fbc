//! Shapes of states: what the root of a state's term looks like (see `codec.rs`). A shape is a node
//! of the store; each thread keeps those that it has met.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::node::{self, Head, Kind};
use super::pairs::Full;
use super::store::{Spares, Store};
use super::vector::{self, Plan};

/// The shapes that a thread has met, numbered.
#[derive(Default)]
pub struct Shapes {
    shapes: Vec<Shape>,
    by_form: FxHashMap<Box<[u32]>, usize>,
    by_word: FxHashMap<u32, usize>,
    plans: FxHashMap<usize, Arc<Plan>>,
}

/// The shape of a state that is one word.
const WHOLE: u32 = 1;

pub struct Shape {
    /// What the root looks like: `[]` for a whole term; the head and the length of a multiset or
    /// list; the head of a node, then for each argument 0, or its head and length.
    pub form: Box<[u32]>,
    pub word: u32,
    /// Words of the vector, this one included.
    pub len: usize,
    pub plan: Arc<Plan>,
}

impl Shapes {
    #[inline(always)]
    pub fn get(&self, shape: usize) -> &Shape {
        &self.shapes[shape]
    }

    /// The shape with a form.
    pub fn of_form(&mut self, store: &Store, spares: &mut Spares, form: &[u32]) -> Result<usize, Full> {
        if let Some(&shape) = self.by_form.get(form) {
            return Ok(shape);
        }
        let mut vector = vec![Head::new(Kind::Raw, 0, 0).0, form.len() as u32];
        vector.extend_from_slice(form);
        let word = if form.is_empty() { WHOLE } else { node::put(store, spares, &vector)? };
        Ok(self.add(store, form.into(), word))
    }

    /// The shape that a vector's first word stands for.
    pub fn of_word(&mut self, store: &Store, word: u32) -> usize {
        if let Some(&shape) = self.by_word.get(&word) {
            return shape;
        }
        let mut form = Vec::new();
        if word != WHOLE {
            let root = store.part(word >> 2);
            let len = vector::start(store, root).1 as usize;
            vector::unfold(store, root, len + 2, &mut form);
            form.drain(..2);
        }
        self.add(store, form.into(), word)
    }

    fn add(&mut self, store: &Store, form: Box<[u32]>, word: u32) -> usize {
        let len = 1 + Parts::new(&form).map(|part| part.len()).sum::<usize>();
        let plan = self.plans.entry(len).or_insert_with(|| Plan::new(len, store.layout.single(len))).clone();
        let shape = self.shapes.len();
        self.by_form.insert(form.clone(), shape);
        self.by_word.insert(word, shape);
        self.shapes.push(Shape { form, word, len, plan });
        shape
    }
}

/// What stands for the root, or for one of its arguments.
#[derive(Clone, Copy)]
pub enum Part {
    Word,
    Collection(Head, usize),
}

impl Part {
    /// How many words of the vector it takes.
    pub fn len(self) -> usize {
        match self {
            Part::Word => 1,
            Part::Collection(head, n) if head.kind() == Kind::Multi => 2 * n,
            Part::Collection(_, n) => n,
        }
    }
}

/// Goes through a form.
pub struct Parts<'a> {
    rest: &'a [u32],
    is_whole: bool,
}

impl Parts<'_> {
    pub fn new(form: &[u32]) -> Parts<'_> {
        match form {
            [] => Parts { rest: form, is_whole: true },
            [first, rest @ ..] if Head(*first).kind() == Kind::Args => Parts { rest, is_whole: false },
            _ => Parts { rest: form, is_whole: false },
        }
    }
}

impl Iterator for Parts<'_> {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        match *self.rest {
            [] => std::mem::take(&mut self.is_whole).then_some(Part::Word),
            [0, ref rest @ ..] => {
                self.rest = rest;
                Some(Part::Word)
            }
            [head, n, ref rest @ ..] => {
                self.rest = rest;
                Some(Part::Collection(Head(head), n as usize))
            }
            [_] => unreachable!("a head is followed by a length"),
        }
    }
}
