//! The inbox of an arena, where others put the batches of blocks that the arena gets back: a stack
//! that only grows, until its owner takes all of it at once.
//!
//! Nobody takes a single element, so an element cannot come back while somebody compares with it:
//! there is no ABA problem.

use std::ptr;

use crate::sync::{AtomicPtr, Ordering};

/// An element of an inbox: it holds a pointer to the next.
///
/// # Safety
/// `next` has to return what `set_next` stored last.
pub unsafe trait Link {
    /// Stores a pointer.
    ///
    /// # Safety
    /// The caller alone has the element.
    unsafe fn set_next(this: *mut Self, next: *mut Self);

    /// The pointer stored.
    ///
    /// # Safety
    /// The caller alone has the element.
    unsafe fn next(this: *mut Self) -> *mut Self;
}

/// The stack.
#[derive(Debug)]
pub struct Inbox<T> {
    top: AtomicPtr<T>,
}

impl<T: Link> Inbox<T> {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Inbox { top: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Puts a chain of elements in; `last` is the end of the chain that begins at `first`.
    ///
    /// # Safety
    /// The caller alone has the elements, which stay where they are, and gives them away.
    pub unsafe fn push(&self, first: *mut T, last: *mut T) {
        // Relaxed: the value is only compared with; what it points to is not looked at.
        let mut top = self.top.load(Ordering::Relaxed);
        loop {
            // SAFETY: the element is still the caller's.
            unsafe { T::set_next(last, top) };
            // Release pairs with the acquire in `take`: the owner sees the links, and all that was
            // done to the blocks. On failure Relaxed, as above.
            match self.top.compare_exchange_weak(top, first, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    /// Takes all: a chain that ends in null, or null. They are the caller's now.
    pub fn take(&self) -> *mut T {
        // Relaxed: a hint; who finds nothing looks again when it needs something.
        if self.top.load(Ordering::Relaxed).is_null() {
            return ptr::null_mut();
        }
        // Acquire pairs with the release of each push: a push that built upon another continues its
        // release sequence, because it is a read-modify-write. There is nothing to release: null
        // points to nothing.
        self.top.swap(ptr::null_mut(), Ordering::Acquire)
    }
}

impl<T: Link> Default for Inbox<T> {
    fn default() -> Self {
        Self::new()
    }
}
