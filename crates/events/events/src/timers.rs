//! Timed waits: one wheel per worker, and one timer of the scheduler for its earliest deadline; so
//! a wait allocates nothing.

use crate::engine::Engine;
use actinium_scheduler::Worker;
use actinium_scheduler::wheel::Wheel;
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    /// The engine whose timers fire on this worker. It is here so that a timer's callback captures
    /// nothing: boxing it then allocates nothing.
    static ENGINE: RefCell<Option<Arc<Engine>>> = const { RefCell::new(None) };
}

/// Runs `work` while this worker's timers are those of `engine`.
pub(crate) fn with_alarms_of<R>(engine: &Arc<Engine>, work: impl FnOnce() -> R) -> R {
    ENGINE.set(Some(engine.clone()));
    let result = work();
    ENGINE.set(None);
    result
}

/// Sets a timer for the earliest deadline, unless one is set.
pub(crate) fn arm(timers: &mut Timers, worker: &Worker) {
    let next_ns = timers.wheel.next_deadline();
    let Some(next_ns) = next_ns.filter(|&next_ns| next_ns < timers.armed_ns) else { return };
    timers.armed_ns = next_ns;
    let ring = |worker: &Worker| {
        let engine = ENGINE.with_borrow(Option::clone);
        if let Some(engine) = engine {
            engine.fire(worker);
        }
    };
    worker.set_timer(next_ns, Box::new(ring));
}

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
    /// The deadline of the earliest timer that is set; `u64::MAX`: none.
    pub(crate) armed_ns: u64,
    pub(crate) due: Vec<(u64, Wait)>,
}

impl Timers {
    pub(crate) fn new() -> Self {
        Timers { wheel: Wheel::new(0), armed_ns: u64::MAX, due: Vec::new() }
    }
}
