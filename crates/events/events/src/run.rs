//! A run of a graph: the engine, which knows no module's code, with the modules, the source, and
//! what a run waits for.
//!
//! `turn` says how a slot task runs ready modules, `stages` how an event goes from its begin to its
//! end, `fill` how events come into slots.

use crate::engine::Engine;
use crate::feed::Feed;
use crate::graph::Graph;
use crate::instances::Instances;
use crate::order::InOrder;
use crate::record::EventEnd;
use crate::settings::{Settings, StartError};
use actinium_scheduler::Shared;
use actinium_scheduler::guard::Guarded;
use actinium_scheduler::sync::lock;
use actinium_scheduler::task::TaskRef;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Condvar, Mutex, OnceLock};

pub(crate) type OnEnd = Guarded<Box<dyn Fn(&EventEnd<'_>) + Send + Sync>>;

pub(crate) struct Run {
    pub(crate) engine: Arc<Engine>,
    pub(crate) instances: Instances,
    /// Measured nanoseconds per call, exponentially weighted; 0: not known.
    pub(crate) expected_ns: Box<[AtomicU32]>,
    pub(crate) feed: Feed,
    pub(crate) order: Mutex<InOrder>,
    pub(crate) finished: Mutex<bool>,
    pub(crate) changed: Condvar,
    pub(crate) feeder: OnceLock<TaskRef>,
    /// A callback for each event that has ended, before the next one's outputs begin.
    pub(crate) on_end: Option<OnEnd>,
}

impl Run {
    pub(crate) fn new(
        graph: Graph,
        settings: Settings,
        shared: Arc<Shared>,
        on_end: Option<OnEnd>,
    ) -> Result<Self, StartError> {
        let slots = settings.slots_or(shared.workers());
        let instances = graph.instances(slots)?;
        let (layout, source) = graph.into_parts();
        Ok(Run {
            instances,
            expected_ns: (0..layout.len()).map(|_| AtomicU32::new(0)).collect(),
            feed: Feed::new(source, slots),
            order: Mutex::default(),
            finished: Mutex::new(false),
            changed: Condvar::new(),
            feeder: OnceLock::new(),
            on_end,
            engine: Arc::new(Engine::new(layout, settings, shared)),
        })
    }

    pub(crate) fn finish(&self) {
        *lock(&self.finished) = true;
        self.changed.notify_all();
    }

    /// Has a worker ask the source again. From any thread.
    pub(crate) fn wake_feeder(&self) {
        if let Some(feeder) = self.feeder.get() {
            feeder.wake();
        }
    }
}
