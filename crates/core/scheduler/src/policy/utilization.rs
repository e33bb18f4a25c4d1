//! Whether a worker would do more if it had more to do, as it shows it to the others.
//!
//! Queues do not say that. Where workers send to each other, what waits moves from one queue to
//! another and back by chance, for as long as both are busy: one may have ten times as much to do
//! for many milliseconds, and nothing is gained by evening that out.

use super::tuning::LOAD_UNKNOWN_NS;

/// A worker sees after so many nanoseconds whether it was idle: many rounds of cheap turns.
const WINDOW_NS: u64 = 1_000_000;
/// In such a time it had time to spare if it was idle for one part in so many.
const SPARE_PART: u64 = 16;
/// For so long in a row it must have had time to spare, in nanoseconds. It is longer than the
/// system mostly keeps a worker from running: the others, which wait for what that one would send,
/// are idle for as long.
const SPARE_FOR_NS: u64 = 16_000_000;
/// Or it was idle for so much of the last so many nanoseconds, weighted: more than that, too.
const IDLE_OVER_NS: u64 = 64_000_000;
const IDLE_ENOUGH: u64 = WHOLE / 4;
/// A part of the time is counted in these.
const WHOLE: u64 = 1 << 16;
/// The mean load is that of the last so many nanoseconds, weighted. By then, loads that differ by
/// chance have been the other way round, too.
const MEAN_OVER_NS: u64 = 1_000_000_000;
/// A nanosecond of it, so that small ones can be weighted, too.
const PER_NS: u64 = 1_024;
/// A worker that runs for less has no mean load yet.
const MEAN_AFTER_NS: u64 = MEAN_OVER_NS / 4;
/// Whose mean load is more than so many times another one's has more to do, and not by chance.
const FAR_MORE: u64 = 4;

/// What others see of how busy a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utilization {
    /// Since when it has had time to spare in each millisecond, on the scheduler's clock in
    /// nanoseconds: 0 if it always has had, [`NEVER`](Utilization::NEVER) if it has none.
    pub spare_since_ns: u64,
    /// The part of the last 64 ms or so for which it was idle: 65,536 is all of it.
    pub idle: u64,
    /// Its mean load of about a second (see [`LoadView`](crate::policy::LoadView)), in parts of a
    /// nanosecond: 1,024 are one.
    pub mean_load: u64,
}

impl Utilization {
    /// It has no time to spare.
    pub const NEVER: u64 = u64::MAX;
    /// A worker that has never had anything to do.
    pub const NONE: Utilization = Utilization { spare_since_ns: 0, idle: 0, mean_load: 0 };

    /// Whether this worker would not do more if it had more to do, and has not far less to do than
    /// one with the mean load `than` either.
    ///
    /// Two actors that send to each other may keep a worker as busy as a thousand do: so loads that
    /// stay very uneven are evened out, though no time is left.
    #[must_use]
    pub fn is_busy(&self, now_ns: u64, than: u64) -> bool {
        let since_ns = self.spare_since_ns;
        let has_spare = since_ns == 0
            || since_ns != Self::NEVER && now_ns.saturating_sub(since_ns) >= SPARE_FOR_NS
            || self.idle >= IDLE_ENOUGH;
        !has_spare && than <= self.mean_load.saturating_mul(FAR_MORE)
    }
}

/// A worker's [`Utilization`], as the worker itself keeps it.
#[derive(Clone, Copy, Debug)]
pub struct UtilizationTracker {
    shown: Utilization,
    began_ns: u64,
    /// When the present window began, and how long the worker has been busy since then.
    window_ns: u64,
    busy_ns: u64,
    /// Since when it has had no time to spare.
    busy_since_ns: u64,
}

impl UtilizationTracker {
    /// Of a worker that starts.
    #[must_use]
    pub fn new(now_ns: u64) -> Self {
        let shown = Utilization::NONE;
        let busy_since_ns = Utilization::NEVER;
        UtilizationTracker { shown, began_ns: now_ns, window_ns: now_ns, busy_ns: 0, busy_since_ns }
    }

    /// What the worker shows.
    #[must_use]
    pub fn shown(&self) -> Utilization {
        self.shown
    }

