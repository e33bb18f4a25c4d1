//! A node with a thread of its own.

use super::driver::Driver;
use super::helm::Helm;
use super::{ExportError, Inner, NodeConfig, NodeEvent, NodeStats, RegisterError, SpawnArgs, lock};
use crate::answer::RemoteAnswer;
use crate::any::AnyAddress;
use crate::fabric::{Arming, Fabric, NodeId, Woken};
use crate::link::BadConfig;
use crate::movable::{Migrate, Movables};
use crate::names::{Names, NamesConfig};
use crate::place::Placement;
use crate::remote::{RemoteActor, RemoteAddress};
use crate::shards::Shards;
use crate::stage;
use actinium_actor::{Address, SpawnOptions, SystemHandle};
use actinium_memory::heap::Arena;
use actinium_scheduler::Clock;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, SystemTime};

/// Why a node did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The configuration makes no sense.
    Config(BadConfig),
    /// The fabric did not start.
    Fabric(String),
    /// There was no thread for it.
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
///     type Question = u64;
///     type Answer = u64;
///     fn message(n: u64) -> Self::Msg { (n, None) }
///     fn question(n: u64, reply: Reply<u64>) -> Self::Msg { (n, Some(reply)) }
/// }
///
/// let network = Network::new();
/// let (here, there) = (network.node(NodeId(0)), network.node(NodeId(1)));
/// let systems = [System::builder().workers(1).build()?, System::builder().workers(1).build()?];
/// let a = Node::start(systems[0].handle(), NodeConfig::default(), move || Ok(here))?;
/// let b = Node::start(systems[1].handle(), NodeConfig::default(), move || Ok(there))?;
///
/// b.export("doubler", &systems[1].spawn(Doubler))?;
/// let limit = Duration::from_secs(10);
/// let doubler = a.lookup::<Doubler>(NodeId(1), "doubler", limit).wait()?;
/// assert_eq!(doubler.ask(21, limit).wait()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Node {
    inner: Arc<Inner>,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

/// Turns without anything to do: so many it spins, then it lets others run, then it sleeps.
const SPINS: u32 = 64;
const YIELDS: u32 = 256;
/// Where the fabric has to be polled, and no other node rings for it, it sleeps so long so often, and then longer.
const SHORT_SLEEP: Duration = Duration::from_micros(50);
const SHORT_SLEEPS: u32 = 64;
const LONG_SLEEP: Duration = Duration::from_millis(1);
const LONG_SLEEPS: u32 = 1024;
/// And after about a second of that: on a virtual machine, to wake a thread costs up to 10 µs, which is 1 % of a core already.
const LONGEST_SLEEP: Duration = Duration::from_millis(2);
/// Where other nodes ring, it sleeps so after so many sleeps, some 70 ms, and so long at most: what the fabric could not pass on at once comes behind its ring (it does soon, so the
/// first sleeps are the same), and who was to ring may have been stopped before it did.
const ARMED_SLEEPS: u32 = 128;
const BACKSTOP: Duration = Duration::from_millis(20);
/// While a worker steers, it looks so often whether that one still does.
const PATROL: Duration = Duration::from_millis(1);

