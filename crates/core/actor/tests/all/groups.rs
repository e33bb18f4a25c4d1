//! Several actors behind one handle.

use crate::common::{Does, does, system};
use actinium_actor::testing::{Probe, TestSystem};
use actinium_actor::{
    Address, Broadcast, Mailbox, Policy, Router, SendError, Shutdown, SpawnOptions,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

type Member = Does<u64>;

/// Some members, and what they get: who, and what.
fn start(seed: u64, n: usize) -> (TestSystem, Vec<Address<Member>>, Probe<(usize, u64)>) {
    let sys = TestSystem::seeded(seed);
    let probe = sys.probe();
    let members = (0..n).map(|who| {
        let told = probe.callback();
        sys.spawn(does(move |msg, _| told((who, msg))))
    });
    let members = members.collect();
    (sys, members, probe)
}

/// Who got the messages 0, 1, 2, ... of those received.
fn who_got(sys: &mut TestSystem, probe: &Probe<(usize, u64)>) -> Vec<usize> {
    sys.run_until_idle();
    let mut received = probe.received();
    received.sort_unstable_by_key(|&(_, msg)| msg);
    received.into_iter().map(|(who, _)| who).collect()
}

fn end(sys: &mut TestSystem, member: &Address<Member>) {
    member.stop();
    sys.run_until_idle();
    assert!(member.is_closed());
}

#[test]
fn each_gets_its_turn() {
    let (mut sys, members, probe) = start(1, 4);
    let router = Router::round_robin(members.clone());
    assert_eq!(router.members(), members);
    (0..100).for_each(|msg| router.send(msg).unwrap());
    let expected: Vec<_> = (0..100).map(|msg| msg % 4).collect();
    assert_eq!(who_got(&mut sys, &probe), expected);
}

#[test]
fn turns_are_even_from_many_threads() {
    for policy in Policy::ALL {
        let system = system(policy, 2);
        let counts: Arc<[AtomicU64; 4]> = Arc::default();
        let members = (0..4).map(|who| {
            let counts = counts.clone();
            system.spawn(does(move |n: u64, _| {
                counts[who].fetch_add(n, Ordering::SeqCst);
            }))
        });
        let router = Router::round_robin(members);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| router.send(1).unwrap()));
            }
        });
        assert_eq!(system.shutdown(Shutdown::Drain).handled, 4000);
        let counts: Vec<_> = counts.iter().map(|count| count.load(Ordering::SeqCst)).collect();
        assert_eq!(counts, [1000; 4], "{system:?}");
    }
}

#[test]
fn turns_pass_over_those_that_have_ended() {
    let (mut sys, members, probe) = start(2, 4);
    let router = Router::round_robin(members.clone());
    end(&mut sys, &members[1]);
    end(&mut sys, &members[2]);
    (0..8).for_each(|msg| router.send(msg).unwrap());
    assert_eq!(who_got(&mut sys, &probe), [0, 3, 3, 3, 0, 3, 3, 3]);
    let audit = sys.audit();
    assert!(audit.is_balanced() && audit.dead == 0, "{audit:?}");
}

#[test]
fn the_same_key_goes_to_the_same_actor() {
    let (mut sys, members, probe) = start(3, 4);
    let key = |msg: &u64| msg % 50;
    let router = Router::by_key(members.clone(), key);
    (0..200).for_each(|msg| router.send(msg).unwrap());
    let first = who_got(&mut sys, &probe);
    for msg in 50..200 {
        assert_eq!(first[msg], first[msg % 50]);
    }
    assert!((0..4).all(|who| first.contains(&who)), "{first:?}");
    // Another router over the same actors agrees.
    let other = Router::by_key(members.clone(), key);
    (0..200).for_each(|msg| other.send(msg).unwrap());
    assert_eq!(who_got(&mut sys, &probe), first);
    // When one ends, its keys go to all others, and other keys stay where they were.
    end(&mut sys, &members[3]);
    (0..200).for_each(|msg| router.send(msg).unwrap());
    let after = who_got(&mut sys, &probe);
    let moved: Vec<_> = first.iter().zip(&after).filter(|(first, after)| first != after).collect();
    assert!(moved.iter().all(|(first, _)| **first == 3), "{moved:?}");
    assert!((0..3).all(|heir| moved.iter().any(|(_, after)| **after == heir)), "{moved:?}");
}

