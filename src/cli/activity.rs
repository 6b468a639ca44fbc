//! What the program is doing, so that an interrupt does the right thing.

use std::sync::atomic::{AtomicU8, Ordering};

/// Shared with the handler of interrupts.
#[derive(Debug)]
pub struct Activity(AtomicU8);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Doing {
    /// A command or a file runs.
    Work = 0,
    /// Waiting for input that nobody types.
    Read = 1,
    /// Waiting at the prompt.
    Prompt = 2,
    /// As before, and what was typed so far is to be dropped.
    Drop = 3,
}

impl Activity {
    pub fn new(doing: Doing) -> Activity {
        Activity(AtomicU8::new(doing as u8))
    }

    /// Changes it; gives what it was.
    pub fn set(&self, doing: Doing) -> Doing {
        Self::read(self.0.swap(doing as u8, Ordering::Relaxed))
    }

    pub fn get(&self) -> Doing {
        Self::read(self.0.load(Ordering::Relaxed))
    }

    fn read(value: u8) -> Doing {
        match value {
            0 => Doing::Work,
            1 => Doing::Read,
            2 => Doing::Prompt,
            _ => Doing::Drop,
        }
    }
}
