//! Ranks that sleep at their doorbells.

use crate::{LIMIT, Msg, is_stopped, patient, rank};
use actinium_cluster::fabric::mpi::Mpi;
use actinium_cluster::fabric::{Arming, Doorbell, Fabric, NodeId, Woken};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Far longer than a ring takes.
const BOUND: Duration = Duration::from_secs(1);

/// One that sleeps until something comes, and says how often another rank has woken it.
struct Sleeper {
    fabric: Mpi,
    doorbell: Arc<dyn Doorbell>,
    peer: NodeId,
    rung: u32,
}

impl Sleeper {
    /// Ranks that have had a word with each other. (Until then MPI itself may have to be called at
    /// both ends.)
    fn start() -> Self {
        let mut fabric = Mpi::start().unwrap();
        let doorbell = fabric.doorbell().expect("all ranks are on this host");
        let peer = NodeId(1 - fabric.node().0);
        fabric.send(peer, b"hello").unwrap();
        let mut sleeper = Sleeper { fabric, doorbell, peer, rung: 0 };
        sleeper.next();
        sleeper
    }

    /// The next frame; it looks until it comes.
    fn next(&mut self) -> Vec<u8> {
        loop {
            if let Some((_, frame)) = self.fabric.poll() {
                return frame;
            }
            std::thread::yield_now();
        }
    }

    /// The next frame; it sleeps until it comes.
    fn receive(&mut self) -> Vec<u8> {
        loop {
            if let Some((_, frame)) = self.fabric.poll() {
                return frame;
            }
            match self.fabric.arm() {
                Arming::Armed => match self.doorbell.sleep(BOUND) {
                    Woken::Elsewhere => self.rung += 1,
                    // What MPI could not pass on at once, or a call that was meant to end an
                    // earlier sleep.
                    Woken::Late => {}
                    Woken::Here => panic!("nobody here rings"),
                },
                Arming::Come => {}
                // A long one is on its way.
                Arming::Poll => std::thread::yield_now(),
            }
        }
    }
}

/// Frames go to and fro between two that sleep until they come, until both were rung for so often.
pub(crate) fn rings() {
    const RINGS: u32 = 100;
    let mut rank = Sleeper::start();
    let peer = rank.peer;
    let (mut there, mut round) = (0, 0);
    // Each says how often it was woken. Rank 0 says the last word.
    loop {
        if rank.fabric.node() == NodeId(0) {
            // Every tenth one is announced, and comes only while both ends call MPI.
            let mut frame = rank.rung.to_le_bytes().to_vec();
            frame.resize(if round % 10 == 9 { 1 << 20 } else { 4 }, 7);
            rank.fabric.send(peer, &frame).unwrap();
            if there >= RINGS && rank.rung >= RINGS && frame.len() == 4 {
                break;
            }
            there = u32::from_le_bytes(rank.receive()[..4].try_into().unwrap());
        } else {
            let heard = rank.receive();
            let (said, rest) = heard.split_at(4);
            assert!(rest.iter().all(|&byte| byte == 7));
            // As rank 0, which knows no more when it says its last word.
            if there >= RINGS
                && u32::from_le_bytes(said.try_into().unwrap()) >= RINGS
                && rest.is_empty()
            {
                break;
            }
            there = rank.rung;
            rank.fabric.send(peer, &there.to_le_bytes()).unwrap();
        }
        round += 1;
    }
    println!("doorbells: {} rings in {round} rounds", rank.rung);
}

/// Rank 1 is stopped when it has armed, before it sleeps. Its senders wait for nothing, and it
/// finds that it was rung for.
pub(crate) fn stopped() {
    let mut rank = Sleeper::start();
    if rank.fabric.node() == NodeId(1) {
        let me = std::process::id().to_string();
        rank.fabric.send(rank.peer, me.as_bytes()).unwrap();
        while rank.fabric.arm() != Arming::Armed {
            std::thread::yield_now();
        }
        assert!(Command::new("kill").args(["-STOP", &me]).status().unwrap().success());
        assert_eq!(rank.doorbell.sleep(BOUND), Woken::Elsewhere);
        let frames = u32::from_le_bytes(rank.next()[..4].try_into().unwrap());
        for _ in 1..frames {
            rank.next();
        }
        rank.fabric.send(rank.peer, b"all").unwrap();
        return;
    }
    let pid = String::from_utf8(rank.next()).unwrap();
    while !is_stopped(&pid) {
        std::thread::yield_now();
    }
    let frames: u32 = 100;
    for _ in 0..frames {
        rank.fabric.send(rank.peer, &frames.to_le_bytes()).unwrap();
    }
    assert!(Command::new("kill").args(["-CONT", &pid]).status().unwrap().success());
    assert_eq!(rank.next(), b"all");
    println!("a stopped doorbell: {frames} frames");
}

/// Rank 0 rests between messages until rank 1, which rests meanwhile, was rung for often enough.
pub(crate) fn rest() {
    // To come to rest takes long on a busy machine: until then a node lets others run.
    const RINGS: u64 = 3;
    let rank = rank(patient());
    let there = rank.node.find::<crate::Counter>(rank.peer, "counter", LIMIT).wait().unwrap();
    if rank.node.id() == NodeId(1) {
        let mut received = 0;
        while rank.node.stats().rung < RINGS {
            received += 1;
            rank.counter.ask(|reply| Msg::When(received, reply)).wait().unwrap();
        }
        there.send((0, Vec::new())).unwrap();
    } else {
        let (counter, done) = (rank.counter.clone(), Arc::new(AtomicBool::new(false)));
        let is_done = done.clone();
        let waits = std::thread::spawn(move || {
            counter.ask(|reply| Msg::When(1, reply)).wait().unwrap();
            done.store(true, Ordering::Release);
        });
        for number in 0.. {
            // Until it has slept, and sleeps again: mostly the other one sleeps, too.
            let rested = rank.node.stats().rested;
            while rank.node.stats().rested < rested + 2 {
                std::thread::yield_now();
            }
            // It may be gone by now.
            if is_done.load(Ordering::Acquire) || there.send((number, Vec::new())).is_err() {
                break;
            }
        }
        waits.join().unwrap();
    }
    rank.node.leave();
    let stats = rank.node.stats();
    println!("nodes at rest: {} rings in {} rests", stats.rung, stats.rested);
}
