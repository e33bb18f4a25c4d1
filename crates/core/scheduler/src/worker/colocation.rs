//! Colocation: moving a runnable to the worker, or nearer to the workers, of those that it talks to
//! most. Only sends that are sampled anyway are looked at.

use super::Worker;
use super::communication::number_of;
use crate::owned::Owned;
use crate::policy::tuning::LOAD_UNKNOWN_NS;
use crate::policy::{Affinities, ColocateView};
use crate::runnable::{IN_TRANSIT, Runnable};
use crate::sync::atomic::Ordering;

impl Worker {
    /// The running turn sends to `target`, and that send is sampled. Where its home is said to be
    /// elsewhere, the runnable goes there after its next turn, as something that was stolen does.
    ///
    /// What lodges here counts as if it were at home: so homes come together meanwhile, too.
    pub(super) fn note_affinity(&self, target: Runnable) {
        let Some(colocate_after) = self.shared.settings.policy.colocate_after() else { return };
        let Some(sender) = self.running().filter(|&sender| sender != target) else { return };
        // SAFETY: this worker runs the sender, so it owns it.
        let mut owned = unsafe { Owned::new(sender) };
        if owned.stays() {
            return;
        }
        let to = self.where_at_home(target);
        // It may have ended.
        if to >= self.shared.workers() {
            return;
        }
        let (from, domains) = (sender.0.as_ptr(), &self.shared.domains);
        if let Some(affinities) = self.affinities.note(from, domains, to, colocate_after) {
            self.colocate(owned, target, &affinities);
        }
    }

    /// The index of the worker that something is at, or at home at if it lodges here; a greater
    /// number if it has ended.
    fn where_at_home(&self, target: Runnable) -> usize {
        // Relaxed: a hint, unless it is this worker's own id, which only this worker takes away.
        let owner = target.header().owner.load(Ordering::Relaxed);
        if owner == self.id {
            // SAFETY: this worker owns it, and does not run it.
            return self.home_of(&mut unsafe { Owned::new(target) });
        }
        (owner & !IN_TRANSIT).wrapping_sub(self.first_id) as usize
    }

    /// Where something of this worker's is at home if it lodges here; else this worker.
    fn home_of(&self, owned: &mut Owned<'_>) -> usize {
        let home = owned.with(|private| private.home as usize);
        if self.lodges(owned, home) { home } else { self.index }
    }

    /// Of 1,024 messages that a runnable of this worker sends, how many more would cross if it were
    /// at the other: see [`Affinities::would_cross`].
    pub(super) fn would_cross(&self, sender: Runnable, other: usize) -> u32 {
        let (from, domains) = (sender.0.as_ptr(), &self.shared.domains);
        self.affinities.would_cross(from, domains, self.index, other)
    }

    /// Forgets to whom a runnable sends: it moves.
    pub(super) fn forget_affinities(&self, runnable: Runnable) {
        self.affinities.forget(runnable.0.as_ptr());
    }

    #[cold]
    fn colocate(&self, mut owned: Owned<'_>, target: Runnable, affinities: &Affinities) {
        let (sender, own_ns) = (owned.runnable(), self.load_of(self.index));
        if own_ns >= LOAD_UNKNOWN_NS {
            return;
        }
        let (own, now_ns) = (self.home_of(&mut owned), self.shared.clock.now_ns());
        let view = ColocateView {
            own,
            sender: number_of(sender.0.as_ptr()),
            target: number_of(target.0.as_ptr()),
            now_ns,
            own_ns,
            turn_ns: self.turn_ns.get(),
        };
        let policy = &self.shared.settings.policy;
        // What goes to one that counts as delayed lodges here for now.
        let talks = policy.leaves_delayed(owned.typical_cost_ns(), || 0);
        let is_delayed = |worker| worker != self.index && self.is_delayed(worker, now_ns);
        let load = |worker: usize| {
            let lodges = talks && is_delayed(worker);
            let load_ns = if lodges { own_ns } else { self.load_of(worker) };
            (worker < self.shared.working() && load_ns < LOAD_UNKNOWN_NS).then_some(load_ns)
        };
        let Some(other) = policy.colocate(affinities, &self.shared.domains, &view, load) else {
            return;
        };
        self.forget_affinities(sender);
        // What was stolen is on its way already.
        if owned.with(|private| private.home as usize == own) {
            owned.move_home(other);
            if talks && is_delayed(other) {
                owned.with(|private| private.lodge_at(self.index));
            }
            self.counters().colocated.add(1);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::Policy;
    use crate::runnable::Kind;
    use crate::task::testing::{Idle, end, first_of_two};
    use std::sync::Arc;

    #[test]
    fn what_lodges_where_it_talks_to_has_its_home_there() {
        let (shared, worker, tasks) = first_of_two(Policy::affine());
        let kind = Arc::new(Kind::new("idle"));
        kind.set_cost_ns(20);
        let start = || tasks.start(&kind, 0, Box::new(Idle)).expect("it has not ended");
        let [sender, fellow, native] = [start(), start(), start()].map(|task| task.runnable());
        worker.drain_returns();
        // Relaxed: this thread alone uses it.
        shared.delayed_until_ns[1].store(usize::MAX, Ordering::Relaxed);
        // SAFETY: this worker owns it, and no other such value is in use.
        let owned = |runnable| unsafe { Owned::new(runnable) };
        for lodger in [sender, fellow] {
            owned(lodger).move_home(1);
            owned(lodger).with(|private| private.lodge_at(0));
        }
        let home_after_sends_to = |target| {
            let mut affinities = Affinities::default();
            for _ in 0..16 {
                affinities.note(&shared.domains, worker.where_at_home(target), 1_000);
            }
            // Of the two, it is now the one that moves and now the other.
            for _ in 0..64 {
                shared.clock.advance(1 << 20);
                worker.colocate(owned(sender), target, &affinities);
            }
            worker.where_at_home(sender)
        };
        assert_eq!(home_after_sends_to(fellow), 1, "they go home together");
        assert_eq!(worker.counters().colocated.get(), 0);
        assert_eq!(home_after_sends_to(native), 0);
        assert_eq!(home_after_sends_to(fellow), 1, "and back, though it stays here for now");
        assert!(owned(sender).with(|private| private.is_lodger()));
        assert_eq!(worker.counters().colocated.get(), 2);
        end(&worker, &tasks);
    }
}
