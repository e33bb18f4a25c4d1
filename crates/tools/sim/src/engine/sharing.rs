//! Housekeeping, sharing, stealing, looking, sleeping: `actinium_scheduler::worker::{housekeeping,
//! sharing}`.

use super::queues::Which;
use super::time::{Ps, ns, ps};
use super::{Mode, Place, Sim};
use actinium_scheduler::policy::tuning::{self, weigh};
use actinium_scheduler::policy::{MoveView, QueueView, StealView};

impl Sim<'_> {
    /// Once a round: time, what others sent, what others could take.
    pub(super) fn tick(&mut self, worker: usize, at_ps: Ps) -> Ps {
        let costs = &self.machine.costs;
        let at_ps = at_ps + ps(costs.clock_ns + costs.tick_ns);
        let state = &mut self.workers[worker];
        let turns = tuning::ROUND - state.round - state.cut;
        (state.round, state.cut) = (tuning::ROUND, 0);
        let took_ns = ns(at_ps.saturating_sub(state.round_ps));
        state.round_ps = at_ps;
        if turns > 0 {
            state.turn_ns = weigh(state.turn_ns as u32, took_ns / u64::from(turns)).into();
            state.shown_turn_ns = state.turn_ns;
        }
        state.ticks += 1;
        if !self.keeps_idle {
            return at_ps;
        }
        let at_ps = self.drain_returns(worker, at_ps);
        let at_ps = self.read_inbox(worker, at_ps);
        let at_ps = self.take_back(worker, at_ps);
        let at_ps = self.rescale(worker, at_ps);
        let at_ps = self.share_between_turns(worker, at_ps);
        self.balance(worker, at_ps, if turns > 0 { took_ns } else { 0 })
    }

    fn take_back(&mut self, worker: usize, at_ps: Ps) -> Ps {
        if self.workers[worker].steal_queue.items.is_empty() {
            return at_ps;
        }
        let at_ps = self.lock(Which::Public(worker), worker, at_ps);
        let all = self.workers[worker].steal_queue.items.len();
        let n = if self.idle_working() == 0 || self.workers.len() == 1 { all } else { 1 };
        for _ in 0..n {
            self.adopt(worker, Which::Public(worker));
        }
        at_ps
    }

    /// The first of a queue becomes the worker's.
    fn adopt(&mut self, worker: usize, which: Which) {
        let Some(actor) = self.queue(which).items.pop_front() else { return };
        self.actors[actor].owner = worker;
        self.actors[actor].place = Place::Private;
        if !self.keeps_idle {
            self.actors[actor].home = worker;
        }
        self.workers[worker].queue.push_back(actor);
    }

    fn share_between_turns(&mut self, worker: usize, at_ps: Ps) -> Ps {
        let (in_vain, rounds_left) = self.workers[worker].vain_shares;
        if rounds_left > 0 {
            self.workers[worker].vain_shares = (in_vain, rounds_left - 1);
            return at_ps;
        }
        let (good, at_ps) = self.share_work(worker, 0, at_ps);
        self.workers[worker].vain_shares = if good {
            (0, 0)
        } else {
            ((in_vain + 1).min(tuning::VAIN_SHARES_MOST), (1 << in_vain) - 1)
        };
        at_ps
    }

    /// False if nothing was worth it, though much waits.
    fn share_work(&mut self, worker: usize, current_ns: u64, at_ps: Ps) -> (bool, Ps) {
        let mut idle_workers = self.idle_working();
        if idle_workers == 0 && self.scaling.is_some() {
            idle_workers = self.call_more(worker, current_ns);
        }
        if idle_workers == 0 {
            return (true, at_ps);
        }
        let state = &self.workers[worker];
        let view =
            QueueView { len: state.queue.len(), turn_ns: state.turn_ns, current_ns, idle_workers };
        let n = self.policy.share(&view).min(tuning::SHARED_AT_ONCE);
        if n == 0 {
            return (true, at_ps);
        }
        self.share(worker, n, current_ns, at_ps)
    }

    fn share(&mut self, worker: usize, n: usize, current_ns: u64, at_ps: Ps) -> (bool, Ps) {
        let mut at_ps = self.lock(Which::Public(worker), worker, at_ps);
        let mut kept = Vec::new();
        let mut moved = 0;
        for _ in 0..n {
            let Some(actor) = self.workers[worker].queue.pop_back() else { break };
            let before = self.workers[worker].queue.len();
            if !self.is_worth_sharing(worker, actor, before, current_ns) {
                kept.push(actor);
                if kept.len() == tuning::KEPT_AT_ONCE {
                    break;
                }
                continue;
            }
            self.actors[actor].place = Place::Public;
            self.workers[worker].steal_queue.items.push_front(actor);
            self.figures.stealable += 1;
            moved += 1;
        }
        // Kept where they were, and since when.
        self.workers[worker].queue.extend(kept.into_iter().rev());
        let stealable = self.workers[worker].steal_queue.items.len();
        if moved > 0 {
            self.let_notice(worker, stealable, at_ps);
        }
        at_ps = self.call_thieves(worker, stealable, at_ps);
        (moved > 0, at_ps)
    }

    /// `Worker::is_worth_sharing`.
    pub(super) fn is_worth_sharing(
        &mut self,
        worker: usize,
        actor: usize,
        before: usize,
        current_ns: u64,
    ) -> bool {
        let own_kib = self.actors[actor].footprint.kib();
        let footprint_kib = if own_kib == 0 { self.kind_footprint_kib } else { own_kib };
        let queue_ns = self.workers[worker].turn_ns.saturating_mul(before as u64);
        let view = MoveView {
            cost_ns: self.cost_ns(actor),
            current_ns,
            wait_ns: current_ns.saturating_add(queue_ns),
            footprint_kib,
            distance: self.machine.neighbours[worker].first().map_or(0, |&(_, rank)| rank),
        };
        let pending = || self.actors[actor].mail as usize;
        let is_worth = self.policy.worth_sharing(&view, pending);
        if !is_worth && footprint_kib > 0 {
            let waited_kib = self.policy.movable_kib(view.wait_ns, view.distance);
            self.actors[actor].footprint.kept(footprint_kib, waited_kib);
        }
        is_worth
    }

    fn call_thieves(&mut self, worker: usize, stealable: usize, at_ps: Ps) -> Ps {
        let mut at_ps = at_ps;
        let machine = self.machine;
        let mut wanted = self.policy.wake_more(stealable, self.idle_working());
        let mut sleepers = self.idle - self.looking.len();
        for &(other, distance) in &machine.neighbours[worker] {
            if wanted == 0 || sleepers == 0 || !self.policy.reaches(distance) {
                break;
            }
            if self.is_asleep(other) && self.is_working(other) {
                at_ps += ps(machine.costs.wake_ns);
                self.wake(other, at_ps);
                wanted -= 1;
                sleepers -= 1;
            }
        }
        at_ps
    }

    /// The turn to come takes long: whatever others could do meanwhile is handed on now.
    pub(super) fn hand_on(&mut self, worker: usize, current_ns: u64, at_ps: Ps) -> Ps {
        let state = &mut self.workers[worker];
        state.shown_turn_ns = state.turn_ns.max(current_ns).min(u32::MAX.into());
        let at_ps = self.read_inbox(worker, at_ps);
        self.share_work(worker, current_ns, at_ps).1
    }

    /// Own steal queue, the shared one, then other workers' by rising distance.
    pub(super) fn find_work(&mut self, worker: usize, at_ps: Ps) -> (bool, Ps) {
        for which in [Which::Public(worker), Which::Global] {
            let len = self.queue(which).items.len();
            if len > 0 {
                let at_ps = self.lock(which, worker, at_ps);
                let n = if self.keeps_idle { len.div_ceil(2) } else { 1 };
                for _ in 0..n {
                    self.adopt(worker, which);
                }
                return (true, at_ps);
            }
        }
        self.steal(worker, at_ps)
    }

    fn steal(&mut self, worker: usize, at_ps: Ps) -> (bool, Ps) {
        let machine = self.machine;
        for &(victim, distance) in &machine.neighbours[worker] {
            let len = self.workers[victim].steal_queue.items.len();
            if len == 0 || !self.is_worth_stealing(victim, distance) {
                continue;
            }
            let mut at_ps = self.lock(Which::Public(victim), worker, at_ps);
            let n = len.div_ceil(2).min(tuning::STOLEN_AT_ONCE);
            for _ in 0..n {
                self.adopt(worker, Which::Public(victim));
            }
            self.figures.stolen += n as u64;
            self.figures.stolen_rank_max = self.figures.stolen_rank_max.max(distance);
            // Messages for what was stolen may have come to the victim, which may be busy for long.
            let messages = std::mem::take(&mut self.workers[victim].inbox);
            for (arrives_ps, actor) in messages {
                self.workers[worker].inbox.push_back((arrives_ps.max(at_ps), actor));
            }
            if !self.workers[victim].steal_queue.items.is_empty() {
                at_ps = self.call_thieves(worker, 1, at_ps);
            }
            return (true, at_ps);
        }
        (false, at_ps + ps(machine.costs.look_ns * self.workers.len() as f64))
    }

    fn is_worth_stealing(&self, victim: usize, distance: u32) -> bool {
        let (len, turn_ns) =
            (self.workers[victim].steal_queue.items.len(), self.workers[victim].shown_turn_ns);
        self.policy.worth_stealing(&StealView { len, turn_ns, distance })
    }

    pub(super) fn may_find_work(&self, worker: usize) -> bool {
        let state = &self.workers[worker];
        self.next_arrival(worker).is_some()
            || !state.steal_queue.items.is_empty()
            || !self.global.items.is_empty()
            || self.machine.neighbours[worker].iter().any(|&(other, distance)| {
                !self.workers[other].steal_queue.items.is_empty()
                    && self.is_worth_stealing(other, distance)
            })
    }

    /// Nothing to do: looks for work for a while.
    pub(super) fn look(&mut self, worker: usize, at_ps: Ps) {
        self.workers[worker].mode = Mode::Looking { noticed: false };
        self.idle += 1;
        self.looking.push(worker);
        self.unload(worker);
        self.begin_idle(worker, at_ps);
        if let Some(arrives_ps) = self.next_arrival(worker) {
            // Under way to this worker.
            self.workers[worker].mode = Mode::Looking { noticed: true };
            return self.plan(worker, arrives_ps.max(at_ps));
        }
        let rounds = if self.is_working(worker) { self.workers[worker].spins } else { 0 };
        let patience_ns = self.machine.costs.spin_ns * f64::from(rounds);
        self.plan(worker, at_ps + ps(patience_ns));
    }

    /// Ends a worker's search for work, for it has found something.
    pub(super) fn stop_looking(&mut self, worker: usize) {
        self.idle -= 1;
        self.looking.retain(|&other| other != worker);
        let spins = &mut self.workers[worker].spins;
        *spins = (*spins * 2).min(tuning::SPINS);
    }

    pub(super) fn nap(&mut self, worker: usize, now_ps: Ps) {
        self.looking.retain(|&other| other != worker);
        self.figures.parked += 1;
        let state = &mut self.workers[worker];
        state.mode = Mode::Asleep { since_ps: now_ps };
        state.utilization.note_sleep(ns(now_ps));
        // Whatever was planned is outdated.
        state.step += 1;
        self.plan_review(worker, now_ps);
    }

    pub(super) fn is_asleep(&self, worker: usize) -> bool {
        matches!(self.workers[worker].mode, Mode::Asleep { .. })
    }

    /// Wakes a sleeper.
    pub(super) fn wake(&mut self, worker: usize, at_ps: Ps) {
        // Awake from now on, for others; it runs when it runs.
        if let Mode::Asleep { since_ps } = self.workers[worker].mode {
            self.figures.woken += 1;
            let runs_ps = at_ps + ps(self.machine.costs.wake_latency_ns);
            self.adapt_spins(worker, since_ps, runs_ps);
            self.idle -= 1;
            self.workers[worker].mode = Mode::Awake;
            self.plan(worker, runs_ps);
        }
    }

    /// A worker wakes up: the shorter its sleep, the longer it looks for work next time.
    pub(super) fn adapt_spins(&mut self, worker: usize, since_ps: Ps, until_ps: Ps) {
        let spins = &mut self.workers[worker].spins;
        *spins = match ns(until_ps.saturating_sub(since_ps)) < tuning::SHORT_NAP_NS {
            true => (*spins * 2).min(tuning::SPINS),
            false => (*spins / 2).max(tuning::SPINS_LEAST),
        };
    }

    /// There is something for this worker: wakes it if it sleeps (true then), lets it notice if it
    /// looks.
    pub(super) fn notice(&mut self, worker: usize, at_ps: Ps) -> bool {
        match self.workers[worker].mode {
            Mode::Asleep { .. } => {
                self.wake(worker, at_ps);
                true
            }
            Mode::Looking { noticed: false } => {
                self.notices(worker, worker, at_ps);
                false
            }
            _ => false,
        }
    }

    /// Lets workers that look for work see what lies in the queue of worker `at`, the nearest
    /// first: as many of them as there is something for.
    pub(super) fn let_notice(&mut self, at: usize, most: usize, at_ps: Ps) {
        if self.looking.is_empty() {
            return;
        }
        let machine = self.machine;
        let mut left = most;
        for &(other, distance) in &machine.neighbours[at] {
            if left == 0 {
                break;
            }
            let looks = self.workers[other].mode == Mode::Looking { noticed: false };
            if looks && (!self.global.items.is_empty() || self.is_worth_stealing(at, distance)) {
                self.notices(at, other, at_ps);
                left -= 1;
            }
        }
    }

    fn notices(&mut self, at: usize, worker: usize, at_ps: Ps) {
        self.workers[worker].mode = Mode::Looking { noticed: true };
        let delay_ns = self.machine.costs.spin_ns * self.random.unit();
        self.plan(worker, at_ps + ps(delay_ns + self.machine.transfer_ns(at, worker)));
    }
}
