//! A thread's priority.

use super::check;

/// From now on the calling thread runs where nobody else wants to.
pub(crate) fn only_when_idle() -> Result<(), i32> {
    let none = libc::sched_param { sched_priority: 0 };
    // SAFETY: 0 names the calling thread; the parameter is alive.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &none) })
}
