//! What a worker does whose thread the system often keeps waiting: another process has its PU.
//!
//! Two workers whose actors talk to each other then wait for each other: for each few messages that
//! cross, the one sleeps until the system runs the other, some milliseconds later. Two workers were
//! so a hundred times slower than one. Nobody else may take what a worker owns. But it runs now and
//! then, and can give away what it has: cheap runnables that talk go to a worker that is not kept
//! waiting, or else all to the same. There they talk without waiting for anybody.
//!
//! What leaves keeps its home, and lodges at the other worker: it runs there as if it were at home,
//! and goes home as soon as that worker no longer counts as delayed. So what was together there is
//! together again.
//!
//! The same is done where nobody takes a PU, but crossings may cost so much, or make workers wait
//! so long for each other, that one alone does more: where that is in doubt ([`super::spread`]), it
//! is tried ([`super::trials`]).

use super::Worker;
use super::spread::TRIAL_NS;
use super::trials::Verdict;
use crate::owned::Owned;
use crate::sync::atomic::Ordering;

/// A wake-up, or a round, that takes so much longer than it should is a delay, in nanoseconds: the
/// time slices of operating systems are longer, what a quiet machine does is much shorter.
const DELAY_NS: u64 = 1_000_000;

/// For so long it is not tried again after several workers did more than one, in nanoseconds: a
/// trial takes some hundredths of it.
const CERTAIN_NS: u64 = 1_000_000_000;
/// What has left a worker is home again soon after that no longer counts as delayed; and after so
/// many nanoseconds the worker no longer seems idle because of the time when that was away.
const SETTLES_NS: u64 = 100_000_000;

impl Worker {
    /// Another worker was woken at this time; it will see how late it was.
    pub(super) fn note_called(&self, index: usize) {
        let now_ns = self.shared.clock.now_ns();
        // Relaxed: a hint.
        self.shared.called_ns[index].store(now_ns as usize, Ordering::Relaxed);
    }

    /// Notes that this worker slept from then until now; returns when it was woken, or until now.
    pub(super) fn note_nap(&self, start_ns: u64, end_ns: u64) -> u64 {
        // Relaxed: a hint.
        let called_ns = self.shared.called_ns[self.index].load(Ordering::Relaxed) as u64;
        self.spread.slept(end_ns.saturating_sub(start_ns));
        if called_ns <= start_ns {
            return end_ns;
        }
        if end_ns.saturating_sub(called_ns) >= DELAY_NS {
            self.delayed(end_ns);
        }
        called_ns.min(end_ns)
    }

    /// Notes that a round of so many turns took so long.
    #[inline]
    pub(super) fn note_round(&self, now_ns: u64, took_ns: u64, turns: u32) {
        if turns > 0 && took_ns >= DELAY_NS && took_ns / 8 >= self.turn_ns.get() * u64::from(turns)
        {
            self.delayed(now_ns);
        }
    }

    #[cold]
    fn delayed(&self, now_ns: u64) {
        let counters = self.counters();
        let messages = (counters.crossed.get(), counters.handled.get());
        let until_ns = self.delays.note(now_ns, messages, self.is_delayed(self.index, now_ns));
        if let Some(until_ns) = until_ns {
            self.counts_as_delayed(until_ns);
        }
    }

    fn counts_as_delayed(&self, until_ns: u64) -> u64 {
        // Relaxed: a hint.
        self.shared.delayed_until_ns[self.index].store(until_ns as usize, Ordering::Relaxed);
        until_ns
    }

    /// Once a round, of so many turns: whether it pays that what talks is spread.
    #[inline]
    pub(super) fn note_spread(&self, now_ns: u64, took_ns: u64, turns: u32) {
        if turns > 0 {
            self.spread.ran(took_ns);
        }
        if self.spread.is_over(now_ns) {
            self.next_spread(now_ns);
        }
    }

    #[cold]
    fn next_spread(&self, now_ns: u64) {
        let (counters, shared) = (self.counters(), &self.shared);
        let messages = (counters.handled.get(), counters.crossed.get());
        // Relaxed: a hint.
        let certain_until_ns = shared.certain_until_ns.load(Ordering::Relaxed) as u64;
        let is_certain = now_ns < certain_until_ns || self.is_delayed(self.index, now_ns);
        let verdict = self.spread.next(
            now_ns,
            messages,
            || self.handled_by_all(),
            |view| {
                let policy = &shared.settings.policy;
                is_certain || policy.pays_apart(view, shared.working(), self.crossing_ns.get())
            },
        );
        self.follow(verdict, now_ns);
    }

