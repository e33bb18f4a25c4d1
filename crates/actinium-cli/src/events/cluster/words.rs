//! What the node with the queue and those that run events say to each other.

use actinium_wire::Message;
use serde::{Deserialize, Serialize};

/// What a node says to the one with the queue.
#[derive(Clone, Debug, Serialize, Deserialize, Message)]
#[message(name = "actinium.events.up")]
pub enum Up {
    /// It is there, and may be given events.
    Join {
        /// Which node.
        node: u32,
        /// How many events it has in flight.
        slots: u64,
        /// What it was asked to run: a digest of the workload and of all that decides what comes of it.
        digest: u64,
        /// The same, for people.
        says: String,
    },
    /// All but the outputs of an event has run.
    Ran {
        /// Which node.
        node: u32,
        /// The event.
        number: u64,
        /// What the ends of its paths saw.
        sights: Vec<(u32, u64)>,
    },
    /// An event has failed.
    Failed {
        /// Which node.
        node: u32,
        /// The event.
        number: u64,
        /// The module's label.
        module: String,
        /// What it said.
        cause: String,
    },
    /// Events that it was given and has not begun.
    Back {
        /// Which node.
        node: u32,
        /// The events.
        numbers: Vec<u64>,
    },
    /// Somebody wants the run to stop, who can reach this node.
    Stop,
}

/// What the node with the queue says to one that runs events.
#[derive(Clone, Debug, Serialize, Deserialize, Message)]
#[message(name = "actinium.events.down")]
pub enum Down {
    /// Run these.
    Work(Vec<u64>),
    /// It may not take part: why.
    Refused(String),
    /// Begin no more.
    Stop,
    /// There are no more.
    End,
}
