//! Several actors behind one handle.

use crate::common::{Does, does, system};
use actinium_actor::testing::{Probe, TestSystem};
use actinium_actor::{
    Address, Answers, AskError, AskRecipient, Batched, Broadcast, Mailbox, Policy, Reply, Router,
    SendError, Shutdown, SpawnError, SpawnOptions,
};
use futures_lite::future::{block_on, poll_once};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

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
fn many_start_or_none() {
    let mut sys = TestSystem::seeded(1);
    let handle = sys.handle();
    let many = |options: SpawnOptions| {
        handle.spawn_many(3, &options, |who| {
            move || if who < 2 { Ok(does(|_: u64, _| {})) } else { Err("no third") }
        })
    };
    assert!(many(SpawnOptions::new()).unwrap_err().to_string().contains("no third"));
    assert_eq!(many(SpawnOptions::new().name("a")).unwrap_err(), SpawnError::NameTaken("a".into()));
    sys.run_until_idle();
    let living = sys.stats().actors;
    assert_eq!(living, 0, "those that were started have ended");
    let three = handle.spawn_many(3, &SpawnOptions::new(), |_| does(|_: u64, _| {})).unwrap();
    assert_eq!((three.len(), sys.stats().actors), (3, 3));

    let parent = sys.spawn(does(|(), ctx| {
        let none = ctx.spawn_many(3, &SpawnOptions::new().name("b"), |_| does(|_: u64, _| {}));
        assert!(matches!(none, Err(SpawnError::NameTaken(_))));
        let two = ctx.spawn_many(2, &SpawnOptions::new(), |_| does(|_: u64, _| {})).unwrap();
        // Nobody else keeps them.
        two.into_iter().for_each(std::mem::forget);
    }));
    parent.tell(());
    sys.run_until_idle();
    assert_eq!(sys.stats().actors, 3 + 1 + 2);
    parent.stop();
    sys.run_until_idle();
    assert_eq!(sys.stats().actors, 3, "children end with their parent");
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
        Router::<Address<Member>>::round_robin([]),
        Router::by_key([], |msg| *msg),
        Router::least_loaded([]),
    ];
    for router in routers.iter().chain(&nobody) {
        assert_eq!(router.send(7), Err(SendError::Closed(7)), "{router:?}");
    }
    assert_eq!(Broadcast::new(members).send(7), 0);
    assert_eq!(Broadcast::<Address<Member>>::new([]).send(7), 0);
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

// ---- who has least to do
// ----------------------------------------------------------------------------------------------------

#[test]
fn the_message_that_one_handles_counts_as_load() {
    let sys = TestSystem::seeded(8);
    let probe = sys.probe();
    type Sends = Option<Arc<Router<Address<Does<Option<Box<dyn std::any::Any + Send>>>>>>>;
    let members = [0, 1].map(|who| {
        let told = probe.callback();
        sys.spawn(does(move |msg: Option<Box<dyn std::any::Any + Send>>, _| {
            told(who);
            // None waits anywhere, but this one is busy.
            let router = msg.and_then(|msg| msg.downcast::<Sends>().ok()).and_then(|it| *it);
            router.into_iter().for_each(|router| router.send(None).unwrap());
        }))
    });
    let router = Arc::new(Router::least_loaded(members));
    router.send(Some(Box::new(Some(router.clone()) as Sends))).unwrap();
    probe.expect_eq(0);
    probe.expect_eq(1);
    probe.expect_none();
}

// ---- asking
// ----------------------------------------------------------------------------------------------------

type Question = (u64, Reply<u64>);

/// An actor that answers with the double, or keeps the question if it is odd.
fn doubles() -> Does<Question> {
    let mut kept = Vec::new();
    does(move |(n, reply): Question, _| {
        if n % 2 == 1 {
            kept.push(reply);
        } else {
            let _ = reply.send(2 * n);
        }
    })
}

