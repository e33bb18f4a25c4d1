//! Every schedule, and every order of memory that the orderings allow, of the scheduler's protocols.
//!
//! A worker's thread runs turns until it finds nothing more; whatever is then on its way must be found by the
//! workers that look afterwards. So nothing sleeps or spins here but in the tests that are about sleeping.
//!
//! A program of its own: it is built with `--cfg loom`.
#![cfg(loom)]

mod probe;

use actinium_scheduler::inbox::Inbox;
use actinium_scheduler::lanes::{Chunk, Lanes, NONE_OPEN, Parcels};
use actinium_scheduler::public::PublicQueue;
use actinium_scheduler::runnable::{Header, Kind, Runnable, Turn, VTable};
use actinium_scheduler::sleep::Sleep;
use actinium_scheduler::sync::lock;
use actinium_scheduler::{Policy, Shared, Worker};
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use loom::sync::{Arc, Mutex};
use loom::thread;
use probe::{Grave, Sender, greedy, run_all_dry, run_dry, shared, step, thievish};
use std::ptr::NonNull;

/// Checks with as many preemptions as LOOM_MAX_PREEMPTIONS says, so many fewer for the longer models.
fn model(fewer: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(builder.preemption_bound.unwrap_or(3) - fewer);
    builder.max_branches = 20_000;
    let schedules = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = schedules.clone();
    builder.check(move || {
        // Relaxed: a count.
        count.fetch_add(1, Ordering::Relaxed);
        f();
    });
    eprintln!("{} schedules", schedules.load(Ordering::Relaxed));
}

/// A header by itself: nobody runs it.
fn bare() -> Runnable {
    fn never(_: NonNull<Header>, _: &Worker) -> (Turn, u32) {
        unreachable!()
    }
    fn nor(_: NonNull<Header>, _: &Worker) {}
    fn this(_: NonNull<Header>) {}
    fn one(_: NonNull<Header>) -> usize {
        1
    }
    fn nothing(_: NonNull<Header>, _: &mut Parcels<'_>, _: &Worker) {
        unreachable!()
    }
    const VTABLE: VTable = VTable {
        sort: "bare",
        run: never,
        dispose: nor,
        release: this,
        pending: one,
        deliver: nothing,
    };
    let header = Header::new(&VTABLE, Arc::new(Kind::new("bare")), 0, 0, [0; 6]);
    Runnable(NonNull::from(Box::leak(Box::new(header))))
}

fn free(runnable: Runnable) {
    // SAFETY: made by `bare`, and nobody uses it any more.
    drop(unsafe { Box::from_raw(runnable.0.as_ptr()) });
}

// ---- inbox -----------------------------------------------------------------------------------------------------

#[test]
fn an_inbox_loses_and_doubles_nothing() {
    model(0, || {
        let inbox = Arc::new(Inbox::new());
        let tokens: Vec<Runnable> = (0..3).map(|_| bare()).collect();
        let [first, second, third] = tokens[..] else { unreachable!() };
        let pushers = [vec![first], vec![second, third]].map(|mine| {
            let inbox = inbox.clone();
            thread::spawn(move || mine.into_iter().for_each(|token| assert!(inbox.push(token))))
        });
        let mut taken: Vec<Runnable> = inbox.take().collect();
        taken.extend(inbox.take());
        pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
        taken.extend(inbox.take());
        let at = |token| taken.iter().position(|&other| other == token).unwrap();
        assert!(taken.len() == 3 && at(second) < at(third) && at(first) < 3);
        tokens.into_iter().for_each(free);
    });
}

// ---- the token -------------------------------------------------------------------------------------------------

