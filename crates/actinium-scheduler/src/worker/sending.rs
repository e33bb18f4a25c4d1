//! What a turn does to others: waking, sending, gathering.

use super::{Gathered, LONG_NS, Worker, sharing};
use crate::counters::UNCOUNTED;
use crate::policy::pace;
pub(super) use crate::policy::pace::SAMPLED;
use crate::runnable::{AGAIN, BY_NEIGHBOUR, Header, Runnable, SCHEDULED, Turn};

/// Samples that come faster than this, in nanoseconds, come about half as often from then on: a sample costs some 100 ns, which then is below
/// 2 % of the time between two.
const SAMPLES_TOO_CLOSE_NS: u64 = 5_000;
/// Samples that come slower than this, in nanoseconds, come about twice as often: a turn that takes too long is noticed by them.
const SAMPLES_TOO_FAR_NS: u64 = 20_000;

impl Worker {
    /// A runnable that this worker owns has something to do.
    #[inline(always)]
    pub fn schedule(&self, runnable: Runnable) {
        // SAFETY: this worker owns the runnable (the caller has tested it), and the closure calls no user code.
        let is_new = unsafe {
            runnable.header().private.with(|private| {
                let flags = private.flags;
                if flags & SCHEDULED == 0 {
                    private.flags =
                        flags & !(AGAIN | BY_NEIGHBOUR) | SCHEDULED | self.woken_by.get();
                }
                flags & SCHEDULED == 0
            })
        };
        // Without an owner between turns, what this worker owns is what it runs: it will be looked at again.
        if is_new {
            self.push(runnable);
        }
    }

    /// Counts a send of this worker; true if this one shall be sampled (then [`Worker::sample`]).
    #[inline(always)]
    pub fn count_send(&self) -> bool {
        if UNCOUNTED {
            return false;
        }
        let left = self.sends_left.get() - 1;
        self.sends_left.set(left);
        left == 0
    }

    /// Every so manieth send, to `target`: the time, or 0 if no figures are kept. Also looks whether this turn takes so long that others wait, and
    /// whether the sender had better be where the target is.
    #[cold]
    #[inline(never)]
    pub fn sample(&self, target: Runnable) -> u64 {
        self.flush_counts();
        self.note_talk(target);
        let now_ns = self.shared.clock.now_ns();
        let apart_ns = now_ns.saturating_sub(self.sampled_ns.replace(now_ns));
        let every = self.sample_every.get();
        if apart_ns < SAMPLES_TOO_CLOSE_NS {
            self.sample_every.set(pace::sampled_less(every));
        } else if apart_ns > SAMPLES_TOO_FAR_NS {
            self.sample_every.set(pace::sampled_more(every));
        }
        let current_ns = now_ns.saturating_sub(self.began_ns.get());
        // Twice in one turn: else it may only be that the system did not run this thread for a while.
        let turn = (self.counters().ticks.get(), self.round.get());
        if self.sampled_turn.replace(turn) == turn && current_ns >= LONG_NS {
            self.hand_on(current_ns, sharing::EXPOSED_IN_TURN);
        }
        if self.shared.settings.figures { now_ns.max(1) } else { 0 }
    }

    pub(super) fn flush_counts(&self) {
        self.counters().handled.add(self.handled.take());
        self.counters().bytes.add(self.handled_bytes.take());
        let left = self.sends_left.get();
        self.counters().sent.add(u64::from(self.sends_flushed.get() - left));
        // The countdown to the next sample goes on: a short round must not put it off.
        let left = if left == 0 { self.sample_every.get() } else { left };
        self.sends_left.set(left);
        self.sends_flushed.set(left);
    }

    /// The running turn sends to a runnable at another worker: the how manieth time in a row, from 0.
    #[inline]
    pub fn count_run(&self, target: *const Header) -> u32 {
        let (last, times) = self.run.get();
        if last == target {
            self.run.set((target, times + 1));
            return times + 1;
        }
        self.end_run();
        self.run.set((target, 0));
        0
    }

    /// The turn has ended, turns to somebody else, or does what must not overtake its messages: what it has gathered leaves.
    #[inline(always)]
    pub fn end_run(&self) {
        if !self.run.get().0.is_null() {
            self.flush_gathered();
        }
    }

    /// Calls `f` when the running turn has ended, before anybody else may run it: what the turn has gathered for elsewhere can leave in order
    /// then, wherever its runnable goes next. Of several calls in a turn only the last counts.
    #[inline]
    pub fn at_turn_end(&self, f: fn()) {
        self.at_turn_end.set(Some(f));
    }

    /// A turn of a runnable has ended in this way: what it has gathered leaves.
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
        // All of this may call user code (a listener), which may send to whose turn it was: it still counts as scheduled, so that it was not
        // scheduled for that.
        // SAFETY: this worker holds the runnable, which is alive.
        if turn == Turn::Idle && unsafe { (runnable.header().vtable.pending)(runnable.0) } > 0 {
            return Turn::Again;
        }
        turn
    }

    #[cold]
    pub(super) fn flush_gathered(&self) {
        self.run.set((std::ptr::null(), 0));
        // Taken out first: delivering may call user code (a listener to dead letters), which may send.
        // SAFETY: this thread's own, and the closure calls no user code.
        if let Some(mut gathered) = unsafe { self.gathered.with(Option::take) } {
            gathered.flush(self);
        }
    }

    /// So much is gathered that it leaves now, though the run goes on.
    pub fn deliver_gathered(&self) {
        let run = self.run.get();
        // SAFETY: as above.
        let Some(mut gathered) = (unsafe { self.gathered.with(Option::take) }) else { return };
        gathered.flush(self);
        if self.run.get() == run {
            // SAFETY: as above.
            unsafe { self.gathered.with(|slot| *slot = Some(gathered)) };
        }
    }

    /// Lends what the running turn has gathered to `f`.
    ///
    /// # Safety
    /// `f` calls no user code and does not come back to the worker's streams.
    pub unsafe fn with_gathered<R>(
        &self,
        f: impl FnOnce(&mut Option<Box<dyn Gathered>>) -> R,
    ) -> R {
        // SAFETY: this thread's own, and by contract.
        unsafe { self.gathered.with(f) }
    }

    /// A token for a runnable at another worker: gathered, and delivered at the latest at the end of the round.
    #[inline]
    pub(crate) fn post(&self, runnable: Runnable, index: usize) {
        // SAFETY: this thread owns the outbox, and the closure calls no user code.
        unsafe { self.outbox.with(|outbox| outbox[index].add(runnable)) };
        self.counters().posted.add(1);
        self.posted.set(true);
        if self.shared.sleep.is_asleep(index) {
            self.flush(index);
        }
    }

    pub(super) fn flush(&self, index: usize) {
        // SAFETY: this thread owns the outbox, and the closure calls no user code.
        let posted = unsafe {
            self.outbox.with(|outbox| {
                let chain = &mut outbox[index];
                let posted = !chain.is_empty();
                self.shared.inboxes[index].push_chain(chain);
                posted
            })
        };
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
        }
    }
}
