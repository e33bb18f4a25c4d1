//! A program's own graph on nodes of one process.

mod failing;
mod graph;
mod shared;
