//! Nobody waits for ever, however busy others are.

use crate::common::{Does, does, system};
use actinium_actor::testing::TestSystem;
use actinium_actor::{ActorId, Context, Policy, Shutdown};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::Duration;

const OTHERS: usize = if cfg!(miri) { 20 } else { 1_000 };

/// Sends itself each message again, for ever.
fn flooder() -> Does<u64> {
    does(|n: u64, ctx| ctx.address().send(n + 1).unwrap())
}

#[test]
fn everybody_has_a_turn_while_one_floods_itself() {
    for policy in Policy::ALL {
        for workers in [1, 2, 4] {
            let system = system(policy, workers);
            let flood = system.spawn(flooder());
            (0..10).for_each(|_| flood.send(0).unwrap());
            let (tell, told) = mpsc::channel();
            let others: Vec<_> = (0..OTHERS)
                .map(|n| {
                    let tell = tell.clone();
                    system.spawn(does(move |round: usize, _| tell.send((n, round)).unwrap()))
                })
                .collect();
            for round in 0..3 {
                others.iter().for_each(|other| other.send(round).unwrap());
                let mut seen: Vec<_> = told.iter().take(OTHERS).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..OTHERS).map(|n| (n, round)).collect::<Vec<_>>());
            }
            // The flood went on all the time: its ten messages are still there.
            assert!(system.shutdown(Shutdown::Drop).dropped >= 10);
        }
    }
}

/// The same among those who are started and sent to by an actor on the flooder's own worker.
#[test]
fn everybody_has_a_turn_beside_a_flood_on_the_same_worker() {
    for policy in Policy::ALL {
        let system = system(policy, 1);
        let (tell, told) = mpsc::channel();
        let starter = system.spawn(does(move |(), ctx| {
            ctx.spawn_detached(flooder()).send(0).unwrap();
            for n in 0..OTHERS {
                let tell = tell.clone();
                let other = ctx.spawn_detached(does(move |n: usize, _| tell.send(n).unwrap()));
                other.send(n).unwrap();
            }
        }));
        starter.send(()).unwrap();
        let mut seen: Vec<_> = told.iter().take(OTHERS).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..OTHERS).collect::<Vec<_>>());
        assert!(system.shutdown(Shutdown::Drop).dropped >= 1);
    }
}

/// Longest distance between two turns of anybody who always has something to do.
fn longest_wait(trace: &[(ActorId, &'static str)]) -> usize {
    let mut last = HashMap::new();
    let mut longest = 0;
    for (at, (id, _)) in trace.iter().enumerate() {
        if let Some(before) = last.insert(*id, at) {
            longest = longest.max(at - before);
        }
    }
    longest
}

#[test]
fn in_order_nobody_waits_longer_than_one_turn_of_each() {
    for policy in Policy::ALL {
        for batch in [1, 64] {
            let mut sys = TestSystem::builder().policy(policy).batch(batch).fifo().build();
            let actors: Vec<_> = (0..100).map(|_| sys.spawn(flooder())).collect();
            // The first has much more to do than the others.
            (0..1000).for_each(|_| actors[0].tell(0));
            actors.iter().for_each(|actor| actor.tell(0));
            for _ in 0..10_000 {
                assert!(sys.step());
            }
            let trace = sys.trace();
            assert_eq!(longest_wait(&trace), 100, "{policy}, batches of {batch}");
        }
    }
}

#[test]
fn by_lot_nobody_waits_much_longer() {
    for seed in 0..10 {
        let mut sys = TestSystem::seeded(seed);
        let actors: Vec<_> = (0..100).map(|_| sys.spawn(flooder())).collect();
        actors.iter().for_each(|actor| actor.tell(0));
        for _ in 0..20_000 {
            assert!(sys.step());
        }
        // To wait for 25 times the mean has a chance of e^-25 for each of 20,000 turns.
        assert!(longest_wait(&sys.trace()) < 2_500);
    }
}

/// Each message of the one makes three for another, which handles them before the next if the one
/// lets it.
#[test]
fn whoever_yields_lets_others_run_before_its_next_message() {
    for policy in Policy::ALL {
        for (yields, expected) in [(true, [0, 3, 6]), (false, [0, 0, 0])] {
            let system = system(policy, 1);
            let (sender, seen) = mpsc::channel();
            let starter = system.spawn(does(move |(), ctx| {
                let handled = Arc::new(AtomicUsize::new(0));
                let count = handled.clone();
                let many = ctx.spawn_detached(does(move |(), _| _ = count.fetch_add(1, SeqCst)));
                let sender = sender.clone();
                let one = ctx.spawn_detached(does(move |(), ctx: &mut Context<'_, Does<()>>| {
                    sender.send(handled.load(SeqCst)).unwrap();
                    (0..3).for_each(|_| many.send(()).unwrap());
                    if yields {
                        ctx.yield_now();
                    }
                }));
                (0..3).for_each(|_| one.send(()).unwrap());
            }));
            starter.send(()).unwrap();
            system.wait_idle(Duration::MAX).unwrap();
            assert_eq!(seen.try_iter().collect::<Vec<_>>(), expected, "{policy}, {yields}");
        }
    }
}
