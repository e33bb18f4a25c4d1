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
    pub(super) fn note_affinity(&self, target: Runnable) {
        let Some(colocate_after) = self.shared.settings.policy.colocate_after() else { return };
        let Some(sender) = self.running().filter(|&sender| sender != target) else { return };
        // SAFETY: this worker runs the sender, so it owns it.
        let mut owned = unsafe { Owned::new(sender) };
        if owned.stays() {
            return;
        }
        // Relaxed: a hint.
        let owner = target.header().owner.load(Ordering::Relaxed) & !IN_TRANSIT;
        let to = owner.wrapping_sub(self.first_id) as usize;
        // It may have ended.
        if to >= self.shared.workers() {
            return;
        }
        let (from, domains) = (sender.0.as_ptr(), &self.shared.domains);
        if let Some(affinities) = self.affinities.note(from, domains, to, colocate_after) {
            self.colocate(owned, target, &affinities);
        }
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
        let view = ColocateView {
            own: self.index,
            sender: number_of(sender.0.as_ptr()),
            target: number_of(target.0.as_ptr()),
            now_ns: self.shared.clock.now_ns(),
            own_ns,
            turn_ns: self.turn_ns.get(),
        };
        let load = |worker: usize| {
            let load_ns = self.load_of(worker);
            (worker < self.shared.working() && load_ns < LOAD_UNKNOWN_NS).then_some(load_ns)
        };
        let policy = &self.shared.settings.policy;
        let Some(other) = policy.colocate(affinities, &self.shared.domains, &view, load) else {
            return;
        };
        self.forget_affinities(sender);
        // What was stolen is on its way already.
        if owned.with(|private| private.home as usize == self.index) {
            owned.move_home(other);
            self.counters().colocated.add(1);
        }
    }
}
