//! Reads CPU time: of this process, of this thread, and of each thread with the CPU that it was on.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time of all threads of this process since it began, those that have ended included.
///
/// ```
/// use actinium_observe::process::cpu_time::{process_time, thread_time};
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

/// The CPU time of a thread, and the CPU that it was last on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Nanoseconds on a CPU.
    pub cpu_ns: u64,
    /// Which one it was on last.
    pub cpu: u32,
}

/// All threads of this process by their numbers; none where Linux does not say.
#[must_use]
pub fn thread_times() -> BTreeMap<u32, Thread> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let thread = |task: std::fs::DirEntry| {
        let number = task.file_name().to_str()?.parse().ok()?;
        let schedule = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        let cpu_ns = schedule.split_whitespace().next()?.parse().ok()?;
        let stat = std::fs::read_to_string(task.path().join("stat")).ok()?;
        Some((number, Thread { cpu_ns, cpu: last_cpu(&stat)? }))
    };
    tasks.filter_map(thread).collect()
}

/// The name of a thread of this process; empty if it has ended, or Linux does not say.
#[must_use]
pub fn thread_name(number: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/self/task/{number}/comm"));
    name.unwrap_or_default().trim_end().to_owned()
}

/// The 39th field of a thread's `stat`. The second is its name in parentheses, which may hold
/// anything.
fn last_cpu(stat: &str) -> Option<u32> {
    let behind_name = &stat[stat.rfind(')')? + 1..];
    behind_name.split_whitespace().nth(36)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_used_something() {
        let before = process_time();
        while process_time() == before {
            std::hint::spin_loop();
        }
        assert!(thread_times().values().any(|thread| thread.cpu_ns > 0));
        assert!(thread_times().keys().any(|&number| !thread_name(number).is_empty()));
    }

    #[test]
    fn a_thread_s_name_may_look_like_its_numbers() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let stat = format!("17 (a) 1 2 (b)) {}", fields.join(" "));
        assert_eq!(last_cpu(&stat), Some(39));
        assert_eq!(last_cpu("17 (a"), None);
    }
}
