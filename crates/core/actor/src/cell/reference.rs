//! References to an actor of a known type, which keep it reachable.

use super::actor_cell::ActorCell;
use super::memory::release;
use crate::actor::{Actor, Context};
use crate::actor_core::{Core, CoreRef, MOST, REVIVED, too_many};
use crate::stop_reason::StopReason;
use actinium_scheduler::Runnable;
use actinium_scheduler::sync::atomic::Ordering;
use std::ops::Deref;
use std::ptr::NonNull;

/// One address's worth of an actor: as long as there is one, the actor is reachable.
pub(crate) struct CellRef<A: Actor>(pub(super) NonNull<ActorCell<A>>);

// SAFETY: see CoreRef; messages are Send.
unsafe impl<A: Actor> Send for CellRef<A> {}
// SAFETY: as above.
unsafe impl<A: Actor> Sync for CellRef<A> {}

impl<A: Actor> CellRef<A> {
    /// Makes one more address of the actor with this core.
    ///
    /// # Safety
    /// The core is that of an `A`.
    #[inline]
    unsafe fn of_core(core: &Core) -> Self {
        // Relaxed: made from a reference that keeps the memory meanwhile.
        let before = core.strong.fetch_add(1, Ordering::Relaxed);
        // One test for both that are rare: none before, and too many.
        if before.wrapping_sub(1) >= MOST {
            Self::first_or_too_many(core, before);
        }
        CellRef(core.me.cast())
    }

    #[cold]
    #[inline(never)]
    fn first_or_too_many(core: &Core, before: u32) {
        if before != 0 {
            too_many(core, "addresses");
        }
        // Relaxed: as in `of_core`. All addresses together are one reference; this end of the count
        // it is not near.
        core.refs.fetch_add(1, Ordering::Relaxed);
        // Release: pairs with the acquire in `linger_is_over`; whoever then drops this address
        // again releases it, too.
        core.flags.fetch_or(REVIVED, Ordering::Release);
    }

    /// Makes one more address of the actor.
    pub(crate) fn new(cell: &ActorCell<A>) -> Self {
        // SAFETY: a cell's core is of its type.
        unsafe { Self::of_core(&cell.core) }
    }

    /// Makes one more address of the actor whose context this is.
    pub(crate) fn of_context(ctx: &Context<'_, A>) -> Self {
        // SAFETY: a context's core is of its type.
        unsafe { Self::of_core(ctx.core()) }
    }

    /// Makes an address of the actor that a reference keeps, if it is an `A` and lives.
    pub(crate) fn upgrade(core: &CoreRef) -> Option<Self> {
        if !core.is_a::<A>() {
            return None;
        }
        // SAFETY: it is a cell of A; it is alive as long as this reference.
        let cell = unsafe { ActorCell::<A>::of_header(core.me) };
        (!cell.is_closed()).then(|| CellRef::new(cell))
    }

    /// The actor's runnable, without looking at the actor.
    #[inline(always)]
    pub(crate) fn runnable(&self) -> Runnable {
        // SAFETY: this points to a cell, which begins with its header; it is a copy of the pointer
        // that `create` made.
        unsafe { Runnable::new(self.0.cast()) }
    }

    /// Gives up a cell that was never registered nor started: to whoever has an address of it, it
    /// has ended.
    pub(crate) fn discard(&self, reason: StopReason) {
        // Nobody owns it, so that nobody looks at the flags that an owner sets.
        self.close_shared();
        drop(self.core.controls().close(&reason));
        // Messages may still come, all of them in vain: nobody is to be woken for them.
        self.core.header.never_starts();
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
        // Release: pairs with the acquire in `is_modest`: what this holder sent is in the mailbox
        // by then.
        if self.core.strong.fetch_sub(1, Ordering::Release) == 1 {
            let core = &self.core;
            // Acquire: pairs with the releases of all other addresses, which `refs` counts as one:
            // what their holders did comes before the freeing.
            core.strong.load(Ordering::Acquire);
            if !self.is_closed() {
                core.system.with_worker(|worker| core.wake(worker));
            }
            // SAFETY: gives up the reference that all addresses together stand for.
            unsafe { release::<A>(core.me) }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::actor::Context;
    use crate::testing::TestSystem;
    use actinium_scheduler::sync::atomic::AtomicU32;

    struct Silent;

    impl Actor for Silent {
        type Msg = ();

        fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {}
    }

    /// Adds `more` to a count, as if as many references had been forgotten.
    fn forget(count: &AtomicU32, more: u32) {
        // Relaxed: one thread.
        count.fetch_add(more, Ordering::Relaxed);
    }

    fn remember(count: &AtomicU32, fewer: u32) {
        // Relaxed: one thread.
        count.fetch_sub(fewer, Ordering::Relaxed);
    }

    /// Runs `f` in a process of its own, by starting this test once more, and expects it to be
    /// aborted with such words.
    #[cfg(all(unix, not(miri)))]
    fn aborts(test: &str, says: &str, f: impl FnOnce()) {
        use std::os::unix::process::ExitStatusExt;
        const CHILD: &str = "TEST_ABORTS";
        if std::env::var_os(CHILD).is_some() {
            f();
            return;
        }
        let test = format!("{}::{test}", module_path!().split_once("::").unwrap().1);
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let out = child.args(["--exact", &test, "--nocapture"]).env(CHILD, "1").output().unwrap();
        let text = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.signal(), Some(6), "{text}");
        assert!(text.contains(says), "{text}");
    }

    #[test]
    fn counts_at_their_bound_still_count_down() {
        let mut sys = TestSystem::seeded(1);
        let address = sys.spawn(Silent);
        let (strong, refs) = (&address.0.core.strong, &address.0.core.refs);
        forget(strong, MOST - 1);
        forget(refs, MOST - 10);
        drop((address.clone(), address.downgrade()));
        // What a loop of `mem::forget` has forgotten comes back.
        remember(strong, MOST - 1);
        remember(refs, MOST - 10);
        let weak = address.downgrade();
        drop(address);
        sys.run_until_idle();
        assert!(weak.upgrade().is_none());
    }

    #[test]
    #[cfg(all(unix, not(miri)))]
    fn too_many_addresses_end_the_process() {
        aborts("too_many_addresses_end_the_process", "addresses of actor 1", || {
            let address = TestSystem::seeded(1).spawn(Silent);
            forget(&address.0.core.strong, MOST);
            std::mem::forget(address.clone());
        });
    }

    #[test]
    #[cfg(all(unix, not(miri)))]
    fn too_many_weak_addresses_end_the_process() {
        aborts("too_many_weak_addresses_end_the_process", "weak addresses of actor 1", || {
            let address = TestSystem::seeded(1).spawn(Silent);
            forget(&address.0.core.refs, MOST);
            std::mem::forget(address.downgrade());
        });
    }
}
