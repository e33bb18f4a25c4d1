//! Colocation: moving a runnable to the worker of those that it communicates with most. Only sends
//! that are sampled anyway are looked at.

use super::Worker;
use super::communication::number_of;
use crate::owned::Owned;
use crate::policy::tuning::LOAD_UNKNOWN_NS;
use crate::policy::{ColocateView, CommunicationAffinity, is_mover};
use crate::runnable::{IN_TRANSIT, Runnable};
use crate::sync::atomic::Ordering;

impl Worker {
    /// The running turn sends to `target`, and that send is sampled. Where its home is said to be
    /// elsewhere, the runnable goes there after its next turn, as something that was stolen does.
    pub(super) fn note_affinity(&self, target: Runnable) {
        let Some(colocate_after) = self.shared.settings.policy.colocate_after() else { return };
        let may_move = |sender: &Runnable| *sender != target && !sender.header().kind.stays();
        let Some(sender) = self.running().filter(may_move) else { return };
        // Relaxed: a hint.
        let owner = target.header().owner.load(Ordering::Relaxed) & !IN_TRANSIT;
        let to = owner.wrapping_sub(self.first_id) as usize;
        // It may have ended.
        if to >= self.shared.workers() {
            return;
        }
        if let Some(affinity) = self.affinities.note(sender.0.as_ptr(), to, colocate_after) {
            self.colocate(sender, target, &affinity);
        }
    }

    #[cold]
    fn colocate(&self, sender: Runnable, target: Runnable, affinity: &CommunicationAffinity) {
        let Some((other, other_sends)) = affinity.most_elsewhere(self.index) else { return };
        let (own_ns, other_ns) = (self.load_of(self.index), self.load_of(other));
        if own_ns.max(other_ns) >= LOAD_UNKNOWN_NS {
            return;
        }
        let view = ColocateView {
            other_sends,
            own_sends: affinity.sends_to(self.index),
            is_mover: is_mover(number_of(sender.0.as_ptr()), number_of(target.0.as_ptr())),
            own_ns,
            turn_ns: self.turn_ns.get(),
            other_ns,
        };
        if other >= self.shared.working() || !self.shared.settings.policy.should_colocate(&view) {
            return;
        }
        self.affinities.forget(sender.0.as_ptr());
        // SAFETY: this worker runs the sender, so it owns it.
        let mut owned = unsafe { Owned::new(sender) };
        // What was stolen is on its way already.
        if owned.with(|private| private.home as usize == self.index) {
            owned.move_home(other);
            self.counters().colocated.add(1);
        }
    }
}
