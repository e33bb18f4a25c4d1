//! # Actinium
//!
//! A locality-first runtime for many-core machines. Actors, event graphs and clusters run on the
//! same kind of workers. Work stays where its memory is, and moves only when moving pays.
//!
//! ```
//! use actinium::prelude::*;
//!
//! struct Counter { total: u64 }
//!
//! #[actor]
//! impl Counter {
//!     fn add(&mut self, n: u64) {
//!         self.total += n;
//!     }
//!
//!     fn get(&self) -> u64 {
//!         self.total
//!     }
//! }
//!
//! let system = System::builder().workers(2).build()?;
//! let counter = system.spawn(Counter { total: 0 });
//! counter.add(2);
//! counter.add(40);
//! assert_eq!(counter.get().wait()?, 42);
//! let report = system.shutdown(Shutdown::Drain);
//! assert_eq!((report.handled, report.dropped), (3, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is where
//!
//! | to | use | feature |
//! |---|---|---|
//! | write and run actors | this page: [`#[actor]`](macro@actor), [`Actor`], [`System`], [`Address`], [`Context`] | |
//! | test actors with virtual time and a seed | [`testing`] | |
//! | end all parts of a program in the right order | [`runtime`], [`Runtime`] | |
//! | know the machine, and bind workers to its PUs | [`topology`], [`Bind`] | |
//! | look at the machine through hwloc instead of `/sys` | [`topology`] | `hwloc` |
//! | run inside a tokio program, whose timers and sockets actors use | `SystemBuilder::share_with_tokio` | `tokio` |
//! | end in good order at Ctrl-C or `SIGTERM` | `System::run_until_signal`, `System::wait_for_signal` | `signals` |
//! | put an actor behind the layers of tower | `Address::service`, `AskRecipient::service` | `tower` |
//! | get what the runtime logs, in a hook or as events of `tracing` | [`logging`] | `tracing` for events |
//! | follow a request from actor to actor, and from node to node | [`trace`] | `tracing` for its spans |
//! | write figures as JSON, say | [`Stats`], [`Audit`] | `serde` |
//! | serve HTTP, by axum | the examples `bank`, and `service` with a graph | `tokio`, `events` |
//! | run events through a graph of modules | `events` | `events` |
//! | draw such a graph: DOT, Mermaid, SVG | `events::Graph::drawing` | `events` |
//! | read and write files of events | `events::data` | `csv`, `arrow`, `parquet` |
//! | run such a graph on several nodes | `events::cluster` | `events-cluster` |
//! | give such a program flags, progress, signals and reports | `app` | `app` |
//! | run jobs: files that name a program's own modules | `app::Registry`, `events_main!` | `app` |
//! | reach actors of other processes and hosts | `cluster` | `cluster` |
//! | make the ranks of an MPI job the nodes | `cluster` | `mpi` |
//! | connect nodes over TCP, TLS or QUIC, by Zenoh | `cluster` | `zenoh` |
//! | encode messages, and declare protocols | `wire` | `wire` |
//! | serve actors to browsers and services | `gateway` | `gateway` |
//! | look at the live messages of nodes and gateways | `tap` | `tap` (with `cluster` or `gateway`) |
//! | place memory on NUMA nodes, and send it without a copy | `memory` | `memory` |
//! | serve figures to Prometheus, health and readiness | `metrics` | `metrics` |
//! | get a page of what a system did: throughput, load, actors, mailboxes, latencies | `monitor` | `monitor` |
//! | keep the last seconds of a system for when something goes wrong, and be told what it is | `monitor` | `monitor` |
//! | watch a program by a live page: throughput, latencies, the machine, actors, dead letters | `dashboard` | `dashboard` |
//! | turn measurements into quantiles and throughput | `observe` | `observe` |
//!
//! Each feature is off by default. Each module is a crate of its own, named after it
//! (`actinium-events`, for example), and its own examples say so: read `actinium_events::` as
//! `actinium::events::`, and `actinium_actor::` as `actinium::`.

#[cfg(feature = "dashboard")]
pub mod dashboard;
#[cfg(all(feature = "monitor", any(feature = "events", feature = "cluster")))]
mod flight;
pub mod runtime;

/// Makes an actor of an impl block: its methods become messages, and methods of the address. The
/// reference is that of `actinium_actor::actor`, whose expansion names another crate.
pub use actinium_actor::facade_actor as actor;
/// Runs a test in a [`testing::TestSystem`]. The reference is that of `actinium_actor::test`.
pub use actinium_actor::facade_test as test;
pub use actinium_actor::*;
pub use runtime::Runtime;

/// The machine: packages, NUMA nodes, caches, cores and PUs.
pub mod topology {
    pub use actinium_topology::*;
}

