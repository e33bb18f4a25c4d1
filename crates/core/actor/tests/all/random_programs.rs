//! Programs that a seed draws up from all that safe code can do to a system: spawn, send, ask,
//! stop, kill, panic, drop, name, watch, link, wait for time, move addresses between threads and
//! systems, and run another system from within a handler. Whatever a program does, the ledger's
//! sums hold, and when all is dropped, nothing is left. AddressSanitizer and Miri see the rest.
//!
//! `ACTINIUM_PROGRAMS=FIRST..END` says which seeds are run; with it each seed is printed before it
//! runs.
#![forbid(unsafe_code)]

use crate::common::{ON_PURPOSE, quiet};
use actinium_actor::testing::TestSystem;
use actinium_actor::{
    Actor, Address, AskError, Audit, Context, Mailbox, Policy, Reply, Shutdown, SpawnOptions,
    StopReason, Supervision, System, SystemHandle, TimerId, WeakAddress,
};
use actinium_scheduler::mixing;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, panic_any};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What all of a program's threads and actors share.
struct World {
    /// Things that are left to be done.
    budget: AtomicI64,
    /// Witnesses that live, and where they were made.
    living: Mutex<BTreeMap<u64, &'static Location<'static>>>,
    made: AtomicU64,
    /// Addresses that anybody may take.
    board: Mutex<Vec<Address<Player>>>,
    /// Whether actors may use other threads: a deterministic system does not wait for these.
    has_threads: bool,
}

impl World {
    fn new(budget: i64, has_threads: bool) -> Arc<Self> {
        Arc::new(World {
            budget: AtomicI64::new(budget),
            living: Mutex::default(),
            made: AtomicU64::new(0),
            board: Mutex::default(),
            has_threads,
        })
    }

    fn may_go_on(&self) -> bool {
        self.budget.fetch_sub(1, Ordering::Relaxed) > 0
    }

    fn put(&self, address: Address<Player>) {
        self.board.lock().unwrap().push(address);
    }

    fn take(&self, random: &mut Random) -> Option<Address<Player>> {
        let mut board = self.board.lock().unwrap();
        let at = random.below(board.len().max(1));
        (at < board.len()).then(|| board.swap_remove(at))
    }

