//! Giving away, for good, what others have less of.

use super::time::{Ps, ns, ps};
use super::{Mode, Place, Sim};
use crate::machine::Machine;
use actinium_scheduler::policy::tuning;
use actinium_scheduler::policy::{Affinities, LoadView, Policy, PushView, Ready};

impl Sim<'_> {
    /// Once a round, which took `busy_ns`, or 0 if it had no turns: how much there is to do; and
    /// now and then, whether others have less.
    pub(super) fn balance(&mut self, worker: usize, at_ps: Ps, busy_ns: u64) -> Ps {
        let state = &mut self.workers[worker];
        let now_ns = state.turn_ns.saturating_mul(state.queue.len() as u64);
        state.load_ns = tuning::weigh_load(state.load_ns, now_ns);
        state.shown_load_ns = tuning::shown_load(state.load_ns, state.turn_ns, state.queue.len());
        if tuning::has_grown(state.load_ns, state.looked_ns) {
            (state.in_vain, state.looked_ns) = (0, state.load_ns);
        }
        let Some(pause_ns) = self.policy.balance_after_ns(state.load_ns, state.in_vain) else {
            return at_ps;
        };
        // The worker's own clock, which may be ahead of the others'.
        state.utilization.note_round(ns(at_ps), busy_ns, state.load_ns);
        let is_early = ns(at_ps.saturating_sub(state.balanced_ps)) < pause_ns;
        if is_early || state.queue.len() < 2 || !self.is_working(worker) {
            return at_ps;
        }
        self.workers[worker].balanced_ps = at_ps;
        self.push_work(worker, at_ps)
    }

    fn push_work(&mut self, worker: usize, at_ps: Ps) -> Ps {
        let machine = self.machine;
        let neighbours = in_reach(machine, self.policy, worker);
        let looks = neighbours.len().min(tuning::balance_looks(self.workers[worker].in_vain));
        if looks == 0 {
            return at_ps;
        }
        let start = self.workers[worker].look_at;
        let mut looked_at: Vec<(usize, u32)> =
            (0..looks).map(|step| neighbours[(start + step) % neighbours.len()]).collect();
        let (mut at_ps, state) = (at_ps, &self.workers[worker]);
        let now_ns = state.turn_ns.saturating_mul(state.queue.len() as u64);
        // A load must last before work is pushed, and must still be there now.
        let mut own_ns = state.load_ns.min(now_ns);
        at_ps += looked_at.iter().map(|&(it, _)| ps(machine.transfer_ns(it, worker))).sum::<Ps>();
        looked_at.retain(|&(other, _)| {
            self.is_working(other) && self.workers[other].shown_load_ns < tuning::LOAD_UNKNOWN_NS
        });
        let theirs_ns = looked_at.iter().map(|&(it, _)| self.workers[it].shown_load_ns);
        let average_ns = (own_ns + theirs_ns.sum::<u64>()).div_ceil(looked_at.len() as u64 + 1);
        let turn_ns = self.workers[worker].turn_ns;
        // Who has nothing to do now may have much in a moment: nothing is pushed before a second
        // look at the same workers has found the same.
        let had_found = self.workers[worker].has_found;
        let (mut finds, mut has_pushed) = (false, false);
        // Who has least is pushed to first.
        looked_at.sort_by_key(|&(other, _)| self.workers[other].shown_load_ns);
        for (other, distance) in looked_at {
            let other_ns = self.workers[other].shown_load_ns;
            let view = LoadView { own_ns, turn_ns, other_ns, average_ns };
            let n = self.policy.push(&view);
            if n == 0 {
                continue;
            }
            finds = true;
            if !had_found {
                break;
            }
            let (policy, crossing_ns) = (self.policy, machine.crossing_ns(worker, other) as u32);
            let is_busy = self.is_busy_for(worker, other, ns(at_ps));
            let may_push = |ready, cost_ns, affinities: &Affinities| {
                policy.may_push(&PushView {
                    ready,
                    is_busy,
                    cost_ns,
                    crossing_ns,
                    would_cross: affinities.would_cross(&machine.domains, worker, other),
                    own_ns,
                    average_ns,
                })
            };
            let pushed = self.push_to(worker, other, n, may_push, &mut at_ps);
            if pushed > 0 {
                has_pushed = true;
                self.figures.pushed_rank_max = self.figures.pushed_rank_max.max(distance);
            }
            own_ns = own_ns.saturating_sub(turn_ns * pushed as u64);
            // Others shall not give it as much again before it has seen what it got.
            self.workers[other].shown_load_ns += turn_ns * pushed as u64;
        }
        let (state, looks_again) = (&mut self.workers[worker], finds && !had_found);
        if !looks_again {
            state.look_at = (start + looks) % neighbours.len();
        }
        (state.has_found, state.looked_ns) = (finds, now_ns.min(state.load_ns));
        let is_in_vain = !has_pushed && !looks_again;
        state.in_vain = if is_in_vain { tuning::vain_looks(state.in_vain, finds) } else { 0 };
        state.load_ns = state.load_ns.min(own_ns);
        at_ps
    }

    /// Whether the other one is busy for what this worker might push there.
    fn is_busy_for(&self, worker: usize, other: usize, now_ns: u64) -> bool {
        let own = &self.workers[worker].utilization;
        !own.is_long_overloaded(now_ns)
            || self.workers[other].utilization.shown().is_busy(now_ns, own.mean_load(now_ns))
    }

    pub(super) fn push_to(
        &mut self,
        worker: usize,
        to: usize,
        n: usize,
        may_push: impl Fn(Ready, u32, &Affinities) -> bool,
        at_ps: &mut Ps,
    ) -> usize {
        let mut kept = Vec::new();
        let mut pushed = 0;
        while pushed < n && kept.len() < tuning::KEPT_AT_ONCE {
            let Some(actor) = self.workers[worker].queue.pop_back() else { break };
            let state = &self.actors[actor];
            if !may_push(state.ready, self.cost_ns(actor), &state.affinities) {
                kept.push(actor);
                continue;
            }
            let state = &mut self.actors[actor];
            (state.owner, state.home) = (to, to);
            (state.steals, state.away) = (0, 0);
            state.affinities = Affinities::default();
            state.place = Place::Given;
            self.figures.pushed += 1;
            pushed += 1;
            *at_ps += ps(self.machine.costs.remote_send_ns);
            self.workers[to].gifts.push_back((*at_ps, actor));
        }
        self.workers[worker].queue.extend(kept.into_iter().rev());
        if pushed > 0 {
            *at_ps += ps(self.machine.transfer_ns(to, worker) + self.machine.costs.lock_ns);
            if self.notice(to, *at_ps) {
                *at_ps += ps(self.machine.costs.wake_ns);
            }
        }
        pushed
    }

    /// `Worker::drain_returns`: what others have pushed.
    pub(super) fn drain_returns(&mut self, worker: usize, at_ps: Ps) -> Ps {
        let mut at_ps = at_ps;
        while self.workers[worker].gifts.front().is_some_and(|&(arrives, _)| arrives <= at_ps) {
            let Some((_, actor)) = self.workers[worker].gifts.pop_front() else { break };
            at_ps += ps(self.machine.costs.remote_receive_ns);
            self.actors[actor].place = Place::Private;
            self.workers[worker].queue.push_back(actor);
        }
        at_ps
    }

    /// The time at which the first thing arrives that is under way to this worker.
    pub(super) fn next_arrival(&self, worker: usize) -> Option<Ps> {
        let state = &self.workers[worker];
        let fronts = [state.inbox.front(), state.gifts.front()];
        fronts.into_iter().flatten().map(|&(arrives_ps, _)| arrives_ps).min()
    }

    /// Clears the load of a worker that has nothing to do.
    pub(super) fn unload(&mut self, worker: usize) {
        debug_assert!(!matches!(self.workers[worker].mode, Mode::Turn { .. }));
        let state = &mut self.workers[worker];
        (state.load_ns, state.shown_load_ns, state.in_vain) = (0, 0, 0);
        (state.looked_ns, state.has_found) = (0, false);
    }
}

/// The neighbours up to the distance to which work may move: they are sorted by it.
fn in_reach(machine: &Machine, policy: Policy, worker: usize) -> &[(usize, u32)] {
    let neighbours = &machine.neighbours[worker];
    let near = neighbours.partition_point(|&(_, distance)| policy.reaches(distance));
    &neighbours[..near]
}
