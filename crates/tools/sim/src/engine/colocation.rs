//! Colocation: moving a runnable to the worker of those that it communicates with most:
//! `actinium_scheduler::worker::colocation`. Unlike a worker, it knows of every actor, and always
//! samples one send in as many.

use super::Sim;
use actinium_scheduler::policy::{ColocateView, CommunicationAffinity, is_mover, tuning};

impl Sim<'_> {
    /// Counts a send of the actor that the worker runs; every so manieth is sampled.
    pub(super) fn count_send(&mut self, worker: usize, actor: usize, target: usize) {
        let left = &mut self.workers[worker].sends_left;
        *left -= 1;
        if *left == 0 {
            *left = tuning::SAMPLED;
            self.note_affinity(worker, actor, target);
        }
    }

    fn note_affinity(&mut self, worker: usize, actor: usize, target: usize) {
        let Some(colocate_after) = self.policy.colocate_after() else { return };
        if actor == target {
            return;
        }
        let to = self.actors[target].owner;
        let affinity = &mut self.actors[actor].affinity;
        if !affinity.note(to, colocate_after) {
            return;
        }
        let Some((other, other_sends)) = affinity.most_elsewhere(worker) else { return };
        let (own_ns, other_ns) =
            (self.workers[worker].shown_load_ns, self.workers[other].shown_load_ns);
        if own_ns.max(other_ns) >= tuning::LOAD_UNKNOWN_NS {
            return;
        }
        let view = ColocateView {
            other_sends,
            own_sends: affinity.sends_to(worker),
            is_mover: is_mover(actor as u64, target as u64),
            own_ns,
            turn_ns: self.workers[worker].turn_ns,
            other_ns,
        };
        let goes = self.is_working(other) && self.policy.should_colocate(&view);
        let state = &mut self.actors[actor];
        if goes && state.home == worker {
            (state.home, state.steals, state.away) = (other, 0, 0);
            state.affinity = CommunicationAffinity::default();
            self.figures.colocated += 1;
        }
    }
}
