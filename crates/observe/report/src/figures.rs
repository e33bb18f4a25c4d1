//! Tables of the figures that `actinium-observe` makes.

use actinium_observe::number::{count, decimal, nanoseconds, rate};
use actinium_observe::{Quantiles, Throughput};

use crate::table::{Column, Table};

/// One row per quantile, and the count; the latency is "-" if nothing was counted.
///
/// ```
/// use actinium_observe::Latency;
/// use actinium_report::Table;
///
/// let text = Table::from(&Latency::from_buckets([(1_500, 2_000)]).quantiles()).to_string();
/// assert!(text.contains("  99.9 %  1.50 µs"));
/// ```
impl From<&Quantiles> for Table {
    fn from(quantiles: &Quantiles) -> Table {
        let mut table = Table::new([Column::right("quantile"), Column::right("latency")]);
        for (name, ns) in quantiles.quantiles_ns.named() {
            let latency = match quantiles.count {
                0 => String::from("-"),
                _ => nanoseconds(ns as f64),
            };
            table.row([name.into(), latency.into()]);
        }
        table.row(["count".into(), count(quantiles.count).into()]);
        table
    }
}

/// One row per level: how many there are, the throughput of each, and its period.
///
/// ```
/// use std::time::Duration;
/// use actinium_observe::{Shape, Throughput};
/// use actinium_report::Table;
///
/// let shape = Shape { nodes: 1, workers_per_node: 2, actors_per_worker: 100 };
/// let throughput = Throughput::new(shape, 3_000_000, Duration::from_millis(1_500));
/// assert_eq!(
///     Table::from(&throughput).to_string(),
///     "\
/// level        number    messages/s      rate   period
/// ────────────────────────────────────────────────────
/// computation       1  2,000,000.00  2.00 M/s
/// node              1  2,000,000.00  2.00 M/s
/// worker            2  1,000,000.00  1.00 M/s  1.00 µs
/// actor           200     10,000.00  10.0 k/s   100 µs
/// "
/// );
/// ```
impl From<&Throughput> for Table {
    fn from(throughput: &Throughput) -> Table {
        let mut table = Table::new([
            Column::left("level"),
            Column::right("number"),
            Column::right("messages/s"),
            Column::right("rate"),
            Column::right("period"),
        ]);
        let shape = throughput.shape;
        let (worker_ns, actor_ns) = (throughput.worker_period_ns, throughput.actor_period_ns);
        for (level, number, per_s, period_ns) in [
            ("computation", 1, throughput.computation_per_s, None),
            ("node", shape.nodes, throughput.node_per_s, None),
            ("worker", shape.workers(), throughput.worker_per_s, worker_ns),
            ("actor", shape.actors(), throughput.actor_per_s, actor_ns),
        ] {
            let period = period_ns.map(nanoseconds).unwrap_or_default();
            table.row([
                level.into(),
                number.into(),
                decimal(per_s, 2).into(),
                rate(per_s).into(),
                period.into(),
            ]);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_observe::Latency;

    #[test]
    fn the_table_of_quantiles_has_a_row_for_each() {
        let text = Table::from(&Latency::from_buckets([(1_500, 2_000)]).quantiles()).to_string();
        assert_eq!(text.lines().count(), 2 + 10);
        assert!(text.contains("  99.9 %  1.50 µs"), "{text}");
        assert!(text.ends_with("   count    2,000\n"), "{text}");
        assert!(Table::from(&Quantiles::default()).to_string().contains("50 %        -"));
    }
}
