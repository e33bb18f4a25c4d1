//! Memory placed on purpose, faulted in at the machine's limit, without making anybody wait.
//!
//! A [`Segment`] is one contiguous range. It is reserved at once; its pages are put on NUMA nodes
//! by a [`Placement`] and faulted in by threads bound across those nodes, before the program starts
//! or while it does ([`Mode`]). Limits (the cgroup's, the machine's, a node's) are checked before
//! anything is touched, so that what does not fit is an error and not a killed process. Whatever
//! could not be had as it was asked for is a [`Warning`]; what was got is in [`Segment::stats`], as
//! the kernel says.
//!
//! A [`heap`] hands out blocks of a segment: an arena for each worker, [`heap::Payload`]s that
//! travel without a copy. A [`fabric`] registers it, so that adapters and the kernel move its bytes
//! without looking for its pages.
//!
//! # One file per idea
//!
//! `segment` the range: `builder` makes it, `fault_in` fills it, `stats` asks the kernel about it;
//! `placement` and `pages` what may be asked for; `plan` works a placement out; `limits`, `nodes`,
//! `meminfo` what there is; `fabric` who registers it, and what is registered; `baseline` what the
//! machine can do, to compare; `sys` the system calls and their `unsafe`.

mod baseline;
mod clock;
mod error;
pub mod fabric;
pub mod heap;
mod limits;
mod meminfo;
mod nodes;
mod pages;
mod placement;
mod plan;
mod segment;
mod sync;
mod sys;
#[cfg(test)]
#[path = "../../topology/src/testing.rs"]
mod testing;

pub use baseline::Baseline;
pub use error::{MemoryError, Warning};
pub use nodes::{NodeSet, NodeSetError};
pub use pages::{PageSize, PageSizeError};
pub use placement::{Placement, PlacementError};
pub use segment::{
    Arena, FaultFigures, Mode, NodeFigures, Progress, Segment, SegmentBuilder, SegmentStats, Size,
    ThreadFigures,
};
