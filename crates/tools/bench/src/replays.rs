//! Workloads, read and replayed by the event processor.

use actinium_events::{Processor, RunSummary, Settings};
use actinium_workload::{self as workload, Workload, replay};
use std::path::PathBuf;

/// Reads a workload: the shipped one if none is named.
pub(crate) fn read(file: Option<&str>) -> Result<Workload, String> {
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../workloads/reconstruction.toml");
    let path = PathBuf::from(file.unwrap_or(shipped));
    let checked = workload::read(&path, None).map_err(|faults| faults.to_string())?;
    Ok(checked.workload)
}

/// Runs so many events of a workload; all must go through.
pub(crate) fn run(
    workload: &Workload,
    events: u64,
    settings: &Settings,
) -> Result<RunSummary, String> {
    let (graph, total) =
        replay::graph(workload, Some(events)).map_err(|errors| errors.to_string())?;
    let summary =
        Processor::new(graph, settings.clone()).run().map_err(|error| error.to_string())?;
    if summary.events != events || total.get() == 0 {
        return Err(format!(
            "{} of {events} events went through: {:?}",
            summary.events, summary.failures
        ));
    }
    Ok(summary)
}
