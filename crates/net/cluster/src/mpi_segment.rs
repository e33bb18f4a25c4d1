//! Segments that other ranks read, through windows of MPI.
//!
//! A *static* window is made over one whole segment, by all ranks together (`MPI_Win_create`), so a
//! transfer names a place in it. A *dynamic* window is made once (`MPI_Win_create_dynamic`), and
//! each rank attaches parts of its segment when they are leased (`MPI_Win_attach`), so a transfer
//! names an address.
//!
//! Others only read. Writing would change memory that the segment's owner may have borrowed:
//! whoever wants that takes a [`Region`](crate::Region).
//!
//! MPI was started for calls of several threads in turn. Segments are registered by the threads
//! that fault them in, and the fabric of a node is moved by another. So each call of either takes
//! the same lock, from the moment there is such a window.

#![allow(unsafe_code)]

use crate::fabric::{MemoryError, NodeId, RegionId};
use crate::locks::lock;
use crate::mpi_window::{Calls, checked};
use actinium_memory::Segment;
use actinium_memory::fabric::{Fabric, FabricLimits, Key, Lease, Region};
use mpi::environment::Universe;
use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use std::collections::BTreeSet;
use std::ffi::c_int;
use std::fmt;
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex};

/// MPI counts in a C int: more is several requests.
const REQUEST_BYTES_MAX: usize = 1 << 30;
/// Ranges that are attached to a dynamic window at a time: by default, Open MPI 4.1 allows 32
/// (`osc_rdma_max_attach`).
const ATTACHED_MAX: usize = 16;

/// How segments become known to MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MpiWindowKind {
    /// One window over one segment, which each rank builds at the same point of the program with
    /// [`Register::Static`](actinium_memory::fabric::Register::Static), eagerly.
    Static,
    /// One window without memory, to which parts of segments are attached when they are leased:
    /// [`Register::Dynamic`](actinium_memory::fabric::Register::Dynamic).
    Dynamic,
}

impl fmt::Display for MpiWindowKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MpiWindowKind::Static => "static",
            MpiWindowKind::Dynamic => "dynamic",
        })
    }
}

/// A window that is open to all ranks.
struct Window {
    handle: ffi::MPI_Win,
    /// For a static one: the bytes that each rank has in it.
    bytes: Vec<u64>,
}

/// Windows for [`SegmentBuilder::register`](actinium_memory::SegmentBuilder::register): made by
/// [`Mpi::segments`](crate::fabric::mpi::Mpi::segments). Other ranks read what is registered
/// ([`MpiSegments::read`]) without this rank's doing.
pub struct MpiSegments {
    kind: MpiWindowKind,
    node: NodeId,
    ranks: u32,
    /// A copy for these windows, whose errors are returned.
    communicator: ffi::MPI_Comm,
    /// None: a static one over a segment that is not built yet, or gone. Locked before `calls`.
    window: Mutex<Option<Window>>,
    calls: Calls,
    // Dropped last: MPI lives as long as something uses it.
    _universe: Arc<Universe>,
}

// SAFETY: handles of MPI's mean the same to all threads of a process, which MPI was started for.
// All calls are behind `calls`.
unsafe impl Send for MpiSegments {}
// SAFETY: as above.
unsafe impl Sync for MpiSegments {}

impl fmt::Debug for MpiSegments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MpiSegments({} of {})", self.kind, self.node)
    }
}

/// Waits until all ranks are here, without keeping others from calling MPI: what brings another
/// rank here may be a frame that this one has yet to send.
fn meet(communicator: ffi::MPI_Comm, calls: &Calls) -> Result<(), MemoryError> {
    let mut request = MaybeUninit::uninit();
    {
        let _in_turn = lock(calls);
        // SAFETY: MPI is started, and this thread's turn has come.
        let code = unsafe { ffi::MPI_Ibarrier(communicator, request.as_mut_ptr()) };
        checked("MPI_Ibarrier", code)?;
    }
    // SAFETY: the call has set it.
    let mut request = unsafe { request.assume_init() };
    loop {
        let mut flag = 0;
        {
            let _in_turn = lock(calls);
            // SAFETY: the request is this function's, and has not ended.
            let code =
                unsafe { ffi::MPI_Test(&raw mut request, &raw mut flag, ffi::RSMPI_STATUS_IGNORE) };
            checked("MPI_Test", code)?;
        }
        if flag != 0 {
            return Ok(());
        }
        std::thread::yield_now();
    }
}

