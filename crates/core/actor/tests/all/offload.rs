//! Blocking work, elsewhere.

use crate::common::{ON_PURPOSE, does, quiet, system};
use actinium_actor::{
    Down, Panicked, Policy, Shutdown, SpawnOptions, StopReason, Supervision, System,
};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

fn everywhere(story: impl Fn(System)) {
    quiet();
    for policy in Policy::ALL {
        for workers in 1..=4 {
            story(system(policy, workers));
        }
    }
}

#[test]
fn results_arrive_as_messages() {
    everywhere(|system| {
        let (results, told) = mpsc::channel();
        let actor = system.spawn(does(move |msg: Result<u64, u64>, ctx| match msg {
            Ok(n) => ctx.offload(move || 2 * n, Err),
            Err(result) => results.send(result).unwrap(),
        }));
        (0..100).for_each(|n| actor.send(Ok(n)).unwrap());
        // The work keeps it alive.
        drop(actor);
        let mut results: Vec<u64> = told.iter().collect();
        results.sort_unstable();
        assert_eq!(results, (0..100).map(|n| 2 * n).collect::<Vec<_>>(), "{system:?}");
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
        let report = system.shutdown(Shutdown::Drain);
        assert_eq!((report.handled, report.dead), (200, 0));
    });
}

#[test]
fn the_work_is_not_done_on_a_worker() {
    everywhere(|system| {
        let (results, told) = mpsc::channel();
        let actor = system.spawn(does(move |msg: Option<thread::ThreadId>, ctx| match msg {
            // A worker could not wait for the other, which has only just been spawned.
            None => {
                let adder = ctx.spawn_detached(does(|reply: actinium_actor::Reply<u64>, _| {
                    reply.send(7).unwrap();
                }));
                let work = move || {
                    assert_eq!(adder.ask(|reply| reply).wait(), Ok(7));
                    thread::current().id()
                };
                ctx.offload(work, Some);
            }
            Some(there) => results.send(there != thread::current().id()).unwrap(),
        }));
        actor.send(None).unwrap();
        assert!(told.recv().unwrap());
    });
}

#[test]
fn draining_waits_for_it_and_for_what_it_causes() {
    everywhere(|system| {
        // Tells the work when the system has begun to drain: it refuses messages then.
        let canary = system.spawn(does(|(), _| {}));
        let (results, told) = mpsc::channel();
        let actor = system.spawn(does(move |n: u32, ctx| {
            results.send(n).unwrap();
            let canary = canary.clone();
            let work = move || {
                while canary.send(()).is_ok() {
                    thread::yield_now();
                }
            };
            if n < 3 {
                ctx.offload(work, move |()| n + 1);
            }
        }));
        actor.send(0).unwrap();
        let report = system.shutdown(Shutdown::Drain);
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [0, 1, 2, 3], "{system:?}");
        assert_eq!((report.dropped, report.dead), (0, 0));
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    });
}

#[test]
fn dropping_does_not_wait_for_it() {
    everywhere(|system| {
        let (go, gate) = mpsc::channel::<()>();
        let (began, begun) = mpsc::channel();
        let mut gate = Some(gate);
        let actor = system.spawn(does(move |msg: Option<u32>, ctx| {
            assert_eq!(msg, None);
            let (gate, began) = (gate.take().unwrap(), began.clone());
            let work = move || {
                began.send(()).unwrap();
                assert!(gate.recv().is_err());
            };
            ctx.offload(work, |()| Some(1));
        }));
        let (ended, dead) = mpsc::channel();
        system.handle().on_dead_letter(move |letter| ended.send(letter.to).unwrap());
        actor.send(None).unwrap();
        begun.recv().unwrap();
        let report = system.shutdown(Shutdown::Drop);
        assert_eq!((report.handled, report.dead), (1, 0));
        // Its result is for nobody.
        drop(go);
        assert_eq!(dead.recv().unwrap(), actor.id());
        let audit = system.audit(Duration::MAX).unwrap();
        assert!(audit.is_balanced() && audit.dead == 1, "{audit:?}");
    });
}

