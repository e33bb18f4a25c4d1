//! The members of a pool as its senders see them.

use super::options::PoolFigures;
use crate::actor::Actor;
use crate::actor_id::ActorId;
use crate::address::Address;
use crate::groups::member::{Loaded, Member};
use actinium_scheduler::mixing::rendezvous;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// A member of a pool.
pub(super) struct Seat<A: Actor> {
    pub(super) address: Address<A>,
    /// Its place, which it shares with those before it and after it: keys belong to places.
    pub(super) place: u32,
    /// How many messages it has taken from the pool.
    pub(super) accepted: AtomicU64,
}

/// The members of a pool, and its figures.
pub(super) struct Seats<A: Actor> {
    taken: RwLock<Vec<Arc<Seat<A>>>>,
    is_over: AtomicBool,
    /// The turn of whom it is.
    pub(super) turn: AtomicU64,
    pub(super) grown: AtomicU64,
    pub(super) shrunk: AtomicU64,
    pub(super) replaced: AtomicU64,
}

impl<A: Actor> Seat<A> {
    pub(super) fn new(address: Address<A>, place: u32) -> Arc<Self> {
        Arc::new(Seat { address, place, accepted: AtomicU64::new(0) })
    }
}

impl<A: Actor> Seats<A> {
    pub(super) fn new() -> Self {
        Seats {
            taken: RwLock::new(Vec::new()),
            is_over: AtomicBool::new(false),
            turn: AtomicU64::new(0),
            grown: AtomicU64::new(0),
            shrunk: AtomicU64::new(0),
            replaced: AtomicU64::new(0),
        }
    }

    /// The members. No change behind this lock is left half-way by a panic.
    pub(super) fn look(&self) -> RwLockReadGuard<'_, Vec<Arc<Seat<A>>>> {
        self.taken.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on these are the members.
    pub(super) fn set(&self, members: Vec<Arc<Seat<A>>>) {
        let mut taken = self.taken.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *taken, members);
        drop(taken);
        // Not behind the lock: it may hold the last address of a member.
        drop(before);
    }

    /// The pool has ended, or is about to: it takes no more messages.
    pub(super) fn close(&self) {
        // Release: pairs with the acquire in `is_over`; the members' going is the lock's.
        self.is_over.store(true, Ordering::Release);
        self.set(Vec::new());
    }

    pub(super) fn is_over(&self) -> bool {
        // Acquire: see `close`.
        self.is_over.load(Ordering::Acquire)
    }

    pub(super) fn figures(&self) -> PoolFigures {
        // Relaxed, all: figures.
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        PoolFigures {
            members: self.look().len(),
            grown: read(&self.grown),
            shrunk: read(&self.shrunk),
            replaced: read(&self.replaced),
        }
    }
}

/// The member that a key belongs to, of those that live.
pub(super) fn by_key<A: Actor>(seats: &[Arc<Seat<A>>], key: u64) -> Option<usize> {
    let open = seats.iter().filter(|seat| !seat.address.is_closed());
    let place = rendezvous(key, open.map(|seat| seat.place))?;
    seats.iter().position(|seat| seat.place == place)
}

impl<A: Actor> Member for Arc<Seat<A>> {
    type Msg = A::Msg;

    fn id(&self) -> ActorId {
        self.address.id()
    }

    fn is_closed(&self) -> bool {
        self.address.is_closed()
    }
}

impl<A: Actor> Loaded for Arc<Seat<A>> {
    fn waiting(&self) -> usize {
        self.address.len()
    }

    fn is_running(&self) -> bool {
        Loaded::is_running(&self.address)
    }
}
