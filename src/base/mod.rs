//! What every layer shares: interned names, places in source text, diagnostics as data,
//! literals as text, limits.

mod diagnostic;
mod digest;
mod limits;
pub mod literal;
mod name;
mod size;
mod source;
mod threads;
mod varint;

pub use diagnostic::{Code, Diagnostic, Severity, nearest};
pub use digest::{DIGEST_LEN, digest};
pub use limits::{Cancel, Exceeded, Interrupt};
pub use name::{Name, NameMap};
pub use size::{bytes, size_text};
pub use source::{FileId, SourceMap, Span};
pub use threads::{THREADS_MAX, by_own_threads, pool, share_out};
pub use varint::{put_number, take_number};

/// Defines an index type: a `u32` that only indexes one kind of table.
#[macro_export]
macro_rules! index_type {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub u32);
        impl $name {
            /// The index as a `usize`, for table look-up.
            #[inline(always)]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
            /// The index type from a table position.
            #[inline(always)]
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("tables stay below 2^32 entries"))
            }
        }
    };
}
