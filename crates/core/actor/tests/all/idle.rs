//! A system with nothing to do does nothing.

use crate::common::{does, system};
use actinium_actor::{Policy, System};
use std::thread;
use std::time::Duration;

const WORKERS: usize = if cfg!(miri) { 2 } else { 16 };
const LOOKS: usize = if cfg!(miri) { 10 } else { 100 };

/// Rounds of housekeeping, and naps, of all workers.
fn activity(system: &System) -> (u64, u64) {
    let total = system.stats().total();
    (total.ticks, total.parked)
}

/// The system is idle; for as long as the scheduler of the machine takes to come back to this
/// thread so many times, no worker wakes up.
fn stays_asleep(system: &System) {
    let before = activity(system);
    for _ in 0..LOOKS {
        (0..200).for_each(|_| thread::yield_now());
        assert_eq!(activity(system), before, "{system:?}");
    }
}

#[test]
fn without_work_no_worker_wakes_up() {
    for policy in Policy::ALL {
        let system = system(policy, WORKERS);
        system.wait_idle(Duration::MAX).unwrap();
        assert!(system.stats().workers.iter().all(|worker| worker.parked > 0));
        stays_asleep(&system);

        // And again after there was some, on all of them.
        let actors: Vec<_> = (0..100)
            .map(|_| {
                system.spawn(does(|n: u32, ctx| {
                    if n > 0 {
                        ctx.address().tell(n - 1);
                    }
                }))
            })
            .collect();
        actors.iter().for_each(|actor| actor.tell(50));
        system.wait_idle(Duration::MAX).unwrap();
        assert_eq!(system.audit(Duration::MAX).unwrap().handled, 100 * 51);
        system.wait_idle(Duration::MAX).unwrap();
        stays_asleep(&system);
    }
}

#[test]
fn a_timer_that_is_far_off_wakes_nobody() {
    for policy in Policy::ALL {
        let system = system(policy, 2);
        let actor = system.spawn(does(|start: bool, ctx| {
            if start {
                ctx.after(Duration::from_secs(3600), false);
                ctx.every(Duration::from_secs(7200), || false);
            }
        }));
        actor.tell(true);
        system.wait_idle(Duration::MAX).unwrap();
        stays_asleep(&system);
    }
}
