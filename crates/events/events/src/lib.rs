//! Event-processing graphs: thousands of independent events, each run through a graph of modules
//! that read and make data products.
//!
//! [`Builder`] makes a [`Graph`] of modules, and [`Processor`] runs it. [`data`] reads and writes
//! files of real events. The crate `actinium-workload` reads graphs that others have measured, and
//! makes a page of a run.

#![deny(unsafe_code)]
#![deny(missing_docs)]
// The model checkers' scheduler has no tasks to run events by.
#![cfg(not(any(loom, shuttle)))]

mod builder;
mod cause;
mod cells;
mod channel;
mod completion;
mod controls;
mod counts;
mod drops;
mod engine;
mod erased;
mod event;
mod exclusives;
mod failed;
mod feed;
mod fill;
mod future;
mod graph;
mod handles;
mod helper;
mod histogram;
mod instances;
mod layout;
mod links;
mod make;
mod module;
mod module_states;
pub mod nodes;
mod options;
mod order;
mod over;
mod picture;
mod processor;
mod product;
mod products;
#[expect(unsafe_code, reason = "see there")]
mod reading;
mod record;
mod resource;
mod role;
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
mod store;
mod summary;
mod tell;
mod timers;
mod turn;
mod wait_error;
mod waits;
mod woken;

pub mod data;

pub use actinium_drawing as drawing;
pub use actinium_observe::{Latency, Quantiles, QuantilesNs};
pub use actinium_topology::Bind;
pub use builder::Builder;
pub use cause::Cause;
pub use channel::{ChannelSource, EventSender, channel};
pub use completion::Completion;
pub use controls::{Feeder, Monitor, Stopper};
pub use event::Event;
pub use failed::RunFailed;
pub use graph::{Graph, GraphErrors};
pub use handles::{Handle, Kept, PathHandle, PathName, ProductName, Step, StepName, Steps};
pub use make::Makes;
pub use module::{
    Analyzer, AnalyzerMut, AsyncAnalyzer, AsyncAnalyzerMut, AsyncFilter, AsyncFilterMut,
    AsyncProducer, AsyncProducerMut, Filter, FilterMut, Next, Output, OutputMut, Piece, Producer,
    ProducerMut, Source, Transition,
};
pub use nodes::Condition;
pub use options::{ModuleOptions, Threads, ThreadsMut};
pub use processor::Processor;
pub use product::{Input, Inputs, Product, Read};
pub use products::Products;
pub use record::{
    EventEnd, Failure, Figures, ModuleFigures, PathFigures, ProductFigures, ResourceFigures,
    ResourceQueue, RunProgress, RunSummary, Sample, Span, Stuck,
};
pub use running::Running;
pub use settings::{OnError, Order, Settings, StartError};
pub use stamp::Stamp;
pub use tell::Tell;
pub use wait_error::WaitError;
