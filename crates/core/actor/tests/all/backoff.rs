//! What waits for a restart is work that is not done.

use crate::common::{Does, ON_PURPOSE, does, quiet, system};
use actinium_actor::Bind;
use actinium_actor::testing::TestSystem;
use actinium_actor::{
    Actor, Address, Context, Policy, Shutdown, SpawnOptions, Supervision, System, WaitError,
};
use std::time::Duration;

/// Long enough that nobody waits for it.
const HOUR: Duration = Duration::from_secs(3600);

fn everywhere(story: impl Fn(System)) {
    quiet();
    for policy in Policy::ALL {
        for workers in 1..=3 {
            story(system(policy, workers));
        }
    }
}

fn backing_off(first: Duration) -> SpawnOptions {
    SpawnOptions::new().supervise(Supervision::restart().backoff(first, first))
}

/// Panics at 0, and at nothing else.
fn fragile() -> Does<u32> {
    does(|n: u32, _| assert!(n > 0, "{ON_PURPOSE}"))
}

/// Waits until it has failed.
fn fail(system: &System, actor: &Address<Does<u32>>) {
    let before = system.stats().total().panicked;
    actor.send(0).unwrap();
    while system.stats().total().panicked == before {
        std::thread::yield_now();
    }
}

#[test]
fn a_drain_restarts_it_at_once_and_drops_nothing() {
    everywhere(|system| {
        let actor = system.spawn_with(backing_off(HOUR), fragile).unwrap();
        fail(&system, &actor);
        (1..=10).for_each(|n| actor.send(n).unwrap());
        let report = system.shutdown(Shutdown::Drain);
        assert_eq!((report.handled, report.dead), (11, 0), "{system:?}");
    });
}

#[test]
fn one_that_fails_while_the_system_drains_restarts_at_once_too() {
    everywhere(|system| {
        let actor = system.spawn_with(backing_off(HOUR), fragile).unwrap();
        fail(&system, &actor);
        (0..10).for_each(|n| actor.send(n % 2).unwrap());
        let report = system.shutdown(Shutdown::Drain);
        assert_eq!((report.handled, report.dead), (11, 0), "{system:?}");
        assert_eq!(system.stats().total().restarted, 6);
    });
}

#[test]
fn it_is_not_idle_and_who_waits_hears_of_it() {
    everywhere(|system| {
        let actor = system.spawn_with(backing_off(HOUR), fragile).unwrap();
        fail(&system, &actor);
        actor.send(1).unwrap();
        let (unfinished, text) = loop {
            let error = system.wait_idle(Duration::from_millis(1)).unwrap_err();
            let text = error.to_string();
            let WaitError::TimedOut { unfinished, .. } = error else { panic!("{text}") };
            // Its panic is counted a little before its turn is over.
            if unfinished.running.is_empty() {
                break (unfinished, text);
            }
        };
        assert_eq!((unfinished.restarting.len(), unfinished.messages), (1, 1), "{text}");
        assert!(text.contains("1 wait for their restart: actor 1"), "{text}");
        assert_eq!(system.audit(Duration::MAX).unwrap().queued, 1);
        // It ends: nothing waits any more.
        actor.kill();
        system.wait_idle(Duration::MAX).unwrap();
    });
}

#[test]
fn who_waits_for_idleness_waits_for_its_restart_and_what_follows() {
    let short = Duration::from_millis(1);
    everywhere(|system| {
        let actor = system.spawn_with(backing_off(short), fragile).unwrap();
        (0..10).for_each(|n| actor.send(n % 5).unwrap());
        system.wait_idle(Duration::MAX).unwrap();
        assert_eq!(system.audit(Duration::MAX).unwrap().handled, 10, "{system:?}");
    });
}

#[test]
fn elastic_workers_come_to_rest_only_after_it() {
    quiet();
    let builder = System::builder().workers(2).bind(Bind::None).elastic(true);
    let system = builder.build().unwrap();
    let actor = system.spawn_with(backing_off(Duration::from_millis(1)), fragile).unwrap();
    (0..10).for_each(|n| actor.send(n % 5).unwrap());
    system.wait_idle(Duration::MAX).unwrap();
    assert_eq!(system.stats().total().handled, 10);
    fail(&system, &actor);
    (1..=10).for_each(|n| actor.send(n).unwrap());
    assert_eq!(system.shutdown(Shutdown::Drain).dead, 0);
}

#[test]
fn in_the_test_kit_it_waits_for_virtual_time_and_a_drain_does_not() {
    quiet();
    let mut sys = TestSystem::seeded(1);
    let actor = sys.spawn_with(backing_off(HOUR), fragile).unwrap();
    (0..=10).for_each(|n| actor.send(n).unwrap());
    sys.run_until_idle();
    assert_eq!(sys.audit().queued, 10);
    assert_eq!(sys.shutdown(Shutdown::Drain).handled, 11);
}

#[test]
fn a_start_that_always_fails_does_not_keep_a_drain_for_ever() {
    struct Hopeless;
    impl Actor for Hopeless {
        type Msg = ();
        fn started(&mut self, _: &mut Context<'_, Self>) {
            panic!("{ON_PURPOSE}");
        }
        fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {}
    }
    everywhere(|system| {
        for wait in [HOUR, Duration::ZERO] {
            let actor = system.spawn_with(backing_off(wait), || Hopeless).unwrap();
            actor.send(()).unwrap();
        }
        let report = system.shutdown(Shutdown::Drain);
        assert_eq!((report.handled, report.dead, report.dropped), (0, 2, 0), "{system:?}");
    });
}
