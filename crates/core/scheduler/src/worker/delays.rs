//! The delays of a worker whose thread the system keeps waiting: see `leaving`.

use std::cell::Cell;

/// So many delays, of which no two lie further apart than so many nanoseconds, are no accident.
const DELAYS: u32 = 3;
const WITHIN_NS: u64 = 100_000_000;
/// Of so many messages one comes from another worker, or there is nothing to wait for.
const CROSSING_PART: u64 = 8;
/// For so long a worker counts as delayed, in nanoseconds, and for twice as long each time that it
/// is delayed again soon: where nothing crosses any more, nothing tells whether it still would be,
/// and each trial costs some time slices.
const LASTS_NS: u64 = 100_000_000;
const LASTS_MOST_NS: u64 = 6_400_000_000;

/// The delays of a worker.
#[derive(Debug, Default)]
pub(super) struct Delays {
    /// Delays in a row, each soon after the one before, and when the last one was.
    seen: Cell<u32>,
    last_ns: Cell<u64>,
    /// Messages from other workers, and all that were handled, at the last delay.
    crossed: Cell<u64>,
    handled: Cell<u64>,
    /// For how long it counts as delayed, and until when it does or did.
    lasts_ns: Cell<u64>,
    until_ns: Cell<u64>,
}

impl Delays {
    /// Notes a delay. So many messages had come from other workers by then, and so many were
    /// handled; `is_delayed`: the worker counts as delayed already. Returns until when it does from
    /// now on, if that changes.
    pub(super) fn note(
        &self,
        now_ns: u64,
        (crossed, handled): (u64, u64),
        is_delayed: bool,
    ) -> Option<u64> {
        let from_others = crossed.saturating_sub(self.crossed.replace(crossed));
        let in_all = handled.saturating_sub(self.handled.replace(handled));
        let is_soon = now_ns.saturating_sub(self.last_ns.replace(now_ns)) <= WITHIN_NS;
        let counts = is_soon && from_others > 0 && from_others >= in_all / CROSSING_PART;
        if counts {
            self.seen.set(self.seen.get().saturating_add(1));
        } else if !is_delayed {
            self.seen.set(0);
        }
        (counts && self.are_many()).then(|| self.extend(now_ns))
    }

    /// Notes that the worker and others do less together than one would. Returns until when the
    /// worker counts as delayed: others wait for it, whatever the reason.
    pub(super) fn note_in_vain(&self, now_ns: u64) -> u64 {
        self.seen.set(DELAYS);
        self.extend(now_ns)
    }

    /// Notes that it is tried for so long whether one worker does more alone. Returns until when
    /// the worker counts as delayed.
    pub(super) fn note_trial(&self, now_ns: u64, lasts_ns: u64) -> u64 {
        self.seen.set(DELAYS);
        now_ns.saturating_add(lasts_ns)
    }

    /// Until when the worker counts as delayed, as it is now.
    fn extend(&self, now_ns: u64) -> u64 {
        let (lasts_ns, until_ns) = (self.lasts_ns.get(), self.until_ns.get());
        if now_ns >= until_ns {
            // So long it may take until delays are no accident.
            let soon_ns = lasts_ns.max(2 * WITHIN_NS);
            let is_again = lasts_ns > 0 && now_ns - until_ns <= soon_ns;
            self.lasts_ns.set(if is_again { LASTS_MOST_NS.min(2 * lasts_ns) } else { LASTS_NS });
        }
        self.until_ns.set(now_ns.saturating_add(self.lasts_ns.get()));
        self.until_ns.get()
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
        let note = |n| delays.note(n * apart_ns, (n * crossing, n * 80), false).is_some();
        (1..=5).map(note).collect()
    }

    #[test]
    fn delays_in_a_row_count_where_messages_cross() {
        assert_eq!(delays(WITHIN_NS, 10), [false, false, true, true, true]);
        assert_eq!(delays(WITHIN_NS, 9), [false; 5], "nobody waits for this worker");
        assert_eq!(delays(WITHIN_NS, 0), [false; 5]);
        assert_eq!(delays(WITHIN_NS + 1, 10), [false; 5], "now and then, as everywhere");
    }

    #[test]
    fn one_that_counts_as_delayed_does_so_whatever_delays_follow() {
        let delays = Delays::default();
        assert_eq!(delays.note_trial(1, 30), 31);
        assert!(delays.note(2, (0, 0), true).is_none() && delays.are_many(), "nothing crossed");
        assert!(delays.note(3, (0, 0), false).is_none() && !delays.are_many());
        // A trial is no reason to count as delayed for longer the next time.
        assert_eq!(delays.note_in_vain(31), 31 + LASTS_NS);
    }

    #[test]
    fn one_that_is_delayed_again_and_again_counts_as_delayed_for_longer() {
        let delays = Delays::default();
        let (mut now_ns, mut n) = (0, 0);
        let mut lasts_s = |pause_ns: u64| {
            now_ns += pause_ns;
            let until_ns = (0..=DELAYS).filter_map(|_| {
                (now_ns, n) = (now_ns + 1_000_000, n + 80);
                delays.note(now_ns, (n, n), false)
            });
            let lasts_ns = until_ns.last().expect("it is delayed") - now_ns;
            delays.forget();
            now_ns += lasts_ns;
            lasts_ns as f64 / 1e9
        };
        let all: Vec<f64> = (0..7).map(|_| lasts_s(WITHIN_NS + 1)).collect();
        assert_eq!(all, [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4]);
        assert_eq!([lasts_s(6_400_000_001), lasts_s(0)], [0.1, 0.2], "it was well for as long");
    }
}
