//! Elastic workers, as a worker sees them: calling more, finding that fewer would do, and handing
//! on what is left here then.

use super::Worker;
use crate::owned::Owned;
use crate::policy::{QueueView, Ready, ScaleEvent, ScaleView};
use crate::recording::Act;
use crate::runnable::Runnable;
use crate::sync::atomic::Ordering;

/// Most runnables of a queue that are looked at to see how many others could run.
const LOOKED_AT: usize = 64;
/// The time for which runnables that cannot be moved are not looked at again, in nanoseconds: it
/// does not change from one round to the next.
const LOOK_AGAIN_NS: u64 = 50_000;

impl Worker {
    /// Whether this worker is to be given work.
    #[inline]
    pub(super) fn is_working(&self) -> bool {
        self.index < self.shared.working()
    }

    /// Nobody is idle: calls more workers if there are some that do not work, and something waits
    /// too long. Returns how many.
    pub(super) fn call_more(&self, current_ns: u64) -> usize {
        let now_ns = self.round_ns.get();
        // Before a long turn, and during one, it looks in any case.
        let looks = current_ns > 0 || now_ns >= self.grow_at_ns.get();
        if !looks || self.shared.working() == self.shared.workers() || self.queue_len() == 0 {
            return 0;
        }
        let view = self.scale_view(current_ns);
        let grown = match view.movable {
            0 => None,
            _ => self.scale(view, now_ns, false),
        };
        match grown {
            Some(event) => event.to - event.from,
            None => {
                self.grow_at_ns.set(now_ns + LOOK_AGAIN_NS);
                0
            }
        }
    }

    #[cold]
    fn scale(&self, view: ScaleView, now_ns: u64, at_window: bool) -> Option<ScaleEvent> {
        let scaling = self.shared.scaling.as_ref()?;
        let policy = &self.shared.settings.policy;
        let rules = &scaling.rules;
        let event = scaling.decide(view, now_ns, at_window, |view| policy.scale(rules, view))?;
        match event.to > event.from {
            true => self.counters().grown.add((event.to - event.from) as u64),
            false => self.counters().shrunk.add((event.from - event.to) as u64),
        }
        self.record(Act::Scale { from: event.from, to: event.to });
        Some(event)
    }

    fn scale_view(&self, current_ns: u64) -> ScaleView {
        let shared = &*self.shared;
        let public = shared.steal_queues[self.index].len();
        let len = self.queue_len() + public;
        let queue = QueueView { len, turn_ns: self.turn_ns.get(), current_ns, idle_workers: 0 };
        ScaleView {
            working: shared.working(),
            workers: shared.workers(),
            wait_ns: queue.wait_ns(),
            movable: self.count_movable(current_ns) + public,
            busy_percent: None,
        }
    }

    /// Runnables in the private queue that would be shared, or pushed, if there were somebody to
    /// take them.
    fn count_movable(&self, current_ns: u64) -> usize {
        let some: Vec<Runnable> = self.queue.with(|queue| queue.iter().take(LOOKED_AT).collect());
        let is_movable = |&(before, runnable): &(usize, Runnable)| {
            // SAFETY: it lies in this worker's queue, from which nothing is taken meanwhile.
            let mut owned = unsafe { Owned::new(runnable) };
            !owned.stays()
                && (self.is_worth_sharing(&mut owned, before, current_ns)
                    || self.ready(&mut owned) == Ready::Again)
        };
        some.into_iter().enumerate().filter(is_movable).count()
    }

    /// Once a round: at the end of a window, whether there are too many workers, or too few; and a
    /// worker that does not work any more gives away what it has.
    #[inline]
    pub(super) fn rescale(&self, now_ns: u64) {
        if self.is_elastic {
            self.review(now_ns);
        }
    }

    #[inline(never)]
    fn review(&self, now_ns: u64) {
        if now_ns >= self.scale_at_ns.get()
            && let Some(scaling) = &self.shared.scaling
        {
            self.scale_at_ns.set(now_ns + scaling.rules.window_ns);
            self.scale(self.scale_view(0), now_ns, true);
        }
        if !self.is_working() && self.queue_len() > 0 && self.flushes_soon() {
            self.move_out();
        }
    }

    /// Moves all that has its home here to a worker that works: the one with least to do, the
    /// nearest of several.
    #[cold]
    fn move_out(&self) {
        let working = self.shared.working();
        let others = self.shared.neighbours[self.index].iter().map(|&(other, _)| other);
        let others = others.filter(|&other| other < working);
        // Relaxed: a hint.
        let load_ns = |&other: &usize| self.shared.load_ns[other].load(Ordering::Relaxed);
        let Some(other) = others.min_by_key(load_ns) else { return };
        self.push_to(other, usize::MAX, |_| true);
    }

    /// How long it sleeps at most before it looks whether there are too many workers; `None`: until
    /// it is woken.
    pub(super) fn window_ns(&self) -> Option<u64> {
        let scaling = self.shared.scaling.as_ref()?;
        let may_shrink = self.is_working() && scaling.working() > scaling.rules.least;
        may_shrink.then_some(scaling.rules.window_ns)
    }
}
