//! Interned names: one small number per distinct text, compared and hashed as a number.
//!
//! The table is global and only grows. Texts are kept for the life of the process, so a
//! name can be read without holding a lock. Nothing may depend on the numbers' order.

use std::fmt;
use std::sync::{LazyLock, RwLock};

use string_interner::{DefaultSymbol, StringInterner, Symbol, backend::StringBackend};

/// An interned text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(u32);

struct Table {
    interner: StringInterner<StringBackend<DefaultSymbol>>,
    texts: Vec<&'static str>,
}

static TABLE: LazyLock<RwLock<Table>> =
    LazyLock::new(|| RwLock::new(Table { interner: StringInterner::new(), texts: Vec::new() }));

impl Name {
    /// Interns a text.
    pub fn new(text: &str) -> Name {
        {
            let table = TABLE.read().unwrap_or_else(|e| e.into_inner());
            if let Some(symbol) = table.interner.get(text) {
                return Name(symbol.to_usize() as u32);
            }
        }
        let mut table = TABLE.write().unwrap_or_else(|e| e.into_inner());
        let index = table.interner.get_or_intern(text).to_usize();
        if index == table.texts.len() {
            table.texts.push(Box::leak(text.to_owned().into_boxed_str()));
        }
        Name(index as u32)
    }

    /// The text.
    pub fn as_str(self) -> &'static str {
        TABLE.read().unwrap_or_else(|e| e.into_inner()).texts[self.0 as usize]
    }

    /// The name with a number that [`Name::index`] gave.
    pub fn from_index(index: u32) -> Name {
        debug_assert!((index as usize) < TABLE.read().unwrap_or_else(|e| e.into_inner()).texts.len());
        Name(index)
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
}
