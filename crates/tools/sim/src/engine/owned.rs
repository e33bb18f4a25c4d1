//! Under `pinned` and `affine`, each runnable has an owner, which alone runs it and gives it away.

use super::queues::Which;
use super::time::{Ps, ns, ps};
use super::{Place, Sim, SimError};
use actinium_scheduler::policy::tuning::{self, weigh};
use actinium_scheduler::policy::{Ready, StolenView};

impl Sim<'_> {
    /// `Worker::schedule`: something that this worker owns has got a message.
    pub(super) fn schedule(&mut self, worker: usize, actor: usize, ready: Ready, at_ps: Ps) {
        if self.actors[actor].place == Place::Idle {
            self.actors[actor].ready = ready;
            self.push(worker, actor, at_ps);
        }
    }

    pub(super) fn push(&mut self, worker: usize, actor: usize, at_ps: Ps) {
        self.actors[actor].place = Place::Private;
        self.actors[actor].ready_ps = at_ps;
        self.workers[worker].queue.push_back(actor);
    }

    pub(super) fn send_owned(&mut self, worker: usize, target: usize, at_ps: Ps) -> Ps {
        let owner = self.actors[target].owner;
        if owner == worker && self.actors[target].place != Place::Public {
            self.actors[target].mail += 1;
            self.schedule(worker, target, Ready::ByNeighbours, at_ps);
            return at_ps;
        }
        let at_ps = at_ps + ps(self.machine.costs.remote_send_ns);
        let arrives_ps = at_ps + ps(self.machine.transfer_ns(worker, owner));
        self.workers[owner].inbox.push_back((arrives_ps, target));
        if self.notice(owner, at_ps) { at_ps + ps(self.machine.costs.wake_ns) } else { at_ps }
    }

    /// `Worker::read_inbox`.
    pub(super) fn read_inbox(&mut self, worker: usize, at_ps: Ps) -> Ps {
        let mut at_ps = at_ps;
        while self.workers[worker].inbox.front().is_some_and(|&(arrives, _)| arrives <= at_ps) {
            let Some((_, actor)) = self.workers[worker].inbox.pop_front() else { break };
            at_ps += ps(self.machine.costs.remote_receive_ns);
            at_ps = self.receive(worker, actor, at_ps);
        }
        at_ps
    }

    fn receive(&mut self, worker: usize, actor: usize, at_ps: Ps) -> Ps {
        let owner = self.actors[actor].owner;
        if owner != worker {
            // It has moved meanwhile.
            let at_ps = at_ps + ps(self.machine.costs.remote_send_ns);
            let arrives_ps = at_ps + ps(self.machine.transfer_ns(worker, owner));
            self.workers[owner].inbox.push_back((arrives_ps, actor));
            let woken = self.notice(owner, at_ps);
            return at_ps + if woken { ps(self.machine.costs.wake_ns) } else { 0 };
        }
        self.actors[actor].mail += 1;
        self.schedule(worker, actor, Ready::ByOthers, at_ps);
        at_ps
    }

    /// `Worker::turn_timed` and `Worker::after`: the end of an owned runnable's turn.
    pub(super) fn end_owned(
        &mut self,
        worker: usize,
        actor: usize,
        messages: u32,
        took_ps: Ps,
        timed: bool,
        at_ps: Ps,
    ) -> Result<Ps, SimError> {
        let home = self.actors[actor].home;
        let cost_ns = self.cost_ns(actor);
        if timed || cost_ns >= tuning::QUICK_NS {
            let known_ns = u64::from(cost_ns) * u64::from(messages);
            let took_ns = if timed { ns(took_ps) } else { known_ns };
            let state = &mut self.workers[worker];
            let turns = tuning::further_turns(took_ns).min(state.round);
            (state.cut, state.round) = (state.cut + turns, state.round - turns);
        }
        if timed {
            if (home == worker || self.cost_ns(actor) == 0) && messages > 0 {
                let own = weigh(self.actors[actor].cost_ns, ns(took_ps) / u64::from(messages));
                self.actors[actor].cost_ns = own;
                self.kind_cost_ns = weigh(self.kind_cost_ns, own.into());
            } else {
                self.estimate_footprint(worker, actor, ns(took_ps), messages);
            }
            if home != worker {
                return Ok(self.after_theft(worker, actor, home, at_ps));
            }
            (self.actors[actor].steals, self.actors[actor].away) = (0, 0);
        }
        // What has just been drawn elsewhere goes there after its next turn, which will be timed.
        self.after(worker, actor, at_ps);
        Ok(at_ps)
    }

    /// `Worker::estimate_footprint`.
    fn estimate_footprint(&mut self, worker: usize, actor: usize, took_ns: u64, messages: u32) {
        let state = &mut self.actors[actor];
        let at_home_ns = u64::from(state.cost_ns) * u64::from(messages);
        if state.away > 0 || at_home_ns == 0 {
            return;
        }
        let mut near = self.machine.neighbours[worker].iter();
        let distance = near.find(|&&(other, _)| other == state.home).map_or(0, |&(_, rank)| rank);
        let kib = self.policy.footprint_kib(took_ns, at_home_ns, distance);
        if let Some(own_kib) = state.footprint.estimate(kib) {
            self.kind_footprint_kib = weigh(self.kind_footprint_kib, own_kib.into());
        }
    }

    fn after(&mut self, worker: usize, actor: usize, at_ps: Ps) {
        if self.actors[actor].mail > 0 {
            self.actors[actor].ready = Ready::Again;
            self.push(worker, actor, at_ps);
        } else {
            self.actors[actor].place = Place::Idle;
        }
    }

    /// `Worker::after_theft`.
    fn after_theft(&mut self, worker: usize, actor: usize, home: usize, at_ps: Ps) -> Ps {
        let home_turn_ns = self.workers[home].shown_turn_ns;
        let state = &mut self.actors[actor];
        state.steals = if state.thief == worker { state.steals.saturating_add(1) } else { 1 };
        state.thief = worker;
        state.away = (state.away + 1).min(u8::MAX.into());
        let view = StolenView {
            steals_in_a_row: state.steals,
            away_in_a_row: state.away,
            cost_ns: state.cost_ns,
            home_turn_ns,
        };
        let rehomes = self.policy.rehome(&view);
        if rehomes {
            (state.home, state.steals, state.away) = (worker, 0, 0);
            self.figures.rehomed += 1;
        }
        if rehomes || !self.policy.returns_home(&view) {
            self.after(worker, actor, at_ps);
            return at_ps;
        }
        state.owner = home;
        if state.mail == 0 {
            state.place = Place::Idle;
            return at_ps + ps(self.machine.costs.lock_ns);
        }
        state.place = Place::Public;
        state.ready_ps = at_ps;
        let mut at_ps = self.lock(Which::Public(home), worker, at_ps);
        self.workers[home].steal_queue.items.push_back(actor);
        if self.notice(home, at_ps) {
            at_ps += ps(self.machine.costs.wake_ns);
        }
        self.let_notice(home, 1, at_ps);
        at_ps
    }
}
