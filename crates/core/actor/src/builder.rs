//! Describing a system before it starts.

use crate::actor_core::Inner;
use crate::observer::{Observer, Observers};
use crate::state::nodes::WorkerNodes;
use crate::system::System;
use actinium_scheduler::log;
use actinium_scheduler::sync::lock;
use actinium_scheduler::{
    Clock, Elastic, Policy, STACK_BYTES, STACK_BYTES_ALLOWED, Settings, Shared, stack_allowed,
    stack_bytes,
};
use actinium_topology::{Bind, Seats, Topology, WrongBind};
use std::fmt;
use std::time::Duration;

/// How many workers a system has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workers {
    /// One worker for each PU of the process's cpuset, or fewer if its CPU quota or the list of
    /// [`Bind::To`] allows fewer. The default.
    #[default]
    All,
    /// This number of workers. More workers than PUs are allowed: they then run unbound.
    Count(usize),
}

impl From<usize> for Workers {
    fn from(count: usize) -> Self {
        Workers::Count(count)
    }
}

impl std::str::FromStr for Workers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Workers::All),
            _ => match text.parse() {
                Ok(count) if (1..=MAX_WORKERS).contains(&count) => Ok(Workers::Count(count)),
                _ => Err(format!(
                    "'{text}' is not a number of workers: allowed are 1 to {MAX_WORKERS}, or 'all'"
                )),
            },
        }
    }
}

/// More workers than any machine has PUs: an upper bound against slips.
const MAX_WORKERS: usize = 4096;
/// Longest batch that makes sense.
const MAX_BATCH: u32 = 1_000_000;

/// Describes a [`System`]: each setting has a default; `from_env` takes what the environment says;
/// what is set afterwards wins.
///
/// ```
/// use actinium_actor::{Policy, System};
///
/// let system = System::builder().from_env()?.workers(2).policy(Policy::affine()).build()?;
/// assert_eq!(system.workers(), 2);
/// # Ok::<(), actinium_actor::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SystemBuilder {
    workers: Workers,
    policy: Policy,
    batch: u32,
    batch_time: Duration,
    /// `None`: as `ACTINIUM_BIND` says.
    bind: Option<Bind>,
    given_seats: Option<Seats>,
    stack_bytes: usize,
    figures: bool,
    traces: Option<f64>,
    elastic: Option<Elastic>,
    topology: Option<Topology>,
    observers: Observers,
    #[cfg(feature = "tokio")]
    tokio: Option<tokio::runtime::Handle>,
    /// The runtime has CPUs of its own.
    #[cfg(feature = "tokio")]
    shares: bool,
}

impl Default for SystemBuilder {
    fn default() -> Self {
        SystemBuilder {
            workers: Workers::All,
            policy: Policy::affine(),
            batch: 64,
            batch_time: Duration::from_micros(100),
            bind: None,
            given_seats: None,
            stack_bytes: STACK_BYTES,
            figures: true,
            traces: None,
            elastic: None,
            topology: None,
            observers: Observers::default(),
            #[cfg(feature = "tokio")]
            tokio: None,
            #[cfg(feature = "tokio")]
            shares: false,
        }
    }
}

/// Why a system was not built: which setting, its value, and what is allowed.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// A setting has a value that is not allowed.
    Setting {
        /// The setting, or the environment variable that it came from.
        name: &'static str,
        /// The value.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// The machine could not be looked at.
    Topology(actinium_topology::TopologyError),
    /// A worker's thread could not be started.
    Thread(std::io::Error),
    /// An observer can not observe it: see [`Observer::started`].
    Observer(Box<dyn std::error::Error + Send + Sync>),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Setting { name, value, allowed } => {
                write!(f, "{name}: '{value}' is not allowed: {allowed}")
            }
            BuildError::Topology(error) => {
                write!(f, "can not find out what this machine looks like: {error}")
            }
            BuildError::Thread(error) => write!(
                f,
                "can not start a worker's thread: {error}; fewer workers, or a higher limit of threads, may help"
            ),
            BuildError::Observer(error) => write!(f, "can not observe the system: {error}"),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BuildError::Setting { .. } => None,
            BuildError::Topology(error) => Some(error),
            BuildError::Thread(error) => Some(error),
            BuildError::Observer(error) => Some(&**error),
        }
    }
}

impl System {
    /// Describes a system.
    pub fn builder() -> SystemBuilder {
        SystemBuilder::default()
    }
}

impl SystemBuilder {
    /// How many workers.
    pub fn workers(mut self, workers: impl Into<Workers>) -> Self {
        self.workers = workers.into();
        self
    }

