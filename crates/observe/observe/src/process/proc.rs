//! Reads what `/proc` says of this process: its threads, their CPU time, its memory.

use std::collections::BTreeMap;

/// The most memory that this process has ever had in RAM; 0 if Linux does not say.
#[must_use]
pub fn memory_max_bytes() -> u64 {
    let kib = status("VmHWM:");
    kib.unwrap_or(0) * 1_024
}

/// How many threads this process has; 0 if Linux does not say.
#[must_use]
pub fn threads() -> u64 {
    status("Threads:").unwrap_or(0)
}

fn status(key: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The name of the machine that it runs on; empty if Linux does not say.
#[must_use]
pub fn host() -> String {
    line("/proc/sys/kernel/hostname")
}

/// Which machine that is: two processes with the same value have the same CPUs, whatever their
/// hosts are called. Empty if Linux does not say.
#[must_use]
pub fn machine() -> String {
    line("/proc/sys/kernel/random/boot_id")
}

fn line(file: &str) -> String {
    std::fs::read_to_string(file).unwrap_or_default().trim().to_owned()
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

/// The 39th field of a thread's `stat`. The second is its name in parentheses, which may hold
/// anything.
fn last_cpu(stat: &str) -> Option<u32> {
    let behind_name = &stat[stat.rfind(')')? + 1..];
    behind_name.split_whitespace().nth(36)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::process_time;

    #[test]
    fn this_process_has_used_something() {
        assert!(memory_max_bytes() > 1 << 16);
        assert!(threads() >= 1);
        let before = process_time();
        while process_time() == before {
            std::hint::spin_loop();
        }
        assert!(thread_times().values().any(|thread| thread.cpu_ns > 0));
    }

    #[test]
    fn a_thread_s_name_may_look_like_its_numbers() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let stat = format!("17 (a) 1 2 (b)) {}", fields.join(" "));
        assert_eq!(last_cpu(&stat), Some(39));
        assert_eq!(last_cpu("17 (a"), None);
    }
}
