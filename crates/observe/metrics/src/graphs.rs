//! Figures of event graphs.

use crate::rows::{Row, encode};
use actinium_events::Monitor;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use std::fmt;

/// Graphs by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graphs(pub(crate) Vec<(String, Monitor)>);

const ROWS: [Row<Monitor>; 2] = [
    Row {
        name: "actinium_graph_events",
        help: "Events of a graph that have ended, failed ones included",
        unit: None,
        kind: MetricType::Counter,
        of: Monitor::events,
    },
    Row {
        name: "actinium_graph_events_in_flight",
        help: "Events of a graph in flight",
        unit: None,
        kind: MetricType::Gauge,
        of: Monitor::in_flight,
    },
];

impl Collector for Graphs {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let graphs = self.0.iter().map(|(name, it)| ([("graph", name.clone())], it.clone()));
        encode(&mut encoder, &ROWS, &graphs.collect::<Vec<_>>())
    }
}
