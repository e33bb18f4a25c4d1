//! Whether one worker alone does more of what talks than several do, found out by trying it.
//!
//! No model says what a message that crosses costs in all: what it brings lies in another core's
//! cache, and how far away that is, a virtual machine does not say. (On the same host, at the same
//! counts of all that crosses, the second worker of a probe now gained 30 % and now cost 30 %.) So
//! where it is in doubt, what talks is gathered for a moment, and the rates are compared.

use std::cell::Cell;

/// One worker alone must do more by one part in so many: what differs by less is noise.
const MORE: u64 = 16;
/// A rate that was measured longer ago, in nanoseconds, is not compared with.
const FRESH_NS: u64 = 100_000_000;

/// The messages that all workers have handled up to a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    pub(super) now_ns: u64,
    pub(super) handled: u64,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// What talks is gathered for a moment, to see what one worker does.
    Try,
    /// It is gathered for a while: one worker does more.
    Gather,
    /// It stays where it is: several do more.
    Spread,
}

/// What a worker has found out.
#[derive(Debug, Default)]
pub(super) struct Trials {
    /// The rate before what talks was gathered.
    spread: Cell<u64>,
    /// Since when it is, and why.
    gathering: Cell<Option<(Verdict, Progress)>>,
    /// The rate while it was gathered for a while, and when that ended.
    gathered: Cell<Option<(u64, u64)>>,
}

impl Trials {
    /// Whether it is known what is done while what talks is gathered.
    pub(super) fn knows_gathered(&self, now_ns: u64) -> bool {
        self.gathered.get().is_some_and(|(_, end_ns)| now_ns.saturating_sub(end_ns) <= FRESH_NS)
    }

    /// It has been in doubt between these two.
    pub(super) fn decide(&self, from: Progress, to: Progress) -> Verdict {
        let spread = rate(from, to);
        let known = self.knows_gathered(to.now_ns).then(|| self.gathered.take()).flatten();
        self.spread.set(spread);
        self.follow(known.map_or(Verdict::Try, |(gathered, _)| compare(gathered, spread)), to)
    }

    /// What was gathered may go home. `None`: that is all.
    pub(super) fn end(&self, to: Progress) -> Option<Verdict> {
        let (verdict, from) = self.gathering.take()?;
        let gathered = rate(from, to);
        if verdict == Verdict::Try {
            return Some(self.follow(compare(gathered, self.spread.get()), to));
        }
        self.gathered.set(Some((gathered, to.now_ns)));
        None
    }

    fn follow(&self, verdict: Verdict, now: Progress) -> Verdict {
        self.gathering.set((verdict != Verdict::Spread).then_some((verdict, now)));
        verdict
    }
}

fn compare(gathered: u64, spread: u64) -> Verdict {
    if gathered > spread.saturating_add(spread / MORE) { Verdict::Gather } else { Verdict::Spread }
}

/// Messages per second.
fn rate(from: Progress, to: Progress) -> u64 {
    let handled = u128::from(to.handled.saturating_sub(from.handled));
    let ns = to.now_ns.saturating_sub(from.now_ns).max(1);
    u64::try_from(handled * 1_000_000_000 / u128::from(ns)).unwrap_or(u64::MAX)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The trials of one program, its time and the messages handled by then.
    #[derive(Default)]
    struct Run {
        trials: Trials,
        at: Progress,
    }

    impl Run {
        /// Goes on for so long, with so many messages in each millisecond; from where to where.
        fn go_on(&mut self, ms: u64, per_ms: u64) -> (Progress, Progress) {
            let from = self.at;
            self.at.now_ns += ms * MS;
            self.at.handled += ms * per_ms;
            (from, self.at)
        }

        fn decide(&mut self, per_ms: u64) -> Verdict {
            let (from, to) = self.go_on(20, per_ms);
            self.trials.decide(from, to)
        }

        fn end(&mut self, ms: u64, per_ms: u64) -> Option<Verdict> {
            let (_, to) = self.go_on(ms, per_ms);
            self.trials.end(to)
        }
    }

    #[test]
    fn a_trial_says_whether_one_worker_does_more() {
        let mut run = Run::default();
        assert_eq!(run.decide(1_600), Verdict::Try, "nothing is known yet");
        assert_eq!(run.end(30, 1_701), Some(Verdict::Gather));

        let mut run = Run::default();
        run.decide(1_600);
        assert_eq!(run.end(30, 1_700), Some(Verdict::Spread), "that is noise");
        assert_eq!(run.end(1, 0), None, "nothing is gathered");
    }

    #[test]
    fn what_was_gathered_for_a_while_is_compared_with_what_follows() {
        let mut run = Run::default();
        let gathered = |run: &mut Run| {
            run.decide(1_000);
            assert_eq!(run.end(30, 2_000), Some(Verdict::Gather));
            assert_eq!(run.end(200, 2_000), None, "several are tried once more");
        };
        gathered(&mut run);
        assert_eq!(run.decide(1_000), Verdict::Gather, "no trial is needed");
        assert_eq!(run.end(400, 2_000), None);
        assert_eq!(run.decide(3_000), Verdict::Spread, "now several do more");

        gathered(&mut run);
        run.go_on(81, 1_000);
        assert_eq!(run.decide(1_000), Verdict::Try, "the program may do something else by now");
    }
}
