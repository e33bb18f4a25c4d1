//! Regions in windows: the part of the node's thread, which has the fabric. It begins the transfers
//! that are ordered, and hands over what has become of them.

use super::state::Inner;
use crate::fabric::{Fabric, MemoryError, Moved, RemoteMemory, TransferId};
use crate::region::window::{Done, Lease, Order};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The transfers under way: each with its lease, which it keeps until it has ended, and with whom
/// its outcome goes to.
#[derive(Default)]
pub(super) struct WindowTransfers(BTreeMap<TransferId, (Arc<Lease>, Done)>);

impl WindowTransfers {
    /// Begins what was ordered. False if nothing was.
    pub(super) fn turn(&mut self, inner: &Inner, fabric: &mut dyn Fabric) -> bool {
        let orders = inner.orders.take();
        let any = !orders.is_empty();
        for order in orders {
            self.begin(fabric.remote_memory(), order);
        }
        any
    }

    fn begin(&mut self, memory: Option<&mut dyn RemoteMemory>, order: Order) {
        // Whoever has ordered something may have stopped waiting for it: what cannot be sent is of
        // no use to anybody.
        match (order, memory) {
            (Order::Register { bytes, done }, memory) => {
                let Some(memory) = memory else { return drop(done.send(Err(none()))) };
                if let Err(Ok(region)) = done.send(memory.register(bytes)) {
                    // Nobody knows of it. It was registered just now: it is there.
                    let _ = memory.unregister(region);
                }
            }
            (Order::Unregister(region), Some(memory)) => {
                // Registered once, and taken back once: it is there.
                let _ = memory.unregister(region);
            }
            // Then nothing was registered.
            (Order::Unregister(_), None) => {}
            (Order::Get { lease, offset, bytes, done }, memory) => {
                let begin = |memory: &mut dyn RemoteMemory, lease: &Lease| {
                    memory.get_bytes(lease.place().ok_or_else(none)?, offset, bytes)
                };
                self.transfer(memory, lease, done, begin);
            }
            (Order::Put { lease, offset, from, done }, memory) => {
                let begin = |memory: &mut dyn RemoteMemory, lease: &Lease| {
                    memory.put_bytes(from, lease.place().ok_or_else(none)?, offset)
                };
                self.transfer(memory, lease, done, begin);
            }
        }
    }

    fn transfer(
        &mut self,
        memory: Option<&mut dyn RemoteMemory>,
        lease: Arc<Lease>,
        done: Done,
        begin: impl FnOnce(&mut dyn RemoteMemory, &Lease) -> Result<TransferId, MemoryError>,
    ) {
        match memory.ok_or_else(none).and_then(|memory| begin(memory, &lease)) {
            Ok(transfer) => {
                self.0.insert(transfer, (lease, done));
            }
            // Whoever has ordered it may have stopped waiting.
            Err(error) => drop(done.send(Err(error))),
        }
    }

    /// Hands over the outcome of a transfer. It comes back if the transfer is none of these.
    pub(super) fn ended(
        &mut self,
        transfer: TransferId,
        outcome: Result<Moved, MemoryError>,
    ) -> Option<Result<Moved, MemoryError>> {
        let Some((lease, done)) = self.0.remove(&transfer) else { return Some(outcome) };
        // First: who knows that it has ended may take the region back, and that waits for nothing.
        drop(lease);
        let bytes = outcome.map(|moved| moved.into_bytes().unwrap_or_default());
        // Whoever has ordered it may have stopped waiting.
        drop(done.send(bytes));
        None
    }

    /// Whether something is under way.
    pub(super) fn is_busy(&self) -> bool {
        !self.0.is_empty()
    }

    /// Ends all, because this node leaves. What is under way the fabric brings to its end.
    pub(super) fn end(&mut self, inner: &Inner) {
        inner.orders.close();
        self.0.clear();
    }
}

fn none() -> MemoryError {
    MemoryError::Engine("there is no remote memory here".to_owned())
}
