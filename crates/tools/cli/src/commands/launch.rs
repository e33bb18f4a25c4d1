//! `actinium launch`.

use actinium_app::BindArgs;
use actinium_app::Failure;
use actinium_app::launch::{self, Job};
use actinium_app::parse::from_to;
use clap::ArgMatches;
use std::ffi::OsString;

/// The description in `--help`.
pub(crate) const ABOUT: &str = "\
Start several nodes on this machine, for trying out: one process each.

Each process is told which node it is by ACTINIUM_NODE, how many there are by ACTINIUM_NODES, where to listen by ACTINIUM_LISTEN and whom to connect to by \
ACTINIUM_CONNECT (addresses of this machine only). The PUs are divided among them, by ACTINIUM_BIND: each has as many of its own, and all its \
workers are unbound if they are more. What they print is passed on line by line, behind the node's number. When one fails, the others are \
ended, and its exit code is that of the launch (128 and the signal's number if a signal ended it). Ctrl-C ends all.

What stands behind -- is a subcommand of actinium, such as `probe --fabric zenoh`, or any program.";

/// Most nodes: each is a process with threads of its own.
const NODES_MAX: u64 = 256;

/// Arguments of `actinium launch`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Nodes to start
    #[arg(short = 'n', long, value_name = "N", default_value = "2",
        value_parser = from_to::<1, NODES_MAX>)]
    nodes: u64,

    #[command(flatten)]
    bind: BindArgs,

    /// A subcommand of actinium, or a program, and its arguments
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<OsString>,
}

/// Starts the nodes and waits for them; `own` are the subcommands of this program.
///
/// # Errors
/// If there is nothing to start, or a node fails.
pub fn run(args: &Args, matches: &ArgMatches, own: &[String]) -> Result<(), Failure> {
    let bind = args.bind.resolve(matches)?.value;
    let mut command = args.command.clone();
    let is_ours = command.first().is_some_and(|first| own.iter().any(|name| first == &**name));
    let program = match is_ours {
        true => std::env::current_exe()
            .map_err(|error| Failure::Failed(format!("launch: {error}")))?
            .into_os_string(),
        false => command.remove(0),
    };
    launch::run(&Job::new(program, command, args.nodes as u32, &bind)?)
}
