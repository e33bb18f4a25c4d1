//! Whole systems under random schedules: workers, thieves, sleepers, threads outside, endings.
//!
//! `SCHEDULES` in the environment says how many each test tries (with each policy).
//!
//! A program of its own: it is built with `--cfg shuttle`.
#![cfg(shuttle)]

use actinium_actor::{
    Actor, Address, Affine, Bind, Context, Elastic, Mailbox, Policy, SendError, Shutdown,
    SpawnOptions, StopReason, Supervision, System,
};
use shuttle::scheduler::RandomScheduler;
use shuttle::{Config, Runner, thread};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// Runs a story under many schedules, with each policy.
fn check(story: impl Fn(Policy) + Send + Sync + 'static) {
    let schedules = std::env::var("SCHEDULES").map_or(300, |n| n.parse().expect("a number"));
    let story = Arc::new(story);
    let thievish = Affine {
        wait_worth_moving_ns: 0,
        cost_worth_moving_ns: 0,
        distance_ns: 0,
        steals_to_rehome: 2,
        ..Affine::DEFAULT
    };
    let homely = Affine { steals_to_rehome: 1_000_000, ..thievish };
    // Gives away whatever it can, whomever it talks to.
    let restless =
        Affine { balance_every_ns: 1, balance_part: u64::MAX, crossing_ns: 0, ..Affine::DEFAULT };
    let more = [thievish, homely, restless].map(Policy::Affine);
    for policy in Policy::ALL.into_iter().chain(more) {
        let mut config = Config::new();
        config.stack_size = 0x40000;
        config.max_steps = shuttle::MaxSteps::FailAfter(1_000_000);
        let story = story.clone();
        eprintln!("{policy:?}");
        // Only a fair scheduler: an actor that ends waits, by yielding, for a sender that has
        // claimed a place and not yet filled it.
        let is_affine = matches!(policy, Policy::Affine(_));
        for elastic in [false, true].into_iter().take(1 + usize::from(is_affine)) {
            let (story, config) = (story.clone(), config.clone());
            // The checker runs all threads of a story on this one.
            ELASTIC.set(elastic);
            Runner::new(RandomScheduler::new(schedules), config).run(move || story(policy));
        }
    }
}

std::thread_local! {
    /// Whether the workers of the story's systems are elastic.
    static ELASTIC: Cell<bool> = const { Cell::new(false) };
}

fn system(workers: usize, policy: Policy) -> System {
    let builder = System::builder().workers(workers).policy(policy).batch(2).bind(Bind::None);
    // The checkers' clock goes on by a microsecond at each look.
    let rules = Elastic { wait_worth_growing_ns: 0, window_ns: 3_000, ..Elastic::DEFAULT };
    let builder = if ELASTIC.get() { builder.elastic_with(rules) } else { builder };
    builder.build().unwrap()
}

/// What all actors of a story report to.
#[derive(Default)]
struct World {
    handled: AtomicUsize,
    alive: AtomicUsize,
    disorder: AtomicBool,
}

impl World {
    fn in_order(&self) {
        assert!(!self.disorder.load(SeqCst), "overtaken, lost or doubled on the way");
    }
}

/// Who sent it, and its number among those that this sender sent to this receiver.
#[derive(Debug)]
enum Msg {
    Numbered(usize, u32),
    Know(Vec<Address<Peer>>),
    Send(u32),
    End,
}

/// Checks the order of what it gets, and sends to all others when told.
struct Peer {
    id: usize,
    others: Vec<Address<Peer>>,
    sent: u32,
    seen: BTreeMap<usize, u32>,
    world: Arc<World>,
}

impl Peer {
    fn new(id: usize, world: &Arc<World>) -> Self {
        world.alive.fetch_add(1, SeqCst);
        Peer { id, others: Vec::new(), sent: 0, seen: BTreeMap::new(), world: world.clone() }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.world.alive.fetch_sub(1, SeqCst);
    }
}

impl Actor for Peer {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        self.world.handled.fetch_add(1, SeqCst);
        match msg {
            Msg::Numbered(from, number) => {
                let next = self.seen.entry(from).or_default();
                if *next != number {
                    self.world.disorder.store(true, SeqCst);
                }
                *next += 1;
            }
            Msg::Know(others) => self.others = others,
            Msg::Send(n) => {
                for _ in 0..n {
                    for other in &self.others {
                        // Refused only when it has ended, which the story knows.
                        let _ = other.send(Msg::Numbered(self.id, self.sent));
                    }
                    self.sent += 1;
                }
            }
            Msg::End => ctx.address().stop(),
        }
    }
}

fn peers(system: &System, n: usize, world: &Arc<World>) -> Vec<Address<Peer>> {
    let peers: Vec<_> = (0..n).map(|id| system.spawn(Peer::new(id, world))).collect();
    for peer in &peers {
        peer.send(Msg::Know(peers.clone())).unwrap();
    }
    peers
}

