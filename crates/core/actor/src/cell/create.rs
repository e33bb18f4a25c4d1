//! Making an actor.

use super::actor_cell::ActorCell;
use super::life::Life;
use super::memory::{Block, put, release};
use super::reference::CellRef;
use super::{lifecycle, mailbox, turn};
use crate::actor::Actor;
use crate::actor_core::{Core, Fixed, Inner, Rare, SORT, WOKEN};
use crate::actor_id::ActorId;
use crate::mailbox::carrier::{by_size, is_boxed};
use crate::mailbox::shared::{RawQueue, SharedQueue};
use actinium_scheduler::runnable::Kind;
use actinium_scheduler::sync::atomic::Ordering;
use actinium_scheduler::sync::{Arc, OwnerCell};
use actinium_scheduler::{Footprint, Header, VTable};
use std::any::TypeId;
use std::ptr::NonNull;

/// Where an actor is to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    /// The index of its home.
    pub(crate) home: usize,
    /// It runs nowhere else.
    pub(crate) is_pinned: bool,
}

impl Seat {
    pub(crate) fn at(home: usize) -> Self {
        Seat { home, is_pinned: false }
    }
}

impl<A: Actor> ActorCell<A> {
    const VTABLE: VTable = VTable {
        sort: SORT,
        run: turn::run::<A>,
        dispose: lifecycle::dispose::<A>,
        release: release::<A>,
        number: number::<A>,
        pending: pending::<A>,
        deliver: mailbox::deliver::<A>,
    };

    /// A new actor with its first address, and where it is to lie. It is neither registered nor
    /// started yet.
    pub(crate) fn create(
        system: std::sync::Arc<Inner>,
        id: ActorId,
        kind: Arc<Kind>,
        seat: Seat,
        capacity: Option<usize>,
        (state, block): (A, Option<Block<A>>),
        life: Life<A>,
    ) -> CellRef<A> {
        // User code, which may panic: first of all.
        let footprint = Footprint::declared(state.footprint_bytes());
        let fixed = Fixed {
            me: NonNull::dangling(),
            shared_len: shared_len::<A>,
            types: || (TypeId::of::<A>(), std::any::type_name::<A::Msg>()),
            backpressure: capacity.map(|_| Box::default()),
            id,
            system,
            rare: Rare::new(shared_part::<A>(capacity), block.is_none()),
        };
        let cell = ActorCell {
            core: Core::new(&Self::VTABLE, kind, seat.home, fixed),
            life: OwnerCell::new(life),
            state: OwnerCell::new(Some(state)),
        };
        // SAFETY: nobody else knows it yet; and the closure calls no user code.
        unsafe {
            cell.core.header.with_private(|private| {
                private.footprint = footprint;
                if seat.is_pinned {
                    private.pin();
                }
            });
        }
        let cell = put(cell, block);
        // SAFETY: just allocated, and nobody else knows it yet.
        unsafe { (*cell.as_ptr()).core.header.own_mut().me = cell.cast() };
        CellRef(cell)
    }
}

fn shared_part<A: Actor>(capacity: Option<usize>) -> RawQueue {
    if const { is_boxed::<A::Msg>() } {
        SharedQueue::<Box<A::Msg>>::new(capacity).into_raw()
    } else {
        SharedQueue::<A::Msg>::new(capacity).into_raw()
    }
}

/// # Safety
/// The header begins an `ActorCell<A>`, which is alive.
unsafe fn number<A: Actor>(header: NonNull<Header>) -> u64 {
    // SAFETY: by contract.
    let cell = unsafe { header.cast::<ActorCell<A>>().as_ref() };
    cell.core.id.as_u64()
}

/// # Safety
/// As the vtable demands: the actor is alive.
unsafe fn pending<A: Actor>(header: NonNull<Header>) -> usize {
    // SAFETY: this function stands in the vtable of ActorCell<A> only.
    let cell = unsafe { ActorCell::<A>::of_header(header) };
    // Relaxed: what has rung on this thread.
    let is_woken = cell.core.flags.load(Ordering::Relaxed) & WOKEN != 0;
    cell.len() + usize::from(is_woken)
}

/// # Panics
/// Never: it is only called on cores of cells of `A` (it stands in them).
fn shared_len<A: Actor>(core: &Core) -> usize {
    // SAFETY: this function stands in the core of an ActorCell<A> only; `me` is that cell.
    let cell = unsafe { ActorCell::<A>::of_header(core.me) };
    by_size!(A: cell, shared_len_of())
}
