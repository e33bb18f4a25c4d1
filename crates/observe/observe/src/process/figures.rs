//! The figures of one process, as they travel between nodes.

use super::cpu_time::process_time;
use super::sampler::{Sampler, Samples};
use super::{Load, proc};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

/// Most steps of a load over time: as many as a screen shows.
const STEPS_MAX: usize = 600;

/// The resources that a process has used.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProcessFigures {
    /// The name of the machine that it ran on.
    pub host: String,
    /// Which machine that is: see [`proc::machine`].
    pub machine: String,
    /// The CPUs that it might use: see [`proc::cpus_allowed`].
    #[serde(default)]
    pub cpus_allowed: BTreeSet<u32>,
    /// How long it was looked at.
    pub elapsed_s: f64,
    /// CPU time meanwhile.
    pub cpu_s: f64,
    /// How long its threads were ready to run meanwhile, and no CPU was free for them.
    #[serde(default)]
    pub ready_s: f64,
    /// The most threads that it had.
    pub threads_max: u64,
    /// The most memory that it had in RAM.
    pub memory_max_bytes: u64,
    /// Threads, and CPU time on each CPU, over time.
    pub load: Load,
}

impl ProcessFigures {
    fn new(elapsed: Duration, cpu: Duration, samples: &Samples) -> Self {
        ProcessFigures {
            host: proc::host(),
            machine: proc::machine(),
            cpus_allowed: proc::cpus_allowed(),
            elapsed_s: elapsed.as_secs_f64(),
            cpu_s: cpu.as_secs_f64(),
            ready_s: samples.ready_s,
            threads_max: samples.threads_max,
            memory_max_bytes: proc::memory_max_bytes(),
            load: Load::of(samples).thinned(STEPS_MAX),
        }
    }
}

/// Looks at this process for a while.
#[derive(Debug)]
pub struct Watch {
    sampler: Sampler,
    begin: Instant,
    /// CPU time before.
    cpu: Duration,
}

impl Watch {
    /// Begins; `look` is called each time that it looks.
    ///
    /// # Errors
    /// If there can be no more threads.
    pub fn start(look: impl FnMut() + Send + 'static) -> io::Result<Self> {
        let failed = |error: io::Error| {
            io::Error::new(error.kind(), format!("can not start a thread: {error}"))
        };
        let sampler = Sampler::start(look).map_err(failed)?;
        #[expect(clippy::disallowed_methods, reason = "the process is watched in real time")]
        let begin = Instant::now();
        Ok(Watch { sampler, begin, cpu: process_time() })
    }

    /// The figures since the start.
    #[must_use]
    pub fn finish(self) -> ProcessFigures {
        let (elapsed, cpu) = (self.begin.elapsed(), process_time() - self.cpu);
        ProcessFigures::new(elapsed, cpu, &self.sampler.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::cpu_time::thread_time;

    #[test]
    fn what_this_process_does_is_seen() {
        let watch = Watch::start(|| ()).expect("a thread");
        let used = thread_time();
        while thread_time() - used < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        let figures = watch.finish();
        assert!(figures.cpu_s >= 0.02 && figures.elapsed_s > 0.0, "{figures:?}");
        assert!(figures.load.threads_active().iter().any(|&threads| threads > 0.0), "{figures:?}");
        assert!(!figures.host.is_empty() && !figures.machine.is_empty());
        assert!(!figures.cpus_allowed.is_empty());
    }
}
