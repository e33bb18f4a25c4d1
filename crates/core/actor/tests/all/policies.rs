//! Where work runs changes nothing about what it does.

use crate::common::{does, system};
use actinium_actor::{Actor, Address, Affine, Context, Policy, Reply, SpawnOptions, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::Duration;

fn everywhere(story: impl Fn(&System)) {
    for policy in Policy::ALL {
        for workers in 1..=4 {
            story(&system(policy, workers));
        }
    }
}

/// Keeps its worker busy for some microseconds.
fn toil(rounds: u32) {
    for _ in 0..rounds {
        std::hint::spin_loop();
    }
}

/// Counts the primes below a bound by a sieve of actors, one per prime.
struct Sieve {
    prime: u32,
    next: Option<Address<Sieve>>,
    found: mpsc::Sender<u32>,
}

impl Actor for Sieve {
    type Msg = u32;

    fn started(&mut self, _ctx: &mut Context<'_, Self>) {
        self.found.send(self.prime).unwrap();
    }

    fn handle(&mut self, n: u32, ctx: &mut Context<'_, Self>) {
        if n.is_multiple_of(self.prime) {
            return;
        }
        let found = &self.found;
        let next = self.next.get_or_insert_with(|| {
            ctx.spawn_detached(Sieve { prime: n, next: None, found: found.clone() })
        });
        next.send(n).unwrap();
    }
}

#[test]
fn the_same_program_has_the_same_result() {
    const BOUND: u32 = if cfg!(miri) { 30 } else { 1_000 };
    let primes: Vec<u32> =
        (2..BOUND).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0)).collect();
    everywhere(|system| {
        let (found, find) = mpsc::channel();
        let first = system.spawn(Sieve { prime: 2, next: None, found });
        (3..BOUND).for_each(|n| first.send(n).unwrap());
        drop(first);
        let mut found: Vec<u32> = find.iter().collect();
        found.sort_unstable();
        assert_eq!(found, primes, "{system:?}");
        system.wait_idle(Duration::MAX).unwrap();
        let audit = system.audit(Duration::MAX).unwrap();
        assert!(audit.is_balanced() && audit.queued == 0 && audit.dead == 0, "{audit:?}");
        assert_eq!(system.stats().actors, 0);
    });
}

/// What a sender tells a receiver: who, and the how manieth.
type Letter = (usize, u64);

const SENDERS: usize = 6;
const RECEIVERS: usize = 4;
const TURNS: u64 = if cfg!(miri) { 5 } else { 60 };
/// More than are buffered for one receiver at a time, every other turn.
const LETTERS: [u64; 2] = [3, 50];

/// Checks that each sender's letters come in order.
struct Receiver {
    next: [u64; SENDERS],
    left: u64,
    done: mpsc::Sender<()>,
}

impl Actor for Receiver {
    type Msg = Letter;

    fn handle(&mut self, (sender, n): Letter, _ctx: &mut Context<'_, Self>) {
        assert_eq!(n, self.next[sender], "sender {sender}");
        self.next[sender] += 1;
        self.left -= 1;
        if n % 64 == 0 {
            toil(2_000);
        }
        if self.left == 0 {
            self.done.send(()).unwrap();
        }
    }
}

