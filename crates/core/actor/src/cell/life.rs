//! The data that only an actor's owner touches, beside the mailbox and the state.

use super::waits::WaitsBox;
use crate::actor::Actor;
use crate::actor_core::CoreRef;
use crate::actor_id::ActorId;
use crate::control::{Notify, NotifyRestart};
use crate::failure::{BoxError, Failure};
use crate::supervision::Supervision;
use crate::timers::ActorTimers;
use actinium_scheduler::guard::Guarded;
use std::collections::{BTreeMap, VecDeque};

/// The stages of an actor's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The actor's state is there; `started` was not called yet.
    New,
    /// The actor handles messages.
    Running,
    /// The actor waits for its restart.
    Waiting,
    /// The actor has ended.
    Dead,
}

/// An actor's stage of life, and its extra part.
pub(crate) struct Life<A: Actor> {
    pub(crate) stage: Stage,
    /// The extra part, which most actors do not have.
    pub(crate) extra: Option<Box<Extra<A>>>,
}

/// Makes an actor's state anew.
pub(crate) type Factory<A> = Guarded<Box<dyn FnMut() -> Result<A, BoxError> + Send>>;

/// The extra part of an actor that is supervised, named or watched, or has children or timers.
pub(crate) struct Extra<A: Actor> {
    pub(crate) parent: Option<CoreRef>,
    pub(crate) supervision: Supervision,
    pub(crate) factory: Option<Factory<A>>,
    pub(crate) names: Vec<String>,
    /// The times of its failures, as far back as counts.
    pub(crate) failed_ns: VecDeque<u64>,
    /// In order of identity, as the links: one seed gives one run.
    pub(crate) children: BTreeMap<ActorId, CoreRef>,
    pub(crate) watchers: Vec<(ActorId, Notify)>,
    pub(crate) restart_watchers: Vec<(ActorId, NotifyRestart)>,
    /// What the running turn has failed with, or the reason for the restart that comes.
    pub(crate) failure: Option<Failure>,
    pub(crate) links: BTreeMap<ActorId, CoreRef>,
    pub(crate) timers: ActorTimers,
    /// What the actor waits for beside its messages, once it has.
    pub(crate) waits: Option<WaitsBox<A>>,
}

impl<A: Actor> Default for Extra<A> {
    fn default() -> Self {
        Extra {
            parent: None,
            supervision: Supervision::stop(),
            factory: None,
            names: Vec::new(),
            failed_ns: VecDeque::new(),
            children: BTreeMap::new(),
            watchers: Vec::new(),
            restart_watchers: Vec::new(),
            failure: None,
            links: BTreeMap::new(),
            timers: ActorTimers::default(),
            waits: None,
        }
    }
}

impl<A: Actor> Extra<A> {
    /// Counts a failure of this moment; returns the number of those that count.
    pub(crate) fn count_failure(&mut self, now_ns: u64) -> u32 {
        let since_ns = now_ns.saturating_sub(self.supervision.period().as_nanos() as u64);
        self.failed_ns.push_back(now_ns);
        self.failed_ns.retain(|&at_ns| at_ns >= since_ns);
        if self.failed_ns.len() > self.supervision.most() {
            self.failed_ns.pop_front();
        }
        self.failed_ns.len() as u32
    }
}

impl<A: Actor> Life<A> {
    /// The life of an actor that is about to start.
    pub(crate) fn new(extra: Option<Box<Extra<A>>>) -> Self {
        Life { stage: Stage::New, extra }
    }

    /// Whether the instance that was running has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.stage != Stage::Running
    }

    /// The extra part, made when it is first needed.
    pub(crate) fn extra(&mut self) -> &mut Extra<A> {
        self.extra.get_or_insert_default()
    }
}
