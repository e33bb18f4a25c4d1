//! sent = handled + queued + returned + dead, at every moment.

use crate::common::{ON_PURPOSE, quiet, system};
use actinium_actor::{
    Actor, Address, Context, Mailbox, Policy, Shutdown, SpawnOptions, Supervision, System,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const ACTORS: usize = 8;
const THREADS: usize = 4;
/// Audits go on until so many were sent.
const MESSAGES: u64 = if cfg!(miri) { 100 } else { 20_000 };

/// Sends messages on to random friends, some of which are narrow, fragile, or short-lived.
struct Busy {
    friends: Vec<Address<Busy>>,
    random: u64,
}

enum Msg {
    Friends(Vec<Address<Busy>>),
    /// Send so many generations on.
    Work(u32),
    Panic,
}

fn random(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

impl Actor for Busy {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Friends(friends) => self.friends = friends,
            Msg::Panic => panic!("{ON_PURPOSE}"),
            Msg::Work(0) => {}
            Msg::Work(n) => {
                for _ in 0..2 {
                    let choice = random(&mut self.random);
                    let Some(friend) = self.friends.get(choice % self.friends.len().max(1)) else {
                        return;
                    };
                    match choice / 100 % 4 {
                        0 => friend.tell(Msg::Work(n - 1)),
                        1 => drop(friend.send(Msg::Work(n - 1))),
                        2 => drop(friend.try_send(Msg::Work(n - 1))),
                        // Somebody who is gone soon, with a message left.
                        _ => {
                            let brief = ctx.spawn_detached(Busy { friends: Vec::new(), random: 0 });
                            brief.tell(Msg::Panic);
                            brief.tell(Msg::Work(0));
                        }
                    }
                }
            }
        }
    }
}

fn spawn_busy(system: &System) -> Vec<Address<Busy>> {
    (0..ACTORS)
        .map(|n| {
            let options = SpawnOptions::new().supervise(Supervision::restart());
            let options = match n % 3 {
                0 => options.mailbox(Mailbox::bounded(1 + n)),
                _ => options,
            };
            let make = move || Busy { friends: Vec::new(), random: n as u64 };
            system.spawn_with(options, make).unwrap()
        })
        .collect()
}

/// Sends from an external thread, to actors that live and to one that has ended.
fn send_until(over: &AtomicBool, actors: &[Address<Busy>], ended: &Address<Busy>, seed: usize) {
    let mut state = seed as u64;
    while !over.load(Ordering::SeqCst) {
        let choice = random(&mut state);
        match choice / 100 % 64 {
            0 => actors[choice % ACTORS].tell(Msg::Panic),
            1..8 => ended.tell(Msg::Work(1)),
            8..16 => drop(ended.send(Msg::Work(1))),
            16..32 => actors[choice % ACTORS].tell(Msg::Work(2)),
            _ => drop(actors[choice % ACTORS].send(Msg::Work(3))),
        }
        // Not more than they can handle.
        while actors.iter().map(Address::len).sum::<usize>() > 10_000
            && !over.load(Ordering::SeqCst)
        {
            thread::yield_now();
        }
    }
}

#[test]
fn it_balances_while_everybody_sends() {
    quiet();
    let audits = if cfg!(miri) { 3 } else { 100 };
    for policy in Policy::ALL {
        for workers in [1, 2, 4] {
            let system = system(policy, workers);
            let actors = spawn_busy(&system);
            let ended = system.spawn(Busy { friends: Vec::new(), random: 0 });
            ended.kill();
            system.wait_idle(Duration::MAX).unwrap();
            for actor in &actors {
                actor.send(Msg::Friends(actors.clone())).unwrap();
            }
            let over = Arc::new(AtomicBool::new(false));
            let threads: Vec<_> = (0..THREADS)
                .map(|n| {
                    let (actors, ended, over) = (actors.clone(), ended.clone(), over.clone());
                    thread::spawn(move || send_until(&over, &actors, &ended, n))
                })
                .collect();
            let mut n = 0;
            loop {
                let audit = system.audit(Duration::MAX).unwrap();
                assert!(audit.is_balanced(), "{system:?}, audit {n}: {audit:?}");
                n += 1;
                let all = audit.handled > 0 && audit.dead > 0 && audit.returned > 0;
                if n >= audits && all && audit.sent > MESSAGES {
                    break;
                }
            }
            over.store(true, Ordering::SeqCst);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            system.wait_idle(Duration::MAX).unwrap();
            let audit = system.audit(Duration::MAX).unwrap();
            assert!(audit.is_balanced() && audit.queued == 0, "{system:?}: {audit:?}");
            let report = system.shutdown(Shutdown::Drain);
            assert_eq!(
                (report.handled, report.dead, report.dropped),
                (audit.handled, audit.dead, 0)
            );
        }
    }
}
