//! The state of an arena: its free blocks and pages.

use std::ptr;

use super::class::CLASSES;
use super::runs::Runs;

/// A block on its arena's free list: its first bytes are the link.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Free {
    pub(super) next: *mut Free,
}

/// State that only an arena's owner touches.
#[derive(Debug)]
pub(super) struct State {
    pub(super) classes: [Class; CLASSES],
    pub(super) runs: Runs,
    pub(super) copied_bytes: u64,
    pub(super) returned: u64,
}

/// The blocks of one size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    pub(super) free: *mut Free,
    /// The part of the newest run that was never handed out.
    pub(super) fresh: *mut u8,
    pub(super) fresh_len: usize,
}

impl State {
    pub(super) fn new(pages: std::ops::Range<u32>) -> Self {
        let empty = Class { free: ptr::null_mut(), fresh: ptr::null_mut(), fresh_len: 0 };
        State { classes: [empty; CLASSES], runs: Runs::new(pages), copied_bytes: 0, returned: 0 }
    }
}
