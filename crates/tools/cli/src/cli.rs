//! What can be typed.

use crate::commands::{
    completions, dashboard, elastic, events, explain, launch, locality, man, memory, probe, report,
    sim, top, topology, wire,
};
use actinium_app::Failure;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgMatches, CommandFactory, Parser, Subcommand};
use std::ffi::OsStr;
use std::sync::LazyLock;

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
    /// Serve a live page of what runs at this address: see docs/dashboard.md. Beyond this machine
    /// it needs a token, in ACTINIUM_DASHBOARD_TOKEN.
    #[arg(long, value_name = "ADDR", global = true, display_order = 900)]
    pub dashboard: Option<String>,
}

impl Cli {
    /// Has what the command runs be seen, if that is wanted.
    ///
    /// # Errors
    /// If the command runs nothing that can be seen.
    pub fn observe(&self) -> Result<(), Failure> {
        let Some(address) = &self.dashboard else { return Ok(()) };
        if !self.command.runs_systems() {
            let why = "--dashboard: this command runs no system that a page could show";
            return Err(Failure::Asked(why.to_owned()));
        }
        actinium::dashboard::serve_each(address);
        Ok(())
    }
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
    /// Show programs that serve live pages in one view.
    #[command(long_about = dashboard::ABOUT)]
    Dashboard(dashboard::Args),
    /// Make a page of a recorded run.
    #[command(long_about = report::ABOUT)]
    Report(report::Args),
    /// Look at a running program: throughput, workers, actors, dead letters, latencies.
    #[command(long_about = top::ABOUT)]
    Top(top::Args),
    /// Say in words what is wrong with a program, and what to do about it.
    #[command(long_about = explain::ABOUT)]
    Explain(explain::Args),
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
    #[command(mut_arg("command", |it| it.value_parser(CommandName)))]
    Man(man::Args),
}

impl Command {
    /// Whether it runs systems in this process.
    fn runs_systems(&self) -> bool {
        match self {
            Command::Events(_)
            | Command::Probe(_)
            | Command::Locality(_)
            | Command::Elastic(_)
            | Command::Memory(_)
            | Command::Wire(_) => true,
            Command::Topology(_)
            | Command::Dashboard(_)
            | Command::Report(_)
            | Command::Top(_)
            | Command::Explain(_)
            | Command::Launch(_)
            | Command::Sim(_)
            | Command::Completions(_)
            | Command::Man(_) => false,
        }
    }

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
            Command::Dashboard(args) => dashboard::run(args),
            Command::Report(args) => report::run(args),
            Command::Top(args) => top::run(args),
            Command::Explain(args) => explain::run(args),
            Command::Launch(args) => launch::run(args, matches, command_names()),
            Command::Locality(args) => locality::run(args, matches),
            Command::Elastic(args) => elastic::run(args, matches),
            Command::Wire(args) => wire::run(args, matches),
            Command::Sim(args) => sim::run(args, matches),
            Command::Completions(args) => completions::run(args, Cli::command()),
            Command::Man(args) => man::run(args, Cli::command()),
        }
    }
}

/// The names of all subcommands.
pub fn command_names() -> &'static [String] {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
        Cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect()
    });
    &NAMES
}

/// Takes the name of a subcommand. Which there are is only asked when it has to be known: what
/// takes it is one of them.
#[derive(Clone)]
struct CommandName;

impl TypedValueParser for CommandName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        PossibleValuesParser::new(possible_names()).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(possible_names()))
    }
}

fn possible_names() -> impl Iterator<Item = PossibleValue> {
    command_names().iter().map(|name| PossibleValue::new(name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_fit_together() {
        Cli::command().debug_assert();
        assert!(command_names().iter().any(|name| name == "man"));
    }
}
