//! Random formulas and words for tests.

use super::formula::{Formula, Formulas, Node, PropId};
use super::word::Word;

/// A small generator (xorshift); the same seed gives the same numbers everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    /// A number below the bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// A formula with about `size` operators over the first `props` propositions.
pub fn random_formula(random: &mut Random, formulas: &mut Formulas, size: usize, props: u32) -> Formula {
    if size == 0 {
        return match random.below(12) {
            0 => formulas.constant(true),
            1 => formulas.constant(false),
            n => {
                let prop = formulas.prop(PropId((n % u64::from(props)) as u32));
                if random.below(3) == 0 { formulas.add(Node::Not(prop)) } else { prop }
            }
        };
    }
    let kind = random.below(12);
    if kind < 5 {
        let f = random_formula(random, formulas, size - 1, props);
        return match kind {
            0 => formulas.add(Node::Not(f)),
            1 => formulas.add(Node::Next(f)),
            2 | 3 => formulas.eventually(f),
            _ => formulas.always(f),
        };
    }
    let left = random.below(size as u64) as usize;
    let f = random_formula(random, formulas, left, props);
    let g = random_formula(random, formulas, size - 1 - left, props);
    formulas.add(match kind {
        5 | 6 => Node::And(f, g),
        7 | 8 => Node::Or(f, g),
        9 | 10 => Node::Until(f, g),
        _ => Node::Release(f, g),
    })
}

/// A word of up to eight letters over the first `props` propositions.
pub fn random_word(random: &mut Random, props: u32) -> Word {
    let length = 1 + random.below(8);
    let letters = (0..length).map(|_| random.below(1 << props)).collect();
    Word { letters, back: random.below(length) as usize }
}