    fn clear(&self) {
        // Dropped outside the lock: what ends for want of addresses may put some here.
        loop {
            let board = std::mem::take(&mut *self.board.lock().unwrap());
            if board.is_empty() {
                return;
            }
        }
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(mixing::STEP);
        mixing::scramble(self.0)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn fork(&mut self) -> Random {
        Random(self.next())
    }
}

/// Lies in everything that a program makes. Its destructor may send, or panic.
struct Witness(Arc<World>, Random, u64);

impl Witness {
    #[track_caller]
    fn new(world: &Arc<World>, random: &mut Random) -> Self {
        let number = world.made.fetch_add(1, Ordering::Relaxed);
        world.living.lock().unwrap().insert(number, Location::caller());
        Witness(world.clone(), random.fork(), number)
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.0.living.lock().unwrap().remove(&self.2);
        if self.1.one_in(16)
            && self.0.may_go_on()
            && let Some(friend) = self.0.take(&mut self.1)
        {
            friend.tell(Msg::Act(Witness::new(&self.0, &mut self.1)));
            self.0.put(friend);
        }
        if self.1.one_in(64) && !thread::panicking() {
            panic!("{ON_PURPOSE}");
        }
    }
}

enum Msg {
    Act(#[expect(dead_code, reason = "only dropped")] Witness),
    Meet(Address<Player>, #[expect(dead_code, reason = "only dropped")] Witness),
    Ask(Reply<Witness>, Witness),
}

struct Player {
    world: Arc<World>,
    random: Random,
    friends: Vec<Address<Player>>,
    weak: Vec<WeakAddress<Player>>,
    timers: Vec<TimerId>,
    replies: Vec<Reply<Witness>>,
    witness: Option<Witness>,
}

impl Player {
    fn new(world: &Arc<World>, random: &mut Random) -> Self {
        Player {
            world: world.clone(),
            random: random.fork(),
            friends: world.take(random).into_iter().collect(),
            weak: Vec::new(),
            timers: Vec::new(),
            replies: Vec::new(),
            witness: Some(Witness::new(world, random)),
        }
    }

    #[track_caller]
    fn witness(&mut self) -> Witness {
        Witness::new(&self.world, &mut self.random)
    }

    fn message(&mut self) -> Msg {
        let witness = self.witness();
        match self.friend() {
            Some(friend) if self.random.one_in(4) => Msg::Meet(friend, witness),
            _ => Msg::Act(witness),
        }
    }

    fn friend(&mut self) -> Option<Address<Player>> {
        let at = self.random.below(self.friends.len().max(1));
        self.friends.get(at).cloned()
    }

    fn spawn(&mut self, ctx: &Context<'_, Self>) {
        let child = Player::new(&self.world, &mut self.random);
        let friend = match self.random.below(3) {
            0 => ctx.spawn_detached(child),
            n => {
                let options = options(&mut self.random);
                let factory = factory(child);
                let spawned = match n {
                    1 => ctx.spawn_with(options, factory),
                    _ => ctx.system().spawn_with(options, factory),
                };
                let Ok(friend) = spawned else { return };
                friend
            }
        };
        friend.tell(self.message());
        self.friends.push(friend);
    }

    // tidy: functions: one arm for each thing that an actor can do
    fn act(&mut self, ctx: &Context<'_, Self>) {
        if !self.world.may_go_on() {
            return self.friends.clear();
        }
        let me = ctx.address();
        let friend = self.friend().unwrap_or_else(|| me.clone());
        let msg = self.message();
        match self.random.below(26) {
            0..3 => friend.tell(msg),
            3 => drop(friend.send(msg)),
            4 => drop(friend.try_send(msg)),
            5..8 => self.spawn(ctx),
            8 => {
                let witness = self.witness();
                ctx.ask(&friend, |reply| Msg::Ask(reply, witness), |it| after(it, msg));
            }
            9 => {
                let (limit, witness) = (Duration::from_micros(50), self.witness());
                ctx.ask_timeout(
                    &friend,
                    limit,
                    |reply| Msg::Ask(reply, witness),
                    |it| after(it, msg),
                );
            }
            10 => {
                let delay = Duration::from_micros(self.random.next() % 500);
                self.timers.push(ctx.after(delay, msg));
            }
            11 => {
                let (world, mut random) = (self.world.clone(), self.random.fork());
                let period = Duration::from_micros(100 + self.random.next() % 500);
                let tick = move || Msg::Act(Witness::new(&world, &mut random));
                self.timers.push(ctx.every(period, tick));
            }
            12 => self.timers.iter().for_each(|&timer| _ = ctx.cancel(timer)),
            13 => match self.random.below(3) {
                0 => panic_any(self.witness()),
                _ => panic!("{ON_PURPOSE}"),
            },
            14 => match self.random.below(4) {
                0 => ctx.stop(),
                1 => friend.kill(),
                _ => friend.stop(),
            },
            15 => ctx.watch(&friend, |_| msg),
            16 => match self.random.below(3) {
                0 => ctx.unlink(&friend),
                1 => ctx.unwatch(&friend),
                _ => ctx.link(&friend),
            },
            17 => drop(self.friends.pop()),
            18 => {
                self.weak.push(friend.downgrade());
                self.friends.extend(self.weak.swap_remove(0).upgrade());
            }
            19 => {
                self.world.put(friend);
                self.friends.extend(self.world.take(&mut self.random));
            }
            20 => (0..40).for_each(|_| friend.tell(Msg::Act(self.witness()))),
            21 => ctx.yield_now(),
            22 => drop(self.replies.pop().map(|reply| reply.send(self.witness()))),
            23 if self.world.has_threads => {
                let witness = self.witness();
                let panics = self.random.one_in(4);
                let work = move || {
                    let _witness = witness;
                    assert!(!panics, "{ON_PURPOSE}");
                };
                match self.random.below(2) {
                    0 => ctx.offload(work, |()| msg),
                    _ => ctx.pipe(async move { work() }, |()| msg),
                }
            }
            24 => {
                let name = NAMES[self.random.below(NAMES.len())];
                match ctx.system().lookup::<Player>(name) {
                    Ok(friend) => friend.tell(msg),
                    Err(_) => _ = ctx.system().register(name, &me),
                }
            }
            _ if self.random.one_in(8) => {
                // Another system in this turn, with actors that know this one's.
                let mut inner = TestSystem::seeded(self.random.next());
                let player = inner.spawn(Player::new(&self.world, &mut self.random));
                player.tell(Msg::Meet(me, self.witness()));
                (0..10).for_each(|_| _ = inner.step());
                assert!(inner.audit().is_balanced());
                self.friends.push(player);
            }
            _ => drop(msg),
        }
    }
}

const NAMES: [&str; 3] = ["one", "two", "three"];

impl Actor for Player {
    type Msg = Msg;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        if self.random.one_in(4) {
            self.act(ctx);
        }
    }

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Act(_) => {}
            Msg::Meet(friend, _) => self.friends.push(friend),
            Msg::Ask(reply, witness) if self.random.one_in(3) => _ = reply.send(witness),
            Msg::Ask(reply, _) => self.replies.push(reply),
        }
        self.act(ctx);
        self.act(ctx);
    }

