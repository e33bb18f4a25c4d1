//! Once a round: time, timers, new and returning runnables, tokens.

use super::{Alarm, ROUND, Worker, weigh};
use crate::runnable::{ALERTED, CALLED, DEAD, IN_TRANSIT, Runnable, SCHEDULED};
use crate::sync::atomic::Ordering;
use crate::wheel::{TimerKey, Wheel};

impl Worker {
    /// Once a round: time, timers, what others sent, what others could take.
    #[inline(never)]
    pub(super) fn tick(&self) {
        // No turn is under way.
        self.running.set(None);
        self.woken_by.set(0);
        let turns = ROUND - self.round.replace(ROUND) - self.cut.replace(0);
        let now_ns = self.shared.clock.now_ns();
        self.began_ns.set(now_ns);
        let took_ns = now_ns.saturating_sub(self.round_ns.replace(now_ns));
        if turns > 0 {
            let turn_ns = u64::from(weigh(self.turn_ns.get() as u32, took_ns / u64::from(turns)));
            self.turn_ns.set(turn_ns);
            // Relaxed: a hint for thieves.
            self.shared.turn_ns[self.index].store(turn_ns as usize, Ordering::Relaxed);
        }
        let counters = self.counters();
        counters.ticks.add(1);
        counters.turns.add(u64::from(turns));
        self.flush_counts();
        if self.shared.control.wants_attention() {
            self.attend();
        }
        self.fire(now_ns);
        self.shared.deadlines.fire(now_ns);
        self.welcome();
        self.read_inbox();
        self.receive_lanes();
        self.tend_graces();
        if let Some(porter) = self.shared.porter()
            && !self.carried.take()
        {
            porter.carry(false);
        }
        self.take_back();
        // Last, for all of the above may post; a worker never sleeps on what it has gathered for others.
        self.flush_all();
        self.tend_lanes();
        self.rescale(now_ns);
        self.offer_between_turns();
        self.balance(now_ns);
    }

    #[cold]
    pub(super) fn attend(&self) {
        self.settle();
        self.flush_all();
        self.shared.control.pause_point();
        if self.shared.control.is_draining() {
            // SAFETY: this thread owns the timers; alarms are dropped outside the closure.
            let alarms =
                unsafe { self.timers.with(|timers| std::mem::replace(timers, Wheel::new(0))) };
            drop(alarms);
        }
        if self.shared.control.exit_requested() {
            // What is queued is not run any more; it is disposed of when all workers have stopped.
            // SAFETY: this thread owns the queue, and the closure calls no user code.
            unsafe { self.queue.with(|queue| queue.clear()) };
        }
    }

    pub(super) fn fire(&self, now_ns: u64) {
        // SAFETY: this thread owns the timers, and the closure calls no user code.
        let due = unsafe {
            self.timers.with(|timers| timers.next_deadline().is_some_and(|next| next <= now_ns))
        };
        if !due {
            return;
        }
        // SAFETY: as above.
        let mut fired = unsafe { self.fired.with(std::mem::take) };
        // SAFETY: as above.
        unsafe { self.timers.with(|timers| timers.advance(now_ns, &mut fired)) };
        self.counters().timers.add(fired.len() as u64);
        for (_, alarm) in fired.drain(..) {
            alarm(self);
        }
        // SAFETY: as above; what it replaces is empty.
        unsafe { self.fired.with(|room| *room = fired) };
    }

    /// Sets an alarm at `deadline_ns` of the scheduler's clock on this worker.
    pub fn set_alarm(&self, deadline_ns: u64, alarm: Alarm) -> TimerKey {
        // SAFETY: this thread owns the timers, and the closure calls no user code.
        unsafe { self.timers.with(|timers| timers.insert(deadline_ns, alarm)) }
    }

    /// Takes an alarm of this worker back; `None` if it has fired.
    pub fn cancel_alarm(&self, key: TimerKey) -> Option<Alarm> {
        // SAFETY: this thread owns the timers, and the closure calls no user code.
        unsafe { self.timers.with(|timers| timers.cancel(key)) }
    }

    /// The earliest time at which an alarm may be due. The first worker also looks after the deadlines of those outside.
    pub fn next_alarm_ns(&self) -> Option<u64> {
        // SAFETY: this thread owns the timers, and the closure calls no user code.
        let own = unsafe { self.timers.with(|timers| timers.next_deadline()) };
        let outside = if self.index == 0 { self.shared.deadlines.next_ns() } else { None };
        own.into_iter().chain(outside).min()
    }

    /// New runnables, and idle ones that came home.
    pub(super) fn welcome(&self) {
        if !self.shared.homecomings[self.index].is_empty() {
            self.take_home(None);
        }
    }

    /// Takes what is in the queue of homecomings; true if `wanted` was among it.
    pub(super) fn take_home(&self, wanted: Option<Runnable>) -> bool {
        let mut found = false;
        self.settle();
        let mut queue = self.shared.homecomings[self.index].lock();
        let epoch = self.shared.lanes.raise_epoch();
        for runnable in queue.drain(..) {
            found |= Some(runnable) == wanted;
            let header = runnable.header();
            header.take_over(self.id, epoch);
            // SAFETY: this worker owns the runnable now, and the closure calls no user code.
            let flags = unsafe {
                header.private.with(|private| {
                    private.flags |= ALERTED | CALLED;
                    private.flags
                })
            };
            if flags & SCHEDULED != 0 {
                self.push(runnable);
            }
        }
        found
    }

    /// Starts a new runnable here. The caller has made it and nobody else knows it yet.
    #[inline]
    pub fn start(&self, runnable: Runnable) {
        if self.keeps_idle {
            // Relaxed: only this worker tests for its own id.
            runnable.header().owner.store(self.id, Ordering::Relaxed);
            self.push(runnable);
        } else {
            self.shared.start(runnable, self.index);
        }
    }

    /// Tokens that others raised.
    pub(super) fn read_inbox(&self) {
        for runnable in self.shared.inboxes[self.index].take() {
            self.receive(runnable);
        }
    }

    pub(super) fn receive(&self, runnable: Runnable) {
        let header = runnable.header();
        loop {
            // Acquire: pairs with the release of DEAD in `bury`.
            let owner = header.owner.load(Ordering::Acquire);
            if owner == self.id {
                header.lower();
                return self.alert(runnable);
            }
            if owner == self.id | IN_TRANSIT {
                // It lies in one of this worker's queues. Only under the lock is that certain to last until the token is down; the
                // lock then orders this before the turn of whoever takes it.
                let queue = self.shared.publics[self.index].lock();
                if header.owner.load(Ordering::Relaxed) == owner {
                    header.lower();
                    drop(queue);
                    // If it lay in the public queue, somebody may have taken it from there by now, and may have ended it: it will run, and
                    // is not touched here any more. On its way home it is idle, and must be queued like anything that wakes; the
                    // queue's length says nothing yet, for its owner is set before it is in.
                    if self.take_home(Some(runnable)) {
                        self.alert(runnable);
                    }
                    return;
                }
                continue;
            }
            if owner == DEAD {
                // It ended while this token was up, so its release was left to the token's receiver: us.
                return self.release_dead(runnable);
            }
            self.counters().forwarded.add(1);
            return self.post(runnable, self.shared.index_of(owner));
        }
    }

    /// Something that this worker owns has messages in its shared queue.
    pub fn alert(&self, runnable: Runnable) {
        // SAFETY: this worker owns the runnable (the caller has tested it), and the closure calls no user code.
        unsafe { runnable.header().private.with(|private| private.flags |= ALERTED | CALLED) };
        self.schedule(runnable);
    }
}
