//! What happened between two looks.

use actinium_monitor::live::{Snapshot, TurnsNow, TypeNow, WorkerNow};
use actinium_observe::Latency;
use std::collections::BTreeMap;

/// What happened between two looks at one system; or, of the first one, what there is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rates {
    /// Seconds between them; `None`: there was no look before.
    pub(crate) over_s: Option<f64>,
    /// Messages handled by each worker, a second.
    pub(crate) handled: Vec<f64>,
    /// Turns of each worker, a second.
    pub(crate) turns: Vec<f64>,
    /// Dead letters and restarts, a second.
    pub(crate) dead: f64,
    pub(crate) restarted: f64,
    /// CPUs busy with the process.
    pub(crate) cpus: Option<f64>,
    /// Of each CPU, the share that the process had.
    pub(crate) cpu_shares: BTreeMap<u32, f64>,
    /// Of the busiest threads, the share of a CPU.
    pub(crate) threads: BTreeMap<u32, f64>,
    /// Latencies of the time between them.
    pub(crate) latency: Latency,
    pub(crate) types: Vec<TypeRates>,
}

/// A type of actors, or of tasks.
#[derive(Clone, Debug, Default)]
pub(crate) struct TypeRates {
    pub(crate) kind: String,
    pub(crate) living: u64,
    pub(crate) queued: u64,
    pub(crate) queued_max: u64,
    pub(crate) restarts: u64,
    /// Messages a second, and workers busy with it; `None`: not known yet.
    pub(crate) handled: Option<f64>,
    pub(crate) busy: Option<f64>,
    pub(crate) turn_ns: [u64; 3],
    pub(crate) wait_ns: [u64; 3],
}

impl Rates {
    /// What happened since `before`, to which these rates belong.
    pub(crate) fn since(&self, before: Option<&Snapshot>, now: &Snapshot) -> Self {
        let mut rates = Rates::of(before, now);
        for it in rates.types.iter_mut().filter(|it| it.handled.is_none()) {
            // The program has not looked at its turns again: what was is shown for longer.
            let known = self.types.iter().find(|known| known.kind == it.kind);
            (it.handled, it.busy) = known.map_or((None, None), |it| (it.handled, it.busy));
        }
        rates
    }

    pub(crate) fn of(before: Option<&Snapshot>, now: &Snapshot) -> Self {
        // Another life of the program begins anew.
        let before = before.filter(|it| it.about.life == now.about.life);
        let before = before.filter(|it| it.now.at_s < now.now.at_s);
        let over_s = before.map(|it| now.now.at_s - it.now.at_s);
        let mut rates = Rates { over_s, types: types(before, now), ..Rates::default() };
        rates.workers(before, now);
        rates.process(before, now);
        let then: BTreeMap<_, _> =
            before.map(|it| it.now.latencies.iter().copied().collect()).unwrap_or_default();
        let latencies = now.now.latencies.iter().map(|&(ns, messages)| {
            (ns, messages.saturating_sub(then.get(&ns).copied().unwrap_or(0)).min(1 << 40))
        });
        rates.latency = Latency::from_buckets(latencies);
        rates
    }

    /// Messages handled by all workers, a second.
    pub(crate) fn handled_by_all(&self) -> f64 {
        self.handled.iter().sum()
    }

    fn workers(&mut self, before: Option<&Snapshot>, now: &Snapshot) {
        let then = |index: usize| before.and_then(|it| it.now.workers.get(index));
        for (index, worker) in now.now.workers.iter().enumerate() {
            let rate = |counter| {
                let grown = grown(then(index), worker, counter);
                self.over_s.map_or(0.0, |over_s| grown as f64 / over_s)
            };
            self.handled.push(rate("handled"));
            self.turns.push(rate("turns"));
            self.dead += rate("dead");
            self.restarted += rate("restarted");
        }
        let external = |it: &Snapshot| counter(&it.now.external, "dead");
        if let (Some(before), Some(over_s)) = (before, self.over_s) {
            self.dead += external(now).saturating_sub(external(before)) as f64 / over_s;
        }
    }

    fn process(&mut self, before: Option<&Snapshot>, now: &Snapshot) {
        let Some(before) = before.map(|it| &it.now.process) else { return };
        let now = &now.now.process;
        let over_ns = (now.at_s - before.at_s) * 1e9;
        if over_ns <= 0.0 {
            return;
        }
        let share = |now: u64, then: u64| now.saturating_sub(then) as f64 / over_ns;
        self.cpus = Some(share(now.cpu_ns, before.cpu_ns));
        let cpus = now.cpus.iter();
        self.cpu_shares = cpus
            .map(|(&cpu, &ns)| (cpu, share(ns, before.cpus.get(&cpu).copied().unwrap_or(0))))
            .collect();
        let then: BTreeMap<_, _> = before.busiest.iter().map(|it| (it.number, it.cpu_ns)).collect();
        let threads = now.busiest.iter();
        self.threads = threads
            .filter_map(|it| Some((it.number, share(it.cpu_ns, *then.get(&it.number)?))))
            .collect();
    }
}

pub(crate) fn counter(counters: &BTreeMap<String, u64>, name: &str) -> u64 {
    counters.get(name).copied().unwrap_or(0)
}

