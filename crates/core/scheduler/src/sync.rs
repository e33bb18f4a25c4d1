//! One place that chooses between the standard library's synchronisation and the model checkers'.
//!
//! Everything concurrent in Actinium is written against this module: `--cfg loom` swaps in loom's
//! types (orderings checked exhaustively), `--cfg shuttle` swaps in shuttle's (whole scheduler,
//! random schedules).

#[cfg(not(any(loom, shuttle)))]
mod imp {
    pub use std::hint::spin_loop;
    pub use std::sync::atomic;
    pub use std::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub use std::thread;
    pub use std::thread_local;

    /// Sleeps until unparked, or until the timeout is over.
    pub fn park(timeout: Option<std::time::Duration>) {
        match timeout {
            Some(timeout) => thread::park_timeout(timeout),
            None => thread::park(),
        }
    }
}

#[cfg(loom)]
mod imp {
    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic;
    pub use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub use loom::thread;
    pub use loom::thread_local;

    /// Sleeps until unparked; a timeout means "may return at once" to the model checker.
    pub fn park(timeout: Option<std::time::Duration>) {
        match timeout {
            Some(_) => thread::yield_now(),
            None => thread::park(),
        }
    }
}

#[cfg(shuttle)]
mod imp {
    pub use shuttle::hint::spin_loop;
    pub use shuttle::sync::atomic;
    pub use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub use shuttle::thread;
    pub use shuttle::thread_local;

    /// Sleeps until unparked; a timeout means "may return at once" to the model checker.
    pub fn park(timeout: Option<std::time::Duration>) {
        match timeout {
            Some(_) => thread::yield_now(),
            None => thread::park(),
        }
    }
}

pub use imp::*;

/// Locks a mutex of the runtime's own. A panic while such a lock is held is a defect of the
/// runtime, and the runtime aborts on those; the data behind it is plain and stays usable for
/// printing the state.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Waits for a notification, but not beyond `until`; true if that is past. The model checkers'
/// waits have no timeout.
pub fn wait_until<'a, T>(
    changed: &Condvar,
    guard: MutexGuard<'a, T>,
    until: Option<crate::clock::Until>,
) -> (MutexGuard<'a, T>, bool) {
    let Some(until) = until else {
        return (changed.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner()), false);
    };
    let left = until.left();
    if left.is_zero() {
        return (guard, true);
    }
    let waited = changed.wait_timeout(guard, left);
    (waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0, false)
}

/// A cell that only its owner touches: one thread at a time, in short closures that call no user
/// code.
///
/// This is a `RefCell` without the borrow flag; under loom each access is checked.
#[derive(Debug)]
#[cfg(not(loom))]
pub struct OwnerCell<T>(std::cell::UnsafeCell<T>);

/// See the other definition; this one is loom's.
#[derive(Debug)]
#[cfg(loom)]
pub struct OwnerCell<T>(loom::cell::UnsafeCell<T>);

// SAFETY: an OwnerCell hands out references only through the unsafe `with`, whose caller promises
// to be the one thread that owns the content at that moment; sending the content between owners
// needs T: Send.
unsafe impl<T: Send> Sync for OwnerCell<T> {}

impl<T> OwnerCell<T> {
    /// Wraps a value.
    #[cfg(not(loom))]
    pub fn new(value: T) -> Self {
        OwnerCell(std::cell::UnsafeCell::new(value))
    }

    /// Wraps a value.
    #[cfg(loom)]
    pub fn new(value: T) -> Self {
        OwnerCell(loom::cell::UnsafeCell::new(value))
    }

    /// Lends the content to `f`.
    ///
    /// # Safety
    /// The caller is the content's only user while `f` runs: it owns it (see each field's
    /// documentation for who that is), and `f` reaches the same cell in no other way (it calls no
    /// user code).
    #[inline(always)]
    pub unsafe fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        #[cfg(not(loom))]
        // SAFETY: exclusive by this function's contract.
        return f(unsafe { &mut *self.0.get() });
        #[cfg(loom)]
        // SAFETY: exclusive by this function's contract; loom checks it.
        return self.0.with_mut(|content| f(unsafe { &mut *content }));
    }

    /// The content, which nobody else can reach meanwhile.
    #[cfg(not(loom))]
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}
