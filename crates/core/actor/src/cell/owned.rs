//! Evidence of ownership: types that only the code of an actor's owner can get.
//!
//! | type | who has it | what it gives |
//! |---|---|---|
//! | [`Owned`] | the thread of the worker that owns the actor | the own part of the mailbox, the runnable's flags |
//! | [`InTurn`] | the turn of the actor | also its life and, while nobody else has that, its state |
//! | [`Context`] | user code in a turn of the actor | its life |
//!
//! Each costs nothing: a cell and a worker, which the code needs in any case.

use super::actor_cell::ActorCell;
use super::life::Life;
use crate::actor::{Actor, Context};
use actinium_scheduler::runnable::Private;
use actinium_scheduler::{Footprint, Runnable, Worker};
use std::ops::Deref;

/// Evidence that the calling thread's worker owns an actor.
///
/// It holds until the worker looks for other work, or hands work on ([`Worker::sample`]): nobody
/// keeps it beyond that.
pub(crate) struct Owned<'a, A: Actor> {
    cell: &'a ActorCell<A>,
    worker: &'a Worker,
}

/// Evidence that the calling code is the turn of an actor.
///
/// It is passed on by value, anew for each call ([`InTurn::again`]), so that it stays in registers.
pub(crate) struct InTurn<'a, A: Actor>(Owned<'a, A>);

impl<'a, A: Actor> Owned<'a, A> {
    /// The evidence, if this worker owns the actor.
    #[inline(always)]
    pub(crate) fn of(cell: &'a ActorCell<A>, worker: &'a Worker) -> Option<Self> {
        // A worker is used by its own thread only, for which the answer is exact.
        cell.core.header.is_owned_by(worker.id()).then_some(Owned { cell, worker })
    }

    /// The evidence for the actor with this runnable, which the worker owns.
    ///
    /// # Safety
    /// The runnable is that of an `A` which the worker owns, and whose memory is kept.
    #[inline(always)]
    pub(crate) unsafe fn of_runnable(owned: Runnable, worker: &'a Worker) -> Self {
        // SAFETY: by contract; a runnable's pointer is the one by which its memory was allocated.
        let cell = unsafe { ActorCell::of_header(owned.pointer()) };
        Owned { cell, worker }
    }

    /// The actor.
    #[inline(always)]
    pub(crate) fn cell(&self) -> &'a ActorCell<A> {
        self.cell
    }

    /// The worker that owns it.
    #[inline(always)]
    pub(crate) fn worker(&self) -> &'a Worker {
        self.worker
    }

    /// Lends what only the owner touches of the header to `f`, which calls no user code.
    #[inline(always)]
    fn with_private<R>(&self, f: impl FnOnce(&mut Private) -> R) -> R {
        // SAFETY: the owner's thread, by this evidence, and no closure in this file calls user
        // code.
        unsafe { self.cell.core.header.with_private(f) }
    }

    /// The runnable's flags.
    #[inline(always)]
    pub(super) fn flags(&self) -> u8 {
        self.with_private(|private| private.flags)
    }

    /// Sets and clears flags of the runnable.
    pub(super) fn set_flags(&self, set: u8, clear: u8) {
        self.with_private(|private| private.flags = private.flags & !clear | set);
    }

    /// Tells the scheduler how much memory the actor works on.
    pub(super) fn declare_footprint(&self, bytes: usize) {
        let footprint = Footprint::declared(bytes);
        self.with_private(|private| private.footprint = footprint);
    }
}

impl<'a, A: Actor> InTurn<'a, A> {
    /// The evidence for a turn that begins.
    ///
    /// # Safety
    /// This worker owns the actor, and the caller is the actor's only turn (or ends the actor, of
    /// which there is no turn any more), for as long as this lives.
    #[inline(always)]
    pub(super) unsafe fn new(cell: &'a ActorCell<A>, worker: &'a Worker) -> Self {
        InTurn(Owned { cell, worker })
    }

    /// The same evidence for a call.
    #[inline(always)]
    pub(super) fn again(&mut self) -> InTurn<'_, A> {
        InTurn(Owned { cell: self.cell, worker: self.worker })
    }

    /// The context for user code of this turn.
    #[inline(always)]
    pub(super) fn context(&self) -> Context<'_, A> {
        // SAFETY: the actor's turn, by this evidence, which the context borrows.
        unsafe { Context::new(&self.cell.core, self.worker) }
    }

    /// Lends the life to `f`, which calls no user code.
    pub(super) fn with_life<R>(&self, f: impl FnOnce(&mut Life<A>) -> R) -> R {
        // SAFETY: the actor's turn, by this evidence; those who call this (lifecycle) do not come
        // back here from `f`.
        unsafe { self.cell.life.with(f) }
    }

    /// Lends the actor's state to `f`, which gets this evidence, too: by a shared reference,
    /// through which the state can not be had again.
    #[inline(always)]
    pub(super) fn with_state<R>(&mut self, f: impl FnOnce(&mut Option<A>, &Self) -> R) -> R {
        let this = &*self;
        // SAFETY: the actor's turn, which has lent its state to nobody else, for this takes the
        // evidence exclusively.
        unsafe { this.cell.state.with(|state| f(state, this)) }
    }
}

impl<A: Actor> Context<'_, A> {
    /// Lends the life to `f`, which calls no user code.
    pub(crate) fn with_life<R>(&self, f: impl FnOnce(&mut Life<A>) -> R) -> R {
        // SAFETY: a context is the actor's, and there is one in the actor's turn only.
        let cell = unsafe { ActorCell::<A>::of_header(self.core().me) };
        // SAFETY: the actor's turn, as above; those who call this (context) do not come back here
        // from `f`.
        unsafe { cell.life.with(f) }
    }
}

impl<'a, A: Actor> Deref for InTurn<'a, A> {
    type Target = Owned<'a, A>;

    #[inline(always)]
    fn deref(&self) -> &Owned<'a, A> {
        &self.0
    }
}
