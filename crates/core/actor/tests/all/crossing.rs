//! Messages that cross from worker to worker: in order, none lost, whatever moves or ends
//! meanwhile.

use actinium_actor::{Actor, Address, Affine, Bind, Context, Policy, Reply, Shutdown, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Moves whatever it can: nothing is too cheap or too short a wait.
fn restless() -> Policy {
    Policy::Affine(Affine {
        wait_worth_moving_ns: 1,
        cost_worth_moving_ns: 0,
        turn_too_long_ns: 1,
        distance_ns: 0,
        steals_to_rehome: 1,
        ..Affine::DEFAULT
    })
}

fn system(policy: Policy, workers: usize) -> System {
    System::builder().workers(workers).policy(policy).bind(Bind::None).build().unwrap()
}

/// Hears numbers from many, and demands each one's in order.
#[derive(Default)]
struct Listener {
    last: Vec<u64>,
    heard: Arc<AtomicU64>,
}

enum Hear {
    Number { from: usize, n: u64, _ballast: [u64; 5] },
    Count(Reply<u64>),
}

impl Actor for Listener {
    type Msg = Hear;

    fn handle(&mut self, msg: Hear, _: &mut Context<'_, Self>) {
        match msg {
            Hear::Number { from, n, .. } => {
                if self.last.len() <= from {
                    self.last.resize(from + 1, 0);
                }
                assert_eq!(n, self.last[from] + 1, "the messages of {from} are out of order");
                self.last[from] = n;
                // Relaxed: read when all is idle.
                self.heard.fetch_add(1, Ordering::Relaxed);
            }
            Hear::Count(reply) => drop(reply.send(self.last.iter().sum())),
        }
    }
}

/// Sends to all listeners in turn, a few at a time, then goes on in another turn.
struct Talker {
    me: usize,
    n: u64,
    until: u64,
    listeners: Vec<Address<Listener>>,
}

impl Actor for Talker {
    type Msg = ();

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        for _ in 0..7 {
            if self.n == self.until {
                return;
            }
            self.n += 1;
            for listener in &self.listeners {
                listener.send(Hear::Number { from: self.me, n: self.n, _ballast: [0; 5] }).unwrap();
            }
        }
        ctx.address().send(()).unwrap();
    }
}

fn talk(policy: Policy, workers: usize) -> System {
    const TALKERS: usize = 12;
    const EACH: u64 = 400;
    let system = system(policy, workers);
    let heard = Arc::new(AtomicU64::new(0));
    let listeners: Vec<_> = (0..9)
        .map(|_| system.spawn(Listener { heard: heard.clone(), ..Listener::default() }))
        .collect();
    for me in 0..TALKERS {
        let talker = Talker { me, n: 0, until: EACH, listeners: listeners.clone() };
        system.spawn(talker).send(()).unwrap();
    }
    // From now on only the talkers hold addresses: what they sent last may be under way when these
    // go.
    drop(listeners);
    system.wait_idle(Duration::MAX).unwrap();
    assert_eq!(heard.load(Ordering::Relaxed), TALKERS as u64 * EACH * 9);
    assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    assert_eq!(
        system.stats().total().stopped,
        TALKERS as u64 + 9,
        "all ended for want of addresses"
    );
    system
}

#[test]
fn pinned_actors_talk_across_workers_through_lanes_in_order() {
    let system = talk(Policy::pinned(), 3);
    let total = system.stats().total();
    assert!(total.crossed > 1000, "{total:?}");
    assert!((1..=total.crossed).contains(&total.published), "each chunk holds some: {total:?}");
    system.shutdown(Shutdown::Drain);
}

#[test]
fn restless_actors_hear_everything_in_order() {
    for workers in [2, 4] {
        talk(restless(), workers).shutdown(Shutdown::Drain);
    }
}

#[test]
fn under_every_policy_they_hear_everything_in_order() {
    for policy in Policy::ALL {
        talk(policy, 2).shutdown(Shutdown::Drain);
    }
}

/// Sends a number across, then does something that must not overtake it.
struct Sends {
    to: Address<Listener>,
    n: u64,
}

enum Then {
    Answer(Reply<()>),
    StopIt,
}

impl Actor for Sends {
    type Msg = Then;

