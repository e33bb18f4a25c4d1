//! Load balancing: pushing runnables, for good, to workers with less to do.

use super::Worker;
use crate::owned::Owned;
use crate::policy::tuning::{self, KEPT_AT_ONCE};
use crate::policy::{LoadView, PushView, Ready};
use crate::recording::Act;
use crate::runnable::{AGAIN, BY_NEIGHBOUR, IN_TRANSIT};
use crate::sync::atomic::Ordering;

impl Worker {
    /// Once a round, of so many turns, which took so long: how much there is to do; and now and
    /// then, whether others have less.
    pub(super) fn balance(&self, now_ns: u64, took_ns: u64, turns: u32) {
        if self.shared.workers() == 1 {
            return;
        }
        let (load, len) = (&self.load, self.queue_len());
        let queued_ns = self.turn_ns.get().saturating_mul(len as u64);
        let load_ns = tuning::weigh_load(load.load_ns.get(), queued_ns);
        if tuning::has_grown(load_ns, load.looked_ns.get()) {
            load.in_vain.set(0);
            load.looked_ns.set(load_ns);
        }
        let policy = &self.shared.settings.policy;
        let Some(pause_ns) = policy.balance_after_ns(load_ns, load.in_vain.get()) else {
            // It shows no load, and a very long turn is over.
            return self.unload();
        };
        self.note_spare_time(now_ns, took_ns, turns);
        load.load_ns.set(load_ns);
        self.show_load(tuning::shown_load(load_ns, self.turn_ns.get(), len));
        let pause = now_ns.saturating_sub(load.since_ns.get());
        // One that does not work pushes away all that it has: see `elastic`.
        if pause >= pause_ns && len >= 2 && self.is_working() {
            load.since_ns.set(now_ns);
            // A load must last before work is pushed, and must still be there now.
            self.push_work(now_ns, load_ns.min(queued_ns));
        }
    }

    /// Once a round: whether what others send leaves the worker time to spare. What goes on by
    /// itself takes whatever time there is, and so says nothing of that.
    #[inline]
    fn note_spare_time(&self, now_ns: u64, took_ns: u64, turns: u32) {
        let busy_ns = tuning::busy_with_others(took_ns, turns, self.load.again.take());
        if let Some((since_ns, has_spare)) = self.load.note_busy(now_ns, busy_ns) {
            self.show_spare(has_spare.then_some(since_ns));
        }
    }

    /// Shows since when the worker has had time to spare, if it had none before, or that it has
    /// none.
    pub(super) fn show_spare(&self, since_ns: Option<u64>) {
        let shown = &self.shared.spare_since_ns[self.index];
        // Relaxed, both: a hint, which this worker alone changes.
        let had_none = shown.load(Ordering::Relaxed) == tuning::NONE_TO_SPARE;
        match since_ns {
            Some(since_ns) if had_none => shown.store(since_ns as usize, Ordering::Relaxed),
            None if !had_none => shown.store(tuning::NONE_TO_SPARE, Ordering::Relaxed),
            _ => {}
        }
    }

    /// Whether a worker has had time to spare for a while.
    fn has_spare(&self, index: usize, now_ns: u64) -> bool {
        // Relaxed: a hint.
        let since = self.shared.spare_since_ns[index].load(Ordering::Relaxed);
        tuning::has_spare(since, now_ns)
    }

    /// Notes that the worker has nothing to do.
    pub(super) fn unload(&self) {
        self.load.clear();
        if self.load_of(self.index) != 0 {
            self.show_load(0);
        }
    }

    /// A worker's load as it shows it: a hint.
    pub(super) fn load_of(&self, index: usize) -> u64 {
        // Relaxed: a hint.
        self.shared.load_ns[index].load(Ordering::Relaxed) as u64
    }

    /// Whether a worker can be given something: it knows what it has to do, and gets to its queue
    /// soon.
    pub(super) fn takes_more(&self, index: usize) -> bool {
        self.load_of(index) < tuning::LOAD_UNKNOWN_NS
    }

