//! Texts that are part of the program: cut into modules and views at once, read later.
//!
//! Most runs need a small part of the prelude. A scan by lines finds where its modules and views
//! lie, which takes some microseconds; each is parsed when it is first needed. For this a
//! library keeps to a simple layout: a module or view begins with its keyword in the first
//! column, and its end keyword is the last word of a line.

use std::sync::{Arc, OnceLock};

use super::lexer::TokenOrder;
use super::parser::Parser;
use super::tree::{Item, ModuleDecl, ModuleKind, Token, ViewDecl};
use super::words::is_end_word;
use crate::base::{FileId, Name, Span};

/// The parts of a library's text in order.
pub fn parts(text: &'static str, file: FileId) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut at = 0;
    // Where the text between modules began.
    let mut rest = 0;
    let line_end = |at: usize| text[at..].find('\n').map_or(text.len(), |length| at + length);
    while at < text.len() {
        let mut end = line_end(at);
        let mut words = text[at..end].split_ascii_whitespace();
        let kind = match words.next() {
            Some("fmod") => Some(ModuleKind::Fmod),
            Some("mod") => Some(ModuleKind::Mod),
            Some("fth") => Some(ModuleKind::Fth),
            Some("th") => Some(ModuleKind::Th),
            Some("view") => None,
            _ => {
                at = end + 1;
                continue;
            }
        };
        let name = words.next().map_or("", |word| word.split('{').next().unwrap_or(word));
        while end < text.len()
            && !is_end_word(text[..end].rsplit_once(char::is_whitespace).map_or("", |p| p.1))
        {
            end = line_end(end + 1);
        }
        parts.push(Part::Rest { start: rest, end: at });
        let start = (name.as_ptr() as usize - text.as_ptr() as usize) as u32;
        let span = Span { file, start, end: start + name.len() as u32 };
        let name = Token { name: Name::new(name), span };
        let place = Place { text, file, start: at };
        parts.push(match kind {
            Some(kind) => Part::Module { kind, name, decl: Deferred::later(place) },
            None => Part::View { name, decl: Deferred::later(place) },
        });
        (at, rest) = (end + 1, end);
    }
    parts.push(Part::Rest { start: rest, end: text.len() });
    parts
}

/// A part of a library's text.
#[derive(Debug)]
pub enum Part {
    Module {
        kind: ModuleKind,
        name: Token,
        decl: Deferred<ModuleDecl>,
    },
    View {
        name: Token,
        decl: Deferred<ViewDecl>,
    },
    /// Commands and comments between them, from one byte to another.
    Rest {
        start: usize,
        end: usize,
    },
}

/// A declaration that is read when it is first needed.
#[derive(Clone, Debug)]
pub struct Deferred<T> {
    read: OnceLock<Arc<T>>,
    place: Option<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    text: &'static str,
    file: FileId,
    start: usize,
}

impl<T: TryFrom<Item>> Deferred<T> {
    /// What was read already.
    pub fn now(decl: T) -> Self {
        Deferred { read: OnceLock::from(Arc::new(decl)), place: None }
    }

    fn later(place: Place) -> Self {
        Deferred { read: OnceLock::new(), place: Some(place) }
    }

    /// The declaration.
    pub fn get(&self) -> &Arc<T> {
        self.read.get_or_init(|| {
            let Place { text, file, start } = self.place.expect("what was not read has its place");
            // All names of a library have their numbers before it is read.
            let item = Parser::starting_at(text, file, start).next_item(&mut TokenOrder::default());
            let item = item.and_then(|parsed| parsed.item.and_then(|item| T::try_from(item).ok()));
            Arc::new(item.expect("a library is well-formed (a test reads all of it)"))
        })
    }
}

impl TryFrom<Item> for ModuleDecl {
    type Error = Item;
    fn try_from(item: Item) -> Result<Self, Item> {
        if let Item::Module(decl) = item { Ok(decl) } else { Err(item) }
    }
}

impl TryFrom<Item> for ViewDecl {
    type Error = Item;
    fn try_from(item: Item) -> Result<Self, Item> {
        if let Item::View(decl) = item { Ok(decl) } else { Err(item) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "--- comment\nset x on .\n\nfmod A is\n sort S .\nendfm\n\nview V{X :: T} from T to A is endv\n\
        th B{X :: T} is inc A . endth\nselect A .\n";

    #[test]
    fn parts_are_found() {
        let mut seen = Vec::new();
        for part in parts(TEXT, FileId(0)) {
            seen.push(match part {
                Part::Module { kind, name, decl } => {
                    format!("{kind:?} {} {}", name.name, decl.get().decls.len())
                }
                Part::View { name, decl } => format!("{} {}", name.name, decl.get().params.len()),
                Part::Rest { start, end } => TEXT[start..end].trim().replace('\n', "|"),
            });
        }
        let rest = "--- comment|set x on .";
        assert_eq!(seen, [rest, "Fmod A 1", "", "V 1", "", "Th B 1", "select A ."]);
    }
}