    fn handle(&mut self, then: Then, _: &mut Context<'_, Self>) {
        self.n += 1;
        self.to.send(Hear::Number { from: 0, n: self.n, _ballast: [0; 5] }).unwrap();
        match then {
            Then::Answer(reply) => drop(reply.send(())),
            Then::StopIt => self.to.stop(),
        }
    }
}

#[test]
fn neither_an_answer_nor_a_stop_overtakes_what_was_sent_across() {
    let system = system(Policy::pinned(), 2);
    for n in 1..200 {
        let heard = Arc::new(AtomicU64::new(0));
        let to = system.spawn(Listener { heard: heard.clone(), ..Listener::default() });
        let sends = system.spawn(Sends { to: to.clone(), n: 0 });
        sends.ask(Then::Answer).wait().unwrap();
        // The answer came after the number, so this question does.
        assert_eq!(to.ask(Hear::Count).wait(), Ok(1), "round {n}");
        sends.send(Then::StopIt).unwrap();
        system.wait_idle(Duration::MAX).unwrap();
        assert_eq!(heard.load(Ordering::Relaxed), 2, "round {n}");
    }
    assert_eq!(system.stats().total().dead, 0);
}

#[test]
fn messages_on_their_way_to_one_who_ends_are_accounted_for() {
    struct Ends(u32);
    impl Actor for Ends {
        type Msg = Box<u64>;
        fn handle(&mut self, _: Box<u64>, ctx: &mut Context<'_, Self>) {
            self.0 += 1;
            if self.0 == 5 {
                ctx.stop();
            }
        }
    }
    struct Floods(Address<Ends>);
    impl Actor for Floods {
        type Msg = u64;
        fn handle(&mut self, left: u64, ctx: &mut Context<'_, Self>) {
            for n in 0..50 {
                // It may have ended.
                let _ = self.0.send(Box::new(n));
            }
            if left > 0 {
                ctx.address().send(left - 1).unwrap();
            }
        }
    }
    let system = system(Policy::pinned(), 2);
    for _ in 0..50 {
        let ends = system.spawn(Ends(0));
        let floods = [system.spawn(Floods(ends.clone())), system.spawn(Floods(ends))];
        floods.iter().for_each(|floods| floods.send(20).unwrap());
        drop(floods);
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    }
    system.wait_idle(Duration::MAX).unwrap();
    let audit = system.audit(Duration::MAX).unwrap();
    assert!(audit.is_balanced(), "{audit:?}");
    assert_eq!(audit.queued, 0);
}

/// A receiver that demands its numbers in order, and says where it runs.
struct Moves {
    next: u64,
    worker: Arc<AtomicU64>,
}

impl Actor for Moves {
    type Msg = u64;

    fn handle(&mut self, n: u64, ctx: &mut Context<'_, Self>) {
        assert_eq!(n, self.next, "in order");
        self.next += 1;
        self.worker.store(ctx.worker() as u64, Ordering::Relaxed);
    }
}

/// Sends in a single turn until some time after the receiver has begun to run at another worker.
struct Streams {
    to: Address<Moves>,
    worker: Arc<AtomicU64>,
}

impl Actor for Streams {
    type Msg = ();

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        let here = ctx.worker() as u64;
        let mut after = 1_000;
        for n in 0..300_000 {
            self.to.send(n).unwrap();
            let there = self.worker.load(Ordering::Relaxed);
            if there != NOWHERE && there != here {
                after -= 1;
            }
            if after == 0 {
                break;
            }
        }
    }
}

const NOWHERE: u64 = u64::MAX;

#[test]
fn who_is_moved_while_a_turn_streams_to_it_hears_all_in_order() {
    let system = system(restless(), 2);
    let mut moved = 0;
    for _ in 0..100 {
        let worker = Arc::new(AtomicU64::new(NOWHERE));
        let to = system.spawn(Moves { next: 0, worker: worker.clone() });
        system.spawn(Streams { to, worker: worker.clone() }).send(()).unwrap();
        system.wait_idle(Duration::MAX).unwrap();
        assert_eq!(system.stats().total().panicked, 0);
        moved += u64::from(system.stats().total().stolen > 0);
    }
    assert!(moved > 0, "nothing was stolen: {:?}", system.stats().total());
}
