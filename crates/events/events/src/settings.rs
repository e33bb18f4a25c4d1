//! How a graph is run, and why a run does not start.

use crate::record::Figures;
use crate::wait_error::WaitError;
use actinium_actor::BuildError;
use actinium_scheduler::Policy;
use actinium_topology::Bind;
use std::time::Duration;

/// The effect of one event's failure on the other events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// No more events are begun; those in flight go on. The default.
    #[default]
    Stop,
    /// The event is counted, and the others go on.
    Skip,
    /// The event is run again up to so many times, then skipped.
    Retry(u32),
}

/// The order in which outputs see events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Outputs see events as they come, in no fixed order. The default.
    #[default]
    Completed,
    /// Outputs see events in the source's order. The window bounds how far events may run ahead: no
    /// event begins that is `window` or more ahead of the oldest that has not ended.
    Input {
        /// The size of the window: at least 1; more than there are slots makes no difference.
        window: usize,
    },
}

/// How a graph is run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// For [`Processor::run`](crate::Processor::run): workers; `None`: as many as the process may
    /// use.
    pub workers: Option<usize>,
    /// Events in flight; `None`: as many as workers.
    pub slots: Option<usize>,
    /// For [`Processor::run`](crate::Processor::run): where work runs; `None`: affine.
    pub policy: Option<Policy>,
    /// For [`Processor::run`](crate::Processor::run): only as many workers are given work as it
    /// needs; only under affine.
    pub elastic: bool,
    /// The share of the workers, among the graphs that run on one system: 1 to 1,000.
    pub weight: u32,
    /// The effect of a failure on the other events.
    pub on_error: OnError,
    /// The order in which outputs see events.
    pub order: Order,
    /// Take no more events than this.
    pub events_max: Option<u64>,
    /// How much is noted.
    pub figures: Figures,
    /// Most spans kept per worker.
    pub spans_max: usize,
    /// How often it is noted how things stand; `None`: never.
    pub sample_every: Option<Duration>,
    /// For [`Processor::run`](crate::Processor::run): to which PUs workers are bound, of those that
    /// no other system has claimed; `None`: as `ACTINIUM_BIND` says, or else [`Bind::Auto`].
    pub bind: Option<Bind>,
    /// For [`Processor::run`](crate::Processor::run): bytes of each worker's stack, on which
    /// modules run, 64 KiB to 1 GiB; `None`: 8 MiB.
    pub stack_size: Option<usize>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            workers: None,
            slots: None,
            policy: None,
            elastic: false,
            weight: 1,
            on_error: OnError::Stop,
            order: Order::Completed,
            events_max: None,
            figures: Figures::Times,
            spans_max: 1 << 16,
            sample_every: None,
            bind: None,
            stack_size: None,
        }
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty => $value:expr;)+) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $name: $type) -> Self {
            self.$name = $value;
            self
        }
    )+};
}

impl Settings {
    setters! {
        /// Sets the number of workers.
        workers: usize => Some(workers);
        /// Sets the number of events in flight.
        slots: usize => Some(slots);
        /// Sets where work runs.
        policy: Policy => Some(policy);
        /// Sets whether only as many workers are given work as it needs.
        elastic: bool => elastic;
        /// Sets the share of the workers, among the graphs that run on one system: a graph of
        /// weight 3 gets three times the time of one of weight 1, while both have work.
        weight: u32 => weight;
        /// Sets the effect of a failure on the other events.
        on_error: OnError => on_error;
        /// Sets in which order outputs see events.
        order: Order => order;
        /// Sets the largest number of events that are taken.
        events_max: u64 => Some(events_max);
        /// Sets how much is noted.
        figures: Figures => figures;
        /// Sets how often the state of the run is sampled.
        sample_every: Duration => Some(sample_every);
        /// Sets to which PUs workers are bound.
        bind: Bind => Some(bind);
        /// Sets the size of each worker's stack, in bytes.
        stack_size: usize => Some(stack_size);
    }

    pub(crate) fn slots_or(&self, workers: usize) -> usize {
        self.slots.unwrap_or(workers)
    }
}

/// Why a run did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// A setting has a value that is not allowed: which, its value, and what is allowed.
    Setting(&'static str, usize, &'static str),
    /// A setting that is the system's, where the run has not one of its own: which.
    OfSystem(&'static str),
    /// The run's own system could not be built.
    System(BuildError),
    /// A module could not be made: its factory failed or panicked.
    Module {
        /// The module's label.
        label: String,
        /// For which slot, if each has one of its own.
        slot: Option<usize>,
        /// The factory's error, or the message of its panic.
        cause: String,
    },
    /// Another graph that runs on the system uses an exclusive resource of the same name.
    Resource {
        /// The resource.
        name: String,
        /// The graph.
        graph: String,
        /// The graph that uses the name.
        other: String,
    },
    /// The system drains, or has ended.
    Ending,
    /// The run can not be waited for here.
    Wait(WaitError),
}

impl StartError {
    /// Whether a setting is to blame, rather than the machine or a module.
    pub fn is_of_setting(&self) -> bool {
        matches!(
            self,
            StartError::Setting(..)
                | StartError::OfSystem(_)
                | StartError::System(BuildError::Setting { .. })
        )
    }
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StartError::Setting(name, value, allowed) => {
                write!(f, "{name}: {value} is not allowed: {allowed}")
            }
            StartError::OfSystem(name) => write!(
                f,
                "{name}: a graph that starts on a system uses that system's: set it there, or use Processor::run"
            ),
            StartError::System(error) => error.fmt(f),
            StartError::Module { label, slot, cause } => {
                write!(f, "module '{label}'")?;
                if let Some(slot) = slot {
                    write!(f, " of slot {slot}")?;
                }
                write!(f, " could not be made: {cause}")
            }
            StartError::Resource { name, graph, other } => write!(
                f,
                "the graph '{graph}' can not start beside the graph '{other}': both have modules that are exclusive(\"{name}\"), and a name is one graph's; name one of them differently, or wait for the other graph's end"
            ),
            StartError::Ending => f.write_str("the system drains or has ended, and starts nothing"),
            StartError::Wait(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StartError::System(error) => error.source(),
            _ => None,
        }
    }
}

impl From<WaitError> for StartError {
    fn from(error: WaitError) -> Self {
        StartError::Wait(error)
    }
}