    /// The present turn takes so long already that nothing had better be given to this worker.
    pub(super) fn note_long_turn(&self, current_ns: u64) {
        if current_ns >= tuning::TOO_LONG_NS {
            self.show_load(tuning::LOAD_UNKNOWN_NS);
        }
    }

    fn show_load(&self, load_ns: u64) {
        // Relaxed: a hint.
        self.shared.load_ns[self.index].store(load_ns as usize, Ordering::Relaxed);
    }

    #[cold]
    fn push_work(&self, now_ns: u64, own_ns: u64) {
        let (load, neighbours) = (&self.load, self.in_reach());
        let looks = neighbours.len().min(tuning::balance_looks(load.in_vain.get()));
        if looks == 0 {
            return;
        }
        let start = load.next.get();
        let mut others = self.loads(neighbours, start, looks);
        let sum_ns = own_ns + others.iter().map(|&(load_ns, _)| load_ns).sum::<u64>();
        let average_ns = sum_ns.div_ceil(others.len() as u64 + 1);
        // The one with least to do comes first; of equals, the nearest.
        others.sort_by_key(|&(load_ns, _)| load_ns);
        let turn_ns = self.turn_ns.get().max(1);
        let mut left_ns = own_ns;
        // One with nothing to do now may have much in a moment: nothing is pushed before a second
        // look at the same workers has found the same.
        let had_found = load.has_found.replace(false);
        let mut pushed_in_all = 0;
        let policy = &self.shared.settings.policy;
        let crossing_ns = self.crossing_ns.get();
        let is_own_delayed = self.is_delayed(self.index, now_ns);
        for (other_ns, other) in others {
            let view = LoadView { own_ns: left_ns, turn_ns, other_ns, average_ns };
            let n = policy.push(&view);
            if n > 0 {
                load.has_found.set(true);
                if !had_found {
                    break;
                }
                // What talks would wait for a worker that the system does not run.
                let is_delayed = is_own_delayed || self.is_delayed(other, now_ns);
                let tries = self.is_delayed_no_more(other, now_ns);
                let has_spare = self.has_spare(other, now_ns);
                let may_push = |owned: &mut Owned<'_>| {
                    let (ready, cost_ns, own_ns) = (self.ready(owned), owned.cost_ns(), left_ns);
                    let view =
                        PushView { ready, has_spare, cost_ns, crossing_ns, own_ns, average_ns };
                    let is_cheap =
                        (is_delayed || tries) && policy.leaves_delayed(owned.typical_cost_ns());
                    !(is_delayed && is_cheap) && (policy.may_push(&view) || tries && is_cheap)
                };
                let pushed = self.push_to(other, n, may_push);
                if tries && pushed > 0 {
                    self.has_tried(other);
                }
                let pushed_ns = turn_ns * pushed as u64;
                left_ns = left_ns.saturating_sub(pushed_ns);
                // Others shall not push as much again before it has seen what it got. Relaxed: a
                // hint, and its owner soon corrects it.
                self.shared.load_ns[other].fetch_add(pushed_ns as usize, Ordering::Relaxed);
                pushed_in_all += pushed;
            }
        }
        let looks_again = load.has_found.get() && !had_found;
        if !looks_again {
            load.next.set((start + looks) % neighbours.len());
        }
        let is_in_vain = pushed_in_all == 0 && !looks_again;
        let finds = load.has_found.get();
        load.in_vain.set(if is_in_vain {
            tuning::vain_looks(load.in_vain.get(), finds)
        } else {
            0
        });
        load.looked_ns.set(own_ns);
        load.load_ns.set(load.load_ns.get().min(left_ns));
    }

    /// The loads of so many neighbours, from one of them on, that can be given something.
    fn loads(&self, neighbours: &[(usize, u32)], start: usize, looks: usize) -> Vec<(u64, usize)> {
        let at = |step: usize| neighbours[(start + step) % neighbours.len()].0;
        let working = self.shared.working();
        let others = (0..looks).map(at).filter(|&other| other < working);
        let loads = others.map(|other| (self.load_of(other), other));
        loads.filter(|&(load_ns, _)| load_ns < tuning::LOAD_UNKNOWN_NS).collect()
    }

    /// The neighbours up to the distance to which work may move: they are sorted by it.
    pub(super) fn in_reach(&self) -> &[(usize, u32)] {
        let (policy, neighbours) =
            (&self.shared.settings.policy, &self.shared.neighbours[self.index]);
        let near = neighbours.partition_point(|&(_, distance)| policy.reaches(distance));
        &neighbours[..near]
    }

    /// Gives so many ready runnables, the youngest first, to another worker, where they are at home
    /// from now on; returns how many.
    pub(super) fn push_to(
        &self,
        to: usize,
        n: usize,
        may_push: impl Fn(&mut Owned<'_>) -> bool,
    ) -> usize {
        let (mut kept, mut given) = (Vec::new(), Vec::new());
        while given.len() < n && kept.len() < KEPT_AT_ONCE {
            let Some(mut owned) = self.pop_youngest() else { break };
            let stays = owned.header().kind.stays() || !may_push(&mut owned);
            if stays { &mut kept } else { &mut given }.push(owned);
        }
        for owned in kept.into_iter().rev() {
            self.push(owned);
        }
        let pushed = given.len();
        if pushed > 0 {
            // Not for those that stay: what lies in lanes takes a slower way then.
            self.flush_lanes();
            self.flush_all();
            let away = self.shared.id_of(to) | IN_TRANSIT;
            let moved = given.into_iter().map(|mut owned| {
                owned.move_home(to);
                owned.give(away)
            });
            self.shared.return_queues[to].lock().extend(moved);
            self.counters().pushed.add(pushed as u64);
            self.record(Act::Move { to, actors: pushed as u64 });
            self.wake(to);
        }
        pushed
    }

    /// Why a runnable of this worker's queue is ready.
    pub(super) fn ready(&self, owned: &mut Owned<'_>) -> Ready {
        let (flags, pending) = (owned.with(|private| private.flags), owned.pending());
        // More than a turn's worth is a backlog: others feed it faster than it goes on by itself.
        if flags & AGAIN != 0 && pending <= self.batch() as usize {
            Ready::Again
        } else if flags & (AGAIN | BY_NEIGHBOUR) != 0 {
            Ready::ByNeighbours
        } else {
            Ready::ByOthers
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use crate::lanes::entry_words;
    use crate::policy::tuning;
    use crate::runnable::{Kind, Runnable, Turn};
    use crate::sync::atomic::Ordering;
    use crate::task::{Task, TaskRef, Tasks};
    use crate::{Clock, Policy, Settings, Shared, Worker};
    use std::sync::Arc;

    struct Idle;

    impl Task for Idle {
        fn run(&self, _: &Worker) -> (Turn, u32) {
            (Turn::Idle, 1)
        }
    }

    /// Is woken by others, and takes a tenth of a millisecond for each turn, of which each leaves
    /// more to do or none.
    struct Takes(Turn);

    impl Task for Takes {
        fn run(&self, worker: &Worker) -> (Turn, u32) {
            worker.shared().clock().advance(100_000);
            (self.0, 1)
        }
    }

    #[test]
    fn a_worker_shows_whether_what_others_send_leaves_it_time() {
        for (turn, leaves_time) in [(Turn::Idle, false), (Turn::Again, true)] {
            let settings = Settings::of_two(Policy::affine());
            let shared = Arc::new(Shared::new(settings, None, Clock::virtual_time()));
            let (worker, tasks) = (Worker::new(shared.clone(), 0), Tasks::new(shared.clone()));
            let kind = Arc::new(Kind::new("takes"));
            let task = tasks.start(&kind, 0, Box::new(Takes(turn))).expect("it has not ended");
            let later_ns = || shared.clock.now_ns() + 10_000_000;
            for _ in 0..200 {
                task.wake_from(Some(&worker));
                worker.step(|_| 0, |_| ());
            }
            assert_eq!(worker.has_spare(0, later_ns()), leaves_time, "{turn:?}");
            // It sleeps: from now on it has time.
            worker.show_spare(Some(shared.clock.now_ns()));
            assert!(worker.has_spare(0, later_ns()));
            assert_eq!(worker.has_spare(0, shared.clock.now_ns()), leaves_time, "not at once");
            shared.never_started(1);
            worker.end(|worker| tasks.dispose(worker));
        }
    }

    #[test]
    fn what_others_woke_goes_only_where_there_is_time_to_spare() {
        let settings = Settings::of_two(Policy::affine());
        let shared = Arc::new(Shared::new(settings, None, Clock::virtual_time()));
        let (worker, tasks) = (Worker::new(shared.clone(), 0), Tasks::new(shared.clone()));
        let kind = Arc::new(Kind::new("idle"));
        kind.set_cost_ns(1_000);
        let start = |_| tasks.start(&kind, 0, Box::new(Idle)).expect("it has not ended");
        let all: Vec<TaskRef> = (0..10).map(start).collect();
        while worker.step(|_| 0, |_| ()) {}
        all.iter().for_each(|task| task.wake_from(Some(&worker)));
        worker.turn_ns.set(1_000);
        let pushed = |since: usize| {
            // Relaxed: this thread alone uses it.
            shared.spare_since_ns[1].store(since, Ordering::Relaxed);
            // The second look acts.
            (0..2).for_each(|_| worker.push_work(10_000_000, 10_000));
            shared.return_queues[1].lock().len()
        };
        assert_eq!(pushed(tuning::NONE_TO_SPARE), 0);
        assert_eq!(worker.load.in_vain.get(), 1);
        assert_eq!(pushed(9_000_000), 0, "it may be for a moment only");
        assert_eq!(pushed(5_000_000), 5, "half of what there is");
        shared.never_started(1);
        worker.end(|worker| tasks.dispose(worker));
    }

    #[test]
    fn the_youngest_that_may_go_are_given_and_the_others_keep_their_order() {
        let settings = Settings::of_two(Policy::affine());
        let shared = Arc::new(Shared::new(settings, None, Clock::virtual_time()));
        let (worker, tasks) = (Worker::new(shared.clone(), 0), Tasks::new(shared.clone()));
        let kind = Arc::new(Kind::new("idle"));
        let start = |_| tasks.start(&kind, 0, Box::new(Idle)).expect("it has not ended");
        let all: Vec<TaskRef> = (0..5).map(start).collect();
        while worker.step(|_| 0, |_| ()) {}
        all.iter().for_each(|task| task.wake_from(Some(&worker)));
        let all: Vec<Runnable> = all.iter().map(TaskRef::runnable).collect();
        let queued = || worker.queue.with(|queue| queue.iter().collect::<Vec<_>>());
        assert_eq!(queued(), all);

        // A lane to the other worker, in which nothing waits.
        worker.begin_chunk(1, entry_words::<u64>());
        assert_eq!(worker.push_to(1, 5, |_| false), 0);
        assert_eq!(queued(), all);
        assert!(worker.ends.any_open(), "what lies in lanes need not be flushed for nothing");

        assert_eq!(worker.push_to(1, 2, |owned| owned.runnable() != all[3]), 2);
        assert_eq!(queued(), [all[0], all[1], all[3]]);
        assert!(!worker.ends.any_open());
        assert_eq!(shared.return_queues[1].lock().drain(..).collect::<Vec<_>>(), [all[4], all[2]]);
        shared.never_started(1);
        worker.end(|worker| tasks.dispose(worker));
    }
}
