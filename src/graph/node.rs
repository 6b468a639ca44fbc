//! What a stored node looks like.
//!
//! A stored word is like a [`crate::term::Term`]: a small natural or a constant as it is, or a
//! reference to a node (tag 0). A node is a vector `[head, fields...]`, folded to pairs:
//!
//! ```text
//! Args   [head, arguments...]                         as many as the operator has
//! List   [head, n, elements...]
//! Bag    [head, n, elements...]                       all multiplicities 1
//! Multi  [head, n, elements..., multiplicities...]
//! Raw    [head, n, words...]
//! ```
//!
//! The head has tag 1, then the kind (3 bits), whether something inside is not reduced, whether
//! the node itself is not, the sort (9 bits) and the operator (16 bits). A node without arguments
//! (a constant that is not reduced) is `[head, 0]`. Equal terms have equal words.

use super::pairs::Full;
use super::store::{Spares, Store};
use super::vector;
use crate::sorts::SortIx;
use crate::term::{Class, Symbols};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Kind {
    Args = 0,
    List = 1,
    Bag = 2,
    Multi = 3,
    Raw = 4,
}

/// A node's first word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Head(pub u32);

/// Some subterm, perhaps the node itself, is not reduced: evaluation may change it in place.
const LAZY: u32 = 1 << 5;
const UNREDUCED: u32 = 1 << 6;

impl Head {
    #[inline(always)]
    pub fn new(kind: Kind, sym: u32, sort: SortIx) -> Head {
        Head(1 | (kind as u32) << 2 | sort << 7 | sym << 16)
    }

    pub fn lazy(self, is_unreduced: bool) -> Head {
        Head(self.0 | LAZY | if is_unreduced { UNREDUCED } else { 0 })
    }

    #[inline(always)]
    pub fn kind(self) -> Kind {
        match self.0 >> 2 & 7 {
            0 => Kind::Args,
            1 => Kind::List,
            2 => Kind::Bag,
            3 => Kind::Multi,
            _ => Kind::Raw,
        }
    }

    #[inline(always)]
    pub fn is_lazy(self) -> bool {
        self.0 & LAZY != 0
    }

    pub fn is_unreduced(self) -> bool {
        self.0 & UNREDUCED != 0
    }

    #[inline(always)]
    pub fn sort(self) -> SortIx {
        self.0 >> 7 & 511
    }

    #[inline(always)]
    pub fn sym(self) -> u32 {
        self.0 >> 16
    }
}

/// How many fields a node of kind `Args` has.
#[inline(always)]
pub fn arity(sy: &Symbols, sym: u32) -> usize {
    let info = &sy.info[sym as usize];
    // Iterated operators have a count and a base.
    if info.class == Class::Iter { 2 } else { info.arity }
}

/// The word of a node given by its vector.
#[inline]
pub fn put(store: &Store, spares: &mut Spares, vector: &[u32]) -> Result<u32, Full> {
    let (left, right) = match *vector {
        [head] => (head, 0),
        [head, only] => (head, only),
        [head, first, second] => (vector::inner(store.put_part(spares, head, first)?), second),
        _ => vector::fold(store, spares, vector)?,
    };
    Ok(store.put_part(spares, left, right)? << 2)
}

/// The head of a node.
#[inline]
pub fn head(store: &Store, word: u32) -> Head {
    Head(vector::start(store, store.part(word >> 2)).0)
}

/// The head of a node; its elements, arguments or raw words replace the contents of `fields`,
/// with multiplicities, if there are any, after them. Returns how many come before those.
pub fn get(store: &Store, sy: &Symbols, word: u32, fields: &mut Vec<u32>) -> (Head, usize) {
    fields.clear();
    let root = store.part(word >> 2);
    let (head, second) = vector::start(store, root);
    let head = Head(head);
    let n = second as usize;
    let (count, len, skip) = match head.kind() {
        Kind::Args => {
            let arity = arity(sy, head.sym());
            (arity, 1 + arity.max(1), 1)
        }
        Kind::List | Kind::Bag | Kind::Raw => (n, 2 + n, 2),
        Kind::Multi => (n, 2 + 2 * n, 2),
    };
    vector::unfold(store, root, len, fields);
    fields.drain(..skip);
    if count == 0 {
        fields.clear();
    }
    (head, count)
}
