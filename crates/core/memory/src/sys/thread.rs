//! A thread's priority, and how long threads have worked.

use std::time::Duration;

use super::check;

/// Makes the calling thread run only where nobody else wants to.
pub(crate) fn only_when_idle() -> Result<(), i32> {
    let none = libc::sched_param { sched_priority: 0 };
    // SAFETY: 0 names the calling thread; the parameter is alive.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &none) })
}

/// How long the calling thread has worked.
pub(crate) fn thread_time() -> Duration {
    time_of(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// How long all threads of the process have worked, those too that have ended.
pub(crate) fn process_time() -> Duration {
    time_of(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// The time of a clock; zero if there is none.
fn time_of(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is alive, and all that is written to.
    if check(unsafe { libc::clock_gettime(clock, &mut time) }).is_err() {
        return Duration::ZERO;
    }
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