    /// [`Utilization::mean_load`]; 0 as long as it says nothing.
    #[must_use]
    pub fn mean_load(&self, now_ns: u64) -> u64 {
        let is_known = now_ns.saturating_sub(self.began_ns) >= MEAN_AFTER_NS;
        if is_known { self.shown.mean_load } else { 0 }
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
        self.end_window(now_ns, elapsed_ns, load_ns);
        Some(self.shown)
    }

    /// All of the window but its rounds with turns was idle.
    fn end_window(&mut self, now_ns: u64, elapsed_ns: u64, load_ns: u64) {
        let busy_ns = self.busy_ns.min(elapsed_ns);
        let shown = &mut self.shown;
        if elapsed_ns - busy_ns < elapsed_ns / SPARE_PART {
            shown.spare_since_ns = Utilization::NEVER;
            self.busy_since_ns = self.busy_since_ns.min(self.window_ns);
        } else if shown.spare_since_ns == Utilization::NEVER {
            shown.spare_since_ns = self.window_ns;
            self.busy_since_ns = Utilization::NEVER;
        }
        let busy = part(busy_ns, elapsed_ns);
        shown.idle = weigh(shown.idle, WHOLE - busy, elapsed_ns, IDLE_OVER_NS);
        // No load while it was idle.
        let load = part(busy_ns, elapsed_ns) * load_ns.min(LOAD_UNKNOWN_NS) / (WHOLE / PER_NS);
        shown.mean_load = weigh(shown.mean_load, load, elapsed_ns, MEAN_OVER_NS);
        (self.window_ns, self.busy_ns) = (now_ns, 0);
    }

    /// Whether it has had no time to spare for as long as another must have had some. Before that,
    /// it may have too much to do by chance; and in the first moments of a program, when all is
    /// cold, each turn seems to cost so much that it had better be moved.
    #[must_use]
    pub fn is_long_overloaded(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.busy_since_ns) >= SPARE_FOR_NS
    }

    /// Notes that the worker falls asleep: it has time to spare from now on at least. Returns what
    /// to show others.
    pub fn note_sleep(&mut self, now_ns: u64) -> Utilization {
        self.busy_since_ns = Utilization::NEVER;
        if self.shown.spare_since_ns == Utilization::NEVER {
            self.shown.spare_since_ns = now_ns;
        }
        self.shown
    }
}

/// A part of a whole, in `WHOLE`.
fn part(of: u64, whole: u64) -> u64 {
    (u128::from(of) * u128::from(WHOLE) / u128::from(whole.max(1))) as u64
}

