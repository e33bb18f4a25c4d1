//! What a node takes that has nothing to do, and how long the first message after that takes.
//!
//! Beside it stands a thread that does nothing but sleep, as often as the node's threads did: to
//! wake a thread has a price of its own. And one that asks MPI for messages after each sleep, for
//! so much is the least that a node does whom others can not wake.

use crate::player::{Error, Side, median};
use actinium_observe::process::cpu_time::{process_time, thread_time};
use std::thread::sleep;
use std::time::Duration;

/// How long it looks.
const REST: Duration = Duration::from_secs(10);
/// After so long without work a node sleeps as long as it ever does.
const SETTLES: Duration = Duration::from_secs(3);
/// First messages, each after a rest of its own.
const FIRSTS: usize = 7;

/// The CPU time of this process while nothing is asked of it, of the time that passes, and how
/// often its threads went to sleep.
pub(crate) fn share_at_rest() -> (f64, u64) {
    let before = (process_time(), sleeps());
    sleep(REST);
    let took = process_time() - before.0;
    (took.as_secs_f64() / REST.as_secs_f64(), sleeps() - before.1)
}

/// How often the threads of this process that live have given up their CPU.
fn sleeps() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of_one = |task: std::fs::DirEntry| -> Option<u64> {
        let status = std::fs::read_to_string(task.path().join("status")).ok()?;
        let line = status.lines().find_map(|it| it.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse().ok()
    };
    tasks.filter_map(of_one).sum()
}

/// The same of a thread that sleeps so often in the same time, and calls `then` after each sleep.
pub(crate) fn share_of_sleeps(sleeps: u64, mut then: impl FnMut()) -> f64 {
    let each = REST / u32::try_from(sleeps.max(1)).unwrap_or(u32::MAX);
    let before = thread_time();
    for _ in 0..sleeps {
        sleep(each);
        then();
    }
    (thread_time() - before).as_secs_f64() / REST.as_secs_f64()
}

/// `asking`: the share of a core for so many sleeps after each of which MPI is asked. `json`: what
/// is said, and that without first messages.
pub(crate) fn print(
    side: &Side,
    asking: impl FnOnce(u64) -> Result<f64, Error>,
    json: bool,
) -> Result<(), Error> {
    sleep(SETTLES);
    let (share, sleeps) = share_at_rest();
    let (alone, asking) = (share_of_sleeps(sleeps, || {}), asking(sleeps)?);
    if json {
        let (to_sleeping, to_asking) = (share / alone, share / asking);
        let said = serde_json::json!({ "to_sleeping": to_sleeping, "to_asking": to_asking });
        println!("{said}");
        return Ok(());
    }
    println!(
        "at rest: {:.3} % of a core for a node, with {:.0} sleeps a second; {:.3} % for a thread that only sleeps as often: {:.2} times that; {:.3} % for one that then asks MPI, too: {:.2} times that",
        100.0 * share,
        sleeps as f64 / REST.as_secs_f64(),
        100.0 * alone,
        share / alone,
        100.0 * asking,
        share / asking
    );
    let mut trips_us = [Vec::new(), Vec::new()];
    for _ in 0..FIRSTS {
        sleep(SETTLES);
        trips_us.iter_mut().try_for_each(|us| {
            us.push(side.trip_ns()? / 1e3);
            Ok::<_, Error>(())
        })?;
    }
    let [first, second] = trips_us.map(median);
    println!("there and back, after a rest: {first:.0} us; right after that {second:.0} us");
    Ok(())
}
