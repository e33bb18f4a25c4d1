//! The load of CPUs over time, and the number of threads: what samples are turned into.

use super::sampler::{Samples, Step};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Most columns of a [`CpuLoad`].
const COLUMNS_MAX: usize = 600;

/// Threads of one process, and the share of each CPU that it had, over time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Load {
    /// The time at which each step ended.
    end_s: Vec<f64>,
    /// Threads of the process at that time.
    threads: Vec<u64>,
    /// Threads that ran on a CPU, the mean over each step.
    threads_active: Vec<f64>,
    /// For each CPU, the share of each step that it ran this process: 1 at most.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    cpus: BTreeMap<u32, Vec<f64>>,
}

impl Load {
    /// Computes the load from samples.
    #[must_use]
    pub fn of(samples: &Samples) -> Self {
        let steps = &samples.steps;
        let all: BTreeSet<u32> = steps.iter().flat_map(|step| step.cpus.keys().copied()).collect();
        let ends = steps.iter().map(|step| step.end_s);
        let begins = std::iter::once(0.0).chain(ends.clone());
        let lengths: Vec<f64> = ends.clone().zip(begins).map(|(end, begin)| end - begin).collect();
        // In a step without length nobody can have run.
        let share = |used: f64, length: f64| if length > 0.0 { used / length } else { 0.0 };
        let each = |used: &dyn Fn(&Step) -> f64| -> Vec<f64> {
            steps.iter().zip(&lengths).map(|(step, &length)| share(used(step), length)).collect()
        };
        // A CPU is never busier than all of the time. What seems to be above that is a thread that
        // came from another CPU meanwhile and brought its time along, or was looked at a little
        // after the step's end: the threads that were active have all of it.
        let cpu = |cpu: u32| {
            let shares = each(&|step| step.cpus.get(&cpu).copied().unwrap_or_default());
            (cpu, shares.into_iter().map(|share| share.min(1.0)).collect())
        };
        Load {
            end_s: ends.collect(),
            threads: steps.iter().map(|step| step.threads).collect(),
            threads_active: each(&|step| step.cpus.values().sum()),
            cpus: all.into_iter().map(cpu).collect(),
        }
    }

    /// Merges all of these, in steps of the same length from each one's begin: what one of them is,
    /// if there is only one. Where they are of several machines, a CPU's number says nothing, and
    /// they had better be [`without_cpus`](Self::without_cpus).
    #[must_use]
    pub fn merged(loads: &[&Load]) -> Self {
        if let [one] = loads {
            return (*one).clone();
        }
        let columns = loads.iter().map(|load| load.end_s.len()).max().unwrap_or(0);
        let step_s = loads.iter().map(|load| load.length_s()).fold(0.0, f64::max) / columns as f64;
        let mut all = Load {
            end_s: (1..=columns).map(|column| column as f64 * step_s).collect(),
            threads: vec![0; columns],
            threads_active: vec![0.0; columns],
            cpus: BTreeMap::new(),
        };
        for load in loads.iter().filter(|load| !load.end_s.is_empty()) {
            let add = |sums: &mut Vec<f64>, shares: &[f64]| {
                let even = resample(&load.end_s, shares, columns, step_s);
                sums.iter_mut().zip(even).for_each(|(sum, share)| *sum += share);
            };
            add(&mut all.threads_active, &load.threads_active);
            for (&cpu, shares) in &load.cpus {
                add(all.cpus.entry(cpu).or_insert_with(|| vec![0.0; columns]), shares);
            }
            for (sum, &end) in all.threads.iter_mut().zip(&all.end_s) {
                // Behind its last step it is as it was.
                let step = load.end_s.partition_point(|&own| own < end);
                *sum += load.threads[step.min(load.threads.len() - 1)];
            }
        }
        all
    }

    /// Threads only.
    #[must_use]
    pub fn without_cpus(self) -> Self {
        Load { cpus: BTreeMap::new(), ..self }
    }

    /// Returns the time at which each step ended.
    #[must_use]
    pub fn end_s(&self) -> &[f64] {
        &self.end_s
    }

    /// Returns the time at which the last step ended; 0 if there is none.
    #[must_use]
    pub fn length_s(&self) -> f64 {
        self.end_s.last().copied().unwrap_or(0.0)
    }

