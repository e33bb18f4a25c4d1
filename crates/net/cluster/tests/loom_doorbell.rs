//! Every schedule, and every order of memory that the orderings allow, of one who sleeps at a
//! doorbell and those who ring.
//!
//! Under loom the crate itself is empty. What is here waits for ever where a ring is lost: loom
//! finds that as a deadlock.
//!
//! A program of its own: it is built with `--cfg loom`.
#![cfg(loom)]

#[allow(dead_code, unreachable_pub)]
#[path = "../src/doorbell.rs"]
mod doorbell;

use doorbell::{Woken, Word};
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// What the kernel does: it compares, and falls asleep, in one step as far as those who wake can
/// see.
struct Futex {
    lock: Mutex<()>,
    woken: Condvar,
}

impl Futex {
    fn wait(&self, word: &AtomicU32, expected: u32) {
        let guard = self.lock.lock().unwrap();
        if word.load(Ordering::Relaxed) == expected {
            drop(self.woken.wait(guard).unwrap());
        }
    }

    fn wake(&self, _: &AtomicU32) {
        drop(self.lock.lock().unwrap());
        self.woken.notify_one();
    }
}

struct Rank {
    word: Word,
    futex: Futex,
    /// What two senders send, and what its own process wants done.
    sent: [AtomicBool; 2],
    wanted: AtomicBool,
}

impl Rank {
    fn new() -> Arc<Self> {
        Arc::new(Rank {
            word: Word::new(),
            futex: Futex { lock: Mutex::new(()), woken: Condvar::new() },
            sent: [AtomicBool::new(false), AtomicBool::new(false)],
            wanted: AtomicBool::new(false),
        })
    }

    /// Another process: sends, then rings.
    fn sends(rank: &Arc<Self>, which: usize) -> thread::JoinHandle<()> {
        let rank = rank.clone();
        thread::spawn(move || {
            rank.sent[which].store(true, Ordering::Relaxed);
            rank.word.ring_if_armed(|word| rank.futex.wake(word));
        })
    }

    /// A thread of its own process.
    fn wants(rank: &Arc<Self>) -> thread::JoinHandle<()> {
        let rank = rank.clone();
        thread::spawn(move || {
            rank.wanted.store(true, Ordering::Relaxed);
            rank.word.ring(|word| rank.futex.wake(word));
        })
    }

    fn sleep(&self) -> Woken {
        self.word.sleep(|word, expected| self.futex.wait(word, expected))
    }

    /// As the node's thread: until all of these are there, it arms, looks, and sleeps. Why it was
    /// woken: late, if a call meant for one sleep reaches it in the next.
    fn rests_until(&self, all: &[&AtomicBool]) -> Vec<Woken> {
        let is_there = || all.iter().all(|it| it.load(Ordering::Relaxed));
        let mut why = Vec::new();
        while !is_there() {
            if !self.word.arm() {
                continue;
            }
            if is_there() {
                self.word.disarm();
                break;
            }
            why.push(self.sleep());
        }
        why
    }
}

fn model(f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(builder.preemption_bound.unwrap_or(3));
    builder.check(f);
}

#[test]
fn what_others_send_wakes_it() {
    model(|| {
        let rank = Rank::new();
        let senders = [Rank::sends(&rank, 0), Rank::sends(&rank, 1)];
        let why = rank.rests_until(&[&rank.sent[0], &rank.sent[1]]);
        assert!(!why.contains(&Woken::Here) && why.first() != Some(&Woken::Late), "{why:?}");
        senders.into_iter().for_each(|sender| sender.join().unwrap());
    });
}

#[test]
fn its_own_process_wakes_it_beside_others() {
    model(|| {
        let rank = Rank::new();
        let others = [Rank::sends(&rank, 0), Rank::wants(&rank)];
        rank.rests_until(&[&rank.sent[0], &rank.wanted]);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// As while a worker moves the frames: it is not armed, and does not look before it sleeps, for a
/// ring that came before is still there.
#[test]
fn its_own_process_wakes_it_where_it_is_not_armed() {
    model(|| {
        let rank = Rank::new();
        let others = [Rank::sends(&rank, 0), Rank::wants(&rank)];
        while !rank.wanted.load(Ordering::Relaxed) {
            assert_eq!(rank.sleep(), Woken::Here, "nobody else rings for one that is not armed");
        }
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// Two threads of its own process, of which one may find the other's ring there and write nothing.
#[test]
fn a_ring_that_finds_another_one_is_as_good() {
    model(|| {
        let rank = Rank::new();
        let also = rank.clone();
        let others = [
            Rank::wants(&rank),
            thread::spawn(move || {
                also.sent[1].store(true, Ordering::Relaxed);
                also.word.ring(|word| also.futex.wake(word));
            }),
        ];
        rank.rests_until(&[&rank.wanted, &rank.sent[1]]);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// The sender died, or was stopped, after it had said that it rings and before it did: then its own
/// process does.
#[test]
fn one_that_says_that_it_rings_and_does_not_harms_nobody() {
    model(|| {
        let rank = Rank::new();
        let also = rank.clone();
        let dead = thread::spawn(move || also.word.ring_if_armed(|_| ()));
        let alive = Rank::wants(&rank);
        rank.rests_until(&[&rank.wanted]);
        [dead, alive].into_iter().for_each(|other| other.join().unwrap());
    });
}
