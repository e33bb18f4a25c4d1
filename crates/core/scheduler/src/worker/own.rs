//! A worker's own parts: values that its thread alone reaches.

use std::cell::UnsafeCell;

/// A value of a worker's own, lent out for short closures: what `RefCell` is, but its flag is kept
/// and checked in debug builds only.
///
/// The borrower is alone for two reasons. The type is not `Sync`, and a worker is not `Send`, so
/// one thread reaches it. And the closures in this module's files do plain work on what they are
/// lent: they call no user code and do not come back to the same part. Builds with debug assertions
/// panic if one does.
pub(super) struct Own<T> {
    value: UnsafeCell<T>,
    #[cfg(debug_assertions)]
    is_lent: std::cell::Cell<bool>,
}

impl<T> Own<T> {
    pub(super) fn new(value: T) -> Self {
        Own {
            value: UnsafeCell::new(value),
            #[cfg(debug_assertions)]
            is_lent: std::cell::Cell::new(false),
        }
    }

    /// Lends the value to `f`, which calls no user code and does not come back here.
    #[inline(always)]
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        #[cfg(debug_assertions)]
        let _lent = Lent::once(&self.is_lent);
        // SAFETY: one thread reaches the value (it is not `Sync`), and `f` reaches it in no other
        // way (the type's documentation).
        f(unsafe { &mut *self.value.get() })
    }

    /// Takes the value out and leaves an empty one.
    #[inline(always)]
    pub(super) fn take(&self) -> T
    where
        T: Default,
    {
        self.with(std::mem::take)
    }
}

/// Marks a part as lent until it is dropped.
#[cfg(debug_assertions)]
struct Lent<'a>(&'a std::cell::Cell<bool>);

#[cfg(debug_assertions)]
impl<'a> Lent<'a> {
    fn once(is_lent: &'a std::cell::Cell<bool>) -> Self {
        assert!(!is_lent.replace(true), "a worker's part is lent twice");
        Lent(is_lent)
    }
}

#[cfg(debug_assertions)]
impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl<T> std::fmt::Debug for Own<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Own<{}>", std::any::type_name::<T>())
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "a worker's part is lent twice")]
    fn a_part_is_lent_once_at_a_time() {
        let part = Own::new(1);
        part.with(|_| part.with(|value| *value));
    }

    #[test]
    fn what_is_taken_leaves_an_empty_one() {
        let part = Own::new(vec![1]);
        part.with(|values| values.push(2));
        assert_eq!((part.take(), part.take()), (vec![1, 2], vec![]));
    }
}
