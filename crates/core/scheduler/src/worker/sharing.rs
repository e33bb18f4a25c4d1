//! Sharing work: putting runnables that others had better take into the steal queue, and taking
//! from theirs.

use super::Worker;
use crate::owned::Owned;
use crate::policy::tuning::{KEPT_AT_ONCE, SHARED_AT_ONCE, STOLEN_AT_ONCE, VAIN_SHARES_MOST};
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
        self.flush_lanes();
        let mut queue = queue.lock();
        let epoch = self.shared.lanes.raise_epoch();
        // While somebody may come for the rest, one at a time: enough that nothing starves here.
        let n = if self.shared.idle() == 0 || self.shared.workers() == 1 { queue.len() } else { 1 };
        for _ in 0..n {
            let Some(runnable) = queue.pop_front() else {
                break;
            };
            self.adopt(runnable, epoch);
        }
    }

    /// Something taken from a steal queue, under that queue's lock, in an epoch begun under it. The
    /// worker has flushed its lanes.
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
        if owned.header().kind.stays() {
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
        self.flush_lanes();
        let mut queue = queue.lock();
        let epoch = self.shared.lanes.raise_epoch();
        // Policies that keep nothing private take one at a time, so that others can have the rest.
        let n = if self.keeps_idle { queue.len().div_ceil(2) } else { 1 };
        for _ in 0..n {
            let Some(runnable) = queue.pop_front() else {
                break;
            };
            self.adopt(runnable, epoch);
        }
        self.queue_len() > 0
    }

    pub(super) fn steal(&self) -> bool {
        let policy = &self.shared.settings.policy;
        for &(victim, distance) in &self.shared.neighbours[self.index] {
            let len = self.shared.steal_queues[victim].len();
            if len == 0 {
                continue;
            }
            // Relaxed: a hint.
            let turn_ns = self.shared.turn_ns[victim].load(Ordering::Relaxed) as u64;
            if !policy.worth_stealing(&StealView { len, turn_ns, distance }) {
                continue;
            }
            self.flush_lanes();
            let mut queue = self.shared.steal_queues[victim].lock();
            let epoch = self.shared.lanes.raise_epoch();
            let mut stolen = 0;
            for _ in 0..queue.len().div_ceil(2).min(STOLEN_AT_ONCE) {
                let Some(runnable) = queue.pop_front() else {
                    break;
                };
                self.adopt(runnable, epoch);
                stolen += 1;
            }
            let left = queue.len();
            drop(queue);
            if stolen > 0 {
                // Notifications of what was stolen may have come to the victim, which may be busy
                // for long.
                for notified in self.shared.inboxes[victim].take() {
                    self.receive(notified);
                }
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
