//! Stopping work from outside: a flag that long loops look at.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::Span;

/// Why a computation stopped before its end.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Interrupt {
    /// Ctrl-C, or a caller that raised the flag.
    Cancelled,
    /// A memory limit was reached.
    Memory,
    /// Conditions are nested too deeply.
    Depth,
    /// A time limit was reached.
    Time,
}

impl Interrupt {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Interrupt::Cancelled => "interrupted",
            Interrupt::Memory => "the memory limit was reached",
            Interrupt::Depth => "`=>` conditions are nested too deeply",
            Interrupt::Time => "the time limit was reached",
        }
    }
}

/// What cannot be represented. It unwinds from wherever it is met to whoever runs commands: that is
/// so rare and may happen in so many places that no result should make room for it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Exceeded(pub &'static str);

impl Exceeded {
    /// A term that would take more memory than there is. The machine makes [`Interrupt::Memory`] of it.
    pub const ROOM: Exceeded = Exceeded("a term does not fit into the memory");
    /// Someone raised the flag in the middle of a long operation; likewise [`Interrupt::Cancelled`].
    pub const CANCELLED: Exceeded = Exceeded("interrupted");

    /// Ends the command.
    #[cold]
    #[inline(never)]
    pub fn unwind(self) -> ! {
        std::panic::resume_unwind(Box::new(self))
    }
}

/// A shared flag; raising it asks running work to stop soon.
#[derive(Clone, Default, Debug)]
pub struct Cancel(Arc<Flag>);

#[derive(Default, Debug)]
struct Flag {
    is_raised: AtomicBool,
    blamed: Mutex<Option<Span>>,
    lengthy: Mutex<Option<(Span, usize)>>,
}

impl Cancel {
    pub fn raise(&self) {
        self.0.is_raised.store(true, Ordering::Relaxed);
    }

    pub fn clear(&self) {
        self.0.is_raised.store(false, Ordering::Relaxed);
    }

    /// Says which statement could not be worked off.
    pub fn blame(&self, statement: Span) {
        *self.0.blamed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(statement);
    }

    /// The last one of which that was said.
    pub fn blamed(&self) -> Option<Span> {
        *self.0.blamed.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Says of which rule a `=>` condition was being tried when the work stopped, and how many terms it had met;
    /// `None` for what is begun anew.
    pub fn note_lengthy(&self, condition: Option<(Span, usize)>) {
        *self.0.lengthy.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = condition;
    }

    /// The last one of which that was said.
    pub fn lengthy(&self) -> Option<(Span, usize)> {
        *self.0.lengthy.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    #[inline]
    pub fn is_raised(&self) -> bool {
        self.0.is_raised.load(Ordering::Relaxed)
    }
}
