//! Measures the resources that a process uses: threads, CPU time by CPU, memory.
//!
//! [`cpu_time`] and [`proc`] read what Linux says of this process. A [`sampler`] reads it again and
//! again, from a thread of its own. [`Load`] is the result over time; [`ProcessFigures`] are all of
//! it, as a node sends them to another one.

pub mod cpu_time;
mod figures;
mod load;
pub mod proc;
pub mod sampler;

pub use figures::{ProcessFigures, Watch};
pub use load::{CpuLoad, Load};
