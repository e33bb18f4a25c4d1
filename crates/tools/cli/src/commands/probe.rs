//! `actinium probe`.

use super::tracing::TraceArgs;
use actinium::{Policy, Workers};
use actinium_app::BindArgs;
use actinium_app::Failure;
use actinium_app::nodes::{self, FabricKind, Nodes, NodesArgs};
use actinium_app::output::{self, OutputArgs, ReportArgs, ShowArgs};
use actinium_app::parse::{from_to, one_of, policy, workers};
use actinium_app::setting::{Parsed, Setting};
use actinium_cluster::route::Route;
use actinium_lab::memory::settings::{SegmentSize, segment};
use actinium_lab::nodes::{NodeSettings, Remarks};
use actinium_lab::probe::settings::{Placement, Settings};
use actinium_lab::probe::{self, cluster, report};
use clap::ArgMatches;

/// Most messages that an actor may be made to handle in one turn.
const BATCH_MAX: u64 = 1_000_000;
/// Most pings of an actor in one round: more would take days.
const MESSAGES_MAX: u64 = 1_000_000_000;
/// Most actors altogether, and most requests under way altogether: each takes some hundred bytes,
/// so these take some GiB.
const TOTAL_MAX: u64 = actinium_lab::probe::settings::TOTAL_MAX;
/// Most bytes of a payload.
const PAYLOAD_MAX: u64 = 1 << 24;
/// More results than anybody looks at.
const REPEAT_MAX: u64 = 1_000;

/// Places of actors at first.
const PLACEMENTS: &[(&str, &str)] = &[
    ("spread", "Evenly on all workers, as in the Thorium engine"),
    ("policy", "Where the scheduling policy puts what is started from outside"),
];

/// The description in `--help`.
pub(crate) const ABOUT: &str = "\
Measure throughput and delivery latency of messages between many actors.

Each actor sends PING to the next of the others, round robin from a random start or at random, and waits for its PING_REPLY, with at \
most --in-flight requests outstanding; each answers the PINGs of the others. It ends when every actor has had its \
--messages replies. Pings and replies both count as messages: each is delivered and handled.

Latencies are true ones, from send to handling, of a sample of the sends (the report says how many). The elapsed time leaves out start-up and \
warm-up. With --fabric, actors of several nodes ping each other, times are those from a ping to its reply (two hosts' clocks can not time one way), and the \
figures are of all nodes and of each, as are threads active and the load of each CPU over time. --report draws them; on one node it draws what the system \
was seen to do while it ran, warm-up and start included. \
Where the period of a worker or actor is given, it is 1 / throughput, which is no latency.";

/// Arguments of `actinium probe`.
#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    /// Worker threads; 'all': as many as the cpuset and the CPU quota allow [env: ACTINIUM_WORKERS]
    #[arg(long, value_name = "N|all", default_value = "all", value_parser = workers)]
    workers: Workers,

    #[command(flatten)]
    bind: BindArgs,

    /// Scheduling policy: pinned, pool, stealing or affine, or affine with parameters, as
    /// affine,colocate_after=8 [env: ACTINIUM_POLICY]
    #[arg(long, value_name = "POLICY", default_value = "affine", value_parser = policy)]
    policy: Policy,

    /// Give work only to as many workers as it needs, from one to all; the others sleep. Needs the
    /// policy affine
    #[arg(long)]
    elastic: bool,

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

    /// Bytes in each ping and each reply; up to 1,024 lie in the message itself (in the next larger
    /// of a few sizes), more in a buffer that travels by pointer. Each is written by the sender and
    /// read by the receivers
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = from_to::<0, PAYLOAD_MAX>)]
    payload: u64,

    /// Place of actors at first: where the policy puts them, or spread evenly over all workers
    #[arg(long, value_name = "WHERE", default_value = "policy", value_parser = one_of::<Placement>(PLACEMENTS))]
    placement: Placement,

    /// Draw each target at random, not round robin: so many percent of the pings go to actors that
    /// start at other workers, the rest to others of the own worker. With one worker none cross.
    /// Needs --placement spread
    #[arg(long, value_name = "PERCENT", value_parser = from_to::<0, 100>, conflicts_with = "fabric")]
    crossing: Option<u64>,

    /// Decides at which target each actor's round robin starts, and which targets are drawn
    #[arg(long, value_name = "N", default_value = "42", value_parser = from_to::<0, { u64::MAX }>)]
    seed: u64,

    /// Pings per actor before the measurement, which are not counted [default: a fortieth of
    /// --messages]
    #[arg(long, value_name = "N", value_parser = from_to::<0, MESSAGES_MAX>)]
    warm_up: Option<u64>,

    /// Measure so often, with the same actors, and give medians and spreads
    #[arg(long, value_name = "N", default_value = "1", value_parser = from_to::<1, REPEAT_MAX>)]
    repeat: u64,

    /// Measure each time once more, while a segment of memory of this size is faulted in in the
    /// background: bytes like 512m or 16g, or a share of memory like 25%. The report says how the
    /// two compare
    #[arg(long, value_name = "SIZE", value_parser = segment, conflicts_with = "fabric")]
    segment: Option<SegmentSize>,

    /// Route of messages from node to node: direct, or through others in a grid of two or three
    /// dimensions (2d, 3d), so that each node aggregates for about 2 √N or 3 ∛N of N nodes only.
    /// The same on all nodes
    #[arg(long, value_name = "ROUTE", default_value = "direct", requires = "fabric", help_heading = "Nodes", value_parser = actinium_app::nodes::route)]
    route: Route,

    #[command(flatten)]
    nodes: NodesArgs,

    /// Sample no latencies and time no turns (the ledger of messages is always kept)
    #[arg(long)]
    no_counters: bool,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    trace: TraceArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    show: ShowArgs,
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