    fn handled_by_all(&self) -> u64 {
        (0..self.shared.workers()).map(|index| self.shared.counters(index).handled.get()).sum()
    }

    fn follow(&self, verdict: Option<Verdict>, now_ns: u64) {
        let certain_until_ns = match verdict {
            // The others do not try meanwhile.
            Some(Verdict::Try) => self.counts_as_delayed(self.delays.note_trial(now_ns, TRIAL_NS)),
            Some(Verdict::Gather) => self.counts_as_delayed(self.delays.note_in_vain(now_ns)),
            Some(Verdict::Spread) => now_ns.saturating_add(CERTAIN_NS),
            None => return,
        };
        // Relaxed: a hint.
        self.shared.certain_until_ns.fetch_max(certain_until_ns as usize, Ordering::Relaxed);
    }

    /// Once a round: a worker that counts as delayed gives away what is cheap and talks.
    #[inline]
    pub(super) fn leave_if_delayed(&self, now_ns: u64) {
        if self.delays.are_many() {
            self.leave(now_ns);
        }
    }

    #[cold]
    fn leave(&self, now_ns: u64) {
        if !self.is_delayed(self.index, now_ns) {
            self.delays.forget();
            return self.follow(self.spread.end(now_ns, self.handled_by_all()), now_ns);
        }
        let others = || self.in_reach().iter().map(|&(other, _)| other);
        // What is given to one in a long turn gets its messages by the shared way until that ends.
        let takes = |other| other < self.shared.working() && self.takes_more(other);
        let others = || others().filter(|&other| takes(other));
        let undelayed = others().find(|&other| !self.is_delayed(other, now_ns));
        // All are delayed: what talks meets at the first of them.
        let to = undelayed.or_else(|| others().min().filter(|&other| other < self.index));
        if let Some(to) = to
            && self.queue_len() > 0
        {
            let leaves = |owned: &mut Owned<'_>| self.leaves_delayed(owned);
            self.give_to(to, self.queue_len(), leaves, |owned| {
                owned.with(|private| private.lodge_at(to));
            });
        }
    }

    /// Whether something is cheap and talks, so that it leaves a worker that counts as delayed.
    pub(super) fn leaves_delayed(&self, owned: &mut Owned<'_>) -> bool {
        let policy = &self.shared.settings.policy;
        policy.leaves_delayed(owned.typical_cost_ns(), || owned.pending())
    }

    /// Whether a worker counts as delayed. What is cheap and talks is not spread to or from it
    /// meanwhile.
    pub(super) fn is_delayed(&self, index: usize, now_ns: u64) -> bool {
        // Relaxed: a hint.
        now_ns < self.shared.delayed_until_ns[index].load(Ordering::Relaxed) as u64
    }

    /// Whether a worker counts as delayed, or did a moment ago: what has left it goes home first.
    pub(super) fn is_settling(&self, index: usize, now_ns: u64) -> bool {
        self.is_delayed(index, now_ns.saturating_sub(SETTLES_NS))
    }

