//! Every schedule, and every order of memory that the orderings allow, of a mailbox's shared part.
//!
//! Under loom the crate itself is empty: futures' executors do not build there. Its mailbox needs
//! nothing of them.
//!
//! A program of its own: it is built with `--cfg loom`.
#![cfg(loom)]

#[allow(dead_code)]
#[path = "../src/mailbox/envelope.rs"]
mod envelope;
#[allow(dead_code)]
#[path = "../src/mailbox/shared.rs"]
mod shared;

use envelope::Envelope;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::thread;
use shared::{PushError, SharedQueue};

type Queue = Arc<SharedQueue<u32>>;

/// Checks with as many preemptions as LOOM_MAX_PREEMPTIONS says, so many fewer for the longer
/// models.
fn model(fewer: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(builder.preemption_bound.unwrap_or(3) - fewer);
    let schedules = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = schedules.clone();
    builder.check(move || {
        // Relaxed: a count.
        count.fetch_add(1, Ordering::Relaxed);
        f();
    });
    eprintln!("{} schedules", schedules.load(Ordering::Relaxed));
}

fn producer(queue: &Queue, messages: &'static [u32]) -> thread::JoinHandle<()> {
    let queue = queue.clone();
    thread::spawn(move || {
        for &msg in messages {
            assert!(queue.push(msg, 0, false).is_ok());
        }
    })
}

fn producer_of_many(queue: &Queue, messages: &'static [u32]) -> thread::JoinHandle<()> {
    let queue = queue.clone();
    thread::spawn(move || {
        let envelopes = messages.iter().map(|&msg| Envelope { stamp_ns: 0, msg });
        let mut envelopes = envelopes.collect();
        queue.push_all(&mut envelopes);
        assert!(envelopes.is_empty());
    })
}

fn pop(queue: &Queue) -> Option<u32> {
    queue.pop().map(|envelope| envelope.msg)
}

/// All of `messages` are there, once each, and those below 10 as well as those above in rising
/// order.
fn complete(popped: &[u32], messages: &[u32]) {
    let mut sorted = popped.to_vec();
    sorted.sort_unstable();
    assert_eq!(sorted, messages, "lost or doubled");
    for of_one in [0..10, 10..20] {
        let of_one: Vec<u32> = popped.iter().copied().filter(|msg| of_one.contains(msg)).collect();
        assert!(of_one.is_sorted(), "out of order: {popped:?}");
    }
}

#[test]
fn two_producers_keep_each_ones_order_over_blocks() {
    // Blocks hold one message each under loom: every push installs a block.
    model(0, || {
        let queue: Queue = Arc::new(SharedQueue::new(None));
        assert!(queue.push(0, 0, false).is_ok());
        let producers = [producer(&queue, &[1, 2]), producer(&queue, &[10])];
        let mut popped: Vec<u32> = (0..3).filter_map(|_| pop(&queue)).collect();
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        popped.extend(std::iter::from_fn(|| pop(&queue)));
        complete(&popped, &[0, 1, 2, 10]);
        assert!(queue.is_empty());
    });
}

#[test]
fn a_used_up_block_is_reused_by_the_other_producer() {
    model(0, || {
        let queue: Queue = Arc::new(SharedQueue::new(None));
        // One block is spare, one is in use.
        for msg in [0, 1] {
            assert!(queue.push(msg, 0, false).is_ok());
        }
        let mut popped = vec![pop(&queue).unwrap(), pop(&queue).unwrap()];
        let other = producer(&queue, &[10, 11]);
        assert!(queue.push(2, 0, false).is_ok());
        popped.extend((0..2).filter_map(|_| pop(&queue)));
        other.join().unwrap();
        popped.extend(std::iter::from_fn(|| pop(&queue)));
        complete(&popped, &[0, 1, 2, 10, 11]);
    });
}

#[test]
fn what_is_pushed_together_keeps_its_order_beside_another_producer() {
    model(0, || {
        let queue: Queue = Arc::new(SharedQueue::new(None));
        assert!(queue.push(0, 0, false).is_ok());
        let other = producer(&queue, &[10]);
        let together = producer_of_many(&queue, &[1, 2]);
        let mut popped: Vec<u32> = (0..2).filter_map(|_| pop(&queue)).collect();
        other.join().unwrap();
        together.join().unwrap();
        popped.extend(std::iter::from_fn(|| pop(&queue)));
        complete(&popped, &[0, 1, 2, 10]);
    });
}

#[test]
fn what_is_pushed_together_is_taken_meanwhile() {
    model(0, || {
        let queue: Queue = Arc::new(SharedQueue::new(None));
        let together = producer_of_many(&queue, &[1, 2]);
        // A thread, and the last: so loom comes to the schedules in which it finds something. It
        // may not come to them if the main thread takes, for loom goes back only to the last access
        // of an atomic before one that conflicts with it.
        let consumer = {
            let queue = queue.clone();
            thread::spawn(move || (0..3).filter_map(|_| pop(&queue)).collect::<Vec<u32>>())
        };
        let mut popped = consumer.join().unwrap();
        together.join().unwrap();
        popped.extend(std::iter::from_fn(|| pop(&queue)));
        assert_eq!(popped, [1, 2]);
    });
}

