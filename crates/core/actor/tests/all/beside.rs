//! Messages that come before those of the mailbox: from the stash, urgent ones, and the one that
//! tells of silence.

use crate::common::{Does, ON_PURPOSE, does, quiet, system, test_systems};
use actinium_actor::{
    Address, Context, Mailbox, Policy, SendError, Shutdown, SpawnOptions, Supervision,
};
use futures_channel::oneshot;
use std::sync::mpsc;
use std::time::Duration;

/// Puts numbers aside until it is told otherwise, 3 at most.
fn stasher(told: impl Fn(i32) + Send + 'static) -> Does<i32> {
    let mut open = false;
    does(move |msg: i32, ctx: &mut Context<'_, Does<i32>>| match msg {
        // All of them; the even ones; those that a panic says.
        0 => {
            open = true;
            ctx.unstash_all();
        }
        -1 => {
            open = true;
            ctx.unstash(|n| n % 2 == 0);
            open = ctx.stashed() == 0;
        }
        -2 => ctx.unstash(|n| if *n == 2 { panic!("{ON_PURPOSE}") } else { true }),
        n if open || n % 2 == 0 && n > 100 => told(n),
        n => {
            ctx.stash_limit(3);
            if let Err(full) = ctx.stash(n) {
                assert!(full.to_string().starts_with("the stash is full"), "{full}");
                told(-full.0);
            }
        }
    })
}

#[test]
fn what_was_put_aside_comes_back_first_and_in_order() {
    for mut sys in test_systems() {
        let probe = sys.probe();
        let actor = sys.spawn(stasher(probe.callback()));
        [1, 2, 3, 4, 0, 5].into_iter().for_each(|n| actor.tell(n));
        while sys.step() {
            assert!(sys.audit().is_balanced());
        }
        assert_eq!(probe.received(), [-4, 1, 2, 3, 5]);
        let audit = sys.audit();
        // Each of three twice; and the probe's five.
        assert_eq!((audit.sent, audit.handled, audit.dead), (6 + 3 + 5, 6 + 3 + 5, 0));
    }
}

#[test]
fn some_are_chosen_and_the_rest_are_dead_letters_at_the_end() {
    for mut sys in test_systems() {
        let probe = sys.probe();
        let actor = sys.spawn(stasher(probe.callback()));
        [101, 1, 3].into_iter().for_each(|n| actor.tell(n));
        sys.run_until_idle();
        actor.tell(-1);
        sys.run_until_idle();
        assert!(probe.received().is_empty());
        assert_eq!(sys.audit().dead, 0);
        actor.stop();
        sys.run_until_idle();
        let audit = sys.audit();
        assert!(audit.is_balanced() && audit.dead == 3, "{audit:?}");
        assert_eq!(sys.dead_letters()[0].count, 3);
    }
}

#[test]
fn a_new_instance_gets_what_its_predecessor_had_put_aside() {
    quiet();
    for mut sys in test_systems() {
        let probe = sys.probe();
        let told = probe.callback();
        let mut restarts = 0;
        let options = SpawnOptions::new().supervise(Supervision::restart());
        let make = move || {
            restarts += 1;
            let (told, inner) = (told.clone(), restarts);
            let mut before = stasher(told.clone());
            does(
                move |n, ctx: &mut Context<'_, Does<i32>>| {
                    if inner == 1 { before.handle_as(n, ctx) } else { told(n) }
                },
            )
        };
        let actor = sys.spawn_with(options, make).unwrap();
        // A panic in the middle of the choice loses nothing.
        [1, 2, 3, -2, 9].into_iter().for_each(|n| actor.tell(n));
        while sys.step() {
            assert!(sys.audit().is_balanced());
        }
        assert_eq!(probe.received(), [1, 2, 3, 9]);
        assert_eq!(sys.audit().dead, 0);
    }
}

#[test]
fn urgent_messages_come_first_and_in_order() {
    for mut sys in test_systems() {
        let probe = sys.probe();
        let told = probe.callback();
        let (release, held) = oneshot::channel::<()>();
        let mut held = Some(held);
        let actor = sys.spawn(does(move |n: i32, ctx| match n {
            0 => ctx.hold(held.take().unwrap(), |_, _, _| ()),
            8 => {
                ctx.address().tell(9);
                ctx.address().send_urgent(-9).unwrap();
            }
            n => told(n),
        }));
        actor.tell(0);
        sys.run_until_idle();
        for n in 1..4 {
            actor.send(n).unwrap();
            actor.send_urgent(-n).unwrap();
        }
        actor.send(8).unwrap();
        sys.run_until_idle();
        assert!(probe.received().is_empty(), "it holds");
        assert_eq!((actor.len(), sys.audit().queued), (7, 7));
        assert!(sys.audit().is_balanced());
        release.send(()).unwrap();
        sys.run_until_idle();
        assert_eq!(probe.received(), [-1, -2, -3, 1, 2, 3, -9, 9]);
        assert!(sys.audit().is_balanced());
    }
}

