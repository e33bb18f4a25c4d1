//! Where figures come from: a system of this process, or a node elsewhere.

use actinium_monitor::live::{ActorsQuery, Now, Snapshot};
use serde::Serialize;
use serde_json::Value;

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It makes no sense: this is why.
    Wrong(String),
    /// What it asks for is not there.
    Missing(String),
    /// The node does not answer.
    Down(String),
}

/// Where figures come from. All of it may take a while: no thread that serves sockets calls it.
pub(crate) trait Source: Send + Sync {
    /// Looks, or says what was seen last.
    fn look(&self) -> Look;

    /// All that is to be seen.
    fn snapshot(&self) -> Result<Snapshot, Refusal>;

    /// A page of actors, as JSON.
    fn actors(&self, query: &ActorsQuery) -> Result<Value, Refusal>;

    /// One actor with its last turns, as JSON.
    fn actor(&self, number: u64) -> Result<Value, Refusal>;

    /// Those whom an actor supervises, as JSON.
    fn family(&self, of: Option<u64>) -> Result<Value, Refusal>;
}

/// What was seen of a source.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    /// A line for the list of nodes.
    pub(crate) summary: Summary,
    /// All figures as JSON, unless the node is down.
    pub(crate) now: Option<String>,
}

/// A node in a few figures.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Summary {
    /// Where it is; empty for this process.
    pub(crate) address: String,
    /// See `About::life`, as text: a browser's numbers have 53 bits.
    pub(crate) life: String,
    /// Why it does not answer, if it does not.
    pub(crate) error: Option<String>,
    pub(crate) host: String,
    pub(crate) pid: u32,
    pub(crate) program: String,
    pub(crate) policy: String,
    pub(crate) workers: usize,
    pub(crate) is_ending: bool,
    pub(crate) at_s: f64,
    pub(crate) actors: u64,
    pub(crate) waiting: u64,
    pub(crate) handled: u64,
    pub(crate) dead: u64,
    pub(crate) cpu_ns: u64,
    pub(crate) memory_bytes: u64,
}

impl Look {
    /// What is shown of a snapshot.
    pub(crate) fn of(address: &str, snapshot: &Snapshot) -> Self {
        let Snapshot { about, now, .. } = snapshot;
        let program =
            about.command.first().map_or("", |path| path.rsplit('/').next().unwrap_or(""));
        let summary = Summary {
            address: address.to_owned(),
            life: about.life.to_string(),
            error: None,
            host: about.host.clone(),
            pid: about.pid,
            program: program.to_owned(),
            policy: about.policy.clone(),
            workers: about.workers.len(),
            is_ending: now.is_ending,
            at_s: now.at_s,
            actors: now.actors,
            waiting: now.waiting,
            handled: sum(now, "handled"),
            dead: sum(now, "dead"),
            cpu_ns: now.process.cpu_ns,
            memory_bytes: now.process.memory_bytes,
        };
        Look { summary, now: serde_json::to_string(now).ok() }
    }

    /// A node that does not answer.
    pub(crate) fn down(mut summary: Summary, why: String) -> Self {
        summary.error = Some(why);
        Look { summary, now: None }
    }
}

/// A counter of all workers and other threads together. A node may say anything.
fn sum(now: &Now, counter: &str) -> u64 {
    let all = now.workers.iter().map(|it| &it.counters).chain([&now.external]);
    all.filter_map(|it| it.get(counter)).fold(0, |sum, &value| sum.wrapping_add(value))
}
