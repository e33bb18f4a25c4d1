//! The runnable that a worker runs, for others to see: so a report can name whom somebody waits for
//! in vain.
//!
//! A turn only stores a pointer into the worker itself, as it would without anybody looking. Others
//! find that place through the worker's seat, whose lock keeps it there while they look.

use crate::runnable::{Header, Runnable};
use crate::sync::{Mutex, lock};
use std::ptr::{NonNull, null_mut};
// Not the model checkers' atomics: nothing is decided by what is seen here.
use std::sync::atomic::{AtomicPtr, Ordering};

/// The runnable that a worker runs, or disposes of; null: none.
#[derive(Debug)]
pub(crate) struct Occupation {
    running: AtomicPtr<Header>,
    disposing: AtomicPtr<Header>,
}

impl Occupation {
    pub(crate) fn none() -> Self {
        Occupation { running: AtomicPtr::new(null_mut()), disposing: AtomicPtr::new(null_mut()) }
    }

    /// The runnable that it runs, or has run last in this round. Asked by the worker itself.
    #[inline(always)]
    pub(crate) fn running(&self) -> Option<Runnable> {
        // Relaxed: the worker's own.
        NonNull::new(self.running.load(Ordering::Relaxed)).map(Runnable)
    }

    #[inline(always)]
    pub(crate) fn run(&self, runnable: Runnable) {
        // Relaxed: others only compare it (`Sighting`).
        self.running.store(runnable.0.as_ptr(), Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn rest(&self) {
        // Relaxed: as above.
        self.running.store(null_mut(), Ordering::Relaxed);
    }

    /// Notes what it disposes of at its end; `None`: nothing more.
    pub(crate) fn dispose(&self, runnable: Option<Runnable>) {
        // Relaxed: as above.
        self.disposing.store(runnable.map_or(null_mut(), |it| it.0.as_ptr()), Ordering::Relaxed);
    }

    fn seen(&self) -> Option<Sighting> {
        // Relaxed, both: as above.
        let running = NonNull::new(self.running.load(Ordering::Relaxed));
        let disposing = || NonNull::new(self.disposing.load(Ordering::Relaxed));
        running.or_else(disposing).map(Sighting)
    }
}

/// A runnable that a worker was seen at. The runnable may have ended since: a sighting is only good
/// for comparing.
#[derive(Clone, Copy, Debug)]
pub struct Sighting(NonNull<Header>);

// SAFETY: the pointer is never followed.
unsafe impl Send for Sighting {}

impl Sighting {
    /// Whether it was this one.
    pub fn is(self, runnable: Runnable) -> bool {
        self.0 == runnable.0
    }
}

/// A worker's seat: where the worker is while its thread has entered it.
#[derive(Debug, Default)]
pub(crate) struct Seat(Mutex<Option<Taken>>);

#[derive(Debug)]
struct Taken(NonNull<Occupation>);

// SAFETY: what it points to is used through atomics, and stays as long as it stands in the seat
// (`Seat::take`).
unsafe impl Send for Taken {}

impl Seat {
    /// The worker with this occupation is there until [`Seat::leave`].
    ///
    /// # Safety
    /// The occupation stays where it is until then.
    pub(crate) unsafe fn take(&self, occupation: &Occupation) {
        *lock(&self.0) = Some(Taken(NonNull::from(occupation)));
    }

    pub(crate) fn leave(&self) {
        *lock(&self.0) = None;
    }

    /// Whether the worker is seen to run this runnable. False also if another looks just now: so
    /// none waits.
    pub(crate) fn is_at(&self, runnable: NonNull<Header>) -> bool {
        let Ok(taken) = self.0.try_lock() else { return false };
        // SAFETY: as in `look`.
        let seen = taken.as_ref().and_then(|taken| unsafe { taken.0.as_ref() }.seen());
        seen.is_some_and(|Sighting(seen)| seen == runnable)
    }

    pub(crate) fn look(&self) -> Option<Sighting> {
        let taken = lock(&self.0);
        // SAFETY: it stays where it is as long as it stands here, which the lock ensures (`take`).
        taken.as_ref().and_then(|taken| unsafe { taken.0.as_ref() }.seen())
    }
}