/// Graphs of modules through which events run (feature `events`).
///
/// ```
/// use actinium::events::{Analyzer, Builder, Cause, Event, Input, Next};
/// use actinium::events::{Processor, Settings, Source, Threads};
///
/// struct Numbers;
///
/// impl Source for Numbers {
///     type Product = u64;
///     fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
///         Ok(if number < 10 { Next::Event(number * number) } else { Next::End })
///     }
/// }
///
/// struct Check(Input<u64>);
///
/// impl Analyzer for Check {
///     fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
///         assert_eq!(*event.get(self.0), event.number() * event.number());
///         Ok(())
///     }
/// }
///
/// let (mut builder, numbers) = Builder::with_source("numbers", Numbers);
/// builder.analyzer("check", Threads::Concurrent, move |inputs| Check(inputs.get(numbers)));
/// let processor = Processor::new(builder.build()?, Settings::default().workers(2));
/// assert_eq!(processor.run()?.into_result()?.events, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "events")]
pub mod events {
    pub use actinium_events::*;

    /// A graph on the nodes of a job (feature `events-cluster`): see
    /// [`ClusterProcessor`](cluster::ClusterProcessor).
    #[cfg(feature = "events-cluster")]
    pub mod cluster {
        pub use actinium_events::nodes::OutputsAt;
        pub use actinium_events_cluster::*;
    }
}

/// The shell of a program with an event graph of its own: flags, progress, signals, a summary, a
/// page, an exit code (feature `app`). Such programs are the examples `primes` and `hits`, and
/// `clusters`, whose modules are named by a job's file (with `cluster`, on several nodes, too).
///
/// ```no_run
/// use actinium::app::{self, GraphArgs, clap};
/// use actinium::events::{Builder, Graph, GraphErrors};
/// use clap::Parser;
/// # use actinium::events::{Cause, Next, Source};
/// # struct Numbers;
/// # impl Source for Numbers {
/// #     type Product = u64;
/// #     fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> { Ok(Next::Event(number)) }
/// # }
///
/// #[derive(Parser)]
/// struct Args {
///     #[command(flatten)]
///     graph: GraphArgs,
/// }
///
/// fn graph() -> Result<Graph, GraphErrors> {
///     Builder::new("numbers", Numbers).build()
/// }
///
/// fn main() -> std::process::ExitCode {
///     app::main(|args: Args, matches| args.graph.run(matches, |_settings| graph()))
/// }
/// ```
#[cfg(feature = "app")]
pub mod app {
    pub use actinium_app::*;
}

/// Makes the `main` of a program that runs jobs: files that name the types of its modules (feature
/// `app`). It takes a function that returns the program's
/// [`Registry`](https://docs.rs/actinium-app/latest/actinium_app/struct.Registry.html).
///
/// ```no_run
/// use actinium::app::Registry;
/// use actinium::events::{Analyzer, Cause, Event, Input, Next, Source};
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Range { to: u64 }
///
/// struct Numbers(u64);
///
/// impl Source for Numbers {
///     type Product = u64;
///     fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
///         Ok(if number < self.0 { Next::Event(number) } else { Next::End })
///     }
/// }
///
/// struct Check(Input<u64>);
///
/// impl Analyzer for Check {
///     fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
///         assert_eq!(*event.get(self.0), event.number());
///         Ok(())
///     }
/// }
///
/// fn registry() -> Registry {
///     let mut registry = Registry::new();
///     registry.source("numbers", |range: Range| Ok(Numbers(range.to)));
///     registry.analyzer("check", |(), number| Ok(Check(number)));
///     registry
/// }
///
/// actinium::events_main!(registry);
/// ```
#[cfg(feature = "app")]
#[macro_export]
macro_rules! events_main {
    ($registry:path) => {
        pub(crate) fn main() -> ::std::process::ExitCode {
            $crate::app::events_main(&$registry())
        }
    };
}

