//! Timed waits: one wheel per worker, and one timer of the scheduler for its earliest deadline; so
//! a wait allocates nothing.

use crate::slot::Pass;
use actinium_scheduler::Worker;
use actinium_scheduler::wheel::Wheel;

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
    pub(crate) due: Vec<(u64, Wait)>,
    /// The worker's thread knows whose timers these are.
    pub(crate) is_known: bool,
}

impl Timers {
    pub(crate) fn new() -> Self {
        Timers { wheel: Wheel::new(0), armed_ns: u64::MAX, due: Vec::new(), is_known: false }
    }

    /// Has the worker ring at the earliest deadline, unless it will. `ring` captures nothing:
    /// boxing it then allocates nothing.
    pub(crate) fn arm(&mut self, worker: &Worker, ring: impl FnOnce(&Worker) + Send + 'static) {
        let next_ns = self.wheel.next_deadline();
        let Some(next_ns) = next_ns.filter(|&next_ns| next_ns < self.armed_ns) else { return };
        self.armed_ns = next_ns;
        worker.set_timer(next_ns, Box::new(ring));
    }
}
