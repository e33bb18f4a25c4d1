//! The values over time that a trace shows beside what workers do.

use super::model::Counter;
use actinium_actor::SystemHandle;
use actinium_observe::process::cpu_time::{Thread, thread_time, thread_times};
use std::collections::BTreeMap;
use std::time::Duration;

/// Between two looks at threads at least: each costs some system calls per thread.
const EVERY: Duration = Duration::from_millis(50);
/// Looks at threads take at most one part in so many of a CPU's time.
const REST: u32 = 50;

/// A value, and the time from which on it was so.
pub(super) type Value = (Counter, Duration, f64);

/// Looks at a system's counters, and at the process's threads.
#[derive(Default)]
pub(super) struct Counters {
    /// What each had when it was last shown.
    shown: BTreeMap<Counter, f64>,
    threads: BTreeMap<u32, Thread>,
    /// The times of the last look at threads, and of the next.
    looked: Option<Duration>,
    next: Duration,
}

impl Counters {
    /// The values that have changed, at this time of the system's clock.
    pub(super) fn changed(&mut self, system: &SystemHandle, at: Duration) -> Vec<Value> {
        let stats = system.stats();
        let mut values = vec![
            (Counter::Waiting, at, stats.total().waiting() as f64),
            (Counter::Actors, at, stats.actors as f64),
        ];
        let loads = system.loads().into_iter().enumerate();
        values.extend(loads.map(|(worker, load)| (Counter::Queue(worker), at, us(load))));
        if at >= self.next {
            let begun = thread_time();
            values.extend(self.cpus(system, at));
            self.next = at + EVERY.max((thread_time() - begun) * REST);
        }
        values.retain(|&(counter, _, value)| self.shown.insert(counter, value) != Some(value));
        values
    }

    /// The shares of CPUs since the last look.
    fn cpus(&mut self, system: &SystemHandle, at: Duration) -> Vec<Value> {
        let now = thread_times();
        let before = std::mem::replace(&mut self.threads, now);
        let Some(looked) = self.looked.replace(at) else { return Vec::new() };
        let length_ns = at.saturating_sub(looked).as_nanos().max(1) as f64;
        let percent = |ns: u64| (ns as f64 / length_ns * 1_000.0).round() / 10.0;
        let used = |number: &u32| {
            let ns = |of: &BTreeMap<u32, Thread>| of.get(number).map_or(0, |it| it.cpu_ns);
            ns(&self.threads).saturating_sub(ns(&before))
        };
        // Those that were busy before are shown at 0.
        let known = self.shown.keys().filter_map(|counter| match counter {
            Counter::Cpu(cpu) => Some((*cpu, 0)),
            _ => None,
        });
        let mut cpus: BTreeMap<u32, u64> = known.collect();
        for (number, thread) in &self.threads {
            *cpus.entry(thread.cpu).or_default() += used(number);
        }
        let workers = system.worker_threads().into_iter().enumerate();
        let workers = workers.filter_map(|(worker, number)| Some((worker, used(&number?))));
        let workers = workers.map(|(worker, ns)| (Counter::WorkerCpu(worker), percent(ns)));
        let cpus = cpus.iter().map(|(&cpu, &ns)| (Counter::Cpu(cpu), percent(ns)));
        cpus.chain(workers).map(|(counter, share)| (counter, looked, share)).collect()
    }
}

fn us(time: Duration) -> f64 {
    time.as_nanos() as f64 * 1e-3
}

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_actor::System;

    #[test]
    fn the_load_of_cpus_and_workers_is_since_the_last_look() {
        let system = System::builder().workers(1).build().expect("it starts");
        let mut counters = Counters::default();
        let first = counters.changed(&system, Duration::ZERO);
        let named = |values: &[Value]| values.iter().map(|it| it.0).collect::<Vec<_>>();
        let always = [Counter::Waiting, Counter::Actors, Counter::Queue(0)];
        assert_eq!(named(&first), always);
        let used = thread_time();
        while thread_time() - used < Duration::from_millis(20)
            || system.worker_threads()[0].is_none()
        {
            std::hint::spin_loop();
        }
        let second = counters.changed(&system, Duration::from_secs(1));
        // What is as it was is not said again.
        assert!(!named(&second).contains(&Counter::Actors), "{second:?}");
        let busy = |it: &&Value| matches!(it.0, Counter::Cpu(_)) && it.1.is_zero();
        let share: f64 = second.iter().filter(busy).map(|it| it.2).sum();
        assert!((2.0..=1_000.0).contains(&share), "{second:?}");
        assert!(named(&second).contains(&Counter::WorkerCpu(0)), "{second:?}");
    }

    #[test]
    fn counters_have_names_and_units() {
        assert_eq!(Counter::Cpu(3).name(), "load of CPU 3");
        assert_eq!(Counter::Queue(3).unit(), "us");
    }
}
