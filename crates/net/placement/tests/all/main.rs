//! All of this crate's tests, as one program.

mod hostile;
mod partitioner;
mod properties;
mod sketch;
mod world;
