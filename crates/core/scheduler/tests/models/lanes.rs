//! Lanes: order, and grace periods.

use super::{Owned, model};
use actinium_scheduler::lanes::{LaneEnd, Lanes, NONE_OPEN};
use actinium_scheduler::sleep::Sleep;
use actinium_scheduler::sync::lock;
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;
use std::ptr::NonNull;

/// Publishes a chunk with one entry, the number `n`.
fn publish(lanes: &Lanes, end: &mut LaneEnd, n: u64) {
    end.begin(lanes, 0);
    end.push(NonNull::dangling(), 0, n);
    end.publish(lanes, 0);
}

/// Publishes a chunk with one entry on the lane from worker 0 to worker 1, by an end that it puts
/// back.
fn publish_one(lanes: &Lanes) {
    let mut end = lanes.take_end(0, 1);
    publish(lanes, &mut end, 1);
    lanes.put_back(end);
}

/// Delivers all that lies in the lane from worker 0 to worker 1.
fn deliver_all(lanes: &Lanes, put: impl Fn(u64)) {
    let mut delivery = lanes.deliver(0, 1);
    while let Some(mut entries) = delivery.take() {
        while entries.next_to().is_some() {
            // SAFETY: `publish` puts such messages in.
            let (_, n) = unsafe { entries.take::<u64>() };
            put(n);
        }
        delivery.done();
    }
}

#[test]
fn a_sender_that_flushes_overtakes_nothing_that_lies_in_its_lane() {
    model(0, || {
        let lanes = Arc::new(Lanes::new(2, true));
        let log = Arc::new(Mutex::new(Vec::new()));
        let receiver = {
            let (lanes, log) = (lanes.clone(), log.clone());
            thread::spawn(move || {
                for _ in 0..2 {
                    for from in lanes.pending(1) {
                        assert_eq!(from, 0);
                        deliver_all(&lanes, |n| lock(&log).push(n));
                    }
                }
            })
        };
        let mut end = lanes.take_end(0, 1);
        publish(&lanes, &mut end, 1);
        publish(&lanes, &mut end, 2);
        deliver_all(&lanes, |n| lock(&log).push(n));
        // Another way, now that the lane is flushed.
        lock(&log).push(3);
        receiver.join().unwrap();
        assert_eq!(*lock(&log), [1, 2, 3]);
        assert_eq!(lanes.delivered(0, 1), 2);
    });
}

#[test]
fn a_sender_uses_chunks_again_only_when_they_are_delivered() {
    model(0, || {
        let lanes = Arc::new(Lanes::new(2, true));
        let receiver = {
            let lanes = lanes.clone();
            thread::spawn(move || {
                let got = std::cell::RefCell::new(Vec::new());
                deliver_all(&lanes, |n| got.borrow_mut().push(n));
                got.into_inner()
            })
        };
        let mut end = lanes.take_end(0, 1);
        for n in 1..=3 {
            // Loom tells of a chunk that is written to, or freed, while it is read.
            publish(&lanes, &mut end, n);
            end.note_delivered(&lanes, lanes.delivered(0, 1));
        }
        let mut got = receiver.join().unwrap();
        let rest = std::cell::RefCell::new(Vec::new());
        deliver_all(&lanes, |n| rest.borrow_mut().push(n));
        got.extend(rest.into_inner());
        assert_eq!(got, [1, 2, 3]);
        lanes.put_back(end);
    });
}

#[test]
fn an_entry_too_large_for_the_chunk_that_follows_gets_a_larger_one() {
    model(0, || {
        let lanes = Lanes::new(2, true);
        let mut end = lanes.take_end(0, 1);
        publish(&lanes, &mut end, 1);
        end.begin(&lanes, 100);
        assert!(end.has_room(100));
        end.push(NonNull::dangling(), 0, 2u64);
        end.publish(&lanes, 0);
        let got = std::cell::RefCell::new(Vec::new());
        deliver_all(&lanes, |n| got.borrow_mut().push(n));
        assert_eq!(got.into_inner(), [1, 2]);
        // An empty one lay between them.
        assert_eq!(lanes.delivered(0, 1), 3);
    });
}

