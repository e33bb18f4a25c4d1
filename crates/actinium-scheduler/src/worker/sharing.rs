//! Sharing work: exposing what others had better take, taking what they expose, and sleeping when there is nothing.

use super::Worker;
use crate::policy::pace::{self, KEPT_AT_ONCE, SHORT_NAP_NS, STOLEN_AT_ONCE, VAIN_OFFERS_MOST};
use crate::policy::{MoveView, QueueView, StealView};
use crate::runnable::{ALERTED, CALLED, IN_TRANSIT, Runnable};
use crate::sync::atomic::Ordering;
use crate::sync::{park, spin_loop, thread};
use std::time::Duration;

pub(super) use crate::policy::pace::EXPOSED_AT_ONCE;
/// Most runnables exposed at a time from within a turn: many of them may have been made by this very turn, and then wait for nothing else.
pub(super) const EXPOSED_IN_TURN: usize = 16;
/// Rounds of looking for work before a worker goes to sleep.
pub(super) const SPINS: u32 = if cfg!(any(loom, shuttle, miri)) { 1 } else { pace::SPINS };
/// Fewest rounds.
const SPINS_LEAST: u32 = if SPINS < pace::SPINS_LEAST { SPINS } else { pace::SPINS_LEAST };
/// Pauses of the processor in each of these rounds.
const PAUSES: u32 = if cfg!(any(loom, shuttle, miri)) { 1 } else { 16 };

/// Between two looks whether a grace period is over that takes longer than the spinning.
const GRACE: Duration = Duration::from_micros(50);