/// The sum of a counter over all workers and other threads.
pub(crate) fn sum(snapshot: &Snapshot, name: &str) -> u64 {
    let workers = snapshot.now.workers.iter().map(|it| counter(&it.counters, name));
    workers.chain([counter(&snapshot.now.external, name)]).fold(0, u64::saturating_add)
}

fn grown(before: Option<&WorkerNow>, now: &WorkerNow, name: &str) -> u64 {
    let before = before.map_or(0, |it| counter(&it.counters, name));
    counter(&now.counters, name).saturating_sub(before)
}

/// The types that a walk has found, and those whose turns were measured.
fn types(before: Option<&Snapshot>, now: &Snapshot) -> Vec<TypeRates> {
    let mut types = BTreeMap::<&str, TypeRates>::new();
    for TypeNow { kind, living, queued, queued_max, restarts, .. } in &now.now.walk.types {
        let it = types.entry(kind).or_default();
        it.living += living;
        it.queued += queued;
        it.queued_max = it.queued_max.max(*queued_max);
        it.restarts += restarts;
    }
    let then = before.map(|it| &it.now.turns[..]).unwrap_or_default();
    let then: BTreeMap<_, _> = then.iter().map(|it| (&it.kind, (it.handled, it.busy_ns))).collect();
    let over_s = before.map(|it| now.now.turns_at_s - it.now.turns_at_s).filter(|&it| it > 0.0);
    for TurnsNow { kind, handled, busy_ns, turn_ns, wait_ns, .. } in &now.now.turns {
        let it = types.entry(kind).or_default();
        (it.turn_ns, it.wait_ns) = (*turn_ns, *wait_ns);
        let before = then.get(kind).copied().unwrap_or_default();
        if let Some(over_s) = over_s {
            it.handled = Some(handled.saturating_sub(before.0) as f64 / over_s);
            it.busy = Some(busy_ns.saturating_sub(before.1) as f64 * 1e-9 / over_s);
        }
    }
    types.into_iter().map(|(kind, it)| TypeRates { kind: kind.to_owned(), ..it }).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use actinium_monitor::live::{ProcessNow, ThreadNow};

    /// A system that has handled so much, at this moment.
    pub(crate) fn seen(at_s: f64, handled: u64) -> Snapshot {
        let mut seen = Snapshot { schema_version: 1, ..Snapshot::default() };
        seen.about.command = vec!["./shop".to_owned()];
        (seen.about.life, seen.about.pid, seen.about.policy) = (1, 17, "affine".to_owned());
        seen.about.workers = vec![Some(3), None];
        seen.now.at_s = at_s;
        let worker = |handled| WorkerNow {
            counters: [("handled".to_owned(), handled), ("turns".to_owned(), handled / 2)].into(),
            ..WorkerNow::default()
        };
        seen.now.workers = vec![worker(handled), worker(handled / 10)];
        seen.now.external.insert("dead".to_owned(), handled / 100);
        seen.now.latencies = vec![(128, handled), (1_024, handled / 50)];
        let cpu_ns = (at_s * 1.5e9) as u64;
        let thread = ThreadNow { number: 18, name: "worker 0".to_owned(), cpu_ns, cpu: 3 };
        seen.now.process = ProcessNow {
            cpu_ns,
            memory_bytes: 5 << 20,
            threads: 4,
            busiest: vec![thread],
            cpus: [(3, cpu_ns)].into(),
            at_s,
            ..ProcessNow::default()
        };
        let kind = "shop::Till".to_owned();
        seen.now.walk.types =
            vec![TypeNow { kind: kind.clone().into(), living: 4, queued: 9, ..TypeNow::default() }];
        let busy_ns = (at_s * 0.25e9) as u64;
        seen.now.turns_at_s = at_s;
        seen.now.turns = vec![TurnsNow {
            kind,
            handled,
            busy_ns,
            turn_ns: [100, 200, 300],
            ..TurnsNow::default()
        }];
        seen
    }

    #[test]
    fn rates_are_the_differences_of_two_looks() {
        let (before, now) = (seen(1.0, 1_000), seen(3.0, 5_000));
        let rates = Rates::of(Some(&before), &now);
        assert_eq!(rates.over_s, Some(2.0));
        assert_eq!(rates.handled, [2_000.0, 200.0]);
        assert_eq!((rates.turns[0], rates.dead), (1_000.0, 20.0));
        assert_eq!((rates.cpus, rates.cpu_shares[&3], rates.threads[&18]), (Some(1.5), 1.5, 1.5));
        assert_eq!(rates.latency.count(), 4_000 + 80);
        let till = &rates.types[0];
        assert_eq!((till.living, till.handled, till.busy), (4, Some(2_000.0), Some(0.25)));
        // Turns are looked at less often where that takes long.
        let mut later = seen(4.0, 7_000);
        (later.now.turns, later.now.turns_at_s) = (now.now.turns.clone(), now.now.turns_at_s);
        let later = rates.since(Some(&now), &later);
        assert_eq!((later.handled[0], later.types[0].handled), (2_000.0, Some(2_000.0)));
    }

    #[test]
    fn another_life_begins_anew() {
        let (before, mut now) = (seen(9.0, 9_000), seen(10.0, 100));
        now.about.life = 2;
        let rates = Rates::of(Some(&before), &now);
        assert_eq!((rates.over_s, rates.handled_by_all(), rates.cpus), (None, 0.0, None));
    }
}
