//! Regions in windows: what a node orders of its fabric's remote memory, and the leases under which
//! it reads and writes other nodes' memory by itself.
//!
//! A node that wants to reach a region in a window asks the region's node once, with its ticket,
//! and gets a *lease*: where the memory lies. From then on it asks nobody. When the region is taken
//! back, its node revokes the lease: no transfer begins under it any more, and the answer comes
//! when the last one that is under way has ended. So memory that was taken back is used for nothing
//! else while anybody may still write to it, and a put that has succeeded came before that.
//!
//! Whoever keeps a lease over an `await` keeps it weakly. Else a future that nobody polls would
//! keep a region's node waiting.

use crate::fabric::{MemoryError, NodeId, RegionId};
use crate::locks::lock;
use futures_channel::oneshot;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// Where the outcome of a transfer goes: the bytes that were read, or none.
pub(crate) type Done = oneshot::Sender<Result<Vec<u8>, MemoryError>>;

/// Work for the thread that has the fabric.
pub(crate) enum Order {
    /// Registers so many bytes.
    Register { bytes: usize, done: oneshot::Sender<Result<RegionId, MemoryError>> },
    /// Takes a registration back.
    Unregister(RegionId),
    /// Reads so many bytes.
    Get { lease: Arc<Lease>, offset: usize, bytes: usize, done: Done },
    /// Writes bytes.
    Put { lease: Arc<Lease>, offset: usize, from: Vec<u8>, done: Done },
}

/// The orders that the thread has not taken yet.
#[derive(Default)]
pub(crate) struct Orders {
    waiting: Mutex<Closable>,
    /// There are some: changed behind the lock, read without it.
    any: AtomicBool,
}

#[derive(Default)]
struct Closable {
    orders: Vec<Order>,
    /// The node has left.
    is_closed: bool,
}

impl Orders {
    /// Adds one. If the node has left, it is dropped, and with it the sender of its outcome.
    pub(crate) fn add(&self, order: Order) {
        let mut waiting = lock(&self.waiting);
        if !waiting.is_closed {
            waiting.orders.push(order);
            // Relaxed: a hint; the driver is rung for after this, and looks behind the lock.
            self.any.store(true, Ordering::Relaxed);
        }
    }

    /// Takes all there are.
    pub(crate) fn take(&self) -> Vec<Order> {
        // Relaxed: a hint, whose truth is behind the lock; who adds rings for the driver then.
        if !self.any.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let mut waiting = lock(&self.waiting);
        // Relaxed: behind the lock.
        self.any.store(false, Ordering::Relaxed);
        std::mem::take(&mut waiting.orders)
    }

    /// Drops all there are, and all that come from now on.
    pub(crate) fn close(&self) {
        let orders = {
            let mut waiting = lock(&self.waiting);
            waiting.is_closed = true;
            std::mem::take(&mut waiting.orders)
        };
        // Not behind the lock: whoever waits for an outcome is woken.
        drop(orders);
    }
}

/// What is done when a lease has ended.
type Released = Box<dyn FnOnce() + Send>;

/// The right to reach a region's memory by the fabric. Each transfer under way keeps it.
#[derive(Default)]
pub(crate) struct Lease {
    /// Where it lies. Not set: its node was not asked yet, or has not answered.
    place: OnceLock<RegionId>,
    released: Mutex<Vec<Released>>,
}

impl Lease {
    /// Of a node for its own memory, when nobody else has it.
    pub(crate) fn of(place: RegionId) -> Arc<Self> {
        Arc::new(Lease { place: OnceLock::from(place), released: Mutex::default() })
    }

    /// Where the memory lies.
    pub(crate) fn place(&self) -> Option<RegionId> {
        self.place.get().copied()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let released = std::mem::take(&mut *lock(&self.released));
        released.into_iter().for_each(|done| done());
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lease({:?})", self.place())
    }
}

/// The node of a region, and the region's number there.
pub(crate) type Key = (NodeId, u64);
/// The secret of a ticket, and the bits of the access that its node has granted for it.
pub(crate) type Ticket = (u64, u8);

#[derive(Default)]
struct Entry {
    /// None: it was revoked, or its node went down. Transfers may be under way.
    kept: Option<Arc<Lease>>,
    lease: Weak<Lease>,
    tickets: Vec<Ticket>,
    /// For good: no other region will have its number.
    is_revoked: bool,
}

/// The leases that a node has, of other nodes' regions and its own.
#[derive(Default)]
pub(crate) struct Leases(Mutex<BTreeMap<Key, Entry>>);

impl Leases {
    /// A lease that was granted for a ticket.
    pub(crate) fn held(&self, key: Key, ticket: Ticket) -> Option<Arc<Lease>> {
        let entries = lock(&self.0);
        let entry = entries.get(&key).filter(|entry| entry.tickets.contains(&ticket))?;
        entry.kept.clone()
    }

    /// Begins to ask for a lease. Before the region's node is asked: it may revoke the lease before
    /// its answer is looked at here.
    pub(crate) fn begin(&self, key: Key) -> Weak<Lease> {
        let mut entries = lock(&self.0);
        // What was forgotten, and is not in use any more.
        entries.retain(|_, entry| entry.is_in_use());
        let entry = entries.entry(key).or_default();
        if entry.is_revoked {
            return Weak::new();
        }
        if entry.kept.is_none() {
            // Some may be under way under a lease from before its node was down: the new one is the
            // same then.
            let lease = entry.lease.upgrade().unwrap_or_default();
            entry.lease = Arc::downgrade(&lease);
            entry.kept = Some(lease);
        }
        entry.lease.clone()
    }

