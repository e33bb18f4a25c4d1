//! The benchmarks. Sizes and meanings are the same on every runtime, and have been since before
//! Actinium existed.

use crate::runtime::Runtime;

/// Actors in a ring.
pub(crate) const RING: usize = 100;
/// Tokens in `ring_tokens`.
pub(crate) const TOKENS: u64 = 50;
/// Actors in `probe`.
pub(crate) const PROBES: usize = 200;
/// Senders in `mailbox`.
pub(crate) const SENDERS: u64 = 120;
/// Modules in `events`: those of the shipped workload that an output needs.
pub(crate) const MODULES: u64 = 461;

/// One of the benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Benchmark {
    PingPong,
    Count,
    ForkJoin,
    Spawn,
    Ring,
    RingTokens,
    Probe,
    Mailbox,
    Memory,
    Events,
}

/// The goal that Actinium has to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    /// This multiple of the rate of the better tokio.
    Ratio(f64),
    /// This number of bytes per idle actor.
    Bytes(f64),
    /// Nothing: no peer does the same, so that it is compared with other commits only.
    None,
}

impl Benchmark {
    /// All of them, in the order in which reports show them.
    pub(crate) const ALL: [Benchmark; 10] = [
        Benchmark::PingPong,
        Benchmark::Count,
        Benchmark::ForkJoin,
        Benchmark::Spawn,
        Benchmark::Ring,
        Benchmark::RingTokens,
        Benchmark::Probe,
        Benchmark::Mailbox,
        Benchmark::Memory,
        Benchmark::Events,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Benchmark::PingPong => "ping_pong",
            Benchmark::Count => "count",
            Benchmark::ForkJoin => "fork_join",
            Benchmark::Spawn => "spawn",
            Benchmark::Ring => "ring",
            Benchmark::RingTokens => "ring_tokens",
            Benchmark::Probe => "probe",
            Benchmark::Mailbox => "mailbox",
            Benchmark::Memory => "memory",
            Benchmark::Events => "events",
        }
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        Benchmark::ALL.into_iter().find(|benchmark| benchmark.name() == name)
    }

    pub(crate) fn what(self) -> &'static str {
        match self {
            Benchmark::PingPong => "2 actors, one ball, 1 M round trips",
            Benchmark::Count => "1 producer sends 10 M messages to 1 counter, in one handler call",
            Benchmark::ForkJoin => {
                "create 100 k actors, send each 1 message, all handle it and end"
            }
            Benchmark::Spawn => "the creation loop of fork_join alone",
            Benchmark::Ring => "100 actors in a ring, 1 token, 1 M hops",
            Benchmark::RingTokens => "the same ring with 50 tokens, 5 M hops in all",
            Benchmark::Probe => {
                "200 actors, each with one request in flight to a random other, 4 M messages"
            }
            Benchmark::Mailbox => "120 senders to 1 receiver, 50 k messages each",
            Benchmark::Memory => "1 M idle actors: growth of the resident set per actor",
            Benchmark::Events => {
                "2 k events through a graph of 461 modules that do nothing; no peer"
            }
        }
    }

    /// The full problem: what is repeated, per token in `ring_tokens`, per actor in `probe`, per
    /// sender in `mailbox`.
    pub(crate) fn size(self) -> u64 {
        match self {
            Benchmark::Count => 10_000_000,
            Benchmark::PingPong | Benchmark::Ring | Benchmark::Memory => 1_000_000,
            Benchmark::ForkJoin | Benchmark::Spawn | Benchmark::RingTokens => 100_000,
            Benchmark::Mailbox => 50_000,
            Benchmark::Probe => 10_000,
            Benchmark::Events => 2_000,
        }
    }

    /// A hundredth of it, for trying things out.
    pub(crate) fn quick_size(self) -> u64 {
        self.size() / 100
    }

    /// Whether a peer can do the same.
    pub(crate) fn has_peer(self) -> bool {
        self.target() != Target::None
    }

    /// The part of the minimal runtime's rate that one worker of Actinium is to reach, where that
    /// runtime does the same.
    pub(crate) fn floor(self) -> Option<f64> {
        match self {
            Benchmark::Count => Some(0.8),
            Benchmark::Ring => Some(0.9),
            Benchmark::Probe => Some(0.85),
            _ => None,
        }
    }

    /// Whether that runtime can do it.
    pub(crate) fn runs_on(self, runtime: Runtime) -> bool {
        match runtime {
            Runtime::Actinium => true,
            Runtime::Tokio => self.has_peer(),
            Runtime::Minimal => self.floor().is_some(),
        }
    }

    /// Whether its result is a rate: the more, the better.
    pub(crate) fn is_rate(self) -> bool {
        self != Benchmark::Memory
    }

    /// The number of items that the rate counts, for a problem of this size.
    pub(crate) fn items(self, size: u64) -> u64 {
        match self {
            Benchmark::RingTokens => size * TOKENS,
            // A request and its reply.
            Benchmark::Probe => size * PROBES as u64 * 2,
            Benchmark::Mailbox => size * SENDERS,
            Benchmark::Events => size * MODULES,
            _ => size,
        }
    }

    /// The number by which costs are divided: that of messages, or of actors where the benchmark is
    /// about those.
    pub(crate) fn parts(self, size: u64) -> u64 {
        match self {
            Benchmark::PingPong => 2 * size,
            _ => self.items(size),
        }
    }

    /// The name of [`Benchmark::items`], in the plural.
    pub(crate) fn item(self) -> &'static str {
        match self {
            Benchmark::PingPong => "round trips",
            Benchmark::Count | Benchmark::Probe | Benchmark::Mailbox => "messages",
            Benchmark::ForkJoin | Benchmark::Spawn => "actors",
            Benchmark::Ring | Benchmark::RingTokens => "hops",
            Benchmark::Memory => "bytes per actor",
            Benchmark::Events => "module calls",
        }
    }

    /// The name of one of [`Benchmark::parts`].
    pub(crate) fn part(self) -> &'static str {
        match self {
            Benchmark::ForkJoin | Benchmark::Spawn | Benchmark::Memory => "actor",
            Benchmark::Events => "call",
            _ => "message",
        }
    }

    pub(crate) fn target(self) -> Target {
        match self {
            Benchmark::PingPong => Target::Ratio(3.0),
            Benchmark::Count => Target::Ratio(2.5),
            Benchmark::ForkJoin => Target::Ratio(3.0),
            Benchmark::Spawn => Target::Ratio(1.5),
            Benchmark::Ring => Target::Ratio(3.0),
            Benchmark::RingTokens => Target::Ratio(1.5),
            Benchmark::Probe => Target::Ratio(3.0),
            Benchmark::Mailbox => Target::Ratio(2.5),
            Benchmark::Memory => Target::Bytes(256.0),
            Benchmark::Events => Target::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_names_of_one() {
        for benchmark in Benchmark::ALL {
            assert_eq!(Benchmark::by_name(benchmark.name()), Some(benchmark));
        }
        assert_eq!(Benchmark::by_name("ping-pong"), None);
    }

    #[test]
    fn sizes_are_those_of_the_other_peers() {
        let items = |benchmark: Benchmark| benchmark.items(benchmark.size());
        assert_eq!(items(Benchmark::RingTokens), 5_000_000);
        assert_eq!(items(Benchmark::Probe), 4_000_000);
        assert_eq!(items(Benchmark::Mailbox), 6_000_000);
        assert!(Benchmark::ALL.iter().all(|benchmark| benchmark.quick_size() >= 20));
    }
}
