//! Settings of the probe.

use crate::Failure;
use crate::memory::settings::SegmentSize;
use crate::nodes::NodeSettings;
use actinium::{Bind, Policy, System, SystemBuilder, Workers};
use actinium_app::count_workers;
use actinium_cluster::route::Route;
use actinium_observe::number::{bytes, count};
use actinium_report::setting::{Row, Setting};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::fmt::{self, Display};
use std::str::FromStr;

/// Most actors altogether, and most requests under way altogether: each takes some hundred bytes,
/// so these take some GiB.
pub const TOTAL_MAX: u64 = 1 << 24;
/// Most bytes of all payloads under way, so that a slip does not eat the machine's memory.
const PAYLOADS_MAX: u64 = 1 << 32;

/// Where actors are at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Evenly on all workers, as in the Thorium engine.
    Spread,
    /// Where the scheduling policy puts what is started from outside.
    Policy,
}

impl FromStr for Placement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "spread" => Ok(Placement::Spread),
            "policy" => Ok(Placement::Policy),
            _ => Err(format!("'{text}' is not allowed: spread, policy")),
        }
    }
}

impl Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Placement::Spread => "spread",
            Placement::Policy => "policy",
        })
    }
}

/// The probe's settings, each with its source; all are within their bounds.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Worker threads.
    pub workers: Setting<usize>,
    /// To which PUs workers are bound.
    pub bind: Setting<Bind>,
    /// Scheduling policy.
    pub policy: Setting<Policy>,
    /// Whether only as many workers are given work as it needs.
    pub elastic: Setting<bool>,
    /// Most messages that an actor handles in one turn.
    pub batch: Setting<u32>,
    /// Actors per worker.
    pub actors: Setting<u32>,
    /// Most requests of an actor that are outstanding.
    pub in_flight: Setting<u32>,
    /// Pings that each actor sends.
    pub messages: Setting<u32>,
    /// Bytes in each ping and each reply.
    pub payload: Setting<usize>,
    /// Where actors are at first.
    pub placement: Setting<Placement>,
    /// Of 100 pings, those to actors of other workers, all drawn at random; none: round robin.
    pub crossing: Setting<Option<u32>>,
    /// Decides where round robins start, and which targets are drawn.
    pub seed: Setting<u64>,
    /// Pings per actor before the measurement.
    pub warm_up: Setting<u32>,
    /// Number of measurements.
    pub repeat: Setting<u32>,
    /// Whether latencies are sampled.
    pub counters: Setting<bool>,
    /// The segment that is faulted in beside a second measurement.
    pub segment: Setting<Option<SegmentSize>>,
    /// On which nodes it runs.
    pub nodes: NodeSettings,
    /// How messages go from node to node.
    pub route: Setting<Route>,
}

impl Settings {
    /// The defaults, for so many workers, on this node alone.
    ///
    /// # Errors
    /// If this machine can not be looked at.
    pub fn new(workers: Setting<Workers>, bind: Setting<Bind>) -> Result<Self, Failure> {
        let count = count_workers(workers.value, &bind.value)?;
        Ok(Settings {
            workers: Setting { value: count, source: workers.source },
            bind,
            policy: Policy::affine().into(),
            elastic: false.into(),
            batch: 64.into(),
            actors: 100.into(),
            in_flight: 1.into(),
            messages: 40_000.into(),
            payload: 0.into(),
            placement: Placement::Policy.into(),
            crossing: None.into(),
            seed: 42.into(),
            warm_up: 1_000.into(),
            repeat: 1.into(),
            counters: true.into(),
            segment: None.into(),
            nodes: NodeSettings::default(),
            route: Route::Direct.into(),
        })
    }

    /// The system that is measured.
    pub(super) fn system(&self) -> SystemBuilder {
        System::builder()
            .workers(self.workers.value)
            .bind(self.bind.value.clone())
            .policy(self.policy.value)
            .elastic(self.elastic.value)
            .batch(self.batch.value)
            .counters(self.counters.value)
    }

    /// Actors of all workers.
    pub fn actor_count(&self) -> u64 {
        self.workers.value as u64 * u64::from(self.actors.value)
    }

    /// Messages of one measurement: pings and replies.
    pub fn message_count(&self) -> u64 {
        2 * self.actor_count() * u64::from(self.messages.value)
    }

