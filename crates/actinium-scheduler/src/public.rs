//! A worker's public queue: runnables that anyone may take.
//!
//! The fast path never comes here: a worker runs from its private queue, which needs no atomics. What it has too much of
//! it *exposes* here, in batches, and thieves take in batches; so one short lock per batch is cheap, and it also
//! orders the runnable's private fields between owners. `owner` changes from "in transit" only under the lock.

use crate::runnable::Runnable;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard, lock};
use std::collections::VecDeque;

/// A queue behind a lock, with its length readable without.
#[derive(Debug)]
#[repr(align(128))]
pub struct PublicQueue {
    len: AtomicUsize,
    queue: Mutex<VecDeque<Runnable>>,
}

impl Default for PublicQueue {
    fn default() -> Self {
        Self::new()
    }
}

impl PublicQueue {
    /// An empty queue.
    pub fn new() -> Self {
        PublicQueue { len: AtomicUsize::new(0), queue: Mutex::new(VecDeque::new()) }
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
    pub fn lock(&self) -> PublicGuard<'_> {
        PublicGuard { queue: lock(&self.queue), len: &self.len }
    }
}

/// Access to a locked public queue.
#[derive(Debug)]
pub struct PublicGuard<'a> {
    queue: MutexGuard<'a, VecDeque<Runnable>>,
    len: &'a AtomicUsize,
}

impl std::ops::Deref for PublicGuard<'_> {
    type Target = VecDeque<Runnable>;

    fn deref(&self) -> &Self::Target {
        &self.queue
    }
}

impl std::ops::DerefMut for PublicGuard<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.queue
    }
}

impl Drop for PublicGuard<'_> {
    fn drop(&mut self) {
        // Release: whoever sees it empty because of this also sees that its taker was awake (`Sleep::is_same_nap`). Else a hint for
        // those without the lock; whoever goes to sleep on it has a SeqCst fence (see `sleep`).
        self.len.store(self.queue.len(), Ordering::Release);
    }
}