impl MpiSegments {
    /// All ranks do this at the same point.
    pub(crate) fn open(
        world: &SimpleCommunicator,
        universe: Arc<Universe>,
        calls: Calls,
        kind: MpiWindowKind,
        node: NodeId,
        ranks: u32,
    ) -> Result<Self, MemoryError> {
        let in_turn = lock(&calls);
        // SAFETY: MPI is started, and this thread's turn has come. The copy is set if the call
        // succeeded.
        let communicator = unsafe {
            let mut communicator = world.as_raw();
            let code = ffi::MPI_Comm_dup(world.as_raw(), &raw mut communicator);
            checked("MPI_Comm_dup", code)?;
            ffi::MPI_Comm_set_errhandler(communicator, ffi::RSMPI_ERRORS_RETURN);
            communicator
        };
        let mut window = None;
        if kind == MpiWindowKind::Dynamic {
            let mut handle = MaybeUninit::uninit();
            // SAFETY: as above; all ranks call this.
            let code = unsafe {
                ffi::MPI_Win_create_dynamic(ffi::RSMPI_INFO_NULL, communicator, handle.as_mut_ptr())
            };
            checked("MPI_Win_create_dynamic", code)?;
            // SAFETY: the call has set it.
            window = Some(Window::unlocked(unsafe { handle.assume_init() }, Vec::new())?);
        }
        drop(in_turn);
        let window = Mutex::new(window);
        Ok(MpiSegments { kind, node, ranks, communicator, window, calls, _universe: universe })
    }

    /// How segments become known to MPI.
    #[must_use]
    pub fn kind(&self) -> MpiWindowKind {
        self.kind
    }

    /// The names of the leased parts of a segment, in order, for [`MpiSegments::read`] on other
    /// ranks. They are data. They hold while the lease is held, or, of a static window, while the
    /// segment is there.
    #[must_use]
    pub fn regions(&self, segment: &Segment, lease: &Lease<'_>) -> Vec<RegionId> {
        let start = match self.kind {
            MpiWindowKind::Static => 0,
            MpiWindowKind::Dynamic => segment.start().as_ptr() as u64,
        };
        let region = |range: &std::ops::Range<usize>| RegionId {
            node: self.node,
            index: start + range.start as u64,
            bytes: range.len() as u64,
        };
        lease.parts().iter().map(|part| region(&part.range)).collect()
    }

    /// Reads bytes of another rank's segment, whose parts these are, one behind the other. Blocks
    /// the thread until the bytes are there. What the other rank writes meanwhile may be seen in
    /// part.
    ///
    /// Some MPIs emulate windows by messages (Open MPI's `osc` component `pt2pt`): there the other
    /// rank has to call MPI meanwhile, as its node does.
    ///
    /// # Errors
    /// If the range does not lie in the parts, these are no parts of a segment that is registered,
    /// or MPI refuses. What was read then is unspecified.
    pub fn read(
        &self,
        parts: &[RegionId],
        offset: usize,
        into: &mut [u8],
    ) -> Result<(), MemoryError> {
        let window = lock(&self.window);
        let window = window.as_ref().ok_or_else(|| {
            MemoryError::Engine("no segment is registered with this window".to_owned())
        })?;
        let pieces = self.pieces(window, parts, offset, into.len())?;
        let _in_turn = lock(&self.calls);
        let (mut rest, mut outcome, mut ranks) = (into, Ok(()), BTreeSet::new());
        for (rank, there, bytes) in pieces {
            let (piece, behind) = rest.split_at_mut(bytes);
            rest = behind;
            ranks.insert(rank);
            outcome = window.get(rank, there, piece);
            if outcome.is_err() {
                break;
            }
        }
        // Also of what was begun before one failed: MPI writes to these bytes until then.
        for rank in ranks {
            outcome = outcome.and(window.flush(rank));
        }
        outcome
    }

