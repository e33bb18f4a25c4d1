//! Busy work: computing for a time.
//!
//! The time is that of the CPU that computes, not of a clock on the wall. Where more workers
//! compute than there are CPUs, as several nodes on one host do, each of them gets a CPU only now
//! and then. By the wall clock, the work of all that wait for a CPU would pass meanwhile, and the
//! nodes would seem to compute more than their CPUs can.
//!
//! So work is done in pieces of [`PIECE_NS`], of so many rounds as were found out to take so long
//! when the process began. A piece counts as long as it took. But if it took longer by more than
//! [`INTERRUPTED_NS`], the CPU was with others, and the piece counts as long as it takes alone.
//! That needs no exact pace: a CPU that runs at a third of its speed is not taken for another's.

use actinium_scheduler::Clock;
use actinium_scheduler::mixing::mix;
use std::sync::OnceLock;

/// The length of a piece, in nanoseconds. Looking at the clock costs less than 2 % of it, and work
/// ends within such a time of its due time.
const PIECE_NS: u64 = 2_000;
/// A piece that takes longer than it should by more than this, in nanoseconds, was interrupted.
const INTERRUPTED_NS: u64 = 3 * PIECE_NS;
/// Rounds whose time is measured.
const ROUNDS: u32 = 20_000;
/// How often it is. The fastest counts: who is interrupted measures too much.
const TRIES: u64 = 20;

/// Rounds of busy work in [`PIECE_NS`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace(u32);

impl Pace {
    /// This machine's. All graphs of a process have the same, measured once.
    pub(super) fn of_machine() -> Self {
        static PACE: OnceLock<Pace> = OnceLock::new();
        *PACE.get_or_init(Pace::calibrate)
    }

    fn calibrate() -> Self {
        let clock = Clock::real();
        let fastest_ns = (0..TRIES).map(|seed| {
            let start_ns = clock.now_ns();
            std::hint::black_box(turn_over(ROUNDS, seed));
            clock.now_ns() - start_ns
        });
        let fastest_ns = fastest_ns.min().unwrap_or(1).max(1);
        Pace((u64::from(ROUNDS) * PIECE_NS / fastest_ns).clamp(1, 1 << 20) as u32)
    }

    /// Computes for so many nanoseconds.
    #[inline]
    pub(super) fn work(self, ns: u64) {
        if ns > 0 {
            let clock = Clock::real();
            work(ns, || clock.now_ns(), |piece_ns| self.compute(piece_ns));
        }
    }

    fn compute(self, ns: u64) {
        let rounds = u64::from(self.0) * ns / PIECE_NS;
        std::hint::black_box(turn_over(rounds.max(1) as u32, ns));
    }
}

fn turn_over(rounds: u32, seed: u64) -> u64 {
    (0..u64::from(rounds)).fold(seed, |state, round| std::hint::black_box(mix(state, round)))
}

/// Computes pieces until they are worth `ns`. `compute` takes about as long as it is told.
fn work(ns: u64, mut now_ns: impl FnMut() -> u64, mut compute: impl FnMut(u64)) {
    let (mut left_ns, mut before_ns) = (ns, now_ns());
    while left_ns > 0 {
        let piece_ns = left_ns.min(PIECE_NS);
        compute(piece_ns);
        let after_ns = now_ns();
        let took_ns = after_ns.saturating_sub(before_ns);
        let was_interrupted = took_ns > piece_ns + INTERRUPTED_NS;
        left_ns = left_ns.saturating_sub(if was_interrupted { piece_ns } else { took_ns });
        before_ns = after_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Works for `ns` on a CPU that others have for `away_ns` at every `every`-th piece, and that
    /// runs slower than calibrated by a factor. Returns the time that it computed, and the time
    /// that passed.
    fn on_cpu(ns: u64, (every, away_ns): (u64, u64), slower: u64) -> (u64, u64) {
        let (clock_ns, computed_ns, pieces) = (Cell::new(5), Cell::new(0), Cell::new(0));
        work(
            ns,
            || clock_ns.get(),
            |piece_ns| {
                pieces.set(pieces.get() + 1);
                computed_ns.set(computed_ns.get() + piece_ns * slower);
                let away_ns = if pieces.get() % every == 0 { away_ns } else { 0 };
                clock_ns.set(clock_ns.get() + piece_ns * slower + away_ns);
            },
        );
        (computed_ns.get(), clock_ns.get() - 5)
    }

    #[test]
    fn work_takes_its_time_on_a_cpu_of_its_own() {
        for ns in [1, 100, PIECE_NS, PIECE_NS + 1, 1_000_000] {
            assert_eq!(on_cpu(ns, (1, 0), 1), (ns, ns));
        }
    }

    /// Four workers on one CPU: each has it for a quarter of the time, in turns of a millisecond.
    #[test]
    fn time_in_which_others_have_the_cpu_is_no_work() {
        for ns in [PIECE_NS, 1_000_000, 50_000_000] {
            let (computed_ns, passed_ns) = on_cpu(ns, (500, 3_000_000), 1);
            assert!(computed_ns >= ns, "{computed_ns} of {ns}");
            assert!(passed_ns >= ns + ns / 1_000_000 * 3_000_000);
        }
        // Interrupted in its only piece.
        assert_eq!(on_cpu(100, (1, 50_000), 1).0, 100);
    }

    #[test]
    fn a_cpu_that_has_become_slower_computes_no_longer() {
        let (_, passed_ns) = on_cpu(1_000_000, (1, 0), 3);
        assert!((1_000_000..=1_000_000 + 3 * PIECE_NS).contains(&passed_ns), "{passed_ns}");
    }

    #[test]
    fn all_graphs_of_a_process_have_one_pace() {
        assert_eq!(Pace::of_machine().0, Pace::of_machine().0);
        assert!(Pace::of_machine().0 > 0);
    }
}
