//! What was recorded of a system: data, from which a page is made.

use crate::structure::Structure;
use actinium_actor::TurnFigures;
use actinium_observe::file::{NewFile, WriteError};
use actinium_observe::process::ProcessFigures;
use actinium_report::{Document, ReadError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// The version of the data that this release writes. It changes when a field changes its meaning or
/// goes away.
pub const SCHEMA_VERSION: u32 = 1;

/// The recorded life of a system.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recording {
    /// See [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The version of Actinium that recorded it.
    pub actinium_version: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The moment at which the recording began, in seconds since 1970.
    pub begun_unix_s: u64,
    /// The name of the scheduling policy.
    pub policy: String,
    /// What the system did, look by look.
    pub samples: Vec<Sample>,
    /// The workers.
    pub workers: Vec<WorkerFigures>,
    /// The counters of threads that are no workers.
    pub external: BTreeMap<String, u64>,
    /// Sampled latencies from send to handling: nanoseconds, and the number of messages.
    pub latencies: Vec<(u64, u64)>,
    /// The types of actors.
    pub types: Vec<TypeFigures>,
    /// Who supervises whom, and what workers got from each other.
    #[serde(default)]
    pub structure: Structure,
    /// The turns and messages of types, those that took most time first: estimated from samples.
    #[serde(default)]
    pub turns: Vec<TypeTurns>,
    /// The fullest mailboxes that were seen, at most one for each actor.
    pub mailboxes: Vec<MailboxFigures>,
    /// The latest dead letters, as texts.
    pub dead_letters: Vec<String>,
    /// Changes of the number of workers with work: the time since the start in seconds, the number
    /// and the reason.
    pub scaling: Vec<(f64, u64, String)>,
    /// What the system ended with: name and text.
    pub end: Vec<(String, String)>,
    /// The process: CPU time, memory and threads.
    pub process: ProcessFigures,
}

/// What had happened until a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Seconds since the recording began.
    pub at_s: f64,
    /// Messages handled by each worker.
    pub handled: Vec<u64>,
    /// Messages in mailboxes at that moment, or on their way.
    pub queued: u64,
    /// Dead letters.
    pub dead: u64,
    /// Restarts of actors.
    pub restarted: u64,
    /// Living actors at that moment.
    pub actors: u64,
    /// Workers that were given work at that moment.
    pub working: u64,
}

/// A worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerFigures {
    /// The PU that it is bound to, if it is.
    pub pu: Option<u32>,
    /// Its counters: see [`CounterValues`](actinium_actor::CounterValues).
    pub counters: BTreeMap<String, u64>,
}

/// The actors of a type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TypeFigures {
    /// The name of the type.
    pub kind: String,
    /// The most that were seen alive at one look.
    pub living_max: u64,
    /// The most messages that were seen in their mailboxes at one look.
    pub queued_max: u64,
    /// The most messages that were seen in one mailbox.
    pub mailbox_max: u64,
    /// Restarts by supervisors.
    pub restarts: u64,
    /// Nanoseconds that a message took at last, exponentially weighted.
    pub cost_ns: Option<u32>,
}

/// The turns of a type of actors, or of tasks of the runtime. See
/// [`SystemHandle::measure`](actinium_actor::SystemHandle::measure).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TypeTurns {
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
    /// How long turns took: nanoseconds, and how many turns; rising.
    pub turn_ns: Vec<(u64, u64)>,
    /// How long messages waited: nanoseconds, and a number for how many; rising.
    pub wait_ns: Vec<(u64, u64)>,
    /// Messages by the variants of their type.
    pub messages: Vec<MessageTurns>,
}

/// Messages of one variant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MessageTurns {
    /// Its name, or that of the actor's method.
    pub name: String,
    /// Handled messages.
    pub handled: u64,
    /// The time that they waited together, in nanoseconds.
    pub wait_ns: u64,
}

impl TypeTurns {
    /// The type's name without the path before it.
    pub(crate) fn short_name(&self) -> &str {
        let head = self.kind.find('<').unwrap_or(self.kind.len());
        self.kind[..head].rfind("::").map_or(&self.kind, |at| &self.kind[at + 2..])
    }

    pub(crate) fn of(kind: &str, figures: &TurnFigures) -> Self {
        let messages = figures.messages.iter().map(|it| MessageTurns {
            name: it.name.to_owned(),
            handled: it.handled,
            wait_ns: it.wait_ns,
        });
        TypeTurns {
            kind: kind.to_owned(),
            turns: figures.turns,
            handled: figures.handled,
            bytes: figures.bytes,
            busy_ns: figures.busy_ns,
            turn_ns: figures.turn_ns.clone(),
            wait_ns: figures.wait_ns.clone(),
            messages: messages.collect(),
        }
    }
}

/// A mailbox that was seen to be full of messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MailboxFigures {
    /// The actor.
    pub actor: String,
    /// The name of its type.
    pub kind: String,
    /// The most messages that were seen in it.
    pub queued_max: u64,
    /// The moment, in seconds since the recording began.
    pub at_s: f64,
}

impl Recording {
    /// Reads a recording from a file that [`write`](Self::write) has written.
    ///
    /// # Errors
    /// If the file can not be read, is no recording, was cut off or is of a later release.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        Document::read(path, "recording")?.up_to(SCHEMA_VERSION)?.data()
    }

    /// Writes it: as JSON if the file's name ends in `.json`, else as a page. The file is there in
    /// full or, after an error, as it was before.
    ///
    /// # Errors
    /// If the file can not be written.
    pub fn write(&self, path: &Path) -> Result<(), WriteError> {
        if path.extension().is_none_or(|it| it != "json") {
            return self.page().write(path);
        }
        let mut file = NewFile::create(path)?;
        serde_json::to_writer(&mut file, self).map_err(|error| file.error(error.into()))?;
        file.flush().map_err(|error| file.error(error))?;
        file.finish()
    }
}
