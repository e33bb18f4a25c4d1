//! How a system ends.

use crate::common::{Does, does, system};
use actinium_actor::{Address, Mailbox, Policy, Shutdown, SpawnOptions, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

fn everywhere(story: impl Fn(System)) {
    for policy in Policy::ALL {
        for workers in 1..=4 {
            story(system(policy, workers));
        }
    }
}

/// Each message `n` causes two of `n - 1`, here and at a new actor.
fn tree() -> Does<u32> {
    does(|n: u32, ctx| {
        if n > 0 {
            ctx.address().send(n - 1).unwrap();
            ctx.spawn_detached(tree()).send(n - 1).unwrap();
        }
    })
}

/// Sends itself each message again, for ever.
fn restless() -> Does<u64> {
    does(|n: u64, ctx| ctx.address().send(n + 1).unwrap())
}

#[test]
fn draining_handles_what_handlers_cause() {
    everywhere(|system| {
        system.spawn(tree()).send(9).unwrap();
        let report = system.shutdown(Shutdown::Drain);
        assert_eq!((report.handled, report.dropped, report.dead), (1023, 0, 0), "{system:?}");
        assert_eq!(system.stats().actors, 0);
        let audit = system.audit(Duration::MAX).unwrap();
        assert!(audit.is_balanced() && audit.queued == 0, "{audit:?}");
    });
}

#[test]
fn dropping_counts_exactly() {
    everywhere(|system| {
        // Holds the worker that handles the first message until the others are queued.
        let (ready, go) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
        let (ready_there, go_there) = (ready.clone(), go.clone());
        let actor = system.spawn(does(move |n: u64, _| {
            if n == 0 {
                ready_there.wait();
                go_there.wait();
            }
        }));
        actor.send(0).unwrap();
        ready.wait();
        (1..=1000).for_each(|n| actor.send(n).unwrap());
        go.wait();
        let report = system.shutdown(Shutdown::Drop);
        assert_eq!(report.handled + report.dropped, 1001, "{system:?} {report:?}");
        assert_eq!(report.dead, report.dropped);
        assert!(report.handled >= 1);
        let audit = system.audit(Duration::MAX).unwrap();
        assert!(audit.is_balanced() && audit.queued == 0, "{audit:?}");
    });
}

#[test]
fn a_system_ends_in_the_middle_of_a_flood() {
    everywhere(|system| {
        let flood: Vec<_> = (0..20).map(|_| system.spawn(restless())).collect();
        flood.iter().for_each(|actor| actor.send(0).unwrap());
        let narrow = SpawnOptions::new().mailbox(Mailbox::bounded(3));
        let sink = system.spawn_with(narrow, || does(|_: u64, _| {})).unwrap();
        for _ in 0..5 {
            let sink = sink.clone();
            let source = system.spawn(does(move |n: u64, ctx| {
                let _ = sink.send(n);
                ctx.address().send(n).unwrap();
            }));
            source.send(0).unwrap();
        }
        // Let it run for a while: until all of them have.
        while system.stats().total().handled < 10_000 {
            thread::yield_now();
        }
        let report = system.shutdown(Shutdown::Drop);
        // One message of each, at least.
        assert!(report.dropped >= 25, "{report:?}");
        let audit = system.audit(Duration::MAX).unwrap();
        assert!(audit.is_balanced() && audit.queued == 0, "{system:?} {audit:?}");
        assert_eq!(system.stats().actors, 0);
    });
}

#[test]
fn later_calls_say_the_same_and_nothing_gets_in_any_more() {
    for how in [Shutdown::Drain, Shutdown::Drop] {
        everywhere(|system| {
            let actor = system.spawn(does(|_: u64, _| {}));
            actor.send(1).unwrap();
            let report = system.shutdown(how);
            assert_eq!(report.handled + report.dropped, 1);
            for again in [Shutdown::Drop, Shutdown::Drain] {
                assert_eq!(system.shutdown(again), report);
            }
            assert_eq!(system.wait().unwrap(), report);
            system.wait_idle(Duration::MAX).unwrap();
            assert!(actor.is_closed());
            assert!(actor.send(2).is_err_and(|error| error.is_closed()));
            assert!(actor.try_send(3).is_err_and(|error| error.is_closed()));
            actor.tell(4);
            actor.stop();
            let late = system.spawn(does(|_: u64, _| unreachable!("nobody runs it")));
            assert!(late.is_closed());
            assert!(late.send(5).is_err_and(|error| error.is_closed()), "{system:?}");
            let named = SpawnOptions::new().name("late");
            let late = system.spawn_with(named, || does(|_: u64, _| {})).unwrap();
            assert!(late.is_closed() && system.handle().names().is_empty());
            assert_eq!(system.stats().actors, 0);
            let audit = system.audit(Duration::MAX).unwrap();
            assert!(audit.is_balanced() && audit.queued == 0, "{audit:?}");
            assert_eq!((audit.returned, audit.dead), (3, 1 + report.dead));
        });
    }
}

#[test]
fn several_threads_may_end_it_at_once() {
    everywhere(|system| {
        let actor = system.spawn(tree());
        actor.send(5).unwrap();
        let barrier = Barrier::new(3);
        let reports: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = [Shutdown::Drop, Shutdown::Drain, Shutdown::Drop]
                .map(|how| {
                    let (system, barrier) = (&system, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        system.shutdown(how)
                    })
                })
                .into_iter()
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(reports.iter().all(|report| *report == reports[0]), "{reports:?}");
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    });
}

