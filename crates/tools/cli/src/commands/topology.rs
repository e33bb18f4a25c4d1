//! `actinium topology`.

use actinium::topology::{Topology, TopologyError, claims_folder};
use actinium_app::Failure;
use actinium_app::output;
use std::path::PathBuf;

/// The description in `--help`.
pub(crate) const ABOUT: &str = "\
Show the machine: packages, NUMA nodes, caches, cores, PUs, and what of it may be used.

The PUs that may be used are those of the \
process's cpuset; a CPU quota limits the number of workers further. A synthetic machine is written as hwloc writes it, \
from the outside in: 'package:2 numa:1 l3:1 core:4 pu:2'.";

/// Arguments of `actinium topology`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON, with a schema_version
    #[arg(long, conflicts_with_all = ["tree", "table"])]
    json: bool,

    /// Print the tree: the default
    #[arg(long, conflicts_with = "table")]
    tree: bool,

    /// Print tables of PUs, caches and NUMA nodes instead of the tree
    #[arg(long)]
    table: bool,

    /// Show a synthetic machine, in hwloc's syntax
    #[arg(long, value_name = "DESCRIPTION", conflicts_with_all = ["sysfs", "hwloc"])]
    synthetic: Option<String>,

    /// Show the machine whose /sys tree was recorded in this folder
    #[arg(long, value_name = "DIR", conflicts_with = "hwloc")]
    sysfs: Option<PathBuf>,

    /// Look at this machine through the hwloc library instead of /sys (needs the build feature
    /// hwloc)
    #[arg(long)]
    hwloc: bool,
}

/// Shows the machine.
///
/// # Errors
/// If there is no such machine, or stdout can not be written.
pub fn run(args: &Args) -> Result<(), Failure> {
    let topology = look(args)?;
    if args.json {
        return output::print_json(&topology);
    }
    if args.table {
        return output::print(topology.to_table());
    }
    let mut text = topology.to_tree();
    if args.synthetic.is_none() && args.sysfs.is_none() {
        let claims = claims_folder().map(|folder| format!("in {}", folder.display()));
        text += &format!("\nClaims on PUs: {}\n", claims.unwrap_or_else(|why| why));
    }
    output::print(text)
}

fn look(args: &Args) -> Result<Topology, Failure> {
    let asked = |flag: &'static str, value: &str| {
        let value = value.to_owned();
        move |error: TopologyError| Failure::Asked(format!("{flag}: '{value}': {error}"))
    };
    if let Some(text) = &args.synthetic {
        return Topology::synthetic(text).map_err(asked("--synthetic", text));
    }
    if let Some(folder) = &args.sysfs {
        let name = folder.to_string_lossy();
        return Topology::from_sysfs(folder).map_err(asked("--sysfs", &name));
    }
    if args.hwloc {
        return through_hwloc();
    }
    Topology::detect().map_err(failed)
}

#[cfg(feature = "hwloc")]
fn through_hwloc() -> Result<Topology, Failure> {
    Topology::from_hwloc().map_err(failed)
}

/// Without the feature.
#[cfg(not(feature = "hwloc"))]
fn through_hwloc() -> Result<Topology, Failure> {
    Err(Failure::Asked(
        "--hwloc: this command was built without the feature 'hwloc': build it with \
         cargo build --release -p actinium-cli --features hwloc"
            .to_owned(),
    ))
}

fn failed(error: TopologyError) -> Failure {
    Failure::Failed(error.to_string())
}
