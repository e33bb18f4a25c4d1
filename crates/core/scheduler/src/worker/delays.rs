//! What a worker does whose thread the system often keeps waiting: another process has its PU.
//!
//! Two workers whose actors talk to each other then wait for each other: for each few messages that
//! cross, the one sleeps until the system runs the other, some milliseconds later. Two workers were
//! so a hundred times slower than one. Nobody else may take what a worker owns. But it runs now and
//! then, and can give away what it has: cheap runnables that talk go to a worker that is not kept
//! waiting, or else all to the same. There they talk without waiting for anybody.

use super::Worker;
use crate::sync::atomic::Ordering;
use std::cell::Cell;

/// A wake-up, or a round, that takes so much longer than it should is a delay, in nanoseconds: the
/// time slices of operating systems are longer, what a quiet machine does is much shorter.
const DELAY_NS: u64 = 1_000_000;
/// So many delays in so many nanoseconds are no accident.
const DELAYS: u32 = 3;
const WITHIN_NS: u64 = 100_000_000;
/// For so long a worker counts as delayed, in nanoseconds.
const LASTS_NS: u64 = 200_000_000;
/// Of so many messages one comes from another worker, or there is nothing to wait for.
const CROSSING_PART: u64 = 8;

/// The delays of a worker.
#[derive(Debug, Default)]
pub(super) struct Delays {
    /// Delays in a row, each soon after the one before, and when the last one was.
    seen: Cell<u32>,
    last_ns: Cell<u64>,
    /// Messages from other workers, and all that were handled, at the last delay.
    crossed: Cell<u64>,
    handled: Cell<u64>,
}

impl Delays {
    /// Notes a delay. So many messages had come from other workers by then, and so many were
    /// handled. True if the worker counts as delayed from now on.
    fn note(&self, now_ns: u64, crossed: u64, handled: u64) -> bool {
        let from_others = crossed.saturating_sub(self.crossed.replace(crossed));
        let in_all = handled.saturating_sub(self.handled.replace(handled));
        let is_soon = now_ns.saturating_sub(self.last_ns.replace(now_ns)) <= WITHIN_NS;
        let counts = is_soon && from_others > 0 && from_others >= in_all / CROSSING_PART;
        self.seen.set(if counts { self.seen.get().saturating_add(1) } else { 0 });
        self.seen.get() >= DELAYS
    }
}

impl Worker {
    /// Another worker was woken at this time; it will see how late it was.
    pub(super) fn note_called(&self, index: usize) {
        let now_ns = self.shared.clock.now_ns();
        // Relaxed: a hint.
        self.shared.called_ns[index].store(now_ns as usize, Ordering::Relaxed);
    }

    /// Notes that this worker slept from then until now.
    pub(super) fn note_nap(&self, start_ns: u64, end_ns: u64) {
        // Relaxed: a hint.
        let called_ns = self.shared.called_ns[self.index].load(Ordering::Relaxed) as u64;
        if called_ns > start_ns && end_ns.saturating_sub(called_ns) >= DELAY_NS {
            self.delayed(end_ns);
        }
    }

    /// Notes that a round of so many turns took so long.
    #[inline]
    pub(super) fn note_round(&self, now_ns: u64, took_ns: u64, turns: u32) {
        if took_ns >= DELAY_NS && took_ns / 8 >= self.turn_ns.get() * u64::from(turns) {
            self.delayed(now_ns);
        }
    }

    #[cold]
    fn delayed(&self, now_ns: u64) {
        let counters = self.counters();
        if self.delays.note(now_ns, counters.crossed.get(), counters.handled.get()) {
            let until_ns = now_ns.saturating_add(LASTS_NS) as usize;
            // Relaxed: a hint.
            self.shared.delayed_until_ns[self.index].store(until_ns, Ordering::Relaxed);
        }
    }

    /// Once a round: a worker that counts as delayed gives away what is cheap and talks.
    #[inline]
    pub(super) fn leave_if_delayed(&self, now_ns: u64) {
        if self.delays.seen.get() >= DELAYS {
            self.leave(now_ns);
        }
    }

    #[cold]
    fn leave(&self, now_ns: u64) {
        if !self.is_delayed(self.index, now_ns) {
            return self.delays.seen.set(0);
        }
        let others = || self.in_reach().iter().map(|&(other, _)| other);
        let others = || others().filter(|&other| other < self.shared.working());
        let undelayed = others().find(|&other| !self.is_delayed(other, now_ns));
        // All are delayed: what talks meets at the first of them.
        let to = undelayed.or_else(|| others().min().filter(|&other| other < self.index));
        if let Some(to) = to
            && self.queue_len() > 0
        {
            let policy = &self.shared.settings.policy;
            self.push_to(to, self.queue_len(), |_, cost_ns| policy.leaves_delayed(cost_ns));
        }
    }

    fn is_delayed(&self, index: usize, now_ns: u64) -> bool {
        // Relaxed: a hint.
        now_ns < self.shared.delayed_until_ns[index].load(Ordering::Relaxed) as u64
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Delays so many nanoseconds apart, each after 80 messages of which so many came from others:
    /// what is said of each.
    fn delays(apart_ns: u64, crossing: u64) -> Vec<bool> {
        let delays = Delays::default();
        (1..=5).map(|n| delays.note(n * apart_ns, n * crossing, n * 80)).collect()
    }

    #[test]
    fn delays_in_a_row_count_where_messages_cross() {
        assert_eq!(delays(WITHIN_NS, 10), [false, false, true, true, true]);
        assert_eq!(delays(WITHIN_NS, 9), [false; 5], "nobody waits for this worker");
        assert_eq!(delays(WITHIN_NS, 0), [false; 5]);
        assert_eq!(delays(WITHIN_NS + 1, 10), [false; 5], "now and then, as everywhere");
    }
}
