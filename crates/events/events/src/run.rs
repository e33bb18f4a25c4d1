//! A run of a graph: the engine, which knows no module's code, with the modules and the source.
//!
//! `turn` says how a slot task runs ready modules, `stages` how an event goes from its begin to its
//! end, `fill` how events come into slots, `over` how a run ends.

use crate::engine::{Anchor, Engine};
use crate::feed::Feed;
use crate::instances::Instances;
use crate::order::InOrder;
use crate::over::Over;
use crate::record::{EventEnd, ModuleFigures, ResourceQueue, RunProgress};
use crate::resource::Resource;
use crate::status::{Controlled, Status};
use crate::summary;
use actinium_scheduler::guard::Guarded;
use actinium_scheduler::nanoseconds;
use actinium_scheduler::task::TaskRef;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Waker;
use std::time::Duration;

pub(crate) type OnEnd = Guarded<Box<dyn Fn(&EventEnd<'_>) + Send + Sync>>;

pub(crate) struct Run {
    pub(crate) engine: Arc<Engine>,
    pub(crate) instances: Instances,
    /// Measured nanoseconds per call, exponentially weighted; 0: not known.
    pub(crate) expected_ns: Box<[AtomicU32]>,
    pub(crate) feed: Feed,
    pub(crate) order: Mutex<InOrder>,
    pub(crate) feeder: OnceLock<TaskRef>,
    /// A callback for each event that has ended, before the next one's outputs begin.
    pub(crate) on_end: Option<OnEnd>,
    /// Last, for it is dropped after all that is the program's.
    pub(crate) over: Arc<Over>,
}

/// A run, as one worker's slot tasks hold it.
pub(crate) struct OfWorker {
    pub(crate) run: Arc<Run>,
    pub(crate) anchor: Anchor,
}

impl Controlled for Run {
    fn finish(&self) {
        self.engine.slot_tasks.remove(self.engine.key);
        self.engine.splits.retire();
        self.engine.woken.retire();
        self.feeder.get().into_iter().for_each(TaskRef::retire);
    }

    fn wake_feeder(&self) {
        self.feeder.get().into_iter().for_each(TaskRef::wake);
    }

    fn progress(&self, status: &Status, progress: &mut RunProgress) {
        let engine = &self.engine;
        let queue = |it: &Resource| ResourceQueue {
            name: it.name.clone(),
            // Relaxed, both: statistics.
            waiting: it.waiting.load(Ordering::Relaxed) as u64,
            waited_ns: it.waited_ns.load(Ordering::Relaxed),
        };
        progress.slots = engine.slots.len() as u64;
        progress.workers = engine.shared.workers() as u64;
        // Relaxed: a statistic.
        let start_ns = status.start_ns.load(Ordering::Relaxed);
        progress.elapsed_ns = engine.now_ns().saturating_sub(start_ns);
        progress.queues = engine.resources.iter().map(queue).collect();
    }

    fn modules(&self) -> Vec<ModuleFigures> {
        summary::modules(&self.engine)
    }

    fn wake_after(&self, time: Duration, waker: Waker) {
        let shared = &self.engine.shared;
        shared.add_deadline(self.engine.now_ns().saturating_add(nanoseconds(time)), waker);
    }
}

impl Drop for Run {
    /// Nothing of the run is under way any more, and it is not taken up again: what is left of
    /// events in flight goes.
    fn drop(&mut self) {
        self.engine.splits.clear();
        self.engine.woken.clear();
        self.engine.abandon();
    }
}
