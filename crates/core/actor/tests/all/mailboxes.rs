//! Bounded mailboxes hold senders back without ever locking them up; unbounded ones take what
//! comes.

use crate::common::{Does, does, system};
use actinium_actor::testing::TestSystem;
use actinium_actor::{Actor, Address, Context, Mailbox, Policy, SendError, SpawnOptions, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn bounded(capacity: usize) -> SpawnOptions {
    SpawnOptions::new().mailbox(Mailbox::bounded(capacity))
}

#[test]
fn outside_actors_a_full_mailbox_gives_the_message_back() {
    let mut sys = TestSystem::seeded(1);
    let actor = sys.spawn_with(bounded(2), || does(|_: u32, _| {})).unwrap();
    assert_eq!(actor.capacity(), Some(2));
    actor.send(1).unwrap();
    actor.try_send(2).unwrap();
    assert_eq!(actor.send(3), Err(SendError::Full(3)));
    assert_eq!(actor.try_send(4), Err(SendError::Full(4)));
    assert_eq!(actor.len(), 2);
    sys.run_until_idle();
    assert!(actor.is_empty());
    actor.send(5).unwrap();
    actor.tell(6);
    actor.tell(7);
    let audit = sys.audit();
    assert_eq!((audit.sent, audit.returned, audit.queued, audit.dead), (7, 2, 2, 1));
    assert!(audit.is_balanced());
}

#[test]
fn an_actor_that_only_tries_is_not_muted() {
    for seed in 0..20 {
        let mut sys = TestSystem::seeded(seed);
        let probe = sys.probe();
        let result = probe.callback();
        let narrow = sys.spawn_with(bounded(1), || does(|_: u32, _| {})).unwrap();
        let sender = sys.spawn(does(move |(), _| {
            result(narrow.try_send(1).is_ok());
            result(narrow.try_send(2) == Err(SendError::Full(2)));
        }));
        sender.tell(());
        assert_eq!([probe.expect_next(), probe.expect_next()], [true, true]);
        sys.run_until_idle();
        assert_eq!(sys.stats().total().muted, 0);
    }
}

#[test]
fn a_mailbox_exceeds_its_bound_by_at_most_a_turn_of_each_sender() {
    const SENDERS: usize = 3;
    for seed in 0..50 {
        for (capacity, batch) in [(1, 1), (2, 1), (8, 5)] {
            let mut sys = TestSystem::builder().seed(seed).batch(batch).build();
            let probe = sys.probe();
            let to = probe.callback();
            let make = move || {
                let to = to.clone();
                does(move |from_and_n: (usize, u32), _| to(from_and_n))
            };
            let slow = sys.spawn_with(bounded(capacity), make).unwrap();
            for sender in 0..SENDERS {
                let slow = slow.clone();
                let sender = sys.spawn(does(move |n: u32, ctx: &mut Context<'_, Does<u32>>| {
                    slow.send((sender, n)).unwrap();
                    if n < 50 {
                        ctx.address().tell(n + 1);
                    }
                }));
                sender.tell(0);
            }
            while sys.step() {
                assert!(slow.len() <= capacity + SENDERS * batch as usize, "{}", slow.len());
            }
            let received = probe.received();
            for sender in 0..SENDERS {
                let from: Vec<_> =
                    received.iter().filter(|(from, _)| *from == sender).map(|(_, n)| *n).collect();
                assert_eq!(from, (0..=50).collect::<Vec<_>>(), "in order, and all of them");
            }
            assert!(sys.stats().total().muted > 0);
            assert!(sys.audit().is_balanced());
        }
    }
}

