//! The no-op program that `startup` measures: it sets its memory up, says when it was ready, and
//! ends.

use super::failure::failure;
use super::settings::{ChildTask, Fabric, StartupMode};
use crate::Failure;
use actinium_memory::fabric::Register;
use actinium_memory::{Mode, PageSize, Placement, Segment, Size};
use actinium_observe::process::cpu_time::process_time;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Nanoseconds of the clock that all processes of the machine share.
pub fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    // Neither is negative, and 64 bits last for centuries.
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// The child's report, which it prints as a line of JSON.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Said {
    /// The time at which the child could have begun its work.
    pub ready_ns: u64,
    /// How large the segment was.
    pub size_bytes: u64,
    /// How long faulting in took, if it was done by then.
    pub fault_in_s: Option<f64>,
    /// CPU time that it had used by then.
    pub cpu_s: f64,
    /// In huge pages.
    pub huge_bytes: u64,
    /// Registered by then.
    pub registered_bytes: u64,
    /// Time spent on registering, by all threads together.
    pub register_s: f64,
    /// Bytes that were pinned by then, as the kernel counts them.
    pub pinned_bytes: u64,
    /// Warnings that name the features that the segment did without.
    pub warnings: Vec<String>,
}

/// Sets memory up, and answers with what is to be said.
///
/// # Errors
/// If the segment can not be had.
pub fn run(
    task: ChildTask,
    size: Size,
    pages: PageSize,
    placement: &Placement,
    register: Fabric,
    threads: usize,
) -> Result<Said, Failure> {
    let mode = match task {
        ChildTask::Mode(mode) => mode,
        ChildTask::Baseline(baseline) => {
            let Size::Bytes(size_bytes) = size else {
                return Err(Failure::Asked("--size: a child is told the bytes".to_owned()));
            };
            let seconds = baseline.seconds(size_bytes, pages, threads).map_err(failure)?;
            let cpu_s = process_time().as_secs_f64();
            let fault_in_s = Some(seconds);
            return Ok(Said {
                ready_ns: now_ns(),
                size_bytes,
                fault_in_s,
                cpu_s,
                ..Said::default()
            });
        }
    };
    let (mode, threads) = match mode {
        StartupMode::None => return Ok(Said { ready_ns: now_ns(), ..Said::default() }),
        StartupMode::Lazy => (Mode::Lazy, threads),
        StartupMode::Background => (Mode::Background, threads),
        StartupMode::EagerOne => (Mode::Eager, 1),
        StartupMode::Eager => (Mode::Eager, threads),
    };
    let builder = Segment::builder().size(size).pages(pages).placement(placement.clone());
    let mut builder = builder.mode(mode).threads(threads);
    if let Some(fabric) = register.open().map_err(failure)? {
        // Registering all of a lazy segment would fault it in: there, what is used is registered
        // when it is.
        let bytes_max = u64::MAX;
        let lazily = Register::Dynamic { bytes_max };
        let how = if mode == Mode::Lazy { lazily } else { Register::Static };
        builder = builder.register(fabric, how);
    }
    let segment = builder.build().map_err(failure)?;
    let ready_ns = now_ns();
    let cpu_s = process_time().as_secs_f64();
    let registration = segment.registration();
    let figures = segment.fault_figures().filter(|_| mode == Mode::Eager);
    let huge_bytes = match mode {
        Mode::Eager => {
            let stats = segment.stats();
            stats.transparent_huge_bytes + stats.pool_bytes
        }
        _ => 0,
    };
    Ok(Said {
        ready_ns,
        size_bytes: segment.len() as u64,
        fault_in_s: figures.map(|figures| figures.elapsed_s),
        cpu_s,
        huge_bytes,
        registered_bytes: registration.as_ref().map_or(0, |figures| figures.bytes),
        register_s: registration.as_ref().map_or(0.0, |figures| figures.elapsed_s),
        pinned_bytes: registration.and_then(|figures| figures.pinned_bytes).unwrap_or(0),
        warnings: segment.warnings().iter().map(ToString::to_string).collect(),
    })
}