/// Two senders, each with a place of its own in what stands for the mailbox, and an owner that also looks without being told.
fn token(owned: bool) {
    model(0, move || {
        let (runnable, inbox) = (bare(), Arc::new(Inbox::new()));
        let mail = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let senders: Vec<_> = (0..2)
            .map(|me| {
                let (inbox, mail) = (inbox.clone(), mail.clone());
                thread::spawn(move || {
                    mail[me].store(1, Ordering::Relaxed);
                    if runnable.header().raise() {
                        inbox.push(runnable);
                    }
                })
            })
            .collect();
        // As a mailbox does: a load that may read an old value, and only then a swap.
        let take = |place: &AtomicUsize| match place.load(Ordering::Relaxed) {
            0 => 0,
            _ => place.swap(0, Ordering::Relaxed),
        };
        let turn = || mail.iter().map(take).sum::<usize>();
        let mut handled = if owned { turn() } else { 0 };
        let mut look = || {
            for token in inbox.take() {
                if owned {
                    token.header().lower();
                    handled += turn();
                    continue;
                }
                loop {
                    token.header().start();
                    handled += turn();
                    if token.header().finish() {
                        break;
                    }
                }
            }
        };
        look();
        look();
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        look();
        assert_eq!(handled, 2, "a wake-up was lost");
        free(runnable);
    });
}

#[test]
fn no_wake_up_of_an_owned_runnable_is_lost() {
    token(true);
}

#[test]
fn no_wake_up_of_a_runnable_without_an_owner_is_lost() {
    token(false);
}

// ---- hand-over -------------------------------------------------------------------------------------------------

#[test]
fn a_public_queue_hands_over_private_fields() {
    model(0, || {
        let (runnable, queue) = (bare(), Arc::new(PublicQueue::new()));
        // SAFETY: nobody else knows it yet.
        unsafe { runnable.header().with_private(|private| private.cost_ns = 1) };
        let takers: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || {
                    if queue.is_empty() {
                        return;
                    }
                    let Some(mine) = queue.lock().pop_front() else { return };
                    // SAFETY: taken out of the queue, hence this thread's.
                    unsafe { mine.header().with_private(|private| private.cost_ns += 1) };
                    queue.lock().push_back(mine);
                })
            })
            .collect();
        queue.lock().push_back(runnable);
        takers.into_iter().for_each(|taker| taker.join().unwrap());
        assert_eq!(queue.len(), 1);
        // SAFETY: the others have ended.
        let cost = unsafe { runnable.header().with_private(|private| private.cost_ns) };
        assert!((1..=3).contains(&cost));
        free(runnable);
    });
}

/// A probe with home 0 that worker 0 may expose and worker 1 steal, while a thread outside sends to it.
fn theft(policy: fn() -> Policy, messages: usize, ends: bool) {
    model(1, move || {
        let (shared, grave) = (shared(2, policy()), Arc::new(Grave::default()));
        let sender = Sender::new(0, None, &grave);
        // Somebody looks for work: what can be exposed, is.
        shared.sleep().start_looking();
        shared.start(sender.runnable(), 0);
        let thief = {
            let shared = shared.clone();
            thread::spawn(move || run_dry(&Worker::new(shared, 1)))
        };
        let outside = {
            let (shared, sender) = (shared.clone(), sender.clone());
            thread::spawn(move || {
                (0..messages).for_each(|_| sender.send(&shared, None));
                if ends {
                    sender.end(&shared, None);
                }
            })
        };
        run_dry(&Worker::new(shared.clone(), 0));
        thief.join().unwrap();
        outside.join().unwrap();
        run_all_dry(&shared);
        assert_eq!(grave.handled.load(Ordering::Relaxed), messages, "a message was lost");
        assert_eq!(grave.releases.load(Ordering::Relaxed), usize::from(ends));
        finish(&shared, sender, ends);
    });
}

/// Frees a probe whose scheduler nobody uses any more.
fn finish(shared: &Arc<Shared>, sender: Sender, ended: bool) {
    if !ended {
        Worker::new(shared.clone(), 0).dispose(sender.runnable());
    }
}

#[test]
fn a_token_finds_its_runnable_while_a_thief_has_it() {
    theft(thievish, 1, false);
}

