//! Once a round: time, timers, new and returning runnables, notifications.

use super::{Callback, Worker};
use crate::owned::Owned;
use crate::policy::tuning::{ROUND, weigh};
use crate::runnable::{CONTROL_PENDING, DEAD, IN_TRANSIT, NOTIFIED, Runnable, SCHEDULED};
use crate::sync::atomic::Ordering;
use crate::wheel::{TimerKey, Wheel};

impl Worker {
    /// Once a round: time, timers, what others sent, what others could take.
    #[inline(never)]
    pub(super) fn tick(&self) {
        // No turn is under way.
        self.now.rest();
        self.woken_by.set(SCHEDULED);
        // At first: until receivers are looked after below, the cache lines have time to go there.
        self.counters().published.add(self.ends.publish_all());
        let turns = ROUND - self.round.replace(ROUND) - self.cut.replace(0);
        let now_ns = self.shared.clock.now_ns();
        self.begins(now_ns, ROUND);
        self.published_ns.set(now_ns);
        let took_ns = now_ns.saturating_sub(self.round_ns.replace(now_ns));
        self.note_round(now_ns, took_ns, turns);
        if turns > 0 {
            let turn_ns = u64::from(weigh(self.turn_ns.get() as u32, took_ns / u64::from(turns)));
            self.turn_ns.set(turn_ns);
            // Relaxed: a hint for thieves.
            self.shared.turn_ns[self.index].store(turn_ns as usize, Ordering::Relaxed);
        }
        let counters = self.counters();
        counters.ticks.add(1);
        counters.turns.add(u64::from(turns));
        self.flush_counts();
        self.note_spread(now_ns, took_ns, turns);
        if self.shared.recording().keeps() != self.heeded.get() {
            self.heed_recording(now_ns);
        }
        if self.shared.control.wants_attention() {
            self.attend();
        }
        self.fire(now_ns);
        self.shared.deadlines.fire(now_ns);
        self.drain_returns();
        self.read_inbox();
        self.receive_lanes(took_ns);
        self.tend_graces();
        if let Some(poller) = self.shared.idle_poller()
            && !self.polled.take()
        {
            poller.poll(self.index, false);
        }
        self.take_back();
        // Last, for all of the above may post; a worker never sleeps on what it has buffered for
        // others.
        self.flush_all();
        self.tend_lanes();
        self.favour_crowded(now_ns - took_ns);
        self.rescale(now_ns);
        self.share_between_turns();
        self.leave_if_delayed(now_ns);
        self.balance(now_ns, if turns > 0 { took_ns } else { 0 });
    }

    #[cold]
    pub(super) fn attend(&self) {
        self.flush_lanes();
        self.flush_all();
        self.shared.control.pause_point();
        if self.shared.control.is_draining() {
            // Callbacks are dropped when the wheel is no longer lent: they may hold user values.
            drop(self.timers.with(|timers| std::mem::replace(timers, Wheel::new(0))));
        }
        if self.shared.control.exit_requested() {
            // What is queued is not run any more; it is disposed of when all workers have stopped.
            while let Some(runnable) = self.pop() {
                if !self.keeps_idle {
                    // It is notified, which says that it lies in a queue: where others find it,
                    // too.
                    self.shared.steal_queues[self.index].lock().push_back(runnable.runnable());
                }
            }
        }
    }

    pub(super) fn fire(&self, now_ns: u64) {
        let due =
            self.timers.with(|timers| timers.next_deadline().is_some_and(|next| next <= now_ns));
        if !due {
            return;
        }
        let mut fired = self.fired.take();
        self.timers.with(|timers| timers.advance(now_ns, &mut fired));
        self.counters().timers.add(fired.len() as u64);
        for (_, callback) in fired.drain(..) {
            callback(self);
        }
        self.fired.with(|empty| *empty = fired);
    }

    /// Calls `callback` on this worker when the scheduler's clock shows `deadline_ns`.
    pub fn set_timer(&self, deadline_ns: u64, callback: Callback) -> TimerKey {
        self.timers.with(|timers| timers.insert(deadline_ns, callback))
    }

    /// Cancels a timer of this worker and returns its callback; `None` if it has fired.
    pub fn cancel_timer(&self, key: TimerKey) -> Option<Callback> {
        self.timers.with(|timers| timers.cancel(key))
    }

