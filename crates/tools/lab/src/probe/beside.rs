//! The same measurement while a segment of memory is faulted in beside it, by threads that yield.

use super::run::Run;
use crate::Failure;
use crate::memory::settings::SegmentSize;
use actinium_memory::{MemoryError, Mode, Segment};
use actinium_observe::Repeat;
use serde::Serialize;

/// A measurement with a segment, and the one without that came right before it.
#[derive(Clone, Debug)]
pub struct Beside {
    /// The measurement with the segment.
    pub run: Run,
    /// How large it was.
    pub size_bytes: u64,
    /// The number of its bytes that had been faulted in at the measurement's end.
    pub faulted_bytes: u64,
    /// Warnings that name the features that the segment did without.
    pub warnings: Vec<String>,
}

/// Reserves a segment, which begins to be faulted in, measures, and gives it back.
///
/// # Errors
/// If it can not be had, or measuring fails.
pub fn measure(
    size: SegmentSize,
    measure: impl FnOnce() -> Result<Run, Failure>,
) -> Result<Beside, Failure> {
    let builder = Segment::builder().size(size.0).mode(Mode::Background);
    let segment = builder.build().map_err(refused)?;
    let run = measure()?;
    let faulted_bytes = segment.progress().done_bytes;
    let warnings = segment.warnings().iter().map(ToString::to_string).collect();
    Ok(Beside { run, size_bytes: segment.len() as u64, faulted_bytes, warnings })
}

fn refused(error: MemoryError) -> Failure {
    match error {
        MemoryError::Setting { .. } | MemoryError::TooLarge { .. } => {
            Failure::Asked(format!("--segment: {error}"))
        }
        error => Failure::Failed(error.to_string()),
    }
}

/// The costs of a segment that is faulted in during a measurement.
#[derive(Clone, Debug, Serialize)]
pub struct BesideReport {
    /// The segment's size.
    pub size_bytes: u64,
    /// The ratio of the throughput with a segment to that without, pair by pair: median and spread.
    pub of_without: Repeat,
    /// Pings and replies per second, with a segment: median and spread.
    pub throughput_per_s: Repeat,
    /// The number of bytes that had been faulted in at each measurement's end.
    pub faulted_bytes: Vec<u64>,
    /// Warnings that name the features that segments did without.
    pub warnings: Vec<String>,
}

impl BesideReport {
    /// Compares these pairs; `None` if there are none.
    pub fn new(runs: &[Run], beside: &[Beside]) -> Option<Self> {
        let throughput = |run: &Run| run.messages() as f64 / run.elapsed.as_secs_f64();
        let with = || beside.iter().map(|one| throughput(&one.run));
        let ratios = with().zip(runs).map(|(with, run)| with / throughput(run));
        let mut warnings: Vec<String> =
            beside.iter().flat_map(|one| one.warnings.clone()).collect();
        warnings.sort_unstable();
        warnings.dedup();
        Some(BesideReport {
            size_bytes: beside.first()?.size_bytes,
            of_without: Repeat::new(ratios)?,
            throughput_per_s: Repeat::new(with())?,
            faulted_bytes: beside.iter().map(|one| one.faulted_bytes).collect(),
            warnings,
        })
    }

    /// The greatest share that was in at a measurement's end.
    pub fn faulted_share(&self) -> f64 {
        let most = self.faulted_bytes.iter().copied().max().unwrap_or(0);
        most as f64 / self.size_bytes as f64
    }
}