#[test]
fn those_that_wait_behind_a_held_future_are_not_overtaken_by_their_own_kind() {
    for mut sys in test_systems() {
        let probe = sys.probe();
        let told = probe.callback();
        let actor = sys.spawn(does(move |n: i32, ctx: &mut Context<'_, Does<i32>>| {
            told(n);
            match n {
                // Each of the first three of both kinds lets one more of its kind come.
                1..=3 => {
                    ctx.address().send_urgent(n + 3).unwrap();
                    ctx.hold(futures_lite::future::yield_now(), |_, (), _| ());
                }
                7 => {
                    (11..=13).for_each(|n| ctx.stash(n).unwrap());
                    ctx.unstash_all();
                }
                11..=13 => {
                    ctx.stash(n + 3).unwrap();
                    ctx.unstash_all();
                    ctx.hold(futures_lite::future::yield_now(), |_, (), _| ());
                }
                _ => {}
            }
        }));
        [7, 8].into_iter().for_each(|n| actor.tell(n));
        (1..=3).for_each(|n| actor.send_urgent(n).unwrap());
        while sys.step() {
            assert!(sys.audit().is_balanced());
        }
        assert_eq!(probe.received(), [1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 14, 15, 16, 8]);
    }
}

#[test]
fn urgent_messages_are_bounded_and_refused_and_dead_at_the_end() {
    for mut sys in test_systems() {
        let probe = sys.probe::<i32>();
        let told = probe.callback();
        let options = SpawnOptions::new().mailbox(Mailbox::bounded(2));
        let actor = sys.spawn_with(options, does(move |n, _| told(n))).unwrap();
        actor.send_urgent(1).unwrap();
        actor.send_urgent(2).unwrap();
        assert_eq!(actor.send_urgent(3), Err(SendError::Full(3)));
        sys.run_until_idle();
        assert_eq!(probe.received(), [1, 2]);
        actor.send_urgent(4).unwrap();
        actor.send_urgent(5).unwrap();
        actor.kill();
        sys.run_until_idle();
        assert_eq!(actor.send_urgent(6), Err(SendError::Closed(6)));
        let audit = sys.audit();
        assert!(audit.is_balanced(), "{audit:?}");
        assert_eq!((audit.dead, audit.returned), (2, 2));
    }
}

#[test]
fn urgent_messages_of_many_threads_all_arrive() {
    for policy in Policy::ALL {
        let system = system(policy, 3);
        let (told, heard) = mpsc::channel();
        let actor = system.spawn(does(move |n: u32, _| told.send(n).unwrap()));
        let relay = |to: Address<Does<u32>>| {
            does(
                move |n: u32, _| {
                    if n.is_multiple_of(2) { to.send_urgent(n).unwrap() } else { to.tell(n) }
                },
            )
        };
        let relays: Vec<_> = (0..4).map(|_| system.spawn(relay(actor.clone()))).collect();
        let count = if cfg!(miri) { 40 } else { 4000 };
        for n in 0..count {
            relays[n as usize % 4].tell(n);
            actor.send_urgent(count + n).unwrap();
        }
        drop((actor, relays));
        let report = system.shutdown(Shutdown::Drain);
        let mut all: Vec<_> = heard.iter().collect();
        all.sort_unstable();
        assert_eq!(all, (0..2 * count).collect::<Vec<_>>(), "{policy:?}");
        assert_eq!(report.dead, 0);
    }
}

#[test]
fn silence_is_told_once_and_again_after_the_next_message() {
    const MINUTE: Duration = Duration::from_secs(60);
    for mut sys in test_systems() {
        let probe = sys.probe();
        let told = probe.callback();
        let (release, held) = oneshot::channel::<()>();
        let (number, numbers) = futures_channel::mpsc::unbounded();
        let (mut held, mut numbers) = (Some(held), Some(numbers));
        let actor = sys.spawn(does(move |n: i32, ctx| match n {
            1 => ctx.receive_timeout(MINUTE, || -1),
            2 => ctx.hold(held.take().unwrap(), |_, _, _| ()),
            3 => assert!(ctx.cancel_receive_timeout()),
            4 => drop(ctx.attach_stream(numbers.take().unwrap(), |n| n)),
            n => told(n),
        }));
        actor.tell(1);
        sys.run_until_idle();
        for _ in 0..3 {
            sys.advance(MINUTE / 2);
            actor.tell(7);
            sys.run_until_idle();
        }
        assert_eq!(probe.received(), [7, 7, 7]);
        sys.advance(MINUTE - Duration::from_nanos(1));
        assert!(probe.received().is_empty());
        sys.advance(Duration::from_nanos(1));
        assert_eq!(probe.received(), [-1]);
        sys.advance(5 * MINUTE);
        assert!(probe.received().is_empty(), "it was told of that silence");
        actor.tell(8);
        sys.advance(MINUTE);
        assert_eq!(probe.received(), [8, -1]);
        actor.tell(4);
        sys.advance(MINUTE / 2);
        number.unbounded_send(9).unwrap();
        sys.run_until_idle();
        assert_eq!(probe.received(), [9], "an item of a stream is a message");
        sys.advance(MINUTE - Duration::from_nanos(1));
        assert!(probe.received().is_empty());
        sys.advance(Duration::from_nanos(1));
        assert_eq!(probe.received(), [-1]);
        actor.tell(2);
        sys.advance(5 * MINUTE);
        release.send(()).unwrap();
        sys.run_until_idle();
        assert!(probe.received().is_empty(), "to hold is no silence");
        sys.advance(MINUTE);
        assert_eq!(probe.received(), [-1]);
        actor.tell(3);
        sys.advance(5 * MINUTE);
        assert!(probe.received().is_empty());
        assert!(sys.audit().is_balanced());
        actor.tell(1);
        sys.run_until_idle();
        assert_eq!(sys.shutdown(Shutdown::Drain).dead, 0);
    }
}
