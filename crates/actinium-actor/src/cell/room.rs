//! Where an actor's memory comes from: the global allocator, or the allocator that it was spawned with, which then stands right before it.

use super::*;
use crate::spawn::Memory;
use std::alloc::Layout;
use std::marker::PhantomData;
use std::ptr;

/// There is no room for an actor of so many bytes.
pub(crate) struct NoRoom(pub(crate) usize);

/// Room for an actor that is about to be made.
pub(crate) struct Room<A: Actor> {
    memory: Memory,
    block: NonNull<u8>,
    of: PhantomData<fn() -> A>,
}

impl<A: Actor> Room<A> {
    pub(crate) fn take(memory: Memory) -> Result<Self, NoRoom> {
        let (layout, _) = layout::<A>();
        let block = memory.0.allocate(layout).map_err(|_| NoRoom(layout.size()))?;
        Ok(Room { memory, block: block.cast(), of: PhantomData })
    }

    /// Puts the actor there; its end gives the room back.
    fn fill(self, cell: ActorCell<A>) -> NonNull<ActorCell<A>> {
        let (_, at) = layout::<A>();
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: the block has this layout, so that the cell lies in it at this offset, aligned, with room for the allocator right before it;
        // nobody else has the block. The allocator is read from what is not dropped.
        unsafe {
            let cell_at = this.block.add(at);
            cell_at.sub(size_of::<Memory>()).cast().write(ptr::read(&raw const this.memory));
            cell_at.cast().write(cell);
            cell_at.cast()
        }
    }
}

impl<A: Actor> Drop for Room<A> {
    fn drop(&mut self) {
        // SAFETY: allocated by this allocator with this layout, and nothing was put there.
        unsafe { self.memory.0.deallocate(self.block, layout::<A>().0) }
    }
}

/// Of an allocator and the actor behind it, and where the actor begins.
fn layout<A: Actor>() -> (Layout, usize) {
    let both = Layout::new::<Memory>().extend(Layout::new::<ActorCell<A>>());
    both.expect("an actor that exists as a value is small enough")
}

/// Moves an actor to where it stays.
pub(super) fn put<A: Actor>(cell: ActorCell<A>, room: Option<Room<A>>) -> NonNull<ActorCell<A>> {
    match room {
        None => NonNull::from(Box::leak(Box::new(cell))),
        Some(room) => room.fill(cell),
    }
}

/// # Safety
/// The caller gives up one of the references that `refs` counts.
pub(super) unsafe fn release<A: Actor>(header: NonNull<Header>) {
    // SAFETY: this function stands in the vtable of ActorCell<A> only.
    let core = unsafe { &cell_of::<A>(header).core };
    let has_room = core.has_room;
    // Release: what this holder did comes before the freeing.
    if core.refs.fetch_sub(1, Ordering::Release) == 1 {
        // Acquire: pairs with the releases of all other holders.
        core.refs.load(Ordering::Acquire);
        // SAFETY: the last reference is gone.
        unsafe { free(header.cast::<ActorCell<A>>(), has_room) }
    }
}

/// # Safety
/// The cell is one of `put`, with room or not, and nobody uses it any more.
unsafe fn free<A: Actor>(cell: NonNull<ActorCell<A>>, has_room: bool) {
    if !has_room {
        // SAFETY: by contract; it was made by `Box`.
        drop(unsafe { Box::from_raw(cell.as_ptr()) });
        return;
    }
    let (_, at) = layout::<A>();
    // SAFETY: by contract; `Room::fill` has put it there, and the allocator before it, which is read once.
    unsafe {
        let room = Room::<A> {
            memory: cell.cast::<u8>().sub(size_of::<Memory>()).cast().read(),
            block: cell.cast::<u8>().sub(at),
            of: PhantomData,
        };
        // The room goes back after this, and also if this panics.
        ptr::drop_in_place(cell.as_ptr());
        drop(room);
    }
}