#[test]
fn a_token_finds_its_runnable_on_its_way_home() {
    model(1, || {
        let (shared, grave) = (shared(2, thievish()), Arc::new(Grave::default()));
        let senders = [0, 1].map(|_| Sender::new(0, None, &grave));
        shared.sleep().start_looking();
        senders.iter().for_each(|sender| shared.start(sender.runnable(), 0));
        let home = Worker::new(shared.clone(), 0);
        // It exposes both, takes one back, and leaves the other in its public queue.
        step(&home);
        let exposed = &senders[1];
        exposed.send(&shared, None);
        let thief = {
            let shared = shared.clone();
            thread::spawn(move || run_dry(&Worker::new(shared, 1)))
        };
        let outside = {
            let (shared, sender) = (shared.clone(), exposed.clone());
            thread::spawn(move || sender.send(&shared, None))
        };
        run_dry(&home);
        thief.join().unwrap();
        outside.join().unwrap();
        run_dry(&home);
        run_all_dry(&shared);
        assert_eq!(grave.handled.load(Ordering::Relaxed), 2, "a message was lost");
        senders.into_iter().for_each(|sender| finish(&shared, sender, false));
    });
}

#[test]
fn a_token_finds_its_runnable_when_its_home_moves() {
    theft(greedy, 1, false);
}

#[test]
fn a_stolen_runnable_that_ends_is_released_once() {
    theft(thievish, 0, true);
}

#[test]
fn a_runnable_without_an_owner_runs_once_per_wake_up() {
    theft(Policy::stealing, 1, false);
}

#[test]
fn a_runnable_in_the_pool_runs_once_per_wake_up() {
    theft(Policy::pool, 1, false);
}

#[test]
fn a_runnable_that_ends_is_released_once_whatever_is_sent_to_it() {
    for policy in [Policy::pinned(), Policy::pool()] {
        model(0, move || {
            let (shared, grave) = (shared(1, policy), Arc::new(Grave::default()));
            let sender = Sender::new(0, None, &grave);
            shared.start(sender.runnable(), 0);
            let outside = {
                let (shared, sender) = (shared.clone(), sender.clone());
                thread::spawn(move || {
                    sender.end(&shared, None);
                    sender.send(&shared, None);
                })
            };
            drop(sender);
            let worker = Worker::new(shared.clone(), 0);
            run_dry(&worker);
            outside.join().unwrap();
            run_dry(&worker);
            assert_eq!(grave.releases.load(Ordering::Relaxed), 1);
        });
    }
}

// ---- sleep -----------------------------------------------------------------------------------------------------

#[test]
fn no_wake_up_of_a_worker_is_lost() {
    model(0, || {
        let (sleep, work) = (Arc::new(Sleep::new(1)), Arc::new(AtomicUsize::new(0)));
        let publish = |sleep: &Sleep, work: &AtomicUsize| {
            work.fetch_add(1, Ordering::Relaxed);
            sleep.wake(0);
        };
        let worker = {
            let (sleep, work) = (sleep.clone(), work.clone());
            thread::spawn(move || {
                sleep.register(0);
                let mut done = 0;
                loop {
                    if work.load(Ordering::Relaxed) != 0 {
                        done += work.swap(0, Ordering::Relaxed);
                    }
                    if done == 2 {
                        return;
                    }
                    sleep.announce(0);
                    if work.load(Ordering::Relaxed) == 0 {
                        sleep.park(0, None);
                    } else {
                        sleep.cancel(0);
                    }
                }
            })
        };
        let other = {
            let (sleep, work) = (sleep.clone(), work.clone());
            thread::spawn(move || publish(&sleep, &work))
        };
        publish(&sleep, &work);
        other.join().unwrap();
        worker.join().unwrap();
    });
}

