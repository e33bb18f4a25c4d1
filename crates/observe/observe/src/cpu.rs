//! The CPU time of this process and of this thread.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time of all threads of this process since it began, those that have ended included.
///
/// ```
/// use actinium_observe::cpu::{process_time, thread_time};
///
/// let before = (process_time(), thread_time());
/// assert!(process_time() >= before.0 && thread_time() >= before.1);
/// ```
#[must_use]
pub fn process_time() -> Duration {
    time_of(ClockId::ProcessCPUTime)
}

/// CPU time of the calling thread: what else runs on the machine counts less than by the clock.
#[must_use]
pub fn thread_time() -> Duration {
    time_of(ClockId::ThreadCPUTime)
}

fn time_of(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    // Neither is negative.
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
