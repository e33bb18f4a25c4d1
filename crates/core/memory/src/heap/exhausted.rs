//! The error of an arena that is full.

use std::fmt;

/// An arena has no room for a block. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exhausted {
    /// The request.
    pub size_bytes: usize,
    /// The arena.
    pub arena: usize,
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "arena {} has no room for {} bytes", self.arena, self.size_bytes)
    }
}

impl std::error::Error for Exhausted {}
