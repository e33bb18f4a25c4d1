//! Sharing work: putting runnables that others had better take into the steal queue, and taking
//! from theirs.

use super::Worker;
use crate::owned::Owned;
use crate::policy::tuning::{
    KEPT_AT_ONCE, LONG_NS, SHARED_AT_ONCE, STOLEN_AT_ONCE, VAIN_SHARES_MOST,
};
use crate::policy::{MoveView, QueueView, StealView};
use crate::recording::Act;
use crate::runnable::{CONTROL_PENDING, IN_TRANSIT, NOTIFIED, Runnable};
use crate::steal_queue::StealQueue;
use crate::sync::atomic::Ordering;

impl Worker {
    /// Takes from its own steal queue what nobody came for.
    pub(super) fn take_back(&self) {
        let queue = &self.shared.steal_queues[self.index];
        if queue.is_empty() || !self.keeps_idle {
            return;
        }
        // While somebody may come for the rest, one at a time: enough that nothing starves here.
        let takes_all = self.shared.idle() == 0 || self.shared.workers() == 1;
        self.take_from(queue, |len| if takes_all { len } else { 1 });
    }

    /// Takes the first so many out of a queue, of as many as there are; returns how many it took,
    /// and how many are left.
    fn take_from(&self, queue: &StealQueue, most: impl Fn(usize) -> usize) -> (usize, usize) {
        let mut queue = self.lock_to_take(queue, &most);
        let epoch = self.shared.lanes.raise_epoch();
        let n = most(queue.len()).min(queue.len());
        for runnable in queue.drain(..n) {
            self.adopt(runnable, epoch);
        }
        (n, queue.len())
    }

    /// Something taken from a steal queue, under that queue's lock ([`Worker::lock_to_take`]), in
    /// an epoch begun under it.
    #[inline]
    pub(super) fn adopt(&self, runnable: Runnable, epoch: u64) {
        if self.keeps_idle {
            runnable.header().take_over(self.id, epoch);
        }
        // SAFETY: the lock has handed it over.
        let mut owned = unsafe { Owned::new(runnable) };
        owned.set_flags(NOTIFIED | CONTROL_PENDING);
        self.push(owned);
    }

    /// Shares what others had better take: once a round, but more rarely while it is in vain.
    pub(super) fn share_between_turns(&self) {
        let (in_vain, rounds_left) = self.vain_shares.get();
        if rounds_left > 0 {
            self.vain_shares.set((in_vain, rounds_left - 1));
        } else if self.share_work(0, SHARED_AT_ONCE) {
            self.vain_shares.set((0, 0));
        } else {
            self.vain_shares.set(((in_vain + 1).min(VAIN_SHARES_MOST), (1 << in_vain) - 1));
        }
    }

    /// Exposes what others had better take; false if there was nothing worth it, though much waits.
    /// `current_ns`: how long the present turn takes, as far as known.
    pub(super) fn share_work(&self, current_ns: u64, most: usize) -> bool {
        let mut idle_workers = self.shared.idle();
        if idle_workers == 0 && self.is_elastic {
            idle_workers = self.call_more(current_ns);
        }
        if idle_workers == 0 {
            return true;
        }
        let len = self.queue_len();
        let view = QueueView { len, turn_ns: self.turn_ns.get(), current_ns, idle_workers };
        let n = self.shared.settings.policy.share(&view).min(most);
        n == 0 || self.share(n, current_ns)
    }

    /// False if nothing was worth it.
    #[cold]
    pub(super) fn share(&self, n: usize, current_ns: u64) -> bool {
        let mut moved = 0;
        let away = self.id | IN_TRANSIT;
        // What stays is put back in its order.
        let mut kept = Vec::new();
        self.flush_lanes();
        self.flush_all();
        let mut queue = self.shared.steal_queues[self.index].lock();
        for _ in 0..n {
            let Some(mut owned) = self.pop_youngest() else { break };
            if !self.is_worth_sharing(&mut owned, self.queue_len(), current_ns) {
                kept.push(owned);
                if kept.len() == KEPT_AT_ONCE {
                    break;
                }
                continue;
            }
            queue.push_front(if self.keeps_idle { owned.give(away) } else { owned.runnable() });
            moved += 1;
        }
        let stealable = queue.len();
        drop(queue);
        self.counters().stealable.add(moved);
        for owned in kept.into_iter().rev() {
            self.push(owned);
        }
        self.call_thieves(stealable);
        moved > 0
    }

