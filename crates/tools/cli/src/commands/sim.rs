//! `actinium sim`.

use super::{sim_links, sim_placement};
use actinium_app::Failure;
use actinium_app::output::{OutputArgs, ReportArgs};
use actinium_app::parse::{from_to, one_of};
use actinium_cluster::route::Route;
use actinium_cluster::sim::{Links, SharedCpus};
use actinium_lab::sim::cluster::links::{MeasuredLinks, NS_MAX};
use actinium_lab::sim::settings::{Grid, Settings};
use actinium_lab::sim::{calibrate, cluster, report, run, sweep};
use clap::{ArgMatches, ValueHint};
use std::path::PathBuf;

/// Most messages per worker: more would take hours.
const MESSAGES_MAX: u64 = 100_000_000;
/// The largest batch, as the runtime's: more is no batch.
const BATCH_MAX: u64 = 1_000_000;

/// Most nodes: what is kept per node is small, but each dead node's survivors have a real link.
const NODES_MAX: u64 = 100_000;

/// Sets of experiments.
const GRIDS: &[(&str, &str)] = &[
    ("published", "Those that were published"),
    ("skewed", "Skewed and bursty loads"),
    ("all", "Both"),
    ("talking", "Actors that talk in communities, a ring, stars, and communities that change"),
];

/// The description in `--help`.
pub(crate) const ABOUT: &str = "\
Simulate the published executor experiments on machines that are not at hand.

A discrete-event simulation of workers, queues, caches and wake-ups, which asks the policies that the runtime runs: pinned, pool, stealing and \
affine. One seed gives one result. Each table compares the four policies at several sizes of state, says by how much affine wins or falls short, \
how fair it is, and how often homes move. docs/sim.md says what is modelled, and what is not.";

/// Arguments of `actinium sim`.
#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true, args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,

    /// The machine: 12, 16, 64, 256 or 512 PUs, or hwloc's synthetic syntax ("package:2 l3:2 core:8
    /// pu:2"); at most 1,024 PUs
    #[arg(long, value_name = "MACHINE", default_value = "12")]
    machine: String,

    /// Experiments: those that were published, scaled to the machine; skewed and bursty loads; all
    /// of these; actors that talk
    #[arg(long, value_name = "GRID", default_value = "all", value_parser = one_of::<Grid>(GRIDS))]
    grid: Grid,

    /// Messages that each worker handles in a measured round (about); a warm-up of as many comes
    /// before
    #[arg(long, value_name = "N", default_value = "30000", value_parser = from_to::<100, MESSAGES_MAX>)]
    messages: u64,

    /// Most messages that an actor handles in one turn; in the published experiments it was 1
    #[arg(long, value_name = "N", default_value = "1", value_parser = from_to::<1, BATCH_MAX>)]
    batch: u64,

    /// Decides everything that is random
    #[arg(long, value_name = "N", default_value = "42", value_parser = from_to::<0, { u64::MAX }>)]
    seed: u64,

    /// Sets a constant of the policy affine, for instance balance_every_ns=100000; may be given for
    /// several
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,

    /// Change the number of workers that are given work while affine runs, from one to all, as the
    /// runtime's elastic workers do
    #[arg(long, conflicts_with = "calibrate")]
    elastic: bool,

    /// Try other values of affine's constants, one at a time, and say what they change
    #[arg(long, conflicts_with = "calibrate")]
    sweep: bool,

    /// Measure this machine's costs, simulate it, run the same for real, and print the error (about
    /// half a minute); of the other settings, only --messages, --batch, --seed and --set count
    #[arg(long, conflicts_with_all = ["machine", "grid"])]
    calibrate: bool,

    #[command(flatten)]
    output: OutputArgs,
}

/// Subcommands: other simulations.
#[derive(Debug, clap::Subcommand)]
pub enum What {
    /// Simulate clusters of many nodes: aggregation, routes, the end of all work, and deaths
    #[command(long_about = ABOUT_CLUSTER)]
    Cluster(Cluster),
    /// Measure the links between two nodes, for 'cluster --links'
    #[command(long_about = sim_links::ABOUT)]
    Links(sim_links::Args),
    /// Simulate clusters whose nodes exchange actors, so that those that talk lie on one node
    #[command(long_about = sim_placement::ABOUT)]
    Placement(sim_placement::Args),
}

