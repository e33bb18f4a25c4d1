//! How an actor is to be started.

use crate::supervision::Supervision;
use std::fmt;

/// How many messages a mailbox takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mailbox {
    /// As many as memory holds. The default.
    #[default]
    Unbounded,
    /// So many; then senders are held back. See [`crate::Address::send`].
    Bounded(usize),
}

impl Mailbox {
    /// [`Mailbox::Bounded`].
    pub fn bounded(capacity: usize) -> Self {
        Mailbox::Bounded(capacity)
    }
}

/// Options for one actor.
///
/// ```
/// use actinium_actor::{Mailbox, SpawnOptions, Supervision};
///
/// let options = SpawnOptions::new().name("bank").mailbox(Mailbox::bounded(100)).supervise(Supervision::restart());
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default)]
pub struct SpawnOptions {
    pub(crate) name: Option<String>,
    pub(crate) mailbox: Mailbox,
    pub(crate) worker: Option<usize>,
    pub(crate) supervision: Supervision,
}

impl SpawnOptions {
    /// No name, an unbounded mailbox, placed by the policy, stopped when it panics.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers it under a name; see [`crate::SystemHandle::lookup`].
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How many messages its mailbox takes.
    pub fn mailbox(mut self, mailbox: Mailbox) -> Self {
        self.mailbox = mailbox;
        self
    }

    /// Its home: the worker with this index.
    pub fn on_worker(mut self, worker: usize) -> Self {
        self.worker = Some(worker);
        self
    }

    /// What follows when it panics.
    pub fn supervise(mut self, supervision: Supervision) -> Self {
        self.supervision = supervision;
        self
    }
}

/// Why an actor was not started.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpawnError {
    /// Another actor has this name.
    NameTaken(String),
    /// There is no worker with this index.
    NoSuchWorker {
        /// The index asked for.
        worker: usize,
        /// How many workers there are.
        workers: usize,
    },
    /// A bounded mailbox of capacity 0 could take nothing.
    NoCapacity,
    /// The factory panicked, with this message.
    FactoryPanicked(String),
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpawnError::NameTaken(name) => write!(
                f,
                "the name '{name}' is taken by another actor: choose another, or end that one first"
            ),
            SpawnError::NoSuchWorker { worker, workers } => {
                write!(
                    f,
                    "there is no worker {worker}: this system has workers 0 to {}",
                    workers - 1
                )
            }
            SpawnError::NoCapacity => {
                f.write_str("a bounded mailbox needs a capacity of at least 1, not 0")
            }
            SpawnError::FactoryPanicked(message) => {
                write!(f, "the actor's factory panicked: {message}")
            }
        }
    }
}

impl std::error::Error for SpawnError {}
