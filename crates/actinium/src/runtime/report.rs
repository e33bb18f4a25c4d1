//! What came of the parts of a program.

use actinium_actor::ShutdownReport;
use std::fmt;

/// The kinds of parts that end beside the actors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PartKind {
    /// A gateway to browsers and services.
    Gateway,
    /// A source of events or messages.
    Source,
    /// The run of a graph.
    Graph,
    /// A node of a cluster.
    Node,
}

impl fmt::Display for PartKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PartKind::Gateway => "gateway",
            PartKind::Source => "source",
            PartKind::Graph => "graph",
            PartKind::Node => "node",
        })
    }
}

/// How a part ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// By itself, when it was asked to.
    Ended,
    /// With an error, or a panic.
    Failed(String),
    /// Only when it was cancelled.
    Cancelled,
    /// Not at all: it was cancelled, and left to itself a second later.
    Stuck,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Ended => f.write_str("ended"),
            End::Failed(why) => write!(f, "failed: {why}"),
            End::Cancelled => f.write_str("cancelled when the time was over"),
            End::Stuck => f.write_str("did not end, and was left to itself"),
        }
    }
}

/// What came of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartReport {
    /// What it was.
    pub kind: PartKind,
    /// Its name: the address of a gateway, the number of a node.
    pub name: String,
    /// How it ended.
    pub end: End,
}

/// What came of a program: see [`Runtime::shutdown`](super::Runtime::shutdown).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuntimeReport {
    /// The parts beside the actors, in the order in which they ended.
    pub parts: Vec<PartReport>,
    /// The actors. `None`: the end was requested on a worker, and another thread carries it out.
    pub actors: Option<ShutdownReport>,
}

impl RuntimeReport {
    /// Whether all parts ended when they were asked to, and no message was dropped.
    pub fn is_clean(&self) -> bool {
        let is_ended = |part: &PartReport| part.end == End::Ended;
        let is_clean = |actors: &ShutdownReport| {
            actors.dropped == 0 && actors.unfinished.is_none() && actors.escalated.is_none()
        };
        self.parts.iter().all(is_ended) && self.actors.as_ref().is_some_and(is_clean)
    }
}

/// A line for each part.
impl fmt::Display for RuntimeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_node = |part: &&PartReport| part.kind == PartKind::Node;
        let line = |f: &mut fmt::Formatter<'_>, part: &PartReport| {
            // A node's name has the word in it.
            match part.kind {
                PartKind::Node => writeln!(f, "{}: {}", part.name, part.end),
                kind => writeln!(f, "{kind} {}: {}", part.name, part.end),
            }
        };
        self.parts.iter().filter(|part| !is_node(part)).try_for_each(|part| line(f, part))?;
        match &self.actors {
            None => writeln!(f, "actors: the end is requested")?,
            Some(ShutdownReport { handled, dropped, stuck, .. }) => {
                write!(f, "actors: {handled} messages handled, {dropped} dropped")?;
                match stuck.len() {
                    0 => writeln!(f)?,
                    stuck => writeln!(f, ", {stuck} did not return")?,
                }
            }
        }
        self.parts.iter().filter(is_node).try_for_each(|part| line(f, part))
    }
}