const ABOUT_CLUSTER: &str = "\
Simulate clusters of many nodes: aggregation, routes, the end of all work, and deaths.

All nodes send to all others, in frames that leave when the runtime's own code says so, straight or through a square or cube of nodes (2d, 3d), over \
links with LogGP parameters. Beside that: how long the four-counter method takes to see that all work is done, and after how long the \
runtime's own links have noticed that a node has died. One seed gives one result. docs/sim.md says what is not modelled.";

/// Arguments of `actinium sim cluster`.
#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Cluster {
    /// Number of nodes; several, with commas between them, are compared
    #[arg(long, value_name = "N,..", default_value = "10,100,1000,10000", value_delimiter = ',', value_parser = from_to::<2, NODES_MAX>)]
    nodes: Vec<u64>,

    /// Route of messages: direct, 2d or 3d; several are compared
    #[arg(long, value_name = "ROUTE,..", default_value = "direct,2d,3d", value_delimiter = ',', value_parser = actinium_app::nodes::route)]
    route: Vec<Route>,

    /// Messages that each node sends, each to another that the seed draws
    #[arg(long, value_name = "N", default_value = "100", value_parser = from_to::<1, 10_000_000>)]
    messages: u64,

    /// Messages that each node sends in a second; 0: all at once
    #[arg(long, value_name = "N", default_value = "0", value_parser = from_to::<0, 1_000_000_000>)]
    rate: u64,

    /// A message's own bytes
    #[arg(long, value_name = "N", default_value = "64", value_parser = from_to::<0, 65_536>)]
    bytes: u64,

    /// A frame of so many bytes is full
    #[arg(long, value_name = "N", default_value = "16384", value_parser = from_to::<256, { 1 << 20 }>)]
    frame_bytes: u64,

    /// The longest that a frame is held while messages come fast, in nanoseconds
    #[arg(long, value_name = "NS", default_value = "10000", value_parser = from_to::<0, NS_MAX>)]
    hold: u64,

    /// L, o, g and G from this file, which 'actinium sim links --json' has printed
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath,
        conflicts_with_all = ["latency", "overhead", "gap", "gap_per_kib"])]
    links: Option<PathBuf>,

    /// Instead: simulate what 'actinium probe --fabric .. --json' has printed into these files, and
    /// say how far the simulation is off
    #[arg(long, value_name = "FILE,..", value_delimiter = ',', value_hint = ValueHint::FilePath,
        conflicts_with_all = ["nodes", "route", "messages", "rate", "bytes", "report"])]
    compare: Vec<PathBuf>,

    /// Take the cost of a message with which the simulation does as much as this file of 'actinium
    /// probe --fabric .. --json' says, beside --frame
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "message")]
    fit: Option<PathBuf>,

    /// L of LogGP: how long a frame is under way, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = Links::default().latency_ns, value_parser = from_to::<0, NS_MAX>)]
    latency: u64,

    /// o of LogGP: what the fabric takes of a node's worker for a frame, at either end, in
    /// nanoseconds
    #[arg(long, value_name = "NS", default_value_t = Links::default().overhead_ns, value_parser = from_to::<0, NS_MAX>)]
    overhead: u64,

    /// g of LogGP: the least time between two frames of a node, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = Links::default().gap_ns, value_parser = from_to::<0, NS_MAX>)]
    gap: u64,

    /// G of LogGP: time per 1,024 bytes of a frame, in nanoseconds (82: 100 Gbit/s)
    #[arg(long, value_name = "NS", default_value_t = Links::default().gap_per_kib_ns, value_parser = from_to::<0, NS_MAX>)]
    gap_per_kib: u64,

    /// Chance that a frame is lost, and sent again after 20 ms
    #[arg(long, value_name = "CHANCE", default_value = "0", value_parser = chance)]
    loss: f64,

    /// Frames that may be under way to a node until it has handled them
    #[arg(long, value_name = "N", default_value = "64", value_parser = from_to::<1, 4_096>)]
    window: u64,

    /// CPUs that the workers of all nodes share, as on one machine; 0: each has its own
    #[arg(long, value_name = "N", default_value = "0", value_parser = from_to::<0, 65_536>)]
    cpus: u64,

    /// Of shared CPUs: after so long one who has it gives it to another who waits, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = SharedCpus::default().slice_ns, value_parser = from_to::<0, NS_MAX>)]
    slice: u64,

    /// Of shared CPUs: the time that such a change takes, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = SharedCpus::default().switch_ns, value_parser = from_to::<0, NS_MAX>)]
    switch: u64,

    /// Cost of a frame for a node's worker besides --overhead, at either end, in nanoseconds: the
    /// link, and the turn of the frame receiver
    #[arg(long, value_name = "NS", default_value_t = Links::default().frame_ns, value_parser = from_to::<0, NS_MAX>)]
    frame: u64,

    /// Cost for a worker to send, hand on or handle a message, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = Links::default().message_ns, value_parser = from_to::<0, NS_MAX>)]
    message: u64,

    /// Decides everything that is random
    #[arg(long, value_name = "N", default_value = "42", value_parser = from_to::<0, { u64::MAX }>)]
    seed: u64,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    output: OutputArgs,
}

