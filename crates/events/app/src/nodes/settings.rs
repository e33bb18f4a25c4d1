//! On which nodes a program runs, and by which fabric.

use super::join::{Join, JoinArgs};
use crate::Failure;
use crate::parse::from_to;
use crate::setting::{Parsed, Row, Setting, Source};
use clap::{ArgMatches, ValueEnum};
use serde::Serialize;

/// The flags that say which nodes, without how many.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct FabricArgs {
    /// Run on several nodes, whose frames this moves: in-process (all nodes in this process), mpi
    /// (the ranks of an MPI job; needs the build feature mpi) or zenoh (processes that reach each
    /// other over TCP, TLS or QUIC; needs the build feature zenoh). Each node has workers, and all
    /// that there is per worker, of its own
    #[arg(long, value_name = "FABRIC", help_heading = "Nodes")]
    fabric: Option<FabricKind>,

    #[command(flatten)]
    join: JoinArgs,
}

/// The flags.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct NodesArgs {
    #[command(flatten)]
    which: FabricArgs,

    /// Nodes in this process [default: 2], or in all over Zenoh [env: ACTINIUM_NODES]
    #[arg(long, value_name = "N", requires = "fabric", help_heading = "Nodes",
        value_parser = from_to::<1, NODES_MAX>)]
    nodes: Option<u64>,
}

/// Most nodes in one process: each has threads of its own.
const NODES_MAX: u64 = 64;
/// Nodes of a process, if nothing is said.
const NODES_DEFAULT: u32 = 2;

/// The transport that moves frames between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FabricKind {
    /// Nodes of this process.
    InProcess,
    /// The ranks of an MPI job.
    Mpi,
    /// Processes that reach each other by Zenoh.
    Zenoh,
}

impl FabricKind {
    /// Returns the name of the fabric, as users type it.
    pub fn name(self) -> &'static str {
        match self {
            FabricKind::InProcess => "in-process",
            FabricKind::Mpi => "mpi",
            FabricKind::Zenoh => "zenoh",
        }
    }
}

impl Serialize for FabricKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The resolved values of these arguments.
#[derive(Clone, Debug)]
pub struct Nodes {
    /// The fabric that moves frames between nodes, if there are several nodes.
    pub fabric: Setting<Option<FabricKind>>,
    /// Number of nodes in this process, or in all.
    pub count: Setting<Option<u32>>,
    /// Settings by which this process joins others, over Zenoh.
    pub join: Option<Join>,
}

impl Default for Nodes {
    /// Returns the settings of one node, without any fabric.
    fn default() -> Self {
        let (fabric, count) = (None, None);
        Nodes {
            fabric: Setting { value: fabric, source: Source::Default },
            count: Setting { value: count, source: Source::Default },
            join: None,
        }
    }
}

impl Nodes {
    /// Flag > environment > default.
    ///
    /// # Errors
    /// If a flag is for another fabric, or a variable's value is not allowed.
    pub fn resolve(args: &NodesArgs, matches: &ArgMatches) -> Result<Self, Failure> {
        let count = Setting::parsed(args.nodes.map(|nodes| nodes as u32), matches, "nodes");
        Self::so_many(&args.which, count, matches)
    }

    /// Resolves the nodes like [`Nodes::resolve`], for a program that has no flag for their number.
    ///
    /// # Errors
    /// The same as those of [`Nodes::resolve`].
    pub fn resolve_unnumbered(args: &FabricArgs, matches: &ArgMatches) -> Result<Self, Failure> {
        Self::so_many(args, Setting { value: None, source: Source::Default }, matches)
    }

    fn so_many(
        args: &FabricArgs,
        count: Setting<Option<u32>>,
        matches: &ArgMatches,
    ) -> Result<Self, Failure> {
        let join = match args.fabric {
            Some(FabricKind::Zenoh) => Some(Join::resolve(&args.join, count, matches)?),
            _ => None,
        };
        if join.is_none()
            && let Some(flag) = Join::flag_given(&args.join)
        {
            return Err(Failure::Asked(format!("{flag}: only with --fabric zenoh")));
        }
        Ok(Nodes {
            fabric: Setting::parsed(args.fabric, matches, "fabric"),
            count: join.as_ref().map_or(count, |join| join.nodes),
            join,
        })
    }

    /// Returns the number of nodes of this process, where all are in it.
    pub fn in_process(&self) -> u32 {
        self.count.value.unwrap_or(NODES_DEFAULT)
    }

    /// Name, value and source of what all nodes agree on.
    pub fn rows(&self) -> [Row; 2] {
        let fabric = self.fabric.value.map_or("none", FabricKind::name).to_owned();
        let count = self.count.value.map_or("-".to_owned(), |nodes| nodes.to_string());
        [("fabric", fabric, self.fabric.source), ("nodes", count, self.count.source)]
    }

    /// Name, value and source of how this process joins others.
    pub fn join_rows(&self) -> Vec<Row> {
        self.join.iter().flat_map(Join::rows).collect()
    }
}