#[test]
fn whoever_sees_all_asleep_sees_what_they_did() {
    // Two workers; each may pass a token on to the other before it naps. Nobody wakes here: only what is seen counts.
    model(0, || {
        let sleep = Arc::new(Sleep::new(2));
        let work = Arc::new([PublicQueue::new(), PublicQueue::new()]);
        let done = Arc::new(AtomicUsize::new(0));
        let token = bare();
        work[0].lock().push_back(token);
        let workers: Vec<_> = (0..2)
            .map(|me| {
                let (sleep, work, done) = (sleep.clone(), work.clone(), done.clone());
                thread::spawn(move || {
                    for _ in 0..2 {
                        let mine = work[me].lock().pop_front();
                        if let Some(token) = mine {
                            if me == 0 {
                                work[1].lock().push_back(token);
                            } else {
                                done.store(1, Ordering::Relaxed);
                            }
                        }
                        sleep.announce(me);
                        if work[me].is_empty() {
                            return;
                        }
                        sleep.cancel(me);
                    }
                })
            })
            .collect();
        if let Some(naps) = sleep.all_asleep() {
            let empty = work.iter().all(PublicQueue::is_empty);
            if empty && sleep.is_same_nap(naps) {
                assert_eq!(done.load(Ordering::Relaxed), 1, "quiet with work under way");
            }
        }
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        free(token);
    });
}

// ---- whole workers ---------------------------------------------------------------------------------------------

fn start(shared: &Arc<Shared>, index: usize, mine: Option<Sender>) -> thread::JoinHandle<()> {
    let shared = shared.clone();
    thread::spawn(move || {
        Worker::new(shared, index).enter(|worker| {
            worker.run();
            worker.end(|worker| {
                if let Some(sender) = mine {
                    worker.dispose(sender.runnable());
                }
            });
        });
    })
}

#[test]
fn waiting_for_idleness_ends_when_all_is_done() {
    for policy in [Policy::pinned(), Policy::pool()] {
        model(1, move || {
            let (shared, grave) = (shared(1, policy), Arc::new(Grave::default()));
            let sender = Sender::new(0, None, &grave);
            let worker = start(&shared, 0, Some(sender.clone()));
            shared.start(sender.runnable(), 0);
            sender.send(&shared, None);
            shared.control().wait_idle(&shared);
            assert_eq!(grave.handled.load(Ordering::Relaxed), 1, "idle too early");
            shared.control().request_exit(&shared);
            worker.join().unwrap();
            assert_eq!(grave.releases.load(Ordering::Relaxed), 1);
        });
    }
}

#[test]
fn a_new_runnable_counts_as_work() {
    model(1, move || {
        let (shared, grave) = (shared(1, Policy::pinned()), Arc::new(Grave::default()));
        let sender = Sender::new(0, None, &grave);
        sender.send_unheard();
        let worker = start(&shared, 0, Some(sender.clone()));
        shared.start(sender.runnable(), 0);
        shared.control().wait_idle(&shared);
        assert_eq!(grave.handled.load(Ordering::Relaxed), 1, "idle too early");
        shared.control().request_exit(&shared);
        worker.join().unwrap();
    });
}

#[test]
fn workers_stand_still_when_told_and_go_on() {
    model(1, || {
        let shared = shared(1, Policy::pinned());
        let worker = start(&shared, 0, None);
        assert_eq!(shared.control().while_paused(&shared, || 7), 7);
        shared.control().request_exit(&shared);
        worker.join().unwrap();
    });
}

