//! The work that keeps a system from coming to rest, and the error of a wait for that.

use crate::actor_core::{Core, CoreRef, Inner};
use crate::actor_id::ActorId;
use crate::state::register::Shard;
use actinium_scheduler::{Runnable, Sighting};
use std::fmt;
use std::time::Duration;

/// Most actors that are listed by name.
const LISTED: usize = 16;
/// Looks until something is found.
const LOOKS: usize = 100;

/// A worker that is in somebody's code.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Occupied {
    /// The worker.
    pub worker: usize,
    /// The actor whose turn it runs, or which it ends, and that actor's type; `None`: none that
    /// lives (a message is dropped, say).
    pub actor: Option<(ActorId, &'static str)>,
    /// The type of that actor's messages.
    pub message: Option<&'static str>,
}

/// An actor with work that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backlog {
    /// The actor.
    pub actor: ActorId,
    /// The actor's type.
    pub kind: &'static str,
    /// Messages in its mailbox.
    pub messages: u64,
}

/// The work that kept a system from coming to rest at one moment: an estimate, for the system went
/// on meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unfinished {
    /// Workers in the middle of a turn.
    pub running: Vec<Occupied>,
    /// Actors with messages, those with most first: sixteen at most.
    pub waiting: Vec<Backlog>,
    /// Messages in all mailboxes.
    pub messages: u64,
    /// Actors that wait for their restart ([`crate::Supervision::backoff`]), and their types.
    pub restarting: Vec<(ActorId, &'static str)>,
    /// Actors with futures of theirs under way ([`crate::Context::hold`]), and their types.
    pub holding: Vec<(ActorId, &'static str)>,
    /// Closures that run elsewhere ([`crate::Context::offload`]).
    pub offloaded: u64,
    /// Event graphs that run, each with its events in flight.
    pub graphs: Vec<String>,
}

/// Why a wait for a system did not end well.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitError {
    /// A worker of the same system asked for the wait: it would have waited for itself for ever.
    OnWorker,
    /// The time was over.
    TimedOut {
        /// How long it was.
        timeout: Duration,
        /// The work that had not come to rest by then.
        unfinished: Box<Unfinished>,
    },
}

impl fmt::Display for Occupied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.actor {
            Some((actor, kind)) => write!(f, "{actor} ({kind}) on worker {}", self.worker),
            None => write!(f, "no living actor on worker {}", self.worker),
        }
    }
}

fn name_of((id, kind): &(ActorId, &str)) -> String {
    format!("{id} ({kind})")
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if !self.running.is_empty() {
            let names: Vec<_> = self.running.iter().map(Occupied::to_string).collect();
            parts.push(format!("in a turn: {}", names.join(", ")));
        }
        if self.messages > 0 {
            let name = |it: &Backlog| format!("{} for {} ({})", it.messages, it.actor, it.kind);
            let names: Vec<_> = self.waiting.iter().map(name).collect();
            parts.push(format!("{} messages wait: {}", self.messages, names.join(", ")));
        }
        if !self.restarting.is_empty() {
            let names: Vec<_> = self.restarting.iter().take(LISTED).map(name_of).collect();
            let n = self.restarting.len();
            parts.push(format!("{n} wait for their restart: {}", names.join(", ")));
        }
        if !self.holding.is_empty() {
            let names: Vec<_> = self.holding.iter().take(LISTED).map(name_of).collect();
            let n = self.holding.len();
            parts.push(format!("{n} wait for futures: {}", names.join(", ")));
        }
        if self.offloaded > 0 {
            parts.push(format!("{} offloaded closures run", self.offloaded));
        }
        parts.extend(self.graphs.iter().cloned());
        if parts.is_empty() {
            parts.push("nothing that can be named".to_owned());
        }
        f.write_str(&parts.join("; "))
    }
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitError::OnWorker => f.write_str(
                "a worker can not wait for its own system, for it would wait for itself: wait on another thread",
            ),
            WaitError::TimedOut { timeout, unfinished } => {
                write!(f, "the system did not come to rest within {timeout:?}; {unfinished}")
            }
        }
    }
}

impl std::error::Error for WaitError {}

impl Inner {
    /// The number of messages in all mailboxes, while all workers stand still.
    pub(crate) fn queued(&self) -> u64 {
        let len =
            |runnable: &Runnable| Core::of_runnable(*runnable).map_or(0, |core| core.mailbox_len());
        let of_shard = |shard: &Shard| shard.living.iter().map(|(_, it)| len(it) as u64).sum();
        self.register.shards().map(|shard| -> u64 { of_shard(&shard) }).sum()
    }

    /// Returns what worker `index` is busy with, if it is awake.
    pub(crate) fn occupied(&self, index: usize) -> Option<Occupied> {
        let sight = self.shared.sight(index)?;
        let found = self.find(sight);
        let message = found.as_ref().map(|core| core.message());
        let actor = found.map(|core| (core.id, core.kind()));
        Some(Occupied { worker: index, actor, message })
    }

    /// Which living actor was seen.
    fn find(&self, sight: Sighting) -> Option<CoreRef> {
        self.register.shards().find_map(|shard| {
            // It does not leave the register, and is alive, while this is locked.
            let (_, &found) = shard.living.iter().find(|(_, it)| sight.is(**it))?;
            Core::of_runnable(found)
        })
    }

    /// The work that has not come to rest.
    pub(crate) fn unfinished(&self) -> Unfinished {
        // A message is taken between two looks, at the worker and at its mailbox, say: then another
        // look finds more.
        let looks = std::iter::repeat_with(|| self.look()).take(LOOKS);
        let found = looks.into_iter().find(|it| *it != Unfinished::default());
        found.unwrap_or_default()
    }

    fn look(&self) -> Unfinished {
        let workers = 0..self.shared.workers();
        let awake = workers.filter(|&index| !self.shared.sleep().is_asleep(index));
        let running = awake.filter_map(|index| self.occupied(index)).collect();
        let (mut waiting, mut holding) = (Vec::new(), Vec::new());
        for shard in self.register.shards() {
            for core in shard.living.iter().filter_map(|(_, &it)| Core::of_runnable(it)) {
                let messages = core.mailbox_len() as u64;
                if core.is_holding() {
                    holding.push((core.id, core.kind()));
                }
                if messages > 0 {
                    waiting.push(Backlog { actor: core.id, kind: core.kind(), messages });
                }
            }
        }
        let messages = waiting.iter().map(|it| it.messages).sum();
        waiting.sort_by_key(|it| (std::cmp::Reverse(it.messages), it.actor));
        waiting.truncate(LISTED);
        let restarting = self.backoffs.waiting().iter().map(|it| (it.id, it.kind())).collect();
        let offloaded = self.offloads.running();
        let graphs = self.attached.describe();
        Unfinished { running, waiting, messages, restarting, holding, offloaded, graphs }
    }
}