#[test]
fn a_router_asks_one_here_or_elsewhere() {
    let mut sys = TestSystem::seeded(9);
    let members = [0; 3].map(|_| sys.spawn(doubles()));
    let router = Router::round_robin(members.clone());
    let recipients = members.iter().map(|it| AskRecipient::from(it.clone()));
    let anywhere: Router<AskRecipient<u64, u64>> = Router::by_key(recipients, |n| *n);
    members[0].stop();
    sys.run_until_idle();
    let answers: Vec<_> = (0..6).map(|n| router.ask(|reply| (2 * n, reply))).collect();
    let more: Vec<_> = (0..6).map(|n| anywhere.ask(2 * n)).collect();
    let reply = members[1].ask(|reply| (1, reply));
    sys.run_until_idle();
    for (n, answer) in (0..).zip(answers).chain((0..).zip(more)) {
        assert_eq!(answer.wait(), Ok(4 * n));
    }
    members[1..].iter().for_each(Address::kill);
    sys.run_until_idle();
    assert_eq!(reply.wait(), Err(AskError::NoReply(members[1].id())));
    let closed = Err(AskError::Closed(members[0].id()));
    assert_eq!(
        (router.ask(|reply| (2, reply)).wait(), anywhere.ask(2).wait()),
        (closed.clone(), closed)
    );
}

#[test]
fn all_are_asked_and_each_says_why_it_does_not_answer() {
    let mut sys = TestSystem::seeded(10);
    let second = Duration::from_secs(1);
    let members = [0; 4].map(|_| sys.spawn(doubles()));
    let ids = members.each_ref().map(Address::id);
    members[1].kill();
    sys.run_until_idle();
    let all = Broadcast::new(members.clone());
    let mut n = 0;
    // One has ended, and one keeps the question.
    let mut ask = || {
        all.ask_all(second, |reply| {
            n += 1;
            ([2, 2, 1, 6][(n - 1) % 4], reply)
        })
    };
    let mut asked = ask();
    assert_eq!(asked.left(), 4);
    let first = block_on(asked.next_answer()).unwrap();
    assert_eq!(first, (ids[1], Err(AskError::Closed(ids[1]))));
    assert_eq!(block_on(poll_once(asked.next_answer())), None, "nobody has run");
    sys.run_until_idle();
    let mut came: Vec<_> = (0..2).map(|_| block_on(asked.next_answer()).unwrap()).collect();
    came.sort_by_key(|(id, _)| *id);
    assert_eq!(came, [(ids[0], Ok(4)), (ids[3], Ok(12))]);
    assert_eq!(block_on(poll_once(asked.next_answer())), None);
    sys.advance(second);
    let late = AskError::Timeout(ids[2], second);
    assert_eq!(asked.into_iter().collect::<Vec<_>>(), [(ids[2], Err(late.clone()))]);

    let recipients = members.iter().map(|it| AskRecipient::<u64, u64>::from(it.clone()));
    let (here, anywhere) = (all.clone(), Broadcast::new(recipients));
    let probe = sys.probe();
    let told = probe.callback();
    let asker = sys.spawn(does(move |msg: Option<Answers<u64>>, ctx| match msg {
        None => {
            ctx.pipe(here.ask_all(second, |reply| (2, reply)).collect(), Some);
            ctx.pipe(anywhere.ask_all(second, 4).collect(), Some);
            let blocked = here.ask_all(second, |reply| (2, reply)).wait();
            assert_eq!(blocked.missing[0].1, AskError::WouldBlock);
        }
        Some(answers) => told(answers),
    }));
    asker.tell(None);
    sys.run_until_idle();
    let mut answered = probe.received();
    assert!(answered.iter().all(|it| it.missing == [(ids[1], AskError::Closed(ids[1]))]));
    answered.sort_by_key(|it| it.answers[0].1);
    let values = |at: usize| -> Vec<_> { answered[at].answers.iter().map(|(_, n)| *n).collect() };
    assert_eq!((values(0), values(1)), (vec![4; 3], vec![8; 3]));
    assert!(
        block_on(poll_once(
            Broadcast::<Address<Does<Question>>>::new([])
                .ask_all(second, |reply| (1, reply))
                .next_answer()
        ))
        .is_some()
    );
    assert!(sys.audit().is_balanced());
}

// ---- batches
// ----------------------------------------------------------------------------------------------------

type Shard = Does<Vec<u64>>;
/// Who got which items.
type Got = Probe<(usize, Vec<u64>)>;

