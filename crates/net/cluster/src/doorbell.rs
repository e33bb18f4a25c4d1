//! Doorbells, and the word that is behind one in shared memory. One sleeper is woken there: by its
//! own process always, by others while it is *armed*.
//!
//! | word | the sleeper | its own process rings | another one rings |
//! |---|---|---|---|
//! | `AWAKE` | looks, and will look once more when it has armed | `RUNG` | - |
//! | `ASLEEP` | sleeps; what others send is looked after by somebody else | `RUNG`, wakes it | - |
//! | `ARMED` | has looked, or looks for the last time, and sleeps | `RUNG`, wakes it | `HEARD`, wakes it |
//! | `RUNG`, `HEARD` | is being woken, or will not fall asleep | `RUNG` | - |
//!
//! Only the sleeper goes to the first three. Two protocols are in it. *Others*: the sleeper arms
//! and then looks, a sender sends and then reads the word, with a fence between on both sides
//! (Dekker): so either the sleeper sees what was sent, or the sender sees that it is armed. A
//! sleeper that is awake costs its senders one read of a line that nobody writes to. *Its own
//! process* leaves `RUNG` whether it sleeps or not, as `Thread::unpark` leaves a token; whoever
//! finds it there writes nothing, because the sleeper looks again after it has taken it.
//!
//! What is in the word may be anything, for processes that die leave it as it is: whatever it is, a
//! sleep that has a bound ends, and one that rings waits for nobody.

use actinium_scheduler::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;
const ARMED: u32 = 2;
const RUNG: u32 = 3;
const HEARD: u32 = 4;

/// The reason for which a sleep has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Nobody has rung: it has slept for so long, or a signal came.
    Late,
    /// Somebody of this process has rung.
    Here,
    /// Another process has.
    Elsewhere,
}

/// Where whoever drives a fabric sleeps, and is woken: by other nodes while the fabric is
/// [armed](crate::fabric::Fabric::arm), by its own process always.
pub trait Doorbell: Send + Sync {
    /// Sleeps for so long at most, unless it was rung since the last sleep. One thread sleeps
    /// there.
    fn sleep(&self, longest: Duration) -> Woken;

    /// Wakes the sleeper, or keeps it from falling asleep. Whatever was to be done before is seen
    /// by who was woken.
    fn ring(&self);
}

/// See the module. Zero is awake.
#[repr(transparent)]
pub(crate) struct Word(AtomicU32);

impl Word {
    #[cfg(any(test, loom))]
    pub(crate) fn new() -> Self {
        Word(AtomicU32::new(AWAKE))
    }

    /// Makes others ring from now on; a look has to follow. False: it was rung meanwhile, and is
    /// not armed.
    pub(crate) fn arm(&self) -> bool {
        // Relaxed, both: the fence below orders.
        let armed = self.0.compare_exchange(AWAKE, ARMED, Ordering::Relaxed, Ordering::Relaxed);
        if armed.is_err() {
            self.0.swap(AWAKE, Ordering::Relaxed);
        }
        // Pairs with the fence in `ring_if_armed`: the look that follows finds what was sent, or
        // its sender finds the word armed. And with the one in `ring`: what was said before a ring
        // that is taken here is found, too.
        fence(Ordering::SeqCst);
        armed.is_ok()
    }

    /// Disarms the doorbell: the owner does not sleep after all, and looks for work instead.
    pub(crate) fn disarm(&self) {
        // Relaxed: what a ring was for is found at the latest by the look that follows the next
        // `arm`, which has the fence.
        self.0.swap(AWAKE, Ordering::Relaxed);
    }

    /// Sleeps, unless it was rung. `wait` returns at once where the word is not what it expects,
    /// and else when it is woken, or without a reason.
    pub(crate) fn sleep(&self, wait: impl FnOnce(&AtomicU32, u32)) -> Woken {
        // Relaxed, both: the fence below orders.
        let is = self.0.compare_exchange(AWAKE, ASLEEP, Ordering::Relaxed, Ordering::Relaxed);
        match is {
            Ok(_) => wait(&self.0, ASLEEP),
            Err(ARMED) => wait(&self.0, ARMED),
            Err(_) => {}
        }
        // Relaxed: as above.
        let was = self.0.swap(AWAKE, Ordering::Relaxed);
        // Pairs with the fences of those who ring: what they said before is found after this. Who
        // has found the word rung, and has written nothing, passed its fence either before this
        // one, or finds what stands there now.
        fence(Ordering::SeqCst);
        match was {
            RUNG => Woken::Here,
            HEARD => Woken::Elsewhere,
            _ => Woken::Late,
        }
    }

    /// The own process rings.
    pub(crate) fn ring(&self, wake: impl FnOnce(&AtomicU32)) {
        // Pairs with the fences in `arm` and `sleep`: who takes a ring finds what was said before
        // this one.
        fence(Ordering::SeqCst);
        // Relaxed, both: the fence orders.
        if self.0.load(Ordering::Relaxed) == RUNG {
            return;
        }
        let was = self.0.swap(RUNG, Ordering::Relaxed);
        // Who has made it `HEARD` may have been stopped before it woke anybody.
        if matches!(was, ASLEEP | ARMED | HEARD) {
            wake(&self.0);
        }
    }

    /// Another process rings, after it has sent something.
    pub(crate) fn ring_if_armed(&self, wake: impl FnOnce(&AtomicU32)) {
        // Pairs with the fence in `arm`: see there.
        fence(Ordering::SeqCst);
        // Relaxed, all: the fence orders.
        if self.0.load(Ordering::Relaxed) == ARMED
            && self.0.compare_exchange(ARMED, HEARD, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            wake(&self.0);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn asleep(word: &Word) -> Woken {
        word.sleep(|word, expected| {
            // Relaxed: one thread.
            assert_eq!(word.load(Ordering::Relaxed), expected);
        })
    }

    #[test]
    fn others_ring_once_and_only_where_it_is_armed() {
        let word = Word::new();
        let no_call = |_: &AtomicU32| panic!("nobody sleeps");
        word.ring_if_armed(no_call);
        assert!(word.arm(), "that was for one who is awake");
        let mut calls = 0;
        word.ring_if_armed(|_| calls += 1);
        word.ring_if_armed(no_call);
        assert_eq!(calls, 1);
        let woken = word.sleep(|_, _| panic!("it was rung"));
        assert_eq!(woken, Woken::Elsewhere);
        assert!(word.arm());
        assert_eq!(asleep(&word), Woken::Late);
        assert_eq!(asleep(&word), Woken::Late, "one that is not armed");
    }

    #[test]
    fn a_ring_of_its_own_process_waits_for_it() {
        let word = Word::new();
        word.ring(|_| panic!("it does not sleep"));
        assert!(!word.arm());
        assert!(word.arm(), "that ring is taken");
        word.disarm();
        word.ring(|_| panic!("it does not sleep"));
        assert_eq!(word.sleep(|_, _| panic!("it was rung")), Woken::Here);
        assert!(word.arm());
        let mut calls = 0;
        word.ring_if_armed(|_| calls += 1);
        word.ring(|_| calls += 1);
        word.ring(|_| panic!("it was woken"));
        assert_eq!(calls, 2, "the other process may have been stopped before it woke anybody");
        assert_eq!(word.sleep(|_, _| panic!("it was rung")), Woken::Here);
    }
}
