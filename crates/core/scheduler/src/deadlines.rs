//! Deadlines of those outside the workers: asynchronous code that waits for an answer, but not for
//! ever.
//!
//! A list in order, behind a lock, from which an entry goes as soon as nobody waits for it any
//! more: a million answered requests with 30 seconds' grace leave nothing behind. The earliest
//! deadline is readable without the lock, so that a worker's round costs a load.

use crate::guard::{self, Guarded};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, lock};
use std::collections::BTreeMap;
use std::task::Waker;

/// Names one deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeadlineKey {
    deadline_ns: u64,
    number: u64,
}

/// The deadlines.
#[derive(Debug)]
pub struct Deadlines {
    /// The earliest, or `u64::MAX`; written under the lock.
    next_ns: AtomicU64,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    wakers: BTreeMap<DeadlineKey, Guarded<Waker>>,
}

impl Default for Deadlines {
    fn default() -> Self {
        Deadlines { next_ns: AtomicU64::new(u64::MAX), waiting: Mutex::new(Waiting::default()) }
    }
}

impl Deadlines {
    /// Wakes `waker` when the clock shows `deadline_ns`. O(log n). True: it is the earliest, and a
    /// sleeping worker must hear of it.
    pub fn add(&self, deadline_ns: u64, waker: Waker) -> (DeadlineKey, bool) {
        let mut waiting = lock(&self.waiting);
        waiting.last += 1;
        let key = DeadlineKey { deadline_ns, number: waiting.last };
        waiting.wakers.insert(key, Guarded::new(waker));
        let is_first = waiting.wakers.first_key_value().is_some_and(|(first, _)| *first == key);
        self.publish(&waiting);
        (key, is_first)
    }

    /// Another waker for the same deadline; false if it is past.
    pub fn replace(&self, key: DeadlineKey, waker: &Waker) -> bool {
        let new = Guarded::new(waker.clone());
        let mut waiting = lock(&self.waiting);
        let old = waiting.wakers.get_mut(&key).map(|old| std::mem::replace(old, new));
        // Wakers are user code: the old one is not dropped under the lock.
        drop(waiting);
        old.is_some()
    }

    /// Nobody waits for it any more. O(log n).
    pub fn remove(&self, key: DeadlineKey) {
        let mut waiting = lock(&self.waiting);
        let waker = waiting.wakers.remove(&key);
        self.publish(&waiting);
        drop(waiting);
        drop(waker);
    }

    fn publish(&self, waiting: &Waiting) {
        let next_ns = waiting.wakers.first_key_value().map_or(u64::MAX, |(key, _)| key.deadline_ns);
        // Release: pairs with the acquire in `next_ns`; a worker that is about to sleep on an older
        // value is woken by the adder. No model needs it: who acts upon the value takes the lock.
        self.next_ns.store(next_ns, Ordering::Release);
    }

    /// The earliest deadline.
    #[inline]
    pub fn next_ns(&self) -> Option<u64> {
        // Acquire: see `publish`, where no model needs it either.
        Some(self.next_ns.load(Ordering::Acquire)).filter(|&next_ns| next_ns != u64::MAX)
    }

    /// Wakes all whose deadline is not later than `now_ns`, in order.
    pub fn fire(&self, now_ns: u64) {
        if self.next_ns().is_none_or(|next_ns| next_ns > now_ns) {
            return;
        }
        let mut waiting = lock(&self.waiting);
        let later = match now_ns.checked_add(1) {
            Some(deadline_ns) => waiting.wakers.split_off(&DeadlineKey { deadline_ns, number: 0 }),
            None => BTreeMap::new(),
        };
        let due = std::mem::replace(&mut waiting.wakers, later);
        self.publish(&waiting);
        // Wakers are user code: not under the lock.
        drop(waiting);
        due.into_values().for_each(|waker| guard::wake(waker.into_inner()));
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        lock(&self.waiting).wakers.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn those_due_are_woken_once_and_those_removed_never() {
        let (deadlines, woken) = (Deadlines::default(), Arc::new(Woken::default()));
        let waker = Waker::from(woken.clone());
        assert_eq!(deadlines.next_ns(), None);
        let (_, first) = deadlines.add(50, waker.clone());
        assert!(first);
        let (gone, first) = deadlines.add(20, waker.clone());
        assert!(first);
        let (_, first) = deadlines.add(50, waker.clone());
        assert!(!first);
        assert_eq!(deadlines.next_ns(), Some(20));
        deadlines.remove(gone);
        assert_eq!(deadlines.next_ns(), Some(50));
        deadlines.fire(49);
        assert_eq!(woken.0.load(Ordering::SeqCst), 0);
        deadlines.fire(50);
        assert_eq!(woken.0.load(Ordering::SeqCst), 2);
        assert!(deadlines.is_empty() && deadlines.next_ns().is_none());
        assert!(!deadlines.replace(gone, &waker));
    }
}
