//! Sending from a turn: waking others, buffering messages and notifications.

use super::{RunBuffer, Worker};
use crate::counters::UNCOUNTED;
use crate::owned::Owned;
use crate::policy::tuning::LONG_NS;
use crate::recording::Act;
use crate::runnable::{AGAIN, BY_NEIGHBOUR, Header, Runnable, SCHEDULED, Turn};
use crate::shared::Shared;
use crate::speculation;

/// Most runnables shared at a time from within a turn: many of them may have been made by this very
/// turn, and then wait for nothing else.
const SHARED_IN_TURN: usize = 16;

impl Worker {
    /// The runnable, as `Ok` if this worker owns it, else as `Err`. The processor reads nothing by
    /// that which is in `Ok` before it knows the answer (see `speculation`): what a sender may
    /// write to if it owns the receiver, it reaches by this.
    ///
    /// # Safety
    /// The runnable is alive.
    #[inline(always)]
    pub unsafe fn if_owned(&self, runnable: Runnable) -> Result<Runnable, Runnable> {
        let owner = runnable.header().owner();
        if owner == self.ends.id_while_closed() {
            // It has sent to nobody else of late: the guess is right, and to wait for the answer
            // would cost a tenth.
            return Ok(runnable);
        }
        let header = speculation::if_equal((owner, self.id), runnable.0);
        header.map(Runnable).map_err(Runnable)
    }

    /// A runnable that this worker owns has something to do.
    ///
    /// # Safety
    /// The runnable is alive, and this worker owns it ([`Header::is_owned_by`]).
    #[inline(always)]
    pub unsafe fn schedule(&self, runnable: Runnable) {
        // SAFETY: by contract.
        self.schedule_owned(unsafe { Owned::new(runnable) });
    }

    #[inline(always)]
    pub(super) fn schedule_owned(&self, mut owned: Owned<'_>) {
        let is_new = owned.with(|private| {
            let flags = private.flags;
            if flags & SCHEDULED == 0 {
                private.flags = flags & !(AGAIN | BY_NEIGHBOUR) | self.woken_by.get();
            }
            flags & SCHEDULED == 0
        });
        // Without an owner between turns, what this worker owns is what it runs: it will be looked
        // at again.
        if is_new {
            self.push(owned);
        }
    }

    /// Sees to it that a runnable runs to whose shared queue something was pushed by a thread that
    /// does not own it.
    ///
    /// # Safety
    /// The runnable is alive and of this scheduler, and `from`, if any, is the calling thread's
    /// worker of this scheduler.
    #[inline]
    pub unsafe fn notify(shared: &Shared, runnable: Runnable, from: Option<&Worker>) {
        if runnable.header().set_notified() {
            Worker::deliver_notification(shared, runnable, from);
        }
    }

    /// Delivers a notification that the caller has set.
    fn deliver_notification(shared: &Shared, runnable: Runnable, from: Option<&Worker>) {
        match from {
            Some(worker) if worker.keeps_idle => {
                worker.post(runnable, shared.receiver_of(runnable));
            }
            Some(worker) => shared.queue_unowned(runnable, worker.index),
            None => shared.deliver_from_outside(runnable),
        }
    }

    /// Counts a send of this worker; true if this one shall be sampled (then [`Worker::sample`]).
    #[inline(always)]
    pub fn count_send(&self) -> bool {
        if UNCOUNTED {
            return false;
        }
        self.sampler.count()
    }

    /// Every so manieth send, to `target`: its stamp, which is the time, or 0 if no figures are
    /// kept; while a traced step runs every send, whose stamp is that of a traced message. Also
    /// looks whether this turn takes so long that others wait, and whether the sender had better be
    /// where the target is.
    ///
    /// # Safety
    /// The target is alive.
    #[cold]
    #[inline(never)]
    pub unsafe fn sample(&self, target: Runnable) -> u64 {
        self.flush_counts();
        let mut traced = None;
        if self.traced.get() {
            let stamp = self.stamp_traced();
            if !self.is_sample_too() {
                return stamp;
            }
            traced = Some(stamp);
        }
        self.note_affinity(target);
        // SAFETY: alive, by contract.
        unsafe { self.note_crowd(target) };
        let now_ns = self.shared.clock.now_ns();
        self.sampler.sampled_at(now_ns);
        let current_ns = now_ns.saturating_sub(self.began_ns.get());
        // Twice in one turn: else it may only be that the system did not run this thread for a
        // while.
        let turn = (self.counters().ticks.get(), self.round.get());
        if self.sampler.sampled_in(turn) && current_ns >= LONG_NS {
            self.note_long_turn(current_ns);
            self.hand_on(current_ns, SHARED_IN_TURN);
        }
        if let Some(stamp) = traced.or_else(|| self.flow_stamp(now_ns)) {
            return stamp;
        }
        if self.shared.settings.figures { now_ns.max(1) } else { 0 }
    }

