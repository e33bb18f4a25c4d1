//! The node's thread: it drives while no worker does, and sleeps when there is nothing to do.

use super::driver::Driver;
use super::progress::ProgressDriver;
use crate::fabric::{Arming, Woken};
use actinium_scheduler::nanoseconds;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// The number of turns without work up to which the thread spins. After that it lets other threads
/// run, up to `YIELDS`, and then it sleeps.
const SPINS: u32 = 64;
const YIELDS: u32 = 256;
/// The first `SHORT_SLEEPS` sleeps take so long where the fabric has to be polled and no other node
/// rings for this one. Later ones are longer.
const SHORT_SLEEP: Duration = Duration::from_micros(50);
const SHORT_SLEEPS: u32 = 64;
const LONG_SLEEP: Duration = Duration::from_millis(1);
const LONG_SLEEPS: u32 = 1024;
/// The sleep after about a second of `LONG_SLEEP`s. On a virtual machine, to wake a thread costs up
/// to 10 µs, which is 1 % of a core already.
const LONGEST_SLEEP: Duration = Duration::from_nanos(LONGEST_SLEEP_NS);
const LONGEST_SLEEP_NS: u64 = 2_000_000;
/// The number of such sleeps between two whole turns, at most: see `doze`.
const DOZES: u32 = 10;
/// The number of sleeps, some 70 ms, after which the thread relies on the ring of other nodes,
/// where they ring, and sleeps for `BACKSTOP` at most. The first sleeps are short as elsewhere,
/// because the fabric may pass a frame on soon after its ring. The bound is there because a node
/// may have been stopped just before it rings.
const ARMED_SLEEPS: u32 = 128;
const BACKSTOP: Duration = Duration::from_millis(20);
/// The time between two looks at whether a worker that drives still does.
const PATROL: Duration = Duration::from_millis(1);

pub(super) fn run(progress: &ProgressDriver) {
    progress.unparker().ring_this_thread();
    // Acquire: pairs with the release in `Node::leave`.
    let leaving = || progress.inner.leaving.load(Ordering::Acquire);
    let (mut idle, mut seen) = (0_u32, 0);
    let mut leave_at_ns = None;
    loop {
        if !leaving() && progress.is_driven(&mut seen) {
            idle = 0;
            progress.unparker().sleep(PATROL);
            continue;
        }
        // The fabric has panicked: the other nodes notice by this one's silence.
        let Some(mut slot) = progress.driver() else { return };
        let Some(driver) = slot.as_mut() else { return };
        if driver.turn() {
            idle = 0;
        } else {
            idle = idle.saturating_add(1);
        }
        if leaving() {
            let now_ns = driver.inner.clock.now_ns();
            let linger_ns = nanoseconds(driver.inner.config.linger);
            let until_ns = *leave_at_ns.get_or_insert(now_ns.saturating_add(linger_ns));
            if driver.may_leave() || now_ns >= until_ns {
                driver.leave();
                // After the lock: a fabric may take its time, and a worker does not wait for it.
                let left = slot.take();
                drop(slot);
                return drop(left);
            }
        }
        let rest = rest(driver, idle);
        drop(slot);
        match rest {
            Rest::Spin => std::hint::spin_loop(),
            Rest::Yield => thread::yield_now(),
            Rest::Sleep(longest) => {
                sleep(progress, longest);
            }
            Rest::Doze(until_ns) => doze(progress, until_ns),
        }
    }
}

fn sleep(progress: &ProgressDriver, longest: Duration) -> Woken {
    let woken = progress.unparker().sleep(longest);
    if woken == Woken::Elsewhere {
        progress.inner.counters.rung.add(1);
    }
    woken
}

/// Sleeps again and again, until there may be something to do, or it is `until_ns`. In between it
/// only asks the fabric: a whole turn looks at all that there might be, which it has to fetch into
/// the caches each time, for that takes longer than to wake.
fn doze(progress: &ProgressDriver, until_ns: u64) {
    for _ in 0..DOZES {
        let woken = sleep(progress, LONGEST_SLEEP);
        if woken != Woken::Late || progress.unparker().workers_drive() {
            return;
        }
        // None: as in `run`, which sees to it.
        let Some(mut slot) = progress.driver() else { return };
        let Some(driver) = slot.as_mut() else { return };
        if driver.has_come() || driver.inner.clock.now_ns() + LONGEST_SLEEP_NS >= until_ns {
            return;
        }
    }
}

/// The next step of a thread that had nothing to do.
enum Rest {
    Spin,
    Yield,
    Sleep(Duration),
    /// Until then: see `doze`.
    Doze(u64),
}

/// Chooses the next step after so many turns without work.
fn rest(driver: &mut Driver, idle: u32) -> Rest {
    if idle < SPINS {
        return Rest::Spin;
    }
    if idle < YIELDS
        || driver.is_aggregating()
        || !driver.can_ring && (!driver.is_drained() || driver.is_fetching())
    {
        // MPI sends a long frame (above 3 KiB) only while both ends call it, and
        // whoever receives it waits in that call: while anything is under way, the sender must not
        // sleep.
        return Rest::Yield;
    }
    let (due_ns, now_ns) = (driver.due_ns(), driver.inner.clock.now_ns());
    let until = |at_ns: u64| Duration::from_nanos(at_ns.saturating_sub(now_ns));
    let longest = until(due_ns.min(driver.review_at_ns));
    if driver.can_ring {
        return Rest::Sleep(longest);
    }
    // Last: whatever anybody of this process does from now on rings, too.
    let arming = driver.arm();
    let polled = match idle.saturating_sub(YIELDS) {
        0..SHORT_SLEEPS => SHORT_SLEEP,
        SHORT_SLEEPS..ARMED_SLEEPS => LONG_SLEEP,
        ARMED_SLEEPS..LONG_SLEEPS if arming == Arming::Poll => LONG_SLEEP,
        _ => LONGEST_SLEEP,
    };
    match arming {
        Arming::Come => Rest::Yield,
        // To see who is there has time, as below.
        Arming::Poll if polled == LONGEST_SLEEP && due_ns > now_ns + LONGEST_SLEEP_NS => {
            Rest::Doze(due_ns)
        }
        Arming::Poll => Rest::Sleep(longest.min(polled)),
        Arming::Armed => {
            driver.inner.counters.rested.add(1);
            if idle.saturating_sub(YIELDS) < ARMED_SLEEPS {
                return Rest::Sleep(longest.min(polled));
            }
            // To see who is there has time until then: the ranks of a job stay the same.
            Rest::Sleep(until(due_ns).min(BACKSTOP))
        }
    }
}
