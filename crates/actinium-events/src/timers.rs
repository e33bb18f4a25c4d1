//! Timed waits: one wheel per worker, and one alarm of the scheduler for its earliest deadline; so a wait allocates nothing.

use actinium_scheduler::wheel::Wheel;

/// A wait that ends at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) slot: u32,
    pub(crate) module: u16,
    pub(crate) pass: crate::slot::Pass,
    pub(crate) goes_on: bool,
}

/// The waits that began on one worker.
#[derive(Debug)]
pub(crate) struct Timers {
    pub(crate) wheel: Wheel<Wait>,
    /// The earliest alarm that is set; `u64::MAX`: none.
    pub(crate) armed_ns: u64,
    pub(crate) due: Vec<(u64, Wait)>,
}

impl Timers {
    pub(crate) fn new() -> Self {
        Timers { wheel: Wheel::new(0), armed_ns: u64::MAX, due: Vec::new() }
    }
}