    /// How work is placed and moved.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Most messages that an actor handles in one turn. Default: 64.
    pub fn batch(mut self, messages: u32) -> Self {
        self.batch = messages;
        self
    }

    /// Longest time that an actor's turn goes on before others have theirs, checked between
    /// messages. Default: 100 µs.
    pub fn batch_time(mut self, time: Duration) -> Self {
        self.batch_time = time;
        self
    }

    /// To which PUs workers are bound. Default: as the environment variable `ACTINIUM_BIND` says
    /// (`auto`, `none`, or a list such as `0-3,8`), or else [`Bind::Auto`].
    ///
    /// No two systems bind workers to one PU by accident, be they in one process or in several: a
    /// system binds only to PUs that it has claimed, by locks that end with its workers or with its
    /// process. A worker for which no PU is left runs unbound, wherever the process may. Claims
    /// hold between processes of one user that see the same folder `/tmp/actinium-UID` (containers
    /// have their own; `ACTINIUM_CLAIMS` names another folder).
    /// [`SystemHandle::pus`](crate::SystemHandle::pus) says what came of it.
    ///
    /// ```
    /// use actinium_actor::{Bind, System};
    ///
    /// let system = System::builder().workers(2).bind(Bind::None).build()?;
    /// assert_eq!(system.pus(), [None, None]);
    /// # Ok::<(), actinium_actor::BuildError>(())
    /// ```
    pub fn bind(mut self, bind: Bind) -> Self {
        self.bind = Some(bind);
        self
    }