    fn stopped(&mut self, ctx: &mut Context<'_, Self>, _: &StopReason) {
        if self.random.one_in(2) {
            drop(self.witness.take());
            self.act(ctx);
        }
    }
}

/// Makes the actor again and again, until it does not any more.
fn factory(first: Player) -> impl FnMut() -> Player + Send + 'static {
    let (world, mut random) = (first.world.clone(), Random(first.random.0 ^ 1));
    let mut first = Some(first);
    move || {
        assert!(!random.one_in(8), "{ON_PURPOSE}");
        first.take().unwrap_or_else(|| Player::new(&world, &mut random))
    }
}

fn options(random: &mut Random) -> SpawnOptions {
    let supervision = match random.below(8) {
        0 => Supervision::stop(),
        1 => Supervision::escalate(),
        2 => Supervision::restart().backoff(Duration::from_micros(50), Duration::from_micros(200)),
        3 => Supervision::restart().limit(2, Duration::from_secs(1)).one_for_all(),
        _ => Supervision::restart().limit(3, Duration::from_secs(1)),
    };
    let options = SpawnOptions::new().supervise(supervision);
    let options = match random.below(3) {
        0 => options.mailbox(Mailbox::bounded(1 + random.below(4))),
        _ => options,
    };
    match random.below(8) {
        0 => options.name(NAMES[random.below(NAMES.len())]),
        1 => options.on_worker(random.below(2)),
        _ => options,
    }
}

/// Something that a thread outside does. What it drops may panic.
fn act_outside(system: &SystemHandle, world: &Arc<World>, random: &mut Random) {
    let witness = Witness::new(world, random);
    let Some(friend) = world.take(random) else {
        let player = Player::new(world, random);
        return match random.below(2) {
            0 => world.put(system.spawn(player)),
            _ => _ = system.spawn_with(options(random), factory(player)).map(|it| world.put(it)),
        };
    };
    match random.below(12) {
        0..4 => friend.tell(Msg::Act(witness)),
        4 => drop(friend.send(Msg::Act(witness))),
        5 => drop(friend.ask_timeout(Duration::from_micros(50), |reply| Msg::Ask(reply, witness))),
        6 if world.has_threads => {
            let limit = Duration::from_micros(200);
            drop(friend.ask_timeout(limit, |reply| Msg::Ask(reply, witness)).wait());
        }
        7 if world.has_threads => drop(friend.send_blocking(Msg::Act(witness))),
        8 => friend.stop(),
        9 => friend.kill(),
        10 => return drop(friend),
        _ => _ = system.stats().total(),
    }
    world.put(friend);
}

/// The message, when the answer is gone. A parameter whose destructor panics at the end of a
/// function takes along what that returns (rust-lang/rust issue 47949), so this one goes first.
fn after(answer: Result<Witness, AskError>, msg: Msg) -> Msg {
    drop(answer);
    msg
}

fn guarded(f: impl FnOnce()) {
    // Only what panics on purpose does: `quiet` shows anything else.
    let _ = catch_unwind(AssertUnwindSafe(f));
}

fn listen(system: &SystemHandle, world: &Arc<World>, seed: u64) {
    let (world, random) = (world.clone(), Mutex::new(Random(seed)));
    system.on_dead_letter(move |_| {
        let mut random = random.lock().unwrap().fork();
        // Not each time: what causes itself for too many generations is forgotten, as
        // `actinium_scheduler::guard` says.
        if random.one_in(8)
            && world.may_go_on()
            && let Some(friend) = world.take(&mut random)
        {
            friend.tell(Msg::Act(Witness::new(&world, &mut random)));
            world.put(friend);
        }
    });
}

