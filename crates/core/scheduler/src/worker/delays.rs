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
/// Runnables that cost less per message, in nanoseconds, gain nothing from a second worker when half
/// of their messages cross: that costs as much.
const CHEAP_NS: u32 = 100;
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
        let (delays, counters) = (&self.delays, self.counters());
        let (crossed, handled) = (counters.crossed.get(), counters.handled.get());
        let from_others = crossed - delays.crossed.replace(crossed);
        let in_all = handled - delays.handled.replace(handled);
        let is_soon = now_ns.saturating_sub(delays.last_ns.replace(now_ns)) <= WITHIN_NS;
        if from_others == 0 || from_others < in_all / CROSSING_PART || !is_soon {
            return delays.seen.set(0);
        }
        delays.seen.set(delays.seen.get() + 1);
        if delays.seen.get() >= DELAYS {
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
            && self.shared.settings.policy.colocate_after().is_some()
        {
            let is_cheap = |_, cost_ns| (1..CHEAP_NS).contains(&cost_ns);
            let pushed = self.push_to(to, self.queue_len(), is_cheap);
            self.counters().colocated.add(pushed as u64);
        }
    }

    fn is_delayed(&self, index: usize, now_ns: u64) -> bool {
        // Relaxed: a hint.
        now_ns < self.shared.delayed_until_ns[index].load(Ordering::Relaxed) as u64
    }
}
