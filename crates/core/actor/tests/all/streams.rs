//! Streams, iterators and closures whose items an actor handles as messages.

use crate::common::{ON_PURPOSE, does, quiet, system, test_systems};
use actinium_actor::{Detached, Output, Policy, Shutdown, SpawnOptions, StreamId, Supervision};
use futures_channel::{mpsc, oneshot};
use futures_lite::stream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What an actor of these stories gets.
enum Msg {
    Begin,
    Item(u32),
    Word(&'static str),
    End(StreamId),
}

#[test]
fn a_stream_keeps_its_actor_alive_until_it_ends_and_its_items_are_in_the_ledger() {
    for mut sys in test_systems() {
        let probe = sys.probe();
        let told = probe.callback();
        let (sender, receiver) = mpsc::unbounded();
        let mut receiver = Some(receiver);
        let actor = sys.spawn(does(move |msg, ctx| match msg {
            Msg::Begin => drop(ctx.attach_stream(receiver.take().unwrap(), Msg::Item)),
            Msg::Item(n) => told(n),
            _ => {}
        }));
        actor.tell(Msg::Begin);
        drop(actor);
        sender.unbounded_send(1).unwrap();
        sys.run_until_idle();
        (2..100).for_each(|n| sender.unbounded_send(n).unwrap());
        sys.run_until_idle();
        assert_eq!(probe.received(), (1..100).collect::<Vec<_>>());
        assert_eq!(sys.stats().actors, 2);
        drop(sender);
        sys.run_until_idle();
        assert_eq!(sys.stats().actors, 1, "only the probe is left");
        let audit = sys.audit();
        assert!(audit.is_balanced(), "{audit:?}");
        assert_eq!(audit.handled, 1 + 99 + 99);
    }
}

#[test]
fn a_stream_without_end_leaves_the_mailbox_its_turns_and_ends_with_a_drain() {
    for mut sys in test_systems() {
        let probe = sys.probe();
        let told = probe.callback();
        let made = Arc::new(AtomicU32::new(0));
        let (counted, handled) = (made.clone(), Arc::new(AtomicU32::new(0)));
        let seen = handled.clone();
        let endless = stream::repeat_with(move || counted.fetch_add(1, Ordering::Relaxed));
        let mut endless = Some(endless);
        let actor = sys.spawn(does(move |msg, ctx| match msg {
            Msg::Begin => drop(ctx.attach_stream(endless.take().unwrap(), Msg::Item)),
            Msg::Item(_) => drop(seen.fetch_add(1, Ordering::Relaxed)),
            Msg::Word(word) => told(word),
            Msg::End(_) => {}
        }));
        actor.tell(Msg::Begin);
        for word in ["one", "two", "three"] {
            actor.tell(Msg::Word(word));
            (0..20).for_each(|_| assert!(sys.step(), "it never rests"));
        }
        assert_eq!(probe.received(), ["one", "two", "three"]);
        assert_eq!(made.load(Ordering::Relaxed), handled.load(Ordering::Relaxed));
        assert!(sys.audit().is_balanced());
        actor.stop();
        sys.run_until_idle();
        assert!(actor.is_closed());
    }
    let system = system(Policy::affine(), 2);
    let actor = system.spawn(does(move |msg, ctx| {
        if let Msg::Begin = msg {
            ctx.attach_stream(stream::repeat(1), Msg::Item);
            ctx.attach_iter(std::iter::repeat(1), Msg::Item);
        }
    }));
    actor.tell(Msg::Begin);
    let report = system.shutdown(Shutdown::Drain);
    assert_eq!((report.dead, report.left_actors), (0, 0));
}

#[test]
fn items_wait_while_their_actor_holds() {
    for mut sys in test_systems() {
        let probe = sys.probe();
        let told = probe.callback();
        let (sender, receiver) = oneshot::channel::<()>();
        let mut receiver = Some(receiver);
        let actor = sys.spawn(does(move |msg, ctx| match msg {
            Msg::Begin => drop(ctx.attach_stream(stream::iter(1..=3), Msg::Item)),
            Msg::Item(n) => {
                told(n);
                if let Some(receiver) = receiver.take() {
                    ctx.hold(receiver, |_, _, _| ());
                }
            }
            _ => {}
        }));
        actor.tell(Msg::Begin);
        sys.run_until_idle();
        assert_eq!(probe.received(), [1]);
        sender.send(()).unwrap();
        sys.run_until_idle();
        assert_eq!(probe.received(), [2, 3]);
    }
}

#[test]
fn a_stream_is_detached_by_its_number_and_told_of_no_more() {
    for mut sys in test_systems() {
        let probe = sys.probe();
        let told = probe.callback();
        let actor = sys.spawn(does(move |msg, ctx| match msg {
            Msg::Begin => {
                let numbers = stream::repeat(7);
                let id = ctx.attach_stream(numbers, Msg::Item);
                ctx.address().tell(Msg::End(id));
                ctx.address().tell(Msg::End(id));
            }
            Msg::End(id) => told(u32::from(ctx.detach(id))),
            _ => {}
        }));
        actor.tell(Msg::Begin);
        sys.run_until_idle();
        assert_eq!(probe.received(), [1, 0]);
    }
}

#[test]
fn a_panic_in_a_stream_is_a_failure_and_a_restart_ends_all_of_them() {
    quiet();
    for mut sys in test_systems() {
        for how in 0..3 {
            let probe = sys.probe();
            let told = probe.callback();
            let (sender, receiver) = mpsc::unbounded::<u32>();
            let mut receiver = Some(receiver);
            let options = SpawnOptions::new().supervise(Supervision::restart());
            let make = move || {
                let (mut receiver, told) = (receiver.take(), told.clone());
                does(move |msg, ctx| match msg {
                    Msg::Begin => {
                        ctx.attach_stream(receiver.take().unwrap(), Msg::Item);
                        let panics = || -> u32 { panic!("{ON_PURPOSE}") };
                        match how {
                            0 => ctx.attach_stream(stream::repeat_with(panics), Msg::Item),
                            1 => ctx.attach_iter(std::iter::repeat_with(panics), Msg::Item),
                            _ => ctx.attach_stream(stream::once(1), |_| panic!("{ON_PURPOSE}")),
                        };
                    }
                    Msg::Item(n) => told(n),
                    _ => {}
                })
            };
            let actor = sys.spawn_with(options, make).unwrap();
            actor.tell(Msg::Begin);
            actor.tell(Msg::Item(5));
            sys.run_until_idle();
            assert_eq!(probe.received(), [5], "by one of the two instances");
            assert!(sender.is_closed(), "with the instance that failed");
            assert_eq!(sys.stats().total().restarted, how + 1);
            assert!(sys.audit().is_balanced());
        }
    }
}

#[test]
fn a_closure_waits_while_its_actor_is_behind() {
    for mut sys in test_systems() {
        let probe = sys.probe();
        let told = probe.callback();
        let sent = Arc::new(AtomicU32::new(0));
        let counted = sent.clone();
        let actor = sys.spawn(does(move |msg, ctx| match msg {
            Msg::Begin => {
                let counted = counted.clone();
                let numbers = move |output: &mut Output<u32>| {
                    (0..1000).try_for_each(|n| {
                        counted.fetch_add(1, Ordering::Relaxed);
                        output.send(n)
                    })
                };
                ctx.offload_stream(numbers, Msg::Item);
            }
            Msg::Item(n) => {
                // Those of this turn, those that wait, and the one that does not fit.
                assert!(counted.load(Ordering::Relaxed) <= n + 64 + 65);
                told(n);
            }
            _ => {}
        }));
        actor.tell(Msg::Begin);
        drop(actor);
        sys.run_until_idle();
        assert_eq!(probe.received(), (0..1000).collect::<Vec<_>>());
        assert_eq!((sys.stats().actors, sent.load(Ordering::Relaxed)), (1, 1000));
    }
}

#[test]
fn a_drain_waits_for_a_closure_and_an_end_stops_it() {
    for policy in Policy::ALL {
        let running = system(policy, 2);
        let actor = running.spawn(does(move |msg, ctx| {
            if let Msg::Begin = msg {
                let numbers = |output: &mut Output<u32>| (0..500).try_for_each(|n| output.send(n));
                ctx.offload_stream(numbers, Msg::Item);
            }
        }));
        actor.tell(Msg::Begin);
        let report = running.shutdown(Shutdown::Drain);
        assert_eq!((report.handled, report.dead), (501, 0), "{policy:?}");

        let killed = system(policy, 2);
        let (ended, heard) = std::sync::mpsc::channel();
        let actor = killed.spawn(does(move |msg, ctx| match msg {
            Msg::Begin => {
                let ended = ended.clone();
                let endless = move |output: &mut Output<u32>| {
                    let Err(Detached(n)) = (0..).try_for_each(|n| output.send(n)) else {
                        unreachable!("there is always another number");
                    };
                    ended.send(n).unwrap();
                    Err(Detached(n))
                };
                ctx.offload_stream(endless, Msg::Item);
            }
            Msg::Item(100) => ctx.stop(),
            _ => {}
        }));
        actor.tell(Msg::Begin);
        assert!(heard.recv().unwrap() > 100);
    }
}