/// Senders on all workers, sometimes in long turns, so that they and the receivers are moved while
/// they talk.
#[test]
fn what_one_sends_to_another_arrives_in_order_however_both_move() {
    everywhere(|system| {
        let (done, finished) = mpsc::channel();
        let total: u64 = (0..TURNS).map(|turn| LETTERS[turn as usize % 2]).sum();
        let receivers: Vec<Address<Receiver>> = (0..RECEIVERS)
            .map(|n| {
                let (done, left) = (done.clone(), total * SENDERS as u64);
                let make = move || Receiver { next: [0; SENDERS], left, done: done.clone() };
                let home = SpawnOptions::new().on_worker(n % system.workers());
                system.spawn_with(home, make).unwrap()
            })
            .collect();
        for sender in 0..SENDERS {
            let receivers = receivers.clone();
            let make = move || {
                let (receivers, mut sent) = (receivers.clone(), [0; RECEIVERS]);
                does(move |turn: u64, ctx| {
                    for (n, receiver) in receivers.iter().enumerate() {
                        for _ in 0..LETTERS[turn as usize % 2] {
                            receiver.send((sender, sent[n])).unwrap();
                            sent[n] += 1;
                        }
                    }
                    if turn.is_multiple_of(8) {
                        toil(5_000);
                    }
                    if turn + 1 < TURNS {
                        ctx.address().send(turn + 1).unwrap();
                    }
                })
            };
            let home = SpawnOptions::new().on_worker(sender % system.workers());
            system.spawn_with(home, make).unwrap().send(0).unwrap();
        }
        finished.iter().take(RECEIVERS).for_each(drop);
        system.wait_idle(Duration::MAX).unwrap();
        let audit = system.audit(Duration::MAX).unwrap();
        assert_eq!(audit.handled, (RECEIVERS * SENDERS) as u64 * total + SENDERS as u64 * TURNS);
        assert!(audit.is_balanced() && audit.queued == 0 && audit.dead == 0, "{audit:?}");
    });
}

/// Outside threads, too, are heard in order.
#[test]
fn what_a_thread_sends_arrives_in_order() {
    const LETTERS: u64 = if cfg!(miri) { 50 } else { 20_000 };
    everywhere(|system| {
        let (done, finished) = mpsc::channel();
        let left = 3 * LETTERS;
        let receiver = system.spawn(Receiver { next: [0; SENDERS], left, done });
        std::thread::scope(|scope| {
            for sender in 0..3 {
                let receiver = &receiver;
                scope.spawn(move || {
                    (0..LETTERS).for_each(|n| receiver.send((sender, n)).unwrap());
                });
            }
        });
        finished.recv().unwrap();
    });
}

/// Cause before effect: who hears that something was sent, and then asks the one it was sent to,
/// finds it there.
#[test]
fn what_was_sent_before_an_answer_is_there_when_the_answer_is() {
    enum Count {
        One,
        Get(Reply<u32>),
    }
    everywhere(|system| {
        let last = system.workers() - 1;
        let make = || {
            let mut total = 0;
            does(move |msg: Count, _| match msg {
                Count::One => total += 1,
                Count::Get(reply) => drop(reply.send(total)),
            })
        };
        let counter = system.spawn_with(SpawnOptions::new().on_worker(last), make).unwrap();
        let to = counter.clone();
        let sender = system.spawn(does(move |reply: Reply<()>, _| {
            (0..20).for_each(|_| to.send(Count::One).unwrap());
            reply.send(()).unwrap();
            // Gives the others time to act in the middle of this turn.
            toil(20_000);
        }));
        for n in 1..=20 {
            sender.ask(|reply| reply).wait().unwrap();
            assert_eq!(counter.ask(Count::Get).wait(), Ok(20 * n), "{system:?}");
        }
    });
}

/// Sends itself the next message for as long as nobody says stop. Bit `i` of `seen`: on worker `i`.
fn loner(stop: Arc<AtomicBool>, seen: Arc<AtomicUsize>) -> crate::common::Does<()> {
    does(move |(), ctx: &mut Context<'_, crate::common::Does<()>>| {
        seen.fetch_or(1 << ctx.worker(), SeqCst);
        if !stop.load(SeqCst) {
            ctx.address().send(()).unwrap();
        }
    })
}

/// All start at the first worker, and none costs enough that a thief would be called for it.
const PATIENT: Affine =
    Affine { wait_worth_moving_ns: u64::MAX, outside_together: 256, ..Affine::DEFAULT };

