//! The probe over several nodes: each has its workers and actors, and actors ping those of all
//! nodes.
//!
//! [`actors`] are what is measured, [`node`] is one node's part, [`figures`] are what a node has
//! measured. [`report`] has those of all, for other programs; its text and [`page`] show it to
//! people.

pub mod actors;
pub mod figures;
pub mod node;
pub mod page;
pub mod report;
mod text;

use super::settings::{Placement, Settings};
use crate::Failure;
use crate::nodes::Remarks;
use actinium_cluster::fabric::Fabric;
use actinium_cluster::job::{self, JobFabric, Program};
use report::ClusterReport;
use std::path::Path;

/// Runs this process's part of the probe, and writes a trace of all nodes if it has a path. None:
/// another process shows what all have measured.
///
/// # Errors
/// If it was asked wrongly, or a node fails.
pub fn run(
    fabric: JobFabric,
    settings: &Settings,
    remarks: Remarks,
    trace: Option<&Path>,
) -> Result<Option<ClusterReport>, Failure> {
    check(settings)?;
    let in_one_process = matches!(fabric, JobFabric::InProcess(_));
    job::run(fabric, remarks.note, &Probe { in_one_process, settings, remarks, trace })
}

struct Probe<'a> {
    in_one_process: bool,
    settings: &'a Settings,
    remarks: Remarks,
    trace: Option<&'a Path>,
}

impl Program for Probe<'_> {
    type Report = ClusterReport;
    type Error = Failure;

    fn run<F: Fabric + 'static>(
        &self,
        fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
    ) -> Result<Option<ClusterReport>, Failure> {
        let asked = node::Asked {
            in_one_process: self.in_one_process,
            settings: self.settings,
            trace: self.trace,
        };
        let all = node::run(asked, self.remarks.note, fabric)?;
        let name = self.settings.nodes.fabric.value.unwrap_or("none");
        let report = |all| ClusterReport::new(self.settings.clone(), name, all, self.remarks.start);
        Ok(all.map(report))
    }
}

/// Refuses settings that a probe of one node supports and a probe of several nodes does not.
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