impl Node {
    /// Joins a system to the fabric that `fabric` makes, on a thread of the node's own, which moves the frames. While the only worker of a system is awake, that
    /// worker moves them.
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
                Driver::new(system, Box::new(fabric), config, epoch(), Clock::real())
                    .map_err(StartError::Config)
            });
            match driver {
                Ok(driver) => {
                    // Whoever starts it waits for this.
                    let helm = Helm::new(driver);
                    drop(sender.send(Ok(helm.inner.clone())));
                    run(&helm);
                }
                Err(error) => drop(sender.send(Err(error))),
            }
        });
        let thread = thread.map_err(StartError::Thread)?;
        let inner = receiver
            .recv()
            .map_err(|_| StartError::Fabric("its thread panicked while it started".to_owned()))??;
        Ok(Node { inner, thread: Mutex::new(Some(thread)) })
    }

    /// Which node this is.
    pub fn id(&self) -> NodeId {
        self.inner.node
    }

    /// The other nodes that were ever there, and whether each is up now.
    pub fn stats(&self) -> NodeStats {
        self.inner.stats()
    }

    /// Lets other nodes find an actor by a name, which is for ever that actor's. The node keeps an address of it.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn export<A: RemoteActor>(
        &self,
        name: &str,
        address: &Address<A>,
    ) -> Result<(), ExportError> {
        self.inner.export(name, std::slice::from_ref(address))
    }

    /// As [`Node::export`], for many actors of one name: [`Node::find_all`] finds them together.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn export_all<A: RemoteActor>(
        &self,
        name: &str,
        addresses: &[Address<A>],
    ) -> Result<(), ExportError> {
        self.inner.export(name, addresses)
    }

    /// The nodes that are or were there, this one included, in order.
    pub fn nodes(&self) -> Vec<NodeId> {
        self.inner.nodes()
    }

    /// Finds an exported actor of another node. A node that is not up yet is waited for, within the limit.
    pub fn lookup<A: RemoteActor>(
        &self,
        node: NodeId,
        name: &str,
        limit: Duration,
    ) -> RemoteAnswer<RemoteAddress<A>> {
        self.inner.lookup(node, name, limit)
    }

    /// As [`Node::lookup`], and waits for a name that is not there yet, too.
    pub fn find<A: RemoteActor>(
        &self,
        node: NodeId,
        name: &str,
        limit: Duration,
    ) -> RemoteAnswer<RemoteAddress<A>> {
        self.inner.find(node, name, limit, true, |address, _| address)
    }

    /// As [`Node::find`], for all actors that were exported together, in that order.
    pub fn find_all<A: RemoteActor>(
        &self,
        node: NodeId,
        name: &str,
        limit: Duration,
    ) -> RemoteAnswer<Vec<RemoteAddress<A>>> {
        self.inner.find(node, name, limit, true, |first: RemoteAddress<A>, count| {
            (0..count).map(|index| first.behind(index)).collect()
        })
    }

    /// Lets other nodes start actors of a type here ([`Node::spawn_on`]). The factory makes one of the arguments that the other node gives; the options
    /// say where it is at home and what follows when it panics, as for [`SystemHandle::spawn_with`](actinium_actor::SystemHandle::spawn_with).
    ///
    /// # Errors
    /// If a type of this kind is registered.
    pub fn register<A: RemoteActor, Args: SpawnArgs>(
        &self,
        options: SpawnOptions,
        factory: impl Fn(Args) -> A + Send + Sync + 'static,
    ) -> Result<(), RegisterError> {
        self.inner.register(options, factory)
    }

    /// Starts an actor at a node that has registered its type: another, or this one. At another it lives until it ends by itself, is stopped
    /// ([`AnyAddress::stop`]), or loses the actor that has adopted it ([`RemoteAddress::adopt`]).
    ///
    /// After [`RemoteAskError::Timeout`](crate::RemoteAskError::Timeout) or [`NodeDown`](crate::RemoteAskError::NodeDown) nobody knows whether it was started.
    pub fn spawn_on<A: RemoteActor, Args: SpawnArgs>(
        &self,
        node: NodeId,
        args: Args,
        limit: Duration,
    ) -> RemoteAnswer<AnyAddress<A>> {
        self.inner.spawn_on(node, &args, limit)
    }

    /// Starts an actor where a rule says; all nodes that it may come to have registered its type.
    pub fn spawn_placed<A: RemoteActor, Args: SpawnArgs>(
        &self,
        placement: &Placement,
        args: Args,
        limit: Duration,
    ) -> RemoteAnswer<AnyAddress<A>> {
        self.inner.spawn_on(self.inner.place(placement), &args, limit)
    }

    /// The nodes that are up as far as this one knows, this one included, in order.
    pub fn nodes_up(&self) -> Vec<NodeId> {
        self.inner.nodes_up()
    }
    /// Spreads keys over the nodes that do this with a name: `own` is this node's actor for its share.
    ///
    /// # Errors
    /// If this node has an actor for shares of this name.
    pub fn shards<A: RemoteActor>(
        &self,
        name: &str,
        own: &Address<A>,
    ) -> Result<Shards<A>, ExportError> {
        Shards::start(&self.inner, name, own)
    }

    /// Actors of a type whose state moves between the nodes that do this: see [`Migrate`]. Once per type and node.
    ///
    /// # Errors
    /// If a type of this kind is registered.
    pub fn movables<S: Migrate>(&self) -> Result<Movables<S>, RegisterError> {
        Movables::start(&self.inner)
    }

    /// This node's part in the names of the cluster: see [`Names`]. Once per node; each node of the cluster does this.
    ///
    /// # Errors
    /// If it was done before.
    pub fn names(&self, config: NamesConfig) -> Result<Names, ExportError> {
        Names::start(&self.inner, config)
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// Lets payloads come from other nodes ([`RemoteAddress::send_with_payload`]): this is where they lie, until the last who has one drops it. Before that is said, and
    /// when there is no room, messages with payloads are lost, which both nodes are told ([`NodeEvent::PayloadLost`]).
    ///
    /// An arena of a segment that is faulted in makes them as fast as can be; so does one there for payloads that are sent, where the fabric has remote memory.
    pub fn take_payloads_in(&self, arena: Arena) {
        self.inner.take_payloads_in(arena);
    }

    /// Calls `listener` for all that happens between this node and others from now on, on the node's thread or a worker: it must not block.
    pub fn on_event(&self, listener: impl Fn(&NodeEvent) + Send + Sync + 'static) {
        self.inner.on_event(Arc::new(listener));
    }

    /// Leaves: waits for what is under way (at most [`NodeConfig::linger`]), says farewell, and gives the fabric up. What an actor has sent
    /// in a turn that has not ended is under way, too, whether this is called in that turn or elsewhere.
    pub fn leave(&self) {
        // What this very turn has sent would else leave when it ends, which is after this.
        stage::leave();
        // Release: pairs with the acquire in `run`.
        self.inner.leaving.store(true, Ordering::Release);
        self.inner.alarm.ring_thread();
        if let Some(thread) = lock(&self.thread).take() {
            // A panic there has been printed; the other nodes notice by its silence.
            let _ = thread.join();
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.leave();
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.inner.node)
    }
}

