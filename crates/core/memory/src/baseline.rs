//! A baseline of the machine: the plainest loops that fault memory in, to compare a segment with.

use std::fmt;
use std::thread;

use serde::{Serialize, Serializer};

use crate::clock::Stopwatch;
use crate::pages::{Kind, SystemPages};
use crate::sys::{Advice, Mapping};
use crate::{MemoryError, PageSize};

/// A plain way to fault memory in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// `mmap` with `MAP_POPULATE`: one thread.
    MapPopulate,
    /// `madvise` with `MADV_POPULATE_WRITE`: each thread its part, in one call.
    Populate,
    /// `memset`: each thread its part.
    Memset,
}

impl Baseline {
    /// All baselines.
    pub const ALL: [Baseline; 3] = [Baseline::MapPopulate, Baseline::Populate, Baseline::Memset];

    /// How many seconds it takes to reserve so many bytes and fault them in.
    ///
    /// # Errors
    /// If the memory cannot be had. Limits are not checked: whoever calls this has had a segment of
    /// that size.
    pub fn seconds(self, bytes: u64, pages: PageSize, threads: usize) -> Result<f64, MemoryError> {
        let failed = |errno| MemoryError::System { doing: "measure the limit", errno, advice: "" };
        let system = SystemPages::look(Kind::Private, pages);
        let (pool, step) = match pages {
            PageSize::Huge(bytes) => (Some(bytes), bytes),
            _ => (None, system.transparent.map_or(system.base_bytes, |huge| huge.bytes)),
        };
        let len = usize::try_from(bytes).ok().and_then(|len| len.checked_next_multiple_of(step));
        let len = len.ok_or_else(|| failed(libc::ENOMEM))?;
        let clock = Stopwatch::start();
        let mut mapping = match self {
            Baseline::MapPopulate => Mapping::populated(len, step, pool),
            _ => Mapping::anonymous(len, step, pool),
        }
        .map_err(failed)?;
        // A kernel without transparent huge pages takes neither piece of advice, and needs neither.
        let _ = match pages {
            PageSize::Base => mapping.advise(Advice::NoHugePages),
            PageSize::TransparentHuge => mapping.advise(Advice::HugePages),
            PageSize::Huge(_) => Ok(()),
        };
        match self {
            Baseline::MapPopulate => (),
            Baseline::Populate => in_parts(&mapping, threads, step).map_err(failed)?,
            Baseline::Memset => mapping.fill(threads.max(1)),
        }
        Ok(clock.seconds())
    }
}

fn in_parts(mapping: &Mapping, threads: usize, step: usize) -> Result<(), i32> {
    let share = mapping.len().div_ceil(threads.max(1)).next_multiple_of(step);
    thread::scope(|scope| {
        let parts = (0..mapping.len()).step_by(share);
        let threads: Vec<_> = parts
            .map(|from| {
                let range = from..mapping.len().min(from + share);
                scope.spawn(move || mapping.populate(range))
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Err(libc::EIO)))
    })
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Baseline::MapPopulate => "map-populate",
            Baseline::Populate => "populate",
            Baseline::Memset => "memset",
        })
    }
}

impl Serialize for Baseline {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn each_takes_some_time() {
        for baseline in Baseline::ALL {
            for pages in [PageSize::Base, PageSize::TransparentHuge] {
                let seconds = baseline.seconds(3 << 20, pages, 2).unwrap_or_else(|error| {
                    // A kernel before 5.14.
                    assert_eq!(baseline, Baseline::Populate, "{error}");
                    1.0
                });
                assert!(seconds > 0.0);
            }
        }
    }
}