#[test]
fn busy_workers_share_what_talks_to_nobody() {
    let system = system(Policy::Affine(PATIENT), 2);
    let stop = Arc::new(AtomicBool::new(false));
    let start = |_| system.spawn(loner(stop.clone(), Arc::default()));
    let loners: Vec<_> = (0..8).map(start).collect();
    loners.iter().for_each(|loner| loner.send(()).unwrap());
    // Ends only when one of them was pushed to the other worker.
    while system.stats().total().pushed == 0 {
        std::thread::yield_now();
    }
    stop.store(true, SeqCst);
    system.wait_idle(Duration::MAX).unwrap();
    assert!(system.audit(Duration::MAX).unwrap().is_balanced());
}

/// Notes on which workers it has run.
struct Resident {
    footprint_bytes: usize,
    /// Bit `i`: on worker `i`.
    seen: Arc<AtomicUsize>,
}

impl Actor for Resident {
    type Msg = ();

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        self.seen.fetch_or(1 << ctx.worker(), SeqCst);
    }

    fn footprint_bytes(&self) -> usize {
        self.footprint_bytes
    }
}

/// Moves whatever it may, and nothing that declares as much as a KiB.
const EAGER_BUT_LIGHT: Affine = Affine {
    wait_worth_moving_ns: 0,
    cost_worth_moving_ns: 0,
    footprint_ns_per_kib: u64::MAX,
    balance_every_ns: 0,
    colocate_after: 0,
    // Nor does anything leave a worker that the system keeps waiting.
    talk_worth_moving_ns: 0,
    ..Affine::DEFAULT
};

/// Of two at worker 0, started so and of so many bytes, the other worker takes the second and never
/// the first.
fn first_stays(first: (SpawnOptions, usize), second: (SpawnOptions, usize)) {
    let system = system(Policy::Affine(EAGER_BUT_LIGHT), 2);
    let resident = |(options, footprint_bytes): (SpawnOptions, usize)| {
        let seen = Arc::new(AtomicUsize::new(0));
        let its = seen.clone();
        let make = move || Resident { footprint_bytes, seen: its.clone() };
        (system.spawn_with(options.on_worker(0), make).unwrap(), seen)
    };
    let ((first, first_seen), (second, second_seen)) = (resident(first), resident(second));
    // Until the other worker has taken the second one.
    while second_seen.load(SeqCst) & 2 == 0 {
        first.send(()).unwrap();
        second.send(()).unwrap();
        std::thread::yield_now();
    }
    system.wait_idle(Duration::MAX).unwrap();
    assert_eq!(first_seen.load(SeqCst), 1);
    assert!(system.audit(Duration::MAX).unwrap().is_balanced());
}

#[test]
fn what_declares_a_large_footprint_is_not_stolen() {
    first_stays((SpawnOptions::new(), 1024), (SpawnOptions::new(), 1023));
}

#[test]
fn what_is_pinned_is_not_stolen() {
    first_stays((SpawnOptions::new().pinned(), 0), (SpawnOptions::new(), 0));
}

#[test]
fn what_is_pinned_is_not_pushed() {
    let system = system(Policy::Affine(PATIENT), 2);
    let stop = Arc::new(AtomicBool::new(false));
    let start = |options: SpawnOptions| {
        let (stop, seen) = (stop.clone(), Arc::new(AtomicUsize::new(0)));
        let its = seen.clone();
        let make = move || loner(stop.clone(), its.clone());
        let loner = system.spawn_with(options, make).unwrap();
        loner.send(()).unwrap();
        (loner, seen)
    };
    let pinned: Vec<_> = (0..8).map(|_| start(SpawnOptions::new().on_worker(0).pinned())).collect();
    let loose: Vec<_> = (0..4).map(|_| start(SpawnOptions::new().on_worker(0))).collect();
    // Until a loose one was given to the other worker; the pinned ones are as cheap.
    while loose.iter().all(|(_, seen)| seen.load(SeqCst) & 2 == 0) {
        std::thread::yield_now();
    }
    stop.store(true, SeqCst);
    system.wait_idle(Duration::MAX).unwrap();
    assert!(pinned.iter().all(|(_, seen)| seen.load(SeqCst) == 1));
}

