//! States from one store to another: the words of the one as those of the other.

use rustc_hash::FxHashMap;

use super::codec::Root;
use super::node::{self, Kind};
use super::pairs::Full;
use super::shape::{Part, Parts, Shape, Shapes};
use super::store::{Spares, Store};
use super::vector;
use crate::term::Symbols;

/// Copies states from one store to another; always between the same two.
#[derive(Default)]
pub struct Graft {
    /// The shapes of the one and of the other.
    from: Shapes,
    to: Shapes,
    spares: Spares,
    /// Words of nodes that were copied lately.
    known: FxHashMap<u32, u32>,
}

/// Nodes that are remembered.
const KNOWN_MAX: usize = 1 << 16;

enum Task {
    Enter(u32),
    /// The words of its fields are there.
    Leave(u32),
}

impl Graft {
    /// The root in `to` of the state with this root in `from`.
    pub fn copy(&mut self, from: &Store, to: &Store, sy: &Symbols, root: Root) -> Result<Root, Full> {
        let root = (root.0, root.1);
        let shape = self.from.of_word(from, vector::start(from, root).0);
        let Shape { form, len, plan, .. } = self.from.get(shape);
        let mut words = plan.unfold(from, root, *len);
        let form = form.clone();
        let shape = self.to.of_form(to, &mut self.spares, &form)?;
        words[0] = self.to.get(shape).word;
        let mut at = 1;
        for part in Parts::new(&form) {
            // Multiplicities are numbers, not words.
            let count = match part {
                Part::Collection(_, n) => n,
                Part::Word => 1,
            };
            for word in &mut words[at..at + count] {
                *word = self.word(from, to, sy, *word)?;
            }
            at += part.len();
        }
        let (left, right) = self.to.get(shape).plan.fold(to, &mut self.spares, &words)?;
        Ok(Root(left, right))
    }

    #[inline]
    fn word(&mut self, from: &Store, to: &Store, sy: &Symbols, word: u32) -> Result<u32, Full> {
        match self.known.get(&word) {
            _ if word & 3 != 0 => Ok(word),
            Some(&copied) => Ok(copied),
            None => self.unknown(from, to, sy, word),
        }
    }

    fn unknown(&mut self, from: &Store, to: &Store, sy: &Symbols, word: u32) -> Result<u32, Full> {
        if self.known.len() > KNOWN_MAX {
            self.known.clear();
        }
        let (mut work, mut out, mut fields) = (vec![Task::Enter(word)], Vec::new(), Vec::new());
        while let Some(task) = work.pop() {
            match task {
                // Constants and small numbers are what they are.
                Task::Enter(word) if word & 3 != 0 => out.push(word),
                Task::Enter(word) => match self.known.get(&word) {
                    Some(&copied) => out.push(copied),
                    None => {
                        work.push(Task::Leave(word));
                        let (head, count) = node::get(from, sy, word, &mut fields);
                        if head.kind() != Kind::Raw {
                            work.extend(fields[..count].iter().rev().map(|&field| Task::Enter(field)));
                        }
                    }
                },
                Task::Leave(word) => {
                    let (head, count) = node::get(from, sy, word, &mut fields);
                    if head.kind() != Kind::Raw {
                        let start = out.len() - count;
                        fields[..count].copy_from_slice(&out[start..]);
                        out.truncate(start);
                    }
                    let mut vector = vec![head.0];
                    if head.kind() != Kind::Args {
                        vector.push(count as u32);
                    }
                    vector.extend_from_slice(&fields);
                    let copied = node::put(to, &mut self.spares, &vector)?;
                    self.known.insert(word, copied);
                    out.push(copied);
                }
            }
        }
        Ok(out.pop().expect("the word's copy"))
    }
}
