//! Under `pool` and `stealing`, what is idle belongs to nobody: whoever wakes it queues it.

use super::queues::Which;
use super::time::{Ps, ps};
use super::{Place, Sim};
use actinium_scheduler::policy::WakeTo;

impl Sim<'_> {
    /// `Worker::turn_unowned`, its end.
    pub(super) fn end_adrift(&mut self, worker: usize, actor: usize, at_ps: Ps) -> Ps {
        self.actors[actor].place = Place::Idle;
        if self.actors[actor].mail == 0 {
            return at_ps;
        }
        self.queue_unowned(worker, actor, at_ps)
    }

    pub(super) fn send_adrift(&mut self, worker: usize, target: usize, at_ps: Ps) -> Ps {
        self.actors[target].mail += 1;
        let after_ps = at_ps + ps(self.machine.costs.remote_send_ns);
        if self.actors[target].place != Place::Idle {
            return after_ps;
        }
        self.queue_unowned(worker, target, after_ps)
    }

    /// Delivers from outside: no worker pays.
    pub(super) fn deliver_adrift(&mut self, index: usize, target: usize, at_ps: Ps) {
        self.actors[target].mail += 1;
        if self.actors[target].place == Place::Idle {
            self.put(index, target, at_ps);
            self.wake_one(index, at_ps);
        }
    }

    /// `Shared::queue_unowned`.
    fn queue_unowned(&mut self, worker: usize, actor: usize, at_ps: Ps) -> Ps {
        let which = self.put(worker, actor, at_ps);
        let at_ps = self.lock(which, worker, at_ps);
        let looks = self.machine.costs.look_ns * self.workers.len() as f64;
        let woken = self.wake_one(worker, at_ps);
        at_ps + ps(looks) + if woken { ps(self.machine.costs.wake_ns) } else { 0 }
    }

    fn put(&mut self, index: usize, actor: usize, at_ps: Ps) -> Which {
        let which = match self.policy.wake_to() {
            WakeTo::Shared => Which::Global,
            WakeTo::Waker | WakeTo::Owner => Which::Public(index),
        };
        self.actors[actor].place = Place::Public;
        self.actors[actor].ready_ps = at_ps;
        self.queue(which).items.push_back(actor);
        which
    }

    /// Wakes the nearest sleeper, the worker itself first, and lets one of those that look notice;
    /// true if a sleeper was woken.
    fn wake_one(&mut self, worker: usize, at_ps: Ps) -> bool {
        if !self.is_asleep(worker) {
            self.notice(worker, at_ps);
        }
        self.let_notice(worker, 1, at_ps);
        if self.idle == self.looking.len() {
            return false;
        }
        let order = self.machine.neighbours[worker].iter().map(|&(other, _)| other);
        let sleeper = std::iter::once(worker).chain(order).find(|&other| self.is_asleep(other));
        match sleeper {
            Some(sleeper) => {
                self.wake(sleeper, at_ps);
                true
            }
            None => false,
        }
    }
}
