//! Memory made known to what moves it: a network's adapter, the kernel's asynchronous I/O.
//!
//! A [`Fabric`] registers ranges: pages are pinned and get a key. Registering untouched pages would
//! fault them in by one thread, so a segment does it chunk by chunk behind its own fault-in
//! ([`Register::Static`]), or when a range is first used ([`Register::Dynamic`]: nothing to pay at
//! start, a bound on what is pinned, and a price on the way). Either way [`crate::Segment::lease`]
//! gives the keys of a range, and keeps them valid for as long as the lease is held.

mod table;
#[cfg(feature = "io-uring")]
mod uring;
#[cfg(feature = "verbs")]
mod verbs;

use std::fmt;
use std::fs;
use std::marker::PhantomData;
use std::ptr::NonNull;

pub use table::{Lease, LeasedPart, RegistrationFigures};
#[cfg(feature = "io-uring")]
pub use uring::UringBuffers;
#[cfg(feature = "verbs")]
pub use verbs::Verbs;

pub(crate) use table::Table;

/// How a fabric knows a range: an index of a buffer, the keys of a memory region. The fabric that
/// made it can read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub u64);

/// A part of a segment. It is mapped at least until it is no longer registered.
#[derive(Clone, Copy, Debug)]
pub struct Region<'a> {
    start: NonNull<u8>,
    len: usize,
    segment: PhantomData<&'a [u8]>,
}

impl<'a> Region<'a> {
    fn new(mapping: &'a crate::sys::Mapping, range: std::ops::Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= mapping.len());
        // SAFETY: asserted to lie within the mapping.
        let start = unsafe { mapping.start().add(range.start) };
        Region { start, len: range.len(), segment: PhantomData }
    }

    /// Where it begins.
    #[must_use]
    pub fn start(self) -> NonNull<u8> {
        self.start
    }

    /// How many bytes it has.
    #[must_use]
    pub fn len(self) -> usize {
        self.len
    }

    /// Never: nobody registers nothing.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// The limits of a fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FabricLimits {
    /// The most ranges that can be registered at a time.
    pub ranges_max: usize,
    /// The most bytes of one range.
    pub range_bytes_max: usize,
    /// The most bytes of all ranges together, and the name of what sets this limit.
    pub bytes_max: Option<(u64, String)>,
}

impl FabricLimits {
    /// These, with no limit in all.
    #[must_use]
    pub fn new(ranges_max: usize, range_bytes_max: usize) -> Self {
        FabricLimits { ranges_max, range_bytes_max, bytes_max: None }
    }

    /// Adds the process's limit of locked memory, if it has one.
    #[must_use]
    pub fn within_lock_limit(mut self) -> Self {
        if !may_lock_any() {
            let limit = crate::sys::lock_limit_bytes();
            self.bytes_max = limit.map(|bytes| (bytes, "RLIMIT_MEMLOCK, ulimit -l".to_owned()));
        }
        self
    }
}

/// An adapter or kernel interface that registers memory. Threads call it at the same time.
pub trait Fabric: fmt::Debug + Send + Sync {
    /// The fabric's name, for people.
    fn name(&self) -> &'static str;

    /// The fabric's limits.
    fn limits(&self) -> FabricLimits;

    /// Pins a range and gives its key.
    ///
    /// # Errors
    /// Why not, for people.
    fn register(&self, region: Region<'_>) -> Result<Key, String>;

    /// Forgets a range. Whoever calls this has seen to it that nobody uses the key any more.
    fn deregister(&self, key: Key);
}

/// The time at which a segment is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// All of it once, chunk by chunk behind the fault-in, until the segment goes.
    Static,
    /// Each chunk when it is first leased. It stays until the bound is reached and it is the one
    /// that was not used for longest.
    Dynamic {
        /// The most bytes that are registered at a time.
        bytes_max: u64,
    },
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Register::Static => "static",
            Register::Dynamic { .. } => "dynamic",
        })
    }
}

/// Whether the calling thread has `CAP_IPC_LOCK`, and so no limit of locked memory.
fn may_lock_any() -> bool {
    const CAP_IPC_LOCK: u32 = 14;
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = capabilities.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    bits.is_some_and(|bits| bits >> CAP_IPC_LOCK & 1 == 1)
}

/// Bytes that the whole process has pinned, as the kernel says (`VmPin`); None if it does not.
#[must_use]
pub fn pinned_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmPin:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
