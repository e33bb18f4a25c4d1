//! Event-processing graphs: thousands of independent events, each run through a graph of modules that read and
//! make data products.
//!
//! `data` reads and writes files of real events, and [`RunReport`] makes a page of a run. [`workload`] reads what others have
//! measured: which modules there are, what each needs, and how long it takes.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(not(any(loom, shuttle)))]
mod cells;
#[cfg(not(any(loom, shuttle)))]
mod completion;
#[cfg(not(any(loom, shuttle)))]
mod engine;
#[cfg(not(any(loom, shuttle)))]
mod feed;
#[cfg(not(any(loom, shuttle)))]
mod future;
#[cfg(not(any(loom, shuttle)))]
mod graph;
#[cfg(not(any(loom, shuttle)))]
mod module;
#[cfg(not(any(loom, shuttle)))]
mod order;
#[cfg(not(any(loom, shuttle)))]
mod page;
#[cfg(not(any(loom, shuttle)))]
mod processor;
#[cfg(not(any(loom, shuttle)))]
mod product;
#[cfg(not(any(loom, shuttle)))]
mod record;
#[cfg(not(any(loom, shuttle)))]
mod resource;
#[cfg(not(any(loom, shuttle)))]
mod slot;
#[cfg(not(any(loom, shuttle)))]
mod split;
#[cfg(not(any(loom, shuttle)))]
mod stamp;
#[cfg(not(any(loom, shuttle)))]
mod strands;
#[cfg(not(any(loom, shuttle)))]
mod timers;
#[cfg(not(any(loom, shuttle)))]
mod words;

#[cfg(not(any(loom, shuttle)))]
pub mod data;
#[cfg(not(any(loom, shuttle)))]
pub mod replay;
pub mod workload;

#[cfg(not(any(loom, shuttle)))]
pub use api::*;

#[cfg(not(any(loom, shuttle)))]
mod api {
    pub use crate::completion::Completion;
    pub use crate::graph::{Builder, Graph, GraphErrors, Threads};
    pub use crate::module::{
        Analyzer, AsyncAnalyzer, AsyncFilter, AsyncProducer, Cause, Event, Filter, Next, Output,
        Producer, Source, Transition,
    };
    pub use crate::page::{RunReport, SweepPoint};
    pub use crate::processor::{
        Feeder, Monitor, OnError, Order, Processor, Settings, StartError, Stopper,
    };
    pub use crate::product::{Input, Inputs, Product, Read};
    pub use crate::record::{
        EventEnd, Failure, Figures, ModuleFigures, PathFigures, ResourceFigures, RunSummary,
        Sample, Span,
    };
    pub use crate::stamp::Stamp;
}
