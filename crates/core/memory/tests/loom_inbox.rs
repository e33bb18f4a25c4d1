//! The inbox under all interleavings: what is pushed is taken once, whole, with all that was
//! written before.
//!
//! A program of its own: it is built with `--cfg loom`.

#![cfg(loom)]

use actinium_memory::heap::inbox::{Inbox, Link};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use std::sync::atomic::Ordering;

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

/// Pushes a chain of these, in a thread of its own.
fn pusher(inbox: &Arc<Inbox<Node>>, batch: &'static [u32]) -> thread::JoinHandle<()> {
    let inbox = Arc::clone(inbox);
    thread::spawn(move || {
        let (first, last) = chain(batch);
        // SAFETY: the nodes are new, and given away.
        unsafe { inbox.push(first, last) };
    })
}

#[test]
fn batches_of_two_threads_arrive_once() {
    let early = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let seen = early.clone();
    loom::model(move || {
        let inbox = Arc::new(Inbox::<Node>::new());
        let pushers = [pusher(&inbox, &[1, 2]), pusher(&inbox, &[3])];
        // A thread, and the last: loom begins with the schedule in which both batches are there.
        // When the main thread took here, it found nothing in any schedule, for loom goes back only
        // to the last access of an atomic before one that conflicts with it.
        let taker = {
            let inbox = Arc::clone(&inbox);
            thread::spawn(move || values(&inbox))
        };
        let mut found = taker.join().unwrap();
        // Relaxed: a count.
        seen.fetch_add(usize::from(!found.is_empty()), Ordering::Relaxed);
        pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
        found.extend(values(&inbox));
        found.sort_unstable();
        assert_eq!(found, [1, 2, 3]);
    });
    // Relaxed: one thread.
    assert!(
        early.load(Ordering::Relaxed) > 0,
        "nobody took beside a push: no ordering was checked"
    );
}
