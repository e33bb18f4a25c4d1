//! Small stories on real threads, sized for Miri and the sanitizers: what they look for is what the
//! tests do not assert.

use actinium_actor::{
    Actor, Address, Affine, Bind, Context, Mailbox, Policy, Shutdown, SpawnOptions, Supervision,
    System,
};
use actinium_topology::Topology;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

/// Miri takes about 1 ms for a message.
const MESSAGES: u32 = if cfg!(miri) { 3 } else { 1_000 };
const PEERS: usize = if cfg!(miri) { 2 } else { 16 };

fn policies() -> Vec<Policy> {
    let restless = Affine {
        wait_worth_moving_ns: 0,
        cost_worth_moving_ns: 0,
        distance_ns: 0,
        ..Affine::DEFAULT
    };
    // Miri has time for one that keeps what is idle with a worker, and for one that does not.
    let plain = if cfg!(miri) { vec![Policy::pool()] } else { Policy::ALL.to_vec() };
    plain.into_iter().chain([Policy::Affine(restless)]).collect()
}

/// Two workers, bound to nothing: Miri knows no affinity.
fn system(policy: Policy) -> System {
    let machine = Topology::synthetic("core:2 pu:1").unwrap();
    System::builder().workers(2).policy(policy).topology(machine).bind(Bind::None).build().unwrap()
}

/// Passes each number on to the next, one less, until it is 0.
struct Peer {
    next: Option<Address<Peer>>,
    handled: Arc<AtomicUsize>,
}

enum Msg {
    Meet(Address<Peer>),
    Number(u32),
    Part,
}

impl Actor for Peer {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _: &mut Context<'_, Self>) {
        self.handled.fetch_add(1, SeqCst);
        match (msg, &self.next) {
            (Msg::Meet(next), _) => self.next = Some(next),
            (Msg::Number(n), Some(next)) if n > 0 => next.send(Msg::Number(n - 1)).unwrap(),
            (Msg::Part, _) => self.next = None,
            _ => {}
        }
    }
}

fn ring(system: &System, handled: &Arc<AtomicUsize>) -> Vec<Address<Peer>> {
    let peer = || Peer { next: None, handled: handled.clone() };
    let ring: Vec<_> = (0..PEERS).map(|_| system.spawn(peer())).collect();
    for (at, peer) in ring.iter().enumerate() {
        peer.send(Msg::Meet(ring[(at + 1) % PEERS].clone())).unwrap();
    }
    ring
}

#[test]
fn rings_run_while_threads_outside_send() {
    for policy in policies() {
        let (system, handled) = (system(policy), Arc::new(AtomicUsize::new(0)));
        let ring = ring(&system, &handled);
        let outside = [0, 1].map(|at| {
            let peer = ring[at].clone();
            thread::spawn(move || (0..3).for_each(|_| peer.send(Msg::Number(MESSAGES)).unwrap()))
        });
        ring[0].send(Msg::Number(MESSAGES)).unwrap();
        outside.into_iter().for_each(|thread| thread.join().unwrap());
        system.wait_idle(Duration::MAX).unwrap();
        let expected = PEERS + 7 * (MESSAGES as usize + 1);
        assert_eq!(handled.load(SeqCst), expected, "{policy}");
        let audit = system.audit(Duration::MAX).unwrap();
        assert!(audit.is_balanced() && audit.queued == 0, "{policy}: {audit:?}");
        // What goes without a word goes by itself.
        ring[0].send(Msg::Part).unwrap();
        drop(ring);
        system.wait_idle(Duration::MAX).unwrap();
        assert_eq!(system.stats().actors, 0, "{policy}");
    }
}

#[test]
fn ending_in_the_middle_of_it_leaks_nothing() {
    for policy in policies() {
        let (system, handled) = (system(policy), Arc::new(AtomicUsize::new(0)));
        let ring = ring(&system, &handled);
        let outside = {
            let (handle, peer, handled) = (system.handle(), ring[0].clone(), handled.clone());
            thread::spawn(move || {
                for _ in 0..5 {
                    let _ = peer.send(Msg::Number(MESSAGES));
                    let late = handle.spawn(Peer { next: None, handled: handled.clone() });
                    late.tell(Msg::Number(0));
                }
            })
        };
        system.shutdown(Shutdown::Drop);
        outside.join().unwrap();
        let audit = system.audit(Duration::MAX).unwrap();
        assert!(audit.is_balanced() && audit.queued == 0, "{policy}: {audit:?}");
        drop((ring, system));
        assert_eq!(Arc::strong_count(&handled), 1, "{policy}: an actor leaked");
    }
}

/// As [`Other`], to the letter: a compiler may give both the same functions.
struct One(u64);
struct Other(u64);

impl Actor for One {
    type Msg = u64;

    fn handle(&mut self, msg: u64, _: &mut Context<'_, Self>) {
        self.0 += msg;
    }
}

impl Actor for Other {
    type Msg = u64;

    fn handle(&mut self, msg: u64, _: &mut Context<'_, Self>) {
        self.0 += msg;
    }
}

#[test]
fn actors_that_look_alike_are_told_apart() {
    let system = system(Policy::affine());
    let one = system.spawn(One(0));
    system.register("one", &one).unwrap();
    assert!(system.lookup::<One>("one").is_ok());
    assert!(system.lookup::<Other>("one").is_err());
    assert!(one.downgrade().upgrade().is_some());
}

/// Panics at every third message.
struct Fragile(u32);

impl Actor for Fragile {
    type Msg = Box<u32>;

    fn handle(&mut self, msg: Box<u32>, _: &mut Context<'_, Self>) {
        self.0 += *msg;
        if self.0 == 3 {
            std::panic::resume_unwind(Box::new("as told"));
        }
    }
}

#[test]
fn full_mailboxes_and_restarts_lose_nothing() {
    for policy in policies() {
        let system = system(policy);
        let options = SpawnOptions::new()
            .name("fragile")
            .mailbox(Mailbox::bounded(4))
            .supervise(Supervision::restart());
        let fragile = system.spawn_with(options, || Fragile(0)).unwrap();
        let senders = [0, 1].map(|_| {
            let found = system.lookup::<Fragile>("fragile").unwrap();
            thread::spawn(move || {
                (0..MESSAGES.min(100)).filter(|_| found.try_send(Box::new(1)).is_ok()).count()
            })
        });
        let sent: usize = senders.into_iter().map(|sender| sender.join().unwrap()).sum();
        system.wait_idle(Duration::MAX).unwrap();
        let total = system.stats().total();
        assert_eq!((total.handled, total.restarted), (sent as u64, sent as u64 / 3), "{policy}");
        fragile.stop();
        system.wait_idle(Duration::MAX).unwrap();
        assert!(fragile.is_closed() && system.audit(Duration::MAX).unwrap().is_balanced());
    }
}
