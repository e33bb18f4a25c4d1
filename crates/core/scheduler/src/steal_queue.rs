//! A worker's steal queue: runnables that anyone may take.
//!
//! The fast path never comes here: a worker runs from its private queue, which needs no atomics.
//! What it has too much of it *shares* by putting it here, in batches, and thieves take in batches;
//! so one short lock per batch is cheap, and it also orders the runnable's private fields between
//! owners. `owner` changes from "in transit" only under the lock.

use crate::runnable::Runnable;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard, lock};
use std::collections::VecDeque;

/// A queue behind a lock, with its length readable without.
#[derive(Debug)]
#[repr(align(128))]
pub struct StealQueue {
    len: AtomicUsize,
    queue: Mutex<VecDeque<Runnable>>,
}

impl Default for StealQueue {
    fn default() -> Self {
        Self::new()
    }
}

impl StealQueue {
    /// An empty queue.
    pub fn new() -> Self {
        StealQueue { len: AtomicUsize::new(0), queue: Mutex::new(VecDeque::new()) }
    }

    /// How many are in it: a hint unless the sleep protocol's fence stands before it.
    #[inline]
    pub fn len(&self) -> usize {
        // Relaxed: a hint; see above.
        self.len.load(Ordering::Relaxed)
    }

    /// Whether it looks empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Locks it; the length is published when the guard goes.
    pub fn lock(&self) -> StealGuard<'_> {
        StealGuard { queue: lock(&self.queue), len: &self.len }
    }
}

/// Access to a locked steal queue.
#[derive(Debug)]
pub struct StealGuard<'a> {
    queue: MutexGuard<'a, VecDeque<Runnable>>,
    len: &'a AtomicUsize,
}

impl std::ops::Deref for StealGuard<'_> {
    type Target = VecDeque<Runnable>;

    fn deref(&self) -> &Self::Target {
        &self.queue
    }
}

impl std::ops::DerefMut for StealGuard<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.queue
    }
}

impl Drop for StealGuard<'_> {
    fn drop(&mut self) {
        // Release: whoever sees it empty because of this also sees that its taker was awake
        // (`Sleep::is_same_nap`). Else a hint for those without the lock; whoever goes to sleep on
        // it has a SeqCst fence (see `sleep`).
        self.len.store(self.queue.len(), Ordering::Release);
    }
}
