//! Elastic workers: what is known of their busy time, how many work, and why that changed.
//!
//! `working` is a hint, as is everything here: a worker that is not working differs from others
//! only in that nobody counts or wakes it for work that anyone could do. So no work can be lost by
//! a change, whenever it is seen.

use crate::policy::{Elastic, ScaleEvent, ScaleReason, ScaleView};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Mutex, lock};
use std::collections::VecDeque;

/// Changes that are remembered, the latest ones.
const EVENTS: usize = 256;
/// `IdleTime::since`: it is not idle.
const AT_WORK: u64 = u64::MAX;

/// The number of working workers, and what decides it.
#[derive(Debug)]
pub struct Scaling {
    /// What decides.
    pub rules: Elastic,
    working: AtomicUsize,
    idle: Box<[IdleTime]>,
    state: Mutex<State>,
}

/// How long a worker was idle; written by itself.
#[derive(Debug)]
#[repr(align(128))]
struct IdleTime {
    /// Before its present idleness.
    total_ns: AtomicU64,
    /// The time at which that began, or `AT_WORK`.
    since_ns: AtomicU64,
}

#[derive(Debug)]
struct State {
    /// The time at which the present window began, and how long each worker had been idle by then.
    window_ns: u64,
    idle_ns: Vec<u64>,
    events: VecDeque<ScaleEvent>,
}

impl Scaling {
    /// As few workers as the rules allow, all of them idle since time 0.
    pub fn new(rules: Elastic, workers: usize) -> Self {
        // Until its thread has started, a worker is idle.
        let idle = |_| IdleTime { total_ns: AtomicU64::new(0), since_ns: AtomicU64::new(0) };
        let state = State { window_ns: 0, idle_ns: vec![0; workers], events: VecDeque::new() };
        Scaling {
            working: AtomicUsize::new(rules.least.clamp(1, workers)),
            rules,
            idle: (0..workers).map(idle).collect(),
            state: Mutex::new(state),
        }
    }

    /// Workers that work: those with the lowest indices.
    #[inline]
    pub fn working(&self) -> usize {
        // Relaxed: a hint.
        self.working.load(Ordering::Relaxed)
    }

    /// Worker `index` begins to look for work.
    pub fn begin_idle(&self, index: usize, now_ns: u64) {
        // Relaxed: a statistic.
        self.idle[index].since_ns.store(now_ns, Ordering::Relaxed);
    }

    /// Notes that a worker has found work, or was woken, or that its thread has started.
    pub fn end_idle(&self, index: usize, now_ns: u64) {
        let idle = &self.idle[index];
        // Relaxed, all: a statistic with one writer.
        let began_ns = idle.since_ns.swap(AT_WORK, Ordering::Relaxed);
        let total_ns = idle.total_ns.load(Ordering::Relaxed) + now_ns.saturating_sub(began_ns);
        idle.total_ns.store(total_ns, Ordering::Relaxed);
    }

    fn idle_ns(&self, index: usize, now_ns: u64) -> u64 {
        let idle = &self.idle[index];
        // Relaxed, both: a statistic; a moment of idleness may be missed, or counted twice, in one
        // window.
        let since_ns = idle.since_ns.load(Ordering::Relaxed);
        let total_ns = idle.total_ns.load(Ordering::Relaxed);
        total_ns + if since_ns == AT_WORK { 0 } else { now_ns.saturating_sub(since_ns) }
    }

    /// How many shall work, given what a worker sees; `None`: as many as now. With `at_window`,
    /// only at the end of a window, whose busy time then counts.
    pub fn decide(
        &self,
        mut view: ScaleView,
        now_ns: u64,
        at_window: bool,
        scale: impl FnOnce(&ScaleView) -> Option<(usize, ScaleReason)>,
    ) -> Option<ScaleEvent> {
        let mut state = lock(&self.state);
        view.working = self.working();
        if at_window {
            let long_ns = now_ns.saturating_sub(state.window_ns);
            if long_ns < self.rules.window_ns {
                return None;
            }
            view.busy_percent = Some(self.end_window(&mut state, view.working, now_ns, long_ns));
        }
        let (to, reason) = scale(&view)?;
        let event = ScaleEvent { at_ns: now_ns, from: view.working, to, reason, view };
        if state.events.len() == EVENTS {
            state.events.pop_front();
        }
        state.events.push_back(event);
        // Another window for another number of workers: what was measured says nothing of these.
        self.end_window(&mut state, to, now_ns, 1);
        // Relaxed: a hint.
        self.working.store(to, Ordering::Relaxed);
        Some(event)
    }

    /// Begins a new window; returns for how much of the old one, so long, the first `working`
    /// workers were busy, in percent of one's time.
    fn end_window(&self, state: &mut State, working: usize, now_ns: u64, long_ns: u64) -> u64 {
        let mut busy_ns = 0;
        for (index, then_ns) in state.idle_ns.iter_mut().enumerate() {
            let idle_ns = self.idle_ns(index, now_ns);
            let idle_in_window_ns = idle_ns.saturating_sub(std::mem::replace(then_ns, idle_ns));
            if index < working {
                busy_ns += long_ns.saturating_sub(idle_in_window_ns);
            }
        }
        state.window_ns = now_ns;
        busy_ns.saturating_mul(100) / long_ns.max(1)
    }

    /// The latest changes, oldest first.
    pub fn events(&self) -> Vec<ScaleEvent> {
        lock(&self.state).events.iter().copied().collect()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const VIEW: ScaleView =
        ScaleView { working: 0, workers: 4, wait_ns: 0, movable: 0, busy_percent: None };

    fn scaling(least: usize) -> Scaling {
        Scaling::new(Elastic { least, window_ns: 1_000, ..Elastic::DEFAULT }, 4)
    }

    #[test]
    fn busy_time_is_what_is_not_idle_also_while_it_is_idle() {
        let scaling = scaling(4);
        (0..4).for_each(|index| scaling.end_idle(index, 0));
        // Idle: 0 all the time, 1 for a quarter, 2 never, 3 for the last half.
        scaling.begin_idle(0, 0);
        scaling.begin_idle(1, 250);
        scaling.end_idle(1, 500);
        scaling.begin_idle(3, 500);
        let mut seen = None;
        scaling.decide(VIEW, 1_000, true, |view| {
            seen = Some((view.working, view.busy_percent));
            None
        });
        assert_eq!(seen, Some((4, Some(75 + 100 + 50))));
    }

    #[test]
    fn a_window_is_judged_once_and_when_it_is_over() {
        let scaling = scaling(4);
        let mut asked = 0;
        for now_ns in [0, 999, 1_000, 1_500, 1_999, 2_000] {
            scaling.decide(VIEW, now_ns, true, |_| {
                asked += 1;
                None
            });
        }
        assert_eq!(asked, 2);
    }

    #[test]
    fn changes_are_remembered_with_their_figures_and_not_for_ever() {
        let scaling = scaling(1);
        for n in 0..EVENTS + 10 {
            let to = 1 + (n + 1) % 2;
            let view = ScaleView { movable: n, ..VIEW };
            let event = scaling.decide(view, n as u64, false, |_| Some((to, ScaleReason::Delay)));
            assert!(event.is_some_and(|event| event.to == to && event.from != to));
            assert_eq!(scaling.working(), to);
        }
        let events = scaling.events();
        assert_eq!((events.len(), events[0].view.movable), (EVENTS, 10));
    }
}
