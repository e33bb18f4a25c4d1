//! Groups that live.

use crate::common::{Does, ON_PURPOSE, does, quiet};
use actinium_actor::testing::{Probe, TestSystem};
use actinium_actor::{
    Actor, ActorId, Address, AskError, Context, Down, Mailbox, Pool, PoolOptions, Reply, Route,
    SendError, SpawnError, SpawnOptions, StopReason, Supervision,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Tells who handled what. Fails at `FAILS`, and answers.
struct Worker(Probe_);

type Probe_ = std::sync::Arc<dyn Fn((ActorId, u64)) + Send + Sync>;

const FAILS: u64 = u64::MAX;

enum Work {
    Do(u64),
    Ask(u64, Reply<Result<u64, String>>),
}

impl Actor for Worker {
    type Msg = Work;

    fn handle(&mut self, msg: Work, ctx: &mut Context<'_, Self>) {
        match msg {
            Work::Do(FAILS) => panic!("{ON_PURPOSE}"),
            Work::Do(n) => (self.0)((ctx.id(), n)),
            Work::Ask(n, reply) => {
                let half = if n % 2 == 0 { Ok(n / 2) } else { Err(format!("{n} is odd")) };
                let _ = reply.send(half);
            }
        }
    }
}

type Handled = Probe<(ActorId, u64)>;

fn pool(sys: &TestSystem, options: PoolOptions) -> (Pool<Worker>, Handled) {
    quiet();
    let probe = sys.probe();
    let told: Probe_ = std::sync::Arc::new(probe.callback());
    (sys.pool(options, move || Worker(told.clone())).unwrap(), probe)
}

/// An actor that watches a pool, and the reason for the pool's end that it is told.
fn watch(
    sys: &mut TestSystem,
    pool: &Pool<Worker>,
) -> (Address<Does<Option<Down>>>, Probe<StopReason>) {
    let (watched, ended) = (pool.clone(), sys.probe());
    let told = ended.callback();
    let watcher = sys.spawn(does(move |msg: Option<Down>, ctx| match msg {
        None => ctx.watch(&watched, Some),
        Some(down) => told(down.reason),
    }));
    watcher.tell(None);
    sys.run_until_idle();
    (watcher, ended)
}

/// How many messages each has handled.
fn shares(handled: &[(ActorId, u64)]) -> BTreeMap<ActorId, usize> {
    let mut shares = BTreeMap::new();
    handled.iter().for_each(|(who, _)| *shares.entry(*who).or_default() += 1);
    shares
}

#[test]
fn each_message_goes_to_one_member() {
    for (route, expected) in [(Route::RoundRobin, vec![4; 3]), (Route::LeastLoaded, vec![4; 3])] {
        let mut sys = TestSystem::seeded(1);
        let (pool, probe) = pool(&sys, PoolOptions::new(3..=3).route(route));
        (0..12).for_each(|n| pool.send(Work::Do(n)).unwrap());
        sys.run_until_idle();
        let handled = probe.received();
        assert_eq!(shares(&handled).into_values().collect::<Vec<_>>(), expected, "{route:?}");
        let (half, odd) =
            (pool.ask(|reply| Work::Ask(6, reply)), pool.ask_by(1, |it| Work::Ask(7, it)));
        sys.run_until_idle();
        assert_eq!(half.flat().wait(), Ok(3));
        assert_eq!(odd.flat().wait(), Err(AskError::Failed("7 is odd".to_owned())));
        assert!(sys.audit().is_balanced());
    }
}

#[test]
fn it_grows_while_messages_wait_too_long_and_shrinks_when_it_may() {
    let mut sys = TestSystem::seeded(2);
    // One that fails waits for its restart, and its messages with it.
    let slow = Supervision::restart().backoff(5 * SECOND, 5 * SECOND);
    let options = PoolOptions::new(1..=3).queue_age(SECOND).idle(10 * SECOND).supervise(slow);
    let (pool, probe) = pool(&sys, options.route(Route::RoundRobin));
    pool.send(Work::Do(FAILS)).unwrap();
    sys.run_until_idle();
    (0..4).for_each(|n| pool.send(Work::Do(n)).unwrap());
    sys.advance(SECOND);
    assert_eq!(pool.figures().members, 1, "none has waited too long");
    sys.advance(SECOND);
    assert_eq!((pool.figures().members, pool.figures().grown), (2, 1));
    sys.advance(SECOND + SECOND / 4);
    assert_eq!((pool.figures().members, pool.figures().grown), (3, 2), "and again");
    (4..10).for_each(|n| pool.send(Work::Do(n)).unwrap());
    sys.run_until_idle();
    assert_eq!(shares(&probe.received()).into_values().collect::<Vec<_>>(), [2, 2]);
    // At most as many as it may have.
    sys.advance(SECOND);
    assert_eq!(pool.figures().members, 3);
    sys.advance(SECOND);
    assert_eq!(probe.received().len(), 6, "the first is back");
    // Nobody has anything to do.
    let leaving = pool.members();
    sys.advance(15 * SECOND);
    assert_eq!((pool.figures().members, pool.figures().shrunk), (2, 1));
    sys.advance(15 * SECOND);
    assert_eq!((pool.figures().members, pool.figures().shrunk), (1, 2));
    sys.advance(60 * SECOND);
    assert_eq!((pool.figures().members, pool.figures().shrunk), (1, 2), "no fewer than it may");
    assert_eq!(leaving.iter().filter(|it| it.is_closed()).count(), 2);
    let audit = sys.audit();
    assert!(audit.is_balanced() && audit.dead == 0, "{audit:?}");
}

#[test]
fn a_member_that_goes_handles_what_it_has() {
    let mut sys = TestSystem::seeded(3);
    let (pool, probe) = pool(&sys, PoolOptions::new(3..=3));
    let (members, (_watcher, ended)) = (pool.members(), watch(&mut sys, &pool));
    (0..30).for_each(|n| pool.send(Work::Do(n)).unwrap());
    pool.stop();
    sys.run_until_idle();
    assert_eq!(probe.received().len(), 30);
    ended.expect_eq(StopReason::Requested);
    assert!(members.iter().all(|it| it.is_closed()) && pool.is_closed());
    assert!(matches!(pool.send(Work::Do(1)), Err(SendError::Closed(Work::Do(1)))));
    let refused = pool.ask(|reply| Work::Ask(2, reply)).wait();
    assert!(matches!(refused, Err(AskError::Closed(_))), "{refused:?}");
    let audit = sys.audit();
    assert!(audit.is_balanced() && audit.dead == 0, "{audit:?}");
}

#[test]
fn when_nobody_has_it_any_more_it_ends() {
    let mut sys = TestSystem::seeded(4);
    let (pool, probe) = pool(&sys, PoolOptions::new(2..=4));
    let other = pool.clone();
    (0..6).for_each(|n| pool.send(Work::Do(n)).unwrap());
    drop(pool);
    sys.advance(SECOND);
    assert_eq!((probe.received().len(), other.figures().members), (6, 2));
    (0..6).for_each(|n| other.send(Work::Do(n)).unwrap());
    drop(other);
    sys.advance(SECOND);
    assert_eq!(probe.received().len(), 6);
    assert_eq!(sys.stats().actors, 1, "only the probe is left");
    // That of an actor ends with the actor, even if somebody else has it.
    let pools = sys.probe::<Pool<Worker>>();
    let (give, told) = (pools.callback(), probe.callback());
    let told: Probe_ = std::sync::Arc::new(told);
    let owner = sys.spawn(does(move |stops: bool, ctx| {
        if stops {
            return ctx.stop();
        }
        let told = told.clone();
        give(ctx.pool(PoolOptions::new(2..=2), move || Worker(told.clone())).unwrap());
    }));
    owner.tell(false);
    sys.run_until_idle();
    let pool = pools.received().pop().unwrap();
    pool.send(Work::Do(1)).unwrap();
    probe.expect_next();
    owner.tell(true);
    sys.run_until_idle();
    assert!(pool.is_closed() && pool.send(Work::Do(1)).is_err());
    assert_eq!(sys.stats().actors, 2, "the probes");
}

#[test]
fn whoever_ends_is_replaced_until_that_is_too_often() {
    let mut sys = TestSystem::seeded(5);
    let stop = Supervision::stop().limit(2, 60 * SECOND).backoff(SECOND, SECOND);
    let (pool, probe) = pool(&sys, PoolOptions::new(2..=2).supervise(stop));
    let (first, (_watcher, ended)) = (pool.members(), watch(&mut sys, &pool));
    for round in 1..=2 {
        pool.send_by(7, Work::Do(FAILS)).unwrap();
        sys.run_until_idle();
        assert_eq!((pool.figures().members, pool.figures().replaced), (1, round - 1));
        pool.send_by(7, Work::Do(round)).unwrap();
        sys.advance(SECOND);
        assert_eq!((pool.figures().members, pool.figures().replaced), (2, round));
        let kept = pool.members().iter().filter(|it| first.contains(it)).count();
        assert_eq!(kept, 1, "the other was never touched");
    }
    // All that is left is waiting for a replacement: that may come.
    let mut sys_members = pool.members();
    sys_members.retain(|it| !it.is_closed());
    assert_eq!((sys_members.len(), probe.received().len()), (2, 2));
    pool.send_by(7, Work::Do(FAILS)).unwrap();
    sys.run_until_idle();
    let why = ended.expect_next().to_string();
    assert!(why.contains("its members end too often"), "{why}");
    assert!(pool.is_closed() && pool.members().is_empty());
    assert!(matches!(pool.send(Work::Do(1)), Err(SendError::Closed(_))));
    assert!(sys.audit().is_balanced());
}

#[test]
fn a_key_moves_only_when_its_member_does() {
    let mut sys = TestSystem::seeded(6);
    let slow = Supervision::restart().backoff(3 * SECOND, 3 * SECOND);
    let options = PoolOptions::new(2..=3).queue_age(SECOND).idle(60 * SECOND).supervise(slow);
    let (pool, probe) = pool(&sys, options);
    let who = |sys: &mut TestSystem| -> BTreeMap<u64, ActorId> {
        (0..300).for_each(|n| pool.send_by(n, Work::Do(n)).unwrap());
        sys.run_until_idle();
        probe.received().into_iter().map(|(who, n)| (n, who)).collect()
    };
    let before = who(&mut sys);
    // One waits for its restart, with a message: the pool grows.
    pool.members()[0].send(Work::Do(FAILS)).unwrap();
    let waits = (0..).find(|n| before[n] == pool.members()[0].id()).unwrap();
    sys.run_until_idle();
    pool.send_by(waits, Work::Do(waits)).unwrap();
    sys.advance(4 * SECOND);
    assert_eq!(pool.figures().members, 3);
    probe.received();
    let (after, new) = (who(&mut sys), pool.members()[2].id());
    let moved: BTreeSet<_> = after.iter().filter(|(n, who)| before[n] != **who).collect();
    assert!(moved.iter().all(|(_, who)| **who == new), "{moved:?}");
    assert!((60..140).contains(&moved.len()), "a third, about: {}", moved.len());
}

#[test]
fn what_can_not_be_a_pool_is_refused_and_leaves_nothing() {
    let mut sys = TestSystem::seeded(7);
    let make = || Worker(std::sync::Arc::new(|_| ()));
    let none = sys.pool(PoolOptions::new(0..=3), make).unwrap_err();
    assert_eq!(none, SpawnError::NoMembers { min: 0, max: 3 });
    #[expect(clippy::reversed_empty_ranges, reason = "as somebody may write")]
    let reversed = sys.pool(PoolOptions::new(3..=2), make).unwrap_err();
    assert!(reversed.to_string().contains("at least 1"), "{reversed}");
    let bad = SpawnOptions::new().mailbox(Mailbox::bounded(0));
    let refused = sys.pool(PoolOptions::new(2..=3).members(bad), make).unwrap_err();
    assert_eq!(refused, SpawnError::NoCapacity);
    quiet();
    let count = std::sync::atomic::AtomicU32::new(0);
    let third = move || {
        let made = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        assert!(made < 2, "{ON_PURPOSE}");
        Worker(std::sync::Arc::new(|_| ()))
    };
    let failed = sys.pool(PoolOptions::new(3..=3), third).unwrap_err();
    assert!(matches!(failed, SpawnError::FactoryFailed(_)), "{failed:?}");
    sys.run_until_idle();
    assert_eq!(sys.stats().actors, 0);
}