    /// The youngest runnable of its private queue.
    pub(super) fn pop_youngest(&self) -> Option<Owned<'_>> {
        self.queue.with(|queue| queue.pop_back())
    }

    /// Whether others had better take a runnable of this worker's, with so many before it.
    pub(super) fn is_worth_sharing(
        &self,
        owned: &mut Owned<'_>,
        before: usize,
        current_ns: u64,
    ) -> bool {
        if owned.stays() {
            return false;
        }
        let footprint_kib = owned.footprint_kib();
        let queue_ns = self.turn_ns.get().saturating_mul(before as u64);
        let view = MoveView {
            cost_ns: owned.cost_ns(),
            current_ns,
            wait_ns: current_ns.saturating_add(queue_ns),
            footprint_kib,
            distance: self.shared.neighbours[self.index].first().map_or(0, |&(_, rank)| rank),
        };
        let pending = || owned.pending();
        let is_worth = self.shared.settings.policy.worth_sharing(&view, pending);
        if !is_worth && footprint_kib > 0 {
            let waited_kib = self.shared.settings.policy.movable_kib(view.wait_ns, view.distance);
            owned.with(|private| private.footprint.kept(footprint_kib, waited_kib));
        }
        is_worth
    }

    /// Wakes as many sleepers as the policy wants for so many runnables.
    pub(super) fn call_thieves(&self, stealable: usize) {
        let wanted = self.shared.settings.policy.wake_more(stealable, self.shared.idle());
        let working = self.shared.working();
        for _ in 0..wanted {
            let order = self.in_reach().iter().map(|&(other, _)| other);
            let order = order.filter(|&other| other < working);
            if self.shared.sleep.wake_one_of(order).is_none() {
                break;
            }
            self.counters().woken.add(1);
        }
    }

    /// The present turn takes long: whatever others could do meanwhile is handed on now.
    #[cold]
    pub(super) fn hand_on(&self, current_ns: u64, most: usize) {
        // Thieves judge by this how long what is shared would wait. Relaxed: a hint.
        let turn_ns = self.turn_ns.get().max(current_ns).min(u64::from(u32::MAX));
        self.shared.turn_ns[self.index].store(turn_ns as usize, Ordering::Relaxed);
        if let Some(poller) = self.shared.idle_poller() {
            poller.away(self.index);
        }
        self.tend_lanes();
        // Notifications of what is shared must not wait for this turn's end; that of what runs
        // must, so that it is run again.
        for notified in self.shared.inboxes[self.index].take() {
            if Some(notified) == self.running() {
                self.post(notified, self.index);
            } else {
                self.receive(notified);
            }
        }
        self.flush_all();
        self.share_work(current_ns, most);
        // Some may have left it to this worker as long as its turns were short.
        self.call_thieves(self.shared.steal_queues[self.index].len());
    }

    /// Own steal queue, the shared one, then other workers' by rising distance.
    pub(super) fn find_work(&self) -> bool {
        self.take_some(&self.shared.steal_queues[self.index])
            || self.take_some(&self.shared.global)
            || self.steal()
    }

    /// Takes a share from a queue that this worker need not be careful with.
    pub(super) fn take_some(&self, queue: &StealQueue) -> bool {
        if queue.is_empty() {
            return false;
        }
        // Policies that keep nothing private take one at a time, so that others can have the rest.
        self.take_from(queue, |len| if self.keeps_idle { len.div_ceil(2) } else { 1 });
        self.queue_len() > 0
    }

    /// Whether a worker so far away has shared something that this one had better take.
    pub(super) fn may_steal(&self, victim: usize, distance: u32) -> bool {
        let len = self.shared.steal_queues[victim].len();
        if len == 0 {
            return false;
        }
        // Relaxed: a hint.
        let turn_ns = self.shared.turn_ns[victim].load(Ordering::Relaxed) as u64;
        let is_worth =
            self.shared.settings.policy.worth_stealing(&StealView { len, turn_ns, distance });
        // What waits for much that this worker has sent is warm there; and to take that means to
        // deliver all of it first, at a higher cost than the victim, which comes to it soon.
        is_worth && (turn_ns >= LONG_NS || !self.has_much_for(victim))
    }

    pub(super) fn steal(&self) -> bool {
        for &(victim, distance) in &self.shared.neighbours[self.index] {
            if !self.may_steal(victim, distance) {
                continue;
            }
            let queue = &self.shared.steal_queues[victim];
            let (stolen, left) = self.take_from(queue, |len| len.div_ceil(2).min(STOLEN_AT_ONCE));
            if stolen > 0 {
                // Notifications of what was stolen may have come to the victim, which may be busy
                // for long.
                for notified in self.shared.inboxes[victim].take() {
                    self.receive(notified);
                }
                let stolen = stolen as u64;
                self.counters().stolen.add(stolen);
                self.shared.exchanges.took(self.index, victim, stolen);
                self.record(Act::Steal { from: victim, actors: stolen });
                // Sleepers were woken for a queue that this worker now holds half of: pass the call
                // on.
                if left > 0 {
                    self.call_thieves(1);
                }
                return true;
            }
        }
        false
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use crate::lanes::entry_words;
    use crate::policy::Affine;
    use crate::policy::tuning::{LONG_NS, TOO_LONG_NS};
    use crate::runnable::{Kind, Runnable, Turn};
    use crate::sync::atomic::Ordering;
    use crate::task::testing::{Idle, end, first_of_two};
    use crate::task::{Task, TaskRef};
    use crate::{Policy, Shared, Worker};
    use std::sync::Arc;

    /// Sends so many chunks to the other worker.
    fn send(worker: &Worker, to: Runnable, chunks: usize) {
        for _ in 0..chunks {
            worker.begin_chunk(1, entry_words::<u64>());
            worker.ends.push(1, to, 0, 7_u64);
        }
        worker.tend_lanes();
    }

    /// Takes what was sent to the other worker out of its lane; returns how much it was.
    fn take(shared: &Shared) -> usize {
        let (mut lane, mut taken) = (shared.lanes.deliver(0, 1), 0);
        while let Some(mut entries) = lane.take() {
            while entries.next_to().is_some() {
                // SAFETY: such messages were put in.
                assert_eq!(unsafe { entries.take::<u64>() }, (0, 7));
                taken += 1;
            }
            lane.done();
        }
        taken
    }

    /// Has a long turn, in which it sends.
    struct Sends(TaskRef);

    impl Task for Sends {
        fn run(&self, worker: &Worker) -> (Turn, u32) {
            // It does not know yet how long its turns take. Relaxed: this thread alone uses it.
            worker.shared.load_ns[0].store(0, Ordering::Relaxed);
            for _ in 0..2 {
                assert!(worker.takes_more(0), "once may be an accident");
                worker.shared.clock.advance(TOO_LONG_NS);
                // SAFETY: this reference keeps it.
                unsafe { worker.sample(self.0.runnable()) };
            }
            assert!(!worker.takes_more(0));
            (Turn::Idle, 1)
        }
    }

    #[test]
    fn a_worker_in_a_very_long_turn_is_given_nothing_until_it_ends() {
        // Also where loads are not balanced: what talks goes to where it talks to all the same.
        let unbalanced = Policy::Affine(Affine { balance_every_ns: 0, ..Affine::DEFAULT });
        for policy in [Policy::affine(), unbalanced] {
            let (_, worker, tasks) = first_of_two(policy);
            let kind = Arc::new(Kind::new("idle"));
            let other = tasks.start(&kind, 1, Box::new(Idle)).expect("it has not ended");
            tasks.start(&kind, 0, Box::new(Sends(other))).expect("it has not ended");
            while worker.step(|_| 0, |_| ()) {}
            assert_eq!(worker.counters().turns.get(), 1);
            assert!(worker.takes_more(0));
            end(&worker, &tasks);
        }
    }

    #[test]
    fn a_worker_for_which_much_is_under_way_keeps_what_it_shares_unless_it_is_in_a_long_turn() {
        let (shared, worker, tasks) = first_of_two(Policy::affine());
        let kind = Arc::new(Kind::new("idle"));
        tasks.start(&kind, 1, Box::new(Idle)).expect("it has not ended");
        let task = shared.return_queues[1].lock().pop_front().expect("started at its home");
        shared.steal_queues[1].lock().push_back(task);
        let turn_ns = |ns: u64| {
            // Relaxed: this thread alone uses it.
            shared.turn_ns[1].store(ns as usize, Ordering::Relaxed);
        };

        turn_ns(LONG_NS - 1);
        assert!(worker.may_steal(1, 1) && worker.may_find_work());
        send(&worker, task, 10);
        assert!(worker.may_steal(1, 1), "that much is soon delivered");
        send(&worker, task, 100);
        assert!(!worker.may_steal(1, 1) && !worker.may_find_work());
        turn_ns(LONG_NS);
        assert!(worker.may_steal(1, 1), "nobody else would take it for long");
        turn_ns(LONG_NS - 1);
        assert_eq!(take(&shared), 110);
        assert!(worker.may_steal(1, 1) && worker.steal(), "there is nothing to deliver");
        end(&worker, &tasks);
    }
}
