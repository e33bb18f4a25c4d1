//! Load balancing: pushing runnables, for good, to workers with less to do.

use super::Worker;
use crate::owned::Owned;
use crate::policy::tuning::{self, KEPT_AT_ONCE};
use crate::policy::{LoadView, PushView, Ready};
use crate::recording::Act;
use crate::runnable::{AGAIN, BY_NEIGHBOUR, IN_TRANSIT};
use crate::sync::atomic::Ordering;

impl Worker {
    /// Once a round, which took `busy_ns`, or 0 if it had no turns: how much there is to do; and
    /// now and then, whether others have less.
    pub(super) fn balance(&self, now_ns: u64, busy_ns: u64) {
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
        load.load_ns.set(load_ns);
        if let Some(utilization) = load.note_round(now_ns, busy_ns) {
            self.shared.utilization[self.index].show(utilization);
        }
        self.show_load(tuning::shown_load(load_ns, self.turn_ns.get(), len));
        let pause = now_ns.saturating_sub(load.since_ns.get());
        // One that does not work pushes away all that it has: see `elastic`.
        if pause >= pause_ns && len >= 2 && self.is_working() {
            load.since_ns.set(now_ns);
            // A load must last before work is pushed, and must still be there now.
            self.push_work(now_ns, load_ns.min(queued_ns));
        }
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
        let (start, others) = (load.next.get(), self.least_first(looks));
        let sum_ns = own_ns + others.iter().map(|&(load_ns, _)| load_ns).sum::<u64>();
        let average_ns = sum_ns.div_ceil(others.len() as u64 + 1);
        let turn_ns = self.turn_ns.get().max(1);
        let mut left_ns = own_ns;
        // One with nothing to do now may have much in a moment: nothing is pushed before a second
        // look at the same workers has found the same.
        let had_found = load.has_found.replace(false);
        let mut pushed_in_all = 0;
        let policy = &self.shared.settings.policy;
        let crossing_ns = self.crossing_ns.get();
        let is_own_settling = self.is_settling(self.index, now_ns);
        let is_overloaded = load.is_long_overloaded(now_ns);
        for (other_ns, other) in others {
            let view = LoadView { own_ns: left_ns, turn_ns, other_ns, average_ns };
            let n = policy.push(&view);
            if n > 0 {
                load.has_found.set(true);
                if !had_found {
                    break;
                }
                // What talks would wait for a worker that the system does not run; and what has
                // left a worker goes back there before others go.
                let is_settling = is_own_settling || self.is_settling(other, now_ns);
                let shown = self.shared.utilization[other].get();
                let is_busy = !is_overloaded || shown.is_busy(now_ns, load.mean(now_ns));
                let may_push = |owned: &mut Owned<'_>| {
                    let view = PushView {
                        ready: self.ready(owned),
                        is_busy,
                        cost_ns: owned.cost_ns(),
                        crossing_ns,
                        would_cross: self.would_cross(owned.runnable(), other),
                        own_ns: left_ns,
                        average_ns,
                    };
                    let lodges = owned.with(|private| private.is_lodger());
                    !lodges
                        && policy.may_push(&view)
                        && !(is_settling && self.leaves_delayed(owned))
                };
                let pushed = self.push_to(other, n, may_push);
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
        let vain_looks = || tuning::vain_looks(load.in_vain.get(), load.has_found.get());
        load.in_vain.set(if is_in_vain { vain_looks() } else { 0 });
        load.looked_ns.set(own_ns);
        load.load_ns.set(load.load_ns.get().min(left_ns));
    }

    /// The loads of the next so many neighbours that can be given something: the least first; of
    /// equals, the nearest.
    fn least_first(&self, looks: usize) -> Vec<(u64, usize)> {
        let (neighbours, start) = (self.in_reach(), self.load.next.get());
        let at = |step: usize| neighbours[(start + step) % neighbours.len()].0;
        let working = self.shared.working();
        let others = (0..looks).map(at).filter(|&other| other < working);
        let others = others.map(|other| (self.load_of(other), other));
        let mut others: Vec<(u64, usize)> =
            others.filter(|&(load_ns, _)| load_ns < tuning::LOAD_UNKNOWN_NS).collect();
        others.sort_by_key(|&(load_ns, _)| load_ns);
        others
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
        self.give_to(to, n, may_push, |owned| {
            // What lodges here goes home as soon as it may.
            if !owned.with(|private| private.is_lodger()) {
                owned.move_home(to);
            }
        })
    }

    /// Gives so many ready runnables, the youngest first, to another worker, with what `settle`
    /// notes of each; returns how many.
    pub(super) fn give_to(
        &self,
        to: usize,
        n: usize,
        may_give: impl Fn(&mut Owned<'_>) -> bool,
        settle: impl Fn(&mut Owned<'_>),
    ) -> usize {
        let (mut kept, mut given) = (Vec::new(), Vec::new());
        while given.len() < n && kept.len() < KEPT_AT_ONCE {
            let Some(mut owned) = self.pop_youngest() else { break };
            let stays = owned.stays() || !may_give(&mut owned);
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
                settle(&mut owned);
                self.forget_affinities(owned.runnable());
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
    use crate::Policy;
    use crate::lanes::entry_words;
    use crate::policy::Utilization;
    use crate::runnable::{Kind, Runnable};
    use crate::task::TaskRef;
    use crate::task::testing::{Idle, end, first_of_two};
    use std::sync::Arc;

    /// Worker 0, with the mean load `own_ns` and eight tasks that others have woken, 100 ns each,
    /// beside worker 1, which shows this: how many are pushed there in two looks. `naps`: worker 0
    /// has just slept.
    fn pushed_beside(utilization: Utilization, own_ns: u64, naps: bool) -> u64 {
        const MS: u64 = 1_000_000;
        let (shared, worker, tasks) = first_of_two(Policy::affine());
        for now_ms in 1..=1_000 {
            worker.load.load_ns.set(own_ns);
            worker.load.note_round(now_ms * MS, MS);
        }
        if naps {
            worker.load.note_sleep(1_000 * MS);
        }
        let kind = Arc::new(Kind::new("idle"));
        let start = |_| tasks.start(&kind, 0, Box::new(Idle)).expect("it has not ended");
        let all: Vec<TaskRef> = (0..8).map(start).collect();
        while worker.step(|_| 0, |_| ()) {}
        all.iter().for_each(|task| task.wake_from(Some(&worker)));
        let queued: Vec<_> = std::iter::from_fn(|| worker.pop()).collect();
        for mut owned in queued {
            owned.with(|private| private.cost_ns = 100);
            worker.push(owned);
        }
        worker.turn_ns.set(100);
        shared.utilization[1].show(utilization);
        let now_ns = 1_000 * MS;
        (0..2).for_each(|_| worker.push_work(now_ns, 800));
        let pushed = worker.counters().pushed.get();
        shared.return_queues[1].lock().drain(..).for_each(|runnable| {
            assert!(all.iter().any(|task| task.runnable() == runnable));
        });
        end(&worker, &tasks);
        pushed
    }

    #[test]
    fn what_others_woke_goes_only_to_a_worker_with_time_to_spare() {
        let since = |spare_since_ns| {
            pushed_beside(Utilization { spare_since_ns, idle: 0, mean_load: 1_024 }, 1, false)
        };
        assert_eq!([since(0), since(900_000_000)], [4, 4]);
        assert_eq!(since(999_000_000), 0, "for a moment only");
        let busy = Utilization { mean_load: 1_024, idle: 0, spare_since_ns: Utilization::NEVER };
        let beside_busy = |own_ns| pushed_beside(busy, own_ns, false);
        assert_eq!([1, 10].map(beside_busy), [0, 4], "far more for long");
        assert_eq!(pushed_beside(Utilization::NONE, 1, true), 0, "it has time to spare itself");
    }

    #[test]
    fn a_round_shows_that_no_time_is_left_and_a_sleep_that_some_is() {
        let (shared, worker, tasks) = first_of_two(Policy::affine());
        let shown = || shared.utilization[0].get().spare_since_ns;
        worker.balance(1_000_000, 900_000);
        assert_eq!(shown(), 0);
        worker.balance(2_000_000, 1_000_000);
        assert_eq!(shown(), Utilization::NEVER);
        shared.clock.advance(3_000_000);
        // Virtual time stands still while it sleeps.
        worker.set_timer(3_000_001, Box::new(|_| ()));
        worker.nap();
        assert_eq!(shown(), 3_000_000);
        // A tick after a sleep was no round: nothing was run.
        worker.tick();
        shared.clock.advance(1_000_000);
        worker.tick();
        assert_eq!(shown(), 3_000_000);
        end(&worker, &tasks);
    }

    #[test]
    fn the_youngest_that_may_go_are_given_and_the_others_keep_their_order() {
        let (shared, worker, tasks) = first_of_two(Policy::affine());
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
        end(&worker, &tasks);
    }
}
