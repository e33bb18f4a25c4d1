//! Timed waits: one wheel per worker, and one timer of the scheduler for its earliest deadline; so
//! a wait allocates nothing.
//!
//! To wake a worker costs more than to end ten waits. So where many wait, a worker's timers ring at
//! most once in [`WINDOW_NS`]: what is due between two rings ends at the second one, a little late.
//! A wait that is due when none has rung for that long ends at its time.

use crate::slot::Pass;
use actinium_scheduler::Worker;
use actinium_scheduler::wheel::Wheel;

/// The least time between two rings, in nanoseconds: about as long as a system takes to wake a
/// thread at a time.
const WINDOW_NS: u64 = 100_000;

/// A wait that ends at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) slot: u32,
    pub(crate) module: u16,
    pub(crate) pass: Pass,
    pub(crate) goes_on: bool,
}

/// The waits that began on one worker.
#[derive(Debug)]
pub(crate) struct Timers {
    pub(crate) wheel: Wheel<Wait>,
    /// The deadline of the earliest timer that is set; `u64::MAX`: none.
    pub(crate) armed_ns: u64,
    /// The time of the latest ring.
    rang_ns: u64,
    pub(crate) due: Vec<(u64, Wait)>,
    /// The worker's thread knows whose timers these are.
    pub(crate) is_known: bool,
}

impl Timers {
    pub(crate) fn new() -> Self {
        Timers {
            wheel: Wheel::new(0),
            armed_ns: u64::MAX,
            rang_ns: 0,
            due: Vec::new(),
            is_known: false,
        }
    }

    /// Takes what is due, in order. None: a timer of another time has rung, and nothing is.
    pub(crate) fn ring(&mut self, now_ns: u64) -> Vec<(u64, Wait)> {
        if self.armed_ns <= now_ns {
            self.armed_ns = u64::MAX;
        }
        let mut due = std::mem::take(&mut self.due);
        self.wheel.advance(now_ns, &mut due);
        if !due.is_empty() {
            self.rang_ns = now_ns;
        }
        due
    }

    /// When to ring next, unless a timer is set for that.
    fn next_ring(&self, is_virtual: bool) -> Option<u64> {
        let next_ns = self.wheel.next_deadline()?;
        // Virtual time passes when somebody says so: then nobody is late.
        let window_ns = if is_virtual { 0 } else { WINDOW_NS };
        let next_ns = match self.rang_ns {
            0 => next_ns,
            rang_ns => next_ns.max(rang_ns + window_ns),
        };
        Some(next_ns).filter(|&next_ns| next_ns < self.armed_ns)
    }

    /// Has the worker ring at the earliest deadline, unless it will. `ring` captures nothing:
    /// boxing it then allocates nothing.
    pub(crate) fn arm(&mut self, worker: &Worker, ring: impl FnOnce(&Worker) + Send + 'static) {
        let is_virtual = worker.shared().clock().is_virtual();
        let Some(next_ns) = self.next_ring(is_virtual) else { return };
        self.armed_ns = next_ns;
        worker.set_timer(next_ns, Box::new(ring));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_until(timers: &mut Timers, deadline_ns: u64) -> Option<u64> {
        let wait = Wait { slot: 0, module: 0, pass: 0, goes_on: true };
        timers.wheel.insert(deadline_ns, wait);
        let next_ns = timers.next_ring(false)?;
        timers.armed_ns = next_ns;
        Some(next_ns)
    }

    #[test]
    fn many_waits_end_together_and_one_alone_at_its_time() {
        let mut timers = Timers::new();
        assert_eq!(wait_until(&mut timers, 2_000_000), Some(2_000_000));
        assert_eq!(wait_until(&mut timers, 1_000_000), Some(1_000_000));
        assert_eq!(timers.ring(1_000_000).len(), 1);
        // One is soon due, and comes with those that are due until then.
        assert_eq!(wait_until(&mut timers, 1_000_001), Some(1_000_000 + WINDOW_NS));
        assert_eq!(wait_until(&mut timers, 1_000_002), None, "it rings already");
        assert_eq!(timers.ring(1_000_000 + WINDOW_NS).len(), 2);
        // None has rung for a while.
        assert_eq!(timers.next_ring(false), Some(2_000_000));
    }

    #[test]
    fn in_virtual_time_each_ends_at_its_time() {
        let mut timers = Timers::new();
        assert_eq!(wait_until(&mut timers, 1_000), Some(1_000));
        assert_eq!(timers.ring(1_000).len(), 1);
        timers.wheel.insert(1_001, Wait { slot: 0, module: 0, pass: 0, goes_on: true });
        assert_eq!(timers.next_ring(true), Some(1_001));
    }

    #[test]
    fn a_ring_for_nothing_does_not_make_others_late() {
        let mut timers = Timers::new();
        assert_eq!(wait_until(&mut timers, 5_000), Some(5_000));
        assert!(timers.ring(1).is_empty());
        assert_eq!((timers.armed_ns, timers.rang_ns), (5_000, 0));
    }
}
