//! What is seen of a system at a moment: data, which a page or a terminal shows.

use crate::types::TypeNow;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the data that this release writes. It changes when a field changes its meaning or
/// goes away.
pub const LIVE_VERSION: u32 = 1;

/// A system at a moment. Counters are sums since the system started: who has two snapshots takes
/// differences.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// See [`LIVE_VERSION`].
    pub schema_version: u32,
    /// What does not change while the system lives.
    pub about: About,
    /// What does.
    pub now: Now,
}

/// What does not change while a system lives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The version of Actinium.
    pub actinium_version: String,
    /// Tells one life of a program from another at the same address: another number, another life.
    pub life: u64,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The process's number.
    pub pid: u32,
    /// The name of the machine.
    pub host: String,
    /// Which machine that is: processes with the same value share their CPUs.
    pub machine: String,
    /// When it was first looked at, in seconds since 1970.
    pub begun_unix_s: u64,
    /// The name of the scheduling policy.
    pub policy: String,
    /// The PU that each worker is bound to, if it is.
    pub workers: Vec<Option<u32>>,
    /// The PUs of the machine, by rising number; none if it could not be looked at.
    pub pus: Vec<PuPlace>,
}

/// A PU, and where it is in the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PuPlace {
    /// The operating system's number.
    pub pu: u32,
    /// The core; unlike the operating system's, the number is unique in the machine.
    pub core: u32,
    /// Its L3 cache, by a number that is unique in the machine, if known.
    pub l3: Option<u32>,
    /// The operating system's number of the NUMA node, if one claims it.
    pub numa_node: Option<u32>,
    /// The operating system's number of the package.
    pub package: u32,
    /// Whether this process may run there.
    pub is_allowed: bool,
}

/// What changes while a system lives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Now {
    /// Each look has another number, one higher than the one before.
    pub number: u64,
    /// Seconds since the first look.
    pub at_s: f64,
    /// Whether the system has begun to end.
    pub is_ending: bool,
    /// Living actors.
    pub actors: u64,
    /// Workers that are given work.
    pub working: u64,
    /// Messages in mailboxes, or on their way.
    pub waiting: u64,
    /// The workers.
    pub workers: Vec<WorkerNow>,
    /// The counters of threads that are no workers.
    pub external: BTreeMap<String, u64>,
    /// Sampled latencies from send to handling: the upper bound of a bucket in nanoseconds, and the
    /// number of messages in it since the start. Bounds rise by the square root of 2. Buckets
    /// without any are left out.
    pub latencies: Vec<(u64, u64)>,
    /// The process.
    pub process: ProcessNow,
    /// What a walk over the actors has found.
    pub walk: Walk,
    /// The turns of types of actors and of tasks of the runtime, those that took most time first,
    /// at most 50. They are measured from the first look on.
    #[serde(default)]
    pub turns: Vec<TurnsNow>,
    /// When these were looked at, in seconds since the first look.
    #[serde(default)]
    pub turns_at_s: f64,
    /// The latest dead letters, oldest first.
    pub dead_letters: Vec<DeadLetterNow>,
    /// What workers got from each other.
    pub exchanges: Vec<ExchangeNow>,
    /// The latest changes of the number of workers with work, oldest first.
    pub scaling: Vec<ScalingNow>,
    /// What other parts of the program have to show, by the names of their panes.
    pub sections: BTreeMap<String, serde_json::Value>,
}

/// A worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerNow {
    /// Whether it was in somebody's code.
    pub is_occupied: bool,
    /// In whose turn it was, if that was asked for: in a system of many actors, only of a worker
    /// that was in the same turn at the look before.
    pub in_turn: Option<InTurn>,
    /// Its counters: see [`CounterValues`](actinium_actor::CounterValues).
    pub counters: BTreeMap<String, u64>,
}

/// Whose turn it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InTurn {
    /// The actor.
    pub actor: u64,
    /// The name of its type.
    pub kind: String,
    /// For how long the worker has been seen in this same turn, in seconds.
    pub since_s: u64,
}

/// The process that a system runs in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessNow {
    /// CPU time of all threads since the process started, in nanoseconds.
    pub cpu_ns: u64,
    /// The most memory that it has had in RAM.
    pub memory_max_bytes: u64,
    /// The memory that it has in RAM.
    pub memory_bytes: u64,
    /// The number of its threads.
    pub threads: u64,
    /// The threads with most CPU time, at most 256.
    pub busiest: Vec<ThreadNow>,
    /// For each CPU, nanoseconds that this process was seen to run on it since the first look.
    pub cpus: BTreeMap<u32, u64>,
    /// When that was looked at, in seconds since the first look.
    pub at_s: f64,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadNow {
    /// The operating system's number.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// Nanoseconds on a CPU.
    pub cpu_ns: u64,
    /// The CPU that it was on last.
    pub cpu: u32,
}

