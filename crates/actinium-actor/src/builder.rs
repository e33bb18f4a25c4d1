//! Describing a system before it starts.

use crate::nodes::WorkerNodes;
use crate::system::{Inner, System};
use actinium_scheduler::{Clock, Elastic, Policy, Settings, Shared};
use actinium_topology::Topology;
use std::fmt;
use std::time::Duration;

/// How many workers a system has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workers {
    /// As many as the process may use: its cpuset, or its CPU quota if that is less. The default.
    #[default]
    All,
    /// So many. More than there are PUs is allowed: the workers then run unbound.
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

/// Describes a [`System`]: each setting has a default; `from_env` takes what the environment says; what is set afterwards wins.
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
    bind: bool,
    figures: bool,
    elastic: Option<Elastic>,
    topology: Option<Topology>,
    #[cfg(feature = "tokio")]
    tokio: Option<tokio::runtime::Handle>,
}

impl Default for SystemBuilder {
    fn default() -> Self {
        SystemBuilder {
            workers: Workers::All,
            policy: Policy::affine(),
            batch: 64,
            batch_time: Duration::from_micros(100),
            bind: true,
            figures: true,
            elastic: None,
            topology: None,
            #[cfg(feature = "tokio")]
            tokio: None,
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
        /// Its value.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// The machine could not be looked at.
    Topology(actinium_topology::TopologyError),
    /// A worker's thread could not be started.
    Thread(std::io::Error),
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
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BuildError::Setting { .. } => None,
            BuildError::Topology(error) => Some(error),
            BuildError::Thread(error) => Some(error),
        }
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

    /// Longest time that an actor's turn goes on before others have theirs, checked between messages. Default: 100 µs.
    pub fn batch_time(mut self, time: Duration) -> Self {
        self.batch_time = time;
        self
    }

    /// Whether each worker is bound to a PU of its own (default), where there are enough.
    pub fn bind(mut self, bind: bool) -> Self {
        self.bind = bind;
        self
    }

    /// Whether latencies are sampled (default). Counters are always kept: they prove that no message was lost.
    pub fn counters(mut self, counters: bool) -> Self {
        self.figures = counters;
        self
    }

    /// Whether only as many workers are given work as there is work for, from one to all of them. Default: all of them, all the time; idle
    /// ones sleep in both cases. [`crate::Stats::scale_events`] says what changed, and why.
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

    /// The machine as it shall be seen, for tests: workers are then not bound. Default: this machine.
    pub fn topology(mut self, topology: Topology) -> Self {
        self.topology = Some(topology);
        self
    }

    /// The runtime inside which piped futures are polled: see [`crate::Context::pipe`].
    #[cfg(feature = "tokio")]
    pub fn tokio(mut self, runtime: tokio::runtime::Handle) -> Self {
        self.tokio = Some(runtime);
        self
    }

    /// Takes `ACTINIUM_WORKERS` (a number, or `all`), `ACTINIUM_POLICY` (`pinned`, `pool`, `stealing`, `affine`) and
    /// `ACTINIUM_BATCH` (a number of messages) from the environment, where they are set.
    ///
    /// # Errors
    /// If one of them has a value that is not allowed: the error names it, its value and what is allowed.
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
        Ok(self)
    }

    /// The settings with which the system would start, and remarks on them (more workers than PUs, say).
    pub(crate) fn settle(&self) -> Result<(Settings, Topology, Vec<String>), BuildError> {
        let setting =
            |name, value: String, allowed: String| BuildError::Setting { name, value, allowed };
        if self.batch == 0 || self.batch > MAX_BATCH {
            return Err(setting("batch", self.batch.to_string(), batch_allowed()));
        }
        let real = self.topology.is_none();
        let topology = match &self.topology {
            Some(topology) => topology.clone(),
            None => Topology::detect().map_err(BuildError::Topology)?,
        };
        let usable = topology.usable_workers().workers;
        let workers = match self.workers {
            Workers::All => usable,
            Workers::Count(count) if (1..=MAX_WORKERS).contains(&count) => count,
            Workers::Count(count) => {
                return Err(setting(
                    "workers",
                    count.to_string(),
                    format!("1 to {MAX_WORKERS}, or all"),
                ));
            }
        };
        if let Some(rules) = &self.elastic {
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
        }
        let mut remarks = Vec::new();
        let pus = if self.bind && real { topology.choose_pus(workers) } else { None };
        if self.bind && real && pus.is_none() {
            let allowed = topology.allowed().len();
            remarks.push(format!(
                "{workers} workers on {allowed} PUs: they run unbound and share them"
            ));
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
        Ok((settings, topology, remarks))
    }

    /// Starts the system. Remarks (more workers than PUs, say) go to stderr.
    ///
    /// # Errors
    /// If a setting is not allowed, the machine can not be looked at, or a thread can not be started.
    pub fn build(self) -> Result<System, BuildError> {
        let (settings, topology, remarks) = self.settle()?;
        remarks.iter().for_each(|remark| eprintln!("actinium: warning: {remark}"));
        // A machine that is only made believe has nodes as well.
        let nodes = WorkerNodes::of(&topology, settings.workers, self.bind);
        let shared = Shared::new(settings, Some(&topology), Clock::real());
        let inner = Inner::new(
            shared,
            nodes,
            #[cfg(feature = "tokio")]
            self.tokio,
        );
        System::start(inner).map_err(BuildError::Thread)
    }
}

fn batch_allowed() -> String {
    format!("1 to {MAX_BATCH} messages")
}
