//! One rank of a job that `startup_mpi` starts.

use super::failure::failure;
use super::startup_mpi::{JobSaid, Registration, TRANSFER_BYTES, Task};
use crate::Failure;
use actinium_cluster::fabric::mpi::{Mpi, MpiSegments, MpiWindowKind};
use actinium_cluster::fabric::{Fabric, NodeId, RegionId};
use actinium_memory::fabric::Register;
use actinium_memory::{Segment, Size};
use actinium_observe::Repeat;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Reads of one size: at least so many, and for at least so long.
const READS_MIN: usize = 9;
const READ_FOR: Duration = Duration::from_millis(30);

/// Does the task. None on all ranks but the first, which has something to report.
///
/// # Errors
/// If MPI or the segment can not be had, or what was read is wrong.
pub fn run(task: Task, size_bytes: u64) -> Result<Option<JobSaid>, Failure> {
    let mut fabric = Mpi::start().map_err(Failure::Failed)?;
    let ranks = fabric.nodes().len() as u32;
    let windows = match task.registration {
        Registration::None => None,
        Registration::Static => Some(MpiWindowKind::Static),
        Registration::Dynamic => Some(MpiWindowKind::Dynamic),
    };
    let windows = windows.map(|kind| fabric.segments(kind)).transpose();
    let windows = windows.map_err(|error| Failure::Failed(error.to_string()))?;
    let mut builder = Segment::builder().size(Size::Bytes(size_bytes)).threads(1);
    if let Some(windows) = &windows {
        let how = match windows.kind() {
            MpiWindowKind::Static => Register::Static,
            MpiWindowKind::Dynamic => Register::Dynamic { bytes_max: u64::MAX },
        };
        builder = builder.register(windows.clone(), how);
    }
    let mut segment = builder.build().map_err(failure)?;
    let mut said = JobSaid { ranks, ..JobSaid::default() };
    if let Some(windows) = windows.filter(|_| task.transfers) {
        said.reads = transfers(&mut fabric, &windows, &mut segment)?;
    }
    if let Some(figures) = segment.registration() {
        (said.registered_bytes, said.register_s) = (figures.bytes, figures.elapsed_s);
    }
    let is_first = fabric.node() == NodeId(0);
    drop(segment);
    Ok(is_first.then_some(said))
}

/// The byte at a place of a segment.
fn byte(at: usize) -> u8 {
    (at.wrapping_mul(31) >> 7) as u8
}

/// The first rank reads from the second one, which calls MPI meanwhile: some MPIs need that.
fn transfers(
    fabric: &mut Mpi,
    windows: &Arc<MpiSegments>,
    segment: &mut Segment,
) -> Result<Vec<(u64, f64)>, Failure> {
    if let Some(bytes) = segment.bytes() {
        (0..).zip(bytes).for_each(|(at, place)| *place = byte(at));
    }
    let lease = segment.lease(0..TRANSFER_BYTES.1 as usize).map_err(failure)?;
    let mut reads = Vec::new();
    match fabric.node() {
        NodeId(0) => {
            let parts = receive(fabric);
            let region = |words: &[u8]| {
                let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| words[at + i]));
                RegionId { node: NodeId(1), index: word(0), bytes: word(8) }
            };
            let parts: Vec<RegionId> = parts[1..].chunks_exact(16).map(region).collect();
            let mut bytes = TRANSFER_BYTES.0;
            while bytes <= TRANSFER_BYTES.1 {
                reads.push((bytes, read(windows, &parts, bytes as usize)?));
                bytes *= 4;
            }
            // Others still look for work: they may end.
            for node in fabric.nodes() {
                send(fabric, node, b"done")?;
            }
        }
        NodeId(1) => {
            let own = windows.regions(segment, &lease);
            let words = own.iter().flat_map(|region| [region.index, region.bytes]);
            let frame: Vec<u8> = [0].into_iter().chain(words.flat_map(u64::to_le_bytes)).collect();
            send(fabric, NodeId(0), &frame)?;
            receive(fabric);
        }
        _ => drop(receive(fabric)),
    }
    Ok(reads)
}

fn send(fabric: &mut Mpi, to: NodeId, frame: &[u8]) -> Result<(), Failure> {
    if to == fabric.node() {
        return Ok(());
    }
    fabric.send(to, frame).map_err(|refused| Failure::Failed(format!("{to}: {refused}")))
}

fn receive(fabric: &mut Mpi) -> Vec<u8> {
    loop {
        match fabric.poll() {
            Some((_, frame)) => return frame,
            None => std::thread::yield_now(),
        }
    }
}

/// The median time of a read, in seconds, after some that do not count.
fn read(windows: &MpiSegments, parts: &[RegionId], bytes: usize) -> Result<f64, Failure> {
    let mut into = vec![0; bytes];
    let mut once = || {
        let before = Instant::now();
        windows
            .read(parts, 0, &mut into)
            .map_err(|error| Failure::Failed(format!("a read of {bytes} bytes: {error}")))?;
        Ok::<f64, Failure>(before.elapsed().as_secs_f64())
    };
    for _ in 0..READS_MIN / 3 {
        once()?;
    }
    let begun = Instant::now();
    let mut times = Vec::new();
    while times.len() < READS_MIN || begun.elapsed() < READ_FOR {
        times.push(once()?);
    }
    if into.iter().enumerate().any(|(at, &place)| place != byte(at)) {
        return Err(Failure::Failed(format!("a read of {bytes} bytes gave other bytes")));
    }
    Ok(Repeat::new(times).map_or(f64::NAN, |times| times.median()))
}
