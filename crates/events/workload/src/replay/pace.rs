//! Busy work: computing for a time.
//!
//! Where each worker has a CPU of its own, that is the time of the clock: what else disturbs the
//! machine is not the runtime's. Where workers [share CPUs](Cpus::Shared), as several nodes on one
//! host do, each gets one only now and then. By the clock, the work of all that wait for a CPU
//! would pass meanwhile, and the nodes would seem to compute more than their CPUs can.
//!
//! So work is done in pieces of [`PIECE_NS`], of so many rounds as were found out to take so long
//! when the process began. A piece counts as long as it took. But where CPUs are shared and it took
//! longer by more than [`INTERRUPTED_NS`], the CPU was with others, and the piece counts as long as
//! it takes alone. That needs no exact pace: a CPU that runs at a third of its speed is not taken
//! for another's.

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

/// Whether the workers of a run have CPUs of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cpus {
    /// There is one for each worker.
    #[default]
    Own,
    /// There are fewer, or other processes of the same run use them, too.
    Shared,
}

/// How this machine does busy work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Rounds in [`PIECE_NS`].
    rounds: u32,
    /// Whether a piece may be interrupted by others that compute.
    cpus: Cpus,
}

impl Pace {
    /// This machine's. All graphs of a process have the same, measured once.
    pub(super) fn of_machine(cpus: Cpus) -> Self {
        static ROUNDS: OnceLock<u32> = OnceLock::new();
        Pace { rounds: *ROUNDS.get_or_init(Pace::calibrate), cpus }
    }

    fn calibrate() -> u32 {
        let clock = Clock::real();
        let fastest_ns = (0..TRIES).map(|seed| {
            let start_ns = clock.now_ns();
            std::hint::black_box(turn_over(ROUNDS, seed));
            clock.now_ns() - start_ns
        });
        let fastest_ns = fastest_ns.min().unwrap_or(1).max(1);
        (u64::from(ROUNDS) * PIECE_NS / fastest_ns).clamp(1, 1 << 20) as u32
    }

    /// Computes for so many nanoseconds.
    #[inline]
    pub(super) fn work(self, ns: u64) {
        if ns > 0 {
            let clock = Clock::real();
            work(ns, self.cpus, || clock.now_ns(), |piece_ns| self.compute(piece_ns));
        }
    }

    fn compute(self, ns: u64) {
        let rounds = u64::from(self.rounds) * ns / PIECE_NS;
        std::hint::black_box(turn_over(rounds.max(1) as u32, ns));
    }
}

fn turn_over(rounds: u32, seed: u64) -> u64 {
    (0..u64::from(rounds)).fold(seed, |state, round| std::hint::black_box(mix(state, round)))
}

/// Computes pieces until they are worth `ns`. `compute` takes about as long as it is told.
fn work(ns: u64, cpus: Cpus, mut now_ns: impl FnMut() -> u64, mut compute: impl FnMut(u64)) {
    let (mut left_ns, mut before_ns) = (ns, now_ns());
    while left_ns > 0 {
        let piece_ns = left_ns.min(PIECE_NS);
        compute(piece_ns);
        let after_ns = now_ns();
        let took_ns = after_ns.saturating_sub(before_ns);
        let was_interrupted = cpus == Cpus::Shared && took_ns > piece_ns + INTERRUPTED_NS;
        left_ns = left_ns.saturating_sub(if was_interrupted { piece_ns } else { took_ns });
        before_ns = after_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Works for `ns` on a shared CPU that others have for a while at every so many pieces, and
    /// that runs slower than calibrated by a factor. Returns the time that it computed, and the
    /// time that passed.
    fn on_cpu(ns: u64, away: (u64, u64), slower: u64) -> (u64, u64) {
        on(Cpus::Shared, ns, away, slower)
    }

    fn on(cpus: Cpus, ns: u64, (every, away_ns): (u64, u64), slower: u64) -> (u64, u64) {
        let (clock_ns, computed_ns, pieces) = (Cell::new(5), Cell::new(0), Cell::new(0));
        work(
            ns,
            cpus,
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
        // With a CPU of its own, the clock counts.
        assert!(on(Cpus::Own, 1_000_000, (500, 3_000_000), 1).1 <= 4_000_000);
    }

    #[test]
    fn a_cpu_that_has_become_slower_computes_no_longer() {
        let (_, passed_ns) = on_cpu(1_000_000, (1, 0), 3);
        assert!((1_000_000..=1_000_000 + 3 * PIECE_NS).contains(&passed_ns), "{passed_ns}");
    }

    #[test]
    fn all_graphs_of_a_process_have_one_pace() {
        let rounds = [Cpus::Own, Cpus::Shared].map(|cpus| Pace::of_machine(cpus).rounds);
        assert!(rounds[0] == rounds[1] && rounds[0] > 0);
    }
}
