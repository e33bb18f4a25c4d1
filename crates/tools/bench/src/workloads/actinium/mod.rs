//! Actinium's actors, with the default settings of everything but workers and policy.
//!
//! Each benchmark has a *conductor*: an actor that creates the others, tells them to start, and
//! takes the time. It is created from outside, and sends its result there.

mod events;
mod fork_join;
mod mailbox;
mod memory;
mod ping_pong;
mod probe;
mod ring;

use crate::benchmark::{Benchmark, SENDERS, TOKENS};
use crate::host::{Crossings, Host};
use actinium::topology::Topology;
use actinium::{Actor, Bind, Policy, System};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// The runtime.
pub(crate) struct Actinium {
    system: System,
}

/// The names of all policies.
pub(crate) fn policies() -> Vec<String> {
    Policy::ALL.iter().map(ToString::to_string).collect()
}

impl Actinium {
    pub(crate) fn new(workers: usize, policy: &str) -> Result<Self, String> {
        let policy: Policy = policy.parse().map_err(|error| format!("{error}"))?;
        // By list, so that all runs have the same PUs.
        let machine = Topology::detect().map_err(|error| error.to_string())?;
        let pus = machine.choose_pus(workers);
        let bind = pus.map_or(Bind::None, |pus| Bind::To(pus.into_iter().collect()));
        let system = System::builder().workers(workers).policy(policy).bind(bind).build();
        Ok(Actinium { system: system.map_err(|error| format!("can not start Actinium: {error}"))? })
    }

    /// Creates a conductor, and waits for what it sends, and until all have ended: the next run
    /// must not pay for this one.
    fn conduct<A: Actor, R>(&self, conductor: impl FnOnce(Sender<R>) -> A) -> R {
        let (sender, receiver) = channel();
        let address = self.system.spawn(conductor(sender));
        let result = receiver.recv().expect("the conductor does not panic");
        drop(address);
        let at_rest = self.system.wait_idle(Duration::MAX);
        at_rest.expect("this is no worker");
        result
    }
}

impl Host for Actinium {
    fn run(&mut self, benchmark: Benchmark, size: u64) -> f64 {
        match benchmark {
            Benchmark::PingPong => self.conduct(|result| ping_pong::conductor(size, result)),
            Benchmark::Count => self.conduct(|result| mailbox::conductor(1, size, result)),
            Benchmark::ForkJoin => {
                self.conduct(|result| fork_join::conductor(size, fork_join::Timed::All, result))
            }
            Benchmark::Spawn => self
                .conduct(|result| fork_join::conductor(size, fork_join::Timed::Creation, result)),
            Benchmark::Ring => self.conduct(|result| ring::conductor(1, size, result)),
            Benchmark::RingTokens => self.conduct(|result| ring::conductor(TOKENS, size, result)),
            Benchmark::Probe => self.conduct(|result| probe::conductor(size, result)),
            Benchmark::Mailbox => self.conduct(|result| mailbox::conductor(SENDERS, size, result)),
            // Each has started by now, and waits.
            Benchmark::Memory => {
                self.conduct(|result| memory::conductor(size, result)).bytes_per_actor()
            }
            Benchmark::Events => events::run(size, self.system.stats().workers.len()),
        }
    }

    fn crossings(&self) -> Crossings {
        let total = self.system.stats().total();
        Crossings {
            messages: total.crossed + total.shared,
            woken: total.woken,
            published: total.published,
        }
    }
}
