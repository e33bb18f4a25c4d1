//! The figures that differ from run to run: what each is called, what it is, and how it is shown.

use super::run::Run;
use actinium_observe::latency::QuantilesNs;
use actinium_observe::number::decimal;
use actinium_observe::{Repeat, Shape, Throughput};
use serde::{Serialize, Serializer};

/// A figure of a run.
#[derive(Debug)]
pub struct Figure {
    /// The name in the table.
    pub name: &'static str,
    /// The name in JSON, the unit last.
    pub key: &'static str,
    /// The unit in the table.
    pub unit: &'static str,
    /// How many of JSON's unit make one of the table's.
    scale: f64,
    /// Digits after the point in the table.
    digits: usize,
    value: Value,
}

/// Where a figure comes from.
#[derive(Debug)]
enum Value {
    /// A figure of messages and elapsed time; none if there were no messages.
    Throughput(fn(&Throughput) -> Option<f64>),
    /// A figure of the sampled latencies; none if there were none.
    Latency(fn(&QuantilesNs) -> u64),
}

const fn throughput(
    name: &'static str,
    key: &'static str,
    value: fn(&Throughput) -> Option<f64>,
) -> Figure {
    let value = Value::Throughput(value);
    Figure { name, key, unit: "messages/s", scale: 1.0, digits: 2, value }
}

const fn period(
    name: &'static str,
    key: &'static str,
    value: fn(&Throughput) -> Option<f64>,
) -> Figure {
    Figure { name, key, unit: "ns", scale: 1.0, digits: 1, value: Value::Throughput(value) }
}

const fn latency(name: &'static str, key: &'static str, value: fn(&QuantilesNs) -> u64) -> Figure {
    Figure { name, key, unit: "ns", scale: 1.0, digits: 0, value: Value::Latency(value) }
}

/// How many there are.
const COUNT: usize = 16;

/// All figures, as the table shows them.
pub static FIGURES: [Figure; COUNT] = [
    Figure {
        name: "elapsed-time",
        key: "elapsed_time_ns",
        unit: "s",
        scale: 1e9,
        digits: 6,
        value: Value::Throughput(|all| Some(all.elapsed_ns as f64)),
    },
    throughput("computation-throughput", "computation_throughput_per_s", |all| {
        Some(all.computation_per_s)
    }),
    throughput("node-throughput", "node_throughput_per_s", |all| Some(all.node_per_s)),
    throughput("worker-throughput", "worker_throughput_per_s", |all| Some(all.worker_per_s)),
    period("worker-period", "worker_period_ns", |all| all.worker_period_ns),
    throughput("actor-throughput", "actor_throughput_per_s", |all| Some(all.actor_per_s)),
    period("actor-period", "actor_period_ns", |all| all.actor_period_ns),
    latency("delivery-latency 10 %", "delivery_latency_p10_ns", |all| all.p10),
    latency("delivery-latency 30 %", "delivery_latency_p30_ns", |all| all.p30),
    latency("delivery-latency 50 %", "delivery_latency_p50_ns", |all| all.p50),
    latency("delivery-latency 70 %", "delivery_latency_p70_ns", |all| all.p70),
    latency("delivery-latency 90 %", "delivery_latency_p90_ns", |all| all.p90),
    latency("delivery-latency 98 %", "delivery_latency_p98_ns", |all| all.p98),
    latency("delivery-latency 99 %", "delivery_latency_p99_ns", |all| all.p99),
    latency("delivery-latency 99.9 %", "delivery_latency_p99_9_ns", |all| all.p99_9),
    latency("delivery-latency max", "delivery_latency_max_ns", |all| all.max),
];

impl Figure {
    /// Returns the figure's value in one run, in JSON's unit.
    fn of(&self, run: &Run, throughput: &Throughput) -> Option<f64> {
        match self.value {
            Value::Throughput(value) => value(throughput),
            Value::Latency(value) => {
                let latency = run.latency.filter(|latency| latency.count > 0)?;
                Some(value(&latency.quantiles_ns) as f64)
            }
        }
    }

    /// Formats a value for the table.
    pub fn show(&self, value: Option<f64>) -> String {
        decimal(value.unwrap_or(f64::NAN) / self.scale, self.digits)
    }
}

