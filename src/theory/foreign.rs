//! Operators whose values are computed by layers above the engine, such as model checking.

use std::sync::Arc;

use super::Theory;
use crate::base::{Cancel, Interrupt};
use crate::sorts::{OpId, Tree};

/// An operator applied to reduced arguments.
pub struct Call<'a> {
    pub theory: &'a Arc<Theory>,
    pub op: OpId,
    pub args: Vec<Tree>,
    pub cancel: &'a Cancel,
}

/// Its value, and the rewrites that it took.
pub struct Reply {
    pub result: Tree,
    pub rewrites: u64,
}

/// Someone who computes such operators; any thread may ask.
pub trait Foreign: Send + Sync {
    /// `None` if the term stays as it is.
    fn apply(&self, call: &Call) -> Result<Option<Reply>, Interrupt>;
}