/// Threads outside that send, stop and spawn while the system ends: each message is accounted for.
#[test]
fn those_outside_may_go_on_while_it_ends() {
    for how in [Shutdown::Drain, Shutdown::Drop] {
        everywhere(|system| {
            let actors: Vec<Address<Does<u64>>> =
                (0..4).map(|_| system.spawn(does(|_: u64, _| {}))).collect();
            let (accepted, over) = (AtomicU64::new(0), AtomicBool::new(false));
            let barrier = Barrier::new(4);
            thread::scope(|scope| {
                for thread in 0..3 {
                    let (actors, accepted, over) = (&actors, &accepted, &over);
                    let (barrier, handle) = (&barrier, system.handle());
                    scope.spawn(move || {
                        barrier.wait();
                        for n in 0.. {
                            let mut sent = 0;
                            sent += u64::from(actors[n % 4].send(n as u64).is_ok());
                            if n % 16 == 0 {
                                let brief = handle.spawn(does(|_: u64, _| {}));
                                sent += u64::from(brief.send(0).is_ok());
                            }
                            if n == 1000 && thread == 0 {
                                actors[0].stop();
                            }
                            accepted.fetch_add(sent, Ordering::SeqCst);
                            if over.load(Ordering::SeqCst) {
                                return;
                            }
                        }
                    });
                }
                barrier.wait();
                system.shutdown(how);
                over.store(true, Ordering::SeqCst);
            });
            let audit = system.audit(Duration::MAX).unwrap();
            assert!(audit.is_balanced() && audit.queued == 0, "{system:?} {how:?} {audit:?}");
            let accepted = accepted.into_inner();
            assert_eq!(audit.handled + audit.dead, accepted, "{system:?} {how:?} {audit:?}");
            assert_eq!(system.stats().actors, 0, "{system:?} {how:?}");
        });
    }
}

#[test]
fn an_actor_ends_the_system_and_who_waits_hears_of_it() {
    everywhere(|system| {
        let (tell, told) = mpsc::channel();
        let actor = system.spawn(does(move |n: u64, ctx| {
            tell.send(n).unwrap();
            if n == 1 {
                ctx.system().stop();
                ctx.address().send(2).unwrap();
            }
        }));
        actor.send(1).unwrap();
        let report = system.wait().unwrap();
        assert_eq!((report.handled, report.dropped, report.escalated), (2, 0, None));
        drop(actor);
        assert_eq!(told.iter().collect::<Vec<_>>(), [1, 2]);
    });
}

#[test]
fn a_system_that_is_dropped_takes_its_actors_along() {
    struct Told(mpsc::Sender<()>);
    impl Drop for Told {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    everywhere(|system| {
        let (tell, told) = mpsc::channel();
        let actors: Vec<_> = (0..10)
            .map(|_| {
                let told = Told(tell.clone());
                system.spawn(does(move |_: u64, _| _ = &told))
            })
            .collect();
        actors.iter().for_each(|actor| actor.send(1).unwrap());
        drop(system);
        drop(tell);
        assert_eq!(told.iter().count(), 10, "their states are gone before the addresses are");
        assert!(actors.iter().all(Address::is_closed));
    });
}

#[test]
fn a_drain_that_would_never_end_is_cut_short_by_a_drop() {
    everywhere(|system| {
        system.spawn(restless()).send(0).unwrap();
        thread::scope(|scope| {
            let draining = scope.spawn(|| system.shutdown(Shutdown::Drain));
            // The drain has begun when what is sent from outside is refused.
            let late = system.spawn(does(|(): (), _| ()));
            while late.send(()).is_ok() {
                thread::yield_now();
            }
            let report = system.shutdown(Shutdown::Drop);
            // The restless one's, and perhaps some of those that came late.
            assert!(report.dropped >= 1, "{system:?}");
            assert_eq!(draining.join().unwrap(), report);
        });
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    });
}

#[test]
fn a_drain_that_waits_for_what_is_offloaded_is_cut_short_by_a_drop() {
    let system = system(Policy::affine(), 1);
    let (open, gate) = mpsc::channel::<()>();
    let mut gate = Some(gate);
    let actor = system.spawn(does(move |(): (), ctx| {
        let gate = gate.take().unwrap();
        ctx.offload(move || _ = gate.recv(), |()| ());
    }));
    actor.send(()).unwrap();
    system.wait_idle(Duration::MAX).unwrap();
    thread::scope(|scope| {
        let draining = scope.spawn(|| system.shutdown(Shutdown::Drain));
        while actor.send(()).is_ok() {
            thread::yield_now();
        }
        system.shutdown(Shutdown::Drop);
        draining.join().unwrap();
    });
    drop(open);
}
