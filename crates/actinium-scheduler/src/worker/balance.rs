//! Handing runnables that talk to nobody to a worker that has less to do: see `policy::balance`.

use super::{Worker, sharing};
use crate::policy::{LoadView, TALK_UNKNOWN};
use crate::runnable::{IN_TRANSIT, Runnable};
use crate::sync::atomic::Ordering;

/// Most runnables looked at in vain.
const HELD_AT_ONCE: usize = 16;

/// What was to be seen of a runnable and of its worker before a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pending: usize,
    sent: u64,
}

impl Worker {
    /// Before a timed turn: see [`Worker::learn_talk`].
    #[inline]
    pub(super) fn look_before(&self, runnable: Runnable) -> Before {
        // SAFETY: this worker owns the runnable, which is alive.
        let pending = unsafe { (runnable.header().vtable.pending)(runnable.0) };
        Before { pending, sent: self.sent() }
    }

    /// Notes how much a runnable talks to others, after a timed turn that did not end it: what it sent less what it sent to itself, and what it
    /// handled less that, per item. What waits for it afterwards, and did not before, it has sent to itself: others on this worker have not run
    /// meanwhile, and what comes from other workers arrives between turns. (From outside a message may come at any time; then it passes
    /// for less talkative than it is until the next measure.)
    pub(super) fn learn_talk(&self, runnable: Runnable, before: Before, handled: u32) {
        if handled == 0 {
            return;
        }
        let header = runnable.header();
        let handled = u64::from(handled);
        let sent = self.sent().wrapping_sub(before.sent);
        // SAFETY: as above.
        let pending = unsafe { (header.vtable.pending)(runnable.0) };
        let to_itself = (pending as u64 + handled).saturating_sub(before.pending as u64);
        let to_itself = to_itself.min(sent).min(handled);
        let talk = (sent - to_itself + handled - to_itself) * 16 / handled;
        let talk = talk.min(u64::from(TALK_UNKNOWN) - 1) as u8;
        // SAFETY: this worker owns the runnable, and the closure calls no user code.
        unsafe {
            header.private.with(|private| {
                private.talk = drift(private.talk, talk);
                header.kind.set_talk(drift(header.kind.talk(), private.talk));
            })
        }
    }

    /// Messages sent on this worker so far.
    fn sent(&self) -> u64 {
        let unflushed = self.sends_flushed.get().wrapping_sub(self.sends_left.get());
        self.counters().sent.get().wrapping_add(u64::from(unflushed))
    }

    /// Its kind's as long as its own is not known.
    fn talk(&self, runnable: Runnable) -> u8 {
        let header = runnable.header();
        // SAFETY: this worker owns the runnable, and the closure calls no user code.
        let own = unsafe { header.private.with(|private| private.talk) };
        if own == TALK_UNKNOWN { header.kind.talk() } else { own }
    }

    /// Whether it may run anywhere, for it talks to nobody.
    pub(super) fn moves_freely(&self, runnable: Runnable) -> bool {
        self.shared.settings.policy.moves_freely(self.talk(runnable))
    }

    /// Once a round: now and then it looks whether another worker has less to do.
    #[inline]
    pub(super) fn balance(&self, now_ns: u64) {
        if now_ns >= self.balance_at_ns.get() {
            self.compare_loads(now_ns);
        }
    }

    #[cold]
    fn compare_loads(&self, now_ns: u64) {
        let shared = &*self.shared;
        let Some(every_ns) = shared.settings.policy.balance_every_ns() else {
            return self.balance_at_ns.set(u64::MAX);
        };
        self.balance_at_ns.set(now_ns + every_ns);
        let (len, turn_ns) = (self.queue_len(), self.turn_ns.get());
        shared.loads.set(self.index, turn_ns.saturating_mul(len as u64));
        let working = shared.working();
        let others = shared.neighbours[self.index].iter().map(|&(other, _)| other);
        let others = others.filter(|&other| other < working);
        let loads = others.map(|other| (shared.loads.get(other), other));
        // Of equals the first, which is the nearest.
        let Some((other_wait_ns, other)) = loads.min_by_key(|&(load, _)| load) else { return };
        let looks = self.looks.get() + 1;
        let view = LoadView { len, turn_ns, other_wait_ns, looks };
        let surplus = shared.settings.policy.surplus(&view);
        self.looks.set(if surplus == 0 { 0 } else { looks });
        // Nor does anything move while much of what was sent here would have to be settled.
        if surplus > 0 && shared.settings.policy.hands_over(&view) && self.settles_soon() {
            let most = surplus.min(sharing::EXPOSED_AT_ONCE);
            let handed = self.give(other, most, |runnable| self.moves_freely(runnable));
            // Until the other looks itself.
            shared.loads.set(other, other_wait_ns.saturating_add(turn_ns.saturating_mul(handed)));
        }
    }

    /// Gives the youngest in its queue that may go to another worker, for good: at most `n`. Returns how many.
    pub(super) fn give(&self, other: usize, n: usize, may_go: impl Fn(Runnable) -> bool) -> u64 {
        let mut held = Vec::new();
        let mut free = Vec::new();
        while free.len() < n && held.len() < HELD_AT_ONCE {
            // SAFETY: this thread owns the queue, and the closure calls no user code.
            let youngest = unsafe { self.queue.with(|queue| queue.pop_back()) };
            let Some(runnable) = youngest else { break };
            if may_go(runnable) { free.push(runnable) } else { held.push(runnable) }
        }
        held.into_iter().rev().for_each(|runnable| self.push(runnable));
        if free.is_empty() {
            return 0;
        }
        self.settle();
        self.flush_all();
        let away = self.shared.id_of(other) | IN_TRANSIT;
        let mut queue = self.shared.homecomings[other].lock();
        for &runnable in free.iter().rev() {
            let header = runnable.header();
            // SAFETY: this worker owns the runnable, and the closure calls no user code.
            unsafe {
                header.private.with(|private| (private.home, private.steals) = (other as u32, 0))
            };
            // Relaxed: the queue's lock publishes it.
            header.owner.store(away, Ordering::Relaxed);
            queue.push_back(runnable);
        }
        drop(queue);
        self.wake(other);
        self.counters().handed.add(free.len() as u64);
        free.len() as u64
    }
}

/// An eighth of the way from the old value to the new one, and at least a step; the first value counts whole.
fn drift(old: u8, new: u8) -> u8 {
    if old == TALK_UNKNOWN {
        return new;
    }
    let step = old.abs_diff(new).div_ceil(8);
    if new > old { old + step } else { old - step }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn talk_drifts_to_what_is_measured_and_gets_there() {
        assert_eq!(drift(TALK_UNKNOWN, 32), 32);
        assert_eq!((drift(0, 32), drift(32, 0), drift(7, 7)), (4, 28, 7));
        assert_eq!((0..40).fold(32, |talk, _| drift(talk, 0)), 0);
        assert_eq!((0..90).fold(0, |talk, _| drift(talk, 254)), 254);
    }
}
