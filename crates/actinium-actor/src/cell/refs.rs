//! References to an actor's memory: what keeps it, and what keeps the actor reachable (see `cell`).

use super::*;

/// Keeps an actor's memory, without knowing its type. It keeps nothing alive but that.
pub(crate) struct CoreRef(NonNull<Core>);

// SAFETY: a core is used through atomics and locks; what is not (`place`, the cell's own fields) is its owner's.
unsafe impl Send for CoreRef {}
// SAFETY: as above.
unsafe impl Sync for CoreRef {}

impl CoreRef {
    /// One more reference.
    pub(crate) fn new(core: &Core) -> Self {
        // Relaxed: made from a reference that keeps the memory meanwhile.
        core.refs.fetch_add(1, Ordering::Relaxed);
        CoreRef(core.me.cast())
    }

    /// The address of the actor, if it is an `A` and lives.
    pub(crate) fn upgrade<A: Actor>(&self) -> Option<CellRef<A>> {
        if !self.is_a::<A>() {
            return None;
        }
        // SAFETY: it is a cell of A; it is alive as long as this reference.
        let cell = unsafe { self.me.cast::<ActorCell<A>>().as_ref() };
        (!cell.is_closed()).then(|| CellRef::new(cell))
    }
}

impl Deref for CoreRef {
    type Target = Core;

    fn deref(&self) -> &Core {
        // SAFETY: the reference that this stands for keeps the memory.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for CoreRef {
    fn clone(&self) -> Self {
        CoreRef::new(self)
    }
}

impl Drop for CoreRef {
    fn drop(&mut self) {
        // SAFETY: gives up the reference that this stands for.
        unsafe { (self.header.release_fn())(self.0.cast()) }
    }
}

/// One address's worth of an actor: as long as there is one, the actor is reachable.
pub(crate) struct CellRef<A: Actor>(pub(super) NonNull<ActorCell<A>>);

// SAFETY: see CoreRef; messages are Send.
unsafe impl<A: Actor> Send for CellRef<A> {}
// SAFETY: as above.
unsafe impl<A: Actor> Sync for CellRef<A> {}

impl<A: Actor> CellRef<A> {
    /// One more address.
    pub(crate) fn new(cell: &ActorCell<A>) -> Self {
        // Relaxed: made from a reference that keeps the memory meanwhile.
        if cell.core.strong.fetch_add(1, Ordering::Relaxed) == 0 {
            cell.core.refs.fetch_add(1, Ordering::Relaxed);
            // Release: pairs with the acquire in `faded`; whoever then drops this address again releases it, too.
            cell.core.flags.fetch_or(REVIVED, Ordering::Release);
        }
        CellRef(cell.core.me.cast())
    }

    /// Sends a message: the whole way of one that stays on its worker stands here.
    #[inline(always)]
    pub(crate) fn send(&self, msg: A::Msg) -> Result<(), SendError<A::Msg>> {
        // SAFETY: not kept beyond this function.
        let worker = unsafe { current_unbound() };
        match worker {
            Some(worker) if self.is_owned_by(worker) => {
                match self.send_own(Runnable(self.0.cast()), msg, worker) {
                    Ok(()) => Ok(()),
                    Err((msg, stamp_ns)) => self.send_here(msg, stamp_ns, worker),
                }
            }
            Some(worker) if worker.running().is_some() && worker.reaches(self.core.runnable()) => {
                self.send_across(msg, worker)
            }
            _ => self.send_there(msg, WhenFull::Mute, worker),
        }
    }

    /// Gives up a cell that was never registered nor started: to whoever has an address of it, it has ended.
    pub(crate) fn discard(&self, reason: StopReason) {
        self.close();
        drop(lock(&self.core.controls).close(reason));
        // SAFETY: gives up the scheduler's reference, which the scheduler never got.
        unsafe { release::<A>(self.core.me) }
    }

    /// A reference to its memory.
    pub(crate) fn core_ref(&self) -> CoreRef {
        CoreRef::new(&self.core)
    }
}

impl<A: Actor> Deref for CellRef<A> {
    type Target = ActorCell<A>;

    #[inline(always)]
    fn deref(&self) -> &ActorCell<A> {
        // SAFETY: the address that this stands for keeps the memory.
        unsafe { self.0.as_ref() }
    }
}

impl<A: Actor> Clone for CellRef<A> {
    fn clone(&self) -> Self {
        CellRef::new(self)
    }
}

impl<A: Actor> Drop for CellRef<A> {
    fn drop(&mut self) {
        // Release: pairs with the acquire in `is_modest`: what this holder sent is in the mailbox by then.
        if self.core.strong.fetch_sub(1, Ordering::Release) == 1 {
            let core = &self.core;
            // Acquire: pairs with the releases of all other addresses, which `refs` counts as one: what their holders did comes
            // before the freeing.
            core.strong.load(Ordering::Acquire);
            if !self.is_closed() {
                core.system.with_worker(|worker| core.wake(worker));
            }
            // SAFETY: gives up the reference that all addresses together stand for.
            unsafe { release::<A>(core.runnable().0) }
        }
    }
}
