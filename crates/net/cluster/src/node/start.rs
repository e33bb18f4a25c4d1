//! A node with a thread of its own.

use super::config::NodeConfig;
use super::driver::Driver;
use super::handle::NodeHandle;
use super::idle::run;
use super::progress::ProgressDriver;
use super::send;
use crate::fabric::Fabric;
use crate::link::BadConfig;
use crate::locks::lock;
use actinium_actor::SystemHandle;
use actinium_scheduler::{Clock, nanoseconds};
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::SystemTime;

/// The error of starting a node.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The configuration makes no sense.
    Config(BadConfig),
    /// The fabric did not start.
    Fabric(String),
    /// The system had no thread for the node.
    Thread(std::io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Config(error) => error.fmt(f),
            StartError::Fabric(reason) => write!(f, "the fabric did not start: {reason}"),
            StartError::Thread(error) => write!(f, "no thread for the node: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// A system of actors that is joined to a fabric. Dropping it leaves.
///
/// ```
/// use actinium_actor::{Actor, Context, Reply, System};
/// use actinium_cluster::fabric::{NodeId, in_process::Network};
/// use actinium_cluster::{Node, NodeConfig, RemoteActor};
/// use std::time::Duration;
///
/// struct Doubler;
///
/// impl Actor for Doubler {
///     type Msg = (u64, Option<Reply<u64>>);
///     fn handle(&mut self, (n, reply): Self::Msg, _ctx: &mut Context<'_, Self>) {
///         let _ = reply.map(|reply| reply.send(2 * n));
///     }
/// }
///
/// impl RemoteActor for Doubler {
///     const KIND: &'static str = "example.doubler";
///     type Message = u64;
///     type Request = u64;
///     type Answer = u64;
///     fn message(n: u64) -> Self::Msg { (n, None) }
///     fn request(n: u64, reply: Reply<u64>) -> Self::Msg { (n, Some(reply)) }
/// }
///
/// let network = Network::new();
/// let (here, there) = (network.node(NodeId(0)), network.node(NodeId(1)));
/// let systems = [System::builder().workers(1).build()?, System::builder().workers(1).build()?];
/// let a = Node::start(systems[0].handle(), NodeConfig::default(), move || Ok(here))?;
/// let b = Node::start(systems[1].handle(), NodeConfig::default(), move || Ok(there))?;
///
/// b.export("doubler", &systems[1].spawn(Doubler))?;
/// let timeout = Duration::from_secs(10);
/// let doubler = a.lookup::<Doubler>(NodeId(1), "doubler", timeout).wait()?;
/// assert_eq!(doubler.ask(21, timeout).wait()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Node {
    handle: NodeHandle,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

impl Node {
    /// Joins a system to the fabric that `fabric` makes, on a thread of the node's own. While one
    /// of the system's workers is awake, workers move the frames, and else this thread does.
    ///
    /// # Errors
    /// If the configuration makes no sense, or the fabric does not start.
    pub fn start<F: Fabric + 'static>(
        system: SystemHandle,
        config: NodeConfig,
        fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
    ) -> Result<Self, StartError> {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::Builder::new().name("actinium-node".to_owned()).spawn(move || {
            let driver = fabric().map_err(StartError::Fabric).and_then(|fabric| {
                Driver::new(system, Box::new(fabric), config, new_incarnation(), Clock::real())
                    .map_err(StartError::Config)
            });
            match driver {
                Ok(driver) => {
                    // Whoever starts it waits for this.
                    let progress = ProgressDriver::new(driver);
                    drop(sender.send(Ok(progress.inner.clone())));
                    run(&progress);
                }
                Err(error) => drop(sender.send(Err(error))),
            }
        });
        let thread = thread.map_err(StartError::Thread)?;
        let inner = receiver
            .recv()
            .map_err(|_| StartError::Fabric("its thread panicked while it started".to_owned()))??;
        Ok(Node { handle: NodeHandle::new(inner), thread: Mutex::new(Some(thread)) })
    }

    /// Leaves the cluster: waits for messages under way (at most [`NodeConfig::linger`]), says
    /// farewell, and gives the fabric up. Messages that an actor has sent in a turn that has not
    /// ended are under way, too, whether this is called in that turn or elsewhere. In a grid it
    /// also waits for its neighbours to leave, as long: let all nodes leave at the same time.
    ///
    /// When all events have been told, the node gives back what it has kept: exported actors,
    /// factories, listeners, memory for payloads. Requests to it from then on end with
    /// [`RemoteAskError::Left`](crate::RemoteAskError::Left).
    pub fn leave(&self) {
        // What this very turn has sent would else leave when it ends, which is after this.
        send::flush_turn();
        // Release: pairs with the acquire in `run`.
        self.inner().leaving.store(true, Ordering::Release);
        self.inner().unparker.ring_thread();
        if let Some(thread) = lock(&self.thread).take() {
            // A panic there has been printed; the other nodes notice by its silence.
            let _ = thread.join();
        }
    }
}

impl Deref for Node {
    type Target = NodeHandle;

    fn deref(&self) -> &NodeHandle {
        &self.handle
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.leave();
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.id())
    }
}

fn new_incarnation() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "an incarnation exceeds those of earlier incarnations of this node"
    )]
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    nanoseconds(since)
}
