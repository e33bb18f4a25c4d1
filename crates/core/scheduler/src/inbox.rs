//! A worker's inbox: notifications of its runnables by others. An intrusive stack, emptied at once.
//!
//! States: `head` is null (empty) or the youngest notification of a chain linked by `Header::next`,
//! which the oldest ends with null. Any thread pushes a chain; only the worker takes, and it takes
//! all. There is no single pop, hence no ABA. When the worker has ended for good, `head` is the
//! mark of a closed inbox: a notification that comes then stays with whoever brings it. A
//! notification is in at most one inbox (see `runnable`), hence one link suffices and nothing is
//! allocated.

use crate::runnable::{Header, Runnable};
use crate::sync::atomic::{AtomicPtr, Ordering, fence};
use std::ptr::{NonNull, null_mut, without_provenance_mut};

/// Notifications on their way to one worker.
#[derive(Debug)]
#[repr(align(128))]
pub struct Inbox {
    head: AtomicPtr<Header>,
}

/// The mark of a closed inbox: an address that no header has.
fn closed() -> *mut Header {
    without_provenance_mut(1)
}

/// A chain of notifications that one thread has buffered: the sender's private half of an inbox.
#[derive(Debug)]
pub struct Chain {
    first: *mut Header,
    last: *mut Header,
}

impl Default for Chain {
    fn default() -> Self {
        Chain { first: null_mut(), last: null_mut() }
    }
}

impl Chain {
    /// Adds a notification.
    ///
    /// # Safety
    /// The caller has set it (and found it clear), and the runnable is alive until it is received.
    #[inline]
    pub unsafe fn add(&mut self, runnable: Runnable) {
        let header = runnable.0.as_ptr();
        // Relaxed: the chain is private until `push_chain` releases it.
        runnable.header().next.store(self.first, Ordering::Relaxed);
        if self.first.is_null() {
            self.last = header;
        }
        self.first = header;
    }

    /// Whether it holds none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_null()
    }
}

impl Default for Inbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Inbox {
    /// An empty inbox.
    pub fn new() -> Self {
        Inbox { head: AtomicPtr::new(null_mut()) }
    }

    /// Delivers one notification; false if the inbox is closed. O(1), lock-free.
    ///
    /// # Safety
    /// The same as for [`Chain::add`].
    pub unsafe fn push(&self, runnable: Runnable) -> bool {
        let mut chain = Chain::default();
        // SAFETY: by contract.
        unsafe { chain.add(runnable) };
        self.push_chain(&mut chain)
    }

    /// Delivers a chain with one compare-and-swap, and empties it; false if the inbox is closed.
    /// O(1), lock-free.
    pub fn push_chain(&self, chain: &mut Chain) -> bool {
        if chain.is_empty() {
            return true;
        }
        let last = Runnable(
            NonNull::new(chain.last).expect("a chain that is not empty has a last notification"),
        );
        // Relaxed: the value only becomes the link; the compare-and-swap below orders what matters.
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            if head == closed() {
                // Pairs with the release in `close`: what was ended before is seen as ended.
                fence(Ordering::Acquire);
                return false;
            }
            last.header().next.store(head, Ordering::Relaxed);
            // Release: publishes the links (and what was done before) to `take`. Relaxed on
            // failure: retried.
            match self.head.compare_exchange_weak(
                head,
                chain.first,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        *chain = Chain::default();
        true
    }

    /// Whether there is nothing to take.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // Relaxed: a hint; the sleep protocol puts a SeqCst fence before it where it decides
        // something.
        let head = self.head.load(Ordering::Relaxed);
        head.is_null() || head == closed()
    }

    /// Takes what is left, and refuses what comes later.
    pub(crate) fn close(&self) -> Notifications {
        // AcqRel: the acquire half as in `take`; the release half is for whoever finds the mark
        // (`push_chain`). No model has two notifications on their way to a worker that ends, and
        // with one there is no link to see.
        Notifications::reversed(self.head.swap(closed(), Ordering::AcqRel))
    }

    /// Takes all, oldest first. O(number of notifications).
    pub fn take(&self) -> Notifications {
        if self.is_empty() {
            return Notifications(null_mut());
        }
        // Acquire: synchronises with the releases of every `push_chain` in the chain (each is part
        // of the release sequence).
        // Release: whoever sees it empty because of this also sees that the worker was awake
        // (`Sleep::is_same_nap`).
        Notifications::reversed(self.head.swap(null_mut(), Ordering::AcqRel))
    }
}

/// The notifications taken from an inbox, oldest first.
#[derive(Debug)]
pub struct Notifications(*mut Header);

impl Notifications {
    /// Turns a chain that is the caller's round: from the oldest to the youngest.
    fn reversed(mut young: *mut Header) -> Self {
        let mut old = null_mut();
        while let Some(header) = NonNull::new(young) {
            let runnable = Runnable(header);
            let next = &runnable.header().next;
            // Relaxed: the chain is ours now.
            young = next.load(Ordering::Relaxed);
            next.store(old, Ordering::Relaxed);
            old = header.as_ptr();
        }
        Notifications(old)
    }
}

impl Iterator for Notifications {
    type Item = Runnable;

    #[inline]
    fn next(&mut self) -> Option<Runnable> {
        let header = NonNull::new(self.0)?;
        // Relaxed: the chain is ours; read before the caller clears the notification and somebody
        // else may link it again.
        self.0 = Runnable(header).header().next.load(Ordering::Relaxed);
        Some(Runnable(header))
    }
}
