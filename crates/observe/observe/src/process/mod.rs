//! Measures the resources that a process uses: threads, CPU time by CPU, memory.
//!
//! [`stats`] reads what Linux says of this process. A [`sampler`] reads it again and again, from a
//! thread of its own. [`Load`] is the result over time; [`ProcessFigures`] are all of it, as a node
//! sends them to another one.

mod cpu_load;
mod figures;
pub mod sampler;
pub mod stats;

pub use cpu_load::{CpuLoad, Load};
pub use figures::{ProcessFigures, Watch};