#[test]
fn every_message_is_handled_once_and_in_order() {
    check(|policy| {
        let (system, world) = (system(2, policy), Arc::new(World::default()));
        let peers = peers(&system, 3, &world);
        let outside = {
            let peers = peers.clone();
            thread::spawn(move || {
                for number in 0..3 {
                    peers.iter().for_each(|peer| peer.send(Msg::Numbered(9, number)).unwrap());
                }
            })
        };
        for peer in &peers {
            peer.send(Msg::Send(2)).unwrap();
            peer.send(Msg::Send(1)).unwrap();
        }
        outside.join().unwrap();
        system.wait_idle(Duration::MAX).unwrap();
        world.in_order();
        let expected = 3 + 6 + 9 + 3 * 3 * 3;
        assert_eq!(world.handled.load(SeqCst), expected);
        let audit = system.audit(Duration::MAX).unwrap();
        assert!(audit.is_balanced() && audit.queued == 0, "{audit:?}");
        assert_eq!(audit.handled, expected as u64);
        let report = system.shutdown(Shutdown::Drain);
        assert_eq!((report.handled, report.dropped), (expected as u64, 0));
        drop((peers, system));
        assert_eq!(world.alive.load(SeqCst), 0, "an actor leaked");
    });
}

#[test]
fn the_ledger_balances_at_every_moment() {
    check(|policy| {
        let (system, world) = (system(2, policy), Arc::new(World::default()));
        let peers = peers(&system, 2, &world);
        let outside = {
            let peers = peers.clone();
            thread::spawn(move || (0..3).for_each(|n| peers[0].tell(Msg::Numbered(9, n))))
        };
        peers.iter().for_each(|peer| peer.send(Msg::Send(3)).unwrap());
        for _ in 0..2 {
            let audit = system.audit(Duration::MAX).unwrap();
            assert!(audit.is_balanced(), "{audit:?}");
        }
        outside.join().unwrap();
        system.wait_idle(Duration::MAX).unwrap();
        world.in_order();
        assert_eq!(system.audit(Duration::MAX).unwrap().queued, 0);
    });
}

#[test]
fn a_dropping_shutdown_counts_what_it_drops() {
    check(|policy| {
        let (system, world) = (system(2, policy), Arc::new(World::default()));
        let peers = peers(&system, 2, &world);
        let outside = {
            let (peers, handle, world) = (peers.clone(), system.handle(), world.clone());
            thread::spawn(move || {
                for number in 0..3 {
                    match peers[0].send(Msg::Numbered(9, number)) {
                        Ok(()) | Err(SendError::Closed(_)) => {}
                        other => panic!("{other:?}"),
                    }
                }
                let late = handle.spawn(Peer::new(7, &world));
                late.tell(Msg::Numbered(0, 0));
                late.stop();
                drop(late.downgrade().upgrade());
            })
        };
        peers.iter().for_each(|peer| peer.send(Msg::Send(2)).unwrap());
        system.shutdown(Shutdown::Drop);
        outside.join().unwrap();
        world.in_order();
        let audit = system.audit(Duration::MAX).unwrap();
        assert!(audit.is_balanced() && audit.queued == 0, "{audit:?}");
        assert_eq!(audit.handled as usize, world.handled.load(SeqCst));
        assert!(peers.iter().all(Address::is_closed));
        drop((peers, system));
        assert_eq!(world.alive.load(SeqCst), 0, "an actor leaked");
    });
}

#[test]
fn a_draining_shutdown_handles_what_is_queued() {
    check(|policy| {
        let (system, world) = (system(2, policy), Arc::new(World::default()));
        let peers = peers(&system, 2, &world);
        peers.iter().for_each(|peer| peer.send(Msg::Send(2)).unwrap());
        let report = system.shutdown(Shutdown::Drain);
        world.in_order();
        assert_eq!((report.handled, report.dropped), (2 + 2 + 2 * 2 * 2, 0));
        drop((peers, system));
        assert_eq!(world.alive.load(SeqCst), 0, "an actor leaked");
    });
}

#[test]
fn whoever_stops_itself_ends() {
    check(|policy| {
        let (system, world) = (system(2, policy), Arc::new(World::default()));
        let peers = peers(&system, 2, &world);
        peers[0].send(Msg::End).unwrap();
        peers[0].send(Msg::Numbered(9, 0)).ok();
        peers[1].kill();
        system.wait_idle(Duration::MAX).unwrap();
        assert_eq!(world.alive.load(SeqCst), 0, "did not end");
        let audit = system.audit(Duration::MAX).unwrap();
        assert!(audit.is_balanced() && audit.queued == 0, "{audit:?}");
    });
}

