//! Interned names: one small number per distinct text, compared and hashed as a number.
//!
//! The table is global and only grows. Texts are kept for the life of the process and never move, so a
//! name is read without a lock. Nothing may depend on the numbers' order.

use std::fmt;
use std::sync::{LazyLock, OnceLock, RwLock};

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use string_interner::{DefaultSymbol, StringInterner, Symbol, backend::StringBackend};

/// A table by name, in the order of insertion.
pub type NameMap<V> = IndexMap<Name, V, FxBuildHasher>;

/// An interned text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(u32);

static NUMBERS: LazyLock<RwLock<StringInterner<StringBackend<DefaultSymbol>>>> =
    LazyLock::new(|| RwLock::new(StringInterner::new()));

/// The texts by number, in pieces of which each is twice as long as the one before.
static TEXTS: [OnceLock<Box<[OnceLock<&'static str>]>>; PIECES] = [const { OnceLock::new() }; PIECES];
const FIRST_BITS: u32 = 10;
const PIECES: usize = 33 - FIRST_BITS as usize;

/// The piece in which a number is, and its place there.
#[inline(always)]
fn place(number: u32) -> (usize, usize) {
    let shifted = u64::from(number) + (1 << FIRST_BITS);
    let top = 63 - shifted.leading_zeros();
    ((top - FIRST_BITS) as usize, (shifted ^ 1 << top) as usize)
}

impl Name {
    /// Interns a text.
    pub fn new(text: &str) -> Name {
        {
            let numbers = NUMBERS.read().unwrap_or_else(|e| e.into_inner());
            if let Some(symbol) = numbers.get(text) {
                return Name(symbol.to_usize() as u32);
            }
        }
        let mut numbers = NUMBERS.write().unwrap_or_else(|e| e.into_inner());
        let number = numbers.get_or_intern(text).to_usize() as u32;
        let (piece, at) = place(number);
        let empty = || vec![const { OnceLock::new() }; 1 << (FIRST_BITS as usize + piece)].into();
        // It is there already if another thread was faster.
        TEXTS[piece].get_or_init(empty)[at].get_or_init(|| Box::leak(text.to_owned().into_boxed_str()));
        Name(number)
    }

    /// The text.
    pub fn as_str(self) -> &'static str {
        let (piece, at) = place(self.0);
        let text = TEXTS[piece].get().and_then(|texts| texts[at].get());
        text.expect("a name has a text")
    }

    /// The name with a number that [`Name::index`] gave.
    pub fn from_index(index: u32) -> Name {
        let name = Name(index);
        debug_assert!(!name.as_str().is_empty() || name == Name::new(""));
        name
    }

    /// The number, for side tables indexed by name.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        Name::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_equal_names() {
        assert_eq!(Name::new("foo"), Name::new("foo"));
        assert_ne!(Name::new("foo"), Name::new("bar"));
        assert_eq!(Name::new("s_").as_str(), "s_");
    }

    #[test]
    fn texts_stay_while_others_come() {
        let text = |thread: u32, i: u32| format!("text {} of {i}", if i % 2 == 0 { 0 } else { thread });
        std::thread::scope(|scope| {
            for thread in 1..=4 {
                scope.spawn(move || {
                    let names: Vec<Name> = (0..5000).map(|i| Name::new(&text(thread, i))).collect();
                    assert!((0..).zip(&names).all(|(i, name)| name.as_str() == text(thread, i)));
                    assert!((0..).zip(&names).all(|(i, &name)| name == Name::new(&text(thread, i))));
                });
            }
        });
    }
}
