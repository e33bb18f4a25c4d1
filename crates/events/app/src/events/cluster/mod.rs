//! A workload over several nodes: the command's flags become a [`Job`]; [`report`] and [`page`]
//! show what comes of it.

pub mod own;
pub mod page;
pub mod report;

use super::Settings;
use crate::nodes::Terminal;
use actinium_cluster::job::JobFabric;
use actinium_events_cluster::{EventLines, Job};
use actinium_workload::Workload;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The job that the flags ask for.
pub fn job<'a>(
    fabric: JobFabric,
    workload: &'a Workload,
    settings: &Settings,
    quiet: bool,
    lines: Option<EventLines>,
    down_after: Duration,
) -> Job<'a> {
    let asked = settings.common_rows().map(|(name, value, _)| format!("{name} {value}"));
    // A replay has so many.
    let events = settings.events.value.unwrap_or_default();
    let is_in_process = fabric.is_in_process();
    Job {
        fabric,
        workload,
        name: settings.config.clone(),
        events,
        processor: settings.run.processor(None),
        asked: asked.collect::<Vec<_>>().join(", "),
        nodes: settings.nodes.count.value,
        lines: Mutex::new(lines),
        down_after,
        progress: Arc::default(),
        observer: Arc::new(Terminal { events, quiet, is_in_process }),
    }
}
