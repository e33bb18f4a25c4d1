//! Every schedule, and every order of memory that the orderings allow, of the scheduler's
//! protocols.
//!
//! A worker's thread runs turns until it finds nothing more; whatever is then on its way must be
//! found by the workers that look afterwards. So nothing sleeps or spins here but in the tests that
//! are about sleeping.
//!
//! Where one thread only looks, it is one of those that a model starts, and the last. Loom goes
//! back only to the last access of an atomic before one that conflicts with it. If the main thread
//! looks, loom begins with a schedule in which it looks before the others do anything, and may
//! never come to one in which there is something to see.
//!
//! A program of its own: it is built with `--cfg loom`.
#![cfg(loom)]

#[path = "models/lanes.rs"]
mod lanes;
mod probe;
#[path = "models/ref_cells.rs"]
mod ref_cells;
#[path = "models/tasks.rs"]
mod tasks;

use actinium_scheduler::inbox::Inbox;
use actinium_scheduler::lanes::Lanes;
use actinium_scheduler::runnable::{
    Header, Kind, LaneEntries, Runnable, Turn, VTable, Words, WorkerRef,
};
use actinium_scheduler::sleep::Sleep;
use actinium_scheduler::steal_queue::StealQueue;
use actinium_scheduler::{Policy, Shared};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use probe::{Sender, Tally, greedy, run_all_dry, run_dry, shared, step, thievish, worker_of};
use std::ptr::NonNull;

/// Checks with as many preemptions as LOOM_MAX_PREEMPTIONS says, so many fewer for the longer
/// models.
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
    fn never(_: NonNull<Header>, _: WorkerRef<'_>) -> (Turn, u32) {
        unreachable!()
    }
    fn nor(_: NonNull<Header>, _: WorkerRef<'_>) {}
    fn this(_: NonNull<Header>) {}
    fn none(_: NonNull<Header>) -> u64 {
        0
    }
    fn one(_: NonNull<Header>) -> usize {
        1
    }
    fn nothing(_: NonNull<Header>, _: &mut LaneEntries<'_>, _: WorkerRef<'_>) -> u64 {
        unreachable!()
    }
    const VTABLE: VTable = VTable {
        sort: "bare",
        run: never,
        dispose: nor,
        release: this,
        number: none,
        pending: one,
        deliver: nothing,
    };
    let header = Header::new(&VTABLE, Arc::new(Kind::new("bare")), 0, 0, Words::default());
    // SAFETY: made here, and kept until `free`.
    unsafe { Runnable::new(NonNull::from(Box::leak(Box::new(header)))) }
}

fn free(runnable: Runnable) {
    // SAFETY: made by `bare`, and nobody uses it any more.
    drop(unsafe { Box::from_raw(runnable.pointer().as_ptr()) });
}

fn header<'a>(runnable: Runnable) -> &'a Header {
    // SAFETY: made by `bare`, and not freed before the threads that use it are joined.
    unsafe { runnable.header_unbound() }
}

fn start_at(shared: &Shared, sender: &Sender, index: usize) {
    // SAFETY: just made, with a reference for the scheduler.
    unsafe { shared.start(sender.runnable(), index) }
}

// ---- inbox
// -----------------------------------------------------------------------------------------------------

/// The caller has it for itself: loom checks that whoever had it before comes before.
fn touch(notified: &Runnable) {
    // SAFETY: by what is said above.
    unsafe { header(*notified).with_private(|private| private.cost_ns += 1) }
}

#[test]
fn an_inbox_loses_and_doubles_nothing() {
    model(0, || {
        let inbox = Arc::new(Inbox::new());
        let notified: Vec<Runnable> = (0..3).map(|_| bare()).collect();
        let [first, second, third] = notified[..] else { unreachable!() };
        let pushers = [vec![first], vec![second, third]].map(|mine| {
            let inbox = inbox.clone();
            thread::spawn(move || {
                for notified in mine {
                    // SAFETY: this thread's until it is pushed.
                    unsafe { header(notified).with_private(|private| private.cost_ns = 1) };
                    // SAFETY: as if notified, and freed at the end of the model.
                    assert!(unsafe { inbox.push(notified) });
                }
            })
        });
        // A thread, and the last, see the head of this file.
        let taker = {
            let inbox = inbox.clone();
            thread::spawn(move || inbox.take().chain(inbox.take()).inspect(touch).collect())
        };
        let mut taken: Vec<Runnable> = taker.join().unwrap();
        pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
        taken.extend(inbox.take());
        let at = |notified| taken.iter().position(|&other| other == notified).unwrap();
        assert!(taken.len() == 3 && at(second) < at(third) && at(first) < 3);
        notified.into_iter().for_each(free);
    });
}

