//! The nodes of a run, each with a system of its own, and the time that passes for them.

use super::actors::{Child, Ledger, Owner, Talker, take_lost};
use super::books::{Books, Who};
use super::scenario::Scenario;
use super::wire::{Trace, Wire};
use crate::common::MS;
use actinium_actor::testing::TestSystem;
use actinium_actor::{Address, SpawnOptions};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::{Faults, Network};
use actinium_cluster::{
    AnyAddress, ManualNode, MovableAddress, MovableId, Movables, Names, NamesConfig, RemoteAddress,
    RemoteAskError, Shards,
};
use actinium_memory::heap::{Arena, Heap, flush};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

/// The machines' clocks show this when a run begins.
const NOON_NS: u64 = 1_000_000_000 * MS;
/// Turns of a node at one moment: one that takes more never ends.
const TURNS_MAX: u32 = 10_000;
/// And of actors.
const RUN_LIMIT: u64 = 200_000;
/// How much later than its deadline a request may end: a step, and what a node does once in a
/// while.
const LATE_NS: u64 = 30 * MS;

/// Another node's talker, and which life of that node it is of.
#[derive(Clone)]
pub(super) struct There {
    pub(super) who: Who,
    pub(super) talker: RemoteAddress<Talker>,
}

/// What was asked from outside of all actors has ended.
pub(super) enum Outcome {
    /// A talker of whoever, and what was asked.
    Answer(Who, u64, Result<(u64, u32, u32), RemoteAskError>),
    Talker(Who, Result<RemoteAddress<Talker>, RemoteAskError>),
    Child(u64, Result<AnyAddress<Child>, RemoteAskError>),
    Claimed(String, u64, Result<(), RemoteAskError>),
    /// Nothing is to be done about it.
    Over,
    /// Who has the name says so.
    Owner(Result<u64, RemoteAskError>),
    Ledger(MovableId, Result<MovableAddress<Ledger>, RemoteAskError>),
    /// What a ledger has.
    Read(Result<(u64, u64), RemoteAskError>),
}

pub(super) struct Open {
    pub(super) who: Who,
    what: &'static str,
    /// By its host's steady clock.
    deadline_ns: u64,
    outcome: Pin<Box<dyn Future<Output = Outcome>>>,
}

/// A node while it lives.
pub(super) struct Up {
    pub(super) node: ManualNode,
    pub(super) talker: Address<Talker>,
    pub(super) names: Names,
    pub(super) shards: Shards<Talker>,
    pub(super) movables: Movables<Ledger>,
    pub(super) arena: Option<Arena>,
    pub(super) there: BTreeMap<u32, There>,
    pub(super) children: Vec<(u64, AnyAddress<Child>)>,
    pub(super) owners: Vec<Address<Owner>>,
    /// With the number of this sender, and of its last message.
    pub(super) ledgers: BTreeMap<MovableId, (MovableAddress<Ledger>, u64, u64)>,
    boot_ns: u64,
    /// Its steady clock, when it had its last turn.
    pub(super) clock_ns: u64,
    pub(super) incarnation: u64,
    // Last: what is above lives in it.
    pub(super) system: TestSystem,
}

pub(super) struct Host {
    pub(super) who: Who,
    /// How far its machine's clock is off.
    pub(super) clock_off_ns: i64,
    /// The latest incarnation of its lives: a life with an earlier one is refused.
    pub(super) incarnation_max: u64,
    pub(super) paused_until_ns: u64,
    pub(super) up: Option<Up>,
}

pub(super) struct World {
    pub(super) scenario: Scenario,
    pub(super) random: fastrand::Rng,
    pub(super) network: Network,
    pub(super) books: Books,
    pub(super) hosts: Vec<Host>,
    pub(super) open: Vec<Open>,
    /// What has ended since it was looked at last.
    pub(super) ended: Vec<(Who, Outcome)>,
    pub(super) serial: u64,
    heap: &'static Heap,
}

