//! `actinium events`.

use actinium_app::events::{self, EventsCommand};
use actinium_app::{Failure, Registry};
use clap::ArgMatches;

/// The description in `--help`.
pub(crate) const ABOUT: &str = "\
Run a workload of event processing: read it, plan it, run it, report on it.

A workload is a graph of modules with the time that each takes for each event, and paths that need some of them. Each event is run through \
the modules that its paths need; --slots events are in flight at a time. Modules that compute keep a worker busy for their time, \
modules that wait hold no thread. docs/events.md has the formats.";

/// Arguments of `actinium events`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  actinium events workloads/imaging.toml --plan
  actinium events workloads/reconstruction.toml --time-scale 0.01 --report report.html
  actinium events reco.config --mode wait --slots 1024 --events 4096
  actinium events reco.config --sweep slots=1,2,4,8 --time-scale 0.01 --report scaling.html
  actinium events reco.config --sweep jobs=1,2,4 --repeat 5 --report jobs.html
  actinium events reco.config --draw reco.svg
  actinium events reco.config --trace reco.trace.json
  mpiexec -n 4 actinium events reco.config --fabric mpi --order input --output events.csv")]
pub struct Args {
    #[command(flatten)]
    events: EventsCommand,
}

/// Does what was asked. The command has no modules of its own: it plans and replays.
///
/// # Errors
/// If a setting or the file is not allowed, the run fails or stdout can not be written.
pub fn run(args: &Args, matches: &ArgMatches) -> Result<(), Failure> {
    events::run(&args.events, matches, &Registry::new(), "actinium events")
}
