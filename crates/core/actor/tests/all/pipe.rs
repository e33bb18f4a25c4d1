//! Futures beside actors.

use crate::common::{ON_PURPOSE, does, quiet, system};
use actinium_actor::testing::TestSystem;
use actinium_actor::{
    Down, Panicked, Policy, Shutdown, SpawnOptions, StopReason, Supervision, System,
};
use futures_channel::oneshot;
use futures_lite::future::{pending, yield_now};
use std::future::poll_fn;
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

fn everywhere(story: impl Fn(System)) {
    for policy in Policy::ALL {
        for workers in 1..=4 {
            story(system(policy, workers));
        }
    }
}

#[test]
fn a_result_comes_as_a_message() {
    for seed in 0..20 {
        let mut sys = TestSystem::seeded(seed);
        let probe = sys.probe();
        let told = probe.callback();
        let actor = sys.spawn(does(move |msg: Result<u32, u32>, ctx| match msg {
            Ok(n) => ctx.pipe(async move { 2 * n }, Err),
            Err(result) => told(result),
        }));
        (0..10).for_each(|n| actor.tell(Ok(n)));
        // The futures keep it alive, and nothing does after them.
        drop(actor);
        sys.run_until_idle();
        let mut results = probe.received();
        results.sort_unstable();
        assert_eq!(results, (0..10).map(|n| 2 * n).collect::<Vec<_>>());
        assert_eq!(sys.stats().actors, 1, "only the probe is left");
        assert!(sys.audit().is_balanced());
    }
}

#[test]
fn a_future_may_wake_itself_while_it_is_polled() {
    everywhere(|system| {
        let (results, told) = mpsc::channel();
        let actor = system.spawn(does(move |msg: Option<u32>, ctx| match msg {
            None => {
                let patient = async {
                    let mut n = 0;
                    while n < 1000 {
                        yield_now().await;
                        n += 1;
                    }
                    n
                };
                ctx.pipe(patient, Some);
            }
            Some(n) => results.send(n).unwrap(),
        }));
        (0..3).for_each(|_| actor.send(None).unwrap());
        (0..3).for_each(|_| assert_eq!(told.recv(), Ok(1000), "{system:?}"));
    });
}

#[test]
fn a_wake_up_that_comes_too_late_is_no_dead_letter() {
    everywhere(|system| {
        let (results, told) = mpsc::channel();
        let actor = system.spawn(does(move |msg: Option<u32>, ctx| match msg {
            None => {
                let hasty = poll_fn(|cx| {
                    cx.waker().wake_by_ref();
                    Poll::Ready(7)
                });
                ctx.pipe(hasty, Some);
            }
            Some(n) => results.send(n).unwrap(),
        }));
        actor.tell(None);
        assert_eq!(told.recv(), Ok(7));
        drop(actor);
        let report = system.shutdown(Shutdown::Drain);
        assert_eq!((report.dropped, report.dead, report.left_actors), (0, 0, 0));
    });
}

#[test]
fn futures_are_woken_from_other_threads() {
    everywhere(|system| {
        let (results, told) = mpsc::channel();
        type Answer = oneshot::Receiver<usize>;
        let actor = system.spawn(does(move |msg: Result<Answer, usize>, ctx| match msg {
            Ok(answer) => ctx.pipe(async { answer.await.unwrap() }, Err),
            Err(result) => results.send(result).unwrap(),
        }));
        let count = 200;
        let (senders, answers): (Vec<_>, Vec<_>) = (0..count).map(|_| oneshot::channel()).unzip();
        let other = thread::spawn(move || {
            for (n, sender) in senders.into_iter().enumerate() {
                sender.send(n).unwrap();
            }
        });
        answers.into_iter().for_each(|answer| actor.send(Ok(answer)).unwrap());
        let mut results: Vec<_> = told.iter().take(count).collect();
        results.sort_unstable();
        assert_eq!(results, (0..count).collect::<Vec<_>>(), "{system:?}");
        other.join().unwrap();
        let report = system.shutdown(Shutdown::Drain);
        assert_eq!(report.dead, 0);
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    });
}

#[test]
fn a_panic_fails_the_actor_that_asked_and_its_supervision_decides() {
    quiet();
    for seed in 0..20 {
        for how in 0..3 {
            let mut sys = TestSystem::seeded(seed);
            let probe = sys.probe();
            let told = probe.callback();
            let pipe = move || {
                let told = told.clone();
                does(move |msg: Option<u32>, ctx| match (msg, how) {
                    (None, 0) => ctx.pipe(async { panic!("{ON_PURPOSE}") }, |()| Some(1)),
                    (None, 1) => {
                        let later = async {
                            yield_now().await;
                            panic!("{ON_PURPOSE}")
                        };
                        ctx.pipe(later, |()| Some(2));
                    }
                    (None, _) => ctx.pipe(async {}, |()| panic!("{ON_PURPOSE}")),
                    (Some(n), _) => told(n),
                })
            };
            let supervision = Supervision::restart().limit(2, Duration::from_secs(1));
            let options = SpawnOptions::new().supervise(supervision);
            let actor = sys.spawn_with(options, pipe).unwrap();
            let watched = actor.clone();
            let downs = sys.probe::<Down>();
            let tell = downs.callback();
            let watcher = sys.spawn(does(move |msg: Option<Down>, ctx| match msg {
                None => ctx.watch(&watched, Some),
                Some(down) => tell(down),
            }));
            watcher.tell(None);
            sys.run_until_idle();
            for n in 1..4 {
                actor.tell(None);
                sys.run_until_idle();
                assert_eq!(sys.stats().total().panicked, n);
                assert_eq!(actor.is_closed(), n == 3);
                if n < 3 {
                    actor.tell(Some(n as u32));
                    probe.expect_eq(n as u32);
                }
            }
            let down = downs.expect_next();
            let StopReason::Failed(failure) = down.reason else { panic!("{down:?}") };
            assert_eq!((failure.actor(), failure.message()), (actor.id(), ON_PURPOSE));
            probe.expect_none();
            assert!(sys.audit().is_balanced());
        }
    }
}