/// Values that go into the narrower types of [`Settings`] fit.
const _: () = {
    let bounds = [BATCH_MAX, MESSAGES_MAX, TOTAL_MAX, PAYLOAD_MAX, REPEAT_MAX];
    let mut index = 0;
    while index < bounds.len() {
        assert!(bounds[index] <= u32::MAX as u64);
        index += 1;
    }
};

impl Args {
    /// The settings of this call: flag > environment > default.
    fn resolve(&self, nodes: &Nodes, matches: &ArgMatches) -> Result<Settings, Failure> {
        let number = |value: u64, id| Setting::parsed(value, matches, id);
        let workers = Setting::parsed(self.workers, matches, "workers")
            .or_env("ACTINIUM_WORKERS", workers)?;
        let policy =
            Setting::parsed(self.policy, matches, "policy").or_env("ACTINIUM_POLICY", policy)?;
        let batch = number(self.batch, "batch").or_env("ACTINIUM_BATCH", batch)?;
        let warm_up = self.warm_up.unwrap_or(self.messages / 40);
        let fabric = nodes.fabric;
        let settings = Settings {
            policy,
            elastic: Setting::parsed(self.elastic, matches, "elastic"),
            batch: narrow(batch),
            actors: narrow(number(self.actors, "actors")),
            in_flight: narrow(number(self.in_flight, "in_flight")),
            messages: narrow(number(self.messages, "messages")),
            payload: narrow(number(self.payload, "payload")),
            placement: Setting::parsed(self.placement, matches, "placement"),
            crossing: Setting::parsed(
                self.crossing.map(|percent| percent as u32),
                matches,
                "crossing",
            ),
            seed: number(self.seed, "seed"),
            warm_up: narrow(number(warm_up, "warm_up")),
            repeat: narrow(number(self.repeat, "repeat")),
            counters: Setting::parsed(!self.no_counters, matches, "no_counters"),
            segment: Setting::parsed(self.segment, matches, "segment"),
            nodes: NodeSettings {
                fabric: Setting {
                    value: fabric.value.map(FabricKind::name),
                    source: fabric.source,
                },
                count: nodes.count,
                join: nodes.join_rows(),
            },
            route: Setting::parsed(self.route, matches, "route"),
            ..Settings::new(workers, self.bind.resolve(matches)?)?
        };
        settings.check()?;
        Ok(settings)
    }
}

/// Runs the probe and prints its figures.
///
/// # Errors
/// If a setting is not allowed, the run fails or stdout can not be written.
pub fn run(args: &Args, matches: &ArgMatches) -> Result<(), Failure> {
    let nodes = Nodes::resolve(&args.nodes, matches)?;
    let settings = args.resolve(&nodes, matches)?;
    if args.show.show_settings {
        return args.output.settings(report::SCHEMA_VERSION, &settings, settings.all_rows());
    }
    if let Some(kind) = nodes.fabric.value {
        return over_nodes(args, &settings, kind, &nodes);
    }
    args.report.check()?;
    let page = args.report.report.as_deref();
    let run = || probe::run(settings, page, args.output.quiet);
    let report = args.trace.during(run)?;
    args.output.report(&report, report::Report::text)?;
    report.verdict()
}

/// Elsewhere another process shows what all have measured.
fn over_nodes(
    args: &Args,
    settings: &Settings,
    kind: FabricKind,
    nodes: &Nodes,
) -> Result<(), Failure> {
    args.report.check()?;
    let remarks = Remarks { note: output::note, start: nodes::remark(kind) };
    let report = cluster::run(nodes::fabric(kind, nodes)?, settings, remarks, args.trace.path())?;
    let Some(report) = report else { return Ok(()) };
    report.remark().into_iter().for_each(output::note);
    args.report.write(|| cluster::page::page(&report))?;
    args.output.report(&report, cluster::report::ClusterReport::text)?;
    report.verdict()
}
