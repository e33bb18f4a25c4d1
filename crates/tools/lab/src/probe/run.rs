//! The figures of one measurement.

use actinium_observe::Quantiles;
use std::time::Duration;

/// One measurement.
#[derive(Clone, Debug)]
pub struct Run {
    /// The time from the start signal to the last reply.
    pub elapsed: Duration,
    /// Messages handled besides pings and replies: those that begin the round.
    pub control_messages: u64,
    /// The counters of the run, summed over all workers, by name.
    pub counters: Vec<(&'static str, u64)>,
    /// Latencies from send to handling, as sampled; none if sampling is off.
    pub latency: Option<Quantiles>,
    /// A checksum of the targets at which the probers started.
    pub starts: u64,
}

impl Run {
    /// The value of a counter.
    ///
    /// # Panics
    /// If there is no such counter.
    pub fn counter(&self, name: &str) -> u64 {
        let found = self.counters.iter().find(|(other, _)| *other == name);
        found.unwrap_or_else(|| panic!("there is no counter {name}")).1
    }

    /// Pings and replies that were handled.
    pub fn messages(&self) -> u64 {
        self.counter("handled").wrapping_sub(self.control_messages)
    }
}
