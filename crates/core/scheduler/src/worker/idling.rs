//! Idling: a worker without work looks for some for a while, then sleeps.

use super::Worker;
use super::spins::PAUSES;
use crate::policy::tuning::SHORT_NAP_NS;
use crate::recording::Act;
use crate::sync::{park, spin_loop, thread};
use std::time::Duration;

/// Between two looks whether a grace period is over that takes longer than the spinning.
const GRACE: Duration = Duration::from_micros(50);

/// How many times a worker glances at what others send before it says that it is idle: less than a
/// microsecond.
const GLANCES: u32 = if cfg!(any(loom, shuttle, miri)) { 0 } else { 32 };

impl Worker {
    /// Whether something comes from another worker at once: mostly it does where actors of two
    /// workers talk. To say that one is idle would cost more than that takes.
    #[inline]
    pub(super) fn glance(&self) -> bool {
        let shared = &*self.shared;
        shared.lanes.exist()
            && (0..GLANCES).any(|_| {
                spin_loop();
                shared.lanes.has_pending(self.index) || !shared.inboxes[self.index].is_empty()
            })
    }

    /// Nothing to do: looks for work for a while, then sleeps until woken or until the next timer
    /// is due.
    #[cold]
    pub(super) fn idle(&self) {
        if self.shared.idle_poller().is_some_and(|poller| poller.out_of_work(self.index)) {
            return self.polled.set(true);
        }
        self.unload();
        self.shared.sleep.start_looking();
        if let Some(scaling) = &self.shared.scaling {
            scaling.begin_idle(self.index, self.shared.clock.now_ns());
        }
        if !self.is_working() || !self.spin() {
            // Grace periods that ended meanwhile may have sent.
            self.tend_lanes();
            self.flush_all();
            if self.has_graces() {
                // Somebody's turn takes long; what waits for it must not be forgotten.
                park(Some(GRACE));
            } else {
                self.nap();
            }
        }
        if let Some(scaling) = &self.shared.scaling {
            scaling.end_idle(self.index, self.shared.clock.now_ns());
        }
        self.shared.sleep.stop_looking();
        self.load.start(self.shared.clock.now_ns());
    }

    /// Looks for a while; true if there may be something. The less it was worth lately, the
    /// shorter.
    pub(super) fn spin(&self) -> bool {
        let poller = self.shared.idle_poller().filter(|poller| poller.wants_looks());
        for spin in 0..self.spins.rounds() {
            let found = self.may_find_work()
                || {
                    self.tend_graces();
                    self.queue_len() > 0
                }
                || poller.is_some_and(|poller| {
                    self.polled.set(poller.poll(self.index, true));
                    self.polled.get()
                });
            if found {
                self.spins.lengthen();
                return true;
            }
            if spin % 32 == 31 {
                // On a machine with more workers than PUs, whoever has work may need this one.
                thread::yield_now();
            } else if poller.is_none() {
                // At first without much of a pause: what comes from a worker that runs comes soon.
                for _ in 0..PAUSES.min(spin + 1) {
                    spin_loop();
                }
            }
        }
        false
    }

    pub(super) fn may_find_work(&self) -> bool {
        let shared = &*self.shared;
        !shared.inboxes[self.index].is_empty()
            || shared.lanes.has_pending(self.index)
            || !shared.return_queues[self.index].is_empty()
            || !shared.steal_queues[self.index].is_empty()
            || !shared.global.is_empty()
            || shared.idle_poller().is_some_and(|poller| poller.is_called())
            || shared.control.wants_attention()
                && (shared.control.exit_requested() || shared.control.is_paused())
            || shared.neighbours[self.index]
                .iter()
                .any(|&(other, distance)| self.may_steal(other, distance))
    }

    /// The sleep protocol: see `sleep`.
    pub(super) fn nap(&self) {
        self.counters().parked.add(1);
        // SAFETY: this is that worker, which calls nothing that sends before it looks once more and
        // cancels, or was woken.
        unsafe { self.shared.sleep.announce(self.index) };
        if self.may_find_work() {
            self.shared.sleep.cancel(self.index);
            return self.awake();
        }
        self.shared.control.gone_idle();
        let (start_ns, timer_ns) = (self.shared.clock.now_ns(), self.next_timer_ns());
        let timeout_ns = timer_ns.map(|timer_ns| timer_ns.saturating_sub(start_ns));
        let timeout_ns = timeout_ns.into_iter().chain(self.window_ns()).min();
        let timeout = timeout_ns.map(Duration::from_nanos);
        if timeout != Some(Duration::ZERO) {
            self.shared.utilization[self.index].show(self.load.note_sleep(start_ns));
            if let Some(poller) = self.shared.idle_poller() {
                poller.away(self.index);
                // Of several that fall asleep, the last to announce itself sees all (`announce`).
                if self.shared.sleep.seems_all_asleep() {
                    poller.all_asleep();
                }
            }
            self.shared.sleep.park(self.index, timeout);
        } else {
            self.shared.sleep.cancel(self.index);
        }
        self.awake();
        let end_ns = self.shared.clock.now_ns();
        let called_ns = self.note_nap(start_ns, end_ns);
        if self.keeps_records() {
            self.record_since(start_ns, Act::Sleep);
        }
        // Somebody woke it so soon that it had better gone on looking, however late the system then
        // ran it. (For a timer it need not look.)
        let is_short = called_ns - start_ns < SHORT_NAP_NS;
        if is_short && timer_ns.is_none_or(|timer_ns| end_ns < timer_ns) {
            self.spins.lengthen();
        } else {
            self.spins.shorten();
        }
    }
}
