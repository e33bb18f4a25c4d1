//! Memory that ranks read and write without its owner's doing: one dynamic window over all ranks.
//!
//! The window is open to all for as long as it is there (`MPI_Win_lock_all`): whoever reads asks
//! nobody. What lies in it is attached: whole heaps of payloads, and regions of its own. A region's
//! id is its address at its owner's, which is what a dynamic window wants to know.
//!
//! The safe interface has no windows. So this file holds `unsafe`, and the rest of the fabric does
//! not.

#![allow(unsafe_code)]

use crate::fabric::{
    Ended, MemoryError, Moved, NodeId, RegionId, RemoteMemory, TransferId, room, zeros,
};
use crate::locks::lock;
use crate::mpi_bell::Bells;
use actinium_memory::heap::{Heap, Payload, Unwritten};
use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard};

/// Makes the calls to MPI of several threads come one after the other.
pub(crate) type Calls = Arc<Mutex<()>>;

/// Waits for this thread's turn to call MPI, if others call it at the same time.
pub(crate) fn turn(calls: Option<&Calls>) -> Option<MutexGuard<'_, ()>> {
    calls.map(|calls| lock(calls))
}

/// MPI counts in a C int: more is several requests.
const REQUEST_BYTES_MAX: usize = 1 << 30;

/// A region of [`RemoteMemory::register`]. This process touches it only before it is attached; it
/// is never freed, because others may still write to it whatever is said to them, but used again
/// for regions of its size.
struct Own {
    start: NonNull<u8>,
    bytes: usize,
}

/// The local memory of a transfer, which is kept until the transfer has ended.
enum Local {
    Get(Unwritten),
    Put(Payload),
    /// Room for so many bytes, which the vector does not count before they are there.
    GetBytes(Vec<u8>, usize),
    PutBytes(Vec<u8>),
}

impl Local {
    fn is_get(&self) -> bool {
        matches!(self, Local::Get(_) | Local::GetBytes(..))
    }
}

struct Transfer {
    id: TransferId,
    node: NodeId,
    /// The requests that have not ended.
    requests: Vec<ffi::MPI_Request>,
    local: Local,
    failed: Option<MemoryError>,
}

/// See the module.
pub(crate) struct Windows {
    window: ffi::MPI_Win,
    node: NodeId,
    ranks: u32,
    heaps: Vec<&'static Heap>,
    /// This node's parts, by address.
    own: BTreeMap<u64, Own>,
    retired: Vec<Own>,
    /// Shared payloads by address; a payload may be shared several times.
    shared: BTreeMap<u64, Vec<Payload>>,
    transfers: VecDeque<Transfer>,
    last: u64,
    /// Since segments have windows of their own: see `mpi_segment`.
    calls: Option<Calls>,
    /// To wake whoever is reached: see `mpi_bell`.
    bells: Option<Bells>,
}

// SAFETY: handles of MPI's mean the same to all threads of a process, which MPI was started for
// (see `mpi_transfer`). The regions are this window's own. It is not `Sync`: who owns it calls.
unsafe impl Send for Windows {}

fn engine(call: &str, code: c_int) -> MemoryError {
    let mut text = [0; ffi::MPI_MAX_ERROR_STRING as usize];
    let mut len = 0;
    // SAFETY: the text has as much room as MPI asks for.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr(), &raw mut len) };
    let words = text.iter().take(len as usize).map(|&byte| char::from(byte as u8));
    MemoryError::Engine(format!("{call}: {}", words.collect::<String>()))
}

pub(crate) fn checked(call: &str, code: c_int) -> Result<(), MemoryError> {
    if code == ffi::MPI_SUCCESS as c_int { Ok(()) } else { Err(engine(call, code)) }
}

