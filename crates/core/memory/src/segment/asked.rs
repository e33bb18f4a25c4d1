//! The request for a segment, and its parts: plain data.

use std::ops::Range;

use serde::{Serialize, Serializer};

use crate::{PageSize, Placement};

/// How large a segment is to be; rounded up to whole pages.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Size {
    /// This number of bytes.
    Bytes(u64),
    /// This share, above 0 and at most 1, of all memory that the process may use: its nodes', or
    /// its cgroup's if that is less.
    Share(f64),
}

/// The time at which pages are faulted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// All pages are faulted in before the segment is there.
    #[default]
    Eager,
    /// Threads that yield to the program fault the pages in. The program goes on at once.
    Background,
    /// Each page is faulted in when it is used first.
    Lazy,
}

impl Serialize for Mode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The request, and the pages that are used for it.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) pages: PageSize,
    pub(super) used_pages: PageSize,
    pub(super) placement: Placement,
    pub(super) mode: Mode,
}

/// A part of a segment that is on one worker's node, see [`Placement::Local`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Arena {
    /// The arena's bytes, as offsets in the segment.
    pub range: Range<usize>,
    /// The arena's node, if it has one.
    pub node: Option<u32>,
}
