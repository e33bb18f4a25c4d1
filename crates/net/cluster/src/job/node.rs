//! A node that has joined its job: its system of actors, and the team of all.

use super::error::JobError;
use crate::fabric::{Fabric, NodeId};
use crate::link::LinkConfig;
use crate::node::{Node, NodeConfig, NodeEvent};
use crate::team::Team;
use actinium_actor::System;
use actinium_wire::Options;
use std::sync::Arc;
use std::time::Duration;

/// The node that tells what came of a job, keeps queues, and is there in any cluster.
pub const FIRST: NodeId = NodeId(0);
/// How long a node waits for others to be there.
pub const MEETING: Duration = Duration::from_secs(60);
/// A node that is not heard for so long is down: far longer than a busy machine keeps a thread from
/// running.
pub const DOWN_AFTER: Duration = Duration::from_secs(30);

/// How a node behaves: its links lose nothing, and who is not heard for so long is down.
///
/// # Errors
/// If an environment variable's value is not allowed.
pub fn config(down_after: Duration) -> Result<NodeConfig, JobError> {
    let down_after_ns = down_after.as_nanos() as u64;
    Ok(NodeConfig {
        link: LinkConfig { reliable: true, down_after_ns, ..LinkConfig::default() },
        encodings: Options::from_env().map_err(JobError::Setting)?.encodings,
        linger: down_after,
        ..NodeConfig::default()
    })
}

/// A node that has joined its job, with its system of actors. It leaves when it is dropped; the
/// others go on only when it has.
#[derive(Debug)]
pub struct JobNode {
    /// The actors.
    pub system: System,
    /// The node.
    pub node: Arc<Node>,
}

impl JobNode {
    /// Joins a system to the fabric. `note` is told, as a line, which nodes refuse to talk with
    /// this one.
    ///
    /// # Errors
    /// If it can not join.
    pub fn join<F: Fabric + 'static>(
        system: System,
        config: NodeConfig,
        fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
        note: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, JobError> {
        let node =
            Arc::new(Node::start(system.handle(), config, fabric).map_err(JobError::failed)?);
        node.on_event(move |event| {
            if let NodeEvent::Refused(node, refusal) = event {
                note(&format!("{node} and this one do not talk: {refusal}"));
            }
        });
        Ok(JobNode { system, node })
    }

    /// This node's number.
    pub fn id(&self) -> NodeId {
        self.node.id()
    }

    /// All nodes together; each calls this.
    ///
    /// # Errors
    /// If not all are there in time.
    pub fn team(&self, name: &str) -> Result<Team, JobError> {
        let (node, system) = (&self.node, self.system.handle());
        Team::form(node, &system, name, &node.nodes(), MEETING).map_err(JobError::failed)
    }

    /// Each node says what it was asked for; all have to have been asked for the same.
    ///
    /// # Errors
    /// If they were not: this node's settings, and others.
    pub fn agree(&self, team: &Team, asked: String) -> Result<(), JobError> {
        let all_asked = team.all_gather(asked.clone()).wait().map_err(JobError::failed)?;
        match all_asked.iter().find(|&other| *other != asked) {
            None => Ok(()),
            Some(other) => {
                let line = format!("the nodes have different settings: {other}; here {asked}");
                Err(JobError::Setting(line))
            }
        }
    }
}

impl Drop for JobNode {
    fn drop(&mut self) {
        self.node.leave();
    }
}
