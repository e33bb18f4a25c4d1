//! Giving away, for good, what others have less of.

use super::Worker;
use crate::policy::pace::{self, KEPT_AT_ONCE};
use crate::policy::{GiftView, LoadView, Ready};
use crate::runnable::{AGAIN, BY_NEIGHBOUR, IN_TRANSIT, Runnable};
use crate::sync::atomic::Ordering;
use std::cell::Cell;

/// What a worker knows of its own load.
#[derive(Debug)]
pub(super) struct Scales {
    /// How long its queue takes to run once through, weighted over some rounds: nanoseconds.
    load_ns: Cell<u64>,
    /// When it looked at others' loads last, or found something to do.
    since_ns: Cell<u64>,
    /// How often in a row it has looked and given nothing, second looks that are still to come left out.
    in_vain: Cell<u32>,
    /// Its load when it looked last.
    looked_ns: Cell<u64>,
    /// Its last look has found somebody with less.
    has_found: Cell<bool>,
    /// Where in the list of its neighbours it looks next.
    next: Cell<usize>,
}

impl Scales {
    pub(super) fn new(now_ns: u64) -> Self {
        Scales {
            load_ns: Cell::new(0),
            since_ns: Cell::new(now_ns),
            in_vain: Cell::new(0),
            looked_ns: Cell::new(0),
            has_found: Cell::new(false),
            next: Cell::new(0),
        }
    }

    /// It has found something to do.
    pub(super) fn start(&self, now_ns: u64) {
        self.since_ns.set(now_ns);
    }
}

impl Worker {
    /// Once a round: how much there is to do; and now and then, whether others have less.
    pub(super) fn balance(&self, now_ns: u64) {
        if self.shared.workers() == 1 {
            return;
        }
        let (scales, len) = (&self.scales, self.queue_len());
        let queued_ns = self.turn_ns.get().saturating_mul(len as u64);
        let load_ns = pace::weigh_load(scales.load_ns.get(), queued_ns);
        if pace::has_grown(load_ns, scales.looked_ns.get()) {
            scales.in_vain.set(0);
            scales.looked_ns.set(load_ns);
        }
        let policy = &self.shared.settings.policy;
        let Some(pause_ns) = policy.balance_after_ns(load_ns, scales.in_vain.get()) else { return };
        scales.load_ns.set(load_ns);
        self.show_load(pace::shown_load(load_ns, self.turn_ns.get(), len));
        let pause = now_ns.saturating_sub(scales.since_ns.get());
        // One that does not work gives away all that it has: see `scaling`.
        if pause >= pause_ns && len >= 2 && self.is_working() {
            scales.since_ns.set(now_ns);
            // To give, a load must last; to be given more, it must not be there even now.
            self.even_out(load_ns.min(queued_ns));
        }
    }

    /// It has nothing to do.
    pub(super) fn unload(&self) {
        self.scales.load_ns.set(0);
        if self.load_of(self.index) != 0 {
            self.show_load(0);
        }
        self.scales.in_vain.set(0);
        self.scales.looked_ns.set(0);
        self.scales.has_found.set(false);
    }

    /// A worker's load as it shows it: a hint.
    pub(super) fn load_of(&self, index: usize) -> u64 {
        // Relaxed: a hint.
        self.shared.load_ns[index].load(Ordering::Relaxed) as u64
    }

    fn show_load(&self, load_ns: u64) {
        // Relaxed: a hint.
        self.shared.load_ns[self.index].store(load_ns as usize, Ordering::Relaxed);
    }

