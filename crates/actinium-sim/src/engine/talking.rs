//! Moving what talks much to where those are that it talks to: `actinium_scheduler::worker::talking`. Unlike a worker, it knows of every actor, and always samples
//! one send in as many.

use super::Sim;
use actinium_scheduler::policy::{TalkView, pace};

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
        let other = self.actors[target].owner;
        let (to, before) = self.actors[actor].talks_to;
        let in_a_row = match other {
            _ if other == worker => 0,
            _ if other == to => before + 1,
            _ => 1,
        };
        self.actors[actor].talks_to = (other, in_a_row);
        if in_a_row < talks_to_move {
            return;
        }
        let view = TalkView {
            in_a_row,
            own: worker,
            own_ns: self.workers[worker].shown_load_ns,
            turn_ns: self.workers[worker].turn_ns,
            other,
            other_ns: self.workers[other].shown_load_ns,
        };
        let state = &mut self.actors[actor];
        if self.policy.draws(&view) && state.home == worker {
            (state.home, state.steals, state.away) = (other, 0, 0);
            state.talks_to = (other, 0);
            self.figures.drawn += 1;
        }
    }
}