/// Says where it is, and ends.
struct Visitor(mpsc::Sender<usize>);

impl Actor for Visitor {
    type Msg = bool;

    fn handle(&mut self, ends: bool, ctx: &mut Context<'_, Self>) {
        self.0.send(ctx.worker()).unwrap();
        if ends {
            ctx.stop();
        }
    }
}

#[test]
fn what_is_made_outside_is_spread_and_who_follows_one_that_has_ended_starts_where_that_did() {
    // Nothing moves.
    let still = Affine { wait_worth_moving_ns: u64::MAX, ..EAGER_BUT_LIGHT };
    for policy in [Policy::Affine(still), Policy::pinned()] {
        let system = system(policy, 2);
        let (sender, places) = mpsc::channel();
        let visit = |ends| {
            let visitor = system.spawn(Visitor(sender.clone()));
            visitor.send(ends).unwrap();
            // Until it has ended, if it ends.
            system.wait_idle(Duration::MAX).unwrap();
            (visitor, places.recv().unwrap())
        };
        let one_after_the_other: Vec<usize> = (0..3).map(|_| visit(true).1).collect();
        assert_eq!(one_after_the_other, [0, 0, 0], "{policy}");
        let (stays, at_once): (Vec<_>, Vec<_>) = (0..4).map(|_| visit(false)).unzip();
        assert_eq!(at_once, [0, 1, 0, 1], "{policy}");
        drop(stays);
    }
}

/// Takes fifty times as long elsewhere as at worker 0, and counts its messages.
struct Homebody(Arc<AtomicUsize>);

impl Actor for Homebody {
    type Msg = ();

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        toil(if ctx.worker() == 0 { 2_000 } else { 100_000 });
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn what_a_first_turn_elsewhere_costs_more_is_learnt_of_the_type() {
    let affine = Affine { footprint_ns_per_kib: 1, ..EAGER_BUT_LIGHT };
    let system = system(Policy::Affine(affine), 2);
    assert_eq!(system.estimates::<Homebody>().cost_ns, None);
    type Ends = (mpsc::Sender<()>, mpsc::Receiver<()>);
    let busy = || {
        does(|(began, end): Ends, ctx: &mut Context<'_, _>| {
            began.send(()).unwrap();
            // At worker 0 it would hold up those that it is to give time to.
            if ctx.worker() == 1 {
                end.recv().unwrap();
            }
        })
    };
    // Ends when worker 1 has taken one of them that was known at home. Those of a round are new, so
    // that none keeps worker 1 busy for ever that it took before anything was known of it.
    while system.estimates::<Homebody>().footprint_kib.is_none_or(|kib| kib < 100) {
        // While they start and become known, worker 1 has something else to do.
        let ((begins, began), (end, ends)) = (mpsc::channel(), mpsc::channel());
        let busy = system.spawn_with(SpawnOptions::new().on_worker(1), busy).unwrap();
        busy.send((begins, ends)).unwrap();
        began.recv().unwrap();
        let handled = Arc::new(AtomicUsize::new(0));
        let make = || {
            let handled = handled.clone();
            let make = move || Homebody(handled.clone());
            system.spawn_with(SpawnOptions::new().on_worker(0), make).unwrap()
        };
        let homebodies: Vec<_> = (0..32).map(|_| make()).collect();
        let send = || homebodies.iter().for_each(|homebody| homebody.send(()).unwrap());
        send();
        while handled.load(SeqCst) < homebodies.len() {
            std::thread::yield_now();
        }
        _ = end.send(());
        system.wait_idle(Duration::MAX).unwrap();
        send();
        system.wait_idle(Duration::MAX).unwrap();
    }
    assert!(system.estimates::<Homebody>().cost_ns > Some(0));
    assert!(system.audit(Duration::MAX).unwrap().is_balanced());
}