fn epoch() -> u64 {
    // tidy: clock: an epoch must be larger than those of earlier lives of the process
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn run(helm: &Helm) {
    helm.alarm().ring_this_thread();
    // Acquire: pairs with the release in `Node::leave`.
    let leaving = || helm.inner.leaving.load(Ordering::Acquire);
    let (mut idle, mut seen) = (0_u32, 0);
    let mut leave_at_ns = None;
    loop {
        if !leaving() && helm.is_steered(&mut seen) {
            idle = 0;
            helm.alarm().sleep(PATROL);
            continue;
        }
        // A worker has panicked with it: the other nodes notice by its silence, as if this thread had.
        let Some(mut slot) = helm.driver() else { return };
        let Some(driver) = slot.as_mut() else { return };
        if driver.turn(false) {
            idle = 0;
        } else {
            idle = idle.saturating_add(1);
        }
        if leaving() {
            let now_ns = driver.inner.clock.now_ns();
            let linger_ns = u64::try_from(driver.inner.config.linger.as_nanos());
            let until_ns =
                *leave_at_ns.get_or_insert(now_ns.saturating_add(linger_ns.unwrap_or(u64::MAX)));
            if driver.may_leave() || now_ns >= until_ns {
                driver.leave();
                // After the lock: a fabric may take its time, and a worker does not wait for it.
                let left = slot.take();
                drop(slot);
                return drop(left);
            }
        }
        let rest = rest(driver, idle);
        drop(slot);
        match rest {
            Rest::Spin => std::hint::spin_loop(),
            Rest::Yield => thread::yield_now(),
            Rest::Sleep(longest) => {
                if helm.alarm().sleep(longest) == Woken::Elsewhere {
                    // Relaxed: a count.
                    helm.inner.rung.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
}

/// What the thread does when it had nothing to do.
enum Rest {
    Spin,
    Yield,
    Sleep(Duration),
}

/// When it had nothing to do so often.
fn rest(driver: &mut Driver, idle: u32) -> Rest {
    if idle < SPINS {
        return Rest::Spin;
    }
    if idle < YIELDS
        || driver.is_gathering()
        || !driver.can_ring && (!driver.is_settled() || driver.is_fetching())
    {
        // MPI sends a long frame (above 4 KiB in Open MPI) only while both ends call it, and whoever receives it waits in that call: while
        // anything is under way, the sender must not sleep.
        return Rest::Yield;
    }
    let (due_ns, now_ns) = (driver.due_ns(), driver.inner.clock.now_ns());
    let until = |at_ns: u64| Duration::from_nanos(at_ns.saturating_sub(now_ns));
    let longest = until(due_ns.min(driver.review_at_ns));
    if driver.can_ring {
        return Rest::Sleep(longest);
    }
    // Last: whatever anybody of this process does from now on rings, too.
    let arming = driver.arm();
    let polled = match idle.saturating_sub(YIELDS) {
        0..SHORT_SLEEPS => SHORT_SLEEP,
        SHORT_SLEEPS..ARMED_SLEEPS => LONG_SLEEP,
        ARMED_SLEEPS..LONG_SLEEPS if arming == Arming::Poll => LONG_SLEEP,
        _ => LONGEST_SLEEP,
    };
    match arming {
        Arming::Come => Rest::Yield,
        Arming::Poll => Rest::Sleep(longest.min(polled)),
        Arming::Armed => {
            // Relaxed: a count.
            driver.inner.rested.fetch_add(1, Ordering::Relaxed);
            if idle.saturating_sub(YIELDS) < ARMED_SLEEPS {
                return Rest::Sleep(longest.min(polled));
            }
            // To see who is there has time until then: the ranks of a job stay the same.
            Rest::Sleep(until(due_ns).min(BACKSTOP))
        }
    }
}
