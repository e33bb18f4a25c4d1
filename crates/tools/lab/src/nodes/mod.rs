//! Experiments on several nodes: their settings as a report shows them.

pub(crate) mod trace;

use crate::Failure;
use actinium_report::setting::{Row, Setting};
use std::fmt::Display;

/// The nodes of an experiment, as a report shows them.
#[derive(Clone, Debug)]
pub struct NodeSettings {
    /// The name of the fabric that moves frames between nodes, if there are several.
    pub fabric: Setting<Option<&'static str>>,
    /// The number of nodes, where it is known beforehand.
    pub count: Setting<Option<u32>>,
    /// Name, value and source of each setting by which this process joins others.
    pub join: Vec<Row>,
}

impl Default for NodeSettings {
    /// One node, without any fabric.
    fn default() -> Self {
        NodeSettings { fabric: None.into(), count: None.into(), join: Vec::new() }
    }
}

impl NodeSettings {
    /// Name, value and source of what all nodes agree on.
    #[must_use]
    pub fn rows(&self) -> [Row; 2] {
        let fabric = self.fabric.value.unwrap_or("none").to_owned();
        let count = self.count.value.map_or("-".to_owned(), |nodes| nodes.to_string());
        [("fabric", fabric, self.fabric.source), ("nodes", count, self.count.source)]
    }
}

/// Remarks of a job's nodes for the user.
#[derive(Clone, Copy, Debug)]
pub struct Remarks {
    /// Takes a line: who refuses to talk to this node, and the like.
    pub note: fn(&str),
    /// A remark on how the nodes were started, for the report.
    pub start: Option<&'static str>,
}

/// An error between nodes, as a failure.
pub(crate) fn failed(error: impl Display) -> Failure {
    Failure::Failed(error.to_string())
}
