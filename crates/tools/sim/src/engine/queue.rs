//! One queue under a lock.

use super::time::Ps;
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) items: VecDeque<usize>,
    /// The time from which the queue's lock is free.
    pub(super) free_ps: Ps,
    /// The worker that held the lock last.
    pub(super) last: Option<usize>,
}
