//! What a flight recorder has kept: data, of which a diagnosis is made.

use crate::types::{TypeName, TypeNow};
use actinium_observe::process::proc::ThreadState;
use actinium_report::{Document, ReadError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The version of the data that this release writes. It changes when a field changes its meaning or
/// goes away.
pub const FLIGHT_VERSION: u32 = 1;

/// What stands in [`Flight::document`]: it tells these files from others.
pub(crate) const DOCUMENT: &str = "actinium flight";

/// What it is called in errors.
const WHAT: &str = "document of a flight recorder";

/// The last seconds of a system.
///
/// Times are in seconds since the recorder started, unless they say otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Flight {
    /// Always `actinium flight`.
    pub document: String,
    /// See [`FLIGHT_VERSION`].
    pub schema_version: u32,
    /// The version of Actinium that recorded it.
    pub actinium_version: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The number of the process.
    pub process: u32,
    /// When this was made, in seconds since 1970.
    pub made_unix_s: u64,
    /// Why it was made.
    pub reason: Reason,
    /// Reasons since the last document that came too soon after each other to be written.
    pub reasons_left_out: u64,
    /// The name of the scheduling policy.
    pub policy: String,
    /// Hardware threads that the process may use at a time.
    pub pus: u32,
    /// The workers, by index.
    pub workers: Vec<WorkerPlace>,
    /// What was seen at each look, oldest first.
    pub looks: Vec<Look>,
    /// What was seen on walks over all actors, oldest first.
    pub walks: Vec<Walk>,
    /// The types of actors at the end.
    pub types: Vec<TypeNow>,
    /// What went from worker to worker since the first walk.
    pub lanes: Vec<LaneTraffic>,
    /// What the workers did.
    pub records: Records,
    /// What the workers' threads did at the end, as the kernel sees it.
    pub threads: Vec<WorkerThread>,
    /// The latest dead letters, as texts.
    pub dead_letters: Vec<String>,
    /// Event graphs, look by look.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graphs: Vec<At<Vec<GraphFigures>>>,
    /// The nodes of a cluster that run in this process, look by look.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<At<Vec<NodeFigures>>>,
    /// What the program has added: see [`FlightRecorder::section`](crate::FlightRecorder::section).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sections: BTreeMap<String, serde_json::Value>,
}

/// Why a document was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The sort of reason.
    pub cause: Cause,
    /// The rest, in words.
    pub text: String,
}

/// A sort of reason to write down the last seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// The program asked for it, or somebody over the network.
    #[default]
    Asked,
    /// The signal `SIGUSR1`.
    Signal,
    /// A thread panicked that no supervision looks after.
    Panic,
    /// An actor's failure has reached the top.
    Escalated,
    /// The runtime has found itself broken, and ended the process.
    Defect,
    /// Nothing has moved for a while, although messages wait.
    Standstill,
    /// A node of the cluster is down.
    NodeDown,
}

/// Where a worker is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerPlace {
    /// The PU that it is bound to, if it is.
    pub pu: Option<u32>,
    /// The NUMA node of that PU.
    pub node: Option<u32>,
    /// The number of its thread, as Linux counts.
    pub thread: Option<u32>,
}

/// What was seen of a system at a moment. Counters are sums since the system started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// When.
    pub at_s: f64,
    /// Messages in mailboxes, or on their way.
    pub queued: u64,
    /// Messages handled, by threads that are no workers, too.
    pub handled: u64,
    /// Dead letters.
    pub dead: u64,
    /// Restarts of actors.
    pub restarted: u64,
    /// Living actors.
    pub actors: u64,
    /// Workers that are given work.
    pub working: u64,
    /// Each worker.
    pub workers: Vec<WorkerLook>,
    /// Nanoseconds on CPUs of all threads of the process that lived at that moment.
    pub process_cpu_ns: u64,
    /// The CPUs of the machine, or those that it is seen to have.
    pub cpus: BTreeMap<u32, CpuLook>,
}

/// A worker at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerLook {
    /// Messages that senders on this worker tried to send.
    pub sent: u64,
    /// Messages handled.
    pub handled: u64,
    /// Turns that have ended.
    pub turns: u64,
    /// Messages that came from other workers through lanes.
    pub crossed: u64,
    /// Actors taken from other workers.
    pub stolen: u64,
    /// Times that it went to sleep.
    pub parked: u64,
    /// Nanoseconds of its thread on a CPU.
    pub cpu_ns: u64,
    /// Nanoseconds that its thread was ready, and had no CPU.
    pub ready_ns: u64,
    /// The CPU that its thread was last on.
    pub cpu: u32,
    /// Whether it was in somebody's code.
    pub is_occupied: bool,
    /// In whose code, if that was looked for and is an actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Seen>,
}

/// An actor that was seen to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The actor.
    pub actor: u64,
    /// The name of its type.
    pub kind: TypeName,
    /// The name of the type of its messages.
    pub message: TypeName,
}

/// A CPU at a moment: sums since the machine started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuLook {
    /// Nanoseconds busy, with any process.
    pub busy_ns: u64,
    /// Nanoseconds that the host took for others, of a virtual machine.
    pub stolen_ns: u64,
}

/// What was seen on a walk over all actors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Walk {
    /// When.
    pub at_s: f64,
    /// The fullest mailboxes, those with most messages first.
    pub mailboxes: Vec<MailboxNow>,
    /// Actors that a full mailbox holds back.
    pub muted: Vec<MutedNow>,
    /// Threads and tasks outside that wait for a full mailbox.
    pub outside: u64,
    /// Actors that wait for futures.
    pub holding: Vec<MailboxNow>,
    /// Actors that wait for their restart.
    pub restarting: Vec<MailboxNow>,
    /// Closures that were offloaded, and run.
    pub offloaded: u64,
}

