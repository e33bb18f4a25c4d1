//! Plain tokio tasks, each with an unbounded channel as its mailbox.

mod fork_join;
mod mailbox;
mod memory;
mod ping_pong;
mod probe;
mod ring;

use crate::benchmark::{Benchmark, SENDERS, TOKENS};
use crate::host::Host;
use ::tokio::runtime::{Builder, Runtime};

/// The runtime.
pub(crate) struct Tokio {
    runtime: Runtime,
}

impl Tokio {
    pub(crate) fn new(workers: usize) -> Result<Self, String> {
        let runtime = Builder::new_multi_thread().worker_threads(workers).enable_all().build();
        Ok(Tokio { runtime: runtime.map_err(|error| format!("can not start tokio: {error}"))? })
    }

    /// Runs it as a task, on a worker.
    fn task(&self, run: impl Future<Output = f64> + Send + 'static) -> f64 {
        let task = self.runtime.spawn(run);
        self.runtime.block_on(task).expect("it does not panic")
    }
}

impl Host for Tokio {
    fn run(&mut self, benchmark: Benchmark, size: u64) -> f64 {
        match benchmark {
            Benchmark::PingPong => self.task(ping_pong::run(size)),
            Benchmark::Count => self.task(mailbox::run(1, size)),
            Benchmark::ForkJoin => self.task(fork_join::run(size, fork_join::Timed::All)),
            Benchmark::Spawn => self.task(fork_join::run(size, fork_join::Timed::Creation)),
            Benchmark::Ring => self.task(ring::run(1, size)),
            Benchmark::RingTokens => self.task(ring::run(TOKENS, size)),
            Benchmark::Probe => self.task(probe::run(size)),
            Benchmark::Mailbox => self.task(mailbox::run(SENDERS, size)),
            Benchmark::Memory => self.task(memory::run(size)),
            Benchmark::Events => unreachable!("tokio has no event processor: see `has_peer`"),
        }
    }
}