    /// Threads of the process at the end of each step.
    #[must_use]
    pub fn threads(&self) -> &[u64] {
        &self.threads
    }

    /// Threads that ran on a CPU, the mean over each step.
    #[must_use]
    pub fn threads_active(&self) -> &[f64] {
        &self.threads_active
    }

    /// For each CPU, the share of each step that it ran this process.
    pub fn cpus(&self) -> impl Iterator<Item = (u32, &[f64])> {
        self.cpus.iter().map(|(&cpu, shares)| (cpu, shares.as_slice()))
    }

    /// One of these series in so many columns of the same length.
    #[must_use]
    pub fn columns(&self, series: &[f64], columns: usize) -> Vec<f64> {
        resample(&self.end_s, series, columns, self.length_s() / columns as f64)
    }

    /// Reduces it to at most so many steps: neighbours are put together.
    #[must_use]
    pub fn thinned(mut self, most: usize) -> Self {
        while self.end_s.len() > most.max(1) {
            self.halve();
        }
        self
    }

    fn halve(&mut self) {
        let begins = std::iter::once(0.0).chain(self.end_s.iter().copied());
        let lengths: Vec<f64> =
            self.end_s.iter().zip(begins).map(|(end, begin)| end - begin).collect();
        for shares in self.cpus.values_mut().chain([&mut self.threads_active]) {
            let both = shares.chunks(2).zip(lengths.chunks(2));
            let mean = |(shares, lengths): (&[f64], &[f64])| {
                let sum: f64 =
                    shares.iter().zip(lengths).map(|(share, length)| share * length).sum();
                sum / lengths.iter().sum::<f64>()
            };
            *shares = both.map(mean).collect();
        }
        self.end_s = self.end_s.chunks(2).filter_map(|pair| pair.last().copied()).collect();
        self.threads =
            self.threads.chunks(2).filter_map(|pair| pair.iter().max().copied()).collect();
    }
}

/// The load of each CPU at even intervals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuLoad {
    /// The length of an interval.
    pub step_s: f64,
    /// For each CPU its name, and the share of each interval that it was busy; NaN where nobody
    /// knows.
    pub cpus: Vec<(String, Vec<f64>)>,
}

impl CpuLoad {
    /// The load of each CPU of each of these processes, in steps of the same length from each one's
    /// begin. A process's name may be empty.
    #[must_use]
    pub fn of(loads: &[(String, &Load)]) -> CpuLoad {
        let length_s = loads.iter().map(|(_, load)| load.length_s()).fold(0.0, f64::max);
        let columns = loads.iter().map(|(_, load)| load.end_s().len()).max().unwrap_or(1);
        let columns = columns.clamp(1, COLUMNS_MAX);
        let step_s = length_s / columns as f64;
        let rows = loads.iter().flat_map(|(name, load)| {
            let row = move |(cpu, shares): (u32, &[f64])| {
                let shares = resample(load.end_s(), shares, columns, step_s);
                // Sums of parts round.
                let shares = shares.into_iter().map(|share| share.min(1.0)).collect();
                let comma = if name.is_empty() { "" } else { ", " };
                (format!("{name}{comma}CPU {cpu}"), shares)
            };
            load.cpus().map(row)
        });
        CpuLoad { step_s, cpus: rows.collect() }
    }
}