#[test]
fn who_is_muted_goes_on_when_the_receiver_ends() {
    for seed in 0..20 {
        let mut sys = TestSystem::seeded(seed);
        let probe = sys.probe();
        let done = probe.callback();
        let narrow = sys.spawn_with(bounded(1), || does(|(), _| {})).unwrap();
        let to = narrow.clone();
        let sender = sys.spawn(does(move |n: u32, _| {
            let _ = to.send(());
            done(n);
        }));
        (0..10).for_each(|n| sender.tell(n));
        for _ in 0..seed {
            sys.step();
        }
        narrow.kill();
        sys.run_until_idle();
        assert_eq!(probe.received(), (0..10).collect::<Vec<_>>());
    }
}

/// Sends three messages to the next for each that it gets, as long as all together may.
struct Flooder {
    next: Option<Address<Flooder>>,
    left: Arc<AtomicUsize>,
}

enum Flood {
    Next(Address<Flooder>),
    Drop,
    Water,
}

impl Actor for Flooder {
    type Msg = Flood;

    fn handle(&mut self, msg: Flood, _ctx: &mut Context<'_, Self>) {
        match msg {
            Flood::Next(next) => self.next = Some(next),
            Flood::Drop => self.next = None,
            Flood::Water => {
                let take = |left: usize| left.checked_sub(3);
                let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take);
                if let (Ok(_), Some(next)) = (left, &self.next) {
                    (0..3).for_each(|_| next.send(Flood::Water).unwrap());
                }
            }
        }
    }
}

/// A ring of actors that flood each other, each on another worker where homes count.
fn flood(system: &System, actors: usize, capacity: usize, water: usize) {
    let left = Arc::new(AtomicUsize::new(water));
    let ring: Vec<Address<Flooder>> = (0..actors)
        .map(|n| {
            let left = left.clone();
            let options = bounded(capacity).on_worker(n % system.workers());
            let make = move || Flooder { next: None, left: left.clone() };
            system.spawn_with(options, make).unwrap()
        })
        .collect();
    for (n, actor) in ring.iter().enumerate() {
        actor.send(Flood::Next(ring[(n + 1) % actors].clone())).unwrap();
    }
    system.wait_idle(Duration::MAX).unwrap();
    for actor in &ring {
        // It may be full already of what its neighbour sends.
        let _ = actor.send(Flood::Water);
    }
    // If some were muted for good, the system would be idle with messages queued.
    system.wait_idle(Duration::MAX).unwrap();
    let audit = system.audit(Duration::MAX).unwrap();
    assert!(audit.is_balanced() && audit.queued == 0, "{system:?} {audit:?}");
    assert!(left.load(Ordering::SeqCst) < 3, "{system:?}");
    ring.iter().for_each(|actor| actor.send(Flood::Drop).unwrap());
    system.wait_idle(Duration::MAX).unwrap();
}

#[test]
fn actors_that_flood_each_other_never_lock_up() {
    let rounds = if cfg!(miri) { 1 } else { 100 };
    for policy in Policy::ALL {
        for workers in 1..=3 {
            let system = system(policy, workers);
            for round in 0..rounds {
                let capacity = 1 + round % 4;
                flood(&system, 2, capacity, 300);
                flood(&system, 3, capacity, 300);
                flood(&system, 1, capacity, 60);
            }
        }
    }
}

#[test]
fn an_unbounded_mailbox_takes_what_comes() {
    const MESSAGES: u64 = if cfg!(miri) { 500 } else { 200_000 };
    for policy in Policy::ALL {
        let system = system(policy, 2);
        let counter = system.spawn(does(|_: u64, _| {}));
        assert_eq!(counter.capacity(), None);
        let flooder = counter.clone();
        let flooder = system.spawn(does(move |(), _| {
            (0..MESSAGES).for_each(|n| flooder.send(n).unwrap());
        }));
        flooder.send(()).unwrap();
        (0..MESSAGES).for_each(|n| counter.send(n).unwrap());
        system.wait_idle(Duration::MAX).unwrap();
        assert_eq!(system.audit(Duration::MAX).unwrap().handled, 2 * MESSAGES + 1);
        assert_eq!(system.stats().total().muted, 0);
    }
}
