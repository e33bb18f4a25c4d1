//! Whether it is in doubt that what talks had better be spread over several workers, as one of them
//! measures it. Then [a trial](super::trials) says it.

use super::trials::{Progress, Trials, Verdict};
use crate::policy::ApartView;
use std::cell::Cell;

/// How long it measures before it says what it has found, in nanoseconds: some hundred thousand
/// cheap messages.
const WINDOW_NS: u64 = 10_000_000;
/// It must be in doubt in so many windows in a row: in the first moments of a program, and of each
/// phase of it, what talks still comes together.
const WINDOWS: u32 = 10;
/// Or in so many, after what talks was gathered for a while: each may be lost.
const WINDOWS_AGAIN: u32 = 3;
/// The rate is that of the last so many of them.
const COMPARED: u32 = 2;
/// And messages that cross must not have become fewer by one part in so many meanwhile: what talks
/// comes together by itself, as far as it can.
const FEWER: u64 = 10;
/// A worker that slept for more than one part in so many of the window has not enough to do: then
/// nothing tells how much two could do.
const ASLEEP: u64 = 8;
/// A trial takes so long, in nanoseconds: the first of it goes by while caches become warm.
pub(super) const TRIAL_NS: u64 = 2 * WINDOW_NS;

/// What a worker has done in the present window.
#[derive(Debug, Default)]
pub(super) struct SpreadTracker {
    began_ns: Cell<u64>,
    /// Time of its rounds, and of its sleep.
    busy_ns: Cell<u64>,
    asleep_ns: Cell<u64>,
    /// Counted since its start, when the window began: messages handled, and those that came from
    /// other workers.
    handled: Cell<u64>,
    crossed: Cell<u64>,
    /// Of a million messages in the window before, those that had crossed.
    share: Cell<u64>,
    /// Windows in a row in which it was in doubt, and what all workers had done before the last.
    in_doubt: Cell<u32>,
    since: Cell<Progress>,
    trials: Trials,
}

impl SpreadTracker {
    /// Notes a round with turns.
    #[inline]
    pub(super) fn ran(&self, took_ns: u64) {
        self.busy_ns.set(self.busy_ns.get() + took_ns);
    }

    /// Notes that the worker slept.
    pub(super) fn slept(&self, ns: u64) {
        self.asleep_ns.set(self.asleep_ns.get() + ns);
    }

    /// Whether the window is over.
    #[inline]
    pub(super) fn is_over(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.began_ns.get()) >= WINDOW_NS
    }

    /// Begins the next window; returns what follows if it has been in doubt for some. `all`: the
    /// messages that all workers have handled; `pays`: whether it certainly pays that what talks is
    /// spread.
    pub(super) fn next(
        &self,
        now_ns: u64,
        (handled, crossed): (u64, u64),
        all: impl FnOnce() -> u64,
        pays: impl FnOnce(&ApartView) -> bool,
    ) -> Option<Verdict> {
        let view = ApartView {
            elapsed_ns: now_ns.saturating_sub(self.began_ns.replace(now_ns)),
            busy_ns: self.busy_ns.take(),
            handled: handled.saturating_sub(self.handled.replace(handled)),
            crossed: crossed.saturating_sub(self.crossed.replace(crossed)),
        };
        let share = view.crossed.saturating_mul(1_000_000) / view.handled.max(1);
        let before = self.share.replace(share);
        let is_asleep = self.asleep_ns.take() > view.elapsed_ns / ASLEEP;
        let comes_together = share < before - before / FEWER;
        let in_doubt = !is_asleep && !comes_together && !pays(&view);
        let again = self.trials.knows_gathered(now_ns);
        let wanted = if again { WINDOWS_AGAIN } else { WINDOWS };
        let windows = if in_doubt { self.in_doubt.get() + 1 } else { 0 };
        if windows + COMPARED == wanted {
            self.since.set(Progress { now_ns, handled: all() });
        } else if windows >= wanted {
            self.in_doubt.set(0);
            let now = Progress { now_ns, handled: all() };
            return Some(self.trials.decide(self.since.get(), now));
        }
        self.in_doubt.set(windows);
        None
    }

    /// What was gathered may go home; returns what follows from that.
    pub(super) fn end(&self, now_ns: u64, all: u64) -> Option<Verdict> {
        self.trials.end(Progress { now_ns, handled: all })
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// What is said of windows with so much sleep and so many of 1,000 messages that cross, of
    /// which it pays in none.
    fn windows(windows: &[(u64, u64)]) -> Vec<bool> {
        let (tracker, mut crossed) = (SpreadTracker::default(), 0);
        let next = |(n, &(asleep_ns, crosses)): (u64, &(u64, u64))| {
            crossed += crosses;
            tracker.slept(asleep_ns);
            assert!(!tracker.is_over(n * WINDOW_NS - 1) && tracker.is_over(n * WINDOW_NS));
            tracker.next(n * WINDOW_NS, (n * 1_000, crossed), || n * 1_000, |_| false).is_some()
        };
        (1..).zip(windows).map(next).collect()
    }

    #[test]
    fn it_must_be_in_doubt_for_some_windows_in_a_row() {
        let tried = windows(&[(0, 500); 20]);
        assert!(tried.iter().enumerate().all(|(n, &tries)| tries == (n % 10 == 9)), "{tried:?}");
    }

    #[test]
    fn after_it_was_gathered_it_is_soon_decided_by_the_last_windows() {
        let (tracker, handled) = (SpreadTracker::default(), Cell::new(0));
        let window = |n: u64, done: u64| {
            handled.set(handled.get() + done);
            let messages = (n * 1_000, n * 500);
            tracker.next(n * WINDOW_NS, messages, || handled.get(), |_| false)
        };
        assert!((1..10).all(|n| window(n, 1_000).is_none()));
        assert_eq!(window(10, 1_000), Some(Verdict::Try));
        let end = |n: u64, done: u64| {
            handled.set(handled.get() + done);
            tracker.end(n * WINDOW_NS, handled.get())
        };
        assert_eq!(end(12, 4_000), Some(Verdict::Gather), "twice as many");
        assert_eq!(end(22, 20_000), None);
        // What was done in the first window does not count: what was gathered came home in it.
        assert_eq!([window(23, 0), window(24, 3_000)], [None; 2]);
        assert_eq!(window(25, 3_000), Some(Verdict::Spread));
    }

    #[test]
    fn what_still_comes_together_is_waited_for() {
        let shares = (0..20).map(|n| (0, 500 - 10 * n)).collect::<Vec<_>>();
        assert!(!windows(&shares)[..9].contains(&true) && windows(&shares)[9], "too slowly");
        let mut fewer = vec![(0, 1_000)];
        for _ in 0..20 {
            let (_, crosses) = fewer[fewer.len() - 1];
            fewer.push((0, crosses - crosses / 9));
        }
        assert!(!windows(&fewer).contains(&true));
    }

    #[test]
    fn one_that_sleeps_much_has_not_enough_to_do_to_tell() {
        assert_eq!(windows(&[(WINDOW_NS / 8 + 1, 500); 20]), [false; 20]);
    }

    #[test]
    fn a_view_is_of_one_window() {
        let tracker = SpreadTracker::default();
        for n in 1..3 {
            tracker.ran(70);
            tracker.ran(30);
            tracker.next(
                n * WINDOW_NS,
                (n * 40, n * 20),
                || 0,
                |view| {
                    let all = (view.elapsed_ns, view.busy_ns, view.handled, view.crossed);
                    assert_eq!(all, (WINDOW_NS, 100, 40, 20));
                    true
                },
            );
        }
    }
}
