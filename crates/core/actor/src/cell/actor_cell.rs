//! The layout of an actor in memory.

use super::life::Life;
use crate::actor::Actor;
use crate::actor_core::Core;
use actinium_scheduler::Header;
use actinium_scheduler::sync::OwnerCell;
use std::ptr::NonNull;

/// An actor of a known type. It begins with its core, and that with its header: all three share
/// their address.
#[repr(C)]
pub(crate) struct ActorCell<A: Actor> {
    pub(crate) core: Core,
    /// Lent to user code for the length of a turn; user code never reaches it in another way.
    pub(super) state: OwnerCell<Option<A>>,
    pub(super) life: OwnerCell<Life<A>>,
}

impl<A: Actor> ActorCell<A> {
    /// The cell that begins with this header.
    ///
    /// # Safety
    /// The header is that of an `ActorCell<A>`, by the pointer by which that was allocated, and it
    /// is alive as long as the reference is used.
    #[inline(always)]
    pub(crate) unsafe fn of_header<'a>(header: NonNull<Header>) -> &'a Self {
        // SAFETY: by contract; header, core and cell share their address (`repr(C)`).
        unsafe { header.cast::<Self>().as_ref() }
    }
}

#[cfg(all(test, target_pointer_width = "64", not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::actor::Context;
    use crate::cell::life::Extra;

    struct Idle;

    impl Actor for Idle {
        type Msg = u64;

        fn handle(&mut self, _: u64, _: &mut Context<'_, Self>) {}
    }

    /// The documentation of `Context::spawn` and `Context::spawn_detached` states these.
    #[test]
    fn an_idle_actor_is_small() {
        let (detached, extra) = (size_of::<ActorCell<Idle>>(), size_of::<Extra<Idle>>());
        assert!(detached <= 256 && extra <= 400, "{detached} bytes; a child's extra {extra}");
    }
}