impl World {
    pub(super) fn new(scenario: Scenario, trace: Trace, heap: &'static Heap) -> Self {
        let network = Network::seeded(scenario.seed, Faults::default());
        let network =
            if scenario.remote_memory { network } else { network.without_remote_memory() };
        network.set_faults(scenario.faults.clone());
        let books = Books::new(trace, scenario.liar(), scenario.is_reliable(), scenario.is_grid());
        let host = |node| Host {
            who: Who { node, life: 0 },
            clock_off_ns: 0,
            incarnation_max: 0,
            paused_until_ns: 0,
            up: None,
        };
        let hosts = (0..scenario.nodes).map(host).collect();
        let random = fastrand::Rng::with_seed(scenario.seed);
        let (open, ended, serial) = (Vec::new(), Vec::new(), 0);
        let mut world =
            World { scenario, random, network, books, hosts, open, ended, serial, heap };
        (0..world.hosts.len()).for_each(|n| world.start(n));
        world
    }

    // ---- lives ---------------------------------------------------------------------------------

    /// A node starts, and exports what each has.
    pub(super) fn start(&mut self, n: usize) {
        let now_ns = self.network.now_ns();
        let lies = self.scenario.lies.as_ref().filter(|_| self.books.is_liar(n as u32));
        let wire = Wire::new(&self.network, n as u32, self.books.trace.clone(), lies);
        let host = &mut self.hosts[n];
        host.who.life += 1;
        host.paused_until_ns = 0;
        let me = host.who;
        let incarnation = NOON_NS.saturating_add(now_ns).saturating_add_signed(host.clock_off_ns);
        host.incarnation_max = host.incarnation_max.max(incarnation);
        let seed = self.scenario.seed.wrapping_mul(31).wrapping_add(me.node.into());
        let system = TestSystem::builder().seed(seed).run_limit(RUN_LIMIT).build();
        let config = self.scenario.config.clone();
        let node =
            ManualNode::join(system.handle(), wire, config, incarnation).expect("it makes sense");
        let books = self.books.clone();
        books.begins(me);
        self.books.say(|| format!("{me:?} starts, with incarnation {incarnation}"));
        node.on_event(move |event| books.event(me, event));
        let talker = Talker { me, books: self.books.clone(), kept: Vec::new() };
        let talker = system.spawn(talker);
        node.export("talker", &talker).expect("its first name");
        let books = self.books.clone();
        let child = move |id: u64| {
            books.child_began(id, me);
            Child { id, books: books.clone() }
        };
        node.register::<Child, u64>(SpawnOptions::new(), child).expect("its first such type");
        let quorum = NamesConfig { quorum: self.scenario.quorum };
        let names = node.names(quorum).expect("its first names");
        let shards = node.shards("shares", &talker).expect("its first shards");
        let movables = node.movables().expect("its first movables");
        let own = self.heap.arena(2 * n);
        let theirs = self.heap.arena(2 * n + 1);
        self.books.check(own.is_some() && theirs.is_some(), || {
            format!("an earlier life than {me:?} is not gone altogether: it still has its memory")
        });
        if let Some(arena) = theirs {
            node.take_payloads_in(arena);
        }
        self.hosts[n].up = Some(Up {
            node,
            talker,
            names,
            shards,
            movables,
            arena: own,
            there: BTreeMap::new(),
            children: Vec::new(),
            owners: Vec::new(),
            ledgers: BTreeMap::new(),
            boot_ns: now_ns,
            clock_ns: 0,
            incarnation,
            system,
        });
    }

    /// A node dies without a word, or says farewell first.
    pub(super) fn end(&mut self, n: usize, says_farewell: bool) {
        let Some(mut up) = self.hosts[n].up.take() else { return };
        let who = self.hosts[n].who;
        self.books.say(|| format!("{who:?} ends, says farewell: {says_farewell}"));
        if !says_farewell {
            self.network.kill(NodeId(n as u32));
        }
        self.check_ledger(who, &up);
        self.books.misaddressed_at(who, up.node.stats().misaddressed);
        up.node.leave();
        if says_farewell {
            up.system.run_until_idle();
            self.network.kill(NodeId(n as u32));
        }
        self.books.is_over(who);
        // What it asked ends with it.
        self.open.retain(|open| open.who != who);
        self.ended.retain(|(whose, _)| *whose != who);
        // Not counted: what was sent after the last turn.
        take_lost();
        let Up {
            talker,
            names,
            shards,
            movables,
            arena,
            there,
            children,
            owners,
            ledgers,
            system,
            ..
        } = up;
        drop((talker, names, shards, movables, arena, there, children, owners, ledgers));
        drop(system);
        for letter in take_lost() {
            self.books.died(who, &letter);
        }
        flush();
    }