    /// Binds workers to these seats, rather than to some of its own, whatever
    /// [`SystemBuilder::bind`] says. Systems that are given clones of the same seats share PUs on
    /// purpose: those that take turns, say, and are compared.
    ///
    /// ```
    /// use actinium_actor::{Bind, System};
    /// use actinium_topology::Topology;
    ///
    /// let seats = Topology::detect()?.seats(&Bind::Auto, 1)?;
    /// let system = || System::builder().workers(1).seats(seats.clone()).build();
    /// let (this, that) = (system()?, system()?);
    /// assert_eq!(this.pus(), that.pus());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn seats(mut self, seats: Seats) -> Self {
        self.given_seats = Some(seats);
        self
    }

    /// Bytes of each worker's stack, from 64 KiB to 1 GiB. Default: 8 MiB.
    ///
    /// Handlers run on it, and a message that is moved by value lies on it, some times over: 64 KiB
    /// of message need less than the default in a debug build, and 1 MiB in a release build. More
    /// is needed by handlers that recurse deeply.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_bytes = bytes;
        self
    }

    /// Whether latencies are sampled (default). Counters are always kept: they prove that no
    /// message was lost.
    pub fn counters(mut self, counters: bool) -> Self {
        self.figures = counters;
        self
    }

    /// Traces requests: those that come in with a context of a trace, and this share of the
    /// messages that come from outside without one, as `1.0 / 1000.0`. See
    /// [`SystemHandle::sample_traces`](crate::SystemHandle::sample_traces). Default: nothing is
    /// traced.
    pub fn sample_traces(mut self, share: f64) -> Self {
        self.traces = Some(share);
        self
    }

    /// Whether only as many workers are given work as there is work for, from one to all of them.
    /// Default: all of them, all the time; idle ones sleep in both cases.
    /// [`crate::Stats::scale_events`] says what changed, and why.
    ///
    /// Only with [`Policy::Affine`]: the others do not measure what decides it.
    pub fn elastic(self, elastic: bool) -> Self {
        SystemBuilder { elastic: elastic.then_some(Elastic::DEFAULT), ..self }
    }

    /// The same, with other rules: [`Elastic::least`] workers are given work in any case.
    pub fn elastic_with(mut self, rules: Elastic) -> Self {
        self.elastic = Some(rules);
        self
    }

    /// The machine as it shall be seen, for tests: workers are then not bound. Default: this
    /// machine.
    pub fn topology(mut self, topology: Topology) -> Self {
        self.topology = Some(topology);
        self
    }

    /// Tells this observer when the system has started and when it has ended. There may be several.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.observers.add(observer);
        self
    }

    /// The runtime that workers run inside: handlers may spawn on it, and the futures of
    /// [`Context::pipe`](crate::Context::pipe) and [`Context::hold`](crate::Context::hold) may use
    /// its timers and sockets.
    #[cfg(feature = "tokio")]
    pub fn tokio(mut self, runtime: tokio::runtime::Handle) -> Self {
        self.tokio = Some(runtime);
        self
    }

    /// Shares this machine with the tokio runtime that calls this: a system inside a tokio program.
    /// Unless another number is asked for, there are as many workers as PUs that tokio's own worker
    /// threads leave, and at least one; unless told otherwise, they are unbound. They run
    /// inside the runtime ([`SystemBuilder::tokio`]).
    ///
    /// By default tokio has a thread for each PU, and leaves none: `worker_threads` gives it fewer.
    ///
    /// ```
    /// # use actinium_actor::{Actor, Context, Reply, Shutdown, System};
    /// # struct Echo;
    /// # impl Actor for Echo {
    /// #     type Msg = Reply<u32>;
    /// #     fn handle(&mut self, reply: Reply<u32>, _ctx: &mut Context<'_, Self>) {
    /// #         let _ = reply.send(42);
    /// #     }
    /// # }
    /// // For example in a function with #[tokio::main(worker_threads = 2)].
    /// async fn run() -> Result<(), Box<dyn std::error::Error>> {
    ///     let system = System::builder().share_with_tokio().build()?;
    ///     assert_eq!(system.spawn(Echo).ask(|reply| reply).await?, 42);
    ///     system.shutdown_async(Shutdown::Drain).await;
    ///     Ok(())
    /// }
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(run())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "tokio")]
    pub fn share_with_tokio(mut self) -> Self {
        self.shares = true;
        self.tokio = tokio::runtime::Handle::try_current().ok().or(self.tokio);
        self
    }

    /// The threads that a runtime has beside the workers; 0 if the machine is not shared.
    fn shared_threads(&self) -> Result<usize, BuildError> {
        #[cfg(feature = "tokio")]
        if self.shares {
            let Some(runtime) = &self.tokio else {
                let allowed = "only inside a tokio runtime: in an async function, or behind \
                     Runtime::enter";
                let value = "no tokio runtime".to_owned();
                return Err(setting("share_with_tokio", value, allowed.to_owned()));
            };
            return Ok(runtime.metrics().num_workers());
        }
        Ok(0)
    }

    /// Takes `ACTINIUM_WORKERS` (a number, or `all`), `ACTINIUM_POLICY` (`pinned`, `pool`,
    /// `stealing`, `affine`, or `affine` with parameters: `affine,colocate_after=8`),
    /// `ACTINIUM_BATCH` (a number of messages), `ACTINIUM_BIND` (see [`SystemBuilder::bind`]) and
    /// `ACTINIUM_STACK` (a worker's stack: `16 MiB`, say) from the environment, where they are set.
    ///
    /// # Errors
    /// If one of them has a value that is not allowed: the error names it, its value and what is
    /// allowed.
    pub fn from_env(mut self) -> Result<Self, BuildError> {
        fn read<T>(
            name: &'static str,
            parse: impl Fn(&str) -> Result<T, String>,
        ) -> Result<Option<T>, BuildError> {
            let Some(value) = std::env::var_os(name) else {
                return Ok(None);
            };
            let value = value.to_string_lossy().into_owned();
            parse(&value).map(Some).map_err(|allowed| BuildError::Setting { name, value, allowed })
        }
        if let Some(workers) = read("ACTINIUM_WORKERS", |text| text.parse::<Workers>())? {
            self.workers = workers;
        }
        if let Some(policy) = read("ACTINIUM_POLICY", |text| {
            text.parse::<Policy>().map_err(|error| error.to_string())
        })? {
            self.policy = policy;
        }
        let batch = |text: &str| {
            text.parse()
                .ok()
                .filter(|batch| (1..=MAX_BATCH).contains(batch))
                .ok_or_else(batch_allowed)
        };
        if let Some(batch) = read("ACTINIUM_BATCH", batch)? {
            self.batch = batch;
        }
        if let Some(bytes) = read("ACTINIUM_STACK", stack_bytes)? {
            self.stack_bytes = bytes;
        }
        if let Some(bind) = Bind::from_env()? {
            self.bind = Some(bind);
        }
        Ok(self)
    }

    /// Resolves what is asked for to what the system starts with.
    fn resolve(&self) -> Result<Resolved, BuildError> {
        self.check_limits()?;
        let shared = self.shared_threads()?;
        let real = self.topology.is_none();
        let topology = match &self.topology {
            Some(topology) => topology.clone(),
            None => Topology::detect().map_err(BuildError::Topology)?,
        };
        let bind = match &self.bind {
            Some(bind) => bind.clone(),
            None if !real => Bind::Auto,
            None if shared > 0 => Bind::from_env()?.unwrap_or(Bind::None),
            None => Bind::from_env()?.unwrap_or_default(),
        };
        bind.check(&topology)?;
        let workers = self.resolve_workers(&topology, &bind, shared)?;
        self.check_elastic(workers)?;
        let (seats, pus, nodes);
        if real {
            seats = match &self.given_seats {
                Some(given) => given.first(workers),
                None => topology.seats(&bind, workers)?,
            };
            pus = seats.pus();
            nodes = WorkerNodes::of(&topology, &pus);
        } else {
            // A machine that is only made believe has nodes as well, and no PUs.
            seats = Seats::unbound(workers);
            pus = vec![None; workers];
            nodes = WorkerNodes::of(&topology, &topology.unclaimed_pus(&bind, workers)?);
        }
        let settings = Settings {
            workers,
            policy: self.policy,
            batch: self.batch,
            batch_time: self.batch_time,
            figures: self.figures,
            elastic: self.elastic,
            pus,
        };
        Ok(Resolved { settings, topology, seats, nodes })
    }

    fn check_limits(&self) -> Result<(), BuildError> {
        if self.batch == 0 || self.batch > MAX_BATCH {
            return Err(setting("batch", self.batch.to_string(), batch_allowed()));
        }
        if !STACK_BYTES_ALLOWED.contains(&self.stack_bytes) {
            return Err(setting("stack_size", self.stack_bytes.to_string(), stack_allowed()));
        }
        Ok(())
    }

    fn resolve_workers(
        &self,
        topology: &Topology,
        bind: &Bind,
        shared: usize,
    ) -> Result<usize, BuildError> {
        match self.workers {
            Workers::All => {
                let left = topology.usable_workers().workers.saturating_sub(shared);
                Ok(bind.most(left.max(1)))
            }
            Workers::Count(count) if (1..=MAX_WORKERS).contains(&count) => Ok(count),
            Workers::Count(count) => {
                let allowed = format!("1 to {MAX_WORKERS}, or all");
                Err(setting("workers", count.to_string(), allowed))
            }
        }
    }

    fn check_elastic(&self, workers: usize) -> Result<(), BuildError> {
        let Some(rules) = &self.elastic else { return Ok(()) };
        if !matches!(self.policy, Policy::Affine(_)) {
            let allowed = format!("not with the policy {}, only with affine", self.policy);
            return Err(setting("elastic", "true".to_owned(), allowed));
        }
        if !(1..=workers).contains(&rules.least) {
            let allowed = format!("1 to {workers}, the number of workers");
            return Err(setting("elastic: least", rules.least.to_string(), allowed));
        }
        if rules.window_ns == 0 || !(1..=100).contains(&rules.busy_kept_percent) {
            let value = format!("{rules:?}");
            let allowed = "window_ns at least 1, busy_kept_percent 1 to 100".to_owned();
            return Err(setting("elastic", value, allowed));
        }
        Ok(())
    }

    /// Starts the system. Remarks (more workers than PUs, say) are logged ([`crate::logging`]).
    ///
    /// # Errors
    /// If a setting is not allowed, the machine can not be looked at, a thread can not be started,
    /// or an observer can not observe it.
    pub fn build(self) -> Result<System, BuildError> {
        let Resolved { settings, topology, seats, nodes } = self.resolve()?;
        seats.remarks.iter().for_each(|remark| log!(Warn, {}, "{remark}"));
        let shared = Shared::new(settings, Some(&topology), Clock::real());
        let inner = Inner::new(
            shared,
            nodes,
            #[cfg(feature = "tokio")]
            self.tokio,
        );
        let system =
            System::start(inner, seats.seats, self.stack_bytes).map_err(BuildError::Thread)?;
        if let Some(share) = self.traces {
            system.handle.sample_traces(share);
        }
        let told = self.observers.started(&system.handle).map_err(BuildError::Observer)?;
        *lock(&system.end.observers) = told;
        Ok(system)
    }
}

/// All that a system starts with.
struct Resolved {
    settings: Settings,
    topology: Topology,
    seats: Seats,
    nodes: WorkerNodes,
}

impl From<WrongBind> for BuildError {
    fn from(wrong: WrongBind) -> Self {
        let WrongBind { of: name, value, allowed, .. } = wrong;
        BuildError::Setting { name, value, allowed }
    }
}

fn setting(name: &'static str, value: String, allowed: String) -> BuildError {
    BuildError::Setting { name, value, allowed }
}

fn batch_allowed() -> String {
    format!("1 to {MAX_BATCH} messages")
}
