//! Turns: what they take, and what follows from them.

use super::time::{Ps, ns, ps};
use super::{Mode, Place, Sim, SimError};
use actinium_scheduler::policy::tuning;
use actinium_topology::Distance;

impl Sim<'_> {
    /// `Worker::turn`: a runnable that the worker has taken from its queue begins to run.
    pub(super) fn begin_turn(
        &mut self,
        worker: usize,
        actor: usize,
        at_ps: Ps,
    ) -> Result<(), SimError> {
        let mut at_ps = at_ps;
        if self.actors[actor].place != Place::Private || self.actors[actor].owner != worker {
            let what = format!("worker {worker} runs actor {actor}: {:?}", self.actors[actor]);
            return Err(SimError::Broken(what));
        }
        self.actors[actor].place = Place::Running;
        self.workers[worker].round -= 1;
        let waited_ns = ns(at_ps.saturating_sub(self.actors[actor].ready_ps));
        self.figures.wait_max_ns = self.figures.wait_max_ns.max(waited_ns);
        let cost_ns = self.cost_ns(actor);
        let timed = self.keeps_idle
            && (cost_ns == 0
                || cost_ns >= tuning::TIMED_NS
                || self.is_timed_now(worker, cost_ns >= tuning::QUICK_NS)
                || self.actors[actor].home != worker);
        if timed {
            // What nobody has measured may take long.
            let expected_ns = if cost_ns == 0 { u64::MAX } else { cost_ns.into() };
            if expected_ns >= tuning::LONG_NS {
                at_ps = self.hand_on(worker, expected_ns, at_ps);
            }
            at_ps += ps(2.0 * self.machine.costs.clock_ns);
        }
        let (messages, took_ps) = self.work(worker, actor, cost_ns);
        self.figures.turns += 1;
        self.workers[worker].in_turns_ps += took_ps;
        self.note(worker, actor, at_ps);
        self.workers[worker].mode = Mode::Turn { actor, messages, began_ps: at_ps, timed };
        self.plan(worker, at_ps + took_ps);
        Ok(())
    }

    /// Nanoseconds per message, its kind's as long as its own are not known; 0: not known either.
    pub(super) fn cost_ns(&self, actor: usize) -> u32 {
        let own = self.actors[actor].cost_ns;
        if own == 0 { self.kind_cost_ns } else { own }
    }

    fn is_timed_now(&self, worker: usize, is_long: bool) -> bool {
        let worker = &self.workers[worker];
        (worker.round == 0 || is_long && worker.round == tuning::ROUND - 1)
            && worker.ticks.is_multiple_of(tuning::TIMED_ROUNDS)
    }

    /// How many messages a turn handles, and how long that takes.
    fn work(&mut self, worker: usize, actor: usize, cost_ns: u32) -> (u32, Ps) {
        let (costs, workload) = (&self.machine.costs, self.workload);
        let each_ns = workload.work_ns
            + costs.message_ns
            + costs.access_ns * f64::from(workload.accesses)
            + costs.allocate_ns * f64::from(workload.allocations)
            + if self.keeps_idle { 0.0 } else { costs.shared_message_ns };
        let turn_ns = costs.turn_ns + if self.keeps_idle { 0.0 } else { costs.shared_turn_ns };
        let waiting = self.actors[actor].mail.saturating_add(self.traffic.own_left(actor as u32));
        let expected_ns = each_ns.max(f64::from(cost_ns));
        let until = (self.settings.batch_time_ns as f64 / expected_ns) as u32 + 1;
        let (every, most) = (tuning::check_every(cost_ns), waiting.min(self.settings.batch));
        // The first look at the time limit that finds it over.
        let mut over = tuning::look_after(every, 0);
        while over < until.min(most) {
            over += tuning::look_after(every, over);
        }
        let messages = most.min(over);
        let before = self.caches.last_worker(actor);
        let touched = self.touched[messages as usize];
        let touch = self.caches.touch(self.machine, worker, actor, workload.lines(), touched);
        for (sum, misses) in self.misses.iter_mut().zip(touch.misses) {
            *sum += misses;
        }
        // What another worker has allocated since is freed here.
        let far_frees = match before {
            Some(before) if before != worker => workload.allocations.saturating_mul(messages),
            _ => 0,
        };
        let far_ns = f64::from(far_frees)
            * (costs.far_free_ns
                + before.map_or(0.0, |from| self.machine.transfer_ns(from, worker)));
        let mut took_ns = turn_ns + each_ns * f64::from(messages) + touch.extra_ns + far_ns;
        let busy = |&other: &usize| matches!(self.workers[other].mode, Mode::Turn { .. });
        if self.machine.siblings[worker].iter().any(busy) {
            took_ns *= costs.smt_slowdown;
        }
        took_ns *= 1.0 + costs.jitter * self.random.unit();
        (messages, ps(took_ns))
    }

    /// The turn ends: what it has sent is delivered, and the runnable queued again, or not.
    pub(super) fn end_turn(
        &mut self,
        worker: usize,
        actor: usize,
        messages: u32,
        began_ps: Ps,
        timed: bool,
        now_ps: Ps,
    ) -> Result<Ps, SimError> {
        let mut sends = std::mem::take(&mut self.sends);
        sends.clear();
        self.traffic.handled(actor as u32, messages, &mut sends);
        self.handled += u64::from(messages);
        let to_itself = sends.iter().filter(|&&target| target as usize == actor).count() as u32;
        let has = self.actors[actor].mail + to_itself;
        let Some(left) = has.checked_sub(messages) else {
            return Err(SimError::Broken(format!("actor {actor} handled {messages} of {has}")));
        };
        self.actors[actor].mail = left;
        self.open = self.open + sends.len() as u64 - u64::from(messages);
        self.actors[actor].handled += messages;
        if self.traffic.quota == Some(self.actors[actor].handled) && self.first_done_ps.is_none() {
            self.first_done_ps = Some(now_ps);
        }
        let mut at_ps = now_ps;
        for &target in &sends {
            if self.keeps_idle {
                self.count_send(worker, actor, target as usize, at_ps);
                self.count_crossing(worker, target as usize);
            }
            if target as usize != actor {
                at_ps = self.send(worker, target as usize, at_ps);
            }
        }
        self.sends = sends;
        if self.keeps_idle {
            self.end_owned(worker, actor, messages, now_ps - began_ps, timed, at_ps)
        } else {
            Ok(self.end_adrift(worker, actor, at_ps))
        }
    }

    /// Counts a message to an owned actor by how far it goes.
    fn count_crossing(&mut self, worker: usize, target: usize) {
        let owner = self.actors[target].owner;
        let rank = self.machine.rank(worker, owner);
        self.figures.crossed_workers += u64::from(owner != worker);
        self.figures.crossed_caches += u64::from(rank > Distance::L3.rank());
        self.figures.crossed_nodes += u64::from(rank > Distance::NumaNode.rank());
    }

    /// `Worker::send` as a handler calls it.
    fn send(&mut self, worker: usize, target: usize, at_ps: Ps) -> Ps {
        if self.keeps_idle {
            self.send_owned(worker, target, at_ps)
        } else {
            self.send_adrift(worker, target, at_ps)
        }
    }

    /// Messages from a thread that is no worker, all at once.
    pub(super) fn send_from_outside(&mut self, targets: &[u32], at_ps: Ps) {
        self.open += targets.len() as u64;
        for &target in targets {
            let target = target as usize;
            if self.keeps_idle {
                let owner = self.actors[target].owner;
                self.workers[owner].inbox.push_back((at_ps, target));
                self.notice(owner, at_ps);
            } else {
                self.placed += 1;
                let index = self.policy.place(self.placed, self.workers.len());
                self.deliver_adrift(index, target, at_ps);
            }
        }
    }

    /// Goes into the fingerprint.
    fn note(&mut self, worker: usize, actor: usize, at_ps: Ps) {
        let word = at_ps ^ ((worker as u64) << 48) ^ ((actor as u64) << 24);
        self.fingerprint =
            (self.fingerprint.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