    /// The rank, place and length of each piece of a range.
    fn pieces(
        &self,
        window: &Window,
        parts: &[RegionId],
        offset: usize,
        bytes: usize,
    ) -> Result<Vec<(u32, u64, usize)>, MemoryError> {
        let (mut skip, mut missing, mut pieces) = (offset as u64, bytes as u64, Vec::new());
        for &part in parts {
            if part.node.0 >= self.ranks {
                return Err(MemoryError::NoSuchRegion(part));
            }
            let end = part.index.checked_add(part.bytes);
            let of_window = window.bytes.get(part.node.0 as usize);
            if end.is_none() || of_window.is_some_and(|bytes| end > Some(*bytes)) {
                return Err(MemoryError::NoSuchRegion(part));
            }
            let skipped = skip.min(part.bytes);
            skip -= skipped;
            let mut at = part.index + skipped;
            let mut here = missing.min(part.bytes - skipped);
            missing -= here;
            while here > 0 {
                let piece = here.min(REQUEST_BYTES_MAX as u64);
                pieces.push((part.node.0, at, piece as usize));
                (at, here) = (at + piece, here - piece);
            }
        }
        match (missing, parts.last()) {
            (0, _) => Ok(pieces),
            (_, Some(&region)) => Err(MemoryError::OutOfRange { region, offset, bytes }),
            (_, None) => Err(MemoryError::Engine("bytes of no part".to_owned())),
        }
    }

    /// All ranks do this together.
    fn close(&self, window: Window) {
        // If MPI refuses even this, the next call waits for all ranks by itself.
        let _ = meet(self.communicator, &self.calls);
        let _in_turn = lock(&self.calls);
        window.free();
    }

    fn create(&self, region: Region<'_>) -> Result<Window, MemoryError> {
        let bytes = region.len() as u64;
        let mut all = vec![0_u64; self.ranks as usize];
        let mut handle = MaybeUninit::uninit();
        // SAFETY: the region is mapped until it is no longer registered, and this thread's turn has
        // come. All ranks call both, and `all` has a place for each.
        unsafe {
            let code = ffi::MPI_Win_create(
                region.start().as_ptr().cast(),
                region.len() as ffi::MPI_Aint,
                1,
                ffi::RSMPI_INFO_NULL,
                self.communicator,
                handle.as_mut_ptr(),
            );
            checked("MPI_Win_create", code)?;
            let code = ffi::MPI_Allgather(
                (&raw const bytes).cast(),
                1,
                ffi::RSMPI_UINT64_T,
                all.as_mut_ptr().cast(),
                1,
                ffi::RSMPI_UINT64_T,
                self.communicator,
            );
            checked("MPI_Allgather", code)?;
            Window::unlocked(handle.assume_init(), all)
        }
    }
}

impl Window {
    /// Opens a window to all ranks. The caller has the turn to call MPI.
    fn unlocked(handle: ffi::MPI_Win, bytes: Vec<u64>) -> Result<Self, MemoryError> {
        // SAFETY: the window is one of ours that is not open yet.
        let code = unsafe {
            ffi::MPI_Win_set_errhandler(handle, ffi::RSMPI_ERRORS_RETURN);
            ffi::MPI_Win_lock_all(0, handle)
        };
        checked("MPI_Win_lock_all", code)?;
        Ok(Window { handle, bytes })
    }

