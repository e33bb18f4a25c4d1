//! The delays of a worker whose thread the system keeps waiting: see `leaving`.

use std::cell::Cell;

/// So many delays, of which no two lie further apart than so many nanoseconds, are no accident.
const DELAYS: u32 = 3;
const WITHIN_NS: u64 = 100_000_000;
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
    pub(super) fn note(&self, now_ns: u64, crossed: u64, handled: u64) -> bool {
        let from_others = crossed.saturating_sub(self.crossed.replace(crossed));
        let in_all = handled.saturating_sub(self.handled.replace(handled));
        let is_soon = now_ns.saturating_sub(self.last_ns.replace(now_ns)) <= WITHIN_NS;
        let counts = is_soon && from_others > 0 && from_others >= in_all / CROSSING_PART;
        self.seen.set(if counts { self.seen.get().saturating_add(1) } else { 0 });
        self.are_many()
    }

    /// Whether there were so many that it is no accident.
    #[inline]
    pub(super) fn are_many(&self) -> bool {
        self.seen.get() >= DELAYS
    }

    /// Forgets them: the last one was long ago.
    pub(super) fn forget(&self) {
        self.seen.set(0);
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