    pub(super) fn flush_counts(&self) {
        self.counters().handled.add(self.handled.take());
        self.counters().bytes.add(self.handled_bytes.take());
        self.counters().sent.add(self.sampler.take_count().into());
    }

    /// The running turn sends to a runnable at another worker: the how manieth time in a row,
    /// from 0.
    #[inline]
    pub fn count_run(&self, target: *const Header) -> u64 {
        let (last, times) = self.run.get();
        if last == target {
            self.run.set((target, times + 1));
            return times + 1;
        }
        self.end_run();
        self.run.set((target, 0));
        0
    }

    /// The turn has ended, turns to somebody else, or does what must not overtake its messages:
    /// what it has buffered leaves.
    #[inline(always)]
    pub fn end_run(&self) {
        if !self.run.get().0.is_null() {
            self.flush_run();
        }
    }

    /// Calls `f` when the running turn has ended, before anybody else may run it: what the turn has
    /// buffered for elsewhere can leave in order then, wherever its runnable goes next. Of several
    /// calls in a turn only the last counts.
    #[inline]
    pub fn at_turn_end(&self, f: fn()) {
        self.at_turn_end.set(Some(f));
    }

    /// A turn of a runnable has ended in this way: what it has buffered leaves.
    #[inline(always)]
    pub(super) fn end_turn(&self, runnable: Runnable, turn: Turn) -> Turn {
        if self.run.get().0.is_null() && self.at_turn_end.get().is_none() {
            return turn;
        }
        self.end_turn_with_messages(runnable, turn)
    }

    #[inline(never)]
    fn end_turn_with_messages(&self, runnable: Runnable, turn: Turn) -> Turn {
        self.end_run();
        while let Some(f) = self.at_turn_end.take() {
            f();
        }
        // All of this may call user code (a listener), which may send to whose turn it was: it
        // still counts as scheduled, so that it was not scheduled for that.
        // SAFETY: this worker holds the runnable, which is alive.
        if turn == Turn::Idle && unsafe { (runnable.header().vtable.pending)(runnable.0) } > 0 {
            return Turn::Again;
        }
        turn
    }

    #[cold]
    pub(super) fn flush_run(&self) {
        self.run.set((std::ptr::null(), 0));
        // Taken out first: delivering may call user code (a listener to dead letters), which may
        // send.
        if let Some(mut buffer) = self.run_buffer.take() {
            buffer.flush(self);
        }
    }

    /// Delivers what the run has buffered, for it is enough to leave now; the run goes on.
    pub fn deliver_run(&self) {
        let run = self.run.get();
        let Some(mut buffer) = self.run_buffer.take() else { return };
        buffer.flush(self);
        if self.run.get() == run {
            self.run_buffer.with(|slot| *slot = Some(buffer));
        }
    }

    /// Lends what the running turn has buffered to `f`.
    ///
    /// # Safety
    /// `f` calls no user code and does not come back to the worker's streams.
    pub unsafe fn with_run_buffer<R>(
        &self,
        f: impl FnOnce(&mut Option<Box<dyn RunBuffer>>) -> R,
    ) -> R {
        self.run_buffer.with(f)
    }

    /// Posts a notification of a runnable at another worker: it is buffered, and delivered at the
    /// latest at the end of the round.
    #[inline]
    pub(crate) fn post(&self, runnable: Runnable, index: usize) {
        // SAFETY: whoever posts has set the notification.
        self.outbox.with(|outbox| unsafe { outbox[index].add(runnable) });
        self.counters().posted.add(1);
        self.posted.set(true);
        if self.shared.sleep.is_asleep(index) {
            self.flush(index);
        }
    }

    pub(super) fn flush(&self, index: usize) {
        let posted = self.outbox.with(|outbox| {
            let chain = &mut outbox[index];
            let posted = !chain.is_empty();
            self.shared.inboxes[index].push_chain(chain);
            posted
        });
        if posted {
            self.wake(index);
        }
    }

    pub(super) fn flush_all(&self) {
        if self.posted.replace(false) {
            for index in 0..self.shared.workers() {
                self.flush(index);
            }
        }
    }

    pub(super) fn wake(&self, index: usize) {
        if self.shared.sleep.wake(index) {
            self.counters().woken.add(1);
            self.note_called(index);
            self.record(Act::Wake { worker: index });
        }
    }
}