impl Windows {
    /// Opens a window over all ranks, which all call this at the same point. None: this MPI has
    /// none here, or not everywhere.
    pub(crate) fn open(world: &SimpleCommunicator, node: NodeId, ranks: u32) -> Option<Self> {
        let mut window = MaybeUninit::uninit();
        // SAFETY: MPI is started, and only this thread calls it now. The communicator is a copy,
        // whose errors are returned rather than ending the job; the window is set if that
        // succeeded.
        unsafe {
            let mut own = world.as_raw();
            if ffi::MPI_Comm_dup(world.as_raw(), &raw mut own) != ffi::MPI_SUCCESS as c_int {
                return None;
            }
            ffi::MPI_Comm_set_errhandler(own, ffi::RSMPI_ERRORS_RETURN);
            let created =
                ffi::MPI_Win_create_dynamic(ffi::RSMPI_INFO_NULL, own, window.as_mut_ptr());
            let here = c_int::from(created == ffi::MPI_SUCCESS as c_int);
            let mut everywhere: c_int = 0;
            ffi::MPI_Allreduce(
                (&raw const here).cast(),
                (&raw mut everywhere).cast(),
                1,
                ffi::RSMPI_INT32_T,
                ffi::RSMPI_MIN,
                own,
            );
            if everywhere == 0 {
                return None;
            }
            let window = window.assume_init();
            ffi::MPI_Win_set_errhandler(window, ffi::RSMPI_ERRORS_RETURN);
            if ffi::MPI_Win_lock_all(0, window) != ffi::MPI_SUCCESS as c_int {
                return None;
            }
            Some(Windows {
                window,
                node,
                ranks,
                heaps: Vec::new(),
                own: BTreeMap::new(),
                retired: Vec::new(),
                shared: BTreeMap::new(),
                transfers: VecDeque::new(),
                last: 0,
                calls: None,
                bells: None,
            })
        }
    }

    /// Ranks that sleep can be woken.
    pub(crate) fn set_bells(&mut self, bells: Bells) {
        self.bells = Some(bells);
    }

    /// From now on other threads call MPI, too.
    pub(crate) fn take_turns(&mut self, calls: Calls) {
        self.calls = Some(calls);
    }

    fn attach(&self, start: NonNull<u8>, bytes: usize) -> Result<(), MemoryError> {
        let _in_turn = turn(self.calls.as_ref());
        // SAFETY: the memory stays: it is a heap's, or never freed.
        let code = unsafe {
            ffi::MPI_Win_attach(self.window, start.as_ptr().cast(), bytes as ffi::MPI_Aint)
        };
        checked("MPI_Win_attach", code)
    }

    fn detach(&self, start: NonNull<u8>) {
        let _in_turn = turn(self.calls.as_ref());
        // SAFETY: it was attached. What is to be said of a failure: it stays attached, to memory
        // that stays, too.
        unsafe { ffi::MPI_Win_detach(self.window, start.as_ptr().cast()) };
    }

