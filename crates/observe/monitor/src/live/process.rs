//! The process: its threads and its memory.

use super::snapshot::{ProcessNow, ThreadNow};
use actinium_observe::process::cpu_time::{Thread, process_time, thread_name, thread_times};
use actinium_observe::process::proc::{memory_bytes, memory_max_bytes};
use actinium_scheduler::nanoseconds;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The most threads that are named.
const THREADS: usize = 256;

/// What was seen of the process at the look before.
#[derive(Debug)]
pub(crate) struct Process {
    threads: BTreeMap<u32, Thread>,
    cpus: BTreeMap<u32, u64>,
}

impl Process {
    pub(crate) fn new() -> Self {
        Process { threads: thread_times(), cpus: BTreeMap::new() }
    }

    pub(crate) fn look(&mut self, at_s: f64) -> ProcessNow {
        let now = thread_times();
        for (number, thread) in &now {
            let before = self.threads.get(number).map_or(0, |it| it.cpu_ns);
            *self.cpus.entry(thread.cpu).or_default() += thread.cpu_ns.saturating_sub(before);
        }
        let mut busiest: Vec<_> = now.iter().map(|(&number, &thread)| (number, thread)).collect();
        busiest.sort_by_key(|(number, thread)| (Reverse(thread.cpu_ns), *number));
        busiest.truncate(THREADS);
        let shown = |(number, thread): (u32, Thread)| {
            let Thread { cpu_ns, cpu, .. } = thread;
            ThreadNow { number, name: thread_name(number), cpu_ns, cpu }
        };
        let figures = ProcessNow {
            cpu_ns: nanoseconds(process_time()),
            memory_max_bytes: memory_max_bytes(),
            memory_bytes: memory_bytes(),
            threads: now.len() as u64,
            busiest: busiest.into_iter().map(shown).collect(),
            cpus: self.cpus.clone(),
            at_s,
        };
        self.threads = now;
        figures
    }
}