    /// Whether the settings fit together: each may be within its bounds, and all together ask for
    /// too much.
    ///
    /// # Errors
    /// If there would be too many actors, requests or bytes under way; or if the share of pings
    /// that cross is set, and actors are not spread, or pings that stay would have nobody to go to.
    pub fn check(&self) -> Result<(), Failure> {
        let (workers, actors) = (self.workers.value, self.actors.value);
        let actor_count = self.actor_count();
        if actor_count > TOTAL_MAX {
            return asked(format!(
                "--actors: '{actors}' on each of {workers} workers are {} actors: at most {}",
                count(actor_count),
                count(TOTAL_MAX)
            ));
        }
        if let Some(crossing) = self.crossing.value {
            let placement = self.placement.value;
            if placement != Placement::Spread {
                return asked(format!(
                    "--crossing: '{crossing}' needs --placement spread, not {placement}"
                ));
            }
            if crossing < 100 && actors == 1 {
                return asked(format!(
                    "--crossing: '{crossing}' needs --actors 2 or more: pings stay, and go to others"
                ));
            }
        }
        let in_flight = u64::from(self.in_flight.value.min(self.messages.value));
        let under_way = actor_count * in_flight;
        if under_way > TOTAL_MAX {
            return asked(format!(
                "--in-flight: '{in_flight}' of each of {actor_count} actors are {} requests under way: at most {}",
                count(under_way),
                count(TOTAL_MAX)
            ));
        }
        let payload = self.payload.value as u64;
        // No overflow: neither factor is above 2^24.
        if under_way * payload > PAYLOADS_MAX {
            return asked(format!(
                "--payload: '{payload}' bytes in each of {under_way} requests under way are {}: at most {}",
                bytes(under_way * payload),
                bytes(PAYLOADS_MAX)
            ));
        }
        Ok(())
    }

    /// Name, value and source of each, those of this process alone included.
    pub fn all_rows(&self) -> Vec<Row> {
        let bind = self.bind.row("bind");
        self.rows().into_iter().chain([bind]).chain(self.nodes.join.clone()).collect()
    }

    /// Name, value and source of each that all nodes must agree on.
    pub fn rows(&self) -> [Row; 18] {
        let [fabric, nodes] = self.nodes.rows();
        [
            self.workers.row("workers"),
            self.policy.row("policy"),
            self.batch.row("batch"),
            self.actors.row("actors"),
            self.in_flight.row("in-flight"),
            self.messages.row("messages"),
            self.payload.row("payload"),
            self.placement.row("placement"),
            ("crossing", crossing_name(self.crossing.value), self.crossing.source),
            self.seed.row("seed"),
            self.warm_up.row("warm-up"),
            self.repeat.row("repeat"),
            self.elastic.row("elastic"),
            self.counters.row("counters"),
            ("segment", segment_name(self.segment.value), self.segment.source),
            fabric,
            nodes,
            self.route.row("route"),
        ]
    }
}

/// Serializes the settings as a map from a setting's name to its value and source.
impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("workers", &self.workers)?;
        map.serialize_entry("bind", &self.bind.text())?;
        map.serialize_entry("policy", &self.policy.text())?;
        map.serialize_entry("elastic", &self.elastic)?;
        map.serialize_entry("batch", &self.batch)?;
        map.serialize_entry("actors", &self.actors)?;
        map.serialize_entry("in_flight", &self.in_flight)?;
        map.serialize_entry("messages", &self.messages)?;
        map.serialize_entry("payload", &self.payload)?;
        map.serialize_entry("placement", &self.placement.text())?;
        map.serialize_entry("crossing", &self.crossing)?;
        map.serialize_entry("seed", &self.seed)?;
        map.serialize_entry("warm_up", &self.warm_up)?;
        map.serialize_entry("repeat", &self.repeat)?;
        map.serialize_entry("counters", &self.counters)?;
        let segment =
            Setting { value: segment_name(self.segment.value), source: self.segment.source };
        map.serialize_entry("segment", &segment)?;
        map.serialize_entry("fabric", &self.nodes.fabric)?;
        map.serialize_entry("nodes", &self.nodes.count)?;
        map.serialize_entry("route", &self.route.text())?;
        for (name, value, source) in self.nodes.join.clone() {
            map.serialize_entry(&name.replace('-', "_"), &Setting { value, source })?;
        }
        map.end()
    }
}

fn asked<T>(line: String) -> Result<T, Failure> {
    Err(Failure::Asked(line))
}

/// A share of pings, as text.
pub(super) fn crossing_name(percent: Option<u32>) -> String {
    percent.map_or("none".to_owned(), |percent| format!("{percent}%"))
}

fn segment_name(segment: Option<SegmentSize>) -> String {
    segment.map_or("none".to_owned(), |size| size.to_string())
}