/// What a flood brings: it says where it is.
struct Droplet(usize, mpsc::Sender<(usize, usize)>);

impl Actor for Droplet {
    type Msg = ();

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        self.1.send((self.0, ctx.worker())).unwrap();
    }

    fn footprint_bytes(&self) -> usize {
        1024
    }
}

#[test]
fn what_is_spawned_begins_near_its_spawner_and_a_flood_goes_to_homes_that_are_spread() {
    // Nothing is stolen, whose cost nobody knows yet either, or given away. What goes home with
    // something to do may be taken back before its home has seen it, but does not stay.
    let patient = Affine {
        wait_worth_moving_ns: u64::MAX,
        steals_to_rehome: u32::MAX,
        away_to_rehome: u32::MAX,
        ..EAGER_BUT_LIGHT
    };
    for (policy, homes) in [
        (
            Policy::Affine(Affine { start_together: 4, ..patient }),
            [1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1],
        ),
        (Policy::Affine(patient), [1; 12]),
        (Policy::pinned(), [1; 12]),
    ] {
        let system = system(policy, 2);
        let (sender, places) = mpsc::channel();
        let (made, droplets) = mpsc::channel();
        let spawn = move || {
            let (sender, made) = (sender.clone(), made.clone());
            // Half of them with options: both ways place alike.
            does(move |(), ctx: &mut Context<'_, crate::common::Does<()>>| {
                for n in 0..12 {
                    let sender = sender.clone();
                    let droplet = if n % 2 == 0 {
                        ctx.spawn_detached(Droplet(n, sender))
                    } else {
                        let make = move || Droplet(n, sender.clone());
                        ctx.spawn_with(SpawnOptions::new(), make).unwrap()
                    };
                    droplet.send(()).unwrap();
                    made.send(droplet).unwrap();
                }
            })
        };
        let spawner = system.spawn_with(SpawnOptions::new().on_worker(1), spawn).unwrap();
        let seen = || {
            system.wait_idle(Duration::MAX).unwrap();
            let mut places: Vec<(usize, usize)> = places.try_iter().collect();
            places.sort_unstable();
            places.into_iter().map(|(_, place)| place).collect::<Vec<_>>()
        };
        spawner.send(()).unwrap();
        assert_eq!(seen(), [1; 12], "the first turn, in {system:?}");
        let droplets: Vec<_> = droplets.try_iter().collect();
        droplets.iter().for_each(|droplet| droplet.send(()).unwrap());
        assert_eq!(seen(), homes, "the second turn, in {system:?}");
    }
}

/// Sends every message on to the other, until both are at the same worker.
struct Talker {
    me: usize,
    at: Arc<[AtomicUsize; 2]>,
    other: Option<Address<Talker>>,
}

enum Talk {
    Meet(Address<Talker>),
    Word,
}

impl Actor for Talker {
    type Msg = Talk;

    fn handle(&mut self, msg: Talk, ctx: &mut Context<'_, Self>) {
        match msg {
            Talk::Meet(other) => self.other = Some(other),
            Talk::Word => {
                self.at[self.me].store(ctx.worker(), SeqCst);
                let is_together = self.at[0].load(SeqCst) == self.at[1].load(SeqCst);
                // Only this word ends: they may be about to change places, and then talk on.
                if let Some(other) = self.other.as_ref().filter(|_| !is_together) {
                    other.send(Talk::Word).unwrap();
                }
            }
        }
    }

    fn footprint_bytes(&self) -> usize {
        1024
    }
}