/// Exponentially weighted by time: what held for `elapsed_ns` counts as that part of `over_ns`.
fn weigh(old: u64, new: u64, elapsed_ns: u64, over_ns: u64) -> u64 {
    let share = part(elapsed_ns.min(over_ns), over_ns);
    let kept = u128::from(old) * u128::from(WHOLE - share);
    ((kept + u128::from(new) * u128::from(share)) / u128::from(WHOLE)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// What a worker shows after rounds and sleeps so long: `(busy, asleep, load)`, again and
    /// again until this time.
    fn after(until_ms: u64, phases: &[(u64, u64, u64)]) -> (UtilizationTracker, u64) {
        let (mut tracker, mut now_ns) = (UtilizationTracker::new(0), 0);
        for &(busy_ns, asleep_ns, load_ns) in phases.iter().cycle() {
            if now_ns >= until_ms * MS {
                break;
            }
            now_ns += busy_ns;
            tracker.note_round(now_ns, busy_ns, load_ns);
            if asleep_ns > 0 {
                tracker.note_sleep(now_ns);
                now_ns += asleep_ns;
                tracker.note_round(now_ns, 0, load_ns);
            }
        }
        (tracker, now_ns)
    }

    fn is_busy(until_ms: u64, phases: &[(u64, u64, u64)]) -> bool {
        let (tracker, now_ns) = after(until_ms, phases);
        tracker.shown().is_busy(now_ns, 0)
    }

    #[test]
    fn time_is_left_where_a_sixteenth_of_each_millisecond_was_idle() {
        let parts = |busy: u64| [(busy * 1_000, MS - busy * 1_000, 50)];
        assert!(!is_busy(40, &parts(937)) && is_busy(40, &parts(938)));
    }

    #[test]
    fn a_worker_is_long_overloaded_after_sixteen_milliseconds_without_time_to_spare() {
        let mut tracker = UtilizationTracker::new(0);
        let mut until = |ms: u64, busy_ns: u64| {
            tracker.note_round(ms * MS, busy_ns, 50);
            tracker.is_long_overloaded(ms * MS)
        };
        assert!((1..16).all(|ms| !until(ms, MS)) && until(16, MS));
        assert!(!until(17, 0), "it was idle for a moment");
        assert!((18..33).all(|ms| !until(ms, MS)) && until(33, MS));
        tracker.note_sleep(33 * MS);
        assert!(!tracker.is_long_overloaded(33 * MS));
    }

    #[test]
    fn a_worker_that_is_idle_for_a_moment_is_busy() {
        let mut tracker = UtilizationTracker::new(0);
        let full = tracker.note_round(MS, MS, 50).expect("a window is over");
        assert!(full.is_busy(u64::MAX, 0));
        // As if the other one had not run for 15 milliseconds.
        let shown = tracker.note_sleep(MS + 5);
        assert_eq!(tracker.note_sleep(MS + 9), shown, "it has been asleep since then");
        assert!(shown.is_busy(16 * MS, 0) && !shown.is_busy(17 * MS + 5, 0));
        // It has to do again, and after that none of it counts.
        let awake = tracker.note_round(16 * MS, 0, 0).expect("a window is over");
        assert!(awake.is_busy(16 * MS, 0));
        let full = tracker.note_round(17 * MS, MS, 50).expect("a window is over");
        assert_eq!(full.spare_since_ns, Utilization::NEVER);
        let spare = tracker.note_round(18 * MS, 0, 0).expect("a window is over");
        assert_eq!(spare.spare_since_ns, 17 * MS, "since that window began");
    }

    #[test]
    fn a_worker_that_is_idle_for_a_quarter_of_the_time_is_not_busy_however_that_lies() {
        // A timer every 10 ms, and phases: each full for more than a millisecond again and again.
        assert!(!is_busy(100, &[(11 * MS / 10, 89 * MS / 10, 50)]));
        assert!(!is_busy(200, &[(MS, 0, 50), (MS, 0, 50), (MS, 2 * MS, 50)]));
        assert!(is_busy(200, &[(MS, 0, 50), (MS, 0, 50), (9 * MS, 2 * MS, 50)]));
    }

    #[test]
    fn who_has_far_more_to_do_for_a_second_does_not_find_the_other_busy() {
        let mean = |until_ms, load_ns| {
            let (tracker, now_ns) = after(until_ms, &[(MS, 0, load_ns)]);
            tracker.mean_load(now_ns)
        };
        let (few, now_ns) = after(4_000, &[(MS, 0, 50)]);
        let finds_busy = |than| few.shown().is_busy(now_ns, than);
        assert!(!finds_busy(mean(4_000, 1_000)), "twenty times as much");
        assert!(finds_busy(mean(4_000, 150)), "three times as much");
        assert!(finds_busy(mean(200, 1_000)), "not for long yet");
        assert!(!finds_busy(mean(300, 1_000)));
    }

    #[test]
    fn the_mean_load_is_one_over_time() {
        let mean_ns =
            |phases: &[(u64, u64, u64)]| after(8_000, phases).0.shown().mean_load / PER_NS;
        assert!((995..=1_000).contains(&mean_ns(&[(MS, 0, 1_000)])));
        // However long the rounds are, and nothing while it sleeps.
        assert!((495..=505).contains(&mean_ns(&[(MS, 0, 100), (9 * MS, 0, 545)])));
        assert!((95..=105).contains(&mean_ns(&[(2 * MS, 18 * MS, 1_000)])));
        let (mut tracker, now_ns) = after(8_000, &[(MS, 0, 1_000)]);
        let later = tracker.note_round(now_ns + 60_000 * MS, 0, 1_000).expect("a window is over");
        assert_eq!((later.mean_load, later.idle), (0, WHOLE), "after a minute of sleep");
    }
}
