//! Muting: how a full mailbox holds back the actors that fill it.
//!
//! # Why muting cannot deadlock
//!
//! A mailbox is *overloaded* from when it exceeds its capacity until its actor has brought it down to half of that; then all actors
//! muted on it go on. An actor is muted on an overloaded mailbox only if its own mailbox is not overloaded then: it marks the other
//! mailbox, passes a SeqCst fence, and looks at the mark of its own.
//!
//! Suppose a cycle of actors, each muted on the next one's mailbox, and let `z`, muted on `x`, be the last to have passed the fence.
//! Another, `y`, is muted on `z`: it marked `z` before its fence, which came before `z`'s, and the mark is still there (it would have
//! let `y` go on otherwise). So `z` saw it, and was not muted. So there is no cycle, and at the end of every chain stands an actor
//! that runs.

use crate::actor::Actor;
use crate::cell::{ActorCell, Core, CoreRef};
use actinium_scheduler::Worker;
use actinium_scheduler::sync::atomic::{AtomicBool, Ordering, fence};
use actinium_scheduler::sync::{Mutex, lock};

/// Those who wait for room in one bounded mailbox.
#[derive(Default)]
pub(crate) struct Backpressure {
    /// Exceeded its capacity and has not come down to half of it since.
    overloaded: AtomicBool,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    muted: Vec<CoreRef>,
    /// Threads and tasks outside actors, woken when there is room.
    wakers: Vec<std::task::Waker>,
}

impl Backpressure {
    /// Whether an actor with this mailbox is exempt from muting.
    fn is_overloaded(&self) -> bool {
        // Acquire: pairs with the releases below.
        self.overloaded.load(Ordering::Acquire)
    }

    /// Wakes this waker when there is room, or at once if `has_room` says that there is by now.
    pub(crate) fn wait_for_room(&self, waker: &std::task::Waker, has_room: impl Fn() -> bool) {
        let mut waiting = lock(&self.waiting);
        // Under the lock that the receiver takes after making room: either it sees the waker, or we see the room.
        self.overloaded.store(true, Ordering::Release);
        // Pairs with the fence in `let_senders_go_on`: either we see the room, or the receiver sees the mark and comes for the lock.
        fence(Ordering::SeqCst);
        if has_room() {
            // Not under the lock: wakers are user code.
            drop(waiting);
            waker.wake_by_ref();
        } else if !waiting.wakers.iter().any(|other| other.will_wake(waker)) {
            waiting.wakers.push(waker.clone());
        }
    }
}

impl<A: Actor> ActorCell<A> {
    /// The mailbox exceeds its capacity because of what `worker` runs: mutes that, unless that is this actor itself or is overloaded too.
    pub(crate) fn mute_running(&self, worker: &Worker) -> bool {
        let (Some(mine), Some(sender)) = (self.core.backpressure.as_deref(), running_core(worker))
        else {
            return false;
        };
        let mut waiting = lock(&mine.waiting);
        // Release, for its acquires; and the fence: see the module documentation. Marked even if the sender is exempt: whoever is muted on
        // this mailbox waits for the mark to go.
        mine.overloaded.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        let exempt = sender.backpressure.as_deref().is_some_and(Backpressure::is_overloaded);
        // Closed is seen under the lock: an actor that ends takes it after it has closed its mailbox.
        if sender.id == self.core.id || exempt || self.is_closed() {
            return false;
        }
        if !waiting.muted.iter().any(|muted| muted.id == sender.id) {
            sender.mute();
            waiting.muted.push(sender);
        }
        drop(waiting);
        // The receiver looks at `overloaded` after each turn; if it has had its last one meanwhile, this brings another.
        self.core.wake(Some(worker));
        true
    }

    /// After a turn of this bounded mailbox's actor: lets those go on whom it had muted, if it has caught up.
    #[cold]
    pub(crate) fn let_senders_go_on(&self, worker: &Worker) {
        let Some(mine) = self.core.backpressure.as_deref() else {
            return;
        };
        // One that has ended takes the lock in any case: whoever comes after that sees that it is closed.
        let closed = self.is_closed();
        // Pairs with the fence in `wait_for_room`.
        fence(Ordering::SeqCst);
        if !closed && (!mine.is_overloaded() || self.len() > self.capacity() / 2) {
            return;
        }
        let mut waiting = lock(&mine.waiting);
        mine.overloaded.store(false, Ordering::Release);
        let Waiting { muted, wakers } = std::mem::take(&mut *waiting);
        drop(waiting);
        for sender in muted {
            sender.unmute(Some(worker));
        }
        for waker in wakers {
            waker.wake();
        }
    }
}

/// What the worker runs now, as an actor.
fn running_core(worker: &Worker) -> Option<CoreRef> {
    Core::running_on(worker)
}