/// Nodes of a cluster: actors that other processes and hosts reach (feature `cluster`; `mpi` and
/// `zenoh` add fabrics).
///
/// ```
/// use actinium::System;
/// use actinium::cluster::fabric::{NodeId, in_process::Network};
/// use actinium::cluster::{Node, NodeConfig};
///
/// let (network, system) = (Network::new(), System::builder().workers(1).build()?);
/// let fabric = network.node(NodeId(0));
/// let node = Node::start(system.handle(), NodeConfig::default(), move || Ok(fabric))?;
/// assert_eq!(node.id(), NodeId(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`#[actor]`](macro@crate::actor) lets other nodes reach an actor by its methods:
///
/// ```
/// use actinium::cluster::fabric::{NodeId, in_process::Network};
/// use actinium::cluster::{Node, NodeConfig};
/// use actinium::prelude::*;
/// use std::time::Duration;
///
/// struct Counter { total: u64 }
///
/// #[actor(remote = "example.counter")]
/// impl Counter {
///     pub fn add(&mut self, n: u64) { self.total += n; }
///     pub fn get(&self) -> u64 { self.total }
/// }
///
/// let (network, timeout) = (Network::new(), Duration::from_secs(60));
/// let (here, there) = (network.node(NodeId(0)), network.node(NodeId(1)));
/// let systems = [System::builder().workers(1).build()?, System::builder().workers(1).build()?];
/// let a = Node::start(systems[0].handle(), NodeConfig::default(), move || Ok(here))?;
/// let b = Node::start(systems[1].handle(), NodeConfig::default(), move || Ok(there))?;
/// b.export("counter", &systems[1].spawn(Counter { total: 0 }))?;
///
/// let counter = a.lookup::<Counter>(NodeId(1), "counter", timeout).wait()?;
/// counter.add(2)?;
/// counter.add(40)?;
/// assert_eq!(counter.get(timeout).wait()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "cluster")]
pub mod cluster {
    pub use actinium_cluster::*;
}

/// Encodings and protocols (feature `wire`).
///
/// ```
/// use actinium::wire::{Encoding, Limits, Message, protocol};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
/// struct Order { article: String, count: u32 }
///
/// protocol! {
///     protocol Shop, version 1, between client and server;
///     state Idle {
///         client request Place(Order) -> server Placed(u64) -> Idle;
///         client signal Bye -> end;
///     }
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let mut bytes = Vec::new();
///     let order = Order { article: "cog".into(), count: 7 };
///     Encoding::Binary.encode(&shop::Message::Place(order.clone()), &mut bytes)?;
///     let back = Encoding::Binary.decode(&bytes.into(), &Limits::default())?;
///     assert!(matches!(back, shop::Message::Place(back) if back == order));
///     Ok(())
/// }
/// ```
#[cfg(feature = "wire")]
pub mod wire {
    /// Describes a type for links, as [`Message`](trait@Message) says.
    pub use actinium_wire::FacadeMessage as Message;
    pub use actinium_wire::*;
}

/// The border to browsers and services: actors served by WebSocket and HTTP (feature `gateway`).
///
/// [`#[actor]`](macro@crate::actor) lets clients reach an actor by its methods:
///
/// ```
/// use actinium::gateway::Gateway;
/// use actinium::prelude::*;
/// use std::io::{Read, Write};
/// use std::net::TcpStream;
///
/// struct Counter { total: u64 }
///
/// #[actor(gateway)]
/// impl Counter {
///     pub fn add(&mut self, n: u64) -> u64 {
///         self.total += n;
///         self.total
///     }
/// }
///
/// let system = System::builder().workers(1).build()?;
/// let counter = system.spawn(Counter { total: 40 });
/// let gateway = Gateway::builder().serve("counter", &counter)?.start("127.0.0.1:0")?;
///
/// // curl -H 'content-type: application/json' -d '{"Add":{"n":2}}' http://ADDRESS/counter
/// let mut client = TcpStream::connect(gateway.address())?;
/// write!(client, "POST /counter HTTP/1.1\r\nhost: here\r\nconnection: close\r\n")?;
/// write!(client, "content-type: application/json\r\ncontent-length: 15\r\n\r\n")?;
/// write!(client, r#"{{"Add":{{"n":2}}}}"#)?;
/// let mut answer = String::new();
/// client.read_to_string(&mut answer)?;
/// assert!(answer.contains(r#"{"AddAnswer":42}"#), "{answer}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A gateway has something to serve:
///
/// ```
/// use actinium::gateway::Gateway;
///
/// let nothing_served = Gateway::builder().start("127.0.0.1:0");
/// assert!(nothing_served.is_err_and(|error| error.to_string().contains("expected an actor")));
/// ```
#[cfg(feature = "gateway")]
pub mod gateway {
    pub use actinium_gateway::*;
}

/// Live messages of nodes and gateways, for who asks and may (feature `tap`, which `cluster` and
/// `gateway` bring along). docs/taps.md says who may.
///
/// ```
/// use actinium::tap::{Tap, TapFilter};
///
/// let mut tap = Tap::open(TapFilter::new().types(["example.counter"]).sample(100));
/// assert!(tap.try_next().is_none());
/// ```
#[cfg(feature = "tap")]
pub mod tap {
    pub use actinium_tap::*;
}

/// Memory segments on chosen NUMA nodes, and payloads that messages carry without a copy (feature
/// `memory`).
///
/// ```
/// use actinium::memory::{Placement, Segment, Size};
///
/// let mut segment =
///     Segment::builder().size(Size::Bytes(1 << 20)).placement(Placement::Interleave).build()?;
/// segment.bytes().expect("private memory")[0] = 1;
/// assert_eq!(segment.stats().absent_bytes, Some(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "memory")]
pub mod memory {
    pub use actinium_memory::*;
}

