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

mod cells;
mod completion;
mod drops;
mod engine;
mod feed;
mod future;
mod graph;
mod module;
mod module_states;
mod order;
mod processor;
mod product;
mod record;
mod resource;
mod slot;
mod slot_tasks;
mod split;
mod stages;
mod stamp;
mod timers;
mod turn;
mod waits;

pub mod data;

pub use actinium_topology::Bind;
pub use completion::Completion;
pub use graph::{Builder, Graph, GraphErrors, Threads};
pub use module::{
    Analyzer, AsyncAnalyzer, AsyncFilter, AsyncProducer, Cause, Event, Filter, Next, Output,
    Producer, Source, Transition,
};
pub use processor::{Feeder, Monitor, OnError, Order, Processor, Settings, StartError, Stopper};
pub use product::{Input, Inputs, Product, Read};
pub use record::{
    EventEnd, Failure, Figures, ModuleFigures, PathFigures, ResourceFigures, RunSummary, Sample,
    Span, Stuck,
};
pub use stamp::Stamp;
