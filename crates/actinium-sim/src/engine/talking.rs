//! Moving what talks much to where those are that it talks to: `actinium_scheduler::worker::talking`. Unlike a worker, it knows of every actor, and always samples
//! one send in as many.

use super::Sim;
use actinium_scheduler::policy::{Talk, TalkView, goes, pace};

impl Sim<'_> {
    /// Counts a send of the actor that the worker runs; every so manieth is sampled.
    pub(super) fn count_send(&mut self, worker: usize, actor: usize, target: usize) {
        let left = &mut self.workers[worker].sends_left;
        *left -= 1;
        if *left == 0 {
            *left = pace::SAMPLED;
            self.note_talk(worker, actor, target);
        }
    }

    fn note_talk(&mut self, worker: usize, actor: usize, target: usize) {
        let Some(talks_to_move) = self.policy.talks_to_move() else { return };
        if actor == target {
            return;
        }
        let to = self.actors[target].owner;
        let talk = &mut self.actors[actor].talk;
        if !talk.note(to, talks_to_move) {
            return;
        }
        let Some((other, other_sends)) = talk.most_elsewhere(worker) else { return };
        let (own_ns, other_ns) =
            (self.workers[worker].shown_load_ns, self.workers[other].shown_load_ns);
        if own_ns.max(other_ns) >= pace::LOAD_UNKNOWN_NS {
            return;
        }
        let view = TalkView {
            other_sends,
            own_sends: talk.sends_to(worker),
            goes: goes(actor as u64, target as u64),
            own_ns,
            turn_ns: self.workers[worker].turn_ns,
            other_ns,
        };
        let state = &mut self.actors[actor];
        if self.policy.draws(&view) && state.home == worker {
            (state.home, state.steals, state.away) = (other, 0, 0);
            state.talk = Talk::default();
            self.figures.drawn += 1;
        }
    }
}