impl Worker {
    /// Takes from its own public queue what nobody came for.
    pub(super) fn take_back(&self) {
        let queue = &self.shared.publics[self.index];
        if queue.is_empty() || !self.keeps_idle {
            return;
        }
        self.settle();
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

    /// Something taken from a public queue, under that queue's lock, in an epoch begun under it. The worker has settled.
    #[inline]
    pub(super) fn adopt(&self, runnable: Runnable, epoch: u64) {
        if self.keeps_idle {
            runnable.header().take_over(self.id, epoch);
        }
        // SAFETY: the lock has handed it over, and the closure calls no user code.
        unsafe { runnable.header().private.with(|private| private.flags |= ALERTED | CALLED) };
        self.push(runnable);
    }

    /// Once a round, but more rarely while it is in vain: exposes what others had better take.
    pub(super) fn offer_between_turns(&self) {
        let (in_vain, rounds_left) = self.vain_offers.get();
        if rounds_left > 0 {
            self.vain_offers.set((in_vain, rounds_left - 1));
        } else if self.offer(0, EXPOSED_AT_ONCE) {
            self.vain_offers.set((0, 0));
        } else {
            self.vain_offers.set(((in_vain + 1).min(VAIN_OFFERS_MOST), (1 << in_vain) - 1));
        }
    }

    /// Exposes what others had better take; false if there was nothing worth it, though much waits. `current_ns`: how long the present
    /// turn takes, as far as known.
    pub(super) fn offer(&self, current_ns: u64, most: usize) -> bool {
        let mut idle_workers = self.shared.idle();
        if idle_workers == 0 && self.is_elastic {
            idle_workers = self.call_more(current_ns);
        }
        if idle_workers == 0 {
            return true;
        }
        let len = self.queue_len();
        let view = QueueView { len, turn_ns: self.turn_ns.get(), current_ns, idle_workers };
        let n = self.shared.settings.policy.expose(&view).min(most);
        n == 0 || self.expose(n, current_ns)
    }

    /// False if nothing was worth it.
    #[cold]
    pub(super) fn expose(&self, n: usize, current_ns: u64) -> bool {
        let mut exposed = 0;
        let away = self.id | IN_TRANSIT;
        // What stays is put back in its order.
        let mut kept = Vec::new();
        self.settle();
        self.flush_all();
        let mut queue = self.shared.publics[self.index].lock();
        for _ in 0..n {
            // SAFETY: this thread owns the queue, and the closure calls no user code.
            let youngest = unsafe { self.queue.with(|queue| queue.pop_back()) };
            let Some(runnable) = youngest else { break };
            if !self.is_worth_exposing(runnable, self.queue_len(), current_ns) {
                kept.push(runnable);
                if kept.len() == KEPT_AT_ONCE {
                    break;
                }
                continue;
            }
            if self.keeps_idle {
                // Relaxed: the lock publishes it.
                runnable.header().owner.store(away, Ordering::Relaxed);
            }
            queue.push_front(runnable);
            exposed += 1;
        }
        let public_len = queue.len();
        drop(queue);
        self.counters().exposed.add(exposed);
        for runnable in kept.into_iter().rev() {
            self.push(runnable);
        }
        self.call_thieves(public_len);
        exposed > 0
    }

    /// Whether others had better take a runnable of this worker's, with so many before it.
    pub(super) fn is_worth_exposing(
        &self,
        runnable: Runnable,
        before: usize,
        current_ns: u64,
    ) -> bool {
        let header = runnable.header();
        if header.kind.stays() {
            return false;
        }
        // SAFETY: this worker owns the runnable, and the closure calls no user code.
        let own_kib = unsafe { header.private.with(|private| private.footprint.kib()) };
        let footprint_kib = if own_kib == 0 { header.kind.footprint_kib() } else { own_kib };
        let queue_ns = self.turn_ns.get().saturating_mul(before as u64);
        let view = MoveView {
            cost_ns: self.cost_ns(runnable),
            current_ns,
            wait_ns: current_ns.saturating_add(queue_ns),
            footprint_kib,
            distance: self.shared.neighbours[self.index].first().map_or(0, |&(_, rank)| rank),
        };
        // SAFETY: this worker owns the runnable, which is alive.
        let pending = || unsafe { (header.vtable.pending)(runnable.0) };
        let is_worth = self.shared.settings.policy.worth_exposing(&view, pending);
        if !is_worth && footprint_kib > 0 {
            let waited_kib = self.shared.settings.policy.movable_kib(view.wait_ns, view.distance);
            // SAFETY: this worker owns the runnable, and the closure calls no user code.
            unsafe {
                header.private.with(|private| private.footprint.kept(footprint_kib, waited_kib))
            }
        }
        is_worth
    }

    /// Wakes as many sleepers as the policy wants for so many runnables.
    pub(super) fn call_thieves(&self, public_len: usize) {
        let wanted = self.shared.settings.policy.wake_more(public_len, self.shared.idle());
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
        // Thieves judge by this how long what is exposed would wait. Relaxed: a hint.
        let turn_ns = self.turn_ns.get().max(current_ns).min(u64::from(u32::MAX));
        self.shared.turn_ns[self.index].store(turn_ns as usize, Ordering::Relaxed);
        self.tend_lanes();
        // Tokens for what is exposed must not wait for this turn's end; that of what runs must, so that it is run again.
        for token in self.shared.inboxes[self.index].take() {
            if Some(token) == self.running() {
                self.post(token, self.index);
            } else {
                self.receive(token);
            }
        }
        self.flush_all();
        self.offer(current_ns, most);
    }

    /// Own public queue, the shared one, then other workers' by rising distance.
    pub(super) fn find_work(&self) -> bool {
        self.take_some(&self.shared.publics[self.index])
            || self.take_some(&self.shared.global)
            || self.steal()
    }

    /// Takes a share from a queue that this worker need not be careful with.
    pub(super) fn take_some(&self, queue: &crate::public::PublicQueue) -> bool {
        if queue.is_empty() {
            return false;
        }
        self.settle();
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
            let len = self.shared.publics[victim].len();
            if len == 0 {
                continue;
            }
            // Relaxed: a hint.
            let turn_ns = self.shared.turn_ns[victim].load(Ordering::Relaxed) as u64;
            if !policy.worth_stealing(&StealView { len, turn_ns, distance }) {
                continue;
            }
            self.settle();
            let mut queue = self.shared.publics[victim].lock();
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
                // Tokens of what was stolen may have come to the victim, which may be busy for long.
                for token in self.shared.inboxes[victim].take() {
                    self.receive(token);
                }
                self.counters().stolen.add(stolen);
                // Sleepers were woken for a queue that this worker now holds half of: pass the call on.
                if left > 0 {
                    self.call_thieves(1);
                }
                return true;
            }
        }
        false
    }

    /// Nothing to do: looks for work for a while, then sleeps until woken or until the next alarm.
    #[cold]
    pub(super) fn idle(&self) {
        let porter = self.shared.porter();
        if let Some(porter) = porter {
            porter.out_of_work();
        }
        self.unload();
        self.shared.sleep.start_looking();
        if let Some(scaling) = &self.shared.scaling {
            scaling.begin_idle(self.index, self.shared.clock.now_ns());
        }
        if !self.is_working() || !self.spin() {
            // Grace periods that ended meanwhile may have sent.
            self.tend_lanes();
            self.flush_all();
            if self.has_graces() {
                // Somebody's turn takes long; what waits for it must not be forgotten.
                park(Some(GRACE));
            } else {
                self.nap();
            }
        }
        if let Some(scaling) = &self.shared.scaling {
            scaling.end_idle(self.index, self.shared.clock.now_ns());
        }
        self.shared.sleep.stop_looking();
        self.scales.start(self.shared.clock.now_ns());
    }

    /// Looks for a while; true if there may be something. The less it was worth lately, the shorter.
    pub(super) fn spin(&self) -> bool {
        let spins = self.spins.get();
        let porter = self.shared.porter().filter(|porter| porter.wants_looks());
        for spin in 0..spins {
            let found = self.may_find_work()
                || {
                    self.tend_graces();
                    self.queue_len() > 0
                }
                || porter.is_some_and(|porter| {
                    self.carried.set(porter.carry(true));
                    self.carried.get()
                });
            if found {
                self.spins.set((spins * 2).min(SPINS));
                return true;
            }
            if spin % 32 == 31 {
                // On a machine with more workers than PUs, whoever has work may need this one.
                thread::yield_now();
            } else if porter.is_none() {
                for _ in 0..PAUSES {
                    spin_loop();
                }
            }
        }
        false
    }

    pub(super) fn may_find_work(&self) -> bool {
        let shared = &*self.shared;
        !shared.inboxes[self.index].is_empty()
            || shared.lanes.has_pending(self.index)
            || !shared.homecomings[self.index].is_empty()
            || !shared.publics[self.index].is_empty()
            || !shared.global.is_empty()
            || shared.porter().is_some_and(|porter| porter.is_called())
            || shared.control.wants_attention()
                && (shared.control.exit_requested() || shared.control.is_paused())
            || shared.neighbours[self.index].iter().any(|&(other, distance)| {
                let len = shared.publics[other].len();
                // Relaxed: a hint.
                let turn_ns = || shared.turn_ns[other].load(Ordering::Relaxed) as u64;
                len > 0
                    && shared.settings.policy.worth_stealing(&StealView {
                        len,
                        turn_ns: turn_ns(),
                        distance,
                    })
            })
    }

    /// The sleep protocol: see `sleep`.
    pub(super) fn nap(&self) {
        self.counters().parked.add(1);
        self.shared.sleep.announce(self.index);
        if self.may_find_work() {
            self.shared.sleep.cancel(self.index);
            return self.awake();
        }
        self.shared.control.gone_idle();
        let (start_ns, alarm_ns) = (self.shared.clock.now_ns(), self.next_alarm_ns());
        let timeout_ns = alarm_ns.map(|alarm_ns| alarm_ns.saturating_sub(start_ns));
        let timeout_ns = timeout_ns.into_iter().chain(self.window_ns()).min();
        let timeout = timeout_ns.map(Duration::from_nanos);
        if timeout != Some(Duration::ZERO) {
            if let Some(porter) = self.shared.porter() {
                porter.asleep();
            }
            self.shared.sleep.park(self.index, timeout);
        } else {
            self.shared.sleep.cancel(self.index);
        }
        self.awake();
        let end_ns = self.shared.clock.now_ns();
        // Somebody woke it so soon that it had better gone on looking. (For an alarm it need not look.)
        let is_short = end_ns - start_ns < SHORT_NAP_NS;
        let spins = self.spins.get();
        self.spins.set(match is_short && alarm_ns.is_none_or(|alarm_ns| end_ns < alarm_ns) {
            true => (spins * 2).min(SPINS),
            false => (spins / 2).max(SPINS_LEAST),
        });
    }
}