fn shards(sys: &TestSystem, n: usize, room: usize) -> (Vec<Address<Shard>>, Got) {
    let probe = sys.probe();
    let shard = |who| {
        let told = probe.callback();
        let bounded = SpawnOptions::new().mailbox(Mailbox::bounded(room));
        sys.spawn_with(bounded, does(move |items, _| told((who, items)))).unwrap()
    };
    ((0..n).map(shard).collect(), probe)
}

#[test]
fn items_go_in_batches_to_where_their_keys_belong() {
    let mut sys = TestSystem::seeded(11);
    let (members, probe) = shards(&sys, 4, 100);
    let router = Router::by_key(members.clone(), |items: &Vec<u64>| items[0]);
    (0..100).for_each(|n| router.send(vec![n]).unwrap());
    sys.run_until_idle();
    let mut home = [0; 100];
    probe.received().iter().for_each(|(who, items)| home[items[0] as usize] = *who);
    let mut batched = router.batched(10, |n: &u64| *n % 100, |items| items);
    (0..1_000).for_each(|n| batched.push(n).unwrap());
    let waiting = batched.waiting();
    batched.flush().unwrap();
    assert!(waiting < 40 && batched.waiting() == 0);
    sys.run_until_idle();
    let mut received = vec![];
    for (who, items) in probe.received() {
        assert!(items.len() <= 10 && items.iter().all(|n| home[(n % 100) as usize] == who));
        received.extend(items);
    }
    for key in 0..100 {
        let of_key: Vec<_> = received.iter().filter(|n| **n % 100 == key).collect();
        assert!(of_key.is_sorted() && of_key.len() == 10);
    }
    // Those of one that ends go to others.
    (0..30).for_each(|n| batched.push(n).unwrap());
    end_any(&mut sys, &members[home[0]]);
    batched.flush().unwrap();
    sys.run_until_idle();
    let mut received: Vec<_> = probe.received().into_iter().flat_map(|(_, items)| items).collect();
    received.sort_unstable();
    assert_eq!(received, (0..30).collect::<Vec<_>>());
    // Whoever forgets to flush has sent them nevertheless.
    (0..30).for_each(|n| batched.push(n).unwrap());
    drop(batched);
    sys.run_until_idle();
    assert_eq!(probe.received().into_iter().map(|(_, items)| items.len()).sum::<usize>(), 30);
    let audit = sys.audit();
    assert!(audit.is_balanced() && audit.dead == 0, "{audit:?}");
}

fn end_any(sys: &mut TestSystem, member: &Address<Shard>) {
    member.stop();
    sys.run_until_idle();
}

#[test]
fn what_finds_no_room_waits_and_is_named() {
    let mut sys = TestSystem::seeded(12);
    let (members, probe) = shards(&sys, 1, 1);
    let mut batched = Batched::by_key(members.clone(), 2, |_: &u64| 0, |items| items);
    // One message in the mailbox, one that was refused, and one more.
    (0..6).for_each(|n| batched.push(n).unwrap());
    assert_eq!((batched.push(6), batched.waiting()), (Err(SendError::Full(6)), 4));
    let unsent = batched.flush().unwrap_err();
    assert_eq!(unsent.waiting, [(members[0].id(), 4, SendError::Full(()))]);
    let text = unsent.to_string();
    assert!(
        text.starts_with("4 items were not sent: 4 for actor") && text.contains("no room"),
        "{text}"
    );
    for left in [2, 0] {
        sys.run_until_idle();
        assert_eq!((batched.flush().is_err(), batched.waiting()), (left > 0, left));
    }
    sys.run_until_idle();
    assert_eq!(probe.received(), [(0, vec![0, 1]), (0, vec![2, 3]), (0, vec![4, 5])]);
    // A worker is never blocked.
    batched.push_blocking(7).unwrap();
    batched.flush_blocking().unwrap();
    batched.push(8).unwrap();
    end_any(&mut sys, &members[0]);
    let unsent = batched.flush().unwrap_err();
    assert_eq!(unsent.waiting, [(members[0].id(), 1, SendError::Closed(()))]);
    assert_eq!(batched.push(9), Err(SendError::Closed(9)));
    drop(batched);
    let audit = sys.audit();
    assert!(audit.is_balanced() && audit.dead == 1, "{audit:?}");
}