/// Written down once: keys must stay where they are from release to release.
#[test]
fn where_keys_go_never_changes() {
    let (mut sys, members, probe) = start(3, 4);
    let texts = ["", "a", "b", "ab", "actinium", "locality", "graph", "node"];
    let router = Router::by_key(members, move |msg: &u64| texts[*msg as usize]);
    (0..8).for_each(|msg| router.send(msg).unwrap());
    assert_eq!(who_got(&mut sys, &probe), [1, 2, 1, 3, 2, 1, 1, 1]);
}

#[test]
fn the_least_loaded_is_chosen_and_among_equals_the_first() {
    let (mut sys, members, probe) = start(4, 4);
    let router = Router::least_loaded(members.clone());
    end(&mut sys, &members[1]);
    // Nobody runs meanwhile: they have 2, none (it has ended), 0 and 1 waiting.
    for (who, msg) in [(0, 100), (0, 101), (3, 102)] {
        members[who].send(msg).unwrap();
    }
    (0..6).for_each(|msg| router.send(msg).unwrap());
    assert_eq!(members.iter().map(Address::len).collect::<Vec<_>>(), [3, 0, 3, 3]);
    assert_eq!(who_got(&mut sys, &probe)[..6], [2, 2, 3, 0, 2, 3]);
    // All are empty again.
    router.send(0).unwrap();
    assert_eq!(who_got(&mut sys, &probe), [0]);
}

#[test]
fn when_none_is_left_the_message_comes_back() {
    let (mut sys, members, _) = start(5, 3);
    let routers = [
        Router::round_robin(members.clone()),
        Router::by_key(members.clone(), |msg| *msg),
        Router::least_loaded(members.clone()),
    ];
    members.iter().for_each(|member| end(&mut sys, member));
    let nobody = [
        Router::<Member>::round_robin([]),
        Router::by_key([], |msg| *msg),
        Router::least_loaded([]),
    ];
    for router in routers.iter().chain(&nobody) {
        assert_eq!(router.send(7), Err(SendError::Closed(7)), "{router:?}");
    }
    assert_eq!(Broadcast::new(members).send(7), 0);
    assert_eq!(Broadcast::<Member>::new([]).send(7), 0);
    assert!(sys.audit().is_balanced());
}

#[test]
fn a_full_mailbox_is_not_passed_over() {
    let mut sys = TestSystem::seeded(6);
    let narrow = || SpawnOptions::new().mailbox(Mailbox::bounded(1));
    let member = || sys.spawn_with(narrow(), || does(|_: u64, _| {})).unwrap();
    let members = [member(), member()];
    let router = Router::round_robin(members.clone());
    members[0].send(0).unwrap();
    assert_eq!(router.send(1), Err(SendError::Full(1)));
    assert_eq!(router.send(2), Ok(()));
    assert_eq!(members.each_ref().map(Address::len), [1, 1]);
    sys.run_until_idle();
    assert!(sys.audit().is_balanced());
}

#[test]
fn all_that_can_get_a_broadcast() {
    let (mut sys, mut members, probe) = start(7, 4);
    let narrow = SpawnOptions::new().mailbox(Mailbox::bounded(1));
    members.push(sys.spawn_with(narrow, || does(|_, _| {})).unwrap());
    let all = Broadcast::new(members.clone());
    assert_eq!(all.members(), members);
    assert_eq!(all.send(1), 5);
    assert_eq!(all.send(2), 4, "one is full");
    sys.run_until_idle();
    end(&mut sys, &members[2]);
    assert_eq!(all.send(3), 4);
    sys.run_until_idle();
    let mut received = probe.received();
    received.sort_unstable();
    let expected =
        [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)];
    assert_eq!(received, expected);
    let audit = sys.audit();
    assert!(audit.is_balanced(), "{audit:?}");
    assert_eq!((audit.returned, audit.dead), (2, 0));
}
