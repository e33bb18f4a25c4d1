//! How an actor is to be started.

use crate::supervision::Supervision;
use allocator_api2::alloc::Allocator;
use std::fmt;
use std::sync::Arc;

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

/// Where an actor is to be at home.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Home {
    /// Where the policy puts it.
    #[default]
    Policy,
    /// At this worker.
    Worker(usize),
    /// At one of the workers on this NUMA node.
    Node(u32),
}

/// What an actor's state is allocated from.
#[derive(Clone)]
pub(crate) struct Memory(pub(crate) Arc<dyn Allocator + Send + Sync>);

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory")
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
    pub(crate) home: Home,
    pub(crate) memory: Option<Memory>,
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
        self.home = Home::Worker(worker);
        self
    }

    /// Its home: a worker on this NUMA node, by the system's number; each of them in turn. It says where the actor runs unless it is stolen;
    /// [`SpawnOptions::memory`] says where its state lies.
    pub fn on_node(mut self, node: u32) -> Self {
        self.home = Home::Node(node);
        self
    }

    /// Its state, and what the runtime keeps beside it, lie in this allocator's memory, whoever runs it, for as long as anybody has its
    /// address. What the state has allocated itself lies where that was allocated: give its collections the same allocator. What is given back when the
    /// actor ends is given back on any thread.
    ///
    /// `actinium_memory::heap::SharedArena` is such an allocator; of an arena on a NUMA node, it keeps the state on that node.
    pub fn memory(mut self, allocator: impl Allocator + Send + Sync + 'static) -> Self {
        self.memory = Some(Memory(Arc::new(allocator)));
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
    /// No worker is bound to this NUMA node.
    NoSuchNode {
        /// The node asked for.
        node: u32,
        /// The nodes that workers are bound to.
        nodes: Vec<u32>,
    },
    /// The allocator that was to hold it has no room. The factory was not called.
    NoMemory {
        /// What the actor takes.
        bytes: usize,
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
            SpawnError::NoSuchNode { node, nodes } if nodes.is_empty() => {
                write!(f, "no worker is on node {node}: this system's workers are not bound")
            }
            SpawnError::NoSuchNode { node, nodes } => {
                write!(f, "no worker is on node {node}: this system's are on the nodes {nodes:?}")
            }
            SpawnError::NoMemory { bytes } => {
                write!(f, "the allocator has no room for an actor of {bytes} bytes")
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