    /// Whether something runs here as if it were at home, until its home no longer counts as
    /// delayed.
    pub(super) fn lodges(&self, owned: &mut Owned<'_>, home: usize) -> bool {
        owned.with(|private| private.is_lodger()) && self.is_delayed(home, self.round_ns.get())
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::Policy;
    use crate::policy::tuning::LOAD_UNKNOWN_NS;
    use crate::runnable::{Kind, Turn};
    use crate::task::testing::{Idle, end, first_of_two};
    use crate::task::{Task, TaskRef, Tasks};
    use std::sync::{Arc, OnceLock};

    const TASKS: usize = 16;

    /// Wakes its two neighbours, of which one has just had its turn: so all always wait for one.
    struct Wakes {
        me: usize,
        all: Arc<OnceLock<Vec<TaskRef>>>,
    }

    impl Task for Wakes {
        fn run(&self, worker: &Worker) -> (Turn, u32) {
            if let Some(all) = self.all.get() {
                for step in [1, TASKS - 1] {
                    all[(self.me + step) % TASKS].wake_from(Some(worker));
                }
            }
            (Turn::Idle, 1)
        }
    }

    /// Runs a worker for half a millisecond, in which it handles 20,000 messages, of which so many
    /// came from others.
    fn run(worker: &Worker, crossed: u64) {
        worker.shared.clock.advance(DELAY_NS / 2);
        worker.count_handled(20_000, 0);
        worker.counters().crossed.add(crossed);
        for _ in 0..2 * TASKS {
            worker.step(|_| 0, |_| ());
        }
    }

    #[test]
    fn a_round_without_turns_is_a_sleep_and_no_delay() {
        let (_, worker, tasks) = first_of_two(Policy::affine());
        let note = |turns: u32| {
            for _ in 0..4 {
                worker.counters().crossed.add(8);
                worker.counters().handled.add(8);
                worker.note_round(1, 2 * DELAY_NS, turns);
            }
            worker.delays.are_many()
        };
        assert_eq!([note(0), note(1)], [false, true]);
        end(&worker, &tasks);
    }

    /// Starts tasks that cost little and wake each other.
    fn start_all(tasks: &Tasks) {
        let kind = Arc::new(Kind::new("wakes"));
        kind.set_cost_ns(20);
        let all = Arc::new(OnceLock::new());
        let start = |me| {
            let task = Box::new(Wakes { me, all: all.clone() });
            tasks.start(&kind, 0, task).expect("it has not ended")
        };
        assert!(all.set((0..TASKS).map(start).collect()).is_ok());
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes minutes for so many turns")]
    fn what_talks_leaves_for_a_trial_where_it_is_in_doubt_that_several_do_more() {
        let (shared, worker, tasks) = first_of_two(Policy::affine());
        let given_away = || shared.return_queues[1].lock().len();
        start_all(&tasks);
        // As long as few messages cross, it pays.
        (0..100).for_each(|_| run(&worker, 500));
        assert_eq!(given_away(), 0);
        // Now each second one does, for 60 ns as long as none is timed: one worker may do more.
        (0..199).for_each(|_| run(&worker, 10_000));
        assert_eq!(given_away(), 0, "that may be an accident");
        // Relaxed: this thread alone uses it.
        let in_long_turn = shared.load_ns[1].swap(LOAD_UNKNOWN_NS as usize, Ordering::Relaxed);
        (0..11).for_each(|_| run(&worker, 10_000));
        assert_eq!(given_away(), 0, "the other one would not come to it");
        // Relaxed: as above.
        shared.load_ns[1].store(in_long_turn, Ordering::Relaxed);
        (0..11).for_each(|_| run(&worker, 10_000));
        assert!(given_away() > TASKS / 2, "{}", given_away());
        // Relaxed: as above.
        let until_ns = shared.delayed_until_ns[0].load(Ordering::Relaxed) as u64;
        let now_ns = shared.clock.now_ns();
        assert!((now_ns..=now_ns + TRIAL_NS).contains(&until_ns), "for a trial: {until_ns}");

        // While the other one has all of it, no more is done: it goes home, and for a while that is
        // not tried again.
        (0..41).for_each(|_| run(&worker, 0));
        for _ in 0..1_000 {
            assert!(!worker.is_delayed(0, shared.clock.now_ns()));
            run(&worker, 10_000);
        }
        end(&worker, &tasks);
    }

    #[test]
    fn what_has_left_a_worker_goes_home_when_that_no_longer_counts_as_delayed() {
        let (shared, worker, tasks) = first_of_two(Policy::affine());
        let kind = Arc::new(Kind::new("idle"));
        kind.set_cost_ns(20);
        let start = |_| tasks.start(&kind, 0, Box::new(Idle)).expect("it has not ended");
        let all: Vec<TaskRef> = (0..TASKS).map(start).collect();
        worker.drain_returns();
        // The first half has left worker 1; the second is at home here.
        let queued: Vec<_> = std::iter::from_fn(|| worker.pop()).collect();
        for (n, mut owned) in queued.into_iter().enumerate() {
            if n < TASKS / 2 {
                owned.move_home(1);
                owned.with(|private| private.lodge_at(0));
            }
            worker.push(owned);
        }
        let rounds = || {
            shared.clock.advance(DELAY_NS);
            // The first ends a round, after which it knows what time it is.
            while worker.step(|_| 0, |_| ()) {}
            all.iter().for_each(|task| task.wake_from(Some(&worker)));
            while worker.step(|_| 0, |_| ()) {}
            shared.return_queues[1].lock().len() + shared.steal_queues[1].len()
        };
        // Relaxed: this thread alone uses it.
        let delay = |until_ns: u64| {
            shared.delayed_until_ns[1].store(until_ns as usize, Ordering::Relaxed);
        };
        delay(u64::MAX);
        assert_eq!(rounds(), 0, "it lodges here");
        let now_ns = shared.clock.now_ns();
        delay(now_ns + 1);
        assert_eq!(rounds(), TASKS / 2);
        assert!(worker.is_settling(1, now_ns + 1), "nothing else goes there for now");
        assert!(!worker.is_settling(1, now_ns + 1 + SETTLES_NS));
        end(&worker, &tasks);
    }
}
