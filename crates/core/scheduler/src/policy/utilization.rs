//! Whether a worker would do more if it had more to do, as it shows it to the others.
//!
//! Queues do not say that. Where workers send to each other, what waits moves from one queue to
//! another and back by chance, for as long as both are busy: one may have ten times as much to do
//! for many milliseconds, and nothing is gained by evening that out.

/// A worker sees after so many nanoseconds whether it was without work: many rounds of cheap turns.
const WINDOW_NS: u64 = 1_000_000;
/// It had time to spare if it was without work for one part in so many.
const SPARE_PART: u64 = 16;
/// For so long it must have had time to spare, in nanoseconds. It is longer than the system mostly
/// keeps a worker from running: the others, which wait for what that one would send, have time to
/// spare for as long.
const SPARE_FOR_NS: u64 = 16_000_000;
/// The mean load is that of about so many windows: a second. By then, loads that differ by chance
/// have been the other way round, too.
const MEAN_OF: u64 = 1_024;
/// Whose mean load is so many times another one's has more to do, and not by chance.
const FAR_MORE: u64 = 4;

/// What others see of how busy a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utilization {
    /// Since when it has had time to spare, on the scheduler's clock in nanoseconds: 0 if it always
    /// has had, [`NEVER`](Utilization::NEVER) if it has none.
    pub spare_since_ns: u64,
    /// 1,024 times its load (see [`LoadView`](crate::policy::LoadView)), the mean of about a
    /// second.
    pub mean_load: u64,
}

impl Utilization {
    /// It has no time to spare.
    pub const NEVER: u64 = u64::MAX;
    /// A worker that has never had anything to do.
    pub const NONE: Utilization = Utilization { spare_since_ns: 0, mean_load: 0 };

    /// Whether more to do would not make this worker do more, and is not its fair share either:
    /// it has had no time to spare, and one with a mean load of `own_load` has not far more to do
    /// for long.
    ///
    /// Two actors that send to each other may keep a worker as busy as a thousand do: so loads that
    /// stay so uneven are evened out, though no time is left.
    #[must_use]
    pub fn is_busy(&self, now_ns: u64, own_load: u64) -> bool {
        let since_ns = self.spare_since_ns;
        let has_spare = since_ns == 0
            || since_ns != Self::NEVER && now_ns.saturating_sub(since_ns) >= SPARE_FOR_NS;
        !has_spare && own_load <= self.mean_load.saturating_mul(FAR_MORE)
    }

    fn note_window(&mut self, since_ns: u64, has_spare: bool, load_ns: u64) {
        self.mean_load = self.mean_load.saturating_add(load_ns) - self.mean_load / MEAN_OF;
        if !has_spare {
            self.spare_since_ns = Self::NEVER;
        } else if self.spare_since_ns == Self::NEVER {
            self.spare_since_ns = since_ns;
        }
    }
}

/// A worker's [`Utilization`], as the worker itself keeps it.
#[derive(Clone, Copy, Debug)]
pub struct UtilizationTracker {
    shown: Utilization,
    /// When the present window began, and how long the worker has been busy since then.
    window_ns: u64,
    busy_ns: u64,
}

impl UtilizationTracker {
    /// Of a worker that starts.
    #[must_use]
    pub fn new(now_ns: u64) -> Self {
        UtilizationTracker { shown: Utilization::NONE, window_ns: now_ns, busy_ns: 0 }
    }

    /// What the worker shows.
    #[must_use]
    pub fn shown(&self) -> Utilization {
        self.shown
    }

    /// Notes a round that took `busy_ns` nanoseconds, 0 if there was nothing to do, and the load at
    /// its end. Returns what to show others if that may have changed.
    #[inline]
    pub fn note_round(&mut self, now_ns: u64, busy_ns: u64, load_ns: u64) -> Option<Utilization> {
        self.busy_ns = self.busy_ns.saturating_add(busy_ns);
        let elapsed_ns = now_ns.saturating_sub(self.window_ns);
        if elapsed_ns < WINDOW_NS {
            return None;
        }
        let has_spare = self.busy_ns.saturating_add(elapsed_ns / SPARE_PART) <= elapsed_ns;
        self.shown.note_window(self.window_ns, has_spare, load_ns);
        (self.window_ns, self.busy_ns) = (now_ns, 0);
        Some(self.shown)
    }

    /// Notes that the worker falls asleep: it has time to spare from now on at least. Returns what
    /// to show others.
    pub fn note_sleep(&mut self, now_ns: u64) -> Utilization {
        if self.shown.spare_since_ns == Utilization::NEVER {
            self.shown.spare_since_ns = now_ns;
        }
        self.shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn time_is_left_where_a_sixteenth_of_each_millisecond_was_without_work() {
        let windows = |busy_ns: u64| {
            let mut tracker = UtilizationTracker::new(0);
            // Two rounds each, the first of which shows nothing new.
            (1..=20).fold(Utilization::NONE, |_, window| {
                assert_eq!(tracker.note_round(window * MS - MS / 2, busy_ns / 2, 50), None);
                tracker.note_round(window * MS, busy_ns - busy_ns / 2, 50).expect("it is over")
            })
        };
        assert_eq!(windows(MS / 16 * 15).spare_since_ns, 0);
        assert_eq!(windows(MS / 16 * 15 + 1).spare_since_ns, Utilization::NEVER);
    }

    #[test]
    fn a_worker_without_work_for_a_moment_is_busy() {
        let mut tracker = UtilizationTracker::new(0);
        let full = tracker.note_round(MS, MS, 50).expect("a window is over");
        assert!(full.is_busy(u64::MAX, 0));
        // As if the other one had not run for 15 milliseconds.
        let shown = tracker.note_sleep(MS + 5);
        assert_eq!(tracker.note_sleep(MS + 9), shown, "it has been asleep since then");
        assert!(shown.is_busy(16 * MS, 0) && !shown.is_busy(17 * MS + 5, 0));
        // It has to do again, and after that none of it counts.
        tracker.note_round(17 * MS, 0, 0).expect("a window is over");
        let full = tracker.note_round(18 * MS, MS, 50).expect("a window is over");
        assert!(full.is_busy(100 * MS, 0));
        let spare = tracker.note_round(19 * MS, 0, 0).expect("a window is over");
        assert_eq!(spare.spare_since_ns, 18 * MS, "since that window began");
    }

    #[test]
    fn who_has_far_more_to_do_for_a_second_does_not_find_the_other_busy() {
        let mean = |load_ns: u64, windows: u64| {
            let mut tracker = UtilizationTracker::new(0);
            let rounds = (1..=windows).map(|window| tracker.note_round(window * MS, MS, load_ns));
            rounds.last().flatten().expect("a window is over")
        };
        let (few, many) = (mean(50, 4_000), mean(1_000, 4_000));
        assert!(!few.is_busy(4_000 * MS, many.mean_load), "twenty times as much");
        assert!(few.is_busy(4_000 * MS, mean(150, 4_000).mean_load), "three times as much");
        assert!(few.is_busy(4_000 * MS, mean(1_000, 100).mean_load), "for a tenth of a second");
    }
}