// ---- notifications
// -------------------------------------------------------------------------------------------------

/// Two senders, each with a place of its own in what stands for the mailbox, and an owner that also
/// looks without being told.
fn notification(owned: bool) {
    model(0, move || {
        let (runnable, inbox) = (bare(), Arc::new(Inbox::new()));
        let mail = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let senders: Vec<_> = (0..2)
            .map(|me| {
                let (inbox, mail) = (inbox.clone(), mail.clone());
                thread::spawn(move || {
                    mail[me].store(1, Ordering::Relaxed);
                    if header(runnable).set_notified() {
                        // SAFETY: just notified, and freed at the end of the model.
                        unsafe { inbox.push(runnable) };
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
            for notified in inbox.take() {
                if owned {
                    header(notified).clear_notified();
                    handled += turn();
                    continue;
                }
                loop {
                    header(notified).start();
                    handled += turn();
                    if header(notified).finish() {
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
    notification(true);
}

#[test]
fn no_wake_up_of_a_runnable_without_an_owner_is_lost() {
    notification(false);
}

#[test]
fn the_notification_of_a_runnable_without_an_owner_hands_its_private_fields_on() {
    model(0, || {
        let runnable = bare();
        // It is queued, and the first worker takes it.
        assert!(header(runnable).set_notified());
        let turn = move || {
            header(runnable).start();
            touch(&runnable);
            header(runnable).finish()
        };
        let worker = thread::spawn(move || while !turn() {});
        // Whoever finds it not notified queues the runnable, and may be the next who runs it.
        let sender = thread::spawn(move || {
            if header(runnable).set_notified() {
                assert!(turn());
            }
        });
        worker.join().unwrap();
        sender.join().unwrap();
        free(runnable);
    });
}

// ---- hand-over
// -------------------------------------------------------------------------------------------------

#[test]
fn a_public_queue_hands_over_private_fields() {
    model(0, || {
        let (runnable, queue) = (bare(), Arc::new(StealQueue::new()));
        // SAFETY: nobody else knows it yet.
        unsafe { header(runnable).with_private(|private| private.cost_ns = 1) };
        let takers: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || {
                    if queue.is_empty() {
                        return;
                    }
                    let Some(mine) = queue.lock().pop_front() else { return };
                    // SAFETY: taken out of the queue, hence this thread's.
                    unsafe { header(mine).with_private(|private| private.cost_ns += 1) };
                    queue.lock().push_back(mine);
                })
            })
            .collect();
        queue.lock().push_back(runnable);
        takers.into_iter().for_each(|taker| taker.join().unwrap());
        assert_eq!(queue.len(), 1);
        // SAFETY: the others have ended.
        let cost = unsafe { header(runnable).with_private(|private| private.cost_ns) };
        assert!((1..=3).contains(&cost));
        free(runnable);
    });
}

/// A probe with home 0 that worker 0 may share and worker 1 steal, while a thread outside sends to
/// it.
fn theft(policy: fn() -> Policy, messages: usize, ends: bool) {
    model(1, move || {
        let (shared, tally) = (shared(2, policy()), Arc::new(Tally::default()));
        let sender = Sender::new(0, None, &tally);
        // Somebody looks for work: what can be shared, is.
        shared.sleep().start_looking();
        start_at(&shared, &sender, 0);
        let thief = {
            let shared = shared.clone();
            thread::spawn(move || run_dry(&worker_of(&shared, 1)))
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
        run_dry(&worker_of(&shared, 0));
        thief.join().unwrap();
        outside.join().unwrap();
        run_all_dry(&shared);
        assert_eq!(tally.handled.load(Ordering::Relaxed), messages, "a message was lost");
        assert_eq!(tally.releases.load(Ordering::Relaxed), usize::from(ends));
        finish(&shared, sender, ends);
    });
}

/// Frees a probe whose scheduler nobody uses any more.
fn finish(shared: &Arc<Shared>, sender: Sender, ended: bool) {
    if !ended {
        // SAFETY: nobody uses its scheduler any more.
        unsafe { worker_of(shared, 0).dispose(sender.runnable()) };
    }
}

#[test]
fn a_notification_finds_its_runnable_while_a_thief_has_it() {
    theft(thievish, 1, false);
}

#[test]
fn a_notification_finds_its_runnable_on_its_way_home() {
    model(1, || {
        let (shared, tally) = (shared(2, thievish()), Arc::new(Tally::default()));
        let senders = [0, 1].map(|_| Sender::new(0, None, &tally));
        shared.sleep().start_looking();
        senders.iter().for_each(|sender| start_at(&shared, sender, 0));
        let home = worker_of(&shared, 0);
        // It shares both, takes one back, and leaves the other in its steal queue.
        step(&home);
        let stealable = &senders[1];
        stealable.send(&shared, None);
        let thief = {
            let shared = shared.clone();
            thread::spawn(move || run_dry(&worker_of(&shared, 1)))
        };
        let outside = {
            let (shared, sender) = (shared.clone(), stealable.clone());
            thread::spawn(move || sender.send(&shared, None))
        };
        run_dry(&home);
        thief.join().unwrap();
        outside.join().unwrap();
        run_dry(&home);
        drop(home);
        run_all_dry(&shared);
        assert_eq!(tally.handled.load(Ordering::Relaxed), 2, "a message was lost");
        senders.into_iter().for_each(|sender| finish(&shared, sender, false));
    });
}

#[test]
fn the_notification_of_something_that_has_ended_comes_after_its_last_turn() {
    model(1, || {
        let (shared, tally) = (shared(2, thievish()), Arc::new(Tally::default()));
        let senders = [0, 1].map(|_| Sender::new(0, None, &tally));
        shared.sleep().start_looking();
        senders.iter().for_each(|sender| start_at(&shared, sender, 0));
        // It shares both, takes one back, and leaves the other in its steal queue.
        step(&worker_of(&shared, 0));
        let [other, stealable] = senders;
        // Its notification goes to worker 0, but the message may end it at worker 1 before that.
        let outside = {
            let shared = shared.clone();
            thread::spawn(move || stealable.end(&shared, None))
        };
        let [thief, home] = [1, 0].map(|index| {
            let shared = shared.clone();
            thread::spawn(move || _ = step(&worker_of(&shared, index)))
        });
        [outside, thief, home].into_iter().for_each(|thread| thread.join().unwrap());
        run_all_dry(&shared);
        assert_eq!(tally.releases.load(Ordering::Relaxed), 1);
        finish(&shared, other, false);
    });
}

#[test]
fn a_notification_finds_its_runnable_when_its_home_moves() {
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
            let (shared, tally) = (shared(1, policy), Arc::new(Tally::default()));
            let sender = Sender::new(0, None, &tally);
            start_at(&shared, &sender, 0);
            let outside = {
                let (shared, sender) = (shared.clone(), sender.clone());
                thread::spawn(move || {
                    sender.end(&shared, None);
                    sender.send(&shared, None);
                })
            };
            drop(sender);
            let worker = worker_of(&shared, 0);
            run_dry(&worker);
            outside.join().unwrap();
            run_dry(&worker);
            assert_eq!(tally.releases.load(Ordering::Relaxed), 1);
        });
    }
}

// ---- sleep
// -----------------------------------------------------------------------------------------------------

fn wake_up(wake: fn(&Sleep)) {
    model(0, move || {
        let (sleep, work) = (Arc::new(Sleep::new(1)), Arc::new(AtomicUsize::new(0)));
        let publish = move |sleep: &Sleep, work: &AtomicUsize| {
            work.fetch_add(1, Ordering::Relaxed);
            wake(sleep);
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
                    // SAFETY: this thread stands for that worker.
                    unsafe { sleep.announce(0) };
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
fn no_wake_up_of_a_worker_is_lost() {
    wake_up(|sleep| _ = sleep.wake(0));
}

#[test]
fn no_wake_up_of_any_of_some_workers_is_lost() {
    wake_up(|sleep| _ = sleep.wake_one_of([0]));
}

/// A place of work that whoever goes to sleep looks at.
trait Place: Default + Send + Sync + 'static {
    fn put(&self, notified: Runnable);
    fn take(&self) -> Option<Runnable>;
    fn has_none(&self) -> bool;
}

impl Place for StealQueue {
    fn put(&self, notified: Runnable) {
        self.lock().push_back(notified);
    }

    fn take(&self) -> Option<Runnable> {
        self.lock().pop_front()
    }

    fn has_none(&self) -> bool {
        self.is_empty()
    }
}

impl Place for Inbox {
    fn put(&self, notified: Runnable) {
        // SAFETY: as if notified, and freed at the end of the model.
        assert!(unsafe { self.push(notified) });
    }

    fn take(&self) -> Option<Runnable> {
        Inbox::take(self).next()
    }

    fn has_none(&self) -> bool {
        self.is_empty()
    }
}

/// From worker 0 to worker 1.
struct LaneOfTokens(Lanes);

impl Default for LaneOfTokens {
    fn default() -> Self {
        LaneOfTokens(Lanes::new(2, true))
    }
}

impl Place for LaneOfTokens {
    fn put(&self, notified: Runnable) {
        let mut end = self.0.take_end(0, 1);
        end.begin(&self.0, 0);
        end.push(notified.pointer(), 0, ());
        end.publish(&self.0, 0);
        self.0.put_back(end);
    }

    fn take(&self) -> Option<Runnable> {
        let mut taken = None;
        for from in self.0.pending(1) {
            let mut delivery = self.0.deliver(from, 1);
            while let Some(mut entries) = delivery.take() {
                // SAFETY: such a message was put in, for such a notified.
                taken = entries.next_to().map(|to| unsafe {
                    entries.take::<()>();
                    Runnable::new(to)
                });
                delivery.done();
            }
        }
        taken
    }

    fn has_none(&self) -> bool {
        !self.0.has_pending(1)
    }
}

/// Two workers; each may pass a notification on to the other before it naps. Nobody wakes here:
/// only what is seen counts.
fn all_asleep<P: Place>() {
    let quiet = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let seen = quiet.clone();
    model(0, move || {
        let sleep = Arc::new(Sleep::new(2));
        let work = Arc::new([P::default(), P::default()]);
        let done = Arc::new(AtomicUsize::new(0));
        let notified = bare();
        work[0].put(notified);
        let workers: Vec<_> = (0..2)
            .map(|me| {
                let (sleep, work, done) = (sleep.clone(), work.clone(), done.clone());
                thread::spawn(move || {
                    for _ in 0..2 {
                        if let Some(notified) = work[me].take() {
                            if me == 0 {
                                work[1].put(notified);
                            } else {
                                done.store(1, Ordering::Relaxed);
                            }
                        }
                        // SAFETY: this thread stands for that worker.
                        unsafe { sleep.announce(me) };
                        if work[me].has_none() {
                            return;
                        }
                        sleep.cancel(me);
                    }
                })
            })
            .collect();
        let seen = seen.clone();
        let looker = thread::spawn(move || {
            if let Some(naps) = sleep.all_asleep() {
                let empty = work.iter().all(P::has_none);
                if empty && sleep.is_same_nap(naps) {
                    assert_eq!(done.load(Ordering::Relaxed), 1, "quiet with work under way");
                    // Relaxed: a count.
                    seen.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        looker.join().unwrap();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        free(notified);
    });
    // Relaxed: one thread.
    assert!(quiet.load(Ordering::Relaxed) > 0, "nobody saw all asleep: nothing was checked");
}

#[test]
fn whoever_sees_all_asleep_and_public_queues_empty_sees_what_they_did() {
    all_asleep::<StealQueue>();
}

#[test]
fn whoever_sees_all_asleep_and_inboxes_empty_sees_what_they_did() {
    all_asleep::<Inbox>();
}

#[test]
fn whoever_sees_all_asleep_and_lanes_empty_sees_what_they_did() {
    all_asleep::<LaneOfTokens>();
}

// ---- whole workers
// ---------------------------------------------------------------------------------------------

fn start(shared: &Arc<Shared>, index: usize, mine: Option<Sender>) -> thread::JoinHandle<()> {
    let shared = shared.clone();
    thread::spawn(move || {
        worker_of(&shared, index).enter(|worker| {
            worker.run();
            worker.end(|worker| {
                if let Some(sender) = &mine {
                    // SAFETY: all workers have left their loops.
                    unsafe { worker.dispose(sender.runnable()) };
                }
            });
        });
    })
}

#[test]
fn waiting_for_idleness_ends_when_all_is_done() {
    for policy in [Policy::pinned(), Policy::pool()] {
        model(1, move || {
            let (shared, tally) = (shared(1, policy), Arc::new(Tally::default()));
            let sender = Sender::new(0, None, &tally);
            let worker = start(&shared, 0, Some(sender.clone()));
            start_at(&shared, &sender, 0);
            sender.send(&shared, None);
            shared.wait_idle(None);
            assert_eq!(tally.handled.load(Ordering::Relaxed), 1, "idle too early");
            shared.request_exit();
            worker.join().unwrap();
            assert_eq!(tally.releases.load(Ordering::Relaxed), 1);
        });
    }
}

/// Whoever sees that something is asked of the workers sees what was done before.
fn request(ask: fn(&Shared), is_asked: fn(&Shared) -> bool) {
    let seen = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = seen.clone();
    model(0, move || {
        let shared = shared(1, Policy::pinned());
        let before = Arc::new(Owned(UnsafeCell::new(0)));
        let asker = {
            let (shared, before) = (shared.clone(), before.clone());
            thread::spawn(move || {
                // SAFETY: loom checks it.
                before.0.with_mut(|before| unsafe { *before = 1 });
                ask(&shared);
            })
        };
        let count = count.clone();
        let looker = thread::spawn(move || {
            if is_asked(&shared) {
                // SAFETY: as above.
                assert_eq!(before.0.with(|before| unsafe { *before }), 1);
                // Relaxed: a count.
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        asker.join().unwrap();
        looker.join().unwrap();
    });
    // Relaxed: one thread.
    assert!(seen.load(Ordering::Relaxed) > 0, "nobody saw it: nothing was checked");
}

/// Whose it is, the protocol under test decides.
struct Owned<T>(UnsafeCell<T>);

// SAFETY: loom checks that it has one user at a time.
unsafe impl<T: Send> Sync for Owned<T> {}

#[test]
fn who_sees_a_request_to_exit_or_to_drain_sees_what_was_done_before() {
    request(|it| it.request_exit(), |it| it.control().exit_requested());
    request(|it| it.request_drain(), |it| it.control().is_draining());
}

#[test]
fn a_new_runnable_counts_as_work() {
    model(1, move || {
        let (shared, tally) = (shared(1, Policy::pinned()), Arc::new(Tally::default()));
        let sender = Sender::new(0, None, &tally);
        sender.send_unheard();
        let worker = start(&shared, 0, Some(sender.clone()));
        start_at(&shared, &sender, 0);
        shared.wait_idle(None);
        assert_eq!(tally.handled.load(Ordering::Relaxed), 1, "idle too early");
        shared.request_exit();
        worker.join().unwrap();
    });
}

#[test]
fn workers_stand_still_when_told_and_go_on() {
    model(1, || {
        let shared = shared(1, Policy::pinned());
        let worker = start(&shared, 0, None);
        assert_eq!(shared.while_paused(None, || 7), Some(7));
        shared.request_exit();
        worker.join().unwrap();
    });
}

#[test]
fn nothing_runs_when_runnables_are_disposed_of() {
    model(2, || {
        let (shared, tally) = (shared(2, Policy::pinned()), Arc::new(Tally::default()));
        let sender = Sender::new(0, None, &tally);
        start_at(&shared, &sender, 0);
        let workers = [start(&shared, 0, None), start(&shared, 1, Some(sender.clone()))];
        sender.send(&shared, None);
        shared.request_exit();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        assert_eq!(tally.releases.load(Ordering::Relaxed), 1, "released once");
        assert_eq!(tally.disposals.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_notification_that_comes_after_the_end_leaks_nothing() {
    model(1, || {
        let (shared, tally) = (shared(1, Policy::pinned()), Arc::new(Tally::default()));
        let sender = Sender::new(0, None, &tally);
        start_at(&shared, &sender, 0);
        let worker = start(&shared, 0, Some(sender.clone()));
        let outside = {
            let (shared, sender) = (shared.clone(), sender.clone());
            thread::spawn(move || sender.send(&shared, None))
        };
        shared.request_exit();
        worker.join().unwrap();
        outside.join().unwrap();
        assert_eq!(tally.releases.load(Ordering::Relaxed), 1, "released once");
    });
}
