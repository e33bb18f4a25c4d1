//! Event-processing graphs: thousands of independent events, each run through a graph of modules
//! that read and make data products.
//!
//! [`Builder`] makes a [`Graph`] of modules, and [`Processor`] runs it. [`data`] reads and writes
//! files of real events. The crate `actinium-workload` reads graphs that others have measured, and
//! makes a page of a run.

#![forbid(unsafe_code)]
#![deny(missing_docs)]
// The model checkers' scheduler has no tasks to run events by.
#![cfg(not(any(loom, shuttle)))]

mod cause;
mod cells;
mod completion;
mod controls;
mod counts;
mod drops;
mod engine;
mod event;
mod exclusives;
mod feed;
mod fill;
mod future;
mod graph;
mod helper;
mod instances;
mod layout;
mod module;
mod module_states;
mod order;
mod over;
mod processor;
mod product;
mod record;
mod resource;
mod run;
mod running;
mod samples;
mod settings;
mod slot;
mod slot_tasks;
mod split;
mod stages;
mod stamp;
mod status;
mod summary;
mod tell;
mod timers;
mod turn;
mod wait_error;
mod waits;
mod woken;

pub mod data;

pub use actinium_topology::Bind;
pub use cause::Cause;
pub use completion::Completion;
pub use controls::{Feeder, Monitor, Stopper};
pub use event::Event;
pub use graph::{Builder, Graph, GraphErrors, Threads};
pub use module::{
    Analyzer, AsyncAnalyzer, AsyncFilter, AsyncProducer, Filter, Next, Output, Producer, Source,
    Transition,
};
pub use processor::Processor;
pub use product::{Input, Inputs, Product, Read};
pub use record::{
    EventEnd, Failure, Figures, ModuleFigures, PathFigures, ResourceFigures, RunSummary, Sample,
    Span, Stuck,
};
pub use running::Running;
pub use settings::{OnError, Order, Settings, StartError};
pub use stamp::Stamp;
pub use tell::Tell;
pub use wait_error::WaitError;
