//! One seed gives one run; time moves only when told; what must hold in every order is tried in
//! many.

use crate::common::{Does, ON_PURPOSE, does, quiet};
use actinium_actor::testing::TestSystem;
use actinium_actor::{
    Actor, ActorId, Address, Context, Mailbox, Policy, Reply, SpawnOptions, Supervision,
};
use proptest::prelude::*;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Messages of a program with a bit of everything: fan-out, children that fail, timers, a bounded
/// mailbox.
#[derive(Debug)]
enum Job {
    Split(u32),
    Fail,
    Later(u64),
    Done,
}

/// Runs that program and returns its trace.
fn trace_of(seed: u64, policy: Policy) -> Vec<(ActorId, &'static str)> {
    quiet();
    let mut sys = TestSystem::builder().seed(seed).policy(policy).build();
    let narrow = SpawnOptions::new().mailbox(Mailbox::bounded(2));
    let sink = sys.spawn_with(narrow, || does(|_: u32, _| {})).unwrap();
    let workers: Vec<Address<Does<Job>>> = (0..5)
        .map(|_| {
            let (sink, supervision) = (sink.clone(), Supervision::restart());
            let make = move || {
                let (sink, mut children) = (sink.clone(), Vec::new());
                does(move |job, ctx| match job {
                    Job::Split(0) => sink.tell(0),
                    Job::Split(n) => {
                        ctx.address().tell(Job::Split(n - 1));
                        let child = does(|_: u32, _| panic!("{ON_PURPOSE}"));
                        let mut child = Some(child);
                        let make = move || child.take().unwrap_or_else(|| does(|_, _| {}));
                        let child = ctx.spawn_with(SpawnOptions::new(), make).unwrap();
                        child.tell(n);
                        children.push(child);
                        ctx.address().tell(Job::Later(u64::from(n) * 1000));
                    }
                    Job::Fail => panic!("{ON_PURPOSE}"),
                    Job::Later(ns) => drop(ctx.after(Duration::from_nanos(ns), Job::Done)),
                    Job::Done => sink.tell(1),
                })
            };
            sys.spawn_with(SpawnOptions::new().supervise(supervision), make).unwrap()
        })
        .collect();
    for worker in &workers {
        worker.tell(Job::Split(4));
        worker.tell(Job::Fail);
        worker.tell(Job::Split(2));
    }
    sys.advance(Duration::from_millis(1));
    let audit = sys.audit();
    assert!(audit.is_balanced() && audit.queued == 0, "{audit:?}");
    sys.trace()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 64 }))]

    #[test]
    fn the_same_seed_gives_the_same_run(seed: u64) {
        for policy in Policy::ALL {
            let trace = trace_of(seed, policy);
            prop_assert!(trace.len() > 50, "{}", trace.len());
            prop_assert_eq!(trace, trace_of(seed, policy));
        }
    }

    #[test]
    fn what_one_actor_sends_to_another_arrives_in_order(seed: u64, batch in 1_u32..5) {
        for policy in Policy::ALL {
            let mut sys = TestSystem::builder().seed(seed).policy(policy).batch(batch).build();
            let probe = sys.probe::<(usize, u32)>();
            let senders: Vec<_> = (0..4)
                .map(|sender| {
                    let to = probe.address();
                    sys.spawn(does(move |n: u32, ctx| {
                        to.tell((sender, n));
                        // To itself and from itself, in between.
                        if n % 10 < 9 {
                            ctx.address().tell(n + 1);
                        }
                    }))
                })
                .collect();
            for round in 0..3 {
                for sender in &senders {
                    sender.tell(round * 10);
                    sys.run_until_idle();
                }
            }
            let received = probe.received();
            prop_assert_eq!(received.len(), 4 * 30);
            for sender in 0..4 {
                let from: Vec<u32> =
                    received.iter().filter(|(from, _)| *from == sender).map(|&(_, n)| n).collect();
                prop_assert_eq!(from, (0..30).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn other_seeds_give_other_orders() {
    for policy in Policy::ALL {
        let traces: std::collections::BTreeSet<_> =
            (0..10).map(|seed| trace_of(seed, policy)).collect();
        assert_eq!(traces.len(), 10, "{policy}");
    }
}

/// Two actors and a probe: which of two messages comes first is for the seed to say, and both do.
#[test]
fn every_order_comes_up() {
    let first_of = |seed| {
        let sys = TestSystem::seeded(seed);
        let probe = sys.probe();
        for name in ["a", "b"] {
            let to = probe.address();
            sys.spawn(does(move |(), _| to.tell(name))).tell(());
        }
        probe.expect_next()
    };
    let firsts: Vec<&str> = (0..32).map(first_of).collect();
    assert!(firsts.contains(&"a") && firsts.contains(&"b"), "{firsts:?}");
}

#[test]
fn in_order_of_readiness_the_seed_decides_nothing() {
    let trace = |seed| {
        let mut sys = TestSystem::builder().seed(seed).fifo().build();
        let actors: Vec<_> = (0..5).map(|_| sys.spawn(does(|_: u32, _| {}))).collect();
        (0..3).for_each(|n| actors.iter().for_each(|actor| actor.tell(n)));
        sys.run_until_idle();
        sys.trace()
    };
    assert_eq!(trace(1), trace(2));
    let ids: Vec<u64> = trace(3).iter().map(|(id, _)| id.as_u64()).take(5).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5]);
}

#[test]
fn a_day_passes_in_no_time_and_each_of_its_seconds_is_there() {
    let mut sys = TestSystem::seeded(3);
    let probe = sys.probe::<Duration>();
    let to = probe.callback();
    let clock = sys.spawn(does(move |start: bool, ctx| {
        if start {
            ctx.every(Duration::from_secs(60), || false);
        } else {
            to(Duration::from_nanos(ctx.now().ns));
        }
    }));
    clock.tell(true);
    sys.advance(DAY);
    assert_eq!(sys.now().ns, 86_400_000_000_000);
    let minutes: Vec<Duration> = (1..=24 * 60).map(|n| Duration::from_secs(60 * n)).collect();
    assert_eq!(probe.received(), minutes);
}

#[test]
fn back_off_takes_virtual_time() {
    quiet();
    let mut sys = TestSystem::seeded(4);
    let probe = sys.probe::<Duration>();
    let to = probe.callback();
    let supervision =
        Supervision::restart().backoff(Duration::from_secs(1), Duration::from_secs(10));
    let fragile = sys
        .spawn_with(SpawnOptions::new().supervise(supervision), move || {
            let to = to.clone();
            does(move |(), ctx| {
                to(Duration::from_nanos(ctx.now().ns));
                panic!("{ON_PURPOSE}");
            })
        })
        .unwrap();
    (0..5).for_each(|_| fragile.tell(()));
    sys.run_until_idle();
    assert_eq!(probe.received(), [Duration::ZERO]);
    sys.advance(DAY);
    // After 1, 2, 4 and 8 s.
    assert_eq!(probe.received(), [1, 3, 7, 15].map(Duration::from_secs));
    let total = sys.stats().total();
    assert_eq!((total.panicked, total.restarted), (5, 5));
}

#[test]
fn futures_deadlines_and_offloaded_work_belong_to_the_run() {
    struct Silent(Vec<Reply<u32>>);
    impl Actor for Silent {
        type Msg = Reply<u32>;
        fn handle(&mut self, reply: Reply<u32>, _ctx: &mut Context<'_, Self>) {
            self.0.push(reply);
        }
    }
    let mut sys = TestSystem::seeded(5);
    let probe = sys.probe::<String>();
    let silent = sys.spawn(Silent(Vec::new()));
    let (to, asked) = (probe.callback(), silent.clone());
    let asker = sys.spawn(does(move |msg: Option<String>, ctx| match msg {
        Some(text) => to(format!("{text} at {:?}", Duration::from_nanos(ctx.now().ns))),
        None => {
            ctx.offload(|| "offloaded", |text| Some(text.to_owned()));
            let limit = Duration::from_secs(30);
            ctx.ask_timeout(&asked, limit, |reply| reply, |answer| Some(format!("{answer:?}")));
        }
    }));
    asker.tell(None);
    probe.expect_eq("offloaded at 0ns".to_owned());
    probe.expect_none();
    sys.advance(DAY);
    let late = format!("Err(Timeout({:?}, 30s)) at 30s", silent.id());
    probe.expect_eq(late);
    assert!(sys.audit().is_balanced());
}