fn assert_balanced(audit: Audit, seed: u64) {
    assert!(audit.is_balanced(), "seed {seed}: {audit:?}");
}

/// All that a program has made is gone, as soon as threads that are about to end have.
fn assert_nothing_left(world: &Arc<World>, seed: u64) {
    world.budget.store(0, Ordering::Relaxed);
    guarded(|| world.clear());
    for _ in 0..1_000_000 {
        if world.living.lock().unwrap().is_empty() {
            return;
        }
        thread::yield_now();
    }
    panic!("seed {seed}: these are left, by where they were made: {:?}", world.living);
}

fn audit(system: &System) -> Audit {
    system.audit(Duration::MAX).expect("nothing in these programs takes for ever")
}

const BUDGET: i64 = if cfg!(miri) { 40 } else { 400 };

fn in_threads(seed: u64) {
    let mut random = Random(seed);
    let world = World::new(BUDGET, true);
    let policy = Policy::ALL[random.below(Policy::ALL.len())];
    let system = crate::common::system(policy, 2);
    listen(&system.handle(), &world, seed);
    let outside: Vec<_> = (0..2)
        .map(|_| {
            let (handle, world, mut random) = (system.handle(), world.clone(), random.fork());
            thread::spawn(move || {
                while world.may_go_on() {
                    guarded(|| act_outside(&handle, &world, &mut random));
                }
            })
        })
        .collect();
    for _ in 0..random.below(4) {
        assert_balanced(audit(&system), seed);
    }
    let joins_first = random.one_in(2);
    let end = |system: System, random: &mut Random| match random.below(4) {
        0 => drop(system),
        n => {
            let how = if n == 1 { Shutdown::Drop } else { Shutdown::Drain };
            let report = system.shutdown(how);
            assert!(report.dead >= report.dropped, "seed {seed}: {report:?}");
        }
    };
    let join = || outside.into_iter().for_each(|thread| thread.join().unwrap());
    if joins_first {
        join();
        assert_balanced(audit(&system), seed);
        end(system, &mut random);
    } else {
        end(system, &mut random);
        join();
    }
    assert_nothing_left(&world, seed);
}

fn in_virtual_time(seed: u64) {
    let mut random = Random(seed);
    let world = World::new(BUDGET, false);
    let policy = Policy::ALL[random.below(Policy::ALL.len())];
    let batch = 1 + random.below(3) as u32;
    let mut system = TestSystem::builder().seed(seed).policy(policy).batch(batch).build();
    let handle = system.handle();
    listen(&handle, &world, seed);
    while world.may_go_on() {
        match random.below(8) {
            0 => _ = system.advance(Duration::from_micros(random.next() % 300)),
            1 => assert_balanced(system.audit(), seed),
            2..5 => guarded(|| act_outside(&handle, &world, &mut random)),
            _ => _ = system.step(),
        }
    }
    assert_balanced(system.audit(), seed);
    match random.below(3) {
        0 => {}
        n => {
            system.shutdown(if n == 1 { Shutdown::Drop } else { Shutdown::Drain });
            assert_balanced(system.audit(), seed);
        }
    }
    drop(system);
    assert_nothing_left(&world, seed);
}

/// Runs the programs of these seeds, or of those that the environment names.
fn run(usual: std::ops::Range<u64>, program: fn(u64)) {
    quiet();
    let seeds = std::env::var("ACTINIUM_PROGRAMS").ok();
    let named = seeds.as_deref().map(|seeds| {
        let (first, end) = seeds.split_once("..").expect("ACTINIUM_PROGRAMS=FIRST..END");
        let number = |text: &str| text.parse::<u64>().expect("ACTINIUM_PROGRAMS=FIRST..END");
        number(first)..number(end)
    });
    for seed in named.clone().unwrap_or(usual) {
        if named.is_some() {
            eprintln!("seed {seed}");
        }
        program(seed);
    }
}

#[test]
fn in_threads_no_program_breaks_the_ledger_or_leaves_anything() {
    run(0..if cfg!(miri) { 2 } else { 30 }, in_threads);
}

#[test]
fn in_virtual_time_no_program_breaks_the_ledger_or_leaves_anything() {
    run(0..if cfg!(miri) { 4 } else { 100 }, in_virtual_time);
}