    #[cold]
    fn even_out(&self, own_ns: u64) {
        let (scales, neighbours) = (&self.scales, self.in_reach());
        let looks = neighbours.len().min(pace::balance_looks(scales.in_vain.get()));
        if looks == 0 {
            return;
        }
        let start = scales.next.get();
        let at = |step: usize| neighbours[(start + step) % neighbours.len()].0;
        let working = self.shared.working();
        let others = (0..looks).map(at).filter(|&other| other < working);
        let others = others.map(|other| (self.load_of(other), other));
        let mut others: Vec<(u64, usize)> =
            others.filter(|&(load_ns, _)| load_ns < pace::LOAD_UNKNOWN_NS).collect();
        let sum_ns = own_ns + others.iter().map(|&(load_ns, _)| load_ns).sum::<u64>();
        let average_ns = sum_ns.div_ceil(others.len() as u64 + 1);
        // Who has least is given to first; of equals, the nearest.
        others.sort_by_key(|&(load_ns, _)| load_ns);
        let turn_ns = self.turn_ns.get().max(1);
        let mut left_ns = own_ns;
        // Who has nothing to do now may have much in a moment: nothing is given before a second look at the same workers has found the same.
        let had_found = scales.has_found.replace(false);
        let mut gave = 0;
        let policy = &self.shared.settings.policy;
        for (other_ns, other) in others {
            let view = LoadView { own_ns: left_ns, turn_ns, other_ns, average_ns };
            let n = policy.give(&view);
            if n > 0 {
                scales.has_found.set(true);
                if !had_found {
                    break;
                }
                let may_give = |ready, cost_ns| {
                    policy.may_give(&GiftView { ready, cost_ns, own_ns: left_ns, average_ns })
                };
                let given = self.give(other, n, may_give);
                let given_ns = turn_ns * given as u64;
                left_ns = left_ns.saturating_sub(given_ns);
                // Others shall not give it as much again before it has seen what it got. Relaxed: a hint, and its owner soon corrects it.
                self.shared.load_ns[other].fetch_add(given_ns as usize, Ordering::Relaxed);
                gave += given;
            }
        }
        let looks_again = scales.has_found.get() && !had_found;
        if !looks_again {
            scales.next.set((start + looks) % neighbours.len());
        }
        let in_vain =
            if gave > 0 || looks_again { 0 } else { scales.in_vain.get().saturating_add(1) };
        scales.in_vain.set(in_vain);
        scales.looked_ns.set(own_ns);
        scales.load_ns.set(scales.load_ns.get().min(left_ns));
    }

    /// Its neighbours up to the distance to which work may move: they are sorted by it.
    pub(super) fn in_reach(&self) -> &[(usize, u32)] {
        let (policy, neighbours) =
            (&self.shared.settings.policy, &self.shared.neighbours[self.index]);
        let near = neighbours.partition_point(|&(_, distance)| policy.reaches(distance));
        &neighbours[..near]
    }

    /// Gives so many ready runnables, the youngest first, to another worker, where they are at home from now on; returns how many.
    pub(super) fn give(&self, to: usize, n: usize, may_give: impl Fn(Ready, u32) -> bool) -> usize {
        let away = self.shared.id_of(to) | IN_TRANSIT;
        let (mut kept, mut given) = (Vec::new(), 0);
        self.settle();
        self.flush_all();
        let mut queue = self.shared.homecomings[to].lock();
        while given < n && kept.len() < KEPT_AT_ONCE {
            // SAFETY: this thread owns the queue, and the closure calls no user code.
            let youngest = unsafe { self.queue.with(|queue| queue.pop_back()) };
            let Some(runnable) = youngest else { break };
            let stays = runnable.header().kind.stays();
            if stays || !may_give(self.ready(runnable), self.cost_ns(runnable)) {
                kept.push(runnable);
                continue;
            }
            // SAFETY: this worker owns the runnable until the lock is released, and the closure calls no user code.
            unsafe {
                runnable.header().private.with(|private| {
                    (private.home, private.steals, private.away) = (to as u32, 0, 0);
                })
            }
            // Relaxed: the queue's lock publishes it.
            runnable.header().owner.store(away, Ordering::Relaxed);
            queue.push_back(runnable);
            given += 1;
        }
        drop(queue);
        for runnable in kept.into_iter().rev() {
            self.push(runnable);
        }
        if given > 0 {
            self.counters().given.add(given as u64);
            self.wake(to);
        }
        given
    }

    /// Why a runnable of this worker's queue is ready.
    pub(super) fn ready(&self, runnable: Runnable) -> Ready {
        // SAFETY: this worker owns the runnable, which is alive, and the closure calls no user code.
        let (flags, pending) = unsafe {
            let header = runnable.header();
            let flags = header.private.with(|private| private.flags);
            (flags, (header.vtable.pending)(runnable.0))
        };
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