    /// Begins what moves all bytes from or to `local`.
    fn begin(
        &mut self,
        region: RegionId,
        offset: usize,
        mut local: Local,
    ) -> Result<TransferId, (MemoryError, Local)> {
        let (start, bytes): (*mut c_void, usize) = match &mut local {
            Local::Get(into) => (into.missing().as_mut_ptr().cast(), into.missing().len()),
            Local::Put(from) => (from.as_ptr().cast_mut().cast(), from.len()),
            Local::GetBytes(into, bytes) => (into.as_mut_ptr().cast(), *bytes),
            Local::PutBytes(from) => (from.as_mut_ptr().cast(), from.len()),
        };
        if region.node.0 >= self.ranks {
            return Err((MemoryError::NoSuchRegion(region), local));
        }
        if let Err(error) = region.check(offset, bytes) {
            return Err((error, local));
        }
        let calls = self.calls.clone();
        let _in_turn = turn(calls.as_ref());
        let (mut requests, mut failed) = (Vec::new(), None);
        for at in (0..bytes).step_by(REQUEST_BYTES_MAX) {
            let count = (bytes - at).min(REQUEST_BYTES_MAX) as c_int;
            let there = (region.index as usize).wrapping_add(offset + at) as ffi::MPI_Aint;
            let rank = region.node.0 as c_int;
            let mut request = MaybeUninit::uninit();
            // SAFETY: set by MPI before anything of it is used.
            let byte = unsafe { ffi::RSMPI_UINT8_T };
            // SAFETY: the transfer owns the memory here and is kept until the request has ended:
            // the payload's bytes do not change, those of a vector and of what is unwritten are
            // nobody else's, and none of them moves. What lies there is the other rank's care.
            let code = unsafe {
                let (start, request) = (start.cast::<u8>().add(at).cast(), request.as_mut_ptr());
                let window = self.window;
                match local.is_get() {
                    true => {
                        ffi::MPI_Rget(start, count, byte, rank, there, count, byte, window, request)
                    }
                    false => {
                        ffi::MPI_Rput(start, count, byte, rank, there, count, byte, window, request)
                    }
                }
            };
            match checked("MPI_Rget or MPI_Rput", code) {
                // SAFETY: MPI has set it.
                Ok(()) => requests.push(unsafe { request.assume_init() }),
                Err(error) if requests.is_empty() => return Err((error, local)),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        // Where windows are messages, it has to call MPI for what was begun.
        if let Some(bells) = &self.bells {
            bells.ring(region.node.0 as usize);
        }
        self.last += 1;
        let id = TransferId(self.last);
        self.transfers.push_back(Transfer { id, node: region.node, requests, local, failed });
        Ok(id)
    }

    /// Whether a transfer has ended. Does not wait.
    fn has_ended(transfer: &mut Transfer) -> bool {
        while let Some(request) = transfer.requests.last_mut() {
            let mut flag = 0;
            // SAFETY: the request is one of ours that has not ended.
            let code = unsafe { ffi::MPI_Test(request, &raw mut flag, ffi::RSMPI_STATUS_IGNORE) };
            if let Err(error) = checked("a transfer", code) {
                transfer.failed = Some(error);
            } else if flag == 0 {
                return false;
            }
            transfer.requests.pop();
        }
        true
    }

    fn ended(&self, transfer: Transfer) -> Ended {
        let outcome = match (transfer.failed, transfer.local) {
            (Some(error), _) => Err(error),
            (None, Local::Get(mut into)) => {
                // SAFETY: the requests for all that was missing have ended well.
                unsafe { into.assume_written() };
                let payload = into.finish().map(Moved::Payload);
                payload.map_err(|_| MemoryError::Engine("bytes are missing".to_owned()))
            }
            (None, Local::GetBytes(mut into, bytes)) => {
                // SAFETY: there is room for so many, and the requests for all have ended well.
                unsafe { into.set_len(bytes) };
                Ok(Moved::Bytes(into))
            }
            (None, Local::Put(from)) => self.flush(transfer.node).map(|()| Moved::Payload(from)),
            (None, Local::PutBytes(from)) => self.flush(transfer.node).map(|()| Moved::Bytes(from)),
        };
        (transfer.id, outcome)
    }

    /// Waits until what was written is there: a request's end says only that its bytes were read
    /// here. Where windows are more than messages, that is no wait. The caller has the turn to call
    /// MPI.
    fn flush(&self, node: NodeId) -> Result<(), MemoryError> {
        // SAFETY: the window is open to all.
        checked("MPI_Win_flush", unsafe { ffi::MPI_Win_flush(node.0 as c_int, self.window) })
    }
}

impl RemoteMemory for Windows {
    fn register(&mut self, bytes: usize) -> Result<RegionId, MemoryError> {
        let place = self.retired.iter().position(|own| own.bytes == bytes);
        let own = match place {
            Some(place) => self.retired.swap_remove(place),
            None => {
                let memory = Box::leak(zeros(bytes.max(1))?.into_boxed_slice());
                Own { start: NonNull::from(memory).cast(), bytes }
            }
        };
        // SAFETY: so many bytes are there, and nobody of this process has a reference to them. (Of
        // what was used before, others may still write to it: they write to a region that they may
        // write to.)
        unsafe { own.start.write_bytes(0, bytes) };
        if let Err(error) = self.attach(own.start, bytes.max(1)) {
            self.retired.push(own);
            return Err(error);
        }
        let index = own.start.as_ptr() as u64;
        self.own.insert(index, own);
        Ok(RegionId { node: self.node, index, bytes: bytes as u64 })
    }

    fn share(&mut self, payload: Payload) -> Result<RegionId, MemoryError> {
        let heap = payload.heap();
        if !self.heaps.iter().any(|known| std::ptr::eq(*known, heap)) {
            let (start, bytes) = heap.memory();
            self.attach(start, bytes)?;
            self.heaps.push(heap);
        }
        let (index, bytes) = (payload.as_ptr() as u64, payload.len() as u64);
        self.shared.entry(index).or_default().push(payload);
        Ok(RegionId { node: self.node, index, bytes })
    }

    fn unregister(&mut self, region: RegionId) -> Result<(), MemoryError> {
        if region.node == self.node {
            if let Some(own) = self.own.remove(&region.index) {
                self.detach(own.start);
                self.retired.push(own);
                return Ok(());
            }
            if let Some(payloads) = self.shared.get_mut(&region.index) {
                payloads.pop();
                if payloads.is_empty() {
                    self.shared.remove(&region.index);
                }
                return Ok(());
            }
        }
        Err(MemoryError::NoSuchRegion(region))
    }

    fn get(
        &mut self,
        region: RegionId,
        offset: usize,
        into: Unwritten,
    ) -> Result<TransferId, (MemoryError, Unwritten)> {
        self.begin(region, offset, Local::Get(into)).map_err(|(error, local)| match local {
            Local::Get(into) => (error, into),
            _ => unreachable!("it was a get of a payload"),
        })
    }

    fn put(
        &mut self,
        from: Payload,
        region: RegionId,
        offset: usize,
    ) -> Result<TransferId, MemoryError> {
        self.begin(region, offset, Local::Put(from)).map_err(|(error, _)| error)
    }

    fn get_bytes(
        &mut self,
        region: RegionId,
        offset: usize,
        bytes: usize,
    ) -> Result<TransferId, MemoryError> {
        // First: there may be no room here for what is not there.
        region.check(offset, bytes)?;
        let local = Local::GetBytes(room(bytes)?, bytes);
        self.begin(region, offset, local).map_err(|(error, _)| error)
    }

    fn put_bytes(
        &mut self,
        from: Vec<u8>,
        region: RegionId,
        offset: usize,
    ) -> Result<TransferId, MemoryError> {
        self.begin(region, offset, Local::PutBytes(from)).map_err(|(error, _)| error)
    }

    fn poll_ended(&mut self) -> Option<Ended> {
        let calls = self.calls.clone();
        let _in_turn = turn(calls.as_ref());
        let place = self.transfers.iter_mut().position(Self::has_ended)?;
        let transfer = self.transfers.remove(place)?;
        Some(self.ended(transfer))
    }
}

impl Drop for Windows {
    /// All ranks do this together.
    fn drop(&mut self) {
        while !self.transfers.is_empty() {
            if self.poll_ended().is_none() {
                std::thread::yield_now();
            }
        }
        let _in_turn = turn(self.calls.as_ref());
        // SAFETY: it is open, nothing is under way from here, and freeing it waits for all others
        // to say the same. What was attached is MPI's to forget.
        unsafe {
            ffi::MPI_Win_unlock_all(self.window);
            ffi::MPI_Win_free(&raw mut self.window);
        }
    }
}