    /// Begins to read. The caller has the turn to call MPI, and calls [`Window::flush`].
    fn get(&self, rank: u32, there: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        let (count, place) = (into.len() as c_int, into.as_mut_ptr().cast());
        let (rank, there) = (rank as c_int, there as ffi::MPI_Aint);
        // SAFETY: MPI writes to `into` until the flush, which the one caller does while it still
        // borrows those bytes. The window is open. What lies there is the other rank's care.
        let code = unsafe {
            let byte = ffi::RSMPI_UINT8_T;
            ffi::MPI_Get(place, count, byte, rank, there, count, byte, self.handle)
        };
        checked("MPI_Get", code)
    }

    /// Waits until what was begun has ended.
    fn flush(&self, rank: u32) -> Result<(), MemoryError> {
        // SAFETY: the window is open.
        checked("MPI_Win_flush", unsafe { ffi::MPI_Win_flush(rank as c_int, self.handle) })
    }

    /// Closes it: all ranks do this together. The caller has the turn to call MPI.
    fn free(mut self) {
        // SAFETY: it is open, and nothing is under way: reads hold the lock that it was taken from
        // behind until they have ended.
        unsafe {
            ffi::MPI_Win_unlock_all(self.handle);
            ffi::MPI_Win_free(&raw mut self.handle);
        }
    }
}

impl Fabric for MpiSegments {
    fn name(&self) -> &'static str {
        "mpi"
    }

    /// A static window is made over a segment as a whole, by one call of each rank.
    fn limits(&self) -> FabricLimits {
        match self.kind {
            MpiWindowKind::Static => FabricLimits::new(1, usize::MAX),
            MpiWindowKind::Dynamic => FabricLimits::new(ATTACHED_MAX, usize::MAX),
        }
    }

    fn register(&self, region: Region<'_>) -> Result<Key, String> {
        let mut window = lock(&self.window);
        if self.kind == MpiWindowKind::Static && window.is_none() {
            meet(self.communicator, &self.calls).map_err(|error| error.to_string())?;
        }
        let _in_turn = lock(&self.calls);
        let start = region.start().as_ptr();
        match (self.kind, &*window) {
            (MpiWindowKind::Static, None) => {
                *window = Some(self.create(region).map_err(|error| error.to_string())?);
                Ok(Key(0))
            }
            (MpiWindowKind::Static, Some(_)) => Err(
                "a static window has one segment, which Register::Static registers as a whole: \
                 make another window for another segment"
                    .to_owned(),
            ),
            (MpiWindowKind::Dynamic, Some(window)) => {
                let bytes = region.len() as ffi::MPI_Aint;
                // SAFETY: the region is mapped until it is detached.
                let code = unsafe { ffi::MPI_Win_attach(window.handle, start.cast(), bytes) };
                checked("MPI_Win_attach", code).map_err(|error| error.to_string())?;
                Ok(Key(start as u64))
            }
            (MpiWindowKind::Dynamic, None) => unreachable!("it is opened when this is made"),
        }
    }

    fn deregister(&self, key: Key) {
        let mut window = lock(&self.window);
        match self.kind {
            MpiWindowKind::Static => {
                if let Some(window) = window.take() {
                    self.close(window);
                }
            }
            MpiWindowKind::Dynamic => {
                let _in_turn = lock(&self.calls);
                if let Some(window) = &*window {
                    let start = key.0 as usize as *const std::ffi::c_void;
                    // SAFETY: it was attached. What is to be said of a failure: MPI still knows
                    // memory that others were told not to use any more.
                    unsafe { ffi::MPI_Win_detach(window.handle, start) };
                }
            }
        }
    }
}

impl Drop for MpiSegments {
    /// All ranks do this together.
    fn drop(&mut self) {
        let window = lock(&self.window).take();
        if let Some(window) = window {
            self.close(window);
        }
        let _in_turn = lock(&self.calls);
        // SAFETY: the copy is this one's own, and its windows are closed.
        unsafe { ffi::MPI_Comm_free(&raw mut self.communicator) };
    }
}
