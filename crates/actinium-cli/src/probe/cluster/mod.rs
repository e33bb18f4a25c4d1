//! The probe over several nodes: each has its workers and actors, and actors ping those of all nodes.
//!
//! [`actors`] are what is measured, [`node`] is one node's part, [`figures`] are what a node has measured. [`report`] has those of all, for other programs; its text and
//! [`page`] show it to people.

pub mod actors;
pub mod figures;
pub mod node;
pub mod page;
pub mod report;
mod text;

use super::settings::{Placement, Settings};
use crate::Failure;
use crate::nodes::{self, FabricKind, Program};
use actinium_cluster::fabric::Fabric;
use report::ClusterReport;

/// Runs this process's part of the probe. None: another process shows what all have measured.
///
/// # Errors
/// If it was asked wrongly, or a node fails.
pub fn run(kind: FabricKind, settings: &Settings) -> Result<Option<ClusterReport>, Failure> {
    check(settings)?;
    nodes::run(kind, &settings.nodes, &Probe { kind, settings })
}

struct Probe<'a> {
    kind: FabricKind,
    settings: &'a Settings,
}

impl Program for Probe<'_> {
    type Report = ClusterReport;

    fn run<F: Fabric + 'static>(
        &self,
        fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
    ) -> Result<Option<ClusterReport>, Failure> {
        let (settings, kind) = (self.settings, self.kind);
        let all = node::run(kind, settings, fabric)?;
        let report =
            |all| ClusterReport::new(settings.clone(), kind.name(), all, nodes::remark(kind));
        Ok(all.map(report))
    }
}

/// What the probe of one node can and that of several can not.
fn check(settings: &Settings) -> Result<(), Failure> {
    if settings.placement.value != Placement::Policy {
        let line = "--placement: 'spread' is not allowed with --fabric: policy";
        return Err(Failure::Asked(line.to_owned()));
    }
    if settings.repeat.value > 1 {
        let repeat = settings.repeat.value;
        return Err(Failure::Asked(format!(
            "--repeat: '{repeat}' is not allowed with --fabric: 1"
        )));
    }
    Ok(())
}
