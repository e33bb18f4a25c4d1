//! The inbox under all interleavings: what is pushed is taken once, whole, with all that was written before.
//!
//! A program of its own: it is built with `--cfg loom`.

#![cfg(loom)]

use actinium_memory::heap::inbox::{Inbox, Link};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

struct Node {
    value: UnsafeCell<u32>,
    next: UnsafeCell<*mut Node>,
}

// SAFETY: stored and read in a cell that the model checker watches.
unsafe impl Link for Node {
    unsafe fn set_next(this: *mut Self, next: *mut Self) {
        // SAFETY: the caller alone has the node.
        unsafe { (*this).next.with_mut(|at| *at = next) }
    }

    unsafe fn next(this: *mut Self) -> *mut Self {
        // SAFETY: likewise.
        unsafe { (*this).next.with(|at| *at) }
    }
}

/// A chain of new nodes, with its end.
fn chain(values: &[u32]) -> (*mut Node, *mut Node) {
    let (mut first, mut last) = (std::ptr::null_mut::<Node>(), std::ptr::null_mut::<Node>());
    for &value in values {
        let node = Node { value: UnsafeCell::new(value), next: UnsafeCell::new(first) };
        first = Box::into_raw(Box::new(node));
        if last.is_null() {
            last = first;
        }
    }
    (first, last)
}

/// What is in it, which goes.
fn values(inbox: &Inbox<Node>) -> Vec<u32> {
    let mut found = Vec::new();
    let mut node = inbox.take();
    while !node.is_null() {
        // SAFETY: what was taken is ours alone.
        let own = unsafe { Box::from_raw(node) };
        // SAFETY: likewise.
        found.push(own.value.with(|at| unsafe { *at }));
        // SAFETY: likewise.
        node = own.next.with(|at| unsafe { *at });
    }
    found
}

#[test]
fn batches_of_two_threads_arrive_once() {
    loom::model(|| {
        let inbox = Arc::new(Inbox::<Node>::new());
        let threads: Vec<_> = [&[1, 2][..], &[3]]
            .into_iter()
            .map(|batch: &'static [u32]| {
                let inbox = Arc::clone(&inbox);
                thread::spawn(move || {
                    let (first, last) = chain(batch);
                    // SAFETY: the nodes are new, and given away.
                    unsafe { inbox.push(first, last) };
                })
            })
            .collect();
        let mut found = values(&inbox);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        found.extend(values(&inbox));
        found.sort_unstable();
        assert_eq!(found, [1, 2, 3]);
    });
}