    /// The region's node has granted it. None: it was revoked meanwhile, or an earlier grant said
    /// another place.
    pub(crate) fn granted(
        &self,
        key: Key,
        asked: &Weak<Lease>,
        ticket: Ticket,
        place: RegionId,
    ) -> Option<Arc<Lease>> {
        let mut entries = lock(&self.0);
        let entry = entries.get_mut(&key)?;
        let lease = entry.kept.clone().filter(|kept| Weak::ptr_eq(asked, &Arc::downgrade(kept)))?;
        if *lease.place.get_or_init(|| place) != place {
            return None;
        }
        if !entry.tickets.contains(&ticket) {
            entry.tickets.push(ticket);
        }
        Some(lease)
    }

    /// Ends a lease; `released` is called when no transfer is under way under it, maybe at once.
    pub(crate) fn revoke(&self, key: Key, released: impl FnOnce() + Send + 'static) {
        let revoked = {
            let mut entries = lock(&self.0);
            entries.get_mut(&key).map(|entry| {
                // It stays as long as something is under way: its node may ask again.
                entry.is_revoked = true;
                (entry.lease.upgrade(), entry.forget())
            })
        };
        match &revoked {
            Some((Some(lease), _)) => lock(&lease.released).push(Box::new(released)),
            _ => released(),
        }
        // Maybe the last one, and not behind the lock.
        drop(revoked);
        lock(&self.0).retain(|_, entry| entry.is_in_use());
    }

    /// A region is not where its node has said, or was refused: it is asked for again.
    pub(crate) fn forget(&self, key: Key) {
        let kept = lock(&self.0).get_mut(&key).and_then(Entry::forget);
        drop(kept);
    }

    /// A node is down: what its next run has is asked for again.
    pub(crate) fn forget_node(&self, node: NodeId) {
        let kept: Vec<_> = {
            let mut entries = lock(&self.0);
            let its = entries.range_mut((node, 0)..=(node, u64::MAX));
            its.filter_map(|(_, entry)| entry.forget()).collect()
        };
        drop(kept);
    }
}

impl Entry {
    fn is_in_use(&self) -> bool {
        self.lease.strong_count() > 0
    }

    fn forget(&mut self) -> Option<Arc<Lease>> {
        self.tickets.clear();
        self.kept.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = (NodeId(1), 7);
    const TICKET: Ticket = (99, 1);
    const PLACE: RegionId = RegionId { node: NodeId(1), index: 4_096, bytes: 100 };

    fn told() -> (Arc<AtomicBool>, impl FnOnce() + Send + 'static) {
        let flag = Arc::new(AtomicBool::new(false));
        let sets = flag.clone();
        (flag, move || sets.store(true, Ordering::SeqCst))
    }

    #[test]
    fn a_lease_is_for_the_ticket_that_it_was_granted_for() {
        let leases = Leases::default();
        let asked = leases.begin(KEY);
        assert!(leases.held(KEY, TICKET).is_none(), "it was not granted yet");
        let lease = leases.granted(KEY, &asked, TICKET, PLACE).unwrap();
        assert_eq!(lease.place(), Some(PLACE));
        assert!(leases.held(KEY, TICKET).is_some());
        for other in [(98, 1), (99, 2)] {
            assert!(leases.held(KEY, other).is_none());
        }
        assert!(leases.held((NodeId(2), 7), TICKET).is_none());
    }

    #[test]
    fn it_is_released_when_the_last_transfer_has_ended() {
        let leases = Leases::default();
        let asked = leases.begin(KEY);
        let under_way = leases.granted(KEY, &asked, TICKET, PLACE).unwrap();
        let (released, tell) = told();
        leases.revoke(KEY, tell);
        assert!(leases.held(KEY, TICKET).is_none(), "none begins any more");
        let (asked_again, tell) = told();
        leases.revoke(KEY, tell);
        assert!(leases.granted(KEY, &leases.begin(KEY), TICKET, PLACE).is_none());
        for released in [&released, &asked_again] {
            assert!(!released.load(Ordering::SeqCst));
        }
        drop(under_way);
        for released in [&released, &asked_again] {
            assert!(released.load(Ordering::SeqCst));
        }
        let (released, tell) = told();
        leases.revoke(KEY, tell);
        assert!(released.load(Ordering::SeqCst), "there is none");
    }

    #[test]
    fn what_is_revoked_before_its_answer_is_seen_is_not_used() {
        let leases = Leases::default();
        let asked = leases.begin(KEY);
        let (released, tell) = told();
        leases.revoke(KEY, tell);
        assert!(released.load(Ordering::SeqCst));
        assert!(leases.granted(KEY, &asked, TICKET, PLACE).is_none());
        // Nor if somebody else asks meanwhile.
        let other = leases.begin(KEY);
        assert!(leases.granted(KEY, &asked, TICKET, PLACE).is_none());
        assert!(leases.granted(KEY, &other, TICKET, PLACE).is_some());
    }

    #[test]
    fn what_is_under_way_when_a_node_goes_down_still_delays_the_release() {
        let leases = Leases::default();
        let asked = leases.begin(KEY);
        let under_way = leases.granted(KEY, &asked, TICKET, PLACE).unwrap();
        leases.forget_node(NodeId(1));
        assert!(leases.held(KEY, TICKET).is_none());
        let (released, tell) = told();
        leases.revoke(KEY, tell);
        assert!(!released.load(Ordering::SeqCst));
        drop(under_way);
        assert!(released.load(Ordering::SeqCst));
    }

    #[test]
    fn orders_of_a_node_that_has_left_are_dropped() {
        let orders = Orders::default();
        let (done, mut waiting) = oneshot::channel();
        orders.add(Order::Register { bytes: 1, done });
        orders.close();
        assert!(waiting.try_recv().is_err(), "nobody answers");
        orders.add(Order::Unregister(PLACE));
        assert!(orders.take().is_empty());
    }
}
