//! The errors of a segment that cannot be had, and the warnings of one that does without something.

use std::any::Any;
use std::fmt;
use std::io;

use serde::{Serialize, Serializer};

use crate::{NodeSet, PageSize};

/// Why a segment cannot be had, or could not be faulted in. Nothing is left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryError {
    /// A setting makes no sense.
    Setting {
        /// The setting's name.
        setting: &'static str,
        /// The setting's value.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// There is not that much memory: found out before a single page was touched.
    TooLarge {
        /// The request.
        size_bytes: u64,
        /// The most that could be had.
        left_bytes: u64,
        /// The source of the limit: a file or a limit's name, and where.
        limit: String,
    },
    /// The kernel refused.
    System {
        /// The action that failed.
        doing: &'static str,
        /// The error's number.
        errno: i32,
        /// Advice to the user.
        advice: &'static str,
    },
    /// Memory can not be registered.
    Fabric {
        /// The fabric's name.
        fabric: &'static str,
        /// The reason why it can not be registered.
        problem: String,
    },
}

impl MemoryError {
    /// Whether the request was wrong, rather than the machine too small or unwilling.
    #[must_use]
    pub fn is_bad_request(&self) -> bool {
        matches!(self, MemoryError::Setting { .. })
    }
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryError::Setting { setting, value, allowed } => {
                write!(f, "{setting}: '{value}' is not allowed: {allowed}")
            }
            MemoryError::TooLarge { size_bytes, left_bytes, limit } => write!(
                f,
                "a segment of {size_bytes} bytes does not fit: {left_bytes} bytes can be had ({limit})"
            ),
            MemoryError::System { doing, errno, advice } => {
                write!(f, "can not {doing}: {}", io::Error::from_raw_os_error(*errno))?;
                if advice.is_empty() { Ok(()) } else { write!(f, ": {advice}") }
            }
            MemoryError::Fabric { fabric, problem } => write!(f, "{fabric}: {problem}"),
        }
    }
}

impl std::error::Error for MemoryError {}

/// The message of a panic.
pub(crate) fn last_words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

/// Something that a segment does without. Each kind is reported once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// Smaller pages than were asked for.
    Pages {
        /// The request.
        asked: PageSize,
        /// The pages used instead.
        used: PageSize,
        /// The reason why the pages asked for are not used.
        reason: String,
    },
    /// Pages lie where the kernel puts them: the policy could not be set.
    Policy {
        /// The error's number.
        errno: i32,
    },
    /// Interleaved evenly instead of by weights.
    Weights {
        /// The error's number.
        errno: i32,
    },
    /// A node has too little free memory for its share: the rest of that lies elsewhere.
    NodeShort {
        /// The node.
        node: u32,
        /// The node's share of the segment.
        share_bytes: u64,
        /// The bytes that it could give.
        left_bytes: u64,
    },
    /// Nodes that were asked for have no memory.
    NoMemoryOn {
        /// The nodes.
        nodes: NodeSet,
    },
    /// Threads that fault in could not be bound to their node's PUs.
    Unbound {
        /// The reason why they could not be bound.
        reason: String,
    },
    /// Fewer threads than were asked for.
    FewerThreads {
        /// How many were asked for.
        asked: usize,
        /// How many there are.
        got: usize,
        /// The reason why there are no more.
        reason: String,
    },
    /// Threads that fault in the background do not yield to the program.
    NoIdlePriority {
        /// The error's number.
        errno: i32,
    },
    /// The kernel has no `MADV_POPULATE_WRITE`: each page is touched.
    Touched {
        /// The error's number.
        errno: i32,
    },
    /// A thread died while it faulted in; others did its work.
    ThreadDied {
        /// The message of the thread's panic.
        reason: String,
    },
    /// Pages are not locked: they may be swapped out.
    NotLocked {
        /// The reason why they are not locked.
        reason: String,
    },
    /// Core dumps contain the segment.
    Dumped {
        /// The error's number.
        errno: i32,
    },
    /// A fork copies the segment.
    Forked {
        /// The error's number.
        errno: i32,
    },
    /// Where pages are can not be asked.
    PlacesUnknown {
        /// The error's number.
        errno: i32,
    },
    /// The machine could not be looked at: threads are not bound.
    Topology {
        /// The reason why it could not be looked at.
        reason: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let system = io::Error::from_raw_os_error;
        match self {
            Warning::Pages { asked, used, reason } => {
                write!(f, "pages '{used}' instead of '{asked}': {reason}")
            }
            Warning::Policy { errno } => write!(
                f,
                "the memory policy can not be set, pages lie where the kernel puts them: {} (a container's seccomp profile may forbid mbind)",
                system(*errno)
            ),
            Warning::Weights { errno } => write!(
                f,
                "interleaved evenly instead of by weights, which need Linux 6.9: {}",
                system(*errno)
            ),
            Warning::NodeShort { node, share_bytes, left_bytes } => write!(
                f,
                "node {node} can give {left_bytes} of its share of {share_bytes} bytes: the rest lies on other nodes"
            ),
            Warning::NoMemoryOn { nodes } => {
                write!(f, "nodes without memory are left out: {nodes}")
            }
            Warning::Unbound { reason } => write!(f, "faulted in by unbound threads: {reason}"),
            Warning::FewerThreads { asked, got, reason } => {
                write!(f, "faulted in by {got} instead of {asked} threads: {reason}")
            }
            Warning::NoIdlePriority { errno } => write!(
                f,
                "the background fault-in runs at the program's own priority: {}",
                system(*errno)
            ),
            Warning::Touched { errno } => write!(
                f,
                "faulted in page by page, because the kernel has no MADV_POPULATE_WRITE: {}",
                system(*errno)
            ),
            Warning::ThreadDied { reason } => {
                write!(f, "a thread that faulted in has died, others did its work: {reason}")
            }
            Warning::NotLocked { reason } => write!(f, "pages are not locked: {reason}"),
            Warning::Dumped { errno } => {
                write!(f, "core dumps contain the segment: {}", system(*errno))
            }
            Warning::Forked { errno } => write!(f, "a fork copies the segment: {}", system(*errno)),
            Warning::PlacesUnknown { errno } => write!(
                f,
                "which page is on which node is unknown: {} (a container's seccomp profile may forbid move_pages)",
                system(*errno)
            ),
            Warning::Topology { reason } => write!(f, "faulted in by unbound threads: {reason}"),
        }
    }
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Warnings so far, each kind once; threads add to them.
#[derive(Debug, Default)]
pub(crate) struct Warnings(std::sync::Mutex<Vec<Warning>>);

impl Warnings {
    pub(crate) fn add(&self, warning: Warning) {
        let mut list = self.lock();
        let kind = std::mem::discriminant(&warning);
        // Every node that is short is worth a line.
        let again = matches!(warning, Warning::NodeShort { .. });
        if again || list.iter().all(|other| std::mem::discriminant(other) != kind) {
            list.push(warning);
        }
    }

    pub(crate) fn list(&self) -> Vec<Warning> {
        self.lock().clone()
    }

    /// Locks the list; a thread that panicked under the lock has left a whole list behind.
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Warning>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