/// The value of each figure of one run.
#[derive(Clone, Copy, Debug)]
pub struct Values([Option<f64>; COUNT]);

impl Values {
    /// Returns the values of this run.
    pub fn of(run: &Run, shape: Shape) -> Self {
        let throughput = Throughput::new(shape, run.messages(), run.elapsed);
        Values(FIGURES.each_ref().map(|figure| figure.of(run, &throughput)))
    }
}

/// Serializes the values as a map from key to value.
impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pairs = FIGURES.iter().zip(self.0);
        serializer.collect_map(pairs.map(|(figure, value)| (figure.key, value)))
    }
}

/// Each figure over all runs; none if a run does not have it.
#[derive(Clone, Debug)]
pub struct Repeats(Vec<Option<Repeat>>);

impl Repeats {
    /// Returns the medians and spreads of these runs.
    pub fn of(runs: &[Values]) -> Self {
        let over_runs = |index: usize| {
            let values: Option<Vec<f64>> = runs.iter().map(|run| run.0[index]).collect();
            values.and_then(Repeat::new)
        };
        Repeats((0..COUNT).map(over_runs).collect())
    }

    /// Each figure with its repeat.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Figure, Option<&Repeat>)> {
        FIGURES.iter().zip(self.0.iter().map(Option::as_ref))
    }

    /// Returns the medians.
    pub fn medians(&self) -> Values {
        let mut medians = [None; COUNT];
        for (median, repeat) in medians.iter_mut().zip(&self.0) {
            *median = repeat.as_ref().map(Repeat::median);
        }
        Values(medians)
    }
}

/// Serializes the repeats as a map from key to median and spread.
impl Serialize for Repeats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(figure, repeat)| (figure.key, repeat)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_observe::Latency;
    use std::time::Duration;

    const SHAPE: Shape = Shape { nodes: 1, workers_per_node: 2, actors_per_worker: 5 };

    fn run(elapsed_s: u64, latency_ns: Option<u64>) -> Run {
        let buckets = latency_ns.map(|ns| (ns, 10));
        Run {
            elapsed: Duration::from_secs(elapsed_s),
            control_messages: 12,
            counters: vec![("sent", 1_012), ("handled", 1_012)],
            latency: Some(Latency::from_buckets(buckets).quantiles()),
            starts: 0,
        }
    }

    fn json(value: &impl Serialize) -> serde_json::Value {
        serde_json::to_value(value).expect("it is serialisable")
    }

    #[test]
    fn periods_are_one_over_throughput() {
        let values = json(&Values::of(&run(1, Some(150)), SHAPE));
        assert_eq!(values["computation_throughput_per_s"], 1000.0);
        assert_eq!(values["worker_throughput_per_s"], 500.0);
        assert_eq!(values["worker_period_ns"], 2e6);
        assert_eq!(values["actor_throughput_per_s"], 100.0);
        assert_eq!(values["actor_period_ns"], 1e7);
        assert_eq!(values["delivery_latency_p99_9_ns"], 150.0);
    }

    #[test]
    fn several_runs_have_a_median_and_a_spread() {
        let runs = [(4, 100), (1, 300), (2, 200)];
        let runs = runs.map(|(s, ns)| Values::of(&run(s, Some(ns)), SHAPE));
        let repeats = Repeats::of(&runs);
        let medians = json(&repeats.medians());
        assert_eq!(medians["elapsed_time_ns"], 2e9);
        assert_eq!(medians["delivery_latency_max_ns"], 200.0);
        assert_eq!(json(&repeats)["elapsed_time_ns"]["spread"], 1.5);
    }

    #[test]
    fn what_was_not_sampled_is_not_zero() {
        let values = [Values::of(&run(1, None), SHAPE)];
        let repeats = Repeats::of(&values);
        assert_eq!(json(&repeats.medians())["delivery_latency_p50_ns"], serde_json::Value::Null);
        let (figure, repeat) = repeats.iter().last().expect("there are figures");
        assert_eq!(figure.show(repeat.map(Repeat::median)), "-");
    }
}
