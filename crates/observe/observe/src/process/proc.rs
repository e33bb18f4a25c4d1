//! Reads what `/proc` says of this process and its machine: memory, threads, CPUs, names.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The most memory that this process has ever had in RAM; 0 if Linux does not say.
#[must_use]
pub fn memory_max_bytes() -> u64 {
    let kib = status("VmHWM:");
    kib.unwrap_or(0) * 1_024
}

/// The memory that this process has in RAM; 0 if Linux does not say.
#[must_use]
pub fn memory_bytes() -> u64 {
    status("VmRSS:").unwrap_or(0) * 1_024
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

/// What a thread does at a moment, as the kernel sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadState {
    /// Its state: `R` it runs or is ready to, `S` it sleeps, `D` it waits for a disk, say.
    pub state: String,
    /// The kernel's function that it sleeps in; empty if it does not sleep, or Linux does not say.
    pub sleeps_in: String,
    /// The number of the system call that it is in; `None`: it is in none, or Linux does not say.
    pub system_call: Option<u64>,
}

/// What this thread of this process does; `None` if it has ended, or Linux does not say.
///
/// ```
/// use actinium_observe::process::{cpu_time::thread_times, proc::thread_state};
///
/// for thread in thread_times().keys() {
///     println!("{thread}: {:?}", thread_state(*thread));
/// }
/// ```
#[must_use]
pub fn thread_state(thread: u32) -> Option<ThreadState> {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/self/task/{thread}/{file}"));
    let stat = read("stat").ok()?;
    // Behind the name in parentheses, which may hold anything.
    let state = stat[stat.rfind(')')? + 1..].split_whitespace().next()?.to_owned();
    // "0" stands for none.
    let sleeps_in = read("wchan").unwrap_or_default().trim().trim_matches('0').to_owned();
    let system_call = read("syscall").unwrap_or_default();
    let system_call = system_call.split_whitespace().next().and_then(|number| number.parse().ok());
    Some(ThreadState { state, sleeps_in, system_call })
}

/// CPU time of a CPU, of all processes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Nanoseconds that it was busy since the machine started.
    pub busy_ns: u64,
    /// Nanoseconds in which the host has run something else instead, of a virtual machine.
    pub stolen_ns: u64,
}

/// The CPU time of each CPU of the machine; none if Linux does not say.
///
/// ```
/// for (cpu, time) in actinium_observe::process::proc::cpu_times() {
///     println!("CPU {cpu}: busy for {} s", time.busy_ns / 1_000_000_000);
/// }
/// ```
#[must_use]
pub fn cpu_times() -> BTreeMap<u32, CpuTime> {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    text.lines().filter_map(cpu_time).collect()
}

/// Of a line such as `cpu3 10 0 20 700 5 0 1 2 0 0`, in hundredths of a second.
fn cpu_time(line: &str) -> Option<(u32, CpuTime)> {
    // The line of all CPUs together has no number right there.
    let line = line.strip_prefix("cpu").filter(|it| it.starts_with(|it: char| it.is_ascii_digit()));
    let mut words = line?.split_whitespace();
    let cpu = words.next()?.parse().ok()?;
    let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user.
    let at = |field: usize| ticks.get(field).copied().unwrap_or(0) * 10_000_000;
    // A line without all of these would be another format.
    ticks.get(3)?;
    let busy_ns = [0, 1, 2, 5, 6].map(at).iter().sum();
    Some((cpu, CpuTime { busy_ns, stolen_ns: at(7) }))
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

/// The CPUs on which the main thread of this process may run; none if Linux does not say.
///
/// ```
/// assert!(!actinium_observe::process::proc::cpus_allowed().is_empty());
/// ```
#[must_use]
pub fn cpus_allowed() -> BTreeSet<u32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.map(cpu_list).unwrap_or_default()
}

/// Of a list such as `0-3,8`.
fn cpu_list(list: &str) -> BTreeSet<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

fn line(file: &str) -> String {
    std::fs::read_to_string(file).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_s_time_is_read_from_its_line() {
        let (cpu, time) = cpu_time("cpu3 10 1 20 700 5 2 1 4 0 0").expect("a line");
        assert_eq!((cpu, time.busy_ns, time.stolen_ns), (3, 340_000_000, 40_000_000));
        for line in ["cpu  10 1 20 700 5", "intr 7", "cpu1 a", ""] {
            assert_eq!(cpu_time(line), None, "{line}");
        }
    }

    #[test]
    fn a_list_of_cpus_is_read() {
        assert_eq!(cpu_list("\t0-2,8"), BTreeSet::from([0, 1, 2, 8]));
        assert_eq!(cpu_list("5"), BTreeSet::from([5]));
        assert!(cpu_list("").is_empty() && cpu_list("a-b").is_empty());
    }

    #[test]
    fn this_thread_runs() {
        let link = std::fs::read_link("/proc/thread-self").expect("Linux");
        let thread = link.file_name().and_then(|name| name.to_str()).expect("a number");
        let state = thread_state(thread.parse().expect("a number")).expect("it lives");
        assert_eq!((state.state.as_str(), state.sleeps_in.as_str()), ("R", ""));
        assert_eq!(thread_state(u32::MAX), None);
    }

    #[test]
    fn this_process_has_memory_and_a_thread() {
        assert!(memory_max_bytes() > 1 << 16);
        assert!(threads() >= 1 && memory_bytes() > 1 << 16);
    }
}