    /// Of each message of a system one knows what has become.
    pub(super) fn check_ledger(&self, who: Who, up: &Up) {
        let audit = up.system.audit();
        self.books
            .check(audit.is_balanced(), || format!("messages of {who:?} are missing: {audit:?}"));
    }

    pub(super) fn note_misaddressed(&self, n: usize) {
        if let Some(up) = &self.hosts[n].up {
            self.books.misaddressed_at(self.hosts[n].who, up.node.stats().misaddressed);
        }
    }

    // ---- time ----------------------------------------------------------------------------------

    /// Some time passes, and all nodes do what there is to do then, in any order.
    pub(super) fn step(&mut self, most_ns: u64) {
        self.network.advance(self.random.u64(most_ns / 10..=most_ns));
        let now_ns = self.network.now_ns();
        self.books.trace.set_now(now_ns);
        let mut order: Vec<usize> = (0..self.hosts.len()).collect();
        self.random.shuffle(&mut order);
        for n in order {
            self.turn(n, now_ns);
        }
        self.poll();
    }

    fn turn(&mut self, n: usize, now_ns: u64) {
        let host = &mut self.hosts[n];
        let Some(up) = host.up.as_mut().filter(|_| host.paused_until_ns <= now_ns) else { return };
        let clock_ns = now_ns - up.boot_ns;
        // Its system's clock is not much behind its own.
        let is_brief = self.random.u32(..8) == 0 && clock_ns - up.clock_ns < 10 * MS;
        if is_brief {
            // It is about to be stopped in the middle of things, maybe.
            up.node.turn(clock_ns);
            let turns = self.random.u32(..20);
            let _ = (0..turns).take_while(|_| up.system.step()).count();
            return;
        }
        up.system.advance(Duration::from_nanos(clock_ns - up.clock_ns));
        up.clock_ns = clock_ns;
        let mut turns = 0;
        while up.node.turn(clock_ns) && turns < TURNS_MAX {
            up.system.run_until_idle();
            turns += 1;
        }
        up.system.run_until_idle();
        let who = host.who;
        self.books.check(turns < TURNS_MAX, || format!("{who:?} never has nothing to do"));
    }

    // ---- requests -----------------------------------------------------------------------------

    pub(super) fn up(&mut self, n: usize) -> Option<&mut Up> {
        self.hosts[n].up.as_mut()
    }

    /// Waits for an answer, which is to come within so long.
    pub(super) fn wait(
        &mut self,
        n: usize,
        what: &'static str,
        limit: Duration,
        outcome: impl Future<Output = Outcome> + 'static,
    ) {
        let who = self.hosts[n].who;
        let Some(up) = self.up(n) else { return };
        let deadline_ns = up.clock_ns + limit.as_nanos() as u64 + LATE_NS;
        let mut outcome: Pin<Box<dyn Future<Output = Outcome>>> = Box::pin(outcome);
        // Some ask when they are looked at first, which is not to be after a pause.
        match outcome.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => self.ended.push((who, outcome)),
            Poll::Pending => self.open.push(Open { who, what, deadline_ns, outcome }),
        }
    }

    /// Looks for answers; each has to come in time, if its node has turns.
    pub(super) fn poll(&mut self) {
        let mut cx = TaskContext::from_waker(Waker::noop());
        for mut open in std::mem::take(&mut self.open) {
            let host = &self.hosts[open.who.node as usize];
            let Some(up) = &host.up else { continue };
            if host.paused_until_ns > self.network.now_ns() {
                self.open.push(open);
                continue;
            }
            match open.outcome.as_mut().poll(&mut cx) {
                Poll::Ready(outcome) => self.ended.push((open.who, outcome)),
                Poll::Pending if up.clock_ns <= open.deadline_ns => self.open.push(open),
                Poll::Pending => {
                    let (who, what) = (open.who, open.what);
                    self.books.wrong(format!("{who:?}: {what} has no end"));
                }
            }
        }
    }

    pub(super) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Those that are up and do not lie.
    pub(super) fn honest(&self) -> Vec<usize> {
        let is_honest = |&n: &usize| self.hosts[n].up.is_some() && !self.books.is_liar(n as u32);
        (0..self.hosts.len()).filter(is_honest).collect()
    }
}
