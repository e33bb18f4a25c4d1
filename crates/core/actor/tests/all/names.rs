//! Actors by name.

use crate::common::{Does, ON_PURPOSE, does, quiet};
use actinium_actor::testing::TestSystem;
use actinium_actor::{LookupError, NameError, SpawnError, SpawnOptions, Supervision};

fn named(name: &str) -> SpawnOptions {
    SpawnOptions::new().name(name)
}

#[test]
fn a_named_actor_is_found_under_its_name_and_type() {
    let mut sys = TestSystem::seeded(1);
    let probe = sys.probe::<u32>();
    let to = probe.callback();
    let bank = sys
        .spawn_with(named("bank"), move || {
            let to = to.clone();
            does(move |n: u32, _| to(n))
        })
        .unwrap();
    let handle = sys.handle();
    let found = handle.lookup::<Does<u32>>("bank").unwrap();
    assert_eq!(found, bank);
    found.tell(5);
    probe.expect_eq(5);

    let missing = handle.lookup::<Does<u32>>("tank").unwrap_err();
    assert_eq!(missing, LookupError::NotFound("tank".to_owned()));
    assert_eq!(missing.to_string(), "no living actor has the name 'tank'");
    let other = handle.lookup::<Does<u64>>("bank").unwrap_err();
    assert!(matches!(&other, LookupError::WrongType { name, .. } if name == "bank"), "{other}");
    sys.run_until_idle();
}

#[test]
fn a_name_is_given_once_at_a_time() {
    let mut sys = TestSystem::seeded(2);
    let first = sys.spawn_with(named("it"), || does(|(), _| {})).unwrap();
    let error = sys.spawn_with(named("it"), || does(|(), _| {})).unwrap_err();
    assert_eq!(error, SpawnError::NameTaken("it".to_owned()));
    let second = sys.spawn(does(|(), _| {}));
    let error = sys.handle().register("it", &second).unwrap_err();
    assert_eq!(error, NameError { name: "it".to_owned(), taken_by: first.id() });
    sys.run_until_idle();
    assert_eq!(sys.stats().actors, 2, "the one whose name was taken never was");

    first.stop();
    sys.run_until_idle();
    sys.handle().register("it", &second).unwrap();
    assert_eq!(sys.handle().lookup::<Does<()>>("it").unwrap(), second);
}

#[test]
fn all_names_go_when_the_actor_ends() {
    let mut sys = TestSystem::seeded(3);
    let handle = sys.handle();
    let actor = sys.spawn_with(named("b"), || does(|(), _| {})).unwrap();
    handle.register("a", &actor).unwrap();
    handle.register("c", &actor).unwrap();
    sys.run_until_idle();
    assert_eq!(handle.names(), ["a", "b", "c"]);
    actor.stop();
    sys.run_until_idle();
    assert_eq!(handle.names(), [""; 0]);
    let next = sys.spawn(does(|(), _| {}));
    handle.register("a", &next).unwrap();
}

#[test]
fn a_name_given_too_late_is_not_kept() {
    let mut sys = TestSystem::seeded(4);
    let handle = sys.handle();
    let actor = sys.spawn(does(|(), _| {}));
    actor.stop();
    sys.run_until_idle();
    handle.register("ghost", &actor).unwrap();
    assert!(matches!(handle.lookup::<Does<()>>("ghost"), Err(LookupError::NotFound(_))));
    assert_eq!(handle.names(), [""; 0]);
    let next = sys.spawn(does(|(), _| {}));
    handle.register("ghost", &next).unwrap();
}

#[test]
fn a_restart_keeps_the_name_and_an_end_by_panic_gives_it_back() {
    quiet();
    let mut sys = TestSystem::seeded(5);
    let handle = sys.handle();
    let make = || does(|(), _| panic!("{ON_PURPOSE}"));
    let supervision = Supervision::restart().limit(1, std::time::Duration::from_secs(1));
    let actor = sys.spawn_with(named("it").supervise(supervision), make).unwrap();
    actor.tell(());
    sys.run_until_idle();
    assert_eq!(handle.lookup::<Does<()>>("it").unwrap(), actor);
    actor.tell(());
    sys.run_until_idle();
    assert!(handle.lookup::<Does<()>>("it").is_err());
    assert_eq!(handle.names(), [""; 0]);
}

#[test]
fn a_name_keeps_its_actor_alive_until_it_ends_otherwise() {
    let mut sys = TestSystem::seeded(6);
    let handle = sys.handle();
    drop(sys.spawn_with(named("a"), || does(|(), ctx| ctx.stop())).unwrap());
    let registered = sys.spawn(does(|(), ctx| ctx.address().kill()));
    handle.register("b", &registered).unwrap();
    drop(registered);
    sys.run_until_idle();
    assert_eq!((sys.stats().actors, handle.names().len()), (2, 2));
    for name in ["a", "b"] {
        handle.lookup::<Does<()>>(name).unwrap().tell(());
    }
    sys.run_until_idle();
    assert_eq!((sys.stats().actors, handle.names().len()), (0, 0));
}