    /// The earliest time at which a timer may be due. The first worker also looks after the
    /// deadlines of those outside.
    pub fn next_timer_ns(&self) -> Option<u64> {
        let own = self.timers.with(|timers| timers.next_deadline());
        let outside = if self.index == 0 { self.shared.deadlines.next_ns() } else { None };
        own.into_iter().chain(outside).min()
    }

    /// New runnables, and idle ones that came home.
    pub(super) fn drain_returns(&self) {
        if !self.shared.return_queues[self.index].is_empty() {
            self.take_home(None);
        }
    }

    /// Takes what is in the return queue; true if `wanted` was among it.
    pub(super) fn take_home(&self, wanted: Option<Runnable>) -> bool {
        let mut found = false;
        let mut queue = self.lock_to_take(&self.shared.return_queues[self.index], |len| len);
        let epoch = self.shared.lanes.raise_epoch();
        for runnable in queue.drain(..) {
            found |= Some(runnable) == wanted;
            runnable.header().take_over(self.id, epoch);
            // SAFETY: this worker owns the runnable now.
            let mut owned = unsafe { Owned::new(runnable) };
            if owned.set_flags(NOTIFIED | CONTROL_PENDING) & SCHEDULED != 0 {
                self.push(owned);
            }
        }
        found
    }

    /// Starts a new runnable here.
    ///
    /// # Safety
    /// The caller has made it, with a reference for the scheduler, and nobody else has started it,
    /// owns it or sends to it yet.
    #[inline]
    pub unsafe fn start(&self, runnable: Runnable) {
        if self.keeps_idle {
            // Relaxed: only this worker tests for its own id.
            runnable.header().owner.store(self.id, Ordering::Relaxed);
            // SAFETY: this worker owns the runnable now.
            self.push(unsafe { Owned::new(runnable) });
        } else {
            // SAFETY: by contract.
            unsafe { self.shared.start(runnable, self.index) }
        }
    }

    /// Receives notifications that others have sent.
    pub(super) fn read_inbox(&self) {
        for runnable in self.shared.inboxes[self.index].take() {
            self.receive(runnable);
        }
    }

    pub(super) fn receive(&self, runnable: Runnable) {
        let header = runnable.header();
        loop {
            // Acquire: pairs with the release of DEAD in `retire`. No model can tell: before
            // anything is freed there is a fence, too.
            let owner = header.owner.load(Ordering::Acquire);
            if owner == self.id {
                header.clear_notified();
                // SAFETY: its notification has kept it, and this worker owns it.
                return unsafe { self.notify_owned(runnable) };
            }
            if owner == self.id | IN_TRANSIT {
                // It lies in one of this worker's queues. Only under the lock is that certain to
                // last until the notification is cleared; the lock then orders this before the turn
                // of whoever takes it.
                let queue = self.shared.steal_queues[self.index].lock();
                if header.owner.load(Ordering::Relaxed) == owner {
                    header.clear_notified();
                    drop(queue);
                    // If it lay in the steal queue, somebody may have taken it from there by now,
                    // and may have ended it: it will run, and is not touched here any more. On its
                    // way home it is idle, and must be queued like anything that wakes; the queue's
                    // length says nothing yet, for its owner is set before it is in.
                    if self.take_home(Some(runnable)) {
                        // SAFETY: this worker has just taken it over.
                        unsafe { self.notify_owned(runnable) };
                    }
                    return;
                }
                continue;
            }
            if owner == DEAD {
                // It ended while this notification was on its way, so its release was left to the
                // receiver: us.
                return self.release_dead(runnable);
            }
            self.counters().forwarded.add(1);
            return self.post(runnable, self.shared.index_of(owner));
        }
    }

    /// Something that this worker owns has messages in its shared queue.
    ///
    /// # Safety
    /// The runnable is alive, and this worker owns it.
    pub unsafe fn notify_owned(&self, runnable: Runnable) {
        // SAFETY: by contract.
        let mut owned = unsafe { Owned::new(runnable) };
        owned.set_flags(NOTIFIED | CONTROL_PENDING);
        self.schedule_owned(owned);
    }
}
