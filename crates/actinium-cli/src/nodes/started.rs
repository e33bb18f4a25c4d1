//! A node that has joined: its system of actors, and the team of all.

use crate::Failure;
use actinium::System;
use actinium_cluster::fabric::Fabric;
use actinium_cluster::link::LinkConfig;
use actinium_cluster::{Node, NodeConfig, NodeEvent, Team};
use actinium_wire::Options;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

/// How long a node waits for others to be there.
pub const MEETING: Duration = Duration::from_secs(60);
/// A node that is not heard for so long is down: far longer than a busy machine keeps a thread from running.
pub const DOWN_AFTER: Duration = Duration::from_secs(30);

/// How a node behaves: its links lose nothing, and who is not heard for so long is down.
///
/// # Errors
/// If an environment variable's value is not allowed.
pub fn config(down_after: Duration) -> Result<NodeConfig, Failure> {
    let down_after_ns = down_after.as_nanos() as u64;
    Ok(NodeConfig {
        link: LinkConfig { reliable: true, down_after_ns, ..LinkConfig::default() },
        encodings: Options::from_env().map_err(Failure::Asked)?.encodings,
        linger: down_after,
        ..NodeConfig::default()
    })
}

/// A system of actors that has joined others. It leaves when it is dropped; the others go on only when it has.
#[derive(Debug)]
pub struct Started {
    /// The actors.
    pub system: System,
    /// The node.
    pub node: Arc<Node>,
}

impl Started {
    /// Joins a system to the fabric. Who does not talk with this node is told on stderr.
    ///
    /// # Errors
    /// If it can not join.
    pub fn new<F: Fabric + 'static>(
        system: System,
        config: NodeConfig,
        fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
    ) -> Result<Self, Failure> {
        let node = Arc::new(Node::start(system.handle(), config, fabric).map_err(failed)?);
        node.on_event(|event| {
            if let NodeEvent::Refused(node, refusal) = event {
                crate::output::note(&format!("{node} and this one do not talk: {refusal}"));
            }
        });
        Ok(Started { system, node })
    }

    /// All nodes together; each calls this.
    ///
    /// # Errors
    /// If not all are there in time.
    pub fn team(&self, name: &str) -> Result<Team, Failure> {
        let (node, system) = (&self.node, self.system.handle());
        Team::form(node, &system, name, &node.nodes(), MEETING).map_err(failed)
    }

    /// Each node says what it was asked for; all have to have been asked for the same.
    ///
    /// # Errors
    /// If they were not: this node's settings, and others.
    pub fn agree(&self, team: &Team, asked: String) -> Result<(), Failure> {
        let all_asked = team.all_gather(asked.clone()).wait().map_err(failed)?;
        match all_asked.iter().find(|&other| *other != asked) {
            None => Ok(()),
            Some(other) => {
                let line = format!("the nodes have different settings: {other}; here {asked}");
                Err(Failure::Asked(line))
            }
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.node.leave();
    }
}

/// What went wrong between nodes, as a command's failure.
pub(crate) fn failed(error: impl Display) -> Failure {
    Failure::Failed(error.to_string())
}