/// Something that ends, with its memory; and what those need who send to it, deliver and end it.
struct World {
    lanes: Lanes,
    sleep: Sleep,
    dead: AtomicBool,
    /// Loom tells of whoever uses it while, or after, it is freed, and of a use that is not seen by
    /// who frees it.
    freed: Owned<bool>,
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(World {
            lanes: Lanes::new(2, true),
            sleep: Sleep::new(2),
            dead: AtomicBool::new(false),
            freed: Owned(UnsafeCell::new(false)),
        })
    }

    /// What a sender sees, as in the owner.
    fn is_alive(&self) -> bool {
        // Relaxed: others order it.
        !self.dead.load(Ordering::Relaxed)
    }

    fn is_used(&self) {
        // SAFETY: loom checks it.
        self.freed.0.with(|freed| assert!(!unsafe { *freed }, "used after it was freed"));
    }

    fn is_none_open(&self) -> bool {
        !self.lanes.any_open_to_the_dead()
    }

    fn is_grace_over(&self) -> bool {
        let epoch = self.lanes.raise_epoch();
        self.lanes.is_over(epoch, &self.sleep)
    }
}

/// Ends it, and frees it if `may_free` says that nothing for it lies in a lane: a thread, and the
/// last (see the head of this program).
fn end(world: &Arc<World>, may_free: fn(&World) -> bool) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || {
        // Relaxed: others order it.
        world.dead.store(true, Ordering::Relaxed);
        if may_free(&world) {
            // SAFETY: loom checks it.
            world.freed.0.with_mut(|freed| unsafe { *freed = true });
        }
    })
}

fn close(may_free: fn(&World) -> bool) {
    model(0, move || {
        let world = World::new();
        let sender = {
            let world = world.clone();
            thread::spawn(move || {
                world.lanes.open_first(0, world.lanes.epoch());
                if world.is_alive() {
                    // It delivers what it has sent itself: it flushes the lane.
                    world.is_used();
                }
                world.lanes.set_oldest(0, NONE_OPEN);
            })
        };
        let ender = end(&world, may_free);
        sender.join().unwrap();
        ender.join().unwrap();
        assert!(!world.lanes.any_open());
    });
}

#[test]
fn either_a_sender_sees_the_end_or_the_one_who_ends_sees_its_lane() {
    close(World::is_none_open);
}

#[test]
fn either_a_sender_sees_the_end_or_the_grace_period_waits_for_its_lane() {
    close(World::is_grace_over);
}

#[test]
fn what_a_lane_gets_in_a_grace_period_is_not_for_what_has_ended() {
    model(0, || {
        let world = World::new();
        world.lanes.open_first(0, world.lanes.epoch());
        let sender = {
            let world = world.clone();
            thread::spawn(move || {
                // A new chunk, while others are under way; then those are delivered.
                let begun = world.lanes.epoch();
                let is_sent = world.is_alive();
                world.lanes.set_oldest(0, begun);
                if is_sent {
                    world.is_used();
                }
                world.lanes.set_oldest(0, NONE_OPEN);
            })
        };
        let ender = end(&world, World::is_grace_over);
        sender.join().unwrap();
        ender.join().unwrap();
    });
}

#[test]
fn what_a_receiver_delivers_from_a_sleepers_lane_comes_before_what_is_freed() {
    model(0, || {
        let world = World::new();
        world.lanes.open_first(0, world.lanes.epoch());
        publish_one(&world.lanes);
        // SAFETY: this thread stands for that worker.
        unsafe { world.sleep.announce(0) };
        let receiver = {
            let world = world.clone();
            thread::spawn(move || deliver_all(&world.lanes, |_| world.is_used()))
        };
        let ender = end(&world, World::is_grace_over);
        receiver.join().unwrap();
        ender.join().unwrap();
    });
}

#[test]
fn a_sleepers_lane_is_not_delivered_before_it_is() {
    model(0, || {
        let world = World::new();
        let sender = {
            let world = world.clone();
            thread::spawn(move || {
                world.lanes.open_first(0, world.lanes.epoch());
                if world.is_alive() {
                    publish_one(&world.lanes);
                }
                // SAFETY: this thread stands for that worker.
                unsafe { world.sleep.announce(0) };
            })
        };
        let ender = end(&world, World::is_grace_over);
        sender.join().unwrap();
        ender.join().unwrap();
        deliver_all(&world.lanes, |_| world.is_used());
    });
}

#[test]
fn a_sleeper_whose_lanes_are_delivered_holds_nobody_up_and_uses_nothing_that_was_freed() {
    model(0, || {
        let world = World::new();
        world.lanes.open_first(0, world.lanes.epoch());
        publish_one(&world.lanes);
        deliver_all(&world.lanes, |_| world.is_used());
        // SAFETY: this thread stands for that worker.
        unsafe { world.sleep.announce(0) };
        let ender = end(&world, World::is_grace_over);
        world.sleep.cancel(0);
        world.lanes.count_again();
        if world.is_alive() {
            world.is_used();
        }
        ender.join().unwrap();
    });
}
