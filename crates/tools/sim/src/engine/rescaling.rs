//! Elastic workers: `actinium_scheduler::worker::elastic`. What is known of busy time, and how many
//! workers work, the runtime's own [`Scaling`] keeps here, too.

use super::time::{Ps, ns, ps};
use super::{Mode, Sim};
use actinium_scheduler::ScaleEvent;
use actinium_scheduler::policy::{QueueView, Ready, ScaleView};
use actinium_scheduler::scaling::Scaling;

/// Most runnables of a queue that are looked at to see how many others could run.
const LOOKED_AT: usize = 64;
/// The time for which runnables that cannot be moved are not looked at again, in nanoseconds.
const LOOK_AGAIN_NS: u64 = 50_000;

impl Sim<'_> {
    /// Workers that are given work: those with the lowest indices.
    pub(super) fn working(&self) -> usize {
        self.scaling.as_ref().map_or(self.workers.len(), Scaling::working)
    }

    pub(super) fn is_working(&self, worker: usize) -> bool {
        worker < self.working()
    }

    /// Workers that look for work, or sleep until there is some; those that do not work sleep.
    pub(super) fn idle_working(&self) -> usize {
        self.idle.saturating_sub(self.workers.len() - self.working())
    }

    pub(super) fn begin_idle(&self, worker: usize, at_ps: Ps) {
        self.scaling.iter().for_each(|scaling| scaling.begin_idle(worker, ns(at_ps)));
    }

    pub(super) fn end_idle(&self, worker: usize, at_ps: Ps) {
        self.scaling.iter().for_each(|scaling| scaling.end_idle(worker, ns(at_ps)));
    }

    /// `Worker::call_more`.
    pub(super) fn call_more(&mut self, worker: usize, current_ns: u64) -> usize {
        let state = &self.workers[worker];
        let now_ns = ns(state.round_ps);
        let looks = current_ns > 0 || now_ns >= state.grow_at_ns;
        if !looks || self.working() == self.workers.len() || state.queue.is_empty() {
            return 0;
        }
        let view = self.scale_view(worker, current_ns);
        let grown = if view.movable == 0 { None } else { self.scale(view, now_ns, false) };
        match grown {
            Some(event) => event.to - event.from,
            None => {
                self.workers[worker].grow_at_ns = now_ns + LOOK_AGAIN_NS;
                0
            }
        }
    }

    fn scale(&mut self, view: ScaleView, now_ns: u64, at_window: bool) -> Option<ScaleEvent> {
        let (policy, scaling) = (self.policy, self.scaling.as_ref()?);
        let rules = &scaling.rules;
        let event = scaling.decide(view, now_ns, at_window, |view| policy.scale(rules, view))?;
        self.figures.grown += event.to.saturating_sub(event.from) as u64;
        self.figures.shrunk += event.from.saturating_sub(event.to) as u64;
        self.count_working(event.from, ps(now_ns as f64));
        Some(event)
    }

    /// So many have worked since the last change.
    pub(super) fn count_working(&mut self, working: usize, at_ps: Ps) {
        let since_ps = std::mem::replace(&mut self.working_since_ps, at_ps);
        self.working_ps += u128::from(at_ps.saturating_sub(since_ps)) * working as u128;
    }

    fn scale_view(&mut self, worker: usize, current_ns: u64) -> ScaleView {
        let movable = self.count_movable(worker, current_ns);
        let state = &self.workers[worker];
        let public = state.steal_queue.items.len();
        let len = state.queue.len() + public;
        let queue = QueueView { len, turn_ns: state.turn_ns, current_ns, idle_workers: 0 };
        ScaleView {
            working: self.working(),
            workers: self.workers.len(),
            wait_ns: queue.wait_ns(),
            movable: movable + public,
            busy_percent: None,
        }
    }

    fn count_movable(&mut self, worker: usize, current_ns: u64) -> usize {
        let queue = &self.workers[worker].queue;
        let some: Vec<usize> = queue.iter().take(LOOKED_AT).copied().collect();
        let is_movable = |&(before, actor): &(usize, usize)| {
            self.is_worth_sharing(worker, actor, before, current_ns)
                || self.actors[actor].ready == Ready::Again
        };
        some.into_iter().enumerate().filter(is_movable).count()
    }

    /// `Worker::rescale`: once a round.
    pub(super) fn rescale(&mut self, worker: usize, at_ps: Ps) -> Ps {
        let Some(window_ns) = self.scaling.as_ref().map(|scaling| scaling.rules.window_ns) else {
            return at_ps;
        };
        let now_ns = ns(at_ps);
        if now_ns >= self.workers[worker].scale_at_ns {
            self.workers[worker].scale_at_ns = now_ns + window_ns;
            let view = self.scale_view(worker, 0);
            self.scale(view, now_ns, true);
        }
        if self.is_working(worker) || self.workers[worker].queue.is_empty() {
            return at_ps;
        }
        self.move_out(worker, at_ps)
    }

    /// Moves all that is ready here to the worker with least to do of those that work.
    fn move_out(&mut self, worker: usize, mut at_ps: Ps) -> Ps {
        let working = self.working();
        let others = self.machine.neighbours[worker].iter().map(|&(other, _)| other);
        let others = others.filter(|&other| other < working);
        if let Some(other) = others.min_by_key(|&other| self.workers[other].shown_load_ns) {
            self.push_to(worker, other, usize::MAX, |_, _, _| true, &mut at_ps);
        }
        at_ps
    }

    /// A sleeper looks after a while whether there are too many workers, if there may be.
    pub(super) fn plan_review(&mut self, worker: usize, now_ps: Ps) {
        let Some(rules) = self.scaling.as_ref().map(|scaling| scaling.rules) else { return };
        if self.is_working(worker) && self.working() > rules.least {
            self.plan(worker, now_ps + ps(rules.window_ns as f64));
        }
    }

    /// The sleeper wakes for that.
    pub(super) fn wake_for_review(&mut self, worker: usize, now_ps: Ps) {
        if self.scaling.is_some()
            && let Mode::Asleep { since_ps } = self.workers[worker].mode
        {
            self.idle -= 1;
            self.adapt_spins(worker, since_ps, now_ps);
        }
    }
}
