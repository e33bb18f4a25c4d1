//! The figures of a system and its process, at each scrape.

use crate::counters::COUNTERS;
use actinium_actor::{ActorTypeFigures, CounterValues, Stats, SystemHandle};
use actinium_observe::process::cpu_time::process_time;
use actinium_observe::process::proc::{memory_max_bytes, threads};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The upper bounds of the buckets of latencies: 100 ns, then four times as much each.
const BUCKETS: usize = 12;
const FIRST_BUCKET_NS: u64 = 100;
const BUCKET_GROWTH: u64 = 4;

/// Looks at a system when it is asked.
pub(crate) struct SystemFigures {
    system: SystemHandle,
    /// The most types of actors that are named.
    types: usize,
    /// Those that are. One that is named stays so: else its counters would fall.
    named: Mutex<BTreeSet<&'static str>>,
}

impl SystemFigures {
    pub(crate) fn new(system: SystemHandle, types: usize) -> Self {
        SystemFigures { system, types, named: Mutex::default() }
    }

    /// The name of each of these types outside. All others than those with most actors at first are
    /// `other`.
    fn names(&self, types: &[ActorTypeFigures]) -> Vec<&'static str> {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let name = |it: &ActorTypeFigures| {
            if named.len() < self.types {
                named.insert(it.kind);
            }
            if named.contains(it.kind) { it.kind } else { "other" }
        };
        types.iter().map(name).collect()
    }
}

impl fmt::Debug for SystemFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemFigures").field("types", &self.types).finish_non_exhaustive()
    }
}

impl Collector for SystemFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let stats = self.system.stats();
        counters(&mut encoder, &stats)?;
        gauges(&mut encoder, &self.system, &stats)?;
        latencies(&mut encoder, &stats)?;
        if self.types > 0 {
            let figures = self.system.actor_types();
            types(&mut encoder, &figures, &self.names(&figures))?;
        }
        process(&mut encoder)
    }
}

fn counters(encoder: &mut DescriptorEncoder<'_>, stats: &Stats) -> fmt::Result {
    let values = |values: &CounterValues| values.pairs();
    let workers = stats.workers.iter().enumerate();
    let mut all: Vec<_> =
        workers.map(|(index, worker)| (index.to_string(), values(worker))).collect();
    all.push(("external".to_owned(), values(&stats.external)));
    for (at, name) in COUNTERS.iter().enumerate() {
        let kind = MetricType::Counter;
        let units = [("_bytes", Unit::Bytes), ("_seconds", Unit::Seconds)];
        let found = units.iter().find_map(|(suffix, unit)| {
            name.metric.strip_suffix(suffix).map(|metric| (metric, Some(unit)))
        });
        let (metric, unit) = found.unwrap_or((name.metric, None));
        let mut metric = encoder.encode_descriptor(metric, name.help, unit, kind)?;
        for (worker, values) in &all {
            let labels = [("worker", worker.as_str())];
            let (mut sample, value) = (metric.encode_family(&labels)?, values[at].1);
            match unit {
                Some(Unit::Seconds) => {
                    sample.encode_counter::<NoLabelSet, f64, f64>(&(value as f64 * 1e-9), None)?;
                }
                _ => count(&mut sample, value)?,
            }
        }
    }
    Ok(())
}

fn gauges(
    encoder: &mut DescriptorEncoder<'_>,
    system: &SystemHandle,
    stats: &Stats,
) -> fmt::Result {
    let total = stats.total();
    let gauges = [
        ("actinium_actors", "Living actors", stats.actors as u64),
        ("actinium_messages_waiting", "Messages in mailboxes, or on their way", total.waiting()),
        ("actinium_workers", "Workers", system.workers() as u64),
        ("actinium_workers_working", "Workers that are given work", stats.working as u64),
    ];
    gauges.into_iter().try_for_each(|(name, help, value)| gauge(encoder, name, help, None, value))
}

fn latencies(encoder: &mut DescriptorEncoder<'_>, stats: &Stats) -> fmt::Result {
    let bounds: Vec<u64> =
        std::iter::successors(Some(FIRST_BUCKET_NS), |ns| Some(ns * BUCKET_GROWTH))
            .take(BUCKETS)
            .collect();
    let seconds = |ns: u64| ns as f64 * 1e-9;
    let last = (f64::MAX, 0);
    let mut buckets: Vec<(f64, u64)> =
        bounds.iter().map(|&ns| (seconds(ns), 0)).chain([last]).collect();
    let (mut sum_s, mut samples) = (0.0, 0);
    for &(ns, messages) in &stats.latencies {
        buckets[bounds.partition_point(|&bound| bound < ns)].1 += messages;
        sum_s += seconds(ns) * messages as f64;
        samples += messages;
    }
    encoder
        .encode_descriptor(
            "actinium_message_latency",
            "Latency of a sample of the messages, from send to handling",
            Some(&Unit::Seconds),
            MetricType::Histogram,
        )?
        .encode_histogram::<NoLabelSet>(sum_s, samples, &buckets, None)
}

/// The types by these names of theirs.
fn types(
    encoder: &mut DescriptorEncoder<'_>,
    types: &[ActorTypeFigures],
    names: &[&'static str],
) -> fmt::Result {
    type Of = fn(&ActorTypeFigures) -> u64;
    let gauge = MetricType::Gauge;
    let metrics: [(&str, &str, MetricType, Of); 3] = [
        ("actinium_type_actors", "Living actors of a type", gauge, |it| it.living),
        ("actinium_type_messages_waiting", "Messages in their mailboxes", gauge, |it| it.queued),
        ("actinium_type_restarts", "Restarts of a type's actors", MetricType::Counter, |it| {
            it.restarts
        }),
    ];
    // Several types may have one name.
    let mut named = BTreeMap::<&str, [u64; 3]>::new();
    for (it, &name) in types.iter().zip(names) {
        let values = named.entry(name).or_default();
        values.iter_mut().zip(metrics).for_each(|(sum, (.., of))| *sum += of(it));
    }
    for (at, (name, help, kind, _)) in metrics.into_iter().enumerate() {
        let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
        for (kind_name, values) in &named {
            let labels = [("type", *kind_name)];
            let mut one = metric.encode_family(&labels)?;
            match kind {
                MetricType::Counter => count(&mut one, values[at])?,
                _ => one.encode_gauge(&values[at])?,
            }
        }
    }
    Ok(())
}

fn process(encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let cpu_s = process_time().as_secs_f64();
    encoder
        .encode_descriptor(
            "process_cpu",
            "CPU time of all threads of the process",
            Some(&Unit::Seconds),
            MetricType::Counter,
        )?
        .encode_counter::<NoLabelSet, f64, f64>(&cpu_s, None)?;
    let help = "The most memory that the process has had in RAM";
    gauge(encoder, "process_resident_memory_max", help, Some(&Unit::Bytes), memory_max_bytes())?;
    gauge(encoder, "process_threads", "Threads of the process", None, threads())
}

fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    unit: Option<&Unit>,
    value: u64,
) -> fmt::Result {
    encoder.encode_descriptor(name, help, unit, MetricType::Gauge)?.encode_gauge(&value)
}

pub(crate) fn count(metric: &mut MetricEncoder<'_>, value: u64) -> fmt::Result {
    metric.encode_counter::<NoLabelSet, u64, f64>(&value, None)
}
