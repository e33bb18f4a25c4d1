//! Colocation: moving a runnable to the worker of those that it communicates with most:
//! `actinium_scheduler::worker::colocation`. Unlike a worker, it knows of every actor, and always
//! samples one send in as many.

use super::Sim;
use super::time::{Ps, ns};
use actinium_scheduler::policy::{Affinities, ColocateView, tuning};

impl Sim<'_> {
    /// Counts a send of the actor that the worker runs; every so manieth is sampled.
    pub(super) fn count_send(&mut self, worker: usize, actor: usize, target: usize, at_ps: Ps) {
        let left = &mut self.workers[worker].sends_left;
        *left -= 1;
        if *left == 0 {
            *left = tuning::SAMPLED;
            self.note_affinity(worker, actor, target, at_ps);
        }
    }

    fn note_affinity(&mut self, worker: usize, actor: usize, target: usize, at_ps: Ps) {
        let Some(colocate_after) = self.policy.colocate_after() else { return };
        if actor == target {
            return;
        }
        let to = self.actors[target].owner;
        let domains = &self.machine.domains;
        let affinities = &mut self.actors[actor].affinities;
        if !affinities.note(domains, to, colocate_after) {
            return;
        }
        let own_ns = self.workers[worker].shown_load_ns;
        if own_ns >= tuning::LOAD_UNKNOWN_NS {
            return;
        }
        let view = ColocateView {
            own: worker,
            sender: actor as u64,
            target: target as u64,
            now_ns: ns(at_ps),
            own_ns,
            turn_ns: self.workers[worker].turn_ns,
        };
        let affinities = *affinities;
        let load = |other: usize| {
            let load_ns = self.workers[other].shown_load_ns;
            (self.is_working(other) && load_ns < tuning::LOAD_UNKNOWN_NS).then_some(load_ns)
        };
        let goes_to = self.policy.colocate(&affinities, domains, &view, load);
        let state = &mut self.actors[actor];
        if let Some(other) = goes_to
            && state.home == worker
        {
            (state.home, state.steals, state.away) = (other, 0, 0);
            state.affinities = Affinities::default();
            self.figures.colocated += 1;
        }
    }
}