#[test]
fn a_panic_fails_the_actor_that_asked() {
    everywhere(|system| {
        for in_closure in [true, false] {
            let (told, downs) = mpsc::channel();
            let asks = system.spawn(does(move |(), ctx| match in_closure {
                true => ctx.offload(|| panic!("{ON_PURPOSE}"), |()| ()),
                false => ctx.offload(|| 2, |_| panic!("{ON_PURPOSE}")),
            }));
            let watched = asks.clone();
            let watcher = system.spawn(does(move |msg: Option<Down>, ctx| match msg {
                None => ctx.watch(&watched, Some),
                Some(down) => told.send(down).unwrap(),
            }));
            watcher.tell(None);
            system.wait_idle(Duration::MAX).unwrap();
            asks.tell(());
            let down = downs.recv().unwrap();
            let StopReason::Failed(failure) = down.reason else { panic!("{down:?}") };
            assert_eq!((failure.actor(), failure.message()), (asks.id(), ON_PURPOSE), "{system:?}");
        }
        assert_eq!(system.stats().total().panicked, 2);
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    });
}

#[test]
fn its_supervision_decides_what_follows() {
    everywhere(|system| {
        let (began, begins) = mpsc::channel();
        let make = move || {
            began.send(()).unwrap();
            does(|msg: Option<u32>, ctx| {
                if msg.is_none() {
                    ctx.offload(|| panic!("{ON_PURPOSE}"), |()| Some(1));
                    ctx.offload(|| 3, Some);
                }
            })
        };
        let options = SpawnOptions::new().supervise(Supervision::restart());
        let actor = system.spawn_with(options, make).unwrap();
        (0..10).for_each(|_| actor.send(None).unwrap());
        // Those that come together are one restart.
        (0..2).for_each(|_| begins.recv().unwrap());
        let report = system.shutdown(Shutdown::Drain);
        assert_eq!((report.handled, report.dead), (20, 0), "{system:?}");
        assert_eq!(system.stats().total().panicked, 10);
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    });
}

#[test]
fn who_wants_a_panic_as_a_message_gets_it() {
    everywhere(|system| {
        let (results, told) = mpsc::channel();
        let actor = system.spawn(does(move |msg: Option<Result<u32, Panicked>>, ctx| match msg {
            None => {
                ctx.offload_catch_unwind(|| panic!("{ON_PURPOSE}"), Some);
                ctx.offload_catch_unwind(|| 3, Some);
            }
            Some(result) => results.send(result.map_err(|it| it.to_string())).unwrap(),
        }));
        actor.send(None).unwrap();
        let mut results = [told.recv().unwrap(), told.recv().unwrap()];
        results.sort();
        assert_eq!(results, [Ok(3), Err(format!("it panicked: {ON_PURPOSE}"))]);
        assert_eq!(system.stats().total().panicked, 0, "whoever asked has it");
        assert!(!actor.is_closed());
    });
}

#[test]
fn a_result_for_one_that_has_ended_is_a_dead_letter() {
    everywhere(|system| {
        let actor = system.spawn(does(|msg: Option<u32>, ctx| {
            assert_eq!(msg, None);
            let me = ctx.address();
            let work = move || {
                while !me.is_closed() {
                    thread::yield_now();
                }
            };
            ctx.offload(work, |()| Some(1));
            ctx.stop();
        }));
        actor.send(None).unwrap();
        let report = system.shutdown(Shutdown::Drain);
        assert_eq!((report.handled, report.dead), (1, 1), "{system:?}");
        let letters = system.handle().dead_letters();
        assert_eq!((letters.len(), letters[0].count, letters[0].to), (1, 1, actor.id()));
        assert_eq!(letters[0].reason, StopReason::AlreadyStopped);
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    });
}

/// Panics when it is dropped.
struct Grenade;

impl Drop for Grenade {
    fn drop(&mut self) {
        panic!("{ON_PURPOSE}");
    }
}

#[test]
fn a_result_that_panics_when_it_is_dropped_holds_up_no_drain() {
    everywhere(|system| {
        let actor = system.spawn(does(|_: Option<Grenade>, ctx| {
            let me = ctx.address();
            let work = move || {
                while !me.is_closed() {
                    thread::yield_now();
                }
                Grenade
            };
            ctx.offload(work, Some);
            ctx.stop();
        }));
        actor.send(None).unwrap();
        let report = system.shutdown(Shutdown::Drain);
        assert_eq!((report.handled, report.dead), (1, 1), "{system:?}");
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
        assert_eq!(system.stats().total().panicked, 1);
    });
}