/// Figures for Prometheus, and whether the program lives and is ready (feature `metrics`).
/// docs/metrics.md has the names of all metrics.
///
/// ```
/// use actinium::prelude::*;
///
/// let system = System::builder().workers(1).metrics("127.0.0.1:0").build()?;
/// # Ok::<(), actinium::BuildError>(())
/// ```
#[cfg(feature = "metrics")]
pub mod metrics {
    pub use actinium_metrics::*;
}

/// What a system does, recorded while it runs: a page afterwards, and `actinium top` meanwhile
/// (feature `monitor`). docs/watching.md and docs/top.md show both.
///
/// ```
/// use actinium::prelude::*;
///
/// # let folder = std::env::temp_dir().join(format!("actinium-monitor-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let run_html = folder.join("run.html");
/// let system = System::builder().report(&run_html).build()?;
/// // .. actors work ..
/// system.shutdown(Shutdown::Drain);
/// assert!(run_html.exists());
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "monitor")]
pub mod monitor {
    #[cfg(feature = "events")]
    pub use crate::flight::record_graph;
    #[cfg(feature = "cluster")]
    pub use crate::flight::record_node;
    pub use actinium_monitor::*;
}

/// Figures of a program: latencies, throughput, the load of CPUs (feature `observe`).
///
/// ```
/// let mut latency = actinium::observe::Latency::new();
/// latency.record(1_234);
/// assert_eq!(latency.quantiles().quantiles_ns.p50, 1_234);
/// ```
#[cfg(feature = "observe")]
pub mod observe {
    pub use actinium_observe::*;
}

/// The items that most programs use. Beside it, `#[test]` is Rust's own, and `#[actinium::test]`
/// runs a test in a test system.
pub mod prelude {
    pub use actinium_actor::facade_actor as actor;
    pub use actinium_actor::{
        Actor, ActorId, Address, Answer, AskError, AskRecipient, Context, Down, Failure, Mailbox,
        Policy, Recipient, Reply, SendError, Shutdown, SpawnError, SpawnOptions, StopReason,
        Supervision, System, SystemHandle, Time, TimerId, TryActor, WeakAddress,
    };
    #[cfg(feature = "dashboard")]
    pub use actinium_dashboard::Watched;
    #[cfg(feature = "metrics")]
    pub use actinium_metrics::Measured;
    #[cfg(feature = "monitor")]
    pub use actinium_monitor::Monitored;
}

/// The examples of the repository's front page.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadMe;

/// The examples of the manual: each is a whole program, and runs.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../../../docs/actors/asking.md")]
    struct Asking;
    #[doc = include_str!("../../../docs/actors/coming_from.md")]
    struct ComingFrom;
    #[cfg(feature = "dashboard")]
    #[doc = include_str!("../../../docs/dashboard.md")]
    struct Dashboard;
    #[cfg(all(feature = "cluster", feature = "events", feature = "gateway", feature = "monitor"))]
    #[doc = include_str!("../../../docs/diagnosis.md")]
    struct Diagnosis;
    #[doc = include_str!("../../../docs/actors/failures.md")]
    struct Failures;
    #[cfg(feature = "gateway")]
    #[doc = include_str!("../../../docs/gateway.md")]
    struct Gateway;
    #[doc = include_str!("../../../docs/actors/groups.md")]
    struct Groups;
    #[doc = include_str!("../../../docs/actors/lifetime.md")]
    struct Lifetime;
    #[doc = include_str!("../../../docs/locality.md")]
    struct Locality;
    #[cfg(feature = "metrics")]
    #[doc = include_str!("../../../docs/metrics.md")]
    struct Metrics;
    #[doc = include_str!("../../../docs/actors/sending.md")]
    struct Sending;
    #[doc = include_str!("../../../docs/actors/testing.md")]
    struct Testing;
    #[cfg(feature = "gateway")]
    #[doc = include_str!("../../../docs/taps.md")]
    struct Taps;
    #[cfg(feature = "tokio")]
    #[doc = include_str!("../../../docs/actors/tokio.md")]
    struct Tokio;
    #[cfg(feature = "monitor")]
    #[doc = include_str!("../../../docs/traces.md")]
    struct Traces;
    #[doc = include_str!("../../../docs/tracing.md")]
    struct Tracing;
    #[cfg(feature = "monitor")]
    #[doc = include_str!("../../../docs/top.md")]
    struct Top;
    #[doc = include_str!("../../../docs/actors/waiting.md")]
    struct Waiting;
    #[cfg(feature = "monitor")]
    #[doc = include_str!("../../../docs/watching.md")]
    struct Watching;
}
