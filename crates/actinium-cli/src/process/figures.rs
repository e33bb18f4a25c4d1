//! All that is said of a process; it travels between nodes.

use super::sampler::{Sampler, Samples};
use super::{Load, told};
use crate::Failure;
use actinium_observe::cpu::process_time;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Most steps of a load over time: as many as a screen shows.
const STEPS_MAX: usize = 600;

/// What a process has used.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProcessFigures {
    /// The name of the machine that it ran on.
    pub host: String,
    /// Which machine that is: see [`told::machine`].
    pub machine: String,
    /// CPU time meanwhile.
    pub cpu_s: f64,
    /// The most threads that it had.
    pub threads_max: u64,
    /// The most memory that it had in RAM.
    pub memory_max_bytes: u64,
    /// Threads, and CPU time on each CPU, over time.
    pub load: Load,
}

impl ProcessFigures {
    fn new(cpu_s: f64, samples: &Samples) -> Self {
        ProcessFigures {
            host: told::host(),
            machine: told::machine(),
            cpu_s,
            threads_max: samples.threads_max,
            memory_max_bytes: told::memory_max_bytes(),
            load: Load::of(samples).thinned(STEPS_MAX),
        }
    }
}

/// Looks at this process for a while.
#[derive(Debug)]
pub struct Watch {
    sampler: Sampler,
    cpu: Duration,
}

impl Watch {
    /// Begins; `look` is called each time that it looks.
    ///
    /// # Errors
    /// If there can be no more threads.
    pub fn start(look: impl FnMut() + Send + 'static) -> Result<Self, Failure> {
        let failed = |error| Failure::Failed(format!("can not start a thread: {error}"));
        let sampler = Sampler::start(look).map_err(failed)?;
        Ok(Watch { sampler, cpu: process_time() })
    }

    /// What was seen since.
    pub fn finish(self) -> ProcessFigures {
        let cpu_s = (process_time() - self.cpu).as_secs_f64();
        ProcessFigures::new(cpu_s, &self.sampler.finish())
    }
}
