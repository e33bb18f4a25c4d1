//! Options with which an actor is started.

use crate::failure::Failure;
use crate::supervision::Supervision;
use actinium_scheduler::guard::Guarded;
use allocator_api2::alloc::Allocator;
use std::fmt;
use std::sync::Arc;

/// The number of messages that a mailbox takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mailbox {
    /// No limit but memory. The default.
    #[default]
    Unbounded,
    /// This number of messages; then senders are held back. See [`crate::Address::send`].
    Bounded(usize),
}

impl Mailbox {
    /// Returns [`Mailbox::Bounded`] with this capacity.
    pub fn bounded(capacity: usize) -> Self {
        Mailbox::Bounded(capacity)
    }
}

/// The home of an actor.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Home {
    /// Where the policy puts it.
    #[default]
    Policy,
    /// The worker with this index.
    Worker(usize),
    /// One of the workers on this NUMA node.
    Node(u32),
}

/// The allocator of an actor's memory.
#[derive(Clone)]
pub(crate) struct Memory(pub(crate) Arc<Guarded<Box<dyn Allocator + Send + Sync>>>);

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
    pub(crate) is_pinned: bool,
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

    /// Sets how many messages its mailbox takes.
    pub fn mailbox(mut self, mailbox: Mailbox) -> Self {
        self.mailbox = mailbox;
        self
    }

    /// Sets its home: the worker with this index.
    pub fn on_worker(mut self, worker: usize) -> Self {
        self.home = Home::Worker(worker);
        self
    }

    /// Sets its home: a worker on this NUMA node, by the system's number; each of them in turn. It
    /// says where the actor runs unless it is stolen; [`SpawnOptions::memory`] says where its state
    /// lies.
    pub fn on_node(mut self, node: u32) -> Self {
        self.home = Home::Node(node);
        self
    }

    /// Keeps it at its home, for as long as it lives: no other worker runs it, however long it
    /// waits there. So it may use what belongs to one thread or core: a thread-local cache, a
    /// device, a queue of a network card. Choose the home by [`SpawnOptions::on_worker`] or
    /// [`SpawnOptions::on_node`]; else the policy does.
    ///
    /// This holds under the policies `affine` and `pinned`; `pool` and `stealing` have no homes,
    /// and run it anywhere. A worker that an elastic system does not need wakes up for it.
    ///
    /// ```
    /// use actinium_actor::SpawnOptions;
    ///
    /// let options = SpawnOptions::new().on_worker(0).pinned();
    /// # let _ = options;
    /// ```
    pub fn pinned(mut self) -> Self {
        self.is_pinned = true;
        self
    }

    /// Puts its state, and what the runtime keeps beside it, into this allocator's memory, whoever
    /// runs it, for as long as anybody has its address. What the state has allocated itself lies
    /// where that was allocated: give its collections the same allocator. What is given back when
    /// the actor ends is given back on any thread.
    ///
    /// `actinium_memory::heap::SharedArena` is such an allocator; of an arena on a NUMA node, it
    /// keeps the state on that node.
    pub fn memory(mut self, allocator: impl Allocator + Send + Sync + 'static) -> Self {
        self.memory = Some(Memory(Arc::new(Guarded::new(Box::new(allocator)))));
        self
    }

    /// Sets what follows when it panics.
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
    /// The allocator that was to hold it has too little memory. The factory was not called.
    NoMemory {
        /// The bytes that the actor takes.
        bytes: usize,
    },
    /// A bounded mailbox of capacity 0 could take nothing.
    NoCapacity,
    /// No pool has at least and at most so many members.
    NoMembers {
        /// The fewest asked for.
        min: usize,
        /// The most asked for.
        max: usize,
    },
    /// The factory returned an error, or panicked.
    FactoryFailed(Failure),
    /// Its supervision restarts the actor, and it was given as a value, which there is once.
    NoFactory,
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
                write!(f, "the allocator has no memory for an actor of {bytes} bytes")
            }
            SpawnError::NoCapacity => {
                f.write_str("a bounded mailbox needs a capacity of at least 1, not 0")
            }
            SpawnError::NoMembers { min, max } => write!(
                f,
                "a pool has at least 1 member, and at most as many as its greatest number, not {min} to {max}"
            ),
            SpawnError::FactoryFailed(failure) => {
                let verb = if failure.is_panic() { "panicked" } else { "failed" };
                write!(f, "the actor's factory {verb}: {}", failure.message())
            }
            SpawnError::NoFactory => f.write_str(
                "the supervision restarts this actor, and there is only one value of it: give a factory, `|| value`",
            ),
        }
    }
}

impl std::error::Error for SpawnError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SpawnError::FactoryFailed(failure) => Some(failure.cause()),
            _ => None,
        }
    }
}