/// What a walk over all actors has found. A walk takes time where there are many: there is one a
/// second at most, and they take one part in fifty of a CPU's time at most.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Walk {
    /// When it began, in seconds since the first look.
    pub at_s: f64,
    /// The types of actors, those of most actors first; at most 200.
    pub types: Vec<TypeNow>,
    /// The number of types that are not among them.
    pub types_left_out: u64,
    /// The fullest mailboxes, at most twenty.
    pub fullest: Vec<ActorNow>,
}

/// The turns of a type since they were measured first: estimates from a sample.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnsNow {
    /// The name of the type.
    pub kind: String,
    /// Turns.
    pub turns: u64,
    /// Messages handled in them.
    pub handled: u64,
    /// The bytes of these messages.
    pub bytes: u64,
    /// The time of the turns together, in nanoseconds.
    pub busy_ns: u64,
    /// How long turns took, in nanoseconds: median, 99 % and the longest.
    pub turn_ns: [u64; 3],
    /// How long messages waited, likewise.
    pub wait_ns: [u64; 3],
    /// How many messages were of which variant.
    pub messages: Vec<(String, u64)>,
}

/// An actor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActorNow {
    /// Its number.
    pub actor: u64,
    /// The name of its type.
    pub kind: String,
    /// A name that it was given.
    pub name: Option<String>,
    /// The worker that it belongs to, if any.
    pub worker: Option<u64>,
    /// Messages in its mailbox.
    pub queued: u64,
    /// The actor that supervises it, if any.
    pub parent: Option<u64>,
}

/// A page of actors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActorsNow {
    /// How many there are on all pages.
    pub total: u64,
    /// Those on this page.
    pub actors: Vec<ActorNow>,
    /// What to ask for to see the next page (`after` of [`ActorsQuery`](super::ActorsQuery)); none
    /// if this is the last.
    pub next: Option<String>,
}

/// Actors that one supervises, or those that nobody does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FamilyNow {
    /// How many there are.
    pub total: u64,
    /// Those with most children, and how many these are.
    pub members: Vec<(ActorNow, u64)>,
}

/// One actor, as somebody sees it who looks closer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ActorDetails {
    /// The actor.
    pub figures: ActorNow,
    /// Those that it supervises.
    pub children: FamilyNow,
    /// Its last turns and messages.
    pub turns: LastTurns,
}

/// The last turns and messages of an actor, since somebody looks at it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LastTurns {
    /// Oldest first; at most 50.
    pub turns: Vec<TurnNow>,
    /// Records that were lost meanwhile: turns may be missing.
    pub lost: u64,
    /// Its messages by their sort, those that came most often first; none if its type names none.
    pub messages: Vec<MessagesNow>,
    /// What the last messages of a sample contained, oldest first; none if its type does not show
    /// it.
    #[serde(default)]
    pub contents: Vec<ContentsNow>,
    /// The bytes that a message takes in the mailbox, once one was handled.
    pub message_bytes: Option<u64>,
    /// Why turns are missing, if so.
    pub note: Option<String>,
}

/// A turn of an actor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnNow {
    /// When it began, in seconds since the system started.
    pub begin_s: f64,
    /// How long it took.
    pub took_ns: u64,
    /// The worker.
    pub worker: u64,
    /// Messages that were handled.
    pub handled: u64,
}

/// Messages of one sort.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessagesNow {
    /// The name of the variant, or of the method.
    pub name: String,
    /// How many were handled since the actor was first asked for: an estimate from a sample.
    pub handled: u64,
    /// How long one waited, in the mean.
    pub wait_ns: u64,
}

/// What a message contained.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContentsNow {
    /// When it was handled, in seconds since the system started.
    pub at_s: f64,
    /// As its type says that it is written.
    pub text: String,
}

/// A dead letter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetterNow {
    /// The actor that it was for.
    pub to: u64,
    /// The name of that actor's type.
    pub kind: String,
    /// The name of the message's type.
    pub message: String,
    /// How many messages.
    pub count: u64,
    /// Why.
    pub reason: String,
}

/// What a worker got from another one since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeNow {
    /// The index of the other.
    pub from: u64,
    /// The index of the one that got it.
    pub to: u64,
    /// Actors stolen.
    pub stolen: u64,
    /// Chunks of messages that came by the lane.
    pub chunks: u64,
}

/// A change of the number of workers with work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScalingNow {
    /// When, in seconds since the system started.
    pub at_s: f64,
    /// Workers before.
    pub from: u64,
    /// Workers from then on.
    pub to: u64,
    /// Why.
    pub reason: String,
}
