//! How long events take, counted by one worker and read by others.
//!
//! 16 steps for each doubling: a count stands for times that lie within 6 % of each other. That is
//! 5 KiB for each worker, and an event costs one addition and one look at the clock.

use crate::record::Count;
use actinium_observe::Latency;

/// Steps of a doubling.
const STEPS: u64 = 16;
/// Times below this have a step each.
const EXACT: u64 = STEPS;
/// 2^44 ns are almost five hours; what takes longer is counted as that.
const DOUBLINGS: u64 = 40;

/// See the module.
#[derive(Debug)]
pub(crate) struct Histogram {
    counts: Box<[Count]>,
    max_ns: Count,
}

impl Default for Histogram {
    fn default() -> Self {
        let counts = 0..EXACT + DOUBLINGS * STEPS;
        Histogram { counts: counts.map(|_| Count::default()).collect(), max_ns: Count::default() }
    }
}

impl Histogram {
    /// Counts a time; only one worker may.
    pub(crate) fn record(&self, ns: u64) {
        self.counts[step(ns)].add(1);
        self.max_ns.max(ns);
    }
}

/// The step that a time belongs to.
fn step(ns: u64) -> usize {
    if ns < EXACT {
        return ns as usize;
    }
    let doubling = u64::from(ns.ilog2()) - u64::from(EXACT.ilog2());
    // The four bits behind the first one.
    let within = (ns >> doubling) - EXACT;
    (EXACT + doubling * STEPS + within).min(EXACT + DOUBLINGS * STEPS - 1) as usize
}

/// The largest time of a step.
fn last_of(step: u64) -> u64 {
    if step < EXACT {
        return step;
    }
    let (doubling, within) = ((step - EXACT) / STEPS, (step - EXACT) % STEPS);
    ((EXACT + within + 1) << doubling) - 1
}

/// The counts of several, as times and how often each was: no time is above the longest.
pub(crate) fn buckets(all: &[Histogram]) -> Vec<(u64, u64)> {
    let max_ns = all.iter().map(|it| it.max_ns.get()).max().unwrap_or(0);
    let count = |step: u64| all.iter().map(|it| it.counts[step as usize].get()).sum();
    let steps = (0..EXACT + DOUBLINGS * STEPS).map(|step| (last_of(step).min(max_ns), count(step)));
    let mut buckets: Vec<(u64, u64)> = steps.filter(|&(_, count)| count > 0).collect();
    if let Some(last) = buckets.last_mut() {
        last.0 = max_ns;
    }
    buckets
}

/// The counts of several.
pub(crate) fn latency(all: &[Histogram]) -> Latency {
    Latency::from_buckets(buckets(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_follow_each_other_and_are_narrow() {
        for ns in (0..5_000).chain((0..44).map(|bit| (1 << bit) - 1)) {
            let last = last_of(step(ns) as u64);
            assert!(last >= ns && (last - ns) * STEPS <= ns.max(STEPS), "{ns} in {last}");
            assert_eq!(step(last + 1), step(ns) + 1, "{ns}");
        }
        assert_eq!(step(u64::MAX), (EXACT + DOUBLINGS * STEPS - 1) as usize);
    }

    #[test]
    fn counts_of_workers_are_added_and_the_longest_is_exact() {
        let all = [Histogram::default(), Histogram::default()];
        (0..10).for_each(|_| all[0].record(7));
        all[1].record(7);
        all[1].record(1_234_567);
        assert_eq!(buckets(&all), [(7, 11), (1_234_567, 1)]);
        let latency = latency(&all);
        assert_eq!(
            (latency.count(), latency.max_ns(), latency.quantile_ns(0.5)),
            (12, 1_234_567, 7)
        );
        assert!(super::latency(&[]).is_empty());
        all[0].record(u64::MAX);
        assert_eq!(buckets(&all).last(), Some(&(u64::MAX, 1)));
    }
}
