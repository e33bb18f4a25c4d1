//! Wakes the node's thread, and nobody if it is awake.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

#[derive(Default)]
pub(super) struct Alarm {
    asleep: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Alarm {
    /// There is something to do. Whoever rings has put it behind a lock that the sleeper looks behind.
    pub(super) fn ring(&self) {
        // SeqCst: the lock decides who comes first. Either the sleeper looks after us, and finds it; or before us, and then we see
        // that it is asleep, because it said so before it looked.
        if self.asleep.load(Ordering::SeqCst)
            && self.asleep.swap(false, Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// Sleeps until rung for or for so long, unless `look` finds something to do. On the node's thread.
    pub(super) fn sleep(&self, longest: Duration, look: impl FnOnce() -> bool) {
        self.thread.get_or_init(thread::current);
        self.asleep.store(true, Ordering::SeqCst);
        if !look() {
            thread::park_timeout(longest);
        }
        self.asleep.store(false, Ordering::SeqCst);
    }
}