#[test]
fn nothing_runs_when_runnables_are_disposed_of() {
    model(2, || {
        let (shared, grave) = (shared(2, Policy::pinned()), Arc::new(Grave::default()));
        let sender = Sender::new(0, None, &grave);
        shared.start(sender.runnable(), 0);
        let workers = [start(&shared, 0, None), start(&shared, 1, Some(sender.clone()))];
        sender.send(&shared, None);
        shared.control().request_exit(&shared);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        assert_eq!(grave.releases.load(Ordering::Relaxed), 1, "released once");
        assert_eq!(grave.disposals.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_token_that_comes_after_the_end_leaks_nothing() {
    model(1, || {
        let (shared, grave) = (shared(1, Policy::pinned()), Arc::new(Grave::default()));
        let sender = Sender::new(0, None, &grave);
        shared.start(sender.runnable(), 0);
        let worker = start(&shared, 0, Some(sender.clone()));
        let outside = {
            let (shared, sender) = (shared.clone(), sender.clone());
            thread::spawn(move || sender.send(&shared, None))
        };
        shared.control().request_exit(&shared);
        worker.join().unwrap();
        outside.join().unwrap();
        assert_eq!(grave.releases.load(Ordering::Relaxed), 1, "released once");
    });
}

// ---- lanes -----------------------------------------------------------------------------------------------------

/// A chunk with one parcel, the number `n`.
fn parcel(n: u64) -> Chunk {
    let mut chunk = Chunk::new(0);
    chunk.push(NonNull::dangling(), 0, n);
    chunk
}

/// Delivers all that lies in the lane from worker 0 to worker 1.
fn deliver_all(lanes: &Lanes, log: &Mutex<Vec<u64>>) {
    let mut delivery = lanes.lane(0, 1).deliver();
    while let Some(mut chunk) = delivery.take() {
        let mut parcels = chunk.take();
        while parcels.next_to().is_some() {
            // SAFETY: `parcel` puts such messages in.
            let (_, n) = unsafe { parcels.take::<u64>() };
            lock(log).push(n);
        }
        delivery.done(chunk);
    }
}

#[test]
fn a_sender_that_settles_overtakes_nothing_that_lies_in_its_lane() {
    model(0, || {
        let lanes = Arc::new(Lanes::new(2, true));
        let log = Arc::new(Mutex::new(Vec::new()));
        let receiver = {
            let (lanes, log) = (lanes.clone(), log.clone());
            thread::spawn(move || {
                for _ in 0..2 {
                    lanes.take_pending(1, |from| {
                        assert_eq!(from, 0);
                        deliver_all(&lanes, &log);
                    });
                }
            })
        };
        lanes.publish(0, 1, parcel(1));
        lanes.publish(0, 1, parcel(2));
        deliver_all(&lanes, &log);
        // Another way, now that the lane is settled.
        lock(&log).push(3);
        receiver.join().unwrap();
        assert_eq!(*lock(&log), [1, 2, 3]);
        assert_eq!(lanes.lane(0, 1).delivered(), 2);
    });
}

#[test]
fn either_a_sender_sees_the_end_or_the_one_who_ends_sees_its_lane() {
    model(0, || {
        let lanes = Arc::new(Lanes::new(2, true));
        let (dead, freed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let ender = {
            let (lanes, dead, freed) = (lanes.clone(), dead.clone(), freed.clone());
            thread::spawn(move || {
                // Relaxed: it is the fence that counts, as in `Worker::release_dead`.
                dead.store(true, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                if !lanes.any_open() {
                    freed.store(true, Ordering::Relaxed);
                }
            })
        };
        lanes.open_first(0, lanes.epoch());
        // Relaxed: as above; a sender that sees it alive uses it.
        let alive = !dead.load(Ordering::Relaxed);
        ender.join().unwrap();
        assert!(!(alive && freed.load(Ordering::Relaxed)));
        lanes.set_oldest(0, NONE_OPEN);
        assert!(!lanes.any_open());
    });
}

#[test]
fn a_sleeper_whose_lanes_are_delivered_holds_nobody_up_and_uses_nothing_that_was_freed() {
    model(0, || {
        let lanes = Arc::new(Lanes::new(2, true));
        let sleep = Arc::new(Sleep::new(2));
        let (dead, freed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        lanes.open_first(0, lanes.epoch());
        lanes.publish(0, 1, parcel(1));
        deliver_all(&lanes, &Mutex::new(Vec::new()));
        sleep.announce(0);
        let ender = {
            let (lanes, sleep) = (lanes.clone(), sleep.clone());
            let (dead, freed) = (dead.clone(), freed.clone());
            thread::spawn(move || {
                // Relaxed: `is_over` fences.
                dead.store(true, Ordering::Relaxed);
                let epoch = lanes.raise_epoch();
                if lanes.is_over(epoch, &sleep) {
                    freed.store(true, Ordering::Relaxed);
                }
            })
        };
        sleep.cancel(0);
        // As `Worker::awake` does.
        fence(Ordering::SeqCst);
        let alive = !dead.load(Ordering::Relaxed);
        ender.join().unwrap();
        assert!(!(alive && freed.load(Ordering::Relaxed)));
    });
}
