//! An actor's memory: the global allocator's, or of the allocator that it was spawned with, which
//! then stands right before it.

use super::actor_cell::ActorCell;
use super::life::Stage;
use crate::actor::Actor;
use crate::mailbox::carrier::{Carrier, by_size};
use crate::mailbox::envelope::Envelope;
use crate::options::Memory;
use crate::send_error::ENDED;
use actinium_scheduler::sync::atomic::Ordering;
use actinium_scheduler::{Header, guard, log};
use std::alloc::Layout;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// The error that an allocator has no memory for an actor of so many bytes.
pub(crate) struct NoMemory(pub(crate) usize);

/// Memory for an actor that is about to be made.
pub(crate) struct Block<A: Actor> {
    memory: Memory,
    block: NonNull<u8>,
    of: PhantomData<fn() -> A>,
}

impl<A: Actor> Block<A> {
    /// Allocates it.
    pub(crate) fn allocate(memory: Memory) -> Result<Self, NoMemory> {
        let (layout, _) = layout::<A>();
        let block = memory.0.allocate(layout).map_err(|_| NoMemory(layout.size()))?;
        Ok(Block { memory, block: block.cast(), of: PhantomData })
    }

    /// Puts the actor there; its end gives the memory back.
    fn fill(self, cell: ActorCell<A>) -> NonNull<ActorCell<A>> {
        let (_, at) = layout::<A>();
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: the block has this layout, so that the cell lies in it at this offset, aligned,
        // with space for the allocator right before it; nobody else has the block. The allocator is
        // read from what is not dropped.
        unsafe {
            let cell_at = this.block.add(at);
            cell_at.sub(size_of::<Memory>()).cast().write(ptr::read(&raw const this.memory));
            cell_at.cast().write(cell);
            cell_at.cast()
        }
    }
}

impl<A: Actor> Drop for Block<A> {
    fn drop(&mut self) {
        // The allocator is the user's.
        // SAFETY: allocated by this allocator with this layout, and nothing was put there.
        let freed = guard::catch(|| unsafe {
            self.memory.0.deallocate(self.block, layout::<A>().0);
        });
        if let Err(panicked) = freed {
            let kind = std::any::type_name::<A>();
            log!(Error, {actor_type: kind}, "the memory of an actor ({kind}) was given back, and {panicked}");
        }
    }
}

/// The layout of an allocator and the actor behind it, and where the actor begins.
fn layout<A: Actor>() -> (Layout, usize) {
    let both = Layout::new::<Memory>().extend(Layout::new::<ActorCell<A>>());
    both.expect("an actor that exists as a value is small enough")
}

/// Moves an actor to where it stays.
pub(super) fn put<A: Actor>(cell: ActorCell<A>, block: Option<Block<A>>) -> NonNull<ActorCell<A>> {
    match block {
        None => NonNull::from(Box::leak(Box::new(cell))),
        Some(block) => block.fill(cell),
    }
}

/// Gives up a reference to an actor's memory.
///
/// # Safety
/// The caller gives up one of the references that `refs` counts.
pub(super) unsafe fn release<A: Actor>(header: NonNull<Header>) {
    // SAFETY: this function stands in the vtable of ActorCell<A> only.
    let core = unsafe { &ActorCell::<A>::of_header(header).core };
    let is_global = core.is_global;
    // Release: what this holder did comes before the freeing.
    if core.refs.fetch_sub(1, Ordering::Release) == 1 {
        // Acquire: pairs with the releases of all other holders.
        core.refs.load(Ordering::Acquire);
        // SAFETY: the last reference is gone.
        unsafe { free(header.cast::<ActorCell<A>>(), is_global) }
    }
}

/// # Safety
/// The cell is one of `put`, in a block or not, and nobody uses it any more.
unsafe fn free<A: Actor>(cell: NonNull<ActorCell<A>>, is_global: bool) {
    if is_global {
        // SAFETY: by contract; it was made by `Box`.
        drop(unsafe { Box::from_raw(cell.as_ptr()) });
        return;
    }
    let (_, at) = layout::<A>();
    // SAFETY: by contract; `Block::fill` has put it there, and the allocator before it, which is
    // read once.
    unsafe {
        let block = Block::<A> {
            memory: cell.cast::<u8>().sub(size_of::<Memory>()).cast().read(),
            block: cell.cast::<u8>().sub(at),
            of: PhantomData,
        };
        // The memory goes back after this, and also if this panics.
        ptr::drop_in_place(cell.as_ptr());
        drop(block);
    }
}

impl<A: Actor> Drop for ActorCell<A> {
    /// Drops what the actor's end has left: a mailbox, and the rest of an actor that was never
    /// started.
    fn drop(&mut self) {
        if self.life.get_mut().stage != Stage::Dead {
            self.drop_unstarted();
        }
        by_size!(A: self, drop_mailbox());
    }
}

impl<A: Actor> ActorCell<A> {
    #[cold]
    fn drop_unstarted(&mut self) {
        if let Some(state) = self.state.get_mut().take()
            && std::mem::needs_drop::<A>()
        {
            self.core.drop_state(state);
        }
        if let Some(extra) = self.life.get_mut().extra.take()
            && let Some(factory) = extra.factory
        {
            self.core.system.drop_guarded(factory.into_inner());
        }
    }

    /// Drops what waits, one by one, and then the mailbox's memory: the last reference is gone.
    fn drop_mailbox<T: Carrier<A::Msg>>(&mut self) {
        if std::mem::needs_drop::<T>() || self.core.system.shared.traces().is_on() {
            while let Some(Envelope { stamp_ns, msg }) = self.pop_any::<T>() {
                self.core.trace_lost::<A::Msg>(stamp_ns, ENDED);
                self.core.system.drop_guarded(msg);
            }
        }
        self.free_mailbox::<T>();
    }
}
