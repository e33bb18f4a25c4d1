//! Receives that wait for short messages, posted before these come.
//!
//! A probe finds what has come only in the call after the one that takes it from the network, and
//! until then MPI keeps it in memory of its own. A receive that waits already is given the message
//! at once, and to ask whether it was takes a third of what a probe does.
//!
//! They complete in the order in which they were posted: each is given the next message, and one
//! that MPI sends eagerly is there as a whole.

use crate::mpi_transfer::{Transfer, World, bytes_of};
use mpi::point_to_point::Status;
use std::collections::VecDeque;

/// How many wait. What comes beyond that between two looks, MPI keeps until then.
const POSTED: usize = 16;

/// See the module.
pub(crate) struct PostedReceives {
    /// In the order in which they were posted.
    waiting: VecDeque<Transfer>,
    /// What the first one has received, if a look has found it.
    come: Option<Status>,
    /// Memory of receives that are to be posted again.
    free: Vec<Vec<u8>>,
}

/// A message that has come, in the memory of its receive.
pub(crate) struct Short {
    pub(crate) from: usize,
    pub(crate) tag: usize,
    place: Vec<u8>,
    len: usize,
}

impl Short {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.place[..self.len]
    }
}

impl PostedReceives {
    /// For messages of at most so many bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        let free = (0..POSTED).map(|_| vec![0; bytes_max]).collect();
        PostedReceives { waiting: VecDeque::new(), come: None, free }
    }

    /// Whether a message has come. It stays there.
    pub(crate) fn has_come(&mut self, world: &World) -> bool {
        if self.come.is_none() {
            self.come = self.waiting.front_mut().and_then(Transfer::test);
        }
        if self.come.is_none() && !self.free.is_empty() {
            // Only now: whoever was given a message had better things to do.
            let posted = self.free.drain(..).map(|bytes| Transfer::receive(world, None, bytes));
            self.waiting.extend(posted);
            self.come = self.waiting.front_mut().and_then(Transfer::test);
        }
        self.come.is_some()
    }

    /// The next message that has come. Its memory is to be given back.
    pub(crate) fn take(&mut self, world: &World) -> Option<Short> {
        if !self.has_come(world) {
            return None;
        }
        let (status, place) = (self.come.take()?, self.waiting.pop_front()?.into_bytes()?);
        let (from, tag) = (status.source_rank() as usize, status.tag() as usize);
        Some(Short { from, tag, place, len: bytes_of(&status) })
    }

    pub(crate) fn give_back(&mut self, short: Short) {
        self.free.push(short.place);
    }

    /// Takes all back: from now on nothing comes.
    pub(crate) fn end(&mut self) {
        self.waiting.drain(..).for_each(Transfer::cancel);
        self.free.clear();
    }
}
