//! What the probe measures, and what may be asked of it.

use crate::Failure;
use crate::memory::arguments::{SegmentSize, segment};
use crate::nodes::{Nodes, NodesArgs};
use crate::parse::{count_workers, from_to, policy, route, workers};
use crate::setting::{Setting, Source};
use actinium::{Policy, Workers};
use actinium_cluster::route::Route;
use actinium_observe::number::{bytes, count};
use clap::{ArgMatches, ValueEnum};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::fmt::{self, Display};

/// Most messages that an actor may be made to handle in one turn.
const BATCH_MAX: u64 = 1_000_000;
/// Most pings of an actor in one round: more would take days.
const MESSAGES_MAX: u64 = 1_000_000_000;
/// Most actors altogether, and most requests under way altogether: each takes some hundred bytes, so these take some GiB.
const TOTAL_MAX: u64 = 1 << 24;
/// Most bytes of a payload.
const PAYLOAD_MAX: u64 = 1 << 24;
/// Most bytes of all payloads under way, so that a slip does not eat the machine's memory.
const PAYLOADS_MAX: u64 = 1 << 32;
/// More results than anybody looks at.
const REPEAT_MAX: u64 = 1_000;

/// The probe's flags.
#[derive(Clone, Debug, clap::Args)]
pub struct ProbeArgs {
    /// Worker threads; 'all': as many as the cpuset and the CPU quota allow [env: ACTINIUM_WORKERS]
    #[arg(long, value_name = "N|all", default_value = "all", value_parser = workers)]
    workers: Workers,

    /// Scheduling policy: pinned, pool, stealing or affine [env: ACTINIUM_POLICY]
    #[arg(long, value_name = "POLICY", default_value = "affine", value_parser = policy)]
    policy: Policy,

    /// Most messages that an actor handles in one turn [env: ACTINIUM_BATCH]
    #[arg(long, value_name = "N", default_value = "64", value_parser = batch)]
    batch: u64,

    /// Actors per worker; each is source and target
    #[arg(long, value_name = "N", default_value = "100", value_parser = from_to::<1, TOTAL_MAX>)]
    actors: u64,

    /// Most requests of an actor that are outstanding
    #[arg(long, value_name = "N", default_value = "1", value_parser = from_to::<1, TOTAL_MAX>)]
    in_flight: u64,

    /// Pings that each actor sends
    #[arg(long, value_name = "N", default_value = "40000",
        value_parser = from_to::<1, MESSAGES_MAX>)]
    messages: u64,

    /// Bytes in each ping and each reply; up to 1,024 lie in the message itself (in the next larger of a few sizes), more in a
    /// buffer that travels by pointer. Each is written by the sender and read by the receivers
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = from_to::<0, PAYLOAD_MAX>)]
    payload: u64,

    /// Where actors are at first: where the policy puts them, or spread evenly over all workers
    #[arg(long, value_name = "WHERE", default_value = "policy")]
    placement: Placement,

    /// Decides at which target each actor's round robin starts
    #[arg(long, value_name = "N", default_value = "42", value_parser = from_to::<0, { u64::MAX }>)]
    seed: u64,

    /// Pings per actor before the measurement, which are not counted [default: a fortieth of
    /// --messages]
    #[arg(long, value_name = "N", value_parser = from_to::<0, MESSAGES_MAX>)]
    warm_up: Option<u64>,

    /// Measure so often, with the same actors, and give medians and spreads
    #[arg(long, value_name = "N", default_value = "1", value_parser = from_to::<1, REPEAT_MAX>)]
    repeat: u64,

    /// Measure each time once more, while a segment of memory of this size is faulted in in the background: bytes like 512m or 16g, or a share of memory like 25%.
    /// The report says how the two compare
    #[arg(long, value_name = "SIZE", value_parser = segment, conflicts_with = "fabric")]
    segment: Option<SegmentSize>,

    /// How messages go from node to node: direct, or through others in a grid of two or three dimensions (2d, 3d), so that each node gathers
    /// for about 2 √N or 3 ∛N of N nodes only. The same on all nodes
    #[arg(long, value_name = "ROUTE", default_value = "direct", requires = "fabric", help_heading = "Nodes", value_parser = route)]
    route: Route,

    #[command(flatten)]
    nodes: NodesArgs,

    /// Sample no latencies and time no turns (the ledger of messages is always kept)
    #[arg(long)]
    no_counters: bool,
}

/// Where actors are at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Placement {
    /// Evenly on all workers, as in the Thorium engine.
    Spread,
    /// Where the scheduling policy puts what is started from outside.
    Policy,
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
    /// Scheduling policy.
    pub policy: Setting<Policy>,
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
    /// Decides where round robins start.
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
    pub nodes: Nodes,
    /// How messages go from node to node.
    pub route: Setting<Route>,
}