#[test]
fn who_wants_a_panic_as_a_message_gets_it() {
    quiet();
    let mut sys = TestSystem::seeded(3);
    let probe = sys.probe();
    let told = probe.callback();
    let actor = sys.spawn(does(move |msg: Option<Result<u32, Panicked>>, ctx| match msg {
        None => {
            ctx.pipe_catch_unwind(async { panic!("{ON_PURPOSE}") }, Some);
            ctx.pipe_catch_unwind(async { 3 }, Some);
        }
        Some(result) => told(result.map_err(|panicked| panicked.message().to_owned())),
    }));
    actor.tell(None);
    sys.run_until_idle();
    let mut results = probe.received();
    results.sort();
    assert_eq!(results, [Ok(3), Err(ON_PURPOSE.to_owned())]);
    assert_eq!(sys.stats().total().panicked, 0, "whoever asked has it");
    assert!(!actor.is_closed());
}

#[test]
fn a_result_for_one_that_has_ended_is_a_dead_letter() {
    let mut sys = TestSystem::seeded(1);
    let actor = sys.spawn(does(|msg: Result<oneshot::Receiver<u32>, u32>, ctx| {
        ctx.pipe(async { msg.unwrap().await.unwrap() }, Err);
        ctx.stop();
    }));
    let (sender, answer) = oneshot::channel();
    actor.tell(Ok(answer));
    sys.run_until_idle();
    assert!(actor.is_closed());
    assert_eq!(sys.audit().dead, 0);
    sender.send(7).unwrap();
    sys.run_until_idle();
    let letters = sys.handle().dead_letters();
    assert_eq!((letters.len(), letters[0].count, letters[0].to), (1, 1, actor.id()));
    assert_eq!(letters[0].reason, StopReason::AlreadyStopped);
    let audit = sys.audit();
    assert!(audit.is_balanced() && audit.dead == 1, "{audit:?}");
}

#[test]
fn what_is_not_ready_is_dropped_at_shutdown() {
    for how in [Shutdown::Drain, Shutdown::Drop] {
        everywhere(|system| {
            let (held, dropped) = mpsc::channel::<()>();
            let (began, begun) = mpsc::channel();
            let (sender, answer) = oneshot::channel::<()>();
            let mut answer = Some(answer);
            let actor = system.spawn(does(move |never: bool, ctx| {
                let (held, began) = (held.clone(), began.clone());
                if never {
                    let future = async move {
                        let _held = held;
                        began.send(()).unwrap();
                        pending::<()>().await;
                    };
                    return ctx.pipe(future, |()| unreachable!("it is never ready"));
                }
                let answer = answer.take().unwrap();
                let future = async move {
                    let _held = held;
                    began.send(()).unwrap();
                    answer.await.unwrap();
                };
                ctx.pipe(future, |()| unreachable!("it comes too late"));
            }));
            actor.send(true).unwrap();
            actor.send(false).unwrap();
            (0..2).for_each(|_| begun.recv().unwrap());
            let report = system.shutdown(how);
            assert_eq!((report.handled, report.dead), (2, 0), "{system:?}");
            // Futures and actor are gone: nobody holds the other end.
            assert!(dropped.recv().is_err());
            assert!(sender.send(()).is_err());
            assert_eq!(system.stats().actors, 0);
            assert!(system.audit(Duration::MAX).unwrap().is_balanced());
        });
    }
}

#[cfg(feature = "tokio")]
#[test]
fn futures_use_the_timers_of_tokio() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let handle = runtime.handle().clone();
    let (end, ended) = oneshot::channel::<()>();
    // Drives the timers.
    let driver = thread::spawn(move || runtime.block_on(ended));
    for policy in Policy::ALL {
        let builder = System::builder().policy(policy).workers(2).bind(actinium_actor::Bind::None);
        let system = builder.tokio(handle.clone()).build().unwrap();
        let (results, told) = mpsc::channel();
        let actor = system.spawn(does(move |msg: Option<u64>, ctx| match msg {
            None => {
                let short = async {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    1
                };
                ctx.pipe(short, Some);
                let limited = async {
                    let long = tokio::time::sleep(Duration::from_secs(3600));
                    tokio::time::timeout(Duration::from_millis(1), long).await
                };
                ctx.pipe(limited, |late| Some(u64::from(late.is_err())));
                // This one is dropped with the system.
                ctx.pipe(async { tokio::time::sleep(Duration::from_secs(3600)).await }, |()| None);
            }
            Some(n) => results.send(n).unwrap(),
        }));
        (0..10).for_each(|_| actor.send(None).unwrap());
        (0..20).for_each(|_| assert_eq!(told.recv(), Ok(1), "{system:?}"));
        assert_eq!(system.shutdown(Shutdown::Drain).dead, 0);
        assert_eq!(system.stats().total().panicked, 0);
    }
    end.send(()).unwrap();
    driver.join().unwrap().unwrap();
}
