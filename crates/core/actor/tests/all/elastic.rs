//! Elastic workers: called when work waits, sent home when it does not, and nothing is lost by
//! either.

use crate::common::{Does, does};
use actinium_actor::{
    Address, Bind, BuildError, Elastic, Policy, Reply, ScaleReason, Shutdown, SpawnOptions, System,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

const WORKERS: usize = 4;

fn elastic() -> System {
    let builder = System::builder().workers(WORKERS).bind(Bind::None);
    builder.elastic(true).build().expect("a system")
}

/// Waits for a worker to find that there are too many.
fn wait_for_one_worker(system: &System) {
    while system.stats().working > 1 {
        std::thread::yield_now();
    }
}

/// Actors that nobody knows yet get a message each, all at once.
fn burst(system: &System) {
    let toil = || system.spawn(does(move |(), _| (0..1_000).for_each(|_| std::hint::spin_loop())));
    let actors: Vec<Address<Does<()>>> = (0..4 * WORKERS).map(|_| toil()).collect();
    // Of another type: what it costs says nothing about them.
    let starter = system.spawn(does(move |_: u8, _| {
        actors.iter().for_each(|actor| actor.send(()).expect("it lives"));
    }));
    starter.send(1).expect("it lives");
    system.wait_idle(Duration::MAX).unwrap();
}

#[test]
fn a_burst_calls_all_that_it_needs_and_says_why() {
    // No window ends: only a delay can call anybody.
    let rules = Elastic { window_ns: u64::MAX / 4, ..Elastic::DEFAULT };
    let builder = System::builder().workers(WORKERS).bind(Bind::None).elastic_with(rules);
    let system = builder.build().expect("a system");
    assert_eq!(system.stats().working, 1, "it starts with one");
    burst(&system);
    let stats = system.stats();
    let event = stats.scale_events[0];
    assert_eq!((event.from, event.reason), (1, ScaleReason::Delay));
    assert!(event.to > 1 && event.view.movable > 0 && event.view.wait_ns > 0, "{event:?}");
    assert!(stats.total().grown >= 1, "{:?}", stats.total());
}

#[test]
fn without_work_one_worker_is_left() {
    let system = elastic();
    burst(&system);
    wait_for_one_worker(&system);
    // The burst's actors end after it, which may call workers once more, and a change is noted
    // before it is counted: both are over when the figures agree.
    let (stats, last) = loop {
        let stats = system.stats();
        let sum = |of: fn(usize, usize) -> usize| -> u64 {
            stats.scale_events.iter().map(|event| of(event.from, event.to) as u64).sum()
        };
        let noted =
            (sum(|from, to| to.saturating_sub(from)), sum(|from, to| from.saturating_sub(to)));
        let total = stats.total();
        let last = *stats.scale_events.last().expect("it has changed");
        if (stats.working, last.to) == (1, 1) && noted == (total.grown, total.shrunk) {
            break (stats, last);
        }
        std::thread::yield_now();
    };
    assert_eq!(last.reason, ScaleReason::Idle);
    assert!(last.view.busy_percent.is_some_and(|busy| busy <= 70), "{last:?}");
    assert_eq!(stats.total().grown, stats.total().shrunk, "as many went as came");
}

#[test]
fn what_has_its_home_at_a_worker_that_does_not_work_moves() {
    // However long it takes until the one that works sees the message.
    let rules = Elastic {
        wait_worth_growing_ns: u64::MAX,
        busy_to_grow_percent: 1_000,
        ..Elastic::DEFAULT
    };
    let builder = System::builder().workers(WORKERS).bind(Bind::None).elastic_with(rules);
    let system = builder.build().expect("a system");
    let seen = Arc::new(AtomicUsize::new(usize::MAX));
    let at = seen.clone();
    let mut at = Some(at);
    let actor = move || {
        let at = at.take().expect("it is started once");
        does(move |(), ctx| at.store(ctx.worker(), SeqCst))
    };
    let options = SpawnOptions::new().on_worker(WORKERS - 1);
    let actor = system.spawn_with(options, actor).expect("there is such a worker");
    actor.send(()).expect("it lives");
    system.wait_idle(Duration::MAX).unwrap();
    assert_eq!(seen.load(SeqCst), 0, "the only one that works");
    assert_eq!(system.stats().total().pushed, 1);
}

#[test]
fn what_is_pinned_runs_at_its_home_though_that_does_not_work() {
    let builder = System::builder().workers(WORKERS).bind(Bind::None).elastic(true);
    let system = builder.build().expect("a system");
    let make = || does(|reply: Reply<usize>, ctx| _ = reply.send(ctx.worker()));
    let options = SpawnOptions::new().on_worker(WORKERS - 1).pinned();
    let pinned = system.spawn_with(options, make).expect("there is such a worker");
    for _ in 0..10 {
        assert_eq!(pinned.ask(|reply| reply).wait(), Ok(WORKERS - 1));
        system.wait_idle(Duration::MAX).unwrap();
    }
    let total = system.stats().total();
    assert_eq!((total.pushed, total.grown), (0, 0), "no worker is called for it");
}

#[test]
fn messages_survive_any_number_of_changes_in_their_order() {
    const EACH: u64 = if cfg!(miri) { 20 } else { 2_000 };
    // Changes its mind at every look.
    let rules = Elastic {
        wait_worth_growing_ns: 0,
        busy_kept_percent: 100,
        window_ns: 1,
        ..Elastic::DEFAULT
    };
    let builder = System::builder().workers(WORKERS).bind(Bind::None).elastic_with(rules);
    let system = builder.build().expect("a system");
    let handled = Arc::new(AtomicUsize::new(0));
    let count = || {
        let (handled, mut next) = (handled.clone(), 0);
        system.spawn(does(move |number: u64, _| {
            assert_eq!(number, next, "overtaken, lost or doubled");
            next += 1;
            handled.fetch_add(1, SeqCst);
        }))
    };
    let actors: Vec<Address<Does<u64>>> = (0..8).map(|_| count()).collect();
    for number in 0..EACH {
        actors.iter().for_each(|actor| actor.send(number).expect("it lives"));
    }
    let report = system.shutdown(Shutdown::Drain);
    assert_eq!(handled.load(SeqCst) as u64, 8 * EACH);
    assert_eq!((report.handled, report.dead, report.dropped), (8 * EACH, 0, 0));
}

#[test]
fn all_workers_work_unless_they_are_elastic() {
    let builder = System::builder().workers(WORKERS).bind(Bind::None);
    for builder in [builder.clone(), builder.elastic(true).elastic(false)] {
        let system = builder.build().expect("a system");
        let stats = system.stats();
        assert_eq!((stats.working, stats.scale_events.len()), (WORKERS, 0));
    }
}

#[test]
fn the_least_number_works_from_the_start() {
    let rules = Elastic { least: 3, ..Elastic::DEFAULT };
    let builder = System::builder().workers(WORKERS).bind(Bind::None).elastic_with(rules);
    assert_eq!(builder.build().expect("a system").stats().working, 3);
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |builder: actinium_actor::SystemBuilder, expected: &str| {
        let error = builder.bind(Bind::None).build().expect_err("it is refused");
        assert!(matches!(error, BuildError::Setting { .. }), "{error:?}");
        assert_eq!(error.to_string(), expected);
    };
    let builder = System::builder().workers(2);
    refused(
        builder.clone().policy(Policy::pinned()).elastic(true),
        "elastic: 'true' is not allowed: not with the policy pinned, only with affine",
    );
    for least in [0, 3] {
        refused(
            builder.clone().elastic_with(Elastic { least, ..Elastic::DEFAULT }),
            &format!("elastic: least: '{least}' is not allowed: 1 to 2, the number of workers"),
        );
    }
    let none = Elastic { window_ns: 0, ..Elastic::DEFAULT };
    let error = builder.elastic_with(none).build().expect_err("it is refused").to_string();
    assert!(error.ends_with("window_ns at least 1, busy_kept_percent 1 to 100"), "{error}");
}
