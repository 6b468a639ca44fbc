//! What is known of registers at one place of the code, and how many a function needs.

use super::code::Reg;
use super::known::Known;

/// What is known along one path of the decision tree.
#[derive(Clone)]
pub(super) struct Path {
    /// Sorts that each register can have.
    pub known: Vec<Known>,
    /// Which registers have been written; only those may be marked as alive.
    pub ready: Vec<bool>,
    /// Which registers may hold terms that are not reduced (in theories that have such terms).
    pub lazy: Vec<bool>,
    /// The next free register.
    pub top: Reg,
    /// How many registers are arguments.
    pub args: usize,
    /// How many leaves the tree below may have; at least one for each row.
    pub room: usize,
}

impl Path {
    pub fn new(known: Vec<Known>) -> Path {
        let args = known.len();
        Path {
            known,
            ready: vec![true; args],
            lazy: vec![true; args],
            top: args as Reg,
            args,
            room: usize::MAX,
        }
    }

    /// Takes `count` registers.
    pub fn take(&mut self, count: usize) -> Reg {
        let first = self.top;
        self.top += count as Reg;
        self.known.resize(self.top as usize, Known::ANY);
        self.ready.resize(self.top as usize, false);
        self.lazy.resize(self.top as usize, true);
        first
    }

    pub fn with_room(self, room: usize) -> Path {
        Path { room, ..self }
    }

    /// The room for trees of so many rows each.
    pub fn rooms(&self, rows: &[usize]) -> Vec<usize> {
        let all: usize = rows.iter().sum();
        rows.iter().map(|&count| self.room.saturating_mul(count) / all.max(1)).collect()
    }

    pub fn set(&mut self, reg: Reg, known: Known) {
        self.known[reg as usize] = known;
        self.ready[reg as usize] = true;
    }

    /// As `set`, for a term that is reduced.
    pub fn set_reduced(&mut self, reg: Reg, known: Known) {
        self.set(reg, known);
        self.lazy[reg as usize] = false;
    }
}

/// The registers that a function's frame needs.
pub(super) struct Frame {
    pub size: u32,
}

impl Frame {
    pub fn note(&mut self, top: Reg) {
        self.size = self.size.max(u32::from(top) + 1);
    }
}
