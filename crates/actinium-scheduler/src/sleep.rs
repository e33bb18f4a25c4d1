//! How idle workers sleep and are woken, so that no wake-up is lost and nobody spins for long.
//!
//! A worker that finds nothing: *announces* itself asleep, passes a SeqCst fence, looks at every place where work may come
//! from once more, and only then parks. Whoever makes work for it: publishes the work, passes a SeqCst fence, and looks
//! whether the worker is announced asleep. Of two SeqCst fences one comes first: either the worker's second look sees
//! the work, or the waker sees the announcement. (The classic store-buffer argument; loom checks it in `tests/loom.rs`.)
//!
//! `idle` counts the workers that look for work or sleep: a hint that makes others expose what they have too much of.

use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use crate::sync::{Mutex, lock, park, thread};
use std::time::Duration;

#[derive(Debug)]
#[repr(align(128))]
struct Bed {
    asleep: AtomicBool,
    thread: Mutex<Option<thread::Thread>>,
}

/// Who sleeps.
#[derive(Debug)]
pub struct Sleep {
    beds: Box<[Bed]>,
    idle: AtomicUsize,
}

impl Sleep {
    /// For so many workers, all awake.
    pub fn new(workers: usize) -> Self {
        let bed = |_| Bed { asleep: AtomicBool::new(false), thread: Mutex::new(None) };
        Sleep { beds: (0..workers).map(bed).collect(), idle: AtomicUsize::new(0) }
    }

    /// The calling thread is worker `index`: called once, before it first sleeps.
    pub fn register(&self, index: usize) {
        *lock(&self.beds[index].thread) = Some(thread::current());
    }

    /// Workers that look for work or sleep. A hint.
    #[inline]
    pub fn idle(&self) -> usize {
        // Relaxed: a hint.
        self.idle.load(Ordering::Relaxed)
    }

    /// One more worker looks for work.
    pub fn start_looking(&self) {
        // Relaxed: a hint.
        self.idle.fetch_add(1, Ordering::Relaxed);
    }

    /// One worker found work.
    pub fn stop_looking(&self) {
        // Relaxed: a hint.
        self.idle.fetch_sub(1, Ordering::Relaxed);
    }

    /// Announces worker `index` asleep. It must look for work once more before it calls [`Sleep::park`].
    pub fn announce(&self, index: usize) {
        // Relaxed, then the fence: pairs with the fence in `wake` (module documentation).
        self.beds[index].asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Takes the announcement back.
    pub fn cancel(&self, index: usize) {
        // Acquire by a swap: what the waker did before it took the announcement is seen.
        self.beds[index].asleep.swap(false, Ordering::Acquire);
    }

    /// Sleeps until woken or until the timeout is over. Only after [`Sleep::announce`].
    pub fn park(&self, index: usize, timeout: Option<Duration>) {
        let asleep = &self.beds[index].asleep;
        // Acquire: pairs with the release in `wake`. The loop is for spurious returns and stale unpark tokens.
        while asleep.load(Ordering::Acquire) {
            park(timeout);
            if timeout.is_some() {
                break;
            }
        }
        self.cancel(index);
    }

    /// Whether worker `index` is announced asleep: a hint without a fence before it.
    #[inline]
    pub fn is_asleep(&self, index: usize) -> bool {
        // Relaxed: a hint, or after the caller's fence.
        self.beds[index].asleep.load(Ordering::Relaxed)
    }

    /// Wakes worker `index` if it sleeps; true if it did. Call it after the work is published.
    pub fn wake(&self, index: usize) -> bool {
        // Pairs with the fence in `announce` (module documentation).
        fence(Ordering::SeqCst);
        self.wake_fenced(index)
    }

    /// As `wake`, when the caller has passed a SeqCst fence since it published the work.
    pub(crate) fn wake_fenced(&self, index: usize) -> bool {
        let bed = &self.beds[index];
        // Release: pairs with the acquire in `park` and `cancel`. The swap lets only one waker pay for the system call.
        if bed.asleep.load(Ordering::Relaxed) && bed.asleep.swap(false, Ordering::Release) {
            if let Some(thread) = lock(&bed.thread).as_ref() {
                thread.unpark();
            }
            return true;
        }
        false
    }

    /// Wakes the first sleeper in the given order, if any. Call it after the work is published.
    pub fn wake_one_of(&self, order: impl IntoIterator<Item = usize>) -> Option<usize> {
        // Pairs with the fence in `announce` (module documentation).
        fence(Ordering::SeqCst);
        order.into_iter().find(|&index| self.wake_fenced(index))
    }

    /// Whether every worker is announced asleep. Exact only with a fence before, and as long as nobody makes work.
    pub fn all_asleep(&self) -> bool {
        (0..self.beds.len()).all(|index| self.is_asleep(index))
    }
}