#[test]
fn an_actor_without_addresses_ends_after_its_messages() {
    check(|policy| {
        let (system, world) = (system(2, policy), Arc::new(World::default()));
        let peer = system.spawn(Peer::new(0, &world));
        let other = peer.clone();
        let outside = thread::spawn(move || {
            other.send(Msg::Numbered(9, 0)).unwrap();
        });
        let weak = peer.downgrade();
        peer.send(Msg::Numbered(8, 0)).unwrap();
        drop(peer);
        outside.join().unwrap();
        system.wait_idle(Duration::MAX).unwrap();
        assert_eq!((world.handled.load(SeqCst), world.alive.load(SeqCst)), (2, 0));
        assert!(weak.upgrade().is_none());
    });
}

/// Floods another actor, which floods it.
struct Flooder {
    other: Option<Address<Flooder>>,
    world: Arc<World>,
}

enum Flood {
    Meet(Address<Flooder>),
    Start,
    Drop,
}

impl Actor for Flooder {
    type Msg = Flood;

    fn handle(&mut self, msg: Flood, _: &mut Context<'_, Self>) {
        self.world.handled.fetch_add(1, SeqCst);
        match (msg, &self.other) {
            (Flood::Meet(other), _) => self.other = Some(other),
            (Flood::Start, Some(other)) => (0..3).for_each(|_| other.send(Flood::Drop).unwrap()),
            _ => {}
        }
    }
}

#[test]
fn actors_that_flood_each_other_do_not_block_each_other() {
    check(|policy| {
        let (system, world) = (system(2, policy), Arc::new(World::default()));
        let bounded = |worker| {
            let world = world.clone();
            let options = SpawnOptions::new().mailbox(Mailbox::bounded(2)).on_worker(worker);
            let make = move || Flooder { other: None, world: world.clone() };
            system.spawn_with(options, make).unwrap()
        };
        let pair = [bounded(0), bounded(1)];
        pair[0].send(Flood::Meet(pair[1].clone())).unwrap();
        pair[1].send(Flood::Meet(pair[0].clone())).unwrap();
        let mut starts = 0;
        for _ in 0..2 {
            for one in &pair {
                starts += usize::from(one.send(Flood::Start).is_ok());
            }
        }
        system.wait_idle(Duration::MAX).unwrap();
        // Nobody is left muted: whoever is does not handle this.
        let mut more = 0;
        for one in &pair {
            more += usize::from(one.send(Flood::Drop).is_ok());
        }
        assert_eq!(more, 2, "a mailbox is still full");
        system.wait_idle(Duration::MAX).unwrap();
        assert_eq!(world.handled.load(SeqCst), 2 + 4 * starts + more);
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    });
}

/// Panics when told, and comes back.
struct Fragile;

impl Actor for Fragile {
    type Msg = bool;

    fn handle(&mut self, panics: bool, _: &mut Context<'_, Self>) {
        // Without the message that a panic prints.
        if panics {
            std::panic::resume_unwind(Box::new("as told"));
        }
    }
}

/// Tells how another actor ended.
struct Watcher(Arc<AtomicUsize>);

impl Actor for Watcher {
    type Msg = Option<Address<Fragile>>;

    fn handle(&mut self, msg: Self::Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Some(other) => ctx.watch(&other, |_| None),
            None => drop(self.0.fetch_add(1, SeqCst)),
        }
    }
}

#[test]
fn names_restarts_and_watchers_survive_races() {
    check(|policy| {
        let system = system(2, policy);
        let told = Arc::new(AtomicUsize::new(0));
        let outside = {
            let handle = system.handle();
            thread::spawn(move || {
                // From the moment at which the name is there, it works.
                let found = (0..20).find_map(|_| {
                    thread::yield_now();
                    handle.lookup::<Fragile>("fragile").ok()
                });
                if let Some(fragile) = found {
                    let _ = fragile.send(true);
                    let _ = fragile.send(false);
                }
            })
        };
        let options = SpawnOptions::new().name("fragile").supervise(Supervision::restart());
        let fragile = system.spawn_with(options, || Fragile).unwrap();
        let watchers = [0, 1].map(|_| system.spawn(Watcher(told.clone())));
        watchers[0].send(Some(fragile.clone())).unwrap();
        fragile.send(true).unwrap();
        fragile.send(false).unwrap();
        fragile.kill();
        watchers[1].send(Some(fragile.clone())).unwrap();
        outside.join().unwrap();
        system.wait_idle(Duration::MAX).unwrap();
        assert_eq!(told.load(SeqCst), 2, "a watcher was not told");
        assert!(fragile.is_closed());
        assert!(system.lookup::<Fragile>("fragile").is_err());
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
        let _ = StopReason::Requested;
    });
}