fn chance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(chance) if (0.0..=0.5).contains(&chance) => Ok(chance),
        _ => Err(format!("'{text}' is not allowed: 0 to 0.5")),
    }
}

fn run_cluster(args: &Cluster) -> Result<(), Failure> {
    let settings = cluster::Settings {
        nodes: args.nodes.iter().map(|&nodes| nodes as u32).collect(),
        routes: args.route.clone(),
        messages_per_node: args.messages as u32,
        rate_per_s: args.rate,
        message_bytes: args.bytes as u32,
        frame_bytes: args.frame_bytes as usize,
        hold_ns: args.hold,
        latency_ns: args.latency,
        overhead_ns: args.overhead,
        gap_ns: args.gap,
        gap_per_kib_ns: args.gap_per_kib,
        frame_ns: args.frame,
        message_ns: args.message,
        loss: args.loss,
        window_frames: args.window as u32,
        cpus: args.cpus as u32,
        slice_ns: args.slice,
        switch_ns: args.switch,
        seed: args.seed,
        ..cluster::Settings::default()
    };
    let settings = match &args.links {
        Some(path) => settings.measured(MeasuredLinks::read(path)?),
        None => settings,
    };
    let settings = match &args.fit {
        Some(path) => cluster::compare::fit(settings, path)?,
        None => settings,
    };
    if !args.compare.is_empty() {
        let report = cluster::compare::compare(settings, &args.compare, args.output.quiet)?;
        return args.output.report(&report, cluster::compare::Report::text);
    }
    let settings = settings.check()?;
    args.report.check()?;
    let sizes = cluster::run::run(&settings, args.output.quiet)?;
    let report = cluster::report::Report::new(settings, &sizes);
    args.report.write(|| cluster::page::of(&report))?;
    args.output.report(&report, cluster::report::Report::text)
}

/// Simulates, and prints what came of it.
///
/// # Errors
/// If a setting is not allowed, a run fails or stdout can not be written.
pub fn run(args: &Args, matches: &ArgMatches) -> Result<(), Failure> {
    match &args.what {
        Some(What::Cluster(cluster)) => return run_cluster(cluster),
        Some(What::Links(links)) => {
            let matches = matches.subcommand().map_or(matches, |(_, matches)| matches);
            return sim_links::run(links, matches);
        }
        Some(What::Placement(placement)) => return sim_placement::run(placement),
        None => {}
    }
    let mut settings = Settings {
        grid: args.grid,
        messages: args.messages as u32,
        batch: args.batch as u32,
        seed: args.seed,
        elastic: args.elastic,
        ..Settings::new(&args.machine)?
    };
    args.set.iter().try_for_each(|constant| settings.set(constant))?;
    if args.calibrate {
        let report = calibrate::calibrate(&settings)?;
        return args.output.report(&report, calibrate::Report::text);
    }
    if args.sweep {
        let report = sweep::sweep(&settings, args.output.quiet)?;
        return args.output.report(&report, sweep::Report::text);
    }
    let cells = settings.cells();
    let figures = run::run(&settings, &cells, &settings.policies(), args.output.quiet)?;
    let report = report::Report::new(&settings, &cells, figures)?;
    args.output.report(&report, report::Report::text)
}
