//! A whole program that runs jobs of its own modules.

use super::command::{EventsCommand, run};
use crate::{name, program};
use actinium_workload::registry::Registry;
use clap::{Args, Command};
use std::process::ExitCode;

const ABOUT: &str = "\
Run a job of event processing: read it, plan it, run it, report on it.

The job's file names the types of its source and modules, with their parameters and inputs, and the paths that need them. \
A file whose modules have only times is replayed.";

/// A program that runs jobs of modules of these types, with every flag of `actinium events`. It
/// returns its exit code: 0 if it is done, 1 if it failed, 2 if it was asked wrongly.
///
/// ```no_run
/// use actinium_app::Registry;
/// use actinium_events::{Analyzer, Cause, Event, Input, Next, Source};
/// # struct Numbers;
/// # impl Source for Numbers {
/// #     type Product = u64;
/// #     fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> { Ok(Next::Event(number)) }
/// # }
///
/// #[derive(serde::Deserialize)]
/// struct Limit { limit: u64 }
/// struct Check(Input<u64>, u64);
/// impl Check {
///     fn new(parameters: Limit, number: Input<u64>) -> Result<Self, Cause> {
///         Ok(Check(number, parameters.limit))
///     }
/// }
/// impl Analyzer for Check {
///     fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
///         let number = *event.get(self.0);
///         if number <= self.1 { Ok(()) } else { Err(format!("{number} is too large").into()) }
///     }
/// }
///
/// fn main() -> std::process::ExitCode {
///     let mut registry = Registry::new();
///     registry.source("numbers", |()| Ok(Numbers));
///     registry.analyzer("check", Check::new);
///     actinium_app::events_main(&registry)
/// }
/// ```
pub fn events_main(registry: &Registry) -> ExitCode {
    let called = name::program();
    let types = format!(
        "Types of modules:\n{registry}\nExit codes: 0 done, 1 it failed, 2 it was asked wrongly."
    );
    let command = EventsCommand::augment_args(Command::new("job"))
        .bin_name(called.clone())
        .display_name(called.clone())
        .long_about(ABOUT)
        .about(ABOUT.lines().next().unwrap_or_default())
        .after_help(types)
        .max_term_width(100);
    program::main_of(command, |args: EventsCommand, matches| run(&args, matches, registry, &called))
}