#[test]
fn the_first_two_producers_share_one_allocation() {
    model(0, || {
        let queue: Queue = Arc::new(SharedQueue::new(None));
        let producers = [producer(&queue, &[1]), producer(&queue, &[10])];
        let mut popped: Vec<u32> = pop(&queue).into_iter().collect();
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        popped.extend(std::iter::from_fn(|| pop(&queue)));
        complete(&popped, &[1, 10]);
    });
}

/// Each message is either taken after the closing or comes back.
fn close(allocated: bool) {
    model(0, move || {
        let queue: Queue = Arc::new(SharedQueue::new(None));
        if allocated {
            assert!(queue.push(0, 0, false).is_ok());
            assert_eq!(pop(&queue), Some(0));
        }
        let accepted = Arc::new(AtomicUsize::new(0));
        let producers: Vec<_> = (0..2)
            .map(|_| {
                let (queue, accepted) = (queue.clone(), accepted.clone());
                thread::spawn(move || match queue.push(1, 0, false) {
                    Ok(_) => drop(accepted.fetch_add(1, Ordering::Relaxed)),
                    Err(refused) => assert_eq!(refused, PushError::Closed(1)),
                })
            })
            .collect();
        queue.close();
        let left = std::iter::from_fn(|| queue.pop_closed()).count();
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        assert_eq!(left, accepted.load(Ordering::Relaxed), "accepted and never taken");
        assert!(queue.pop_closed().is_none());
    });
}

#[test]
fn closing_a_queue_in_use_loses_nothing() {
    close(true);
}

#[test]
fn closing_a_queue_before_its_first_message_loses_nothing() {
    close(false);
}

#[test]
fn a_bound_is_never_exceeded() {
    model(0, || {
        let queue: Queue = Arc::new(SharedQueue::new(Some(1)));
        let producers: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || match queue.push(1, 0, false) {
                    Ok(len) => {
                        assert_eq!(len, 1);
                        1
                    }
                    Err(refused) => {
                        assert_eq!(refused, PushError::Full(1));
                        0
                    }
                })
            })
            .collect();
        let taken = usize::from(pop(&queue).is_some());
        let accepted: usize = producers.into_iter().map(|producer| producer.join().unwrap()).sum();
        assert!(accepted <= 1 + taken, "over the bound");
        let left = std::iter::from_fn(|| pop(&queue)).count();
        assert_eq!(accepted, taken + left);
    });
}

#[test]
fn whoever_is_refused_sees_what_was_done_before_the_closing() {
    for is_allocated in [false, true] {
        model(0, move || {
            let queue: Queue = Arc::new(SharedQueue::new(None));
            if is_allocated {
                assert!(queue.push(0, 0, false).is_ok());
            }
            let done = Arc::new(AtomicBool::new(false));
            let closer = {
                let (queue, done) = (queue.clone(), done.clone());
                thread::spawn(move || {
                    // Relaxed: the queue has to order it.
                    done.store(true, Ordering::Relaxed);
                    queue.close();
                })
            };
            let sender = thread::spawn(move || {
                if queue.push(1, 0, false).is_err() {
                    // Relaxed: as above.
                    assert!(done.load(Ordering::Relaxed));
                }
            });
            closer.join().unwrap();
            sender.join().unwrap();
        });
    }
}

#[test]
fn whoever_finds_room_sees_what_was_done_before_it_was_made() {
    model(0, || {
        let queue: Queue = Arc::new(SharedQueue::new(Some(1)));
        assert!(queue.push(0, 0, false).is_ok());
        let done = Arc::new(AtomicBool::new(false));
        let consumer = {
            let (queue, done) = (queue.clone(), done.clone());
            thread::spawn(move || {
                // Relaxed: the queue has to order it.
                done.store(true, Ordering::Relaxed);
                assert_eq!(pop(&queue), Some(0));
            })
        };
        let sender = thread::spawn(move || {
            if queue.push(1, 0, false).is_ok() {
                // Relaxed: as above.
                assert!(done.load(Ordering::Relaxed));
            }
        });
        consumer.join().unwrap();
        sender.join().unwrap();
    });
}

#[test]
fn an_empty_queue_is_never_taken_for_one_with_a_message_under_way() {
    // Who was told of a message (here: by a flag, in the runtime: by a notification) must not find
    // the queue empty before it was taken.
    model(0, || {
        let queue: Queue = Arc::new(SharedQueue::new(None));
        let told = Arc::new(AtomicUsize::new(0));
        let sender = {
            let (queue, told) = (queue.clone(), told.clone());
            thread::spawn(move || {
                assert!(queue.push(1, 0, false).is_ok());
                told.swap(1, Ordering::AcqRel);
            })
        };
        let other = producer(&queue, &[10]);
        if told.swap(0, Ordering::AcqRel) == 1 {
            let mut popped = Vec::new();
            while !queue.is_empty() {
                match pop(&queue) {
                    Some(msg) => popped.push(msg),
                    None => thread::yield_now(),
                }
            }
            assert!(popped.contains(&1), "overlooked");
        }
        sender.join().unwrap();
        other.join().unwrap();
    });
}
