//! A whole program, and the order in which its parts end.
//!
//! | order | part | why then |
//! |---|---|---|
//! | 1 | gateways | nobody outside asks for more; who is connected is told |
//! | 2 | sources | no more events begin |
//! | 3 | graphs | the events in flight end, and their outputs may still send to actors |
//! | 4 | actors | they handle what has come, and may still send to other nodes |
//! | 5 | nodes | what is under way arrives, and the others hear a farewell |

#[cfg(feature = "events")]
mod graph;
mod part;
mod report;
mod waiting;

pub use part::Part;
pub use report::{End, PartKind, PartReport, RuntimeReport};

use actinium_actor::{Shutdown, System, unblocked};
use part::{Limit, Named, end};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::thread;

/// The parts of a program: a system of actors, and what runs beside it. [`Runtime::shutdown`] ends
/// them in one order, which is the right one: gateways, sources, graphs, actors, nodes.
///
/// It dereferences to its [`System`]. Dropping it shuts it down with [`Shutdown::Drop`]; with the
/// feature `tokio`, inside a tokio runtime, without waiting for that.
///
/// ```
/// use actinium::runtime::{Part, Runtime};
/// use actinium::{Shutdown, System};
/// use std::error::Error;
/// use std::sync::Mutex;
/// use std::sync::mpsc::{Sender, channel};
/// use std::thread;
///
/// /// A thread that counts until it is asked to end.
/// struct Counting(Mutex<Option<(Sender<()>, thread::JoinHandle<u64>)>>);
///
/// impl Counting {
///     fn start() -> Self {
///         let (stop, stopped) = channel();
///         let count = move || (0..).find(|_| stopped.try_recv().is_ok()).unwrap_or(0);
///         Counting(Mutex::new(Some((stop, thread::spawn(count)))))
///     }
/// }
///
/// impl Part for Counting {
///     fn stop(&self) {
///         if let Some((stop, _)) = &*self.0.lock().unwrap() {
///             let _ = stop.send(());
///         }
///     }
///
///     fn wait(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
///         let running = self.0.lock().unwrap().take();
///         if let Some((_, thread)) = running {
///             thread.join().map_err(|_| "the counter has panicked")?;
///         }
///         Ok(())
///     }
/// }
///
/// let runtime = Runtime::new(System::builder().workers(1).build()?);
/// let runtime = runtime.source("counting", Counting::start());
/// let report = runtime.shutdown(Shutdown::Drain);
/// assert!(report.is_clean(), "{report}");
/// assert_eq!(report.parts[0].name, "counting");
/// # Ok::<(), Box<dyn Error>>(())
/// ```
#[must_use = "dropping it shuts it down"]
pub struct Runtime {
    system: Arc<System>,
    parts: Parts,
}

/// What runs beside the actors.
#[derive(Default)]
struct Parts {
    gateways: Vec<Named>,
    sources: Vec<Named>,
    graphs: Vec<Named>,
    nodes: Vec<Named>,
    is_over: bool,
}

impl Runtime {
    /// A program of a system alone.
    pub fn new(system: System) -> Self {
        Runtime { system: Arc::new(system), parts: Parts::default() }
    }

    /// Adds a gateway: the first to end.
    #[cfg(feature = "gateway")]
    pub fn gateway(mut self, gateway: actinium_gateway::Gateway) -> Self {
        let name = gateway.address().to_string();
        let part = Arc::new(part::GatewayPart::new(gateway));
        self.parts.gateways.push(Named { kind: PartKind::Gateway, name, part });
        self
    }

    /// Adds a source of events, or of messages: it ends behind the gateways, and before the graphs.
    pub fn source(mut self, name: &str, source: impl Part) -> Self {
        let (name, part) = (name.to_owned(), Arc::new(source));
        self.parts.sources.push(Named { kind: PartKind::Source, name, part });
        self
    }

    /// Adds the run of a graph (with the feature `events`, a `Running`): it ends behind the
    /// sources, and before the actors.
    pub fn graph(mut self, name: &str, graph: impl Part) -> Self {
        let (name, part) = (name.to_owned(), Arc::new(graph));
        self.parts.graphs.push(Named { kind: PartKind::Graph, name, part });
        self
    }

    /// Adds a node of this system: the last to end. Whoever keeps a clone of it gets
    /// [`Left`](actinium_cluster::RemoteAskError::Left) from then on.
    #[cfg(feature = "cluster")]
    pub fn node(mut self, node: impl Into<Arc<actinium_cluster::Node>>) -> Self {
        let node = node.into();
        let name = node.id().to_string();
        let part = Arc::new(part::NodePart(node));
        self.parts.nodes.push(Named { kind: PartKind::Node, name, part });
        self
    }

    /// Ends all parts, in order, and reports what came of each. What a part begins to end is over
    /// before the next ones begin.
    ///
    /// | | of gateways, sources, graphs | of actors | of nodes |
    /// |---|---|---|---|
    /// | [`Shutdown::Drain`] | [`Part::stop`], and a wait without a limit | they handle what has come | they leave |
    /// | [`Shutdown::DrainWithin`] | the same; at the end of the time [`Part::cancel`], and a second more | what time is left | they leave |
    /// | [`Shutdown::Drop`] | [`Part::stop`] and [`Part::cancel`] | messages are dropped | they leave |
    ///
    /// A part that is not over in time is left to itself, and the report says so. A part whose code
    /// panics has failed; the others end all the same. Called on a worker, this only requests the
    /// end: a thread of its own carries it out, and the report is empty.
    pub fn shutdown(mut self, how: Shutdown) -> RuntimeReport {
        self.end(how)
    }

    fn end(&mut self, how: Shutdown) -> RuntimeReport {
        let parts = std::mem::take(&mut self.parts);
        self.parts.is_over = true;
        let system = self.system.clone();
        if !actinium_scheduler::current(|worker| worker.is_some()) {
            return parts.end(&system, how);
        }
        // The worker must not wait for what may need it. If there is no thread, all are dropped.
        system.stop();
        let thread = thread::Builder::new().name("actinium-end".to_owned());
        drop(thread.spawn(move || parts.end(&system, how)));
        RuntimeReport { parts: Vec::new(), actors: None }
    }
}

impl Parts {
    fn end(self, system: &System, how: Shutdown) -> RuntimeReport {
        let limit = Limit::of(how);
        let stages = [self.gateways, self.sources, self.graphs].into_iter();
        let mut parts: Vec<PartReport> = stages.flat_map(|stage| end(stage, &limit)).collect();
        let actors = system.shutdown(limit.of_actors(how));
        // Each bounds its farewell itself.
        parts.extend(end(self.nodes, &Limit::None));
        RuntimeReport { parts, actors: Some(actors) }
    }
}

impl Deref for Runtime {
    type Target = System;

    fn deref(&self) -> &System {
        &self.system
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if self.parts.is_over {
            return;
        }
        if !unblocked::is_in_tokio() || actinium_scheduler::current(|worker| worker.is_some()) {
            self.end(Shutdown::Drop);
            return;
        }
        let (parts, system) = (std::mem::take(&mut self.parts), self.system.clone());
        drop(unblocked::run(move || parts.end(&system, Shutdown::Drop)));
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { gateways, sources, graphs, nodes, .. } = &self.parts;
        let stages = [gateways, sources, graphs, nodes];
        let names = stages.into_iter().flatten().map(|part| &part.name);
        f.debug_struct("Runtime")
            .field("system", &self.system)
            .field("parts", &names.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