#[test]
fn two_that_talk_to_each_other_come_together() {
    // Nothing else moves them, nor keeps them where they are not at home.
    let affine = Affine {
        footprint_ns_per_kib: u64::MAX,
        balance_every_ns: 0,
        // However slow the machine is.
        wait_worth_moving_ns: u64::MAX,
        steals_to_rehome: u32::MAX,
        away_to_rehome: u32::MAX,
        talk_worth_moving_ns: 0,
        ..Affine::DEFAULT
    };
    let system = system(Policy::Affine(affine), 2);
    let at = Arc::new([0, 1].map(AtomicUsize::new));
    let talker = |me| {
        let at = at.clone();
        let make = move || Talker { me, at: at.clone(), other: None };
        system.spawn_with(SpawnOptions::new().on_worker(me), make).unwrap()
    };
    let pair = [talker(0), talker(1)];
    for me in 0..2 {
        pair[me].send(Talk::Meet(pair[1 - me].clone())).unwrap();
    }
    for _ in 0..8 {
        pair[0].send(Talk::Word).unwrap();
    }
    // Ends when one has followed the other.
    system.wait_idle(Duration::MAX).unwrap();
    let total = system.stats().total();
    assert!(total.colocated >= 1, "{total:?}");
    assert_eq!(at[0].load(SeqCst), at[1].load(SeqCst));
    assert!(system.audit(Duration::MAX).unwrap().is_balanced());
}

/// Sends each word on, in turn to one at the other worker and to one at its own, until it is told.
struct Gossip {
    me: usize,
    enough: Arc<AtomicBool>,
    others: Vec<Address<Gossip>>,
    next: usize,
}

enum Word {
    Meet(Vec<Address<Gossip>>),
    Heard,
}

impl Actor for Gossip {
    type Msg = Word;

    fn handle(&mut self, word: Word, _: &mut Context<'_, Self>) {
        match word {
            Word::Meet(others) => self.others = others,
            Word::Heard => {
                if !self.enough.load(SeqCst) {
                    self.next = 3 - self.next;
                    let to = (self.me + self.next) % self.others.len();
                    self.others[to].send(Word::Heard).unwrap();
                }
            }
        }
    }
}

/// Keeps its worker from running for some milliseconds, now and then, as another process does.
struct Intruder {
    enough: Arc<AtomicBool>,
}

impl Actor for Intruder {
    type Msg = ();

    #[expect(clippy::disallowed_methods, reason = "the worker shall not run for a while")]
    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        std::thread::sleep(Duration::from_millis(3));
        if !self.enough.load(SeqCst) {
            ctx.after(Duration::from_millis(20), ());
        }
    }
}

#[test]
fn what_talks_leaves_a_worker_that_is_kept_waiting() {
    // Nothing else moves anything.
    let affine = Affine {
        balance_every_ns: 0,
        colocate_after: 0,
        wait_worth_moving_ns: u64::MAX,
        steals_to_rehome: u32::MAX,
        away_to_rehome: u32::MAX,
        turn_too_long_ns: u64::MAX,
        work_worth_moving_ns: u64::MAX,
        cost_worth_moving_ns: u32::MAX,
        // However slow the machine is.
        talk_worth_moving_ns: u32::MAX,
        ..Affine::DEFAULT
    };
    let system = system(Policy::Affine(affine), 2);
    let enough = Arc::new(AtomicBool::new(false));
    let on = |worker| SpawnOptions::new().on_worker(worker);
    let gossip = |me| {
        let enough = enough.clone();
        let make = move || Gossip { me, enough: enough.clone(), others: Vec::new(), next: 1 };
        system.spawn_with(on(me % 2), make).unwrap()
    };
    let all: Vec<_> = (0..8).map(gossip).collect();
    for one in &all {
        one.send(Word::Meet(all.clone())).unwrap();
    }
    let intruder_enough = enough.clone();
    let intruder = move || Intruder { enough: intruder_enough.clone() };
    system.spawn_with(on(1), intruder).unwrap().send(()).unwrap();
    for one in &all {
        one.send(Word::Heard).unwrap();
    }
    // Those at worker 1 move, all of them, sooner or later: without that this does not end.
    while system.stats().total().pushed < 4 {
        std::thread::yield_now();
    }
    enough.store(true, SeqCst);
    system.wait_idle(Duration::MAX).unwrap();
    assert!(system.audit(Duration::MAX).unwrap().is_balanced());
}
