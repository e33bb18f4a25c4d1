//! Workloads: graphs of modules with measured times, as files describe them.

pub mod model;

pub use model::{
    Format, Input, Module, Options, Path, Position, Role, Source, Threads, Times, Work, Workload,
};