impl Settings {
    /// The settings of this call: flag > environment > default.
    ///
    /// # Errors
    /// If an environment variable's value is not allowed, or several settings together ask for too much.
    pub fn settle(args: &ProbeArgs, matches: &ArgMatches) -> Result<Self, Failure> {
        let number = |value: u64, id| Setting::parsed(value, matches, id);
        let workers = Setting::parsed(args.workers, matches, "workers")
            .or_env("ACTINIUM_WORKERS", workers)?;
        let policy =
            Setting::parsed(args.policy, matches, "policy").or_env("ACTINIUM_POLICY", policy)?;
        let batch = number(args.batch, "batch").or_env("ACTINIUM_BATCH", batch)?;
        let counters = Setting::parsed(!args.no_counters, matches, "no_counters");
        let warm_up = args.warm_up.unwrap_or(args.messages / 40);
        let settings = Settings {
            workers: Setting { value: count_workers(workers.value)?, source: workers.source },
            policy,
            batch: narrow(batch),
            actors: narrow(number(args.actors, "actors")),
            in_flight: narrow(number(args.in_flight, "in_flight")),
            messages: narrow(number(args.messages, "messages")),
            payload: narrow(number(args.payload, "payload")),
            placement: Setting::parsed(args.placement, matches, "placement"),
            seed: number(args.seed, "seed"),
            warm_up: narrow(number(warm_up, "warm_up")),
            repeat: narrow(number(args.repeat, "repeat")),
            counters,
            segment: Setting::parsed(args.segment, matches, "segment"),
            nodes: Nodes::settle(&args.nodes, matches)?,
            route: Setting::parsed(args.route, matches, "route"),
        };
        settings.check_totals()?;
        Ok(settings)
    }

    /// Actors of all workers.
    pub fn actor_count(&self) -> u64 {
        self.workers.value as u64 * u64::from(self.actors.value)
    }

    /// Messages of one measurement: pings and replies.
    pub fn message_count(&self) -> u64 {
        2 * self.actor_count() * u64::from(self.messages.value)
    }

    /// Each setting may be within its bounds, and all together ask for too much.
    fn check_totals(&self) -> Result<(), Failure> {
        let (workers, actors) = (self.workers.value, self.actors.value);
        let actor_count = self.actor_count();
        if actor_count > TOTAL_MAX {
            return asked(format!(
                "--actors: '{actors}' on each of {workers} workers are {} actors: at most {}",
                count(actor_count),
                count(TOTAL_MAX)
            ));
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

    /// Name, value and source of each, those of how this process joins others included.
    pub fn all_rows(&self) -> Vec<(&'static str, String, Source)> {
        self.rows().into_iter().chain(self.nodes.join_rows()).collect()
    }

    /// Name, value and source of each that all nodes must agree on.
    pub fn rows(&self) -> [(&'static str, String, Source); 16] {
        fn row<T: Display>(
            name: &'static str,
            setting: &Setting<T>,
        ) -> (&'static str, String, Source) {
            (name, setting.value.to_string(), setting.source)
        }
        let [fabric, nodes] = self.nodes.rows();
        [
            row("workers", &self.workers),
            row("policy", &self.policy),
            row("batch", &self.batch),
            row("actors", &self.actors),
            row("in-flight", &self.in_flight),
            row("messages", &self.messages),
            row("payload", &self.payload),
            row("placement", &self.placement),
            row("seed", &self.seed),
            row("warm-up", &self.warm_up),
            row("repeat", &self.repeat),
            row("counters", &self.counters),
            ("segment", segment_name(self.segment.value), self.segment.source),
            fabric,
            nodes,
            row("route", &self.route),
        ]
    }
}

/// As a map from a setting's name to its value and source.
impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fn name<T: Display>(setting: Setting<T>) -> Setting<String> {
            Setting { value: setting.value.to_string(), source: setting.source }
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("workers", &self.workers)?;
        map.serialize_entry("policy", &name(self.policy))?;
        map.serialize_entry("batch", &self.batch)?;
        map.serialize_entry("actors", &self.actors)?;
        map.serialize_entry("in_flight", &self.in_flight)?;
        map.serialize_entry("messages", &self.messages)?;
        map.serialize_entry("payload", &self.payload)?;
        map.serialize_entry("placement", &name(self.placement))?;
        map.serialize_entry("seed", &self.seed)?;
        map.serialize_entry("warm_up", &self.warm_up)?;
        map.serialize_entry("repeat", &self.repeat)?;
        map.serialize_entry("counters", &self.counters)?;
        let segment =
            Setting { value: segment_name(self.segment.value), source: self.segment.source };
        map.serialize_entry("segment", &segment)?;
        map.serialize_entry("fabric", &self.nodes.fabric)?;
        map.serialize_entry("nodes", &self.nodes.count)?;
        map.serialize_entry("route", &name(self.route))?;
        for (name, value, source) in self.nodes.join_rows() {
            map.serialize_entry(&name.replace('-', "_"), &Setting { value, source })?;
        }
        map.end()
    }
}

fn asked<T>(line: String) -> Result<T, Failure> {
    Err(Failure::Asked(line))
}

fn segment_name(segment: Option<SegmentSize>) -> String {
    segment.map_or("none".to_owned(), |size| size.to_string())
}

/// A number that its parser has found to be within bounds that the narrower type holds.
fn narrow<T: TryFrom<u64>>(setting: Setting<u64>) -> Setting<T> {
    let value = T::try_from(setting.value).unwrap_or_else(|_| {
        panic!("{} is out of the bounds that its parser checks", setting.value)
    });
    Setting { value, source: setting.source }
}

fn batch(text: &str) -> Result<u64, String> {
    from_to::<1, BATCH_MAX>(text)
}

/// What goes into the narrower types of [`Settings`] fits.
const _: () = {
    let bounds = [BATCH_MAX, MESSAGES_MAX, TOTAL_MAX, PAYLOAD_MAX, REPEAT_MAX];
    let mut index = 0;
    while index < bounds.len() {
        assert!(bounds[index] <= u32::MAX as u64);
        index += 1;
    }
};