/// The mean of each column over steps of uneven length.
fn resample(end_s: &[f64], shares: &[f64], columns: usize, step_s: f64) -> Vec<f64> {
    let mut sums = vec![0.0; columns];
    let mut begin = 0.0;
    for (&end, &share) in end_s.iter().zip(shares) {
        let (first, last) = ((begin / step_s) as usize, (end / step_s) as usize);
        for (column, sum) in sums.iter_mut().enumerate().take(last.min(columns - 1) + 1).skip(first)
        {
            let (from, to) = (column as f64 * step_s, (column + 1) as f64 * step_s);
            *sum += share * (end.min(to) - begin.max(from)).max(0.0) / step_s;
        }
        begin = end;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> Load {
        Load {
            end_s: vec![1.0, 4.0, 5.0],
            threads: vec![2, 7, 3],
            threads_active: vec![1.5, 1.0, 0.25],
            cpus: [(3, vec![0.5, 1.0, 0.25]), (4, vec![1.0, 0.0, 0.0])].into(),
        }
    }

    #[test]
    fn samples_become_shares_of_their_steps() {
        let step = |end_s, used| Step { end_s, cpus: [(3, used), (4, 0.5)].into(), threads: 4 };
        let steps = vec![step(0.5, 0.25), step(2.5, 1.5)];
        let load = Load::of(&Samples { steps, threads_max: 5, ..Samples::default() });
        assert_eq!((&load.end_s[..], &load.threads[..]), (&[0.5, 2.5][..], &[4, 4][..]));
        assert_eq!((&load.cpus[&3][..], &load.cpus[&4][..]), (&[0.5, 0.75][..], &[1.0, 0.25][..]));
        assert_eq!(load.threads_active, [1.5, 1.0]);
    }

    #[test]
    fn a_cpu_is_busy_all_of_the_time_at_most() {
        // A thread that came from another CPU in the step brings the time that it had there.
        let step = |end_s, used| Step { end_s, cpus: [(3, used)].into(), threads: 1 };
        let load = Load::of(&Samples {
            steps: vec![step(1.0, 1.027), step(2.0, 0.5)],
            ..Samples::default()
        });
        assert_eq!(load.cpus[&3], [1.0, 0.5]);
        assert_eq!(load.threads_active, [1.027, 0.5]);
        let columns = CpuLoad::of(&[(String::new(), &load)]);
        assert!(columns.cpus[0].1.iter().all(|&share| share <= 1.0), "{columns:?}");
    }

    #[test]
    fn a_thinned_load_has_the_same_cpu_time() {
        let thin = load().thinned(2);
        assert_eq!((&thin.end_s[..], &thin.threads[..]), (&[4.0, 5.0][..], &[7, 3][..]));
        assert_eq!(thin.cpus[&3], [3.5 / 4.0, 0.25]);
        assert_eq!(thin.threads_active, [4.5 / 4.0, 0.25]);
        assert_eq!(load().thinned(3).end_s.len(), 3);
    }

    #[test]
    fn loads_of_one_machine_are_added_cpu_by_cpu() {
        let short = Load { end_s: vec![2.0], threads: vec![10], ..Load::default() };
        let short = Load {
            threads_active: vec![1.0],
            cpus: [(3, vec![0.5]), (9, vec![0.5])].into(),
            ..short
        };
        let both = Load::merged(&[&load(), &short]);
        let step_s = 5.0 / 3.0;
        assert_eq!(both.end_s, [step_s, 2.0 * step_s, 3.0 * step_s]);
        // Each at the end of the step, and what has ended as it was.
        assert_eq!(both.threads, [17, 17, 13]);
        let time = |shares: &[f64]| shares.iter().sum::<f64>() * step_s;
        for (cpu, expected) in [(3, 0.5 + 3.0 + 0.25 + 1.0), (4, 1.0), (9, 1.0)] {
            assert!((time(&both.cpus[&cpu]) - expected).abs() < 1e-9, "CPU {cpu}: {both:?}");
        }
        assert!((time(&both.threads_active) - (1.5 + 3.0 + 0.25 + 2.0)).abs() < 1e-9, "{both:?}");
        assert_eq!(Load::merged(&[&load()]).end_s, load().end_s);
        assert!(Load::merged(&[]).end_s.is_empty());
        assert_eq!(both.without_cpus().cpus().count(), 0);
    }

    #[test]
    fn uneven_steps_become_even_columns() {
        // Half of the first second, all of the next three, nothing of the fifth.
        let even = resample(&[1.0, 4.0, 5.0], &[0.5, 1.0, 0.0], 5, 1.0);
        assert_eq!(even, [0.5, 1.0, 1.0, 1.0, 0.0]);
        let coarse = resample(&[1.0, 4.0, 5.0], &[0.5, 1.0, 0.0], 2, 2.5);
        assert_eq!(coarse, [0.8, 0.6]);
        assert_eq!(resample(&[], &[], 1, 0.0), [0.0]);
    }
}