/// A mailbox at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailboxNow {
    /// The actor.
    pub actor: u64,
    /// The name of its type.
    pub kind: TypeName,
    /// The worker that it belongs to, if to one and that was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<u32>,
    /// Messages in it.
    pub queued: u64,
}

/// An actor that a full mailbox holds back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MutedNow {
    /// The actor.
    pub muted: MailboxNow,
    /// The actor whose mailbox is full.
    pub by: MailboxNow,
}

/// What one worker has sent another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneTraffic {
    /// The worker that sent.
    pub from: u32,
    /// The worker that it was for.
    pub to: u32,
    /// Chunks of messages.
    pub chunks: u64,
}

/// What workers did, as far as records of it were kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Records {
    /// The latest of each worker, oldest first.
    pub workers: Vec<Vec<RecordNow>>,
    /// How long records were kept in these seconds, all together.
    pub kept_s: f64,
    /// Records that found no room.
    pub lost: u64,
    /// Why there are none or only few of them, if there is a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// What a worker did, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordNow {
    /// When it began, in nanoseconds since the system was made.
    pub begin_ns: u64,
    /// How long it took; 0 for a moment.
    pub took_ns: u64,
    /// What it was.
    #[serde(flatten)]
    pub did: Did,
}

/// What a worker did: see [`Act`](actinium_actor::recording::Act).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "did", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Did {
    /// A turn of an actor, or of something of the runtime's own.
    Turn {
        /// The actor's type.
        kind: TypeName,
        /// The actor; 0: none.
        actor: u64,
        /// Messages that it handled.
        handled: u64,
    },
    /// It slept.
    Sleep,
    /// It took actors from another worker's queue.
    Steal {
        /// That worker.
        from: u32,
        /// How many.
        actors: u64,
    },
    /// Actors are at home elsewhere from now on.
    Move {
        /// Their worker.
        to: u32,
        /// How many.
        actors: u64,
    },
    /// It woke another worker.
    Wake {
        /// That worker.
        worker: u32,
    },
    /// It changed the number of workers that are given work.
    Scale {
        /// Before.
        from: u32,
        /// Now.
        to: u32,
    },
    /// Something that this release does not know.
    #[default]
    #[serde(other)]
    Other,
}

/// A worker's thread at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerThread {
    /// The worker.
    pub worker: u32,
    /// The number of its thread.
    pub thread: u32,
    /// What it did.
    pub state: ThreadState,
}

/// Figures at a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct At<T> {
    /// When.
    pub at_s: f64,
    /// The figures.
    pub figures: T,
}

/// An event graph that runs, or ran: sums since its begin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GraphFigures {
    /// The graph's name.
    pub name: String,
    /// Seconds since the first event.
    pub elapsed_s: f64,
    /// Workers that run it.
    pub workers: u64,
    /// Events that have ended.
    pub events: u64,
    /// Events in flight.
    pub in_flight: u64,
    /// The modules.
    pub modules: Vec<GraphModule>,
    /// The resources.
    pub resources: Vec<GraphResource>,
}

/// A module of a graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GraphModule {
    /// The module's label.
    pub label: String,
    /// Calls.
    pub calls: u64,
    /// Nanoseconds on workers.
    pub busy_ns: u64,
    /// Calls at the worker where its state is at home; `None`: it has none.
    pub at_home: Option<u64>,
}

/// Something that only so many events may use at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GraphResource {
    /// The name: a module's label, or the name that several modules share.
    pub name: String,
    /// Nanoseconds that events have waited for it, all together.
    pub waited_ns: u64,
}

/// A node of a cluster: sums since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeFigures {
    /// The node.
    pub node: u32,
    /// The other nodes.
    pub peers: Vec<PeerFigures>,
}

/// The link with another node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PeerFigures {
    /// The other node.
    pub node: u32,
    /// Whether the two know each other.
    pub is_up: bool,
    /// Frames sent, those sent again included.
    pub sent: u64,
    /// Frames sent again.
    pub resent: u64,
    /// Frames that had arrived before.
    pub duplicates: u64,
    /// Frames that were damaged.
    pub garbage: u64,
    /// Bytes of messages that wait to leave.
    pub bytes_waiting: u64,
}

impl Flight {
    /// Reads a document that a flight recorder has written.
    ///
    /// # Errors
    /// If the file can not be read, is no such document, was cut off or is of a later release.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        Flight::of(&Document::read(path, WHAT)?)
    }

    /// Reads a document from its text; `from` says in errors where that comes from.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(text: &[u8], from: &Path) -> Result<Self, ReadError> {
        Flight::of(&Document::of(text, from, WHAT))
    }

    fn of(json: &Document<'_>) -> Result<Self, ReadError> {
        #[derive(Deserialize)]
        struct Head {
            document: String,
        }
        let Head { document } = json.data()?;
        if document != DOCUMENT {
            let other = format!("'{document}' is not '{DOCUMENT}'");
            return Err(json.malformed(serde::de::Error::custom(other)));
        }
        json.up_to(FLIGHT_VERSION)?.data()
    }

    /// Whether a text looks like such a document, whole or not: it is JSON that says so first.
    #[must_use]
    pub fn is_one(text: &[u8]) -> bool {
        let head = &text[..text.len().min(256)];
        let head = String::from_utf8_lossy(head);
        head.contains("\"document\"") && head.contains(DOCUMENT)
    }

    /// The seconds between the first look and the last one.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        match (self.looks.first(), self.looks.last()) {
            (Some(first), Some(last)) => last.at_s - first.at_s,
            _ => 0.0,
        }
    }
}
