//! Messages that MPI is receiving or sending while this thread does something else.
//!
//! The safe interface ties a buffer to a scope on the stack, and gives it back for reading only:
//! neither lets a transfer outlive the call that began it. And its handles are raw pointers, which
//! do not go from one thread to another by themselves. So this file, and no other of the crate,
//! holds `unsafe`.

#![allow(unsafe_code)]

use mpi::datatype::traits::Equivalence;
use mpi::point_to_point::Status;
use mpi::request::{Request, StaticScope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use std::mem::ManuallyDrop;
use std::ops::Deref;

/// A communicator of all ranks, for whichever thread has the fabric. MPI frees it at its end: to
/// free it would be a call to MPI out of turn.
pub(crate) struct World(ManuallyDrop<SimpleCommunicator>);

impl World {
    pub(crate) fn new(communicator: SimpleCommunicator) -> Self {
        World(ManuallyDrop::new(communicator))
    }
}

// SAFETY: a handle of MPI's means the same to all threads of a process, and MPI was started for
// calls of several threads in turn (`Serialized`, which `Mpi::start` insists on). That they do take
// turns follows from who owns the handle: it is not `Sync`.
unsafe impl Send for World {}

impl Deref for World {
    type Target = SimpleCommunicator;

    fn deref(&self) -> &SimpleCommunicator {
        &self.0
    }
}

/// A message that is received or sent.
pub(crate) struct Transfer {
    /// None: it is complete.
    request: Option<ManuallyDrop<Request<'static, [u8], StaticScope>>>,
    /// The message's bytes. While there is a request, MPI writes here if it receives and reads if
    /// it sends, and nobody else touches them.
    bytes: ManuallyDrop<Vec<u8>>,
}

// SAFETY: as for `World`; the bytes are the transfer's own. MPI uses them within whatever call
// moves the transfer on, and such calls take turns with those of whoever has it.
unsafe impl Send for Transfer {}

impl Transfer {
    /// Begins to receive the next message of a rank, or of any: all of `bytes` is room for it.
    pub(crate) fn receive(world: &World, from: Option<usize>, bytes: Vec<u8>) -> Self {
        let mut bytes = ManuallyDrop::new(bytes);
        let (place, len) = (bytes.as_mut_ptr(), bytes.len());
        // SAFETY: the vector is owned by the `Transfer`, neither read, written, grown nor freed
        // before the request is complete (its heap memory does not move with it), and leaked if
        // that never happens: so MPI may write there for as long as it wants to.
        let place: &'static mut [u8] = unsafe { std::slice::from_raw_parts_mut(place, len) };
        let request = match from {
            Some(from) => {
                world.process_at_rank(from as i32).immediate_receive_into(StaticScope, place)
            }
            None => world.any_process().immediate_receive_into(StaticScope, place),
        };
        Transfer { request: Some(ManuallyDrop::new(request)), bytes }
    }

    /// Begins to send a message to a rank. Does not wait.
    pub(crate) fn send(world: &World, to: usize, tag: i32, bytes: Vec<u8>) -> Self {
        let bytes = ManuallyDrop::new(bytes);
        // SAFETY: as for `receive`; MPI only reads.
        let place: &'static [u8] =
            unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) };
        let to = world.process_at_rank(to as i32);
        let request = to.immediate_send_with_tag(StaticScope, place, tag);
        Transfer { request: Some(ManuallyDrop::new(request)), bytes }
    }

    /// One that has been received, or sent.
    pub(crate) fn complete(bytes: Vec<u8>) -> Self {
        Transfer { request: None, bytes: ManuallyDrop::new(bytes) }
    }

    /// Whether it is complete: has arrived, or needs its bytes no more. Does not wait.
    pub(crate) fn is_complete(&mut self) -> bool {
        self.request.is_none() || self.test().is_some()
    }

    /// What MPI says of it, once: when it is found to be complete. Does not wait.
    pub(crate) fn test(&mut self) -> Option<Status> {
        match ManuallyDrop::into_inner(self.request.take()?).test() {
            Ok(status) => Some(status),
            Err(request) => {
                self.request = Some(ManuallyDrop::new(request));
                None
            }
        }
    }

    /// Takes a receive back that nothing has come for. What comes meanwhile is lost.
    pub(crate) fn cancel(mut self) {
        if let Some(request) = self.request.take().map(ManuallyDrop::into_inner) {
            request.cancel();
            // A receive that is cancelled, or has received something, is complete.
            request.wait_without_status();
        }
        drop(self.into_bytes());
    }

    /// The bytes; none (and the memory stays MPI's) if it is not complete.
    pub(crate) fn into_bytes(self) -> Option<Vec<u8>> {
        // Dropping the rest does nothing: both fields are dropped by hand only.
        self.request.is_none().then(|| ManuallyDrop::into_inner(self.bytes))
    }
}

/// The bytes that a message has, which may be fewer than there was room for.
pub(crate) fn bytes_of(status: &Status) -> usize {
    usize::try_from(status.count(u8::equivalent_datatype())).unwrap_or_default()
}
