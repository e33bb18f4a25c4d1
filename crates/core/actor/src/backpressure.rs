//! Muting: how a full mailbox holds back the actors that fill it.
//!
//! # Why muting cannot deadlock
//!
//! A mailbox is *overloaded* from when it exceeds its capacity until its actor has brought it down
//! to half of that; then all actors muted on it go on. An actor is muted on an overloaded mailbox
//! only if its own mailbox is not overloaded then: it marks the other mailbox, passes a SeqCst
//! fence, and looks at the mark of its own.
//!
//! Suppose a cycle of actors, each muted on the next one's mailbox, and let `z`, muted on `x`, be
//! the last to have passed the fence. Another, `y`, is muted on `z`: it marked `z` before its
//! fence, which came before `z`'s, and the mark is still there (it would have let `y` go on
//! otherwise). So `z` saw it, and was not muted. So there is no cycle, and at the end of every
//! chain stands an actor that runs.

use actinium_scheduler::Worker;
use actinium_scheduler::guard::{self, Guarded};
use actinium_scheduler::sync::atomic::{AtomicBool, Ordering, fence};
use actinium_scheduler::sync::{Mutex, lock};
use std::task::Waker;

/// A reference to an actor that sends, with the operations that muting needs.
pub(crate) trait Sender: Sized {
    /// Whether both refer to the same actor.
    fn is(&self, other: &Self) -> bool;

    /// The state of its own mailbox, if that is bounded.
    fn backpressure(&self) -> Option<&Backpressure<Self>>;

    /// Mutes it. The caller runs in its turn.
    fn mute(&self);

    /// Lets it run again.
    fn unmute(&self, worker: &Worker);
}

/// The senders that wait for capacity in one bounded mailbox; `R` refers to an actor.
pub(crate) struct Backpressure<R> {
    /// The mailbox has exceeded its capacity and has not come down to half of it since.
    overloaded: AtomicBool,
    waiting: Mutex<Waiting<R>>,
}

struct Waiting<R> {
    muted: Vec<R>,
    /// The wakers of external threads and tasks, woken when the mailbox takes messages again.
    wakers: Vec<Guarded<Waker>>,
}

impl<R> Default for Waiting<R> {
    fn default() -> Self {
        Waiting { muted: Vec::new(), wakers: Vec::new() }
    }
}

impl<R> Default for Backpressure<R> {
    fn default() -> Self {
        Backpressure { overloaded: AtomicBool::new(false), waiting: Mutex::new(Waiting::default()) }
    }
}

impl<R: Sender + Clone> Backpressure<R> {
    /// The actors that are muted on this mailbox, and how many outside wait for it.
    pub(crate) fn held_back(&self) -> (Vec<R>, usize) {
        if !self.is_overloaded() {
            return (Vec::new(), 0);
        }
        let waiting = lock(&self.waiting);
        (waiting.muted.clone(), waiting.wakers.len())
    }
}

impl<R: Sender> Backpressure<R> {
    /// Whether an actor with this mailbox is exempt from muting.
    fn is_overloaded(&self) -> bool {
        // Acquire: pairs with the releases below.
        self.overloaded.load(Ordering::Acquire)
    }

    /// Wakes this waker when the mailbox takes messages again, or at once if `takes_more` says that
    /// it does by now.
    pub(crate) fn wait(&self, waker: &Waker, takes_more: impl Fn() -> bool) {
        // Wakers are user code: not under the lock.
        let own = Guarded::new(waker.clone());
        let mut waiting = lock(&self.waiting);
        // Under the lock that the receiver takes after handling messages: either it sees the waker,
        // or we see what it did.
        self.overloaded.store(true, Ordering::Release);
        // Pairs with the fence in `release`: either we see the free capacity, or the receiver sees
        // the mark and comes for the lock.
        fence(Ordering::SeqCst);
        if takes_more() {
            drop(waiting);
            guard::wake(own.into_inner());
        } else if !waiting.wakers.iter().any(|other| other.will_wake(waker)) {
            waiting.wakers.push(own);
        } else {
            drop(waiting);
        }
    }

    /// Mutes `sender`, in whose turn this is, because this mailbox exceeds its capacity. False if
    /// that is the sender's own mailbox (`is_own`), the sender is overloaded too, or the mailbox is
    /// closed.
    pub(crate) fn mute(&self, sender: R, is_own: bool, is_closed: impl Fn() -> bool) -> bool {
        let mut waiting = lock(&self.waiting);
        // Release, for its acquires; and the fence: see the module documentation. Marked even if
        // the sender is exempt: whoever is muted on this mailbox waits for the mark to go.
        self.overloaded.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        let exempt = sender.backpressure().is_some_and(Backpressure::is_overloaded);
        // Closed is seen under the lock: an actor that ends takes it after it has closed its
        // mailbox.
        if is_own || exempt || is_closed() {
            return false;
        }
        if !waiting.muted.iter().any(|muted| muted.is(&sender)) {
            sender.mute();
            waiting.muted.push(sender);
        }
        true
    }

    /// Lets the muted senders go on after a turn of the mailbox's actor, if that has caught up to
    /// half of its capacity or has ended.
    pub(crate) fn release(
        &self,
        is_closed: bool,
        len: impl Fn() -> usize,
        capacity: impl Fn() -> usize,
        worker: &Worker,
    ) {
        // Pairs with the fence in `wait`.
        fence(Ordering::SeqCst);
        // One that has ended takes the lock in any case: whoever comes after that sees that it is
        // closed.
        if !is_closed && (!self.is_overloaded() || len() > capacity() / 2) {
            return;
        }
        let mut waiting = lock(&self.waiting);
        self.overloaded.store(false, Ordering::Release);
        let Waiting { muted, wakers } = std::mem::take(&mut *waiting);
        drop(waiting);
        for sender in muted {
            sender.unmute(worker);
        }
        for waker in wakers {
            guard::wake(waker.into_inner());
        }
    }
}
