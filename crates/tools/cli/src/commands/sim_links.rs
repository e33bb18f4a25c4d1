//! `actinium sim links`.

use actinium_app::Failure;
use actinium_app::nodes::{self, FabricArgs, Nodes};
use actinium_app::output::{self, OutputArgs};
use actinium_cluster::job;
use actinium_lab::sim::cluster::links::MeasuredLinks;
use actinium_lab::sim::cluster::measure::Measurement;
use clap::ArgMatches;

/// The description in `--help`.
pub(crate) const ABOUT: &str = "\
Measure the links between two nodes, for 'actinium sim cluster --links'.

Two nodes send each other frames over --fabric, in bursts and one at a time, and do nothing else meanwhile. Of the medians come L, o, g and G of LogGP. \
With --json the first node prints the file that 'actinium sim cluster --links FILE' reads.";

/// Arguments of `actinium sim links`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    fabric: FabricArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Measures this process's part. Elsewhere another process shows the figures.
///
/// # Errors
/// If a setting is not allowed, a node is not heard or stdout can not be written.
pub(super) fn run(args: &Args, matches: &ArgMatches) -> Result<(), Failure> {
    let nodes = Nodes::resolve_unnumbered(&args.fabric, matches)?;
    let Some(kind) = nodes.fabric.value else {
        let line = "--fabric: needed: in-process, mpi or zenoh";
        return Err(Failure::Asked(line.to_owned()));
    };
    let fabric = nodes::fabric(kind, &nodes)?;
    let measured = job::run(fabric, output::note, &Measurement { fabric: kind.name() })?;
    measured.map_or(Ok(()), |links| args.output.report(&links, MeasuredLinks::text))
}
