//! What can be typed.

use crate::commands::{
    completions, elastic, events, launch, locality, man, memory, probe, report, sim, top, topology,
    wire,
};
use actinium_app::Failure;
use clap::{ArgMatches, CommandFactory, Parser, Subcommand};

/// Looks at the machine as the Actinium runtime sees it, runs event-processing workloads, and
/// measures the runtime.
#[derive(Debug, Parser)]
#[command(
    name = "actinium",
    version,
    disable_help_subcommand = true,
    max_term_width = 100,
    after_help = "Exit codes: 0 done, 1 it failed, 2 it was asked wrongly."
)]
pub struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the machine: packages, NUMA nodes, caches, cores, PUs, and what of it may be used.
    #[command(long_about = topology::ABOUT)]
    Topology(topology::Args),
    /// Run a workload of event processing: read it, plan it, run it, report on it.
    #[command(long_about = events::ABOUT)]
    Events(Box<events::Args>),
    /// Measure throughput and delivery latency of messages between many actors.
    #[command(long_about = probe::ABOUT)]
    Probe(Box<probe::Args>),
    /// Make a page of a recorded run.
    #[command(long_about = report::ABOUT)]
    Report(report::Args),
    /// Look at a running program: throughput, workers, actors, dead letters, latencies.
    #[command(long_about = top::ABOUT)]
    Top(top::Args),
    /// Start several nodes on this machine, for trying out: one process each.
    #[command(long_about = launch::ABOUT)]
    Launch(launch::Args),
    /// Compare scheduling policies on actors with states of their own, by the size of the state.
    #[command(long_about = locality::ABOUT)]
    Locality(Box<locality::Args>),
    /// Measure what elastic workers cost, and how fast they come.
    #[command(long_about = elastic::ABOUT)]
    Elastic(Box<elastic::Args>),
    /// Simulate the published executor experiments on machines that are not at hand.
    #[command(long_about = sim::ABOUT)]
    Sim(sim::Args),
    /// Measure segments of memory: what they cost at start-up, and what their placement is worth.
    #[command(long_about = memory::ABOUT)]
    Memory(memory::Args),
    /// Encodings and protocols: measure, convert, explain, draw, listen.
    #[command(long_about = wire::ABOUT)]
    Wire(wire::Args),
    /// Print a shell's completions for this command.
    Completions(completions::Args),
    /// Print a manual page.
    Man(man::Args),
}

impl Command {
    /// Runs it.
    ///
    /// # Errors
    /// If it was asked wrongly, or fails.
    pub fn run(&self, matches: &ArgMatches) -> Result<(), Failure> {
        let matches = matches.subcommand().map_or(matches, |(_, matches)| matches);
        match self {
            Command::Topology(args) => topology::run(args),
            Command::Events(args) => events::run(args, matches),
            Command::Memory(args) => memory::run(args, matches),
            Command::Probe(args) => probe::run(args, matches),
            Command::Report(args) => report::run(args),
            Command::Top(args) => top::run(args),
            Command::Launch(args) => launch::run(args, matches, &command_names()),
            Command::Locality(args) => locality::run(args, matches),
            Command::Elastic(args) => elastic::run(args, matches),
            Command::Wire(args) => wire::run(args, matches),
            Command::Sim(args) => sim::run(args),
            Command::Completions(args) => completions::run(args, Cli::command()),
            Command::Man(args) => man::run(args, Cli::command()),
        }
    }
}

/// The names of all subcommands.
pub fn command_names() -> Vec<String> {
    Cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_fit_together() {
        Cli::command().debug_assert();
        assert_eq!(
            command_names(),
            [
                "topology",
                "events",
                "probe",
                "report",
                "top",
                "launch",
                "locality",
                "elastic",
                "sim",
                "memory",
                "wire",
                "completions",
                "man"
            ]
        );
    }
}
