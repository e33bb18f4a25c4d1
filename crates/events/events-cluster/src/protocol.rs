//! The messages between the coordinator, on the node with the queue, and the agents, on the nodes
//! that run events.

use actinium_wire::Message;
use serde::{Deserialize, Serialize};

/// A message from a node that runs events to the node with the queue.
#[derive(Clone, Debug, Serialize, Deserialize, Message)]
#[message(name = "actinium.events.up")]
pub(crate) enum Up {
    /// The node is there, and may be given events.
    Join {
        /// The node's number.
        node: u32,
        /// How many events it has in flight.
        slots: u64,
        /// A digest of what the node was asked to run: the workload, and all settings that decide
        /// the result.
        digest: u64,
        /// The workload and settings as text, for people.
        says: String,
    },
    /// All but the outputs of an event has run.
    Ran {
        /// The node's number.
        node: u32,
        /// The event's number.
        number: u64,
        /// The modules at the ends of the event's paths, each with the checksum that it saw.
        #[serde(rename = "sights")]
        observations: Vec<(u32, u64)>,
    },
    /// An event has failed.
    Failed {
        /// The node's number.
        node: u32,
        /// The event's number.
        number: u64,
        /// The module's label.
        module: String,
        /// The module's error message.
        cause: String,
    },
    /// Events that it was given and has not begun.
    Back {
        /// The node's number.
        node: u32,
        /// The events' numbers.
        numbers: Vec<u64>,
    },
    /// Somebody wants the run to stop, who can reach this node.
    Stop,
}

/// A message from the node with the queue to a node that runs events.
#[derive(Clone, Debug, Serialize, Deserialize, Message)]
#[message(name = "actinium.events.down")]
pub(crate) enum Down {
    /// Run these events.
    Work(Vec<u64>),
    /// The node may not take part, for this reason.
    Refused(String),
    /// Begin no more.
    Stop,
    /// There are no more events.
    End,
}
