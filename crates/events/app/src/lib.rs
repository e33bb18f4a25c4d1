//! The shell of a program with an event graph of its own: from its flags to its exit code.
//!
//! ```no_run
//! use actinium_app::{Failure, GraphArgs};
//! use actinium_events::{Builder, Cause, Graph, GraphErrors, Next, Source, Threads};
//! # use actinium_events::{Analyzer, Event, Input};
//! use clap::Parser;
//! # struct Numbers;
//! # impl Source for Numbers {
//! #     type Product = u64;
//! #     fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> { Ok(Next::Event(number)) }
//! # }
//! # struct Check(Input<u64>, u64);
//! # impl Analyzer for Check {
//! #     fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> { Ok(()) }
//! # }
//!
//! /// Checks numbers.
//! #[derive(Parser)]
//! struct Args {
//!     /// Numbers above this fail
//!     #[arg(long, default_value_t = 1_000_000)]
//!     limit: u64,
//!
//!     #[command(flatten)]
//!     graph: GraphArgs,
//! }
//!
//! fn graph(limit: u64) -> Result<Graph, GraphErrors> {
//!     let mut builder = Builder::new("numbers", Numbers);
//!     builder.analyzer("check", Threads::Concurrent, move |inputs| {
//!         Check(inputs.get("numbers"), limit)
//!     });
//!     builder.build()
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     actinium_app::main(|args: Args, matches| {
//!         args.graph.run(matches, |_settings| graph(args.limit))
//!     })
//! }
//! ```
//!
//! The program then knows `--workers`, `--slots`, `--events`, `--bind`, `--policy`, `--order`,
//! `--on-error`, `--report`, `--trace`, `--draw`, `--json`, `--quiet` and `--show-settings`. It
//! shows its progress, ends orderly at Ctrl-C, and prints a summary. It returns 0 if it is done, 1
//! if it failed, and 2 if it was asked wrongly.
//!
//! A program that wants more takes the parts:
//!
//! | item | is |
//! |---|---|
//! | [`main()`], [`Failure`] | a program from its arguments to its exit code |
//! | [`events_main`], [`Registry`] | a program whose jobs are files that name the types of its modules |
//! | [`GraphArgs`] | all flags of a program with a graph, and its run |
//! | [`RunArgs`], [`RunSettings`], [`BindArgs`] | how a graph is run, and where each value came from |
//! | [`Runner`], [`Outcome`], [`RunFigures`] | a run that people watch and may interrupt, and what came of it |
//! | [`Interrupts`] | Ctrl-C and `SIGTERM` |
//! | [`output`] | stdout, stderr, and the flags that say what goes there |
//! | [`page`], [`tables`] | figures as a page, and as text |
//! | [`saved`] | the page of figures that were saved as JSON |
//! | [`DrawArgs`], [`TraceArgs`] | `--draw`: the graph as DOT, Mermaid or SVG; `--trace`: a file for Perfetto |
//! | [`parse`], [`setting`] | values of flags, and of the environment |
//! | `nodes`, `launch` (feature `nodes`) | flags for several nodes, workloads over them, and the start of a job's processes |

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod bind;
mod draw;
pub mod events;
mod failure;
mod figures;
mod graph_args;
#[cfg(feature = "nodes")]
pub mod launch;
mod name;
#[cfg(feature = "nodes")]
pub mod nodes;
pub mod output;
pub mod page;
pub mod parse;
mod program;
mod run;
pub mod saved;
pub mod setting;
mod settings;
pub mod tables;
mod trace;
mod usage;

pub use actinium_actor::Interrupts;
pub use actinium_workload::registry::{ModuleInputs, Registered, Registry, Slot};
pub use bind::{BindArgs, count_workers, machine};
pub use clap;
pub use draw::{Draw, DrawArgs};
pub use events::events_main;
pub use failure::Failure;
pub use figures::RunFigures;
pub use graph_args::{GraphArgs, SCHEMA_VERSION};
pub use program::main;
pub use run::{Outcome, Runner};
pub use settings::{
    EVENTS_MAX, FileSettings, OnError, Order, RunArgs, RunSettings, SLOTS_MAX, slots,
};
pub use trace::TraceArgs;
